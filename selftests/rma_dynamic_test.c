// SPDX-License-Identifier: GPL-2.0
/*
 * Memory that is attached to windows, where something is in the way.
 */
#include "kselftest_harness.h"
#include "rma_util.h"

static uint8_t memory[2 * WINDOW] PINNED;

static const struct bgdma_window_attr dynamic = { .dynamic = true };

/* ---- What cannot be attached -------------------------------------------- */

#define COUNTERS	8192

static struct bgdma_counter *counters[COUNTERS];

static uint32_t counters_take(struct bgdma_ctx *ctx)
{
	uint32_t n = 0;

	while (n < COUNTERS && !bgdma_counter_alloc(ctx, BGDMA_INJECTION,
						    &counters[n]))
		n++;
	return n;
}

/* Rank 0 has no counter to attach by: it does not, and may try again. */
static int again(uint32_t rank, uint32_t size, void *arg)
{
	uint64_t there = (uintptr_t)memory;
	struct bgdma_access_attr put;
	struct accessor a = { 0 };
	uint32_t n;

	(void)arg;
	(void)size;
	require_is(0, accessor_open_as(&a, (struct bgdma_endpoint_attr){ 0 },
				       (struct bgdma_rma_attr){ 0 },
				       &dynamic));
	if (rank == 0) {
		n = counters_take(bgdma_endpoint_ctx(a.m.ep));
		require_is(-ENOSPC, bgdma_window_attach(a.window, memory,
							WINDOW));
		while (n)
			require_is(0, bgdma_counter_free(counters[--n]));
		require_is(-ENOENT, bgdma_window_detach(a.window, memory));
		require_is(0, bgdma_window_attach(a.window, memory, WINDOW));
	}
	require_is(0, meet(&a));
	put = access_at(&a, 0, 100, there + rank * 100);
	mark(a.local, 100, rank);
	require_is(0, bgdma_window_lock(a.window, 0, 0));
	require_is(0, bgdma_window_put(a.window, 0, &put));
	require_is(0, bgdma_window_unlock(a.window, 0));
	require_is(0, meet(&a));
	require(rank || is_marked(memory + 100, 100, 1));
	return accessor_close(&a);
}

TEST(window_that_could_not_grow)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, again, NULL, -1));
}

TEST_HARNESS_MAIN
