// SPDX-License-Identifier: GPL-2.0
/*
 * Short messages in a row over a link: those behind one that was just sent, and like it
 * but for payload and cookie (engine/train.h), are put beside it into its frame. What
 * was looked up for the first holds for all of them.
 */
#include "../engine/train.h"
#include "flow.h"

/* What stands for the message that the stream is at: as for the one before it. */
static void bgdma_train_begin(struct bgdma_stream *s)
{
	struct bgdma_tx *tx = s->tx;
	struct bgdma_sent *before = &tx->sent[(tx->head - 1) % BGDMA_SENT_MAX];
	struct bgdma_sent *sent = &tx->sent[tx->head % BGDMA_SENT_MAX];

	/* That was begun under this lock: nothing has become of it yet. */
	lockdep_assert_held(&tx->lock);
	*sent = *before;
	sent->desc.u = s->x.desc.u;
	sent->desc.cookie = s->x.desc.cookie;
	sent->seq = s->x.seq;
	sent->id = s->x.id;
	tx->head++;
	tx->issued = s->head;
}

/* Its packet: as that of the one before it. */
static void bgdma_train_packet(const struct bgdma_stream *s,
			       struct sk_buff *skb)
{
	struct bgdma_wire_packet *p = bgdma_frame_repeat(skb);

	p->desc.u = s->x.desc.u;
	p->desc.cookie = s->x.desc.cookie;
	p->id = cpu_to_le32(s->x.id);
}

/* How long the open frame of a flow may get by a train. */
static u32 bgdma_train_most(const struct bgdma_tx_flow *flow)
{
	const struct bgdma_room *room = &flow->tx->room;

	/* Each message may make it one number more; two more for their bytes. */
	if (bgdma_frame_bound(flow->open, room->mtu) + BGDMA_TRAIN_MAX + 2 <
	    BGDMA_WIRE_SPAN && bgdma_tx_room(flow, BGDMA_TRAIN_MAX + 2))
		return room->most;
	return room->mtu;
}

/**
 * bgdma_tx_train() - send what follows a message, and is like it
 * @s: its stream, at a message that is in its descriptor, and was sent just now as a
 *	whole; then at the last one that was
 * @flow: by which it was sent
 *
 * Context: tx.lock held since then; inside a slice.
 */
void bgdma_tx_train(struct bgdma_stream *s, struct bgdma_tx_flow *flow)
{
	bool patient = bgdma_patience_has(s);
	struct sk_buff *skb = flow->open;
	struct bgdma_tx *tx = s->tx;
	struct bgdma_frame_cb *cb;
	u32 most;

	lockdep_assert_held(&tx->lock);
	/* Each would wait for the end of the one before; or has failed, or has to wait. */
	if (!skb || s->x.desc.flags & BGDMA_DESC_FENCE ||
	    READ_ONCE(s->flags) & BGDMA_STREAM_HALTED)
		return;
	cb = bgdma_frame_cb(skb);
	most = bgdma_train_most(flow);
	while (cb->packets < cb->room &&
	       skb->len + sizeof(struct bgdma_wire_packet) <= most &&
	       tx->head - tx->tail < BGDMA_SENT_BEGIN && bgdma_train_sent(s)) {
		bgdma_train_begin(s);
		bgdma_train_packet(s, skb);
		cb->patient += patient;
	}
}
