// SPDX-License-Identifier: GPL-2.0
/*
 * The commit of an endpoint where one process cannot do its part: it fails everywhere,
 * and nobody waits for who could not.
 */
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

TEST_HARNESS_MAIN
