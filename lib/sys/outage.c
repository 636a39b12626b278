// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Connections that are broken. Where there was no way to a process for longer than a
 * link's time-out, what was sent to it is lost, and nobody sends it again: who waits
 * for it there would do so for ever. So both ends break with each other, for good, and
 * modules take it as they take a death. Who notices tells the other end by a word,
 * which may be lost, too: then it is said again, until it has arrived, or there is
 * nobody any more to hear it. Words have a FIFO of their own, so that nothing is
 * behind one that waits for a way.
 */
#include <errno.h>

#include "internal.h"

#define AGAIN_NS	100000000LL	/* between two attempts, at least */

int words_create(struct bgdma_endpoint *ep)
{
	const struct bgdma_inj_attr attr = { .entries = WORDS };

	return bgdma_inj_create(ep->ctx, &attr, &ep->words.fifo);
}

static void word_due(struct bgdma_endpoint *ep, uint32_t rank)
{
	struct peer *peer = &ep->peer[rank];

	if (peer->word_vain)
		return;
	ep->words.due += !peer->word_due;
	peer->word_due = true;
}

void peer_break(struct bgdma_endpoint *ep, uint32_t rank, uint32_t code)
{
	if (rank == ep->rank || ep->peer[rank].down || !code_is_outage(code))
		return;
	endpoint_peer_end(ep, rank, code);
	word_due(ep, rank);
}

void peer_lose(struct bgdma_endpoint *ep, uint32_t rank)
{
	if (ep->peer[rank].down)
		return;
	endpoint_peer_down(ep, rank);
	ep->peer[rank].unsure = true;
	word_due(ep, rank);
}

int on_word(void *arg, uint32_t rank, const struct bgdma_packet *packet)
{
	uint64_t code = bgdma_packet_word(packet);
	struct bgdma_endpoint *ep = arg;

	if (packet->bytes || rank == ep->rank || code > UINT32_MAX ||
	    !code_is_outage((uint32_t)code))
		return -EBADMSG;
	endpoint_peer_end(ep, rank, (uint32_t)code);
	return 0;
}

/*
 * Of a message to many the record has the last of them, and no context; which one did
 * not answer is there too, but where there was no way.
 */
static bool is_missed(const struct bgdma_record *why,
		      const struct bgdma_peer *at)
{
	if (why->peer_ctx != BGDMA_CTX_ANY)
		return at->node == why->peer_rank && at->ctx == why->peer_ctx;
	return why->code == BGDMA_E_TIMEOUT && at->node == why->offset;
}

bool peers_break(struct bgdma_endpoint *ep, const struct bgdma_record *why)
{
	bool any = false;
	uint32_t rank;

	for (rank = 0; rank < ep->size; rank++) {
		if (!is_missed(why, &ep->peer[rank].at))
			continue;
		if (code_is_death(why->code) && rank != ep->rank)
			endpoint_peer_down(ep, rank);
		else
			peer_break(ep, rank, why->code);
		any |= ep->peer[rank].down;
	}
	return any;
}

bool bgdma_endpoint_break(struct bgdma_endpoint *ep,
			  const struct bgdma_record *why)
{
	bool any;

	if (ep->state != STATE_COMMITTED ||
	    !(code_is_outage(why->code) || code_is_death(why->code)))
		return false;
	endpoint_lock(ep);
	any = peers_break(ep, why);
	bgdma_endpoint_wake(ep);
	endpoint_unlock(ep);
	return any;
}

/* ---- Words ------------------------------------------------------------- */

/* Of each that failed there is an event, or a record, or both. */
void word_failed(struct bgdma_endpoint *ep, uint64_t seq, uint32_t code)
{
	struct word *word = &ep->words.slot[seq % WORDS];

	if (!word->told && code_is_outage(code))
		word_due(ep, word->rank);
	word->told = true;
}

void word_drop(struct bgdma_endpoint *ep, uint32_t rank)
{
	struct peer *peer = &ep->peer[rank];

	ep->words.due -= peer->word_due;
	peer->word_due = false;
	peer->word_vain = true;
}

static unsigned int words_repair(struct bgdma_endpoint *ep)
{
	struct bgdma_inj_fifo *fifo = ep->words.fifo;
	struct bgdma_record record;
	unsigned int n = 0;

	while (bgdma_inj_state(fifo) == BGDMA_FIFO_ERROR &&
	       bgdma_inj_error(fifo, &record)) {
		word_failed(ep, record.desc_seq, record.code);
		if (bgdma_inj_clear_error(fifo, 0))
			break;
		n++;
	}
	return n;
}

/*
 * See of how many it is known what became of them: their events were there before they
 * were seen to have ended. If some were lost, any may have failed, and is said again.
 */
static void words_look(struct bgdma_endpoint *ep)
{
	const struct bgdma_ctx_view *view = bgdma_ctx_view(ep->ctx);
	uint64_t read = bgdma_load_relaxed(&view->user->events_head);
	struct words *w = &ep->words;
	const struct word *word;
	uint64_t lost;

	while (read >= w->events &&
	       bgdma_inj_state(w->fifo) != BGDMA_FIFO_ERROR) {
		/* Not before they were seen to have ended. */
		lost = bgdma_events_lost(ep->ctx);
		for (; w->over < w->ended; w->over++) {
			word = &w->slot[w->over % WORDS];
			if (!word->told && word->lost != lost)
				word_due(ep, word->rank);
		}
		if (w->ended == bgdma_inj_done(w->fifo))
			break;
		w->ended = bgdma_inj_done(w->fifo);
		w->events = bgdma_load_relaxed(&view->kern->events_tail);
	}
}

static bool word_send(struct bgdma_endpoint *ep, struct peer *peer)
{
	uint64_t next = bgdma_inj_next(ep->words.fifo);
	struct bgdma_transfer t = bgdma__no_transfer();
	struct bgdma_desc *desc;

	/* Of the dead there may be many, and each waits for a time-out. */
	desc = next - ep->words.over < (peer->unsure ? WORDS / 2 : WORDS) ?
	       bgdma_inj_reserve(ep->words.fifo) : NULL;
	if (!desc)
		return false;
	ep->words.slot[next % WORDS] = (struct word){
		.rank = (uint32_t)(peer - ep->peer),
		.lost = bgdma_events_lost(ep->ctx),
	};
	t.dest = peer->at.node;
	t.dest_ctx = peer->at.ctx;
	t.dest_fifo = WAY_CONTROL;
	t.dispatch = (uint16_t)ep->word_id;
	t.cookie = cookie_make(BGDMA_POINT_TO_POINT, ep->word_id,
			       peer->unsure ? BGDMA_E_TIMEOUT : peer->why);
	bgdma_desc_memfifo(desc, &t);
	bgdma_desc_inline(desc, NULL, 0);
	return true;
}

static void word_over(struct words *w, struct peer *peer)
{
	w->due -= peer->word_due;
	peer->word_due = false;
	/* Mostly it is dead: once is enough. */
	peer->word_vain |= peer->unsure;
}

/* To as many as there is room for, in turn: some may be out of reach for long. */
static void words_send(struct bgdma_endpoint *ep)
{
	struct words *w = &ep->words;
	struct peer *peer;
	uint32_t i;

	for (i = 0; i < ep->size && w->due; i++) {
		peer = &ep->peer[w->first];
		if (!peer->word_due || word_send(ep, peer))
			word_over(w, peer);
		else if (!peer->unsure)
			break;
		w->first = (w->first + 1) % ep->size;
	}
	(void)bgdma_inj_submit(w->fifo);
}

bool words_out(const struct bgdma_endpoint *ep)
{
	return ep->words.over < bgdma_inj_next(ep->words.fifo);
}

unsigned int words_progress(struct bgdma_endpoint *ep)
{
	unsigned int n = words_repair(ep);
	int64_t now = sys_now_ns();

	words_look(ep);
	if (!ep->words.due || now < ep->words.next)
		return n;
	ep->words.next = now + AGAIN_NS;
	words_send(ep);
	return n;
}

int64_t words_next(const struct bgdma_endpoint *ep)
{
	return ep->words.due ? ep->words.next : INT64_MAX;
}
