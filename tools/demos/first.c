// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A first program: node 0 sends "hello" to node 1.
 *
 *	bgdma partition add demo dims 2x1x1
 *	cc first.c -o first $(pkg-config --cflags --libs libbgdma) && ./first
 */
#include <stdio.h>
#include <string.h>
#include <bgdma/bgdma.h>

int main(void)
{
	const struct bgdma_packet *packet;
	struct bgdma_ctx *node0, *node1;
	struct bgdma_inj_fifo *out;
	struct bgdma_rec_fifo *in;
	int err;

	if ((err = bgdma_attach(&node0, &(struct bgdma_attach_attr){
			.partition = "demo", .rank = 0 })) ||
	    (err = bgdma_attach(&node1, &(struct bgdma_attach_attr){
			.partition = "demo", .rank = 1 })) ||
	    (err = bgdma_inj_create(node0, NULL, &out)) ||
	    (err = bgdma_rec_create(node1, NULL, &in)) ||
	    (err = bgdma_rec_grant(in, &(struct bgdma_grant_attr){
			.rank = 0, .ctx = BGDMA_CTX_ANY }, NULL)) ||
	    (err = bgdma_memfifo(out, &(struct bgdma_memfifo_attr){
			.dest = 1, .dest_ctx = bgdma_ctx_info(node1)->ctx,
			.fifo = bgdma_rec_id(in), .data = "hello", .length = 5 })) ||
	    (err = bgdma_rec_wait(in, BGDMA_SPIN_THEN_SLEEP, 1000000000))) {
		fprintf(stderr, "first: %s\n", strerror(-err));
		return 1;
	}
	packet = bgdma_rec_peek(in);
	printf("node %u says: %.*s\n", packet->src_rank, packet->bytes,
	       (const char *)bgdma_packet_data(packet));
	bgdma_rec_next(in);
	bgdma_detach(node1);
	bgdma_detach(node0);
	return 0;
}
