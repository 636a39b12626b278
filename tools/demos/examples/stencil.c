// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A plane that is divided into columns among the processes: in each step the borders
 * go to the neighbours' halos, every element from another row. Only neighbours wait for
 * each other: who lets whom is said by post and wait, who writes by start and complete.
 */
#include "example.h"

enum { ROWS = 32, COLUMNS = 16, WIDE = COLUMNS + 2, STEPS = 20 };

static struct bgdma_window *window;

/* Our column @from to column @to of a process. */
static void column_put(uint32_t target, uint32_t from, uint32_t to)
{
	const struct bgdma_stride rows = { ROWS, 8 * WIDE, WIDE };
	struct bgdma_rma_epoch *e;

	check(bgdma_window_epoch(window, target, &e));
	check(bgdma_epoch_put_strided(e, &(struct bgdma_access_attr){
			.local = { bgdma_window_region(window), 8 * from },
			.length = 8, .at = to }, &rows));
}

int main(void)
{
	uint32_t left, right, sides[2], n = 0, step, i, bad = 0;
	int64_t (*cell)[WIDE];

	begin();
	left = (rank + size - 1) % size;
	right = (rank + 1) % size;
	sides[n++] = left;
	if (right != left)
		sides[n++] = right;
	check(bgdma_window_create(rma, &(struct bgdma_window_attr){
			.length = 8 * ROWS * WIDE, .unit = 8 }, &window));
	cell = bgdma_window_addr(window);
	for (step = 1; step <= STEPS; step++) {
		for (i = 0; i < ROWS; i++) {
			cell[i][1] = 1000 * rank + step + i;
			cell[i][COLUMNS] = -cell[i][1];
		}
		check(bgdma_window_post(window, sides, n));
		check(bgdma_window_start(window, sides, n));
		column_put(left, 1, COLUMNS + 1);
		column_put(right, COLUMNS, 0);
		check(bgdma_window_complete(window));
		check(bgdma_window_wait(window));
		for (i = 0; i < ROWS; i++)
			bad += cell[i][0] != -(int64_t)(1000 * left + step + i) ||
			       cell[i][COLUMNS + 1] != 1000 * right + step + i;
	}
	printf("process %u: %d steps, %u of the halo wrong\n", rank, STEPS, bad);
	end();
	return bad != 0;
}
