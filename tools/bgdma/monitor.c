// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * bgdma monitor: one line, or one JSON object, for each change of a partition
 */
#include "tool.h"

#include <linux/bgdma_netlink.h>
#include <netlink/genl/genl.h>
#include <stdio.h>

static const char *event_name(uint8_t cmd)
{
	switch (cmd) {
	case BGDMA_CMD_PARTITION_NEW_NTF:
		return "new";
	case BGDMA_CMD_PARTITION_SET_NTF:
		return "set";
	case BGDMA_CMD_PARTITION_DEL_NTF:
		return "del";
	default:
		return NULL;
	}
}

static void on_event(struct nlmsghdr *nlh, void *arg)
{
	const char *event = event_name(genlmsg_hdr(nlh)->cmd);
	struct json_object *object = event ? partition_decode(nlh) : NULL;

	(void)arg;
	if (!object)
		return;
	if (options.json) {
		json_object_object_add(object, "event",
				       json_object_new_string(event));
		print_json(object);
	} else {
		printf("[%s] ", event);
		partition_text(object);
	}
	fflush(stdout);
	json_object_put(object);
}

/**
 * cmd_monitor() - bgdma monitor
 * @argc: words after it
 * @argv: the words
 *
 * Return: exit code, if it ever ends.
 */
int cmd_monitor(int argc, char **argv)
{
	int ret;

	if (argc)
		return usage_error("\"%s\" is one word too many", argv[0]);
	ret = tool_open();
	if (ret)
		return ret;
	return tool_listen(on_event, NULL);
}
