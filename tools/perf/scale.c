// SPDX-License-Identifier: GPL-2.0
/*
 * Many nodes of one kernel that are joined by links: what a message by one of many
 * flows costs, and what a flow takes of memory. One process drives all nodes; the
 * first half of them is in one network namespace, the second in another.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "perf.h"

#define EACH_MAX	2048U	/* nodes in a namespace */
#define ROUNDS		4096U
#define RING_BYTES	16384
#define RING_ENTRIES	16

struct node {
	struct bgdma_ctx *ctx;
	struct bgdma_inj_fifo *out;
	struct bgdma_rec_fifo *in;
};

static struct node from[EACH_MAX], to[EACH_MAX];
static unsigned int opened, used;

static void node_open(struct node *node, uint32_t rank)
{
	const struct bgdma_grant_attr anyone = {
		.rank = BGDMA_RANK_ANY, .ctx = BGDMA_CTX_ANY,
	};

	netns_enter(rank >= EACH_MAX);
	node->ctx = attach(rank, -1);
	must(bgdma_inj_create(node->ctx, &(struct bgdma_inj_attr){
			.entries = RING_ENTRIES }, &node->out));
	must(bgdma_rec_create(node->ctx, &(struct bgdma_rec_attr){
			.bytes = RING_BYTES }, &node->in));
	must(bgdma_rec_grant(node->in, &anyone, NULL));
}

static void send_one(unsigned int i)
{
	const struct bgdma_ctx_info *at = bgdma_ctx_info(to[i].ctx);

	must(bgdma_memfifo(from[i].out, &(struct bgdma_memfifo_attr){
			.dest = at->rank, .dest_ctx = at->ctx,
			.fifo = bgdma_rec_id(to[i].in), .data = &at->rank,
			.length = sizeof(at->rank) }));
}

static void read_one(unsigned int i)
{
	const struct bgdma_packet *packet = bgdma_rec_peek(to[i].in);

	if (!packet || *(const uint32_t *)bgdma_packet_data(packet) !=
		       EACH_MAX + i)
		die("message", -EBADMSG);
	bgdma_rec_next(to[i].in);
	must(bgdma_rec_release(to[i].in));
}

/* The first message of a flow takes a worker; where they live is asked for, too. */
static void flows_begin(void)
{
	unsigned int i;

	for (i = 0; i < used; i++) {
		send_one(i);
		must(bgdma_rec_wait(to[i].in, BGDMA_SLEEP, -1));
		read_one(i);
	}
}

static inline void by_turns(unsigned int n)
{
	unsigned int i, flow = 0;

	for (i = 0; i < n; i++) {
		send_one(flow);
		spin_until(bgdma_rec_bytes(to[flow].in));
		read_one(flow);
		flow = flow + 1 == used ? 0 : flow + 1;
	}
}

void scale(void)
{
	static const unsigned int counts[] = { 1, 16, 128, 512, EACH_MAX };
	struct rlimit limit = { 16384, 16384 };
	char name[64];
	unsigned int i;

	if (!netns)
		die("--netns", -EINVAL);
	must(setrlimit(RLIMIT_NOFILE, &limit) ? -errno : 0);
	for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		unsigned int more = counts[i] - opened;
		uint64_t before = free_memory(), between, after;

		for (used = counts[i]; opened < used; opened++) {
			node_open(&from[opened], opened);
			node_open(&to[opened], EACH_MAX + opened);
		}
		between = free_memory();
		flows_begin();
		after = free_memory();
		snprintf(name, sizeof(name), "bytes of a node, of %u", 2 * used);
		report_number(name, memory_taken(before, between) / (2 * more));
		snprintf(name, sizeof(name), "bytes of a flow, of %u", used);
		report_number(name, memory_taken(between, after) / more);
		snprintf(name, sizeof(name), "8 B by %u flows", used);
		count(name, ROUNDS, by_turns);
	}
}
