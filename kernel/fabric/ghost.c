// SPDX-License-Identifier: GPL-2.0
/*
 * Contexts behind the links: where each is, or was, is remembered, and as long as it has
 * a flow to here it has a stand-in.
 *
 * All of that is memory that others lead to and nobody here is charged for, so of each
 * there is so much and no more. Whoever asks for it may have as much as is left for
 * others: who is alone has a half, two have a third each, and there is always some for
 * whoever comes.
 */
#include <linux/jhash.h>
#include <linux/slab.h>

#include "../engine/busy.h"
#include "flow.h"

/* Receiver's ends of a partition; shared by contexts. */
#define BGDMA_RX_FLOWS_MAX	65536
/* Stand-ins of a partition, and contexts that it remembers; shared by kernels. */
#define BGDMA_GHOSTS_MAX	32768
#define BGDMA_PLACES_MAX	131072
/* A kernel speaks from its first node, which may be another some day. */
#define BGDMA_VOICES_MAX	4
/* Bytes of frames that wait: of a partition, shared by contexts; of all, by partitions. */
#define BGDMA_RX_KEPT_MAX	(128L << 20)
#define BGDMA_RX_KEPT_ALL	(256L << 20)

static atomic_long_t bgdma_rx_kept_all;

/**
 * struct bgdma_home - a kernel where contexts live that have sent something
 * @node: in flows.homes
 * @kernel: its number
 * @user: the engine takes all of them for one: whose each is nobody knows here
 * @refs: places and stand-ins
 * @n_ghosts: of contexts, that there are
 * @n_places: of contexts
 * @n_voices: of itself
 * @rcu: threads may be at @user just now
 */
struct bgdma_home {
	struct hlist_node node;
	u64 kernel;
	struct bgdma_user user;
	u32 refs;
	u32 n_ghosts;
	u32 n_places;
	u32 n_voices;
	struct rcu_head rcu;
};

/**
 * struct bgdma_place - where a context is, or was
 * @home: kernel of the last one
 * @ghost: stands for it, if it has flows to here
 * @who: the last one
 * @lives: when it ends who dealt with it has to be told
 * @back: its kernel was thought to be dead, and may come back
 * @last: then the session of the last flow of before
 *
 * It stays as long as its kernel lives: frames of a context that were long on their way
 * must neither land twice nor make it anew. And contexts of a kernel that comes back
 * send again what had been dealt with, so of these it stays which flows are over.
 */
struct bgdma_place {
	struct bgdma_home *home;
	struct bgdma_ghost *ghost;
	struct bgdma_principal who;
	bool lives;
	bool back;
	u32 last;
};

/**
 * struct bgdma_ghost - what stands for a context behind the links
 * @ctx: where others look; first, as kfree() gets it
 * @kernel: number of the one where it lives
 * @home: the same
 * @place: its; until it ends
 * @rx: receiver's ends of its flows; flows.mutex
 * @n_rx: so many
 * @kept: bytes of frames that these keep
 * @gone: with others of its kernel, which is gone, that nobody was told of yet
 */
struct bgdma_ghost {
	struct bgdma_ctx ctx;
	u64 kernel;
	struct bgdma_home *home;
	struct bgdma_place *place;
	struct list_head rx;
	u32 n_rx;
	atomic_long_t kept;
	struct list_head gone;
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

/* --------------------------------------------------------------------- */
/* Kernels                                                                */

static struct bgdma_home *bgdma_home_get(struct bgdma_flows *flows, u64 kernel)
{
	u32 hash = jhash_2words(kernel, kernel >> 32, bgdma_flow_seed);
	struct bgdma_home *home;

	hash_for_each_possible(flows->homes, home, node, hash) {
		if (home->kernel == kernel)
			goto out;
	}
	home = kzalloc(sizeof(*home), GFP_KERNEL);
	if (!home)
		return NULL;
	home->kernel = kernel;
	home->user.uid = INVALID_UID;
	INIT_LIST_HEAD(&home->user.round);
	INIT_LIST_HEAD(&home->user.rq_node);
	INIT_LIST_HEAD(&home->user.node);
	hash_add(flows->homes, &home->node, hash);
out:
	home->refs++;
	return home;
}

static void bgdma_home_put(struct bgdma_home *home)
{
	if (--home->refs)
		return;
	hash_del(&home->node);
	kfree_rcu(home, rcu);
}

/* --------------------------------------------------------------------- */
/* Places                                                                 */

/* Neighbours in a node are not neighbours here: most have few contexts. */
static unsigned long bgdma_place_key(const struct bgdma_flows *flows,
				     const struct bgdma_principal *who)
{
	/* The kernel is behind all contexts of its node. */
	return min_t(u32, who->ctx, BGDMA_CTX_PER_NODE) *
	       (unsigned long)flows->ether->part->size + who->rank;
}

static struct bgdma_place *bgdma_place_at(struct bgdma_flows *flows,
					  const struct bgdma_principal *who)
{
	return xa_load(&flows->places, bgdma_place_key(flows, who));
}

static void bgdma_place_count(struct bgdma_flows *flows,
			      struct bgdma_place *place, int n)
{
	if (place->who.ctx == BGDMA_CTX_ANY) {
		place->home->n_voices += n;
		return;
	}
	place->home->n_places += n;
	flows->n_places += n;
}

/* Nobody was there before. NULL: there is no room, or its kernel has its share. */
static struct bgdma_place *bgdma_place_new(struct bgdma_flows *flows, u64 kernel,
					   const struct bgdma_principal *who)
{
	struct bgdma_home *home = bgdma_home_get(flows, kernel);
	struct bgdma_place *place;

	if (!home)
		return NULL;
	if (who->ctx == BGDMA_CTX_ANY ? home->n_voices >= BGDMA_VOICES_MAX :
	    !bgdma_share(home->n_places, 1, flows->n_places, BGDMA_PLACES_MAX))
		goto put;
	place = kzalloc(sizeof(*place), GFP_KERNEL);
	if (!place)
		goto put;
	place->home = home;
	place->who = *who;
	if (xa_err(xa_store(&flows->places, bgdma_place_key(flows, who), place,
			    GFP_KERNEL)))
		goto free;
	bgdma_place_count(flows, place, 1);
	return place;
free:
	kfree(place);
put:
	bgdma_home_put(home);
	return NULL;
}

/* Nobody lives there. */
static void bgdma_place_free(struct bgdma_flows *flows, struct bgdma_place *place)
{
	xa_erase(&flows->places, bgdma_place_key(flows, &place->who));
	bgdma_place_count(flows, place, -1);
	bgdma_home_put(place->home);
	kfree(place);
}

/* --------------------------------------------------------------------- */
/* Stand-ins                                                              */

static struct bgdma_ghost *bgdma_ghost_new(struct bgdma_flows *flows,
					   struct bgdma_place *place)
{
	struct bgdma_home *home = place->home;
	struct bgdma_ghost *g;

	if (place->who.ctx != BGDMA_CTX_ANY &&
	    !bgdma_share(home->n_ghosts, 1, flows->n_ghosts, BGDMA_GHOSTS_MAX))
		return NULL;
	g = kzalloc(sizeof(*g), GFP_KERNEL);
	if (!g)
		return NULL;
	BUILD_BUG_ON(offsetof(struct bgdma_ghost, ctx));
	bgdma_ctx_init(&g->ctx);
	g->ctx.user = &home->user;
	g->ctx.partition = flows->ether->part;
	g->ctx.rank = place->who.rank;
	g->ctx.id = place->who.ctx;
	g->ctx.who = place->who;
	bgdma_busy_init(&g->ctx.busy);
	g->kernel = home->kernel;
	g->home = home;
	g->place = place;
	INIT_LIST_HEAD(&g->rx);
	home->refs++;
	if (place->who.ctx != BGDMA_CTX_ANY) {
		home->n_ghosts++;
		flows->n_ghosts++;
	}
	place->ghost = g;
	return g;
}

/* It has ended, and nobody is busy with it. */
static void bgdma_ghost_free(struct bgdma_flows *flows, struct bgdma_ghost *g)
{
	lockdep_assert_held(&flows->mutex);
	if (g->ctx.id != BGDMA_CTX_ANY) {
		g->home->n_ghosts--;
		flows->n_ghosts--;
	}
	bgdma_home_put(g->home);
	bgdma_ctx_put(&g->ctx);
}

/* Nothing runs in its name any more: it has no place, and soon no flow. */
static void bgdma_ghost_end(struct bgdma_ghost *g)
{
	struct bgdma_rx_flow *flow, *next;

	g->place->ghost = NULL;
	g->place = NULL;
	WRITE_ONCE(g->ctx.dead, true);
	list_for_each_entry_safe(flow, next, &g->rx, node)
		bgdma_rx_free(flow);
	bgdma_busy_put(&g->ctx.busy);
}

/* It has no flow: who it is its place remembers. */
static void bgdma_ghost_rest(struct bgdma_flows *flows, struct bgdma_ghost *g)
{
	struct bgdma_place *place = g->place;

	bgdma_ghost_end(g);
	bgdma_busy_wait(&g->ctx.busy);
	bgdma_ghost_free(flows, g);
	if (place->who.ctx == BGDMA_CTX_ANY)
		bgdma_place_free(flows, place);
}

/*
 * A context is no more. Who dealt with it is told, before anything lands of who
 * has its place next.
 */
static void bgdma_place_gone(struct bgdma_flows *flows, struct bgdma_place *place,
			     kuid_t uid)
{
	struct bgdma_ghost *g = place->ghost;

	lockdep_assert_held(&flows->mutex);
	place->lives = false;
	place->back = false;
	if (g) {
		bgdma_ghost_end(g);
		bgdma_busy_wait(&g->ctx.busy);
		bgdma_ghost_free(flows, g);
	}
	if (place->who.ctx == BGDMA_CTX_ANY)
		bgdma_place_free(flows, place);
	else
		bgdma_partition_tell(flows->ether->part, &place->who, uid);
}

/*
 * That of somebody who lives at a kernel, as far as is known. Whoever had it before is
 * gone. Else -ESTALE: he is gone, or a later one has it; or -ENOMEM: there is no room.
 */
static struct bgdma_place *bgdma_place_get(struct bgdma_flows *flows, u64 kernel,
					   const struct bgdma_principal *who)
{
	struct bgdma_place *place = bgdma_place_at(flows, who);
	s32 newer = place ? who->incarnation - place->who.incarnation : 1;
	bool same = place && place->home->kernel == kernel;

	lockdep_assert_held(&flows->mutex);
	/* Numbers of contexts only grow. */
	if (same && (newer < 0 || (!newer && !place->lives && !place->back)))
		return ERR_PTR(-ESTALE);
	/* If its kernel began anew that may not have been missed yet. */
	if (place && place->lives && (!same || newer)) {
		bgdma_place_gone(flows, place, INVALID_UID);
		place = bgdma_place_at(flows, who);
	}
	if (place && !same) {
		bgdma_place_free(flows, place);
		place = NULL;
	}
	if (!place)
		place = bgdma_place_new(flows, kernel, who);
	if (!place)
		return ERR_PTR(-ENOMEM);
	place->who = *who;
	place->lives = true;
	return place;
}

/* --------------------------------------------------------------------- */
/* Their flows                                                            */

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
	const struct bgdma_principal who = { .rank = key->src, .ctx = key->ctx };
	const struct bgdma_place *place = bgdma_place_at(flows, &who);

	lockdep_assert_held(&flows->mutex);
	return place && place->back && place->home->kernel == kernel &&
	       (s32)(session - place->last) <= 0;
}

/* A kernel has a flow to each of our nodes, all of one name. */
static bool bgdma_ghost_speaks(u64 kernel, const struct bgdma_flow_key *key)
{
	return key->tag == BGDMA_FLOW_KERNEL && !key->adaptive &&
	       key->inc == (u32)kernel;
}

/**
 * bgdma_ghost_flow() - a context behind the links begins a flow to here
 * @flows: of the partition
 * @kernel: number of the one where it lives
 * @key: names the flow
 * @flow: the receiver's end
 *
 * It may have as many as are left for others, so that there is room for whoever has
 * few. A kernel has its own, which have to be there.
 *
 * Context: flows.mutex held; may sleep.
 * Return: its stand-in, which stays as long as the flow. NULL: it is gone, or there is no
 * room.
 */
struct bgdma_ctx *bgdma_ghost_flow(struct bgdma_flows *flows, u64 kernel,
				   const struct bgdma_flow_key *key,
				   struct bgdma_rx_flow *flow)
{
	const struct bgdma_principal who = {
		.rank = key->src, .ctx = key->ctx, .incarnation = key->inc,
	};
	bool voice = key->ctx == BGDMA_CTX_ANY;
	struct bgdma_place *place;
	struct bgdma_ghost *g;

	lockdep_assert_held(&flows->mutex);
	if (key->src >= flows->ether->part->size ||
	    (voice ? !bgdma_ghost_speaks(kernel, key) :
		     flows->n_rx >= BGDMA_RX_FLOWS_MAX))
		return NULL;
	place = bgdma_place_get(flows, kernel, &who);
	if (IS_ERR(place))
		return NULL;
	g = place->ghost ?: bgdma_ghost_new(flows, place);
	if (!g)
		return NULL;
	if (!voice && !bgdma_share(g->n_rx, 1, flows->n_rx, BGDMA_RX_FLOWS_MAX))
		return NULL;
	list_add_tail(&flow->node, &g->rx);
	g->n_rx++;
	flows->n_rx++;
	return &g->ctx;
}

/**
 * bgdma_ghost_flow_end() - one of its flows is no more
 * @flows: of the partition
 * @flow: the receiver's end, which nobody runs; its stand-in may be gone afterwards
 *
 * Context: flows.mutex held; may sleep.
 */
void bgdma_ghost_flow_end(struct bgdma_flows *flows, struct bgdma_rx_flow *flow)
{
	struct bgdma_ghost *g = bgdma_ghost_of(flow->s.ctx);

	lockdep_assert_held(&flows->mutex);
	list_del(&flow->node);
	flows->n_rx--;
	if (!--g->n_rx && g->place)
		bgdma_ghost_rest(flows, g);
}

/**
 * bgdma_ghost_keeps() - may a flow keep so much more of what has arrived?
 * @flow: the receiver's end
 * @bytes: so much
 *
 * As with flows: the sender may have as much kept as is left for others, however many
 * FIFOs it has, and however little its receivers read. So may all senders of a partition,
 * however many partitions somebody has.
 *
 * Context: flow.lock held.
 */
bool bgdma_ghost_keeps(const struct bgdma_rx_flow *flow, u32 bytes)
{
	const struct bgdma_ghost *g = bgdma_ghost_of(flow->s.ctx);
	long all = atomic_long_read(&flow->ether->flows->kept);

	lockdep_assert_held(&flow->lock);
	return bgdma_share(atomic_long_read(&g->kept), bytes, all,
			   BGDMA_RX_KEPT_MAX) &&
	       bgdma_share(all, bytes, atomic_long_read(&bgdma_rx_kept_all),
			   BGDMA_RX_KEPT_ALL);
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
	atomic_long_add(bytes, &bgdma_rx_kept_all);
}

/* --------------------------------------------------------------------- */
/* Their end                                                              */

/**
 * bgdma_ghost_gone() - a context behind the links is said to have left
 * @flows: of the partition
 * @kernel: number of the one where it lived
 * @who: it
 * @uid: whose it was
 *
 * It may be one that never sent anything to here.
 *
 * Context: may sleep; without locks.
 */
void bgdma_ghost_gone(struct bgdma_flows *flows, u64 kernel,
		      const struct bgdma_principal *who, kuid_t uid)
{
	struct bgdma_place *place;

	mutex_lock(&flows->mutex);
	place = bgdma_place_get(flows, kernel, who);
	if (!IS_ERR(place))
		bgdma_place_gone(flows, place, uid);
	else if (place == ERR_PTR(-ENOMEM))
		/* If it comes again it is not known; but nobody waits for it. */
		bgdma_partition_tell(flows->ether->part, who, uid);
	mutex_unlock(&flows->mutex);
}

/* What stays of it if its kernel, which is gone, may come back: true if anything. */
static bool bgdma_place_rests(struct bgdma_place *place)
{
	const struct bgdma_rx_flow *flow;

	if (place->who.ctx == BGDMA_CTX_ANY)
		return false;
	if (!place->ghost)
		return place->back;
	list_for_each_entry(flow, &place->ghost->rx, node) {
		if (!place->back || (s32)(flow->session - place->last) > 0)
			place->last = flow->session;
		place->back = true;
	}
	return place->back;
}

/* @rests: something is to be known of it. */
static void bgdma_place_leave(struct bgdma_flows *flows, struct bgdma_place *place,
			      bool rests)
{
	place->lives = false;
	if (!rests)
		bgdma_place_free(flows, place);
}

/*
 * A kernel that said that it leaves never comes back: nothing stays of it. What stood for
 * those that lived there is in @gone afterwards.
 */
static void bgdma_ghosts_end(struct bgdma_flows *flows, u64 kernel, bool bye,
			     struct list_head *gone)
{
	struct bgdma_place *place;
	struct bgdma_ghost *g;
	unsigned long key;
	bool rests;

	lockdep_assert_held(&flows->mutex);
	xa_for_each(&flows->places, key, place) {
		cond_resched();
		if (place->home->kernel != kernel)
			continue;
		g = place->ghost;
		if (!place->lives) {
			if (bye)
				bgdma_place_free(flows, place);
		} else if (g) {
			rests = !bye && bgdma_place_rests(place);
			bgdma_ghost_end(g);
			list_add_tail(&g->gone, gone);
			bgdma_place_leave(flows, place, rests);
		}
	}
}

/*
 * There may be many, and many to be told: without flows.mutex, for which all frames would
 * wait that are the first of a flow. None comes of this kernel meanwhile: no way leads
 * there until all is said.
 */
static void bgdma_ghosts_tell(struct bgdma_flows *flows, struct list_head *gone)
{
	struct bgdma_ghost *g, *next;

	list_for_each_entry(g, gone, gone) {
		bgdma_busy_wait(&g->ctx.busy);
		if (g->ctx.id != BGDMA_CTX_ANY)
			bgdma_partition_tell(flows->ether->part, &g->ctx.who,
					     INVALID_UID);
		cond_resched();
	}
	mutex_lock(&flows->mutex);
	list_for_each_entry_safe(g, next, gone, gone)
		bgdma_ghost_free(flows, g);
	mutex_unlock(&flows->mutex);
}

/* Those that live there and had no stand-in, some of them, from *@key on: how many. */
static u32 bgdma_places_leave(struct bgdma_flows *flows, u64 kernel, bool bye,
			      unsigned long *key, struct bgdma_principal *who,
			      u32 most)
{
	struct bgdma_place *place;
	unsigned long at;
	u32 n = 0;

	mutex_lock(&flows->mutex);
	xa_for_each_start(&flows->places, at, place, *key) {
		cond_resched();
		*key = at;
		if (n == most)
			break;
		if (place->home->kernel != kernel || !place->lives ||
		    place->ghost)
			continue;
		if (place->who.ctx != BGDMA_CTX_ANY)
			who[n++] = place->who;
		bgdma_place_leave(flows, place,
				  !bye && bgdma_place_rests(place));
	}
	mutex_unlock(&flows->mutex);
	return n;
}

/* As bgdma_ghosts_tell(). */
static void bgdma_places_tell(struct bgdma_flows *flows, u64 kernel, bool bye)
{
	struct bgdma_principal who[16];
	unsigned long key = 0;
	u32 n, i;

	do {
		n = bgdma_places_leave(flows, kernel, bye, &key, who,
				       ARRAY_SIZE(who));
		for (i = 0; i < n; i++)
			bgdma_partition_tell(flows->ether->part, &who[i],
					     INVALID_UID);
	} while (n == ARRAY_SIZE(who));
}

/**
 * bgdma_ghosts_gone() - a kernel is dead, and all of its contexts
 * @flows: of the partition
 * @kernel: its number
 * @bye: it said so
 * @first: done in the same hold of flows.mutex, before
 *
 * Context: may sleep; without locks.
 */
void bgdma_ghosts_gone(struct bgdma_flows *flows, u64 kernel, bool bye,
		       void (*first)(struct bgdma_tx *tx, void *arg))
{
	LIST_HEAD(gone);

	mutex_lock(&flows->mutex);
	bgdma_tx_each(flows, first, &kernel);
	bgdma_ghosts_end(flows, kernel, bye, &gone);
	mutex_unlock(&flows->mutex);
	bgdma_ghosts_tell(flows, &gone);
	bgdma_places_tell(flows, kernel, bye);
}

/**
 * bgdma_ghosts_none() - nothing is remembered any more
 * @flows: of a partition that has no contexts to be told
 *
 * Context: may sleep; without locks.
 */
void bgdma_ghosts_none(struct bgdma_flows *flows)
{
	struct bgdma_place *place;
	struct bgdma_ghost *g;
	unsigned long key;

	mutex_lock(&flows->mutex);
	xa_for_each(&flows->places, key, place) {
		g = place->ghost;
		if (g) {
			bgdma_ghost_end(g);
			bgdma_busy_wait(&g->ctx.busy);
			bgdma_ghost_free(flows, g);
		}
		bgdma_place_free(flows, place);
		cond_resched();
	}
	mutex_unlock(&flows->mutex);
	xa_destroy(&flows->places);
}
