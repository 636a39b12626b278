/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory for what a context does, which whoever happens to do it allocates.
 */
#ifndef _BGDMA_CHARGE_H
#define _BGDMA_CHARGE_H

#include <linux/memcontrol.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "../bgdma.h"

/*
 * Nobody here can wait for the group to give something back. So it may be beyond its
 * limit, as with what arrives at sockets: the group's next call that allocates pays. For
 * that it is __GFP_HIGH, which may take half of what a zone has left at its lowest, but not
 * what the kernel keeps for who frees memory.
 */
#define BGDMA_GFP_CTX	(GFP_NOWAIT | __GFP_HIGH | __GFP_NOMEMALLOC | \
			 __GFP_ACCOUNT | __GFP_NOWARN)

/**
 * bgdma_ctx_zalloc() - zeroed memory on account of a context's control group
 * @ctx: attached
 * @bytes: so many
 *
 * Context: any but hard interrupts.
 * Return: for kfree(); NULL: no memory.
 */
static inline void *bgdma_ctx_zalloc(const struct bgdma_ctx *ctx, size_t bytes)
{
	struct mem_cgroup *old = set_active_memcg(ctx->memcg);
	void *p = kzalloc(bytes, BGDMA_GFP_CTX);

	set_active_memcg(old);
	return p;
}

/**
 * bgdma_ctx_alloc_page() - a page on account of a context's control group
 * @ctx: attached
 *
 * Context: any but hard interrupts.
 * Return: for put_page(); NULL: no memory.
 */
static inline struct page *bgdma_ctx_alloc_page(const struct bgdma_ctx *ctx)
{
	struct mem_cgroup *old = set_active_memcg(ctx->memcg);
	struct page *page = alloc_page(BGDMA_GFP_CTX);

	set_active_memcg(old);
	return page;
}

#endif /* _BGDMA_CHARGE_H */
