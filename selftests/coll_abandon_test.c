// SPDX-License-Identifier: GPL-2.0
/*
 * A call that cannot wait any more ends before its collective: from then on nothing is
 * written to the caller's memory.
 */
#include <errno.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bgdma/collective.h>

#include "kselftest_harness.h"
#include "coll_util.h"

#define LONG	(256U << 10)
#define MARK	0xaa

/*
 * @split: how the group is made
 * @cut: what goes from member 0 to the other waits until the call has ended
 */
struct given_up {
	struct bgdma_collective what;
	struct bgdma_split_attr split;
	bool cut;
};

static const struct bgdma_operator sum_u64 = {
	.element = BGDMA_U64, .reduction = BGDMA_SUM,
};

static uint8_t memory[LONG] PINNED;

static bool wait_fails;	/* the next one */

int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *limit,
	  const sigset_t *mask)
{
	/* The kernel writes what is left of the time. */
	struct timespec left = limit ? *limit : (struct timespec){ 0 };

	if (wait_fails) {
		wait_fails = false;
		errno = EBADF;
		return -1;
	}
	return (int)syscall(SYS_ppoll, fds, n, limit ? &left : NULL, mask,
			    NSIG / 8);
}

static int ends_early(struct caller *c, const struct given_up *g)
{
	uint32_t i;

	wait_fails = true;
	require_is(-EBADF, bgdma_coll_run(c->group, &g->what));
	memset(memory, MARK, sizeof(memory));
	if (g->cut)
		links_cut(1, false);
	place(1, 1);
	require(until(({
		require(bgdma_endpoint_progress(c->m.ep, 0) >= 0);
		load(&board->here[2]);
	})));
	for (i = 0; i < LONG; i++)
		require_is(MARK, memory[i]);
	return bgdma_coll_run(c->group, &g->what) == -EIO ? 0 : 1;
}

/* Member 0 has what is announced, or not: either way it asks for it when it waits. */
static int gives_up(uint32_t rank, uint32_t size, void *arg)
{
	struct given_up *g = arg;
	struct caller c = { 0 };
	int ret;

	require_is(0, caller_open(&c, 1));
	require_is(0, bgdma_coll_split(c.coll, &g->split, &c.group));
	g->what.out = memory;
	if (!rank) {
		place(0, g->cut ? size : 1);
		if (g->cut)
			links_cut(1, true);
		require_is(0, ends_early(&c, g));
		return caller_close(&c);
	}
	if (g->cut) {
		struct bgdma_coll_request *r;

		require_is(0, bgdma_coll_start(c.group, &g->what, &r));
		require_is(0, bgdma_endpoint_flush(c.m.ep, (int64_t)PATIENCE_NS));
		place(0, size);
		do
			ret = bgdma_coll_request_wait(&r, BGDMA_SPIN,
						      (int64_t)PATIENCE_NS);
		while (ret == -EINTR);
	} else {
		place(1, 2);
		ret = bgdma_coll_run(c.group, &g->what);
	}
	if (ret)
		require_is(-EIO, ret);
	require_is(0, bgdma_endpoint_flush(c.m.ep, (int64_t)PATIENCE_NS));
	place(2, 1);
	return caller_close(&c);
}

FIXTURE(coll) {
};

FIXTURE_SETUP(coll)
{
	board = shared(sizeof(*board));
}

FIXTURE_TEARDOWN(coll)
{
}

TEST_F(coll, a_short_message_that_comes_later)
{
	struct given_up g = { .what = {
		.kind = BGDMA_BROADCAST, .root = 1, .bytes = 64,
	} };

	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, gives_up, &g, -1));
}

TEST_F(coll, a_long_message_that_comes_later)
{
	struct given_up g = { .what = {
		.kind = BGDMA_BROADCAST, .root = 1, .bytes = LONG,
	} };

	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, gives_up, &g, -1));
}

TEST_F(coll, a_long_message_that_was_accepted)
{
	struct given_up g = { .what = {
		.kind = BGDMA_BROADCAST, .root = 1, .bytes = LONG,
	}, .cut = true };

	setenv("BGDMA_TEST_LINKS", "1", 1);
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, gives_up, &g, -1));
}

TEST_F(coll, an_allreduce_that_goes_directly)
{
	struct given_up g = { .what = {
		.kind = BGDMA_ALLREDUCE, .algorithm = BGDMA_DIRECT,
		.op = &sum_u64, .count = 8,
	} };

	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, gives_up, &g, -1));
}

TEST_F(coll, an_allreduce_by_the_engines)
{
	struct given_up g = { .what = {
		.kind = BGDMA_ALLREDUCE, .algorithm = BGDMA_ENGINES,
		.op = &sum_u64, .count = LONG / sizeof(uint64_t),
	}, .split = { .flags = BGDMA_SPLIT_ENGINES } };

	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, gives_up, &g, -1));
}

TEST_HARNESS_MAIN
