/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The gates of regions: engine/gate.c, engine/epoch.c. Part of bgdma.h, which has the lock
 * order; not to be included by itself.
 */
#ifndef _BGDMA_GATE_H
#define _BGDMA_GATE_H

/**
 * struct bgdma_gate_epoch - an epoch at a gate; gate.lock
 * @node: in gate.held, gate.queue or gate.free
 * @same: in gate.by
 * @who: its origin
 * @id: identifier, of the origin's choice
 * @counter: handle of the origin's injection counter that moves with the next
 *	answer, or BGDMA_NONE
 * @asked: transfer that asks for it
 * @promise: bgdma_answer.promise of that answer
 * @state: BGDMA_EPOCH_*
 * @exclusive: nobody else
 * @got: puts that have come
 * @put: puts that there were
 */
struct bgdma_gate_epoch {
	struct list_head node;
	struct hlist_node same;
	struct bgdma_principal who;
	u32 id;
	u32 counter;
	u32 asked;
	void *promise;
	u16 state;
	bool exclusive;
	u64 got;
	u64 put;
};

/**
 * struct bgdma_region_gate - who keeps others out of a region
 * @lock: leaf
 * @ctx: owner
 * @region: that has it. Others may share it, and outlive that one
 * @handle: of the region
 * @users: regions; ctx.lock
 * @number: from 1, of the gates of its owner, which are in this order
 * @ask: BGDMA_GATE_ASK
 * @dead: @region goes away, or has gone: nothing goes in, no epoch is found; @lock
 * @exclusive: the epoch in @held is exclusive; @lock
 * @turn: transfers without an epoch waited for the end of an exclusive one: a slice
 *	of theirs goes in before the next; @lock
 * @inside: slices that touch the region right now, but for the owner's; @lock
 * @held: epochs that have their limitation; @lock
 * @queue: those that wait for it, in the order in which they came; @lock
 * @free: entries that are free; @lock
 * @waiters: streams whose transfer waits until it is let in
 * @work: ends @turn if nobody takes it, lets the rest of many epochs begin
 * @node: in ctx.gates; ctx.lock, read under RCU
 * @rcu: looked at when peers go
 * @by: behind @e: epochs by hash of their origin's incarnation; @lock
 * @mask: buckets - 1
 * @count: entries
 * @e: all of them
 */
struct bgdma_region_gate {
	spinlock_t lock;
	struct bgdma_ctx *ctx;
	struct bgdma_region *region;
	u32 handle;
	u32 users;
	u64 number;
	bool ask;
	bool dead;
	bool exclusive;
	bool turn;
	u32 inside;
	struct list_head held;
	struct list_head queue;
	struct list_head free;
	struct bgdma_waiters waiters;
	struct delayed_work work;
	struct list_head node;
	struct rcu_head rcu;
	struct hlist_head *by;
	u32 mask;
	u32 count;
	struct bgdma_gate_epoch e[];
};

/**
 * struct bgdma_answer - what a gate tells the origin of an epoch
 * @to: the origin
 * @counter: handle of its injection counter, or BGDMA_NONE
 * @region: handle of the region
 * @epoch: identifier
 * @code: BGDMA_OK: the counter moves by one; or why it fails
 * @id: transfer that asked, where there is a counter
 * @promise: what was set apart for it when it was asked for, see bgdma_stream.promise;
 *	or NULL
 */
struct bgdma_answer {
	struct bgdma_principal to;
	u32 counter;
	u32 region;
	u32 epoch;
	u32 code;
	u32 id;
	void *promise;
};

int bgdma_gate_create(struct bgdma_ctx *ctx, const struct bgdma_gate *arg);
int bgdma_gate_list(struct bgdma_ctx *ctx, u32 region,
		    struct bgdma_epoch *epochs, u32 *count);
int bgdma_gate_allow(struct bgdma_ctx *ctx, const struct bgdma_epoch_allow *arg);
void bgdma_gate_free(struct bgdma_region *region);
void bgdma_gates_recheck(struct bgdma_ctx *ctx);
bool bgdma_gates_wake(struct bgdma_ctx *ctx, u64 *from);
bool bgdma_gates_peer_down(struct bgdma_ctx *ctx,
			   const struct bgdma_principal *peer, u64 *from);

/* engine/epoch.c */
int bgdma_gate_enter(const struct bgdma_region *region, struct bgdma_stream *s,
		     const struct bgdma_principal *who, u32 epoch, bool put,
		     struct bgdma_region_gate **in);
void bgdma_gate_leave(struct bgdma_region_gate *gate, struct bgdma_stream *s,
		      const struct bgdma_principal *who, u32 epoch, bool put);

#endif /* _BGDMA_GATE_H */
