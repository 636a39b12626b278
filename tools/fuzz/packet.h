/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Between the halves of the target "packet": a reception FIFO with the engine
 * on one side and the library on the other.
 */
#ifndef FUZZ_PACKET_H
#define FUZZ_PACKET_H

#include <linux/bgdma.h>
#include <stdbool.h>
#include <stdint.h>

struct packet_fifo {
	uint8_t *ring;			/* mapped twice in a row */
	uint32_t size;
	struct bgdma_rec_user *user;
	struct bgdma_rec_kern *kern;
};

/* What the engine did since the last look. */
struct packet_seen {
	bool parked;			/* the sender waits for room */
	bool bad_head;
	unsigned int signals;		/* of the eventfd */
};

extern struct packet_seen packet_seen;

void packet_begin(const struct packet_fifo *fifo);

/* bgdma_deliver_memfifo() of the next packet of a message: true: it landed. */
bool packet_send(const struct bgdma_desc *desc, uint32_t id, uint32_t done,
		 const uint8_t *payload, uint32_t n, uint32_t cut);

/* bgdma_rec_kick() */
void packet_kick(void);

#endif /* FUZZ_PACKET_H */
