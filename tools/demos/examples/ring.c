// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A token goes round: each process adds its rank and hands it on.
 */
#include "example.h"

enum { TAG = 1, ROUNDS = 100 };

int main(void)
{
	uint64_t token = 0, wanted;
	uint32_t left, right;
	unsigned int round;

	begin();
	left = (rank + size - 1) % size;
	right = (rank + 1) % size;
	for (round = 0; round < ROUNDS; round++) {
		if (rank || round)
			check(bgdma_msg_recv(msg, &token, sizeof(token), left,
					     TAG, 0, NULL));
		token += rank;
		check(bgdma_msg_send(msg, &token, sizeof(token), right, TAG,
				     0));
	}
	if (!rank) {
		check(bgdma_msg_recv(msg, &token, sizeof(token), left, TAG, 0,
				     NULL));
		wanted = (uint64_t)ROUNDS * size * (size - 1) / 2;
		printf("the token has %llu of %llu\n",
		       (unsigned long long)token, (unsigned long long)wanted);
		if (token != wanted)
			return 1;
	}
	end();
	return 0;
}
