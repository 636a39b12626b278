// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Descriptors that were refused. An engine that refuses one drops what the same
 * sender has waiting behind it, which may belong to other messages. So who
 * hears that one of his was refused sends a mark the same way: a packet back to
 * himself. What he answered before the mark, and is not done when it comes
 * back, was dropped whole: it is answered again.
 *
 * Chains, which are not answered twice, are looked after by probes (probe.c).
 *
 * Events can be lost. Then each peer that we have something with gets a mark: it
 * finds what was dropped or refused, which, answered again, is refused again and
 * makes another event; and that a peer is gone.
 */
#include <errno.h>

#include "internal.h"

#define EXAMINE_BUDGET	1024	/* descriptors in one progress */

/* A mark to where we answered: a packet back to us, behind all answers so far. */
static void mark_send(struct bgdma_endpoint *ep, uint32_t rank)
{
	const struct bgdma_ctx_info *info = bgdma_ctx_info(ep->ctx);
	struct bgdma_transfer t = bgdma__no_transfer();
	struct bgdma_desc desc;
	int ret;

	t.dest = info->rank;
	t.dest_ctx = info->ctx;
	t.dest_fifo = WAY_CONTROL;
	t.dispatch = (uint16_t)ep->mark_id;
	t.cookie = cookie_make(BGDMA_POINT_TO_POINT, ep->mark_id,
			       ep->answers & BGDMA_WORD_MASK);
	t.flags = BGDMA_DESC_FENCE;
	bgdma_desc_memfifo(&desc, &t);
	bgdma_desc_inline(&desc, NULL, 0);
	ret = rget_send(ep, rank, RGQ_CTS, 0, &desc, 1);
	ep->peer[rank].marks += !ret;
	ep->peer[rank].mark_due = ret == -EAGAIN;
	ep->marks_due |= ep->peer[rank].mark_due;
}

unsigned int marks_progress(struct bgdma_endpoint *ep)
{
	unsigned int n = 0;
	uint32_t rank;

	ep->marks_due = false;
	for (rank = 0; rank < ep->size; rank++) {
		n += stops_progress(ep, rank);
		if (ep->peer[rank].mark_due)
			mark_send(ep, rank);
		probe_progress(ep, rank);
	}
	return n;
}

int on_mark(void *arg, uint32_t rank, const struct bgdma_packet *packet)
{
	struct bgdma_endpoint *ep = arg;
	uint64_t before = bgdma_packet_word(packet);
	struct request *r;
	bool doubt = false;

	/* We sent none, so nobody is to have us look through all requests. */
	if (!ep->peer[rank].marks)
		return 0;
	ep->peer[rank].marks--;
	/* What has arrived first. */
	rendezvous_progress(ep);
	for (r = ep->requests; r; r = r->next) {
		if (!r->target || r->rank != rank || !r->begun || r->suspect ||
		    r->order >= before)
			continue;
		if (r->portions > 1) {
			r->doubt = true;
			doubt = true;
			continue;
		}
		r->begun = false;
		r->answered = false;
		unanswered_add(ep, r);
	}
	if (doubt)
		probe_begin(ep, rank, before);
	stops_again(ep, rank);
	return 0;
}

/* SP-3a: which portion it was. */
static uint32_t portion_of(const struct request *r,
			   const struct bgdma_event *event)
{
	uint64_t word = event->cookie & BGDMA_WORD_MASK;
	uint32_t portion = (uint32_t)(event->cookie >> BGDMA_WORD_BITS) &
			   BGDMA_PORTIONS_MAX;

	if (r->portions == 1)
		return 0;
	if (piece_portion(word) && piece_portion(word) <= BGDMA_PORTIONS_MAX)
		return piece_portion(word);
	/* The packets at the end have an identifier there. */
	return portion && portion <= r->portions ? portion : r->portions;
}

/*
 * A descriptor of ours was refused that names no message of ours: its target
 * must have written nonsense over those that it was to fill in. They may be many, and
 * refusals too: some at a time, all of a peer's once.
 */
static void examine_begin(struct bgdma_endpoint *ep, uint32_t rank,
			  uint32_t code)
{
	struct peer *peer = &ep->peer[rank];
	struct request *r;

	/* Those behind will be looked at, those before once more. */
	peer->examine_again = peer->examine;
	if (peer->examine)
		return;
	peer->examine = code;
	ep->examines++;
	for (r = ep->requests; r; r = r->next)
		if (r->rank == rank)
			r->examined = 0;
}

static void examine_end(struct bgdma_endpoint *ep, uint32_t rank)
{
	struct peer *peer = &ep->peer[rank];
	uint32_t code = peer->examine;

	peer->examine = 0;
	ep->examines--;
	if (peer->examine_again)
		examine_begin(ep, rank, code);
}

/* Up to so many descriptors of a chain: how many. */
static uint32_t chain_examine(struct bgdma_endpoint *ep, struct request *r,
			      uint32_t budget)
{
	uint32_t left = r->portions - 1 - r->examined;
	uint32_t n = left < budget ? left : budget, portion;

	portion = chain_damaged(ep, r, r->examined + 1, n);
	r->examined += n;
	if (portion)
		request_fail(ep, r, ep->peer[r->rank].examine, portion);
	return n;
}

unsigned int examine_progress(struct bgdma_endpoint *ep)
{
	uint32_t budget = EXAMINE_BUDGET, rank;
	struct request *r, *next;

	for (r = ep->requests; r && budget; r = next) {
		next = r->next;
		if (!r->target && r->chain && ep->peer[r->rank].examine)
			budget -= chain_examine(ep, r, budget);
	}
	for (rank = 0; budget && rank < ep->size; rank++)
		if (ep->peer[rank].examine)
			examine_end(ep, rank);
	/* Until the end nobody sleeps. */
	return 1;
}

/* An event of its death follows; there is nobody to send a cut to. */
static void refused_by_the_dead(struct bgdma_endpoint *ep, uint32_t rank,
				struct request *r,
				const struct bgdma_event *event)
{
	/* What came in packets before is to be copied first. */
	if (r && !(r->target && r->packets))
		request_broken(ep, r, -EHOSTDOWN, event->code,
			       portion_of(r, event));
	/* Our own rank: what we had put for another went by our own queue. */
	if (rank != ep->rank)
		endpoint_peer_down(ep, rank);
}

void rendezvous_refused(struct bgdma_endpoint *ep, uint32_t rank,
			const struct bgdma_event *event)
{
	/* All but the origin's part of a chain comes from the target. */
	bool target = (event->type == BGDMA_EVENT_REFUSED) ==
		      !(event->cookie & COOKIE_ORIGIN);
	uint64_t word = event->cookie & BGDMA_WORD_MASK;
	struct request *r;

	/* A counter, or the other side, may have told before. */
	r = request_find(ep, target ? token_target(word) : token_origin(word),
			 rank, target);
	if (!r)
		pools_spoil(ep);
	if (event->type == BGDMA_EVENT_REFUSED)
		probe_refused(ep, rank, word);
	/* Of what was dropped, some may have been of a chain to us. */
	if (event->type == BGDMA_EVENT_REFUSED || target)
		mark_send(ep, rank);
	if (code_is_death(event->code))
		refused_by_the_dead(ep, rank, r, event);
	else if (r)
		request_fail(ep, r, event->code, portion_of(r, event));
	else if (event->type == BGDMA_EVENT_REFUSED)
		examine_begin(ep, rank, event->code);
}

void rendezvous_missed(struct bgdma_endpoint *ep)
{
	const struct request *r;
	uint32_t rank;

	for (r = ep->requests; r; r = r->next) {
		ep->peer[r->rank].mark_due = true;
		ep->marks_due = true;
	}
	/* An answer to a cancel may have been dropped, and is of no request. */
	for (rank = 0; ep->peer && rank < ep->size; rank++) {
		if (!ep->peer[rank].stops || ep->peer[rank].down)
			continue;
		ep->peer[rank].mark_due = true;
		ep->marks_due = true;
	}
}
