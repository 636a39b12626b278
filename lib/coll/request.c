// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Collectives that are under way: round after round, wherever progress is made.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../attr.h"
#include "../forget.h"
#include "../inside.h"
#include "collective.h"

void request_free(struct bgdma_coll_request *r)
{
	struct memory *m;

	while ((m = r->memory)) {
		r->memory = m->next;
		free(m);
	}
	free(r->act);
	free(r);
}

struct bgdma_coll_request *request_oldest(const struct bgdma_coll_group *g,
					  enum act_kind ordered)
{
	struct bgdma_coll_request *r, *found = NULL;

	/* The newest is first. */
	for (r = g->requests; r; r = r->next)
		if (r->ordered == ordered)
			found = r;
	return found;
}

void group_combine(const struct bgdma_coll_group *g,
		   const struct bgdma_operator *op, const void *in, void *inout,
		   uint64_t count)
{
	bool inside = endpoint_inside(g->coll->ep, true);

	operator_combine(op, in, inout, count);
	(void)endpoint_inside(g->coll->ep, inside);
}

/* ---- Rounds ------------------------------------------------------------- */

/* What goes on then may call the application, which may free it as it is over. */
static void request_over(struct bgdma_coll_request *r)
{
	struct bgdma_coll_group *g = r->group;
	struct bgdma_coll_request **link = &g->requests;
	bool was_oldest = !r->next;
	enum act_kind ordered = r->ordered;

	if (r->over)
		return;
	while (*link != r)
		link = &(*link)->next;
	*link = r->next;
	r->over = true;
	if (bgdma_unlikely(r->abandoned))
		request_free(r);
	if (bgdma_unlikely(was_oldest && g->requests))
		sends_pass(g);
	if (ordered == ACT_ENGINES)
		engines_next(g);
	if (ordered == ACT_DIRECT)
		direct_next(g);
	coll_stop_idle(g);
}

static void act_begin(struct bgdma_coll_request *r, struct act *act)
{
	switch (act->kind) {
	case ACT_SEND:
		r->pending++;
		act_send(act);
		break;
	case ACT_RECV:
		r->pending++;
		act_recv(act);
		break;
	case ACT_COPY:
		memcpy(act->to, act->from, act->bytes);
		break;
	case ACT_COMBINE:
		group_combine(r->group, act->op, act->from, act->to, act->bytes);
		break;
	case ACT_CALL:
		act->call(act->to);
		break;
	case ACT_ENGINES:
		r->pending++;
		act_engines(act);
		break;
	case ACT_DIRECT:
		r->pending++;
		act_direct(act);
		break;
	case ACT_ROUND:
		break;
	}
}

/* What ends at once does not begin the next round from within this one. */
static void request_run(struct bgdma_coll_request *r)
{
	struct act *act;

	if (r->running)
		return;
	r->running = true;
	while (!r->result && !r->pending && r->at < r->count) {
		do {
			act = &r->act[r->at++];
			act_begin(r, act);
		} while (!r->result && act->kind != ACT_ROUND &&
			 r->at < r->count);
	}
	r->running = false;
	if (r->pending || (!r->result && r->at < r->count))
		return;
	/* It has all that it asked for: who sent more means another one. */
	if (bgdma_unlikely(!r->result && pieces_left(r->group, r->word)))
		coll_stop(r->group, -EBADMSG);
	request_over(r);
}

void act_done(struct act *act, int result)
{
	struct bgdma_coll_request *r = act->request;

	r->pending--;
	if (bgdma_unlikely(result && !r->result)) {
		/* Nobody refuses, or takes memory away, who has not stopped. */
		if (result == -ECANCELED || result == -ESTALE)
			result = -EIO;
		/* Who hears that we stop hears why. */
		if (result == -EHOSTDOWN &&
		    (act->kind == ACT_SEND || act->kind == ACT_RECV))
			group_misses(r->group, act->peer);
		coll_stop(r->group, result);
	}
	if (!r->pending)
		request_run(r);
}

/* ---- Beginning ---------------------------------------------------------- */

static int request_start(struct bgdma_coll_group *g,
			 const struct bgdma_collective *what,
			 struct bgdma_coll_request **request)
{
	struct bgdma_coll_request *r;
	int ret;

	ret = group_failure(g);
	if (ret)
		return ret;
	ret = collective_check(g, what);
	/* How many it has is each member's own business: the others may have begun. */
	if (ret == -EMSGSIZE && sum_overflows(g, what))
		coll_stop(g, ret);
	if (ret)
		return ret;
	r = calloc(1, sizeof(*r));
	if (r) {
		r->group = g;
		ret = collective_build(r, what);
	}
	if (!r || ret) {
		if (r)
			request_free(r);
		coll_stop(g, -ENOMEM);
		return -ENOMEM;
	}
	r->word = word_of(g) |
		  (uint64_t)(g->collectives++ & NUMBER_MASK) << CHECK_BITS |
		  collective_sum(g, what);
	r->next = g->requests;
	g->requests = r;
	*request = r;
	request_run(r);
	return 0;
}

int bgdma_coll_start_sized(struct bgdma_coll_group *g,
			   const struct bgdma_collective *what, size_t size,
			   struct bgdma_coll_request **request)
{
	struct bgdma_endpoint *ep = g->coll->ep;
	struct bgdma_collective w;
	int ret;

	ret = attr_copy(&w, sizeof(w), what, size);
	if (ret)
		return ret;
	*request = NULL;
	bgdma_endpoint_lock(ep);
	ret = request_start(g, &w, request);
	/* Who sleeps for progress does not know of what is to be tried again. */
	if (bgdma_unlikely(g->coll->late))
		bgdma_endpoint_wake(ep);
	bgdma_endpoint_unlock(ep);
	return bgdma_likely(!ret || ret == -EINVAL) ? ret : group_over(g, ret);
}

/* ---- The end ------------------------------------------------------------ */

static bool is_over(void *arg)
{
	const struct bgdma_coll_request *r = arg;
	struct bgdma_coll_group *g = r->group;

	/* What the engines count needs no other progress; others may wait for it. */
	if (!r->over && r->ordered == ACT_DIRECT && g->direct.act &&
	    direct_work(g))
		bgdma_endpoint_wake(g->coll->ep);
	return r->over;
}

static int request_end(struct bgdma_coll_request **request)
{
	struct bgdma_coll_group *g = (*request)->group;
	int ret = (*request)->result;

	request_free(*request);
	*request = NULL;
	return bgdma_likely(!ret) ? 0 : group_over(g, ret);
}

int bgdma_coll_request_test(struct bgdma_coll_request **request)
{
	struct bgdma_coll_request *r = *request;
	struct bgdma_endpoint *ep;
	bool over;
	int ret;

	if (!r)
		return 0;
	ep = r->group->coll->ep;
	ret = bgdma_endpoint_progress(ep, 0);
	bgdma_endpoint_lock(ep);
	over = r->over;
	bgdma_endpoint_unlock(ep);
	if (over)
		return request_end(request);
	return ret == -ENODEV ? ret : -EAGAIN;
}

int bgdma_coll_request_wait(struct bgdma_coll_request **request,
			    enum bgdma_wait_mode mode, int64_t timeout_ns)
{
	struct bgdma_coll_request *r = *request;
	int ret;

	if (!r)
		return 0;
	ret = bgdma_endpoint_wait_until(r->group->coll->ep, is_over, r, mode,
					timeout_ns);
	return ret ? ret : request_end(request);
}

/*
 * A call ends before the collective that it waits for, as the partition is gone: the
 * group is over here, and the memory is the caller's again. What ends later finds no
 * more to write to.
 */
static int request_abandon(struct bgdma_coll_request *r, int error)
{
	struct bgdma_coll_group *g = r->group;
	struct bgdma_endpoint *ep = g->coll->ep;
	uint32_t i;

	bgdma_endpoint_lock(ep);
	coll_stop(g, -EIO);
	engines_forget(r);
	for (i = 0; i < r->at; i++)
		if (r->act[i].moving)
			requests_forget(ep, &r->act[i]);
	r->abandoned = true;
	if (r->over)
		request_free(r);
	bgdma_endpoint_unlock(ep);
	return group_over(g, error);
}

static bool at_once(void *arg)
{
	(void)arg;
	return true;
}

int bgdma_coll_run_sized(struct bgdma_coll_group *g,
			 const struct bgdma_collective *what, size_t size)
{
	struct bgdma_coll_request *r = NULL;
	int ret;

	/* Nothing is begun where it could not be waited for. */
	ret = bgdma_endpoint_wait_until(g->coll->ep, at_once, NULL, BGDMA_SLEEP,
					0);
	if (!ret)
		ret = bgdma_coll_start_sized(g, what, size, &r);
	while (!ret && r) {
		ret = bgdma_coll_request_wait(&r, BGDMA_SPIN_THEN_SLEEP, -1);
		if (ret == -EINTR && r)
			ret = 0;
	}
	return bgdma_likely(!r) ? ret : request_abandon(r, ret);
}
