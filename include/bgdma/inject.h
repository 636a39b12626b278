/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Injection FIFOs: rings of descriptors that the engine executes (DMA-2).
 *
 * A descriptor's sequence number counts from 0 at the creation of its FIFO.
 * Everything here that does not say otherwise is for the producer: one thread at a
 * time for each FIFO. All of that but cancel and clear_error is the data path.
 */
#ifndef BGDMA_INJECT_H
#define BGDMA_INJECT_H

#include <errno.h>

#include <bgdma/atomic.h>
#include <bgdma/context.h>
#include <bgdma/counter.h>
#include <bgdma/desc.h>
#include <bgdma/region.h>
#include <bgdma/types.h>

BGDMA_BEGIN_DECLS

/**
 * struct bgdma_inj_attr - an injection FIFO
 * @entries: descriptors that it holds, a power of two; 0: 256
 * @fixed_id: take number @id or fail; else any
 * @id: number wanted
 */
struct bgdma_inj_attr {
	uint32_t entries;
	bool fixed_id;
	uint32_t id;
};

/* bgdma_inj_create() of a program whose attr has @size bytes. */
BGDMA_API int bgdma_inj_create_sized(struct bgdma_ctx *ctx,
				     const struct bgdma_inj_attr *attr,
				     size_t size, struct bgdma_inj_fifo **fifo);

/**
 * bgdma_inj_create() - make an injection FIFO
 * @ctx: context
 * @attr: how; NULL: all defaults
 * @fifo: out: to be ended by bgdma_inj_destroy()
 *
 * Thread safety: any thread.
 * Return: 0; -EEXIST the number is taken; -ENOSPC no number is left; -EMFILE
 * the partition allows no more; -EINVAL; -ENOMEM; -ENODEV.
 */
static inline int bgdma_inj_create(struct bgdma_ctx *ctx,
				   const struct bgdma_inj_attr *attr,
				   struct bgdma_inj_fifo **fifo)
{
	return bgdma_inj_create_sized(ctx, attr, sizeof(*attr), fifo);
}

/**
 * bgdma_inj_destroy() - end an injection FIFO
 * @fifo: FIFO, or NULL
 *
 * Descriptors that wait in it are dropped, transfers under way end with
 * BGDMA_E_CANCELLED.
 *
 * Thread safety: any thread; nobody may use the FIFO meanwhile.
 * Return: 0; -ENODEV the partition is gone. The handle is freed in any case.
 */
BGDMA_API int bgdma_inj_destroy(struct bgdma_inj_fifo *fifo);

/**
 * bgdma_inj_id() - number of the FIFO in its context
 * @fifo: FIFO
 */
static inline uint32_t bgdma_inj_id(struct bgdma_inj_fifo *fifo)
{
	return bgdma_inj_view(fifo)->id;
}

/**
 * bgdma_inj_next() - sequence number that the next descriptor gets
 * @fifo: FIFO
 */
static inline uint64_t bgdma_inj_next(struct bgdma_inj_fifo *fifo)
{
	return bgdma_inj_view(fifo)->tail;
}

/**
 * bgdma_inj_done() - descriptors that have ended
 * @fifo: FIFO
 *
 * Return: all descriptors before this sequence number have ended.
 */
static inline uint64_t bgdma_inj_done(struct bgdma_inj_fifo *fifo)
{
	return bgdma_load_acquire(&bgdma_inj_view(fifo)->kern->done);
}

/**
 * bgdma_inj_state() - BGDMA_FIFO_RUNNING, _BLOCKED or _ERROR
 * @fifo: FIFO
 */
static inline uint32_t bgdma_inj_state(struct bgdma_inj_fifo *fifo)
{
	return bgdma_load_acquire(&bgdma_inj_view(fifo)->kern->state);
}

/**
 * bgdma_inj_space() - descriptors that can be reserved now
 * @fifo: FIFO
 */
static inline uint64_t bgdma_inj_space(struct bgdma_inj_fifo *fifo)
{
	struct bgdma_inj_view *v = bgdma_inj_view(fifo);

	v->head = bgdma_load_acquire(&v->kern->head);
	return v->mask + 1 - (v->tail - v->head);
}

/**
 * bgdma_inj_reserve() - the next free slot of the ring
 * @fifo: FIFO
 *
 * To be filled, all 64 bytes, by one of the builders. The engine sees it after
 * bgdma_inj_submit() or bgdma_inj_publish().
 *
 * Return: the slot; NULL: the ring is full.
 */
static inline struct bgdma_desc *bgdma_inj_reserve(struct bgdma_inj_fifo *fifo)
{
	struct bgdma_inj_view *v = bgdma_inj_view(fifo);

	if (bgdma_unlikely(v->tail - v->head > v->mask)) {
		v->head = bgdma_load_acquire(&v->kern->head);
		if (v->tail - v->head > v->mask)
			return NULL;
	}
	return &v->ring[v->tail++ & v->mask];
}

/**
 * bgdma_inj_publish() - let the engine see what was reserved
 * @fifo: FIFO
 *
 * Without waking it: bgdma_kick() must follow, some time.
 */
static inline void bgdma_inj_publish(struct bgdma_inj_fifo *fifo)
{
	struct bgdma_inj_view *v = bgdma_inj_view(fifo);

	bgdma_store_release(&v->user->tail, (__u64)v->tail);
	bgdma_atomic_or(v->doorbell, v->bit);
}

/**
 * bgdma_inj_submit() - let the engine see what was reserved, and wake it
 * @fifo: FIFO
 *
 * No system call while the engine polls (DMA-9).
 *
 * Return: 0; what bgdma_doorbell() returns.
 */
static inline int bgdma_inj_submit(struct bgdma_inj_fifo *fifo)
{
	struct bgdma_inj_view *v = bgdma_inj_view(fifo);

	bgdma_inj_publish(fifo);
	bgdma_barrier_after_atomic();
	if (bgdma_load_relaxed(v->wake) & BGDMA_NEED_WAKEUP)
		return bgdma_doorbell(v->ctx, 0);
	return 0;
}

/**
 * bgdma_inj_full() - what to do when bgdma_inj_reserve() gave NULL
 * @fifo: FIFO
 *
 * Submits what is reserved, so that a full ring always drains.
 *
 * Return: -EAGAIN; or, if the FIFO is in error, its error by
 * bgdma_code_errno(), see bgdma_inj_error(); -ENODEV.
 */
BGDMA_API int bgdma_inj_full(struct bgdma_inj_fifo *fifo);

/**
 * bgdma_inject() - copy a descriptor into the ring and submit it
 * @fifo: FIFO
 * @desc: descriptor
 *
 * Return: 0; what bgdma_inj_full() or bgdma_doorbell() returns.
 */
static inline int bgdma_inject(struct bgdma_inj_fifo *fifo,
			       const struct bgdma_desc *desc)
{
	struct bgdma_desc *slot = bgdma_inj_reserve(fifo);

	if (bgdma_unlikely(!slot))
		return bgdma_inj_full(fifo);
	*slot = *desc;
	return bgdma_inj_submit(fifo);
}

/**
 * bgdma_inject_many() - copy descriptors into the ring and submit them at once
 * @fifo: FIFO
 * @desc: descriptors
 * @count: so many
 *
 * Return: how many there was room for, at least 1; what bgdma_inj_full() or
 * bgdma_doorbell() returns.
 */
static inline int bgdma_inject_many(struct bgdma_inj_fifo *fifo,
				    const struct bgdma_desc *desc, int count)
{
	struct bgdma_desc *slot;
	int ret, n;

	for (n = 0; n < count; n++) {
		slot = bgdma_inj_reserve(fifo);
		if (!slot)
			break;
		*slot = desc[n];
	}
	if (n == 0 && count > 0)
		return bgdma_inj_full(fifo);
	ret = bgdma_inj_submit(fifo);
	return ret ? ret : n;
}

/**
 * struct bgdma_place - a place in a region of this context
 * @region: region; NULL: none
 * @offset: bytes
 */
struct bgdma_place {
	struct bgdma_region *region;
	uint64_t offset;
};

/**
 * struct bgdma_memfifo_attr - a memory FIFO message
 * @dest: rank of the target; not used by bgdma_local_memfifo()
 * @dest_ctx: context at the target; not used by bgdma_local_memfifo()
 * @fifo: number of the reception FIFO
 * @dispatch: operation identifier
 * @length: bytes, up to BGDMA_LENGTH_MAX; with @data to BGDMA_INLINE_MAX
 * @data: payload, copied before the call returns; else NULL
 * @from: where the payload is, without @data
 * @counter: injection counter that moves; NULL: none
 * @remote_counter: handle of the reception counter that moves where the message
 *	lands; 0: none
 * @flags: BGDMA_DESC_INTERRUPT, _OPS, _FENCE
 * @route: BGDMA_ROUTE_*
 * @cookie: travels with every packet
 * @more: more follows: only reserve; a later call without it submits all
 */
struct bgdma_memfifo_attr {
	uint32_t dest;
	uint16_t dest_ctx;
	uint16_t fifo;
	uint16_t dispatch;
	uint64_t length;
	const void *data;
	struct bgdma_place from;
	struct bgdma_counter *counter;
	uint32_t remote_counter;
	uint8_t flags;
	uint8_t route;
	uint64_t cookie;
	bool more;
};

/**
 * struct bgdma_put_attr - a direct put
 * @dest: rank of the target
 * @dest_ctx: context at the target
 * @length: bytes, up to BGDMA_LENGTH_MAX
 * @from: where the payload is
 * @to: where it goes, by the target's region handle
 * @counter: injection counter that moves when the buffer is free; NULL: none
 * @remote_counter: handle of the target's reception counter; 0: none
 * @flags: BGDMA_DESC_OPS, _FENCE, _HOLD: see <bgdma/gate.h>
 * @route: BGDMA_ROUTE_*
 * @cookie: shows in events about the transfer
 * @more: as in struct bgdma_memfifo_attr
 * @epoch: that it belongs to, see <bgdma/gate.h>; 0: none
 */
struct bgdma_put_attr {
	uint32_t dest;
	uint16_t dest_ctx;
	uint64_t length;
	struct bgdma_place from;
	struct bgdma_at to;
	struct bgdma_counter *counter;
	uint32_t remote_counter;
	uint8_t flags;
	uint8_t route;
	uint64_t cookie;
	bool more;
	uint32_t epoch;
};

/**
 * struct bgdma_local_copy_attr - a copy inside the context
 * @length: bytes, up to BGDMA_LENGTH_MAX
 * @from: where the payload is
 * @to: where it goes
 * @counter: injection counter that moves; NULL: none
 * @rec_counter: reception counter that moves; NULL: none
 * @flags: BGDMA_DESC_OPS, _FENCE
 * @cookie: shows in events about the transfer
 * @more: as in struct bgdma_memfifo_attr
 */
struct bgdma_local_copy_attr {
	uint64_t length;
	struct bgdma_place from;
	struct bgdma_place to;
	struct bgdma_counter *counter;
	struct bgdma_counter *rec_counter;
	uint8_t flags;
	uint64_t cookie;
	bool more;
};

/**
 * struct bgdma_rget_attr - a remote get
 * @dest: rank of the target
 * @dest_ctx: context at the target
 * @queue: number of the target's remote-get queue
 * @count: descriptors, 1 to BGDMA_RGET_DESC_MAX
 * @from: where they are, in a region of this context
 * @counter: injection counter that moves; NULL: none
 * @flags: BGDMA_DESC_FENCE
 * @route: BGDMA_ROUTE_*
 * @cookie: shows in events about the transfer
 * @more: as in struct bgdma_memfifo_attr
 */
struct bgdma_rget_attr {
	uint32_t dest;
	uint16_t dest_ctx;
	uint16_t queue;
	uint32_t count;
	struct bgdma_place from;
	struct bgdma_counter *counter;
	uint8_t flags;
	uint8_t route;
	uint64_t cookie;
	bool more;
};

/* From handles of the library to those of descriptors; 0: none. */
static inline struct bgdma_at bgdma__place_at(const struct bgdma_place *place)
{
	struct bgdma_at at;

	at.region = place->region ? bgdma_region_handle(place->region) : 0;
	at.offset = place->offset;
	return at;
}

static inline uint32_t bgdma__counter_ref(const struct bgdma_counter *counter)
{
	return counter ? bgdma_counter_handle(counter) : 0;
}

/* What bgdma_memfifo() and bgdma_local_memfifo() share. */
BGDMA_INLINE int bgdma__memfifo_inject(struct bgdma_inj_fifo *fifo,
				       const struct bgdma_memfifo_attr *attr,
				       bool local)
{
	struct bgdma_transfer t;
	struct bgdma_desc *desc;

	if (bgdma_unlikely(attr->length > (attr->data ? BGDMA_INLINE_MAX :
							BGDMA_LENGTH_MAX)))
		return -EMSGSIZE;
	desc = bgdma_inj_reserve(fifo);
	if (bgdma_unlikely(!desc))
		return bgdma_inj_full(fifo);

	t = bgdma__no_transfer();
	t.dest = attr->dest;
	t.dest_ctx = attr->dest_ctx;
	t.dest_fifo = attr->fifo;
	t.dispatch = attr->dispatch;
	t.length = (uint32_t)attr->length;
	t.from = bgdma__place_at(&attr->from);
	t.counter = bgdma__counter_ref(attr->counter);
	t.remote_counter = attr->remote_counter;
	t.flags = attr->flags;
	t.route = attr->route;
	t.cookie = attr->cookie;
	if (local)
		bgdma_desc_local_memfifo(desc, &t);
	else
		bgdma_desc_memfifo(desc, &t);
	if (attr->data)
		bgdma_desc_inline(desc, attr->data, (size_t)attr->length);
	return attr->more ? 0 : bgdma_inj_submit(fifo);
}

/**
 * bgdma_memfifo() - send a message to a reception FIFO of a node (DMA-1)
 * @fifo: injection FIFO
 * @attr: the message
 *
 * Return: 0; -EMSGSIZE too long; what bgdma_inj_full() or bgdma_doorbell()
 * returns. That it arrived, or why not, shows in the counters and the FIFO.
 */
BGDMA_INLINE int bgdma_memfifo(struct bgdma_inj_fifo *fifo,
				const struct bgdma_memfifo_attr *attr)
{
	return bgdma__memfifo_inject(fifo, attr, false);
}

/**
 * bgdma_local_memfifo() - send a message to a reception FIFO of our own
 * @fifo: injection FIFO
 * @attr: the message
 *
 * Return: as bgdma_memfifo().
 */
static inline int bgdma_local_memfifo(struct bgdma_inj_fifo *fifo,
				      const struct bgdma_memfifo_attr *attr)
{
	return bgdma__memfifo_inject(fifo, attr, true);
}

/**
 * bgdma_put() - write to memory of a node (DMA-1)
 * @fifo: injection FIFO
 * @attr: the transfer
 *
 * Return: as bgdma_memfifo().
 */
BGDMA_INLINE int bgdma_put(struct bgdma_inj_fifo *fifo,
			    const struct bgdma_put_attr *attr)
{
	struct bgdma_transfer t;
	struct bgdma_desc *desc;

	if (bgdma_unlikely(attr->length > BGDMA_LENGTH_MAX))
		return -EMSGSIZE;
	desc = bgdma_inj_reserve(fifo);
	if (bgdma_unlikely(!desc))
		return bgdma_inj_full(fifo);

	t = bgdma__no_transfer();
	t.dest = attr->dest;
	t.dest_ctx = attr->dest_ctx;
	t.length = (uint32_t)attr->length;
	t.from = bgdma__place_at(&attr->from);
	t.to = attr->to;
	t.counter = bgdma__counter_ref(attr->counter);
	t.remote_counter = attr->remote_counter;
	t.flags = attr->flags;
	t.route = attr->route;
	t.cookie = attr->cookie;
	t.epoch = attr->epoch;
	bgdma_desc_put(desc, &t);
	return attr->more ? 0 : bgdma_inj_submit(fifo);
}

/**
 * bgdma_local_copy() - copy between regions of this context (DMA-1)
 * @fifo: injection FIFO
 * @attr: the transfer
 *
 * Return: as bgdma_memfifo().
 */
static inline int bgdma_local_copy(struct bgdma_inj_fifo *fifo,
				   const struct bgdma_local_copy_attr *attr)
{
	struct bgdma_transfer t;
	struct bgdma_desc *desc;

	if (bgdma_unlikely(attr->length > BGDMA_LENGTH_MAX))
		return -EMSGSIZE;
	desc = bgdma_inj_reserve(fifo);
	if (bgdma_unlikely(!desc))
		return bgdma_inj_full(fifo);

	t = bgdma__no_transfer();
	t.length = (uint32_t)attr->length;
	t.from = bgdma__place_at(&attr->from);
	t.to = bgdma__place_at(&attr->to);
	t.counter = bgdma__counter_ref(attr->counter);
	t.remote_counter = bgdma__counter_ref(attr->rec_counter);
	t.flags = attr->flags;
	t.cookie = attr->cookie;
	bgdma_desc_local_copy(desc, &t);
	return attr->more ? 0 : bgdma_inj_submit(fifo);
}

/**
 * bgdma_rget() - have a node's engine execute descriptors (DMA-1)
 * @fifo: injection FIFO
 * @attr: the remote get
 *
 * The descriptors are read when this one is executed, and must not change
 * before @counter has moved.
 *
 * Return: 0; -EMSGSIZE not 1 to BGDMA_RGET_DESC_MAX descriptors; what
 * bgdma_inj_full() or bgdma_doorbell() returns.
 */
static inline int bgdma_rget(struct bgdma_inj_fifo *fifo,
			     const struct bgdma_rget_attr *attr)
{
	struct bgdma_transfer t;
	struct bgdma_desc *desc;

	if (bgdma_unlikely(attr->count - 1 >= BGDMA_RGET_DESC_MAX))
		return -EMSGSIZE;
	desc = bgdma_inj_reserve(fifo);
	if (bgdma_unlikely(!desc))
		return bgdma_inj_full(fifo);

	t = bgdma__no_transfer();
	t.dest = attr->dest;
	t.dest_ctx = attr->dest_ctx;
	t.dest_fifo = attr->queue;
	t.length = attr->count * (uint32_t)sizeof(struct bgdma_desc);
	t.from = bgdma__place_at(&attr->from);
	t.counter = bgdma__counter_ref(attr->counter);
	t.flags = attr->flags;
	t.route = attr->route;
	t.cookie = attr->cookie;
	bgdma_desc_rget(desc, &t);
	return attr->more ? 0 : bgdma_inj_submit(fifo);
}

/**
 * bgdma_inj_wait() - wait until descriptors have ended
 * @fifo: FIFO
 * @seq: all before this sequence number; bgdma_inj_next() for all so far
 * @mode: how
 * @timeout_ns: from now; negative: for ever; 0: only look
 *
 * One that failed has ended, too: it is told until bgdma_inj_clear_error().
 *
 * Thread safety: any thread.
 * Return: 0: they have, without an error; -ETIMEDOUT; -EINTR; -ENODEV; or the
 * error that the FIFO shows, if it is of one of them, or they have not ended, or more
 * than one has failed, by bgdma_code_errno(), see bgdma_inj_error() (DMA-8). Of those
 * that failed over links the FIFO shows one at a time.
 */
BGDMA_API int bgdma_inj_wait(struct bgdma_inj_fifo *fifo, uint64_t seq,
			     enum bgdma_wait_mode mode, int64_t timeout_ns);

/**
 * bgdma_inj_error() - why a FIFO is in error (DMA-8)
 * @fifo: FIFO
 * @record: out: for bgdma_explain_record(); may be NULL
 *
 * Thread safety: any thread.
 * Return: enum bgdma_code; BGDMA_OK if it is not.
 */
BGDMA_API int bgdma_inj_error(struct bgdma_inj_fifo *fifo,
			      struct bgdma_record *record);

/**
 * bgdma_inj_clear_error() - let a FIFO go on after an error
 * @fifo: FIFO
 * @flags: 0: go on after the descriptor that failed; BGDMA_CLEAR_FLUSH: drop
 *	all that waits
 *
 * Over links others that were on their way may have failed, too: then the FIFO shows
 * the next one, also when this returns.
 *
 * Thread safety: the producer.
 * Return: 0; -ENODEV.
 */
BGDMA_API int bgdma_inj_clear_error(struct bgdma_inj_fifo *fifo,
				    unsigned int flags);

/**
 * bgdma_inj_cancel() - cancel descriptors that have not ended
 * @fifo: FIFO
 * @first: sequence number of the first
 * @last: of the last; UINT64_MAX: all from @first on
 *
 * What had not started becomes a NOP; a transfer under way ends on both sides.
 * What they had left to count is taken off their injection counters, which
 * then show BGDMA_E_CANCELLED.
 *
 * Thread safety: the producer.
 * Return: how many were cancelled; -EINVAL @first is larger than @last;
 * -ENODEV.
 */
BGDMA_API int bgdma_inj_cancel(struct bgdma_inj_fifo *fifo, uint64_t first,
			       uint64_t last);

BGDMA_END_DECLS

#endif /* BGDMA_INJECT_H */
