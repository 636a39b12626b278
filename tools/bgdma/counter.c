// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * bgdma counter show
 */
#include "tool.h"

#include <inttypes.h>
#include <linux/bgdma_netlink.h>
#include <stdio.h>

static const struct field fields[] = {
	{ BGDMA_A_COUNTER_PARTITION, TYPE_STRING, "partition" },
	{ BGDMA_A_COUNTER_RANK, TYPE_U32, "rank" },
	{ BGDMA_A_COUNTER_CTX, TYPE_U32, "ctx" },
	{ BGDMA_A_COUNTER_KIND, TYPE_KIND, "kind" },
	{ BGDMA_A_COUNTER_SLOT, TYPE_U32, "slot" },
	{ BGDMA_A_COUNTER_GENERATION, TYPE_U32, "generation" },
	{ BGDMA_A_COUNTER_VALUE, TYPE_S64, "value" },
	{ BGDMA_A_COUNTER_ZERO_SEQ, TYPE_U64, "zero_seq" },
	{ BGDMA_A_COUNTER_WAKE_AT, TYPE_S64, "wake_at" },
	{ BGDMA_A_COUNTER_ARMED, TYPE_U32, "armed" },
	{ BGDMA_A_COUNTER_HIT_ZERO, TYPE_FLAG, "hit_zero" },
	{ BGDMA_A_COUNTER_ENABLED, TYPE_FLAG, "enabled" },
	{ BGDMA_A_COUNTER_NO_UNDERFLOW, TYPE_FLAG, "no_underflow" },
	{ BGDMA_A_COUNTER_LEASE_RANK, TYPE_LEASE, "lease_rank" },
	{ BGDMA_A_COUNTER_LEASE_CTX, TYPE_CTX, "lease_ctx" },
	{ BGDMA_A_COUNTER_GRANTS, TYPE_U32, "grants" },
	{ BGDMA_A_COUNTER_RECORD, TYPE_RECORD, "record" },
	{ 0, 0, NULL },
};

static void print_lease(struct json_object *o)
{
	if (!json_object_object_get_ex(o, "lease_rank", NULL))
		printf(" lease nobody");
	if (!has(o, "lease_rank"))
		return;
	printf(" lease %" PRIu64, get_u64(o, "lease_rank"));
	if (has(o, "lease_ctx"))
		printf(".%" PRIu64, get_u64(o, "lease_ctx"));
}

static void text(struct json_object *o)
{
	print_place(o);
	printf(" %s %" PRIu64 ": value %" PRId64 " wake-at %" PRId64,
	       get_string(o, "kind"), get_u64(o, "slot"), get_s64(o, "value"),
	       get_s64(o, "wake_at"));
	if (get_u64(o, "armed"))
		printf(" sleepers %" PRIu64, get_u64(o, "armed"));
	printf(" zero-seq %" PRIu64 "%s%s%s generation %" PRIu64
	       " grants %" PRIu64,
	       get_u64(o, "zero_seq"), has(o, "hit_zero") ? " hit-zero" : "",
	       has(o, "enabled") ? " enabled" : "",
	       has(o, "no_underflow") ? " no-underflow" : "",
	       get_u64(o, "generation"), get_u64(o, "grants"));
	print_lease(o);
	putchar('\n');
	print_record(o);
}

/**
 * cmd_counter() - bgdma counter
 * @argc: words after it
 * @argv: the words
 *
 * Return: exit code.
 */
int cmd_counter(int argc, char **argv)
{
	static const struct view view = {
		.cmd = BGDMA_CMD_COUNTER_GET,
		.max = BGDMA_A_COUNTER_MAX,
		.depth = 3,
		.fields = fields,
		.text = text,
	};

	return show(&view, argc, argv);
}
