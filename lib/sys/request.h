/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* Long messages under way, and the tokens by which packets name them. */
#ifndef BGDMA_SYS_REQUEST_H
#define BGDMA_SYS_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include <bgdma/rendezvous.h>

/* A token names a request: a slot of the table, and how often it was used. */
#define TOKEN_BITS	24
#define TOKEN_MASK	((1U << TOKEN_BITS) - 1)
#define SENT_TARGET	(1U << 31)	/* in struct sent: of a target */
#define TOKEN_SLOT_BITS	16
#define TOKEN_SLOT_MASK	((1U << TOKEN_SLOT_BITS) - 1)

/* A queue of requests. */
struct queue {
	struct request *first, **last;
};

/*
 * One side of a rendezvous.
 * @target: this is the target's side
 * @exclusive: @counter is its own
 * @begun: target: of the answer something is on its way
 * @answered: target: all of it is
 * @filled: target: the origin's descriptors are being filled in
 * @packets: data in packets, which we copy, or at the target some of it
 * @took: origin: all took packets have come
 * @dead: a counter showed that its peer has gone: its counter says nothing any more
 * @zero: of a paced message: at the origin, its own counter is at zero; at the
 *	target, all that puts bring is there
 * @suspect: it has failed, see fail.c
 * @code, @portion_failed: of one that has failed; a portion, or 0
 * @portions: 1: it is not paced
 * @chains: portions in flight
 * @started: target: chains that are
 * @examined: descriptors of @chain that were looked at, see refusal.c
 * @ends: chains that have ended, as packets told
 * @portion: target: bytes of all but the last
 * @ways: target: a bit for each portion that comes in packets; NULL: all do, if
 *	@packets, or none
 * @chain: RGET descriptors of a paced message, and at the target those that
 *	they fetch
 * @bytes: that are moved
 * @copied: target: of those, from packets
 * @serial: origin: of the RTS, among those to this peer
 * @twin: target: the next that could have the same origin, see request.c
 * @declined: origin: the target had not accepted it when it was cancelled
 * @stopped: a chain that ended told that it was stopped
 * @halted: target: its chains were told to stop
 * @doubt: target of a paced message: it may have lost a descriptor
 * @rounds: of probes since then
 */
struct request {
	struct request *next, **link;	/* of all */
	struct request *twin, **twin_link;
	struct request *later, **at;	/* in a queue of the endpoint; @at: NULL, in none */
	struct request *chain_next;	/* if @counted */
	uint32_t token;
	uint32_t rank;
	bool target;
	bool exclusive;
	bool begun;
	bool answered;
	bool filled;
	bool packets;
	bool took;
	bool dead;
	bool zero;
	bool declined;
	bool suspect;
	bool stopped;
	bool halted;
	bool doubt;
	bool parked;			/* until other chains have ended */
	bool counted;			/* in the chains of its peer */
	bool by_copy;			/* target: @region is not where it goes */
	uint32_t serial;
	uint64_t rounds;
	int64_t suspect_until;		/* 0: until there is room */
	uint32_t code;
	uint32_t portion_failed;
	uint32_t portions;
	uint32_t chains;
	uint32_t started;
	uint32_t ends;
	uint32_t examined;
	uint64_t portion;
	uint8_t *ways;
	struct bgdma_region *chain;
	uint32_t counter;
	uint32_t handle;		/* of the counter */
	uint64_t bytes;
	uint64_t copied;
	uint64_t announced;
	uint64_t put;			/* target: of @bytes, by puts */
	uint64_t order;			/* target: of the CTS among all */
	struct bgdma_region *region;	/* registered for it alone */
	struct bgdma_at to;
	char *addr;			/* of @to */
	struct bgdma_rts rts;
	int result;
	bgdma_done_fn *done;
	void *arg;
};

/* Target: all that packets bring is there. */
static inline bool pieces_there(const struct request *r)
{
	return !r->packets || r->copied >= r->bytes - r->put;
}

#endif /* BGDMA_SYS_REQUEST_H */
