/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * What the files of the coll module share.
 */
#ifndef BGDMA_COLL_INTERNAL_H
#define BGDMA_COLL_INTERNAL_H

#include <errno.h>

#include <linux/types.h>

#include <bgdma/coll.h>

#include "../attr.h"
#include "../code.h"
#include "direct.h"
#include "engines.h"

#define AXES	3
#define ROUNDS	3	/* by lines, or by plain packets instead; the engines */
#define ROUND_ENGINES	2

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
 * @classes: a bit for each class that it cannot use
 * @boxes, @landed: for short all-reduces (direct.h), or 0
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
	uint32_t classes;
	uint32_t boxes, landed[2];
	uint64_t taken[TAKEN_WORDS];
};

/*
 * What has come for a split, by rank: of the one that is under way, and of the
 * next, for which others may be ready.
 * @here: how many have
 */
struct cards {
	struct card *card;
	bool *came;
	uint32_t here;
};

/*
 * Splits that a process gave up before we began them: who misses somebody waits for no
 * cards, and so may be any number of them ahead.
 * @next: behind the last of them; 0: none
 * @why: who had died
 * @kept: he has sent @card, for @next, which he may not give up
 */
struct ahead {
	uint32_t next, why;
	bool kept;
	struct card card;
};

/*
 * "gone": a process enters no barrier of a group any more.
 * @told: steps that it has told the others of, of all barriers
 * @dead: rank whose death was the reason, or BGDMA_STRANGER
 */
struct gone_wire {
	__le32 told;
	__le32 dead;
};

/*
 * One counter: an axis, or all members.
 * @axis: of its line; AXES: all members
 * @others: members that it counts
 * @first, @count: of the descriptors that tell them
 * @done: the own add has reached zero
 */
struct step {
	struct bgdma_counter *counter;
	unsigned int axis;
	uint32_t others;
	uint32_t first, count;
	bool done;
};

/* What a process has said (by round), and whether it is another member. */
#define SAID_READY(round)	(1U << (round))
#define SAID_REFUSED(round)	(8U << (round))
#define SAID_MEMBER		64U
#define SAID_GONE		128U

/*
 * @serial: of the split
 * @number: of the group at the nodes, if by lines; else BGDMA_GROUPS_MAX
 * @node: room to look at their nodes
 * @size: 0 until it is known who is a member
 * @said: SAID_*, by rank in the job
 * @ready: other members that have said that they are, by round
 * @refused: one of them could not, by round
 * @bound: slots are
 * @made: the split is over
 * @entered: in a barrier, at step @at
 * @told: steps that the others were told of, since it was made
 * @told_by: descriptors that told of the last
 * @gone: by rank in the job: @told of one who has SAID_GONE
 * @why: the last that said so: who had died
 * @broken: a member has
 * @given_up: so do we; members from number @tell on have not been told yet
 * @heard: it was seen to that it reaches them
 * @memory: for all members
 * @packets: that others get and run in our name: for nobody else
 * @replies: that the sink has to count
 * @partner: what goes between us and each member, by number (collective.h)
 * @earlies: messages that came before anybody asked for them
 * @place: number of a member, by rank in the job, or BGDMA_STRANGER
 * @requests: collectives that are under way
 * @collectives: that have begun
 * @stopped: none is any more; members from number @stop_told on have not been told
 * @stop_until: then they are, whatever was put for them has not landed
 * @late: something for collectives had no room, or has to wait
 */
struct bgdma_coll_group {
	struct bgdma_coll *coll;
	struct bgdma_coll_group *next;
	uint32_t serial;
	uint32_t number;
	uint32_t flags;
	uint32_t *member, *node;
	uint32_t size, rank;
	uint8_t *said;
	uint32_t ready[ROUNDS];
	bool refused[ROUNDS];
	bool bound, made;
	struct bgdma_region *memory, *packets;
	struct bgdma_counter *sink;
	struct bgdma_counter *counter[AXES];
	struct bgdma_desc *desc;
	struct step step[AXES];
	uint32_t steps, at;
	uint32_t hops, descs;
	bool entered, broken, given_up, heard;
	uint32_t told, tell;
	struct span told_by;
	uint32_t *gone, why;
	uint32_t waiting;
	uint32_t dead;
	int error;
	int64_t replies;
	struct partner *partner;
	uint32_t earlies;
	uint32_t *place;
	struct bgdma_coll_request *requests;
	uint32_t collectives, stop_told;
	int64_t stop_until;
	bool stopped, late;
	struct engines engines;
	struct direct direct;
};

/*
 * In reception FIFOs, of all groups.
 * @used: of another process's, by what it has not looked at yet
 * @owed: of ours, to be given back to it
 */
struct room {
	uint32_t used, owed;
};

struct bgdma_coll {
	struct bgdma_endpoint *ep;
	struct bgdma_inj_fifo *fifo;
	struct bgdma_rget_queue *queue;
	struct bgdma_coll_group *groups;
	struct bgdma_coll_group *spare;	/* where there is no memory for another */
	uint32_t ready_id, gone_id, card_id;
	uint32_t piece_id, long_id, give_id, stop_id, room_id;
	struct cards cards[2];	/* by the last bit of the split's serial */
	struct ahead *ahead;	/* by rank */
	uint32_t splits;
	uint64_t taken[TAKEN_WORDS];
	uint32_t classes;	/* that are taken */
	bool open;		/* the queue, to the job */
	bool *down;		/* by rank */
	uint32_t telling;	/* groups that have to say that they gave up */
	bool late;		/* some group is, or owes room */
	struct room *room;	/* by rank */
	bool owing;		/* some of it could not be given back */
	struct early *refusals;	/* that there was no memory for */
	bool refusing;		/* nor for one of a packet, which is offered again */
	uint32_t moving;	/* rendezvous that members began */
	uint32_t accepted;	/* that they have accepted */
	uint32_t summation;	/* that is asked for where none is */
};

/* BA-3 */
static inline bool has_replies(const struct bgdma_coll_group *g)
{
	return !(g->flags & (BGDMA_SPLIT_NO_REPLY | BGDMA_SPLIT_PUT));
}

/* split.c */
bgdma_packet_fn on_ready;
/* One that is in no split yet; NULL: no memory. */
struct bgdma_coll_group *group_new(struct bgdma_coll *coll);
void group_free(struct bgdma_coll_group *g);

/* cards.c */
bgdma_packet_fn on_card;
int cards_create(struct bgdma_coll *coll);
void cards_free(struct bgdma_coll *coll);
/* He gave up a split that we have not begun, or a group that we have ended. */
int card_gone(struct bgdma_coll *coll, uint32_t rank, uint64_t serial,
	      uint32_t dead);
/* With the lock: a split begins. */
void cards_begin(struct bgdma_coll_group *g);
/* Until all have told. @cards: valid until the next split. */
int cards_exchange(struct bgdma_coll_group *g, const struct card *own,
		   const struct card **cards);

/* places.c: on the torus */
const struct bgdma_peer *peer_of(const struct bgdma_coll_group *g,
				 uint32_t number);
/* Of the shortest way. */
uint32_t node_hops(const struct bgdma_ctx_info *info, uint32_t from,
		   uint32_t to);
/*
 * Members by their places in a tree, the children of place p at 2 p + 1 and 2 p + 2: near
 * their parents. Member 0 is the root; all members find the same. @order: for all.
 * 0 or -ENOMEM.
 */
int tree_places(const struct bgdma_coll_group *g, uint32_t *order);

/* lines.c: the packets of a barrier */
/* Of a group's counters. */
unsigned int counter_kind(const struct bgdma_coll_group *g);
bool lines_fit(const struct bgdma_coll_group *g);
int lines_build(struct bgdma_coll_group *g, const struct card *own);
/* Whether a member is among those that a step counts, or is this process. */
bool step_has(const struct bgdma_coll_group *g, const struct step *step,
	      uint32_t number);
/* From here to each of them, together: as far as a reply goes. */
uint32_t step_hops(const struct bgdma_coll_group *g, const struct step *step);
int plain_build(struct bgdma_coll_group *g, const struct card *cards);

/* fail.c */
bgdma_packet_fn on_gone;
/* What a member said counts. */
void gone_take(struct bgdma_coll_group *g);
/* A process has gone, and all that it had sent before was taken. */
void coll_fail(struct bgdma_coll *coll, uint32_t rank);
/* A collective failed for want of a member, who may have sent something for others. */
void group_misses(struct bgdma_coll_group *g, uint32_t number);
/* Whom a process that gives up says it was for: -EBADMSG: nobody. */
int dead_read(const struct bgdma_coll *coll, uint32_t rank, __le32 wire,
	      uint32_t *dead);
/* Why no new barrier can be entered; 0: it can. Whoever waits asks with each look. */
static inline int group_failure(const struct bgdma_coll_group *g)
{
	if (bgdma_unlikely(g->dead != BGDMA_STRANGER))
		return -EHOSTDOWN;
	if (bgdma_unlikely(g->error))
		return g->error;
	return bgdma_unlikely(g->broken) ? -EIO : 0;
}

/* Why a step that needs @told of its members cannot be left; 0: it may be. */
int step_failure(const struct bgdma_coll_group *g, const struct step *step,
		 uint32_t told);
/* This process enters no barrier of the group any more: others hear of it. */
void group_give_up(struct bgdma_coll_group *g);
/* The same of a split that failed: whoever is in it hears. Waits for that. */
void split_give_up(struct bgdma_coll_group *g, int error);
/* Until all have heard, for a while. */
void give_up_flush(struct bgdma_coll_group *g);
/* A call returns that a group is of no more use: the first time, the same. */
int group_over(struct bgdma_coll_group *g, int result);
/* A packet could not be sent: to one who is gone, or for another reason. */
void fifo_failed(struct bgdma_coll *coll);
/* Why a counter that others count for shows an error, which stays. */
int counter_failure(struct bgdma_coll_group *g, struct bgdma_counter *counter);
/* Work of the module: look at its FIFO, as somebody may be gone; tell. */
int coll_work(void *arg);

#define FLUSH_NS	1000000000LL

int64_t coll_now_ns(void);

/* barrier.c */
/* What is on its way for the last barrier, for a while. True: nothing is. */
bool barrier_flush(struct bgdma_coll_group *g);

#endif /* BGDMA_COLL_INTERNAL_H */
