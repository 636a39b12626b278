// SPDX-License-Identifier: GPL-2.0
/*
 * Results that come as packets: for a reception FIFO of the member itself, where the
 * tag is the operation identifier (DP-3). A stream of the class brings them, which can
 * wait for room there as any other.
 */
#include "../engine/deliver.h"
#include "tree.h"

static struct bgdma_class *bgdma_packets_class(const struct bgdma_stream *s)
{
	return container_of(s, struct bgdma_class, packets);
}

/**
 * bgdma_packets_pending() - has the stream that brings results something to do?
 * @s: it
 *
 * Context: any.
 */
bool bgdma_packets_pending(const struct bgdma_stream *s)
{
	const struct bgdma_class *cls = bgdma_packets_class(s);

	if (unlikely(READ_ONCE(cls->code)))
		return READ_ONCE(cls->begun);
	return READ_ONCE(cls->due);
}

/**
 * bgdma_packets_fetch() - the next packet of a result
 * @s: the stream, owned
 *
 * Return: 1, or 0 if there is none.
 */
int bgdma_packets_fetch(struct bgdma_stream *s)
{
	return bgdma_packets_pending(s) ? bgdma_class_next(s) : 0;
}

/* The stream is at a packet of a collective, as if the core had sent it to itself. */
static void bgdma_packets_at(struct bgdma_class *cls, struct bgdma_stream *s)
{
	const struct bgdma_post *post = bgdma_post_at(cls, cls->post);
	const struct bgdma_slot *slot = bgdma_slot_at(cls, cls->landed);

	lockdep_assert_held(&cls->lock);
	s->x.desc = (struct bgdma_desc) {
		.op = post->ask.op,
		.class_prio = cls->number,
		.dst_rank = cpu_to_le32(cls->ctx->rank),
		.dst_ctx = cpu_to_le16(cls->ctx->id),
		.dst_fifo = cpu_to_le16(post->region),
		.inj_ctr = cpu_to_le32(BGDMA_NONE),
		.rec_ctr = cpu_to_le32(BGDMA_NONE),
		.length = cpu_to_le32(post->ask.total),
		.dispatch = cpu_to_le16(post->ask.tag),
		.cookie = cpu_to_le64(post->cookie),
	};
	s->x.id = post->id;
	/* As the slot says, if that has come. */
	s->x.done = post->ask.total - post->left;
	s->x.slice.pieces = !!slot->n;
	s->x.slice.p[0] = slot->data;
	s->x.slice.n[0] = slot->n;
}

/* The reader has the beginning of one that will not end. */
static void bgdma_packets_cut(struct bgdma_class *cls, struct bgdma_stream *s)
{
	u32 begun;

	spin_lock(&cls->lock);
	begun = cls->begun;
	WRITE_ONCE(cls->begun, 0);
	if (begun) {
		bgdma_packets_at(cls, s);
		s->x.done = begun;
	}
	spin_unlock(&cls->lock);
	if (!begun)
		return;
	s->x.fault.code = cls->code;
	bgdma_abort_message(cls->ctx, s, &s->who);
}

/**
 * bgdma_packets_end() - a class that broke is unbound
 * @cls: class, its stream killed
 *
 * Somebody may have begun one for the reader when it was found to be quiet.
 *
 * Context: ctx.lock held.
 */
void bgdma_packets_end(struct bgdma_class *cls)
{
	bgdma_slice_begin();
	bgdma_packets_cut(cls, &cls->packets);
	bgdma_slice_end();
}

/* For the run loop, too, it is one packet, of so many bytes. */
static int bgdma_packets_over(struct bgdma_stream *s, u32 n, int ret)
{
	s->x.done = 0;
	s->x.desc.length = cpu_to_le32(n);
	return ret;
}

/**
 * bgdma_packets_run() - the next packet of a result lands
 * @s: owned
 *
 * Context: inside a slice.
 * Return: BGDMA_STEP_DONE, _WAIT or _AGAIN.
 */
int bgdma_packets_run(struct bgdma_stream *s)
{
	struct bgdma_class *cls = bgdma_packets_class(s);
	bool due;
	u32 n;
	int ret;

	if (READ_ONCE(cls->code)) {
		bgdma_packets_cut(cls, s);
		return bgdma_packets_over(s, 0, BGDMA_STEP_DONE);
	}
	spin_lock(&cls->lock);
	due = cls->due;
	if (due)
		bgdma_packets_at(cls, s);
	spin_unlock(&cls->lock);
	if (!due)
		return bgdma_packets_over(s, 0, BGDMA_STEP_DONE);
	/* The slot stays as it is: nobody else lands what is due here. */
	n = s->x.slice.pieces ? s->x.slice.n[0] : 0;
	ret = bgdma_deliver_memfifo(cls->ctx, s, &s->x.slice, n);
	/* It broke meanwhile: see bgdma_class_broken(). */
	if (ret == BGDMA_STEP_WAIT && READ_ONCE(cls->code)) {
		bgdma_stream_unpark(s);
		ret = BGDMA_STEP_AGAIN;
	}
	if (ret < 0)
		return bgdma_packets_over(s, n, ret);
	bgdma_result_landed(cls, ret ? &s->x.fault : NULL);
	bgdma_class_progress(cls);
	return bgdma_packets_over(s, n, BGDMA_STEP_DONE);
}
