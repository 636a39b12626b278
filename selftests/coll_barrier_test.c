// SPDX-License-Identifier: GPL-2.0
/*
 * Barriers of the coll module: the timeline of BA-5, barriers back to back, sets
 * of all kinds, and members that die.
 */
#include <stdlib.h>

#include "kselftest_harness.h"
#include "coll_util.h"

/* On a slow kernel fewer: they go on there for as long as elsewhere. */
#define ROUNDS		500U
#define UNDER_LOAD	1000U
#define BACK_TO_BACK	3000U	/* or as many as BGDMA_BARRIERS says */

FIXTURE(barrier) {
};

FIXTURE_SETUP(barrier)
{
	board = shared(sizeof(*board));
}

FIXTURE_TEARDOWN(barrier)
{
}

struct set {
	const char *dims, *torus;
	uint32_t size, per_node;
	struct bgdma_split_attr split;
	uint32_t by;		/* colour: rank % by */
	uint32_t rounds;	/* 0: as many as is usual */
	uint32_t plans;		/* of rank 0, 1 and so on, then again */
	struct bgdma_coll_plan plan[RANKS_MAX];
	bool load;		/* for the processors; and who waits sleeps */
};

/* ---- BA-5 -------------------------------------------------------------- */

static const uint32_t order[4] = { 2, 0, 1, 3 };
static const int64_t timeline[4][4] = {
	{ -1, -1, 3, -1 }, { 2, -2, 2, -2 }, { 1, 1, 1, -3 }, { 0, 0, 0, 0 },
};

/* No counter that is below zero is told of, nor is anything else (DMA-5). */
static bool is_quiet(const struct caller *c)
{
	const struct bgdma_ctx *ctx = bgdma_endpoint_ctx(c->m.ep);

	return !bgdma_events_pending(ctx) && !bgdma_events_lost(ctx) &&
	       !bgdma_counter_failed(bgdma_coll_counter(c->group, 0));
}

static int timeline_member(uint32_t rank, uint32_t size, void *arg)
{
	const struct bgdma_split_attr *split = arg;
	const struct bgdma_counter *counter;
	struct caller c = { 0 };
	uint32_t step;

	require_is(0, caller_open(&c, 1));
	require_is(0, bgdma_coll_split(c.coll, split, &c.group));
	counter = bgdma_coll_counter(c.group, 0);
	require(counter);
	require_is(0, bgdma_counter_read(counter));	/* BA-1 */
	for (step = 0; step < 4; step++) {
		place(2 * step, size);
		if (order[step] == rank)
			require_is(0, bgdma_coll_enter(c.group));
		/* The engines need a while; nobody else enters meanwhile. */
		require(until(bgdma_counter_read(counter) ==
			      timeline[step][rank]));
		if (step < 3 && bgdma_counter_read(counter) > 0)
			require_is(-EAGAIN, bgdma_coll_test(c.group));
		place(2 * step + 1, size);
		/* And it is not on its way to something else. */
		require_is(timeline[step][rank], bgdma_counter_read(counter));
		require(is_quiet(&c));
	}
	require_is(0, bgdma_coll_wait(c.group, BGDMA_SLEEP,
				      (int64_t)PATIENCE_NS));
	require_is(-EINVAL, bgdma_coll_test(c.group));
	return caller_close(&c);
}

static bool timeline_of(const char *torus, uint32_t flags)
{
	struct bgdma_split_attr split = { .flags = flags };

	partition_new("4x1x1", torus);
	return job_run(4, timeline_member, &split, -1);
}

TEST_F(barrier, ba5_timeline_on_a_torus)
{
	EXPECT_TRUE(timeline_of("torus x", 0));
}

TEST_F(barrier, ba5_timeline_on_a_mesh)
{
	EXPECT_TRUE(timeline_of("torus none", 0));
}

TEST_F(barrier, ba5_ba3_timeline_without_replies)
{
	EXPECT_TRUE(timeline_of("torus x", BGDMA_SPLIT_NO_REPLY));
}

TEST_F(barrier, ba5_ba7_timeline_of_plain_packets)
{
	EXPECT_TRUE(timeline_of("torus x", BGDMA_SPLIT_PLAIN));
}

TEST_F(barrier, ba5_timeline_of_puts)
{
	EXPECT_TRUE(timeline_of("torus x", BGDMA_SPLIT_PUT));
}

TEST_F(barrier, ba5_ba7_timeline_of_plain_puts)
{
	EXPECT_TRUE(timeline_of("torus x", BGDMA_SPLIT_PUT | BGDMA_SPLIT_PLAIN));
}

#define SLEEPS	3	/* at most, for seven others */

/* Whether a process sleeps in the kernel. */
static bool is_asleep(pid_t pid)
{
	char path[32], state = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "r");
	if (file) {
		/* Its name is before it, in parentheses. */
		if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
			state = 0;
		fclose(file);
	}
	return state == 'S';
}

/*
 * Rank 0 sleeps while the others enter, one by one: of those entries that leave its
 * counter above zero none wakes it. What else goes on there may do so now and then.
 */
static int sleeper_member(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_endpoint_stats before, after;
	struct caller c = { 0 };

	(void)arg;
	require_is(0, caller_open(&c, 1));
	require_is(0, bgdma_coll_split(c.coll, NULL, &c.group));
	require_is(0, bgdma_coll_barrier(c.group));
	place(0, size);
	bgdma_endpoint_stats(c.m.ep, &before);
	if (!rank) {
		require_is(0, bgdma_coll_enter(c.group));
		store(&board->value[0], getpid());
	} else {
		require(until(load(&board->value[rank - 1])));
		require(until(is_asleep((pid_t)load(&board->value[0]))));
		require_is(0, bgdma_coll_enter(c.group));
		/* Time to wake it, if it did. */
		usleep(2000);
		store(&board->value[rank], 1);
	}
	require_is(0, bgdma_coll_wait(c.group, BGDMA_SLEEP,
				      (int64_t)PATIENCE_NS));
	bgdma_endpoint_stats(c.m.ep, &after);
	require(rank || after.sleeps - before.sleeps <= SLEEPS);
	return caller_close(&c);
}

TEST_F_TIMEOUT(barrier, ba4_who_sleeps_is_woken_at_the_exit_value, 120)
{
	partition_new("8x1x1", "");
	EXPECT_TRUE(job_run(8, sleeper_member, NULL, -1));
}

/* ---- BA-4, BA-6, BA-7 -------------------------------------------------- */

/* Nobody leaves before all have entered, nobody is two ahead. */
static int rounds(struct caller *c, const struct set *set)
{
	uint32_t rank = c->m.rank, i, r, other;
	uint32_t last = set->rounds ? set->rounds : ROUNDS / slowness();
	int64_t seen;

	for (i = 1; i <= last; i++) {
		store(&board->round[rank], i);
		require_is(0, bgdma_coll_enter(c->group));
		require_is(0, bgdma_coll_wait(c->group, set->load ?
					      BGDMA_SLEEP :
					      BGDMA_SPIN_THEN_SLEEP,
					      (int64_t)PATIENCE_NS));
		for (r = 0; r < bgdma_coll_size(c->group); r++) {
			other = bgdma_coll_member(c->group, r);
			seen = load(&board->round[other]);
			require(seen == i || seen == i + 1);
		}
	}
	return 0;
}

static bool same_plan(const struct bgdma_coll_plan *a,
		      const struct bgdma_coll_plan *b)
{
	return a->steps == b->steps && a->packets == b->packets &&
	       a->hops == b->hops && a->replies == b->replies &&
	       a->deposit == b->deposit && a->reply_hops == b->reply_hops;
}

static int set_member(uint32_t rank, uint32_t size, void *arg)
{
	const struct set *set = arg;
	const struct bgdma_coll_plan *wanted = &set->plan[rank % set->plans];
	struct bgdma_split_attr split = set->split;
	struct bgdma_coll_plan plan;
	struct caller c = { 0 };
	int ret;

	(void)size;
	if (set->by)
		split.color = rank % set->by;
	require_is(0, caller_open(&c, set->per_node ? set->per_node : 1));
	require_is(0, bgdma_coll_split(c.coll, &split, &c.group));
	require_is(rank, bgdma_coll_member(c.group, bgdma_coll_rank(c.group)));
	require_is(BGDMA_STRANGER, bgdma_coll_member(c.group,
					bgdma_coll_size(c.group)));
	bgdma_coll_plan(c.group, &plan);
	if (!same_plan(&plan, wanted))
		fprintf(stderr, "# %u: %u steps, packets %u (%u), replies %u (%u), deposit %d\n",
			rank, plan.steps, plan.packets, plan.hops, plan.replies,
			plan.reply_hops, plan.deposit);
	require(same_plan(&plan, wanted));
	ret = rounds(&c, set);
	return ret ? ret : caller_close(&c);
}

static pid_t busy(void)
{
	volatile unsigned int rounds = 0;
	pid_t pid = must(fork());

	if (pid)
		return pid;
	for (;;)
		rounds++;
}

static bool set_runs(const struct set *set)
{
	pid_t load[2] = { 0 };
	bool well;
	int i;

	partition_new(set->dims, set->torus ? set->torus : "torus xyz");
	for (i = 0; set->load && i < 2; i++)
		load[i] = busy();
	well = job_run(set->size, set_member, (void *)set, -1);
	for (i = 0; set->load && i < 2; i++)
		kill_child(load[i], SIGKILL);
	return well;
}

#define SET(test, timeout, ...)						\
TEST_F_TIMEOUT(barrier, test, timeout)						\
{									\
	const struct set set = { __VA_ARGS__ };				\
									\
	if (set.per_node && links_wanted())				\
		SKIP(return, "over links a job has a node for each");	\
	EXPECT_TRUE(set_runs(&set));					\
}

/* Steps, packets, hops, replies, by deposit bit, hops of replies. */
#define PLANS(n, ...)	.plans = (n), .plan = { __VA_ARGS__ }
#define PLAN(...)	PLANS(1, { __VA_ARGS__ })

SET(ba6_sleepers_under_load, 600, .dims = "4x1x1", .size = 4,
	.rounds = UNDER_LOAD / slowness(), .load = true,
	PLAN(1, 1, 3, 3, true, 4))
SET(ba2_ring_of_two, 120, .dims = "2x1x1", .size = 2,
	PLAN(1, 1, 1, 1, true, 1))
SET(ba2_ring_of_three, 120, .dims = "3x1x1", .size = 3,
	PLAN(1, 1, 2, 2, true, 2))
SET(ba2_ring_of_eight, 120, .dims = "1x8x1", .size = 8,
	PLAN(1, 1, 7, 7, true, 16))
/* An end node sends one packet, others two. */
SET(ba2_mesh, 120, .dims = "1x1x4", .size = 4, .torus = "torus none",
	PLANS(4, { 1, 1, 3, 3, true, 6 }, { 1, 2, 3, 3, true, 4 },
	      { 1, 2, 3, 3, true, 4 }, { 1, 1, 3, 3, true, 6 }))
SET(ba3_without_replies, 120, .dims = "4x1x1", .size = 4,
	.split.flags = BGDMA_SPLIT_NO_REPLY, PLAN(1, 1, 3, 0, true, 0))
SET(ba2_ring_by_puts, 120, .dims = "4x1x1", .size = 4,
	.split.flags = BGDMA_SPLIT_PUT, PLAN(1, 1, 3, 0, true, 0))
SET(ba2_mesh_by_puts, 120, .dims = "1x1x4", .size = 4, .torus = "torus none",
	.split.flags = BGDMA_SPLIT_PUT,
	PLANS(4, { 1, 1, 3, 0, true, 0 }, { 1, 2, 3, 0, true, 0 },
	      { 1, 2, 3, 0, true, 0 }, { 1, 1, 3, 0, true, 0 }))
SET(ba6_sleepers_under_load_by_puts, 600, .dims = "4x1x1", .size = 4,
	.rounds = UNDER_LOAD / slowness(), .load = true,
	.split.flags = BGDMA_SPLIT_PUT | BGDMA_SPLIT_PLAIN,
	PLAN(1, 3, 4, 0, false, 0))
SET(ba7_three_axes_by_puts, 120, .dims = "2x2x2", .size = 8,
	.split.flags = BGDMA_SPLIT_PUT, PLAN(3, 3, 3, 0, true, 0))
SET(ba7_two_on_a_node_by_puts, 120, .dims = "2x1x1", .size = 4, .per_node = 2,
	.split.flags = BGDMA_SPLIT_PUT, PLAN(1, 3, 2, 0, false, 0))
SET(ba2_alone, 120, .dims = "1x1x1", .size = 1, PLAN(0, 0, 0, 0, false, 0))
SET(ba7_two_axes, 120, .dims = "2x3x1", .size = 6,
	PLAN(2, 2, 3, 3, true, 3))
SET(ba7_three_axes, 120, .dims = "2x2x2", .size = 8, .torus = "torus y",
	PLAN(3, 3, 3, 3, true, 3))
/* The one in the middle of a line of a mesh sends two there, and one along Y. */
SET(ba7_mesh_and_ring, 120, .dims = "3x2x1", .size = 6, .torus = "torus y",
	PLANS(3, { 2, 2, 3, 3, true, 4 }, { 2, 3, 3, 3, true, 3 },
	      { 2, 2, 3, 3, true, 4 }))
/* Any set: as far as its members are from each other. */
SET(ba7_part_of_a_line, 120, .dims = "8x1x1", .size = 3,
	PLANS(3, { 1, 2, 3, 2, false, 3 }, { 1, 2, 2, 2, false, 2 },
	      { 1, 2, 3, 2, false, 3 }))
/* Of (0, 0), (3, 0) and (2, 1) the first two are neighbours; and so on. */
SET(ba7_strewn, 120, .dims = "4x2x1", .size = 8, .torus = "torus x", .by = 3,
	PLANS(8, { 1, 2, 4, 2, false, 4 }, { 1, 2, 5, 2, false, 5 },
	      { 1, 1, 2, 1, false, 2 }, { 1, 2, 3, 2, false, 3 },
	      { 1, 2, 3, 2, false, 3 }, { 1, 1, 2, 1, false, 2 },
	      { 1, 2, 5, 2, false, 5 }, { 1, 2, 4, 2, false, 4 }))
SET(ba7_two_on_a_node, 120, .dims = "2x1x1", .size = 4, .per_node = 2,
	PLAN(1, 3, 2, 3, false, 2))
SET(ba7_plain, 120, .dims = "4x1x1", .size = 4,
	.split.flags = BGDMA_SPLIT_PLAIN | BGDMA_SPLIT_NO_REPLY,
	PLAN(1, 3, 4, 0, false, 0))
SET(ba7_by_axis, 120, .dims = "2x4x1", .size = 8,
	.split.flags = BGDMA_SPLIT_Y, PLAN(1, 1, 3, 3, true, 4))
SET(ba7_by_plane, 120, .dims = "2x2x2", .size = 8,
	.split.flags = BGDMA_SPLIT_X | BGDMA_SPLIT_Z,
	PLAN(2, 2, 2, 2, true, 2))
SET(ba7_by_colour, 120, .dims = "4x1x1", .size = 4, .by = 2,
	PLAN(1, 1, 2, 1, false, 2))

/* ---- More than one group ----------------------------------------------- */

/* World, halves by colour in reverse order, and a group of some. */
static int groups_member(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_coll_group *half, *some;
	struct caller c = { 0 };
	uint32_t i;

	(void)arg;
	require_is(0, caller_open(&c, 1));
	require_is(-EINVAL, bgdma_coll_split(c.coll, &(struct bgdma_split_attr){
				.flags = 1U << 7 }, &c.group));
	require_is(0, bgdma_coll_split(c.coll, NULL, &c.group));
	require_is(0, bgdma_coll_split(c.coll, &(struct bgdma_split_attr){
				.color = rank & 1, .key = size - rank }, &half));
	require_is(0, bgdma_coll_split(c.coll, &(struct bgdma_split_attr){
				.color = rank ? 5 : BGDMA_SPLIT_NONE }, &some));
	require_is(size, bgdma_coll_size(c.group));
	require_is(rank, bgdma_coll_rank(c.group));
	require_is(size / 2, bgdma_coll_size(half));
	require_is((rank & 1) ? size - 1 : size - 2,
		   bgdma_coll_member(half, 0));
	require_is(!rank, !some);
	for (i = 0; i < 200; i++) {
		/* Split barriers of different groups at the same time. */
		require_is(0, bgdma_coll_enter(half));
		require_is(-EBUSY, bgdma_coll_enter(half));
		require_is(0, bgdma_coll_enter(c.group));
		if (some)
			require_is(0, bgdma_coll_barrier(some));
		require_is(0, bgdma_coll_wait(c.group, BGDMA_SLEEP, -1));
		while (bgdma_coll_test(half) == -EAGAIN)
			;
		require_is(-EINVAL, bgdma_coll_test(half));
		require_is(-EINVAL, bgdma_coll_wait(half, BGDMA_SLEEP, 0));
	}
	/* Over only when all are in it. */
	if (rank) {
		require_is(0, bgdma_coll_enter(c.group));
		require_is(-EAGAIN, bgdma_coll_test(c.group));
		require_is(-ETIMEDOUT, bgdma_coll_wait(c.group, BGDMA_SLEEP,
						       1000000));
	}
	place(0, size);
	if (!rank)
		require_is(0, bgdma_coll_enter(c.group));
	require_is(0, bgdma_coll_wait(c.group, BGDMA_SLEEP, -1));
	bgdma_coll_group_destroy(half);
	bgdma_coll_group_destroy(some);
	return caller_close(&c);
}

TEST_F_TIMEOUT(barrier, ba4_ba7_groups_at_the_same_time, 120)
{
	partition_new("4x1x1", "");
	EXPECT_TRUE(job_run(4, groups_member, NULL, -1));
}

static int uncommitted(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_coll_group *group;
	struct bgdma_coll *coll;
	struct member m;

	(void)rank;
	(void)size;
	(void)arg;
	require_is(0, member_open(&m, NULL));
	require_is(0, bgdma_coll_create(&coll, m.ep, m.job));
	require_is(-ENOTCONN, bgdma_coll_split(coll, NULL, &group));
	require_is(0, bgdma_endpoint_commit(m.ep, NULL));
	require_is(-EBUSY, bgdma_coll_create(&coll, m.ep, m.job));
	return member_close(&m);
}

TEST_F(barrier, ba1_not_before_the_commit)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, uncommitted, NULL, -1));
}

/* ---- Deaths ------------------------------------------------------------ */

#define VICTIM	2

enum when { BEFORE_ALL, BEFORE_ENTRY, AFTER_ENTRY, LATER, WHEN_COUNT };

struct death {
	enum when when;
	uint32_t flags;
};

static int survivor(struct caller *c, uint32_t size)
{
	int ret = 0, i;

	/* However many go through: those that it had entered. */
	for (i = 0; c->group && !ret && i < 100; i++)
		ret = bgdma_coll_barrier(c->group);
	if (c->group) {
		require_is(-EHOSTDOWN, ret);
		require_is(VICTIM, bgdma_coll_dead(c->group));
		require_is(-EHOSTDOWN, bgdma_coll_enter(c->group));
	}
	/* Who leaves is one that is gone, too. */
	place(1, size - 1);
	bgdma_coll_group_destroy(c->group);
	return member_leave(&c->m);
}

static int death_member(uint32_t rank, uint32_t size, void *arg)
{
	const struct death *death = arg;
	const struct bgdma_split_attr split = { .flags = death->flags };
	struct caller c = { 0 };
	uint32_t i;
	int ret;

	require_is(0, caller_open(&c, 1));
	ret = bgdma_coll_split(c.coll, &split, &c.group);
	if (rank != VICTIM) {
		/* It may die before the last has heard that it is ready. */
		require(!ret || ret == -EHOSTDOWN);
		if (death->when == BEFORE_ALL)
			place(0, size - 1);
		return survivor(&c, size);
	}
	require_is(0, ret);
	if (death->when == BEFORE_ENTRY)
		usleep(20000);
	for (i = 0; death->when == LATER && i < 50; i++)
		require_is(0, bgdma_coll_barrier(c.group));
	if (death->when >= AFTER_ENTRY)
		require_is(0, bgdma_coll_enter(c.group));
	return raise(SIGKILL);
}

static void deaths_in_line(struct __test_metadata *_metadata, const char *torus)
{
	static const uint32_t flags[] = {
		0, BGDMA_SPLIT_NO_REPLY, BGDMA_SPLIT_PLAIN, BGDMA_SPLIT_PUT,
		BGDMA_SPLIT_PUT | BGDMA_SPLIT_PLAIN,
	};
	struct death death;
	unsigned int i;

	partition_new("4x1x1", torus);
	for (death.when = 0; death.when < WHEN_COUNT; death.when++) {
		for (i = 0; i < ARRAY_SIZE(flags); i++) {
			memset(board, 0, sizeof(*board));
			death.flags = flags[i];
			EXPECT_TRUE(job_run(4, death_member, &death, VICTIM))
				TH_LOG("%s: death %u, flags %x", torus,
				       death.when, death.flags);
		}
	}
}

TEST_F_TIMEOUT(barrier, x3_ba4_a_member_dies, 300)
{
	deaths_in_line(_metadata, "torus x");
}

TEST_F_TIMEOUT(barrier, x3_ba4_a_member_dies_on_a_mesh, 300)
{
	deaths_in_line(_metadata, "torus none");
}

/*
 * Those on no line with the dead one wait for others, who give up and say so.
 * That they know of the death themselves is not enough to end their barrier.
 */
static void deaths_in_box(struct __test_metadata *_metadata, const char *dims,
			  uint32_t size)
{
	struct death death = { 0 };

	partition_new(dims, "");
	for (death.when = 0; death.when < WHEN_COUNT; death.when++) {
		memset(board, 0, sizeof(*board));
		EXPECT_TRUE(job_run(size, death_member, &death, VICTIM))
			TH_LOG("%s, death %u", dims, death.when);
	}
}

TEST_F_TIMEOUT(barrier, x3_ba7_a_member_of_a_box_dies, 300)
{
	deaths_in_box(_metadata, "2x2x1", 4);
	deaths_in_box(_metadata, "2x2x2", 8);
}

/* VICTIM leaves the last barrier and is gone; the others look when they know. */
static int late_member(uint32_t rank, uint32_t size, void *arg)
{
	const struct bgdma_split_attr *split = arg;
	const struct bgdma_counter *counter;
	struct caller c = { 0 };

	require_is(0, caller_open(&c, 1));
	require_is(0, bgdma_coll_split(c.coll, split, &c.group));
	require_is(0, bgdma_coll_barrier(c.group));
	require_is(0, bgdma_coll_enter(c.group));
	if (rank == VICTIM) {
		require_is(0, bgdma_coll_wait(c.group, BGDMA_SLEEP, -1));
		return raise(SIGKILL);
	}
	counter = bgdma_coll_counter(c.group, 0);
	require(until(!bgdma_counter_read(counter)));
	require(until(bgdma_endpoint_progress(c.m.ep, 64) >= 0 &&
		      bgdma_coll_dead(c.group) == VICTIM));
	require_is(0, rank ? bgdma_coll_test(c.group) :
			     bgdma_coll_wait(c.group, BGDMA_SLEEP, -1));
	require_is(-EHOSTDOWN, bgdma_coll_test(c.group));
	require_is(-EHOSTDOWN, bgdma_coll_enter(c.group));
	place(1, size - 1);
	bgdma_coll_group_destroy(c.group);
	return member_leave(&c.m);
}

TEST_F_TIMEOUT(barrier, x3_ba4_over_though_a_member_is_gone, 120)
{
	struct bgdma_split_attr split = { 0 };

	partition_new("4x1x1", "");
	EXPECT_TRUE(job_run(4, late_member, &split, VICTIM));
	memset(board, 0, sizeof(*board));
	split.flags = BGDMA_SPLIT_PLAIN;
	EXPECT_TRUE(job_run(4, late_member, &split, VICTIM));
	memset(board, 0, sizeof(*board));
	split.flags = BGDMA_SPLIT_PUT;
	EXPECT_TRUE(job_run(4, late_member, &split, VICTIM));
}

/*
 * All have entered a barrier over two axes. Two have left it and are gone; the
 * others look when they know, and have not yet entered their last line.
 */
static int box_member(uint32_t rank, uint32_t size, void *arg)
{
	struct caller c = { 0 };

	(void)arg;
	require_is(0, caller_open(&c, 1));
	require_is(0, bgdma_coll_split(c.coll, NULL, &c.group));
	require_is(0, bgdma_coll_barrier(c.group));
	require_is(0, bgdma_coll_enter(c.group));
	place(0, size);
	if (rank % 2 == 0) {
		require_is(0, bgdma_coll_wait(c.group, BGDMA_SLEEP, -1));
		place(1, size / 2);
		bgdma_coll_group_destroy(c.group);
		return member_leave(&c.m);
	}
	require(until(bgdma_endpoint_progress(c.m.ep, 64) >= 0 &&
		      bgdma_coll_dead(c.group) != BGDMA_STRANGER));
	require_is(0, bgdma_coll_wait(c.group, BGDMA_SLEEP, -1));
	require_is(-EHOSTDOWN, bgdma_coll_test(c.group));
	require_is(-EHOSTDOWN, bgdma_coll_enter(c.group));
	place(2, size / 2);
	bgdma_coll_group_destroy(c.group);
	return member_leave(&c.m);
}

TEST_F_TIMEOUT(barrier, x3_ba7_over_though_others_have_left_a_box, 120)
{
	partition_new("2x2x1", "");
	EXPECT_TRUE(job_run(4, box_member, NULL, -1));
}

/* The last, since it can take longest: who waits looks first, then sleeps. */
TEST_F_TIMEOUT(barrier, ba6_back_to_back, 3600)
{
	const char *count = getenv("BGDMA_BARRIERS");
	const struct set set = {
		.dims = "4x1x1", .size = 4, PLAN(1, 1, 3, 3, true, 4),
		.rounds = count ? (uint32_t)strtoul(count, NULL, 10) :
				  BACK_TO_BACK / slowness(),
	};
	__u64 begin = now_ns();

	EXPECT_TRUE(set_runs(&set));
	TH_LOG("%u barriers, %llu us each", set.rounds,
	       (unsigned long long)(now_ns() - begin) / 1000 / set.rounds);
}

TEST_HARNESS_MAIN
