// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * bgdma monitor: one line, or one JSON object, for each change of a
 * partition, a link or a peer
 */
#include "tool.h"

#include <linux/bgdma_netlink.h>
#include <netlink/genl/genl.h>
#include <stdio.h>

static void link_line(struct json_object *object)
{
	link_text(object, false);
}

static void peer_line(struct json_object *object)
{
	printf("%s: partition %s ", get_string(object, "dev"),
	       get_string(object, "partition"));
	peer_text(object);
}

struct event {
	const char *name;
	struct json_object *(*decode)(struct nlmsghdr *nlh);
	void (*text)(struct json_object *object);
};

static const struct event events[BGDMA_CMD_MAX + 1] = {
	[BGDMA_CMD_PARTITION_NEW_NTF] = { "new", partition_decode,
					  partition_text },
	[BGDMA_CMD_PARTITION_SET_NTF] = { "set", partition_decode,
					  partition_text },
	[BGDMA_CMD_PARTITION_DEL_NTF] = { "del", partition_decode,
					  partition_text },
	[BGDMA_CMD_LINK_NEW_NTF] = { "link-new", link_decode, link_line },
	[BGDMA_CMD_LINK_SET_NTF] = { "link-set", link_decode, link_line },
	[BGDMA_CMD_LINK_DEL_NTF] = { "link-del", link_decode, link_line },
	[BGDMA_CMD_PEER_NTF] = { "peer", peer_decode, peer_line },
};

static void on_event(struct nlmsghdr *nlh, void *arg)
{
	uint8_t cmd = genlmsg_hdr(nlh)->cmd;
	const struct event *event = &events[cmd <= BGDMA_CMD_MAX ? cmd : 0];
	struct json_object *object = event->name ? event->decode(nlh) : NULL;

	(void)arg;
	if (!object)
		return;
	if (options.json) {
		json_object_object_add(object, "event",
				       json_object_new_string(event->name));
		print_json(object);
	} else {
		printf("[%s] ", event->name);
		event->text(object);
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
	if (argc)
		return usage_error("\"%s\" is one word too many", argv[0]);
	return tool_listen(on_event, NULL);
}
