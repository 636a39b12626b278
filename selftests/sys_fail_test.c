// SPDX-License-Identifier: GPL-2.0
/*
 * The upper layers of the library when something fails: the nth allocation or system
 * call of a life from the job to the last message fails, for every n, for want of
 * memory or in another way. It is told, and nothing stays behind.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>

#include <bgdma/coll.h>
#include <bgdma/msg.h>
#include <bgdma/network.h>
#include <bgdma/rendezvous.h>
#include <bgdma/rma.h>

#include "kselftest_harness.h"
#include "failing_memory.h"
#include "sys_util.h"

int eventfd(unsigned int count, int flags)
{
	return fault() ? -1 : (int)syscall(SYS_eventfd2, count, flags);
}

int open(const char *path, int flags, ...)
{
	va_list list;
	mode_t mode;

	va_start(list, flags);
	mode = flags & O_CREAT ? va_arg(list, mode_t) : 0;
	va_end(list);
	return fault() ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *limit,
	  const sigset_t *mask)
{
	/* The kernel writes what is left of the time. */
	struct timespec left = limit ? *limit : (struct timespec){ 0 };

	return fault() ? -1 : (int)syscall(SYS_ppoll, fds, n,
					   limit ? &left : NULL, mask, NSIG / 8);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attr,
		   void *(*start)(void *arg), void *arg)
{
	__typeof__(pthread_create) *real = (__typeof__(pthread_create) *)
		dlsym(RTLD_NEXT, "pthread_create");

	return fault() ? fault_code : real(thread, attr, start, arg);
}

/* ---- What there is in a life ------------------------------------------- */

struct life;

#define STEPS_MAX	4

/* How one is, and what is done once the endpoint is committed. */
struct kind {
	struct bgdma_endpoint_attr attr;
	int (*steps[STEPS_MAX])(struct life *l);
	unsigned int told;	/* at least so many faults are */
	int code;		/* how they fail; 0: there is no memory */
};

struct life {
	const struct kind *kind;
	struct member m;
	struct bgdma_rma *rma;
	struct bgdma_msg *msg;
	struct bgdma_coll *coll;
	struct bgdma_window *window;
	struct bgdma_coll_group *group;
	struct bgdma_network *net;
	struct bgdma_region *region;
	uint32_t note, notes;	/* an operation, and how often it was called */
};

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
	return ret ? ret : bgdma_window_free(l->window);
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
	int ret, unlocked;

	ret = bgdma_window_create(l->rma, &(struct bgdma_window_attr){
			.dynamic = true }, &window);
	if (!ret)
		ret = bgdma_window_attach(window, memory, sizeof(memory));
	if (!ret)
		ret = bgdma_window_lock(window, 0, BGDMA_EPOCH_EXCLUSIVE);
	if (ret)
		return ret;
	ret = bgdma_window_put(window, 0, &a);
	unlocked = bgdma_window_unlock(window, 0);
	if (!ret)
		ret = unlocked;
	if (!ret)
		ret = bgdma_window_detach(window, memory);
	return ret ? ret : bgdma_window_free(window);
}

/* Accesses with requests, in pieces and blocks, at all processes. */
static int lock_all(struct life *l)
{
	static const struct bgdma_piece pieces[] = {
		{ 0, 0, 8 }, { 64, 128, 24 }, { 128, 64, 8 },
	};
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
		ret = bgdma_epoch_put_pieces(e, &a, pieces, 3);
	if (!ret)
		ret = bgdma_epoch_get_pieces(e, &a, pieces, 3);
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

static int on_note(void *arg, uint32_t rank, const struct bgdma_packet *packet)
{
	struct life *l = arg;

	(void)rank;
	(void)packet;
	l->notes++;
	return 0;
}

static bool noted(void *arg)
{
	struct life *l = arg;

	return l->notes || bgdma_network_error(l->net, NULL);
}

/* A message on a tree. */
static int network(struct life *l)
{
	int ret = bgdma_network_open(l->m.ep, &(struct bgdma_network_attr){
			.number = 15 }, &l->net);

	if (!ret)
		ret = bgdma_network_send(l->net, &(struct bgdma_member_attr){
				.operation = l->note, .data = "note",
				.length = 4 });
	if (!ret)
		ret = bgdma_endpoint_wait_until(l->m.ep, noted, l, BGDMA_SLEEP,
						-1);
	if (!ret && !l->notes)
		ret = -EIO;
	bgdma_network_close(l->net);
	return ret;
}

/* ---- A life ------------------------------------------------------------ */

static int commit(struct life *l)
{
	int ret = member_open(&l->m, &l->kind->attr);

	if (!ret)
		ret = bgdma_operation_register(l->m.ep,
				&(struct bgdma_operation_attr){
					.module = "life", .name = "note",
					.packet = on_note, .arg = l },
				&l->note);
	if (!ret)
		ret = bgdma_rma_create(&l->rma, l->m.ep, NULL);
	if (!ret)
		ret = bgdma_msg_create(&l->msg, l->m.ep, NULL);
	if (!ret)
		ret = bgdma_coll_create(&l->coll, l->m.ep, l->m.job);
	return ret ? ret : bgdma_endpoint_commit(l->m.ep, NULL);
}

static int live(struct life *l)
{
	int ret = commit(l);
	unsigned int i;

	if (!ret)
		ret = bgdma_region_alloc(bgdma_endpoint_ctx(l->m.ep), 4096,
					 LOCAL_RW, &l->region);
	if (!ret)
		ret = bgdma_endpoint_expose(l->m.ep, l->region,
					    BGDMA_RIGHT_WRITE);
	for (i = 0; !ret && i < STEPS_MAX && l->kind->steps[i]; i++)
		ret = l->kind->steps[i](l);
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
static int live_once(const struct kind *kind, unsigned int n)
{
	struct life l = { .kind = kind };
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
	const struct kind *kind = arg;
	unsigned int n, told = 0;
	int ret;

	fault_code = kind->code ? kind->code : ENOMEM;
	(void)rank;
	(void)size;
	require_is(0, live_once(kind, 0));
	for (n = 1; n < 2000; n++) {
		faults = 0;
		ret = live_once(kind, n);
		if (!faults)
			break;
		/* Progress tries again what it had no memory for. */
		if (ret != -ENOMEM && ret != -fault_code && ret)
			fprintf(stderr, "# call %u fails: %d\n", n, ret);
		require(ret == -ENOMEM || ret == -fault_code || ret == 0);
		told += ret != 0;
	}
	require_is(0, ret);
	require(told >= kind->told);
	return 0;
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
	{ .steps = { synchronize, attach, take, network }, .told = 200 }
};
FIXTURE_VARIANT_ADD(life, by_requests) {
	{ .steps = { lock_all, await, count }, .told = 200 }
};
FIXTURE_VARIANT_ADD(life, without_files) {
	{ .steps = { synchronize, attach, take, network }, .told = 200,
	  .code = EMFILE }
};
FIXTURE_VARIANT_ADD(life, with_signals) {
	{ .steps = { put_and_get, meet, talk }, .told = 200, .code = EINTR }
};
FIXTURE_VARIANT_ADD(life, not_now) {
	{ .steps = { lock_all, await, count }, .told = 200, .code = EAGAIN }
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
