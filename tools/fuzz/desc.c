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
	u8 flags;
};

static struct unused unused_of(u8 op)
{
	struct unused none = { .flags = (u8)~BGDMA_DESC_FENCE };
	const u8 packet = BGDMA_DESC_INTERRUPT | BGDMA_DESC_INLINE;

	switch (op) {
	case BGDMA_OP_NOP:
		none.target = none.fifo = none.dispatch = none.cookie = true;
		none.source = none.sink = none.rec_ctr = none.route = true;
		break;
	case BGDMA_OP_LOCAL_MEMFIFO:
		none.target = none.route = true;
		/* fall through */
	case BGDMA_OP_MEMFIFO:
		none.sink = true;
		none.flags &= ~(packet | BGDMA_DESC_OPS);
		break;
	case BGDMA_OP_LOCAL_COPY:
		none.target = none.route = true;
		/* fall through */
	case BGDMA_OP_PUT:
		none.fifo = none.dispatch = true;
		none.flags &= ~BGDMA_DESC_OPS;
		break;
	case BGDMA_OP_RGET:
		none.dispatch = none.sink = none.rec_ctr = true;
		break;
	}
	return none;
}

static bool fields_good(const struct bgdma_desc *d, struct unused none)
{
	bool inlined = d->flags & BGDMA_DESC_INLINE;

	return !d->resv && !d->epoch && !(d->flags & none.flags) &&
	       !(d->class_prio & ~(none.target ? 0 : BGDMA_PRIORITY)) &&
	       (!none.target || (!d->dst_rank && !d->dst_ctx)) &&
	       (!none.fifo || !d->dst_fifo) &&
	       (!none.dispatch || !d->dispatch) &&
	       (!none.cookie || !d->cookie) &&
	       (!none.source || (d->inj_ctr == BGDMA_NONE && !d->length &&
				 d->u.at.src_region == BGDMA_NONE &&
				 !d->u.at.src_off)) &&
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
	return none.route ? !route : !(route & BGDMA_ROUTE_DEPOSIT);
}

static bool length_good(const struct bgdma_desc *d)
{
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
	bool good = d->op <= BGDMA_OP_RGET && fields_good(d, none) &&
		    route_good(d->route, none) && length_good(d) &&
		    target_good(s, none);

	must(good == (code == BGDMA_OK));
	must(code <= BGDMA_E_PROVENANCE);
	must((code == BGDMA_E_OP) == (d->op >= BGDMA_OP_COUNT));
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
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bgdma_stream s = { 0 };
	struct bgdma_ctx ctx = { 0 };
	struct input in = { data, size };
	u8 how = (u8)take(&in, 1);

	s.ctx = &ctx;
	if (how & 1) {
		build(&s, &in);
		return 0;
	}
	/* Often near the sender and the owner, who are near each other. */
	s.remote = how & 2;
	s.who.rank = (u32)take(&in, 1);
	s.who.ctx = (u16)take(&in, 1);
	ctx.rank = (u32)take(&in, 1);
	ctx.id = (u16)take(&in, 1);
	/* From a good one on: the rest of the input is changed in it. */
	if (how & 4)
		bgdma_desc_nop(&s.x.desc, 0);
	take_into(&in, &s.x.desc, sizeof(s.x.desc));
	check(&s);
	return 0;
}
