// SPDX-License-Identifier: GPL-2.0
/*
 * Remote-get queues: kernel memory that only engines fill, with descriptors
 * that came from other contexts. Each sender has a sub-queue of its own, a
 * stream with its own quota and the sender's rights, so that a sender who
 * sends nonsense, or whose target has no room, stops nobody else.
 *
 * The lock is a leaf, held for the descriptors of one remote get.
 */
#include <linux/jhash.h>
#include <linux/jiffies.h>
#include <linux/log2.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "../bgdma.h"
#include "../trace.h"
#include "busy.h"
#include "ring.h"

#define BGDMA_RGQ_QUOTA_MAX	4096
#define BGDMA_RGQ_SENDERS_MAX	1024
#define BGDMA_RGQ_TIMEOUT_MS	2000
#define BGDMA_RGQ_TIMEOUT_MAX	3600000

static struct bgdma_rget_sub *bgdma_sub_of(struct bgdma_stream *s)
{
	return container_of(s, struct bgdma_rget_sub, s);
}

/* The slot is free when its descriptor starts, before it asks for room. */
static int bgdma_rgq_fetch(struct bgdma_stream *s)
{
	struct bgdma_rget_sub *sub = bgdma_sub_of(s);
	struct bgdma_rget_queue *queue = sub->queue;
	const struct bgdma_rget_slot *slot;
	const struct bgdma_fabric_ops *fabric = s->ctx->partition->fabric;

	/* Without memory it stays there: see bgdma_stream_again(). */
	if (READ_ONCE(sub->head) == READ_ONCE(sub->tail) ||
	    (fabric->promise && !fabric->promise(s)))
		return 0;
	spin_lock(&queue->lock);
	if (sub->head == sub->tail) {
		spin_unlock(&queue->lock);
		return 0;
	}
	slot = &sub->slots[sub->head & (queue->quota - 1)];
	s->x.desc = slot->desc;
	s->group = slot->desc.flags & BGDMA_DESC_GROUP ? slot->group : 0;
	s->own = slot->own;
	if (slot->first)
		sub->begun = s->head;
	s->x.seq = s->head++;
	s->x.tail = s->head;	/* nothing here is a train */
	WRITE_ONCE(sub->head, sub->head + 1);
	spin_unlock(&queue->lock);

	bgdma_waiters_wake(&queue->waiters);
	return 1;
}

static int bgdma_rgq_check(const struct bgdma_rgq_create *arg)
{
	if (arg->quota < BGDMA_RGET_DESC_MAX ||
	    arg->quota > BGDMA_RGQ_QUOTA_MAX || !is_power_of_2(arg->quota))
		return -EINVAL;
	if (!arg->senders || arg->senders > BGDMA_RGQ_SENDERS_MAX)
		return -EINVAL;
	if (arg->timeout_ms > BGDMA_RGQ_TIMEOUT_MAX)
		return -EINVAL;
	return 0;
}

static void bgdma_rgq_free_memory(struct bgdma_rget_queue *queue)
{
	u32 i;

	for (i = 0; i < queue->nsubs; i++)
		kvfree(queue->subs[i].slots);
	kvfree_rcu(queue, rcu);
}

/**
 * bgdma_rgq_create() - make a remote-get queue
 * @ctx: owner
 * @arg: BGDMA_IOC_RGQ_CREATE's, with an id chosen
 * @out: the queue, not yet published
 *
 * Context: ctx.lock held.
 * Return: 0, -EINVAL or -ENOMEM.
 */
int bgdma_rgq_create(struct bgdma_ctx *ctx, struct bgdma_rgq_create *arg,
		     struct bgdma_rget_queue **out)
{
	struct bgdma_rget_queue *queue;
	u32 i;

	if (bgdma_rgq_check(arg))
		return -EINVAL;
	queue = kvzalloc(struct_size(queue, subs, arg->senders),
			 GFP_KERNEL_ACCOUNT);
	if (!queue)
		return -ENOMEM;
	spin_lock_init(&queue->lock);
	bgdma_waiters_init(&queue->waiters);
	queue->ctx = ctx;
	queue->id = arg->id;
	queue->quota = arg->quota;
	queue->seed = get_random_u32();
	queue->timeout = msecs_to_jiffies(arg->timeout_ms ?:
					  BGDMA_RGQ_TIMEOUT_MS);
	queue->rec = &ctx->rgq_rec[arg->id];
	for (i = 0; i < arg->senders; i++) {
		struct bgdma_rget_sub *sub = &queue->subs[i];

		bgdma_stream_init(&sub->s, ctx, BGDMA_KIND_RGET_QUEUE, arg->id,
				  bgdma_rgq_fetch);
		sub->queue = queue;
		sub->slots = kvcalloc(arg->quota, sizeof(*sub->slots),
				      GFP_KERNEL_ACCOUNT);
		if (!sub->slots) {
			bgdma_rgq_free_memory(queue);
			return -ENOMEM;
		}
		queue->nsubs++;
	}
	bgdma_rgq_clear(queue, false);
	*out = queue;
	return 0;
}

/**
 * bgdma_rgq_free() - end a remote-get queue
 * @queue: no longer published, and no delivery can still have found it
 *
 * Senders that wait for it try again and see that it is gone.
 */
void bgdma_rgq_free(struct bgdma_rget_queue *queue)
{
	u32 i;

	bgdma_waiters_end(&queue->waiters);
	for (i = 0; i < queue->nsubs; i++)
		bgdma_stream_kill(&queue->subs[i].s);
	bgdma_rgq_clear(queue, false);
	bgdma_grants_drop(&queue->grants);
	bgdma_rgq_free_memory(queue);
}

/*
 * Give an empty sub-queue to a sender. The sub-queue may still execute the
 * last descriptor of its former sender, so it must be owned to change hands; and
 * what that has on its way is waited for at his next fence, which must find it here.
 * A thread that found it owned by us relied on us to run it: @nudge.
 */
static bool bgdma_sub_take(struct bgdma_rget_sub *sub,
			   const struct bgdma_principal *who,
			   struct bgdma_stream **nudge)
{
	struct bgdma_stream *s = &sub->s;
	bool idle, take;

	if (sub->head != sub->tail || READ_ONCE(s->x.active) ||
	    test_and_set_bit_lock(BGDMA_STREAM_OWNED, &s->flags))
		return false;
	idle = !s->x.active && !test_bit(BGDMA_STREAM_DEAD, &s->flags);
	take = idle && (!s->tx || s->ctx->partition->fabric->quiet(s));
	if (take) {
		s->who = *who;
		memset(&s->memo, 0, sizeof(s->memo));
		bgdma_good_forget(s);
		if (s->peer)
			bgdma_ctx_put(s->peer);
		s->peer = NULL;
		/* What the owner sends to itself keeps the owner's rights. */
		WRITE_ONCE(s->remote, !bgdma_same(who, &s->ctx->who));
		sub->bound = true;
	} else if (!idle) {
		*nudge = s;
	}
	bgdma_stream_disown(s);
	return take;
}

/* Where a sender's sub-queue is looked for: who sends cannot tell where that is. */
static u32 bgdma_sub_first(const struct bgdma_rget_queue *queue,
			   const struct bgdma_principal *who)
{
	return reciprocal_scale(jhash_3words(who->rank, who->ctx,
					     who->incarnation, queue->seed),
				queue->nsubs);
}

static struct bgdma_rget_sub *bgdma_sub_next(struct bgdma_rget_queue *queue,
					     u32 *at)
{
	struct bgdma_rget_sub *sub = &queue->subs[*at];

	if (++*at == queue->nsubs)
		*at = 0;
	return sub;
}

/* A sender mostly has the first one from where he is looked for. */
static struct bgdma_rget_sub *bgdma_sub_find(struct bgdma_rget_queue *queue,
					     const struct bgdma_principal *who,
					     struct bgdma_stream **nudge)
{
	struct bgdma_rget_sub *sub;
	unsigned int pass;
	u32 i, at;

	lockdep_assert_held(&queue->lock);
	at = bgdma_sub_first(queue, who);
	for (i = 0; i < queue->nsubs; i++) {
		sub = bgdma_sub_next(queue, &at);
		if (sub->bound && bgdma_same(&sub->s.who, who))
			return sub;
	}
	/* Those that nobody has had yet first. */
	for (pass = 0; pass < 2; pass++) {
		at = bgdma_sub_first(queue, who);
		for (i = 0; i < queue->nsubs && !*nudge; i++) {
			sub = bgdma_sub_next(queue, &at);
			if ((pass || !sub->bound) &&
			    bgdma_sub_take(sub, who, nudge))
				return sub;
		}
	}
	return NULL;
}

/**
 * bgdma_rgq_quiet() - nothing of a sub-queue is on its way any more
 * @s: its stream
 *
 * It may be somebody else's now.
 */
void bgdma_rgq_quiet(struct bgdma_stream *s)
{
	bgdma_waiters_wake(&bgdma_sub_of(s)->queue->waiters);
}

/**
 * bgdma_rgq_left() - nobody owns the stream of a sub-queue any more
 * @s: its stream
 *
 * Whoever waits for a sub-queue may have found this one empty, but owned.
 *
 * Context: under RCU, after bgdma_stream_disown(): its barrier is between that and the
 * look at the list, as that of who parks is between the list and the look at the owner.
 */
void bgdma_rgq_left(struct bgdma_stream *s)
{
	const struct bgdma_rget_sub *sub = bgdma_sub_of(s);

	if (unlikely(!list_empty(&sub->queue->waiters.waiting)) &&
	    READ_ONCE(sub->head) == READ_ONCE(sub->tail) &&
	    !READ_ONCE(s->x.active))
		bgdma_waiters_wake(&sub->queue->waiters);
}

/* The next descriptor of pieces that may be cut anywhere; @piece and @at: where. */
static void bgdma_rgq_next(struct bgdma_desc *desc,
			   const struct bgdma_payload *from,
			   unsigned int *piece, u32 *at)
{
	u32 done, now;

	if (likely(from->n[*piece] - *at >= sizeof(*desc))) {
		memcpy(desc, from->p[*piece] + *at, sizeof(*desc));
		*at += sizeof(*desc);
		return;
	}
	for (done = 0; done < sizeof(*desc); done += now, *at += now) {
		if (*at == from->n[*piece]) {
			++*piece;
			*at = 0;
		}
		now = min_t(u32, from->n[*piece] - *at, sizeof(*desc) - done);
		memcpy((void *)desc + done, from->p[*piece] + *at, now);
	}
}

/* The payload is up to 16 descriptors. */
static void bgdma_rgq_copy(struct bgdma_rget_queue *queue,
			   struct bgdma_rget_sub *sub,
			   const struct bgdma_stream *by,
			   const struct bgdma_payload *from, u32 n)
{
	/* Only what came down a line came under its group. */
	u16 group = by->x.desc.route & BGDMA_ROUTE_DEPOSIT ? by->group : 0;
	unsigned int piece = 0;
	u32 at = 0, i;

	for (i = 0; i < n; i++) {
		struct bgdma_rget_slot *slot =
			&sub->slots[(sub->tail + i) & (queue->quota - 1)];

		/*
		 * Their owner may be writing: each is no older than the last,
		 * as who orders his stores expects (chain_stop() does).
		 */
		smp_rmb();
		bgdma_rgq_next(&slot->desc, from, &piece, &at);
		slot->group = group;
		slot->own = !by->remote;
		slot->first = !i;
	}
	WRITE_ONCE(sub->tail, sub->tail + n);
}

/**
 * bgdma_rgq_room() - could a sender's descriptors go in now?
 * @queue: which
 * @who: sender
 * @n: descriptors
 *
 * Context: inside a slice.
 */
bool bgdma_rgq_room(struct bgdma_rget_queue *queue,
		    const struct bgdma_principal *who, u32 n)
{
	struct bgdma_stream *nudge = NULL;
	struct bgdma_rget_sub *sub;
	bool room = true;

	spin_lock(&queue->lock);
	if (!queue->dead) {
		sub = bgdma_sub_find(queue, who, &nudge);
		room = sub && queue->quota - (sub->tail - sub->head) >= n;
	}
	spin_unlock(&queue->lock);
	if (nudge)
		bgdma_stream_wake(nudge);
	return room;
}

/**
 * bgdma_rgq_deliver() - append the descriptors of one remote get
 * @queue: which
 * @by: owned stream that they come from
 * @who: sender
 * @descs: copied from memory that somebody may be writing; looked at only
 *	after the copy
 * @n: descriptors
 *
 * Context: inside a slice.
 * Return: BGDMA_STEP_DONE; BGDMA_STEP_WAIT: none went in; BGDMA_E_FIFO.
 */
int bgdma_rgq_deliver(struct bgdma_rget_queue *queue, struct bgdma_stream *by,
		      const struct bgdma_principal *who,
		      const struct bgdma_payload *descs, u32 n)
{
	struct bgdma_stream *nudge = NULL;
	struct bgdma_rget_sub *sub;
	int ret = BGDMA_STEP_WAIT;

	spin_lock(&queue->lock);
	if (queue->dead) {
		spin_unlock(&queue->lock);
		return BGDMA_E_FIFO;
	}
	sub = bgdma_sub_find(queue, who, &nudge);
	if (sub && queue->quota - (sub->tail - sub->head) >= n) {
		/* Before another processor can say what it does with them. */
		trace_bgdma_inject(queue->ctx, BGDMA_KIND_RGET_QUEUE, queue->id,
				   n, by->x.id);
		bgdma_rgq_copy(queue, sub, by, descs, n);
		ret = BGDMA_STEP_DONE;
	}
	spin_unlock(&queue->lock);

	if (ret == BGDMA_STEP_DONE)
		bgdma_stream_wake_after(by, &sub->s);
	if (nudge)
		bgdma_stream_wake(nudge);
	return ret;
}

/*
 * What waits behind a descriptor is dropped, and so is what waits at its fence. If it
 * was known late that it is refused the next remote get may have begun: that comes to
 * its end (DMA-11), for whoever sees what its first descriptors did relies on the
 * others.
 */
static void bgdma_sub_drop(struct bgdma_rget_sub *sub, u64 seq)
{
	u32 mask = sub->queue->quota - 1, end = sub->head;

	lockdep_assert_held(&sub->queue->lock);
	if (seq < sub->begun) {
		while (end != sub->tail && !sub->slots[end & mask].first)
			end++;
	} else {
		WRITE_ONCE(sub->dropped, sub->s.head);
	}
	WRITE_ONCE(sub->tail, end);
}

/**
 * bgdma_rgq_dropped() - was the descriptor at a fence dropped meanwhile?
 * @s: owned, of a remote-get queue; nothing of it is on its way any more
 *
 * Who says that nothing is has heard of all that was refused before.
 */
bool bgdma_rgq_dropped(const struct bgdma_stream *s)
{
	const struct bgdma_rget_sub *sub =
		container_of(s, struct bgdma_rget_sub, s);

	return s->x.seq < READ_ONCE(sub->dropped);
}

/**
 * bgdma_rgq_refuse() - a descriptor from another context was refused
 * @s: stream of a remote-get queue
 * @at: the same, owned, or one that stands for it; at->x says what and why
 *
 * The owner sees it; the rest that the same sender has waiting is dropped, but for a
 * later remote get that has begun.
 */
void bgdma_rgq_refuse(struct bgdma_stream *s, const struct bgdma_stream *at)
{
	struct bgdma_rget_queue *queue = bgdma_sub_of(s)->queue;
	struct bgdma_ctx *ctx = s->ctx;
	struct bgdma_record why;
	struct bgdma_event event;

	spin_lock(&queue->lock);
	bgdma_sub_drop(bgdma_sub_of(s), at->x.seq);
	spin_unlock(&queue->lock);
	bgdma_waiters_wake(&queue->waiters);
	atomic64_inc(&queue->refused);

	bgdma_record_of(at, &why);
	why.peer_rank = at->who.rank;
	why.peer_ctx = at->who.ctx;
	event = (struct bgdma_event) {
		.type = BGDMA_EVENT_OFFENDER,
		.code = why.code,
		.peer_rank = at->who.rank,
		.peer_ctx = at->who.ctx,
		.kind = BGDMA_KIND_RGET_QUEUE,
		.peer_incarnation = at->who.incarnation,
		.object = s->id,
		.desc_seq = why.desc_seq,
		.transfer_id = why.transfer_id,
		.cookie = le64_to_cpu(at->x.desc.cookie),
		.offset = why.offset,
		.bound = why.bound,
	};
	bgdma_record_set(ctx, queue->rec, &ctx->kctl->rgq_error, queue->id,
			 &why);
	bgdma_event_post(ctx, &event);
}

/**
 * bgdma_rgq_clear() - clear the record of a remote-get queue
 * @queue: of a context whose lock is held
 * @flush: drop what waits in it, of all senders
 */
void bgdma_rgq_clear(struct bgdma_rget_queue *queue, bool flush)
{
	struct bgdma_ctx *ctx = queue->ctx;
	u32 i;

	if (flush) {
		spin_lock(&queue->lock);
		for (i = 0; i < queue->nsubs; i++)
			WRITE_ONCE(queue->subs[i].head, queue->subs[i].tail);
		spin_unlock(&queue->lock);
		bgdma_waiters_wake(&queue->waiters);
	}
	bgdma_record_clear(ctx, queue->rec, &ctx->kctl->rgq_error, queue->id);
}
