// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * bgdma fifo show
 */
#include "tool.h"

#include <inttypes.h>
#include <linux/bgdma_netlink.h>
#include <stdio.h>
#include <string.h>

static const struct field fields[] = {
	{ BGDMA_A_FIFO_PARTITION, TYPE_STRING, "partition" },
	{ BGDMA_A_FIFO_RANK, TYPE_U32, "rank" },
	{ BGDMA_A_FIFO_CTX, TYPE_U32, "ctx" },
	{ BGDMA_A_FIFO_KIND, TYPE_KIND, "kind" },
	{ BGDMA_A_FIFO_ID, TYPE_U32, "id" },
	{ BGDMA_A_FIFO_STATE, TYPE_STATE, "state" },
	{ BGDMA_A_FIFO_SIZE, TYPE_U64, "size" },
	{ BGDMA_A_FIFO_HELD, TYPE_U64, "held" },
	{ BGDMA_A_FIFO_HEAD, TYPE_U64, "head" },
	{ BGDMA_A_FIFO_TAIL, TYPE_U64, "tail" },
	{ BGDMA_A_FIFO_DONE, TYPE_U64, "done" },
	{ BGDMA_A_FIFO_PACKETS, TYPE_U64, "packets" },
	{ BGDMA_A_FIFO_MARKED, TYPE_U64, "marked" },
	{ BGDMA_A_FIFO_ARM, TYPE_U32, "arm" },
	{ BGDMA_A_FIFO_ARM_BYTES, TYPE_U32, "arm_bytes" },
	{ BGDMA_A_FIFO_SENDERS_WAIT, TYPE_FLAG, "senders_wait" },
	{ BGDMA_A_FIFO_WAITS_KIND, TYPE_KIND, "waits_kind" },
	{ BGDMA_A_FIFO_WAITS_ID, TYPE_U32, "waits_id" },
	{ BGDMA_A_FIFO_WAITS_RANK, TYPE_U32, "waits_rank" },
	{ BGDMA_A_FIFO_WAITS_CTX, TYPE_CTX, "waits_ctx" },
	{ BGDMA_A_FIFO_QUOTA, TYPE_U32, "quota" },
	{ BGDMA_A_FIFO_SENDERS, TYPE_U32, "senders" },
	{ BGDMA_A_FIFO_SENDERS_MAX, TYPE_U32, "senders_max" },
	{ BGDMA_A_FIFO_TIMEOUT_MS, TYPE_U32, "timeout_ms" },
	{ BGDMA_A_FIFO_REFUSED, TYPE_U64, "refused" },
	{ BGDMA_A_FIFO_GRANTS, TYPE_U32, "grants" },
	{ BGDMA_A_FIFO_STATS, TYPE_STATS, "stats" },
	{ BGDMA_A_FIFO_RECORD, TYPE_RECORD, "record" },
	{ 0, 0, NULL },
};

static void print_injection(struct json_object *o)
{
	printf(" descriptors head %" PRIu64 " tail %" PRIu64 " done %" PRIu64,
	       get_u64(o, "head"), get_u64(o, "tail"), get_u64(o, "done"));
}

static void print_reception(struct json_object *o)
{
	static const char *const arms[] = { "none", "any", "marked",
					    "occupancy" };
	uint64_t arm = get_u64(o, "arm");

	printf(" bytes head %" PRIu64 " tail %" PRIu64 " packets %" PRIu64
	       " marked %" PRIu64 " arm %s grants %" PRIu64,
	       get_u64(o, "head"), get_u64(o, "tail"), get_u64(o, "packets"),
	       get_u64(o, "marked"), arm < 4 ? arms[arm] : "?",
	       get_u64(o, "grants"));
}

static void print_remote_get(struct json_object *o)
{
	printf(" descriptors quota %" PRIu64 " senders %" PRIu64 "/%" PRIu64
	       " timeout-ms %" PRIu64 " refused %" PRIu64 " grants %" PRIu64,
	       get_u64(o, "quota"), get_u64(o, "senders"),
	       get_u64(o, "senders_max"), get_u64(o, "timeout_ms"),
	       get_u64(o, "refused"), get_u64(o, "grants"));
}

/* Who sends to a group waits for a node of it. */
static void print_waits(struct json_object *o)
{
	printf("    waits for %s %" PRIu64 " of %s/%" PRIu64,
	       get_string(o, "waits_kind"), get_u64(o, "waits_id"),
	       get_string(o, "partition"), get_u64(o, "waits_rank"));
	if (has(o, "waits_ctx"))
		printf(".%" PRIu64, get_u64(o, "waits_ctx"));
	putchar('\n');
}

static void text(struct json_object *o)
{
	const char *kind = get_string(o, "kind");

	print_place(o);
	printf(" %s %" PRIu64 ": %s holds %" PRIu64 " of %" PRIu64, kind,
	       get_u64(o, "id"), get_string(o, "state"), get_u64(o, "held"),
	       get_u64(o, "size"));
	if (!strcmp(kind, "injection-fifo"))
		print_injection(o);
	else if (!strcmp(kind, "reception-fifo"))
		print_reception(o);
	else
		print_remote_get(o);
	printf("%s\n", has(o, "senders_wait") ? " senders-wait" : "");
	if (has(o, "waits_kind"))
		print_waits(o);
	print_stats(o);
	print_record(o);
}

/**
 * cmd_fifo() - bgdma fifo
 * @argc: words after it
 * @argv: the words
 *
 * Return: exit code.
 */
int cmd_fifo(int argc, char **argv)
{
	static const struct view view = {
		.cmd = BGDMA_CMD_FIFO_GET,
		.max = BGDMA_A_FIFO_MAX,
		.depth = 3,
		.fields = fields,
		.text = text,
	};

	return show(&view, argc, argv);
}
