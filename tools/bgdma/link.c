// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * bgdma link add | set | del | show
 */
#include "tool.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/bgdma_netlink.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <netlink/genl/genl.h>
#include <stdio.h>
#include <string.h>

static const char *const attr_names[BGDMA_A_LINK_MAX + 1] = {
	[BGDMA_A_LINK_PARTITION] = "partition",
	[BGDMA_A_LINK_IFINDEX] = "dev",
	[BGDMA_A_LINK_TIMEOUT_MS] = "timeout",
	[BGDMA_A_LINK_HELLO_MS] = "hello",
	[BGDMA_A_LINK_WINDOW] = "window",
	[BGDMA_A_LINK_COPY] = "copy",
	[BGDMA_A_LINK_SUM] = "sum",
	[BGDMA_A_LINK_FIXED] = "fixed",
};

/**
 * link_attr_name() - how the command line calls an attribute
 * @attr: BGDMA_A_LINK_*
 *
 * Return: NULL when it has no name.
 */
const char *link_attr_name(int attr)
{
	if (attr < 0 || attr > BGDMA_A_LINK_MAX)
		return NULL;
	return attr_names[attr];
}

static int put_dev(struct nl_msg *msg, int attr, const char *text)
{
	unsigned int index = if_nametoindex(text);

	if (!index)
		return usage_error("there is no device \"%s\"", text);
	nla_put_u32(msg, attr, index);
	return TOOL_OK;
}

static int put_u32(struct nl_msg *msg, int attr, const char *text)
{
	uint64_t value;

	if (!parse_number(text, 10, UINT32_MAX, &value))
		return usage_error("%s: \"%s\" is not a number",
				   attr_names[attr], text);
	nla_put_u32(msg, attr, (uint32_t)value);
	return TOOL_OK;
}

static int put_switch(struct nl_msg *msg, int attr, const char *text)
{
	if (strcmp(text, "on") && strcmp(text, "off"))
		return usage_error("%s: \"%s\" is neither on nor off",
				   attr_names[attr], text);
	nla_put_u32(msg, attr, !strcmp(text, "on"));
	return TOOL_OK;
}

struct parameter {
	int attr;
	int (*put)(struct nl_msg *msg, int attr, const char *text);
};

static const struct parameter parameters[] = {
	{ BGDMA_A_LINK_IFINDEX, put_dev },
	{ BGDMA_A_LINK_PARTITION, put_name },
	{ BGDMA_A_LINK_TIMEOUT_MS, put_u32 },
	{ BGDMA_A_LINK_HELLO_MS, put_u32 },
	{ BGDMA_A_LINK_WINDOW, put_u32 },
	{ BGDMA_A_LINK_COPY, put_switch },
	{ BGDMA_A_LINK_SUM, put_switch },
	{ BGDMA_A_LINK_FIXED, put_switch },
};

#define N_PARAMETERS (sizeof(parameters) / sizeof(parameters[0]))

static int put_parameters(struct nl_msg *msg, int argc, char **argv)
{
	uint64_t seen = 0;

	for (; argc > 0; argc -= 2, argv += 2) {
		const struct parameter *p = parameters;
		int ret;

		while (p < parameters + N_PARAMETERS &&
		       strcmp(attr_names[p->attr], *argv))
			p++;
		if (p == parameters + N_PARAMETERS)
			return usage_error("\"%s\" is unknown", *argv);
		if (argc == 1)
			return usage_error("\"%s\" needs a value", *argv);
		if (seen & 1ULL << p->attr)
			return usage_error("\"%s\" was given already", *argv);
		seen |= 1ULL << p->attr;
		ret = p->put(msg, p->attr, argv[1]);
		if (ret)
			return ret;
	}
	return TOOL_OK;
}

static int change(uint8_t cmd, int argc, char **argv)
{
	struct nl_msg *msg;
	int ret = TOOL_OK;

	msg = tool_request(cmd, NLM_F_ACK);
	if (msg)
		ret = put_parameters(msg, argc, argv);
	if (ret) {
		nlmsg_free(msg);
		return ret;
	}
	return tool_call(msg, NULL, NULL);
}

/* ---- show ---- */

static const struct field link_fields[] = {
	{ BGDMA_A_LINK_PARTITION, TYPE_STRING, "partition" },
	{ BGDMA_A_LINK_IFNAME, TYPE_STRING, "dev" },
	{ BGDMA_A_LINK_IFINDEX, TYPE_U32, "ifindex" },
	{ BGDMA_A_LINK_STATE, TYPE_LINK_STATE, "state" },
	{ BGDMA_A_LINK_INSIDE, TYPE_FLAG, "inside" },
	{ BGDMA_A_LINK_MTU, TYPE_U32, "mtu" },
	{ BGDMA_A_LINK_TIMEOUT_MS, TYPE_U32, "timeout_ms" },
	{ BGDMA_A_LINK_HELLO_MS, TYPE_U32, "hello_ms" },
	{ BGDMA_A_LINK_WINDOW, TYPE_U32, "window" },
	{ BGDMA_A_LINK_COPY, TYPE_SWITCH, "copy" },
	{ BGDMA_A_LINK_SUM, TYPE_SWITCH, "sum" },
	{ BGDMA_A_LINK_FIXED, TYPE_SWITCH, "fixed" },
	{ BGDMA_A_LINK_STATS, TYPE_LINK_STATS, "stats" },
	{ 0, 0, NULL },
};

static const struct field peer_fields[] = {
	{ BGDMA_A_PEER_PARTITION, TYPE_STRING, "partition" },
	{ BGDMA_A_PEER_IFNAME, TYPE_STRING, "dev" },
	{ BGDMA_A_PEER_IFINDEX, TYPE_U32, "ifindex" },
	{ BGDMA_A_PEER_MAC, TYPE_MAC, "mac" },
	{ BGDMA_A_PEER_STATE, TYPE_PEER_STATE, "state" },
	{ BGDMA_A_PEER_TEXT, TYPE_STRING, "text" },
	{ BGDMA_A_PEER_KERNEL, TYPE_KERNEL, "kernel" },
	{ BGDMA_A_PEER_NODES, TYPE_RUNS, "nodes" },
	{ BGDMA_A_PEER_MTU, TYPE_U32, "mtu" },
	{ BGDMA_A_PEER_AGE_MS, TYPE_U64, "age_ms" },
	{ 0, 0, NULL },
};

/**
 * link_decode() - make an object of a message about a link
 * @nlh: message
 *
 * Return: a new object, or NULL when the message is not understood.
 */
struct json_object *link_decode(struct nlmsghdr *nlh)
{
	struct nlattr *attrs[BGDMA_A_LINK_MAX + 1];

	if (genlmsg_parse(nlh, 0, attrs, BGDMA_A_LINK_MAX, NULL))
		return NULL;
	return decode(attrs, link_fields);
}

/**
 * peer_decode() - make an object of a message about a peer
 * @nlh: message
 *
 * Return: a new object, or NULL when the message is not understood.
 */
struct json_object *peer_decode(struct nlmsghdr *nlh)
{
	struct nlattr *attrs[BGDMA_A_PEER_MAX + 1];

	if (genlmsg_parse(nlh, 0, attrs, BGDMA_A_PEER_MAX, NULL))
		return NULL;
	return decode(attrs, peer_fields);
}

static const char *on_off(struct json_object *object, const char *key)
{
	return has(object, key) ? "on" : "off";
}

static void stats_text(struct json_object *object)
{
	struct json_object *s;

	if (!json_object_object_get_ex(object, "stats", &s))
		return;
	printf("    TX: frames %" PRIu64 " bytes %" PRIu64 " dropped %" PRIu64
	       " again %" PRIu64 "\n",
	       get_u64(s, "tx_frames"), get_u64(s, "tx_bytes"),
	       get_u64(s, "tx_dropped"), get_u64(s, "tx_again"));
	printf("    RX: frames %" PRIu64 " bytes %" PRIu64 " dropped %" PRIu64
	       " malformed %" PRIu64 " damaged %" PRIu64 " strange %" PRIu64
	       "\n",
	       get_u64(s, "rx_frames"), get_u64(s, "rx_bytes"),
	       get_u64(s, "rx_dropped"), get_u64(s, "rx_malformed"),
	       get_u64(s, "rx_damaged"), get_u64(s, "rx_strange"));
	printf("    forwarded %" PRIu64 " no-way %" PRIu64 "\n",
	       get_u64(s, "forwarded"), get_u64(s, "no_way"));
}

/**
 * link_text() - print a link
 * @object: from link_decode()
 * @stats: what it counted, too
 */
void link_text(struct json_object *object, bool stats)
{
	printf("%s: partition %s state %s mtu %" PRIu64 "%s\n",
	       get_string(object, "dev"), get_string(object, "partition"),
	       get_string(object, "state"), get_u64(object, "mtu"),
	       has(object, "inside") ? " inside" : "");
	printf("    timeout %" PRIu64 " hello %" PRIu64 " window %" PRIu64
	       " copy %s sum %s fixed %s\n",
	       get_u64(object, "timeout_ms"), get_u64(object, "hello_ms"),
	       get_u64(object, "window"), on_off(object, "copy"),
	       on_off(object, "sum"), on_off(object, "fixed"));
	if (stats)
		stats_text(object);
}

/**
 * peer_text() - print a peer
 * @object: from peer_decode()
 */
void peer_text(struct json_object *object)
{
	printf("peer %s state %s", get_string(object, "mac"),
	       get_string(object, "state"));
	if (has(object, "nodes"))
		printf(" nodes %s", get_string(object, "nodes"));
	printf(" mtu %" PRIu64 " kernel %s age %" PRIu64 " ms\n",
	       get_u64(object, "mtu"), get_string(object, "kernel"),
	       get_u64(object, "age_ms"));
	if (strcmp(get_string(object, "state"), "up"))
		printf("        %s\n", get_string(object, "text"));
}

/* What "link show" asks for: all links, then all peers. */
struct shown {
	struct json_object *links;
	struct json_object *peers;
	uint32_t ifindex;
};

static void keep(struct shown *shown, struct json_object *list,
		 struct json_object *object)
{
	if (!object)
		return;
	if (shown->ifindex && get_u64(object, "ifindex") != shown->ifindex)
		json_object_put(object);
	else
		json_object_array_add(list, object);
}

static void on_link(struct nlmsghdr *nlh, void *arg)
{
	struct shown *shown = arg;

	keep(shown, shown->links, link_decode(nlh));
}

static void on_peer(struct nlmsghdr *nlh, void *arg)
{
	struct shown *shown = arg;

	keep(shown, shown->peers, peer_decode(nlh));
}

/* A link has those of its device and its partition. */
static void add_peers(struct json_object *link, struct json_object *peers)
{
	struct json_object *list = json_object_new_array();
	size_t i;

	for (i = 0; i < json_object_array_length(peers); i++) {
		struct json_object *peer = json_object_array_get_idx(peers, i);

		if (get_u64(peer, "ifindex") == get_u64(link, "ifindex") &&
		    !strcmp(get_string(peer, "partition"),
			    get_string(link, "partition")))
			json_object_array_add(list, json_object_get(peer));
	}
	json_object_object_add(link, "peers", list);
}

static void print_links(const struct shown *shown, bool stats)
{
	size_t i, j;

	for (i = 0; i < json_object_array_length(shown->links); i++) {
		struct json_object *link =
			json_object_array_get_idx(shown->links, i);
		struct json_object *peers;

		add_peers(link, shown->peers);
		if (!stats)
			json_object_object_del(link, "stats");
		if (options.json)
			continue;
		link_text(link, stats);
		peers = json_object_object_get(link, "peers");
		for (j = 0; j < json_object_array_length(peers); j++) {
			printf("    ");
			peer_text(json_object_array_get_idx(peers, j));
		}
	}
	if (options.json)
		print_json(shown->links);
}

static int show_links(int argc, char **argv)
{
	struct shown shown = { 0 };
	bool stats = false;
	int ret;

	if (argc && (!strcmp(*argv, "-s") || !strcmp(*argv, "--stats"))) {
		stats = true;
		argc--;
		argv++;
	}
	if (argc >= 2 && !strcmp(*argv, "dev")) {
		shown.ifindex = if_nametoindex(argv[1]);
		if (!shown.ifindex)
			return usage_error("there is no device \"%s\"",
					   argv[1]);
		argc -= 2;
		argv += 2;
	}
	if (argc)
		return usage_error("\"%s\" is unknown", *argv);
	shown.links = json_object_new_array();
	shown.peers = json_object_new_array();
	ret = tool_call(tool_request(BGDMA_CMD_LINK_GET, NLM_F_DUMP), on_link,
			&shown);
	if (!ret)
		ret = tool_call(tool_request(BGDMA_CMD_PEER_GET, NLM_F_DUMP),
				on_peer, &shown);
	if (!ret)
		print_links(&shown, stats);
	json_object_put(shown.links);
	json_object_put(shown.peers);
	return ret;
}

/**
 * cmd_link() - bgdma link
 * @argc: words after it
 * @argv: the words
 *
 * Return: exit code.
 */
int cmd_link(int argc, char **argv)
{
	if (!argc || !strcmp(argv[0], "show") || !strcmp(argv[0], "list"))
		return show_links(argc ? argc - 1 : 0, argv + 1);
	if (!strcmp(argv[0], "add"))
		return change(BGDMA_CMD_LINK_NEW, argc - 1, argv + 1);
	if (!strcmp(argv[0], "set"))
		return change(BGDMA_CMD_LINK_SET, argc - 1, argv + 1);
	if (!strcmp(argv[0], "del"))
		return change(BGDMA_CMD_LINK_DEL, argc - 1, argv + 1);
	return usage_error("\"%s\" is unknown, try \"bgdma help\"", argv[0]);
}
