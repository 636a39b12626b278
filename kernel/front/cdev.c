// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/bgdma: one open file is one context. The device itself is open to
 * everybody; who may attach to what is decided by the partition.
 */
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/sched.h>

#include "front.h"
#include "../engine/busy.h"

static int bgdma_open(struct inode *inode, struct file *file)
{
	struct bgdma_ctx *ctx = bgdma_ctx_new();

	if (!ctx)
		return -ENOMEM;
	file->private_data = ctx;
	return 0;
}

/*
 * The process that attached exits: a child that inherited the file must not
 * keep alive what the process held.
 */
static int bgdma_flush(struct file *file, fl_owner_t id)
{
	struct bgdma_ctx *ctx = file->private_data;

	if ((current->flags & PF_EXITING) && READ_ONCE(ctx->attached) &&
	    id == ctx->files)
		(void)bgdma_ctx_release(ctx);
	return 0;
}

static int bgdma_release(struct inode *inode, struct file *file)
{
	struct bgdma_ctx *ctx = file->private_data;

	bgdma_process_leave(ctx);
	/* A call has the file, so none is under way. */
	WARN_ON_ONCE(!bgdma_ctx_release(ctx));
	if (ctx->partition)
		bgdma_partition_put(ctx->partition);
	bgdma_ctx_put(ctx);
	return 0;
}

static __poll_t bgdma_poll(struct file *file, poll_table *wait)
{
	struct bgdma_ctx *ctx = file->private_data;
	__poll_t mask = 0;

	/* Also of one that is not attached yet: epoll comes with a queue only once. */
	poll_wait(file, &ctx->wq, wait);
	/* Pairs with bgdma_partition_publish(). */
	if (!smp_load_acquire(&ctx->attached))
		return EPOLLERR;
	/* Queued above, looked at below: see ring.h. */
	smp_mb();
	if (READ_ONCE(ctx->dead) || !bgdma_busy_get(&ctx->calls))
		return EPOLLHUP | EPOLLERR | EPOLLIN;
	if (bgdma_ctx_ready(ctx))
		mask |= EPOLLIN | EPOLLRDNORM;
	if (READ_ONCE(ctx->kctl->events_tail) !=
	    READ_ONCE(ctx->uctl->events_head))
		mask |= EPOLLPRI;
	bgdma_call_end(ctx);
	return mask;
}

static const struct file_operations bgdma_fops = {
	.owner = THIS_MODULE,
	.open = bgdma_open,
	.flush = bgdma_flush,
	.release = bgdma_release,
	.unlocked_ioctl = bgdma_ioctl,
	.mmap = bgdma_mmap,
	.poll = bgdma_poll,
	.uring_cmd = bgdma_uring_cmd,
	.llseek = noop_llseek,
};

static struct miscdevice bgdma_misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "bgdma",
	.fops = &bgdma_fops,
	.mode = 0666,
};

/**
 * bgdma_front_init() - make the device appear
 *
 * Return: 0 or a negative errno.
 */
int bgdma_front_init(void)
{
	return misc_register(&bgdma_misc);
}

/**
 * bgdma_front_exit() - make the device disappear
 */
void bgdma_front_exit(void)
{
	misc_deregister(&bgdma_misc);
}
