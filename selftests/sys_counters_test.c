// SPDX-License-Identifier: GPL-2.0
/*
 * Which messages get a counter of their own, on each side (LC-6): the first that ask,
 * and one that was given back goes to whoever asks next.
 */
#include "kselftest_harness.h"
#include "sys_module.h"

#define COUNTERS	4	/* the first is shared */
#define OWN		(COUNTERS - 1)
#define FIRST		6	/* messages that are outstanding at first */
#define MESSAGES	8
#define EARLY		1	/* that is received before the last are announced */
#define BYTES		3000

static uint8_t mem[MESSAGES][BYTES] PINNED;

/* So many had one of their own, and so many shared one. */
static int had(struct module *module, unsigned int kind, uint64_t own, uint64_t shared)
{
	struct bgdma_counter_stats stats;

	bgdma_counters_used(module->m.ep, kind, &stats);
	require_is(own, stats.exclusive);
	require_is(shared, stats.shared);
	return 0;
}

static int announce_next(struct module *module, uint32_t i)
{
	message_fill(mem[i], BYTES, i);
	return announce(module, (struct bgdma_rendezvous_attr){
			.dest = 1, .word = i, .length = BYTES, .data = mem[i],
			.portion = BGDMA_PORTION_WHOLE });
}

static int take_into(struct module *module, uint32_t i)
{
	return take(module, i, (struct bgdma_accept_attr){
			.length = BYTES, .data = mem[i] });
}

static int origin(struct module *module)
{
	uint32_t i;

	for (i = 0; i < FIRST; i++) {
		require_is(0, announce_next(module, i));
		require_is(0, had(module, BGDMA_INJECTION, i < OWN ? i + 1 : OWN,
				  i < OWN ? 0 : i + 1 - OWN));
	}
	require_is(0, until_count(module, &module->ended, 1));
	/* Whoever shares one goes on to. */
	for (; i < MESSAGES; i++)
		require_is(0, announce_next(module, i));
	require_is(0, had(module, BGDMA_INJECTION, OWN + 1,
			  MESSAGES - OWN - 1));
	return 0;
}

/* As the origin tells: what each RTS says of its counter. */
static int counters_told(const struct bgdma_rts *rts)
{
	uint32_t shared = rts[FIRST - 1].counter, i, k;

	for (i = 0; i < MESSAGES; i++) {
		if (i >= OWN && i != FIRST) {
			require_is(shared, rts[i].counter);
			continue;
		}
		require(rts[i].counter != shared);
		for (k = 0; k < i; k++)
			require(rts[i].counter != rts[k].counter);
	}
	/* What one gave back the next has, in another lease. */
	require_is(BGDMA_HANDLE_SLOT(rts[EARLY].counter),
		   BGDMA_HANDLE_SLOT(rts[FIRST].counter));
	return 0;
}

/* In another order than they were announced in. */
static int target(struct module *module)
{
	uint32_t i, n = 0;

	require_is(0, until_count(module, &module->announced, FIRST));
	require_is(0, take_into(module, EARLY));
	require_is(0, until_count(module, &module->ended, 1));
	require_is(0, until_count(module, &module->announced, MESSAGES));
	require_is(0, counters_told(module->kept));
	for (i = MESSAGES; i-- > 0;) {
		if (i == EARLY)
			continue;
		require_is(0, take_into(module, i));
		n++;
		require_is(0, had(module, BGDMA_RECEPTION,
				  1 + (n < OWN ? n : OWN),
				  n < OWN ? 0 : n - OWN));
	}
	return 0;
}

static int order(uint32_t rank, uint32_t size, void *arg)
{
	static struct module module;
	uint32_t i;

	(void)size;
	(void)arg;
	require_is(0, module_open(&module, (struct bgdma_endpoint_attr){
			.inj_counters = COUNTERS, .rec_counters = COUNTERS }));
	require_is(0, rank ? target(&module) : origin(&module));
	require_is(0, until_count(&module, &module.ended, MESSAGES));
	require_is(MESSAGES, module.done.is);
	require(!module.disorder);
	for (i = 0; i < MESSAGES; i++)
		require(message_is(mem[i], BYTES, i));
	require_is(0, bgdma_job_fence(module.m.job));
	return module_close(&module);
}

TEST(lc6_counters_are_granted_in_the_order_asked)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, order, NULL, -1));
}

/* ---- What its peer sends besides ----------------------------------------- */

/* How often the counter after the shared one, so many behind, was leased. */
static unsigned int leases(struct module *module, unsigned int kind, uint32_t behind)
{
	const struct bgdma_counter_view *v;
	struct bgdma_counter *own;
	unsigned int gen;

	must(bgdma_counter_alloc(bgdma_endpoint_ctx(module->m.ep), kind, &own));
	v = bgdma_counter_view(own);
	gen = load(&(v->cell - v->slot + 1 + behind)->lease_gen);
	must(bgdma_counter_free(own));
	return gen;
}

/* One after the other, and each has a counter that was not the last one's. */
static int in_turn(uint32_t rank, uint32_t size, void *arg)
{
	const unsigned int kind = rank ? BGDMA_RECEPTION : BGDMA_INJECTION;
	static struct module module;
	unsigned int before[OWN];
	uint32_t i;

	(void)size;
	(void)arg;
	require_is(0, module_open(&module, (struct bgdma_endpoint_attr){
			.inj_counters = COUNTERS, .rec_counters = COUNTERS }));
	for (i = 0; i < OWN; i++)
		before[i] = leases(&module, kind, i);
	for (i = 0; i < OWN; i++) {
		if (!rank)
			require_is(0, announce_next(&module, i));
		else
			require_is(0, until_count(&module, &module.announced, i + 1) ?:
				      take_into(&module, i));
		require_is(0, until_count(&module, &module.ended, i + 1));
	}
	require_is(OWN, module.done.is);
	for (i = 0; i < OWN; i++)
		require(leases(&module, kind, i) > before[i]);
	require_is(0, bgdma_job_fence(module.m.job));
	return module_close(&module);
}

/* An engine may be about to count there what a peer sent beyond what it had said. */
TEST(x2_lc6_a_counter_has_another_peer_last)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, in_turn, NULL, -1));
}

/* ---- What one that was cancelled leaves ---------------------------------- */

/* Of the first counter, which all share. */
static int shared_is(struct module *module, unsigned int kind, int64_t value)
{
	const struct bgdma_counter_view *v;
	struct bgdma_counter *own;

	require_is(0, bgdma_counter_alloc(bgdma_endpoint_ctx(module->m.ep),
					  kind, &own));
	v = bgdma_counter_view(own);
	/* An announcement is acknowledged by and by, over links. */
	until(load(&(v->cell - v->slot)->value) == value);
	require_is(value, load(&(v->cell - v->slot)->value));
	return bgdma_counter_free(own);
}

static int cancels(struct module *module, bool *heard)
{
	uint32_t id;

	require_is(0, announce_next(module, 0));
	require_is(0, bgdma_rendezvous_send(module->m.ep,
			&(struct bgdma_rendezvous_attr){ .dest = 1, .word = 1,
			.operation = module->rts, .length = BYTES,
			.data = mem[1], .done = on_done, .arg = module,
			.id = &id }));
	require_is(0, bgdma_rendezvous_cancel(module->m.ep, id));
	require_is(0, until_count(module, &module->ended, 1));
	require_is(-ECANCELED, module->last);
	/* The other goes on, and nobody waited for its end. */
	require_is(0, shared_is(module, BGDMA_INJECTION, BYTES));
	store(heard, true);
	return until_count(module, &module->done, 1);
}

static int takes(struct module *module, bool *heard)
{
	require_is(0, until_count(module, &module->announced, 2));
	while (!load(heard))
		bgdma_endpoint_wait(module->m.ep, 1000000);
	require_is(0, take_into(module, 1));
	require_is(0, until_count(module, &module->ended, 1));
	require_is(-ECANCELED, module->last);
	require_is(0, shared_is(module, BGDMA_RECEPTION, 0));
	require_is(0, take_into(module, 0));
	return until_count(module, &module->done, 1);
}

static int left(uint32_t rank, uint32_t size, void *arg)
{
	static struct module module;

	(void)size;
	require_is(0, module_open(&module, (struct bgdma_endpoint_attr){
			.counters = BGDMA_COUNTERS_SHARED }));
	require_is(0, rank ? takes(&module, arg) : cancels(&module, arg));
	require_is(0, bgdma_job_fence(module.m.job));
	return module_close(&module);
}

TEST(lc3_what_was_cancelled_leaves_a_shared_counter)
{
	bool *heard = shared(sizeof(*heard));

	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, left, heard, -1));
}

TEST_HARNESS_MAIN
