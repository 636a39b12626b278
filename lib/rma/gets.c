// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Which gets have ended. They do so in any order, and a counter tells how many are
 * under way: those until now have ended when it is at zero. It may never be while
 * other threads go on. So when somebody waits, and there are later ones, another
 * counter counts from then on; the first comes to zero whatever they do. It is of
 * use again when it has.
 */
#include "internal.h"

int64_t gets_open(const struct bgdma_rma_epoch *e)
{
	int64_t open = bgdma_counter_read(e->get);

	return e->before ? open + bgdma_counter_read(e->before) : open;
}

struct bgdma_counter *gets_counter(const struct bgdma_rma_epoch *e,
				   unsigned int phase)
{
	return phase == e->phase ? e->get : e->before;
}

static int64_t drop(struct bgdma_counter *counter)
{
	int64_t left = counter ? bgdma_counter_read(counter) : 0;

	if (left > 0)
		bgdma_counter_add(counter, -left);
	return left > 0 ? left : 0;
}

int64_t gets_drop(struct bgdma_rma_epoch *e, uint64_t gets)
{
	int64_t lost = e->turn <= gets ? drop(e->before) : 0;

	return e->gets <= gets ? lost + drop(e->get) : lost;
}

/* None of the first counter is under way. Without another we wait for a gap. */
static void turn(struct bgdma_rma_epoch *e)
{
	struct bgdma_counter *counter = e->before;
	uint32_t handle = e->before_handle;

	if (!counter) {
		if (get_counter_create(e, &counter))
			return;
		handle = bgdma_counter_lease(counter, e->node, e->ctx);
		bgdma_counter_enable(counter, e->watchers);
	}
	e->before = e->get;
	e->before_handle = e->get_handle;
	e->get = counter;
	e->get_handle = handle;
	e->phase ^= 1;
	e->turn = e->gets;
}

static void look(struct bgdma_rma_epoch *e, uint64_t gets)
{
	if (e->before && bgdma_counter_read(e->before) > 0)
		return;
	if (bgdma_counter_read(e->get) <= 0) {
		e->gets_done = e->gets;
		return;
	}
	if (e->gets_done < e->turn)
		e->gets_done = e->turn;
	if (e->gets_done < gets && e->gets > gets)
		turn(e);
}

bool gets_done(struct bgdma_rma_epoch *e, uint64_t gets)
{
	if (e->gets_done < gets)
		look(e, gets);
	return e->gets_done >= gets;
}

static uint32_t fails(struct bgdma_rma_epoch *e)
{
	uint32_t code = epoch_counter_fails(e, e->get), before = BGDMA_OK;

	if (e->before)
		before = epoch_counter_fails(e, e->before);
	return before ? before : code;
}

/* None is on its way, and the gets' counters do not tell of all. */
static void doubt(struct bgdma_rma_epoch *e)
{
	uint32_t code = fails(e);

	if (code)
		gets_doubt(e->rma, e->target, ANY_QUEUE, code);
	(void)gets_ask(e->rma, true);
}

/*
 * The error comes first, then what a transfer had left is taken off: who sees nothing
 * left looks for it after that, however often it was not there before.
 */
static bool all_done(const struct gets_wait *w)
{
	if (!gets_done(w->epoch, w->gets))
		return false;
	(void)fails(w->epoch);
	return true;
}

/*
 * One that failed is off the counter; those behind it were dropped, or have begun and
 * come yet: a mark tells.
 */
bool gets_over(const struct gets_wait *w)
{
	struct bgdma_rma_epoch *e = w->epoch;

	if (bgdma_unlikely(e->serial != w->serial))
		return true;
	if (bgdma_likely(all_done(w)))
		return true;
	rma_channel_repair(e->ch);
	if (epoch_is_lost(e)) {
		e->gets_done = e->gets;
		return true;
	}
	if (!e->mark)
		doubt(e);
	/* A callback may have closed it. */
	return e->serial != w->serial;
}

bool gets_there(void *arg)
{
	const struct gets_wait *w = arg;
	struct bgdma_rma_epoch *e = w->epoch;

	if (bgdma_likely(gets_over(w)))
		return true;
	epoch_clear_hits(e);
	return all_done(w);
}
