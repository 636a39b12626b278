// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A bag of tasks, without a farmer: whoever is free takes the next number from a
 * counter in the window of process 0, whose core does nothing for it, and adds
 * its result there.
 */
#include "example.h"

enum { TASKS = 1000, NEXT = 0, SUM = 1 };

static struct bgdma_region *place;

static uint64_t fetch_and_add(struct bgdma_window *window, uint64_t at,
			      uint64_t n)
{
	check(bgdma_window_update(window, 0, &(struct bgdma_update_attr){
			.op = BGDMA_ATOMIC_ADD, .type = BGDMA_ATOMIC_U64,
			.count = 1, .at = at, .operand = n,
			.result = { place, 0 } }));
	check(bgdma_window_flush(window, 0));
	return *(uint64_t *)bgdma_region_addr(place);
}

int main(void)
{
	struct bgdma_window *window;
	uint64_t task, done = 0, sum, wanted = TASKS * (TASKS - 1ULL) / 2;

	begin();
	check(bgdma_region_alloc(bgdma_endpoint_ctx(ep), 8,
				 BGDMA_LOCAL_READ | BGDMA_LOCAL_WRITE, &place));
	check(bgdma_window_create(rma, &(struct bgdma_window_attr){
			.length = rank ? 0 : 16, .unit = 8 }, &window));
	check(bgdma_window_lock_all(window));
	for (;; done++) {
		task = fetch_and_add(window, NEXT, 1);
		if (task >= TASKS)
			break;
		fetch_and_add(window, SUM, task);
	}
	check(bgdma_window_unlock_all(window));
	check(bgdma_window_fence(window, BGDMA_FENCE_LAST));
	printf("process %u has done %llu tasks\n", rank,
	       (unsigned long long)done);
	sum = rank ? wanted : ((uint64_t *)bgdma_window_addr(window))[SUM];
	check(bgdma_window_free(window));
	end();
	return sum == wanted ? 0 : 1;
}
