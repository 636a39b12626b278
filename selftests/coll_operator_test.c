// SPDX-License-Identifier: GPL-2.0
/*
 * Operators of an application that do more than add: they run where callbacks do.
 */
#include <bgdma/collective.h>

#include "kselftest_harness.h"
#include "coll_util.h"

#define TURNS	20U

/*
 * @made: how often the operator was asked in this turn; @result: of its test of the first
 * request
 */
struct user {
	struct caller c;
	struct bgdma_coll_request *first, *second;
	uint32_t made;
	int result[2];
	uint64_t x, y;
};

FIXTURE(coll) {
};

FIXTURE_SETUP(coll)
{
	board = shared(sizeof(*board));
	partition_new("2x1x1", "");
}

FIXTURE_TEARDOWN(coll)
{
}

static int open_world(struct user *u)
{
	require_is(0, caller_open(&u->c, 1));
	return bgdma_coll_split(u->c.coll, NULL, &u->c.group);
}

static void add(const void *in, void *inout, uint64_t count)
{
	const uint64_t *from = in;
	uint64_t *to = inout;

	while (count--)
		*to++ += *from++;
}

static void looks_and_adds(void *arg, const void *in, void *inout,
			   uint64_t count)
{
	const struct user *u = arg;

	(void)bgdma_endpoint_progress(u->c.m.ep, 0);
	add(in, inout, count);
}

/* It is called by who looks at another group, or begins. */
static int own_looks(uint32_t rank, uint32_t size, void *arg)
{
	struct user u = { 0 };
	const struct bgdma_operator op = { .combine = looks_and_adds, .arg = &u,
					   .bytes = sizeof(uint64_t) };
	struct bgdma_collective what = {
		.kind = BGDMA_ALLREDUCE, .algorithm = BGDMA_DIRECT, .op = &op,
		.count = 1,
	};
	struct bgdma_coll_group *other;
	uint64_t x;
	uint32_t i;

	(void)arg;
	require_is(0, open_world(&u));
	require_is(0, bgdma_coll_split(u.c.coll, NULL, &other));
	what.out = &x;
	for (i = 1; i <= TURNS; i++) {
		x = rank + i;
		require_is(0, bgdma_coll_start(u.c.group, &what, &u.first));
		place(0, i * size);
		usleep(1000);
		require_is(-EINVAL, bgdma_coll_test(other));
		require_is(0, bgdma_coll_request_wait(&u.first, BGDMA_SLEEP,
						      (int64_t)PATIENCE_NS));
		require_is(2 * i + 1, x);
	}
	bgdma_coll_group_destroy(other);
	return caller_close(&u.c);
}

TEST_F(coll, dp8_an_own_operator_that_makes_progress)
{
	EXPECT_TRUE(job_run(2, own_looks, NULL, -1));
}

/* The second time the first is over, and freed. */
static void ends_and_adds(void *arg, const void *in, void *inout,
			  uint64_t count)
{
	struct user *u = arg;

	u->result[u->made++ % 2] = bgdma_coll_request_test(&u->first);
	add(in, inout, count);
}

/* What node 0 waits for is there when it looks. */
static int two_begin(struct user *u, struct bgdma_collective *what, uint32_t rank)
{
	u->made = 0;
	u->x = rank;
	u->y = rank + 10;
	what->out = &u->x;
	require_is(0, bgdma_coll_start(u->c.group, what, &u->first));
	if (rank)
		require(until(bgdma_endpoint_progress(u->c.m.ep, 0) >= 0 &&
			      u->made == 1));
	what->out = &u->y;
	return bgdma_coll_start(u->c.group, what, &u->second);
}

static int two_end(struct user *u)
{
	require(until(u->made == 2 ||
		      bgdma_endpoint_progress(u->c.m.ep, 0) < 0));
	require_is(-EAGAIN, u->result[0]);
	require_is(0, u->result[1]);
	require(!u->first);
	require_is(0, bgdma_coll_request_wait(&u->second, BGDMA_SLEEP,
					      (int64_t)PATIENCE_NS));
	require_is(1, u->x);
	require_is(21, u->y);
	return 0;
}

static int own_ends(uint32_t rank, uint32_t size, void *arg)
{
	struct user u = { 0 };
	const struct bgdma_operator op = { .combine = ends_and_adds, .arg = &u,
					   .bytes = sizeof(uint64_t) };
	struct bgdma_collective what = {
		.kind = BGDMA_ALLREDUCE, .algorithm = BGDMA_DIRECT, .op = &op,
		.count = 1,
	};
	uint32_t i, nested = 0;

	(void)arg;
	require_is(0, open_world(&u));
	for (i = 1; i <= TURNS; i++) {
		require_is(0, two_begin(&u, &what, rank));
		place(0, i * size);
		/* Time for what was put to land. */
		usleep(1000);
		require(bgdma_endpoint_progress(u.c.m.ep, 0) >= 0);
		nested += u.made == 2;
		require_is(0, two_end(&u));
	}
	/* The second has ended within the end of the first. */
	require(rank || nested);
	return caller_close(&u.c);
}

TEST_F(coll, dp8_an_own_operator_that_ends_the_one_before)
{
	EXPECT_TRUE(job_run(2, own_ends, NULL, -1));
}

TEST_HARNESS_MAIN
