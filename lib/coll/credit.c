// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Credit: what each member may have at another that nobody there has asked for yet.
 * So its memory is bounded, and a collective never refuses a packet, behind which
 * others would wait. Half of it is given back at a time; a message takes less than
 * the other half, so that nobody waits for what is not given back.
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

uint32_t credit_window(const struct bgdma_coll *coll)
{
	uint64_t half = bgdma_endpoint_share(coll->ep) / 2;

	if (half < WINDOW_MIN)
		return WINDOW_MIN;
	return half < WINDOW_MAX ? (uint32_t)half : WINDOW_MAX;
}

static uint32_t window(const struct bgdma_coll_group *g)
{
	return credit_window(g->coll);
}

bool credit_take(struct bgdma_coll_group *g, struct partner *p, uint64_t bytes,
		 bool oldest)
{
	uint32_t most = window(g) + (oldest ? RESERVE : 0);

	if (p->used + bytes + MESSAGE_COST > most)
		return false;
	p->used += (uint32_t)bytes + MESSAGE_COST;
	return true;
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
