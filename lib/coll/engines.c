// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Collectives that the engines carry out. A group that was split for it has a class of
 * the combining network. There all members take part in the same order, so one request
 * has it until it is over, and the oldest is next: they begin in the same order at all.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <bgdma/sum.h>

#include "collective.h"

#define ENTRIES		16U
#define WINDOW		16U

/* ---- Making it, and its end --------------------------------------------- */

void engines_none(struct bgdma_coll_group *g)
{
	g->engines.number = BGDMA_CLASSES_MAX;
}

/* The lowest that all members have free: all of them find the same. */
static int class_take(struct bgdma_coll_group *g, const struct card *cards)
{
	uint32_t taken = 0, i;

	for (i = 0; i < g->size; i++)
		taken |= cards[g->member[i]].classes;
	for (i = 0; i < BGDMA_CLASSES_MAX; i++) {
		if (taken & 1U << i)
			continue;
		bgdma_endpoint_lock(g->coll->ep);
		g->coll->classes |= 1U << i;
		bgdma_endpoint_unlock(g->coll->ep);
		g->engines.number = i;
		return 0;
	}
	return -ENOSPC;
}

static int engines_objects(struct engines *e, struct bgdma_ctx *ctx)
{
	const struct bgdma_inj_attr inj = { .entries = ENTRIES };
	int ret;

	ret = bgdma_inj_create(ctx, &inj, &e->fifo);
	if (!ret)
		ret = bgdma_region_alloc(ctx, 2 * (uint64_t)STAGE_BYTES,
					 BGDMA_LOCAL_READ | BGDMA_LOCAL_WRITE,
					 &e->stage);
	if (!ret)
		ret = bgdma_counter_alloc_many(ctx, BGDMA_RECEPTION, 1,
					       BGDMA_COUNTER_NO_UNDERFLOW,
					       &e->ended);
	if (!ret)
		bgdma_counter_enable(e->ended, true);
	return ret;
}

/* By their places: what goes along the tree crosses few links. */
static void members_place(const struct bgdma_coll_group *g,
			  const uint32_t *order,
			  struct bgdma_group_member *members, uint32_t *own)
{
	uint32_t i;

	for (i = 0; i < g->size; i++) {
		const struct bgdma_peer *peer = peer_of(g, order[i]);

		members[i].rank = peer->node;
		members[i].ctx = peer->ctx;
		members[i].incarnation = peer->incarnation;
		if (order[i] == g->rank)
			*own = i;
	}
}

static int class_bind(struct bgdma_coll_group *g)
{
	struct bgdma_group_member *members = calloc(g->size, sizeof(*members));
	uint32_t *order = calloc(g->size, sizeof(*order));
	struct bgdma_class_attr attr = {
		.number = g->engines.number, .instance = g->serial + 1,
		.members = members, .member_count = g->size,
		.window = WINDOW,
	};
	int ret = -ENOMEM;

	if (members && order)
		ret = tree_places(g, order);
	if (!ret) {
		members_place(g, order, members, &attr.rank);
		ret = bgdma_class_bind(bgdma_endpoint_ctx(g->coll->ep), &attr);
	}
	free(order);
	free(members);
	return ret;
}

int engines_build(struct bgdma_coll_group *g, const struct card *cards)
{
	int ret = class_take(g, cards);

	if (!ret)
		ret = engines_objects(&g->engines,
				      bgdma_endpoint_ctx(g->coll->ep));
	return ret ? ret : class_bind(g);
}

/* The neighbours hear of it first, unless they do not for a second. */
static bool class_unbind(struct bgdma_coll_group *g, unsigned int flags)
{
	struct bgdma_ctx *ctx = bgdma_endpoint_ctx(g->coll->ep);
	const struct timespec pause = { .tv_nsec = 100000 };
	int64_t end = coll_now_ns() + FLUSH_NS;
	int ret;

	while ((ret = bgdma_class_unbind(ctx, g->engines.number, flags)) ==
	       -EBUSY) {
		flags = 0;
		if (coll_now_ns() > end)
			return false;
		nanosleep(&pause, NULL);
	}
	return !ret || ret == -ENOENT;
}

static void regions_put(struct engines *e)
{
	(void)bgdma_region_free(e->from);
	(void)bgdma_region_free(e->to);
	e->from = NULL;
	e->to = NULL;
}

void engines_end(struct bgdma_coll_group *g)
{
	struct engines *e = &g->engines;
	bool broken;

	if (e->number == BGDMA_CLASSES_MAX)
		return;
	bgdma_endpoint_lock(g->coll->ep);
	broken = e->act || g->stopped || group_failure(g);
	bgdma_endpoint_unlock(g->coll->ep);
	/* Its number stays taken where something of it may still come. */
	if (class_unbind(g, broken ? BGDMA_CLASS_BREAK : 0)) {
		bgdma_endpoint_lock(g->coll->ep);
		g->coll->classes &= ~(1U << e->number);
		bgdma_endpoint_unlock(g->coll->ep);
	}
	bgdma_inj_destroy(e->fifo);
	(void)bgdma_counter_free(e->ended);
	(void)bgdma_region_free(e->stage);
	regions_put(e);
	memset(e, 0, sizeof(*e));
	e->number = BGDMA_CLASSES_MAX;
}

void engines_break(struct bgdma_coll_group *g)
{
	struct bgdma_coll_request *r, *next;

	if (g->engines.number >= BGDMA_CLASSES_MAX)
		return;
	(void)bgdma_class_unbind(bgdma_endpoint_ctx(g->coll->ep),
				 g->engines.number, BGDMA_CLASS_BREAK);
	/* What is under way ends by its counter; those behind it have no turn. */
	for (r = g->requests; r; r = next) {
		struct act *act = r->waiting;

		next = r->next;
		r->waiting = NULL;
		if (act)
			act_done(act, -EIO);
	}
}

/* ---- Memory -------------------------------------------------------------- */

/*
 * Where the engine finds memory of the application's: short of it is staged, other is
 * registered, and what cannot be has a region beside it.
 */
static int place_make(struct bgdma_coll_group *g, void *memory, uint64_t bytes,
		      uint32_t rights, struct bgdma_region **made,
		      struct bgdma_place *place)
{
	struct bgdma_ctx *ctx = bgdma_endpoint_ctx(g->coll->ep);
	int ret;

	place->region = g->engines.stage;
	place->offset = rights & BGDMA_LOCAL_WRITE ? STAGE_BYTES : 0;
	if (bytes <= STAGE_BYTES)
		return 0;
	ret = bgdma_region_register(ctx, memory, bytes, rights, made);
	if (ret)
		ret = bgdma_region_alloc(ctx, bytes, BGDMA_LOCAL_READ |
					 BGDMA_LOCAL_WRITE, made);
	place->region = *made;
	place->offset = 0;
	return ret;
}

static void *place_addr(const struct bgdma_place *place)
{
	return (char *)bgdma_region_addr(place->region) + place->offset;
}

static int places_make(struct act *act, struct bgdma_tree_attr *attr)
{
	struct bgdma_coll_group *g = act->request->group;
	struct engines *e = &g->engines;
	/* It is read only. */
	void *from = (void *)(uintptr_t)act->from;
	int ret = 0;

	if (act->from)
		ret = place_make(g, from, act->bytes, BGDMA_LOCAL_READ,
				 &e->from, &attr->from);
	if (!ret && act->from && place_addr(&attr->from) != from)
		memcpy(place_addr(&attr->from), from, act->bytes);
	if (!ret && act->to)
		ret = place_make(g, act->to, act->bytes, BGDMA_LOCAL_WRITE,
				 &e->to, &attr->to);
	return ret;
}

/* ---- One after the other -------------------------------------------------- */

static int act_inject(struct act *act)
{
	struct bgdma_coll_group *g = act->request->group;
	struct engines *e = &g->engines;
	struct bgdma_tree_attr attr = {
		.number = e->number, .dispatch = act->dispatch,
		.length = act->bytes, .ended = e->ended,
		.flags = BGDMA_DESC_OPS,
	};
	int ret = act->bytes ? places_make(act, &attr) : 0;

	if (ret)
		return ret;
	bgdma_counter_clear_hit(e->ended);
	bgdma_counter_add(e->ended, 1);
	if (act->tree_op == BGDMA_OP_TREE_BCAST)
		return bgdma_tree_broadcast(e->fifo, &attr);
	if (act->tree_op == BGDMA_OP_TREE_REDUCE)
		return bgdma_tree_reduce(e->fifo, &attr);
	return bgdma_tree_allreduce(e->fifo, &attr);
}

void engines_next(struct bgdma_coll_group *g)
{
	struct engines *e = &g->engines;
	struct bgdma_coll_request *r = request_oldest(g, ACT_ENGINES);
	int ret;

	if (e->act || !r || !r->waiting || g->stopped)
		return;
	e->act = r->waiting;
	r->waiting = NULL;
	ret = act_inject(e->act);
	if (bgdma_unlikely(ret)) {
		struct act *act = e->act;

		e->act = NULL;
		regions_put(e);
		act_done(act, ret);
	}
}

void act_engines(struct act *act)
{
	act->request->waiting = act;
	engines_next(act->request->group);
}

static void result_take(struct act *act)
{
	const struct engines *e = &act->request->group->engines;
	const char *from = bgdma_region_addr(e->stage);

	if (!act->to || !act->bytes)
		return;
	from = act->bytes > STAGE_BYTES ? bgdma_region_addr(e->to) :
					  from + STAGE_BYTES;
	if (from != act->to)
		memcpy(act->to, from, act->bytes);
}

int engines_work(struct bgdma_coll_group *g)
{
	struct engines *e = &g->engines;
	/* Before the error, which comes first: what it takes off looks like the end. */
	bool over = bgdma_counter_read(e->ended) <= 0;
	struct act *act = e->act;
	int ret = 0;

	if (bgdma_unlikely(bgdma_counter_failed(e->ended))) {
		/* It stays so, and would wake whoever sleeps again and again. */
		bgdma_counter_enable(e->ended, false);
		ret = counter_failure(g, e->ended);
	} else if (!over) {
		return 0;
	}
	bgdma_counter_clear_hit(e->ended);
	if (!ret)
		result_take(act);
	regions_put(e);
	e->act = NULL;
	act_done(act, ret);
	engines_next(g);
	return 1;
}

void engines_forget(struct bgdma_coll_request *r)
{
	struct engines *e = &r->group->engines;
	struct act *act = e->act;

	if (!act || act->request != r)
		return;
	/* Nobody looks at it any more. */
	bgdma_counter_enable(e->ended, false);
	/* With its regions the engine leaves the caller's memory. */
	regions_put(e);
	e->act = NULL;
	act_done(act, -EIO);
}

/* ---- What they can do ------------------------------------------------------ */

static bool sum_dispatch(const struct bgdma_operator *op, uint16_t *dispatch)
{
	if (op->combine != bgdma_sum_f32_join && op->combine != bgdma_sum_f64_join)
		return false;
	*dispatch = BGDMA_TREE_COMBINE(BGDMA_TREE_ADD,
				       BGDMA_TREE_WIDE(op->bytes / sizeof(uint64_t)));
	return true;
}

bool engines_dispatch(const struct bgdma_operator *op, uint16_t *dispatch)
{
	static const int type[BGDMA_ELEMENT_COUNT] = {
		[BGDMA_U16] = BGDMA_TREE_U16 + 1,
		[BGDMA_S16] = BGDMA_TREE_S16 + 1,
		[BGDMA_U32] = BGDMA_TREE_U32 + 1,
		[BGDMA_S32] = BGDMA_TREE_S32 + 1,
		[BGDMA_U64] = BGDMA_TREE_U64 + 1,
		[BGDMA_S64] = BGDMA_TREE_S64 + 1,
		[BGDMA_U128] = BGDMA_TREE_U128 + 1,
		[BGDMA_S128] = BGDMA_TREE_S128 + 1,
	};
	static const int how[BGDMA_REDUCTION_COUNT] = {
		[BGDMA_SUM] = BGDMA_TREE_ADD + 1,
		[BGDMA_MIN] = BGDMA_TREE_MIN + 1,
		[BGDMA_MAX] = BGDMA_TREE_MAX + 1,
		[BGDMA_BAND] = BGDMA_TREE_AND + 1,
		[BGDMA_BOR] = BGDMA_TREE_OR + 1,
		[BGDMA_BXOR] = BGDMA_TREE_XOR + 1,
	};

	if (op->combine)
		return sum_dispatch(op, dispatch);
	if (!type[op->element] || !how[op->reduction])
		return false;
	*dispatch = (uint16_t)BGDMA_TREE_COMBINE(how[op->reduction] - 1,
						 type[op->element] - 1);
	return true;
}

/* ---- Lists ------------------------------------------------------------------ */

static const void *own_of(const struct bgdma_collective *what)
{
	return what->in ? what->in : what->out;
}

static void add_reduction(struct bgdma_coll_request *r, uint8_t op,
			  const void *from, void *to, uint64_t bytes)
{
	uint16_t dispatch = 0;

	(void)engines_dispatch(r->op, &dispatch);
	add_engines(r, op, dispatch, from, to, bytes);
}

void allreduce_engines(struct bgdma_coll_request *r,
		       const struct bgdma_collective *what,
		       const struct layout *in, const struct layout *out)
{
	(void)in;
	(void)out;
	add_reduction(r, BGDMA_OP_TREE_ALLREDUCE, own_of(what), what->out,
		      what->count * operator_bytes(r->op));
}

/* The root of the class is member 0, tree_places(): it passes on what is for another. */
void reduce_engines(struct bgdma_coll_request *r,
		    const struct bgdma_collective *what,
		    const struct layout *in, const struct layout *out)
{
	uint64_t bytes = what->count * operator_bytes(r->op);
	void *to = NULL;

	(void)in;
	(void)out;
	if (!r->group->rank)
		to = what->root ? request_memory(r, bytes) : what->out;
	add_reduction(r, BGDMA_OP_TREE_REDUCE, own_of(what), to, bytes);
	if (!what->root)
		return;
	add_round(r);
	if (!r->group->rank)
		add_send(r, what->root, to, bytes);
	if (r->group->rank == what->root)
		add_recv(r, 0, what->out, bytes);
}

void broadcast_engines(struct bgdma_coll_request *r,
		       const struct bgdma_collective *what,
		       const struct layout *in, const struct layout *out)
{
	uint32_t rank = r->group->rank;

	(void)in;
	(void)out;
	if (what->root) {
		if (rank == what->root)
			add_send(r, 0, what->out, what->bytes);
		if (!rank)
			add_recv(r, what->root, what->out, what->bytes);
		add_round(r);
	}
	add_engines(r, BGDMA_OP_TREE_BCAST, 0, rank ? NULL : what->out,
		    rank && rank != what->root ? what->out : NULL, what->bytes);
}
