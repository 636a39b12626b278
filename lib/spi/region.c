// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Regions, and the grants of every kind of object.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "internal.h"

int bgdma_region_register(struct bgdma_ctx *ctx, void *addr, uint64_t length,
			  uint32_t rights, struct bgdma_region **regionp)
{
	struct bgdma_region_pin pin = {
		.size = sizeof(pin), .rights = rights,
		.addr = (uintptr_t)addr, .length = length,
	};
	struct bgdma_region *region;
	int ret;

	region = calloc(1, sizeof(*region));
	if (!region)
		return -ENOMEM;
	ret = ctx_ioctl(ctx, BGDMA_IOC_REGION_PIN, &pin);
	if (ret) {
		free(region);
		return ret;
	}
	region->view.addr = addr;
	region->view.length = length;
	region->view.handle = pin.handle;
	object_init(&region->object, ctx, region, NULL, 0);
	*regionp = region;
	return 0;
}

static int region_drop(struct bgdma_ctx *ctx, uint32_t handle)
{
	struct bgdma_region_free drop = {
		.size = sizeof(drop), .handle = handle,
	};

	return ctx_ioctl(ctx, BGDMA_IOC_REGION_FREE, &drop);
}

int bgdma_region_alloc(struct bgdma_ctx *ctx, uint64_t length, uint32_t rights,
		       struct bgdma_region **regionp)
{
	struct bgdma_region_alloc alloc = {
		.size = sizeof(alloc), .rights = rights, .length = length,
	};
	struct bgdma_region *region;
	void *map;
	int ret;

	region = calloc(1, sizeof(*region));
	if (!region)
		return -ENOMEM;
	ret = ctx_ioctl(ctx, BGDMA_IOC_REGION_ALLOC, &alloc);
	if (ret)
		goto free;
	map = ctx_map(ctx, &alloc.mem, PROT_READ | PROT_WRITE, &ret);
	if (!map)
		goto drop;

	region->view.addr = map;
	region->view.length = length;
	region->view.handle = alloc.handle;
	object_init(&region->object, ctx, region, map, (size_t)alloc.mem.bytes);
	*regionp = region;
	return 0;
drop:
	region_drop(ctx, alloc.handle);
free:
	free(region);
	return ret;
}

int bgdma_region_free(struct bgdma_region *region)
{
	int ret;

	if (!region)
		return 0;
	object_unmap(&region->object);
	ret = region_drop(region->object.ctx, region->view.handle);
	object_free(&region->object);
	return ret;
}

struct bgdma_ctx *bgdma_region_ctx(const struct bgdma_region *region)
{
	return region->object.ctx;
}

uint64_t bgdma_mem_required(const void *addr, uint64_t length)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t lead = (uintptr_t)addr & (page - 1);
	uint64_t pages = length / page;

	/* In pages, since the sum of bytes could wrap. */
	pages += (length % page + lead + page - 1) / page;
	return pages > UINT64_MAX / page ? UINT64_MAX : pages * page;
}

/* The right of an object that has only one. */
static uint32_t grant_rights(uint32_t kind)
{
	switch (kind) {
	case BGDMA_KIND_INJ_COUNTER:
	case BGDMA_KIND_REC_COUNTER:
		return BGDMA_RIGHT_COUNT;
	case BGDMA_KIND_REC_FIFO:
		return BGDMA_RIGHT_ACCEPT;
	case BGDMA_KIND_RGET_QUEUE:
		return BGDMA_RIGHT_INJECT;
	default:
		return 0;
	}
}

int bgdma_grant_sized(struct bgdma_ctx *ctx, uint32_t kind, uint32_t object,
		      uint32_t count, const struct bgdma_grant_attr *attr,
		      size_t size, uint32_t *id)
{
	struct bgdma_grant_attr a;
	struct bgdma_grant grant;
	int ret;

	if (!attr)
		return -EINVAL;
	ret = attr_copy(&a, sizeof(a), attr, size);
	if (ret)
		return ret;
	grant = (struct bgdma_grant){
		.size = sizeof(grant), .kind = kind, .object = object,
		.count = count, .rank = a.rank, .ctx = a.ctx,
		.incarnation = a.incarnation,
		.rights = a.rights ? a.rights : grant_rights(kind),
		.lo = a.lo, .hi = a.hi,
	};
	ret = ctx_ioctl(ctx, BGDMA_IOC_GRANT, &grant);
	if (!ret && id)
		*id = grant.id;
	return ret;
}

int bgdma_revoke(struct bgdma_ctx *ctx, uint32_t id)
{
	struct bgdma_revoke revoke = { .size = sizeof(revoke), .id = id };

	return ctx_ioctl(ctx, BGDMA_IOC_REVOKE, &revoke);
}
