/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Endpoints in one process, mostly two, on nodes 0 and 1, and a way to take time
 * and instructions of what goes between them. Subjects of modules that stand on
 * the sys layer begin here.
 */
#ifndef BGDMA_PERF_JOB_H
#define BGDMA_PERF_JOB_H

#include <bgdma/rendezvous.h>

#include "perf.h"

/* One side. Modules may be registered between job_open() and job_commit(). */
struct job_end {
	struct bgdma_job *job;
	struct bgdma_endpoint *ep;
	struct bgdma_ctx *ctx;
};

struct job_pair {
	struct job_end end[2];
};

/* Where the folders of jobs are, until this process ends: before all else. */
void job_folder(void);

/*
 * A job of so many, in a folder of its own: each joins on the node of its rank, in the
 * namespace of that number, if there are some.
 */
void job_begin(uint32_t size);
void job_join(struct job_end *end, uint32_t rank,
	      const struct bgdma_endpoint_attr *attr);

/* All of one that this process is. */
void job_commit_all(struct job_end *ends, uint32_t size);
void job_leave(struct job_end *ends, uint32_t size);

/* With endpoints as in attr, of which the job is filled in. */
void job_open(struct job_pair *pair, const struct bgdma_endpoint_attr *attr);
void job_commit(struct job_pair *pair);
void job_close(struct job_pair *pair);

/* Memory in small pages that the other endpoint may use. */
struct bgdma_region *job_memory(struct job_end *end, size_t size);

/* One subject: ops operations in fn(arg, ops). */
struct subject {
	const char *name;
	void (*fn)(void *arg, unsigned int ops);
	void *arg;
	unsigned int ops;
};

/* Take all in turn, so often, after once to warm up: regions with times. */
void subjects_take(const struct subject *subjects, size_t n, unsigned int often);

#endif /* BGDMA_PERF_JOB_H */
