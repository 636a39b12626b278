// SPDX-License-Identifier: GPL-2.0
/*
 * Memory that its owner takes back, or the right to see it, while some of what was sent
 * of it over links has not arrived: nobody gets what is written there later.
 */
#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "kselftest_harness.h"
#include "links.h"
#include "utils.h"

#define BEFORE	1
#define AFTER	2

FIXTURE(taken) {
	struct end a, b;
};

FIXTURE_VARIANT(taken) {
	bool ring;
};

/* Frames go by a bridge, or by a veth, where they may do without checksums. */
FIXTURE_VARIANT_ADD(taken, by_a_bridge) { .ring = false };
FIXTURE_VARIANT_ADD(taken, by_a_veth) { .ring = true };

FIXTURE_SETUP(taken)
{
	if (variant->ring)
		links_ring();
	must(setenv("BGDMA_TEST_LINKS", "1", 1));
	pair_new(&self->a, &self->b);
	memset(self->a.mem.p, BEFORE, PAIR_BYTES);
}

FIXTURE_TEARDOWN(taken)
{
	node_close(&self->b.n);
	node_close(&self->a.n);
}

/* The same memory once more, for @rank to read: the handle; @id: the grant. */
static __u32 shown(struct end *e, __u32 rank, __u32 *id)
{
	__u32 handle;

	must(region_pin(&e->n, e->mem.p, PAIR_BYTES, LOCAL_RW, &handle));
	*id = (__u32)must(grant(&e->n, BGDMA_KIND_REGION, handle, rank,
				BGDMA_RIGHT_READ));
	return handle;
}

/* Read all that comes for a while after the last: bytes; @odd: not as before. */
static __u64 drain(struct rec *r, __u64 *odd)
{
	__u64 got = 0, last = now_ns();
	__u32 i;

	*odd = 0;
	while (now_ns() - last < 500000000ULL * slowness()) {
		const struct bgdma_packet *p = packet(r);

		if (!p)
			continue;
		for (i = 0; i < p->bytes; i++)
			*odd += payload(p)[i] != BEFORE;
		got += p->bytes;
		packet_drop(r);
		last = now_ns();
	}
	return got;
}

TEST_F(taken, x2_memory_that_is_free_again)
{
	struct end *a = &self->a, *b = &self->b;
	struct bgdma_desc d;
	__u64 odd = 0;
	__u32 handle;

	must(region_pin(&a->n, a->mem.p, PAIR_BYTES, LOCAL_RW, &handle));
	d = d_memfifo(1, b->rec.id, handle, 0, PAIR_BYTES);
	inject(&a->inj, &d);
	ASSERT_TRUE(until(load(&a->inj.kern->state) == BGDMA_FIFO_BLOCKED));
	EXPECT_EQ(0, region_free(&a->n, handle));
	memset(a->mem.p, AFTER, PAIR_BYTES);
	EXPECT_LT(0, drain(&b->rec, &odd));
	EXPECT_EQ(0, odd);
}

TEST_F(taken, x2_right_that_was_revoked)
{
	struct end *a = &self->a, *b = &self->b;
	struct bgdma_desc d;
	__u64 odd = 0;
	__u32 handle, id;

	handle = shown(a, 1, &id);
	d = d_memfifo(1, b->rec.id, handle, 0, PAIR_BYTES);
	memcpy(b->mem.p, &d, sizeof(d));
	d = d_rget(0, a->rgq, b->mem.handle, 0, 1);
	inject(&b->inj, &d);
	ASSERT_TRUE(until(load(&b->rec.kern->starved)));
	EXPECT_EQ(0, grant_revoke(&a->n, id));
	memset(a->mem.p, AFTER, PAIR_BYTES);
	EXPECT_LT(0, drain(&b->rec, &odd));
	EXPECT_EQ(0, odd);
}

TEST_F(taken, dma8_fifo_that_is_destroyed_ends_what_is_on_its_way)
{
	struct end *a = &self->a, *b = &self->b;
	struct bgdma_desc d = d_memfifo(1, b->rec.id, a->mem.handle, 0,
					PAIR_BYTES);
	__u64 odd = 0, sent = 0;

	d.inj_ctr = htole32(a->ic);
	counter_add(&a->n, INJ, a->ic, 3 * PAIR_BYTES);
	while (sent++ < 3)
		put_in(&a->inj, &d);
	post(&a->inj);
	ASSERT_TRUE(until(load(&a->inj.kern->state) == BGDMA_FIFO_BLOCKED));
	EXPECT_LT(0, value(&a->n, INJ, a->ic));
	EXPECT_EQ(0, fifo_destroy(&a->n, BGDMA_KIND_INJ_FIFO, a->inj.id));
	/* Who knows that it has ended may write there. */
	memset(a->mem.p, AFTER, PAIR_BYTES);
	EXPECT_TRUE(counter_error(&a->n, INJ, a->ic));
	EXPECT_EQ(BGDMA_E_CANCELLED, counter_record(&a->n, INJ, a->ic)->code);
	drain(&b->rec, &odd);
	EXPECT_EQ(0, odd);
}

/* Nobody hears of them while the node is cut off. */
TEST(dma8_nor_does_a_counter_wait_for_what_was_sent)
{
	struct bgdma_desc d;
	struct end ends[2], *a = ends, *b = a + 1;
	unsigned int i;

	must(setenv("BGDMA_TEST_LINKS", "1", 1));
	pair_new(a, b);
	d = d_put_counted(a, b, a->ic, b->rc, PAGE);

	/* They know each other. */
	counter_add(&a->n, INJ, a->ic, 6 * PAGE);
	inject(&a->inj, &d);
	ASSERT_TRUE(until(value(&a->n, INJ, a->ic) == 5 * PAGE));
	links_cut(1, true);
	for (i = 0; i < 5; i++)
		put_in(&a->inj, &d);
	post(&a->inj);
	ASSERT_TRUE(until(load(&a->inj.kern->head) == 6));
	EXPECT_EQ(5 * PAGE, value(&a->n, INJ, a->ic));
	EXPECT_EQ(0, fifo_destroy(&a->n, BGDMA_KIND_INJ_FIFO, a->inj.id));
	EXPECT_EQ(0, value(&a->n, INJ, a->ic));
	EXPECT_TRUE(counter_error(&a->n, INJ, a->ic));
	EXPECT_EQ(BGDMA_E_CANCELLED, counter_record(&a->n, INJ, a->ic)->code);
	links_cut(1, false);
	node_close(&b->n);
	node_close(&a->n);
}

TEST_HARNESS_MAIN
