// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Groups of processes: who is in them, what each lets the others use, and their end.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../torus.h"
#include "collective.h"

/* ---- Its memory --------------------------------------------------------- */

static void group_clear(struct bgdma_coll_group *g)
{
	g->dead = BGDMA_STRANGER;
	g->number = BGDMA_GROUPS_MAX;
	engines_none(g);
}

struct bgdma_coll_group *group_new(struct bgdma_coll *coll)
{
	struct bgdma_coll_group *g = calloc(1, sizeof(*g));
	uint32_t size = bgdma_endpoint_size(coll->ep);

	if (!g)
		return NULL;
	g->coll = coll;
	g->member = calloc(size, sizeof(*g->member));
	g->node = calloc(size, sizeof(*g->node));
	g->said = calloc(size, sizeof(*g->said));
	g->gone = calloc(size, sizeof(*g->gone));
	if (!g->member || !g->node || !g->said || !g->gone) {
		group_free(g);
		return NULL;
	}
	group_clear(g);
	return g;
}

void group_free(struct bgdma_coll_group *g)
{
	free(g->said);
	free(g->gone);
	free(g->node);
	free(g->member);
	free(g->desc);
	pieces_free(g);
	free(g);
}

/* There is always a spare one, but while it stands in for one that could not be had. */
static void group_end(struct bgdma_coll_group *g)
{
	struct bgdma_coll *coll = g->coll;
	uint32_t size = bgdma_endpoint_size(coll->ep);
	struct bgdma_coll_group spare = {
		.coll = coll, .member = g->member, .node = g->node,
		.said = g->said, .gone = g->gone,
	};

	free(g->desc);
	pieces_free(g);
	*g = spare;
	memset(g->said, 0, size * sizeof(*g->said));
	memset(g->gone, 0, size * sizeof(*g->gone));
	group_clear(g);
	bgdma_endpoint_lock(coll->ep);
	if (!coll->spare) {
		coll->spare = g;
		g = NULL;
	}
	bgdma_endpoint_unlock(coll->ep);
	if (g)
		group_free(g);
}

/* ---- Who is in it ------------------------------------------------------ */

static int objects_get(struct bgdma_coll_group *g, struct card *own)
{
	struct bgdma_ctx *ctx = bgdma_endpoint_ctx(g->coll->ep);
	uint64_t packets = bgdma_endpoint_size(g->coll->ep) + AXES;
	int ret;

	ret = bgdma_region_alloc(ctx, MEMORY_BYTES,
				 BGDMA_LOCAL_READ | BGDMA_LOCAL_WRITE,
				 &g->memory);
	if (!ret)
		ret = bgdma_region_alloc(ctx,
					 packets * sizeof(struct bgdma_desc),
					 BGDMA_LOCAL_READ, &g->packets);
	if (!ret)
		ret = bgdma_counter_alloc_many(ctx, BGDMA_RECEPTION, 1,
					       BGDMA_COUNTER_NO_UNDERFLOW,
					       &g->sink);
	/* BA-1 */
	if (!ret)
		ret = bgdma_counter_alloc_many(ctx, counter_kind(g), 1,
					       BGDMA_COUNTER_NO_UNDERFLOW,
					       g->counter);
	if (ret)
		return ret;
	own->memory = bgdma_region_handle(g->memory);
	own->sink = bgdma_counter_handle(g->sink);
	own->counter = bgdma_counter_handle(g->counter[0]);
	own->queue = bgdma_rgq_id(g->coll->queue);
	direct_objects(g, own);
	bgdma_endpoint_lock(g->coll->ep);
	memcpy(own->taken, g->coll->taken, sizeof(own->taken));
	own->classes = g->coll->classes;
	bgdma_endpoint_unlock(g->coll->ep);
	return 0;
}

/* The same colour, and away from us along the axes named only, if any. */
static bool belongs(const struct bgdma_coll *coll, const struct card *own,
		    const struct card *card, uint32_t rank)
{
	const uint32_t axes = BGDMA_SPLIT_X | BGDMA_SPLIT_Y | BGDMA_SPLIT_Z;
	const struct bgdma_ctx_info *info =
		bgdma_ctx_info(bgdma_endpoint_ctx(coll->ep));
	uint32_t node = bgdma_endpoint_peer(coll->ep, rank)->node;
	unsigned int axis;

	if (card->color != own->color)
		return false;
	for (axis = 0; own->flags & axes && axis < AXES; axis++)
		if (!(own->flags & 1U << axis) &&
		    coordinate(info, node, axis) !=
		    coordinate(info, info->rank, axis))
			return false;
	return true;
}

static void ready_count(struct bgdma_coll_group *g, unsigned int said,
			unsigned int round)
{
	g->ready[round] += !!(said & SAID_READY(round));
	g->refused[round] |= !!(said & SAID_REFUSED(round));
}

/* It may have said something before it was known as a member. */
static void member_note(struct bgdma_coll_group *g, uint32_t number)
{
	uint32_t rank = g->member[number];
	unsigned int round;

	if (rank == bgdma_endpoint_rank(g->coll->ep)) {
		g->rank = number;
		return;
	}
	g->said[rank] |= SAID_MEMBER;
	if (g->said[rank] & SAID_GONE)
		gone_take(g);
	for (round = 0; round < ROUNDS; round++)
		ready_count(g, g->said[rank], round);
}

/* By key, then by rank. */
static void member_insert(struct bgdma_coll_group *g, const struct card *cards,
			  uint32_t rank)
{
	uint32_t i = g->size++;

	for (; i && cards[g->member[i - 1]].key > cards[rank].key; i--)
		g->member[i] = g->member[i - 1];
	g->member[i] = rank;
}

/* With the endpoint's lock: packets and deaths are looked up in it. */
static int members_find(struct bgdma_coll_group *g, const struct card *own,
			const struct card *cards)
{
	struct bgdma_coll *coll = g->coll;
	uint32_t rank, size = bgdma_endpoint_size(coll->ep);

	for (rank = 0; rank < size; rank++) {
		if (cards[rank].flags != own->flags)
			return -EINVAL;
		if (belongs(coll, own, &cards[rank], rank))
			member_insert(g, cards, rank);
	}
	for (rank = 0; rank < g->size; rank++) {
		if (cards[g->member[rank]].failed)
			return -ENOSPC;
		member_note(g, rank);
		if (coll->down[g->member[rank]])
			g->dead = g->member[rank];
	}
	/* Others may be through before us, and in a collective. */
	return pieces_create(g);
}

/* ---- Until all are ready ----------------------------------------------- */

/* Each member says it once. Until they are known what anybody says is kept. */
static int ready_take(struct bgdma_coll_group *g, uint32_t rank,
		      unsigned int round, bool refused)
{
	unsigned int said = g->said[rank];

	/* He has yet to hear that we gave it up. */
	if (g->given_up && !(said & SAID_MEMBER))
		return 0;
	if (said & SAID_READY(round) || (g->size && !(said & SAID_MEMBER)))
		return -EBADMSG;
	said |= SAID_READY(round) | (refused ? SAID_REFUSED(round) : 0);
	g->said[rank] = (uint8_t)said;
	if (said & SAID_MEMBER)
		ready_count(g, said, round);
	return 0;
}

/* Word of "ready": which split, which round, and whether it was refused. */
int on_ready(void *arg, uint32_t rank, const struct bgdma_packet *packet)
{
	uint64_t word = bgdma_packet_word(packet);
	struct bgdma_coll *coll = arg;
	struct bgdma_coll_group *g;

	if (packet->bytes)
		return -EBADMSG;
	for (g = coll->groups; g; g = g->next)
		if (g->serial == word >> 3 && (word >> 1 & 3) < ROUNDS)
			return ready_take(g, rank, word >> 1 & 3, word & 1);
	return word >> 3 < coll->splits ? 0 : -EBADMSG;
}

static bool is_ready(const struct bgdma_coll_group *g, unsigned int round)
{
	return g->ready[round] >= g->size - 1;
}

/*
 * Whoever is through the split may be gone already, and the group with him: only who
 * went before he was ready ends it. All others say that they are, whatever they hear.
 */
static int meet_failure(const struct bgdma_coll_group *g, unsigned int round)
{
	uint32_t i, rank;

	if (is_ready(g, round))
		return 0;
	if (g->error)
		return g->error;
	for (i = 0; i < g->size; i++) {
		rank = g->member[i];
		if (i == g->rank || g->said[rank] & SAID_READY(round))
			continue;
		if (g->coll->down[rank] || g->dead == rank ||
		    g->said[rank] & SAID_GONE)
			return group_failure(g);
	}
	return 0;
}

static bool all_ready(struct bgdma_coll_group *g, unsigned int round)
{
	return is_ready(g, round) || meet_failure(g, round);
}

static bool first_ready(void *arg)
{
	return all_ready(arg, 0);
}

static bool second_ready(void *arg)
{
	return all_ready(arg, 1);
}

static bool engines_ready(void *arg)
{
	return all_ready(arg, ROUND_ENGINES);
}

/* Each member hears it, but those who are gone: whether they are missed shows then. */
static int ready_tell(struct bgdma_coll_group *g, unsigned int round,
		      bool refused)
{
	struct bgdma_send_attr send = {
		.operation = g->coll->ready_id, .type = BGDMA_COLLECTIVE,
		.word = (uint64_t)g->serial << 3 | round << 1 | refused,
	};
	uint32_t i;
	int ret;

	for (i = 0; i < g->size; i++) {
		if (i == g->rank)
			continue;
		send.dest = g->member[i];
		while ((ret = bgdma_endpoint_send(g->coll->ep, &send)) ==
		       -EAGAIN) {
			ret = bgdma_endpoint_wait(g->coll->ep, -1);
			if (ret && ret != -EINTR)
				return ret;
		}
		/* What it has said before is read first: coll_fail(). */
		if (ret && ret != -EHOSTDOWN)
			return ret;
	}
	return 0;
}

/* Also what makes members hear of each other's death. */
static int meet(struct bgdma_coll_group *g, unsigned int round, bool refused)
{
	bool (*const ready[ROUNDS])(void *arg) = {
		first_ready, second_ready, engines_ready,
	};
	int ret = ready_tell(g, round, refused);

	/* A signal ends it at nobody: the others would wait for us. */
	while (!ret) {
		ret = bgdma_endpoint_wait_until(g->coll->ep, ready[round], g,
						BGDMA_SPIN_THEN_SLEEP, -1);
		if (ret != -EINTR)
			break;
		ret = 0;
	}
	if (!ret) {
		bgdma_endpoint_lock(g->coll->ep);
		ret = meet_failure(g, round);
		bgdma_endpoint_unlock(g->coll->ep);
	}
	/* Others may be through, and in a barrier already. */
	if (ret)
		split_give_up(g, ret);
	return ret;
}

/* ---- Numbers of groups ------------------------------------------------- */

static void number_mark(const struct bgdma_coll_group *g, bool taken)
{
	uint64_t bit = 1ULL << g->number % 64, *word;

	if (g->number >= BGDMA_GROUPS_MAX)
		return;
	word = &g->coll->taken[g->number / 64];
	bgdma_endpoint_lock(g->coll->ep);
	*word = taken ? *word | bit : *word & ~bit;
	bgdma_endpoint_unlock(g->coll->ep);
}

/* The lowest that all members can use: all of them find the same. */
static int number_take(struct bgdma_coll_group *g, const struct card *cards)
{
	uint32_t i, word;
	uint64_t taken;

	for (word = 0; word < TAKEN_WORDS; word++) {
		taken = 0;
		for (i = 0; i < g->size; i++)
			taken |= cards[g->member[i]].taken[word];
		if (!~taken)
			continue;
		g->number = 64 * word + (uint32_t)__builtin_ctzll(~taken);
		number_mark(g, true);
		return 0;
	}
	return -ENOSPC;
}

/* It stays taken where packets of this group may still come. */
static void number_end(struct bgdma_coll_group *g, bool reuse)
{
	if (g->bound)
		(void)bgdma_group_unbind(bgdma_endpoint_ctx(g->coll->ep),
					 g->number);
	g->bound = false;
	if (reuse)
		number_mark(g, false);
	g->number = BGDMA_GROUPS_MAX;
}

/* Each axis has its counter. */
static int counters_get(struct bgdma_coll_group *g)
{
	struct bgdma_ctx *ctx = bgdma_endpoint_ctx(g->coll->ep);
	unsigned int i;
	int ret = 0;

	for (i = 1; !ret && i < AXES; i++)
		ret = bgdma_counter_alloc_many(ctx, counter_kind(g), 1,
					       BGDMA_COUNTER_NO_UNDERFLOW,
					       &g->counter[i]);
	return ret;
}

/*
 * By lines, if all of them can: the number of the group may be taken at a node,
 * or the counters. Who can do neither tells the others too.
 */
static int group_build(struct bgdma_coll_group *g, const struct card *own,
		       const struct card *cards)
{
	int ret, met, direct = direct_build(g, cards);
	bool lines = lines_fit(g);

	if (lines) {
		ret = number_take(g, cards);
		if (!ret)
			ret = counters_get(g);
		if (!ret)
			ret = lines_build(g, own);
		if (!ret)
			ret = direct;
		met = meet(g, 0, ret < 0);
		if (met || (!ret && !g->refused[0]))
			return met;
		/* Another context of this node has it: the next time another. */
		number_end(g, ret != -EEXIST);
	}
	ret = plain_build(g, cards);
	if (!ret)
		ret = direct;
	met = meet(g, lines, ret < 0);
	if (!ret)
		ret = met;
	return !ret && g->refused[lines] ? -ENOSPC : ret;
}

/*
 * A class of the combining network, if all can have it; else messages do. Who has
 * bound it uses it when all have.
 */
static int group_engines(struct bgdma_coll_group *g, const struct card *cards)
{
	int ret, met;

	if (!(g->flags & BGDMA_SPLIT_ENGINES))
		return 0;
	ret = engines_build(g, cards);
	met = meet(g, ROUND_ENGINES, ret < 0);
	if (met || ret || g->refused[ROUND_ENGINES])
		engines_end(g);
	return met;
}

/* The word of a message has so many bits for the serial. */
static bool serial_taken(const struct bgdma_coll_group *g)
{
	const struct bgdma_coll_group *other;

	for (other = g->next; other; other = other->next)
		if (!((other->serial ^ g->serial) & SERIAL_MASK))
			return true;
	return false;
}

static void objects_put(struct bgdma_coll_group *g)
{
	unsigned int i;

	number_end(g, false);
	engines_end(g);
	direct_end(g);
	for (i = 0; i < AXES; i++)
		(void)bgdma_counter_free(g->counter[i]);
	(void)bgdma_counter_free(g->sink);
	(void)bgdma_region_free(g->packets);
	(void)bgdma_region_free(g->memory);
}

static void group_remove(struct bgdma_coll_group *g)
{
	struct bgdma_coll_group **link = &g->coll->groups;

	bgdma_endpoint_lock(g->coll->ep);
	while (*link != g)
		link = &(*link)->next;
	*link = g->next;
	bgdma_endpoint_unlock(g->coll->ep);
	objects_put(g);
	group_end(g);
}

/*
 * Where there is no memory the spare one takes part, and fails: the others wait for a
 * card. NULL: that is in use, too.
 */
static struct bgdma_coll_group *group_add(struct bgdma_coll *coll,
					  uint32_t flags, int *failed)
{
	struct bgdma_coll_group *g = group_new(coll);

	*failed = g ? 0 : -ENOMEM;
	bgdma_endpoint_lock(coll->ep);
	if (!g) {
		g = coll->spare;
		coll->spare = NULL;
	}
	if (g) {
		g->flags = flags;
		g->serial = coll->splits++;
		g->next = coll->groups;
		coll->groups = g;
		cards_begin(g);
	}
	bgdma_endpoint_unlock(coll->ep);
	return g;
}

int bgdma_coll_split_sized(struct bgdma_coll *coll,
			   const struct bgdma_split_attr *attr, size_t size,
			   struct bgdma_coll_group **group)
{
	struct bgdma_split_attr a;
	struct bgdma_coll_group *g;
	const struct card *cards;
	struct card own;
	int ret, failed;

	if (!bgdma_endpoint_peer(coll->ep, 0))
		return -ENOTCONN;
	ret = attr_copy(&a, sizeof(a), attr, size);
	if (!ret &&
	    a.flags & ~(BGDMA_SPLIT_PUT | (BGDMA_SPLIT_PUT - 1)))
		ret = -EINVAL;
	/* The others wait for a card: that of one who means another split. */
	if (ret)
		a = (struct bgdma_split_attr){ .color = BGDMA_SPLIT_NONE,
					       .flags = UINT32_MAX };
	g = group_add(coll, a.flags, &failed);
	if (!g)
		return -ENOMEM;
	if (ret)
		failed = ret;
	memset(&own, 0, sizeof(own));
	own.color = a.color;
	own.key = a.key;
	own.flags = a.flags;
	/* Who has no counter left tells the others too. */
	if (!failed && own.color != BGDMA_SPLIT_NONE)
		failed = objects_get(g, &own);
	bgdma_endpoint_lock(coll->ep);
	if (serial_taken(g))
		failed = -ENOSPC;
	bgdma_endpoint_unlock(coll->ep);
	own.failed = failed < 0;
	ret = cards_exchange(g, &own, &cards);
	if (!ret)
		ret = failed;
	if (!ret && own.color != BGDMA_SPLIT_NONE) {
		bgdma_endpoint_lock(coll->ep);
		ret = members_find(g, &own, cards);
		bgdma_endpoint_unlock(coll->ep);
		/* All others found who is in it, and wait for us. */
		if (ret == -ENOMEM)
			split_give_up(g, ret);
		if (!ret)
			ret = group_build(g, &own, cards);
		if (!ret)
			ret = group_engines(g, cards);
	}
	bgdma_endpoint_lock(coll->ep);
	g->made = true;
	if (!ret && group_failure(g))
		group_give_up(g);
	bgdma_endpoint_unlock(coll->ep);
	*group = g;
	if (ret || own.color == BGDMA_SPLIT_NONE) {
		group_remove(g);
		*group = NULL;
	}
	return ret;
}

void bgdma_coll_group_destroy(struct bgdma_coll_group *g)
{
	if (!g)
		return;
	number_end(g, barrier_flush(g));
	bgdma_endpoint_lock(g->coll->ep);
	if (g->requests)
		coll_stop(g, -ECANCELED);
	else if (g->partner)
		pieces_drop(g);
	bgdma_endpoint_unlock(g->coll->ep);
	give_up_flush(g);
	/* What the engine still moves for it is not forgotten. */
	if (!g->requests)
		group_remove(g);
}
