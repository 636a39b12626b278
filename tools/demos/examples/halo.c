// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Heat spreads along a rod that is divided among the processes: in each step the
 * cells at the borders are exchanged, and none of the heat is lost.
 */
#include "example.h"

enum { CELLS = 1000, STEPS = 200, LEFTWARD = 1, RIGHTWARD = 2, SUM = 3 };

static double cell[CELLS + 2], next[CELLS + 2];

static void exchange(uint32_t left, uint32_t right)
{
	struct bgdma_msg_request *r[4];

	check(bgdma_msg_irecv(msg, &cell[0], sizeof(double), left, RIGHTWARD,
			      0, &r[0]));
	check(bgdma_msg_irecv(msg, &cell[CELLS + 1], sizeof(double), right,
			      LEFTWARD, 0, &r[1]));
	check(bgdma_msg_isend(msg, &cell[1], sizeof(double), left, LEFTWARD, 0,
			      &r[2]));
	check(bgdma_msg_isend(msg, &cell[CELLS], sizeof(double), right,
			      RIGHTWARD, 0, &r[3]));
	check(bgdma_msg_waitall(r, 4, NULL));
}

int main(void)
{
	double sum = 0, part;
	uint32_t i, step;

	begin();
	cell[1] = rank ? 0 : 1024;
	for (step = 0; step < STEPS; step++) {
		exchange((rank + size - 1) % size, (rank + 1) % size);
		for (i = 1; i <= CELLS; i++)
			next[i] = cell[i] / 2 +
				  (cell[i - 1] + cell[i + 1]) / 4;
		memcpy(cell, next, sizeof(cell));
	}
	for (i = 1; i <= CELLS; i++)
		sum += cell[i];
	if (rank)
		check(bgdma_msg_send(msg, &sum, sizeof(sum), 0, SUM, 0));
	for (i = 1; !rank && i < size; i++) {
		check(bgdma_msg_recv(msg, &part, sizeof(part), i, SUM, 0, NULL));
		sum += part;
	}
	if (!rank)
		printf("heat: %.6f of 1024\n", sum);
	end();
	return !rank && (sum < 1023.999999 || sum > 1024.000001);
}
