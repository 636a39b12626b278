// SPDX-License-Identifier: GPL-2.0
/*
 * The generic netlink family.
 */
#include <linux/module.h>

#include "netlink.h"

static const struct genl_ops bgdma_ops[] = {
	{
		.cmd		= BGDMA_CMD_PARTITION_NEW,
		.flags		= GENL_UNS_ADMIN_PERM,
		.policy		= bgdma_partition_new_policy,
		.maxattr	= ARRAY_SIZE(bgdma_partition_new_policy) - 1,
		.doit		= bgdma_partition_new_doit,
	},
	{
		.cmd		= BGDMA_CMD_PARTITION_SET,
		.flags		= GENL_UNS_ADMIN_PERM,
		.policy		= bgdma_partition_set_policy,
		.maxattr	= ARRAY_SIZE(bgdma_partition_set_policy) - 1,
		.doit		= bgdma_partition_set_doit,
	},
	{
		.cmd		= BGDMA_CMD_PARTITION_DEL,
		.flags		= GENL_UNS_ADMIN_PERM,
		.policy		= bgdma_partition_del_policy,
		.maxattr	= ARRAY_SIZE(bgdma_partition_del_policy) - 1,
		.doit		= bgdma_partition_del_doit,
	},
	{
		.cmd		= BGDMA_CMD_PARTITION_GET,
		.policy		= bgdma_partition_get_policy,
		.maxattr	= ARRAY_SIZE(bgdma_partition_get_policy) - 1,
		.doit		= bgdma_partition_get_doit,
		.start		= bgdma_dump_start,
		.dumpit		= bgdma_partition_get_dumpit,
		.done		= bgdma_dump_done,
	},
	{
		.cmd		= BGDMA_CMD_NODE_GET,
		.policy		= bgdma_node_get_policy,
		.maxattr	= ARRAY_SIZE(bgdma_node_get_policy) - 1,
		.start		= bgdma_dump_start,
		.dumpit		= bgdma_node_get_dumpit,
		.done		= bgdma_dump_done,
	},
	{
		.cmd		= BGDMA_CMD_CTX_GET,
		.policy		= bgdma_ctx_get_policy,
		.maxattr	= ARRAY_SIZE(bgdma_ctx_get_policy) - 1,
		.start		= bgdma_dump_start,
		.dumpit		= bgdma_ctx_get_dumpit,
		.done		= bgdma_dump_done,
	},
	{
		.cmd		= BGDMA_CMD_COUNTER_GET,
		.policy		= bgdma_counter_get_policy,
		.maxattr	= ARRAY_SIZE(bgdma_counter_get_policy) - 1,
		.start		= bgdma_dump_start,
		.dumpit		= bgdma_counter_get_dumpit,
		.done		= bgdma_dump_done,
	},
	{
		.cmd		= BGDMA_CMD_FIFO_GET,
		.policy		= bgdma_fifo_get_policy,
		.maxattr	= ARRAY_SIZE(bgdma_fifo_get_policy) - 1,
		.start		= bgdma_dump_start,
		.dumpit		= bgdma_fifo_get_dumpit,
		.done		= bgdma_dump_done,
	},
	{
		.cmd		= BGDMA_CMD_STATS_GET,
		.doit		= bgdma_stats_get_doit,
	},
	{
		.cmd		= BGDMA_CMD_LINK_NEW,
		.flags		= GENL_UNS_ADMIN_PERM,
		.policy		= bgdma_link_set_policy,
		.maxattr	= ARRAY_SIZE(bgdma_link_set_policy) - 1,
		.doit		= bgdma_link_new_doit,
	},
	{
		.cmd		= BGDMA_CMD_LINK_SET,
		.flags		= GENL_UNS_ADMIN_PERM,
		.policy		= bgdma_link_set_policy,
		.maxattr	= ARRAY_SIZE(bgdma_link_set_policy) - 1,
		.doit		= bgdma_link_set_doit,
	},
	{
		.cmd		= BGDMA_CMD_LINK_DEL,
		.flags		= GENL_UNS_ADMIN_PERM,
		.policy		= bgdma_link_del_policy,
		.maxattr	= ARRAY_SIZE(bgdma_link_del_policy) - 1,
		.doit		= bgdma_link_del_doit,
	},
	{
		.cmd		= BGDMA_CMD_LINK_GET,
		.policy		= bgdma_link_get_policy,
		.maxattr	= ARRAY_SIZE(bgdma_link_get_policy) - 1,
		.start		= bgdma_dump_start,
		.dumpit		= bgdma_link_get_dumpit,
		.done		= bgdma_dump_done,
	},
	{
		.cmd		= BGDMA_CMD_PEER_GET,
		.policy		= bgdma_peer_get_policy,
		.maxattr	= ARRAY_SIZE(bgdma_peer_get_policy) - 1,
		.start		= bgdma_dump_start,
		.dumpit		= bgdma_peer_get_dumpit,
		.done		= bgdma_dump_done,
	},
	{
		.cmd		= BGDMA_CMD_ROUTE_GET,
		.policy		= bgdma_route_get_policy,
		.maxattr	= ARRAY_SIZE(bgdma_route_get_policy) - 1,
		.doit		= bgdma_route_get_doit,
	},
	{
		.cmd		= BGDMA_CMD_TREE_GET,
		.policy		= bgdma_tree_get_policy,
		.maxattr	= ARRAY_SIZE(bgdma_tree_get_policy) - 1,
		.start		= bgdma_dump_start,
		.dumpit		= bgdma_tree_get_dumpit,
		.done		= bgdma_dump_done,
	},
};

static const struct genl_multicast_group bgdma_mcgrps[] = {
	{ .name = BGDMA_MCGRP_CONFIG },
};

struct genl_family bgdma_family __ro_after_init = {
	.name		= BGDMA_GENL_NAME,
	.version	= BGDMA_GENL_VERSION,
	.module		= THIS_MODULE,
	.netnsok	= true,
	.parallel_ops	= true,
	.ops		= bgdma_ops,
	.n_ops		= ARRAY_SIZE(bgdma_ops),
	.mcgrps		= bgdma_mcgrps,
	.n_mcgrps	= ARRAY_SIZE(bgdma_mcgrps),
};

/**
 * bgdma_control_init() - let user space see and change partitions
 *
 * Return: 0 or a negative errno.
 */
int __init bgdma_control_init(void)
{
	int err = genl_register_family(&bgdma_family);

	bgdma_link_listen(!err);
	return err;
}

/**
 * bgdma_control_exit() - take it back; returns when no call is under way
 */
void bgdma_control_exit(void)
{
	bgdma_link_listen(false);
	genl_unregister_family(&bgdma_family);
}
