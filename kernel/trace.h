/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints: what happens to a transfer, step by step.
 *
 * Every event names the node where it happened: partition, rank, context.
 * Events of a transfer carry its transfer id, the same on both sides, in
 * packets and in error records, so that one grep joins a story together:
 *
 *   inject -> fetch -> execute -> packet, counter, hit_zero -> done | error
 *                         \-> park -> wake
 *
 * Rings are filled without the kernel: inject is when the engine sees it, and
 * doorbell when it is told to look.
 *
 * The partition name is an array, because __assign_str() changed its number
 * of arguments between the kernels that we support.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM bgdma

#if !defined(_BGDMA_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _BGDMA_TRACE_H

#include <linux/string.h>
#include <linux/tracepoint.h>

#include "bgdma.h"

#define BGDMA_TRACE_OPS \
	bgdma_op(NOP, "nop") \
	bgdma_op(MEMFIFO, "memfifo") \
	bgdma_op(LOCAL_MEMFIFO, "local-memfifo") \
	bgdma_op(PUT, "put") \
	bgdma_op(LOCAL_COPY, "local-copy") \
	bgdma_op(RGET, "remote-get") \
	bgdma_op(ATOMIC, "atomic") \
	bgdma_op(TREE_REDUCE, "tree-reduce") \
	bgdma_op(TREE_BCAST, "tree-bcast") \
	bgdma_op(TREE_ALLREDUCE, "tree-allreduce") \
	bgdma_op(TREE_P2P, "tree-p2p") \
	bgdma_op(EPOCH_BEGIN, "epoch-begin") \
	bgdma_op(EPOCH_CLOSE, "epoch-close") \
	bgdma_op_last(EPOCH_END, "epoch-end")

#define BGDMA_TRACE_KINDS \
	bgdma_kind(CONTEXT, "context") \
	bgdma_kind(INJ_FIFO, "injection-fifo") \
	bgdma_kind(REC_FIFO, "reception-fifo") \
	bgdma_kind(RGET_QUEUE, "remote-get-queue") \
	bgdma_kind(INJ_COUNTER, "injection-counter") \
	bgdma_kind(REC_COUNTER, "reception-counter") \
	bgdma_kind(REGION, "region") \
	bgdma_kind(EVENTS, "events") \
	bgdma_kind(GROUP, "group") \
	bgdma_kind_last(CLASS, "class")

#define BGDMA_TRACE_CODES \
	bgdma_code(E_INDEX, "index") \
	bgdma_code(E_OP, "op") \
	bgdma_code(E_UNSUPPORTED, "unsupported") \
	bgdma_code(E_FLAGS, "flags") \
	bgdma_code(E_FIELD, "field") \
	bgdma_code(E_LENGTH, "length") \
	bgdma_code(E_REGION, "region") \
	bgdma_code(E_COUNTER, "counter") \
	bgdma_code(E_STALE, "stale") \
	bgdma_code(E_BOUNDS, "bounds") \
	bgdma_code(E_RIGHTS, "rights") \
	bgdma_code(E_NO_PEER, "no-peer") \
	bgdma_code(E_PEER_DOWN, "peer-down") \
	bgdma_code(E_FIFO, "fifo") \
	bgdma_code(E_RGET_FULL, "remote-get-full") \
	bgdma_code(E_UNFILLED, "unfilled") \
	bgdma_code(E_PROVENANCE, "provenance") \
	bgdma_code(E_UNDERFLOW, "underflow") \
	bgdma_code(E_CANCELLED, "cancelled") \
	bgdma_code(E_ABORTED, "aborted") \
	bgdma_code(E_ALIGN, "align") \
	bgdma_code(E_EPOCH_HELD, "epoch-held") \
	bgdma_code(E_EPOCH_CLOSED, "epoch-closed") \
	bgdma_code(E_EPOCH_COUNT, "epoch-count") \
	bgdma_code(E_EPOCH_BUSY, "epoch-busy") \
	bgdma_code(E_GROUP, "group") \
	bgdma_code(E_TREE_MISMATCH, "tree-mismatch") \
	bgdma_code(E_LINK_DOWN, "link-down") \
	bgdma_code(E_TIMEOUT, "timeout") \
	bgdma_code_last(E_CLASS, "class")

/* Export the values of the enums to whoever parses the formats. */
#undef bgdma_op
#undef bgdma_op_last
#undef bgdma_kind
#undef bgdma_kind_last
#undef bgdma_code
#undef bgdma_code_last
#define bgdma_op(name, text)		TRACE_DEFINE_ENUM(BGDMA_OP_##name);
#define bgdma_op_last(name, text)	TRACE_DEFINE_ENUM(BGDMA_OP_##name);
#define bgdma_kind(name, text)		TRACE_DEFINE_ENUM(BGDMA_KIND_##name);
#define bgdma_kind_last(name, text)	TRACE_DEFINE_ENUM(BGDMA_KIND_##name);
#define bgdma_code(name, text)		TRACE_DEFINE_ENUM(BGDMA_##name);
#define bgdma_code_last(name, text)	TRACE_DEFINE_ENUM(BGDMA_##name);

BGDMA_TRACE_OPS
BGDMA_TRACE_KINDS
BGDMA_TRACE_CODES

#undef bgdma_op
#undef bgdma_op_last
#undef bgdma_kind
#undef bgdma_kind_last
#undef bgdma_code
#undef bgdma_code_last

/* From here on: rows of __print_symbolic(). */
#define bgdma_op(name, text)		{ BGDMA_OP_##name, text },
#define bgdma_op_last(name, text)	{ BGDMA_OP_##name, text }
#define bgdma_kind(name, text)		{ BGDMA_KIND_##name, text },
#define bgdma_kind_last(name, text)	{ BGDMA_KIND_##name, text }
#define bgdma_code(name, text)		{ BGDMA_##name, text },
#define bgdma_code_last(name, text)	{ BGDMA_##name, text }

#define bgdma_show_op(op)	__print_symbolic(op, BGDMA_TRACE_OPS)
#define bgdma_show_kind(kind)	__print_symbolic(kind, BGDMA_TRACE_KINDS)
#define bgdma_show_code(code)	__print_symbolic(code, BGDMA_TRACE_CODES)
#define bgdma_show_flags(flags) \
	__print_flags(flags, "|", \
		      { BGDMA_DESC_INTERRUPT,	"interrupt" }, \
		      { BGDMA_DESC_INLINE,	"inline" }, \
		      { BGDMA_DESC_OPS,		"ops" }, \
		      { BGDMA_DESC_FENCE,	"fence" }, \
		      { BGDMA_DESC_GROUP,	"group" }, \
		      { BGDMA_DESC_HOLD,	"hold" }, \
		      { BGDMA_DESC_FETCH,	"fetch" }, \
		      { BGDMA_DESC_EXCLUSIVE,	"exclusive" })

/* Injection and reception, as counters are indexed by direction. */
#define bgdma_show_side(side) \
	__print_symbolic(side, \
			 { BGDMA_INJECTION,	"injection" }, \
			 { BGDMA_RECEPTION,	"reception" })

/* The node where it happened, in every event. */
#define BGDMA_NODE_FIELDS \
	__array(char, partition, BGDMA_NAME_MAX) \
	__field(u32, rank) \
	__field(u16, ctx)
#define BGDMA_NODE_ASSIGN(c) do { \
	strscpy(__entry->partition, (c)->partition->name, BGDMA_NAME_MAX); \
	__entry->rank = (c)->rank; \
	__entry->ctx = (c)->id; \
} while (0)
#define BGDMA_NODE_FORMAT	"%s/%u.%u "
#define BGDMA_NODE_ARGS		__entry->partition, __entry->rank, __entry->ctx

/* The FIFO and the transfer, in every event of a stream. */
#define BGDMA_XFER_FIELDS \
	__field(u16, fifo_kind) \
	__field(u32, fifo) \
	__field(u32, id) \
	__field(u64, seq) \
	__field(u8, op)
#define BGDMA_XFER_ASSIGN(s) do { \
	__entry->fifo_kind = (s)->kind; \
	__entry->fifo = (s)->id; \
	__entry->id = (s)->x.id; \
	__entry->seq = (s)->x.seq; \
	__entry->op = (s)->x.desc.op; \
} while (0)
#define BGDMA_XFER_FORMAT	"id=0x%08x %s=%u seq=%llu %s "
#define BGDMA_XFER_ARGS \
	__entry->id, bgdma_show_kind(__entry->fifo_kind), __entry->fifo, \
	__entry->seq, bgdma_show_op(__entry->op)

TRACE_EVENT(bgdma_doorbell,
	TP_PROTO(const struct bgdma_ctx *ctx, bool pool),
	TP_ARGS(ctx, pool),

	TP_STRUCT__entry(
		BGDMA_NODE_FIELDS
		__field(bool, pool)
	),

	TP_fast_assign(
		BGDMA_NODE_ASSIGN(ctx);
		__entry->pool = pool;
	),

	TP_printk(BGDMA_NODE_FORMAT "%s",
		  BGDMA_NODE_ARGS, __entry->pool ? "pool" : "inline")
);

TRACE_EVENT(bgdma_inject,
	TP_PROTO(const struct bgdma_ctx *ctx, u16 kind, u32 fifo, u32 count,
		 u32 by),
	TP_ARGS(ctx, kind, fifo, count, by),

	TP_STRUCT__entry(
		BGDMA_NODE_FIELDS
		__field(u16, fifo_kind)
		__field(u32, fifo)
		__field(u32, count)
		__field(u32, by)
	),

	TP_fast_assign(
		BGDMA_NODE_ASSIGN(ctx);
		__entry->fifo_kind = kind;
		__entry->fifo = fifo;
		__entry->count = count;
		__entry->by = by;
	),

	TP_printk(BGDMA_NODE_FORMAT "%s=%u count=%u by=0x%08x",
		  BGDMA_NODE_ARGS, bgdma_show_kind(__entry->fifo_kind),
		  __entry->fifo, __entry->count, __entry->by)
);

TRACE_EVENT(bgdma_fetch,
	TP_PROTO(const struct bgdma_stream *s),
	TP_ARGS(s),

	TP_STRUCT__entry(
		BGDMA_NODE_FIELDS
		BGDMA_XFER_FIELDS
		__field(u8, flags)
		__field(u8, route)
		__field(u32, from_rank)
		__field(u16, from_ctx)
		__field(u16, dst_ctx)
		__field(u32, dst_rank)
		__field(u16, dst_fifo)
		__field(u16, dispatch)
		__field(u32, length)
		__field(u32, inj_ctr)
		__field(u32, rec_ctr)
		__field(u32, src_region)
		__field(u32, dst_region)
		__field(u64, src_off)
		__field(u64, dst_off)
		__field(u64, cookie)
	),

	TP_fast_assign(
		const struct bgdma_desc *d = &s->x.desc;
		bool data = d->flags & BGDMA_DESC_INLINE;

		BGDMA_NODE_ASSIGN(s->ctx);
		BGDMA_XFER_ASSIGN(s);
		__entry->flags = d->flags;
		__entry->route = d->route;
		__entry->from_rank = s->who.rank;
		__entry->from_ctx = s->who.ctx;
		__entry->dst_rank = le32_to_cpu(d->dst_rank);
		__entry->dst_ctx = le16_to_cpu(d->dst_ctx);
		__entry->dst_fifo = le16_to_cpu(d->dst_fifo);
		__entry->dispatch = le16_to_cpu(d->dispatch);
		__entry->length = le32_to_cpu(d->length);
		__entry->inj_ctr = le32_to_cpu(d->inj_ctr);
		__entry->rec_ctr = le32_to_cpu(d->rec_ctr);
		__entry->src_region = data ? BGDMA_NONE :
					     le32_to_cpu(d->u.at.src_region);
		__entry->dst_region = data ? BGDMA_NONE :
					     le32_to_cpu(d->u.at.dst_region);
		__entry->src_off = data ? 0 : le64_to_cpu(d->u.at.src_off);
		__entry->dst_off = data ? 0 : le64_to_cpu(d->u.at.dst_off);
		__entry->cookie = le64_to_cpu(d->cookie);
	),

	TP_printk(BGDMA_NODE_FORMAT BGDMA_XFER_FORMAT
		  "flags=%s route=0x%02x from=%u.%u to=%u.%u dst_fifo=%u dispatch=%u length=%u inj_ctr=0x%08x rec_ctr=0x%08x src=0x%08x+%llu dst=0x%08x+%llu cookie=0x%llx",
		  BGDMA_NODE_ARGS, BGDMA_XFER_ARGS,
		  bgdma_show_flags(__entry->flags), __entry->route,
		  __entry->from_rank, __entry->from_ctx,
		  __entry->dst_rank, __entry->dst_ctx, __entry->dst_fifo,
		  __entry->dispatch, __entry->length,
		  __entry->inj_ctr, __entry->rec_ctr,
		  __entry->src_region, __entry->src_off,
		  __entry->dst_region, __entry->dst_off, __entry->cookie)
);

DECLARE_EVENT_CLASS(bgdma_transfer,
	TP_PROTO(const struct bgdma_stream *s),
	TP_ARGS(s),

	TP_STRUCT__entry(
		BGDMA_NODE_FIELDS
		BGDMA_XFER_FIELDS
		__field(u16, dst_ctx)
		__field(u32, dst_rank)
		__field(u32, length)
		__field(u32, done)
	),

	TP_fast_assign(
		BGDMA_NODE_ASSIGN(s->ctx);
		BGDMA_XFER_ASSIGN(s);
		__entry->dst_rank = le32_to_cpu(s->x.desc.dst_rank);
		__entry->dst_ctx = le16_to_cpu(s->x.desc.dst_ctx);
		__entry->length = le32_to_cpu(s->x.desc.length);
		__entry->done = s->x.done;
	),

	TP_printk(BGDMA_NODE_FORMAT BGDMA_XFER_FORMAT
		  "to=%u.%u length=%u done=%u",
		  BGDMA_NODE_ARGS, BGDMA_XFER_ARGS,
		  __entry->dst_rank, __entry->dst_ctx,
		  __entry->length, __entry->done)
);

DEFINE_EVENT(bgdma_transfer, bgdma_execute,
	TP_PROTO(const struct bgdma_stream *s),
	TP_ARGS(s));

DEFINE_EVENT(bgdma_transfer, bgdma_done,
	TP_PROTO(const struct bgdma_stream *s),
	TP_ARGS(s));

/* At the target, so the node of this event is not the stream's. */
TRACE_EVENT(bgdma_packet,
	TP_PROTO(const struct bgdma_ctx *target, const struct bgdma_stream *s,
		 u32 bytes),
	TP_ARGS(target, s, bytes),

	TP_STRUCT__entry(
		BGDMA_NODE_FIELDS
		__field(u8, op)
		__field(u16, src_ctx)
		__field(u32, src_rank)
		__field(u32, id)
		__field(u32, offset)
		__field(u32, bytes)
		__field(u32, length)
	),

	TP_fast_assign(
		BGDMA_NODE_ASSIGN(target);
		__entry->op = s->x.desc.op;
		__entry->src_rank = s->ctx->rank;
		__entry->src_ctx = s->ctx->id;
		__entry->id = s->x.id;
		__entry->offset = s->x.done;
		__entry->bytes = bytes;
		__entry->length = le32_to_cpu(s->x.desc.length);
	),

	TP_printk(BGDMA_NODE_FORMAT
		  "id=0x%08x %s from=%u.%u offset=%u bytes=%u length=%u",
		  BGDMA_NODE_ARGS, __entry->id, bgdma_show_op(__entry->op),
		  __entry->src_rank, __entry->src_ctx,
		  __entry->offset, __entry->bytes, __entry->length)
);

TRACE_EVENT(bgdma_counter,
	TP_PROTO(const struct bgdma_ctx *ctx, unsigned int kind, u32 slot,
		 s64 value, u64 by),
	TP_ARGS(ctx, kind, slot, value, by),

	TP_STRUCT__entry(
		BGDMA_NODE_FIELDS
		__field(u32, kind)
		__field(u32, slot)
		__field(s64, value)
		__field(u64, by)
	),

	TP_fast_assign(
		BGDMA_NODE_ASSIGN(ctx);
		__entry->kind = kind;
		__entry->slot = slot;
		__entry->value = value;
		__entry->by = by;
	),

	TP_printk(BGDMA_NODE_FORMAT "%s counter=%u value=%lld by=%llu",
		  BGDMA_NODE_ARGS, bgdma_show_side(__entry->kind),
		  __entry->slot, __entry->value, __entry->by)
);

TRACE_EVENT(bgdma_hit_zero,
	TP_PROTO(const struct bgdma_ctx *ctx, unsigned int kind, u32 slot),
	TP_ARGS(ctx, kind, slot),

	TP_STRUCT__entry(
		BGDMA_NODE_FIELDS
		__field(u32, kind)
		__field(u32, slot)
	),

	TP_fast_assign(
		BGDMA_NODE_ASSIGN(ctx);
		__entry->kind = kind;
		__entry->slot = slot;
	),

	TP_printk(BGDMA_NODE_FORMAT "%s counter=%u",
		  BGDMA_NODE_ARGS, bgdma_show_side(__entry->kind),
		  __entry->slot)
);

TRACE_EVENT(bgdma_error,
	TP_PROTO(const struct bgdma_stream *s),
	TP_ARGS(s),

	TP_STRUCT__entry(
		BGDMA_NODE_FIELDS
		BGDMA_XFER_FIELDS
		__field(u16, dst_ctx)
		__field(u32, dst_rank)
		__field(u32, code)
		__field(u32, done)
		__field(u64, offset)
		__field(u64, bound)
	),

	TP_fast_assign(
		BGDMA_NODE_ASSIGN(s->ctx);
		BGDMA_XFER_ASSIGN(s);
		__entry->dst_rank = le32_to_cpu(s->x.desc.dst_rank);
		__entry->dst_ctx = le16_to_cpu(s->x.desc.dst_ctx);
		__entry->code = s->x.fault.code;
		__entry->done = s->x.done;
		__entry->offset = s->x.fault.offset;
		__entry->bound = s->x.fault.bound;
	),

	TP_printk(BGDMA_NODE_FORMAT BGDMA_XFER_FORMAT
		  "to=%u.%u code=%s offset=%llu bound=%llu done=%u",
		  BGDMA_NODE_ARGS, BGDMA_XFER_ARGS,
		  __entry->dst_rank, __entry->dst_ctx,
		  bgdma_show_code(__entry->code),
		  __entry->offset, __entry->bound, __entry->done)
);

#define bgdma_show_epoch(state) \
	__print_symbolic(state, \
			 { BGDMA_EPOCH_WAITING,	"waiting" }, \
			 { BGDMA_EPOCH_ASKED,	"asked" }, \
			 { BGDMA_EPOCH_OPEN,	"open" }, \
			 { BGDMA_EPOCH_CLOSING,	"closing" }, \
			 { BGDMA_EPOCH_CLOSED,	"closed" }, \
			 { BGDMA_EPOCH_OVER,	"over" })

/* At the target: what became of an epoch. */
TRACE_EVENT(bgdma_epoch,
	TP_PROTO(const struct bgdma_region_gate *gate,
		 const struct bgdma_gate_epoch *e, u32 code),
	TP_ARGS(gate, e, code),

	TP_STRUCT__entry(
		BGDMA_NODE_FIELDS
		__field(u32, region)
		__field(u32, from_rank)
		__field(u16, from_ctx)
		__field(u16, state)
		__field(u32, epoch)
		__field(bool, exclusive)
		__field(u32, code)
		__field(u64, got)
		__field(u64, put)
	),

	TP_fast_assign(
		BGDMA_NODE_ASSIGN(gate->ctx);
		__entry->region = gate->handle;
		__entry->from_rank = e->who.rank;
		__entry->from_ctx = e->who.ctx;
		__entry->state = e->state;
		__entry->epoch = e->id;
		__entry->exclusive = e->exclusive;
		__entry->code = code;
		__entry->got = e->got;
		__entry->put = e->put;
	),

	TP_printk(BGDMA_NODE_FORMAT
		  "region=0x%08x epoch=%u from=%u.%u %s %s got=%llu put=%llu code=%s",
		  BGDMA_NODE_ARGS, __entry->region, __entry->epoch,
		  __entry->from_rank, __entry->from_ctx,
		  __entry->exclusive ? "exclusive" : "shared",
		  bgdma_show_epoch(__entry->state), __entry->got, __entry->put,
		  bgdma_show_code(__entry->code))
);

/* A full hold: the lists are as long as users like, their locks are everybody's. */
TRACE_EVENT(bgdma_hold,
	TP_PROTO(unsigned int what, u32 n),
	TP_ARGS(what, n),

	TP_STRUCT__entry(
		__field(u32, what)
		__field(u32, n)
	),

	TP_fast_assign(
		__entry->what = what;
		__entry->n = n;
	),

	TP_printk("%s n=%u",
		  __print_symbolic(__entry->what,
				   { BGDMA_HOLD_POLLED, "polled" },
				   { BGDMA_HOLD_PARKED, "parked" },
				   { BGDMA_HOLD_RUNG, "rung" },
				   { BGDMA_HOLD_PASSED, "passed" }),
		  __entry->n)
);

DECLARE_EVENT_CLASS(bgdma_waiting,
	TP_PROTO(const struct bgdma_stream *s),
	TP_ARGS(s),

	TP_STRUCT__entry(
		BGDMA_NODE_FIELDS
		BGDMA_XFER_FIELDS
		__field(u16, dst_ctx)
		__field(u32, dst_rank)
		__field(u32, for_kind)
		__field(u32, for_id)
	),

	TP_fast_assign(
		BGDMA_NODE_ASSIGN(s->ctx);
		BGDMA_XFER_ASSIGN(s);
		__entry->dst_rank = le32_to_cpu(s->x.desc.dst_rank);
		__entry->dst_ctx = le16_to_cpu(s->x.desc.dst_ctx);
		__entry->for_kind = s->parked_kind;
		__entry->for_id = s->parked_id;
	),

	TP_printk(BGDMA_NODE_FORMAT BGDMA_XFER_FORMAT "at=%u.%u for=%s:%u",
		  BGDMA_NODE_ARGS, BGDMA_XFER_ARGS,
		  __entry->dst_rank, __entry->dst_ctx,
		  bgdma_show_kind(__entry->for_kind), __entry->for_id)
);

DEFINE_EVENT(bgdma_waiting, bgdma_park,
	TP_PROTO(const struct bgdma_stream *s),
	TP_ARGS(s));

DEFINE_EVENT(bgdma_waiting, bgdma_wake,
	TP_PROTO(const struct bgdma_stream *s),
	TP_ARGS(s));

#endif /* _BGDMA_TRACE_H */

/* Found through the -I$(src) of kernel/Kbuild. */
#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
