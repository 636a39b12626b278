// SPDX-License-Identifier: GPL-2.0
/*
 * Injection FIFOs: cancelling descriptors, and destroying the whole FIFO.
 */
#include <endian.h>
#include <stdio.h>
#include <string.h>

#include "kselftest_harness.h"
#include "pair.h"

FIXTURE_PAIR(cancel)

/* Fill b's reception FIFO until the sender waits; returns messages sent. */
static void block(struct end *a, struct end *b)
{
	struct bgdma_desc d = d_memfifo(1, b->rec.id, a->mem.handle, 0,
					PAIR_BYTES);

	inject(&a->inj, &d);
	must(until(load(&a->inj.kern->state) == BGDMA_FIFO_BLOCKED) ? 0 :
								     -ETIME);
}

/* Read all that comes until the FIFO of the sender has ended @seq. */
static void drain(struct end *a, struct end *b, __u64 seq)
{
	must(until((packet(&b->rec) ? packet_drop(&b->rec) : (void)0,
		    load(&a->inj.kern->done) > seq)) ? 0 : -ETIME);
	while (packet(&b->rec))
		packet_drop(&b->rec);
}

TEST_F(cancel, what_has_not_started)
{
	struct end *a = &self->a, *b = &self->b;
	struct bgdma_desc d;
	__u64 first;
	__u32 i;

	block(a, b);
	first = a->inj.tail;
	counter_add(&a->n, INJ, a->ic, 5 * 4);
	for (i = 0; i < 5; i++) {
		d = d_number(1, &b->rec, i);
		d.inj_ctr = htole32(a->ic);
		put_in(&a->inj, &d);
	}
	post(&a->inj);
	EXPECT_EQ(3, cancel(&a->inj, first + 1, first + 3));
	EXPECT_EQ(8, value(&a->n, INJ, a->ic));
	drain(a, b, first - 1);
	EXPECT_TRUE(until(load(&a->inj.kern->done) == first + 5));
	EXPECT_EQ(0, value(&a->n, INJ, a->ic));
	EXPECT_TRUE(counter_error(&a->n, INJ, a->ic));
	EXPECT_EQ(BGDMA_E_CANCELLED,
		  counter_record(&a->n, INJ, a->ic)->code);
	EXPECT_EQ(BGDMA_FIFO_RUNNING, load(&a->inj.kern->state));
	EXPECT_EQ(0, clear_error(&a->n, INJ, BGDMA_HANDLE_SLOT(a->ic), 0));
	EXPECT_FALSE(counter_error(&a->n, INJ, a->ic));
}

TEST_F(cancel, without_a_counter)
{
	struct end *a = &self->a, *b = &self->b;
	struct bgdma_desc d;
	__u64 first;
	__u32 i;

	block(a, b);
	first = a->inj.tail;
	for (i = 0; i < 3; i++) {
		d = d_number(1, &b->rec, i);
		put_in(&a->inj, &d);
	}
	post(&a->inj);
	EXPECT_EQ(2, cancel(&a->inj, first, first + 1));
	drain(a, b, first - 1);
	EXPECT_TRUE(until(load(&a->inj.kern->done) == first + 3));
	EXPECT_EQ(BGDMA_FIFO_RUNNING, load(&a->inj.kern->state));
	EXPECT_EQ(0, load(&a->inj.rec->code));
}

TEST_F(cancel, flush_of_a_remote_get_queue)
{
	struct end *a = &self->a, *b = &self->b;
	struct bgdma_desc d[2], get = d_rget(1, b->rgq, a->mem.handle, 0, 2);
	__u32 got = 0;

	d[0] = d_memfifo(0, a->rec.id, b->mem.handle, 0, PAIR_BYTES);
	d[1] = d_number(0, &a->rec, 1);
	memcpy(a->mem.p, d, sizeof(d));
	EXPECT_EQ(BGDMA_OK, run(&a->inj, &get));
	ASSERT_TRUE(until(load(&a->rec.kern->starved)));
	EXPECT_EQ(0, clear_error(&b->n, BGDMA_KIND_RGET_QUEUE, b->rgq,
				 BGDMA_CLEAR_FLUSH));
	/* What is under way goes on; what waited behind it is gone. */
	d[0] = d_number(0, &a->rec, 2);
	memcpy(a->mem.p, d, sizeof(d[0]));
	get = d_rget(1, b->rgq, a->mem.handle, 0, 1);
	EXPECT_EQ(BGDMA_OK, run(&a->inj, &get));
	while (got < PAIR_BYTES) {
		got += packet_wait(&a->rec)->bytes;
		packet_drop(&a->rec);
	}
	EXPECT_EQ(2, number_wait(&a->rec));
}

TEST_F(cancel, a_transfer_under_way)
{
	struct end *a = &self->a, *b = &self->b;
	struct bgdma_desc d = d_memfifo(1, b->rec.id, a->mem.handle, 0,
					PAIR_BYTES);
	const struct bgdma_packet *last;
	struct bgdma_event e;
	__u8 flags = 0;

	d.inj_ctr = htole32(a->ic);
	d.rec_ctr = htole32(b->rc);
	counter_add(&a->n, INJ, a->ic, PAIR_BYTES);
	counter_add(&b->n, REC, b->rc, PAIR_BYTES);
	inject(&a->inj, &d);
	ASSERT_TRUE(until(load(&a->inj.kern->state) == BGDMA_FIFO_BLOCKED));
	EXPECT_LT(0, value(&a->n, INJ, a->ic));
	EXPECT_EQ(1, cancel(&a->inj, 0, 0));
	EXPECT_TRUE(until(load(&a->inj.kern->done) == 1));
	EXPECT_EQ(BGDMA_FIFO_RUNNING, load(&a->inj.kern->state));
	/* Both sides come to zero and learn why. */
	EXPECT_EQ(0, value(&a->n, INJ, a->ic));
	EXPECT_EQ(BGDMA_E_CANCELLED, counter_record(&a->n, INJ, a->ic)->code);
	EXPECT_TRUE(until(counter_error(&b->n, REC, b->rc)));
	EXPECT_EQ(0, value(&b->n, REC, b->rc));
	EXPECT_EQ(BGDMA_E_ABORTED, counter_record(&b->n, REC, b->rc)->code);
	EXPECT_EQ(BGDMA_E_CANCELLED, counter_record(&b->n, REC, b->rc)->bound);
	/* The message that was begun ends visibly. */
	while ((last = packet(&b->rec))) {
		flags = last->flags;
		packet_drop(&b->rec);
	}
	if (!(flags & BGDMA_PACKET_ERROR)) {
		/* There was no room to say so in the FIFO. */
		ASSERT_TRUE(event_wait(&b->n, BGDMA_EVENT_FIFO_ERROR, &e));
		EXPECT_EQ(BGDMA_E_ABORTED, e.code);
		EXPECT_EQ(BGDMA_KIND_REC_FIFO, e.kind);
		EXPECT_EQ(b->rec.id, e.object);
	}
	d = d_number(1, &b->rec, 77);
	EXPECT_EQ(BGDMA_OK, run(&a->inj, &d));
	EXPECT_EQ(77, number_wait(&b->rec));
}

TEST_F(cancel, what_is_not_there)
{
	struct inj *f = &self->a.inj;
	struct bgdma_desc nop = d_nop();

	EXPECT_EQ(0, cancel(f, 0, 100));
	EXPECT_EQ(BGDMA_OK, run(f, &nop));
	EXPECT_EQ(0, cancel(f, 0, ~0ULL));
	EXPECT_EQ(-EINVAL, cancel(f, 1, 0));
	EXPECT_EQ(BGDMA_OK, run(f, &nop));
	EXPECT_EQ(2, load(&f->kern->done));
}

TEST_F(cancel, x2_destroyed_while_it_waits)
{
	struct end *a = &self->a, *b = &self->b;
	struct bgdma_desc d = d_memfifo(1, b->rec.id, a->mem.handle, 0,
					PAIR_BYTES);

	d.inj_ctr = htole32(a->ic);
	d.rec_ctr = htole32(b->rc);
	counter_add(&a->n, INJ, a->ic, PAIR_BYTES);
	counter_add(&b->n, REC, b->rc, PAIR_BYTES);
	inject(&a->inj, &d);
	ASSERT_TRUE(until(load(&a->inj.kern->state) == BGDMA_FIFO_BLOCKED));
	EXPECT_EQ(0, fifo_destroy(&a->n, BGDMA_KIND_INJ_FIFO, a->inj.id));
	EXPECT_EQ(0, value(&a->n, INJ, a->ic));
	EXPECT_EQ(BGDMA_E_CANCELLED, counter_record(&a->n, INJ, a->ic)->code);
	EXPECT_TRUE(until(counter_error(&b->n, REC, b->rc)));
	EXPECT_EQ(BGDMA_E_ABORTED, counter_record(&b->n, REC, b->rc)->code);
	EXPECT_EQ(0, value(&b->n, REC, b->rc));
}

TEST_F(cancel, x2_destroyed_while_it_runs)
{
	struct end *a = &self->a;
	struct region src, dst;
	struct bgdma_desc d;
	int i;

	region_new(&src, &a->n, 8 * MIB);
	region_new(&dst, &self->b.n, 8 * MIB);
	d = d_put(1, src.handle, 0, dst.handle, 0, 8 * MIB);
	for (i = 0; i < 50; i++) {
		struct inj f;

		inj_new(&f, &a->n);
		put_in(&f, &d);
		put_in(&f, &d);
		store(&f.user->tail, 2);
		__atomic_fetch_or(&a->n.uctl->doorbell[0], 1ULL << f.id,
				  __ATOMIC_SEQ_CST);
		doorbell(&a->n, BGDMA_DOORBELL_POOL);
		ASSERT_EQ(0, fifo_destroy(&a->n, BGDMA_KIND_INJ_FIFO, f.id));
		/* Nothing moves any more when the call has returned. */
		fill(dst.p, PAGE, 3);
		fill(dst.p + dst.bytes - PAGE, PAGE, 3);
		sched_yield();
		ASSERT_TRUE(filled(dst.p, PAGE, 3));
		ASSERT_TRUE(filled(dst.p + dst.bytes - PAGE, PAGE, 3));
	}
}

TEST_HARNESS_MAIN
