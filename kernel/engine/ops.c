// SPDX-License-Identifier: GPL-2.0
/*
 * Running a stream: descriptor after descriptor, each slice by slice
 * (engine/busy.h): find the source bytes, hand them to the fabric, count them.
 * Every slice asks for everything again, so that what the owner of an object
 * takes back is gone with the next.
 */
#include "../bgdma.h"
#include "../trace.h"
#include "busy.h"
#include "deliver.h"
#include "engine.h"
#include "group.h"
#include "packet.h"

/*
 * What is done without copying, in bytes that could have been copied, so that turns
 * are fair: an element that is updated, a node of a line that is looked at, and what is
 * asked of a gate.
 */
#define BGDMA_ATOMIC_COST	128
#define BGDMA_LINE_COST		256
#define BGDMA_GATE_COST		4096U

static const struct bgdma_fabric_ops *bgdma_fabric(const struct bgdma_stream *s)
{
	return s->ctx->partition->fabric;
}

/*
 * The region that a slice at @off is read from, busy; or NULL, with a fault.
 * @left: bytes of the transfer.
 */
static __always_inline struct bgdma_region *
bgdma_source_get(struct bgdma_stream *s, u32 rights, u32 left, u64 off)
{
	return bgdma_region_here(s, le32_to_cpu(s->x.desc.u.at.src_region),
				 rights, off, left,
				 rights == BGDMA_RIGHT_READ ? &s->memo.src :
							      &s->memo.descs);
}

/*
 * Take what was moved off the counters. When the last piece was delivered the
 * target has counted already. What is copied to many has left, once, when the
 * last has it.
 */
static __always_inline void bgdma_xfer_count(struct bgdma_stream *s, bool last)
{
	struct bgdma_xfer *x = &s->x;
	u32 n = x->uncounted;

	x->uncounted = 0;
	if (unlikely(x->desc.route & BGDMA_ROUTE_DEPOSIT))
		bgdma_inj_count(s, last ? le32_to_cpu(x->desc.length) : 0);
	else
		bgdma_inj_count(s, n);
	if (!last && n && x->desc.rec_ctr != cpu_to_le32(BGDMA_NONE) &&
	    !(x->desc.flags & BGDMA_DESC_OPS))
		bgdma_fabric(s)->count(s, n);
}

static noinline int bgdma_land_local(struct bgdma_stream *s, const void *from,
				     const struct bgdma_payload *p, u32 n)
{
	return bgdma_land_put(s->ctx, s, from, p, n, false);
}

/*
 * Bytes of a busy region on their way into another; @from: if they are in one
 * page. Who runs a local copy holds the context.
 */
static __always_inline int bgdma_land(struct bgdma_stream *s,
				      const struct bgdma_region *region,
				      u64 off, const void *from, u32 n,
				      bool whole)
{
	struct bgdma_payload *p = &s->x.slice;
	struct bgdma_ctx *target;
	int ret;

	if (unlikely(!from))
		bgdma_region_span(region, off, n, p);
	if (unlikely(s->x.desc.op != BGDMA_OP_PUT))
		return bgdma_land_local(s, from, p, n);
	target = bgdma_peer_again(s);
	if (likely(target)) {
		ret = bgdma_land_put(target, s, from, p, n, whole);
		bgdma_busy_put(&target->busy);
		return ret;
	}
	bgdma_region_span(region, off, n, p);
	return bgdma_fabric(s)->put(s, p, n);
}

/*
 * Out of a region, held busy, that epochs can be at. Nobody keeps its owner out;
 * a descriptor from elsewhere names its epoch.
 */
static __always_inline int bgdma_source_enter(struct bgdma_stream *s,
					      const struct bgdma_region *region,
					      struct bgdma_region_gate **gate)
{
	u32 epoch;

	if (likely(!s->remote))
		return BGDMA_STEP_DONE;
	epoch = le32_to_cpu(s->x.desc.epoch);
	if (!READ_ONCE(region->gate) && !epoch)
		return BGDMA_STEP_DONE;
	return bgdma_gate_enter(region, s, &s->who, epoch, false, gate);
}

static __always_inline void bgdma_source_leave(struct bgdma_stream *s,
					       struct bgdma_region_gate *gate)
{
	if (unlikely(gate))
		bgdma_gate_leave(gate, s, &s->who,
				 le32_to_cpu(s->x.desc.epoch), false);
}

/* @whole: all of the transfer, for which this is inlined. */
static __always_inline int bgdma_slice_put(struct bgdma_stream *s, u32 n,
					   bool whole)
{
	u64 off = le64_to_cpu(s->x.desc.u.at.src_off);
	struct bgdma_region_gate *gate = NULL;
	struct bgdma_region *region;
	const void *from = NULL;
	u32 left = n;
	int ret;

	if (!whole) {
		/* Cannot wrap where the first slice was within bounds. */
		off += s->x.done;
		left = le32_to_cpu(s->x.desc.length) - s->x.done;
	}
	bgdma_slice_begin();
	region = bgdma_source_get(s, BGDMA_RIGHT_READ, left, off);
	if (likely(region)) {
		if (whole)
			from = bgdma_region_page(region, off, n);
		ret = bgdma_source_enter(s, region, &gate);
		if (likely(!ret))
			ret = bgdma_land(s, region, off, from, n, whole);
		bgdma_source_leave(s, gate);
		bgdma_busy_put(&region->busy);
	} else {
		ret = s->x.fault.code;
	}
	bgdma_slice_end();
	return ret;
}

/* Descriptors of a busy region on their way into a queue. */
static int bgdma_land_rget(struct bgdma_stream *s,
			   const struct bgdma_payload *p, u32 n)
{
	struct bgdma_ctx *target = bgdma_peer_again(s);
	int ret;

	n /= sizeof(struct bgdma_desc);
	if (unlikely(!target))
		return bgdma_fabric(s)->rget(s, p, n);
	ret = bgdma_deliver_rget(target, s, p, n);
	bgdma_busy_put(&target->busy);
	return ret;
}

/* From a region into a queue. */
static int bgdma_slice_queue(struct bgdma_stream *s, u32 n)
{
	struct bgdma_payload *p = &s->x.slice;
	struct bgdma_region_gate *gate = NULL;
	struct bgdma_region *region;
	u8 op = s->x.desc.op;
	u64 off = le64_to_cpu(s->x.desc.u.at.src_off) + s->x.done;
	u32 rights = op == BGDMA_OP_RGET ? BGDMA_RIGHT_FETCH : BGDMA_RIGHT_READ;
	u32 left = le32_to_cpu(s->x.desc.length) - s->x.done;
	int ret;

	bgdma_slice_begin();
	region = bgdma_source_get(s, rights, left, off);
	if (!region) {
		ret = s->x.fault.code;
		goto out;
	}
	ret = bgdma_source_enter(s, region, &gate);
	if (ret)
		goto put;
	bgdma_region_span(region, off, n, p);
	if (op == BGDMA_OP_MEMFIFO || op == BGDMA_OP_TREE_P2P)
		ret = bgdma_fabric(s)->memfifo(s, p, n);
	else if (op == BGDMA_OP_RGET)
		ret = bgdma_land_rget(s, p, n);
	else
		ret = bgdma_deliver_memfifo(s->ctx, s, p, n);
	bgdma_source_leave(s, gate);
put:
	bgdma_busy_put(&region->busy);
out:
	bgdma_slice_end();
	return ret;
}

/*
 * Operands of some elements: those of BGDMA_ATOMIC_CAS, and of more than one, are at
 * the source, else in the descriptor.
 */
static int bgdma_operands_get(struct bgdma_stream *s, void *operands, u32 n)
{
	const struct bgdma_desc *d = &s->x.desc;
	struct bgdma_payload *p = &s->x.slice;
	struct bgdma_region *region;
	u64 off = le64_to_cpu(d->u.at.src_off) + s->x.done;
	u32 i;

	if (bgdma_atomic_is_single(d) &&
	    le16_to_cpu(d->dispatch) >> 8 != BGDMA_ATOMIC_CAS) {
		*(u64 *)operands = le64_to_cpu(d->cookie);
		return BGDMA_STEP_DONE;
	}
	region = bgdma_source_get(s, BGDMA_RIGHT_READ,
				  le32_to_cpu(d->length) - s->x.done, off);
	if (!region)
		return s->x.fault.code;
	bgdma_region_span(region, off, n, p);
	for (i = 0; i < p->pieces; i++) {
		memcpy(operands, p->p[i], p->n[i]);
		operands += p->n[i];
	}
	bgdma_busy_put(&region->busy);
	return BGDMA_STEP_DONE;
}

/*
 * Where what was there before goes: asked for before anything is updated, so
 * that nothing is that cannot be told of.
 */
static bool bgdma_fetched_get(struct bgdma_stream *s,
			      struct bgdma_region **region, u64 off)
{
	const struct bgdma_desc *d = &s->x.desc;

	*region = NULL;
	if (!(d->flags & BGDMA_DESC_FETCH))
		return true;
	*region = bgdma_region_here(s, le32_to_cpu(d->u.at.src_region),
				    BGDMA_RIGHT_WRITE, off,
				    le32_to_cpu(d->length) - s->x.done,
				    &s->memo.dst);
	return *region;
}

/* What is updated at once without a chance to be preempted. */
#define BGDMA_ATOMIC_SLICE	256

static int bgdma_slice_atomic(struct bgdma_stream *s, u32 n)
{
	u64 operands[BGDMA_ATOMIC_SLICE / sizeof(u64)];
	u64 off = le64_to_cpu(s->x.desc.u.at.src_off) + s->x.done;
	struct bgdma_region *fetched;
	u32 done = n;
	int ret;

	bgdma_slice_begin();
	if (!bgdma_fetched_get(s, &fetched, off)) {
		ret = s->x.fault.code;
		goto out;
	}
	ret = bgdma_operands_get(s, operands, n);
	if (!ret)
		ret = bgdma_fabric(s)->atomic(s, operands, &done);
	if (fetched) {
		if (!ret)
			bgdma_region_write_bytes(fetched, off, operands, done);
		bgdma_busy_put(&fetched->busy);
	}
	if (!ret && done < n) {
		/* Somebody keeps the next one busy. */
		s->x.done += done;
		s->x.uncounted += done;
		ret = BGDMA_STEP_AGAIN;
	}
out:
	bgdma_slice_end();
	return ret;
}

static int bgdma_run_gate(struct bgdma_stream *s, long *budget, u32 each)
{
	int ret;

	*budget -= max(each, BGDMA_GATE_COST);
	bgdma_slice_begin();
	ret = bgdma_fabric(s)->gate(s);
	bgdma_slice_end();
	return ret;
}

/*
 * Senders repeat themselves: a descriptor whose first half equals that of the
 * last good one is good, if nothing else is looked at.
 */
static __always_inline bool bgdma_desc_known(const struct bgdma_desc *desc,
					     const struct bgdma_good *good)
{
	const u64 *d = (const u64 *)desc;

	return good->known && d[0] == good->half[0] && d[1] == good->half[1] &&
	       d[2] == good->half[2] && d[3] == good->half[3];
}

/* So is a remote get, if it is filled and its second half has no more than that. */
static bool bgdma_rget_known(const struct bgdma_stream *s)
{
	const struct bgdma_desc *d = &s->x.desc;

	return d->u.at.src_region != cpu_to_le32(BGDMA_NONE) &&
	       d->u.at.dst_region == cpu_to_le32(BGDMA_NONE) &&
	       !d->u.at.dst_off && bgdma_desc_known(d, &s->good_rget);
}

/* So is the owner's own for another target, which its fabric looks for. */
static bool bgdma_desc_retargeted(const struct bgdma_stream *s)
{
	const struct bgdma_desc *good = (const struct bgdma_desc *)s->good.half;
	const struct bgdma_desc *d = &s->x.desc;

	return s->good.known && !s->remote &&
	       (d->op == BGDMA_OP_MEMFIFO || d->op == BGDMA_OP_PUT) &&
	       *(const u32 *)d == *(const u32 *)good &&
	       d->dst_fifo == good->dst_fifo && d->inj_ctr == good->inj_ctr &&
	       ((const u64 *)d)[2] == s->good.half[2] &&
	       ((const u64 *)d)[3] == s->good.half[3];
}

static __always_inline bool bgdma_desc_again(const struct bgdma_stream *s)
{
	return likely(bgdma_desc_known(&s->x.desc, &s->good)) ||
	       bgdma_rget_known(s) || bgdma_desc_retargeted(s);
}

/* What must be good before anything moves. */
static int bgdma_op_start(struct bgdma_stream *s)
{
	int ret;

	if (!bgdma_desc_again(s)) {
		ret = bgdma_op_look(s);
		if (unlikely(ret))
			return ret;
	}
	ret = bgdma_op_counter(s);
	if (unlikely(ret))
		return ret;
	trace_bgdma_execute(s);
	return 0;
}

static __always_inline int bgdma_inline_land(struct bgdma_stream *s, u32 n)
{
	struct bgdma_ctx *target;
	int ret;

	if (unlikely(s->x.desc.op != BGDMA_OP_MEMFIFO))
		return bgdma_deliver_memfifo(s->ctx, s, NULL, n);
	target = bgdma_peer_again(s);
	if (unlikely(!target))
		return bgdma_fabric(s)->memfifo(s, NULL, n);
	ret = bgdma_land_packets(target, s, NULL, n);
	bgdma_busy_put(&target->busy);
	return ret;
}

/*
 * What finding the way of a line was worth in bytes, however few were left with
 * whom it found.
 */
static long bgdma_line_cost(struct bgdma_stream *s)
{
	u32 looked = s->line.looked;

	s->line.looked = 0;
	return (long)looked * BGDMA_LINE_COST;
}

/* One that goes as a whole did not land: it may have been sent. */
static int bgdma_whole_not_landed(struct bgdma_stream *s, u32 n, int ret)
{
	if (ret == BGDMA_STEP_SENT) {
		s->x.done = n;
		bgdma_stat_add(s->stats.packets, 1);
	}
	return ret;
}

/* One that goes as a whole: all of it landed, or nothing did. */
static __always_inline int bgdma_whole(struct bgdma_stream *s, u32 n, int ret)
{
	if (unlikely(ret))
		return bgdma_whole_not_landed(s, n, ret);
	s->x.done = n;
	bgdma_message_count(s, n);
	return BGDMA_STEP_DONE;
}

/*
 * A message whose payload is in its descriptor, and the train behind it. When
 * the delivery stops, the stream is at the last message that it tried.
 */
static __always_inline int bgdma_run_inline(struct bgdma_stream *s,
					    long *budget, u32 each)
{
	struct bgdma_xfer *x = &s->x;
	u32 n = le32_to_cpu(x->desc.length);
	u32 train = min_t(u32, x->tail - (u32)s->head, BGDMA_TRAIN_MAX);
	bool line = x->desc.route & BGDMA_ROUTE_DEPOSIT;
	int ret;

	/* On a line the descriptor is not as it is in the ring. */
	if (unlikely(line))
		train = 0;
	x->train = train;
	bgdma_slice_begin();
	ret = bgdma_inline_land(s, n);
	bgdma_slice_end();
	*budget -= each;
	if (unlikely(line))
		*budget -= bgdma_line_cost(s);
	if (train) {
		*budget -= (long)(train - x->train) * each;
		x->train = 0;
	}
	return bgdma_whole(s, n, ret);
}

typedef int bgdma_slice_fn(struct bgdma_stream *s, u32 n);

static noinline int bgdma_slice_long_put(struct bgdma_stream *s, u32 n)
{
	return bgdma_slice_put(s, n, false);
}

/*
 * Piece by piece, for at most @bytes and what is left of a piece. Each byte counts
 * as @weight.
 */
static noinline int bgdma_run_slices(struct bgdma_stream *s, long bytes,
				     bgdma_slice_fn *slice, u32 max, u32 weight)
{
	struct bgdma_xfer *x = &s->x;
	u32 length = le32_to_cpu(x->desc.length);
	int ret;

	do {
		u32 n = min(length - x->done, max);

		ret = slice(s, n);
		if (ret && ret != BGDMA_STEP_SENT)
			break;
		x->done += n;
		if (!ret)
			x->uncounted += n;
		bytes -= (long)n * weight;
		bgdma_stat_add(s->stats.packets, 1);
		bgdma_stat_add(s->stats.bytes_copied, n);
		if (x->done == length)
			break;
		if (bytes <= 0 || bgdma_stream_must_stop(s))
			ret = BGDMA_STEP_AGAIN;
	} while (!ret || ret == BGDMA_STEP_SENT);

	if (ret <= 0)
		bgdma_xfer_count(s, !ret);
	return ret;
}

static __always_inline int bgdma_run_long(struct bgdma_stream *s,
					  long *budget, u32 each,
					  bgdma_slice_fn *slice, u32 max,
					  u32 weight)
{
	bool line = s->x.desc.route & BGDMA_ROUTE_DEPOSIT;
	u32 before = s->x.done, now;
	int ret;

	ret = bgdma_run_slices(s, *budget, slice, max, weight);
	/* It begins again for the next node, when this one has all of it. */
	now = ret == BGDMA_STEP_HOP ? le32_to_cpu(s->x.desc.length) : s->x.done;
	*budget -= max((long)(now - before) * weight, (long)each);
	if (unlikely(line))
		*budget -= bgdma_line_cost(s);
	return ret;
}

static __always_inline int bgdma_run_put(struct bgdma_stream *s, long *budget,
					 u32 each)
{
	u32 n = le32_to_cpu(s->x.desc.length);
	int ret;

	/* Of no bytes, too: then there is no page that they are in. */
	if (unlikely(n - 1 >= BGDMA_SLICE_MAX))
		return bgdma_run_long(s, budget, each, bgdma_slice_long_put,
				      BGDMA_SLICE_MAX, 1);
	*budget -= max(n, each);
	/* All of it or nothing: it is at its beginning. */
	ret = bgdma_slice_put(s, n, true);
	if (unlikely(s->x.desc.route & BGDMA_ROUTE_DEPOSIT))
		*budget -= bgdma_line_cost(s);
	return bgdma_whole(s, n, ret);
}

/* One slice has room for all that there may be. */
static int bgdma_run_rget(struct bgdma_stream *s, long *budget, u32 each)
{
	u32 n = le32_to_cpu(s->x.desc.length);
	int ret;

	BUILD_BUG_ON(BGDMA_RGET_DESC_MAX * sizeof(struct bgdma_desc) >
		     BGDMA_PACKET_MAX);
	*budget -= max(n, each);
	ret = bgdma_slice_queue(s, n);
	if (unlikely(s->x.desc.route & BGDMA_ROUTE_DEPOSIT))
		*budget -= bgdma_line_cost(s);
	return bgdma_whole(s, n, ret);
}

static int bgdma_run_atomic(struct bgdma_stream *s, long *budget, u32 each)
{
	u32 size = bgdma_atomic_size(le16_to_cpu(s->x.desc.dispatch) & 0xff);
	u32 n = le32_to_cpu(s->x.desc.length);
	int ret;

	if (!bgdma_atomic_is_single(&s->x.desc)) {
		ret = bgdma_run_long(s, budget, each, bgdma_slice_atomic,
				     BGDMA_ATOMIC_SLICE,
				     BGDMA_ATOMIC_COST / size);
	} else {
		*budget -= each;
		ret = bgdma_whole(s, n, bgdma_slice_atomic(s, n));
	}
	/* So much was tried in vain, if somebody keeps an element busy. */
	if (ret == BGDMA_STEP_AGAIN)
		*budget -= BGDMA_ATOMIC_TRIES * BGDMA_ATOMIC_COST;
	return ret;
}

/* As a step: BGDMA_STEP_*, or an enum bgdma_code with s->x.fault. */
static __always_inline int bgdma_op_run(struct bgdma_stream *s, long *budget,
					u32 each)
{
	if (s->x.desc.flags & BGDMA_DESC_INLINE)
		return bgdma_run_inline(s, budget, each);
	if (s->x.desc.op == BGDMA_OP_PUT || s->x.desc.op == BGDMA_OP_LOCAL_COPY)
		return bgdma_run_put(s, budget, each);
	if (s->x.desc.op == BGDMA_OP_RGET)
		return bgdma_run_rget(s, budget, each);
	if (s->x.desc.op == BGDMA_OP_ATOMIC)
		return bgdma_run_atomic(s, budget, each);
	if (bgdma_op_is_gate(s->x.desc.op))
		return bgdma_run_gate(s, budget, each);
	if (bgdma_op_is_tree(s->x.desc.op))
		return bgdma_run_tree(s, budget, each);
	if (s->x.desc.op != BGDMA_OP_NOP)
		return bgdma_run_long(s, budget, each, bgdma_slice_queue,
				      BGDMA_PACKET_MAX, 1);
	*budget -= each;
	return BGDMA_STEP_DONE;
}

/* A transfer is in s->x, if there is any: 0 if it is good, or what is wrong. */
static __always_inline int bgdma_stream_next(struct bgdma_stream *s,
					     struct bgdma_inj_fifo *fifo,
					     bool *any)
{
	struct bgdma_xfer *x = &s->x;
	int ret;

	ret = fifo ? bgdma_inj_fetch(fifo) : s->fetch(s);
	*any = ret;
	if (!ret)
		return 0;
	x->done = 0;
	x->uncounted = 0;
	bgdma_xfer_begin(s);
	if (unlikely(ret < 0))
		return x->fault.code;
	ret = bgdma_op_start(s);
	WRITE_ONCE(x->active, ret <= 0);
	return ret;
}

/* Of a stream that has, or had, something on its way over links. */
static noinline void bgdma_xfer_left(struct bgdma_stream *s)
{
	trace_bgdma_done(s);
	bgdma_fabric(s)->ended(s);
}

/* @fifo: the stream's, or NULL for one of a remote-get queue */
static __always_inline long bgdma_stream_loop(struct bgdma_stream *s,
					      struct bgdma_inj_fifo *fifo,
					      long budget, u32 each)
{
	do {
		bool any = true;
		int ret = 0;

		/* Parked: whoever had it before us, after we looked. */
		if (unlikely(READ_ONCE(s->ctx->dead) ||
			     (READ_ONCE(s->flags) & BGDMA_STREAM_HALTED)))
			break;
		if (!s->x.active)
			ret = bgdma_stream_next(s, fifo, &any);
		else if (unlikely(s->x.fenced))
			ret = bgdma_op_resume(s);
		if (!any)
			break;
		if (likely(!ret))
			ret = bgdma_op_run(s, &budget, each);
		else
			budget -= each;
		if (unlikely(ret)) {
			if (!bgdma_op_step(s, ret))
				break;
			continue;
		}
		WRITE_ONCE(s->x.active, false);
		s->deadline = 0;
		if (likely(!s->tx))
			bgdma_xfer_end(s, fifo);
		else
			bgdma_xfer_left(s);
		if (fifo && !bgdma_inj_pending(fifo))
			break;
	} while (budget > 0);
	return budget;
}

/**
 * bgdma_stream_run() - run a stream until it has nothing to do, or had enough
 * @s: owned
 * @budget: bytes of payload, not none
 * @each: what a descriptor costs of these at least
 *
 * When it was parked it waits for somebody to wake it.
 *
 * Return: what is left of the budget; somewhat below zero when the last
 * transfer or train was longer.
 */
long bgdma_stream_run(struct bgdma_stream *s, long budget, u32 each)
{
	struct bgdma_inj_fifo *fifo = NULL;

	if (s->kind == BGDMA_KIND_INJ_FIFO)
		fifo = container_of(s, struct bgdma_inj_fifo, s);
	budget = bgdma_stream_loop(s, fifo, budget, each);
	if (unlikely(s->tx))
		bgdma_fabric(s)->flush(s);
	if (fifo)
		bgdma_inj_tell(fifo);
	return budget;
}
