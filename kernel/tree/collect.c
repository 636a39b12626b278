// SPDX-License-Identifier: GPL-2.0
/*
 * Packets come to a class: the context's own, those of its children, which are
 * combined, and results from its parent. Whoever brings one that has no room waits.
 */
#include "../engine/deliver.h"
#include "combine.h"
#include "tree.h"

static bool bgdma_ask_same(const struct bgdma_ask *a, const struct bgdma_ask *b)
{
	return a->op == b->op && a->total == b->total && a->tag == b->tag &&
	       a->dispatch == b->dispatch;
}

static struct bgdma_ask bgdma_ask_of(const struct bgdma_desc *d, u32 total)
{
	return (struct bgdma_ask) {
		.total = total, .tag = le16_to_cpu(d->dst_fifo),
		.dispatch = le16_to_cpu(d->dispatch), .op = d->op,
	};
}

/* Bytes of a packet: whole elements. */
static u32 bgdma_ask_piece(const struct bgdma_class *cls,
			   const struct bgdma_ask *ask)
{
	u32 size = ask->op == BGDMA_OP_TREE_BCAST ?
		1 : bgdma_combine_size(ask->dispatch);

	return size ? cls->packet - cls->packet % size : 0;
}

/* Bytes that the packet at an offset has, where packets have bytes. */
static u32 bgdma_ask_bytes(const struct bgdma_class *cls,
			   const struct bgdma_ask *ask, u32 offset)
{
	return min(bgdma_ask_piece(cls, ask), ask->total - offset);
}

/* --------------------------------------------------------------------- */
/* Combining                                                              */

static void bgdma_slot_differ(struct bgdma_slot *slot,
			      const struct bgdma_name *other)
{
	if (slot->differ)
		return;
	slot->differ = true;
	slot->other = *other;
}

static void bgdma_slot_copy(struct bgdma_slot *slot,
			    const struct bgdma_payload *p, u32 n)
{
	void *to = slot->data;
	u32 i;

	for (i = 0; n && i < p->pieces; i++) {
		bgdma_copy_long(to, p->p[i], p->n[i]);
		to += p->n[i];
	}
	slot->n = n;
	slot->filled = true;
}

static void bgdma_slot_ask(struct bgdma_slot *slot, const struct bgdma_ask *ask,
			   u32 offset, const struct bgdma_name *who)
{
	slot->ask = *ask;
	slot->offset = offset;
	slot->one = *who;
	slot->asked = true;
}

/* Does a slot have what somebody asks for? If it has nothing yet, it has then. */
static bool bgdma_slot_asks(struct bgdma_slot *slot, const struct bgdma_ask *ask,
			    u32 offset, const struct bgdma_name *who)
{
	if (!slot->asked)
		bgdma_slot_ask(slot, ask, offset, who);
	return offset == slot->offset && bgdma_ask_same(ask, &slot->ask);
}

/* A contribution; @n is 0 where it has no bytes. Is it as those before? */
static bool bgdma_slot_put(struct bgdma_class *cls, struct bgdma_slot *slot,
			   const struct bgdma_ask *ask, u32 offset,
			   const struct bgdma_name *who,
			   const struct bgdma_payload *p, u32 n)
{
	bool same = bgdma_slot_asks(slot, ask, offset, who);

	lockdep_assert_held(&cls->lock);
	if (!same)
		bgdma_slot_differ(slot, who);
	if (slot->differ || !n)
		return same;
	if (!slot->filled) {
		bgdma_slot_copy(slot, p, n);
	} else {
		bgdma_combine(ask->dispatch, slot->data, p);
		cls->combined++;
	}
	return same;
}

/* Somebody has contributed to his next packet: which one is nobody's last? */
static void bgdma_collect_count(struct bgdma_class *cls,
				enum bgdma_source source)
{
	u32 number, i;

	lockdep_assert_held(&cls->lock);
	cls->next[source]++;
	number = cls->next[BGDMA_SOURCE_OWN];
	for (i = 0; i < 2; i++) {
		u32 child = cls->next[BGDMA_SOURCE_CHILD + i];

		if (cls->edge[BGDMA_EDGE_DOWN + i].there &&
		    bgdma_class_before(child, number))
			number = child;
	}
	WRITE_ONCE(cls->complete, number);
}

/*
 * What the root asks for is right: of two members that differ the one is named that
 * did not ask for it. True, if there is one, and what the root asks for is known:
 * where a result is here, it is what was asked for first.
 */
static bool bgdma_collect_judge(struct bgdma_class *cls, u32 number,
				struct bgdma_name *by)
{
	const struct bgdma_slot *slot = bgdma_slot_at(cls, number);

	lockdep_assert_held(&cls->lock);
	if (!slot->differ)
		return false;
	if (!bgdma_class_is_root(cls)) {
		*by = slot->other;
		return bgdma_class_before(number, cls->result);
	}
	if (!bgdma_class_before(number, cls->next[BGDMA_SOURCE_OWN]))
		return false;
	*by = slot->own ? slot->other : slot->one;
	return true;
}

/* --------------------------------------------------------------------- */
/* Waiting                                                                */

/* Does @s find room now? Only its own collective is contributed to by a stream. */
static bool bgdma_collect_free(struct bgdma_class *cls,
			       const struct bgdma_stream *s, bool own,
			       u32 number)
{
	lockdep_assert_held(&cls->lock);
	if (cls->code)
		return true;
	if (own && cls->poster && cls->poster != s)
		return false;
	return bgdma_class_room(cls, number);
}

static int bgdma_collect_wait(struct bgdma_class *cls, struct bgdma_stream *s,
			      bool own, const u32 *number)
{
	bool room;

	bgdma_stream_park(s, &cls->waiters, 0, BGDMA_KIND_CLASS, cls->number);
	spin_lock(&cls->lock);
	room = bgdma_collect_free(cls, s, own, *number);
	spin_unlock(&cls->lock);
	if (!room)
		return BGDMA_STEP_WAIT;
	bgdma_stream_unpark(s);
	return BGDMA_STEP_AGAIN;
}

/* --------------------------------------------------------------------- */
/* The context's own                                                      */

/* What tells that it ends, if something does, must be there when it begins. */
static u32 bgdma_collect_counter(struct bgdma_stream *s)
{
	u32 handle = le32_to_cpu(s->x.desc.rec_ctr);
	int slot;

	if (handle == BGDMA_NONE)
		return BGDMA_OK;
	slot = bgdma_counter_find(s->ctx, BGDMA_RECEPTION, handle, NULL, NULL);
	return slot < 0 ? bgdma_fault(s, -slot, handle, 0) : BGDMA_OK;
}

/**
 * bgdma_collect_begin() - a collective of the context's own begins
 * @s: of the core, at its descriptor
 *
 * Context: inside a slice.
 * Return: BGDMA_OK, or an enum bgdma_code with s->x.fault.
 */
u32 bgdma_collect_begin(struct bgdma_stream *s)
{
	struct bgdma_desc *d = &s->x.desc;
	u32 number = d->class_prio & BGDMA_CLASS_MASK;
	u32 length = le32_to_cpu(d->length);
	const struct bgdma_ask ask = bgdma_ask_of(d, length);
	struct bgdma_class *cls = bgdma_class_find(s->ctx, number);
	u32 size = 1;

	if (!cls)
		return bgdma_fault(s, BGDMA_E_CLASS, number,
				   BGDMA_CLASSES_MAX);
	/* And then who it was: bgdma_class_break(). */
	if (smp_load_acquire(&cls->code))
		return bgdma_class_fault(cls, s);
	if (READ_ONCE(cls->leaving))
		return bgdma_fault(s, BGDMA_E_CLASS, number, 0);
	if (d->op == BGDMA_OP_TREE_BCAST && d->dispatch)
		return bgdma_fault(s, BGDMA_E_FIELD, ask.dispatch, 0);
	if (d->op != BGDMA_OP_TREE_BCAST)
		size = bgdma_combine_size(ask.dispatch);
	if (!size)
		return bgdma_fault(s, BGDMA_E_OP, ask.dispatch, 0);
	if (length % size)
		return bgdma_fault(s, BGDMA_E_LENGTH, length, size);
	if (d->class_prio & BGDMA_TREE_PACKETS &&
	    le32_to_cpu(d->u.at.dst_region) >= s->ctx->n_rec)
		return bgdma_fault(s, BGDMA_E_FIFO,
				   le32_to_cpu(d->u.at.dst_region),
				   s->ctx->n_rec);
	if (d->op == BGDMA_OP_TREE_BCAST && !bgdma_class_is_root(cls)) {
		if (d->inj_ctr != cpu_to_le32(BGDMA_NONE))
			return bgdma_fault(s, BGDMA_E_FIELD, 0, 0);
		d->u.at.src_region = cpu_to_le32(BGDMA_NONE);
	} else if (length && d->u.at.src_region == cpu_to_le32(BGDMA_NONE)) {
		return bgdma_fault(s, BGDMA_E_REGION, 0, 0);
	}
	return bgdma_collect_counter(s);
}

/**
 * bgdma_collect_piece() - bytes of a packet of the collective that begins
 * @s: of the core, its descriptor a good one
 *
 * Context: inside a slice.
 */
u32 bgdma_collect_piece(const struct bgdma_stream *s)
{
	const struct bgdma_desc *d = &s->x.desc;
	const struct bgdma_ask ask = bgdma_ask_of(d, 0);
	struct bgdma_class *cls =
		bgdma_class_find(s->ctx, d->class_prio & BGDMA_CLASS_MASK);

	/* One that went meanwhile is found gone with the first piece. */
	return cls ? bgdma_ask_piece(cls, &ask) : BGDMA_PACKET_MAX;
}

/* Remember where the result goes; there is room for it where there is a slot. */
static void bgdma_post_begin(struct bgdma_class *cls, struct bgdma_stream *s)
{
	const struct bgdma_desc *d = &s->x.desc;
	u32 total = le32_to_cpu(d->length);
	struct bgdma_post *post = bgdma_post_at(cls, cls->post_end++);
	u32 packets, piece;

	lockdep_assert_held(&cls->lock);
	*post = (struct bgdma_post) {
		.ask = bgdma_ask_of(d, total),
		.first = cls->next[BGDMA_SOURCE_OWN],
		.region = le32_to_cpu(d->u.at.dst_region),
		.packets = d->class_prio & BGDMA_TREE_PACKETS,
		.cookie = le64_to_cpu(d->cookie),
		.off = le64_to_cpu(d->u.at.dst_off),
		.rec_ctr = le32_to_cpu(d->rec_ctr),
		.ops = d->flags & BGDMA_DESC_OPS,
		.seq = s->x.seq, .id = s->x.id, .fifo = s->id,
	};
	piece = bgdma_ask_piece(cls, &post->ask);
	packets = total ? DIV_ROUND_UP(total, piece) : 1;
	post->last = post->first + packets - 1;
	if (post->region != BGDMA_NONE)
		post->left = bgdma_result_bytes(cls, &post->ask, total);
	cls->poster = s;
}

/* Does the context wait for a neighbour that left? */
static bool bgdma_edge_missed(const struct bgdma_class *cls,
			      const struct bgdma_edge *edge)
{
	/* Up to where the context needs it: all of what it has begun. */
	u32 end = cls->poster ? cls->posts[(cls->post_end - 1) &
					   (cls->window - 1)].last + 1 :
				cls->next[BGDMA_SOURCE_OWN];
	u32 theirs = edge->id == BGDMA_EDGE_UP ? cls->result :
		cls->next[BGDMA_SOURCE_CHILD + edge->id - BGDMA_EDGE_DOWN];

	lockdep_assert_held(&cls->lock);
	return edge->left && bgdma_class_before(theirs, end);
}

/* One that left is missed at once, or when the next collective begins. */
static bool bgdma_collect_missed(struct bgdma_class *cls)
{
	u32 i;

	for (i = 0; i < BGDMA_EDGES; i++) {
		const struct bgdma_edge *edge = &cls->edge[i];
		const struct bgdma_name by = { .rank = edge->who.rank,
					       .ctx = edge->who.ctx };

		if (bgdma_edge_missed(cls, edge))
			return bgdma_class_break(cls, BGDMA_E_CLASS, &by);
	}
	return false;
}

/* A packet of the own collective, where there is room for it. */
static void bgdma_collect_put_own(struct bgdma_class *cls,
				  struct bgdma_stream *s,
				  const struct bgdma_payload *p, u32 n)
{
	const struct bgdma_name self = bgdma_class_self(cls);
	u32 number = cls->next[BGDMA_SOURCE_OWN];
	struct bgdma_slot *slot = bgdma_slot_at(cls, number);
	const struct bgdma_post *post;

	lockdep_assert_held(&cls->lock);
	if (cls->poster != s)
		bgdma_post_begin(cls, s);
	post = bgdma_post_at(cls, cls->post_end - 1);
	slot->own = bgdma_slot_put(cls, slot, &post->ask, s->x.done, &self, p,
				   p ? n : 0);
	bgdma_collect_count(cls, BGDMA_SOURCE_OWN);
	if (number == post->last)
		cls->poster = NULL;
}

/*
 * Is it a packet of this class? Another may have the number since the collective began:
 * it cuts otherwise, never saw the beginning, or is one where the context is the root, or
 * is not, whose bytes alone are a broadcast's. Nor does one begin where the context is
 * about to leave.
 */
static bool bgdma_collect_good(const struct bgdma_class *cls,
			       const struct bgdma_stream *s,
			       const struct bgdma_payload *p, u32 n)
{
	u32 length = le32_to_cpu(s->x.desc.length);
	const struct bgdma_ask ask = bgdma_ask_of(&s->x.desc, length);
	bool bytes = ask.op != BGDMA_OP_TREE_BCAST || bgdma_class_is_root(cls);

	lockdep_assert_held(&cls->lock);
	if (cls->poster != s && (s->x.done || cls->leaving))
		return false;
	if (n && bytes != !!p)
		return false;
	return n == bgdma_ask_bytes(cls, &ask, s->x.done);
}

/**
 * bgdma_collect_own() - a packet of the context's own
 * @s: of the core
 * @p: its bytes; NULL: it has none to contribute
 * @n: bytes of the packet
 *
 * Context: inside a slice.
 * Return: BGDMA_STEP_DONE, _WAIT, _AGAIN, or an enum bgdma_code with s->x.fault.
 */
int bgdma_collect_own(struct bgdma_stream *s, const struct bgdma_payload *p,
		      u32 n)
{
	u32 number = s->x.desc.class_prio & BGDMA_CLASS_MASK;
	struct bgdma_class *cls = bgdma_class_find(s->ctx, number);
	bool room, judged = false, over;
	struct bgdma_name by;

	if (!cls)
		return bgdma_fault(s, BGDMA_E_CLASS, number, 0);
	spin_lock(&cls->lock);
	if (cls->code) {
		spin_unlock(&cls->lock);
		return bgdma_class_fault(cls, s);
	}
	if (!bgdma_collect_good(cls, s, p, n)) {
		spin_unlock(&cls->lock);
		return bgdma_fault(s, BGDMA_E_CLASS, number, 0);
	}
	number = cls->next[BGDMA_SOURCE_OWN];
	room = bgdma_collect_free(cls, s, true, number);
	if (room) {
		bgdma_collect_put_own(cls, s, p, n);
		judged = (bgdma_collect_judge(cls, number, &by) &&
			  bgdma_class_break(cls, BGDMA_E_TREE_MISMATCH, &by)) ||
			 bgdma_collect_missed(cls);
	}
	over = room && !cls->poster;
	spin_unlock(&cls->lock);
	if (!room)
		return bgdma_collect_wait(cls, s, true,
					  &cls->next[BGDMA_SOURCE_OWN]);
	if (judged)
		bgdma_class_broken(cls);
	/* Others of the context may begin theirs. */
	if (over)
		bgdma_waiters_wake(&cls->waiters);
	bgdma_class_progress(cls);
	bgdma_edges_wake(cls, s);
	return BGDMA_STEP_DONE;
}

/* --------------------------------------------------------------------- */
/* From the neighbours                                                    */

static struct bgdma_edge *bgdma_edge_from(struct bgdma_class *cls,
					  const struct bgdma_principal *who)
{
	u32 i;

	for (i = 0; i < BGDMA_EDGES; i++) {
		if (cls->edge[i].there && bgdma_same(&cls->edge[i].who, who))
			return &cls->edge[i];
	}
	return NULL;
}

/* A child's contribution, with a number that has room. */
static int bgdma_collect_child(struct bgdma_class *cls, struct bgdma_edge *edge,
			       struct bgdma_stream *s,
			       const struct bgdma_payload *p, u32 n)
{
	const struct bgdma_tree_head *head = bgdma_tree_head(&s->x.desc);
	const struct bgdma_ask ask = bgdma_ask_of(&s->x.desc,
						  le32_to_cpu(head->total));
	u32 offset = le32_to_cpu(head->offset), number = le32_to_cpu(head->index);
	struct bgdma_slot *slot = bgdma_slot_at(cls, number);
	struct bgdma_name who = { .rank = edge->who.rank, .ctx = edge->who.ctx };
	u64 other = le64_to_cpu(s->x.desc.cookie);
	bool bytes = ask.op != BGDMA_OP_TREE_BCAST;

	lockdep_assert_held(&cls->lock);
	if (head->kind == BGDMA_TREE_DIFFER) {
		who = (struct bgdma_name) { .rank = le32_to_cpu(head->rank),
					    .ctx = le16_to_cpu(head->ctx) };
		/* Of the two one did not ask for what the slot has. */
		if (bgdma_slot_asks(slot, &ask, offset, &who))
			who = (struct bgdma_name) { .rank = (u32)other,
						    .ctx = (u16)(other >> 32) };
		bgdma_slot_differ(slot, &who);
	} else {
		if (n != (bytes ? bgdma_ask_bytes(cls, &ask, offset) : 0))
			return bgdma_fault(s, BGDMA_E_LENGTH, offset, n);
		bgdma_slot_put(cls, slot, &ask, offset, &who, p, n);
	}
	bgdma_collect_count(cls, BGDMA_SOURCE_CHILD + edge->id - BGDMA_EDGE_DOWN);
	return BGDMA_STEP_DONE;
}

/* A result may come when all of this side has gone up, but for a broadcast. */
static bool bgdma_result_due(struct bgdma_class *cls, const struct bgdma_ask *ask)
{
	u32 sent = cls->up + cls->sending;

	return ask->op == BGDMA_OP_TREE_BCAST ||
	       bgdma_class_before(cls->result, sent);
}

/* A result, with a number that has room. It is what the root asked for. */
static int bgdma_collect_result(struct bgdma_class *cls, struct bgdma_stream *s,
				const struct bgdma_payload *p, u32 n)
{
	const struct bgdma_tree_head *head = bgdma_tree_head(&s->x.desc);
	const struct bgdma_ask ask = bgdma_ask_of(&s->x.desc,
						  le32_to_cpu(head->total));
	const struct bgdma_name self = bgdma_class_self(cls);
	struct bgdma_slot *slot = bgdma_slot_at(cls, cls->result);
	u32 offset = le32_to_cpu(head->offset);
	bool bytes = ask.op != BGDMA_OP_TREE_REDUCE, same;

	lockdep_assert_held(&cls->lock);
	if (head->kind != BGDMA_TREE_PART || !bgdma_result_due(cls, &ask))
		return bgdma_fault(s, BGDMA_E_FIELD, cls->result, 0);
	if (n != (bytes ? bgdma_ask_bytes(cls, &ask, offset) : 0))
		return bgdma_fault(s, BGDMA_E_LENGTH, offset, n);
	same = bgdma_slot_asks(slot, &ask, offset, &self);
	if (!same || slot->differ) {
		bgdma_class_break(cls, BGDMA_E_TREE_MISMATCH,
				  same ? &slot->other : &slot->one);
		return BGDMA_STEP_DONE;
	}
	if (bytes)
		bgdma_slot_copy(slot, p, n);
	WRITE_ONCE(cls->result, cls->result + 1);
	return BGDMA_STEP_DONE;
}

/* What a neighbour sends is a packet of this class, and the next. */
static int bgdma_collect_next(struct bgdma_class *cls, struct bgdma_edge *edge,
			      struct bgdma_stream *s,
			      const struct bgdma_payload *p, u32 n)
{
	u32 number = le32_to_cpu(bgdma_tree_head(&s->x.desc)->index);
	bool up = edge->id == BGDMA_EDGE_UP;
	u32 next = up ? cls->result :
		cls->next[BGDMA_SOURCE_CHILD + edge->id - BGDMA_EDGE_DOWN];

	lockdep_assert_held(&cls->lock);
	if (number != next)
		return bgdma_fault(s, BGDMA_E_INDEX, number, next);
	if (!bgdma_class_room(cls, number))
		return BGDMA_STEP_WAIT;
	return up ? bgdma_collect_result(cls, s, p, n) :
		    bgdma_collect_child(cls, edge, s, p, n);
}

/* It is for who is meant; the class he may not have bound yet. */
static int bgdma_collect_hello(struct bgdma_ctx *ctx, struct bgdma_class *cls,
			       struct bgdma_stream *s)
{
	struct bgdma_edge *edge = NULL;

	if (le64_to_cpu(s->x.desc.cookie) != ctx->who.incarnation)
		return bgdma_fault(s, BGDMA_E_NO_PEER, ctx->rank, 0);
	if (cls && cls->instance == le32_to_cpu(s->x.desc.epoch))
		edge = bgdma_edge_from(cls, bgdma_principal_at(ctx, s));
	if (edge)
		bgdma_edge_greeted(edge, s);
	return BGDMA_STEP_DONE;
}

static int bgdma_collect_left(struct bgdma_class *cls, struct bgdma_edge *edge)
{
	bool broke;

	spin_lock(&cls->lock);
	edge->left = true;
	broke = bgdma_collect_missed(cls);
	spin_unlock(&cls->lock);
	if (broke)
		bgdma_class_broken(cls);
	return BGDMA_STEP_DONE;
}

static int bgdma_collect_broken(struct bgdma_class *cls, struct bgdma_stream *s)
{
	const struct bgdma_tree_head *head = bgdma_tree_head(&s->x.desc);
	const struct bgdma_name by = { .rank = le32_to_cpu(head->rank),
				       .ctx = le16_to_cpu(head->ctx) };
	u32 code = head->code;
	bool broke;

	/* What was lost was so between others: an outage is its own ends' alone. */
	if (!code || code > BGDMA_E_CLASS || code == BGDMA_E_LINK_DOWN ||
	    code == BGDMA_E_TIMEOUT)
		code = BGDMA_E_ABORTED;
	spin_lock(&cls->lock);
	broke = bgdma_class_break(cls, code, &by);
	spin_unlock(&cls->lock);
	if (broke)
		bgdma_class_broken(cls);
	return BGDMA_STEP_DONE;
}

/**
 * bgdma_collect_arrive() - a packet from a neighbour
 * @ctx: member, held busy
 * @s: stream that it comes from
 * @p: its bytes
 * @n: so many
 *
 * Context: inside a slice.
 * Return: BGDMA_STEP_DONE, _WAIT, _AGAIN, or an enum bgdma_code with s->x.fault.
 */
int bgdma_collect_arrive(struct bgdma_ctx *ctx, struct bgdma_stream *s,
			 const struct bgdma_payload *p, u32 n)
{
	u32 number = s->x.desc.class_prio & BGDMA_CLASS_MASK;
	struct bgdma_class *cls = bgdma_class_find(ctx, number);
	struct bgdma_name by;
	struct bgdma_edge *edge;
	bool broke = false;
	int ret;

	if (bgdma_tree_head(&s->x.desc)->kind == BGDMA_TREE_HELLO)
		return bgdma_collect_hello(ctx, cls, s);
	if (!cls || cls->instance != le32_to_cpu(s->x.desc.epoch))
		return bgdma_fault(s, BGDMA_E_CLASS, number, BGDMA_CLASSES_MAX);
	edge = bgdma_edge_from(cls, bgdma_principal_at(ctx, s));
	if (!edge)
		return bgdma_fault(s, BGDMA_E_RIGHTS, number, 0);
	if (bgdma_tree_head(&s->x.desc)->kind == BGDMA_TREE_BROKEN)
		return bgdma_collect_broken(cls, s);
	if (bgdma_tree_head(&s->x.desc)->kind == BGDMA_TREE_LEFT)
		return bgdma_collect_left(cls, edge);

	spin_lock(&cls->lock);
	number = le32_to_cpu(bgdma_tree_head(&s->x.desc)->index);
	/* Who sends to a broken one hears of it by and by: bgdma_edge_tell(). */
	ret = BGDMA_STEP_DONE;
	if (!cls->code) {
		ret = bgdma_collect_next(cls, edge, s, p, n);
		if (!ret && bgdma_collect_judge(cls, number, &by))
			bgdma_class_break(cls, BGDMA_E_TREE_MISMATCH, &by);
		broke = cls->code;
	}
	spin_unlock(&cls->lock);
	if (ret == BGDMA_STEP_WAIT)
		return bgdma_collect_wait(cls, s, false, &number);
	if (broke)
		bgdma_class_broken(cls);
	if (!ret) {
		bgdma_class_progress(cls);
		bgdma_edges_wake(cls, s);
	}
	return ret;
}

/* What its reception counter waits for, of a collective that nobody has any of. */
static u32 bgdma_collect_uncounted(const struct bgdma_class *cls,
				   const struct bgdma_stream *s)
{
	const struct bgdma_desc *d = &s->x.desc;
	u32 length = le32_to_cpu(d->length);
	const struct bgdma_ask ask = bgdma_ask_of(d, length);

	if (d->flags & BGDMA_DESC_OPS)
		return 1;
	if (d->u.at.dst_region == cpu_to_le32(BGDMA_NONE) ||
	    length > BGDMA_LENGTH_MAX)
		return 0;
	/* Without its class a collective has no root: only one is everybody's. */
	if (!cls)
		return ask.op == BGDMA_OP_TREE_ALLREDUCE ? length : 0;
	return bgdma_result_bytes(cls, &ask, length);
}

/**
 * bgdma_collect_abort() - a stream of the core's gives up the collective that it is at
 * @s: owned; s->x.fault says why
 *
 * Where others have some of it already all of the class is broken.
 *
 * Context: inside a slice.
 */
void bgdma_collect_abort(struct bgdma_stream *s)
{
	struct bgdma_class *cls =
		bgdma_class_find(s->ctx, s->x.desc.class_prio & BGDMA_CLASS_MASK);
	struct bgdma_record why;
	bool broke = false, posted = false;
	struct bgdma_name by;
	int slot;

	if (cls) {
		spin_lock(&cls->lock);
		posted = cls->poster == s;
		if (posted) {
			by = bgdma_class_self(cls);
			cls->poster = NULL;
			broke = bgdma_class_break(cls, s->x.fault.code, &by);
		}
		spin_unlock(&cls->lock);
	}
	if (broke)
		bgdma_class_broken(cls);
	/* One that others know of ends with the class, or has. */
	if (posted || s->x.done || s->x.desc.rec_ctr == cpu_to_le32(BGDMA_NONE))
		return;
	slot = bgdma_counter_find(s->ctx, BGDMA_RECEPTION,
				  le32_to_cpu(s->x.desc.rec_ctr), NULL, NULL);
	if (slot < 0)
		return;
	bgdma_record_of(s, &why);
	bgdma_counter_fail(s->ctx, BGDMA_RECEPTION, slot,
			   bgdma_collect_uncounted(cls, s), &why);
}
