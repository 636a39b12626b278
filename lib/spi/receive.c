// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Reception FIFOs and events: what is not inline.
 */
#include <errno.h>
#include <stdlib.h>

#include "internal.h"

#define BYTES_DEFAULT		65536

static void rec_init(struct bgdma_rec_fifo *fifo, struct bgdma_ctx *ctx,
		     const struct bgdma_rec_create *create, void *ring)
{
	char *user = ctx->area[BGDMA_AREA_USER_CTL];
	char *kern = ctx->area[BGDMA_AREA_KERN_CTL];
	struct bgdma_rec_view *v = &fifo->view;
	uint32_t id = create->id;

	user += ctx->uapi.user_rec;
	kern += ctx->uapi.kern_rec;
	v->ring = ring;
	v->mask = create->bytes - 1;
	v->user = (struct bgdma_rec_user *)(void *)user + id;
	v->kern = (struct bgdma_rec_kern *)(void *)kern + id;
	v->doorbell = &ctx->view.user->doorbell_rec;
	v->bit = 1ULL << id;
	v->wake = &ctx->view.kern->wake;
	v->ctx = ctx;
	v->id = id;
	v->cursor = bgdma_load_relaxed(&v->user->head);
	v->released = v->cursor;
	v->tail = v->cursor;
	v->marked = bgdma_load_relaxed(&v->user->marked_seen);
	fifo->record = ctx_record(ctx, ctx->uapi.rec_rec, id);
	object_init(&fifo->object, ctx, fifo, ring, (size_t)create->ring.bytes);
}

int bgdma_rec_create_sized(struct bgdma_ctx *ctx,
			   const struct bgdma_rec_attr *attr, size_t size,
			   struct bgdma_rec_fifo **fifop)
{
	struct bgdma_rec_create create = { .size = sizeof(create) };
	struct bgdma_rec_fifo *fifo;
	struct bgdma_rec_attr a;
	void *ring;
	int ret;

	ret = attr_copy(&a, sizeof(a), attr, size);
	if (ret)
		return ret;
	fifo = calloc(1, sizeof(*fifo));
	if (!fifo)
		return -ENOMEM;
	create.id = a.fixed_id ? a.id : BGDMA_ID_ANY;
	create.bytes = a.bytes ? a.bytes : BYTES_DEFAULT;
	ret = ctx_ioctl(ctx, BGDMA_IOC_REC_CREATE, &create);
	if (!ret)
		ret = ctx_fifo_map(ctx, BGDMA_KIND_REC_FIFO, create.id,
				   &create.ring, &ring);
	if (ret) {
		free(fifo);
		return ret;
	}
	rec_init(fifo, ctx, &create, ring);
	*fifop = fifo;
	return 0;
}

int bgdma_rec_destroy(struct bgdma_rec_fifo *fifo)
{
	if (!fifo)
		return 0;
	return ctx_fifo_end(&fifo->object, BGDMA_KIND_REC_FIFO, fifo->view.id);
}

static bool rec_there(void *arg)
{
	const struct bgdma_rec_fifo *fifo = arg;

	return bgdma_rec_peek(arg) || bgdma_load_relaxed(&fifo->record->code);
}

int bgdma_rec_wait(struct bgdma_rec_fifo *fifo, enum bgdma_wait_mode mode,
		   int64_t timeout_ns)
{
	const struct waiter waiter = {
		.ctx = fifo->view.ctx,
		.there = rec_there,
		.arg = fifo,
		.condition = bgdma_until_packet(fifo),
	};
	int ret = wait_until(&waiter, mode, timeout_ns);
	int code = bgdma_rec_error(fifo, NULL);

	/* What arrived before an error can still be read. */
	if (bgdma_rec_peek(fifo))
		return 0;
	return code ? bgdma_code_errno((unsigned int)code) : ret;
}

int bgdma_rec_error(struct bgdma_rec_fifo *fifo, struct bgdma_record *record)
{
	return record_read(fifo->record, record);
}

int bgdma_rec_clear_error(struct bgdma_rec_fifo *fifo, unsigned int flags)
{
	struct bgdma_rec_view *v = &fifo->view;
	uint64_t end = bgdma_load_relaxed(&v->kern->tail);

	/*
	 * Flushed here rather than by the kernel, so that marked packets are
	 * counted as seen. The release also repairs a head that was wrong.
	 */
	if (flags & ~BGDMA_CLEAR_FLUSH)
		return -EINVAL;
	if (flags & BGDMA_CLEAR_FLUSH)
		while (v->cursor != end && bgdma_rec_peek(fifo))
			bgdma_rec_next(fifo);
	(void)bgdma_rec_release(fifo);
	return ctx_clear_error(v->ctx, BGDMA_KIND_REC_FIFO, v->id, 0);
}

int bgdma_rec_eventfd(struct bgdma_rec_fifo *fifo, int eventfd)
{
	return ctx_eventfd(fifo->object.ctx, BGDMA_KIND_REC_FIFO, fifo->view.id,
			   eventfd);
}

const struct bgdma_event *bgdma_event_peek(struct bgdma_ctx *ctx)
{
	uint64_t head = bgdma_load_relaxed(&ctx->view.user->events_head);

	if (head == bgdma_load_acquire(&ctx->view.kern->events_tail))
		return NULL;
	return &ctx->events[head & ctx->events_mask];
}

void bgdma_event_release(struct bgdma_ctx *ctx)
{
	__u64 *head = &ctx->view.user->events_head;

	bgdma_store_release(head, bgdma_load_relaxed(head) + 1);
}

uint64_t bgdma_events_lost(const struct bgdma_ctx *ctx)
{
	return bgdma_load_relaxed(&ctx->view.kern->events_lost);
}

int bgdma_events_eventfd(struct bgdma_ctx *ctx, int eventfd)
{
	return ctx_eventfd(ctx, BGDMA_KIND_EVENTS, 0, eventfd);
}
