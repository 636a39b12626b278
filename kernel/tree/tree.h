/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The combining network: virtual trees, of which a context is a member. A *class* is
 * its end of one. For kernel/tree; for the front, which binds them, and for
 * control/tree.c, which lists them.
 *
 * A collective is cut into packets, which are numbered in each class: all members cut
 * alike, and take part in the same collectives in the same order, so a number means
 * the same everywhere. Each number has a slot for a while. There the packets of the
 * context itself and of its children are combined as they come; then one goes up,
 * or at the root becomes the result. The result comes down into the same slot, lands
 * in the memory of the context, and goes on to the children. When all have it the slot
 * is free. So a member is ahead of another by the window at most.
 *
 * What has happened to which packets is told by numbers alone:
 *
 *   base <= up <= next[...]		those before @up have been sent to the parent
 *   base <= landed <= result		results that are here, and those that landed
 *   base <= down[...] <= result	and those that a child has
 *   all <= base + window
 *
 * All differences are of unsigned numbers, which wrap.
 */
#ifndef _BGDMA_CLASS_H
#define _BGDMA_CLASS_H

#include "../bgdma.h"

/* Who contributes to a packet: the context itself, and its children. */
enum bgdma_source {
	BGDMA_SOURCE_OWN = 0,
	BGDMA_SOURCE_CHILD = 1,		/* and BGDMA_SOURCE_CHILD + 1 */
	BGDMA_SOURCES = 3
};

/**
 * struct bgdma_ask - what members of a collective have to ask for alike
 * @total: bytes
 * @tag: any
 * @dispatch: BGDMA_TREE_COMBINE(), or 0
 * @op: enum bgdma_op
 */
struct bgdma_ask {
	u32 total;
	u16 tag;
	u16 dispatch;
	u8 op;
};

/**
 * struct bgdma_name - a member, as an error tells of it
 * @rank: node
 * @ctx: context of it
 */
struct bgdma_name {
	u32 rank;
	u16 ctx;
};

/**
 * struct bgdma_slot - a packet that is being combined, or is a result
 * @ask: of the first that came
 * @offset: of its bytes in the collective, likewise
 * @n: bytes that were combined, or of the result
 * @asked: somebody came
 * @own: the context itself has asked for @ask
 * @filled: there are bytes
 * @differ: @one and @other did not ask for the same
 * @one: who asked for @ask
 * @other: who did not
 * @data: the bytes: class.packet
 */
struct bgdma_slot {
	struct bgdma_ask ask;
	u32 offset;
	u32 n;
	bool asked;
	bool own;
	bool filled;
	bool differ;
	struct bgdma_name one;
	struct bgdma_name other;
	void *data;
};

/**
 * struct bgdma_post - a collective of the context's that has not ended
 * @ask: what it asked for
 * @first: number of its first packet
 * @last: of its last
 * @region: where the result lands, or BGDMA_NONE
 * @packets: @region is a reception FIFO
 * @cookie: for these
 * @off: offset there
 * @rec_ctr: what counts it, or BGDMA_NONE
 * @ops: as a transfer
 * @failed: it did not land: nothing more does
 * @left: bytes that were not counted
 * @seq: of its descriptor
 * @id: transfer
 * @fifo: that it came from
 */
struct bgdma_post {
	struct bgdma_ask ask;
	u32 first;
	u32 last;
	u32 region;
	bool packets;
	u64 cookie;
	u64 off;
	u32 rec_ctr;
	bool ops;
	bool failed;
	u64 left;
	u64 seq;
	u32 id;
	u32 fifo;
};

/**
 * struct bgdma_edge - what goes to a neighbour
 * @s: the stream that sends
 * @cls: class
 * @id: enum bgdma_edge_id
 * @there: there is such a neighbour
 * @greet: it was not greeted yet
 * @greeted: it has bound the class, and said so
 * @left: it takes part no more
 * @due: how often it is to hear that the class is broken, or that the context left:
 *	again if it had not bound the class before
 * @said: how often that was begun
 * @told: how often it was sent, or could not be
 * @again: of these, once as what was sent before had no room
 * @who: it
 */
struct bgdma_edge {
	struct bgdma_stream s;
	struct bgdma_class *cls;
	u32 id;
	bool there;
	bool greet;
	bool greeted;
	bool left;
	u8 due;
	u8 said;
	u8 told;
	bool again;
	struct bgdma_principal who;
};

/**
 * struct bgdma_class - a context's end of a virtual tree
 * @lock: leaf; held for one packet
 * @ctx: whose
 * @number: of the class
 * @instance: of all members
 * @rank: of the context in the class; 0: root
 * @size: members
 * @members: of all, with BGDMA_CLASS_P2P; else NULL
 * @window: slots, a power of two
 * @packet: bytes of each
 * @edge: to the neighbours
 * @packets: stream that brings results to reception FIFOs
 * @due: the next result that lands is for that
 * @begun: bytes that the reader has of one that has not ended; or 0
 * @waiters: streams that found no room
 * @next: by enum bgdma_source: number of its next packet
 * @base: first that has a slot
 * @complete: first that somebody has not contributed to
 * @up: next that goes to the parent; of the root: the same as @complete
 * @sending: 1 while that is on its way
 * @result: next result that comes
 * @landed: next that lands
 * @down: next that goes to each child
 * @poster: stream whose collective is being contributed to, or NULL
 * @posts: collectives that have not ended: as many as slots, for each that was
 *	contributed to has a packet in one
 * @post: the oldest
 * @post_end: behind the newest
 * @leaving: the context takes part no more
 * @code: it is broken: why; written last
 * @broken_by: who is named
 * @combined: packets, for people
 * @collectives: that ended, for people
 * @rcu: found under RCU
 * @slots: by number
 */
struct bgdma_class {
	spinlock_t lock;		/* leaf */
	struct bgdma_ctx *ctx;
	u32 number;
	u32 instance;
	u32 rank;
	u32 size;
	struct bgdma_group_member *members;
	u32 window;
	u32 packet;
	struct bgdma_edge edge[BGDMA_EDGES];
	struct bgdma_stream packets;
	bool due;
	u32 begun;
	struct bgdma_waiters waiters;
	u32 next[BGDMA_SOURCES];
	u32 base;
	u32 complete;
	u32 up;
	u32 sending;
	u32 result;
	u32 landed;
	u32 down[2];
	struct bgdma_stream *poster;
	struct bgdma_post *posts;
	u32 post;
	u32 post_end;
	bool leaving;
	u32 code;
	struct bgdma_name broken_by;
	u64 combined;
	u64 collectives;
	struct rcu_head rcu;
	struct bgdma_slot slots[];
};

static inline bool bgdma_class_is_root(const struct bgdma_class *cls)
{
	return !cls->rank;
}

static inline struct bgdma_slot *bgdma_slot_at(struct bgdma_class *cls,
					       u32 number)
{
	return &cls->slots[number & (cls->window - 1)];
}

static inline struct bgdma_post *bgdma_post_at(struct bgdma_class *cls,
					       u32 number)
{
	return &cls->posts[number & (cls->window - 1)];
}

/* All numbers are within the window from the base on. */
static inline bool bgdma_class_room(const struct bgdma_class *cls, u32 number)
{
	return number - cls->base < cls->window;
}

/* Is a number before another? Both are in the window. */
static inline bool bgdma_class_before(u32 a, u32 b)
{
	return (s32)(a - b) < 0;
}

static inline struct bgdma_name bgdma_class_self(const struct bgdma_class *cls)
{
	return (struct bgdma_name) { .rank = cls->ctx->rank,
				     .ctx = cls->ctx->id };
}

/* Does the result of a collective land at this member? */
static inline bool bgdma_result_is_here(const struct bgdma_class *cls,
					const struct bgdma_ask *ask)
{
	u8 nothing = bgdma_class_is_root(cls) ? BGDMA_OP_TREE_BCAST :
						BGDMA_OP_TREE_REDUCE;

	return ask->op != nothing;
}

/* Bytes of it that do; of a packet of it, likewise. */
static inline u32 bgdma_result_bytes(const struct bgdma_class *cls,
				     const struct bgdma_ask *ask, u32 bytes)
{
	return bgdma_result_is_here(cls, ask) ? bytes : 0;
}

/* class.c */
int bgdma_class_bind(struct bgdma_ctx *ctx, const struct bgdma_class_bind *arg);
int bgdma_class_unbind(struct bgdma_ctx *ctx,
		       const struct bgdma_class_unbind *arg);
struct bgdma_class *bgdma_class_find(struct bgdma_ctx *ctx, u32 number);

/* broken.c */
bool bgdma_class_break(struct bgdma_class *cls, u32 code,
		       const struct bgdma_name *by);
void bgdma_class_broken(struct bgdma_class *cls);
int bgdma_class_fault(struct bgdma_class *cls, struct bgdma_stream *s);
void bgdma_class_peer_down(struct bgdma_ctx *ctx,
			   const struct bgdma_principal *peer);

/* edge.c */
void bgdma_edges_wake(struct bgdma_class *cls, struct bgdma_stream *by);
int bgdma_class_next(struct bgdma_stream *s);
int bgdma_edge_fetch(struct bgdma_stream *s);
int bgdma_edge_run(struct bgdma_stream *s);
bool bgdma_edge_pending(const struct bgdma_stream *s);
void bgdma_edge_failed(struct bgdma_stream *s, const struct bgdma_stream *at);
void bgdma_edge_held(struct bgdma_stream *s);
void bgdma_edge_greeted(struct bgdma_edge *edge, struct bgdma_stream *by);

/* collect.c */
u32 bgdma_collect_begin(struct bgdma_stream *s);
u32 bgdma_collect_piece(const struct bgdma_stream *s);
int bgdma_collect_own(struct bgdma_stream *s, const struct bgdma_payload *p,
		      u32 n);
int bgdma_collect_arrive(struct bgdma_ctx *ctx, struct bgdma_stream *s,
			 const struct bgdma_payload *p, u32 n);
void bgdma_collect_abort(struct bgdma_stream *s);

/* packets.c */
bool bgdma_packets_pending(const struct bgdma_stream *s);
int bgdma_packets_fetch(struct bgdma_stream *s);
int bgdma_packets_run(struct bgdma_stream *s);
void bgdma_packets_end(struct bgdma_class *cls);

/* result.c */
void bgdma_result_landed(struct bgdma_class *cls, const struct bgdma_fault *fault);
void bgdma_class_progress(struct bgdma_class *cls);
bool bgdma_class_free_slots(struct bgdma_class *cls);

#endif /* _BGDMA_CLASS_H */
