// SPDX-License-Identifier: GPL-2.0
/*
 * Messages in a row that are alike but for payload and cookie, for which the engine
 * looks up everything once, on one kernel and over links; and rows that seem so.
 */
#include <endian.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "kselftest_harness.h"
#include "pair.h"

#define ROW	60U	/* as many as a FIFO of FIXTURE_PAIR has slots for, nearly */
#define MANY	400U	/* more than the smallest reception FIFO has room for */

FIXTURE_PAIR(train)

/* The next packet of @r is message @number with @dispatch, @bytes and such flags. */
static bool next_is(struct rec *r, __u32 number, __u16 dispatch, __u32 bytes,
		    __u8 flags)
{
	const struct bgdma_packet *p = packet_wait(r);
	__u32 got = 0;
	bool good;

	memcpy(&got, payload(p), bytes < sizeof(got) ? bytes : sizeof(got));
	good = p->cookie == number + 1000 && p->dispatch == dispatch &&
	       p->bytes == bytes && p->msg_length == bytes && !p->offset &&
	       (bytes < sizeof(got) || got == number) &&
	       (p->flags & ~BGDMA_PACKET_ADAPTIVE) ==
	       (flags | BGDMA_PACKET_FIRST | BGDMA_PACKET_LAST);
	if (!good)
		fprintf(stderr, "# for %u: %u, cookie %llu, dispatch %u, %u bytes, flags %x\n",
			number, got, (unsigned long long)p->cookie, p->dispatch,
			p->bytes, p->flags);
	packet_drop(r);
	return good;
}

static struct bgdma_desc numbered(const struct bgdma_desc *like, __u32 number)
{
	struct bgdma_desc d = *like;

	memcpy(d.u.inline_data, &number, sizeof(number));
	d.cookie = htole64(number + 1000);
	return d;
}

/* Numbers from @first on with one doorbell; each fifth, from the third on, as @other. */
static void row(struct inj *f, const struct bgdma_desc *like,
		const struct bgdma_desc *other, __u32 first, __u32 count)
{
	__u32 i;

	for (i = first; i < first + count; i++) {
		struct bgdma_desc d = numbered(other && i % 5 == 3 ? other : like,
					       i);

		put_in(f, &d);
	}
	post(f);
}

TEST_F(train, dma1_dma2_all_come_in_their_order)
{
	struct end *a = &self->a, *b = &self->b;
	struct bgdma_desc d = d_number(1, &b->rec, 0);
	__u32 i, k;

	for (k = 1; k <= ROW; k++) {
		row(&a->inj, &d, NULL, 0, k);
		for (i = 0; i < k; i++)
			ASSERT_TRUE(next_is(&b->rec, i, 0, 4, 0));
		EXPECT_EQ(BGDMA_OK, outcome(&a->inj, a->inj.tail - 1));
	}
	EXPECT_EQ(ROW * (ROW + 1) / 2, load(&b->rec.kern->packets));
	EXPECT_EQ(a->inj.tail, load(&a->inj.kern->head));
}

TEST_F(train, dma1_each_may_differ)
{
	struct end *a = &self->a, *b = &self->b;
	const struct bgdma_desc d = d_number(1, &b->rec, 0);
	struct bgdma_desc o;
	struct rec other;
	__u32 i;

	/* By what its packet shows ... */
	o = d;
	o.dispatch = htole16(7);
	row(&a->inj, &d, &o, 0, ROW);
	for (i = 0; i < ROW; i++)
		ASSERT_TRUE(next_is(&b->rec, i, i % 5 == 3 ? 7 : 0, 4, 0));
	o = d;
	o.length = htole32(8);
	row(&a->inj, &d, &o, 0, ROW);
	for (i = 0; i < ROW; i++)
		ASSERT_TRUE(next_is(&b->rec, i, 0, i % 5 == 3 ? 8 : 4, 0));
	o.length = 0;
	row(&a->inj, &d, &o, 0, ROW);
	for (i = 0; i < ROW; i++)
		ASSERT_TRUE(next_is(&b->rec, i, 0, i % 5 == 3 ? 0 : 4, 0));
	o = d;
	o.flags |= BGDMA_DESC_INTERRUPT;
	row(&a->inj, &d, &o, 0, ROW);
	for (i = 0; i < ROW; i++)
		ASSERT_TRUE(next_is(&b->rec, i, 0, 4,
				    i % 5 == 3 ? BGDMA_PACKET_INTERRUPT : 0));
	EXPECT_EQ(ROW / 5, load(&b->rec.kern->marked));

	/* ... by where it goes ... */
	rec_new(&other, &b->n);
	o = d;
	o.dst_fifo = htole16((__u16)other.id);
	row(&a->inj, &d, &o, 0, ROW);
	for (i = 0; i < ROW; i++)
		ASSERT_TRUE(next_is(i % 5 == 3 ? &other : &b->rec, i, 0, 4, 0));
	o = d_number(0, &a->rec, 0);
	row(&a->inj, &d, &o, 0, ROW);
	for (i = 0; i < ROW; i++)
		ASSERT_TRUE(next_is(i % 5 == 3 ? &a->rec : &b->rec, i, 0, 4, 0));

	/* ... or when. */
	o = d;
	o.flags |= BGDMA_DESC_FENCE;
	row(&a->inj, &d, &o, 0, ROW);
	for (i = 0; i < ROW; i++)
		ASSERT_TRUE(next_is(&b->rec, i, 0, 4, 0));
	row(&a->inj, &o, NULL, 0, ROW);
	for (i = 0; i < ROW; i++)
		ASSERT_TRUE(next_is(&b->rec, i, 0, 4, 0));
	EXPECT_EQ(BGDMA_OK, outcome(&a->inj, a->inj.tail - 1));
}

TEST_F(train, dma4_each_counts)
{
	struct end *a = &self->a, *b = &self->b;
	struct bgdma_desc d = d_number(1, &b->rec, 0), o;
	__u32 i, ops = counter_new(&b->n, REC, 0);

	d.inj_ctr = htole32(a->ic);
	d.rec_ctr = htole32(b->rc);
	/* Each fifth counts transfers, and not at home. */
	o = d;
	o.inj_ctr = htole32(BGDMA_NONE);
	o.flags |= BGDMA_DESC_OPS;
	o.rec_ctr = htole32(ops);
	counter_add(&a->n, INJ, a->ic, 4LL * (ROW - ROW / 5));
	counter_add(&b->n, REC, b->rc, 4LL * (ROW - ROW / 5));
	counter_add(&b->n, REC, ops, ROW / 5);
	row(&a->inj, &d, &o, 0, ROW);
	for (i = 0; i < ROW; i++)
		ASSERT_TRUE(next_is(&b->rec, i, 0, 4, 0));
	EXPECT_EQ(BGDMA_OK, outcome(&a->inj, a->inj.tail - 1));
	EXPECT_TRUE(hit(&a->n, INJ, a->ic));
	EXPECT_TRUE(hit(&b->n, REC, b->rc));
	EXPECT_TRUE(hit(&b->n, REC, ops));
	EXPECT_EQ(0, value(&a->n, INJ, a->ic));
	EXPECT_EQ(0, value(&b->n, REC, b->rc));
	EXPECT_EQ(0, value(&b->n, REC, ops));
}

/* To a FIFO that has not room for all of them: those that are left wait. */
static void too_many(struct inj *f, struct end *a, struct end *b, struct rec *r)
{
	struct bgdma_desc d;

	must(inj_try(f, &a->n, BGDMA_ID_ANY, 512));
	must(rec_try(r, &b->n, BGDMA_ID_ANY, BGDMA_REC_BYTES_MIN));
	must(grant(&b->n, BGDMA_KIND_REC_FIFO, r->id, 0, BGDMA_RIGHT_ACCEPT));
	d = d_number(1, r, 0);
	d.inj_ctr = htole32(a->ic);
	counter_add(&a->n, INJ, a->ic, 4LL * MANY);
	row(f, &d, NULL, 0, MANY);
	must(until(load(&f->kern->state) == BGDMA_FIFO_BLOCKED) ? 0 : -ETIME);
	must(until(load(&r->kern->starved)) ? 0 : -ETIME);
}

TEST_F(train, dma3_waits_in_the_middle)
{
	struct end *a = &self->a, *b = &self->b;
	struct inj f;
	struct rec r;
	__u32 i;

	too_many(&f, a, b, &r);
	EXPECT_GT(MANY, load(&r.kern->packets));
	EXPECT_LT(0, value(&a->n, INJ, a->ic));
	for (i = 0; i < MANY; i++)
		ASSERT_TRUE(next_is(&r, i, 0, 4, 0));
	EXPECT_EQ(BGDMA_OK, outcome(&f, MANY - 1));
	EXPECT_EQ(MANY, load(&r.kern->packets));
	EXPECT_EQ(0, value(&a->n, INJ, a->ic));
}

#define HERE	16U	/* messages to ourselves behind one to another */

struct watch {
	const struct inj *f;
	const struct rec *r;
	bool stop, bad;
};

/* Nothing has ended of which something in front is not there yet. */
static void *watch_done(void *arg)
{
	struct watch *w = arg;
	__u64 done;

	while (!load(&w->stop)) {
		done = load(&w->f->kern->done);
		if (load(&w->r->kern->packets) < (done + HERE) / (HERE + 1))
			store(&w->bad, true);
	}
	return NULL;
}

TEST_F(train, dma2_none_has_ended_before_those_in_front)
{
	struct end *a = &self->a, *b = &self->b;
	const struct bgdma_desc there = d_number(1, &b->rec, 0);
	const struct bgdma_desc here = d_number(0, &a->rec, 0);
	struct watch w = { .f = &a->inj, .r = &b->rec };
	struct bgdma_desc d;
	pthread_t thread;
	__u32 i, k;

	ASSERT_EQ(0, pthread_create(&thread, NULL, watch_done, &w));
	for (k = 0; k < 500; k++) {
		d = numbered(&there, k);
		put_in(&a->inj, &d);
		row(&a->inj, &here, NULL, 0, HERE);
		ASSERT_TRUE(next_is(&b->rec, k, 0, 4, 0));
		for (i = 0; i < HERE; i++)
			ASSERT_TRUE(next_is(&a->rec, i, 0, 4, 0));
		ASSERT_EQ(BGDMA_OK, outcome(&a->inj, a->inj.tail - 1));
	}
	store(&w.stop, true);
	pthread_join(thread, NULL);
	EXPECT_FALSE(w.bad);
}

TEST_F(train, dma8_refused_in_the_middle)
{
	struct end *a = &self->a, *b = &self->b;
	__u64 packets;
	struct inj f;
	struct rec r;

	too_many(&f, a, b, &r);
	packets = load(&r.kern->packets);
	EXPECT_EQ(0, fifo_destroy(&b->n, BGDMA_KIND_REC_FIFO, r.id));
	EXPECT_EQ(BGDMA_E_FIFO, outcome(&f, MANY - 1));
	/* It is the first that has not landed. */
	EXPECT_EQ(packets, load(&f.rec->desc_seq));
	EXPECT_EQ(BGDMA_KIND_INJ_FIFO, load(&f.rec->fifo_kind));
	EXPECT_TRUE(counter_error(&a->n, INJ, a->ic));
}

/* The last @k of a FIFO are, one after the other, each with its own error. */
static bool are_refused(struct end *a, __u32 k)
{
	__u32 i, first = (__u32)a->inj.tail - k;

	for (i = first; i < first + k; i++)
		if (outcome(&a->inj, i) != BGDMA_E_FIFO ||
		    load(&a->inj.rec->desc_seq) != i ||
		    clear_error(&a->n, BGDMA_KIND_INJ_FIFO, a->inj.id, 0))
			return false;
	return until(load(&a->inj.kern->done) == a->inj.tail);
}

/* Over a link they are on their way before the first refusal is heard of. */
TEST_F(train, dma8_all_are_refused)
{
	struct end *a = &self->a, *b = &self->b;
	struct bgdma_desc d = d_number(1, &b->rec, 0);
	__u32 k;

	d.dst_fifo = htole16((__u16)(b->rec.id + 1));
	for (k = 1; k <= ROW; k++) {
		row(&a->inj, &d, NULL, 0, k);
		ASSERT_TRUE(are_refused(a, k));
	}
}

/* Somebody else has what came before, also while the FIFO stands at the error. */
TEST_F(train, dma8_x3_one_in_front_of_what_is_refused)
{
	struct end *a = &self->a, *b = &self->b, c;
	struct bgdma_desc d = d_number(1, &b->rec, 0), before;
	__u32 i;

	end_new(&c, 2);
	must(grant(&c.n, BGDMA_KIND_REC_FIFO, c.rec.id, 0, BGDMA_RIGHT_ACCEPT));
	before = d_number(2, &c.rec, 0);
	for (i = 0; i < 20; i++) {
		row(&a->inj, &d, NULL, 0, 1);
		ASSERT_TRUE(next_is(&b->rec, 0, 0, 4, 0));
		before = numbered(&before, i);
		put_in(&a->inj, &before);
		d.dst_fifo = htole16((__u16)(b->rec.id + 1));
		row(&a->inj, &d, NULL, 0, ROW - 2);
		d.dst_fifo = htole16((__u16)b->rec.id);
		ASSERT_TRUE(until(load(&a->inj.kern->state) ==
				  BGDMA_FIFO_ERROR));
		ASSERT_TRUE(next_is(&c.rec, i, 0, 4, 0));
		ASSERT_TRUE(are_refused(a, ROW - 2));
	}
	node_close(&c.n);
}

TEST_F(train, dma8_cancelled_in_the_middle)
{
	struct end *a = &self->a, *b = &self->b;
	struct bgdma_desc d = d_number(1, &b->rec, 0);
	int cancelled;
	struct inj f;
	struct rec r;
	__u32 i;

	too_many(&f, a, b, &r);
	cancelled = cancel(&f, 0, MANY - 1);
	ASSERT_LT(0, cancelled);
	/* What was on its way by a link comes when there is room. */
	for (i = 0; i < MANY - (__u32)cancelled; i++)
		ASSERT_TRUE(next_is(&r, i, 0, 4, 0));
	EXPECT_TRUE(until(load(&f.kern->done) == MANY));
	EXPECT_EQ(MANY - (__u32)cancelled, load(&r.kern->packets));
	/* Others go on as before. */
	row(&a->inj, &d, NULL, 0, 3);
	EXPECT_TRUE(next_is(&b->rec, 0, 0, 4, 0));
	EXPECT_TRUE(next_is(&b->rec, 1, 0, 4, 0));
	EXPECT_TRUE(next_is(&b->rec, 2, 0, 4, 0));
}

TEST_F(train, x3_dies_in_the_middle)
{
	struct end *a = &self->a, *b = &self->b;
	struct bgdma_event e;
	struct inj f;
	struct rec r;

	too_many(&f, a, b, &r);
	node_close(&b->n);
	EXPECT_EQ(BGDMA_E_PEER_DOWN, outcome(&f, MANY - 1));
	EXPECT_TRUE(event_wait(&a->n, BGDMA_EVENT_PEER_DOWN, &e));
	EXPECT_TRUE(counter_error(&a->n, INJ, a->ic));
}

TEST_HARNESS_MAIN
