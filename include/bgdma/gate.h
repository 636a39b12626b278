/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Atomics, and the gates of regions: how an origin has a target's engine update
 * integers, and keep others out of a region meanwhile (EP-1 to EP-6).
 *
 * A gate makes epochs possible. An origin begins one under an identifier of its
 * choice, exclusive or shared; its counter moves when the limitation is there.
 * While an exclusive epoch holds the region, what others transfer to it is
 * refused with BGDMA_E_EPOCH_HELD, or with BGDMA_DESC_HOLD waits, in its own
 * FIFO. Puts and atomics that name their epoch are counted at the target. The
 * origin says how many there were by closing; its counter moves when as many
 * have come. Then it ends the epoch, and the next that wait get theirs, first
 * come first served. No core of the target takes part.
 *
 * Everything here but bgdma_gate_create(), _share(), _epochs() and _allow() is the
 * data path: one thread at a time for each FIFO.
 */
#ifndef BGDMA_GATE_H
#define BGDMA_GATE_H

#include <bgdma/inject.h>

BGDMA_BEGIN_DECLS

/**
 * bgdma_gate_create() - let a region of ours have epochs
 * @region: region; has the gate until it is freed
 * @epochs: at once, those that wait too, up to BGDMA_EPOCHS_MAX; 0: 64
 * @flags: 0, or BGDMA_GATE_ASK: bgdma_gate_allow() lets each epoch begin
 *
 * Peers need a grant of BGDMA_RIGHT_EPOCH to begin one.
 *
 * Thread safety: any thread.
 * Return: 0; -EEXIST it has one; -ENOSPC BGDMA_GATES_MAX are there; -EINVAL;
 * -ENOMEM; -ENODEV.
 */
BGDMA_API int bgdma_gate_create(struct bgdma_region *region, uint32_t epochs,
				unsigned int flags);

/**
 * bgdma_gate_share() - let a region of ours be behind the gate of another
 * @region: region; is behind it until it is freed
 * @with: region of the same context, which has a gate that was made for it
 *
 * Epochs are begun at @with, keep others out of both, and puts to both count. When
 * @with is freed, nothing of others goes into @region any more.
 *
 * Thread safety: any thread.
 * Return: 0; -EEXIST @region has a gate; -ENOENT @with has none of its own;
 * -EINVAL; -ENODEV.
 */
BGDMA_API int bgdma_gate_share(struct bgdma_region *region,
			       const struct bgdma_region *with);

/**
 * bgdma_gate_epochs() - what is at the gate of a region of ours
 * @region: region
 * @epochs: out: those that hold it, then those that wait, in their order
 * @room: of @epochs
 *
 * Thread safety: any thread.
 * Return: how many there are, which may be more than @room; -ENOENT it has no
 * gate; -ENOMEM; -ENODEV.
 */
BGDMA_API int bgdma_gate_epochs(struct bgdma_region *region,
				struct bgdma_epoch *epochs, uint32_t room);

/**
 * bgdma_gate_allow() - let an epoch begin that asked
 * @region: region of ours, whose gate was made with BGDMA_GATE_ASK
 * @rank: node of the origin, bgdma_event.peer_rank
 * @incarnation: of the origin, bgdma_event.peer_incarnation
 * @epoch: identifier
 *
 * Thread safety: any thread.
 * Return: 0; -ENOENT no such epoch asks; -ENODEV.
 */
BGDMA_API int bgdma_gate_allow(struct bgdma_region *region, uint32_t rank,
			       uint32_t incarnation, uint32_t epoch);

/**
 * struct bgdma_gate_attr - an operation on a gate
 * @dest: rank of the target
 * @dest_ctx: context at the target
 * @region: handle of the target's region
 * @epoch: identifier, not 0, that this context chose
 * @puts: bgdma_gate_close(): puts and atomics of the epoch
 * @counter: injection counter that moves by one: bgdma_gate_begin(): when the
 *	limitation is there, bgdma_gate_close(): when all puts are; NULL: none
 * @flags: bgdma_gate_begin(): BGDMA_DESC_EXCLUSIVE, else shared;
 *	BGDMA_DESC_HOLD: wait for the limitation, else be refused with
 *	BGDMA_E_EPOCH_HELD if it cannot be had at once. All: _FENCE
 * @more: as in struct bgdma_memfifo_attr
 */
struct bgdma_gate_attr {
	uint32_t dest;
	uint16_t dest_ctx;
	uint32_t region;
	uint32_t epoch;
	uint64_t puts;
	struct bgdma_counter *counter;
	uint8_t flags;
	bool more;
};

BGDMA_INLINE int bgdma__gate_inject(struct bgdma_inj_fifo *fifo,
				    enum bgdma_op op,
				    const struct bgdma_gate_attr *attr)
{
	struct bgdma_desc *desc = bgdma_inj_reserve(fifo);
	struct bgdma_transfer t;

	if (bgdma_unlikely(!desc))
		return bgdma_inj_full(fifo);
	t = bgdma__no_transfer();
	t.dest = attr->dest;
	t.dest_ctx = attr->dest_ctx;
	t.to.region = attr->region;
	t.counter = bgdma__counter_ref(attr->counter);
	t.flags = attr->flags;
	t.cookie = attr->puts;
	t.epoch = attr->epoch;
	bgdma_desc_gate(desc, op, &t);
	return attr->more ? 0 : bgdma_inj_submit(fifo);
}

/**
 * bgdma_gate_begin() - begin an epoch (EP-1)
 * @fifo: injection FIFO; all operations on the epoch go through it
 * @attr: which, without @puts
 *
 * Add one to the counter before. If the epoch cannot begin the counter shows it.
 * A gate has room for so many epochs, and for BGDMA_EPOCHS_EACH of one context;
 * another is refused with BGDMA_E_EPOCH_BUSY, as is one whose identifier is in
 * use.
 *
 * Return: as bgdma_memfifo().
 */
static inline int bgdma_gate_begin(struct bgdma_inj_fifo *fifo,
				   const struct bgdma_gate_attr *attr)
{
	return bgdma__gate_inject(fifo, BGDMA_OP_EPOCH_BEGIN, attr);
}

/**
 * bgdma_gate_close() - tell how many puts an epoch had (EP-5)
 * @fifo: injection FIFO
 * @attr: which, without @flags but BGDMA_DESC_FENCE
 *
 * Add one to the counter before. It moves when as many puts have come, also if
 * they come later; it shows BGDMA_E_EPOCH_COUNT if there are more.
 *
 * Return: as bgdma_memfifo().
 */
static inline int bgdma_gate_close(struct bgdma_inj_fifo *fifo,
				   const struct bgdma_gate_attr *attr)
{
	return bgdma__gate_inject(fifo, BGDMA_OP_EPOCH_CLOSE, attr);
}

/**
 * bgdma_gate_end() - lift the limitation of an epoch (EP-6)
 * @fifo: injection FIFO
 * @attr: which, without @puts and @counter, and without @flags but
 *	BGDMA_DESC_FENCE
 *
 * An epoch that waits for its limitation gives its place up.
 *
 * Return: as bgdma_memfifo().
 */
static inline int bgdma_gate_end(struct bgdma_inj_fifo *fifo,
				 const struct bgdma_gate_attr *attr)
{
	return bgdma__gate_inject(fifo, BGDMA_OP_EPOCH_END, attr);
}

/**
 * struct bgdma_atomic_attr - an atomic operation
 * @dest: rank of the target
 * @dest_ctx: context at the target
 * @op: enum bgdma_atomic_op
 * @type: enum bgdma_atomic_type
 * @count: elements
 * @operand: of one element; of BGDMA_ATOMIC_CAS what is compared with
 * @from: of several: their operands; of one: of BGDMA_ATOMIC_CAS what is
 *	swapped in, else not needed. With BGDMA_DESC_FETCH what was there before
 *	is written to it
 * @to: first element, by the target's region handle
 * @counter: injection counter that moves by the bytes when @from is free, or
 *	fetched; NULL: none
 * @remote_counter: handle of the target's reception counter; 0: none
 * @flags: BGDMA_DESC_FETCH, _OPS, _FENCE, _HOLD
 * @route: BGDMA_ROUTE_*
 * @epoch: that it belongs to; 0: none
 * @more: as in struct bgdma_memfifo_attr
 */
struct bgdma_atomic_attr {
	uint32_t dest;
	uint16_t dest_ctx;
	enum bgdma_atomic_op op;
	enum bgdma_atomic_type type;
	uint32_t count;
	uint64_t operand;
	struct bgdma_place from;
	struct bgdma_at to;
	struct bgdma_counter *counter;
	uint32_t remote_counter;
	uint8_t flags;
	uint8_t route;
	uint32_t epoch;
	bool more;
};

/**
 * bgdma_atomic_bytes() - size of an element
 * @type: enum bgdma_atomic_type
 */
static inline uint32_t bgdma_atomic_bytes(enum bgdma_atomic_type type)
{
	return type == BGDMA_ATOMIC_S32 || type == BGDMA_ATOMIC_U32 ? 4 : 8;
}

/**
 * bgdma_atomic() - update integers in memory of a node
 * @fifo: injection FIFO
 * @attr: the operation
 *
 * Each element is updated at once for everybody, the target's own atomics too;
 * it has to be aligned to its size. Peers need a grant of BGDMA_RIGHT_ATOMIC.
 *
 * Return: as bgdma_memfifo().
 */
BGDMA_INLINE int bgdma_atomic(struct bgdma_inj_fifo *fifo,
			       const struct bgdma_atomic_attr *attr)
{
	uint64_t length = (uint64_t)attr->count * bgdma_atomic_bytes(attr->type);
	struct bgdma_transfer t;
	struct bgdma_desc *desc;

	if (bgdma_unlikely(length > BGDMA_LENGTH_MAX))
		return -EMSGSIZE;
	desc = bgdma_inj_reserve(fifo);
	if (bgdma_unlikely(!desc))
		return bgdma_inj_full(fifo);
	t = bgdma__no_transfer();
	t.dest = attr->dest;
	t.dest_ctx = attr->dest_ctx;
	t.dispatch = BGDMA_ATOMIC(attr->op, attr->type);
	t.length = (uint32_t)length;
	t.from = bgdma__place_at(&attr->from);
	t.to = attr->to;
	t.counter = bgdma__counter_ref(attr->counter);
	t.remote_counter = attr->remote_counter;
	t.flags = attr->flags;
	t.route = attr->route;
	t.cookie = attr->count == 1 ? attr->operand : 0;
	t.epoch = attr->epoch;
	bgdma_desc_atomic(desc, &t);
	return attr->more ? 0 : bgdma_inj_submit(fifo);
}

BGDMA_END_DECLS

#endif /* BGDMA_GATE_H */
