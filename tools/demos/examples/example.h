/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* What the examples begin and end with. */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bgdma/bgdma.h>

static struct bgdma_job *job;
static struct bgdma_endpoint *ep;
static struct bgdma_msg *msg;
static struct bgdma_rma *rma;
static struct bgdma_coll *coll;
static uint32_t rank, size;

static inline void check(int ret)
{
	if (ret < 0) {
		fprintf(stderr, "process %u: %s\n", rank, strerror(-ret));
		exit(1);
	}
}

static inline void begin(void)
{
	check(bgdma_job_open(&job, NULL));
	rank = bgdma_job_rank(job);
	size = bgdma_job_size(job);
	check(bgdma_endpoint_create(&ep, &(struct bgdma_endpoint_attr){
			.job = job }));
	check(bgdma_msg_create(&msg, ep, NULL));
	check(bgdma_rma_create(&rma, ep, NULL));
	check(bgdma_coll_create(&coll, ep, job));
	check(bgdma_endpoint_commit(ep, NULL));
}

static inline void end(void)
{
	check(bgdma_job_fence(job));
	bgdma_endpoint_destroy(ep);
	bgdma_job_close(job);
}

#endif /* EXAMPLE_H */
