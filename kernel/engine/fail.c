// SPDX-License-Identifier: GPL-2.0
/*
 * Transfers that end before their time: both sides are told.
 */
#include "../bgdma.h"
#include "../trace.h"
#include "busy.h"
#include "deliver.h"
#include "train.h"

/**
 * bgdma_inj_fail_counter() - show on its injection counter that a transfer failed
 * @s: its stream, or what stands for it, as it was at this transfer; s->x.fault says why
 * @left: bytes that the counter still has to lose
 */
void bgdma_inj_fail_counter(struct bgdma_stream *s, u32 left)
{
	struct bgdma_record why;
	int slot;

	if (s->x.desc.inj_ctr == cpu_to_le32(BGDMA_NONE))
		return;
	bgdma_record_of(s, &why);
	bgdma_slice_begin();
	slot = bgdma_inj_slot(s);
	if (slot >= 0)
		bgdma_counter_fail(s->ctx, BGDMA_INJECTION, slot, left, &why);
	bgdma_slice_end();
}

/* An edge's packets are whole, and count nothing. */
static void bgdma_tree_abort(struct bgdma_stream *s)
{
	if (s->kind == BGDMA_KIND_EDGE || s->remote)
		return;
	bgdma_slice_begin();
	bgdma_tree.abort(s);
	bgdma_slice_end();
}

/*
 * End a transfer that cannot go on, on both sides. Its counters show the error,
 * and what it had left to count is taken off them, so that others who share
 * them finish.
 */
static void bgdma_op_end(struct bgdma_stream *s)
{
	struct bgdma_xfer *x = &s->x;
	u32 left;

	bgdma_stat_add(s->stats.errors, 1);
	trace_bgdma_error(s);
	left = bgdma_desc_counts(&x->desc) - x->done + x->uncounted;
	if (unlikely(bgdma_op_is_tree(x->desc.op)))
		bgdma_tree_abort(s);
	/* One that never began is nothing to the other side. */
	else if (x->active && x->desc.op != BGDMA_OP_NOP)
		s->ctx->partition->fabric->abort(s, left);
	/* One that was no good shows it on its counter too, if it has one. */
	if (x->desc.route & BGDMA_ROUTE_DEPOSIT)
		left = bgdma_desc_counts(&x->desc);
	if (x->fault.code != BGDMA_E_INDEX && left <= BGDMA_LENGTH_MAX)
		bgdma_inj_fail_counter(s, left);
	WRITE_ONCE(x->active, false);
	x->fenced = false;
	s->deadline = 0;
}

/* An injection FIFO stops; a descriptor from elsewhere is refused. */
static void bgdma_fail_tell(struct bgdma_stream *s, struct bgdma_stream *at)
{
	if (s->kind == BGDMA_KIND_INJ_FIFO) {
		bgdma_inj_fail(container_of(s, struct bgdma_inj_fifo, s), at);
	} else if (s->kind == BGDMA_KIND_EDGE) {
		bgdma_tree.failed(s, at);
	} else {
		bgdma_rgq_refuse(s, at);
		s->ctx->partition->fabric->refused(at);
	}
}

/**
 * bgdma_op_fail() - a transfer cannot go on
 * @s: owned; s->x.fault says why
 *
 * An injection FIFO stops; a descriptor from elsewhere is refused.
 */
void bgdma_op_fail(struct bgdma_stream *s)
{
	bgdma_op_end(s);
	bgdma_fail_tell(s, s);
	/* Whoever sees that the descriptor has ended sees why. */
	if (s->tx)
		s->ctx->partition->fabric->ended(s);
}

/**
 * bgdma_late_fail() - a transfer failed after all of it had been sent
 * @s: stream; who owns it is at another transfer, or at none
 * @at: stands for it, as it was at this transfer; at->x.fault says why
 *
 * Its counter shows it already. The other side knows: it said so, or is gone.
 */
void bgdma_late_fail(struct bgdma_stream *s, struct bgdma_stream *at)
{
	bgdma_stat_add(s->stats.errors, 1);
	trace_bgdma_error(at);
	bgdma_fail_tell(s, at);
}

/**
 * bgdma_op_cancel() - end the transfer under way, if there is one
 * @s: owned, not parked
 *
 * The counters show it; the FIFO is not in error, its owner asked for it.
 */
void bgdma_op_cancel(struct bgdma_stream *s)
{
	struct bgdma_xfer *x = &s->x;

	if (!x->active)
		return;
	x->fault = (struct bgdma_fault) {
		.code = BGDMA_E_CANCELLED,
		.offset = x->done,
		.bound = le32_to_cpu(x->desc.length),
	};
	bgdma_op_end(s);
}

/*
 * Does the FIFO show that another transfer failed, which was on its way? It shows one at
 * a time: this one is tried again when that was cleared, and then fails alone. So it is
 * where the other side cannot be told yet.
 */
static bool bgdma_op_waits(struct bgdma_stream *s)
{
	const struct bgdma_fabric_ops *fabric = s->ctx->partition->fabric;
	bool waits;

	if (!s->x.active)
		return false;
	if (s->kind == BGDMA_KIND_INJ_FIFO &&
	    test_bit(BGDMA_STREAM_ERROR, &s->flags))
		return true;
	if (!fabric->tells || s->x.desc.op == BGDMA_OP_NOP ||
	    bgdma_op_is_tree(s->x.desc.op))
		return false;
	bgdma_slice_begin();
	waits = !fabric->tells(s);
	bgdma_slice_end();
	return waits;
}

/**
 * bgdma_op_step() - a step did not end the transfer here
 * @s: owned
 * @ret: the step's result, not BGDMA_STEP_DONE
 *
 * Return: true, if the stream has another step now.
 */
bool bgdma_op_step(struct bgdma_stream *s, int ret)
{
	if (ret > 0) {
		if (bgdma_op_waits(s))
			return false;
		bgdma_op_fail(s);
	} else if (ret == BGDMA_STEP_SENT) {
		WRITE_ONCE(s->x.active, false);
		s->deadline = 0;
	} else {
		return ret == BGDMA_STEP_HOP;
	}
	return true;
}
