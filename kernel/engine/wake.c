// SPDX-License-Identifier: GPL-2.0
/*
 * Waking whoever sleeps, and raising interrupts. How many sleep on a queue is
 * their owner's choice (a file can be in any number of epoll sets), and the
 * engine wakes them for every packet, inside slices, while others wait. So a
 * wake that took long is the last one that is made in place: from then on a
 * worker makes them, one for all that come meanwhile, until they are quick
 * again.
 */
#include <linux/eventfd.h>
#include <linux/poll.h>
#include <linux/sched/clock.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "../bgdma.h"
#include "busy.h"
#include "ring.h"

/* A few sleepers take a tenth of this. */
#define BGDMA_WAKE_NS	50000

static struct workqueue_struct *bgdma_wakers;

static bool bgdma_wake_slow(u64 begin)
{
	return local_clock() - begin > BGDMA_WAKE_NS;
}

static void bgdma_ctx_wake_work(struct work_struct *work)
{
	struct bgdma_ctx *ctx = container_of(work, struct bgdma_ctx, wake_work);
	u64 begin = local_clock();

	wake_up_poll(&ctx->wq, EPOLLIN | EPOLLRDNORM | EPOLLPRI);
	WRITE_ONCE(ctx->wake_slow, bgdma_wake_slow(begin));
}

/**
 * bgdma_ctx_wake() - wake whoever waits for a context
 * @ctx: busy, or held by a call
 * @mask: EPOLL*: what for
 *
 * The caller's full barrier stands before.
 */
void bgdma_ctx_wake(struct bgdma_ctx *ctx, __poll_t mask)
{
	u64 begin;

	if (!waitqueue_active(&ctx->wq)) /* after the caller's barrier */
		return;
	if (READ_ONCE(ctx->wake_slow)) {
		queue_work(bgdma_wakers, &ctx->wake_work);
		return;
	}
	begin = local_clock();
	wake_up_poll(&ctx->wq, mask);
	if (bgdma_wake_slow(begin))
		WRITE_ONCE(ctx->wake_slow, true);
}

/**
 * bgdma_ctx_wake_init() - a new context
 * @ctx: nobody waits for it yet
 */
void bgdma_ctx_wake_init(struct bgdma_ctx *ctx)
{
	init_waitqueue_head(&ctx->wq);
	INIT_WORK(&ctx->wake_work, bgdma_ctx_wake_work);
}

/**
 * bgdma_ctx_wake_end() - nobody will call bgdma_ctx_wake() any more
 * @ctx: not busy
 */
void bgdma_ctx_wake_end(struct bgdma_ctx *ctx)
{
	flush_work(&ctx->wake_work);
}

static void bgdma_eventfd_free(struct kref *ref)
{
	struct bgdma_eventfd *efd =
		container_of(ref, struct bgdma_eventfd, ref);

	eventfd_ctx_put(efd->ctx);
	kfree(efd);
}

static void bgdma_eventfd_put(struct rcu_head *rcu)
{
	struct bgdma_eventfd *efd =
		container_of(rcu, struct bgdma_eventfd, rcu);

	kref_put(&efd->ref, bgdma_eventfd_free);
}

static void bgdma_eventfd_work(struct work_struct *work)
{
	struct bgdma_eventfd *efd =
		container_of(work, struct bgdma_eventfd, work);
	u64 begin = local_clock();

	bgdma_eventfd_notify(efd->ctx);
	WRITE_ONCE(efd->slow, bgdma_wake_slow(begin));
	kref_put(&efd->ref, bgdma_eventfd_free);
}

/**
 * bgdma_eventfd_new() - an eventfd to be bound
 * @fd: of the calling process
 *
 * Return: it, or ERR_PTR(-ENOMEM), or what eventfd_ctx_fdget() says.
 */
struct bgdma_eventfd *bgdma_eventfd_new(int fd)
{
	struct bgdma_eventfd *efd;

	efd = kzalloc(sizeof(*efd), GFP_KERNEL_ACCOUNT);
	if (!efd)
		return ERR_PTR(-ENOMEM);
	efd->ctx = eventfd_ctx_fdget(fd);
	if (IS_ERR(efd->ctx)) {
		int err = PTR_ERR(efd->ctx);

		kfree(efd);
		return ERR_PTR(err);
	}
	kref_init(&efd->ref);
	INIT_WORK(&efd->work, bgdma_eventfd_work);
	return efd;
}

/**
 * bgdma_eventfd_drop() - unbind an eventfd
 * @where: of the object
 *
 * Context: nobody else changes it.
 */
void bgdma_eventfd_drop(struct bgdma_eventfd __rcu **where)
{
	struct bgdma_eventfd *old = rcu_dereference_protected(*where, true);

	RCU_INIT_POINTER(*where, NULL);
	if (old)
		call_rcu(&old->rcu, bgdma_eventfd_put);
}

/**
 * bgdma_eventfd_signal() - raise an object's interrupt
 * @where: of the object
 *
 * Context: under RCU or inside a slice, no leaf lock held.
 */
void bgdma_eventfd_signal(struct bgdma_eventfd __rcu *const *where)
{
	struct bgdma_eventfd *efd = bgdma_deref(*where);
	u64 begin;

	if (!efd)
		return;
	if (READ_ONCE(efd->slow)) {
		kref_get(&efd->ref);
		if (!queue_work(bgdma_wakers, &efd->work))
			kref_put(&efd->ref, bgdma_eventfd_free);
		return;
	}
	begin = local_clock();
	bgdma_eventfd_notify(efd->ctx);
	if (bgdma_wake_slow(begin))
		WRITE_ONCE(efd->slow, true);
}

/**
 * bgdma_wake_init() - make the workers
 *
 * Return: 0 or -ENOMEM.
 */
int bgdma_wake_init(void)
{
	bgdma_wakers = alloc_workqueue("bgdma", WQ_UNBOUND, 0);
	return bgdma_wakers ? 0 : -ENOMEM;
}

/**
 * bgdma_wake_exit() - end them; no context is left
 */
void bgdma_wake_exit(void)
{
	destroy_workqueue(bgdma_wakers);
}
