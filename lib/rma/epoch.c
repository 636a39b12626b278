// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Epochs of this process at others: beginning, the closing stage, the end (EP-1
 * to EP-6). The target's engine grants and counts; what waits here waits for
 * one of the epoch's counters, which are leased to the target, so that its
 * death ends the wait.
 */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* ---- Errors ------------------------------------------------------------ */

void epoch_fail(struct bgdma_rma_epoch *e, uint32_t code)
{
	const struct bgdma_rma_trouble trouble = {
		.window = e->window, .rank = e->target, .epoch = e->id,
		.origin = true, .code = code, .put = e->puts,
	};
	const struct bgdma_record why = {
		.code = code, .peer_rank = e->node, .peer_ctx = e->ctx,
	};
	const struct rma_peer *peer = &e->rma->peer[e->target];

	/* Which wakes all who wait, and so is not for each look. */
	if (code_is_outage(code) && !peer->lost && !peer->down)
		(void)bgdma_endpoint_break(e->rma->ep, &why);
	if (e->code)
		return;
	e->code = code;
	rma_trouble(e->rma, &trouble);
}

/* Nobody is there in whose gate it would be. */
static bool is_over(const struct bgdma_rma_epoch *e)
{
	return e->code == BGDMA_E_PEER_DOWN || e->code == BGDMA_E_NO_PEER;
}

bool epoch_is_lost(struct bgdma_rma_epoch *e)
{
	uint32_t down = e->rma->peer[e->target].down;

	if (bgdma_unlikely(down))
		epoch_fail(e, down);
	return down || is_over(e);
}

uint32_t epoch_counter_fails(struct bgdma_rma_epoch *e,
			     const struct bgdma_counter *counter)
{
	struct bgdma_record record;
	int code;

	if (bgdma_likely(!bgdma_counter_failed(counter)))
		return BGDMA_OK;
	code = bgdma_counter_error(counter, &record);
	if (code == BGDMA_E_ABORTED && record.bound)
		code = (int)record.bound;
	epoch_fail(e, (uint32_t)code);
	return (uint32_t)code;
}

/* ---- Waiting ----------------------------------------------------------- */

/*
 * An old hit, of any counter that is watched, would keep whoever sleeps from
 * sleeping. If it was meant for another thread that one looks again.
 */
void epoch_clear_hits(struct bgdma_rma_epoch *e)
{
	bool hit = bgdma_counter_clear_hit(e->sync);

	hit |= bgdma_counter_clear_hit(e->get);
	if (e->before)
		hit |= bgdma_counter_clear_hit(e->before);
	if (hit)
		bgdma_endpoint_wake(e->rma->ep);
}

/*
 * The error comes first, then what a transfer had left is taken off: who sees nothing
 * left looks for it after that, however often it was not there before.
 */
static bool sync_is_over(struct bgdma_rma_epoch *e)
{
	if (bgdma_counter_read(e->sync) > 0)
		return false;
	(void)epoch_counter_fails(e, e->sync);
	return true;
}

static bool sync_there(void *arg)
{
	struct bgdma_rma_epoch *e = arg;

	if (bgdma_likely(sync_is_over(e)))
		return true;
	rma_channel_repair(e->ch);
	if (epoch_is_lost(e) || epoch_counter_fails(e, e->sync))
		return true;
	epoch_clear_hits(e);
	return sync_is_over(e);
}

/*
 * With the lock. Its hit is an interrupt only while somebody waits for it; as long
 * it is not used for another epoch.
 */
static void watch(struct bgdma_rma_epoch *e, bool on)
{
	if (on ? e->watchers++ : --e->watchers)
		return;
	bgdma_counter_enable(e->sync, on);
	bgdma_counter_enable(e->get, on);
	if (e->before)
		bgdma_counter_enable(e->before, on);
}

int epoch_wait(struct bgdma_rma_epoch *e, bool (*there)(void *arg), void *arg)
{
	bool is;
	int ret;

	rma_lock(e->rma);
	is = there(arg);
	if (bgdma_unlikely(!is))
		watch(e, true);
	rma_unlock(e->rma);
	if (bgdma_likely(is))
		return 0;
	ret = rma_wait(e->rma, there, arg);
	rma_lock(e->rma);
	watch(e, false);
	rma_unlock(e->rma);
	return ret;
}

/* ---- Making and keeping them ------------------------------------------- */

/* Whatever is left on a counter goes, and an error with it. */
static void counter_reset(struct bgdma_counter *counter)
{
	int64_t left;

	bgdma_counter_lease(counter, BGDMA_RANK_NOBODY, BGDMA_CTX_ANY);
	if (bgdma_counter_failed(counter))
		(void)bgdma_counter_clear_error(counter);
	left = bgdma_counter_read(counter);
	if (left)
		bgdma_counter_add(counter, -left);
	bgdma_counter_clear_hit(counter);
}

/* Its memory is kept: requests, and slots of the channel, may name it yet. */
static void epoch_spare(struct bgdma_rma_epoch *e)
{
	bgdma_counter_free(e->sync);
	bgdma_counter_free(e->get);
	bgdma_counter_free(e->before);
	e->sync = NULL;
	e->get = NULL;
	e->before = NULL;
	e->next = e->rma->spare;
	e->rma->spare = e;
}

static struct bgdma_rma_epoch *epoch_alloc(struct bgdma_rma *rma)
{
	struct bgdma_rma_epoch *e = rma->spare;

	if (e)
		rma->spare = e->next;
	else
		e = calloc(1, sizeof(*e));
	return e;
}

/* Of the kind of which it has most. */
static uint32_t counters_of(const struct bgdma_rma_epoch *e)
{
	return e->before ? 2 : 1;
}

/* One that was at this target, and that nobody waits for any more. */
static struct bgdma_rma_epoch *idle_take(struct bgdma_rma *rma, uint32_t target)
{
	struct bgdma_rma_epoch **link = &rma->peer[target].idle, *e;

	while ((e = *link) && e->watchers)
		link = &e->next;
	if (!e)
		return NULL;
	*link = e->next;
	rma->idle -= counters_of(e);
	return e;
}

/* Give the counters of an epoch that nobody uses back; @last: also of a target's last. */
static bool idle_free(struct bgdma_rma *rma, bool last)
{
	const struct bgdma_rma_epoch *idle;
	struct bgdma_rma_epoch *e;
	uint32_t i;

	for (i = 0; i < rma->size; i++) {
		idle = rma->peer[i].idle;
		if (!idle || (!last && !idle->next))
			continue;
		e = idle_take(rma, i);
		if (!e)
			continue;
		epoch_spare(e);
		return true;
	}
	return false;
}

/* False: there is none. */
static bool epoch_reclaim(struct bgdma_rma *rma)
{
	return idle_free(rma, false) || idle_free(rma, true);
}

int epoch_counter_alloc(struct bgdma_rma *rma, unsigned int kind,
			struct bgdma_counter **counter)
{
	int ret;

	do {
		ret = bgdma_counter_alloc(rma->ctx, kind, counter);
	} while (ret == -ENOSPC && epoch_reclaim(rma));
	return ret;
}

int get_counter_create(struct bgdma_rma_epoch *e,
		       struct bgdma_counter **counter)
{
	const struct bgdma_peer *at = bgdma_endpoint_peer(e->rma->ep,
							  e->target);
	const struct bgdma_grant_attr to = {
		.rank = at->node, .ctx = at->ctx,
		.incarnation = at->incarnation,
	};
	int ret;

	ret = epoch_counter_alloc(e->rma, BGDMA_RECEPTION, counter);
	if (ret)
		return ret;
	ret = bgdma_counter_grant(*counter, 1, &to, NULL);
	if (ret) {
		bgdma_counter_free(*counter);
		*counter = NULL;
	}
	return ret;
}

static int counters_create(struct bgdma_rma_epoch *e)
{
	int ret;

	ret = epoch_counter_alloc(e->rma, BGDMA_INJECTION, &e->sync);
	return ret ? ret : get_counter_create(e, &e->get);
}

static int epoch_new(struct bgdma_rma *rma, uint32_t target,
		     struct bgdma_rma_epoch **epoch)
{
	const struct bgdma_peer *at = bgdma_endpoint_peer(rma->ep, target);
	struct bgdma_rma_epoch *e = idle_take(rma, target);
	int ret;

	*epoch = e;
	if (e)
		return 0;
	e = epoch_alloc(rma);
	if (!e)
		return -ENOMEM;
	e->rma = rma;
	e->target = target;
	e->node = at->node;
	e->ctx = at->ctx;
	e->ch = rma->peer[target].ch;
	ret = counters_create(e);
	if (ret)
		epoch_spare(e);
	*epoch = e;
	return ret;
}

#define IDLE_MIN	32

/* Others want counters, too: as many are kept as one at each target has, or some. */
static bool idle_are_many(const struct bgdma_rma *rma)
{
	return rma->idle > (rma->size > IDLE_MIN ? rma->size : IDLE_MIN);
}

/* It is kept, for the next one at the same target, or another. */
static void epoch_idle(struct bgdma_rma_epoch *e)
{
	struct bgdma_rma_epoch **link = &e->window->open;
	struct bgdma_rma *rma = e->rma;

	while (*link != e)
		link = &(*link)->next;
	*link = e->next;
	e->window = NULL;
	e->serial++;
	counter_reset(e->sync);
	counter_reset(e->get);
	if (e->before)
		counter_reset(e->before);
	e->next = rma->peer[e->target].idle;
	rma->peer[e->target].idle = e;
	rma->idle += counters_of(e);
	/* What they wait for is complete with it. */
	if (e->watchers)
		bgdma_endpoint_wake(rma->ep);
	while (idle_are_many(rma) && epoch_reclaim(rma))
		;
}

static void epochs_free(struct bgdma_rma_epoch *e)
{
	struct bgdma_rma_epoch *next;

	for (; e; e = next) {
		next = e->next;
		free(e);
	}
}

void epochs_release(struct bgdma_rma *rma)
{
	uint32_t i;

	/* The counters have ended with the context. */
	for (i = 0; rma->peer && i < rma->size; i++)
		epochs_free(rma->peer[i].idle);
	epochs_free(rma->spare);
}

static void epoch_init(struct bgdma_rma_epoch *e, struct bgdma_window *window,
		       uint32_t id)
{
	const struct window_peer *peer = &window->peer[e->target];

	e->window = window;
	e->id = id;
	e->region = window->attr.dynamic ? 0 : peer->region;
	e->unit = peer->unit;
	e->length = peer->length;
	e->queue = peer->queue;
	e->closing = false;
	e->ending = false;
	e->acknowledged = false;
	e->doubted = false;
	e->mark = 0;
	e->mark_code = BGDMA_OK;
	e->code = BGDMA_OK;
	e->puts = 0;
	e->failed_seq = 0;
	e->gets = 0;
	e->gets_done = 0;
	e->turn = 0;
	bgdma_counter_lease(e->sync, e->node, e->ctx);
	e->get_handle = bgdma_counter_lease(e->get, e->node, e->ctx);
	if (e->before)
		e->before_handle = bgdma_counter_lease(e->before, e->node,
						       e->ctx);
	e->next = window->open;
	window->open = e;
}

/* ---- The gate ---------------------------------------------------------- */

static int gate_send(struct bgdma_rma_epoch *e, enum bgdma_op op, uint8_t flags,
		     uint64_t puts)
{
	struct bgdma_transfer t = bgdma__no_transfer();
	struct bgdma_desc *desc;
	int ret = rma_channel_room(e->ch);

	if (bgdma_likely(!ret))
		ret = rma_channel_take(e, SENT_GATE, 0, &desc);
	if (ret)
		return ret;
	t.dest = e->node;
	t.dest_ctx = e->ctx;
	t.to.region = e->window->peer[e->target].region;
	t.epoch = e->id;
	t.flags = flags;
	t.cookie = puts;
	if (op != BGDMA_OP_EPOCH_END) {
		t.counter = bgdma_counter_handle(e->sync);
		bgdma_counter_clear_hit(e->sync);
		bgdma_counter_add(e->sync, 1);
	}
	bgdma_desc_gate(desc, op, &t);
	return rma_channel_ring(e->ch);
}

static const struct bgdma_rma_epoch *
epoch_find(const struct bgdma_window *window, uint32_t id)
{
	const struct bgdma_rma_epoch *e = window->open;

	while (e && e->id != id)
		e = e->next;
	return e;
}

/* With our rank it is unique in the group (EP-1): at whatever window or target. */
static bool id_in_use(const struct bgdma_rma *rma, uint32_t id)
{
	const struct bgdma_window *window = rma->windows;

	/* MPI's have the same at all targets: see access_begin(). */
	if (id >= BGDMA_EPOCH_RESERVED)
		return false;
	while (window && !epoch_find(window, id))
		window = window->next;
	return window;
}

/* With the lock: ask for the limitation. */
static int epoch_ask(struct bgdma_window *window, uint32_t target, uint32_t id,
		     unsigned int flags, struct bgdma_rma_epoch **epoch)
{
	struct bgdma_rma *rma = window->rma;
	uint8_t how = 0;
	int ret;

	if (id_in_use(rma, id))
		return -EEXIST;
	if (rma->peer[target].down)
		return -EHOSTDOWN;
	ret = epoch_new(rma, target, epoch);
	if (ret)
		return ret;
	epoch_init(*epoch, window, id);
	if (flags & BGDMA_EPOCH_EXCLUSIVE)
		how |= BGDMA_DESC_EXCLUSIVE;
	if (!(flags & BGDMA_EPOCH_REFUSE))
		how |= BGDMA_DESC_HOLD;
	ret = gate_send(*epoch, BGDMA_OP_EPOCH_BEGIN, how, 0);
	if (ret)
		epoch_idle(*epoch);
	return ret;
}

/* Of one that was asked for and is waited for no more: it is at its target's gate. */
static bool is_granted(const struct bgdma_rma_epoch *e)
{
	return !is_over(e) && !bgdma_counter_failed(e->sync) &&
	       bgdma_counter_read(e->sync) <= 0;
}

int epoch_begin(struct bgdma_window *window, uint32_t target, uint32_t id,
		unsigned int flags, struct bgdma_rma_epoch **epoch)
{
	struct bgdma_rma *rma = window->rma;
	struct bgdma_rma_epoch *e = NULL;
	bool leaves;
	int ret;

	if (target >= rma->size ||
	    (flags & ~(BGDMA_EPOCH_EXCLUSIVE | BGDMA_EPOCH_REFUSE)))
		return -EINVAL;
	rma_lock(rma);
	ret = epoch_ask(window, target, id, flags, &e);
	rma_unlock(rma);
	if (ret)
		return ret;
	ret = epoch_wait(e, sync_there, e);
	rma_lock(rma);
	rma_channel_repair(e->ch);
	/* Nobody waits for it any more, or something else has failed meanwhile. */
	leaves = ret || (e->code && is_granted(e));
	if (!ret)
		ret = rma_errno(e->code);
	/* It gives its place at the gate up. */
	if (leaves)
		(void)gate_send(e, BGDMA_OP_EPOCH_END, 0, 0);
	if (ret)
		epoch_idle(e);
	rma_unlock(rma);
	if (!ret)
		*epoch = e;
	return ret;
}

int bgdma_epoch_begin(struct bgdma_window *window, uint32_t target, uint32_t id,
		      unsigned int flags, struct bgdma_rma_epoch **epoch)
{
	if (!id || id >= BGDMA_EPOCH_RESERVED)
		return -EINVAL;
	return epoch_begin(window, target, id, flags, epoch);
}

/* ---- Completion -------------------------------------------------------- */

int epoch_settle(const struct bgdma_rma_request *request, struct channel *ch)
{
	struct bgdma_rma_epoch *e = request->epoch;
	struct gets_wait w = {
		.epoch = e, .serial = request->serial, .gets = request->gets,
	};
	int ret = rma_channel_wait(e->rma, ch, request->seq);

	if (!ret && request->gets)
		ret = epoch_wait(e, gets_there, &w);
	if (ret)
		return ret;
	rma_lock(e->rma);
	if (e->serial == request->serial)
		ret = rma_errno(e->code);
	rma_unlock(e->rma);
	return ret;
}

int epoch_flush_begin(struct bgdma_rma_epoch *e, struct bgdma_rma_request *all,
		      struct channel **ch)
{
	*ch = e->ch;
	request_make(e, all, true);
	return rma_channel_submit(*ch);
}

/* What a FIFO has ended is visible at its target. */
int bgdma_epoch_flush(struct bgdma_rma_epoch *epoch)
{
	struct bgdma_rma_request all;
	struct channel *ch;
	int ret;

	rma_lock(epoch->rma);
	ret = epoch_flush_begin(epoch, &all, &ch);
	rma_unlock(epoch->rma);
	return ret ? ret : epoch_settle(&all, ch);
}

/* ---- The closing stage ------------------------------------------------- */

int bgdma_epoch_closing(struct bgdma_rma_epoch *epoch)
{
	int ret = -EALREADY;

	rma_lock(epoch->rma);
	if (!epoch->closing) {
		epoch->closing = true;
		ret = rma_channel_submit(epoch->ch);
	}
	rma_unlock(epoch->rma);
	return ret;
}

/*
 * The put counter is sent when this engine is through with the puts, and after the
 * gets, which a target that has acknowledged would refuse. An epoch that has an
 * error just ends: what did not fail is at the target by then, and of what failed
 * the target gets nothing that it could wait for.
 */
int epoch_close_begin(struct bgdma_rma_epoch *e)
{
	struct gets_wait w = { .epoch = e, .serial = e->serial };
	int ret = bgdma_epoch_closing(e);

	if (ret && ret != -EALREADY)
		return ret;
	ret = rma_channel_wait(e->rma, e->ch, e->seq);
	w.gets = e->gets;
	if (!ret)
		ret = epoch_wait(e, gets_there, &w);
	if (ret)
		return ret;
	rma_lock(e->rma);
	if (e->puts && !e->code && !epoch_is_lost(e)) {
		ret = gate_send(e, BGDMA_OP_EPOCH_CLOSE, 0, e->puts);
		e->acknowledged = !ret;
	}
	rma_unlock(e->rma);
	return ret;
}

int epoch_close_wait(struct bgdma_rma_epoch *e)
{
	return e->acknowledged ? epoch_wait(e, sync_there, e) : 0;
}

/* It is over here; at the target when its FIFO has ended @seq. */
int epoch_close_end(struct bgdma_rma_epoch *e, int result, uint64_t *seq)
{
	struct bgdma_rma *rma = e->rma;

	*seq = 0;
	rma_lock(rma);
	rma_channel_repair(e->ch);
	epoch_counter_fails(e, e->sync);
	epoch_counter_fails(e, e->get);
	if (e->before)
		epoch_counter_fails(e, e->before);
	if (!result)
		result = rma_errno(e->code);
	if (!is_over(e) && result != -ENODEV) {
		int ret = gate_send(e, BGDMA_OP_EPOCH_END, 0, 0);

		if (!result)
			result = ret;
		*seq = e->seq;
	}
	epoch_idle(e);
	rma_unlock(rma);
	return result;
}

/* One thread closes an epoch: not one of two, and not one that is closed. */
static bool close_claim(struct bgdma_rma_epoch *e)
{
	bool mine;

	rma_lock(e->rma);
	mine = e->window && !e->ending;
	e->ending = true;
	rma_unlock(e->rma);
	return mine;
}

int epoch_close(struct bgdma_rma_epoch *e)
{
	struct bgdma_rma *rma = e->rma;
	struct channel *ch = e->ch;
	uint64_t seq;
	int ret;

	if (!close_claim(e))
		return -EALREADY;
	ret = epoch_close_begin(e);
	if (!ret)
		ret = epoch_close_wait(e);
	ret = epoch_close_end(e, ret, &seq);
	/* Whom we tell of it may begin one at once, and be refused (EP-6). */
	(void)rma_channel_wait(rma, ch, seq);
	return ret;
}

int bgdma_epoch_close(struct bgdma_rma_epoch *epoch)
{
	/* That of a lock, fence or start ends with it. */
	return epoch->id < BGDMA_EPOCH_RESERVED ? epoch_close(epoch) : -EINVAL;
}

void bgdma_epoch_info_sized(struct bgdma_rma_epoch *epoch,
			    struct bgdma_epoch_info *info, size_t size)
{
	struct bgdma_epoch_info now;

	rma_lock(epoch->rma);
	now = (struct bgdma_epoch_info){
		.target = epoch->target, .id = epoch->id,
		.closing = epoch->closing, .code = epoch->code,
		.puts = epoch->puts, .gets = gets_open(epoch),
	};
	rma_unlock(epoch->rma);
	memset(info, 0, size);
	memcpy(info, &now, size < sizeof(now) ? size : sizeof(now));
}
