// SPDX-License-Identifier: GPL-2.0
/*
 * What a barrier costs: the descriptors that the engines of each node carry out in
 * one, as they are traced (BA-2, BA-3, BA-7).
 */
#include "kselftest_harness.h"
#include "coll_util.h"
#include "tracing.h"

/*
 * Of one node. @carriers: remote gets that it injects; @replies, @copies: what
 * others had it run: puts to them, and bytes that stay; @puts: that it injects;
 * @rest: anything else
 */
struct cost {
	uint32_t carriers, replies, copies, puts, rest;
};

struct shape {
	const char *dims, *torus;
	uint32_t size, flags;
	struct cost cost[RANKS_MAX];	/* of each node, as counted */
};

static void cost_count(struct cost *cost, const char *line)
{
	bool remote = strstr(line, " remote-get-queue=");

	if (!remote && strstr(line, " remote-get "))
		cost->carriers++;
	else if (remote && strstr(line, " put "))
		cost->replies++;
	else if (remote && strstr(line, " local-copy "))
		cost->copies++;
	else if (!remote && strstr(line, " put "))
		cost->puts++;
	else
		cost->rest++;
}

static void costs_traced(struct cost *cost, uint32_t size)
{
	static const char at[] = " bgdma_execute: " PARTITION "/";
	FILE *lines = tracing_lines();
	const char *found;
	char line[256];
	uint32_t rank;

	while (fgets(line, sizeof(line), lines)) {
		found = strstr(line, at);
		if (!found)
			continue;
		rank = (uint32_t)strtoul(found + sizeof(at) - 1, NULL, 10);
		if (rank < size)
			cost_count(&cost[rank], line);
	}
	fclose(lines);
}

static int counted(uint32_t rank, uint32_t size, void *arg)
{
	struct shape *s = arg;
	const struct bgdma_split_attr split = { .flags = s->flags };
	struct bgdma_coll_plan plan;
	struct caller c = { 0 };

	require_is(0, caller_open(&c, 1));
	require_is(0, bgdma_coll_split(c.coll, &split, &c.group));
	place(0, size);
	if (rank == 0) {
		must(write_file(INSTANCE "/events/bgdma/bgdma_execute/enable",
				"1"));
		tracing_clear();
	}
	place(1, size);
	require_is(0, bgdma_coll_barrier(c.group));
	place(2, size);
	if (rank == 0)
		costs_traced(s->cost, size);
	place(3, size);
	/* What is said beforehand is what it costs. */
	bgdma_coll_plan(c.group, &plan);
	require_is(plan.packets, s->cost[rank].carriers + s->cost[rank].puts);
	require_is(plan.replies, s->cost[rank].replies);
	return caller_close(&c);
}

/* One barrier of all: whether each node has the costs of @expected. */
static void costs_are(struct __test_metadata *_metadata, struct shape shape,
		      const struct cost *expected)
{
	struct shape *s = shared(sizeof(*s));
	const struct cost *is = s->cost, *e = expected;
	uint32_t i;

	*s = shape;
	board = shared(sizeof(*board));
	partition_new(s->dims, s->torus);
	if (!tracing_begin())
		SKIP(return, "needs root, and a kernel with tracing");
	EXPECT_TRUE(job_run(s->size, counted, s, -1));
	tracing_end();
	for (i = 0; i < s->size; i++, is++, e++) {
		EXPECT_TRUE(is->carriers == e->carriers &&
			    is->replies == e->replies &&
			    is->copies == e->copies && is->puts == e->puts &&
			    !is->rest)
			TH_LOG("node %u: %u carriers, %u replies, %u copies, %u puts, %u more",
			       i, is->carriers, is->replies, is->copies,
			       is->puts, is->rest);
	}
}

#define COSTS(test, dims_, torus_, size_, flags_, ...)			\
TEST(test)								\
{									\
	const struct cost expected[RANKS_MAX] = { __VA_ARGS__ };	\
									\
	costs_are(_metadata, (struct shape){				\
			.dims = dims_, .torus = torus_, .size = size_,	\
			.flags = flags_ }, expected);			\
}

#define GETS(carriers_, replies_, copies_)				\
	{ .carriers = (carriers_), .replies = (replies_), .copies = (copies_) }
#define PUTS(puts_)	{ .puts = (puts_) }

COSTS(ba2_one_packet_each_on_a_ring, "4x1x1", "torus x", 4, 0,
	GETS(1, 3, 0), GETS(1, 3, 0), GETS(1, 3, 0), GETS(1, 3, 0))
COSTS(ba2_one_each_way_on_a_mesh, "4x1x1", "torus none", 4, 0,
	GETS(1, 3, 0), GETS(2, 3, 0), GETS(2, 3, 0), GETS(1, 3, 0))
COSTS(ba7_lines_of_a_box, "3x2x1", "torus y", 6, 0,
	GETS(2, 3, 0), GETS(3, 3, 0), GETS(2, 3, 0),
	GETS(2, 3, 0), GETS(3, 3, 0), GETS(2, 3, 0))
COSTS(ba7_to_each_other_where_there_are_no_lines, "4x1x1", "torus x", 4,
	BGDMA_SPLIT_PLAIN,
	GETS(3, 3, 0), GETS(3, 3, 0), GETS(3, 3, 0), GETS(3, 3, 0))
COSTS(ba3_no_put_without_replies, "4x1x1", "torus x", 4, BGDMA_SPLIT_NO_REPLY,
	GETS(1, 0, 3), GETS(1, 0, 3), GETS(1, 0, 3), GETS(1, 0, 3))
COSTS(ba2_one_put_each_on_a_ring, "4x1x1", "torus x", 4, BGDMA_SPLIT_PUT,
	PUTS(1), PUTS(1), PUTS(1), PUTS(1))
COSTS(ba2_one_put_each_way_on_a_mesh, "4x1x1", "torus none", 4, BGDMA_SPLIT_PUT,
	PUTS(1), PUTS(2), PUTS(2), PUTS(1))
COSTS(ba7_puts_to_each_other, "4x1x1", "torus x", 4,
	BGDMA_SPLIT_PUT | BGDMA_SPLIT_PLAIN,
	PUTS(3), PUTS(3), PUTS(3), PUTS(3))

TEST_HARNESS_MAIN
