// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * bgdma tree show [PARTITION[/RANK[.CTX]] [class N] [waits]]
 *
 * Each member of a class says which neighbours its oldest packet waits for. "waits"
 * follows that from member to member to those whom all of it waits for.
 */
#include "tool.h"

#include <inttypes.h>
#include <linux/bgdma_netlink.h>
#include <linux/netlink.h>
#include <netlink/genl/genl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct field class_fields[] = {
	{ BGDMA_A_TREE_PARTITION, TYPE_STRING, "partition" },
	{ BGDMA_A_TREE_RANK, TYPE_U32, "rank" },
	{ BGDMA_A_TREE_CTX, TYPE_U32, "ctx" },
	{ BGDMA_A_TREE_CLASS, TYPE_U32, "class" },
	{ BGDMA_A_TREE_INSTANCE, TYPE_U32, "instance" },
	{ BGDMA_A_TREE_MEMBER, TYPE_U32, "member" },
	{ BGDMA_A_TREE_MEMBERS, TYPE_U32, "members" },
	{ BGDMA_A_TREE_STATE, TYPE_CLASS_STATE, "state" },
	{ BGDMA_A_TREE_WINDOW, TYPE_U32, "window" },
	{ BGDMA_A_TREE_SLOTS, TYPE_U32, "slots" },
	{ BGDMA_A_TREE_PACKET, TYPE_U32, "packet" },
	{ BGDMA_A_TREE_OLDEST, TYPE_U32, "oldest" },
	{ BGDMA_A_TREE_COMBINED, TYPE_U64, "combined" },
	{ BGDMA_A_TREE_COLLECTIVES, TYPE_U64, "collectives" },
	{ BGDMA_A_TREE_WAITS_OWN, TYPE_FLAG, "waits_own" },
	{ BGDMA_A_TREE_CODE, TYPE_CODE, "code" },
	{ BGDMA_A_TREE_BROKEN_RANK, TYPE_U32, "broken_rank" },
	{ BGDMA_A_TREE_BROKEN_CTX, TYPE_U32, "broken_ctx" },
	{ 0, 0, NULL },
};

static const struct field edge_fields[] = {
	{ BGDMA_A_EDGE_SIDE, TYPE_SIDE, "side" },
	{ BGDMA_A_EDGE_RANK, TYPE_U32, "rank" },
	{ BGDMA_A_EDGE_CTX, TYPE_U32, "ctx" },
	{ BGDMA_A_EDGE_WAITS, TYPE_FLAG, "waits" },
	{ BGDMA_A_EDGE_STATS, TYPE_STATS, "stats" },
	{ 0, 0, NULL },
};

/* ---- Classes as they are ------------------------------------------------- */

static struct json_object *edges_of(struct json_object *class)
{
	return json_object_object_get(class, "edges");
}

static struct json_object *edge_at(struct json_object *class, size_t i)
{
	return json_object_array_get_idx(edges_of(class), i);
}

static size_t n_edges(struct json_object *class)
{
	return json_object_array_length(edges_of(class));
}

static void print_edge(struct json_object *class, struct json_object *edge)
{
	bool parent = !strcmp(get_string(edge, "side"), "parent");

	printf("    %s %s/%" PRIu64 ".%" PRIu64 "%s\n",
	       parent ? "parent" : "child", get_string(class, "partition"),
	       get_u64(edge, "rank"), get_u64(edge, "ctx"),
	       has(edge, "waits") ? ": waits for it" : "");
	print_stats(edge);
}

static void class_text(struct json_object *o)
{
	size_t i;

	print_place(o);
	printf(" class %" PRIu64 ": %s member %" PRIu64 " of %" PRIu64
	       "%s instance %" PRIu64 "\n",
	       get_u64(o, "class"), get_string(o, "state"),
	       get_u64(o, "member"), get_u64(o, "members"),
	       get_u64(o, "member") ? "" : " root", get_u64(o, "instance"));
	printf("    slots %" PRIu64 "/%" PRIu64 " packet %" PRIu64
	       " oldest %" PRIu64 " combined %" PRIu64 " collectives %" PRIu64
	       "\n",
	       get_u64(o, "slots"), get_u64(o, "window"), get_u64(o, "packet"),
	       get_u64(o, "oldest"), get_u64(o, "combined"),
	       get_u64(o, "collectives"));
	if (has(o, "code"))
		printf("    error %s by %s/%" PRIu64 ".%" PRIu64 "\n",
		       get_string(o, "code"), get_string(o, "partition"),
		       get_u64(o, "broken_rank"), get_u64(o, "broken_ctx"));
	if (has(o, "waits_own"))
		printf("    waits for its own context\n");
	for (i = 0; i < n_edges(o); i++)
		print_edge(o, edge_at(o, i));
}

/* ---- Whom all of it waits for -------------------------------------------- */

/**
 * struct seen - a member that was shown
 * @class: as it is shown
 * @rank: node
 * @ctx: context of it
 * @oldest: number of its oldest packet
 * @idle: it holds none
 * @visited: those whom it waits for were followed
 * @missing: it has not contributed
 */
struct seen {
	struct json_object *class;
	uint64_t rank;
	uint64_t ctx;
	uint32_t oldest;
	bool idle;
	bool visited;
	bool missing;
};

/**
 * struct tree - the members of one class that were shown
 * @seen: by rank and context
 * @n: so many
 * @missing: JSON of who holds it up
 */
struct tree {
	struct seen *seen;
	size_t n;
	struct json_object *missing;
};

static int compare_numbers(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_trees(const struct seen *a, const struct seen *b)
{
	int order = strcmp(get_string(a->class, "partition"),
			   get_string(b->class, "partition"));

	if (!order)
		order = compare_numbers(get_u64(a->class, "class"),
					get_u64(b->class, "class"));
	if (!order)
		order = compare_numbers(get_u64(a->class, "instance"),
					get_u64(b->class, "instance"));
	return order;
}

static int compare_members(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;
	int order = compare_numbers(x->rank, y->rank);

	return order ? order : compare_numbers(x->ctx, y->ctx);
}

static int compare_all(const void *a, const void *b)
{
	int order = compare_trees(a, b);

	return order ? order : compare_members(a, b);
}

static void name_missing(struct tree *t, uint64_t rank, uint64_t ctx, bool seen)
{
	struct json_object *who = json_object_new_object();

	json_object_object_add(who, "rank", json_object_new_uint64(rank));
	json_object_object_add(who, "ctx", json_object_new_uint64(ctx));
	json_object_object_add(who, "seen", json_object_new_boolean(seen));
	json_object_array_add(t->missing, who);
}

/* Somebody in another kernel, or of another user. */
static void name_unseen(struct tree *t, uint64_t rank, uint64_t ctx)
{
	size_t i;

	for (i = 0; i < json_object_array_length(t->missing); i++) {
		struct json_object *who =
			json_object_array_get_idx(t->missing, i);

		if (get_u64(who, "rank") == rank && get_u64(who, "ctx") == ctx)
			return;
	}
	name_missing(t, rank, ctx, false);
}

static void visit(struct tree *t, struct seen *m);

/* @m waits for a neighbour, or would. */
static void follow(struct tree *t, struct seen *m, struct json_object *edge)
{
	struct seen key = { .rank = get_u64(edge, "rank"),
			    .ctx = get_u64(edge, "ctx") };
	struct seen *next = bsearch(&key, t->seen, t->n, sizeof(key),
				    compare_members);

	if (!next)
		name_unseen(t, key.rank, key.ctx);
	/* One that is idle behind that packet has sent what is on its way. */
	else if (!next->idle || (int32_t)(next->oldest - m->oldest) <= 0)
		visit(t, next);
}

static void visit(struct tree *t, struct seen *m)
{
	size_t i;

	if (m->visited)
		return;
	m->visited = true;
	/* Who holds nothing has not begun, and neither have its children. */
	m->missing = m->idle || has(m->class, "waits_own");
	for (i = 0; i < n_edges(m->class); i++) {
		struct json_object *edge = edge_at(m->class, i);
		bool parent = !strcmp(get_string(edge, "side"), "parent");

		if (has(edge, "waits") || (m->idle && !parent))
			follow(t, m, edge);
	}
}

static struct json_object *tree_object(const struct tree *t)
{
	static const char *const same[] = { "partition", "class", "instance",
					    "members" };
	struct json_object *o = json_object_new_object();
	size_t i;

	for (i = 0; i < sizeof(same) / sizeof(same[0]); i++)
		json_object_object_add(
			o, same[i],
			json_object_get(json_object_object_get(
				t->seen[0].class, same[i])));
	json_object_object_add(o, "seen", json_object_new_uint64(t->n));
	json_object_object_add(o, "missing", json_object_get(t->missing));
	return o;
}

static void tree_text(struct json_object *o)
{
	struct json_object *missing = json_object_object_get(o, "missing");
	size_t i;

	printf("%s class %" PRIu64 " instance %" PRIu64 ": %" PRIu64
	       " of %" PRIu64 " members seen\n",
	       get_string(o, "partition"), get_u64(o, "class"),
	       get_u64(o, "instance"), get_u64(o, "seen"),
	       get_u64(o, "members"));
	for (i = 0; i < json_object_array_length(missing); i++) {
		struct json_object *who = json_object_array_get_idx(missing, i);

		printf("    waits for %s/%" PRIu64 ".%" PRIu64 "%s\n",
		       get_string(o, "partition"), get_u64(who, "rank"),
		       get_u64(who, "ctx"),
		       has(who, "seen") ? "" : ", which is not seen");
	}
}

/* Of one class: who holds it up, if anybody does. */
static void tree_waits(struct tree *t, struct json_object *out)
{
	size_t i;

	t->missing = json_object_new_array();
	for (i = 0; i < t->n; i++) {
		struct json_object *class = t->seen[i].class;

		if (!strcmp(get_string(class, "state"), "waits"))
			visit(t, &t->seen[i]);
	}
	for (i = 0; i < t->n; i++)
		if (t->seen[i].missing)
			name_missing(t, t->seen[i].rank, t->seen[i].ctx, true);
	if (json_object_array_length(t->missing))
		json_object_array_add(out, tree_object(t));
	json_object_put(t->missing);
}

/* All classes become an array of those that somebody holds up. */
static struct json_object *waits_of(struct json_object *all)
{
	size_t n = json_object_array_length(all), i, from;
	struct json_object *out = json_object_new_array();
	struct seen *seen = calloc(n ? n : 1, sizeof(*seen));

	for (i = 0; seen && i < n; i++) {
		struct json_object *o = json_object_array_get_idx(all, i);

		seen[i] = (struct seen){
			.class = o,
			.rank = get_u64(o, "rank"),
			.ctx = get_u64(o, "ctx"),
			.oldest = (uint32_t)get_u64(o, "oldest"),
			.idle = !strcmp(get_string(o, "state"), "idle"),
		};
	}
	for (from = 0; seen && from < n; from = i) {
		if (!from)
			qsort(seen, n, sizeof(*seen), compare_all);
		for (i = from; i < n && !compare_trees(&seen[from], &seen[i]);)
			i++;
		tree_waits(&(struct tree){ .seen = seen + from, .n = i - from },
			   out);
	}
	free(seen);
	return out;
}

/* ---- The sub-command ----------------------------------------------------- */

static void on_class(struct nlmsghdr *nlh, void *arg)
{
	struct nlattr *attrs[BGDMA_A_TREE_MAX + 1];
	struct nlattr *tb[BGDMA_A_EDGE_MAX + 1];
	struct json_object *class, *edges;
	struct nlattr *attr;
	int rest;

	if (genlmsg_parse(nlh, 0, attrs, BGDMA_A_TREE_MAX, NULL))
		return;
	class = decode(attrs, class_fields);
	edges = json_object_new_array();
	nla_for_each_attr(attr, genlmsg_attrdata(genlmsg_hdr(nlh), 0),
			  genlmsg_attrlen(genlmsg_hdr(nlh), 0), rest) {
		if (nla_type(attr) == BGDMA_A_TREE_EDGE &&
		    !nla_parse_nested(tb, BGDMA_A_EDGE_MAX, attr, NULL))
			json_object_array_add(edges, decode(tb, edge_fields));
	}
	json_object_object_add(class, "edges", edges);
	json_object_array_add(arg, class);
}

/* PARTITION[/RANK[.CTX]] [class N] [waits] */
static int put_words(struct nl_msg *msg, int argc, char **argv, bool *waits)
{
	uint64_t number;
	int ret, i = 1;

	if (!argc)
		return TOOL_OK;
	ret = put_address(msg, argv[0], 3);
	if (!ret && i < argc && !strcmp(argv[i], "class")) {
		if (i + 1 == argc)
			return usage_error("\"class\" needs a value");
		if (!parse_number(argv[i + 1], 10, UINT32_MAX, &number))
			return usage_error("class: \"%s\" is not a number",
					   argv[i + 1]);
		nla_put_u32(msg, BGDMA_A_TREE_CLASS, (uint32_t)number);
		i += 2;
	}
	if (!ret && i < argc && !strcmp(argv[i], "waits")) {
		*waits = true;
		i++;
	}
	if (!ret && i < argc)
		return usage_error("\"%s\" is unknown", argv[i]);
	return ret;
}

static void print_all(struct json_object *all, bool waits)
{
	size_t i;

	if (options.json) {
		print_json(all);
		return;
	}
	for (i = 0; i < json_object_array_length(all); i++) {
		struct json_object *o = json_object_array_get_idx(all, i);

		if (waits)
			tree_text(o);
		else
			class_text(o);
	}
}

/**
 * cmd_tree() - bgdma tree
 * @argc: words after it
 * @argv: the words
 *
 * Return: exit code.
 */
int cmd_tree(int argc, char **argv)
{
	struct json_object *all, *waiting;
	bool waits = false;
	struct nl_msg *msg;
	int ret = TOOL_OK;

	if (argc && strcmp(argv[0], "show") && strcmp(argv[0], "list"))
		return usage_error("\"%s\" is unknown, try \"bgdma help\"",
				   argv[0]);
	msg = tool_request(BGDMA_CMD_TREE_GET, NLM_F_DUMP);
	if (msg && argc)
		ret = put_words(msg, argc - 1, argv + 1, &waits);
	if (ret) {
		nlmsg_free(msg);
		return ret;
	}
	all = json_object_new_array();
	ret = tool_call(msg, on_class, all);
	if (waits) {
		waiting = waits_of(all);
		json_object_put(all);
		all = waiting;
	}
	if (!ret)
		print_all(all, waits);
	json_object_put(all);
	return ret;
}
