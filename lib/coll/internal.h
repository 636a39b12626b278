/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * What the files of the coll module share.
 */
#ifndef BGDMA_COLL_INTERNAL_H
#define BGDMA_COLL_INTERNAL_H

#include <bgdma/coll.h>

#include "../attr.h"

#define AXES	3
#define ROUNDS	2	/* by lines, or by plain packets instead */

/* The slots of a group, the same at all members. 0 is no place to a builder. */
enum slot { SLOT_QUEUE = 0, SLOT_MEMORY = 1, SLOT_SINK = 2, SLOT_COUNTERS = 3,
	    SLOTS = SLOT_COUNTERS + AXES };

/* A group's memory, which members may write: a byte to get, one to get into. */
#define BYTE_AT		0
#define SINK_AT		8
#define MEMORY_BYTES	16

#define TAKEN_WORDS	(BGDMA_GROUPS_MAX / 64)

/*
 * What each process tells of itself: see bgdma_coll_split().
 * @taken: a bit for each number of a group that it cannot use
 */
struct card {
	uint32_t color;
	uint32_t key;
	uint32_t flags;
	uint32_t memory;
	uint32_t counter;
	uint32_t sink;
	uint32_t queue;
	uint32_t failed;
	uint64_t taken[TAKEN_WORDS];
};

/*
 * One counter: an axis, or all members.
 * @others: members that it counts
 * @first, @count: of the descriptors that tell them
 * @done: the own add has reached zero
 */
struct step {
	struct bgdma_counter *counter;
	uint32_t others;
	uint32_t first, count;
	bool done;
};

/* What a process has said (by round), and whether it is another member. */
#define SAID_READY(round)	(1U << (round))
#define SAID_REFUSED(round)	(4U << (round))
#define SAID_MEMBER		16U

/*
 * @serial: of the split
 * @number: of the group at the nodes, if by lines; else BGDMA_GROUPS_MAX
 * @size: 0 until it is known who is a member
 * @said: SAID_*, by rank in the job
 * @ready: other members that have said that they are, by round
 * @refused: one of them could not, by round
 * @bound: slots are
 * @entered: in a barrier, at step @at
 * @memory: for all members
 * @packets: that others get and run in our name: for nobody else
 * @replies: that the sink has to count
 */
struct bgdma_coll_group {
	struct bgdma_coll *coll;
	struct bgdma_coll_group *next;
	uint32_t serial;
	uint32_t number;
	uint32_t flags;
	uint32_t *member;
	uint32_t size, rank;
	uint8_t *said;
	uint32_t ready[ROUNDS];
	bool refused[ROUNDS];
	bool bound;
	struct bgdma_region *memory, *packets;
	struct bgdma_counter *sink;
	struct bgdma_counter *counter[AXES];
	struct bgdma_desc *desc;
	struct step step[AXES];
	uint32_t steps, at;
	uint32_t hops, descs;
	bool entered;
	uint32_t waiting;
	uint32_t dead;
	int error;
	int64_t replies;
};

struct bgdma_coll {
	struct bgdma_endpoint *ep;
	struct bgdma_job *job;
	struct bgdma_inj_fifo *fifo;
	struct bgdma_rget_queue *queue;
	struct bgdma_coll_group *groups;
	uint32_t ready_id;
	uint32_t splits;
	uint64_t taken[TAKEN_WORDS];
	bool open;		/* the queue, to the job */
	bool *down;		/* by rank */
};

/* lines.c: the packets of a barrier */
uint32_t coordinate(const struct bgdma_ctx_info *info, uint32_t node,
		    unsigned int axis);
bool lines_fit(const struct bgdma_coll_group *g);
int lines_build(struct bgdma_coll_group *g, const struct card *own);
int plain_build(struct bgdma_coll_group *g, const struct card *cards);

/* barrier.c */
void coll_fail(struct bgdma_coll *coll, uint32_t rank);
/* What is on its way for the last barrier, for a while. True: nothing is. */
bool barrier_flush(struct bgdma_coll_group *g);
/* Look at the module's FIFO: somebody may be gone. */
int coll_work(void *arg);

#endif /* BGDMA_COLL_INTERNAL_H */
