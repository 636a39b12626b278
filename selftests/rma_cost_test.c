// SPDX-License-Identifier: GPL-2.0
/*
 * What an epoch costs: packets, counted where the engines make them.
 */
#include "kselftest_harness.h"
#include "rma_util.h"
#include "tracing.h"

/*
 * What the engines did for node 0: the descriptors of its FIFOs, each a packet,
 * what its gets were answered with, and the answers of the gate, each of which moves
 * an injection counter.
 */
struct packets {
	unsigned int puts, gets, replies, gates, answers;
};

static void packet_traced(const char *line, struct packets *n)
{
	if (strstr(line, " bgdma_counter: " PARTITION "/0.0 "))
		n->answers += !!strstr(line, " injection ");
	/* What else it does is not of the epoch. */
	if (strstr(line, " bgdma_execute: " PARTITION "/1.0 "))
		n->replies += !!strstr(line, " put ");
	if (!strstr(line, " bgdma_execute: " PARTITION "/0.0 "))
		return;
	if (strstr(line, " put "))
		n->puts++;
	else if (strstr(line, " remote-get "))
		n->gets++;
	else
		n->gates++;
}

static struct packets packets_traced(void)
{
	FILE *lines = tracing_lines();
	struct packets n = { 0 };
	char line[256];

	while (fgets(line, sizeof(line), lines))
		packet_traced(line, &n);
	fclose(lines);
	return n;
}

struct cost {
	bool puts, gets;
	struct packets n;
};

static int counted(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_rma_epoch *e;
	struct accessor a = { 0 };
	struct cost *cost = arg;

	(void)size;
	require_is(0, accessor_open(&a));
	require_is(0, meet(&a));
	if (rank == 0) {
		must(write_file(INSTANCE "/events/bgdma/bgdma_execute/enable",
				"1"));
		must(write_file(INSTANCE "/events/bgdma/bgdma_counter/enable",
				"1"));
		tracing_clear();
		require_is(0, bgdma_epoch_begin(a.window, 1, 1,
						BGDMA_EPOCH_EXCLUSIVE, &e));
		if (cost->puts)
			require_is(0, put(&a, e, 0, 8, 0));
		if (cost->gets)
			require_is(0, get(&a, e, 0, 8, 0));
		require_is(0, bgdma_epoch_close(e));
		cost->n = packets_traced();
	}
	require_is(0, meet(&a));
	return accessor_close(&a);
}

/* False: there is no tracing. */
static bool cost_of(bool puts, bool gets, struct cost **cost)
{
	*cost = shared(sizeof(**cost));
	if (!tracing_begin())
		return false;
	(*cost)->puts = puts;
	(*cost)->gets = gets;
	partition_new("2x1x1", "");
	must(job_run(2, counted, *cost, -1) ? 0 : -EINVAL);
	tracing_end();
	return true;
}

TEST(ep_an_epoch_with_a_put_is_five_packets_and_the_put)
{
	struct cost *cost;

	if (!cost_of(true, false, &cost))
		SKIP(return, "needs root, and a kernel with tracing");
	EXPECT_EQ(1, cost->n.puts);
	EXPECT_EQ(3, cost->n.gates);
	EXPECT_EQ(2, cost->n.answers);
	EXPECT_EQ(0, cost->n.gets + cost->n.replies);
}

/* No put counter, nothing acknowledged: BEGIN, its answer, END. */
TEST(ep6_an_epoch_without_puts_has_no_closing_message)
{
	struct cost *cost;

	if (!cost_of(false, false, &cost))
		SKIP(return, "needs root, and a kernel with tracing");
	EXPECT_EQ(2, cost->n.gates);
	EXPECT_EQ(1, cost->n.answers);
	EXPECT_EQ(0, cost->n.puts + cost->n.gets + cost->n.replies);
}

TEST(ep6_nor_has_one_of_a_get)
{
	struct cost *cost;

	if (!cost_of(false, true, &cost))
		SKIP(return, "needs root, and a kernel with tracing");
	EXPECT_EQ(2, cost->n.gates);
	EXPECT_EQ(1, cost->n.answers);
	EXPECT_EQ(1, cost->n.gets);
	EXPECT_EQ(1, cost->n.replies);
	EXPECT_EQ(0, cost->n.puts);
}

TEST_HARNESS_MAIN
