// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Channels: injection FIFOs that remember whose each descriptor is. All of an
 * epoch goes through one, in order (EP-1).
 */
#include <stdlib.h>

#include "internal.h"

#define SCRATCH		64
#define PATIENT_NS	20000000

static uint64_t gets_bytes(const struct bgdma_rma *rma)
{
	return (uint64_t)rma->attr.entries * BGDMA_RGET_DESC_MAX *
	       sizeof(struct bgdma_desc);
}

uint64_t rma_channel_bytes(const struct bgdma_rma *rma)
{
	return gets_bytes(rma) + SCRATCH;
}

int rma_channel_create(struct bgdma_rma *rma, struct channel *ch,
		       uint32_t index)
{
	const struct bgdma_inj_attr attr = { .entries = rma->attr.entries };
	char *memory = bgdma_region_addr(rma->memory);
	int ret;

	ret = bgdma_inj_create(rma->ctx, &attr, &ch->fifo);
	if (ret)
		return ret;
	ch->sent = calloc(rma->attr.entries, sizeof(*ch->sent));
	if (!ch->sent)
		return -ENOMEM;
	ch->rma = rma;
	ch->mask = rma->attr.entries - 1;
	ch->gets_at = index * rma_channel_bytes(rma);
	ch->gets = (struct bgdma_desc *)(void *)(memory + ch->gets_at);
	ch->scratch = ch->gets_at + gets_bytes(rma);
	return 0;
}

/* Some failed that the FIFO does not show: nobody knows whose. */
static void channel_doubt(struct bgdma_rma *rma, const struct channel *ch)
{
	const struct bgdma_window *window;
	struct bgdma_rma_epoch *e;

	for_each_epoch(e, window, rma) {
		if (e->ch != ch)
			continue;
		epoch_fail(e, BGDMA_E_ABORTED);
		gets_doubt(rma, e->target, ANY_QUEUE, BGDMA_OK);
	}
}

/* A get that the target's queue does not take; it may have dropped others. */
static void get_failed(struct bgdma_rma_epoch *e, const struct sent *sent,
		       uint32_t code)
{
	bgdma_counter_add(gets_counter(e, sent->kind - SENT_GET),
			  -(int64_t)sent->count);
	gets_doubt(e->rma, e->target, ANY_QUEUE, code);
}

/* One after the other: clearing lets the FIFO run into the next. */
void rma_channel_repair(struct channel *ch)
{
	struct bgdma_record record;
	struct bgdma_rma_epoch *e;
	struct sent sent;

	while (bgdma_unlikely(bgdma_inj_state(ch->fifo) == BGDMA_FIFO_ERROR) &&
	       bgdma_inj_error(ch->fifo, &record)) {
		sent = ch->sent[record.desc_seq & ch->mask];
		if (bgdma_inj_clear_error(ch->fifo, 0))
			break;
		e = sent.epoch;
		if (bgdma_unlikely(record.lost) && e)
			channel_doubt(e->rma, ch);
		if (e && sent.kind == SENT_MARK)
			gets_mark_failed(e->rma, sent.count, record.code);
		if (!e || e->serial != sent.serial)
			continue;
		if (sent.kind >= SENT_GET)
			get_failed(e, &sent, record.code);
		/* In whatever order they failed. */
		if (e->failed_seq <= record.desc_seq) {
			e->failed_seq = record.desc_seq + 1;
			e->failed_code = record.code;
		}
		epoch_fail(e, record.code);
	}
}

int rma_channel_submit(struct channel *ch)
{
	const struct bgdma_inj_view *v = bgdma_inj_view(ch->fifo);

	if (bgdma_load_relaxed(&v->user->tail) == v->tail)
		return 0;
	return rma_channel_ring(ch);
}

int rma_channel_wait(struct bgdma_rma *rma, struct channel *ch, uint64_t seq)
{
	bool stopped;
	int ret;

	for (;;) {
		ret = 0;
		if (bgdma_inj_done(ch->fifo) < seq)
			ret = bgdma_inj_wait(ch->fifo, seq,
					     BGDMA_SPIN_THEN_SLEEP, PATIENT_NS);
		/* The last of them may be the one that failed. */
		stopped = bgdma_inj_state(ch->fifo) == BGDMA_FIFO_ERROR;
		if (bgdma_unlikely(stopped)) {
			rma_lock(rma);
			rma_channel_repair(ch);
			rma_unlock(rma);
		}
		if (bgdma_likely(!ret && !stopped))
			return 0;
		if (ret == -ENODEV || bgdma_ctx_dead(rma->ctx))
			return -ENODEV;
		/* It may be behind a mark, which is a packet to us. */
		if (ret == -ETIMEDOUT)
			(void)bgdma_endpoint_progress(rma->ep, 0);
	}
}

bool rma_channel_has_room(struct channel *ch)
{
	uint64_t done = bgdma_inj_done(ch->fifo);

	/*
	 * The one, then the other: what failed before shows by now. Who has its slot
	 * next must not take its blame.
	 */
	rma_channel_repair(ch);
	ch->done = done;
	return bgdma_inj_next(ch->fifo) - done <= ch->mask;
}

int rma_channel_room_wait(struct channel *ch)
{
	int ret = 0;

	while (!ret && !rma_channel_has_room(ch)) {
		ret = rma_channel_submit(ch);
		if (!ret)
			ret = rma_channel_wait(ch->rma, ch,
					       bgdma_inj_next(ch->fifo) -
					       ch->mask);
	}
	return ret;
}

int rma_channel_take(struct bgdma_rma_epoch *e, enum sent_kind kind,
		     uint32_t count, struct bgdma_desc **desc)
{
	struct channel *ch = e->ch;
	uint64_t next = bgdma_inj_next(ch->fifo);
	struct sent *sent = &ch->sent[next & ch->mask];

	/* What had the slot has ended: its gets were read until then. */
	*desc = bgdma_inj_reserve(ch->fifo);
	if (bgdma_unlikely(!*desc))
		return -ENODEV;
	sent->epoch = e;
	sent->serial = e->serial;
	sent->kind = kind;
	sent->count = count;
	e->seq = next + 1;
	return 0;
}
