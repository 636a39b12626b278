// SPDX-License-Identifier: GPL-2.0
/*
 * A job of processes by plain variables.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "processes.h"

static void process_run(uint32_t rank, void (*run)(struct process *process))
{
	const struct bgdma_job_attr env = { .wiring = "env" };
	struct process process = { .rank = rank };
	char number[16];

	netns_enter(rank);
	snprintf(number, sizeof(number), "%u", rank);
	must(setenv("BGDMA_RANK", number, 1) ? -errno : 0);
	must(bgdma_job_open(&process.job, &env));
	must(bgdma_endpoint_create(&process.ep, &(struct bgdma_endpoint_attr){
			.job = process.job, .partition = PARTITION }));
	must(bgdma_coll_create(&process.coll, process.ep, process.job));
	must(bgdma_endpoint_commit(process.ep, NULL));
	run(&process);
	bgdma_endpoint_destroy(process.ep);
	bgdma_job_close(process.job);
	exit(0);
}

void processes_run(uint32_t size, void (*run)(struct process *process))
{
	char dir[] = "/tmp/bgdma-perf-XXXXXX", text[64];
	pid_t *pid = calloc(size, sizeof(*pid));
	uint32_t rank;
	int status;

	must(pid ? 0 : -ENOMEM);
	must(mkdtemp(dir) ? 0 : -errno);
	must(setenv("BGDMA_JOB_DIR", dir, 1) ? -errno : 0);
	snprintf(text, sizeof(text), "%u", size);
	must(setenv("BGDMA_SIZE", text, 1) ? -errno : 0);
	fflush(stdout);
	for (rank = 0; rank < size; rank++) {
		pid[rank] = fork();
		must(pid[rank] < 0 ? -errno : 0);
		if (!pid[rank])
			process_run(rank, run);
	}
	for (rank = 0; rank < size; rank++) {
		must(waitpid(pid[rank], &status, 0) < 0 ? -errno : 0);
		must(status ? -EIO : 0);
	}
	free(pid);
	snprintf(text, sizeof(text), "rm -rf %s", dir);
	must(system(text) ? -EIO : 0);
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
