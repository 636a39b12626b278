// SPDX-License-Identifier: GPL-2.0
/*
 * Doorbells: the caller runs the streams of its own context for a small budget.
 *
 * What these put into remote-get queues it runs next, if it is little (follow.c): to
 * wake a thread takes longer than most remote gets. What is left goes to the pool.
 */
#include <linux/nospec.h>

#include "../bgdma.h"
#include "../trace.h"
#include "busy.h"
#include "engine.h"

/* Copied in less time than it takes to wake a thread for it. */
#define BGDMA_INLINE_BYTES	131072
#define BGDMA_INLINE_EACH	(BGDMA_INLINE_BYTES / 32)

/* What one that follows takes off the budget. */
#define BGDMA_FOLLOW_COST	(BGDMA_INLINE_BYTES / BGDMA_FOLLOW_MAX)

/* It is owned, or marked with something: mostly it has to wait. */
static noinline bool bgdma_doorbell_marked(struct bgdma_stream *s)
{
	if (!test_bit(BGDMA_STREAM_PARKED, &s->flags) &&
	    !test_and_set_bit_lock(BGDMA_STREAM_OWNED, &s->flags)) {
		if (likely(!test_bit(BGDMA_STREAM_DEAD, &s->flags)))
			return true;
		/* Killed before we had it: it goes with this slice. */
		bgdma_stream_disown(s);
		return false;
	}
	bgdma_stream_wake(s);
	return false;
}

/* The FIFO of a doorbell bit, owned; NULL if nothing is left to do for it. */
static __always_inline struct bgdma_inj_fifo *
bgdma_doorbell_own(struct bgdma_ctx *ctx, u32 id, long budget)
{
	struct bgdma_inj_fifo *fifo = NULL;
	bool mine = false;

	bgdma_slice_begin();
	if (likely(id < ctx->n_inj)) {
		id = array_index_nospec(id, ctx->n_inj);
		fifo = bgdma_deref(ctx->inj[id]);
	}
	if (likely(fifo)) {
		unsigned long none = 0;

		if (unlikely(budget <= 0))
			bgdma_stream_wake(&fifo->s);
		else
			mine = try_cmpxchg_acquire(&fifo->s.flags, &none,
						   BIT(BGDMA_STREAM_OWNED)) ||
			       bgdma_doorbell_marked(&fifo->s);
	}
	bgdma_slice_end();
	return mine ? fifo : NULL;
}

/* bgdma_stream_leave() of one with nothing marked and nothing to do. */
static __always_inline void bgdma_doorbell_leave(struct bgdma_inj_fifo *fifo)
{
	unsigned long owned = BIT(BGDMA_STREAM_OWNED);

	bgdma_slice_begin();
	/* A full barrier, as in bgdma_stream_disown(). */
	if (likely(try_cmpxchg(&fifo->s.flags, &owned, 0))) {
		if (unlikely((READ_ONCE(fifo->s.x.active) ||
			      bgdma_inj_pending(fifo)) &&
			     bgdma_stream_again(&fifo->s)))
			bgdma_stream_wake(&fifo->s);
	} else {
		bgdma_stream_leave(&fifo->s, false);
	}
	bgdma_slice_end();
}

static __always_inline long bgdma_doorbell_word(struct bgdma_ctx *ctx, u32 w,
						u64 bits, long budget)
{
	while (bits) {
		struct bgdma_inj_fifo *fifo =
			bgdma_doorbell_own(ctx, w * 64 + __ffs64(bits), budget);

		bits &= bits - 1;
		if (!fifo)
			continue;
		/* Owned: it cannot go away. */
		budget = bgdma_stream_run(&fifo->s, budget, BGDMA_INLINE_EACH);
		if (unlikely(fifo->follow.n))
			budget -= (long)bgdma_follow_run(&fifo->follow) *
				  BGDMA_FOLLOW_COST;
		bgdma_doorbell_leave(fifo);
	}
	return budget;
}

static noinline u32 bgdma_doorbell_rec(struct bgdma_ctx *ctx, u64 bits)
{
	u32 rung = 0;

	while (bits) {
		u32 id = __ffs64(bits);
		struct bgdma_rec_fifo *fifo = NULL;

		bits &= bits - 1;
		rung++;
		rcu_read_lock();
		if (id < ctx->n_rec) {
			id = array_index_nospec(id, ctx->n_rec);
			fifo = rcu_dereference(ctx->rec[id]);
		}
		if (fifo)
			bgdma_rec_kick(fifo);
		rcu_read_unlock();
	}
	return rung;
}

static __always_inline u32 bgdma_doorbell_look(struct bgdma_ctx *ctx, bool pool)
{
	u32 w, words = DIV_ROUND_UP(ctx->n_inj, 64);
	long budget = pool ? 0 : BGDMA_INLINE_BYTES;
	u32 rung = 0;
	u64 bits;

	trace_bgdma_doorbell(ctx, pool);
	bits = bgdma_ring_doorbell(&ctx->uctl->doorbell_rec);
	if (bits)
		rung = bgdma_doorbell_rec(ctx, bits);
	for (w = 0; w < words; w++) {
		bits = bgdma_ring_doorbell(&ctx->uctl->doorbell[w]);
		if (pool)
			rung += hweight64(bits);
		budget = bgdma_doorbell_word(ctx, w, bits, budget);
	}
	return rung;
}

/**
 * bgdma_doorbell() - look at the doorbells of a context
 * @ctx: held by a call
 *
 * The caller runs the context's own streams for a small budget, and of what these
 * put into remote-get queues the first.
 */
void bgdma_doorbell(struct bgdma_ctx *ctx)
{
	bgdma_doorbell_look(ctx, false);
}

/**
 * bgdma_doorbell_pool() - the same, but leave all of it to the pool
 * @ctx: held by a call, or busy
 *
 * Return: how many FIFOs were rung.
 */
u32 bgdma_doorbell_pool(struct bgdma_ctx *ctx)
{
	return bgdma_doorbell_look(ctx, true);
}
