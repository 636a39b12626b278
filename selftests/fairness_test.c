// SPDX-License-Identifier: GPL-2.0
/*
 * How busy FIFOs share the engine (DMA-2): users first, then the contexts of a
 * user, then the FIFOs of a context, all by bytes.
 *
 * Everything is in the rings before the first doorbell, which leaves all of it
 * to the engine's threads. Then nothing is looked at but counters, until so many
 * bytes have moved: no clock decides.
 *
 * One FIFO is run by one thread at a time. So a side with one FIFO can have half of
 * an engine of one or two threads, and one thread of an engine of more. How many
 * there are is decided by the processors online when the first context comes.
 */
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"
#include "machine.h"
#include "utils.h"

#define ENTRIES	1024
#define LONG	(256 * KIB)
#define SHORT	8U
#define LOTS	(1LL << 50)	/* no counter reaches zero */
#define ENOUGH	(256 * MIB)	/* thousands of turns */
#define FIFOS	24
#define ENOUGH_EPOCHS	(48 * MIB)	/* of which a ring has not more */
/* Bytes that these count as: a descriptor, one at a gate, an element, a node of a line. */
#define AT_LEAST	512U
#define PER_GATE	4096U
#define PER_ELEMENT	128U
#define PER_NODE	256U
#define LINE		1024U	/* nodes */
#define GROUP		1000

/* What a side has its FIFOs do. */
enum work {
	PUTS,		/* from its memory to its memory */
	ATOMICS,	/* of 32 bits there */
	EPOCHS,		/* one empty epoch there after the other */
	LINES,		/* messages of 4 bytes down a line with nobody on it */
	PUT_LINES,	/* puts of so many down such a line */
	LONG_LINES	/* messages of so many, from memory */
};

/* One context, and its FIFOs. */
struct share {
	struct node n;
	struct region mem;
	struct inj *fifo;
	__u32 *counter;	/* of each */
	unsigned int fifos;
};

/* Those who compete. */
struct side {
	struct share *shares;
	unsigned int contexts;
	enum work work;
	__u32 length;
};

/* A group of its own, without which nothing goes down a line. */
static void group_bind(struct share *s)
{
	const struct bgdma_group_member member = {
		.rank = s->n.at.rank, .ctx = s->n.at.ctx,
	};
	const struct bgdma_group_slot slot = { BGDMA_KIND_REC_FIFO, 0 };
	struct bgdma_group_bind bind = {
		.size = sizeof(bind), .group = GROUP,
		.slots = (uintptr_t)&slot, .count = 1,
		.members = (uintptr_t)&member, .member_count = 1,
	};
	struct rec rec;

	must(rec_try(&rec, &s->n, 0, BGDMA_REC_BYTES_MIN));
	must(bg_ioctl(s->n.fd, BGDMA_IOC_GROUP_BIND, &bind));
}

static struct bgdma_desc desc_of(const struct share *s, enum work what,
				 __u32 length)
{
	__u32 rank = s->n.at.rank, word = 0;
	struct bgdma_desc d;

	if (what == PUTS || what == EPOCHS)
		return d_put(rank, s->mem.handle, 0, s->mem.handle, LONG,
			     length);
	if (what == ATOMICS) {
		d = d_atomic(rank, BGDMA_ATOMIC_MUL, BGDMA_ATOMIC_U32, 0,
			     s->mem.handle, LONG, length / 4);
		d.u.at.src_region = htole32(s->mem.handle);
		return d;
	}
	/* The last before us, on a torus. */
	rank = (rank + LINE - 1) % LINE;
	if (what == LINES)
		d = d_inline(rank, 0, &word, sizeof(word));
	else if (what == PUT_LINES)
		d = d_put(rank, s->mem.handle, 0, 0, 0, length);
	else
		d = d_memfifo(rank, 0, s->mem.handle, 0, length);
	d.flags |= BGDMA_DESC_GROUP;
	d.route = BGDMA_ROUTE_DEPOSIT | BGDMA_ROUTE_XP;
	return d;
}

/* The @k-th of its FIFO @i: begin, close, end. */
static struct bgdma_desc epoch_of(const struct share *s, unsigned int i,
				  unsigned int k)
{
	static const enum bgdma_op ops[] = {
		BGDMA_OP_EPOCH_BEGIN, BGDMA_OP_EPOCH_CLOSE,
		BGDMA_OP_EPOCH_END,
	};

	return d_gate(s->n.at.rank, ops[k % 3], s->mem.handle,
		      i * ENTRIES + k / 3 + 1, BGDMA_NONE);
}

static void fifo_fill(struct share *s, unsigned int i, enum work work,
		      __u32 length)
{
	struct bgdma_desc d = desc_of(s, work, length);
	struct inj *f = &s->fifo[i];
	unsigned int k;

	must(inj_try(f, &s->n, BGDMA_ID_ANY, ENTRIES));
	s->counter[i] = counter_new(&s->n, INJ, 0);
	counter_add(&s->n, INJ, s->counter[i], LOTS);
	d.dst_ctx = htole16(work >= LINES ? GROUP : s->n.at.ctx);
	d.inj_ctr = htole32(s->counter[i]);
	for (k = 0; k < ENTRIES; k++) {
		if (work == EPOCHS) {
			d = epoch_of(s, i, k);
			d.dst_ctx = htole16(s->n.at.ctx);
		}
		put_in(f, &d);
	}
}

static void share_new(struct share *s, __u32 rank, unsigned int fifos,
		      enum work work, __u32 length)
{
	const struct bgdma_attach room = {
		.ctx = BGDMA_CTX_ANY, .inj_fifos = fifos,
	};
	unsigned int i;

	must(node_try(&s->n, PARTITION, rank, &room));
	region_driver(&s->mem, &s->n, 2 * LONG);
	s->fifos = fifos;
	s->fifo = calloc(fifos, sizeof(*s->fifo));
	s->counter = calloc(fifos, sizeof(*s->counter));
	must(s->fifo && s->counter ? 0 : -ENOMEM);
	if (work >= LINES)
		group_bind(s);
	if (work == EPOCHS)
		must(gate(&s->n, s->mem.handle, 0, 0));
	for (i = 0; i < fifos; i++)
		fifo_fill(s, i, work, length);
}

/* All of it belongs to @uid; the files are this process's all the same. */
static void side_of(struct side *side, uid_t uid, __u32 rank,
		    unsigned int contexts, unsigned int fifos, enum work work,
		    __u32 length)
{
	unsigned int i;

	side->contexts = contexts;
	side->work = work;
	side->length = length;
	side->shares = calloc(contexts, sizeof(*side->shares));
	must(side->shares ? 0 : -ENOMEM);
	must(seteuid(uid) ? -errno : 0);
	for (i = 0; i < contexts; i++)
		share_new(&side->shares[i], rank, fifos, work, length);
	must(seteuid(0) ? -errno : 0);
}

static void side_new(struct side *side, uid_t uid, __u32 rank,
		     unsigned int contexts, unsigned int fifos, __u32 length)
{
	side_of(side, uid, rank, contexts, fifos, PUTS, length);
}

static void side_close(struct side *side)
{
	unsigned int i;

	for (i = 0; i < side->contexts; i++) {
		node_close(&side->shares[i].n);
		free(side->shares[i].fifo);
		free(side->shares[i].counter);
	}
	free(side->shares);
}

/* All of its doorbells, by no system call. */
static void share_ring(struct share *s)
{
	unsigned int i;

	for (i = 0; i < s->fifos; i++) {
		store(&s->fifo[i].user->tail, s->fifo[i].tail);
		__atomic_fetch_or(&s->n.uctl->doorbell[s->fifo[i].id / 64],
				  1ULL << s->fifo[i].id % 64, __ATOMIC_SEQ_CST);
	}
}

static void share_start(struct share *s)
{
	share_ring(s);
	must(doorbell(&s->n, BGDMA_DOORBELL_POOL));
}

static void side_start(struct side *side)
{
	unsigned int i;

	for (i = 0; i < side->contexts; i++)
		share_start(&side->shares[i]);
}

/* Bytes that a FIFO has had, or what its work counts as. */
static __s64 had(struct side *side, struct share *s, unsigned int i)
{
	__s64 bytes = LOTS - value(&s->n, INJ, s->counter[i]);

	if (side->work == EPOCHS)
		return (__s64)load(&s->fifo[i].kern->done) * PER_GATE;
	if (side->work == ATOMICS)
		return bytes / 4 * PER_ELEMENT;
	if (side->work >= LINES)
		return bytes / side->length * (LINE - 1) * PER_NODE;
	return side->length < AT_LEAST ? bytes / side->length * AT_LEAST :
					 bytes;
}

static __s64 side_had(struct side *side)
{
	__s64 sum = 0;
	unsigned int i, k;

	for (i = 0; i < side->contexts; i++)
		for (k = 0; k < side->shares[i].fifos; k++)
			sum += had(side, &side->shares[i], k);
	return sum;
}

static unsigned int engine_threads(void)
{
	FILE *f = popen("bgdma stat", "r");
	unsigned int n = 0;

	must(f ? 0 : -errno);
	must(fscanf(f, "%*s %*u %*s %*u %*s %*u threads %u", &n) == 1 ? 0 :
								       -EIO);
	pclose(f);
	return n;
}

/*
 * Let @a and @b run until they moved enough together: how many thousandths of it
 * were @b's.
 */
static unsigned int share_of(struct side *a, struct side *b)
{
	__s64 enough = a->work == EPOCHS ? ENOUGH_EPOCHS : ENOUGH;
	__s64 begin_a, begin_b, a_had, b_had;

	side_start(a);
	side_start(b);
	begin_a = side_had(a);
	begin_b = side_had(b);
	do {
		usleep(1000);
		/* The engine goes on between the two: against @b. */
		b_had = side_had(b) - begin_b;
		a_had = side_had(a) - begin_a;
	} while (a_had + b_had < enough);
	return (unsigned int)(b_had * 1000 / (a_had + b_had));
}

/* ---- Processors ------------------------------------------------------- */

/* One for each: those of before end some seconds after the last context. */
static bool thread_per_processor(void)
{
	return engine_threads() == sysconf(_SC_NPROCESSORS_ONLN) ||
	       until(!engine_threads());
}

static bool only_one_thread(void)
{
	return machine_one_processor() && thread_per_processor();
}

/* ---- Two sides -------------------------------------------------------- */

FIXTURE(fairness) {
	struct side a, b;
	bool skipped;
};

FIXTURE_VARIANT(fairness) {
	bool one;		/* thread */
	uid_t uid;		/* of b; a's is 1001 */
	unsigned int contexts;	/* of a */
	unsigned int fifos;	/* of each of a's */
	__u32 length;		/* of a's puts */
	unsigned int b_fifos;	/* 0: one for each thread */
};

/* Where it has a FIFO for each thread: threads share a round. */
FIXTURE_VARIANT_ADD(fairness, threads_users) {
	false, 1002, 16, 16, LONG, 0 };
FIXTURE_VARIANT_ADD(fairness, threads_users_short) {
	false, 1002, 32, 64, SHORT, 0 };
FIXTURE_VARIANT_ADD(fairness, threads_contexts) {
	false, 1001, 1, 64, LONG, 0 };
/* On one thread, whatever the one has, the other has half with one FIFO. */
FIXTURE_VARIANT_ADD(fairness, users) { true, 1002, 16, 16, LONG, 1 };
FIXTURE_VARIANT_ADD(fairness, users_short) { true, 1002, 32, 64, SHORT, 1 };
FIXTURE_VARIANT_ADD(fairness, contexts) { true, 1001, 1, 64, LONG, 1 };

FIXTURE_SETUP(fairness)
{
	self->skipped = true;
	if (geteuid())
		SKIP(return, "needs root");
	if (variant->one && !only_one_thread())
		SKIP(return, "processors stay online");
	ASSERT_TRUE(thread_per_processor());
	self->skipped = false;
	partition_new("4x1x1", "");
}

FIXTURE_TEARDOWN(fairness)
{
	if (!self->skipped) {
		side_close(&self->a);
		side_close(&self->b);
	}
	machine_restore();
}

TEST_F(fairness, dma2_shares)
{
	unsigned int fifos = variant->b_fifos, got;

	/* The threads come with the first context. */
	side_new(&self->a, 1001, 0, variant->contexts, variant->fifos,
		 variant->length);
	ASSERT_EQ(variant->one ? 1 : sysconf(_SC_NPROCESSORS_ONLN),
		  engine_threads());
	if (!fifos)
		fifos = engine_threads();
	side_new(&self->b, variant->uid, 1, 1, fifos, LONG);
	got = share_of(&self->a, &self->b);
	TH_LOG("%u of 1000", got);
	EXPECT_LE(1000 / 2 * 8 / 10, got);
}

/* What is no copy counts as what it costs. */
FIXTURE(work) {
	struct side a, b;
	bool skipped;
};

FIXTURE_VARIANT(work) {
	enum work work;		/* of a */
	__u32 length;
};

FIXTURE_VARIANT_ADD(work, atomics) { ATOMICS, LONG };
FIXTURE_VARIANT_ADD(work, epochs) { EPOCHS, 0 };
FIXTURE_VARIANT_ADD(work, lines) { LINES, 4 };
FIXTURE_VARIANT_ADD(work, lines_of_puts) { PUT_LINES, 8 };
FIXTURE_VARIANT_ADD(work, lines_of_long_puts) { PUT_LINES, 20000 };
FIXTURE_VARIANT_ADD(work, lines_from_memory) { LONG_LINES, 64 };

FIXTURE_SETUP(work)
{
	self->skipped = geteuid() || !only_one_thread();
	if (self->skipped)
		SKIP(return, "needs root, and processors that can go offline");
	partition_new("1024x1x1", "");
}

FIXTURE_TEARDOWN(work)
{
	if (!self->skipped) {
		side_close(&self->a);
		side_close(&self->b);
	}
	machine_restore();
}

TEST_F(work, dma2_x2_counts_as_what_it_costs)
{
	unsigned int got;

	side_of(&self->a, 1001, 2, 1, 16, variant->work, variant->length);
	side_new(&self->b, 1002, 0, 1, 1, LONG);
	got = share_of(&self->a, &self->b);
	TH_LOG("%u of 1000", got);
	EXPECT_LE(1000 / 2 * 8 / 10, got);
}

/* ---- The FIFOs of one context ----------------------------------------- */

FIXTURE(fifos) {
	struct side a;
	bool skipped;
};

FIXTURE_SETUP(fifos)
{
	self->skipped = geteuid() || !only_one_thread();
	if (self->skipped)
		SKIP(return, "needs root, and processors that can go offline");
	partition_new("4x1x1", "");
	side_new(&self->a, 0, 0, 1, FIFOS, LONG);
}

FIXTURE_TEARDOWN(fifos)
{
	if (!self->skipped)
		side_close(&self->a);
	machine_restore();
}

TEST_F(fifos, dma2_shares)
{
	struct side *a = &self->a;
	__s64 part, sum, least = LOTS;
	unsigned int i;

	side_start(a);
	do {
		usleep(1000);
		sum = side_had(a);
	} while (sum < (__s64)ENOUGH);
	for (i = 0; i < FIFOS; i++) {
		part = had(a, a->shares, i);
		if (part < least)
			least = part;
	}
	TH_LOG("%lld of %lld", least, sum / FIFOS);
	EXPECT_LE(sum / FIFOS * 8 / 10, least);
}

/* The only thread has only one stream, which has more to do for a long time. */
TEST_F(fifos, dma2_a_doorbell_is_seen_beside_one_that_is_alone)
{
	struct share *polled = self->a.shares;
	struct side alone;

	ASSERT_EQ(0, partition("set", PARTITION, "poll-ns 1000000000"));
	side_new(&alone, 0, 1, 1, 1, LONG);
	must(doorbell(&polled->n, BGDMA_DOORBELL_POOL));
	ASSERT_TRUE(until(!load(&polled->n.kctl->wake)));
	side_start(&alone);
	share_ring(polled);
	EXPECT_TRUE(until(side_had(&self->a)));
	EXPECT_GT((__s64)(ENTRIES * LONG), side_had(&alone));
	side_close(&alone);
}

TEST_HARNESS_MAIN
