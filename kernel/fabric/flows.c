// SPDX-License-Identifier: GPL-2.0
/*
 * All flows of a partition: the tables, and the contexts behind the links, each of
 * which has a stand-in here.
 */
#include <linux/jhash.h>
#include <linux/ktime.h>
#include <linux/slab.h>

#include "../engine/busy.h"
#include "../engine/group.h"
#include "../engine/engine.h"
#include "flow.h"

struct workqueue_struct *bgdma_flow_wq;
static u32 bgdma_flow_seed __ro_after_init;

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

/* --------------------------------------------------------------------- */
/* Contexts behind the links                                              */

/* Receiver's ends of a partition. */
#define BGDMA_RX_FLOWS_MAX	65536
/* What they keep in all, but for the frame of each that is next, in bytes. */
#define BGDMA_RX_KEPT_MAX	(128L << 20)

static unsigned long bgdma_ghost_key(u32 rank, u16 ctx)
{
	/* The kernel is behind all contexts of its node. */
	return rank * (BGDMA_CTX_PER_NODE + 1UL) +
	       min_t(u32, ctx, BGDMA_CTX_PER_NODE);
}

/**
 * struct bgdma_ghost - what stands for a context behind the links
 * @ctx: where others look; first, as kfree() gets it
 * @user: of it alone: whose it is nobody knows here
 * @kernel: number of the one where it lives
 * @rx: receiver's ends of its flows; flows.mutex
 * @n_rx: so many
 * @kept: bytes of frames that these keep
 * @gone: with others of its kernel, which is gone, that nobody was told of yet
 * @back: its kernel was thought to be dead and has come back
 * @last: then the session of the last flow of before
 */
struct bgdma_ghost {
	struct bgdma_ctx ctx;
	struct bgdma_user user;
	u64 kernel;
	struct list_head rx;
	u32 n_rx;
	atomic_long_t kept;
	struct list_head gone;
	bool back;
	u32 last;
};

static struct bgdma_ghost *bgdma_ghost_of(const struct bgdma_ctx *ctx)
{
	return container_of(ctx, struct bgdma_ghost, ctx);
}

/**
 * bgdma_ghost_kernel() - number of the kernel where a context lives
 * @ctx: what stands for it
 */
u64 bgdma_ghost_kernel(const struct bgdma_ctx *ctx)
{
	return bgdma_ghost_of(ctx)->kernel;
}

/**
 * bgdma_ghost_flow() - a context behind the links begins a flow to here
 * @flows: of the partition
 * @ghost: its stand-in
 * @flow: the receiver's end
 *
 * It may have as many as are left for others, so that there is room for whoever has
 * few. A kernel has one, which has to be there.
 *
 * Context: flows.mutex held.
 * Return: false: it has its share.
 */
bool bgdma_ghost_flow(struct bgdma_flows *flows, struct bgdma_ctx *ghost,
		      struct bgdma_rx_flow *flow)
{
	struct bgdma_ghost *g = bgdma_ghost_of(ghost);

	lockdep_assert_held(&flows->mutex);
	if (ghost->id != BGDMA_CTX_ANY &&
	    (flows->n_rx >= BGDMA_RX_FLOWS_MAX ||
	     g->n_rx >= BGDMA_RX_FLOWS_MAX - flows->n_rx))
		return false;
	list_add_tail(&flow->node, &g->rx);
	g->n_rx++;
	flows->n_rx++;
	return true;
}

/**
 * bgdma_ghost_flow_end() - one of its flows is no more
 * @flows: of the partition
 * @flow: the receiver's end
 *
 * Context: flows.mutex held.
 */
void bgdma_ghost_flow_end(struct bgdma_flows *flows, struct bgdma_rx_flow *flow)
{
	lockdep_assert_held(&flows->mutex);
	list_del(&flow->node);
	bgdma_ghost_of(flow->s.ctx)->n_rx--;
	flows->n_rx--;
}

/**
 * bgdma_ghost_keeps() - may a flow keep so much more of what has arrived?
 * @flow: the receiver's end
 * @bytes: so much
 *
 * As with flows: the sender may have as much kept as is left for others, however many
 * FIFOs it has, and however little its receivers read.
 *
 * Context: flow.lock held.
 */
bool bgdma_ghost_keeps(const struct bgdma_rx_flow *flow, u32 bytes)
{
	const struct bgdma_ghost *g = bgdma_ghost_of(flow->s.ctx);

	lockdep_assert_held(&flow->lock);
	return atomic_long_read(&g->kept) + bytes <=
	       BGDMA_RX_KEPT_MAX -
	       atomic_long_read(&flow->ether->flows->kept);
}

/**
 * bgdma_ghost_kept() - what a flow keeps has become more, or less
 * @flow: the receiver's end
 * @bytes: so much
 *
 * Context: flow.lock held.
 */
void bgdma_ghost_kept(const struct bgdma_rx_flow *flow, int bytes)
{
	lockdep_assert_held(&flow->lock);
	atomic_long_add(bytes, &bgdma_ghost_of(flow->s.ctx)->kept);
	atomic_long_add(bytes, &flow->ether->flows->kept);
}

/*
 * Where a context was there stays who it was, as long as its kernel lives: frames of it
 * that were long on their way must neither land twice nor make it anew. Of the kernel
 * there is room for nearly half of its number.
 *
 * A kernel that was not heard may come back, and contexts there that we took for dead
 * send again what had been dealt with. So of these it stays which flows are over.
 */
#define BGDMA_GRAVE_KERNEL	0x3fffffffU
#define BGDMA_GRAVE_BACK	BIT_ULL(62)

static void *bgdma_grave(u64 kernel, u32 number, u64 back)
{
	return xa_mk_value((kernel & BGDMA_GRAVE_KERNEL) << 32 | number | back);
}

static bool bgdma_grave_of(const void *entry, u64 kernel, u64 back)
{
	u64 grave = xa_is_value(entry) ? xa_to_value(entry) : 0;

	return grave && (grave & BGDMA_GRAVE_BACK) == back &&
	       (grave >> 32 & BGDMA_GRAVE_KERNEL) ==
	       (kernel & BGDMA_GRAVE_KERNEL);
}

/**
 * bgdma_ghost_over() - is it a flow of before its kernel came back?
 * @flows: of the partition
 * @kernel: where the sender lives
 * @key: names it
 * @session: of its lives
 *
 * Who sends gives it up, and begins it anew.
 *
 * Context: flows.mutex held.
 */
bool bgdma_ghost_over(struct bgdma_flows *flows, u64 kernel,
		      const struct bgdma_flow_key *key, u32 session)
{
	void *entry = xa_load(&flows->ghosts,
			      bgdma_ghost_key(key->src, key->ctx));
	const struct bgdma_ghost *g;

	lockdep_assert_held(&flows->mutex);
	if (!entry || xa_is_value(entry))
		return bgdma_grave_of(entry, kernel, BGDMA_GRAVE_BACK) &&
		       (s32)(session - (u32)xa_to_value(entry)) <= 0;
	g = bgdma_ghost_of(entry);
	return g->back && g->kernel == kernel && (s32)(session - g->last) <= 0;
}

static struct bgdma_ctx *bgdma_ghost_new(struct bgdma_flows *flows, u64 kernel,
					 u32 rank, u16 id, u32 incarnation)
{
	struct bgdma_ghost *g = kzalloc(sizeof(*g), GFP_KERNEL);
	struct bgdma_ctx *ghost;

	if (!g)
		return NULL;
	BUILD_BUG_ON(offsetof(struct bgdma_ghost, ctx));
	ghost = &g->ctx;
	bgdma_ctx_init(ghost);
	g->kernel = kernel;
	INIT_LIST_HEAD(&g->rx);
	g->user.uid = INVALID_UID;
	INIT_LIST_HEAD(&g->user.round);
	INIT_LIST_HEAD(&g->user.rq_node);
	INIT_LIST_HEAD(&g->user.node);
	ghost->user = &g->user;
	ghost->partition = flows->ether->part;
	ghost->rank = rank;
	ghost->id = id;
	ghost->who = (struct bgdma_principal) {
		.rank = rank, .ctx = id, .incarnation = incarnation,
	};
	bgdma_busy_init(&ghost->busy);
	return ghost;
}

/**
 * bgdma_ghost_get() - the stand-in for a context behind the links
 * @flows: of the partition
 * @kernel: number of the one where it lives
 * @rank: its node
 * @ctx: its number; BGDMA_CTX_ANY: the kernel there
 * @incarnation: its
 *
 * Whoever had its place before is gone.
 *
 * Context: flows.mutex held; may sleep.
 * Return: the stand-in, which stays until bgdma_ghost_gone(); -ESTALE: it is gone, or
 * there is a later one in its place; or -ENOMEM.
 */
struct bgdma_ctx *bgdma_ghost_get(struct bgdma_flows *flows, u64 kernel,
				  u32 rank, u16 ctx, u32 incarnation)
{
	unsigned long key = bgdma_ghost_key(rank, ctx);
	struct bgdma_ctx *ghost = xa_load(&flows->ghosts, key);
	u32 last = 0;
	bool back;

	if (bgdma_grave_of(ghost, kernel, 0) &&
	    (s32)(incarnation - (u32)xa_to_value(ghost)) <= 0)
		return ERR_PTR(-ESTALE);
	back = bgdma_grave_of(ghost, kernel, BGDMA_GRAVE_BACK);
	if (back)
		last = xa_to_value(ghost);
	if (xa_is_value(ghost))
		ghost = NULL;
	/* Its kernel began anew, and may not have been missed yet. */
	if (ghost && bgdma_ghost_kernel(ghost) != kernel) {
		bgdma_ghost_gone(flows, ghost);
		ghost = NULL;
	}
	if (ghost && ghost->who.incarnation == incarnation)
		return ghost;
	/* Numbers of contexts only grow; a kernel's is what its peers say. */
	if (ghost && ctx != BGDMA_CTX_ANY &&
	    (s32)(incarnation - ghost->who.incarnation) < 0)
		return ERR_PTR(-ESTALE);
	if (ghost)
		bgdma_ghost_gone(flows, ghost);
	ghost = bgdma_ghost_new(flows, kernel, rank, ctx, incarnation);
	if (!ghost)
		return ERR_PTR(-ENOMEM);
	bgdma_ghost_of(ghost)->back = back;
	bgdma_ghost_of(ghost)->last = last;
	if (xa_err(xa_store(&flows->ghosts, key, ghost, GFP_KERNEL))) {
		bgdma_ctx_put(ghost);
		return ERR_PTR(-ENOMEM);
	}
	return ghost;
}

/* The receiver's ends of the flows that come from it. */
static void bgdma_ghost_flows_end(struct bgdma_ctx *ghost)
{
	struct bgdma_rx_flow *flow, *next;

	list_for_each_entry_safe(flow, next, &bgdma_ghost_of(ghost)->rx, node)
		bgdma_rx_free(flow);
}

/* It is no more: its place is others', and nothing of it lands. */
static void bgdma_ghost_end(struct bgdma_flows *flows, struct bgdma_ctx *ghost)
{
	unsigned long key = bgdma_ghost_key(ghost->rank, ghost->id);

	lockdep_assert_held(&flows->mutex);
	/* Its place is there: this needs no memory. */
	if (ghost->id == BGDMA_CTX_ANY)
		xa_erase(&flows->ghosts, key);
	else
		xa_store(&flows->ghosts, key,
			 bgdma_grave(bgdma_ghost_kernel(ghost),
				     ghost->who.incarnation, 0), GFP_KERNEL);
	WRITE_ONCE(ghost->dead, true);
	bgdma_ghost_flows_end(ghost);
	bgdma_busy_put(&ghost->busy);
}

/* After that: who dealt with it is told. */
static void bgdma_ghost_tell(struct bgdma_ctx *ghost)
{
	if (ghost->id != BGDMA_CTX_ANY)
		bgdma_partition_tell(ghost->partition, ghost);
	else
		bgdma_busy_wait(&ghost->busy);
	bgdma_ctx_put(ghost);
}

/**
 * bgdma_ghost_gone() - a context behind the links is no more
 * @flows: of the partition
 * @ghost: its stand-in
 *
 * Who dealt with it is told, before anything lands of who has its place next.
 *
 * Context: flows.mutex held; may sleep.
 */
void bgdma_ghost_gone(struct bgdma_flows *flows, struct bgdma_ctx *ghost)
{
	bgdma_ghost_end(flows, ghost);
	bgdma_ghost_tell(ghost);
}

/* What stays of it if its kernel, which is gone, may come back. */
static void *bgdma_ghost_rests(const struct bgdma_ctx *ghost)
{
	const struct bgdma_ghost *g = bgdma_ghost_of(ghost);
	const struct bgdma_rx_flow *flow;
	bool any = g->back;
	u32 last = g->last;

	if (ghost->id == BGDMA_CTX_ANY)
		return NULL;
	list_for_each_entry(flow, &g->rx, node) {
		if (!any || (s32)(flow->session - last) > 0)
			last = flow->session;
		any = true;
	}
	return any ? bgdma_grave(g->kernel, last, BGDMA_GRAVE_BACK) : NULL;
}

/*
 * A kernel that said that it leaves never comes back: nothing stays of it. All that
 * lived there are in @gone afterwards.
 */
static void bgdma_ghosts_end(struct bgdma_flows *flows, u64 kernel, bool bye,
			     struct list_head *gone)
{
	struct bgdma_ctx *ghost;
	unsigned long key;

	lockdep_assert_held(&flows->mutex);
	xa_for_each(&flows->ghosts, key, ghost) {
		void *rests = NULL;

		cond_resched();
		if (xa_is_value(ghost)) {
			if (bye && (bgdma_grave_of(ghost, kernel, 0) ||
				    bgdma_grave_of(ghost, kernel,
						   BGDMA_GRAVE_BACK)))
				xa_erase(&flows->ghosts, key);
			continue;
		}
		if (bgdma_ghost_kernel(ghost) != kernel)
			continue;
		if (!bye)
			rests = bgdma_ghost_rests(ghost);
		bgdma_ghost_end(flows, ghost);
		list_add_tail(&bgdma_ghost_of(ghost)->gone, gone);
		/* As there: its place is there. */
		if (rests)
			xa_store(&flows->ghosts, key, rests, GFP_KERNEL);
		else
			xa_erase(&flows->ghosts, key);
	}
}

/*
 * There may be many, and many to be told: without flows.mutex, for which all frames would
 * wait that are the first of a flow. None comes of this kernel meanwhile: no way leads
 * there until all is said.
 */
static void bgdma_ghosts_tell(struct list_head *gone)
{
	struct bgdma_ghost *g, *next;

	list_for_each_entry_safe(g, next, gone, gone) {
		bgdma_ghost_tell(&g->ctx);
		cond_resched();
	}
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
	LIST_HEAD(gone);
	u32 i;

	bgdma_kernel_left(ether, kernel, &nodes);
	/* A deposit that passes by the first of them finds the others gone, too. */
	for (i = 0; i < nodes.n; i++) {
		bgdma_groups_lose(ether->part, nodes.run[i].first,
				  nodes.run[i].last);
		cond_resched();
	}
	mutex_lock(&flows->mutex);
	bgdma_tx_each(flows, bgdma_tx_lose, &kernel);
	bgdma_ghosts_end(flows, kernel, bye, &gone);
	mutex_unlock(&flows->mutex);
	bgdma_ghosts_tell(&gone);
	/* What lived there and never spoke to us has no stand-in. */
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
	xa_init(&flows->ghosts);
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
	struct bgdma_ctx *ghost;
	unsigned long key;

	bgdma_idle_end(flows);
	bgdma_flows_stop(flows);
	bgdma_inbox_end(flows);
	mutex_lock(&flows->mutex);
	xa_for_each(&flows->ghosts, key, ghost) {
		if (!xa_is_value(ghost))
			bgdma_ghost_gone(flows, ghost);
	}
	mutex_unlock(&flows->mutex);
	bgdma_waiters_end(&flows->news);
	/* The last of all: what was being delivered may have led to an answer. */
	list_del_init(&flows->voice->node);
	bgdma_tx_stop(flows->voice);
	xa_destroy(&flows->ghosts);
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
