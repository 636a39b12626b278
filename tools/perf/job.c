// SPDX-License-Identifier: GPL-2.0
/*
 * Two endpoints in one process: a job of two by plain variables, which this
 * process joins twice.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "job.h"

static void join(struct job_end *end, uint32_t side, const char *rank,
		 const struct bgdma_endpoint_attr *attr)
{
	const struct bgdma_job_attr job = { .wiring = "env" };
	struct bgdma_endpoint_attr a = *attr;

	netns_enter(side);
	must(setenv("BGDMA_RANK", rank, 1) ? -errno : 0);
	must(bgdma_job_open(&end->job, &job));
	a.job = end->job;
	a.partition = PARTITION;
	must(bgdma_endpoint_create(&end->ep, &a));
	end->ctx = bgdma_endpoint_ctx(end->ep);
}

void job_open(struct job_pair *pair, const struct bgdma_endpoint_attr *attr)
{
	memset(pair, 0, sizeof(*pair));
	strcpy(pair->dir, "/tmp/bgdma-perf-XXXXXX");
	must(mkdtemp(pair->dir) ? 0 : -errno);
	must(setenv("BGDMA_JOB_DIR", pair->dir, 1) ? -errno : 0);
	must(setenv("BGDMA_SIZE", "2", 1) ? -errno : 0);
	join(&pair->end[0], 0, "0", attr);
	join(&pair->end[1], 1, "1", attr);
}

static void *commit(void *arg)
{
	struct job_end *end = arg;

	must(bgdma_endpoint_commit(end->ep, NULL));
	return NULL;
}

void job_commit(struct job_pair *pair)
{
	pthread_t other;

	must(-pthread_create(&other, NULL, commit, &pair->end[1]));
	commit(&pair->end[0]);
	must(-pthread_join(other, NULL));
}

void job_close(struct job_pair *pair)
{
	char command[64];
	int i;

	for (i = 0; i < 2; i++)
		bgdma_endpoint_destroy(pair->end[i].ep);
	for (i = 0; i < 2; i++)
		bgdma_job_close(pair->end[i].job);
	snprintf(command, sizeof(command), "rm -rf %s", pair->dir);
	must(system(command) ? -EIO : 0);
}

struct bgdma_region *job_memory(struct job_end *end, size_t size)
{
	struct bgdma_region *region;

	must(bgdma_region_register(end->ctx, small_pages(size), size,
				   BGDMA_LOCAL_READ | BGDMA_LOCAL_WRITE,
				   &region));
	must(bgdma_endpoint_expose(end->ep, region, BGDMA_RIGHT_READ |
						    BGDMA_RIGHT_WRITE));
	return region;
}

static void take(const struct subject *s, bool report)
{
	uint64_t begin = now_ns(), end;

	if (report)
		MARK(MARK_BEGIN);
	s->fn(s->arg, s->ops);
	if (report)
		MARK(MARK_END);
	end = now_ns();
	if (!report)
		return;
	printf("{\"region\":\"%s\",\"ops\":%u,\"ns\":%.1f}\n", s->name, s->ops,
	       (double)(end - begin) / s->ops);
	fflush(stdout);
}

void subjects_take(const struct subject *subjects, size_t n, unsigned int often)
{
	unsigned int run;
	size_t i;

	for (run = 0; run <= often; run++)
		for (i = 0; i < n; i++)
			take(&subjects[i], run);
}
