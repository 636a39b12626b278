// SPDX-License-Identifier: GPL-2.0
/*
 * What a kernel has to say to others by itself: answers of gates, refusals, what an
 * atomic found, and that a context has left. Each goes as a frame of a flow of the
 * kernel's own, so it arrives, once, and after what was said before.
 *
 * Who hears nothing waits for ever. So nothing is done that may make something be said
 * before there is memory for that, a promise: without it a packet is not dealt with
 * yet, and a remote descriptor is not begun. An answer that comes later has its promise
 * from the question; see bgdma_stream.promise, and vow.c.
 */
#include <linux/delay.h>
#include <linux/slab.h>

#include "../engine/busy.h"
#include "check.h"
#include "flow.h"
#include "loopback.h"

/* What others say holds the lock of a stream's tx when it leads to what we say. */
static struct lock_class_key bgdma_voice_lock;

/**
 * bgdma_voice_new() - let a partition have one
 * @flows: of the partition
 *
 * Return: false: no memory.
 */
bool bgdma_voice_new(struct bgdma_flows *flows)
{
	flows->voice = bgdma_tx_new(flows->ether, NULL);
	if (flows->voice)
		lockdep_set_class(&flows->voice->lock, &bgdma_voice_lock);
	return flows->voice;
}

/**
 * bgdma_voice_unheard() - what was said is given up
 * @flow: of the voice, its lock held
 *
 * Nobody says it again, and somebody there may wait for it for ever: so the kernel is
 * given up, too, and both sides know of that.
 */
void bgdma_voice_unheard(struct bgdma_tx_flow *flow)
{
	lockdep_assert_held(&flow->tx->lock);
	flow->unheard = true;
	flow->whom = flow->kernel;
	WRITE_ONCE(flow->tx->ether->flows->unheard, true);
}

/**
 * bgdma_voice_whom() - a kernel that did not hear what was said
 * @ether: of the partition
 * @number: its own; 0: not known
 * @rank: one of its nodes
 *
 * Context: any, but the voice's lock.
 * Return: false: no other.
 */
bool bgdma_voice_whom(struct bgdma_ether *ether, u64 *number, u32 *rank)
{
	struct bgdma_tx *tx = ether->flows->voice;
	struct bgdma_tx_flow *flow;
	bool found = false;

	if (!READ_ONCE(ether->flows->unheard))
		return false;
	spin_lock(&tx->lock);
	list_for_each_entry(flow, &tx->flows, node) {
		found = flow->unheard;
		if (!found)
			continue;
		flow->unheard = false;
		*number = flow->whom;
		*rank = flow->key.dst;
		break;
	}
	WRITE_ONCE(ether->flows->unheard, found);
	spin_unlock(&tx->lock);
	return found;
}

static struct bgdma_flow_key bgdma_voice_key(const struct bgdma_ether *ether,
					     u32 dst)
{
	return (struct bgdma_flow_key) {
		.inc = (u32)ether->kernel,
		.src = ether->local.n ? ether->local.run[0].first : 0,
		.dst = dst,
		.tag = BGDMA_FLOW_KERNEL,
		.ctx = BGDMA_CTX_ANY,
	};
}

/* @stays: the flow does, for good. */
static struct sk_buff *bgdma_voice_promised(struct bgdma_ether *ether, u32 dst,
					    bool stays)
{
	const struct bgdma_flow_key key = bgdma_voice_key(ether, dst);
	struct bgdma_tx *tx = ether->flows->voice;
	struct bgdma_tx_flow *flow;
	struct sk_buff *skb;
	bool there = true;

	skb = bgdma_frame_new(sizeof(struct bgdma_wire_packet) +
			      BGDMA_WIRE_ATOMIC);
	if (!skb)
		return NULL;
	spin_lock(&tx->lock);
	if (!tx->dead) {
		flow = bgdma_tx_flow(tx, &key);
		there = flow && bgdma_vow_get(flow, skb);
		if (there && stays)
			flow->stays = true;
	}
	spin_unlock(&tx->lock);
	if (there)
		return skb;
	consume_skb(skb);
	return NULL;
}

/**
 * bgdma_voice_promise() - memory for something that may have to be said
 * @ether: of the partition
 * @dst: node that it would be said to
 *
 * Context: any, but the voice's lock.
 * Return: a frame for bgdma_voice_say(), which then cannot fail; consume_skb() where
 * there is nothing to say. NULL: no memory.
 */
struct sk_buff *bgdma_voice_promise(struct bgdma_ether *ether, u32 dst)
{
	return bgdma_voice_promised(ether, dst, false);
}

/* @skb: promised for this node; @p: all but its bytes. */
static void bgdma_voice_say(struct bgdma_ether *ether, u32 dst,
			    struct sk_buff *skb,
			    const struct bgdma_wire_packet *p,
			    const void *payload, u32 n)
{
	const struct bgdma_flow_key key = bgdma_voice_key(ether, dst);
	struct bgdma_tx *tx = ether->flows->voice;
	struct bgdma_wire_packet *to;
	struct bgdma_tx_flow *flow;
	struct bgdma_vow *vow = bgdma_vow_take(skb);

	bgdma_frame_begin(skb, &key);
	to = bgdma_frame_packet(skb);
	*to = *p;
	to->bytes = cpu_to_le32(n);
	bgdma_frame_append(skb, payload, n);
	spin_lock(&tx->lock);
	flow = tx->dead ? NULL : bgdma_tx_flow(tx, &key);
	if (flow) {
		bgdma_tx_open(flow, skb);
		bgdma_tx_close(flow);
	} else {
		WARN_ON_ONCE(!tx->dead);
		kfree_skb(skb);
	}
	spin_unlock(&tx->lock);
	bgdma_vow_put(vow);
	/* Whoever refuses something may hold locks: others deliver what comes. */
	bgdma_tx_send(tx, true);
}

/**
 * bgdma_voice_answer() - a gate answers an origin behind the links
 * @from: whose gate it is
 * @answer: to whom, and what; its promise is used
 *
 * Context: inside a slice.
 * Return: false: nothing was promised, and there is no memory.
 */
bool bgdma_voice_answer(const struct bgdma_ctx *from,
			const struct bgdma_answer *answer)
{
	struct bgdma_ether *ether = from->partition->ether;
	struct sk_buff *skb = answer->promise;
	const struct bgdma_wire_answer wire = {
		.counter = cpu_to_le32(answer->counter),
		.region = cpu_to_le32(answer->region),
		.epoch = cpu_to_le32(answer->epoch),
		.code = cpu_to_le32(answer->code),
		.rank = cpu_to_le32(from->rank),
		.incarnation = cpu_to_le32(from->who.incarnation),
		.ctx = cpu_to_le16(from->id),
	};
	const struct bgdma_wire_packet p = {
		.kind = BGDMA_WIRE_ANSWER,
		.id = cpu_to_le32(answer->id),
		.dst_inc = cpu_to_le32(answer->to.incarnation),
		.desc.dst_ctx = cpu_to_le16(answer->to.ctx),
	};

	if (!skb)
		skb = bgdma_voice_promise(ether, answer->to.rank);
	if (!skb)
		return false;
	bgdma_voice_say(ether, answer->to.rank, skb, &p, &wire, sizeof(wire));
	return true;
}

/**
 * bgdma_voice_pledge() - memory to refuse one more descriptor from behind the links
 * @s: of a remote-get queue, with a tx; owned
 *
 * Of the transfers on their way each may be refused once.
 *
 * Return: false: there is none.
 */
bool bgdma_voice_pledge(struct bgdma_stream *s)
{
	struct bgdma_ether *ether = s->ctx->partition->ether;
	struct bgdma_tx *tx = s->tx;
	bool enough;

	spin_lock(&tx->lock);
	for (;;) {
		struct sk_buff *skb;

		/* What is left of others is good for this sender if it can be said. */
		enough = tx->sender == s->who.rank &&
			 skb_queue_len(&tx->promised) > tx->head - tx->tail;
		if (enough)
			break;
		/* What is promised to one may be said to another then. */
		skb = bgdma_voice_promised(ether, s->who.rank, true);
		if (!skb)
			break;
		tx->sender = s->who.rank;
		/* The voice has its flow now; there may have been frames enough. */
		if (skb_queue_len(&tx->promised) > tx->head - tx->tail)
			consume_skb(skb);
		else
			__skb_queue_tail(&tx->promised, skb);
	}
	spin_unlock(&tx->lock);
	return enough;
}

/* One of these: of a stream, or of what stands for it at a transfer that was sent. */
static struct sk_buff *bgdma_voice_pledged(struct bgdma_stream *s)
{
	struct bgdma_tx *tx = s->tx;
	struct sk_buff *skb;

	if (!tx) {
		tx = container_of(s, struct bgdma_tx, late);
		lockdep_assert_held(&tx->lock);
		return __skb_dequeue(&tx->promised);
	}
	spin_lock(&tx->lock);
	skb = __skb_dequeue(&tx->promised);
	spin_unlock(&tx->lock);
	return skb;
}

/**
 * bgdma_voice_refused() - a descriptor from behind the links was refused here
 * @s: its stream, or what stands for it, with s->x.fault
 *
 * Context: process context; the tx's lock is held where something stands for it.
 */
void bgdma_voice_refused(struct bgdma_stream *s)
{
	struct sk_buff *skb = bgdma_voice_pledged(s);
	const struct bgdma_event event = bgdma_refused_event(s);
	const struct bgdma_wire_packet p = {
		.kind = BGDMA_WIRE_EVENT,
		.dst_inc = cpu_to_le32(s->who.incarnation),
		.desc.dst_ctx = cpu_to_le16(s->who.ctx),
	};

	if (!WARN_ON_ONCE(!skb))
		bgdma_voice_say(s->ctx->partition->ether, s->who.rank, skb, &p,
				&event, sizeof(event));
}

/**
 * bgdma_voice_fetched() - what was at some elements before goes to who asked
 * @flow: by which the atomic came; its promise is used
 * @p: its packet
 * @offset: of the elements in the transfer
 * @old: what was there
 * @n: bytes
 *
 * Context: inside a slice.
 */
void bgdma_voice_fetched(struct bgdma_rx_flow *flow,
			 const struct bgdma_wire_packet *p, u32 offset,
			 const void *old, u32 n)
{
	const struct bgdma_wire_packet back = {
		.kind = BGDMA_WIRE_FETCHED,
		.dst_inc = cpu_to_le32(flow->key.inc),
		.id = p->id,
		.offset = cpu_to_le32(offset),
		.desc.dst_ctx = cpu_to_le16(flow->key.ctx),
		/* Where it was, which is not where the kernel speaks from. */
		.desc.dst_rank = cpu_to_le32(flow->key.dst),
		.desc.cookie = cpu_to_le64((u64)flow->key.tag << 1 |
					   flow->key.adaptive),
	};

	bgdma_voice_say(flow->ether, flow->key.src, flow->s.promise, &back, old,
			n);
	flow->s.promise = NULL;
}

/* --------------------------------------------------------------------- */
/* Contexts that leave                                                    */

static void bgdma_parting_tell(struct bgdma_ether *ether, u32 dst, void *arg)
{
	const struct bgdma_parting *parting = arg;
	const struct bgdma_wire_gone gone = {
		.rank = cpu_to_le32(parting->who.rank),
		.incarnation = cpu_to_le32(parting->who.incarnation),
		.uid = cpu_to_le32(from_kuid_munged(&init_user_ns,
						    parting->uid)),
		.ctx = cpu_to_le16(parting->who.ctx),
	};
	const struct bgdma_wire_packet p = { .kind = BGDMA_WIRE_GONE };
	struct sk_buff *skb;

	/* Else some would wait for it for ever. */
	while (!(skb = bgdma_voice_promise(ether, dst)))
		msleep(20);
	bgdma_voice_say(ether, dst, skb, &p, &gone, sizeof(gone));
}

static void bgdma_parting_work(struct work_struct *work)
{
	struct bgdma_parting *parting =
		container_of(work, struct bgdma_parting, work);

	while (!bgdma_kernels_each(parting->ether, bgdma_parting_tell,
				   parting))
		msleep(20);
	bgdma_busy_put(&parting->ether->flows->busy);
	kfree(parting);
}

static void bgdma_parting_release(struct kref *ref)
{
	struct bgdma_parting *parting =
		container_of(ref, struct bgdma_parting, ref);

	queue_work(bgdma_flow_wq, &parting->work);
}

/**
 * bgdma_parting_put() - one thing less that has to arrive first
 * @parting: of a context; may be gone afterwards
 */
void bgdma_parting_put(struct bgdma_parting *parting)
{
	kref_put(&parting->ref, bgdma_parting_release);
}

/**
 * bgdma_parting_get() - what tells others that a context has left
 * @ctx: of ours
 * @gfp: how to get memory
 *
 * Context: as @gfp says.
 * Return: with a reference for the caller; NULL: no memory.
 */
struct bgdma_parting *bgdma_parting_get(struct bgdma_ctx *ctx, gfp_t gfp)
{
	struct bgdma_parting *parting = READ_ONCE(ctx->parting), *old;

	if (parting)
		goto out;
	parting = kzalloc(sizeof(*parting), gfp);
	if (!parting)
		return NULL;
	kref_init(&parting->ref);	/* the context's */
	parting->who = ctx->who;
	parting->uid = ctx->user->uid;
	parting->ether = ctx->partition->ether;
	spin_lock_init(&parting->lock);
	parting->seed = get_random_u32();
	INIT_WORK(&parting->work, bgdma_parting_work);
	old = cmpxchg(&ctx->parting, NULL, parting);
	if (old) {
		kfree(parting);
		parting = old;
	} else {
		bgdma_busy_get(&parting->ether->flows->busy);
	}
out:
	kref_get(&parting->ref);
	return parting;
}

/**
 * bgdma_parting_left() - a context is no more
 * @ctx: all of its streams were killed
 *
 * Others are told when what it sent has arrived. Whoever ends, be it killed, does not
 * wait for the memory for that: what does is a worker.
 *
 * Context: may sleep.
 */
void bgdma_parting_left(struct bgdma_ctx *ctx)
{
	struct bgdma_parting *parting;

	parting = bgdma_parting_get(ctx, GFP_KERNEL | __GFP_NOFAIL);
	WRITE_ONCE(ctx->parting, NULL);
	bgdma_asked_forget(parting);
	/* The one that was just got, and the context's. */
	bgdma_parting_put(parting);
	bgdma_parting_put(parting);
}

/* --------------------------------------------------------------------- */
/* What others say                                                        */

static struct bgdma_ctx *bgdma_hear_target(struct bgdma_rx_flow *flow,
					   const struct bgdma_wire_packet *p)
{
	struct bgdma_ctx *target;

	target = bgdma_partition_peer(flow->ether->part, flow->key.dst,
				      le16_to_cpu(p->desc.dst_ctx));
	if (target && target->who.incarnation != le32_to_cpu(p->dst_inc)) {
		bgdma_busy_put(&target->busy);
		target = NULL;
	}
	return target;
}

/* May a kernel speak of what is at a node? Only that where it lives. */
static bool bgdma_hear_lives(const struct bgdma_rx_flow *flow, u32 rank)
{
	u64 home = bgdma_way_kernel(flow->ether, rank);

	return !home || home == bgdma_ghost_kernel(flow->s.ctx);
}

static void bgdma_hear_answer(struct bgdma_rx_flow *flow,
			      const struct bgdma_wire_packet *p,
			      const struct bgdma_wire_answer *wire)
{
	const struct bgdma_principal from = {
		.rank = le32_to_cpu(wire->rank),
		.ctx = le16_to_cpu(wire->ctx),
		.incarnation = le32_to_cpu(wire->incarnation),
	};
	struct bgdma_ctx *target;
	struct bgdma_answer answer = {
		.counter = le32_to_cpu(wire->counter),
		.region = le32_to_cpu(wire->region),
		.epoch = le32_to_cpu(wire->epoch),
		.code = le32_to_cpu(wire->code),
		.id = le32_to_cpu(p->id),
	};

	/* Whose gate it is lives there. */
	if (!bgdma_hear_lives(flow, from.rank))
		return;
	bgdma_slice_begin();
	target = bgdma_hear_target(flow, p);
	if (target) {
		answer.to = target->who;
		set_bit(from.rank % 1024, target->talked);
		/* Who was told that no answer would come counts none. */
		if (bgdma_asked_answered(target, &from, &answer,
					 bgdma_ghost_kernel(flow->s.ctx)) ||
		    answer.counter == BGDMA_NONE)
			bgdma_deliver_answer(target, &from, &answer);
		bgdma_busy_put(&target->busy);
	}
	bgdma_slice_end();
}

static void bgdma_hear_event(struct bgdma_rx_flow *flow,
			     const struct bgdma_wire_packet *p,
			     const struct bgdma_event *event)
{
	struct bgdma_ctx *target;

	/* Who refused something lives there. */
	if (event->type != BGDMA_EVENT_REFUSED ||
	    !bgdma_hear_lives(flow, event->peer_rank))
		return;
	bgdma_slice_begin();
	target = bgdma_hear_target(flow, p);
	if (target) {
		bgdma_event_post(target, event);
		bgdma_busy_put(&target->busy);
	}
	bgdma_slice_end();
}

static void bgdma_hear_fetched(struct bgdma_rx_flow *flow,
			       const struct bgdma_wire_packet *p,
			       const void *old)
{
	u64 cookie = le64_to_cpu(p->desc.cookie);
	const struct bgdma_flow_key key = {
		.inc = le32_to_cpu(p->dst_inc),
		.src = flow->key.dst,
		.dst = le32_to_cpu(p->desc.dst_rank),
		.tag = cookie >> 1,
		.ctx = le16_to_cpu(p->desc.dst_ctx),
		.adaptive = cookie & 1,
	};

	bgdma_tx_fetched(flow->ether->flows, &key,
			 bgdma_ghost_kernel(flow->s.ctx), le32_to_cpu(p->id),
			 le32_to_cpu(p->offset), old, le32_to_cpu(p->bytes));
}

/* Of a partition: each is memory, and a worker that waits for its turn. */
#define BGDMA_NEWS_MAX		16

/**
 * struct bgdma_news - a context that is said to have left
 * @work: sees to it
 * @flows: of the partition
 * @kernel: which says so
 * @gone: who
 */
struct bgdma_news {
	struct work_struct work;
	struct bgdma_flows *flows;
	u64 kernel;
	struct bgdma_wire_gone gone;
};

/*
 * May it say so? A way to who says so may be closed just now, but he does not say it
 * again, and others wait for whom he means.
 */
static bool bgdma_news_true(const struct bgdma_news *news)
{
	struct bgdma_ether *ether = news->flows->ether;
	u32 rank = le32_to_cpu(news->gone.rank);
	u64 home = bgdma_way_kernel(ether, rank);

	return home ? home == news->kernel :
		      bgdma_kernel_has(ether, news->kernel, rank);
}

static void bgdma_news_tell(const struct bgdma_news *news)
{
	const struct bgdma_wire_gone *gone = &news->gone;
	const struct bgdma_principal who = {
		.rank = le32_to_cpu(gone->rank),
		.ctx = le16_to_cpu(gone->ctx),
		.incarnation = le32_to_cpu(gone->incarnation),
	};

	bgdma_ghost_gone(news->flows, news->kernel, &who,
			 make_kuid(&init_user_ns, le32_to_cpu(gone->uid)));
}

static void bgdma_news_work(struct work_struct *work)
{
	struct bgdma_news *news = container_of(work, struct bgdma_news, work);

	if (bgdma_news_true(news))
		bgdma_news_tell(news);
	atomic_dec(&news->flows->n_news);
	bgdma_waiters_wake(&news->flows->news);
	bgdma_busy_put(&news->flows->busy);
	kfree(news);
}

/* Park until one of the news was seen to: BGDMA_STEP_WAIT, or _AGAIN. */
static int bgdma_news_wait(struct bgdma_rx_flow *flow)
{
	struct bgdma_flows *flows = flow->ether->flows;
	int ret = BGDMA_STEP_WAIT;

	bgdma_slice_begin();
	bgdma_stream_park(&flow->s, &flows->news, 0, BGDMA_KIND_CONTEXT,
			  BGDMA_CTX_ANY);
	if (atomic_read(&flows->n_news) < BGDMA_NEWS_MAX) {
		bgdma_stream_unpark(&flow->s);
		ret = BGDMA_STEP_AGAIN;
	}
	bgdma_slice_end();
	return ret;
}

/*
 * Not here: the stream that hears it is one of those that may have to end. Who has more
 * to say than is seen to waits with it at his end.
 */
static int bgdma_hear_gone(struct bgdma_rx_flow *flow,
			   const struct bgdma_wire_gone *gone)
{
	struct bgdma_flows *flows = flow->ether->flows;
	struct bgdma_news *news;

	if (le16_to_cpu(gone->ctx) >= BGDMA_CTX_PER_NODE ||
	    le32_to_cpu(gone->rank) >= flow->ether->part->size)
		return BGDMA_STEP_DONE;
	if (!atomic_add_unless(&flows->n_news, 1, BGDMA_NEWS_MAX))
		return bgdma_news_wait(flow);
	news = kmalloc(sizeof(*news), GFP_NOWAIT | __GFP_NOWARN);
	if (!news) {
		atomic_dec(&flows->n_news);
		return BGDMA_STEP_AGAIN;
	}
	INIT_WORK(&news->work, bgdma_news_work);
	news->flows = flows;
	news->kernel = bgdma_ghost_kernel(flow->s.ctx);
	news->gone = *gone;
	if (!bgdma_busy_get(&flows->busy)) {
		atomic_dec(&flows->n_news);
		kfree(news);
		return BGDMA_STEP_DONE;
	}
	queue_work(bgdma_flow_wq, &news->work);
	return BGDMA_STEP_DONE;
}

/**
 * bgdma_hear() - another kernel says something
 * @flow: of the kernel
 * @p: packet, well-formed
 * @payload: its payload
 *
 * Context: process context, or inside a slice; owns the flow.
 * Return: BGDMA_STEP_DONE; _WAIT: too much was said; _AGAIN: no memory yet.
 */
int bgdma_hear(struct bgdma_rx_flow *flow, const struct bgdma_wire_packet *p,
	       const void *payload)
{
	switch (p->kind) {
	case BGDMA_WIRE_ANSWER:
		bgdma_hear_answer(flow, p, payload);
		break;
	case BGDMA_WIRE_EVENT:
		bgdma_hear_event(flow, p, payload);
		break;
	case BGDMA_WIRE_FETCHED:
		bgdma_hear_fetched(flow, p, payload);
		break;
	case BGDMA_WIRE_GONE:
		return bgdma_hear_gone(flow, payload);
	}
	return BGDMA_STEP_DONE;
}
