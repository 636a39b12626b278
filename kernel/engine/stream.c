// SPDX-License-Identifier: GPL-2.0
/*
 * Streams: the descriptors of one FIFO that came from one place, which start
 * in order. This file has what concerns one stream: who owns it, and where it
 * waits when its target has no room. engine.c decides which stream runs.
 *
 * A stream is run by whoever sets BGDMA_STREAM_OWNED. Only the owner touches
 * the transfer under way. An owner that leaves looks once more for work that
 * came meanwhile, so that a doorbell which found the stream owned is not lost.
 */
#include <linux/jiffies.h>
#include <linux/wait_bit.h>

#include "../bgdma.h"
#include "../trace.h"
#include "busy.h"
#include "engine.h"
#include "ring.h"

/**
 * bgdma_stream_init() - make a stream, idle
 * @s: all zero
 * @ctx: executes it
 * @kind: of its FIFO
 * @id: of its FIFO
 * @fetch: copies its next descriptor
 */
void bgdma_stream_init(struct bgdma_stream *s, struct bgdma_ctx *ctx, u16 kind,
		       u32 id, int (*fetch)(struct bgdma_stream *s))
{
	s->ctx = ctx;
	s->kind = kind;
	s->id = id;
	s->fetch = fetch;
	/* One bit is always set: no transfer has the id 0. */
	s->tag = (u32)(kind != BGDMA_KIND_INJ_FIFO) << 31 | id << 21 | BIT(20);
	INIT_LIST_HEAD(&s->run_node);
	INIT_LIST_HEAD(&s->park_node);
	INIT_LIST_HEAD(&s->timed_node);
}

/**
 * bgdma_stream_own() - become the owner, waiting for whoever is
 * @s: of a context whose lock is held, so there is one such waiter at most
 *
 * Owners look at BGDMA_STREAM_WANTED for every piece, so the wait is short.
 */
void bgdma_stream_own(struct bgdma_stream *s)
{
	set_bit(BGDMA_STREAM_WANTED, &s->flags);
	wait_on_bit_lock(&s->flags, BGDMA_STREAM_OWNED, TASK_UNINTERRUPTIBLE);
	clear_bit(BGDMA_STREAM_WANTED, &s->flags);
}

/**
 * bgdma_stream_kill() - a stream runs no more
 * @s: of a context whose lock is held
 *
 * The transfer under way ends with BGDMA_E_CANCELLED on both sides. When this
 * returns nobody owns the stream, and it is in no list.
 */
void bgdma_stream_kill(struct bgdma_stream *s)
{
	set_bit(BGDMA_STREAM_DEAD, &s->flags);
	bgdma_stream_own(s);
	bgdma_stream_unpark(s);
	bgdma_rq_remove(s);
	bgdma_op_cancel(s);
	if (s->tx)
		s->ctx->partition->fabric->end(s);
	if (s->peer)
		bgdma_ctx_put(s->peer);
	s->peer = NULL;
	bgdma_stream_disown(s);
}

/**
 * bgdma_stream_leave() - let go of a stream
 * @s: owned
 * @pooled: by a thread, which looks at the run list before it sleeps
 *
 * Whoever found it owned meanwhile is made up for.
 *
 * Context: under RCU: once it is not owned it may be freed.
 */
void bgdma_stream_leave(struct bgdma_stream *s, bool pooled)
{
	bgdma_stream_disown(s);
	if (s->kind == BGDMA_KIND_RGET_QUEUE)
		bgdma_rgq_left(s);
	if (!bgdma_stream_again(s))
		return;
	if (pooled)
		bgdma_rq_add(s);
	else
		bgdma_stream_wake(s);
}

/* One that does not stop at an error: does it wait? */
static u32 bgdma_stream_state(const struct bgdma_stream *s)
{
	lockdep_assert_held(&bgdma_engine.park_lock);
	return READ_ONCE(s->flags) & (BIT(BGDMA_STREAM_PARKED) |
				      BIT(BGDMA_STREAM_HELD)) ?
		BGDMA_FIFO_BLOCKED : BGDMA_FIFO_RUNNING;
}

/* Show user space that its FIFO waits, or goes on. */
static void bgdma_stream_show(struct bgdma_stream *s)
{
	if (s->kind == BGDMA_KIND_INJ_FIFO &&
	    !test_bit(BGDMA_STREAM_ERROR, &s->flags))
		WRITE_ONCE(container_of(s, struct bgdma_inj_fifo, s)->kern->state,
			   bgdma_stream_state(s));
}

/**
 * bgdma_stream_error() - the FIFO of a stream stops at an error, or goes on
 * @s: of an injection FIFO
 * @error: it stops
 *
 * Context: ctx.event_lock held: the record of the error is there or is not, as the
 * state says.
 */
void bgdma_stream_error(struct bgdma_stream *s, bool error)
{
	struct bgdma_inj_kern *kern =
		container_of(s, struct bgdma_inj_fifo, s)->kern;

	lockdep_assert_held(&s->ctx->event_lock);
	/* Who parks shows that, unless there is an error. */
	spin_lock(&bgdma_engine.park_lock);
	assign_bit(BGDMA_STREAM_ERROR, &s->flags, error);
	/* Whoever sees the state sees the record. */
	smp_store_release(&kern->state,
			  error ? BGDMA_FIFO_ERROR : bgdma_stream_state(s));
	spin_unlock(&bgdma_engine.park_lock);
}

/**
 * bgdma_stream_held() - what a stream has sent waits for room where it goes to
 * @s: not killed meanwhile
 * @held: it does; or not any more
 * @kind: of the object that has no room
 * @id: of the object
 *
 * It starts nothing more meanwhile.
 *
 * Context: any.
 */
void bgdma_stream_held(struct bgdma_stream *s, bool held, u32 kind, u32 id)
{
	if (held)
		bgdma_stat_add(s->stats.blocked, 1);
	spin_lock(&bgdma_engine.park_lock);
	if (held)
		set_bit(BGDMA_STREAM_HELD, &s->flags);
	else
		clear_bit(BGDMA_STREAM_HELD, &s->flags);
	s->held_kind = held ? kind : 0;
	s->held_id = held ? id : 0;
	if (!test_bit(BGDMA_STREAM_PARKED, &s->flags)) {
		s->parked_kind = s->held_kind;
		s->parked_id = s->held_id;
	}
	bgdma_stream_show(s);
	spin_unlock(&bgdma_engine.park_lock);
	if (!held)
		bgdma_stream_wake(s);
}

/**
 * bgdma_stream_park() - wait for room at the target
 * @s: owned
 * @waiters: of the object that has no room
 * @timeout: in jiffies; 0: for ever
 * @kind: of the object, for people
 * @id: of the object
 *
 * The caller looks for room again afterwards and calls
 * bgdma_stream_unpark() if there is some: the reader may have made it before
 * it could see the list.
 *
 * Context: inside a slice; the object cannot go away within it.
 */
void bgdma_stream_park(struct bgdma_stream *s, struct bgdma_waiters *waiters,
		       unsigned long timeout, u32 kind, u32 id)
{
	struct bgdma_engine *e = &bgdma_engine;

	bgdma_stat_add(s->stats.blocked, 1);
	spin_lock(&e->park_lock);
	s->parked_kind = kind;
	s->parked_id = id;
	set_bit(BGDMA_STREAM_PARKED, &s->flags);
	list_add_tail(&s->park_node, &waiters->waiting);
	if (timeout) {
		if (!s->deadline) {
			s->deadline = jiffies + timeout ?: 1;
			clear_bit(BGDMA_STREAM_EXPIRED, &s->flags);
		}
		list_add_tail(&s->timed_node, &e->timed);
		bgdma_engine_arm_timer(e);
	}
	bgdma_stream_show(s);
	spin_unlock(&e->park_lock);
	trace_bgdma_park(s);
	bgdma_ring_barrier();
}

static void bgdma_unpark_locked(struct bgdma_stream *s)
{
	lockdep_assert_held(&bgdma_engine.park_lock);
	list_del_init(&s->park_node);
	list_del_init(&s->timed_node);
	clear_bit(BGDMA_STREAM_PARKED, &s->flags);
	s->parked_kind = s->held_kind;
	s->parked_id = s->held_id;
	bgdma_stream_show(s);
	trace_bgdma_wake(s);
}

/**
 * bgdma_stream_unpark() - wait no longer
 * @s: owned; may be not parked any more
 */
void bgdma_stream_unpark(struct bgdma_stream *s)
{
	spin_lock(&bgdma_engine.park_lock);
	if (test_bit(BGDMA_STREAM_PARKED, &s->flags))
		bgdma_unpark_locked(s);
	spin_unlock(&bgdma_engine.park_lock);
}

/* Let the first of those go on that were woken; is somebody left? */
static bool bgdma_waiters_next(struct bgdma_waiters *waiters)
{
	struct bgdma_stream *s;
	u32 n = 0;

	lockdep_assert_held(&bgdma_engine.park_lock);
	while (n < BGDMA_HOLD_MAX &&
	       (s = list_first_entry_or_null(&waiters->woken,
					     struct bgdma_stream, park_node))) {
		bgdma_unpark_locked(s);
		bgdma_stream_wake(s);
		n++;
	}
	if (n >= BGDMA_HOLD_MAX)
		trace_bgdma_hold(BGDMA_HOLD_PARKED, n);
	return !list_empty(&waiters->woken);
}

static void bgdma_waiters_work(struct work_struct *work)
{
	struct bgdma_waiters *waiters =
		container_of(work, struct bgdma_waiters, work);
	bool more;

	do {
		spin_lock(&bgdma_engine.park_lock);
		more = bgdma_waiters_next(waiters);
		spin_unlock(&bgdma_engine.park_lock);
		cond_resched();
	} while (more);
}

/**
 * bgdma_waiters_init() - nobody waits for an object yet
 * @waiters: of the object
 */
void bgdma_waiters_init(struct bgdma_waiters *waiters)
{
	INIT_LIST_HEAD(&waiters->waiting);
	INIT_LIST_HEAD(&waiters->woken);
	INIT_WORK(&waiters->work, bgdma_waiters_work);
}

/**
 * bgdma_waiters_wake() - let all streams go on that wait for an object
 * @waiters: of the object
 *
 * Streams that come meanwhile saw what made the caller call. The first go on at
 * once. How many there are is their owners' choice, and the caller may be a
 * thread that works for everybody, so a worker sees to the rest.
 */
void bgdma_waiters_wake(struct bgdma_waiters *waiters)
{
	struct bgdma_engine *e = &bgdma_engine;
	bool more;

	/* The room that was made before the look at the list: see ring.h. */
	bgdma_ring_barrier();
	if (list_empty(&waiters->waiting))
		return;
	spin_lock(&e->park_lock);
	list_splice_tail_init(&waiters->waiting, &waiters->woken);
	more = bgdma_waiters_next(waiters);
	/* Within the lock: see bgdma_waiters_end(). */
	if (more)
		queue_work(system_unbound_wq, &waiters->work);
	spin_unlock(&e->park_lock);
}

/**
 * bgdma_waiters_end() - let all streams go on: their object goes away
 * @waiters: of the object, where nobody comes any more
 *
 * Context: may sleep.
 */
void bgdma_waiters_end(struct bgdma_waiters *waiters)
{
	bgdma_waiters_wake(waiters);
	/* Others may have found them first, and leave the rest to the worker. */
	spin_lock(&bgdma_engine.park_lock);
	spin_unlock(&bgdma_engine.park_lock);
	flush_work(&waiters->work);
}

/**
 * bgdma_streams_expire() - wake the streams that waited too long
 * @e: the engine
 *
 * Context: may sleep.
 * Return: true if there are others that may expire later.
 */
bool bgdma_streams_expire(struct bgdma_engine *e)
{
	struct bgdma_stream *s;
	LIST_HEAD(all);
	u32 n = 0;
	bool more;

	spin_lock(&e->park_lock);
	list_splice_init(&e->timed, &all);
	while ((s = list_first_entry_or_null(&all, struct bgdma_stream,
					     timed_node))) {
		if (time_before(jiffies, s->deadline)) {
			list_move_tail(&s->timed_node, &e->timed);
		} else {
			set_bit(BGDMA_STREAM_EXPIRED, &s->flags);
			bgdma_unpark_locked(s);
			bgdma_stream_wake(s);
		}
		if (++n < BGDMA_HOLD_MAX)
			continue;
		n = 0;
		/* The lock is everybody's. */
		spin_unlock(&e->park_lock);
		cond_resched();
		spin_lock(&e->park_lock);
	}
	more = !list_empty(&e->timed);
	spin_unlock(&e->park_lock);
	return more;
}
