// SPDX-License-Identifier: GPL-2.0
/*
 * Injection FIFOs: rings of descriptors that one process fills. The engine
 * copies a descriptor out once and never looks at the ring again.
 */
#include <linux/log2.h>
#include <linux/poll.h>
#include <linux/slab.h>

#include "../bgdma.h"
#include "busy.h"
#include "counter.h"
#include "ring.h"

/**
 * bgdma_inj_bad_tail() - the tail is further than the ring is long
 * @fifo: owned
 * @tail: as user space wrote it
 */
void bgdma_inj_bad_tail(struct bgdma_inj_fifo *fifo, u64 tail)
{
	struct bgdma_stream *s = &fifo->s;

	memset(&s->x.desc, 0, sizeof(s->x.desc));
	s->x.fault = (struct bgdma_fault) {
		.code = BGDMA_E_INDEX,
		.offset = tail,
		.bound = s->head + fifo->mask + 1,
	};
}

/**
 * bgdma_inj_create() - make an injection FIFO
 * @ctx: owner
 * @arg: BGDMA_IOC_INJ_CREATE's, with an id chosen; @arg->ring is filled in
 * @out: the FIFO, not yet published
 *
 * Context: ctx.lock held.
 * Return: 0, -EINVAL, -ENOMEM or -EINTR.
 */
int bgdma_inj_create(struct bgdma_ctx *ctx, struct bgdma_inj_create *arg,
		     struct bgdma_inj_fifo **out)
{
	u64 bytes = (u64)arg->entries * sizeof(struct bgdma_desc);
	struct bgdma_inj_fifo *fifo;
	int err;

	BUILD_BUG_ON(sizeof(struct bgdma_desc) != 64);

	if (arg->entries < BGDMA_INJ_ENTRIES_MIN ||
	    arg->entries > BGDMA_INJ_ENTRIES_MAX ||
	    !is_power_of_2(arg->entries))
		return -EINVAL;
	fifo = kzalloc(sizeof(*fifo), GFP_KERNEL_ACCOUNT);
	if (!fifo)
		return -ENOMEM;
	err = bgdma_shm_alloc(&fifo->shm, bytes, BGDMA_SHM_WRITABLE);
	if (err) {
		kfree(fifo);
		return err;
	}
	bgdma_stream_init(&fifo->s, ctx, BGDMA_KIND_INJ_FIFO, arg->id, NULL);
	fifo->s.who = ctx->who;
	fifo->s.follow = &fifo->follow;
	fifo->mask = arg->entries - 1;
	fifo->user = &ctx->inj_user[arg->id];
	fifo->kern = &ctx->inj_kern[arg->id];
	fifo->rec = &ctx->inj_rec[arg->id];
	memset(fifo->user, 0, sizeof(*fifo->user));
	memset(fifo->kern, 0, sizeof(*fifo->kern));
	bgdma_record_clear(ctx, fifo->rec, ctx->kctl->inj_error, arg->id);
	arg->ring.offset = bgdma_map_offset(BGDMA_MAP_INJ, arg->id);
	arg->ring.bytes = (u64)fifo->shm.nr << PAGE_SHIFT;
	*out = fifo;
	return 0;
}

/**
 * bgdma_inj_free() - end an injection FIFO
 * @fifo: no longer published; its stream was killed
 */
void bgdma_inj_free(struct bgdma_inj_fifo *fifo)
{
	struct bgdma_ctx *ctx = fifo->s.ctx;

	bgdma_record_clear(ctx, fifo->rec, ctx->kctl->inj_error, fifo->s.id);
	bgdma_shm_free(&fifo->shm);
	kfree_rcu(fifo, rcu);
}

/**
 * bgdma_inj_publish() - show how many descriptors have ended
 * @fifo: owned
 * @done: so many since creation
 */
void bgdma_inj_publish(struct bgdma_inj_fifo *fifo, u64 done)
{
	bgdma_ring_set_done(fifo->kern, done);
	bgdma_inj_tell(fifo);
}

/**
 * bgdma_inj_fail() - stop a FIFO at a descriptor that failed
 * @fifo: FIFO
 * @at: its stream, owned, or one that stands for it; at->x says what and why
 */
void bgdma_inj_fail(struct bgdma_inj_fifo *fifo, const struct bgdma_stream *at)
{
	struct bgdma_stream *s = &fifo->s;
	struct bgdma_event event;
	struct bgdma_record why;

	bgdma_record_of(at, &why);
	event = (struct bgdma_event) {
		.type = BGDMA_EVENT_FIFO_ERROR,
		.code = why.code,
		.peer_rank = why.peer_rank,
		.peer_ctx = why.peer_ctx,
		.kind = BGDMA_KIND_INJ_FIFO,
		.object = s->id,
		.desc_seq = why.desc_seq,
		.transfer_id = why.transfer_id,
		.cookie = le64_to_cpu(at->x.desc.cookie),
		.offset = why.offset,
		.bound = why.bound,
	};
	/* It may be cleared at this moment: all of it is, or nothing. */
	spin_lock(&s->ctx->event_lock);
	bgdma_record_show(s->ctx, fifo->rec, s->ctx->kctl->inj_error, s->id,
			  &why);
	bgdma_stream_error(s, true);
	spin_unlock(&s->ctx->event_lock);
	bgdma_event_post(s->ctx, &event);
}

/* Those that the engine has begun, but for the one that it is at. */
static void bgdma_inj_ended(struct bgdma_inj_fifo *fifo)
{
	struct bgdma_stream *s = &fifo->s;

	/* Those that are on their way have not ended. */
	if (s->tx)
		s->ctx->partition->fabric->ended(s);
	else
		bgdma_inj_publish(fifo, s->head - s->x.active);
}

/**
 * bgdma_inj_clear() - let a FIFO in error go on
 * @fifo: of a context whose lock is held
 * @flush: drop what waits in it
 *
 * Return: 0.
 */
int bgdma_inj_clear(struct bgdma_inj_fifo *fifo, bool flush)
{
	struct bgdma_stream *s = &fifo->s;
	u64 tail;

	bgdma_stream_own(s);
	tail = bgdma_ring_tail(fifo->user);
	/* One that waits looks again, and waits again: see the wake below. */
	bgdma_stream_unpark(s);
	if (flush)
		bgdma_op_cancel(s);
	if (flush || READ_ONCE(fifo->rec->code) == BGDMA_E_INDEX)
		WRITE_ONCE(s->head, tail);
	bgdma_ring_set_head(fifo->kern, s->head);
	spin_lock(&s->ctx->event_lock);
	bgdma_stream_error(s, false);
	bgdma_record_hide(s->ctx, fifo->rec, s->ctx->kctl->inj_error, s->id);
	spin_unlock(&s->ctx->event_lock);
	/* Of what was on its way over links another may have failed. */
	bgdma_inj_ended(fifo);
	bgdma_stream_disown(s);
	bgdma_stream_wake(s);
	return 0;
}

/*
 * A descriptor that was not fetched becomes a NOP and fails its counter; false
 * if it was such a NOP already.
 */
static bool bgdma_inj_drop(struct bgdma_inj_fifo *fifo, u64 seq)
{
	struct bgdma_desc *ring = fifo->shm.addr;
	const struct bgdma_desc nop = bgdma_nop();
	struct bgdma_stream *s = &fifo->s;
	struct bgdma_record why;
	struct bgdma_desc desc;
	int slot;

	bgdma_ring_fetch(&desc, &ring[seq & fifo->mask]);
	if (!memcmp(&desc, &nop, sizeof(desc)))
		return false;
	ring[seq & fifo->mask] = nop;
	if (desc.inj_ctr == cpu_to_le32(BGDMA_NONE))
		return true;
	slot = bgdma_counter_find(s->ctx, BGDMA_INJECTION,
				  le32_to_cpu(desc.inj_ctr), NULL, NULL);
	if (slot < 0)
		return true;
	why = (struct bgdma_record) {
		.code = BGDMA_E_CANCELLED,
		.desc_seq = seq,
		.fifo = s->id,
		.fifo_kind = s->kind,
		.peer_rank = le32_to_cpu(desc.dst_rank),
		.peer_ctx = le16_to_cpu(desc.dst_ctx),
		.bound = le32_to_cpu(desc.length),
	};
	rcu_read_lock();
	bgdma_counter_fail(s->ctx, BGDMA_INJECTION, slot,
			   bgdma_desc_counts(&desc), &why);
	rcu_read_unlock();
	return true;
}

/**
 * bgdma_inj_cancel() - end descriptors that have not ended by themselves
 * @fifo: of a context whose lock is held
 * @arg: BGDMA_IOC_CANCEL's; @arg->cancelled is filled in
 *
 * Return: 0 or -EINVAL.
 */
int bgdma_inj_cancel(struct bgdma_inj_fifo *fifo, struct bgdma_cancel *arg)
{
	struct bgdma_stream *s = &fifo->s;
	u64 seq, tail;

	if (arg->first > arg->last)
		return -EINVAL;
	arg->cancelled = 0;
	bgdma_stream_own(s);
	bgdma_stream_unpark(s);
	if (s->x.active && s->x.seq >= arg->first && s->x.seq <= arg->last) {
		bgdma_op_cancel(s);
		bgdma_inj_ended(fifo);
		arg->cancelled++;
	}
	tail = bgdma_ring_tail(fifo->user);
	if (tail - s->head <= (u64)fifo->mask + 1) {
		for (seq = max(s->head, arg->first);
		     seq < tail && seq <= arg->last; seq++) {
			arg->cancelled += bgdma_inj_drop(fifo, seq);
			cond_resched();
		}
	}
	bgdma_stream_disown(s);
	bgdma_stream_wake(s);
	return 0;
}
