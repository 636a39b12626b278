// SPDX-License-Identifier: GPL-2.0
/*
 * Making of ways, out of what peers and kernels have said. All of it is made anew
 * when something changes, but for the distances from nodes, which are counted out
 * when somebody asks for the way there.
 */
#include <linux/maple_tree.h>
#include <linux/slab.h>
#include <linux/sort.h>

#include "way.h"

/* Destinations whose distances are kept, and bytes of them. */
#define BGDMA_FAR_MAX		256
#define BGDMA_FAR_MIN		16
#define BGDMA_FAR_BYTES		(4U << 20)

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

/* The ways as they are now, which stay until bgdma_ways_put(); or NULL. */
static struct bgdma_ways *bgdma_ways_get(struct bgdma_ether *ether)
{
	struct bgdma_ways *ways;

	mutex_lock(&ether->lock);
	ways = rcu_dereference_protected(ether->ways,
					 lockdep_is_held(&ether->lock));
	if (ways)
		refcount_inc(&ways->ref);
	mutex_unlock(&ether->lock);
	return ways;
}

static void bgdma_ways_put(struct bgdma_ways *ways)
{
	if (ways && refcount_dec_and_test(&ways->ref))
		call_rcu(&ways->rcu, bgdma_ways_rcu);
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
	xa_erase_bh(&ways->far, which);
	ways->n_far--;
	kvfree_rcu(oldest, rcu);
}

/* Those of @far are of these ways, which may not be the ether's any more. */
static bool bgdma_far_keep(struct bgdma_ether *ether, struct bgdma_ways *ways,
			   u32 to, struct bgdma_far *far)
{
	bool kept = false;

	mutex_lock(&ether->lock);
	if (rcu_access_pointer(ether->ways) == ways &&
	    !xa_load(&ways->far, to)) {
		bgdma_far_evict(ways);
		kept = !xa_err(xa_store_bh(&ways->far, to, far, GFP_KERNEL));
		ways->n_far += kept;
	}
	mutex_unlock(&ether->lock);
	return kept;
}

static void bgdma_far_make(struct bgdma_ether *ether, struct bgdma_ways *ways,
			   u32 to)
{
	struct bgdma_far *far;
	u32 *queue;

	if (!ways->closed || !ways->home || to >= ways->size ||
	    xa_load(&ways->far, to))
		return;
	far = kvmalloc(struct_size(far, distance, ways->size), GFP_KERNEL);
	queue = kvmalloc_array(ways->size, sizeof(*queue), GFP_KERNEL);
	if (far && queue) {
		far->used = jiffies;
		bgdma_route_flood(&ways->shape, to, bgdma_way_open, ways,
				  far->distance, queue);
		if (bgdma_far_keep(ether, ways, to, far))
			far = NULL;
	}
	kvfree(queue);
	kvfree(far);
}

/**
 * bgdma_way_table() - have the distances from a node at hand, if they are needed
 * @ether: of the partition
 * @to: the node
 *
 * That takes long, and others wait for the lock, some of them under RTNL.
 *
 * Context: may sleep; takes ether.lock, and does not keep it.
 */
void bgdma_way_table(struct bgdma_ether *ether, u32 to)
{
	struct bgdma_ways *ways = bgdma_ways_get(ether);

	if (!ways)
		return;
	bgdma_far_make(ether, ways, to);
	bgdma_ways_put(ways);
}

/**
 * bgdma_way_tables() - those that somebody waits for
 * @work: of an ether
 *
 * Who sends frames for elsewhere chooses how many are wanted: not in the tick, which
 * has to find out who is gone.
 */
void bgdma_way_tables(struct work_struct *work)
{
	struct bgdma_ether *ether = container_of(work, struct bgdma_ether,
						 tables);
	struct bgdma_ways *ways = bgdma_ways_get(ether);
	u32 i, to;

	if (!ways)
		return;
	/* What is wanted of newer ones is wanted again. */
	for (i = 0; i < BGDMA_WANTS && !READ_ONCE(ether->dead) &&
	     rcu_access_pointer(ether->ways) == ways; i++) {
		to = READ_ONCE(ways->want[i]);
		if (!to)
			continue;
		WRITE_ONCE(ways->making_first, !ways->made);
		bgdma_far_make(ether, ways, to - 1);
		WRITE_ONCE(ways->making_first, false);
		ways->made = true;
		/* Another may be wanted since, in the same place. */
		cmpxchg(&ways->want[i], to, 0);
		cond_resched();
	}
	bgdma_ways_put(ways);
}

/**
 * bgdma_ways_awaited() - are the first distances of these ways being counted out?
 * @ether: of the partition; its lock held
 *
 * They would be for nothing if there were others now: who changes all the time does not
 * keep all from being made.
 */
bool bgdma_ways_awaited(const struct bgdma_ether *ether)
{
	const struct bgdma_ways *ways;

	ways = rcu_dereference_protected(ether->ways,
					 lockdep_is_held(&ether->lock));
	return ways && READ_ONCE(ways->making_first);
}

/* ---- Making -------------------------------------------------------------- */

/* Those next to us first, so that they win where two say the same. */
static int bgdma_owner_order(const void *a, const void *b)
{
	const struct bgdma_owner *x = a, *y = b;

	if (!x->peer != !y->peer)
		return x->peer ? -1 : 1;
	return x->kernel < y->kernel ? -1 : x->kernel > y->kernel;
}

static int bgdma_next_order(const void *a, const void *b)
{
	return (int)*(const u16 *)a - (int)*(const u16 *)b;
}

/*
 * Of several links the one within this kernel, else the first; there of several
 * addresses the one heard last, for it may have changed.
 */
static bool bgdma_peer_better(const struct bgdma_peer *peer,
			      const struct bgdma_peer *best)
{
	if (!best || peer->link->inside != best->link->inside)
		return !best || peer->link->inside;
	return peer->link == best->link && time_after(peer->heard, best->heard);
}

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
			if (bgdma_peer_better(peer, best))
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
			if (bgdma_kernel_shut(kernel))
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

/* Of nodes that two say are theirs: they are the one's that is added last. */
static int bgdma_ways_add(struct maple_tree *nodes, u16 owner,
			  const struct bgdma_wire_run *run, u32 n)
{
	int err = 0;
	u32 i;

	for (i = 0; !err && i < n; i++)
		err = mtree_store_range(nodes, le32_to_cpu(run[i].first),
					le32_to_cpu(run[i].last),
					xa_mk_value(owner), GFP_KERNEL);
	return err;
}

/* Ours are ours, whatever others say, and so on down the order of owners. */
static int bgdma_ways_claims(struct bgdma_ether *ether,
			     const struct bgdma_ways *ways,
			     struct maple_tree *nodes)
{
	struct bgdma_wire_run local[BGDMA_WIRE_RUNS];
	int err;
	u32 i;

	for (i = ways->n_owners - 1; i; i--) {
		const struct bgdma_wire_state *state =
			&ways->owner[i].entry->state;

		err = bgdma_ways_add(nodes, i, state->run,
				     le32_to_cpu(state->runs));
		if (err)
			return err;
	}
	return bgdma_ways_add(nodes, 0, local,
			      bgdma_nodes_write(&ether->local, ways->size,
						local));
}

/* The next run of nodes that one owner has; there may be many. */
static void *bgdma_ways_next_run(struct ma_state *mas, u32 *n)
{
	void *owner;

	if (++*n % 1024 == 0)
		cond_resched();
	mas_lock(mas);
	owner = mas_find(mas, ULONG_MAX);
	mas_pause(mas);
	mas_unlock(mas);
	return owner;
}

/* The runs, in order. */
static int bgdma_ways_list(struct bgdma_ways *ways, struct maple_tree *nodes)
{
	MA_STATE(mas, nodes, 0, 0);
	void *owner;
	u32 n = 0;

	while (bgdma_ways_next_run(&mas, &n))
		;
	ways->run = kvcalloc(n, sizeof(*ways->run), GFP_KERNEL);
	if (!ways->run)
		return -ENOMEM;
	mas_set(&mas, 0);
	n = 0;
	while ((owner = bgdma_ways_next_run(&mas, &n))) {
		ways->run[ways->n_runs++] = (struct bgdma_way_run) {
			.first = mas.index, .last = mas.last,
			.owner = xa_to_value(owner),
		};
	}
	return 0;
}

/* Each node has one owner. */
static int bgdma_ways_runs(struct bgdma_ether *ether, struct bgdma_ways *ways)
{
	struct maple_tree nodes;
	int err;

	mt_init(&nodes);
	err = bgdma_ways_claims(ether, ways, &nodes) ?:
	      bgdma_ways_list(ways, &nodes);
	mtree_destroy(&nodes);
	return err;
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
	refcount_set(&ways->ref, 1);
	ways->shape = ether->shape;
	ways->size = bgdma_shape_size(&ether->shape);
	/* Its end is in softirq. */
	xa_init_flags(&ways->far, XA_FLAGS_LOCK_BH);
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
	bgdma_ways_put(old);
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

	bgdma_ways_put(ways);
	RCU_INIT_POINTER(ether->ways, NULL);
}
