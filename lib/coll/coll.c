// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The module of a process: what all of its groups share. And what a group says of itself.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collective.h"

#define QUOTA		64
#define SENDERS_MAX	64	/* more of them wait for each other */
#define TIMEOUT_MS	3600000	/* death ends a wait, not time */
#define ENTRIES_MIN	64U

/* ---- The module -------------------------------------------------------- */

static void on_trouble(void *arg, const struct bgdma_trouble_info *info)
{
	struct bgdma_coll *coll = arg;

	/* What was lost on the way to the dead says nothing of what he had sent. */
	if (info->rank < bgdma_endpoint_size(coll->ep) &&
	    info->trouble == BGDMA_TROUBLE_PEER_DOWN)
		coll_fail(coll, info->rank);
}

/* What the context held is gone with it. */
static void release(void *arg)
{
	struct bgdma_coll *coll = arg;
	struct bgdma_coll_request *r;
	struct bgdma_coll_group *g;

	while ((g = coll->groups)) {
		coll->groups = g->next;
		while ((r = g->requests)) {
			g->requests = r->next;
			request_free(r);
		}
		group_free(g);
	}
	if (coll->spare)
		group_free(coll->spare);
	refusals_free(coll);
	cards_free(coll);
	free(coll->down);
	free(coll->room);
	free(coll);
}

static int objects_create(struct bgdma_coll *coll)
{
	struct bgdma_ctx *ctx = bgdma_endpoint_ctx(coll->ep);
	uint32_t size = bgdma_endpoint_size(coll->ep);
	struct bgdma_inj_attr inj = { .entries = ENTRIES_MIN };
	const struct bgdma_rgq_attr rgq = {
		.quota = QUOTA, .timeout_ms = TIMEOUT_MS,
		.senders = size < SENDERS_MAX ? size : SENDERS_MAX,
	};
	int ret;

	while (inj.entries < 2 * size && inj.entries < BGDMA_INJ_ENTRIES_MAX)
		inj.entries *= 2;
	ret = bgdma_inj_create(ctx, &inj, &coll->fifo);
	return ret ? ret : bgdma_rgq_create(ctx, &rgq, &coll->queue);
}

static int operations_register(struct bgdma_coll *coll)
{
	char give[BGDMA_OPERATION_NAME_MAX], room[BGDMA_OPERATION_NAME_MAX];
	const struct {
		const char *name;
		uint32_t flags;
		bgdma_packet_fn *packet;
		uint32_t *id;
		enum bgdma_operation_type type;
	} ops[] = {
		{ "ready", BGDMA_OPERATION_CONTROL, on_ready, &coll->ready_id,
		  BGDMA_COLLECTIVE },
		{ "gone", BGDMA_OPERATION_CONTROL, on_gone, &coll->gone_id,
		  BGDMA_COLLECTIVE },
		{ "card", BGDMA_OPERATION_CONTROL, on_card, &coll->card_id,
		  BGDMA_COLLECTIVE },
		{ "piece", 0, on_coll_piece, &coll->piece_id, BGDMA_COLLECTIVE },
		{ "stop", 0, on_coll_stop, &coll->stop_id, BGDMA_COLLECTIVE },
		{ give, BGDMA_OPERATION_CONTROL, on_coll_give, &coll->give_id,
		  BGDMA_COLLECTIVE },
		{ room, BGDMA_OPERATION_CONTROL, on_coll_room, &coll->room_id,
		  BGDMA_COLLECTIVE },
		/* As every RTS. */
		{ "long", 0, on_coll_long, &coll->long_id, BGDMA_POINT_TO_POINT },
	};
	struct bgdma_operation_attr attr = { .module = "coll", .arg = coll };
	unsigned int i;
	int ret = 0;

	/* Who would have another window is told so by the commit. */
	snprintf(give, sizeof(give), "give, %u bytes for each member",
		 credit_window(coll));
	snprintf(room, sizeof(room), "room, %u bytes for each process",
		 room_window(coll));
	for (i = 0; !ret && i < sizeof(ops) / sizeof(ops[0]); i++) {
		attr.name = ops[i].name;
		attr.type = ops[i].type;
		attr.flags = ops[i].flags;
		attr.packet = ops[i].packet;
		ret = bgdma_operation_register(coll->ep, &attr, ops[i].id);
	}
	return ret;
}

int bgdma_coll_create(struct bgdma_coll **collp, struct bgdma_endpoint *ep,
		      struct bgdma_job *job)
{
	struct bgdma_module_attr module = {
		.work = coll_work, .trouble = on_trouble, .release = release,
	};
	struct bgdma_coll *coll = calloc(1, sizeof(*coll));
	int ret = -ENOMEM;

	if (!coll)
		return -ENOMEM;
	if (sum_default(&coll->summation)) {
		free(coll);
		return -EINVAL;
	}
	coll->ep = ep;
	module.arg = coll;
	(void)job;
	coll->down = calloc(bgdma_endpoint_size(ep), sizeof(*coll->down));
	coll->room = calloc(bgdma_endpoint_size(ep), sizeof(*coll->room));
	coll->spare = group_new(coll);
	if (coll->down && coll->room && coll->spare)
		ret = cards_create(coll);
	if (!ret)
		ret = objects_create(coll);
	/* From here on the endpoint has callbacks to us. */
	if (!ret)
		ret = bgdma_module_add(ep, &module);
	if (ret) {
		bgdma_rgq_destroy(coll->queue);
		bgdma_inj_destroy(coll->fifo);
		release(coll);
		return ret;
	}
	ret = operations_register(coll);
	if (!ret)
		*collp = coll;
	return ret;
}

/* ---- What it is -------------------------------------------------------- */

uint32_t bgdma_coll_rank(const struct bgdma_coll_group *g)
{
	return g->rank;
}

uint32_t bgdma_coll_size(const struct bgdma_coll_group *g)
{
	return g->size;
}

uint32_t bgdma_coll_member(const struct bgdma_coll_group *g, uint32_t number)
{
	return number < g->size ? g->member[number] : BGDMA_STRANGER;
}

uint32_t bgdma_coll_dead(const struct bgdma_coll_group *g)
{
	return g->dead;
}

void bgdma_coll_plan_sized(const struct bgdma_coll_group *g,
			   struct bgdma_coll_plan *plan, size_t size)
{
	struct bgdma_coll_plan p = {
		.steps = g->steps, .packets = g->descs, .hops = g->hops,
		.deposit = g->bound,
	};
	size_t known = size < sizeof(p) ? size : sizeof(p);
	uint32_t i;

	for (i = 0; i < g->steps && has_replies(g); i++) {
		p.replies += g->step[i].others;
		p.reply_hops += step_hops(g, &g->step[i]);
	}
	memset(plan, 0, size);
	memcpy(plan, &p, known);
}

const struct bgdma_counter *bgdma_coll_counter(const struct bgdma_coll_group *g,
					       uint32_t step)
{
	return step < g->steps ? g->step[step].counter : NULL;
}
