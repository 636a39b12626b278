// SPDX-License-Identifier: GPL-2.0
/*
 * Who has nodes of a partition, however far away: each kernel tells its peers what
 * lives there and whom it reaches, and they tell theirs. Who is not heard of for
 * the timeout is dead, and so is all that lived there.
 */
#include <linux/etherdevice.h>
#include <linux/hash.h>
#include <linux/slab.h>

#include "flow.h"

/* Each kernel says again what it is, of which two may be lost. */
#define BGDMA_STATE_MS		5000
/* The same while another one is to confirm something. */
#define BGDMA_STATE_ASK_MS	100

static struct hlist_head *bgdma_kernel_bucket(struct bgdma_ether *ether,
					      u64 number)
{
	return &ether->kernels[hash_64(number, BGDMA_KERNEL_BITS)];
}

/**
 * bgdma_kernel_find() - a kernel that was heard of
 * @ether: of the partition; its lock held
 * @number: of the kernel
 *
 * Return: the kernel, or NULL.
 */
struct bgdma_kernel *bgdma_kernel_find(struct bgdma_ether *ether, u64 number)
{
	struct bgdma_kernel *kernel;

	lockdep_assert_held(&ether->lock);
	hlist_for_each_entry(kernel, bgdma_kernel_bucket(ether, number), node) {
		if (kernel->number == number)
			return kernel;
	}
	return NULL;
}

static bool bgdma_state_has(const struct bgdma_wire_state *state, u32 rank)
{
	u32 i;

	for (i = 0; i < le32_to_cpu(state->runs); i++) {
		if (rank >= le32_to_cpu(state->run[i].first) &&
		    rank <= le32_to_cpu(state->run[i].last))
			return true;
	}
	return false;
}

/**
 * bgdma_kernel_has() - does a kernel say that a node lives there?
 * @ether: of the partition
 * @number: of the kernel
 * @rank: the node
 *
 * Also where no way leads to it just now.
 *
 * Context: may sleep.
 */
bool bgdma_kernel_has(struct bgdma_ether *ether, u64 number, u32 rank)
{
	struct bgdma_kernel *kernel;
	bool has;

	mutex_lock(&ether->lock);
	kernel = bgdma_kernel_find(ether, number);
	has = kernel && !kernel->left && bgdma_state_has(&kernel->state, rank);
	mutex_unlock(&ether->lock);
	return has;
}

/**
 * bgdma_kernel_nodes() - what lives, or lived, at a kernel
 * @ether: of the partition
 * @number: of the kernel
 * @nodes: filled in
 *
 * Context: may sleep.
 * Return: false: nobody knows it.
 */
bool bgdma_kernel_nodes(struct bgdma_ether *ether, u64 number,
			struct bgdma_nodes *nodes)
{
	struct bgdma_kernel *kernel;

	mutex_lock(&ether->lock);
	kernel = bgdma_kernel_find(ether, number);
	if (kernel)
		bgdma_nodes_read(nodes, kernel->state.run,
				 le32_to_cpu(kernel->state.runs));
	mutex_unlock(&ether->lock);
	return kernel;
}

static void bgdma_kernel_forget(struct bgdma_ether *ether,
				struct bgdma_kernel *kernel)
{
	hlist_del(&kernel->node);
	ether->n_kernels--;
	atomic_dec(&bgdma_net(ether->net)->n_kernels);
	kfree(kernel);
}

/* For one that lives: the one goes that was gone for longest. */
static void bgdma_kernels_room(struct bgdma_ether *ether)
{
	struct bgdma_kernel *kernel, *oldest = NULL;
	int i;

	for (i = 0; i < ARRAY_SIZE(ether->kernels); i++) {
		hlist_for_each_entry(kernel, &ether->kernels[i], node) {
			if (kernel->left && !kernel->untold && !kernel->telling &&
			    (!oldest ||
			     time_before(kernel->heard, oldest->heard)))
				oldest = kernel;
		}
	}
	if (oldest)
		bgdma_kernel_forget(ether, oldest);
}

static struct bgdma_kernel *bgdma_kernel_get(struct bgdma_ether *ether,
					     u64 number)
{
	struct bgdma_kernel *kernel = bgdma_kernel_find(ether, number);
	atomic_t *all = &bgdma_net(ether->net)->n_kernels;

	if (kernel)
		return kernel;
	/* Whose partitions these are pays for none of them: they are few. */
	if (atomic_read(all) >= BGDMA_KERNELS_MAX)
		bgdma_kernels_room(ether);
	if (!atomic_add_unless(all, 1, BGDMA_KERNELS_MAX))
		return NULL;
	kernel = kzalloc(sizeof(*kernel), GFP_KERNEL);
	if (!kernel) {
		atomic_dec(all);
		return NULL;
	}
	kernel->number = number;
	kernel->heard = bgdma_ether_now(ether);
	hlist_add_head(&kernel->node, bgdma_kernel_bucket(ether, number));
	ether->n_kernels++;
	return kernel;
}

/**
 * bgdma_kernel_heard() - a kernel said HELLO, and hears us
 * @ether: of the partition; its lock held
 * @peer: on some link
 */
void bgdma_kernel_heard(struct bgdma_ether *ether,
			const struct bgdma_peer *peer)
{
	struct bgdma_kernel *kernel = bgdma_kernel_get(ether, peer->kernel);
	struct bgdma_wire_state *state;

	if (!kernel || kernel->bye)
		return;
	kernel->heard = bgdma_ether_now(ether);
	/* The peer may have been up all the time. */
	if (kernel->left)
		bgdma_ways_stale(ether);
	kernel->left = false;
	if (kernel->seq)
		return;
	state = &kernel->state;
	state->runs = cpu_to_le32(bgdma_nodes_write(&peer->nodes,
						    ether->part->size,
						    state->run));
	state->peers = cpu_to_le32(1);
	state->peer[0] = cpu_to_le64(ether->kernel);
}

/**
 * bgdma_kernels_free() - forget all
 * @ether: whose partition was deleted; its lock held
 */
void bgdma_kernels_free(struct bgdma_ether *ether)
{
	struct bgdma_kernel *kernel;
	struct hlist_node *next;
	int i;

	for (i = 0; i < ARRAY_SIZE(ether->kernels); i++) {
		hlist_for_each_entry_safe(kernel, next, &ether->kernels[i],
					  node)
			bgdma_kernel_forget(ether, kernel);
	}
}

/**
 * bgdma_kernels_each() - for each kernel that nodes of the partition live in
 * @ether: of the partition
 * @fn: is told one of its nodes; may sleep
 * @arg: for it
 *
 * Context: may sleep; no lock held.
 * Return: false: no memory, and none was told.
 */
bool bgdma_kernels_each(struct bgdma_ether *ether, bgdma_kernels_fn *fn,
			void *arg)
{
	struct bgdma_kernel *kernel;
	u32 *ranks, n = 0, room, i;

	mutex_lock(&ether->lock);
	room = ether->n_kernels;
	ranks = kvmalloc_array(room ?: 1, sizeof(*ranks), GFP_KERNEL);
	for (i = 0; ranks && i < ARRAY_SIZE(ether->kernels); i++) {
		hlist_for_each_entry(kernel, &ether->kernels[i], node) {
			if (!kernel->left && n < room)
				ranks[n++] = le32_to_cpu(kernel->state.run[0].first);
		}
	}
	mutex_unlock(&ether->lock);
	for (i = 0; i < n; i++)
		fn(ether, ranks[i], arg);
	kvfree(ranks);
	return ranks;
}

/* ---- STATE out ----------------------------------------------------------- */

static void bgdma_state_xmit(struct bgdma_peer *peer,
			     const struct bgdma_wire_state *state)
{
	struct bgdma_frame *frame;
	struct sk_buff *skb;

	skb = bgdma_link_frame(peer->link, BGDMA_FRAME_STATE, sizeof(*state));
	if (!skb)
		return;
	frame = (void *)skb->data;
	memcpy(frame + 1, state, sizeof(*state));
	bgdma_frame_seal(frame);
	bgdma_link_xmit(peer->link, skb, peer->mac);
}

/* To all peers but those of the kernel that it is of, and of whom it is from. */
static void bgdma_state_flood(struct bgdma_ether *ether,
			      const struct bgdma_wire_state *state, u64 from)
{
	struct bgdma_link *link;
	struct bgdma_peer *peer;

	list_for_each_entry(link, &ether->links, node) {
		list_for_each_entry(peer, &link->peers, node) {
			if (peer->state == BGDMA_PEER_UP &&
			    peer->kernel != from &&
			    peer->kernel != le64_to_cpu(state->kernel))
				bgdma_state_xmit(peer, state);
		}
	}
}

static bool bgdma_state_names(const struct bgdma_wire_state *state, u32 n,
			      u64 kernel)
{
	while (n--) {
		if (le64_to_cpu(state->peer[n]) == kernel)
			return true;
	}
	return false;
}

/* By us nobody gets to one that is shut, though it is heard. */
static bool bgdma_state_reaches(struct bgdma_ether *ether,
				const struct bgdma_peer *peer)
{
	const struct bgdma_kernel *kernel;

	if (peer->state != BGDMA_PEER_UP)
		return false;
	kernel = bgdma_kernel_find(ether, peer->kernel);
	return kernel && !bgdma_kernel_shut(kernel);
}

static u32 bgdma_state_peers(struct bgdma_ether *ether,
			     struct bgdma_wire_state *state)
{
	struct bgdma_link *link;
	struct bgdma_peer *peer;
	u32 n = 0;

	list_for_each_entry(link, &ether->links, node) {
		list_for_each_entry(peer, &link->peers, node) {
			if (!bgdma_state_reaches(ether, peer) ||
			    bgdma_state_names(state, n, peer->kernel))
				continue;
			if (n == BGDMA_WIRE_PEERS) {
				pr_warn_once("bgdma: partition %s: more than %u kernels are next to this one, only these are told of\n",
					     ether->part->name, n);
				return n;
			}
			state->peer[n++] = cpu_to_le64(peer->kernel);
		}
	}
	return n;
}

/* What we are. */
static void bgdma_state_send(struct bgdma_ether *ether, u32 flags)
{
	struct bgdma_wire_state *state = kzalloc(sizeof(*state), GFP_KERNEL);

	lockdep_assert_held(&ether->lock);
	if (!state)
		return;
	state->kernel = cpu_to_le64(ether->kernel);
	state->seq = cpu_to_le32(++ether->seq);
	state->flags = cpu_to_le32(flags);
	state->runs = cpu_to_le32(bgdma_nodes_write(&ether->local,
						    ether->part->size,
						    state->run));
	state->peers = cpu_to_le32(bgdma_state_peers(ether, state));
	bgdma_lost_say(ether, state);
	state->proof = cpu_to_le64(bgdma_ether_proof(ether, BGDMA_FRAME_STATE,
						     state, sizeof(*state)));
	bgdma_state_flood(ether, state, 0);
	ether->told = jiffies;
	ether->tell = false;
	kfree(state);
}

/**
 * bgdma_kernel_bye() - tell all that we leave
 * @ether: of the partition; its lock held
 */
void bgdma_kernel_bye(struct bgdma_ether *ether)
{
	bgdma_state_send(ether, BGDMA_WIRE_STATE_BYE);
}

/* What others said, to one who has just come. */
static void bgdma_state_catch_up(struct bgdma_ether *ether,
				 struct bgdma_peer *peer)
{
	struct bgdma_kernel *kernel;
	int i;

	for (i = 0; i < ARRAY_SIZE(ether->kernels); i++) {
		hlist_for_each_entry(kernel, &ether->kernels[i], node) {
			if (kernel->seq && !kernel->left &&
			    kernel->number != peer->kernel)
				bgdma_state_xmit(peer, &kernel->state);
		}
	}
	peer->fresh = false;
}

/* ---- STATE in ------------------------------------------------------------ */

static bool bgdma_state_proved(const struct bgdma_ether *ether,
			       const struct bgdma_wire_state *state)
{
	struct bgdma_wire_state *copy;
	bool good;

	copy = kmemdup(state, sizeof(*state), GFP_KERNEL);
	if (!copy)
		return false;
	copy->proof = 0;
	good = le64_to_cpu(state->proof) ==
	       bgdma_ether_proof(ether, BGDMA_FRAME_STATE, copy,
				 sizeof(*copy));
	kfree(copy);
	return good;
}

/* Who it came from: 0 if that is nobody whom we listen to. */
static u64 bgdma_state_from(const struct bgdma_link *link, const u8 *mac)
{
	const struct bgdma_peer *peer;

	list_for_each_entry(peer, &link->peers, node) {
		if (peer->state <= BGDMA_PEER_UP &&
		    ether_addr_equal(peer->mac, mac))
			return peer->kernel;
	}
	return 0;
}

/* Two that are not on one link would never hear of it otherwise. */
static void bgdma_state_complain(const struct bgdma_ether *ether,
				 const struct bgdma_wire_state *state)
{
	u32 i, j, n = le32_to_cpu(state->runs);

	for (i = 0; i < n; i++) {
		u32 first = le32_to_cpu(state->run[i].first);
		u32 last = le32_to_cpu(state->run[i].last);

		for (j = 0; j < ether->local.n; j++) {
			if (first <= ether->local.run[j].last &&
			    last >= ether->local.run[j].first)
				break;
		}
		if (j == ether->local.n && ether->local.n)
			continue;
		pr_info_ratelimited("bgdma: partition %s: kernel %016llx says that some of nodes %u to %u live there, but they live here\n",
				    ether->part->name,
				    le64_to_cpu(state->kernel), first, last);
		return;
	}
}

static void bgdma_state_news(struct bgdma_ether *ether,
			     struct bgdma_kernel *kernel,
			     const struct bgdma_wire_state *state)
{
	bool change;

	/* All but what every one has anew. */
	change = state->runs != kernel->state.runs ||
		 state->peers != kernel->state.peers ||
		 memcmp(state->run, kernel->state.run, sizeof(state->run)) ||
		 memcmp(state->peer, kernel->state.peer, sizeof(state->peer));
	kernel->state = *state;
	kernel->seq = le32_to_cpu(state->seq);
	kernel->heard = bgdma_ether_now(ether);
	if (kernel->bye)
		return;
	if (kernel->left)
		change = true;
	kernel->left = false;
	if (le32_to_cpu(state->flags) & BGDMA_WIRE_STATE_BYE) {
		kernel->bye = true;
		kernel->left = true;
		kernel->untold = true;
		bgdma_kernel_lost(ether, kernel->number);
		change = true;
	} else {
		bgdma_lost_hear(ether, kernel);
	}
	if (!change)
		return;
	bgdma_state_complain(ether, state);
	bgdma_ways_stale(ether);
}

/**
 * bgdma_state_receive() - a STATE came in
 * @link: where
 * @skb: from its head on, which is good
 *
 * Context: may sleep.
 */
void bgdma_state_receive(struct bgdma_link *link, const struct sk_buff *skb)
{
	const struct bgdma_wire_state *state =
		(void *)(skb->data + sizeof(struct bgdma_frame));
	struct bgdma_ether *ether = link->ether;
	u64 number = le64_to_cpu(state->kernel);
	enum bgdma_link_stat what = BGDMA_LINK_RX_STRANGE;
	struct bgdma_kernel *kernel;
	u64 from;

	if (!bgdma_wire_state_check(state, ether->part->size)) {
		bgdma_link_count(link, BGDMA_LINK_RX_MALFORMED);
		return;
	}
	mutex_lock(&ether->lock);
	from = bgdma_state_from(link, eth_hdr(skb)->h_source);
	if (link->gone || !from)
		goto count;
	/* What we said ourselves, or heard from somebody else. */
	kernel = bgdma_kernel_find(ether, number);
	if (number == ether->kernel ||
	    (kernel && le32_to_cpu(state->seq) <= kernel->seq))
		goto unlock;
	if (!bgdma_state_proved(ether, state))
		goto count;
	what = BGDMA_LINK_RX_DROPPED;
	kernel = bgdma_kernel_get(ether, number);
	if (!kernel)
		goto count;
	bgdma_state_news(ether, kernel, state);
	bgdma_state_flood(ether, state, from);
	goto unlock;
count:
	bgdma_link_count(link, what);
unlock:
	mutex_unlock(&ether->lock);
}

/* ---- From time to time --------------------------------------------------- */

static u32 bgdma_kernel_timeout(const struct bgdma_ether *ether)
{
	const struct bgdma_link *link;
	u32 ms = 0;

	list_for_each_entry(link, &ether->links, node)
		ms = max(ms, link->config.timeout_ms);
	return ms ?: BGDMA_LINK_TIMEOUT_MS;
}

/*
 * May it be forgotten? One that was not heard may come back, and is to be told: when no
 * link anywhere has so long a timeout it has given us up itself.
 */
static bool bgdma_kernel_over(const struct bgdma_kernel *kernel,
			      unsigned long timeout, unsigned long now)
{
	if (!kernel->bye)
		timeout += msecs_to_jiffies(BGDMA_LINK_TIMEOUT_MAX);
	return kernel->left && !kernel->untold && !kernel->telling &&
	       time_after(now, kernel->heard + timeout);
}

/* Who is heard, and did not hear us, is gone for us: it is told so, and gives us up. */
static void bgdma_kernels_deaf(struct bgdma_ether *ether)
{
	struct bgdma_kernel *kernel;
	u64 number;
	u32 rank;
	int i;

	while (bgdma_voice_whom(ether, &number, &rank)) {
		for (i = 0; i < ARRAY_SIZE(ether->kernels); i++) {
			hlist_for_each_entry(kernel, &ether->kernels[i], node) {
				if (kernel->left ||
				    (number ? kernel->number != number :
				     !bgdma_state_has(&kernel->state, rank)))
					continue;
				kernel->untold = true;
				bgdma_ways_stale(ether);
			}
		}
	}
}

/* Who is gone is to be told of, and those that were are forgotten some time later. */
static void bgdma_kernels_age(struct bgdma_ether *ether)
{
	unsigned long timeout = msecs_to_jiffies(bgdma_kernel_timeout(ether));
	unsigned long now = bgdma_ether_now(ether);
	struct bgdma_kernel *kernel;
	struct hlist_node *next;
	bool untold = false;
	int i;

	bgdma_kernels_deaf(ether);
	for (i = 0; i < ARRAY_SIZE(ether->kernels); i++) {
		hlist_for_each_entry_safe(kernel, next, &ether->kernels[i],
					  node) {
			bool old = time_after(now, kernel->heard + timeout);

			if (old && !kernel->left) {
				kernel->left = true;
				kernel->untold = true;
				kernel->heard = now;
				bgdma_ways_stale(ether);
			} else if (bgdma_kernel_over(kernel, timeout, now)) {
				bgdma_kernel_forget(ether, kernel);
				continue;
			}
			untold |= bgdma_kernel_news(kernel);
		}
	}
	if (untold)
		bgdma_link_queue_work(&ether->ends);
}

static void bgdma_ether_say(struct bgdma_ether *ether, u32 every)
{
	struct bgdma_link *link;
	struct bgdma_peer *peer;

	if (ether->tell ||
	    time_after_eq(jiffies, ether->told + msecs_to_jiffies(every)))
		bgdma_state_send(ether, 0);
	list_for_each_entry(link, &ether->links, node) {
		list_for_each_entry(peer, &link->peers, node) {
			if (peer->fresh)
				bgdma_state_catch_up(ether, peer);
		}
	}
}

/**
 * bgdma_ether_tick() - what is to be done for a partition from time to time
 * @work: of its ether
 */
void bgdma_ether_tick(struct work_struct *work)
{
	struct bgdma_ether *ether = container_of(to_delayed_work(work),
						 struct bgdma_ether, tick);
	u32 third, every, ms;
	bool again;

	mutex_lock(&ether->lock);
	third = bgdma_ether_timeout(ether) / 3;
	every = min(BGDMA_STATE_MS, bgdma_kernel_timeout(ether) / 3);
	if (bgdma_lost_waits(ether))
		every = min(every, BGDMA_STATE_ASK_MS);
	ms = max(min(every, third) / 4, 10U);
	again = !ether->dead && (ether->n_links || ether->n_kernels);
	/* Two ticks; but to be a little late is nothing special. */
	bgdma_pace_tick(&ether->pace, again ? max(third / 2, min(third, 100U)) : 0);
	bgdma_ether_say(ether, every);
	if (ether->stale && !(again && bgdma_ways_awaited(ether)))
		bgdma_ways_update(ether);
	bgdma_kernels_age(ether);
	if (again && !delayed_work_pending(&ether->tick))
		bgdma_link_queue(&ether->tick, ether->stale ? BGDMA_TICK_STALE_MS : ms);
	mutex_unlock(&ether->lock);
}

static struct bgdma_kernel *bgdma_kernel_untold(struct bgdma_ether *ether)
{
	struct bgdma_kernel *kernel;
	int i;

	lockdep_assert_held(&ether->lock);
	for (i = 0; i < ARRAY_SIZE(ether->kernels); i++) {
		hlist_for_each_entry(kernel, &ether->kernels[i], node) {
			if (bgdma_kernel_news(kernel))
				return kernel;
		}
	}
	return NULL;
}

/* All that are here are told now. Return: the last that knows already, or 0. */
static u32 bgdma_kernel_told(struct bgdma_ether *ether,
			     struct bgdma_kernel *kernel)
{
	u32 since = kernel->since;

	if (kernel->untold && !kernel->bye)
		kernel->lost = ++ether->lost ?: ++ether->lost;
	if (kernel->untold || kernel->missed) {
		pr_info_ratelimited("bgdma: partition %s: kernel %016llx %s\n",
				    ether->part->name, kernel->number,
				    kernel->untold ? "is gone" :
						     "has given us up");
		since = 0;
	}
	kernel->untold = false;
	kernel->missed = false;
	kernel->again = false;
	kernel->since = READ_ONCE(ether->part->incarnation);
	return since;
}

/**
 * bgdma_ether_ends() - kernels are gone: whoever dealt with what lived there is told
 * @work: of an ether
 *
 * There may be many to be told, and meanwhile others must hear of us, and ways change:
 * so not in the tick.
 */
void bgdma_ether_ends(struct work_struct *work)
{
	struct bgdma_ether *ether = container_of(work, struct bgdma_ether, ends);
	struct bgdma_kernel *kernel;
	u32 since;
	bool bye;

	mutex_lock(&ether->lock);
	/* Those of a partition that is deleted know more than that. */
	while (!READ_ONCE(ether->part->dead) &&
	       (kernel = bgdma_kernel_untold(ether))) {
		bye = kernel->bye;
		/* It stays, and nothing of it is heard, until all know of its end. */
		kernel->telling = true;
		since = bgdma_kernel_told(ether, kernel);
		if (ether->stale)
			bgdma_ways_update(ether);
		mutex_unlock(&ether->lock);
		bgdma_kernel_gone(ether, kernel->number, bye, since);
		cond_resched();
		mutex_lock(&ether->lock);
		kernel->telling = false;
		/* And that this is done, if it waits for that. */
		ether->tell = true;
		if (!kernel->left)
			bgdma_ways_stale(ether);
	}
	mutex_unlock(&ether->lock);
}

/**
 * bgdma_ways_stale() - something changed: make new ways soon
 * @ether: of the partition
 */
void bgdma_ways_stale(struct bgdma_ether *ether)
{
	/* What changes all the time does not put the tick off. */
	if (!xchg(&ether->stale, true) && !READ_ONCE(ether->dead))
		bgdma_link_queue(&ether->tick, BGDMA_TICK_STALE_MS);
}
