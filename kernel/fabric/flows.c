// SPDX-License-Identifier: GPL-2.0
/*
 * All flows of a partition: the tables, and the end of those of a kernel that is gone.
 */
#include <linux/jhash.h>
#include <linux/ktime.h>
#include <linux/slab.h>

#include "../engine/busy.h"
#include "../engine/group.h"
#include "../engine/engine.h"
#include "flow.h"

struct workqueue_struct *bgdma_flow_wq;
u32 bgdma_flow_seed __ro_after_init;

/**
 * bgdma_flow_clock() - what frames are stamped with, in us
 */
u32 bgdma_flow_clock(void)
{
	return (u32)(ktime_get_ns() / NSEC_PER_USEC);
}

/**
 * bgdma_flow_hash() - where a flow is in the tables
 * @key: of it: much of it is as who sends likes
 */
u32 bgdma_flow_hash(const struct bgdma_flow_key *key)
{
	BUILD_BUG_ON(sizeof(*key) % sizeof(u32));
	return jhash2((const u32 *)key, sizeof(*key) / sizeof(u32),
		      bgdma_flow_seed);
}

/* Of the nodes that a kernel which is gone said were its, those that nobody else has. */
static void bgdma_kernel_left(struct bgdma_ether *ether, u64 number,
			      struct bgdma_nodes *nodes)
{
	struct bgdma_nodes said;
	u32 i, rank;

	nodes->n = 0;
	if (!bgdma_kernel_nodes(ether, number, &said))
		return;
	for (i = 0; i < said.n; i++) {
		bool goes_on = false;

		for (rank = said.run[i].first; rank <= said.run[i].last; rank++) {
			u64 home = bgdma_way_kernel(ether, rank);

			if (rank % 1024 == 0)
				cond_resched();
			/* Who is in it hears of the partition's end. */
			if (READ_ONCE(ether->part->dead))
				return;
			if (home && home != number) {
				goes_on = false;
				continue;
			}
			/* Of who said as much as this the rest is not told. */
			if (!goes_on && nodes->n == ARRAY_SIZE(nodes->run))
				return;
			if (!goes_on)
				nodes->run[nodes->n++].first = rank;
			nodes->run[nodes->n - 1].last = rank;
			goes_on = true;
		}
	}
}

/* No device of ours is up: it is not the others who are dead. */
static bool bgdma_tx_alone(const struct bgdma_ether *ether)
{
	struct bgdma_link *link;
	bool any = false, up = false;

	rcu_read_lock();
	list_for_each_entry_rcu(link, &ether->links, node) {
		any = true;
		up |= READ_ONCE(link->up);
	}
	rcu_read_unlock();
	return any && !up;
}

static void bgdma_tx_lose_flow(struct bgdma_tx_flow *flow)
{
	struct bgdma_ether *ether = flow->tx->ether;
	u32 dead = BGDMA_ROUTE_NONE, code = BGDMA_E_PEER_DOWN;

	if (bgdma_tx_alone(ether))
		dead = bgdma_way_dead(ether, flow->key.src, flow->key.dst);
	if (dead != BGDMA_ROUTE_NONE)
		code = BGDMA_E_LINK_DOWN;
	bgdma_tx_give_up(flow, code, dead);
	bgdma_sent_none(flow->tx, code);
}

static void bgdma_tx_lose(struct bgdma_tx *tx, void *arg)
{
	const u64 *kernel = arg;
	struct bgdma_tx_flow *flow;

	spin_lock(&tx->lock);
	if (!tx->dead) {
		list_for_each_entry(flow, &tx->flows, node) {
			if (flow->kernel == *kernel)
				bgdma_tx_lose_flow(flow);
		}
	}
	spin_unlock(&tx->lock);
}

/**
 * bgdma_kernel_gone() - a kernel is dead, and all of its contexts
 * @ether: of the partition
 * @kernel: its number
 * @bye: it said so
 * @since: contexts up to this one know of it
 *
 * Context: may sleep; without locks.
 */
void bgdma_kernel_gone(struct bgdma_ether *ether, u64 kernel, bool bye, u32 since)
{
	struct bgdma_flows *flows = ether->flows;
	struct bgdma_nodes nodes;
	u32 i;

	bgdma_kernel_left(ether, kernel, &nodes);
	/* A deposit that passes by the first of them finds the others gone, too. */
	for (i = 0; i < nodes.n; i++) {
		bgdma_groups_lose(ether->part, nodes.run[i].first,
				  nodes.run[i].last);
		cond_resched();
	}
	bgdma_ghosts_gone(flows, kernel, bye, bgdma_tx_lose);
	/* What lived there and never spoke to us has no place. */
	bgdma_partition_tell_nodes(ether->part, kernel, &nodes, since);
}

/**
 * bgdma_ether_timeout() - how long something may take that needs an answer, in ms
 * @ether: of the partition
 *
 * Context: any.
 */
u32 bgdma_ether_timeout(const struct bgdma_ether *ether)
{
	u32 ms = BGDMA_LINK_TIMEOUT_MS;
	struct bgdma_link *link;
	bool any = false;

	rcu_read_lock();
	list_for_each_entry_rcu(link, &ether->links, node) {
		u32 its = READ_ONCE(link->config.timeout_ms);

		ms = any ? min(ms, its) : its;
		any = true;
	}
	rcu_read_unlock();
	return ms;
}

/* --------------------------------------------------------------------- */
/* All of them                                                            */

/**
 * bgdma_tx_each() - for all that streams of a partition have on their way
 * @flows: of the partition
 * @fn: is told each, with a reference; may sleep
 * @arg: for it
 *
 * Context: one at a time, and none beside bgdma_flows_end().
 */
void bgdma_tx_each(struct bgdma_flows *flows,
		   void (*fn)(struct bgdma_tx *tx, void *arg), void *arg)
{
	struct bgdma_tx *tx;
	LIST_HEAD(done);

	lockdep_assert_held(&flows->mutex);
	spin_lock(&flows->lock);
	while (!list_empty(&flows->txs)) {
		tx = list_first_entry(&flows->txs, struct bgdma_tx, node);
		/* In their order: the voice stays the first. */
		list_move_tail(&tx->node, &done);
		if (!kref_get_unless_zero(&tx->ref))
			continue;
		spin_unlock(&flows->lock);
		fn(tx, arg);
		bgdma_tx_put(tx);
		cond_resched();
		spin_lock(&flows->lock);
	}
	list_splice(&done, &flows->txs);
	spin_unlock(&flows->lock);
}

/**
 * bgdma_flows_new() - no flows yet
 * @ether: of the partition
 *
 * Return: NULL: no memory.
 */
struct bgdma_flows *bgdma_flows_new(struct bgdma_ether *ether)
{
	struct bgdma_flows *flows = kvzalloc(sizeof(*flows), GFP_KERNEL_ACCOUNT);

	if (!flows)
		return NULL;
	if (bgdma_engine_get()) {
		kvfree(flows);
		return NULL;
	}
	flows->ether = ether;
	bgdma_busy_init(&flows->busy);
	spin_lock_init(&flows->lock);
	mutex_init(&flows->mutex);
	hash_init(flows->tx);
	hash_init(flows->rx);
	xa_init(&flows->places);
	hash_init(flows->homes);
	bgdma_waiters_init(&flows->news);
	bgdma_inbox_new(flows);
	INIT_LIST_HEAD(&flows->txs);
	atomic_set(&flows->session, get_random_u32());
	ether->flows = flows;
	if (bgdma_voice_new(flows)) {
		bgdma_idle_begin(flows);
		return flows;
	}
	ether->flows = NULL;
	bgdma_engine_put();
	kvfree(flows);
	return NULL;
}

/* Nothing is sent any more. */
static void bgdma_flows_stop(struct bgdma_flows *flows)
{
	struct bgdma_tx *tx;

	for (;;) {
		spin_lock(&flows->lock);
		/* The first of all is our own voice, which others still need. */
		tx = list_last_entry(&flows->txs, struct bgdma_tx, node);
		if (tx != flows->voice) {
			list_del_init(&tx->node);
			/* It may be over just now: then who frees it is another. */
			kref_get(&tx->ref);
		}
		spin_unlock(&flows->lock);
		if (tx == flows->voice)
			break;
		bgdma_tx_stop(tx);
		bgdma_tx_put(tx);
	}
	/* Those that were being freed, and what these led to. */
	bgdma_busy_put(&flows->busy);
	bgdma_busy_wait(&flows->busy);
}

/**
 * bgdma_flows_end() - all flows end
 * @flows: of a partition whose links are gone, and all contexts
 *
 * Context: may sleep.
 */
void bgdma_flows_end(struct bgdma_flows *flows)
{
	bgdma_idle_end(flows);
	bgdma_flows_stop(flows);
	bgdma_inbox_end(flows);
	bgdma_ghosts_none(flows);
	bgdma_waiters_end(&flows->news);
	/* The last of all: what was being delivered may have led to an answer. */
	list_del_init(&flows->voice->node);
	bgdma_tx_stop(flows->voice);
	bgdma_engine_put();
	kvfree(flows);
}

/**
 * bgdma_flows_init() - let there be flows
 *
 * Return: 0 or -ENOMEM.
 */
int bgdma_flows_init(void)
{
	bgdma_inbox_init();
	bgdma_flow_seed = get_random_u32();
	bgdma_flow_wq = alloc_workqueue("bgdma", WQ_UNBOUND | WQ_HIGHPRI, 0);
	return bgdma_flow_wq ? 0 : -ENOMEM;
}

/**
 * bgdma_flows_exit() - no partition is left
 */
void bgdma_flows_exit(void)
{
	/* Flows that are still to be freed. */
	rcu_barrier();
	destroy_workqueue(bgdma_flow_wq);
}
