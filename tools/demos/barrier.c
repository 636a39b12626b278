// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Barriers on a counter, of four processes on a ring. First the timeline of the
 * document: they enter in the order third, first, second, fourth, and after each
 * entry all counters are told (BA-5). Then barriers back to back; who waits
 * sleeps. Nobody may leave one that another has not entered, which each sees by
 * what all say before they enter.
 *
 *	barrier BOARD COUNT
 *
 * BOARD is a file, by which the processes of the timeline take turns.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <sys/mman.h>

#include <bgdma/bgdma.h>

#include "scene.h"

#define SIZE	4U

/* What all of them see. */
struct board {
	int64_t counter[SIZE];
	uint32_t settled[SIZE + 1];	/* who has seen its value, by step */
	uint32_t said;			/* steps that were told */
	uint64_t round[SIZE];		/* that each is about to enter, or has */
};

static const uint32_t order[SIZE] = { 2, 0, 1, 3 };
static const int64_t expected[SIZE][SIZE] = {
	{ -1, -1, 3, -1 }, { 2, -2, 2, -2 }, { 1, 1, 1, -3 }, { 0, 0, 0, 0 },
};

static struct board *board;
static struct bgdma_coll_group *group;
static uint32_t rank;

static void open_board(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	void *p;

	check(fd < 0 ? -errno : 0, path);
	check(ftruncate(fd, sizeof(*board)) ? -errno : 0, path);
	p = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		 0);
	check(p == MAP_FAILED ? -errno : 0, path);
	close(fd);
	board = p;
}

/* Until @word is at least @value. */
static void await(const uint32_t *word, uint32_t value)
{
	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) < value)
		usleep(1000);
}

static void say(uint32_t step)
{
	const int64_t *c = board->counter;
	uint32_t i, wrong = 0;

	for (i = 0; i < SIZE; i++)
		wrong += c[i] != expected[step][i];
	printf("process %u enters: counters %2lld %2lld %2lld %2lld%s\n",
	       order[step], (long long)c[0], (long long)c[1], (long long)c[2],
	       (long long)c[3], wrong ? "  WRONG" : "");
	fflush(stdout);
}

static void timeline(void)
{
	const struct bgdma_counter *counter = bgdma_coll_counter(group, 0);
	uint32_t step;
	int tries;

	for (step = 0; step < SIZE; step++) {
		await(&board->said, step);
		if (order[step] == rank)
			check(bgdma_coll_enter(group), "enter");
		/* The engines have some way to go; or it stays wrong. */
		for (tries = 0; tries < 10000 && bgdma_counter_read(counter) !=
		     expected[step][rank]; tries++)
			usleep(1000);
		board->counter[rank] = bgdma_counter_read(counter);
		__atomic_add_fetch(&board->settled[step], 1, __ATOMIC_ACQ_REL);
		if (order[step] != rank)
			continue;
		await(&board->settled[step], SIZE);
		say(step);
		__atomic_store_n(&board->said, step + 1, __ATOMIC_RELEASE);
	}
	/* The next barrier moves the counters again. */
	await(&board->said, SIZE);
	check(bgdma_coll_wait(group, BGDMA_SLEEP, -1), "wait");
}

/* Whether all are in this round, or the next: no further, as we are not. */
static bool all_in(uint64_t round)
{
	uint64_t seen;
	uint32_t i;

	for (i = 0; i < SIZE; i++) {
		seen = __atomic_load_n(&board->round[i], __ATOMIC_ACQUIRE);
		if (seen != round && seen != round + 1)
			return false;
	}
	return true;
}

static void back_to_back(unsigned long count)
{
	unsigned long i, tenth = count / 10, early = 0;
	int64_t begin = now_ns();

	for (i = 1; i <= count; i++) {
		__atomic_store_n(&board->round[rank], i, __ATOMIC_RELEASE);
		check(bgdma_coll_enter(group), "enter");
		check(bgdma_coll_wait(group, BGDMA_SLEEP, -1), "wait");
		early += !all_in(i);
		if (!rank && tenth >= 10000 && i % tenth == 0 && i < count) {
			printf("%lu of %lu\n", i, count);
			fflush(stdout);
		}
	}
	if (!rank && count)
		printf("%lu barriers, %.1f us each; the counter is %lld\n",
		       count, (double)(now_ns() - begin) / 1000 / (double)count,
		       (long long)bgdma_counter_read(
				bgdma_coll_counter(group, 0)));
	printf("process %u has left %lu barriers early\n", rank, early);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	struct bgdma_coll_plan plan;
	struct bgdma_endpoint *ep;
	struct bgdma_coll *coll;
	struct bgdma_job *job;

	if (argc != 3) {
		fprintf(stderr, "usage: barrier BOARD COUNT\n");
		return 2;
	}
	open_board(argv[1]);
	check(bgdma_job_open(&job, NULL), "job");
	rank = bgdma_job_rank(job);
	check(bgdma_job_size(job) == SIZE ? 0 : -EINVAL, "four processes");
	check(bgdma_endpoint_create(&ep, &(struct bgdma_endpoint_attr){
			.job = job }), "endpoint");
	check(bgdma_coll_create(&coll, ep, job), "groups");
	check(bgdma_endpoint_commit(ep, NULL), "commit");
	check(bgdma_coll_split(coll, NULL, &group), "group");
	bgdma_coll_plan(group, &plan);
	if (!rank)
		printf("each process sends %u control packet to %u others, by deposit bit, and answers %u\n",
		       plan.packets, plan.hops, plan.replies);
	fflush(stdout);
	timeline();
	back_to_back(strtoul(argv[2], NULL, 0));
	bgdma_coll_group_destroy(group);
	bgdma_endpoint_destroy(ep);
	bgdma_job_close(job);
	return 0;
}
