/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Streams of descriptors, and the three kinds of FIFO. Part of bgdma.h, which
 * has the lock order; not to be included by itself.
 */
#ifndef _BGDMA_FIFO_H
#define _BGDMA_FIFO_H

/* bgdma_stream.flags */
#define BGDMA_STREAM_OWNED	0	/* somebody runs it: a trylock */
#define BGDMA_STREAM_PARKED	2	/* in a list of waiting senders; park_lock */
#define BGDMA_STREAM_ERROR	3	/* stopped until it is cleared */
#define BGDMA_STREAM_DEAD	4	/* never runs again */
#define BGDMA_STREAM_EXPIRED	5	/* waited too long */
#define BGDMA_STREAM_WANTED	6	/* a control call waits to own it */
#define BGDMA_STREAM_HELD	7	/* what it sent has no room there */

/* So many sub-queues follow. */
#define BGDMA_FOLLOW_MAX	8

/* In place of a sub-queue: @queue is an edge of a class. */
#define BGDMA_FOLLOW_EDGE	0xffffffffU

/**
 * struct bgdma_follow - sub-queues of remote-get queues that run next
 * @pooled: a thread of the pool runs them
 * @n: so many
 * @at: the first that has not run yet
 * @e: of context @ctx, a reference on its memory, queue @queue, sub-queue @sub
 */
struct bgdma_follow {
	bool pooled;
	u32 n;
	u32 at;
	struct {
		struct bgdma_ctx *ctx;
		u32 queue;
		u32 sub;
	} e[BGDMA_FOLLOW_MAX];
};

struct bgdma_group;
struct bgdma_tx;

/* What arrives over links is a stream, too: fabric/rx.c. No FIFO has this kind. */
#define BGDMA_KIND_FLOW		0xffff

/**
 * struct bgdma_group_memo - a binding that somebody asks again and again
 * @group: it; not a reference
 * @owner: incarnation of the context that has bound it
 * @member: of who asked, and is a member
 * @number: of the group
 * @rank: node of who asked
 * @gone: the partition's count when it was looked up: as long as that stands, the
 *	binding is there
 */
struct bgdma_group_memo {
	const struct bgdma_group *group;
	u32 owner;
	u32 member;
	u32 number;
	u32 rank;
	u64 gone;
};

/* So many nodes of a line are remembered: those of a torus of four, but for one's own. */
#define BGDMA_LINE_MEMO	3

/**
 * struct bgdma_own_memo - a context's own binding, and whom it is mutual with
 * @group: it; not a reference, nor are the others
 * @gone: the partition's count when it was looked up, before the others were
 * @number: of the group
 * @n: nodes that are remembered
 * @rank: they
 * @member: their bindings: each names the context, and @group names theirs
 */
struct bgdma_own_memo {
	const struct bgdma_group *group;
	u64 gone;
	u32 number;
	u32 n;
	u32 rank[BGDMA_LINE_MEMO];
	const struct bgdma_group *member[BGDMA_LINE_MEMO];
};

/* What a stream remembers of the objects that it used last. */
struct bgdma_memo {
	u64 fifo;
	u64 sent;
	u64 counter;
	struct bgdma_region_memo src;
	struct bgdma_region_memo descs;
	struct bgdma_region_memo dst;
	struct bgdma_region_memo atomic;
	struct bgdma_group_memo group[2];	/* of its context, of others */
	struct bgdma_own_memo own;	/* of its context, whoever asks */
};

/**
 * struct bgdma_xfer - the transfer that a stream is at
 * @desc: the engine's own copy, validated; the ring is not looked at again
 * @seq: sequence number of the descriptor
 * @id: transfer id: in packets, records and traces of both sides
 * @done: bytes moved so far
 * @uncounted: of these, not yet taken off the counters
 * @tail: of the ring when this one was fetched
 * @train: messages that the delivery may go on with by itself (train.h)
 * @active: there is one, and its descriptor was found good
 * @fenced: it starts when nothing of those before it is on its way any more
 * @cut: had begun here, and no more of it comes
 * @slice: the bytes of the slice that is being moved
 * @fault: why it failed
 */
struct bgdma_xfer {
	struct bgdma_desc desc;
	u64 seq;
	u32 id;
	u32 done;
	u32 uncounted;
	u32 tail;
	u32 train;
	bool active;
	bool fenced;
	bool cut;
	struct bgdma_payload slice;
	struct bgdma_fault fault;
};

/**
 * struct bgdma_stream_stats - written by the owner of the stream only
 * @descriptors: fetched
 * @packets: pieces and packets that landed
 * @bytes_copied: payload
 * @errors: transfers that failed or were cancelled
 * @blocked: times that it found no room at the target
 */
struct bgdma_stream_stats {
	u64 descriptors;
	u64 packets;
	u64 bytes_copied;
	u64 errors;
	u64 blocked;
};

/*
 * The owner counts. Who reads statistics meanwhile gets the value of just
 * before or just after: a word in memory is not torn, and WRITE_ONCE() would
 * make three instructions of one on the way of every message.
 */
#define bgdma_stat_add(counter, n)	data_race((counter) += (n))

/**
 * struct bgdma_line - where a transfer with the deposit bit is on its line
 * @left: nodes after the one that it is at
 * @looked: nodes that were looked at and have not been counted yet
 * @receiver: incarnation of the context there that gets a copy; 0: none yet
 * @region: slot of the target region, as its sender wrote it; of BGDMA_KIND_FLOW what is
 *	in the slot, and so the next two
 * @counter: slot of the reception counter, likewise
 * @fifo: slot of the FIFO or queue, likewise
 * @ctx: of a member behind a link: its context there
 * @incarnation: of that, or 0: any
 * @binding: of @receiver, that the copy began under
 * @given: what it names at the receiver was read from its slots in this very slice:
 *	the group need not be asked for it
 */
struct bgdma_line {
	u32 left;
	u32 looked;
	u32 receiver;
	__le32 region;
	__le32 counter;
	__le16 fifo;
	u16 ctx;
	u32 incarnation;
	u32 binding;
	bool given;
};

/**
 * struct bgdma_good - what need not be checked again of a descriptor
 * @half: first half of the last one that was found good, where that half decides
 * @known: there was one
 */
struct bgdma_good {
	u64 half[4];
	bool known;
};

/**
 * struct bgdma_stream - the descriptors of one FIFO that came from one place
 * @ctx: the context that executes them
 * @kind: BGDMA_KIND_INJ_FIFO, BGDMA_KIND_RGET_QUEUE, BGDMA_KIND_FLOW or
 *	BGDMA_KIND_EDGE
 * @id: of the FIFO
 * @flags: BGDMA_STREAM_*
 * @fetch: copy the next descriptor of a remote-get queue into @x; owner only
 * @who: principal: the context itself, or where the descriptors came from
 * @remote: the descriptors came from another context
 * @pooled: run by a thread of the pool; owner only
 * @follow: what runs next; or NULL; owner only
 * @tag: of all its transfer ids
 * @head: sequence number of the next descriptor; owner only
 * @x: transfer under way; owner only
 * @peer: target context of the last transfer, a reference; owner only
 * @good: the last good descriptor that was no remote get; owner only
 * @good_rget: the last that was one, since the two take turns in a chain; owner only
 * @memo: what need not be looked up again; owner only
 * @run_node: in ctx.runnable; rq_lock
 * @park_node: in the list of an object that it waits for; park_lock
 * @timed_node: in engine.timed; park_lock
 * @deadline: in jiffies; park_lock
 * @parked_kind: what it waits for, for people
 * @parked_id: which
 * @held_kind: what BGDMA_STREAM_HELD waits for, likewise; park_lock
 * @held_id: which
 * @stats: what it did
 * @group: number + 1 of the group under which @x is; 0: none; owner only
 * @own: who sent @x asked for it itself; owner only
 * @more: of BGDMA_KIND_FLOW: something has arrived
 * @line: where @x is with the deposit bit; owner only
 * @tx: what it has on its way over links; NULL: it never had anything
 * @promise: of BGDMA_KIND_FLOW: what an answer to the packet that it is at takes; or
 *	NULL; owner only
 */
struct bgdma_stream {
	struct bgdma_ctx *ctx;
	u16 kind;
	u32 id;
	unsigned long flags;
	int (*fetch)(struct bgdma_stream *s);
	struct bgdma_principal who;
	bool remote;
	bool pooled;
	struct bgdma_follow *follow;
	u32 tag;
	u64 head;
	struct bgdma_xfer x;
	struct bgdma_ctx *peer;
	struct bgdma_good good;
	struct bgdma_good good_rget;
	struct bgdma_memo memo;
	struct list_head run_node;
	struct list_head park_node;
	struct list_head timed_node;
	unsigned long deadline;
	u32 parked_kind;
	u32 parked_id;
	u32 held_kind;
	u32 held_id;
	struct bgdma_stream_stats stats;
	u16 group;
	bool own;
	bool more;
	struct bgdma_line line;
	struct bgdma_tx *tx;
	void *promise;
};

/**
 * struct bgdma_inj_fifo - an injection FIFO: a ring that user space fills
 * @s: its one stream
 * @shm: the ring
 * @user: line with the tail, user's page: never trusted
 * @kern: line with head, done and state
 * @rec: error record
 * @mask: entries - 1
 * @follow: of @s; owner only
 * @rcu: looked up by the engine's poller under RCU
 */
struct bgdma_inj_fifo {
	struct bgdma_stream s;
	struct bgdma_shm shm;
	struct bgdma_inj_user *user;
	struct bgdma_inj_kern *kern;
	struct bgdma_record *rec;
	u32 mask;
	struct bgdma_follow follow;
	struct rcu_head rcu;
};

void bgdma_stream_wake_after(struct bgdma_stream *by, struct bgdma_stream *s);

int bgdma_inj_create(struct bgdma_ctx *ctx, struct bgdma_inj_create *arg,
		     struct bgdma_inj_fifo **out);
void bgdma_inj_free(struct bgdma_inj_fifo *fifo);
void bgdma_inj_publish(struct bgdma_inj_fifo *fifo, u64 done);
void bgdma_inj_bad_tail(struct bgdma_inj_fifo *fifo, u64 tail);
void bgdma_inj_fail(struct bgdma_inj_fifo *fifo, const struct bgdma_stream *at);
int bgdma_inj_clear(struct bgdma_inj_fifo *fifo, bool flush);
int bgdma_inj_cancel(struct bgdma_inj_fifo *fifo, struct bgdma_cancel *arg);

/**
 * struct bgdma_waiters - streams that found no room in an object
 * @waiting: for room, in the order in which they came; park_lock
 * @woken: there was room, but they were too many to go on at once; park_lock
 * @work: lets @woken go on
 */
struct bgdma_waiters {
	struct list_head waiting;
	struct list_head woken;
	struct work_struct work;
};

/**
 * struct bgdma_rec_fifo - a reception FIFO: a ring that the engine fills
 * @lock: leaf; held for one packet
 * @ctx: owner
 * @shm: the ring, mapped twice in a row
 * @user: line with the head, user's page: never trusted
 * @kern: line with the tail
 * @rec: error record
 * @grants: who may send to it
 * @eventfd: where arrivals go that it is armed for
 * @waiters: streams that found it full
 * @tail: bytes written; @lock
 * @packets: packets written; @lock
 * @marked: marked packets; @lock
 * @size: bytes of the ring
 * @id: in its context
 * @dead: being destroyed; @lock
 * @rcu: looked up under RCU
 */
struct bgdma_rec_fifo {
	spinlock_t lock;
	struct bgdma_ctx *ctx;
	struct bgdma_shm shm;
	struct bgdma_rec_user *user;
	struct bgdma_rec_kern *kern;
	struct bgdma_record *rec;
	struct bgdma_grants __rcu *grants;
	struct bgdma_eventfd __rcu *eventfd;
	struct bgdma_waiters waiters;
	u64 tail;
	u64 packets;
	u64 marked;
	u32 size;
	u32 id;
	bool dead;
	struct rcu_head rcu;
};

int bgdma_rec_create(struct bgdma_ctx *ctx, struct bgdma_rec_create *arg,
		     struct bgdma_rec_fifo **out);
void bgdma_rec_free(struct bgdma_rec_fifo *fifo);
void bgdma_rec_bad_head(struct bgdma_rec_fifo *fifo);
bool bgdma_rec_room(struct bgdma_rec_fifo *fifo, u32 bytes);
u64 bgdma_rec_used(struct bgdma_rec_fifo *fifo);

/* What a packet of so many bytes takes in the ring. */
static inline u32 bgdma_record_bytes(u32 bytes)
{
	BUILD_BUG_ON(sizeof(struct bgdma_packet) != BGDMA_PACKET_ALIGN);
	return sizeof(struct bgdma_packet) + ALIGN(bytes, BGDMA_PACKET_ALIGN);
}

bool bgdma_rec_armed(struct bgdma_rec_fifo *fifo);
void bgdma_rec_clear(struct bgdma_rec_fifo *fifo, bool flush);

/**
 * struct bgdma_rget_slot - a descriptor that waits in a remote-get queue
 * @desc: as its sender wrote it
 * @group: number + 1 of the group under which it came; 0: none
 * @own: it was the sender's own descriptor that brought it, not one from elsewhere
 * @first: of its remote get
 */
struct bgdma_rget_slot {
	struct bgdma_desc desc;
	u16 group;
	bool own;
	bool first;
};

/**
 * struct bgdma_rget_sub - what one sender has waiting in a remote-get queue
 * @s: the stream that executes it
 * @queue: it belongs to
 * @slots: quota descriptors
 * @head: taken; queue.lock
 * @tail: put in; queue.lock
 * @begun: number of the first descriptor of the remote get that it is at; queue.lock
 * @dropped: those before this number begin at a fence no more; queue.lock
 * @bound: @s.who is valid; queue.lock
 */
struct bgdma_rget_sub {
	struct bgdma_stream s;
	struct bgdma_rget_queue *queue;
	struct bgdma_rget_slot *slots;
	u32 head;
	u32 tail;
	u64 begun;
	u64 dropped;
	bool bound;
};

/**
 * struct bgdma_rget_queue - a remote-get queue: filled by engines only
 * @lock: leaf; held for one remote get
 * @ctx: owner, which executes what arrives
 * @grants: who may inject
 * @rec: last descriptor that was refused
 * @waiters: streams that found no room
 * @refused: descriptors refused; owner of a stream
 * @quota: slots of a sub-queue, a power of two
 * @nsubs: sub-queues
 * @seed: of where a sender's sub-queue is looked for
 * @timeout: how long a remote get waits for room, in jiffies
 * @id: in its context
 * @dead: being destroyed; @lock
 * @rcu: looked up under RCU
 * @subs: the sub-queues
 */
struct bgdma_rget_queue {
	spinlock_t lock;
	struct bgdma_ctx *ctx;
	struct bgdma_grants __rcu *grants;
	struct bgdma_record *rec;
	struct bgdma_waiters waiters;
	atomic64_t refused;
	u32 quota;
	u32 nsubs;
	u32 seed;
	unsigned long timeout;
	u32 id;
	bool dead;
	struct rcu_head rcu;
	struct bgdma_rget_sub subs[];
};

/* What nothing is done for. */
static inline struct bgdma_desc bgdma_nop(void)
{
	return (struct bgdma_desc) {
		.inj_ctr = cpu_to_le32(BGDMA_NONE),
		.rec_ctr = cpu_to_le32(BGDMA_NONE),
		.u.at.src_region = cpu_to_le32(BGDMA_NONE),
		.u.at.dst_region = cpu_to_le32(BGDMA_NONE),
	};
}

int bgdma_rgq_create(struct bgdma_ctx *ctx, struct bgdma_rgq_create *arg,
		     struct bgdma_rget_queue **out);
void bgdma_rgq_free(struct bgdma_rget_queue *queue);
int bgdma_rgq_deliver(struct bgdma_rget_queue *queue, struct bgdma_stream *by,
		      const struct bgdma_principal *who,
		      const struct bgdma_payload *descs, u32 n);
bool bgdma_rgq_room(struct bgdma_rget_queue *queue,
		    const struct bgdma_principal *who, u32 n);
void bgdma_rgq_quiet(struct bgdma_stream *s);
void bgdma_rgq_left(struct bgdma_stream *s);
bool bgdma_rgq_dropped(const struct bgdma_stream *s);
void bgdma_rgq_refuse(struct bgdma_stream *s, const struct bgdma_stream *at);
void bgdma_rgq_clear(struct bgdma_rget_queue *queue, bool flush);

#endif /* _BGDMA_FIFO_H */
