// SPDX-License-Identifier: GPL-2.0
/*
 * Where the user of a context sees what went wrong: error records, one per
 * counter and FIFO, and a ring of events for what has no transfer to report
 * it. Both are read-only to user space. eventfds carry interrupts.
 */
#include <linux/poll.h>
#include <linux/slab.h>

#include "../bgdma.h"
#include "busy.h"
#include "ring.h"

/**
 * bgdma_record_show() - show an error, unless an earlier one is still there
 * @ctx: owner
 * @rec: its record
 * @words: error bits that its object has a bit in
 * @bit: that bit
 * @why: what to show
 *
 * The record and the bit change together, under the lock: an error that comes
 * while an earlier one is cleared is either wiped with it, and was counted as
 * lost, or shown with its bit.
 *
 * Context: ctx.event_lock held.
 * Return: true if it is shown; false if it was only counted as lost.
 */
bool bgdma_record_show(struct bgdma_ctx *ctx, struct bgdma_record *rec,
		       u64 *words, u32 bit, const struct bgdma_record *why)
{
	bool shown = !rec->code;

	BUILD_BUG_ON(sizeof(struct bgdma_record) != 64);

	lockdep_assert_held(&ctx->event_lock);
	if (shown) {
		/* Who sees any of it does not see the code of one before. */
		smp_mb();
		rec->lost = 0;
		rec->desc_seq = why->desc_seq;
		rec->fifo = why->fifo;
		rec->fifo_kind = why->fifo_kind;
		rec->peer_ctx = why->peer_ctx;
		rec->peer_rank = why->peer_rank;
		rec->transfer_id = why->transfer_id;
		rec->offset = why->offset;
		rec->bound = why->bound;
		/* Whoever sees the code sees the rest. */
		smp_store_release(&rec->code, why->code);
		/* And whoever sees the bit sees the code. */
		smp_mb__before_atomic();
		bgdma_ring_set_bit(words, bit);
	} else {
		WRITE_ONCE(rec->lost, rec->lost + 1);
	}
	return shown;
}

/**
 * bgdma_record_set() - bgdma_record_show() with the lock
 * @ctx: owner
 * @rec: its record
 * @words: error bits that its object has a bit in
 * @bit: that bit
 * @why: what to show
 *
 * Return: as bgdma_record_show().
 */
bool bgdma_record_set(struct bgdma_ctx *ctx, struct bgdma_record *rec,
		      u64 *words, u32 bit, const struct bgdma_record *why)
{
	bool shown;

	spin_lock(&ctx->event_lock);
	shown = bgdma_record_show(ctx, rec, words, bit, why);
	spin_unlock(&ctx->event_lock);
	return shown;
}

/**
 * bgdma_record_hide() - make room for the next error
 * @ctx: owner
 * @rec: its record
 * @words: error bits that its object has a bit in
 * @bit: that bit
 *
 * Context: ctx.event_lock held.
 */
void bgdma_record_hide(struct bgdma_ctx *ctx, struct bgdma_record *rec,
		       u64 *words, u32 bit)
{
	lockdep_assert_held(&ctx->event_lock);
	bgdma_ring_clear_bit(words, bit);
	WRITE_ONCE(rec->code, 0);
	WRITE_ONCE(rec->lost, 0);
}

/**
 * bgdma_record_clear() - bgdma_record_hide() with the lock
 * @ctx: owner
 * @rec: its record
 * @words: error bits that its object has a bit in
 * @bit: that bit
 */
void bgdma_record_clear(struct bgdma_ctx *ctx, struct bgdma_record *rec,
			u64 *words, u32 bit)
{
	spin_lock(&ctx->event_lock);
	bgdma_record_hide(ctx, rec, words, bit);
	spin_unlock(&ctx->event_lock);
}

/**
 * bgdma_record_of() - what a stream's failed transfer looks like in a record
 * @s: s->x.fault says why
 * @out: filled in
 */
void bgdma_record_of(const struct bgdma_stream *s, struct bgdma_record *out)
{
	*out = (struct bgdma_record) {
		.code = s->x.fault.code,
		.desc_seq = s->x.seq,
		.fifo = s->id,
		.fifo_kind = s->kind,
		.peer_ctx = le16_to_cpu(s->x.desc.dst_ctx),
		.peer_rank = le32_to_cpu(s->x.desc.dst_rank),
		.transfer_id = s->x.id,
		.offset = s->x.fault.offset,
		.bound = s->x.fault.bound,
	};
}

/*
 * Peers can cause events at will: of those that come with refusals and epochs
 * there is always a quarter of the ring left for others, of those about peers
 * that left an eighth.
 */
static u64 bgdma_event_room(const struct bgdma_ctx *ctx,
			    const struct bgdma_event *event)
{
	u64 entries = (u64)ctx->events_mask + 1;

	switch (event->type) {
	case BGDMA_EVENT_OFFENDER:
	case BGDMA_EVENT_REFUSED:
	case BGDMA_EVENT_EPOCH:
		return entries - entries / 4;
	case BGDMA_EVENT_PEER_DOWN:
		return entries - entries / 8;
	default:
		return entries;
	}
}

/**
 * bgdma_event_post() - append an event
 * @ctx: owner
 * @event: copied; lost, and counted, when the ring is full
 */
void bgdma_event_post(struct bgdma_ctx *ctx, const struct bgdma_event *event)
{
	u64 head;

	BUILD_BUG_ON(sizeof(struct bgdma_event) != 64);

	spin_lock(&ctx->event_lock);
	/* Pairs with the release of the head in the library. */
	head = smp_load_acquire(&ctx->uctl->events_head);
	if (ctx->events_tail - head >= bgdma_event_room(ctx, event)) {
		/* Who sees it sees how full the ring was. */
		smp_store_release(&ctx->kctl->events_lost,
				  ctx->kctl->events_lost + 1);
	} else {
		ctx->events[ctx->events_tail & ctx->events_mask] = *event;
		ctx->events_tail++;
		/* Publishes the event. */
		smp_store_release(&ctx->kctl->events_tail, ctx->events_tail);
	}
	spin_unlock(&ctx->event_lock);

	bgdma_ring_barrier();
	rcu_read_lock();
	bgdma_eventfd_signal(&ctx->event_fd);
	rcu_read_unlock();
	bgdma_ctx_wake(ctx, EPOLLIN | EPOLLPRI);
}

static struct bgdma_eventfd __rcu **
bgdma_eventfd_of(struct bgdma_ctx *ctx, const struct bgdma_event_bind *arg)
{
	u32 slot = BGDMA_HANDLE_SLOT(arg->object);
	struct bgdma_rec_fifo *fifo;
	struct bgdma_counter *c;
	unsigned int kind;

	switch (arg->kind) {
	case BGDMA_KIND_INJ_COUNTER:
	case BGDMA_KIND_REC_COUNTER:
		kind = arg->kind - BGDMA_KIND_INJ_COUNTER;
		if (slot >= ctx->n_ctr[kind])
			return ERR_PTR(-ENOENT);
		c = &ctx->counters[kind][slot];
		if (!c->used)
			return ERR_PTR(-ENOENT);
		if (READ_ONCE(ctx->cells[kind][slot].lease_gen) !=
		    BGDMA_HANDLE_GEN(arg->object))
			return ERR_PTR(-ESTALE);
		return &c->eventfd;
	case BGDMA_KIND_REC_FIFO:
		fifo = arg->object < ctx->n_rec ?
			rcu_dereference_protected(ctx->rec[arg->object],
						  lockdep_is_held(&ctx->lock)) :
			NULL;
		return fifo ? &fifo->eventfd : ERR_PTR(-ENOENT);
	case BGDMA_KIND_EVENTS:
		return arg->object ? ERR_PTR(-EINVAL) : &ctx->event_fd;
	default:
		return ERR_PTR(-EINVAL);
	}
}

/**
 * bgdma_event_bind() - bind or unbind an eventfd
 * @ctx: owner of the object
 * @arg: BGDMA_IOC_EVENT_BIND's
 *
 * Context: ctx.lock held.
 * Return: 0 or the negative errno that the ioctl documents.
 */
int bgdma_event_bind(struct bgdma_ctx *ctx, const struct bgdma_event_bind *arg)
{
	struct bgdma_eventfd __rcu **where;
	struct bgdma_eventfd *efd = NULL;

	lockdep_assert_held(&ctx->lock);
	if (arg->flags || arg->resv || arg->eventfd < -1)
		return -EINVAL;
	where = bgdma_eventfd_of(ctx, arg);
	if (IS_ERR(where))
		return PTR_ERR(where);

	if (arg->eventfd >= 0) {
		efd = bgdma_eventfd_new(arg->eventfd);
		if (IS_ERR(efd))
			return PTR_ERR(efd);
	}
	bgdma_eventfd_drop(where);
	rcu_assign_pointer(*where, efd);
	return 0;
}
