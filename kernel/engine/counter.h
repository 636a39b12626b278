/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counters on the way of every transfer. counter.c has the rest.
 */
#ifndef _BGDMA_COUNTER_H
#define _BGDMA_COUNTER_H

#include <linux/nospec.h>

#include "../bgdma.h"
#include "../trace.h"
#include "busy.h"
#include "ring.h"

static inline atomic64_t *bgdma_cell_value(struct bgdma_counter_cell *cell)
{
	BUILD_BUG_ON(sizeof(struct bgdma_counter_cell) != 64);
	return (atomic64_t *)&cell->value;
}

/* Did the owner lease it to @who, or to anybody? */
static inline bool bgdma_counter_leased(const struct bgdma_counter_cell *cell,
					const struct bgdma_principal *who)
{
	u32 peer = smp_load_acquire(&cell->lease_peer); /* before its context */
	u32 ctx_id;

	if (likely(peer == BGDMA_RANK_ANY))
		return true;
	ctx_id = READ_ONCE(cell->lease_ctx);
	return peer == who->rank &&
	       (ctx_id == BGDMA_CTX_ANY || ctx_id == who->ctx);
}

/* bgdma_counter_find() for who asks for every transfer. */
static __always_inline int bgdma_counter_at(struct bgdma_ctx *ctx,
					    unsigned int kind, u32 handle,
					    const struct bgdma_principal *who,
					    u64 *memo)
{
	u32 slot = BGDMA_HANDLE_SLOT(handle);
	const struct bgdma_counter_cell *cell;
	const struct bgdma_counter *c;
	u32 gen;

	if (unlikely(slot >= ctx->n_ctr[kind]))
		return -BGDMA_E_COUNTER;
	slot = array_index_nospec(slot, ctx->n_ctr[kind]);
	c = &ctx->counters[kind][slot];
	if (unlikely(!READ_ONCE(c->used)))
		return -BGDMA_E_COUNTER;
	cell = &ctx->cells[kind][slot];
	gen = smp_load_acquire(&cell->lease_gen); /* before the lease */
	if (unlikely(!gen || gen != BGDMA_HANDLE_GEN(handle)))
		return -BGDMA_E_STALE;
	if (who && unlikely(!bgdma_granted_whole(&c->grants, who,
						 BGDMA_RIGHT_COUNT, memo) ||
			    !bgdma_counter_leased(cell, who)))
		return -BGDMA_E_RIGHTS;
	return slot;
}

/* Is a counter that was found by a handle still in the use that this names? */
static inline bool bgdma_counter_is(const struct bgdma_ctx *ctx,
				    unsigned int kind, u32 slot, u32 handle)
{
	return READ_ONCE(ctx->cells[kind][slot].lease_gen) ==
	       BGDMA_HANDLE_GEN(handle);
}

void bgdma_counter_alert(struct bgdma_ctx *ctx, unsigned int kind, u32 slot);
void bgdma_counter_low(struct bgdma_ctx *ctx, unsigned int kind, u32 slot,
		       s64 value);

/* Somebody may sleep on this counter, or have asked for interrupts. */
static __always_inline void bgdma_counter_wake(struct bgdma_ctx *ctx,
					       unsigned int kind, u32 slot)
{
	if (bgdma_ring_test_bit(ctx->uctl->enable[kind], slot) ||
	    atomic_read(&ctx->waiting))
		bgdma_counter_alert(ctx, kind, slot);
}

/**
 * bgdma_counter_sub() - count what was moved
 * @ctx: owner of the counter
 * @kind: BGDMA_INJECTION or BGDMA_RECEPTION
 * @slot: from bgdma_counter_find()
 * @n: bytes or transfers; 0 moves nothing
 *
 * Context: a busy reference on @ctx, or a run of one of its streams.
 */
static __always_inline void bgdma_counter_sub(struct bgdma_ctx *ctx,
					      unsigned int kind, u32 slot,
					      u64 n)
{
	struct bgdma_counter_cell *cell = &ctx->cells[kind][slot];
	s64 value;

	if (!n)
		return;
	value = atomic64_sub_return(n, bgdma_cell_value(cell));
	trace_bgdma_counter(ctx, kind, slot, value, n);
	if (value > 0 && value > READ_ONCE(cell->wake_at))
		return;
	if (unlikely(value)) {
		bgdma_counter_low(ctx, kind, slot, value);
		return;
	}
	atomic64_inc((atomic64_t *)&cell->zero_seq);
	bgdma_ring_set_bit(ctx->uctl->hit_zero[kind], slot);
	trace_bgdma_hit_zero(ctx, kind, slot);
	/* The value and the hit bit before the look for sleepers: ring.h. */
	bgdma_ring_barrier();
	bgdma_counter_wake(ctx, kind, slot);
}

#endif /* _BGDMA_COUNTER_H */
