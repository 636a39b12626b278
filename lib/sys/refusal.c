// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Descriptors that were refused. An engine that refuses one drops what the same
 * sender has waiting behind it, which may belong to other messages. So who
 * hears that one of his was refused sends a mark the same way: a packet back to
 * himself. What he answered before the mark, and is not done when it comes
 * back, was dropped whole: it is answered again.
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
	ep->peer[rank].mark_due = rget_send(ep, rank, RGQ_ID, 0, &desc, 1) ==
				  -EAGAIN;
	ep->marks_due |= ep->peer[rank].mark_due;
}

void marks_progress(struct bgdma_endpoint *ep)
{
	uint32_t rank;

	if (!ep->marks_due)
		return;
	ep->marks_due = false;
	for (rank = 0; rank < ep->size; rank++)
		if (ep->peer[rank].mark_due)
			mark_send(ep, rank);
}

/*
 * A chain may have lost any of its descriptors, or none: nobody can tell. It is
 * given up on both sides.
 */
static void chain_cut(struct bgdma_endpoint *ep, struct request *r)
{
	const struct bgdma_send_attr send = {
		.word = tokens_make(r->rts.token, r->token),
	};
	const struct operation *op;

	op = operation_find(&ep->table[BGDMA_POINT_TO_POINT], ep->cut_id);
	if (send_one(ep, op, &send, r->rank, 0) == -EAGAIN) {
		mark_send(ep, r->rank);
		return;
	}
	request_end(ep, r, -EIO);
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
		if (!r->target || r->rank != rank || !r->answered ||
		    r->order >= before)
			continue;
		if (r->portions > 1) {
			chain_cut(ep, r);
			continue;
		}
		r->answered = false;
		queue_add(&ep->unanswered, r);
	}
	return 0;
}

/* SP-3a: which portion it was. */
static void portion_trouble(struct bgdma_endpoint *ep, const struct request *r,
			    const struct bgdma_event *event)
{
	struct bgdma_trouble_info info = {
		.trouble = BGDMA_TROUBLE_PORTION,
		.rank = r->rank,
		.node = event->peer_rank,
		.ctx = event->peer_ctx,
		.code = event->code,
		.portion = (uint32_t)(event->cookie >> BGDMA_WORD_BITS) &
			   BGDMA_PORTIONS_MAX,
	};

	/* The packets at the end have an identifier there. */
	if (!info.portion || info.portion > r->portions)
		info.portion = r->portions;
	endpoint_trouble(ep, &info);
}

void rendezvous_refused(struct bgdma_endpoint *ep, uint32_t rank,
			const struct bgdma_event *event)
{
	/* All but the origin's part of a chain comes from the target. */
	bool target = (event->type == BGDMA_EVENT_REFUSED) ==
		      !(event->cookie & COOKIE_ORIGIN);
	uint64_t word = event->cookie & BGDMA_WORD_MASK;
	struct request *r;

	if (event->type == BGDMA_EVENT_REFUSED)
		mark_send(ep, rank);
	/* A counter may have told before. */
	r = request_find(ep, target ? token_target(word) : token_origin(word),
			 rank, target);
	if (!r)
		return;
	if (r->portions > 1)
		portion_trouble(ep, r, event);
	request_end(ep, r, bgdma_code_errno(event->code));
}
