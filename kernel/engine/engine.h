/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The one engine of the module: its run list, its threads, and the contexts
 * whose doorbells it polls. Private to engine/engine.c, engine/doorbell.c,
 * engine/run_list.c and engine/stream.c.
 */
#ifndef _BGDMA_ENGINE_H
#define _BGDMA_ENGINE_H

#include <linux/workqueue.h>

#include "../bgdma.h"
#include "ring.h"

/**
 * struct bgdma_engine - run list, threads, polled contexts, waiting streams
 * @rq_lock: the run list: users, their contexts, their streams
 * @rq: users with streams that run or want to
 * @runnable: streams that want to; rq_lock
 * @poll_lock: the polled contexts; nothing else inside
 * @polled: contexts that worked lately: wake is 0, doorbells are polled
 * @park_lock: who waits for what; outside rq_lock
 * @timed: streams that wait for a limited time
 * @expire: looks at @timed
 * @wq: threads that have nothing to do
 * @poller: bit 0: some thread polls and will see new work
 * @lock: users and threads
 * @users: with contexts attached
 * @contexts: attached, and partitions that others send to
 * @threads: the pool
 * @nr_threads: so many
 * @stop: ends the pool some time after the last context left
 */
struct bgdma_engine {
	spinlock_t rq_lock;
	struct list_head rq;
	u32 runnable;
	spinlock_t poll_lock;
	struct list_head polled;
	spinlock_t park_lock;
	struct list_head timed;
	struct delayed_work expire;
	wait_queue_head_t wq;
	unsigned long poller;
	struct mutex lock;
	struct list_head users;
	u32 contexts;
	struct task_struct **threads;
	u32 nr_threads;
	struct delayed_work stop;
};

extern struct bgdma_engine bgdma_engine;

bool bgdma_rq_add(struct bgdma_stream *s);
void bgdma_rq_remove(struct bgdma_stream *s);
struct bgdma_stream *bgdma_rq_pick(struct bgdma_engine *e, bool *more);
void bgdma_rq_end(struct bgdma_ctx *ctx, struct bgdma_stream *again);
bool bgdma_follow_add(struct bgdma_stream *by, struct bgdma_stream *s);
u32 bgdma_follow_run(struct bgdma_follow *follow);
void bgdma_engine_arm_timer(struct bgdma_engine *e);
bool bgdma_streams_expire(struct bgdma_engine *e);

/* freeze.c */
void bgdma_freeze_region(struct bgdma_ctx *ctx, u32 handle);
void bgdma_freeze_others(struct bgdma_ctx *ctx);

/*
 * The locks of the polled contexts and of the waiting streams are everybody's,
 * the lists as long as users like: so many entries in one hold.
 */
#define BGDMA_HOLD_MAX		32

/* And so many FIFOs are rung in one look at polled contexts, or those of one. */
#define BGDMA_RUNG_MAX		256

/* Has nothing to run until somebody else says so. */
#define BGDMA_STREAM_STOPPED	(BIT(BGDMA_STREAM_PARKED) | \
				 BIT(BGDMA_STREAM_HELD) | \
				 BIT(BGDMA_STREAM_ERROR) | \
				 BIT(BGDMA_STREAM_DEAD))

/* Starts no descriptor. */
#define BGDMA_STREAM_HALTED	(BGDMA_STREAM_STOPPED | \
				 BIT(BGDMA_STREAM_WANTED))

/* Looked at for every piece: a run ends early for teardown and control. */
static inline bool bgdma_stream_must_stop(const struct bgdma_stream *s)
{
	return READ_ONCE(s->ctx->dead) ||
	       (READ_ONCE(s->flags) & (BIT(BGDMA_STREAM_WANTED) |
				       BIT(BGDMA_STREAM_DEAD)));
}

static __always_inline bool bgdma_stream_pending(struct bgdma_stream *s)
{
	const struct bgdma_rget_sub *sub;

	if (READ_ONCE(s->flags) & BGDMA_STREAM_STOPPED)
		return false;
	if (READ_ONCE(s->x.active))
		return true;
	if (s->kind == BGDMA_KIND_INJ_FIFO)
		return bgdma_inj_pending(container_of(s, struct bgdma_inj_fifo,
						      s));
	if (s->kind == BGDMA_KIND_FLOW)
		return READ_ONCE(s->more);
	if (s->kind == BGDMA_KIND_EDGE)
		return bgdma_tree.pending(s);
	sub = container_of(s, struct bgdma_rget_sub, s);
	return READ_ONCE(sub->head) != READ_ONCE(sub->tail);
}

int bgdma_engine_get(void);
void bgdma_engine_put(void);
void bgdma_stream_leave(struct bgdma_stream *s, bool pooled);

/* Has work that nobody else looks after: asked by who disowned it. */
static inline bool bgdma_stream_again(struct bgdma_stream *s)
{
	return bgdma_stream_pending(s) && !bgdma_stream_must_stop(s);
}

#endif /* _BGDMA_ENGINE_H */
