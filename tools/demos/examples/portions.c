// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A long message in portions that the engines fetch one after the other, while a
 * short one passes by: it need not wait for the long one's end.
 */
#include <sys/mman.h>

#include "example.h"

enum { LONG = 1, SHORT = 2, BYTES = 16 << 20, PORTION = 64 << 10 };

int main(void)
{
	struct bgdma_msg_request *r;
	uint32_t i, wrong = 0;
	uint32_t *data;

	check(bgdma_job_open(&job, NULL));
	rank = bgdma_job_rank(job);
	if (bgdma_job_size(job) < 2) {
		fputs("portions: it takes two processes\n", stderr);
		return 2;
	}
	check(bgdma_endpoint_create(&ep, &(struct bgdma_endpoint_attr){
			.job = job }));
	check(bgdma_msg_create(&msg, ep, &(struct bgdma_msg_attr){
			.portion = PORTION }));
	check(bgdma_endpoint_commit(ep, NULL));
	data = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (data == MAP_FAILED)
		return 1;
	if (rank == 0) {
		for (i = 0; i < BYTES / sizeof(*data); i++)
			data[i] = i * 2654435761U;
		check(bgdma_msg_isend(msg, data, BYTES, 1, LONG, 0, &r));
		check(bgdma_msg_send(msg, "short", 5, 1, SHORT, 0));
		check(bgdma_msg_wait(&r, NULL));
	} else if (rank == 1) {
		char text[5];

		check(bgdma_msg_irecv(msg, data, BYTES, 0, LONG, 0, &r));
		check(bgdma_msg_recv(msg, text, 5, 0, SHORT, 0, NULL));
		check(bgdma_msg_wait(&r, NULL));
		for (i = 0; i < BYTES / sizeof(*data); i++)
			wrong += data[i] != i * 2654435761U;
		printf("%d bytes, %u wrong; and \"%.5s\"\n", BYTES, wrong,
		       text);
	}
	end();
	return wrong != 0;
}
