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
 *
 * What nobody hears is memory, too. So there is a bound to it, as if there were no memory
 * for more; but for the news that a context has left, of which there are as many as that
 * happens. And who hears nothing for as long as a link may be silent is given up.
 */
#include <linux/delay.h>
#include <linux/slab.h>

#include "../engine/busy.h"
#include "check.h"
#include "flow.h"
#include "loopback.h"

/*
 * Frames that were not heard, of a partition and of all: as with what is kept of that
 * which arrives (ghost.c), a flow may have as many as are left for others.
 */
#define BGDMA_SAID_MAX		(4L << 10)
#define BGDMA_SAID_ALL		(64L << 10)

static atomic_long_t bgdma_said_all;

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

static bool bgdma_voice_may(const struct bgdma_tx_flow *flow)
{
	long has = skb_queue_len(&flow->unacked) + skb_queue_len(&flow->later);
	long said = atomic_long_read(&flow->tx->ether->flows->said);

	lockdep_assert_held(&flow->tx->lock);
	return bgdma_share(has, 1, said, BGDMA_SAID_MAX) &&
	       bgdma_share(said, 1, atomic_long_read(&bgdma_said_all),
			   BGDMA_SAID_ALL);
}

/* @must: however much nobody has heard; @stays: the flow does, for good. */
static struct sk_buff *bgdma_voice_promised(struct bgdma_ether *ether, u32 dst,
					    bool must, bool stays)
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
		there = flow && (must || bgdma_voice_may(flow)) &&
			bgdma_vow_get(flow, skb);
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
 * there is nothing to say. NULL: no memory, or too much was said and not heard.
 */
struct sk_buff *bgdma_voice_promise(struct bgdma_ether *ether, u32 dst)
{
	return bgdma_voice_promised(ether, dst, false, false);
}

/* It was heard, or is given up. */
static void bgdma_voice_over(struct sk_buff *skb)
{
	struct bgdma_flows *flows = skb_shinfo(skb)->destructor_arg;

	atomic_long_dec(&flows->said);
	atomic_long_dec(&bgdma_said_all);
}

static void bgdma_voice_count(struct bgdma_flows *flows, struct sk_buff *skb)
{
	skb_shinfo(skb)->destructor_arg = flows;
	skb->destructor = bgdma_voice_over;
	atomic_long_inc(&flows->said);
	atomic_long_inc(&bgdma_said_all);
}

/**
 * bgdma_voice_go_on() - what had no room on the way goes, as far as there is room now
 * @flow: of the voice, or any other
 *
 * As with all flows: the other end keeps so many frames behind one that was lost, and no
 * more.
 *
 * Context: tx.lock held.
 */
void bgdma_voice_go_on(struct bgdma_tx_flow *flow)
{
	lockdep_assert_held(&flow->tx->lock);
	while (!skb_queue_empty(&flow->later) && bgdma_tx_room(flow, 1)) {
		bgdma_tx_open(flow, __skb_dequeue(&flow->later));
		bgdma_tx_close(flow);
	}
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
		bgdma_voice_count(ether->flows, skb);
		__skb_queue_tail(&flow->later, skb);
		bgdma_voice_go_on(flow);
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
		skb = bgdma_voice_promised(ether, answer->to.rank, true, false);
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
		skb = bgdma_voice_promised(ether, s->who.rank, false, true);
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
	while (!(skb = bgdma_voice_promised(ether, dst, true, false)))
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
