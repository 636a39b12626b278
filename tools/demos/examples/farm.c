// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Process 0 gives work to whoever asks for it: how many primes there are in a
 * range. A first question brings no answer: it looks how long each message is.
 */
#include "example.h"

enum { RANGES = 50, WIDTH = 1000, ASK = 1, WORK = 2, END = 3, WANTED = 5133 };

static uint32_t primes(uint32_t from)
{
	uint32_t n, d, count = 0;

	for (n = from; n < from + WIDTH; n++) {
		for (d = 2; d * d <= n && n % d; d++)
			;
		count += n > 1 && d * d > n;
	}
	return count;
}

static uint32_t give(void)
{
	uint32_t given = 0, working, total = 0, count;
	struct bgdma_msg_status status;

	for (working = size - 1; working; given++) {
		check(bgdma_msg_probe(msg, BGDMA_MSG_ANY_SOURCE, ASK, 0,
				      &status));
		count = 0;
		check(bgdma_msg_recv(msg, &count, status.length, status.rank,
				     ASK, 0, NULL));
		total += count;
		count = given * WIDTH;
		check(bgdma_msg_send(msg, &count, sizeof(count), status.rank,
				     given < RANGES ? WORK : END, 0));
		working -= given >= RANGES;
	}
	return total;
}

int main(void)
{
	struct bgdma_msg_status status = { .tag = WORK };
	uint32_t n = 0, length = 0, total = WANTED;

	begin();
	if (!rank && size > 1)
		printf("%u primes below %d\n", total = give(), RANGES * WIDTH);
	while (rank && status.tag == WORK) {
		check(bgdma_msg_send(msg, &n, length, 0, ASK, 0));
		check(bgdma_msg_recv(msg, &n, sizeof(n), 0,
				     BGDMA_MSG_ANY_TAG, 0, &status));
		n = primes(n);
		length = sizeof(n);
	}
	end();
	return total != WANTED;
}
