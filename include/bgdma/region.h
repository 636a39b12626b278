/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Regions: memory that descriptors can name, by handle and offset.
 */
#ifndef BGDMA_REGION_H
#define BGDMA_REGION_H

#include <bgdma/context.h>
#include <bgdma/types.h>

BGDMA_BEGIN_DECLS

/**
 * bgdma_region_register() - make own memory a region
 * @ctx: context
 * @addr: first byte, any alignment; memory of any sort that is writable, but
 *	for files mapped with MAP_SHARED that are no memfd or tmpfs
 * @length: bytes, at least 1
 * @rights: what own descriptors may do: BGDMA_LOCAL_READ, BGDMA_LOCAL_WRITE
 * @region: out
 *
 * The pages are pinned and charged to RLIMIT_MEMLOCK, by
 * bgdma_mem_required() bytes, until bgdma_region_free(). The memory stays the
 * caller's; it must not be unmapped before.
 *
 * Thread safety: any thread.
 * Return: 0; -EFAULT memory of another sort; -ENOMEM the limit, or memory;
 * -ENOSPC no slot is left; -EINVAL.
 */
BGDMA_API int bgdma_region_register(struct bgdma_ctx *ctx, void *addr,
				    uint64_t length, uint32_t rights,
				    struct bgdma_region **region);

/**
 * bgdma_region_alloc() - get memory of the driver as a region
 * @ctx: context
 * @length: bytes, at least 1
 * @rights: as for bgdma_region_register()
 * @region: out; bgdma_region_addr() tells where it is mapped
 *
 * The memory is zeroed, page-aligned, charged to the memory cgroup and not to
 * RLIMIT_MEMLOCK. bgdma_region_free() unmaps it.
 *
 * Thread safety: any thread.
 * Return: 0; -ENOMEM; -ENOSPC no slot is left; -EINVAL.
 */
BGDMA_API int bgdma_region_alloc(struct bgdma_ctx *ctx, uint64_t length,
				 uint32_t rights, struct bgdma_region **region);

/**
 * bgdma_region_free() - end a region
 * @region: region, or NULL
 *
 * When it returns no page of it is pinned or charged. Transfers that use it
 * end with BGDMA_E_REGION, later ones that name its handle with
 * BGDMA_E_STALE.
 *
 * Thread safety: any thread.
 * Return: 0; -ENODEV the partition is gone. The handle is freed in any case.
 */
BGDMA_API int bgdma_region_free(struct bgdma_region *region);

/**
 * bgdma_region_handle() - what descriptors and peers call the region
 * @region: region
 */
static inline uint32_t bgdma_region_handle(const struct bgdma_region *region)
{
	return bgdma_region_view(region)->handle;
}

/**
 * bgdma_region_addr() - first byte in this process
 * @region: region
 */
static inline void *bgdma_region_addr(const struct bgdma_region *region)
{
	return bgdma_region_view(region)->addr;
}

/**
 * bgdma_region_length() - bytes
 * @region: region
 */
static inline uint64_t bgdma_region_length(const struct bgdma_region *region)
{
	return bgdma_region_view(region)->length;
}

/**
 * bgdma_mem_required() - what a region would be charged to RLIMIT_MEMLOCK
 * @addr: as for bgdma_region_register(); NULL: any page-aligned address
 * @length: bytes
 *
 * Each page counts once for each region that it is in.
 *
 * Thread safety: any thread.
 * Return: bytes.
 */
BGDMA_API uint64_t bgdma_mem_required(const void *addr, uint64_t length);

/**
 * bgdma_region_ctx() - context that a region belongs to
 * @region: region
 *
 * Thread safety: any thread.
 * Return: the context.
 */
BGDMA_API struct bgdma_ctx *bgdma_region_ctx(const struct bgdma_region *region);

/**
 * bgdma_region_grant() - let a peer use a region
 * @region: region
 * @attr: who, and BGDMA_RIGHT_READ, _WRITE, _FETCH, _ATOMIC, _EPOCH
 * @id: out: for bgdma_revoke(); may be NULL
 *
 * Thread safety: any thread.
 * Return: 0; -ENOSPC BGDMA_GRANTS_MAX grants exist; -EINVAL; -ENOMEM;
 * -ENODEV.
 */
static inline int bgdma_region_grant(struct bgdma_region *region,
				     const struct bgdma_grant_attr *attr,
				     uint32_t *id)
{
	return bgdma_grant_sized(bgdma_region_ctx(region), BGDMA_KIND_REGION,
				 bgdma_region_handle(region), 1, attr,
				 sizeof(*attr), id);
}

BGDMA_END_DECLS

#endif /* BGDMA_REGION_H */
