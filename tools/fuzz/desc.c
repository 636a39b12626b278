// SPDX-License-Identifier: GPL-2.0
/*
 * Validation of descriptors (kernel/engine/desc.c): against a second telling of
 * Documentation/uapi.rst, and the library's builders against both.
 */
#include "../../kernel/engine/desc.c"

#include <bgdma/desc.h>

#include "fuzz.h"

/* What of a descriptor an operation does not use. */
struct unused {
	bool target, fifo, dispatch, cookie, source, sink, rec_ctr, route;
	bool epoch, counter;
	u8 flags;
};

static bool is_gate(u8 op)
{
	return op >= BGDMA_OP_EPOCH_BEGIN && op <= BGDMA_OP_EPOCH_END;
}

static bool is_tree(u8 op)
{
	return op >= BGDMA_OP_TREE_REDUCE && op <= BGDMA_OP_TREE_P2P;
}

static struct unused unused_of(u8 op)
{
	struct unused none = {
		.epoch = op != BGDMA_OP_PUT && op != BGDMA_OP_ATOMIC &&
			 !is_gate(op),
		.flags = (u8)~BGDMA_DESC_FENCE,
	};
	const u8 packet = BGDMA_DESC_INTERRUPT | BGDMA_DESC_INLINE;

	switch (op) {
	case BGDMA_OP_NOP:
		none.target = none.fifo = none.dispatch = none.cookie = true;
		none.source = none.sink = none.rec_ctr = none.route = true;
		none.counter = true;
		break;
	case BGDMA_OP_LOCAL_MEMFIFO:
		none.target = none.route = true;
		/* fall through */
	case BGDMA_OP_MEMFIFO:
		none.sink = true;
		none.flags &= ~(packet | BGDMA_DESC_OPS | BGDMA_DESC_GROUP);
		break;
	case BGDMA_OP_LOCAL_COPY:
		none.target = none.route = true;
		/* fall through */
	case BGDMA_OP_PUT:
		none.fifo = none.dispatch = true;
		none.flags &= ~(BGDMA_DESC_OPS | BGDMA_DESC_GROUP);
		if (op == BGDMA_OP_PUT)
			none.flags &= ~BGDMA_DESC_HOLD;
		break;
	case BGDMA_OP_ATOMIC:
		none.fifo = true;
		none.flags &= ~(BGDMA_DESC_OPS | BGDMA_DESC_HOLD |
				BGDMA_DESC_FETCH);
		break;
	case BGDMA_OP_TREE_P2P:
		none.target = none.dispatch = none.sink = true;
		none.flags &= ~(BGDMA_DESC_OPS | BGDMA_DESC_INTERRUPT);
		break;
	case BGDMA_OP_TREE_REDUCE:
	case BGDMA_OP_TREE_BCAST:
	case BGDMA_OP_TREE_ALLREDUCE:
		none.target = none.cookie = none.route = true;
		none.flags &= ~BGDMA_DESC_OPS;
		break;
	case BGDMA_OP_EPOCH_BEGIN:
		none.flags &= ~(BGDMA_DESC_HOLD | BGDMA_DESC_EXCLUSIVE);
		/* fall through */
	case BGDMA_OP_EPOCH_CLOSE:
	case BGDMA_OP_EPOCH_END:
		none.fifo = none.dispatch = none.source = none.rec_ctr = true;
		none.cookie = op != BGDMA_OP_EPOCH_CLOSE;
		none.counter = op == BGDMA_OP_EPOCH_END;
		break;
	case BGDMA_OP_RGET:
		none.dispatch = none.sink = none.rec_ctr = true;
		none.flags &= ~BGDMA_DESC_GROUP;
		break;
	}
	return none;
}

static bool fields_good(const struct bgdma_desc *d, struct unused none)
{
	bool inlined = d->flags & BGDMA_DESC_INLINE;
	bool packets = d->class_prio & BGDMA_TREE_PACKETS;
	u8 class = is_tree(d->op) ? 15 : 0;

	/* Only a result is one, here. */
	if (is_tree(d->op) && d->op != BGDMA_OP_TREE_P2P)
		class |= BGDMA_TREE_PACKETS;
	return !d->resv && !(d->flags & none.flags) &&
	       (is_gate(d->op) ? d->epoch : !none.epoch || !d->epoch) &&
	       !(d->class_prio & ~(none.target ? class : BGDMA_PRIORITY)) &&
	       (!none.target || ((!d->dst_rank || d->op == BGDMA_OP_TREE_P2P) &&
				 (!d->dst_ctx || d->flags & BGDMA_DESC_GROUP))) &&
	       (!none.fifo || !d->dst_fifo) &&
	       (!none.dispatch || !d->dispatch) &&
	       (!none.cookie || !d->cookie || packets) &&
	       (!packets || !d->u.at.dst_off) &&
	       (!none.source || (!d->length && !d->u.at.src_off &&
				 d->u.at.src_region == BGDMA_NONE)) &&
	       (!none.counter || d->inj_ctr == BGDMA_NONE) &&
	       (!is_gate(d->op) || !d->u.at.dst_off) &&
	       (!none.rec_ctr || d->rec_ctr == BGDMA_NONE) &&
	       (!none.sink || inlined || (d->u.at.dst_region == BGDMA_NONE &&
					  !d->u.at.dst_off));
}

static bool route_good(u8 route, struct unused none)
{
	unsigned int axis;

	for (axis = 0; axis < 3; axis++)
		if ((route >> 2 * axis & 3) == 3)
			return false;
	if (none.route)
		return !route;
	return !(route & BGDMA_ROUTE_DEPOSIT) ||
	       (!(route & BGDMA_ROUTE_ADAPTIVE) &&
		__builtin_popcount(route & BGDMA_HINTS) == 1);
}

/* Own ones name a group to go down a line, others the one they came under. */
static bool group_good(const struct bgdma_stream *s)
{
	const struct bgdma_desc *d = &s->x.desc;

	if (d->flags & BGDMA_DESC_GROUP && d->epoch)
		return false;
	if (!s->remote)
		return !(d->flags & BGDMA_DESC_GROUP) ==
		       !(d->route & BGDMA_ROUTE_DEPOSIT);
	return !(d->route & BGDMA_ROUTE_DEPOSIT) &&
	       (!(d->flags & BGDMA_DESC_GROUP) ||
		(s->group && d->dst_ctx == s->group - 1));
}

static bool atomic_good(const struct bgdma_desc *d)
{
	u32 op = d->dispatch >> 8, type = d->dispatch & 255;
	u32 size = type < 2 ? 4 : 8;
	bool fetch = d->flags & BGDMA_DESC_FETCH;

	if (op > 9 || type > 3 || (!op && !fetch))
		return false;
	if (!d->length || d->length % size || d->length > 1U << 30)
		return false;
	if (d->length > size)
		return op != BGDMA_ATOMIC_CAS && !d->cookie;
	return fetch || op == BGDMA_ATOMIC_CAS ||
	       (d->u.at.src_region == BGDMA_NONE && !d->u.at.src_off);
}

static bool length_good(const struct bgdma_desc *d)
{
	if (d->op == BGDMA_OP_ATOMIC)
		return atomic_good(d);
	if (d->op == BGDMA_OP_RGET)
		return d->length && d->length % 64 == 0 && d->length / 64 <= 16 &&
		       d->u.at.src_region != BGDMA_NONE;
	if (d->flags & BGDMA_DESC_INLINE)
		return d->length <= 24;
	return d->length <= 1U << 30;
}

static bool target_good(const struct bgdma_stream *s, struct unused none)
{
	const struct bgdma_desc *d = &s->x.desc;

	if (s->remote && (is_gate(d->op) || is_tree(d->op) ||
			  d->op == BGDMA_OP_ATOMIC))
		return false;
	if (s->remote && !none.target && d->flags & BGDMA_DESC_GROUP)
		return d->dst_rank == s->who.rank;
	return !s->remote || none.target ||
	       (d->dst_rank == s->who.rank && d->dst_ctx == s->who.ctx) ||
	       (d->dst_rank == s->ctx->rank && d->dst_ctx == s->ctx->id);
}

static void check(const struct bgdma_stream *s)
{
	const struct bgdma_desc *d = &s->x.desc;
	struct unused none = unused_of(d->op);
	struct bgdma_fault fault;
	u32 code = bgdma_desc_check(s, &fault);
	bool good = (d->op <= BGDMA_OP_TREE_P2P || is_gate(d->op)) &&
		    fields_good(d, none) && group_good(s) &&
		    route_good(d->route, none) && length_good(d) &&
		    target_good(s, none);

	must(good == (code == BGDMA_OK));
	must(code <= BGDMA_E_PROVENANCE || code == BGDMA_E_GROUP);
	must(code == BGDMA_E_OP || d->op < BGDMA_OP_COUNT);
	must(code != BGDMA_E_OP || d->op >= BGDMA_OP_COUNT ||
	     d->op == BGDMA_OP_ATOMIC);
	must(!good || (!fault.offset && !fault.bound && !fault.code));
}

/* What is built of good values is good, and holds them. */
static void build(struct bgdma_stream *s, struct input *in)
{
	static void (*const builders[])(struct bgdma_desc *,
					const struct bgdma_transfer *) = {
		bgdma_desc_memfifo, bgdma_desc_local_memfifo, bgdma_desc_put,
		bgdma_desc_local_copy, bgdma_desc_rget,
	};
	unsigned int op = take(in, 1) % ARRAY_SIZE(builders);
	struct bgdma_desc *d = &s->x.desc;
	struct bgdma_transfer t = {
		.dest = (u32)take(in, 4), .dest_ctx = (u16)take(in, 2),
		.dest_fifo = (u16)take(in, 2), .dispatch = (u16)take(in, 2),
		.length = (u32)take(in, 4) % (BGDMA_LENGTH_MAX + 1),
		.from = { (u32)take(in, 4), take(in, 8) },
		.to = { (u32)take(in, 4), take(in, 8) },
		.counter = (u32)take(in, 4), .remote_counter = (u32)take(in, 4),
		.flags = take(in, 1) & BGDMA_DESC_FENCE,
		.route = take(in, 1) & (BGDMA_ROUTE_ADAPTIVE | BGDMA_HINT_PLUS),
		.cookie = take(in, 8),
	};
	bool inlined = op < 2 && in->left && in->left <= BGDMA_INLINE_MAX;
	struct bgdma_fault fault;

	if (inlined)
		t.length = (u32)in->left;
	if (op == 4)
		t.length = (t.length % BGDMA_RGET_DESC_MAX + 1) * 64;
	if (op == 4 && (!t.from.region || t.from.region == BGDMA_NONE))
		t.from.region = 1;
	memset(d, 0xa5, sizeof(*d));
	builders[op](d, &t);
	if (inlined) {
		bgdma_desc_inline(d, in->data, in->left);
		must(!memcmp(d->u.inline_data, in->data, in->left));
	} else {
		must(d->u.at.src_off == t.from.offset);
		must(d->u.at.src_region ==
		     (t.from.region ? t.from.region : BGDMA_NONE));
	}
	must(d->length == t.length);
	s->remote = false;
	must(bgdma_desc_check(s, &fault) == BGDMA_OK);
	must(d->cookie == t.cookie);
	must(d->inj_ctr == (t.counter ? t.counter : BGDMA_NONE));

	/* Of those with a target, one for a line, and one that came by it. */
	if (op == 1 || op == 3)
		return;
	bgdma_desc_deposit(d, (u32)t.dest_ctx, BGDMA_ROUTE_YM, t.dest);
	must(bgdma_desc_check(s, &fault) == BGDMA_OK);
	d->route = 0;
	bgdma_desc_under(d, (u32)t.dest_ctx);
	s->remote = true;
	s->who.rank = t.dest;
	s->group = t.dest_ctx + 1;
	must(bgdma_desc_check(s, &fault) ==
	     (s->group ? BGDMA_OK : BGDMA_E_GROUP));
}

static void build_one_sided(struct bgdma_stream *s, struct input *in)
{
	u8 op = take(in, 1), type = take(in, 1) % BGDMA_ATOMIC_TYPE_COUNT;
	u8 gate = BGDMA_OP_EPOCH_BEGIN + op % 3;
	struct bgdma_desc *d = &s->x.desc;
	struct bgdma_fault fault;
	struct bgdma_transfer t = {
		.dest = (u32)take(in, 4), .dest_ctx = (u16)take(in, 2),
		.dispatch = BGDMA_ATOMIC(op % BGDMA_ATOMIC_OP_COUNT, type),
		.length = type < 2 ? 4 : 8,
		.from = { (u32)take(in, 4), take(in, 8) },
		.to = { (u32)take(in, 4), take(in, 8) },
		.counter = (u32)take(in, 4), .flags = BGDMA_DESC_FETCH,
		.cookie = take(in, 8), .epoch = (u32)take(in, 4) | 1,
	};

	s->remote = false;
	bgdma_desc_atomic(d, &t);
	must(bgdma_desc_check(s, &fault) == BGDMA_OK);
	must(d->cookie == t.cookie && d->dispatch == t.dispatch);
	t.flags = 0;
	if (gate != BGDMA_OP_EPOCH_CLOSE)
		t.cookie = 0;
	if (gate == BGDMA_OP_EPOCH_END)
		t.counter = 0;
	t.from = (struct bgdma_at){ 0, 0 };
	t.length = 0;
	bgdma_desc_gate(d, gate, &t);
	must(bgdma_desc_check(s, &fault) == BGDMA_OK);
	must(d->epoch == t.epoch && d->cookie == t.cookie);
	must(d->u.at.dst_region == (t.to.region ? t.to.region : BGDMA_NONE));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bgdma_stream s = { 0 };
	struct bgdma_ctx ctx = { 0 };
	struct input in = { data, size };
	u8 how = (u8)take(&in, 1);

	s.ctx = &ctx;
	if (how & 1) {
		if (how & 8)
			build_one_sided(&s, &in);
		else
			build(&s, &in);
		return 0;
	}
	/* Often near the sender and the owner, who are near each other. */
	s.remote = how & 2;
	s.who.rank = (u32)take(&in, 1);
	s.who.ctx = (u16)take(&in, 1);
	ctx.rank = (u32)take(&in, 1);
	ctx.id = (u16)take(&in, 1);
	s.group = (u16)take(&in, 1) * (how >> 3 & 1);
	/* From a good one on: the rest of the input is changed in it. */
	if (how & 4)
		bgdma_desc_nop(&s.x.desc, 0);
	take_into(&in, &s.x.desc, sizeof(s.x.desc));
	check(&s);
	return 0;
}
