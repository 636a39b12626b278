// SPDX-License-Identifier: GPL-2.0
/*
 * The library's sys layer where signals come: beside an endpoint's own thread.
 */
#include <pthread.h>

#include "kselftest_harness.h"
#include "sys_module.h"

#define RINGS	20

static int rung;

static int on_hello(void *arg, uint32_t rank, const struct bgdma_packet *packet)
{
	(void)rank;
	(void)packet;
	__atomic_store_n((int *)arg, 1, __ATOMIC_SEQ_CST);
	return 0;
}

/* Who blocks a signal in all threads that he knows gets it where he asks for it. */
static int signal_waited_for(uint32_t rank, uint32_t size, void *arg)
{
	const struct timespec patience = { .tv_sec = 20 };
	struct test_operation op = { .name = "hello", .packet = on_hello };
	struct bgdma_send_attr hello = { 0 };
	int heard = 0;
	struct member m;
	sigset_t set;

	(void)rank;
	(void)size;
	(void)arg;
	op.id = &hello.operation;
	require_is(0, member_open(&m, &(struct bgdma_endpoint_attr){
			.progress = BGDMA_PROGRESS_THREAD }));
	require_is(0, member_commit(&m, &op, 1, &heard));
	/* It runs. */
	require_is(0, bgdma_endpoint_send(m.ep, &hello));
	require(until(__atomic_load_n(&heard, __ATOMIC_SEQ_CST)));
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	require_is(0, pthread_sigmask(SIG_BLOCK, &set, NULL));
	require_is(0, kill(getpid(), SIGUSR1));
	require_is(SIGUSR1, sigtimedwait(&set, NULL, &patience));
	return member_close(&m);
}

TEST(sys_the_endpoints_thread_takes_no_signal)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(1, signal_waited_for, NULL, -1));
}

/* A thread that disturbs another one, and at last lets its wait end. */
struct ringer {
	struct bgdma_endpoint *ep;
	pthread_t waiter;
	int over;
};

static void on_ring(int number)
{
	(void)number;
	__atomic_add_fetch(&rung, 1, __ATOMIC_SEQ_CST);
}

static void *ring(void *arg)
{
	struct ringer *r = arg;
	int i;

	for (i = 1; i <= RINGS; i++) {
		/* It may not be asleep yet the first times. */
		usleep(2000);
		pthread_kill(r->waiter, SIGUSR1);
		while (__atomic_load_n(&rung, __ATOMIC_SEQ_CST) < i)
			usleep(100);
	}
	__atomic_store_n(&r->over, 1, __ATOMIC_SEQ_CST);
	bgdma_endpoint_wake(r->ep);
	return NULL;
}

static bool is_over(void *arg)
{
	return __atomic_load_n(&((struct ringer *)arg)->over, __ATOMIC_SEQ_CST);
}

static int disturbed(uint32_t rank, uint32_t size, void *arg)
{
	/* No SA_RESTART. */
	const struct sigaction action = { .sa_handler = on_ring };
	const enum bgdma_wait_mode *mode = arg;
	struct ringer r = { .waiter = pthread_self() };
	pthread_t thread;
	struct member m;

	(void)rank;
	(void)size;
	require_is(0, member_open(&m, &(struct bgdma_endpoint_attr){
			.progress = BGDMA_PROGRESS_THREAD }));
	require_is(0, bgdma_endpoint_commit(m.ep, NULL));
	must(sigaction(SIGUSR1, &action, NULL));
	r.ep = m.ep;
	require_is(0, pthread_create(&thread, NULL, ring, &r));
	if (mode) {
		require_is(0, bgdma_endpoint_wait_until(m.ep, is_over, &r,
				*mode, (int64_t)PATIENCE_NS));
	} else {
		while (!is_over(&r))
			require_is(0, bgdma_endpoint_wait(m.ep,
					(int64_t)PATIENCE_NS));
	}
	require_is(0, pthread_join(thread, NULL));
	require_is(RINGS, rung);
	return member_close(&m);
}

TEST(sys_who_has_a_progress_thread_hears_of_no_signal)
{
	enum bgdma_wait_mode mode = BGDMA_SLEEP;

	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(1, disturbed, NULL, -1));
	EXPECT_TRUE(job_run(1, disturbed, &mode, -1));
	mode = BGDMA_SPIN_THEN_SLEEP;
	EXPECT_TRUE(job_run(1, disturbed, &mode, -1));
}

TEST_HARNESS_MAIN
