// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Gates of own regions. Operations on a peer's are descriptors, see
 * <bgdma/gate.h>.
 */
#include <bgdma/gate.h>

#include "internal.h"
#include "memcheck.h"

int bgdma_gate_create(struct bgdma_region *region, uint32_t epochs,
		      unsigned int flags)
{
	struct bgdma_gate gate = {
		.size = sizeof(gate), .flags = flags,
		.region = region->view.handle, .epochs = epochs,
	};

	return ctx_ioctl(region->object.ctx, BGDMA_IOC_GATE, &gate);
}

int bgdma_gate_share(struct bgdma_region *region,
		     const struct bgdma_region *with)
{
	struct bgdma_gate gate = {
		.size = sizeof(gate), .region = region->view.handle,
		.with = with->view.handle,
	};

	if (region->object.ctx != with->object.ctx)
		return -EINVAL;
	return ctx_ioctl(region->object.ctx, BGDMA_IOC_GATE, &gate);
}

int bgdma_gate_epochs(struct bgdma_region *region, struct bgdma_epoch *epochs,
		      uint32_t room)
{
	struct bgdma_epochs list = {
		.size = sizeof(list), .region = region->view.handle,
		.count = room, .epochs = (uintptr_t)epochs,
	};
	int ret = ctx_ioctl(region->object.ctx, BGDMA_IOC_EPOCHS, &list);

	if (ret)
		return ret;
	memory_defined(epochs,
		       (list.count < room ? list.count : room) *
		       sizeof(*epochs));
	return (int)list.count;
}

int bgdma_gate_allow(struct bgdma_region *region, uint32_t rank,
		     uint32_t incarnation, uint32_t epoch)
{
	struct bgdma_epoch_allow allow = {
		.size = sizeof(allow), .region = region->view.handle,
		.epoch = epoch, .incarnation = incarnation, .rank = rank,
	};

	return ctx_ioctl(region->object.ctx, BGDMA_IOC_EPOCH_ALLOW, &allow);
}
