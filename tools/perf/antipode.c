// SPDX-License-Identifier: GPL-2.0
/*
 * Every node of a torus of 4 by 4 by 4 sends to its antipode at once (SP-10): two
 * hops away on each axis, by as many ways as there are, so that each link has as much
 * to do as any other. How long each takes, by direct puts and by chains. All nodes
 * are in this process, in a network namespace each, so they have one clock.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "job.h"

#define RUNS		5
#define NODES		64
#define HALF_WAY	(2 | 2 << 2 | 2 << 4)	/* on all three axes */
#define BYTES		(4UL << 20)	/* of each node */
#define LOOK_NS		20000000		/* between two looks at all of them */
#define KIB		1024U

static struct job_end ends[NODES];

static struct node {
	struct bgdma_inj_fifo *puts;
	struct bgdma_region *source, *target;
	struct bgdma_counter *arrived;
	struct bgdma_rts rts;
	bool sent, received;
	uint64_t took;		/* nanoseconds until it had all; 0: it has not */
} nodes[NODES];

static uint32_t rts_id;

struct way {
	const char *name;
	uint8_t route;		/* of a put */
	uint32_t portion;	/* of a chain; 0: a put */
	uint32_t in_flight;
};

static struct node *antipode(const struct node *node)
{
	return &nodes[(node - nodes) ^ HALF_WAY];
}

static uint32_t rank_of(const struct node *node)
{
	return (uint32_t)(node - nodes);
}

static struct job_end *end_of(const struct node *node)
{
	return &ends[node - nodes];
}

/* ---- Chains -------------------------------------------------------------- */

static void on_sent(void *arg, int result, uint64_t bytes)
{
	struct node *node = arg;

	(void)bytes;
	must(result);
	node->sent = true;
}

static void on_received(void *arg, int result, uint64_t bytes)
{
	struct node *node = arg;

	(void)bytes;
	must(result);
	node->received = true;
}

static int on_rts(void *arg, uint32_t rank, const struct bgdma_packet *packet)
{
	struct node *node = arg;
	int ret = bgdma_rts_read(&node->rts, rank, packet);

	if (ret)
		return ret;
	return bgdma_rendezvous_accept(end_of(node)->ep, &node->rts,
				       &(struct bgdma_accept_attr){
				       .length = BYTES,
				       .to = { node->target, 0 },
				       .done = on_received, .arg = node });
}

static void chain_begin(struct node *node, const struct way *way)
{
	must(bgdma_rendezvous_send(end_of(node)->ep,
				   &(struct bgdma_rendezvous_attr){
				   .operation = rts_id,
				   .dest = rank_of(antipode(node)),
				   .length = BYTES,
				   .from = { node->source, 0 },
				   .portion = way->portion,
				   .in_flight = way->in_flight,
				   .done = on_sent, .arg = node }));
}

/* ---- Puts ---------------------------------------------------------------- */

static void put_begin(struct node *node, const struct way *way)
{
	const struct node *to = antipode(node);

	must(bgdma_put(node->puts, &(struct bgdma_put_attr){
			.dest = rank_of(to),
			.dest_ctx = bgdma_ctx_info(end_of(to)->ctx)->ctx,
			.length = BYTES, .from = { node->source, 0 },
			.to = { bgdma_region_handle(to->target), 0 },
			.remote_counter = bgdma_counter_handle(to->arrived),
			.route = way->route }));
}

/* ---- Both ---------------------------------------------------------------- */

static void prepare(struct node *node, const struct way *way)
{
	node->took = 0;
	node->sent = !way->portion;
	node->received = false;
	memset(bgdma_region_addr(node->target), 0, BYTES);
	bgdma_counter_clear_hit(node->arrived);
	bgdma_counter_add(node->arrived, way->portion ? 0 : (int64_t)BYTES);
}

static bool has_all(const struct node *node, const struct way *way)
{
	return way->portion ? node->received :
			      bgdma_counter_there(node->arrived);
}

/* A look at all nodes: true if one has not got all, or knows not that it has sent. */
static bool look(const struct way *way, uint64_t begin)
{
	bool more = false;
	size_t i;

	for (i = 0; i < NODES; i++) {
		struct node *node = &nodes[i];

		must(bgdma_endpoint_progress(end_of(node)->ep, 0));
		if (!node->took && has_all(node, way))
			node->took = now_ns() - begin;
		more |= !node->took || !node->sent;
	}
	return more;
}

/* Ticks of all processors that did something, and of all. */
static void ticks(uint64_t *busy, uint64_t *all)
{
	unsigned long long user, nice, system, idle, iowait, irq, softirq;
	FILE *file = fopen("/proc/stat", "re");

	must(file ? 0 : -errno);
	must(fscanf(file, "cpu %llu %llu %llu %llu %llu %llu %llu", &user,
		    &nice, &system, &idle, &iowait, &irq, &softirq) == 7 ?
	     0 : -EBADMSG);
	fclose(file);
	*busy = user + nice + system + irq + softirq;
	*all = *busy + idle + iowait;
}

static void report(const struct way *way, uint64_t busy, uint64_t all)
{
	size_t i;

	printf("{\"antipode\":\"%s\",\"bytes\":%lu,\"busy\":%.3f,\"ns\":[",
	       way->name, BYTES, (double)busy / (double)all);
	for (i = 0; i < NODES; i++)
		printf("%s%llu", i ? "," : "",
		       (unsigned long long)nodes[i].took);
	printf("]}\n");
	fflush(stdout);
}

static void check(const struct node *node)
{
	if (memcmp(bgdma_region_addr(antipode(node)->source),
		   bgdma_region_addr(node->target), BYTES))
		die("data", -EBADMSG);
}

static void take(const struct way *way)
{
	uint64_t begin, busy, all, busy_then, all_then;
	size_t i;

	for (i = 0; i < NODES; i++)
		prepare(&nodes[i], way);
	ticks(&busy_then, &all_then);
	begin = now_ns();
	for (i = 0; i < NODES; i++) {
		if (way->portion)
			chain_begin(&nodes[i], way);
		else
			put_begin(&nodes[i], way);
	}
	while (look(way, begin))
		nanosleep(&(struct timespec){ .tv_nsec = LOOK_NS }, NULL);
	ticks(&busy, &all);
	report(way, busy - busy_then, all - all_then);
	for (i = 0; i < NODES; i++)
		check(&nodes[i]);
}

/* Each node has other bytes. */
static void fill(struct node *node)
{
	char *p = bgdma_region_addr(node->source);
	size_t i;

	for (i = 0; i < BYTES; i++)
		p[i] = (char)(i * 7 + i / 4096 + rank_of(node));
}

static void open_all(void)
{
	size_t i;

	job_begin(NODES);
	for (i = 0; i < NODES; i++) {
		struct bgdma_operation_attr op = {
			.module = "perf", .name = "rts", .packet = on_rts,
			.arg = &nodes[i],
		};

		job_join(&ends[i], (uint32_t)i, &(struct bgdma_endpoint_attr){
			 .channels = 1, .data_bytes = 1U << 20 });
		must(bgdma_operation_register(ends[i].ep, &op, &rts_id));
	}
	job_commit_all(ends, NODES);
}

static void memory_open(struct node *node)
{
	const struct bgdma_grant_attr peer = {
		.rank = rank_of(antipode(node)), .ctx = BGDMA_CTX_ANY,
	};

	node->source = job_memory(end_of(node), BYTES);
	node->target = job_memory(end_of(node), BYTES);
	fill(node);
	must(bgdma_inj_create(end_of(node)->ctx, NULL, &node->puts));
	must(bgdma_counter_alloc(end_of(node)->ctx, BGDMA_RECEPTION,
				 &node->arrived));
	must(bgdma_counter_grant(node->arrived, 1, &peer, NULL));
}

void to_antipode(void)
{
	static const struct way ways[] = {
		{ .name = "put, deterministic" },
		{ .name = "put, adaptive", .route = BGDMA_ROUTE_ADAPTIVE },
		{ .name = "chain, 8 portions of 32 KiB",
		  .portion = 32 * KIB, .in_flight = 8 },
		{ .name = "chain, 12 portions of 32 KiB",
		  .portion = 32 * KIB, .in_flight = 12 },
	};
	unsigned int run;
	size_t i;

	if (!netns)
		die("--netns", -EINVAL);
	open_all();
	for (i = 0; i < NODES; i++)
		memory_open(&nodes[i]);
	for (run = 0; run < runs(RUNS); run++) {
		for (i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
			if (strstr(ways[i].name, only))
				take(&ways[i]);
		}
	}
	job_leave(ends, NODES);
}
