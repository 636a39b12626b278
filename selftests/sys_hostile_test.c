// SPDX-License-Identifier: GPL-2.0
/*
 * Processes of a job that say they are another, or keep one busy: with errors,
 * cancels and marks without end.
 */
#include "kselftest_harness.h"
#include "sys_forge.h"

enum { VICTIM = 0, JOB = 3 };

#define BYTES	5000
#define PORTION	1000	/* of a paced message */

/* ---- Two that say they are the same ------------------------------------- */

static int twin(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_ctx_info *info;
	struct member m;

	(void)size;
	(void)arg;
	require_is(0, member_open(&m, NULL));
	/* What it tells the others of itself is taken from here. */
	info = (void *)(uintptr_t)bgdma_ctx_info(bgdma_endpoint_ctx(m.ep));
	if (rank == JOB - 1)
		info->rank = JOB - 2;
	require_is(-EBADMSG, bgdma_endpoint_commit(m.ep, NULL));
	require_is(0, bgdma_job_fence(m.job));
	bgdma_endpoint_destroy(m.ep);
	bgdma_job_close(m.job);
	return 0;
}

TEST(dp9_x2_two_of_one_place)
{
	partition_new("3x1x1", "");
	EXPECT_TRUE(job_run(JOB, twin, NULL, -1));
}

/* ---- Errors without end ------------------------------------------------- */

/* Have the victim's engine run what can only fail, on the counter of a message. */
static int spoil(struct forger *f, uint32_t counter)
{
	struct bgdma_transfer t = bgdma__no_transfer();

	t.from.region = 12345;
	t.length = 8;
	t.counter = counter;
	bgdma_desc_local_copy(bgdma_region_addr(f->region), &t);
	return forge_run(f, VICTIM, 1);
}

static int spoiled(uint32_t rank, uint32_t size, void *arg)
{
	static struct module module;
	static uint8_t mem[BYTES] PINNED;
	volatile bool *over = arg;
	struct forger forger;

	(void)size;
	require_is(0, module_open(&module, (struct bgdma_endpoint_attr){ 0 }));
	if (rank == VICTIM) {
		require_is(0, announce(&module, (struct bgdma_rendezvous_attr){
				.dest = 1, .portion = PORTION, .length = BYTES,
				.data = mem }));
		require_is(0, until_count(&module, &module.ended, 1));
		require(module.last);
		*over = true;
	} else {
		require_is(0, forger_open(&forger, &module));
		require_is(0, until_count(&module, &module.announced, 1));
		while (!*over)
			require_is(0, spoil(&forger, module.kept[0].counter));
	}
	return member_close(&module.m);
}

TEST(x2_sp3a_errors_without_end_put_nothing_off)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, spoiled, shared(sizeof(bool)), -1));
}

/* ---- More cancels than a peer can have ---------------------------------- */

#define STOPS		32768U	/* that are remembered of a peer */
#define FILL		1000U	/* answers, for which there is no room */
#define TOO_MANY	50U

struct flood {
	struct bgdma_endpoint_attr attr;
	volatile bool over, sent;
};

static int stop_forge(struct forger *f, uint32_t serial)
{
	const struct stop_wire stop = { .serial = __cpu_to_le32(serial) };

	return forge(f, VICTIM, CONTROL_FIFO, forge_id("sys", "stop"),
		     forge_word(serial, 0), &stop, sizeof(stop));
}

/* It reads no answers until the end. */
static int flood_send(struct module *module, struct flood *flood)
{
	struct forger forger;
	uint32_t i;

	require_is(0, forger_open(&forger, module));
	for (i = 1; i <= FILL; i++)
		require_is(0, stop_forge(&forger, i));
	for (i = FILL - TOO_MANY; i < FILL; i++)
		require_is(0, stop_forge(&forger, i + STOPS));
	/* There may be room for an answer or two, after all. */
	for (; !flood->over; i++)
		require_is(0, stop_forge(&forger, i + STOPS));
	flood->sent = true;
	while (bgdma_endpoint_wait(module->m.ep, 100000000) == 0)
		;
	return 0;
}

static int flooded(uint32_t rank, uint32_t size, void *arg)
{
	static struct module module;
	struct flood *flood = arg;

	(void)size;
	require_is(0, module_open(&module, flood->attr));
	if (rank)
		require_is(0, flood_send(&module, flood));
	while (!rank && module.troubles < TOO_MANY)
		(void)bgdma_endpoint_wait(module.m.ep, 1000000);
	flood->over = true;
	/* The last one may wait for room. */
	while (!rank && !flood->sent)
		(void)bgdma_endpoint_wait(module.m.ep, 1000000);
	require_is(0, bgdma_job_fence(module.m.job));
	return member_close(&module.m);
}

TEST(lc2_x2_a_cancel_that_cannot_be_answered_is_told)
{
	struct flood *flood = shared(sizeof(*flood));

	flood->attr = (struct bgdma_endpoint_attr){
		.entries = 16, .channels = 1, .control_bytes = 16384,
	};
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, flooded, flood, -1));
}

/* Who sends marks that nobody asked for has nothing done again. */
static int marked(uint32_t rank, uint32_t size, void *arg)
{
	static struct module module;
	struct bgdma_endpoint_stats stats = { 0 };
	volatile bool *over = arg;
	struct forger f;
	uint32_t i;

	(void)size;
	require_is(0, module_open(&module, (struct bgdma_endpoint_attr){ 0 }));
	while (rank == VICTIM && !*over)
		require(bgdma_endpoint_progress(module.m.ep, 0) >= 0);
	if (rank != VICTIM) {
		require_is(0, forger_open(&f, &module));
		require_is(0, stop_forge(&f, 1));
		for (i = 0; i < 10; i++)
			require_is(0, forge(&f, VICTIM, CONTROL_FIFO, forge_id(
					    "sys", "mark"), 99, NULL, 0));
		require_is(0, stop_forge(&f, 2));
		/* The answer to the last comes behind all others. */
		for (i = 0; i < 20 || stats.packets < 2; i++) {
			(void)bgdma_endpoint_wait(module.m.ep, 10000000);
			bgdma_endpoint_stats(module.m.ep, &stats);
		}
		require_is(2, stats.packets);
		*over = true;
	}
	return rank == VICTIM ? module_close(&module) : member_close(&module.m);
}

TEST(x2_a_mark_that_nobody_asked_for_is_none)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, marked, shared(sizeof(bool)), -1));
}

TEST_HARNESS_MAIN
