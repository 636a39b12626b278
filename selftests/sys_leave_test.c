// SPDX-License-Identifier: GPL-2.0
/*
 * Of two sides of which one leaves when the other has all, nothing is lost.
 */
#include "kselftest_harness.h"
#include "sys_forge.h"

/* ---- The origin of a message of both kinds leaves when all is there -------- */

#define PIECE	1000U
#define PIECES	200U

struct left {
	struct bgdma_endpoint_attr attr;
	volatile bool sent, go, refused, crowded;
};

static int left_open(struct module *module, const struct left *l, uint8_t *mem,
		     uint64_t bytes, uint64_t portion)
{
	require_is(0, module_open(module, l->attr));
	message_fill(mem, module->m.rank ? 0 : bytes, 1);
	if (module->m.rank)
		return 0;
	return announce(module, (struct bgdma_rendezvous_attr){
			.dest = 1, .length = bytes, .data = mem,
			.portion = portion });
}

/* All is there, and some of it is looked at: then the other side may leave. */
static int looks(struct module *module, struct left *l)
{
	while (!l->sent)
		usleep(1000);
	require(bgdma_endpoint_progress(module->m.ep, 8) > 0);
	require(bgdma_endpoint_progress(module->m.ep, 8) > 0);
	l->go = true;
	return 0;
}

/* The other side has left meanwhile. */
static int left_alone(struct module *module, int result)
{
	usleep(500000);
	require_is(0, until_count(module, &module->ended, 1));
	require_is(result, module->last);
	require_is(0, nothing_left(module));
	return member_leave(&module->m);
}

/* To where the other side has looked. */
static int leave_then(struct module *module, struct left *l)
{
	l->sent = true;
	while (!l->go)
		sched_yield();
	return member_leave(&module->m);
}

static enum bgdma_portions first_by_put(void *arg, uint32_t portion,
					uint64_t offset, uint64_t length)
{
	(void)arg;
	(void)offset;
	(void)length;
	return portion == 1 ? BGDMA_PORTIONS_PUT : BGDMA_PORTIONS_PACKETS;
}

static int leaves(uint32_t rank, uint32_t size, void *arg)
{
	static uint8_t mem[PIECE * PIECES];
	static struct module module;
	struct left *l = arg;

	(void)size;
	require_is(0, left_open(&module, l, mem, sizeof(mem), PIECE));
	if (rank == 0) {
		require_is(0, until_count(&module, &module.done, 1));
		return leave_then(&module, l);
	}
	require_is(0, take_next(&module, 0, (struct bgdma_accept_attr){
			.length = sizeof(mem), .data = mem,
			.way = first_by_put }));
	require_is(0, looks(&module, l));
	require_is(0, left_alone(&module, 0));
	require(message_is(mem, sizeof(mem), 1));
	return 0;
}

TEST(x3_sp5_all_that_came_before_its_origin_left_is_taken)
{
	struct left *l = shared(sizeof(*l));

	l->attr.control_bytes = 1 << 20;
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, leaves, l, -1));
	l->sent = false;
	l->go = false;
	l->attr.counters = BGDMA_COUNTERS_SHARED;
	EXPECT_TRUE(job_run(2, leaves, l, -1));
}

/* ---- The target of a chain leaves when it has all of it -------------------- */

/* The origin's control way has packets that are before the end of its message. */
static int crowd_send(struct module *module)
{
	struct forger f;
	uint32_t i;

	require_is(0, forger_open(&f, module));
	for (i = 0; i < 100; i++)
		require_is(0, forge(&f, 0, CONTROL_FIFO, forge_id("sys", "mark"),
				    0, "", 0));
	return 0;
}

/* @sent: the target has it; @go: the origin has seen its counter at zero */
static int target_leaves(uint32_t rank, uint32_t size, void *arg)
{
	static uint8_t mem[PIECE * 4];
	static struct module module;
	struct left *l = arg;

	(void)size;
	require_is(0, left_open(&module, l, mem, sizeof(mem), PIECE));
	if (rank == 0) {
		require_is(0, looks(&module, l));
		return left_alone(&module, 0);
	}
	require_is(0, until_count(&module, &module.announced, 1));
	require_is(0, crowd_send(&module));
	require_is(0, take(&module, 0, (struct bgdma_accept_attr){
			.length = sizeof(mem), .data = mem }));
	require_is(0, until_count(&module, &module.done, 1));
	require(message_is(mem, sizeof(mem), 1));
	usleep(100000);
	return leave_then(&module, l);
}

TEST(x3_sp7_what_its_target_has_is_sent)
{
	struct left *l = shared(sizeof(*l));

	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, target_leaves, l, -1));
}

/* ---- The target of a message leaves when it has what it wanted of it ------- */

static int took_and_leaves(uint32_t rank, uint32_t size, void *arg)
{
	static uint8_t mem[PIECE * 4];
	static struct module module;
	struct left *l = arg;

	(void)size;
	require_is(0, left_open(&module, l, mem, sizeof(mem),
				l->go ? PIECE : BGDMA_PORTION_WHOLE));
	if (rank == 0) {
		while (!l->sent)
			usleep(1000);
		require_is(0, left_alone(&module, l->refused ? -ECANCELED : 0));
		require_is(l->refused ? 0 : PIECE * 3 - 1, module.bytes);
		return 0;
	}
	require_is(0, until_count(&module, &module.announced, 1));
	if (l->crowded)
		require_is(0, crowd_send(&module));
	if (l->refused) {
		require_is(0, bgdma_rendezvous_refuse(module.m.ep,
						      &module.kept[0]));
	} else {
		require_is(0, take(&module, 0, (struct bgdma_accept_attr){
				.length = PIECE * 3 - 1, .data = mem }));
		require_is(0, until_count(&module, &module.done, 1));
		require(message_is(mem, PIECE * 3 - 1, 1));
	}
	usleep(100000);
	l->sent = true;
	return member_leave(&module.m);
}

TEST(x3_lc2_who_took_less_and_leaves_has_taken_it)
{
	struct left *l = shared(sizeof(*l));
	unsigned int i;

	partition_new("2x1x1", "");
	for (i = 0; i < 6; i++) {
		l->sent = false;
		l->crowded = i % 2;
		l->go = i / 2 == 1;
		l->refused = i / 2 == 2;
		EXPECT_TRUE(job_run(2, took_and_leaves, l, -1))
			TH_LOG("run %u", i);
	}
}

TEST_HARNESS_MAIN
