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
#include "flow.h"
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

/* Counters of a context that are looked at before those of the next. */
#define BGDMA_TELL_SLOTS	32
/* Contexts that one slice looks at, if it has nothing to tell them. */
#define BGDMA_TELL_LOOKS	64

/**
 * struct bgdma_peer_down - a context that is gone, and who was told of it
 * @part: where
 * @gone: who
 * @slot: first counter that is looked at now
 * @slots: most that anybody has
 * @gates: somebody has gates
 * @from: in the context that is being told, where to go on; or 0
 * @nodes: instead of @gone: all that lived at these is
 * @kernel: and was of this
 */
struct bgdma_peer_down {
	struct bgdma_partition *part;
	const struct bgdma_ctx *gone;
	u32 slot;
	u32 slots;
	bool gates;
	u64 from;
	const struct bgdma_nodes *nodes;
	u64 kernel;
};

static void bgdma_tell(const struct bgdma_peer_down *down,
		       struct bgdma_ctx *peer)
{
	const struct bgdma_event event = {
		.type = BGDMA_EVENT_PEER_DOWN,
		.code = BGDMA_E_PEER_DOWN,
		.peer_rank = down->gone->rank,
		.peer_ctx = down->gone->id,
		.peer_incarnation = down->gone->who.incarnation,
	};

	bgdma_event_post(peer, &event);
}

/*
 * What waits for it, and the word: the former first, but of many counters some, so
 * that nobody's word has to wait for all that others have.
 */
static void bgdma_tell_one(struct bgdma_peer_down *down, struct bgdma_ctx *peer,
			   bool talked)
{
	bool waited;

	down->slots = max3(down->slots, peer->n_ctr[BGDMA_INJECTION],
			   peer->n_ctr[BGDMA_RECEPTION]);
	waited = bgdma_counters_peer_down(peer, &down->gone->who, down->slot,
					  BGDMA_TELL_SLOTS);
	/* Once is enough. */
	if (talked ? !down->slot : waited)
		bgdma_tell(down, peer);
	if (waited)
		set_bit(down->gone->rank % 1024, peer->talked);
}

/*
 * Others' contexts may come and go as fast as they like: nobody watches those. @peer is
 * held.
 */
static bool bgdma_hears(const struct bgdma_peer_down *down,
			const struct bgdma_ctx *peer)
{
	return test_bit(down->gone->rank % 1024, peer->talked) ||
	       (peer->watch && uid_eq(peer->user->uid, down->gone->user->uid));
}

static bool bgdma_tell_some(struct bgdma_peer_down *down,
			    struct bgdma_ctx *peer)
{
	bool talked, some;

	if (!list_empty(&peer->gates))
		down->gates = true;
	/* RCU keeps the context, but not its user, nor the pages that it shares. */
	if (!bgdma_busy_get(&peer->busy))
		return false;
	talked = bgdma_hears(down, peer);
	some = talked || READ_ONCE(peer->uctl->leases);
	if (some)
		bgdma_tell_one(down, peer, talked);
	if (unlikely(READ_ONCE(peer->n_classes)) && !down->slot) {
		bgdma_tree.peer_down(peer, &down->gone->who);
		some = true;
	}
	bgdma_busy_put(&peer->busy);
	return some;
}

/* Its epochs; also those that it had begun just now. */
static bool bgdma_tell_gates(struct bgdma_peer_down *down,
			     struct bgdma_ctx *peer)
{
	u64 from = down->from;

	down->from = 0;
	if (list_empty(&peer->gates) || !bgdma_busy_get(&peer->busy))
		return false;
	if (bgdma_gates_peer_down(peer, &down->gone->who, &from))
		down->from = from;
	bgdma_busy_put(&peer->busy);
	return true;
}

/*
 * For each context that is there: who comes meanwhile never met the one that is
 * gone. @tell did something if it returns true, which is enough for a slice; if it
 * leaves something to go on with, the same context comes again.
 */
static void bgdma_tell_all(struct bgdma_peer_down *down,
			   bool (*tell)(struct bgdma_peer_down *down,
					struct bgdma_ctx *peer))
{
	unsigned long next = 0;
	struct bgdma_ctx *peer;

	do {
		XA_STATE(xas, &down->part->members, next);
		unsigned int looks = BGDMA_TELL_LOOKS;

		bgdma_slice_begin();
		rcu_read_lock();
		xas_for_each(&xas, peer, ULONG_MAX) {
			if (xas_retry(&xas, peer))
				continue;
			/* Else the one that has it is gone meanwhile. */
			if (xas.xa_index != next)
				down->from = 0;
			if (tell(down, peer))
				looks = 1;
			next = xas.xa_index + !down->from;
			if (!--looks)
				break;
		}
		rcu_read_unlock();
		bgdma_slice_end();
		cond_resched();
	} while (peer);
}

/**
 * bgdma_partition_tell() - whoever dealt with a context, or waits for it, is told
 * @part: partition
 * @gone: detached, or the stand-in for one behind a link
 *
 * Context: may sleep.
 */
void bgdma_partition_tell(struct bgdma_partition *part, struct bgdma_ctx *gone)
{
	struct bgdma_peer_down down = { .part = part, .gone = gone };

	/*
	 * Who exchanges something with it just now is one of them, and the pool's
	 * threads may be in the last piece that it sends.
	 */
	bgdma_busy_wait(&gone->busy);
	bgdma_ctx_leave_waiters(gone);
	bgdma_tell_all(&down, bgdma_tell_some);
	if (down.gates)
		bgdma_tell_all(&down, bgdma_tell_gates);
	for (down.slot = BGDMA_TELL_SLOTS; down.slot < down.slots;
	     down.slot += BGDMA_TELL_SLOTS)
		bgdma_tell_all(&down, bgdma_tell_some);
}

/* A counter that is leased to somebody at one of the nodes, and was not told yet. */
static void bgdma_tell_lease(const struct bgdma_peer_down *down,
			     struct bgdma_ctx *peer, unsigned int kind, u32 slot)
{
	const struct bgdma_counter_cell *cell = &peer->cells[kind][slot];
	const struct bgdma_principal who = {
		.rank = READ_ONCE(cell->lease_peer),
		.ctx = READ_ONCE(cell->lease_ctx),
	};

	if (down->nodes->n && bgdma_nodes_have(down->nodes, who.rank) &&
	    READ_ONCE(peer->counter_rec[kind][slot].code) !=
	    BGDMA_E_PEER_DOWN &&
	    bgdma_counters_peer_down(peer, &who, slot, 1))
		set_bit(who.rank % 1024, peer->talked);
}

/* Some counters: true if there are more, from *@slot on. */
static bool bgdma_tell_leases(const struct bgdma_peer_down *down,
			      struct bgdma_ctx *peer, u32 *slot)
{
	u32 end = *slot + BGDMA_TELL_SLOTS;
	unsigned int kind;
	u32 i;

	for (kind = 0; kind < 2; kind++) {
		for (i = *slot; i < min(end, peer->n_ctr[kind]); i++)
			bgdma_tell_lease(down, peer, kind, i);
	}
	*slot = end;
	return end < max(peer->n_ctr[0], peer->n_ctr[1]);
}

/* Did it deal with any of these? Who has dealt with is remembered by a hash. */
static bool bgdma_tell_talked(const struct bgdma_ctx *peer, u32 first, u32 last)
{
	u32 at = first % 1024, n = min(last - first, 1023U) + 1, rest;

	rest = n > 1024 - at ? n - (1024 - at) : 0;
	return find_next_bit(peer->talked, at + n - rest, at) < at + n - rest ||
	       find_first_bit(peer->talked, rest) < rest;
}

/* One word about each run of nodes: there may be more nodes than room for events. */
static void bgdma_tell_words(const struct bgdma_peer_down *down,
			     struct bgdma_ctx *peer)
{
	struct bgdma_event event = {
		.type = BGDMA_EVENT_PEER_DOWN,
		.code = BGDMA_E_PEER_DOWN,
		.peer_ctx = BGDMA_CTX_ANY,
	};
	const struct bgdma_nodes *nodes = down->nodes;
	u32 i;

	for (i = 0; i < nodes->n; i++) {
		if (!peer->watch && !bgdma_tell_talked(peer, nodes->run[i].first,
						       nodes->run[i].last))
			continue;
		event.peer_rank = nodes->run[i].first;
		event.bound = nodes->run[i].last;
		bgdma_event_post(peer, &event);
	}
}

/* In down.from, above where to go on: what comes after what. */
enum bgdma_tell_part {
	BGDMA_TELL_ASKED = 1,
	BGDMA_TELL_LEASES
};

/* True if more is to be done, in another slice: at *@part, from *@at on. */
static bool bgdma_tell_part(const struct bgdma_peer_down *down,
			    struct bgdma_ctx *peer, u32 *part, u32 *at)
{
	if (*part == BGDMA_TELL_ASKED) {
		if (bgdma_asked_lost(peer, down->kernel, at))
			return true;
		++*part;
		*at = 0;
	}
	if (READ_ONCE(peer->uctl->leases) && bgdma_tell_leases(down, peer, at))
		return true;
	bgdma_tell_words(down, peer);
	return false;
}

static bool bgdma_tell_nodes(struct bgdma_peer_down *down,
			     struct bgdma_ctx *peer)
{
	u32 part = down->from >> 32 ?: BGDMA_TELL_ASKED;
	u32 at = down->from;
	bool some;

	down->from = 0;
	if (!bgdma_busy_get(&peer->busy))
		return false;
	some = peer->watch || READ_ONCE(peer->uctl->leases) ||
	       !bitmap_empty(peer->talked, 1024);
	if (bgdma_tell_part(down, peer, &part, &at))
		down->from = (u64)part << 32 | at;
	some |= down->from;
	bgdma_busy_put(&peer->busy);
	return some;
}

/**
 * bgdma_partition_tell_nodes() - all that lived at some nodes is gone
 * @part: partition
 * @kernel: number of the one that is
 * @nodes: its nodes, which nobody else has; some
 *
 * Whom bgdma_partition_tell() told of hears it once more, for who else was there
 * nobody knows here: who never sent anything to this kernel.
 *
 * Context: may sleep.
 */
void bgdma_partition_tell_nodes(struct bgdma_partition *part, u64 kernel,
				const struct bgdma_nodes *nodes)
{
	struct bgdma_peer_down down = {
		.part = part, .kernel = kernel, .nodes = nodes,
	};

	bgdma_tell_all(&down, bgdma_tell_nodes);
}

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
			bgdma_partition_tell(part, ctx);
		mutex_lock(&part->lock);
		bgdma_partition_forget(part, ctx);
		mutex_unlock(&part->lock);
	}
	mutex_unlock(&ctx->detach_lock);
}
