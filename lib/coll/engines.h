/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Collectives that the engines carry out: a group's class of the combining network.
 */
#ifndef BGDMA_COLL_ENGINES_H
#define BGDMA_COLL_ENGINES_H

#include <bgdma/tree.h>

struct act;
struct bgdma_coll_group;
struct bgdma_coll_request;
struct bgdma_operator;
struct card;

/* Shorter ones are copied into memory that is a region already. */
#define STAGE_BYTES	16384U

/*
 * @number: of the class; BGDMA_CLASSES_MAX: the group has none
 * @fifo: for it alone: who waits there for room keeps up nobody else
 * @ended: collectives that have not ended, none or one
 * @stage: STAGE_BYTES to contribute, and as many for what comes of it
 * @act: under way
 * @from, @to: made for it
 */
struct engines {
	uint32_t number;
	struct bgdma_inj_fifo *fifo;
	struct bgdma_counter *ended;
	struct bgdma_region *stage;
	struct act *act;
	struct bgdma_region *from, *to;
};

/* Before a split is known to have one. */
void engines_none(struct bgdma_coll_group *g);
/* Make it, with a number that all cards have: 0, or why this process has none. */
int engines_build(struct bgdma_coll_group *g, const struct card *cards);
void engines_end(struct bgdma_coll_group *g);
/* The group is over: so it is for who waits for us there. */
void engines_break(struct bgdma_coll_group *g);

/* What is under way for a request of such a group is not waited for. */
void engines_forget(struct bgdma_coll_request *r);

/* What is under way, of a group where something is, may have ended: how many have. */
int engines_work(struct bgdma_coll_group *g);
/* An act waits for its turn: that of its request, in the order of requests. */
void act_engines(struct act *act);
/* Begin the next, if there is one whose turn it is. */
void engines_next(struct bgdma_coll_group *g);

/* How they combine; false: they do not know that operator. */
bool engines_dispatch(const struct bgdma_operator *op, uint16_t *dispatch);

#endif /* BGDMA_COLL_ENGINES_H */
