// SPDX-License-Identifier: GPL-2.0
/*
 * A job by plain variables; and one all of which this process is, which joins as
 * often.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "job.h"

static void set(const char *name, uint32_t value)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", value);
	must(setenv(name, text, 1) ? -errno : 0);
}

/* Has a folder for each job, until its owner ends by itself. */
static struct {
	char path[sizeof("/tmp/bgdma-perf-XXXXXX")];
	pid_t owner;
} folder;

/* Children end, too. */
static void folder_remove(void)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", folder.path);
	if (folder.owner == getpid() && system(command))
		fprintf(stderr, "bgdma-perf: %s is left\n", folder.path);
}

void job_folder(void)
{
	snprintf(folder.path, sizeof(folder.path), "/tmp/bgdma-perf-XXXXXX");
	must(mkdtemp(folder.path) ? 0 : -errno);
	folder.owner = getpid();
	must(atexit(folder_remove) ? -ENOMEM : 0);
}

void job_begin(uint32_t size)
{
	char dir[48];

	snprintf(dir, sizeof(dir), "%s/job-XXXXXX", folder.path);
	must(mkdtemp(dir) ? 0 : -errno);
	must(setenv("BGDMA_JOB_DIR", dir, 1) ? -errno : 0);
	set("BGDMA_SIZE", size);
}

void job_join(struct job_end *end, uint32_t rank,
	      const struct bgdma_endpoint_attr *attr)
{
	const struct bgdma_job_attr job = { .wiring = "env" };
	struct bgdma_endpoint_attr a = *attr;

	netns_enter(rank);
	set("BGDMA_RANK", rank);
	must(bgdma_job_open(&end->job, &job));
	a.job = end->job;
	a.partition = PARTITION;
	must(bgdma_endpoint_create(&end->ep, &a));
	end->ctx = bgdma_endpoint_ctx(end->ep);
}

static void *commit(void *arg)
{
	struct job_end *end = arg;

	must(bgdma_endpoint_commit(end->ep, NULL));
	return NULL;
}

void job_commit_all(struct job_end *ends, uint32_t size)
{
	pthread_t *others = calloc(size, sizeof(*others));
	uint32_t i;

	must(others ? 0 : -ENOMEM);
	for (i = 1; i < size; i++)
		must(-pthread_create(&others[i], NULL, commit, &ends[i]));
	commit(&ends[0]);
	for (i = 1; i < size; i++)
		must(-pthread_join(others[i], NULL));
	free(others);
}

void job_leave(struct job_end *ends, uint32_t size)
{
	uint32_t i;

	for (i = 0; i < size; i++)
		bgdma_endpoint_destroy(ends[i].ep);
	for (i = 0; i < size; i++)
		bgdma_job_close(ends[i].job);
}

void job_open(struct job_pair *pair, const struct bgdma_endpoint_attr *attr)
{
	memset(pair, 0, sizeof(*pair));
	job_begin(2);
	job_join(&pair->end[0], 0, attr);
	job_join(&pair->end[1], 1, attr);
}

void job_commit(struct job_pair *pair)
{
	job_commit_all(pair->end, 2);
}

void job_close(struct job_pair *pair)
{
	job_leave(pair->end, 2);
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
