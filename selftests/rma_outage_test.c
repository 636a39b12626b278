// SPDX-License-Identifier: GPL-2.0
/*
 * Who has broken with us is shut out of our memory: of all of it, a little at a time, so
 * that progress goes on meanwhile.
 */
#include <linux/bgdma.h>

#include "kselftest_harness.h"
#include "ioctl_seen.h"
#include "rma_util.h"

#define FAR		1
#define WINDOWS		9
#define PIECES		5	/* of one more, which is dynamic */
#define PIECE		4096
#define A_LITTLE	4

static unsigned int revoked;

static int on_ioctl(unsigned long request)
{
	revoked += request == BGDMA_IOC_REVOKE;
	return 0;
}

static uint32_t down;

static void on_down(void *arg, const struct bgdma_trouble_info *info)
{
	(void)arg;
	down += info->trouble == BGDMA_TROUBLE_PEER_DOWN;
}

static int windows_make(struct accessor *a)
{
	static uint8_t memory[PIECES][PIECE] PINNED;
	struct bgdma_window *dynamic;
	uint32_t i;

	require_is(0, accessor_start(a, (struct bgdma_endpoint_attr){
			.trouble = on_down }, (struct bgdma_rma_attr){ 0 }));
	for (i = 0; i < WINDOWS; i++)
		require_is(0, bgdma_window_create(a->rma,
				&(struct bgdma_window_attr){ .length = WINDOW },
				&a->window));
	require_is(0, bgdma_window_create(a->rma, &(struct bgdma_window_attr){
			.dynamic = true }, &dynamic));
	for (i = 0; i < PIECES; i++)
		require_is(0, bgdma_window_attach(dynamic, memory[i], PIECE));
	return 0;
}

static int shut(struct accessor *a)
{
	const uint32_t far = FAR;
	unsigned int before;

	links_cut(FAR, true);
	require_is(0, bgdma_window_post(a->window, &far, 1));
	revoked = 0;
	require(until(({
		before = revoked;
		require(bgdma_endpoint_progress(a->m.ep, 0) >= 0);
		require(revoked - before <= A_LITTLE);
		revoked == WINDOWS + PIECES + 1;
	})));
	require_is(1, down);
	require_is(-EHOSTDOWN, bgdma_window_wait(a->window));
	links_cut(FAR, false);
	return 0;
}

static int outage(uint32_t rank, uint32_t size, void *arg)
{
	struct accessor a = { 0 };
	uint32_t *over = arg;

	require_is(0, windows_make(&a));
	require_is(0, bgdma_endpoint_flush(a.m.ep, (int64_t)PATIENCE_NS));
	require_is(0, bgdma_job_fence(a.m.job));
	if (rank == 0)
		require_is(0, shut(&a));
	require(until(({
		require(bgdma_endpoint_progress(a.m.ep, 0) >= 0);
		down;
	})));
	__atomic_add_fetch(over, 1, __ATOMIC_RELEASE);
	while (__atomic_load_n(over, __ATOMIC_ACQUIRE) < size)
		require(bgdma_endpoint_progress(a.m.ep, 0) >= 0);
	return member_close(&a.m);
}

TEST(x3_rma_who_broke_with_us_is_shut_out_of_all)
{
	links_hasty();
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, outage, shared(sizeof(uint32_t)), -1));
}

TEST_HARNESS_MAIN
