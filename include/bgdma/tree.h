/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The combining network: virtual trees whose engines combine what their members
 * contribute, and bring what comes of it to all (DP-7).
 *
 * A class is a context's end of a tree. All members bind it, then all take part in
 * the same collectives in the same order; each has its part as a descriptor, and a
 * counter that tells of the end. No core takes part in between:
 *
 *	bgdma_counter_clear_hit(ended);
 *	bgdma_counter_add(ended, 1);
 *	bgdma_tree_allreduce(fifo, &(struct bgdma_tree_attr){
 *		.dispatch = BGDMA_TREE_COMBINE(BGDMA_TREE_ADD, BGDMA_TREE_S64),
 *		.number = 0, .length = 8, .from = { memory, 0 }, .to = { memory, 8 },
 *		.ended = ended, .flags = BGDMA_DESC_OPS });
 *	bgdma_counter_wait(ended, BGDMA_SPIN_THEN_SLEEP, -1);
 *
 * Members that do not ask for the same, one that dies and one that leaves break the
 * class: the counters show BGDMA_E_TREE_MISMATCH, _PEER_DOWN or _CLASS and who it was,
 * at all members, and the class is good for nothing but bgdma_class_unbind().
 *
 * The collectives are the data path: one thread at a time for each FIFO.
 */
#ifndef BGDMA_TREE_H
#define BGDMA_TREE_H

#include <bgdma/inject.h>
#include <bgdma/receive.h>

BGDMA_BEGIN_DECLS

/**
 * struct bgdma_class_attr - a virtual tree, as one member sees it
 * @number: of the class, below BGDMA_CLASSES_MAX, the same at all members
 * @instance: not 0, the same at all members, and another for another use
 * @rank: of this context in the class; 0 is the root, the children of r are 2 r + 1
 *	and 2 r + 2
 * @members: by rank, with their incarnations
 * @member_count: so many
 * @packet: bytes of a packet, the same at all members; 0: BGDMA_PACKET_MAX
 * @window: packets that the class keeps, a power of two; 0: 16
 * @flags: BGDMA_CLASS_P2P: for bgdma_tree_send()
 */
struct bgdma_class_attr {
	uint32_t number;
	uint32_t instance;
	uint32_t rank;
	const struct bgdma_group_member *members;
	uint32_t member_count;
	uint32_t packet;
	uint32_t window;
	uint32_t flags;
};

/* bgdma_class_bind() of a program whose attr has @size bytes. */
BGDMA_API int bgdma_class_bind_sized(struct bgdma_ctx *ctx,
				     const struct bgdma_class_attr *attr,
				     size_t size);

/**
 * bgdma_class_bind() - become a member of a virtual tree (DP-7)
 * @ctx: context
 * @attr: which; copied
 *
 * No member uses it before all have bound it: who is asked too early refuses, and
 * breaks it.
 *
 * Thread safety: any thread.
 * Return: 0; -EEXIST the context has that number; -EINVAL; -ENOMEM; -ENODEV.
 */
static inline int bgdma_class_bind(struct bgdma_ctx *ctx,
				   const struct bgdma_class_attr *attr)
{
	return bgdma_class_bind_sized(ctx, attr, sizeof(*attr));
}

/**
 * bgdma_class_unbind() - be a member no longer
 * @ctx: context
 * @number: of the class
 * @flags: BGDMA_CLASS_BREAK: break it for all members, or 0
 *
 * Thread safety: any thread.
 * Return: 0; -EBUSY something is on its way from or to a neighbour: try again;
 * -ENOENT; -EINVAL; -ENODEV.
 */
BGDMA_API int bgdma_class_unbind(struct bgdma_ctx *ctx, uint32_t number,
				 unsigned int flags);

/**
 * struct bgdma_tree_attr - the part of this context in a collective
 * @number: of the class
 * @tag: any, the same at all members
 * @dispatch: BGDMA_TREE_COMBINE(op, type), the same at all members; of a broadcast 0
 * @length: bytes, the same at all members, up to BGDMA_LENGTH_MAX
 * @from: what it contributes; of a broadcast, the root alone
 * @to: where the result goes; of a reduce at the root, of a broadcast at the others
 * @packets: reception FIFO of this context that the result goes to instead, in packets
 *	whose dispatch is @tag; NULL: to @to
 * @cookie: of these
 * @sent: injection counter that moves by what was contributed; NULL: none
 * @ended: reception counter that moves by the bytes of the result, or with
 *	BGDMA_DESC_OPS by one at the end; NULL: none
 * @flags: BGDMA_DESC_OPS, _FENCE
 * @more: as in struct bgdma_memfifo_attr
 */
struct bgdma_tree_attr {
	uint32_t number;
	uint16_t tag;
	uint16_t dispatch;
	uint64_t length;
	struct bgdma_place from;
	struct bgdma_place to;
	struct bgdma_rec_fifo *packets;
	uint64_t cookie;
	struct bgdma_counter *sent;
	struct bgdma_counter *ended;
	uint8_t flags;
	bool more;
};

BGDMA_INLINE int bgdma__tree_inject(struct bgdma_inj_fifo *fifo,
				    enum bgdma_op op,
				    const struct bgdma_tree_attr *attr)
{
	struct bgdma_transfer t;
	struct bgdma_desc *desc;

	if (bgdma_unlikely(attr->length > BGDMA_LENGTH_MAX))
		return -EMSGSIZE;
	desc = bgdma_inj_reserve(fifo);
	if (bgdma_unlikely(!desc))
		return bgdma_inj_full(fifo);
	t = bgdma__no_transfer();
	t.class_number = (uint8_t)attr->number;
	t.dest_fifo = attr->tag;
	t.dispatch = attr->dispatch;
	t.length = (uint32_t)attr->length;
	t.from = bgdma__place_at(&attr->from);
	t.to = bgdma__place_at(&attr->to);
	t.counter = bgdma__counter_ref(attr->sent);
	t.remote_counter = bgdma__counter_ref(attr->ended);
	t.flags = attr->flags;
	bgdma_desc_tree(desc, op, &t);
	if (attr->packets)
		bgdma_desc_tree_packets(desc, bgdma_rec_id(attr->packets),
					attr->cookie);
	return attr->more ? 0 : bgdma_inj_submit(fifo);
}

/**
 * bgdma_tree_reduce() - combine what all contribute, for the root (DP-7)
 * @fifo: injection FIFO
 * @attr: this context's part
 *
 * Return: as bgdma_memfifo().
 */
static inline int bgdma_tree_reduce(struct bgdma_inj_fifo *fifo,
				    const struct bgdma_tree_attr *attr)
{
	return bgdma__tree_inject(fifo, BGDMA_OP_TREE_REDUCE, attr);
}

/**
 * bgdma_tree_allreduce() - combine what all contribute, for all (DP-7)
 * @fifo: injection FIFO
 * @attr: this context's part; of no bytes it is a barrier
 *
 * Return: as bgdma_memfifo().
 */
static inline int bgdma_tree_allreduce(struct bgdma_inj_fifo *fifo,
				       const struct bgdma_tree_attr *attr)
{
	return bgdma__tree_inject(fifo, BGDMA_OP_TREE_ALLREDUCE, attr);
}

/**
 * bgdma_tree_broadcast() - bring what the root has to all (DP-7)
 * @fifo: injection FIFO
 * @attr: this context's part
 *
 * Return: as bgdma_memfifo().
 */
static inline int bgdma_tree_broadcast(struct bgdma_inj_fifo *fifo,
				       const struct bgdma_tree_attr *attr)
{
	return bgdma__tree_inject(fifo, BGDMA_OP_TREE_BCAST, attr);
}

/**
 * struct bgdma_tree_send_attr - a message for one member
 * @number: of the class
 * @rank: of the member in the class
 * @fifo: reception FIFO there, which its owner lets this context send to
 * @from: the message; its first 4 bytes are an operation identifier (DP-3)
 * @length: bytes
 * @sent: injection counter that moves; NULL: none
 * @cookie: travels with every packet
 * @flags: BGDMA_DESC_FENCE, _INTERRUPT
 * @more: as in struct bgdma_memfifo_attr
 */
struct bgdma_tree_send_attr {
	uint32_t number;
	uint32_t rank;
	uint16_t fifo;
	struct bgdma_place from;
	uint64_t length;
	struct bgdma_counter *sent;
	uint64_t cookie;
	uint8_t flags;
	bool more;
};

/**
 * bgdma_tree_send() - a message for one member of a tree (DP-3, DP-7)
 * @fifo: injection FIFO
 * @attr: message
 *
 * Its packets have the type BGDMA_OP_TREE_P2P and the dispatch BGDMA_TREE_DISPATCH.
 *
 * Return: as bgdma_memfifo().
 */
BGDMA_INLINE int bgdma_tree_send(struct bgdma_inj_fifo *fifo,
				 const struct bgdma_tree_send_attr *attr)
{
	struct bgdma_transfer t;
	struct bgdma_desc *desc;

	if (bgdma_unlikely(attr->length > BGDMA_LENGTH_MAX))
		return -EMSGSIZE;
	desc = bgdma_inj_reserve(fifo);
	if (bgdma_unlikely(!desc))
		return bgdma_inj_full(fifo);
	t = bgdma__no_transfer();
	t.class_number = (uint8_t)attr->number;
	t.dest = attr->rank;
	t.dest_fifo = attr->fifo;
	t.length = (uint32_t)attr->length;
	t.from = bgdma__place_at(&attr->from);
	t.counter = bgdma__counter_ref(attr->sent);
	t.flags = attr->flags;
	t.cookie = attr->cookie;
	bgdma_desc_tree_p2p(desc, &t);
	return attr->more ? 0 : bgdma_inj_submit(fifo);
}

BGDMA_END_DECLS

#endif /* BGDMA_TREE_H */
