// SPDX-License-Identifier: GPL-2.0
/*
 * An owner takes his memory back, or the right to see it, while some of what was sent
 * of it has not arrived: nobody is to get what he writes there later.
 */
#include "../bgdma.h"
#include "busy.h"
#include "engine.h"
#include "ring.h"

/* What it sends next does not find the memory, or the right, any more. */
static bool bgdma_stream_freeze(struct bgdma_stream *s, u32 region)
{
	bool out = false;

	if (!READ_ONCE(s->tx))
		return false;
	bgdma_stream_own(s);
	if (s->tx)
		out = s->ctx->partition->fabric->freeze(s, region);
	rcu_read_lock();
	bgdma_stream_leave(s, false);
	rcu_read_unlock();
	return out;
}

static bool bgdma_rgq_freeze(struct bgdma_ctx *ctx, u32 region)
{
	struct bgdma_rget_queue *queue;
	bool out = false;
	u32 i, sub;

	for (i = 0; i < ctx->n_rgq; i++) {
		queue = rcu_dereference_protected(ctx->rgq[i],
						  lockdep_is_held(&ctx->lock));
		for (sub = 0; queue && sub < queue->nsubs; sub++)
			out |= bgdma_stream_freeze(&queue->subs[sub].s, region);
	}
	return out;
}

/**
 * bgdma_freeze_region() - what was sent of a region is as it is now
 * @ctx: owner
 * @handle: of the region, which no stream finds any more
 *
 * Context: ctx.lock held; may sleep.
 */
void bgdma_freeze_region(struct bgdma_ctx *ctx, u32 handle)
{
	struct bgdma_inj_fifo *fifo;
	bool out;
	u32 i;

	lockdep_assert_held(&ctx->lock);
	out = bgdma_rgq_freeze(ctx, handle);
	for (i = 0; i < ctx->n_inj; i++) {
		fifo = rcu_dereference_protected(ctx->inj[i],
						 lockdep_is_held(&ctx->lock));
		if (fifo)
			out |= bgdma_stream_freeze(&fifo->s, handle);
	}
	if (out)
		synchronize_rcu();
}

/**
 * bgdma_freeze_others() - what was sent in the name of others is as it is now
 * @ctx: owner, of whose rights some are gone
 *
 * Context: ctx.lock held; may sleep.
 */
void bgdma_freeze_others(struct bgdma_ctx *ctx)
{
	lockdep_assert_held(&ctx->lock);
	if (bgdma_rgq_freeze(ctx, BGDMA_NONE))
		synchronize_rcu();
}
