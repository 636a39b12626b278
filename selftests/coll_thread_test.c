// SPDX-License-Identifier: GPL-2.0
/*
 * Barriers of several threads on one endpoint: a group for each, and one that they
 * share.
 */
#include <pthread.h>

#include <bgdma/collective.h>

#include "kselftest_harness.h"
#include "coll_util.h"

#define PROCESSES	3
#define THREADS		4
#define ROUNDS		100

/* What the processes see together: the round that each thread has entered. */
struct rounds {
	int64_t of[THREADS][PROCESSES];
};

struct worker {
	struct bgdma_coll_group *group;
	int64_t *round;			/* of this thread in all processes */
	uint32_t rank, size;
	int result;
	pthread_t thread;
};

static int meetings(const struct worker *w)
{
	int64_t i;
	uint32_t k;

	for (i = 1; i <= ROUNDS; i++) {
		__atomic_store_n(&w->round[w->rank], i, __ATOMIC_SEQ_CST);
		require_is(0, bgdma_coll_enter(w->group));
		require_is(0, bgdma_coll_wait(w->group, i % 3 ? BGDMA_SLEEP :
					      BGDMA_SPIN_THEN_SLEEP,
					      (int64_t)PATIENCE_NS));
		for (k = 0; k < w->size; k++)
			require(__atomic_load_n(&w->round[k],
						__ATOMIC_SEQ_CST) >= i);
	}
	return 0;
}

static void *work(void *arg)
{
	struct worker *w = arg;

	w->result = meetings(w);
	return NULL;
}

struct shape {
	struct bgdma_endpoint_attr ep;
	struct bgdma_split_attr split;
	struct rounds *rounds;
};

static int own_groups(uint32_t rank, uint32_t size, void *arg)
{
	struct worker w[THREADS];
	struct shape *shape = arg;
	struct caller c = { 0 };
	uint32_t i;

	require_is(0, caller_open_as(&c, &shape->ep));
	for (i = 0; i < THREADS; i++) {
		w[i] = (struct worker){
			.round = shape->rounds->of[i], .rank = rank,
			.size = size,
		};
		require_is(0, bgdma_coll_split(c.coll, &shape->split,
					       &w[i].group));
	}
	for (i = 0; i < THREADS; i++)
		require_is(0, pthread_create(&w[i].thread, NULL, work, &w[i]));
	for (i = 0; i < THREADS; i++)
		require_is(0, pthread_join(w[i].thread, NULL));
	for (i = 0; i < THREADS; i++) {
		require_is(0, w[i].result);
		bgdma_coll_group_destroy(w[i].group);
	}
	return caller_close(&c);
}

static bool own_groups_run(struct shape *shape)
{
	memset(shape->rounds, 0, sizeof(*shape->rounds));
	return job_run(PROCESSES, own_groups, shape, -1);
}

TEST(ba4_threads_have_their_own_groups)
{
	struct shape shape = {
		.ep = { .threads = BGDMA_THREADS_MANY },
		.rounds = shared(sizeof(struct rounds)),
	};

	partition_new("3x1x1", "torus x");
	EXPECT_TRUE(own_groups_run(&shape));
	shape.ep.progress = BGDMA_PROGRESS_THREAD;
	EXPECT_TRUE(own_groups_run(&shape));
	shape.split.flags = BGDMA_SPLIT_PLAIN;
	EXPECT_TRUE(own_groups_run(&shape));
}

/* ---- One group --------------------------------------------------------- */

/* One thread enters, the others wait for the same barrier, or look at it. */
struct common {
	struct bgdma_coll_group *group;
	pthread_barrier_t all;
	int over;			/* threads that saw the end */
};

struct party {
	struct common *common;
	bool enters;
	int result;
	pthread_t thread;
};

static int together(struct party *p)
{
	struct common *common = p->common;
	unsigned int i;
	int ret;

	for (i = 0; i < ROUNDS; i++) {
		if (p->enters)
			require_is(0, bgdma_coll_enter(common->group));
		pthread_barrier_wait(&common->all);
		do {
			ret = i & 1 ? bgdma_coll_test(common->group) :
				      bgdma_coll_wait(common->group, BGDMA_SLEEP,
						      (int64_t)PATIENCE_NS);
		} while (ret == -EAGAIN);
		/* The end is told once; who comes later finds none entered. */
		require(ret == 0 || ret == -EINVAL);
		if (!ret)
			__atomic_add_fetch(&common->over, 1, __ATOMIC_SEQ_CST);
		pthread_barrier_wait(&common->all);
	}
	return 0;
}

static void *party(void *arg)
{
	struct party *p = arg;

	p->result = together(p);
	return NULL;
}

static int one_group(uint32_t rank, uint32_t size, void *arg)
{
	struct common common = { 0 };
	struct party p[THREADS];
	struct caller c = { 0 };
	uint32_t i;

	(void)rank;
	(void)size;
	require_is(0, caller_open_as(&c, arg));
	require_is(0, bgdma_coll_split(c.coll, NULL, &c.group));
	common.group = c.group;
	pthread_barrier_init(&common.all, NULL, THREADS);
	for (i = 0; i < THREADS; i++) {
		p[i] = (struct party){ .common = &common, .enters = !i };
		require_is(0, pthread_create(&p[i].thread, NULL, party, &p[i]));
	}
	for (i = 0; i < THREADS; i++)
		require_is(0, pthread_join(p[i].thread, NULL));
	for (i = 0; i < THREADS; i++)
		require_is(0, p[i].result);
	require_is(ROUNDS, common.over);
	return caller_close(&c);
}

TEST(ba4_threads_wait_for_the_same_barrier)
{
	struct bgdma_endpoint_attr attr = { .threads = BGDMA_THREADS_MANY };

	partition_new("3x1x1", "torus x");
	EXPECT_TRUE(job_run(PROCESSES, one_group, &attr, -1));
	attr.progress = BGDMA_PROGRESS_THREAD;
	EXPECT_TRUE(job_run(PROCESSES, one_group, &attr, -1));
}

/* ---- One waits, another looks ------------------------------------------- */

#define LOOKS		2000

struct sleeper {
	struct bgdma_coll_group *group;
	pthread_barrier_t turn;
	bool over;
	int result;
	pthread_t thread;
};

static int sums(struct bgdma_coll_group *group)
{
	const struct bgdma_operator sum = { .reduction = BGDMA_SUM,
					    .element = BGDMA_S64 };
	int64_t value = 1;
	struct bgdma_collective what = {
		.kind = BGDMA_ALLREDUCE, .out = &value, .count = 1, .op = &sum,
	};
	struct bgdma_coll_request *r;

	require_is(0, bgdma_coll_start(group, &what, &r));
	require_is(0, bgdma_coll_request_wait(&r, BGDMA_SLEEP,
					      (int64_t)PATIENCE_NS));
	require_is(2, value);
	return 0;
}

static void *sleeper(void *arg)
{
	struct sleeper *s = arg;
	unsigned int i;

	for (i = 0; i < LOOKS; i++) {
		pthread_barrier_wait(&s->turn);
		if (!s->result)
			s->result = sums(s->group);
		__atomic_store_n(&s->over, true, __ATOMIC_SEQ_CST);
	}
	return NULL;
}

/* What looks at the barrier of one group may find the end of another's sum. */
static int looks(struct bgdma_coll_group *barrier, struct sleeper *s)
{
	unsigned int i;
	int ret;

	for (i = 0; i < LOOKS; i++) {
		require_is(0, bgdma_coll_enter(barrier));
		pthread_barrier_wait(&s->turn);
		do {
			ret = bgdma_coll_test(barrier);
		} while (ret == -EAGAIN);
		require_is(0, ret);
		/* Nobody looks any more. */
		while (!__atomic_load_n(&s->over, __ATOMIC_SEQ_CST))
			sched_yield();
		__atomic_store_n(&s->over, false, __ATOMIC_SEQ_CST);
	}
	return 0;
}

static int one_looks(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_coll_group *barrier;
	struct sleeper s = { 0 };
	struct caller c = { 0 };
	unsigned int i;

	(void)size;
	require_is(0, caller_open_as(&c, arg));
	require_is(0, bgdma_coll_split(c.coll, NULL, &c.group));
	require_is(0, bgdma_coll_split(c.coll, NULL, &barrier));
	s.group = c.group;
	if (rank) {
		for (i = 0; i < LOOKS; i++) {
			require_is(0, sums(c.group));
			require_is(0, bgdma_coll_enter(barrier));
			require_is(0, bgdma_coll_wait(barrier, BGDMA_SLEEP,
						      (int64_t)PATIENCE_NS));
		}
	} else {
		pthread_barrier_init(&s.turn, NULL, 2);
		require_is(0, pthread_create(&s.thread, NULL, sleeper, &s));
		require_is(0, looks(barrier, &s));
		require_is(0, pthread_join(s.thread, NULL));
		require_is(0, s.result);
	}
	bgdma_coll_group_destroy(barrier);
	return caller_close(&c);
}

TEST(dp8_who_looks_wakes_who_waits)
{
	struct bgdma_endpoint_attr attr = { .threads = BGDMA_THREADS_MANY };

	partition_new("2x1x1", "torus x");
	EXPECT_TRUE(job_run(2, one_looks, &attr, -1));
}

TEST_HARNESS_MAIN
