/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Waiting for one of several things. To wait for one, see
 * bgdma_counter_wait(), bgdma_inj_wait() and bgdma_rec_wait().
 *
 * Waiting is level, never edge: what is there already ends a wait at once.
 */
#ifndef BGDMA_WAIT_H
#define BGDMA_WAIT_H

#include <bgdma/counter.h>
#include <bgdma/inject.h>
#include <bgdma/receive.h>
#include <bgdma/types.h>

BGDMA_BEGIN_DECLS

/**
 * bgdma_wait() - sleep until one of some conditions holds
 * @ctx: context
 * @conditions: from the bgdma_until_*() functions
 * @count: 1 to BGDMA_WAIT_MAX
 * @timeout_ns: from now; negative: for ever; 0: only look
 *
 * One system call. A counter or FIFO in error fulfils its condition.
 *
 * Thread safety: any thread.
 * Return: index of the first condition that holds; -ETIMEDOUT; -EINTR;
 * -ENOENT or -ESTALE no such object; -ENODEV; -EINVAL.
 */
BGDMA_API int bgdma_wait(struct bgdma_ctx *ctx,
			 const struct bgdma_condition *conditions,
			 unsigned int count, int64_t timeout_ns);

/**
 * bgdma_ctx_wait() - sleep until bgdma_ctx_fd() is readable
 * @ctx: context
 * @timeout_ns: from now; negative: for ever; 0: only look
 *
 * For a program that enabled its counters and armed its reception FIFOs, and
 * then looks at all of them. It waits by IORING_OP_POLL_ADD on a ring of the
 * context's own, made at the first call, and by poll() where there is no
 * io_uring, or while another thread waits on that ring.
 *
 * Thread safety: any thread.
 * Return: 0; -ETIMEDOUT; -EINTR; -ENODEV the partition is gone.
 */
BGDMA_API int bgdma_ctx_wait(struct bgdma_ctx *ctx, int64_t timeout_ns);

/**
 * bgdma_until_counter() - condition: a counter is there, or in error
 * @counter: counter
 */
static inline struct bgdma_condition
bgdma_until_counter(const struct bgdma_counter *counter)
{
	struct bgdma_condition c;

	c.kind = bgdma_counter_view(counter)->kind;
	c.object = bgdma_counter_handle(counter);
	c.value = 0;
	return c;
}

/**
 * bgdma_until_done() - condition: descriptors have ended, or FIFO in error
 * @fifo: injection FIFO
 * @seq: descriptors before this sequence number
 */
static inline struct bgdma_condition
bgdma_until_done(struct bgdma_inj_fifo *fifo, uint64_t seq)
{
	struct bgdma_condition c;

	c.kind = BGDMA_KIND_INJ_FIFO;
	c.object = bgdma_inj_view(fifo)->id;
	c.value = seq;
	return c;
}

/**
 * bgdma_until_packet() - condition: bgdma_rec_peek() finds a packet
 * @fifo: reception FIFO
 *
 * To be made by the thread that reads the FIFO, right before the wait.
 */
static inline struct bgdma_condition
bgdma_until_packet(struct bgdma_rec_fifo *fifo)
{
	const struct bgdma_rec_view *v = bgdma_rec_view(fifo);
	struct bgdma_condition c;

	c.kind = BGDMA_KIND_REC_FIFO;
	c.object = v->id;
	c.value = v->cursor - v->released;
	return c;
}

/**
 * bgdma_until_event() - condition: bgdma_event_peek() finds an event
 * @ctx: context
 */
static inline struct bgdma_condition
bgdma_until_event(const struct bgdma_ctx *ctx)
{
	struct bgdma_condition c;

	c.kind = BGDMA_KIND_EVENTS;
	c.object = 0;
	c.value = bgdma_load_relaxed(&bgdma_ctx_view(ctx)->user->events_head);
	return c;
}

BGDMA_END_DECLS

#endif /* BGDMA_WAIT_H */
