// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * bgdma ctx show
 */
#include "tool.h"

#include <inttypes.h>
#include <linux/bgdma_netlink.h>
#include <stdio.h>

static const struct field fields[] = {
	{ BGDMA_A_CTX_PARTITION, TYPE_STRING, "partition" },
	{ BGDMA_A_CTX_RANK, TYPE_U32, "rank" },
	{ BGDMA_A_CTX_CTX, TYPE_U32, "ctx" },
	{ BGDMA_A_CTX_INCARNATION, TYPE_U32, "incarnation" },
	{ BGDMA_A_CTX_UID, TYPE_U32, "uid" },
	{ BGDMA_A_CTX_PID, TYPE_U32, "pid" },
	{ BGDMA_A_CTX_MEMORY, TYPE_U64, "memory" },
	{ BGDMA_A_CTX_ASLEEP, TYPE_FLAG, "asleep" },
	{ BGDMA_A_CTX_INJ_FIFOS, TYPE_U32, "inj_fifos" },
	{ BGDMA_A_CTX_INJ_FIFOS_MAX, TYPE_U32, "inj_fifos_max" },
	{ BGDMA_A_CTX_REC_FIFOS, TYPE_U32, "rec_fifos" },
	{ BGDMA_A_CTX_REC_FIFOS_MAX, TYPE_U32, "rec_fifos_max" },
	{ BGDMA_A_CTX_RGET_QUEUES, TYPE_U32, "rget_queues" },
	{ BGDMA_A_CTX_RGET_QUEUES_MAX, TYPE_U32, "rget_queues_max" },
	{ BGDMA_A_CTX_INJ_COUNTERS, TYPE_U32, "inj_counters" },
	{ BGDMA_A_CTX_INJ_COUNTERS_MAX, TYPE_U32, "inj_counters_max" },
	{ BGDMA_A_CTX_REC_COUNTERS, TYPE_U32, "rec_counters" },
	{ BGDMA_A_CTX_REC_COUNTERS_MAX, TYPE_U32, "rec_counters_max" },
	{ BGDMA_A_CTX_REGIONS, TYPE_U32, "regions" },
	{ BGDMA_A_CTX_REGION_BYTES, TYPE_U64, "region_bytes" },
	{ BGDMA_A_CTX_EVENTS, TYPE_U64, "events" },
	{ BGDMA_A_CTX_EVENTS_LOST, TYPE_U64, "events_lost" },
	{ BGDMA_A_CTX_STATS, TYPE_STATS, "stats" },
	{ 0, 0, NULL },
};

static void text(struct json_object *o)
{
	print_place(o);
	printf(": incarnation %" PRIu64, get_u64(o, "incarnation"));
	print_owner(o);
	if (has(o, "pid"))
		printf(" pid %" PRIu64, get_u64(o, "pid"));
	printf(" memory %" PRIu64 "%s\n", get_u64(o, "memory"),
	       has(o, "asleep") ? " asleep" : " polled");
	printf("    inj-fifos %" PRIu64 "/%" PRIu64 " rec-fifos %" PRIu64
	       "/%" PRIu64 " rget-queues %" PRIu64 "/%" PRIu64
	       " inj-counters %" PRIu64 "/%" PRIu64 " rec-counters %" PRIu64
	       "/%" PRIu64 "\n",
	       get_u64(o, "inj_fifos"), get_u64(o, "inj_fifos_max"),
	       get_u64(o, "rec_fifos"), get_u64(o, "rec_fifos_max"),
	       get_u64(o, "rget_queues"), get_u64(o, "rget_queues_max"),
	       get_u64(o, "inj_counters"), get_u64(o, "inj_counters_max"),
	       get_u64(o, "rec_counters"), get_u64(o, "rec_counters_max"));
	printf("    regions %" PRIu64 " region-bytes %" PRIu64
	       " events %" PRIu64 " events-lost %" PRIu64 "\n",
	       get_u64(o, "regions"), get_u64(o, "region_bytes"),
	       get_u64(o, "events"), get_u64(o, "events_lost"));
	print_stats(o);
}

/**
 * cmd_ctx() - bgdma ctx
 * @argc: words after it
 * @argv: the words
 *
 * Return: exit code.
 */
int cmd_ctx(int argc, char **argv)
{
	static const struct view view = {
		.cmd = BGDMA_CMD_CTX_GET,
		.max = BGDMA_A_CTX_MAX,
		.depth = 3,
		.fields = fields,
		.text = text,
	};

	return show(&view, argc, argv);
}
