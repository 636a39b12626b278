// SPDX-License-Identifier: GPL-2.0
/*
 * The end of an endpoint, whose nth system call fails, for every n, in each of some
 * ways: what was sent before arrives all the same, and nothing stays behind.
 */
#include "kselftest_harness.h"
#include "failing_calls.h"
#include "sys_util.h"

#define WORDS	3

/* Of a job of two: rank 0 ends its endpoint at once, which rank 1 hears of. */
struct ending {
	struct bgdma_endpoint_attr attr;
	int code;
	unsigned int n;		/* the call that fails */
	unsigned int failed;
};

static int on_word(void *arg, uint32_t rank, const struct bgdma_packet *packet)
{
	struct count *words = arg;

	(void)rank;
	(void)packet;
	words->is++;
	return 0;
}

static int leave(struct member *m, struct bgdma_send_attr *send, struct ending *e)
{
	unsigned int i;

	send->dest = 1;
	/* Nobody rings for what is in the ring before the end. */
	fail_request = BGDMA_IOC_DOORBELL;
	requests_fail = WORDS;
	fault_code = e->code;
	for (i = 0; i < WORDS; i++)
		require_is(0, bgdma_endpoint_send(m->ep, send));
	requests_fail = 0;
	until_fault = e->n;
	bgdma_endpoint_destroy(m->ep);
	until_fault = 0;
	e->failed = faults;
	return 0;
}

static int end_of_two(uint32_t rank, uint32_t size, void *arg)
{
	struct count words = { .wanted = WORDS };
	struct bgdma_send_attr send = { .type = BGDMA_POINT_TO_POINT };
	const struct test_operation word = { "word", on_word, 0, &send.operation };
	struct ending *e = arg;
	struct member m;
	int fd = next_fd();

	(void)size;
	require_is(0, member_open(&m, &e->attr));
	require_is(0, member_commit(&m, &word, 1, &words));
	if (rank == 0)
		require_is(0, leave(&m, &send, e));
	else
		require_is(0, member_until(&m, count_there, &words));
	require_is(0, bgdma_job_fence(m.job));
	if (rank)
		bgdma_endpoint_destroy(m.ep);
	bgdma_job_close(m.job);
	require_is(fd, next_fd());
	return 0;
}

FIXTURE(end) {
};

FIXTURE_VARIANT(end) {
	struct bgdma_endpoint_attr attr;
	int code;
};

FIXTURE_VARIANT_ADD(end, no_memory) { .code = ENOMEM };
FIXTURE_VARIANT_ADD(end, a_signal) { .code = EINTR };
FIXTURE_VARIANT_ADD(end, not_now) { .code = EAGAIN };
FIXTURE_VARIANT_ADD(end, with_a_thread) {
	.attr = { .progress = BGDMA_PROGRESS_THREAD }, .code = EINTR,
};

FIXTURE_SETUP(end)
{
	/* Engines that sleep have to be rung. */
	partition_new("2x1x1", "poll-ns 0");
}

FIXTURE_TEARDOWN(end)
{
}

TEST_F_TIMEOUT(end, dma9_x3_what_was_sent_arrives, 120)
{
	struct ending *e = shared(sizeof(*e));
	unsigned int n;

	e->attr = variant->attr;
	e->code = variant->code;
	for (n = 1; n == 1 || (e->failed && n < 100); n += fault_step()) {
		e->n = n;
		e->failed = 0;
		ASSERT_TRUE(job_run(2, end_of_two, e, -1)) TH_LOG("call %u", n);
	}
	EXPECT_LT(3, n);
	EXPECT_GT(100, n);
}

TEST_HARNESS_MAIN
