/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Reception FIFOs: rings of packets, read in place (DMA-3).
 *
 *	while ((packet = bgdma_rec_peek(fifo))) {
 *		use(packet, bgdma_packet_data(packet));
 *		bgdma_rec_next(fifo);
 *	}
 *	bgdma_rec_release(fifo);
 *
 * Everything here that does not say otherwise is for the consumer: one thread at a
 * time for each FIFO. All of that but clear_error is the data path.
 */
#ifndef BGDMA_RECEIVE_H
#define BGDMA_RECEIVE_H

#include <bgdma/atomic.h>
#include <bgdma/context.h>
#include <bgdma/counter.h>
#include <bgdma/types.h>

BGDMA_BEGIN_DECLS

/**
 * struct bgdma_rec_attr - a reception FIFO
 * @bytes: of the ring, a power of two; 0: 65,536
 * @fixed_id: take number @id or fail; else any
 * @id: number wanted
 */
struct bgdma_rec_attr {
	uint32_t bytes;
	bool fixed_id;
	uint32_t id;
};

/* bgdma_rec_create() of a program whose attr has @size bytes. */
BGDMA_API int bgdma_rec_create_sized(struct bgdma_ctx *ctx,
				     const struct bgdma_rec_attr *attr,
				     size_t size, struct bgdma_rec_fifo **fifo);

/**
 * bgdma_rec_create() - make a reception FIFO
 * @ctx: context
 * @attr: how; NULL: all defaults
 * @fifo: out: to be ended by bgdma_rec_destroy()
 *
 * Nobody else can send to it before bgdma_rec_grant().
 *
 * Thread safety: any thread.
 * Return: as bgdma_inj_create().
 */
static inline int bgdma_rec_create(struct bgdma_ctx *ctx,
				   const struct bgdma_rec_attr *attr,
				   struct bgdma_rec_fifo **fifo)
{
	return bgdma_rec_create_sized(ctx, attr, sizeof(*attr), fifo);
}

/**
 * bgdma_rec_destroy() - end a reception FIFO
 * @fifo: FIFO, or NULL
 *
 * What is in it is dropped; senders that wait for room get BGDMA_E_FIFO.
 *
 * Thread safety: any thread; nobody may use the FIFO meanwhile.
 * Return: 0; -ENODEV the partition is gone. The handle is freed in any case.
 */
BGDMA_API int bgdma_rec_destroy(struct bgdma_rec_fifo *fifo);

/**
 * bgdma_rec_id() - number of the FIFO, which senders name
 * @fifo: FIFO
 */
static inline uint16_t bgdma_rec_id(struct bgdma_rec_fifo *fifo)
{
	return (uint16_t)bgdma_rec_view(fifo)->id;
}

/**
 * bgdma_rec_grant() - let a peer send to a reception FIFO
 * @fifo: FIFO
 * @attr: who; rights: BGDMA_RIGHT_ACCEPT or 0
 * @id: out: for bgdma_revoke(); may be NULL
 *
 * Thread safety: any thread.
 * Return: 0; -ENOSPC BGDMA_GRANTS_MAX grants exist; -EINVAL; -ENOMEM;
 * -ENODEV.
 */
static inline int bgdma_rec_grant(struct bgdma_rec_fifo *fifo,
				  const struct bgdma_grant_attr *attr,
				  uint32_t *id)
{
	const struct bgdma_rec_view *v = bgdma_rec_view(fifo);

	return bgdma_grant_sized(v->ctx, BGDMA_KIND_REC_FIFO, v->id, 1, attr,
				 sizeof(*attr), id);
}

/**
 * bgdma_rec_peek() - the next packet, in place
 * @fifo: FIFO
 *
 * The same one until bgdma_rec_next(). It may be read until
 * bgdma_rec_release(); the memory is read-only.
 *
 * Return: packet; NULL: the FIFO is empty.
 */
static inline const struct bgdma_packet *
bgdma_rec_peek(struct bgdma_rec_fifo *fifo)
{
	struct bgdma_rec_view *v = bgdma_rec_view(fifo);

	if (v->cursor == v->tail) {
		v->tail = bgdma_load_acquire(&v->kern->tail);
		if (v->cursor == v->tail)
			return NULL;
	}
	return (const struct bgdma_packet *)(const void *)
	       (v->ring + (v->cursor & v->mask));
}

/**
 * bgdma_packet_data() - payload of a packet, packet->bytes long
 * @packet: packet
 *
 * Aligned to BGDMA_PACKET_ALIGN and never wrapped.
 */
static inline const void *bgdma_packet_data(const struct bgdma_packet *packet)
{
	return packet + 1;
}

/**
 * bgdma_packet_size() - what a packet takes in the ring, with its header
 * @bytes: payload
 */
static inline uint64_t bgdma_packet_size(uint32_t bytes)
{
	return (sizeof(struct bgdma_packet) + bytes + BGDMA_PACKET_ALIGN - 1) &
	       ~(uint64_t)(BGDMA_PACKET_ALIGN - 1);
}

/**
 * bgdma_rec_next() - go on to the packet after this one
 * @fifo: FIFO in which bgdma_rec_peek() has found a packet
 *
 * Nothing is given back yet: see bgdma_rec_release().
 */
static inline void bgdma_rec_next(struct bgdma_rec_fifo *fifo)
{
	struct bgdma_rec_view *v = bgdma_rec_view(fifo);
	const struct bgdma_packet *packet = (const struct bgdma_packet *)
		(const void *)(v->ring + (v->cursor & v->mask));

	v->marked += !!(packet->flags & BGDMA_PACKET_INTERRUPT);
	v->cursor += bgdma_packet_size(packet->bytes);
}

/**
 * bgdma_rec_release() - give the room of all packets before this one back
 * @fifo: FIFO
 *
 * Once for many packets is cheaper, but senders wait while the ring is full.
 * A system call only if senders wait and the engine sleeps.
 *
 * Return: 0; what bgdma_doorbell() returns.
 */
static inline int bgdma_rec_release(struct bgdma_rec_fifo *fifo)
{
	struct bgdma_rec_view *v = bgdma_rec_view(fifo);

	bgdma_store_relaxed(&v->user->marked_seen, (__u64)v->marked);
	bgdma_store_release(&v->user->head, (__u64)v->cursor);
	v->released = v->cursor;
	bgdma_full_barrier();
	if (bgdma_likely(!bgdma_load_relaxed(&v->kern->starved)))
		return 0;
	bgdma_atomic_or(v->doorbell, v->bit);
	bgdma_barrier_after_atomic();
	if (bgdma_load_relaxed(v->wake) & BGDMA_NEED_WAKEUP)
		return bgdma_doorbell(v->ctx, 0);
	return 0;
}

/**
 * bgdma_rec_bytes() - bytes of packets that have not been looked at
 * @fifo: FIFO
 */
static inline uint64_t bgdma_rec_bytes(struct bgdma_rec_fifo *fifo)
{
	struct bgdma_rec_view *v = bgdma_rec_view(fifo);

	v->tail = bgdma_load_acquire(&v->kern->tail);
	return v->tail - v->cursor;
}

/**
 * bgdma_rec_arm() - which arrivals are interrupts (DMA-6)
 * @fifo: FIFO
 * @arm: BGDMA_ARM_NONE; _ANY; _MARKED: marked packets; _OCCUPANCY: @bytes or
 *	more are in the FIFO
 * @bytes: for BGDMA_ARM_OCCUPANCY
 *
 * They make bgdma_ctx_fd() readable and signal the eventfd. Level-triggered;
 * look at the FIFO once after arming.
 */
static inline void bgdma_rec_arm(struct bgdma_rec_fifo *fifo, uint32_t arm,
				 uint32_t bytes)
{
	struct bgdma_rec_user *user = bgdma_rec_view(fifo)->user;

	bgdma_store_relaxed(&user->arm_bytes, bytes);
	bgdma_store_relaxed(&user->arm, arm);
	bgdma_full_barrier();
}

/**
 * bgdma_rec_wait() - wait for a packet
 * @fifo: FIFO
 * @mode: how
 * @timeout_ns: from now; negative: for ever; 0: only look
 *
 * Return: 0: bgdma_rec_peek() finds one; -ETIMEDOUT; -EINTR; -ENODEV; or the
 * FIFO's error by bgdma_code_errno(), see bgdma_rec_error().
 */
BGDMA_API int bgdma_rec_wait(struct bgdma_rec_fifo *fifo,
			     enum bgdma_wait_mode mode, int64_t timeout_ns);

/**
 * bgdma_rec_error() - why a FIFO is in error (DMA-8)
 * @fifo: FIFO
 * @record: out: for bgdma_explain_record(); may be NULL
 *
 * Thread safety: any thread.
 * Return: enum bgdma_code; BGDMA_OK if it is not.
 */
BGDMA_API int bgdma_rec_error(struct bgdma_rec_fifo *fifo,
			      struct bgdma_record *record);

/**
 * bgdma_rec_clear_error() - take a FIFO out of error
 * @fifo: FIFO
 * @flags: 0, or BGDMA_CLEAR_FLUSH: drop what is in it
 *
 * As by bgdma_rec_release(), packets that bgdma_rec_next() has passed are gone then.
 *
 * Thread safety: the consumer.
 * Return: 0; -ENODEV.
 */
BGDMA_API int bgdma_rec_clear_error(struct bgdma_rec_fifo *fifo,
				    unsigned int flags);

/**
 * bgdma_rec_eventfd() - signal the arrivals that it is armed for to an eventfd
 * @fifo: FIFO
 * @eventfd: file descriptor, or -1 for no longer
 *
 * Thread safety: any thread.
 * Return: 0; -EBADF or -EINVAL not an eventfd; -ENODEV.
 */
BGDMA_API int bgdma_rec_eventfd(struct bgdma_rec_fifo *fifo, int eventfd);

BGDMA_END_DECLS

#endif /* BGDMA_RECEIVE_H */
