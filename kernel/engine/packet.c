// SPDX-License-Identifier: GPL-2.0
/*
 * Packets for reception FIFOs: the target's half of memory FIFO messages.
 * Whoever calls holds a busy reference on the target's context, inside a
 * slice.
 */
#include <linux/poll.h>

#include "../bgdma.h"
#include "packet.h"

/**
 * bgdma_rec_alert() - somebody sleeps, or is armed
 * @fifo: got a packet
 *
 * Context: inside a slice.
 */
void bgdma_rec_alert(struct bgdma_rec_fifo *fifo)
{
	struct bgdma_ctx *ctx = fifo->ctx;

	if (bgdma_rec_armed(fifo))
		bgdma_eventfd_signal(&fifo->eventfd);
	else if (!atomic_read(&ctx->waiting))
		return;
	bgdma_ctx_wake(ctx, EPOLLIN | EPOLLRDNORM);
}

/* Room that was there, and gone again when it was to be used. */
#define BGDMA_REFUSED_MAX	3

/**
 * bgdma_rec_refused() - a packet went not in at once: wait for room, or say why
 * @fifo: FIFO
 * @s: stream that it comes from
 * @who: sender
 * @payload: its bytes; NULL: they are in the descriptor
 * @n: so many
 * @ret: what bgdma_rec_append() said
 *
 * Context: inside a slice.
 * Return: as bgdma_deliver_memfifo(); with BGDMA_STEP_WAIT the stream may be
 * parked no longer.
 */
int bgdma_rec_refused(struct bgdma_rec_fifo *fifo, struct bgdma_stream *s,
		      const struct bgdma_principal *who,
		      const struct bgdma_payload *payload, u32 n, int ret)
{
	u32 tries;

	for (tries = 0; ret == BGDMA_STEP_WAIT; tries++) {
		bgdma_stream_park(s, &fifo->waiters, 0, BGDMA_KIND_REC_FIFO,
				  fifo->id);
		WRITE_ONCE(fifo->kern->starved, 1);
		bgdma_ring_barrier();
		if (!bgdma_rec_room(fifo, n) && !READ_ONCE(fifo->dead))
			return BGDMA_STEP_WAIT;
		bgdma_stream_unpark(s);
		/* A reader that plays with its head: others first. */
		if (tries == BGDMA_REFUSED_MAX)
			return BGDMA_STEP_WAIT;
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
	return bgdma_land_packets(ctx, s, payload, n);
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
				 &s->memo.fifo) ||
	     (s->group &&
	      bgdma_group_gives(ctx, s, who, BGDMA_KIND_REC_FIFO, fifo->id))) &&
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
