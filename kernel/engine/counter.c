// SPDX-License-Identifier: GPL-2.0
/*
 * Byte counters. The value lives in a cell that the owner maps; both sides
 * change it by atomic adds only. A wrong value that user space wrote can wake
 * or hang its owner and nobody else. The kernel keeps the rights, the
 * generations and the error records on its own side.
 */
#include <linux/poll.h>
#include <linux/slab.h>

#include "../bgdma.h"
#include "counter.h"

static void bgdma_counter_forget(struct bgdma_ctx *ctx, unsigned int kind,
				 u32 slot)
{
	bgdma_record_clear(ctx, &ctx->counter_rec[kind][slot],
			   ctx->kctl->counter_error[kind], slot);
}

/* Whoever sleeps for the former use takes off what he armed himself. */
static void bgdma_counter_reset(struct bgdma_ctx *ctx, unsigned int kind,
				u32 slot, u8 flags)
{
	struct bgdma_counter_cell *cell = &ctx->cells[kind][slot];
	struct bgdma_counter *c = &ctx->counters[kind][slot];

	c->gen = (u16)(c->gen + 1) ?: 1;
	c->flags = flags;
	/* A slice that found the former use may have failed it when it was free. */
	bgdma_counter_forget(ctx, kind, slot);
	bgdma_ring_clear_bit(ctx->uctl->hit_zero[kind], slot);
	bgdma_ring_clear_bit(ctx->uctl->enable[kind], slot);
	WRITE_ONCE(cell->zero_seq, 0);
	WRITE_ONCE(cell->wake_at, 0);
	WRITE_ONCE(cell->lease_peer, BGDMA_RANK_ANY);
	WRITE_ONCE(cell->lease_ctx, BGDMA_CTX_ANY);
	atomic64_set(bgdma_cell_value(cell), 0);
	/* Engines take the new generation only after the rest. */
	smp_store_release(&cell->lease_gen, c->gen);
}

/* Slices that found its former use are over. */
static bool bgdma_counter_is_cold(struct bgdma_counter *c)
{
	if (c->warm && poll_state_synchronize_rcu(c->freed))
		c->warm = false;
	return !c->warm;
}

/* The first of so many free ones in a row; or as many as there are: there are none. */
static u32 bgdma_counters_find(struct bgdma_ctx *ctx, unsigned int kind,
			       u32 count, bool cold)
{
	u32 i, run = 0;

	for (i = 0; i < ctx->n_ctr[kind]; i++) {
		struct bgdma_counter *c = &ctx->counters[kind][i];

		run = c->used || (cold && !bgdma_counter_is_cold(c)) ? 0 : run + 1;
		if (run == count)
			return i + 1 - count;
	}
	return i;
}

/**
 * bgdma_counter_alloc() - allocate counters in a row
 * @ctx: owner
 * @arg: BGDMA_IOC_COUNTER_ALLOC's; @arg->first is filled in
 *
 * Context: ctx.lock held.
 * Return: 0, -EINVAL or -ENOSPC.
 */
int bgdma_counter_alloc(struct bgdma_ctx *ctx, struct bgdma_counter_alloc *arg)
{
	unsigned int kind = arg->kind - BGDMA_KIND_INJ_COUNTER;
	u32 first, i;

	lockdep_assert_held(&ctx->lock);
	if (kind > 1 || (arg->flags & ~BGDMA_COUNTER_NO_UNDERFLOW) || arg->resv)
		return -EINVAL;
	if (!arg->count)
		return -EINVAL;

	/* Who frees one and takes another does not wait for the former's slices. */
	first = bgdma_counters_find(ctx, kind, arg->count, true);
	if (first == ctx->n_ctr[kind])
		first = bgdma_counters_find(ctx, kind, arg->count, false);
	if (first == ctx->n_ctr[kind])
		return -ENOSPC;

	for (i = first; i < first + arg->count; i++) {
		struct bgdma_counter *c = &ctx->counters[kind][i];

		if (!bgdma_counter_is_cold(c))
			cond_synchronize_rcu(c->freed);
		bgdma_counter_reset(ctx, kind, i, arg->flags);
		WRITE_ONCE(c->used, true);
	}
	arg->first = first;
	return 0;
}

/**
 * bgdma_counter_free() - give counters back
 * @ctx: owner
 * @arg: BGDMA_IOC_COUNTER_FREE's
 *
 * Context: ctx.lock held.
 * Return: 0, -EINVAL or -ENOENT.
 */
int bgdma_counter_free(struct bgdma_ctx *ctx,
		       const struct bgdma_counter_free *arg)
{
	unsigned int kind = arg->kind - BGDMA_KIND_INJ_COUNTER;
	u32 i;

	lockdep_assert_held(&ctx->lock);
	if (kind > 1 || !arg->count)
		return -EINVAL;
	if (arg->first >= ctx->n_ctr[kind] ||
	    arg->count > ctx->n_ctr[kind] - arg->first)
		return -ENOENT;
	for (i = arg->first; i < arg->first + arg->count; i++) {
		if (!ctx->counters[kind][i].used)
			return -ENOENT;
	}
	for (i = arg->first; i < arg->first + arg->count; i++) {
		struct bgdma_counter *c = &ctx->counters[kind][i];

		WRITE_ONCE(c->used, false);
		/* Leases may have moved on; no handle of theirs comes back. */
		c->gen = READ_ONCE(ctx->cells[kind][i].lease_gen);
		WRITE_ONCE(ctx->cells[kind][i].lease_gen, 0);
		bgdma_ring_clear_bit(ctx->uctl->enable[kind], i);
		bgdma_grants_drop(&c->grants);
		bgdma_eventfd_drop(&c->eventfd);
		bgdma_counter_forget(ctx, kind, i);
		c->freed = get_state_synchronize_rcu();
		c->warm = true;
	}
	/* Whoever waits for one of them sees that it is gone. */
	wake_up_poll(&ctx->wq, EPOLLIN | EPOLLRDNORM);
	return 0;
}

/**
 * bgdma_counter_find() - resolve a handle
 * @ctx: owner of the counter
 * @kind: BGDMA_INJECTION or BGDMA_RECEPTION
 * @handle: slot and generation
 * @who: wants to move it; NULL for the owner
 * @memo: see bgdma_granted(); needed with @who
 *
 * Context: inside a slice if @who is not NULL.
 * Return: the slot, or the negative of an enum bgdma_code.
 */
int bgdma_counter_find(struct bgdma_ctx *ctx, unsigned int kind, u32 handle,
		       const struct bgdma_principal *who, u64 *memo)
{
	return bgdma_counter_at(ctx, kind, handle, who, memo);
}

/**
 * bgdma_counter_alert() - somebody sleeps, or asked for interrupts
 * @ctx: owner of the counter
 * @kind: BGDMA_INJECTION or BGDMA_RECEPTION
 * @slot: which
 *
 * Context: as bgdma_counter_sub().
 */
void bgdma_counter_alert(struct bgdma_ctx *ctx, unsigned int kind, u32 slot)
{
	if (bgdma_ring_test_bit(ctx->uctl->enable[kind], slot))
		bgdma_eventfd_signal(&ctx->counters[kind][slot].eventfd);
	bgdma_ctx_wake(ctx, EPOLLIN | EPOLLRDNORM);
}

/* What a failed transfer leaves: below zero is no error more, it shows one. */
static void bgdma_counter_give_up(struct bgdma_ctx *ctx, unsigned int kind,
				  u32 slot, u64 left)
{
	struct bgdma_counter_cell *cell = &ctx->cells[kind][slot];
	s64 value = atomic64_sub_return(left, bgdma_cell_value(cell));

	trace_bgdma_counter(ctx, kind, slot, value, left);
	if (value)
		return;
	atomic64_inc((atomic64_t *)&cell->zero_seq);
	bgdma_ring_set_bit(ctx->uctl->hit_zero[kind], slot);
	trace_bgdma_hit_zero(ctx, kind, slot);
}

/**
 * bgdma_counter_fail() - tell a counter that its transfer failed
 * @ctx: owner of the counter
 * @kind: BGDMA_INJECTION or BGDMA_RECEPTION
 * @slot: from bgdma_counter_find()
 * @left: what the transfer had left to count; others who share the counter
 *	finish without it
 * @why: record to show
 *
 * The error shows before what is left goes: a zero that comes of it is never
 * seen without. Both are done under the lock that BGDMA_IOC_CLEAR_ERROR takes,
 * so who has cleared the error sees the value that stays.
 *
 * Context: as bgdma_counter_sub().
 */
void bgdma_counter_fail(struct bgdma_ctx *ctx, unsigned int kind, u32 slot,
			u64 left, const struct bgdma_record *why)
{
	struct bgdma_event event = {
		.type = BGDMA_EVENT_COUNTER,
		.code = why->code,
		.peer_rank = why->peer_rank,
		.peer_ctx = why->peer_ctx,
		.kind = BGDMA_KIND_INJ_COUNTER + kind,
		.object = slot,
		.desc_seq = why->desc_seq,
		.transfer_id = why->transfer_id,
		.offset = why->offset,
		.bound = why->bound,
	};
	bool shown;

	spin_lock(&ctx->event_lock);
	shown = bgdma_record_show(ctx, &ctx->counter_rec[kind][slot],
				  ctx->kctl->counter_error[kind], slot, why);
	if (left)
		bgdma_counter_give_up(ctx, kind, slot, left);
	spin_unlock(&ctx->event_lock);
	if (shown)
		bgdma_event_post(ctx, &event);
	bgdma_ring_barrier();
	bgdma_counter_wake(ctx, kind, slot);
}

static noinline void bgdma_counter_underflow(struct bgdma_ctx *ctx,
					     unsigned int kind, u32 slot,
					     s64 value)
{
	struct bgdma_record why = {
		.code = BGDMA_E_UNDERFLOW,
		.peer_rank = BGDMA_RANK_ANY,
		.peer_ctx = BGDMA_CTX_ANY,
		.offset = value,
	};

	bgdma_counter_fail(ctx, kind, slot, 0, &why);
}

/**
 * bgdma_counter_low() - the value came to its wake mark, or below zero
 * @ctx: owner of the counter
 * @kind: BGDMA_INJECTION or BGDMA_RECEPTION
 * @slot: which
 * @value: of it, not zero
 *
 * Context: as bgdma_counter_sub().
 */
void bgdma_counter_low(struct bgdma_ctx *ctx, unsigned int kind, u32 slot,
		       s64 value)
{
	if (value < 0 && !(ctx->counters[kind][slot].flags &
			   BGDMA_COUNTER_NO_UNDERFLOW)) {
		/* It wakes, too. */
		bgdma_counter_underflow(ctx, kind, slot, value);
		return;
	}
	/* The value before the look for sleepers: ring.h. */
	bgdma_ring_barrier();
	bgdma_counter_wake(ctx, kind, slot);
}

/**
 * bgdma_counter_there() - is a wait for this counter over?
 * @ctx: owner
 * @kind: BGDMA_INJECTION or BGDMA_RECEPTION
 * @slot: valid
 *
 * Return: true when its value is at or below its wake mark, or its hit bit or
 * an error is set.
 */
bool bgdma_counter_there(struct bgdma_ctx *ctx, unsigned int kind, u32 slot)
{
	const struct bgdma_counter_cell *cell = &ctx->cells[kind][slot];

	return READ_ONCE(cell->value) <= READ_ONCE(cell->wake_at) ||
	       bgdma_ring_test_bit(ctx->uctl->hit_zero[kind], slot) ||
	       bgdma_ring_test_bit(ctx->kctl->counter_error[kind], slot);
}

/**
 * bgdma_counter_notify() - software's own add reached the mark
 * @ctx: owner
 * @kind: BGDMA_INJECTION or BGDMA_RECEPTION
 * @slot: less than ctx.n_ctr[kind]
 */
void bgdma_counter_notify(struct bgdma_ctx *ctx, unsigned int kind, u32 slot)
{
	bgdma_ring_barrier();
	rcu_read_lock();
	bgdma_counter_wake(ctx, kind, slot);
	rcu_read_unlock();
}

/**
 * bgdma_counter_clear() - clear the error of a counter
 * @ctx: owner
 * @kind: BGDMA_INJECTION or BGDMA_RECEPTION
 * @slot: which
 *
 * Context: ctx.lock held.
 * Return: 0 or -ENOENT.
 */
int bgdma_counter_clear(struct bgdma_ctx *ctx, unsigned int kind, u32 slot)
{
	if (slot >= ctx->n_ctr[kind] || !ctx->counters[kind][slot].used)
		return -ENOENT;
	bgdma_counter_forget(ctx, kind, slot);
	return 0;
}

/**
 * bgdma_counters_peer_down() - wake whoever waits for a peer that is gone
 * @ctx: owner of the counters, held busy
 * @peer: gone
 * @first: the first slot to look at
 * @n: slots, of both kinds
 *
 * Every counter that is leased to the peer alone gets an error, but one that has
 * reached zero already.
 *
 * Context: inside a slice.
 * Return: true if there was one.
 */
bool bgdma_counters_peer_down(struct bgdma_ctx *ctx,
			      const struct bgdma_principal *peer, u32 first,
			      u32 n)
{
	struct bgdma_record why = {
		.code = BGDMA_E_PEER_DOWN,
		.peer_rank = peer->rank,
		.peer_ctx = peer->ctx,
	};
	unsigned int kind;
	bool any = false;
	u32 slot;

	for (kind = 0; kind < 2; kind++) {
		for (slot = first; slot < min(ctx->n_ctr[kind], first + n);
		     slot++) {
			struct bgdma_counter_cell *cell =
				&ctx->cells[kind][slot];
			u32 id = READ_ONCE(cell->lease_ctx);

			if (!READ_ONCE(ctx->counters[kind][slot].used) ||
			    READ_ONCE(cell->lease_peer) != peer->rank ||
			    (id != BGDMA_CTX_ANY && id != peer->ctx))
				continue;
			/* All has come, and its owner has yet to see it. */
			if (READ_ONCE(cell->value) <= 0 &&
			    bgdma_ring_test_bit(ctx->uctl->hit_zero[kind], slot))
				continue;
			bgdma_counter_fail(ctx, kind, slot, 0, &why);
			any = true;
		}
	}
	return any;
}
