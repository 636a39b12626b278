// SPDX-License-Identifier: GPL-2.0
/*
 * What tagged messages cost: beside the raw operation that they stand on, see
 * sys.c, and among few and many receives that wait. Both ends in one process.
 */
#include <errno.h>
#include <stdlib.h>

#include <bgdma/msg.h>

#include "job.h"

#define RUNS	15
#define ROUNDS	1024
#define FEW	10U
#define MANY	10000U

static struct job_pair pair;
static struct bgdma_msg *from, *to;

static struct crowd {
	unsigned int posted;
	unsigned int next;
	struct bgdma_msg_request *request[MANY];
	uint64_t value[MANY];
} few = { .posted = FEW }, many = { .posted = MANY };

static inline void tagged_send(uint64_t value, uint32_t tag, uint16_t context)
{
	must(bgdma_msg_send(from, &value, sizeof(value), 1, tag, context));
}

static void tagged_each(void *arg, unsigned int n)
{
	struct bgdma_msg_request *request;
	uint64_t value;

	(void)arg;
	while (n--) {
		must(bgdma_msg_irecv(to, &value, sizeof(value), 0, 7, 0,
				     &request));
		tagged_send(n, 7, 0);
		must(bgdma_msg_wait(&request, NULL));
		if (value != n)
			die("message", -EBADMSG);
	}
}

static void tagged_batches(void *arg, unsigned int n)
{
	struct bgdma_msg_request *request[BATCH];
	uint64_t value[BATCH];
	unsigned int i;

	(void)arg;
	for (; n; n -= BATCH) {
		for (i = 0; i < BATCH; i++)
			must(bgdma_msg_irecv(to, &value[i], sizeof(value[i]), 0,
					     7, 0, &request[i]));
		for (i = 0; i < BATCH; i++)
			tagged_send(n + i, 7, 0);
		must(bgdma_msg_waitall(request, BATCH, NULL));
		for (i = 0; i < BATCH; i++)
			if (value[i] != n + i)
				die("message", -EBADMSG);
	}
}

static void post(struct crowd *crowd, unsigned int i)
{
	must(bgdma_msg_irecv(to, &crowd->value[i], sizeof(crowd->value[i]), 0,
			     i, 1, &crowd->request[i]));
}

/* A message for one of many receives, and that receive again. */
static void among(void *arg, unsigned int n)
{
	struct crowd *crowd = arg;
	unsigned int i;

	while (n--) {
		i = crowd->next;
		crowd->next = (i + 7919) % crowd->posted;
		tagged_send(n, i, 1);
		must(bgdma_msg_wait(&crowd->request[i], NULL));
		if (crowd->value[i] != n)
			die("message", -EBADMSG);
		post(crowd, i);
	}
}

static void take_among(struct crowd *crowd, const char *name)
{
	const struct subject subject = { name, among, crowd, ROUNDS };
	unsigned int i;

	for (i = 0; i < crowd->posted; i++)
		post(crowd, i);
	subjects_take(&subject, 1, runs(RUNS));
	for (i = 0; i < crowd->posted; i++) {
		must(bgdma_msg_cancel(crowd->request[i]));
		bgdma_msg_request_free(&crowd->request[i]);
	}
}

void msg(void)
{
	const struct subject subjects[] = {
		{ "tagged 8 B, doorbell each", tagged_each, NULL, ROUNDS },
		{ "tagged 8 B, batches of 32", tagged_batches, NULL, ROUNDS },
	};
	const struct bgdma_msg_attr attr = { .busy = true };

	job_open(&pair, &(struct bgdma_endpoint_attr){
			.data_bytes = 4U << 20 });
	must(bgdma_msg_create(&from, pair.end[0].ep, &attr));
	must(bgdma_msg_create(&to, pair.end[1].ep, &attr));
	job_commit(&pair);
	subjects_take(subjects, 2, runs(RUNS));
	take_among(&few, "tagged 8 B among 10 receives");
	take_among(&many, "tagged 8 B among 10,000 receives");
	job_close(&pair);
}
