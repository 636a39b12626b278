// SPDX-License-Identifier: GPL-2.0
/*
 * A job of processes by plain variables.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "processes.h"

static void process_run(uint32_t rank, void (*run)(struct process *process))
{
	struct process process = { .rank = rank };
	struct job_end *end = &process.end;

	job_join(end, rank, &(struct bgdma_endpoint_attr){ 0 });
	must(bgdma_coll_create(&process.coll, end->ep, end->job));
	must(bgdma_endpoint_commit(end->ep, NULL));
	run(&process);
	bgdma_endpoint_destroy(end->ep);
	bgdma_job_close(end->job);
	exit(0);
}

void processes_run(uint32_t size, void (*run)(struct process *process))
{
	pid_t *pid = calloc(size, sizeof(*pid));
	uint32_t rank;
	int status;

	must(pid ? 0 : -ENOMEM);
	job_begin(size);
	fflush(stdout);
	for (rank = 0; rank < size; rank++) {
		pid[rank] = fork_bound();
		if (!pid[rank])
			process_run(rank, run);
	}
	for (rank = 0; rank < size; rank++) {
		must(waitpid(pid[rank], &status, 0) < 0 ? -errno : 0);
		must(status ? -EIO : 0);
	}
	free(pid);
}

void processes_take(const struct process *process,
		    const struct subject *subjects, size_t n)
{
	unsigned int run;
	size_t i;

	if (!process->rank) {
		subjects_take(subjects, n, runs(REGIONS));
		return;
	}
	for (run = 0; run <= runs(REGIONS); run++)
		for (i = 0; i < n; i++)
			subjects[i].fn(subjects[i].arg, subjects[i].ops);
}
