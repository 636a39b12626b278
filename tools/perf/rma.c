// SPDX-License-Identifier: GPL-2.0
/*
 * Instructions of 8-byte accesses of the rma module in an epoch that is open, each
 * of them waited for; beside what they stand on, see onesided.c. Both ends in
 * one process.
 */
#include <errno.h>
#include <pthread.h>

#include "job.h"

#define ROUNDS	1024
#define BYTES	4096
#define ID	1

static struct job_pair job;
static struct bgdma_rma *rma[2];
static struct bgdma_window *window[2];
static struct bgdma_rma_epoch *epoch;
static struct bgdma_region *mine;

static void *make_window(void *arg)
{
	const unsigned int *end = arg;

	must(bgdma_window_create(rma[*end], &(struct bgdma_window_attr){
			.length = BYTES }, &window[*end]));
	return NULL;
}

static inline void puts_one_by_one(unsigned int n)
{
	while (n--) {
		must(bgdma_epoch_put(epoch, &(struct bgdma_access_attr){
				.local = { mine, 0 }, .length = 8 }));
		must(bgdma_epoch_flush(epoch));
	}
}

static inline void gets_one_by_one(unsigned int n)
{
	while (n--) {
		must(bgdma_epoch_get(epoch, &(struct bgdma_access_attr){
				.local = { mine, 0 }, .length = 8 }));
		must(bgdma_epoch_flush(epoch));
	}
}

static inline void adds_one_by_one(unsigned int n)
{
	while (n--) {
		must(bgdma_epoch_update(epoch, &(struct bgdma_update_attr){
				.op = BGDMA_ATOMIC_ADD,
				.type = BGDMA_ATOMIC_U64, .count = 1, .at = 8,
				.operand = 1, .result = { mine, 0 } }));
		must(bgdma_epoch_flush(epoch));
	}
}

static inline void epochs_one_by_one(unsigned int n)
{
	struct bgdma_rma_epoch *e;

	while (n--) {
		must(bgdma_epoch_begin(window[0], 1, ID + 1,
				       BGDMA_EPOCH_EXCLUSIVE, &e));
		must(bgdma_epoch_put(e, &(struct bgdma_access_attr){
				.local = { mine, 0 }, .length = 8 }));
		must(bgdma_epoch_close(e));
	}
}

void count_rma(void)
{
	static const unsigned int ends[2] = { 0, 1 };
	const uint64_t *sum;
	pthread_t other;
	unsigned int i;

	job_open(&job, &(struct bgdma_endpoint_attr){ .channels = 1 });
	for (i = 0; i < 2; i++)
		must(bgdma_rma_create(&rma[i], job.end[i].ep, NULL));
	job_commit(&job);
	must(-pthread_create(&other, NULL, make_window, (void *)&ends[1]));
	make_window((void *)&ends[0]);
	must(-pthread_join(other, NULL));
	mine = job_memory(&job.end[0], BYTES);
	must(bgdma_epoch_begin(window[0], 1, ID, BGDMA_EPOCH_EXCLUSIVE,
			       &epoch));
	count("rma 8 B put", ROUNDS, puts_one_by_one);
	count("rma 8 B get", ROUNDS, gets_one_by_one);
	count("rma 64-bit fetch-and-add", ROUNDS, adds_one_by_one);
	must(bgdma_epoch_close(epoch));
	sum = (const uint64_t *)bgdma_window_addr(window[1]) + 1;
	if (*sum != ROUNDS * (1 + runs(REGIONS)))
		die("fetch-and-add", -EBADMSG);
	count("rma epoch of one 8 B put", ROUNDS / 4, epochs_one_by_one);
	job_close(&job);
}
