// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Injection FIFOs and remote-get queues: what is not inline.
 */
#include <errno.h>
#include <stdlib.h>

#include "internal.h"

#define ENTRIES_DEFAULT		256
#define QUOTA_DEFAULT		32
#define SENDERS_DEFAULT		16

static void inj_init(struct bgdma_inj_fifo *fifo, struct bgdma_ctx *ctx,
		     const struct bgdma_inj_create *create, void *ring)
{
	char *user = ctx->area[BGDMA_AREA_USER_CTL];
	char *kern = ctx->area[BGDMA_AREA_KERN_CTL];
	struct bgdma_inj_view *v = &fifo->view;
	uint32_t id = create->id;

	user += ctx->uapi.user_inj;
	kern += ctx->uapi.kern_inj;
	v->ring = ring;
	v->mask = create->entries - 1;
	v->user = (struct bgdma_inj_user *)(void *)user + id;
	v->kern = (struct bgdma_inj_kern *)(void *)kern + id;
	v->doorbell = &ctx->view.user->doorbell[id / 64];
	v->bit = 1ULL << id % 64;
	v->wake = &ctx->view.kern->wake;
	v->ctx = ctx;
	v->id = id;
	v->head = bgdma_load_relaxed(&v->kern->head);
	v->tail = bgdma_load_relaxed(&v->user->tail);
	fifo->record = ctx_record(ctx, ctx->uapi.rec_inj, id);
	object_init(&fifo->object, ctx, fifo, ring, (size_t)create->ring.bytes);
}

int bgdma_inj_create_sized(struct bgdma_ctx *ctx,
			   const struct bgdma_inj_attr *attr, size_t size,
			   struct bgdma_inj_fifo **fifop)
{
	struct bgdma_inj_create create = { .size = sizeof(create) };
	struct bgdma_inj_fifo *fifo;
	struct bgdma_inj_attr a;
	void *ring;
	int ret;

	ret = attr_copy(&a, sizeof(a), attr, size);
	if (ret)
		return ret;
	fifo = calloc(1, sizeof(*fifo));
	if (!fifo)
		return -ENOMEM;
	create.id = a.fixed_id ? a.id : BGDMA_ID_ANY;
	create.entries = a.entries ? a.entries : ENTRIES_DEFAULT;
	ret = ctx_ioctl(ctx, BGDMA_IOC_INJ_CREATE, &create);
	if (!ret)
		ret = ctx_fifo_map(ctx, BGDMA_KIND_INJ_FIFO, create.id,
				   &create.ring, &ring);
	if (ret) {
		free(fifo);
		return ret;
	}
	inj_init(fifo, ctx, &create, ring);
	*fifop = fifo;
	return 0;
}

int bgdma_inj_destroy(struct bgdma_inj_fifo *fifo)
{
	if (!fifo)
		return 0;
	return ctx_fifo_end(&fifo->object, BGDMA_KIND_INJ_FIFO, fifo->view.id);
}

int bgdma_inj_full(struct bgdma_inj_fifo *fifo)
{
	int ret = bgdma_inj_submit(fifo);
	int code = bgdma_inj_error(fifo, NULL);

	if (code)
		return bgdma_code_errno((unsigned int)code);
	return ret ? ret : -EAGAIN;
}

/* What is waited for, and what was seen: another thread may clear the error at once. */
struct inj_target {
	struct bgdma_inj_fifo *fifo;
	uint64_t seq;
	bool ended;
	int code;
	struct bgdma_record record;
};

static bool inj_there(void *arg)
{
	struct inj_target *target = arg;

	/* The engine writes the record before it counts that descriptor as ended. */
	target->ended = bgdma_inj_done(target->fifo) >= target->seq;
	target->code = 0;
	if (bgdma_load_relaxed(&target->fifo->record->code))
		target->code = bgdma_inj_error(target->fifo, &target->record);
	return target->ended || target->code;
}

int bgdma_inj_wait(struct bgdma_inj_fifo *fifo, uint64_t seq,
		   enum bgdma_wait_mode mode, int64_t timeout_ns)
{
	struct inj_target target = { .fifo = fifo, .seq = seq };
	const struct waiter waiter = {
		.ctx = fifo->view.ctx,
		.there = inj_there,
		.arg = &target,
		.condition = bgdma_until_done(fifo, seq),
	};
	int ret = wait_until(&waiter, mode, timeout_ns);

	if (ret && inj_there(&target))
		ret = 0;
	/* The first error is on record: others may be about any descriptor. */
	if (target.code && (!target.ended || target.record.desc_seq < seq ||
			    target.record.lost))
		return bgdma_code_errno((unsigned int)target.code);
	return ret;
}

int bgdma_inj_error(struct bgdma_inj_fifo *fifo, struct bgdma_record *record)
{
	return record_read(fifo->record, record);
}

int bgdma_inj_clear_error(struct bgdma_inj_fifo *fifo, unsigned int flags)
{
	bool index = bgdma_inj_error(fifo, NULL) == BGDMA_E_INDEX;
	struct bgdma_inj_view *v = &fifo->view;
	int ret = ctx_clear_error(v->ctx, BGDMA_KIND_INJ_FIFO, v->id, flags);

	/* It goes on at the tail that the engine saw: so does the producer. */
	if (!ret && (index || (flags & BGDMA_CLEAR_FLUSH))) {
		v->tail = bgdma_load_relaxed(&v->user->tail);
		v->head = v->tail;
	}
	return ret;
}

int bgdma_inj_cancel(struct bgdma_inj_fifo *fifo, uint64_t first, uint64_t last)
{
	struct bgdma_cancel cancel = {
		.size = sizeof(cancel), .fifo = fifo->view.id,
		.first = first, .last = last,
	};
	int ret = ctx_ioctl(fifo->object.ctx, BGDMA_IOC_CANCEL, &cancel);

	return ret ? ret : (int)cancel.cancelled;
}

int bgdma_rgq_create_sized(struct bgdma_ctx *ctx,
			   const struct bgdma_rgq_attr *attr, size_t size,
			   struct bgdma_rget_queue **queuep)
{
	struct bgdma_rgq_create create = { .size = sizeof(create) };
	struct bgdma_rget_queue *queue;
	struct bgdma_rgq_attr a;
	int ret;

	ret = attr_copy(&a, sizeof(a), attr, size);
	if (ret)
		return ret;
	queue = calloc(1, sizeof(*queue));
	if (!queue)
		return -ENOMEM;
	create.id = a.fixed_id ? a.id : BGDMA_ID_ANY;
	create.quota = a.quota ? a.quota : QUOTA_DEFAULT;
	create.senders = a.senders ? a.senders : SENDERS_DEFAULT;
	create.timeout_ms = a.timeout_ms;
	ret = ctx_ioctl(ctx, BGDMA_IOC_RGQ_CREATE, &create);
	if (ret) {
		free(queue);
		return ret;
	}
	queue->id = create.id;
	queue->record = ctx_record(ctx, ctx->uapi.rec_rgq, create.id);
	object_init(&queue->object, ctx, queue, NULL, 0);
	*queuep = queue;
	return 0;
}

int bgdma_rgq_destroy(struct bgdma_rget_queue *queue)
{
	int ret;

	if (!queue)
		return 0;
	ret = ctx_fifo_destroy(queue->object.ctx, BGDMA_KIND_RGET_QUEUE,
			       queue->id);
	object_free(&queue->object);
	return ret;
}

uint16_t bgdma_rgq_id(const struct bgdma_rget_queue *queue)
{
	return (uint16_t)queue->id;
}

struct bgdma_ctx *bgdma_rgq_ctx(const struct bgdma_rget_queue *queue)
{
	return queue->object.ctx;
}

int bgdma_rgq_error(const struct bgdma_rget_queue *queue,
		    struct bgdma_record *record)
{
	return record_read(queue->record, record);
}

int bgdma_rgq_clear_error(struct bgdma_rget_queue *queue, unsigned int flags)
{
	return ctx_clear_error(queue->object.ctx, BGDMA_KIND_RGET_QUEUE,
			       queue->id, flags);
}
