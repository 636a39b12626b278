// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The sum of doubles of mixed size, each process of a job with a part of them, in
 * three ways: plain, fast and exact, along each tree and ring that there is for it, that of the engines, too.
 * The bits are told; who runs it with other numbers of processes can compare them.
 *
 *	reproducible COUNT
 */
#include <bgdma/bgdma.h>

#include "scene.h"

static const char *const ways[BGDMA_SUMMATION_COUNT] = {
	[BGDMA_SUM_PLAIN] = "plain",
	[BGDMA_SUM_FAST] = "fast",
	[BGDMA_SUM_EXACT] = "exact",
};

static const char *const algorithms[BGDMA_ALGORITHM_COUNT] = {
	[BGDMA_TREE] = "tree",
	[BGDMA_DOUBLING] = "doubling",
	[BGDMA_RING] = "ring",
	[BGDMA_ENGINES] = "engines",
};

static uint64_t scrambled(uint64_t x)
{
	x *= 0x9e3779b97f4a7c15ULL;
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93ULL;
	return x ^ x >> 29;
}

/*
 * The @i-th of @count, the same whoever asks: a significand of 53 digits, a size from
 * 2^-30 to 2^30. Nearly all of the second half take away one of the first.
 */
static double number(uint64_t i, uint64_t count)
{
	uint64_t half = count / 2, x = scrambled(i % half + 1), bits;
	double value;

	bits = (1023 - 30 + (x >> 52) % 61) << 52 | (x & ((1ULL << 52) - 1));
	memcpy(&value, &bits, sizeof(value));
	return i < half || i % 1000 == 0 ? value : -value;
}

static void add_up(struct bgdma_coll_group *group, const double *values,
		   uint64_t count, unsigned int way, unsigned int algorithm)
{
	const struct bgdma_operator op = { .reduction = BGDMA_SUM,
					   .element = BGDMA_F64 };
	int64_t begin = now_ns();
	uint64_t bits;
	double sum;

	check(bgdma_coll_run(group, &(struct bgdma_collective){
			.kind = BGDMA_ALLREDUCE, .algorithm = algorithm,
			.in = values, .addends = count, .out = &sum,
			.count = 1, .op = &op, .summation = way }), ways[way]);
	memcpy(&bits, &sum, sizeof(bits));
	if (bgdma_coll_rank(group) == 0)
		printf("%-5s %016llx %u by %s: %.17g, %lld ms\n", ways[way],
		       (unsigned long long)bits, bgdma_coll_size(group),
		       algorithms[algorithm], sum,
		       (long long)(now_ns() - begin) / 1000000);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	struct bgdma_coll_group *group;
	struct bgdma_endpoint *ep;
	uint64_t count, first, end, i;
	unsigned int way, algorithm;
	struct bgdma_coll *coll;
	struct bgdma_job *job;
	uint32_t rank, size;
	double *values;

	count = argc == 2 ? strtoull(argv[1], NULL, 0) : 0;
	if (count < 2) {
		fprintf(stderr, "usage: reproducible COUNT\n");
		return 2;
	}
	check(bgdma_job_open(&job, NULL), "job");
	check(bgdma_endpoint_create(&ep, &(struct bgdma_endpoint_attr){
			.job = job }), "endpoint");
	check(bgdma_coll_create(&coll, ep, job), "groups");
	check(bgdma_endpoint_commit(ep, NULL), "commit");
	check(bgdma_coll_split(coll, &(struct bgdma_split_attr){
			.flags = BGDMA_SPLIT_ENGINES }, &group), "group");
	rank = bgdma_coll_rank(group);
	size = bgdma_coll_size(group);
	first = count * rank / size;
	end = count * (rank + 1) / size;
	values = malloc((end - first) * sizeof(*values));
	check(values || first == end ? 0 : -ENOMEM, "values");
	for (i = first; i < end; i++)
		values[i - first] = number(i, count);
	for (way = BGDMA_SUM_PLAIN; way <= BGDMA_SUM_EXACT; way++)
		for (algorithm = 0; algorithm < BGDMA_ALGORITHM_COUNT;
		     algorithm++)
			/* The engines know no floats: not plain ones. */
			if (algorithms[algorithm] &&
			    (algorithm != BGDMA_ENGINES ||
			     way != BGDMA_SUM_PLAIN))
				add_up(group, values, end - first, way,
				       algorithm);
	free(values);
	check(bgdma_coll_barrier(group), "barrier");
	bgdma_coll_group_destroy(group);
	bgdma_endpoint_destroy(ep);
	bgdma_job_close(job);
	return 0;
}
