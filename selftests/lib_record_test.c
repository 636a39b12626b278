// SPDX-License-Identifier: GPL-2.0
/*
 * libbgdma on a device of the test's own (lib_fake.h): an error record that
 * changes while it is read, at each instruction of the reader in turn.
 *
 * Proves the library's share of DMA-8.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include <bgdma/bgdma.h>

#include "kselftest_harness.h"
#include "lib_fake.h"

/* Trap after each instruction. */
#define EFLAGS_TF 0x100UL

static volatile unsigned int step, change_at;

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
	__builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() |
				       EFLAGS_TF);
	code = bgdma_counter_error(counter, record);
	__builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() &
				       ~EFLAGS_TF);
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

TEST_HARNESS_MAIN
