// SPDX-License-Identifier: GPL-2.0
/*
 * What a partition has where not all of its nodes live in one kernel: its key, which
 * of them live here, and a number for this kernel that no other one has.
 */
#include <linux/random.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "flow.h"
#include "link.h"
#include "remote.h"

/* ---- Nodes, by runs ------------------------------------------------------ */

/**
 * bgdma_nodes_have() - is a node one of these?
 * @nodes: these
 * @rank: which
 */
bool bgdma_nodes_have(const struct bgdma_nodes *nodes, u32 rank)
{
	u32 low = 0, high = nodes->n;

	if (!nodes->n)
		return true;
	while (low < high) {
		u32 i = (low + high) / 2;

		if (rank < nodes->run[i].first)
			high = i;
		else if (rank > nodes->run[i].last)
			low = i + 1;
		else
			return true;
	}
	return false;
}

/**
 * bgdma_is_remote() - is a node behind a link?
 * @part: partition
 * @rank: the node
 *
 * Context: any.
 */
bool bgdma_is_remote(const struct bgdma_partition *part, u32 rank)
{
	const struct bgdma_ether *ether = bgdma_ether(part);

	return ether && !bgdma_nodes_have(&ether->local, rank);
}

/**
 * bgdma_nodes_overlap() - have these two a node in common?
 * @a: some
 * @b: others
 * @rank: the first that they have in common
 */
bool bgdma_nodes_overlap(const struct bgdma_nodes *a,
			 const struct bgdma_nodes *b, u32 *rank)
{
	u32 i = 0, j = 0;

	if (!a->n || !b->n) {
		*rank = a->n ? a->run[0].first : b->n ? b->run[0].first : 0;
		return true;
	}
	while (i < a->n && j < b->n) {
		if (a->run[i].last < b->run[j].first) {
			i++;
		} else if (b->run[j].last < a->run[i].first) {
			j++;
		} else {
			*rank = max(a->run[i].first, b->run[j].first);
			return true;
		}
	}
	return false;
}

/**
 * bgdma_nodes_write() - put nodes into a frame
 * @nodes: these
 * @size: nodes of the partition
 * @run: room for BGDMA_WIRE_RUNS
 *
 * Return: runs written.
 */
int bgdma_nodes_write(const struct bgdma_nodes *nodes, u32 size,
		      struct bgdma_wire_run *run)
{
	u32 i;

	if (!nodes->n) {
		run->first = 0;
		run->last = cpu_to_le32(size - 1);
		return 1;
	}
	for (i = 0; i < nodes->n; i++) {
		run[i].first = cpu_to_le32(nodes->run[i].first);
		run[i].last = cpu_to_le32(nodes->run[i].last);
	}
	return nodes->n;
}

/**
 * bgdma_nodes_read() - take nodes out of a frame
 * @nodes: filled in
 * @run: of the frame, which bgdma_wire_runs_check() found good
 * @n: so many runs
 */
void bgdma_nodes_read(struct bgdma_nodes *nodes,
		      const struct bgdma_wire_run *run, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++) {
		nodes->run[i].first = le32_to_cpu(run[i].first);
		nodes->run[i].last = le32_to_cpu(run[i].last);
	}
	nodes->n = n;
}

/**
 * bgdma_shape_of() - the shape of a partition
 * @part: which
 */
struct bgdma_shape bgdma_shape_of(const struct bgdma_partition *part)
{
	return (struct bgdma_shape) {
		.dims = { part->dims[0], part->dims[1], part->dims[2] },
		.torus = part->torus,
	};
}

/* ---- The key ------------------------------------------------------------- */

/**
 * bgdma_ether_proof() - what nobody without the key can say of a message
 * @ether: whose key
 * @type: of the message
 * @data: the message, its own proof being 0
 * @len: bytes
 */
u64 bgdma_ether_proof(const struct bgdma_ether *ether,
		      enum bgdma_frame_type type, const void *data, size_t len)
{
	return siphash_2u64(siphash(data, len, &ether->key), type,
			    &ether->key);
}

/* All frames of a partition have it: those of others are told apart cheaply. */
static u32 bgdma_ether_tag(const struct bgdma_ether *ether)
{
	char name[BGDMA_NAME_MAX] = {};

	strscpy(name, ether->part->name, sizeof(name));
	return siphash(name, sizeof(name), &ether->key);
}

/* ---- Their lives --------------------------------------------------------- */

/*
 * Not all of it lives here. Its contexts must not have the incarnations of those
 * elsewhere: each kernel begins where nobody knows.
 */
static void bgdma_ether_part(struct bgdma_partition *part)
{
	part->fabric = &bgdma_ether_fabric;
	part->incarnation = get_random_u32() >> 1;
}

/**
 * bgdma_ether_new() - a partition whose nodes may live elsewhere
 * @part: with its shape
 * @net: its network namespace
 * @key: BGDMA_KEY_BYTES, or NULL
 * @local: nodes that live here, in order
 *
 * Return: what bgdma_ether_free() takes back, or NULL.
 */
struct bgdma_ether *bgdma_ether_new(struct bgdma_partition *part,
				    struct net *net, const u8 *key,
				    const struct bgdma_nodes *local)
{
	struct bgdma_ether *ether;
	u64 halves[2] = {};
	int i;

	ether = kzalloc(sizeof(*ether), GFP_KERNEL_ACCOUNT);
	if (!ether)
		return NULL;
	mutex_init(&ether->lock);
	INIT_LIST_HEAD(&ether->links);
	INIT_DELAYED_WORK(&ether->tick, bgdma_ether_tick);
	INIT_WORK(&ether->tables, bgdma_way_tables);
	INIT_WORK(&ether->ends, bgdma_ether_ends);
	for (i = 0; i < ARRAY_SIZE(ether->kernels); i++)
		INIT_HLIST_HEAD(&ether->kernels[i]);
	ether->part = part;
	ether->net = net;
	ether->shape = bgdma_shape_of(part);
	ether->local = *local;
	bgdma_pace_begin(&ether->pace);
	do {
		ether->kernel = get_random_u64();
	} while (!ether->kernel);
	if (key)
		memcpy(halves, key, sizeof(halves));
	/* Both ends may have another order of bytes. */
	ether->key.key[0] = le64_to_cpu((__force __le64)halves[0]);
	ether->key.key[1] = le64_to_cpu((__force __le64)halves[1]);
	memzero_explicit(halves, sizeof(halves));
	ether->tag = bgdma_ether_tag(ether);
	/* Nobody is to try again with what may not come to be. */
	ether->dead = true;
	mutex_lock(&ether->lock);
	bgdma_ways_update(ether);
	mutex_unlock(&ether->lock);
	ether->dead = false;
	if (rcu_access_pointer(ether->ways) && bgdma_flows_new(ether)) {
		if (local->n)
			bgdma_ether_part(part);
		return ether;
	}
	bgdma_ether_free(ether);
	return NULL;
}

/**
 * bgdma_ether_stop() - a partition was deleted: its links end
 * @ether: of it
 *
 * Context: process; takes RTNL.
 */
void bgdma_ether_stop(struct bgdma_ether *ether)
{
	struct bgdma_link *link;

	mutex_lock(&ether->lock);
	bgdma_kernel_bye(ether);
	WRITE_ONCE(ether->dead, true);
	bgdma_pace_tick(&ether->pace, 0);
	mutex_unlock(&ether->lock);
	/* Each waits for a grace period: others have RTNL between two of them. */
	do {
		rtnl_lock();
		link = list_first_entry_or_null(&ether->links,
						struct bgdma_link, node);
		if (link)
			bgdma_link_del(ether->part, link->dev);
		rtnl_unlock();
	} while (link);
}

/**
 * bgdma_ether_end() - what is known of other kernels goes, too
 * @ether: a grace period after bgdma_ether_stop()
 *
 * Context: process.
 */
void bgdma_ether_end(struct bgdma_ether *ether)
{
	/* Nobody starts them again: bgdma_way_want(), bgdma_ways_stale(). */
	cancel_work_sync(&ether->tables);
	cancel_delayed_work_sync(&ether->tick);
	/* Nothing but the tick starts this. */
	cancel_work_sync(&ether->ends);
	mutex_lock(&ether->lock);
	bgdma_kernels_free(ether);
	mutex_unlock(&ether->lock);
}

/**
 * bgdma_ether_free() - nobody looks any more
 * @ether: after bgdma_ether_end(), or never had a link; NULL: nothing
 */
void bgdma_ether_free(struct bgdma_ether *ether)
{
	if (!ether)
		return;
	WARN_ON_ONCE(!list_empty(&ether->links) || ether->n_kernels);
	if (ether->flows)
		bgdma_flows_end(ether->flows);
	bgdma_ways_free(ether);
	mutex_destroy(&ether->lock);
	kfree_sensitive(ether);
}
