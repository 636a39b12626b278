// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * When a message is paced, and how (SP-10). What depends on the target alone is
 * decided when the processes meet: then a message asks one flag.
 */
#include <errno.h>

#include "../torus.h"
#include "internal.h"
#include "option.h"

#define RACK		1024		/* nodes */

_Static_assert(BGDMA_PACING_ANY == OPTION_NONE, "0 is what is asked for");

static uint32_t bytes_in_flight(uint32_t racks)
{
	if (racks >= 8)
		return 24576;
	return racks >= 4 ? 32768 : 65536;
}

int pacing_complete(struct bgdma_endpoint *ep)
{
	const uint32_t *dims = bgdma_ctx_info(ep->ctx)->dims;
	uint32_t nodes = dims[0] * dims[1] * dims[2];
	struct bgdma_endpoint_attr *a = &ep->attr;
	uint32_t on = 0, packets = 0, i;
	const struct option options[] = {
		{ "BGDMA_PACING", &on, nodes > RACK },
		{ "BGDMA_PACING_HOPS", &a->pacing_hops, 4 },
		{ "BGDMA_PACING_DIMS", &a->pacing_dims, 1 },
		{ "BGDMA_PACING_SIZE", &a->pacing_size, 65536 },
		{ "BGDMA_PACING_PORTION", &a->pacing_portion,
		  nodes < 4 * RACK ? 16384 : 8192 },
		{ "BGDMA_PACING_MAX", &a->pacing_max,
		  bytes_in_flight(nodes / RACK) },
		{ "BGDMA_PACING_PACKETS", &packets, 0 },
	};
	int ret = 0;

	if (a->pacing > BGDMA_PACING_ON || a->portions > BGDMA_PORTIONS_PACKETS)
		return -EINVAL;
	for (i = 0; !ret && i < sizeof(options) / sizeof(options[0]); i++)
		ret = option_complete(&options[i]);
	if (ret || on > 1 || packets > 1 || !a->pacing_portion)
		return -EINVAL;
	if (a->pacing == BGDMA_PACING_AUTO)
		a->pacing = on ? BGDMA_PACING_ON : BGDMA_PACING_OFF;
	if (!a->portions)
		a->portions = packets ? BGDMA_PORTIONS_PACKETS :
					BGDMA_PORTIONS_PUT;
	return 0;
}

bool pacing_of(const struct bgdma_endpoint *ep, uint32_t node)
{
	const struct bgdma_ctx_info *info = bgdma_ctx_info(ep->ctx);
	uint32_t hops = 0, differ = 0, axis, h;

	if (ep->attr.pacing != BGDMA_PACING_ON)
		return false;
	for (axis = 0; axis < 3; axis++) {
		h = axis_hops(info, info->rank, node, axis);
		hops += h;
		differ += h > 0;
	}
	return hops > ep->attr.pacing_hops || differ > ep->attr.pacing_dims;
}

/* So many at a time that no more bytes are, if a single portion is not more. */
static uint32_t portions_in_flight(uint64_t bytes, uint64_t portion)
{
	uint64_t n = bytes / portion;

	if (n > BGDMA_IN_FLIGHT_MAX)
		return BGDMA_IN_FLIGHT_MAX;
	return n ? (uint32_t)n : 1;
}

/* Where there can be no more portions they are longer. */
static uint64_t portion_of(const struct bgdma_endpoint_attr *a, uint64_t length)
{
	uint64_t least = (length + BGDMA_PORTIONS_MAX - 1) / BGDMA_PORTIONS_MAX;
	uint64_t portion = a->pacing_portion;

	if (a->pacing_max && portion > a->pacing_max)
		portion = a->pacing_max;
	return portion < least ? least : portion;
}

struct pace pace_of(const struct bgdma_endpoint *ep,
		    const struct bgdma_rendezvous_attr *a)
{
	enum bgdma_portions portions = a->portions ? a->portions :
						     ep->attr.portions;
	struct pace pace = {
		.portion = a->portion == BGDMA_PORTION_WHOLE ? 0 : a->portion,
		.in_flight = a->in_flight ? a->in_flight : 1,
		.packets = portions == BGDMA_PORTIONS_PACKETS,
	};

	if (a->portion || !ep->peer[a->dest].paced ||
	    a->length <= ep->attr.pacing_size)
		return pace;
	pace.portion = portion_of(&ep->attr, a->length);
	if (!a->in_flight)
		pace.in_flight = portions_in_flight(ep->attr.pacing_max,
						    pace.portion);
	return pace;
}
