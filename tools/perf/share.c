// SPDX-License-Identifier: GPL-2.0
/*
 * 24 flows at once by one link, each of a node to another: how many bytes of each
 * have arrived when so many have of all. Without a clock.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "perf.h"

#define FLOWS		24
#define RUNS		5
#define BYTES		65536U	/* of a put */
#define PUTS		256U	/* of a flow: more than there is time for */
#define MARK_BYTES	(1ULL << 40)

static struct flow {
	struct bgdma_ctx *from, *to;
	struct bgdma_inj_fifo *inj;
	struct bgdma_region *source, *target;
	struct bgdma_counter *arrived;
} flows[FLOWS];

static void flow_open(struct flow *f, uint32_t rank)
{
	const struct bgdma_grant_attr peer = {
		.rank = rank, .ctx = BGDMA_CTX_ANY,
		.rights = BGDMA_RIGHT_WRITE,
	};
	const struct bgdma_grant_attr count = {
		.rank = rank, .ctx = BGDMA_CTX_ANY,
	};

	netns_enter(0);
	f->from = attach(rank, -1);
	must(bgdma_inj_create(f->from, &(struct bgdma_inj_attr){
			.entries = PUTS }, &f->inj));
	must(bgdma_region_register(f->from, small_pages(BYTES), BYTES,
				   BGDMA_LOCAL_READ, &f->source));
	netns_enter(1);
	f->to = attach(FLOWS + rank, -1);
	must(bgdma_region_register(f->to, small_pages(BYTES), BYTES,
				   BGDMA_LOCAL_WRITE, &f->target));
	must(bgdma_region_grant(f->target, &peer, NULL));
	must(bgdma_counter_alloc(f->to, BGDMA_RECEPTION, &f->arrived));
	must(bgdma_counter_grant(f->arrived, 1, &count, NULL));
	bgdma_counter_add(f->arrived, MARK_BYTES);
}

static void flow_begin(const struct flow *f, uint32_t rank)
{
	unsigned int i;

	for (i = 0; i < PUTS; i++)
		must(bgdma_put(f->inj, &(struct bgdma_put_attr){
			.dest = FLOWS + rank,
			.dest_ctx = bgdma_ctx_info(f->to)->ctx,
			.length = BYTES, .from = { f->source, 0 },
			.to = { bgdma_region_handle(f->target), 0 },
			.remote_counter = bgdma_counter_handle(f->arrived),
			.more = i + 1 < PUTS }));
}

static uint64_t flow_bytes(const struct flow *f)
{
	return MARK_BYTES - (uint64_t)bgdma_counter_read(f->arrived);
}

static uint64_t all_bytes(void)
{
	uint64_t sum = 0;
	unsigned int i;

	for (i = 0; i < FLOWS; i++)
		sum += flow_bytes(&flows[i]);
	return sum;
}

static void take(uint64_t until)
{
	uint64_t bytes[FLOWS], least = UINT64_MAX, most = 0, sum = 0, begun;
	unsigned int i;

	for (i = 0; i < FLOWS; i++)
		flow_open(&flows[i], i);
	for (i = 0; i < FLOWS; i++)
		flow_begin(&flows[i], i);
	/* Those that began first had it for themselves until now. */
	begun = all_bytes();
	for (i = 0; i < FLOWS; i++)
		bytes[i] = flow_bytes(&flows[i]);
	while (all_bytes() < begun + until)
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	for (i = 0; i < FLOWS; i++)
		bytes[i] = flow_bytes(&flows[i]) - bytes[i];
	for (i = 0; i < FLOWS; i++) {
		least = bytes[i] < least ? bytes[i] : least;
		most = bytes[i] > most ? bytes[i] : most;
		sum += bytes[i];
	}
	printf("{\"share\":%u,\"least\":%.3f,\"most\":%.3f}\n", FLOWS,
	       (double)least * FLOWS / (double)sum,
	       (double)most * FLOWS / (double)sum);
	fflush(stdout);
	for (i = 0; i < FLOWS; i++) {
		bgdma_detach(flows[i].from);
		bgdma_detach(flows[i].to);
	}
}

void share(void)
{
	unsigned int run;

	if (!netns)
		die("--netns", -EINVAL);
	for (run = 0; run < runs(RUNS); run++)
		take(FLOWS * 32ULL * BYTES);
}
