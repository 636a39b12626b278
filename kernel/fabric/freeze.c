// SPDX-License-Identifier: GPL-2.0
/*
 * Frames that refer to memory whose owner takes it back: what has to be sent again is
 * copied first, so that nobody gets what is written there later.
 *
 * The first sending is a clone, which may be anywhere. It shares its head with the frame
 * that was kept: a mark there has whoever gets it on this machine let go of it. On
 * others it is found damaged, if what it refers to has changed.
 */
#include "flow.h"

/* Has a frame payload that is somebody's memory, of @region or, with BGDMA_NONE, any? */
static bool bgdma_frame_refers(const struct bgdma_tx *tx,
			       const struct sk_buff *skb, u32 region)
{
	const struct bgdma_frame_cb *cb = (const void *)skb->cb;
	u32 i;

	if (!bgdma_frame_borrows(skb))
		return false;
	if (region == BGDMA_NONE)
		return true;
	/* Of several packets of one transfer, those after it, too: it does no harm. */
	for (i = 0; i < cb->packets; i++) {
		const struct bgdma_sent *sent =
			&tx->sent[(cb->first + i) % BGDMA_SENT_MAX];

		if (sent->desc.u.at.src_region == cpu_to_le32(region))
			return true;
	}
	return false;
}

static struct sk_buff *bgdma_queue_refers(const struct bgdma_tx *tx,
					  struct sk_buff_head *queue, u32 region)
{
	struct sk_buff *skb;

	skb_queue_walk(queue, skb) {
		if (bgdma_frame_refers(tx, skb, region))
			return skb;
	}
	return NULL;
}

/* The next such frame, and the queue that it is in; what is ready shares its head. */
static struct sk_buff *bgdma_tx_refers(struct bgdma_tx *tx, u32 region,
				       struct sk_buff_head **queue)
{
	struct bgdma_tx_flow *flow;
	struct sk_buff *skb;

	lockdep_assert_held(&tx->lock);
	*queue = &tx->ready;
	skb = bgdma_queue_refers(tx, &tx->ready, region);
	if (skb)
		return skb;
	list_for_each_entry(flow, &tx->flows, node) {
		*queue = &flow->unacked;
		skb = bgdma_queue_refers(tx, &flow->unacked, region);
		if (skb)
			return skb;
	}
	return NULL;
}

/* There is no memory for copies: what is on its way is lost. */
static void bgdma_tx_forsake(struct bgdma_tx *tx, u32 region)
{
	struct bgdma_tx_flow *flow;
	struct sk_buff *skb;

	lockdep_assert_held(&tx->lock);
	list_for_each_entry(flow, &tx->flows, node) {
		if (!bgdma_queue_refers(tx, &flow->unacked, region))
			continue;
		skb_queue_walk(&flow->unacked, skb)
			bgdma_frame_take_back(skb);
		bgdma_tx_give_up(flow, BGDMA_E_CANCELLED, BGDMA_ROUTE_NONE);
	}
	while ((skb = bgdma_queue_refers(tx, &tx->ready, region))) {
		__skb_unlink(skb, &tx->ready);
		kfree_skb(skb);
	}
}

/* It was sent: true if somebody has a clone. Mostly it arrived, and is not acknowledged. */
static bool bgdma_frame_recall(struct sk_buff *skb)
{
	if (!skb_cloned(skb))
		return false;
	bgdma_frame_take_back(skb);
	return true;
}

/*
 * One frame more, for which there is memory if @twin is as long as it is: false when
 * there are no others. @out: somebody has a clone.
 */
static bool bgdma_tx_freeze_next(struct bgdma_tx *tx, u32 region,
				 struct sk_buff **twin, u32 *head, u32 *payload,
				 bool *out)
{
	struct sk_buff_head *queue;
	struct sk_buff *skb;

	lockdep_assert_held(&tx->lock);
	skb = bgdma_tx_refers(tx, region, &queue);
	if (skb && *twin && bgdma_frame_fill(*twin, skb)) {
		__skb_queue_after(queue, skb, *twin);
		*twin = NULL;
		__skb_unlink(skb, queue);
		if (queue != &tx->ready)
			*out |= bgdma_frame_recall(skb);
		kfree_skb(skb);
		skb = bgdma_tx_refers(tx, region, &queue);
	}
	if (!skb)
		return false;
	*head = bgdma_frame_head(skb);
	*payload = skb->len - *head;
	return true;
}

/**
 * bgdma_tx_freeze() - what was sent of memory is from now on as it is now
 * @tx: of a stream that sends nothing meanwhile
 * @region: handle of the memory; BGDMA_NONE: any
 *
 * Context: may sleep; tx.lock not held.
 * Return: true: some of it may be looked at on this machine until a grace period has passed.
 */
bool bgdma_tx_freeze(struct bgdma_tx *tx, u32 region)
{
	struct sk_buff *twin = NULL;
	bool more, out = false;
	u32 head, payload;

	do {
		spin_lock(&tx->lock);
		/* Its packets are in front of what is copied. */
		bgdma_tx_overtake(tx, NULL);
		more = bgdma_tx_freeze_next(tx, region, &twin, &head, &payload,
					    &out);
		spin_unlock(&tx->lock);
		kfree_skb(twin);
		twin = NULL;
		if (more)
			twin = bgdma_frame_twin(head, payload,
						GFP_KERNEL_ACCOUNT);
		if (more && !twin) {
			spin_lock(&tx->lock);
			bgdma_tx_forsake(tx, region);
			spin_unlock(&tx->lock);
			out = true;
		}
		cond_resched();
	} while (twin);
	return out;
}

/**
 * bgdma_remote_freeze() - the same of a stream
 * @s: owned
 * @region: handle of the memory; BGDMA_NONE: any
 *
 * Context: may sleep.
 * Return: as bgdma_tx_freeze().
 */
bool bgdma_remote_freeze(struct bgdma_stream *s, u32 region)
{
	bool out = bgdma_tx_freeze(s->tx, region);

	/* What was closed goes. */
	bgdma_tx_flush(s->tx, false, s->pooled);
	return out;
}
