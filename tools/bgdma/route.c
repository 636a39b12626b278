// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * bgdma route get PARTITION from RANK to RANK [adaptive]
 */
#include "tool.h"

#include <inttypes.h>
#include <linux/bgdma_netlink.h>
#include <linux/netlink.h>
#include <netlink/genl/genl.h>
#include <stdio.h>
#include <string.h>

static const struct field route_fields[] = {
	{ BGDMA_A_ROUTE_PARTITION, TYPE_STRING, "partition" },
	{ BGDMA_A_ROUTE_FROM, TYPE_U32, "from" },
	{ BGDMA_A_ROUTE_TO, TYPE_U32, "to" },
	{ BGDMA_A_ROUTE_ADAPTIVE, TYPE_FLAG, "adaptive" },
	{ BGDMA_A_ROUTE_DEAD_RANK, TYPE_U32, "dead_rank" },
	{ BGDMA_A_ROUTE_DEAD_DIRECTION, TYPE_DIRECTION, "dead_direction" },
	{ BGDMA_A_ROUTE_LENGTH, TYPE_U32, "length" },
	{ 0, 0, NULL },
};

static const struct field hop_fields[] = {
	{ BGDMA_A_HOP_RANK, TYPE_U32, "rank" },
	{ BGDMA_A_HOP_DIRECTION, TYPE_DIRECTION, "direction" },
	{ BGDMA_A_HOP_TO, TYPE_U32, "to" },
	{ BGDMA_A_HOP_KERNEL, TYPE_KERNEL, "kernel" },
	{ BGDMA_A_HOP_IFINDEX, TYPE_U32, "ifindex" },
	{ BGDMA_A_HOP_IFNAME, TYPE_STRING, "dev" },
	{ 0, 0, NULL },
};

static void print_route(struct json_object *route)
{
	struct json_object *hops = json_object_object_get(route, "hops");
	size_t i, n = json_object_array_length(hops);

	for (i = 0; i < n; i++) {
		struct json_object *hop = json_object_array_get_idx(hops, i);

		printf("%" PRIu64 " %s to %" PRIu64, get_u64(hop, "rank"),
		       get_string(hop, "direction"), get_u64(hop, "to"));
		if (has(hop, "dev"))
			printf(" dev %s", get_string(hop, "dev"));
		if (has(hop, "kernel"))
			printf(" kernel %s", get_string(hop, "kernel"));
		printf("\n");
	}
	if (get_u64(route, "length") > n)
		printf("and %" PRIu64 " more, as far as %" PRIu64 "\n",
		       get_u64(route, "length") - n, get_u64(route, "to"));
}

/* The way from there that is closed, where no other leads round it. */
static int no_way(struct json_object *route)
{
	if (has(route, "dead_rank"))
		fprintf(stderr,
			"Error: there is no way: from %" PRIu64
			" %s no link is up.\n",
			get_u64(route, "dead_rank"),
			get_string(route, "dead_direction"));
	else
		fprintf(stderr, "Error: there is no way over at most 255 links.\n");
	return TOOL_REFUSED;
}

static void on_route(struct nlmsghdr *nlh, void *arg)
{
	struct nlattr *attrs[BGDMA_A_ROUTE_MAX + 1];
	struct nlattr *tb[BGDMA_A_HOP_MAX + 1];
	struct json_object *hops, **route = arg;
	struct nlattr *attr;
	int rest;

	if (*route || genlmsg_parse(nlh, 0, attrs, BGDMA_A_ROUTE_MAX, NULL))
		return;
	*route = decode(attrs, route_fields);
	hops = json_object_new_array();
	nla_for_each_attr(attr, genlmsg_attrdata(genlmsg_hdr(nlh), 0),
			  genlmsg_attrlen(genlmsg_hdr(nlh), 0), rest) {
		if (nla_type(attr) == BGDMA_A_ROUTE_HOP &&
		    !nla_parse_nested(tb, BGDMA_A_HOP_MAX, attr, NULL))
			json_object_array_add(hops, decode(tb, hop_fields));
	}
	json_object_object_add(*route, "hops", hops);
}

static int put_rank(struct nl_msg *msg, int attr, const char *text)
{
	uint64_t value;

	if (!parse_number(text, 10, UINT32_MAX, &value))
		return usage_error("\"%s\" is not a rank", text);
	nla_put_u32(msg, attr, (uint32_t)value);
	return TOOL_OK;
}

static int put_request(struct nl_msg *msg, int argc, char **argv)
{
	if (argc == 6)
		nla_put_flag(msg, BGDMA_A_ROUTE_ADAPTIVE);
	if (put_name(msg, BGDMA_A_ROUTE_PARTITION, argv[0]) ||
	    put_rank(msg, BGDMA_A_ROUTE_FROM, argv[2]) ||
	    put_rank(msg, BGDMA_A_ROUTE_TO, argv[4]))
		return TOOL_USAGE;
	return TOOL_OK;
}

static int get_route(int argc, char **argv)
{
	struct json_object *route = NULL;
	struct nl_msg *msg;
	int ret = TOOL_OK;

	if (argc < 5 || argc > 6 || strcmp(argv[1], "from") ||
	    strcmp(argv[3], "to") || (argc == 6 && strcmp(argv[5], "adaptive")))
		return usage_error("it is \"route get PARTITION from RANK to RANK [adaptive]\"");
	msg = tool_request(BGDMA_CMD_ROUTE_GET, NLM_F_ACK);
	if (msg)
		ret = put_request(msg, argc, argv);
	if (ret) {
		nlmsg_free(msg);
		return ret;
	}
	ret = tool_call(msg, on_route, &route);
	if (!ret && route) {
		if (options.json)
			print_json(route);
		else
			print_route(route);
		if (!has(route, "length"))
			ret = no_way(route);
	}
	json_object_put(route);
	return ret;
}

/**
 * cmd_route() - bgdma route
 * @argc: words after it
 * @argv: the words
 *
 * Return: exit code.
 */
int cmd_route(int argc, char **argv)
{
	if (argc && !strcmp(argv[0], "get"))
		return get_route(argc - 1, argv + 1);
	return usage_error("it is \"route get PARTITION from RANK to RANK [adaptive]\"");
}
