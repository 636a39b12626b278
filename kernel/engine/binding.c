// SPDX-License-Identifier: GPL-2.0
/*
 * Binding a group, and what ends that: see group.c, which asks for bindings.
 *
 * A node has each number once. Bindings are found by number and node under RCU;
 * those of one context are in a list. Both change under the lock of
 * partition.groups.
 */
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/uaccess.h>

#include "../bgdma.h"
#include "counter.h"
#include "engine.h"
#include "group.h"

static int bgdma_slot_counter(struct bgdma_ctx *ctx, unsigned int kind,
			      u32 handle)
{
	int slot = bgdma_counter_find(ctx, kind, handle, NULL, NULL);

	if (slot >= 0)
		return 0;
	return slot == -BGDMA_E_STALE ? -ESTALE : -ENOENT;
}

/* Is the object there, and one that others can use? */
static int bgdma_slot_check(struct bgdma_ctx *ctx,
			    const struct bgdma_group_slot *slot)
{
	const struct bgdma_region *region;
	u32 object = slot->object;

	lockdep_assert_held(&ctx->lock);
	switch (slot->kind) {
	case BGDMA_KIND_REC_FIFO:
		return object < ctx->n_rec &&
		       rcu_access_pointer(ctx->rec[object]) ? 0 : -ENOENT;
	case BGDMA_KIND_RGET_QUEUE:
		return object < ctx->n_rgq &&
		       rcu_access_pointer(ctx->rgq[object]) ? 0 : -ENOENT;
	case BGDMA_KIND_INJ_COUNTER:
	case BGDMA_KIND_REC_COUNTER:
		return bgdma_slot_counter(ctx,
					  slot->kind - BGDMA_KIND_INJ_COUNTER,
					  object);
	case BGDMA_KIND_REGION:
		region = xa_load(&ctx->regions, BGDMA_HANDLE_SLOT(object));
		if (!region)
			return -ENOENT;
		return region->handle == object ? 0 : -ESTALE;
	default:
		return -EINVAL;
	}
}

static int bgdma_member_cmp(const void *a, const void *b)
{
	const struct bgdma_group_member *x = a, *y = b;

	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* Each rank once: a node has a group number once. */
static int bgdma_members_check(const struct bgdma_ctx *ctx,
			       struct bgdma_group *group)
{
	u32 i;

	sort(group->members, group->n_members, sizeof(*group->members),
	     bgdma_member_cmp, NULL);
	for (i = 0; i < group->n_members; i++) {
		const struct bgdma_group_member *m = &group->members[i];

		if (m->rank >= ctx->partition->size ||
		    m->ctx >= BGDMA_CTX_PER_NODE || m->resv)
			return -EINVAL;
		if (i && m[-1].rank == m->rank)
			return -EINVAL;
	}
	return 0;
}

static int bgdma_group_fill(struct bgdma_ctx *ctx, struct bgdma_group *group,
			    const struct bgdma_group_bind *arg)
{
	int err = 0;
	u32 i;

	if (copy_from_user(group->slots, u64_to_user_ptr(arg->slots),
			   arg->count * sizeof(*group->slots)) ||
	    copy_from_user(group->members, u64_to_user_ptr(arg->members),
			   arg->member_count * sizeof(*group->members)))
		return -EFAULT;
	group->n_slots = arg->count;
	group->n_members = arg->member_count;
	for (i = 0; i < group->n_slots && !err; i++)
		err = bgdma_slot_check(ctx, &group->slots[i]);
	return err ?: bgdma_members_check(ctx, group);
}

static void bgdma_groups_went(struct bgdma_partition *part)
{
	lockdep_assert_held(&part->groups.xa_lock);
	/* After what makes an answer another: who sees the new count asks anew. */
	smp_store_release(&part->groups_gone, part->groups_gone + 1);
}

static void bgdma_group_take_out(struct bgdma_group *group)
{
	struct bgdma_partition *part = group->ctx->partition;

	list_del_init(&group->node);
	__xa_erase(&part->groups,
		   bgdma_group_key(part, group->number, group->ctx->rank));
	/* Who remembers it asks anew before a grace period is over. */
	bgdma_groups_went(part);
}

/**
 * bgdma_group_bind() - become a member of a group
 * @ctx: whose objects are in its slots
 * @arg: BGDMA_IOC_GROUP_BIND's
 *
 * Context: ctx.lock held.
 * Return: 0 or the negative errno that the ioctl documents.
 */
int bgdma_group_bind(struct bgdma_ctx *ctx, const struct bgdma_group_bind *arg)
{
	struct xarray *groups = &ctx->partition->groups;
	struct bgdma_group *group;
	bool late;
	int err;

	if (arg->flags || arg->resv || arg->group >= BGDMA_GROUPS_MAX ||
	    arg->count > BGDMA_GROUP_SLOTS || !arg->member_count ||
	    arg->member_count > BGDMA_GROUP_MEMBERS_MAX)
		return -EINVAL;
	group = kvzalloc(struct_size(group, members, arg->member_count),
			 GFP_KERNEL_ACCOUNT);
	if (!group)
		return -ENOMEM;
	group->ctx = ctx;
	group->number = arg->group;
	err = bgdma_group_fill(ctx, group, arg);
	if (err)
		goto free;
	xa_lock(groups);
	group->serial = ctx->partition->groups_made++;
	err = __xa_insert(groups,
			  bgdma_group_key(ctx->partition, arg->group,
					  ctx->rank),
			  group, GFP_KERNEL_ACCOUNT);
	if (err) {
		xa_unlock(groups);
		goto free;
	}
	list_add_tail(&group->node, &ctx->groups);
	/* It ended meanwhile: bgdma_groups_end() was here, or sees it. */
	late = READ_ONCE(ctx->dead);
	if (late)
		bgdma_group_take_out(group);
	xa_unlock(groups);
	if (late)
		kvfree_rcu(group, rcu);
	return late ? -ENODEV : 0;
free:
	kvfree(group);
	return err == -EBUSY ? -EEXIST : err;
}

/* Streams that wait for room in what is no longer theirs pass by. */
static void bgdma_group_release(struct bgdma_ctx *ctx,
				const struct bgdma_group *group)
{
	u32 i;

	lockdep_assert_held(&ctx->lock);
	for (i = 0; i < group->n_slots; i++) {
		const struct bgdma_group_slot *slot = &group->slots[i];
		struct bgdma_rget_queue *queue;
		struct bgdma_region *region;
		struct bgdma_rec_fifo *fifo;

		if (slot->kind == BGDMA_KIND_REC_FIFO) {
			fifo = rcu_dereference_protected(ctx->rec[slot->object],
							 true);
			bgdma_waiters_wake(&fifo->waiters);
		} else if (slot->kind == BGDMA_KIND_RGET_QUEUE) {
			queue = rcu_dereference_protected(ctx->rgq[slot->object],
							  true);
			bgdma_waiters_wake(&queue->waiters);
		} else if (slot->kind == BGDMA_KIND_REGION) {
			region = xa_load(&ctx->regions,
					 BGDMA_HANDLE_SLOT(slot->object));
			if (region && region->handle == slot->object &&
			    region->gate)
				bgdma_waiters_wake(&region->gate->waiters);
		}
	}
}

/**
 * bgdma_group_unbind() - be a member no longer
 * @ctx: whose objects are in its slots
 * @number: of the group
 *
 * When it returns no transfer relies on the binding any more.
 *
 * Context: ctx.lock held.
 * Return: 0 or -ENOENT.
 */
int bgdma_group_unbind(struct bgdma_ctx *ctx, u32 number)
{
	struct xarray *groups = &ctx->partition->groups;
	struct bgdma_group *group, *found = NULL;

	xa_lock(groups);
	list_for_each_entry(group, &ctx->groups, node) {
		if (group->number == number) {
			found = group;
			break;
		}
	}
	if (found)
		bgdma_group_take_out(found);
	xa_unlock(groups);
	if (!found)
		return -ENOENT;
	synchronize_rcu();
	bgdma_freeze_others(ctx);
	bgdma_group_release(ctx, found);
	kvfree(found);
	return 0;
}

/**
 * bgdma_groups_end() - a context is in no group any more
 * @ctx: goes away
 */
void bgdma_groups_end(struct bgdma_ctx *ctx)
{
	struct xarray *groups = &ctx->partition->groups;
	struct bgdma_group *group;

	xa_lock(groups);
	while ((group = list_first_entry_or_null(&ctx->groups,
						 struct bgdma_group, node))) {
		bgdma_group_take_out(group);
		kvfree_rcu(group, rcu);
	}
	xa_unlock(groups);
}

/**
 * bgdma_groups_forget() - a FIFO goes away, and is in no slot any more
 * @ctx: owner
 * @kind: of the FIFO
 * @id: of it: another may have it next
 *
 * Context: ctx.lock held.
 */
void bgdma_groups_forget(struct bgdma_ctx *ctx, u32 kind, u32 id)
{
	struct xarray *groups = &ctx->partition->groups;
	struct bgdma_group *group;
	u32 i;

	xa_lock(groups);
	list_for_each_entry(group, &ctx->groups, node) {
		for (i = 0; i < group->n_slots; i++) {
			struct bgdma_group_slot *slot = &group->slots[i];

			if (slot->kind == kind && slot->object == id)
				WRITE_ONCE(slot->kind, BGDMA_KIND_CONTEXT);
		}
	}
	xa_unlock(groups);
}

/**
 * bgdma_groups_give() - does a group let its members use an object?
 * @ctx: owner
 * @kind: of the object
 * @object: its handle or number
 *
 * Context: ctx.lock held, so that no group is bound or unbound meanwhile.
 */
bool bgdma_groups_give(struct bgdma_ctx *ctx, u32 kind, u32 object)
{
	struct xarray *groups = &ctx->partition->groups;
	struct bgdma_group *group;
	bool given = false;
	u32 i;

	lockdep_assert_held(&ctx->lock);
	xa_lock(groups);
	list_for_each_entry(group, &ctx->groups, node) {
		for (i = 0; i < group->n_slots; i++)
			given |= group->slots[i].kind == kind &&
				 group->slots[i].object == object;
	}
	xa_unlock(groups);
	return given;
}

static void bgdma_group_lose(struct bgdma_group *group, u32 first, u32 last)
{
	const struct bgdma_group_member *end = group->members + group->n_members;
	struct bgdma_group_member *m = group->members;

	m += bgdma_group_search(group, first) - m;
	for (; m < end && m->rank <= last; m++)
		if (m->rank >= first && m->incarnation)
			WRITE_ONCE(m->resv, BGDMA_MEMBER_GONE);
}

/**
 * bgdma_groups_lose() - who lived at nodes of another kernel is no member any more
 * @part: partition
 * @first: of the nodes
 * @last: of them
 *
 * Whoever has the place, where nobody is named, may come again.
 *
 * Context: may sleep.
 */
void bgdma_groups_lose(struct bgdma_partition *part, u32 first, u32 last)
{
	struct bgdma_group *group;
	unsigned long key;

	rcu_read_lock();
	xa_for_each(&part->groups, key, group) {
		bgdma_group_lose(group, first, last);
		/* Not cond_resched_rcu(): of many kernels that is empty. */
		if (need_resched()) {
			rcu_read_unlock();
			cond_resched();
			rcu_read_lock();
		}
	}
	rcu_read_unlock();
	/* Who remembers a member that has gone asks anew. */
	xa_lock(&part->groups);
	bgdma_groups_went(part);
	xa_unlock(&part->groups);
}
