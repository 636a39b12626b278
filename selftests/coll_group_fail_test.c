// SPDX-License-Identifier: GPL-2.0
/*
 * Groups at a member whose nth allocation or system call fails, for every n: while they
 * are split, in their barriers, and at their end. Nobody waits for ever, and nothing
 * stays behind.
 */
#include "kselftest_harness.h"
#include "coll_util.h"
#include "failing_calls.h"
#include "sys_seen.h"

#define JOB	3

#define COUNT(list)	(sizeof(list) / sizeof((list)[0]))

/* ---- Splits ------------------------------------------------------------- */

static bool all_have_it(void)
{
	uint32_t i, n = 0;

	for (i = 0; i < JOB; i++)
		n += load(&board->value[i]) == 0;
	return n == JOB;
}

/*
 * Who cannot go on tells the others: none of them waits for him. A group that all have
 * is the same at all.
 */
static int split_once(struct caller *c, uint32_t rank, uint32_t flags,
		      uint32_t n)
{
	const struct bgdma_split_attr attr = { .flags = flags };
	struct bgdma_coll_group *group = NULL;
	int ret;

	caller_meet(c);
	faults = 0;
	until_fault = n;
	ret = bgdma_coll_split(c->coll, &attr, &group);
	until_fault = 0;
	require(!ret == !!group);
	store(&board->value[rank], ret);
	caller_meet(c);
	if (all_have_it())
		require_is(0, bgdma_coll_barrier(group));
	bgdma_coll_group_destroy(group);
	if (n)
		store(&board->turn, faults ? 0 : 1);
	caller_meet(c);
	if (load(&board->turn))
		require_is(0, ret);
	return load(&board->turn) ? -EAGAIN : ret;
}

static int split_each(uint32_t rank, uint32_t size, void *arg)
{
	const uint32_t flags[] = { 0, BGDMA_SPLIT_ENGINES };
	const uint32_t *victim = arg;
	struct caller c = { 0 };
	unsigned int i, told = 0;
	long memory;
	uint32_t n;
	int ret;

	(void)size;
	require_is(0, caller_open(&c, 1));
	for (i = 0; i < 2; i++) {
		(void)split_once(&c, rank, flags[i], 0);
		memory = allocated;
		for (n = 1; n < 1000; n += fault_step()) {
			ret = split_once(&c, rank, flags[i],
					 rank == *victim ? n : 0);
			require_is(memory, allocated);
			if (ret == -EAGAIN)
				break;
			told += !!ret;
		}
		require(n > 1 && n < 1000);
	}
	require(told);
	return caller_close(&c);
}

/* ---- Ends ---------------------------------------------------------------- */

/* Of a job: what its groups are, how a call fails, and where. */
struct ending {
	uint32_t flags;
	int code;
	uint32_t victim;
};

/* What there is in the kernel of groups. */
static void seen_objects(struct nlattr **attrs, void *arg)
{
	static const int kinds[] = {
		BGDMA_A_CTX_INJ_FIFOS, BGDMA_A_CTX_INJ_COUNTERS,
		BGDMA_A_CTX_REC_COUNTERS, BGDMA_A_CTX_REGIONS,
	};
	unsigned int i;

	for (i = 0; i < COUNT(kinds); i++)
		*(long *)arg += (long)nla_get_u32(attrs[kinds[i]]);
}

static long objects_seen(struct bgdma_endpoint *ep)
{
	long objects = 0;

	return seen(ep, BGDMA_CMD_CTX_GET, seen_objects, &objects) ? -1 : objects;
}

/* Of the group one object may stay, that the kernel would not end; the next works. */
static int end_once(struct caller *c, const struct ending *e, uint32_t rank,
		    uint32_t n)
{
	const struct bgdma_split_attr attr = { .flags = e->flags };
	struct bgdma_coll_group *group;
	long before, after;

	before = objects_seen(c->m.ep);
	require_is(0, bgdma_coll_split(c->coll, &attr, &group));
	require_is(0, bgdma_coll_barrier(group));
	caller_meet(c);
	faults = 0;
	until_fault = rank == e->victim ? n : 0;
	bgdma_coll_group_destroy(group);
	until_fault = 0;
	if (rank == e->victim)
		store(&board->turn, faults ? 0 : 1);
	after = objects_seen(c->m.ep);
	require(before > 0 && (after == before || after == before + faults));
	caller_meet(c);
	return load(&board->turn) ? -EAGAIN : 0;
}

static int end_each(uint32_t rank, uint32_t size, void *arg)
{
	const struct ending *e = arg;
	struct caller c = { 0 };
	long memory;
	uint32_t n;

	(void)size;
	fault_code = e->code;
	require_is(0, caller_open(&c, 1));
	require_is(-EAGAIN, end_once(&c, e, rank, 0));
	memory = allocated;
	for (n = 1; n < 100; n += fault_step()) {
		if (end_once(&c, e, rank, n) == -EAGAIN)
			break;
		require_is(memory, allocated);
	}
	require(n > 1 && n < 100);
	return caller_close(&c);
}

static bool end_at_each(uint32_t flags, int code)
{
	struct ending *e = shared(sizeof(*e));
	bool good = true;

	*e = (struct ending){ flags, code, 0 };
	partition_new("3x1x1", "");
	for (; good && e->victim < JOB; e->victim++) {
		memset(board, 0, sizeof(*board));
		good = job_run(JOB, end_each, e, -1);
	}
	return good;
}

/* ---- Barriers ------------------------------------------------------------ */

/* Of a job: how one is, how it fails, and where. */
struct barrier {
	uint32_t flags;
	int code;
	bool waits;
	uint32_t victim;
};

static int barrier_through(struct caller *c, bool waits)
{
	struct bgdma_coll_group *g = c->group;
	int ret = bgdma_coll_enter(g);
	bool again = !ret;

	while (again) {
		ret = waits ? bgdma_coll_wait(g, BGDMA_SLEEP, -1) :
			      bgdma_coll_test(g);
		/* After a wait that failed this process is still in it. */
		again = ret == -EAGAIN ||
			(waits && faults && ret == -fault_code);
		if (!waits)
			(void)bgdma_endpoint_progress(c->m.ep, 0);
	}
	return ret;
}

static bool all_entered(int64_t round)
{
	uint32_t i, n = 0;

	for (i = 0; i < JOB; i++)
		n += load(&board->round[i]) >= round;
	return n == JOB;
}

/* Two in a group of its own: nobody leaves one before the last has entered it. */
static int barrier_once(struct caller *c, const struct barrier *b,
			uint32_t rank, uint32_t n)
{
	const struct bgdma_split_attr attr = { .flags = b->flags };
	bool victim = rank == b->victim;
	int ret;

	require_is(0, bgdma_coll_split(c->coll, &attr, &c->group));
	caller_meet(c);
	faults = 0;
	until_fault = victim ? n : 0;
	store(&board->round[rank], 2 * n);
	ret = barrier_through(c, b->waits);
	until_fault = 0;
	require(ret || all_entered(2 * n));
	require(!ret || ret == -EIO ||
		(victim && (ret == -ENOMEM || ret == -b->code)));
	if (victim)
		store(&board->turn, faults ? 0 : 1);
	store(&board->value[rank], ret);
	caller_meet(c);
	/* Who is late is waited for, whatever failed before. */
	if (all_have_it()) {
		if (victim)
			usleep(1000);
		store(&board->round[rank], 2 * n + 1);
		require_is(0, barrier_through(c, b->waits));
		require(all_entered(2 * n + 1));
	}
	caller_meet(c);
	bgdma_coll_group_destroy(c->group);
	c->group = NULL;
	caller_meet(c);
	if (load(&board->turn))
		require_is(0, ret);
	return load(&board->turn) ? -EAGAIN : ret;
}

static int barrier_each(uint32_t rank, uint32_t size, void *arg)
{
	const struct barrier *b = arg;
	struct caller c = { 0 };
	long memory;
	uint32_t n;

	(void)size;
	fault_code = b->code;
	require_is(0, caller_open(&c, 1));
	/* What is there once for all, one without a fault has left. */
	require_is(-EAGAIN, barrier_once(&c, b, rank, 0));
	memory = allocated;
	for (n = 1; n < 100; n += fault_step()) {
		if (barrier_once(&c, b, rank, n) == -EAGAIN)
			break;
		require_is(memory, allocated);
	}
	require(n > 1 && n < 100);
	return caller_close(&c);
}

static bool barrier_at_each(uint32_t flags, int code, bool waits)
{
	struct barrier *b = shared(sizeof(*b));
	bool good = true;

	*b = (struct barrier){ flags, code, waits, 0 };
	partition_new("3x1x1", "");
	for (; good && b->victim < JOB; b->victim++) {
		memset(board, 0, sizeof(*board));
		good = job_run(JOB, barrier_each, b, -1);
	}
	return good;
}

FIXTURE(group) {
};

FIXTURE_SETUP(group)
{
	board = shared(sizeof(*board));
}

FIXTURE_TEARDOWN(group)
{
}

TEST_F_TIMEOUT(group, dp8_x3_each_call_of_a_split_that_fails_is_told, 300)
{
	uint32_t *victim = shared(sizeof(*victim));

	partition_new("3x1x1", "");
	for (*victim = 0; *victim < JOB; ++*victim) {
		memset(board, 0, sizeof(*board));
		EXPECT_TRUE(job_run(JOB, split_each, victim, -1));
	}
}

TEST_F_TIMEOUT(group, ba4_x3_each_call_of_a_barrier_that_fails_is_told, 300)
{
	const uint32_t flags[] = { 0, BGDMA_SPLIT_PUT };
	const int codes[] = { ENOMEM, EINTR };
	unsigned int i;

	for (i = 0; i < 8; i++)
		EXPECT_TRUE(barrier_at_each(flags[i % 2], codes[i / 2 % 2],
					    i / 4)) TH_LOG("way %u", i);
}

TEST_F_TIMEOUT(group, ba4_x3_each_call_of_the_end_of_a_group_fails, 120)
{
	const uint32_t flags[] = { 0, BGDMA_SPLIT_PUT, BGDMA_SPLIT_ENGINES };
	const int codes[] = { ENOMEM, EINTR };
	unsigned int i;

	for (i = 0; i < 6; i++)
		EXPECT_TRUE(end_at_each(flags[i % 3], codes[i / 3]))
			TH_LOG("way %u", i);
}

TEST_HARNESS_MAIN
