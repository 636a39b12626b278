// SPDX-License-Identifier: GPL-2.0
/*
 * Frames of data, and acknowledgments, from a kernel that lies: netlink_data.h.
 * What a context exposes they may use, once for each number; nothing else.
 */
#include <sched.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "netlink_flow.h"

/* ---- Data ---------------------------------------------------------------- */

TEST_F(data, a_frame_lands_once)
{
	struct bgdma_desc d = put_to(&self->e.mem, 0, 64);
	int i;

	counter_add(&self->e.n, REC, self->e.rc, 1000);
	d.rec_ctr = self->e.rc;
	add(&self->f, &d, 0, 64, 0xaa);
	LANDS();
	EXPECT_TRUE(all_bytes(self->e.mem.p, 64, 0xaa));
	EXPECT_EQ(936, value(&self->e.n, REC, self->e.rc));
	/* Again and again, also as if the flow had just begun. */
	for (i = 0; i < 10; i++) {
		self->f.frame.flags = i % 2 ? BGDMA_FRAME_AGAIN : 0;
		self->f.frame.first = FIRST + (unsigned int)i % 3;
		ASSERT_TRUE(send_data(self->sock, &self->f));
		ASSERT_TRUE(dealt(self->sock, 5, FIRST + 1, &self->ack));
	}
	EXPECT_EQ(936, value(&self->e.n, REC, self->e.rc));
	/* An older session is nothing at all; the next frame lands. */
	data_new(&self->f, 5, FIRST + 1);
	self->f.frame.session = 0;
	add(&self->f, &d, 0, 64, 0xbb);
	ASSERT_TRUE(send_data(self->sock, &self->f));
	self->f.frame.session = 1;
	LANDS();
	EXPECT_EQ(872, value(&self->e.n, REC, self->e.rc));
}

TEST_F(data, in_their_order_however_they_come)
{
	struct bgdma_desc d = put_to(&self->e.mem, 0, 8);
	uint32_t i;

	/* From the last to the second; each alone overwrites the same bytes. */
	for (i = 31; i > 0; i--) {
		data_new(&self->f, 5, FIRST + i);
		add(&self->f, &d, 0, 8, (uint8_t)i);
		ASSERT_TRUE(send_data(self->sock, &self->f));
	}
	ASSERT_TRUE(dealt(self->sock, 5, FIRST, &self->ack));
	/* Too far ahead to be kept. */
	data_new(&self->f, 5, FIRST + BGDMA_WIRE_SACK);
	add(&self->f, &d, 0, 8, 0xee);
	ASSERT_TRUE(send_data(self->sock, &self->f));
	ASSERT_TRUE(dealt(self->sock, 5, FIRST, &self->ack));
	EXPECT_TRUE(until(({
		if (self->ack.ack.sack[0] != 0xfffffffe)
			dealt(self->sock, 5, FIRST, &self->ack);
		self->ack.ack.sack[0] == 0xfffffffe;
	})));
	EXPECT_EQ(0, self->ack.ack.sack[1] | self->ack.ack.sack[3]);
	EXPECT_TRUE(all_bytes(self->e.mem.p, 8, 0));
	data_new(&self->f, 5, FIRST);
	add(&self->f, &d, 0, 8, 0xff);
	ASSERT_TRUE(send_data(self->sock, &self->f));
	ASSERT_TRUE(dealt(self->sock, 5, FIRST + 32, &self->ack));
	EXPECT_TRUE(all_bytes(self->e.mem.p, 8, 31));
}

TEST_F(data, x2_damaged_payload_does_not_land)
{
	struct bgdma_desc d = put_to(&self->e.mem, 0, 1000);

	add(&self->f, &d, 0, 1000, 0x55);
	self->f.frame.head = sizeof(self->f.frame) +
			     sizeof(self->f.packet[0]);
	self->f.frame.sum = sum_of(&self->f) + 1;
	frame_seal(&self->f.frame);
	ASSERT_TRUE(send_sealed(self->sock, &self->f));
	ASSERT_TRUE(dealt(self->sock, 5, FIRST, &self->ack));
	EXPECT_TRUE(all_bytes(self->e.mem.p, 1000, 0));
	LANDS();
	EXPECT_TRUE(all_bytes(self->e.mem.p, 1000, 0x55));
}

TEST_F(data, x2_only_what_is_exposed)
{
	struct bgdma_desc d = put_to(&self->closed, 0, 64);

	add(&self->f, &d, 0, 64, 0xaa);
	REFUSED(BGDMA_E_RIGHTS);
	d = put_to(&self->e.mem, PAIR_BYTES - 32, 64);
	data_new(&self->f, 6, FIRST);
	add(&self->f, &d, 0, 64, 0xaa);
	REFUSED(BGDMA_E_BOUNDS);
	/* From its middle on: the offset counts. */
	d = put_to(&self->e.mem, 0, 1 << 30);
	data_new(&self->f, 7, FIRST);
	add(&self->f, &d, (1 << 30) - 64, 64, 0xaa);
	REFUSED(BGDMA_E_BOUNDS);
	d = d_atomic(0, BGDMA_ATOMIC_ADD, BGDMA_ATOMIC_U64, 1,
		     self->e.mem.handle, 4, 1);
	data_new(&self->f, 9, FIRST);
	add(&self->f, &d, 0, 8, 1);
	REFUSED(BGDMA_E_RIGHTS);
	d = d_gate(0, BGDMA_OP_EPOCH_BEGIN, self->closed.handle, 1, 0);
	data_new(&self->f, 10, FIRST);
	add(&self->f, &d, 0, 0, 0);
	REFUSED(BGDMA_E_RIGHTS);
	EXPECT_TRUE(all_bytes(self->closed.p, PAGE, 0));
	EXPECT_TRUE(all_bytes(self->e.mem.p, PAIR_BYTES, 0));
}

/* Nobody but kernels knows that numbers of two of them are not the same. */
TEST_F(data, x2_nobody_is_another_by_his_number)
{
	struct bgdma_desc d = put_to(&self->closed, 0, 64);

	self->f.frame.flow_inc = self->e.n.at.incarnation;
	self->f.frame.flow_ctx = self->e.n.at.ctx;
	add(&self->f, &d, 0, 64, 0xaa);
	REFUSED(BGDMA_E_RIGHTS);
	data_new(&self->f, 6, FIRST);
	self->f.frame.flow_inc = self->e.n.at.incarnation;
	d = d_inline(0, self->e.rec.id, "x", 1);
	d.dst_fifo = 63;
	add(&self->f, &d, 0, 0, 0);
	REFUSED(BGDMA_E_FIFO);
	EXPECT_TRUE(all_bytes(self->closed.p, PAGE, 0));
}

/* What was for somebody is not for who has his number now. */
TEST_F(data, x3_not_for_who_came_after)
{
	struct bgdma_desc d = put_to(&self->e.mem, 0, 64);

	add(&self->f, &d, 0, 64, 0xaa);
	self->f.packet[0].dst_inc = self->e.n.at.incarnation + 1;
	REFUSED(BGDMA_E_PEER_DOWN);
	EXPECT_TRUE(all_bytes(self->e.mem.p, 64, 0));
	data_new(&self->f, 6, FIRST);
	add(&self->f, &d, 0, 64, 0xaa);
	self->f.packet[0].dst_inc = self->e.n.at.incarnation;
	LANDS();
	EXPECT_TRUE(all_bytes(self->e.mem.p, 64, 0xaa));
}

/* Only the kernel where a node lives speaks for it. */
TEST_F(data, x2_nobody_speaks_for_others)
{
	struct bgdma_desc d = put_to(&self->closed, 0, 64);
	struct bgdma_desc open = put_to(&self->e.mem, 0, 64);
	uint64_t they = self->hello.hello.hears[0];
	uint32_t rank;

	for (rank = 0; rank < DIM; rank++) {
		data_new(&self->f, 5, FIRST);
		self->f.frame.src_rank = rank;
		self->f.frame.kernel = rank == WE ? US + 1 :
				       rank ? US : they;
		self->f.frame.flow_inc = self->e.n.at.incarnation;
		self->f.frame.flow_ctx = self->e.n.at.ctx;
		add(&self->f, &d, 0, 64, 0xaa);
		ASSERT_TRUE(send_data(self->sock, &self->f));
		data_new(&self->f, 6, FIRST);
		self->f.frame.src_rank = rank;
		self->f.frame.kernel = rank == WE ? US + 1 :
				       rank ? US : they;
		add(&self->f, &open, 0, 64, 0xaa);
		ASSERT_TRUE(send_data(self->sock, &self->f));
	}
	/* Behind the last of them, so that all were looked at. */
	data_new(&self->f, 7, FIRST);
	open = put_to(&self->e.mem, 128, 64);
	add(&self->f, &open, 0, 64, 0xaa);
	LANDS();
	EXPECT_TRUE(all_bytes(self->closed.p, PAGE, 0));
	EXPECT_TRUE(all_bytes(self->e.mem.p, 128, 0));
}

TEST_F(data, packets_for_a_fifo_come_in_pieces)
{
	struct bgdma_desc d = d_memfifo(0, self->e.rec.id, BGDMA_NONE, 0, 6000);
	const struct bgdma_packet *p;

	add(&self->f, &d, 0, 3000, 1);
	add(&self->f, &d, 3000, 1096, 2)->id = self->f.packet[0].id;
	LANDS();
	p = packet_wait(&self->e.rec);
	ASSERT_EQ(4096, p->bytes);
	EXPECT_TRUE(all_bytes(payload(p), 3000, 1));
	EXPECT_TRUE(all_bytes(payload(p) + 3000, 1096, 2));
	EXPECT_EQ(WE, p->src_rank);
	packet_drop(&self->e.rec);
	/* One that is missing is missed. */
	data_new(&self->f, 5, FIRST + 1);
	add(&self->f, &d, 5000, 1000, 3);
	REFUSED(BGDMA_E_LENGTH);
	/* What is given up ends with an error. */
	data_new(&self->f, 6, FIRST);
	add(&self->f, &d, 0, 4000, 1);
	LANDS();
	data_new(&self->f, 6, FIRST + 1);
	d.rec_ctr = self->e.rc;
	add(&self->f, &d, 4096, 0, 1)->kind = BGDMA_WIRE_ABORT;
	self->f.packet[0].bytes = BGDMA_E_CANCELLED;
	self->f.packet[0].id = FIRST * PACKETS + 1;
	LANDS();
	EXPECT_TRUE(counter_error(&self->e.n, REC, self->e.rc));
}

/* More of them than an acknowledgment can tell of. */
TEST_F(data, refusals_are_told_until_they_are_known)
{
	struct bgdma_desc d = put_to(&self->closed, 0, 8);
	uint32_t i, at;

	for (i = 0; i < 20; i++) {
		data_new(&self->f, 5, FIRST + i);
		add(&self->f, &d, 0, 8, 1);
		add(&self->f, &d, 0, 8, 1);
		ASSERT_TRUE(send_data(self->sock, &self->f));
	}
	ASSERT_TRUE(dealt(self->sock, 5, FIRST + 16, &self->ack));
	EXPECT_EQ(BGDMA_WIRE_RESULTS, self->ack.frame.packets);
	/* Now it may forget some, and goes on. */
	for (at = 17; at <= 20; at++) {
		data_new(&self->f, 5, FIRST + 19);
		self->f.frame.first = FIRST + at - 1;
		add(&self->f, &d, 0, 8, 1);
		ASSERT_TRUE(send_data(self->sock, &self->f));
	}
	EXPECT_TRUE(dealt(self->sock, 5, FIRST + 20, &self->ack));
}

/* The kernel's own voice, from others; of contexts that are not its; in vain. */
TEST_F(data, x2_words_that_are_not_true)
{
	struct bgdma_wire_gone gone = {
		.rank = 0, .incarnation = self->e.n.at.incarnation,
		.ctx = self->e.n.at.ctx,
	};
	struct bgdma_wire_answer answer = { .incarnation = INC };
	struct bgdma_event event = { .type = BGDMA_EVENT_PEER_DOWN };
	struct bgdma_desc d = put_to(&self->e.mem, 0, 8);
	struct data_frame *f = &self->f;
	struct bgdma_wire_packet *p;
	struct bgdma_event seen;
	uint32_t i, slot;

	/* Open to somebody, who does not live where we do. */
	must(counter_alloc(&self->e.n, INJ, 0, 1, &slot));
	must(grant(&self->e.n, INJ, slot, 0, BGDMA_RIGHT_COUNT));
	answer.counter = BGDMA_HANDLE(slot, cell(&self->e.n, INJ, slot)->lease_gen);
	counter_add(&self->e.n, INJ, answer.counter, 7);
	for (i = 0; i < 2; i++) {
		if (i)
			voice_new(f, FIRST);
		add(f, NULL, 0, sizeof(gone), 0)->kind = BGDMA_WIRE_GONE;
		memcpy(f->payload, &gone, sizeof(gone));
		p = add(f, NULL, 0, sizeof(answer), 0);
		p->kind = BGDMA_WIRE_ANSWER;
		p->dst_inc = self->e.n.at.incarnation;
		memcpy(f->payload + 16, &answer, sizeof(answer));
		p = add(f, NULL, 0, sizeof(event), 0);
		p->kind = BGDMA_WIRE_EVENT;
		p->dst_inc = self->e.n.at.incarnation;
		memcpy(f->payload + 16 + sizeof(answer), &event, sizeof(event));
		p = add(f, NULL, 0, 256, 0);
		p->kind = BGDMA_WIRE_FETCHED;
		p->dst_inc = self->e.n.at.incarnation;
		ASSERT_TRUE(send_data(self->sock, f));
		ASSERT_TRUE(dealt(self->sock, f->frame.flow, FIRST + 1,
				  &self->ack));
		EXPECT_EQ(0, self->ack.frame.packets);
	}
	/* Of nodes and contexts that cannot be. */
	for (i = 0; i < 4; i++) {
		voice_new(f, FIRST + 1 + i);
		gone.rank = i == 0 ? 0xffffffff : i == 1 ? DIM : WE;
		gone.ctx = i == 2 ? 256 : i == 3 ? 0xffff : 0;
		add(f, NULL, 0, sizeof(gone), 0)->kind = BGDMA_WIRE_GONE;
		memcpy(f->payload, &gone, sizeof(gone));
		ASSERT_TRUE(send_data(self->sock, f));
		ASSERT_TRUE(dealt(self->sock, BGDMA_FLOW_KERNEL, FIRST + 2 + i,
				  &self->ack));
	}
	data_new(f, 9, FIRST);
	add(f, &d, 0, 8, 1);
	LANDS();
	EXPECT_EQ(7, value(&self->e.n, INJ, answer.counter));
	EXPECT_FALSE(counter_error(&self->e.n, INJ, answer.counter));
	/* The first event that comes is of what really happened. */
	voice_new(f, FIRST + 5);
	gone.rank = WE;
	gone.ctx = 0;
	gone.incarnation = INC;
	add(f, NULL, 0, sizeof(gone), 0)->kind = BGDMA_WIRE_GONE;
	memcpy(f->payload, &gone, sizeof(gone));
	LANDS();
	ASSERT_TRUE(event_wait(&self->e.n, BGDMA_EVENT_PEER_DOWN, &seen));
	EXPECT_EQ(WE, seen.peer_rank);
	EXPECT_EQ(INC, seen.peer_incarnation);
}

/* A transfer has begun, and nothing is left of what it was for. */
TEST_F(data, x3_a_partition_goes_in_the_middle)
{
	struct bgdma_desc d = put_to(&self->e.mem, 0, 128);

	add(&self->f, &d, 0, 64, 1);
	LANDS();
	data_new(&self->f, 6, FIRST);
	d = d_memfifo(0, self->e.rec.id, BGDMA_NONE, 0, 6000);
	add(&self->f, &d, 0, 4000, 1);
	LANDS();
	node_close(&self->e.n);
	EXPECT_EQ(0, by_name(&self->l, BGDMA_CMD_PARTITION_DEL, PARTITION));
}

/* ---- Acknowledgments ----------------------------------------------------- */

/* A put from them to us is on its way; f: its frame. */
#define PUT_TO_US(seq_, length_) do { \
	struct bgdma_desc d_ = d_put(WE, self->e.mem.handle, 0, 3, 0, \
				     length_); \
\
	counter_add(&self->e.n, INJ, self->e.ic, length_); \
	d_.inj_ctr = self->e.ic; \
	(seq_) = inject(&self->e.inj, &d_); \
	/* One before may have been sent again. */ \
	do { \
		ASSERT_TRUE(next_frame(self->sock, BGDMA_FRAME_DATA, &self->f, \
				       sizeof(self->f))); \
	} while (self->f.frame.flags & BGDMA_FRAME_AGAIN); \
} while (0)

TEST_F(data, x2_an_acknowledgment_that_lies_ends_nothing)
{
	struct ack_frame a;
	uint32_t psn, i;
	__u64 seq;

	PUT_TO_US(seq, 1000);
	psn = self->f.frame.psn;
	/* Of frames that were never sent, or long ago. */
	for (i = 0; i < 8; i++) {
		static const uint32_t by[] = {
			2, 3, 256, 257, 0x7fffffff, 0x80000000, 0x80000001,
			0xffffffff
		};

		ack_new(&a);
		memset(a.ack.sack, 0xff, sizeof(a.ack.sack));
		ASSERT_TRUE(send_ack(self->sock, &self->f, psn + by[i], 0, &a));
	}
	/* Of all that follows, with a window of nothing, without room. */
	ack_new(&a);
	memset(a.ack.sack, 0xff, sizeof(a.ack.sack));
	a.ack.window = 0;
	ASSERT_TRUE(send_ack(self->sock, &self->f, psn, 0, &a));
	a.ack.state = 255;
	a.ack.kind = 255;
	a.ack.object = 0xffffffff;
	ASSERT_TRUE(send_ack(self->sock, &self->f, psn, 0, &a));
	a.ack.state = BGDMA_WIRE_NOT_READY;
	ASSERT_TRUE(send_ack(self->sock, &self->f, psn, 0, &a));
	/* Of another session, flow, or context. */
	ack_new(&a);
	self->f.frame.session++;
	ASSERT_TRUE(send_ack(self->sock, &self->f, psn + 1, 0, &a));
	self->f.frame.session--;
	self->f.frame.flow ^= 1U << 31;
	ASSERT_TRUE(send_ack(self->sock, &self->f, psn + 1, 0, &a));
	self->f.frame.flow ^= 1U << 31;
	self->f.frame.flow_inc++;
	ASSERT_TRUE(send_ack(self->sock, &self->f, psn + 1, 0, &a));
	self->f.frame.flow_inc--;
	/* Of a kernel where the node does not live: neither the next nor a later one. */
	ASSERT_TRUE(send_ack_of(self->sock, &self->f, US + 1, 1000, psn + 1, 0, &a));
	ASSERT_TRUE(send_ack_of(self->sock, &self->f, 0, 1001, psn + 1, 0, &a));
	/* Refusals of what is not on its way. */
	for (i = 0; i < BGDMA_WIRE_RESULTS; i++)
		a.result[i] = (struct bgdma_wire_result) {
			.id = self->f.packet[0].id + 1 + i, .psn = psn,
			.code = BGDMA_E_RIGHTS,
		};
	a.result[0].id = self->f.packet[0].id;
	a.result[0].psn = psn - 1;
	ASSERT_TRUE(send_ack(self->sock, &self->f, psn, BGDMA_WIRE_RESULTS,
			     &a));
	/* It comes again: so all of these were looked at. */
	for (i = 0; i < 3; i++)
		ASSERT_TRUE(next_frame(self->sock, BGDMA_FRAME_DATA, &self->f,
				       sizeof(self->f)));
	EXPECT_EQ(1000, value(&self->e.n, INJ, self->e.ic));
	EXPECT_FALSE(counter_error(&self->e.n, INJ, self->e.ic));
	EXPECT_LE(load(&self->e.inj.kern->done), seq);
	/* The true one ends it, once. */
	ack_new(&a);
	for (i = 0; i < 3; i++)
		ASSERT_TRUE(send_ack(self->sock, &self->f, psn + 1, 0, &a));
	EXPECT_EQ(BGDMA_OK, outcome(&self->e.inj, seq));
	EXPECT_EQ(0, value(&self->e.n, INJ, self->e.ic));
}

/* It says that there was no room, which was before all had been dealt with. */
TEST_F(data, an_acknowledgment_that_was_overtaken_stops_nothing)
{
	struct ack_frame a;
	__u64 seq;

	PUT_TO_US(seq, 1000);
	ack_new(&a);
	ASSERT_TRUE(send_ack_as(self->sock, &self->f, 2, self->f.frame.psn + 1,
				0, &a));
	EXPECT_EQ(BGDMA_OK, outcome(&self->e.inj, seq));
	a.ack.state = BGDMA_WIRE_NOT_READY;
	ASSERT_TRUE(send_ack_as(self->sock, &self->f, 1, self->f.frame.psn + 1,
				0, &a));
	ASSERT_TRUE(send_ack_as(self->sock, &self->f, 3, self->f.frame.psn + 1,
				0, &a));
	PUT_TO_US(seq, 1000);
	ack_new(&a);
	ASSERT_TRUE(send_ack_as(self->sock, &self->f, 4, self->f.frame.psn + 1,
				0, &a));
	EXPECT_EQ(BGDMA_OK, outcome(&self->e.inj, seq));
}

TEST_F(data, x2_a_refusal_is_one_that_there_is)
{
	struct ack_frame a;
	__u64 seq;

	PUT_TO_US(seq, 1000);
	ack_new(&a);
	a.result[0] = (struct bgdma_wire_result) {
		.id = self->f.packet[0].id, .psn = self->f.frame.psn,
		.code = BGDMA_E_RIGHTS, .offset = 5, .bound = 6,
	};
	ASSERT_TRUE(send_ack(self->sock, &self->f, self->f.frame.psn + 1, 1,
			     &a));
	EXPECT_EQ(BGDMA_E_RIGHTS, outcome(&self->e.inj, seq));
	EXPECT_EQ(5, self->e.inj.rec->offset);
	ASSERT_EQ(0, clear_error(&self->e.n, BGDMA_KIND_INJ_FIFO,
				 self->e.inj.id, 0));
	/* A code that nobody knows is not handed on. */
	PUT_TO_US(seq, 1000);
	a.result[0].id = self->f.packet[0].id;
	a.result[0].psn = self->f.frame.psn;
	a.result[0].code = 0x12345678;
	ASSERT_TRUE(send_ack(self->sock, &self->f, self->f.frame.psn + 1, 1,
			     &a));
	EXPECT_EQ(BGDMA_E_ABORTED, outcome(&self->e.inj, seq));
}

/* ---- Silence ------------------------------------------------------------- */

TEST_F(data, x3_a_kernel_that_leaves)
{
	struct state_frame state;
	struct ack_frame a;
	__u64 seq;

	PUT_TO_US(seq, 1000);
	/* It was there. */
	ack_new(&a);
	ASSERT_TRUE(send_ack(self->sock, &self->f, self->f.frame.psn, 0, &a));
	ASSERT_TRUE(next_frame(self->sock, BGDMA_FRAME_DATA, &self->f,
			       sizeof(self->f)));
	state_new(&state, PARTITION, US, 9, WE);
	state.state.flags = BGDMA_WIRE_STATE_BYE;
	ASSERT_TRUE(send_state(self->sock, &state));
	EXPECT_EQ(BGDMA_E_PEER_DOWN, outcome(&self->e.inj, seq));
	EXPECT_EQ(WE, self->e.inj.rec->offset);
}

TEST_F(data, x3_a_kernel_that_answers_nothing)
{
	__u64 seq;

	ASSERT_EQ(0, link_timeout(&self->l, 700));
	PUT_TO_US(seq, 1000);
	/* But it is there, and so is the way. */
	EXPECT_TRUE(until(({
		send_hello(self->sock, &self->hello);
		usleep(20000);
		load(&self->e.inj.kern->state) == BGDMA_FIFO_ERROR;
	})));
	EXPECT_EQ(BGDMA_E_TIMEOUT, outcome(&self->e.inj, seq));
	EXPECT_EQ(WE, self->e.inj.rec->offset);
}

TEST_F(data, x3_a_link_that_is_cut)
{
	__u64 seq;

	ASSERT_EQ(0, link_timeout(&self->l, 700));
	PUT_TO_US(seq, 1000);
	ASSERT_EQ(0, rt_set("veth0", false, 9000));
	EXPECT_EQ(BGDMA_E_LINK_DOWN, outcome(&self->e.inj, seq));
	/* From where, and in which direction: the ends of a torus are near. */
	EXPECT_EQ(0, self->e.inj.rec->offset);
	EXPECT_EQ(BGDMA_DIR_XM, self->e.inj.rec->bound);
}

/* What an atomic found comes from who was asked, for what was asked. */
TEST_F(data, x2_only_what_was_fetched)
{
	struct bgdma_desc d = d_atomic(WE, BGDMA_ATOMIC_ADD, BGDMA_ATOMIC_U64,
				       0, 3, 0, 4);
	struct data_frame *f = &self->f, back;
	struct bgdma_wire_packet *p;
	struct ack_frame a;
	__u64 seq;
	uint32_t i;

	d.flags |= BGDMA_DESC_FETCH;
	d.u.at.src_region = self->e.mem.handle;
	d.u.at.src_off = 1024;
	counter_add(&self->e.n, INJ, self->e.ic, 32);
	d.inj_ctr = self->e.ic;
	seq = inject(&self->e.inj, &d);
	ASSERT_TRUE(next_frame(self->sock, BGDMA_FRAME_DATA, f, sizeof(*f)));
	for (i = 0; i < 6; i++) {
		voice_new(&back, FIRST + i);
		p = add(&back, NULL, i == 1 ? 8 : i == 2 ? 0xffffffe0 : 0,
			i ? 32 : 40, (uint8_t)(0xa0 + i));
		p->kind = BGDMA_WIRE_FETCHED;
		p->dst_inc = f->frame.flow_inc + (i == 3);
		p->id = f->packet[0].id + (i == 4);
		p->desc.dst_ctx = f->frame.flow_ctx;
		p->desc.dst_rank = WE;
		p->desc.cookie = (uint64_t)f->frame.flow << 1;
		ASSERT_TRUE(send_data(self->sock, &back));
		ASSERT_TRUE(dealt(self->sock, BGDMA_FLOW_KERNEL, FIRST + 1 + i,
				  &self->ack));
		if (i < 5)
			EXPECT_TRUE(all_bytes(self->e.mem.p, PAIR_BYTES, 0));
	}
	ack_new(&a);
	ASSERT_TRUE(send_ack(self->sock, f, f->frame.psn + 1, 0, &a));
	EXPECT_EQ(BGDMA_OK, outcome(&self->e.inj, seq));
	EXPECT_TRUE(all_bytes(self->e.mem.p + 1024, 32, 0xa5));
	/* Each byte counts once, whichever of the two words came first. */
	EXPECT_EQ(0, value(&self->e.n, INJ, self->e.ic));
	EXPECT_TRUE(all_bytes(self->e.mem.p, 1024, 0));
	EXPECT_TRUE(all_bytes(self->e.mem.p + 1056, 1024, 0));
}

/* What was fetched, or refused, where a third kernel is, is not for us to tell. */
TEST_F(data, x2_what_happened_at_others)
{
	struct bgdma_desc d = d_atomic(WE - 1, BGDMA_ATOMIC_ADD,
				       BGDMA_ATOMIC_U64, 0, 3, 0, 1);
	struct bgdma_event event = { .type = BGDMA_EVENT_REFUSED }, seen;
	struct data_frame *f = &self->f, back;
	struct bgdma_wire_packet *p;
	uint32_t i;

	ASSERT_TRUE(third_comes(&self->l, self->sock,
				self->hello.hello.hears[0]));
	d.flags |= BGDMA_DESC_FETCH;
	d.u.at.src_region = self->e.mem.handle;
	inject(&self->e.inj, &d);
	ASSERT_TRUE(next_frame(self->sock, BGDMA_FRAME_DATA, f, sizeof(*f)));
	for (i = 0; i < 2; i++) {
		voice_new(&back, FIRST + i);
		p = add(&back, NULL, 0, sizeof(event), 0);
		p->kind = BGDMA_WIRE_EVENT;
		p->dst_inc = self->e.n.at.incarnation;
		event.peer_rank = WE - 1 + i;
		memcpy(back.payload, &event, sizeof(event));
		p = add(&back, NULL, 0, 8, 0xaa);
		p->kind = BGDMA_WIRE_FETCHED;
		p->dst_inc = f->frame.flow_inc;
		p->id = f->packet[0].id;
		p->desc.dst_ctx = f->frame.flow_ctx;
		p->desc.dst_rank = WE - 1;
		p->desc.cookie = (uint64_t)f->frame.flow << 1;
		ASSERT_TRUE(send_data(self->sock, &back));
		ASSERT_TRUE(dealt(self->sock, BGDMA_FLOW_KERNEL, FIRST + 1 + i,
				  &self->ack));
		EXPECT_TRUE(all_bytes(self->e.mem.p, PAIR_BYTES, 0));
	}
	ASSERT_TRUE(event_next(&self->e.n, &seen));
	EXPECT_EQ(WE, seen.peer_rank);
	EXPECT_FALSE(event_next(&self->e.n, &seen));
}

/* ---- Anything ------------------------------------------------------------ */

/* Frames with a checksum that is right, and anything in them. */
TEST_F_TIMEOUT(data, x2_random_frames_touch_nothing_that_is_closed, 3600)
{
	unsigned int rounds = random_frames(), i, seed = 1;
	struct data_frame *f = &self->f;

	for (i = 0; i < rounds; i++) {
		struct bgdma_desc d = put_to(i % 2 ? &self->closed :
						     &self->e.mem, 0, 64);
		unsigned int changes = (unsigned int)rand_r(&seed) % 6, n;
		size_t head;

		if (i % 16 == 15)
			voice_new(f, FIRST + i / 16);
		else
			data_new(f, (unsigned int)rand_r(&seed) % 4, FIRST + i % 64);
		f->frame.first = FIRST + i % 8;
		f->frame.session = 1 + i / 4096;
		d.op = (uint8_t)(rand_r(&seed) % BGDMA_OP_COUNT);
		d.rec_ctr = i % 3 ? self->e.rc : BGDMA_NONE;
		for (n = 1 + i % PACKETS; n; n--)
			add(f, &d, 0, i % 5 ? 64 : 16, (uint8_t)i)->kind =
				i % 16 == 15 ? (uint8_t)(2 + n % 4) : 0;
		head = sizeof(f->frame) + f->frame.packets *
					  sizeof(f->packet[0]);
		while (changes--) {
			unsigned int at = (unsigned int)rand_r(&seed) % head;

			/* Not its type, length and partition. */
			if (at < 8 || (at >= 56 && at < 64))
				continue;
			((uint8_t *)f)[at] ^= (uint8_t)(1 + rand_r(&seed) % 255);
		}
		f->frame.head = (uint16_t)(sizeof(f->frame) + f->frame.packets *
					   sizeof(f->packet[0]));
		/* Of so many packets none is there. */
		if (f->frame.packets > PACKETS)
			continue;
		f->frame.sum = sum_of(f);
		frame_seal(&f->frame);
		while (!send_sealed(self->sock, f))
			usleep(1000);
		if (!(i % 64)) {
			send_hello(self->sock, &self->hello);
			usleep(1000);
		}
	}
	EXPECT_TRUE(all_bytes(self->closed.p, PAGE, 0));
	ASSERT_TRUE(send_hello(self->sock, &self->hello));
	/* They live. */
	EXPECT_EQ(BGDMA_OK, run(&self->e.inj, &(struct bgdma_desc) {
		.op = BGDMA_OP_NOP, .inj_ctr = BGDMA_NONE,
		.rec_ctr = BGDMA_NONE, .u.at.src_region = BGDMA_NONE,
		.u.at.dst_region = BGDMA_NONE,
	}));
}

TEST_HARNESS_MAIN
