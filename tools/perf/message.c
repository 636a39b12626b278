// SPDX-License-Identifier: GPL-2.0
/*
 * Instructions of an 8-byte memory FIFO message, all told: injection, engine,
 * and reading at the receiver, both ends in one process.
 */
#include <errno.h>

#include "perf.h"

#define ROUNDS	1024

static struct ends e;
static struct bgdma_counter *counter;
static uint64_t next_out, next_in;
static uint16_t to_ctx;		/* where e.rec is: senders know */

static inline void send_one(bool more)
{
	struct bgdma_memfifo_attr attr = {
		.dest = 1,
		.dest_ctx = to_ctx,
		.fifo = bgdma_rec_id(e.rec),
		.length = sizeof(next_out),
		.data = &next_out,
		.counter = counter,
		.more = more,
	};

	must(bgdma_memfifo(e.inj, &attr));
	next_out++;
}

static inline void read_one(void)
{
	const struct bgdma_packet *packet = bgdma_rec_peek(e.rec);

	if (!packet || packet->bytes != sizeof(next_in) ||
	    *(const uint64_t *)bgdma_packet_data(packet) != next_in)
		die("message", -EBADMSG);
	next_in++;
	bgdma_rec_next(e.rec);
}

static inline void one_by_one(unsigned int n)
{
	while (n--) {
		send_one(false);
		read_one();
		must(bgdma_rec_release(e.rec));
	}
}

static inline void in_batches(unsigned int n)
{
	unsigned int i;

	for (; n; n -= BATCH) {
		for (i = 1; i <= BATCH; i++)
			send_one(i < BATCH);
		for (i = 0; i < BATCH; i++)
			read_one();
		must(bgdma_rec_release(e.rec));
	}
}

static inline void empty_doorbells(unsigned int n)
{
	while (n--)
		must(bgdma_doorbell(e.from, 0));
}

void count_messages(void)
{
	ends_open(&e);
	to_ctx = bgdma_ctx_info(e.to)->ctx;
	count("doorbell, nothing to do", ROUNDS, empty_doorbells);
	count("8 B message, doorbell each", ROUNDS, one_by_one);
	count("8 B message, batches of 32", ROUNDS, in_batches);
	counter = e.sent;
	bgdma_counter_add(counter, 1 << 30);
	count("8 B message, doorbell each, with a counter", ROUNDS,
	      one_by_one);
	count("8 B message, batches of 32, with a counter", ROUNDS,
	      in_batches);
	ends_close(&e);
}
