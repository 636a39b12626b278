// SPDX-License-Identifier: GPL-2.0
/*
 * Classes of the combining network: bound and unbound. What is in one is the word of
 * its owner: nobody but the neighbours that he names reaches it, and they only as
 * what he says they are.
 */
#include <linux/log2.h>
#include <linux/nospec.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "../engine/busy.h"
#include "../engine/deliver.h"
#include "tree.h"

#define BGDMA_CLASS_WINDOW	16

/**
 * bgdma_class_find() - a class that a context has bound
 * @ctx: context
 * @number: of the class
 *
 * Context: inside a slice, or ctx.lock held.
 * Return: the class or NULL.
 */
struct bgdma_class *bgdma_class_find(struct bgdma_ctx *ctx, u32 number)
{
	if (number >= BGDMA_CLASSES_MAX)
		return NULL;
	number = array_index_nospec(number, BGDMA_CLASSES_MAX);
	return rcu_dereference_check(ctx->classes[number],
				     lockdep_is_held(&ctx->lock) ||
				     rcu_read_lock_held() ||
				     rcu_read_lock_sched_held());
}

static void bgdma_class_free_memory(struct bgdma_class *cls)
{
	u32 i;

	for (i = 0; i < cls->window; i++)
		kfree(cls->slots[i].data);
	kfree(cls->posts);
	kvfree(cls->members);
	kvfree_rcu(cls, rcu);
}

/* --------------------------------------------------------------------- */
/* Binding                                                                */

static int bgdma_class_check(const struct bgdma_class_bind *arg)
{
	if (arg->flags & ~BGDMA_CLASS_P2P || !arg->instance ||
	    arg->number >= BGDMA_CLASSES_MAX)
		return -EINVAL;
	if (!arg->member_count || arg->rank >= arg->member_count ||
	    arg->member_count > BGDMA_CLASS_MEMBERS_MAX)
		return -EINVAL;
	if (arg->window > BGDMA_CLASS_WINDOW_MAX ||
	    (arg->window && !is_power_of_2(arg->window)))
		return -EINVAL;
	if (arg->packet && (arg->packet < BGDMA_CLASS_PACKET_MIN ||
			    arg->packet > BGDMA_PACKET_MAX || arg->packet % 16))
		return -EINVAL;
	return 0;
}

static int bgdma_member_check(const struct bgdma_ctx *ctx,
			      const struct bgdma_group_member *m)
{
	return m->rank < ctx->partition->size && m->ctx < BGDMA_CTX_PER_NODE &&
	       !m->resv && m->incarnation ? 0 : -EINVAL;
}

static int bgdma_member_read(const struct bgdma_ctx *ctx,
			     const struct bgdma_class_bind *arg, u32 rank,
			     struct bgdma_group_member *out)
{
	u64 at = arg->members + rank * sizeof(*out);

	if (copy_from_user(out, u64_to_user_ptr(at), sizeof(*out)))
		return -EFAULT;
	return bgdma_member_check(ctx, out);
}

/* The neighbour of a rank, if the class has so many. Nobody is next to himself. */
static int bgdma_edge_bind(struct bgdma_class *cls,
			   const struct bgdma_class_bind *arg, u32 id, u32 rank)
{
	struct bgdma_edge *edge = &cls->edge[id];
	struct bgdma_ctx *ctx = cls->ctx;
	struct bgdma_group_member m;
	int err;

	if (rank >= arg->member_count)
		return 0;
	err = bgdma_member_read(ctx, arg, rank, &m);
	if (err)
		return err;
	edge->who = (struct bgdma_principal) {
		.rank = m.rank, .ctx = m.ctx, .incarnation = m.incarnation,
	};
	if (bgdma_same(&edge->who, &ctx->who))
		return -EINVAL;
	edge->there = true;
	return 0;
}

static int bgdma_edges_bind(struct bgdma_class *cls,
			    const struct bgdma_class_bind *arg)
{
	struct bgdma_group_member self;
	u32 i, first = 2 * arg->rank + 1;
	int err;

	err = bgdma_member_read(cls->ctx, arg, arg->rank, &self);
	if (err)
		return err;
	if (self.rank != cls->ctx->rank || self.ctx != cls->ctx->id ||
	    self.incarnation != cls->ctx->who.incarnation)
		return -EINVAL;
	if (arg->rank)
		err = bgdma_edge_bind(cls, arg, BGDMA_EDGE_UP,
				      (arg->rank - 1) / 2);
	for (i = 0; i < 2 && !err; i++)
		err = bgdma_edge_bind(cls, arg, BGDMA_EDGE_DOWN + i, first + i);
	return err;
}

/* All members, for messages to one of them. */
static int bgdma_members_bind(struct bgdma_class *cls,
			      const struct bgdma_class_bind *arg)
{
	u32 i;

	if (!(arg->flags & BGDMA_CLASS_P2P))
		return 0;
	cls->members = kvmalloc_array(arg->member_count, sizeof(*cls->members),
				      GFP_KERNEL_ACCOUNT);
	if (!cls->members)
		return -ENOMEM;
	if (copy_from_user(cls->members, u64_to_user_ptr(arg->members),
			   arg->member_count * sizeof(*cls->members)))
		return -EFAULT;
	for (i = 0; i < arg->member_count; i++) {
		if (bgdma_member_check(cls->ctx, &cls->members[i]))
			return -EINVAL;
		cond_resched();
	}
	return 0;
}

static int bgdma_slots_bind(struct bgdma_class *cls)
{
	u32 i;

	cls->posts = kcalloc(cls->window, sizeof(*cls->posts),
			     GFP_KERNEL_ACCOUNT);
	if (!cls->posts)
		return -ENOMEM;
	for (i = 0; i < cls->window; i++) {
		cls->slots[i].data = kmalloc(cls->packet, GFP_KERNEL_ACCOUNT);
		if (!cls->slots[i].data)
			return -ENOMEM;
	}
	return 0;
}

static struct bgdma_class *bgdma_class_new(struct bgdma_ctx *ctx,
					   const struct bgdma_class_bind *arg)
{
	u32 window = arg->window ?: BGDMA_CLASS_WINDOW, i;
	struct bgdma_class *cls;

	cls = kvzalloc(struct_size(cls, slots, window), GFP_KERNEL_ACCOUNT);
	if (!cls)
		return NULL;
	spin_lock_init(&cls->lock);
	bgdma_waiters_init(&cls->waiters);
	cls->ctx = ctx;
	cls->number = arg->number;
	cls->instance = arg->instance;
	cls->rank = arg->rank;
	cls->size = arg->member_count;
	cls->window = window;
	cls->packet = arg->packet ?: BGDMA_PACKET_MAX;
	for (i = 0; i < BGDMA_EDGES; i++) {
		struct bgdma_edge *edge = &cls->edge[i];

		bgdma_stream_init(&edge->s, ctx, BGDMA_KIND_EDGE,
				  arg->number * BGDMA_TREE_STREAMS + i,
				  bgdma_edge_fetch);
		edge->s.who = ctx->who;
		edge->cls = cls;
		edge->id = i;
		edge->greet = true;
		edge->due = 1;
	}
	bgdma_stream_init(&cls->packets, ctx, BGDMA_KIND_EDGE,
			  arg->number * BGDMA_TREE_STREAMS + BGDMA_TREE_PACKETS_ID,
			  bgdma_packets_fetch);
	cls->packets.who = ctx->who;
	return cls;
}

/*
 * Who was gone before the class was there is not told of any more; and a neighbour's
 * word that the class is broken may have come before it was there.
 */
static void bgdma_class_greet(struct bgdma_class *cls)
{
	u32 i;

	bgdma_slice_begin();
	for (i = 0; i < BGDMA_EDGES; i++)
		if (cls->edge[i].there)
			bgdma_stream_wake(&cls->edge[i].s);
	bgdma_slice_end();
}

/**
 * bgdma_class_bind() - become a member of a virtual tree
 * @ctx: which
 * @arg: BGDMA_IOC_CLASS_BIND's
 *
 * Context: ctx.lock held.
 * Return: 0 or the negative errno that the ioctl documents.
 */
int bgdma_class_bind(struct bgdma_ctx *ctx, const struct bgdma_class_bind *arg)
{
	struct bgdma_class *cls;
	int err;

	err = bgdma_class_check(arg);
	if (err)
		return err;
	if (bgdma_class_find(ctx, arg->number))
		return -EEXIST;
	cls = bgdma_class_new(ctx, arg);
	if (!cls)
		return -ENOMEM;
	err = bgdma_edges_bind(cls, arg) ?: bgdma_members_bind(cls, arg) ?:
	      bgdma_slots_bind(cls);
	if (err) {
		bgdma_class_free_memory(cls);
		return err;
	}
	/* If it is dead, bgdma_classes_end() comes when this call is over. */
	rcu_assign_pointer(ctx->classes[arg->number], cls);
	WRITE_ONCE(ctx->n_classes, ctx->n_classes + 1);
	/* Against the end of a neighbour, who is gone, and then looks for classes. */
	smp_mb();
	bgdma_class_greet(cls);
	return 0;
}

/* --------------------------------------------------------------------- */
/* Unbinding                                                              */

static bool bgdma_edge_quiet(struct bgdma_edge *edge)
{
	const struct bgdma_fabric_ops *fabric = edge->s.ctx->partition->fabric;

	return !edge->there ||
	       (!bgdma_edge_pending(&edge->s) && !READ_ONCE(edge->s.x.active) &&
		(!edge->s.tx || fabric->quiet(&edge->s)));
}

/* Has everybody what this member has for him, and its own reader? */
static bool bgdma_class_quiet(struct bgdma_class *cls)
{
	bool quiet;
	u32 i;

	spin_lock(&cls->lock);
	/*
	 * Children who are ahead hear that this one left. Who reads the result of
	 * one that broke hears that the rest will not come.
	 */
	quiet = cls->code ? !cls->begun :
		!cls->poster && cls->base == cls->next[BGDMA_SOURCE_OWN];
	for (i = 0; i < BGDMA_EDGES && quiet; i++)
		quiet = bgdma_edge_quiet(&cls->edge[i]);
	spin_unlock(&cls->lock);
	return quiet;
}

/* The neighbours hear that it takes part no more; then it can go. */
static void bgdma_class_leave(struct bgdma_class *cls)
{
	u32 i;

	spin_lock(&cls->lock);
	WRITE_ONCE(cls->leaving, true);
	spin_unlock(&cls->lock);
	/* As after any other packet: bgdma_edges_wake(). */
	smp_mb();
	bgdma_slice_begin();
	for (i = 0; i < BGDMA_EDGES; i++)
		if (cls->edge[i].there)
			bgdma_stream_wake(&cls->edge[i].s);
	bgdma_slice_end();
}

/* Nobody finds it any more. */
static void bgdma_class_free(struct bgdma_class *cls)
{
	u32 i;

	bgdma_waiters_end(&cls->waiters);
	for (i = 0; i < BGDMA_EDGES; i++) {
		bgdma_stream_kill(&cls->edge[i].s);
		bgdma_stats_add(&cls->ctx->stats_gone, &cls->edge[i].s.stats);
	}
	bgdma_stream_kill(&cls->packets);
	if (!READ_ONCE(cls->ctx->dead))
		bgdma_packets_end(cls);
	bgdma_stats_add(&cls->ctx->stats_gone, &cls->packets.stats);
	bgdma_class_free_memory(cls);
}

/**
 * bgdma_class_unbind() - be a member no longer
 * @ctx: which
 * @arg: BGDMA_IOC_CLASS_UNBIND's
 *
 * Context: ctx.lock held.
 * Return: 0, -EINVAL, -ENOENT or -EBUSY.
 */
int bgdma_class_unbind(struct bgdma_ctx *ctx,
		       const struct bgdma_class_unbind *arg)
{
	struct bgdma_class *cls;
	struct bgdma_name self;
	bool broke = false;

	if (arg->flags & ~BGDMA_CLASS_BREAK || arg->resv)
		return -EINVAL;
	cls = bgdma_class_find(ctx, arg->number);
	if (!cls)
		return -ENOENT;
	if (arg->flags & BGDMA_CLASS_BREAK) {
		self = bgdma_class_self(cls);
		spin_lock(&cls->lock);
		broke = bgdma_class_break(cls, BGDMA_E_CANCELLED, &self);
		spin_unlock(&cls->lock);
	}
	if (broke) {
		bgdma_slice_begin();
		bgdma_class_broken(cls);
		bgdma_slice_end();
	}
	if (!bgdma_class_quiet(cls))
		return -EBUSY;
	if (!cls->leaving && !cls->code)
		bgdma_class_leave(cls);
	if (!bgdma_class_quiet(cls))
		return -EBUSY;
	RCU_INIT_POINTER(ctx->classes[arg->number], NULL);
	WRITE_ONCE(ctx->n_classes, ctx->n_classes - 1);
	synchronize_rcu();
	bgdma_class_free(cls);
	return 0;
}

/* A context that goes away; nothing arrives there any more. */
static void bgdma_classes_end(struct bgdma_ctx *ctx)
{
	u32 i;

	lockdep_assert_held(&ctx->lock);
	for (i = 0; i < BGDMA_CLASSES_MAX; i++) {
		struct bgdma_class *cls = bgdma_class_find(ctx, i);

		if (!cls)
			continue;
		RCU_INIT_POINTER(ctx->classes[i], NULL);
		WRITE_ONCE(ctx->n_classes, ctx->n_classes - 1);
		bgdma_class_free(cls);
	}
}

/* --------------------------------------------------------------------- */
/* For the engine                                                         */

static void bgdma_classes_wake(struct bgdma_ctx *ctx)
{
	u32 i;

	for (i = 0; i < BGDMA_CLASSES_MAX; i++) {
		struct bgdma_class *cls = bgdma_class_find(ctx, i);

		if (cls)
			bgdma_waiters_wake(&cls->waiters);
	}
}

static struct bgdma_stream *bgdma_class_stream(struct bgdma_ctx *ctx, u32 id)
{
	struct bgdma_class *cls = bgdma_class_find(ctx,
						   id / BGDMA_TREE_STREAMS);

	if (!cls)
		return NULL;
	id %= BGDMA_TREE_STREAMS;
	if (id == BGDMA_TREE_PACKETS_ID)
		return &cls->packets;
	/* Somebody may have meant the one of a class that had the number before. */
	return cls->edge[id].there ? &cls->edge[id].s : NULL;
}

/* Of the streams of a class, it is the one without a neighbour. */
static bool bgdma_brings_packets(const struct bgdma_stream *s)
{
	return s->id % BGDMA_TREE_STREAMS == BGDMA_TREE_PACKETS_ID;
}

static bool bgdma_class_pending(const struct bgdma_stream *s)
{
	return bgdma_brings_packets(s) ? bgdma_packets_pending(s) :
					 bgdma_edge_pending(s);
}

static int bgdma_class_run(struct bgdma_stream *s)
{
	return bgdma_brings_packets(s) ? bgdma_packets_run(s) :
					 bgdma_edge_run(s);
}

/* A message for one member: who that is becomes its target. */
static u32 bgdma_class_address(struct bgdma_stream *s)
{
	struct bgdma_desc *d = &s->x.desc;
	u32 number = d->class_prio & BGDMA_CLASS_MASK;
	struct bgdma_class *cls = bgdma_class_find(s->ctx, number);
	u32 rank = le32_to_cpu(d->dst_rank);
	const struct bgdma_group_member *m;

	if (!cls)
		return bgdma_fault(s, BGDMA_E_CLASS, number,
				   BGDMA_CLASSES_MAX);
	if (!cls->members || rank >= cls->size)
		return bgdma_fault(s, BGDMA_E_NO_PEER, rank,
				   cls->members ? cls->size : 0);
	m = &cls->members[array_index_nospec(rank, cls->size)];
	d->dst_rank = cpu_to_le32(m->rank);
	d->dst_ctx = cpu_to_le16(m->ctx);
	d->dispatch = cpu_to_le16(BGDMA_TREE_DISPATCH);
	/* It lands in no region: there is room for this. */
	d->u.at.dst_off = cpu_to_le64(m->incarnation);
	bgdma_peer_forget(s, m->incarnation);
	return BGDMA_OK;
}

static u32 bgdma_class_begin(struct bgdma_stream *s)
{
	return s->x.desc.op == BGDMA_OP_TREE_P2P ? bgdma_class_address(s) :
						   bgdma_collect_begin(s);
}

/* The stream that brings packets says itself what failed: it never comes to this. */
static void bgdma_class_failed(struct bgdma_stream *s,
			       const struct bgdma_stream *at)
{
	if (!WARN_ON_ONCE(bgdma_brings_packets(s)))
		bgdma_edge_failed(s, at);
}

const struct bgdma_tree_ops bgdma_tree = {
	.begin = bgdma_class_begin,
	.piece = bgdma_collect_piece,
	.contribute = bgdma_collect_own,
	.arrive = bgdma_collect_arrive,
	.run = bgdma_class_run,
	.pending = bgdma_class_pending,
	.failed = bgdma_class_failed,
	.held = bgdma_edge_held,
	.abort = bgdma_collect_abort,
	.follow = bgdma_class_stream,
	.peer_down = bgdma_class_peer_down,
	.wake = bgdma_classes_wake,
	.end = bgdma_classes_end,
};
