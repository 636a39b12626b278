// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Ten thousand messages outstanding at the same time, over few counters (LC-6):
 * a file crosses in as many pieces, all of which are announced before the first
 * is received. How long does each wait?
 *
 *	counters COUNTERS in-order|reversed|at-random|one-never|same-tag FILE
 *
 * Two processes of a job. Each piece begins with its number, which is its tag,
 * too; with same-tag all have one tag, and come in the order in which they were
 * sent. Process 1 has the file, too, to compare. Phases are lines: begin,
 * outstanding, received.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bgdma/bgdma.h>

#include "scene.h"

#define MESSAGES	10000
#define NEVER		(MESSAGES / 2)
#define BYTES_MAX	(64L << 20)	/* of the file, from its begin */
#define EAGER_BYTES	1
#define NOTICE		MESSAGES	/* a tag: all are announced */
#define SAME		(MESSAGES + 1)	/* a tag: of every piece */
#define SLICE		100		/* requests that are looked at in one go */

struct side {
	struct bgdma_job *job;
	struct bgdma_endpoint *ep;
	struct bgdma_msg *msg;
	char *memory, *file;
	uint64_t bytes, each;
	bool never, same;
	struct bgdma_msg_request *request[MESSAGES];	/* as they are posted */
	int64_t posted[MESSAGES], waited[MESSAGES];	/* nanoseconds */
	uint32_t completed;
};

/* The file in pieces, each behind its number. */
static void file_load(struct side *side, const char *path)
{
	FILE *file = fopen(path, "rb");
	size_t each, got = 0;
	long size = 0;
	uint32_t i;
	char *at;

	if (file && !fseek(file, 0, SEEK_END))
		size = ftell(file);
	if (size <= 0)
		check(-ENOENT, path);
	rewind(file);
	if (size > BYTES_MAX)
		size = BYTES_MAX;
	each = ((size_t)size + MESSAGES - 1) / MESSAGES;
	side->each = sizeof(i) + each;
	side->bytes = side->each * MESSAGES;
	side->file = calloc(1, side->bytes);
	if (!side->file)
		check(-ENOMEM, path);
	for (i = 0, at = side->file; i < MESSAGES; i++, at += side->each) {
		memcpy(at, &i, sizeof(i));
		got += fread(at + sizeof(i), 1, each, file);
	}
	/* The last pieces end in zeros, so that all are as long. */
	if (got < (size_t)size)
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

static void send_all(struct side *side)
{
	uint32_t i;

	memcpy(side->memory, side->file, side->bytes);
	for (i = 0; i < MESSAGES; i++)
		check(bgdma_msg_isend(side->msg, piece(side, i), side->each, 1,
				      side->same ? SAME : i, 0,
				      &side->request[i]), "send");
	check(bgdma_msg_send(side->msg, NULL, 0, 1, NOTICE, 0), "notice");
	if (side->never)
		bgdma_msg_request_free(&side->request[NEVER]);
	check(bgdma_msg_waitall(side->request, MESSAGES, NULL), "wait");
}

/* Post a receive for piece @k. Those of one tag are matched by their order. */
static void post(struct side *side, uint32_t i, uint32_t k)
{
	const uint32_t same = k % 2 ? SAME : BGDMA_MSG_ANY_TAG;

	side->posted[i] = now_ns();
	check(bgdma_msg_irecv(side->msg, piece(side, k), side->each, 0,
			      side->same ? same : k, 0, &side->request[i]),
	      "receive");
}

/* Look at the receives that were posted so far: which have come meanwhile? */
static uint32_t look(struct side *side, uint32_t posted)
{
	struct bgdma_msg_status status[SLICE];
	unsigned int index[SLICE];
	uint32_t first, found = 0;
	int64_t now;
	int i, n;

	for (first = 0; first < posted; first += SLICE) {
		n = bgdma_msg_testsome(side->request + first, SLICE, index,
				       status);
		if (n == -ENOENT)
			continue;
		check(n, "test");
		now = now_ns();
		for (i = 0; i < n; i++) {
			check(status[i].error, "message");
			side->waited[side->completed++] =
				now - side->posted[first + index[i]];
		}
		found += (uint32_t)n;
	}
	return found;
}

static int by_size(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* How many are there as they were sent, each at its place. */
static uint32_t receive_all(struct side *side, const char *order,
			    uint32_t wanted)
{
	const uint32_t middle = wanted / 2;
	uint32_t i, good = 0;
	int64_t begin;
	uint64_t at;

	/* What does not come is not to look right by chance. */
	for (at = 0; at < side->bytes; at++)
		side->memory[at] = (char)~side->file[at];
	check(bgdma_msg_recv(side->msg, NULL, 0, 0, NOTICE, 0, NULL), "notice");
	phase("outstanding\n");
	begin = now_ns();
	for (i = 0; i < MESSAGES; i++) {
		if (!side->never || nth(order, i) != NEVER)
			post(side, i, nth(order, i));
		if (i % SLICE == SLICE - 1)
			look(side, i + 1);
	}
	while (side->completed < wanted) {
		/* Not for long: what came since it was looked at tells nobody. */
		if (!look(side, MESSAGES))
			bgdma_endpoint_wait(side->ep, 1000000);
	}
	begin = now_ns() - begin;
	phase("received\n");
	qsort(side->waited, wanted, sizeof(*side->waited), by_size);
	printf("%.1f us each; waited %.1f ms in the median, %.1f at most; ",
	       (double)begin / 1e3 / MESSAGES,
	       (double)side->waited[middle] / 1e6,
	       (double)side->waited[wanted - 1] / 1e6);
	for (i = 0; i < MESSAGES; i++)
		good += !memcmp(piece(side, i), side->file + i * side->each,
				side->each);
	return good;
}

/* The receiver's part; whether all is well. */
static bool receive(struct side *side, const char *order)
{
	const uint32_t wanted = MESSAGES - side->never;
	const uint32_t good = receive_all(side, order, wanted);
	struct bgdma_counter_stats s;

	bgdma_counters_used(side->ep, BGDMA_RECEPTION, &s);
	/* Who finds none of its own shares one at once. */
	printf("%" PRIu32 " of %u as they were sent; none waited for a counter: %"
	       PRIu64 " had one of their own, %" PRIu64 " shared one\n", good,
	       wanted, s.exclusive, s.shared);
	return good == wanted && s.exclusive + s.shared == wanted;
}

int main(int argc, char **argv)
{
	static struct side side;
	bool right = true;

	if (argc != 4 || atoi(argv[1]) < 1) {
		fprintf(stderr, "usage: counters COUNTERS ORDER FILE\n");
		return 2;
	}
	side.never = !strcmp(argv[2], "one-never");
	side.same = !strcmp(argv[2], "same-tag");
	file_load(&side, argv[3]);
	side_open(&side, (uint32_t)atoi(argv[1]));
	phase("begin\n");
	if (bgdma_job_rank(side.job) == 0)
		send_all(&side);
	else
		right = receive(&side, argv[2]);
	check(bgdma_job_fence(side.job), "fence");
	bgdma_endpoint_destroy(side.ep);
	bgdma_job_close(side.job);
	free(side.file);
	return !right;
}
