// SPDX-License-Identifier: GPL-2.0
/*
 * Links: devices that a partition uses. A link follows its device: down and up, its
 * MTU; and it ends with it, or when the device moves to another network namespace.
 *
 * Links come and go under RTNL. Frames come in softirq, where heads are looked at:
 * those of transfers go on from there (frame.c), those about peers wait for a worker.
 */
#include <linux/etherdevice.h>
#include <linux/if_arp.h>
#include <linux/module.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include <net/rtnetlink.h>

#include "link.h"

static ushort ethertype = BGDMA_WIRE_ETHERTYPE;
module_param(ethertype, ushort, 0444);
MODULE_PARM_DESC(ethertype, "of frames (default: 0x88b5)");

/* HELLO and STATE that wait on one link. */
#define BGDMA_INBOX_MAX		128

/* Of all partitions; RTNL, RCU. */
static LIST_HEAD(bgdma_links);

static struct workqueue_struct *bgdma_link_wq;

/**
 * bgdma_link_queue() - do something soon, or sooner
 * @work: of a link, or of a partition
 * @ms: from now
 */
void bgdma_link_queue(struct delayed_work *work, unsigned int ms)
{
	mod_delayed_work(bgdma_link_wq, work, msecs_to_jiffies(ms));
}

/**
 * bgdma_link_queue_work() - do something that may take long
 * @work: of a partition
 */
void bgdma_link_queue_work(struct work_struct *work)
{
	queue_work(bgdma_link_wq, work);
}

/* ---- Frames out ---------------------------------------------------------- */

/**
 * bgdma_frame_crc() - the checksum of a frame's head
 * @frame: with all of its head in a row
 */
u32 bgdma_frame_crc(const struct bgdma_frame *frame)
{
	/* All of a short head: most of what that takes is the way to the function. */
	struct {
		struct bgdma_frame frame;
		struct bgdma_wire_packet packet;
	} first;
	u32 head = le16_to_cpu(frame->head), n = min_t(u32, head, sizeof(first));
	u32 crc;

	memcpy(&first, frame, n);
	/* What a hop changes, and the checksum itself. */
	first.frame.crc = 0;
	first.frame.at = 0;
	first.frame.hops = 0;
	crc = bgdma_crc32c(~0U, &first, n);
	if (head > n)
		crc = bgdma_crc32c(crc, (const u8 *)frame + n, head - n);
	return ~crc;
}

/**
 * bgdma_frame_seal() - a frame's head is complete
 * @frame: gets its checksum
 */
void bgdma_frame_seal(struct bgdma_frame *frame)
{
	frame->crc = cpu_to_le32(bgdma_frame_crc(frame));
}

/**
 * bgdma_link_frame() - a frame about the link itself
 * @link: where
 * @type: HELLO or STATE
 * @len: bytes behind struct bgdma_frame, which come zeroed
 *
 * Context: may sleep.
 * Return: its head filled in but for the checksum, or NULL.
 */
struct sk_buff *bgdma_link_frame(struct bgdma_link *link,
				 enum bgdma_frame_type type, size_t len)
{
	struct net_device *dev = link->dev;
	struct bgdma_frame *frame;
	struct sk_buff *skb;

	skb = alloc_skb(LL_RESERVED_SPACE(dev) + sizeof(*frame) + len +
			dev->needed_tailroom, GFP_KERNEL);
	if (!skb)
		return NULL;
	skb_reserve(skb, LL_RESERVED_SPACE(dev));
	frame = skb_put_zero(skb, sizeof(*frame) + len);
	frame->magic = cpu_to_le16(BGDMA_WIRE_MAGIC);
	frame->version = BGDMA_WIRE_VERSION;
	frame->type = type;
	frame->partition = cpu_to_le32(link->ether->tag);
	frame->head = cpu_to_le16(sizeof(*frame) + len);
	return skb;
}

/**
 * bgdma_link_xmit() - send a frame
 * @link: where
 * @skb: from its head on, with room for what the device puts before it; consumed
 * @mac: to whom
 *
 * Context: any but hard interrupts; under RCU, or the link is known to stay.
 * Return: 0, or a negative errno when it was dropped here.
 */
int bgdma_link_xmit(struct bgdma_link *link, struct sk_buff *skb,
		    const u8 *mac)
{
	struct net_device *dev = link->dev;
	unsigned int len = skb->len;
	int err = -ENETDOWN;

	skb->dev = dev;
	skb->protocol = htons(ethertype);
	skb_reset_network_header(skb);
	skb_reset_transport_header(skb);
	if (unlikely(!READ_ONCE(link->up)) ||
	    dev_hard_header(skb, dev, ethertype, mac, NULL, skb->len) < 0)
		kfree_skb(skb);
	else
		err = dev_queue_xmit(skb);
	/* A queue that says that it was congested has taken it. */
	if (unlikely(err > 0))
		err = net_xmit_errno(err);
	if (unlikely(err)) {
		bgdma_link_count(link, BGDMA_LINK_TX_DROPPED);
		return err;
	}
	bgdma_link_count(link, BGDMA_LINK_TX_FRAMES);
	atomic64_add(len, &link->stats[BGDMA_LINK_TX_BYTES]);
	return 0;
}

/* ---- Frames in ----------------------------------------------------------- */

/* What is wrong with a frame; BGDMA_LINK_RX_FRAMES: nothing. */
static enum bgdma_link_stat bgdma_head_check(const struct bgdma_link *link,
					     struct sk_buff *skb)
{
	const struct bgdma_frame *frame = (void *)skb->data;
	u32 head = le16_to_cpu(frame->head), bytes = le32_to_cpu(frame->bytes);

	if (!bgdma_wire_head_check(frame, skb->len))
		return BGDMA_LINK_RX_MALFORMED;
	if (!pskb_may_pull(skb, head))
		return BGDMA_LINK_RX_DROPPED;
	frame = (void *)skb->data;
	if (bgdma_frame_crc(frame) != le32_to_cpu(frame->crc))
		return BGDMA_LINK_RX_DAMAGED;
	/* What comes from outside of this kernel has its checksum. */
	if (frame->flags & BGDMA_FRAME_UNSUMMED && !link->inside)
		return BGDMA_LINK_RX_DAMAGED;
	/* Who says HELLO may have another key, or another partition. */
	if (le32_to_cpu(frame->partition) != link->ether->tag &&
	    frame->type != BGDMA_FRAME_HELLO)
		return BGDMA_LINK_RX_STRANGE;
	/* Nobody but us makes long ones: who sends to a device may say anything. */
	if (skb_is_gso(skb) && !(skb_shinfo(skb)->gso_type & SKB_GSO_SCTP))
		return BGDMA_LINK_RX_MALFORMED;
	/* A device fills up what is short. */
	if (pskb_trim(skb, head + bytes))
		return BGDMA_LINK_RX_DROPPED;
	/* Or that somebody is to make a checksum, of what may be no more. */
	skb->ip_summed = skb_is_gso(skb) ? CHECKSUM_UNNECESSARY : CHECKSUM_NONE;
	/* Payload is looked for in the skb and its pages, and a tunnel has it in a list. */
	if (skb_has_frag_list(skb) && skb_linearize(skb))
		return BGDMA_LINK_RX_DROPPED;
	return BGDMA_LINK_RX_FRAMES;
}

/* Of a frame of another version only the first four bytes are sure. */
static enum bgdma_link_stat bgdma_frame_check(const struct bgdma_link *link,
					      struct sk_buff *skb)
{
	const struct bgdma_frame *frame;

	if (!pskb_may_pull(skb, offsetof(struct bgdma_frame, partition)))
		return BGDMA_LINK_RX_MALFORMED;
	frame = (void *)skb->data;
	if (le16_to_cpu(frame->magic) != BGDMA_WIRE_MAGIC)
		return BGDMA_LINK_RX_MALFORMED;
	if (frame->version != BGDMA_WIRE_VERSION)
		return frame->type == BGDMA_FRAME_HELLO ?
			       BGDMA_LINK_RX_FRAMES : BGDMA_LINK_RX_STRANGE;
	if (!pskb_may_pull(skb, sizeof(*frame)))
		return BGDMA_LINK_RX_MALFORMED;
	return bgdma_head_check(link, skb);
}

static bool bgdma_link_keep(struct bgdma_link *link, struct sk_buff *skb)
{
	if (skb_queue_len_lockless(&link->inbox) >= BGDMA_INBOX_MAX)
		return false;
	skb_queue_tail(&link->inbox, skb);
	queue_work(bgdma_link_wq, &link->work);
	return true;
}

static int bgdma_link_receive(struct sk_buff *skb, struct net_device *dev,
			      struct packet_type *type,
			      struct net_device *orig)
{
	struct bgdma_link *link = container_of(type, struct bgdma_link, type);
	enum bgdma_link_stat what;
	u8 kind;

	if (skb->pkt_type == PACKET_OTHERHOST ||
	    skb->pkt_type == PACKET_OUTGOING ||
	    skb->pkt_type == PACKET_LOOPBACK) {
		kfree_skb(skb);
		return NET_RX_DROP;
	}
	skb = skb_share_check(skb, GFP_ATOMIC);
	if (!skb) {
		bgdma_link_count(link, BGDMA_LINK_RX_DROPPED);
		return NET_RX_DROP;
	}
	what = bgdma_frame_check(link, skb);
	if (unlikely(what != BGDMA_LINK_RX_FRAMES))
		goto drop;
	bgdma_link_count(link, BGDMA_LINK_RX_FRAMES);
	atomic64_add(skb->len, &link->stats[BGDMA_LINK_RX_BYTES]);
	kind = ((struct bgdma_frame *)skb->data)->type;
	if (likely(kind == BGDMA_FRAME_DATA || kind == BGDMA_FRAME_ACK) ||
	    kind == BGDMA_FRAME_CLOSE) {
		bgdma_frame_receive(link, skb);
		return NET_RX_SUCCESS;
	}
	if (bgdma_link_keep(link, skb))
		return NET_RX_SUCCESS;
	what = BGDMA_LINK_RX_DROPPED;
drop:
	bgdma_link_count(link, what);
	kfree_skb(skb);
	return NET_RX_DROP;
}

static void bgdma_link_work(struct work_struct *work)
{
	struct bgdma_link *link = container_of(work, struct bgdma_link, work);
	struct sk_buff *skb;

	while ((skb = skb_dequeue(&link->inbox))) {
		const struct bgdma_frame *frame = (void *)skb->data;

		if (frame->type == BGDMA_FRAME_STATE)
			bgdma_state_receive(link, skb);
		else
			bgdma_hello_receive(link, skb);
		consume_skb(skb);
		cond_resched();
	}
}

/* ---- Coming and going ---------------------------------------------------- */

/* A device that its namespace has given away is not one of ours any more. */
static void bgdma_link_look(struct bgdma_link *link)
{
	struct net_device *dev = link->dev;
	u32 mtu = min_t(u32, dev->mtu, BGDMA_WIRE_MTU_MAX);
	bool up = netif_running(dev) && netif_carrier_ok(dev);
	bool change = up != link->up || mtu != link->mtu;
	bool usable = up && mtu >= BGDMA_WIRE_MTU_MIN;

	ASSERT_RTNL();
	mutex_lock(&link->ether->lock);
	WRITE_ONCE(link->mtu, mtu);
	WRITE_ONCE(link->up, up);
	if (change && !usable)
		bgdma_peers_lose(link);
	mutex_unlock(&link->ether->lock);
	if (!change)
		return;
	bgdma_link_tell(link, BGDMA_CMD_LINK_SET_NTF);
	bgdma_hello_soon(link->ether);
}

static struct bgdma_link *bgdma_link_new(struct bgdma_ether *ether,
					 struct net_device *dev,
					 const struct bgdma_link_config *config)
{
	struct bgdma_link *link;

	link = kzalloc(sizeof(*link), GFP_KERNEL_ACCOUNT);
	if (!link)
		return NULL;
	link->ether = ether;
	link->config = *config;
	INIT_LIST_HEAD(&link->peers);
	INIT_DELAYED_WORK(&link->hello, bgdma_hello_work);
	INIT_WORK(&link->work, bgdma_link_work);
	INIT_WORK(&link->detour, bgdma_frame_detour);
	skb_queue_head_init(&link->inbox);
	skb_queue_head_init(&link->detours);
	link->inside = dev->rtnl_link_ops &&
		       !strcmp(dev->rtnl_link_ops->kind, "veth");
	link->dev = dev;
	netdev_hold(dev, &link->tracker, GFP_KERNEL);
	link->type.type = htons(ethertype);
	link->type.dev = dev;
	link->type.func = bgdma_link_receive;
	return link;
}

/* The partition's, made if it has none: then all nodes live here. */
static struct bgdma_ether *bgdma_link_ether(struct bgdma_partition *part,
					    struct net *net)
{
	static const struct bgdma_nodes all;
	struct bgdma_ether *ether = part->ether;

	ASSERT_RTNL();
	if (!ether) {
		ether = bgdma_ether_new(part, net, NULL, &all);
		/* Pairs with bgdma_ether(). */
		smp_store_release(&part->ether, ether);
	}
	return ether;
}

/**
 * bgdma_link_find() - the link of a partition on a device
 * @ether: of the partition
 * @dev: the device
 *
 * Context: RTNL.
 * Return: the link, or NULL.
 */
struct bgdma_link *bgdma_link_find(struct bgdma_ether *ether,
				   const struct net_device *dev)
{
	struct bgdma_link *link;

	ASSERT_RTNL();
	list_for_each_entry(link, &ether->links, node) {
		if (link->dev == dev)
			return link;
	}
	return NULL;
}

/**
 * bgdma_link_has() - has a device a link of a partition of this name?
 * @dev: the device
 * @name: of the partition
 */
bool bgdma_link_has(const struct net_device *dev, const char *name)
{
	struct bgdma_link *link;
	bool found = false;

	rcu_read_lock();
	list_for_each_entry_rcu(link, &bgdma_links, all) {
		found = link->dev == dev &&
			!strcmp(link->ether->part->name, name);
		if (found)
			break;
	}
	rcu_read_unlock();
	return found;
}

/**
 * bgdma_link_direct() - is the other end of a veth a link of ours, too?
 * @link: link
 * @kernel: number of who is there
 */
bool bgdma_link_direct(const struct bgdma_link *link, u64 kernel)
{
	const struct net_device_ops *ops = link->dev->netdev_ops;
	const struct net_device *end;
	struct bgdma_link *other;
	bool found = false;

	if (!link->inside || !ops->ndo_get_peer_dev)
		return false;
	rcu_read_lock();
	end = ops->ndo_get_peer_dev(link->dev);
	list_for_each_entry_rcu(other, &bgdma_links, all) {
		found = other->dev == end && other->ether->kernel == kernel;
		if (found)
			break;
	}
	rcu_read_unlock();
	return found;
}

static u32 bgdma_links_of(const struct net *net)
{
	struct bgdma_link *link;
	u32 n = 0;

	ASSERT_RTNL();
	list_for_each_entry(link, &bgdma_links, all)
		n += net_eq(dev_net(link->dev), net);
	return n;
}

static int bgdma_link_may(struct bgdma_partition *part, struct net_device *dev)
{
	if (dev->type != ARPHRD_ETHER || dev->flags & IFF_LOOPBACK)
		return -EPROTOTYPE;
	if (dev->reg_state != NETREG_REGISTERED)
		return -ENODEV;
	if (dev->mtu < BGDMA_WIRE_MTU_MIN)
		return -EMSGSIZE;
	if (part->going)
		return -ESHUTDOWN;
	if (part->ether && bgdma_link_find(part->ether, dev))
		return -EEXIST;
	if ((part->ether && part->ether->n_links == BGDMA_LINKS_MAX) ||
	    bgdma_links_of(dev_net(dev)) >= BGDMA_LINKS_NET_MAX)
		return -ENOSPC;
	return 0;
}

/**
 * bgdma_link_add() - let a partition use a device
 * @part: the partition
 * @dev: of its network namespace
 * @config: of the link
 *
 * Context: RTNL, so that the device stays.
 * Return: 0, -EPROTOTYPE (not Ethernet), -EMSGSIZE (its MTU is too small), -EEXIST,
 * -ENOSPC (BGDMA_LINKS_MAX, BGDMA_LINKS_NET_MAX), -ENODEV (the device goes),
 * -ESHUTDOWN (the partition was deleted) or -ENOMEM.
 */
int bgdma_link_add(struct bgdma_partition *part, struct net_device *dev,
		   const struct bgdma_link_config *config)
{
	struct bgdma_ether *ether;
	struct bgdma_link *link;
	int err;

	ASSERT_RTNL();
	err = bgdma_link_may(part, dev);
	if (err)
		return err;
	ether = bgdma_link_ether(part, dev_net(dev));
	link = ether ? bgdma_link_new(ether, dev, config) : NULL;
	if (!link)
		return -ENOMEM;
	mutex_lock(&ether->lock);
	link->id = ++ether->last_id;
	link->mtu = min_t(u32, dev->mtu, BGDMA_WIRE_MTU_MAX);
	link->up = netif_running(dev) && netif_carrier_ok(dev);
	list_add_tail_rcu(&link->node, &ether->links);
	ether->n_links++;
	mutex_unlock(&ether->lock);
	list_add_tail_rcu(&link->all, &bgdma_links);
	dev_add_pack(&link->type);
	bgdma_link_tell(link, BGDMA_CMD_LINK_NEW_NTF);
	bgdma_ways_stale(ether);
	bgdma_hello_soon(ether);
	return 0;
}

/**
 * bgdma_link_set() - change a link
 * @part: the partition
 * @dev: the device
 * @config: what it has from now on
 *
 * Context: RTNL.
 * Return: 0 or -ENOENT.
 */
int bgdma_link_set(struct bgdma_partition *part, struct net_device *dev,
		   const struct bgdma_link_config *config)
{
	struct bgdma_link *link;

	link = part->ether ? bgdma_link_find(part->ether, dev) : NULL;
	if (!link)
		return -ENOENT;
	mutex_lock(&link->ether->lock);
	link->config = *config;
	mutex_unlock(&link->ether->lock);
	bgdma_link_tell(link, BGDMA_CMD_LINK_SET_NTF);
	bgdma_link_queue(&link->hello, 0);
	return 0;
}

/* Nobody has it when this returns. */
static void bgdma_link_drop(struct bgdma_link *link)
{
	struct bgdma_ether *ether = link->ether;

	ASSERT_RTNL();
	mutex_lock(&ether->lock);
	WRITE_ONCE(link->gone, true);
	bgdma_hello_bye(link);
	list_del_rcu(&link->node);
	ether->n_links--;
	/* From here on no way leads there. */
	bgdma_ways_update(ether);
	mutex_unlock(&ether->lock);
	list_del_rcu(&link->all);

	/* Waits for whoever looks at it under RCU. */
	dev_remove_pack(&link->type);
	cancel_delayed_work_sync(&link->hello);
	cancel_work_sync(&link->work);
	cancel_work_sync(&link->detour);
	skb_queue_purge(&link->inbox);
	skb_queue_purge(&link->detours);
	bgdma_link_tell(link, BGDMA_CMD_LINK_DEL_NTF);
	bgdma_peers_free(link);
	netdev_put(link->dev, &link->tracker);
	kfree_rcu(link, rcu);
	bgdma_hello_soon(ether);
}

/**
 * bgdma_link_del() - a partition uses a device no more
 * @part: the partition
 * @dev: the device
 *
 * Context: RTNL.
 * Return: 0 or -ENOENT.
 */
int bgdma_link_del(struct bgdma_partition *part, struct net_device *dev)
{
	struct bgdma_link *link;

	link = part->ether ? bgdma_link_find(part->ether, dev) : NULL;
	if (!link)
		return -ENOENT;
	bgdma_link_drop(link);
	return 0;
}

/* ---- Devices ------------------------------------------------------------- */

static int bgdma_link_event(struct notifier_block *block, unsigned long event,
			    void *info)
{
	struct net_device *dev = netdev_notifier_info_to_dev(info);
	struct bgdma_link *link, *next;

	list_for_each_entry_safe(link, next, &bgdma_links, all) {
		if (link->dev != dev)
			continue;
		switch (event) {
		case NETDEV_UP:
		case NETDEV_DOWN:
		case NETDEV_CHANGE:
		case NETDEV_CHANGEMTU:
			bgdma_link_look(link);
			break;
		case NETDEV_CHANGEADDR:
			bgdma_hello_soon(link->ether);
			break;
		case NETDEV_UNREGISTER:
			/* Also when it moves to another namespace. */
			bgdma_link_drop(link);
			break;
		}
	}
	return NOTIFY_DONE;
}

static struct notifier_block bgdma_link_notifier = {
	.notifier_call = bgdma_link_event,
};

/**
 * bgdma_link_init() - be told of devices
 *
 * Return: 0 or a negative errno.
 */
int bgdma_link_init(void)
{
	int err;

	bgdma_link_wq = alloc_workqueue("bgdma_link", WQ_UNBOUND, 0);
	if (!bgdma_link_wq)
		return -ENOMEM;
	err = register_netdevice_notifier(&bgdma_link_notifier);
	if (err)
		destroy_workqueue(bgdma_link_wq);
	else
		bgdma_frame_init(ethertype);
	return err;
}

/**
 * bgdma_link_exit() - the opposite; no partition is left
 */
void bgdma_link_exit(void)
{
	bgdma_frame_exit();
	unregister_netdevice_notifier(&bgdma_link_notifier);
	destroy_workqueue(bgdma_link_wq);
}
