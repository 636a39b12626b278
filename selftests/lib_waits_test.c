// SPDX-License-Identifier: GPL-2.0
/*
 * libbgdma on a device of the test's own (lib_fake.h): threads that wait for the same,
 * of which another clears the error that ends all their waits.
 */
#include <pthread.h>

#include <bgdma/bgdma.h>

#include "kselftest_harness.h"
#include "lib_fake.h"

#define WAITS		20000
#define PATIENCE	100000	/* ns */

FIXTURE(thread) {
	struct bgdma_ctx *ctx;
};

/* What the other thread sets and clears until it is told to end. */
static struct {
	struct bgdma_record *record;
	__u64 *bits;		/* of counters; NULL: none */
	bool end;
} error;

FIXTURE_SETUP(thread)
{
	fake_reset();
	memset(&error, 0, sizeof(error));
	ASSERT_EQ(0, bgdma_attach(&self->ctx, &(struct bgdma_attach_attr){
			.partition = "fake" }));
}

FIXTURE_TEARDOWN(thread)
{
	bgdma_detach(self->ctx);
}

/* As the kernel does: the code before the bit, and both away. */
static void *come_and_go(void *arg)
{
	while (!__atomic_load_n(&error.end, __ATOMIC_RELAXED)) {
		__atomic_store_n(&error.record->code, BGDMA_E_OP, __ATOMIC_RELEASE);
		if (error.bits)
			__atomic_fetch_or(error.bits, 1, __ATOMIC_SEQ_CST);
		bgdma_relax();
		if (error.bits)
			__atomic_fetch_and(error.bits, ~1ULL, __ATOMIC_SEQ_CST);
		__atomic_store_n(&error.record->code, BGDMA_OK, __ATOMIC_RELEASE);
		bgdma_relax();
	}
	return arg;
}

static int wait_for_fifo(void *fifo)
{
	return bgdma_inj_wait(fifo, 5, BGDMA_SPIN, PATIENCE);
}

static int wait_for_counter(void *counter)
{
	return bgdma_counter_wait(counter, BGDMA_SPIN, PATIENCE);
}

/* Nothing has ended: that is what nobody is told. */
static void nothing_ends(struct __test_metadata *_metadata, int (*wait)(void *arg),
			 void *arg)
{
	unsigned int i, failed = 0;
	pthread_t other;
	int ret;

	ASSERT_EQ(0, pthread_create(&other, NULL, come_and_go, NULL));
	for (i = 0; i < WAITS; i++) {
		ret = wait(arg);
		if (ret == -ETIMEDOUT)
			continue;
		ASSERT_EQ(-EINVAL, ret);
		failed++;
	}
	__atomic_store_n(&error.end, true, __ATOMIC_RELAXED);
	pthread_join(other, NULL);
	EXPECT_LT(0, failed);
}

TEST_F_TIMEOUT(thread, dma3_an_error_that_is_cleared_meanwhile_is_no_end_of_a_fifo, 120)
{
	struct bgdma_inj_fifo *fifo;

	ASSERT_EQ(0, bgdma_inj_create(self->ctx, NULL, &fifo));
	error.record = fake_record(FAKE_RECORD_INJ + bgdma_inj_id(fifo));
	nothing_ends(_metadata, wait_for_fifo, fifo);
	bgdma_inj_destroy(fifo);
}

TEST_F_TIMEOUT(thread, dma4_an_error_that_is_cleared_meanwhile_is_no_end_of_a_count, 120)
{
	struct bgdma_counter *counter;

	ASSERT_EQ(0, bgdma_counter_alloc(self->ctx, BGDMA_INJECTION, &counter));
	bgdma_counter_add(counter, 10);
	error.record = fake_record(bgdma_counter_slot(counter));
	error.bits = fake_kern->counter_error[BGDMA_INJECTION];
	nothing_ends(_metadata, wait_for_counter, counter);
	bgdma_counter_free(counter);
}

TEST_HARNESS_MAIN
