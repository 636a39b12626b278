// SPDX-License-Identifier: GPL-2.0
/*
 * Collectives that fail: calls that make no sense, members that do not mean the same,
 * deaths; and what is left to the others.
 */
#include <signal.h>

#include <bgdma/collective.h>

#include "kselftest_harness.h"
#include "coll_util.h"

FIXTURE(coll) {
};

FIXTURE_SETUP(coll)
{
	board = shared(sizeof(*board));
}

FIXTURE_TEARDOWN(coll)
{
}

static const struct bgdma_operator sum = { .reduction = BGDMA_SUM,
					   .element = BGDMA_U64 };

static int open_world(struct caller *c)
{
	require_is(0, caller_open(c, 1));
	return bgdma_coll_split(c->coll, NULL, &c->group);
}

/* With an operation of the test, and without a group. */
static int open_with(struct caller *c, const struct test_operation *operation,
		     void *arg)
{
	int ret = member_open(&c->m, NULL);

	if (!ret)
		ret = bgdma_coll_create(&c->coll, c->m.ep, c->m.job);
	return ret ? ret : member_commit(&c->m, operation, 1, arg);
}

/* ---- What is wrong ------------------------------------------------------ */

static int bad_calls(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_operator op = sum;
	struct bgdma_collective what = { .kind = BGDMA_ALLREDUCE, .op = &op,
					 .count = 1 };
	uint64_t huge[RANKS_MAX] = { UINT64_MAX, 2 }, x = rank;
	struct bgdma_coll_request *r = NULL;
	struct caller c = { 0 };

	(void)arg;
	require_is(0, open_world(&c));
	what.out = &x;
	op.reduction = BGDMA_MINLOC;
	require_is(-EINVAL, bgdma_coll_start(c.group, &what, &r));
	op = sum;
	what.count = UINT64_MAX / 4;
	require_is(-EMSGSIZE, bgdma_coll_run(c.group, &what));
	what.count = 1;
	what.algorithm = BGDMA_ALGORITHM_COUNT;
	require_is(-EINVAL, bgdma_coll_run(c.group, &what));
	what.algorithm = BGDMA_LINEAR;
	require_is(-EINVAL, bgdma_coll_algorithm(c.group, &what));
	what.algorithm = 0;
	what.kind = BGDMA_COLLECTIVE_COUNT;
	require_is(-EINVAL, bgdma_coll_run(c.group, &what));
	what.kind = BGDMA_REDUCE;
	what.root = size;
	require_is(-EINVAL, bgdma_coll_run(c.group, &what));
	what.kind = BGDMA_REDUCE_SCATTER;
	what.counts = huge;
	require_is(-EMSGSIZE, bgdma_coll_run(c.group, &what));
	what.kind = BGDMA_ALLTOALL;
	what.in_blocks.bytes = huge;
	require_is(-EMSGSIZE, bgdma_coll_run(c.group, &what));
	/* None of them has done any harm. */
	require_is(0, bgdma_coll_allreduce(c.group, NULL, &x, 1, &sum));
	require(x == size * (size - 1) / 2);
	require_is(0, bgdma_coll_request_wait(&r, BGDMA_SLEEP, -1));
	return caller_close(&c);
}

TEST_F(coll, dp8_what_makes_no_sense)
{
	partition_new("4x2x1", "");
	EXPECT_TRUE(job_run(3, bad_calls, NULL, -1));
}

#define CUT	65536	/* bytes that a ring passes on at a time */

/* One member means another operator, kind or size: nobody gets a sum. */
static int other_meaning(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_operator op = sum;
	struct bgdma_collective what = { .kind = BGDMA_ALLREDUCE, .op = &op,
					 .count = 100 };
	static uint64_t data[3 * CUT / sizeof(uint64_t)];
	const int *which = arg;
	struct caller c = { 0 };
	int ret;

	require_is(0, open_world(&c));
	/* The end of the group would end its making. */
	place((uint32_t)*which, size);
	what.out = data;
	if (rank == size - 1) {
		op.reduction = *which == 0 ? BGDMA_MIN : BGDMA_SUM;
		op.element = *which == 1 ? BGDMA_F64 : BGDMA_U64;
		what.count = *which == 2 ? 99 : 100;
		what.kind = *which == 3 ? BGDMA_SCAN : BGDMA_ALLREDUCE;
		what.algorithm = *which == 4 ? BGDMA_TREE : 0;
	}
	if (*which == 5) {
		what.kind = BGDMA_BROADCAST;
		what.algorithm = BGDMA_RING;
		what.bytes = (rank ? 2 : 3) * CUT;
	}
	ret = bgdma_coll_run(c.group, &what);
	require(ret == -EBADMSG || ret == -EIO);
	ret = bgdma_coll_run(c.group, &what);
	require(ret == -EBADMSG || ret == -EIO);
	/* It is the group's end, not that of others. */
	bgdma_coll_group_destroy(c.group);
	require_is(0, bgdma_coll_split(c.coll, NULL, &c.group));
	require_is(0, bgdma_coll_allreduce(c.group, NULL, data, 1, &sum));
	return caller_close(&c);
}

TEST_F(coll, dp8_members_that_do_not_mean_the_same)
{
	int *which = shared(sizeof(*which));

	partition_new("4x2x1", "");
	for (*which = 0; *which < 6; ++*which)
		EXPECT_TRUE(job_run(4, other_meaning, which, -1));
}

/* Each takes itself for the root: nobody waits, but what comes is for none of these. */
static int two_roots(uint32_t rank, uint32_t size, void *arg)
{
	struct caller c = { 0 };
	uint64_t x = rank;
	int i, ret = 0;

	(void)arg;
	require_is(0, open_world(&c));
	place(0, size);
	for (i = 0; !ret && i < 100; i++) {
		ret = bgdma_coll_broadcast(c.group, &x, sizeof(x), rank);
		(void)bgdma_endpoint_wait(c.m.ep, 10000000);
	}
	require(ret == -EBADMSG || ret == -EIO);
	bgdma_coll_group_destroy(c.group);
	require_is(0, bgdma_coll_split(c.coll, NULL, &c.group));
	require_is(0, bgdma_coll_allreduce(c.group, NULL, &x, 1, &sum));
	return caller_close(&c);
}

TEST_F(coll, dp8_members_that_mean_two_roots)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, two_roots, NULL, -1));
}

/* ---- Deaths ------------------------------------------------------------- */

struct death {
	uint32_t victim;
	uint64_t count;
	int after_ms;
};

static int until_somebody_dies(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_collective what = { .kind = BGDMA_ALLREDUCE, .op = &sum };
	const struct death *d = arg;
	struct caller c = { 0 };
	static uint64_t data[20000];
	uint32_t turn = 0;
	int ret;

	require_is(0, open_world(&c));
	what.out = data;
	what.count = d->count;
	place(0, size);
	if (rank == d->victim && !fork()) {
		usleep((useconds_t)d->after_ms * 1000);
		kill(getppid(), SIGKILL);
		_exit(0);
	}
	do {
		what.kind = turn++ % 2 ? BGDMA_ALLREDUCE : BGDMA_BROADCAST;
		what.bytes = d->count * sizeof(*data);
		what.root = turn / 2 % size;
		ret = bgdma_coll_run(c.group, &what);
	} while (!ret);
	require(ret == -EHOSTDOWN || ret == -EIO);
	/* Before anybody else leaves; what others announced is refused meanwhile. */
	require(bgdma_coll_dead(c.group) == d->victim);
	__atomic_fetch_add(&board->here[1], 1, __ATOMIC_ACQ_REL);
	while (load(&board->here[1]) < size - 1)
		(void)bgdma_endpoint_wait(c.m.ep, 1000000);
	require_is(-EHOSTDOWN, bgdma_coll_run(c.group, &what));
	bgdma_coll_group_destroy(c.group);
	return member_leave(&c.m);
}

TEST_F_TIMEOUT(coll, dp8_x3_a_member_dies, 200)
{
	struct death *d = shared(sizeof(*d));
	int i;

	partition_new("4x2x1", "");
	for (i = 0; i < 10; i++) {
		d->victim = (uint32_t)i % 5;
		d->count = i % 2 ? 20000 : 50;
		d->after_ms = 1 + 13 * i;
		board->here[0] = 0;
		board->here[1] = 0;
		EXPECT_TRUE(job_run(5, until_somebody_dies, d,
				    (int)d->victim));
	}
}

/*
 * Who has done his part may leave while others are still at theirs; but none who is yet
 * to begin, and cannot know what was done.
 */
static int leaves_early(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_collective what = { .kind = BGDMA_BROADCAST,
					 .algorithm = BGDMA_RING };
	struct bgdma_coll_request *request;
	struct caller c = { 0 };
	static char data[200000];

	(void)arg;
	require_is(0, open_world(&c));
	what.out = data;
	what.bytes = sizeof(data);
	if (!rank)
		memset(data, 7, sizeof(data));
	require_is(0, bgdma_coll_start(c.group, &what, &request));
	place(0, size);
	if (rank == size - 1)
		usleep(100000);
	require_is(0, bgdma_coll_request_wait(&request, BGDMA_SLEEP, -1));
	require(data[0] == 7 && data[199999] == 7);
	bgdma_coll_group_destroy(c.group);
	return member_leave(&c.m);
}

TEST_F(coll, dp8_x3_one_leaves_before_the_others_are_done)
{
	int i;

	partition_new("4x2x1", "");
	for (i = 0; i < 5; i++) {
		board->here[0] = 0;
		EXPECT_TRUE(job_run(4, leaves_early, NULL, -1));
	}
}

/* ---- What he had sent before -------------------------------------------- */

#define MANY	100	/* more than one progress takes */

static int take(void *arg, uint32_t rank, const struct bgdma_packet *packet)
{
	(void)rank;
	(void)packet;
	++*(int *)arg;
	return 0;
}

/* The root has written to one who is gone before it reads what that one wrote. */
static int gathers_late(uint32_t rank, uint32_t size, void *arg)
{
	int taken = 0, i;
	struct bgdma_send_attr send = { .type = BGDMA_POINT_TO_POINT };
	const struct test_operation operation = { "more", take, 0,
						  &send.operation };
	struct bgdma_collective what = {
		.kind = BGDMA_GATHER, .algorithm = BGDMA_LINEAR,
		.bytes = sizeof(rank), .root = 1, .in = &rank,
	};
	uint32_t got[2] = { 0 };
	struct caller c = { 0 };

	(void)arg;
	require_is(0, open_with(&c, &operation, &taken));
	require_is(0, bgdma_coll_split(c.coll, NULL, &c.group));
	what.out = got;
	place(0, size);
	if (rank == 0) {
		send.dest = 1;
		for (i = 0; i < MANY; i++)
			require_is(0, bgdma_endpoint_send(c.m.ep, &send));
		require_is(0, bgdma_coll_run(c.group, &what));
		bgdma_coll_group_destroy(c.group);
		require_is(0, member_leave(&c.m));
		place(1, size);
		return 0;
	}
	place(1, size);
	require_is(0, bgdma_endpoint_send(c.m.ep, &send));
	require(until(send_failed(c.m.ep)));
	require_is(0, bgdma_coll_run(c.group, &what));
	require(taken == MANY && got[0] == 0 && got[1] == 1);
	require_is(-EHOSTDOWN, bgdma_coll_run(c.group, &what));
	bgdma_coll_group_destroy(c.group);
	return member_leave(&c.m);
}

TEST_F(coll, x3_what_one_who_left_had_sent_counts)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, gathers_late, NULL, -1));
}

/* ---- Two that lost each other -------------------------------------------- */

static int lose(struct caller *c, uint32_t rank)
{
	const struct bgdma_peer *peer = bgdma_endpoint_peer(c->m.ep, rank);
	const struct bgdma_record why = {
		.code = BGDMA_E_LINK_DOWN,
		.peer_rank = peer->node, .peer_ctx = peer->ctx,
	};

	require(bgdma_endpoint_break(c->m.ep, &why));
	return 0;
}

/* The first two enter no barrier any more; the third, who is in one, reaches both. */
static int two_break(uint32_t rank, uint32_t size, void *arg)
{
	struct caller c = { 0 };
	int i;

	(void)arg;
	require_is(0, open_world(&c));
	if (rank == 2)
		require_is(0, bgdma_coll_enter(c.group));
	place(0, size);
	if (rank == 0) {
		require_is(0, lose(&c, 1));
		for (i = 0; i < 100; i++)
			(void)bgdma_endpoint_progress(c.m.ep, 0);
		require_is(-EHOSTDOWN, bgdma_coll_barrier(c.group));
	}
	if (rank == 2)
		require_is(-EHOSTDOWN, bgdma_coll_wait(c.group, BGDMA_SLEEP,
						       3000000000));
	place(1, size);
	bgdma_coll_group_destroy(c.group);
	return member_leave(&c.m);
}

TEST_F(coll, x3_who_waits_for_two_that_lost_each_other_hears_of_it)
{
	partition_new("3x1x1", "");
	EXPECT_TRUE(job_run(3, two_break, NULL, -1));
	/* A set that is no line. */
	memset(board, 0, sizeof(*board));
	partition_new("2x2x1", "");
	EXPECT_TRUE(job_run(3, two_break, NULL, -1));
}

#define SPLITS	4

/* The first two wait for no cards any more, and are through before the third begins. */
static int splits_in_vain(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_coll_group *g;
	struct caller c = { 0 };
	unsigned int i;

	(void)arg;
	require_is(0, open_world(&c));
	place(0, size);
	if (rank == 0)
		require_is(0, lose(&c, 1));
	if (rank < 2) {
		/* Neither has a card of the other's. */
		require(until(bgdma_endpoint_progress(c.m.ep, 0) >= 0 &&
			      bgdma_coll_dead(c.group) == 1 - rank));
		place(1, 2);
	}
	while (rank == 2 && load(&board->here[2]) < 2)
		usleep(1000);
	for (i = 0; i < SPLITS; i++)
		require_is(-EHOSTDOWN, bgdma_coll_split(c.coll, NULL, &g));
	place(2, size);
	require_is(0, malformed(&c));
	bgdma_coll_group_destroy(c.group);
	return member_leave(&c.m);
}

TEST_F(coll, x3_who_gave_up_is_missed_at_no_later_split)
{
	partition_new("3x1x1", "");
	EXPECT_TRUE(job_run(3, splits_in_vain, NULL, -1));
}

/* In a callback, where it cannot wait. */
static int split_here(void *arg, uint32_t rank, const struct bgdma_packet *packet)
{
	struct bgdma_coll_group *g;
	struct caller *c = arg;

	(void)rank;
	(void)packet;
	require_is(-EDEADLK, bgdma_coll_split(c->coll, NULL, &g));
	place(1, 1);
	return 0;
}

static uint64_t packets_taken(struct caller *c)
{
	struct bgdma_endpoint_stats stats;

	require(bgdma_endpoint_progress(c->m.ep, 0) >= 0);
	bgdma_endpoint_stats(c->m.ep, &stats);
	return stats.packets;
}

/* The first gives up one, and is in the next, before the second begins either. */
static int split_after_one_in_vain(uint32_t rank, uint32_t size, void *arg)
{
	struct caller c = { 0 };
	struct bgdma_send_attr send = { .type = BGDMA_POINT_TO_POINT };
	const struct test_operation operation = { "split", split_here, 0,
						  &send.operation };
	uint64_t x = 1;

	(void)arg;
	require_is(0, open_with(&c, &operation, &c));
	place(0, size);
	if (rank == 0) {
		require_is(0, bgdma_endpoint_send(c.m.ep, &send));
		require(until(bgdma_endpoint_progress(c.m.ep, 0) >= 0 &&
			      load(&board->here[1])));
	} else {
		/* Its card of the one, that it gave that up, its card of the next. */
		require(until(packets_taken(&c) == 3));
		require_is(-EIO, bgdma_coll_split(c.coll, NULL, &c.group));
	}
	require_is(0, bgdma_coll_split(c.coll, NULL, &c.group));
	require_is(0, bgdma_coll_allreduce(c.group, NULL, &x, 1, &sum));
	require(x == size);
	require_is(0, malformed(&c));
	return caller_close(&c);
}

TEST_F(coll, x3_who_gave_up_one_split_is_in_the_next)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, split_after_one_in_vain, NULL, -1));
}

/* ---- An end in the middle ------------------------------------------------ */

#define LONG	(1U << 17)

/* Who has waited long enough ends, with what was announced and not fetched. */
static int ends_in_the_middle(uint32_t rank, uint32_t size, void *arg)
{
	static uint64_t data[LONG];
	const struct bgdma_split_attr *split = arg;
	struct bgdma_collective what = {
		.kind = BGDMA_ALLREDUCE, .op = &sum, .out = data, .count = LONG,
		.algorithm = BGDMA_DOUBLING,
	};
	struct bgdma_coll_request *r;
	struct caller c = { 0 };

	require_is(0, caller_open(&c, 1));
	require_is(0, bgdma_coll_split(c.coll, split, &c.group));
	place(0, size);
	if (rank == 0) {
		require_is(0, bgdma_coll_start(c.group, &what, &r));
		require_is(-ETIMEDOUT, bgdma_coll_request_wait(&r, BGDMA_SLEEP,
							       50000000));
		bgdma_endpoint_destroy(c.m.ep);
		bgdma_job_close(c.m.job);
	}
	place(1, size);
	if (rank == 0)
		return 0;
	bgdma_coll_group_destroy(c.group);
	return member_leave(&c.m);
}

TEST_F(coll, lc2_who_ends_in_the_middle_of_one)
{
	struct bgdma_split_attr split = { 0 };

	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, ends_in_the_middle, &split, -1));
	memset(board, 0, sizeof(*board));
	split.flags = BGDMA_SPLIT_ENGINES;
	EXPECT_TRUE(job_run(2, ends_in_the_middle, &split, -1));
}

/* ---- Where one cannot wait ------------------------------------------------ */

static int broadcast_here(void *arg, uint32_t rank,
			  const struct bgdma_packet *packet)
{
	struct caller *c = arg;
	uint64_t x = 7;

	(void)rank;
	(void)packet;
	require_is(-EDEADLK, bgdma_coll_broadcast(c->group, &x, sizeof(x), 0));
	place(1, 1);
	return 0;
}

/* What cannot be waited for is not begun. */
static int runs_in_a_callback(uint32_t rank, uint32_t size, void *arg)
{
	struct caller c = { 0 };
	struct bgdma_send_attr send = { .type = BGDMA_POINT_TO_POINT };
	const struct test_operation operation = { "run", broadcast_here, 0,
						  &send.operation };
	uint64_t x = rank ? 0 : 9;

	(void)arg;
	require_is(0, open_with(&c, &operation, &c));
	require_is(0, bgdma_coll_split(c.coll, NULL, &c.group));
	if (rank == 0) {
		require_is(0, bgdma_endpoint_send(c.m.ep, &send));
		require(until(bgdma_endpoint_progress(c.m.ep, 0) >= 0 &&
			      load(&board->here[1])));
	}
	place(0, size);
	require_is(0, bgdma_coll_broadcast(c.group, &x, sizeof(x), 0));
	require_is(9, x);
	return caller_close(&c);
}

TEST_F(coll, dp8_nothing_is_begun_in_a_callback)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, runs_in_a_callback, NULL, -1));
}

/* ---- Many that are announced ---------------------------------------------- */

#define AHEAD	7000U		/* times five: more than can be under way */
#define LENGTH	5000U

static int announces_all(uint32_t rank, uint32_t size, void *arg)
{
	/* So much room that no window ends it before. */
	const struct bgdma_endpoint_attr ep = { .data_bytes = 16U << 20 };
	static struct bgdma_coll_request *r[AHEAD];
	static char data[LENGTH];
	struct bgdma_collective what = {
		.kind = BGDMA_BROADCAST, .algorithm = BGDMA_LINEAR,
		.out = data, .bytes = LENGTH,
	};
	struct caller c = { 0 };
	uint32_t i;

	(void)arg;
	require_is(0, caller_open_as(&c, &ep));
	require_is(0, bgdma_coll_split(c.coll, NULL, &c.group));
	for (i = 0; !rank && i < AHEAD; i++)
		require_is(0, bgdma_coll_start(c.group, &what, &r[i]));
	place(0, size);
	for (i = 0; i < AHEAD; i++) {
		if (rank)
			require_is(0, bgdma_coll_run(c.group, &what));
		else
			require_is(0, bgdma_coll_request_wait(&r[i],
							      BGDMA_SLEEP, -1));
	}
	return caller_close(&c);
}

TEST_F_TIMEOUT(coll, dp8_lc6_more_announced_than_can_be_under_way, 300)
{
	partition_new("3x2x1", "");
	EXPECT_TRUE(job_run(6, announces_all, NULL, -1));
}

TEST_HARNESS_MAIN
