// SPDX-License-Identifier: GPL-2.0
/*
 * Collectives by the combining network: which are, in which order, and what becomes of
 * a group of which a member dies or means something else.
 */
#include <signal.h>

#include <bgdma/collective.h>

#include "kselftest_harness.h"
#include "coll_util.h"
#include "links.h"
#include "tool.h"

FIXTURE(engines) {
};

FIXTURE_SETUP(engines)
{
	board = shared(sizeof(*board));
	partition_new("8x1x1", "");
}

FIXTURE_TEARDOWN(engines)
{
}

static const struct bgdma_operator sum = { .reduction = BGDMA_SUM,
					   .element = BGDMA_S64 };

static int split(struct caller *c, struct bgdma_coll_group **group)
{
	return bgdma_coll_split(c->coll, &(struct bgdma_split_attr){
		.flags = BGDMA_SPLIT_ENGINES }, group);
}

static int world(struct caller *c)
{
	require_is(0, caller_open(c, 1));
	return split(c, &c->group);
}

static struct bgdma_collective allreduce(int64_t *value, uint64_t count)
{
	return (struct bgdma_collective){
		.kind = BGDMA_ALLREDUCE, .algorithm = BGDMA_ENGINES,
		.out = value, .count = count, .op = &sum,
	};
}

#define SHORT	62	/* elements of 64 bits that go directly */

/* ---- Which -------------------------------------------------------------- */

static int choose(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_operator op = sum;
	struct bgdma_collective what = { .kind = BGDMA_ALLREDUCE, .count = 1,
					 .op = &op };
	struct bgdma_coll_group *plain;
	struct caller c;
	double value = 1;

	(void)arg;
	(void)rank;
	(void)size;
	require_is(0, world(&c));
	what.out = &value;
	/* Few bytes of few members need no network. */
	require_is(BGDMA_DIRECT, bgdma_coll_algorithm(c.group, &what));
	what.count = SHORT;
	require_is(BGDMA_DIRECT, bgdma_coll_algorithm(c.group, &what));
	what.count = SHORT + 1;
	require_is(BGDMA_ENGINES, bgdma_coll_algorithm(c.group, &what));
	op.element = BGDMA_F64;
	require_is(BGDMA_ENGINES, bgdma_coll_algorithm(c.group, &what));
	what.summation = BGDMA_SUM_PLAIN;
	require_is(BGDMA_DOUBLING, bgdma_coll_algorithm(c.group, &what));
	what.count = 1;
	require_is(BGDMA_DIRECT, bgdma_coll_algorithm(c.group, &what));
	what.algorithm = BGDMA_ENGINES;
	require_is(-EINVAL, bgdma_coll_algorithm(c.group, &what));
	op.element = BGDMA_S8;
	require_is(-EINVAL, bgdma_coll_run(c.group, &what));
	op.element = BGDMA_S32;
	op.reduction = BGDMA_PROD;
	require_is(-EINVAL, bgdma_coll_run(c.group, &what));
	op.reduction = BGDMA_BXOR;
	what.count = 2 * SHORT + 1;
	require_is(BGDMA_ENGINES, bgdma_coll_algorithm(c.group, &what));
	/* A group that did not ask for them. */
	require_is(0, bgdma_coll_split(c.coll, NULL, &plain));
	require_is(-EINVAL, bgdma_coll_algorithm(plain, &what));
	bgdma_coll_group_destroy(plain);
	place(0, size);
	return caller_close(&c);
}

TEST_F(engines, dp8_which_are_theirs)
{
	EXPECT_TRUE(job_run(3, choose, NULL, -1));
}

/* ---- Where in the tree ---------------------------------------------------- */

/* Links between each member and its children, of a cube or of less, as the tool tells. */
static unsigned int tree_hops(void)
{
	unsigned int node = 0, ctx, other, hops = 0;
	char out[16384], *line, *at;

	require_is(0, run_tool("tree show " PARTITION, out, sizeof(out)));
	for (line = strtok_r(out, "\n", &at); line;
	     line = strtok_r(NULL, "\n", &at)) {
		if (sscanf(line, PARTITION "/%u.%u", &node, &ctx) == 2)
			continue;
		if (sscanf(line, "    child " PARTITION "/%u.%u", &other,
			   &ctx) == 2)
			hops += (unsigned int)__builtin_popcount(node ^ other);
	}
	return hops;
}

struct where {
	uint32_t per_node;
	unsigned int hops;
};

static int near(uint32_t rank, uint32_t size, void *arg)
{
	const struct where *where = arg;
	struct bgdma_coll_group *group;
	int64_t value = rank + 1;
	struct bgdma_collective what = allreduce(&value, 1);
	struct caller c;

	require_is(0, caller_open(&c, where->per_node));
	/* By key the last one is first, and the root. */
	require_is(0, bgdma_coll_split(c.coll, &(struct bgdma_split_attr){
			.flags = BGDMA_SPLIT_ENGINES,
			.key = size - rank }, &group));
	c.group = group;
	require_is(0, bgdma_coll_run(group, &what));
	require_is((int64_t)(size * (size + 1) / 2), value);
	what.kind = BGDMA_REDUCE;
	what.root = size / 2;
	value = rank;
	require_is(0, bgdma_coll_run(group, &what));
	if (rank == size - 1 - what.root)
		require_is((int64_t)(size * (size - 1) / 2), value);
	place(0, size);
	/* Each kernel shows its own members. */
	if (!rank && !links_wanted())
		require_is(where->hops, tree_hops());
	place(1, size);
	return caller_close(&c);
}

/* Such a tree has one edge at least that is no edge of the cube; by number there are 3. */
TEST(dp7_neighbours_in_the_tree_are_near)
{
	struct where cube = { 1, 8 };

	board = shared(sizeof(*board));
	partition_new("2x2x2", "");
	EXPECT_TRUE(job_run(8, near, &cube, -1));
}

/* By number four. */
TEST(dp7_few_edges_lead_to_another_node)
{
	struct where pair = { 4, 2 };

	if (links_wanted())
		SKIP(return, "over links a job has a node for each");
	board = shared(sizeof(*board));
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(8, near, &pair, -1));
}

/* ---- In which order ------------------------------------------------------ */

#define SHORTS	20000U

/*
 * Short ones without a pause: who is fast is a turn ahead of who is slow, and its puts
 * come before those of the one in between. Now and then two are under way.
 */
static int short_ones(uint32_t rank, uint32_t size, void *arg)
{
	const struct bgdma_operator op = sum;
	struct bgdma_coll_request *r[2];
	struct bgdma_collective what;
	struct caller c;
	uint32_t i, k, n;
	int64_t value[2];

	(void)arg;
	require_is(0, caller_open(&c, 1));
	require_is(0, bgdma_coll_split(c.coll, NULL, &c.group));
	for (i = 0; i < SHORTS / slowness(); i += n) {
		n = 1 + (i % 7 == 0);
		for (k = 0; k < n; k++) {
			what = allreduce(&value[k], 1);
			what.algorithm = BGDMA_DIRECT;
			what.op = &op;
			value[k] = (int64_t)(i + k) * (rank + 1);
			require_is(0, bgdma_coll_start(c.group, &what, &r[k]));
		}
		if (i % (5 + rank) == rank)
			sched_yield();
		for (k = n; k--;)
			require_is(0, bgdma_coll_request_wait(&r[k], i % 3 ?
						BGDMA_SPIN_THEN_SLEEP :
						BGDMA_SLEEP, -1));
		for (k = 0; k < n; k++)
			require_is((int64_t)(i + k) * size * (size + 1) / 2,
				   value[k]);
	}
	return caller_close(&c);
}

TEST_F_TIMEOUT(engines, dp8_short_ones_back_to_back, 600)
{
	EXPECT_TRUE(job_run(4, short_ones, NULL, -1));
	EXPECT_TRUE(job_run(2, short_ones, NULL, -1));
}

#define MANY	12

/* Several at once, and each member waits for them in another order. */
static int at_once(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_coll_request *r[MANY];
	int64_t value[MANY][300];
	struct caller c;
	uint32_t i, k;

	(void)arg;
	require_is(0, world(&c));
	for (i = 0; i < MANY; i++) {
		/* By messages, too; and one that both take part in. */
		struct bgdma_collective what = allreduce(value[i], 300);

		if (i % 3 == 1)
			what.algorithm = BGDMA_DOUBLING;
		if (i % 3 == 2) {
			what.kind = BGDMA_REDUCE;
			what.root = size - 1;
		}
		for (k = 0; k < 300; k++)
			value[i][k] = i * 1000 + k + rank;
		require_is(0, bgdma_coll_start(c.group, &what, &r[i]));
	}
	for (i = 0; i < MANY; i++) {
		uint32_t at = (i * 5 + rank) % MANY;

		require_is(0, bgdma_coll_request_wait(&r[at],
						      BGDMA_SPIN_THEN_SLEEP,
						      -1));
		if (at % 3 == 2 && rank != size - 1)
			continue;
		for (k = 0; k < 300; k++)
			require_is((int64_t)(size * (at * 1000 + k) +
					     size * (size - 1) / 2),
				   value[at][k]);
	}
	place(0, size);
	return caller_close(&c);
}

TEST_F(engines, dp8_several_at_once)
{
	EXPECT_TRUE(job_run(4, at_once, NULL, -1));
}

/* More groups than a context has classes: the others go by messages. */
static int too_many(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_coll_group *group[BGDMA_CLASSES_MAX + 2];
	uint32_t i, by_engines = 0;
	struct caller c;

	(void)arg;
	require_is(0, caller_open(&c, 1));
	c.group = NULL;
	for (i = 0; i < BGDMA_CLASSES_MAX + 2; i++) {
		int64_t value = rank;
		struct bgdma_collective what = allreduce(&value, 1);

		require_is(0, split(&c, &group[i]));
		by_engines += bgdma_coll_algorithm(group[i], &what) ==
			      BGDMA_ENGINES;
		what.algorithm = i % 2 ? BGDMA_TREE : BGDMA_ALGORITHM_AUTO;
		require_is(0, bgdma_coll_run(group[i], &what));
		require_is((int64_t)(size * (size - 1) / 2), value);
	}
	/* FIFOs end before classes do. */
	require(by_engines > 4);
	require(by_engines <= BGDMA_CLASSES_MAX);
	place(0, size);
	for (i = 0; i < BGDMA_CLASSES_MAX + 2; i++)
		bgdma_coll_group_destroy(group[i]);
	/* They are to be had again. */
	require_is(0, split(&c, &c.group));
	{
		int64_t value = 1;
		struct bgdma_collective what = allreduce(&value, 1);

		require_is(0, bgdma_coll_run(c.group, &what));
		require_is((int64_t)size, value);
	}
	place(1, size);
	return caller_close(&c);
}

TEST_F(engines, dp8_more_groups_than_classes)
{
	EXPECT_TRUE(job_run(2, too_many, NULL, -1));
}

/* ---- Ends ----------------------------------------------------------------- */

static bool never(void *arg)
{
	(void)arg;
	return false;
}

/* Nothing is left of the engines' that wakes who sleeps. */
static int sleeps(struct caller *c)
{
	struct bgdma_endpoint_stats before, after;

	bgdma_endpoint_stats(c->m.ep, &before);
	require_is(-ETIMEDOUT, bgdma_endpoint_wait_until(c->m.ep, never, NULL,
							 BGDMA_SLEEP,
							 200000000));
	bgdma_endpoint_stats(c->m.ep, &after);
	require(after.sleeps <= before.sleeps + 100);
	return 0;
}

/* By the engines, or if @algorithm says so directly. */
static struct bgdma_collective all_of(int64_t *value, const void *algorithm,
				      uint64_t fewer)
{
	struct bgdma_collective what = allreduce(value, 1000 - fewer);

	if (algorithm) {
		what.algorithm = *(const enum bgdma_algorithm *)algorithm;
		what.count = 3 - fewer;
	}
	return what;
}

static enum bgdma_algorithm direct = BGDMA_DIRECT;

static int dies(uint32_t rank, uint32_t size, void *arg)
{
	int64_t value[1000] = { 0 };
	struct bgdma_collective what = all_of(value, arg, 0);
	const struct bgdma_split_attr others = { .color = rank == 1 };
	struct bgdma_coll_group *group;
	struct caller c;
	int ret;

	require_is(0, world(&c));
	require_is(0, bgdma_coll_split(c.coll, &others, &group));
	require_is(0, bgdma_coll_run(c.group, &what));
	place(0, size);
	if (rank == 1)
		raise(SIGKILL);
	ret = bgdma_coll_run(c.group, &what);
	require_is(-EHOSTDOWN, ret);
	require_is(1, bgdma_coll_dead(c.group));
	require_is(-EHOSTDOWN, bgdma_coll_run(c.group, &what));
	require_is(0, sleeps(&c));
	bgdma_coll_group_destroy(c.group);
	/* Nobody else is taken for dead. */
	require_is(0, bgdma_coll_barrier(group));
	require_is(BGDMA_STRANGER, bgdma_coll_dead(group));
	bgdma_coll_group_destroy(group);
	/* Without a fence, which waits for the dead, but not before all are through. */
	place(1, size - 1);
	return member_leave(&c.m);
}

TEST_F(engines, x3_a_member_that_dies)
{
	EXPECT_TRUE(job_run(5, dies, NULL, 1));
	memset(board, 0, sizeof(*board));
	EXPECT_TRUE(job_run(4, dies, &direct, 1));
}

static int differs(uint32_t rank, uint32_t size, void *arg)
{
	int64_t value[1000] = { 0 };
	struct bgdma_collective what = all_of(value, arg, rank == 2);
	struct caller c;
	int ret;

	require_is(0, world(&c));
	ret = bgdma_coll_run(c.group, &what);
	/* Who hears of it from another hears that the group is over. */
	require(ret == -EBADMSG || ret == -EIO);
	require(bgdma_coll_run(c.group, &what) < 0);
	place(0, size);
	return caller_close(&c);
}

TEST_F(engines, dp8_a_member_that_means_another)
{
	EXPECT_TRUE(job_run(4, differs, NULL, -1));
	memset(board, 0, sizeof(*board));
	EXPECT_TRUE(job_run(4, differs, &direct, -1));
}

/*
 * One destroys the group while the others are in a collective, or still in the split:
 * that had come to its end.
 */
static int gives_up(uint32_t rank, uint32_t size, void *arg)
{
	int64_t value = 1;
	struct bgdma_collective what = allreduce(&value, 1);
	struct caller c;
	unsigned int i;

	(void)arg;
	require_is(0, caller_open(&c, 1));
	for (i = 0; i < 40; i++) {
		require_is(0, split(&c, &c.group));
		require(!rank || bgdma_coll_run(c.group, &what) < 0);
		bgdma_coll_group_destroy(c.group);
	}
	c.group = NULL;
	place(0, size);
	return caller_close(&c);
}

TEST_F(engines, dp8_a_member_that_gives_up)
{
	EXPECT_TRUE(job_run(3, gives_up, NULL, -1));
}

/*
 * One has ended a group, and another puts to it there. That is over for it, and nothing
 * else is: not the group that both are in, too.
 */
static int puts_to_nobody(uint32_t rank, uint32_t size, void *arg)
{
	const struct bgdma_split_attr all = {
		.flags = BGDMA_SPLIT_PUT | BGDMA_SPLIT_PLAIN,
	}, some = { .color = rank == 1 };
	const bool *barrier = arg;
	struct bgdma_coll_group *beside;
	int64_t value = 1;
	struct bgdma_collective what = allreduce(&value, 1);
	struct caller c;

	what.algorithm = BGDMA_DIRECT;
	require_is(0, caller_open(&c, 1));
	require_is(0, bgdma_coll_split(c.coll, &all, &c.group));
	require_is(0, bgdma_coll_split(c.coll, &some, &beside));
	require_is(0, bgdma_coll_run(c.group, &what));
	require_is(0, bgdma_coll_barrier(c.group));
	place(0, size);
	if (!rank) {
		bgdma_coll_group_destroy(c.group);
		c.group = NULL;
	}
	place(1, size);
	if (rank == 2)
		require(*barrier ? bgdma_coll_barrier(c.group) < 0 :
				   bgdma_coll_run(c.group, &what) < 0);
	place(2, size);
	value = 1;
	if (rank != 1) {
		require_is(0, bgdma_coll_barrier(beside));
		require_is(0, bgdma_coll_run(beside, &what));
		require_is((int64_t)size - 1, value);
	}
	bgdma_coll_group_destroy(c.group);
	bgdma_coll_group_destroy(beside);
	c.group = NULL;
	return caller_close(&c);
}

TEST_F(engines, x3_a_put_to_who_has_ended_the_group)
{
	static bool barrier;

	EXPECT_TRUE(job_run(4, puts_to_nobody, &barrier, -1));
	memset(board, 0, sizeof(*board));
	barrier = true;
	EXPECT_TRUE(job_run(4, puts_to_nobody, &barrier, -1));
}

TEST_HARNESS_MAIN
