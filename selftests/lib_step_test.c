// SPDX-License-Identifier: GPL-2.0
/*
 * libbgdma on a device of the test's own (lib_fake.h), one instruction at a
 * time: what others change, or see, in the middle of a call.
 *
 * Proves the library's share of DMA-8 and X-2.
 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <bgdma/bgdma.h>

#include "kselftest_harness.h"
#include "lib_fake.h"

/* Trap after each instruction. */
#define EFLAGS_TF 0x100UL

static volatile unsigned int step, change_at;

static void trap(bool on)
{
	unsigned long flags = __builtin_ia32_readeflags_u64() & ~EFLAGS_TF;

	__builtin_ia32_writeeflags_u64(flags | (on ? EFLAGS_TF : 0));
}

/* ---- An error record that changes while it is read -------------------- */

static void fill(struct bgdma_record *record, uint64_t n)
{
	record->desc_seq = n;
	record->transfer_id = (__u32)n;
	record->offset = n;
	record->bound = n;
	bgdma_store_release(&record->code, (__u32)BGDMA_E_BOUNDS);
}

/* Another thread clears the error, and the next one has the same code. */
static void on_step(int signo)
{
	(void)signo;
	if (++step != change_at)
		return;
	bgdma_store_release(&fake_record(0)->code, 0U);
	fill(fake_record(0), 2);
}

static int read_in_steps(struct bgdma_counter *counter,
			 struct bgdma_record *record)
{
	int code;

	step = 0;
	trap(true);
	code = bgdma_counter_error(counter, record);
	trap(false);
	return code;
}

/* What is read is one error, never parts of two. */
TEST(whole_records)
{
	const struct sigaction action = { .sa_handler = on_step };
	unsigned int seen[3] = { 0 };
	struct bgdma_counter *counter;
	struct bgdma_record record;
	struct bgdma_ctx *ctx;

	fake_reset();
	ASSERT_EQ(0, bgdma_attach(&ctx, &(struct bgdma_attach_attr){
			.partition = "fake", .rank = 3 }));
	ASSERT_EQ(0, bgdma_counter_alloc(ctx, BGDMA_INJECTION, &counter));
	ASSERT_EQ(0, sigaction(SIGTRAP, &action, NULL));
	for (change_at = 1, step = 1; step >= change_at; change_at++) {
		fill(fake_record(0), 1);
		ASSERT_EQ(BGDMA_E_BOUNDS, read_in_steps(counter, &record));
		ASSERT_LT(record.offset, 3);
		EXPECT_EQ(record.offset, record.desc_seq);
		EXPECT_EQ(record.offset, record.transfer_id);
		EXPECT_EQ(record.offset, record.bound);
		seen[record.offset]++;
	}
	/* The change came before, in and after the read. */
	EXPECT_LT(1, seen[1]);
	EXPECT_LT(1, seen[2]);
	bgdma_detach(ctx);
}

/* ---- A lease that goes from one peer to another ----------------------- */

static unsigned int old_gen, wrong_steps, new_steps;

static void look_at_lease(int signo)
{
	const struct bgdma_counter_cell *cell = fake_cell(BGDMA_RECEPTION, 0);

	(void)signo;
	if (cell->lease_gen == old_gen)
		return;
	new_steps++;
	wrong_steps += cell->lease_peer == 4;
	wrong_steps += cell->lease_peer == 5 && cell->lease_ctx != 2;
}

/* Under the new generation nobody gets in but whom the lease is for. */
TEST(lease)
{
	const struct sigaction action = { .sa_handler = look_at_lease };
	struct bgdma_counter *counter;
	struct bgdma_ctx *ctx;

	fake_reset();
	ASSERT_EQ(0, bgdma_attach(&ctx, &(struct bgdma_attach_attr){
			.partition = "fake", .rank = 3 }));
	ASSERT_EQ(0, bgdma_counter_alloc(ctx, BGDMA_RECEPTION, &counter));
	bgdma_counter_lease(counter, 4, 1);
	old_gen = fake_cell(BGDMA_RECEPTION, 0)->lease_gen;
	ASSERT_EQ(0, sigaction(SIGTRAP, &action, NULL));
	trap(true);
	bgdma_counter_lease(counter, 5, 2);
	trap(false);
	EXPECT_LT(1, new_steps);
	EXPECT_EQ(0, wrong_steps);
	EXPECT_EQ(5, fake_cell(BGDMA_RECEPTION, 0)->lease_peer);
	bgdma_detach(ctx);
}

/* ---- A hit whose bit comes after the value ----------------------------- */

static void hit_on_step(int signo)
{
	(void)signo;
	if (++step == change_at)
		bgdma_atomic_or(&fake_user->hit_zero[BGDMA_RECEPTION][0], 1ULL);
}

/* The engine has taken off the last byte; the counter is used again at once. */
TEST(dma4_no_hit_after_its_clear)
{
	const struct sigaction action = { .sa_handler = hit_on_step };
	struct bgdma_counter *counter;
	struct bgdma_ctx *ctx;
	bool was;

	fake_reset();
	ASSERT_EQ(0, bgdma_attach(&ctx, &(struct bgdma_attach_attr){
			.partition = "fake", .rank = 3 }));
	ASSERT_EQ(0, bgdma_counter_alloc(ctx, BGDMA_RECEPTION, &counter));
	ASSERT_EQ(0, sigaction(SIGTRAP, &action, NULL));
	/* Nothing was added: nothing is waited for. */
	EXPECT_FALSE(bgdma_counter_clear_hit(counter));
	for (change_at = 1; change_at < 100; change_at++) {
		bgdma_counter_add(counter, 100);
		fake_cell(BGDMA_RECEPTION, 0)->value = 0;
		step = 0;
		trap(true);
		was = bgdma_counter_clear_hit(counter);
		trap(false);
		ASSERT_TRUE(was);
		ASSERT_FALSE(bgdma_counter_hit(counter));
	}
	/* It is cleared: the same. */
	EXPECT_FALSE(bgdma_counter_clear_hit(counter));
	bgdma_detach(ctx);
}

/* Of this thread's processor, in ns. */
static int64_t processor_ns(void)
{
	struct timespec t;

	if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t))
		return INT64_MAX;
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void *hit_late(void *arg)
{
	(void)arg;
	poll(NULL, 0, 600);
	bgdma_atomic_or(&fake_user->hit_zero[BGDMA_RECEPTION][0], 1ULL);
	return NULL;
}

/* Who is to set it may need this processor: it is not spun for without end. */
TEST(dma4_a_late_hit_is_slept_for)
{
	struct bgdma_counter *counter;
	struct bgdma_ctx *ctx;
	pthread_t engine;
	int64_t before;

	fake_reset();
	ASSERT_EQ(0, bgdma_attach(&ctx, &(struct bgdma_attach_attr){
			.partition = "fake", .rank = 3 }));
	ASSERT_EQ(0, bgdma_counter_alloc(ctx, BGDMA_RECEPTION, &counter));
	bgdma_counter_add(counter, 100);
	fake_cell(BGDMA_RECEPTION, 0)->value = 0;
	ASSERT_EQ(0, pthread_create(&engine, NULL, hit_late, NULL));
	before = processor_ns();
	EXPECT_TRUE(bgdma_counter_clear_hit(counter));
	EXPECT_GT(before + 300000000, processor_ns());
	ASSERT_EQ(0, pthread_join(engine, NULL));
	bgdma_detach(ctx);
}

TEST_HARNESS_MAIN
