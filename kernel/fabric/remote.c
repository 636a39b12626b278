// SPDX-License-Identifier: GPL-2.0
/*
 * Transfers to nodes behind links: the origin's half. A stream's transfer becomes
 * packets with its descriptor in each; the other side delivers them as if it had
 * been executed there (rx.c, arrive.c).
 */
#include "../engine/busy.h"
#include "../trace.h"
#include "flow.h"
#include "loopback.h"
#include "remote.h"

/* --------------------------------------------------------------------- */
/* The transfer that a stream is at                                       */

static struct bgdma_sent *bgdma_remote_now(struct bgdma_tx *tx)
{
	return &tx->sent[(tx->head - 1) % BGDMA_SENT_MAX];
}

/* Its first piece goes: as a step, BGDMA_STEP_WAIT if @most are on their way already. */
static int bgdma_remote_begin(struct bgdma_stream *s, u32 most)
{
	struct bgdma_tx *tx = s->tx;
	struct bgdma_sent *sent;
	u64 asked;
	int ret;

	lockdep_assert_held(&tx->lock);
	if (tx->head - tx->tail >= most)
		return BGDMA_STEP_WAIT;
	ret = bgdma_asked_begin(s, &asked);
	if (ret)
		return ret;
	tx->head++;
	sent = bgdma_remote_now(tx);
	*sent = (struct bgdma_sent) {
		.desc = s->x.desc, .seq = s->x.seq, .id = s->x.id,
		.who = s->who, .group = s->group, .remote = s->remote,
		.own = s->own, .left = bgdma_desc_counts(&s->x.desc),
		.asked = asked,
	};
	if (s->x.desc.flags & BGDMA_DESC_FETCH)
		sent->fetched = sent->left;
	tx->issued = s->head;
	return BGDMA_STEP_DONE;
}

/*
 * Some of the transfer was sent. (All copies of a deposit are one transfer.) One that
 * failed meanwhile may have ended.
 */
static bool bgdma_remote_begun(const struct bgdma_stream *s)
{
	const struct bgdma_sent *sent = bgdma_remote_now(s->tx);

	return s->tx->head != s->tx->tail && sent->seq == s->x.seq &&
	       !sent->whole;
}

/* What was refused meanwhile need not be sent to its end. */
static int bgdma_remote_failed(struct bgdma_stream *s)
{
	struct bgdma_sent *sent = bgdma_remote_now(s->tx);

	lockdep_assert_held(&s->tx->lock);
	if (!sent->code)
		return BGDMA_STEP_DONE;
	/* It is the stream that says so: also of what is on its way. */
	sent->told = true;
	s->x.uncounted = sent->left + s->x.done -
			 bgdma_desc_counts(&s->x.desc);
	s->x.fault = (struct bgdma_fault) {
		.code = bgdma_sent_code(s->tx, sent), .offset = sent->offset,
		.bound = sent->bound,
	};
	return s->x.fault.code;
}

/* --------------------------------------------------------------------- */
/* Packets                                                                */

/* Of all streams of a context: no two have the same. */
static u32 bgdma_remote_tag(const struct bgdma_stream *s)
{
	const struct bgdma_rget_sub *sub;

	if (s->kind == BGDMA_KIND_INJ_FIFO)
		return s->id;
	if (s->kind == BGDMA_KIND_EDGE)
		return 1U << 30 | s->id;
	sub = container_of(s, struct bgdma_rget_sub, s);
	return 1U << 31 | s->id << 16 | (u32)(sub - sub->queue->subs);
}

static struct bgdma_flow_key bgdma_remote_key(const struct bgdma_stream *s,
					      u32 dst)
{
	return (struct bgdma_flow_key) {
		.inc = s->ctx->who.incarnation,
		.src = s->ctx->rank,
		.dst = dst,
		.tag = s->tx->tag,
		.ctx = s->ctx->id,
		.adaptive = !!(s->x.desc.route & BGDMA_ROUTE_ADAPTIVE),
	};
}

static void bgdma_remote_head(const struct bgdma_stream *s,
			      struct bgdma_wire_packet *p, u32 offset,
			      u32 bytes)
{
	p->desc = s->x.desc;
	bgdma_wire_strip(&p->desc);
	p->id = cpu_to_le32(s->x.id);
	p->offset = cpu_to_le32(offset);
	p->bytes = cpu_to_le32(bytes);
	p->group = cpu_to_le16(s->group);
	if (unlikely(s->x.desc.op == BGDMA_OP_TREE_P2P)) {
		p->dst_inc = cpu_to_le32(bgdma_tree_member(&s->x.desc));
		p->desc.u.at.dst_off = 0;
	}
	bgdma_line_head(s, p);
	if (!s->remote)
		return;
	p->dst_inc = cpu_to_le32(s->who.incarnation);
	p->flags = BGDMA_WIRE_REMOTE | (s->own ? BGDMA_WIRE_OWN : 0);
}

/* The frame that the next packet goes into. */
static struct sk_buff *bgdma_remote_frame(struct bgdma_tx_flow *flow,
					  u32 least)
{
	const struct bgdma_room *room = &flow->tx->room;
	struct sk_buff *skb = flow->open;

	lockdep_assert_held(&flow->tx->lock);
	if (skb && (bgdma_frame_cb(skb)->packets == bgdma_frame_cb(skb)->room ||
		    skb->len + sizeof(struct bgdma_wire_packet) + least >
		    room->most || bgdma_frame_bound(skb, room->mtu) >=
		    BGDMA_WIRE_SPAN - 2 ||
		    skb_shinfo(skb)->nr_frags >= MAX_SKB_FRAGS - 1)) {
		bgdma_tx_close(flow);
		skb = NULL;
	}
	if (!skb) {
		skb = __skb_dequeue(&flow->tx->spare);
		if (!skb)
			return NULL;
		bgdma_frame_begin(skb, &flow->key);
		bgdma_tx_open(flow, skb);
	}
	return skb;
}

/* Part of a page into a frame: how much of it. */
static u32 bgdma_remote_fill(struct bgdma_tx *tx, struct sk_buff *skb,
			     const void *from, u32 n, bool copy)
{
	u32 copied = 0;

	if (copy || n < BGDMA_REFER_MIN)
		copied = bgdma_frame_copy(skb, from, n, &tx->pages);
	if (copied || copy || skb_shinfo(skb)->nr_frags == MAX_SKB_FRAGS)
		return copied;
	bgdma_frame_refer(skb, from, n);
	return n;
}

/**
 * struct bgdma_walk - how far the bytes of a slice have gone
 * @p: the bytes; NULL: they are in the descriptor
 * @piece: of them
 * @at: in that
 */
struct bgdma_walk {
	const struct bgdma_payload *p;
	u32 piece;
	u32 at;
};

/* At most @n bytes as payload of a packet: how many. */
static u32 bgdma_remote_payload(struct bgdma_tx *tx, struct sk_buff *skb,
				struct bgdma_walk *walk, u32 n, u32 copy)
{
	u32 done = 0;

	while (done < n) {
		const void *from = walk->p->p[walk->piece] + walk->at;
		u32 now = min(walk->p->n[walk->piece] - walk->at, n - done);
		u32 went;

		if (copy)
			now = min(now, copy - done % copy);
		/* As in bgdma_rgq_copy(): one descriptor after the other. */
		smp_rmb();
		went = bgdma_remote_fill(tx, skb, from, now, copy);
		if (!went)
			break;
		done += went;
		walk->at += went;
		if (walk->at == walk->p->n[walk->piece]) {
			walk->piece++;
			walk->at = 0;
		}
	}
	return done;
}

/* Bytes that fit in the next packet; what is cut is cut between lines of memory. */
static u32 bgdma_remote_fits(const struct sk_buff *skb, u32 most,
			     const struct bgdma_chunk *chunk, u32 offset,
			     u32 left)
{
	u32 room = most - skb->len - sizeof(struct bgdma_wire_packet);

	if (room < left && room >= SMP_CACHE_BYTES)
		room -= (offset + room) % SMP_CACHE_BYTES;
	if (chunk->within)
		room = min(room, chunk->within - offset % chunk->within);
	return min(left, room);
}

/*
 * One packet with some of the bytes: how many. None: the frame has no fragment for
 * them, and another one has to follow.
 */
static u32 bgdma_remote_packet(struct bgdma_stream *s, struct sk_buff *skb,
			       struct bgdma_walk *walk, u32 offset, u32 n,
			       u32 copy)
{
	struct bgdma_frame_cb *cb = bgdma_frame_cb(skb);
	struct bgdma_wire_packet *p;
	u32 now = 0;

	if (!cb->packets)
		cb->first = s->tx->head - 1;
	p = bgdma_frame_packet(skb);
	if (walk->p)
		now = bgdma_remote_payload(s->tx, skb, walk, n, copy);
	if (now < n && !now) {
		skb->tail -= sizeof(*p);
		skb->len -= sizeof(*p);
		cb->packets--;
		return 0;
	}
	bgdma_remote_head(s, p, offset, now);
	cb->patient += bgdma_patience_has(s);
	bgdma_remote_now(s->tx)->packets++;
	return now;
}

/* All bytes of a slice as packets: memory and frames for them are there. */
static void bgdma_remote_packets(struct bgdma_stream *s,
				 struct bgdma_tx_flow *flow,
				 const struct bgdma_payload *payload, u32 n,
				 const struct bgdma_chunk *chunk)
{
	struct bgdma_walk walk = { .p = payload };
	u32 left = payload ? n : 0;

	do {
		struct sk_buff *skb = bgdma_remote_frame(flow,
							 min(left, chunk->least));
		u32 offset, now;

		if (WARN_ON_ONCE(!skb))
			return;
		offset = payload ? s->x.done + n - left : 0;
		now = bgdma_remote_fits(skb, s->tx->room.most, chunk, offset,
					left);
		now = bgdma_remote_packet(s, skb, &walk, offset, now,
					  chunk->copy);
		left -= now;
		if (left && !now)
			bgdma_tx_close(flow);
	} while (left);
}

/* --------------------------------------------------------------------- */
/* Waiting                                                                */

/* Frames that a slice of @n bytes needs at most. */
static u32 bgdma_remote_frames(const struct bgdma_tx *tx, u32 n,
			       const struct bgdma_chunk *chunk)
{
	u32 each = tx->room.mtu - SMP_CACHE_BYTES - sizeof(struct bgdma_frame) -
		   sizeof(struct bgdma_wire_packet);

	if (chunk->within)
		return n / min(each, chunk->within) + 3;
	return n / each + 2;
}

/* Pages that it needs for what is copied, of a long slice one a frame. */
static u32 bgdma_remote_pages(const struct bgdma_tx *tx, u32 n,
			      const struct bgdma_chunk *chunk)
{
	return chunk->copy ? bgdma_remote_frames(tx, n, chunk) +
			     n / PAGE_SIZE : 1;
}

static bool bgdma_remote_room(struct bgdma_stream *s, u32 dst, u32 frames)
{
	const struct bgdma_flow_key key = bgdma_remote_key(s, dst);
	struct bgdma_tx *tx = s->tx;
	struct bgdma_tx_flow *flow;
	bool room;

	spin_lock(&tx->lock);
	flow = bgdma_tx_flow(tx, &key);
	room = flow && bgdma_tx_room(flow, frames) &&
	       (s->x.done || tx->head - tx->tail < BGDMA_SENT_BEGIN);
	/* One that failed has to come to its end. */
	room = room || (s->x.done && bgdma_remote_failed(s));
	spin_unlock(&tx->lock);
	return room;
}

/* Park until something is acknowledged: BGDMA_STEP_WAIT, or _AGAIN. */
static int bgdma_remote_wait(struct bgdma_stream *s, u32 dst, u32 frames)
{
	/* What is not sent is not acknowledged. */
	bgdma_patience_hurry(s->tx);
	bgdma_tx_flush(s->tx, true, s->pooled);
	bgdma_stream_park(s, &s->tx->waiters, 0, BGDMA_KIND_CONTEXT,
			  le16_to_cpu(s->x.desc.dst_ctx));
	if (!bgdma_remote_room(s, dst, frames))
		return BGDMA_STEP_WAIT;
	bgdma_stream_unpark(s);
	return BGDMA_STEP_AGAIN;
}

static int bgdma_remote_go(struct bgdma_stream *s,
			   const struct bgdma_payload *payload, u32 n,
			   const struct bgdma_chunk *chunk, bool *wait)
{
	u32 dst = le32_to_cpu(s->x.desc.dst_rank);
	const struct bgdma_flow_key key = bgdma_remote_key(s, dst);
	struct bgdma_tx *tx = s->tx;
	struct bgdma_tx_flow *flow;
	bool last;
	int ret;

	lockdep_assert_held(&tx->lock);
	if (bgdma_remote_begun(s)) {
		ret = bgdma_remote_failed(s);
		if (ret || bgdma_sent_passed(tx, bgdma_remote_now(tx)))
			return ret;
	}
	flow = bgdma_tx_flow(tx, &key);
	if (!flow)
		return BGDMA_STEP_AGAIN;
	if (bgdma_op_is_gate(s->x.desc.op))
		bgdma_tx_close(flow);	/* see bgdma_wire_is_gate() */
	*wait = !bgdma_tx_room(flow, bgdma_remote_frames(tx, n, chunk));
	if (*wait)
		return BGDMA_STEP_WAIT;
	/* One more: to tell the other side if no more comes after this. */
	if (!bgdma_tx_provide(tx, bgdma_remote_frames(tx, n, chunk) + 1,
			      bgdma_remote_pages(tx, n, chunk)))
		return BGDMA_STEP_AGAIN;
	if (!bgdma_remote_begun(s)) {
		ret = bgdma_remote_begin(s, BGDMA_SENT_BEGIN);
		*wait = ret == BGDMA_STEP_WAIT;
		if (ret)
			return ret;
	}
	/* A long one does not go before what came before it by another flow. */
	if (!s->x.done && n == BGDMA_SLICE_MAX)
		bgdma_tx_overtake(tx, flow);
	bgdma_remote_packets(s, flow, payload, n, chunk);
	last = s->x.done + n == le32_to_cpu(s->x.desc.length);
	if (s->x.desc.route & BGDMA_ROUTE_DEPOSIT)
		bgdma_remote_now(tx)->copy = last ? 0 : dst + 1;
	else
		bgdma_remote_now(tx)->whole = last;
	if (s->x.train)
		bgdma_tx_train(s, flow);
	return BGDMA_STEP_SENT;
}

/**
 * bgdma_remote_tx() - what a stream needs to send anything over links
 * @s: owned, has none yet
 *
 * Return: false: there is no memory.
 */
bool bgdma_remote_tx(struct bgdma_stream *s)
{
	struct bgdma_tx *tx = bgdma_tx_new(s->ctx->partition->ether, s);

	if (!tx)
		return false;
	tx->tag = bgdma_remote_tag(s);
	/* Others ask whether there is one: bgdma_stream_freeze(). */
	WRITE_ONCE(s->tx, tx);
	/* From now on a fence is one. */
	bgdma_good_forget(s);
	return true;
}

/**
 * bgdma_remote_slice() - send a slice of a transfer: all of it, or nothing
 * @s: its descriptor says to whom
 * @payload: the bytes; NULL: they are in the descriptor
 * @n: so many
 * @chunk: how they are cut
 *
 * Context: inside a slice.
 * Return: BGDMA_STEP_SENT, _WAIT or _AGAIN, _DONE where the node is gone, or an enum
 * bgdma_code with s->x.fault.
 */
int bgdma_remote_slice(struct bgdma_stream *s,
		       const struct bgdma_payload *payload, u32 n,
		       struct bgdma_chunk chunk)
{
	u32 dst = le32_to_cpu(s->x.desc.dst_rank), all = s->ctx->partition->size;
	bool wait = false;
	int ret;

	if (dst >= all) {
		s->x.fault = (struct bgdma_fault) {
			.code = BGDMA_E_NO_PEER, .offset = dst, .bound = all,
		};
		return BGDMA_E_NO_PEER;
	}
	if (!s->tx && !bgdma_remote_tx(s))
		return BGDMA_STEP_AGAIN;
	spin_lock(&s->tx->lock);
	bgdma_tx_look(s->tx);
	ret = bgdma_remote_go(s, payload, n, &chunk, &wait);
	spin_unlock(&s->tx->lock);
	if (!wait)
		return ret;
	return bgdma_remote_wait(s, dst, bgdma_remote_frames(s->tx, n, &chunk));
}

/* Nothing more comes of what the stream is at: the other side hears why. */
static void bgdma_remote_no_more(struct bgdma_stream *s)
{
	const struct bgdma_flow_key key =
		bgdma_remote_key(s, le32_to_cpu(s->x.desc.dst_rank));
	struct bgdma_tx *tx = s->tx;
	struct bgdma_tx_flow *flow;
	struct bgdma_wire_packet *p;
	struct sk_buff *skb;

	lockdep_assert_held(&tx->lock);
	flow = bgdma_tx_flow(tx, &key);
	bgdma_tx_provide(tx, 1, 0);
	skb = flow ? bgdma_remote_frame(flow, 0) : NULL;
	if (!skb)
		return;
	if (!bgdma_frame_cb(skb)->packets)
		bgdma_frame_cb(skb)->first = tx->head - 1;
	p = bgdma_frame_packet(skb);
	bgdma_remote_head(s, p, s->x.done, s->x.fault.code);
	p->kind = BGDMA_WIRE_ABORT;
	bgdma_remote_now(tx)->packets++;
}

/* Nothing of it was sent, and its counter at the other side may be waited for. */
static bool bgdma_remote_untold(const struct bgdma_stream *s)
{
	return s->x.desc.rec_ctr != cpu_to_le32(BGDMA_NONE) &&
	       !bgdma_remote_begun(s);
}

/**
 * bgdma_remote_tells() - can the other side be told that a transfer fails here?
 * @s: at a transfer that leaves this kernel
 *
 * What was sent of it has kept room for that; if nothing was it takes a place among
 * those that are on their way.
 *
 * Context: inside a slice.
 * Return: false: not now; it was parked, or is to be tried again.
 */
bool bgdma_remote_tells(struct bgdma_stream *s)
{
	bool full = false, ready = true;
	struct bgdma_flow_key key;
	struct bgdma_tx *tx;

	if (!s->tx && !bgdma_remote_tx(s))
		return false;
	tx = s->tx;
	key = bgdma_remote_key(s, le32_to_cpu(s->x.desc.dst_rank));
	spin_lock(&tx->lock);
	if (bgdma_remote_untold(s)) {
		full = tx->head - tx->tail >= BGDMA_SENT_BEGIN;
		ready = bgdma_tx_flow(tx, &key) && bgdma_tx_provide(tx, 1, 0);
	}
	spin_unlock(&tx->lock);
	if (full)
		bgdma_remote_wait(s, le32_to_cpu(s->x.desc.dst_rank), 1);
	return !full && ready;
}

/**
 * bgdma_remote_abort() - the stream gives up a transfer
 * @s: at it; s->x.fault says why
 *
 * What of it was sent is dealt with as if nothing had happened; the other side hears
 * that no more comes. Nobody sees that the descriptor has ended before the FIFO shows
 * the error: bgdma_remote_ended().
 */
void bgdma_remote_abort(struct bgdma_stream *s)
{
	struct bgdma_tx *tx = s->tx;
	struct bgdma_sent *sent;

	spin_lock(&tx->lock);
	/* Who cancels does not wait for room: there is one more place than that. */
	if (bgdma_remote_untold(s) && bgdma_remote_begin(s, BGDMA_SENT_MAX))
		goto unlock;
	if (!bgdma_remote_begun(s))
		goto unlock;
	sent = bgdma_remote_now(tx);
	sent->given_up = true;
	if (sent->told)
		goto unlock;
	/* What was not sent the stream sees to. */
	sent->left -= bgdma_desc_counts(&s->x.desc) - s->x.done;
	/* What was asked for comes back. */
	if (sent->fetched)
		sent->fetched = sent->left;
	bgdma_remote_no_more(s);
unlock:
	spin_unlock(&tx->lock);
}

/**
 * bgdma_remote_abort_line() - the stream gives up a deposit
 * @s: at it; s->x.fault says why
 *
 * Who has its copy keeps it; all bytes the stream takes off its counter by itself,
 * whoever refuses his copy later.
 */
void bgdma_remote_abort_line(struct bgdma_stream *s)
{
	struct bgdma_tx *tx = s->tx;

	spin_lock(&tx->lock);
	if (bgdma_remote_begun(s)) {
		if (s->line.receiver == BGDMA_LINE_FAR)
			bgdma_remote_no_more(s);
		bgdma_remote_now(tx)->given_up = true;
		bgdma_remote_now(tx)->told = true;
	}
	spin_unlock(&tx->lock);
}

/**
 * bgdma_remote_line() - a piece of a deposit for one node behind a link
 * @s: its descriptor says which
 * @p: the bytes; NULL: they are in the descriptor
 * @bytes: so many
 *
 * Context: inside a slice.
 * Return: BGDMA_STEP_SENT, _WAIT or _AGAIN, _DONE where the node is gone, or an enum
 * bgdma_code with s->x.fault.
 */
int bgdma_remote_line(struct bgdma_stream *s, const struct bgdma_payload *p,
		      u32 bytes)
{
	u8 op = s->x.desc.op;

	return bgdma_remote_slice(s, p, bytes, (struct bgdma_chunk) {
		.least = op == BGDMA_OP_RGET ? bytes : 256,
		.within = op == BGDMA_OP_MEMFIFO ? BGDMA_PACKET_MAX : 0,
		.copy = op == BGDMA_OP_RGET ? sizeof(struct bgdma_desc) : 0,
	});
}

/**
 * bgdma_remote_line_over() - the last node of a line has its copy
 * @s: at the deposit
 * @ret: how that ended
 * @bytes: of the slice
 *
 * Those behind links may not have theirs yet.
 *
 * Return: @ret, or BGDMA_STEP_SENT.
 */
int bgdma_remote_line_over(struct bgdma_stream *s, int ret, u32 bytes)
{
	struct bgdma_tx *tx = s->tx;

	if (ret != BGDMA_STEP_DONE || !tx ||
	    s->x.done + bytes != le32_to_cpu(s->x.desc.length))
		return ret;
	spin_lock(&tx->lock);
	if (bgdma_remote_begun(s)) {
		bgdma_remote_now(tx)->whole = true;
		bgdma_sent_check(tx, bgdma_remote_now(tx));
		ret = BGDMA_STEP_SENT;
	}
	spin_unlock(&tx->lock);
	return ret;
}
