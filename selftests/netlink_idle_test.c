// SPDX-License-Identifier: GPL-2.0
/*
 * How long the two ends of a flow know of it, as frames that were made by hand show:
 * netlink_data.h.
 */
#include "kselftest_harness.h"
#include "netlink_flow.h"

/* A flow is idle for so long at most, in seconds. */
#define IDLE_S		40
/* Receiver's ends of one partition. */
#define FLOWS_MAX	65536

/* Their next frame of data: acknowledged. */
static bool next_data(int sock, struct data_frame *f, struct ack_frame *ack)
{
	ack_new(ack);
	return next_frame(sock, BGDMA_FRAME_DATA, f, sizeof(*f)) &&
	       send_ack_as(sock, f, 1, f->frame.psn + 1, 0, ack);
}

/*
 * The sender's end, when it has sent nothing for a while; but not where something is
 * still to come back.
 */
TEST_F_TIMEOUT(data, an_idle_flow_is_given_back, 3 * IDLE_S)
{
	struct bgdma_desc d = d_atomic(WE, BGDMA_ATOMIC_ADD, BGDMA_ATOMIC_U64, 1,
				       3, 0, 1);
	struct data_frame asked, sent, again;
	__u64 end = now_ns() + 2 * IDLE_S * 1000000000ULL;
	struct bgdma_frame word = {};
	struct inj other;

	d.flags = BGDMA_DESC_FETCH;
	d.u.at.src_region = self->e.mem.handle;
	d.inj_ctr = self->e.ic;
	counter_add(&self->e.n, INJ, self->e.ic, 8);
	inject(&self->e.inj, &d);
	ASSERT_TRUE(next_data(self->sock, &asked, &self->ack));
	inj_new(&other, &self->e.n);
	d = d_number(WE, &self->e.rec, 1);
	inject(&other, &d);
	ASSERT_TRUE(next_data(self->sock, &sent, &self->ack));
	while (now_ns() < end &&
	       !next_frame(self->sock, BGDMA_FRAME_CLOSE, &word, sizeof(word)))
		;
	ASSERT_EQ(BGDMA_FRAME_CLOSE, word.type);
	EXPECT_EQ(sent.frame.flow, word.flow);
	EXPECT_EQ(sent.frame.session, word.session);
	EXPECT_EQ(sent.frame.psn + 1, word.psn);
	EXPECT_EQ(word.psn, word.first);
	/* The other is there: its answer finds it. */
	voice_new(&self->f, FIRST);
	add(&self->f, NULL, 0, 8, 0x5a)->kind = BGDMA_WIRE_FETCHED;
	self->f.packet[0].dst_inc = asked.frame.flow_inc;
	self->f.packet[0].id = asked.packet[0].id;
	self->f.packet[0].desc.dst_ctx = asked.frame.flow_ctx;
	self->f.packet[0].desc.dst_rank = WE;
	self->f.packet[0].desc.cookie = (__u64)asked.frame.flow << 1;
	LANDS();
	EXPECT_TRUE(until(!value(&self->e.n, INJ, self->e.ic)));
	/* It begins anew. */
	inject(&other, &d);
	ASSERT_TRUE(next_data(self->sock, &again, &self->ack));
	EXPECT_EQ(sent.frame.flow, again.frame.flow);
	EXPECT_LT(0, (int32_t)(again.frame.session - sent.frame.session));
	EXPECT_EQ(again.frame.first, again.frame.psn);
}

static bool close_flow(int sock, const struct data_frame *f, uint32_t session,
		       uint32_t psn)
{
	struct bgdma_frame word = f->frame;

	word.type = BGDMA_FRAME_CLOSE;
	word.head = sizeof(word);
	word.packets = 0;
	word.bytes = 0;
	word.sum = 0;
	word.session = session;
	word.psn = psn;
	word.first = psn;
	frame_seal(&word);
	return send_from(sock, 1, &word, sizeof(word));
}

/* The receiver's end, when it is told: what comes then is the first of a new flow. */
TEST_F(data, x2_a_flow_is_forgotten_when_all_of_it_was_dealt_with)
{
	struct bgdma_desc d = put_to(&self->e.mem, 0, 64);
	struct data_frame late;

	add(&self->f, &d, 0, 64, 0xaa);
	LANDS();
	/* Of another life of it, and of more than was sent. */
	ASSERT_TRUE(close_flow(self->sock, &self->f, 2, FIRST + 1));
	ASSERT_TRUE(close_flow(self->sock, &self->f, 0, FIRST + 1));
	ASSERT_TRUE(close_flow(self->sock, &self->f, 1, FIRST));
	ASSERT_TRUE(close_flow(self->sock, &self->f, 1, FIRST + 2));
	memset(self->e.mem.p, 0, 64);
	LANDS();
	EXPECT_TRUE(all_bytes(self->e.mem.p, 64, 0));
	/* One that waits for the one before it. */
	data_new(&late, 5, FIRST + 2);
	late.frame.first = FIRST + 1;
	add(&late, &d, 0, 64, 0xcc);
	ASSERT_TRUE(send_data(self->sock, &late));
	ASSERT_TRUE(close_flow(self->sock, &late, 1, FIRST + 1));
	data_new(&self->f, 5, FIRST + 1);
	self->f.frame.first = FIRST + 1;
	add(&self->f, &d, 0, 64, 0xbb);
	ASSERT_TRUE(send_data(self->sock, &self->f));
	ASSERT_TRUE(dealt(self->sock, 5, FIRST + 3, &self->ack));
	EXPECT_TRUE(all_bytes(self->e.mem.p, 64, 0xcc));
	/* Now nothing does. */
	ASSERT_TRUE(close_flow(self->sock, &self->f, 1, FIRST + 3));
	LANDS();
	EXPECT_TRUE(all_bytes(self->e.mem.p, 64, 0xbb));
}

/* Frames of a context that is gone, which were on their way for longer than it. */
TEST_F(data, x3_who_is_gone_does_not_come_again)
{
	struct bgdma_wire_gone gone = {
		.rank = WE, .incarnation = INC, .ctx = 0,
	};
	struct bgdma_desc d = put_to(&self->e.mem, 0, 64);
	uint32_t i;

	add(&self->f, &d, 0, 64, 0xaa);
	LANDS();
	voice_new(&self->f, FIRST);
	add(&self->f, NULL, 0, sizeof(gone), 0)->kind = BGDMA_WIRE_GONE;
	memcpy(self->f.payload, &gone, sizeof(gone));
	LANDS();
	usleep(200000);
	memset(self->e.mem.p, 0, 64);
	for (i = 0; i < 3; i++) {
		data_new(&self->f, 5 + i, FIRST);
		self->f.frame.flow_inc = INC - i;
		add(&self->f, &d, 0, 64, 0xaa);
		ASSERT_TRUE(send_data(self->sock, &self->f));
	}
	usleep(200000);
	/* Who has its number then is another. */
	d = put_to(&self->e.mem, 64, 64);
	data_new(&self->f, 5, FIRST);
	self->f.frame.flow_inc = INC + 1;
	add(&self->f, &d, 0, 64, 0xbb);
	LANDS();
	EXPECT_TRUE(all_bytes(self->e.mem.p, 64, 0));
	EXPECT_TRUE(all_bytes(self->e.mem.p + 64, 64, 0xbb));
}

/* What stood for it is no more, for it has no flow; what is known of it stays. */
TEST_F(data, x3_who_has_no_flow_is_told_of)
{
	struct bgdma_desc d = put_to(&self->e.mem, 0, 64);
	struct bgdma_wire_gone gone = { .rank = WE, .incarnation = INC + 1 };
	struct bgdma_event event;
	struct state_frame state;
	uint32_t i;

	/* A later one has its place; it is said to have left; its kernel leaves. */
	for (i = 0; i < 3; i++) {
		data_new(&self->f, 5, FIRST);
		self->f.frame.flow_inc = INC + i;
		add(&self->f, &d, 0, 64, (uint8_t)i);
		LANDS();
		EXPECT_TRUE(all_bytes(self->e.mem.p, 64, (uint8_t)i));
		if (i) {
			ASSERT_TRUE(event_wait(&self->e.n, BGDMA_EVENT_PEER_DOWN,
					       &event));
			EXPECT_EQ(INC + i - 1, event.peer_incarnation);
			EXPECT_EQ(0, event.peer_ctx);
			EXPECT_FALSE(event_next(&self->e.n, &event));
		}
		ASSERT_TRUE(close_flow(self->sock, &self->f, 1, FIRST + 1));
		if (i != 1)
			continue;
		voice_new(&self->f, FIRST);
		add(&self->f, NULL, 0, sizeof(gone), 0)->kind = BGDMA_WIRE_GONE;
		memcpy(self->f.payload, &gone, sizeof(gone));
		LANDS();
		ASSERT_TRUE(close_flow(self->sock, &self->f, 1, FIRST + 1));
	}
	state_new(&state, PARTITION, US, 9, WE);
	state.state.flags = BGDMA_WIRE_STATE_BYE;
	ASSERT_TRUE(send_state(self->sock, &state));
	ASSERT_TRUE(event_wait(&self->e.n, BGDMA_EVENT_PEER_DOWN, &event));
	EXPECT_EQ(INC + 2, event.peer_incarnation);
	EXPECT_EQ(0, event.peer_ctx);
}

/* By another name it would be any number of flows, which are for contexts only. */
TEST_F(data, x2_a_kernel_has_one_flow)
{
	struct bgdma_desc d = put_to(&self->e.mem, 0, 64);
	struct data_frame f;

	voice_new(&f, FIRST);
	f.frame.flow = 7;
	add(&f, &d, 0, 64, 0xaa);
	ASSERT_TRUE(send_data(self->sock, &f));
	voice_new(&f, FIRST);
	f.frame.flow_inc++;
	add(&f, &d, 0, 64, 0xaa);
	ASSERT_TRUE(send_data(self->sock, &f));
	d = put_to(&self->e.mem, 64, 64);
	add(&self->f, &d, 0, 64, 0xbb);
	LANDS();
	EXPECT_TRUE(all_bytes(self->e.mem.p, 64, 0));
}

/* A kernel's own, where something was refused and there was nothing to say. */
TEST_F_TIMEOUT(data, x2_what_might_have_been_said_is_forgotten, 3 * IDLE_S)
{
	struct bgdma_desc d = d_gate(0, BGDMA_OP_EPOCH_BEGIN,
				     self->closed.handle, 1, 0);
	__u64 end = now_ns() + 2 * IDLE_S * 1000000000ULL;
	struct bgdma_frame word = {};

	add(&self->f, &d, 0, 0, 0);
	REFUSED(BGDMA_E_RIGHTS);
	ASSERT_TRUE(close_flow(self->sock, &self->f, 1, FIRST + 1));
	while (now_ns() < end &&
	       !next_frame(self->sock, BGDMA_FRAME_CLOSE, &word, sizeof(word)))
		;
	ASSERT_EQ(BGDMA_FRAME_CLOSE, word.type);
	EXPECT_EQ(BGDMA_FLOW_KERNEL, word.flow);
	EXPECT_EQ(BGDMA_CTX_ANY, word.flow_ctx);
	EXPECT_EQ(WE, word.dst_rank);
	EXPECT_EQ(word.psn, word.first);
	/* It begins anew. */
	data_new(&self->f, 6, FIRST);
	add(&self->f, &d, 0, 0, 0);
	REFUSED(BGDMA_E_RIGHTS);
}

#define TRIES	5

/* A slow kernel may lose it behind others. */
static bool arrives(int sock, struct data_frame *f, struct ack_frame *ack)
{
	int i;

	for (i = 0; i < TRIES; i++) {
		if (!send_data(sock, f))
			return false;
		if (dealt(sock, f->frame.flow, f->frame.psn + 1, ack))
			return !ack->frame.packets;
	}
	return false;
}

/* One context with as many flows as it likes leaves some for another. */
TEST_F_TIMEOUT(data, x2_there_are_flows_for_all, 300)
{
	struct bgdma_desc d = put_to(&self->e.mem, 0, 0);
	uint32_t i;

	for (i = 0; i <= FLOWS_MAX; i++) {
		data_new(&self->f, i, FIRST);
		add(&self->f, &d, 0, 0, 0);
		/* Frames that come faster are lost. */
		ASSERT_TRUE(i % 8 == 0 && i < FLOWS_MAX / 2 ?
			    arrives(self->sock, &self->f, &self->ack) :
			    send_data(self->sock, &self->f));
	}
	d = put_to(&self->e.mem, 0, 64);
	for (i = 1; i < 4; i++) {
		data_new(&self->f, 5 + i, FIRST);
		self->f.frame.flow_ctx = (uint16_t)i;
		add(&self->f, &d, 0, 64, (uint8_t)i);
		/* The last of those before may still wait to be looked at. */
		ASSERT_TRUE(arrives(self->sock, &self->f, &self->ack));
		EXPECT_TRUE(all_bytes(self->e.mem.p, 64, (uint8_t)i));
	}
}

/* Stand-ins that one kernel may have, if no other has any. */
#define GHOSTS		16384
/* Nodes of a line: all but the first are ours. */
#define CROWD		80
#define CTXS		256	/* of a node */

FIXTURE(crowd) {
	struct link l;
	int sock;
	struct hello_frame hello;
	struct end e;
	struct data_frame f;
	struct ack_frame ack;
};

FIXTURE_SETUP(crowd)
{
	struct timeval patience = { .tv_usec = 100000 };

	ASSERT_EQ(0, unshare(CLONE_NEWNET));
	if (rt_veth())
		SKIP(return, "needs veth");
	ASSERT_EQ(0, rt_set("veth0", true, 9000));
	ASSERT_EQ(0, rt_set("veth1", true, 9000));
	ASSERT_EQ(0, link_open(&self->l));
	self->sock = raw_socket();
	ASSERT_LE(0, self->sock);
	ASSERT_EQ(0, ring_and_link(&self->l, CROWD, 0));
	ASSERT_EQ(0, link_timeout(&self->l, 600000));
	hello_new(&self->hello, PARTITION, CROWD, US);
	self->hello.hello.mtu = 9000;
	self->hello.hello.every = 60000;
	self->hello.hello.run[0].first = 1;
	ASSERT_TRUE(come_up(&self->l, self->sock, &self->hello));
	ASSERT_TRUE(until(way_to(&self->l, CROWD - 1)));
	end_new(&self->e, 0);
	ASSERT_EQ(0, setsockopt(self->sock, SOL_SOCKET, SO_RCVTIMEO, &patience,
				sizeof(patience)));
}

FIXTURE_TEARDOWN(crowd)
{
	close(self->sock);
	link_close(&self->l);
}

/* The first frame of a context; each has another FIFO. */
static void first_of(struct data_frame *f, uint32_t i, const struct bgdma_desc *d,
		     uint8_t value)
{
	data_new(f, i, FIRST);
	f->frame.src_rank = 1 + i / CTXS;
	f->frame.flow_ctx = i % CTXS;
	add(f, d, 0, d->length, value);
}

/* It is let go of, or about to land, when one that came later was dealt with. */
static void send_first(int sock, uint32_t i, struct end *e, struct ack_frame *ack)
{
	struct bgdma_desc d = put_to(&e->mem, 0, 64);
	static uint32_t psn = FIRST + 1;
	struct data_frame f;

	memset(e->mem.p, 0, 128);
	first_of(&f, i, &d, 0xaa);
	must(send_data(sock, &f) ? 0 : -EIO);
	d = put_to(&e->mem, 64, 64);
	first_of(&f, 0, &d, 0xbb);
	f.frame.psn = psn++;
	must(send_data(sock, &f) && dealt(sock, 0, psn, ack) ? 0 : -ETIME);
}

/* Each context has one flow: so many have something that stands for them. */
TEST_F_TIMEOUT(crowd, x2_stand_ins_have_an_end, 300)
{
	struct bgdma_desc d = put_to(&self->e.mem, 0, 0);
	uint32_t i;

	for (i = 0; i < GHOSTS; i++) {
		first_of(&self->f, i, &d, 0);
		ASSERT_TRUE(send_data(self->sock, &self->f));
		/* Frames that come faster are lost. */
		if (i % 8 == 0)
			ASSERT_TRUE(dealt(self->sock, i, FIRST + 1, &self->ack));
	}
	ASSERT_TRUE(dealt(self->sock, i - 1, FIRST + 1, &self->ack));
	send_first(self->sock, GHOSTS, &self->e, &self->ack);
	usleep(200000);
	EXPECT_TRUE(all_bytes(self->e.mem.p, 64, 0));
	/* Who has no flow needs none; what is known of it is not in the way. */
	first_of(&self->f, 7, &d, 0);
	ASSERT_TRUE(close_flow(self->sock, &self->f, 1, FIRST + 1));
	send_first(self->sock, GHOSTS, &self->e, &self->ack);
	EXPECT_TRUE(until(all_bytes(self->e.mem.p, 64, 0xaa)));
	send_first(self->sock, 7, &self->e, &self->ack);
	usleep(200000);
	EXPECT_TRUE(all_bytes(self->e.mem.p, 64, 0));
}

TEST_HARNESS_MAIN
