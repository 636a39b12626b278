// SPDX-License-Identifier: GPL-2.0
/*
 * All-reduces of four processes, or with --netns of eight on nodes in namespaces of
 * their own: by the engines, by messages, and of floats in each way; and how much of
 * the time the processes themselves have to do with it.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "processes.h"

#define HERE		4
#define BETWEEN		8	/* in namespaces */
#define LONGEST		(1 << 20)

enum by { ENGINES, MESSAGES, PUTS };

#define GROUPS		2	/* with engines, and without */

static const struct work {
	const char *name;
	uint64_t bytes;
	unsigned int ops;
	enum by by;
	struct bgdma_operator op;
	enum bgdma_summation summation;
	enum bgdma_wait_mode mode;
} works[] = {
#define WORK(size, bytes_, ops_, by_, how, element_, reduction_, ...)	\
	{ size " all-reduce, " how, bytes_, ops_, by_,			\
	  { .element = element_, .reduction = reduction_ }, __VA_ARGS__ }
#define EVERY(size, bytes, ops)						\
	WORK(size, bytes, ops, ENGINES, "engines", BGDMA_S64, BGDMA_SUM,\
	     0, BGDMA_SPIN_THEN_SLEEP),					\
	WORK(size, bytes, ops, ENGINES, "engines, asleep at once",	\
	     BGDMA_S64, BGDMA_SUM, 0, BGDMA_SLEEP),			\
	WORK(size, bytes, ops, MESSAGES, "messages", BGDMA_S64,		\
	     BGDMA_SUM, 0, BGDMA_SPIN_THEN_SLEEP),			\
	WORK(size, bytes, ops, ENGINES, "fast sum, engines", BGDMA_F64,	\
	     BGDMA_SUM, BGDMA_SUM_FAST, BGDMA_SPIN_THEN_SLEEP),		\
	WORK(size, bytes, 1, ENGINES, "exact sum, engines", BGDMA_F64,	\
	     BGDMA_SUM, BGDMA_SUM_EXACT, BGDMA_SPIN_THEN_SLEEP),	\
	WORK(size, bytes, ops, MESSAGES, "plain sum, messages",		\
	     BGDMA_F64, BGDMA_SUM, BGDMA_SUM_PLAIN,			\
	     BGDMA_SPIN_THEN_SLEEP),					\
	WORK(size, bytes, ops, MESSAGES, "fast sum, messages",		\
	     BGDMA_F64, BGDMA_SUM, BGDMA_SUM_FAST,			\
	     BGDMA_SPIN_THEN_SLEEP),					\
	WORK(size, bytes, ops, ENGINES, "double min, engines",		\
	     BGDMA_F64, BGDMA_MIN, 0, BGDMA_SPIN_THEN_SLEEP),		\
	WORK(size, bytes, ops, MESSAGES, "double min, messages",	\
	     BGDMA_F64, BGDMA_MIN, 0, BGDMA_SPIN_THEN_SLEEP)
	EVERY("8 B", 8, 200),
	WORK("8 B", 8, 200, PUTS, "puts", BGDMA_S64, BGDMA_SUM, 0,
	     BGDMA_SPIN_THEN_SLEEP),
	WORK("8 B", 8, 200, PUTS, "puts, asleep at once", BGDMA_S64, BGDMA_SUM,
	     0, BGDMA_SLEEP),
	WORK("8 B", 8, 200, PUTS, "fast sum, puts", BGDMA_F64, BGDMA_SUM,
	     BGDMA_SUM_FAST, BGDMA_SPIN_THEN_SLEEP),
	EVERY("64 KiB", 65536, 20),
	EVERY("1 MiB", LONGEST, 3),
};

#define WORKS	(sizeof(works) / sizeof(works[0]))

struct job_of {
	const struct work *work;
	struct bgdma_coll_group *group;
};

/* Of short ones AUTO is neither, where puts can be. */
static unsigned int algorithm_of(const struct work *work)
{
	if (work->by == ENGINES)
		return BGDMA_ENGINES;
	if (work->by == PUTS)
		return BGDMA_DIRECT;
	return work->bytes == sizeof(double) ? BGDMA_DOUBLING :
					       BGDMA_ALGORITHM_AUTO;
}

static double in[LONGEST / sizeof(double)], out[LONGEST / sizeof(double)];

static void all_reduces(void *arg, unsigned int n)
{
	const struct job_of *job = arg;
	const struct work *work = job->work;
	struct bgdma_coll_request *r;

	while (n--) {
		must(bgdma_coll_start(job->group, &(struct bgdma_collective){
				.kind = BGDMA_ALLREDUCE, .in = in, .out = out,
				.count = work->bytes / sizeof(double),
				.op = &work->op, .summation = work->summation,
				.algorithm = algorithm_of(work) }, &r));
		must(bgdma_coll_request_wait(&r, work->mode, -1));
	}
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Of all processes together, of the time that one work takes. */
static void processors_take(const struct process *process, struct job_of *job)
{
	const struct bgdma_operator sum = { .reduction = BGDMA_SUM,
					    .element = BGDMA_S64 };
	uint64_t begin, took;
	int64_t cpu;

	must(bgdma_coll_barrier(job->group));
	begin = now_ns();
	cpu = (int64_t)cpu_ns();
	all_reduces(job, job->work->ops);
	cpu = (int64_t)cpu_ns() - cpu;
	took = now_ns() - begin;
	must(bgdma_coll_allreduce(job->group, NULL, &cpu, 1, &sum));
	if (!process->rank)
		printf("{\"processors\":\"%s\",\"share\":%.4f}\n",
		       job->work->name, (double)cpu / (double)took);
	fflush(stdout);
}

static void values_make(const struct process *process)
{
	size_t i;

	for (i = 0; i < sizeof(in) / sizeof(in[0]); i++)
		in[i] = (double)((i * 7919 + process->rank * 104729) % 100003) /
			977 - 50;
}

static bool is_wanted(const struct work *work)
{
	/* Puts are for few. */
	if (work->by == PUTS && netns)
		return false;
	return strstr(work->name, only);
}

static void measure(struct process *process)
{
	struct bgdma_coll_group *group[GROUPS];
	struct subject subject[WORKS];
	struct job_of job[WORKS];
	unsigned int run;
	size_t i, n = 0;

	must(bgdma_coll_split(process->coll, &(struct bgdma_split_attr){
			.flags = BGDMA_SPLIT_ENGINES }, &group[ENGINES]));
	must(bgdma_coll_split(process->coll, &(struct bgdma_split_attr){ 0 },
			      &group[MESSAGES]));
	values_make(process);
	for (i = 0; i < WORKS; i++) {
		if (!is_wanted(&works[i]))
			continue;
		job[n] = (struct job_of){ &works[i],
			group[works[i].by == ENGINES ? ENGINES : MESSAGES] };
		subject[n] = (struct subject){ works[i].name, all_reduces,
					       &job[n], works[i].ops };
		n++;
	}
	processes_take(process, subject, n);
	for (run = 0; run < runs(REGIONS); run++)
		for (i = 0; i < n; i++)
			if (job[i].work->bytes == LONGEST)
				processors_take(process, &job[i]);
	must(bgdma_coll_barrier(group[MESSAGES]));
	for (i = 0; i < GROUPS; i++)
		bgdma_coll_group_destroy(group[i]);
}

void collectives(void)
{
	processes_run(netns ? BETWEEN : HERE, measure);
}
