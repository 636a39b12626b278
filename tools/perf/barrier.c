// SPDX-License-Identifier: GPL-2.0
/*
 * Barriers of four processes, back to back; who waits looks for a while and then
 * sleeps, or sleeps at once. The partition is a ring of four nodes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "job.h"

#define PROCESSES	4
#define BARRIERS	500

static const struct {
	const char *name;
	uint32_t flags;
	enum bgdma_wait_mode mode;
} kinds[] = {
	{ "barrier of 4, by deposit bit", 0, BGDMA_SPIN_THEN_SLEEP },
	{ "barrier of 4, by deposit bit, no replies", BGDMA_SPLIT_NO_REPLY,
	  BGDMA_SPIN_THEN_SLEEP },
	{ "barrier of 4, a packet for each", BGDMA_SPLIT_PLAIN,
	  BGDMA_SPIN_THEN_SLEEP },
	{ "barrier of 4, asleep at once", 0, BGDMA_SLEEP },
};

#define KINDS	(sizeof(kinds) / sizeof(kinds[0]))

struct kind {
	struct bgdma_coll_group *group;
	enum bgdma_wait_mode mode;
};

static void barriers(void *arg, unsigned int n)
{
	const struct kind *kind = arg;

	while (n--) {
		must(bgdma_coll_enter(kind->group));
		must(bgdma_coll_wait(kind->group, kind->mode, -1));
	}
}

/* The first tells for all. */
static void measure(struct kind *kind, uint32_t rank)
{
	struct subject subject[KINDS];
	unsigned int run;
	size_t i;

	for (i = 0; i < KINDS; i++)
		subject[i] = (struct subject){
			kinds[i].name, barriers, &kind[i], BARRIERS,
		};
	if (!rank) {
		subjects_take(subject, KINDS, runs(REGIONS));
		return;
	}
	for (run = 0; run <= runs(REGIONS); run++)
		for (i = 0; i < KINDS; i++)
			barriers(&kind[i], BARRIERS);
}

static void member(uint32_t rank)
{
	const struct bgdma_job_attr env = { .wiring = "env" };
	struct kind kind[KINDS];
	struct bgdma_endpoint *ep;
	struct bgdma_coll *coll;
	struct bgdma_job *job;
	char number[16];
	size_t i;

	snprintf(number, sizeof(number), "%u", rank);
	must(setenv("BGDMA_RANK", number, 1) ? -errno : 0);
	must(bgdma_job_open(&job, &env));
	must(bgdma_endpoint_create(&ep, &(struct bgdma_endpoint_attr){
			.job = job, .partition = PARTITION }));
	must(bgdma_coll_create(&coll, ep, job));
	must(bgdma_endpoint_commit(ep, NULL));
	for (i = 0; i < KINDS; i++) {
		kind[i].mode = kinds[i].mode;
		must(bgdma_coll_split(coll, &(struct bgdma_split_attr){
				.flags = kinds[i].flags }, &kind[i].group));
	}
	measure(kind, rank);
	for (i = 0; i < KINDS; i++)
		bgdma_coll_group_destroy(kind[i].group);
	bgdma_endpoint_destroy(ep);
	bgdma_job_close(job);
}

void barrier(void)
{
	char dir[] = "/tmp/bgdma-perf-XXXXXX", command[64];
	pid_t pid[PROCESSES];
	uint32_t rank;
	int status;

	must(mkdtemp(dir) ? 0 : -errno);
	must(setenv("BGDMA_JOB_DIR", dir, 1) ? -errno : 0);
	must(setenv("BGDMA_SIZE", "4", 1) ? -errno : 0);
	fflush(stdout);
	for (rank = 0; rank < PROCESSES; rank++) {
		pid[rank] = fork();
		must(pid[rank] < 0 ? -errno : 0);
		if (!pid[rank]) {
			member(rank);
			exit(0);
		}
	}
	for (rank = 0; rank < PROCESSES; rank++) {
		must(waitpid(pid[rank], &status, 0) < 0 ? -errno : 0);
		must(status ? -EIO : 0);
	}
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	must(system(command) ? -EIO : 0);
}
