// SPDX-License-Identifier: GPL-2.0
/*
 * Who is told that a context is gone, or all that lived at a kernel that is: whoever
 * dealt with it or waits for it. There may be many of them, and much that waits: all of
 * it is looked at in slices, between which others run.
 */
#include "../bgdma.h"
#include "../engine/busy.h"
#include "flow.h"
#include "link.h"

/* Counters of a context that are looked at before those of the next. */
#define BGDMA_TELL_SLOTS	32
/* Contexts that one slice looks at, if it has nothing to tell them. */
#define BGDMA_TELL_LOOKS	64

/**
 * struct bgdma_peer_down - a context that is gone, and who was told of it
 * @part: where
 * @gone: who
 * @uid: whose it was
 * @slot: first counter that is looked at now
 * @slots: most that anybody has
 * @gates: somebody has gates
 * @from: in the context that is being told, where to go on; or 0
 * @nodes: instead of @gone: all that lived at these is
 * @kernel: and was of this
 * @since: incarnation up to which all know of that
 */
struct bgdma_peer_down {
	struct bgdma_partition *part;
	const struct bgdma_principal *gone;
	kuid_t uid;
	u32 slot;
	u32 slots;
	bool gates;
	u64 from;
	const struct bgdma_nodes *nodes;
	u64 kernel;
	u32 since;
};

static void bgdma_tell(const struct bgdma_peer_down *down,
		       struct bgdma_ctx *peer)
{
	const struct bgdma_event event = {
		.type = BGDMA_EVENT_PEER_DOWN,
		.code = BGDMA_E_PEER_DOWN,
		.peer_rank = down->gone->rank,
		.peer_ctx = down->gone->ctx,
		.peer_incarnation = down->gone->incarnation,
	};

	bgdma_event_post(peer, &event);
}

/*
 * What waits for it, and the word: the former first, but of many counters some, so
 * that nobody's word has to wait for all that others have.
 */
static void bgdma_tell_one(struct bgdma_peer_down *down, struct bgdma_ctx *peer,
			   bool talked)
{
	bool waited;

	down->slots = max3(down->slots, peer->n_ctr[BGDMA_INJECTION],
			   peer->n_ctr[BGDMA_RECEPTION]);
	waited = bgdma_counters_peer_down(peer, down->gone, down->slot,
					  BGDMA_TELL_SLOTS);
	/* Once is enough. */
	if (talked ? !down->slot : waited)
		bgdma_tell(down, peer);
	if (waited)
		set_bit(down->gone->rank % 1024, peer->talked);
}

/*
 * Others' contexts may come and go as fast as they like: nobody watches those. @peer is
 * held.
 */
static bool bgdma_hears(const struct bgdma_peer_down *down,
			const struct bgdma_ctx *peer)
{
	return test_bit(down->gone->rank % 1024, peer->talked) ||
	       (peer->watch && uid_eq(peer->user->uid, down->uid));
}

static bool bgdma_tell_some(struct bgdma_peer_down *down,
			    struct bgdma_ctx *peer)
{
	bool talked, some;

	if (!list_empty(&peer->gates))
		down->gates = true;
	/* RCU keeps the context, but not its user, nor the pages that it shares. */
	if (!bgdma_busy_get(&peer->busy))
		return false;
	talked = bgdma_hears(down, peer);
	some = talked || READ_ONCE(peer->uctl->leases);
	if (some)
		bgdma_tell_one(down, peer, talked);
	if (unlikely(READ_ONCE(peer->n_classes)) && !down->slot) {
		bgdma_tree.peer_down(peer, down->gone);
		some = true;
	}
	bgdma_busy_put(&peer->busy);
	return some;
}

/* Its epochs; also those that it had begun just now. */
static bool bgdma_tell_gates(struct bgdma_peer_down *down,
			     struct bgdma_ctx *peer)
{
	u64 from = down->from;

	down->from = 0;
	if (list_empty(&peer->gates) || !bgdma_busy_get(&peer->busy))
		return false;
	if (bgdma_gates_peer_down(peer, down->gone, &from))
		down->from = from;
	bgdma_busy_put(&peer->busy);
	return true;
}

/*
 * For each context that is there: who comes meanwhile never met the one that is
 * gone. @tell did something if it returns true, which is enough for a slice; if it
 * leaves something to go on with, the same context comes again.
 */
static void bgdma_tell_all(struct bgdma_peer_down *down,
			   bool (*tell)(struct bgdma_peer_down *down,
					struct bgdma_ctx *peer))
{
	unsigned long next = 0;
	struct bgdma_ctx *peer;

	do {
		XA_STATE(xas, &down->part->members, next);
		unsigned int looks = BGDMA_TELL_LOOKS;

		bgdma_slice_begin();
		rcu_read_lock();
		xas_for_each(&xas, peer, ULONG_MAX) {
			if (xas_retry(&xas, peer))
				continue;
			/* Else the one that has it is gone meanwhile. */
			if (xas.xa_index != next)
				down->from = 0;
			if (tell(down, peer))
				looks = 1;
			next = xas.xa_index + !down->from;
			if (!--looks)
				break;
		}
		rcu_read_unlock();
		bgdma_slice_end();
		cond_resched();
		/* Who is in a partition that was deleted knows more than that. */
	} while (peer && !READ_ONCE(down->part->dead));
}

/**
 * bgdma_partition_tell() - whoever dealt with a context, or waits for it, is told
 * @part: partition
 * @gone: the context; nobody is busy with it any more: who exchanged something with
 *	it just then is one of those who are told
 * @uid: whose it was, or INVALID_UID
 *
 * Context: may sleep.
 */
void bgdma_partition_tell(struct bgdma_partition *part,
			  const struct bgdma_principal *gone, kuid_t uid)
{
	struct bgdma_peer_down down = {
		.part = part, .gone = gone, .uid = uid,
	};

	bgdma_tell_all(&down, bgdma_tell_some);
	if (down.gates)
		bgdma_tell_all(&down, bgdma_tell_gates);
	for (down.slot = BGDMA_TELL_SLOTS; down.slot < down.slots;
	     down.slot += BGDMA_TELL_SLOTS)
		bgdma_tell_all(&down, bgdma_tell_some);
}

/* A counter that is leased to somebody at one of the nodes, and was not told yet. */
static void bgdma_tell_lease(const struct bgdma_peer_down *down,
			     struct bgdma_ctx *peer, unsigned int kind, u32 slot)
{
	const struct bgdma_counter_cell *cell = &peer->cells[kind][slot];
	const struct bgdma_principal who = {
		.rank = READ_ONCE(cell->lease_peer),
		.ctx = READ_ONCE(cell->lease_ctx),
	};

	if (down->nodes->n && bgdma_nodes_have(down->nodes, who.rank) &&
	    READ_ONCE(peer->counter_rec[kind][slot].code) !=
	    BGDMA_E_PEER_DOWN &&
	    bgdma_counters_peer_down(peer, &who, slot, 1))
		set_bit(who.rank % 1024, peer->talked);
}

/* Some counters: true if there are more, from *@slot on. */
static bool bgdma_tell_leases(const struct bgdma_peer_down *down,
			      struct bgdma_ctx *peer, u32 *slot)
{
	u32 end = *slot + BGDMA_TELL_SLOTS;
	unsigned int kind;
	u32 i;

	for (kind = 0; kind < 2; kind++) {
		for (i = *slot; i < min(end, peer->n_ctr[kind]); i++)
			bgdma_tell_lease(down, peer, kind, i);
	}
	*slot = end;
	return end < max(peer->n_ctr[0], peer->n_ctr[1]);
}

/* Did it deal with any of these? Who has dealt with is remembered by a hash. */
static bool bgdma_tell_talked(const struct bgdma_ctx *peer, u32 first, u32 last)
{
	u32 at = first % 1024, n = min(last - first, 1023U) + 1, rest;

	rest = n > 1024 - at ? n - (1024 - at) : 0;
	return find_next_bit(peer->talked, at + n - rest, at) < at + n - rest ||
	       find_first_bit(peer->talked, rest) < rest;
}

/* One word about each run of nodes: there may be more nodes than room for events. */
static void bgdma_tell_words(const struct bgdma_peer_down *down,
			     struct bgdma_ctx *peer)
{
	struct bgdma_event event = {
		.type = BGDMA_EVENT_PEER_DOWN,
		.code = BGDMA_E_PEER_DOWN,
		.peer_ctx = BGDMA_CTX_ANY,
	};
	const struct bgdma_nodes *nodes = down->nodes;
	u32 i;

	for (i = 0; i < nodes->n; i++) {
		if (!peer->watch && !bgdma_tell_talked(peer, nodes->run[i].first,
						       nodes->run[i].last))
			continue;
		event.peer_rank = nodes->run[i].first;
		event.bound = nodes->run[i].last;
		bgdma_event_post(peer, &event);
	}
}

/* In down.from, above where to go on: what comes after what. */
enum bgdma_tell_part {
	BGDMA_TELL_ASKED = 1,
	BGDMA_TELL_LEASES
};

/* True if more is to be done, in another slice: at *@part, from *@at on. */
static bool bgdma_tell_part(const struct bgdma_peer_down *down,
			    struct bgdma_ctx *peer, u32 *part, u32 *at)
{
	if (*part == BGDMA_TELL_ASKED) {
		if (bgdma_asked_lost(peer, down->kernel, at))
			return true;
		++*part;
		*at = 0;
	}
	if (READ_ONCE(peer->uctl->leases) && bgdma_tell_leases(down, peer, at))
		return true;
	bgdma_tell_words(down, peer);
	return false;
}

static bool bgdma_tell_nodes(struct bgdma_peer_down *down,
			     struct bgdma_ctx *peer)
{
	u32 part = down->from >> 32 ?: BGDMA_TELL_ASKED;
	u32 at = down->from;
	bool some;

	down->from = 0;
	if (peer->who.incarnation <= down->since ||
	    !bgdma_busy_get(&peer->busy))
		return false;
	some = peer->watch || READ_ONCE(peer->uctl->leases) ||
	       !bitmap_empty(peer->talked, 1024);
	if (bgdma_tell_part(down, peer, &part, &at))
		down->from = (u64)part << 32 | at;
	some |= down->from;
	bgdma_busy_put(&peer->busy);
	return some;
}

/**
 * bgdma_partition_tell_nodes() - all that lived at some nodes is gone
 * @part: partition
 * @kernel: number of the one that is
 * @nodes: its nodes, which nobody else has; some
 * @since: contexts up to this one know of it
 *
 * Whom bgdma_partition_tell() told of hears it once more, for who else was there
 * nobody knows here: who never sent anything to this kernel.
 *
 * Context: may sleep.
 */
void bgdma_partition_tell_nodes(struct bgdma_partition *part, u64 kernel,
				const struct bgdma_nodes *nodes, u32 since)
{
	struct bgdma_peer_down down = {
		.part = part, .kernel = kernel, .nodes = nodes, .since = since,
	};

	bgdma_tell_all(&down, bgdma_tell_nodes);
}
