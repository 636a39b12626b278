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
	volatile pid_t pid;
	volatile bool sent, go, refused;
};

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
	require_is(0, module_open(&module, l->attr));
	message_fill(mem, rank ? 0 : sizeof(mem), 1);
	if (rank == 0) {
		l->pid = getpid();
		require_is(0, announce(&module, (struct bgdma_rendezvous_attr){
				.dest = 1, .length = sizeof(mem), .data = mem,
				.portion = PIECE }));
		require_is(0, until_count(&module, &module.done, 1));
		l->sent = true;
		while (!l->go)
			sched_yield();
		return member_leave(&module.m);
	}
	require_is(0, take_next(&module, 0, (struct bgdma_accept_attr){
			.length = sizeof(mem), .data = mem,
			.way = first_by_put }));
	while (!l->sent)
		usleep(1000);
	/* All is there; some of it is looked at. */
	require(bgdma_endpoint_progress(module.m.ep, 8) > 0);
	require(bgdma_endpoint_progress(module.m.ep, 8) > 0);
	l->go = true;
	usleep(500000);
	require_is(0, until_count(&module, &module.ended, 1));
	require_is(0, module.last);
	require(message_is(mem, sizeof(mem), 1));
	require_is(0, nothing_left(&module));
	return member_leave(&module.m);
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

/* @sent: the target has it; @go: the origin has seen its counter at zero */
static int target_leaves(uint32_t rank, uint32_t size, void *arg)
{
	static uint8_t mem[PIECE * 4];
	static struct module module;
	struct left *l = arg;
	struct forger f;
	uint32_t i;

	(void)size;
	require_is(0, module_open(&module, l->attr));
	message_fill(mem, rank ? 0 : sizeof(mem), 1);
	if (rank == 0) {
		require_is(0, announce(&module, (struct bgdma_rendezvous_attr){
				.dest = 1, .length = sizeof(mem), .data = mem,
				.portion = PIECE }));
		while (!l->sent)
			usleep(1000);
		require(bgdma_endpoint_progress(module.m.ep, 8) > 0);
		require(bgdma_endpoint_progress(module.m.ep, 8) > 0);
		l->go = true;
		usleep(500000);
		require_is(0, until_count(&module, &module.ended, 1));
		require_is(0, module.last);
		require_is(0, nothing_left(&module));
		return member_leave(&module.m);
	}
	/* The origin's control way has packets that are before the end of the chain. */
	require_is(0, until_count(&module, &module.announced, 1));
	require_is(0, forger_open(&f, &module));
	for (i = 0; i < 100; i++)
		require_is(0, forge(&f, 0, CONTROL_FIFO, forge_id("sys", "mark"),
				    0, "", 0));
	require_is(0, take(&module, 0, (struct bgdma_accept_attr){
			.length = sizeof(mem), .data = mem }));
	require_is(0, until_count(&module, &module.done, 1));
	require(message_is(mem, sizeof(mem), 1));
	usleep(100000);
	l->sent = true;
	while (!l->go)
		sched_yield();
	return member_leave(&module.m);
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
	require_is(0, module_open(&module, l->attr));
	message_fill(mem, rank ? 0 : sizeof(mem), 1);
	if (rank == 0) {
		require_is(0, announce(&module, (struct bgdma_rendezvous_attr){
				.dest = 1, .length = sizeof(mem), .data = mem,
				.portion = l->go ? PIECE : BGDMA_PORTION_WHOLE }));
		while (!l->sent)
			usleep(1000);
		usleep(500000);
		require_is(0, until_count(&module, &module.ended, 1));
		require_is(l->refused ? -ECANCELED : 0, module.last);
		require_is(l->refused ? 0 : PIECE * 3 - 1, module.bytes);
		require_is(0, nothing_left(&module));
		return member_leave(&module.m);
	}
	require_is(0, until_count(&module, &module.announced, 1));
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

	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, took_and_leaves, l, -1));
	l->sent = false;
	l->go = true;
	EXPECT_TRUE(job_run(2, took_and_leaves, l, -1));
	l->sent = false;
	l->refused = true;
	EXPECT_TRUE(job_run(2, took_and_leaves, l, -1));
}

TEST_HARNESS_MAIN
