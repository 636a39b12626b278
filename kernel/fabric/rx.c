// SPDX-License-Identifier: GPL-2.0
/*
 * The receiver's ends of flows: each is a stream, on the run list as any other, in
 * the name of the context that sent. Frames are dealt with in their order, once
 * each. Where an object of the target has no room the stream is parked there, as a
 * sender of this kernel would be; the other side is told, and what it sends
 * meanwhile is let go of, so that it waits there and not here.
 */
#include <linux/slab.h>

#include "../engine/busy.h"
#include "../engine/engine.h"
#include "../trace.h"
#include "check.h"
#include "flow.h"
#include "window.h"

/* Of one flow, waiting for those before them, or for room. */
#define BGDMA_RX_BYTES		(2U << 20)
#define BGDMA_RX_PARKED_BYTES	(64U << 10)

/* Of frames behind one that is missing so many lead to one acknowledgment. */
#define BGDMA_RX_GAP_EACH	8

/* Bytes that are delivered where a frame is found. */
#define BGDMA_RX_INLINE		(128L << 10)

static u32 bgdma_rx_psn(const struct sk_buff *skb)
{
	return le32_to_cpu(bgdma_frame_of(skb)->psn);
}

/* Numbers that a frame has. */
static u32 bgdma_rx_span(const struct sk_buff *skb)
{
	return bgdma_frame_of(skb)->more + 1;
}

/* --------------------------------------------------------------------- */
/* Acknowledgments                                                        */

static void bgdma_rx_fill_ack(struct bgdma_rx_flow *flow, struct sk_buff *skb)
{
	struct bgdma_frame *f = (void *)skb->data;
	struct bgdma_wire_ack *ack;
	bool parked = test_bit(BGDMA_STREAM_PARKED, &flow->s.flags);

	lockdep_assert_held(&flow->lock);
	f->type = BGDMA_FRAME_ACK;
	f->session = cpu_to_le32(flow->session);
	f->psn = cpu_to_le32(flow->next);
	f->first = cpu_to_le32(++flow->acks);
	f->stamp = cpu_to_le32(flow->stamp);
	f->packets = flow->n_results;
	ack = skb_put_zero(skb, sizeof(*ack));
	flow->held = !skb_queue_empty(&flow->queue);
	bgdma_window_tell(flow->have, ack->sack);
	ack->window = cpu_to_le16(BGDMA_RX_WINDOW);
	if (parked) {
		ack->state = BGDMA_WIRE_NOT_READY;
		ack->kind = flow->s.parked_kind;
		ack->object = cpu_to_le32(flow->s.parked_id);
	}
	skb_put_data(skb, flow->results,
		     flow->n_results * sizeof(flow->results[0]));
	flow->due = false;
}

/* What has become of the flow's frames. If there is no memory: with the next. */
static void bgdma_rx_ack(struct bgdma_rx_flow *flow, bool pooled)
{
	struct bgdma_flow_key back = flow->key;
	struct sk_buff *skb = NULL;
	bool opened, again;
	u32 results;

	swap(back.src, back.dst);
	do {
		kfree_skb(skb);
		results = READ_ONCE(flow->n_results);
		skb = bgdma_frame_new(sizeof(struct bgdma_wire_ack) +
				      results * sizeof(flow->results[0]));
		if (!skb)
			return;
		bgdma_frame_begin(skb, &back);
		spin_lock(&flow->lock);
		/* The owner may have found another meanwhile. */
		again = flow->n_results > results;
		if (!again)
			bgdma_rx_fill_ack(flow, skb);
		spin_unlock(&flow->lock);
	} while (again);
	bgdma_frame_finish(flow->ether, skb);
	opened = bgdma_inbox_open(pooled);
	bgdma_frame_send(flow->ether, skb);
	if (opened)
		bgdma_inbox_close();
}

/* --------------------------------------------------------------------- */
/* Frames come in                                                         */

/*
 * The sender knows of the results of all frames before @first: true if some were not
 * known to be.
 */
static bool bgdma_rx_forget(struct bgdma_rx_flow *flow, u32 first)
{
	u32 n = 0;

	lockdep_assert_held(&flow->lock);
	while (n < flow->n_results &&
	       bgdma_psn_before(le32_to_cpu(flow->results[n].psn), first))
		n++;
	flow->n_results -= n;
	memmove(flow->results, flow->results + n,
		flow->n_results * sizeof(flow->results[0]));
	return n;
}

/* In its place in the queue; mostly at the end. */
static void bgdma_rx_insert(struct bgdma_rx_flow *flow, struct sk_buff *skb)
{
	struct sk_buff *at;

	lockdep_assert_held(&flow->lock);
	skb_queue_reverse_walk(&flow->queue, at) {
		if (bgdma_psn_before(bgdma_rx_psn(at), bgdma_rx_psn(skb))) {
			__skb_queue_after(&flow->queue, at, skb);
			return;
		}
	}
	__skb_queue_head(&flow->queue, skb);
}

/*
 * Must the sender know of results before @skb is delivered, of which nothing was? There is
 * room for so many; and a gate's answer goes another way, where it must not come before
 * what it counts as refused. Such a packet is the first of its frame.
 */
static bool bgdma_rx_must_tell(const struct bgdma_rx_flow *flow,
			       const struct sk_buff *skb)
{
	const struct bgdma_frame *f = bgdma_frame_of(skb);

	lockdep_assert_held(&flow->lock);
	if (likely(!flow->n_results))
		return false;
	return flow->n_results + f->packets > BGDMA_WIRE_RESULTS ||
	       bgdma_wire_is_gate((const void *)(f + 1));
}

/*
 * Is there room for it? The next one always has, but where it would wait, for its target
 * or for its sender, and too much is kept already: it is offered again.
 */
static bool bgdma_rx_fits(struct bgdma_rx_flow *flow, const struct sk_buff *skb,
			  u32 ahead)
{
	bool parked = test_bit(BGDMA_STREAM_PARKED, &flow->s.flags);
	u32 most = parked ? BGDMA_RX_PARKED_BYTES : BGDMA_RX_BYTES;

	lockdep_assert_held(&flow->lock);
	if (!ahead && !parked && !bgdma_rx_must_tell(flow, skb))
		return true;
	if (ahead && flow->bytes + skb->truesize > most)
		return false;
	if (bgdma_ghost_keeps(flow, skb->truesize))
		return true;
	if (!ahead && parked)
		flow->let_go = true;
	return false;
}

/* What it keeps more, or less. */
static void bgdma_rx_kept(struct bgdma_rx_flow *flow, int bytes)
{
	lockdep_assert_held(&flow->lock);
	flow->bytes += bytes;
	bgdma_ghost_kept(flow, bytes);
}

/* Keep a frame, if it is new: true if it is the one that is next. */
static bool bgdma_rx_keep(struct bgdma_rx_flow *flow, struct sk_buff *skb)
{
	u32 ahead = bgdma_rx_psn(skb) - flow->next;

	lockdep_assert_held(&flow->lock);
	if (flow->gone || !bgdma_rx_fits(flow, skb, ahead) ||
	    !bgdma_window_keep(flow->have, flow->next, bgdma_rx_psn(skb),
			       bgdma_rx_span(skb))) {
		flow->due = true;
		kfree_skb(skb);
		return false;
	}
	/* It may do so for long: its pages are somebody's. */
	if (unlikely(test_bit(BGDMA_STREAM_PARKED, &flow->s.flags)))
		skb = bgdma_frame_own(skb);
	/* A socket that it came from would keep its namespace, and that this flow. */
	skb_orphan(skb);
	bgdma_rx_kept(flow, skb->truesize);
	bgdma_rx_insert(flow, skb);
	/* One before it is missing; and now and then, as long as that is so. */
	if (ahead && (!test_bit(ahead - 1, flow->have) ||
		      (!test_bit(0, flow->have) &&
		       bgdma_rx_psn(skb) % BGDMA_RX_GAP_EACH == 0)))
		flow->due = true;
	return !ahead;
}

static void bgdma_rx_begin(struct bgdma_rx_flow *flow,
			   const struct bgdma_frame *f)
{
	flow->session = le32_to_cpu(f->session);
	/* All before it were dealt with, or there were none. */
	flow->next = le32_to_cpu(f->first);
}

static struct bgdma_rx_flow *bgdma_rx_new(struct bgdma_flows *flows,
					  const struct bgdma_flow_key *key,
					  const struct bgdma_frame *f)
{
	struct bgdma_rx_flow *flow;
	struct bgdma_ctx *ghost;

	if (bgdma_ghost_over(flows, le64_to_cpu(f->kernel), key,
			     le32_to_cpu(f->session)))
		return NULL;
	flow = kzalloc(sizeof(*flow), GFP_KERNEL_ACCOUNT);
	if (!flow)
		return NULL;
	ghost = bgdma_ghost_flow(flows, le64_to_cpu(f->kernel), key, flow);
	if (!ghost) {
		kfree(flow);
		return NULL;
	}
	spin_lock_init(&flow->lock);
	skb_queue_head_init(&flow->queue);
	bgdma_stream_init(&flow->s, ghost, BGDMA_KIND_FLOW, key->tag, NULL);
	flow->s.who = ghost->who;
	flow->ether = flows->ether;
	flow->used = jiffies;
	flow->key = *key;
	bgdma_rx_begin(flow, f);
	hash_add_rcu(flows->rx, &flow->hash, bgdma_flow_hash(key));
	return flow;
}

/**
 * bgdma_rx_free() - the receiver's end of a flow is no more
 * @flow: flow
 *
 * A transfer that has begun never ends: its target is told.
 *
 * Context: flows.mutex held; may sleep.
 */
void bgdma_rx_free(struct bgdma_rx_flow *flow)
{
	hash_del_rcu(&flow->hash);
	bgdma_stream_kill(&flow->s);
	bgdma_arrive_end(flow);
	spin_lock(&flow->lock);
	flow->gone = true;
	__skb_queue_purge(&flow->queue);
	bgdma_rx_kept(flow, -(int)flow->bytes);
	spin_unlock(&flow->lock);
	kfree(flow->whole);
	consume_skb(flow->s.promise);
	bgdma_ghost_flow_end(flow->ether->flows, flow);
	kfree_rcu(flow, rcu);
}

static struct bgdma_rx_flow *bgdma_rx_find(struct bgdma_flows *flows,
					   const struct bgdma_flow_key *key)
{
	struct bgdma_rx_flow *flow;

	hash_for_each_possible_rcu(flows->rx, flow, hash, bgdma_flow_hash(key),
				   rcu_read_lock_sched_held() ||
				   lockdep_is_held(&flows->mutex)) {
		if (!memcmp(&flow->key, key, sizeof(*key)))
			return flow;
	}
	return NULL;
}

static struct bgdma_flow_key bgdma_rx_key(const struct bgdma_frame *f)
{
	return (struct bgdma_flow_key) {
		.inc = le32_to_cpu(f->flow_inc),
		.src = le32_to_cpu(f->src_rank),
		.dst = le32_to_cpu(f->dst_rank),
		.tag = le32_to_cpu(f->flow),
		.ctx = le16_to_cpu(f->flow_ctx),
		.adaptive = !!(f->flags & BGDMA_FRAME_ADAPTIVE),
	};
}

static struct bgdma_rx_flow *bgdma_rx_flow(struct bgdma_flows *flows,
					   const struct bgdma_frame *f)
{
	const struct bgdma_flow_key key = bgdma_rx_key(f);
	struct bgdma_rx_flow *flow = bgdma_rx_find(flows, &key);
	s32 newer;

	if (!flow)
		return bgdma_rx_new(flows, &key, f);
	newer = le32_to_cpu(f->session) - flow->session;
	if (newer <= 0)
		return newer ? NULL : flow;
	/* The sender has given the flow up, and begun it anew. */
	bgdma_rx_free(flow);
	return bgdma_rx_new(flows, &key, f);
}

/* --------------------------------------------------------------------- */
/* Frames are dealt with                                                  */

/* Have some packets of the first frame been delivered, which would come twice? */
static bool bgdma_rx_begun(const struct bgdma_rx_flow *flow)
{
	return flow->packet || flow->piece;
}

static struct sk_buff *bgdma_rx_first(struct bgdma_rx_flow *flow)
{
	struct sk_buff *skb;

	spin_lock(&flow->lock);
	skb = skb_peek(&flow->queue);
	if (!skb || bgdma_rx_psn(skb) != flow->next ||
	    (!bgdma_rx_begun(flow) && bgdma_rx_must_tell(flow, skb))) {
		WRITE_ONCE(flow->s.more, false);
		skb = NULL;
	}
	spin_unlock(&flow->lock);
	return skb;
}

/* Take the first frame out; @dealt: with it, or it was damaged. */
static void bgdma_rx_done(struct bgdma_rx_flow *flow, struct sk_buff *skb,
			  bool dealt)
{
	spin_lock(&flow->lock);
	__skb_unlink(skb, &flow->queue);
	if (!flow->apart)
		bgdma_rx_kept(flow, -(int)skb->truesize);
	flow->apart = false;
	bgdma_window_done(flow->have, &flow->next, bgdma_rx_span(skb), dealt);
	/* Who was told that a frame has arrived, but no more, waits for more. */
	if (!dealt || flow->held ||
	    !(bgdma_frame_of(skb)->flags & BGDMA_FRAME_PATIENT))
		flow->due = true;
	spin_unlock(&flow->lock);
	flow->packet = 0;
	flow->done = 0;
	flow->piece = 0;
	flow->checked = false;
	kfree_skb(skb);
}

/*
 * What a flow keeps whose target has no room is in the way of others, if it is much in
 * all. So it lets go of that, and is offered it again; but for a frame of which some was
 * delivered, which is not counted then: there is one of each flow at most.
 */
static void bgdma_rx_let_go(struct bgdma_rx_flow *flow)
{
	struct sk_buff *first = NULL;

	spin_lock(&flow->lock);
	if (bgdma_ghost_keeps(flow, 0) || flow->apart)
		goto unlock;
	if (bgdma_rx_begun(flow))
		first = __skb_dequeue(&flow->queue);
	__skb_queue_purge(&flow->queue);
	bgdma_rx_kept(flow, -(int)flow->bytes);
	bitmap_zero(flow->have, BGDMA_RX_WINDOW);
	flow->let_go = true;
	flow->due = true;
	if (first) {
		flow->apart = true;
		__skb_queue_head(&flow->queue, first);
		bitmap_set(flow->have, 0, bgdma_rx_span(first));
	} else {
		flow->checked = false;
	}
unlock:
	/* What waits is kept as it is: its pages are somebody's. */
	bgdma_rx_kept(flow, bgdma_frames_own(&flow->queue, flow->apart));
	spin_unlock(&flow->lock);
}

/* Who was let go of is told that there is room again: he has nothing else from us. */
static void bgdma_rx_resume(struct bgdma_rx_flow *flow)
{
	spin_lock(&flow->lock);
	if (!test_bit(BGDMA_STREAM_PARKED, &flow->s.flags)) {
		flow->let_go = false;
		flow->due = true;
	}
	spin_unlock(&flow->lock);
}

/* A transfer was refused: s->x says which, and why. */
static void bgdma_rx_refused(struct bgdma_rx_flow *flow)
{
	const struct bgdma_xfer *x = &flow->s.x;
	struct bgdma_wire_result *r;

	trace_bgdma_error(&flow->s);
	flow->open = false;
	flow->has_refused = true;
	flow->refused = x->id;
	/* The next waits as long as any. */
	flow->s.deadline = 0;
	spin_lock(&flow->lock);
	if (flow->n_results < BGDMA_WIRE_RESULTS) {
		r = &flow->results[flow->n_results++];
		*r = (struct bgdma_wire_result) {
			.offset = cpu_to_le64(x->fault.offset),
			.bound = cpu_to_le64(x->fault.bound),
			.id = cpu_to_le32(x->id),
			.code = cpu_to_le32(x->fault.code),
			.psn = cpu_to_le32(flow->next),
		};
	}
	flow->due = true;
	spin_unlock(&flow->lock);
}

/*
 * What follows a piece that was refused is of no use. Transfers come one after the
 * other, and some day a later one has the same number: it begins with its first byte.
 */
static bool bgdma_rx_useless(struct bgdma_rx_flow *flow,
			     const struct bgdma_wire_packet *p)
{
	if (flow->refused != le32_to_cpu(p->id) ||
	    (p->kind == BGDMA_WIRE_PIECE && !p->offset))
		flow->has_refused = false;
	return flow->has_refused;
}

/* The packets of a frame: BGDMA_STEP_DONE, _WAIT or _AGAIN. */
static int bgdma_rx_frame(struct bgdma_rx_flow *flow, struct sk_buff *skb,
			  long *budget)
{
	const struct bgdma_frame *f = bgdma_frame_of(skb);
	const struct bgdma_wire_packet *p = (const void *)(f + 1);
	u32 head = le16_to_cpu(f->head);

	for (; flow->packet < f->packets; flow->packet++) {
		u32 bytes = bgdma_wire_payload(&p[flow->packet]);
		u32 first = flow->packet;
		int ret = BGDMA_STEP_DONE;

		if (*budget <= 0)
			return BGDMA_STEP_AGAIN;
		if (likely(!bgdma_rx_useless(flow, &p[flow->packet])))
			ret = bgdma_arrive(flow, &p[flow->packet], skb,
					   head + flow->done);
		*budget -= max(bytes, 256U) + (flow->packet - first) * 256;
		if (ret < 0)
			return ret;
		if (ret > 0)
			bgdma_rx_refused(flow);
		flow->done += bytes;
		flow->piece = 0;
	}
	return BGDMA_STEP_DONE;
}

/* It waits, or ends. */
static bool bgdma_rx_halted(const struct bgdma_stream *s)
{
	return READ_ONCE(s->ctx->dead) ||
	       READ_ONCE(s->flags) & (BIT(BGDMA_STREAM_PARKED) |
				      BIT(BGDMA_STREAM_DEAD) |
				      BIT(BGDMA_STREAM_WANTED));
}

/* Is it as it was sent? Of one of which some was delivered that was looked at. */
static bool bgdma_rx_good_still(const struct bgdma_rx_flow *flow,
				struct sk_buff *skb)
{
	if (!bgdma_rx_begun(flow) && unlikely(bgdma_frame_taken_back(skb)))
		return false;
	return flow->checked || bgdma_frame_intact(skb);
}

/**
 * bgdma_rx_turn() - deliver what has arrived
 * @s: of a flow, owned
 * @budget: bytes
 *
 * Return: what is left of the budget.
 */
long bgdma_rx_turn(struct bgdma_stream *s, long budget)
{
	struct bgdma_rx_flow *flow = container_of(s, struct bgdma_rx_flow, s);
	struct sk_buff *skb;
	int ret = BGDMA_STEP_DONE;

	if (unlikely(READ_ONCE(flow->let_go)))
		bgdma_rx_resume(flow);
	while (budget > 0 && !bgdma_rx_halted(s) &&
	       (skb = bgdma_rx_first(flow))) {
		if (!bgdma_rx_good_still(flow, skb)) {
			bgdma_rx_done(flow, skb, false);
			continue;
		}
		flow->checked = true;
		ret = bgdma_rx_frame(flow, skb, &budget);
		if (ret)
			break;
		bgdma_rx_done(flow, skb, true);
	}
	/* Nor is there an end to how long memory for an answer may be lacking. */
	if (ret == BGDMA_STEP_WAIT || (ret == BGDMA_STEP_AGAIN && budget > 0))
		bgdma_rx_let_go(flow);
	if (READ_ONCE(flow->due) || ret == BGDMA_STEP_WAIT)
		bgdma_rx_ack(flow, s->pooled);
	return budget;
}

/* --------------------------------------------------------------------- */
/* They have come                                                         */

/* May its sender speak for the node that it says it is from? */
static bool bgdma_rx_good(struct bgdma_flows *flows, const struct sk_buff *skb)
{
	const struct bgdma_frame *f = bgdma_frame_of(skb);
	u32 ctx = le16_to_cpu(f->flow_ctx);

	return (f->type == BGDMA_FRAME_CLOSE ||
		bgdma_wire_frame_check(f, skb->len - le16_to_cpu(f->head))) &&
	       (ctx < BGDMA_CTX_PER_NODE || ctx == BGDMA_CTX_ANY) &&
	       bgdma_way_speaks(flows->ether, le64_to_cpu(f->kernel),
				le32_to_cpu(f->src_rank));
}

/* Keep it: true if there is something to deliver. */
static bool bgdma_rx_take(struct bgdma_rx_flow *flow, struct sk_buff *skb,
			  bool pooled)
{
	const struct bgdma_frame *f = bgdma_frame_of(skb);
	bool known, next, due;

	spin_lock(&flow->lock);
	flow->used = jiffies;
	flow->stamp = le32_to_cpu(f->stamp);
	known = bgdma_rx_forget(flow, le32_to_cpu(f->first));
	next = bgdma_rx_keep(flow, skb) ||
	       (known && test_bit(0, flow->have));
	if (next)
		WRITE_ONCE(flow->s.more, true);
	due = flow->due && !next && !flow->gone;
	spin_unlock(&flow->lock);
	/* Whoever deals with frames tells of these; else it is done now. */
	if (due)
		bgdma_rx_ack(flow, pooled);
	return next;
}

/**
 * bgdma_rx_run() - deliver what has arrived, for a while
 * @flow: unless somebody else does so
 * @pooled: by a thread of the pool
 *
 * Context: inside a slice.
 */
void bgdma_rx_run(struct bgdma_rx_flow *flow, bool pooled)
{
	struct bgdma_stream *s = &flow->s;

	if (test_bit(BGDMA_STREAM_PARKED, &s->flags) ||
	    test_and_set_bit_lock(BGDMA_STREAM_OWNED, &s->flags)) {
		bgdma_stream_wake(s);
		return;
	}
	if (!test_bit(BGDMA_STREAM_DEAD, &s->flags)) {
		s->pooled = pooled;
		bgdma_rx_turn(s, BGDMA_RX_INLINE);
		s->pooled = false;
	}
	bgdma_stream_leave(s, false);
}

/**
 * bgdma_rx_known() - a frame has arrived where it goes to
 * @flows: of the partition
 * @skb: frame with a good head; gone afterwards, unless the flow is new
 * @last: flow that has something to deliver, or NULL: it is run when this is of
 *	another
 * @pooled: by a thread of the pool
 *
 * Context: inside a slice.
 * Return: false: it is of a flow that bgdma_rx_data() has to see first.
 */
bool bgdma_rx_known(struct bgdma_flows *flows, struct sk_buff *skb,
		    struct bgdma_rx_flow **last, bool pooled)
{
	const struct bgdma_frame *f = bgdma_frame_of(skb);
	const struct bgdma_flow_key key = bgdma_rx_key(f);
	struct bgdma_rx_flow *flow;

	if (!bgdma_rx_good(flows, skb)) {
		kfree_skb(skb);
		return true;
	}
	flow = bgdma_rx_find(flows, &key);
	if (!flow || flow->session != le32_to_cpu(f->session))
		return false;
	if (*last && *last != flow) {
		bgdma_rx_run(*last, pooled);
		*last = NULL;
	}
	if (bgdma_rx_take(flow, skb, pooled))
		*last = flow;
	return true;
}

/**
 * bgdma_rx_waits() - is there something of a flow that was not delivered?
 * @flow: flow
 *
 * Context: flows.mutex held.
 */
bool bgdma_rx_waits(struct bgdma_rx_flow *flow)
{
	bool waits;

	spin_lock(&flow->lock);
	waits = !skb_queue_empty(&flow->queue);
	spin_unlock(&flow->lock);
	return waits || READ_ONCE(flow->open);
}

/* Its sender has nothing on its way; if it has again, it begins a flow anew. */
static void bgdma_rx_close(struct bgdma_flows *flows,
			   const struct bgdma_frame *f)
{
	const struct bgdma_flow_key key = bgdma_rx_key(f);
	struct bgdma_rx_flow *flow = bgdma_rx_find(flows, &key);
	bool idle;

	if (!flow || flow->session != le32_to_cpu(f->session))
		return;
	spin_lock(&flow->lock);
	idle = flow->next == le32_to_cpu(f->psn) &&
	       skb_queue_empty(&flow->queue);
	spin_unlock(&flow->lock);
	if (idle)
		bgdma_rx_free(flow);
}

/**
 * bgdma_rx_data() - the same of one that may be the first of its flow, or ends it
 * @flows: of the partition
 * @skb: frame with a good head; gone afterwards
 *
 * Context: flows.mutex held; may sleep.
 */
void bgdma_rx_data(struct bgdma_flows *flows, struct sk_buff *skb)
{
	const struct bgdma_frame *f = bgdma_frame_of(skb);
	struct bgdma_rx_flow *flow = NULL;

	lockdep_assert_held(&flows->mutex);
	if (bgdma_rx_good(flows, skb)) {
		if (f->type == BGDMA_FRAME_DATA)
			flow = bgdma_rx_flow(flows, f);
		else
			bgdma_rx_close(flows, f);
	}
	if (!flow)
		kfree_skb(skb);
	else if (bgdma_rx_take(flow, skb, false))
		bgdma_stream_wake(&flow->s);
}
