// SPDX-License-Identifier: GPL-2.0
/*
 * Over several links, each of which loses, doubles, reorders and spoils (X-1, DMA-7):
 * a ring of four kernels, of which those in between pass on what is for others. And over
 * links that do none of that, without checksums.
 */
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"
#include "links.h"
#include "utils.h"

#define TO	2	/* from node 0: two ways of two links each */
#define ROUNDS	4
#define NUMBERS	100
#define BATCH	20	/* of them at a time */
#define PUTS	30	/* of an epoch */

FIXTURE(hops) {
	struct end a, b;
};

FIXTURE_SETUP(hops)
{
	must(setenv("BGDMA_TEST_NETEM",
		    "delay 200us loss 3% duplicate 1% reorder 10% corrupt 1%",
		    0));
	links_ring();
	partition_new("4x1x1", "");
	end_new(&self->a, 0);
	end_new(&self->b, TO);
}

FIXTURE_TEARDOWN(hops)
{
	node_close(&self->b.n);
	node_close(&self->a.n);
}

/* The sum of what all links of a node have counted behind that word. */
static unsigned long links_counted(uint32_t rank, const char *word)
{
	unsigned long sum = 0;
	char line[256];
	FILE *out;

	links_enter(rank);
	out = popen("bgdma link show -s", "r");
	must(out ? 0 : -errno);
	while (fgets(line, sizeof(line), out)) {
		const char *at = strstr(line, word);

		if (at)
			sum += strtoul(at + strlen(word), NULL, 10);
	}
	pclose(out);
	links_leave();
	return sum;
}

/* All bytes of each land, and count once at both ends. */
static void puts_cross(struct __test_metadata *_metadata, struct end *a,
		       struct end *b, uint8_t route)
{
	struct bgdma_desc d = d_put(TO, a->mem.handle, 0, b->mem.handle, 0,
				    PAIR_BYTES);
	unsigned int i;

	d.route = route;
	d.inj_ctr = htole32(a->ic);
	d.rec_ctr = htole32(b->rc);
	for (i = 0; i < ROUNDS; i++) {
		fill(a->mem.p, PAIR_BYTES, route + i);
		counter_add(&a->n, INJ, a->ic, PAIR_BYTES);
		counter_add(&b->n, REC, b->rc, PAIR_BYTES);
		ASSERT_EQ(BGDMA_OK, run(&a->inj, &d));
		ASSERT_TRUE(until(!value(&b->n, REC, b->rc)));
		ASSERT_TRUE(filled(b->mem.p, PAIR_BYTES, route + i));
	}
	EXPECT_EQ(0, value(&a->n, INJ, a->ic));
}

/* Each comes once; in order unless it may go as it likes. */
static void numbers_cross(struct __test_metadata *_metadata, struct end *a,
			  struct end *b, uint8_t route)
{
	bool seen[NUMBERS] = { false };
	uint32_t i, number;
	__u64 seq;

	for (i = 0; i < NUMBERS; i++) {
		struct bgdma_desc d = d_number(TO, &b->rec, i);

		d.route = route;
		seq = inject(&a->inj, &d);
		if (i % BATCH == BATCH - 1)
			ASSERT_EQ(BGDMA_OK, outcome(&a->inj, seq));
	}
	for (i = 0; i < NUMBERS; i++) {
		number = number_wait(&b->rec);
		if (!route)
			ASSERT_EQ(i, number);
		ASSERT_GT(NUMBERS, number);
		ASSERT_FALSE(seen[number]);
		seen[number] = true;
	}
	EXPECT_EQ(NULL, packet(&b->rec));
}

static void gate_do(struct __test_metadata *_metadata, struct end *a,
		    const struct region *gated, enum bgdma_op op, uint64_t puts)
{
	struct bgdma_desc d = d_gate(TO, op, gated->handle, 1, a->ic);

	d.cookie = htole64(puts);
	counter_add(&a->n, INJ, a->ic, 1);
	ASSERT_EQ(BGDMA_OK, run(&a->inj, &d));
	ASSERT_TRUE(until(!value(&a->n, INJ, a->ic)));
}

/* Each put counts once, however often it is sent: one more or less, and it never ends. */
static void epoch_crosses(struct __test_metadata *_metadata, struct end *a,
			  struct end *b)
{
	struct bgdma_desc d;
	struct region gated;
	struct bgdma_epoch e;
	uint32_t i;

	region_new(&gated, &b->n, PAIR_BYTES);
	must(gate(&b->n, gated.handle, 0, 0));
	must(grant(&b->n, BGDMA_KIND_REGION, gated.handle, BGDMA_RANK_ANY,
		   BGDMA_RIGHT_EPOCH));
	gate_do(_metadata, a, &gated, BGDMA_OP_EPOCH_BEGIN, 0);
	for (i = 0; i < PUTS; i++) {
		d = d_put(TO, a->mem.handle, 0, gated.handle, 0, i * 500);
		d.epoch = htole32(1);
		d.route = i % 2 ? BGDMA_ROUTE_ADAPTIVE : 0;
		inject(&a->inj, &d);
	}
	gate_do(_metadata, a, &gated, BGDMA_OP_EPOCH_CLOSE, PUTS);
	ASSERT_EQ(1, epochs(&b->n, gated.handle, &e, 1));
	EXPECT_EQ(BGDMA_EPOCH_CLOSED, e.state);
	EXPECT_EQ(PUTS, e.put);
	EXPECT_EQ(PUTS, e.got);
	d = d_gate(TO, BGDMA_OP_EPOCH_END, gated.handle, 1, BGDMA_NONE);
	EXPECT_EQ(BGDMA_OK, run(&a->inj, &d));
}

TEST_F(hops, x1_dma7_ep3_over_several_bad_links)
{
	static const uint8_t routes[] = { 0, BGDMA_ROUTE_ADAPTIVE };
	unsigned long passed_on = 0;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		puts_cross(_metadata, &self->a, &self->b, routes[i]);
		numbers_cross(_metadata, &self->a, &self->b, routes[i]);
	}
	epoch_crosses(_metadata, &self->a, &self->b);
	EXPECT_FALSE(counter_error(&self->a.n, INJ, self->a.ic));
	EXPECT_FALSE(counter_error(&self->b.n, REC, self->b.rc));
	for (i = 1; i < 4; i++)
		passed_on += links_counted(i, "forwarded ");
	EXPECT_LT(2 * ROUNDS, passed_on);
	/* Something was lost. */
	EXPECT_LT(0, links_counted(0, " again "));
}

/* Where each link is a veth that leads straight to the next, nothing is spoiled. */
FIXTURE(straight) {
	struct end a, b;
};

FIXTURE_SETUP(straight)
{
	uint32_t rank;

	unsetenv("BGDMA_TEST_NETEM");
	links_ring();
	partition_new("4x1x1", "");
	for (rank = 0; rank < 4; rank++) {
		links_enter(rank);
		must(system("bgdma link set dev left partition " PARTITION " sum off && "
			    "bgdma link set dev right partition " PARTITION " sum off") ?
		     -EIO : 0);
		links_leave();
	}
	end_new(&self->a, 0);
	end_new(&self->b, TO);
}

FIXTURE_TEARDOWN(straight)
{
	node_close(&self->b.n);
	node_close(&self->a.n);
}

TEST_F(straight, x1_without_checksums)
{
	puts_cross(_metadata, &self->a, &self->b, 0);
	numbers_cross(_metadata, &self->a, &self->b, BGDMA_ROUTE_ADAPTIVE);
	EXPECT_LT(ROUNDS, links_counted(1, "forwarded ") + links_counted(3, "forwarded "));
}

TEST_HARNESS_MAIN
