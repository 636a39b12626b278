// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The words of a text, counted by all processes of a job, each its part, and summed by
 * the engines while the processes do something else.
 *
 *	allreduce FILE
 */
#include <ctype.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <bgdma/bgdma.h>

#include "scene.h"

/* Lines, words and bytes, and how often words of each hash come: 1 MiB. */
enum { LINES, WORDS, BYTES, HASHES, COUNTERS = 131072 };

static int64_t counter[COUNTERS];

static uint64_t cpu_ns(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000000 +
	       (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000;
}

/* A word belongs to whoever has its first byte. */
static void count_words(const char *text, size_t size, size_t first, size_t end)
{
	bool inside = first && !isspace((unsigned char)text[first - 1]);
	size_t i, at;

	for (i = first; i < end; i++) {
		bool space = isspace((unsigned char)text[i]);
		uint64_t hash = 0;

		counter[LINES] += text[i] == '\n';
		if (!space && !inside) {
			counter[WORDS]++;
			for (at = i; at < size &&
			     !isspace((unsigned char)text[at]); at++)
				hash = hash * 31 + (unsigned char)text[at];
			counter[HASHES + hash % (COUNTERS - HASHES)]++;
		}
		inside = !space;
	}
	counter[BYTES] += (int64_t)(end - first);
}

/* What the process does meanwhile: letters of its part. */
static uint64_t count_letters(const char *text, size_t first, size_t end)
{
	uint64_t letters = 0;

	for (; first < end; first++)
		letters += !!isalpha((unsigned char)text[first]);
	return letters;
}

static const char *text_of(const char *path, size_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st = { 0 };
	void *text;

	check(fd < 0 ? -errno : 0, path);
	check(fstat(fd, &st) ? -errno : 0, path);
	*size = (size_t)st.st_size;
	text = mmap(NULL, *size, PROT_READ, MAP_PRIVATE, fd, 0);
	check(text == MAP_FAILED ? -errno : 0, path);
	close(fd);
	return text;
}

static void sum_up(struct bgdma_coll_group *group, const char *text,
		   size_t first, size_t end)
{
	const struct bgdma_operator op = { .reduction = BGDMA_SUM,
					   .element = BGDMA_S64 };
	uint64_t begin = (uint64_t)now_ns(), cpu = cpu_ns(), letters;
	uint64_t worked, ended;
	struct bgdma_coll_request *r;

	check(bgdma_coll_start(group, &(struct bgdma_collective){
			.kind = BGDMA_ALLREDUCE, .algorithm = BGDMA_ENGINES,
			.out = counter, .count = COUNTERS, .op = &op }, &r),
	      "all-reduce");
	worked = cpu_ns();
	letters = count_letters(text, first, end);
	worked = cpu_ns() - worked;
	check(bgdma_coll_request_wait(&r, BGDMA_SLEEP, -1), "all-reduce");
	ended = (uint64_t)now_ns();
	printf("node %u: %llu letters meanwhile; the collective took %.1f ms, %.1f ms of this processor's\n",
	       bgdma_coll_rank(group), (unsigned long long)letters,
	       (double)(ended - begin) / 1e6,
	       (double)(cpu_ns() - cpu - worked) / 1e6);
	if (bgdma_coll_rank(group) == 0)
		printf("sum: %lld %lld %lld\n", (long long)counter[LINES],
		       (long long)counter[WORDS], (long long)counter[BYTES]);
	fflush(stdout);
}

static void hashes_check(void)
{
	int64_t words = 0;
	size_t i;

	for (i = HASHES; i < COUNTERS; i++)
		words += counter[i];
	check(words == counter[WORDS] ? 0 : -EBADMSG, "words of all hashes");
}

int main(int argc, char **argv)
{
	const struct bgdma_split_attr split = { .flags = BGDMA_SPLIT_ENGINES };
	struct bgdma_coll_group *group;
	struct bgdma_endpoint *ep;
	struct bgdma_coll *coll;
	struct bgdma_job *job;
	size_t bytes, first, end;
	const char *text;

	if (argc != 2) {
		fprintf(stderr, "usage: allreduce FILE\n");
		return 2;
	}
	text = text_of(argv[1], &bytes);
	check(bgdma_job_open(&job, NULL), "job");
	check(bgdma_endpoint_create(&ep, &(struct bgdma_endpoint_attr){
			.job = job }), "endpoint");
	check(bgdma_coll_create(&coll, ep, job), "groups");
	check(bgdma_endpoint_commit(ep, NULL), "commit");
	check(bgdma_coll_split(coll, &split, &group), "group");
	first = bytes * bgdma_coll_rank(group) / bgdma_coll_size(group);
	end = bytes * (bgdma_coll_rank(group) + 1) / bgdma_coll_size(group);
	count_words(text, bytes, first, end);
	check(bgdma_coll_barrier(group), "barrier");
	sum_up(group, text, first, end);
	hashes_check();
	check(bgdma_coll_barrier(group), "barrier");
	bgdma_coll_group_destroy(group);
	bgdma_endpoint_destroy(ep);
	bgdma_job_close(job);
	return 0;
}
