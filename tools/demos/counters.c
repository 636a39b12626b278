// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Ten thousand messages outstanding at the same time, over few counters (LC-6):
 * a file crosses in as many pieces, all of which are announced before the first
 * is received.
 *
 *	counters COUNTERS in-order|reversed|at-random|one-never FILE
 *
 * Two processes of a job. Process 1 has the file, too, to compare. Phases are
 * lines: begin, outstanding, received.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <bgdma/bgdma.h>

#define MESSAGES	10000
#define NEVER		(MESSAGES / 2)
#define BYTES_MAX	(64L << 20)	/* of the file, from its begin */
#define EAGER_BYTES	1
#define NOTICE		MESSAGES	/* a tag: all are announced */

struct side {
	struct bgdma_job *job;
	struct bgdma_endpoint *ep;
	struct bgdma_msg *msg;
	char *memory, *file;
	uint64_t bytes, each;
	struct bgdma_msg_request *request[MESSAGES];
};

static void check(int ret, const char *what)
{
	if (ret >= 0)
		return;
	fprintf(stderr, "counters: %s: %s\n", what, strerror(-ret));
	exit(1);
}

/* Each phase is one write, so that a trace can be cut there. */
static void phase(const char *line)
{
	if (write(1, line, strlen(line)) < 0)
		exit(1);
}

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void file_load(struct side *side, const char *path)
{
	FILE *file = fopen(path, "rb");
	long size = 0;

	if (file && !fseek(file, 0, SEEK_END))
		size = ftell(file);
	if (size <= 0)
		check(-ENOENT, path);
	rewind(file);
	if (size > BYTES_MAX)
		size = BYTES_MAX;
	/* A little more, so that all pieces are as long. */
	side->each = ((uint64_t)size + MESSAGES - 1) / MESSAGES;
	if (side->each <= EAGER_BYTES)
		side->each = EAGER_BYTES + 1;
	side->bytes = side->each * MESSAGES;
	side->file = calloc(1, side->bytes);
	if (!side->file || fread(side->file, 1, (size_t)size, file) !=
	    (size_t)size)
		check(-EIO, path);
	fclose(file);
}

static void side_open(struct side *side, uint32_t counters)
{
	struct bgdma_endpoint_attr attr = {
		.inj_counters = counters, .rec_counters = counters,
	};
	/* All that is longer waits for its receive. */
	const struct bgdma_msg_attr msg = { .eager_bytes = EAGER_BYTES };
	struct bgdma_region *region;

	check(bgdma_job_open(&side->job, &(struct bgdma_job_attr){
			.timeout_ms = 60000 }), "job");
	attr.job = side->job;
	check(bgdma_endpoint_create(&side->ep, &attr), "endpoint");
	check(bgdma_msg_create(&side->msg, side->ep, &msg), "messages");
	check(bgdma_endpoint_commit(side->ep, NULL), "commit");
	check(bgdma_region_alloc(bgdma_endpoint_ctx(side->ep), side->bytes,
				 BGDMA_LOCAL_READ | BGDMA_LOCAL_WRITE,
				 &region), "memory");
	check(bgdma_msg_expose(side->msg, region), "expose");
	side->memory = bgdma_region_addr(region);
}

static char *piece(struct side *side, uint32_t i)
{
	return side->memory + i * side->each;
}

/* Which is received as number @i. */
static uint32_t nth(const char *order, uint32_t i)
{
	if (!strcmp(order, "reversed"))
		return MESSAGES - 1 - i;
	if (!strcmp(order, "at-random"))
		return (uint32_t)((uint64_t)i * 7919 % MESSAGES);
	return i;
}

static void send_all(struct side *side, bool never)
{
	uint32_t i;

	memcpy(side->memory, side->file, side->bytes);
	for (i = 0; i < MESSAGES; i++)
		check(bgdma_msg_isend(side->msg, piece(side, i), side->each, 1,
				      i, 0, &side->request[i]), "send");
	check(bgdma_msg_send(side->msg, NULL, 0, 1, NOTICE, 0), "notice");
	if (never)
		bgdma_msg_request_free(&side->request[NEVER]);
	check(bgdma_msg_waitall(side->request, MESSAGES, NULL), "wait");
}

/* How many are there as they were sent, each at its place. */
static uint32_t receive_all(struct side *side, const char *order, bool never)
{
	uint32_t i, k, good = 0;
	double begin;
	uint64_t at;

	/* What does not come is not to look right by chance. */
	for (at = 0; at < side->bytes; at++)
		side->memory[at] = (char)~side->file[at];
	check(bgdma_msg_recv(side->msg, NULL, 0, 0, NOTICE, 0, NULL), "notice");
	phase("outstanding\n");
	begin = seconds();
	for (i = 0; i < MESSAGES; i++) {
		k = nth(order, i);
		if (never && k == NEVER)
			continue;
		check(bgdma_msg_irecv(side->msg, piece(side, k), side->each, 0,
				      k, 0, &side->request[k]), "receive");
	}
	check(bgdma_msg_waitall(side->request, MESSAGES, NULL), "wait");
	phase("received\n");
	printf("%.1f us each, ", (seconds() - begin) * 1e6 / MESSAGES);
	for (i = 0; i < MESSAGES; i++)
		good += !memcmp(piece(side, i), side->file + i * side->each,
				side->each);
	return good;
}

/* A message takes one of its own or the shared one, and never waits for one. */
static void counters_show(struct side *side, uint32_t wanted)
{
	struct bgdma_counter_stats s;

	bgdma_counters_used(side->ep, BGDMA_RECEPTION, &s);
	printf("%" PRIu64 " with a counter of their own, %" PRIu64
	       " with the shared one, %" PRIu64 " waited for one\n",
	       s.exclusive, s.shared, wanted - s.exclusive - s.shared);
}

int main(int argc, char **argv)
{
	static struct side side;
	bool never, right = true;
	uint32_t wanted, good;

	if (argc != 4 || atoi(argv[1]) < 1) {
		fprintf(stderr, "usage: counters COUNTERS ORDER FILE\n");
		return 2;
	}
	never = !strcmp(argv[2], "one-never");
	wanted = MESSAGES - never;
	file_load(&side, argv[3]);
	side_open(&side, (uint32_t)atoi(argv[1]));
	phase("begin\n");
	if (bgdma_job_rank(side.job) == 0) {
		send_all(&side, never);
	} else {
		good = receive_all(&side, argv[2], never);
		right = good == wanted;
		printf("%" PRIu32 " of %u as they were sent, ", good, wanted);
		counters_show(&side, wanted);
	}
	check(bgdma_job_fence(side.job), "fence");
	bgdma_endpoint_destroy(side.ep);
	bgdma_job_close(side.job);
	free(side.file);
	return !right;
}
