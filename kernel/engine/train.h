/* SPDX-License-Identifier: GPL-2.0 */
/*
 * From one descriptor to the next: the steps between two transfers of a
 * stream, which the run loop (ops.c) takes, and a delivery in a train.
 *
 * A train is short messages in a row whose descriptors begin with the same 32
 * bytes: they differ in payload and cookie only. What a slice found for the
 * first of them (target, FIFO, rights, counters) holds for the others in that
 * slice, so they cost no look-ups. A train ends where a run would.
 */
#ifndef _BGDMA_TRAIN_H
#define _BGDMA_TRAIN_H

#include "../bgdma.h"
#include "../trace.h"
#include "busy.h"
#include "counter.h"
#include "engine.h"
#include "group.h"
#include "ring.h"

/* Messages after the first: with their headers about 1 KiB a slice. */
#define BGDMA_TRAIN_MAX		15

/* 1: a descriptor is in s->x; 0: the ring is empty; negative: a fault. */
static __always_inline int bgdma_inj_fetch(struct bgdma_inj_fifo *fifo)
{
	u64 tail = bgdma_ring_tail(fifo->user);
	const struct bgdma_desc *ring = fifo->shm.addr;
	struct bgdma_stream *s = &fifo->s;

	if (tail == s->head)
		return 0;
	s->x.seq = s->head;
	if (unlikely(tail - s->head > (u64)fifo->mask + 1)) {
		bgdma_inj_bad_tail(fifo, tail);
		return -1;
	}
	bgdma_ring_fetch(&s->x.desc, &ring[s->head & fifo->mask]);
	s->head++;
	if (trace_bgdma_inject_enabled() && (u32)tail != s->x.tail)
		trace_bgdma_inject(s->ctx, s->kind, s->id,
				   (u32)tail - s->x.tail, 0);
	s->x.tail = tail;
	bgdma_ring_set_head(fifo->kern, s->head);
	return 1;
}

/* A descriptor is in s->x. */
static __always_inline void bgdma_xfer_begin(struct bgdma_stream *s)
{
	s->x.id = s->tag | (s->x.seq & GENMASK(19, 0));
	bgdma_stat_add(s->stats.descriptors, 1);
	trace_bgdma_fetch(s);
}

/* Its transfer is over, and good; @fifo: the stream's, if it is one's. */
static __always_inline void bgdma_xfer_end(struct bgdma_stream *s,
					   struct bgdma_inj_fifo *fifo)
{
	trace_bgdma_done(s);
	if (fifo)
		bgdma_ring_set_done(fifo->kern, s->head);
}

/*
 * The injection counter of the transfer, asked for whenever it moves: a transfer
 * may have waited, and its owner may have taken the counter back meanwhile.
 */
static __always_inline int bgdma_inj_slot(struct bgdma_stream *s)
{
	u32 handle = le32_to_cpu(s->x.desc.inj_ctr);
	bool owns = !s->remote ||
		    (unlikely(s->group) &&
		     bgdma_group_gives(s->ctx, s, &s->who,
				       BGDMA_KIND_INJ_COUNTER, handle));

	return bgdma_counter_at(s->ctx, BGDMA_INJECTION, handle,
				owns ? NULL : &s->who, &s->memo.sent);
}

/* Its injection counter: 0 if it is good, or has none, or what is wrong. */
static __always_inline int bgdma_op_counter(struct bgdma_stream *s)
{
	struct bgdma_xfer *x = &s->x;
	int slot;

	if (x->desc.inj_ctr == cpu_to_le32(BGDMA_NONE))
		return 0;
	bgdma_slice_begin();
	slot = bgdma_inj_slot(s);
	bgdma_slice_end();
	if (likely(slot >= 0))
		return 0;
	x->fault = (struct bgdma_fault) {
		.code = -slot,
		.offset = le32_to_cpu(x->desc.inj_ctr),
	};
	return x->fault.code;
}

int bgdma_op_look(struct bgdma_stream *s);
int bgdma_op_resume(struct bgdma_stream *s);
int bgdma_run_tree(struct bgdma_stream *s, long *budget, u32 each);

static __always_inline void bgdma_inj_count(struct bgdma_stream *s, u32 n)
{
	int slot;

	if (s->x.desc.inj_ctr == cpu_to_le32(BGDMA_NONE) || !n)
		return;
	bgdma_slice_begin();
	slot = bgdma_inj_slot(s);
	if (slot >= 0)
		bgdma_counter_sub(s->ctx, BGDMA_INJECTION, slot, n);
	bgdma_slice_end();
}

/* A whole message landed in one piece. */
static __always_inline void bgdma_message_count(struct bgdma_stream *s, u32 n)
{
	bgdma_stat_add(s->stats.packets, 1);
	bgdma_stat_add(s->stats.bytes_copied, n);
	bgdma_inj_count(s, n);
}

/*
 * The next message of the train, where it is in the ring; NULL: there is none that
 * begins as the one that @s is at.
 */
static __always_inline const u64 *bgdma_train_more(struct bgdma_stream *s)
{
	const u64 *now = (const u64 *)&s->x.desc, *next;
	struct bgdma_inj_fifo *fifo;
	u32 i;

	/* No longer than what was in the ring before. */
	if (!s->x.train || bgdma_stream_must_stop(s))
		return NULL;
	fifo = container_of(s, struct bgdma_inj_fifo, s);
	next = fifo->shm.addr + (s->head & fifo->mask) * sizeof(s->x.desc);
#pragma GCC unroll 4
	for (i = 0; i < 4; i++) {
		if (READ_ONCE(next[i]) != now[i])
			return NULL;
	}
	return next;
}

/* On to it. */
static __always_inline void bgdma_train_step(struct bgdma_stream *s,
					     struct bgdma_inj_fifo *fifo,
					     const u64 *next)
{
	u64 *now = (u64 *)&s->x.desc;
	u32 i;

	/* The first half is the same: it was compared, not to be read again. */
#pragma GCC unroll 4
	for (i = 4; i < 8; i++)
		now[i] = READ_ONCE(next[i]);
	s->x.train--;
	s->x.seq = s->head++;
	bgdma_ring_set_head(fifo->kern, s->head);
	bgdma_xfer_begin(s);
	trace_bgdma_execute(s);
}

/*
 * The message of @n bytes that @s is at has landed: true if it was ended, and
 * @s is at the next of its train, false if somebody else has to end it.
 */
static __always_inline bool bgdma_train_next(struct bgdma_stream *s, u32 n)
{
	struct bgdma_inj_fifo *fifo;
	const u64 *next;

	/* What is on its way over links ends first. */
	if (unlikely(s->tx))
		return false;
	next = bgdma_train_more(s);
	if (!next)
		return false;
	fifo = container_of(s, struct bgdma_inj_fifo, s);
	bgdma_message_count(s, n);
	bgdma_xfer_end(s, fifo);
	bgdma_train_step(s, fifo, next);
	return true;
}

/* The same of a message that was sent, and ends later. */
static __always_inline bool bgdma_train_sent(struct bgdma_stream *s)
{
	const u64 *next = bgdma_train_more(s);

	if (!next)
		return false;
	bgdma_stat_add(s->stats.packets, 1);
	bgdma_train_step(s, container_of(s, struct bgdma_inj_fifo, s), next);
	return true;
}

#endif /* _BGDMA_TRAIN_H */
