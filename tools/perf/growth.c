// SPDX-License-Identifier: GPL-2.0
/*
 * How the cost of a message and the memory of a node grow with the nodes of a
 * partition and the FIFOs of a context. One process drives all nodes.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "perf.h"

#define ROUNDS		4096U
#define RING_BYTES	16384
#define RING_ENTRIES	16
#define FIFOS_MAX	1000

struct node {
	struct bgdma_ctx *ctx;
	struct bgdma_inj_fifo *out;
	struct bgdma_rec_fifo *in;
};

static struct node *nodes;
static unsigned int n_nodes;
static struct bgdma_inj_fifo *fifos[FIFOS_MAX];
static unsigned int n_fifos;

static inline void send_and_read(struct bgdma_inj_fifo *out,
				 const struct node *to)
{
	const struct bgdma_ctx_info *at = bgdma_ctx_info(to->ctx);
	struct bgdma_memfifo_attr attr = {
		.dest = at->rank,
		.dest_ctx = at->ctx,
		.fifo = bgdma_rec_id(to->in),
		.length = sizeof(at->rank),
		.data = &at->rank,
	};
	const struct bgdma_packet *packet;

	must(bgdma_memfifo(out, &attr));
	packet = bgdma_rec_peek(to->in);
	if (!packet ||
	    *(const uint32_t *)bgdma_packet_data(packet) != at->rank)
		die("message", -EBADMSG);
	bgdma_rec_next(to->in);
	must(bgdma_rec_release(to->in));
}

/* Each node in turn to the next. */
static inline void neighbours(unsigned int n)
{
	unsigned int i, from = 0, to;

	for (i = 0; i < n; i++) {
		to = from + 1 == n_nodes ? 0 : from + 1;
		send_and_read(nodes[from].out, &nodes[to]);
		from = to;
	}
}

/* One node to each of the others in turn: no message goes where the last did. */
static inline void one_to_all(unsigned int n)
{
	unsigned int i, to = 1;

	for (i = 0; i < n; i++) {
		send_and_read(nodes[0].out, &nodes[to]);
		to = to + 1 == n_nodes ? 1 : to + 1;
	}
}

/* From one node to another, each message through the next of some FIFOs. */
static inline void through_fifos(unsigned int n)
{
	unsigned int i, fifo = 0;

	for (i = 0; i < n; i++) {
		send_and_read(fifos[fifo], &nodes[1]);
		fifo = fifo + 1 == n_fifos ? 0 : fifo + 1;
	}
}

static void node_open(struct node *node, const char *partition,
		      unsigned int rank, unsigned int inj_fifos)
{
	const struct bgdma_attach_attr attr = {
		.partition = partition,
		.rank = rank,
		.inj_fifos = inj_fifos,
	};
	const struct bgdma_inj_attr out = { .entries = RING_ENTRIES };
	const struct bgdma_rec_attr in = { .bytes = RING_BYTES };
	const struct bgdma_grant_attr anyone = {
		.rank = BGDMA_RANK_ANY,
		.ctx = BGDMA_CTX_ANY,
	};

	must(bgdma_attach(&node->ctx, &attr));
	must(bgdma_inj_create(node->ctx, &out, &node->out));
	must(bgdma_rec_create(node->ctx, &in, &node->in));
	must(bgdma_rec_grant(node->in, &anyone, NULL));
}

static void open_nodes(const char *partition, unsigned int n,
		       unsigned int inj_fifos)
{
	unsigned int i;

	n_nodes = n;
	nodes = calloc(n, sizeof(*nodes));
	if (!nodes)
		die("calloc", -ENOMEM);
	for (i = 0; i < n; i++)
		node_open(&nodes[i], partition, i, inj_fifos);
}

static void close_nodes(void)
{
	unsigned int i;

	for (i = 0; i < n_nodes; i++)
		bgdma_detach(nodes[i].ctx);
	free(nodes);
}

/* What one of some things took of the machine's free memory. */
static void report_each(uint64_t before, unsigned int n, const char *of)
{
	char name[160];

	snprintf(name, sizeof(name), "bytes of free memory that %s took", of);
	report_number(name, memory_taken(before, free_memory()) / n);
}

static void of_nodes(unsigned int n)
{
	char partition[32], name[96], command[96];
	uint64_t before = free_memory();

	snprintf(partition, sizeof(partition), "grow%u", n);
	open_nodes(partition, n, 1);
	snprintf(name, sizeof(name), "one of %u nodes", n);
	report_each(before, n, name);
	snprintf(command, sizeof(command), "bgdma -j node show %s/1",
		 partition);
	report_tool(name, command);
	snprintf(name, sizeof(name), "8 B to the next of %u nodes", n);
	count(name, ROUNDS, neighbours);
	snprintf(name, sizeof(name), "8 B to all of %u nodes in turn", n);
	count(name, ROUNDS, one_to_all);
	close_nodes();
}

static void of_fifos(unsigned int n)
{
	const struct bgdma_inj_attr out = { .entries = RING_ENTRIES };
	char name[96];
	uint64_t before;
	unsigned int i;

	open_nodes("grow2", 2, n + 1);
	n_fifos = n;
	before = free_memory();
	for (i = 0; i < n; i++)
		must(bgdma_inj_create(nodes[0].ctx, &out, &fifos[i]));
	snprintf(name, sizeof(name), "one of %u FIFOs", n);
	/* Fewer are lost in what comes and goes besides. */
	if (n >= 100)
		report_each(before, n, name);
	snprintf(name, sizeof(name), "a node with %u FIFOs", n + 1);
	report_tool(name, "bgdma -j node show grow2/0");
	snprintf(name, sizeof(name), "8 B, each by the next of %u FIFOs", n);
	count(name, ROUNDS, through_fifos);
	close_nodes();
}

void growth(void)
{
	static const unsigned int sizes[] = { 2, 64, 4096 };
	static const unsigned int counts[] = { 1, 10, 100, FIFOS_MAX };
	struct rlimit files = { 8192, 8192 };
	size_t i;

	if (setrlimit(RLIMIT_NOFILE, &files))
		die("setrlimit", -errno);
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		of_nodes(sizes[i]);
	for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		of_fifos(counts[i]);
}
