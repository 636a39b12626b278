// SPDX-License-Identifier: GPL-2.0
/*
 * The loopback link: both nodes live in this kernel, and a piece goes straight
 * from the source's pages to the target's.
 */
#include "../bgdma.h"
#include "../engine/busy.h"
#include "loopback.h"

static void bgdma_remember(struct bgdma_ctx *ctx, u32 rank)
{
	unsigned int bit = rank % 1024;

	if (!test_bit(bit, ctx->talked))
		set_bit(bit, ctx->talked);
}

/**
 * bgdma_loopback_talked() - two contexts hear of each other's end from now on
 * @a: one
 * @b: the other
 */
void bgdma_loopback_talked(struct bgdma_ctx *a, struct bgdma_ctx *b)
{
	bgdma_remember(a, b->rank);
	bgdma_remember(b, a->rank);
}

static void bgdma_no_target(struct bgdma_stream *s, u32 code, u32 rank)
{
	s->x.fault = (struct bgdma_fault) {
		.code = code,
		.offset = rank,
		.bound = s->ctx->partition->size,
	};
}

/* Remember the target, so that the next transfer to it needs no look-up. */
static void bgdma_target_learn(struct bgdma_stream *s, struct bgdma_ctx *target)
{
	if (s->peer)
		bgdma_ctx_put(s->peer);
	kref_get(&target->ref);
	s->peer = target;
	bgdma_loopback_talked(s->ctx, target);
}

/* Is it the one that sent this descriptor, or that the class has as a member? */
static bool bgdma_target_is_meant(const struct bgdma_stream *s,
				  const struct bgdma_ctx *target)
{
	u32 member = bgdma_tree_member(&s->x.desc);

	if (s->remote && target != s->ctx &&
	    target->who.incarnation != s->who.incarnation)
		return false;
	return !member || target->who.incarnation == member;
}

/* Nobody known, or somebody else, or gone. */
static struct bgdma_ctx *bgdma_target_find(struct bgdma_stream *s, u32 rank,
					   u16 id, bool known)
{
	struct bgdma_ctx *target = NULL;

	/* Whoever has its place now never saw the beginning. */
	if (!known || !s->x.done)
		target = bgdma_partition_peer(s->ctx->partition, rank, id);
	if (!target) {
		bgdma_no_target(s, known ? BGDMA_E_PEER_DOWN : BGDMA_E_NO_PEER,
				rank);
		return NULL;
	}
	if (!bgdma_target_is_meant(s, target)) {
		bgdma_busy_put(&target->busy);
		bgdma_no_target(s, BGDMA_E_PEER_DOWN, rank);
		return NULL;
	}
	return target;
}

/* The target of a transfer with a busy reference, or NULL with a fault. */
static struct bgdma_ctx *bgdma_target_get(struct bgdma_stream *s)
{
	u32 rank = le32_to_cpu(s->x.desc.dst_rank);
	u16 id = le16_to_cpu(s->x.desc.dst_ctx);

	return bgdma_peer_again(s) ?:
		bgdma_target_find(s, rank, id, s->peer &&
				  s->peer->rank == rank && s->peer->id == id);
}

/* @ret: of a delivery at @target, which is let go of. */
static int bgdma_target_put(struct bgdma_stream *s, struct bgdma_ctx *target,
			    int ret)
{
	/* Who only knocks, or greets, is nobody whose end the target has to hear of. */
	if (ret == BGDMA_STEP_DONE && s->peer != target &&
	    !bgdma_is_greeting(&s->x.desc))
		bgdma_target_learn(s, target);
	bgdma_busy_put(&target->busy);
	return ret;
}

/* @bytes: of the transfer, that are @n of what @deliver delivers. */
static int bgdma_move(struct bgdma_stream *s, const struct bgdma_payload *p,
		      u32 n, u32 bytes, bgdma_deliver_fn *deliver)
{
	struct bgdma_ctx *target;

	if (unlikely(s->x.desc.route & BGDMA_ROUTE_DEPOSIT))
		return bgdma_line_move(s, p, n, bytes, deliver);
	target = bgdma_target_get(s);
	if (!target)
		return s->x.fault.code;
	return bgdma_target_put(s, target, deliver(target, s, p, n));
}

static int bgdma_loopback_put(struct bgdma_stream *s,
			      const struct bgdma_payload *p, u32 n)
{
	return bgdma_move(s, p, n, n, bgdma_deliver_put);
}

static int bgdma_loopback_memfifo(struct bgdma_stream *s,
				  const struct bgdma_payload *p, u32 n)
{
	return bgdma_move(s, p, n, n, bgdma_deliver_memfifo);
}

static int bgdma_loopback_rget(struct bgdma_stream *s,
			       const struct bgdma_payload *p, u32 n)
{
	return bgdma_move(s, p, n, n * sizeof(struct bgdma_desc),
			  bgdma_deliver_rget);
}

static int bgdma_loopback_gate(struct bgdma_stream *s)
{
	struct bgdma_ctx *target = bgdma_target_get(s);

	if (!target)
		return s->x.fault.code;
	return bgdma_target_put(s, target, bgdma_deliver_gate(target, s));
}

static int bgdma_loopback_tree(struct bgdma_stream *s,
			       const struct bgdma_payload *p, u32 n)
{
	return bgdma_move(s, p, n, n, bgdma_deliver_tree);
}

static int bgdma_loopback_atomic(struct bgdma_stream *s, void *operands, u32 *n)
{
	struct bgdma_ctx *target = bgdma_target_get(s);

	if (!target)
		return s->x.fault.code;
	return bgdma_target_put(s, target,
				bgdma_deliver_atomic(target, s, operands, n));
}

static bool bgdma_loopback_answer(const struct bgdma_ctx *from,
				  const struct bgdma_answer *answer)
{
	struct bgdma_ctx *to;

	to = bgdma_partition_peer(from->partition, answer->to.rank,
				  answer->to.ctx);
	if (!to)
		return true;
	if (to->who.incarnation == answer->to.incarnation)
		bgdma_deliver_answer(to, &from->who, answer);
	bgdma_busy_put(&to->busy);
	return true;
}

/* Local operations name no target: it is the context itself. */
static struct bgdma_ctx *bgdma_either_get(struct bgdma_stream *s)
{
	if (s->x.desc.op == BGDMA_OP_LOCAL_COPY ||
	    s->x.desc.op == BGDMA_OP_LOCAL_MEMFIFO)
		return bgdma_busy_get(&s->ctx->busy) ? s->ctx : NULL;
	if (s->x.desc.route & BGDMA_ROUTE_DEPOSIT)
		return bgdma_line_again(s);
	return bgdma_target_get(s);
}

static void bgdma_loopback_count(struct bgdma_stream *s, u32 n)
{
	struct bgdma_ctx *target;

	bgdma_slice_begin();
	target = bgdma_either_get(s);
	if (target) {
		bgdma_deliver_count(target, s, n);
		bgdma_busy_put(&target->busy);
	}
	bgdma_slice_end();
}

static void bgdma_loopback_abort(struct bgdma_stream *s, u32 left)
{
	struct bgdma_fault fault = s->x.fault;
	struct bgdma_ctx *target;

	bgdma_slice_begin();
	target = s->x.desc.route & BGDMA_ROUTE_DEPOSIT ?
		 bgdma_line_began(s) : bgdma_either_get(s);
	s->x.fault = fault;
	if (target) {
		bgdma_deliver_abort(target, s, left);
		bgdma_busy_put(&target->busy);
	}
	bgdma_slice_end();
}

/**
 * bgdma_refused_event() - how the sender of a remote descriptor sees that it was refused
 * @s: its stream, or what stands for it, with s->x.fault
 */
struct bgdma_event bgdma_refused_event(const struct bgdma_stream *s)
{
	return (struct bgdma_event) {
		.type = BGDMA_EVENT_REFUSED,
		.code = s->x.fault.code,
		.peer_rank = s->ctx->rank,
		.peer_ctx = s->ctx->id,
		.kind = BGDMA_KIND_RGET_QUEUE,
		.peer_incarnation = s->ctx->who.incarnation,
		.object = s->id,
		.desc_seq = s->x.seq,
		.transfer_id = s->x.id,
		.cookie = le64_to_cpu(s->x.desc.cookie),
		.offset = s->x.fault.offset,
		.bound = s->x.fault.bound,
	};
}

static void bgdma_loopback_refused(struct bgdma_stream *s)
{
	struct bgdma_event event = bgdma_refused_event(s);
	struct bgdma_ctx *sender;

	bgdma_slice_begin();
	sender = bgdma_partition_peer(s->ctx->partition, s->who.rank,
				      s->who.ctx);
	if (sender) {
		if (sender->who.incarnation == s->who.incarnation)
			bgdma_event_post(sender, &event);
		bgdma_busy_put(&sender->busy);
	}
	bgdma_slice_end();
}

const struct bgdma_fabric_ops bgdma_loopback = {
	.put = bgdma_loopback_put,
	.memfifo = bgdma_loopback_memfifo,
	.rget = bgdma_loopback_rget,
	.gate = bgdma_loopback_gate,
	.tree = bgdma_loopback_tree,
	.atomic = bgdma_loopback_atomic,
	.answer = bgdma_loopback_answer,
	.count = bgdma_loopback_count,
	.abort = bgdma_loopback_abort,
	.refused = bgdma_loopback_refused,
	.line = bgdma_line_begin,
};
