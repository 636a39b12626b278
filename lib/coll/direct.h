/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Short all-reduces of few members: each puts what it has into a box at each other.
 */
#ifndef BGDMA_COLL_DIRECT_H
#define BGDMA_COLL_DIRECT_H

#include <stdbool.h>
#include <stdint.h>

#include <bgdma/bgdma.h>

struct act;
struct bgdma_coll_group;
struct card;

/* A put for each of the others: more members do better by other ways. */
#define DIRECT_MEMBERS	4U
/* Two boxes of each member are a KiB. */
#define DIRECT_BYTES	496U

/* Descriptors of a FIFO: from @first on, before @next. */
struct span {
	uint64_t first, next;
};

static inline bool span_has(const struct span *s, uint64_t seq)
{
	return seq - s->first < s->next - s->first;
}

/*
 * @boxes: two for each member, by number, which it alone writes, in turn; our own two
 *	are what we put
 * @landed: puts of others that have not landed yet, of each second turn that has begun
 * @desc: of the two turns, one for each other member
 * @sent: what was put last from each of our own two
 * @act: under way
 * @done: all had landed when it began
 * @turns: that have begun
 */
struct direct {
	struct bgdma_region *boxes;
	struct bgdma_counter *landed[2];
	struct bgdma_desc desc[2][DIRECT_MEMBERS - 1];
	struct span sent[2];
	struct act *act;
	bool done, usable;
	uint32_t turns;
};

/* What others have to know; a process that has no counter left does without. */
void direct_objects(struct bgdma_coll_group *g, struct card *own);
/* If all members can: 0, or why they may not write to our boxes. */
int direct_build(struct bgdma_coll_group *g, const struct card *cards);
void direct_end(struct bgdma_coll_group *g);

/* An act waits for its turn: that of its request, in the order of requests. */
void act_direct(struct act *act);
/* Begin the next, if there is one whose turn it is. */
void direct_next(struct bgdma_coll_group *g);
/* What is under way, of a group where something is, may have ended: how many have. */
int direct_work(struct bgdma_coll_group *g);
/* A member sends nothing more: does the act that is under way miss something of it? */
bool direct_misses(const struct bgdma_coll_group *g, uint32_t number);
/* The group is over: nothing is begun, or waited for, any more. */
void direct_break(struct bgdma_coll_group *g);
/* Is a message of the collective that is under way? Then its sender means another. */
bool direct_is(const struct bgdma_coll_group *g, uint64_t word);
/* Whether all that was put has, or has failed. */
bool direct_landed(const struct bgdma_coll_group *g);

#endif /* BGDMA_COLL_DIRECT_H */
