// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Classes of the combining network. What they do is descriptors, see <bgdma/tree.h>.
 */
#include <bgdma/tree.h>

#include "internal.h"

int bgdma_class_bind_sized(struct bgdma_ctx *ctx,
			   const struct bgdma_class_attr *attr, size_t size)
{
	struct bgdma_class_bind bind = { .size = sizeof(bind) };
	struct bgdma_class_attr a;
	int ret;

	ret = attr_copy(&a, sizeof(a), attr, size);
	if (ret)
		return ret;
	bind.flags = a.flags;
	bind.number = a.number;
	bind.instance = a.instance;
	bind.rank = a.rank;
	bind.member_count = a.member_count;
	bind.members = (uintptr_t)a.members;
	bind.packet = a.packet;
	bind.window = a.window;
	return ctx_ioctl(ctx, BGDMA_IOC_CLASS_BIND, &bind);
}

int bgdma_class_unbind(struct bgdma_ctx *ctx, uint32_t number,
		       unsigned int flags)
{
	struct bgdma_class_unbind unbind = {
		.size = sizeof(unbind), .number = number, .flags = flags,
	};

	return ctx_ioctl(ctx, BGDMA_IOC_CLASS_UNBIND, &unbind);
}
