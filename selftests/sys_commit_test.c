// SPDX-License-Identifier: GPL-2.0
/*
 * The commit of an endpoint where one process cannot do its part: it fails everywhere,
 * and nobody waits for who could not.
 */
#include <dlfcn.h>
#include <pthread.h>

#include "failing.h"
#include "kselftest_harness.h"
#include "sys_util.h"

#define JOB	3
#define WEAK	1	/* whose calls fail */
#define RUNS	100	/* more than it makes */

/* ---- Calls that fail ------------------------------------------------------ */

void *__libc_calloc(size_t n, size_t size);

/* Of several elements: the job's own, by which the others are told, are single ones. */
void *calloc(size_t n, size_t size)
{
	return n > 1 && fault() ? NULL : __libc_calloc(n, size);
}

/* Those of the job, and the making of a thread: which is to fail. */
enum weakness { A_PUT, A_GET, A_THREAD };
static unsigned int until_weak[A_THREAD + 1];	/* 0: none is */

static bool is_weak(enum weakness what)
{
	return until_weak[what] && !--until_weak[what];
}

int bgdma_job_put(struct bgdma_job *job, const char *key, const void *value,
		  size_t bytes)
{
	typeof(bgdma_job_put) *put = dlsym(RTLD_NEXT, "bgdma_job_put");

	return is_weak(A_PUT) ? -ENOMEM : put(job, key, value, bytes);
}

int bgdma_job_get(struct bgdma_job *job, uint32_t rank, const char *key,
		  void *value, size_t size)
{
	typeof(bgdma_job_get) *get = dlsym(RTLD_NEXT, "bgdma_job_get");

	return is_weak(A_GET) ? -ENOMEM : get(job, rank, key, value, size);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attr,
		   void *(*begin)(void *arg), void *arg)
{
	typeof(pthread_create) *create = dlsym(RTLD_NEXT, "pthread_create");

	return is_weak(A_THREAD) ? ENOMEM : create(thread, attr, begin, arg);
}

/* ---- The commit ----------------------------------------------------------- */

struct fate {
	unsigned int which;	/* call */
	bool failed;		/* there was one */
	bool known;
	int result;		/* of the weak one */
};

static int commit(uint32_t rank, uint32_t size, void *arg)
{
	struct fate *fate = arg;
	struct member m;
	int ret;

	(void)size;
	require_is(0, member_open(&m, NULL));
	until_fault = rank == WEAK ? fate->which : 0;
	ret = bgdma_endpoint_commit(m.ep, NULL);
	if (rank == WEAK) {
		fate->failed = !until_fault;
		until_fault = 0;
		fate->result = ret;
		__atomic_store_n(&fate->known, true, __ATOMIC_RELEASE);
	} else {
		require(until(load(&fate->known)));
		require(ret != -ETIMEDOUT);
		require_is(fate->result, ret);
	}
	require_is(fate->failed ? -ENOMEM : 0, fate->result);
	return member_leave(&m);
}

TEST(x3_what_one_cannot_do_at_the_commit_fails_everywhere)
{
	struct fate *fate = shared(sizeof(*fate));

	partition_new("3x1x1", "");
	do {
		fate->which++;
		fate->known = false;
		ASSERT_TRUE(job_run(JOB, commit, fate, -1));
	} while (fate->failed && fate->which < RUNS);
	EXPECT_LT(10, fate->which);
	EXPECT_FALSE(fate->failed);
}

struct weak {
	enum weakness what;
	unsigned int which;
	int others;		/* what they hear */
};

static int commit_weak(uint32_t rank, uint32_t size, void *arg)
{
	const struct weak *weak = arg;
	struct member m;

	(void)size;
	require_is(0, member_open(&m, &(struct bgdma_endpoint_attr){
			.progress = BGDMA_PROGRESS_THREAD }));
	if (rank == WEAK)
		until_weak[weak->what] = weak->which;
	require_is(rank == WEAK ? -ENOMEM : weak->others,
		   bgdma_endpoint_commit(m.ep, NULL));
	require_is(0, until_weak[weak->what]);
	/* All have come as far as that. */
	return member_close(&m);
}

TEST(x3_who_can_tell_nothing_at_the_commit_keeps_nobody)
{
	struct weak cases[] = {
		{ A_PUT, 1, -ENOMEM },
		/* They know that it failed, and not of what. */
		{ A_PUT, 2, -ENOENT },
		/* Of any card; what comes last fails for it alone. */
		{ A_GET, 1, -ENOMEM }, { A_GET, 2, -ENOMEM },
		{ A_GET, JOB, -ENOMEM }, { A_GET, JOB + 1, 0 },
		{ A_THREAD, 1, -ENOMEM },
	};
	unsigned int i;

	partition_new("3x1x1", "");
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		EXPECT_TRUE(job_run(JOB, commit_weak, &cases[i], -1)) {
			TH_LOG("case %u", i);
		}
	}
}

TEST_HARNESS_MAIN
