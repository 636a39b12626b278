// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Credit: what each member may have at another that nobody there has asked for yet.
 * So its memory is bounded, and a collective never refuses a packet, behind which
 * others would wait. Half of it is given back at a time; a message takes less than
 * the other half, so that nobody waits for what is not given back.
 *
 * Until they are looked at, messages take room in the reception FIFO besides. Of that
 * each process has some at each other, for all groups: so one that makes no progress
 * has no full FIFO, before which what is for others would wait. As it makes progress
 * all of it comes back, half of it at a time, whatever is asked for: nobody waits for
 * it but for that.
 *
 * What is there for later collectives may take all of it. So the oldest of a member
 * may have one message more, which is given back at once: of all members the one
 * with the oldest goes on, and nobody waits for what cannot be sent.
 */
#include <errno.h>

#include "collective.h"

#define WINDOW_MIN	(4 * (EAGER_MAX + MESSAGE_COST))
#define WINDOW_MAX	(1U << 20)
#define RESERVE		(EAGER_MAX + MESSAGE_COST)
#define BYTES_MASK	((1ULL << SERIAL_SHIFT) - 1)
#define ROOM_COST	384U	/* of a message, in packets as small as links make them */
#define ROOM_MIN	(4 * (EAGER_MAX + ROOM_COST))

static uint32_t within(uint64_t bytes, uint32_t least)
{
	if (bytes < least)
		return least;
	return bytes < WINDOW_MAX ? (uint32_t)bytes : WINDOW_MAX;
}

uint32_t credit_window(const struct bgdma_coll *coll)
{
	return within(bgdma_endpoint_share(coll->ep) / 2, WINDOW_MIN);
}

/* ---- Room in the FIFO --------------------------------------------------- */

/* The rest is for tagged messages, see lib/msg/credit.c. */
uint32_t room_window(const struct bgdma_coll *coll)
{
	return within(bgdma_endpoint_share(coll->ep) / 3, ROOM_MIN);
}

static struct room *room_of(const struct bgdma_coll_group *g,
			    const struct partner *p)
{
	return &g->coll->room[g->member[p - g->partner]];
}

/* Half a window, or later. */
static void room_give(struct bgdma_coll *coll, uint32_t rank)
{
	struct room *room = &coll->room[rank];
	const struct bgdma_send_attr send = {
		.operation = coll->room_id, .type = BGDMA_COLLECTIVE,
		.dest = rank, .word = room->owed,
	};

	if (room->owed < room_window(coll) / 2)
		return;
	if (bgdma_endpoint_send(coll->ep, &send) == -EAGAIN) {
		coll->late = true;
		coll->owing = true;
		return;
	}
	room->owed = 0;
}

void room_owe(struct bgdma_coll *coll, uint32_t rank, uint64_t bytes)
{
	coll->room[rank].owed += (uint32_t)bytes + ROOM_COST;
	room_give(coll, rank);
}

void room_again(struct bgdma_coll *coll)
{
	uint32_t i, size = bgdma_endpoint_size(coll->ep);

	if (!coll->owing)
		return;
	coll->owing = false;
	for (i = 0; i < size; i++)
		room_give(coll, i);
}

/* He has looked at so much of what we sent: others may follow, of any group. */
int on_coll_room(void *arg, uint32_t rank, const struct bgdma_packet *packet)
{
	uint64_t bytes = bgdma_packet_word(packet);
	struct bgdma_coll *coll = arg;
	struct bgdma_coll_group *g;

	if (packet->bytes || bytes > coll->room[rank].used)
		return -EBADMSG;
	coll->room[rank].used -= (uint32_t)bytes;
	for (g = coll->groups; g; g = g->next)
		if (g->partner && g->place[rank] != BGDMA_STRANGER)
			sends_go(g, g->place[rank]);
	return 0;
}

/* ---- What nobody has asked for ------------------------------------------ */

static uint32_t window(const struct bgdma_coll_group *g)
{
	return credit_window(g->coll);
}

bool credit_take(struct bgdma_coll_group *g, struct partner *p, uint64_t bytes,
		 bool oldest)
{
	uint32_t most = window(g) + (oldest ? RESERVE : 0);
	struct room *room = room_of(g, p);

	if (p->used + bytes + MESSAGE_COST > most ||
	    room->used + bytes + ROOM_COST > room_window(g->coll))
		return false;
	p->used += (uint32_t)bytes + MESSAGE_COST;
	room->used += (uint32_t)bytes + ROOM_COST;
	return true;
}

void credit_put(struct bgdma_coll_group *g, struct partner *p, uint64_t bytes)
{
	p->used -= (uint32_t)bytes + MESSAGE_COST;
	room_of(g, p)->used -= (uint32_t)bytes + ROOM_COST;
}

static void give(struct bgdma_coll_group *g, uint32_t number)
{
	struct partner *p = &g->partner[number];
	const struct bgdma_send_attr send = {
		.operation = g->coll->give_id, .type = BGDMA_COLLECTIVE,
		.dest = g->member[number],
		.word = word_of(g) | p->owed,
	};

	if (!p->owed || (p->owed < window(g) / 2 && p->held <= window(g)))
		return;
	if (bgdma_endpoint_send(g->coll->ep, &send) == -EAGAIN) {
		coll_late(g);
		return;
	}
	p->held -= p->owed;
	p->owed = 0;
}

bool credit_held(struct bgdma_coll_group *g, struct partner *p, uint64_t bytes)
{
	if (p->held + bytes + MESSAGE_COST > window(g) + RESERVE)
		return false;
	p->held += (uint32_t)bytes + MESSAGE_COST;
	give(g, (uint32_t)(p - g->partner));
	return true;
}

void credit_owe(struct bgdma_coll_group *g, uint32_t number, uint64_t bytes)
{
	g->partner[number].owed += (uint32_t)bytes + MESSAGE_COST;
	give(g, number);
}

void credit_again(struct bgdma_coll_group *g)
{
	uint32_t i;

	for (i = 0; i < g->size; i++)
		give(g, i);
}

int on_coll_give(void *arg, uint32_t rank, const struct bgdma_packet *packet)
{
	uint64_t word = bgdma_packet_word(packet), bytes = word & BYTES_MASK;
	struct bgdma_coll_group *g;
	uint32_t number;
	int ret;

	if (packet->bytes)
		return -EBADMSG;
	ret = partner_find(arg, word, rank, &g, &number);
	if (ret)
		return ret == -ENOENT ? 0 : ret;
	if (bytes > g->partner[number].used)
		return -EBADMSG;
	g->partner[number].used -= (uint32_t)bytes;
	sends_go(g, number);
	return 0;
}
