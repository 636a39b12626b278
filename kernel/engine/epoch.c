// SPDX-License-Identifier: GPL-2.0
/*
 * Epochs at a gate, and what they keep out of its region. An origin's BEGIN
 * waits in the gate's queue, so nobody's FIFO waits behind it; the limitation is
 * given in the order of the queue, and the origin's counter told. Whoever's
 * doing makes that possible does it: the end of an epoch, the last slice that
 * touched the region, a death. Transfers without an epoch have no place in the
 * queue; where some wait each exclusive epoch that ends lets in a slice of theirs.
 *
 * Every slice of a transfer goes in and out. An exclusive epoch gets the region
 * when no slice is inside, and none goes in while it waits for that, so nothing
 * of others moves after its origin has been told.
 *
 * The lock is a leaf. Answers and events are sent after it. An origin behind links
 * waits for its answers for ever, so whatever asks for one brings what that takes along
 * (bgdma_stream.promise): an answer that comes later has it from its epoch.
 */
#include "../bgdma.h"
#include "../trace.h"
#include "busy.h"
#include "deliver.h"
#include "epoch.h"

/* Limitations that are given by whoever makes room; a worker gives the rest. */
#define BGDMA_GRANTED_MAX	16
/* How long those who waited without an epoch have for a slice. */
#define BGDMA_TURN_MS		10

/* --------------------------------------------------------------------- */
/* Giving limitations                                                     */

/* Who waits first, if it can have its limitation now. */
static struct bgdma_gate_epoch *
bgdma_gate_first(struct bgdma_region_gate *gate)
{
	struct bgdma_gate_epoch *e;

	lockdep_assert_held(&gate->lock);
	e = list_first_entry_or_null(&gate->queue, struct bgdma_gate_epoch,
				     node);
	if (!e || gate->exclusive || gate->dead)
		return NULL;
	if (e->exclusive &&
	    (!list_empty(&gate->held) || gate->inside || gate->turn))
		return NULL;
	return e;
}

/* Let the first go on that waits: false if it cannot, or nobody does. */
static bool bgdma_gate_next(struct bgdma_region_gate *gate)
{
	struct bgdma_answer answer;
	struct bgdma_gate_epoch *e;
	struct bgdma_event event;

	spin_lock(&gate->lock);
	e = bgdma_gate_first(gate);
	if (!e) {
		spin_unlock(&gate->lock);
		return false;
	}
	list_move_tail(&e->node, &gate->held);
	gate->exclusive = e->exclusive;
	e->state = gate->ask ? BGDMA_EPOCH_ASKED : BGDMA_EPOCH_OPEN;
	trace_bgdma_epoch(gate, e, BGDMA_OK);
	if (gate->ask)
		bgdma_epoch_event(gate, e, e->state, BGDMA_OK, &event);
	else
		bgdma_epoch_answer(gate, e, BGDMA_OK, &answer);
	spin_unlock(&gate->lock);

	if (gate->ask)
		bgdma_event_post(gate->ctx, &event);
	else
		bgdma_gate_tell(gate, &answer);
	return true;
}

/* Who can have a limitation now? */
static void bgdma_gate_grant(struct bgdma_region_gate *gate)
{
	u32 n = 0;

	while (bgdma_gate_next(gate)) {
		if (++n < BGDMA_GRANTED_MAX)
			continue;
		mod_delayed_work(system_unbound_wq, &gate->work, 0);
		break;
	}
}

/**
 * bgdma_gate_go_on() - a limitation is gone: who goes on now?
 * @gate: which
 *
 * Context: inside a slice.
 */
void bgdma_gate_go_on(struct bgdma_region_gate *gate)
{
	bgdma_gate_grant(gate);
	bgdma_waiters_wake(&gate->waiters);
	if (READ_ONCE(gate->turn))
		queue_delayed_work(system_unbound_wq, &gate->work,
				   msecs_to_jiffies(BGDMA_TURN_MS));
}

/**
 * bgdma_gate_work() - give the limitations that could not be given at once
 * @work: of the gate
 *
 * They were too many, or somebody had a turn and did not take it.
 */
void bgdma_gate_work(struct work_struct *work)
{
	struct bgdma_region_gate *gate =
		container_of(to_delayed_work(work), struct bgdma_region_gate,
			     work);
	bool more;

	spin_lock(&gate->lock);
	WRITE_ONCE(gate->turn, false);
	spin_unlock(&gate->lock);
	do {
		bgdma_slice_begin();
		more = bgdma_gate_next(gate);
		bgdma_slice_end();
		cond_resched();
	} while (more);
}

/* --------------------------------------------------------------------- */
/* Transfers: in and out                                                  */

/* An epoch-less transfer: does somebody else's limitation keep it out? */
static bool bgdma_gate_closed(struct bgdma_region_gate *gate,
			      const struct bgdma_principal *who)
{
	const struct bgdma_gate_epoch *e;

	lockdep_assert_held(&gate->lock);
	e = list_first_entry_or_null(&gate->held, struct bgdma_gate_epoch,
				     node);
	if (e)
		return gate->exclusive && !bgdma_same(&e->who, who);
	/* One that waits for those inside to leave, or for who has his turn. */
	e = list_first_entry_or_null(&gate->queue, struct bgdma_gate_epoch,
				     node);
	return e && e->exclusive && !gate->turn;
}

/*
 * BGDMA_OK: it is in; BGDMA_E_EPOCH_HELD: later; another code: never. @event: for
 * the owner, if it has a type.
 */
static u32 bgdma_gate_try(struct bgdma_region_gate *gate,
			  const struct bgdma_principal *who, u32 epoch,
			  bool put, struct bgdma_event *event)
{
	struct bgdma_gate_epoch *e = NULL;
	u32 code = BGDMA_OK;

	spin_lock(&gate->lock);
	if (epoch)
		e = bgdma_epoch_find(gate, who, epoch);
	if (gate->dead) {
		code = BGDMA_E_REGION;
	} else if (!epoch) {
		if (bgdma_gate_closed(gate, who))
			code = BGDMA_E_EPOCH_HELD;
		else
			WRITE_ONCE(gate->turn, false);
	} else if (!e || e->state < BGDMA_EPOCH_OPEN) {
		code = BGDMA_E_EPOCH_CLOSED;
	} else if (e->state == BGDMA_EPOCH_CLOSED) {
		code = put ? BGDMA_E_EPOCH_COUNT : BGDMA_E_EPOCH_CLOSED;
		if (put)
			bgdma_epoch_event(gate, e, e->state, code, event);
	}
	if (!code)
		gate->inside++;
	spin_unlock(&gate->lock);
	return code;
}

/**
 * bgdma_gate_enter() - a slice of a transfer is about to touch a region
 * @region: held busy
 * @s: stream that the slice is of
 * @who: for whom
 * @epoch: that the transfer belongs to, or 0
 * @put: it writes
 * @in: out: for bgdma_gate_leave(), or NULL: nothing has to be left
 *
 * The region's owner goes in whatever holds it.
 *
 * Context: inside a slice.
 * Return: BGDMA_STEP_DONE: it is in; BGDMA_STEP_WAIT: the stream is parked; an
 * enum bgdma_code, with s->x.fault.
 */
int bgdma_gate_enter(const struct bgdma_region *region, struct bgdma_stream *s,
		     const struct bgdma_principal *who, u32 epoch, bool put,
		     struct bgdma_region_gate **in)
{
	/* Pairs with bgdma_gate_create(). */
	struct bgdma_region_gate *gate = smp_load_acquire(&region->gate);
	struct bgdma_event event = { };
	u32 code;

	*in = NULL;
	if (!gate)
		return epoch ? bgdma_fault(s, BGDMA_E_EPOCH_CLOSED, epoch, 0) :
			       BGDMA_STEP_DONE;
	if (!epoch && bgdma_same(who, &gate->ctx->who))
		return BGDMA_STEP_DONE;
	code = bgdma_gate_try(gate, who, epoch, put, &event);
	if (code == BGDMA_E_EPOCH_HELD && (s->x.desc.flags & BGDMA_DESC_HOLD)) {
		bgdma_stream_park(s, &gate->waiters, 0, BGDMA_KIND_REGION,
				  gate->handle);
		code = bgdma_gate_try(gate, who, epoch, put, &event);
		if (code == BGDMA_E_EPOCH_HELD)
			return BGDMA_STEP_WAIT;
		bgdma_stream_unpark(s);
	}
	if (event.type)
		bgdma_event_post(gate->ctx, &event);
	if (code)
		return bgdma_fault(s, code, epoch, 0);
	*in = gate;
	return BGDMA_STEP_DONE;
}

/* A put has come: does its epoch's origin, or our owner, hear of it? */
static void bgdma_epoch_got(struct bgdma_region_gate *gate,
			    struct bgdma_gate_epoch *e,
			    struct bgdma_answer *answer,
			    struct bgdma_event *event)
{
	lockdep_assert_held(&gate->lock);
	e->got++;
	if (e->state < BGDMA_EPOCH_CLOSING || e->got < e->put)
		return;
	if (e->got == e->put) {
		e->state = BGDMA_EPOCH_CLOSED;
		trace_bgdma_epoch(gate, e, BGDMA_OK);
		bgdma_epoch_answer(gate, e, BGDMA_OK, answer);
	} else {
		trace_bgdma_epoch(gate, e, BGDMA_E_EPOCH_COUNT);
		bgdma_epoch_answer(gate, e, BGDMA_E_EPOCH_COUNT, answer);
		bgdma_epoch_event(gate, e, e->state, BGDMA_E_EPOCH_COUNT,
				  event);
	}
}

/**
 * bgdma_gate_leave() - the slice has touched the region
 * @gate: from bgdma_gate_enter(); its region is still busy
 * @s: stream that the slice is of
 * @who: as for bgdma_gate_enter()
 * @epoch: as for bgdma_gate_enter()
 * @put: all of a put is visible
 *
 * Context: inside a slice.
 */
void bgdma_gate_leave(struct bgdma_region_gate *gate, struct bgdma_stream *s,
		      const struct bgdma_principal *who, u32 epoch, bool put)
{
	struct bgdma_answer answer = { };
	struct bgdma_gate_epoch *e;
	struct bgdma_event event = { };
	bool next;

	spin_lock(&gate->lock);
	gate->inside--;
	if (put && epoch) {
		e = bgdma_epoch_find(gate, who, epoch);
		if (e)
			bgdma_epoch_got(gate, e, &answer, &event);
		/* One too many: its epoch has been answered. */
		if (answer.epoch && !answer.promise)
			bgdma_promise_take(s, &answer.promise);
	}
	next = bgdma_gate_first(gate);
	spin_unlock(&gate->lock);

	if (answer.epoch)
		bgdma_gate_tell(gate, &answer);
	if (event.type)
		bgdma_event_post(gate->ctx, &event);
	if (next)
		bgdma_gate_grant(gate);
}

/* --------------------------------------------------------------------- */
/* Begin, close, end                                                      */

static u32 bgdma_epochs_of(struct bgdma_region_gate *gate,
			   const struct bgdma_principal *who)
{
	struct bgdma_gate_epoch *e;
	u32 n = 0;

	lockdep_assert_held(&gate->lock);
	hlist_for_each_entry(e, bgdma_gate_bucket(gate, who), same)
		n += bgdma_same(&e->who, who);
	return n;
}

static u32 bgdma_gate_begin(struct bgdma_region_gate *gate,
			    struct bgdma_stream *s,
			    const struct bgdma_principal *who)
{
	const struct bgdma_desc *d = &s->x.desc;
	bool exclusive = d->flags & BGDMA_DESC_EXCLUSIVE;
	u32 id = le32_to_cpu(d->epoch);
	struct bgdma_gate_epoch *e;

	lockdep_assert_held(&gate->lock);
	/* It dies: bgdma_gates_peer_down() was here, or sees the epoch. */
	if (READ_ONCE(s->ctx->dead))
		return BGDMA_E_PEER_DOWN;
	if (bgdma_epoch_find(gate, who, id) ||
	    bgdma_epochs_of(gate, who) >= BGDMA_EPOCHS_EACH)
		return BGDMA_E_EPOCH_BUSY;
	/* Slices that are inside are no reason to be refused: they are short. */
	if (!(d->flags & BGDMA_DESC_HOLD) &&
	    (gate->exclusive || !list_empty(&gate->queue) ||
	     (exclusive && !list_empty(&gate->held))))
		return BGDMA_E_EPOCH_HELD;
	e = list_first_entry_or_null(&gate->free, struct bgdma_gate_epoch,
				     node);
	if (!e)
		return BGDMA_E_EPOCH_BUSY;
	e->who = *who;
	e->id = id;
	e->counter = le32_to_cpu(d->inj_ctr);
	e->asked = s->x.id;
	bgdma_promise_take(s, &e->promise);
	e->state = BGDMA_EPOCH_WAITING;
	e->exclusive = exclusive;
	e->got = 0;
	e->put = 0;
	hlist_add_head(&e->same, bgdma_gate_bucket(gate, who));
	list_move_tail(&e->node, &gate->queue);
	trace_bgdma_epoch(gate, e, BGDMA_OK);
	return BGDMA_OK;
}

static u32 bgdma_gate_close(struct bgdma_region_gate *gate,
			    struct bgdma_stream *s,
			    const struct bgdma_principal *who,
			    struct bgdma_answer *answer,
			    struct bgdma_event *event)
{
	const struct bgdma_desc *d = &s->x.desc;
	struct bgdma_gate_epoch *e;
	u32 code = BGDMA_OK;

	lockdep_assert_held(&gate->lock);
	e = bgdma_epoch_find(gate, who, le32_to_cpu(d->epoch));
	if (!e || e->state != BGDMA_EPOCH_OPEN)
		return BGDMA_E_EPOCH_CLOSED;
	e->put = le64_to_cpu(d->cookie);
	e->counter = le32_to_cpu(d->inj_ctr);
	e->asked = s->x.id;
	e->state = e->got < e->put ? BGDMA_EPOCH_CLOSING : BGDMA_EPOCH_CLOSED;
	if (e->got > e->put) {
		code = BGDMA_E_EPOCH_COUNT;
		bgdma_epoch_event(gate, e, e->state, code, event);
		/* The descriptor itself fails. */
		e->counter = BGDMA_NONE;
	} else {
		bgdma_promise_take(s, &e->promise);
		if (e->got == e->put)
			bgdma_epoch_answer(gate, e, BGDMA_OK, answer);
	}
	trace_bgdma_epoch(gate, e, code);
	return code;
}

static u32 bgdma_gate_end(struct bgdma_region_gate *gate,
			  const struct bgdma_desc *d,
			  const struct bgdma_principal *who, void **promise,
			  struct bgdma_event *event)
{
	struct bgdma_gate_epoch *e;

	lockdep_assert_held(&gate->lock);
	e = bgdma_epoch_find(gate, who, le32_to_cpu(d->epoch));
	if (!e)
		return BGDMA_E_EPOCH_CLOSED;
	if (gate->ask && e->state != BGDMA_EPOCH_WAITING)
		bgdma_epoch_event(gate, e, BGDMA_EPOCH_OVER, BGDMA_OK, event);
	bgdma_epoch_out(gate, e);
	/* Nobody waits for that any more. */
	*promise = e->promise;
	e->promise = NULL;
	e->state = BGDMA_EPOCH_OVER;
	trace_bgdma_epoch(gate, e, BGDMA_OK);
	list_add(&e->node, &gate->free);
	return BGDMA_OK;
}

/* The operation of s->x.desc. */
static u32 bgdma_gate_do(struct bgdma_region_gate *gate, struct bgdma_stream *s,
			 const struct bgdma_principal *who)
{
	const struct bgdma_desc *d = &s->x.desc;
	struct bgdma_answer answer = { };
	struct bgdma_event event = { };
	u32 code = BGDMA_E_REGION;
	void *promise = NULL;

	spin_lock(&gate->lock);
	if (gate->dead)
		;
	else if (d->op == BGDMA_OP_EPOCH_BEGIN)
		code = bgdma_gate_begin(gate, s, who);
	else if (d->op == BGDMA_OP_EPOCH_CLOSE)
		code = bgdma_gate_close(gate, s, who, &answer, &event);
	else
		code = bgdma_gate_end(gate, d, who, &promise, &event);
	spin_unlock(&gate->lock);

	if (answer.epoch)
		bgdma_gate_tell(gate, &answer);
	bgdma_promise_forget(gate, promise);
	if (event.type)
		bgdma_event_post(gate->ctx, &event);
	/* Who was woken for nothing would not be there when there is something. */
	if (!code && d->op == BGDMA_OP_EPOCH_BEGIN)
		bgdma_gate_grant(gate);
	else if (!code && d->op == BGDMA_OP_EPOCH_END)
		bgdma_gate_go_on(gate);
	return code;
}

/**
 * bgdma_deliver_gate() - an operation on the gate of a region of the target
 * @ctx: target, held busy
 * @s: stream that it comes from
 *
 * Context: inside a slice.
 * Return: BGDMA_STEP_DONE or an enum bgdma_code, with s->x.fault.
 */
int bgdma_deliver_gate(struct bgdma_ctx *ctx, struct bgdma_stream *s)
{
	const struct bgdma_principal *who = bgdma_principal_at(ctx, s);
	struct bgdma_region_gate *gate;
	struct bgdma_region *region;
	u32 code;

	region = bgdma_region_get(ctx, le32_to_cpu(s->x.desc.u.at.dst_region),
				  who, BGDMA_RIGHT_EPOCH, 0, 0, &s->x.fault,
				  NULL);
	if (!region)
		return s->x.fault.code;
	gate = READ_ONCE(region->gate);
	/* Rights at a region that shares it are not looked at again. */
	code = gate && gate->region == region ? bgdma_gate_do(gate, s, who) :
						BGDMA_E_RIGHTS;
	bgdma_busy_put(&region->busy);
	if (code)
		return bgdma_fault(s, code, le32_to_cpu(s->x.desc.epoch), 0);
	trace_bgdma_packet(ctx, s, 0);
	return BGDMA_STEP_DONE;
}

/**
 * bgdma_deliver_answer() - what a gate says to the origin of an epoch
 * @ctx: origin, held busy
 * @from: owner of the gate
 * @answer: what
 *
 * Context: inside a slice.
 */
void bgdma_deliver_answer(struct bgdma_ctx *ctx,
			  const struct bgdma_principal *from,
			  const struct bgdma_answer *answer)
{
	struct bgdma_record why = {
		.code = answer->code,
		.peer_rank = from->rank,
		.peer_ctx = from->ctx,
		.offset = answer->epoch,
	};
	struct bgdma_event event = {
		.type = BGDMA_EVENT_EPOCH,
		.code = answer->code,
		.peer_rank = from->rank,
		.peer_ctx = from->ctx,
		.kind = BGDMA_KIND_REGION,
		.peer_incarnation = from->incarnation,
		.object = answer->region,
		.cookie = answer->epoch,
		.desc_seq = BGDMA_EPOCH_OVER,
	};
	int slot = -1;

	if (answer->counter != BGDMA_NONE)
		slot = bgdma_counter_find(ctx, BGDMA_INJECTION, answer->counter,
					  NULL, NULL);
	if (slot >= 0 && answer->code)
		bgdma_counter_fail(ctx, BGDMA_INJECTION, slot, 1, &why);
	else if (slot >= 0)
		bgdma_counter_sub(ctx, BGDMA_INJECTION, slot, 1);
	if (answer->code)
		bgdma_event_post(ctx, &event);
}
