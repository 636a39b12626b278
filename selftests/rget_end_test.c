// SPDX-License-Identifier: GPL-2.0
/*
 * Chains that feed themselves for ever, while what they go through goes away: who runs
 * them holds up nobody, and uses nothing that is gone.
 */
#include "kselftest_harness.h"
#include "rget.h"

#define ROUNDS		100
#define PLENTY		1000000000000LL
#define PUT_BYTES	64

static __u32 queue_new(struct end *e)
{
	__u32 q;

	must(rgq_try(&e->n, 16, 2, 60000, &q));
	must(grant(&e->n, BGDMA_KIND_RGET_QUEUE, q, BGDMA_RANK_ANY,
		   BGDMA_RIGHT_INJECT));
	return q;
}

/* A node's memory is open to who fetches there, and what is put to it is counted. */
static void end_open(struct end *e)
{
	must(grant(&e->n, BGDMA_KIND_REGION, e->mem.handle, BGDMA_RANK_ANY,
		   BGDMA_RIGHT_FETCH));
	counter_add(&e->n, REC, e->rc, PLENTY);
}

/*
 * What lies in a node's memory the other one executes: a put to it, and a remote get of
 * what lies in the memory of the other, for it to execute.
 */
static void portion(struct end *e, __u32 q, const struct end *other)
{
	__u32 rank = e->n.at.rank;
	struct bgdma_desc d[2] = {
		d_put(rank, other->mem.handle, KIB, e->mem.handle, 2 * KIB,
		      PUT_BYTES),
		d_rget(rank, q, other->mem.handle, 0, 2),
	};

	d[0].rec_ctr = htole32(e->rc);
	memcpy(e->mem.p, d, sizeof(d));
}

static void chain_start(struct end *a, struct end *b, __u32 qa, __u32 qb)
{
	struct bgdma_desc d = d_rget(b->n.at.rank, qb, a->mem.handle, 0, 2);

	portion(a, qa, b);
	portion(b, qb, a);
	inject(&a->inj, &d);
}

static bool goes_on(struct end *e)
{
	__s64 before = value(&e->n, REC, e->rc);

	return until(before - value(&e->n, REC, e->rc) > 8 * PUT_BYTES);
}

static void start_again(struct end *e)
{
	struct bgdma_desc d = d_nop();

	/* The remote get that began it may have been too late. */
	clear_error(&e->n, BGDMA_KIND_INJ_FIFO, e->inj.id, BGDMA_CLEAR_FLUSH);
	must(run(&e->inj, &d));
}

TEST_F_TIMEOUT(rget, x2_queues_that_go_under_a_chain, 120)
{
	struct end *a = &self->a, *b = &self->b;
	unsigned int i;

	end_open(a);
	end_open(b);
	for (i = 0; i < ROUNDS / slowness(); i++) {
		__u32 qa = queue_new(a), qb = queue_new(b);

		chain_start(a, b, qa, qb);
		ASSERT_TRUE(goes_on(i & 1 ? a : b));
		ASSERT_EQ(0, fifo_destroy(&b->n, BGDMA_KIND_RGET_QUEUE, qb));
		ASSERT_EQ(0, fifo_destroy(&a->n, BGDMA_KIND_RGET_QUEUE, qa));
	}
}

TEST_F_TIMEOUT(rget, x3_ends_that_go_under_a_chain, 120)
{
	struct end *a = &self->a, *b = &self->b;
	unsigned int i;

	end_open(a);
	end_open(b);
	for (i = 0; i < ROUNDS / slowness(); i++) {
		struct end *gone = i & 1 ? a : b;
		__u32 qa = queue_new(a), qb = queue_new(b);

		chain_start(a, b, qa, qb);
		ASSERT_TRUE(goes_on(a));
		node_close(&gone->n);
		end_new(gone, gone == b);
		end_open(gone);
		if (gone == a) {
			must(fifo_destroy(&b->n, BGDMA_KIND_RGET_QUEUE, qb));
		} else {
			must(fifo_destroy(&a->n, BGDMA_KIND_RGET_QUEUE, qa));
			start_again(a);
		}
	}
}

TEST_F(rget, x2_a_chain_holds_up_nobody)
{
	struct end *a = &self->a, *b = &self->b, *c = &self->c;
	__u32 qa = queue_new(a), qb = queue_new(b), i;

	end_open(a);
	end_open(b);
	chain_start(a, b, qa, qb);
	for (i = 0; i < ROUNDS / slowness(); i++) {
		struct bgdma_desc d = local_number(b, i);

		ASSERT_EQ(BGDMA_OK, send_to(c, 1, qb, &d, 1));
		ASSERT_EQ(i, number_wait(&b->rec));
		d = d_number(0, &a->rec, i);
		ASSERT_EQ(BGDMA_OK, run(&c->inj, &d));
		ASSERT_EQ(i, number_wait(&a->rec));
	}
	EXPECT_TRUE(goes_on(b));
}

TEST_HARNESS_MAIN
