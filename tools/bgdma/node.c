// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * bgdma node show
 */
#include "tool.h"

#include <inttypes.h>
#include <linux/bgdma_netlink.h>
#include <stdio.h>

static const struct field fields[] = {
	{ BGDMA_A_NODE_PARTITION, TYPE_STRING, "partition" },
	{ BGDMA_A_NODE_RANK, TYPE_U32, "rank" },
	{ BGDMA_A_NODE_X, TYPE_U32, "x" },
	{ BGDMA_A_NODE_Y, TYPE_U32, "y" },
	{ BGDMA_A_NODE_Z, TYPE_U32, "z" },
	{ BGDMA_A_NODE_UID, TYPE_U32, "uid" },
	{ BGDMA_A_NODE_CONTEXTS, TYPE_U32, "contexts" },
	{ BGDMA_A_NODE_MEMORY, TYPE_U64, "memory" },
	{ 0, 0, NULL },
};

static void text(struct json_object *object)
{
	printf("%s/%" PRIu64 ": at %" PRIu64 ",%" PRIu64 ",%" PRIu64,
	       get_string(object, "partition"), get_u64(object, "rank"),
	       get_u64(object, "x"), get_u64(object, "y"),
	       get_u64(object, "z"));
	print_owner(object);
	printf(" contexts %" PRIu64 " memory %" PRIu64 "\n",
	       get_u64(object, "contexts"), get_u64(object, "memory"));
}

/**
 * cmd_node() - bgdma node
 * @argc: words after it
 * @argv: the words
 *
 * Return: exit code.
 */
int cmd_node(int argc, char **argv)
{
	static const struct view view = {
		.cmd = BGDMA_CMD_NODE_GET,
		.max = BGDMA_A_NODE_MAX,
		.depth = 2,
		.fields = fields,
		.text = text,
	};

	return show(&view, argc, argv);
}
