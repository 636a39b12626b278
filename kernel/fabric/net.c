// SPDX-License-Identifier: GPL-2.0
/*
 * The partitions of a network namespace. Its administrator may be anybody, in a user
 * namespace of his own: he gets so many, and others do not wait long for their end.
 */
#include <linux/slab.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

#include "../bgdma.h"
#include "flow.h"
#include "link.h"

static unsigned int bgdma_net_id;

/**
 * bgdma_net() - what we keep per network namespace
 * @net: which
 */
struct bgdma_net *bgdma_net(struct net *net)
{
	return net_generic(net, bgdma_net_id);
}

static struct bgdma_partition *bgdma_partition_look(struct bgdma_net *bn,
						    const char *name)
{
	struct bgdma_partition *part;

	lockdep_assert_held(&bn->lock);
	list_for_each_entry(part, &bn->partitions, node) {
		if (!strcmp(part->name, name))
			return part;
	}
	return NULL;
}

/**
 * bgdma_partition_add() - let a partition be found
 * @bn: namespace
 * @part: complete; the list takes the caller's reference
 *
 * Return: 0, -EEXIST, -ENOSPC (BGDMA_PARTITIONS_MAX) or -ENOMEM.
 */
int bgdma_partition_add(struct bgdma_net *bn, struct bgdma_partition *part)
{
	int err = 0;

	part->size = part->dims[0] * part->dims[1] * part->dims[2];
	part->first = kvcalloc(min_t(u32, part->size, BGDMA_FIRST_MAX),
			       sizeof(*part->first), GFP_KERNEL_ACCOUNT);
	if (!part->first)
		return -ENOMEM;
	mutex_lock(&bn->lock);
	if (bgdma_partition_look(bn, part->name)) {
		err = -EEXIST;
	} else if (bn->n_partitions == BGDMA_PARTITIONS_MAX) {
		err = -ENOSPC;
	} else {
		bn->n_partitions++;
		list_add_tail(&part->node, &bn->partitions);
	}
	mutex_unlock(&bn->lock);
	return err;
}

/**
 * bgdma_partition_find() - find a partition by name
 * @bn: namespace
 * @name: zero-terminated
 *
 * Return: the partition with a reference for the caller, or NULL.
 */
struct bgdma_partition *bgdma_partition_find(struct bgdma_net *bn,
					     const char *name)
{
	struct bgdma_partition *part;

	mutex_lock(&bn->lock);
	part = bgdma_partition_look(bn, name);
	if (part && part->going)
		part = NULL;
	if (part)
		kref_get(&part->ref);
	mutex_unlock(&bn->lock);
	return part;
}

/* Everybody in it sees it dead. Return: it has links, which somebody may still look at. */
static bool bgdma_partition_stop(struct bgdma_partition *part)
{
	bgdma_partition_kill(part);
	/* No link comes any more. */
	if (!part->ether)
		return false;
	bgdma_ether_stop(part->ether);
	return true;
}

/**
 * bgdma_partition_take() - a partition is to be deleted: nobody finds it any more
 * @bn: namespace
 * @part: of it
 *
 * It stays in the list: nobody has its name for another one, whose links would be there
 * beside its own.
 *
 * Context: under the lock of control/config.c, so that no link comes any more.
 * Return: 0: the caller ends it, and drops it; -ENOENT: somebody else does.
 */
int bgdma_partition_take(struct bgdma_net *bn, struct bgdma_partition *part)
{
	int err = 0;

	mutex_lock(&bn->lock);
	if (part->going)
		err = -ENOENT;
	part->going = true;
	mutex_unlock(&bn->lock);
	return err;
}

/**
 * bgdma_partition_end() - what was taken ends
 * @part: which
 *
 * That may take long: RTNL, grace periods, whoever is told of something just now.
 *
 * Context: process; no lock held.
 */
void bgdma_partition_end(struct bgdma_partition *part)
{
	if (!bgdma_partition_stop(part))
		return;
	synchronize_net();
	bgdma_ether_end(part->ether);
}

/**
 * bgdma_partition_drop() - what has ended is no more, and its name is free
 * @bn: namespace
 * @part: of it; the caller's reference stays his
 */
void bgdma_partition_drop(struct bgdma_net *bn, struct bgdma_partition *part)
{
	mutex_lock(&bn->lock);
	bn->n_partitions--;
	list_del(&part->node);
	mutex_unlock(&bn->lock);
	bgdma_partition_put(part);
}

/*
 * They are found no more, and end. Those that have links wait for whoever looks at
 * these, all of them once: others' namespaces end behind them.
 */
static void bgdma_partitions_end(struct list_head *gone)
{
	struct bgdma_partition *part, *next;
	bool wait = false;

	list_for_each_entry(part, gone, node)
		wait |= bgdma_partition_stop(part);
	if (wait)
		synchronize_net();
	list_for_each_entry_safe(part, next, gone, node) {
		if (part->ether)
			bgdma_ether_end(part->ether);
		list_del(&part->node);
		bgdma_partition_put(part);
	}
}

static int __net_init bgdma_net_init(struct net *net)
{
	struct bgdma_net *bn = bgdma_net(net);

	mutex_init(&bn->lock);
	INIT_LIST_HEAD(&bn->partitions);
	return 0;
}

static void __net_exit bgdma_nets_exit(struct list_head *nets)
{
	LIST_HEAD(gone);
	struct net *net;

	list_for_each_entry(net, nets, exit_list) {
		struct bgdma_net *bn = bgdma_net(net);

		mutex_lock(&bn->lock);
		list_splice_tail_init(&bn->partitions, &gone);
		mutex_unlock(&bn->lock);
	}
	bgdma_partitions_end(&gone);
}

static struct pernet_operations bgdma_net_ops = {
	.init = bgdma_net_init,
	.exit_batch = bgdma_nets_exit,
	.id = &bgdma_net_id,
	.size = sizeof(struct bgdma_net),
};

/**
 * bgdma_fabric_init() - be told of network namespaces and devices
 *
 * Return: 0 or a negative errno.
 */
int bgdma_fabric_init(void)
{
	int err = register_pernet_subsys(&bgdma_net_ops);

	if (err)
		return err;
	err = bgdma_flows_init();
	if (err)
		goto unregister;
	err = bgdma_link_init();
	if (err)
		goto exit;
	return 0;
exit:
	bgdma_flows_exit();
unregister:
	unregister_pernet_subsys(&bgdma_net_ops);
	return err;
}

/**
 * bgdma_fabric_exit() - delete all partitions
 */
void bgdma_fabric_exit(void)
{
	unregister_pernet_subsys(&bgdma_net_ops);
	bgdma_link_exit();
	bgdma_flows_exit();
}
