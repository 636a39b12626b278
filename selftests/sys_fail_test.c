// SPDX-License-Identifier: GPL-2.0
/*
 * The upper layers of the library when something fails: the nth allocation or system
 * call of a life from the job to the last message fails, for every n, for want of
 * memory or in another way. It is told, and nothing stays behind.
 */
#include "kselftest_harness.h"
#include "sys_life.h"

/* ---- What there is in a life -------------------------------------------- */

static int window_open(struct life *l)
{
	return bgdma_window_create(l->rma, &(struct bgdma_window_attr){
			.length = 4096 }, &l->window);
}

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
	int ret = window_open(l), closed;

	if (!ret)
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

static int meet(struct life *l)
{
	int ret = bgdma_coll_split(l->coll, NULL, &l->group);

	return ret ? ret : bgdma_coll_barrier(l->group);
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

/* The other ways to access a window. */
static int synchronize(struct life *l)
{
	static const uint32_t self;
	bool done = false;
	struct bgdma_access_attr a = {
		.local = { l->region, 0 }, .length = 64,
	};
	int ret = window_open(l);

	if (!ret)
		ret = bgdma_window_fence(l->window, 0);
	if (!ret)
		ret = bgdma_window_put(l->window, 0, &a);
	if (!ret)
		ret = bgdma_window_fence(l->window, BGDMA_FENCE_LAST);
	if (!ret)
		ret = bgdma_window_post(l->window, &self, 1);
	if (!ret)
		ret = bgdma_window_start(l->window, &self, 1);
	if (!ret)
		ret = bgdma_window_get(l->window, 0, &a);
	if (!ret)
		ret = bgdma_window_complete(l->window);
	if (!ret)
		ret = bgdma_window_wait(l->window);
	if (!ret)
		ret = bgdma_window_post(l->window, &self, 1);
	if (!ret)
		ret = bgdma_window_start(l->window, &self, 1);
	if (!ret)
		ret = bgdma_window_complete(l->window);
	while (!ret && !done)
		ret = bgdma_window_test(l->window, &done);
	return ret ? ret : bgdma_window_free(l->window);
}

/* In an epoch of its own, which ends in any case. */
static int put_locked(struct bgdma_window *window, const struct bgdma_access_attr *a)
{
	int ret, unlocked;

	ret = bgdma_window_lock(window, 0, BGDMA_EPOCH_EXCLUSIVE);
	if (ret)
		return ret;
	ret = bgdma_window_put(window, 0, a);
	unlocked = bgdma_window_unlock(window, 0);
	return ret ? ret : unlocked;
}

/* A window whose memory comes and goes. */
static int attach(struct life *l)
{
	static uint8_t memory[8192] PINNED;
	struct bgdma_access_attr a = {
		.local = { l->region, 0 }, .length = 64,
		.at = (uintptr_t)memory,
	};
	struct bgdma_window *window;
	int ret;

	ret = bgdma_window_create(l->rma, &(struct bgdma_window_attr){
			.dynamic = true }, &window);
	if (!ret)
		ret = bgdma_window_attach(window, memory, sizeof(memory));
	if (!ret)
		ret = put_locked(window, &a);
	if (!ret)
		ret = bgdma_window_detach(window, memory);
	return ret ? ret : bgdma_window_free(window);
}

/* Accesses and updates in pieces and blocks. */
static int in_parts(struct bgdma_rma_epoch *e, const struct bgdma_access_attr *a)
{
	const struct bgdma_update_attr u = {
		.op = BGDMA_ATOMIC_ADD, .type = BGDMA_ATOMIC_U64, .count = 1,
		.local = a->local,
	};
	static const struct bgdma_piece pieces[] = {
		{ 0, 0, 8 }, { 64, 128, 24 }, { 128, 64, 8 },
	};
	static const struct bgdma_stride stride = { 3, 64, 128 };
	int ret;

	ret = bgdma_epoch_put_pieces(e, a, pieces, 3);
	if (!ret)
		ret = bgdma_epoch_get_pieces(e, a, pieces, 3);
	if (!ret)
		ret = bgdma_epoch_put_strided(e, a, &stride);
	if (!ret)
		ret = bgdma_epoch_get_strided(e, a, &stride);
	if (!ret)
		ret = bgdma_epoch_update_pieces(e, &u, pieces, 3);
	return ret ? ret : bgdma_epoch_update_strided(e, &u, &stride);
}

/* Accesses with requests, and in parts, at all processes. */
static int lock_all(struct life *l)
{
	struct bgdma_rma_request put, get;
	struct bgdma_access_attr a = {
		.local = { l->region, 0 }, .length = 64, .request = &put,
	};
	struct bgdma_update_attr u = {
		.op = BGDMA_ATOMIC_ADD, .type = BGDMA_ATOMIC_U64, .count = 1,
		.operand = 1,
	};
	struct bgdma_rma_epoch *e;
	int ret = window_open(l), unlocked;
	bool done = false;

	if (!ret)
		ret = bgdma_window_lock_all(l->window);
	if (ret)
		return ret;
	ret = bgdma_window_put(l->window, 0, &a);
	if (!ret)
		ret = bgdma_rma_wait(&put);
	a.request = &get;
	if (!ret)
		ret = bgdma_window_get(l->window, 0, &a);
	while (!ret && !done)
		ret = bgdma_rma_test(&get, &done);
	a.request = NULL;
	if (!ret)
		ret = bgdma_window_update(l->window, 0, &u);
	if (!ret)
		ret = bgdma_window_flush_local(l->window, 0);
	if (!ret)
		ret = bgdma_window_epoch(l->window, 0, &e);
	if (!ret)
		ret = in_parts(e, &a);
	if (!ret)
		ret = bgdma_window_flush(l->window, BGDMA_FLUSH_ALL);
	unlocked = bgdma_window_unlock_all(l->window);
	if (!ret)
		ret = unlocked;
	return ret ? ret : bgdma_window_free(l->window);
}

/* Requests that are asked for together. */
static int await(struct life *l)
{
	static uint8_t out[3][20000] PINNED, in[3][20000] PINNED;
	struct bgdma_msg_request *r[6] = { NULL };
	struct bgdma_msg_message *message;
	unsigned int i;
	int ret = 0;

	for (i = 0; !ret && i < 3; i++) {
		ret = bgdma_msg_irecv(l->msg, in[i], sizeof(in[i]), 0, i, 0,
				      &r[i]);
		if (!ret)
			ret = bgdma_msg_issend(l->msg, out[i], sizeof(out[i]),
					       0, i, 0, &r[3 + i]);
	}
	if (!ret)
		ret = bgdma_msg_waitany(r, 6, &i, NULL);
	if (ret >= 0)
		ret = bgdma_msg_waitsome(r, 6, (unsigned int[6]){ 0 }, NULL);
	/* 1 when all are complete. */
	for (ret = ret < 0 ? ret : 0; !ret;)
		ret = bgdma_msg_testall(r, 6, NULL);
	/* One that is looked for until it is there, and one that never comes. */
	if (ret > 0)
		ret = bgdma_msg_isend(l->msg, out[0], 64, 0, 9, 0, &r[0]);
	while (!ret)
		ret = bgdma_msg_improbe(l->msg, 0, 9, 0, &message, NULL);
	if (ret > 0)
		ret = bgdma_msg_imrecv(l->msg, in[0], 64, &message, &r[1]);
	if (!ret)
		ret = bgdma_msg_waitall(r, 2, NULL);
	if (!ret)
		ret = bgdma_msg_irecv(l->msg, in[0], 64, 0, 10, 0, &r[0]);
	if (!ret)
		ret = bgdma_msg_cancel(r[0]);
	if (ret)
		return ret;
	ret = bgdma_msg_wait(&r[0], NULL);
	return ret == -ECANCELED ? 0 : ret;
}

/* A counter that others may move, and somebody sleeps for. */
static int count(struct life *l)
{
	struct bgdma_ctx *ctx = bgdma_endpoint_ctx(l->m.ep);
	const struct bgdma_grant_attr anybody = {
		.rank = BGDMA_RANK_ANY, .ctx = BGDMA_CTX_ANY,
		.rights = BGDMA_RIGHT_COUNT,
	};
	struct bgdma_counter *counter;
	uint32_t grant;
	int ret, fd;

	ret = bgdma_counter_alloc(ctx, BGDMA_RECEPTION, &counter);
	if (ret)
		return ret;
	ret = bgdma_counter_grant(counter, 1, &anybody, &grant);
	bgdma_counter_lease(counter, 0, BGDMA_CTX_ANY);
	fd = ret ? -1 : eventfd(0, EFD_NONBLOCK);
	if (!ret && fd < 0)
		ret = -errno;
	if (!ret)
		ret = bgdma_counter_eventfd(counter, fd);
	bgdma_counter_enable(counter, true);
	bgdma_counter_add(counter, 1);
	if (!ret)
		ret = bgdma_counter_wait(counter, BGDMA_SLEEP, 1000);
	if (ret == -ETIMEDOUT)
		ret = 0;
	bgdma_counter_add(counter, -1);
	if (!ret)
		ret = bgdma_counter_wait(counter, BGDMA_SLEEP, -1);
	if (!ret)
		ret = bgdma_counter_clear_error(counter);
	if (!ret)
		ret = bgdma_revoke(ctx, grant);
	close(fd);
	return ret ? ret : bgdma_counter_free(counter);
}

/* A message that is looked for, and memory that all of them may use. */
static int take(struct life *l)
{
	static uint8_t in[20000] PINNED;
	struct iovec out[2] = {
		{ bgdma_region_addr(l->region), 3000 },
		{ bgdma_region_addr(l->region), 4096 },
	};
	struct bgdma_msg_request *s = NULL, *r = NULL;
	struct bgdma_msg_message *message;
	int ret = bgdma_msg_expose(l->msg, l->region);

	if (!ret)
		ret = bgdma_msg_isendv(l->msg, out, 2, 0, 1, 0, &s);
	if (!ret)
		ret = bgdma_msg_mprobe(l->msg, 0, 1, 0, &message, NULL);
	if (!ret)
		ret = bgdma_msg_imrecv(l->msg, in, sizeof(in), &message, &r);
	if (!ret)
		ret = bgdma_msg_wait(&r, NULL);
	return ret ? ret : bgdma_msg_wait(&s, NULL);
}

/* A receive that is waited for at its sender, and a message that nobody waits for. */
static int let_go(struct life *l)
{
	static uint8_t out[20000] PINNED, in[20000] PINNED;
	struct bgdma_msg_request *s = NULL, *r = NULL;
	int ret = bgdma_msg_irecv(l->msg, in, 64, 0, 20, 0, &r);

	if (!ret)
		ret = bgdma_msg_ssend(l->msg, out, 64, 0, 20, 0);
	if (!ret)
		ret = bgdma_msg_wait(&r, NULL);
	if (!ret)
		ret = bgdma_msg_isend(l->msg, out, sizeof(out), 0, 21, 0, &s);
	if (ret)
		return ret;
	bgdma_msg_request_free(&s);
	ret = bgdma_msg_probe(l->msg, 0, 21, 0, NULL);
	if (!ret)
		ret = bgdma_msg_recv(l->msg, in, sizeof(in), 0, 21, 0, NULL);
	return ret || !memcmp(in, out, sizeof(in)) ? ret : -EIO;
}

/* A window whose accesses are trapped. */
static int trap(struct life *l)
{
	static uint8_t memory[4096] PINNED;
	struct bgdma_access_attr a = {
		.local = { l->region, 0 }, .length = 64,
	};
	struct bgdma_window *window;
	int ret;

	ret = bgdma_window_create(l->rma, &(struct bgdma_window_attr){
			.addr = memory, .length = sizeof(memory),
			.trap = BGDMA_TRAP_ALL }, &window);
	if (!ret)
		ret = put_locked(window, &a);
	return ret ? ret : bgdma_window_free(window);
}

/* Each time that something is about to be called, that cannot be done now. */
static bool fourth_look(void *arg)
{
	unsigned int *looks = arg;

	until_fault = 1;
	return ++*looks == 4;
}

static int wait_without_end(uint32_t rank, uint32_t size, void *arg)
{
	static const struct kind kind = { 0 };
	struct life l = { .kind = &kind };
	unsigned int looks = 0;

	(void)rank;
	(void)size;
	(void)arg;
	fault_code = EAGAIN;
	require_is(0, commit(&l));
	faults = 0;
	require_is(0, bgdma_endpoint_wait_until(l.m.ep, fourth_look, &looks,
						BGDMA_SLEEP, -1));
	until_fault = 0;
	require(faults >= 2);
	bgdma_endpoint_destroy(l.m.ep);
	bgdma_job_close(l.m.job);
	return 0;
}

/* What cannot be done now is no end of the time. */
TEST(dp5_a_wait_without_end_has_none)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(1, wait_without_end, NULL, -1));
}

FIXTURE(life) {
};

FIXTURE_VARIANT(life) {
	struct kind kind;
};

FIXTURE_VARIANT_ADD(life, plain) {
	{ .steps = { put_and_get, meet, talk }, .told = 200 }
};
FIXTURE_VARIANT_ADD(life, with_a_thread) {
	{ .attr = { .progress = BGDMA_PROGRESS_THREAD },
	  .steps = { put_and_get, meet, talk }, .told = 200 }
};
FIXTURE_VARIANT_ADD(life, with_a_thread_not_now) {
	{ .attr = { .progress = BGDMA_PROGRESS_THREAD },
	  .steps = { put_and_get, meet, talk }, .told = 200, .code = EAGAIN }
};
FIXTURE_VARIANT_ADD(life, with_shared_counters) {
	{ .attr = { .counters = BGDMA_COUNTERS_SHARED },
	  .steps = { put_and_get, meet, talk }, .told = 200 }
};
FIXTURE_VARIANT_ADD(life, by_other_calls) {
	{ .steps = { synchronize, attach, take, trap }, .told = 200 }
};
FIXTURE_VARIANT_ADD(life, by_requests) {
	{ .steps = { lock_all, await, count, let_go }, .told = 200 }
};
FIXTURE_VARIANT_ADD(life, without_files) {
	{ .steps = { synchronize, attach, take, let_go }, .told = 200,
	  .code = EMFILE }
};
FIXTURE_VARIANT_ADD(life, with_signals) {
	{ .steps = { put_and_get, meet, talk }, .told = 200, .code = EINTR }
};
FIXTURE_VARIANT_ADD(life, not_now) {
	{ .steps = { lock_all, await, count, let_go }, .told = 200, .code = EAGAIN }
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
	struct kind kind = variant->kind;

	EXPECT_TRUE(job_run(1, fail_nth, &kind, -1));
}

TEST_HARNESS_MAIN
