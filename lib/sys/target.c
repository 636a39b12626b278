// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The target's side of a rendezvous: what it answers, and what comes.
 */
#include <errno.h>
#include <string.h>

#include "internal.h"
#include "wire.h"

/* Bytes that a shared message keeps for its tail. */
#define TAIL_BYTES	16

/* ---- The descriptors of a CTS ------------------------------------------ */

struct bgdma_transfer cts_transfer(const struct bgdma_endpoint *ep,
				   const struct request *r)
{
	const struct bgdma_ctx_info *info = bgdma_ctx_info(ep->ctx);
	struct bgdma_transfer t = bgdma__no_transfer();

	t.dest = info->rank;
	t.dest_ctx = info->ctx;
	t.counter = r->rts.counter;
	t.remote_counter = r->handle;
	t.cookie = tokens_make(r->rts.token, r->token);
	return t;
}

unsigned int cts_puts(const struct bgdma_endpoint *ep, const struct request *r,
		      uint64_t at, uint64_t bytes, uint32_t portion,
		      struct bgdma_desc *desc)
{
	struct bgdma_transfer t = cts_transfer(ep, r);
	uint64_t end = at + bytes;
	unsigned int n = 0;

	t.cookie |= cookie_portion(portion);
	t.route = r->rts.flags & RTS_ORDERED ? 0 : BGDMA_ROUTE_ADAPTIVE;
	for (; at < end; at += t.length) {
		t.length = end - at > BGDMA_LENGTH_MAX ?
			   BGDMA_LENGTH_MAX : (uint32_t)(end - at);
		t.from.region = r->rts.region;
		t.from.offset = r->rts.offset + at;
		t.to.region = r->to.region;
		t.to.offset = r->to.offset + at;
		bgdma_desc_put(&desc[n++], &t);
	}
	return n;
}

/* The last bytes. */
static void cts_tail(const struct bgdma_endpoint *ep, const struct request *r,
		     struct bgdma_desc *desc)
{
	const struct tail_wire wire = { 0 };
	struct bgdma_transfer t = cts_transfer(ep, r);

	t.dest_fifo = WAY_CONTROL;
	t.dispatch = (uint16_t)ep->tail_id;
	t.cookie = cookie_make(BGDMA_POINT_TO_POINT, ep->tail_id, t.cookie);
	t.flags = BGDMA_DESC_FENCE;
	/* They were not added to it. */
	t.remote_counter = 0;
	if (r->portions > 1) {
		t.counter = 0;
		t.length = sizeof(wire);
		bgdma_desc_memfifo(desc, &t);
		bgdma_desc_inline(desc, &wire, sizeof(wire));
		return;
	}
	t.length = (uint32_t)(r->bytes - r->put);
	t.from.region = r->rts.region;
	t.from.offset = r->rts.offset + r->put;
	bgdma_desc_memfifo(desc, &t);
}

static void cts_took(const struct bgdma_endpoint *ep, const struct request *r,
		     struct bgdma_desc *desc)
{
	struct bgdma_transfer t = bgdma__no_transfer();
	const struct took_wire wire = {
		.bytes = __cpu_to_le64(r->bytes),
		.chains = __cpu_to_le32(r->chains),
	};

	t.dest_fifo = r->rts.fifo;
	t.dispatch = (uint16_t)ep->took_id;
	t.cookie = cookie_make(BGDMA_POINT_TO_POINT, ep->took_id,
			       tokens_make(r->rts.token, r->token));
	t.length = sizeof(wire);
	t.flags = BGDMA_DESC_FENCE;
	bgdma_desc_local_memfifo(desc, &t);
	bgdma_desc_inline(desc, &wire, sizeof(wire));
}

unsigned int cts_end(const struct bgdma_endpoint *ep, const struct request *r,
		     struct bgdma_desc *desc)
{
	unsigned int n = 0;

	if (r->handle && !r->exclusive)
		cts_tail(ep, r, &desc[n++]);
	if (r->rts.flags & RTS_SHARED || r->bytes < r->announced ||
	    r->rts.portions > 1)
		cts_took(ep, r, &desc[n++]);
	return n;
}

/* ---- Sending it -------------------------------------------------------- */

int rget_send(struct bgdma_endpoint *ep, uint32_t rank, uint16_t queue,
	      uint32_t token, const struct bgdma_desc *desc, unsigned int n)
{
	struct channel *ch = channel_of(ep, WAY_CONTROL, rank);
	const struct sent what = { .rank = rank, .token = token };
	struct bgdma_transfer t = bgdma__no_transfer();
	struct bgdma_desc *slot;
	char *copy;

	slot = channel_take(ep, ch, n * sizeof(*desc), &what, &t, &copy);
	if (!slot)
		return -EAGAIN;
	memcpy(copy, desc, n * sizeof(*desc));
	t.dest = ep->peer[rank].at.node;
	t.dest_ctx = ep->peer[rank].at.ctx;
	t.dest_fifo = queue;
	t.length = n * (uint32_t)sizeof(*desc);
	t.cookie = token & TOKEN_MASK;
	bgdma_desc_rget(slot, &t);
	return channel_submit(ep, ch);
}

void answer_begun(struct bgdma_endpoint *ep, struct request *r)
{
	if (!r->begun)
		r->order = ep->answers++;
	r->begun = true;
}

/* From now on they are among those of its origin. */
static void chains_count(struct peer *peer, struct request *r)
{
	r->counted = true;
	peer->chains += r->chains;
	r->chain_next = peer->chain_first;
	peer->chain_first = r;
}

static void chains_forget(struct peer *peer, struct request *r)
{
	struct request **at = &peer->chain_first;

	while (*at != r)
		at = &(*at)->chain_next;
	*at = r->chain_next;
	r->counted = false;
	peer->chains -= r->chains;
}

static bool chains_fit(const struct peer *peer, const struct request *r)
{
	return peer->chains + r->chains <= CHAINS_MAX;
}

bool chains_begin(struct bgdma_endpoint *ep, struct request *r)
{
	struct peer *peer = &ep->peer[r->rank];

	if (r->counted)
		return true;
	/* Nor before one that waits, or those of few chains could go on for ever. */
	r->parked = peer->parked || !chains_fit(peer, r);
	if (r->parked) {
		peer->parked++;
		queue_add(&ep->parked, r);
		return false;
	}
	chains_count(peer, r);
	return true;
}

void chains_unpark(struct bgdma_endpoint *ep, struct request *r)
{
	queue_remove(&ep->parked, r);
	ep->peer[r->rank].parked--;
	r->parked = false;
}

void chains_end(struct bgdma_endpoint *ep, struct request *r)
{
	struct peer *peer = &ep->peer[r->rank];
	struct request *next, *p;

	/* One that was parked makes room for those behind it, too. */
	if (r->portions == 1 || (!r->counted && !peer->parked))
		return;
	if (r->counted)
		chains_forget(peer, r);
	for (p = ep->parked.first; p; p = next) {
		next = p->later;
		if (p->rank != r->rank)
			continue;
		/* In their order: the others only if the first fits. */
		if (!chains_fit(peer, p))
			break;
		chains_unpark(ep, p);
		chains_count(peer, p);
		unanswered_add(ep, p);
	}
}

/*
 * The took of a message of which nothing moves, and which is over: not in a CTS,
 * which another's refusal could take along.
 */
static int refusal_send(struct bgdma_endpoint *ep, const struct request *r)
{
	const struct operation *op =
		operation_find(&ep->table[BGDMA_POINT_TO_POINT], ep->took_id);
	const struct took_wire wire = {
		.refused = __cpu_to_le32(1), .chains = __cpu_to_le32(1),
	};
	const struct bgdma_send_attr send = {
		.word = tokens_make(r->rts.token, r->token),
		.data = &wire, .length = sizeof(wire),
	};

	return send_one(ep, op, &send, r->rank, 0);
}

/* 0: it is on its way, or parked. */
static int cts_send(struct bgdma_endpoint *ep, struct request *r)
{
	struct bgdma_desc desc[BGDMA_RGET_DESC_MAX];
	unsigned int n;
	int ret;

	if (!r->bytes) {
		ret = refusal_send(ep, r);
		if (ret)
			return ret;
		/* It is in no queue: nobody is to look through one for it. */
		r->answered = true;
		request_end(ep, r, 0);
		return 0;
	}
	if (r->portions > 1) {
		if (!chains_begin(ep, r))
			return 0;
		ret = chain_send(ep, r);
	} else {
		n = cts_puts(ep, r, 0, r->put, 1, desc);
		n += cts_end(ep, r, desc + n);
		ret = rget_send(ep, r->rank, r->rts.queue,
				r->token | SENT_TARGET, desc, n);
	}
	if (ret)
		return ret;
	answer_begun(ep, r);
	r->answered = true;
	return 0;
}

/*
 * One queue for each channel: those to a peer that takes nothing hold up only those
 * that would have to go the same way.
 */
static struct queue *unanswered_queue(struct bgdma_endpoint *ep,
				      const struct request *r)
{
	return &channel_of(ep, WAY_CONTROL, r->rank)->unanswered;
}

void unanswered_add(struct bgdma_endpoint *ep, struct request *r)
{
	queue_add(unanswered_queue(ep, r), r);
	ep->unanswered++;
}

void unanswered_remove(struct bgdma_endpoint *ep, struct request *r)
{
	ep->unanswered -= queue_remove(unanswered_queue(ep, r), r);
}

/* In the order of the accepts. */
static void cts_queue(struct bgdma_endpoint *ep, struct request *r)
{
	if (unanswered_queue(ep, r)->first || cts_send(ep, r))
		unanswered_add(ep, r);
}

static unsigned int queue_progress(struct bgdma_endpoint *ep,
				   struct queue *queue)
{
	unsigned int n = 0;
	struct request *r;

	while ((r = queue_take(queue))) {
		ep->unanswered--;
		if (cts_send(ep, r)) {
			queue_add_first(queue, r);
			ep->unanswered++;
			break;
		}
		n++;
	}
	return n;
}

unsigned int unanswered_progress(struct bgdma_endpoint *ep)
{
	unsigned int n = 0;
	uint32_t i;

	for (i = 0; ep->unanswered && i < channels_count(ep); i++)
		n += queue_progress(ep, &ep->channel[i].unanswered);
	return n;
}

/* ---- Accepting --------------------------------------------------------- */

static bool place_holds(const struct bgdma_place *place, uint64_t bytes)
{
	uint64_t length = bgdma_region_length(place->region);

	return place->offset <= length && bytes <= length - place->offset;
}

/* Where it goes. */
static int accept_place(struct bgdma_endpoint *ep, struct request *r,
			const struct bgdma_accept_attr *a)
{
	int ret;

	if (!a->data) {
		/* We write there, too. */
		if (!place_holds(&a->to, r->bytes))
			return -EINVAL;
		r->to = bgdma__place_at(&a->to);
		r->addr = (char *)bgdma_region_addr(a->to.region) +
			  a->to.offset;
		return 0;
	}
	r->addr = a->data;
	/* Packets are copied by us. */
	if (r->packets && !r->put)
		return 0;
	ret = memory_register(ep, r, a->data, r->bytes, BGDMA_LOCAL_WRITE,
			      BGDMA_RIGHT_WRITE);
	if (!ret)
		r->to.region = bgdma_region_handle(r->region);
	return ret;
}

/*
 * By what it is known that all is there: of puts a counter of its own, or a tail,
 * which in one piece is the last bytes; of packets how many bytes have come.
 */
static void accept_counter(struct bgdma_endpoint *ep, struct request *r)
{
	struct pool *pool = &ep->pool[BGDMA_RECEPTION];

	if (r->packets && !r->put)
		return;
	r->handle = pool_take(ep, pool, r, &ep->peer[r->rank].at);
	if (!r->exclusive && r->portions == 1)
		r->put -= r->bytes < TAIL_BYTES ? r->bytes : TAIL_BYTES;
	bgdma_counter_add(pool_counter(pool, r), (int64_t)r->put);
}

static int accept_prepare(struct bgdma_endpoint *ep, struct request *r,
			  const struct bgdma_accept_attr *a)
{
	int ret = 0;

	/* Refused: only the origin is told. */
	if (!r->bytes)
		return 0;
	r->put = r->bytes;
	if (r->rts.portions > 1)
		chain_divide(r);
	if (r->portions > 1)
		ret = chain_ways(ep, r, a);
	if (!ret)
		ret = accept_place(ep, r, a);
	if (ret)
		return ret;
	accept_counter(ep, r);
	ret = r->portions > 1 ? chain_prepare(ep, r) : 0;
	if (ret && r->handle)
		bgdma_counter_add(pool_counter(&ep->pool[BGDMA_RECEPTION], r),
				  -(int64_t)r->put);
	return ret;
}

static int accept_start(struct bgdma_endpoint *ep, const struct bgdma_rts *rts,
			const struct bgdma_accept_attr *a)
{
	struct request *r;
	int ret;

	if (rts->rank >= ep->size)
		return -EINVAL;
	if (ep->peer[rts->rank].down)
		return -EHOSTDOWN;
	r = request_new(ep, rts->rank, true, a->done, a->arg);
	if (!r)
		return -ENOMEM;
	r->rts = *rts;
	request_name(ep, r);
	r->announced = rts->length;
	r->bytes = a->length < rts->length ? a->length : rts->length;
	r->portions = 1;
	r->chains = 1;
	ret = accept_prepare(ep, r, a);
	if (ret) {
		request_undo(ep, r);
		return ret;
	}
	if (a->id)
		*a->id = r->token;
	if (!stop_asked(ep, r))
		cts_queue(ep, r);
	return 0;
}

int bgdma_rendezvous_accept_sized(struct bgdma_endpoint *ep,
				  const struct bgdma_rts *rts,
				  const struct bgdma_accept_attr *attr,
				  size_t size)
{
	struct bgdma_accept_attr a;
	int ret;

	ret = attr_copy(&a, sizeof(a), attr, size);
	if (ret)
		return ret;
	if (ep->state != STATE_COMMITTED)
		return -ENOTCONN;
	if (!a.length || (!a.data && !a.to.region))
		return -EINVAL;
	endpoint_lock(ep);
	ret = accept_start(ep, rts, &a);
	endpoint_unlock(ep);
	return ret;
}

int bgdma_rendezvous_refuse(struct bgdma_endpoint *ep,
			    const struct bgdma_rts *rts)
{
	const struct bgdma_accept_attr nothing = { 0 };
	int ret;

	if (ep->state != STATE_COMMITTED)
		return -ENOTCONN;
	endpoint_lock(ep);
	ret = accept_start(ep, rts, &nothing);
	endpoint_unlock(ep);
	return ret;
}

/* ---- What comes -------------------------------------------------------- */

/* All that puts bring is there. */
static void puts_there(struct bgdma_endpoint *ep, struct request *r)
{
	if (pieces_there(r))
		request_end(ep, r, 0);
	else
		r->zero = true;
}

/* A chain has ended, of a message without a counter of its own. */
static int chain_tail(struct bgdma_endpoint *ep, struct request *r,
		      const struct bgdma_packet *packet)
{
	struct tail_wire wire;

	if (packet->bytes != sizeof(wire))
		return -EBADMSG;
	memcpy(&wire, bgdma_packet_data(packet), sizeof(wire));
	r->stopped |= wire.stopped != 0;
	/* Of one that was stopped the origin tells. */
	if (++r->ends < r->chains || r->stopped)
		return 0;
	r = request_told(ep, r);
	if (r)
		puts_there(ep, r);
	return 0;
}

/* The last bytes of a message without a counter of its own. */
int on_tail(void *arg, uint32_t rank, const struct bgdma_packet *packet)
{
	struct bgdma_endpoint *ep = arg;
	uint64_t word = bgdma_packet_word(packet);
	struct request *r = request_find(ep, token_target(word), rank, true);

	/* It was given up meanwhile. */
	if (!r || r->rts.token != token_origin(word))
		return 0;
	if (r->exclusive || !r->handle)
		return -EBADMSG;
	if (r->portions > 1)
		return chain_tail(ep, r, packet);
	if (packet->bytes != r->bytes - r->put)
		return -EBADMSG;
	r = request_told(ep, r);
	if (!r)
		return 0;
	memcpy(r->addr + r->put, bgdma_packet_data(packet), packet->bytes);
	request_end(ep, r, 0);
	return 0;
}

/* A packet of a portion, of a message that crosses in packets (SP-5). */
int on_piece(void *arg, uint32_t rank, const struct bgdma_packet *packet)
{
	struct bgdma_endpoint *ep = arg;
	uint64_t word = bgdma_packet_word(packet), at;
	struct request *r = request_find(ep, token_target(word), rank, true);
	uint32_t portion = piece_portion(word);
	char *to;

	if (!r)
		return 0;
	if (!portion || portion > r->portions || !portion_in_packets(r, portion))
		return -EBADMSG;
	if (packet->flags & BGDMA_PACKET_ERROR) {
		request_fail(ep, r, BGDMA_E_ABORTED, portion);
		return 0;
	}
	at = (portion - 1) * r->portion + packet->offset;
	if (at > r->bytes || packet->bytes > r->bytes - at)
		return -EBADMSG;
	to = r->by_copy ? bgdma_region_addr(r->region) : r->addr;
	memcpy(to + at, bgdma_packet_data(packet), packet->bytes);
	r->copied += packet->bytes;
	if (pieces_there(r) && (r->zero || !r->put))
		request_end(ep, r, 0);
	return 0;
}
