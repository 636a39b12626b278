/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Where a node is on the torus, or the mesh, of its partition.
 */
#ifndef BGDMA_TORUS_H
#define BGDMA_TORUS_H

#include <stdint.h>

#include <bgdma/context.h>

static inline uint32_t coordinate(const struct bgdma_ctx_info *info,
				  uint32_t node, unsigned int axis)
{
	unsigned int i;

	for (i = 0; i < axis; i++)
		node /= info->dims[i];
	return node % info->dims[axis];
}

/* Along one axis, by the shorter way. */
static inline uint32_t axis_hops(const struct bgdma_ctx_info *info,
				 uint32_t from, uint32_t to, unsigned int axis)
{
	uint32_t a = coordinate(info, from, axis);
	uint32_t b = coordinate(info, to, axis);
	uint32_t hops = a < b ? b - a : a - b, nodes = info->dims[axis];

	return info->torus & 1U << axis && nodes - hops < hops ? nodes - hops :
								 hops;
}

#endif /* BGDMA_TORUS_H */
