/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of the front share. */
#ifndef _BGDMA_FRONT_H
#define _BGDMA_FRONT_H

#include <linux/fs.h>
#include <linux/sched.h>

#include "../bgdma.h"
#include "../engine/busy.h"
#include "../engine/process.h"

struct io_uring_cmd;

/* A call is over: the last, of one that is to be freed, see bgdma_ctx_release(). */
static inline void bgdma_use_end(struct bgdma_ctx *ctx, struct bgdma_busy *use)
{
	if (unlikely(atomic_dec_and_test(&use->n)))
		bgdma_process_again(ctx);
}

/* May this process use this context now? @use: what for, as bgdma_call_begin(). */
static __always_inline int bgdma_use_begin(struct bgdma_ctx *ctx,
					   struct bgdma_busy *use)
{
	if (unlikely(!bgdma_busy_get(use))) {
		/* Pairs with bgdma_partition_publish(). */
		if (!smp_load_acquire(&ctx->attached))
			return -ENOTCONN;
		/* It was attached just now, or ended. */
		if (!bgdma_busy_get(use))
			return -ENODEV;
	}
	if (current->mm != ctx->mm) {
		bgdma_use_end(ctx, use);
		return -EPERM;
	}
	if (READ_ONCE(ctx->dead)) {
		bgdma_use_end(ctx, use);
		return -ENODEV;
	}
	return 0;
}

/**
 * bgdma_call_end() - the call is over
 * @ctx: from bgdma_call_begin()
 */
static inline void bgdma_call_end(struct bgdma_ctx *ctx)
{
	bgdma_use_end(ctx, &ctx->calls);
}

/**
 * bgdma_call_begin() - a call that runs no stream
 * @ctx: of an open file
 *
 * Return: 0, and bgdma_call_end() is due; -ENOTCONN not attached; -EPERM
 * another process; -ENODEV it ended.
 */
static inline int bgdma_call_begin(struct bgdma_ctx *ctx)
{
	return bgdma_use_begin(ctx, &ctx->calls);
}

/**
 * bgdma_ring_end() - the doorbell is over
 * @ctx: from bgdma_ring_begin()
 */
static inline void bgdma_ring_end(struct bgdma_ctx *ctx)
{
	bgdma_use_end(ctx, &ctx->rings);
}

/**
 * bgdma_ring_begin() - a doorbell, which runs streams and touches no user memory
 * @ctx: of an open file
 *
 * Return: as bgdma_call_begin(); bgdma_ring_end() is due.
 */
static inline int bgdma_ring_begin(struct bgdma_ctx *ctx)
{
	return bgdma_use_begin(ctx, &ctx->rings);
}

long bgdma_ioctl(struct file *file, unsigned int cmd, unsigned long arg);
int bgdma_mmap(struct file *file, struct vm_area_struct *vma);
int bgdma_uring_cmd(struct io_uring_cmd *cmd, unsigned int issue_flags);
u64 bgdma_uring_features(void);

#endif /* _BGDMA_FRONT_H */
