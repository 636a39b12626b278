/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A packet on its way into a reception FIFO. The lock of the FIFO is held for
 * one packet. Private to engine/packet.c and engine/ops.c.
 */
#ifndef _BGDMA_PACKET_H
#define _BGDMA_PACKET_H

#include "../bgdma.h"
#include "../trace.h"
#include "deliver.h"
#include "ring.h"
#include "train.h"

void bgdma_rec_alert(struct bgdma_rec_fifo *fifo);
int bgdma_rec_refused(struct bgdma_rec_fifo *fifo, struct bgdma_stream *s,
		      const struct bgdma_principal *who,
		      const struct bgdma_payload *payload, u32 n, int ret);

/* The packet is published; look for whoever sleeps for it. */
static __always_inline void bgdma_rec_arrived(struct bgdma_rec_fifo *fifo)
{
	bgdma_ring_barrier();
	if (unlikely(atomic_read(&fifo->ctx->waiting) ||
		     READ_ONCE(fifo->user->arm) != BGDMA_ARM_NONE))
		bgdma_rec_alert(fifo);
}

/*
 * The reader cannot write here, so the header is made in place. @whole: the
 * packet is all of its message.
 */
static __always_inline void
bgdma_packet_header(struct bgdma_packet *header, const struct bgdma_stream *s,
		    const struct bgdma_principal *who, u32 n, u8 flags,
		    bool whole)
{
	const struct bgdma_xfer *x = &s->x;

	if (whole || !x->done)
		flags |= BGDMA_PACKET_FIRST;
	if (whole || x->done + n == le32_to_cpu(x->desc.length))
		flags |= BGDMA_PACKET_LAST;
	flags |= !!(x->desc.flags & BGDMA_DESC_INTERRUPT) *
		 BGDMA_PACKET_INTERRUPT;
	/* One or the other. */
	if (unlikely(x->desc.route &
		     (BGDMA_ROUTE_ADAPTIVE | BGDMA_ROUTE_DEPOSIT)))
		flags |= x->desc.route & BGDMA_ROUTE_DEPOSIT ?
			 BGDMA_PACKET_DEPOSITED : BGDMA_PACKET_ADAPTIVE;
	header->type = x->desc.op;
	header->flags = flags;
	header->bytes = n;
	header->src_rank = who->rank;
	header->src_ctx = who->ctx;
	header->dispatch = le16_to_cpu(x->desc.dispatch);
	header->msg_id = x->id;
	header->offset = whole ? 0 : x->done;
	header->msg_length = whole ? n : le32_to_cpu(x->desc.length);
	header->cookie = le64_to_cpu(x->desc.cookie);
}

static __always_inline void bgdma_packet_payload(void *to,
						 const struct bgdma_stream *s,
						 const struct bgdma_payload *in,
						 u32 n)
{
	u32 i;

	if (in) {
		for (i = 0; i < in->pieces; i++) {
			bgdma_copy_long(to, in->p[i], in->n[i]);
			to += in->n[i];
		}
	} else if (n) {
		/* All of it fits the smallest record, and is quicker than n. */
		BUILD_BUG_ON(BGDMA_INLINE_MAX > BGDMA_PACKET_ALIGN);
		memcpy(to, s->x.desc.u.inline_data, BGDMA_INLINE_MAX);
	}
}

/* Append one packet: BGDMA_STEP_DONE, _WAIT when it is full, BGDMA_E_FIFO. */
static __always_inline int
bgdma_rec_append(struct bgdma_rec_fifo *fifo, const struct bgdma_stream *s,
		 const struct bgdma_principal *who,
		 const struct bgdma_payload *payload, u32 n, u8 flags)
{
	u32 record = bgdma_record_bytes(n);
	u64 used, tail;
	void *to;

	spin_lock(&fifo->lock);
	if (unlikely(fifo->dead)) {
		spin_unlock(&fifo->lock);
		return BGDMA_E_FIFO;
	}
	tail = fifo->tail;
	used = tail - bgdma_ring_rec_head(fifo->user);
	if (unlikely(used > fifo->size || fifo->size - used < record)) {
		spin_unlock(&fifo->lock);
		if (used > fifo->size)
			bgdma_rec_bad_head(fifo);
		return BGDMA_STEP_WAIT;
	}
	to = fifo->shm.addr + (tail & (fifo->size - 1));
	if (payload)
		bgdma_packet_header(to, s, who, n, flags, false);
	else
		bgdma_packet_header(to, s, who, n, flags, true);
	bgdma_packet_payload(to + sizeof(struct bgdma_packet), s, payload, n);

	fifo->packets++;
	WRITE_ONCE(fifo->kern->packets, fifo->packets);
	if (s->x.desc.flags & BGDMA_DESC_INTERRUPT) {
		WRITE_ONCE(fifo->marked, fifo->marked + 1);
		WRITE_ONCE(fifo->kern->marked, fifo->marked);
	}
	tail += record;
	WRITE_ONCE(fifo->tail, tail);
	bgdma_ring_set_rec_tail(fifo->kern, tail);
	spin_unlock(&fifo->lock);

	bgdma_rec_arrived(fifo);
	return BGDMA_STEP_DONE;
}

/*
 * bgdma_deliver_memfifo() for the run loop (ops.c), which delivers most of the
 * messages whose payload is in the descriptor.
 */
static __always_inline int bgdma_land_packets(struct bgdma_ctx *ctx,
					      struct bgdma_stream *s,
					      const struct bgdma_payload *payload,
					      u32 n)
{
	const struct bgdma_principal *who = bgdma_principal_at(ctx, s);
	struct bgdma_rec_fifo *fifo = bgdma_rec_find(ctx, s);
	int ret, slot;

	if (unlikely(!fifo))
		return bgdma_fault(s, BGDMA_E_FIFO,
				   le16_to_cpu(s->x.desc.dst_fifo), ctx->n_rec);
	if (!bgdma_is_owner(ctx, who) &&
	    !bgdma_granted_whole(&fifo->grants, who, BGDMA_RIGHT_ACCEPT,
				 &s->memo.fifo) &&
	    !(s->group &&
	      (s->line.given || bgdma_group_gives(ctx, s, who,
						  BGDMA_KIND_REC_FIFO,
						  fifo->id))))
		return bgdma_fault(s, BGDMA_E_RIGHTS, fifo->id,
				   BGDMA_RIGHT_ACCEPT);
	slot = bgdma_rec_slot(ctx, s, who);
	if (unlikely(slot < BGDMA_NO_SLOT))
		return s->x.fault.code;
	do {
		ret = bgdma_rec_append(fifo, s, who, payload, n, 0);
		if (unlikely(ret))
			ret = bgdma_rec_refused(fifo, s, who, payload, n, ret);
		if (unlikely(ret))
			return ret;
		trace_bgdma_packet(ctx, s, n);
		bgdma_rec_count_last(ctx, s, slot, n);
	} while (bgdma_train_next(s, n));
	return BGDMA_STEP_DONE;
}

#endif /* _BGDMA_PACKET_H */
