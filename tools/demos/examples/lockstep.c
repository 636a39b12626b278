// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * All processes in step: in each round everybody counts up a number in the window
 * of its right neighbour, whose core does nothing for it; a barrier says that all
 * have, and another one that all have looked.
 */
#include "example.h"

enum { ROUNDS = 50 };

int main(void)
{
	struct bgdma_coll_group *all;
	struct bgdma_window *window;
	uint64_t round, *mine;

	begin();
	check(bgdma_coll_split(coll, NULL, &all));
	check(bgdma_window_create(rma, &(struct bgdma_window_attr){
			.length = 8, .unit = 8 }, &window));
	mine = bgdma_window_addr(window);
	check(bgdma_window_lock_all(window));
	for (round = 1; round <= ROUNDS; round++) {
		check(bgdma_window_update(window, (rank + 1) % size,
					  &(struct bgdma_update_attr){
			.op = BGDMA_ATOMIC_ADD, .type = BGDMA_ATOMIC_U64,
			.count = 1, .operand = 1 }));
		check(bgdma_window_flush(window, (rank + 1) % size));
		check(bgdma_coll_barrier(all));
		if (*(volatile uint64_t *)mine != round)
			break;
		check(bgdma_coll_barrier(all));
	}
	check(bgdma_window_unlock_all(window));
	printf("process %u: %llu of %u rounds\n", rank,
	       (unsigned long long)*mine, ROUNDS);
	check(bgdma_window_free(window));
	bgdma_coll_group_destroy(all);
	end();
	return round > ROUNDS ? 0 : 1;
}
