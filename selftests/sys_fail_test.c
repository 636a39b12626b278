// SPDX-License-Identifier: GPL-2.0
/*
 * The upper layers of the library when something fails: the nth allocation or system
 * call of a life from the job to the last message fails, for every n. It is told, and
 * nothing stays behind.
 */
#include <sys/eventfd.h>

#include <bgdma/coll.h>
#include <bgdma/msg.h>
#include <bgdma/rendezvous.h>
#include <bgdma/rma.h>

#include "kselftest_harness.h"
#include "failing_memory.h"
#include "sys_util.h"

int eventfd(unsigned int count, int flags)
{
	return fault() ? -1 : (int)syscall(SYS_eventfd2, count, flags);
}

/* ---- A life ------------------------------------------------------------ */

struct life {
	struct bgdma_endpoint_attr attr;
	struct member m;
	struct bgdma_rma *rma;
	struct bgdma_msg *msg;
	struct bgdma_coll *coll;
	struct bgdma_window *window;
	struct bgdma_coll_group *group;
	struct bgdma_region *region;
};

static int put_and_get(struct life *l)
{
	struct bgdma_access_attr a = {
		.local = { l->region, 0 }, .length = 64,
	};
	struct bgdma_update_attr u = {
		.op = BGDMA_ATOMIC_ADD, .type = BGDMA_ATOMIC_U64, .count = 1,
		.operand = 1,
	};
	struct bgdma_rma_epoch *e;
	int ret, closed;

	ret = bgdma_epoch_begin(l->window, 0, 1, 0, &e);
	if (ret)
		return ret;
	ret = bgdma_epoch_put(e, &a);
	if (!ret)
		ret = bgdma_epoch_get(e, &a);
	if (!ret)
		ret = bgdma_epoch_update(e, &u);
	if (!ret)
		ret = bgdma_epoch_flush(e);
	closed = bgdma_epoch_close(e);
	return ret ? ret : closed;
}

static int talk(struct life *l)
{
	static uint8_t out[20000] PINNED, in[20000] PINNED;
	struct bgdma_msg_request *s = NULL, *r = NULL;
	int ret;

	ret = bgdma_msg_irecv(l->msg, in, sizeof(in), 0, 1, 0, &r);
	if (!ret)
		ret = bgdma_msg_isend(l->msg, out, sizeof(out), 0, 1, 0, &s);
	if (!ret)
		ret = bgdma_msg_wait(&r, NULL);
	if (!ret)
		ret = bgdma_msg_wait(&s, NULL);
	return ret;
}

static int live(struct life *l)
{
	int ret = member_open(&l->m, &l->attr);

	if (!ret)
		ret = bgdma_rma_create(&l->rma, l->m.ep, NULL);
	if (!ret)
		ret = bgdma_msg_create(&l->msg, l->m.ep, NULL);
	if (!ret)
		ret = bgdma_coll_create(&l->coll, l->m.ep, l->m.job);
	if (!ret)
		ret = bgdma_endpoint_commit(l->m.ep, NULL);
	if (!ret)
		ret = bgdma_region_alloc(bgdma_endpoint_ctx(l->m.ep), 4096,
					 LOCAL_RW, &l->region);
	if (!ret)
		ret = bgdma_endpoint_expose(l->m.ep, l->region,
					    BGDMA_RIGHT_WRITE);
	if (!ret)
		ret = bgdma_window_create(l->rma, &(struct bgdma_window_attr){
				.length = 4096 }, &l->window);
	if (!ret)
		ret = put_and_get(l);
	if (!ret)
		ret = bgdma_coll_split(l->coll, NULL, &l->group);
	if (!ret)
		ret = bgdma_coll_barrier(l->group);
	if (!ret)
		ret = talk(l);
	return ret;
}

/* The lowest number that no file has: it grows when one stays open. */
static int next_fd(void)
{
	int fd = dup(0);

	close(fd);
	return fd;
}

/* One life, in which the @n-th call fails; 0: none. Nothing stays of it. */
static int live_once(const struct bgdma_endpoint_attr *attr, unsigned int n)
{
	struct life l = { .attr = *attr };
	long memory = allocated;
	int fd = next_fd(), ret;

	until_fault = n;
	ret = live(&l);
	until_fault = 0;
	bgdma_endpoint_destroy(l.m.ep);
	bgdma_job_close(l.m.job);
	/* What is there once for all the first life has left. */
	if (n) {
		require_is(memory, allocated);
		require_is(fd, next_fd());
	}
	return ret;
}

static int fail_nth(uint32_t rank, uint32_t size, void *arg)
{
	const struct bgdma_endpoint_attr *attr = arg;
	unsigned int n, told = 0;
	int ret;

	(void)rank;
	(void)size;
	require_is(0, live_once(attr, 0));
	for (n = 1; n < 2000; n++) {
		faults = 0;
		ret = live_once(attr, n);
		if (!faults)
			break;
		/* Progress tries again what it had no memory for. */
		require(ret == -ENOMEM || ret == 0);
		told += ret == -ENOMEM;
	}
	require_is(0, ret);
	require(told > 200);
	return 0;
}

FIXTURE(life) {
};

FIXTURE_VARIANT(life) {
	struct bgdma_endpoint_attr attr;
};

FIXTURE_VARIANT_ADD(life, plain) {};
FIXTURE_VARIANT_ADD(life, with_a_thread) {
	{ .progress = BGDMA_PROGRESS_THREAD }
};
FIXTURE_VARIANT_ADD(life, with_shared_counters) {
	{ .counters = BGDMA_COUNTERS_SHARED }
};

FIXTURE_SETUP(life)
{
	partition_new("2x1x1", "");
}

FIXTURE_TEARDOWN(life)
{
}

TEST_F_TIMEOUT(life, x3_each_call_that_fails_is_told, 300)
{
	struct bgdma_endpoint_attr attr = variant->attr;

	EXPECT_TRUE(job_run(1, fail_nth, &attr, -1));
}

TEST_HARNESS_MAIN
