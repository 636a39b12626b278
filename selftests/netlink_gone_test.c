// SPDX-License-Identifier: GPL-2.0
/*
 * A kernel that leaves, and what never sent anything to another: who waits for it is
 * told all the same. netlink_data.h.
 */
#include "kselftest_harness.h"
#include "netlink_gone.h"

static bool leave(int sock)
{
	struct state_frame state;

	state_new(&state, PARTITION, US, 9, WE);
	state.state.flags = BGDMA_WIRE_STATE_BYE;
	return send_state(sock, &state);
}

/* ---- Counters ------------------------------------------------------------ */

#define LEASES	60U

/* Of one context there, or all; the others are for nodes that live elsewhere. */
TEST_F(data, x3_who_leased_counters_to_it)
{
	struct end *e = &self->e;
	const struct bgdma_record *r;
	__u32 i, first;

	must(counter_alloc(&e->n, REC, 0, LEASES, &first));
	for (i = 0; i < LEASES; i++)
		lease(&e->n, REC, first + i, i % 3 ? i % 3 : WE,
		      i % 2 ? 7 : BGDMA_CTX_ANY);
	lease(&e->n, INJ, e->ic, WE, 3);
	ASSERT_TRUE(leave(self->sock));
	EXPECT_TRUE(until(counter_error(&e->n, REC, first + LEASES - 3)));
	for (i = 0; i < LEASES; i++) {
		r = counter_record(&e->n, REC, first + i);
		EXPECT_EQ(i % 3 ? BGDMA_OK : BGDMA_E_PEER_DOWN, (int)r->code);
		if (i % 3)
			continue;
		EXPECT_EQ(WE, r->peer_rank);
		EXPECT_EQ(i % 2 ? 7 : BGDMA_CTX_ANY, r->peer_ctx);
	}
	r = counter_record(&e->n, INJ, e->ic);
	EXPECT_EQ(BGDMA_E_PEER_DOWN, (int)r->code);
	EXPECT_EQ(3, r->peer_ctx);
	WORD();
}

/* By its own name first; then what else was there. */
TEST_F(data, x3_who_leased_a_counter_to_one_that_spoke)
{
	struct bgdma_desc d = put_to(&self->e.mem, 0, 64);
	const struct bgdma_record *r;
	struct bgdma_event event;

	add(&self->f, &d, 0, 64, 1);
	LANDS();
	lease(&self->e.n, REC, self->e.rc, WE, 0);
	ASSERT_TRUE(leave(self->sock));
	ASSERT_TRUE(event_wait(&self->e.n, BGDMA_EVENT_PEER_DOWN, &event));
	EXPECT_EQ(0, event.peer_ctx);
	EXPECT_EQ(INC, event.peer_incarnation);
	r = counter_record(&self->e.n, REC, self->e.rc);
	EXPECT_EQ(BGDMA_E_PEER_DOWN, (int)r->code);
	WORD();
	EXPECT_EQ(0, r->lost);
}

/* ---- The word ------------------------------------------------------------ */

TEST_F(data, x3_who_only_put_there)
{
	struct bgdma_desc d = d_put(WE, self->e.mem.handle, 0, 3, 0, 64);
	struct bgdma_event event;
	struct data_frame f;
	struct node other;
	__u64 seq;

	node_new(&other, 0);
	seq = inject(&self->e.inj, &d);
	ASSERT_TRUE(next_frame(self->sock, BGDMA_FRAME_DATA, &f, sizeof(f)));
	ack_new(&self->ack);
	ASSERT_TRUE(send_ack(self->sock, &f, f.frame.psn + 1, 0, &self->ack));
	ASSERT_EQ(BGDMA_OK, outcome(&self->e.inj, seq));
	ASSERT_TRUE(leave(self->sock));
	WORD();
	EXPECT_FALSE(event_next(&other, &event));
	node_close(&other);
}

/* What it said was its, and others have, is there. */
TEST_F(data, x3_who_had_less_than_it_said)
{
	struct end *e = &self->e;
	struct bgdma_event event;
	struct state_frame state;

	state_new(&state, PARTITION, US, 8, WE);
	state.state.peers = 2;
	state.state.peer[0] = self->hello.hello.hears[0];
	state.state.peer[1] = US + 1;
	ASSERT_TRUE(send_state(self->sock, &state));
	state_new(&state, PARTITION, US + 1, 5, 0);
	state.state.run[0].last = WE;
	state.state.peers = 1;
	state.state.peer[0] = US;
	ASSERT_TRUE(send_state(self->sock, &state));
	EXPECT_TRUE(until(way_to(&self->l, WE - 1)));
	lease(&e->n, REC, e->rc, WE, 0);
	lease(&e->n, INJ, e->ic, WE - 1, 0);
	state.state.seq = 6;
	state.state.flags = BGDMA_WIRE_STATE_BYE;
	ASSERT_TRUE(send_state(self->sock, &state));
	EXPECT_TRUE(until(counter_error(&e->n, INJ, e->ic)));
	ASSERT_TRUE(event_wait(&e->n, BGDMA_EVENT_PEER_DOWN, &event));
	EXPECT_EQ(1, event.peer_rank);
	EXPECT_EQ(WE - 1, event.bound);
	EXPECT_FALSE(counter_error(&e->n, REC, e->rc));
	ASSERT_TRUE(leave(self->sock));
	EXPECT_TRUE(until(counter_error(&e->n, REC, e->rc)));
	WORD();
}

/* It took what was sent, or did not: nobody will know. */
TEST_F(data, x3_who_had_not_answered_yet)
{
	struct bgdma_desc d = d_put(WE, self->e.mem.handle, 0, 3, 0, 64);
	struct data_frame f;
	__u64 seq;

	seq = inject(&self->e.inj, &d);
	ASSERT_TRUE(next_frame(self->sock, BGDMA_FRAME_DATA, &f, sizeof(f)));
	ASSERT_TRUE(leave(self->sock));
	EXPECT_EQ(BGDMA_E_PEER_DOWN, outcome(&self->e.inj, seq));
}

/* Of whose user those were nobody knows here. */
TEST_F(data, x3_who_watches)
{
	struct bgdma_event event;
	struct node n;

	must(node_try(&n, PARTITION, 0, &watch));
	ASSERT_TRUE(leave(self->sock));
	ASSERT_TRUE(event_wait(&n, BGDMA_EVENT_PEER_DOWN, &event));
	EXPECT_EQ(WE, event.peer_rank);
	EXPECT_FALSE(event_next(&n, &event));
	EXPECT_FALSE(event_next(&self->e.n, &event));
	node_close(&n);
}

/* ---- Contexts ------------------------------------------------------------ */

/* More than are seen to at once. */
#define CROWD	48

/* Of all that leave in one moment each is told of. */
TEST_F(data, x3_a_crowd_that_leaves)
{
	struct bgdma_wire_gone gone = { .rank = WE, .incarnation = INC };
	struct bgdma_desc d = put_to(&self->e.mem, 0, 64);
	struct bgdma_event event;
	__u64 told = 0;
	uint16_t i;

	for (i = 0; i < CROWD; i++) {
		data_new(&self->f, 5, FIRST);
		self->f.frame.flow_ctx = i;
		add(&self->f, &d, 0, 64, 1);
		LANDS();
	}
	for (i = 0; i < CROWD; i++) {
		voice_new(&self->f, FIRST + i);
		gone.ctx = i;
		add(&self->f, NULL, 0, sizeof(gone), 0)->kind = BGDMA_WIRE_GONE;
		memcpy(self->f.payload, &gone, sizeof(gone));
		ASSERT_TRUE(send_data(self->sock, &self->f));
	}
	for (i = 0; i < CROWD; i++) {
		ASSERT_TRUE(event_wait(&self->e.n, BGDMA_EVENT_PEER_DOWN,
				       &event));
		told |= 1ULL << event.peer_ctx;
	}
	EXPECT_EQ((1ULL << CROWD) - 1, told);
}

/* ---- Epochs -------------------------------------------------------------- */

/* What we did with a question: nothing, took it, and more. */
enum fate { LOST, TAKEN, REFUSED_, ANSWERED, GIVEN_UP };

static void say(struct end *e, int sock, const struct bgdma_desc *d,
		struct data_frame *f, bool take, int code)
{
	__u64 seq = inject(&e->inj, d);
	struct ack_frame ack;

	do {
		must(next_frame(sock, BGDMA_FRAME_DATA, f, sizeof(*f)) ? 0 :
		     -ETIME);
	} while (f->packet[0].desc.op != d->op ||
		 f->packet[0].desc.epoch != d->epoch);
	ack_new(&ack);
	ack.result[0] = (struct bgdma_wire_result) {
		.id = f->packet[0].id, .psn = f->frame.psn,
		.code = (uint32_t)code,
	};
	must(send_ack(sock, f, f->frame.psn + take, !!code, &ack) ? 0 : -EIO);
	if (!take)
		return;
	must(outcome(&e->inj, seq) == code ? 0 : -EINVAL);
	if (code)
		must(clear_error(&e->n, BGDMA_KIND_INJ_FIFO, e->inj.id, 0));
}

/* A gate of ours lets an epoch begin, or has all of its puts. */
static void answer(struct end *e, int sock, const struct data_frame *to)
{
	static uint32_t psn = FIRST;
	const struct bgdma_wire_packet *asked = &to->packet[0];
	struct bgdma_wire_answer a = {
		.counter = asked->desc.inj_ctr, .rank = WE, .incarnation = INC,
		.region = asked->desc.u.at.dst_region,
		.epoch = asked->desc.epoch,
	};
	struct bgdma_wire_packet *p;
	struct data_frame f;
	struct ack_frame ack;

	voice_new(&f, psn++);
	p = add(&f, NULL, 0, sizeof(a), 0);
	p->kind = BGDMA_WIRE_ANSWER;
	p->dst_inc = e->n.at.incarnation;
	p->desc.dst_ctx = e->n.at.ctx;
	p->id = asked->id;
	memcpy(f.payload, &a, sizeof(a));
	must(send_data(sock, &f) && dealt(sock, BGDMA_FLOW_KERNEL, psn, &ack) ?
	     0 : -EIO);
}

/* The counter of what has this fate: it asks with an epoch of its own. */
static __u32 ask_gate(struct end *e, int sock, __u8 op, enum fate fate)
{
	static __u32 epoch;
	__u32 counter = counter_new(&e->n, INJ, 0);
	struct bgdma_desc d = d_gate(WE, op, 3, ++epoch, counter);
	struct data_frame f;

	counter_add(&e->n, INJ, counter, 1);
	say(e, sock, &d, &f, fate != LOST,
	    fate == REFUSED_ ? BGDMA_E_EPOCH_HELD : BGDMA_OK);
	if (fate == ANSWERED)
		answer(e, sock, &f);
	if (fate != GIVEN_UP)
		return counter;
	d = d_gate(WE, BGDMA_OP_EPOCH_END, 3, epoch, BGDMA_NONE);
	say(e, sock, &d, &f, true, BGDMA_OK);
	return counter;
}

#define SHOWS(counter_, code_, value_) do { \
	const struct bgdma_record *r_ = \
		counter_record(&self->e.n, INJ, counter_); \
\
	EXPECT_EQ(code_, (int)r_->code); \
	EXPECT_EQ(value_, value(&self->e.n, INJ, counter_)); \
	EXPECT_EQ(0, r_->lost); \
} while (0)

TEST_F(data, x3_who_waits_at_a_gate_there)
{
	struct end *e = &self->e;
	__u32 refused, answered, given_up, begins, closes, lost;
	struct bgdma_event event;
	int i;

	refused = ask_gate(e, self->sock, BGDMA_OP_EPOCH_BEGIN, REFUSED_);
	answered = ask_gate(e, self->sock, BGDMA_OP_EPOCH_BEGIN, ANSWERED);
	given_up = ask_gate(e, self->sock, BGDMA_OP_EPOCH_BEGIN, GIVEN_UP);
	begins = ask_gate(e, self->sock, BGDMA_OP_EPOCH_BEGIN, TAKEN);
	closes = ask_gate(e, self->sock, BGDMA_OP_EPOCH_CLOSE, TAKEN);
	lost = ask_gate(e, self->sock, BGDMA_OP_EPOCH_BEGIN, LOST);
	SHOWS(begins, BGDMA_OK, 1);
	SHOWS(closes, BGDMA_OK, 1);
	ASSERT_TRUE(leave(self->sock));
	for (i = 0; i < 2; i++) {
		ASSERT_TRUE(event_wait(&e->n, BGDMA_EVENT_EPOCH, &event));
		EXPECT_EQ(BGDMA_E_PEER_DOWN, event.code);
		EXPECT_EQ(WE, event.peer_rank);
		EXPECT_EQ(3, event.object);
		EXPECT_EQ(BGDMA_EPOCH_OVER, event.desc_seq);
	}
	WORD();
	SHOWS(begins, BGDMA_E_PEER_DOWN, 0);
	SHOWS(closes, BGDMA_E_PEER_DOWN, 0);
	SHOWS(lost, BGDMA_E_PEER_DOWN, 0);
	SHOWS(refused, BGDMA_E_EPOCH_HELD, 0);
	SHOWS(answered, BGDMA_OK, 0);
	SHOWS(given_up, BGDMA_OK, 1);
}

/* Nor does it matter where who asked has gone meanwhile. */
TEST_F(data, x3_who_waits_at_a_gate_there_and_leaves)
{
	ask_gate(&self->e, self->sock, BGDMA_OP_EPOCH_BEGIN, TAKEN);
	node_close(&self->e.n);
	end_new(&self->e, 0);
	ASSERT_TRUE(leave(self->sock));
	EXPECT_TRUE(until(!way_to(&self->l, WE)));
	EXPECT_EQ(0, load(&self->e.n.kctl->events_tail));
}

/* ---- Deposits ------------------------------------------------------------ */

#define GROUP	7

static void bind_group(struct node *n)
{
	const struct bgdma_group_slot slot = { BGDMA_KIND_REC_FIFO, 0 };
	const struct bgdma_group_member members[] = {
		{ .rank = 0, .ctx = n->at.ctx }, { .rank = WE },
	};
	struct bgdma_group_bind c = {
		.size = sizeof(c), .group = GROUP, .slots = (uintptr_t)&slot,
		.count = 1, .members = (uintptr_t)members, .member_count = 2,
	};

	must(bg_ioctl(n->fd, BGDMA_IOC_GROUP_BIND, &c));
}

/*
 * Two deposits for all, of which the first is on its way to @first, and the second, so
 * few frames may go, in the middle.
 */
static bool deposits_go(struct end *e, int sock, __u32 first, __u64 *seq)
{
	static const __u32 lengths[] = { 64, 60000 };
	struct ack_frame ack;
	struct bgdma_desc d;
	struct data_frame f;
	int i;

	counter_add(&e->n, INJ, e->ic, 60064);
	for (i = 0; i < 2; i++) {
		d = d_memfifo(WE, 0, e->mem.handle, 0, lengths[i]);
		d.flags = BGDMA_DESC_GROUP;
		d.route = BGDMA_ROUTE_DEPOSIT | BGDMA_ROUTE_XP;
		d.dst_ctx = GROUP;
		d.inj_ctr = e->ic;
		seq[i] = inject(&e->inj, &d);
		do {
			if (!next_frame(sock, BGDMA_FRAME_DATA, &f, sizeof(f)))
				return false;
		} while (f.frame.dst_rank != first);
		if (i)
			break;
		ack_new(&ack);
		ack.ack.window = 8;
		if (!send_ack(sock, &f, f.frame.psn, 0, &ack))
			return false;
		usleep(50000);
	}
	usleep(50000);
	return load(&e->inj.kern->state) == BGDMA_FIFO_BLOCKED;
}

/* Both are over, and with them what is to be counted. */
static bool deposits_over(struct end *e, const __u64 *seq)
{
	return outcome(&e->inj, seq[0]) == BGDMA_OK &&
	       outcome(&e->inj, seq[1]) == BGDMA_OK &&
	       until(!value(&e->n, INJ, e->ic));
}

/* A copy of 64 bytes by a member behind the link, for a counter that waits for them. */
static struct bgdma_desc copy_of(struct end *e)
{
	const struct bgdma_group_slot slots[] = {
		{ BGDMA_KIND_REGION, e->mem.handle },
		{ BGDMA_KIND_REC_COUNTER, e->rc },
	};
	const struct bgdma_group_member members[] = {
		{ .rank = 0, .ctx = e->n.at.ctx },
		{ .rank = WE, .incarnation = INC },
	};
	struct bgdma_group_bind c = {
		.size = sizeof(c), .group = GROUP, .slots = (uintptr_t)slots,
		.count = 2, .members = (uintptr_t)members, .member_count = 2,
	};
	struct bgdma_desc d = d_put(0, BGDMA_NONE, 0, 0, 0, 64);

	must(bg_ioctl(e->n.fd, BGDMA_IOC_GROUP_BIND, &c));
	counter_add(&e->n, REC, e->rc, 64);
	d.flags = BGDMA_DESC_GROUP;
	d.route = BGDMA_ROUTE_DEPOSIT | BGDMA_ROUTE_XM;
	d.dst_ctx = e->n.at.ctx;
	d.rec_ctr = 1;
	return d;
}

/*
 * The beginning of a copy by a member that the group names: who waits for the rest is
 * told, as by any other transfer.
 */
TEST_F(data, dma7_x3_half_a_copy_of_who_dies_with_his_kernel)
{
	struct end *e = &self->e;
	struct bgdma_desc d = copy_of(e);

	add(&self->f, &d, 0, 32, 1)->group = GROUP + 1;
	LANDS();
	EXPECT_TRUE(all_bytes(e->mem.p, 32, 1));
	EXPECT_FALSE(counter_error(&e->n, REC, e->rc));
	ASSERT_TRUE(leave(self->sock));
	EXPECT_TRUE(until(counter_error(&e->n, REC, e->rc)));
	EXPECT_EQ(BGDMA_E_ABORTED, (int)counter_record(&e->n, REC, e->rc)->code);
	EXPECT_EQ(BGDMA_E_PEER_DOWN, (int)counter_record(&e->n, REC, e->rc)->bound);
	EXPECT_EQ(0, value(&e->n, REC, e->rc));
}

/* 32 bytes of a copy, and its end, which says @length. */
static void half_is_cancelled(struct data_frame *f, struct bgdma_desc d,
			      __u32 length)
{
	struct bgdma_wire_packet *p;

	add(f, &d, 0, 32, 1)->group = GROUP + 1;
	d.length = length;
	p = add(f, &d, length < 32 ? length : 32, 0, 1);
	p->kind = BGDMA_WIRE_ABORT;
	p->group = GROUP + 1;
	p->id = f->packet[0].id;
	p->bytes = BGDMA_E_CANCELLED;
}

/* Its sender says why. */
TEST_F(data, dma7_dma2_half_a_copy_that_is_cancelled)
{
	struct end *e = &self->e;
	const struct bgdma_desc d = copy_of(e);

	half_is_cancelled(&self->f, d, d.length);
	LANDS();
	EXPECT_TRUE(counter_error(&e->n, REC, e->rc));
	EXPECT_EQ(BGDMA_E_ABORTED, (int)counter_record(&e->n, REC, e->rc)->code);
	EXPECT_EQ(BGDMA_E_CANCELLED, (int)counter_record(&e->n, REC, e->rc)->bound);
	EXPECT_EQ(0, value(&e->n, REC, e->rc));
}

/* At its end it says that it is shorter than what has come: no more is taken off. */
TEST_F(data, dma7_x2_a_copy_with_two_lengths)
{
	struct end *e = &self->e;

	half_is_cancelled(&self->f, copy_of(e), 16);
	LANDS();
	EXPECT_TRUE(counter_error(&e->n, REC, e->rc));
	EXPECT_EQ(32, value(&e->n, REC, e->rc));
}

/* Who is gone is passed by. */
TEST_F(data, dma7_x3_who_dies_with_his_kernel_is_passed_by)
{
	__u64 seq[2];

	bind_group(&self->e.n);
	ASSERT_TRUE(deposits_go(&self->e, self->sock, WE, seq));
	ASSERT_TRUE(leave(self->sock));
	EXPECT_TRUE(deposits_over(&self->e, seq));
}

/* Two nodes of one kernel, the second of which has not had its turn. */
TEST_F(data, dma7_x3_all_who_die_with_their_kernel_are_passed_by)
{
	const struct bgdma_group_slot slot = { BGDMA_KIND_REC_FIFO, 0 };
	const struct bgdma_group_member members[] = {
		{ .rank = 0, .ctx = self->e.n.at.ctx },
		{ .rank = WE - 1, .incarnation = INC },
		{ .rank = WE, .incarnation = INC + 1 },
	};
	const struct bgdma_group_bind c = {
		.size = sizeof(c), .group = GROUP, .slots = (uintptr_t)&slot,
		.count = 1, .members = (uintptr_t)members, .member_count = 3,
	};
	struct state_frame state;
	__u64 seq[2];

	state_new(&state, PARTITION, US, 8, WE);
	state.state.run[0].first = WE - 1;
	state.state.peers = 1;
	state.state.peer[0] = self->hello.hello.hears[0];
	ASSERT_TRUE(send_state(self->sock, &state));
	ASSERT_TRUE(until(way_to(&self->l, WE - 1)));
	must(bg_ioctl(self->e.n.fd, BGDMA_IOC_GROUP_BIND, (void *)&c));
	ASSERT_TRUE(deposits_go(&self->e, self->sock, WE - 1, seq));
	state.state.seq = 9;
	state.state.flags = BGDMA_WIRE_STATE_BYE;
	ASSERT_TRUE(send_state(self->sock, &state));
	EXPECT_TRUE(deposits_over(&self->e, seq));
}

TEST_HARNESS_MAIN
