// SPDX-License-Identifier: GPL-2.0
/*
 * What a flush promises while its epoch goes on: local memory is the caller's
 * again, also where a get failed, and the target sees what was put. So much is put
 * that it is under way for a while, and who did not wait would be too early.
 */
#include <poll.h>

#include "kselftest_harness.h"
#include "rma_util.h"

#define ROUNDS	10
#define PUTS	16

struct flush {
	bool all;		/* of all targets */
	uint32_t round;		/* that can be looked at */
	uint32_t looked;	/* times, by all targets */
};

static int window_open(struct accessor *a)
{
	const struct bgdma_window_attr window = { .length = LOCAL };

	require_is(0, accessor_open_as(a, (struct bgdma_endpoint_attr){ 0 },
				       (struct bgdma_rma_attr){ 0 }, &window));
	return meet(a);
}

/* All of the window, again and again. */
static int put_long(const struct accessor *a, uint32_t target)
{
	struct bgdma_access_attr attr = access_at(a, 0, LOCAL, 0);
	uint32_t i;

	for (i = 0; i < PUTS; i++)
		require_is(0, bgdma_window_put(a->window, target, &attr));
	return 0;
}

/* The targets see what was put in this round. */
static int look(const struct accessor *a, struct flush *f, uint32_t round)
{
	require(until(load(&f->round) == round));
	require(is_marked(a->own, LOCAL, round));
	__atomic_add_fetch(&f->looked, 1, __ATOMIC_SEQ_CST);
	return 0;
}

static int seen(struct flush *f, uint32_t round, uint32_t targets)
{
	store(&f->round, round);
	require(until(load(&f->looked) == round * targets));
	return 0;
}

/* Rank 0 writes to its local memory right after the flush. */
static int overwritten(uint32_t rank, uint32_t size, void *arg)
{
	struct accessor a = { 0 };
	struct flush *f = arg;
	uint32_t i;

	(void)size;
	require_is(0, window_open(&a));
	for (i = 1; i <= ROUNDS; i++) {
		if (rank) {
			require_is(0, look(&a, f, i));
			continue;
		}
		mark(a.local, LOCAL, i);
		require_is(0, bgdma_window_lock(a.window, 1, 0));
		require_is(0, put_long(&a, 1));
		require_is(0, bgdma_window_flush_local(a.window, f->all ?
						       BGDMA_FLUSH_ALL : 1));
		memset(a.local, 0, LOCAL);
		require_is(0, bgdma_window_unlock(a.window, 1));
		require_is(0, seen(f, i, 1));
	}
	require_is(0, meet(&a));
	return accessor_close(&a);
}

TEST(flush_local_gives_local_memory_back)
{
	struct flush *f = shared(sizeof(*f));

	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, overwritten, f, -1));
	*f = (struct flush){ .all = true };
	EXPECT_TRUE(job_run(2, overwritten, f, -1));
}

/* The targets are told by other means, and look, while the epochs go on. */
static int told(uint32_t rank, uint32_t size, void *arg)
{
	struct accessor a = { 0 };
	struct flush *f = arg;
	uint32_t i, k;

	require_is(0, window_open(&a));
	if (!rank)
		require_is(0, bgdma_window_lock_all(a.window));
	for (i = 1; i <= ROUNDS; i++) {
		if (rank) {
			require_is(0, look(&a, f, i));
			continue;
		}
		mark(a.local, LOCAL, i);
		for (k = 1; k < size; k++)
			require_is(0, put_long(&a, k));
		for (k = 1; !f->all && k < size; k++)
			require_is(0, bgdma_window_flush(a.window, k));
		if (f->all)
			require_is(0, bgdma_window_flush(a.window,
							 BGDMA_FLUSH_ALL));
		require_is(0, seen(f, i, size - 1));
	}
	if (!rank)
		require_is(0, bgdma_window_unlock_all(a.window));
	require_is(0, meet(&a));
	return accessor_close(&a);
}

TEST(flush_shows_the_targets_what_was_put)
{
	struct flush *f = shared(sizeof(*f));

	partition_new("3x1x1", "");
	EXPECT_TRUE(job_run(3, told, f, -1));
	*f = (struct flush){ .all = true };
	EXPECT_TRUE(job_run(3, told, f, -1));
}

/*
 * A get that has no place here, and behind it some that do. When one fails its
 * counter tells of an error at once; those that have begun come, or end, before the
 * flush is over: what is here then nobody writes to any more.
 */
static int nowhere(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_rma_epoch *e;
	struct accessor a = { 0 };
	uint32_t i, round;

	(void)size;
	(void)arg;
	require_is(0, window_open(&a));
	for (round = 1; !rank && round <= ROUNDS; round++) {
		require_is(0, bgdma_epoch_begin(a.window, 1, round, 0, &e));
		for (i = 0; i < 2 * PUTS; i++)
			require_is(0, get(&a, e, i == PUTS ? LOCAL - 8 :
						 0, LOCAL / PUTS, 0));
		require_is(-ERANGE, bgdma_epoch_flush(e));
		memset(a.local, (int)round, LOCAL);
		(void)poll(NULL, 0, 20);
		for (i = 0; i < LOCAL; i++)
			require_is((int)round, a.local[i]);
		require_is(-ERANGE, bgdma_epoch_close(e));
	}
	require_is(0, meet(&a));
	return accessor_close(&a);
}

TEST(ep4_no_get_comes_after_one_that_failed)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, nowhere, NULL, -1));
}

TEST_HARNESS_MAIN
