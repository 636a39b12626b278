/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of the front share. */
#ifndef _BGDMA_FRONT_H
#define _BGDMA_FRONT_H

#include <linux/fs.h>
#include <linux/sched.h>

#include "../bgdma.h"
#include "../engine/busy.h"

struct io_uring_cmd;

/**
 * bgdma_call_end() - the call is over
 * @ctx: from bgdma_call_begin()
 */
static inline void bgdma_call_end(struct bgdma_ctx *ctx)
{
	/* The last, of one that is to be freed: see bgdma_ctx_release(). */
	if (unlikely(atomic_dec_and_test(&ctx->calls.n)))
		bgdma_process_dies(ctx);
}

/**
 * bgdma_call_begin() - may this process use this context now?
 * @ctx: of an open file
 *
 * Return: 0, and bgdma_call_end() is due; -ENOTCONN not attached; -EPERM
 * another process; -ENODEV it ended.
 */
static inline int bgdma_call_begin(struct bgdma_ctx *ctx)
{
	if (unlikely(!bgdma_busy_get(&ctx->calls))) {
		/* Pairs with bgdma_partition_publish(). */
		if (!smp_load_acquire(&ctx->attached))
			return -ENOTCONN;
		/* It was attached just now, or ended. */
		if (!bgdma_busy_get(&ctx->calls))
			return -ENODEV;
	}
	if (current->mm != ctx->mm) {
		bgdma_call_end(ctx);
		return -EPERM;
	}
	if (READ_ONCE(ctx->dead)) {
		bgdma_call_end(ctx);
		return -ENODEV;
	}
	return 0;
}

long bgdma_ioctl(struct file *file, unsigned int cmd, unsigned long arg);
int bgdma_mmap(struct file *file, struct vm_area_struct *vma);
int bgdma_uring_cmd(struct io_uring_cmd *cmd, unsigned int issue_flags);
u64 bgdma_uring_features(void);

#endif /* _BGDMA_FRONT_H */
