/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Counters for long messages: see counters.c.
 */
#ifndef BGDMA_SYS_COUNTERS_H
#define BGDMA_SYS_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

#include <bgdma/rendezvous.h>

#include "request.h"

/* Counters of a kind, in a row. */
struct pool {
	unsigned int kind;
	struct bgdma_counter **counter;
	struct request **user;
	uint32_t *free;			/* a ring */
	uint32_t oldest;		/* the first there */
	uint32_t n_free;
	uint32_t *stale;		/* free once no engine counts there */
	uint32_t n_stale;
	uint32_t first;			/* slot of the first */
	uint32_t sharing;		/* requests without one */
	bool dirty;			/* one of these has failed */
	uint64_t busy[BGDMA_CTR_WORDS];	/* those with a user, by slot */
	struct bgdma_counter_stats stats;
};

int pool_create(struct bgdma_endpoint *ep, unsigned int kind, uint32_t count);
void pool_destroy(struct pool *pool);
/* Give a request its counter, or the shared one: its handle. */
uint32_t pool_take(struct bgdma_endpoint *ep, struct pool *pool,
		   struct request *r, const struct bgdma_peer *peer);
void pool_give(struct bgdma_endpoint *ep, struct pool *pool, struct request *r,
	       bool failed);
/* Take off what messages that failed have left, before anybody is told of them. */
void pools_settle(struct bgdma_endpoint *ep);
/* Something was refused of a message that has ended: they are to be settled again. */
void pools_spoil(struct bgdma_endpoint *ep);
struct bgdma_counter *pool_counter(const struct pool *pool,
				   const struct request *r);
/*
 * The next request whose own counter has reached zero, or is in error; or NULL.
 * @slot: in: where to look from, 0; out: behind it. Each is met once in a row, though
 * its peer may make others as fast as we look.
 */
struct request *pool_hit(struct bgdma_endpoint *ep, struct pool *pool,
			 uint32_t *slot);

#endif /* BGDMA_SYS_COUNTERS_H */
