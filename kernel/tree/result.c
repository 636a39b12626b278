// SPDX-License-Identifier: GPL-2.0
/*
 * Results: at the root they come of what is complete, elsewhere from the parent. They
 * land in the memory of the context, when it takes part, and their slots are free
 * when the children have them, too.
 */
#include <linux/poll.h>

#include "../engine/deliver.h"
#include "tree.h"

/**
 * struct bgdma_landing - a packet of a result that has landed, or failed to
 * @post: its collective, as it was then
 * @n: bytes
 * @last: it was the last of the collective
 * @fault: why it did not
 */
struct bgdma_landing {
	struct bgdma_post post;
	u32 n;
	bool last;
	struct bgdma_fault fault;
};

/* What is complete at the root is a result; what it broadcasts is one at once. */
static void bgdma_root_results(struct bgdma_class *cls)
{
	u32 own = cls->next[BGDMA_SOURCE_OWN];

	lockdep_assert_held(&cls->lock);
	if (!bgdma_class_is_root(cls))
		return;
	cls->up = cls->complete;
	while (cls->result != own) {
		const struct bgdma_slot *slot = bgdma_slot_at(cls, cls->result);

		if (slot->differ ||
		    (slot->ask.op != BGDMA_OP_TREE_BCAST &&
		     !bgdma_class_before(cls->result, cls->complete)))
			break;
		WRITE_ONCE(cls->result, cls->result + 1);
	}
}

/* Into the memory of the context, or l->fault says why not. */
static void bgdma_result_write(struct bgdma_class *cls,
			       struct bgdma_landing *l,
			       const struct bgdma_slot *slot)
{
	struct bgdma_ctx *ctx = cls->ctx;
	u64 off = l->post.off + slot->offset;
	struct bgdma_region *region;

	if (off < l->post.off) {
		l->fault = (struct bgdma_fault) {
			.code = BGDMA_E_BOUNDS, .offset = l->post.off,
		};
		return;
	}
	region = bgdma_region_get(ctx, l->post.region, &ctx->who,
				  BGDMA_RIGHT_WRITE, off,
				  l->post.ask.total - slot->offset, &l->fault,
				  NULL);
	if (!region)
		return;
	bgdma_region_write(region, off, slot->data, NULL, l->n);
	bgdma_busy_put(&region->busy);
}

/* One more has landed, or failed to. */
static void bgdma_result_next(struct bgdma_class *cls, struct bgdma_landing *l)
{
	struct bgdma_post *post = bgdma_post_at(cls, cls->post);

	lockdep_assert_held(&cls->lock);
	post->failed |= l->fault.code != BGDMA_OK;
	post->left -= l->n;
	cls->landed++;
	if (l->last) {
		cls->post++;
		cls->collectives++;
	}
}

/* The next packet lands, if it is here, and the context takes part in it. */
static bool bgdma_result_land(struct bgdma_class *cls, struct bgdma_landing *l)
{
	struct bgdma_slot *slot = bgdma_slot_at(cls, cls->landed);
	struct bgdma_post *post = bgdma_post_at(cls, cls->post);

	lockdep_assert_held(&cls->lock);
	if (cls->code || cls->landed == cls->result ||
	    !bgdma_class_before(cls->landed, cls->next[BGDMA_SOURCE_OWN]))
		return false;
	/* The class's own stream brings it. */
	if (post->packets && !post->failed &&
	    bgdma_result_is_here(cls, &slot->ask)) {
		WRITE_ONCE(cls->due, true);
		return false;
	}
	l->post = *post;
	l->n = 0;
	if (post->region != BGDMA_NONE)
		l->n = bgdma_result_bytes(cls, &slot->ask, slot->n);
	l->last = cls->landed == post->last;
	l->fault.code = BGDMA_OK;
	if (!post->failed && l->n)
		bgdma_result_write(cls, l, slot);
	bgdma_result_next(cls, l);
	return true;
}

/* It had nowhere to land: the context is told, the others need not know. */
static void bgdma_landing_failed(struct bgdma_class *cls,
				 const struct bgdma_landing *l, int slot)
{
	struct bgdma_ctx *ctx = cls->ctx;
	const struct bgdma_record why = {
		.code = l->fault.code, .desc_seq = l->post.seq,
		.fifo = l->post.fifo, .fifo_kind = BGDMA_KIND_INJ_FIFO,
		.peer_rank = ctx->rank, .peer_ctx = ctx->id,
		.transfer_id = l->post.id,
		.offset = l->fault.offset, .bound = l->fault.bound,
	};
	const struct bgdma_event event = {
		.type = BGDMA_EVENT_CLASS, .code = l->fault.code,
		.peer_rank = ctx->rank, .peer_ctx = ctx->id,
		.kind = BGDMA_KIND_CLASS, .object = cls->number,
		.peer_incarnation = ctx->who.incarnation,
		.desc_seq = l->post.seq, .transfer_id = l->post.id,
		.offset = l->fault.offset, .bound = l->fault.bound,
	};

	if (slot >= 0)
		bgdma_counter_fail(ctx, BGDMA_RECEPTION, slot,
				   l->post.ops ? 1 : l->post.left, &why);
	else
		bgdma_event_post(ctx, &event);
}

/* Not under the lock: somebody may be woken. */
static void bgdma_landed(struct bgdma_class *cls, const struct bgdma_landing *l)
{
	struct bgdma_ctx *ctx = cls->ctx;
	int slot = -1;

	if (l->post.rec_ctr != BGDMA_NONE)
		slot = bgdma_counter_find(ctx, BGDMA_RECEPTION,
					  l->post.rec_ctr, NULL, NULL);
	if (l->fault.code)
		bgdma_landing_failed(cls, l, slot);
	else if (slot >= 0 && !l->post.failed)
		bgdma_counter_sub(ctx, BGDMA_RECEPTION, slot,
				  l->post.ops ? l->last : l->n);
}

/**
 * bgdma_result_landed() - a packet has landed in a reception FIFO, or failed to
 * @cls: class; it was due
 * @fault: why it did not, or NULL
 *
 * Context: inside a slice, no lock held; the stream of the class that brings them.
 */
void bgdma_result_landed(struct bgdma_class *cls, const struct bgdma_fault *fault)
{
	struct bgdma_landing l = { .fault.code = BGDMA_OK };
	const struct bgdma_slot *slot;
	bool good;

	if (fault)
		l.fault = *fault;
	spin_lock(&cls->lock);
	l.post = *bgdma_post_at(cls, cls->post);
	slot = bgdma_slot_at(cls, cls->landed);
	l.n = bgdma_result_bytes(cls, &slot->ask, slot->n);
	l.last = cls->landed == l.post.last;
	/* Its reader has seen it, whatever has become of the class. */
	WRITE_ONCE(cls->begun, l.last || fault ? 0 : slot->offset + l.n);
	/* One of a class that broke meanwhile was given up with the others. */
	good = !cls->code;
	if (good) {
		WRITE_ONCE(cls->due, false);
		bgdma_result_next(cls, &l);
	}
	spin_unlock(&cls->lock);
	if (good)
		bgdma_landed(cls, &l);
}

/**
 * bgdma_class_free_slots() - those that nobody needs any more
 * @cls: class
 *
 * Context: class.lock held.
 * Return: true if there are some, so that who waits for room is to be woken.
 */
bool bgdma_class_free_slots(struct bgdma_class *cls)
{
	u32 base = cls->landed, i;
	bool any;

	lockdep_assert_held(&cls->lock);
	if (bgdma_class_before(cls->up, base))
		base = cls->up;
	for (i = 0; i < 2; i++) {
		if (cls->edge[BGDMA_EDGE_DOWN + i].there &&
		    bgdma_class_before(cls->down[i], base))
			base = cls->down[i];
	}
	any = cls->base != base;
	while (cls->base != base) {
		struct bgdma_slot *slot = bgdma_slot_at(cls, cls->base++);

		slot->asked = false;
		slot->own = false;
		slot->filled = false;
		slot->differ = false;
		slot->n = 0;
	}
	return any;
}

/**
 * bgdma_class_progress() - all that follows from a packet that came
 * @cls: class
 *
 * Context: inside a slice, no lock held.
 */
void bgdma_class_progress(struct bgdma_class *cls)
{
	struct bgdma_landing l;
	bool any, room = false;

	do {
		spin_lock(&cls->lock);
		bgdma_root_results(cls);
		any = bgdma_result_land(cls, &l);
		room |= bgdma_class_free_slots(cls);
		spin_unlock(&cls->lock);
		if (any)
			bgdma_landed(cls, &l);
	} while (any);
	if (room)
		bgdma_waiters_wake(&cls->waiters);
}
