// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Showing objects: the dump behind each "show", and what their texts share.
 * Addresses are PARTITION, PARTITION/RANK or PARTITION/RANK.CTX, in arguments,
 * output and tracepoints alike.
 */
#include "tool.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/bgdma.h>
#include <linux/bgdma_netlink.h>
#include <linux/netlink.h>
#include <netlink/genl/genl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct dump {
	const struct view *view;
	struct json_object *all;
};

/* A number of an address that ends at @end; moves behind it. */
static bool take_number(char **at, char end, uint32_t *number)
{
	unsigned long value;
	char *rest;

	errno = 0;
	value = strtoul(*at, &rest, 10);
	if (rest == *at || **at < '0' || **at > '9' || errno ||
	    value > UINT32_MAX || (*rest && *rest != end))
		return false;
	*number = (uint32_t)value;
	*at = *rest ? rest + 1 : rest;
	return *at == rest || **at;
}

/* Longer than any that the kernel takes, which says how long one may be. */
#define NAME_LENGTH_MAX 255

/**
 * put_name() - the name of a partition
 * @msg: request
 * @attr: attribute for it
 * @name: the name
 *
 * What does not fit into a request is left out of it, be it this or what comes behind:
 * a filter would be none.
 *
 * Return: TOOL_OK or TOOL_USAGE.
 */
int put_name(struct nl_msg *msg, int attr, const char *name)
{
	if (strlen(name) > NAME_LENGTH_MAX)
		return usage_error("the name \"%.16s...\" is too long", name);
	nla_put_string(msg, attr, name);
	return TOOL_OK;
}

/**
 * put_address() - narrow a dump down
 * @msg: its request
 * @address: PARTITION[/RANK[.CTX]]; it is changed
 * @depth: how many parts it may have
 *
 * Return: TOOL_OK or TOOL_USAGE.
 */
int put_address(struct nl_msg *msg, char *address, int depth)
{
	char *slash = strchr(address, '/');
	char *at = slash ? slash + 1 : NULL;
	char end = depth > 2 ? '.' : '\0';
	uint32_t number;

	if (slash)
		*slash = '\0';
	if (put_name(msg, BGDMA_A_CTX_PARTITION, address))
		return TOOL_USAGE;
	if (!slash)
		return TOOL_OK;
	if (!take_number(&at, end, &number))
		return usage_error("\"%s\" is not a rank", slash + 1);
	nla_put_u32(msg, BGDMA_A_CTX_RANK, number);
	if (!*at)
		return TOOL_OK;
	if (!take_number(&at, '\0', &number) || *at)
		return usage_error("\"%s\" is not a context", slash + 1);
	nla_put_u32(msg, BGDMA_A_CTX_CTX, number);
	return TOOL_OK;
}

static void on_object(struct nlmsghdr *nlh, void *arg)
{
	struct nlattr *attrs[64];
	struct dump *dump = arg;
	struct json_object *object;

	if (dump->view->max >= 64 ||
	    genlmsg_parse(nlh, 0, attrs, dump->view->max, NULL))
		return;
	object = decode(attrs, dump->view->fields);
	if (options.json) {
		json_object_array_add(dump->all, object);
		return;
	}
	dump->view->text(object);
	json_object_put(object);
}

/**
 * show() - the "show" of a sub-command
 * @view: what to show
 * @argc: words after the sub-command
 * @argv: [show [ADDRESS]]
 *
 * Return: exit code.
 */
int show(const struct view *view, int argc, char **argv)
{
	struct dump dump = { .view = view };
	struct nl_msg *msg;
	int ret = TOOL_OK;

	if (argc && strcmp(argv[0], "show") && strcmp(argv[0], "list"))
		return usage_error("\"%s\" is unknown, try \"bgdma help\"",
				   argv[0]);
	if (argc > 2)
		return usage_error("\"%s\" is one word too many", argv[2]);
	msg = tool_request(view->cmd, NLM_F_DUMP);
	if (msg && argc > 1)
		ret = put_address(msg, argv[1], view->depth);
	if (ret) {
		nlmsg_free(msg);
		return ret;
	}
	dump.all = options.json ? json_object_new_array() : NULL;
	ret = tool_call(msg, on_object, &dump);
	if (options.json && !ret)
		print_json(dump.all);
	json_object_put(dump.all);
	return ret;
}

/**
 * print_json() - print an object or array
 * @object: which
 */
void print_json(struct json_object *object)
{
	int flags = options.pretty ? JSON_C_TO_STRING_PRETTY |
					     JSON_C_TO_STRING_NOSLASHESCAPE :
				     JSON_C_TO_STRING_PLAIN |
					     JSON_C_TO_STRING_NOSLASHESCAPE;

	puts(json_object_to_json_string_ext(object, flags));
}

/**
 * print_place() - print the address of what belongs to a context
 * @object: with partition, rank, ctx
 */
void print_place(struct json_object *object)
{
	printf("%s/%" PRIu64 ".%" PRIu64, get_string(object, "partition"),
	       get_u64(object, "rank"), get_u64(object, "ctx"));
}

/**
 * print_owner() - print the name, or else the number, of a user
 * @object: with uid
 */
void print_owner(struct json_object *object)
{
	uint64_t uid = get_u64(object, "uid");
	const struct passwd *pw = getpwuid((uid_t)uid);

	if (pw)
		printf(" owner %s", pw->pw_name);
	else
		printf(" owner %" PRIu64, uid);
}

/**
 * print_stats() - print what the engine did, as one line
 * @object: with stats
 */
void print_stats(struct json_object *object)
{
	struct json_object *stats;

	if (!json_object_object_get_ex(object, "stats", &stats))
		return;
	printf("    descriptors %" PRIu64 " packets %" PRIu64
	       " bytes-copied %" PRIu64 " errors %" PRIu64
	       " blocked %" PRIu64 "\n",
	       get_u64(stats, "descriptors"), get_u64(stats, "packets"),
	       get_u64(stats, "bytes_copied"), get_u64(stats, "errors"),
	       get_u64(stats, "blocked"));
}

/* Several errors have no peer, or any. */
static void print_peer(struct json_object *record)
{
	if (has(record, "peer_rank") && has(record, "peer_ctx"))
		printf(" peer %" PRIu64 ".%" PRIu64,
		       get_u64(record, "peer_rank"),
		       get_u64(record, "peer_ctx"));
	else if (has(record, "peer_rank"))
		printf(" peer %" PRIu64, get_u64(record, "peer_rank"));
}

/* Only some FIFOs hold descriptors, and not every error has a FIFO or a transfer. */
static void print_source(struct json_object *record)
{
	const char *kind = get_string(record, "fifo_kind");
	uint64_t transfer = get_u64(record, "transfer_id");

	if (strcmp(kind, "context"))
		printf(" in %s %" PRIu64, kind, get_u64(record, "fifo"));
	if (transfer || !strcmp(kind, "injection-fifo") ||
	    !strcmp(kind, "remote-get-queue"))
		printf(" descriptor %" PRIu64, get_u64(record, "desc_seq"));
	print_peer(record);
	if (transfer)
		printf(" transfer 0x%08" PRIx64, transfer);
}

/* What the two numbers mean depends on the code. */
static void print_where(struct json_object *record)
{
	const char *code = get_string(record, "code");
	uint64_t bound = get_u64(record, "bound");

	if (!strcmp(code, "underflow")) {
		printf(" value %" PRId64 "\n", get_s64(record, "offset"));
		return;
	}
	if (!strcmp(code, "link-down")) {
		printf(" dead-way %" PRIu64 " %s\n", get_u64(record, "offset"),
		       direction_name(bound));
		return;
	}
	printf(" offset %" PRIu64, get_u64(record, "offset"));
	if (strcmp(code, "aborted"))
		printf(" bound %" PRIu64, bound);
	else if (bound)
		printf(" because %s", code_name(bound));
	putchar('\n');
}

/**
 * print_record() - print the last error, if there is one, as one line
 * @object: with record
 */
void print_record(struct json_object *object)
{
	struct json_object *record;

	if (!json_object_object_get_ex(object, "record", &record))
		return;
	printf("    error %s lost %" PRIu64, get_string(record, "code"),
	       get_u64(record, "lost"));
	print_source(record);
	print_where(record);
}

/**
 * get_u64() - a number of an object
 * @object: has it, or 0 is returned
 * @key: its name
 */
uint64_t get_u64(struct json_object *object, const char *key)
{
	struct json_object *value = NULL;

	json_object_object_get_ex(object, key, &value);
	return json_object_get_uint64(value);
}

/**
 * get_s64() - a signed number of an object
 * @object: has it, or 0 is returned
 * @key: its name
 */
int64_t get_s64(struct json_object *object, const char *key)
{
	struct json_object *value = NULL;

	json_object_object_get_ex(object, key, &value);
	return json_object_get_int64(value);
}

/**
 * get_string() - a string of an object
 * @object: has it, or "" is returned
 * @key: its name
 */
const char *get_string(struct json_object *object, const char *key)
{
	struct json_object *value = NULL;

	if (!json_object_object_get_ex(object, key, &value) || !value)
		return "";
	return json_object_get_string(value);
}

/**
 * has() - is a member there, and neither null nor false?
 * @object: perhaps has it
 * @key: its name
 */
bool has(struct json_object *object, const char *key)
{
	struct json_object *value = NULL;

	if (!json_object_object_get_ex(object, key, &value) || !value)
		return false;
	return !json_object_is_type(value, json_type_boolean) ||
	       json_object_get_boolean(value);
}
