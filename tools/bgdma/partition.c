// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * bgdma partition add | set | del | show
 */
#include "tool.h"

#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <linux/bgdma_netlink.h>
#include <linux/netlink.h>
#include <netlink/genl/genl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const attr_names[BGDMA_A_PARTITION_MAX + 1] = {
	[BGDMA_A_PARTITION_NAME] = "name",
	[BGDMA_A_PARTITION_DIM_X] = "dimension X",
	[BGDMA_A_PARTITION_DIM_Y] = "dimension Y",
	[BGDMA_A_PARTITION_DIM_Z] = "dimension Z",
	[BGDMA_A_PARTITION_TORUS] = "torus",
	[BGDMA_A_PARTITION_UID] = "owner",
	[BGDMA_A_PARTITION_GID] = "group",
	[BGDMA_A_PARTITION_MODE] = "mode",
	[BGDMA_A_PARTITION_POLL_NS] = "poll-ns",
	[BGDMA_A_PARTITION_QUANTUM] = "quantum",
	[BGDMA_A_PARTITION_MAX_CONTEXTS] = "max-contexts",
	[BGDMA_A_PARTITION_MAX_INJ_FIFOS] = "max-inj-fifos",
	[BGDMA_A_PARTITION_NODES] = "nodes",
	[BGDMA_A_PARTITION_KEY] = "key-file",
};

/**
 * partition_attr_name() - how the command line calls an attribute
 * @attr: BGDMA_A_PARTITION_*
 *
 * Return: NULL when it has no name.
 */
const char *partition_attr_name(int attr)
{
	if (attr < 0 || attr > BGDMA_A_PARTITION_MAX)
		return NULL;
	return attr_names[attr];
}

/**
 * parse_number() - a number, and nothing else
 * @text: which
 * @base: of it
 * @max: it may be
 * @value: of it
 *
 * Return: false if it is none.
 */
bool parse_number(const char *text, int base, uint64_t max, uint64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoull(text, &end, base);
	return end != text && !*end && !errno && *text >= '0' &&
	       *text <= '9' && *value <= max;
}

static int put_u32(struct nl_msg *msg, int attr, const char *text, int base)
{
	uint64_t value;

	if (!parse_number(text, base, UINT32_MAX, &value))
		return usage_error("%s: \"%s\" is not a number",
				   attr_names[attr], text);
	nla_put_u32(msg, attr, (uint32_t)value);
	return TOOL_OK;
}

static int put_u64(struct nl_msg *msg, int attr, const char *text, int base)
{
	uint64_t value;

	if (!parse_number(text, base, UINT64_MAX, &value))
		return usage_error("%s: \"%s\" is not a number",
				   attr_names[attr], text);
	nla_put_u64(msg, attr, value);
	return TOOL_OK;
}

static int put_user(struct nl_msg *msg, int attr, const char *text, int base)
{
	const struct passwd *pw = getpwnam(text);

	if (!pw && (*text < '0' || *text > '9'))
		return usage_error("there is no user \"%s\"", text);
	if (!pw)
		return put_u32(msg, attr, text, base);
	nla_put_u32(msg, attr, pw->pw_uid);
	return TOOL_OK;
}

static int put_group(struct nl_msg *msg, int attr, const char *text, int base)
{
	const struct group *gr = getgrnam(text);

	if (!gr && (*text < '0' || *text > '9'))
		return usage_error("there is no group \"%s\"", text);
	if (!gr)
		return put_u32(msg, attr, text, base);
	nla_put_u32(msg, attr, gr->gr_gid);
	return TOOL_OK;
}

/* 8x4x2; dimensions that are missing are 1. */
static int put_dims(struct nl_msg *msg, int attr, const char *text, int base)
{
	const char *at = text;
	int axis;

	for (axis = 0; *text && axis < 3; axis++) {
		unsigned long value = 1;
		char *end;

		if (*at) {
			errno = 0;
			value = strtoul(at, &end, base);
			if (end == at || *at < '0' || *at > '9' || errno ||
			    value > UINT32_MAX ||
			    (*end && (*end != 'x' || !end[1])))
				break;
			at = *end ? end + 1 : end;
		}
		nla_put_u32(msg, attr + axis, (uint32_t)value);
	}
	if (axis == 3 && !*at)
		return TOOL_OK;
	return usage_error("dims: \"%s\" is not like 8x4x2", text);
}

/* Letters of the axes, each once; "none" for no axis. */
static int put_axes(struct nl_msg *msg, const char *text, bool torus)
{
	uint32_t axes = 0;
	const char *at;

	if (!*text)
		return usage_error("\"\" is not like xy or none");
	for (at = strcmp(text, "none") ? text : ""; *at; at++) {
		if (*at < 'x' || *at > 'z' || (axes & 1U << (*at - 'x')))
			return usage_error("\"%s\" is not like xy or none",
					   text);
		axes |= 1U << (*at - 'x');
	}
	nla_put_u32(msg, BGDMA_A_PARTITION_TORUS, torus ? axes : axes ^ 7);
	return TOOL_OK;
}

static int put_torus(struct nl_msg *msg, int attr, const char *text, int base)
{
	(void)attr;
	(void)base;
	return put_axes(msg, text, true);
}

static int put_mesh(struct nl_msg *msg, int attr, const char *text, int base)
{
	(void)attr;
	(void)base;
	return put_axes(msg, text, false);
}

struct parameter {
	const char *word;
	int attr;
	int base;
	int (*put)(struct nl_msg *msg, int attr, const char *text, int base);
};

static const struct parameter parameters[] = {
	{ "dims", BGDMA_A_PARTITION_DIM_X, 10, put_dims },
	{ "torus", BGDMA_A_PARTITION_TORUS, 10, put_torus },
	{ "mesh", BGDMA_A_PARTITION_TORUS, 10, put_mesh },
	{ "owner", BGDMA_A_PARTITION_UID, 10, put_user },
	{ "group", BGDMA_A_PARTITION_GID, 10, put_group },
	{ "uid", BGDMA_A_PARTITION_UID, 10, put_u32 },
	{ "gid", BGDMA_A_PARTITION_GID, 10, put_u32 },
	{ "mode", BGDMA_A_PARTITION_MODE, 8, put_u32 },
	{ "poll-ns", BGDMA_A_PARTITION_POLL_NS, 10, put_u64 },
	{ "quantum", BGDMA_A_PARTITION_QUANTUM, 10, put_u32 },
	{ "max-contexts", BGDMA_A_PARTITION_MAX_CONTEXTS, 10, put_u32 },
	{ "max-inj-fifos", BGDMA_A_PARTITION_MAX_INJ_FIFOS, 10, put_u32 },
	{ "nodes", BGDMA_A_PARTITION_NODES, 10, put_nodes },
	{ "key-file", BGDMA_A_PARTITION_KEY, 16, put_key_file },
};

#define N_PARAMETERS (sizeof(parameters) / sizeof(parameters[0]))

static int put_parameters(struct nl_msg *msg, int argc, char **argv)
{
	uint64_t seen = 0;

	for (; argc > 0; argc -= 2, argv += 2) {
		const struct parameter *p = parameters;
		int ret;

		while (p < parameters + N_PARAMETERS && strcmp(p->word, *argv))
			p++;
		if (p == parameters + N_PARAMETERS)
			return usage_error("\"%s\" is unknown", *argv);
		if (argc == 1)
			return usage_error("\"%s\" needs a value", *argv);
		if (seen & 1ULL << p->attr)
			return usage_error("\"%s\" was given already", *argv);
		seen |= 1ULL << p->attr;
		ret = p->put(msg, p->attr, argv[1], p->base);
		if (ret)
			return ret;
	}
	return TOOL_OK;
}

static int change(uint8_t cmd, int argc, char **argv)
{
	struct nl_msg *msg;
	int ret = TOOL_OK;

	if (argc < 1)
		return usage_error("the name of the partition is missing");
	msg = tool_request(cmd, NLM_F_ACK);
	if (msg)
		ret = put_name(msg, BGDMA_A_PARTITION_NAME, argv[0]);
	if (msg && !ret)
		ret = put_parameters(msg, argc - 1, argv + 1);
	if (ret) {
		nlmsg_free(msg);
		return ret;
	}
	return tool_call(msg, NULL, NULL);
}

static const struct field fields[] = {
	{ BGDMA_A_PARTITION_NAME, TYPE_STRING, "name" },
	{ BGDMA_A_PARTITION_UID, TYPE_U32, "uid" },
	{ BGDMA_A_PARTITION_GID, TYPE_U32, "gid" },
	{ BGDMA_A_PARTITION_POLL_NS, TYPE_U64, "poll_ns" },
	{ BGDMA_A_PARTITION_QUANTUM, TYPE_U32, "quantum" },
	{ BGDMA_A_PARTITION_MAX_CONTEXTS, TYPE_U32, "max_contexts" },
	{ BGDMA_A_PARTITION_MAX_INJ_FIFOS, TYPE_U32, "max_inj_fifos" },
	{ BGDMA_A_PARTITION_SIZE, TYPE_U32, "size" },
	{ BGDMA_A_PARTITION_CONTEXTS, TYPE_U32, "contexts" },
	{ BGDMA_A_PARTITION_NODES, TYPE_RUNS, "nodes_here" },
	{ 0, 0, NULL },
};

/**
 * partition_decode() - make an object of a message about a partition
 * @nlh: message
 *
 * Return: a new object, or NULL when the message is not understood.
 */
struct json_object *partition_decode(struct nlmsghdr *nlh)
{
	struct nlattr *attrs[BGDMA_A_PARTITION_MAX + 1];
	struct json_object *object, *dims, *torus;
	char mode[16];
	int axis;

	if (genlmsg_parse(nlh, 0, attrs, BGDMA_A_PARTITION_MAX, NULL) ||
	    !attrs[BGDMA_A_PARTITION_DIM_X] ||
	    !attrs[BGDMA_A_PARTITION_DIM_Y] ||
	    !attrs[BGDMA_A_PARTITION_DIM_Z] ||
	    !attrs[BGDMA_A_PARTITION_TORUS] || !attrs[BGDMA_A_PARTITION_MODE])
		return NULL;

	object = decode(attrs, fields);
	dims = json_object_new_array();
	torus = json_object_new_array();
	for (axis = 0; axis < 3; axis++) {
		const char name[2] = { (char)('x' + axis), '\0' };

		json_object_array_add(
			dims, json_object_new_int64(nla_get_u32(
				      attrs[BGDMA_A_PARTITION_DIM_X + axis])));
		if (nla_get_u32(attrs[BGDMA_A_PARTITION_TORUS]) & 1U << axis)
			json_object_array_add(torus,
					      json_object_new_string(name));
	}
	snprintf(mode, sizeof(mode), "%04o",
		 nla_get_u32(attrs[BGDMA_A_PARTITION_MODE]));
	json_object_object_add(object, "dims", dims);
	json_object_object_add(object, "torus", torus);
	json_object_object_add(object, "mode", json_object_new_string(mode));
	return object;
}

static void print_shape(struct json_object *object)
{
	struct json_object *dims = json_object_object_get(object, "dims");
	struct json_object *torus = json_object_object_get(object, "torus");
	size_t i, n = json_object_array_length(torus);

	for (i = 0; i < json_object_array_length(dims); i++)
		printf("%s%" PRId64, i ? "x" : " dims ",
		       json_object_get_int64(
			       json_object_array_get_idx(dims, i)));
	printf(" torus %s", n ? "" : "none");
	for (i = 0; i < n; i++)
		printf("%s", json_object_get_string(
				     json_object_array_get_idx(torus, i)));
}

/**
 * partition_text() - print a partition
 * @object: from partition_decode()
 */
void partition_text(struct json_object *object)
{
	uint64_t gid = get_u64(object, "gid");
	const struct group *gr = getgrgid((gid_t)gid);

	printf("%s:", get_string(object, "name"));
	print_shape(object);
	print_owner(object);
	if (gr)
		printf(" group %s", gr->gr_name);
	else
		printf(" group %" PRIu64, gid);
	printf(" mode %s\n", get_string(object, "mode"));
	printf("    nodes %" PRIu64 " contexts %" PRIu64 " poll-ns %" PRIu64
	       " quantum %" PRIu64 " max-contexts %" PRIu64
	       " max-inj-fifos %" PRIu64 "\n",
	       get_u64(object, "size"), get_u64(object, "contexts"),
	       get_u64(object, "poll_ns"), get_u64(object, "quantum"),
	       get_u64(object, "max_contexts"),
	       get_u64(object, "max_inj_fifos"));
	if (has(object, "nodes_here"))
		printf("    here %s\n", get_string(object, "nodes_here"));
}

static void on_partition(struct nlmsghdr *nlh, void *arg)
{
	struct json_object *object = partition_decode(nlh);

	if (!object)
		return;
	if (options.json) {
		json_object_array_add(arg, object);
		return;
	}
	partition_text(object);
	json_object_put(object);
}

static int show_partitions(int argc, char **argv)
{
	struct json_object *all;
	struct nl_msg *msg;
	int ret = TOOL_OK;

	if (argc > 1)
		return usage_error("\"%s\" is one word too many", argv[1]);
	msg = tool_request(BGDMA_CMD_PARTITION_GET, argc ? NLM_F_ACK :
							   NLM_F_DUMP);
	if (msg && argc)
		ret = put_name(msg, BGDMA_A_PARTITION_NAME, argv[0]);
	if (ret) {
		nlmsg_free(msg);
		return ret;
	}
	all = options.json ? json_object_new_array() : NULL;
	ret = tool_call(msg, on_partition, all);
	if (options.json && !ret)
		print_json(all);
	json_object_put(all);
	return ret;
}

/**
 * cmd_partition() - bgdma partition
 * @argc: words after it
 * @argv: the words
 *
 * Return: exit code.
 */
int cmd_partition(int argc, char **argv)
{
	if (!argc || !strcmp(argv[0], "show") || !strcmp(argv[0], "list"))
		return show_partitions(argc ? argc - 1 : 0, argv + 1);
	if (!strcmp(argv[0], "add"))
		return change(BGDMA_CMD_PARTITION_NEW, argc - 1, argv + 1);
	if (!strcmp(argv[0], "set"))
		return change(BGDMA_CMD_PARTITION_SET, argc - 1, argv + 1);
	if (!strcmp(argv[0], "del")) {
		if (argc > 2)
			return usage_error("\"%s\" is one word too many",
					   argv[2]);
		return change(BGDMA_CMD_PARTITION_DEL, argc - 1, argv + 1);
	}
	return usage_error("\"%s\" is unknown, try \"bgdma help\"", argv[0]);
}
