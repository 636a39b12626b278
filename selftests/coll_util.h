/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the tests of the coll module share.
 */
#ifndef BGDMA_SELFTESTS_COLL_UTIL_H
#define BGDMA_SELFTESTS_COLL_UTIL_H

#include <bgdma/coll.h>

#include "sys_util.h"

/* What the processes of a job see together. */
struct board {
	int64_t round[RANKS_MAX];	/* that a process has entered */
	int64_t value[RANKS_MAX];
	uint32_t turn;			/* steps that were taken */
	uint32_t here[16];		/* processes that are past a place */
};

static struct board *board;

/* One process, its group, and what is asked of it. */
struct caller {
	struct member m;
	struct bgdma_coll *coll;
	struct bgdma_coll_group *group;
};

static inline int caller_open_as(struct caller *c,
				 const struct bgdma_endpoint_attr *ep)
{
	int ret = member_open(&c->m, ep);

	if (!ret)
		ret = bgdma_coll_create(&c->coll, c->m.ep, c->m.job);
	return ret ? ret : bgdma_endpoint_commit(c->m.ep, NULL);
}

static inline int caller_open(struct caller *c, uint32_t per_node)
{
	const struct bgdma_endpoint_attr ep = { .per_node = per_node };

	return caller_open_as(c, &ep);
}

static inline int caller_close(struct caller *c)
{
	bgdma_coll_group_destroy(c->group);
	return member_close(&c->m);
}

/* Others make progress until all are here. */
static inline void caller_meet(struct caller *c)
{
	static uint32_t turn;
	uint32_t *here = &board->here[turn % 16];

	__atomic_fetch_add(here, 1, __ATOMIC_ACQ_REL);
	while (load(here) < c->m.size * (turn / 16 + 1))
		(void)bgdma_endpoint_wait(c->m.ep, 1000000);
	turn++;
}

/* Without a barrier of ours. */
static inline void place(uint32_t which, uint32_t size)
{
	__atomic_fetch_add(&board->here[which], 1, __ATOMIC_ACQ_REL);
	must(until(load(&board->here[which]) >= size) ? 0 : -ETIME);
}

/* The identifier of an operation of the module: every endpoint has the same. */
static inline int operation_id(struct caller *c, const char *name,
			       enum bgdma_operation_type type, uint32_t *id)
{
	const struct bgdma_endpoint_attr attr = { .job = c->m.job };
	const struct bgdma_operation_attr operation = {
		.module = "coll", .name = name, .type = type,
		.flags = BGDMA_OPERATION_CONTROL,
		.packet = (bgdma_packet_fn *)(uintptr_t)1,
	};
	struct bgdma_endpoint *ep;

	require_is(0, bgdma_endpoint_create(&ep, &attr));
	require_is(0, bgdma_operation_register(ep, &operation, id));
	bgdma_endpoint_destroy(ep);
	return 0;
}

/* Packets that meant nothing. */
static inline uint64_t malformed(struct caller *c)
{
	struct bgdma_endpoint_stats stats;

	(void)bgdma_endpoint_progress(c->m.ep, 64);
	bgdma_endpoint_stats(c->m.ep, &stats);
	return stats.trouble[BGDMA_TROUBLE_MALFORMED];
}

#endif /* BGDMA_SELFTESTS_COLL_UTIL_H */
