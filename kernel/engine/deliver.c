// SPDX-License-Identifier: GPL-2.0
/*
 * What lands on a node, from any side: the target's half of every transfer.
 * Whoever calls holds a busy reference on the target's context, inside a
 * slice. Rights are looked up for each piece.
 */
#include "../bgdma.h"
#include "../trace.h"
#include "busy.h"
#include "deliver.h"
#include "ring.h"

/**
 * bgdma_region_ask() - bgdma_region_for() when it is not as before
 * @ctx: owner
 * @s: stream that asks
 * @who: for whom
 * @handle: region
 * @rights: BGDMA_RIGHT_*
 * @off: first byte of all that is left of the transfer
 * @len: bytes of it
 * @memo: of the stream
 *
 * Who is under a group asks it first.
 *
 * Context: inside a slice.
 * Return: the region with a busy reference, or NULL, with s->x.fault.
 */
struct bgdma_region *
bgdma_region_ask(struct bgdma_ctx *ctx, struct bgdma_stream *s,
		 const struct bgdma_principal *who, u32 handle, u32 rights,
		 u64 off, u32 len, struct bgdma_region_memo *memo)
{
	struct bgdma_fault *fault = &s->x.fault, first;
	const struct bgdma_principal *name;
	struct bgdma_region *region;

	name = bgdma_group_name(ctx, s, who, BGDMA_KIND_REGION, handle);
	if (name != who) {
		region = bgdma_region_again(ctx, handle, true, rights, off, len,
					    memo);
		if (region)
			return region;
	}
	region = bgdma_region_get(ctx, handle, name, rights, off, len, fault,
				  memo);
	if (region || name == who)
		return region;
	/* Grants may give what their owner does not allow himself. */
	first = *fault;
	region = bgdma_region_get(ctx, handle, who, rights, off, len, fault,
				  NULL);
	if (!region)
		*fault = first;
	return region;
}

/**
 * bgdma_land_at_gate() - bytes into a region that may have epochs
 * @ctx: its owner
 * @s: stream that they come from
 * @region: held busy
 * @who: for whom
 * @off: where
 * @from: the bytes, if they are in one page
 * @payload: else these
 * @n: so many
 *
 * Context: inside a slice.
 * Return: as bgdma_gate_enter().
 */
int bgdma_land_at_gate(const struct bgdma_ctx *ctx, struct bgdma_stream *s,
		       const struct bgdma_region *region,
		       const struct bgdma_principal *who, u64 off,
		       const void *from, const struct bgdma_payload *payload,
		       u32 n)
{
	bool last = s->x.done + n == le32_to_cpu(s->x.desc.length);
	struct bgdma_region_gate *gate;
	int ret;

	ret = bgdma_land_enter(ctx, s, region, who, &gate);
	if (ret)
		return ret;
	bgdma_region_write(region, off, from, payload, n);
	bgdma_land_leave(s, gate, who, last);
	return BGDMA_STEP_DONE;
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
	return bgdma_land_put(ctx, s, NULL, payload, n, false);
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
	const struct bgdma_principal *who = bgdma_principal_at(ctx, s), *name;
	u32 id = le16_to_cpu(s->x.desc.dst_fifo);
	struct bgdma_rget_queue *queue = NULL;
	int ret;

	if (id < ctx->n_rgq)
		queue = bgdma_deref(ctx->rgq[array_index_nospec(id,
								ctx->n_rgq)]);
	if (!queue)
		return bgdma_fault(s, BGDMA_E_FIFO, id, ctx->n_rgq);
	name = bgdma_group_name(ctx, s, who, BGDMA_KIND_RGET_QUEUE, id);
	if (!bgdma_is_owner(ctx, name) &&
	    !bgdma_granted_whole(&queue->grants, name, BGDMA_RIGHT_INJECT,
				 &s->memo.fifo))
		return bgdma_fault(s, BGDMA_E_RIGHTS, id, BGDMA_RIGHT_INJECT);
	for (;;) {
		ret = bgdma_rgq_deliver(queue, s, who, descs, n);
		if (ret != BGDMA_STEP_WAIT)
			break;
		if (s->deadline &&
		    test_and_clear_bit(BGDMA_STREAM_EXPIRED, &s->flags))
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
 * bgdma_deliver_tree() - a packet of the combining network from a neighbour
 * @ctx: member, held busy
 * @s: stream that it comes from
 * @payload: its bytes
 * @n: so many
 *
 * Context: inside a slice.
 * Return: BGDMA_STEP_DONE, _WAIT, _AGAIN, or an enum bgdma_code, with s->x.fault.
 */
int bgdma_deliver_tree(struct bgdma_ctx *ctx, struct bgdma_stream *s,
		       const struct bgdma_payload *payload, u32 n)
{
	int ret = bgdma_tree.arrive(ctx, s, payload, n);

	if (!ret)
		trace_bgdma_packet(ctx, s, n);
	return ret;
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
	int slot = bgdma_rec_counter(ctx, s, bgdma_principal_at(ctx, s));

	if (slot >= 0)
		bgdma_counter_sub(ctx, BGDMA_RECEPTION, slot, n);
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
			  s->x.desc.op == BGDMA_OP_LOCAL_MEMFIFO ||
			  s->x.desc.op == BGDMA_OP_TREE_P2P))
		bgdma_abort_message(ctx, s, who);
	if (s->x.desc.rec_ctr == cpu_to_le32(BGDMA_NONE))
		return;
	slot = bgdma_rec_counter(ctx, s, who);
	if (slot < 0)
		return;
	bgdma_record_of(s, &why);
	why.bound = why.code;
	why.code = BGDMA_E_ABORTED;
	why.peer_rank = who->rank;
	why.peer_ctx = who->ctx;
	bgdma_counter_fail(ctx, BGDMA_RECEPTION, slot,
			   s->x.desc.flags & BGDMA_DESC_OPS ? 1 : left, &why);
}
