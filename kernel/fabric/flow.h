/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Flows: what one FIFO sends to one node over links, in numbered frames. Each has
 * two ends. Private to the files of fabric/ that have to do with frames.
 *
 * The sender's ends of all flows of a stream share what the stream has on its way,
 * struct bgdma_tx, and its lock. The receiver's end is a stream itself: in the name
 * of a context behind the links, for which a struct bgdma_ctx stands that has no
 * process and no memory, it delivers as if that context were here.
 *
 * tx.lock is outside the locks of the engine, and inside nothing but that of the
 * kernel's own (voice.c), which is inside another's; rx_flow.lock and parting.lock are leaves.
 */
#ifndef _BGDMA_FLOW_H
#define _BGDMA_FLOW_H

#include <linux/etherdevice.h>
#include <linux/hashtable.h>
#include <linux/hrtimer.h>
#include <linux/skbuff.h>

#include "../bgdma.h"
#include "link.h"
#include "wire.h"

/* Transfers of one stream that are on their way; the last place is for one given up. */
#define BGDMA_SENT_MAX		64
#define BGDMA_SENT_BEGIN	(BGDMA_SENT_MAX - 1)

/* Where questions to gates are kept, of one context. */
#define BGDMA_ASKED_BUCKETS	64

/* Frames that arrive before the one that is next are kept: so many of a flow. */
#define BGDMA_RX_WINDOW		BGDMA_WIRE_SACK

/*
 * For each frame so many may be sent again because of what the receiver says, and as
 * many of those on their way after each silence: no words of his lead to more.
 */
#define BGDMA_CREDIT_EACH	2
#define BGDMA_CREDIT_MAX	(2 * BGDMA_RX_WINDOW)

/* Frames that may be on their way at least. */
#define BGDMA_CWND_MIN		16

/* Packets that a frame has room for, as it seems; all have room for the first. */
#define BGDMA_FRAME_FEW		4
#define BGDMA_FRAME_MANY	32

/**
 * struct bgdma_sent - a transfer that is on its way
 * @desc: as the stream was at it
 * @seq: number of its descriptor
 * @offset: of the fault, if it failed
 * @bound: likewise
 * @who: in whose name
 * @id: transfer
 * @code: why it failed; BGDMA_OK: it has not
 * @left: bytes that have not been taken off its injection counter
 * @packets: that were sent and not dealt with
 * @fetched: bytes that are still to come back
 * @asked: of an operation on a gate: bgdma_asked_begin()
 * @told: the stream says by itself that it failed
 * @given_up: it sends no more of it, and bgdma_remote_ended() follows
 * @copy: of a deposit: rank + 1 of the node whose copy was begun and not sent to its
 *	end; 0: none
 * @passed: that node's kernel is gone
 * @group: as in the stream
 * @remote: likewise
 * @own: likewise
 * @whole: all of it was sent
 * @ended: nothing is left to do for it
 * @marked: its counter shows that it failed, if it did
 */
struct bgdma_sent {
	struct bgdma_desc desc;
	u64 seq;
	u64 offset;
	u64 bound;
	struct bgdma_principal who;
	u32 id;
	u32 code;
	u32 left;
	u32 packets;
	u32 fetched;
	u64 asked;
	u32 copy;
	u16 group;
	bool remote;
	bool own;
	bool whole;
	bool ended;
	bool marked;
	bool told;
	bool given_up;
	bool passed;
};

/**
 * struct bgdma_parting - a context of ours, as long as it has something on its way
 * @ref: the context, and what is on its way; with the last the others are told
 * @who: the context
 * @uid: whose
 * @ether: of its partition
 * @work: tells
 * @lock: a leaf: what follows
 * @serial: of the last operation on a gate that it sent
 * @n_asked: questions in @asked
 * @seed: of the hash
 * @asked: what gates have not answered (asked.c)
 */
struct bgdma_parting {
	struct kref ref;
	struct bgdma_principal who;
	kuid_t uid;
	struct bgdma_ether *ether;
	struct work_struct work;
	spinlock_t lock;
	u64 serial;
	u32 n_asked;
	u32 seed;
	struct hlist_head asked[BGDMA_ASKED_BUCKETS];
};

/**
 * struct bgdma_room - what frames may be like: as the links of a partition say
 * @mtu: bytes that every link takes
 * @most: bytes that need not be cut on the first
 * @window: of a flow that may be on their way
 * @fixed: not fewer, however long they take
 * @copy: no pages by reference
 */
struct bgdma_room {
	u32 mtu;
	u32 most;
	u32 window;
	bool fixed;
	bool copy;
};

/**
 * struct bgdma_tx - what a stream has on its way
 * @lock: all of it, and the flows
 * @s: the stream; NULL: the kernel's own, or it is no more
 * @ether: of its partition
 * @parting: of the stream's context
 * @tag: which FIFO the stream is of
 * @until: when there is no stream: when we give up, in jiffies
 * @node: in flows.txs
 * @work: frees it
 * @flows: the stream's; those that were used last come first
 * @opened: of these, those with a frame that more can go into, in order
 * @waiters: the stream, for room or for the end of what is on its way
 * @head: of @sent, next to be used
 * @tail: of @sent, the oldest
 * @issued: descriptors that have begun
 * @held: flows that go to where there is no room
 * @failing: some of @sent have failed, and end when the FIFO shows no other
 * @acker: kernel that has dealt with what is being taken off
 * @met: whom the last transfer came to, by bgdma_sent_whom(); 0: none did
 * @ready: frames to be handed to links
 * @spare: frames that are not in use
 * @promised: frames for what the sender of remote descriptors may have to be told: of
 *	each on its way, and the next
 * @sender: its node, to which the voice has a flow; BGDMA_ROUTE_NONE: it may have none
 * @room: how long frames are
 * @many: the last one was full of packets
 * @pages: that are not
 * @dead: it is being freed
 * @ref: flows, and whoever looks at it
 * @rcu: found under RCU
 * @late: stands for the stream at a transfer that ends
 * @sent: the transfers, in the order of their descriptors
 */
struct bgdma_tx {
	spinlock_t lock;
	struct bgdma_stream *s;
	struct bgdma_ether *ether;
	struct bgdma_parting *parting;
	u32 tag;
	unsigned long until;
	struct list_head node;
	struct work_struct work;
	struct list_head flows;
	struct list_head opened;
	struct bgdma_waiters waiters;
	u32 head;
	u32 tail;
	u64 issued;
	u32 held;
	bool failing;
	u64 acker;
	u64 met;
	struct sk_buff_head ready;
	struct sk_buff_head spare;
	struct sk_buff_head promised;
	u32 sender;
	struct bgdma_room room;
	bool many;
	struct list_head pages;
	bool dead;
	struct kref ref;
	struct rcu_head rcu;
	struct bgdma_stream late;
	struct bgdma_sent *sent;
};

/**
 * struct bgdma_flow_key - names a flow
 * @inc: incarnation of the context, or number of the kernel, that sends
 * @src: its node
 * @dst: node that it sends to
 * @tag: FIFO of the context
 * @ctx: number of the context
 * @adaptive: or deterministic
 */
struct bgdma_flow_key {
	u32 inc;
	u32 src;
	u32 dst;
	u32 tag;
	u16 ctx;
	u16 adaptive;
};

/**
 * struct bgdma_tx_flow - the sender's end
 * @hash: in flows.tx
 * @node: in tx.flows
 * @tx: of the stream
 * @key: names it
 * @session: of its lives
 * @kernel: number of the one where it goes to, as far as is known; else 0
 * @next: number of the next frame
 * @una: of the oldest that was not dealt with
 * @unacked: frames from @una on, in order
 * @open: frame that more packets can go into
 * @open_node: in tx.opened, if there is one
 * @limit: frames from @una on that the receiver takes
 * @cwnd: frames that may be on their way, in 1/16
 * @queued: frames wait somewhere on the way
 * @shrunk: number of the first frame that was sent with the window as it is
 * @stopped: the receiver has no room
 * @credit: of numbers that may be sent again because of what he says
 * @sent: when the last frame was sent, in us
 * @last: likewise, in jiffies
 * @row: frames up to that one of which each came close behind the one before, and
 *	none of its stream went elsewhere
 * @need: one more than so many of these are few
 * @quiet: the receiver was not asked to acknowledge the last frame
 * @acks: number of the last acknowledgment
 * @srtt: round trip in us, in 1/8
 * @rttvar: how much it varies, in 1/4
 * @rttmin: shortest
 * @tries: timeouts in a row
 * @heard: when something came back, by bgdma_ether_now(); or was first waited for
 * @timer: sends again
 * @gap: has it do so, when frames were overtaken
 * @patience: has it look at @ask_at whether the receiver is to be asked
 * @ask_at: when the first frame since it was is no more to wait, in us
 * @gone: given back, and not in tx.flows any more
 * @unheard: of the voice: what was said was given up, and its kernel is to be, too
 * @whom: that kernel, or 0: no way led there
 * @vow: of the voice: shared with what was promised by it, or NULL
 * @later: likewise: frames for which there is no room on the way
 * @stays: likewise: remote descriptors came from there that may be refused
 * @rcu: found under RCU
 */
struct bgdma_tx_flow {
	struct hlist_node hash;
	struct list_head node;
	struct bgdma_tx *tx;
	struct bgdma_flow_key key;
	u32 session;
	u64 kernel;
	u32 next;
	u32 una;
	struct sk_buff_head unacked;
	struct sk_buff *open;
	struct list_head open_node;
	u32 limit;
	u32 cwnd;
	bool queued;
	u32 shrunk;
	bool stopped;
	u32 credit;
	u32 sent;
	unsigned long last;
	u16 row;
	u16 need;
	bool quiet;
	u32 acks;
	u32 srtt;
	u32 rttvar;
	u32 rttmin;
	u32 tries;
	unsigned long heard;
	struct delayed_work timer;
	struct hrtimer gap;
	struct hrtimer patience;
	u32 ask_at;
	bool gone;
	bool unheard;
	u64 whom;
	struct bgdma_vow *vow;
	struct sk_buff_head later;
	bool stays;
	struct rcu_head rcu;
};

/**
 * struct bgdma_frame_cb - what the sender keeps with a frame
 * @psn: its number
 * @stamp: when it was last sent, in us
 * @first: entry of tx.sent that its first packet belongs to
 * @packets: so many, each of the next entry
 * @patient: of these, whose end nobody waits for
 * @room: that its head has, in packets
 * @page: the last fragment is a page of ours with room from @used on
 * @used: bytes of it
 * @payload: bytes
 * @tries: times that it was sent
 * @span: numbers that it has
 * @parts: bit i: its receiver has the part with the number @psn + i
 * @arrived: its receiver has all of it, but not all before it
 */
struct bgdma_frame_cb {
	u32 psn;
	u32 stamp;
	u32 first;
	u16 packets;
	u16 room;
	u16 used;
	u32 payload;
	u16 tries;
	u8 span;
	bool page;
	bool arrived;
	u8 patient;
	u64 parts;
};

static inline struct bgdma_frame *bgdma_frame_of(const struct sk_buff *skb)
{
	return (struct bgdma_frame *)skb->data;
}

static inline struct bgdma_frame_cb *bgdma_frame_cb(struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct bgdma_frame_cb) > sizeof(skb->cb));
	return (struct bgdma_frame_cb *)skb->cb;
}

/**
 * struct bgdma_rx_flow - the receiver's end
 * @hash: in flows.rx
 * @node: in the list of its sender's stand-in; flows.mutex
 * @s: delivers; its context stands for the sender
 * @ether: of the partition
 * @key: names it
 * @lock: what follows, but what only the owner of @s touches
 * @session: of its lives
 * @next: number of the frame that is dealt with next
 * @have: bit i: frame @next + i has arrived
 * @queue: frames that have arrived, in order
 * @bytes: of them
 * @results: transfers that were refused, in order of their frames
 * @n_results: so many
 * @stamp: of the last frame
 * @acks: acknowledgments that were sent
 * @due: an ACK is
 * @held: the last one left out frames that had arrived
 * @gone: nothing more is kept
 * @let_go: frames that were kept are not any more: the target has no room, or no memory
 * @apart: the first frame is not in @bytes
 * @packet: of the first frame, that is next; owner
 * @done: bytes of its payload before that one; owner
 * @piece: bytes of that packet that have landed; owner
 * @checked: that frame is as it was sent; owner
 * @open: a transfer has begun and not ended: @s.x has it; owner
 * @seen: bytes of it up to the last that its target has seen; owner
 * @target: incarnation of the context that it is for; owner
 * @has_refused: the transfer that the flow is at was; owner
 * @refused: the transfer of the last result; owner
 * @whole: a packet for a reception FIFO that comes in pieces; owner
 * @gathered: bytes of it; owner
 * @used: when the last frame came, in jiffies
 * @rcu: found under RCU
 */
struct bgdma_rx_flow {
	struct hlist_node hash;
	struct list_head node;
	struct bgdma_stream s;
	struct bgdma_ether *ether;
	struct bgdma_flow_key key;
	spinlock_t lock;
	u32 session;
	u32 next;
	DECLARE_BITMAP(have, BGDMA_RX_WINDOW);
	struct sk_buff_head queue;
	u32 bytes;
	struct bgdma_wire_result results[BGDMA_WIRE_RESULTS];
	u32 n_results;
	u32 stamp;
	u32 acks;
	bool due;
	bool held;
	bool gone;
	bool let_go;
	bool apart;
	u32 packet;
	u32 done;
	u32 piece;
	bool checked;
	bool open;
	u32 seen;
	u32 target;
	bool has_refused;
	u32 refused;
	void *whole;
	u32 gathered;
	unsigned long used;
	struct rcu_head rcu;
};

/* As many FIFOs send to each node of a large torus: a few in a row. */
#define BGDMA_FLOW_HASH_BITS	12
/* Kernels are fewer. */
#define BGDMA_HOME_HASH_BITS	6

/* Bits of bgdma_flows.flags: something has arrived for who sends. */
#define BGDMA_FLOWS_IN_BOX	0

/**
 * struct bgdma_flows - all flows of a partition
 * @ether: of it
 * @busy: what has not ended yet
 * @lock: @tx, @txs
 * @mutex: @rx, @places, @homes, and the end of these
 * @tx: sender's ends; RCU
 * @rx: receiver's ends; RCU
 * @txs: all struct bgdma_tx
 * @voice: what we have to say ourselves
 * @unheard: some of its flows are
 * @said: frames of it that were not heard
 * @n_rx: so many
 * @kept: bytes of frames that their ends keep
 * @n_ghosts: stand-ins of contexts behind the links
 * @n_places: contexts that are remembered
 * @places: where these are, or were, and kernels'; by bgdma_place_key()
 * @homes: kernels of these
 * @n_news: of contexts that have left, which nobody has seen to
 * @news: streams of kernels that have more of these to say
 * @idle: gives back flows that nobody uses
 * @flags: BGDMA_FLOWS_*
 * @arrived: frames that nobody has looked at
 * @in_box: in the list of the processor where they arrived
 * @kcov_handle: what a worker does is covered for who sent the last of them
 * @work: looks
 * @session: of the next flow
 */
struct bgdma_flows {
	struct bgdma_ether *ether;
	struct bgdma_busy busy;
	spinlock_t lock;
	struct mutex mutex;
	DECLARE_HASHTABLE(tx, BGDMA_FLOW_HASH_BITS);
	DECLARE_HASHTABLE(rx, BGDMA_FLOW_HASH_BITS);
	struct list_head txs;
	struct bgdma_tx *voice;
	bool unheard;
	atomic_long_t said;
	u32 n_rx;
	atomic_long_t kept;
	u32 n_ghosts;
	u32 n_places;
	struct xarray places;
	DECLARE_HASHTABLE(homes, BGDMA_HOME_HASH_BITS);
	atomic_t n_news;
	struct bgdma_waiters news;
	struct delayed_work idle;
	unsigned long flags;
	struct sk_buff_head arrived;
	u64 kcov_handle;
	struct list_head in_box;
	struct work_struct work;
	atomic_t session;
};

/* flows.c */
struct bgdma_flows *bgdma_flows_new(struct bgdma_ether *ether);
void bgdma_flows_end(struct bgdma_flows *flows);
u32 bgdma_flow_clock(void);
u32 bgdma_flow_hash(const struct bgdma_flow_key *key);
u32 bgdma_ether_timeout(const struct bgdma_ether *ether);
void bgdma_tx_each(struct bgdma_flows *flows,
		   void (*fn)(struct bgdma_tx *tx, void *arg), void *arg);
int bgdma_flows_init(void);
void bgdma_flows_exit(void);
extern struct workqueue_struct *bgdma_flow_wq;
extern u32 bgdma_flow_seed;

/* ghost.c */
/* May who has so much have so much more? @all of them have @of. */
static inline bool bgdma_share(long has, long more, long all, long of)
{
	return has + more <= of - all;
}

u64 bgdma_ghost_kernel(const struct bgdma_ctx *ctx);
bool bgdma_ghost_over(struct bgdma_flows *flows, u64 kernel,
		      const struct bgdma_flow_key *key, u32 session);
struct bgdma_ctx *bgdma_ghost_flow(struct bgdma_flows *flows, u64 kernel,
				   const struct bgdma_flow_key *key,
				   struct bgdma_rx_flow *flow);
void bgdma_ghost_flow_end(struct bgdma_flows *flows, struct bgdma_rx_flow *flow);
bool bgdma_ghost_keeps(const struct bgdma_rx_flow *flow, u32 bytes);
void bgdma_ghost_kept(const struct bgdma_rx_flow *flow, int bytes);
void bgdma_ghost_gone(struct bgdma_flows *flows, u64 kernel,
		      const struct bgdma_principal *who, kuid_t uid);
void bgdma_ghosts_gone(struct bgdma_flows *flows, u64 kernel, bool bye,
		       void (*first)(struct bgdma_tx *tx, void *arg));
void bgdma_ghosts_none(struct bgdma_flows *flows);

/* frame.c */
/* Room for what any device wants in front. */
#define BGDMA_FRAME_BEFORE	(MAX_HEADER + ETH_HLEN)
/* Smaller pieces are copied: that takes less than a reference. */
#define BGDMA_REFER_MIN		512
struct sk_buff *bgdma_frame_new(u32 room);
void bgdma_frame_begin(struct sk_buff *skb, const struct bgdma_flow_key *key);
struct bgdma_wire_packet *bgdma_frame_packet(struct sk_buff *skb);
struct bgdma_wire_packet *bgdma_frame_repeat(struct sk_buff *skb);
u32 bgdma_frame_copy(struct sk_buff *skb, const void *from, u32 n,
		     struct list_head *spare);
void bgdma_frame_append(struct sk_buff *skb, const void *from, u32 n);
void bgdma_frame_refer(struct sk_buff *skb, const void *from, u32 n);
u32 bgdma_frame_bound(const struct sk_buff *skb, u32 mtu);
u32 bgdma_frame_span(struct sk_buff *skb, u32 mtu);
struct sk_buff *bgdma_frame_part(const struct sk_buff *skb, u32 i,
				 struct bgdma_wire_cut *cut);
void bgdma_frame_finish(struct bgdma_ether *ether, struct sk_buff *skb);
bool bgdma_frame_intact(struct sk_buff *skb);
void bgdma_frame_send(struct bgdma_ether *ether, struct sk_buff *skb);
struct bgdma_room bgdma_frame_room(const struct bgdma_ether *ether);

/* twin.c */
bool bgdma_frame_borrows(const struct sk_buff *skb);
u32 bgdma_frame_head(const struct sk_buff *skb);
struct sk_buff *bgdma_frame_twin(u32 head, u32 payload, gfp_t gfp);
bool bgdma_frame_fill(struct sk_buff *twin, const struct sk_buff *skb);
struct sk_buff *bgdma_frame_own(struct sk_buff *skb);
int bgdma_frames_own(struct sk_buff_head *queue, bool apart);
void bgdma_frame_take_back(struct sk_buff *skb);
bool bgdma_frame_taken_back(const struct sk_buff *skb);

/* freeze.c */
bool bgdma_tx_freeze(struct bgdma_tx *tx, u32 region);
bool bgdma_remote_freeze(struct bgdma_stream *s, u32 region);

/* patience.c */
bool bgdma_patience_has(const struct bgdma_stream *s);
void bgdma_patience_init(struct bgdma_tx_flow *flow);
void bgdma_patience_last(struct bgdma_tx_flow *flow, struct sk_buff *skb);
void bgdma_patience_ask(struct bgdma_tx_flow *flow);
bool bgdma_patience_over(struct bgdma_tx_flow *flow);
void bgdma_patience_hurry(struct bgdma_tx *tx);

/* quiet.c */
bool bgdma_remote_quiet(const struct bgdma_stream *s);
void bgdma_remote_drop(struct bgdma_stream *s);
int bgdma_remote_fence(struct bgdma_stream *s);
void bgdma_remote_ended(struct bgdma_stream *s);
void bgdma_remote_killed(struct bgdma_stream *s);

/* inbox.c */
bool bgdma_inbox_put(struct bgdma_flows *flows, struct sk_buff *skb);
bool bgdma_inbox_open(bool pooled);
void bgdma_inbox_close(void);
void bgdma_inbox_new(struct bgdma_flows *flows);
void bgdma_inbox_end(struct bgdma_flows *flows);
void bgdma_inbox_init(void);

/* idle.c */
void bgdma_idle_over(struct bgdma_tx_flow *flow, const struct sk_buff *skb);
void bgdma_idle_begin(struct bgdma_flows *flows);
void bgdma_idle_end(struct bgdma_flows *flows);

/* tx.c */
struct bgdma_tx *bgdma_tx_new(struct bgdma_ether *ether, struct bgdma_stream *s);
struct bgdma_tx_flow *bgdma_tx_flow(struct bgdma_tx *tx,
				    const struct bgdma_flow_key *key);
bool bgdma_tx_room(const struct bgdma_tx_flow *flow, u32 frames);
void bgdma_tx_overtake(struct bgdma_tx *tx, const struct bgdma_tx_flow *flow);
void bgdma_tx_look(struct bgdma_tx *tx);
void bgdma_tx_open(struct bgdma_tx_flow *flow, struct sk_buff *skb);
void bgdma_tx_close(struct bgdma_tx_flow *flow);
void bgdma_tx_send(struct bgdma_tx *tx, bool open);
void bgdma_tx_flush(struct bgdma_tx *tx, bool open, bool pooled);
void bgdma_tx_turn(struct bgdma_stream *s);
void bgdma_tx_over(struct bgdma_tx *tx);
bool bgdma_tx_provide(struct bgdma_tx *tx, u32 frames, u32 pages);
void bgdma_tx_orphan(struct bgdma_tx *tx);
void bgdma_tx_stop(struct bgdma_tx *tx);
void bgdma_tx_give_up(struct bgdma_tx_flow *flow, u32 code, u32 dead);
void bgdma_tx_flow_end(struct bgdma_tx_flow *flow);
void bgdma_tx_put(struct bgdma_tx *tx);
void bgdma_tx_arm(struct bgdma_tx_flow *flow);
void bgdma_tx_again(struct bgdma_tx_flow *flow, struct sk_buff *skb);
bool bgdma_tx_quiet(const struct bgdma_tx *tx);

/* train.c */
void bgdma_tx_train(struct bgdma_stream *s, struct bgdma_tx_flow *flow);

/* ack.c */
void bgdma_tx_mend(struct bgdma_tx_flow *flow);
void bgdma_tx_held(struct bgdma_tx_flow *flow, bool held, u32 kind, u32 id);
void bgdma_tx_ack(struct bgdma_flows *flows, const struct sk_buff *skb,
		  bool pooled);
void bgdma_tx_fetched(struct bgdma_flows *flows,
		      const struct bgdma_flow_key *key, u64 kernel, u32 id,
		      u32 offset, const void *old, u32 n);

/* sent.c */
u32 bgdma_sent_code(const struct bgdma_tx *tx, const struct bgdma_sent *sent);
void bgdma_sent_dealt(struct bgdma_tx *tx, const struct sk_buff *skb);
void bgdma_sent_failed(struct bgdma_tx *tx, const struct sk_buff *skb, u32 id,
		       u32 code, u64 offset, u64 bound);
void bgdma_sent_fetched(struct bgdma_tx *tx, u32 rank, u32 id, u32 offset,
			const void *old, u32 n);
bool bgdma_sent_passed(struct bgdma_tx *tx, struct bgdma_sent *sent);
void bgdma_sent_check(struct bgdma_tx *tx, struct bgdma_sent *sent);
void bgdma_sent_given_up(struct bgdma_tx *tx);
void bgdma_sent_none(struct bgdma_tx *tx, u32 code);
void bgdma_sent_unanswered(struct bgdma_tx *tx, u32 rank, u32 code);
void bgdma_sent_lost(struct bgdma_tx *tx, const struct sk_buff *skb, u32 code,
		     u64 offset, u64 bound);
void bgdma_sent_publish(struct bgdma_tx *tx);
void bgdma_sent_cleared(struct bgdma_tx *tx);
bool bgdma_sent_asked(struct bgdma_tx *tx, u32 rank);
void bgdma_sent_orphan(struct bgdma_tx *tx);

/* rx.c */
void bgdma_rx_data(struct bgdma_flows *flows, struct sk_buff *skb);
bool bgdma_rx_known(struct bgdma_flows *flows, struct sk_buff *skb,
		    struct bgdma_rx_flow **last, bool pooled);
void bgdma_rx_run(struct bgdma_rx_flow *flow, bool pooled);
long bgdma_rx_turn(struct bgdma_stream *s, long budget);
bool bgdma_rx_waits(struct bgdma_rx_flow *flow);
void bgdma_rx_free(struct bgdma_rx_flow *flow);

/* arrive.c */
int bgdma_arrive(struct bgdma_rx_flow *flow, const struct bgdma_wire_packet *p,
		 const struct sk_buff *skb, u32 off);
void bgdma_arrive_end(struct bgdma_rx_flow *flow);

/* asked.c */
int bgdma_asked_begin(struct bgdma_stream *s, u64 *serial);
void bgdma_asked_ended(struct bgdma_tx *tx, const struct bgdma_sent *sent);
bool bgdma_asked_answered(struct bgdma_ctx *ctx,
			  const struct bgdma_principal *from,
			  const struct bgdma_answer *answer, u64 kernel);
bool bgdma_asked_lost(struct bgdma_ctx *ctx, u64 kernel, u32 *bucket);
void bgdma_asked_forget(struct bgdma_parting *parting);

/* vow.c */
bool bgdma_vow_get(struct bgdma_tx_flow *flow, struct sk_buff *skb);
struct bgdma_vow *bgdma_vow_take(struct sk_buff *skb);
void bgdma_vow_put(struct bgdma_vow *vow);
bool bgdma_vow_kept(const struct bgdma_tx_flow *flow);

/* voice.c */
bool bgdma_voice_new(struct bgdma_flows *flows);
void bgdma_voice_unheard(struct bgdma_tx_flow *flow);
void bgdma_voice_go_on(struct bgdma_tx_flow *flow);
struct sk_buff *bgdma_voice_promise(struct bgdma_ether *ether, u32 dst);
bool bgdma_voice_answer(const struct bgdma_ctx *from,
			const struct bgdma_answer *answer);
bool bgdma_voice_pledge(struct bgdma_stream *s);
void bgdma_voice_refused(struct bgdma_stream *s);
void bgdma_voice_fetched(struct bgdma_rx_flow *flow,
			 const struct bgdma_wire_packet *p, u32 offset,
			 const void *old, u32 n);
struct bgdma_parting *bgdma_parting_get(struct bgdma_ctx *ctx, gfp_t gfp);
void bgdma_parting_put(struct bgdma_parting *parting);
void bgdma_parting_left(struct bgdma_ctx *ctx);

/* hear.c */
int bgdma_hear(struct bgdma_rx_flow *flow, const struct bgdma_wire_packet *p,
	       const void *payload);

#endif /* _BGDMA_FLOW_H */
