/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Groups: objects by slot, the same at all members, for packets that leave a copy
 * with each node of a line (DMA-7).
 *
 * A descriptor with BGDMA_ROUTE_DEPOSIT and one hint goes along an axis, to each
 * node that has bound the group with the sender as a member. It names slots
 * where others name handles of the target.
 */
#ifndef BGDMA_GROUP_H
#define BGDMA_GROUP_H

#include <bgdma/context.h>
#include <bgdma/types.h>

BGDMA_BEGIN_DECLS

/**
 * struct bgdma_group_attr - what members of a group may use
 * @number: of the group, below BGDMA_GROUPS_MAX; a node has each once
 * @slots: the objects
 * @slot_count: so many, at most BGDMA_GROUP_SLOTS
 * @members: contexts that may use them, each rank at most once
 * @member_count: 1 to BGDMA_GROUP_MEMBERS_MAX
 */
struct bgdma_group_attr {
	uint32_t number;
	const struct bgdma_group_slot *slots;
	uint32_t slot_count;
	const struct bgdma_group_member *members;
	uint32_t member_count;
};

/* bgdma_group_bind() of a program whose attr has @size bytes. */
BGDMA_API int bgdma_group_bind_sized(struct bgdma_ctx *ctx,
				     const struct bgdma_group_attr *attr,
				     size_t size);

/**
 * bgdma_group_bind() - become a member of a group (DMA-7)
 * @ctx: context
 * @attr: what the members may use; copied
 *
 * The binding is the right: it needs no grants, and gives nothing but what comes
 * under the group.
 *
 * Thread safety: any thread.
 * Return: 0; -EEXIST a context of this node has that group; -ENOENT, -ESTALE no
 * such object; -EINVAL; -ENOMEM; -ENODEV.
 */
static inline int bgdma_group_bind(struct bgdma_ctx *ctx,
				   const struct bgdma_group_attr *attr)
{
	return bgdma_group_bind_sized(ctx, attr, sizeof(*attr));
}

/**
 * bgdma_group_unbind() - be a member of a group no longer
 * @ctx: context
 * @number: of the group
 *
 * When it returns nothing that comes under the group uses its slots. Objects that
 * are freed need not be taken out before.
 *
 * Thread safety: any thread.
 * Return: 0; -ENOENT; -ENODEV.
 */
BGDMA_API int bgdma_group_unbind(struct bgdma_ctx *ctx, uint32_t number);

/**
 * bgdma_line_last() - where a line along an axis ends (DMA-7)
 * @info: of the own context: where it begins
 * @route: BGDMA_ROUTE_XP, _XM, _YP, _YM, _ZP or _ZM
 * @hops: out: nodes after the first; may be NULL
 *
 * On a torus axis it goes round, all but the last hop; on a mesh axis to the
 * edge.
 *
 * Thread safety: any thread.
 * Return: rank of the last node; the own one where there is no other.
 */
BGDMA_API uint32_t bgdma_line_last(const struct bgdma_ctx_info *info,
				   uint8_t route, uint32_t *hops);

BGDMA_END_DECLS

#endif /* BGDMA_GROUP_H */
