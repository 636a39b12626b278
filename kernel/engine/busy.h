/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Short references, and the sections in which the engine may hold them.
 *
 * A busy count is one for being alive and one per user. Teardown drops the
 * one and waits for zero, so users must be brief: the engine takes references
 * on somebody else's objects only inside a slice, which copies at most
 * BGDMA_SLICE_MAX bytes. A slice is not preemptible (but on PREEMPT_RT, where
 * the leaf locks sleep), so that a runner which the scheduler throttles never
 * holds up the teardown of another user's object.
 */
#ifndef _BGDMA_BUSY_H
#define _BGDMA_BUSY_H

#include "../bgdma.h"

static inline void bgdma_busy_init(struct bgdma_busy *busy)
{
	atomic_set(&busy->n, 1);
}

static inline bool bgdma_busy_get(struct bgdma_busy *busy)
{
	return atomic_inc_not_zero(&busy->n);
}

/* The object may be gone as soon as the count is down: only use its address. */
static inline void bgdma_busy_put(struct bgdma_busy *busy)
{
	if (atomic_dec_and_test(&busy->n))
		wake_up_var(busy);
}

/* Wait for the users to leave; the count for being alive was dropped. */
static inline void bgdma_busy_wait(struct bgdma_busy *busy)
{
	wait_var_event(busy, !atomic_read_acquire(&busy->n));
}

#ifdef CONFIG_PREEMPT_RT
static inline void bgdma_slice_begin(void)
	__acquires(RCU)
{
	rcu_read_lock();
}

static inline void bgdma_slice_end(void)
	__releases(RCU)
{
	rcu_read_unlock();
}
#else
static inline void bgdma_slice_begin(void)
	__acquires(RCU_SCHED)
{
	rcu_read_lock_sched();
}

static inline void bgdma_slice_end(void)
	__releases(RCU_SCHED)
{
	rcu_read_unlock_sched();
}
#endif

/**
 * bgdma_stream_disown() - stop being the owner
 * @s: owned
 */
static inline void bgdma_stream_disown(struct bgdma_stream *s)
{
	clear_bit_unlock(BGDMA_STREAM_OWNED, &s->flags);
	/* Against the set of WANTED, and new work, before OWNED was clear. */
	smp_mb__after_atomic();
	if (unlikely(test_bit(BGDMA_STREAM_WANTED, &s->flags)))
		wake_up_bit(&s->flags, BGDMA_STREAM_OWNED);
}

/* What was good may be no good from now on. */
static inline void bgdma_good_forget(struct bgdma_stream *s)
{
	s->good.known = false;
	s->good_rget.known = false;
}

/*
 * The target of the stream's last transfer, held busy, if it is that of this
 * one: it is on this kernel, so nobody need be asked for the way. Else NULL.
 */
static __always_inline struct bgdma_ctx *bgdma_peer_again(struct bgdma_stream *s)
{
	struct bgdma_ctx *peer = s->peer;

	if (unlikely(!peer || peer->rank != le32_to_cpu(s->x.desc.dst_rank) ||
		     peer->id != le16_to_cpu(s->x.desc.dst_ctx)))
		return NULL;
	return likely(bgdma_busy_get(&peer->busy)) ? peer : NULL;
}

/* The next transfer is for this one, and for nobody else who has, or had, its place. */
static inline void bgdma_peer_forget(struct bgdma_stream *s, u32 incarnation)
{
	if (likely(!s->peer || s->peer->who.incarnation == incarnation))
		return;
	bgdma_ctx_put(s->peer);
	s->peer = NULL;
}

/* Inside a slice, or under plain RCU where only the pointer is needed. */
#define bgdma_deref(p) \
	rcu_dereference_check(p, rcu_read_lock_held() || \
				 rcu_read_lock_sched_held())

/**
 * bgdma_granted() - may somebody use an object?
 * @where: grants of the object
 * @who: asks
 * @rights: BGDMA_RIGHT_*, all of them needed
 * @off: first byte, for regions
 * @len: bytes
 * @bound: where the last grant that fits but for its range ends; only written
 *	when one does
 * @memo: serial of the array that last said yes to this question for any
 *	range, kept by whoever asks the same again and again; or NULL
 *
 * Context: inside a slice.
 * Return: true if one grant covers all of it.
 */
static inline bool bgdma_granted(struct bgdma_grants __rcu *const *where,
				 const struct bgdma_principal *who, u32 rights,
				 u64 off, u64 len, u64 *bound, u64 *memo)
{
	const struct bgdma_grants *grants = bgdma_deref(*where);

	if (!grants)
		return false;
	if (memo && *memo == READ_ONCE(grants->serial))
		return true;
	return bgdma_grants_cover(grants, who, rights, off, len, bound, memo);
}

/*
 * The same for objects that are granted as a whole. @rights: one of them, so
 * that it does not matter which grant gives it.
 */
static __always_inline bool
bgdma_granted_whole(struct bgdma_grants __rcu *const *where,
		    const struct bgdma_principal *who, u32 rights, u64 *memo)
{
	const struct bgdma_grants *grants = bgdma_deref(*where);

	if (unlikely(!grants))
		return false;
	return likely(*memo == READ_ONCE(grants->serial)) ||
	       (READ_ONCE(grants->anyone) & rights) ||
	       bgdma_grants_cover_whole(grants, who, rights, memo);
}

#endif /* _BGDMA_BUSY_H */
