// SPDX-License-Identifier: GPL-2.0
/*
 * What it costs when one node of a ring enters a barrier: its control packet goes
 * to all others by deposit bit, and each of their engines counts it and replies
 * (BA-2, BA-3). One process drives all nodes.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "perf.h"

#define NODES_MAX	1024U
#define ENTRIES		32U	/* of a ring of the largest size */
#define NUMBER		1	/* of the group */
#define SINK_AT		1U

/* To the builders 0 is none. */
enum { SLOT_QUEUE, SLOT_MEMORY, SLOT_COUNTER, SLOT_SINK, SLOTS };

struct node {
	struct bgdma_ctx *ctx;
	struct bgdma_region *memory;
	struct bgdma_rget_queue *queue;
	struct bgdma_counter *counter, *sink;
};

static struct node nodes[NODES_MAX];
static unsigned int n_nodes;
static struct bgdma_inj_fifo *fifo;
static struct bgdma_desc packet;

static void node_open(struct node *node, unsigned int rank)
{
	char partition[32];
	const struct bgdma_attach_attr attr = {
		.partition = partition, .rank = rank,
	};

	snprintf(partition, sizeof(partition), "ring%u", n_nodes);
	must(bgdma_attach(&node->ctx, &attr));
	must(bgdma_region_alloc(node->ctx, 4096,
				BGDMA_LOCAL_READ | BGDMA_LOCAL_WRITE,
				&node->memory));
	must(bgdma_rgq_create(node->ctx, &(struct bgdma_rgq_attr){
			.senders = 1 }, &node->queue));
	must(bgdma_counter_alloc_many(node->ctx, BGDMA_INJECTION, 1,
				      BGDMA_COUNTER_NO_UNDERFLOW,
				      &node->counter));
	must(bgdma_counter_alloc_many(node->ctx, BGDMA_RECEPTION, 1,
				      BGDMA_COUNTER_NO_UNDERFLOW,
				      &node->sink));
}

static void node_bind(const struct node *node,
		      const struct bgdma_group_member *members)
{
	const struct bgdma_group_slot slots[SLOTS] = {
		[SLOT_QUEUE] = { BGDMA_KIND_RGET_QUEUE,
				 bgdma_rgq_id(node->queue) },
		[SLOT_MEMORY] = { BGDMA_KIND_REGION,
				  bgdma_region_handle(node->memory) },
		[SLOT_COUNTER] = { BGDMA_KIND_INJ_COUNTER,
				   bgdma_counter_handle(node->counter) },
		[SLOT_SINK] = { BGDMA_KIND_REC_COUNTER,
				bgdma_counter_handle(node->sink) },
	};

	must(bgdma_group_bind(node->ctx, &(struct bgdma_group_attr){
			.number = NUMBER, .slots = slots, .slot_count = SLOTS,
			.members = members, .member_count = n_nodes }));
}

/* The packet of the first node, and the descriptor that it brings. */
static void packet_make(struct node *node)
{
	const struct bgdma_ctx_info *at = bgdma_ctx_info(node->ctx);
	struct bgdma_transfer t = bgdma__no_transfer();
	struct bgdma_desc *reply = bgdma_region_addr(node->memory);

	reply++;
	t.from.region = SLOT_MEMORY;
	t.length = 1;
	t.counter = SLOT_COUNTER;
	t.dest = at->rank;
	t.dest_ctx = at->ctx;
	t.to.region = bgdma_region_handle(node->memory);
	t.to.offset = SINK_AT;
	t.remote_counter = bgdma_counter_handle(node->sink);
	bgdma_desc_put(reply, &t);
	bgdma_desc_under(reply, NUMBER);

	t = bgdma__no_transfer();
	t.from.region = bgdma_region_handle(node->memory);
	t.from.offset = sizeof(*reply);
	t.length = sizeof(*reply);
	t.dest_fifo = SLOT_QUEUE;
	bgdma_desc_rget(&packet, &t);
	bgdma_desc_deposit(&packet, NUMBER, BGDMA_ROUTE_XP,
			   bgdma_line_last(at, BGDMA_ROUTE_XP, NULL));
}

/* Each until all have replied. */
static inline void entries(unsigned int n)
{
	const struct bgdma_counter *sink = nodes[0].sink;
	int64_t value = bgdma_counter_read(sink);

	while (n--) {
		must(bgdma_inject(fifo, &packet));
		value -= n_nodes - 1;
		spin_until(bgdma_counter_read(sink) == value);
	}
}

static void ring(unsigned int n)
{
	struct bgdma_group_member *members = calloc(n, sizeof(*members));
	char name[64];
	unsigned int i;

	if (!members)
		die("calloc", -ENOMEM);
	n_nodes = n;
	for (i = 0; i < n; i++) {
		node_open(&nodes[i], i);
		members[i].rank = i;
		members[i].ctx = bgdma_ctx_info(nodes[i].ctx)->ctx;
	}
	for (i = 0; i < n; i++)
		node_bind(&nodes[i], members);
	must(bgdma_inj_create(nodes[0].ctx, NULL, &fifo));
	packet_make(&nodes[0]);
	snprintf(name, sizeof(name), "barrier entry, ring of %u", n);
	count(name, ENTRIES * (NODES_MAX / n), entries);
	/* The last replies come before they are counted where they are from. */
	for (i = 1; i < n; i++)
		spin_until(bgdma_counter_read(nodes[i].counter) ==
			   bgdma_counter_read(nodes[0].sink) / (int64_t)(n - 1));
	for (i = 0; i < n; i++)
		bgdma_detach(nodes[i].ctx);
	free(members);
}

void barrier_entry(void)
{
	struct rlimit files = { 8192, 8192 };

	if (setrlimit(RLIMIT_NOFILE, &files))
		die("setrlimit", -errno);
	ring(4);
	ring(64);
	ring(NODES_MAX);
}
