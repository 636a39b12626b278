// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Where members are on the torus, and how they make a tree that crosses few links.
 */
#include <errno.h>
#include <stdlib.h>

#include "../torus.h"
#include "internal.h"

const struct bgdma_peer *peer_of(const struct bgdma_coll_group *g,
				 uint32_t number)
{
	return bgdma_endpoint_peer(g->coll->ep, g->member[number]);
}

uint32_t node_hops(const struct bgdma_ctx_info *info, uint32_t from,
		   uint32_t to)
{
	uint32_t hops = 0;
	unsigned int axis;

	for (axis = 0; axis < AXES; axis++)
		hops += axis_hops(info, from, to, axis);
	return hops;
}

/*
 * @number: of a member
 * @node: where it is
 * @hops: from the member whose neighbours are looked for
 */
struct place {
	uint32_t number, node, hops;
};

/*
 * @info: of the torus
 * @size: places
 * @order: members by place
 */
struct places {
	const struct bgdma_ctx_info *info;
	uint32_t size;
	uint32_t *order;
};

/* How many there are from @place on downwards: layer by layer. */
static uint32_t places_under(uint32_t place, uint32_t size)
{
	uint64_t first = place, last = place, n = 0;

	while (first < size) {
		n += (last < size ? last : size - 1) - first + 1;
		first = 2 * first + 1;
		last = 2 * last + 2;
	}
	return (uint32_t)n;
}

static int nearer(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->hops != y->hops)
		return x->hops < y->hops ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static void hops_from(const struct places *p, const struct place *from,
		      struct place *set, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		set[i].hops = node_hops(p->info, from->node, set[i].node);
}

/* Who is nearest to @from comes first, of those as near the lowest number. */
static void nearest_first(const struct places *p, const struct place *from,
			  struct place *set, uint32_t n)
{
	struct place first;
	uint32_t best = 0, i;

	hops_from(p, from, set, n);
	for (i = 1; i < n; i++)
		if (nearer(&set[i], &set[best]) < 0)
			best = i;
	first = set[best];
	set[best] = set[0];
	set[0] = first;
}

/*
 * The first of the set has the place, who is nearest to him the next one, with as many of
 * those who are nearest to that one as go under it; and the rest the other.
 */
static void settle(const struct places *p, uint32_t place,
		   struct place *set, uint32_t n)
{
	const struct place *top = set++;
	uint32_t child, under;

	p->order[place] = top->number;
	n--;
	for (child = 2 * place + 1; n; child++) {
		under = places_under(child, p->size);
		nearest_first(p, top, set, n);
		hops_from(p, set, set + 1, n - 1);
		qsort(set + 1, n - 1, sizeof(*set), nearer);
		settle(p, child, set, under);
		set += under;
		n -= under;
	}
}

static int places_find(const struct bgdma_ctx_info *info,
		       const uint32_t *node, uint32_t size, uint32_t *order)
{
	const struct places p = { info, size, order };
	struct place *set = calloc(size, sizeof(*set));
	uint32_t i;

	if (!set)
		return -ENOMEM;
	for (i = 0; i < size; i++) {
		set[i].number = i;
		set[i].node = node[i];
	}
	settle(&p, 0, set, size);
	free(set);
	return 0;
}

int tree_places(const struct bgdma_coll_group *g, uint32_t *order)
{
	uint32_t *node = calloc(g->size, sizeof(*node)), i;
	int ret = -ENOMEM;

	for (i = 0; node && i < g->size; i++)
		node[i] = peer_of(g, i)->node;
	if (node)
		ret = places_find(bgdma_ctx_info(bgdma_endpoint_ctx(g->coll->ep)),
				  node, g->size, order);
	free(node);
	return ret;
}
