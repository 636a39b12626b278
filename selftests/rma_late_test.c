// SPDX-License-Identifier: GPL-2.0
/*
 * Transfers that fail when others have been begun behind them: each error is that of
 * its own epoch, and what has ended has ended.
 */
#include <poll.h>
#include <sys/ioctl.h>

#include "kselftest_harness.h"
#include "rma_util.h"

/* When all are through nobody is at our gate. */
static int close_at_rest(struct accessor *a)
{
	require_is(0, meet(a));
	require_is(0, at_gate(a, NULL));
	return accessor_close(a);
}

/* ---- Gets that are dropped with one that is refused --------------------- */

#define GETS	40

/* All together, into memory of which nothing is left. */
static int gets(const struct accessor *a, struct bgdma_rma_epoch *e,
		struct bgdma_access_attr *attr)
{
	uint32_t i;

	memset(a->local, 0, GETS * 8);
	for (i = 0; i < GETS; i++) {
		attr->local.offset = i * 8;
		attr->at = i * 8;
		attr->more = i < GETS - 1;
		require_is(0, bgdma_epoch_get(e, attr));
	}
	return 0;
}

/*
 * A get that is refused takes with it what waits behind it, also of another
 * epoch: that one does not wait for ever.
 */
static int dropped(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_region *foreign;
	struct bgdma_rma_epoch *bad, *good;
	struct bgdma_access_attr attr;
	struct accessor a = { 0 };
	const int refused = bgdma_code_errno(BGDMA_E_RIGHTS);
	uint32_t k;
	int ret;

	(void)size;
	(void)arg;
	require_is(0, accessor_open(&a));
	require_is(0, bgdma_region_alloc(bgdma_endpoint_ctx(a.m.ep), 4096,
					 BGDMA_LOCAL_WRITE, &foreign));
	mark(a.own, GETS * 8, rank);
	require_is(0, meet(&a));
	/* The same identifiers again: no get of the round before comes late. */
	for (k = 0; rank == 0 && k < 50; k++) {
		require_is(0, bgdma_epoch_begin(a.window, 1, 1, 0, &bad));
		require_is(0, bgdma_epoch_begin(a.window, 1, 2, 0, &good));
		attr = access_at(&a, 0, 8, 0);
		attr.more = true;
		attr.local.region = foreign;
		require_is(0, bgdma_epoch_get(bad, &attr));
		attr.local.region = a.region;
		require_is(0, gets(&a, good, &attr));
		ret = bgdma_epoch_flush(good);
		/* Nothing, if all of it was through when the other was refused. */
		require(ret == 0 || ret == refused);
		require(ret || is_marked(a.local, GETS * 8, 1));
		require_is(ret, bgdma_epoch_close(good));
		require_is(refused, bgdma_epoch_close(bad));
	}
	require_is(0, bgdma_region_free(foreign));
	return close_at_rest(&a);
}

TEST(ep6_after_a_get_that_others_were_dropped_with)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, dropped, NULL, -1));
}

/* The event that tells of the refusal finds no room: it is missed all the same. */
static int unheard(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_rma_epoch *noise, *bad, *good;
	struct bgdma_region *foreign;
	struct bgdma_access_attr attr;
	struct accessor a = { 0 };
	struct bgdma_ctx *ctx;
	uint32_t i;
	int ret;

	(void)size;
	(void)arg;
	require_is(0, accessor_open(&a));
	ctx = bgdma_endpoint_ctx(a.m.ep);
	require_is(0, bgdma_region_alloc(ctx, 4096, BGDMA_LOCAL_WRITE,
					 &foreign));
	mark(a.own, GETS * 8, rank);
	require_is(0, meet(&a));
	if (rank == 0) {
		require_is(0, bgdma_epoch_begin(a.window, 1, 3, 0, &noise));
		require_is(0, bgdma_epoch_begin(a.window, 2, 1, 0, &bad));
		require_is(0, bgdma_epoch_begin(a.window, 2, 2, 0, &good));
		attr = access_at(&a, 0, 8, 0);
		attr.local.region = foreign;
		/* No event is looked at meanwhile. */
		for (i = 0; i < 100000 && !bgdma_events_lost(ctx); i++)
			require_is(0, bgdma_epoch_get(noise, &attr));
		require(bgdma_events_lost(ctx));
		attr.more = true;
		require_is(0, bgdma_epoch_get(bad, &attr));
		attr.local.region = a.region;
		require_is(0, gets(&a, good, &attr));
		ret = bgdma_epoch_flush(good);
		require(ret < 0 || is_marked(a.local, GETS * 8, 2));
		require(bgdma_epoch_close(bad) < 0);
		require_is(ret, bgdma_epoch_close(good));
		require(bgdma_epoch_close(noise) < 0);
	}
	require_is(0, bgdma_region_free(foreign));
	return close_at_rest(&a);
}

TEST(ep6_after_a_refusal_that_was_not_heard_of)
{
	partition_new("3x1x1", "");
	EXPECT_TRUE(job_run(3, unheard, NULL, -1));
}

/* ---- Whose error it is -------------------------------------------------- */

/*
 * One fails, and as many as the ring has room for are put or got in another epoch before
 * anybody looks: the last has the slot that the one had.
 */
static int behind(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_rma_attr rma = {
		.channels = 1, .entries = BGDMA_INJ_ENTRIES_MIN,
	};
	const struct bgdma_window_attr window = { .length = WINDOW };
	const bool *gets_follow = arg;
	struct bgdma_rma_epoch *bad, *good;
	struct accessor a = { 0 };
	uint32_t i, k;

	(void)size;
	require_is(0, accessor_open_as(&a, (struct bgdma_endpoint_attr){ 0 },
				       rma, &window));
	for (k = 0; rank == 0 && k < 20; k++) {
		require_is(0, bgdma_epoch_begin(a.window, 1, 1, 0, &bad));
		require_is(0, bgdma_epoch_begin(a.window, 1, 2, 0, &good));
		require_is(0, put(&a, bad, 0, 8, 0));
		require_is(0, bgdma_epoch_flush(bad));
		require_is(0, put(&a, bad, LOCAL - 4, 8, 0));
		for (i = 0; i < rma.entries; i++) {
			(void)poll(NULL, 0, 1);
			require_is(0, *gets_follow ? get(&a, good, 8, 8, 8) :
						put(&a, good, 8, 8, 8));
		}
		require_is(0, bgdma_epoch_flush(good));
		require_is(-ERANGE, bgdma_epoch_close(bad));
		require_is(0, bgdma_epoch_close(good));
	}
	return close_at_rest(&a);
}

TEST(dma8_ep6_an_error_is_of_the_epoch_that_has_it)
{
	bool gets_follow = false;

	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, behind, &gets_follow, -1));
	gets_follow = true;
	EXPECT_TRUE(job_run(2, behind, &gets_follow, -1));
}

#define EPOCHS	14

/* What a test says of a put that its target refuses, when that shows just then. */
static int refused(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_rma_epoch *e[EPOCHS];
	struct bgdma_rma_request r;
	struct accessor a = { 0 };
	struct bgdma_access_attr attr;
	int *stage = arg, ret;
	uint32_t i;
	bool done;

	(void)size;
	require_is(0, accessor_open(&a));
	require_is(0, meet(&a));
	if (rank) {
		require(until(load(stage) == 1));
		require_is(0, bgdma_region_free(bgdma_window_region(a.window)));
		store(stage, 2);
		require(until(load(stage) == 3));
		return accessor_leave(&a);
	}
	for (i = 0; i < EPOCHS; i++)
		require_is(0, bgdma_epoch_begin(a.window, 1, i + 1, 0, &e[i]));
	store(stage, 1);
	require(until(load(stage) == 2));
	attr = access_at(&a, 0, 8, 0);
	attr.request = &r;
	for (i = 0; i < EPOCHS; i++) {
		require_is(0, bgdma_epoch_put(e[i], &attr));
		do {
			done = false;
			ret = bgdma_rma_test(&r, &done);
		} while (!ret && !done);
		require(ret < 0);
	}
	store(stage, 3);
	return accessor_leave(&a);
}

TEST(dma8_a_test_tells_of_a_put_that_failed)
{
	int i, *stage = shared(sizeof(*stage));

	partition_new("2x1x1", "");
	for (i = 0; i < 5; i++) {
		*stage = 0;
		EXPECT_TRUE(job_run(2, refused, stage, -1));
	}
}

/* ---- A queue that ends -------------------------------------------------- */

/* The target's program ends all queues for remote gets behind the library's back. */
static int queues_end(const struct accessor *a)
{
	struct bgdma_fifo_destroy destroy = {
		.size = sizeof(destroy), .kind = BGDMA_KIND_RGET_QUEUE,
	};
	int fd = bgdma_ctx_fd(bgdma_endpoint_ctx(a->m.ep)), ended = 0;

	for (destroy.id = 0; destroy.id < 8; destroy.id++)
		ended += !ioctl(fd, BGDMA_IOC_FIFO_DESTROY, &destroy);
	require(ended);
	return 0;
}

static int queue_ended(uint32_t rank, uint32_t size, void *arg)
{
	const struct bgdma_window_attr window = { .length = LOCAL };
	struct bgdma_rma_epoch *e;
	struct accessor a = { 0 };
	int *stage = arg;
	uint32_t i;

	(void)size;
	require_is(0, accessor_open_as(&a, (struct bgdma_endpoint_attr){ 0 },
				       (struct bgdma_rma_attr){ 0 }, &window));
	require_is(0, meet(&a));
	if (rank) {
		require(until(load(stage) == 1));
		require_is(0, queues_end(&a));
		store(stage, 2);
		require(until(load(stage) == 3));
		return accessor_leave(&a);
	}
	require_is(0, bgdma_epoch_begin(a.window, 1, 1, 0, &e));
	for (i = 0; i < 2 * GETS; i++) {
		if (i == GETS)
			store(stage, 1);
		require_is(0, get(&a, e, 0, LOCAL, 0));
	}
	/* It may be that it was too late. */
	(void)bgdma_epoch_flush(e);
	require(until(load(stage) == 2));
	require_is(0, get(&a, e, 0, 8, 0));
	require(bgdma_epoch_close(e) < 0);
	store(stage, 3);
	return accessor_leave(&a);
}

TEST(x3_ep8_a_target_that_ends_its_queue)
{
	int *stage = shared(sizeof(*stage));

	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, queue_ended, stage, -1));
}

TEST_HARNESS_MAIN
