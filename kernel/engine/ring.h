/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The barriers of rings, doorbells and sleeping. Those of one atomic or one word
 * of counters, records and events stand where these are, in counter.[ch], event.c,
 * inj_fifo.c and front/. The library's half is include/bgdma/atomic.h;
 * Documentation/rings.rst has both side by side.
 *
 * Index of a ring: its owner stores it with release after the data (tail) or
 * after the last use of it (head); the other side loads it with acquire before
 * it touches the data. The kernel never reads back an index that it owns.
 *
 * Going to sleep, four times the same pattern (A and B are any two words):
 *
 *	who makes work			who sleeps
 *	store A (the work)		store B (I sleep)
 *	full barrier			full barrier
 *	load B, wake if set		load A, do not sleep if there
 *
 *	A				B
 *	user: tail, doorbell bit	engine: kern_ctl.wake
 *	user: head of reception FIFO	engine: starved
 *	engine: counter value, hit bit	user: cell.arm, enable, wait queue
 *	engine: tail of reception FIFO	user: rec_user.arm, wait queue
 *
 * Nothing here trusts a word that user space can write: indices are clamped
 * by their users against the size of the ring.
 */
#ifndef _BGDMA_RING_H
#define _BGDMA_RING_H

#include <linux/poll.h>

#include "../bgdma.h"

/* Pairs with the release of the tail in the library's inject. */
static inline u64 bgdma_ring_tail(const struct bgdma_inj_user *user)
{
	return smp_load_acquire(&user->tail); /* the descriptors before it */
}

/* Slots before @head were copied out and may be written again. */
static inline void bgdma_ring_set_head(struct bgdma_inj_kern *kern, u64 head)
{
	smp_store_release(&kern->head, head); /* after the copies */
}

/* What the descriptors before @done moved is visible to whoever sees this. */
static inline void bgdma_ring_set_done(struct bgdma_inj_kern *kern, u64 done)
{
	smp_store_release(&kern->done, done); /* after the payloads */
}

/* Pairs with the release of the head in the library's packet release. */
static inline u64 bgdma_ring_rec_head(const struct bgdma_rec_user *user)
{
	return smp_load_acquire(&user->head); /* before new packets */
}

/* Publishes the packets before @tail. */
static inline void bgdma_ring_set_rec_tail(struct bgdma_rec_kern *kern,
					   u64 tail)
{
	smp_store_release(&kern->tail, tail); /* after the packets */
}

/* Copy a descriptor out of a ring, each word once. */
static inline void bgdma_ring_fetch(struct bgdma_desc *to,
				    const struct bgdma_desc *ring)
{
	const u64 *from = (const u64 *)ring;
	u64 *out = (u64 *)to;
	unsigned int i;

	BUILD_BUG_ON(sizeof(struct bgdma_desc) != 8 * sizeof(u64));
	OPTIMIZER_HIDE_VAR(from);	/* one address, not a sum for each word */
#pragma GCC unroll 8
	for (i = 0; i < 8; i++)
		out[i] = READ_ONCE(from[i]);
}

/* Between making work and looking whether somebody sleeps, or the reverse. */
static inline void bgdma_ring_barrier(void)
{
	smp_mb(); /* the table above */
}

/* Wake sleepers; the caller's full barrier stands before the look for them. */
static inline void bgdma_ring_wake(struct wait_queue_head *wq, __poll_t mask)
{
	if (waitqueue_active(wq)) /* after bgdma_ring_barrier() or an atomic */
		wake_up_poll(wq, mask);
}

/* Are there descriptors that were not fetched? */
static inline bool bgdma_inj_pending(const struct bgdma_inj_fifo *fifo)
{
	return bgdma_ring_tail(fifo->user) != READ_ONCE(fifo->s.head);
}

/* Descriptors ended: wake whoever waits for that. */
static inline void bgdma_inj_tell(struct bgdma_inj_fifo *fifo)
{
	struct bgdma_ctx *ctx = fifo->s.ctx;

	bgdma_ring_barrier();
	if (unlikely(atomic_read(&ctx->waiting)))
		bgdma_ctx_wake(ctx, EPOLLIN | EPOLLRDNORM);
}

/* Take the bits of a doorbell word; 0 without a write when there are none. */
static inline u64 bgdma_ring_doorbell(u64 *word)
{
	if (!READ_ONCE(*word))
		return 0;
	return xchg(word, 0);
}

/* A word of bits that user space and the engine both change. */
static inline void bgdma_ring_set_bit(u64 *words, u32 bit)
{
	atomic64_or(BIT_ULL(bit % 64), (atomic64_t *)&words[bit / 64]);
}

static inline void bgdma_ring_clear_bit(u64 *words, u32 bit)
{
	atomic64_andnot(BIT_ULL(bit % 64), (atomic64_t *)&words[bit / 64]);
}

static inline bool bgdma_ring_test_bit(const u64 *words, u32 bit)
{
	return READ_ONCE(words[bit / 64]) & BIT_ULL(bit % 64);
}

#endif /* _BGDMA_RING_H */
