// SPDX-License-Identifier: GPL-2.0
/*
 * Ways through a torus or mesh (kernel/fabric/route.c), some of them closed,
 * against coordinates that are added up and distances that are counted out by
 * trying all ways again and again.
 */
#include "kernel.h"

#include "../../kernel/fabric/route.c"

#include "fuzz.h"

#define DIM_MAX		7
#define NODES_MAX	(DIM_MAX * DIM_MAX * DIM_MAX)

static struct bgdma_shape shape;
static uint32_t size;
static uint8_t closed[NODES_MAX][BGDMA_DIRECTIONS];
static uint16_t reference[NODES_MAX];

/* The node next to one, by its coordinates. */
static uint32_t next_to(uint32_t rank, unsigned int direction)
{
	uint32_t at[3] = { rank % shape.dims[0],
			   rank / shape.dims[0] % shape.dims[1],
			   rank / shape.dims[0] / shape.dims[1] };
	unsigned int axis = direction / 2;
	uint32_t dim = shape.dims[axis];

	if (dim == 1)
		return BGDMA_ROUTE_NONE;
	if (!(shape.torus & 1U << axis) &&
	    at[axis] == (direction % 2 ? 0 : dim - 1))
		return BGDMA_ROUTE_NONE;
	at[axis] = (at[axis] + (direction % 2 ? dim - 1 : 1)) % dim;
	return at[0] + shape.dims[0] * (at[1] + shape.dims[1] * at[2]);
}

/* Distances to a node, along ways that are open, until none gets shorter. */
static void count_out(uint32_t to, bool all)
{
	bool shorter = true;
	uint32_t rank;
	unsigned int d;

	for (rank = 0; rank < size; rank++)
		reference[rank] = rank == to ? 0 : BGDMA_ROUTE_FAR;
	while (shorter) {
		shorter = false;
		for (rank = 0; rank < size; rank++) {
			for (d = 0; d < BGDMA_DIRECTIONS; d++) {
				uint32_t next = next_to(rank, d);

				if (next == BGDMA_ROUTE_NONE ||
				    (!all && closed[rank][d]) ||
				    reference[next] + 1 >= reference[rank])
					continue;
				reference[rank] = (uint16_t)(reference[next] + 1);
				shorter = true;
			}
		}
	}
}

static bool is_open(void *arg, u32 rank, unsigned int direction)
{
	must(arg == closed && rank < size && direction < BGDMA_DIRECTIONS);
	must(next_to(rank, direction) != BGDMA_ROUTE_NONE);
	return !closed[rank][direction];
}

static void check_all_open(uint32_t to)
{
	uint32_t rank;
	unsigned int d;

	count_out(to, true);
	for (rank = 0; rank < size; rank++) {
		u32 ways = bgdma_route_minimal(&shape, rank, to);

		must(!ways == (rank == to) && ways < 1U << BGDMA_DIRECTIONS);
		for (d = 0; d < BGDMA_DIRECTIONS; d++) {
			uint32_t next = next_to(rank, d);

			must(bgdma_route_neighbour(&shape, rank, d) == next);
			must(next == BGDMA_ROUTE_NONE ||
			     next_to(next, d ^ 1) == rank);
			must(!(ways & 1U << d) ==
			     (next == BGDMA_ROUTE_NONE ||
			      reference[next] >= reference[rank]));
		}
		/* Dimension order: X before Y before Z. */
		if (ways) {
			d = bgdma_route_first(ways);
			must(ways & 1U << d && !(ways & ((1U << d) - 1)));
		}
	}
}

/* Straight on by a run of ranks: as far as node by node, and not one further. */
static void check_along(uint32_t from, uint32_t to, uint32_t first, uint32_t last)
{
	struct bgdma_way_run run = { .first = first, .last = last };
	u32 ways = bgdma_route_minimal(&shape, from, to), hops, left, rank;
	unsigned int d;

	for (d = 0; d < BGDMA_DIRECTIONS; d++) {
		uint32_t at = from, n = 0;

		if (!(ways & 1U << d))
			continue;
		hops = bgdma_route_nearer(&shape, from, to, d);
		must(hops && hops < shape.dims[d / 2]);
		left = hops;
		rank = bgdma_route_along(&shape, from, d, &run, &left);
		must(rank >= first && rank <= last && left <= hops);
		/* What was passed is of the run, and leads nearer in this direction. */
		while (at != rank) {
			must(bgdma_route_minimal(&shape, at, to) & 1U << d);
			must(bgdma_route_nearer(&shape, at, to, d) == hops - n);
			at = next_to(at, d);
			must(at >= first && at <= last && n++ < hops);
		}
		must(left == hops - n);
		/* It ends for a reason: another one, or beyond the edge. */
		at = next_to(at, d);
		must(!left || at < first || at > last ||
		     (d % 2 ? at > rank : at < rank));
	}
}

/* Whoever always goes to a node that is nearer arrives, or there is no way. */
static void check_some_closed(uint32_t to)
{
	u16 distance[NODES_MAX];
	u32 queue[NODES_MAX];
	uint32_t rank;

	count_out(to, false);
	bgdma_route_flood(&shape, to, is_open, closed, distance, queue);
	for (rank = 0; rank < size; rank++)
		must(distance[rank] == reference[rank]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct input in = { data, bytes };
	uint32_t rank, to, first, last;
	int i;

	for (i = 0; i < 3; i++)
		shape.dims[i] = 1 + (uint32_t)take(&in, 1) % DIM_MAX;
	shape.torus = (uint32_t)take(&in, 1) % 8;
	size = bgdma_shape_size(&shape);
	to = (uint32_t)take(&in, 2) % size;
	first = (uint32_t)take(&in, 2) % size;
	last = (uint32_t)take(&in, 2) % size;
	memset(closed, 0, sizeof(closed));
	for (rank = 0; in.left; rank = (rank + 1) % size) {
		uint8_t ways = (uint8_t)take(&in, 1);

		for (i = 0; i < BGDMA_DIRECTIONS; i++)
			closed[rank][i] ^= ways >> i & 1;
	}
	check_all_open(to);
	check_some_closed(to);
	for (rank = 0; rank < size; rank++)
		check_along(rank, to, first < rank ? first : rank,
			    last > rank ? last : rank);
	return 0;
}
