// SPDX-License-Identifier: GPL-2.0
/*
 * Packets from behind the links: the target's half. A piece is delivered as if
 * its descriptor were executed here by the stand-in of its sender, slice by slice.
 */
#include <linux/slab.h>

#include "../engine/busy.h"
#include "../engine/group.h"
#include "../engine/train.h"
#include "check.h"
#include "flow.h"
#include "loopback.h"

static int bgdma_arrive_fault(struct bgdma_stream *s, u32 code, u64 offset,
			      u64 bound)
{
	s->x.fault = (struct bgdma_fault) {
		.code = code, .offset = offset, .bound = bound,
	};
	return code;
}

/* Is a copy for a context? Its sender's binding names who is a member. */
static bool bgdma_arrive_is_for(const struct bgdma_wire_packet *p,
				const struct bgdma_ctx *ctx)
{
	u32 inc = le32_to_cpu(p->dst_inc);

	return le16_to_cpu(p->desc.dst_ctx) == ctx->id &&
	       (!inc || inc == ctx->who.incarnation);
}

/*
 * What the slots of a copy were when it began, it stays: as for who deposits here. What
 * goes away meanwhile its delivery finds out, and all else hears of that.
 */
static void bgdma_arrive_slots(struct bgdma_rx_flow *flow)
{
	struct bgdma_stream *s = &flow->s;
	struct bgdma_desc *d = &s->x.desc;

	/* What is in the descriptor comes in one piece. */
	d->u.at.dst_region = s->line.region;
	d->rec_ctr = s->line.counter;
	d->dst_fifo = s->line.fifo;
}

static bool bgdma_arrive_localize(struct bgdma_rx_flow *flow,
				  const struct bgdma_group *group)
{
	struct bgdma_stream *s = &flow->s;
	struct bgdma_desc *d = &s->x.desc;

	if (s->x.done) {
		bgdma_arrive_slots(flow);
		return true;
	}
	if (bgdma_group_arrive(group, s))
		return false;
	s->line.region = d->u.at.dst_region;
	s->line.counter = d->rec_ctr;
	s->line.fifo = d->dst_fifo;
	s->line.binding = group->serial;
	return true;
}

/*
 * Who takes a copy here, busy, or what is left of one if it has the beginning; NULL,
 * with BGDMA_OK as a fault: nobody does.
 */
static struct bgdma_ctx *bgdma_arrive_member(struct bgdma_rx_flow *flow,
					     const struct bgdma_wire_packet *p)
{
	struct bgdma_stream *s = &flow->s;
	const struct bgdma_group *group;

	group = bgdma_group_receiver(s, flow->key.dst);
	s->x.fault.code = BGDMA_OK;
	if (!group)
		return NULL;
	if (!bgdma_arrive_is_for(p, group->ctx))
		goto put;
	if (s->x.done && !(flow->open &&
			   flow->target == group->ctx->who.incarnation))
		goto put;
	if (bgdma_arrive_localize(flow, group))
		return group->ctx;
put:
	bgdma_busy_put(&group->ctx->busy);
	return NULL;
}

/* A copy was refused: because nobody takes it any more, or who does has bound anew? */
static bool bgdma_arrive_gone(struct bgdma_rx_flow *flow)
{
	const struct bgdma_group *now;
	u32 serial;

	if (!(flow->s.x.desc.route & BGDMA_ROUTE_DEPOSIT))
		return false;
	now = bgdma_group_receiver(&flow->s, flow->key.dst);
	if (!now)
		return true;
	serial = now->serial;
	bgdma_busy_put(&now->ctx->busy);
	return serial != flow->s.line.binding;
}

/* The context that a packet is for, busy; or NULL with a fault. */
static struct bgdma_ctx *bgdma_arrive_target(struct bgdma_rx_flow *flow,
					     const struct bgdma_wire_packet *p)
{
	struct bgdma_partition *part = flow->ether->part;
	struct bgdma_stream *s = &flow->s;
	u32 inc = le32_to_cpu(p->dst_inc);
	struct bgdma_ctx *target;

	if (p->desc.route & BGDMA_ROUTE_DEPOSIT)
		return bgdma_arrive_member(flow, p);
	/* It was for whoever had the place when the transfer began. */
	if (!inc && flow->open && p->offset)
		inc = flow->target;
	target = bgdma_partition_peer(part, flow->key.dst,
				      le16_to_cpu(p->desc.dst_ctx));
	if (target && (!inc || target->who.incarnation == inc))
		return target;
	if (target)
		bgdma_busy_put(&target->busy);
	bgdma_arrive_fault(s, inc ? BGDMA_E_PEER_DOWN : BGDMA_E_NO_PEER,
			   flow->key.dst, part->size);
	return NULL;
}

/* Bytes of a frame, in few pieces: how many. */
static u32 bgdma_arrive_span(const struct sk_buff *skb, u32 off, u32 n,
			     struct bgdma_payload *out)
{
	u32 at = skb_headlen(skb), done = 0, i;

	out->pieces = 0;
	if (off < at && n) {
		done = min(n, at - off);
		out->p[0] = skb->data + off;
		out->n[0] = done;
		out->pieces = 1;
	}
	for (i = 0; i < skb_shinfo(skb)->nr_frags && done < n; i++) {
		const skb_frag_t *frag = &skb_shinfo(skb)->frags[i];
		u32 size = skb_frag_size(frag), skip, now;

		if (off + done >= at + size) {
			at += size;
			continue;
		}
		if (out->pieces == BGDMA_PIECES_MAX)
			break;
		skip = off + done - at;
		now = min(n - done, size - skip);
		out->p[out->pieces] = skb_frag_address(frag) + skip;
		out->n[out->pieces++] = now;
		done += now;
		at += size;
	}
	return done;
}

static void bgdma_arrive_copy(const struct sk_buff *skb, u32 off, void *to,
			      u32 n)
{
	/* Cannot fail: the frame was found to have them. */
	WARN_ON_ONCE(skb_copy_bits(skb, off, to, n));
}

/*
 * The rest of the transfer will never come. What is only gathered here its target has
 * not seen, nor was its sender asked for a right.
 */
static void bgdma_arrive_ends(struct bgdma_rx_flow *flow,
			      struct bgdma_ctx *target)
{
	struct bgdma_stream *s = &flow->s;
	u32 length = le32_to_cpu(s->x.desc.length);

	/* Who lies may have said another length at its beginning. */
	s->x.done = flow->open ? min(flow->seen, length) : 0;
	bgdma_deliver_abort(target, s, length - s->x.done);
}

/* Who may have the beginning of what the flow is at, busy; or NULL. */
static struct bgdma_ctx *bgdma_arrive_began(struct bgdma_rx_flow *flow)
{
	struct bgdma_stream *s = &flow->s;
	const struct bgdma_group *group;

	if (s->x.desc.route & BGDMA_ROUTE_DEPOSIT) {
		group = bgdma_group_began(s, flow->key.dst);
		return group ? group->ctx : NULL;
	}
	return bgdma_partition_peer(flow->ether->part, flow->key.dst,
				    le16_to_cpu(s->x.desc.dst_ctx));
}

/*
 * Nobody takes the rest of what the flow is at: who may have the beginning of it, and
 * waits for more, is told.
 */
static void bgdma_arrive_cut(struct bgdma_rx_flow *flow)
{
	struct bgdma_stream *s = &flow->s;
	struct bgdma_ctx *target;

	if (!flow->open)
		return;
	target = bgdma_arrive_began(flow);
	if (target && target->who.incarnation == flow->target) {
		if (s->x.desc.route & BGDMA_ROUTE_DEPOSIT)
			bgdma_arrive_slots(flow);
		bgdma_arrive_fault(s, BGDMA_E_PEER_DOWN, flow->seen,
				   le32_to_cpu(s->x.desc.length));
		s->x.cut = true;
		bgdma_arrive_ends(flow, target);
		s->x.cut = false;
	}
	flow->open = false;
	if (target)
		bgdma_busy_put(&target->busy);
}

static void bgdma_arrive_counted(struct bgdma_stream *s, u32 n)
{
	bgdma_stat_add(s->stats.packets, 1);
	bgdma_stat_add(s->stats.bytes_copied, n);
}

/*
 * @n bytes of the transfer have arrived. Of @visible bytes the last was among them:
 * count these, unless the delivery did.
 */
static void bgdma_arrive_landed(struct bgdma_rx_flow *flow,
				struct bgdma_ctx *target, u32 n, u32 visible)
{
	struct bgdma_stream *s = &flow->s;
	bool last = s->x.done + n == le32_to_cpu(s->x.desc.length);

	/* First: what has begun counts, also of one who is gone since it landed. */
	s->x.done += n;
	if (!last && !(s->x.desc.flags & BGDMA_DESC_OPS) &&
	    s->x.desc.rec_ctr != cpu_to_le32(BGDMA_NONE))
		bgdma_deliver_count(target, s, visible);
	if (!flow->open)
		flow->seen = 0;
	if (visible)
		flow->seen = s->x.done;
	flow->open = !last;
	flow->target = target->who.incarnation;
	if ((visible || last) && !bgdma_is_greeting(&s->x.desc))
		bgdma_loopback_talked(s->ctx, target);
	bgdma_arrive_counted(s, n);
}

/* --------------------------------------------------------------------- */
/* By operation                                                           */

static int bgdma_arrive_put(struct bgdma_rx_flow *flow, struct bgdma_ctx *target,
			    const struct sk_buff *skb, u32 off, u32 *n)
{
	struct bgdma_payload *slice = &flow->s.x.slice;
	u32 left = *n;

	*n = bgdma_arrive_span(skb, off, min_t(u32, left, BGDMA_SLICE_MAX),
			       slice);
	/* Whoever calls goes on until it has all of them. */
	if (WARN_ON_ONCE(left && !*n)) {
		bgdma_arrive_fault(&flow->s, BGDMA_E_LENGTH, off, left);
		return BGDMA_E_LENGTH;
	}
	return bgdma_deliver_put(target, &flow->s, slice, *n);
}

/* Memory for what has to be in one piece. */
static bool bgdma_arrive_whole(struct bgdma_rx_flow *flow)
{
	if (!flow->whole)
		flow->whole = kmalloc(BGDMA_PACKET_MAX,
				      GFP_NOWAIT | __GFP_NOWARN);
	return flow->whole;
}

/*
 * A packet for a reception FIFO, or of the combining network, is one however many
 * frames it comes in.
 */
static int bgdma_arrive_packet(struct bgdma_rx_flow *flow,
			       struct bgdma_ctx *target,
			       const struct sk_buff *skb, u32 off, u32 n,
			       u32 *visible)
{
	bgdma_deliver_fn *deliver = bgdma_op_is_tree(flow->s.x.desc.op) ?
		bgdma_deliver_tree : bgdma_deliver_memfifo;
	struct bgdma_stream *s = &flow->s;
	struct bgdma_payload *slice = &s->x.slice;
	u32 length = le32_to_cpu(s->x.desc.length), at = s->x.done;
	u32 first = at - at % BGDMA_PACKET_MAX;
	u32 whole = min_t(u32, length - first, BGDMA_PACKET_MAX);
	int ret;

	if (n == whole &&
	    bgdma_arrive_span(skb, off, whole, slice) == whole)
		return deliver(target, s, slice, whole);
	if (!bgdma_arrive_whole(flow))
		return BGDMA_STEP_AGAIN;
	if (at == first)
		flow->gathered = 0;
	/* Pieces come in order; one that waits for room is not copied again. */
	if (flow->gathered != at - first && flow->gathered != at - first + n)
		return bgdma_arrive_fault(s, BGDMA_E_LENGTH, at, first);
	bgdma_arrive_copy(skb, off, flow->whole + (at - first), n);
	flow->gathered = at - first + n;
	*visible = 0;
	if (flow->gathered < whole)
		return BGDMA_STEP_DONE;
	*visible = whole;
	s->x.done = first;
	*slice = (struct bgdma_payload) {
		.pieces = 1, .n = { whole }, .p = { flow->whole },
	};
	ret = deliver(target, s, slice, whole);
	s->x.done = at;
	return ret;
}

static int bgdma_arrive_rget(struct bgdma_rx_flow *flow,
			     struct bgdma_ctx *target,
			     const struct sk_buff *skb, u32 off, u32 n)
{
	struct bgdma_payload *slice = &flow->s.x.slice;

	if (bgdma_arrive_span(skb, off, n, slice) != n) {
		if (!bgdma_arrive_whole(flow))
			return BGDMA_STEP_AGAIN;
		bgdma_arrive_copy(skb, off, flow->whole, n);
		*slice = (struct bgdma_payload) {
			.pieces = 1, .n = { n }, .p = { flow->whole },
		};
	}
	return bgdma_deliver_rget(target, &flow->s, slice,
				  n / sizeof(struct bgdma_desc));
}

/* Some may be left: then it is called again. */
static int bgdma_arrive_atomic(struct bgdma_rx_flow *flow,
			       struct bgdma_ctx *target,
			       const struct bgdma_wire_packet *p,
			       const struct sk_buff *skb, u32 off, u32 *n)
{
	u64 operands[BGDMA_WIRE_ATOMIC / sizeof(u64)];
	int ret;

	bgdma_arrive_copy(skb, off, operands, *n);
	ret = bgdma_deliver_atomic(target, &flow->s, operands, n);
	/* Somebody keeps the first one busy. */
	if (!ret && !*n)
		return BGDMA_STEP_AGAIN;
	if (!ret && p->desc.flags & BGDMA_DESC_FETCH)
		bgdma_voice_fetched(flow, p, flow->s.x.done, operands, *n);
	return ret;
}

/*
 * A packet of an epoch or a fetching atomic may be answered at once or later. Memory
 * for that is found before anything is done, and is the next one's if it was not used.
 */
static bool bgdma_arrive_promised(struct bgdma_rx_flow *flow,
				  const struct bgdma_desc *d)
{
	struct bgdma_stream *s = &flow->s;

	/* That of a tree packet is the instance of its class. */
	if (likely((!d->epoch && !(d->flags & BGDMA_DESC_FETCH)) ||
		   bgdma_op_is_tree(d->op)))
		return true;
	if (!s->promise)
		s->promise = bgdma_voice_promise(flow->ether, flow->key.src);
	return s->promise;
}

/* A piece has no target: why, or BGDMA_OK for one that passes by. */
static int bgdma_arrive_nobody(struct bgdma_rx_flow *flow)
{
	u32 code = flow->s.x.fault.code;

	/* The sender of a copy may be no member any more, with the kernel he lived on. */
	if (code == BGDMA_OK)
		bgdma_arrive_cut(flow);
	flow->open = false;
	flow->s.x.fault.code = code;
	return code;
}

/*
 * Is the packet behind @p a message as that is, but for payload and cookie? What was
 * looked up for the one holds for the other.
 */
static bool bgdma_arrive_alike(const struct bgdma_rx_flow *flow,
			       const struct bgdma_wire_packet *p,
			       const struct sk_buff *skb)
{
	const struct bgdma_frame *f = (const void *)skb->data;
	const u64 *now = (const u64 *)&p->desc;
	const u64 *next = (const u64 *)&p[1].desc;

	return flow->packet + 1 < f->packets && p[1].kind == p->kind &&
	       now[0] == next[0] && now[1] == next[1] && now[2] == next[2] &&
	       now[3] == next[3] && p[1].dst_inc == p->dst_inc &&
	       p[1].flags == p->flags && p[1].group == p->group;
}

/* A message that is in its descriptor, and those of its frame that are like it. */
static int bgdma_arrive_inline(struct bgdma_rx_flow *flow,
			       struct bgdma_ctx *target,
			       const struct bgdma_wire_packet *p,
			       const struct sk_buff *skb, u32 n)
{
	struct bgdma_stream *s = &flow->s;
	int ret, i;

	for (i = 0;; i++) {
		ret = bgdma_deliver_memfifo(target, s, NULL, n);
		if (ret || i == BGDMA_TRAIN_MAX ||
		    s->x.desc.route & BGDMA_ROUTE_DEPOSIT ||
		    !bgdma_arrive_alike(flow, p, skb))
			return ret;
		/* What it says of the flow is so after each of the others, too. */
		if (!i)
			bgdma_arrive_landed(flow, target, n, n);
		else
			bgdma_arrive_counted(s, n);
		flow->packet++;
		p++;
		s->x.desc.u = p->desc.u;
		s->x.desc.cookie = p->desc.cookie;
		s->x.id = le32_to_cpu(p->id);
		s->x.done = 0;
	}
}

static int bgdma_arrive_deliver(struct bgdma_rx_flow *flow,
				struct bgdma_ctx *target,
				const struct bgdma_wire_packet *p,
				const struct sk_buff *skb, u32 off, u32 *n,
				u32 *visible)
{
	u8 op = p->desc.op;

	if (op == BGDMA_OP_MEMFIFO && p->desc.flags & BGDMA_DESC_INLINE) {
		*n = le32_to_cpu(p->desc.length);
		return bgdma_arrive_inline(flow, target, p, skb, *n);
	}
	if (op == BGDMA_OP_PUT)
		return bgdma_arrive_put(flow, target, skb, off, n);
	if (op == BGDMA_OP_MEMFIFO || op == BGDMA_OP_TREE_P2P ||
	    bgdma_op_is_tree(op))
		return bgdma_arrive_packet(flow, target, skb, off, *n, visible);
	if (op == BGDMA_OP_RGET)
		return bgdma_arrive_rget(flow, target, skb, off, *n);
	if (op == BGDMA_OP_ATOMIC)
		return bgdma_arrive_atomic(flow, target, p, skb, off, n);
	return bgdma_deliver_gate(target, &flow->s);
}

static int bgdma_arrive_slice(struct bgdma_rx_flow *flow,
			      const struct bgdma_wire_packet *p,
			      const struct sk_buff *skb, u32 off, u32 *n)
{
	struct bgdma_stream *s = &flow->s;
	u32 visible = U32_MAX;
	struct bgdma_ctx *target;
	int ret;

	if (unlikely(!bgdma_arrive_promised(flow, &p->desc)))
		return BGDMA_STEP_AGAIN;
	bgdma_slice_begin();
	target = bgdma_arrive_target(flow, p);
	if (!target) {
		ret = bgdma_arrive_nobody(flow);
		bgdma_slice_end();
		return ret;
	}
	if (s->remote)
		s->who = target->who;
	ret = bgdma_arrive_deliver(flow, target, p, skb, off, n, &visible);
	if (unlikely(ret > 0) && bgdma_arrive_gone(flow)) {
		bgdma_arrive_cut(flow);
		ret = BGDMA_STEP_DONE;
	} else if (ret > 0)
		/* As who executes a descriptor here does: the target hears, too. */
		bgdma_arrive_ends(flow, target);
	else if (!ret)
		bgdma_arrive_landed(flow, target, *n,
				    visible == U32_MAX ? *n : visible);
	bgdma_busy_put(&target->busy);
	bgdma_slice_end();
	return ret;
}

/* The stream is at the piece that a packet is. */
static void bgdma_arrive_at(struct bgdma_rx_flow *flow,
			    const struct bgdma_wire_packet *p)
{
	struct bgdma_stream *s = &flow->s;

	/* Of the one before no more comes. */
	if (s->x.id != le32_to_cpu(p->id))
		flow->open = false;
	s->x.desc = p->desc;
	s->x.id = le32_to_cpu(p->id);
	s->x.done = le32_to_cpu(p->offset) + flow->piece;
	s->remote = p->flags & BGDMA_WIRE_REMOTE;
	s->own = p->flags & BGDMA_WIRE_OWN;
	s->group = s->remote || p->desc.route & BGDMA_ROUTE_DEPOSIT ?
		le16_to_cpu(p->group) : 0;
	/* Who says that it has begun, and has not, had no right. */
	if (s->x.done && !flow->open && !(p->desc.route & BGDMA_ROUTE_DEPOSIT))
		s->group = 0;
	if (!s->remote)
		s->who = s->ctx->who;
}

static int bgdma_arrive_piece(struct bgdma_rx_flow *flow,
			      const struct bgdma_wire_packet *p,
			      const struct sk_buff *skb, u32 off)
{
	u32 bytes = le32_to_cpu(p->bytes);
	int ret;

	do {
		u32 n = bytes - flow->piece;

		bgdma_arrive_at(flow, p);
		ret = bgdma_arrive_slice(flow, p, skb, off + flow->piece, &n);
		if (ret)
			break;
		flow->piece += n;
		flow->s.deadline = 0;
	} while (flow->piece < bytes);
	return ret;
}

/* The rest of a transfer will never come. */
static int bgdma_arrive_abort(struct bgdma_rx_flow *flow,
			      const struct bgdma_wire_packet *p)
{
	struct bgdma_stream *s = &flow->s;
	struct bgdma_ctx *target;

	bgdma_arrive_at(flow, p);
	/* One that never began does not end. */
	if (s->x.done && !flow->open)
		return BGDMA_STEP_DONE;
	bgdma_slice_begin();
	target = bgdma_arrive_target(flow, p);
	if (target) {
		bgdma_arrive_fault(s, le32_to_cpu(p->bytes), s->x.done,
				   le32_to_cpu(s->x.desc.length));
		bgdma_arrive_ends(flow, target);
		bgdma_busy_put(&target->busy);
		flow->open = false;
	} else {
		bgdma_arrive_nobody(flow);
	}
	bgdma_slice_end();
	return BGDMA_STEP_DONE;
}

/**
 * bgdma_arrive() - a packet is delivered
 * @flow: that it is of; its stream is owned
 * @p: packet, well-formed
 * @skb: its frame
 * @off: where its payload is there
 *
 * So are those behind it that are like it: @flow->packet is the last one that was, or
 * the one that was not.
 *
 * Context: process context, or inside a slice.
 * Return: BGDMA_STEP_DONE; _WAIT or _AGAIN: call again with that one; or an enum
 * bgdma_code, with s->x.fault.
 */
int bgdma_arrive(struct bgdma_rx_flow *flow, const struct bgdma_wire_packet *p,
		 const struct sk_buff *skb, u32 off)
{
	u8 payload[BGDMA_WIRE_ATOMIC];

	if (p->kind == BGDMA_WIRE_PIECE)
		return bgdma_arrive_piece(flow, p, skb, off);
	if (p->kind == BGDMA_WIRE_ABORT)
		return bgdma_arrive_abort(flow, p);
	/* Only a kernel itself has such things to say. */
	if (flow->key.ctx == BGDMA_CTX_ANY) {
		bgdma_arrive_copy(skb, off, payload, le32_to_cpu(p->bytes));
		return bgdma_hear(flow, p, payload);
	}
	return BGDMA_STEP_DONE;
}

/**
 * bgdma_arrive_end() - nothing more arrives
 * @flow: dead
 *
 * Context: may sleep.
 */
void bgdma_arrive_end(struct bgdma_rx_flow *flow)
{
	bgdma_slice_begin();
	bgdma_arrive_cut(flow);
	bgdma_slice_end();
}
