// SPDX-License-Identifier: GPL-2.0
/*
 * A long message for which there is no region, as others have them, waits for one at its
 * receiver, too.
 */
#include <bgdma/collective.h>

#include <linux/bgdma.h>

#include "kselftest_harness.h"
#include "coll_util.h"
#include "ioctl_seen.h"

#define LONG	65536U
#define SENDERS	2U

/* Regions are made as long as there are some left. */
static unsigned int left = UINT32_MAX, refused;

static int on_ioctl(unsigned long request)
{
	if (request != BGDMA_IOC_REGION_PIN)
		return 0;
	if (!left) {
		refused++;
		return -ENOSPC;
	}
	left--;
	return 0;
}

static void senders_cut(bool cut)
{
	uint32_t i;

	for (i = 1; i <= SENDERS; i++)
		links_cut(i, cut);
}

/* Nothing that is accepted ends before all of it was tried. */
static int gathers(struct caller *c, const struct bgdma_collective *what, bool early)
{
	struct bgdma_coll_request *r;

	while (early && must(bgdma_endpoint_progress(c->m.ep, 0)))
		;
	senders_cut(true);
	left = 1;
	require_is(0, bgdma_coll_start(c->group, what, &r));
	require(until(({
		require_is(-EAGAIN, bgdma_coll_request_test(&r));
		refused;
	})));
	left = UINT32_MAX;
	senders_cut(false);
	return bgdma_coll_request_wait(&r, BGDMA_SLEEP, (int64_t)PATIENCE_NS);
}

static int no_room(uint32_t rank, uint32_t size, void *arg)
{
	static uint8_t all[(SENDERS + 1) * LONG] PINNED;
	const bool *early = arg;
	struct caller c = { 0 };
	const struct bgdma_collective what = {
		.kind = BGDMA_GATHER, .algorithm = BGDMA_LINEAR,
		.in = rank ? all : NULL, .out = rank ? NULL : all, .bytes = LONG,
	};
	struct bgdma_coll_request *r;
	uint32_t i;

	require_is(0, caller_open(&c, 1));
	require_is(0, bgdma_coll_split(c.coll, NULL, &c.group));
	if (rank) {
		memset(all, (int)rank, LONG);
		require_is(0, bgdma_coll_start(c.group, &what, &r));
		require_is(0, bgdma_endpoint_flush(c.m.ep, (int64_t)PATIENCE_NS));
	}
	place(0, size);
	if (rank) {
		require_is(0, bgdma_coll_request_wait(&r, BGDMA_SLEEP,
						      (int64_t)PATIENCE_NS));
		return caller_close(&c);
	}
	require_is(0, gathers(&c, &what, *early));
	for (i = 0; i < sizeof(all); i++)
		require_is(i / LONG, all[i]);
	return caller_close(&c);
}

FIXTURE(coll) {
};

FIXTURE_SETUP(coll)
{
	board = shared(sizeof(*board));
	setenv("BGDMA_TEST_LINKS", "1", 1);
	partition_new("3x1x1", "");
}

FIXTURE_TEARDOWN(coll)
{
}

TEST_F(coll, dp8_no_room_for_what_comes)
{
	bool early = false;

	EXPECT_TRUE(job_run(3, no_room, &early, -1));
}

TEST_F(coll, dp8_no_room_for_what_is_there)
{
	bool early = true;

	EXPECT_TRUE(job_run(3, no_room, &early, -1));
}

TEST_HARNESS_MAIN
