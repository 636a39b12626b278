// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The packets of a barrier (BA-2, BA-3): made once, sent as they are each time.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../torus.h"
#include "internal.h"

static const uint8_t routes[AXES][2] = {
	{ BGDMA_ROUTE_XP, BGDMA_ROUTE_XM },
	{ BGDMA_ROUTE_YP, BGDMA_ROUTE_YM },
	{ BGDMA_ROUTE_ZP, BGDMA_ROUTE_ZM },
};

static const struct bgdma_ctx_info *info_of(const struct bgdma_coll_group *g)
{
	return bgdma_ctx_info(bgdma_endpoint_ctx(g->coll->ep));
}

/* Hops of the shortest way to a member, which packets take on their own. */
static uint32_t distance(const struct bgdma_coll_group *g, uint32_t number)
{
	const struct bgdma_ctx_info *info = info_of(g);

	return node_hops(info, info->rank, peer_of(g, number)->node);
}

/* What counts: bytes that are read for others, or bytes that land. */
unsigned int counter_kind(const struct bgdma_coll_group *g)
{
	return g->flags & BGDMA_SPLIT_PUT ? BGDMA_RECEPTION : BGDMA_INJECTION;
}

/* Do members differ in this coordinate? */
static bool spans(const struct bgdma_coll_group *g, unsigned int axis)
{
	const struct bgdma_ctx_info *info = info_of(g);
	uint32_t own = coordinate(info, info->rank, axis), i;

	for (i = 0; i < g->size; i++)
		if (coordinate(info, peer_of(g, i)->node, axis) != own)
			return true;
	return false;
}

static int node_compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* No node twice. Whether it is so no two members may see differently. */
static bool alone_on_nodes(const struct bgdma_coll_group *g)
{
	uint32_t *node = g->node, i;

	for (i = 0; i < g->size; i++)
		node[i] = peer_of(g, i)->node;
	qsort(node, g->size, sizeof(*node), node_compare);
	for (i = 1; i < g->size; i++)
		if (node[i] == node[i - 1])
			return false;
	return true;
}

/*
 * All nodes of a box of whole lines, one process each: as many as the axes that
 * they differ along have, and no node twice.
 */
bool lines_fit(const struct bgdma_coll_group *g)
{
	const struct bgdma_ctx_info *info = info_of(g);
	uint64_t nodes = 1;
	unsigned int axis;

	if (g->flags & BGDMA_SPLIT_PLAIN || g->size < 2 ||
	    g->size > BGDMA_GROUP_MEMBERS_MAX)
		return false;
	for (axis = 0; axis < AXES; axis++)
		if (spans(g, axis))
			nodes *= info->dims[axis];
	return nodes == g->size && alone_on_nodes(g);
}

static int descs_alloc(struct bgdma_coll_group *g, uint32_t count)
{
	free(g->desc);
	g->descs = 0;
	g->hops = 0;
	g->steps = 0;
	g->desc = calloc(count, sizeof(*g->desc));
	return g->desc ? 0 : -ENOMEM;
}

/*
 * What a packet names at its receiver: handles of one member, or the slots of all.
 * @to: the member, or NULL
 * @group: with slots, or BGDMA_NONE
 */
struct objects {
	uint32_t memory, counter;
	uint16_t queue;
	const struct bgdma_peer *to;
	uint32_t group;
};

/*
 * A byte of the receiver, counted there: into its own sink, or into ours, which
 * is counted too. @at: where it lies until it is got.
 */
static void control_make(const struct bgdma_coll_group *g, uint32_t at,
			 const struct objects *o)
{
	const struct bgdma_ctx_info *info = info_of(g);
	struct bgdma_transfer t = bgdma__no_transfer();
	struct bgdma_desc desc;

	t.from.region = o->memory;
	t.to.region = o->memory;
	t.to.offset = SINK_AT;
	t.counter = o->counter;
	t.length = 1;
	if (g->flags & BGDMA_SPLIT_NO_REPLY) {
		bgdma_desc_local_copy(&desc, &t);
	} else {
		t.dest = info->rank;
		t.dest_ctx = info->ctx;
		t.to.region = bgdma_region_handle(g->memory);
		t.remote_counter = bgdma_counter_handle(g->sink);
		bgdma_desc_put(&desc, &t);
	}
	if (o->group != BGDMA_NONE)
		bgdma_desc_under(&desc, o->group);
	memcpy((char *)bgdma_region_addr(g->packets) + at, &desc, sizeof(desc));
}

/* The remote get that brings it; or the byte itself, counted where it lands. */
static struct bgdma_desc *packet_make(struct bgdma_coll_group *g, uint32_t at,
				      const struct objects *o)
{
	struct bgdma_desc *desc = &g->desc[g->descs++];
	struct bgdma_transfer t = bgdma__no_transfer();

	if (o->to) {
		t.dest = o->to->node;
		t.dest_ctx = o->to->ctx;
	}
	if (g->flags & BGDMA_SPLIT_PUT) {
		t.from.region = bgdma_region_handle(g->memory);
		t.length = 1;
		t.to.region = o->memory;
		t.to.offset = SINK_AT;
		t.remote_counter = o->counter;
		bgdma_desc_put(desc, &t);
		return desc;
	}
	control_make(g, at, o);
	t.from.region = bgdma_region_handle(g->packets);
	t.from.offset = at;
	t.length = sizeof(*desc);
	t.dest_fifo = o->queue;
	bgdma_desc_rget(desc, &t);
	return desc;
}

/* BA-2: on a torus one packet one way, on a mesh one each way. */
static void line_build(struct bgdma_coll_group *g, unsigned int axis)
{
	const struct bgdma_ctx_info *info = info_of(g);
	struct step *step = &g->step[g->steps];
	uint32_t at = g->steps * sizeof(struct bgdma_desc);
	const struct objects slots = {
		.memory = SLOT_MEMORY, .counter = SLOT_COUNTERS + g->steps,
		.queue = SLOT_QUEUE, .group = g->number,
	};
	unsigned int way, ways = info->torus & 1U << axis ? 1 : 2;
	uint32_t last, hops;

	*step = (struct step){
		.counter = g->counter[g->steps], .axis = axis,
		.others = info->dims[axis] - 1,
		.first = g->descs,
	};
	for (way = 0; way < ways; way++) {
		last = bgdma_line_last(info, routes[axis][way], &hops);
		if (!hops)
			continue;
		bgdma_desc_deposit(packet_make(g, at, &slots), g->number,
				   routes[axis][way], last);
		g->hops += hops;
	}
	step->count = g->descs - step->first;
	g->steps++;
}

/* Our objects in their slots, for all members. */
static int slots_bind(struct bgdma_coll_group *g, const struct card *own)
{
	struct bgdma_group_slot slots[SLOTS] = {
		[SLOT_QUEUE] = { BGDMA_KIND_RGET_QUEUE, own->queue },
		[SLOT_MEMORY] = { BGDMA_KIND_REGION, own->memory },
		[SLOT_SINK] = { BGDMA_KIND_REC_COUNTER, own->sink },
	};
	struct bgdma_group_member *members = calloc(g->size, sizeof(*members));
	struct bgdma_group_attr attr = {
		.number = g->number, .slots = slots,
		.slot_count = SLOT_COUNTERS + g->steps,
		.members = members, .member_count = g->size,
	};
	uint32_t i;
	int ret;

	if (!members)
		return -ENOMEM;
	for (i = 0; i < g->steps; i++)
		slots[SLOT_COUNTERS + i] = (struct bgdma_group_slot){
			BGDMA_KIND_INJ_COUNTER + counter_kind(g),
			bgdma_counter_handle(g->counter[i]),
		};
	for (i = 0; i < g->size; i++) {
		members[i].rank = peer_of(g, i)->node;
		members[i].ctx = peer_of(g, i)->ctx;
		members[i].incarnation = peer_of(g, i)->incarnation;
	}
	ret = bgdma_group_bind(bgdma_endpoint_ctx(g->coll->ep), &attr);
	g->bound = !ret;
	free(members);
	return ret;
}

int lines_build(struct bgdma_coll_group *g, const struct card *own)
{
	unsigned int axis;
	int ret;

	ret = descs_alloc(g, 2 * AXES);
	if (ret)
		return ret;
	for (axis = 0; axis < AXES; axis++)
		if (spans(g, axis))
			line_build(g, axis);
	return slots_bind(g, own);
}

bool step_has(const struct bgdma_coll_group *g, const struct step *step,
	      uint32_t number)
{
	const struct bgdma_ctx_info *info = info_of(g);
	uint32_t node = peer_of(g, number)->node;
	unsigned int axis;

	for (axis = 0; step->axis < AXES && axis < AXES; axis++)
		if (axis != step->axis &&
		    coordinate(info, node, axis) !=
		    coordinate(info, info->rank, axis))
			return false;
	return true;
}

uint32_t step_hops(const struct bgdma_coll_group *g, const struct step *step)
{
	uint32_t hops = 0, i;

	for (i = 0; i < g->size; i++)
		if (step_has(g, step, i))
			hops += distance(g, i);
	return hops;
}

/* ---- Any set ----------------------------------------------------------- */

static int grant_all(struct bgdma_coll_group *g, struct bgdma_grant_attr *to)
{
	int ret;

	to->rights = 0;
	ret = bgdma_counter_grant(g->counter[0], 1, to, NULL);
	if (!ret)
		ret = bgdma_counter_grant(g->sink, 1, to, NULL);
	to->rights = BGDMA_RIGHT_READ | BGDMA_RIGHT_WRITE;
	if (!ret)
		ret = bgdma_region_grant(g->memory, to, NULL);
	return ret;
}

static void grantee(struct bgdma_grant_attr *to, const struct bgdma_peer *peer)
{
	to->rank = peer->node;
	to->ctx = peer->ctx;
	to->incarnation = peer->incarnation;
}

/* All groups share the queue: the job may use it, as ever. */
static int queue_grant(struct bgdma_coll *coll)
{
	int ret = 0;

	if (!coll->open)
		ret = bgdma_endpoint_grant(coll->ep, BGDMA_KIND_RGET_QUEUE,
					   bgdma_rgq_id(coll->queue), 1, 0);
	coll->open = !ret;
	return ret;
}

/* Members, and nobody else, as far as an object has room for so many grants. */
static int members_grant(struct bgdma_coll_group *g)
{
	struct bgdma_grant_attr to = {
		.rank = BGDMA_RANK_ANY, .ctx = BGDMA_CTX_ANY,
	};
	uint32_t i;
	int ret = queue_grant(g->coll);

	if (!ret && g->size > BGDMA_GRANTS_MAX)
		return grant_all(g, &to);
	for (i = 0; !ret && i < g->size; i++) {
		grantee(&to, peer_of(g, i));
		ret = grant_all(g, &to);
	}
	return ret;
}

int plain_build(struct bgdma_coll_group *g, const struct card *cards)
{
	uint32_t i, at = 0;
	int ret;

	ret = descs_alloc(g, g->size);
	if (ret)
		return ret;
	for (i = 0; i < g->size; i++) {
		const struct card *card = &cards[g->member[i]];
		const struct objects theirs = {
			.memory = card->memory, .counter = card->counter,
			.queue = (uint16_t)card->queue, .to = peer_of(g, i),
			.group = BGDMA_NONE,
		};

		if (i == g->rank)
			continue;
		packet_make(g, at, &theirs);
		at += sizeof(struct bgdma_desc);
	}
	g->step[0] = (struct step){
		.counter = g->counter[0], .axis = AXES,
		.others = g->size - 1, .count = g->descs,
	};
	g->hops = step_hops(g, &g->step[0]);
	g->steps = g->size > 1;
	return members_grant(g);
}
