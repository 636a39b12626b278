// SPDX-License-Identifier: GPL-2.0
/*
 * Flows that nobody uses. Who has sent nothing by one for a while tells the other end
 * to forget it, and forgets it: what both know of it is memory that others may need.
 * If there is something to send again it begins anew. The word may be lost; then the
 * other end stays until its sender begins anew, or is gone, or for some hours.
 *
 * A while is longer than any frame is on its way: one that came later would be taken
 * for the first of a new flow.
 */
#include "flow.h"

/* How long a flow is idle at least, in jiffies; twice that at most. */
#define BGDMA_IDLE		(20 * HZ)

/* Flows that are looked at in one hold of the lock. */
#define BGDMA_IDLE_HOLD		64

/* So many are given back at a time, for of a flood of words some would be lost. */
#define BGDMA_IDLE_PASS		256
#define BGDMA_IDLE_SOON		(HZ / 10)

/*
 * The word about a flow was lost: longer than any link's time-out, in which a sender may
 * still offer a frame that was dealt with.
 */
#define BGDMA_IDLE_LOST		(2UL * 3600 * HZ)

/**
 * bgdma_idle_over() - a frame is about to go
 * @flow: by which
 * @skb: frame
 *
 * Some flows stay here however idle they are. The other end of one may be gone after so
 * long, and whoever began it anew there would count acknowledgments from the beginning,
 * which here were old: both begin anew. In the middle of a transfer that end stays.
 *
 * Context: tx.lock held.
 */
void bgdma_idle_over(struct bgdma_tx_flow *flow, const struct sk_buff *skb)
{
	const struct bgdma_wire_packet *p =
		(const void *)((const struct bgdma_frame *)skb->data + 1);
	unsigned long before = flow->last;

	lockdep_assert_held(&flow->tx->lock);
	flow->last = jiffies;
	if (likely(time_before(jiffies, before + BGDMA_IDLE_LOST / 2)) ||
	    !skb_queue_empty(&flow->unacked) || (flow->tx->sent && p->offset))
		return;
	flow->session = atomic_inc_return(&flow->tx->ether->flows->session);
	flow->acks = 0;
}

/* Does the other end know all, and we all that it found? */
static bool bgdma_idle(const struct bgdma_tx_flow *flow)
{
	lockdep_assert_held(&flow->tx->lock);
	return !flow->open && skb_queue_empty(&flow->unacked) &&
	       time_after(bgdma_ether_now(flow->tx->ether),
			  flow->heard + BGDMA_IDLE);
}

/* Does something wait for it all the same? */
static bool bgdma_idle_asked(const struct bgdma_tx_flow *flow)
{
	if (flow->tx == flow->tx->ether->flows->voice)
		return flow->unheard || bgdma_vow_kept(flow);
	return bgdma_sent_asked(flow->tx, flow->key.dst);
}

/* If there is no memory the other end hears nothing. */
static void bgdma_idle_say(struct bgdma_tx_flow *flow)
{
	struct sk_buff *skb = bgdma_frame_new(0);
	struct bgdma_frame *f;

	lockdep_assert_held(&flow->tx->lock);
	if (!skb)
		return;
	bgdma_frame_begin(skb, &flow->key);
	f = (void *)skb->data;
	f->type = BGDMA_FRAME_CLOSE;
	f->session = cpu_to_le32(flow->session);
	f->psn = cpu_to_le32(flow->next);
	f->first = cpu_to_le32(flow->una);
	f->stamp = cpu_to_le32(bgdma_flow_clock());
	bgdma_frame_finish(flow->tx->ether, skb);
	__skb_queue_tail(&flow->tx->ready, skb);
}

/* As if it were used: it is not in the way of others. */
static void bgdma_idle_keep(struct bgdma_tx_flow *flow)
{
	struct bgdma_tx *tx = flow->tx;

	lockdep_assert_held(&tx->lock);
	flow->heard = bgdma_ether_now(tx->ether);
	/* The first is the one that was really used last. */
	if (!list_is_first(&flow->node, &tx->flows))
		list_move(&flow->node, tx->flows.next);
}

/*
 * Give back at most so many, into @gone: how many were looked at for that. Those that
 * were used last are the first in the list.
 */
static u32 bgdma_idle_some(struct bgdma_tx *tx, u32 most, struct list_head *gone)
{
	struct bgdma_tx_flow *flow, *prev;
	u32 n = 0;

	lockdep_assert_held(&tx->lock);
	list_for_each_entry_safe_reverse(flow, prev, &tx->flows, node) {
		if (n == most || !bgdma_idle(flow))
			break;
		n++;
		if (bgdma_idle_asked(flow)) {
			bgdma_idle_keep(flow);
			continue;
		}
		bgdma_idle_say(flow);
		flow->gone = true;
		list_move(&flow->node, gone);
	}
	return n;
}

/* Those of the combining network stay: by them it is found out that a neighbour is gone. */
static bool bgdma_idle_may(const struct bgdma_tx *tx)
{
	lockdep_assert_held(&tx->lock);
	if (tx == tx->ether->flows->voice)
		return !tx->dead;
	return !tx->dead && tx->s && (tx->s->kind == BGDMA_KIND_INJ_FIFO ||
				      tx->s->kind == BGDMA_KIND_RGET_QUEUE);
}

static void bgdma_idle_tx(struct bgdma_tx *tx, void *arg)
{
	u32 *left = arg, n, most;
	struct bgdma_tx_flow *flow, *next;
	LIST_HEAD(gone);

	do {
		most = min_t(u32, *left, BGDMA_IDLE_HOLD);
		spin_lock(&tx->lock);
		n = bgdma_idle_may(tx) ? bgdma_idle_some(tx, most, &gone) : 0;
		spin_unlock(&tx->lock);
		bgdma_tx_send(tx, false);
		list_for_each_entry_safe(flow, next, &gone, node)
			bgdma_tx_flow_end(flow);
		cond_resched();
		*left -= n;
	} while (n && n == most);
}

/* Receiver's ends whose senders forgot them, and nobody heard of it. */
static void bgdma_idle_rx(struct bgdma_flows *flows)
{
	struct bgdma_rx_flow *flow;
	struct hlist_node *next;
	unsigned int i;

	lockdep_assert_held(&flows->mutex);
	for (i = 0; i < HASH_SIZE(flows->rx); i++) {
		hlist_for_each_entry_safe(flow, next, &flows->rx[i], hash) {
			if (time_after(jiffies, READ_ONCE(flow->used) +
						BGDMA_IDLE_LOST) &&
			    !bgdma_rx_waits(flow))
				bgdma_rx_free(flow);
		}
		cond_resched();
	}
}

static void bgdma_idle_work(struct work_struct *work)
{
	struct bgdma_flows *flows =
		container_of(to_delayed_work(work), struct bgdma_flows, idle);
	u32 left = BGDMA_IDLE_PASS;

	mutex_lock(&flows->mutex);
	bgdma_tx_each(flows, bgdma_idle_tx, &left);
	if (left)
		bgdma_idle_rx(flows);
	mutex_unlock(&flows->mutex);
	queue_delayed_work(bgdma_flow_wq, &flows->idle,
			   left ? BGDMA_IDLE : BGDMA_IDLE_SOON);
}

/**
 * bgdma_idle_begin() - look after idle flows
 * @flows: of a partition
 */
void bgdma_idle_begin(struct bgdma_flows *flows)
{
	INIT_DEFERRABLE_WORK(&flows->idle, bgdma_idle_work);
	queue_delayed_work(bgdma_flow_wq, &flows->idle, BGDMA_IDLE);
}

/**
 * bgdma_idle_end() - no longer
 * @flows: of a partition
 *
 * Context: may sleep.
 */
void bgdma_idle_end(struct bgdma_flows *flows)
{
	cancel_delayed_work_sync(&flows->idle);
}
