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
 */
#include <linux/nospec.h>

#include "../bgdma.h"
#include "busy.h"
#include "deliver.h"
#include "group.h"

/* --------------------------------------------------------------------- */
/* Asking                                                                 */

static const struct bgdma_group *bgdma_group_at(struct bgdma_partition *part,
						u32 number, u32 rank)
{
	return xa_load(&part->groups, bgdma_group_key(part, number, rank));
}

/* Somebody as the group names him; his kernel may be gone. */
static const struct bgdma_group_member *
bgdma_group_named(const struct bgdma_group *group,
		  const struct bgdma_principal *who)
{
	const struct bgdma_group_member *m = bgdma_group_search(group,
								who->rank);

	if (m->rank != who->rank || m->ctx != who->ctx ||
	    (m->incarnation && m->incarnation != who->incarnation))
		return NULL;
	return m;
}

static bool bgdma_group_has(const struct bgdma_group *group,
			    const struct bgdma_principal *who)
{
	const struct bgdma_group_member *m = bgdma_group_named(group, who);

	return m && !READ_ONCE(m->resv);
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
	s->memo.group[ctx != s->ctx] = (struct bgdma_group_memo) {
		.group = group, .owner = ctx->who.incarnation,
		.member = who->incarnation, .number = group->number,
		.rank = who->rank, .gone = gone,
	};
	return group;
}

/* The same of one who was a member as long as his kernel was there. */
static const struct bgdma_group *
bgdma_group_was(const struct bgdma_ctx *ctx, const struct bgdma_stream *s,
		const struct bgdma_principal *who)
{
	const struct bgdma_group *group;

	group = bgdma_group_at(ctx->partition, s->group - 1, ctx->rank);
	return group && group->ctx == ctx && bgdma_group_named(group, who) ?
		group : NULL;
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
 * What a member had begun counts, or fails, though his kernel is gone meanwhile;
 * without anything else he begins nothing.
 *
 * Context: inside a slice.
 */
bool bgdma_group_gives(struct bgdma_ctx *ctx, struct bgdma_stream *s,
		       const struct bgdma_principal *who, u32 kind, u32 object)
{
	const struct bgdma_group *group = bgdma_group_for(ctx, s, who);
	u32 i;

	if (!group && ((kind == BGDMA_KIND_INJ_COUNTER && s->x.active) ||
		       (kind == BGDMA_KIND_REC_COUNTER &&
			(s->x.done || s->x.cut))))
		group = bgdma_group_was(ctx, s, who);
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
	struct bgdma_own_memo *memo = &s->memo.own;
	/* Before the look: as in bgdma_group_ask(). */
	u64 gone = smp_load_acquire(&part->groups_gone);
	const struct bgdma_group *group;

	if (likely(memo->group && memo->number == number && memo->gone == gone))
		return memo->group;
	group = bgdma_group_at(part, number, s->ctx->rank);
	if (!group || group->ctx != s->ctx)
		return NULL;
	memo->group = group;
	memo->gone = gone;
	memo->number = number;
	memo->n = 0;
	return group;
}

/* The binding at a node that names the stream's context, and is named by @own. */
static noinline const struct bgdma_group *
bgdma_group_mutual(struct bgdma_stream *s, const struct bgdma_group *own,
		   u32 rank)
{
	struct bgdma_own_memo *memo = &s->memo.own;
	const struct bgdma_group *group;

	group = bgdma_group_at(s->ctx->partition, own->number, rank);
	/* Nor is anybody a member who only says so himself. */
	if (!group || !bgdma_group_has(group, &s->ctx->who) ||
	    !bgdma_group_has(own, &group->ctx->who))
		return NULL;
	/* Of a longer line the others are looked up each time. */
	if (memo->n < BGDMA_LINE_MEMO) {
		memo->rank[memo->n] = rank;
		memo->member[memo->n++] = group;
	}
	return group;
}

/**
 * bgdma_group_member() - the binding of a node that takes a stream's copy
 * @s: deposits under its group
 * @rank: node
 *
 * Mostly the line is the one before, and all who are on it are remembered.
 *
 * Context: inside a slice.
 * Return: the binding, its context with a busy reference, or NULL where nobody
 * has bound the group with the stream's context as a member, and is one in its
 * binding.
 */
const struct bgdma_group *bgdma_group_member(struct bgdma_stream *s, u32 rank)
{
	const struct bgdma_group *group, *own = bgdma_group_own(s, s->group - 1);
	const struct bgdma_own_memo *memo = &s->memo.own;
	u32 i = 0;

	if (!own)
		return NULL;
	while (i < memo->n && memo->rank[i] != rank)
		i++;
	group = i < memo->n ? memo->member[i] : bgdma_group_mutual(s, own, rank);
	return group && bgdma_busy_get(&group->ctx->busy) ? group : NULL;
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
 * bgdma_group_began() - the binding of a node that has the beginning of a copy
 * @s: in the name of a context behind a link, under its group; its kernel may be gone
 * @rank: node
 *
 * Context: inside a slice.
 * Return: as bgdma_group_member().
 */
const struct bgdma_group *bgdma_group_began(const struct bgdma_stream *s,
					    u32 rank)
{
	const struct bgdma_group *group;

	group = bgdma_group_at(s->ctx->partition, s->group - 1, rank);
	if (!group || !bgdma_group_named(group, &s->ctx->who))
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
