// SPDX-License-Identifier: GPL-2.0
/*
 * Transfers over a link that end before their time, as frames that were made by hand
 * say it, or hear of it: netlink_data.h.
 */
#include "kselftest_harness.h"
#include "netlink_flow.h"

/* Numbers of transfers come again, at once where the others went elsewhere. */
TEST_F(data, a_number_that_was_refused_comes_again)
{
	struct bgdma_desc closed = put_to(&self->closed, 0, 64);
	struct bgdma_desc open = put_to(&self->e.mem, 0, 64);
	uint32_t i;

	add(&self->f, &closed, 0, 32, 1)->id = 7;
	add(&self->f, &closed, 32, 32, 1)->id = 7;
	REFUSED(BGDMA_E_RIGHTS);
	for (i = 1; i < 4; i++) {
		data_new(&self->f, 5, FIRST + i);
		self->f.frame.first = FIRST + i;
		add(&self->f, &open, 0, 32, (uint8_t)i)->id = i % 2 ? 8 : 7;
		add(&self->f, &open, 32, 32, (uint8_t)i)->id = i % 2 ? 8 : 7;
		LANDS();
		EXPECT_TRUE(all_bytes(self->e.mem.p, 64, (uint8_t)i));
	}
	data_new(&self->f, 5, FIRST + 4);
	self->f.frame.first = FIRST + 4;
	add(&self->f, &closed, 0, 64, 1)->id = 9;
	REFUSED(BGDMA_E_RIGHTS);
	data_new(&self->f, 5, FIRST + 5);
	self->f.frame.first = FIRST + 5;
	add(&self->f, &open, 0, 64, 9)->id = 9;
	LANDS();
	EXPECT_TRUE(all_bytes(self->e.mem.p, 64, 9));
}

/* What comes in pieces is nothing to its target before it may be there. */
TEST_F(data, x2_pieces_for_a_closed_fifo_are_nothing)
{
	struct bgdma_event event;
	struct bgdma_desc d;
	struct rec closed;

	must(rec_try(&closed, &self->e.n, BGDMA_ID_ANY, BGDMA_REC_BYTES_MIN));
	d = d_memfifo(0, closed.id, BGDMA_NONE, 0, 9000);
	add(&self->f, &d, 0, 3000, 1);
	add(&self->f, &d, 3000, 1096, 2)->id = self->f.packet[0].id;
	REFUSED(BGDMA_E_RIGHTS);
	/* From its middle on: whole, or not. */
	data_new(&self->f, 6, FIRST);
	add(&self->f, &d, 4096, 4096, 1);
	REFUSED(BGDMA_E_RIGHTS);
	data_new(&self->f, 7, FIRST);
	add(&self->f, &d, 4096, 1000, 1);
	add(&self->f, &d, 5096, 0, 1)->kind = BGDMA_WIRE_ABORT;
	self->f.packet[1].id = self->f.packet[0].id;
	self->f.packet[1].bytes = BGDMA_E_CANCELLED;
	LANDS();
	/* The end of what never began. */
	data_new(&self->f, 8, FIRST);
	add(&self->f, &d, 4096, 0, 1)->kind = BGDMA_WIRE_ABORT;
	self->f.packet[0].bytes = BGDMA_E_CANCELLED;
	LANDS();
	EXPECT_EQ(NULL, packet(&closed));
	EXPECT_FALSE(event_next(&self->e.n, &event));
}

/* A context of ours has left. */
static bool say_gone(int sock, uint16_t ctx, uint32_t psn)
{
	struct bgdma_wire_gone gone = {
		.rank = WE, .incarnation = INC, .ctx = ctx,
	};
	struct data_frame f;

	voice_new(&f, psn);
	add(&f, NULL, 0, sizeof(gone), 0)->kind = BGDMA_WIRE_GONE;
	memcpy(f.payload, &gone, sizeof(gone));
	return send_data(sock, &f);
}

/* The rest is counted that nobody has seen, so that others who share it finish. */
TEST_F(data, x3_the_end_within_a_packet)
{
	struct bgdma_desc d = d_memfifo(0, self->e.rec.id, BGDMA_NONE, 0, 6000);
	const struct bgdma_packet *p;

	d.rec_ctr = self->e.rc;
	counter_add(&self->e.n, REC, self->e.rc, 6000);
	add(&self->f, &d, 0, 4096, 1);
	LANDS();
	data_new(&self->f, 5, FIRST + 1);
	add(&self->f, &d, 4096, 500, 1)->id = FIRST * PACKETS + 1;
	LANDS();
	EXPECT_EQ(6000 - 4096, value(&self->e.n, REC, self->e.rc));
	packet_wait(&self->e.rec);
	packet_drop(&self->e.rec);
	ASSERT_TRUE(say_gone(self->sock, 0, FIRST));
	p = packet_wait(&self->e.rec);
	EXPECT_TRUE(p->flags & BGDMA_PACKET_ERROR);
	EXPECT_EQ(4096, p->offset);
	/* The packet first, then the error, then the value. */
	EXPECT_TRUE(until(counter_error(&self->e.n, REC, self->e.rc)));
	EXPECT_TRUE(until(!value(&self->e.n, REC, self->e.rc)));
}

TEST_F(data, x2_refused_within_a_packet)
{
	struct bgdma_desc d = d_memfifo(0, self->e.rec.id, BGDMA_NONE, 0, 6000);

	d.rec_ctr = self->e.rc;
	counter_add(&self->e.n, REC, self->e.rc, 6000);
	add(&self->f, &d, 0, 4096, 1);
	LANDS();
	ASSERT_EQ(0, fifo_destroy(&self->e.n, BGDMA_KIND_REC_FIFO,
				  self->e.rec.id));
	data_new(&self->f, 5, FIRST + 1);
	add(&self->f, &d, 4096, 1000, 1)->id = FIRST * PACKETS + 1;
	add(&self->f, &d, 5096, 904, 1)->id = FIRST * PACKETS + 1;
	REFUSED(BGDMA_E_FIFO);
	EXPECT_TRUE(counter_error(&self->e.n, REC, self->e.rc));
	EXPECT_EQ(0, value(&self->e.n, REC, self->e.rc));
}

/* It waits behind all that may be on its way; so does its counter, at the target. */
TEST_F(data, dma2_cancelled_before_it_was_sent)
{
	struct bgdma_desc d = d_put(WE, self->e.mem.handle, 0, 3, 0, 8);
	const struct bgdma_wire_packet *p;
	struct data_frame f;
	__u64 seq = 0, end;
	uint32_t i;

	d.rec_ctr = 5;
	/* In few frames, so that it is not these that are too many. */
	for (i = 0; i < 60; i++)
		put_in(&self->e.inj, &d);
	post(&self->e.inj);
	for (i = 0; i < 5; i++)
		seq = inject(&self->e.inj, &d);
	ASSERT_TRUE(until(load(&self->e.inj.kern->state) == BGDMA_FIFO_BLOCKED));
	ASSERT_LT(0, cancel(&self->e.inj, 0, seq));
	end = now_ns() + PATIENCE_NS;
	do {
		ASSERT_GT(end, now_ns());
		ASSERT_TRUE(next_frame(self->sock, BGDMA_FRAME_DATA, &f,
				       sizeof(f)));
		/* It may have more of them than ours. */
		p = (void *)(&f.frame + 1);
		for (i = 1; i < f.frame.packets && p->kind != BGDMA_WIRE_ABORT; i++)
			p++;
	} while (p->kind != BGDMA_WIRE_ABORT);
	EXPECT_EQ(BGDMA_E_CANCELLED, (int)p->bytes);
	EXPECT_EQ(5, (int)p->desc.rec_ctr);
	/* It ends as all others do. */
	ack_new(&self->ack);
	ASSERT_TRUE(send_ack(self->sock, &f, f.frame.psn + 1, 0, &self->ack));
	EXPECT_EQ(BGDMA_OK, outcome(&self->e.inj, seq));
}

/* The next frame that has the end of a transfer, its last packet, which we deal with. */
static bool heard_of_end(int sock, struct ack_frame *ack)
{
	const struct bgdma_wire_packet *p;
	struct data_frame f;

	do {
		if (!next_frame(sock, BGDMA_FRAME_DATA, &f, sizeof(f)))
			return false;
		p = (void *)(&f.frame + 1);
		p += f.frame.packets - 1;
	} while (p->kind != BGDMA_WIRE_ABORT);
	return p->bytes == BGDMA_E_BOUNDS && p->desc.rec_ctr == 5 &&
	       send_ack(sock, &f, f.frame.psn + 1, 0, ack);
}

/* Who waits for one's counter hears of each, however many others are on their way. */
TEST_F(data, x3_they_fail_before_they_are_sent)
{
	struct bgdma_desc good = d_put(WE, self->e.mem.handle, 0, 3, 0, 8);
	struct bgdma_desc bad = d_put(WE, self->e.mem.handle, PAIR_BYTES, 3, 0, 8);
	const uint32_t most = 63;
	struct data_frame f;
	uint32_t i, sent = 0, next = 0;

	bad.rec_ctr = 5;
	for (i = 0; i < most; i++)
		put_in(&self->e.inj, &good);
	post(&self->e.inj);
	for (i = 0; i < 2; i++)
		inject(&self->e.inj, &bad);
	/* Those on their way have all the places there are. */
	ASSERT_TRUE(until(load(&self->e.inj.kern->state) == BGDMA_FIFO_BLOCKED));
	do {
		ASSERT_TRUE(next_frame(self->sock, BGDMA_FRAME_DATA, &f,
				       sizeof(f)));
		if (sent && f.frame.psn != next)
			continue;
		sent += f.frame.packets;
		next = f.frame.psn + 1;
	} while (sent < most);
	ack_new(&self->ack);
	ASSERT_TRUE(send_ack(self->sock, &f, next, 0, &self->ack));
	for (i = 0; i < 2; i++) {
		EXPECT_TRUE(until(load(&self->e.inj.kern->state) ==
				  BGDMA_FIFO_ERROR));
		EXPECT_TRUE(heard_of_end(self->sock, &self->ack));
		EXPECT_EQ(0, clear_error(&self->e.n, BGDMA_KIND_INJ_FIFO,
					 self->e.inj.id, 0));
	}
}

/* Nothing of its FIFO has left this kernel before, and nothing of it will. */
TEST_F(data, x3_the_first_of_all_fails_before_it_is_sent)
{
	struct bgdma_desc bad = d_put(WE, self->e.mem.handle, PAIR_BYTES, 3, 0, 8);

	bad.rec_ctr = 5;
	EXPECT_EQ(BGDMA_E_BOUNDS, outcome(&self->e.inj, inject(&self->e.inj, &bad)));
	EXPECT_TRUE(heard_of_end(self->sock, &self->ack));
}

/* We take two frames at most, and say nothing for longer than the timeout. */
static int close_window(struct link *l)
{
	struct nl_msg *msg = request(l, BGDMA_CMD_LINK_SET, NLM_F_ACK);
	struct answer a = { 0 };

	nla_put_string(msg, BGDMA_A_LINK_PARTITION, PARTITION);
	nla_put_u32(msg, BGDMA_A_LINK_IFINDEX, if_nametoindex("veth0"));
	nla_put_u32(msg, BGDMA_A_LINK_WINDOW, 2);
	nla_put_u32(msg, BGDMA_A_LINK_TIMEOUT_MS, 700);
	return ask(l, msg, &a);
}

/* Its owner asked for its end: that the rest of it is lost is no error any more. */
TEST_F(data, dma2_x3_cancelled_and_then_lost)
{
	struct bgdma_desc d = d_put(WE, self->e.mem.handle, 0, 3, 0, PAIR_BYTES);
	__u64 seq;

	ASSERT_EQ(0, close_window(&self->l));
	counter_add(&self->e.n, INJ, self->e.ic, PAIR_BYTES);
	d.inj_ctr = self->e.ic;
	seq = inject(&self->e.inj, &d);
	ASSERT_TRUE(until(load(&self->e.inj.kern->state) == BGDMA_FIFO_BLOCKED));
	ASSERT_LT(0, cancel(&self->e.inj, 0, seq));
	/* Nothing was dealt with, but we are there. */
	EXPECT_TRUE(until(({
		send_hello(self->sock, &self->hello);
		usleep(20000);
		load(&self->e.inj.kern->done) > seq ||
			load(&self->e.inj.kern->state) == BGDMA_FIFO_ERROR;
	})));
	EXPECT_EQ(BGDMA_OK, outcome(&self->e.inj, seq));
	EXPECT_TRUE(counter_error(&self->e.n, INJ, self->e.ic));
	EXPECT_EQ(0, value(&self->e.n, INJ, self->e.ic));
}

/* What is known to have no room there waits, however much of it was dealt with. */
TEST_F(data, dma3_held_is_blocked)
{
	struct bgdma_desc d = d_put(WE, self->e.mem.handle, 0, 3, 0, 8);
	struct data_frame f;
	int i;

	for (i = 0; i < 60; i++)
		put_in(&self->e.inj, &d);
	post(&self->e.inj);
	for (i = 0; i < 5; i++)
		inject(&self->e.inj, &d);
	ASSERT_TRUE(until(load(&self->e.inj.kern->state) == BGDMA_FIFO_BLOCKED));
	ASSERT_TRUE(next_frame(self->sock, BGDMA_FRAME_DATA, &f, sizeof(f)));
	ack_new(&self->ack);
	self->ack.ack.state = BGDMA_WIRE_NOT_READY;
	self->ack.ack.kind = BGDMA_KIND_REGION;
	ASSERT_TRUE(send_ack(self->sock, &f, f.frame.psn, 0, &self->ack));
	for (i = 0; i < 300; i++) {
		usleep(1000);
		ASSERT_EQ(BGDMA_FIFO_BLOCKED, load(&self->e.inj.kern->state));
	}
}

/* An atomic was done there, and what it fetched will never come. */
TEST_F(data, x3_a_kernel_that_leaves_before_it_answers)
{
	struct bgdma_desc d = d_atomic(WE, BGDMA_ATOMIC_ADD, BGDMA_ATOMIC_U64, 1,
				       3, 0, 1);
	struct state_frame state;
	struct data_frame f;
	__u64 seq;

	d.flags = BGDMA_DESC_FETCH;
	d.u.at.src_region = self->e.mem.handle;
	d.inj_ctr = self->e.ic;
	counter_add(&self->e.n, INJ, self->e.ic, 8);
	seq = inject(&self->e.inj, &d);
	ASSERT_TRUE(next_frame(self->sock, BGDMA_FRAME_DATA, &f, sizeof(f)));
	ack_new(&self->ack);
	ASSERT_TRUE(send_ack(self->sock, &f, f.frame.psn + 1, 0, &self->ack));
	usleep(50000);
	EXPECT_EQ(seq, load(&self->e.inj.kern->done));
	state_new(&state, PARTITION, US, 9, WE);
	state.state.flags = BGDMA_WIRE_STATE_BYE;
	ASSERT_TRUE(send_state(self->sock, &state));
	EXPECT_EQ(BGDMA_E_PEER_DOWN, outcome(&self->e.inj, seq));
	EXPECT_EQ(WE, self->e.inj.rec->offset);
	EXPECT_TRUE(counter_error(&self->e.n, INJ, self->e.ic));
}

/* The same where whoever asked is gone before it, and something else is on its way. */
TEST_F(data, x3_who_asked_leaves_before_the_kernel_does)
{
	struct bgdma_desc d = d_atomic(WE, BGDMA_ATOMIC_ADD, BGDMA_ATOMIC_U64, 1,
				       3, 0, 1);
	struct state_frame state;
	struct data_frame f;

	d.flags = BGDMA_DESC_FETCH;
	d.u.at.src_region = self->e.mem.handle;
	inject(&self->e.inj, &d);
	ASSERT_TRUE(next_frame(self->sock, BGDMA_FRAME_DATA, &f, sizeof(f)));
	ack_new(&self->ack);
	ASSERT_TRUE(send_ack(self->sock, &f, f.frame.psn + 1, 0, &self->ack));
	d = d_number(WE, &self->e.rec, 1);
	inject(&self->e.inj, &d);
	ASSERT_TRUE(next_frame(self->sock, BGDMA_FRAME_DATA, &f, sizeof(f)));
	node_close(&self->e.n);
	state_new(&state, PARTITION, US, 9, WE);
	state.state.flags = BGDMA_WIRE_STATE_BYE;
	ASSERT_TRUE(send_state(self->sock, &state));
	EXPECT_TRUE(until(!way_to(&self->l, WE)));
	/* It was told of that: another may come. */
	end_new(&self->e, 0);
}

/* Who had no room is gone: nobody waits for it any more. */
TEST_F(data, x3_a_kernel_that_leaves_while_it_has_no_room)
{
	struct bgdma_desc d = d_number(WE, &self->e.rec, 1);
	struct state_frame state;
	struct data_frame f;
	__u64 seq;

	seq = inject(&self->e.inj, &d);
	ASSERT_TRUE(next_frame(self->sock, BGDMA_FRAME_DATA, &f, sizeof(f)));
	ack_new(&self->ack);
	self->ack.ack.state = BGDMA_WIRE_NOT_READY;
	self->ack.ack.kind = BGDMA_KIND_REC_FIFO;
	ASSERT_TRUE(send_ack(self->sock, &f, f.frame.psn, 0, &self->ack));
	EXPECT_TRUE(until(load(&self->e.inj.kern->state) == BGDMA_FIFO_BLOCKED));
	state_new(&state, PARTITION, US, 9, WE);
	state.state.flags = BGDMA_WIRE_STATE_BYE;
	ASSERT_TRUE(send_state(self->sock, &state));
	EXPECT_EQ(BGDMA_E_PEER_DOWN, outcome(&self->e.inj, seq));
	ASSERT_EQ(0, clear_error(&self->e.n, BGDMA_KIND_INJ_FIFO, self->e.inj.id,
				 0));
	d = d_put(0, self->e.mem.handle, 0, self->e.mem.handle, 64, 64);
	EXPECT_EQ(BGDMA_OK, run(&self->e.inj, &d));
}

/* Where nobody is attached, and nobody was for a while, a frame has its answer, too. */
TEST_F_TIMEOUT(data, x3_a_kernel_where_nobody_is, 60)
{
	struct bgdma_desc d = d_number(0, &self->e.rec, 1);

	node_close(&self->e.n);
	/* The threads of the engine end. */
	sleep(12);
	add(&self->f, &d, 0, 0, 0);
	REFUSED(BGDMA_E_NO_PEER);
}

/* ---- Refused late ---------------------------------------------------------- */

/* What their remote-get queue holds, if it waits for something. */
static void take_queue(struct nlattr **attrs, void *arg)
{
	if (nla_get_u32(attrs[BGDMA_A_FIFO_KIND]) == BGDMA_KIND_RGET_QUEUE &&
	    nla_get_u32(attrs[BGDMA_A_FIFO_STATE]) == BGDMA_FIFO_STATE_BLOCKED)
		*(uint64_t *)arg = nla_get_u64(attrs[BGDMA_A_FIFO_HELD]);
}

static bool queue_waits(struct link *l, uint64_t held)
{
	uint64_t now = 0;
	struct answer a = { .each = take_queue, .arg = &now };

	ask(l, request(l, BGDMA_CMD_FIFO_GET, NLM_F_DUMP), &a);
	return now == held;
}

/* A remote get of ours, of one descriptor or two. */
static void add_rget(struct data_frame *f, struct end *e,
		     const struct bgdma_desc *descs, unsigned int n)
{
	uint32_t at = f->frame.bytes, bytes = n * (uint32_t)sizeof(*descs);
	struct bgdma_desc d = d_rget(0, e->rgq, BGDMA_NONE, 0, n);

	add(f, &d, 0, bytes, 0);
	memcpy(f->payload + at, descs, bytes);
}

/* Sends number @number to us when what came before has arrived, then to itself. */
static void add_fenced_pair(struct data_frame *f, struct end *e, __u32 number)
{
	struct bgdma_desc pair[] = {
		d_number(WE, &e->rec, number), d_number(0, &e->rec, number),
	};

	pair[0].flags |= BGDMA_DESC_FENCE;
	pair[1].flags |= BGDMA_DESC_FENCE;
	pair[1].op = BGDMA_OP_LOCAL_MEMFIFO;
	add_rget(f, e, pair, 2);
}

/* What they sent was refused, or not. */
static bool answer_frame(int sock, const struct data_frame *f, int code)
{
	struct ack_frame ack;

	ack_new(&ack);
	ack.result[0] = (struct bgdma_wire_result) {
		.id = f->packet[0].id, .psn = f->frame.psn,
		.code = (uint32_t)code,
	};
	return send_ack(sock, f, f->frame.psn + 1, !!code, &ack);
}

/*
 * When a refusal is heard of the next remote get may have begun: it comes to its end,
 * whoever hears of its beginning relies on that. Those behind it are dropped.
 */
TEST_F(data, dma11_what_is_dropped_is_whole_remote_gets)
{
	struct end *e = &self->e;
	struct bgdma_desc d = d_number(WE, &e->rec, 1);
	struct data_frame f;

	add_rget(&self->f, e, &d, 1);
	add_fenced_pair(&self->f, e, 2);
	add_fenced_pair(&self->f, e, 3);
	LANDS();
	/* The first of the second at its fence, and three behind it. */
	ASSERT_TRUE(until(queue_waits(&self->l, 4)));
	ASSERT_TRUE(next_frame(self->sock, BGDMA_FRAME_DATA, &f, sizeof(f)));
	ASSERT_TRUE(answer_frame(self->sock, &f, BGDMA_E_RIGHTS));
	do {
		ASSERT_TRUE(next_frame(self->sock, BGDMA_FRAME_DATA, &f,
				       sizeof(f)));
	} while (f.frame.flow == BGDMA_FLOW_KERNEL ||
		 f.packet[0].desc.op != BGDMA_OP_MEMFIFO ||
		 f.packet[0].desc.u.inline_data[0] != 2);
	ASSERT_TRUE(answer_frame(self->sock, &f, BGDMA_OK));
	EXPECT_EQ(2, number_wait(&e->rec));
	/* It goes on with what comes later. */
	data_new(&self->f, 5, FIRST + 1);
	d = d_number(0, &e->rec, 4);
	d.op = BGDMA_OP_LOCAL_MEMFIFO;
	add_rget(&self->f, e, &d, 1);
	LANDS();
	EXPECT_EQ(4, number_wait(&e->rec));
}

TEST_HARNESS_MAIN
