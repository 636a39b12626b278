/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Counters: signed 64-bit counts that the engine moves down by the bytes of
 * transfers and that software moves up beforehand (DMA-4).
 *
 * The order for one use: bgdma_counter_clear_hit(), bgdma_counter_add(),
 * inject, wait. To add after injecting is a bug: the engine may be faster, and
 * the counter goes below zero.
 */
#ifndef BGDMA_COUNTER_H
#define BGDMA_COUNTER_H

#include <poll.h>

#include <bgdma/atomic.h>
#include <bgdma/context.h>
#include <bgdma/types.h>

BGDMA_BEGIN_DECLS

/**
 * enum bgdma_wait_mode - how to wait
 * @BGDMA_SPIN: look again and again; no system call
 * @BGDMA_SLEEP: look once, then sleep in the kernel
 * @BGDMA_SPIN_THEN_SLEEP: spin for bgdma_attach_attr.spin_ns, then sleep; a wait of
 *	an endpoint lets others have the processor between its looks, for 100,000 ns
 */
enum bgdma_wait_mode {
	BGDMA_SPIN		= 0,
	BGDMA_SLEEP		= 1,
	BGDMA_SPIN_THEN_SLEEP	= 2
};

/**
 * bgdma_counter_alloc_many() - get counters whose slots are in a row
 * @ctx: context
 * @kind: BGDMA_INJECTION or BGDMA_RECEPTION
 * @count: so many
 * @flags: 0, or BGDMA_COUNTER_NO_UNDERFLOW: may go below zero (DMA-5)
 * @counters: out: array of @count handles
 *
 * Their value is 0, their hit bit and interrupt are off, and anybody whom a
 * grant lets may move them.
 *
 * Thread safety: any thread.
 * Return: 0; -ENOSPC not so many in a row are free; -EINVAL; -ENOMEM; -ENODEV.
 */
BGDMA_API int bgdma_counter_alloc_many(struct bgdma_ctx *ctx, unsigned int kind,
				       unsigned int count, unsigned int flags,
				       struct bgdma_counter **counters);

/**
 * bgdma_counter_alloc() - get one counter
 * @ctx: context
 * @kind: BGDMA_INJECTION or BGDMA_RECEPTION
 * @counter: out: to be given back by bgdma_counter_free()
 *
 * See bgdma_counter_alloc_many().
 */
static inline int bgdma_counter_alloc(struct bgdma_ctx *ctx, unsigned int kind,
				      struct bgdma_counter **counter)
{
	return bgdma_counter_alloc_many(ctx, kind, 1, 0, counter);
}

/**
 * bgdma_counter_free() - give a counter back
 * @counter: counter, or NULL
 *
 * Transfers that still name it end with BGDMA_E_COUNTER or BGDMA_E_STALE.
 *
 * Thread safety: any thread; nobody may use the counter meanwhile.
 * Return: 0; -ENODEV the partition is gone. The handle is freed in any case.
 */
BGDMA_API int bgdma_counter_free(struct bgdma_counter *counter);

/**
 * bgdma_counter_notify() - tell the kernel that software reached the mark
 * @counter: counter
 *
 * bgdma_counter_add() calls it when that is needed.
 *
 * Thread safety: any thread.
 * Return: 0; -ENODEV.
 */
BGDMA_API int bgdma_counter_notify(struct bgdma_counter *counter);

/**
 * bgdma_counter_add() - add to a counter while the engine runs
 * @counter: counter
 * @n: bytes, or transfers; may be negative
 *
 * Reaching zero sets the hit bit, as if the engine had reached it, and wakes
 * whoever sleeps on the counter: a system call, made only if somebody does or
 * the interrupt is enabled.
 *
 * Thread safety: any thread.
 * Return: the value after the addition.
 */
static inline int64_t bgdma_counter_add(struct bgdma_counter *counter,
					int64_t n)
{
	const struct bgdma_counter_view *v = bgdma_counter_view(counter);
	struct bgdma_counter_cell *cell = v->cell;
	int64_t value;

	bgdma_store_relaxed(bgdma__counter_moved(counter), 1U);
	value = bgdma_atomic_add(&cell->value, (__s64)n);
	bgdma_barrier_after_atomic();
	if (value == 0) {
		bgdma_atomic_add(&cell->zero_seq, 1);
		bgdma_atomic_or(v->hit, v->bit);
		bgdma_barrier_after_atomic();
	} else if (value > bgdma_load_relaxed(&cell->wake_at)) {
		return value;
	}
	if (bgdma_unlikely(bgdma_load_relaxed(&cell->arm) ||
			   (bgdma_load_relaxed(v->enable) & v->bit)))
		(void)bgdma_counter_notify(counter);
	return value;
}

/**
 * bgdma_counter_read() - value of a counter
 * @counter: counter
 *
 * What was counted before is visible: after a reception counter reads 0 the
 * payload can be read.
 *
 * Thread safety: any thread.
 */
static inline int64_t bgdma_counter_read(const struct bgdma_counter *counter)
{
	return bgdma_load_acquire(&bgdma_counter_view(counter)->cell->value);
}

/**
 * bgdma_counter_hit() - whether the hit bit is set (DMA-4)
 * @counter: counter
 *
 * Thread safety: any thread.
 */
static inline bool bgdma_counter_hit(const struct bgdma_counter *counter)
{
	const struct bgdma_counter_view *v = bgdma_counter_view(counter);

	return bgdma_load_acquire(v->hit) & v->bit;
}

/**
 * bgdma_counter_failed() - whether the counter is in error (DMA-8)
 * @counter: counter
 *
 * bgdma_counter_error() tells why.
 *
 * Thread safety: any thread.
 */
static inline bool bgdma_counter_failed(const struct bgdma_counter *counter)
{
	const struct bgdma_counter_view *v = bgdma_counter_view(counter);

	return bgdma_unlikely(bgdma_load_acquire(v->error) & v->bit);
}

/* Looks for a bit that is about to be set, before others get the processor. */
#define BGDMA_HIT_LOOKS		1000U

/**
 * bgdma_counter_clear_hit() - clear the hit bit, and see whether it was set
 * @counter: counter
 *
 * The counter is 0 a little before the bit is set. A bit that is about to be
 * set is waited for: set after the clear it would end the wait for the next
 * use of the counter before its bytes have come. Who sets it may have been put
 * aside for this thread: after some looks it sleeps between them.
 *
 * Thread safety: any thread.
 */
static inline bool bgdma_counter_clear_hit(struct bgdma_counter *counter)
{
	const struct bgdma_counter_view *v = bgdma_counter_view(counter);
	uint32_t *moved = bgdma__counter_moved(counter), looks = 0;
	bool was;

	while (bgdma_load_relaxed(moved) && !bgdma_counter_hit(counter) &&
	       bgdma_counter_read(counter) == 0 &&
	       !bgdma_counter_failed(counter)) {
		if (bgdma_likely(looks++ < BGDMA_HIT_LOOKS))
			bgdma_relax();
		else
			(void)poll(NULL, 0, 1);
	}
	was = bgdma_atomic_and(v->hit, ~v->bit) & v->bit;
	bgdma_store_relaxed(moved, 0U);
	return was;
}

/**
 * bgdma_counter_there() - whether a wait for the counter would end at once
 * @counter: counter
 *
 * Its value is at or below its wake mark, or its hit bit or an error is set.
 *
 * Thread safety: any thread.
 */
static inline bool bgdma_counter_there(const struct bgdma_counter *counter)
{
	const struct bgdma_counter_cell *cell = bgdma_counter_view(counter)->cell;

	return bgdma_load_acquire(&cell->value) <=
		       bgdma_load_relaxed(&cell->wake_at) ||
	       bgdma_counter_hit(counter) || bgdma_counter_failed(counter);
}

/**
 * bgdma_counter_set_wake_at() - set the wake mark
 * @counter: counter
 * @value: a wait ends when the counter is at or below this; initially 0
 *
 * Thread safety: any thread, but not while somebody sleeps on the counter.
 */
static inline void bgdma_counter_set_wake_at(struct bgdma_counter *counter,
					     int64_t value)
{
	bgdma_store_relaxed(&bgdma_counter_view(counter)->cell->wake_at,
			    (__s64)value);
}

/**
 * bgdma_counter_enable() - make hits interrupts, or no longer
 * @counter: counter
 * @on: whether a set hit bit makes bgdma_ctx_fd() readable and signals the
 *	eventfd
 *
 * Look at the counter afterwards: a hit that came before raised nothing.
 *
 * Thread safety: any thread.
 */
static inline void bgdma_counter_enable(struct bgdma_counter *counter, bool on)
{
	const struct bgdma_counter_view *v = bgdma_counter_view(counter);

	if (on)
		bgdma_atomic_or(v->enable, v->bit);
	else
		bgdma_atomic_and(v->enable, ~v->bit);
	bgdma_barrier_after_atomic();
}

/**
 * bgdma_counter_handle() - what descriptors and peers call the counter
 * @counter: counter
 *
 * Changes with bgdma_counter_lease().
 *
 * Thread safety: any thread.
 */
static inline uint32_t bgdma_counter_handle(const struct bgdma_counter *counter)
{
	const struct bgdma_counter_view *v = bgdma_counter_view(counter);

	return BGDMA_HANDLE(v->slot, bgdma_load_relaxed(&v->cell->lease_gen));
}

/**
 * bgdma_counter_slot() - number of the counter among those of its kind
 * @counter: counter
 */
static inline uint32_t bgdma_counter_slot(const struct bgdma_counter *counter)
{
	return bgdma_counter_view(counter)->slot;
}

/**
 * bgdma_counter_lease() - put the counter to a new use, without a system call
 * @counter: counter
 * @rank: who may move it from outside; BGDMA_RANK_ANY; BGDMA_RANK_NOBODY
 * @ctx: which context of that rank, or BGDMA_CTX_ANY
 *
 * The generation changes: packets of earlier uses are refused with
 * BGDMA_E_STALE. When a peer that a counter is leased to dies, the counter
 * goes into error and wakes its waiters. A lease narrows what grants
 * give; it gives nothing itself.
 *
 * Thread safety: one thread at a time for each counter.
 * Return: the new handle.
 */
BGDMA_API uint32_t bgdma_counter_lease(struct bgdma_counter *counter,
				       uint32_t rank, uint16_t ctx);

/* bgdma_counter_wait() for a counter that is not there yet. */
BGDMA_API int bgdma_counter_wait_slow(struct bgdma_counter *counter,
				      enum bgdma_wait_mode mode,
				      int64_t timeout_ns);

/**
 * bgdma_counter_wait() - wait until a counter is there
 * @counter: counter
 * @mode: how
 * @timeout_ns: from now; negative: for ever; 0: only look
 *
 * It does not clear the hit bit.
 *
 * Thread safety: any thread, many at once.
 * Return: 0; -ETIMEDOUT; -EINTR; -ENODEV the partition is gone; or the
 * counter's error by bgdma_code_errno(), see bgdma_counter_error().
 */
static inline int bgdma_counter_wait(struct bgdma_counter *counter,
				     enum bgdma_wait_mode mode,
				     int64_t timeout_ns)
{
	const struct bgdma_counter_cell *cell = bgdma_counter_view(counter)->cell;

	/* The error is there before what it leaves is taken off. */
	if ((bgdma_counter_read(counter) <= bgdma_load_relaxed(&cell->wake_at) ||
	     bgdma_counter_hit(counter)) && !bgdma_counter_failed(counter))
		return 0;
	return bgdma_counter_wait_slow(counter, mode, timeout_ns);
}

/**
 * bgdma_counter_error() - why a counter is in error
 * @counter: counter
 * @record: out: for bgdma_explain_record(); may be NULL
 *
 * Thread safety: any thread.
 * Return: enum bgdma_code; BGDMA_OK if it is not.
 */
BGDMA_API int bgdma_counter_error(const struct bgdma_counter *counter,
				  struct bgdma_record *record);

/**
 * bgdma_counter_clear_error() - take a counter out of error
 * @counter: counter
 *
 * Its value stays as it is.
 *
 * Thread safety: any thread.
 * Return: 0; -ENODEV.
 */
BGDMA_API int bgdma_counter_clear_error(struct bgdma_counter *counter);

/**
 * bgdma_counter_eventfd() - signal enabled hits and errors to an eventfd
 * @counter: counter
 * @eventfd: file descriptor, or -1 for no longer
 *
 * Thread safety: any thread.
 * Return: 0; -EBADF or -EINVAL not an eventfd; -ENODEV.
 */
BGDMA_API int bgdma_counter_eventfd(struct bgdma_counter *counter, int eventfd);

/**
 * bgdma_counter_grant() - let a peer move counters
 * @first: counter
 * @count: so many, from @first on, that were allocated in a row
 * @attr: who; rights: BGDMA_RIGHT_COUNT or 0
 * @id: out: for bgdma_revoke(); may be NULL
 *
 * Thread safety: any thread.
 * Return: 0; -ENOENT; -ENOSPC BGDMA_GRANTS_MAX grants exist; -EINVAL; -ENOMEM;
 * -ENODEV.
 */
static inline int bgdma_counter_grant(struct bgdma_counter *first,
				      uint32_t count,
				      const struct bgdma_grant_attr *attr,
				      uint32_t *id)
{
	const struct bgdma_counter_view *v = bgdma_counter_view(first);

	return bgdma_grant_sized(v->ctx, v->kind, v->slot, count, attr,
				 sizeof(*attr), id);
}

/**
 * bgdma_hits() - hit bits of 64 counters
 * @ctx: context
 * @kind: BGDMA_INJECTION or BGDMA_RECEPTION
 * @word: counters from slot 64 * @word on; less than BGDMA_CTR_WORDS
 *
 * One load tells which of 64 counters have reached zero.
 *
 * Thread safety: any thread.
 */
static inline uint64_t bgdma_hits(const struct bgdma_ctx *ctx,
				  unsigned int kind, unsigned int word)
{
	return bgdma_load_acquire(&bgdma_ctx_view(ctx)->user->hit_zero[kind][word]);
}

BGDMA_END_DECLS

#endif /* BGDMA_COUNTER_H */
