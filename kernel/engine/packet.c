// SPDX-License-Identifier: GPL-2.0
/*
 * Packets for reception FIFOs: the target's half of memory FIFO messages.
 * Whoever calls holds a busy reference on the target's context, inside a
 * slice. The lock of a FIFO is held for one packet.
 */
#include <linux/poll.h>

#include "../bgdma.h"
#include "../control/trace.h"
#include "busy.h"
#include "deliver.h"
#include "ring.h"
#include "train.h"

/* Somebody sleeps, or is armed. */
static noinline void bgdma_rec_alert(struct bgdma_rec_fifo *fifo)
{
	struct bgdma_ctx *ctx = fifo->ctx;

	if (bgdma_rec_armed(fifo))
		bgdma_eventfd_signal(&fifo->eventfd);
	else if (!atomic_read(&ctx->waiting))
		return;
	bgdma_ring_wake(&ctx->wq, EPOLLIN | EPOLLRDNORM);
}

/* The packet is published; look for whoever sleeps for it. */
static __always_inline void bgdma_rec_arrived(struct bgdma_rec_fifo *fifo)
{
	bgdma_ring_barrier();
	if (unlikely(atomic_read(&fifo->ctx->waiting) ||
		     READ_ONCE(fifo->user->arm) != BGDMA_ARM_NONE))
		bgdma_rec_alert(fifo);
}

/* The reader cannot write here, so the header is made in place. */
static __always_inline void
bgdma_packet_header(struct bgdma_packet *header, const struct bgdma_stream *s,
		    const struct bgdma_principal *who, u32 n, u8 flags)
{
	const struct bgdma_xfer *x = &s->x;
	u32 length = le32_to_cpu(x->desc.length);

	if (!x->done)
		flags |= BGDMA_PACKET_FIRST;
	if (x->done + n == length)
		flags |= BGDMA_PACKET_LAST;
	flags |= !!(x->desc.flags & BGDMA_DESC_INTERRUPT) *
		 BGDMA_PACKET_INTERRUPT;
	flags |= !!(x->desc.route & BGDMA_ROUTE_ADAPTIVE) *
		 BGDMA_PACKET_ADAPTIVE;
	header->type = x->desc.op;
	header->flags = flags;
	header->bytes = n;
	header->src_rank = who->rank;
	header->src_ctx = who->ctx;
	header->dispatch = le16_to_cpu(x->desc.dispatch);
	header->msg_id = x->id;
	header->offset = x->done;
	header->msg_length = length;
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
			memcpy(to, in->p[i], in->n[i]);
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
	bgdma_packet_header(to, s, who, n, flags);
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

/* It went not in at once: wait for room, or say why not. */
static noinline int bgdma_rec_refused(struct bgdma_rec_fifo *fifo,
				      struct bgdma_stream *s,
				      const struct bgdma_principal *who,
				      const struct bgdma_payload *payload,
				      u32 n, int ret)
{
	while (ret == BGDMA_STEP_WAIT) {
		bgdma_stream_park(s, &fifo->waiters, 0, BGDMA_KIND_REC_FIFO,
				  fifo->id);
		WRITE_ONCE(fifo->kern->starved, 1);
		bgdma_ring_barrier();
		if (!bgdma_rec_room(fifo, n) && !READ_ONCE(fifo->dead))
			return BGDMA_STEP_WAIT;
		bgdma_stream_unpark(s);
		ret = bgdma_rec_append(fifo, s, who, payload, n, 0);
	}
	return ret ? bgdma_fault(s, ret, fifo->id, 0) : BGDMA_STEP_DONE;
}

/**
 * bgdma_deliver_memfifo() - a packet for a reception FIFO of the target
 * @ctx: target, held busy
 * @s: stream that it comes from
 * @payload: its bytes; NULL: they are in the descriptor
 * @n: so many
 *
 * Goes on with the next messages of a train, if @s.x.train lets it: then @s
 * is at the last one that landed, or at the one that did not.
 *
 * Context: inside a slice.
 * Return: BGDMA_STEP_DONE, BGDMA_STEP_WAIT when the stream was parked, or an
 * enum bgdma_code, with s->x.fault.
 */
int bgdma_deliver_memfifo(struct bgdma_ctx *ctx, struct bgdma_stream *s,
			  const struct bgdma_payload *payload, u32 n)
{
	const struct bgdma_principal *who = bgdma_principal_at(ctx, s);
	struct bgdma_rec_fifo *fifo = bgdma_rec_find(ctx, s);
	int ret, slot;

	if (unlikely(!fifo))
		return bgdma_fault(s, BGDMA_E_FIFO,
				   le16_to_cpu(s->x.desc.dst_fifo), ctx->n_rec);
	if (!bgdma_is_owner(ctx, who) &&
	    !bgdma_granted_whole(&fifo->grants, who, BGDMA_RIGHT_ACCEPT,
				 &s->memo.fifo))
		return bgdma_fault(s, BGDMA_E_RIGHTS, fifo->id,
				   BGDMA_RIGHT_ACCEPT);
	slot = bgdma_rec_slot(ctx, s);
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

/**
 * bgdma_abort_message() - a message of packets ends before its last one
 * @ctx: target, held busy
 * @s: stream that it came from; s->x.fault says why
 * @who: sender
 *
 * The reader has seen its beginning.
 *
 * Context: inside a slice.
 */
void bgdma_abort_message(struct bgdma_ctx *ctx, struct bgdma_stream *s,
			 const struct bgdma_principal *who)
{
	struct bgdma_rec_fifo *fifo = bgdma_rec_find(ctx, s);
	const struct bgdma_payload nothing = { };
	struct bgdma_event event;

	if (!fifo)
		return;
	/* Only the event for whom the owner lets in no more. */
	if ((bgdma_is_owner(ctx, who) ||
	     bgdma_granted_whole(&fifo->grants, who, BGDMA_RIGHT_ACCEPT,
				 &s->memo.fifo)) &&
	    !bgdma_rec_append(fifo, s, who, &nothing, 0,
			      BGDMA_PACKET_ERROR | BGDMA_PACKET_LAST))
		return;
	event = (struct bgdma_event) {
		.type = BGDMA_EVENT_FIFO_ERROR,
		.code = BGDMA_E_ABORTED,
		.peer_rank = who->rank,
		.peer_ctx = who->ctx,
		.kind = BGDMA_KIND_REC_FIFO,
		.peer_incarnation = who->incarnation,
		.object = fifo->id,
		.transfer_id = s->x.id,
		.cookie = le64_to_cpu(s->x.desc.cookie),
		.offset = s->x.done,
		.bound = s->x.fault.code,
	};
	bgdma_event_post(ctx, &event);
}
