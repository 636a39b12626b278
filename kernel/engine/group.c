// SPDX-License-Identifier: GPL-2.0
/*
 * Groups: what a context lets the members of a group use, by slot. A group has
 * the same number at all its members, and a slot the same meaning, whatever
 * handles the objects have there, so that one packet with the deposit bit can
 * name objects of everybody.
 *
 * The binding is the right: under a group its members may use what is in its
 * slots, as its owner may, and nobody else may and nothing else. What a stream
 * does under a group is marked with it (bgdma_stream.group). Like grants,
 * bindings are asked for with every piece, and only where those said no.
 *
 * A node has each number once. Bindings are found by number and node under RCU;
 * those of one context are in a list. Both change under the lock of
 * partition.groups.
 */
#include <linux/nospec.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/uaccess.h>

#include "../bgdma.h"
#include "busy.h"
#include "counter.h"
#include "deliver.h"
#include "group.h"

/* Small numbers: the tree is as deep as the largest is long. */
static unsigned long bgdma_group_key(const struct bgdma_partition *part,
				     u32 number, u32 rank)
{
	return (unsigned long)number * part->size + rank;
}

/* --------------------------------------------------------------------- */
/* Binding                                                                */

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

static void bgdma_group_take_out(struct bgdma_group *group)
{
	struct bgdma_partition *part = group->ctx->partition;

	list_del_init(&group->node);
	__xa_erase(&part->groups,
		   bgdma_group_key(part, group->number, group->ctx->rank));
	/*
	 * After the erase: who sees the new count does not find it any more, and
	 * who remembers it asks anew before a grace period is over.
	 */
	smp_store_release(&part->groups_gone, part->groups_gone + 1);
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

/* --------------------------------------------------------------------- */
/* Asking                                                                 */

static const struct bgdma_group *bgdma_group_at(struct bgdma_partition *part,
						u32 number, u32 rank)
{
	return xa_load(&part->groups, bgdma_group_key(part, number, rank));
}

/*
 * The last member whose rank is no higher, or the first. A search of its own:
 * bsearch() calls a function for each comparison.
 */
static const struct bgdma_group_member *
bgdma_group_search(const struct bgdma_group *group, u32 rank)
{
	const struct bgdma_group_member *m = group->members;
	u32 n = group->n_members;

	while (n > 1) {
		u32 half = n / 2;

		if (m[half].rank <= rank)
			m += half;
		n -= half;
	}
	return m;
}

static bool bgdma_group_has(const struct bgdma_group *group,
			    const struct bgdma_principal *who)
{
	const struct bgdma_group_member *m = bgdma_group_search(group,
								who->rank);

	return m->rank == who->rank && m->ctx == who->ctx &&
	       !READ_ONCE(m->resv) &&
	       (!m->incarnation || m->incarnation == who->incarnation);
}

/* @gone: of before it was looked up */
static void bgdma_group_remember(struct bgdma_group_memo *memo,
				 const struct bgdma_stream *s,
				 const struct bgdma_group *group,
				 const struct bgdma_principal *who, u64 gone)
{
	*memo = (struct bgdma_group_memo) {
		.group = group, .owner = group->ctx->who.incarnation,
		.member = who->incarnation, .number = s->group - 1,
		.rank = who->rank, .gone = gone,
	};
}

/* The binding of @ctx that a stream is under, if @who is a member; or NULL. */
static noinline const struct bgdma_group *
bgdma_group_ask(struct bgdma_ctx *ctx, struct bgdma_stream *s,
		const struct bgdma_principal *who)
{
	struct bgdma_partition *part = ctx->partition;
	/* Before the look: a binding that goes meanwhile is not remembered. */
	u64 gone = smp_load_acquire(&part->groups_gone);
	const struct bgdma_group *group;

	group = bgdma_group_at(part, s->group - 1, ctx->rank);
	if (!group || group->ctx != ctx || !bgdma_group_has(group, who))
		return NULL;
	bgdma_group_remember(&s->memo.group[ctx != s->ctx], s, group, who,
			     gone);
	return group;
}

/* Mostly it is the one that was asked for before. */
static __always_inline const struct bgdma_group *
bgdma_group_for(struct bgdma_ctx *ctx, struct bgdma_stream *s,
		const struct bgdma_principal *who)
{
	struct bgdma_group_memo *memo = &s->memo.group[ctx != s->ctx];
	/* Before the look, as above. */
	u64 gone = smp_load_acquire(&ctx->partition->groups_gone);

	/* No context has the incarnation 0 of an empty memo. */
	if (likely(memo->owner == ctx->who.incarnation &&
		   memo->member == who->incarnation &&
		   memo->rank == who->rank && memo->number == s->group - 1 &&
		   memo->gone == gone))
		return memo->group;
	return bgdma_group_ask(ctx, s, who);
}

/**
 * bgdma_group_gives() - may somebody use an object under a group?
 * @ctx: owner of the object
 * @s: stream that asks, under a group
 * @who: for whom
 * @kind: of the object
 * @object: handle or id
 *
 * Context: inside a slice.
 */
bool bgdma_group_gives(struct bgdma_ctx *ctx, struct bgdma_stream *s,
		       const struct bgdma_principal *who, u32 kind, u32 object)
{
	const struct bgdma_group *group = bgdma_group_for(ctx, s, who);
	u32 i;

	if (!group)
		return false;
	for (i = 0; i < group->n_slots; i++) {
		if (READ_ONCE(group->slots[i].kind) == kind &&
		    group->slots[i].object == object)
			return true;
	}
	return false;
}

/* --------------------------------------------------------------------- */
/* From slots to handles                                                  */

static bool bgdma_slot_read(const struct bgdma_group *group,
			    struct bgdma_stream *s, u32 kind, u32 slot,
			    u32 *object)
{
	if (slot < group->n_slots) {
		slot = array_index_nospec(slot, group->n_slots);
		*object = group->slots[slot].object;
		if (READ_ONCE(group->slots[slot].kind) == kind)
			return true;
	}
	bgdma_fault(s, BGDMA_E_GROUP, slot, group->n_slots);
	return false;
}

static bool bgdma_slot_handle(const struct bgdma_group *group,
			      struct bgdma_stream *s, u32 kind, __le32 *field)
{
	u32 object;

	if (!bgdma_slot_read(group, s, kind, le32_to_cpu(*field), &object))
		return false;
	*field = cpu_to_le32(object);
	return true;
}

static bool bgdma_slot_fifo(const struct bgdma_group *group,
			    struct bgdma_stream *s, u32 kind, __le16 *field)
{
	u32 object;

	if (!bgdma_slot_read(group, s, kind, le16_to_cpu(*field), &object))
		return false;
	*field = cpu_to_le16(object);
	return true;
}

/* No counter is none in a group too. */
static bool bgdma_slot_counted(const struct bgdma_group *group,
			       struct bgdma_stream *s, u32 kind, __le32 *field)
{
	return *field == cpu_to_le32(BGDMA_NONE) ||
	       bgdma_slot_handle(group, s, kind, field);
}

/* Where a descriptor reads, at the node where it executes. */
static bool bgdma_slots_from(const struct bgdma_group *group,
			     struct bgdma_stream *s)
{
	struct bgdma_desc *d = &s->x.desc;

	if (!(d->flags & BGDMA_DESC_INLINE) &&
	    !bgdma_slot_handle(group, s, BGDMA_KIND_REGION, &d->u.at.src_region))
		return false;
	return bgdma_slot_counted(group, s, BGDMA_KIND_INJ_COUNTER,
				  &d->inj_ctr);
}

/* Where it goes, at the node of @group. */
static bool bgdma_slots_to(const struct bgdma_group *group,
			   struct bgdma_stream *s)
{
	struct bgdma_desc *d = &s->x.desc;

	switch (d->op) {
	case BGDMA_OP_RGET:
		return bgdma_slot_fifo(group, s, BGDMA_KIND_RGET_QUEUE,
				       &d->dst_fifo);
	case BGDMA_OP_MEMFIFO:
	case BGDMA_OP_LOCAL_MEMFIFO:
		if (!bgdma_slot_fifo(group, s, BGDMA_KIND_REC_FIFO,
				     &d->dst_fifo))
			return false;
		break;
	default:
		if (!bgdma_slot_handle(group, s, BGDMA_KIND_REGION,
				       &d->u.at.dst_region))
			return false;
	}
	return bgdma_slot_counted(group, s, BGDMA_KIND_REC_COUNTER,
				  &d->rec_ctr);
}

/**
 * bgdma_group_localize() - slots become handles where a descriptor executes
 * @s: owned; at one from elsewhere that names the group under which it came
 *
 * It goes back to its sender, if it goes anywhere.
 *
 * Return: BGDMA_OK or BGDMA_E_GROUP, with s->x.fault.
 */
u32 bgdma_group_localize(struct bgdma_stream *s)
{
	struct bgdma_desc *d = &s->x.desc;
	bool local = d->op == BGDMA_OP_LOCAL_COPY ||
		     d->op == BGDMA_OP_LOCAL_MEMFIFO;
	const struct bgdma_group *group;
	u32 code = BGDMA_OK;

	bgdma_slice_begin();
	group = bgdma_group_for(s->ctx, s, &s->who);
	if (!group)
		code = bgdma_fault(s, BGDMA_E_GROUP, s->group - 1, 0);
	else if (!bgdma_slots_from(group, s) ||
		 (local && !bgdma_slots_to(group, s)))
		code = s->x.fault.code;
	bgdma_slice_end();
	if (!local)
		d->dst_rank = cpu_to_le32(s->who.rank);
	d->dst_ctx = cpu_to_le16(local ? 0 : s->who.ctx);
	return code;
}

/**
 * bgdma_group_own() - the binding of the context whose stream it is
 * @s: stream
 * @number: of the group
 *
 * Mostly it is the one that was asked for before.
 *
 * Context: inside a slice.
 * Return: it, until the end of the slice; NULL: it has bound no such group.
 */
const struct bgdma_group *bgdma_group_own(struct bgdma_stream *s, u32 number)
{
	struct bgdma_partition *part = s->ctx->partition;
	struct bgdma_group_memo *memo = &s->memo.own;
	/* Before the look: as in bgdma_group_ask(). */
	u64 gone = smp_load_acquire(&part->groups_gone);
	const struct bgdma_group *group;

	if (likely(memo->group && memo->number == number && memo->gone == gone))
		return memo->group;
	group = bgdma_group_at(part, number, s->ctx->rank);
	if (!group || group->ctx != s->ctx)
		return NULL;
	*memo = (struct bgdma_group_memo) {
		.group = group, .number = number, .gone = gone,
	};
	return group;
}

/**
 * bgdma_group_member() - the binding of a node that takes a stream's copy
 * @s: deposits under its group
 * @rank: node
 *
 * What lands there asks for the same binding next.
 *
 * Context: inside a slice.
 * Return: the binding, its context with a busy reference, or NULL where nobody
 * has bound the group with the stream's context as a member, and is one in its
 * binding.
 */
const struct bgdma_group *bgdma_group_member(struct bgdma_stream *s, u32 rank)
{
	struct bgdma_partition *part = s->ctx->partition;
	/* Before the look: as in bgdma_group_ask(). */
	u64 gone = smp_load_acquire(&part->groups_gone);
	const struct bgdma_group *group, *own;

	group = bgdma_group_at(part, s->group - 1, rank);
	if (!group || !bgdma_group_has(group, &s->ctx->who))
		return NULL;
	/* Nor is anybody a member who only says so himself. */
	own = bgdma_group_own(s, s->group - 1);
	if (!own || !bgdma_group_has(own, &group->ctx->who))
		return NULL;
	if (!bgdma_busy_get(&group->ctx->busy))
		return NULL;
	if (group->ctx != s->ctx)
		bgdma_group_remember(&s->memo.group[1], s, group, &s->ctx->who,
				     gone);
	return group;
}

/**
 * bgdma_group_receiver() - the binding of a node that takes a copy from elsewhere
 * @s: in the name of a context behind a link, under its group
 * @rank: node
 *
 * That context's own binding, where the receiver is a member, its kernel looked at.
 *
 * Context: inside a slice.
 * Return: as bgdma_group_member().
 */
const struct bgdma_group *bgdma_group_receiver(const struct bgdma_stream *s,
					       u32 rank)
{
	const struct bgdma_group *group;

	group = bgdma_group_at(s->ctx->partition, s->group - 1, rank);
	if (!group || !bgdma_group_has(group, &s->ctx->who))
		return NULL;
	return bgdma_busy_get(&group->ctx->busy) ? group : NULL;
}

/**
 * bgdma_group_names() - the member at a node, as a sender sees it
 * @s: deposits under its group
 * @rank: node behind a link
 *
 * Context: inside a slice.
 * Return: who it is, until the end of the slice; NULL: nobody is.
 */
const struct bgdma_group_member *bgdma_group_names(struct bgdma_stream *s,
						   u32 rank)
{
	const struct bgdma_group *own = bgdma_group_own(s, s->group - 1);
	const struct bgdma_group_member *m;

	if (!own)
		return NULL;
	m = bgdma_group_search(own, rank);
	return m->rank == rank && !READ_ONCE(m->resv) ? m : NULL;
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
}

/**
 * bgdma_group_arrive() - slots become handles where a copy arrives
 * @group: from bgdma_group_member()
 * @s: the stream; its descriptor has slots
 *
 * Context: inside the same slice.
 * Return: BGDMA_OK or BGDMA_E_GROUP, with s->x.fault.
 */
u32 bgdma_group_arrive(const struct bgdma_group *group, struct bgdma_stream *s)
{
	return bgdma_slots_to(group, s) ? BGDMA_OK : s->x.fault.code;
}
