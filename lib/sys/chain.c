// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Self-pacing chains (SP-1 to SP-10). A message of n portions crosses by these
 * descriptors, and no core takes part:
 *
 *	origin's memory		O1 ... On-1
 *	target's memory		{T1, D1} ... {Tn-1, Dn-1} {Dn, L}
 *
 * The target starts it by a remote get of {T1, D1}. The origin's engine runs
 * T1, which sends O1 to the target's engine, and D1, which moves a portion. The
 * target's engine runs O1, which sends {T2, D2} to the origin's. And so on:
 * On-1 brings {Dn, L}. L tells the origin's core of the end.
 *
 * The O's are made by the origin, unfilled: only the target knows where the
 * descriptors lie that they fetch. It fills them all by one put, through the
 * same FIFO as the remote get that starts the chain, so none runs before it is
 * filled (SP-3a).
 *
 * With w portions in flight there are w chains, each of every w-th portion: Ok
 * fetches what belongs to portion k + w, and the last w portions have no T but
 * an L each (SP-10).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "wire.h"

#define DESC		sizeof(struct bgdma_desc)
#define PAIR		(2 * DESC)	/* of Tk and Dk */
#define END		(3 * DESC)	/* Dn, and at most a tail and L */
#define PORTION_MIN	BGDMA_PACKET_ALIGN

/* Ok in the origin's memory: unfilled, or as it is to be. */
static void origin_rget(struct bgdma_desc *desc, const struct bgdma_peer *to,
			uint16_t queue, uint64_t cookie, struct bgdma_at from,
			uint32_t length)
{
	struct bgdma_transfer t = bgdma__no_transfer();

	t.dest = to->node;
	t.dest_ctx = to->ctx;
	t.dest_fifo = queue;
	t.length = length;
	t.from = from;
	t.cookie = cookie;
	bgdma_desc_rget(desc, &t);
}

/* Each has two portions at least. */
static uint32_t chains_of(uint32_t in_flight, uint32_t portions)
{
	return in_flight < portions / 2 ? in_flight : portions / 2;
}

int chain_offer(struct bgdma_endpoint *ep, struct request *r,
		const struct pace *pace)
{
	const struct bgdma_peer *self = &ep->peer[ep->rank].at;
	const struct bgdma_at nowhere = { 0 };
	uint64_t n = 1, portion = pace->portion;
	struct bgdma_desc *desc;
	uint32_t k;
	int ret;

	if (portion > BGDMA_LENGTH_MAX)
		portion = BGDMA_LENGTH_MAX;
	if (portion)
		n = (r->announced + portion - 1) / portion;
	r->portions = n < BGDMA_PORTIONS_MAX ? (uint32_t)n : BGDMA_PORTIONS_MAX;
	r->chains = 1;
	if (r->portions == 1)
		return 0;
	r->chains = chains_of(pace->in_flight, r->portions);
	r->packets = pace->packets;
	/* Local writes are for messages to oneself. */
	ret = chain_memory(ep, r, (r->portions - 1) * DESC,
			   BGDMA_LOCAL_READ | BGDMA_LOCAL_WRITE,
			   BGDMA_RIGHT_WRITE | BGDMA_RIGHT_FETCH);
	if (ret)
		return ret;
	desc = bgdma_region_addr(r->chain);
	for (k = 1; k < r->portions; k++)
		origin_rget(&desc[k - 1], self, RGQ_PAIRS, COOKIE_ORIGIN |
			    cookie_portion(k) | tokens_make(r->token, 0),
			    nowhere, PAIR);
	return 0;
}

/* A descriptor as we wrote it, but for what its target fills in. */
static struct bgdma_desc origin_wanted(const struct bgdma_endpoint *ep,
				       const struct request *r, uint32_t k,
				       const struct bgdma_desc *found)
{
	const struct bgdma_at from = {
		.region = __le32_to_cpu(found->u.at.src_region),
		.offset = __le64_to_cpu(found->u.at.src_off),
	};
	uint32_t target = token_target(__le64_to_cpu(found->cookie));
	struct bgdma_desc want;

	origin_rget(&want, &ep->peer[ep->rank].at, RGQ_PAIRS, COOKIE_ORIGIN |
		    cookie_portion(k) | tokens_make(r->token, target), from,
		    __le32_to_cpu(found->length));
	return want;
}

uint32_t chain_damaged(const struct bgdma_endpoint *ep, const struct request *r,
		       uint32_t first, uint32_t count)
{
	struct bgdma_desc found, want;
	uint32_t k;

	for (k = first; k < first + count; k++) {
		memcpy(&found, (struct bgdma_desc *)bgdma_region_addr(r->chain) +
			       k - 1, sizeof(found));
		want = origin_wanted(ep, r, k, &found);
		if (memcmp(&found, &want, sizeof(want)))
			return k;
	}
	return 0;
}

/* Tk: brings Ok to our queue. */
static void target_rget(const struct bgdma_endpoint *ep,
			const struct request *r, uint32_t k,
			struct bgdma_desc *desc)
{
	struct bgdma_transfer t = cts_transfer(ep, r);

	t.counter = 0;
	t.dest_fifo = RGQ_FETCHES;
	t.length = DESC;
	t.from.region = r->rts.chain_region;
	t.from.offset = r->rts.chain_offset + (k - 1) * DESC;
	t.cookie |= cookie_portion(k);
	bgdma_desc_rget(desc, &t);
}

/* Where portion k begins. */
static uint64_t portion_offset(const struct request *r, uint32_t k)
{
	return (k - 1) * r->portion;
}

static uint64_t portion_length(const struct request *r, uint32_t k)
{
	return k < r->portions ? r->portion :
				 r->bytes - portion_offset(r, k);
}

/* Dk: moves a portion, by a put or in packets (SP-5). */
static unsigned int target_data(const struct bgdma_endpoint *ep,
				const struct request *r, uint32_t k,
				struct bgdma_desc *desc)
{
	uint64_t at = portion_offset(r, k);
	struct bgdma_transfer t;

	if (!portion_in_packets(r, k))
		return cts_puts(ep, r, at, portion_length(r, k), k, desc);
	t = cts_transfer(ep, r);
	/* They are counted by who copies them. */
	t.remote_counter = 0;
	t.dest_fifo = WAY_CONTROL;
	t.dispatch = (uint16_t)ep->piece_id;
	t.cookie = cookie_make(BGDMA_POINT_TO_POINT, ep->piece_id,
			       piece_make(k, r->token));
	t.length = (uint32_t)portion_length(r, k);
	t.from.region = r->rts.region;
	t.from.offset = r->rts.offset + at;
	bgdma_desc_memfifo(desc, &t);
	return 1;
}

/* Portions that are not the last of their chain: those with a T and an O. */
static uint32_t linked(const struct request *r)
{
	return r->portions - r->chains;
}

/*
 * Where in the target's memory things are: what belongs to a portion, and
 * behind all of it the O's before they are put.
 */
static uint64_t portion_at(const struct request *r, uint32_t k)
{
	return k <= linked(r) ? (k - 1) * PAIR :
	       linked(r) * PAIR + (k - 1 - linked(r)) * END;
}

static uint64_t filled_at(const struct request *r)
{
	return portion_at(r, r->portions + 1);
}

static struct bgdma_desc *chain_desc(const struct request *r, uint64_t at)
{
	return (struct bgdma_desc *)bgdma_region_addr(r->chain) + at / DESC;
}

/* What belongs to a portion: how many descriptors. */
static unsigned int portion_write(const struct bgdma_endpoint *ep,
				  const struct request *r, uint32_t k)
{
	struct bgdma_desc *desc = chain_desc(r, portion_at(r, k));
	unsigned int n;

	if (k <= linked(r)) {
		target_rget(ep, r, k, desc);
		return 1 + target_data(ep, r, k, desc + 1);
	}
	n = target_data(ep, r, k, desc);
	return n + cts_end(ep, r, desc + n);
}

/* Equal portions, of which the last may be shorter. */
static uint64_t portion_bytes(uint64_t bytes, uint32_t offered)
{
	uint64_t portion = (bytes + offered - 1) / offered;

	return portion < PORTION_MIN ? PORTION_MIN : portion;
}

void chain_divide(struct request *r)
{
	/* As long as the origin makes them, however little is taken. */
	r->portion = portion_bytes(r->announced, r->rts.portions);
	r->portions = (uint32_t)((r->bytes + r->portion - 1) / r->portion);
	if (r->portions > 1)
		r->chains = chains_of(r->rts.in_flight, r->portions);
}

bool portion_in_packets(const struct request *r, uint32_t k)
{
	return r->packets && (!r->ways || r->ways[k / 8] & 1U << k % 8);
}

static int ways_ask(struct request *r, const struct bgdma_accept_attr *a)
{
	const bool otherwise = r->packets;
	enum bgdma_portions way;
	uint32_t k;

	r->packets = false;
	r->put = r->bytes;
	for (k = 1; k <= r->portions; k++) {
		way = a->way(a->arg, k, portion_offset(r, k),
			     portion_length(r, k));
		if (way > BGDMA_PORTIONS_PACKETS)
			return -EINVAL;
		if (way == BGDMA_PORTIONS_PUT ||
		    (way == BGDMA_PORTIONS_DEFAULT && !otherwise))
			continue;
		r->ways[k / 8] |= (uint8_t)(1U << k % 8);
		r->packets = true;
		r->put -= portion_length(r, k);
	}
	return 0;
}

int chain_ways(struct bgdma_endpoint *ep, struct request *r,
	       const struct bgdma_accept_attr *a)
{
	bool inside;
	int ret;

	r->packets = r->rts.flags & RTS_PACKETS;
	r->put = r->packets ? 0 : r->bytes;
	if (!a->way)
		return 0;
	r->ways = calloc(r->portions / 8 + 1, 1);
	if (!r->ways)
		return -ENOMEM;
	/* No progress from there: it could end the message. */
	inside = endpoint_inside(ep, true);
	ret = ways_ask(r, a);
	(void)endpoint_inside(ep, inside);
	return ret;
}

int chain_prepare(struct bgdma_endpoint *ep, struct request *r)
{
	struct bgdma_at from = { 0 };
	struct bgdma_desc *o;
	unsigned int n;
	uint32_t k;
	int ret;

	ret = chain_memory(ep, r, filled_at(r) + linked(r) * DESC,
			   BGDMA_LOCAL_READ, BGDMA_RIGHT_FETCH);
	if (ret)
		return ret;
	o = chain_desc(r, filled_at(r));
	from.region = bgdma_region_handle(r->chain);
	for (k = 1; k <= r->portions; k++) {
		n = portion_write(ep, r, k);
		if (k <= r->chains)
			continue;
		from.offset = portion_at(r, k);
		origin_rget(o++, &ep->peer[r->rank].at, RGQ_PAIRS,
			    COOKIE_ORIGIN | cookie_portion(k - r->chains) |
			    tokens_make(r->rts.token, r->token), from,
			    n * (uint32_t)DESC);
	}
	return 0;
}

/* One put for all of them. */
static int chain_fill(struct bgdma_endpoint *ep, struct request *r)
{
	struct channel *ch = channel_of(ep, WAY_CONTROL, r->rank);
	const struct sent what = {
		.rank = r->rank, .token = r->token | SENT_TARGET,
	};
	struct bgdma_transfer t = bgdma__no_transfer();
	struct bgdma_desc *desc;

	desc = channel_take(ep, ch, 0, &what, &t, NULL);
	if (!desc)
		return -EAGAIN;
	t.dest = ep->peer[r->rank].at.node;
	t.dest_ctx = ep->peer[r->rank].at.ctx;
	t.length = linked(r) * (uint32_t)DESC;
	t.from.region = bgdma_region_handle(r->chain);
	t.from.offset = filled_at(r);
	t.to.region = r->rts.chain_region;
	t.to.offset = r->rts.chain_offset;
	t.cookie = tokens_make(r->rts.token, r->token);
	bgdma_desc_put(desc, &t);
	return channel_submit(ep, ch);
}

int chain_send(struct bgdma_endpoint *ep, struct request *r)
{
	int ret;

	if (!r->filled) {
		ret = chain_fill(ep, r);
		if (ret)
			return ret;
		r->filled = true;
	}
	/* The first portion of each chain. */
	while (r->started < r->chains) {
		ret = rget_send(ep, r->rank, RGQ_PAIRS,
				r->token | SENT_TARGET,
				chain_desc(r, portion_at(r, r->started + 1)),
				PAIR / DESC);
		if (ret)
			return ret;
		answer_begun(ep, r);
		r->started++;
	}
	return 0;
}

/* The stores are whole ones: the engine may fetch the descriptors meanwhile. */
static void desc_stop(struct bgdma_desc *desc)
{
	struct took_wire *took = (struct took_wire *)desc->u.inline_data;
	struct tail_wire *tail = (struct tail_wire *)desc->u.inline_data;

	if (desc->op == BGDMA_OP_LOCAL_MEMFIFO)
		bgdma_store_release(&took->bytes,
				    took->bytes | __cpu_to_le64(TOOK_STOPPED));
	else if (desc->flags & BGDMA_DESC_INLINE)
		bgdma_store_release(&tail->stopped, __cpu_to_le64(1));
}

void chain_stop(struct request *r)
{
	struct bgdma_desc *desc;
	uint32_t k;

	/*
	 * First those that tell, so that none that moves nothing is silent; of
	 * these L before the tail, which is fetched before it: who hears of a stop
	 * by the tail waits for what the origin says, so that has to have heard.
	 */
	for (k = linked(r) + 1; k <= r->portions; k++) {
		desc = chain_desc(r, portion_at(r, k));
		desc_stop(desc + 2);
		desc_stop(desc + 1);
	}
	/*
	 * Towards the engine, which we meet once: it is faster than we where
	 * nothing moves, and behind us could overtake us again.
	 */
	for (k = r->portions; k; k--) {
		desc = chain_desc(r, portion_at(r, k)) + (k <= linked(r));
		bgdma_store_release(&desc->length, __cpu_to_le32(0));
	}
}

/*
 * By the bytes that are known to have crossed, as if the portions did so one
 * after the other. A shared counter knows nothing of one message.
 */
uint32_t chain_reached(const struct bgdma_endpoint *ep, const struct request *r)
{
	uint64_t portion = r->target ? r->portion :
				       portion_bytes(r->bytes, r->portions);
	const struct pool *pool = &ep->pool[r->target ? BGDMA_RECEPTION :
							BGDMA_INJECTION];
	uint64_t counted = r->target ? r->put : r->bytes;
	uint64_t moved = r->copied, left;

	if (r->exclusive) {
		/* Of an RTS that is not off there is more than all left. */
		left = (uint64_t)bgdma_counter_read(pool_counter(pool, r));
		moved += left < counted ? counted - left : 0;
	}
	if (r->target ? !r->begun : !moved && !r->stopped)
		return 0;
	return moved < r->bytes ? (uint32_t)(moved / portion) + 1 : r->portions;
}
