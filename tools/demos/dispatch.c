// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Two modules in one process that do not know each other: one sends numbers
 * that the other side adds up, one writes into the memory of the other side and
 * says where. Their packets are mixed; none reaches the wrong module (DP-5).
 *
 *	dispatch [OPERATION]
 *
 * With an OPERATION this process registers it in place of one of its own: all
 * are then told who disagrees, and about what (DP-1).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bgdma/bgdma.h>

#include "scene.h"

#define MESSAGES	20000
#define SLOTS		1024

struct sums {
	uint64_t got, sum, wrong;
};

static struct sums two_sided, one_sided;
static uint64_t slots[SLOTS] __attribute__((aligned(4096)));

/* The word and the payload say the same, if it is for this module. */
static int on_number(void *arg, uint32_t rank,
		     const struct bgdma_packet *packet)
{
	struct sums *sums = arg;
	uint64_t number;

	(void)rank;
	if (packet->bytes != sizeof(number))
		return -EBADMSG;
	memcpy(&number, bgdma_packet_data(packet), sizeof(number));
	sums->wrong += number != (bgdma_packet_word(packet) ^ 0x2222);
	sums->sum += number;
	sums->got++;
	return 0;
}

/* A remote store: where it goes is in the word, what in the payload. */
static int on_store(void *arg, uint32_t rank, const struct bgdma_packet *packet)
{
	struct sums *sums = arg;
	uint64_t slot = bgdma_packet_word(packet);

	(void)rank;
	if (packet->bytes != sizeof(slots[0]) || slot >= SLOTS)
		return -EBADMSG;
	memcpy(&slots[slot], bgdma_packet_data(packet), sizeof(slots[0]));
	sums->wrong += slots[slot] >> 48 != 0x1111;
	sums->got++;
	return 0;
}

static bool all_here(void *arg)
{
	(void)arg;
	return two_sided.got + one_sided.got == MESSAGES;
}

static uint32_t add(struct bgdma_endpoint *ep, const char *module,
		    const char *name, bgdma_packet_fn *fn, struct sums *sums)
{
	uint32_t id;

	check(bgdma_operation_register(ep, &(struct bgdma_operation_attr){
			.module = module, .name = name, .packet = fn,
			.arg = sums }, &id), name);
	return id;
}

static void disagree(const struct bgdma_disagreement *why)
{
	printf("refused: process %u on node %u %s operation %s of module %s\n",
	       why->rank, why->node, why->missing ? "lacks" : "alone has",
	       why->name, why->module);
}

int main(int argc, char **argv)
{
	struct bgdma_send_attr send = { .length = 8 };
	struct bgdma_endpoint_stats stats;
	struct bgdma_disagreement why;
	struct bgdma_endpoint *ep;
	struct bgdma_job *job;
	uint32_t number, store, i;
	uint64_t value, wrong;
	int ret;

	check(bgdma_job_open(&job, &(struct bgdma_job_attr){
			.timeout_ms = 60000 }), "job");
	check(bgdma_endpoint_create(&ep, &(struct bgdma_endpoint_attr){
			.job = job }), "endpoint");
	number = add(ep, "two-sided", "number", on_number, &two_sided);
	store = add(ep, "one-sided", argc > 1 ? argv[1] : "store", on_store,
		    &one_sided);
	ret = bgdma_endpoint_commit(ep, &why);
	if (ret == -EPROTO) {
		disagree(&why);
		return 3;
	}
	check(ret, "commit");

	send.dest = (bgdma_job_rank(job) + 1) % bgdma_job_size(job);
	send.data = &value;
	for (i = 0; i < MESSAGES; i++) {
		send.operation = i % 3 ? number : store;
		send.word = i % 3 ? i : i % SLOTS;
		value = i % 3 ? i ^ 0x2222 : 0x1111ULL << 48 | i;
		while ((ret = bgdma_endpoint_send(ep, &send)) == -EAGAIN)
			check(bgdma_endpoint_progress(ep, 0), "progress");
		check(ret, "send");
	}
	check(bgdma_endpoint_wait_until(ep, all_here, NULL,
					BGDMA_SPIN_THEN_SLEEP, -1), "wait");
	bgdma_endpoint_stats(ep, &stats);
	wrong = two_sided.wrong + one_sided.wrong +
		stats.trouble[BGDMA_TROUBLE_UNKNOWN] +
		stats.trouble[BGDMA_TROUBLE_MALFORMED];
	printf("rank %u: %" PRIu64 " two-sided, %" PRIu64 " one-sided, %" PRIu64
	       " misdelivered\n", bgdma_job_rank(job), two_sided.got,
	       one_sided.got, wrong);
	check(bgdma_job_fence(job), "fence");
	bgdma_endpoint_destroy(ep);
	bgdma_job_close(job);
	return wrong != 0;
}
