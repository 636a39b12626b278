/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Events: what has no transfer to report it, such as a peer's death or a
 * FIFO's error (DMA-8, X-3).
 */
#ifndef BGDMA_EVENT_H
#define BGDMA_EVENT_H

#include <bgdma/context.h>

BGDMA_BEGIN_DECLS

/**
 * bgdma_events_pending() - events that were not released
 * @ctx: context
 *
 * What is pending now is no more than the ring has room for; others may follow.
 *
 * Thread safety: as bgdma_event_peek().
 * Return: how many.
 */
static inline uint32_t bgdma_events_pending(const struct bgdma_ctx *ctx)
{
	const struct bgdma_ctx_view *view = bgdma_ctx_view(ctx);

	return (uint32_t)(bgdma_load_acquire(&view->kern->events_tail) -
			  bgdma_load_relaxed(&view->user->events_head));
}

/**
 * bgdma_event_peek() - the oldest event that was not released, in place
 * @ctx: context
 *
 * Thread safety: one thread at a time for each context, with
 * bgdma_event_release().
 * Return: event, valid until it is released; NULL: there is none.
 */
BGDMA_API const struct bgdma_event *bgdma_event_peek(struct bgdma_ctx *ctx);

/**
 * bgdma_event_release() - be done with the event that bgdma_event_peek() gave
 * @ctx: context
 *
 * Thread safety: as bgdma_event_peek().
 */
BGDMA_API void bgdma_event_release(struct bgdma_ctx *ctx);

/**
 * bgdma_events_lost() - events that found the ring full, since attach
 * @ctx: context
 *
 * Thread safety: any thread.
 */
BGDMA_API uint64_t bgdma_events_lost(const struct bgdma_ctx *ctx);

/**
 * bgdma_events_eventfd() - signal every event to an eventfd
 * @ctx: context
 * @eventfd: file descriptor, or -1 for no longer
 *
 * Thread safety: any thread.
 * Return: 0; -EBADF or -EINVAL not an eventfd; -ENODEV.
 */
BGDMA_API int bgdma_events_eventfd(struct bgdma_ctx *ctx, int eventfd);

BGDMA_END_DECLS

#endif /* BGDMA_EVENT_H */
