/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Groups. Who is under one asks it first: what it names, it means by slot.
 */
#ifndef _BGDMA_GROUP_H
#define _BGDMA_GROUP_H

#include "../bgdma.h"

/**
 * struct bgdma_group - what a context lets the members of a group use
 * @rcu: found under RCU
 * @ctx: whose objects are in the slots
 * @node: in ctx.groups; lock of partition.groups
 * @number: of the group
 * @serial: of the binding: the next of the same context is another one
 * @n_slots: so many
 * @n_members: so many
 * @slots: the objects; of one that went away the kind is BGDMA_KIND_CONTEXT
 * @members: by rank; @resv: 0, or BGDMA_MEMBER_GONE: with all of its kernel
 */
struct bgdma_group {
	struct rcu_head rcu;
	struct bgdma_ctx *ctx;
	struct list_head node;
	u32 number;
	u32 serial;
	u32 n_slots;
	u32 n_members;
	struct bgdma_group_slot slots[BGDMA_GROUP_SLOTS];
	struct bgdma_group_member members[];
};

#define BGDMA_MEMBER_GONE	1

/* Small numbers: the tree is as deep as the largest is long. */
static inline unsigned long
bgdma_group_key(const struct bgdma_partition *part, u32 number, u32 rank)
{
	return (unsigned long)number * part->size + rank;
}

/*
 * The last member whose rank is no higher, or the first. A search of its own:
 * bsearch() calls a function for each comparison.
 */
static inline const struct bgdma_group_member *
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

/* binding.c */
int bgdma_group_bind(struct bgdma_ctx *ctx, const struct bgdma_group_bind *arg);
int bgdma_group_unbind(struct bgdma_ctx *ctx, u32 number);
void bgdma_groups_end(struct bgdma_ctx *ctx);
void bgdma_groups_forget(struct bgdma_ctx *ctx, u32 kind, u32 id);
bool bgdma_groups_give(struct bgdma_ctx *ctx, u32 kind, u32 object);
void bgdma_groups_lose(struct bgdma_partition *part, u32 first, u32 last);

/* group.c */
const struct bgdma_group *bgdma_group_own(struct bgdma_stream *s, u32 number);
const struct bgdma_group *bgdma_group_member(struct bgdma_stream *s, u32 rank);
u32 bgdma_group_arrive(const struct bgdma_group *group, struct bgdma_stream *s);
const struct bgdma_group *bgdma_group_receiver(const struct bgdma_stream *s,
					       u32 rank);
const struct bgdma_group *bgdma_group_began(const struct bgdma_stream *s,
					    u32 rank);
const struct bgdma_group_member *bgdma_group_names(struct bgdma_stream *s,
						   u32 rank);

bool bgdma_group_gives(struct bgdma_ctx *ctx, struct bgdma_stream *s,
		       const struct bgdma_principal *who, u32 kind,
		       u32 object);

/*
 * In whose name somebody may ask for an object: under a group that gives it, in
 * its owner's.
 */
static inline const struct bgdma_principal *
bgdma_group_name(struct bgdma_ctx *ctx, struct bgdma_stream *s,
		 const struct bgdma_principal *who, u32 kind, u32 object)
{
	if (unlikely(s->group) && (s->line.given ||
				   bgdma_group_gives(ctx, s, who, kind, object)))
		return &ctx->who;
	return who;
}

u32 bgdma_group_localize(struct bgdma_stream *s);

#endif /* _BGDMA_GROUP_H */
