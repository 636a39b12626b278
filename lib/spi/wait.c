// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Waiting: look, spin, then sleep in the kernel.
 *
 * A wait for given things sleeps in BGDMA_IOC_WAIT, which arms, looks again
 * and sleeps in one system call and needs no interrupt to be enabled. A wait
 * for the whole context, which an event loop wants, goes through io_uring.
 */
#include <errno.h>
#include <poll.h>
#include <time.h>

#include "doorbell.h"
#include "internal.h"

#define NS_PER_S	1000000000LL
#define LOOKS_PER_CLOCK	32
#define RING_ENTRIES	4

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

/* A time so far away that it never comes stands for no limit. */
static int64_t later(int64_t now, int64_t ns)
{
	return ns < 0 || ns > INT64_MAX - now ? INT64_MAX : now + ns;
}

static int64_t remaining(int64_t deadline)
{
	int64_t ns;

	if (deadline == INT64_MAX)
		return -1;
	ns = deadline - now_ns();
	return ns > 0 ? ns : 0;
}

int bgdma_wait(struct bgdma_ctx *ctx, const struct bgdma_condition *conditions,
	       unsigned int count, int64_t timeout_ns)
{
	struct bgdma_wait wait = {
		.size = sizeof(wait),
		.conditions = (uintptr_t)conditions,
		.count = count,
		.timeout_ns = timeout_ns,
	};
	int ret = ctx_ring_again(ctx);

	if (!ret)
		ret = ctx_ioctl(ctx, BGDMA_IOC_WAIT, &wait);
	if (ret == -ETIME)
		return -ETIMEDOUT;
	return ret < 0 ? ret : (int)wait.ready;
}

/* Return: 0; -ETIMEDOUT; -ENODEV. */
static int spin_until(const struct waiter *waiter, int64_t deadline)
{
	int i;

	do {
		for (i = 0; i < LOOKS_PER_CLOCK; i++) {
			if (waiter->there(waiter->arg))
				return 0;
			bgdma_relax();
		}
		if (bgdma_ctx_dead(waiter->ctx))
			return -ENODEV;
	} while (now_ns() < deadline);
	return -ETIMEDOUT;
}

int wait_until(const struct waiter *waiter, enum bgdma_wait_mode mode,
	       int64_t timeout_ns)
{
	int64_t now, deadline, spin_end;
	int ret;

	if (waiter->there(waiter->arg))
		return 0;
	if (bgdma_ctx_dead(waiter->ctx))
		return -ENODEV;
	if (timeout_ns == 0)
		return -ETIMEDOUT;
	ret = ctx_ring_again(waiter->ctx);
	if (ret)
		return ret;

	now = now_ns();
	deadline = later(now, timeout_ns);
	if (mode != BGDMA_SLEEP) {
		spin_end = later(now, waiter->ctx->spin_ns);
		if (mode == BGDMA_SPIN || spin_end > deadline)
			spin_end = deadline;
		ret = spin_until(waiter, spin_end);
		if (ret != -ETIMEDOUT || spin_end == deadline)
			return ret;
	}
	do {
		ret = bgdma_wait(waiter->ctx, &waiter->condition, 1,
				 remaining(deadline));
	} while (ret >= 0 && !waiter->there(waiter->arg));
	return ret < 0 ? ret : 0;
}

static int poll_result(unsigned int revents)
{
	return revents & (POLLHUP | POLLNVAL) ? -ENODEV : 0;
}

static int wait_by_poll(struct bgdma_ctx *ctx, int64_t timeout_ns)
{
	struct pollfd pfd = { .fd = ctx->view.fd, .events = POLLIN };
	struct timespec ts = {
		.tv_sec = timeout_ns / NS_PER_S,
		.tv_nsec = timeout_ns % NS_PER_S,
	};
	int ret = ppoll(&pfd, 1, timeout_ns < 0 ? NULL : &ts, NULL);

	if (ret < 0)
		return -errno;
	return ret ? poll_result((unsigned int)pfd.revents) : -ETIMEDOUT;
}

/* Two kinds of submissions: what is waited for, and what ends the wait. */
enum { TAG_POLL = 1, TAG_OTHER = 2 };

/* Take @count completions; *@poll_res gets the result of the poll. */
static int ring_reap(struct io_uring *ring, unsigned int count, int *poll_res)
{
	struct io_uring_cqe *cqe;
	int ret;

	while (count) {
		ret = io_uring_wait_cqe(ring, &cqe);
		if (ret == -EINTR)
			continue;
		if (ret)
			return ret;
		if (cqe->user_data == TAG_POLL)
			*poll_res = cqe->res;
		io_uring_cqe_seen(ring, cqe);
		count--;
	}
	return 0;
}

/* A poll, and if there is a limit, a timeout linked to it. */
static unsigned int ring_prepare(struct io_uring *ring, int fd,
				 struct __kernel_timespec *limit)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

	io_uring_prep_poll_add(sqe, fd, POLLIN);
	sqe->user_data = TAG_POLL;
	if (!limit)
		return 1;
	sqe->flags |= IOSQE_IO_LINK;
	sqe = io_uring_get_sqe(ring);
	io_uring_prep_link_timeout(sqe, limit, 0);
	sqe->user_data = TAG_OTHER;
	return 2;
}

/* Return: as bgdma_ctx_wait(); -EIO: the ring can no longer be used. */
static int wait_by_ring(struct bgdma_ctx *ctx, int64_t timeout_ns)
{
	struct __kernel_timespec ts = {
		.tv_sec = timeout_ns / NS_PER_S,
		.tv_nsec = timeout_ns % NS_PER_S,
	};
	struct io_uring *ring = &ctx->ring;
	bool interrupted = false;
	unsigned int count;
	int ret, res = 0;

	count = ring_prepare(ring, ctx->view.fd, timeout_ns < 0 ? NULL : &ts);
	ret = io_uring_submit_and_wait(ring, count);
	if (ret < (int)count)
		return -EIO;
	if (io_uring_cq_ready(ring) < count) {
		/* A signal came; the poll must not stay parked. */
		struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

		interrupted = true;
		io_uring_prep_poll_remove(sqe, TAG_POLL);
		sqe->user_data = TAG_OTHER;
		if (io_uring_submit(ring) != 1)
			return -EIO;
		count++;
	}
	if (ring_reap(ring, count, &res))
		return -EIO;
	if (res > 0)
		return poll_result((unsigned int)res);
	if (interrupted)
		return -EINTR;
	return res == -ECANCELED ? -ETIMEDOUT : -EIO;
}

int bgdma_ctx_wait(struct bgdma_ctx *ctx, int64_t timeout_ns)
{
	int ret;

	if (bgdma_ctx_dead(ctx))
		return -ENODEV;
	ret = ctx_ring_again(ctx);
	if (ret)
		return ret;
	/* A look needs no ring; nor does a second thread. */
	if (timeout_ns == 0 || pthread_mutex_trylock(&ctx->ring_lock))
		return wait_by_poll(ctx, timeout_ns);

	ret = -EIO;
	if (ctx->ring_state == RING_NONE)
		ctx->ring_state = io_uring_queue_init(RING_ENTRIES, &ctx->ring,
						      0) ?
				  RING_BROKEN : RING_READY;
	if (ctx->ring_state == RING_READY) {
		ret = wait_by_ring(ctx, timeout_ns);
		if (ret == -EIO) {
			io_uring_queue_exit(&ctx->ring);
			ctx->ring_state = RING_BROKEN;
		}
	}
	pthread_mutex_unlock(&ctx->ring_lock);
	return ret == -EIO ? wait_by_poll(ctx, timeout_ns) : ret;
}
