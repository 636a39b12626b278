// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Groups that a context is in, and the lines that their packets go along.
 */
#include <bgdma/group.h>

#include "internal.h"

int bgdma_group_bind_sized(struct bgdma_ctx *ctx,
			   const struct bgdma_group_attr *attr, size_t size)
{
	struct bgdma_group_bind bind = { .size = sizeof(bind) };
	struct bgdma_group_attr a;
	int ret;

	ret = attr_copy(&a, sizeof(a), attr, size);
	if (ret)
		return ret;
	bind.group = a.number;
	bind.slots = (uintptr_t)a.slots;
	bind.count = a.slot_count;
	bind.members = (uintptr_t)a.members;
	bind.member_count = a.member_count;
	return ctx_ioctl(ctx, BGDMA_IOC_GROUP_BIND, &bind);
}

int bgdma_group_unbind(struct bgdma_ctx *ctx, uint32_t number)
{
	struct bgdma_group_unbind unbind = {
		.size = sizeof(unbind), .group = number,
	};

	return ctx_ioctl(ctx, BGDMA_IOC_GROUP_UNBIND, &unbind);
}

uint32_t bgdma_line_last(const struct bgdma_ctx_info *info, uint8_t route,
			 uint32_t *hops)
{
	uint32_t stride = 1, axis = 0, dim, at, last, n;
	bool plus;

	while (axis < 2 && !(route >> 2 * axis & 3))
		stride *= info->dims[axis++];
	plus = route >> 2 * axis & 1;
	dim = info->dims[axis];
	at = info->rank / stride % dim;
	if (info->torus & 1U << axis) {
		n = dim - 1;
		last = (plus ? at + n : at + 1) % dim;
	} else {
		n = plus ? dim - 1 - at : at;
		last = plus ? dim - 1 : 0;
	}
	if (hops)
		*hops = n;
	return info->rank - at * stride + last * stride;
}
