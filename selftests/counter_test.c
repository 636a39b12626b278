// SPDX-License-Identifier: GPL-2.0
/*
 * Counters: what moves them, and what they tell.
 */
#include <endian.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "kselftest_harness.h"
#include "links.h"
#include "pair.h"

FIXTURE_PAIR(counter)

TEST_F(counter, dma4_bytes_on_both_sides)
{
	struct end *a = &self->a, *b = &self->b;
	struct bgdma_desc d = d_put_counted(&self->a, &self->b, a->ic, b->rc, 1000);
	int i;

	counter_add(&a->n, INJ, a->ic, 3000);
	counter_add(&b->n, REC, b->rc, 3000);
	for (i = 2; i >= 0; i--) {
		EXPECT_FALSE(hit(&a->n, INJ, a->ic));
		EXPECT_FALSE(hit(&b->n, REC, b->rc));
		EXPECT_EQ(BGDMA_OK, run(&a->inj, &d));
		EXPECT_EQ(1000 * i, value(&a->n, INJ, a->ic));
		EXPECT_EQ(1000 * i, value(&b->n, REC, b->rc));
	}
	EXPECT_TRUE(hit(&a->n, INJ, a->ic));
	EXPECT_TRUE(hit(&b->n, REC, b->rc));
	EXPECT_EQ(1, cell(&a->n, INJ, a->ic)->zero_seq);
	EXPECT_EQ(1, cell(&b->n, REC, b->rc)->zero_seq);
}

TEST_F(counter, dma4_hit_stays_until_software_clears_it)
{
	struct end *a = &self->a, *b = &self->b;
	struct bgdma_desc d = d_put_counted(&self->a, &self->b, BGDMA_NONE, b->rc, 8);
	__u64 i;

	for (i = 1; i < 4; i++) {
		counter_add(&b->n, REC, b->rc, 8);
		EXPECT_EQ(BGDMA_OK, run(&a->inj, &d));
		EXPECT_TRUE(hit(&b->n, REC, b->rc));
		EXPECT_EQ(i, cell(&b->n, REC, b->rc)->zero_seq);
	}
	/* It is there although its value is not. */
	counter_add(&b->n, REC, b->rc, 100);
	EXPECT_TRUE(hit(&b->n, REC, b->rc));
	EXPECT_EQ(0, wait_for(&b->n, REC, b->rc, 0, -1));
	hit_clear(&b->n, REC, b->rc);
	EXPECT_EQ(-ETIME, wait_for(&b->n, REC, b->rc, 0, 0));
	EXPECT_EQ(BGDMA_OK, run(&a->inj, &d));
	EXPECT_FALSE(hit(&b->n, REC, b->rc));
	EXPECT_EQ(92, value(&b->n, REC, b->rc));
}

TEST_F(counter, dma4_no_bytes_move_nothing)
{
	struct end *a = &self->a, *b = &self->b;
	struct bgdma_desc d = d_put_counted(&self->a, &self->b, a->ic, b->rc, 0);

	EXPECT_EQ(BGDMA_OK, run(&a->inj, &d));
	EXPECT_FALSE(hit(&a->n, INJ, a->ic));
	EXPECT_FALSE(hit(&b->n, REC, b->rc));
	EXPECT_EQ(0, cell(&b->n, REC, b->rc)->zero_seq);
	d.flags = BGDMA_DESC_OPS;
	counter_add(&b->n, REC, b->rc, 1);
	EXPECT_EQ(BGDMA_OK, run(&a->inj, &d));
	EXPECT_TRUE(hit(&b->n, REC, b->rc));
	EXPECT_FALSE(hit(&a->n, INJ, a->ic));
}

TEST_F(counter, dma4_transfers_instead_of_bytes)
{
	struct end *a = &self->a, *b = &self->b;
	struct bgdma_desc d = d_put_counted(&self->a, &self->b, a->ic, b->rc, PAIR_BYTES);

	d.flags = BGDMA_DESC_OPS;
	counter_add(&a->n, INJ, a->ic, PAIR_BYTES);
	counter_add(&b->n, REC, b->rc, 2);
	EXPECT_EQ(BGDMA_OK, run(&a->inj, &d));
	EXPECT_EQ(1, value(&b->n, REC, b->rc));
	/* The injection counter goes by bytes all the same. */
	EXPECT_EQ(0, value(&a->n, INJ, a->ic));
}

TEST_F(counter, dma4_without_counters)
{
	struct bgdma_desc d = d_put_counted(&self->a, &self->b, BGDMA_NONE, BGDMA_NONE, 100);

	EXPECT_EQ(BGDMA_OK, run(&self->a.inj, &d));
	EXPECT_EQ(0, self->a.n.kctl->events_tail);
	EXPECT_EQ(0, self->b.n.kctl->events_tail);
}

/* @kind: which end's counter is below zero; barriers have it on that of injection. */
static void no_underflow(struct __test_metadata *_metadata, struct end *a,
			 struct end *b, __u32 kind)
{
	struct node *n = kind == REC ? &b->n : &a->n;
	__u32 h = counter_new(n, kind, BGDMA_COUNTER_NO_UNDERFLOW);
	struct bgdma_desc d = d_put_counted(a, b,
					    kind == INJ ? h : BGDMA_NONE,
					    kind == REC ? h : BGDMA_NONE, 1);

	EXPECT_EQ(BGDMA_OK, run(&a->inj, &d));
	EXPECT_EQ(BGDMA_OK, run(&a->inj, &d));
	EXPECT_EQ(-2, value(n, kind, h));
	EXPECT_FALSE(counter_error(n, kind, h));
	EXPECT_FALSE(hit(n, kind, h));
	/* Below the wake mark is there. */
	EXPECT_EQ(0, wait_for(n, kind, h, 0, -1));
	/* The fourth of BA-5's nodes: its own add reaches zero. */
	EXPECT_EQ(0, counter_add(n, kind, h, 2));
	EXPECT_TRUE(hit(n, kind, h));
	EXPECT_EQ(0, a->n.kctl->events_tail);
	EXPECT_EQ(0, b->n.kctl->events_tail);
}

TEST_F(counter, dma5_no_underflow)
{
	no_underflow(_metadata, &self->a, &self->b, REC);
	no_underflow(_metadata, &self->a, &self->b, INJ);
}

TEST_F(counter, dma5_underflow_names_the_counter)
{
	struct end *a = &self->a, *b = &self->b;
	struct bgdma_desc d = d_put_counted(&self->a, &self->b, a->ic, b->rc, 100);
	struct bgdma_event e;

	counter_add(&a->n, INJ, a->ic, 100);
	counter_add(&b->n, REC, b->rc, 99);
	EXPECT_EQ(BGDMA_OK, run(&a->inj, &d));
	ASSERT_TRUE(event_wait(&b->n, BGDMA_EVENT_COUNTER, &e));
	EXPECT_EQ(BGDMA_E_UNDERFLOW, e.code);
	EXPECT_EQ(REC, e.kind);
	EXPECT_EQ(BGDMA_HANDLE_SLOT(b->rc), BGDMA_HANDLE_SLOT(e.object));
	EXPECT_TRUE(counter_error(&b->n, REC, b->rc));
	EXPECT_EQ(BGDMA_E_UNDERFLOW, counter_record(&b->n, REC, b->rc)->code);
	EXPECT_EQ(-1, value(&b->n, REC, b->rc));
	EXPECT_EQ(0, wait_for(&b->n, REC, b->rc, 0, -1));
	/* No FIFO stops, and the other side is as it should be. */
	EXPECT_EQ(BGDMA_FIFO_RUNNING, load(&a->inj.kern->state));
	EXPECT_TRUE(hit(&a->n, INJ, a->ic));
	EXPECT_FALSE(counter_error(&a->n, INJ, a->ic));
	/* It is below already; cleared, the value stays. */
	EXPECT_EQ(BGDMA_OK, run(&a->inj, &d));
	EXPECT_EQ(0, clear_error(&b->n, REC, BGDMA_HANDLE_SLOT(b->rc), 0));
	EXPECT_FALSE(counter_error(&b->n, REC, b->rc));
	EXPECT_EQ(0, counter_record(&b->n, REC, b->rc)->code);
	EXPECT_EQ(-101, value(&b->n, REC, b->rc));
}

TEST_F(counter, dma8_failure_is_taken_off_and_shown_on_both_sides)
{
	struct end *a = &self->a, *b = &self->b;
	struct bgdma_desc d = d_put_counted(&self->a, &self->b, a->ic, b->rc, 4096);
	struct bgdma_event e;

	/* 100 of them belong to something else on the same counters. */
	counter_add(&a->n, INJ, a->ic, 4096 + 100);
	counter_add(&b->n, REC, b->rc, 4096 + 100);
	d.u.at.dst_off = htole64(PAIR_BYTES - 4095);
	EXPECT_EQ(BGDMA_E_BOUNDS, run_bad(&a->inj, &d));
	EXPECT_EQ(100, value(&a->n, INJ, a->ic));
	EXPECT_EQ(100, value(&b->n, REC, b->rc));
	EXPECT_EQ(BGDMA_E_BOUNDS, counter_record(&a->n, INJ, a->ic)->code);
	EXPECT_EQ(BGDMA_E_ABORTED, counter_record(&b->n, REC, b->rc)->code);
	EXPECT_EQ(BGDMA_E_BOUNDS, counter_record(&b->n, REC, b->rc)->bound);
	EXPECT_EQ(0, counter_record(&b->n, REC, b->rc)->peer_rank);
	ASSERT_TRUE(event_wait(&a->n, BGDMA_EVENT_COUNTER, &e));
	EXPECT_EQ(INJ, e.kind);
	ASSERT_TRUE(event_wait(&b->n, BGDMA_EVENT_COUNTER, &e));
	EXPECT_EQ(BGDMA_E_ABORTED, e.code);
	/* nobody waits in silence. */
	EXPECT_EQ(0, wait_for(&a->n, INJ, a->ic, 0, -1));
	EXPECT_EQ(0, wait_for(&b->n, REC, b->rc, 0, -1));
	/* The others on it finish. */
	must(clear_error(&a->n, INJ, BGDMA_HANDLE_SLOT(a->ic), 0));
	must(clear_error(&b->n, REC, BGDMA_HANDLE_SLOT(b->rc), 0));
	d = d_put_counted(&self->a, &self->b, a->ic, b->rc, 100);
	EXPECT_EQ(BGDMA_OK, run(&a->inj, &d));
	EXPECT_TRUE(hit(&a->n, INJ, a->ic));
	EXPECT_TRUE(hit(&b->n, REC, b->rc));
}

/* ---- Handles, rights, leases ------------------------------------------ */

TEST_F(counter, x2_handles)
{
	struct end *a = &self->a, *b = &self->b;
	struct bgdma_desc d;
	__u32 bad[] = { BGDMA_HANDLE(63, 1), BGDMA_HANDLE(64, 1),
			BGDMA_HANDLE(1024, 1), BGDMA_HANDLE(65535, 1),
			BGDMA_NONE - 1 };
	unsigned int i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		d = d_put_counted(&self->a, &self->b, bad[i], BGDMA_NONE, 8);
		EXPECT_EQ(BGDMA_E_COUNTER, run_bad(&a->inj, &d));
		d = d_put_counted(&self->a, &self->b, BGDMA_NONE, bad[i], 8);
		EXPECT_EQ(BGDMA_E_COUNTER, run_bad(&a->inj, &d));
	}
	d = d_put_counted(&self->a, &self->b, a->ic + (1U << 16), BGDMA_NONE, 8);
	EXPECT_EQ(BGDMA_E_STALE, run_bad(&a->inj, &d));
	d = d_put_counted(&self->a, &self->b, BGDMA_NONE, b->rc + (1U << 16), 8);
	EXPECT_EQ(BGDMA_E_STALE, run_bad(&a->inj, &d));
	/* Generation 0 is nobody's. */
	d = d_put_counted(&self->a, &self->b, BGDMA_NONE, BGDMA_HANDLE_SLOT(b->rc), 8);
	EXPECT_EQ(BGDMA_E_STALE, run_bad(&a->inj, &d));
	EXPECT_EQ(0, value(&b->n, REC, b->rc));
	EXPECT_FALSE(counter_error(&b->n, REC, b->rc));
}

TEST_F(counter, x2_closed_until_granted)
{
	struct end *a = &self->a, *b = &self->b;
	struct bgdma_desc d;
	__u32 slot, h;
	int id;

	must(counter_alloc(&b->n, REC, 0, 1, &slot));
	h = BGDMA_HANDLE(slot, cell(&b->n, REC, slot)->lease_gen);
	d = d_put_counted(&self->a, &self->b, BGDMA_NONE, h, 8);
	counter_add(&b->n, REC, h, 8);
	EXPECT_EQ(BGDMA_E_RIGHTS, run_bad(&a->inj, &d));
	must(grant(&b->n, REC, slot, 2, BGDMA_RIGHT_COUNT));
	EXPECT_EQ(BGDMA_E_RIGHTS, run_bad(&a->inj, &d));
	EXPECT_EQ(8, value(&b->n, REC, h));
	EXPECT_FALSE(counter_error(&b->n, REC, h));
	id = (int)must(grant(&b->n, REC, slot, 0, BGDMA_RIGHT_COUNT));
	EXPECT_EQ(BGDMA_OK, run_bad(&a->inj, &d));
	EXPECT_EQ(0, value(&b->n, REC, h));
	EXPECT_EQ(0, grant_revoke(&b->n, (__u32)id));
	EXPECT_EQ(BGDMA_E_RIGHTS, run_bad(&a->inj, &d));
	/* Own ones need no grant, on own transfers. */
	d = d_copy(b->mem.handle, 0, b->mem.handle, 4096, 8);
	d.rec_ctr = htole32(h);
	counter_add(&b->n, REC, h, 8);
	EXPECT_EQ(BGDMA_OK, run_bad(&b->inj, &d));
}

TEST_F(counter, grant_of_several_in_a_row)
{
	struct end *a = &self->a, *b = &self->b;
	struct bgdma_grant g = {
		.size = sizeof(g), .kind = REC, .count = 4, .rank = 0,
		.ctx = BGDMA_CTX_ANY, .rights = BGDMA_RIGHT_COUNT,
	};
	struct bgdma_desc d;
	__u32 i, h;

	must(counter_alloc(&b->n, REC, BGDMA_COUNTER_NO_UNDERFLOW, 5,
			   &g.object));
	ASSERT_EQ(0, bg_ioctl(b->n.fd, BGDMA_IOC_GRANT, &g));
	for (i = 0; i < 5; i++) {
		h = BGDMA_HANDLE(g.object + i,
				 cell(&b->n, REC, g.object + i)->lease_gen);
		d = d_put_counted(&self->a, &self->b, BGDMA_NONE, h, 8);
		EXPECT_EQ(i < 4 ? BGDMA_OK : BGDMA_E_RIGHTS,
			  run_bad(&a->inj, &d));
	}
	EXPECT_EQ(0, grant_revoke(&b->n, g.id));
	d = d_put_counted(&self->a, &self->b, BGDMA_NONE,
			  BGDMA_HANDLE(g.object,
				       cell(&b->n, REC, g.object)->lease_gen),
			  8);
	EXPECT_EQ(BGDMA_E_RIGHTS, run_bad(&a->inj, &d));
	g.count = 100;
	EXPECT_GT(0, bg_ioctl(b->n.fd, BGDMA_IOC_GRANT, &g));
}

/* A counter that is leased to @a alone. */
static struct bgdma_counter_cell *leased(struct end *a, struct end *b, __u32 counter)
{
	struct bgdma_counter_cell *c = cell(&b->n, REC, counter);

	store(&c->lease_ctx, a->n.at.ctx);
	store(&c->lease_peer, a->n.at.rank);
	store(&b->n.uctl->leases, 1);
	return c;
}

/* Who leaves when all has come leaves nobody with an error. */
TEST_F(counter, dma4_x3_the_end_of_a_lease)
{
	struct end *a = &self->a, *b = &self->b;
	struct bgdma_desc d = d_put_counted(a, b, BGDMA_NONE, b->rc, 8);
	__u32 missing = counter_new(&b->n, REC, 0), idle = counter_new(&b->n, REC, 0);
	struct bgdma_event e;

	leased(a, b, b->rc);
	leased(a, b, missing);
	leased(a, b, idle);
	counter_add(&b->n, REC, b->rc, 8);
	counter_add(&b->n, REC, missing, 16);
	EXPECT_EQ(BGDMA_OK, run(&a->inj, &d));
	d.rec_ctr = htole32(missing);
	EXPECT_EQ(BGDMA_OK, run(&a->inj, &d));
	EXPECT_TRUE(until(hit(&b->n, REC, b->rc)));
	EXPECT_TRUE(until(value(&b->n, REC, missing) == 8));
	node_close(&a->n);
	ASSERT_TRUE(event_wait(&b->n, BGDMA_EVENT_PEER_DOWN, &e));
	EXPECT_TRUE(until(counter_error(&b->n, REC, missing)));
	EXPECT_EQ(BGDMA_E_PEER_DOWN, counter_record(&b->n, REC, missing)->code);
	EXPECT_EQ(8, value(&b->n, REC, missing));
	/* Its owner may be about to wait for something. */
	EXPECT_TRUE(until(counter_error(&b->n, REC, idle)));
	EXPECT_FALSE(counter_error(&b->n, REC, b->rc));
	EXPECT_TRUE(hit(&b->n, REC, b->rc));
	node_new(&a->n, a->n.at.rank);
}

TEST_F(counter, dma4_leases)
{
	struct end *a = &self->a, *b = &self->b;
	struct bgdma_counter_cell *c = cell(&b->n, REC, b->rc);
	struct bgdma_desc d = d_put_counted(&self->a, &self->b, BGDMA_NONE, b->rc, 8);
	__u32 slot = BGDMA_HANDLE_SLOT(b->rc);

	counter_add(&b->n, REC, b->rc, 800);
	store(&c->lease_peer, 2);
	EXPECT_EQ(BGDMA_E_RIGHTS, run_bad(&a->inj, &d));
	store(&c->lease_peer, BGDMA_RANK_NOBODY);
	EXPECT_EQ(BGDMA_E_RIGHTS, run_bad(&a->inj, &d));
	store(&c->lease_peer, 0);
	EXPECT_EQ(BGDMA_OK, run_bad(&a->inj, &d));
	store(&c->lease_ctx, 1);
	EXPECT_EQ(BGDMA_E_RIGHTS, run_bad(&a->inj, &d));
	store(&c->lease_ctx, 0);
	EXPECT_EQ(BGDMA_OK, run_bad(&a->inj, &d));
	/* A new use, without any call. */
	store(&c->lease_gen, 777);
	EXPECT_EQ(BGDMA_E_STALE, run_bad(&a->inj, &d));
	d.rec_ctr = htole32(BGDMA_HANDLE(slot, 777));
	EXPECT_EQ(BGDMA_OK, run_bad(&a->inj, &d));
	EXPECT_EQ(800 - 24, value(&b->n, REC, b->rc));
	/* Its owner may write nonsense; it meets only itself. */
	memset(c, 0xff, sizeof(*c));
	EXPECT_NE(BGDMA_OK, run_bad(&a->inj, &d));
	memset(c, 0, sizeof(*c));
	EXPECT_NE(BGDMA_OK, run_bad(&a->inj, &d));
}

TEST_F(counter, alloc_and_free)
{
	struct node *n = &self->b.n;
	__u32 first, again, gen, all[64], i;
	int ret = 0;

	ASSERT_EQ(0, counter_alloc(n, INJ, 0, 10, &first));
	for (i = 0; i < 10; i++) {
		EXPECT_EQ(0, cell(n, INJ, first + i)->value);
		EXPECT_NE(0, cell(n, INJ, first + i)->lease_gen);
		EXPECT_EQ(BGDMA_RANK_ANY, cell(n, INJ, first + i)->lease_peer);
	}
	gen = cell(n, INJ, first)->lease_gen;
	/* One of them is not allocated: none is freed. */
	EXPECT_EQ(-ENOENT, counter_free(n, INJ, first, 11));
	EXPECT_EQ(-ENOENT, counter_free(n, REC, first, 10));
	EXPECT_EQ(-ENOENT, counter_free(n, INJ, 60, 100));
	EXPECT_EQ(-ENOENT, counter_free(n, INJ, ~0U, 2));
	EXPECT_EQ(0, counter_free(n, INJ, first, 10));
	EXPECT_EQ(-ENOENT, counter_free(n, INJ, first, 1));
	ASSERT_EQ(0, counter_alloc(n, INJ, 0, 10, &again));
	EXPECT_TRUE(again != first || cell(n, INJ, again)->lease_gen != gen);
	EXPECT_EQ(0, counter_free(n, INJ, again, 10));
	/* One is the end's own. */
	EXPECT_EQ(-ENOSPC, counter_alloc(n, INJ, 0, 64, &first));
	EXPECT_EQ(-ENOSPC, counter_alloc(n, INJ, 0, 0x7fffffff, &first));
	for (i = 0; i < 64 && !ret; i++)
		ret = counter_alloc(n, INJ, 0, 1, &all[i]);
	EXPECT_EQ(-ENOSPC, ret);
	EXPECT_EQ(64, i);
	/* Two free slots apart are not two in a row. */
	EXPECT_EQ(0, counter_free(n, INJ, 10, 1));
	EXPECT_EQ(0, counter_free(n, INJ, 20, 1));
	EXPECT_EQ(-ENOSPC, counter_alloc(n, INJ, 0, 2, &first));
	EXPECT_EQ(0, counter_alloc(n, INJ, 0, 1, &first));
}

TEST_F(counter, x2_freed_one_is_not_moved)
{
	struct end *a = &self->a, *b = &self->b;
	struct bgdma_desc d = d_put_counted(&self->a, &self->b, BGDMA_NONE, b->rc, 8);
	__u32 slot = BGDMA_HANDLE_SLOT(b->rc);

	counter_add(&b->n, REC, b->rc, 8);
	EXPECT_EQ(0, counter_free(&b->n, REC, slot, 1));
	EXPECT_EQ(BGDMA_E_COUNTER, run_bad(&a->inj, &d));
	EXPECT_EQ(-ENOENT, wait_for(&b->n, REC, b->rc, 0, 0));
	counter_again(&b->n, REC, slot);
	EXPECT_EQ(BGDMA_E_STALE, run_bad(&a->inj, &d));
	EXPECT_EQ(0, value(&b->n, REC, slot));
	EXPECT_EQ(-ESTALE, wait_for(&b->n, REC, b->rc, 0, 0));
	EXPECT_EQ(-ESTALE, event_bind(&b->n, REC, b->rc, -1));
}

/* ---- Software and engine at once -------------------------------------- */

struct adder {
	struct node *n;
	__u32 handle;
};

static void *add_slowly(void *arg)
{
	struct adder *s = arg;
	int i;

	for (i = 0; i < 100000; i++) {
		counter_add(s->n, REC, s->handle, 1);
		counter_add(s->n, REC, s->handle, -1);
	}
	return NULL;
}

TEST_F_TIMEOUT(counter, dma4_software_adds_while_the_engine_runs, 120)
{
	struct end *b = &self->b;
	struct adder s = { .n = &b->n, .handle = b->rc };
	struct bgdma_desc d = d_put_counted(&self->a, &self->b, BGDMA_NONE, b->rc, 100);
	pthread_t t;
	int i;

	counter_add(&b->n, REC, b->rc, 5000 * 100);
	ASSERT_EQ(0, pthread_create(&t, NULL, add_slowly, &s));
	for (i = 0; i < 5000; i++)
		inject(&self->a.inj, &d);
	EXPECT_EQ(BGDMA_OK, outcome(&self->a.inj, 4999));
	pthread_join(t, NULL);
	EXPECT_EQ(0, value(&b->n, REC, b->rc));
	EXPECT_TRUE(hit(&b->n, REC, b->rc));
	EXPECT_FALSE(counter_error(&b->n, REC, b->rc));
}

/*
 * The owner puts a counter to its next use while pieces land that name the one
 * before: they are not counted any more. Just when the engine looks there is
 * still a moment, so this is not asked of all.
 */
TEST_F(counter, x2_what_lands_late_is_no_part_of_the_next_use)
{
	struct end *a = &self->a, *b = &self->b;
	__u32 slot = BGDMA_HANDLE_SLOT(b->rc), gen, i, late = 0;
	struct bgdma_counter_cell *c = cell(&b->n, REC, slot);
	struct bgdma_desc d = d_put_counted(a, b, BGDMA_NONE, b->rc, 16 * KIB);
	__s64 before, next;
	__u64 last = 0;
	/* Where links lose frames, each takes a good part of a second. */
	__u32 use, uses = links_used() ? 40 : 300;

	for (use = 0; use < uses; use++) {
		gen = (__u16)(c->lease_gen + 1) ?: 1;
		store(&c->lease_gen, gen);
		d.rec_ctr = htole32(BGDMA_HANDLE(slot, gen));
		counter_add(&b->n, REC, slot, 1 << 20);
		before = value(&b->n, REC, slot);
		for (i = 0; i < 8; i++)
			last = put_in(&a->inj, &d);
		post(&a->inj);
		doorbell(&a->n, BGDMA_DOORBELL_POOL);
		ASSERT_TRUE(until(value(&b->n, REC, slot) != before));
		store(&c->lease_gen, (__u16)(gen + 1) ?: 1);
		next = value(&b->n, REC, slot);
		/* All may have ended, and the last error not be cleared. */
		while (outcome(&a->inj, last) != BGDMA_OK)
			must(clear_error(&a->n, BGDMA_KIND_INJ_FIFO,
					 a->inj.id, 0));
		late += value(&b->n, REC, slot) != next;
		counter_add(&b->n, REC, slot, -value(&b->n, REC, slot));
	}
	EXPECT_GT(use / 10, late);
}

/* ---- Transfers that fail ---------------------------------------------- */

/*
 * What a failed transfer has left goes, so the counter may reach zero by it: not
 * before its error shows, or whoever looks in between takes it for the end.
 */
TEST_F(counter, dma8_a_zero_of_failure_shows_its_error)
{
	struct end *a = &self->a;
	struct bgdma_desc d = d_put_counted(a, &self->b, a->ic, self->b.rc, 64);
	unsigned int i;

	d.u.at.src_region = htole32(a->mem.handle + 77);
	for (i = 0; i < 3000; i++) {
		counter_add(&a->n, INJ, a->ic, 64);
		put_in(&a->inj, &d);
		post(&a->inj);
		doorbell(&a->n, BGDMA_DOORBELL_POOL);
		ASSERT_TRUE(until(hit(&a->n, INJ, a->ic)));
		ASSERT_TRUE(counter_error(&a->n, INJ, a->ic)) TH_LOG("%u", i);
		must(clear_error(&a->n, INJ, BGDMA_HANDLE_SLOT(a->ic), 0));
		EXPECT_EQ(0, value(&a->n, INJ, a->ic));
		hit_clear(&a->n, INJ, a->ic);
		ASSERT_TRUE(until(load(&a->inj.kern->state) ==
				  BGDMA_FIFO_ERROR));
		must(clear_error(&a->n, BGDMA_KIND_INJ_FIFO, a->inj.id, 0));
	}
}

TEST_HARNESS_MAIN
