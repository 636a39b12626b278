// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Descriptors that were refused. An engine that refuses one drops what the same
 * sender has waiting behind it, which may belong to other messages. So who
 * hears that one of his was refused sends a mark the same way: a packet back to
 * himself. What he answered before the mark, and is not done when it comes
 * back, was dropped whole: it is answered again.
 *
 * Events can be lost. Then each peer that we have something with gets a mark: it
 * finds what was dropped or refused, which, answered again, is refused again and
 * makes another event; and that a peer is gone.
 */
#include <errno.h>

#include "internal.h"

/* A mark to where we answered: a packet back to us, behind all answers so far. */
static void mark_send(struct bgdma_endpoint *ep, uint32_t rank)
{
	const struct bgdma_ctx_info *info = bgdma_ctx_info(ep->ctx);
	struct bgdma_transfer t = bgdma__no_transfer();
	struct bgdma_desc desc;

	t.dest = info->rank;
	t.dest_ctx = info->ctx;
	t.dest_fifo = WAY_CONTROL;
	t.dispatch = (uint16_t)ep->mark_id;
	t.cookie = cookie_make(BGDMA_POINT_TO_POINT, ep->mark_id,
			       ep->answers & BGDMA_WORD_MASK);
	t.flags = BGDMA_DESC_FENCE;
	bgdma_desc_memfifo(&desc, &t);
	bgdma_desc_inline(&desc, NULL, 0);
	ep->peer[rank].mark_due = rget_send(ep, rank, RGQ_CTS, 0, &desc, 1) ==
				  -EAGAIN;
	ep->marks_due |= ep->peer[rank].mark_due;
}

/*
 * A chain may have lost any of its descriptors, or none. One that goes on has
 * ended after as many rounds of a probe as it has portions.
 */
static void probe_send(struct bgdma_endpoint *ep, struct request *r)
{
	r->probe_due = chain_probe(ep, r) == -EAGAIN;
	ep->marks_due |= r->probe_due;
}

int on_probe(void *arg, uint32_t rank, const struct bgdma_packet *packet)
{
	uint32_t token = token_origin(bgdma_packet_word(packet));
	struct bgdma_endpoint *ep = arg;
	struct request *r;

	/* What has arrived first. */
	rendezvous_progress(ep);
	r = request_of_origin(ep, token, rank);
	if (!r || !r->probes || r->forgotten)
		return 0;
	/* Some of the probes may have been lost as well. */
	if (++r->rounds > r->probes * (r->portions / r->chains + 2ULL))
		request_fail(ep, r, BGDMA_E_ABORTED, 0);
	else
		probe_send(ep, r);
	return 0;
}

void marks_progress(struct bgdma_endpoint *ep)
{
	struct request *r;
	uint32_t rank;

	ep->marks_due = false;
	for (r = ep->requests; r; r = r->next)
		if (r->probe_due && !r->forgotten)
			probe_send(ep, r);
	for (rank = 0; rank < ep->size; rank++) {
		stops_progress(ep, rank);
		if (ep->peer[rank].mark_due)
			mark_send(ep, rank);
	}
}

int on_mark(void *arg, uint32_t rank, const struct bgdma_packet *packet)
{
	struct bgdma_endpoint *ep = arg;
	uint64_t before = bgdma_packet_word(packet);
	struct request *r, *next;

	/* What has arrived first. */
	rendezvous_progress(ep);
	for (r = ep->requests; r; r = next) {
		next = r->next;
		if (!r->target || r->rank != rank || !r->begun || r->suspect ||
		    r->order >= before)
			continue;
		if (r->forgotten) {
			if (r->forgotten <= before)
				request_fail(ep, r, BGDMA_E_ABORTED, 0);
			continue;
		}
		if (r->portions > 1) {
			r->probes++;
			probe_send(ep, r);
			continue;
		}
		r->begun = false;
		r->answered = false;
		queue_add(&ep->unanswered, r);
	}
	stops_again(ep, rank);
	return 0;
}

/*
 * A probe finds nothing when the origin's side of a chain is over. All that told
 * of the end came before the refusal, but may not have been looked at: it has been
 * when a mark comes back that is sent now.
 */
static bool probe_refused(struct bgdma_endpoint *ep, struct request *r,
			  const struct bgdma_event *event)
{
	if (r->portions == 1 || event->cookie >> BGDMA_WORD_BITS)
		return false;
	if (!r->forgotten)
		r->forgotten = ++ep->answers;
	return true;
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
 * must have written nonsense over those that it was to fill in.
 */
static void chains_examine(struct bgdma_endpoint *ep, uint32_t rank,
			   uint32_t code)
{
	struct request *r, *next;
	uint32_t portion;

	for (r = ep->requests; r; r = next) {
		next = r->next;
		if (r->target || r->rank != rank || !r->chain)
			continue;
		portion = chain_damaged(ep, r);
		if (portion)
			request_fail(ep, r, code, portion);
	}
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
	bool probe;

	/* A counter, or the other side, may have told before. */
	r = request_find(ep, target ? token_target(word) : token_origin(word),
			 rank, target);
	probe = r && target && probe_refused(ep, r, event);
	if (event->type == BGDMA_EVENT_REFUSED)
		mark_send(ep, rank);
	if (probe)
		return;
	if (event->code == BGDMA_E_PEER_DOWN)
		refused_by_the_dead(ep, rank, r, event);
	else if (r)
		request_fail(ep, r, event->code, portion_of(r, event));
	else if (event->type == BGDMA_EVENT_REFUSED)
		chains_examine(ep, rank, event->code);
}

void rendezvous_missed(struct bgdma_endpoint *ep)
{
	const struct request *r;

	for (r = ep->requests; r; r = r->next) {
		ep->peer[r->rank].mark_due = true;
		ep->marks_due = true;
	}
}
