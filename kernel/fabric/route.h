/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Ways through a torus or mesh. Pure: coordinates and distances, nothing of who
 * lives where.
 */
#ifndef _BGDMA_ROUTE_H
#define _BGDMA_ROUTE_H

#include <linux/types.h>

#include <linux/bgdma_netlink.h>

/* enum bgdma_direction of bgdma_netlink.h: so many. */
#define BGDMA_DIRECTIONS	6

/* No node. */
#define BGDMA_ROUTE_NONE	0xffffffffU
/* A node that cannot be reached; all others are nearer. */
#define BGDMA_ROUTE_FAR		0xffff
/* Detours are looked for among so many nodes at most. */
#define BGDMA_ROUTE_NODES_MAX	65536

/**
 * struct bgdma_shape - of a partition
 * @dims: nodes along X, Y, Z, none 0
 * @torus: bit per axis: its last node is a neighbour of its first
 */
struct bgdma_shape {
	u32 dims[3];
	u32 torus;
};

/**
 * struct bgdma_way_run - nodes in a row of one owner
 * @first: rank
 * @last: rank
 * @owner: index of a struct bgdma_owner
 */
struct bgdma_way_run {
	u32 first;
	u32 last;
	u16 owner;
};

static inline u32 bgdma_shape_size(const struct bgdma_shape *shape)
{
	return shape->dims[0] * shape->dims[1] * shape->dims[2];
}

u32 bgdma_route_neighbour(const struct bgdma_shape *shape, u32 rank,
			  unsigned int direction);
u32 bgdma_route_minimal(const struct bgdma_shape *shape, u32 from, u32 to);
u32 bgdma_route_nearer(const struct bgdma_shape *shape, u32 from, u32 to,
		       unsigned int direction);
u32 bgdma_route_along(const struct bgdma_shape *shape, u32 rank,
		      unsigned int direction, const struct bgdma_way_run *run,
		      u32 *hops);

/*
 * Is the way from a node in a direction open? Not asked where there is no
 * neighbour.
 */
typedef bool bgdma_route_open_fn(void *arg, u32 rank, unsigned int direction);

void bgdma_route_flood(const struct bgdma_shape *shape, u32 to,
		       bgdma_route_open_fn *open, void *arg, u16 *distance,
		       u32 *queue);

/* Of some directions the one that a deterministic packet takes. */
static inline unsigned int bgdma_route_first(u32 directions)
{
	return __builtin_ctz(directions);
}

#endif /* _BGDMA_ROUTE_H */
