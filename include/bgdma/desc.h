/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Builders: fill a descriptor, bit for bit as the engine expects it. They
 * check nothing (the engine does) and know no handles of the library, so they
 * also make descriptors that a peer's engine executes after a remote get.
 *
 * All are reentrant: they touch nothing but *@desc.
 */
#ifndef BGDMA_DESC_H
#define BGDMA_DESC_H

#include <string.h>

#include <asm/byteorder.h>

#include <bgdma/types.h>

BGDMA_BEGIN_DECLS

/**
 * struct bgdma_at - a place in a region, by handle
 * @region: handle; 0: none
 * @offset: bytes
 */
struct bgdma_at {
	uint32_t region;
	uint64_t offset;
};

/**
 * struct bgdma_transfer - what the builders make a descriptor of
 * @dest: rank of the target
 * @dest_ctx: context at the target
 * @dest_fifo: reception FIFO or remote-get queue at the target
 * @dispatch: operation identifier of a memory FIFO message; of an atomic
 *	BGDMA_ATOMIC(op, type)
 * @length: bytes
 * @from: where the payload is, in the context whose engine executes it
 * @to: where it goes, in the target context
 * @counter: handle of the injection counter that it moves, in the context
 *	whose engine executes it; 0: none
 * @remote_counter: handle of the reception counter that it moves at the
 *	target; 0: none
 * @flags: BGDMA_DESC_FENCE; of memory FIFO messages _INTERRUPT; of puts,
 *	atomics and copies _OPS; of puts and atomics _HOLD; of atomics _FETCH; of
 *	the begin of an epoch _HOLD and _EXCLUSIVE
 * @route: BGDMA_ROUTE_*; 0: deterministic
 * @cookie: travels with every packet; operand of an atomic of one element; puts
 *	of an epoch that closes
 * @epoch: of a put or an atomic: that it belongs to, 0: none; of a gate
 *	operation: that it is about
 *
 * @class_number: of the combining network
 *
 * A builder uses what its operation needs and ignores the rest.
 */
struct bgdma_transfer {
	uint32_t dest;
	uint16_t dest_ctx;
	uint16_t dest_fifo;
	uint16_t dispatch;
	uint32_t length;
	struct bgdma_at from;
	struct bgdma_at to;
	uint32_t counter;
	uint32_t remote_counter;
	uint8_t flags;
	uint8_t route;
	uint64_t cookie;
	uint32_t epoch;
	uint8_t class_number;
};

/* Member by member: compilers leave a cleared structure in memory. */
BGDMA_INLINE struct bgdma_transfer bgdma__no_transfer(void)
{
	struct bgdma_transfer t;

	t.dest = 0;
	t.dest_ctx = 0;
	t.dest_fifo = 0;
	t.dispatch = 0;
	t.length = 0;
	t.from.region = 0;
	t.from.offset = 0;
	t.to = t.from;
	t.counter = 0;
	t.remote_counter = 0;
	t.flags = 0;
	t.route = 0;
	t.cookie = 0;
	t.epoch = 0;
	t.class_number = 0;
	return t;
}

/* A handle is never 0; in an attr 0 stands for none. */
static inline __le32 bgdma__desc_handle(uint32_t handle)
{
	return __cpu_to_le32(handle ? handle : BGDMA_NONE);
}

/* What all operations have in common. */
BGDMA_INLINE void bgdma__desc_init(struct bgdma_desc *desc, enum bgdma_op op,
				   const struct bgdma_transfer *t)
{
	desc->op = (__u8)op;
	desc->flags = t->flags;
	desc->route = t->route;
	desc->class_prio = 0;
	desc->dst_rank = __cpu_to_le32(t->dest);
	desc->dst_ctx = __cpu_to_le16(t->dest_ctx);
	desc->dst_fifo = 0;
	desc->inj_ctr = bgdma__desc_handle(t->counter);
	desc->rec_ctr = __cpu_to_le32(BGDMA_NONE);
	desc->epoch = 0;
	desc->length = __cpu_to_le32(t->length);
	desc->dispatch = 0;
	desc->resv = 0;
	desc->u.at.src_region = bgdma__desc_handle(t->from.region);
	desc->u.at.dst_region = __cpu_to_le32(BGDMA_NONE);
	desc->u.at.src_off = __cpu_to_le64(t->from.offset);
	desc->u.at.dst_off = 0;
	desc->cookie = __cpu_to_le64(t->cookie);
}

/* The operations that stay in the context name no target. */
BGDMA_INLINE void bgdma__desc_local(struct bgdma_desc *desc)
{
	desc->dst_rank = 0;
	desc->dst_ctx = 0;
	desc->route = 0;
}

BGDMA_INLINE void bgdma__desc_to(struct bgdma_desc *desc,
				 const struct bgdma_transfer *t)
{
	desc->rec_ctr = bgdma__desc_handle(t->remote_counter);
	desc->u.at.dst_region = bgdma__desc_handle(t->to.region);
	desc->u.at.dst_off = __cpu_to_le64(t->to.offset);
}

BGDMA_INLINE void bgdma__desc_packet(struct bgdma_desc *desc,
				     const struct bgdma_transfer *t)
{
	desc->rec_ctr = bgdma__desc_handle(t->remote_counter);
	desc->dst_fifo = __cpu_to_le16(t->dest_fifo);
	desc->dispatch = __cpu_to_le16(t->dispatch);
}

/**
 * bgdma_desc_nop() - nothing, in its turn
 * @desc: out
 * @flags: 0 or BGDMA_DESC_FENCE
 */
BGDMA_INLINE void bgdma_desc_nop(struct bgdma_desc *desc, uint8_t flags)
{
	struct bgdma_transfer t;

	memset(&t, 0, sizeof(t));
	t.flags = flags;
	bgdma__desc_init(desc, BGDMA_OP_NOP, &t);
}

/**
 * bgdma_desc_memfifo() - payload lands in a reception FIFO of the target
 * @desc: out
 * @t: uses all but @to
 */
BGDMA_INLINE void bgdma_desc_memfifo(struct bgdma_desc *desc,
				      const struct bgdma_transfer *t)
{
	bgdma__desc_init(desc, BGDMA_OP_MEMFIFO, t);
	bgdma__desc_packet(desc, t);
}

/**
 * bgdma_desc_local_memfifo() - payload lands in a reception FIFO of its own
 * @desc: out
 * @t: uses all but @dest, @dest_ctx, @to and @route
 */
BGDMA_INLINE void bgdma_desc_local_memfifo(struct bgdma_desc *desc,
					    const struct bgdma_transfer *t)
{
	bgdma_desc_memfifo(desc, t);
	desc->op = BGDMA_OP_LOCAL_MEMFIFO;
	bgdma__desc_local(desc);
}

/* Up to 24 bytes to cleared ones: a call would cost more than the copy. */
BGDMA_INLINE void bgdma__desc_bytes(__u8 *to, const void *data, size_t length)
{
	const __u8 *from = (const __u8 *)data;

	for (; length >= sizeof(__u64); length -= sizeof(__u64)) {
		memcpy(to, from, sizeof(__u64));
		to += sizeof(__u64);
		from += sizeof(__u64);
	}
	while (length--)
		*to++ = *from++;
}

/**
 * bgdma_desc_inline() - put the payload of a memory FIFO message in its
 *	descriptor
 * @desc: made by bgdma_desc_memfifo() or bgdma_desc_local_memfifo(), without
 *	@from, with length @length
 * @data: payload
 * @length: bytes, at most BGDMA_INLINE_MAX
 */
BGDMA_INLINE void bgdma_desc_inline(struct bgdma_desc *desc, const void *data,
				     size_t length)
{
	desc->flags |= BGDMA_DESC_INLINE;
	memset(desc->u.inline_data, 0, sizeof(desc->u.inline_data));
	bgdma__desc_bytes(desc->u.inline_data, data, length);
}

/**
 * bgdma_desc_put() - payload lands in a region of the target
 * @desc: out
 * @t: uses all but @dest_fifo and @dispatch
 */
BGDMA_INLINE void bgdma_desc_put(struct bgdma_desc *desc,
				  const struct bgdma_transfer *t)
{
	bgdma__desc_init(desc, BGDMA_OP_PUT, t);
	bgdma__desc_to(desc, t);
	desc->epoch = __cpu_to_le32(t->epoch);
}

/**
 * bgdma_desc_atomic() - an integer operation on elements of a region of the
 *	target
 * @desc: out
 * @t: uses all but @dest_fifo; @length is that of all elements. Of one element
 *	the operand is @cookie, and @from is where the old value goes, with
 *	BGDMA_DESC_FETCH; of several @from holds the operands, and with FETCH gets
 *	the old values. See struct bgdma_desc
 */
BGDMA_INLINE void bgdma_desc_atomic(struct bgdma_desc *desc,
				     const struct bgdma_transfer *t)
{
	bgdma_desc_put(desc, t);
	desc->op = BGDMA_OP_ATOMIC;
	desc->dispatch = __cpu_to_le16(t->dispatch);
}

/**
 * bgdma_desc_gate() - an operation on the gate of a region of the target
 * @desc: out
 * @op: BGDMA_OP_EPOCH_BEGIN, _CLOSE or _END
 * @t: uses @dest, @dest_ctx, @to.region, @counter but for _END, @flags, @route,
 *	@epoch, and @cookie for _CLOSE
 */
BGDMA_INLINE void bgdma_desc_gate(struct bgdma_desc *desc, enum bgdma_op op,
				   const struct bgdma_transfer *t)
{
	bgdma__desc_init(desc, op, t);
	desc->u.at.dst_region = bgdma__desc_handle(t->to.region);
	desc->epoch = __cpu_to_le32(t->epoch);
}

/**
 * bgdma_desc_tree() - a part in a collective of the combining network
 * @desc: out
 * @op: BGDMA_OP_TREE_REDUCE, _BCAST or _ALLREDUCE
 * @t: uses @class_number, @dest_fifo as the tag, @dispatch, @length, @from, @to,
 *	@counter, @remote_counter, @flags
 */
BGDMA_INLINE void bgdma_desc_tree(struct bgdma_desc *desc, enum bgdma_op op,
				  const struct bgdma_transfer *t)
{
	bgdma__desc_init(desc, op, t);
	desc->class_prio = t->class_number;
	desc->dst_fifo = __cpu_to_le16(t->dest_fifo);
	desc->rec_ctr = bgdma__desc_handle(t->remote_counter);
	desc->dispatch = __cpu_to_le16(t->dispatch);
	desc->u.at.dst_region = bgdma__desc_handle(t->to.region);
	desc->u.at.dst_off = __cpu_to_le64(t->to.offset);
	desc->cookie = 0;
}

/**
 * bgdma_desc_tree_packets() - let the result come as packets, here
 * @desc: of bgdma_desc_tree()
 * @fifo: reception FIFO of the same context, bgdma_rec_id()
 * @cookie: of the packets; their dispatch is the tag
 */
BGDMA_INLINE void bgdma_desc_tree_packets(struct bgdma_desc *desc, uint32_t fifo,
					  uint64_t cookie)
{
	desc->class_prio |= BGDMA_TREE_PACKETS;
	desc->u.at.dst_region = __cpu_to_le32(fifo);
	desc->u.at.dst_off = 0;
	desc->cookie = __cpu_to_le64(cookie);
}

/**
 * bgdma_desc_tree_p2p() - a message for one member of a tree
 * @desc: out
 * @t: uses @class_number, @dest as the rank in the class, @dest_fifo, @length, @from,
 *	@counter, @remote_counter, @flags, @route, @cookie
 */
BGDMA_INLINE void bgdma_desc_tree_p2p(struct bgdma_desc *desc,
				      const struct bgdma_transfer *t)
{
	bgdma__desc_init(desc, BGDMA_OP_TREE_P2P, t);
	desc->class_prio = t->class_number;
	desc->dst_fifo = __cpu_to_le16(t->dest_fifo);
	desc->rec_ctr = bgdma__desc_handle(t->remote_counter);
}

/**
 * bgdma_desc_local_copy() - payload lands in a region of its own context
 * @desc: out
 * @t: uses all but @dest, @dest_ctx, @dest_fifo, @dispatch and @route
 */
BGDMA_INLINE void bgdma_desc_local_copy(struct bgdma_desc *desc,
					 const struct bgdma_transfer *t)
{
	bgdma_desc_put(desc, t);
	desc->op = BGDMA_OP_LOCAL_COPY;
	desc->epoch = 0;
	bgdma__desc_local(desc);
}

/**
 * bgdma_desc_rget() - the payload is descriptors for a queue of the target
 * @desc: out
 * @t: uses all but @to, @remote_counter and @dispatch; @length is that of 1 to
 *	BGDMA_RGET_DESC_MAX descriptors; without @from.region it is unfilled
 *	(SP-2)
 */
BGDMA_INLINE void bgdma_desc_rget(struct bgdma_desc *desc,
				   const struct bgdma_transfer *t)
{
	bgdma__desc_init(desc, BGDMA_OP_RGET, t);
	desc->dst_fifo = __cpu_to_le16(t->dest_fifo);
}

/**
 * bgdma_desc_deposit() - let a descriptor leave a copy with each node of a line
 * @desc: made by bgdma_desc_memfifo(), _put() or _rget(), with slots of the group
 *	as @dest_fifo, @to.region and @remote_counter
 * @group: number
 * @route: one of the hints
 * @last: from bgdma_line_last()
 *
 * The injection counter moves once, when all have their copy.
 */
BGDMA_INLINE void bgdma_desc_deposit(struct bgdma_desc *desc, uint32_t group,
				     uint8_t route, uint32_t last)
{
	desc->flags |= BGDMA_DESC_GROUP;
	desc->route = (__u8)(route | BGDMA_ROUTE_DEPOSIT);
	desc->dst_rank = __cpu_to_le32(last);
	desc->dst_ctx = __cpu_to_le16((__u16)group);
}

/**
 * bgdma_desc_under() - let a descriptor that comes by a line use its group there
 * @desc: made by any builder, with slots of the node where it executes as @from
 *	and @counter, and where it stays there also as @dest_fifo, @to and
 *	@remote_counter. What it sends goes to the sender of the line, @dest,
 *	with handles of that one. To the builders 0 is none, so a region or
 *	counter that is named so has another slot than the first
 * @group: number
 */
BGDMA_INLINE void bgdma_desc_under(struct bgdma_desc *desc, uint32_t group)
{
	desc->flags |= BGDMA_DESC_GROUP;
	desc->dst_ctx = __cpu_to_le16((__u16)group);
}

BGDMA_END_DECLS

#endif /* BGDMA_DESC_H */
