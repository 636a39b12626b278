// SPDX-License-Identifier: GPL-2.0
/*
 * Progress never sleeps, whoever has died, and whoever cannot be reached.
 */
#include <bgdma/collective.h>

#include <linux/bgdma.h>

#include "kselftest_harness.h"
#include "coll_util.h"
#include "ioctl_seen.h"

#define CUT	1
#define VICTIM	2
#define OTHER	2
#define GROUPS	4
#define TURNS	4

static unsigned int slept;

static int on_ioctl(unsigned long request)
{
	slept += request == BGDMA_IOC_WAIT;
	return 0;
}

static uint32_t down;

static void on_down(void *arg, const struct bgdma_trouble_info *info)
{
	(void)arg;
	down += info->trouble == BGDMA_TROUBLE_PEER_DOWN;
}

static const struct bgdma_operator sum_u64 = {
	.element = BGDMA_U64, .reduction = BGDMA_SUM,
};

/* What is put for CUT stays where it is, before the death of the other is heard of. */
static int hears(struct caller *c, struct bgdma_coll_group *groups[GROUPS],
		 const struct bgdma_collective *what)
{
	struct bgdma_coll_request *r;
	uint32_t i;

	links_cut(CUT, true);
	require_is(0, bgdma_coll_start(groups[0], what, &r));
	place(0, 1);
	slept = 0;
	require(until(({
		require(bgdma_endpoint_progress(c->m.ep, 0) >= 0);
		down;
	})));
	require_is(0, slept);
	links_cut(CUT, false);
	require_is(-EHOSTDOWN, bgdma_coll_request_wait(&r, BGDMA_SLEEP,
						       (int64_t)PATIENCE_NS));
	for (i = 1; i < GROUPS; i++)
		require_is(-EHOSTDOWN, bgdma_coll_run(groups[i], what));
	return 0;
}

static int one_dies(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_coll_group *groups[GROUPS];
	struct caller c = { 0 };
	uint64_t x = rank;
	const struct bgdma_collective what = {
		.kind = BGDMA_ALLREDUCE, .algorithm = BGDMA_DIRECT,
		.op = &sum_u64, .count = 1, .out = &x,
	};
	uint32_t i;

	(void)arg;
	require_is(0, caller_open_as(&c, &(struct bgdma_endpoint_attr){
			.per_node = 1, .trouble = on_down }));
	for (i = 0; i < GROUPS; i++) {
		require_is(0, bgdma_coll_split(c.coll, NULL, &groups[i]));
		require_is(0, bgdma_coll_run(groups[i], &what));
	}
	require_is(0, bgdma_endpoint_flush(c.m.ep, (int64_t)PATIENCE_NS));
	require_is(0, bgdma_job_fence(c.m.job));
	if (rank == 0)
		require_is(0, hears(&c, groups, &what));
	else
		place(0, 2);
	if (rank == VICTIM)
		raise(SIGKILL);
	place(1, size - 1);
	for (i = 0; i < GROUPS; i++)
		bgdma_coll_group_destroy(groups[i]);
	return member_leave(&c.m);
}

/* What was put for CUT stands before all else that is put. */
static int goes_on(struct bgdma_coll_group *all, struct bgdma_coll_group *two,
		   const struct bgdma_collective *what)
{
	struct bgdma_coll_request *r[TURNS], *stays;
	struct bgdma_collective of_two = *what;
	uint64_t x[TURNS] = { 0 };
	uint32_t i;

	links_cut(CUT, true);
	require_is(0, bgdma_coll_start(all, what, &stays));
	slept = 0;
	for (i = 0; i < TURNS; i++) {
		of_two.out = &x[i];
		require_is(0, bgdma_coll_start(two, &of_two, &r[i]));
	}
	place(0, 2);
	/* There are two boxes. */
	for (i = 0; i < 2; i++)
		require(until(!bgdma_coll_request_test(&r[i])));
	for (i = 0; i < 100; i++)
		require_is(-EAGAIN, bgdma_coll_request_test(&r[2]));
	require_is(0, slept);
	links_cut(CUT, false);
	for (i = 2; i < TURNS; i++)
		require_is(0, bgdma_coll_request_wait(&r[i], BGDMA_SLEEP,
						      (int64_t)PATIENCE_NS));
	require_is(0, bgdma_coll_request_wait(&stays, BGDMA_SLEEP,
					      (int64_t)PATIENCE_NS));
	for (i = 0; i < TURNS; i++)
		require_is(2, x[i]);
	return 0;
}

/* A group of all, and one of all but CUT. */
static int groups_open(struct caller *c, uint32_t rank, struct bgdma_coll_group **all,
		       struct bgdma_coll_group **two)
{
	require_is(0, caller_open(c, 1));
	require_is(0, bgdma_coll_split(c->coll, NULL, all));
	require_is(0, bgdma_coll_split(c->coll, &(struct bgdma_split_attr){
			.color = rank == CUT }, two));
	require_is(0, bgdma_endpoint_flush(c->m.ep, (int64_t)PATIENCE_NS));
	return bgdma_job_fence(c->m.job);
}

static int one_is_cut(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_coll_group *all, *two;
	struct caller c = { 0 };
	uint64_t x = rank;
	struct bgdma_collective what = {
		.kind = BGDMA_ALLREDUCE, .algorithm = BGDMA_DIRECT,
		.op = &sum_u64, .count = 1, .out = &x,
	};
	uint32_t i;

	(void)arg;
	require_is(0, groups_open(&c, rank, &all, &two));
	if (rank == 0)
		require_is(0, goes_on(all, two, &what));
	if (rank == VICTIM)
		place(0, 2);
	for (i = 0; rank == VICTIM && i < TURNS; i++) {
		x = rank;
		require_is(0, bgdma_coll_run(two, &what));
	}
	if (rank)
		require_is(0, bgdma_coll_run(all, &what));
	place(1, size);
	bgdma_coll_group_destroy(two);
	bgdma_coll_group_destroy(all);
	return caller_close(&c);
}

/*
 * The group of two is over here by a call that makes no sense, when nobody knows whether
 * what was put in it has landed, as what is for CUT has not: the other, who has begun the
 * next, hears of it, though nothing is done here any more.
 */
static int stops(struct bgdma_coll_group *all, struct bgdma_coll_group *two,
		 const struct bgdma_collective *what)
{
	static const float one = 1;
	const struct bgdma_operator op = { .reduction = BGDMA_SUM,
					   .element = BGDMA_F32 };
	struct bgdma_coll_request *stays, *r;
	float sum;

	links_cut(CUT, true);
	require_is(0, bgdma_coll_start(all, what, &stays));
	require_is(0, bgdma_coll_start(two, what, &r));
	place(0, 2);
	require_is(0, bgdma_coll_request_wait(&r, BGDMA_SLEEP, (int64_t)PATIENCE_NS));
	require_is(-EMSGSIZE, bgdma_coll_run(two, &(struct bgdma_collective){
			.kind = BGDMA_ALLREDUCE, .op = &op, .count = 1, .in = &one,
			.out = &sum, .summation = BGDMA_SUM_FAST,
			.addends = (1ULL << 30) + 1 }));
	place(1, 2);
	links_cut(CUT, false);
	return bgdma_coll_request_wait(&stays, BGDMA_SLEEP, (int64_t)PATIENCE_NS);
}

static int one_stops(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_coll_group *all, *two;
	struct caller c = { 0 };
	uint64_t x = rank;
	const struct bgdma_collective what = {
		.kind = BGDMA_ALLREDUCE, .algorithm = BGDMA_DIRECT,
		.op = &sum_u64, .count = 1, .out = &x,
	};

	(void)arg;
	require_is(0, groups_open(&c, rank, &all, &two));
	if (rank == 0)
		require_is(0, stops(all, two, &what));
	if (rank == OTHER) {
		place(0, 2);
		require_is(0, bgdma_coll_run(two, &what));
		require_is(-EIO, bgdma_coll_run(two, &what));
		place(1, 2);
	}
	if (rank)
		require_is(0, bgdma_coll_run(all, &what));
	place(2, size);
	bgdma_coll_group_destroy(two);
	bgdma_coll_group_destroy(all);
	return caller_close(&c);
}

TEST(dp8_the_end_of_a_group_is_told_however_long_what_it_put_stays)
{
	board = shared(sizeof(*board));
	setenv("BGDMA_TEST_LINKS", "1", 1);
	partition_new("3x1x1", "");
	EXPECT_TRUE(job_run(3, one_stops, NULL, -1));
}

TEST(dp8_what_cannot_be_put_yet_keeps_nobody_asleep)
{
	board = shared(sizeof(*board));
	setenv("BGDMA_TEST_LINKS", "1", 1);
	partition_new("3x1x1", "");
	EXPECT_TRUE(job_run(3, one_is_cut, NULL, -1));
}

TEST(dp8_a_death_is_heard_of_without_a_sleep)
{
	board = shared(sizeof(*board));
	links_hasty();
	partition_new("3x1x1", "");
	EXPECT_TRUE(job_run(3, one_dies, NULL, VICTIM));
}

TEST_HARNESS_MAIN
