// SPDX-License-Identifier: GPL-2.0
/*
 * A context: one open file's share of a node. It ends in two steps. Detaching
 * unpublishes it and tells its peers; anybody may do that, and it waits for
 * nobody. Releasing waits for the last pieces that touch it and frees what it
 * held; its own file does that, or the end of its process (process.c).
 */
#include <linux/kcov.h>
#include <linux/log2.h>
#include <linux/memcontrol.h>
#include <linux/poll.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "../bgdma.h"
#include "busy.h"
#include "engine.h"
#include "group.h"
#include "process.h"
#include "ring.h"

/**
 * bgdma_ctx_init() - make a context, not attached, with one reference
 * @ctx: all zero, and the beginning of what kfree() takes
 */
void bgdma_ctx_init(struct bgdma_ctx *ctx)
{
	kref_init(&ctx->ref);
	mutex_init(&ctx->lock);
	mutex_init(&ctx->map_lock);
	mutex_init(&ctx->detach_lock);
	bgdma_ctx_wake_init(ctx);
	spin_lock_init(&ctx->event_lock);
	bgdma_regions_init(ctx);
	INIT_LIST_HEAD(&ctx->gates);
	INIT_LIST_HEAD(&ctx->runnable);
	INIT_LIST_HEAD(&ctx->rq_node);
	INIT_LIST_HEAD(&ctx->poll_node);
	INIT_LIST_HEAD(&ctx->process_node);
	INIT_LIST_HEAD(&ctx->groups);
}

/**
 * bgdma_ctx_new() - a context for an open file, not attached
 *
 * Return: the context with one reference, or NULL.
 */
struct bgdma_ctx *bgdma_ctx_new(void)
{
	struct bgdma_ctx *ctx = kzalloc(sizeof(*ctx), GFP_KERNEL_ACCOUNT);

	if (!ctx)
		return NULL;
	bgdma_ctx_init(ctx);
	ctx->kcov_handle = kcov_common_handle();
	return ctx;
}

static void bgdma_ctx_free(struct kref *ref)
{
	struct bgdma_ctx *ctx = container_of(ref, struct bgdma_ctx, ref);

	kfree_rcu(ctx, rcu);
}

/**
 * bgdma_ctx_put() - drop a reference on the memory of a context
 * @ctx: which
 *
 * Context: any.
 */
void bgdma_ctx_put(struct bgdma_ctx *ctx)
{
	kref_put(&ctx->ref, bgdma_ctx_free);
}

/* Defaults and limits of what was asked for. */
static int bgdma_attach_sizes(struct bgdma_ctx *ctx, struct bgdma_attach *arg)
{
	if (!arg->inj_fifos)
		arg->inj_fifos = 16;
	if (!arg->rec_fifos)
		arg->rec_fifos = 8;
	if (!arg->rget_queues)
		arg->rget_queues = 4;
	if (!arg->inj_counters)
		arg->inj_counters = 64;
	if (!arg->rec_counters)
		arg->rec_counters = 64;
	if (!arg->events)
		arg->events = 64;

	if (arg->inj_fifos > BGDMA_INJ_FIFOS_MAX ||
	    arg->rec_fifos > BGDMA_REC_FIFOS_MAX ||
	    arg->rget_queues > BGDMA_RGET_QUEUES_MAX ||
	    arg->inj_counters > BGDMA_COUNTERS_MAX ||
	    arg->rec_counters > BGDMA_COUNTERS_MAX ||
	    arg->events > BGDMA_EVENTS_MAX || !is_power_of_2(arg->events))
		return -EINVAL;

	ctx->n_inj = arg->inj_fifos;
	ctx->n_rec = arg->rec_fifos;
	ctx->n_rgq = arg->rget_queues;
	ctx->n_ctr[BGDMA_INJECTION] = arg->inj_counters;
	ctx->n_ctr[BGDMA_RECEPTION] = arg->rec_counters;
	ctx->events_mask = arg->events - 1;
	return 0;
}

/* Lay out the shared areas; returns the bytes of each. */
static void bgdma_attach_layout(struct bgdma_attach *arg,
				u64 bytes[BGDMA_AREA_COUNT])
{
	u32 rec_size = sizeof(struct bgdma_record);

	arg->user_inj = sizeof(struct bgdma_user_ctl);
	arg->user_rec = arg->user_inj +
			arg->inj_fifos * sizeof(struct bgdma_inj_user);
	bytes[BGDMA_AREA_USER_CTL] = arg->user_rec +
			arg->rec_fifos * sizeof(struct bgdma_rec_user);

	arg->kern_inj = sizeof(struct bgdma_kern_ctl);
	arg->kern_rec = arg->kern_inj +
			arg->inj_fifos * sizeof(struct bgdma_inj_kern);
	bytes[BGDMA_AREA_KERN_CTL] = arg->kern_rec +
			arg->rec_fifos * sizeof(struct bgdma_rec_kern);

	arg->cells[BGDMA_INJECTION] = 0;
	arg->cells[BGDMA_RECEPTION] =
			arg->inj_counters * sizeof(struct bgdma_counter_cell);
	bytes[BGDMA_AREA_COUNTERS] = arg->cells[BGDMA_RECEPTION] +
			arg->rec_counters * sizeof(struct bgdma_counter_cell);

	arg->rec_counter_inj = 0;
	arg->rec_counter_rec = arg->inj_counters * rec_size;
	arg->rec_inj = arg->rec_counter_rec + arg->rec_counters * rec_size;
	arg->rec_rec = arg->rec_inj + arg->inj_fifos * rec_size;
	arg->rec_rgq = arg->rec_rec + arg->rec_fifos * rec_size;
	bytes[BGDMA_AREA_RECORDS] = arg->rec_rgq + arg->rget_queues * rec_size;

	bytes[BGDMA_AREA_EVENTS] = arg->events * sizeof(struct bgdma_event);
}

static int bgdma_attach_areas(struct bgdma_ctx *ctx, struct bgdma_attach *arg)
{
	u64 bytes[BGDMA_AREA_COUNT];
	u32 i;
	int err;

	BUILD_BUG_ON(sizeof(struct bgdma_user_ctl) % 64);
	BUILD_BUG_ON(sizeof(struct bgdma_kern_ctl) % 64);

	bgdma_attach_layout(arg, bytes);
	for (i = 0; i < BGDMA_AREA_COUNT; i++) {
		bool writable = i == BGDMA_AREA_USER_CTL ||
				i == BGDMA_AREA_COUNTERS;

		err = bgdma_shm_alloc(&ctx->area[i], bytes[i],
				      writable ? BGDMA_SHM_WRITABLE : 0);
		if (err)
			return err;
		arg->areas[i].offset = bgdma_map_offset(BGDMA_MAP_AREA, i);
		arg->areas[i].bytes = (u64)ctx->area[i].nr << PAGE_SHIFT;
	}

	ctx->uctl = ctx->area[BGDMA_AREA_USER_CTL].addr;
	ctx->inj_user = (void *)ctx->uctl + arg->user_inj;
	ctx->rec_user = (void *)ctx->uctl + arg->user_rec;
	ctx->kctl = ctx->area[BGDMA_AREA_KERN_CTL].addr;
	ctx->inj_kern = (void *)ctx->kctl + arg->kern_inj;
	ctx->rec_kern = (void *)ctx->kctl + arg->kern_rec;
	for (i = 0; i < 2; i++)
		ctx->cells[i] = ctx->area[BGDMA_AREA_COUNTERS].addr +
				arg->cells[i];
	ctx->counter_rec[BGDMA_INJECTION] =
		ctx->area[BGDMA_AREA_RECORDS].addr + arg->rec_counter_inj;
	ctx->counter_rec[BGDMA_RECEPTION] =
		ctx->area[BGDMA_AREA_RECORDS].addr + arg->rec_counter_rec;
	ctx->inj_rec = ctx->area[BGDMA_AREA_RECORDS].addr + arg->rec_inj;
	ctx->rec_rec = ctx->area[BGDMA_AREA_RECORDS].addr + arg->rec_rec;
	ctx->rgq_rec = ctx->area[BGDMA_AREA_RECORDS].addr + arg->rec_rgq;
	ctx->events = ctx->area[BGDMA_AREA_EVENTS].addr;
	WRITE_ONCE(ctx->kctl->wake, BGDMA_NEED_WAKEUP);
	WRITE_ONCE(ctx->kctl->state, BGDMA_STATE_ATTACHED);
	return 0;
}

static int bgdma_attach_tables(struct bgdma_ctx *ctx)
{
	u32 i;

	ctx->inj = kvcalloc(ctx->n_inj, sizeof(*ctx->inj), GFP_KERNEL_ACCOUNT);
	ctx->rec = kcalloc(ctx->n_rec, sizeof(*ctx->rec), GFP_KERNEL_ACCOUNT);
	ctx->rgq = kcalloc(ctx->n_rgq, sizeof(*ctx->rgq), GFP_KERNEL_ACCOUNT);
	if (!ctx->inj || !ctx->rec || !ctx->rgq)
		return -ENOMEM;
	for (i = 0; i < 2; i++) {
		ctx->counters[i] = kvcalloc(ctx->n_ctr[i],
					    sizeof(*ctx->counters[i]),
					    GFP_KERNEL_ACCOUNT);
		if (!ctx->counters[i])
			return -ENOMEM;
	}
	return 0;
}

/* What attaching allocated, in a context that nobody can find any more. */
static void bgdma_ctx_clear(struct bgdma_ctx *ctx)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		kvfree(ctx->counters[i]);
		ctx->counters[i] = NULL;
	}
	kvfree(ctx->inj);
	kfree(ctx->rec);
	kfree(ctx->rgq);
	ctx->inj = NULL;
	ctx->rec = NULL;
	ctx->rgq = NULL;
	for (i = 0; i < BGDMA_AREA_COUNT; i++)
		bgdma_shm_free(&ctx->area[i]);
	if (ctx->user)
		bgdma_engine_leave(ctx->user);
	ctx->user = NULL;
	if (ctx->mm)
		mmdrop(ctx->mm);
	ctx->mm = NULL;
	mem_cgroup_put(ctx->memcg);
	ctx->memcg = NULL;
}

/**
 * bgdma_ctx_attach() - make a context one of a node
 * @ctx: not attached; the reference on ctx.partition is the caller's
 * @arg: BGDMA_IOC_ATTACH's; outputs are filled in
 *
 * Then comes bgdma_partition_publish() or bgdma_ctx_abandon().
 *
 * Context: ctx.lock held; by the process that will use it.
 * Return: 0 or the negative errno that the ioctl documents.
 */
int bgdma_ctx_attach(struct bgdma_ctx *ctx, struct bgdma_attach *arg)
{
	struct bgdma_partition *part = ctx->partition;
	u16 want = arg->ctx;
	int err;

	lockdep_assert_held(&ctx->lock);
	err = bgdma_attach_sizes(ctx, arg);
	if (err)
		return err;
	ctx->user = bgdma_engine_join(current_euid(), part->max_contexts);
	if (IS_ERR(ctx->user)) {
		err = PTR_ERR(ctx->user);
		ctx->user = NULL;
		return err;
	}
	ctx->rank = arg->rank;
	ctx->watch = arg->flags & BGDMA_ATTACH_WATCH;
	ctx->mm = current->mm;
	mmgrab(ctx->mm);
	ctx->memcg = get_mem_cgroup_from_mm(ctx->mm);
	ctx->files = current->files;
	ctx->tgid = current->tgid;
	err = bgdma_process_join(ctx);
	if (err)
		goto clear;
	err = bgdma_attach_areas(ctx, arg);
	if (err)
		goto leave;
	err = bgdma_attach_tables(ctx);
	if (err)
		goto leave;
	bgdma_busy_init(&ctx->busy);
	err = bgdma_partition_attach(part, ctx, want);
	if (err)
		goto leave;

	arg->ctx = ctx->id;
	arg->incarnation = ctx->who.incarnation;
	memcpy(arg->dims, part->dims, sizeof(arg->dims));
	arg->torus = part->torus;
	return 0;
leave:
	bgdma_process_leave(ctx);
clear:
	bgdma_ctx_clear(ctx);
	return err;
}

/**
 * bgdma_ctx_abandon() - undo bgdma_ctx_attach()
 * @ctx: not published
 *
 * Context: ctx.lock held.
 */
void bgdma_ctx_abandon(struct bgdma_ctx *ctx)
{
	bgdma_partition_abandon(ctx);
	bgdma_process_leave(ctx);
	bgdma_ctx_clear(ctx);
}

/**
 * bgdma_ctx_detach() - a context takes part no more
 * @ctx: attached; partition.lock held
 *
 * Nothing is delivered to it afterwards, and of its own what is under way ends with
 * its piece; what it holds stays until its file is closed.
 */
void bgdma_ctx_detach(struct bgdma_ctx *ctx)
{
	lockdep_assert_held(&ctx->partition->lock);
	WRITE_ONCE(ctx->dead, true);
	WRITE_ONCE(ctx->kctl->state, BGDMA_STATE_DEAD);
	bgdma_ctx_unpoll(ctx);
	/* No new deliveries; those under way end with their piece. */
	bgdma_busy_put(&ctx->busy);
	wake_up_poll(&ctx->wq, EPOLLHUP | EPOLLERR | EPOLLIN);
}

/**
 * bgdma_stats_add() - sum up
 * @sum: grows; one writer at a time
 * @more: by this
 */
void bgdma_stats_add(struct bgdma_stream_stats *sum,
		     const struct bgdma_stream_stats *more)
{
	WRITE_ONCE(sum->descriptors,
		   sum->descriptors + READ_ONCE(more->descriptors));
	WRITE_ONCE(sum->packets, sum->packets + READ_ONCE(more->packets));
	WRITE_ONCE(sum->bytes_copied,
		   sum->bytes_copied + READ_ONCE(more->bytes_copied));
	WRITE_ONCE(sum->errors, sum->errors + READ_ONCE(more->errors));
	WRITE_ONCE(sum->blocked, sum->blocked + READ_ONCE(more->blocked));
}

/* Whoever looks at a context's FIFOs has its lock, or is inside a slice. */
#define bgdma_ctx_deref(ctx, p)						\
	rcu_dereference_check(p, lockdep_is_held(&(ctx)->lock) ||	\
			      rcu_read_lock_held() ||			\
			      rcu_read_lock_sched_held())

/* What goes along the edges of its classes. */
static void bgdma_edges_stats(struct bgdma_ctx *ctx,
			      struct bgdma_stream_stats *out)
{
	u32 id;

	if (!READ_ONCE(ctx->n_classes))
		return;
	for (id = 0; id < BGDMA_CLASSES_MAX * BGDMA_TREE_STREAMS; id++) {
		const struct bgdma_stream *s = bgdma_tree.follow(ctx, id);

		if (s)
			bgdma_stats_add(out, &s->stats);
	}
}

/*
 * Leave the slice, and the context, to others: who is not scheduled holds up nobody's
 * end. False: it has ended meanwhile, and is held no more.
 */
static bool bgdma_ctx_pause(struct bgdma_ctx *ctx)
{
	bool held;

	kref_get(&ctx->ref);
	bgdma_busy_put(&ctx->busy);
	bgdma_slice_end();
	cond_resched();
	bgdma_slice_begin();
	held = bgdma_busy_get(&ctx->busy);
	bgdma_ctx_put(ctx);
	return held;
}

/**
 * bgdma_ctx_stats() - what the streams of a context did
 * @ctx: attached
 * @out: filled in
 *
 * There can be 65,536 of them, so it leaves its slice between two queues.
 *
 * Context: a busy reference inside a slice, both of which are others afterwards.
 * Return: false: it has ended meanwhile; there is no reference any more.
 */
bool bgdma_ctx_stats(struct bgdma_ctx *ctx, struct bgdma_stream_stats *out)
{
	u32 i, k;

	memset(out, 0, sizeof(*out));
	bgdma_stats_add(out, &ctx->stats_gone);
	bgdma_edges_stats(ctx, out);
	for (i = 0; i < ctx->n_inj; i++) {
		struct bgdma_inj_fifo *fifo =
			bgdma_ctx_deref(ctx, ctx->inj[i]);

		if (fifo)
			bgdma_stats_add(out, &fifo->s.stats);
	}
	for (i = 0; i < ctx->n_rgq; i++) {
		struct bgdma_rget_queue *queue =
			bgdma_ctx_deref(ctx, ctx->rgq[i]);

		if (!queue)
			continue;
		for (k = 0; k < queue->nsubs; k++)
			bgdma_stats_add(out, &queue->subs[k].s.stats);
		if (!bgdma_ctx_pause(ctx))
			return false;
	}
	return true;
}

/**
 * bgdma_ctx_wake_waiters() - who waits at anything of a context looks again
 * @ctx: detached, and nobody is busy with it; or one that took a right back
 *
 * They find that it is gone, or that they have no right any more; who has it waits
 * again. What they wait at may be freed much later, where a call of its process is
 * under way.
 *
 * Context: may sleep; @ctx is not released meanwhile.
 */
void bgdma_ctx_wake_waiters(struct bgdma_ctx *ctx)
{
	struct bgdma_rget_queue *queue;
	struct bgdma_rec_fifo *fifo;
	u64 from = 0;
	bool more;
	u32 i;

	for (i = 0; i < ctx->n_rec; i++) {
		bgdma_slice_begin();
		fifo = bgdma_ctx_deref(ctx, ctx->rec[i]);
		if (fifo)
			bgdma_waiters_wake(&fifo->waiters);
		bgdma_slice_end();
		cond_resched();
	}
	for (i = 0; i < ctx->n_rgq; i++) {
		bgdma_slice_begin();
		queue = bgdma_ctx_deref(ctx, ctx->rgq[i]);
		if (queue)
			bgdma_waiters_wake(&queue->waiters);
		bgdma_slice_end();
		cond_resched();
	}
	bgdma_slice_begin();
	bgdma_tree.wake(ctx);
	bgdma_slice_end();
	do {
		bgdma_slice_begin();
		more = bgdma_gates_wake(ctx, &from);
		bgdma_slice_end();
		cond_resched();
	} while (more);
}

static void bgdma_inj_end(struct bgdma_ctx *ctx, u32 id)
{
	struct bgdma_inj_fifo *fifo =
		rcu_dereference_protected(ctx->inj[id], true);

	if (!fifo)
		return;
	mutex_lock(&ctx->map_lock);
	RCU_INIT_POINTER(ctx->inj[id], NULL);
	mutex_unlock(&ctx->map_lock);
	bgdma_stream_kill(&fifo->s);
	bgdma_stats_add(&ctx->stats_gone, &fifo->s.stats);
	bgdma_inj_free(fifo);
}

static void bgdma_rec_end(struct bgdma_ctx *ctx, u32 id)
{
	struct bgdma_rec_fifo *fifo =
		rcu_dereference_protected(ctx->rec[id], true);

	if (!fifo)
		return;
	mutex_lock(&ctx->map_lock);
	RCU_INIT_POINTER(ctx->rec[id], NULL);
	mutex_unlock(&ctx->map_lock);
	bgdma_groups_forget(ctx, BGDMA_KIND_REC_FIFO, id);
	spin_lock(&fifo->lock);
	WRITE_ONCE(fifo->dead, true);
	spin_unlock(&fifo->lock);
	/* Deliveries that found it, unless none can be under way any more. */
	if (!ctx->released)
		synchronize_rcu();
	bgdma_rec_free(fifo);
}

static void bgdma_rgq_end(struct bgdma_ctx *ctx, u32 id)
{
	struct bgdma_rget_queue *queue =
		rcu_dereference_protected(ctx->rgq[id], true);
	u32 i;

	if (!queue)
		return;
	RCU_INIT_POINTER(ctx->rgq[id], NULL);
	bgdma_groups_forget(ctx, BGDMA_KIND_RGET_QUEUE, id);
	spin_lock(&queue->lock);
	WRITE_ONCE(queue->dead, true);
	spin_unlock(&queue->lock);
	if (!ctx->released)
		synchronize_rcu();
	for (i = 0; i < queue->nsubs; i++)
		bgdma_stats_add(&ctx->stats_gone, &queue->subs[i].s.stats);
	bgdma_rgq_free(queue);
}

static int bgdma_fifo_end(struct bgdma_ctx *ctx, u32 kind, u32 id)
{
	lockdep_assert_held(&ctx->lock);
	switch (kind) {
	case BGDMA_KIND_INJ_FIFO:
		if (id >= ctx->n_inj || !rcu_access_pointer(ctx->inj[id]))
			return -ENOENT;
		bgdma_inj_end(ctx, id);
		return 0;
	case BGDMA_KIND_REC_FIFO:
		if (id >= ctx->n_rec || !rcu_access_pointer(ctx->rec[id]))
			return -ENOENT;
		bgdma_rec_end(ctx, id);
		return 0;
	case BGDMA_KIND_RGET_QUEUE:
		if (id >= ctx->n_rgq || !rcu_access_pointer(ctx->rgq[id]))
			return -ENOENT;
		bgdma_rgq_end(ctx, id);
		return 0;
	default:
		return -EINVAL;
	}
}

/**
 * bgdma_ctx_fifo_end() - end one FIFO of a context
 * @ctx: owner, ctx.lock held
 * @kind: of the FIFO
 * @id: of the FIFO
 *
 * Return: 0, -ENOENT or -EINVAL.
 */
int bgdma_ctx_fifo_end(struct bgdma_ctx *ctx, u32 kind, u32 id)
{
	int err = bgdma_fifo_end(ctx, kind, id);

	/* Whoever waits for it sees that it is gone. */
	if (!err)
		wake_up_poll(&ctx->wq, EPOLLIN | EPOLLRDNORM);
	return err;
}

static void bgdma_counters_end(struct bgdma_ctx *ctx)
{
	unsigned int kind;
	u32 i;

	for (kind = 0; kind < 2; kind++) {
		for (i = 0; i < ctx->n_ctr[kind]; i++) {
			bgdma_grants_drop(&ctx->counters[kind][i].grants);
			bgdma_eventfd_drop(&ctx->counters[kind][i].eventfd);
		}
	}
	bgdma_eventfd_drop(&ctx->event_fd);
}

/**
 * bgdma_ctx_release() - free what a context holds
 * @ctx: of a file that is closed, or whose process ends
 *
 * If no doorbell is under way every peer was told when it returns. If no other call
 * is, every page is unpinned and uncharged, too, and every id is free; else it has to be
 * done again, for which bgdma_use_end() sees to it. Doing it once more does nothing: the process
 * that exits does it, the worker of its end, and whoever closes the file last. The
 * partition stays for the latter.
 *
 * Return: false if calls or doorbells are under way.
 */
bool bgdma_ctx_release(struct bgdma_ctx *ctx)
{
	struct bgdma_partition *part;
	u32 i;

	/* Before all else of it: pairs with bgdma_partition_publish(). */
	if (!smp_load_acquire(&ctx->attached))
		return true;
	part = ctx->partition;
	bgdma_partition_detach(ctx);
	/* Whoever takes the last away goes on from here, or has it done. */
	if (!xchg(&ctx->ending, true)) {
		bgdma_busy_put(&ctx->rings);
		bgdma_busy_put(&ctx->calls);
	}
	/* One that moves something: its scheduling is a user's choice, too. */
	if (atomic_read_acquire(&ctx->rings.n))
		return false;
	bgdma_partition_leave(ctx);
	if (atomic_read_acquire(&ctx->calls.n))
		return false;
	bgdma_busy_wait(&ctx->busy);

	mutex_lock(&ctx->lock);
	if (ctx->released)
		goto unlock;
	ctx->released = true;
	/* What a call bound that began before it was detached. */
	bgdma_groups_end(ctx);
	for (i = 0; i < ctx->n_inj; i++)
		bgdma_inj_end(ctx, i);
	bgdma_tree.end(ctx);
	for (i = 0; i < ctx->n_rgq; i++)
		bgdma_rgq_end(ctx, i);
	for (i = 0; i < ctx->n_rec; i++)
		bgdma_rec_end(ctx, i);
	if (part->fabric->left)
		part->fabric->left(ctx);
	bgdma_regions_free(ctx);
	/* A gate may have had something to say up to here. */
	bgdma_ctx_wake_end(ctx);
	bgdma_counters_end(ctx);
	bgdma_ctx_clear(ctx);
	mutex_lock(&part->stats_lock);
	bgdma_stats_add(&part->stats_gone, &ctx->stats_gone);
	mutex_unlock(&part->stats_lock);
unlock:
	mutex_unlock(&ctx->lock);
	return true;
}

/**
 * bgdma_ctx_bytes() - kernel memory that a context costs
 * @ctx: attached
 *
 * Context: ctx.lock held, or a busy reference inside a slice.
 */
size_t bgdma_ctx_bytes(struct bgdma_ctx *ctx)
{
	size_t pages = 0, bytes = sizeof(*ctx);
	u32 i;

	for (i = 0; i < BGDMA_AREA_COUNT; i++)
		pages += ctx->area[i].nr;
	for (i = 0; i < 2; i++)
		bytes += ctx->n_ctr[i] * sizeof(*ctx->counters[i]);
	bytes += (ctx->n_inj + ctx->n_rec + ctx->n_rgq) * sizeof(void *);
	for (i = 0; i < ctx->n_inj; i++) {
		struct bgdma_inj_fifo *fifo =
			bgdma_ctx_deref(ctx, ctx->inj[i]);

		if (!fifo)
			continue;
		bytes += sizeof(*fifo);
		pages += fifo->shm.nr;
	}
	for (i = 0; i < ctx->n_rec; i++) {
		struct bgdma_rec_fifo *fifo =
			bgdma_ctx_deref(ctx, ctx->rec[i]);

		if (!fifo)
			continue;
		bytes += sizeof(*fifo);
		pages += fifo->shm.nr;
	}
	for (i = 0; i < ctx->n_rgq; i++) {
		struct bgdma_rget_queue *queue =
			bgdma_ctx_deref(ctx, ctx->rgq[i]);

		if (queue)
			bytes += struct_size(queue, subs, queue->nsubs) +
				 (size_t)queue->nsubs * queue->quota *
				 sizeof(struct bgdma_rget_slot);
	}
	return bytes + pages * PAGE_SIZE;
}
