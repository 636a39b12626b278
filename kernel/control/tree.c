// SPDX-License-Identifier: GPL-2.0
/*
 * Classes of the combining network as an administrator sees them: how far each member
 * is, and whom its oldest packet waits for. Each sees its neighbours only; whoever
 * puts together what all of them say finds the member that holds up the others.
 */
#include "../engine/busy.h"
#include "../tree/tree.h"
#include "netlink.h"

static_assert((int)BGDMA_EDGE_SIDE_PARENT == (int)BGDMA_EDGE_UP);
static_assert((int)BGDMA_EDGE_SIDE_LEFT == (int)BGDMA_EDGE_DOWN);

/**
 * struct bgdma_tree_look - a class at one moment
 * @state: enum bgdma_class_state
 * @oldest: number of the first packet that has a slot
 * @slots: that hold one
 * @combined: packets
 * @collectives: that ended
 * @own: the oldest waits for the context itself
 * @edge: for that neighbour
 * @code: it is broken: why
 * @by: who did
 */
struct bgdma_tree_look {
	u32 state;
	u32 oldest;
	u32 slots;
	u64 combined;
	u64 collectives;
	bool own;
	bool edge[BGDMA_EDGES];
	u32 code;
	struct bgdma_name by;
};

/* Packets that somebody has contributed to, or a result has come of. */
static u32 bgdma_class_held(const struct bgdma_class *cls)
{
	u32 held = max(cls->next[BGDMA_SOURCE_OWN] - cls->base,
		       cls->result - cls->base), i;

	lockdep_assert_held(&cls->lock);
	for (i = 0; i < 2; i++) {
		if (cls->edge[BGDMA_EDGE_DOWN + i].there)
			held = max(held, cls->next[BGDMA_SOURCE_CHILD + i] -
					 cls->base);
	}
	return held;
}

static bool bgdma_edge_waits(const struct bgdma_edge *edge)
{
	return test_bit(BGDMA_STREAM_PARKED, &edge->s.flags) ||
	       test_bit(BGDMA_STREAM_HELD, &edge->s.flags);
}

/* Who has not contributed to the oldest packet. The engine may be about to. */
static void bgdma_look_sources(const struct bgdma_class *cls,
			       struct bgdma_tree_look *look)
{
	u32 i;

	look->own = cls->next[BGDMA_SOURCE_OWN] == cls->base && !cls->poster;
	for (i = 0; i < 2; i++)
		look->edge[BGDMA_EDGE_DOWN + i] =
			cls->edge[BGDMA_EDGE_DOWN + i].there &&
			cls->next[BGDMA_SOURCE_CHILD + i] == cls->base;
}

/* The oldest packet is combined, goes up, comes down, lands, and goes further down. */
static void bgdma_look_waits(const struct bgdma_class *cls,
			     struct bgdma_tree_look *look)
{
	const struct bgdma_edge *up = &cls->edge[BGDMA_EDGE_UP];
	u32 i;

	lockdep_assert_held(&cls->lock);
	if (cls->complete == cls->base) {
		bgdma_look_sources(cls, look);
	} else if (cls->up == cls->base) {
		look->edge[BGDMA_EDGE_UP] = up->there && bgdma_edge_waits(up);
	} else if (cls->result == cls->base) {
		look->edge[BGDMA_EDGE_UP] = up->there;
	} else if (cls->landed == cls->base) {
		/* For room in its own reception FIFO. */
		look->own = test_bit(BGDMA_STREAM_PARKED, &cls->packets.flags);
	} else {
		for (i = 0; i < 2; i++) {
			const struct bgdma_edge *down =
				&cls->edge[BGDMA_EDGE_DOWN + i];

			look->edge[BGDMA_EDGE_DOWN + i] =
				down->there && cls->down[i] == cls->base &&
				bgdma_edge_waits(down);
		}
	}
}

static u32 bgdma_look_state(const struct bgdma_tree_look *look)
{
	u32 i;

	if (look->code)
		return BGDMA_CLASS_STATE_BROKEN;
	if (!look->slots)
		return BGDMA_CLASS_STATE_IDLE;
	for (i = 0; i < BGDMA_EDGES; i++) {
		if (look->edge[i])
			return BGDMA_CLASS_STATE_WAITS;
	}
	return look->own ? BGDMA_CLASS_STATE_WAITS : BGDMA_CLASS_STATE_BUSY;
}

static void bgdma_look_at(struct bgdma_class *cls, struct bgdma_tree_look *look)
{
	*look = (struct bgdma_tree_look) {};
	spin_lock(&cls->lock);
	look->oldest = cls->base;
	look->slots = bgdma_class_held(cls);
	look->combined = cls->combined;
	look->collectives = cls->collectives;
	look->code = cls->code;
	look->by = cls->broken_by;
	if (!look->code && look->slots)
		bgdma_look_waits(cls, look);
	spin_unlock(&cls->lock);
	look->state = bgdma_look_state(look);
}

static int bgdma_put_edge(struct sk_buff *skb, const struct bgdma_edge *edge,
			  bool waits)
{
	struct nlattr *nest = nla_nest_start(skb, BGDMA_A_TREE_EDGE);

	if (!nest ||
	    nla_put_u32(skb, BGDMA_A_EDGE_SIDE, edge->id) ||
	    nla_put_u32(skb, BGDMA_A_EDGE_RANK, edge->who.rank) ||
	    nla_put_u32(skb, BGDMA_A_EDGE_CTX, edge->who.ctx) ||
	    (waits && nla_put_flag(skb, BGDMA_A_EDGE_WAITS)) ||
	    bgdma_put_stats(skb, BGDMA_A_EDGE_STATS, &edge->s.stats))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int bgdma_put_look(struct sk_buff *skb, const struct bgdma_tree_look *look)
{
	if (nla_put_u32(skb, BGDMA_A_TREE_STATE, look->state) ||
	    nla_put_u32(skb, BGDMA_A_TREE_SLOTS, look->slots) ||
	    nla_put_u32(skb, BGDMA_A_TREE_OLDEST, look->oldest) ||
	    nla_put_u64_64bit(skb, BGDMA_A_TREE_COMBINED, look->combined,
			      BGDMA_A_TREE_PAD) ||
	    nla_put_u64_64bit(skb, BGDMA_A_TREE_COLLECTIVES,
			      look->collectives, BGDMA_A_TREE_PAD) ||
	    (look->own && nla_put_flag(skb, BGDMA_A_TREE_WAITS_OWN)))
		return -EMSGSIZE;
	if (!look->code)
		return 0;
	if (nla_put_u32(skb, BGDMA_A_TREE_CODE, look->code) ||
	    nla_put_u32(skb, BGDMA_A_TREE_BROKEN_RANK, look->by.rank) ||
	    nla_put_u32(skb, BGDMA_A_TREE_BROKEN_CTX, look->by.ctx))
		return -EMSGSIZE;
	return 0;
}

static int bgdma_put_class(struct sk_buff *skb, struct bgdma_ctx *ctx,
			   struct bgdma_class *cls)
{
	struct bgdma_tree_look look;
	int err = 0;
	u32 i;

	bgdma_look_at(cls, &look);
	if (bgdma_put_place(skb, ctx) ||
	    nla_put_u32(skb, BGDMA_A_TREE_CLASS, cls->number) ||
	    nla_put_u32(skb, BGDMA_A_TREE_INSTANCE, cls->instance) ||
	    nla_put_u32(skb, BGDMA_A_TREE_MEMBER, cls->rank) ||
	    nla_put_u32(skb, BGDMA_A_TREE_MEMBERS, cls->size) ||
	    nla_put_u32(skb, BGDMA_A_TREE_WINDOW, cls->window) ||
	    nla_put_u32(skb, BGDMA_A_TREE_PACKET, cls->packet) ||
	    bgdma_put_look(skb, &look))
		return -EMSGSIZE;
	for (i = 0; i < BGDMA_EDGES && !err; i++) {
		if (cls->edge[i].there)
			err = bgdma_put_edge(skb, &cls->edge[i], look.edge[i]);
	}
	return err;
}

/* Items of a context: its classes, by number, or the one that is asked for. */
static int bgdma_show_class(struct sk_buff *skb, struct netlink_callback *cb,
			    struct bgdma_ctx *ctx)
{
	const struct nlattr *only = bgdma_dump_attrs(cb)[BGDMA_A_TREE_CLASS];
	struct bgdma_dump *dump = bgdma_dump(cb);
	struct bgdma_class *cls;
	void *head;

	for (; dump->item < BGDMA_CLASSES_MAX; dump->item++) {
		if (only && nla_get_u32(only) != dump->item)
			continue;
		cls = bgdma_class_find(ctx, dump->item);
		if (!cls)
			continue;
		head = bgdma_dump_message(skb, cb, BGDMA_CMD_TREE_GET);
		if (!head)
			return -EMSGSIZE;
		if (bgdma_put_class(skb, ctx, cls)) {
			genlmsg_cancel(skb, head);
			return -EMSGSIZE;
		}
		genlmsg_end(skb, head);
		dump->item++;
		return 1;
	}
	return 0;
}

static int bgdma_show_classes(struct sk_buff *skb, struct netlink_callback *cb,
			      struct bgdma_partition *part)
{
	return bgdma_dump_items(skb, cb, part, bgdma_show_class);
}

/**
 * bgdma_tree_get_dumpit() - BGDMA_CMD_TREE_GET
 * @skb: buffer for the answer
 * @cb: how far it has come
 *
 * Return: bytes written, 0 at the end, or a negative errno.
 */
int bgdma_tree_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	return bgdma_dump_partitions(skb, cb, bgdma_show_classes);
}
