// SPDX-License-Identifier: GPL-2.0
/*
 * Ways through a torus or mesh: who is next to whom, how far it is, and which
 * directions lead nearer. With all ways open that is arithmetic; where some are
 * closed the distances to one node are counted out from there.
 */
#ifdef __KERNEL__
#include <linux/minmax.h>
#include <linux/string.h>
#endif

#include "route.h"

struct bgdma_route_axis {
	u32 stride;
	u32 dim;
	bool torus;
};

static struct bgdma_route_axis
bgdma_route_axis(const struct bgdma_shape *shape, unsigned int axis)
{
	struct bgdma_route_axis a = { .stride = 1 };
	unsigned int i;

	for (i = 0; i < axis; i++)
		a.stride *= shape->dims[i];
	a.dim = shape->dims[axis];
	a.torus = shape->torus & (1U << axis);
	return a;
}

/**
 * bgdma_route_neighbour() - the next node
 * @shape: of the partition
 * @rank: of a node in it
 * @direction: enum bgdma_direction
 *
 * Return: its rank; BGDMA_ROUTE_NONE beyond the edge of a mesh, or where the node
 * would be its own neighbour.
 */
u32 bgdma_route_neighbour(const struct bgdma_shape *shape, u32 rank,
			  unsigned int direction)
{
	struct bgdma_route_axis a = bgdma_route_axis(shape, direction / 2);
	u32 at = rank / a.stride % a.dim;
	u32 to = direction % 2 ? at + a.dim - 1 : at + 1;

	if (a.dim == 1)
		return BGDMA_ROUTE_NONE;
	if (!a.torus && (direction % 2 ? at == 0 : to == a.dim))
		return BGDMA_ROUTE_NONE;
	return rank - at * a.stride + to % a.dim * a.stride;
}

/* Hops along an axis to higher and to lower coordinates; 0: not that way. */
static void bgdma_route_hops(const struct bgdma_shape *shape, unsigned int axis,
			     u32 from, u32 to, u32 *plus, u32 *minus)
{
	struct bgdma_route_axis a = bgdma_route_axis(shape, axis);
	u32 f = from / a.stride % a.dim, t = to / a.stride % a.dim;

	*plus = t >= f ? t - f : 0;
	*minus = f >= t ? f - t : 0;
	if (!a.torus || f == t)
		return;
	if (t > f)
		*minus = f + a.dim - t;
	else
		*plus = t + a.dim - f;
}

/**
 * bgdma_route_minimal() - the directions that lead nearer, with all ways open
 * @shape: of the partition
 * @from: a node
 * @to: a node
 *
 * The lowest is that of dimension order: X before Y before Z, and plus where both
 * ways round are as long.
 *
 * Return: a bit for each; 0 if the two are the same.
 */
u32 bgdma_route_minimal(const struct bgdma_shape *shape, u32 from, u32 to)
{
	u32 plus, minus, ways = 0;
	unsigned int i;

	for (i = 0; i < 3; i++) {
		bgdma_route_hops(shape, i, from, to, &plus, &minus);
		if (plus && (!minus || plus <= minus))
			ways |= 1U << (2 * i);
		if (minus && (!plus || minus <= plus))
			ways |= 2U << (2 * i);
	}
	return ways;
}

/**
 * bgdma_route_nearer() - hops in a direction that lead nearer to a node
 * @shape: of the partition
 * @from: a node
 * @to: a node
 * @direction: one of those of bgdma_route_minimal()
 */
u32 bgdma_route_nearer(const struct bgdma_shape *shape, u32 from, u32 to,
		       unsigned int direction)
{
	u32 plus, minus;

	bgdma_route_hops(shape, direction / 2, from, to, &plus, &minus);
	return direction % 2 ? minus : plus;
}

/**
 * bgdma_route_along() - straight on within a run of ranks, however many they are
 * @shape: of the partition
 * @rank: of a node in the run
 * @direction: enum bgdma_direction
 * @run: the run
 * @hops: at most so many; less by those that were gone
 *
 * It ends where the run does, or at the last node of the axis.
 *
 * Return: where that is.
 */
u32 bgdma_route_along(const struct bgdma_shape *shape, u32 rank,
		      unsigned int direction, const struct bgdma_way_run *run,
		      u32 *hops)
{
	struct bgdma_route_axis a = bgdma_route_axis(shape, direction / 2);
	u32 at = rank / a.stride % a.dim;
	u32 edge = direction % 2 ? at : a.dim - 1 - at;
	u32 end = direction % 2 ? rank - run->first : run->last - rank;
	u32 n = min(*hops, min(edge, end / a.stride));

	*hops -= n;
	return direction % 2 ? rank - n * a.stride : rank + n * a.stride;
}

/**
 * bgdma_route_flood() - how far each node is from one, where some ways are closed
 * @shape: of a partition of at most BGDMA_ROUTE_NODES_MAX nodes
 * @to: the node
 * @open: which ways are open
 * @arg: for it
 * @distance: of each node from there, filled in; BGDMA_ROUTE_FAR
 * @queue: room for as many nodes
 */
void bgdma_route_flood(const struct bgdma_shape *shape, u32 to,
		       bgdma_route_open_fn *open, void *arg, u16 *distance,
		       u32 *queue)
{
	u32 head = 0, tail = 0, size = bgdma_shape_size(shape);
	unsigned int d;

	memset(distance, 0xff, size * sizeof(*distance));
	distance[to] = 0;
	queue[tail++] = to;
	while (head < tail) {
		u32 rank = queue[head++];

		for (d = 0; d < BGDMA_DIRECTIONS; d++) {
			u32 from = bgdma_route_neighbour(shape, rank, d ^ 1);

			/* From there this way. */
			if (from == BGDMA_ROUTE_NONE ||
			    distance[from] != BGDMA_ROUTE_FAR ||
			    distance[rank] + 1 >= BGDMA_ROUTE_FAR ||
			    !open(arg, from, d))
				continue;
			distance[from] = distance[rank] + 1;
			queue[tail++] = from;
		}
	}
}
