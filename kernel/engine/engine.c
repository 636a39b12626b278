// SPDX-License-Identifier: GPL-2.0
/*
 * Who runs a stream, and when.
 *
 * A doorbell runs the streams of its own context in the caller (doorbell.c), for a
 * small budget, and leaves the rest to the pool: a thread per CPU that takes
 * streams from one run list (run_list.c), each for at most one quantum of bytes.
 *
 * After work a thread polls the doorbells of the contexts that worked lately;
 * meanwhile their wake word is 0 and they need no system call. The list of
 * polled contexts is never left without a thread that comes back to it.
 *
 * A run never runs another stream: what it makes runnable comes after it. What it
 * puts into remote-get queues comes next, within its turn, if nobody else waits for
 * one: chains go to and fro between two streams for ever.
 * Nothing here looks at the task that it runs in.
 */
#include <linux/kcov.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/nospec.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "../bgdma.h"
#include "../trace.h"
#include "busy.h"
#include "engine.h"
#include "ring.h"

/*
 * A turn of a thread is a quantum. What a descriptor costs at least bounds how
 * many are run: a short message takes as long as copying so much.
 */
#define BGDMA_TURN_EACH		512
/* One that came from elsewhere is looked up anew, and may be refused. */
#define BGDMA_TURN_REMOTE	4096
#define BGDMA_POOL_LINGER	(10 * HZ)
#define BGDMA_EXPIRE_PERIOD	(HZ / 20 + 1)

struct bgdma_engine bgdma_engine;

/* --------------------------------------------------------------------- */
/* Waking, leaving                                                        */

/**
 * bgdma_stream_wake() - let a stream run
 * @s: if it is stopped or on the run list already nothing happens
 *
 * If it is owned, its owner looks for more work when it leaves.
 *
 * Context: any; no lock inside park_lock held.
 */
void bgdma_stream_wake(struct bgdma_stream *s)
{
	struct bgdma_engine *e = &bgdma_engine;

	if (!bgdma_rq_add(s))
		return;
	/* Against the poller that is about to sleep: see bgdma_thread_idle(). */
	bgdma_ring_barrier();
	if (!test_bit(0, &e->poller))
		bgdma_ring_wake(&e->wq, 0);
}

/**
 * bgdma_stream_wake_after() - let a stream run, after a turn or two
 * @by: owned, runs now
 * @s: of a remote-get queue that it has put something into; if it is stopped or
 *	on the run list already nothing happens
 *
 * Whoever runs @by runs @s next. A thread looks at the run list after each turn,
 * and wakes another when it has left somebody there two times: to wake one takes as
 * long as a turn.
 *
 * Context: as bgdma_stream_wake().
 */
void bgdma_stream_wake_after(struct bgdma_stream *by, struct bgdma_stream *s)
{
	/* The work before the look: whoever owns it looks for more when it leaves. */
	bgdma_ring_barrier();
	if (test_bit(BGDMA_STREAM_OWNED, &s->flags) ||
	    (by->follow && bgdma_follow_add(by, s)))
		return;
	if (by->pooled)
		bgdma_rq_add(s);
	else
		bgdma_stream_wake(s);
}

/* --------------------------------------------------------------------- */
/* Polling                                                                */

static bool bgdma_doorbell_rung(const struct bgdma_ctx *ctx)
{
	u32 w;

	if (READ_ONCE(ctx->uctl->doorbell_rec))
		return true;
	for (w = 0; w < DIV_ROUND_UP(ctx->n_inj, 64); w++) {
		if (READ_ONCE(ctx->uctl->doorbell[w]))
			return true;
	}
	return false;
}

/* The context worked: poll its doorbells for a while. */
static void bgdma_poll_add(struct bgdma_engine *e, struct bgdma_ctx *ctx,
			   u64 now)
{
	u64 poll_ns = READ_ONCE(ctx->partition->poll_ns);

	if (!poll_ns)
		return;
	spin_lock(&e->poll_lock);
	ctx->poll_until = now + poll_ns;
	if (list_empty(&ctx->poll_node) && !READ_ONCE(ctx->dead)) {
		list_add_tail(&ctx->poll_node, &e->polled);
		WRITE_ONCE(ctx->kctl->wake, 0);
	}
	spin_unlock(&e->poll_lock);
}

static void bgdma_poll_remove(struct bgdma_ctx *ctx)
{
	lockdep_assert_held(&bgdma_engine.poll_lock);
	list_del_init(&ctx->poll_node);
	WRITE_ONCE(ctx->kctl->wake, BGDMA_NEED_WAKEUP);
}

/**
 * bgdma_ctx_poll() - let the engine be awake for a context
 * @ctx: attached
 *
 * It polls the doorbells from now on, for as long as after work.
 */
void bgdma_ctx_poll(struct bgdma_ctx *ctx)
{
	struct bgdma_engine *e = &bgdma_engine;

	bgdma_poll_add(e, ctx, ktime_get_ns());
	/* The list before the look for threads: see bgdma_thread_wanted(). */
	bgdma_ring_barrier();
	if (!test_bit(0, &e->poller))
		bgdma_ring_wake(&e->wq, 0);
}

/**
 * bgdma_ctx_unpoll() - poll a context no more
 * @ctx: dead
 */
void bgdma_ctx_unpoll(struct bgdma_ctx *ctx)
{
	spin_lock(&bgdma_engine.poll_lock);
	if (!list_empty(&ctx->poll_node))
		bgdma_poll_remove(ctx);
	spin_unlock(&bgdma_engine.poll_lock);
}

/* Does the context need a look at its doorbells, or no more of them? */
static bool bgdma_poll_rung(struct bgdma_ctx *ctx, u64 now)
{
	if (bgdma_doorbell_rung(ctx)) {
		/* A reader that never sends works, too. */
		ctx->poll_until = now + READ_ONCE(ctx->partition->poll_ns);
		return true;
	}
	if (now < ctx->poll_until)
		return false;
	bgdma_poll_remove(ctx);
	/* NEED_WAKEUP before the last look: see ring.h. */
	bgdma_ring_barrier();
	return bgdma_doorbell_rung(ctx);
}

/*
 * Look at polled contexts, at most *@left and not beyond @last: the first whose
 * doorbells rang, held busy, or NULL.
 */
static struct bgdma_ctx *bgdma_poll_find(struct bgdma_engine *e, u64 now,
					 const struct bgdma_ctx *last, u32 *left)
{
	struct bgdma_ctx *ctx, *found = NULL;
	u32 n = 0;

	spin_lock(&e->poll_lock);
	while (!found && *left && !list_empty(&e->polled)) {
		ctx = list_first_entry(&e->polled, struct bgdma_ctx, poll_node);
		*left = ctx == last ? 0 : *left - 1;
		list_move_tail(&ctx->poll_node, &e->polled);
		n++;
		if (bgdma_poll_rung(ctx, now) && bgdma_busy_get(&ctx->busy))
			found = ctx;
	}
	if (n >= BGDMA_HOLD_MAX)
		trace_bgdma_hold(BGDMA_HOLD_POLLED, n);
	spin_unlock(&e->poll_lock);
	return found;
}

/* One look at polled contexts: at those that were not looked at for longest. */
static void bgdma_poll_pass(struct bgdma_engine *e)
{
	struct bgdma_ctx *ctx, *last = NULL;
	u32 left = BGDMA_HOLD_MAX, rung = 0;
	u64 now;

	if (list_empty(&e->polled))
		return;
	now = ktime_get_ns();
	spin_lock(&e->poll_lock);
	if (!list_empty(&e->polled))
		last = list_last_entry(&e->polled, struct bgdma_ctx, poll_node);
	spin_unlock(&e->poll_lock);
	/*
	 * What doorbells lead to may take long: not under everybody's lock, and
	 * not before others have had their turn. Who is left is first next time.
	 */
	while (rung < BGDMA_RUNG_MAX &&
	       (ctx = bgdma_poll_find(e, now, last, &left))) {
		kcov_remote_start_common(ctx->kcov_handle);
		rung += bgdma_doorbell_pool(ctx);
		kcov_remote_stop();
		bgdma_busy_put(&ctx->busy);
	}
	if (rung >= BGDMA_RUNG_MAX)
		trace_bgdma_hold(BGDMA_HOLD_RUNG, rung);
}

/* --------------------------------------------------------------------- */
/* The pool                                                               */

/*
 * Who has more to do and keeps nobody waiting need not queue for it; but owns
 * nothing while its thread waits for a processor.
 */
static bool bgdma_thread_alone(struct bgdma_engine *e, struct bgdma_stream *s)
{
	return !READ_ONCE(e->runnable) && !need_resched() &&
	       !kthread_should_stop() && bgdma_stream_again(s);
}

static void bgdma_thread_run(struct bgdma_engine *e, struct bgdma_stream *s)
{
	struct bgdma_ctx *ctx = s->ctx;

	if (s->kind == BGDMA_KIND_FLOW) {
		ctx->partition->fabric->turn(s, ctx->partition->quantum);
		return;
	}
	bgdma_stream_run(s, READ_ONCE(ctx->partition->quantum),
			 s->remote ? BGDMA_TURN_REMOTE : BGDMA_TURN_EACH);
	if (s->follow->n)
		bgdma_follow_run(s->follow);
	/* What a peer injected makes nobody poll for its owner. */
	if (s->kind == BGDMA_KIND_INJ_FIFO)
		bgdma_poll_add(e, ctx, ktime_get_ns());
}

static void bgdma_thread_turn(struct bgdma_engine *e, struct bgdma_stream *s)
{
	struct bgdma_follow follow = { .pooled = true }, *doorbell = s->follow;
	struct bgdma_ctx *ctx = s->ctx;

	s->pooled = true;
	if (s->kind != BGDMA_KIND_FLOW)
		s->follow = &follow;
	for (;;) {
		kcov_remote_start_common(ctx->kcov_handle);
		bgdma_thread_run(e, s);
		kcov_remote_stop();
		if (!bgdma_thread_alone(e, s))
			break;
		/* As between any two turns. */
		bgdma_poll_pass(e);
		cond_resched();
	}
	s->follow = doorbell;
	s->pooled = false;
	rcu_read_lock();
	bgdma_stream_disown(s);
	if (s->kind == BGDMA_KIND_RGET_QUEUE)
		bgdma_rgq_left(s);
	/* This thread looks at the list next: nobody else need be woken. */
	bgdma_rq_end(ctx, bgdma_stream_again(s) ? s : NULL);
	rcu_read_unlock();
	bgdma_busy_put(&ctx->busy);
}

static bool bgdma_thread_wanted(struct bgdma_engine *e)
{
	return kthread_should_stop() || READ_ONCE(e->runnable) ||
	       (!list_empty(&e->polled) && !test_bit(0, &e->poller));
}

/* Nothing to run: one thread polls while there is something to poll. */
static void bgdma_thread_idle(struct bgdma_engine *e)
{
	if (!list_empty(&e->polled) &&
	    !test_and_set_bit_lock(0, &e->poller)) {
		while (!READ_ONCE(e->runnable) &&
		       !list_empty(&e->polled) &&
		       !kthread_should_stop()) {
			bgdma_poll_pass(e);
			cpu_relax();
			cond_resched();
		}
		clear_bit_unlock(0, &e->poller);
		/*
		 * Whoever queued a stream while the bit was set relied on us:
		 * we look at the list again before we sleep.
		 */
		smp_mb__after_atomic();
		return;
	}
	wait_event_idle_exclusive(e->wq, bgdma_thread_wanted(e));
}

static int bgdma_thread(void *data)
{
	struct bgdma_engine *e = data;
	bool more = false;

	while (!kthread_should_stop()) {
		struct bgdma_stream *s;
		bool already = more;

		s = bgdma_rq_pick(e, &more);
		if (!s) {
			bgdma_thread_idle(e);
			continue;
		}
		/* Nobody is woken for what is gone after a turn. */
		if (more && already)
			bgdma_ring_wake(&e->wq, 0);
		bgdma_thread_turn(e, s);
		bgdma_poll_pass(e);
		cond_resched();
	}
	return 0;
}

static void bgdma_pool_stop(struct bgdma_engine *e)
{
	u32 i;

	lockdep_assert_held(&e->lock);
	for (i = 0; i < e->nr_threads; i++)
		kthread_stop(e->threads[i]);
	kfree(e->threads);
	e->threads = NULL;
	e->nr_threads = 0;
}

static int bgdma_pool_start(struct bgdma_engine *e)
{
	u32 i, nr = num_online_cpus();

	lockdep_assert_held(&e->lock);
	if (e->nr_threads)
		return 0;
	e->threads = kcalloc(nr, sizeof(*e->threads), GFP_KERNEL);
	if (!e->threads)
		return -ENOMEM;
	for (i = 0; i < nr; i++) {
		struct task_struct *task;

		task = kthread_run(bgdma_thread, e, "bgdma/%u", i);
		if (IS_ERR(task)) {
			bgdma_pool_stop(e);
			return PTR_ERR(task);
		}
		e->threads[i] = task;
		e->nr_threads++;
	}
	return 0;
}

static void bgdma_pool_linger(struct work_struct *work)
{
	struct bgdma_engine *e =
		container_of(to_delayed_work(work), struct bgdma_engine, stop);

	mutex_lock(&e->lock);
	if (!e->contexts)
		bgdma_pool_stop(e);
	mutex_unlock(&e->lock);
}

/**
 * bgdma_engine_threads() - how many threads the pool has
 */
u32 bgdma_engine_threads(void)
{
	return READ_ONCE(bgdma_engine.nr_threads);
}

static void bgdma_engine_expire(struct work_struct *work)
{
	struct bgdma_engine *e =
		container_of(to_delayed_work(work), struct bgdma_engine,
			     expire);

	if (bgdma_streams_expire(e))
		schedule_delayed_work(&e->expire, BGDMA_EXPIRE_PERIOD);
}

/**
 * bgdma_engine_arm_timer() - look at the waiting streams before long
 * @e: the engine
 */
void bgdma_engine_arm_timer(struct bgdma_engine *e)
{
	schedule_delayed_work(&e->expire, BGDMA_EXPIRE_PERIOD);
}

/* --------------------------------------------------------------------- */
/* Users                                                                  */

static struct bgdma_user *bgdma_user_get(struct bgdma_engine *e, kuid_t uid)
{
	struct bgdma_user *user;

	lockdep_assert_held(&e->lock);
	list_for_each_entry(user, &e->users, node) {
		if (uid_eq(user->uid, uid))
			return user;
	}
	user = kzalloc(sizeof(*user), GFP_KERNEL_ACCOUNT);
	if (!user)
		return NULL;
	user->uid = uid;
	INIT_LIST_HEAD(&user->round);
	INIT_LIST_HEAD(&user->rq_node);
	list_add_tail(&user->node, &e->users);
	return user;
}

static void bgdma_user_put(struct bgdma_user *user)
{
	if (user->contexts)
		return;
	list_del(&user->node);
	kfree(user);
}

/**
 * bgdma_engine_join() - a context of a user comes
 * @uid: whose
 * @max_contexts: how many he may have
 *
 * Return: what the context is scheduled and counted under; ERR_PTR(-EMFILE),
 * ERR_PTR(-ENOMEM).
 */
struct bgdma_user *bgdma_engine_join(kuid_t uid, u32 max_contexts)
{
	struct bgdma_engine *e = &bgdma_engine;
	struct bgdma_user *user;
	int err;

	mutex_lock(&e->lock);
	err = -ENOMEM;
	user = bgdma_user_get(e, uid);
	if (!user)
		goto unlock;
	err = -EMFILE;
	if (user->contexts >= max_contexts)
		goto put;
	err = bgdma_pool_start(e);
	if (err)
		goto put;
	user->contexts++;
	e->contexts++;
	mutex_unlock(&e->lock);
	return user;
put:
	bgdma_user_put(user);
unlock:
	mutex_unlock(&e->lock);
	return ERR_PTR(err);
}

/**
 * bgdma_engine_get() - something comes in also where no context is attached
 *
 * Return: 0 or -ENOMEM; there are threads until bgdma_engine_put().
 */
int bgdma_engine_get(void)
{
	struct bgdma_engine *e = &bgdma_engine;
	int err;

	mutex_lock(&e->lock);
	err = bgdma_pool_start(e);
	if (!err)
		e->contexts++;
	mutex_unlock(&e->lock);
	return err;
}

static void bgdma_engine_put_locked(struct bgdma_engine *e)
{
	lockdep_assert_held(&e->lock);
	e->contexts--;
	if (!e->contexts)
		mod_delayed_work(system_wq, &e->stop, BGDMA_POOL_LINGER);
}

/**
 * bgdma_engine_put() - it does not any more
 */
void bgdma_engine_put(void)
{
	struct bgdma_engine *e = &bgdma_engine;

	mutex_lock(&e->lock);
	bgdma_engine_put_locked(e);
	mutex_unlock(&e->lock);
}

/**
 * bgdma_engine_leave() - a context of a user went
 * @user: from bgdma_engine_join()
 */
void bgdma_engine_leave(struct bgdma_user *user)
{
	struct bgdma_engine *e = &bgdma_engine;

	mutex_lock(&e->lock);
	user->contexts--;
	bgdma_user_put(user);
	bgdma_engine_put_locked(e);
	mutex_unlock(&e->lock);
}

/**
 * bgdma_engine_init() - make the engine, idle
 *
 * Return: 0.
 */
int bgdma_engine_init(void)
{
	struct bgdma_engine *e = &bgdma_engine;

	spin_lock_init(&e->rq_lock);
	spin_lock_init(&e->poll_lock);
	spin_lock_init(&e->park_lock);
	mutex_init(&e->lock);
	INIT_LIST_HEAD(&e->rq);
	INIT_LIST_HEAD(&e->polled);
	INIT_LIST_HEAD(&e->timed);
	INIT_LIST_HEAD(&e->users);
	init_waitqueue_head(&e->wq);
	INIT_DELAYED_WORK(&e->stop, bgdma_pool_linger);
	INIT_DELAYED_WORK(&e->expire, bgdma_engine_expire);
	return 0;
}

/**
 * bgdma_engine_exit() - end the engine; no context is left
 */
void bgdma_engine_exit(void)
{
	struct bgdma_engine *e = &bgdma_engine;

	cancel_delayed_work_sync(&e->stop);
	cancel_delayed_work_sync(&e->expire);
	mutex_lock(&e->lock);
	bgdma_pool_stop(e);
	mutex_unlock(&e->lock);
}
