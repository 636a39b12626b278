// SPDX-License-Identifier: GPL-2.0
/*
 * Edges: to each neighbour goes a stream, of packets that are complete to the parent,
 * and of results to the children. It is run as any other stream, on its context's
 * account, and its packets travel as any other.
 */
#include "../engine/deliver.h"
#include "tree.h"

static struct bgdma_edge *bgdma_edge_of(const struct bgdma_stream *s)
{
	return container_of(s, struct bgdma_edge, s);
}

/* The number of the next packet, and where there is none. */
static u32 *bgdma_edge_next(struct bgdma_edge *edge)
{
	struct bgdma_class *cls = edge->cls;

	return edge->id == BGDMA_EDGE_UP ? &cls->up :
					   &cls->down[edge->id - BGDMA_EDGE_DOWN];
}

static const u32 *bgdma_edge_end(const struct bgdma_edge *edge)
{
	const struct bgdma_class *cls = edge->cls;

	return edge->id == BGDMA_EDGE_UP ? &cls->complete : &cls->result;
}

/**
 * bgdma_edge_pending() - has an edge something to send?
 * @s: its stream
 *
 * Context: any.
 */
bool bgdma_edge_pending(const struct bgdma_stream *s)
{
	struct bgdma_edge *edge = bgdma_edge_of(s);

	if (unlikely(READ_ONCE(edge->cls->code) ||
		     READ_ONCE(edge->cls->leaving)))
		return READ_ONCE(edge->told) != READ_ONCE(edge->due);
	return READ_ONCE(edge->greet) || READ_ONCE(*bgdma_edge_next(edge)) !=
					 READ_ONCE(*bgdma_edge_end(edge));
}

/**
 * bgdma_edges_wake() - let streams of a class run that have something to do
 * @cls: class
 * @by: stream that runs now, and has brought it
 *
 * Context: inside a slice.
 */
void bgdma_edges_wake(struct bgdma_class *cls, struct bgdma_stream *by)
{
	u32 i;

	/* The numbers before the looks, as of any who wakes a stream. */
	smp_mb();
	for (i = 0; i < BGDMA_EDGES; i++) {
		struct bgdma_edge *edge = &cls->edge[i];

		if (edge->there && &edge->s != by &&
		    bgdma_edge_pending(&edge->s))
			bgdma_stream_wake_after(by, &edge->s);
	}
	if (unlikely(&cls->packets != by && bgdma_packets_pending(&cls->packets)))
		bgdma_stream_wake_after(by, &cls->packets);
}

/**
 * bgdma_class_next() - a stream of a class goes on to its next packet
 * @s: owned, has one
 *
 * What it is whoever runs it finds out, each time that it tries.
 *
 * Return: 1, as a fetch.
 */
int bgdma_class_next(struct bgdma_stream *s)
{
	s->x.desc = (struct bgdma_desc) {
		.op = BGDMA_OP_TREE_ALLREDUCE,
		.inj_ctr = cpu_to_le32(BGDMA_NONE),
		.rec_ctr = cpu_to_le32(BGDMA_NONE),
	};
	s->x.seq = s->head++;
	s->x.tail = s->head;
	return 1;
}

/**
 * bgdma_edge_fetch() - the next packet of an edge
 * @s: owned
 *
 * Return: 1, or 0 if there is none.
 */
int bgdma_edge_fetch(struct bgdma_stream *s)
{
	return bgdma_edge_pending(s) ? bgdma_class_next(s) : 0;
}

static void bgdma_edge_head(struct bgdma_edge *edge,
			    const struct bgdma_tree_head *head)
{
	struct bgdma_desc *d = &edge->s.x.desc;

	d->class_prio = edge->cls->number;
	d->dst_rank = cpu_to_le32(edge->who.rank);
	d->dst_ctx = cpu_to_le16(edge->who.ctx);
	d->epoch = cpu_to_le32(edge->cls->instance);
	d->length = 0;
	d->cookie = 0;
	*bgdma_tree_head(d) = *head;
}

/* Which bytes of a slot go along an edge. */
static u32 bgdma_edge_bytes(const struct bgdma_edge *edge,
			    const struct bgdma_slot *slot)
{
	u8 only_down = BGDMA_OP_TREE_BCAST, only_up = BGDMA_OP_TREE_REDUCE;

	if (slot->differ ||
	    slot->ask.op == (edge->id == BGDMA_EDGE_UP ? only_down : only_up))
		return 0;
	return slot->n;
}

/* Its next packet becomes the descriptor and the slice: false, if there is none. */
static bool bgdma_edge_fill(struct bgdma_edge *edge)
{
	struct bgdma_class *cls = edge->cls;
	struct bgdma_desc *d = &edge->s.x.desc;
	struct bgdma_payload *p = &edge->s.x.slice;
	const struct bgdma_slot *slot;
	u32 number, n;

	lockdep_assert_held(&cls->lock);
	number = *bgdma_edge_next(edge);
	if (cls->code || number == *bgdma_edge_end(edge))
		return false;
	slot = bgdma_slot_at(cls, number);
	n = bgdma_edge_bytes(edge, slot);
	bgdma_edge_head(edge, &(struct bgdma_tree_head) {
		.index = cpu_to_le32(number),
		.offset = cpu_to_le32(slot->offset),
		.total = cpu_to_le32(slot->ask.total),
		.rank = cpu_to_le32(slot->differ ? slot->one.rank : 0),
		.ctx = cpu_to_le16(slot->differ ? slot->one.ctx : 0),
		.kind = slot->differ ? BGDMA_TREE_DIFFER : BGDMA_TREE_PART,
	});
	d->op = slot->ask.op;
	d->dst_fifo = cpu_to_le16(slot->ask.tag);
	d->dispatch = cpu_to_le16(slot->ask.dispatch);
	d->length = cpu_to_le32(n);
	if (slot->differ)
		d->cookie = cpu_to_le64(slot->other.rank |
					(u64)slot->other.ctx << 32);
	p->pieces = !!n;
	p->p[0] = slot->data;
	p->n[0] = n;
	if (edge->id == BGDMA_EDGE_UP)
		cls->sending = 1;
	return true;
}

/* What was said is no longer due. */
static void bgdma_edge_told(struct bgdma_edge *edge)
{
	spin_lock(&edge->cls->lock);
	WRITE_ONCE(edge->told, edge->said);
	spin_unlock(&edge->cls->lock);
}

/* The neighbour hears that the class is broken, or that the context left. */
static int bgdma_edge_tell(struct bgdma_edge *edge)
{
	struct bgdma_class *cls = edge->cls;
	struct bgdma_stream *s = &edge->s;
	struct bgdma_name by;
	u32 code;
	bool due;
	int ret;

	spin_lock(&cls->lock);
	code = cls->code;
	by = cls->broken_by;
	edge->said = edge->due;
	due = edge->told != edge->said;
	spin_unlock(&cls->lock);
	if (!due)
		return BGDMA_STEP_DONE;
	/* Nobody may make room any more for what waits at a broken one. */
	if (code && s->tx)
		s->ctx->partition->fabric->drop(s);
	bgdma_edge_head(edge, &(struct bgdma_tree_head) {
		.rank = cpu_to_le32(by.rank),
		.ctx = cpu_to_le16(by.ctx),
		.kind = code ? BGDMA_TREE_BROKEN : BGDMA_TREE_LEFT,
		.code = code,
	});
	s->x.slice.pieces = 0;
	ret = s->ctx->partition->fabric->tree(s, &s->x.slice, 0);
	/* Who does not even take the word that it is over need not have it. */
	if (ret != BGDMA_STEP_WAIT && ret != BGDMA_STEP_AGAIN)
		bgdma_edge_told(edge);
	return ret;
}

/* The neighbour takes it if he is there, bound or not. Who is not refuses it. */
static int bgdma_edge_greet(struct bgdma_edge *edge)
{
	struct bgdma_stream *s = &edge->s;
	int ret;

	bgdma_edge_head(edge, &(struct bgdma_tree_head) {
		.kind = BGDMA_TREE_HELLO,
	});
	s->x.desc.cookie = cpu_to_le64(edge->who.incarnation);
	s->x.slice.pieces = 0;
	ret = s->ctx->partition->fabric->tree(s, &s->x.slice, 0);
	if (ret == BGDMA_STEP_DONE || ret == BGDMA_STEP_SENT)
		WRITE_ONCE(edge->greet, false);
	return ret;
}

/* A packet was sent, or was not. Slots that it was the last to need are free. */
static void bgdma_edge_sent(struct bgdma_edge *edge, bool sent)
{
	struct bgdma_class *cls = edge->cls;
	u32 *next = bgdma_edge_next(edge);
	bool room = false;

	spin_lock(&cls->lock);
	if (edge->id == BGDMA_EDGE_UP)
		cls->sending = 0;
	if (sent) {
		WRITE_ONCE(*next, *next + 1);
		room = bgdma_class_free_slots(cls);
	}
	spin_unlock(&cls->lock);
	if (room)
		bgdma_waiters_wake(&cls->waiters);
}

/**
 * bgdma_edge_run() - send the next packet
 * @s: owned
 *
 * Context: inside a slice.
 * Return: BGDMA_STEP_DONE, _SENT, _WAIT, _AGAIN, or an enum bgdma_code with
 * s->x.fault.
 */
int bgdma_edge_run(struct bgdma_stream *s)
{
	struct bgdma_edge *edge = bgdma_edge_of(s);
	struct bgdma_class *cls = edge->cls;
	bool any;
	int ret;

	if (READ_ONCE(cls->code) || READ_ONCE(cls->leaving))
		return bgdma_edge_tell(edge);
	if (READ_ONCE(edge->greet))
		return bgdma_edge_greet(edge);
	spin_lock(&cls->lock);
	any = bgdma_edge_fill(edge);
	spin_unlock(&cls->lock);
	if (!any)
		return BGDMA_STEP_DONE;
	ret = s->ctx->partition->fabric->tree(s, &s->x.slice,
					      le32_to_cpu(s->x.desc.length));
	bgdma_edge_sent(edge, ret == BGDMA_STEP_DONE || ret == BGDMA_STEP_SENT);
	/* It broke meanwhile: see bgdma_class_broken(). */
	if (ret == BGDMA_STEP_WAIT && READ_ONCE(cls->code)) {
		bgdma_stream_unpark(s);
		ret = BGDMA_STEP_AGAIN;
	}
	return ret;
}

/**
 * bgdma_edge_failed() - what was sent could not be delivered
 * @s: stream of the edge
 * @at: stands for it; at->x.fault says why
 *
 * Context: any; class.lock not held.
 */
void bgdma_edge_failed(struct bgdma_stream *s, const struct bgdma_stream *at)
{
	struct bgdma_edge *edge = bgdma_edge_of(s);
	const struct bgdma_name by = { .rank = edge->who.rank,
				       .ctx = edge->who.ctx };
	struct bgdma_class *cls = edge->cls;
	u32 code = at->x.fault.code;
	bool broke;

	/* It was there when somebody named it, and has gone since. */
	if (code == BGDMA_E_NO_PEER)
		code = BGDMA_E_PEER_DOWN;
	else if (!code || code > BGDMA_E_CLASS)
		code = BGDMA_E_ABORTED;
	spin_lock(&cls->lock);
	/* Nothing comes of it where the class is over: that is bgdma_edge_tell()'s. */
	broke = !cls->leaving && bgdma_class_break(cls, code, &by);
	spin_unlock(&cls->lock);
	if (!broke)
		return;
	bgdma_slice_begin();
	bgdma_class_broken(cls);
	bgdma_slice_end();
}

/**
 * bgdma_edge_held() - there is no room where what was sent goes to
 * @s: stream of the edge
 *
 * The word that the class is broken may be behind that: it is said again, once, for
 * which that is dropped.
 *
 * Context: any; class.lock not held.
 */
void bgdma_edge_held(struct bgdma_stream *s)
{
	struct bgdma_edge *edge = bgdma_edge_of(s);
	struct bgdma_class *cls = edge->cls;
	bool again;

	spin_lock(&cls->lock);
	again = cls->code && !edge->again;
	if (again) {
		edge->again = true;
		WRITE_ONCE(edge->due, edge->due + 1);
	}
	spin_unlock(&cls->lock);
	if (!again)
		return;
	bgdma_slice_begin();
	bgdma_stream_wake(s);
	bgdma_slice_end();
}

/**
 * bgdma_edge_greeted() - a neighbour has bound the class
 * @edge: to it
 * @by: stream that brings the word
 *
 * What it was told before it could not hear.
 *
 * Context: inside a slice.
 */
void bgdma_edge_greeted(struct bgdma_edge *edge, struct bgdma_stream *by)
{
	struct bgdma_class *cls = edge->cls;

	spin_lock(&cls->lock);
	if (!edge->greeted && (cls->code || cls->leaving))
		WRITE_ONCE(edge->due, edge->due + 1);
	edge->greeted = true;
	spin_unlock(&cls->lock);
	bgdma_edges_wake(cls, by);
}
