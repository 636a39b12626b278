// SPDX-License-Identifier: GPL-2.0
/*
 * io_uring commands: doorbells on every kernel, waits where a parked command
 * can be cancelled. Without that a parked command would keep the file of a
 * task that exits open for ever.
 */
#include <linux/poll.h>
#include <linux/slab.h>

#include "front.h"

/* A doorbell here never sleeps and never runs a stream: it tells the pool. */
static int bgdma_uring_doorbell(struct bgdma_ctx *ctx, const void *payload)
{
	u32 flags = READ_ONCE(*(const u32 *)payload);

	if (flags & ~BGDMA_DOORBELL_POOL)
		return -EINVAL;
	bgdma_doorbell_pool(ctx);
	return 0;
}

#ifdef BGDMA_URING_CAN_CANCEL
#define BGDMA_PARKED_MAX	1024

/**
 * struct bgdma_uring_wait - a parked wait
 * @entry: in ctx.wq
 * @ctx: whose call count it holds
 * @cmd: the command
 * @cond: what it waits for
 * @ret: how it ended
 */
struct bgdma_uring_wait {
	struct wait_queue_entry entry;
	struct bgdma_ctx *ctx;
	struct io_uring_cmd *cmd;
	struct bgdma_condition cond;
	int ret;
};

struct bgdma_uring_pdu {
	struct bgdma_uring_wait *wait;
};

static struct bgdma_uring_wait **bgdma_uring_slot(struct io_uring_cmd *cmd)
{
	return &io_uring_cmd_to_pdu(cmd, struct bgdma_uring_pdu)->wait;
}

static int bgdma_uring_test(struct bgdma_uring_wait *w)
{
	if (READ_ONCE(w->ctx->dead))
		return -ENODEV;
	return bgdma_condition_test(w->ctx, &w->cond);
}

/* No longer in the wait queue: whoever removed it ends it. */
static void bgdma_uring_disarm(struct bgdma_uring_wait *w)
{
	struct bgdma_ctx *ctx = w->ctx;

	bgdma_condition_arm(ctx, &w->cond, -1);
	atomic_dec(&ctx->waiting);
	bgdma_call_end(ctx);
}

static void bgdma_uring_complete(struct io_uring_cmd *cmd,
				 unsigned int issue_flags)
{
	struct bgdma_uring_wait *w = *bgdma_uring_slot(cmd);

	/* A cancel may be looking at @w until the command is done. */
	io_uring_cmd_done(cmd, w->ret, 0, issue_flags);
	kfree(w);
}

/* Called with the lock of ctx.wq held. */
static int bgdma_uring_wake(struct wait_queue_entry *entry, unsigned int mode,
			    int sync, void *key)
{
	struct bgdma_uring_wait *w =
		container_of(entry, struct bgdma_uring_wait, entry);
	int ret = bgdma_uring_test(w);

	if (!ret)
		return 0;
	list_del_init(&entry->entry);
	w->ret = ret < 0 ? ret : 0;
	bgdma_uring_disarm(w);
	io_uring_cmd_complete_in_task(w->cmd, bgdma_uring_complete);
	return 1;
}

/* True if it was still parked and is ours to end now. */
static bool bgdma_uring_take(struct bgdma_uring_wait *w)
{
	unsigned long flags;
	bool parked;

	spin_lock_irqsave(&w->ctx->wq.lock, flags);
	parked = !list_empty(&w->entry.entry);
	if (parked)
		__remove_wait_queue(&w->ctx->wq, &w->entry);
	INIT_LIST_HEAD(&w->entry.entry);
	spin_unlock_irqrestore(&w->ctx->wq.lock, flags);
	return parked;
}

static int bgdma_uring_park(struct bgdma_ctx *ctx, struct io_uring_cmd *cmd,
			    const struct bgdma_condition *cond,
			    unsigned int issue_flags)
{
	struct bgdma_uring_wait *w;
	int ret;

	w = kzalloc(sizeof(*w), GFP_KERNEL_ACCOUNT);
	if (!w)
		return -ENOMEM;
	w->ctx = ctx;
	w->cmd = cmd;
	w->cond = *cond;
	init_waitqueue_func_entry(&w->entry, bgdma_uring_wake);
	INIT_LIST_HEAD(&w->entry.entry);
	*bgdma_uring_slot(cmd) = w;

	/* The command holds its own count: the caller drops the other. */
	ret = bgdma_call_begin(ctx);
	if (ret) {
		kfree(w);
		return ret;
	}
	/* Whoever delivers to this context walks all that wait for it. */
	if (atomic_inc_return(&ctx->waiting) > BGDMA_PARKED_MAX) {
		atomic_dec(&ctx->waiting);
		bgdma_call_end(ctx);
		kfree(w);
		return -EBUSY;
	}
	bgdma_condition_arm(ctx, cond, 1);
	io_uring_cmd_mark_cancelable(cmd, issue_flags);
	/*
	 * Queued and looked at under the lock that the waker needs: once it is
	 * dropped a waiter that stays queued may be completed and freed.
	 */
	spin_lock_irq(&ctx->wq.lock);
	__add_wait_queue(&ctx->wq, &w->entry);
	smp_mb(); /* armed and queued before the look: see engine/ring.h */
	ret = bgdma_uring_test(w);
	if (ret) {
		__remove_wait_queue(&ctx->wq, &w->entry);
		INIT_LIST_HEAD(&w->entry.entry);
	}
	spin_unlock_irq(&ctx->wq.lock);
	if (ret) {
		bgdma_uring_disarm(w);
		w->ret = ret < 0 ? ret : 0;
		bgdma_uring_complete(cmd, issue_flags);
	}
	return -EIOCBQUEUED;
}

static int bgdma_uring_wait(struct bgdma_ctx *ctx, struct io_uring_cmd *cmd,
			    const void *payload, unsigned int issue_flags)
{
	const struct bgdma_condition *user = payload;
	struct bgdma_condition cond = {
		.kind = READ_ONCE(user->kind),
		.object = READ_ONCE(user->object),
		.value = READ_ONCE(user->value),
	};
	int ret = bgdma_condition_test(ctx, &cond);

	if (ret)
		return ret < 0 ? ret : 0;
	return bgdma_uring_park(ctx, cmd, &cond, issue_flags);
}

static int bgdma_uring_cancel(struct io_uring_cmd *cmd,
			      unsigned int issue_flags)
{
	struct bgdma_uring_wait *w = *bgdma_uring_slot(cmd);

	if (bgdma_uring_take(w)) {
		bgdma_uring_disarm(w);
		w->ret = -ECANCELED;
		bgdma_uring_complete(cmd, issue_flags);
	}
	return 0;
}

static const void *bgdma_uring_payload(struct io_uring_cmd *cmd)
{
	return io_uring_sqe_cmd(cmd->sqe);
}
#else
static int bgdma_uring_wait(struct bgdma_ctx *ctx, struct io_uring_cmd *cmd,
			    const void *payload, unsigned int issue_flags)
{
	return -EOPNOTSUPP;
}

static const void *bgdma_uring_payload(struct io_uring_cmd *cmd)
{
	return cmd->cmd;
}
#endif

/**
 * bgdma_uring_features() - BGDMA_FEATURE_* of this file
 */
u64 bgdma_uring_features(void)
{
#ifdef BGDMA_URING_CAN_CANCEL
	return BGDMA_FEATURE_URING_DOORBELL | BGDMA_FEATURE_URING_WAIT;
#else
	return BGDMA_FEATURE_URING_DOORBELL;
#endif
}

/**
 * bgdma_uring_cmd() - .uring_cmd of the device
 * @cmd: BGDMA_URING_*; its payload stays writable by user space
 * @issue_flags: of io_uring
 *
 * Return: the result, or -EIOCBQUEUED for a wait that was parked.
 */
int bgdma_uring_cmd(struct io_uring_cmd *cmd, unsigned int issue_flags)
{
	struct bgdma_ctx *ctx = cmd->file->private_data;
	int ret;

#ifdef BGDMA_URING_CAN_CANCEL
	if (issue_flags & IO_URING_F_CANCEL)
		return bgdma_uring_cancel(cmd, issue_flags);
#endif
	if (cmd->cmd_op != BGDMA_URING_DOORBELL &&
	    cmd->cmd_op != BGDMA_URING_WAIT)
		return -ENOTTY;
	ret = bgdma_call_begin(ctx);
	if (ret)
		return ret;
	if (cmd->cmd_op == BGDMA_URING_DOORBELL)
		ret = bgdma_uring_doorbell(ctx, bgdma_uring_payload(cmd));
	else
		ret = bgdma_uring_wait(ctx, cmd, bgdma_uring_payload(cmd),
				       issue_flags);
	bgdma_call_end(ctx);
	return ret;
}
