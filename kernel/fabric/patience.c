// SPDX-License-Identifier: GPL-2.0
/*
 * Acknowledgments that nobody waits for. Small messages in a row, each in a frame of
 * its own since each had its doorbell, go faster if not each frame is acknowledged: the
 * sender says so in all but some of them. An acknowledgment is of all frames before it.
 *
 * When no frame follows that would be acknowledged the last is sent again, for which
 * the receiver acknowledges it: after a while, or as soon as the stream waits.
 */
#include "flow.h"

/*
 * In us: what nobody waits for is acknowledged after so long at least. Frames that
 * follow one another more slowly are acknowledged one by one.
 */
#define BGDMA_TX_PATIENCE	1000
#define BGDMA_TX_CLOSE		250

/*
 * Who sends one, and looks whether it has ended before he sends another, is not told
 * soon: whenever none has followed, it takes twice as many in a row as before.
 */
#define BGDMA_TX_NEED		1023

/* Of a stream on their way meanwhile, at most; so many frames have room, too. */
#define BGDMA_TX_PATIENT	(BGDMA_SENT_MAX / 4)

/**
 * bgdma_patience_has() - does nobody wait for the end of what a stream is at?
 * @s: owned
 *
 * It has no counter, no epoch, and no memory to give back. Who looks at what the FIFO
 * has done sees that it has ended some time later.
 */
bool bgdma_patience_has(const struct bgdma_stream *s)
{
	const struct bgdma_desc *d = &s->x.desc;

	return d->flags & BGDMA_DESC_INLINE && d->op == BGDMA_OP_MEMFIFO &&
	       d->inj_ctr == cpu_to_le32(BGDMA_NONE) && !d->epoch &&
	       !(d->route & BGDMA_ROUTE_DEPOSIT) &&
	       s->kind == BGDMA_KIND_INJ_FIFO;
}

/*
 * May the acknowledgment of a frame, the last of its flow, wait for that of one that
 * follows?
 */
static bool bgdma_patience_may(const struct bgdma_tx_flow *flow,
			       const struct bgdma_frame_cb *cb)
{
	const struct bgdma_tx *tx = flow->tx;

	lockdep_assert_held(&tx->lock);
	return cb->patient == cb->packets && cb->span == 1 &&
	       flow->row > flow->need + 1 &&
	       flow->srtt / 8 < BGDMA_TX_PATIENCE &&
	       tx->head - tx->tail < BGDMA_TX_PATIENT &&
	       bgdma_tx_room(flow, BGDMA_TX_PATIENT);
}

/* There is a look at @ask_at, or earlier: whose timer runs just now looks himself. */
static void bgdma_patience_start(struct bgdma_tx_flow *flow, u32 us)
{
	if (!hrtimer_active(&flow->patience))
		hrtimer_start(&flow->patience, ns_to_ktime(us * NSEC_PER_USEC),
			      HRTIMER_MODE_REL_SOFT);
}

/* So long a row makes up for one that ended too soon. */
static void bgdma_patience_count(struct bgdma_tx_flow *flow, u32 stamp)
{
	bool close = stamp - flow->sent < BGDMA_TX_CLOSE;

	flow->row = close ? min_t(u32, flow->row + 1, U16_MAX) : 1;
	if (flow->row > 2 * flow->need + 2)
		flow->need /= 2;
	flow->sent = stamp;
}

/**
 * bgdma_patience_last() - the last frame of a flow has its number, and is about to go
 * @flow: which
 * @skb: the frame, in flow.unacked
 *
 * Context: tx.lock held.
 */
void bgdma_patience_last(struct bgdma_tx_flow *flow, struct sk_buff *skb)
{
	const struct bgdma_frame_cb *cb = bgdma_frame_cb(skb);
	bool first = !flow->quiet || skb_queue_len(&flow->unacked) == 1;

	lockdep_assert_held(&flow->tx->lock);
	bgdma_patience_count(flow, cb->stamp);
	flow->quiet = bgdma_patience_may(flow, cb);
	if (!flow->quiet)
		return;
	((struct bgdma_frame *)skb->data)->flags |= BGDMA_FRAME_PATIENT;
	if (!first)
		return;
	WRITE_ONCE(flow->ask_at, cb->stamp + BGDMA_TX_PATIENCE);
	bgdma_patience_start(flow, BGDMA_TX_PATIENCE);
}

/**
 * bgdma_patience_ask() - have what is on its way acknowledged
 * @flow: by which
 *
 * Context: tx.lock held.
 */
void bgdma_patience_ask(struct bgdma_tx_flow *flow)
{
	lockdep_assert_held(&flow->tx->lock);
	if (flow->open) {
		/* That frame will. */
		bgdma_frame_cb(flow->open)->patient = 0;
		return;
	}
	if (flow->quiet && !skb_queue_empty(&flow->unacked))
		bgdma_tx_again(flow, skb_peek_tail(&flow->unacked));
	flow->quiet = false;
}

/**
 * bgdma_patience_over() - ask, if what is on its way has been so for a while
 * @flow: by which
 *
 * Context: tx.lock held.
 * Return: true if it was asked.
 */
bool bgdma_patience_over(struct bgdma_tx_flow *flow)
{
	s32 left = flow->ask_at - bgdma_flow_clock();

	lockdep_assert_held(&flow->tx->lock);
	if (!flow->quiet || skb_queue_empty(&flow->unacked))
		return false;
	if (left > 0) {
		bgdma_patience_start(flow, left);
		return false;
	}
	bgdma_patience_ask(flow);
	flow->row = 0;
	flow->need = min(2 * flow->need + 1, BGDMA_TX_NEED);
	return true;
}

/**
 * bgdma_patience_hurry() - somebody waits for what is on its way
 * @tx: of a stream
 *
 * Context: any; tx.lock not held.
 */
void bgdma_patience_hurry(struct bgdma_tx *tx)
{
	struct bgdma_tx_flow *flow;

	spin_lock(&tx->lock);
	/* Only that which was used last may have been patient. */
	flow = list_first_entry_or_null(&tx->flows, struct bgdma_tx_flow, node);
	if (flow && !tx->dead)
		bgdma_patience_ask(flow);
	spin_unlock(&tx->lock);
}

/* Meanwhile it was asked, and others were sent: then it is these that have time. */
static enum hrtimer_restart bgdma_patience_timer(struct hrtimer *timer)
{
	struct bgdma_tx_flow *flow =
		container_of(timer, struct bgdma_tx_flow, patience);
	s32 left = READ_ONCE(flow->ask_at) - bgdma_flow_clock();

	if (left > 0) {
		hrtimer_forward_now(timer, ns_to_ktime(left * NSEC_PER_USEC));
		return HRTIMER_RESTART;
	}
	mod_delayed_work(bgdma_flow_wq, &flow->timer, 0);
	return HRTIMER_NORESTART;
}

/**
 * bgdma_patience_init() - of a new flow
 * @flow: whose timer is to be cancelled in the end
 */
void bgdma_patience_init(struct bgdma_tx_flow *flow)
{
	hrtimer_init(&flow->patience, CLOCK_MONOTONIC, HRTIMER_MODE_REL_SOFT);
	flow->patience.function = bgdma_patience_timer;
}
