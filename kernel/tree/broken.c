// SPDX-License-Identifier: GPL-2.0
/*
 * A class breaks when a member asks for something else than the root, or dies, or
 * gives up. Nothing can be done with it any more: whoever hears of it tells its other
 * neighbours, so that all members hear, and of the same one.
 */
#include "../engine/deliver.h"
#include "tree.h"

/**
 * bgdma_class_break() - nothing more is done with a class
 * @cls: class
 * @code: why
 * @by: member that broke it
 *
 * Context: class.lock held.
 * Return: true if it was not broken yet; then bgdma_class_broken() follows, without
 * the lock.
 */
bool bgdma_class_break(struct bgdma_class *cls, u32 code,
		       const struct bgdma_name *by)
{
	lockdep_assert_held(&cls->lock);
	if (cls->code)
		return false;
	cls->broken_by = *by;
	/* Whoever sees the code sees who it was. */
	smp_store_release(&cls->code, code);
	return true;
}

/* A collective of the context's will not end. Nobody lands anything any more. */
static void bgdma_post_fail(struct bgdma_class *cls,
			    const struct bgdma_post *post)
{
	struct bgdma_ctx *ctx = cls->ctx;
	const struct bgdma_record why = {
		.code = cls->code, .desc_seq = post->seq,
		.fifo = post->fifo, .fifo_kind = BGDMA_KIND_INJ_FIFO,
		.peer_rank = cls->broken_by.rank, .peer_ctx = cls->broken_by.ctx,
		.transfer_id = post->id, .offset = cls->number,
	};
	int slot;

	if (post->rec_ctr == BGDMA_NONE || post->failed)
		return;
	slot = bgdma_counter_find(ctx, BGDMA_RECEPTION, post->rec_ctr, NULL,
				  NULL);
	if (slot >= 0)
		bgdma_counter_fail(ctx, BGDMA_RECEPTION, slot,
				   post->ops ? 1 : post->left, &why);
}

/**
 * bgdma_class_broken() - a class was broken just now
 * @cls: by the caller
 *
 * Context: inside a slice, no lock held.
 */
void bgdma_class_broken(struct bgdma_class *cls)
{
	const struct bgdma_event event = {
		.type = BGDMA_EVENT_CLASS, .code = cls->code,
		.peer_rank = cls->broken_by.rank, .peer_ctx = cls->broken_by.ctx,
		.kind = BGDMA_KIND_CLASS, .object = cls->number,
		.bound = cls->instance,
	};
	u32 i;

	bgdma_event_post(cls->ctx, &event);
	for (i = cls->post; i != cls->post_end; i++)
		bgdma_post_fail(cls, bgdma_post_at(cls, i));
	for (i = 0; i < BGDMA_EDGES; i++) {
		struct bgdma_edge *edge = &cls->edge[i];

		if (!edge->there)
			continue;
		/*
		 * It may wait for room that nobody makes any more. Who parks it
		 * after this sees the code: bgdma_edge_run().
		 */
		bgdma_stream_unpark(&edge->s);
		bgdma_stream_wake(&edge->s);
	}
	/* The same; and a reader may have the beginning of something. */
	bgdma_stream_unpark(&cls->packets);
	bgdma_stream_wake(&cls->packets);
	bgdma_waiters_wake(&cls->waiters);
}

/**
 * bgdma_class_fault() - something is asked of a broken class
 * @cls: class
 * @s: stream that asks
 *
 * Context: inside a slice.
 * Return: the code, with s->x.fault; its record names who broke it.
 */
int bgdma_class_fault(struct bgdma_class *cls, struct bgdma_stream *s)
{
	s->x.desc.dst_rank = cpu_to_le32(cls->broken_by.rank);
	s->x.desc.dst_ctx = cpu_to_le16(cls->broken_by.ctx);
	return bgdma_fault(s, cls->code, cls->number, cls->instance);
}

static bool bgdma_class_has(const struct bgdma_class *cls,
			    const struct bgdma_principal *who)
{
	u32 i;

	for (i = 0; i < BGDMA_EDGES; i++) {
		if (cls->edge[i].there && bgdma_same(&cls->edge[i].who, who))
			return true;
	}
	return false;
}

/**
 * bgdma_class_peer_down() - a context is gone, and so are classes that it was next to
 * @ctx: of the classes, held busy
 * @peer: gone
 *
 * Context: inside a slice.
 */
void bgdma_class_peer_down(struct bgdma_ctx *ctx,
			   const struct bgdma_principal *peer)
{
	const struct bgdma_name by = { .rank = peer->rank, .ctx = peer->ctx };
	u32 i;

	for (i = 0; i < BGDMA_CLASSES_MAX; i++) {
		struct bgdma_class *cls = bgdma_class_find(ctx, i);
		bool broke;

		if (!cls || !bgdma_class_has(cls, peer))
			continue;
		spin_lock(&cls->lock);
		broke = bgdma_class_break(cls, BGDMA_E_PEER_DOWN, &by);
		spin_unlock(&cls->lock);
		if (broke)
			bgdma_class_broken(cls);
	}
}
