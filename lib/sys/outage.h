/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Connections that are broken: see outage.c.
 */
#ifndef BGDMA_SYS_OUTAGE_H
#define BGDMA_SYS_OUTAGE_H

#include <stdbool.h>
#include <stdint.h>

#include <bgdma/sys.h>

/* What tells others that we broke with them. */
#define WORDS	64U

struct word {
	uint32_t rank;
	bool told;		/* it failed, and was seen to */
	uint64_t lost;		/* events, before it was sent */
};

struct words {
	struct bgdma_inj_fifo *fifo;
	struct word slot[WORDS];	/* of the ring */
	uint32_t due;		/* of all peers */
	uint32_t first;		/* rank whose turn it is */
	uint64_t over;		/* of so many it is known what became of them, */
	uint64_t ended;		/* of so many when as many events are read: */
	uint64_t events;
	int64_t next;		/* attempt */
};

bgdma_packet_fn on_word;
int words_create(struct bgdma_endpoint *ep);
/* If it is of an outage: something between us was lost. */
void peer_break(struct bgdma_endpoint *ep, uint32_t rank, uint32_t code);
/* Its kernel was given up: it is told, in case it lives, and does not know that. */
void peer_lose(struct bgdma_endpoint *ep, uint32_t rank);
/* The same as peer_break(), of whoever did not get it: whether that is known. */
bool peers_break(struct bgdma_endpoint *ep, const struct bgdma_record *why);
void word_failed(struct bgdma_endpoint *ep, uint64_t seq, uint32_t code);
/* It has ended since: there is nobody to tell. */
void word_drop(struct bgdma_endpoint *ep, uint32_t rank);
/* Some were sent, and it is not known of all what became of them. */
bool words_out(const struct bgdma_endpoint *ep);
unsigned int words_progress(struct bgdma_endpoint *ep);
/* When there is something to do. */
int64_t words_next(const struct bgdma_endpoint *ep);

#endif /* BGDMA_SYS_OUTAGE_H */
