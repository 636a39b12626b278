// SPDX-License-Identifier: GPL-2.0
/*
 * The run list: users, the contexts of each, the streams of each. Whose turn it
 * is goes round on each level, see "Shares" in Documentation/design.rst.
 *
 * A user, or a context, has its place in the round of its level as long as it
 * has a stream that runs or wants to. So it is next in turn again when it has
 * one stream only, which two threads at the same time cannot run.
 */
#include "../bgdma.h"
#include "../trace.h"
#include "busy.h"
#include "engine.h"

static void bgdma_rq_enter(struct bgdma_engine *e, struct bgdma_ctx *ctx)
{
	if (list_empty(&ctx->rq_node))
		list_add_tail(&ctx->rq_node, &ctx->user->round);
	if (list_empty(&ctx->user->rq_node))
		list_add_tail(&ctx->user->rq_node, &e->rq);
}

static void bgdma_rq_leave(struct bgdma_ctx *ctx)
{
	if (!ctx->running && list_empty(&ctx->runnable))
		list_del_init(&ctx->rq_node);
	if (list_empty(&ctx->user->round))
		list_del_init(&ctx->user->rq_node);
}

static bool bgdma_rq_add_locked(struct bgdma_engine *e, struct bgdma_stream *s)
{
	struct bgdma_ctx *ctx = s->ctx;

	lockdep_assert_held(&e->rq_lock);
	if ((READ_ONCE(s->flags) & BGDMA_STREAM_STOPPED) ||
	    READ_ONCE(ctx->dead) || !list_empty(&s->run_node))
		return false;
	list_add_tail(&s->run_node, &ctx->runnable);
	WRITE_ONCE(e->runnable, e->runnable + 1);
	bgdma_rq_enter(e, ctx);
	return true;
}

static void bgdma_rq_del_locked(struct bgdma_engine *e, struct bgdma_stream *s)
{
	lockdep_assert_held(&e->rq_lock);
	list_del_init(&s->run_node);
	WRITE_ONCE(e->runnable, e->runnable - 1);
}

/**
 * bgdma_rq_add() - put a stream on the run list
 * @s: stream
 *
 * Return: false if it is stopped, or there already.
 */
bool bgdma_rq_add(struct bgdma_stream *s)
{
	struct bgdma_engine *e = &bgdma_engine;
	bool queued;

	spin_lock(&e->rq_lock);
	queued = bgdma_rq_add_locked(e, s);
	spin_unlock(&e->rq_lock);
	return queued;
}

/**
 * bgdma_rq_remove() - take a stream off the run list
 * @s: dead, so that it does not come back
 */
void bgdma_rq_remove(struct bgdma_stream *s)
{
	struct bgdma_engine *e = &bgdma_engine;

	spin_lock(&e->rq_lock);
	if (!list_empty(&s->run_node)) {
		bgdma_rq_del_locked(e, s);
		bgdma_rq_leave(s->ctx);
	}
	spin_unlock(&e->rq_lock);
}

/*
 * The stream whose turn it is; NULL when there is none. Passes over those that
 * only run: not more than there are threads.
 */
static struct bgdma_stream *bgdma_rq_first(struct bgdma_engine *e)
{
	struct bgdma_user *user;
	struct bgdma_ctx *ctx;

	lockdep_assert_held(&e->rq_lock);
	list_for_each_entry(user, &e->rq, rq_node) {
		list_for_each_entry(ctx, &user->round, rq_node) {
			if (!list_empty(&ctx->runnable))
				return list_first_entry(&ctx->runnable,
							struct bgdma_stream,
							run_node);
		}
	}
	return NULL;
}

/**
 * bgdma_rq_pick() - take the stream whose turn it is
 * @e: the engine
 * @more: out: whether others want to run
 *
 * Streams that somebody else owns are left to him. bgdma_rq_end() follows.
 *
 * Return: owned, with a busy reference on its context; NULL if there is none.
 */
struct bgdma_stream *bgdma_rq_pick(struct bgdma_engine *e, bool *more)
{
	struct bgdma_stream *s;
	u32 n = 0;

	spin_lock(&e->rq_lock);
	while ((s = bgdma_rq_first(e))) {
		struct bgdma_ctx *ctx = s->ctx;

		bgdma_rq_del_locked(e, s);
		list_move_tail(&ctx->rq_node, &ctx->user->round);
		list_move_tail(&ctx->user->rq_node, &e->rq);
		if (bgdma_busy_get(&ctx->busy)) {
			if (!test_and_set_bit_lock(BGDMA_STREAM_OWNED,
						   &s->flags)) {
				ctx->running++;
				break;
			}
			bgdma_busy_put(&ctx->busy);
		}
		bgdma_rq_leave(ctx);
		/* Those of a partition that was deleted may be many. */
		if (++n >= BGDMA_HOLD_MAX) {
			spin_unlock(&e->rq_lock);
			trace_bgdma_hold(BGDMA_HOLD_PASSED, n);
			n = 0;
			spin_lock(&e->rq_lock);
		}
	}
	*more = e->runnable;
	spin_unlock(&e->rq_lock);
	return s;
}

/**
 * bgdma_rq_end() - a turn is over
 * @ctx: of the stream that had it
 * @again: the stream, if it wants another; else NULL
 */
void bgdma_rq_end(struct bgdma_ctx *ctx, struct bgdma_stream *again)
{
	struct bgdma_engine *e = &bgdma_engine;

	spin_lock(&e->rq_lock);
	if (again)
		bgdma_rq_add_locked(e, again);
	ctx->running--;
	bgdma_rq_leave(ctx);
	spin_unlock(&e->rq_lock);
}
