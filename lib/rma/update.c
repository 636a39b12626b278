// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Updates of elements. The target's engine does integers, and on floating point
 * what looks at bits alone. The rest is made here: fetch, compute, and swap if
 * nobody was faster.
 */
#include <string.h>

#include "internal.h"

enum { TYPE_FLOAT = BGDMA_RMA_FLOAT, TYPE_DOUBLE = BGDMA_RMA_DOUBLE };

/* The type that the engine moves such elements as; -EINVAL: no such type. */
static int engine_type(unsigned int type)
{
	switch (type) {
	case BGDMA_ATOMIC_S32:
	case BGDMA_ATOMIC_U32:
	case BGDMA_ATOMIC_S64:
	case BGDMA_ATOMIC_U64:
		return (int)type;
	case TYPE_FLOAT:
		return BGDMA_ATOMIC_U32;
	case TYPE_DOUBLE:
		return BGDMA_ATOMIC_U64;
	default:
		return -EINVAL;
	}
}

static bool is_floating(unsigned int type)
{
	return type == TYPE_FLOAT || type == TYPE_DOUBLE;
}

static bool is_logical(unsigned int op)
{
	return op >= BGDMA_RMA_LAND && op <= BGDMA_RMA_LXOR;
}

/* Whether the engine does it. */
static bool by_engine(unsigned int op, unsigned int type)
{
	if (op >= BGDMA_ATOMIC_OP_COUNT)
		return false;
	return !is_floating(type) || op == BGDMA_ATOMIC_READ ||
	       op == BGDMA_ATOMIC_SWAP || op == BGDMA_ATOMIC_CAS;
}

static bool update_makes_sense(const struct bgdma_update_attr *a)
{
	if (engine_type(a->type) < 0 || !a->count)
		return false;
	if (!by_engine(a->op, a->type) && !is_logical(a->op) &&
	    !(a->op >= BGDMA_ATOMIC_ADD && a->op <= BGDMA_ATOMIC_MAX))
		return false;
	if (a->op == BGDMA_ATOMIC_READ)
		return a->result.region;
	if (a->op == BGDMA_ATOMIC_CAS)
		return a->count == 1;
	return a->count == 1 || a->local.region;
}

static char *place_memory(const struct bgdma_place *place)
{
	return (char *)bgdma_region_addr(place->region) + place->offset;
}

/* An element's bits, in the low ones. */
static uint64_t bits_read(const void *from, uint32_t bytes)
{
	uint32_t word;
	uint64_t bits;

	if (bytes == sizeof(bits)) {
		memcpy(&bits, from, sizeof(bits));
		return bits;
	}
	memcpy(&word, from, sizeof(word));
	return word;
}

static void bits_write(void *to, uint64_t bits, uint32_t bytes)
{
	uint32_t word = (uint32_t)bits;

	if (bytes == sizeof(bits))
		memcpy(to, &bits, sizeof(bits));
	else
		memcpy(to, &word, sizeof(word));
}

static uint64_t operand(const struct bgdma_update_attr *a, uint32_t i,
			uint32_t bytes)
{
	if (!a->local.region)
		return bytes == sizeof(uint64_t) ? a->operand :
						   (uint32_t)a->operand;
	return bits_read(place_memory(&a->local) + (uint64_t)i * bytes, bytes);
}

/* ---- By the engine ----------------------------------------------------- */

/* One descriptor. @memory: where the operands are, and old values go; or 0. */
BGDMA_INLINE int atomic_inject(struct bgdma_rma_epoch *e, unsigned int op,
			       int type, uint32_t length, struct bgdma_at to,
			       struct bgdma_at memory, uint64_t cookie,
			       uint8_t flags)
{
	struct bgdma_transfer t = bgdma__no_transfer();
	struct bgdma_desc *desc;
	int ret;

	ret = put_take(e, to, &t, &desc);
	if (bgdma_unlikely(ret))
		return ret;
	t.dispatch = BGDMA_ATOMIC(op, (unsigned int)type);
	t.length = length;
	t.from = memory;
	t.flags = flags;
	t.cookie = cookie;
	bgdma_desc_atomic(desc, &t);
	return 0;
}

static int update_by_engine(struct bgdma_rma_epoch *e,
			    const struct bgdma_update_attr *a, int type,
			    uint32_t bytes, struct bgdma_at to)
{
	const struct bgdma_at nowhere = { 0 };
	struct bgdma_at memory = nowhere;
	uint32_t length = a->count * bytes;
	uint64_t cookie = 0;
	uint8_t flags = 0;

	if (a->result.region) {
		flags = BGDMA_DESC_FETCH;
		memory = bgdma__place_at(&a->result);
	}
	if (a->op == BGDMA_ATOMIC_CAS) {
		bits_write(place_memory(&a->result), operand(a, 0, bytes),
			   bytes);
		cookie = a->compare;
	} else if (a->op == BGDMA_ATOMIC_READ) {
		;
	} else if (a->count == 1) {
		cookie = operand(a, 0, bytes);
	} else if (!a->result.region) {
		memory = bgdma__place_at(&a->local);
	} else if (place_memory(&a->result) != place_memory(&a->local)) {
		memcpy(place_memory(&a->result), place_memory(&a->local),
		       length);
	}
	return atomic_inject(e, a->op, type, length, to, memory, cookie, flags);
}

/* ---- By us ------------------------------------------------------------- */

static double real_compute(unsigned int op, double was, double with)
{
	switch (op) {
	case BGDMA_ATOMIC_ADD:
		return was + with;
	case BGDMA_ATOMIC_MUL:
		return was * with;
	case BGDMA_ATOMIC_MIN:
		return with < was ? with : was;
	default:
		return with > was ? with : was;
	}
}

static uint64_t logical_compute(unsigned int op, bool was, bool with)
{
	if (op == BGDMA_RMA_LAND)
		return was && with;
	if (op == BGDMA_RMA_LOR)
		return was || with;
	return was != with;
}

/* In a float's own precision: a double would round twice. */
static float float_compute(unsigned int op, float was, float with)
{
	if (op == BGDMA_ATOMIC_ADD)
		return was + with;
	if (op == BGDMA_ATOMIC_MUL)
		return was * with;
	return (float)real_compute(op, was, with);
}

static uint64_t compute(unsigned int op, unsigned int type, uint64_t was,
			uint64_t with)
{
	float f, f_with;
	double d, d_with;
	uint64_t bits = 0;

	if (type == TYPE_FLOAT) {
		memcpy(&f, &was, sizeof(f));
		memcpy(&f_with, &with, sizeof(f_with));
		f = is_logical(op) ?
		    (float)logical_compute(op, f != 0, f_with != 0) :
		    float_compute(op, f, f_with);
		memcpy(&bits, &f, sizeof(f));
		return bits;
	}
	if (type == TYPE_DOUBLE) {
		memcpy(&d, &was, sizeof(d));
		memcpy(&d_with, &with, sizeof(d_with));
		d = is_logical(op) ?
		    (double)logical_compute(op, d != 0, d_with != 0) :
		    real_compute(op, d, d_with);
		memcpy(&bits, &d, sizeof(d));
		return bits;
	}
	return logical_compute(op, was != 0, with != 0);
}

/*
 * Do one atomic on the scratch memory, and wait for it: what was there. Progress may be
 * made meanwhile, and a callback do one of its own; what waits there makes none.
 */
static int scratch_atomic(struct bgdma_rma_epoch *e, unsigned int op, int type,
			  uint32_t bytes, struct bgdma_at to, uint64_t compare,
			  uint64_t *bits)
{
	const struct bgdma_at memory = {
		.region = bgdma_region_handle(e->rma->memory),
		.offset = e->ch->scratch + e->ch->atomics * sizeof(*bits),
	};
	char *scratch = (char *)bgdma_region_addr(e->rma->memory) +
			memory.offset;
	uint64_t seq = 0;
	int ret;

	ret = rma_channel_room(e->ch);
	/* It may have been closed since the one before. */
	if (!ret && (e->closing || !e->window))
		ret = -ESHUTDOWN;
	if (ret)
		return ret;
	e->ch->atomics++;
	bits_write(scratch, *bits, bytes);
	ret = atomic_inject(e, op, type, bytes, to, memory, compare,
			    BGDMA_DESC_FETCH);
	if (!ret) {
		seq = e->seq;
		ret = rma_channel_ring(e->ch);
	}
	if (!ret)
		ret = rma_channel_wait(e->rma, e->ch, seq);
	/* What else of the epoch has failed does not matter. */
	if (!ret && bgdma_unlikely(e->failed_seq == seq))
		ret = rma_errno(e->failed_code);
	*bits = bits_read(scratch, bytes);
	e->ch->atomics--;
	return ret;
}

/* The engine finds what is to be swapped where the old value goes. */
static int swap_to_nowhere(struct bgdma_rma_epoch *e,
			   const struct bgdma_update_attr *a, int type,
			   uint32_t bytes, struct bgdma_at to)
{
	uint64_t bits = operand(a, 0, bytes);

	return scratch_atomic(e, BGDMA_ATOMIC_CAS, type, bytes, to, a->compare,
			      &bits);
}

static int element_by_us(struct bgdma_rma_epoch *e,
			 const struct bgdma_update_attr *a, int type,
			 uint32_t bytes, struct bgdma_at to, uint64_t with,
			 uint64_t *was)
{
	uint64_t next, now = 0;
	int ret;

	ret = scratch_atomic(e, BGDMA_ATOMIC_READ, type, bytes, to, 0, &now);
	do {
		if (ret)
			return ret;
		*was = now;
		next = compute(a->op, a->type, *was, with);
		now = next;
		ret = scratch_atomic(e, BGDMA_ATOMIC_CAS, type, bytes, to, *was,
				     &now);
	} while (ret || now != *was);
	return 0;
}

static int update_by_us(struct bgdma_rma_epoch *e,
			const struct bgdma_update_attr *a, int type,
			uint32_t bytes, struct bgdma_at to)
{
	uint64_t with, was = 0;
	uint32_t i;
	int ret = 0;

	for (i = 0; !ret && i < a->count; i++, to.offset += bytes) {
		with = operand(a, i, bytes);
		ret = element_by_us(e, a, type, bytes, to, with, &was);
		if (!ret && a->result.region)
			bits_write(place_memory(&a->result) +
				   (uint64_t)i * bytes, was, bytes);
	}
	return ret;
}

/* ---- One, and many ----------------------------------------------------- */

/* Of what makes sense. */
static uint32_t element_bytes(const struct bgdma_update_attr *a)
{
	return bgdma_atomic_bytes((enum bgdma_atomic_type)engine_type(a->type));
}

static inline bool place_holds(const struct bgdma_place *place, uint64_t length)
{
	uint64_t room;

	if (!place->region)
		return true;
	room = bgdma_region_length(place->region);
	return place->offset <= room && length <= room - place->offset;
}

/*
 * Where it goes. Operands are read and results written by us, with no engine to
 * see that they are in their regions.
 */
static inline int update_place(const struct bgdma_rma_epoch *e,
			       const struct bgdma_update_attr *a,
			       uint32_t bytes, struct bgdma_at *to)
{
	uint64_t length = (uint64_t)a->count * bytes;

	if (bgdma_unlikely(!place_holds(&a->result, length) ||
			   (a->op != BGDMA_ATOMIC_READ &&
			    !place_holds(&a->local, length))))
		return -ERANGE;
	return epoch_place(e, a->at, length, to);
}

static int update_one(struct bgdma_rma_epoch *e,
		      const struct bgdma_update_attr *a, uint32_t bytes)
{
	int type = engine_type(a->type), ret = rma_channel_room(e->ch);
	struct bgdma_at to;

	if (bgdma_likely(!ret))
		ret = update_place(e, a, bytes, &to);
	if (bgdma_unlikely(ret))
		return ret;
	if (a->op == BGDMA_ATOMIC_CAS && !a->result.region)
		return swap_to_nowhere(e, a, type, bytes, to);
	return by_engine(a->op, a->type) ?
	       update_by_engine(e, a, type, bytes, to) :
	       update_by_us(e, a, type, bytes, to);
}

static int update_end(struct bgdma_rma_epoch *e,
		      const struct bgdma_update_attr *a)
{
	if (a->request)
		request_make(e, a->request, false);
	return a->more ? 0 : rma_channel_submit(e->ch);
}

int bgdma_epoch_update_sized(struct bgdma_rma_epoch *epoch,
			     const struct bgdma_update_attr *attr, size_t size)
{
	const struct bgdma_update_attr *a = attr;
	struct bgdma_update_attr copy;
	int ret;

	if (bgdma_unlikely(size != sizeof(*a))) {
		ret = attr_copy(&copy, sizeof(copy), attr, size);
		if (ret)
			return ret;
		a = &copy;
	}
	if (bgdma_unlikely(!update_makes_sense(a)))
		return -EINVAL;
	rma_lock(epoch->rma);
	access_look(epoch);
	ret = update_one(epoch, a, element_bytes(a));
	if (!ret)
		ret = update_end(epoch, a);
	rma_unlock(epoch->rma);
	return ret;
}

/* 0 elements: there is nothing to do. */
static int row_update(const struct row *row, uint32_t i, uint32_t bytes,
		      struct bgdma_update_attr *a)
{
	struct bgdma_piece piece;
	int ret = row_at(row, i, &piece);

	if (ret)
		return ret;
	if (piece.length % bytes)
		return -EINVAL;
	if (piece.length > BGDMA_LENGTH_MAX)
		return -EMSGSIZE;
	a->count = (uint32_t)(piece.length / bytes);
	if (__builtin_add_overflow(a->local.offset, piece.local,
				   &a->local.offset) ||
	    __builtin_add_overflow(a->result.offset, piece.local,
				   &a->result.offset) ||
	    __builtin_add_overflow(a->at, piece.at, &a->at))
		return -ERANGE;
	return 0;
}

/* All of them, before the first is begun. */
static int row_check(const struct bgdma_rma_epoch *e, const struct row *row,
		     const struct bgdma_update_attr *whole, uint32_t bytes)
{
	struct bgdma_update_attr a;
	struct bgdma_at to;
	uint32_t i;
	int ret = 0;

	for (i = 0; !ret && i < row->count; i++) {
		a = *whole;
		ret = row_update(row, i, bytes, &a);
		if (ret || !a.count)
			continue;
		ret = update_makes_sense(&a) ?
		      update_place(e, &a, bytes, &to) : -EINVAL;
	}
	return ret;
}

static int update_row(struct bgdma_rma_epoch *e, const struct row *row,
		      const struct bgdma_update_attr *whole, uint32_t bytes)
{
	struct bgdma_update_attr a;
	uint32_t i;
	int ret;

	rma_lock(e->rma);
	access_look(e);
	ret = row_check(e, row, whole, bytes);
	for (i = 0; !ret && i < row->count; i++) {
		a = *whole;
		(void)row_update(row, i, bytes, &a);
		ret = a.count ? update_one(e, &a, bytes) : 0;
	}
	if (!ret)
		ret = update_end(e, whole);
	rma_unlock(e->rma);
	return ret;
}

int bgdma_epoch_update_pieces_sized(struct bgdma_rma_epoch *epoch,
				    const struct bgdma_update_attr *attr,
				    size_t size,
				    const struct bgdma_piece *pieces,
				    uint32_t count)
{
	const struct row row = { .pieces = pieces, .count = count };
	struct bgdma_update_attr a;
	int ret = attr_copy(&a, sizeof(a), attr, size);

	if (ret)
		return ret;
	/* Each piece has a count of its own. */
	if (engine_type(a.type) < 0 || a.op == BGDMA_ATOMIC_CAS ||
	    (count && !pieces))
		return -EINVAL;
	return update_row(epoch, &row, &a, element_bytes(&a));
}

int bgdma_epoch_update_strided_sized(struct bgdma_rma_epoch *epoch,
				     const struct bgdma_update_attr *attr,
				     size_t size,
				     const struct bgdma_stride *stride)
{
	struct row row = { .stride = stride, .count = stride->count };
	struct bgdma_update_attr a;
	int ret = attr_copy(&a, sizeof(a), attr, size);

	if (ret)
		return ret;
	if (!update_makes_sense(&a) || a.op == BGDMA_ATOMIC_CAS)
		return -EINVAL;
	row.length = (uint64_t)a.count * element_bytes(&a);
	return update_row(epoch, &row, &a, element_bytes(&a));
}
