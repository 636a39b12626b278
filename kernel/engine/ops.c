// SPDX-License-Identifier: GPL-2.0
/*
 * Running a stream: descriptor after descriptor, each slice by slice
 * (engine/busy.h): find the source bytes, hand them to the fabric, count them.
 * Every slice asks for everything again, so that what the owner of an object
 * takes back is gone with the next.
 */
#include "../bgdma.h"
#include "../control/trace.h"
#include "busy.h"
#include "engine.h"
#include "region.h"
#include "train.h"

static const struct bgdma_fabric_ops *bgdma_fabric(const struct bgdma_stream *s)
{
	return s->ctx->partition->fabric;
}

/*
 * The source bytes of a slice, with a busy region. They are described in the
 * stream: a structure on the stack would be cleared first.
 */
static __always_inline int bgdma_source_get(struct bgdma_stream *s, u32 rights,
					    u32 n, struct bgdma_region **region)
{
	struct bgdma_xfer *x = &s->x;
	u64 off;

	/* The sum cannot wrap where the first slice was within bounds. */
	off = le64_to_cpu(x->desc.u.at.src_off) + x->done;
	*region = bgdma_region_again(s->ctx,
				     le32_to_cpu(x->desc.u.at.src_region),
				     &s->who, rights, off,
				     le32_to_cpu(x->desc.length) - x->done,
				     &x->fault, rights == BGDMA_RIGHT_READ ?
					&s->memo.src : &s->memo.descs);
	if (unlikely(!*region))
		return x->fault.code;
	bgdma_region_span(*region, off, n, &x->slice);
	return 0;
}

/*
 * Take what was moved off the counters. When the last piece was delivered the
 * target has counted already.
 */
static __always_inline void bgdma_xfer_count(struct bgdma_stream *s, bool last)
{
	struct bgdma_xfer *x = &s->x;
	u32 n = x->uncounted;

	x->uncounted = 0;
	bgdma_inj_count(s, n);
	if (!last && n && x->desc.rec_ctr != cpu_to_le32(BGDMA_NONE) &&
	    !(x->desc.flags & BGDMA_DESC_OPS))
		bgdma_fabric(s)->count(s, n);
}

static __always_inline int bgdma_move_slice(struct bgdma_stream *s, u32 n)
{
	const struct bgdma_fabric_ops *fabric = bgdma_fabric(s);
	const struct bgdma_payload *p = &s->x.slice;
	struct bgdma_region *region;
	u8 op = s->x.desc.op;
	int ret;

	bgdma_slice_begin();
	ret = bgdma_source_get(s, op == BGDMA_OP_RGET ? BGDMA_RIGHT_FETCH :
							BGDMA_RIGHT_READ,
			       n, &region);
	if (unlikely(ret))
		goto out;
	if (op == BGDMA_OP_MEMFIFO)
		ret = fabric->memfifo(s, p, n);
	else if (op == BGDMA_OP_PUT)
		ret = fabric->put(s, p, n);
	else if (op == BGDMA_OP_RGET)
		ret = fabric->rget(s, p, n / sizeof(struct bgdma_desc));
	else if (op == BGDMA_OP_LOCAL_COPY)
		ret = bgdma_deliver_put(s->ctx, s, p, n);
	else
		ret = bgdma_deliver_memfifo(s->ctx, s, p, n);
	bgdma_busy_put(&region->busy);
out:
	bgdma_slice_end();
	return ret;
}

static const u64 *bgdma_desc_half(const struct bgdma_stream *s)
{
	return (const u64 *)&s->x.desc;
}

/*
 * Senders repeat themselves: a descriptor whose first half equals that of the
 * last good one is good, if nothing else is looked at.
 */
static bool bgdma_desc_known(const struct bgdma_stream *s)
{
	const u64 *d = bgdma_desc_half(s);

	return s->has_good && d[0] == s->good[0] && d[1] == s->good[1] &&
	       d[2] == s->good[2] && d[3] == s->good[3];
}

static void bgdma_desc_remember(struct bgdma_stream *s)
{
	const struct bgdma_desc *d = &s->x.desc;

	/* Where both places are used, or none, the second half is free. */
	if (!(d->flags & BGDMA_DESC_INLINE) && d->op != BGDMA_OP_PUT &&
	    d->op != BGDMA_OP_LOCAL_COPY)
		return;
	memcpy(s->good, d, sizeof(s->good));
	s->has_good = true;
}

/* What must be good before anything moves. */
static int bgdma_op_start(struct bgdma_stream *s)
{
	struct bgdma_xfer *x = &s->x;

	if (!bgdma_desc_known(s)) {
		u32 code = bgdma_desc_check(s, &x->fault);

		if (code) {
			x->fault.code = code;
			return code;
		}
		bgdma_desc_remember(s);
	}
	if (x->desc.inj_ctr != cpu_to_le32(BGDMA_NONE)) {
		int slot;

		bgdma_slice_begin();
		slot = bgdma_inj_slot(s);
		bgdma_slice_end();
		if (unlikely(slot < 0)) {
			x->fault = (struct bgdma_fault) {
				.code = -slot,
				.offset = le32_to_cpu(x->desc.inj_ctr),
			};
			return x->fault.code;
		}
	}
	x->checked = true;
	trace_bgdma_execute(s);
	return 0;
}

/*
 * A message whose payload is in its descriptor, and the train behind it. When
 * the delivery stops, the stream is at the last message that it tried.
 */
static __always_inline int bgdma_run_inline(struct bgdma_stream *s,
					    struct bgdma_budget *budget)
{
	struct bgdma_xfer *x = &s->x;
	u32 n = le32_to_cpu(x->desc.length);
	s32 train = min3((s32)x->behind, budget->descs, BGDMA_TRAIN_MAX);
	int ret;

	x->train = train;
	bgdma_slice_begin();
	if (x->desc.op == BGDMA_OP_MEMFIFO)
		ret = bgdma_fabric(s)->memfifo(s, NULL, n);
	else
		ret = bgdma_deliver_memfifo(s->ctx, s, NULL, n);
	bgdma_slice_end();
	train -= x->train;
	x->train = 0;
	budget->descs -= train;
	budget->bytes -= train * n;
	if (unlikely(ret))
		return ret;
	x->done = n;
	budget->bytes -= n;
	bgdma_message_count(s, n);
	return BGDMA_STEP_DONE;
}

static __always_inline int bgdma_run_slices(struct bgdma_stream *s,
					    struct bgdma_budget *budget)
{
	struct bgdma_xfer *x = &s->x;
	u32 length = le32_to_cpu(x->desc.length);
	u32 max = x->desc.op == BGDMA_OP_PUT ||
		  x->desc.op == BGDMA_OP_LOCAL_COPY ?
		BGDMA_SLICE_MAX : BGDMA_PACKET_MAX;
	int ret;

	do {
		u32 n = min(length - x->done, max);

		ret = bgdma_move_slice(s, n);
		if (ret)
			break;
		x->done += n;
		x->uncounted += n;
		budget->bytes -= n;
		s->stats.packets++;
		s->stats.bytes_copied += n;
		if (x->done == length)
			break;
		if (budget->bytes <= 0 || bgdma_stream_must_stop(s))
			ret = BGDMA_STEP_AGAIN;
	} while (!ret);

	if (ret <= 0)
		bgdma_xfer_count(s, !ret);
	return ret;
}

/* As a step: BGDMA_STEP_*, or an enum bgdma_code with s->x.fault. */
static __always_inline int bgdma_op_run(struct bgdma_stream *s,
					struct bgdma_budget *budget)
{
	if (!s->x.checked) {
		int ret = bgdma_op_start(s);

		if (unlikely(ret))
			return ret;
	}
	if (s->x.desc.flags & BGDMA_DESC_INLINE)
		return bgdma_run_inline(s, budget);
	if (s->x.desc.op == BGDMA_OP_NOP)
		return BGDMA_STEP_DONE;
	return bgdma_run_slices(s, budget);
}

static void bgdma_inj_fail_counter(struct bgdma_stream *s, u32 left)
{
	struct bgdma_record why;
	int slot;

	if (s->x.desc.inj_ctr == cpu_to_le32(BGDMA_NONE))
		return;
	bgdma_record_of(s, &why);
	bgdma_slice_begin();
	slot = bgdma_inj_slot(s);
	if (slot >= 0) {
		bgdma_counter_sub(s->ctx, BGDMA_INJECTION, slot, left);
		bgdma_counter_fail(s->ctx, BGDMA_INJECTION, slot, &why);
	}
	bgdma_slice_end();
}

/*
 * End a transfer that cannot go on, on both sides. What it had left to count
 * is taken off its counters, so that others who share them finish, and then
 * they show the error.
 */
static void bgdma_op_end(struct bgdma_stream *s)
{
	struct bgdma_xfer *x = &s->x;
	u32 left;

	s->stats.errors++;
	trace_bgdma_error(s);
	left = le32_to_cpu(x->desc.length) - x->done + x->uncounted;
	if (x->checked && x->desc.op != BGDMA_OP_NOP)
		bgdma_fabric(s)->abort(s, left);
	/* One that was no good shows it on its counter too, if it has one. */
	if (x->fault.code != BGDMA_E_INDEX && left <= BGDMA_LENGTH_MAX)
		bgdma_inj_fail_counter(s, left);
	x->active = false;
	s->deadline = 0;
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
	if (s->kind == BGDMA_KIND_INJ_FIFO) {
		bgdma_inj_fail(container_of(s, struct bgdma_inj_fifo, s));
	} else {
		bgdma_rgq_refuse(s);
		bgdma_fabric(s)->refused(s);
	}
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

/* 1: a transfer is under way; 0: none; negative: s->x.fault. */
static __always_inline int bgdma_stream_next(struct bgdma_stream *s)
{
	struct bgdma_xfer *x = &s->x;
	int ret;

	ret = s->fetch ? s->fetch(s) : bgdma_inj_fetch(s);
	if (!ret)
		return 0;
	x->done = 0;
	x->uncounted = 0;
	x->checked = false;
	bgdma_xfer_begin(s);
	x->active = ret > 0;
	return ret;
}

/* @fifo: the stream's, or NULL for one of a remote-get queue */
static __always_inline int bgdma_stream_loop(struct bgdma_stream *s,
					     struct bgdma_inj_fifo *fifo,
					     struct bgdma_budget *budget)
{
	do {
		int ret = 1;	/* what next() says of a transfer under way */

		/* Parked: whoever had it before us, after we looked. */
		if (unlikely(READ_ONCE(s->ctx->dead) ||
			     (READ_ONCE(s->flags) & BGDMA_STREAM_HALTED)))
			return BGDMA_STEP_DONE;
		if (!s->x.active)
			ret = bgdma_stream_next(s);
		if (!ret)
			return BGDMA_STEP_DONE;
		budget->descs--;
		ret = ret < 0 ? s->x.fault.code : bgdma_op_run(s, budget);
		if (ret < 0)
			return ret;
		if (unlikely(ret)) {
			bgdma_op_fail(s);
			continue;
		}
		s->x.active = false;
		s->deadline = 0;
		bgdma_xfer_end(s, fifo);
		if (fifo && !bgdma_inj_pending(fifo))
			return BGDMA_STEP_DONE;
	} while (budget->descs > 0 && budget->bytes > 0);
	return BGDMA_STEP_AGAIN;
}

/**
 * bgdma_stream_run() - run a stream until it has nothing to do, or had enough
 * @s: owned
 * @budget: more than nothing; reduced by what was done
 *
 * Return: BGDMA_STEP_DONE, _AGAIN, or _WAIT when it was parked.
 */
int bgdma_stream_run(struct bgdma_stream *s, struct bgdma_budget *budget)
{
	struct bgdma_budget left = *budget;	/* in registers */
	struct bgdma_inj_fifo *fifo = NULL;
	int ret;

	if (s->kind == BGDMA_KIND_INJ_FIFO)
		fifo = container_of(s, struct bgdma_inj_fifo, s);
	ret = bgdma_stream_loop(s, fifo, &left);
	*budget = left;
	if (fifo)
		bgdma_inj_tell(fifo);
	return ret;
}
