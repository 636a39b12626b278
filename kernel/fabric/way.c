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
 */
#include <net/sch_generic.h>

#include "way.h"

/* The run that a node is in; NULL: nobody says that it lives there. */
static const struct bgdma_way_run *bgdma_way_run(const struct bgdma_ways *ways,
						 u32 rank)
{
	u32 low = 0, high = ways->n_runs;

	while (low < high) {
		u32 i = (low + high) / 2;

		if (rank < ways->run[i].first)
			high = i;
		else if (rank > ways->run[i].last)
			low = i + 1;
		else
			return &ways->run[i];
	}
	return NULL;
}

static u16 bgdma_way_home(const struct bgdma_ways *ways, u32 rank)
{
	const struct bgdma_way_run *run;

	if (likely(ways->home))
		return ways->home[rank];
	run = bgdma_way_run(ways, rank);
	return run ? run->owner : BGDMA_OWNER_NONE;
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

/**
 * bgdma_way_joins() - is the way from a node to the next one open?
 * @ways: of the partition
 * @rank: the node
 * @next: to it
 */
bool bgdma_way_joins(const struct bgdma_ways *ways, u32 rank, u32 next)
{
	u16 from = bgdma_way_home(ways, rank);
	u16 to = bgdma_way_home(ways, next);

	if (from == BGDMA_OWNER_NONE || to == BGDMA_OWNER_NONE)
		return false;
	return from == to || bgdma_owner_reaches(ways, from, to);
}

/**
 * bgdma_way_open() - a bgdma_route_open_fn
 * @arg: struct bgdma_ways
 * @rank: of a node
 * @direction: enum bgdma_direction
 */
bool bgdma_way_open(void *arg, u32 rank, unsigned int direction)
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
	/* bgdma_ether_stop() sets it before a grace period. */
	if (!READ_ONCE(ether->dead))
		bgdma_link_queue_work(&ether->tables);
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

/*
 * Of the nodes here that a packet would pass in the direction in which it came to one,
 * the last. Only where the next hop is sure to lead on in this direction from each of
 * them: elsewhere it is looked for node by node.
 */
static u32 bgdma_way_straight(const struct bgdma_ways *ways,
			      const struct bgdma_way *way, u32 to,
			      bool adaptive, u32 *looks)
{
	u32 hops = bgdma_route_nearer(&ways->shape, way->rank, to,
				      way->direction);
	const struct bgdma_way_run *run = bgdma_way_run(ways, way->rank);
	u32 rank = way->rank, next;

	if (!hops ||
	    (ways->closed &&
	     (ways->home || adaptive ||
	      way->direction != bgdma_route_first(bgdma_route_minimal(&ways->shape,
								      rank, to)))))
		return rank;
	while (run && *looks) {
		--*looks;
		rank = bgdma_route_along(&ways->shape, rank, way->direction,
					 run, &hops);
		if (!hops)
			break;
		next = bgdma_route_neighbour(&ways->shape, rank,
					     way->direction);
		run = bgdma_way_run(ways, next);
		/* Owner 0 is this kernel. */
		if (!run || run->owner)
			break;
		rank = next;
		if (!--hops)
			break;
	}
	return rank;
}

/**
 * bgdma_way_leave() - the next hop that leads to another kernel
 * @ether: of the partition
 * @from: node that lives here
 * @to: one that lives elsewhere
 * @adaptive: as of bgdma_way_next()
 * @looks: the longest that it may take; what is left of that
 *
 * Nodes of our own are no hops, and there may be thousands on the way.
 *
 * Context: as of bgdma_way_next().
 * Return: as of bgdma_way_next(); a node that lives here if @looks did not suffice:
 * so far it has come.
 */
struct bgdma_way bgdma_way_leave(struct bgdma_ether *ether, u32 from, u32 to,
				 bool adaptive, u32 *looks)
{
	struct bgdma_way way = { .rank = from };
	const struct bgdma_ways *ways;

	while (*looks) {
		--*looks;
		way = bgdma_way_next(ether, way.rank, to, adaptive);
		if (way.rank == BGDMA_ROUTE_NONE || way.peer)
			break;
		ways = rcu_dereference(ether->ways);
		if (ways)
			way.rank = bgdma_way_straight(ways, &way, to, adaptive,
						      looks);
	}
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
