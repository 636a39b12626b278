// SPDX-License-Identifier: GPL-2.0
/*
 * What lands on a node, from any side: the target's half of every transfer.
 * Whoever calls holds a busy reference on the target's context, inside a
 * slice. Rights are looked up for each piece.
 */
#include <linux/nospec.h>

#include "../bgdma.h"
#include "../control/trace.h"
#include "busy.h"
#include "ring.h"

/*
 * On its own node a remote descriptor acts for who sent it; at the other end
 * whatever arrives is from the context that executed it.
 */
static const struct bgdma_principal *
bgdma_principal_at(const struct bgdma_ctx *target, const struct bgdma_stream *s)
{
	return target == s->ctx ? &s->who : &s->ctx->who;
}

static bool bgdma_is_owner(const struct bgdma_ctx *target,
			   const struct bgdma_principal *who)
{
	return who->incarnation == target->who.incarnation;
}

static int bgdma_fault(struct bgdma_stream *s, u32 code, u64 offset, u64 bound)
{
	s->x.fault = (struct bgdma_fault) {
		.code = code, .offset = offset, .bound = bound,
	};
	return code;
}

static int bgdma_rec_counter(struct bgdma_ctx *ctx, struct bgdma_stream *s)
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

static int bgdma_rec_slot(struct bgdma_ctx *ctx, struct bgdma_stream *s)
{
	int slot;

	if (s->x.desc.rec_ctr == cpu_to_le32(BGDMA_NONE))
		return BGDMA_NO_SLOT;
	slot = bgdma_rec_counter(ctx, s);
	if (slot >= 0)
		return slot;
	bgdma_fault(s, -slot, le32_to_cpu(s->x.desc.rec_ctr), 0);
	return slot;
}

/* The last piece is visible: count what was not counted yet. */
static void bgdma_rec_count_last(struct bgdma_ctx *ctx, struct bgdma_stream *s,
				 int slot, u32 n)
{
	struct bgdma_xfer *x = &s->x;

	if (slot < 0 || x->done + n != le32_to_cpu(x->desc.length))
		return;
	bgdma_counter_sub(ctx, BGDMA_RECEPTION, slot,
			  x->desc.flags & BGDMA_DESC_OPS ? 1 :
							   x->uncounted + n);
}

/**
 * bgdma_deliver_put() - bytes for a region of the target
 * @ctx: target, held busy
 * @s: stream that they come from; s->x.done is their offset in the transfer
 * @payload: the bytes
 * @n: so many
 *
 * Context: inside a slice.
 * Return: BGDMA_STEP_DONE or an enum bgdma_code, with s->x.fault.
 */
int bgdma_deliver_put(struct bgdma_ctx *ctx, struct bgdma_stream *s,
		      const struct bgdma_payload *payload, u32 n)
{
	struct bgdma_xfer *x = &s->x;
	u64 off = le64_to_cpu(x->desc.u.at.dst_off) + x->done;
	int slot = bgdma_rec_slot(ctx, s);
	struct bgdma_region *region;

	if (unlikely(slot < BGDMA_NO_SLOT))
		return x->fault.code;
	region = bgdma_region_get(ctx, le32_to_cpu(x->desc.u.at.dst_region),
				  bgdma_principal_at(ctx, s), BGDMA_RIGHT_WRITE,
				  off, le32_to_cpu(x->desc.length) - x->done,
				  &x->fault, &s->memo.dst);
	if (!region)
		return x->fault.code;
	bgdma_region_write(region, off, payload);
	bgdma_region_put(region);
	trace_bgdma_packet(ctx, s, n);
	bgdma_rec_count_last(ctx, s, slot, n);
	return BGDMA_STEP_DONE;
}

static struct bgdma_rec_fifo *bgdma_rec_find(struct bgdma_ctx *ctx,
					     const struct bgdma_stream *s)
{
	u32 id = le16_to_cpu(s->x.desc.dst_fifo);

	if (id >= ctx->n_rec)
		return NULL;
	return bgdma_deref(ctx->rec[array_index_nospec(id, ctx->n_rec)]);
}

/**
 * bgdma_deliver_memfifo() - a packet for a reception FIFO of the target
 * @ctx: target, held busy
 * @s: stream that it comes from
 * @payload: its bytes
 * @n: so many
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
	u64 bound;

	if (!fifo)
		return bgdma_fault(s, BGDMA_E_FIFO,
				   le16_to_cpu(s->x.desc.dst_fifo), ctx->n_rec);
	if (!bgdma_is_owner(ctx, who) &&
	    !bgdma_granted(&fifo->grants, who, BGDMA_RIGHT_ACCEPT, 0, 0,
			   &bound, &s->memo.fifo))
		return bgdma_fault(s, BGDMA_E_RIGHTS, fifo->id,
				   BGDMA_RIGHT_ACCEPT);
	slot = bgdma_rec_slot(ctx, s);
	if (unlikely(slot < BGDMA_NO_SLOT))
		return s->x.fault.code;
	for (;;) {
		ret = bgdma_rec_deliver(fifo, s, who, payload, n, 0);
		if (ret != BGDMA_STEP_WAIT)
			break;
		bgdma_stream_park(s, &fifo->waiters, 0, BGDMA_KIND_REC_FIFO,
				  fifo->id);
		WRITE_ONCE(fifo->kern->starved, 1);
		bgdma_ring_barrier();
		if (!bgdma_rec_room(fifo, n) && !READ_ONCE(fifo->dead))
			return BGDMA_STEP_WAIT;
		bgdma_stream_unpark(s);
	}
	if (ret)
		return bgdma_fault(s, ret, fifo->id, 0);
	trace_bgdma_packet(ctx, s, n);
	bgdma_rec_count_last(ctx, s, slot, n);
	return BGDMA_STEP_DONE;
}

/**
 * bgdma_deliver_rget() - descriptors for a remote-get queue of the target
 * @ctx: target, held busy
 * @s: stream that they come from
 * @descs: the descriptors
 * @n: so many
 *
 * Context: inside a slice.
 * Return: as bgdma_deliver_memfifo().
 */
int bgdma_deliver_rget(struct bgdma_ctx *ctx, struct bgdma_stream *s,
		       const struct bgdma_payload *descs, u32 n)
{
	const struct bgdma_principal *who = bgdma_principal_at(ctx, s);
	u32 id = le16_to_cpu(s->x.desc.dst_fifo);
	struct bgdma_rget_queue *queue = NULL;
	u64 bound;
	int ret;

	if (id < ctx->n_rgq)
		queue = bgdma_deref(ctx->rgq[array_index_nospec(id,
								ctx->n_rgq)]);
	if (!queue)
		return bgdma_fault(s, BGDMA_E_FIFO, id, ctx->n_rgq);
	if (!bgdma_is_owner(ctx, who) &&
	    !bgdma_granted(&queue->grants, who, BGDMA_RIGHT_INJECT, 0, 0,
			   &bound, NULL))
		return bgdma_fault(s, BGDMA_E_RIGHTS, id, BGDMA_RIGHT_INJECT);
	for (;;) {
		ret = bgdma_rgq_deliver(queue, who, descs, n);
		if (ret != BGDMA_STEP_WAIT)
			break;
		if (test_and_clear_bit(BGDMA_STREAM_EXPIRED, &s->flags))
			return bgdma_fault(s, BGDMA_E_RGET_FULL, n,
					   queue->quota);
		bgdma_stream_park(s, &queue->waiters, queue->timeout,
				  BGDMA_KIND_RGET_QUEUE, queue->id);
		if (!bgdma_rgq_room(queue, who, n))
			return BGDMA_STEP_WAIT;
		bgdma_stream_unpark(s);
	}
	if (ret)
		return bgdma_fault(s, ret, id, 0);
	trace_bgdma_packet(ctx, s, n * sizeof(struct bgdma_desc));
	return BGDMA_STEP_DONE;
}

/**
 * bgdma_deliver_count() - bytes are visible at the target, more will come
 * @ctx: target, held busy
 * @s: stream that they came from
 * @n: so many
 *
 * Context: inside a slice.
 */
void bgdma_deliver_count(struct bgdma_ctx *ctx, struct bgdma_stream *s, u32 n)
{
	int slot = bgdma_rec_counter(ctx, s);

	if (slot >= 0)
		bgdma_counter_sub(ctx, BGDMA_RECEPTION, slot, n);
}

/* A message of packets ends here; the reader has seen its beginning. */
static void bgdma_abort_message(struct bgdma_ctx *ctx, struct bgdma_stream *s,
				const struct bgdma_principal *who)
{
	struct bgdma_rec_fifo *fifo = bgdma_rec_find(ctx, s);
	const struct bgdma_payload nothing = { };
	struct bgdma_event event;

	if (!fifo)
		return;
	if (!bgdma_rec_deliver(fifo, s, who, &nothing, 0,
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

/**
 * bgdma_deliver_abort() - the rest of a transfer will never come
 * @ctx: target, held busy
 * @s: stream that it came from; s->x.fault says why
 * @left: bytes that are not counted yet
 *
 * Context: inside a slice.
 */
void bgdma_deliver_abort(struct bgdma_ctx *ctx, struct bgdma_stream *s,
			 u32 left)
{
	const struct bgdma_principal *who = bgdma_principal_at(ctx, s);
	struct bgdma_record why;
	int slot;

	if (s->x.done && (s->x.desc.op == BGDMA_OP_MEMFIFO ||
			  s->x.desc.op == BGDMA_OP_LOCAL_MEMFIFO))
		bgdma_abort_message(ctx, s, who);
	if (s->x.desc.rec_ctr == cpu_to_le32(BGDMA_NONE))
		return;
	slot = bgdma_rec_counter(ctx, s);
	if (slot < 0)
		return;
	bgdma_record_of(s, &why);
	why.bound = why.code;
	why.code = BGDMA_E_ABORTED;
	why.peer_rank = who->rank;
	why.peer_ctx = who->ctx;
	bgdma_counter_sub(ctx, BGDMA_RECEPTION, slot,
			  s->x.desc.flags & BGDMA_DESC_OPS ? 1 : left);
	bgdma_counter_fail(ctx, BGDMA_RECEPTION, slot, &why);
}
