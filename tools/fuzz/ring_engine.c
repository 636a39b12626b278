// SPDX-License-Identifier: GPL-2.0
/*
 * The engine's half of the target "ring": the module's own code, with the rest
 * of the engine as small as it can be.
 */
#include "../../kernel/engine/inj_fifo.c"
#include "../../kernel/engine/train.h"

#include "ring.h"

unsigned int ring_cancelled;

static struct bgdma_ctx ctx;
static struct bgdma_kern_ctl kctl;
static struct bgdma_record record;
static struct bgdma_inj_fifo *fifo;

bool ring_begin(struct ring_fifo *to, uint32_t entries)
{
	struct bgdma_inj_create arg = { .entries = entries };
	int err;

	memset(&ctx, 0, sizeof(ctx));
	ctx.kctl = &kctl;
	ctx.inj_user = &to->user;
	ctx.inj_kern = &to->kern;
	ctx.inj_rec = &record;
	ring_cancelled = 0;
	err = bgdma_inj_create(&ctx, &arg, &fifo);
	if (!err)
		to->ring = fifo->shm.addr;
	else if (err != -EINVAL)
		abort();
	return !err;
}

void ring_end(void)
{
	bgdma_inj_free(fifo);
}

int ring_fetch(struct bgdma_desc *out, uint64_t *seq)
{
	struct bgdma_stream *s = &fifo->s;
	int ret = bgdma_inj_fetch(fifo);

	*seq = s->x.seq;
	if (ret < 0)
		record.code = s->x.fault.code;
	if (ret <= 0)
		return ret;
	bgdma_xfer_begin(s);
	s->x.active = true;
	s->x.train = min_t(u32, s->x.tail - (u32)s->head,
			   BGDMA_TRAIN_MAX);
	*out = s->x.desc;
	return ret;
}

bool ring_train(struct bgdma_desc *out, uint64_t *seq)
{
	struct bgdma_stream *s = &fifo->s;

	if (!s->x.active || !bgdma_train_next(s, 0))
		return false;
	*out = s->x.desc;
	*seq = s->x.seq;
	return true;
}

void ring_done(void)
{
	if (!fifo->s.x.active)
		return;
	fifo->s.x.active = false;
	bgdma_inj_publish(fifo, fifo->s.head);
}

int ring_cancel(uint64_t first, uint64_t last, uint32_t *cancelled)
{
	struct bgdma_cancel arg = { .first = first, .last = last };
	int err = bgdma_inj_cancel(fifo, &arg);

	*cancelled = arg.cancelled;
	return err;
}

void ring_clear(bool flush)
{
	bgdma_inj_clear(fifo, flush);
}

/* ---- What it calls ---------------------------------------------------- */

int bgdma_shm_alloc(struct bgdma_shm *shm, u64 bytes, unsigned int flags)
{
	shm->addr = calloc(1, bytes);
	return shm->addr ? 0 : -ENOMEM;
}

void bgdma_shm_free(struct bgdma_shm *shm)
{
	free(shm->addr);
}

void bgdma_stream_init(struct bgdma_stream *s, struct bgdma_ctx *c, u16 kind,
		       u32 id, int (*fetch)(struct bgdma_stream *s))
{
	s->ctx = c;
	s->kind = kind;
}

void bgdma_stream_own(struct bgdma_stream *s)
{
	if (test_and_set_bit_lock(BGDMA_STREAM_OWNED, &s->flags))
		abort();
}

void bgdma_op_cancel(struct bgdma_stream *s)
{
	ring_cancelled += s->x.active;
	s->x.active = false;
}

void bgdma_record_hide(struct bgdma_ctx *c, struct bgdma_record *rec,
		       u64 *words, u32 bit)
{
	rec->code = 0;
}

void bgdma_record_clear(struct bgdma_ctx *c, struct bgdma_record *rec,
			u64 *words, u32 bit)
{
	bgdma_record_hide(c, rec, words, bit);
}

void bgdma_stream_error(struct bgdma_stream *s, bool error)
{
	if (error)
		set_bit(BGDMA_STREAM_ERROR, &s->flags);
	else
		clear_bit(BGDMA_STREAM_ERROR, &s->flags);
	WRITE_ONCE(fifo->kern->state,
		   error ? BGDMA_FIFO_ERROR : BGDMA_FIFO_RUNNING);
}

/* Counters are not there, so descriptors are not counted. */
int bgdma_counter_find(struct bgdma_ctx *c, unsigned int kind, u32 handle,
		       const struct bgdma_principal *who, u64 *memo)
{
	return -BGDMA_E_COUNTER;
}
