// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Counters for long messages: the first of each kind is shared by all that get
 * none of their own, so it never runs out; the others are leased to one peer
 * for one message (LC-6).
 */
#include <errno.h>
#include <stdlib.h>

#include "internal.h"

#define SHARED	0	/* index of the shared one */

int pool_create(struct bgdma_endpoint *ep, unsigned int kind, uint32_t count)
{
	struct pool *pool = &ep->pool[kind];
	uint32_t i;
	int ret;

	pool->kind = kind;
	pool->counter = calloc(count, sizeof(struct bgdma_counter *));
	pool->user = calloc(count, sizeof(struct request *));
	pool->free = calloc(count, sizeof(*pool->free));
	if (!pool->counter || !pool->user || !pool->free)
		return -ENOMEM;
	ret = bgdma_counter_alloc_many(ep->ctx, kind, count, 0, pool->counter);
	if (ret)
		return ret;
	pool->stats.counters = count;
	pool->first = bgdma_counter_slot(pool->counter[0]);
	bgdma_counter_lease(pool->counter[SHARED], BGDMA_RANK_ANY,
			    BGDMA_CTX_ANY);
	for (i = count - 1; i > SHARED; i--) {
		bgdma_counter_lease(pool->counter[i], BGDMA_RANK_NOBODY,
				    BGDMA_CTX_ANY);
		bgdma_counter_enable(pool->counter[i], true);
		if (ep->attr.counters == BGDMA_COUNTERS_AUTO)
			pool->free[pool->n_free++] = i;
	}
	return 0;
}

void pool_destroy(struct pool *pool)
{
	free(pool->counter);
	free(pool->user);
	free(pool->free);
}

struct bgdma_counter *pool_counter(const struct pool *pool,
				   const struct request *r)
{
	return pool->counter[r->counter];
}

uint32_t pool_take(struct pool *pool, struct request *r,
		   const struct bgdma_peer *peer)
{
	struct bgdma_counter *counter;
	uint32_t slot;

	if (!pool->n_free) {
		r->counter = SHARED;
		pool->sharing++;
		pool->stats.shared++;
		return bgdma_counter_handle(pool->counter[SHARED]);
	}
	r->counter = pool->free[--pool->n_free];
	r->exclusive = true;
	counter = pool->counter[r->counter];
	slot = pool->first + r->counter;
	pool->user[r->counter] = r;
	pool->busy[slot / 64] |= 1ULL << slot % 64;
	pool->stats.exclusive++;
	pool->stats.busy++;
	bgdma_counter_clear_hit(counter);
	return bgdma_counter_lease(counter, peer->node, peer->ctx);
}

/*
 * Whatever is left on a counter goes, and an error with it: first the error,
 * since what its transfer had left is off when that is cleared.
 */
static void counter_reset(struct bgdma_counter *counter)
{
	int64_t left;

	if (bgdma_counter_failed(counter))
		(void)bgdma_counter_clear_error(counter);
	left = bgdma_counter_read(counter);
	if (left)
		bgdma_counter_add(counter, -left);
	bgdma_counter_clear_hit(counter);
}

/*
 * What a message that failed has left on the shared counter leaves it with the
 * last of those that are there now. The count is for people: nobody's end is
 * decided by it.
 */
static void shared_give(struct pool *pool, bool failed)
{
	pool->dirty |= failed;
	if (--pool->sharing || !pool->dirty)
		return;
	counter_reset(pool->counter[SHARED]);
	pool->dirty = false;
}

void pool_give(struct pool *pool, struct request *r, bool failed)
{
	uint32_t slot = pool->first + r->counter;
	struct bgdma_counter *counter = pool->counter[r->counter];

	if (!r->exclusive) {
		shared_give(pool, failed);
		return;
	}
	/* Whatever is still under way for it finds another generation. */
	bgdma_counter_lease(counter, BGDMA_RANK_NOBODY, BGDMA_CTX_ANY);
	counter_reset(counter);
	pool->user[r->counter] = NULL;
	pool->busy[slot / 64] &= ~(1ULL << slot % 64);
	pool->free[pool->n_free++] = r->counter;
	pool->stats.busy--;
}

struct request *pool_hit(struct bgdma_endpoint *ep, struct pool *pool,
			 uint32_t *slot)
{
	const struct bgdma_kern_ctl *kern = bgdma_ctx_view(ep->ctx)->kern;
	uint32_t end = pool->first + pool->stats.counters, w;
	uint64_t bits;

	for (; *slot < end; *slot = (w + 1) * 64) {
		w = *slot / 64;
		bits = pool->busy[w] & (UINT64_MAX << (*slot % 64));
		if (!bits)
			continue;
		bits &= bgdma_hits(ep->ctx, pool->kind, w) |
			bgdma_load_acquire(&kern->counter_error[pool->kind][w]);
		if (!bits)
			continue;
		*slot = w * 64 + (uint32_t)__builtin_ctzll(bits) + 1;
		return pool->user[*slot - 1 - pool->first];
	}
	return NULL;
}

void bgdma_counters_used(struct bgdma_endpoint *ep, unsigned int kind,
			 struct bgdma_counter_stats *stats)
{
	endpoint_lock(ep);
	*stats = ep->pool[kind == BGDMA_RECEPTION].stats;
	endpoint_unlock(ep);
}
