/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the deliveries of all kinds share: who sends, and what is counted.
 * Private to engine/deliver.c and engine/packet.c.
 */
#ifndef _BGDMA_DELIVER_H
#define _BGDMA_DELIVER_H

#include <linux/nospec.h>

#include "../bgdma.h"
#include "busy.h"

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
	return who->incarnation == target->who.incarnation;
}

static inline int bgdma_fault(struct bgdma_stream *s, u32 code, u64 offset,
			      u64 bound)
{
	s->x.fault = (struct bgdma_fault) {
		.code = code, .offset = offset, .bound = bound,
	};
	return code;
}

static inline int bgdma_rec_counter(struct bgdma_ctx *ctx,
				    struct bgdma_stream *s)
{
	const struct bgdma_principal *who = bgdma_principal_at(ctx, s);

	return bgdma_counter_find(ctx, BGDMA_RECEPTION,
				  le32_to_cpu(s->x.desc.rec_ctr),
				  bgdma_is_owner(ctx, who) ? NULL : who,
				  &s->memo.counter);
}

/*
 * A transfer whose reception counter is no good moves nothing: the slot, or
 * BGDMA_NO_SLOT, or another negative number with a fault.
 */
#define BGDMA_NO_SLOT	(-1)

static __always_inline int bgdma_rec_slot(struct bgdma_ctx *ctx,
					  struct bgdma_stream *s)
{
	int slot;

	if (s->x.desc.rec_ctr == cpu_to_le32(BGDMA_NONE))
		return BGDMA_NO_SLOT;
	slot = bgdma_rec_counter(ctx, s);
	if (likely(slot >= 0))
		return slot;
	bgdma_fault(s, -slot, le32_to_cpu(s->x.desc.rec_ctr), 0);
	return slot;
}

/* The last piece is visible: count what was not counted yet. */
static __always_inline void bgdma_rec_count_last(struct bgdma_ctx *ctx,
						 struct bgdma_stream *s,
						 int slot, u32 n)
{
	struct bgdma_xfer *x = &s->x;

	if (slot < 0 || x->done + n != le32_to_cpu(x->desc.length))
		return;
	bgdma_counter_sub(ctx, BGDMA_RECEPTION, slot,
			  x->desc.flags & BGDMA_DESC_OPS ? 1 :
							   x->uncounted + n);
}

static __always_inline struct bgdma_rec_fifo *
bgdma_rec_find(struct bgdma_ctx *ctx, const struct bgdma_stream *s)
{
	u32 id = le16_to_cpu(s->x.desc.dst_fifo);

	if (id >= ctx->n_rec)
		return NULL;
	return bgdma_deref(ctx->rec[array_index_nospec(id, ctx->n_rec)]);
}

void bgdma_abort_message(struct bgdma_ctx *ctx, struct bgdma_stream *s,
			 const struct bgdma_principal *who);

#endif /* _BGDMA_DELIVER_H */
