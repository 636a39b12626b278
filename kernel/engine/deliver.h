/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the deliveries of all kinds share: who sends, and what is counted.
 * Private to engine/deliver.c, engine/packet.c and engine/ops.c.
 */
#ifndef _BGDMA_DELIVER_H
#define _BGDMA_DELIVER_H

#include <linux/nospec.h>

#include "../bgdma.h"
#include "busy.h"
#include "counter.h"
#include "group.h"
#include "region.h"

/*
 * Tries to update an element that somebody else updates all the time. Then the
 * stream has had its turn.
 */
#define BGDMA_ATOMIC_TRIES	64

/*
 * On its own node a remote descriptor acts for who sent it; at the other end
 * whatever arrives is from the context that executed it.
 */
static inline const struct bgdma_principal *
bgdma_principal_at(const struct bgdma_ctx *target, const struct bgdma_stream *s)
{
	return target == s->ctx ? &s->who : &s->ctx->who;
}

static inline bool bgdma_is_owner(const struct bgdma_ctx *target,
				  const struct bgdma_principal *who)
{
	return bgdma_same(who, &target->who);
}

static inline int bgdma_fault(struct bgdma_stream *s, u32 code, u64 offset,
			      u64 bound)
{
	s->x.fault = (struct bgdma_fault) {
		.code = code, .offset = offset, .bound = bound,
	};
	return code;
}

static __always_inline int
bgdma_rec_counter(struct bgdma_ctx *ctx, struct bgdma_stream *s,
		  const struct bgdma_principal *who)
{
	u32 handle = le32_to_cpu(s->x.desc.rec_ctr);

	who = bgdma_group_name(ctx, s, who, BGDMA_KIND_REC_COUNTER, handle);
	return bgdma_counter_at(ctx, BGDMA_RECEPTION, handle,
				bgdma_is_owner(ctx, who) ? NULL : who,
				&s->memo.counter);
}

/*
 * A transfer whose reception counter is no good moves nothing: the slot, or
 * BGDMA_NO_SLOT, or another negative number with a fault.
 */
#define BGDMA_NO_SLOT	(-1)

static __always_inline int bgdma_rec_slot(struct bgdma_ctx *ctx,
					  struct bgdma_stream *s,
					  const struct bgdma_principal *who)
{
	int slot;

	if (s->x.desc.rec_ctr == cpu_to_le32(BGDMA_NONE))
		return BGDMA_NO_SLOT;
	slot = bgdma_rec_counter(ctx, s, who);
	if (likely(slot >= 0))
		return slot;
	bgdma_fault(s, -slot, le32_to_cpu(s->x.desc.rec_ctr), 0);
	return slot;
}

/*
 * The last piece, of @n bytes, is visible: count what was not counted yet. Since
 * the counter was found its owner may have put it to another use, which that is
 * no part of.
 */
static __always_inline void bgdma_rec_count(struct bgdma_ctx *ctx,
					    struct bgdma_stream *s, int slot,
					    u32 n)
{
	if (slot >= 0 &&
	    likely(bgdma_counter_is(ctx, BGDMA_RECEPTION, slot,
				    le32_to_cpu(s->x.desc.rec_ctr))))
		bgdma_counter_sub(ctx, BGDMA_RECEPTION, slot,
				  s->x.desc.flags & BGDMA_DESC_OPS ? 1 : n);
}

/* If it was the last. */
static __always_inline void bgdma_rec_count_last(struct bgdma_ctx *ctx,
						 struct bgdma_stream *s,
						 int slot, u32 n)
{
	if (s->x.done + n == le32_to_cpu(s->x.desc.length))
		bgdma_rec_count(ctx, s, slot, s->x.uncounted + n);
}

static __always_inline struct bgdma_rec_fifo *
bgdma_rec_find(struct bgdma_ctx *ctx, const struct bgdma_stream *s)
{
	u32 id = le16_to_cpu(s->x.desc.dst_fifo);

	if (id >= ctx->n_rec)
		return NULL;
	return bgdma_deref(ctx->rec[array_index_nospec(id, ctx->n_rec)]);
}

struct bgdma_region *
bgdma_region_ask(struct bgdma_ctx *ctx, struct bgdma_stream *s,
		 const struct bgdma_principal *who, u32 handle, u32 rights,
		 u64 off, u32 len, struct bgdma_region_memo *memo);

/*
 * The region for a piece of what @s is at, busy; or NULL, with a fault. Mostly it
 * is that of the piece before, and allowed as then.
 */
static __always_inline struct bgdma_region *
bgdma_region_for(struct bgdma_ctx *ctx, struct bgdma_stream *s,
		 const struct bgdma_principal *who, u32 handle, u32 rights,
		 u64 off, u32 len, struct bgdma_region_memo *memo)
{
	struct bgdma_region *region;

	region = bgdma_region_again(ctx, handle, bgdma_same(who, &ctx->who),
				    rights, off, len, memo);
	if (likely(region))
		return region;
	return bgdma_region_ask(ctx, s, who, handle, rights, off, len, memo);
}

/* The same in the stream's own context. */
static __always_inline struct bgdma_region *
bgdma_region_here(struct bgdma_stream *s, u32 handle, u32 rights, u64 off,
		  u32 len, struct bgdma_region_memo *memo)
{
	struct bgdma_region *region;

	region = bgdma_region_again(s->ctx, handle, !s->remote, rights, off,
				    len, memo);
	if (likely(region))
		return region;
	return bgdma_region_ask(s->ctx, s, &s->who, handle, rights, off, len,
				memo);
}

/* Can what lands in a region have to do with an epoch? */
static __always_inline bool bgdma_land_gated(const struct bgdma_stream *s,
					     const struct bgdma_region *region)
{
	return READ_ONCE(region->gate) || s->x.desc.epoch;
}

/*
 * Into a region, held busy, that is so. What its owner had sent to itself nobody
 * keeps out; but it must have asked for it itself, and not its engine for somebody.
 * A descriptor from elsewhere names an epoch at the region that it reads.
 */
static inline int bgdma_land_enter(const struct bgdma_ctx *ctx,
				   struct bgdma_stream *s,
				   const struct bgdma_region *region,
				   const struct bgdma_principal *who,
				   struct bgdma_region_gate **gate)
{
	u32 epoch = s->remote ? 0 : le32_to_cpu(s->x.desc.epoch);

	*gate = NULL;
	if (s->remote && s->own && bgdma_is_owner(ctx, &s->who))
		return BGDMA_STEP_DONE;
	return bgdma_gate_enter(region, s, who, epoch, true, gate);
}

static inline void bgdma_land_leave(struct bgdma_stream *s,
				    struct bgdma_region_gate *gate,
				    const struct bgdma_principal *who, bool last)
{
	if (gate)
		bgdma_gate_leave(gate, s, who, s->remote ? 0 :
				 le32_to_cpu(s->x.desc.epoch), last);
}

int bgdma_land_at_gate(const struct bgdma_ctx *ctx, struct bgdma_stream *s,
		       const struct bgdma_region *region,
		       const struct bgdma_principal *who, u64 off,
		       const void *from, const struct bgdma_payload *payload,
		       u32 n);

/*
 * bgdma_deliver_put() for the run loop (ops.c), which delivers most puts.
 * @from: the bytes, if they are in one page, else they are in @payload. @whole:
 * all of the transfer in one piece.
 */
static __always_inline int
bgdma_land_put(struct bgdma_ctx *ctx, struct bgdma_stream *s, const void *from,
	       const struct bgdma_payload *payload, u32 n, bool whole)
{
	struct bgdma_xfer *x = &s->x;
	u32 done = whole ? 0 : x->done;
	u32 left = whole ? n : le32_to_cpu(x->desc.length) - done;
	u32 handle = le32_to_cpu(x->desc.u.at.dst_region);
	u64 off = le64_to_cpu(x->desc.u.at.dst_off) + done;
	const struct bgdma_principal *who = bgdma_principal_at(ctx, s);
	int slot = bgdma_rec_slot(ctx, s, who);
	struct bgdma_region *region;
	int ret;

	if (unlikely(slot < BGDMA_NO_SLOT))
		return x->fault.code;
	region = bgdma_region_for(ctx, s, who, handle, BGDMA_RIGHT_WRITE, off,
				  left, &s->memo.dst);
	if (unlikely(!region))
		return x->fault.code;
	if (likely(!bgdma_land_gated(s, region))) {
		bgdma_region_write(region, off, from, payload, n);
	} else {
		ret = bgdma_land_at_gate(ctx, s, region, who, off, from,
					 payload, n);
		if (ret) {
			bgdma_busy_put(&region->busy);
			return ret;
		}
	}
	trace_bgdma_packet(ctx, s, n);
	if (whole)
		bgdma_rec_count(ctx, s, slot, n);
	else
		bgdma_rec_count_last(ctx, s, slot, n);
	/* Who has freed the region knows that nothing of it is to be counted. */
	bgdma_busy_put(&region->busy);
	return BGDMA_STEP_DONE;
}

void bgdma_abort_message(struct bgdma_ctx *ctx, struct bgdma_stream *s,
			 const struct bgdma_principal *who);

#endif /* _BGDMA_DELIVER_H */
