// SPDX-License-Identifier: GPL-2.0
/*
 * The end of a process, seen early. It gives up its files when it exits, and
 * with them its contexts: see front/cdev.c. Two kinds would keep their peers
 * waiting for that: one that dumps core, for as long as whoever takes the dump
 * likes, and one whose table of files lives on in another process. So what the
 * process holds is freed when its memory goes, or its dump begins, too.
 */
#include <linux/mmu_notifier.h>
#include <linux/slab.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "process.h"

#ifndef CONFIG_MMU_NOTIFIER
#error bgdma needs CONFIG_MMU_NOTIFIER, which KVM and others select
#endif

/**
 * struct bgdma_process - one that attached contexts
 * @ref: the notifier's, and the work's
 * @mn: tells when the memory goes; its count is of contexts
 * @work: frees what they hold
 * @lock: a leaf
 * @contexts: those that are not freed yet; @lock
 * @held: of these, those that a call kept from being freed the last time; @lock
 * @ending: the one that @work frees just now; @lock
 * @wq: woken when that one is done
 */
struct bgdma_process {
	struct kref ref;
	struct mmu_notifier mn;
	struct work_struct work;
	spinlock_t lock;
	struct list_head contexts;
	struct list_head held;
	struct bgdma_ctx *ending;
	wait_queue_head_t wq;
};

static struct workqueue_struct *bgdma_undertakers;

static void bgdma_process_free(struct kref *ref)
{
	kfree(container_of(ref, struct bgdma_process, ref));
}

/*
 * A thread with a table of files of its own may have gone, and its contexts with it:
 * those of others stay. One that is about to attach has nothing yet.
 */
static bool bgdma_process_frees(struct bgdma_ctx *ctx)
{
	if (!READ_ONCE(ctx->doomed) && !READ_ONCE(ctx->ending))
		return false;
	return READ_ONCE(ctx->attached) && bgdma_ctx_release(ctx);
}

/*
 * Nobody is waited for who is in the hands of a user: a call, of another process in
 * the same memory, may be in a page fault for as long as that one likes. When it ends
 * bgdma_use_end() has us come again.
 */
static void bgdma_process_work(struct work_struct *work)
{
	struct bgdma_process *process =
		container_of(work, struct bgdma_process, work);
	struct bgdma_ctx *ctx;
	bool freed;

	spin_lock(&process->lock);
	list_splice_init(&process->held, &process->contexts);
	while ((ctx = list_first_entry_or_null(&process->contexts,
					       struct bgdma_ctx,
					       process_node))) {
		list_move_tail(&ctx->process_node, &process->held);
		process->ending = ctx;
		spin_unlock(&process->lock);
		freed = bgdma_process_frees(ctx);
		spin_lock(&process->lock);
		if (freed)
			list_del_init(&ctx->process_node);
		process->ending = NULL;
		wake_up_all(&process->wq);
	}
	spin_unlock(&process->lock);
	kref_put(&process->ref, bgdma_process_free);
}

static void bgdma_process_bury(struct bgdma_process *process)
{
	kref_get(&process->ref);
	if (!queue_work(bgdma_undertakers, &process->work))
		kref_put(&process->ref, bgdma_process_free);
}

/* All contexts, or those that one process attached, of several in this memory. */
static void bgdma_process_doom(struct bgdma_process *process, pid_t tgid)
{
	struct list_head *lists[] = { &process->contexts, &process->held };
	struct bgdma_ctx *ctx;
	int i;

	spin_lock(&process->lock);
	for (i = 0; i < ARRAY_SIZE(lists); i++) {
		list_for_each_entry(ctx, lists[i], process_node) {
			if (!tgid || ctx->tgid == tgid)
				WRITE_ONCE(ctx->doomed, true);
		}
	}
	spin_unlock(&process->lock);
}

static struct mmu_notifier *bgdma_process_alloc(struct mm_struct *mm)
{
	struct bgdma_process *process =
		kzalloc(sizeof(*process), GFP_KERNEL_ACCOUNT);

	if (!process)
		return ERR_PTR(-ENOMEM);
	kref_init(&process->ref);
	INIT_WORK(&process->work, bgdma_process_work);
	spin_lock_init(&process->lock);
	INIT_LIST_HEAD(&process->contexts);
	INIT_LIST_HEAD(&process->held);
	init_waitqueue_head(&process->wq);
	return &process->mn;
}

static void bgdma_process_unnotified(struct mmu_notifier *mn)
{
	struct bgdma_process *process =
		container_of(mn, struct bgdma_process, mn);

	kref_put(&process->ref, bgdma_process_free);
}

static void bgdma_process_gone(struct mmu_notifier *mn, struct mm_struct *mm)
{
	struct bgdma_process *process =
		container_of(mn, struct bgdma_process, mn);

	bgdma_process_doom(process, 0);
	bgdma_process_bury(process);
}

static const struct mmu_notifier_ops bgdma_process_ops = {
	.release = bgdma_process_gone,
	.alloc_notifier = bgdma_process_alloc,
	.free_notifier = bgdma_process_unnotified,
};

/**
 * bgdma_process_join() - a context becomes the calling process's
 * @ctx: about to attach
 *
 * Context: ctx.lock held; takes mmap_lock.
 * Return: 0; -ENOMEM; -ERESTARTNOINTR: a signal came first, nothing happened.
 */
int bgdma_process_join(struct bgdma_ctx *ctx)
{
	struct mmu_notifier *mn = mmu_notifier_get(&bgdma_process_ops,
						   current->mm);
	struct bgdma_process *process;

	if (IS_ERR(mn))
		return PTR_ERR(mn) == -EINTR ? -ERESTARTNOINTR : PTR_ERR(mn);
	process = container_of(mn, struct bgdma_process, mn);
	spin_lock(&process->lock);
	list_add_tail(&ctx->process_node, &process->contexts);
	spin_unlock(&process->lock);
	ctx->process = process;
	return 0;
}

static bool bgdma_process_let_go(struct bgdma_process *process,
				 const struct bgdma_ctx *ctx)
{
	bool gone;

	spin_lock(&process->lock);
	gone = process->ending != ctx;
	spin_unlock(&process->lock);
	return gone;
}

/**
 * bgdma_process_leave() - a context is no longer its process's
 * @ctx: nobody else finds it any more; may have joined none
 *
 * When it returns the process's end does nothing to the context.
 *
 * Context: may sleep.
 */
void bgdma_process_leave(struct bgdma_ctx *ctx)
{
	struct bgdma_process *process = ctx->process;

	if (!process)
		return;
	ctx->process = NULL;
	spin_lock(&process->lock);
	list_del_init(&ctx->process_node);
	spin_unlock(&process->lock);
	wait_event(process->wq, bgdma_process_let_go(process, ctx));
	mmu_notifier_put(&process->mn);
}

/**
 * bgdma_process_dies() - free what a process holds
 * @ctx: attached; any that it attached
 *
 * Context: any; a worker does it.
 */
void bgdma_process_dies(struct bgdma_ctx *ctx)
{
	bgdma_process_doom(ctx->process, ctx->tgid);
	bgdma_process_bury(ctx->process);
}

/**
 * bgdma_process_again() - free what was to be freed and was in use
 * @ctx: bgdma_ctx_release() was false
 *
 * Context: any; a worker does it.
 */
void bgdma_process_again(struct bgdma_ctx *ctx)
{
	bgdma_process_bury(ctx->process);
}

/**
 * bgdma_process_init() - before the first context
 *
 * Return: 0 or -ENOMEM.
 */
int bgdma_process_init(void)
{
	bgdma_undertakers = alloc_workqueue("bgdma_process", WQ_UNBOUND, 0);
	return bgdma_undertakers ? 0 : -ENOMEM;
}

/**
 * bgdma_process_exit() - after the last context
 */
void bgdma_process_exit(void)
{
	/* The end of a process may still be in the call that queues the work. */
	mmu_notifier_synchronize();
	destroy_workqueue(bgdma_undertakers);
}
