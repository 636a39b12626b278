// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Dynamic windows: memory that comes and goes, named by its address in its
 * process. Each process tells the others what it attaches, in front of the
 * messages by which they then synchronize.
 */
#include <stdlib.h>
#include <string.h>

#include <asm/byteorder.h>

#include "internal.h"

const struct attached *attached_find(const struct attached *list, uint64_t at,
				     uint64_t length)
{
	for (; list; list = list->next)
		if (at >= list->addr && length <= list->length &&
		    at - list->addr <= list->length - length)
			return list;
	return NULL;
}

static bool overlaps(const struct attached *list, uint64_t addr,
		     uint64_t length)
{
	for (; list; list = list->next)
		if (addr < list->addr + list->length &&
		    list->addr < addr + length)
			return true;
	return false;
}

static struct attached *attached_take(struct attached **link, uint64_t addr)
{
	struct attached *a;

	for (; (a = *link); link = &a->next)
		if (a->addr == addr) {
			*link = a->next;
			return a;
		}
	return NULL;
}

void attached_free(struct attached *list, bool regions)
{
	struct attached *a;

	while ((a = list)) {
		list = a->next;
		if (regions)
			(void)bgdma_region_free(a->region);
		free(a);
	}
}

int on_attach(struct bgdma_window *window, uint32_t rank,
	      const struct bgdma_packet *packet)
{
	struct attached **list = &window->peer[rank].attached, *a;
	struct attach_wire wire;
	uint64_t addr, length;

	if (packet->bytes != sizeof(wire))
		return -EBADMSG;
	memcpy(&wire, bgdma_packet_data(packet), sizeof(wire));
	addr = __le64_to_cpu(wire.addr);
	length = __le64_to_cpu(wire.length);
	if (!length) {
		a = attached_take(list, addr);
		free(a);
		return a ? 0 : -EBADMSG;
	}
	if (addr + length < addr || overlaps(*list, addr, length))
		return -EBADMSG;
	a = calloc(1, sizeof(*a));
	if (!a)
		return -EAGAIN;
	a->addr = addr;
	a->length = length;
	a->handle = __le32_to_cpu(wire.region);
	a->next = *list;
	*list = a;
	return 0;
}

/* The others; what is our own is in the list already, or no longer. */
static int attach_tell(struct bgdma_window *window, const struct attached *a,
		       uint64_t length)
{
	const struct bgdma_rma *rma = window->rma;
	const struct attach_wire wire = {
		.addr = __cpu_to_le64(a->addr),
		.length = __cpu_to_le64(length),
		.region = __cpu_to_le32(a->handle),
	};
	uint32_t i;
	int ret, first = 0;

	for (i = 0; i < rma->size; i++) {
		if (i == rma->rank || rma->peer[i].down)
			continue;
		ret = window_send(window, i, PACKET_ATTACH, 0, &wire,
				  sizeof(wire));
		if (ret && ret != -EHOSTDOWN && !first)
			first = ret;
	}
	return first;
}

int bgdma_window_attach(struct bgdma_window *window, void *addr,
			uint64_t length)
{
	struct bgdma_rma *rma = window->rma;
	struct attached **list = &window->peer[rma->rank].attached, *a;
	uint64_t start = (uintptr_t)addr;
	int ret;

	if (!window->attr.dynamic || !addr || !length || start + length < start)
		return -EINVAL;
	if (overlaps(*list, start, length))
		return -EEXIST;
	a = calloc(1, sizeof(*a));
	if (!a)
		return -ENOMEM;
	ret = bgdma_region_register(rma->ctx, addr, length, BGDMA_LOCAL_READ |
				    BGDMA_LOCAL_WRITE, &a->region);
	if (!ret)
		ret = bgdma_endpoint_expose(rma->ep, a->region,
					    BGDMA_RIGHT_READ |
					    BGDMA_RIGHT_WRITE |
					    BGDMA_RIGHT_ATOMIC);
	if (ret) {
		attached_free(a, true);
		return ret;
	}
	a->addr = start;
	a->length = length;
	a->handle = bgdma_region_handle(a->region);
	rma_lock(rma);
	a->next = *list;
	*list = a;
	rma_unlock(rma);
	return attach_tell(window, a, length);
}

int bgdma_window_detach(struct bgdma_window *window, void *addr)
{
	struct bgdma_rma *rma = window->rma;
	struct attached *a;
	int ret;

	rma_lock(rma);
	a = attached_take(&window->peer[rma->rank].attached, (uintptr_t)addr);
	rma_unlock(rma);
	if (!a)
		return -ENOENT;
	ret = attach_tell(window, a, 0);
	attached_free(a, true);
	return ret;
}
