// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Messages that end before their time: each side tells the other by a cut, as
 * either may have heard of it alone.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../forget.h"
#include "internal.h"
#include "wire.h"

void portion_trouble(struct bgdma_endpoint *ep, const struct request *r)
{
	const struct bgdma_peer *peer = &ep->peer[r->rank].at;
	const struct bgdma_trouble_info info = {
		.trouble = BGDMA_TROUBLE_PORTION,
		.rank = r->rank,
		.node = peer->node,
		.ctx = peer->ctx,
		.code = r->code,
		.portion = r->portion_failed,
	};

	endpoint_trouble(ep, &info);
}

/*
 * Those who end many requests go through lists of them, which a callback could
 * change: so it is called later, before that of the request itself.
 */
void request_broken(struct bgdma_endpoint *ep, struct request *r, int result,
		    uint32_t code, uint32_t portion)
{
	if (!portion && r->portions > 1)
		portion = chain_reached(ep, r);
	r->code = code;
	r->portion_failed = portion;
	request_end(ep, r, result);
}

static int cut_send(struct bgdma_endpoint *ep, const struct request *r,
		    uint32_t code, uint32_t portion)
{
	const struct operation *op =
		operation_find(&ep->table[BGDMA_POINT_TO_POINT], ep->cut_id);
	const struct cut_wire wire = {
		.code = __cpu_to_le32(code),
		.portion = __cpu_to_le32(portion),
		.by_origin = __cpu_to_le32(!r->target),
		.serial = __cpu_to_le32(r->target ? r->rts.serial : r->serial),
	};
	const struct bgdma_send_attr send = {
		.word = r->target ? tokens_make(r->rts.token, r->token) :
				    tokens_make(r->token, 0),
		.data = &wire, .length = sizeof(wire),
	};

	return send_one(ep, op, &send, r->rank, 0);
}

/*
 * The partition is gone, as a rule, but what was under way may yet end with its piece;
 * if it is not, the other side waits.
 */
void requests_forget(struct bgdma_endpoint *ep, const void *arg)
{
	struct request *r, *next;

	for (r = ep->requests; r; r = next) {
		next = r->next;
		if (r->arg != arg)
			continue;
		(void)cut_send(ep, r, BGDMA_E_CANCELLED, 0);
		request_end(ep, r, -ENODEV);
	}
}

void request_suspect(struct bgdma_endpoint *ep, struct request *r,
		     uint32_t code, uint32_t portion, int64_t until)
{
	/* It can be in one queue. */
	request_unqueue(ep, r);
	if (!r->suspect)
		queue_add(&ep->suspects, r);
	r->suspect = true;
	r->suspect_until = until;
	r->code = code;
	r->portion_failed = portion;
	sleeper_wake(ep);
}

void request_fail(struct bgdma_endpoint *ep, struct request *r, uint32_t code,
		  uint32_t portion)
{
	peer_break(ep, r->rank, code);
	if (cut_send(ep, r, code, portion) == -EAGAIN) {
		request_suspect(ep, r, code, portion, 0);
		return;
	}
	request_broken(ep, r, code_result(code), code, portion);
}

/* Over links what failed is behind others that were sent after it, but for its event. */
struct request *request_told(struct bgdma_endpoint *ep, const struct request *r)
{
	uint32_t token = r->token, rank = r->rank;
	bool target = r->target;
	struct request *found;

	events_progress(ep);
	found = request_find(ep, token, rank, target);
	return found && !found->suspect ? found : NULL;
}

/* Those that have waited long enough, or for room. */
void suspects_progress(struct bgdma_endpoint *ep)
{
	int64_t now = sys_now_ns();
	struct request *r, *next;

	for (r = ep->suspects.first; r; r = next) {
		next = r->later;
		if (now >= r->suspect_until)
			request_fail(ep, r, r->code, r->portion_failed);
	}
}

int64_t suspects_next(const struct bgdma_endpoint *ep)
{
	int64_t first = INT64_MAX;
	const struct request *r;

	/* Of room a packet tells. */
	for (r = ep->suspects.first; r; r = r->later)
		if (r->suspect_until && r->suspect_until < first)
			first = r->suspect_until;
	return first;
}

int on_cut(void *arg, uint32_t rank, const struct bgdma_packet *packet)
{
	uint32_t origin = token_origin(bgdma_packet_word(packet));
	struct bgdma_endpoint *ep = arg;
	uint32_t code, portion;
	struct cut_wire wire;
	struct request *r;

	if (packet->bytes != sizeof(wire))
		return -EBADMSG;
	memcpy(&wire, bgdma_packet_data(packet), sizeof(wire));
	code = __le32_to_cpu(wire.code);
	portion = __le32_to_cpu(wire.portion);
	if (!code)
		return -EBADMSG;
	/* What has arrived first: it may be all there. */
	rendezvous_progress(ep);
	r = wire.by_origin ? request_of_origin(ep, origin, rank) :
			     request_find(ep, origin, rank, false);
	if (!r || __le32_to_cpu(wire.serial) !=
		  (r->target ? r->rts.serial : r->serial))
		return 0;
	/* Of a chain some may have moved. */
	r->declined = !r->target && code == BGDMA_E_CANCELLED &&
		      r->portions == 1;
	request_broken(ep, r, code_result(code), code,
		       r->portions > 1 && portion <= r->portions ? portion : 0);
	return 0;
}

#define STOPS_BUDGET	16	/* answers to one peer in one progress */

/* ---- Cancelling -------------------------------------------------------- */

/*
 * The target alone knows whether it has accepted, so it decides. A chain is
 * stopped by what it still has to fetch, and ends in its own way, earlier: no
 * engine refuses anything, and no other message is hurt.
 */

static int stop_send(struct bgdma_endpoint *ep, const struct request *r)
{
	const struct operation *op =
		operation_find(&ep->table[BGDMA_POINT_TO_POINT], ep->stop_id);
	const struct stop_wire wire = { .serial = __cpu_to_le32(r->serial) };
	const struct bgdma_send_attr send = {
		.word = tokens_make(r->token, 0),
		.data = &wire, .length = sizeof(wire),
	};

	return send_one(ep, op, &send, r->rank, 0);
}

/*
 * The answer for a message that is not here: it was not accepted, or is over.
 * It goes the way of a CTS, behind all that told of the end, and is fenced.
 */
static int stop_answer(struct bgdma_endpoint *ep, uint32_t rank,
		       uint32_t serial, uint32_t token)
{
	const struct cut_wire wire = {
		.code = __cpu_to_le32(BGDMA_E_CANCELLED),
		.serial = __cpu_to_le32(serial),
	};
	struct bgdma_transfer t = bgdma__no_transfer();
	struct bgdma_desc desc;

	t.dest_fifo = WAY_CONTROL;
	t.dispatch = (uint16_t)ep->cut_id;
	t.cookie = cookie_make(BGDMA_POINT_TO_POINT, ep->cut_id,
			       tokens_make(token, 0));
	t.length = sizeof(wire);
	t.flags = BGDMA_DESC_FENCE;
	bgdma_desc_local_memfifo(&desc, &t);
	bgdma_desc_inline(&desc, &wire, sizeof(wire));
	return rget_send(ep, rank, RGQ_CTS, 0, &desc, 1);
}

/* Some, so that a peer that asked for thousands keeps nobody waiting. */
unsigned int stops_progress(struct bgdma_endpoint *ep, uint32_t rank)
{
	struct peer *peer = &ep->peer[rank];
	unsigned int n = 0;
	struct stop *s;

	while ((s = peer->stops_due)) {
		if (n == STOPS_BUDGET ||
		    stop_answer(ep, rank, s->told, s->token) == -EAGAIN) {
			ep->marks_due = true;
			return n;
		}
		peer->stops_due = s->next_due;
		s->due = false;
		n++;
	}
	if (peer->stops_again)
		stops_again(ep, rank);
	return n;
}

static void stop_due(struct peer *peer, struct stop *s)
{
	if (s->due)
		return;
	s->due = true;
	s->next_due = peer->stops_due;
	peer->stops_due = s;
}

/*
 * There is no room for an answer, and none to remember that it is due. The other
 * side is told nothing, but ours is, and the message can still be accepted.
 */
static void stop_lost(struct bgdma_endpoint *ep, uint32_t rank)
{
	const struct bgdma_trouble_info info = {
		.trouble = BGDMA_TROUBLE_LOST,
		.rank = rank,
		.node = ep->peer[rank].at.node,
		.ctx = ep->peer[rank].at.ctx,
		.operation = ep->cut_id,
		.code = BGDMA_E_CANCELLED,
	};

	endpoint_trouble(ep, &info);
}

/*
 * Remember it, if there is memory, and answer. A peer that keeps to what it can
 * have announced has a place for each: see STOPS.
 */
static void stop_add(struct bgdma_endpoint *ep, uint32_t rank, uint32_t serial,
		     uint32_t token)
{
	struct peer *peer = &ep->peer[rank];
	struct stop *s;

	if (!peer->stops)
		peer->stops = calloc(STOPS, sizeof(*peer->stops));
	if (!peer->stops) {
		if (stop_answer(ep, rank, serial, token) == -EAGAIN)
			stop_lost(ep, rank);
		return;
	}
	s = &peer->stops[serial % STOPS];
	/* The origin of the one before has to be told first. */
	if (s->due && s->told != serial &&
	    stop_answer(ep, rank, s->told, s->token) == -EAGAIN) {
		stop_lost(ep, rank);
		return;
	}
	if (s->serial && s->serial != serial &&
	    (!s->lost || (int32_t)(s->serial - s->lost) > 0))
		s->lost = s->serial;
	s->serial = serial;
	s->told = serial;
	s->token = token;
	stop_due(peer, s);
	(void)stops_progress(ep, rank);
}

void stops_again(struct bgdma_endpoint *ep, uint32_t rank)
{
	struct peer *peer = &ep->peer[rank];
	struct stop *s;

	/* Those that are answered now go on; then all once more. */
	peer->stops_again = peer->stops_due;
	if (peer->stops_again)
		return;
	for (s = peer->stops; s && s < peer->stops + STOPS; s++)
		if (s->told)
			stop_due(peer, s);
	if (peer->stops_due)
		ep->marks_due = true;
}

/*
 * Serials wrap. What is far behind one that is asked for is about a message that is
 * long over, and must not be there for the next of its number; what is as far ahead
 * is not.
 */
static void stop_forget(struct stop *s, uint32_t serial)
{
	if (serial - s->serial - STOPS_OLD < STOPS_OLD)
		s->serial = 0;
	if (serial - s->lost - STOPS_OLD < STOPS_OLD)
		s->lost = 0;
}

bool stop_asked(struct bgdma_endpoint *ep, struct request *r)
{
	struct stop *s = ep->peer[r->rank].stops;
	uint32_t serial = r->rts.serial;

	if (bgdma_likely(!s))
		return false;
	s += serial % STOPS;
	stop_forget(s, serial);
	if (s->serial == serial) {
		s->serial = 0;
		request_end(ep, r, -ECANCELED);
		return true;
	}
	if (!s->lost || s->lost - serial >= STOPS_LOST)
		return false;
	/* If not, its origin is told now. */
	request_fail(ep, r, BGDMA_E_CANCELLED, 0);
	return true;
}

/*
 * Target: one that was not answered ends, a chain soon, others on their own. That
 * O's are filled in, from memory that ends with the request, is a beginning.
 */
static void request_stop(struct bgdma_endpoint *ep, struct request *r)
{
	if (!r->begun && !r->filled) {
		request_fail(ep, r, BGDMA_E_CANCELLED, 0);
	} else if (r->portions > 1 && !r->halted) {
		r->halted = true;
		chain_stop(r);
	}
}

int on_stop(void *arg, uint32_t rank, const struct bgdma_packet *packet)
{
	uint32_t token = token_origin(bgdma_packet_word(packet)), serial;
	struct bgdma_endpoint *ep = arg;
	struct stop_wire wire;
	struct request *r;

	if (packet->bytes != sizeof(wire))
		return -EBADMSG;
	memcpy(&wire, bgdma_packet_data(packet), sizeof(wire));
	serial = __le32_to_cpu(wire.serial);
	if (!serial)
		return -EBADMSG;
	r = request_of_origin(ep, token, rank);
	if (r && r->rts.serial == serial)
		request_stop(ep, r);
	else
		stop_add(ep, rank, serial, token);
	return 0;
}

int bgdma_rendezvous_cancel(struct bgdma_endpoint *ep, uint32_t id)
{
	struct request *r;
	int ret = 0;

	if (ep->state != STATE_COMMITTED)
		return -ENOTCONN;
	endpoint_lock(ep);
	r = request_of(ep, id);
	if (!r)
		ret = -ENOENT;
	else if (r->target)
		request_stop(ep, r);
	else
		ret = stop_send(ep, r);
	endpoint_unlock(ep);
	return ret == -EHOSTDOWN ? 0 : ret;
}
