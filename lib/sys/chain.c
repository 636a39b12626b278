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
 */
#include <errno.h>
#include <string.h>

#include "internal.h"

#define DESC		sizeof(struct bgdma_desc)
#define PAIR		(2 * DESC)	/* of Tk and Dk */
#define END_MAX		3		/* descriptors that the last O fetches */

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

int chain_offer(struct bgdma_endpoint *ep, struct request *r, uint64_t portion)
{
	const struct bgdma_peer *self = &ep->peer[ep->rank].at;
	const struct bgdma_at nowhere = { 0 };
	struct bgdma_desc *desc;
	uint64_t n = 1;
	uint32_t k;
	int ret;

	if (portion > BGDMA_LENGTH_MAX)
		portion = BGDMA_LENGTH_MAX;
	if (portion)
		n = (r->announced + portion - 1) / portion;
	r->portions = n < BGDMA_PORTIONS_MAX ? (uint32_t)n : BGDMA_PORTIONS_MAX;
	if (r->portions == 1)
		return 0;
	/* Local writes are for messages to oneself. */
	ret = bgdma_region_alloc(ep->ctx, (r->portions - 1) * DESC,
				 BGDMA_LOCAL_READ | BGDMA_LOCAL_WRITE,
				 &r->chain);
	if (ret)
		return ret;
	desc = bgdma_region_addr(r->chain);
	for (k = 1; k < r->portions; k++)
		origin_rget(&desc[k - 1], self, RGQ_ID, COOKIE_ORIGIN |
			    cookie_portion(k) | tokens_make(r->token, 0),
			    nowhere, PAIR);
	return request_grant(ep, r, r->chain, BGDMA_RIGHT_WRITE |
					      BGDMA_RIGHT_FETCH);
}

/* Tk: brings Ok to our queue. */
static void target_rget(const struct bgdma_endpoint *ep,
			const struct request *r, uint32_t k,
			struct bgdma_desc *desc)
{
	struct bgdma_transfer t = cts_transfer(ep, r);

	t.counter = 0;
	t.dest_fifo = RGQ_ID;
	t.length = DESC;
	t.from.region = r->rts.chain_region;
	t.from.offset = r->rts.chain_offset + (k - 1) * DESC;
	t.cookie |= cookie_portion(k);
	bgdma_desc_rget(desc, &t);
}

/*
 * Where in the target's memory things are: the pairs, what the last O fetches,
 * and the O's before they are put.
 */
static uint64_t pair_at(uint32_t k)
{
	return (k - 1) * PAIR;
}

static uint64_t filled_at(const struct request *r)
{
	return pair_at(r->portions) + END_MAX * DESC;
}

int chain_prepare(struct bgdma_endpoint *ep, struct request *r)
{
	uint64_t size = (r->bytes + r->rts.portions - 1) / r->rts.portions;
	struct bgdma_at from = { 0 };
	struct bgdma_desc *desc, *o;
	uint32_t k, length;
	uint64_t at;
	int ret;

	/* A tail has to find its portion; and no portion is empty. */
	if (size < BGDMA_PACKET_ALIGN)
		size = BGDMA_PACKET_ALIGN;
	r->portions = (uint32_t)((r->put + size - 1) / size);
	if (r->portions < 2) {
		r->portions = 1;
		return 0;
	}
	ret = bgdma_region_alloc(ep->ctx, filled_at(r) +
				 (r->portions - 1) * DESC, BGDMA_LOCAL_READ,
				 &r->chain);
	if (ret)
		return ret;
	desc = bgdma_region_addr(r->chain);
	o = desc + filled_at(r) / DESC;
	from.region = bgdma_region_handle(r->chain);
	for (k = 1, at = 0; k < r->portions; k++, at += size) {
		target_rget(ep, r, k, desc++);
		desc += cts_puts(ep, r, at, size, k, desc);
	}
	length = cts_puts(ep, r, at, r->put - at, k, desc);
	length += cts_end(ep, r, desc + length);
	for (k = 1; k < r->portions; k++) {
		from.offset = pair_at(k + 1);
		origin_rget(o++, &ep->peer[r->rank].at, r->rts.queue,
			    COOKIE_ORIGIN | cookie_portion(k) |
			    tokens_make(r->rts.token, r->token), from,
			    k + 1 < r->portions ? PAIR :
						  length * (uint32_t)DESC);
	}
	return request_grant(ep, r, r->chain, BGDMA_RIGHT_FETCH);
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
	t.length = (r->portions - 1) * (uint32_t)DESC;
	t.from.region = bgdma_region_handle(r->chain);
	t.from.offset = filled_at(r);
	t.to.region = r->rts.chain_region;
	t.to.offset = r->rts.chain_offset;
	t.cookie = tokens_make(r->rts.token, r->token);
	bgdma_desc_put(desc, &t);
	return bgdma_inj_submit(ch->fifo);
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
	return rget_send(ep, r->rank, r->rts.queue, r->token | SENT_TARGET,
			 bgdma_region_addr(r->chain), 2);
}
