// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A module of one operation: each process greets the next, and prints what it
 * is told where it lies in the reception FIFO.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bgdma/bgdma.h>

static void check(int ret)
{
	if (ret < 0) {
		fprintf(stderr, "hello: %s\n", strerror(-ret));
		exit(1);
	}
}

static int on_hello(void *arg, uint32_t rank, const struct bgdma_packet *packet)
{
	printf("process %u says: %.*s\n", rank, packet->bytes,
	       (const char *)bgdma_packet_data(packet));
	*(bool *)arg = true;
	return 0;
}

static bool told(void *arg)
{
	return *(bool *)arg;
}

int main(void)
{
	struct bgdma_endpoint *ep;
	struct bgdma_job *job;
	bool heard = false;
	uint32_t id;

	check(bgdma_job_open(&job, NULL));
	check(bgdma_endpoint_create(&ep, &(struct bgdma_endpoint_attr){
			.job = job }));
	check(bgdma_operation_register(ep, &(struct bgdma_operation_attr){
			.module = "example", .name = "hello",
			.packet = on_hello, .arg = &heard }, &id));
	check(bgdma_endpoint_commit(ep, NULL));
	check(bgdma_endpoint_send(ep, &(struct bgdma_send_attr){
			.operation = id, .data = "hello", .length = 5,
			.dest = (bgdma_job_rank(job) + 1) %
				bgdma_job_size(job) }));
	check(bgdma_endpoint_wait_until(ep, told, &heard, BGDMA_SLEEP, -1));
	check(bgdma_job_fence(job));
	bgdma_endpoint_destroy(ep);
	bgdma_job_close(job);
	return 0;
}
