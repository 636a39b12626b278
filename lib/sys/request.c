// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Requests: messages under way, and the tokens by which packets name them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "../spi/memcheck.h"

#define SLOTS_FIRST	64
#define SLOTS_MAX	(1U << TOKEN_SLOT_BITS)
#define NO_SLOT		UINT32_MAX

void queue_init(struct queue *queue)
{
	queue->first = NULL;
	queue->last = &queue->first;
}

void queue_add(struct queue *queue, struct request *r)
{
	r->later = NULL;
	r->at = queue->last;
	*queue->last = r;
	queue->last = &r->later;
}

void queue_add_first(struct queue *queue, struct request *r)
{
	r->later = queue->first;
	r->at = &queue->first;
	queue->first = r;
	if (r->later)
		r->later->at = &r->later;
	else
		queue->last = &r->later;
}

struct request *queue_take(struct queue *queue)
{
	struct request *r = queue->first;

	if (r) {
		queue->first = r->later;
		if (r->later)
			r->later->at = &queue->first;
		else
			queue->last = &queue->first;
		r->at = NULL;
	}
	return r;
}

bool queue_remove(struct queue *queue, struct request *r)
{
	if (!r->at)
		return false;
	*r->at = r->later;
	if (r->later)
		r->later->at = r->at;
	else
		queue->last = r->at;
	r->at = NULL;
	return true;
}

/* ---- By what their origins call them ----------------------------------- */

static struct request **origin_bucket(const struct bgdma_endpoint *ep,
				      uint32_t token, uint32_t rank)
{
	uint64_t key = (uint64_t)rank << 32 | token;

	/* Peers choose tokens, and are not to know which meet in a bucket. */
	return &ep->by_origin[key * ep->secret >> 40 & (ep->slots - 1)];
}

void request_name(struct bgdma_endpoint *ep, struct request *r)
{
	struct request **bucket = origin_bucket(ep, r->rts.token, r->rank);

	r->twin = *bucket;
	r->twin_link = bucket;
	if (r->twin)
		r->twin->twin_link = &r->twin;
	*bucket = r;
}

static void request_unname(struct request *r)
{
	if (!r->twin_link)
		return;
	*r->twin_link = r->twin;
	if (r->twin)
		r->twin->twin_link = r->twin_link;
}

struct request *request_of_origin(struct bgdma_endpoint *ep, uint32_t token,
				  uint32_t rank)
{
	struct request *r = ep->slots ? *origin_bucket(ep, token, rank) : NULL;

	while (r && (r->rank != rank || r->rts.token != token))
		r = r->twin;
	return r;
}

/* ---- Tokens ------------------------------------------------------------ */

static int slots_grow(struct bgdma_endpoint *ep)
{
	uint32_t slots = ep->slots ? 2 * ep->slots : SLOTS_FIRST, i;
	struct request **by_origin, *r;
	struct token_slot *slot;

	if (slots > SLOTS_MAX)
		return -ENOMEM;
	slot = realloc(ep->slot, slots * sizeof(*slot));
	if (!slot)
		return -ENOMEM;
	ep->slot = slot;
	by_origin = calloc(slots, sizeof(struct request *));
	if (!by_origin)
		return -ENOMEM;
	free(ep->by_origin);
	ep->by_origin = by_origin;
	for (i = ep->slots; i < slots; i++)
		slot[i] = (struct token_slot){
			.next_free = i + 1 < slots ? i + 1 : NO_SLOT,
		};
	ep->free_slot = ep->slots;
	ep->slots = slots;
	for (r = ep->requests; r; r = r->next)
		if (r->twin_link)
			request_name(ep, r);
	return 0;
}

struct request *request_new(struct bgdma_endpoint *ep, uint32_t rank,
			    bool target, bgdma_done_fn *done, void *arg)
{
	struct token_slot *slot;
	struct request *r;

	/* What others have announced must always be answered. */
	if (!target && ep->origins == ORIGINS_MAX)
		return NULL;
	if ((!ep->slots || ep->free_slot == NO_SLOT) && slots_grow(ep))
		return NULL;
	r = calloc(1, sizeof(*r));
	if (!r)
		return NULL;
	slot = &ep->slot[ep->free_slot];
	/* Never 0, and another than the last in this slot. */
	slot->uses = slot->uses % (TOKEN_MASK >> TOKEN_SLOT_BITS) + 1;
	r->token = slot->uses << TOKEN_SLOT_BITS | ep->free_slot;
	ep->free_slot = slot->next_free;
	slot->request = r;
	ep->origins += !target;
	r->rank = rank;
	r->target = target;
	r->done = done;
	r->arg = arg;
	r->next = ep->requests;
	r->link = &ep->requests;
	if (r->next)
		r->next->link = &r->next;
	ep->requests = r;
	return r;
}

struct request *request_of(struct bgdma_endpoint *ep, uint32_t token)
{
	uint32_t slot = token & TOKEN_SLOT_MASK;
	struct request *r = slot < ep->slots ? ep->slot[slot].request : NULL;

	return r && r->token == token ? r : NULL;
}

struct request *request_find(struct bgdma_endpoint *ep, uint32_t token,
			     uint32_t rank, bool target)
{
	struct request *r = request_of(ep, token);

	return r && r->rank == rank && r->target == target ? r : NULL;
}

void request_unqueue(struct bgdma_endpoint *ep, struct request *r)
{
	if (!r->target || r->answered)
		return;
	if (r->parked)
		chains_unpark(ep, r);
	else
		unanswered_remove(ep, r);
	r->answered = true;
}

void request_end(struct bgdma_endpoint *ep, struct request *r, int result)
{
	uint32_t slot = r->token & TOKEN_SLOT_MASK;

	if (r->by_copy && !result)
		memcpy(r->addr, bgdma_region_addr(r->region),
		       r->portions > 1 ? r->bytes : r->put);
	if (r->target && r->addr)
		memory_defined(r->addr, r->bytes);
	if (r->region)
		(void)bgdma_region_free(r->region);
	/* After the region, with which those leave who count what they put there. */
	if (r->handle)
		pool_give(ep, &ep->pool[r->target ? BGDMA_RECEPTION :
						    BGDMA_INJECTION],
			  r, result);
	chain_memory_end(ep, r, !result && !r->stopped && !r->halted &&
				!r->doubt && !r->suspect);
	request_unqueue(ep, r);
	chains_end(ep, r);
	if (r->suspect)
		queue_remove(&ep->suspects, r);
	request_unname(r);
	ep->slot[slot].request = NULL;
	ep->slot[slot].next_free = ep->free_slot;
	ep->free_slot = slot;
	*r->link = r->next;
	if (r->next)
		r->next->link = r->link;
	ep->origins -= !r->target;
	r->result = result;
	queue_add(&ep->ended, r);
	sleeper_wake(ep);
}

void request_undo(struct bgdma_endpoint *ep, struct request *r)
{
	chain_memory_end(ep, r, false);
	r->by_copy = false;
	r->done = NULL;
	request_end(ep, r, 0);
}

/* Their process has gone. */
void requests_fail(struct bgdma_endpoint *ep, uint32_t rank)
{
	struct request *r, *next;

	for (r = ep->requests; r; r = next) {
		next = r->next;
		if (r->rank != rank)
			continue;
		if (r->dead)
			request_end(ep, r, -EHOSTDOWN);
		else
			request_broken(ep, r, -EHOSTDOWN, BGDMA_E_PEER_DOWN, 0);
	}
	kept_drop(ep, rank);
}

static void request_free(struct request *r)
{
	free(r->ways);
	free(r);
}

unsigned int requests_ended(struct bgdma_endpoint *ep)
{
	struct request *r;
	unsigned int n = 0;

	while ((r = queue_take(&ep->ended))) {
		if (bgdma_unlikely(ep->unsettled))
			pools_settle(ep);
		if (r->result && r->portion_failed)
			portion_trouble(ep, r);
		if (r->done)
			r->done(r->arg, r->result, r->result ? 0 : r->bytes);
		request_free(r);
		n++;
	}
	return n;
}

/* The context is gone, and all that belonged to it. */
void requests_destroy(struct bgdma_endpoint *ep)
{
	struct request *r;

	ep->inside = true;
	ep->unsettled = false;
	requests_ended(ep);
	while ((r = ep->requests)) {
		ep->requests = r->next;
		if (r->done)
			r->done(r->arg, -ECANCELED, 0);
		request_free(r);
	}
	free(ep->slot);
	free(ep->by_origin);
}
