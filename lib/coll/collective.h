/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * What the files of the collectives share. A collective is a list of acts, made
 * when it begins: messages, and what this process does with its own memory, in
 * rounds of which each begins when the one before is over.
 */
#ifndef BGDMA_COLL_COLLECTIVE_H
#define BGDMA_COLL_COLLECTIVE_H

#include <bgdma/collective.h>
#include <bgdma/module.h>
#include <bgdma/rendezvous.h>

#include "internal.h"
#include "operator.h"

/* Longer messages cross by rendezvous. */
#define EAGER_MAX	4096U
/* From here on bytes cost more than messages. */
#define LONG_BYTES	32768U
/* What a message takes beside its bytes, where it waits for its receiver. */
#define MESSAGE_COST	128U

/* The word of a message: which group, which of its collectives, and a check. */
#define CHECK_BITS	8
#define NUMBER_BITS	20
#define NUMBER_MASK	((1U << NUMBER_BITS) - 1)
#define SERIAL_SHIFT	(CHECK_BITS + NUMBER_BITS)
#define SERIAL_MASK	((1U << (BGDMA_WORD_BITS - SERIAL_SHIFT)) - 1)

static inline uint64_t word_of(const struct bgdma_coll_group *g)
{
	return (uint64_t)(g->serial & SERIAL_MASK) << SERIAL_SHIFT;
}

enum act_kind { ACT_SEND, ACT_RECV, ACT_COPY, ACT_COMBINE, ACT_CALL, ACT_ENGINES,
		ACT_DIRECT, ACT_ROUND };

/*
 * @peer: number of the other member
 * @from, @to: memory; one of them for messages
 * @bytes: of memory; of ACT_COMBINE elements
 * @op: of ACT_COMBINE and ACT_DIRECT
 * @call: of ACT_CALL, with @to
 * @tree_op, @dispatch: of ACT_ENGINES
 * @next: of those that wait for the same member
 * @moving: a rendezvous, @id
 * @apart: what it goes from or to, where @from or @to cannot be registered
 */
struct act {
	enum act_kind kind;
	uint32_t peer;
	const void *from;
	void *to;
	uint64_t bytes;
	const struct bgdma_operator *op;
	void (*call)(void *arg);
	uint8_t tree_op;
	uint16_t dispatch;
	struct bgdma_coll_request *request;
	struct act *next;
	bool moving;
	uint32_t id;
	void *apart;
};

struct acts {
	struct act *first, *last;
};

struct memory {
	struct memory *next;
	char bytes[] __attribute__((aligned(16)));
};

/*
 * @next: of the group's that are under way
 * @own: the operator that was given
 * @op: that of the acts which are being made
 * @word: of its messages
 * @at: the next act
 * @pending: messages of this round that are under way
 * @moving: of these, rendezvous that this member began
 * @ordered: ACT_ENGINES or ACT_DIRECT, of which it has some: those of a group go one
 *	after the other; else 0
 * @waiting: such an act, until it is its turn
 * @running: acts are being begun
 * @abandoned: by its caller, whose memory nothing is written to any more; it is freed
 *	when it is over
 * @lacking: there was no memory for an act, or for what it needs
 */
struct bgdma_coll_request {
	struct bgdma_coll_group *group;
	struct bgdma_coll_request *next;
	struct bgdma_operator own;
	const struct bgdma_operator *op;
	uint64_t word;
	struct act *act;
	uint32_t count, room, at;
	uint32_t pending, moving;
	struct memory *memory;
	enum act_kind ordered;
	struct act *waiting;
	bool running, lacking, over, abandoned;
	int result;
};

/*
 * A message that came before anybody asked for it.
 * @claimed: who did, before all of it was there, or there was room for it
 * @rts: of a long one
 */
struct early {
	struct early *next;
	uint64_t word, length;
	bool is_long, whole;
	struct act *claimed;
	struct bgdma_rts rts;
	char bytes[];
};

/*
 * What goes between this process and another member.
 * @sends: that wait for credit or room, in order; the oldest collective's pass
 * @recvs: that nothing has come for
 * @early, @early_last: in order
 * @into, @arriving: what the message that is arriving goes to, either
 * @to, @got, @length: where it does, how far it is
 * @used: credit of his that we have taken
 * @held: credit of ours that he has taken
 * @owed: of it, to be given back
 * @stopped: he sends nothing more
 */
struct partner {
	struct acts sends, recvs;
	struct early *early, *early_last;
	struct act *into;
	struct early *arriving;
	char *to;
	uint64_t got, length;
	uint32_t used, held, owed;
	bool stopped;
};

/*
 * Whose message it is. -ENOENT: the group is over for collectives; -EBADMSG: the
 * sender is no member, or there is no such group yet.
 */
int partner_find(struct bgdma_coll *coll, uint64_t word, uint32_t rank,
		 struct bgdma_coll_group **group, uint32_t *number);

/* credit.c */
bgdma_packet_fn on_coll_give, on_coll_room;
/* What each member may have at each other, and each process in its FIFO; the same at all. */
uint32_t credit_window(const struct bgdma_coll *coll);
uint32_t room_window(const struct bgdma_coll *coll);
/* Whether a member has no more with us than he may. */
bool credit_held(struct bgdma_coll_group *g, struct partner *p, uint64_t bytes);
/* Whether there is credit, and room, and take it. @oldest: for the oldest collective. */
bool credit_take(struct bgdma_coll_group *g, struct partner *p, uint64_t bytes,
		 bool oldest);
/* It could not be sent. */
void credit_put(struct bgdma_coll_group *g, struct partner *p, uint64_t bytes);
/* A message that somebody waited for is there: its bytes are his again. */
void credit_owe(struct bgdma_coll_group *g, uint32_t number, uint64_t bytes);
/* Give back what could not be given before. */
void credit_again(struct bgdma_coll_group *g);
/* A message was looked at, whatever becomes of it: its room is its sender's again. */
void room_owe(struct bgdma_coll *coll, uint32_t rank, uint64_t bytes);
void room_again(struct bgdma_coll *coll);

/* fail.c: something of the group found no room, and is tried again. */
void coll_late(struct bgdma_coll_group *g);

/* The newest is first. */
static inline bool is_oldest(const struct act *act)
{
	return !act->request->next;
}

/* piece.c: messages between members */
bgdma_packet_fn on_coll_piece;
/* The first that waits for a message of this collective, taken off its list. */
struct act *recv_find(struct partner *p, uint64_t word);
/* One of so many bytes that are kept is added, or taken off the list. */
struct early *early_add(struct bgdma_coll_group *g, struct partner *p,
			uint64_t word, uint64_t length, uint64_t bytes);
void early_take(struct bgdma_coll_group *g, struct partner *p, struct early *e);
/*
 * Whether a message is of a collective that is over here: that had all it asked for,
 * so its sender means another.
 */
bool is_past(const struct bgdma_coll_group *g, uint64_t word);
/* Members do not mean the same, or one of them says what is not so: -EBADMSG. */
int nonsense(struct bgdma_coll_group *g);
void act_send(struct act *act);
void act_recv(struct act *act);
/* Whether something is kept that came for this collective, or one that is over. */
bool pieces_left(const struct bgdma_coll_group *g, uint64_t word);
/* What waits for credit or room. */
void sends_go(struct bgdma_coll_group *g, uint32_t number);
/* Another collective is the oldest: what of it waits behind others is tried. */
void sends_pass(struct bgdma_coll_group *g);
/* Nothing is sent or received any more. */
void pieces_drop(struct bgdma_coll_group *g);
int pieces_create(struct bgdma_coll_group *g);
void pieces_free(struct bgdma_coll_group *g);

/* long.c: those that are announced */
bgdma_packet_fn on_coll_long;
/* It goes, and ends later; or an error, -EAGAIN of one that has to wait. */
int long_send(struct act *act);
/* One that is kept is for an act, which asks for it now. */
void early_accept(struct bgdma_coll_group *g, struct partner *p,
		  struct early *e);
/* Those there was no room for. */
void accepts_go(struct bgdma_coll_group *g);
/* One that is in no list any more is freed; its sender is told, now or later. */
void early_end(struct bgdma_coll *coll, struct early *e);
/* Refuse what there was no memory for: how many, or -ENOMEM: still not. */
int refusals_work(struct bgdma_coll *coll);
void refusals_free(struct bgdma_coll *coll);

/* stop.c: a group that is over for collectives */
bgdma_packet_fn on_coll_stop;
/* This process takes no part in any of the group any more. */
void coll_stop(struct bgdma_coll_group *g, int error);
/* If it cannot begin another, and is in none. */
void coll_stop_idle(struct bgdma_coll_group *g);
/* A member sends nothing more: it may be missed. */
void partner_stop(struct bgdma_coll_group *g, uint32_t number, int error);
void stop_tell(struct bgdma_coll_group *g);

/* request.c */
void request_free(struct bgdma_coll_request *r);
/* The request whose turn it is: the oldest that has such acts; or NULL. */
struct bgdma_coll_request *request_oldest(const struct bgdma_coll_group *g,
					  enum act_kind ordered);
/* As operator_combine(); the application's own function runs as callbacks do. */
void group_combine(const struct bgdma_coll_group *g,
		   const struct bgdma_operator *op, const void *in, void *inout,
		   uint64_t count);
/* A message of a round has come, or has gone, or never will. */
void act_done(struct act *act, int result);

/* build.c: what the builders of algorithms make lists with */
/*
 * Blocks of memory, by number, normalized.
 * @each: bytes, if @bytes is NULL
 */
struct layout {
	const uint64_t *bytes, *at;
	uint64_t each;
};

void *request_memory(struct bgdma_coll_request *r, uint64_t bytes);
void add_send(struct bgdma_coll_request *r, uint32_t peer, const void *from,
	      uint64_t bytes);
void add_recv(struct bgdma_coll_request *r, uint32_t peer, void *to,
	      uint64_t bytes);
void add_copy(struct bgdma_coll_request *r, void *to, const void *from,
	      uint64_t bytes);
void add_combine(struct bgdma_coll_request *r, const void *in, void *inout,
		 uint64_t count);
/* What a collective does with its own memory in another way. */
void add_call(struct bgdma_coll_request *r, void (*call)(void *arg), void *arg);
/* What the engines do; it is the only one in its round. */
void add_engines(struct bgdma_coll_request *r, uint8_t op, uint16_t dispatch,
		 const void *from, void *to, uint64_t bytes);
/* What all have, from and to the boxes of all; it is the only one in its round. */
void add_direct(struct bgdma_coll_request *r, const void *from, void *to,
		uint64_t bytes);
void add_round(struct bgdma_coll_request *r);
/* Nothing, of no memory. */
static inline void *plus(void *memory, uint64_t bytes)
{
	return memory ? (char *)memory + bytes : NULL;
}

uint64_t block_bytes(const struct layout *l, uint32_t number);
uint64_t block_at(const struct layout *l, uint32_t number);
/* Where a block is; NULL stays NULL. */
void *block_of(void *memory, const struct layout *l, uint32_t number);
const void *block_in(const void *memory, const struct layout *l,
		     uint32_t number);

/* choose.c */
typedef void build_fn(struct bgdma_coll_request *r,
		      const struct bgdma_collective *what,
		      const struct layout *in, const struct layout *out);

/* 0, -EINVAL, -EMSGSIZE. */
int collective_check(const struct bgdma_coll_group *g,
		     const struct bgdma_collective *what);
/* Its acts, of one that was checked: 0 or -ENOMEM. */
int collective_build(struct bgdma_coll_request *r,
		     const struct bgdma_collective *what);
/* The same at all members who mean the same: CHECK_BITS. */
uint64_t collective_sum(const struct bgdma_coll_group *g,
			const struct bgdma_collective *what);

/* Acts of a reduction by @r->op, whatever @what says of operators. */
void reduction_build(struct bgdma_coll_request *r,
		     const struct bgdma_collective *what,
		     unsigned int algorithm);

/* summation.c: sums of floats that order does not change */
/* enum bgdma_summation of a reduction that was checked, not _AUTO; _PLAIN: no such. */
unsigned int sum_kind(const struct bgdma_coll_group *g,
		      const struct bgdma_collective *what);
/* Bytes that stand for an element on the way. */
uint32_t sum_bytes(const struct bgdma_coll_group *g,
		   const struct bgdma_collective *what);
/* 0, -EINVAL, -EMSGSIZE; the operator was checked. */
int sum_check(const struct bgdma_coll_group *g,
	      const struct bgdma_collective *what);
/* Of one that was not: whether it has too many addends, as no other member may. */
bool sum_overflows(const struct bgdma_coll_group *g,
		   const struct bgdma_collective *what);
/* Whether sum_build() is to be asked for its acts. */
bool sum_is_own(const struct bgdma_coll_group *g,
		const struct bgdma_collective *what);
void sum_build(struct bgdma_coll_request *r,
	       const struct bgdma_collective *what, unsigned int algorithm);
/* What AUTO is, from the environment: 0 or -EINVAL. */
int sum_default(uint32_t *summation);

/* extreme.c: minima and maxima of floats, and with places, by the engines */
/* Whether integers can stand for such elements; a checked operator's. */
bool extreme_fits(const struct bgdma_operator *op);
void extreme_build(struct bgdma_coll_request *r,
		   const struct bgdma_collective *what);

/* rooted.c */
build_fn broadcast_linear, broadcast_tree, broadcast_ring;
build_fn scatter_linear, gather_linear;
build_fn reduce_linear, reduce_tree;

/* exchange.c */
/* Each has the own block at its place: all get all. */
void ring_gather(struct bgdma_coll_request *r, void *memory,
		 const struct layout *l);
build_fn allgather_linear, allgather_doubling, allgather_ring;
build_fn alltoall_linear, alltoall_ring;

/* reduce.c */
/* @count elements of so many bytes, a part for each member. */
void ring_parts(struct bgdma_coll_request *r, uint64_t count, uint32_t element,
		struct layout *l);
/* In the end the own block of @work is the sum of all. */
void ring_reduce(struct bgdma_coll_request *r, char *work,
		 const struct layout *l);
build_fn allreduce_tree, allreduce_doubling, allreduce_ring, allreduce_direct;
build_fn reduce_scatter_tree, reduce_scatter_ring;
build_fn scan_linear, scan_doubling, exscan_linear, exscan_doubling;

/* engines.c */
build_fn broadcast_engines, reduce_engines, allreduce_engines;

#endif /* BGDMA_COLL_COLLECTIVE_H */
