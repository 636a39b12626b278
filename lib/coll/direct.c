// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Short all-reduces of few members: each puts what it has into a box at each other,
 * where a counter counts what has landed, and each makes the result itself.
 *
 * Two boxes for each member are enough, and a counter for each of the two. Who puts
 * for turn k + 2 has left turn k + 1, which needs our put of that, which we send when
 * we have made the result of turn k. One counter as of a barrier would not do: who is
 * fast puts for turn k + 1 when the slowest has put for k at him, and not yet here;
 * then as many have landed as there are others, and all have begun, but one is
 * missing.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "collective.h"

/* What lies in a box. @word: of the request, as its messages have it. */
struct box {
	__le64 word;
	uint64_t resv;
	char bytes[DIRECT_BYTES] __attribute__((aligned(16)));
};

#define BOXES_OF(number)	((number) * 2 * sizeof(struct box))

static uint64_t box_at(uint32_t number, uint32_t turn)
{
	return BOXES_OF(number) + turn % 2 * sizeof(struct box);
}

static struct box *box_of(const struct bgdma_coll_group *g, uint32_t number)
{
	char *boxes = bgdma_region_addr(g->direct.boxes);

	/* The turn that is under way. */
	return (struct box *)(void *)(boxes + box_at(number,
						     g->direct.turns - 1));
}

static bool has_word(const struct box *box, const struct act *act)
{
	return __le64_to_cpu(box->word) == act->request->word;
}

/* Of the same. */
static struct bgdma_counter *landed_of(const struct direct *d)
{
	return d->landed[(d->turns - 1) % 2];
}

static bool is_landed(const struct direct *d)
{
	return d->done || bgdma_counter_hit(landed_of(d));
}

/* ---- Making it, and its end --------------------------------------------- */

void direct_objects(struct bgdma_coll_group *g, struct card *own)
{
	struct bgdma_ctx *ctx = bgdma_endpoint_ctx(g->coll->ep);
	struct direct *d = &g->direct;
	unsigned int i;
	int ret;

	ret = bgdma_region_alloc(ctx, BOXES_OF(DIRECT_MEMBERS),
				 BGDMA_LOCAL_READ | BGDMA_LOCAL_WRITE, &d->boxes);
	if (!ret)
		ret = bgdma_counter_alloc_many(ctx, BGDMA_RECEPTION, 2,
					       BGDMA_COUNTER_NO_UNDERFLOW,
					       d->landed);
	if (ret) {
		direct_end(g);
		return;
	}
	own->boxes = bgdma_region_handle(d->boxes);
	for (i = 0; i < 2; i++) {
		bgdma_counter_enable(d->landed[i], true);
		own->landed[i] = bgdma_counter_handle(d->landed[i]);
	}
}

static void descs_make(struct bgdma_coll_group *g, const struct card *cards)
{
	uint32_t i, turn, at = 0;

	for (i = 0; i < g->size; i++) {
		const struct card *card = &cards[g->member[i]];
		const struct bgdma_peer *peer = peer_of(g, i);
		struct bgdma_transfer t = bgdma__no_transfer();

		if (i == g->rank)
			continue;
		t.dest = peer->node;
		t.dest_ctx = peer->ctx;
		t.from.region = bgdma_region_handle(g->direct.boxes);
		t.to.region = card->boxes;
		t.flags = BGDMA_DESC_OPS;
		for (turn = 0; turn < 2; turn++) {
			t.from.offset = box_at(g->rank, turn);
			t.to.offset = t.from.offset;
			t.remote_counter = card->landed[turn];
			bgdma_desc_put(&g->direct.desc[turn][at], &t);
		}
		at++;
	}
}

static int member_grant(struct bgdma_coll_group *g, uint32_t number)
{
	const struct bgdma_peer *peer = peer_of(g, number);
	struct bgdma_grant_attr to = {
		.rank = peer->node, .ctx = peer->ctx,
		.incarnation = peer->incarnation,
	};
	int ret;

	ret = bgdma_counter_grant(g->direct.landed[0], 1, &to, NULL);
	if (!ret)
		ret = bgdma_counter_grant(g->direct.landed[1], 1, &to, NULL);
	to.rights = BGDMA_RIGHT_WRITE;
	to.lo = BOXES_OF(number);
	to.hi = BOXES_OF(number + 1);
	return ret ? ret : bgdma_region_grant(g->direct.boxes, &to, NULL);
}

int direct_build(struct bgdma_coll_group *g, const struct card *cards)
{
	uint32_t i;
	int ret = 0;

	for (i = 0; i < g->size; i++)
		if (!cards[g->member[i]].boxes)
			break;
	/* What is of no use others may have. */
	if (g->size < 2 || g->size > DIRECT_MEMBERS || i < g->size) {
		direct_end(g);
		return 0;
	}
	for (i = 0; !ret && i < g->size; i++)
		if (i != g->rank)
			ret = member_grant(g, i);
	descs_make(g, cards);
	g->direct.usable = !ret;
	return ret;
}

void direct_end(struct bgdma_coll_group *g)
{
	struct direct *d = &g->direct;

	(void)bgdma_counter_free(d->landed[0]);
	(void)bgdma_counter_free(d->landed[1]);
	(void)bgdma_region_free(d->boxes);
	memset(d, 0, sizeof(*d));
}

/* ---- One after the other ------------------------------------------------- */

/*
 * Whether there is room for the next turn, and its box is not to be read any more: it is
 * for as long as what was put from it has not landed.
 */
static bool can_put(const struct bgdma_coll_group *g)
{
	const struct direct *d = &g->direct;
	struct bgdma_inj_fifo *fifo = g->coll->fifo;

	return bgdma_inj_done(fifo) >= d->sent[d->turns % 2].next &&
	       bgdma_inj_space(fifo) >= g->size - 1;
}

static void boxes_put(struct bgdma_coll_group *g, uint32_t bytes)
{
	struct bgdma_desc *desc = g->direct.desc[(g->direct.turns - 1) % 2];
	uint32_t i, count = g->size - 1;

	for (i = 0; i < count; i++)
		desc[i].length = __cpu_to_le32(bytes);
	/* What is in the ring is put, even if nobody could ring for it. */
	(void)bgdma_inject_many(g->coll->fifo, desc, (int)count);
}

static void act_put(struct bgdma_coll_group *g, struct act *act)
{
	struct direct *d = &g->direct;
	struct span *sent = &d->sent[d->turns++ % 2];
	struct bgdma_counter *landed = landed_of(d);
	struct box *own = box_of(g, g->rank);

	own->word = __cpu_to_le64(act->request->word);
	if (act->bytes)
		memcpy(own->bytes, act->from, act->bytes);
	/* In this order: a bit that is set afterwards is of this turn (BA-4). */
	bgdma_counter_clear_hit(landed);
	d->done = bgdma_counter_add(landed, g->size - 1) <= 0;
	sent->first = bgdma_inj_next(g->coll->fifo);
	sent->next = sent->first + g->size - 1;
	boxes_put(g, (uint32_t)(offsetof(struct box, bytes) + act->bytes));
}

bool direct_is(const struct bgdma_coll_group *g, uint64_t word)
{
	const struct act *act = g->direct.act;

	return act && !((act->request->word ^ word) >> CHECK_BITS);
}

/* Somebody who has stopped owes us his part: -EIO; or means another: -EBADMSG. */
static int is_owed(const struct bgdma_coll_group *g)
{
	const struct early *e;
	uint32_t i;

	for (i = 0; i < g->size; i++) {
		for (e = g->partner[i].early; e; e = e->next)
			if (direct_is(g, e->word))
				return -EBADMSG;
		if (g->partner[i].stopped && direct_misses(g, i))
			return -EIO;
	}
	return 0;
}

void direct_next(struct bgdma_coll_group *g)
{
	struct bgdma_coll_request *r = request_oldest(g, ACT_DIRECT);
	struct direct *d = &g->direct;
	int ret;

	if (d->act || !r || !r->waiting || g->stopped)
		return;
	/* What other groups have put for somebody who cannot be reached stands before it. */
	if (bgdma_unlikely(!can_put(g))) {
		coll_late(g);
		return;
	}
	d->act = r->waiting;
	r->waiting = NULL;
	act_put(g, d->act);
	ret = is_owed(g);
	if (bgdma_unlikely(ret))
		coll_stop(g, ret);
	else if (d->done)
		(void)direct_work(g);
}

void act_direct(struct act *act)
{
	act->request->waiting = act;
	direct_next(act->request->group);
}

/* ---- Its end -------------------------------------------------------------- */

/* Elements of members with lower numbers come first. */
static int result_make(const struct bgdma_coll_group *g, const struct act *act)
{
	uint64_t count = act->bytes / operator_bytes(act->op);
	uint32_t i = g->size;

	while (i--)
		if (!has_word(box_of(g, i), act))
			return -EBADMSG;
	if (!count)
		return 0;
	memcpy(act->to, box_of(g, g->size - 1)->bytes, act->bytes);
	for (i = g->size - 1; i--;)
		group_combine(g, act->op, box_of(g, i)->bytes, act->to, count);
	return 0;
}

int direct_work(struct bgdma_coll_group *g)
{
	struct direct *d = &g->direct;
	struct act *act = d->act;
	struct bgdma_counter *landed = landed_of(d);
	/* Before the error, which comes first: as in engines_work(). */
	bool over = is_landed(d);
	int ret;

	if (bgdma_unlikely(bgdma_counter_failed(landed))) {
		/* It stays so, and would wake whoever sleeps again and again. */
		bgdma_counter_enable(landed, false);
		/* Before others are told, who ask whether it is under way. */
		d->act = NULL;
		ret = counter_failure(g, landed);
	} else if (over) {
		/* Before the application's own function is called, which may look. */
		d->act = NULL;
		ret = result_make(g, act);
	} else {
		return 0;
	}
	/* Nobody is woken for it again. */
	bgdma_counter_clear_hit(landed);
	act_done(act, ret);
	direct_next(g);
	return 1;
}

bool direct_misses(const struct bgdma_coll_group *g, uint32_t number)
{
	const struct direct *d = &g->direct;

	return d->act && !is_landed(d) &&
	       !has_word(box_of(g, number), d->act);
}

void direct_break(struct bgdma_coll_group *g)
{
	struct direct *d = &g->direct;
	struct bgdma_coll_request *r, *next;
	struct act *act = d->act;
	unsigned int i;

	/* Nobody looks at what lands from now on. */
	for (i = 0; d->usable && i < 2; i++)
		bgdma_counter_enable(d->landed[i], false);
	d->act = NULL;
	if (act)
		act_done(act, -EIO);
	for (r = g->requests; r; r = next) {
		next = r->next;
		act = r->ordered == ACT_DIRECT ? r->waiting : NULL;
		if (!act)
			continue;
		r->waiting = NULL;
		act_done(act, -EIO);
	}
}

bool direct_landed(const struct bgdma_coll_group *g)
{
	uint64_t done = bgdma_inj_done(g->coll->fifo);

	return done >= g->direct.sent[0].next && done >= g->direct.sent[1].next;
}
