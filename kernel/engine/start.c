// SPDX-License-Identifier: GPL-2.0
/*
 * What is looked at before a transfer begins, unless it is as the one before was.
 */
#include "../bgdma.h"
#include "../trace.h"
#include "busy.h"
#include "group.h"
#include "train.h"

static void bgdma_desc_remember(struct bgdma_stream *s)
{
	const struct bgdma_desc *d = &s->x.desc;
	struct bgdma_good *good = &s->good;

	/*
	 * Where both places are used, or none, the second half is free, and so
	 * is the operand of one element; of a remote get little is not.
	 */
	if (d->op == BGDMA_OP_RGET)
		good = &s->good_rget;
	else if (!(d->flags & BGDMA_DESC_INLINE) && d->op != BGDMA_OP_PUT &&
		 d->op != BGDMA_OP_LOCAL_COPY &&
		 !(d->flags & BGDMA_DESC_FETCH && bgdma_atomic_is_single(d)))
		return;
	if (d->flags & BGDMA_DESC_GROUP)
		return;
	/* It is looked for what is on its way. */
	if (d->flags & BGDMA_DESC_FENCE && s->tx)
		return;
	memcpy(good->half, d, sizeof(good->half));
	good->known = true;
}

/*
 * A good descriptor that names no group, or what its group makes of it. None is
 * remembered under a group: the group of the next may be another.
 */
static u32 bgdma_group_begin(struct bgdma_stream *s)
{
	if (!(s->x.desc.flags & BGDMA_DESC_GROUP)) {
		s->group = 0;
		return BGDMA_OK;
	}
	bgdma_good_forget(s);
	return s->remote ? bgdma_group_localize(s) : s->ctx->partition->fabric->line(s);
}

/*
 * Wait until nothing that was begun before is on its way. What one before it in a
 * remote-get queue has dropped meanwhile does nothing.
 */
static int bgdma_op_fence(struct bgdma_stream *s)
{
	int ret = s->ctx->partition->fabric->fence(s);

	s->x.fenced = ret == BGDMA_STEP_WAIT;
	if (ret == BGDMA_STEP_DONE && s->kind == BGDMA_KIND_RGET_QUEUE &&
	    unlikely(bgdma_rgq_dropped(s)))
		s->x.desc = bgdma_nop();
	return ret;
}

/**
 * bgdma_op_resume() - who waited at a fence was woken
 * @s: owned, with a tx
 *
 * He sees for himself: something has arrived, maybe not all.
 *
 * Return: BGDMA_STEP_DONE or BGDMA_STEP_WAIT.
 */
noinline int bgdma_op_resume(struct bgdma_stream *s)
{
	int ret = bgdma_op_fence(s);

	if (ret == BGDMA_STEP_DONE)
		trace_bgdma_execute(s);
	return ret;
}

/* The combining network knows whether it can be. */
static u32 bgdma_tree_begin(struct bgdma_stream *s)
{
	u8 op = s->x.desc.op;
	u32 code;

	if (!bgdma_op_is_tree(op) && op != BGDMA_OP_TREE_P2P)
		return BGDMA_OK;
	bgdma_slice_begin();
	code = bgdma_tree.begin(s);
	bgdma_slice_end();
	return code;
}

/**
 * bgdma_op_look() - a transfer whose descriptor is not as the last was
 * @s: owned
 *
 * Return: 0 if it is good; BGDMA_STEP_WAIT at a fence; or an enum bgdma_code, with
 * s->x.fault.
 */
noinline int bgdma_op_look(struct bgdma_stream *s)
{
	struct bgdma_xfer *x = &s->x;

	/* The engine's own. */
	if (s->kind == BGDMA_KIND_EDGE)
		return 0;
	x->fault.code = bgdma_desc_check(s, &x->fault) ?:
			bgdma_group_begin(s) ?: bgdma_tree_begin(s);
	if (x->fault.code)
		return x->fault.code;
	bgdma_desc_remember(s);
	if (likely(!s->tx || !(x->desc.flags & BGDMA_DESC_FENCE)))
		return 0;
	return bgdma_op_counter(s) ?: bgdma_op_fence(s);
}
