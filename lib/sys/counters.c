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

/*
 * Whoever is given one has the one that nobody has had for the longest. An engine may
 * have found it for a peer that sends more than it said, and not have counted yet: that
 * would be taken off what the next peer sends.
 */
static void free_put(struct pool *pool, uint32_t i)
{
	uint32_t at = pool->oldest + pool->n_free++;

	pool->free[at < pool->stats.counters ? at : at - pool->stats.counters] = i;
}

static uint32_t free_take(struct pool *pool)
{
	uint32_t i = pool->free[pool->oldest];

	pool->n_free--;
	if (++pool->oldest == pool->stats.counters)
		pool->oldest = 0;
	return i;
}

int pool_create(struct bgdma_endpoint *ep, unsigned int kind, uint32_t count)
{
	struct pool *pool = &ep->pool[kind];
	uint32_t i;
	int ret;

	pool->kind = kind;
	pool->counter = calloc(count, sizeof(struct bgdma_counter *));
	pool->user = calloc(count, sizeof(struct request *));
	pool->free = calloc(count, sizeof(*pool->free));
	pool->stale = calloc(count, sizeof(*pool->stale));
	if (!pool->counter || !pool->user || !pool->free || !pool->stale)
		return -ENOMEM;
	ret = bgdma_counter_alloc_many(ep->ctx, kind, count, 0, pool->counter);
	if (ret)
		return ret;
	pool->stats.counters = count;
	pool->first = bgdma_counter_slot(pool->counter[0]);
	bgdma_counter_lease(pool->counter[SHARED], BGDMA_RANK_ANY,
			    BGDMA_CTX_ANY);
	for (i = SHARED + 1; i < count; i++) {
		bgdma_counter_lease(pool->counter[i], BGDMA_RANK_NOBODY,
				    BGDMA_CTX_ANY);
		if (ep->attr.counters == BGDMA_COUNTERS_AUTO)
			free_put(pool, i);
	}
	return 0;
}

void pool_destroy(struct pool *pool)
{
	free(pool->counter);
	free(pool->user);
	free(pool->free);
	free(pool->stale);
}

struct bgdma_counter *pool_counter(const struct pool *pool,
				   const struct request *r)
{
	return pool->counter[r->counter];
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
 * An engine that is about to count for a message that failed may have found its
 * counter before that was given back: so this waits until no engine relies on what
 * it found, by a grant that is taken back, once for all of them.
 */
static bool engines_wait(struct bgdma_endpoint *ep)
{
	const struct bgdma_ctx_info *info = bgdma_ctx_info(ep->ctx);
	const struct bgdma_grant_attr self = {
		.rank = info->rank, .ctx = info->ctx,
		.incarnation = info->incarnation, .rights = BGDMA_RIGHT_READ,
	};
	uint32_t id;

	return !bgdma_region_grant(ep->copies, &self, &id) &&
	       !bgdma_revoke(ep->ctx, id);
}

/*
 * What messages that failed have left on the shared counter, if nobody knows how
 * much that is, leaves it with the last of those that are there now. The count is
 * for people: nobody's end is decided by it.
 */
static void pool_settle(struct pool *pool, bool waited)
{
	uint32_t i;

	for (i = 0; i < pool->n_stale; i++)
		counter_reset(pool->counter[pool->stale[i]]);
	while (waited && pool->n_stale)
		free_put(pool, pool->stale[--pool->n_stale]);
	if (!pool->dirty || pool->sharing)
		return;
	counter_reset(pool->counter[SHARED]);
	pool->dirty = false;
}

void pools_settle(struct bgdma_endpoint *ep)
{
	bool waited = engines_wait(ep);

	ep->unsettled = false;
	pool_settle(&ep->pool[BGDMA_INJECTION], waited);
	pool_settle(&ep->pool[BGDMA_RECEPTION], waited);
}

/*
 * What is refused of a message that has ended, as a portion that was still in a queue,
 * takes from a shared counter what had been taken off already.
 */
void pools_spoil(struct bgdma_endpoint *ep)
{
	unsigned int kind;

	for (kind = BGDMA_INJECTION; kind <= BGDMA_RECEPTION; kind++) {
		ep->pool[kind].dirty = true;
		ep->unsettled |= !ep->pool[kind].sharing;
	}
}

uint32_t pool_take(struct bgdma_endpoint *ep, struct pool *pool,
		   struct request *r, const struct bgdma_peer *peer)
{
	struct bgdma_counter *counter;
	uint32_t slot;

	if (bgdma_unlikely(!pool->n_free && pool->n_stale))
		pools_settle(ep);
	if (!pool->n_free) {
		r->counter = SHARED;
		pool->sharing++;
		pool->stats.shared++;
		return bgdma_counter_handle(pool->counter[SHARED]);
	}
	r->counter = free_take(pool);
	r->exclusive = true;
	counter = pool->counter[r->counter];
	slot = pool->first + r->counter;
	pool->user[r->counter] = r;
	pool->busy[slot / 64] |= 1ULL << slot % 64;
	pool->stats.exclusive++;
	pool->stats.busy++;
	counter_reset(counter);
	bgdma_counter_enable(counter, true);
	return bgdma_counter_lease(counter, peer->node, peer->ctx);
}

/* What is left of one that failed, if that is known: nothing of it has moved. */
static int64_t untouched(const struct request *r)
{
	if (r->target)
		return r->begun || r->filled ? 0 : (int64_t)r->put;
	return r->declined ? (int64_t)r->announced : 0;
}

void pool_give(struct bgdma_endpoint *ep, struct pool *pool, struct request *r,
	       bool failed)
{
	uint32_t slot = pool->first + r->counter;
	struct bgdma_counter *counter = pool->counter[r->counter];

	if (!r->exclusive) {
		if (failed)
			bgdma_counter_add(counter, -untouched(r));
		pool->sharing--;
		pool->dirty |= failed;
		ep->unsettled |= pool->dirty && !pool->sharing;
		return;
	}
	/* Whatever is still under way for it finds another generation. */
	bgdma_counter_lease(counter, BGDMA_RANK_NOBODY, BGDMA_CTX_ANY);
	/* Until the next use nothing that happens to it is to wake anybody. */
	bgdma_counter_enable(counter, false);
	/* At zero all was counted. */
	if (failed || bgdma_counter_read(counter)) {
		pool->stale[pool->n_stale++] = r->counter;
		ep->unsettled = true;
	} else {
		free_put(pool, r->counter);
	}
	pool->user[r->counter] = NULL;
	pool->busy[slot / 64] &= ~(1ULL << slot % 64);
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
