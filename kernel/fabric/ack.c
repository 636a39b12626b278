// SPDX-License-Identifier: GPL-2.0
/*
 * What comes back to the sender's end of a flow: which frames were dealt with, what
 * was refused, what an atomic found.
 */
#include <linux/slab.h>

#include "../engine/busy.h"
#include "../engine/engine.h"
#include "flow.h"
#include "window.h"

/*
 * So many us longer than twice the shortest round trip, and frames wait somewhere:
 * then fewer are to be on their way.
 */
#define BGDMA_TX_QUEUED		5000

/* Looked at in one hold of the lock. */
#define BGDMA_TX_HOLD		64

/* A round trip of @us, as in RFC 6298. */
static void bgdma_tx_rtt(struct bgdma_tx_flow *flow, u32 us)
{
	u32 off;

	us = max(us, 1U);
	if (!flow->srtt) {
		flow->srtt = us * 8;
		flow->rttvar = us * 2;
		flow->rttmin = us;
		return;
	}
	off = abs((s32)(us - flow->srtt / 8));
	flow->rttvar += off - flow->rttvar / 4;
	flow->srtt += us - flow->srtt / 8;
	flow->rttmin = min(flow->rttmin, us);
	flow->queued = us > 2 * flow->rttmin + BGDMA_TX_QUEUED;
	/* Once in a round trip: those that were sent before wait, too. */
	if (!flow->queued || bgdma_psn_before(flow->una, flow->shrunk))
		return;
	flow->shrunk = flow->next;
	flow->cwnd = max_t(u32, flow->cwnd - flow->cwnd / 4,
			   BGDMA_CWND_MIN * 16);
}

/* A copy, in which payload is behind the head, of a frame that is sent again. */
static struct sk_buff *bgdma_tx_mark(const struct bgdma_tx_flow *flow,
				     struct sk_buff *copy,
				     const struct sk_buff *skb)
{
	const struct bgdma_frame_cb *cb = (const void *)skb->cb;
	struct bgdma_frame *f = (void *)copy->data;

	f->flags &= ~BGDMA_FRAME_PATIENT;
	f->flags |= BGDMA_FRAME_AGAIN;
	f->first = cpu_to_le32(flow->una);
	f->stamp = cpu_to_le32(cb->stamp);
	return copy;
}

/* Of a long frame the parts that have not arrived. */
static void bgdma_tx_parts(struct bgdma_tx_flow *flow, struct sk_buff *skb)
{
	const struct bgdma_frame_cb *cb = bgdma_frame_cb(skb);
	struct bgdma_wire_cut cut = {};
	struct sk_buff *part;
	u32 i;

	for (i = 0; i < cb->span; i++) {
		part = bgdma_frame_part(skb, i, &cut);
		if (part && !(cb->parts & BIT_ULL(i)))
			__skb_queue_tail(&flow->tx->ready,
					 bgdma_tx_mark(flow, part, skb));
		else
			kfree_skb(part);
	}
}

/**
 * bgdma_tx_again() - send a frame once more
 * @flow: of it
 * @skb: the frame; a copy goes into tx.ready, or one of each part
 *
 * Context: tx.lock held.
 */
void bgdma_tx_again(struct bgdma_tx_flow *flow, struct sk_buff *skb)
{
	struct bgdma_frame_cb *cb = bgdma_frame_cb(skb);
	struct sk_buff *copy;

	lockdep_assert_held(&flow->tx->lock);
	cb->stamp = bgdma_flow_clock();
	if (cb->tries < U16_MAX)
		cb->tries++;
	if (cb->span > 1) {
		bgdma_tx_parts(flow, skb);
		return;
	}
	copy = skb_copy(skb, GFP_NOWAIT | __GFP_NOWARN);
	if (copy)
		__skb_queue_tail(&flow->tx->ready,
				 bgdma_tx_mark(flow, copy, skb));
}

/* Because of what the receiver says, if there is credit: false if not. */
static bool bgdma_tx_told(struct bgdma_tx_flow *flow, struct sk_buff *skb)
{
	u32 span = bgdma_frame_cb(skb)->span;

	if (flow->credit < span)
		return false;
	flow->credit -= span;
	bgdma_tx_again(flow, skb);
	return true;
}

/* Of the frames behind the oldest, when the last was sent that has arrived. */
static bool bgdma_tx_newest(const struct bgdma_tx_flow *flow, u32 *newest)
{
	const struct sk_buff *skb;
	bool any = false;

	skb_queue_walk(&flow->unacked, skb) {
		const struct bgdma_frame_cb *cb = (const void *)skb->cb;

		if (cb->psn - flow->una >= BGDMA_WIRE_SACK)
			break;
		if (!cb->arrived)
			continue;
		if (!any || (s32)(cb->stamp - *newest) > 0)
			*newest = cb->stamp;
		any = true;
	}
	return any;
}

/**
 * bgdma_tx_mend() - send again what frames that were sent later have overtaken
 * @flow: which
 *
 * Each has a round trip and a little more to come another way. For the first of
 * those that still have, there is a look at the end of that time: there may be no
 * acknowledgment any more that could lead to one. Without credit they wait for
 * the end of a silence.
 *
 * Context: tx.lock held.
 */
void bgdma_tx_mend(struct bgdma_tx_flow *flow)
{
	u32 patience = flow->srtt / 8 + max(flow->rttmin / 4, 1U);
	u32 now = bgdma_flow_clock(), newest, soon = U32_MAX;
	struct sk_buff *skb;

	lockdep_assert_held(&flow->tx->lock);
	/* Who has no room has let go of them, and says when he has. */
	if (flow->stopped || !bgdma_tx_newest(flow, &newest))
		return;
	skb_queue_walk(&flow->unacked, skb) {
		struct bgdma_frame_cb *cb = bgdma_frame_cb(skb);
		u32 age = now - cb->stamp;

		if (cb->psn - flow->una >= BGDMA_WIRE_SACK)
			break;
		if (cb->arrived || (s32)(newest - cb->stamp) < 0)
			continue;
		if (age <= patience)
			soon = min(soon, patience - age);
		else if (!bgdma_tx_told(flow, skb))
			break;
	}
	if (soon != U32_MAX)
		hrtimer_start(&flow->gap,
			      ns_to_ktime((soon + 1ULL) * NSEC_PER_USEC),
			      HRTIMER_MODE_REL_SOFT);
}

/* Has all of a frame arrived, or was it dealt with? */
static bool bgdma_tx_arrived(struct bgdma_frame_cb *cb,
			     const struct bgdma_wire_ack *ack, u32 cum)
{
	u32 i;

	cb->parts = 0;
	for (i = 0; i < cb->span; i++) {
		if (bgdma_psn_before(cb->psn + i, cum) ||
		    bgdma_window_arrived(ack->sack, cum, cb->psn + i))
			cb->parts |= BIT_ULL(i);
	}
	return hweight64(cb->parts) == cb->span;
}

/*
 * What arrived of the frames behind the oldest. A receiver that had no room let go of
 * others: these are sent again when it has, @resumed.
 */
static void bgdma_tx_sacked(struct bgdma_tx_flow *flow,
			    const struct bgdma_wire_ack *ack, u32 cum,
			    bool resumed)
{
	u32 again = resumed ? flow->cwnd / 16 : 0;
	struct sk_buff *skb;

	lockdep_assert_held(&flow->tx->lock);
	/* Mostly none. */
	if (!again && !memchr_inv(ack->sack, 0, sizeof(ack->sack)))
		return;
	skb_queue_walk(&flow->unacked, skb) {
		struct bgdma_frame_cb *cb = bgdma_frame_cb(skb);

		if (cb->psn - flow->una >= BGDMA_WIRE_SACK)
			break;
		cb->arrived = bgdma_tx_arrived(cb, ack, cum);
		if (again && !cb->arrived && bgdma_tx_told(flow, skb))
			again--;
	}
	bgdma_tx_mend(flow);
}

/* The frames before @cum were dealt with: some of them; true if there are more. */
static bool bgdma_tx_dealt(struct bgdma_tx_flow *flow, u32 cum)
{
	struct sk_buff *skb;
	u32 n = 0, span;

	lockdep_assert_held(&flow->tx->lock);
	flow->tx->acker = flow->kernel;
	while ((skb = skb_peek(&flow->unacked)) &&
	       !bgdma_psn_before(cum, bgdma_frame_cb(skb)->psn +
				 bgdma_frame_cb(skb)->span)) {
		if (n++ == BGDMA_TX_HOLD)
			return true;
		__skb_unlink(skb, &flow->unacked);
		span = bgdma_frame_cb(skb)->span;
		flow->una = bgdma_frame_cb(skb)->psn + span;
		if (flow->tx->s)
			bgdma_sent_dealt(flow->tx, skb);
		kfree_skb(skb);
		/* Slowly more, as long as all is well. */
		if (!flow->queued && flow->cwnd / 16 < flow->limit)
			flow->cwnd += span * max(256 / max(flow->cwnd / 16, 1U),
						 1U);
	}
	return false;
}

/**
 * bgdma_tx_room() - may so many more frames be on their way?
 * @flow: of
 * @frames: so many
 *
 * Context: tx.lock held.
 */
bool bgdma_tx_room(const struct bgdma_tx_flow *flow, u32 frames)
{
	const struct bgdma_room *room = &flow->tx->room;
	u32 most = min(flow->limit, room->window);
	u32 out = flow->next - flow->una;

	if (flow->open)
		out += bgdma_frame_bound(flow->open, room->mtu);
	if (!room->fixed)
		most = min(most, flow->cwnd / 16);
	lockdep_assert_held(&flow->tx->lock);
	if (flow->stopped)
		return false;
	return !out || out + frames <= most;
}

/* Why a transfer was refused: something that there is. */
static u32 bgdma_tx_code(const struct bgdma_wire_result *r)
{
	u32 code = le32_to_cpu(r->code);

	/* The index is ours, and nobody else's. */
	return code && code <= BGDMA_E_CLASS && code != BGDMA_E_INDEX ?
		code : BGDMA_E_ABORTED;
}

/* The frame that has a number and was not dealt with, as far as we know. */
static const struct sk_buff *bgdma_tx_unacked(const struct bgdma_tx_flow *flow,
					      u32 psn)
{
	const struct sk_buff *skb;

	skb_queue_walk(&flow->unacked, skb) {
		const struct bgdma_frame_cb *cb = (const void *)skb->cb;

		if (psn - cb->psn < cb->span)
			return skb;
	}
	return NULL;
}

/* Who refuses something says which frame brought it: that of others he has not. */
static void bgdma_tx_results(struct bgdma_tx_flow *flow,
			     const struct bgdma_frame *f)
{
	const struct bgdma_wire_ack *ack = (const void *)(f + 1);
	const struct bgdma_wire_result *r = (const void *)(ack + 1);
	u32 i;

	for (i = 0; i < f->packets; i++, r++) {
		const struct sk_buff *skb =
			bgdma_tx_unacked(flow, le32_to_cpu(r->psn));

		if (skb)
			bgdma_sent_failed(flow->tx, skb, le32_to_cpu(r->id),
					  bgdma_tx_code(r),
					  le64_to_cpu(r->offset),
					  le64_to_cpu(r->bound));
	}
}

/**
 * bgdma_tx_held() - there is no room where a flow goes to, or there is again
 * @flow: which
 * @held: there is none
 * @kind: of the object that has none
 * @id: of the object
 *
 * The stream goes on when there is room for all of its flows.
 *
 * Context: tx.lock held.
 */
void bgdma_tx_held(struct bgdma_tx_flow *flow, bool held, u32 kind, u32 id)
{
	struct bgdma_tx *tx = flow->tx;

	lockdep_assert_held(&tx->lock);
	if (flow->stopped == held)
		return;
	flow->stopped = held;
	tx->held += held ? 1 : -1;
	if (!tx->s)
		return;
	/* An edge may have to say that all is over, and drops what waits then. */
	if (tx->s->kind == BGDMA_KIND_EDGE) {
		if (held)
			bgdma_tree.held(tx->s);
	} else if (held || !tx->held) {
		bgdma_stream_held(tx->s, held, kind, id);
	}
}

static void bgdma_tx_acked(struct bgdma_tx_flow *flow,
			   const struct bgdma_frame *f)
{
	const struct bgdma_wire_ack *ack = (const void *)(f + 1);
	u32 cum = le32_to_cpu(f->psn), before = flow->una;
	bool more, stopped, was_stopped = flow->stopped;
	struct bgdma_tx *tx = flow->tx;

	/* Of frames that were never sent; or from before, by another way. */
	if (!bgdma_window_acks(flow->una, flow->next, cum) ||
	    !bgdma_psn_before(flow->acks, le32_to_cpu(f->first)))
		return;
	flow->acks = le32_to_cpu(f->first);
	/* Who hears what the kernel itself says does not let it wait. */
	if (tx->sent || cum != before)
		flow->heard = bgdma_ether_now(tx->ether);
	flow->kernel = le64_to_cpu(f->kernel);
	if (tx->s)
		bgdma_tx_results(flow, f);
	do {
		more = bgdma_tx_dealt(flow, cum);
		if (more) {
			spin_unlock(&tx->lock);
			spin_lock(&tx->lock);
			if (tx->dead)
				return;
		}
	} while (more);
	if (flow->una != before) {
		flow->tries = 0;
		/* How long it waited for room is no matter of the way. */
		if (!was_stopped)
			bgdma_tx_rtt(flow, bgdma_flow_clock() -
				     le32_to_cpu(f->stamp));
		if (skb_queue_empty(&flow->unacked))
			cancel_delayed_work(&flow->timer);
		else
			bgdma_tx_arm(flow);
	}
	flow->limit = max_t(u32, le16_to_cpu(ack->window), 1);
	/* Who has dealt with all waits for nothing. */
	stopped = ack->state == BGDMA_WIRE_NOT_READY &&
		  !skb_queue_empty(&flow->unacked);
	bgdma_tx_held(flow, stopped, ack->kind, le32_to_cpu(ack->object));
	if (!stopped)
		bgdma_tx_sacked(flow, ack, cum, was_stopped);
	/*
	 * He may wait until we know of what he refused, as the next frame says: once, or
	 * his word about each copy would lead to more copies.
	 */
	if (f->packets && flow->una != before &&
	    !skb_queue_empty(&flow->unacked)) {
		/* Of a long one whose parts have all arrived, the first. */
		bgdma_frame_cb(skb_peek(&flow->unacked))->parts &= ~1ULL;
		bgdma_tx_again(flow, skb_peek(&flow->unacked));
	}
	bgdma_voice_go_on(flow);
}

static struct bgdma_tx_flow *bgdma_tx_find(struct bgdma_flows *flows,
					   const struct bgdma_flow_key *key)
{
	struct bgdma_tx_flow *flow;

	hash_for_each_possible_rcu(flows->tx, flow, hash,
				   bgdma_flow_hash(key)) {
		if (!memcmp(&flow->key, key, sizeof(*key)))
			return flow;
	}
	return NULL;
}

/* The flow's tx, with a reference, and the flow, of which a slice keeps the memory. */
static struct bgdma_tx *bgdma_tx_get(struct bgdma_flows *flows,
				     const struct bgdma_flow_key *key,
				     struct bgdma_tx_flow **out)
{
	struct bgdma_tx_flow *flow;
	struct bgdma_tx *tx = NULL;

	rcu_read_lock();
	flow = bgdma_tx_find(flows, key);
	if (flow && kref_get_unless_zero(&flow->tx->ref))
		tx = flow->tx;
	rcu_read_unlock();
	if (out)
		*out = flow;
	return tx;
}

/**
 * bgdma_tx_ack() - an acknowledgment has arrived
 * @flows: of the partition
 * @skb: its frame, which is well-formed
 * @pooled: by a thread of the pool
 *
 * Only the kernel where the other node lives may say that it has something, or not.
 *
 * Context: inside a slice.
 */
void bgdma_tx_ack(struct bgdma_flows *flows, const struct sk_buff *skb,
		  bool pooled)
{
	const struct bgdma_frame *f = (const void *)skb->data;
	const struct bgdma_flow_key key = {
		.inc = le32_to_cpu(f->flow_inc),
		/* It comes back from where the flow goes to. */
		.src = le32_to_cpu(f->dst_rank),
		.dst = le32_to_cpu(f->src_rank),
		.tag = le32_to_cpu(f->flow),
		.ctx = le16_to_cpu(f->flow_ctx),
		.adaptive = !!(f->flags & BGDMA_FRAME_ADAPTIVE),
	};
	struct bgdma_tx_flow *flow;
	bool stands = false;
	struct bgdma_tx *tx;

	if (!bgdma_way_speaks(flows->ether, le64_to_cpu(f->kernel), key.dst))
		return;
	tx = bgdma_tx_get(flows, &key, &flow);
	if (!tx)
		return;
	/* The slice keeps a flow's memory. */
	spin_lock(&tx->lock);
	if (!tx->dead && !flow->gone &&
	    flow->session == le32_to_cpu(f->session)) {
		bgdma_tx_acked(flow, f);
		if (tx->s)
			bgdma_waiters_wake(&tx->waiters);
		/* It may have died meanwhile: its flows are taken apart. */
		else if (!tx->dead && tx->until && bgdma_tx_quiet(tx))
			bgdma_tx_over(tx);
		/* What would have gone on in its next turn may have none for long. */
		stands = tx->s && READ_ONCE(tx->s->flags) & BGDMA_STREAM_HALTED;
	}
	spin_unlock(&tx->lock);
	bgdma_tx_flush(tx, stands, pooled);
	bgdma_tx_put(tx);
}

/**
 * bgdma_tx_fetched() - what was there before has come back
 * @flows: of the partition
 * @key: of the flow that the atomic went by
 * @kernel: that says so
 * @id: transfer
 * @offset: of the elements in the transfer
 * @old: what was there
 * @n: bytes
 *
 * Context: process context.
 */
void bgdma_tx_fetched(struct bgdma_flows *flows,
		      const struct bgdma_flow_key *key, u64 kernel, u32 id,
		      u32 offset, const void *old, u32 n)
{
	struct bgdma_tx_flow *flow;
	struct bgdma_tx *tx = bgdma_tx_get(flows, key, &flow);

	if (!tx)
		return;
	spin_lock(&tx->lock);
	/* Where the node lives, or did when it was asked. */
	if (!tx->dead && tx->s && kernel &&
	    (flow->kernel == kernel ||
	     bgdma_way_speaks(flows->ether, kernel, key->dst))) {
		bgdma_sent_fetched(tx, key->dst, id, offset, old, n);
		bgdma_waiters_wake(&tx->waiters);
	}
	spin_unlock(&tx->lock);
	bgdma_tx_put(tx);
}
