// SPDX-License-Identifier: GPL-2.0
/*
 * Streams that follow another: what a doorbell or a turn puts into remote-get queues,
 * or makes an edge of a class send, runs next.
 *
 * They may be somebody else's, and nobody's scheduling may hold up the teardown of
 * what another user has; so each is run inside one slice (busy.h), and looked up
 * there, since nothing but the memory of its context is held meanwhile.
 */
#include "../bgdma.h"
#include "busy.h"
#include "engine.h"

/* So much of each. */
#define BGDMA_FOLLOW_BYTES	4096
#define BGDMA_FOLLOW_EACH	(BGDMA_FOLLOW_BYTES / 4)

static u32 bgdma_follow_index(struct bgdma_stream *s)
{
	struct bgdma_rget_sub *sub = container_of(s, struct bgdma_rget_sub, s);

	return s->kind == BGDMA_KIND_EDGE ? BGDMA_FOLLOW_EDGE :
					    sub - sub->queue->subs;
}

/**
 * bgdma_follow_add() - let a stream run when another's run is over
 * @by: owned, has a list of those that follow
 * @s: of a remote-get queue, or of an edge of a class, with something to do
 *
 * Not what a context sends to itself by a queue, which may be anything, and take long. Nor on
 * PREEMPT_RT, where a slice can be preempted.
 *
 * Context: inside a slice, where @s cannot go away.
 * Return: false: it is not to, or there is no room.
 */
bool bgdma_follow_add(struct bgdma_stream *by, struct bgdma_stream *s)
{
	struct bgdma_follow *follow = by->follow;
	u32 index = bgdma_follow_index(s), i;

	/* It may change hands at this moment: bgdma_follow_one() looks again. */
	if (IS_ENABLED(CONFIG_PREEMPT_RT) ||
	    (!READ_ONCE(s->remote) && s->kind != BGDMA_KIND_EDGE))
		return false;
	for (i = follow->at; i < follow->n; i++) {
		if (follow->e[i].ctx == s->ctx && follow->e[i].queue == s->id &&
		    follow->e[i].sub == index)
			return true;
	}
	if (i == BGDMA_FOLLOW_MAX)
		return false;
	kref_get(&s->ctx->ref);
	follow->e[i].ctx = s->ctx;
	follow->e[i].queue = s->id;
	follow->e[i].sub = index;
	follow->n++;
	return true;
}

/* Another queue or class may have the number now. */
static struct bgdma_stream *bgdma_follow_find(struct bgdma_ctx *ctx, u32 id,
					      u32 sub)
{
	struct bgdma_rget_queue *queue;

	if (sub == BGDMA_FOLLOW_EDGE)
		return bgdma_tree.follow(ctx, id);
	queue = bgdma_deref(ctx->rgq[id]);
	return queue && sub < queue->nsubs ? &queue->subs[sub].s : NULL;
}

/*
 * Whoever owns it looks for what came meanwhile. A thread makes nobody wait who
 * waits for a turn.
 */
static void bgdma_follow_one(struct bgdma_follow *follow,
			     struct bgdma_stream *s)
{
	if (!s || !bgdma_stream_pending(s))
		return;
	if (follow->pooled && READ_ONCE(bgdma_engine.runnable)) {
		bgdma_rq_add(s);
		return;
	}
	if (test_and_set_bit_lock(BGDMA_STREAM_OWNED, &s->flags))
		return;
	/* It may have changed hands, or been killed before we had it. */
	if ((s->remote || s->kind == BGDMA_KIND_EDGE) &&
	    !test_bit(BGDMA_STREAM_DEAD, &s->flags)) {
		s->follow = follow;
		s->pooled = follow->pooled;
		bgdma_stream_run(s, BGDMA_FOLLOW_BYTES, BGDMA_FOLLOW_EACH);
		s->pooled = false;
		s->follow = NULL;
	}
	bgdma_stream_leave(s, follow->pooled);
}

/**
 * bgdma_follow_run() - run the streams that follow, and what these put in
 * @follow: of a stream that was run
 *
 * Return: how many there were.
 */
u32 bgdma_follow_run(struct bgdma_follow *follow)
{
	u32 n;

	while (follow->at < follow->n) {
		u32 queue = follow->e[follow->at].queue;
		u32 sub = follow->e[follow->at].sub;
		struct bgdma_ctx *ctx = follow->e[follow->at].ctx;

		follow->at++;
		bgdma_slice_begin();
		if (bgdma_busy_get(&ctx->busy)) {
			bgdma_follow_one(follow,
					 bgdma_follow_find(ctx, queue, sub));
			bgdma_busy_put(&ctx->busy);
		}
		bgdma_slice_end();
		bgdma_ctx_put(ctx);
	}
	n = follow->n;
	follow->n = 0;
	follow->at = 0;
	return n;
}
