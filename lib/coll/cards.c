// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * What the processes of the job tell each other for a split. By packets: a fence of
 * the job knows of no deaths.
 *
 * A process ends a split only when it has all cards of it, and so nobody is more
 * than one split ahead of another: two tables are enough. But one that gave up, whose
 * cards are not missed then.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <asm/byteorder.h>

#include "internal.h"

int cards_create(struct bgdma_coll *coll)
{
	uint32_t size = bgdma_endpoint_size(coll->ep);
	unsigned int i;

	coll->ahead = calloc(size, sizeof(*coll->ahead));
	if (!coll->ahead)
		return -ENOMEM;
	for (i = 0; i < 2; i++) {
		struct cards *cards = &coll->cards[i];

		cards->card = calloc(size, sizeof(*cards->card));
		cards->came = calloc(size, sizeof(*cards->came));
		if (!cards->card || !cards->came)
			return -ENOMEM;
	}
	return 0;
}

void cards_free(struct bgdma_coll *coll)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		free(coll->cards[i].card);
		free(coll->cards[i].came);
	}
	free(coll->ahead);
}

/* Whether he gave it up before we began it. */
static bool is_ahead(const struct bgdma_coll *coll, uint32_t rank,
		     uint32_t serial)
{
	const struct ahead *a = &coll->ahead[rank];

	return a->next && (int32_t)(a->next - serial) > 0;
}

int card_gone(struct bgdma_coll *coll, uint32_t rank, uint64_t serial,
	      uint32_t dead)
{
	struct ahead *a = &coll->ahead[rank];

	/* One after the other; who has ended the group waits for nobody. */
	if (serial < coll->splits)
		return 0;
	if (serial != (is_ahead(coll, rank, coll->splits) ? a->next :
							    coll->splits))
		return -EBADMSG;
	*a = (struct ahead){ .next = (uint32_t)serial + 1, .why = dead };
	return 0;
}

static void card_note(struct cards *cards, uint32_t rank,
		      const struct card *card)
{
	cards->card[rank] = *card;
	cards->came[rank] = true;
	cards->here++;
}

/* Who gave up before we began is known; the other table is for the next one. */
void cards_begin(struct bgdma_coll_group *g)
{
	struct bgdma_coll *coll = g->coll;
	uint32_t i, size = bgdma_endpoint_size(coll->ep);
	struct cards *next = &coll->cards[~g->serial & 1];
	struct cards *cards = &coll->cards[g->serial & 1];
	struct ahead *a;

	memset(next->came, 0, size * sizeof(*next->came));
	next->here = 0;
	g->why = BGDMA_STRANGER;
	for (i = 0; i < size; i++) {
		a = &coll->ahead[i];
		if (is_ahead(coll, i, g->serial)) {
			g->said[i] |= SAID_GONE;
			if (a->why != BGDMA_STRANGER)
				g->why = a->why;
		} else if (a->kept && a->next == g->serial) {
			if (!cards->came[i])
				card_note(cards, i, &a->card);
			a->kept = false;
		}
	}
}

/* To the wire, and back. */
static void card_swap(struct card *card)
{
	unsigned int i;

	card->color = __cpu_to_le32(card->color);
	card->key = __cpu_to_le32(card->key);
	card->flags = __cpu_to_le32(card->flags);
	card->memory = __cpu_to_le32(card->memory);
	card->counter = __cpu_to_le32(card->counter);
	card->sink = __cpu_to_le32(card->sink);
	card->queue = __cpu_to_le32(card->queue);
	card->failed = __cpu_to_le32(card->failed);
	card->classes = __cpu_to_le32(card->classes);
	card->boxes = __cpu_to_le32(card->boxes);
	card->landed[0] = __cpu_to_le32(card->landed[0]);
	card->landed[1] = __cpu_to_le32(card->landed[1]);
	for (i = 0; i < TAKEN_WORDS; i++)
		card->taken[i] = __cpu_to_le64(card->taken[i]);
}

int on_card(void *arg, uint32_t rank, const struct bgdma_packet *packet)
{
	uint64_t serial = bgdma_packet_word(packet);
	struct bgdma_coll *coll = arg;
	struct cards *cards = &coll->cards[serial & 1];
	struct ahead *a = &coll->ahead[rank];
	struct card card;

	if (packet->bytes != sizeof(card))
		return -EBADMSG;
	/* Of one behind us, who has yet to hear that we gave it up. */
	if (serial + 1 < coll->splits)
		return 0;
	memcpy(&card, bgdma_packet_data(packet), sizeof(card));
	card_swap(&card);
	if (serial <= coll->splits) {
		if (cards->came[rank])
			return -EBADMSG;
		card_note(cards, rank, &card);
		return 0;
	}
	/* Of one who gave up all before it: he waits with it, or gives it up, too. */
	if (serial != a->next || a->kept)
		return -EBADMSG;
	a->card = card;
	a->kept = true;
	return 0;
}

static int card_send(const struct bgdma_coll_group *g, const struct card *own)
{
	struct bgdma_endpoint *ep = g->coll->ep;
	uint32_t size = bgdma_endpoint_size(ep);
	struct card wire = *own;
	struct bgdma_send_attr send = {
		.operation = g->coll->card_id, .type = BGDMA_COLLECTIVE,
		.word = g->serial, .data = &wire, .length = sizeof(wire),
	};
	int ret;

	card_swap(&wire);
	/* To those who live, whatever has become of the others. */
	for (; send.dest < size; send.dest++) {
		if (send.dest == bgdma_endpoint_rank(ep))
			continue;
		while ((ret = bgdma_endpoint_send(ep, &send)) == -EAGAIN) {
			ret = bgdma_endpoint_wait(ep, -1);
			if (ret && ret != -EINTR)
				break;
		}
		if (ret && ret != -EHOSTDOWN)
			return ret;
	}
	return 0;
}

/* All are there, or one never will be. */
static bool cards_there(void *arg)
{
	struct bgdma_coll_group *g = arg;
	const struct cards *cards = &g->coll->cards[g->serial & 1];
	uint32_t i, size = bgdma_endpoint_size(g->coll->ep);

	if (cards->here == size)
		return true;
	for (i = 0; i < size; i++) {
		if (cards->came[i] ||
		    (!g->coll->down[i] && !(g->said[i] & SAID_GONE)))
			continue;
		g->dead = g->coll->down[i] ? i : g->why;
		/* Who gave up need not say that somebody died. */
		g->broken = true;
		return true;
	}
	return false;
}

/* Those who have all cards may wait for us, whoever is in which group. */
static void tell_all(struct bgdma_coll_group *g)
{
	uint32_t size = bgdma_endpoint_size(g->coll->ep);

	bgdma_endpoint_lock(g->coll->ep);
	for (g->size = 0; g->size < size; g->size++)
		g->member[g->size] = g->size;
	g->rank = bgdma_endpoint_rank(g->coll->ep);
	bgdma_endpoint_unlock(g->coll->ep);
	split_give_up(g, 0);
}

int cards_exchange(struct bgdma_coll_group *g, const struct card *own,
		   const struct card **cards)
{
	struct bgdma_endpoint *ep = g->coll->ep;
	struct cards *table = &g->coll->cards[g->serial & 1];
	int ret;

	bgdma_endpoint_lock(ep);
	card_note(table, bgdma_endpoint_rank(ep), own);
	bgdma_endpoint_unlock(ep);
	ret = card_send(g, own);
	while (!ret) {
		ret = bgdma_endpoint_wait_until(ep, cards_there, g,
						BGDMA_SPIN_THEN_SLEEP, -1);
		if (ret != -EINTR)
			break;
		ret = 0;
	}
	if (!ret) {
		bgdma_endpoint_lock(ep);
		ret = group_failure(g);
		bgdma_endpoint_unlock(ep);
	}
	if (ret)
		tell_all(g);
	*cards = table->card;
	return ret;
}
