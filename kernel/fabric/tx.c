// SPDX-License-Identifier: GPL-2.0
/*
 * The sender's ends of flows: numbers for frames, which of them were dealt with,
 * which are sent again and when, and how many may be on their way.
 *
 * A frame is sent again when one that was sent later has arrived, and a little
 * time has passed in which it could have come another way; or, where nothing comes
 * back at all, after a time that follows the round trips. A receiver that has no
 * room says so; then the oldest frame is offered to it again, less and less often,
 * until it says that it has.
 */
#include <linux/slab.h>

#include "../engine/busy.h"
#include "../engine/charge.h"
#include "../engine/engine.h"
#include "../engine/ring.h"
#include "flow.h"

/* In us: bounds of the time after which a frame is sent again. */
#define BGDMA_RTO_MIN		8000
#define BGDMA_RTO_MAX		1000000
#define BGDMA_RTO_FIRST		50000

/* Frames that may be on their way at first. */
#define BGDMA_CWND_FIRST	64

/* What has no stream any more may be on its way for so long. */
#define BGDMA_ORPHAN		HZ

static void bgdma_tx_work(struct work_struct *work);

/**
 * bgdma_tx_new() - what a stream has on its way: nothing
 * @ether: of the partition
 * @s: stream; NULL: the kernel's own
 *
 * Context: any.
 * Return: NULL: no memory.
 */
struct bgdma_tx *bgdma_tx_new(struct bgdma_ether *ether, struct bgdma_stream *s)
{
	struct bgdma_tx *tx = kzalloc(sizeof(*tx), GFP_NOWAIT | __GFP_NOWARN);

	if (!tx)
		return NULL;
	if (s) {
		tx->sent = bgdma_ctx_zalloc(s->ctx, BGDMA_SENT_MAX *
					    sizeof(*tx->sent));
		tx->parting = bgdma_parting_get(s->ctx,
						GFP_NOWAIT | __GFP_NOWARN);
		if (!tx->sent || !tx->parting)
			goto free;
		bgdma_stream_init(&tx->late, s->ctx, s->kind, s->id, NULL);
		tx->issued = s->head;
	}
	spin_lock_init(&tx->lock);
	kref_init(&tx->ref);
	INIT_LIST_HEAD(&tx->flows);
	INIT_LIST_HEAD(&tx->opened);
	INIT_WORK(&tx->work, bgdma_tx_work);
	bgdma_waiters_init(&tx->waiters);
	skb_queue_head_init(&tx->ready);
	skb_queue_head_init(&tx->spare);
	INIT_LIST_HEAD(&tx->pages);
	skb_queue_head_init(&tx->promised);
	tx->sender = BGDMA_ROUTE_NONE;
	tx->ether = ether;
	tx->room = bgdma_frame_room(ether);
	tx->s = s;
	if (s)
		bgdma_busy_get(&ether->flows->busy);
	spin_lock(&ether->flows->lock);
	list_add_tail(&tx->node, &ether->flows->txs);
	spin_unlock(&ether->flows->lock);
	return tx;
free:
	if (tx->parting)
		bgdma_parting_put(tx->parting);
	kfree(tx->sent);
	kfree(tx);
	return NULL;
}

static void bgdma_tx_release(struct kref *ref)
{
	struct bgdma_tx *tx = container_of(ref, struct bgdma_tx, ref);

	/* Of a stream: what we say ourselves ends after all others. */
	if (tx->sent)
		bgdma_busy_put(&tx->ether->flows->busy);
	kfree(tx->sent);
	kfree_rcu(tx, rcu);
}

/**
 * bgdma_tx_put() - drop a reference
 * @tx: which
 *
 * Context: any.
 */
void bgdma_tx_put(struct bgdma_tx *tx)
{
	kref_put(&tx->ref, bgdma_tx_release);
}

/**
 * bgdma_tx_over() - have what is on its way freed, by a worker
 * @tx: of a stream that is no more
 *
 * Context: any; who calls has a reference, or holds tx.lock of one that is not dead.
 */
void bgdma_tx_over(struct bgdma_tx *tx)
{
	/* The worker's: others may free it first. */
	kref_get(&tx->ref);
	if (!queue_work(bgdma_flow_wq, &tx->work))
		bgdma_tx_put(tx);
}

/**
 * bgdma_tx_provide() - memory for what is sent next
 * @tx: of a stream
 * @frames: so many at most
 * @pages: for what is copied, likewise
 *
 * Context: tx.lock held.
 * Return: false: there is not enough.
 */
bool bgdma_tx_provide(struct bgdma_tx *tx, u32 frames, u32 pages)
{
	struct page *page;

	lockdep_assert_held(&tx->lock);
	while (skb_queue_len(&tx->spare) < frames) {
		u32 room = tx->many ? BGDMA_FRAME_MANY : BGDMA_FRAME_FEW;
		struct sk_buff *skb;

		skb = bgdma_frame_new(room * sizeof(struct bgdma_wire_packet));
		if (!skb)
			return false;
		__skb_queue_tail(&tx->spare, skb);
	}
	list_for_each_entry(page, &tx->pages, lru) {
		if (!pages--)
			return true;
	}
	while (pages--) {
		page = tx->s ? bgdma_ctx_alloc_page(tx->s->ctx) :
			       alloc_page(GFP_NOWAIT | __GFP_NOWARN);
		if (!page)
			return false;
		list_add(&page->lru, &tx->pages);
	}
	return true;
}

static void bgdma_tx_flow_free(struct rcu_head *rcu)
{
	struct bgdma_tx_flow *flow =
		container_of(rcu, struct bgdma_tx_flow, rcu);

	bgdma_tx_put(flow->tx);
	bgdma_vow_put(flow->vow);
	kfree(flow);
}

/* --------------------------------------------------------------------- */
/* Time                                                                   */

static u32 bgdma_tx_rto(const struct bgdma_tx_flow *flow)
{
	u32 rto = BGDMA_RTO_FIRST;

	if (flow->srtt)
		rto = flow->srtt / 8 + flow->rttvar;
	rto = clamp_t(u32, rto, BGDMA_RTO_MIN, BGDMA_RTO_MAX);
	return min_t(u64, (u64)rto << min(flow->tries, 8U), BGDMA_RTO_MAX);
}

/**
 * bgdma_tx_arm() - look at a flow again when it has been silent
 * @flow: which
 *
 * Context: tx.lock held.
 */
void bgdma_tx_arm(struct bgdma_tx_flow *flow)
{
	lockdep_assert_held(&flow->tx->lock);
	if (!skb_queue_empty(&flow->unacked))
		mod_delayed_work(bgdma_flow_wq, &flow->timer,
				 usecs_to_jiffies(bgdma_tx_rto(flow)) + 1);
}

/* --------------------------------------------------------------------- */
/* Frames on their way                                                    */

/**
 * bgdma_tx_open() - more packets can go into a frame
 * @flow: of the frame, which has no other
 * @skb: the frame
 *
 * Context: tx.lock held.
 */
void bgdma_tx_open(struct bgdma_tx_flow *flow, struct sk_buff *skb)
{
	lockdep_assert_held(&flow->tx->lock);
	flow->open = skb;
	list_add_tail(&flow->open_node, &flow->tx->opened);
}

/**
 * bgdma_tx_close() - the open frame of a flow gets its number and goes
 * @flow: which may have none
 *
 * Context: tx.lock held.
 */
void bgdma_tx_close(struct bgdma_tx_flow *flow)
{
	struct sk_buff *skb = flow->open, *clone;
	struct bgdma_tx *tx = flow->tx;
	struct bgdma_frame_cb *cb;
	struct bgdma_frame *f;

	lockdep_assert_held(&tx->lock);
	if (!skb)
		return;
	flow->open = NULL;
	list_del_init(&flow->open_node);
	bgdma_idle_over(flow, skb);
	cb = bgdma_frame_cb(skb);
	tx->many = cb->packets == cb->room;
	f = (void *)skb->data;
	f->packets = cb->packets;
	cb->span = bgdma_frame_span(skb, tx->room.mtu);
	cb->psn = flow->next;
	flow->next += cb->span;
	flow->credit = min_t(u32, BGDMA_CREDIT_MAX, flow->credit +
			     BGDMA_CREDIT_EACH * cb->span);
	cb->stamp = bgdma_flow_clock();
	f->session = cpu_to_le32(flow->session);
	f->psn = cpu_to_le32(cb->psn);
	f->first = cpu_to_le32(flow->una);
	f->stamp = cpu_to_le32(cb->stamp);
	bgdma_frame_finish(tx->ether, skb);
	__skb_queue_tail(&flow->unacked, skb);
	if (skb_queue_len(&flow->unacked) == 1) {
		flow->heard = bgdma_ether_now(tx->ether);
		bgdma_tx_arm(flow);
	}
	bgdma_patience_last(flow, skb);
	clone = tx->room.copy ? skb_copy(skb, GFP_NOWAIT | __GFP_NOWARN) :
				skb_clone(skb, GFP_NOWAIT | __GFP_NOWARN);
	if (clone)
		__skb_queue_tail(&tx->ready, clone);
}

/**
 * bgdma_tx_overtake() - frames that more could go into go
 * @tx: of a stream
 * @flow: but not of this one of its flows; or NULL
 *
 * Context: tx.lock held.
 */
void bgdma_tx_overtake(struct bgdma_tx *tx, const struct bgdma_tx_flow *flow)
{
	struct bgdma_tx_flow *other, *next;

	lockdep_assert_held(&tx->lock);
	list_for_each_entry_safe(other, next, &tx->opened, open_node) {
		if (other != flow)
			bgdma_tx_close(other);
	}
}

/**
 * bgdma_tx_look() - look what frames may be like now
 * @tx: of a stream
 *
 * Context: tx.lock held.
 */
void bgdma_tx_look(struct bgdma_tx *tx)
{
	struct bgdma_room room = bgdma_frame_room(tx->ether);

	/* What is open was made for parts of another length, and is cut so. */
	if (unlikely(room.mtu != tx->room.mtu))
		bgdma_tx_overtake(tx, NULL);
	tx->room = room;
}

/**
 * bgdma_tx_send() - what is ready goes to the links
 * @tx: of a stream, or of the kernel
 * @open: frames that more could go into, too
 *
 * Context: process context, or inside a slice; @tx.lock not held, but others.
 */
void bgdma_tx_send(struct bgdma_tx *tx, bool open)
{
	struct bgdma_tx_flow *flow, *next;
	struct sk_buff_head ready;
	struct sk_buff *skb;

	__skb_queue_head_init(&ready);
	spin_lock(&tx->lock);
	if (!tx->dead) {
		list_for_each_entry_safe(flow, next, &tx->opened, open_node) {
			if (!open)
				break;
			bgdma_tx_close(flow);
		}
		skb_queue_splice_init(&tx->ready, &ready);
	}
	spin_unlock(&tx->lock);
	if (skb_queue_empty(&ready))
		return;
	/* Softirqs wait until all are on their way. */
	local_bh_disable();
	while ((skb = __skb_dequeue(&ready)))
		bgdma_frame_send(tx->ether, skb);
	local_bh_enable();
}

/**
 * bgdma_tx_flush() - what is ready goes to the links, and what comes is delivered
 * @tx: of a stream
 * @open: frames that more could go into, too
 * @pooled: by a thread of the pool
 *
 * Context: process context, or inside a slice; no lock held.
 */
void bgdma_tx_flush(struct bgdma_tx *tx, bool open, bool pooled)
{
	bool opened = bgdma_inbox_open(pooled);

	bgdma_tx_send(tx, open);
	if (opened)
		bgdma_inbox_close();
}

/* Does a stream go on by itself? */
static bool bgdma_tx_goes_on(const struct bgdma_stream *s)
{
	if (READ_ONCE(s->ctx->dead) ||
	    READ_ONCE(s->flags) & BGDMA_STREAM_HALTED)
		return false;
	return s->x.active ||
	       (s->kind == BGDMA_KIND_INJ_FIFO &&
		bgdma_inj_pending(container_of(s, struct bgdma_inj_fifo, s)));
}

/**
 * bgdma_tx_turn() - a stream has had its turn
 * @s: owned
 *
 * What comes in its next one may still go into a frame that has room.
 *
 * Context: process context, or inside a slice; no lock held.
 */
void bgdma_tx_turn(struct bgdma_stream *s)
{
	bgdma_tx_flush(s->tx, !bgdma_tx_goes_on(s), s->pooled);
}

/*
 * What is on its way is lost, and so is what the receiver knows of the flow: it goes
 * on with another session.
 */
static void bgdma_tx_fail(struct bgdma_tx_flow *flow, u32 code, u64 offset,
			  u64 bound)
{
	struct bgdma_tx *tx = flow->tx;
	struct sk_buff *skb;

	lockdep_assert_held(&tx->lock);
	bgdma_tx_close(flow);
	/* Nobody says any more that there is room. */
	bgdma_tx_held(flow, false, 0, 0);
	while ((skb = __skb_dequeue(&flow->unacked))) {
		if (tx->s)
			bgdma_sent_lost(tx, skb, code, offset, bound);
		kfree_skb(skb);
	}
	__skb_queue_purge(&flow->later);
	flow->una = flow->next;
	flow->session = atomic_inc_return(&tx->ether->flows->session);
	flow->kernel = bgdma_way_kernel(tx->ether, flow->key.dst);
	flow->acks = 0;
	flow->tries = 0;
	flow->heard = bgdma_ether_now(tx->ether);
	if (tx->s)
		bgdma_waiters_wake(&tx->waiters);
	else if (tx->until)
		bgdma_tx_over(tx);
}

/**
 * bgdma_tx_give_up() - what is on its way is lost, and what was asked for
 * @flow: by which
 * @code: why
 * @dead: with BGDMA_E_LINK_DOWN, the way that is: bgdma_way_dead()
 *
 * Context: tx.lock held.
 */
void bgdma_tx_give_up(struct bgdma_tx_flow *flow, u32 code, u32 dead)
{
	if (code == BGDMA_E_LINK_DOWN)
		bgdma_tx_fail(flow, code, dead / BGDMA_DIRECTIONS,
			      dead % BGDMA_DIRECTIONS);
	else
		bgdma_tx_fail(flow, code, flow->key.dst, 0);
	bgdma_sent_unanswered(flow->tx, flow->key.dst, code);
}

/* Nothing has come back for so long that nothing will: true. */
static bool bgdma_tx_silent(struct bgdma_tx_flow *flow)
{
	struct bgdma_ether *ether = flow->tx->ether;
	u32 dead;

	lockdep_assert_held(&flow->tx->lock);
	if (time_before(bgdma_ether_now(ether), flow->heard +
			msecs_to_jiffies(bgdma_ether_timeout(ether))))
		return false;
	dead = bgdma_way_dead(ether, flow->key.src, flow->key.dst);
	if (flow->tx == ether->flows->voice)
		bgdma_voice_unheard(flow);
	bgdma_tx_give_up(flow, dead == BGDMA_ROUTE_NONE ? BGDMA_E_TIMEOUT :
							  BGDMA_E_LINK_DOWN,
			 dead);
	return true;
}

/* Nothing came back for a while. */
static void bgdma_tx_timeout(struct bgdma_tx_flow *flow)
{
	u32 now = bgdma_flow_clock(), rto = bgdma_tx_rto(flow);
	struct sk_buff *skb = skb_peek(&flow->unacked);
	s32 left;

	lockdep_assert_held(&flow->tx->lock);
	if (!skb)
		return;
	left = rto - (now - bgdma_frame_cb(skb)->stamp);
	if (left > 0) {
		mod_delayed_work(bgdma_flow_wq, &flow->timer,
				 usecs_to_jiffies(left) + 1);
		return;
	}
	if (bgdma_tx_silent(flow))
		return;
	flow->tries++;
	flow->credit = max(flow->credit,
			   BGDMA_CREDIT_EACH * (flow->next - flow->una));
	if (!flow->tx->s && flow->tx->until &&
	    time_after(jiffies, flow->tx->until)) {
		bgdma_tx_over(flow->tx);
		return;
	}
	if (!flow->stopped)
		flow->cwnd = max_t(u32, flow->cwnd / 2, BGDMA_CWND_MIN * 16);
	/* What has arrived may have been found damaged. */
	bgdma_frame_cb(skb)->parts = 0;
	bgdma_tx_again(flow, skb);
	bgdma_tx_arm(flow);
}

static void bgdma_tx_timer(struct work_struct *work)
{
	struct bgdma_tx_flow *flow =
		container_of(to_delayed_work(work), struct bgdma_tx_flow,
			     timer);
	struct bgdma_tx *tx = flow->tx;

	spin_lock(&tx->lock);
	if (!tx->dead) {
		bgdma_tx_mend(flow);
		if (bgdma_patience_over(flow))
			bgdma_tx_arm(flow);
		else
			bgdma_tx_timeout(flow);
	}
	spin_unlock(&tx->lock);
	bgdma_tx_flush(tx, true, false);
}

static enum hrtimer_restart bgdma_tx_gap(struct hrtimer *timer)
{
	struct bgdma_tx_flow *flow =
		container_of(timer, struct bgdma_tx_flow, gap);

	mod_delayed_work(bgdma_flow_wq, &flow->timer, 0);
	return HRTIMER_NORESTART;
}

/* --------------------------------------------------------------------- */
/* Flows come and go                                                      */

/* The flow of this name, if there is one: there may be as many as nodes. */
static struct bgdma_tx_flow *bgdma_tx_known(struct bgdma_tx *tx,
					    const struct bgdma_flow_key *key)
{
	struct bgdma_tx_flow *flow;

	lockdep_assert_held(&tx->lock);
	rcu_read_lock();
	/* What had the name before may be on its way still. */
	hash_for_each_possible_rcu(tx->ether->flows->tx, flow, hash,
				   bgdma_flow_hash(key)) {
		if (flow->tx == tx && !flow->gone &&
		    !memcmp(&flow->key, key, sizeof(*key)))
			break;
	}
	rcu_read_unlock();
	return flow;
}

/**
 * bgdma_tx_flow() - a flow of a stream
 * @tx: of the stream
 * @key: names it
 *
 * Context: tx.lock held.
 * Return: the flow, made if need be; NULL: no memory.
 */
struct bgdma_tx_flow *bgdma_tx_flow(struct bgdma_tx *tx,
				    const struct bgdma_flow_key *key)
{
	struct bgdma_flows *flows = tx->ether->flows;
	struct bgdma_tx_flow *flow;

	lockdep_assert_held(&tx->lock);
	/* Mostly it is the last again. */
	flow = list_first_entry_or_null(&tx->flows, struct bgdma_tx_flow, node);
	if (flow) {
		if (!memcmp(&flow->key, key, sizeof(*key)))
			return flow;
		bgdma_patience_ask(flow);
		flow = bgdma_tx_known(tx, key);
	}
	if (flow) {
		flow->row = 0;
		list_move(&flow->node, &tx->flows);
		return flow;
	}
	/* What the kernel says itself is on nobody's account. */
	flow = tx->s ? bgdma_ctx_zalloc(tx->s->ctx, sizeof(*flow)) :
		       kzalloc(sizeof(*flow), GFP_NOWAIT | __GFP_NOWARN);
	if (!flow)
		return NULL;
	kref_get(&tx->ref);
	flow->tx = tx;
	flow->key = *key;
	flow->kernel = bgdma_way_kernel(tx->ether, key->dst);
	flow->session = atomic_inc_return(&flows->session);
	flow->next = get_random_u32();
	flow->una = flow->next;
	flow->shrunk = flow->next;
	flow->limit = BGDMA_RX_WINDOW;
	flow->cwnd = BGDMA_CWND_FIRST * 16;
	flow->last = jiffies;
	flow->heard = bgdma_ether_now(tx->ether);
	__skb_queue_head_init(&flow->unacked);
	__skb_queue_head_init(&flow->later);
	INIT_LIST_HEAD(&flow->open_node);
	INIT_DELAYED_WORK(&flow->timer, bgdma_tx_timer);
	hrtimer_init(&flow->gap, CLOCK_MONOTONIC, HRTIMER_MODE_REL_SOFT);
	flow->gap.function = bgdma_tx_gap;
	bgdma_patience_init(flow);
	list_add(&flow->node, &tx->flows);
	spin_lock(&flows->lock);
	hash_add_rcu(flows->tx, &flow->hash, bgdma_flow_hash(key));
	spin_unlock(&flows->lock);
	return flow;
}

/**
 * bgdma_tx_quiet() - is nothing on its way?
 * @tx: of a stream
 *
 * Context: tx.lock held.
 */
bool bgdma_tx_quiet(const struct bgdma_tx *tx)
{
	const struct bgdma_tx_flow *flow;

	lockdep_assert_held(&tx->lock);
	list_for_each_entry(flow, &tx->flows, node) {
		if (flow->open || !skb_queue_empty(&flow->unacked))
			return false;
	}
	return true;
}

/**
 * bgdma_tx_orphan() - a stream is no more
 * @tx: of the stream
 *
 * What was sent still arrives, if the other side takes it soon: as it is now.
 *
 * Context: may sleep.
 */
void bgdma_tx_orphan(struct bgdma_tx *tx)
{
	bool quiet;

	/* From here on it may be over at any time. */
	kref_get(&tx->ref);
	bgdma_tx_flush(tx, true, false);
	/* Who is gone writes nowhere any more. */
	if (bgdma_tx_freeze(tx, BGDMA_NONE) && !READ_ONCE(tx->s->ctx->dead))
		synchronize_rcu();
	spin_lock(&tx->lock);
	bgdma_sent_orphan(tx);
	tx->s = NULL;
	tx->until = (jiffies + BGDMA_ORPHAN) | 1;
	quiet = bgdma_tx_quiet(tx);
	spin_unlock(&tx->lock);
	bgdma_waiters_end(&tx->waiters);
	if (quiet)
		bgdma_tx_over(tx);
	bgdma_tx_put(tx);
}

/**
 * bgdma_tx_flow_end() - a flow is no more
 * @flow: gone, or of a tx that is dead; in a list of the caller's
 *
 * Context: may sleep.
 */
void bgdma_tx_flow_end(struct bgdma_tx_flow *flow)
{
	struct bgdma_flows *flows = flow->tx->ether->flows;

	spin_lock(&flows->lock);
	hash_del_rcu(&flow->hash);
	spin_unlock(&flows->lock);
	hrtimer_cancel(&flow->gap);
	hrtimer_cancel(&flow->patience);
	cancel_delayed_work_sync(&flow->timer);
	kfree_skb(flow->open);
	__skb_queue_purge(&flow->unacked);
	__skb_queue_purge(&flow->later);
	list_del(&flow->open_node);
	list_del(&flow->node);
	call_rcu(&flow->rcu, bgdma_tx_flow_free);
}

/* Nothing is on its way any more. */
static void bgdma_tx_free(struct bgdma_tx *tx)
{
	struct bgdma_tx_flow *flow, *next;
	struct page *page, *other;

	list_for_each_entry_safe(flow, next, &tx->flows, node)
		bgdma_tx_flow_end(flow);
	skb_queue_purge(&tx->ready);
	skb_queue_purge(&tx->spare);
	skb_queue_purge(&tx->promised);
	list_for_each_entry_safe(page, other, &tx->pages, lru)
		__free_page(page);
	if (tx->parting)
		bgdma_parting_put(tx->parting);
	bgdma_tx_put(tx);
}

/**
 * bgdma_tx_stop() - give up what is on its way
 * @tx: in no list; without a stream
 *
 * Context: may sleep.
 */
void bgdma_tx_stop(struct bgdma_tx *tx)
{
	bool mine;

	spin_lock(&tx->lock);
	mine = !tx->dead;
	tx->dead = true;
	spin_unlock(&tx->lock);
	if (mine)
		bgdma_tx_free(tx);
}

static void bgdma_tx_work(struct work_struct *work)
{
	struct bgdma_tx *tx = container_of(work, struct bgdma_tx, work);
	struct bgdma_flows *flows = tx->ether->flows;

	spin_lock(&flows->lock);
	list_del_init(&tx->node);
	spin_unlock(&flows->lock);
	bgdma_tx_stop(tx);
	bgdma_tx_put(tx);
}
