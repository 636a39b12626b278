// SPDX-License-Identifier: GPL-2.0
/*
 * Atomics: integers of a peer's memory that its engine updates.
 */
#include <endian.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "kselftest_harness.h"
#include "pair.h"

FIXTURE_PAIR(atomic)

/* b lets a update its memory; a has numbers of its own, at the beginning. */
static void expose(struct end *b)
{
	must(grant(&b->n, BGDMA_KIND_REGION, b->mem.handle, BGDMA_RANK_ANY,
		   BGDMA_RIGHT_ATOMIC));
}

static __u64 *word64(struct end *e, unsigned int i)
{
	return (__u64 *)e->mem.p + i;
}

static __u32 *word32(struct end *e, unsigned int i)
{
	return (__u32 *)e->mem.p + i;
}

/* One element of b's, with the old value to the beginning of a's memory. */
static __u64 fetch(struct end *a, struct end *b, enum bgdma_atomic_op op,
		   enum bgdma_atomic_type type, __u64 operand)
{
	bool small = type <= BGDMA_ATOMIC_U32;
	struct bgdma_desc d = d_atomic(1, op, type, operand, b->mem.handle, 8,
				       1);

	d.flags = BGDMA_DESC_FETCH;
	d.u.at.src_region = htole32(a->mem.handle);
	must(-run(&a->inj, &d));
	return small ? *word32(a, 0) : *word64(a, 0);
}

struct step {
	enum bgdma_atomic_op op;
	__u64 before, operand, s, u;
};

/* Each operation, where signed and unsigned differ. */
static const struct step steps[] = {
	{ BGDMA_ATOMIC_READ, 5, 0, 5, 5 },
	{ BGDMA_ATOMIC_ADD, 5, -7ULL, -2ULL, -2ULL },
	{ BGDMA_ATOMIC_MUL, -3ULL, 5, -15ULL, -15ULL },
	{ BGDMA_ATOMIC_MIN, 5, -7ULL, -7ULL, 5 },
	{ BGDMA_ATOMIC_MIN, -7ULL, 5, -7ULL, 5 },
	{ BGDMA_ATOMIC_MAX, 5, -7ULL, 5, -7ULL },
	{ BGDMA_ATOMIC_MAX, -7ULL, 5, 5, -7ULL },
	{ BGDMA_ATOMIC_AND, 12, 10, 8, 8 },
	{ BGDMA_ATOMIC_OR, 12, 10, 14, 14 },
	{ BGDMA_ATOMIC_XOR, 12, 10, 6, 6 },
	{ BGDMA_ATOMIC_SWAP, 12, 10, 10, 10 },
};

TEST_F(atomic, every_operation_and_type)
{
	struct end *a = &self->a, *b = &self->b;
	unsigned int i, type;

	expose(b);
	for (i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		const struct step *t = &steps[i];

		for (type = 0; type < BGDMA_ATOMIC_TYPE_COUNT; type++) {
			bool small = type <= BGDMA_ATOMIC_U32;
			__u64 mask = small ? 0xffffffff : ~0ULL;
			__u64 want = type % 2 ? t->u : t->s, old;

			/* A neighbour must not change. */
			*word64(b, 1) = small ? (t->before & mask) | 7ULL << 32 :
						t->before;
			old = fetch(a, b, t->op, type, t->operand & mask);
			EXPECT_EQ(t->before & mask, old)
				TH_LOG("step %u type %u", i, type);
			EXPECT_EQ(want & mask, *word64(b, 1) & mask)
				TH_LOG("step %u type %u", i, type);
			EXPECT_EQ(small ? 7 : *word32(b, 3), *word32(b, 3));
		}
	}
}

TEST_F(atomic, compare_and_swap)
{
	struct end *a = &self->a, *b = &self->b;

	expose(b);
	*word64(b, 1) = 100;
	*word64(a, 0) = 200;
	EXPECT_EQ(100, fetch(a, b, BGDMA_ATOMIC_CAS, BGDMA_ATOMIC_U64, 99));
	EXPECT_EQ(100, *word64(b, 1));
	*word64(a, 0) = 200;
	EXPECT_EQ(100, fetch(a, b, BGDMA_ATOMIC_CAS, BGDMA_ATOMIC_U64, 100));
	EXPECT_EQ(200, *word64(b, 1));
	*word32(a, 0) = 300;
	EXPECT_EQ(200, fetch(a, b, BGDMA_ATOMIC_CAS, BGDMA_ATOMIC_S32, 200));
	EXPECT_EQ(300, *word64(b, 1));
}

TEST_F(atomic, dma4_counters_of_both_sides)
{
	struct end *a = &self->a, *b = &self->b;
	struct bgdma_desc d = d_atomic(1, BGDMA_ATOMIC_ADD, BGDMA_ATOMIC_U64, 1,
				       b->mem.handle, 0, 1);

	expose(b);
	d.inj_ctr = htole32(a->ic);
	d.rec_ctr = htole32(b->rc);
	counter_add(&a->n, INJ, a->ic, 8);
	counter_add(&b->n, REC, b->rc, 9);
	EXPECT_EQ(BGDMA_OK, run(&a->inj, &d));
	EXPECT_EQ(0, value(&a->n, INJ, a->ic));
	EXPECT_EQ(1, value(&b->n, REC, b->rc));
	d.flags = BGDMA_DESC_OPS;
	counter_add(&a->n, INJ, a->ic, 8);
	EXPECT_EQ(BGDMA_OK, run(&a->inj, &d));
	EXPECT_EQ(0, value(&b->n, REC, b->rc));
	EXPECT_EQ(2, *word64(b, 0));
}

/* More than a slice, over pages, with the old values back. */
TEST_F(atomic, many_elements)
{
	enum { COUNT = 1500 };
	struct end *a = &self->a, *b = &self->b;
	struct bgdma_desc d = d_atomic(1, BGDMA_ATOMIC_MAX, BGDMA_ATOMIC_U64, 0,
				       b->mem.handle, 800, COUNT);
	unsigned int i;

	expose(b);
	for (i = 0; i < COUNT; i++) {
		*word64(a, i) = 3ULL * i;
		*word64(b, 100 + i) = 3000;
	}
	d.u.at.src_region = htole32(a->mem.handle);
	d.flags = BGDMA_DESC_FETCH;
	d.inj_ctr = htole32(a->ic);
	counter_add(&a->n, INJ, a->ic, 8 * COUNT);
	EXPECT_EQ(BGDMA_OK, run(&a->inj, &d));
	EXPECT_EQ(0, value(&a->n, INJ, a->ic));
	for (i = 0; i < COUNT; i++) {
		ASSERT_EQ(3000, *word64(a, i));
		ASSERT_EQ(3ULL * i > 3000 ? 3ULL * i : 3000,
			  *word64(b, 100 + i));
	}
}

static __le16 kind(unsigned int op, unsigned int type)
{
	return htole16(BGDMA_ATOMIC(op, type));
}

TEST_F(atomic, dma8_bad_ones)
{
	struct end *a = &self->a, *b = &self->b;
	struct bgdma_desc good = d_atomic(1, BGDMA_ATOMIC_ADD, BGDMA_ATOMIC_U64,
					  1, b->mem.handle, 0, 1), d;

#define EXPECT_BAD(code, change) do {					\
	d = good;							\
	change;								\
	EXPECT_EQ(code, run_bad(&a->inj, &d)) TH_LOG("%s", #change);	\
} while (0)
	EXPECT_BAD(BGDMA_E_RIGHTS, d.route = 0);
	expose(b);
	EXPECT_BAD(BGDMA_OK, d.route = 0);
	EXPECT_BAD(BGDMA_E_OP, d.dispatch = kind(BGDMA_ATOMIC_OP_COUNT, 0));
	EXPECT_BAD(BGDMA_E_OP, d.dispatch = kind(BGDMA_ATOMIC_ADD,
						 BGDMA_ATOMIC_TYPE_COUNT));
	EXPECT_BAD(BGDMA_E_FLAGS, d.dispatch = kind(BGDMA_ATOMIC_READ,
						    BGDMA_ATOMIC_U64));
	EXPECT_BAD(BGDMA_E_LENGTH, d.length = 0);
	EXPECT_BAD(BGDMA_E_LENGTH, d.length = htole32(12));
	EXPECT_BAD(BGDMA_E_LENGTH, d.dispatch = kind(BGDMA_ATOMIC_CAS,
						     BGDMA_ATOMIC_U32));
	EXPECT_BAD(BGDMA_E_FIELD, d.u.at.src_region = htole32(a->mem.handle));
	EXPECT_BAD(BGDMA_E_FIELD, d.length = htole32(16));
	EXPECT_BAD(BGDMA_E_FLAGS, d.flags = BGDMA_DESC_EXCLUSIVE);
	EXPECT_BAD(BGDMA_E_COUNTER, d.rec_ctr = htole32(0xfff0));
	/* Operands of several elements that are nowhere. */
	EXPECT_BAD(BGDMA_E_REGION, d.length = htole32(16); d.cookie = 0;
		   d.u.at.src_region = htole32(0xfff0));
	/* What it would bring has no place to go to: nothing is updated. */
	*word64(b, 0) = 1;
	EXPECT_BAD(BGDMA_E_REGION, d.flags = BGDMA_DESC_FETCH);
	EXPECT_EQ(1, *word64(b, 0));
	EXPECT_BAD(BGDMA_E_BOUNDS, d.u.at.dst_off = htole64(PAIR_BYTES));
	EXPECT_BAD(BGDMA_E_BOUNDS, d.u.at.dst_off = htole64(PAIR_BYTES - 4));
	EXPECT_BAD(BGDMA_E_EPOCH_CLOSED, d.epoch = htole32(1));
}

/* An element that straddles a cache line could kill the kernel. */
TEST_F(atomic, x2_not_aligned)
{
	struct end *a = &self->a, *b = &self->b;
	struct bgdma_desc d;
	unsigned int off;
	__u32 handle;
	char *p = b->mem.p;

	expose(b);
	for (off = 1; off < 128; off++) {
		int want = off % 8 ? BGDMA_E_ALIGN : BGDMA_OK;

		d = d_atomic(1, BGDMA_ATOMIC_ADD, BGDMA_ATOMIC_S64, 1,
			     b->mem.handle, off, 1);
		EXPECT_EQ(want, run_bad(&a->inj, &d)) TH_LOG("%u", off);
		want = off % 4 ? BGDMA_E_ALIGN : BGDMA_OK;
		d = d_atomic(1, BGDMA_ATOMIC_ADD, BGDMA_ATOMIC_S32, 1,
			     b->mem.handle, off, 1);
		EXPECT_EQ(want, run_bad(&a->inj, &d)) TH_LOG("%u", off);
	}
	/* It is the address that counts, not the offset. */
	must(region_pin(&b->n, p + 4, 64, LOCAL_RW, &handle));
	must(grant(&b->n, BGDMA_KIND_REGION, handle, 0, BGDMA_RIGHT_ATOMIC));
	d = d_atomic(1, BGDMA_ATOMIC_ADD, BGDMA_ATOMIC_S64, 1, handle, 0, 1);
	EXPECT_EQ(BGDMA_E_ALIGN, run_bad(&a->inj, &d));
	d = d_atomic(1, BGDMA_ATOMIC_ADD, BGDMA_ATOMIC_S64, 1, handle, 4, 1);
	EXPECT_EQ(BGDMA_OK, run_bad(&a->inj, &d));
}

/* Not by who may only write, and not for somebody else. */
TEST_F(atomic, x2_rights)
{
	struct end *a = &self->a, *b = &self->b;
	struct bgdma_desc d = d_atomic(1, BGDMA_ATOMIC_ADD, BGDMA_ATOMIC_S64, 1,
				       b->mem.handle, 0, 1);
	struct bgdma_desc get;
	struct bgdma_event event;

	must(grant(&b->n, BGDMA_KIND_REGION, b->mem.handle, 2,
		   BGDMA_RIGHT_ATOMIC));
	EXPECT_EQ(BGDMA_E_RIGHTS, run_bad(&a->inj, &d));
	must(grant_range(&b->n, b->mem.handle, 0, BGDMA_RIGHT_ATOMIC, 0, 8));
	EXPECT_EQ(BGDMA_OK, run_bad(&a->inj, &d));
	d.u.at.dst_off = htole64(8);
	EXPECT_EQ(BGDMA_E_BOUNDS, run_bad(&a->inj, &d));
	/* Nobody has another's engine update what that may. */
	d = d_atomic(0, BGDMA_ATOMIC_ADD, BGDMA_ATOMIC_S64, 1, a->mem.handle, 0,
		     1);
	must(grant(&a->n, BGDMA_KIND_REGION, a->mem.handle, 1,
		   BGDMA_RIGHT_ATOMIC));
	memcpy(a->mem.p + 4096, &d, sizeof(d));
	get = d_rget(1, b->rgq, a->mem.handle, 4096, 1);
	EXPECT_EQ(BGDMA_OK, run_bad(&a->inj, &get));
	ASSERT_TRUE(event_wait(&a->n, BGDMA_EVENT_REFUSED, &event));
	EXPECT_EQ(BGDMA_E_PROVENANCE, event.code);
}

struct adder {
	struct end *end;
	__u32 region;
	unsigned int count;
	volatile bool stop;
};

static void *add_by_core(void *arg)
{
	struct adder *t = arg;

	while (!t->stop) {
		__atomic_add_fetch(word64(t->end, 0), 1, __ATOMIC_RELAXED);
		/* Multiplied by one it stays what it is, if nothing is lost. */
		t->count++;
	}
	return NULL;
}

/* The target's own core updates the same element all the time. */
TEST_F(atomic, with_the_core)
{
	enum { ROUNDS = 2000 };
	struct end *a = &self->a, *b = &self->b;
	struct adder t = { .end = b };
	struct bgdma_desc add = d_atomic(1, BGDMA_ATOMIC_ADD, BGDMA_ATOMIC_U64,
					 1, b->mem.handle, 0, 1);
	struct bgdma_desc mul = d_atomic(1, BGDMA_ATOMIC_MUL, BGDMA_ATOMIC_U64,
					 1, b->mem.handle, 0, 1);
	pthread_t thread;
	unsigned int i;
	__u64 seq = 0;

	expose(b);
	must(-pthread_create(&thread, NULL, add_by_core, &t));
	for (i = 0; i < ROUNDS; i++) {
		put_in(&a->inj, &add);
		seq = put_in(&a->inj, &mul);
		post(&a->inj);
		ASSERT_EQ(BGDMA_OK, outcome(&a->inj, seq));
	}
	t.stop = true;
	must(-pthread_join(thread, NULL));
	EXPECT_EQ(ROUNDS + t.count, *word64(b, 0));
}

TEST_F(atomic, told_by_the_query)
{
	struct bgdma_query q = { .size = sizeof(q) };

	must(bg_ioctl(self->a.n.fd, BGDMA_IOC_QUERY, &q));
	EXPECT_TRUE(q.ops & 1U << BGDMA_OP_ATOMIC);
	EXPECT_TRUE(q.desc_flags & BGDMA_DESC_FETCH);
	EXPECT_EQ((1ULL << BGDMA_ATOMIC_OP_COUNT * BGDMA_ATOMIC_TYPE_COUNT) - 1,
		  q.atomic_ops);
}

TEST_HARNESS_MAIN
