/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A job of processes, each on the node of its rank, with groups. Who is measured is
 * rank 0; the others do as often the same.
 */
#ifndef BGDMA_PERF_PROCESSES_H
#define BGDMA_PERF_PROCESSES_H

#include <bgdma/collective.h>

#include "job.h"

/* What a process has. */
struct process {
	uint32_t rank;
	struct job_end end;
	struct bgdma_coll *coll;
};

/* Processes of ranks 0 to size-1, each of which runs this and ends. */
void processes_run(uint32_t size, void (*run)(struct process *process));

/* All subjects in turn, so often, after once to warm up: rank 0 tells. */
void processes_take(const struct process *process,
		    const struct subject *subjects, size_t n);

#endif /* BGDMA_PERF_PROCESSES_H */
