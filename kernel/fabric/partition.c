// SPDX-License-Identifier: GPL-2.0
/*
 * A partition: a torus or mesh of nodes, in a network namespace. A node exists
 * while somebody is attached to it, so an empty partition costs one struct
 * whatever its size.
 *
 * partition.lock is held while contexts come and go; nobody waits under it.
 * Deliveries find their target under RCU.
 */
#include <linux/poll.h>
#include <linux/nospec.h>
#include <linux/slab.h>

#include "../bgdma.h"
#include "../engine/busy.h"
#include "../engine/group.h"
#include "link.h"

/**
 * bgdma_partition_new() - a partition with the default attributes
 * @name: zero-terminated, shorter than BGDMA_NAME_MAX
 *
 * Return: the partition with one reference, or NULL.
 */
struct bgdma_partition *bgdma_partition_new(const char *name)
{
	struct bgdma_partition *part;

	part = kzalloc(sizeof(*part), GFP_KERNEL_ACCOUNT);
	if (!part)
		return NULL;
	kref_init(&part->ref);
	mutex_init(&part->lock);
	mutex_init(&part->stats_lock);
	strscpy(part->name, name, sizeof(part->name));
	part->dims[0] = 1;
	part->dims[1] = 1;
	part->dims[2] = 1;
	part->torus = 7;
	part->uid = GLOBAL_ROOT_UID;
	part->gid = GLOBAL_ROOT_GID;
	part->mode = 0600;
	part->poll_ns = BGDMA_POLL_NS_DEFAULT;
	part->quantum = BGDMA_QUANTUM_DEFAULT;
	part->max_contexts = BGDMA_CONTEXTS_DEFAULT;
	part->max_inj = BGDMA_INJ_FIFOS_MAX;
	part->fabric = &bgdma_loopback;
	xa_init(&part->ctxs);
	xa_init(&part->nodes);
	xa_init(&part->groups);
	xa_init_flags(&part->members, XA_FLAGS_ALLOC);
	INIT_LIST_HEAD(&part->node);
	return part;
}

static void bgdma_partition_free(struct kref *ref)
{
	struct bgdma_partition *part =
		container_of(ref, struct bgdma_partition, ref);

	/* What has begun to arrive looks for its target once more. */
	bgdma_ether_free(part->ether);
	xa_destroy(&part->ctxs);
	xa_destroy(&part->nodes);
	xa_destroy(&part->groups);
	xa_destroy(&part->members);
	kvfree(part->first);
	mutex_destroy(&part->lock);
	mutex_destroy(&part->stats_lock);
	kfree(part);
}

/**
 * bgdma_partition_put() - drop a reference
 * @part: which
 */
void bgdma_partition_put(struct bgdma_partition *part)
{
	kref_put(&part->ref, bgdma_partition_free);
}

/**
 * bgdma_partition_kill() - a partition that nobody finds any more ends
 * @part: which
 *
 * Everybody in it sees it dead; nobody is waited for.
 */
void bgdma_partition_kill(struct bgdma_partition *part)
{
	struct bgdma_event event = {
		.type = BGDMA_EVENT_PARTITION,
		.peer_rank = BGDMA_RANK_ANY,
		.peer_ctx = BGDMA_CTX_ANY,
	};
	struct bgdma_ctx *ctx;
	unsigned long i;

	mutex_lock(&part->lock);
	WRITE_ONCE(part->dead, true);
	xa_for_each(&part->members, i, ctx) {
		if (ctx->dead)
			continue;
		bgdma_event_post(ctx, &event);
		bgdma_ctx_detach(ctx);
	}
	mutex_unlock(&part->lock);
}

static unsigned long bgdma_key(u32 rank, u16 id)
{
	return (unsigned long)rank << 8 | id;
}

/**
 * bgdma_partition_peer() - find a context
 * @part: which
 * @rank: node
 * @id: context of the node
 *
 * Context: inside a slice, or under RCU.
 * Return: the context with a busy reference, or NULL.
 */
struct bgdma_ctx *bgdma_partition_peer(struct bgdma_partition *part, u32 rank,
				       u16 id)
{
	struct bgdma_ctx *ctx;

	if (rank >= part->size || id >= BGDMA_CTX_PER_NODE)
		return NULL;
	rank = array_index_nospec(rank, part->size);
	if (likely(!id && rank < BGDMA_FIRST_MAX))
		ctx = bgdma_deref(part->first[rank]);
	else
		ctx = xa_load(&part->ctxs, bgdma_key(rank, id));
	return ctx && bgdma_busy_get(&ctx->busy) ? ctx : NULL;
}

/* The node of a rank, made if need be; it belongs to one user at a time. */
static struct bgdma_node *bgdma_node_get(struct bgdma_partition *part, u32 rank)
{
	struct bgdma_node *node = xa_load(&part->nodes, rank);
	int err;

	lockdep_assert_held(&part->lock);
	if (node)
		return uid_eq(node->uid, current_euid()) ? node :
							   ERR_PTR(-EACCES);
	node = kzalloc(sizeof(*node), GFP_KERNEL_ACCOUNT);
	if (!node)
		return ERR_PTR(-ENOMEM);
	node->uid = current_euid();
	err = xa_err(xa_store(&part->nodes, rank, node, GFP_KERNEL_ACCOUNT));
	if (err) {
		kfree(node);
		return ERR_PTR(err);
	}
	return node;
}

static void bgdma_node_put(struct bgdma_partition *part, u32 rank,
			   struct bgdma_node *node)
{
	lockdep_assert_held(&part->lock);
	if (node->contexts)
		return;
	xa_erase(&part->nodes, rank);
	kfree(node);
}

static int bgdma_node_id(struct bgdma_node *node, u16 want)
{
	u32 id = want;

	if (want == BGDMA_CTX_ANY) {
		id = find_first_zero_bit(node->ids, BGDMA_CTX_PER_NODE);
		if (id == BGDMA_CTX_PER_NODE)
			return -ENOSPC;
	} else if (want >= BGDMA_CTX_PER_NODE) {
		return -EINVAL;
	} else if (test_bit(want, node->ids)) {
		return -EADDRINUSE;
	}
	return id;
}

/* Give back what bgdma_partition_attach() gave. */
static void bgdma_partition_forget(struct bgdma_partition *part,
				   struct bgdma_ctx *ctx)
{
	struct bgdma_node *node = xa_load(&part->nodes, ctx->rank);

	lockdep_assert_held(&part->lock);
	clear_bit(ctx->id, node->ids);
	node->contexts--;
	bgdma_node_put(part, ctx->rank, node);
}

/* From now on nobody finds it. Its place stays its own. */
static void bgdma_partition_hide(struct bgdma_partition *part,
				 struct bgdma_ctx *ctx)
{
	lockdep_assert_held(&part->lock);
	if (!ctx->id && ctx->rank < BGDMA_FIRST_MAX)
		RCU_INIT_POINTER(part->first[ctx->rank], NULL);
	xa_erase(&part->ctxs, bgdma_key(ctx->rank, ctx->id));
	xa_erase(&part->members, ctx->member);
}

/**
 * bgdma_partition_attach() - a context comes: a place for it
 * @part: where
 * @ctx: complete, with its rank; gets its number and its incarnation
 * @want: context number, or BGDMA_CTX_ANY
 *
 * Nobody sees it before bgdma_partition_publish(); what is refused meanwhile
 * ends with bgdma_partition_abandon().
 *
 * Return: 0 or the negative errno that BGDMA_IOC_ATTACH documents.
 */
int bgdma_partition_attach(struct bgdma_partition *part, struct bgdma_ctx *ctx,
			   u16 want)
{
	struct bgdma_ether *ether = bgdma_ether(part);
	struct bgdma_node *node;
	int id;

	if (ether && !bgdma_nodes_have(&ether->local, ctx->rank))
		return -EREMOTE;
	mutex_lock(&part->lock);
	id = -ENODEV;
	if (part->dead)
		goto unlock;
	id = -ENOSPC;
	if (part->incarnation == U32_MAX)
		goto unlock;
	node = bgdma_node_get(part, ctx->rank);
	id = PTR_ERR_OR_ZERO(node);
	if (id)
		goto unlock;
	id = bgdma_node_id(node, want);
	if (id < 0)
		goto put;
	ctx->id = id;
	ctx->who = (struct bgdma_principal) {
		.rank = ctx->rank,
		.ctx = id,
		.incarnation = part->incarnation + 1,
	};
	id = xa_reserve(&part->ctxs, bgdma_key(ctx->rank, ctx->id),
			GFP_KERNEL_ACCOUNT);
	if (id)
		goto put;
	id = xa_alloc(&part->members, &ctx->member, NULL, xa_limit_32b,
		      GFP_KERNEL_ACCOUNT);
	if (id) {
		xa_release(&part->ctxs, bgdma_key(ctx->rank, ctx->id));
		goto put;
	}
	part->incarnation++;
	set_bit(ctx->id, node->ids);
	node->contexts++;
put:
	bgdma_node_put(part, ctx->rank, node);
unlock:
	mutex_unlock(&part->lock);
	return id;
}

/**
 * bgdma_partition_publish() - a context that has its place is there
 * @ctx: from bgdma_partition_attach()
 *
 * Return: 0, or -ENODEV when the partition was deleted meanwhile.
 */
int bgdma_partition_publish(struct bgdma_ctx *ctx)
{
	struct bgdma_partition *part = ctx->partition;
	int err = -ENODEV;

	mutex_lock(&part->lock);
	if (!part->dead) {
		err = 0;
		/* The places are reserved, so their nodes are there. */
		xa_store(&part->ctxs, bgdma_key(ctx->rank, ctx->id), ctx,
			 GFP_KERNEL_ACCOUNT);
		xa_store(&part->members, ctx->member, ctx, GFP_KERNEL_ACCOUNT);
		part->contexts++;
		if (!ctx->id && ctx->rank < BGDMA_FIRST_MAX)
			rcu_assign_pointer(part->first[ctx->rank], ctx);
		/* All after all else, and pair with bgdma_use_begin(). */
		atomic_set_release(&ctx->calls.n, 1);
		atomic_set_release(&ctx->rings.n, 1);
		/* In this order: who is not let in looks why. */
		smp_store_release(&ctx->attached, true);
	}
	mutex_unlock(&part->lock);
	return err;
}

/**
 * bgdma_partition_abandon() - a context that has its place does not come
 * @ctx: from bgdma_partition_attach(), not published
 */
void bgdma_partition_abandon(struct bgdma_ctx *ctx)
{
	struct bgdma_partition *part = ctx->partition;

	mutex_lock(&part->lock);
	bgdma_partition_hide(part, ctx);
	bgdma_partition_forget(part, ctx);
	mutex_unlock(&part->lock);
}

/* ---- The end of a context ------------------------------------------------ */

/**
 * bgdma_partition_detach() - a context goes
 * @ctx: attached; may be detached already
 *
 * Nobody finds it any more when it returns, and nobody can have its place before
 * bgdma_partition_leave().
 *
 * Context: may sleep.
 */
void bgdma_partition_detach(struct bgdma_ctx *ctx)
{
	struct bgdma_partition *part = ctx->partition;

	mutex_lock(&ctx->detach_lock);
	mutex_lock(&part->lock);
	if (xa_load(&part->members, ctx->member) == ctx) {
		part->contexts--;
		bgdma_partition_hide(part, ctx);
		ctx->untold = true;
		/* Where the partition is dead it was detached with it. */
		if (!ctx->dead)
			bgdma_ctx_detach(ctx);
		/* The next that has its place may bind the same at once. */
		bgdma_groups_end(ctx);
	}
	mutex_unlock(&part->lock);
	mutex_unlock(&ctx->detach_lock);
}

/* The pool's threads may be in the last piece that it sends. */
static void bgdma_partition_left(struct bgdma_partition *part,
				 struct bgdma_ctx *ctx)
{
	bgdma_busy_wait(&ctx->busy);
	bgdma_ctx_wake_waiters(ctx);
	bgdma_partition_tell(part, &ctx->who, ctx->user->uid);
}

/**
 * bgdma_partition_leave() - a context is gone
 * @ctx: detached, and no doorbell of it is under way; may have left already
 *
 * When it returns everybody was told, whoever called it first, and nothing that it
 * sent lands any more.
 *
 * Context: may sleep.
 */
void bgdma_partition_leave(struct bgdma_ctx *ctx)
{
	struct bgdma_partition *part = ctx->partition;

	mutex_lock(&ctx->detach_lock);
	if (ctx->untold) {
		ctx->untold = false;
		/*
		 * Others come and go meanwhile, but nobody to its place. Those of a
		 * partition that was deleted know.
		 */
		if (!READ_ONCE(part->dead))
			bgdma_partition_left(part, ctx);
		mutex_lock(&part->lock);
		bgdma_partition_forget(part, ctx);
		mutex_unlock(&part->lock);
	}
	mutex_unlock(&ctx->detach_lock);
}
