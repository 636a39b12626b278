// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Puts and gets, of one piece and of many. A put is a direct put that names its
 * epoch. A get is a remote get: the target's engine puts what is asked for to
 * us, and moves the get counter (EP-2). One put or get is one descriptor, and
 * counts as one whatever its length.
 */
#include "internal.h"

static int place_in_window(const struct bgdma_rma_epoch *e, uint64_t at,
			   uint64_t length, struct bgdma_at *to)
{
	uint64_t offset;

	if (bgdma_unlikely(__builtin_mul_overflow(at, e->unit, &offset) ||
			   offset > e->length || length > e->length - offset))
		return -ERANGE;
	to->region = e->region;
	to->offset = offset;
	return 0;
}

static int place_attached(const struct bgdma_rma_epoch *e, uint64_t at,
			  uint64_t length, struct bgdma_at *to)
{
	const struct window_peer *peer = &e->window->peer[e->target];
	const struct attached *a = attached_find(peer->attached, at, length);

	if (bgdma_unlikely(!a))
		return attached_is_held_up(e->rma) ||
		       attached_find(peer->attached, at, length) ? -EAGAIN :
								   -ERANGE;
	to->region = a->handle;
	to->offset = at - a->addr;
	return 0;
}

int epoch_place(const struct bgdma_rma_epoch *e, uint64_t at, uint64_t length,
		struct bgdma_at *to)
{
	if (bgdma_unlikely(e->closing || !e->window))
		return -ESHUTDOWN;
	if (bgdma_unlikely(length > BGDMA_LENGTH_MAX))
		return -EMSGSIZE;
	return bgdma_likely(e->region) ? place_in_window(e, at, length, to) :
					 place_attached(e, at, length, to);
}

/* Let @a be at one of our size: itself, or a copy. */
static inline int access_attr(const struct bgdma_access_attr **a,
			      struct bgdma_access_attr *copy, size_t size)
{
	const struct bgdma_access_attr *from = *a;

	if (bgdma_likely(size == sizeof(*from)))
		return 0;
	*a = copy;
	return attr_copy(copy, sizeof(*copy), from, size);
}

static inline int access_check(const struct bgdma_rma_epoch *e,
			       const struct bgdma_access_attr *a,
			       struct bgdma_at *to)
{
	if (bgdma_unlikely(!a->local.region))
		return -EINVAL;
	return epoch_place(e, a->at, a->length, to);
}

/* When there is room for it. */
static inline int access_place(const struct bgdma_rma_epoch *e,
			       const struct bgdma_access_attr *a,
			       struct bgdma_at *to)
{
	int ret = rma_channel_room(e->ch);

	return bgdma_likely(!ret) ? access_check(e, a, to) : ret;
}

void request_make(struct bgdma_rma_epoch *e, struct bgdma_rma_request *request,
		  bool get)
{
	request->epoch = e;
	request->serial = e->serial;
	request->seq = e->seq;
	request->gets = get ? e->gets : 0;
}

/* ---- Puts -------------------------------------------------------------- */

/* In line: this is on the way of every put. */
BGDMA_INLINE int put_one(struct bgdma_rma_epoch *e,
			 const struct bgdma_access_attr *a, struct bgdma_at to)
{
	struct bgdma_transfer t = bgdma__no_transfer();
	struct bgdma_desc *desc;
	int ret;

	ret = put_take(e, to, &t, &desc);
	if (bgdma_unlikely(ret))
		return ret;
	t.length = (uint32_t)a->length;
	t.from = bgdma__place_at(&a->local);
	t.route = a->route;
	bgdma_desc_put(desc, &t);
	return 0;
}

int bgdma_epoch_put_sized(struct bgdma_rma_epoch *epoch,
			  const struct bgdma_access_attr *attr, size_t size)
{
	const struct bgdma_access_attr *a = attr;
	struct bgdma_access_attr copy;
	struct bgdma_at to;
	int ret;

	ret = access_attr(&a, &copy, size);
	if (bgdma_unlikely(ret))
		return ret;
	rma_lock(epoch->rma);
	access_look(epoch);
	ret = access_place(epoch, a, &to);
	if (bgdma_likely(!ret))
		ret = put_one(epoch, a, to);
	if (bgdma_likely(!ret)) {
		if (a->request)
			request_make(epoch, a->request, false);
		if (!a->more)
			ret = rma_channel_ring(epoch->ch);
	}
	rma_unlock(epoch->rma);
	return ret;
}

/* ---- Gets -------------------------------------------------------------- */

/* What the target's engine does for a get. */
static void get_describe(const struct bgdma_rma_epoch *e,
			 struct bgdma_desc *desc, uint32_t length,
			 struct bgdma_at from, struct bgdma_at to,
			 uint8_t route)
{
	const struct bgdma_peer *self = bgdma_endpoint_peer(e->rma->ep,
							    e->rma->rank);
	struct bgdma_transfer t = bgdma__no_transfer();

	t.dest = self->node;
	t.dest_ctx = self->ctx;
	t.length = length;
	t.from = from;
	t.to = to;
	t.remote_counter = e->get_handle;
	t.flags = BGDMA_DESC_OPS;
	t.route = route;
	/*
	 * What we have sent to ourselves is a put of our own, and its epoch one
	 * at the region that it goes to. Nothing keeps an owner out.
	 */
	if (e->target != e->rma->rank)
		t.epoch = e->id;
	bgdma_desc_put(desc, &t);
}

struct bgdma_desc *rget_describe(const struct bgdma_rma_epoch *e,
				 struct bgdma_desc *desc, uint32_t count,
				 uint8_t flags)
{
	const struct channel *ch = e->ch;
	uint64_t at = ((e->seq - 1) & ch->mask) * BGDMA_RGET_DESC_MAX;
	struct bgdma_transfer t = bgdma__no_transfer();

	t.dest = e->node;
	t.dest_ctx = e->ctx;
	t.dest_fifo = e->queue;
	t.length = count * (uint32_t)sizeof(*desc);
	t.flags = flags;
	t.from.region = bgdma_region_handle(e->rma->memory);
	t.from.offset = ch->gets_at + at * sizeof(*desc);
	bgdma_desc_rget(desc, &t);
	return ch->gets + at;
}

/*
 * Take a slot for a remote get of @count gets, which are then to be written to
 * @descs. The get counter goes up before it is injected.
 */
static int rget_take(struct bgdma_rma_epoch *e, uint32_t count,
		     struct bgdma_desc **descs)
{
	struct bgdma_desc *desc;
	int ret;

	ret = rma_channel_take(e, (enum sent_kind)(SENT_GET + e->phase), count,
			       &desc);
	if (bgdma_unlikely(ret))
		return ret;
	e->gets += count;
	bgdma_counter_add(e->get, (int64_t)count);
	*descs = rget_describe(e, desc, count, 0);
	return 0;
}

int bgdma_epoch_get_sized(struct bgdma_rma_epoch *epoch,
			  const struct bgdma_access_attr *attr, size_t size)
{
	const struct bgdma_access_attr *a = attr;
	struct bgdma_access_attr copy;
	struct bgdma_desc *get;
	struct bgdma_at from;
	int ret;

	ret = access_attr(&a, &copy, size);
	if (bgdma_unlikely(ret))
		return ret;
	rma_lock(epoch->rma);
	access_look(epoch);
	ret = access_place(epoch, a, &from);
	if (bgdma_likely(!ret))
		ret = rget_take(epoch, 1, &get);
	if (bgdma_likely(!ret)) {
		get_describe(epoch, get, (uint32_t)a->length, from,
			     bgdma__place_at(&a->local), a->route);
		if (a->request)
			request_make(epoch, a->request, true);
		if (!a->more)
			ret = rma_channel_ring(epoch->ch);
	}
	rma_unlock(epoch->rma);
	return ret;
}

/* ---- Many pieces ------------------------------------------------------- */

int row_at(const struct row *row, uint32_t i, struct bgdma_piece *piece)
{
	if (row->pieces) {
		*piece = row->pieces[i];
		return 0;
	}
	piece->length = row->length;
	if (__builtin_mul_overflow(row->stride->local, (uint64_t)i,
				   &piece->local) ||
	    __builtin_mul_overflow(row->stride->at, (uint64_t)i, &piece->at))
		return -ERANGE;
	return 0;
}

static int row_access(const struct row *row, uint32_t i,
		      const struct bgdma_access_attr *whole,
		      struct bgdma_access_attr *a)
{
	struct bgdma_piece piece;
	int ret = row_at(row, i, &piece);

	if (ret)
		return ret;
	*a = *whole;
	a->length = piece.length;
	if (__builtin_add_overflow(a->local.offset, piece.local,
				   &a->local.offset) ||
	    __builtin_add_overflow(a->at, piece.at, &a->at))
		return -ERANGE;
	return 0;
}

static int row_check(const struct bgdma_rma_epoch *e, const struct row *row,
		     uint32_t i, uint32_t end,
		     const struct bgdma_access_attr *whole)
{
	struct bgdma_access_attr a;
	struct bgdma_at to;
	int ret = 0;

	for (; !ret && i < end; i++) {
		ret = row_access(row, i, whole, &a);
		if (!ret)
			ret = access_check(e, &a, &to);
	}
	return ret;
}

static int row_put(struct bgdma_rma_epoch *e, const struct row *row,
		   const struct bgdma_access_attr *whole)
{
	struct bgdma_access_attr a = *whole;
	struct bgdma_at to = { 0 };
	uint32_t i;
	int ret = 0;

	for (i = 0; !ret && i < row->count; i++) {
		(void)row_access(row, i, whole, &a);
		ret = access_place(e, &a, &to);
		if (!ret)
			ret = put_one(e, &a, to);
	}
	return ret;
}

/* As few remote gets as can be. */
static int row_get(struct bgdma_rma_epoch *e, const struct row *row,
		   const struct bgdma_access_attr *whole)
{
	struct bgdma_access_attr a = *whole;
	struct bgdma_desc *gets;
	struct bgdma_at from = { 0 };
	uint32_t i = 0, n, k;
	int ret;

	while (i < row->count) {
		n = row->count - i;
		if (n > BGDMA_RGET_DESC_MAX)
			n = BGDMA_RGET_DESC_MAX;
		ret = rma_channel_room(e->ch);
		/* All of them, or none is asked for. */
		if (!ret)
			ret = row_check(e, row, i, i + n, whole);
		if (!ret)
			ret = rget_take(e, n, &gets);
		if (ret)
			return ret;
		for (k = 0; k < n; k++, i++) {
			(void)row_access(row, i, whole, &a);
			(void)access_check(e, &a, &from);
			get_describe(e, &gets[k], (uint32_t)a.length, from,
				     bgdma__place_at(&a.local), a.route);
		}
	}
	return 0;
}

static int row_move(struct bgdma_rma_epoch *e, bool put, const struct row *row,
		    const struct bgdma_access_attr *whole)
{
	int ret;

	rma_lock(e->rma);
	access_look(e);
	/* All of them, before the first is begun. */
	ret = row_check(e, row, 0, row->count, whole);
	if (!ret)
		ret = put ? row_put(e, row, whole) : row_get(e, row, whole);
	if (!ret && whole->request)
		request_make(e, whole->request, !put);
	if (!ret && !whole->more)
		ret = rma_channel_submit(e->ch);
	rma_unlock(e->rma);
	return ret;
}

int bgdma_epoch_pieces_sized(struct bgdma_rma_epoch *epoch, bool put,
			     const struct bgdma_access_attr *attr, size_t size,
			     const struct bgdma_piece *pieces, uint32_t count)
{
	const struct row row = { .pieces = pieces, .count = count };
	struct bgdma_access_attr a;
	int ret;

	ret = attr_copy(&a, sizeof(a), attr, size);
	if (!ret && count && !pieces)
		ret = -EINVAL;
	return ret ? ret : row_move(epoch, put, &row, &a);
}

int bgdma_epoch_strided_sized(struct bgdma_rma_epoch *epoch, bool put,
			      const struct bgdma_access_attr *attr, size_t size,
			      const struct bgdma_stride *stride)
{
	struct row row = { .stride = stride, .count = stride->count };
	struct bgdma_access_attr a;
	int ret = attr_copy(&a, sizeof(a), attr, size);

	row.length = a.length;
	return ret ? ret : row_move(epoch, put, &row, &a);
}

/* ---- Requests ---------------------------------------------------------- */

/* With the lock. */
static bool request_done(const struct bgdma_rma_request *request)
{
	const struct gets_wait w = {
		.epoch = request->epoch, .serial = request->serial,
		.gets = request->gets,
	};

	if (w.epoch->serial == w.serial) {
		if (bgdma_inj_done(w.epoch->ch->fifo) < request->seq)
			return false;
		/* If it failed over a link it shows only now. */
		rma_channel_repair(w.epoch->ch);
	}
	return gets_over(&w);
}

/* @ch: where it is, if it is not done. */
static int request_test(const struct bgdma_rma_request *request, bool *done,
			struct channel **ch)
{
	struct bgdma_rma_epoch *e = request->epoch;
	int ret = 0;

	if (!e)
		return -EINVAL;
	rma_lock(e->rma);
	*ch = e->ch;
	(void)rma_channel_submit(e->ch);
	rma_channel_repair(e->ch);
	/* Others of the epoch may have failed: then this one goes on. */
	*done = request_done(request) || epoch_is_lost(e);
	if (*done && e->serial == request->serial)
		ret = rma_errno(e->code);
	/* Nothing comes to an end any more, and nobody tells of that. */
	else if (!*done && bgdma_ctx_dead(e->rma->ctx))
		ret = -ENODEV;
	rma_unlock(e->rma);
	return ret;
}

int bgdma_rma_test(const struct bgdma_rma_request *request, bool *done)
{
	struct channel *ch;
	int ret = request_test(request, done, &ch);

	if (ret || *done)
		return ret;
	/* What never comes is told of by packets and events. */
	(void)bgdma_endpoint_progress(request->epoch->rma->ep, 0);
	return request_test(request, done, &ch);
}

int bgdma_rma_wait(const struct bgdma_rma_request *request)
{
	struct channel *ch;
	bool done;
	int ret = request_test(request, &done, &ch);

	return ret || done ? ret : epoch_settle(request, ch);
}
