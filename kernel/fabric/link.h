/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Links: where nodes of a partition live in another kernel or network namespace.
 * A partition has a struct bgdma_ether as soon as it has a key, nodes that live
 * elsewhere, or a link. Private to fabric/ and to control/link.c.
 *
 *	link	a netdev that the partition uses
 *	peer	a kernel that was heard on a link
 *	kernel	one that has nodes of the partition, anywhere behind the peers
 *	way	from a node that lives here in a direction: the peer there, if the
 *		next node lives with it
 *
 * Links come and go under RTNL, since their devices do. ether.lock is for changes
 * of all else; whoever only looks does so under RCU.
 *
 * Lock order: the lock of control/config.c, RTNL, ether.lock. partition.lock is not
 * taken inside these, nor these inside it.
 */
#ifndef _BGDMA_LINK_H
#define _BGDMA_LINK_H

#include <linux/if_ether.h>
#include <linux/netdevice.h>
#include <linux/siphash.h>
#include <linux/skbuff.h>

#include <linux/bgdma_netlink.h>

#include "../bgdma.h"
#include "check.h"
#include "route.h"
#include "silence.h"
#include "wire.h"

#define BGDMA_KEY_BYTES		16

/*
 * What anybody can make us keep: peers on one link, and kernels of all partitions of
 * a network namespace.
 */
#define BGDMA_PEERS_MAX		BGDMA_WIRE_HEARD
#define BGDMA_KERNELS_MAX	4096
#define BGDMA_LINKS_MAX		64
/* Links of all partitions of a network namespace. */
#define BGDMA_LINKS_NET_MAX	256

#define BGDMA_LINK_HELLO_MS	1000
#define BGDMA_LINK_HELLO_FAST_MS	100
#define BGDMA_LINK_TIMEOUT_MS	10000
/* The longest that anybody may set: control/policy.c. */
#define BGDMA_LINK_TIMEOUT_MAX	3600000
#define BGDMA_LINK_WINDOW	256

/**
 * struct bgdma_nodes - nodes, by runs of consecutive ranks, in order
 * @n: runs; 0: all
 * @run: each with its first and its last
 */
struct bgdma_nodes {
	u32 n;
	struct {
		u32 first;
		u32 last;
	} run[BGDMA_WIRE_RUNS];
};

/**
 * struct bgdma_link_config - what can be set of a link
 * @timeout_ms: a kernel that is not heard for so long is gone
 * @hello_ms: between two HELLO
 * @window: frames of a flow that may be on their way at most
 * @copy: never send pages by reference
 * @sum: always with a checksum of the payload; else not where a veth leads straight
 *	to a link of this kernel
 * @fixed: the window stays as it is, however long frames take
 */
struct bgdma_link_config {
	u32 timeout_ms;
	u32 hello_ms;
	u32 window;
	bool copy;
	bool sum;
	bool fixed;
};

/* One past the last enum bgdma_peer_state: of a peer that has no state yet. */
#define BGDMA_PEER_STATES	(BGDMA_PEER_MTU + 1)

/**
 * struct bgdma_peer - a kernel that was heard on a link
 * @node: in link.peers
 * @link: the link
 * @id: of this peer and no other of the partition
 * @proved: it has our key. Of who has not, all is hearsay but @mac, which it is
 *	known by; the others by @kernel, too: one may have two devices here
 * @kernel: its number
 * @mac: its address there
 * @mtu: that it takes
 * @version: that it speaks
 * @state: enum bgdma_peer_state; ether.lock
 * @heard: when, by bgdma_ether_now()
 * @every: milliseconds from one HELLO of it to the next
 * @direct: from one veth to the other it is our own, in another namespace
 * @fresh: it is up, and has not been told yet what we know of others
 * @nodes: that live there
 * @dims: of its partition
 * @torus: likewise
 * @name: likewise
 * @rcu: freed after a grace period
 */
struct bgdma_peer {
	struct list_head node;
	struct bgdma_link *link;
	u32 id;
	bool proved;
	u64 kernel;
	u8 mac[ETH_ALEN];
	u32 mtu;
	u8 version;
	u8 state;
	unsigned long heard;
	u32 every;
	bool direct;
	bool fresh;
	struct bgdma_nodes nodes;
	u32 dims[3];
	u32 torus;
	char name[BGDMA_NAME_MAX];
	struct rcu_head rcu;
};

/* What a link counts: for people. */
enum bgdma_link_stat {
	BGDMA_LINK_TX_FRAMES,
	BGDMA_LINK_TX_BYTES,
	BGDMA_LINK_TX_DROPPED,	/* the device, or what is before it, was full */
	BGDMA_LINK_TX_AGAIN,	/* of the frames, those sent before */
	BGDMA_LINK_RX_FRAMES,
	BGDMA_LINK_RX_BYTES,
	BGDMA_LINK_RX_MALFORMED,
	BGDMA_LINK_RX_DAMAGED,	/* a checksum was wrong */
	BGDMA_LINK_RX_STRANGE,	/* from nobody that we know, or for nobody */
	BGDMA_LINK_RX_DROPPED,	/* no room here */
	BGDMA_LINK_FORWARDED,
	BGDMA_LINK_NO_WAY,	/* was to be forwarded, but there is no way */
	BGDMA_LINK_STATS
};

/**
 * struct bgdma_link - a netdev that a partition uses
 * @node: in ether.links; RCU, RTNL and ether.lock
 * @all: in the list of all links; RCU, RTNL
 * @ether: of the partition
 * @id: of this link and no other of the partition
 * @dev: a reference
 * @tracker: of it
 * @type: how frames come in
 * @config: what was set; RTNL, but read at any time
 * @peers: that were heard; RCU, ether.lock
 * @n_peers: so many; ether.lock
 * @mtu: bytes behind the Ethernet header
 * @up: the device is, and its cable
 * @gone: not in ether.links any more; ether.lock
 * @hello: sends one, and looks for who was not heard
 * @fast: so many HELLO come soon after each other; ether.lock
 * @inbox: HELLO and STATE that came in
 * @work: looks at them
 * @detours: frames for elsewhere that pass many nodes here
 * @detour: finds their way
 * @inside: the device is a veth, so its other end is in this kernel
 * @stats: enum bgdma_link_stat
 * @rcu: freed after a grace period
 */
struct bgdma_link {
	struct list_head node;
	struct list_head all;
	struct bgdma_ether *ether;
	u32 id;
	struct net_device *dev;
	netdevice_tracker tracker;
	struct packet_type type;
	struct bgdma_link_config config;
	struct list_head peers;
	u32 n_peers;
	u32 mtu;
	bool up;
	bool gone;
	struct delayed_work hello;
	u32 fast;
	struct sk_buff_head inbox;
	struct work_struct work;
	struct sk_buff_head detours;
	struct work_struct detour;
	bool inside;
	atomic64_t stats[BGDMA_LINK_STATS];
	struct rcu_head rcu;
};

struct bgdma_ways;

/**
 * struct bgdma_kernel - one that has nodes of the partition; ether.lock
 * @node: in ether.kernels
 * @number: its own
 * @seq: of its last STATE; 0: none yet, only HELLO
 * @heard: when the last news of it came, by bgdma_ether_now()
 * @left: it said so, or nobody has heard of it: kept to know its old STATE
 * @bye: it said so, and so will not come back
 * @untold: bgdma_kernel_gone() is to be called, even if it comes back: some may have said
 *	nothing to it meanwhile
 * @telling: it is being called: no way leads there, though it may have come back
 * @missed: it gave us up, and bgdma_kernel_gone() is to be called for that
 * @again: it knows that it was given up, and those are to be told who came since
 * @since: the last context that was told of its end
 * @lost: the number of its end here, until it is known to know; or 0
 * @asks: the number of our end there, as long as it says that; or 0
 * @known: the last of these
 * @said: our STATE that last spoke of any of them
 * @index: of it among the owners of the ways that are being made
 * @state: its last; of one that only said HELLO made up
 */
struct bgdma_kernel {
	struct hlist_node node;
	u64 number;
	u32 seq;
	unsigned long heard;
	bool left;
	bool bye;
	bool untold;
	bool telling;
	bool missed;
	bool again;
	u32 since;
	u32 lost;
	u32 asks;
	u32 known;
	u32 said;
	u16 index;
	struct bgdma_wire_state state;
};

/* A change waits so long for others that come with it. */
#define BGDMA_TICK_STALE_MS	10

/* Buckets of ether.kernels, as a power of two. */
#define BGDMA_KERNEL_BITS	7

/**
 * struct bgdma_ether - what a partition has where not all of it lives here
 * @part: the partition
 * @net: its network namespace; not a reference, but all links end before it does
 * @lock: peers, kernels, ways, and the pace
 * @kernel: our number
 * @tag: in all frames of the partition
 * @key: of the partition; never shown
 * @shape: of the partition
 * @local: nodes that live here
 * @links: RCU
 * @n_links: so many
 * @flows: what goes over links
 * @last_id: of links and peers
 * @dead: the partition is; no link comes any more
 * @ways: where each node lives, and how to get there; RCU
 * @tick: makes new ways, tells the others, and looks for who is gone
 * @tables: makes distances that somebody waits for
 * @ends: whoever dealt with those is told, which may take long
 * @stale: @ways are to be made anew; @lock
 * @kernels: struct bgdma_kernel by number; @lock
 * @n_kernels: so many
 * @seq: of our last STATE
 * @lost: number of the last end of a kernel that was not heard
 * @told: when it was sent, in jiffies
 * @tell: it is to be sent again
 * @pace: time by which others are silent, changed by @tick
 */
struct bgdma_ether {
	struct bgdma_partition *part;
	struct net *net;
	struct mutex lock;
	u64 kernel;
	u32 tag;
	siphash_key_t key;
	struct bgdma_shape shape;
	struct bgdma_nodes local;
	struct list_head links;
	u32 n_links;
	u32 last_id;
	bool dead;
	struct bgdma_ways __rcu *ways;
	struct delayed_work tick;
	struct work_struct tables;
	struct work_struct ends;
	bool stale;
	struct hlist_head kernels[1 << BGDMA_KERNEL_BITS];
	u32 n_kernels;
	u32 seq;
	u32 lost;
	unsigned long told;
	bool tell;
	struct bgdma_pace pace;
	struct bgdma_flows *flows;
};

typedef void bgdma_kernels_fn(struct bgdma_ether *ether, u32 rank, void *arg);

/* kernels.c */
bool bgdma_kernels_each(struct bgdma_ether *ether, bgdma_kernels_fn *fn,
			void *arg);

/* Of a partition, or NULL; the first link may make one while others look. */
static inline struct bgdma_ether *bgdma_ether(const struct bgdma_partition *part)
{
	/* Pairs with bgdma_link_ether(): what it points to is complete. */
	return smp_load_acquire(&part->ether);
}

/* Time by which others are silent. */
static inline unsigned long bgdma_ether_now(const struct bgdma_ether *ether)
{
	return bgdma_pace_now(&ether->pace);
}

/* net.c, partition.c */
int bgdma_partition_take(struct bgdma_net *bn, struct bgdma_partition *part);
void bgdma_partition_end(struct bgdma_partition *part);
void bgdma_partition_drop(struct bgdma_net *bn, struct bgdma_partition *part);
void bgdma_partition_kill(struct bgdma_partition *part);

/* ether.c */
struct bgdma_ether *bgdma_ether_new(struct bgdma_partition *part,
				    struct net *net, const u8 *key,
				    const struct bgdma_nodes *local);
void bgdma_ether_free(struct bgdma_ether *ether);
void bgdma_ether_stop(struct bgdma_ether *ether);
void bgdma_ether_end(struct bgdma_ether *ether);
bool bgdma_nodes_have(const struct bgdma_nodes *nodes, u32 rank);
bool bgdma_nodes_overlap(const struct bgdma_nodes *a,
			 const struct bgdma_nodes *b, u32 *rank);
int bgdma_nodes_write(const struct bgdma_nodes *nodes, u32 size,
		      struct bgdma_wire_run *run);
void bgdma_nodes_read(struct bgdma_nodes *nodes,
		      const struct bgdma_wire_run *run, u32 n);
struct bgdma_shape bgdma_shape_of(const struct bgdma_partition *part);
u64 bgdma_ether_proof(const struct bgdma_ether *ether,
		      enum bgdma_frame_type type, const void *data, size_t len);

/* link.c */
int bgdma_link_init(void);
void bgdma_link_exit(void);
int bgdma_link_add(struct bgdma_partition *part, struct net_device *dev,
		   const struct bgdma_link_config *config);
int bgdma_link_set(struct bgdma_partition *part, struct net_device *dev,
		   const struct bgdma_link_config *config);
int bgdma_link_del(struct bgdma_partition *part, struct net_device *dev);
struct bgdma_link *bgdma_link_find(struct bgdma_ether *ether,
				   const struct net_device *dev);
bool bgdma_link_has(const struct net_device *dev, const char *name);
bool bgdma_link_direct(const struct bgdma_link *link, u64 kernel);
struct sk_buff *bgdma_link_frame(struct bgdma_link *link,
				 enum bgdma_frame_type type, size_t len);
int bgdma_link_xmit(struct bgdma_link *link, struct sk_buff *skb,
		    const u8 *mac);
u32 bgdma_frame_crc(const struct bgdma_frame *frame);
void bgdma_frame_seal(struct bgdma_frame *frame);
void bgdma_link_queue(struct delayed_work *work, unsigned int ms);
void bgdma_link_queue_work(struct work_struct *work);

static inline void bgdma_link_count(struct bgdma_link *link,
				    enum bgdma_link_stat what)
{
	atomic64_inc(&link->stats[what]);
}

/* hello.c */
void bgdma_hello_work(struct work_struct *work);
void bgdma_hello_soon(struct bgdma_ether *ether);
void bgdma_hello_bye(struct bgdma_link *link);
void bgdma_kernel_lost(struct bgdma_ether *ether, u64 kernel);
void bgdma_hello_receive(struct bgdma_link *link, const struct sk_buff *skb);
void bgdma_peers_lose(struct bgdma_link *link);
void bgdma_peers_free(struct bgdma_link *link);
void bgdma_peer_text(const struct bgdma_peer *peer, char *text, size_t size);

/* kernels.c */
void bgdma_state_receive(struct bgdma_link *link, const struct sk_buff *skb);
void bgdma_kernel_heard(struct bgdma_ether *ether,
			const struct bgdma_peer *peer);
struct bgdma_kernel *bgdma_kernel_find(struct bgdma_ether *ether, u64 number);
bool bgdma_kernel_has(struct bgdma_ether *ether, u64 number, u32 rank);
bool bgdma_kernel_nodes(struct bgdma_ether *ether, u64 number,
			struct bgdma_nodes *nodes);
void bgdma_kernel_bye(struct bgdma_ether *ether);
void bgdma_kernels_free(struct bgdma_ether *ether);
void bgdma_ether_tick(struct work_struct *work);
void bgdma_ether_ends(struct work_struct *work);

/* lost.c */
bool bgdma_lost_waits(const struct bgdma_ether *ether);
void bgdma_lost_say(struct bgdma_ether *ether, struct bgdma_wire_state *state);
void bgdma_lost_hear(struct bgdma_ether *ether, struct bgdma_kernel *kernel);

/* Is somebody to be told of its end? */
static inline bool bgdma_kernel_news(const struct bgdma_kernel *kernel)
{
	return kernel->untold || kernel->missed || kernel->again;
}

/* No way leads there, whatever it says. */
static inline bool bgdma_kernel_shut(const struct bgdma_kernel *kernel)
{
	return kernel->left || kernel->telling || kernel->lost ||
	       bgdma_kernel_news(kernel);
}

/* frame.c */
void bgdma_frame_init(u16 ethertype);
void bgdma_frame_exit(void);
void bgdma_frame_receive(struct bgdma_link *link, struct sk_buff *skb);
void bgdma_frame_detour(struct work_struct *work);
void bgdma_kernel_gone(struct bgdma_ether *ether, u64 kernel, bool bye, u32 since);

/* voice.c */
bool bgdma_voice_whom(struct bgdma_ether *ether, u64 *number, u32 *rank);

/* tell.c */
void bgdma_partition_tell(struct bgdma_partition *part,
			  const struct bgdma_principal *gone, kuid_t uid);
void bgdma_partition_tell_nodes(struct bgdma_partition *part, u64 kernel,
				const struct bgdma_nodes *nodes, u32 since);

/* control/link.c */
void bgdma_peer_tell(const struct bgdma_peer *peer);
void bgdma_link_tell(const struct bgdma_link *link, u8 cmd);

/* way.c, ways.c */

/**
 * struct bgdma_way - the next hop from a node
 * @rank: where it leads to; BGDMA_ROUTE_NONE: there is no way
 * @direction: enum bgdma_direction
 * @peer: where that node lives; NULL: here
 * @later: there is none now, but a way round is being looked for: try again
 */
struct bgdma_way {
	u32 rank;
	unsigned int direction;
	struct bgdma_peer *peer;
	bool later;
};

struct bgdma_way bgdma_way_next(struct bgdma_ether *ether, u32 from, u32 to,
				bool adaptive);
struct bgdma_way bgdma_way_leave(struct bgdma_ether *ether, u32 from, u32 to,
				 bool adaptive, u32 *looks);
u32 bgdma_way_dead(struct bgdma_ether *ether, u32 from, u32 to);
u64 bgdma_way_kernel(struct bgdma_ether *ether, u32 rank);

/* May a kernel speak for a node? Only where that lives anybody does. */
static inline bool bgdma_way_speaks(struct bgdma_ether *ether, u64 kernel,
				    u32 rank)
{
	return kernel && kernel == bgdma_way_kernel(ether, rank);
}

void bgdma_way_table(struct bgdma_ether *ether, u32 to);
void bgdma_way_tables(struct work_struct *work);
bool bgdma_ways_awaited(const struct bgdma_ether *ether);
void bgdma_ways_update(struct bgdma_ether *ether);
void bgdma_ways_stale(struct bgdma_ether *ether);
void bgdma_ways_free(struct bgdma_ether *ether);

#endif /* _BGDMA_LINK_H */
