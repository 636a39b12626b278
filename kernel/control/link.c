// SPDX-License-Identifier: GPL-2.0
/*
 * Links and their peers: make, change, delete, show, and tell who listens.
 */
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>

#include "../fabric/link.h"
#include "netlink.h"

#define BGDMA_SAME_STAT(name) \
	static_assert((int)BGDMA_A_LINK_STATS_##name == \
		      (int)BGDMA_LINK_##name + 1)
BGDMA_SAME_STAT(TX_FRAMES);
BGDMA_SAME_STAT(TX_AGAIN);
BGDMA_SAME_STAT(RX_FRAMES);
BGDMA_SAME_STAT(RX_DAMAGED);
BGDMA_SAME_STAT(RX_DROPPED);
BGDMA_SAME_STAT(NO_WAY);

/* There are listeners to tell: between the family's coming and its going. */
static bool bgdma_link_heard;

/**
 * bgdma_link_listen() - the family is there, or goes
 * @on: it is there
 */
void bgdma_link_listen(bool on)
{
	WRITE_ONCE(bgdma_link_heard, on);
}

/* ---- Showing ------------------------------------------------------------- */

static int bgdma_put_link_stats(struct sk_buff *skb,
				const struct bgdma_link *link)
{
	struct nlattr *nest = nla_nest_start(skb, BGDMA_A_LINK_STATS);
	int i;

	if (!nest)
		return -EMSGSIZE;
	for (i = 0; i < BGDMA_LINK_STATS; i++) {
		if (nla_put_u64_64bit(skb, i + 1,
				      atomic64_read(&link->stats[i]),
				      BGDMA_A_LINK_STATS_PAD))
			return -EMSGSIZE;
	}
	nla_nest_end(skb, nest);
	return 0;
}

static int bgdma_put_link_config(struct sk_buff *skb,
				 const struct bgdma_link_config *config)
{
	return nla_put_u32(skb, BGDMA_A_LINK_TIMEOUT_MS, config->timeout_ms) ?:
	       nla_put_u32(skb, BGDMA_A_LINK_HELLO_MS, config->hello_ms) ?:
	       nla_put_u32(skb, BGDMA_A_LINK_WINDOW, config->window) ?:
	       nla_put_u32(skb, BGDMA_A_LINK_COPY, config->copy) ?:
	       nla_put_u32(skb, BGDMA_A_LINK_SUM, config->sum) ?:
	       nla_put_u32(skb, BGDMA_A_LINK_FIXED, config->fixed);
}

static u32 bgdma_link_state(const struct bgdma_link *link)
{
	if (!READ_ONCE(link->up))
		return BGDMA_LINK_STATE_DOWN;
	return READ_ONCE(link->mtu) < BGDMA_WIRE_MTU_MIN ?
		       BGDMA_LINK_STATE_MTU : BGDMA_LINK_STATE_UP;
}

/* A message that shows @link, which stays. */
static int bgdma_put_link(struct sk_buff *skb, void *head,
			  const struct bgdma_link *link)
{
	if (nla_put_string(skb, BGDMA_A_LINK_PARTITION,
			   link->ether->part->name) ||
	    nla_put_u32(skb, BGDMA_A_LINK_IFINDEX, link->dev->ifindex) ||
	    nla_put_string(skb, BGDMA_A_LINK_IFNAME, link->dev->name) ||
	    bgdma_put_link_config(skb, &link->config) ||
	    nla_put_u32(skb, BGDMA_A_LINK_STATE, bgdma_link_state(link)) ||
	    (link->inside && nla_put_flag(skb, BGDMA_A_LINK_INSIDE)) ||
	    nla_put_u32(skb, BGDMA_A_LINK_MTU, READ_ONCE(link->mtu)) ||
	    nla_put_u32(skb, BGDMA_A_LINK_PEERS, READ_ONCE(link->n_peers)) ||
	    bgdma_put_link_stats(skb, link)) {
		genlmsg_cancel(skb, head);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, head);
	return 0;
}

static int bgdma_put_peer_text(struct sk_buff *skb,
			       const struct bgdma_peer *peer)
{
	char text[192];

	bgdma_peer_text(peer, text, sizeof(text));
	return nla_put_string(skb, BGDMA_A_PEER_TEXT, text);
}

/* A message that shows @peer; ether.lock held. */
static int bgdma_put_peer(struct sk_buff *skb, void *head,
			  const struct bgdma_peer *peer)
{
	const struct bgdma_link *link = peer->link;

	if (nla_put_string(skb, BGDMA_A_PEER_PARTITION,
			   link->ether->part->name) ||
	    nla_put_u32(skb, BGDMA_A_PEER_IFINDEX, link->dev->ifindex) ||
	    nla_put_string(skb, BGDMA_A_PEER_IFNAME, link->dev->name) ||
	    nla_put_u64_64bit(skb, BGDMA_A_PEER_KERNEL, peer->kernel,
			      BGDMA_A_PEER_PAD) ||
	    nla_put(skb, BGDMA_A_PEER_MAC, ETH_ALEN, peer->mac) ||
	    nla_put_u32(skb, BGDMA_A_PEER_STATE, peer->state) ||
	    bgdma_put_peer_text(skb, peer) ||
	    (peer->nodes.n &&
	     nla_put(skb, BGDMA_A_PEER_NODES,
		     peer->nodes.n * sizeof(peer->nodes.run[0]),
		     peer->nodes.run)) ||
	    nla_put_u32(skb, BGDMA_A_PEER_MTU, peer->mtu) ||
	    nla_put_u64_64bit(skb, BGDMA_A_PEER_AGE_MS,
			      jiffies_to_msecs(bgdma_ether_now(link->ether) -
					       peer->heard),
			      BGDMA_A_PEER_PAD)) {
		genlmsg_cancel(skb, head);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, head);
	return 0;
}

/* ---- Telling ------------------------------------------------------------- */

static struct sk_buff *bgdma_tell_begin(struct net *net, u8 cmd, void **head)
{
	struct sk_buff *skb;

	if (!READ_ONCE(bgdma_link_heard) ||
	    !genl_has_listeners(&bgdma_family, net, 0))
		return NULL;
	skb = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);
	if (!skb) {
		genl_set_err(&bgdma_family, net, 0, 0, -ENOBUFS);
		return NULL;
	}
	*head = genlmsg_put(skb, 0, 0, &bgdma_family, 0, cmd);
	return skb;
}

static void bgdma_tell_end(struct net *net, struct sk_buff *skb, int err)
{
	if (WARN_ON_ONCE(err))
		nlmsg_free(skb);
	else
		genlmsg_multicast_netns(&bgdma_family, net, skb, 0, 0,
					GFP_KERNEL);
}

/**
 * bgdma_peer_tell() - a peer has another state
 * @peer: which; ether.lock held
 */
void bgdma_peer_tell(const struct bgdma_peer *peer)
{
	struct net *net = peer->link->ether->net;
	struct sk_buff *skb;
	void *head;

	skb = bgdma_tell_begin(net, BGDMA_CMD_PEER_NTF, &head);
	if (skb)
		bgdma_tell_end(net, skb, bgdma_put_peer(skb, head, peer));
}

/**
 * bgdma_link_tell() - a link came, changed or went
 * @link: which; RTNL
 * @cmd: BGDMA_CMD_LINK_*_NTF
 */
void bgdma_link_tell(const struct bgdma_link *link, u8 cmd)
{
	struct net *net = link->ether->net;
	struct sk_buff *skb;
	void *head;

	skb = bgdma_tell_begin(net, cmd, &head);
	if (skb)
		bgdma_tell_end(net, skb, bgdma_put_link(skb, head, link));
}

/* ---- Changing ------------------------------------------------------------ */

/**
 * bgdma_link_partition() - the partition that a request names
 * @info: the request
 * @attr: its name
 *
 * Return: a reference, or an error that is explained already.
 */
struct bgdma_partition *bgdma_link_partition(struct genl_info *info, int attr)
{
	struct bgdma_net *bn = bgdma_net(genl_info_net(info));
	struct bgdma_partition *part;

	if (!info->attrs[attr]) {
		NL_SET_ERR_MSG_MOD(info->extack, "partition name is missing");
		return ERR_PTR(-EINVAL);
	}
	part = bgdma_partition_find(bn, nla_data(info->attrs[attr]));
	if (part)
		return part;
	NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[attr],
			    "bgdma: no such partition in this network namespace");
	return ERR_PTR(-ENOENT);
}

static struct net_device *bgdma_link_dev(struct genl_info *info)
{
	struct nlattr *attr = info->attrs[BGDMA_A_LINK_IFINDEX];
	struct net_device *dev;

	ASSERT_RTNL();
	if (!attr) {
		NL_SET_ERR_MSG_MOD(info->extack, "device is missing");
		return ERR_PTR(-EINVAL);
	}
	dev = __dev_get_by_index(genl_info_net(info), nla_get_u32(attr));
	if (dev)
		return dev;
	NL_SET_ERR_MSG_ATTR(info->extack, attr,
			    "bgdma: no such device in this network namespace");
	return ERR_PTR(-ENODEV);
}

/* What a request says, over what @config holds already. Policies checked it. */
static int bgdma_link_configure(struct genl_info *info,
				struct bgdma_link_config *config)
{
	struct nlattr **attrs = info->attrs;

	if (attrs[BGDMA_A_LINK_TIMEOUT_MS])
		config->timeout_ms = nla_get_u32(attrs[BGDMA_A_LINK_TIMEOUT_MS]);
	if (attrs[BGDMA_A_LINK_HELLO_MS])
		config->hello_ms = nla_get_u32(attrs[BGDMA_A_LINK_HELLO_MS]);
	if (attrs[BGDMA_A_LINK_WINDOW])
		config->window = nla_get_u32(attrs[BGDMA_A_LINK_WINDOW]);
	if (attrs[BGDMA_A_LINK_COPY])
		config->copy = nla_get_u32(attrs[BGDMA_A_LINK_COPY]);
	if (attrs[BGDMA_A_LINK_SUM])
		config->sum = nla_get_u32(attrs[BGDMA_A_LINK_SUM]);
	if (attrs[BGDMA_A_LINK_FIXED])
		config->fixed = nla_get_u32(attrs[BGDMA_A_LINK_FIXED]);
	/* Else peers would come and go with each HELLO. */
	if (config->timeout_ms < 3 * config->hello_ms) {
		NL_SET_ERR_MSG_MOD(info->extack,
				   "the timeout must be three times the time between two HELLO");
		return -EINVAL;
	}
	return 0;
}

/* Who is an administrator only in a namespace of his own makes no storms. */
static int bgdma_link_may_set(struct sk_buff *skb, struct genl_info *info)
{
	struct nlattr *attr = info->attrs[BGDMA_A_LINK_HELLO_MS];

	if (!attr || nla_get_u32(attr) >= BGDMA_LINK_HELLO_FAST_MS ||
	    netlink_capable(skb, CAP_NET_ADMIN))
		return 0;
	NL_SET_ERR_MSG_ATTR(info->extack, attr,
			    "bgdma: less than 100 ms needs CAP_NET_ADMIN in the initial user namespace");
	return -EPERM;
}

static void bgdma_link_explain(struct genl_info *info, int err)
{
	const char *text;

	switch (err) {
	case -EPROTOTYPE:
		text = "bgdma: the device is not an Ethernet device";
		break;
	case -EMSGSIZE:
		text = "bgdma: the device's MTU is less than 1280";
		break;
	case -EEXIST:
		text = "bgdma: the partition uses this device already";
		break;
	case -ENOSPC:
		text = "bgdma: too many links";
		break;
	case -ENOENT:
		text = "bgdma: the partition has no link on this device";
		break;
	case -ENODEV:
		text = "bgdma: the device goes away";
		break;
	case -ESHUTDOWN:
		text = "bgdma: somebody else deletes this partition";
		break;
	default:
		return;
	}
	info->extack->bad_attr = info->attrs[BGDMA_A_LINK_IFINDEX];
	info->extack->_msg = text;
}

typedef int bgdma_link_change(struct bgdma_partition *part,
			      struct net_device *dev, struct genl_info *info);

/* Find both, and do it under the locks. */
static int bgdma_link_do(struct genl_info *info, bgdma_link_change *change)
{
	struct bgdma_partition *part =
		bgdma_link_partition(info, BGDMA_A_LINK_PARTITION);
	struct net_device *dev;
	int err;

	if (IS_ERR(part))
		return PTR_ERR(part);
	err = mutex_lock_killable(&bgdma_config_lock);
	if (err)
		goto put;
	err = rtnl_lock_killable();
	if (err)
		goto unlock;
	dev = bgdma_link_dev(info);
	if (IS_ERR(dev)) {
		err = PTR_ERR(dev);
	} else {
		err = change(part, dev, info);
		if (err)
			bgdma_link_explain(info, err);
	}
	rtnl_unlock();
unlock:
	mutex_unlock(&bgdma_config_lock);
put:
	bgdma_partition_put(part);
	return err;
}

static int bgdma_link_new_now(struct bgdma_partition *part,
			      struct net_device *dev, struct genl_info *info)
{
	struct bgdma_link_config config = {
		.timeout_ms = BGDMA_LINK_TIMEOUT_MS,
		.hello_ms = BGDMA_LINK_HELLO_MS,
		.window = BGDMA_LINK_WINDOW,
		.sum = true,
	};

	return bgdma_link_configure(info, &config) ?:
	       bgdma_link_add(part, dev, &config);
}

static int bgdma_link_set_now(struct bgdma_partition *part,
			      struct net_device *dev, struct genl_info *info)
{
	struct bgdma_link_config config;
	struct bgdma_link *link;

	link = part->ether ? bgdma_link_find(part->ether, dev) : NULL;
	if (!link)
		return -ENOENT;
	config = link->config;
	return bgdma_link_configure(info, &config) ?:
	       bgdma_link_set(part, dev, &config);
}

static int bgdma_link_del_now(struct bgdma_partition *part,
			      struct net_device *dev, struct genl_info *info)
{
	return bgdma_link_del(part, dev);
}

/**
 * bgdma_link_new_doit() - BGDMA_CMD_LINK_NEW
 * @skb: request
 * @info: its attributes
 *
 * Return: 0 or a negative errno, explained in the extended acknowledgment.
 */
int bgdma_link_new_doit(struct sk_buff *skb, struct genl_info *info)
{
	return bgdma_link_may_set(skb, info) ?:
	       bgdma_link_do(info, bgdma_link_new_now);
}

/**
 * bgdma_link_set_doit() - BGDMA_CMD_LINK_SET
 * @skb: request
 * @info: its attributes
 *
 * Return: 0 or a negative errno, explained in the extended acknowledgment.
 */
int bgdma_link_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	return bgdma_link_may_set(skb, info) ?:
	       bgdma_link_do(info, bgdma_link_set_now);
}

/**
 * bgdma_link_del_doit() - BGDMA_CMD_LINK_DEL
 * @skb: request
 * @info: its attributes
 *
 * Return: 0 or a negative errno, explained in the extended acknowledgment.
 */
int bgdma_link_del_doit(struct sk_buff *skb, struct genl_info *info)
{
	return bgdma_link_do(info, bgdma_link_del_now);
}

/* ---- Dumps --------------------------------------------------------------- */

/* All links of a partition from dump.item on. */
static int bgdma_show_links(struct sk_buff *skb, struct netlink_callback *cb,
			    struct bgdma_partition *part)
{
	struct bgdma_ether *ether = bgdma_ether(part);
	struct bgdma_dump *dump = bgdma_dump(cb);
	struct bgdma_link *link;
	int err = 0;

	if (!ether)
		return 0;
	mutex_lock(&ether->lock);
	list_for_each_entry(link, &ether->links, node) {
		void *head;

		if (link->id < dump->item)
			continue;
		dump->item = link->id;
		head = bgdma_dump_message(skb, cb, BGDMA_CMD_LINK_GET);
		err = head ? bgdma_put_link(skb, head, link) : -EMSGSIZE;
		if (err)
			break;
		dump->item++;
	}
	mutex_unlock(&ether->lock);
	return err;
}

/**
 * bgdma_link_get_dumpit() - BGDMA_CMD_LINK_GET
 * @skb: buffer for the answer
 * @cb: how far it has come
 *
 * Return: bytes written, 0 at the end, or a negative errno.
 */
int bgdma_link_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	return bgdma_dump_partitions(skb, cb, bgdma_show_links);
}

/* The peer of the lowest number from @from on. */
static struct bgdma_peer *bgdma_peer_after(struct bgdma_ether *ether, u32 from)
{
	struct bgdma_peer *peer, *best = NULL;
	struct bgdma_link *link;

	list_for_each_entry(link, &ether->links, node) {
		list_for_each_entry(peer, &link->peers, node) {
			if (peer->id >= from && (!best || peer->id < best->id))
				best = peer;
		}
	}
	return best;
}

static int bgdma_show_peers(struct sk_buff *skb, struct netlink_callback *cb,
			    struct bgdma_partition *part)
{
	struct bgdma_ether *ether = bgdma_ether(part);
	struct bgdma_dump *dump = bgdma_dump(cb);
	struct bgdma_peer *peer;
	int err = 0;

	if (!ether)
		return 0;
	mutex_lock(&ether->lock);
	while ((peer = bgdma_peer_after(ether, dump->item))) {
		void *head = bgdma_dump_message(skb, cb, BGDMA_CMD_PEER_GET);

		dump->item = peer->id;
		err = head ? bgdma_put_peer(skb, head, peer) : -EMSGSIZE;
		if (err)
			break;
		dump->item++;
	}
	mutex_unlock(&ether->lock);
	return err;
}

/**
 * bgdma_peer_get_dumpit() - BGDMA_CMD_PEER_GET
 * @skb: buffer for the answer
 * @cb: how far it has come
 *
 * Return: bytes written, 0 at the end, or a negative errno.
 */
int bgdma_peer_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	return bgdma_dump_partitions(skb, cb, bgdma_show_peers);
}
