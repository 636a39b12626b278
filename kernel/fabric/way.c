// SPDX-License-Identifier: GPL-2.0
/*
 * The next hop. Each node of a partition has an owner, the kernel where it lives. A
 * way from a node to the next one is open if both have the same owner, or if that of
 * the first reaches that of the next over a link.
 *
 * With all ways open, ways are arithmetic. Where one is closed, the distances of all
 * nodes from a destination are counted out by a worker, and kept: packets go to any
 * node that is nearer, so with the same knowledge everywhere no packet goes round in
 * circles; while kernels know different things, the hop limit ends that.
 *
 * All of it is made anew when something changes, under ether.lock, and looked at
 * under RCU, also in softirq.
 */
#include <linux/slab.h>
#include <linux/sort.h>
#include <net/sch_generic.h>

#include "link.h"

/* No owner is known. */
#define BGDMA_OWNER_NONE	0xffff
/* Destinations whose distances are kept, and bytes of them. */
#define BGDMA_FAR_MAX		256
#define BGDMA_FAR_MIN		16
#define BGDMA_FAR_BYTES		(4U << 20)
/* Destinations that somebody waits for. */
#define BGDMA_WANTS		64

/**
 * struct bgdma_owner - a kernel
 * @entry: of ether.kernels; only while the ways are made
 * @peer: the best one that leads there, if it is next to us
 * @kernel: its number
 * @next: first of those that it reaches, in bgdma_ways.next
 * @n_next: so many, in order
 */
struct bgdma_owner {
	struct bgdma_kernel *entry;
	struct bgdma_peer *peer;
	u64 kernel;
	u32 next;
	u32 n_next;
};

/* Nodes in a row of one owner. */
struct bgdma_way_run {
	u32 first;
	u32 last;
	u16 owner;
};

/**
 * struct bgdma_far - how far all nodes are from one
 * @rcu: freed after a grace period
 * @used: last, in jiffies
 * @distance: by rank
 */
struct bgdma_far {
	struct rcu_head rcu;
	unsigned long used;
	u16 distance[];
};

/**
 * struct bgdma_ways - where each node lives, and how to get there
 * @rcu: freed after a grace period
 * @shape: of the partition
 * @size: nodes
 * @closed: a way somewhere is
 * @n_owners: kernels
 * @owner: we first
 * @n_runs: so many
 * @run: in order
 * @next: see struct bgdma_owner
 * @home: owners by rank; NULL in partitions of more than BGDMA_ROUTE_NODES_MAX
 * @far: struct bgdma_far by destination
 * @n_far: so many
 * @want: destination + 1 that is to be there soon
 */
struct bgdma_ways {
	struct rcu_head rcu;
	struct bgdma_shape shape;
	u32 size;
	bool closed;
	u32 n_owners;
	struct bgdma_owner *owner;
	u32 n_runs;
	struct bgdma_way_run *run;
	u16 *next;
	u16 *home;
	struct xarray far;
	u32 n_far;
	u32 want[BGDMA_WANTS];
};

/* ---- Looking ------------------------------------------------------------- */

static u16 bgdma_way_home(const struct bgdma_ways *ways, u32 rank)
{
	u32 low = 0, high = ways->n_runs;

	if (likely(ways->home))
		return ways->home[rank];
	while (low < high) {
		u32 i = (low + high) / 2;

		if (rank < ways->run[i].first)
			high = i;
		else if (rank > ways->run[i].last)
			low = i + 1;
		else
			return ways->run[i].owner;
	}
	return BGDMA_OWNER_NONE;
}

/* Does one kernel reach another? */
static bool bgdma_owner_reaches(const struct bgdma_ways *ways, u16 from, u16 to)
{
	const struct bgdma_owner *owner = &ways->owner[from];
	u32 low = owner->next, high = low + owner->n_next;

	if (!from)
		return ways->owner[to].peer;
	while (low < high) {
		u32 i = (low + high) / 2;

		if (to == ways->next[i])
			return true;
		if (to < ways->next[i])
			high = i;
		else
			low = i + 1;
	}
	return false;
}

static bool bgdma_way_joins(const struct bgdma_ways *ways, u32 rank, u32 next)
{
	u16 from = bgdma_way_home(ways, rank);
	u16 to = bgdma_way_home(ways, next);

	if (from == BGDMA_OWNER_NONE || to == BGDMA_OWNER_NONE)
		return false;
	return from == to || bgdma_owner_reaches(ways, from, to);
}

static bool bgdma_way_open(void *arg, u32 rank, unsigned int direction)
{
	const struct bgdma_ways *ways = arg;

	return bgdma_way_joins(ways, rank,
			       bgdma_route_neighbour(&ways->shape, rank,
						     direction));
}

/* Have the distances of a destination counted out. */
static void bgdma_way_want(struct bgdma_ether *ether, struct bgdma_ways *ways,
			   u32 to)
{
	u32 *want = &ways->want[to % BGDMA_WANTS];

	if (READ_ONCE(*want) == to + 1)
		return;
	WRITE_ONCE(*want, to + 1);
	/* bgdma_ether_end() sets it before a grace period. */
	if (!READ_ONCE(ether->dead))
		bgdma_link_queue(&ether->tick, 0);
}

/* Of the ways out of a node, those that lead nearer to another. */
static u32 bgdma_way_nearer(struct bgdma_ways *ways, struct bgdma_far *far,
			    u32 from)
{
	u32 mask = 0, d, next;

	/* Its line is read by all CPUs: not written more often than it changes. */
	if (time_after(jiffies, READ_ONCE(far->used)))
		WRITE_ONCE(far->used, jiffies);
	for (d = 0; d < BGDMA_DIRECTIONS; d++) {
		next = bgdma_route_neighbour(&ways->shape, from, d);
		if (next != BGDMA_ROUTE_NONE &&
		    far->distance[next] < far->distance[from] &&
		    bgdma_way_joins(ways, from, next))
			mask |= 1U << d;
	}
	return mask;
}

/* The same where a way somewhere is closed. */
static u32 bgdma_way_round(struct bgdma_ether *ether, struct bgdma_ways *ways,
			   u32 from, u32 to, bool *later)
{
	struct bgdma_far *far = xa_load(&ways->far, to);
	u32 mask = bgdma_route_minimal(&ways->shape, from, to), d;

	if (far)
		return bgdma_way_nearer(ways, far, from);
	for (d = 0; d < BGDMA_DIRECTIONS; d++) {
		if (mask & 1U << d && !bgdma_way_open(ways, from, d))
			mask &= ~(1U << d);
	}
	if (ways->home) {
		bgdma_way_want(ether, ways, to);
		*later = !mask;
	}
	return mask;
}

/* How much waits there before us. */
static u32 bgdma_way_load(const struct bgdma_peer *peer)
{
	struct netdev_queue *queue;

	if (!peer)
		return 0;
	if (!READ_ONCE(peer->link->up))
		return U32_MAX;
	queue = netdev_get_tx_queue(peer->link->dev, 0);
	if (netif_xmit_stopped(queue))
		return U32_MAX - 1;
	return qdisc_qlen_sum(rcu_dereference(queue->qdisc));
}

static struct bgdma_peer *bgdma_way_peer(const struct bgdma_ways *ways,
					 u32 rank)
{
	u16 owner = bgdma_way_home(ways, rank);

	return owner == BGDMA_OWNER_NONE ? NULL : ways->owner[owner].peer;
}

/* The emptiest of several; of those that are as empty one after the other. */
static unsigned int bgdma_way_emptiest(const struct bgdma_ways *ways, u32 from,
				       u32 mask)
{
	static DEFINE_PER_CPU(u32, turn);
	unsigned int best = bgdma_route_first(mask), i;
	u32 least = U32_MAX, start;

	if (!(mask & (mask - 1)))
		return best;
	start = this_cpu_inc_return(turn);
	for (i = 0; i < BGDMA_DIRECTIONS; i++) {
		unsigned int d = (start + i) % BGDMA_DIRECTIONS;
		u32 load, next;

		if (!(mask & 1U << d))
			continue;
		next = bgdma_route_neighbour(&ways->shape, from, d);
		load = bgdma_way_load(bgdma_way_peer(ways, next));
		if (load < least) {
			least = load;
			best = d;
		}
	}
	return best;
}

/**
 * bgdma_way_next() - the next hop
 * @ether: of the partition
 * @from: node where the packet is; @way.peer means something if it lives here
 * @to: another node
 * @adaptive: any way that leads nearer, else always the same
 *
 * Context: under RCU, also in softirq. What it returns stays until that ends.
 */
struct bgdma_way bgdma_way_next(struct bgdma_ether *ether, u32 from, u32 to,
				bool adaptive)
{
	struct bgdma_ways *ways = rcu_dereference(ether->ways);
	struct bgdma_way way = { .rank = BGDMA_ROUTE_NONE };
	u32 mask;

	if (unlikely(!ways)) {
		way.later = !READ_ONCE(ether->dead);
		return way;
	}
	if (unlikely(from >= ways->size || to >= ways->size))
		return way;
	if (likely(!ways->closed))
		mask = bgdma_route_minimal(&ways->shape, from, to);
	else
		mask = bgdma_way_round(ether, ways, from, to, &way.later);
	if (!mask)
		return way;
	way.direction = adaptive ? bgdma_way_emptiest(ways, from, mask) :
				   bgdma_route_first(mask);
	way.rank = bgdma_route_neighbour(&ways->shape, from, way.direction);
	way.peer = bgdma_way_peer(ways, way.rank);
	return way;
}

/**
 * bgdma_way_dead() - what is in the way
 * @ether: of the partition
 * @from: a node
 * @to: another, to which there may be no way
 *
 * Context: any.
 * Return: the first way on that of dimension order that is closed, as rank * 6 +
 * enum bgdma_direction; BGDMA_ROUTE_NONE: all are open.
 */
u32 bgdma_way_dead(struct bgdma_ether *ether, u32 from, u32 to)
{
	u32 dead = BGDMA_ROUTE_NONE, mask;
	struct bgdma_ways *ways;

	rcu_read_lock();
	ways = rcu_dereference(ether->ways);
	if (!ways || from >= ways->size || to >= ways->size)
		goto unlock;
	while ((mask = bgdma_route_minimal(&ways->shape, from, to))) {
		unsigned int d = bgdma_route_first(mask);

		if (!bgdma_way_open(ways, from, d)) {
			dead = from * BGDMA_DIRECTIONS + d;
			break;
		}
		from = bgdma_route_neighbour(&ways->shape, from, d);
	}
unlock:
	rcu_read_unlock();
	return dead;
}

/**
 * bgdma_way_kernel() - where a node lives
 * @ether: of the partition
 * @rank: the node
 *
 * Context: any.
 * Return: the kernel's number, which may be ours; 0: nobody says that it lives there.
 */
u64 bgdma_way_kernel(struct bgdma_ether *ether, u32 rank)
{
	struct bgdma_ways *ways;
	u64 kernel = 0;
	u16 owner;

	rcu_read_lock();
	ways = rcu_dereference(ether->ways);
	if (ways && rank < ways->size) {
		owner = bgdma_way_home(ways, rank);
		if (owner != BGDMA_OWNER_NONE)
			kernel = ways->owner[owner].kernel;
	}
	rcu_read_unlock();
	return kernel;
}

/* ---- Distances ----------------------------------------------------------- */

/* Room for one more: the one that was not used for longest goes. */
static void bgdma_far_evict(struct bgdma_ways *ways)
{
	size_t bytes = ways->size * sizeof(u16);
	struct bgdma_far *far, *oldest = NULL;
	unsigned long to, which = 0;

	if (ways->n_far < clamp_t(u32, BGDMA_FAR_BYTES / bytes, BGDMA_FAR_MIN,
				  BGDMA_FAR_MAX))
		return;
	xa_for_each(&ways->far, to, far) {
		if (!oldest || time_before(READ_ONCE(far->used),
					   READ_ONCE(oldest->used))) {
			oldest = far;
			which = to;
		}
	}
	xa_erase(&ways->far, which);
	ways->n_far--;
	kvfree_rcu(oldest, rcu);
}

/**
 * bgdma_way_table() - have the distances from a node at hand, if they are needed
 * @ether: of the partition; its lock held
 * @to: the node
 */
void bgdma_way_table(struct bgdma_ether *ether, u32 to)
{
	struct bgdma_ways *ways = rcu_dereference_protected(ether->ways,
					lockdep_is_held(&ether->lock));
	struct bgdma_far *far;
	u32 *queue;

	if (!ways || !ways->closed || !ways->home || to >= ways->size ||
	    xa_load(&ways->far, to))
		return;
	far = kvmalloc(struct_size(far, distance, ways->size), GFP_KERNEL);
	queue = kvmalloc_array(ways->size, sizeof(*queue), GFP_KERNEL);
	if (!far || !queue)
		goto free;
	far->used = jiffies;
	bgdma_route_flood(&ways->shape, to, bgdma_way_open, ways,
			  far->distance, queue);
	bgdma_far_evict(ways);
	if (xa_err(xa_store(&ways->far, to, far, GFP_KERNEL)))
		goto free;
	ways->n_far++;
	kvfree(queue);
	return;
free:
	kvfree(queue);
	kvfree(far);
}

/**
 * bgdma_way_tables() - all that somebody waits for
 * @ether: of the partition; its lock held
 */
void bgdma_way_tables(struct bgdma_ether *ether)
{
	struct bgdma_ways *ways = rcu_dereference_protected(ether->ways,
					lockdep_is_held(&ether->lock));
	int i;

	for (i = 0; ways && i < BGDMA_WANTS; i++) {
		u32 want = READ_ONCE(ways->want[i]);

		if (!want)
			continue;
		bgdma_way_table(ether, want - 1);
		WRITE_ONCE(ways->want[i], 0);
		cond_resched();
	}
}

/* ---- Making -------------------------------------------------------------- */

static void bgdma_ways_destroy(struct bgdma_ways *ways)
{
	struct bgdma_far *far;
	unsigned long to;

	xa_for_each(&ways->far, to, far)
		kvfree(far);
	xa_destroy(&ways->far);
	kvfree(ways->owner);
	kvfree(ways->run);
	kvfree(ways->next);
	kvfree(ways->home);
	kfree(ways);
}

static void bgdma_ways_rcu(struct rcu_head *rcu)
{
	bgdma_ways_destroy(container_of(rcu, struct bgdma_ways, rcu));
}

/* Those next to us first, so that they win where two say the same. */
static int bgdma_owner_order(const void *a, const void *b)
{
	const struct bgdma_owner *x = a, *y = b;

	if (!x->peer != !y->peer)
		return x->peer ? -1 : 1;
	return x->kernel < y->kernel ? -1 : x->kernel > y->kernel;
}

static int bgdma_run_order(const void *a, const void *b)
{
	const struct bgdma_way_run *x = a, *y = b;

	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	return (int)x->owner - (int)y->owner;
}

static int bgdma_next_order(const void *a, const void *b)
{
	return (int)*(const u16 *)a - (int)*(const u16 *)b;
}

/* Of several links the one within this kernel, else the first. */
static struct bgdma_peer *bgdma_owner_peer(struct bgdma_ether *ether,
					   u64 kernel)
{
	struct bgdma_peer *peer, *best = NULL;
	struct bgdma_link *link;

	list_for_each_entry(link, &ether->links, node) {
		list_for_each_entry(peer, &link->peers, node) {
			if (peer->state != BGDMA_PEER_UP ||
			    peer->kernel != kernel || link->gone)
				continue;
			if (!best || (link->inside && !best->link->inside))
				best = peer;
		}
	}
	return best;
}

static int bgdma_ways_owners(struct bgdma_ether *ether, struct bgdma_ways *ways)
{
	struct bgdma_kernel *kernel;
	u32 n = 1, i;

	ways->owner = kvcalloc(1 + ether->n_kernels, sizeof(*ways->owner),
			       GFP_KERNEL);
	if (!ways->owner)
		return -ENOMEM;
	ways->owner[0].kernel = ether->kernel;
	for (i = 0; i < ARRAY_SIZE(ether->kernels); i++) {
		hlist_for_each_entry(kernel, &ether->kernels[i], node) {
			kernel->index = BGDMA_OWNER_NONE;
			if (kernel->left)
				continue;
			ways->owner[n].entry = kernel;
			ways->owner[n].kernel = kernel->number;
			ways->owner[n].peer = bgdma_owner_peer(ether,
							       kernel->number);
			n++;
		}
	}
	sort(ways->owner + 1, n - 1, sizeof(*ways->owner), bgdma_owner_order,
	     NULL);
	for (i = 1; i < n; i++)
		ways->owner[i].entry->index = i;
	ways->n_owners = n;
	return 0;
}

static void bgdma_ways_add(struct bgdma_ways *ways, u16 owner,
			   const struct bgdma_wire_run *run, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++) {
		ways->run[ways->n_runs++] = (struct bgdma_way_run) {
			.first = le32_to_cpu(run[i].first),
			.last = le32_to_cpu(run[i].last),
			.owner = owner,
		};
	}
}

/* Each node has one owner: of two that say so the first. */
static void bgdma_ways_cut(struct bgdma_ways *ways)
{
	struct bgdma_way_run *to = ways->run, *last = NULL;
	u32 i;

	for (i = 0; i < ways->n_runs; i++) {
		struct bgdma_way_run run = ways->run[i];

		if (last && run.first <= last->last) {
			if (run.owner < last->owner)
				last->last = run.first - 1;
			else if (run.last <= last->last)
				continue;
			else
				run.first = last->last + 1;
		}
		last = to++;
		*last = run;
	}
	ways->n_runs = to - ways->run;
}

static int bgdma_ways_runs(struct bgdma_ether *ether, struct bgdma_ways *ways)
{
	struct bgdma_wire_run local[BGDMA_WIRE_RUNS];
	u32 n, i;

	n = bgdma_nodes_write(&ether->local, ways->size, local);
	for (i = 1; i < ways->n_owners; i++)
		n += le32_to_cpu(ways->owner[i].entry->state.runs);
	ways->run = kvcalloc(n, sizeof(*ways->run), GFP_KERNEL);
	if (!ways->run)
		return -ENOMEM;
	bgdma_ways_add(ways, 0, local, bgdma_nodes_write(&ether->local,
							 ways->size, local));
	for (i = 1; i < ways->n_owners; i++) {
		const struct bgdma_wire_state *state =
			&ways->owner[i].entry->state;

		bgdma_ways_add(ways, i, state->run, le32_to_cpu(state->runs));
	}
	sort(ways->run, ways->n_runs, sizeof(*ways->run), bgdma_run_order,
	     NULL);
	bgdma_ways_cut(ways);
	return 0;
}

static int bgdma_ways_homes(struct bgdma_ways *ways)
{
	u32 i, rank;

	if (ways->size > BGDMA_ROUTE_NODES_MAX)
		return 0;
	ways->home = kvmalloc_array(ways->size, sizeof(*ways->home),
				    GFP_KERNEL);
	if (!ways->home)
		return -ENOMEM;
	memset(ways->home, 0xff, ways->size * sizeof(*ways->home));
	for (i = 0; i < ways->n_runs; i++) {
		for (rank = ways->run[i].first; rank <= ways->run[i].last;
		     rank++)
			ways->home[rank] = ways->run[i].owner;
	}
	return 0;
}

/* Whom a kernel says that it reaches; 0 is us. */
static u16 bgdma_owner_index(struct bgdma_ether *ether, u64 number)
{
	struct bgdma_kernel *kernel;

	if (number == ether->kernel)
		return 0;
	kernel = bgdma_kernel_find(ether, number);
	return kernel ? kernel->index : BGDMA_OWNER_NONE;
}

static int bgdma_ways_next(struct bgdma_ether *ether, struct bgdma_ways *ways)
{
	u32 n = 0, i, j;

	for (i = 1; i < ways->n_owners; i++)
		n += le32_to_cpu(ways->owner[i].entry->state.peers);
	ways->next = kvcalloc(n ?: 1, sizeof(*ways->next), GFP_KERNEL);
	if (!ways->next)
		return -ENOMEM;
	for (n = 0, i = 1; i < ways->n_owners; i++) {
		struct bgdma_owner *owner = &ways->owner[i];
		const struct bgdma_wire_state *state = &owner->entry->state;

		owner->next = n;
		for (j = 0; j < le32_to_cpu(state->peers); j++) {
			u16 index = bgdma_owner_index(ether,
						      le64_to_cpu(state->peer[j]));

			if (index != BGDMA_OWNER_NONE)
				ways->next[n++] = index;
		}
		owner->n_next = n - owner->next;
		sort(ways->next + owner->next, owner->n_next,
		     sizeof(*ways->next), bgdma_next_order, NULL);
		/* Freed before the ways are. */
		owner->entry = NULL;
	}
	return 0;
}

/* Is some way closed? In a partition that is too large for that it may be. */
static bool bgdma_ways_closed(struct bgdma_ways *ways)
{
	u32 rank, d;

	/* All lives here. */
	if (ways->n_runs == 1 && !ways->run->first && !ways->run->owner &&
	    ways->run->last == ways->size - 1)
		return false;
	if (!ways->home)
		return true;
	for (rank = 0; rank < ways->size; rank++) {
		for (d = 0; d < BGDMA_DIRECTIONS; d++) {
			u32 next = bgdma_route_neighbour(&ways->shape, rank, d);

			if (next != BGDMA_ROUTE_NONE &&
			    !bgdma_way_joins(ways, rank, next))
				return true;
		}
		if (!(rank % 4096))
			cond_resched();
	}
	return false;
}

/**
 * bgdma_ways_update() - make new ways, of what is known now
 * @ether: of the partition; its lock held
 *
 * When it returns no way leads to a peer that is not up, for whoever looks from now
 * on; without memory there are no ways at all, and it is tried again.
 */
void bgdma_ways_update(struct bgdma_ether *ether)
{
	struct bgdma_ways *ways, *old;

	lockdep_assert_held(&ether->lock);
	WRITE_ONCE(ether->stale, false);
	ways = kzalloc(sizeof(*ways), GFP_KERNEL);
	if (!ways)
		goto set;
	ways->shape = ether->shape;
	ways->size = bgdma_shape_size(&ether->shape);
	xa_init(&ways->far);
	if (bgdma_ways_owners(ether, ways) || bgdma_ways_runs(ether, ways) ||
	    bgdma_ways_homes(ways) || bgdma_ways_next(ether, ways)) {
		bgdma_ways_destroy(ways);
		ways = NULL;
		goto set;
	}
	ways->closed = bgdma_ways_closed(ways);
set:
	old = rcu_replace_pointer(ether->ways, ways,
				  lockdep_is_held(&ether->lock));
	if (old)
		call_rcu(&old->rcu, bgdma_ways_rcu);
	if (!ways)
		bgdma_ways_stale(ether);
}

/**
 * bgdma_ways_free() - there are no ways any more
 * @ether: that nobody looks at
 */
void bgdma_ways_free(struct bgdma_ether *ether)
{
	struct bgdma_ways *ways = rcu_dereference_protected(ether->ways, true);

	if (ways)
		call_rcu(&ways->rcu, bgdma_ways_rcu);
	RCU_INIT_POINTER(ether->ways, NULL);
}
