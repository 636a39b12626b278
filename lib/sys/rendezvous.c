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

/* Bytes that a shared message keeps for its tail. */
#define TAIL_BYTES	16

/* How long after a counter's error its event may come. */
#define EVENT_NS	200000000

/* bgdma_rts.flags */
#define RTS_SHARED	(1U << 0)	/* tell the origin by a took */
#define RTS_ORDERED	(1U << 1)	/* data deterministically */

/* The payload of an RTS. */
struct rts_wire {
	__le64 length;
	__le64 offset;
	__le32 region;
	__le32 counter;
	__le32 token;
	__le32 flags;
	__le16 queue;
	__le16 fifo;
	__le32 portions;
	__le64 chain_offset;
	__le32 chain_region;
	__le32 resv;
};

/* The payload of a took. */
struct took_wire {
	__le64 bytes;
	__le32 refused;
	__le32 resv;
};

_Static_assert(sizeof(struct took_wire) <= BGDMA_INLINE_MAX, "inline");

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

/* Memory of the caller's as a region that one peer may use. */
static int memory_register(struct bgdma_endpoint *ep, struct request *r,
			   void *data, uint64_t length, uint32_t local,
			   uint32_t right)
{
	int ret;

	ret = bgdma_region_register(ep->ctx, data, length, local, &r->region);
	return ret ? ret : request_grant(ep, r, r->region, right);
}

/* End a request that nobody has heard of yet. */
static void request_undo(struct bgdma_endpoint *ep, struct request *r)
{
	r->done = NULL;
	request_end(ep, r, 0);
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
	r->handle = pool_take(&ep->pool[BGDMA_INJECTION], r,
			      &ep->peer[r->rank].at);
	counter = pool_counter(&ep->pool[BGDMA_INJECTION], r);
	flags = (r->exclusive ? 0 : RTS_SHARED) |
		(a->deterministic ? RTS_ORDERED : 0);
	memset(&wire, 0, sizeof(wire));
	wire.length = __cpu_to_le64(a->length);
	wire.offset = __cpu_to_le64(from.offset);
	wire.region = __cpu_to_le32(from.region);
	wire.counter = __cpu_to_le32(r->handle);
	wire.token = __cpu_to_le32(r->token);
	wire.queue = __cpu_to_le16(bgdma_rgq_id(ep->rgq));
	wire.fifo = __cpu_to_le16(WAY_CONTROL);
	wire.flags = __cpu_to_le32(flags);
	wire.portions = __cpu_to_le32(r->portions);
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
	struct request *r;
	int ret = 0;

	r = request_new(ep, a->dest, false, a->done, a->arg);
	if (!r)
		return -ENOMEM;
	r->announced = a->length;
	r->bytes = a->length;
	if (a->data)
		ret = memory_register(ep, r, a->data, a->length,
				      BGDMA_LOCAL_READ, BGDMA_RIGHT_READ);
	if (!ret)
		ret = chain_offer(ep, r, a->portion);
	if (!ret)
		ret = rts_send(ep, op, a, r);
	if (ret)
		request_undo(ep, r);
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
	    a.word & ~BGDMA_WORD_MASK)
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

/* The target tells what it took, when that does not show in a counter. */
static int on_took(void *arg, uint32_t rank, const struct bgdma_packet *packet)
{
	struct bgdma_endpoint *ep = arg;
	struct bgdma_counter *counter;
	struct took_wire wire;
	struct request *r;
	uint64_t bytes;

	if (packet->bytes != sizeof(wire))
		return -EBADMSG;
	memcpy(&wire, bgdma_packet_data(packet), sizeof(wire));
	bytes = __le64_to_cpu(wire.bytes);
	r = request_find(ep, token_origin(bgdma_packet_word(packet)), rank,
			 false);
	if (!r || bytes > r->announced)
		return -EBADMSG;
	/* What it left is taken off before anybody is told. */
	r->bytes = bytes;
	r->result = wire.refused ? -ECANCELED : 0;
	counter = pool_counter(&ep->pool[BGDMA_INJECTION], r);
	if (bytes < r->announced)
		bgdma_counter_add(counter, -(int64_t)(r->announced - bytes));
	/* A counter of its own tells, when the RTS is off, too. */
	r->took = true;
	if (!r->exclusive || r->zero)
		request_end(ep, r, r->result);
	return 0;
}

/* The target gives a paced message up. */
static int on_cut(void *arg, uint32_t rank, const struct bgdma_packet *packet)
{
	struct bgdma_endpoint *ep = arg;
	struct request *r;

	r = request_find(ep, token_origin(bgdma_packet_word(packet)), rank,
			 false);
	if (r)
		request_end(ep, r, -EIO);
	return 0;
}

/* ---- Target ------------------------------------------------------------ */

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
	if (!rts->length || rts->length > BGDMA_RENDEZVOUS_MAX ||
	    !rts->portions || rts->portions > BGDMA_PORTIONS_MAX)
		return -EBADMSG;
	return 0;
}

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

static void cts_tail(const struct bgdma_endpoint *ep, const struct request *r,
		     uint64_t at, struct bgdma_desc *desc)
{
	struct bgdma_transfer t = cts_transfer(ep, r);

	t.dest_fifo = WAY_CONTROL;
	t.dispatch = (uint16_t)ep->tail_id;
	t.cookie = cookie_make(BGDMA_POINT_TO_POINT, ep->tail_id, t.cookie);
	t.length = (uint32_t)(r->bytes - at);
	t.from.region = r->rts.region;
	t.from.offset = r->rts.offset + at;
	t.flags = BGDMA_DESC_FENCE;
	bgdma_desc_memfifo(desc, &t);
}

static void cts_took(const struct bgdma_endpoint *ep, const struct request *r,
		     bool refused, struct bgdma_desc *desc)
{
	struct bgdma_transfer t = bgdma__no_transfer();
	const struct took_wire wire = {
		.bytes = __cpu_to_le64(r->bytes),
		.refused = __cpu_to_le32(refused),
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

	if (r->put < r->bytes)
		cts_tail(ep, r, r->put, &desc[n++]);
	if (r->rts.flags & RTS_SHARED || r->bytes < r->announced ||
	    r->rts.portions > 1)
		cts_took(ep, r, !r->bytes, &desc[n++]);
	return n;
}

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
	return bgdma_inj_submit(ch->fifo);
}

static int cts_send(struct bgdma_endpoint *ep, struct request *r)
{
	struct bgdma_desc desc[BGDMA_RGET_DESC_MAX];
	unsigned int n;
	int ret;

	if (r->portions > 1) {
		ret = chain_send(ep, r);
	} else {
		n = cts_puts(ep, r, 0, r->put, 1, desc);
		n += cts_end(ep, r, desc + n);
		ret = rget_send(ep, r->rank, r->rts.queue,
				r->token | SENT_TARGET, desc, n);
	}
	if (ret)
		return ret;
	r->answered = true;
	r->order = ep->answers++;
	/* Nothing will come. */
	if (!r->bytes)
		request_end(ep, r, 0);
	return 0;
}

/* In the order of the accepts. */
static void cts_queue(struct bgdma_endpoint *ep, struct request *r)
{
	if (ep->unanswered.first || cts_send(ep, r))
		queue_add(&ep->unanswered, r);
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
	r->announced = rts->length;
	r->bytes = a->length < rts->length ? a->length : rts->length;
	r->portions = 1;
	if (r->bytes && a->data) {
		ret = memory_register(ep, r, a->data, r->bytes,
				      BGDMA_LOCAL_WRITE, BGDMA_RIGHT_WRITE);
		if (ret) {
			request_undo(ep, r);
			return ret;
		}
		r->to.region = bgdma_region_handle(r->region);
		r->addr = a->data;
	} else if (r->bytes) {
		r->to = bgdma__place_at(&a->to);
		r->addr = (char *)bgdma_region_addr(a->to.region) +
			  a->to.offset;
	}
	if (r->bytes) {
		r->handle = pool_take(&ep->pool[BGDMA_RECEPTION], r,
				      &ep->peer[r->rank].at);
		/* Without a counter of its own its last bytes tell. */
		if (r->exclusive)
			r->put = r->bytes;
		else if (r->bytes > TAIL_BYTES)
			r->put = r->bytes - TAIL_BYTES;
		bgdma_counter_add(pool_counter(&ep->pool[BGDMA_RECEPTION], r),
				  (int64_t)r->put);
	}
	if (r->bytes && rts->portions > 1) {
		ret = chain_prepare(ep, r);
		if (ret) {
			request_undo(ep, r);
			return ret;
		}
	}
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

/* The last bytes of a message without a counter of its own. */
static int on_tail(void *arg, uint32_t rank, const struct bgdma_packet *packet)
{
	struct bgdma_endpoint *ep = arg;
	uint64_t word = bgdma_packet_word(packet);
	struct request *r = request_find(ep, token_target(word), rank, true);

	if (!r || r->exclusive || r->rts.token != token_origin(word) ||
	    packet->bytes > r->bytes || packet->bytes > TAIL_BYTES)
		return -EBADMSG;
	memcpy(r->addr + r->bytes - packet->bytes, bgdma_packet_data(packet),
	       packet->bytes);
	request_end(ep, r, 0);
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
	if (!r->suspect)
		queue_add(&ep->suspects, r);
	r->suspect = true;
	r->suspect_until = sys_now_ns() + EVENT_NS;
	r->result = bgdma_code_errno(code);
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
	if (code == BGDMA_E_PEER_DOWN)
		endpoint_peer_down(ep, r->rank);
	else if (code && r->portions > 1)
		chain_suspect(ep, r, counter, code);
	else if (code)
		request_end(ep, r, bgdma_code_errno(code));
	else if (r->target || r->portions == 1 || r->took)
		request_end(ep, r, r->result);
	else
		r->zero = bgdma_counter_clear_hit(counter);
}

unsigned int rendezvous_progress(struct bgdma_endpoint *ep)
{
	unsigned int n = 0, kind;
	struct request *r;

	while ((r = ep->suspects.first) && sys_now_ns() >= r->suspect_until) {
		queue_take(&ep->suspects);
		r->suspect = false;
		request_end(ep, r, r->result);
	}
	for (kind = 0; kind < 2; kind++) {
		while ((r = pool_hit(ep, &ep->pool[kind]))) {
			counter_ended(ep, &ep->pool[kind], r);
			n++;
		}
	}
	marks_progress(ep);
	while ((r = ep->unanswered.first)) {
		queue_take(&ep->unanswered);
		if (!cts_send(ep, r)) {
			n++;
			continue;
		}
		/* The first again, and so on. */
		r->later = ep->unanswered.first;
		ep->unanswered.first = r;
		if (!r->later)
			ep->unanswered.last = &r->later;
		break;
	}
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
		{ "cut", on_cut, &ep->cut_id },
		{ "mark", on_mark, &ep->mark_id },
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
