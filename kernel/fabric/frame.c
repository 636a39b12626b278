// SPDX-License-Identifier: GPL-2.0
/*
 * Frames: made of packets, handed to links, passed on.
 *
 * The head of a frame, which has all that is looked at, is in the linear part of
 * its skb; payload is in fragments, by reference to the pages of a region, or in a
 * page of ours; what a kernel itself says is behind the head, so that it needs no page.
 * The first sending is a clone; whatever is sent again is a copy, since the owner of
 * the pages may have been told that they are his again (freeze.c).
 */
#include <linux/etherdevice.h>
#include <linux/module.h>
#include <linux/netdev_features.h>

#include "../engine/copy.h"
#include "flow.h"
#include "sum.h"

/**
 * bgdma_frame_new() - memory for a frame
 * @room: bytes of its head that follow struct bgdma_frame. Debian's kernels make
 *	zeros of all memory that they give
 *
 * Context: any.
 * Return: NULL: no memory.
 */
struct sk_buff *bgdma_frame_new(u32 room)
{
	struct sk_buff *skb = alloc_skb(BGDMA_FRAME_BEFORE +
					sizeof(struct bgdma_frame) + room,
					GFP_NOWAIT | __GFP_NOWARN);

	if (skb)
		skb_reserve(skb, BGDMA_FRAME_BEFORE);
	return skb;
}

/**
 * bgdma_frame_begin() - make a frame of a flow, without packets
 * @skb: from bgdma_frame_new()
 * @key: of the flow
 */
void bgdma_frame_begin(struct sk_buff *skb, const struct bgdma_flow_key *key)
{
	struct bgdma_frame *f = skb_put_zero(skb, sizeof(*f));

	memset(skb->cb, 0, sizeof(skb->cb));
	/* There may be room for more. */
	bgdma_frame_cb(skb)->room =
		min_t(u32, skb_availroom(skb) / sizeof(struct bgdma_wire_packet),
		      BGDMA_WIRE_RESULTS);
	f->magic = cpu_to_le16(BGDMA_WIRE_MAGIC);
	f->version = BGDMA_WIRE_VERSION;
	f->type = BGDMA_FRAME_DATA;
	f->flags = key->adaptive ? BGDMA_FRAME_ADAPTIVE : 0;
	f->src_rank = cpu_to_le32(key->src);
	f->dst_rank = cpu_to_le32(key->dst);
	f->flow_inc = cpu_to_le32(key->inc);
	f->flow_ctx = cpu_to_le16(key->ctx);
	f->flow = cpu_to_le32(key->tag);
}

/**
 * bgdma_frame_packet() - one more packet in a frame
 * @skb: frame with room in its head
 *
 * Return: the packet, all zero.
 */
struct bgdma_wire_packet *bgdma_frame_packet(struct sk_buff *skb)
{
	/* The head is the linear part: fragments do not follow in skb->tail. */
	struct bgdma_wire_packet *p = (void *)skb_tail_pointer(skb);

	skb->tail += sizeof(*p);
	skb->len += sizeof(*p);
	memset(p, 0, sizeof(*p));
	bgdma_frame_cb(skb)->packets++;
	return p;
}

/**
 * bgdma_frame_repeat() - one more packet in a frame, like the last one
 * @skb: frame with a packet, and room in its head
 *
 * Return: the packet.
 */
struct bgdma_wire_packet *bgdma_frame_repeat(struct sk_buff *skb)
{
	struct bgdma_wire_packet *p = (void *)skb_tail_pointer(skb);

	*p = p[-1];
	skb->tail += sizeof(*p);
	skb->len += sizeof(*p);
	bgdma_frame_cb(skb)->packets++;
	return p;
}

static void bgdma_frame_grow(struct sk_buff *skb, u32 n)
{
	skb->len += n;
	skb->data_len += n;
	skb->truesize += n;
	bgdma_frame_cb(skb)->payload += n;
}

/**
 * bgdma_frame_copy() - copy payload into a frame
 * @skb: frame
 * @from: payload
 * @n: bytes
 * @spare: pages, of which it takes one if it needs one
 *
 * Fewer than BGDMA_REFER_MIN stay together, of more as many go as fit in the page.
 *
 * Context: any.
 * Return: how many; 0: there is no page, or no fragment.
 */
u32 bgdma_frame_copy(struct sk_buff *skb, const void *from, u32 n,
		     struct list_head *spare)
{
	struct bgdma_frame_cb *cb = bgdma_frame_cb(skb);
	unsigned int frags = skb_shinfo(skb)->nr_frags;
	struct page *page;
	skb_frag_t *frag;

	if (!cb->page || min_t(u32, n, BGDMA_REFER_MIN) > PAGE_SIZE - cb->used) {
		page = list_first_entry_or_null(spare, struct page, lru);
		if (frags == MAX_SKB_FRAGS || !page)
			return 0;
		list_del(&page->lru);
		skb_fill_page_desc(skb, frags, page, 0, 0);
		cb->page = true;
		cb->used = 0;
	}
	n = min_t(u32, n, PAGE_SIZE - cb->used);
	frag = &skb_shinfo(skb)->frags[skb_shinfo(skb)->nr_frags - 1];
	bgdma_copy_long(skb_frag_address(frag) + cb->used, from, n);
	skb_frag_size_add(frag, n);
	cb->used += n;
	bgdma_frame_grow(skb, n);
	return n;
}

/**
 * bgdma_frame_append() - payload that needs no page
 * @skb: frame with room for it, without other payload; no packet follows
 * @from: payload
 * @n: bytes
 */
void bgdma_frame_append(struct sk_buff *skb, const void *from, u32 n)
{
	skb_put_data(skb, from, n);
	bgdma_frame_cb(skb)->payload += n;
}

/**
 * bgdma_frame_refer() - let a frame have payload where it is
 * @skb: frame with a fragment to spare
 * @from: payload, within one page of a region
 * @n: bytes
 */
void bgdma_frame_refer(struct sk_buff *skb, const void *from, u32 n)
{
	struct page *page = virt_to_page(from);

	get_page(page);
	skb_fill_page_desc(skb, skb_shinfo(skb)->nr_frags, page,
			   offset_in_page(from), n);
	/* Its owner may write there; nobody takes it for his own. */
	skb_shinfo(skb)->flags |= SKBFL_SHARED_FRAG;
	bgdma_frame_cb(skb)->page = false;
	bgdma_frame_grow(skb, n);
}

/* --------------------------------------------------------------------- */
/* Checksums                                                              */

/* Of all of an skb behind its head. */
static u32 bgdma_frame_sum(const struct sk_buff *skb, u32 head)
{
	const struct skb_shared_info *shared = skb_shinfo(skb);
	struct bgdma_sum sum;
	u32 i;

	bgdma_sum_begin(&sum, skb->len - head);
	bgdma_sum_add(&sum, skb->data + head, skb_headlen(skb) - head);
	for (i = 0; i < shared->nr_frags; i++)
		bgdma_sum_add(&sum, skb_frag_address(&shared->frags[i]),
			      skb_frag_size(&shared->frags[i]));
	return bgdma_sum_end(&sum);
}

/**
 * bgdma_frame_finish() - a frame is complete, but for its checksums
 * @ether: of the partition
 * @skb: with all of its packets, or what else its head has
 */
void bgdma_frame_finish(struct bgdma_ether *ether, struct sk_buff *skb)
{
	struct bgdma_frame *f = bgdma_frame_of(skb);
	u32 payload = bgdma_frame_cb(skb)->payload;

	f->partition = cpu_to_le32(ether->tag);
	f->kernel = cpu_to_le64(ether->kernel);
	f->head = cpu_to_le16(skb->len - payload);
	f->bytes = cpu_to_le32(payload);
}

/*
 * It gets its checksums where it leaves. Payload that only goes by a veth from one of
 * our links to another may do without.
 */
static void bgdma_frame_protect(struct sk_buff *skb,
				const struct bgdma_peer *peer)
{
	struct bgdma_frame *f = bgdma_frame_of(skb);

	f->sum = 0;
	if (!f->bytes) {
		f->flags &= ~BGDMA_FRAME_UNSUMMED;
	} else if (READ_ONCE(peer->direct) &&
		   !READ_ONCE(peer->link->config.sum)) {
		f->flags |= BGDMA_FRAME_UNSUMMED;
	} else {
		f->flags &= ~BGDMA_FRAME_UNSUMMED;
		f->sum = cpu_to_le32(bgdma_frame_sum(skb,
						     le16_to_cpu(f->head)));
	}
	f->crc = cpu_to_le32(bgdma_frame_crc(f));
}

/**
 * bgdma_frame_intact() - has the payload of a frame the checksum that it should?
 * @skb: frame with a good head
 */
bool bgdma_frame_intact(struct sk_buff *skb)
{
	const struct bgdma_frame *f = bgdma_frame_of(skb);

	return f->flags & BGDMA_FRAME_UNSUMMED || !f->bytes ||
	       le32_to_cpu(f->sum) == bgdma_frame_sum(skb,
						      le16_to_cpu(f->head));
}

/* --------------------------------------------------------------------- */
/* Frames that are longer than the MTU                                    */

/*
 * A veth takes what says that it can be cut: so a frame goes by it that is as long as
 * several, and has as many numbers. Where a device has to have it cut, as a real one
 * behind a bridge, the kernel asks us to do so. What is sent again is cut anyway.
 * Devices know of no such frames: SKB_GSO_SCTP has them cut by software for all
 * that send to a wire.
 */

/**
 * bgdma_frame_bound() - numbers that a frame has at most
 * @skb: frame
 * @mtu: bytes of each of its parts
 */
u32 bgdma_frame_bound(const struct sk_buff *skb, u32 mtu)
{
	if (likely(skb->len <= mtu))
		return 1;
	/* Where a packet ends a part may not be full. */
	return skb->len / (mtu - sizeof(struct bgdma_frame) -
			   sizeof(struct bgdma_wire_packet)) + 1 +
	       ((const struct bgdma_frame_cb *)skb->cb)->packets;
}

/**
 * bgdma_frame_span() - numbers that a frame has
 * @skb: frame, whose head has the number of its packets
 * @mtu: bytes of each of its parts
 */
u32 bgdma_frame_span(struct sk_buff *skb, u32 mtu)
{
	struct bgdma_frame *f = bgdma_frame_of(skb);
	struct skb_shared_info *shared = skb_shinfo(skb);
	struct bgdma_wire_cut cut = {};
	u32 span = 0;

	if (likely(skb->len <= mtu))
		return 1;
	while (bgdma_wire_cut(f, mtu, &cut, NULL))
		span++;
	f->more = span - 1;
	shared->gso_size = mtu;
	shared->gso_segs = span;
	shared->gso_type = SKB_GSO_SCTP;
	/* Nobody is to make a checksum. */
	skb->ip_summed = CHECKSUM_UNNECESSARY;
	return span;
}

/**
 * bgdma_frame_part() - a part of a frame as a frame of its own
 * @skb: frame that is longer than the MTU
 * @i: which: one after the other
 * @cut: all zero before the first
 *
 * Return: all of it linear; NULL: no memory, or there is no such part.
 */
struct sk_buff *bgdma_frame_part(const struct sk_buff *skb, u32 i,
				 struct bgdma_wire_cut *cut)
{
	const struct bgdma_frame *f = bgdma_frame_of(skb);
	u32 mtu = skb_shinfo(skb)->gso_size, head;
	struct sk_buff *part = bgdma_frame_new(mtu);
	struct bgdma_frame *to;

	if (!part) {
		bgdma_wire_cut(f, mtu, cut, NULL);
		return NULL;
	}
	to = (void *)part->data;
	*to = *f;
	if (!bgdma_wire_cut(f, mtu, cut, (void *)(to + 1))) {
		kfree_skb(part);
		return NULL;
	}
	head = sizeof(*f) + cut->packets * sizeof(struct bgdma_wire_packet);
	skb_put(part, head + cut->bytes);
	to->packets = cut->packets;
	to->more = 0;
	to->psn = cpu_to_le32(le32_to_cpu(f->psn) + i);
	to->head = cpu_to_le16(head);
	to->bytes = cpu_to_le32(cut->bytes);
	/* Cannot fail: they are there. */
	WARN_ON_ONCE(skb_copy_bits(skb, le16_to_cpu(f->head) + cut->at,
				   part->data + head, cut->bytes));
	return part;
}

/* Is that one of ours, all of it? Anybody may say that of anything. */
static bool bgdma_frame_cuttable(struct sk_buff *skb)
{
	const struct bgdma_frame *f;
	u32 mtu = skb_shinfo(skb)->gso_size;

	if (mtu < BGDMA_WIRE_MTU_MIN || !pskb_may_pull(skb, sizeof(*f)))
		return false;
	f = bgdma_frame_of(skb);
	if (le16_to_cpu(f->magic) != BGDMA_WIRE_MAGIC ||
	    f->version != BGDMA_WIRE_VERSION ||
	    !bgdma_wire_head_check(f, skb->len) ||
	    !pskb_may_pull(skb, le16_to_cpu(f->head)))
		return false;
	f = bgdma_frame_of(skb);
	return bgdma_frame_crc(f) == le32_to_cpu(f->crc) &&
	       bgdma_wire_frame_check(f, skb->len - le16_to_cpu(f->head));
}

/* A part goes where the whole was to go. */
static void bgdma_frame_address(struct sk_buff *part, const struct sk_buff *skb)
{
	struct bgdma_frame *to = (void *)part->data;

	to->sum = 0;
	if (to->bytes && !(to->flags & BGDMA_FRAME_UNSUMMED))
		to->sum = cpu_to_le32(bgdma_frame_sum(part,
						      le16_to_cpu(to->head)));
	to->crc = cpu_to_le32(bgdma_frame_crc(to));
	/* A tag of a VLAN, its queue, what a queueing discipline has noted. */
	skb_copy_header(part, skb);
	/* What was to be done with the whole is nothing that a part has. */
	part->ip_summed = CHECKSUM_NONE;
	skb_gso_reset(part);
	skb_reset_network_header(part);
	skb_reset_transport_header(part);
	memcpy(skb_push(part, skb->mac_len), skb_mac_header(skb),
	       skb->mac_len);
	skb_reset_mac_header(part);
	part->mac_len = skb->mac_len;
}

static struct sk_buff *bgdma_frame_segment(struct sk_buff *skb,
					   netdev_features_t features)
{
	struct sk_buff *first = NULL, **next = &first;
	struct bgdma_wire_cut cut = {};
	u32 i, span;

	/* What MACsec and the like have put in front has its place, too. */
	if (skb->mac_len > BGDMA_FRAME_BEFORE || !bgdma_frame_cuttable(skb))
		return ERR_PTR(-EINVAL);
	span = bgdma_frame_of(skb)->more + 1;
	for (i = 0; i < span; i++) {
		struct sk_buff *part = bgdma_frame_part(skb, i, &cut);

		if (!part) {
			kfree_skb_list(first);
			return ERR_PTR(-ENOMEM);
		}
		bgdma_frame_address(part, skb);
		*next = part;
		next = &part->next;
	}
	return first;
}

static struct packet_offload bgdma_frame_offload = {
	.priority = 10,
	.callbacks = {
		.gso_segment = bgdma_frame_segment,
	},
};

/**
 * bgdma_frame_init() - long frames can be cut
 * @ethertype: of frames
 */
void bgdma_frame_init(u16 ethertype)
{
	bgdma_frame_offload.type = htons(ethertype);
	dev_add_offload(&bgdma_frame_offload);
}

/**
 * bgdma_frame_exit() - nobody sends any more
 */
void bgdma_frame_exit(void)
{
	dev_remove_offload(&bgdma_frame_offload);
}

/* --------------------------------------------------------------------- */
/* To links, and from one to the next                                     */

/* Bytes of a frame that a link takes as it is, if whoever needs to can cut it. */
static u32 bgdma_frame_most(const struct bgdma_link *link)
{
	const struct net_device *dev = link->dev;
	u32 mtu = READ_ONCE(link->mtu), most;

	if (!link->inside || !(dev->features & NETIF_F_GSO_SCTP))
		return mtu;
	most = min_t(u32, READ_ONCE(dev->gso_max_size), BGDMA_WIRE_MTU_MAX) -
	       BGDMA_FRAME_BEFORE;
	return max(mtu, min(most, READ_ONCE(dev->gso_max_segs) * mtu));
}

/**
 * bgdma_frame_room() - what frames of a partition may be like
 * @ether: of it
 *
 * Every link on its way takes such, if all of the partition's are alike.
 *
 * Context: any.
 */
struct bgdma_room bgdma_frame_room(const struct bgdma_ether *ether)
{
	struct bgdma_room room = {
		.mtu = BGDMA_WIRE_MTU_MAX, .most = BGDMA_WIRE_MTU_MAX,
		.window = BGDMA_LINK_WINDOW,
	};
	struct bgdma_link *link;

	rcu_read_lock();
	list_for_each_entry_rcu(link, &ether->links, node) {
		room.mtu = min(room.mtu, READ_ONCE(link->mtu));
		room.most = min(room.most, bgdma_frame_most(link));
		room.window = min(room.window, READ_ONCE(link->config.window));
		room.fixed |= READ_ONCE(link->config.fixed);
		room.copy |= READ_ONCE(link->config.copy);
	}
	rcu_read_unlock();
	/* A device may be set to less than any frame needs: it has no peers then. */
	room.mtu = max_t(u32, room.mtu, BGDMA_WIRE_MTU_MIN);
	room.most = max(room.mtu, room.most);
	return room;
}

/* Looks for the way out that one frame may take at a stretch in softirq, and at all. */
#define BGDMA_FRAME_LOOKS	64
#define BGDMA_FRAME_LOOKS_MAX	(3 * BGDMA_DIM_MAX)
/* Frames of one link that wait for more. */
#define BGDMA_DETOURS_MAX	64

/* What became of a frame that is for elsewhere. */
enum bgdma_frame_fate {
	BGDMA_FRAME_LEFT,
	BGDMA_FRAME_STAYS,	/* it has come as far as its @at */
	BGDMA_FRAME_NO_WAY
};

/* Is it, or each of its parts, as short as a link has to have it? */
static bool bgdma_frame_fits(const struct bgdma_link *link,
			     const struct sk_buff *skb)
{
	u32 n = skb_is_gso(skb) ? skb_shinfo(skb)->gso_size : skb->len;

	return n <= READ_ONCE(link->mtu);
}

/*
 * From a node that lives here; the first step may lead to another such. @ours: and
 * so has no checksums yet.
 */
static enum bgdma_frame_fate bgdma_frame_leave(struct bgdma_ether *ether,
					       struct sk_buff *skb, u32 from,
					       u32 looks, bool ours)
{
	struct bgdma_frame *f = bgdma_frame_of(skb);
	struct bgdma_way way;

	if (!f->hops)
		return BGDMA_FRAME_NO_WAY;
	way = bgdma_way_leave(ether, from, le32_to_cpu(f->dst_rank),
			      f->flags & BGDMA_FRAME_ADAPTIVE, &looks);
	if (way.rank == BGDMA_ROUTE_NONE)
		return BGDMA_FRAME_NO_WAY;
	f->at = cpu_to_le32(way.rank);
	if (!way.peer)
		return BGDMA_FRAME_STAYS;
	if (!ours && !bgdma_frame_fits(way.peer->link, skb))
		return BGDMA_FRAME_NO_WAY;
	f->hops--;
	/* Who left them out thought that it was there. */
	if (ours || f->flags & BGDMA_FRAME_UNSUMMED)
		bgdma_frame_protect(skb, way.peer);
	if (f->flags & BGDMA_FRAME_AGAIN)
		atomic64_inc(&way.peer->link->stats[BGDMA_LINK_TX_AGAIN]);
	bgdma_link_xmit(way.peer->link, skb, way.peer->mac);
	return BGDMA_FRAME_LEFT;
}

/**
 * bgdma_frame_send() - let a frame go on its way
 * @ether: of the partition
 * @skb: finished; gone afterwards
 *
 * It may be lost.
 *
 * Context: process context, no lock of ours held.
 */
void bgdma_frame_send(struct bgdma_ether *ether, struct sk_buff *skb)
{
	struct bgdma_frame *f = bgdma_frame_of(skb);

	f->hops = BGDMA_WIRE_HOPS_MAX;
	rcu_read_lock();
	if (bgdma_frame_leave(ether, skb, le32_to_cpu(f->src_rank),
			      BGDMA_FRAME_LOOKS_MAX, true) != BGDMA_FRAME_LEFT)
		kfree_skb(skb);
	rcu_read_unlock();
}

static enum bgdma_frame_fate bgdma_frame_pass(struct bgdma_link *link,
					      struct sk_buff *skb)
{
	u32 at = le32_to_cpu(bgdma_frame_of(skb)->at);
	enum bgdma_frame_fate fate;

	fate = bgdma_frame_leave(link->ether, skb, at, BGDMA_FRAME_LOOKS, false);
	if (fate == BGDMA_FRAME_LEFT)
		bgdma_link_count(link, BGDMA_LINK_FORWARDED);
	return fate;
}

static void bgdma_frame_drop(struct bgdma_link *link, struct sk_buff *skb,
			     enum bgdma_link_stat why)
{
	bgdma_link_count(link, why);
	kfree_skb(skb);
}

/**
 * bgdma_frame_detour() - frames whose way leads by many nodes here
 * @work: of a link
 *
 * Who sends them chooses where they are and where they go to: so that is done where
 * others may run meanwhile.
 */
void bgdma_frame_detour(struct work_struct *work)
{
	struct bgdma_link *link = container_of(work, struct bgdma_link, detour);
	struct sk_buff *skb;

	/* Who takes the link away waits for this, under RTNL. */
	while (!READ_ONCE(link->gone) &&
	       (skb = skb_dequeue(&link->detours))) {
		u32 turns = BGDMA_FRAME_LOOKS_MAX / BGDMA_FRAME_LOOKS;
		enum bgdma_frame_fate fate;

		/* Not for ever: ways may change meanwhile. */
		do {
			cond_resched();
			rcu_read_lock();
			fate = bgdma_frame_pass(link, skb);
			rcu_read_unlock();
		} while (fate == BGDMA_FRAME_STAYS && --turns);
		if (fate != BGDMA_FRAME_LEFT)
			bgdma_frame_drop(link, skb, BGDMA_LINK_NO_WAY);
	}
}

/* One that is for elsewhere. */
static void bgdma_frame_forward(struct bgdma_link *link, struct sk_buff *skb)
{
	enum bgdma_frame_fate fate;

	if (skb_cow_head(skb, BGDMA_FRAME_BEFORE)) {
		bgdma_frame_drop(link, skb, BGDMA_LINK_RX_DROPPED);
		return;
	}
	/* When it came is not when it is to leave, as a queue would take it. */
	skb_clear_tstamp(skb);
	fate = bgdma_frame_pass(link, skb);
	if (fate == BGDMA_FRAME_NO_WAY) {
		bgdma_frame_drop(link, skb, BGDMA_LINK_NO_WAY);
	} else if (fate == BGDMA_FRAME_STAYS) {
		if (skb_queue_len_lockless(&link->detours) >= BGDMA_DETOURS_MAX) {
			bgdma_frame_drop(link, skb, BGDMA_LINK_RX_DROPPED);
			return;
		}
		skb_queue_tail(&link->detours, skb);
		bgdma_link_queue_work(&link->detour);
	}
}

/**
 * bgdma_frame_receive() - a frame of data, or an acknowledgment, comes in
 * @link: where
 * @skb: its head is linear, and was found good; gone afterwards
 *
 * Context: softirq, under RCU.
 */
void bgdma_frame_receive(struct bgdma_link *link, struct sk_buff *skb)
{
	const struct bgdma_frame *f = bgdma_frame_of(skb);
	struct bgdma_ether *ether = link->ether;

	if (!bgdma_nodes_have(&ether->local, le32_to_cpu(f->at))) {
		atomic64_inc(&link->stats[BGDMA_LINK_RX_STRANGE]);
		kfree_skb(skb);
		return;
	}
	if (!bgdma_nodes_have(&ether->local, le32_to_cpu(f->dst_rank))) {
		bgdma_frame_forward(link, skb);
		return;
	}
	/* Nobody else speaks for those who live here. */
	if (bgdma_nodes_have(&ether->local, le32_to_cpu(f->src_rank))) {
		atomic64_inc(&link->stats[BGDMA_LINK_RX_STRANGE]);
		kfree_skb(skb);
		return;
	}
	if (!bgdma_inbox_put(ether->flows, skb)) {
		atomic64_inc(&link->stats[BGDMA_LINK_RX_DROPPED]);
		kfree_skb(skb);
	}
}
