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

/* One context with as many flows as it likes leaves some for another. */
TEST_F_TIMEOUT(data, x2_there_are_flows_for_all, 300)
{
	struct bgdma_desc d = put_to(&self->e.mem, 0, 0);
	uint32_t i;

	for (i = 0; i <= FLOWS_MAX; i++) {
		data_new(&self->f, i, FIRST);
		add(&self->f, &d, 0, 0, 0);
		ASSERT_TRUE(send_data(self->sock, &self->f));
		/* Frames that come faster are lost. */
		if (i % 8 == 0 && i < FLOWS_MAX / 2)
			ASSERT_TRUE(dealt(self->sock, i, FIRST + 1, &self->ack));
	}
	d = put_to(&self->e.mem, 0, 64);
	for (i = 1; i < 4; i++) {
		data_new(&self->f, 5, FIRST);
		self->f.frame.flow_ctx = (uint16_t)i;
		add(&self->f, &d, 0, 64, (uint8_t)i);
		LANDS();
		EXPECT_TRUE(all_bytes(self->e.mem.p, 64, (uint8_t)i));
	}
}

TEST_HARNESS_MAIN
