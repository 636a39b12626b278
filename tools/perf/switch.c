// SPDX-License-Identifier: GPL-2.0
/*
 * Where eager messages end: tagged messages of growing length, all of them
 * eager beside all of them by rendezvous. Both ends in one process; whoever
 * waits sleeps.
 */
#include <errno.h>
#include <string.h>

#include <bgdma/msg.h>

#include "job.h"

#define RUNS		15
#define ROUNDS		(4 * BATCH)
#define LENGTH_MIN	512U
#define LENGTH_MAX	(32U << 10)
#define MEMORY		((size_t)BATCH * LENGTH_MAX)

static struct side {
	struct job_pair job;
	struct bgdma_msg *from, *to;
} eager, rendezvous;

struct memory {
	char *source, *target;
};

/* @late: what is sent is there before its receive. */
struct way {
	const char *name;
	struct side *side;
	const struct memory *memory;
	bool late;
};

struct stream {
	const struct way *way;
	uint32_t length;
	unsigned int at_once;
};

static void side_open(struct side *side, uint32_t eager_bytes)
{
	const struct bgdma_msg_attr attr = { .eager_bytes = eager_bytes };

	job_open(&side->job, &(struct bgdma_endpoint_attr){
			.data_bytes = 4U << 20 });
	must(bgdma_msg_create(&side->from, side->job.end[0].ep, &attr));
	must(bgdma_msg_create(&side->to, side->job.end[1].ep, &attr));
	job_commit(&side->job);
}

/* The same bytes nowhere twice in a row of messages. */
static char *memory_new(void)
{
	char *p = small_pages(MEMORY);
	size_t i;

	for (i = 0; i < MEMORY; i++)
		p[i] = (char)(i * 7 + i / LENGTH_MIN + 1);
	return p;
}

static char *exposed(struct job_end *end, struct bgdma_msg *msg)
{
	struct bgdma_region *region;

	must(bgdma_region_register(end->ctx, memory_new(), MEMORY,
				   BGDMA_LOCAL_READ | BGDMA_LOCAL_WRITE,
				   &region));
	must(bgdma_msg_expose(msg, region));
	return bgdma_region_addr(region);
}

/* Asleep, and so without looks in vain. */
static void finish(const struct job_end *end,
		   struct bgdma_msg_request **requests, unsigned int n)
{
	int done;

	while (!(done = bgdma_msg_testall(requests, n, NULL)))
		must(bgdma_endpoint_wait(end->ep, -1));
	must(done);
}

static void send_all(const struct stream *s, struct bgdma_msg_request **sent)
{
	unsigned int i;

	for (i = 0; i < s->at_once; i++)
		must(bgdma_msg_isend(s->way->side->from,
				     s->way->memory->source + i * s->length,
				     s->length, 1, i, 0, &sent[i]));
}

static void receive_all(const struct stream *s, struct bgdma_msg_request **got)
{
	unsigned int i;

	for (i = 0; i < s->at_once; i++)
		must(bgdma_msg_irecv(s->way->side->to,
				     s->way->memory->target + i * s->length,
				     s->length, 0, i, 0, &got[i]));
}

static void cross(void *arg, unsigned int n)
{
	struct bgdma_msg_request *sent[BATCH], *got[BATCH];
	const struct stream *s = arg;
	struct side *side = s->way->side;

	for (; n; n -= s->at_once) {
		if (!s->way->late)
			receive_all(s, got);
		send_all(s, sent);
		if (s->way->late) {
			must(bgdma_msg_probe(side->to, 0, s->at_once - 1, 0,
					     NULL));
			receive_all(s, got);
		}
		finish(&side->job.end[1], got, s->at_once);
		finish(&side->job.end[0], sent, s->at_once);
		/* Sends that were complete at once have heard of no credit. */
		must(bgdma_endpoint_progress(side->job.end[0].ep, 0));
	}
}

/* All ways in turn, and the data looked at. */
static void take(const struct way *ways, unsigned int n, uint32_t length,
		 unsigned int at_once)
{
	const size_t bytes = (size_t)length * at_once;
	struct subject subjects[4];
	struct stream streams[4];
	char names[4][64];
	unsigned int i;

	for (i = 0; i < n; i++) {
		streams[i] = (struct stream){ &ways[i], length, at_once };
		subjects[i] = (struct subject){ names[i], cross, &streams[i],
						ROUNDS };
		snprintf(names[i], sizeof(names[i]), "%s, %u, %u at once",
			 ways[i].name, length, at_once);
		memset(ways[i].memory->target, 0, bytes);
	}
	subjects_take(subjects, n, runs(RUNS));
	for (i = 0; i < n; i++)
		if (memcmp(ways[i].memory->source, ways[i].memory->target,
			   bytes))
			die("data", -EBADMSG);
}

void eager_switch(void)
{
	const struct memory other = { memory_new(), memory_new() };
	struct memory shown;
	const struct way ways[] = {
		{ "eager", &eager, &other, false },
		{ "eager, not expected", &eager, &other, true },
		{ "rendezvous, exposed", &rendezvous, &shown, false },
		{ "rendezvous", &rendezvous, &other, false },
	};
	uint32_t length;

	side_open(&eager, LENGTH_MAX);
	side_open(&rendezvous, 1);
	shown.source = exposed(&rendezvous.job.end[0], rendezvous.from);
	shown.target = exposed(&rendezvous.job.end[1], rendezvous.to);
	for (length = LENGTH_MIN; length <= LENGTH_MAX; length *= 2) {
		take(ways, 4, length, 1);
		take(ways, 4, length, BATCH);
	}
	job_close(&rendezvous.job);
	job_close(&eager.job);
}
