// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A table in the window of process 0, whose core does nothing for it. Who wants a row
 * takes it by compare-and-swap; then all change a total, which is two words, in an
 * exclusive epoch, that nobody else comes between.
 */
#include "example.h"

enum { ROWS = 64, TOTAL = ROWS, WORDS = ROWS + 2, FREE = 0 };

static struct bgdma_region *mine;
static uint64_t *got;

/* Whether row @at was free, and is ours now. */
static bool take(struct bgdma_rma_epoch *e, uint64_t at)
{
	check(bgdma_epoch_update(e, &(struct bgdma_update_attr){
			.op = BGDMA_ATOMIC_CAS, .type = BGDMA_ATOMIC_U64,
			.count = 1, .at = at, .compare = FREE,
			.operand = rank + 1, .result = { mine, 0 } }));
	check(bgdma_epoch_flush(e));
	return *got == FREE;
}

int main(void)
{
	struct bgdma_access_attr total = { .length = 16, .at = TOTAL };
	struct bgdma_rma_epoch *e;
	struct bgdma_window *window;
	uint64_t row, rows = 0, *sum;
	int wrong = 0;

	begin();
	check(bgdma_region_alloc(bgdma_endpoint_ctx(ep), 16,
				 BGDMA_LOCAL_READ | BGDMA_LOCAL_WRITE, &mine));
	check(bgdma_endpoint_expose(ep, mine, BGDMA_RIGHT_WRITE));
	got = bgdma_region_addr(mine);
	total.local.region = mine;
	check(bgdma_window_create(rma, &(struct bgdma_window_attr){
			.length = rank ? 0 : 8 * WORDS, .unit = 8 }, &window));
	check(bgdma_epoch_begin(window, 0, 1, 0, &e));
	for (row = 0; row < ROWS; row++)
		rows += take(e, row);
	check(bgdma_epoch_close(e));
	check(bgdma_epoch_begin(window, 0, 2, BGDMA_EPOCH_EXCLUSIVE, &e));
	check(bgdma_epoch_get(e, &total));
	check(bgdma_epoch_flush(e));
	got[0] += rows;
	got[1]++;
	check(bgdma_epoch_put(e, &total));
	check(bgdma_epoch_close(e));
	check(bgdma_window_fence(window, BGDMA_FENCE_LAST));
	sum = bgdma_window_addr(window);
	if (!rank)
		wrong = sum[TOTAL] != ROWS || sum[TOTAL + 1] != size;
	printf("process %u took %u of %d rows\n", rank, (unsigned int)rows, ROWS);
	end();
	return wrong;
}
