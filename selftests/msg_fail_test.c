// SPDX-License-Identifier: GPL-2.0
/*
 * Tagged messages without memory: the nth allocation of a call, or of progress,
 * fails, for every n. Nothing is lost, and nothing stays behind.
 */
#define FAILING_MEMORY_ONLY

#include "kselftest_harness.h"
#include "failing_memory.h"
#include "msg_util.h"

#define SPACE	100000

static uint8_t out[SPACE] PINNED, in[SPACE] PINNED;

/*
 * The call fails as often as it allocates, and goes through then: it gives a request
 * only if it does not fail.
 */
#define through(request, call)						\
do {									\
	unsigned int n_ = 0;						\
	int ret_;							\
									\
	do {								\
		(request) = NULL;					\
		until_fault = ++n_;					\
		ret_ = (call);						\
		require(!ret_ || !(request));				\
	} while (ret_ == -ENOMEM && n_ < 100);				\
	until_fault = 0;						\
	require_is(0, ret_);						\
} while (0)

/* Progress that loses an allocation, each time another. */
static int starve(struct talker *t)
{
	unsigned int n;

	for (n = 1; n < 10; n++) {
		until_fault = n;
		require(bgdma_endpoint_progress(t->m.ep, 0) >= 0);
		until_fault = 0;
	}
	return 0;
}

static int message(struct talker *t, uint32_t length, uint32_t number,
		   bool expected)
{
	struct iovec from[2] = { { out, length / 2 },
				 { out + length / 2, length - length / 2 } };
	struct iovec to[2] = { { in, length / 3 },
			       { in + length / 3, length - length / 3 } };
	struct bgdma_msg_request *s, *r;

	text_fill(out, length, 0, number);
	memset(in, 0xee, length);
	if (expected)
		through(r, bgdma_msg_irecvv(t->msg, to, 2, 0, number, 0, &r));
	require_is(0, starve(t));
	through(s, bgdma_msg_isendv(t->msg, from, 2, 0, number, 0, &s));
	require_is(0, starve(t));
	if (!expected)
		through(r, bgdma_msg_irecv(t->msg, in, length, 0, number, 0,
					   &r));
	require_is(0, starve(t));
	require_is(0, bgdma_msg_wait(&r, NULL));
	require_is(0, bgdma_msg_wait(&s, NULL));
	require(text_is(in, length, 0, number));
	return 0;
}

static int without_memory(void)
{
	static const uint32_t lengths[] = { 8, 3000, 6000, SPACE };
	const struct bgdma_msg_attr attr = { .eager_bytes = 8000 };
	struct talker t = { 0 };
	uint32_t i = 0;
	int ret;

	/* Without all of it an endpoint is only to be ended. */
	do {
		if (i)
			member_leave(&t.m);
		require_is(0, member_open(&t.m, NULL));
		until_fault = ++i;
		ret = bgdma_msg_create(&t.msg, t.m.ep, &attr);
		until_fault = 0;
	} while (ret == -ENOMEM);
	require_is(0, ret);
	require(i > 5);
	require_is(0, bgdma_endpoint_commit(t.m.ep, NULL));
	for (i = 0; i < 8; i++)
		require_is(0, message(&t, lengths[i % 4], i, i / 4));
	return talker_close(&t);
}

/* Once more than there is to be left once for all. */
static int lives(uint32_t rank, uint32_t size, void *arg)
{
	long memory;

	(void)rank;
	(void)size;
	(void)arg;
	require_is(0, without_memory());
	memory = allocated;
	require_is(0, without_memory());
	require_is(memory, allocated);
	return 0;
}

TEST(msg_without_memory)
{
	partition_new("1x1x1", "");
	EXPECT_TRUE(job_run(1, lives, NULL, -1));
}

/* ---- No memory to refuse what there is no memory for ------------------- */

static int cannot_refuse(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_msg_request *r;
	struct bgdma_msg_stats stats;
	struct talker t = { 0 };
	uint32_t i;

	(void)size;
	(void)arg;
	require_is(0, talker_open(&t, (struct bgdma_endpoint_attr){ 0 }, NULL));
	if (rank == 0) {
		/* It hears of it, if late. */
		require_is(0, bgdma_msg_ssend(t.msg, out, SPACE, 1, 1, 0));
		return talker_close(&t);
	}
	/* Requests there are some of, once one was made. */
	require_is(0, bgdma_msg_irecv(t.msg, in, SPACE, 0, 2, 0, &r));
	require_is(0, bgdma_msg_cancel(r));
	require_is(-ECANCELED, bgdma_msg_wait(&r, NULL));
	require_is(0, bgdma_msg_probe(t.msg, 0, 1, 0, NULL));
	no_memory = true;
	require_is(0, bgdma_msg_irecv(t.msg, in, SPACE, 0, 1, 0, &r));
	require_is(-ENOMEM, bgdma_msg_test(&r, NULL));
	for (i = 0; i < 10; i++)
		require(bgdma_endpoint_progress(t.m.ep, 0) >= 0);
	bgdma_msg_stats(t.msg, &stats);
	require_is(384, stats.kept);
	no_memory = false;
	return talker_close(&t);
}

TEST(msg_without_memory_for_a_refusal)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, cannot_refuse, NULL, -1));
}

/* Nor does the endpoint's thread know that there is something to be tried again. */
static int cannot_refuse_asleep(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_endpoint_attr attr = { .threads = BGDMA_THREADS_MANY };
	struct bgdma_msg_request *r;
	struct talker t = { 0 };

	(void)size;
	(void)arg;
	if (rank == 1)
		attr.progress = BGDMA_PROGRESS_THREAD;
	require_is(0, talker_open(&t, attr, NULL));
	if (rank == 0) {
		require_is(0, bgdma_msg_ssend(t.msg, out, SPACE, 1, 1, 0));
		require_is(0, bgdma_job_fence(t.m.job));
		return talker_close(&t);
	}
	require_is(0, bgdma_msg_irecv(t.msg, in, SPACE, 0, 2, 0, &r));
	require_is(0, bgdma_msg_cancel(r));
	require_is(-ECANCELED, bgdma_msg_wait(&r, NULL));
	require_is(0, bgdma_msg_probe(t.msg, 0, 1, 0, NULL));
	usleep(200000);
	no_memory = true;
	require_is(0, bgdma_msg_irecv(t.msg, in, SPACE, 0, 1, 0, &r));
	no_memory = false;
	/* We make no progress. */
	require_is(0, bgdma_job_fence(t.m.job));
	require_is(-ENOMEM, bgdma_msg_wait(&r, NULL));
	return talker_close(&t);
}

TEST(msg_without_memory_for_a_refusal_while_all_sleep)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, cannot_refuse_asleep, NULL, -1));
}

/* ---- No partition ------------------------------------------------------ */

#define TRIES	1000

static int without_partition(uint32_t rank, uint32_t size, void *arg)
{
	static uint8_t few[8];
	struct bgdma_msg_request *r;
	struct talker t = { 0 };
	long memory;
	uint32_t i;

	(void)rank;
	(void)size;
	(void)arg;
	require_is(0, talker_open(&t, (struct bgdma_endpoint_attr){ 0 }, NULL));
	/* Some requests are there now. */
	require_is(0, bgdma_msg_irecv(t.msg, in, 8, 0, 1, 0, &r));
	require_is(0, bgdma_msg_cancel(r));
	require_is(-ECANCELED, bgdma_msg_wait(&r, NULL));
	require_is(0, partition("del", PARTITION, ""));
	no_memory = true;
	/* Each gives back what it took: there is no memory for more. */
	memory = allocated;
	for (i = 0; i < TRIES; i++)
		require_is(-ENODEV, bgdma_msg_recv(t.msg, few, sizeof(few), 0, 1,
						   0, NULL));
	no_memory = false;
	require_is(memory, allocated);
	/* And what was posted is not there to be found by a message. */
	require_is(0, bgdma_msg_irecv(t.msg, in, 8, 0, 1, 0, &r));
	require_is(-ENODEV, bgdma_msg_test(&r, NULL));
	require_is(0, bgdma_msg_cancel(r));
	bgdma_msg_request_free(&r);
	return member_leave(&t.m);
}

TEST(x3_msg_a_receive_that_fails_leaves_nothing)
{
	partition_new("1x1x1", "");
	EXPECT_TRUE(job_run(1, without_partition, NULL, -1));
}

TEST_HARNESS_MAIN
