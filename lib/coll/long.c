// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Long messages between members: announced, and accepted when somebody asks for them.
 * Where there is no memory, region or token for one, as others have them, it waits.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collective.h"

/*
 * What one rendezvous takes another gives back: it is tried again, now and then, until
 * there is none. One that we have accepted ends whatever we do. But what we have
 * announced ends when the other accepts it, who may wait likewise: so to accept waits for
 * none of these, nor does what the oldest has to send for later ones.
 */
static bool short_of_room(const struct act *act, int error)
{
	const struct bgdma_coll_request *r = act->request;

	if (error != -ENOMEM && error != -ENOSPC && error != -ENOBUFS)
		return false;
	if (r->group->coll->accepted || act->kind == ACT_RECV)
		return r->group->coll->accepted;
	return is_oldest(act) ? r->moving : r->group->coll->moving;
}

static void long_done(void *arg, int result, uint64_t bytes)
{
	struct act *act = arg;

	/* The endpoint goes: release() sees to what is left, of whatever it was. */
	if (!bgdma_endpoint_peer(act->request->group->coll->ep, 0))
		return;
	act->moving = false;
	if (act->kind == ACT_SEND) {
		act->request->moving--;
		act->request->group->coll->moving--;
	} else {
		act->request->group->coll->accepted--;
	}
	if (!result && bytes != act->bytes)
		result = -EBADMSG;
	if (!result && act->kind == ACT_RECV && act->apart &&
	    !act->request->abandoned)
		memcpy(act->to, act->apart, act->bytes);
	act_done(act, result);
}

/*
 * Of memory that no engine may write, as of constants, and of files, where it is
 * registered a copy crosses: as it does of short messages.
 */
static int apart_make(struct act *act)
{
	act->apart = request_memory(act->request, act->bytes);
	if (!act->apart)
		return -ENOMEM;
	if (act->kind == ACT_SEND)
		memcpy(act->apart, act->from, act->bytes);
	return 0;
}

/* ---- What nobody takes -------------------------------------------------- */

/* Its sender waits to be told that nobody takes it. -EAGAIN: no memory for that yet. */
static int long_refuse(struct bgdma_coll *coll, const struct bgdma_rts *rts)
{
	int ret = bgdma_rendezvous_refuse(coll->ep, rts);

	if (ret != -ENOMEM)
		return 0;
	coll->refusing = true;
	return -EAGAIN;
}

void early_end(struct bgdma_coll *coll, struct early *e)
{
	if (!e->is_long || !long_refuse(coll, &e->rts)) {
		free(e);
		return;
	}
	e->next = coll->refusals;
	coll->refusals = e;
}

int refusals_work(struct bgdma_coll *coll)
{
	struct early *e;
	int n = 0;

	for (; (e = coll->refusals); n++) {
		if (long_refuse(coll, &e->rts))
			return n ? n : -ENOMEM;
		coll->refusals = e->next;
		free(e);
	}
	return n;
}

void refusals_free(struct bgdma_coll *coll)
{
	struct early *e;

	while ((e = coll->refusals)) {
		coll->refusals = e->next;
		free(e);
	}
}

/* ---- What comes --------------------------------------------------------- */

/* 0; -EAGAIN: there is no room yet; else it cannot be. */
static int long_accept(struct act *act, const struct bgdma_rts *rts)
{
	struct bgdma_coll_group *g = act->request->group;
	struct bgdma_accept_attr attr = {
		.length = act->bytes, .data = act->apart ? act->apart : act->to,
		.done = long_done, .arg = act, .id = &act->id,
	};
	int ret;

	ret = bgdma_rendezvous_accept(g->coll->ep, rts, &attr);
	if (ret == -EFAULT && !act->apart) {
		ret = apart_make(act);
		attr.data = act->apart;
		if (!ret)
			ret = bgdma_rendezvous_accept(g->coll->ep, rts, &attr);
	}
	if (ret)
		return short_of_room(act, ret) ? -EAGAIN : ret;
	act->moving = true;
	g->coll->accepted++;
	return 0;
}

static void early_try(struct bgdma_coll_group *g, struct partner *p,
		      struct early *e)
{
	struct act *act = e->claimed;
	int ret = long_accept(act, &e->rts);

	if (ret == -EAGAIN) {
		coll_late(g);
		return;
	}
	early_take(g, p, e);
	if (!ret) {
		free(e);
		return;
	}
	act_done(act, ret);
	early_end(g->coll, e);
}

void early_accept(struct bgdma_coll_group *g, struct partner *p,
		  struct early *e)
{
	credit_owe(g, e->claimed->peer, 0);
	early_try(g, p, e);
}

/* Where one cannot be accepted the group stops, and all of them are gone. */
static void accepts_try(struct bgdma_coll_group *g, bool oldest)
{
	struct early *e, *next;
	uint32_t i;

	for (i = 0; i < g->size; i++)
		for (e = g->partner[i].early; e && !g->stopped; e = next) {
			next = e->next;
			if (e->is_long && e->claimed &&
			    is_oldest(e->claimed) == oldest)
				early_try(g, &g->partner[i], e);
		}
}

void accepts_go(struct bgdma_coll_group *g)
{
	if (!g->earlies)
		return;
	accepts_try(g, true);
	accepts_try(g, false);
}

static struct early *long_keep(struct bgdma_coll_group *g, struct partner *p,
			       const struct bgdma_rts *rts, struct act *claimed)
{
	struct early *e = early_add(g, p, rts->word, rts->length, 0);

	if (!e)
		return NULL;
	e->is_long = true;
	e->whole = true;
	e->claimed = claimed;
	e->rts = *rts;
	return e;
}

/* An act waits for what was announced now: 0, or why that is to be refused. */
static int long_match(struct partner *p, struct act *act,
		      const struct bgdma_rts *rts)
{
	struct bgdma_coll_group *g = act->request->group;
	int ret = -EBADMSG;

	if (act->request->word == rts->word && act->bytes == rts->length) {
		credit_owe(g, act->peer, 0);
		ret = long_accept(act, rts);
	}
	if (ret == -EAGAIN) {
		coll_late(g);
		ret = long_keep(g, p, rts, act) ? 0 : -ENOMEM;
	}
	if (ret)
		act_done(act, ret);
	return ret;
}

static int long_look(struct bgdma_coll *coll, uint32_t rank,
		     const struct bgdma_packet *packet)
{
	struct bgdma_coll_group *g;
	struct bgdma_rts rts;
	struct partner *p;
	struct act *act;
	uint32_t number;
	int ret;

	if (bgdma_rts_read(&rts, rank, packet))
		return -EBADMSG;
	ret = partner_find(coll, rts.word, rank, &g, &number);
	if (ret) {
		if (long_refuse(coll, &rts))
			return -EAGAIN;
		return ret == -ENOENT ? 0 : ret;
	}
	/* Where it is refused below the group stops: offered again, it comes here. */
	p = &g->partner[number];
	if (!credit_held(g, p, 0)) {
		ret = nonsense(g);
		return long_refuse(coll, &rts) ? -EAGAIN : ret;
	}
	act = recv_find(p, rts.word);
	if (act)
		return long_match(p, act, &rts) ? long_refuse(coll, &rts) : 0;
	if (is_past(g, rts.word)) {
		ret = nonsense(g);
		return long_refuse(coll, &rts) ? -EAGAIN : ret;
	}
	if (long_keep(g, p, &rts, NULL))
		return 0;
	coll_stop(g, -ENOMEM);
	return long_refuse(coll, &rts);
}

int on_coll_long(void *arg, uint32_t rank, const struct bgdma_packet *packet)
{
	int ret = long_look(arg, rank, packet);

	if (ret != -EAGAIN)
		room_owe(arg, rank, 0);
	return ret;
}

/* ---- What goes ---------------------------------------------------------- */

static void sent_long(struct act *act)
{
	act->moving = true;
	act->request->moving++;
	act->request->group->coll->moving++;
}

int long_send(struct act *act)
{
	struct bgdma_coll_group *g = act->request->group;
	struct partner *p = &g->partner[act->peer];
	struct bgdma_rendezvous_attr attr = {
		.operation = g->coll->long_id, .dest = g->member[act->peer],
		.word = act->request->word, .length = act->bytes,
		.data = act->apart ? act->apart : (void *)(uintptr_t)act->from,
		.done = long_done, .arg = act, .id = &act->id,
	};
	int ret;

	if (!credit_take(g, p, 0, is_oldest(act)))
		return -EAGAIN;
	ret = bgdma_rendezvous_send(g->coll->ep, &attr);
	if (ret == -EFAULT && !act->apart) {
		ret = apart_make(act);
		attr.data = act->apart;
		if (!ret)
			ret = bgdma_rendezvous_send(g->coll->ep, &attr);
	}
	if (!ret) {
		sent_long(act);
		return 0;
	}
	credit_put(g, p, 0);
	if (short_of_room(act, ret))
		ret = -EAGAIN;
	if (ret == -EAGAIN)
		coll_late(g);
	return ret;
}
