/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Remote-get queues: where peers inject descriptors that our engine executes
 * with their rights. They lie in the kernel; software only makes, grants and
 * ends them.
 */
#ifndef BGDMA_RGET_H
#define BGDMA_RGET_H

#include <bgdma/context.h>
#include <bgdma/types.h>

BGDMA_BEGIN_DECLS

/**
 * struct bgdma_rgq_attr - a remote-get queue
 * @quota: descriptors that one sender may have waiting, a power of two from
 *	BGDMA_RGET_DESC_MAX to 4,096; 0: 32
 * @senders: senders that can have descriptors waiting at once, 1 to 1,024;
 *	0: 16
 * @timeout_ms: milliseconds that a remote get waits for room before it fails
 *	at its origin with BGDMA_E_RGET_FULL; 0: 2,000
 * @fixed_id: take number @id or fail; else any
 * @id: number wanted
 */
struct bgdma_rgq_attr {
	uint32_t quota;
	uint32_t senders;
	uint32_t timeout_ms;
	bool fixed_id;
	uint32_t id;
};

/* bgdma_rgq_create() of a program whose attr has @size bytes. */
BGDMA_API int bgdma_rgq_create_sized(struct bgdma_ctx *ctx,
				     const struct bgdma_rgq_attr *attr,
				     size_t size,
				     struct bgdma_rget_queue **queue);

/**
 * bgdma_rgq_create() - make a remote-get queue
 * @ctx: context
 * @attr: how; NULL: all defaults
 * @queue: out: to be ended by bgdma_rgq_destroy()
 *
 * Nobody can inject into it before bgdma_rgq_grant().
 *
 * Thread safety: any thread.
 * Return: as bgdma_inj_create().
 */
static inline int bgdma_rgq_create(struct bgdma_ctx *ctx,
				   const struct bgdma_rgq_attr *attr,
				   struct bgdma_rget_queue **queue)
{
	return bgdma_rgq_create_sized(ctx, attr, sizeof(*attr), queue);
}

/**
 * bgdma_rgq_destroy() - end a remote-get queue
 * @queue: queue, or NULL
 *
 * What waits in it is dropped; senders that wait for room get BGDMA_E_FIFO.
 *
 * Thread safety: any thread.
 * Return: 0; -ENODEV the partition is gone. The handle is freed in any case.
 */
BGDMA_API int bgdma_rgq_destroy(struct bgdma_rget_queue *queue);

/**
 * bgdma_rgq_id() - number of the queue, which senders name
 * @queue: queue
 */
BGDMA_API uint16_t bgdma_rgq_id(const struct bgdma_rget_queue *queue);

/* See bgdma_rgq_grant(). */
BGDMA_API struct bgdma_ctx *
bgdma_rgq_ctx(const struct bgdma_rget_queue *queue);

/**
 * bgdma_rgq_grant() - let a peer inject into a remote-get queue
 * @queue: queue
 * @attr: who; rights: BGDMA_RIGHT_INJECT or 0
 * @id: out: for bgdma_revoke(); may be NULL
 *
 * What it injects has its own rights only: it can read what was granted
 * to it with BGDMA_RIGHT_READ, and move counters that were granted to it.
 *
 * Thread safety: any thread.
 * Return: 0; -ENOSPC BGDMA_GRANTS_MAX grants exist; -EINVAL; -ENOMEM;
 * -ENODEV.
 */
static inline int bgdma_rgq_grant(struct bgdma_rget_queue *queue,
				  const struct bgdma_grant_attr *attr,
				  uint32_t *id)
{
	return bgdma_grant_sized(bgdma_rgq_ctx(queue), BGDMA_KIND_RGET_QUEUE,
				 bgdma_rgq_id(queue), 1, attr, sizeof(*attr),
				 id);
}

/**
 * bgdma_rgq_error() - what the queue refused last (DMA-8)
 * @queue: queue
 * @record: out: for bgdma_explain_record(); may be NULL
 *
 * Thread safety: any thread.
 * Return: enum bgdma_code; BGDMA_OK if it refused nothing since the clear.
 */
BGDMA_API int bgdma_rgq_error(const struct bgdma_rget_queue *queue,
			      struct bgdma_record *record);

/**
 * bgdma_rgq_clear_error() - forget what the queue refused
 * @queue: queue
 * @flags: 0, or BGDMA_CLEAR_FLUSH: drop what waits in it
 *
 * Thread safety: any thread.
 * Return: 0; -ENODEV.
 */
BGDMA_API int bgdma_rgq_clear_error(struct bgdma_rget_queue *queue,
				    unsigned int flags);

BGDMA_END_DECLS

#endif /* BGDMA_RGET_H */
