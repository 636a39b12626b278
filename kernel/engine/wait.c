// SPDX-License-Identifier: GPL-2.0
/*
 * Sleeping for a context. Readiness is level, never edge: a waiter arms, looks
 * again, sleeps; whoever changes something looks for sleepers after a full
 * barrier (engine/ring.h). Nothing here is believed by the engine.
 */
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>

#include "../bgdma.h"
#include "ring.h"

static bool bgdma_counters_ready(struct bgdma_ctx *ctx, unsigned int kind)
{
	u32 w;

	for (w = 0; w < DIV_ROUND_UP(ctx->n_ctr[kind], 64); w++) {
		u64 there = READ_ONCE(ctx->uctl->hit_zero[kind][w]) |
			    READ_ONCE(ctx->kctl->counter_error[kind][w]);

		if (there & READ_ONCE(ctx->uctl->enable[kind][w]))
			return true;
	}
	return false;
}

/**
 * bgdma_ctx_ready() - has a context an interrupt that is not dealt with?
 * @ctx: attached
 *
 * An enabled counter that was hit or is in error, a reception FIFO that holds
 * what it is armed for, or an event that was not read.
 */
bool bgdma_ctx_ready(struct bgdma_ctx *ctx)
{
	bool ready = false;
	u32 i;

	if (READ_ONCE(ctx->kctl->events_tail) !=
	    READ_ONCE(ctx->uctl->events_head))
		return true;
	if (bgdma_counters_ready(ctx, BGDMA_INJECTION) ||
	    bgdma_counters_ready(ctx, BGDMA_RECEPTION))
		return true;

	rcu_read_lock();
	for (i = 0; i < ctx->n_rec && !ready; i++) {
		struct bgdma_rec_fifo *fifo = rcu_dereference(ctx->rec[i]);

		ready = fifo && bgdma_rec_armed(fifo);
	}
	rcu_read_unlock();
	return ready;
}

static bool bgdma_is_counter(const struct bgdma_condition *cond)
{
	return cond->kind == BGDMA_KIND_INJ_COUNTER ||
	       cond->kind == BGDMA_KIND_REC_COUNTER;
}

/**
 * bgdma_condition_arm() - have software's own adds tell of a counter
 * @ctx: owner
 * @cond: found good by bgdma_condition_test()
 * @by: 1 before sleeping, -1 after
 *
 * The cell's memory lives as long as the context, whatever happens to the
 * counter meanwhile.
 */
void bgdma_condition_arm(struct bgdma_ctx *ctx,
			 const struct bgdma_condition *cond, int by)
{
	unsigned int kind = cond->kind - BGDMA_KIND_INJ_COUNTER;
	u32 slot = BGDMA_HANDLE_SLOT(cond->object);

	if (bgdma_is_counter(cond) && slot < ctx->n_ctr[kind])
		atomic_add(by, (atomic_t *)&ctx->cells[kind][slot].arm);
}

static int bgdma_counter_test(struct bgdma_ctx *ctx,
			      const struct bgdma_condition *cond)
{
	unsigned int kind = cond->kind - BGDMA_KIND_INJ_COUNTER;
	int slot;

	if (cond->value)
		return -EINVAL;
	slot = bgdma_counter_find(ctx, kind, cond->object, NULL, NULL);
	if (slot == -BGDMA_E_STALE)
		return -ESTALE;
	if (slot < 0)
		return -ENOENT;
	return bgdma_counter_there(ctx, kind, slot);
}

static int bgdma_fifo_test(struct bgdma_ctx *ctx,
			   const struct bgdma_condition *cond)
{
	struct bgdma_inj_fifo *inj;
	struct bgdma_rec_fifo *rec;
	int ret = -ENOENT;

	rcu_read_lock();
	if (cond->kind == BGDMA_KIND_INJ_FIFO) {
		inj = cond->object < ctx->n_inj ?
			rcu_dereference(ctx->inj[cond->object]) : NULL;
		if (inj)
			ret = READ_ONCE(inj->kern->done) >= cond->value ||
			      READ_ONCE(inj->rec->code);
	} else {
		rec = cond->object < ctx->n_rec ?
			rcu_dereference(ctx->rec[cond->object]) : NULL;
		if (rec)
			ret = bgdma_rec_used(rec) > cond->value ||
			      READ_ONCE(rec->rec->code);
	}
	rcu_read_unlock();
	return ret;
}

/**
 * bgdma_condition_test() - does a condition hold?
 * @ctx: attached
 * @cond: copied from user space
 *
 * Return: 1 yes, 0 no, -EINVAL, -ENOENT or -ESTALE.
 */
int bgdma_condition_test(struct bgdma_ctx *ctx,
			 const struct bgdma_condition *cond)
{
	switch (cond->kind) {
	case BGDMA_KIND_INJ_COUNTER:
	case BGDMA_KIND_REC_COUNTER:
		return bgdma_counter_test(ctx, cond);
	case BGDMA_KIND_INJ_FIFO:
	case BGDMA_KIND_REC_FIFO:
		return bgdma_fifo_test(ctx, cond);
	case BGDMA_KIND_EVENTS:
		if (cond->object)
			return -EINVAL;
		return READ_ONCE(ctx->kctl->events_tail) > cond->value;
	default:
		return -EINVAL;
	}
}

/* Index of the first condition that holds, -EAGAIN for none, or an error. */
static int bgdma_conditions_test(struct bgdma_ctx *ctx,
				 const struct bgdma_condition *cond, u32 count)
{
	int first = -EAGAIN;
	u32 i;

	if (READ_ONCE(ctx->dead))
		return -ENODEV;
	/* A bad one is an error, whatever the others say. */
	for (i = 0; i < count; i++) {
		int ret = bgdma_condition_test(ctx, &cond[i]);

		if (ret < 0)
			return ret;
		if (ret && first < 0)
			first = i;
	}
	return first;
}

/**
 * struct bgdma_sleeper - who sleeps for conditions
 * @entry: in the queue of its context
 * @ctx: the context
 * @cond: conditions
 * @count: of them
 */
struct bgdma_sleeper {
	struct wait_queue_entry entry;
	struct bgdma_ctx *ctx;
	const struct bgdma_condition *cond;
	u32 count;
};

/*
 * Something has changed: whoever changed it looks whether that is what he waits
 * for, which is less work than to wake him so that he looks himself.
 */
static int bgdma_sleeper_wake(struct wait_queue_entry *entry, unsigned int mode,
			      int flags, void *key)
{
	struct bgdma_sleeper *sleeper =
		container_of(entry, struct bgdma_sleeper, entry);

	if (bgdma_conditions_test(sleeper->ctx, sleeper->cond,
				  sleeper->count) == -EAGAIN)
		return 0;
	return autoremove_wake_function(entry, mode, flags, key);
}

/**
 * bgdma_wait() - sleep until one of some conditions holds
 * @ctx: attached
 * @cond: copied from user space
 * @count: of them
 * @timeout_ns: from now; negative: for ever; 0: only look
 * @ready: index of the first that holds
 *
 * Return: 0 or the negative errno that BGDMA_IOC_WAIT documents.
 */
int bgdma_wait(struct bgdma_ctx *ctx, const struct bgdma_condition *cond,
	       u32 count, s64 timeout_ns, u32 *ready)
{
	ktime_t until = timeout_ns < 0 ? 0 :
			ktime_add_safe(ktime_get(), ns_to_ktime(timeout_ns));
	struct bgdma_sleeper sleeper = {
		.ctx = ctx, .cond = cond, .count = count,
	};
	u32 i;
	int ret;

	ret = bgdma_conditions_test(ctx, cond, count);
	if (ret != -EAGAIN || !timeout_ns)
		goto out;

	init_wait(&sleeper.entry);
	sleeper.entry.func = bgdma_sleeper_wake;
	for (i = 0; i < count; i++)
		bgdma_condition_arm(ctx, &cond[i], 1);
	atomic_inc(&ctx->waiting);
	for (;;) {
		int timed_out = -EINTR;

		/* A full barrier: armed above, looked at below. */
		prepare_to_wait(&ctx->wq, &sleeper.entry, TASK_INTERRUPTIBLE);
		ret = bgdma_conditions_test(ctx, cond, count);
		if (ret != -EAGAIN)
			break;
		ret = -EINTR;
		if (signal_pending(current))
			break;
		timed_out = schedule_hrtimeout(timeout_ns < 0 ? NULL : &until,
					       HRTIMER_MODE_ABS);
		if (!timed_out) {
			ret = bgdma_conditions_test(ctx, cond, count);
			break;
		}
	}
	finish_wait(&ctx->wq, &sleeper.entry);
	atomic_dec(&ctx->waiting);
	for (i = 0; i < count; i++)
		bgdma_condition_arm(ctx, &cond[i], -1);
out:
	if (ret == -EAGAIN)
		return -ETIME;
	if (ret < 0)
		return ret;
	*ready = ret;
	return 0;
}
