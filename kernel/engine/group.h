/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Groups. On the way of a piece only where grants said no, and only under a
 * group.
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
 * @n_slots: so many
 * @n_members: so many
 * @slots: the objects; of one that went away the kind is BGDMA_KIND_CONTEXT
 * @members: by rank
 */
struct bgdma_group {
	struct rcu_head rcu;
	struct bgdma_ctx *ctx;
	struct list_head node;
	u32 number;
	u32 n_slots;
	u32 n_members;
	struct bgdma_group_slot slots[BGDMA_GROUP_SLOTS];
	struct bgdma_group_member members[];
};

int bgdma_group_bind(struct bgdma_ctx *ctx, const struct bgdma_group_bind *arg);
int bgdma_group_unbind(struct bgdma_ctx *ctx, u32 number);
void bgdma_groups_end(struct bgdma_ctx *ctx);
void bgdma_groups_forget(struct bgdma_ctx *ctx, u32 kind, u32 id);
bool bgdma_group_bound(struct bgdma_ctx *ctx, u32 number);
struct bgdma_ctx *bgdma_group_member(const struct bgdma_stream *s, u32 rank);
u32 bgdma_group_arrive(const struct bgdma_ctx *ctx, struct bgdma_stream *s);

bool bgdma_group_gives(struct bgdma_ctx *ctx, const struct bgdma_stream *s,
		       const struct bgdma_principal *who, u32 kind,
		       u32 object);
struct bgdma_region *bgdma_group_region(struct bgdma_ctx *ctx,
					struct bgdma_stream *s,
					const struct bgdma_principal *who,
					u32 handle, u32 rights, u64 off,
					u64 len);
int bgdma_group_counter(struct bgdma_ctx *ctx, const struct bgdma_stream *s,
			const struct bgdma_principal *who, unsigned int kind,
			u32 handle);
u32 bgdma_group_localize(struct bgdma_stream *s);

#endif /* _BGDMA_GROUP_H */
