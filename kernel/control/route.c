// SPDX-License-Identifier: GPL-2.0
/*
 * Which way packets take from one node to another.
 */
#include <linux/netdevice.h>
#include <linux/sched/signal.h>

#include "../fabric/link.h"
#include "netlink.h"

/* A hop of an answer takes at most so many bytes. */
#define BGDMA_HOP_BYTES		80
/* Of a longer way only the first are shown. */
#define BGDMA_ROUTE_HOPS_MAX	255
#define BGDMA_ROUTE_BYTES	(256 + BGDMA_ROUTE_HOPS_MAX * BGDMA_HOP_BYTES)

/* Where a hop leads to. */
struct bgdma_hop {
	u32 rank;
	u32 to;
	u32 direction;
	u64 kernel;
	bool leaves;	/* that kernel is another one than where it begins */
	int ifindex;
	char ifname[IFNAMSIZ];
};

/* The next hop as it is now; false: there is none. */
static bool bgdma_route_hop(struct bgdma_ether *ether, u32 from, u32 to,
			    bool adaptive, struct bgdma_hop *hop)
{
	struct bgdma_way way;

	/* Tables may be missing; in an answer there is time for them. */
	mutex_lock(&ether->lock);
	if (ether->stale)
		bgdma_ways_update(ether);
	mutex_unlock(&ether->lock);
	bgdma_way_table(ether, to);
	rcu_read_lock();
	way = bgdma_way_next(ether, from, to, adaptive);
	memset(hop, 0, sizeof(*hop));
	hop->rank = from;
	hop->to = way.rank;
	hop->direction = way.direction;
	if (way.rank != BGDMA_ROUTE_NONE) {
		hop->kernel = bgdma_way_kernel(ether, way.rank);
		hop->leaves = hop->kernel != bgdma_way_kernel(ether, from);
	}
	/* Of other kernels nobody knows which device they take. */
	if (way.peer && bgdma_nodes_have(&ether->local, from)) {
		hop->ifindex = way.peer->link->dev->ifindex;
		strscpy(hop->ifname, way.peer->link->dev->name,
			sizeof(hop->ifname));
	}
	rcu_read_unlock();
	return way.rank != BGDMA_ROUTE_NONE;
}

/* A partition that is all here is arithmetic. */
static bool bgdma_route_hop_here(const struct bgdma_partition *part, u32 from,
				 u32 to, struct bgdma_hop *hop)
{
	struct bgdma_shape shape = bgdma_shape_of(part);

	memset(hop, 0, sizeof(*hop));
	hop->rank = from;
	hop->direction =
		bgdma_route_first(bgdma_route_minimal(&shape, from, to));
	hop->to = bgdma_route_neighbour(&shape, from, hop->direction);
	return true;
}

static int bgdma_put_hop(struct sk_buff *skb, const struct bgdma_hop *hop)
{
	struct nlattr *nest = nla_nest_start(skb, BGDMA_A_ROUTE_HOP);

	if (!nest || nla_put_u32(skb, BGDMA_A_HOP_RANK, hop->rank) ||
	    nla_put_u32(skb, BGDMA_A_HOP_DIRECTION, hop->direction) ||
	    nla_put_u32(skb, BGDMA_A_HOP_TO, hop->to) ||
	    (hop->kernel &&
	     nla_put_u64_64bit(skb, BGDMA_A_HOP_KERNEL, hop->kernel,
			       BGDMA_A_HOP_PAD)) ||
	    (hop->ifindex &&
	     (nla_put_u32(skb, BGDMA_A_HOP_IFINDEX, hop->ifindex) ||
	      nla_put_string(skb, BGDMA_A_HOP_IFNAME, hop->ifname))))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int bgdma_put_dead(struct sk_buff *skb, struct bgdma_ether *ether,
			  u32 from, u32 to)
{
	u32 dead = bgdma_way_dead(ether, from, to);

	if (dead == BGDMA_ROUTE_NONE)
		return 0;
	return nla_put_u32(skb, BGDMA_A_ROUTE_DEAD_RANK,
			   dead / BGDMA_DIRECTIONS) ?:
	       nla_put_u32(skb, BGDMA_A_ROUTE_DEAD_DIRECTION,
			   dead % BGDMA_DIRECTIONS);
}

/*
 * The hops, as many as are shown, and how many there are; if there is no way, what is
 * in it. Frames count the links that they cross, not the nodes of a kernel that they
 * pass. No way is longer than there are nodes among which detours are looked for; but
 * while we look, kernels come and go.
 */
static int bgdma_put_route(struct sk_buff *skb, struct bgdma_partition *part,
			   u32 from, u32 to, bool adaptive)
{
	struct bgdma_ether *ether = bgdma_ether(part);
	struct bgdma_hop hop;
	u32 at = from, hops, links = 0;

	for (hops = 0; at != to; hops++) {
		if (hops == BGDMA_ROUTE_NODES_MAX)
			return 0;
		if (fatal_signal_pending(current))
			return -EINTR;
		if (ether ? !bgdma_route_hop(ether, at, to, adaptive, &hop) :
			    !bgdma_route_hop_here(part, at, to, &hop))
			return bgdma_put_dead(skb, ether, at, to);
		if (hop.leaves && ++links > BGDMA_WIRE_HOPS_MAX)
			return 0;
		if (hops < BGDMA_ROUTE_HOPS_MAX && bgdma_put_hop(skb, &hop))
			return -EMSGSIZE;
		at = hop.to;
		cond_resched();
	}
	return nla_put_u32(skb, BGDMA_A_ROUTE_LENGTH, hops);
}

/* A rank of the partition. */
static int bgdma_route_rank(struct genl_info *info, int attr, u32 size,
			    u32 *rank)
{
	if (!info->attrs[attr]) {
		NL_SET_ERR_MSG_MOD(info->extack, "two ranks are needed");
		return -EINVAL;
	}
	*rank = nla_get_u32(info->attrs[attr]);
	if (*rank < size)
		return 0;
	NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[attr],
			    "bgdma: the partition has no such rank");
	return -ENOENT;
}

static int bgdma_route_answer(struct genl_info *info,
			      struct bgdma_partition *part, u32 from, u32 to)
{
	bool adaptive = info->attrs[BGDMA_A_ROUTE_ADAPTIVE];
	struct sk_buff *skb;
	void *head;
	int err;

	skb = genlmsg_new(BGDMA_ROUTE_BYTES, GFP_KERNEL);
	if (!skb)
		return -ENOMEM;
	head = genlmsg_put_reply(skb, info, &bgdma_family, 0,
				 BGDMA_CMD_ROUTE_GET);
	err = nla_put_string(skb, BGDMA_A_ROUTE_PARTITION, part->name) ?:
	      nla_put_u32(skb, BGDMA_A_ROUTE_FROM, from) ?:
	      nla_put_u32(skb, BGDMA_A_ROUTE_TO, to) ?:
	      (adaptive ? nla_put_flag(skb, BGDMA_A_ROUTE_ADAPTIVE) : 0) ?:
	      bgdma_put_route(skb, part, from, to, adaptive);
	WARN_ON_ONCE(err == -EMSGSIZE);
	if (err) {
		nlmsg_free(skb);
		return err;
	}
	genlmsg_end(skb, head);
	return genlmsg_reply(skb, info);
}

/**
 * bgdma_route_get_doit() - BGDMA_CMD_ROUTE_GET
 * @skb: request
 * @info: its attributes
 *
 * Return: 0 or a negative errno, explained in the extended acknowledgment.
 */
int bgdma_route_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct bgdma_partition *part;
	u32 from, to;
	int err;

	part = bgdma_link_partition(info, BGDMA_A_ROUTE_PARTITION);
	if (IS_ERR(part))
		return PTR_ERR(part);
	err = bgdma_route_rank(info, BGDMA_A_ROUTE_FROM, part->size, &from) ?:
	      bgdma_route_rank(info, BGDMA_A_ROUTE_TO, part->size, &to) ?:
	      bgdma_route_answer(info, part, from, to);
	bgdma_partition_put(part);
	return err;
}
