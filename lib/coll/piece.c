// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Messages between members of a group: short ones are packets, which are kept if
 * they come before anybody asks for them; long ones are announced (long.c). Both come
 * in the order in which they were sent, so what belongs to one collective needs no
 * other name than whose it is.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collective.h"

/* ---- Lists -------------------------------------------------------------- */

static void acts_add(struct acts *list, struct act *act)
{
	act->next = NULL;
	if (list->first)
		list->last->next = act;
	else
		list->first = act;
	list->last = act;
}

static struct act *acts_take(struct acts *list)
{
	struct act *act = list->first;

	list->first = act->next;
	return act;
}

/* Collectives that are over whose messages are known as theirs. */
#define PAST	65536U

static bool same_collective(uint64_t a, uint64_t b)
{
	return a >> CHECK_BITS == b >> CHECK_BITS;
}

struct act *recv_find(struct partner *p, uint64_t word)
{
	struct act *act = p->recvs.first, *before = NULL;

	while (act && !same_collective(act->request->word, word)) {
		before = act;
		act = act->next;
	}
	if (!act)
		return NULL;
	if (before)
		before->next = act->next;
	else
		p->recvs.first = act->next;
	if (p->recvs.last == act)
		p->recvs.last = before;
	return act;
}

static struct early *early_find(struct partner *p, uint64_t word)
{
	struct early *e = p->early;

	while (e && (e->claimed || !same_collective(e->word, word)))
		e = e->next;
	return e;
}

void early_take(struct bgdma_coll_group *g, struct partner *p, struct early *e)
{
	struct early **link = &p->early, *before = NULL;

	while (*link != e) {
		before = *link;
		link = &before->next;
	}
	*link = e->next;
	if (p->early_last == e)
		p->early_last = before;
	g->earlies--;
}

static void early_free(struct bgdma_coll_group *g, struct partner *p,
		       struct early *e)
{
	early_take(g, p, e);
	free(e);
}

struct early *early_add(struct bgdma_coll_group *g, struct partner *p,
			uint64_t word, uint64_t length, uint64_t bytes)
{
	struct early *e = calloc(1, sizeof(*e) + bytes);

	if (!e)
		return NULL;
	e->word = word;
	e->length = length;
	if (p->early)
		p->early_last->next = e;
	else
		p->early = e;
	p->early_last = e;
	g->earlies++;
	return e;
}

/* Numbers come round again: one that is not just behind is of somebody far ahead. */
bool is_past(const struct bgdma_coll_group *g, uint64_t word)
{
	uint32_t number = (uint32_t)(word >> CHECK_BITS) & NUMBER_MASK;
	const struct bgdma_coll_request *r = g->requests;

	if (((g->collectives - 1 - number) & NUMBER_MASK) > PAST)
		return false;
	while (r && !same_collective(r->word, word))
		r = r->next;
	return !r;
}

/* The first of each is enough: what is behind others is looked at when they are gone. */
bool pieces_left(const struct bgdma_coll_group *g, uint64_t word)
{
	const struct early *e;
	uint32_t i;

	for (i = 0; g->earlies && i < g->size; i++) {
		e = g->partner[i].early;
		if (e && (same_collective(e->word, word) || is_past(g, e->word)))
			return true;
	}
	return false;
}

/* ---- What comes --------------------------------------------------------- */

int partner_find(struct bgdma_coll *coll, uint64_t word, uint32_t rank,
		 struct bgdma_coll_group **group, uint32_t *number)
{
	uint32_t serial = (uint32_t)(word >> SERIAL_SHIFT);
	struct bgdma_coll_group *g = coll->groups;

	while (g && (g->serial & SERIAL_MASK) != serial)
		g = g->next;
	if (!g)
		return ((coll->splits - 1 - serial) & SERIAL_MASK) <=
		       SERIAL_MASK / 2 ? -ENOENT : -EBADMSG;
	if (!g->partner)
		return -EBADMSG;
	*number = g->place[rank];
	*group = g;
	if (*number == BGDMA_STRANGER)
		return -EBADMSG;
	return g->stopped ? -ENOENT : 0;
}

int nonsense(struct bgdma_coll_group *g)
{
	coll_stop(g, -EBADMSG);
	return -EBADMSG;
}

static void piece_end(struct bgdma_coll_group *g, struct partner *p)
{
	uint32_t number = (uint32_t)(p - g->partner);
	struct early *e = p->arriving;
	struct act *act = p->into;
	uint64_t length = p->length;

	p->into = NULL;
	p->arriving = NULL;
	p->to = NULL;
	if (e) {
		e->whole = true;
		act = e->claimed;
		if (!act)
			return;
		if (length)
			memcpy(act->to, e->bytes, length);
		early_free(g, p, e);
	}
	credit_owe(g, number, length);
	act_done(act, 0);
}

static int piece_begin(struct bgdma_coll_group *g, struct partner *p,
		       const struct bgdma_packet *packet)
{
	uint64_t length = packet->msg_length, word = bgdma_packet_word(packet);
	struct act *act;

	if (p->to || length > EAGER_MAX || !credit_held(g, p, length))
		return nonsense(g);
	act = recv_find(p, word);
	if (act) {
		/* It is taken off its list, so nobody else ends it. */
		p->into = act;
		if (act->request->word != word || act->bytes != length)
			return nonsense(g);
		p->to = act->to;
	} else {
		if (direct_is(g, word) || is_past(g, word))
			return nonsense(g);
		p->arriving = early_add(g, p, word, length, length);
		if (!p->arriving) {
			coll_stop(g, -ENOMEM);
			return -ENOENT;
		}
		p->to = p->arriving->bytes;
	}
	/* Even of no bytes: something arrives. */
	if (!p->to && length)
		return nonsense(g);
	if (!p->to)
		p->to = (char *)p;
	p->got = 0;
	p->length = length;
	return 0;
}

int on_coll_piece(void *arg, uint32_t rank, const struct bgdma_packet *packet)
{
	struct bgdma_coll_group *g;
	struct partner *p;
	uint32_t number;
	int ret;

	if (packet->flags & (BGDMA_PACKET_LAST | BGDMA_PACKET_ERROR))
		room_owe(arg, rank, packet->msg_length);
	ret = partner_find(arg, bgdma_packet_word(packet), rank, &g, &number);
	if (ret)
		return ret == -ENOENT ? 0 : ret;
	p = &g->partner[number];
	if (packet->flags & BGDMA_PACKET_ERROR) {
		coll_stop(g, -EIO);
		return 0;
	}
	if (packet->flags & BGDMA_PACKET_FIRST)
		ret = piece_begin(g, p, packet);
	if (ret)
		return ret == -ENOENT ? 0 : ret;
	if (!p->to || packet->offset != p->got ||
	    packet->bytes > p->length - p->got)
		return nonsense(g);
	if (packet->bytes)
		memcpy(p->to + p->got, bgdma_packet_data(packet),
		       packet->bytes);
	p->got += packet->bytes;
	if (!(packet->flags & BGDMA_PACKET_LAST))
		return 0;
	if (p->got != p->length)
		return nonsense(g);
	piece_end(g, p);
	return 0;
}

void act_recv(struct act *act)
{
	struct bgdma_coll_group *g = act->request->group;
	struct partner *p = &g->partner[act->peer];
	struct early *e = early_find(p, act->request->word);

	if (!e) {
		acts_add(&p->recvs, act);
		if (p->stopped)
			partner_stop(g, act->peer, 0);
		return;
	}
	if (e->word != act->request->word || e->length != act->bytes) {
		act_done(act, -EBADMSG);
	} else if (e->is_long) {
		e->claimed = act;
		early_accept(g, p, e);
	} else if (!e->whole) {
		e->claimed = act;
	} else {
		if (e->length)
			memcpy(act->to, e->bytes, e->length);
		early_free(g, p, e);
		credit_owe(g, act->peer, act->bytes);
		act_done(act, 0);
	}
}

/* ---- What goes ---------------------------------------------------------- */

static int short_send(struct act *act)
{
	struct bgdma_coll_group *g = act->request->group;
	struct partner *p = &g->partner[act->peer];
	const struct bgdma_send_attr attr = {
		.operation = g->coll->piece_id, .type = BGDMA_COLLECTIVE,
		.dest = g->member[act->peer], .word = act->request->word,
		.length = act->bytes, .data = act->from,
	};
	int ret;

	if (!credit_take(g, p, act->bytes, is_oldest(act)))
		return -EAGAIN;
	ret = bgdma_endpoint_send(g->coll->ep, &attr);
	if (ret)
		credit_put(g, p, act->bytes);
	if (ret == -EAGAIN)
		coll_late(g);
	return ret;
}

/* Whether it did not have to wait. */
static bool send_try(struct act *act)
{
	bool is_long = act->bytes > EAGER_MAX;
	int ret = is_long ? long_send(act) : short_send(act);

	if (ret == -EAGAIN)
		return false;
	if (ret || !is_long)
		act_done(act, ret);
	return true;
}

void act_send(struct act *act)
{
	struct bgdma_coll_group *g = act->request->group;
	struct partner *p = &g->partner[act->peer];

	if (!p->sends.first && send_try(act))
		return;
	acts_add(&p->sends, act);
	if (p->stopped)
		partner_stop(g, act->peer, 0);
	else if (is_oldest(act))
		sends_go(g, act->peer);
}

static void acts_put_first(struct acts *list, struct act *act)
{
	act->next = list->first;
	if (!list->first)
		list->last = act;
	list->first = act;
}

/* The first that the oldest collective has behind others, to the front. */
static bool oldest_forward(struct acts *list)
{
	struct act *act = list->first, *before = NULL;

	while (act && !is_oldest(act)) {
		before = act;
		act = act->next;
	}
	if (!act || !before)
		return false;
	before->next = act->next;
	if (list->last == act)
		list->last = before;
	acts_put_first(list, act);
	return true;
}

void sends_go(struct bgdma_coll_group *g, uint32_t number)
{
	struct acts *sends = &g->partner[number].sends;
	struct act *act;

	/* What ends meanwhile may add to the list, or drop all of it. */
	while ((act = sends->first)) {
		(void)acts_take(sends);
		if (send_try(act))
			continue;
		acts_put_first(sends, act);
		if (!oldest_forward(sends))
			return;
	}
}

void sends_pass(struct bgdma_coll_group *g)
{
	uint32_t i;

	for (i = 0; i < g->size; i++)
		if (g->partner[i].sends.first) {
			coll_late(g);
			return;
		}
}

/* ---- Beginning and end -------------------------------------------------- */

int pieces_create(struct bgdma_coll_group *g)
{
	uint32_t i, size = bgdma_endpoint_size(g->coll->ep);
	struct partner *partner = calloc(g->size, sizeof(*partner));

	g->place = calloc(size, sizeof(*g->place));
	if (!g->place || !partner) {
		free(partner);
		return -ENOMEM;
	}
	for (i = 0; i < size; i++)
		g->place[i] = BGDMA_STRANGER;
	for (i = 0; i < g->size; i++)
		g->place[g->member[i]] = i;
	/* With it the group is there for packets. */
	g->partner = partner;
	return 0;
}

static void partner_drop(struct bgdma_coll_group *g, struct partner *p)
{
	struct acts claimed = { 0 };
	struct early *e;

	while (p->sends.first)
		act_done(acts_take(&p->sends), -ECANCELED);
	while (p->recvs.first)
		act_done(acts_take(&p->recvs), -ECANCELED);
	if (p->into)
		acts_add(&claimed, p->into);
	p->into = NULL;
	p->arriving = NULL;
	p->to = NULL;
	while ((e = p->early)) {
		if (e->claimed)
			acts_add(&claimed, e->claimed);
		early_take(g, p, e);
		early_end(g->coll, e);
	}
	while (claimed.first)
		act_done(acts_take(&claimed), -ECANCELED);
}

void pieces_drop(struct bgdma_coll_group *g)
{
	uint32_t i;

	for (i = 0; i < g->size; i++)
		partner_drop(g, &g->partner[i]);
}

void pieces_free(struct bgdma_coll_group *g)
{
	struct early *e;
	uint32_t i;

	for (i = 0; g->partner && i < g->size; i++) {
		while ((e = g->partner[i].early)) {
			g->partner[i].early = e->next;
			free(e);
		}
	}
	free(g->partner);
	free(g->place);
}
