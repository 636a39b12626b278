// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The lines of a torus: each process is in a group of those along X with it, and in
 * one along Y. It enters a barrier, works on something that needs nobody until the
 * engines have seen the others enter, and waits only if it has nothing left to do.
 */
#include <errno.h>

#include "example.h"

enum { PIECES = 100000 };

static uint32_t pieces;

/* A piece of work; false: there is none left. */
static bool work(void)
{
	return pieces < PIECES && ++pieces;
}

static int barrier(struct bgdma_coll_group *line)
{
	int ret;

	check(bgdma_coll_enter(line));
	do {
		ret = bgdma_coll_test(line);
	} while (ret == -EAGAIN && work());
	if (ret == -EAGAIN)
		ret = bgdma_coll_wait(line, BGDMA_SLEEP, -1);
	return ret;
}

int main(void)
{
	static const uint32_t axes[] = { BGDMA_SPLIT_X, BGDMA_SPLIT_Y };
	struct bgdma_coll_group *line;
	struct bgdma_coll_plan plan;
	uint32_t i, round, members = 1;

	begin();
	for (i = 0; i < 2; i++) {
		check(bgdma_coll_split(coll, &(struct bgdma_split_attr){
				.flags = axes[i] }, &line));
		bgdma_coll_plan(line, &plan);
		printf("process %u: number %u of %u along %c, %u packets, %u hops\n",
		       rank, bgdma_coll_rank(line), bgdma_coll_size(line),
		       'X' + (int)i, plan.packets, plan.hops);
		for (round = 0; round < 20; round++)
			check(barrier(line));
		members *= bgdma_coll_size(line);
		bgdma_coll_group_destroy(line);
	}
	end();
	/* The two lines span the plane. */
	return members != size;
}
