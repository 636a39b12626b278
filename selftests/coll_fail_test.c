// SPDX-License-Identifier: GPL-2.0
/*
 * Collectives at a member whose nth allocation or system call fails, for every n. Who
 * gets a result gets the right one, nobody waits for ever, and nothing stays behind.
 */
#include <bgdma/collective.h>

#include "kselftest_harness.h"
#include "coll_util.h"
#include "failing_calls.h"

/* ---- Collectives -------------------------------------------------------- */

#define JOB	3
#define MOST	20000U		/* elements */

static void add(void *arg, const void *in, void *inout, uint64_t count)
{
	const uint64_t *from = in;
	uint64_t *to = inout;

	(void)arg;
	while (count--)
		*to++ += *from++;
}

static const struct bgdma_operator
	sum = { .reduction = BGDMA_SUM, .element = BGDMA_U64 },
	sum_floats = { .reduction = BGDMA_SUM, .element = BGDMA_F64 },
	own = { .combine = add, .bytes = sizeof(uint64_t) },
	ordered = { .combine = add, .bytes = sizeof(uint64_t), .ordered = true };

struct kind {
	enum bgdma_collective_kind kind;
	enum bgdma_algorithm algorithm;
	uint32_t count;		/* elements of the largest buffer */
	const struct bgdma_operator *op;	/* of a reduction */
	enum bgdma_summation summation;
};

/* Short messages, and long ones, which are announced. */
static const struct kind kinds[] = {
	{ BGDMA_BROADCAST, BGDMA_TREE, 100, NULL, 0 },
	{ BGDMA_BROADCAST, BGDMA_RING, MOST, NULL, 0 },
	{ BGDMA_ALLREDUCE, BGDMA_DOUBLING, 100, &sum, 0 },
	{ BGDMA_ALLREDUCE, BGDMA_RING, MOST, &sum, 0 },
	{ BGDMA_REDUCE, BGDMA_LINEAR, 1000, &sum, 0 },
	{ BGDMA_SCAN, BGDMA_DOUBLING, 100, &sum, 0 },
	{ BGDMA_ALLTOALL, 0, 300, NULL, 0 },
	{ BGDMA_ALLGATHER, BGDMA_DOUBLING, 300, NULL, 0 },
	{ BGDMA_GATHER, 0, 3 * 2000, NULL, 0 },
	{ BGDMA_SCATTER, 0, 3 * 2000, NULL, 0 },
	{ BGDMA_REDUCE_SCATTER, 0, 300, &sum, 0 },
	{ BGDMA_EXSCAN, BGDMA_DOUBLING, 100, &sum, 0 },
};

/* By the engines, of floats, and by what the application has. */
static const struct kind others[] = {
	{ BGDMA_BROADCAST, BGDMA_ENGINES, 1000, NULL, 0 },
	{ BGDMA_REDUCE, BGDMA_ENGINES, 100, &sum, 0 },
	{ BGDMA_ALLREDUCE, BGDMA_ENGINES, 1000, &sum, 0 },
	{ BGDMA_ALLREDUCE, BGDMA_ENGINES, 100, &sum_floats, BGDMA_SUM_FAST },
	{ BGDMA_ALLREDUCE, BGDMA_ENGINES, 100, &sum_floats, BGDMA_SUM_EXACT },
	{ BGDMA_ALLREDUCE, BGDMA_DOUBLING, 100, &sum_floats, BGDMA_SUM_FAST },
	{ BGDMA_ALLREDUCE, BGDMA_DIRECT, 10, &sum, 0 },
	{ BGDMA_ALLREDUCE, BGDMA_DIRECT, 10, &sum_floats, BGDMA_SUM_FAST },
	{ BGDMA_REDUCE, BGDMA_TREE, 100, &sum_floats, BGDMA_SUM_EXACT },
	{ BGDMA_ALLREDUCE, 0, 100, &own, 0 },
	{ BGDMA_SCAN, 0, 100, &ordered, 0 },
};

#define COUNT(list)	(sizeof(list) / sizeof((list)[0]))

/* By one call, or by one that begins it and others that wait or ask. */
enum way { RUN, START_AND_WAIT, START_AND_TEST };

/* Of a job: some of these, how, and the member whose calls fail. */
struct plan {
	const struct kind *kinds;
	uint32_t count;
	enum way how;
	uint32_t victim;
};

static uint64_t data[MOST] PINNED, given[MOST] PINNED;

static uint64_t element(uint32_t rank, uint32_t turn)
{
	return 1000 * (rank + 1) + turn;
}

/* As it is in memory: whole numbers are exact as floats, too. */
static uint64_t coded(const struct kind *k, uint64_t value)
{
	double floating = (double)value;

	if (k->op == &sum_floats)
		memcpy(&value, &floating, sizeof(value));
	return value;
}

static bool in_parts(const struct kind *k)
{
	return k->kind == BGDMA_ALLTOALL || k->kind == BGDMA_ALLGATHER ||
	       k->kind == BGDMA_GATHER || k->kind == BGDMA_SCATTER ||
	       k->kind == BGDMA_REDUCE_SCATTER;
}

/* Of which a member gets only its own. */
static bool one_part(const struct kind *k)
{
	return k->kind == BGDMA_SCATTER || k->kind == BGDMA_REDUCE_SCATTER;
}

/* Members whose elements are in a result. */
static uint32_t members(const struct kind *k, uint32_t rank)
{
	if (k->kind == BGDMA_EXSCAN)
		return rank;
	return k->kind == BGDMA_SCAN ? rank + 1 : JOB;
}

/* The element that @rank has to have at the beginning of its @block-th part. */
static uint64_t right(const struct kind *k, uint32_t rank, uint32_t block,
		      uint32_t turn)
{
	uint64_t all = 0;
	uint32_t i;

	switch (k->kind) {
	case BGDMA_BROADCAST:
		return element(0, turn);
	case BGDMA_ALLTOALL:
	case BGDMA_ALLGATHER:
	case BGDMA_GATHER:
		return element(block, turn);
	case BGDMA_SCATTER:
		return element(rank, turn);
	default:
		for (i = 0; i < members(k, rank); i++)
			all += element(i, turn);
		return all;
	}
}

static bool is_right(const struct kind *k, uint32_t rank, uint32_t turn)
{
	uint32_t n = in_parts(k) && !one_part(k) ? JOB : 1;
	uint32_t i, j, part = k->count / (in_parts(k) ? JOB : 1);

	/* Only the root has it. */
	if ((k->kind == BGDMA_REDUCE || k->kind == BGDMA_GATHER) && rank)
		return true;
	for (i = 0; i < n; i++)
		for (j = 0; j < part; j++)
			if (data[i * part + j] !=
			    coded(k, right(k, rank, i, turn)))
				return false;
	return true;
}

/* One that could not be waited for is still under way. */
static int run_in(struct bgdma_coll_group *g,
		  const struct bgdma_collective *what, enum way how)
{
	struct bgdma_coll_request *r;
	int ret;

	if (how == RUN)
		return bgdma_coll_run(g, what);
	ret = bgdma_coll_start(g, what, &r);
	while (!ret && r) {
		ret = how == START_AND_WAIT ?
			bgdma_coll_request_wait(&r, BGDMA_SLEEP, -1) :
			bgdma_coll_request_test(&r);
		if (r && (ret == -EAGAIN || ret == -ENOMEM))
			ret = 0;
	}
	return ret;
}

static int collect(struct caller *c, const struct kind *k, enum way how,
		   uint32_t rank, uint32_t turn)
{
	uint32_t i, parts = in_parts(k) ? JOB : 1, part = k->count / parts;
	struct bgdma_collective what = {
		.kind = k->kind, .algorithm = k->algorithm,
		.op = k->op, .summation = k->summation,
		.count = part, .in = given, .out = data,
		.bytes = part * sizeof(*data),
	};

	for (i = 0; i < k->count; i++) {
		given[i] = coded(k, element(k->kind == BGDMA_SCATTER ?
					    i / part : rank, turn));
		data[i] = k->kind == BGDMA_BROADCAST && !rank ?
				  element(0, turn) : 0;
	}
	if (k->kind == BGDMA_BROADCAST)
		what.in = NULL;
	return run_in(c->group, &what, how);
}

/*
 * A group of its own, in which the @n-th call of the victim's fails. Returns -EAGAIN
 * when there were not so many.
 */
static int fail_once(struct caller *c, const struct kind *k,
		     const struct plan *plan, uint32_t rank, uint32_t n)
{
	uint32_t victim = plan->victim;
	const struct bgdma_split_attr attr = {
		.flags = k->algorithm == BGDMA_ENGINES ? BGDMA_SPLIT_ENGINES : 0,
	};
	int ret;

	require_is(0, bgdma_coll_split(c->coll, &attr, &c->group));
	caller_meet(c);
	faults = 0;
	if (rank == victim)
		until_fault = n;
	ret = collect(c, k, plan->how, rank, n);
	until_fault = 0;
	if (rank == victim)
		store(&board->turn, faults ? 0 : 1);
	require(ret || is_right(k, rank, n));
	require(!ret || ret == -EIO || (rank == victim && ret == -ENOMEM));
	caller_meet(c);
	bgdma_coll_group_destroy(c->group);
	c->group = NULL;
	if (load(&board->turn))
		require_is(0, ret);
	return load(&board->turn) ? -EAGAIN : ret;
}

/* Whether anybody has another amount of memory than before, so that all go on. */
static bool all_differ(struct caller *c, uint32_t rank, bool differs)
{
	uint32_t i, n = 0;

	store(&board->value[rank], differs);
	caller_meet(c);
	for (i = 0; i < JOB; i++)
		n += load(&board->value[i]) != 0;
	caller_meet(c);
	return n;
}

/* Each call in turn; how many were told of. */
static int fail_in_turn(struct caller *c, const struct kind *k,
			const struct plan *plan, uint32_t rank,
			unsigned int *told)
{
	uint32_t n;
	int ret;

	for (n = 1; n < 1000; n += fault_step()) {
		ret = fail_once(c, k, plan, rank, n);
		if (ret == -EAGAIN)
			break;
		*told += !!ret;
		caller_meet(c);
	}
	require(n > 1 && n < 1000);
	return 0;
}

/* What is there once for all is so after some turns: what is left behind grows. */
static int fail_each(uint32_t rank, uint32_t size, void *arg)
{
	const struct plan *plan = arg;
	unsigned int i, turns, told = 0;
	struct caller c = { 0 };
	long memory;

	(void)size;
	require_is(0, caller_open(&c, 1));
	for (i = 0; i < plan->count; i++) {
		turns = 0;
		do {
			memory = allocated;
			require_is(0, fail_in_turn(&c, &plan->kinds[i], plan,
						   rank, &told));
			require(turns++ < 5);
		} while (all_differ(&c, rank, allocated != memory));
	}
	require(told > plan->count / fault_step());
	return caller_close(&c);
}

/* ---- No memory to refuse what there is no memory for --------------------- */

/* The root of a long broadcast hears of it, if late; what was sent may be @early. */
static int cannot_refuse(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_collective what = {
		.kind = BGDMA_BROADCAST, .algorithm = BGDMA_LINEAR,
		.out = data, .bytes = sizeof(data),
	};
	struct bgdma_coll_request *r;
	const bool *early = arg;
	struct caller c = { 0 };
	unsigned int i;

	require_is(0, caller_open(&c, 1));
	require_is(0, bgdma_coll_split(c.coll, NULL, &c.group));
	place(0, size);
	if (rank == 0) {
		require_is(0, bgdma_coll_start(c.group, &what, &r));
		place(1, size);
		require_is(-EIO, bgdma_coll_request_wait(&r, BGDMA_SLEEP,
							 10000000000));
	} else {
		place(1, size);
		for (i = 0; *early && i < 100; i++)
			require(bgdma_endpoint_progress(c.m.ep, 0) >= 0);
		no_memory = true;
		for (i = 0; i < 100; i++)
			require(bgdma_endpoint_progress(c.m.ep, 0) >= 0);
		if (*early)
			bgdma_coll_group_destroy(c.group);
		c.group = *early ? NULL : c.group;
		require(*early || bgdma_coll_run(c.group, &what) == -ENOMEM);
		require(refused);
		no_memory = false;
	}
	__atomic_fetch_add(&board->here[2], 1, __ATOMIC_ACQ_REL);
	while (load(&board->here[2]) < size)
		(void)bgdma_endpoint_wait(c.m.ep, 1000000);
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

static bool fail_at_each(const struct kind *list, uint32_t count, enum way how)
{
	struct plan *plan = shared(sizeof(*plan));
	bool good = true;

	*plan = (struct plan){ list, count, how, 0 };
	partition_new("3x1x1", "");
	for (; good && plan->victim < JOB; plan->victim++) {
		memset(board, 0, sizeof(*board));
		good = job_run(JOB, fail_each, plan, -1);
	}
	return good;
}

TEST_F_TIMEOUT(coll, dp8_x3_each_call_that_fails_is_told, 300)
{
	EXPECT_TRUE(fail_at_each(kinds, COUNT(kinds), RUN));
}

TEST_F_TIMEOUT(coll, dp8_x3_each_call_for_engines_floats_and_own_operators, 300)
{
	EXPECT_TRUE(fail_at_each(others, COUNT(others), RUN));
}

TEST_F_TIMEOUT(coll, dp8_x3_each_call_while_one_is_waited_for, 300)
{
	EXPECT_TRUE(fail_at_each(others, COUNT(others), START_AND_WAIT));
}

TEST_F_TIMEOUT(coll, dp8_x3_each_call_while_one_is_asked_for, 300)
{
	EXPECT_TRUE(fail_at_each(others, COUNT(others), START_AND_TEST));
}

/* What is in the ring is there, though nobody could ring for it. */
TEST_F_TIMEOUT(coll, dp8_x3_each_call_that_is_interrupted, 300)
{
	static const struct kind direct[] = {
		{ BGDMA_ALLREDUCE, BGDMA_DIRECT, 10, &sum, 0 },
		{ BGDMA_ALLREDUCE, BGDMA_DIRECT, 9, &sum, 0 },
		{ BGDMA_ALLREDUCE, BGDMA_DIRECT, 8, &sum, 0 },
		{ BGDMA_ALLREDUCE, BGDMA_DIRECT, 7, &sum, 0 },
	};

	fault_code = EINTR;
	EXPECT_TRUE(fail_at_each(direct, COUNT(direct), RUN));
}

TEST_F(coll, dp8_without_memory_for_a_refusal)
{
	bool *early = shared(sizeof(*early));
	int i;

	partition_new("2x1x1", "");
	for (i = 0; i < 2; i++) {
		*early = i;
		memset(board, 0, sizeof(*board));
		EXPECT_TRUE(job_run(2, cannot_refuse, early, -1));
	}
}

TEST_HARNESS_MAIN
