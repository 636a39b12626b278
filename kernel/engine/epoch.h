/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Epochs at a gate: what engine/epoch.c, which lets them begin and end, and
 * engine/gate.c, where their owner or a death takes them away, share.
 */
#ifndef _BGDMA_EPOCH_H
#define _BGDMA_EPOCH_H

#include "../bgdma.h"

static inline struct hlist_head *
bgdma_gate_bucket(struct bgdma_region_gate *gate,
		  const struct bgdma_principal *who)
{
	return &gate->by[who->incarnation & gate->mask];
}

static inline struct bgdma_gate_epoch *
bgdma_epoch_find(struct bgdma_region_gate *gate,
		 const struct bgdma_principal *who, u32 id)
{
	struct bgdma_gate_epoch *e;

	lockdep_assert_held(&gate->lock);
	/* Those that were there are being told so. */
	if (gate->dead)
		return NULL;
	hlist_for_each_entry(e, bgdma_gate_bucket(gate, who), same) {
		if (e->id == id && bgdma_same(&e->who, who))
			return e;
	}
	return NULL;
}

/* What it had is for others; it is in no list. Then bgdma_gate_go_on(). */
static inline void bgdma_epoch_out(struct bgdma_region_gate *gate,
				   struct bgdma_gate_epoch *e)
{
	lockdep_assert_held(&gate->lock);
	if (e->exclusive && e->state != BGDMA_EPOCH_WAITING) {
		gate->exclusive = false;
		/* Who comes just now is not one of those who have waited. */
		WRITE_ONCE(gate->turn, !list_empty(&gate->waiters.waiting));
	}
	hlist_del_init(&e->same);
	list_del(&e->node);
}

static inline void bgdma_epoch_answer(struct bgdma_region_gate *gate,
				      struct bgdma_gate_epoch *e, u32 code,
				      struct bgdma_answer *out)
{
	lockdep_assert_held(&gate->lock);
	*out = (struct bgdma_answer) {
		.to = e->who,
		.counter = e->counter,
		.region = gate->handle,
		.epoch = e->id,
		.code = code,
		.id = e->asked,
		.promise = e->promise,
	};
	e->counter = BGDMA_NONE;
	e->promise = NULL;
}

/* For the owner of the gate. */
static inline void bgdma_epoch_event(struct bgdma_region_gate *gate,
				     const struct bgdma_gate_epoch *e, u16 state,
				     u32 code, struct bgdma_event *out)
{
	*out = (struct bgdma_event) {
		.type = BGDMA_EVENT_EPOCH,
		.code = code,
		.peer_rank = e->who.rank,
		.peer_ctx = e->who.ctx,
		.kind = BGDMA_KIND_REGION,
		.peer_incarnation = e->who.incarnation,
		.object = gate->handle,
		.desc_seq = state,
		.cookie = e->id,
		.offset = e->got,
		.bound = e->put,
	};
}

/* False: no memory; never with a promise. */
static inline bool bgdma_gate_tell(struct bgdma_region_gate *gate,
				   const struct bgdma_answer *answer)
{
	return gate->ctx->partition->fabric->answer(gate->ctx, answer);
}

/* What @s asks for is answered later, or now: with what was set apart for it. */
static inline void bgdma_promise_take(struct bgdma_stream *s, void **promise)
{
	*promise = s->promise;
	s->promise = NULL;
}

static inline void bgdma_promise_forget(struct bgdma_region_gate *gate,
					void *promise)
{
	if (promise)
		gate->ctx->partition->fabric->forget(promise);
}

void bgdma_gate_go_on(struct bgdma_region_gate *gate);
void bgdma_gate_work(struct work_struct *work);

#endif /* _BGDMA_EPOCH_H */
