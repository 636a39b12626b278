// SPDX-License-Identifier: GPL-2.0
/*
 * Gates of regions: made by their owner, and what takes epochs away from them:
 * the death of an origin, a grant that is taken back, the end of the region.
 */
#include <linux/delay.h>
#include <linux/log2.h>
#include <linux/slab.h>

#include "../bgdma.h"
#include "../trace.h"
#include "busy.h"
#include "deliver.h"
#include "epoch.h"
#include "group.h"

#define BGDMA_EPOCHS_DEFAULT	64

/* --------------------------------------------------------------------- */
/* Epochs that break                                                      */

/* Nothing may be promised to its origin just now; but here is time to wait. */
static void bgdma_gate_tell_broken(struct bgdma_region_gate *gate,
				   const struct bgdma_answer *answer)
{
	bool told;

	for (;;) {
		bgdma_slice_begin();
		told = bgdma_gate_tell(gate, answer);
		bgdma_slice_end();
		if (told)
			return;
		msleep(20);
	}
}

/*
 * Tell of epochs that are out, and give their entries back. @code: for their
 * origins, for which it may sleep; or BGDMA_OK: they are dead. @owner: our owner
 * hears of it.
 */
static void bgdma_gate_broken(struct bgdma_region_gate *gate,
			      struct list_head *out, u32 code, bool owner)
{
	struct bgdma_gate_epoch *e;
	struct bgdma_answer answer;
	struct bgdma_event event;

	list_for_each_entry(e, out, node) {
		spin_lock(&gate->lock);
		trace_bgdma_epoch(gate, e, code ?: BGDMA_E_PEER_DOWN);
		bgdma_epoch_answer(gate, e, code, &answer);
		bgdma_epoch_event(gate, e, e->state, BGDMA_E_PEER_DOWN, &event);
		spin_unlock(&gate->lock);
		if (code)
			bgdma_gate_tell_broken(gate, &answer);
		else
			bgdma_promise_forget(gate, answer.promise);
		if (!owner)
			continue;
		bgdma_slice_begin();
		bgdma_event_post(gate->ctx, &event);
		bgdma_slice_end();
	}
	spin_lock(&gate->lock);
	list_splice_init(out, &gate->free);
	spin_unlock(&gate->lock);
	bgdma_slice_begin();
	bgdma_gate_go_on(gate);
	bgdma_slice_end();
}

/* Gates, and epochs that share a bucket, that one slice looks at. */
#define BGDMA_GATE_LOOKS	256

/* Return: true if there was one; there are BGDMA_EPOCHS_EACH at most. */
static bool bgdma_gate_peer_down(struct bgdma_region_gate *gate,
				 const struct bgdma_principal *peer, int *looks)
{
	struct bgdma_gate_epoch *e;
	struct hlist_node *next;
	LIST_HEAD(out);
	bool any;

	/* Else its region goes, and bgdma_gate_free() sees to it. */
	if (!bgdma_busy_get(&gate->region->busy))
		return false;
	spin_lock(&gate->lock);
	hlist_for_each_entry_safe(e, next, bgdma_gate_bucket(gate, peer),
				  same) {
		--*looks;
		if (gate->dead || !bgdma_same(&e->who, peer))
			continue;
		bgdma_epoch_out(gate, e);
		list_add_tail(&e->node, &out);
	}
	spin_unlock(&gate->lock);
	any = !list_empty(&out);
	if (any)
		bgdma_gate_broken(gate, &out, BGDMA_OK, true);
	bgdma_busy_put(&gate->region->busy);
	return any;
}

/**
 * bgdma_gates_peer_down() - an origin is gone: so are its epochs
 * @ctx: owner of the gates, held busy
 * @peer: gone
 * @from: 0 at first; where to go on
 *
 * Context: inside a slice, of which it takes enough.
 * Return: true if it has to be called again, in another slice.
 */
bool bgdma_gates_peer_down(struct bgdma_ctx *ctx,
			   const struct bgdma_principal *peer, u64 *from)
{
	struct bgdma_region_gate *gate;
	int looks = BGDMA_GATE_LOOKS;

	list_for_each_entry_rcu(gate, &ctx->gates, node) {
		if (gate->number < *from)
			continue;
		*from = gate->number + 1;
		looks--;
		if (bgdma_gate_peer_down(gate, peer, &looks) || looks <= 0)
			return true;
	}
	return false;
}

/**
 * bgdma_gates_wake() - who waits at a gate looks again
 * @ctx: owner of the gates
 * @from: 0 at first; where to go on
 *
 * Context: inside a slice, of which it takes enough.
 * Return: true if it has to be called again, in another slice.
 */
bool bgdma_gates_wake(struct bgdma_ctx *ctx, u64 *from)
{
	struct bgdma_region_gate *gate;

	list_for_each_entry_rcu(gate, &ctx->gates, node) {
		if (gate->number < *from || list_empty(&gate->waiters.waiting))
			continue;
		*from = gate->number + 1;
		bgdma_waiters_wake(&gate->waiters);
		return true;
	}
	return false;
}

/* Entries that one hold of a gate's lock looks at. */
#define BGDMA_GATE_RECHECKS	64

static bool bgdma_gate_is_empty(struct bgdma_region_gate *gate)
{
	bool empty;

	/* With the lock: else one could go from the queue to those that hold it. */
	spin_lock(&gate->lock);
	empty = list_empty(&gate->held) && list_empty(&gate->queue);
	spin_unlock(&gate->lock);
	return empty;
}

/* From entry @from on; where to go on. */
static u32 bgdma_gate_recheck_some(struct bgdma_ctx *ctx,
				   struct bgdma_region_gate *gate, u32 from,
				   struct list_head *out)
{
	u32 i, end = min(gate->count, from + BGDMA_GATE_RECHECKS);
	struct bgdma_gate_epoch *e;
	u64 bound;

	rcu_read_lock();
	spin_lock(&gate->lock);
	for (i = from; i < end; i++) {
		e = &gate->e[i];
		if (hlist_unhashed(&e->same) ||
		    bgdma_is_owner(ctx, &e->who) ||
		    bgdma_granted(&gate->region->grants, &e->who,
				  BGDMA_RIGHT_EPOCH, 0, 0, &bound, NULL))
			continue;
		bgdma_epoch_out(gate, e);
		list_add_tail(&e->node, out);
	}
	spin_unlock(&gate->lock);
	rcu_read_unlock();
	return end;
}

/**
 * bgdma_gates_recheck() - a grant was taken back
 * @ctx: owner
 *
 * Epochs of those who may have none any more are over. There can be four million
 * entries: gates where nobody is are passed over, and others can run meanwhile.
 *
 * Context: ctx.lock held; no slice relies on the grant any more; may sleep.
 */
void bgdma_gates_recheck(struct bgdma_ctx *ctx)
{
	struct bgdma_region_gate *gate;
	LIST_HEAD(out);
	u32 at;

	lockdep_assert_held(&ctx->lock);
	list_for_each_entry(gate, &ctx->gates, node) {
		cond_resched();
		if (bgdma_gate_is_empty(gate))
			continue;
		for (at = 0; at < gate->count; cond_resched()) {
			at = bgdma_gate_recheck_some(ctx, gate, at, &out);
			if (!list_empty(&out))
				bgdma_gate_broken(gate, &out, BGDMA_E_RIGHTS,
						  false);
		}
	}
}

/* --------------------------------------------------------------------- */
/* The gate itself                                                        */

static struct bgdma_region *bgdma_gate_region(struct bgdma_ctx *ctx, u32 handle)
{
	struct bgdma_region *region;

	lockdep_assert_held(&ctx->lock);
	region = xa_load(&ctx->regions, BGDMA_HANDLE_SLOT(handle));
	return region && region->handle == handle ? region : NULL;
}

static struct bgdma_region_gate *
bgdma_gate_alloc(struct bgdma_ctx *ctx, struct bgdma_region *region, u32 count)
{
	u32 i, buckets = roundup_pow_of_two(count);
	struct bgdma_region_gate *gate;

	gate = kvzalloc(struct_size(gate, e, count) +
			buckets * sizeof(*gate->by), GFP_KERNEL_ACCOUNT);
	if (!gate)
		return NULL;
	/* Behind the epochs, so that both go at once. */
	gate->by = (struct hlist_head *)&gate->e[count];
	gate->mask = buckets - 1;
	spin_lock_init(&gate->lock);
	gate->ctx = ctx;
	gate->region = region;
	gate->handle = region->handle;
	gate->count = count;
	INIT_LIST_HEAD(&gate->held);
	INIT_LIST_HEAD(&gate->queue);
	INIT_LIST_HEAD(&gate->free);
	for (i = 0; i < count; i++)
		list_add_tail(&gate->e[i].node, &gate->free);
	bgdma_waiters_init(&gate->waiters);
	INIT_DELAYED_WORK(&gate->work, bgdma_gate_work);
	return gate;
}

/*
 * Slices that know of no gate yet count as inside until they are over. There are none
 * where nobody but the owner is let in, by a grant or as a member of a group: a gate
 * keeps the owner out of nothing, and who was let in before has gone, since to revoke
 * and to unbind waits for slices. Who is let in later holds the region busy before he
 * looks for the gate, which is a full barrier: he finds that, too.
 */
static void bgdma_gate_publish(struct bgdma_region *region,
			       struct bgdma_region_gate *gate)
{
	gate->users++;
	if (!rcu_access_pointer(region->grants) &&
	    !bgdma_groups_give(gate->ctx, BGDMA_KIND_REGION, region->handle)) {
		/* All of the gate before it is seen, and it before any grant. */
		smp_store_release(&region->gate, gate);
		return;
	}
	spin_lock(&gate->lock);
	gate->inside++;
	spin_unlock(&gate->lock);
	/* All of the gate before it is seen. */
	smp_store_release(&region->gate, gate);
	synchronize_rcu();
	spin_lock(&gate->lock);
	gate->inside--;
	spin_unlock(&gate->lock);
	bgdma_slice_begin();
	bgdma_gate_go_on(gate);
	bgdma_slice_end();
}

static int bgdma_gate_share(struct bgdma_ctx *ctx, struct bgdma_region *region,
			    const struct bgdma_gate *arg)
{
	struct bgdma_region *with = bgdma_gate_region(ctx, arg->with);

	if (arg->flags || arg->epochs)
		return -EINVAL;
	if (!with || !with->gate || with->gate->region != with)
		return -ENOENT;
	bgdma_gate_publish(region, with->gate);
	return 0;
}

/**
 * bgdma_gate_create() - let a region have epochs
 * @ctx: owner
 * @arg: BGDMA_IOC_GATE's
 *
 * Context: ctx.lock held; waits for slices that know of no gate, if there may be any.
 * Return: 0 or the negative errno that the ioctl documents.
 */
int bgdma_gate_create(struct bgdma_ctx *ctx, const struct bgdma_gate *arg)
{
	u32 count = arg->epochs ?: BGDMA_EPOCHS_DEFAULT;
	struct bgdma_region_gate *gate;
	struct bgdma_region *region;

	if ((arg->flags & ~BGDMA_GATE_ASK) || count > BGDMA_EPOCHS_MAX ||
	    arg->resv)
		return -EINVAL;
	region = bgdma_gate_region(ctx, arg->region);
	if (!region)
		return -ENOENT;
	if (region->gate)
		return -EEXIST;
	if (arg->with)
		return bgdma_gate_share(ctx, region, arg);
	if (ctx->n_gates >= BGDMA_GATES_MAX)
		return -ENOSPC;
	gate = bgdma_gate_alloc(ctx, region, count);
	if (!gate)
		return -ENOMEM;
	gate->number = ++ctx->last_gate;
	gate->ask = arg->flags & BGDMA_GATE_ASK;
	list_add_tail_rcu(&gate->node, &ctx->gates);
	ctx->n_gates++;
	bgdma_gate_publish(region, gate);
	return 0;
}

/* The region that has it goes away: whoever waits for it is told. */
static void bgdma_gate_shut(struct bgdma_region_gate *gate)
{
	u32 code = READ_ONCE(gate->ctx->dead) ? BGDMA_E_PEER_DOWN :
						BGDMA_E_REGION;
	LIST_HEAD(out);

	spin_lock(&gate->lock);
	gate->dead = true;
	list_splice_init(&gate->held, &out);
	list_splice_tail_init(&gate->queue, &out);
	spin_unlock(&gate->lock);
	bgdma_gate_broken(gate, &out, code, false);
	list_del_rcu(&gate->node);
}

/**
 * bgdma_gate_free() - a region goes away, and its gate with it
 * @region: nobody is busy with it, nor finds it any more
 *
 * Regions that share the gate let nothing in from now on if it is this one's.
 *
 * Context: ctx.lock held; may sleep.
 */
void bgdma_gate_free(struct bgdma_region *region)
{
	struct bgdma_region_gate *gate = region->gate;

	if (!gate)
		return;
	lockdep_assert_held(&gate->ctx->lock);
	if (gate->region == region)
		bgdma_gate_shut(gate);
	/* Who waits for this region is told; others wait again. */
	bgdma_waiters_wake(&gate->waiters);
	if (--gate->users)
		return;
	/* Slices of others that share it may have left it just now. */
	bgdma_waiters_end(&gate->waiters);
	cancel_delayed_work_sync(&gate->work);
	gate->ctx->n_gates--;
	kvfree_rcu(gate, rcu);
}

static void bgdma_gate_show(const struct bgdma_gate_epoch *e,
			    struct bgdma_epoch *out)
{
	*out = (struct bgdma_epoch) {
		.rank = e->who.rank,
		.ctx = e->who.ctx,
		.state = e->state,
		.incarnation = e->who.incarnation,
		.epoch = e->id,
		.exclusive = e->exclusive,
		.got = e->got,
		.put = e->put,
	};
}

/**
 * bgdma_gate_list() - what is at a gate
 * @ctx: owner
 * @region: handle
 * @epochs: room for *@count
 * @count: in: room; out: how many there are
 *
 * Context: ctx.lock held.
 * Return: 0 or -ENOENT.
 */
int bgdma_gate_list(struct bgdma_ctx *ctx, u32 region,
		    struct bgdma_epoch *epochs, u32 *count)
{
	struct bgdma_region *r = bgdma_gate_region(ctx, region);
	struct bgdma_region_gate *gate = r ? r->gate : NULL;
	u32 n = 0, room = *count;
	struct bgdma_gate_epoch *e;

	if (!gate)
		return -ENOENT;
	spin_lock(&gate->lock);
	list_for_each_entry(e, &gate->held, node) {
		if (n++ < room)
			bgdma_gate_show(e, &epochs[n - 1]);
	}
	list_for_each_entry(e, &gate->queue, node) {
		if (n++ < room)
			bgdma_gate_show(e, &epochs[n - 1]);
	}
	spin_unlock(&gate->lock);
	*count = n;
	return 0;
}

/**
 * bgdma_gate_allow() - let an epoch begin that asked
 * @ctx: owner
 * @arg: BGDMA_IOC_EPOCH_ALLOW's
 *
 * Context: ctx.lock held.
 * Return: 0, -EINVAL or -ENOENT.
 */
int bgdma_gate_allow(struct bgdma_ctx *ctx, const struct bgdma_epoch_allow *arg)
{
	const struct bgdma_principal who = {
		.rank = arg->rank, .incarnation = arg->incarnation,
	};
	struct bgdma_region *region;
	struct bgdma_answer answer;
	struct bgdma_gate_epoch *e;

	if (arg->flags)
		return -EINVAL;
	region = bgdma_gate_region(ctx, arg->region);
	if (!region || !region->gate)
		return -ENOENT;
	spin_lock(&region->gate->lock);
	e = bgdma_epoch_find(region->gate, &who, arg->epoch);
	if (!e || e->state != BGDMA_EPOCH_ASKED) {
		spin_unlock(&region->gate->lock);
		return -ENOENT;
	}
	e->state = BGDMA_EPOCH_OPEN;
	trace_bgdma_epoch(region->gate, e, BGDMA_OK);
	bgdma_epoch_answer(region->gate, e, BGDMA_OK, &answer);
	spin_unlock(&region->gate->lock);
	bgdma_slice_begin();
	bgdma_gate_tell(region->gate, &answer);
	bgdma_slice_end();
	return 0;
}
