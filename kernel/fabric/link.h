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
 * ether.lock is for changes of all of these, inside partition.lock; whoever only
 * looks does so under RCU.
 */
#ifndef _BGDMA_LINK_H
#define _BGDMA_LINK_H

#include <linux/if_ether.h>
#include <linux/netdevice.h>
#include <linux/siphash.h>
#include <linux/skbuff.h>

#include "../bgdma.h"
#include "route.h"
#include "wire.h"

#define BGDMA_KEY_BYTES		16

/* Peers on one link, and kernels of a partition, that anybody can make us keep. */
#define BGDMA_PEERS_MAX		BGDMA_WIRE_HEARD
#define BGDMA_KERNELS_MAX	4096
#define BGDMA_LINKS_MAX		64

#define BGDMA_LINK_HELLO_MS	1000
#define BGDMA_LINK_TIMEOUT_MS	10000
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
 * @rate: bytes per second at most; 0: no limit of ours
 * @copy: never send pages by reference
 * @sum: 1: always with a checksum of the payload; 0: not on a veth of this kernel
 * @fixed: the window stays as it is, however long frames take
 */
struct bgdma_link_config {
	u32 timeout_ms;
	u32 hello_ms;
	u32 window;
	u64 rate;
	bool copy;
	bool sum;
	bool fixed;
};

/* What became of a peer: the first that is true. */
enum bgdma_peer_state {
	BGDMA_PEER_HEARD,	/* does not hear us yet */
	BGDMA_PEER_UP,
	BGDMA_PEER_LOST,	/* is not heard any more */
	BGDMA_PEER_VERSION,	/* speaks another version */
	BGDMA_PEER_PARTITION,	/* has a partition of another name */
	BGDMA_PEER_KEY,		/* has another key */
	BGDMA_PEER_DIMS,	/* its partition has another shape */
	BGDMA_PEER_NODES,	/* says that nodes of ours live there */
	BGDMA_PEER_MTU,		/* takes less than a frame has to hold */
	BGDMA_PEER_STATES
};

/**
 * struct bgdma_peer - a kernel that was heard on a link
 * @node: in link.peers
 * @link: the link
 * @kernel: its number
 * @mac: its address there
 * @mtu: that it takes
 * @version: that it speaks
 * @state: what is wrong, or all is well; ether.lock
 * @heard: when, in jiffies
 * @nodes: that live there
 * @dims: of its partition
 * @torus: likewise
 * @name: likewise
 * @stats: frames and bytes to and from it
 * @rcu: freed after a grace period
 */
struct bgdma_peer {
	struct list_head node;
	struct bgdma_link *link;
	u64 kernel;
	u8 mac[ETH_ALEN];
	u32 mtu;
	u8 version;
	enum bgdma_peer_state state;
	unsigned long heard;
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
 * @node: in ether.links
 * @ether: of the partition
 * @dev: a reference
 * @tracker: of it
 * @type: how frames come in
 * @config: what was set
 * @peers: that were heard; RCU, ether.lock
 * @n_peers: so many; ether.lock
 * @mtu: bytes behind the Ethernet header
 * @hello: sends one, and looks for who was not heard
 * @inside: the device is a veth, so its other end is in this kernel
 * @stats: enum bgdma_link_stat
 * @rcu: freed after a grace period
 */
struct bgdma_link {
	struct list_head node;
	struct bgdma_ether *ether;
	struct net_device *dev;
	netdevice_tracker tracker;
	struct packet_type type;
	struct bgdma_link_config config;
	struct list_head peers;
	u32 n_peers;
	u32 mtu;
	struct delayed_work hello;
	bool inside;
	atomic64_t stats[BGDMA_LINK_STATS];
	struct rcu_head rcu;
};

/**
 * struct bgdma_ether - what a partition has where not all of it lives here
 * @part: the partition
 * @net: its network namespace; not a reference
 * @lock: links, peers, kernels, ways
 * @kernel: our number
 * @tag: in all frames of the partition
 * @key: of the partition
 * @local: nodes that live here
 * @links: RCU
 * @n_links: so many
 * @ways: struct bgdma_peer by rank * 6 + direction; RCU
 */
struct bgdma_ether {
	struct bgdma_partition *part;
	struct net *net;
	struct mutex lock;
	u64 kernel;
	u32 tag;
	siphash_key_t key;
	struct bgdma_nodes local;
	struct list_head links;
	u32 n_links;
	struct xarray ways;
};

/* ether.c */
struct bgdma_ether *bgdma_ether_new(struct bgdma_partition *part,
				    struct net *net, const u8 *key,
				    const struct bgdma_nodes *local);
void bgdma_ether_free(struct bgdma_ether *ether);
bool bgdma_nodes_have(const struct bgdma_nodes *nodes, u32 rank);
struct bgdma_shape bgdma_shape_of(const struct bgdma_partition *part);

/* link.c */
int bgdma_link_add(struct bgdma_partition *part, struct net_device *dev,
		   const struct bgdma_link_config *config);
int bgdma_link_set(struct bgdma_partition *part, struct net_device *dev,
		   const struct bgdma_link_config *config);
int bgdma_link_del(struct bgdma_partition *part, struct net_device *dev);

/* way.c */

/**
 * struct bgdma_way - the next hop from a node
 * @rank: where it leads to; BGDMA_ROUTE_NONE: there is no way
 * @direction: enum bgdma_direction
 * @peer: where that node lives; NULL: here
 */
struct bgdma_way {
	u32 rank;
	unsigned int direction;
	struct bgdma_peer *peer;
};

struct bgdma_way bgdma_way_next(struct bgdma_ether *ether, u32 from, u32 to,
				bool adaptive);

#endif /* _BGDMA_LINK_H */
