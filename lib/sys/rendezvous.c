// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Rendezvous (LC-1 to LC-6). The origin announces a message by an RTS; the
 * target answers by a CTS, a remote get of these, in this order:
 *
 *	a put for each GiB of the message
 *	tail	if the target's counter is shared: the last bytes as a packet,
 *		fenced, so that it says that all the others are there
 *	took	if the origin's counter is shared, or not all was taken: a
 *		packet from the origin's engine to its core, fenced
 *
 * With counters of their own, and the whole message taken, nothing but the
 * puts is left, and each side's counter reaches zero once.
 */
#include <errno.h>
#include <string.h>

#include "internal.h"
#include "wire.h"

/* ---- Memory ------------------------------------------------------------ */

int request_grant(struct bgdma_endpoint *ep, const struct request *r,
		  struct bgdma_region *region, uint32_t rights)
{
	const struct bgdma_peer *peer = &ep->peer[r->rank].at;
	const struct bgdma_grant_attr grant = {
		.rank = peer->node, .ctx = peer->ctx,
		.incarnation = peer->incarnation, .rights = rights,
	};

	return bgdma_region_grant(region, &grant, NULL);
}

/*
 * Others of the same user may hold all that he may lock, among them who has to take
 * this message: so that nobody waits for it for ever, it goes by a copy then.
 */
static int memory_copied(struct bgdma_endpoint *ep, struct request *r,
			 const void *data, uint64_t length, uint32_t local)
{
	int ret = bgdma_region_alloc(ep->ctx, length, local, &r->region);

	if (ret)
		return ret;
	if (r->target)
		r->by_copy = true;
	else
		memcpy(bgdma_region_addr(r->region), data, length);
	return 0;
}

int memory_register(struct bgdma_endpoint *ep, struct request *r, void *data,
		    uint64_t length, uint32_t local, uint32_t right)
{
	int ret;

	ret = bgdma_region_register(ep->ctx, data, length, local, &r->region);
	if (ret == -ENOMEM)
		ret = memory_copied(ep, r, data, length, local);
	return ret ? ret : request_grant(ep, r, r->region, right);
}

/* ---- Origin ------------------------------------------------------------ */

static int rts_send(struct bgdma_endpoint *ep, const struct operation *op,
		    const struct bgdma_rendezvous_attr *a, struct request *r)
{
	struct bgdma_counter *counter;
	int64_t bytes = (int64_t)(sizeof(struct rts_wire) + a->length);
	struct bgdma_send_attr send = { .word = a->word };
	struct bgdma_at from = bgdma__place_at(&a->from);
	struct rts_wire wire;
	uint32_t flags;
	int ret;

	if (r->region) {
		from.region = bgdma_region_handle(r->region);
		from.offset = 0;
	}
	r->handle = pool_take(ep, &ep->pool[BGDMA_INJECTION], r,
			      &ep->peer[r->rank].at);
	counter = pool_counter(&ep->pool[BGDMA_INJECTION], r);
	flags = (r->exclusive ? 0 : RTS_SHARED) |
		(a->deterministic ? RTS_ORDERED : 0) |
		(r->packets ? RTS_PACKETS : 0);
	memset(&wire, 0, sizeof(wire));
	wire.length = __cpu_to_le64(a->length);
	wire.offset = __cpu_to_le64(from.offset);
	wire.region = __cpu_to_le32(from.region);
	wire.counter = __cpu_to_le32(r->handle);
	wire.token = __cpu_to_le32(r->token);
	wire.queue = __cpu_to_le16(RGQ_CTS);
	wire.fifo = __cpu_to_le16(WAY_CONTROL);
	wire.flags = __cpu_to_le32(flags);
	wire.portions = __cpu_to_le32(r->portions);
	wire.in_flight = __cpu_to_le32(r->chains);
	wire.serial = __cpu_to_le32(r->serial);
	if (r->chain)
		wire.chain_region = __cpu_to_le32(bgdma_region_handle(r->chain));

	/* One add, before anything can be taken off. */
	bgdma_counter_add(counter, bytes);
	send.data = &wire;
	send.length = sizeof(wire);
	send.counter = counter;
	ret = send_one(ep, op, &send, r->rank, r->token);
	if (ret)
		bgdma_counter_add(counter, -bytes);
	return ret;
}

static int rendezvous_start(struct bgdma_endpoint *ep,
			    const struct operation *op,
			    const struct bgdma_rendezvous_attr *a)
{
	const struct pace pace = pace_of(ep, a);
	struct peer *peer = &ep->peer[a->dest];
	struct request *r;
	int ret = 0;

	r = request_new(ep, a->dest, false, a->done, a->arg);
	if (!r)
		return -ENOMEM;
	r->announced = a->length;
	r->bytes = a->length;
	/* Never 0. */
	if (!++peer->serials)
		peer->serials++;
	r->serial = peer->serials;
	if (a->data)
		ret = memory_register(ep, r, a->data, a->length,
				      BGDMA_LOCAL_READ, BGDMA_RIGHT_READ);
	if (!ret)
		ret = chain_offer(ep, r, &pace);
	if (!ret)
		ret = rts_send(ep, op, a, r);
	if (ret)
		request_undo(ep, r);
	else if (a->id)
		*a->id = r->token;
	return ret;
}

int bgdma_rendezvous_send_sized(struct bgdma_endpoint *ep,
				const struct bgdma_rendezvous_attr *attr,
				size_t size)
{
	struct bgdma_rendezvous_attr a;
	const struct operation *op;
	int ret;

	ret = attr_copy(&a, sizeof(a), attr, size);
	if (ret)
		return ret;
	if (ep->state != STATE_COMMITTED)
		return -ENOTCONN;
	if (a.length > BGDMA_RENDEZVOUS_MAX)
		return -EMSGSIZE;
	if (!a.length || (!a.data && !a.from.region) || a.dest >= ep->size ||
	    a.word & ~BGDMA_WORD_MASK || a.in_flight > BGDMA_IN_FLIGHT_MAX ||
	    a.portions > BGDMA_PORTIONS_PACKETS)
		return -EINVAL;
	endpoint_lock(ep);
	op = operation_find(&ep->table[BGDMA_POINT_TO_POINT], a.operation);
	if (!op || op->flags & BGDMA_OPERATION_CONTROL)
		ret = -EINVAL;
	else if (ep->peer[a.dest].down)
		ret = -EHOSTDOWN;
	else if (!channel_ready(ep, channel_of(ep, WAY_DATA, a.dest),
				sizeof(struct rts_wire)))
		ret = -EAGAIN;
	else
		ret = rendezvous_start(ep, op, &a);
	endpoint_unlock(ep);
	return ret;
}

/*
 * The target tells what it took, when that does not show in a counter: once for
 * each chain, since each ends on its own.
 */
static int on_took(void *arg, uint32_t rank, const struct bgdma_packet *packet)
{
	struct bgdma_endpoint *ep = arg;
	struct bgdma_counter *counter;
	struct took_wire wire;
	struct request *r;
	uint64_t bytes;
	uint32_t chains;

	if (packet->bytes != sizeof(wire))
		return -EBADMSG;
	memcpy(&wire, bgdma_packet_data(packet), sizeof(wire));
	bytes = __le64_to_cpu(wire.bytes);
	chains = __le32_to_cpu(wire.chains);
	r = request_find(ep, token_origin(bgdma_packet_word(packet)), rank,
			 false);
	/* It was given up meanwhile. */
	if (!r)
		return 0;
	r->stopped |= !!(bytes & TOOK_STOPPED);
	bytes &= ~TOOK_STOPPED;
	if (bytes > r->announced || !chains || chains > r->chains)
		return -EBADMSG;
	if (++r->ends < chains)
		return 0;
	if (r->stopped) {
		request_fail(ep, r, BGDMA_E_CANCELLED, 0);
		return 0;
	}
	/* A counter of its own shows what failed. */
	if (!r->exclusive)
		r = request_told(ep, r);
	if (!r)
		return 0;
	/* What it left is taken off before anybody is told. */
	r->bytes = bytes;
	r->result = wire.refused ? -ECANCELED : 0;
	counter = pool_counter(&ep->pool[BGDMA_INJECTION], r);
	if (bytes < r->announced)
		bgdma_counter_add(counter, -(int64_t)(r->announced - bytes));
	/* A counter of its own tells, when the RTS is off, too. */
	r->took = true;
	if (!r->exclusive || r->zero || r->dead)
		request_end(ep, r, r->result);
	return 0;
}

/* ---- RTS --------------------------------------------------------------- */

int bgdma_rts_read(struct bgdma_rts *rts, uint32_t rank,
		   const struct bgdma_packet *packet)
{
	struct rts_wire wire;

	if (packet->bytes != sizeof(wire) ||
	    packet->msg_length != sizeof(wire))
		return -EBADMSG;
	memcpy(&wire, bgdma_packet_data(packet), sizeof(wire));
	rts->rank = rank;
	rts->word = bgdma_packet_word(packet);
	rts->length = __le64_to_cpu(wire.length);
	rts->offset = __le64_to_cpu(wire.offset);
	rts->region = __le32_to_cpu(wire.region);
	rts->counter = __le32_to_cpu(wire.counter);
	rts->token = __le32_to_cpu(wire.token);
	rts->queue = __le16_to_cpu(wire.queue);
	rts->fifo = __le16_to_cpu(wire.fifo);
	rts->flags = __le32_to_cpu(wire.flags);
	rts->portions = __le32_to_cpu(wire.portions);
	rts->chain_region = __le32_to_cpu(wire.chain_region);
	rts->chain_offset = __le64_to_cpu(wire.chain_offset);
	rts->in_flight = __le32_to_cpu(wire.in_flight);
	rts->serial = __le32_to_cpu(wire.serial);
	if (!rts->length || rts->length > BGDMA_RENDEZVOUS_MAX ||
	    rts->offset > UINT64_MAX - rts->length ||
	    rts->queue != RGQ_CTS || rts->fifo != WAY_CONTROL ||
	    !rts->token || rts->token & ~TOKEN_MASK || !rts->serial ||
	    !rts->portions || rts->portions > BGDMA_PORTIONS_MAX ||
	    !rts->in_flight || rts->in_flight > BGDMA_IN_FLIGHT_MAX ||
	    /* A portion is one descriptor. */
	    (rts->portions > 1 &&
	     rts->length > (uint64_t)rts->portions * BGDMA_LENGTH_MAX))
		return -EBADMSG;
	return 0;
}

/* ---- Progress ---------------------------------------------------------- */

/*
 * A paced message failed. Which portion it was, an event tells that comes next;
 * if it was lost, the message ends a little later without it.
 */
static void chain_suspect(struct bgdma_endpoint *ep, struct request *r,
			  struct bgdma_counter *counter, unsigned int code)
{
	(void)bgdma_counter_clear_error(counter);
	bgdma_counter_clear_hit(counter);
	/* Others that its peer makes do not put it off. */
	if (!r->suspect)
		request_suspect(ep, r, code, 0, sys_now_ns() + EVENT_NS);
}

/*
 * What tells that all was taken, or is there, may be in a FIFO, behind packets of others:
 * the message fails behind those, when it has not ended by then. That its counter is at
 * zero says nothing any more: what was cut off leaves it, too.
 */
static void counter_died(struct bgdma_endpoint *ep, struct request *r,
			 struct bgdma_counter *counter, unsigned int code)
{
	endpoint_peer_down(ep, r->rank);
	if (r->took) {
		request_end(ep, r, r->result);
		return;
	}
	if (!r->dead) {
		r->dead = true;
		r->code = code;
		r->portion_failed = r->portions > 1 ? chain_reached(ep, r) : 0;
	}
	(void)bgdma_counter_clear_error(counter);
	bgdma_counter_clear_hit(counter);
}

/* A counter of one message has reached zero, or shows an error. */
static void counter_ended(struct bgdma_endpoint *ep, struct pool *pool,
			  struct request *r)
{
	struct bgdma_counter *counter = pool_counter(pool, r);
	struct bgdma_record record;
	unsigned int code = (unsigned int)bgdma_counter_error(counter, &record);

	if (code == BGDMA_E_ABORTED)
		code = (unsigned int)record.bound;
	if (code_is_death(code)) {
		counter_died(ep, r, counter, code);
	} else if (code && r->portions > 1) {
		chain_suspect(ep, r, counter, code);
	} else if (code) {
		/* It shows no more, should there be no room to tell now. */
		(void)bgdma_counter_clear_error(counter);
		bgdma_counter_clear_hit(counter);
		request_fail(ep, r, code, 0);
	} else if (r->dead || r->suspect) {
		bgdma_counter_clear_hit(counter);
	} else if (r->target ? pieces_there(r) : r->portions == 1 || r->took) {
		request_end(ep, r, r->result);
	} else {
		r->zero = bgdma_counter_clear_hit(counter);
	}
}

unsigned int rendezvous_progress(struct bgdma_endpoint *ep)
{
	unsigned int n = 0, kind;
	struct request *r;
	uint32_t slot;

	if (bgdma_unlikely(ep->suspects.first))
		suspects_progress(ep);
	for (kind = 0; kind < 2; kind++) {
		slot = 0;
		while ((r = pool_hit(ep, &ep->pool[kind], &slot))) {
			counter_ended(ep, &ep->pool[kind], r);
			n++;
		}
	}
	if (bgdma_unlikely(ep->marks_due))
		n += marks_progress(ep);
	if (bgdma_unlikely(ep->unanswered))
		n += unanswered_progress(ep);
	return n;
}

int rendezvous_register(struct bgdma_endpoint *ep)
{
	const struct {
		const char *name;
		bgdma_packet_fn *packet;
		uint32_t *id;
	} ops[] = {
		{ "took", on_took, &ep->took_id },
		{ "tail", on_tail, &ep->tail_id },
		{ "piece", on_piece, &ep->piece_id },
		{ "cut", on_cut, &ep->cut_id },
		{ "stop", on_stop, &ep->stop_id },
		{ "mark", on_mark, &ep->mark_id },
		{ "probe", on_probe, &ep->probe_id },
		{ "room", on_room, &ep->room_id },
		{ "word", on_word, &ep->word_id },
	};
	struct bgdma_operation_attr op = {
		.module = "sys", .flags = BGDMA_OPERATION_CONTROL, .arg = ep,
	};
	unsigned int i;
	int ret = 0;

	for (i = 0; !ret && i < sizeof(ops) / sizeof(ops[0]); i++) {
		op.name = ops[i].name;
		op.packet = ops[i].packet;
		ret = bgdma_operation_register(ep, &op, ops[i].id);
	}
	return ret;
}
