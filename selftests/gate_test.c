// SPDX-License-Identifier: GPL-2.0
/*
 * Gates: epochs at a region of b's, begun by a and c, as the engine enforces
 * them (EP-1 to EP-6).
 */
#include <stdio.h>
#include <string.h>

#include "kselftest_harness.h"
#include "links.h"
#include "gate.h"

TEST_F(gate, ep1_exclusive_keeps_others_out)
{
	struct end *a = &self->a, *b = &self->b, *c = &self->c;
	struct bgdma_desc get, d;
	struct bgdma_event event;

	EXPECT_EQ(BGDMA_OK, put(c, b, 0));
	ASSERT_EQ(BGDMA_OK, begin(a, b, 7, EXCLUSIVE));
	EXPECT_TRUE(has(a));
	fill(c->mem.p, 64, 1);
	memset(b->mem.p + 4096, 0, 64);
	EXPECT_EQ(BGDMA_E_EPOCH_HELD, put(c, b, 0));
	EXPECT_EQ(0, b->mem.p[4096 + 63]);
	/* Nor do they read it. */
	d = d_put(2, b->mem.handle, 0, c->mem.handle, 0, 64);
	memcpy(c->mem.p + 8192, &d, sizeof(d));
	get = d_rget(1, b->rgq, c->mem.handle, 8192, 1);
	EXPECT_EQ(BGDMA_OK, run_bad(&c->inj, &get));
	ASSERT_TRUE(event_wait(&c->n, BGDMA_EVENT_REFUSED, &event));
	EXPECT_EQ(BGDMA_E_EPOCH_HELD, event.code);
	/* Its origin does, with its epoch or without. */
	EXPECT_EQ(BGDMA_OK, put(a, b, 7));
	EXPECT_EQ(BGDMA_OK, put(a, b, 0));
	/* And the owner. */
	d = d_copy(b->mem.handle, 0, b->mem.handle, 4096, 64);
	EXPECT_EQ(BGDMA_OK, run_bad(&b->inj, &d));
	EXPECT_EQ(BGDMA_OK, end_epoch(a, b, 7));
	EXPECT_EQ(BGDMA_OK, put(c, b, 0));
	EXPECT_EQ(BGDMA_E_EPOCH_CLOSED, put(a, b, 7));
}

TEST_F(gate, ep1_held_back_in_its_own_fifo)
{
	struct end *a = &self->a, *b = &self->b, *c = &self->c;
	struct bgdma_desc d = put_of(c, b, 0), free_one;
	struct inj other;
	__u64 seq;

	inj_new(&other, &c->n);
	ASSERT_EQ(BGDMA_OK, begin(a, b, 7, EXCLUSIVE));
	ASSERT_TRUE(has(a));
	d.flags = HOLD;
	fill(c->mem.p, 64, 3);
	memset(b->mem.p + 4096, 0, 64);
	seq = inject(&c->inj, &d);
	EXPECT_TRUE(until(load(&c->inj.kern->state) == BGDMA_FIFO_BLOCKED));
	/* Nothing else waits. */
	free_one = d_number(0, &a->rec, 5);
	EXPECT_EQ(BGDMA_OK, run(&other, &free_one));
	EXPECT_EQ(BGDMA_OK, put(a, b, 7));
	EXPECT_EQ(seq, load(&c->inj.kern->done));
	EXPECT_EQ(BGDMA_OK, end_epoch(a, b, 7));
	EXPECT_EQ(BGDMA_OK, outcome(&c->inj, seq));
	EXPECT_TRUE(filled(b->mem.p + 4096, 64, 3));
}

TEST_F(gate, ep1_identifier_in_use)
{
	struct end *a = &self->a, *b = &self->b, *c = &self->c;

	ASSERT_EQ(BGDMA_OK, begin(a, b, 7, 0));
	EXPECT_TRUE(has(a));
	EXPECT_EQ(BGDMA_E_EPOCH_BUSY, begin(a, b, 7, 0));
	EXPECT_EQ(BGDMA_OK, begin(c, b, 7, 0));	/* with c's rank it is another */
	EXPECT_EQ(BGDMA_OK, end_epoch(a, b, 7));
	EXPECT_EQ(BGDMA_E_EPOCH_CLOSED, end_epoch(a, b, 7));
	EXPECT_EQ(BGDMA_OK, begin(a, b, 7, 0));
	EXPECT_EQ(BGDMA_OK, end_epoch(a, b, 7));
}

TEST_F(gate, ep1_shared_ones_coexist)
{
	struct end *a = &self->a, *b = &self->b, *c = &self->c;

	ASSERT_EQ(BGDMA_OK, begin(a, b, 1, 0));
	ASSERT_EQ(BGDMA_OK, begin(c, b, 1, HOLD));
	EXPECT_TRUE(has(a));
	EXPECT_TRUE(has(c));
	EXPECT_EQ(BGDMA_OK, put(a, b, 1));
	EXPECT_EQ(BGDMA_OK, put(c, b, 1));
	EXPECT_EQ(BGDMA_OK, put(c, b, 0));
	/* They keep exclusive ones out: refused, or behind them. */
	EXPECT_EQ(BGDMA_E_EPOCH_HELD, begin(a, b, 2, EXCLUSIVE));
	EXPECT_EQ(BGDMA_OK, begin(a, b, 2, EXCLUSIVE | HOLD));
	EXPECT_TRUE(has_not(a));
	EXPECT_EQ(BGDMA_OK, end_epoch(c, b, 1));
	EXPECT_TRUE(has_not(a));
	EXPECT_EQ(BGDMA_OK, end_epoch(a, b, 1));
	EXPECT_TRUE(has(a));
	EXPECT_EQ(1, first(b).exclusive);
	EXPECT_EQ(BGDMA_OK, end_epoch(a, b, 2));
}

/* Shared ones that go on coming do not starve an exclusive one. */
TEST_F(gate, ep1_first_come_first_served)
{
	struct end *a = &self->a, *b = &self->b, *c = &self->c;
	struct bgdma_epoch e[4];
	__u32 of_a = a->ic;

	ASSERT_EQ(BGDMA_OK, begin(a, b, 1, 0));
	ASSERT_TRUE(has(a));
	ASSERT_EQ(BGDMA_OK, begin(c, b, 1, EXCLUSIVE | HOLD));
	a->ic = counter_new(&a->n, INJ, 0);
	ASSERT_EQ(BGDMA_OK, begin(a, b, 2, HOLD));
	EXPECT_EQ(BGDMA_E_EPOCH_HELD, begin(a, b, 3, 0));
	counter_add(&a->n, INJ, a->ic, -value(&a->n, INJ, a->ic) + 1);
	ASSERT_EQ(3, epochs(&b->n, b->mem.handle, e, 4));
	EXPECT_EQ(BGDMA_EPOCH_OPEN, e[0].state);
	EXPECT_EQ(BGDMA_EPOCH_WAITING, e[1].state);
	EXPECT_EQ(2, e[1].rank);
	EXPECT_EQ(2, e[2].epoch);
	EXPECT_EQ(BGDMA_OK, end_epoch(a, b, 1));
	EXPECT_TRUE(has(c));
	EXPECT_TRUE(has_not(a));
	EXPECT_EQ(BGDMA_OK, end_epoch(c, b, 1));
	EXPECT_TRUE(has(a));
	a->ic = of_a;
}

/* More than the gate lets in at a time. */
TEST_F(gate, ep1_many_that_wait_are_let_in)
{
	struct end *a = &self->a, *b = &self->b, *c = &self->c;
	__s64 all = BGDMA_EPOCHS_EACH;
	struct end more[2];
	__u32 i;

	end_new(&more[0], 3);
	end_new(&more[1], 3);
	ASSERT_EQ(BGDMA_OK, begin(c, b, 1, EXCLUSIVE));
	ASSERT_TRUE(has(c));
	for (i = 1; i <= BGDMA_EPOCHS_EACH; i++) {
		ASSERT_EQ(BGDMA_OK, begin(a, b, i, HOLD));
		ASSERT_EQ(BGDMA_OK, begin(&more[0], b, i, HOLD));
		ASSERT_EQ(BGDMA_OK, begin(&more[1], b, i, HOLD));
	}
	EXPECT_EQ(all, value(&a->n, INJ, a->ic));
	EXPECT_EQ(all, value(&more[1].n, INJ, more[1].ic));
	ASSERT_EQ(BGDMA_OK, end_epoch(c, b, 1));
	EXPECT_TRUE(has(a));
	EXPECT_TRUE(has(&more[0]));
	EXPECT_TRUE(has(&more[1]));
	EXPECT_EQ(3 * all, epochs(&b->n, b->mem.handle, NULL, 0));
	node_close(&more[0].n);
	node_close(&more[1].n);
}

/* BEGIN waits at the gate, not in the FIFO: what is behind it goes on. */
TEST_F(gate, ep1_begin_holds_up_nothing_behind_it)
{
	struct end *a = &self->a, *b = &self->b, *c = &self->c;

	ASSERT_EQ(BGDMA_OK, begin(c, b, 1, EXCLUSIVE));
	ASSERT_TRUE(has(c));
	EXPECT_EQ(BGDMA_OK, begin(a, b, 1, EXCLUSIVE | HOLD));
	/* Of its own accord it gives its place up. */
	EXPECT_EQ(BGDMA_E_EPOCH_CLOSED, put(a, b, 1));
	EXPECT_EQ(BGDMA_OK, end_epoch(a, b, 1));
	EXPECT_EQ(BGDMA_OK, end_epoch(c, b, 1));
	EXPECT_TRUE(has_not(a));
	EXPECT_EQ(0, epochs(&b->n, b->mem.handle, NULL, 0));
}

TEST_F(gate, ep3_puts_are_counted_not_bytes)
{
	struct end *a = &self->a, *b = &self->b;
	struct bgdma_desc d = put_of(a, b, 5);

	must(grant(&b->n, BGDMA_KIND_REGION, b->mem.handle, 0,
		   BGDMA_RIGHT_ATOMIC));
	ASSERT_EQ(BGDMA_OK, begin(a, b, 5, 0));
	ASSERT_TRUE(has(a));
	EXPECT_EQ(BGDMA_OK, run(&a->inj, &d));
	EXPECT_EQ(1, first(b).got);
	d.length = htole32(40000);	/* three slices */
	EXPECT_EQ(BGDMA_OK, run(&a->inj, &d));
	EXPECT_EQ(2, first(b).got);
	d.length = 0;
	EXPECT_EQ(BGDMA_OK, run(&a->inj, &d));
	EXPECT_EQ(3, first(b).got);
	d = d_atomic(1, BGDMA_ATOMIC_ADD, BGDMA_ATOMIC_U64, 1, b->mem.handle,
		     0, 1);
	d.epoch = htole32(5);
	EXPECT_EQ(BGDMA_OK, run(&a->inj, &d));
	EXPECT_EQ(4, first(b).got);
	/* One that fails is none. */
	d = put_of(a, b, 5);
	d.u.at.dst_off = htole64(PAIR_BYTES);
	EXPECT_EQ(BGDMA_E_BOUNDS, run_bad(&a->inj, &d));
	EXPECT_EQ(4, first(b).got);
	EXPECT_EQ(BGDMA_OK, close_epoch(a, b, 5, 4));
	EXPECT_TRUE(has(a));
	EXPECT_EQ(BGDMA_EPOCH_CLOSED, first(b).state);
	EXPECT_EQ(BGDMA_OK, end_epoch(a, b, 5));
}

/* EP-5: the message may overtake the puts; the answer comes with the last. */
TEST_F(gate, ep5_close_before_the_puts)
{
	struct end *a = &self->a, *b = &self->b;

	ASSERT_EQ(BGDMA_OK, begin(a, b, 5, 0));
	ASSERT_TRUE(has(a));
	EXPECT_EQ(BGDMA_OK, put(a, b, 5));
	EXPECT_EQ(BGDMA_OK, close_epoch(a, b, 5, 3));
	EXPECT_EQ(BGDMA_EPOCH_CLOSING, first(b).state);
	EXPECT_EQ(3, first(b).put);
	EXPECT_TRUE(has_not(a));
	EXPECT_EQ(BGDMA_OK, put(a, b, 5));
	EXPECT_TRUE(has_not(a));
	EXPECT_EQ(BGDMA_OK, put(a, b, 5));
	EXPECT_TRUE(has(a));
	EXPECT_EQ(BGDMA_EPOCH_CLOSED, first(b).state);
	EXPECT_EQ(BGDMA_E_EPOCH_CLOSED, close_epoch(a, b, 5, 3));
	EXPECT_EQ(BGDMA_OK, end_epoch(a, b, 5));
}

TEST_F(gate, ep5_counts_that_a_peer_lies_about)
{
	/* Not the one of rank 0, as which nobody would be known, too. */
	struct end *c = &self->c, *b = &self->b;
	struct bgdma_event event;

	/* Fewer than came. */
	ASSERT_EQ(BGDMA_OK, begin(c, b, 5, 0));
	ASSERT_TRUE(has(c));
	EXPECT_EQ(BGDMA_OK, put(c, b, 5));
	EXPECT_EQ(BGDMA_OK, put(c, b, 5));
	EXPECT_EQ(BGDMA_E_EPOCH_COUNT, close_epoch(c, b, 5, 1));
	EXPECT_TRUE(counter_error(&c->n, INJ, c->ic));
	EXPECT_EQ(0, value(&c->n, INJ, c->ic));
	must(clear_error(&c->n, INJ, BGDMA_HANDLE_SLOT(c->ic), 0));
	ASSERT_TRUE(event_wait(&b->n, BGDMA_EVENT_EPOCH, &event));
	EXPECT_EQ(BGDMA_E_EPOCH_COUNT, event.code);
	EXPECT_EQ(2, event.peer_rank);
	EXPECT_EQ(5, event.cookie);
	EXPECT_EQ(2, event.offset);
	EXPECT_EQ(1, event.bound);
	EXPECT_EQ(BGDMA_OK, end_epoch(c, b, 5));
	/* More after all were there. */
	ASSERT_EQ(BGDMA_OK, begin(c, b, 6, 0));
	ASSERT_TRUE(has(c));
	EXPECT_EQ(BGDMA_OK, close_epoch(c, b, 6, 0));
	ASSERT_TRUE(has(c));
	memset(b->mem.p + 4096, 0, 64);
	EXPECT_EQ(BGDMA_E_EPOCH_COUNT, put(c, b, 6));
	EXPECT_EQ(0, b->mem.p[4096 + 63]);
	ASSERT_TRUE(event_wait(&b->n, BGDMA_EVENT_EPOCH, &event));
	EXPECT_EQ(BGDMA_E_EPOCH_COUNT, event.code);
	EXPECT_EQ(2, event.peer_rank);
	EXPECT_EQ(6, event.cookie);
	EXPECT_EQ(BGDMA_OK, end_epoch(c, b, 6));
}

TEST_F(gate, x2_so_many_and_no_more)
{
	struct end *a = &self->a, *b = &self->b, *c = &self->c;
	struct region small;
	struct bgdma_desc d;
	unsigned int i;

	for (i = 1; i <= BGDMA_EPOCHS_EACH; i++) {
		ASSERT_EQ(BGDMA_OK, begin(a, b, i, 0));
		ASSERT_TRUE(has(a));
	}
	EXPECT_EQ(BGDMA_E_EPOCH_BUSY, begin(a, b, i, HOLD));
	EXPECT_EQ(BGDMA_OK, begin(c, b, 1, 0));
	/* And of all at one gate. */
	region_new(&small, &b->n, 4096);
	must(gate(&b->n, small.handle, 1, 0));
	must(grant(&b->n, BGDMA_KIND_REGION, small.handle, BGDMA_RANK_ANY,
		   BGDMA_RIGHT_EPOCH));
	d = d_gate(1, BGDMA_OP_EPOCH_BEGIN, small.handle, 1, BGDMA_NONE);
	EXPECT_EQ(BGDMA_OK, run_bad(&a->inj, &d));
	EXPECT_EQ(BGDMA_E_EPOCH_BUSY, run_bad(&c->inj, &d));
	d.op = BGDMA_OP_EPOCH_END;
	EXPECT_EQ(BGDMA_OK, run_bad(&a->inj, &d));
	d.op = BGDMA_OP_EPOCH_BEGIN;
	EXPECT_EQ(BGDMA_OK, run_bad(&c->inj, &d));
}

TEST_F(gate, dma8_bad_operations)
{
	struct end *a = &self->a, *b = &self->b;
	struct bgdma_desc good = d_gate(1, BGDMA_OP_EPOCH_BEGIN, b->mem.handle,
					1, BGDMA_NONE), d, get;
	struct bgdma_event event;

#define EXPECT_BAD(code, ...) do {					\
	d = good;							\
	__VA_ARGS__;							\
	EXPECT_EQ(code, run_bad(&a->inj, &d))				\
		TH_LOG("%s", #__VA_ARGS__);				\
} while (0)
	EXPECT_BAD(BGDMA_E_FIELD, d.epoch = 0);
	EXPECT_BAD(BGDMA_E_FIELD, d.length = htole32(8));
	EXPECT_BAD(BGDMA_E_FIELD, d.cookie = htole64(8));
	EXPECT_BAD(BGDMA_E_FIELD, d.u.at.dst_off = htole64(8));
	EXPECT_BAD(BGDMA_E_FIELD, d.u.at.src_region = htole32(a->mem.handle));
	EXPECT_BAD(BGDMA_E_FIELD, d.rec_ctr = htole32(b->rc));
	EXPECT_BAD(BGDMA_E_FLAGS, d.flags = BGDMA_DESC_OPS);
	EXPECT_BAD(BGDMA_E_FLAGS, d.flags = BGDMA_DESC_FETCH);
	EXPECT_BAD(BGDMA_E_REGION, d.u.at.dst_region = htole32(BGDMA_NONE));
	EXPECT_BAD(BGDMA_E_STALE,
		   d.u.at.dst_region = htole32(b->mem.handle ^ 1 << 16));
	EXPECT_BAD(BGDMA_E_NO_PEER, d.dst_rank = htole32(3));
	EXPECT_BAD(BGDMA_E_EPOCH_CLOSED, d.op = BGDMA_OP_EPOCH_CLOSE);
	EXPECT_BAD(BGDMA_E_EPOCH_CLOSED, d.op = BGDMA_OP_EPOCH_END);
	EXPECT_BAD(BGDMA_E_FLAGS, d.op = BGDMA_OP_EPOCH_END, d.flags = HOLD);
	EXPECT_BAD(BGDMA_E_FIELD, d.op = BGDMA_OP_EPOCH_END,
		   d.inj_ctr = htole32(a->ic));
	EXPECT_BAD(BGDMA_E_EPOCH_CLOSED, d = put_of(a, b, 1));
	/* Not by somebody's engine that was asked to. */
	d = d_gate(0, BGDMA_OP_EPOCH_BEGIN, a->mem.handle, 1, BGDMA_NONE);
	memcpy(a->mem.p, &d, sizeof(d));
	get = d_rget(1, b->rgq, a->mem.handle, 0, 1);
	EXPECT_EQ(BGDMA_OK, run_bad(&a->inj, &get));
	ASSERT_TRUE(event_wait(&a->n, BGDMA_EVENT_REFUSED, &event));
	EXPECT_EQ(BGDMA_E_PROVENANCE, event.code);
	/* A region without a gate. */
	EXPECT_BAD(BGDMA_E_RIGHTS, d = d_gate(0, BGDMA_OP_EPOCH_BEGIN,
					      a->mem.handle, 1, BGDMA_NONE));
}

TEST_F(gate, bad_calls)
{
	struct end *b = &self->b;
	struct bgdma_epoch e;

	EXPECT_EQ(-EEXIST, gate(&b->n, b->mem.handle, 0, 0));
	EXPECT_EQ(-ENOENT, gate(&b->n, BGDMA_NONE, 0, 0));
	EXPECT_EQ(-EINVAL, gate(&b->n, b->mem.handle, 0, 2));
	EXPECT_EQ(-EINVAL, gate(&b->n, b->mem.handle, BGDMA_EPOCHS_MAX + 1, 0));
	EXPECT_EQ(-ENOENT, epochs(&b->n, BGDMA_NONE, &e, 1));
	EXPECT_EQ(-ENOENT, epoch_allow(&b->n, b->mem.handle, 0, 1, 1));
	must(-begin(&self->a, b, 1, 0));
	EXPECT_EQ(-EFAULT, epochs(&b->n, b->mem.handle, NULL, 1));
	EXPECT_EQ(1, epochs(&b->n, b->mem.handle, NULL, 0));
}

/* A get in an epoch: the target's engine reads its region for the origin. */
TEST_F(gate, ep2_gets)
{
	struct end *a = &self->a, *b = &self->b, *c = &self->c;
	struct bgdma_desc d, get;
	struct bgdma_event event;

	fill(b->mem.p, 64, 9);
	ASSERT_EQ(BGDMA_OK, begin(a, b, 4, EXCLUSIVE));
	ASSERT_TRUE(has(a));
	d = d_put(0, b->mem.handle, 0, a->mem.handle, 0, 64);
	d.epoch = htole32(4);
	d.flags = BGDMA_DESC_OPS;
	d.rec_ctr = htole32(a->rc);
	memcpy(a->mem.p + 8192, &d, sizeof(d));
	counter_add(&a->n, REC, a->rc, 1);
	get = d_rget(1, b->rgq, a->mem.handle, 8192, 1);
	EXPECT_EQ(BGDMA_OK, run_bad(&a->inj, &get));
	EXPECT_TRUE(until(!value(&a->n, REC, a->rc)));
	EXPECT_TRUE(filled(a->mem.p, 64, 9));
	/* It is no put. */
	EXPECT_EQ(0, first(b).got);
	/* Somebody else's that waits: in the queue's part that is its own. */
	d = d_put(2, b->mem.handle, 0, c->mem.handle, 0, 64);
	d.flags = HOLD;
	memcpy(c->mem.p + 8192, &d, sizeof(d));
	get = d_rget(1, b->rgq, c->mem.handle, 8192, 1);
	EXPECT_EQ(BGDMA_OK, run_bad(&c->inj, &get));
	EXPECT_EQ(BGDMA_OK, close_epoch(a, b, 4, 0));
	EXPECT_TRUE(has(a));
	/* After that it gets no more. */
	get = d_rget(1, b->rgq, a->mem.handle, 8192, 1);
	EXPECT_EQ(BGDMA_OK, run_bad(&a->inj, &get));
	ASSERT_TRUE(event_wait(&a->n, BGDMA_EVENT_REFUSED, &event));
	EXPECT_EQ(BGDMA_E_EPOCH_CLOSED, event.code);
	EXPECT_NE(0, memcmp(c->mem.p, a->mem.p, 64));
	EXPECT_EQ(BGDMA_OK, end_epoch(a, b, 4));
	EXPECT_TRUE(until(!memcmp(c->mem.p, a->mem.p, 64)));
}

/* Its own memory is held by somebody: what a gets for itself lands there. */
TEST_F(gate, ep1_own_gets_are_not_kept_out)
{
	struct end *a = &self->a, *b = &self->b, *c = &self->c;
	struct bgdma_desc d, get;

	must(gate(&a->n, a->mem.handle, 0, 0));
	must(grant(&a->n, BGDMA_KIND_REGION, a->mem.handle, 2,
		   BGDMA_RIGHT_EPOCH));
	d = d_gate(0, BGDMA_OP_EPOCH_BEGIN, a->mem.handle, 1, c->ic);
	d.flags = EXCLUSIVE;
	counter_add(&c->n, INJ, c->ic, 1);
	ASSERT_EQ(BGDMA_OK, run(&c->inj, &d));
	ASSERT_TRUE(has(c));
	fill(b->mem.p, 64, 9);
	d = d_put(0, b->mem.handle, 0, a->mem.handle, 0, 64);
	memcpy(a->mem.p + 8192, &d, sizeof(d));
	get = d_rget(1, b->rgq, a->mem.handle, 8192, 1);
	EXPECT_EQ(BGDMA_OK, run_bad(&a->inj, &get));
	EXPECT_TRUE(until(filled(a->mem.p, 64, 9)));
	/* What b puts there of its own accord is. */
	d = d_put(0, b->mem.handle, 0, a->mem.handle, 0, 64);
	EXPECT_EQ(BGDMA_E_EPOCH_HELD, run_bad(&b->inj, &d));
}

/* What a has the owner's engine bring to a's own is no get of the owner's. */
TEST_F(gate, x2_not_by_way_of_the_owners_engine)
{
	struct end *a = &self->a, *b = &self->b, *c = &self->c;
	struct bgdma_desc d, get;
	struct bgdma_event event;
	struct region more;

	region_new(&more, &b->n, 4096);
	must(grant(&b->n, BGDMA_KIND_REGION, more.handle, 0,
		   BGDMA_RIGHT_FETCH));
	ASSERT_EQ(BGDMA_OK, begin(c, b, 1, EXCLUSIVE));
	ASSERT_TRUE(has(c));
	fill(a->mem.p, 64, 1);
	memset(b->mem.p + 4096, 0, 64);
	d = d_put(1, a->mem.handle, 0, b->mem.handle, 4096, 64);
	memcpy(a->mem.p + 8192, &d, sizeof(d));
	d = d_put(1, a->mem.handle, 8192, more.handle, 0, sizeof(d));
	EXPECT_EQ(BGDMA_OK, run_bad(&a->inj, &d));
	get = d_rget(0, a->rgq, more.handle, 0, 1);
	memcpy(a->mem.p + 8192, &get, sizeof(get));
	get = d_rget(1, b->rgq, a->mem.handle, 8192, 1);
	EXPECT_EQ(BGDMA_OK, run_bad(&a->inj, &get));
	ASSERT_TRUE(event_wait(&a->n, BGDMA_EVENT_OFFENDER, &event));
	EXPECT_EQ(BGDMA_E_EPOCH_HELD, event.code);
	EXPECT_EQ(0, b->mem.p[4096 + 63]);
	/* Nor does a message tell what is in there. */
	must(clear_error(&b->n, BGDMA_KIND_RGET_QUEUE, b->rgq, 0));
	d = d_memfifo(0, a->rec.id, b->mem.handle, 0, 64);
	memcpy(a->mem.p + 8192, &d, sizeof(d));
	EXPECT_EQ(BGDMA_OK, run_bad(&a->inj, &get));
	ASSERT_TRUE(event_wait(&a->n, BGDMA_EVENT_REFUSED, &event));
	EXPECT_EQ(BGDMA_E_EPOCH_HELD, event.code);
	EXPECT_EQ(NULL, packet(&a->rec));
}

/* What has not begun when it is cancelled takes its one off its counter. */
TEST_F(gate, dma8_begin_cancelled)
{
	struct end *a = &self->a, *b = &self->b, *c = &self->c;
	struct bgdma_desc d = put_of(a, b, 0), next;
	__u64 seq;

	if (links_used())
		SKIP(return, "over links a FIFO is some descriptors ahead of what has arrived");
	ASSERT_EQ(BGDMA_OK, begin(c, b, 1, EXCLUSIVE));
	ASSERT_TRUE(has(c));
	d.flags = HOLD;
	next = d_gate(1, BGDMA_OP_EPOCH_BEGIN, b->mem.handle, 1, a->ic);
	counter_add(&a->n, INJ, a->ic, 1);
	put_in(&a->inj, &d);
	seq = put_in(&a->inj, &next);
	post(&a->inj);
	EXPECT_TRUE(until(load(&a->inj.kern->state) == BGDMA_FIFO_BLOCKED));
	EXPECT_EQ(2, cancel(&a->inj, seq - 1, seq));
	EXPECT_EQ(0, value(&a->n, INJ, a->ic));
	EXPECT_EQ(BGDMA_E_CANCELLED, counter_record(&a->n, INJ, a->ic)->code);
}

TEST_F(gate, owner_is_asked)
{
	struct end *a = &self->a, *b = &self->b, *c = &self->c;
	struct bgdma_event event;
	struct region r;
	struct bgdma_desc d;

	region_new(&r, &b->n, 4096);
	must(gate(&b->n, r.handle, 0, BGDMA_GATE_ASK));
	must(grant(&b->n, BGDMA_KIND_REGION, r.handle, BGDMA_RANK_ANY,
		   BGDMA_RIGHT_EPOCH));
	d = d_gate(1, BGDMA_OP_EPOCH_BEGIN, r.handle, 3, a->ic);
	d.flags = EXCLUSIVE;
	counter_add(&a->n, INJ, a->ic, 1);
	EXPECT_EQ(BGDMA_OK, run(&a->inj, &d));
	ASSERT_TRUE(event_wait(&b->n, BGDMA_EVENT_EPOCH, &event));
	EXPECT_EQ(BGDMA_OK, event.code);
	EXPECT_EQ(BGDMA_EPOCH_ASKED, event.desc_seq);
	EXPECT_EQ(r.handle, event.object);
	EXPECT_EQ(3, event.cookie);
	EXPECT_TRUE(has_not(a));
	d = d_put(1, a->mem.handle, 0, r.handle, 0, 64);
	d.epoch = htole32(3);
	EXPECT_EQ(BGDMA_E_EPOCH_CLOSED, run_bad(&a->inj, &d));
	EXPECT_EQ(-ENOENT, epoch_allow(&b->n, r.handle, event.peer_rank,
				       c->n.at.incarnation, 3));
	EXPECT_EQ(-ENOENT, epoch_allow(&b->n, r.handle, event.peer_rank + 1,
				       event.peer_incarnation, 3));
	EXPECT_EQ(-ENOENT, epoch_allow(&b->n, r.handle, event.peer_rank,
				       event.peer_incarnation, 4));
	EXPECT_EQ(0, epoch_allow(&b->n, r.handle, event.peer_rank,
				 event.peer_incarnation, 3));
	EXPECT_TRUE(has(a));
	EXPECT_EQ(-ENOENT, epoch_allow(&b->n, r.handle, event.peer_rank,
				       event.peer_incarnation, 3));
	EXPECT_EQ(BGDMA_OK, run_bad(&a->inj, &d));
	d = d_gate(1, BGDMA_OP_EPOCH_END, r.handle, 3, BGDMA_NONE);
	EXPECT_EQ(BGDMA_OK, run_bad(&a->inj, &d));
	ASSERT_TRUE(event_wait(&b->n, BGDMA_EVENT_EPOCH, &event));
	EXPECT_EQ(BGDMA_EPOCH_OVER, event.desc_seq);
}

TEST_HARNESS_MAIN
