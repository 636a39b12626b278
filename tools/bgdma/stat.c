// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * bgdma stat
 */
#include "tool.h"

#include <inttypes.h>
#include <linux/bgdma_netlink.h>
#include <linux/netlink.h>
#include <netlink/genl/genl.h>
#include <stdio.h>

static const struct field fields[] = {
	{ BGDMA_A_ENGINE_PARTITIONS, TYPE_U32, "partitions" },
	{ BGDMA_A_ENGINE_NODES, TYPE_U32, "nodes" },
	{ BGDMA_A_ENGINE_CONTEXTS, TYPE_U32, "contexts" },
	{ BGDMA_A_ENGINE_THREADS, TYPE_U32, "threads" },
	{ BGDMA_A_ENGINE_MEMORY, TYPE_U64, "memory" },
	{ BGDMA_A_ENGINE_STATS, TYPE_STATS, "stats" },
	{ 0, 0, NULL },
};

static void on_stats(struct nlmsghdr *nlh, void *arg)
{
	struct nlattr *attrs[BGDMA_A_ENGINE_MAX + 1];
	struct json_object *o;

	(void)arg;
	if (genlmsg_parse(nlh, 0, attrs, BGDMA_A_ENGINE_MAX, NULL))
		return;
	o = decode(attrs, fields);
	if (options.json) {
		print_json(o);
	} else {
		printf("partitions %" PRIu64 " nodes %" PRIu64
		       " contexts %" PRIu64 " threads %" PRIu64
		       " memory %" PRIu64 "\n",
		       get_u64(o, "partitions"), get_u64(o, "nodes"),
		       get_u64(o, "contexts"), get_u64(o, "threads"),
		       get_u64(o, "memory"));
		print_stats(o);
	}
	json_object_put(o);
}

/**
 * cmd_stat() - bgdma stat
 * @argc: words after it
 * @argv: the words
 *
 * Return: exit code.
 */
int cmd_stat(int argc, char **argv)
{
	if (argc)
		return usage_error("\"%s\" is one word too many", argv[0]);
	return tool_call(tool_request(BGDMA_CMD_STATS_GET, NLM_F_ACK),
			 on_stats, NULL);
}
