// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The barrier itself (BA-2, BA-4): clear the bit, add, tell the others; over when
 * the own add reached zero, or the bit is set.
 */
#include <errno.h>

#include "internal.h"

/* ---- Entering ---------------------------------------------------------- */

static int step_tell(struct bgdma_coll_group *g, const struct step *step)
{
	struct bgdma_inj_fifo *fifo = g->coll->fifo;
	uint64_t first = bgdma_inj_next(fifo);
	uint32_t i = 0;
	int ret;

	g->told_by = (struct span){ first, first + step->count };
	while (i < step->count) {
		ret = bgdma_inject_many(fifo, &g->desc[step->first + i],
					(int)(step->count - i));
		/* What is in the ring is told, even if nobody could ring for it. */
		i = (uint32_t)(bgdma_inj_next(fifo) - first);
		if (ret == -EAGAIN)
			ret = bgdma_inj_wait(fifo, bgdma_inj_next(fifo),
					     BGDMA_SPIN_THEN_SLEEP, -1);
		/* Half a barrier cannot be entered: no signal ends this. */
		if (ret < 0 && ret != -EINTR) {
			if (!bgdma_inj_error(fifo, NULL))
				return ret;
			fifo_failed(g->coll);
			ret = step_failure(g, step, g->told + 1);
			if (ret)
				return ret;
		}
	}
	return 0;
}

/* In this order: a bit that is set afterwards is of this use of the counter. */
static int step_enter(struct bgdma_coll_group *g)
{
	struct step *step = &g->step[g->at];
	int ret;

	bgdma_counter_clear_hit(step->counter);
	step->done = bgdma_counter_add(step->counter, step->others) <= 0;
	if (has_replies(g))
		g->replies += step->others;
	ret = step_tell(g, step);
	if (bgdma_likely(!ret))
		g->told++;
	else if (!g->error && ret != -EHOSTDOWN)
		g->error = ret;
	return ret;
}

int bgdma_coll_enter(struct bgdma_coll_group *g)
{
	int ret;

	bgdma_endpoint_lock(g->coll->ep);
	ret = g->entered ? -EBUSY : group_failure(g);
	if (!ret) {
		g->at = 0;
		g->entered = true;
		if (g->steps)
			ret = step_enter(g);
		if (ret)
			g->entered = false;
	}
	if (bgdma_unlikely(ret && ret != -EBUSY))
		group_give_up(g);
	bgdma_endpoint_unlock(g->coll->ep);
	return bgdma_likely(!ret) ? 0 : group_over(g, ret);
}

/* ---- Leaving ----------------------------------------------------------- */

/*
 * From axis to axis, as far as it goes: -EAGAIN: not over yet. The counter is
 * asked first, and then whether somebody of this line is missing: who has left a
 * barrier that is over may be gone by now, while others are on their way.
 */
static int barrier_look(struct bgdma_coll_group *g)
{
	int ret = 0;

	if (!g->entered) {
		ret = group_failure(g);
		return ret ? ret : -EINVAL;
	}
	while (!ret && g->at < g->steps) {
		struct step *step = &g->step[g->at];

		if (!step->done && !bgdma_counter_hit(step->counter)) {
			if (bgdma_likely(!group_failure(g)))
				return -EAGAIN;
			ret = step_failure(g, step, g->told);
			if (!ret)
				return -EAGAIN;
			break;
		}
		/* Nobody is woken for it again. */
		bgdma_counter_clear_hit(step->counter);
		g->at++;
		if (g->at < g->steps)
			ret = step_enter(g);
	}
	g->entered = false;
	if (bgdma_unlikely(ret || group_failure(g)))
		group_give_up(g);
	return ret;
}

/* Who saw the end took the bit away that would have others look, too. */
static void others_wake(const struct bgdma_coll_group *g)
{
	if (bgdma_unlikely(g->waiting))
		bgdma_endpoint_wake(g->coll->ep);
}

int bgdma_coll_test(struct bgdma_coll_group *g)
{
	int ret;

	bgdma_endpoint_lock(g->coll->ep);
	/* Another thread may wait for what has ended here. */
	if (coll_work(g->coll) > 0)
		bgdma_endpoint_wake(g->coll->ep);
	ret = barrier_look(g);
	if (ret != -EAGAIN)
		others_wake(g);
	bgdma_endpoint_unlock(g->coll->ep);
	return bgdma_likely(!ret || ret == -EAGAIN) ? ret : group_over(g, ret);
}

struct wait {
	struct bgdma_coll_group *group;
	int result;
};

static bool barrier_over(void *arg)
{
	struct wait *w = arg;

	w->result = barrier_look(w->group);
	return w->result != -EAGAIN;
}

/* The hit of a counter is an interrupt while somebody waits for it. */
static void interrupts(struct bgdma_coll_group *g, bool on)
{
	uint32_t i;

	for (i = 0; i < g->steps; i++)
		bgdma_counter_enable(g->step[i].counter, on);
}

int bgdma_coll_wait(struct bgdma_coll_group *g, enum bgdma_wait_mode mode,
		    int64_t timeout_ns)
{
	struct bgdma_endpoint *ep = g->coll->ep;
	struct wait w = { .group = g };
	int ret;

	bgdma_endpoint_lock(ep);
	if (barrier_over(&w)) {
		others_wake(g);
		bgdma_endpoint_unlock(ep);
		return bgdma_likely(!w.result) ? 0 : group_over(g, w.result);
	}
	if (!g->waiting++)
		interrupts(g, true);
	bgdma_endpoint_unlock(ep);
	ret = bgdma_endpoint_wait_until(ep, barrier_over, &w, mode, timeout_ns);
	bgdma_endpoint_lock(ep);
	if (!--g->waiting)
		interrupts(g, false);
	if (!ret)
		others_wake(g);
	bgdma_endpoint_unlock(ep);
	if (ret)
		return ret;
	return bgdma_likely(!w.result) ? 0 : group_over(g, w.result);
}

/* ---- The end of a group ------------------------------------------------ */

static bool replies_there(void *arg)
{
	const struct bgdma_coll_group *g = arg;

	return group_failure(g) ||
	       bgdma_counter_read(g->sink) <= -g->replies;
}

/* Has it stopped at something that is of others? Then it goes on. */
static bool sent_again(struct bgdma_coll_group *g)
{
	bool again = false;

	bgdma_endpoint_lock(g->coll->ep);
	if (bgdma_inj_error(g->coll->fifo, NULL)) {
		fifo_failed(g->coll);
		again = !group_failure(g);
	}
	bgdma_endpoint_unlock(g->coll->ep);
	return again;
}

/* Whatever signals come, and whatever of other groups has failed. */
static int sent_wait(struct bgdma_coll_group *g)
{
	int64_t end = coll_now_ns() + FLUSH_NS, left = FLUSH_NS;
	struct bgdma_inj_fifo *fifo = g->coll->fifo;
	bool again;
	int ret;

	do {
		ret = bgdma_inj_wait(fifo, bgdma_inj_next(fifo),
				     BGDMA_SPIN_THEN_SLEEP, left);
		again = ret == -EINTR || (ret && sent_again(g));
		left = end - coll_now_ns();
	} while (again && left > 0);
	return ret;
}

/* Others still read what we sent last, and answer. */
bool barrier_flush(struct bgdma_coll_group *g)
{
	int sent, replied;

	if (!g->steps || group_failure(g))
		return !g->steps;
	sent = sent_wait(g);
	replied = bgdma_endpoint_wait_until(g->coll->ep, replies_there, g,
					    BGDMA_SPIN, FLUSH_NS);
	return !sent && !replied && !group_failure(g);
}
