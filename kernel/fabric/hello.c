// SPDX-License-Identifier: GPL-2.0
/*
 * Who is on a link: every end says HELLO to all, by broadcast, and names whom it
 * hears. Two that hear each other, and agree, are up.
 *
 * Whoever has our key is known by its kernel's number and its address, all others by
 * their address only: nobody can make a HELLO of a kernel without the key. Whoever heard
 * one may say it again; see Documentation/threats.rst.
 */
#include <linux/etherdevice.h>
#include <linux/slab.h>

#include "link.h"

/* HELLO that come soon, while somebody does not hear us; he may be deaf. */
#define BGDMA_HELLO_FAST_MAX	50
/* HELLO of a peer that may be missed. */
#define BGDMA_HELLO_MISSED	3

/* ---- What people read ---------------------------------------------------- */

static void bgdma_shape_text(const u32 *dims, u32 torus, char *text,
			     size_t size)
{
	snprintf(text, size, "%ux%ux%u torus %s%s%s%s", dims[0], dims[1],
		 dims[2], torus & BGDMA_AXIS_X ? "x" : "",
		 torus & BGDMA_AXIS_Y ? "y" : "",
		 torus & BGDMA_AXIS_Z ? "z" : "", torus ? "" : "none");
}

static void bgdma_dims_text(const struct bgdma_peer *peer, char *text,
			    size_t size)
{
	const struct bgdma_partition *part = peer->link->ether->part;
	char there[64], here[64];

	bgdma_shape_text(peer->dims, peer->torus, there, sizeof(there));
	bgdma_shape_text(part->dims, part->torus, here, sizeof(here));
	snprintf(text, size, "its partition is %s, ours %s", there, here);
}

/**
 * bgdma_peer_text() - what is wrong with a peer, or that nothing is
 * @peer: which; ether.lock held
 * @text: for people
 * @size: room in it
 */
void bgdma_peer_text(const struct bgdma_peer *peer, char *text, size_t size)
{
	const struct bgdma_link *link = peer->link;
	u32 rank = 0;

	switch (peer->state) {
	case BGDMA_PEER_HEARD:
		strscpy(text, "does not hear us", size);
		break;
	case BGDMA_PEER_UP:
		strscpy(text, "up", size);
		break;
	case BGDMA_PEER_LOST:
		strscpy(text, "is not heard any more", size);
		break;
	case BGDMA_PEER_VERSION:
		snprintf(text, size, "speaks version %u, we speak version %u",
			 peer->version, BGDMA_WIRE_VERSION);
		break;
	case BGDMA_PEER_PARTITION:
		snprintf(text, size, "has partition %s, not %s", peer->name,
			 link->ether->part->name);
		break;
	case BGDMA_PEER_KEY:
		strscpy(text, "has another key", size);
		break;
	case BGDMA_PEER_DIMS:
		bgdma_dims_text(peer, text, size);
		break;
	case BGDMA_PEER_NODES:
		bgdma_nodes_overlap(&peer->nodes, &link->ether->local, &rank);
		snprintf(text, size, "says that node %u lives there, but it lives here",
			 rank);
		break;
	case BGDMA_PEER_MTU:
		snprintf(text, size, "takes %u bytes, we take %u, and %u are needed",
			 peer->mtu, link->mtu, BGDMA_WIRE_MTU_MIN);
		break;
	default:
		strscpy(text, "", size);
	}
}

static void bgdma_peer_log(const struct bgdma_peer *peer)
{
	const struct bgdma_link *link = peer->link;
	char text[192];

	bgdma_peer_text(peer, text, sizeof(text));
	pr_info_ratelimited("bgdma: partition %s, %s: %pM %s\n",
			    link->ether->part->name, link->dev->name,
			    peer->mac, text);
}

/* All that follows from another state of a peer. */
static void bgdma_peer_state(struct bgdma_peer *peer,
			     enum bgdma_peer_state state)
{
	struct bgdma_link *link = peer->link;
	struct bgdma_ether *ether = link->ether;
	enum bgdma_peer_state was = peer->state;

	lockdep_assert_held(&ether->lock);
	if (state == was)
		return;
	WRITE_ONCE(peer->state, state);
	if (was == BGDMA_PEER_UP || state == BGDMA_PEER_UP) {
		peer->fresh = state == BGDMA_PEER_UP;
		WRITE_ONCE(peer->direct, peer->fresh &&
			   bgdma_link_direct(link, peer->kernel));
		ether->tell = true;
		bgdma_ways_stale(ether);
	}
	/* He may be about to; else bgdma_peers_deaf() tells. */
	if (state != BGDMA_PEER_HEARD && !link->gone)
		bgdma_peer_log(peer);
	bgdma_peer_tell(peer);
	/* Who is up, or was, is to know at once. */
	if (state <= BGDMA_PEER_UP || was <= BGDMA_PEER_UP) {
		link->fast = BGDMA_HELLO_FAST_MAX;
		if (!link->gone)
			bgdma_link_queue(&link->hello, 0);
	}
}

/* ---- HELLO out ----------------------------------------------------------- */

static u32 bgdma_hello_hears(const struct bgdma_link *link, __le64 *hears)
{
	const struct bgdma_peer *peer;
	u32 n = 0;

	list_for_each_entry(peer, &link->peers, node) {
		if (peer->state <= BGDMA_PEER_UP && n < BGDMA_WIRE_HEARD)
			hears[n++] = cpu_to_le64(peer->kernel);
	}
	return n;
}

static void bgdma_hello_send(struct bgdma_link *link)
{
	const struct bgdma_ether *ether = link->ether;
	struct bgdma_wire_hello *hello;
	struct bgdma_frame *frame;
	struct sk_buff *skb;
	int i;

	skb = bgdma_link_frame(link, BGDMA_FRAME_HELLO, sizeof(*hello));
	if (!skb)
		return;
	frame = (void *)skb->data;
	hello = (void *)(frame + 1);
	hello->kernel = cpu_to_le64(ether->kernel);
	strscpy(hello->name, ether->part->name, sizeof(hello->name));
	for (i = 0; i < 3; i++)
		hello->dims[i] = cpu_to_le32(ether->shape.dims[i]);
	hello->torus = cpu_to_le32(ether->shape.torus);
	hello->mtu = cpu_to_le32(link->mtu);
	hello->every = cpu_to_le32(link->config.hello_ms);
	hello->runs = cpu_to_le32(bgdma_nodes_write(&ether->local,
						    ether->part->size,
						    hello->run));
	hello->heard = cpu_to_le32(bgdma_hello_hears(link, hello->hears));
	hello->proof = cpu_to_le64(bgdma_ether_proof(ether, BGDMA_FRAME_HELLO,
						     hello, sizeof(*hello)));
	bgdma_frame_seal(frame);
	bgdma_link_xmit(link, skb, link->dev->broadcast);
}

/* Whom nobody has heard for some time is lost, and then forgotten. */
static void bgdma_peers_age(struct bgdma_link *link)
{
	u32 forget = max(link->config.timeout_ms, 1000U);
	unsigned long now = bgdma_ether_now(link->ether);
	struct bgdma_peer *peer, *next;

	list_for_each_entry_safe(peer, next, &link->peers, node) {
		u32 silent = jiffies_to_msecs(now - peer->heard);

		if (peer->state <= BGDMA_PEER_UP &&
		    silent > BGDMA_HELLO_MISSED * peer->every)
			bgdma_peer_state(peer, BGDMA_PEER_LOST);
		if (peer->state <= BGDMA_PEER_UP ||
		    silent <= max(forget, BGDMA_HELLO_MISSED * peer->every))
			continue;
		/* A way may still lead there. */
		bgdma_ways_update(link->ether);
		list_del_rcu(&peer->node);
		link->n_peers--;
		kfree_rcu(peer, rcu);
	}
}

/* Does somebody not hear us? If it has been so for long, say so. */
static bool bgdma_peers_deaf(const struct bgdma_link *link)
{
	const struct bgdma_peer *peer;
	bool deaf = false;

	list_for_each_entry(peer, &link->peers, node) {
		if (peer->state != BGDMA_PEER_HEARD)
			continue;
		deaf = true;
		if (link->fast == 1)
			bgdma_peer_log(peer);
	}
	return deaf;
}

/**
 * bgdma_hello_work() - say HELLO, and look for who does not
 * @work: of a link
 */
void bgdma_hello_work(struct work_struct *work)
{
	struct bgdma_link *link = container_of(to_delayed_work(work),
					       struct bgdma_link, hello);
	struct bgdma_ether *ether = link->ether;
	u32 ms;

	mutex_lock(&ether->lock);
	if (link->gone)
		goto unlock;
	bgdma_peers_age(link);
	if (link->up)
		bgdma_hello_send(link);
	ms = link->config.hello_ms;
	if (link->fast && bgdma_peers_deaf(link)) {
		link->fast--;
		ms = min_t(u32, ms, BGDMA_LINK_HELLO_FAST_MS);
	}
	/* Not sooner, if somebody else wants it sooner. */
	if (!delayed_work_pending(&link->hello))
		bgdma_link_queue(&link->hello, ms);
unlock:
	mutex_unlock(&ether->lock);
}

/**
 * bgdma_hello_soon() - something is new: say so on all links
 * @ether: of the partition
 *
 * Context: RTNL.
 */
void bgdma_hello_soon(struct bgdma_ether *ether)
{
	struct bgdma_link *link;

	mutex_lock(&ether->lock);
	list_for_each_entry(link, &ether->links, node) {
		link->fast = BGDMA_HELLO_FAST_MAX;
		bgdma_link_queue(&link->hello, 0);
	}
	mutex_unlock(&ether->lock);
}

/**
 * bgdma_hello_bye() - a link goes: whom we heard there we hear no more
 * @link: which; ether.lock held
 */
void bgdma_hello_bye(struct bgdma_link *link)
{
	bgdma_peers_lose(link);
	if (link->up)
		bgdma_hello_send(link);
}

/* ---- HELLO in ------------------------------------------------------------ */

/**
 * bgdma_peers_lose() - a link is down, or goes
 * @link: which; ether.lock held
 */
void bgdma_peers_lose(struct bgdma_link *link)
{
	struct bgdma_peer *peer;

	lockdep_assert_held(&link->ether->lock);
	list_for_each_entry(peer, &link->peers, node) {
		if (peer->state <= BGDMA_PEER_UP)
			bgdma_peer_state(peer, BGDMA_PEER_LOST);
	}
}

/**
 * bgdma_kernel_lost() - a kernel said that it leaves
 * @ether: of the partition; its lock held
 * @kernel: its number
 */
void bgdma_kernel_lost(struct bgdma_ether *ether, u64 kernel)
{
	struct bgdma_link *link;
	struct bgdma_peer *peer;

	list_for_each_entry(link, &ether->links, node) {
		list_for_each_entry(peer, &link->peers, node) {
			if (peer->proved && peer->kernel == kernel &&
			    peer->state <= BGDMA_PEER_UP)
				bgdma_peer_state(peer, BGDMA_PEER_LOST);
		}
	}
}

/**
 * bgdma_peers_free() - forget all peers of a link that is gone
 * @link: which; no way leads there, and nobody else looks
 */
void bgdma_peers_free(struct bgdma_link *link)
{
	struct bgdma_peer *peer, *next;

	list_for_each_entry_safe(peer, next, &link->peers, node) {
		list_del(&peer->node);
		kfree_rcu(peer, rcu);
	}
}

static void bgdma_peer_drop(struct bgdma_peer *peer)
{
	struct bgdma_link *link = peer->link;

	lockdep_assert_held(&link->ether->lock);
	if (peer->state == BGDMA_PEER_UP)
		bgdma_peer_state(peer, BGDMA_PEER_LOST);
	bgdma_ways_update(link->ether);
	list_del_rcu(&peer->node);
	link->n_peers--;
	kfree_rcu(peer, rcu);
}

/* The one that was not heard for longest, of those that have not our key. */
static bool bgdma_peers_room(struct bgdma_link *link, bool proved)
{
	struct bgdma_peer *peer, *oldest = NULL;

	if (link->n_peers < BGDMA_PEERS_MAX)
		return true;
	list_for_each_entry(peer, &link->peers, node) {
		if (peer->proved &&
		    (!proved || peer->state != BGDMA_PEER_LOST))
			continue;
		if (!oldest || time_before(peer->heard, oldest->heard))
			oldest = peer;
	}
	/* Who has no key pushes nobody out: that could go on for ever. */
	if (!oldest || !proved)
		return false;
	bgdma_peer_drop(oldest);
	return true;
}

static struct bgdma_peer *bgdma_peer_new(struct bgdma_link *link,
					 const u8 *mac, u64 kernel, bool proved)
{
	struct bgdma_peer *peer;

	if (!bgdma_peers_room(link, proved))
		return NULL;
	peer = kzalloc(sizeof(*peer), GFP_KERNEL);
	if (!peer)
		return NULL;
	peer->link = link;
	peer->id = ++link->ether->last_id;
	peer->proved = proved;
	peer->kernel = kernel;
	peer->state = BGDMA_PEER_STATES;
	ether_addr_copy(peer->mac, mac);
	list_add_tail_rcu(&peer->node, &link->peers);
	link->n_peers++;
	return peer;
}

/*
 * The peer that a HELLO is of, made if need be. Another one at the same address is
 * no more: it was started anew, or its key or partition is another one now.
 */
static struct bgdma_peer *bgdma_peer_get(struct bgdma_link *link, const u8 *mac,
					 u64 kernel, bool proved)
{
	struct bgdma_peer *peer, *next, *found = NULL;

	list_for_each_entry_safe(peer, next, &link->peers, node) {
		if (!ether_addr_equal(peer->mac, mac))
			continue;
		if (peer->proved == proved &&
		    (!proved || peer->kernel == kernel))
			found = peer;
		else if (proved)
			bgdma_peer_drop(peer);
	}
	return found ?: bgdma_peer_new(link, mac, kernel, proved);
}

/*
 * At this address is somebody whom we know well. He may have other partitions, too;
 * and if he has another key from now on, he will soon be lost.
 */
static bool bgdma_peer_proved(const struct bgdma_link *link, const u8 *mac)
{
	const struct bgdma_peer *peer;

	list_for_each_entry(peer, &link->peers, node) {
		if (peer->proved && peer->state != BGDMA_PEER_LOST &&
		    ether_addr_equal(peer->mac, mac))
			return true;
	}
	return false;
}

/* What is in a HELLO, if it is well formed. */
static bool bgdma_hello_read(const struct bgdma_wire_hello *hello,
			     struct bgdma_peer *peer)
{
	int i;

	if (!bgdma_wire_hello_check(hello))
		return false;
	for (i = 0; i < 3; i++)
		peer->dims[i] = le32_to_cpu(hello->dims[i]);
	bgdma_nodes_read(&peer->nodes, hello->run, le32_to_cpu(hello->runs));
	peer->torus = le32_to_cpu(hello->torus);
	peer->mtu = le32_to_cpu(hello->mtu);
	peer->every = le32_to_cpu(hello->every);
	strscpy(peer->name, hello->name, sizeof(peer->name));
	return true;
}

static bool bgdma_hello_heard(const struct bgdma_wire_hello *hello, u64 kernel)
{
	u32 i, n = le32_to_cpu(hello->heard);

	for (i = 0; i < n; i++) {
		if (le64_to_cpu(hello->hears[i]) == kernel)
			return true;
	}
	return false;
}

/* The first disagreement, of one who has our key. */
static enum bgdma_peer_state
bgdma_hello_judge(const struct bgdma_link *link,
		  const struct bgdma_wire_hello *hello,
		  const struct bgdma_peer *said)
{
	const struct bgdma_ether *ether = link->ether;
	u32 rank;

	if (memcmp(said->dims, ether->shape.dims, sizeof(said->dims)) ||
	    said->torus != ether->shape.torus)
		return BGDMA_PEER_DIMS;
	if (bgdma_nodes_overlap(&said->nodes, &ether->local, &rank))
		return BGDMA_PEER_NODES;
	if (min(said->mtu, link->mtu) < BGDMA_WIRE_MTU_MIN)
		return BGDMA_PEER_MTU;
	return bgdma_hello_heard(hello, ether->kernel) ? BGDMA_PEER_UP :
							 BGDMA_PEER_HEARD;
}

/* The sender's own proof; @hello is not looked at by anybody else. */
static bool bgdma_hello_proved(const struct bgdma_ether *ether,
			       const struct bgdma_wire_hello *hello)
{
	struct bgdma_wire_hello *copy;
	bool good;

	copy = kmemdup(hello, sizeof(*hello), GFP_KERNEL);
	if (!copy)
		return false;
	copy->proof = 0;
	good = le64_to_cpu(hello->proof) ==
	       bgdma_ether_proof(ether, BGDMA_FRAME_HELLO, copy,
				 sizeof(*copy));
	kfree(copy);
	return good;
}

static void bgdma_hello_take(struct bgdma_peer *peer,
			     const struct bgdma_peer *said)
{
	bool moved = memcmp(&peer->nodes, &said->nodes, sizeof(said->nodes));

	WRITE_ONCE(peer->mtu, said->mtu);
	WRITE_ONCE(peer->heard, bgdma_ether_now(peer->link->ether));
	peer->kernel = said->kernel;
	peer->version = said->version;
	peer->every = said->every;
	peer->torus = said->torus;
	memcpy(peer->dims, said->dims, sizeof(peer->dims));
	memcpy(peer->name, said->name, sizeof(peer->name));
	if (!moved)
		return;
	peer->nodes = said->nodes;
	bgdma_ways_stale(peer->link->ether);
}

static void bgdma_hello_from(struct bgdma_link *link, const u8 *mac,
			     const struct bgdma_peer *said,
			     enum bgdma_peer_state state)
{
	struct bgdma_ether *ether = link->ether;
	struct bgdma_peer *peer;

	lockdep_assert_held(&ether->lock);
	/* What waited in the inbox while the link went down is old. */
	if (link->gone || !link->up)
		return;
	if (!said->proved && bgdma_peer_proved(link, mac))
		return;
	peer = bgdma_peer_get(link, mac, said->kernel, said->proved);
	if (!peer) {
		bgdma_link_count(link, BGDMA_LINK_RX_DROPPED);
		return;
	}
	bgdma_hello_take(peer, said);
	if (state == BGDMA_PEER_UP)
		bgdma_kernel_heard(ether, peer);
	bgdma_peer_state(peer, state);
}

/* One of this version, whose checksum is good. */
static void bgdma_hello_look(struct bgdma_link *link, const u8 *mac,
			     const struct bgdma_wire_hello *hello,
			     struct bgdma_peer *said)
{
	struct bgdma_ether *ether = link->ether;
	enum bgdma_peer_state state;

	if (!bgdma_hello_read(hello, said)) {
		bgdma_link_count(link, BGDMA_LINK_RX_MALFORMED);
		return;
	}
	said->kernel = le64_to_cpu(hello->kernel);
	/* Our own, that came round. */
	if (said->kernel == ether->kernel)
		return;
	mutex_lock(&ether->lock);
	if (strcmp(said->name, ether->part->name)) {
		state = BGDMA_PEER_PARTITION;
	} else if (!bgdma_hello_proved(ether, hello)) {
		state = BGDMA_PEER_KEY;
	} else {
		said->proved = true;
		state = bgdma_hello_judge(link, hello, said);
	}
	/* Of several partitions on one device each has its own peers. */
	if (state != BGDMA_PEER_PARTITION ||
	    !bgdma_link_has(link->dev, said->name))
		bgdma_hello_from(link, mac, said, state);
	mutex_unlock(&ether->lock);
}

/**
 * bgdma_hello_receive() - a HELLO came in
 * @link: where
 * @skb: from its head on, which is good; of another version only its beginning is
 *
 * Context: may sleep.
 */
void bgdma_hello_receive(struct bgdma_link *link, const struct sk_buff *skb)
{
	const struct bgdma_frame *frame = (void *)skb->data;
	struct bgdma_peer *said;
	u8 mac[ETH_ALEN];

	if (!skb_mac_header_was_set(skb))
		return;
	ether_addr_copy(mac, eth_hdr(skb)->h_source);
	if (!is_valid_ether_addr(mac)) {
		bgdma_link_count(link, BGDMA_LINK_RX_MALFORMED);
		return;
	}
	said = kzalloc(sizeof(*said), GFP_KERNEL);
	if (!said)
		return;
	said->version = frame->version;
	said->every = BGDMA_LINK_HELLO_MS;
	if (frame->version == BGDMA_WIRE_VERSION) {
		bgdma_hello_look(link, mac, (const void *)(frame + 1), said);
	} else {
		mutex_lock(&link->ether->lock);
		bgdma_hello_from(link, mac, said, BGDMA_PEER_VERSION);
		mutex_unlock(&link->ether->lock);
	}
	kfree(said);
}
