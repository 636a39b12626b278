// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Sleeping while there is nothing to do: the engine wakes us, no timer does, and
 * nobody polls.
 *
 * Of all threads that wait on an endpoint one sleeps in the kernel, the others
 * on a condition. Whoever handles something wakes the others, who then look
 * whether it was what they wait for.
 */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "../spi/doorbell.h"
#include "internal.h"

#define SPIN_LOOKS	32	/* between two looks at the clock */
#define LOOKS		20	/* before the processor is given away */
#define SPIN_NS		100000
#define NAP_NS		1000000
#define NS_PER_S	1000000000LL

int64_t sys_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

/* ---- Waking ------------------------------------------------------------ */

int wake_create(struct bgdma_endpoint *ep)
{
	if (!ep->many)
		return 0;
	ep->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return ep->wake_fd < 0 ? -errno : 0;
}

void wake_destroy(struct bgdma_endpoint *ep)
{
	if (ep->wake_fd >= 0)
		close(ep->wake_fd);
}

void sleeper_wake(struct bgdma_endpoint *ep)
{
	if (ep->sleeping)
		(void)eventfd_write(ep->wake_fd, 1);
}

void nap_ask(struct bgdma_endpoint *ep)
{
	/* Who naps for something else asks again what for, before he sleeps. */
	ep->no_room = true;
	if (!ep->napping)
		sleeper_wake(ep);
}

void waiters_wake(struct bgdma_endpoint *ep)
{
	if (ep->followers)
		fair_wake(&ep->lock);
	if (!ep->threaded)
		sleeper_wake(ep);
}

void bgdma_endpoint_wake(struct bgdma_endpoint *ep)
{
	endpoint_lock(ep);
	ep->handled++;
	waiters_wake(ep);
	sleeper_wake(ep);
	endpoint_unlock(ep);
}

/* ---- Waiting ----------------------------------------------------------- */

static int kernel_poll(struct bgdma_endpoint *ep, int64_t timeout_ns)
{
	struct pollfd pfd[] = {
		{ .fd = bgdma_ctx_fd(ep->ctx), .events = POLLIN },
		{ .fd = ep->wake_fd, .events = POLLIN },
	};
	const struct timespec ts = {
		.tv_sec = timeout_ns / NS_PER_S,
		.tv_nsec = timeout_ns % NS_PER_S,
	};
	int ret = ctx_ring_again(ep->ctx);

	if (ret)
		return ret;
	ret = ppoll(pfd, ep->many ? 2 : 1, timeout_ns < 0 ? NULL : &ts, NULL);
	if (ret < 0)
		return -errno;
	if (pfd[0].revents & (POLLHUP | POLLNVAL))
		return -ENODEV;
	return ret ? 0 : -ETIMEDOUT;
}

/*
 * A message that has failed is looked at again at a time, and a process that was not
 * reached is told again; and where no packet
 * will tell of room in a channel, as there was none for that packet, only time
 * does, as for modules that wait for something else.
 */
static bool sleep_shorten(struct bgdma_endpoint *ep, int64_t *timeout_ns)
{
	int64_t most = INT64_MAX, next;

	if (ep->no_room || ep->work_late || (ep->work_left && !ep->asking))
		most = NAP_NS;
	ep->napping = most == NAP_NS;
	ep->no_room = false;
	next = suspects_next(ep);
	if (words_next(ep) < next)
		next = words_next(ep);
	if (next != INT64_MAX) {
		next -= sys_now_ns();
		if (next < most)
			most = next > 0 ? next : 0;
	}
	if (most == INT64_MAX || (*timeout_ns >= 0 && *timeout_ns <= most))
		return false;
	*timeout_ns = most;
	return true;
}

int kernel_sleep(struct bgdma_endpoint *ep, int64_t timeout_ns)
{
	bool tries = ep->no_room;
	bool early = sleep_shorten(ep, &timeout_ns);
	eventfd_t ignored;
	unsigned int way;
	int ret;

	ep->sleeping = true;
	ep->stats.sleeps++;
	for (way = 0; way < WAYS; way++)
		if (!ep->deferred[way])
			bgdma_rec_arm(ep->rec[way], BGDMA_ARM_ANY, 0);
	endpoint_unlock(ep);
	ret = kernel_poll(ep, timeout_ns);
	if (ret == -ETIMEDOUT && early)
		ret = 0;
	endpoint_lock(ep);
	/* Who was told -EAGAIN tries again. */
	ep->handled += tries;
	for (way = 0; way < WAYS; way++)
		bgdma_rec_arm(ep->rec[way], BGDMA_ARM_NONE, 0);
	ep->sleeping = false;
	ep->napping = false;
	if (ep->many)
		(void)eventfd_read(ep->wake_fd, &ignored);
	/* Somebody else has to sleep in our place when we are done. */
	if (ep->followers)
		fair_wake(&ep->lock);
	/* What came before the partition went is still there. */
	while (ret == -ENODEV && progress_locked(ep, 0) > 0)
		;
	return ret;
}

/* Sleep until somebody else has handled something. */
static int follower_sleep(struct bgdma_endpoint *ep, int64_t deadline)
{
	int ret;

	ep->followers++;
	ret = fair_sleep(&ep->lock, deadline);
	ep->followers--;
	return ret;
}

static int sleep_once(struct bgdma_endpoint *ep, int64_t deadline)
{
	int64_t left = -1;

	if (deadline != INT64_MAX) {
		left = deadline - sys_now_ns();
		if (left <= 0)
			return -ETIMEDOUT;
	}
	if (ep->sleeping || ep->threaded)
		return follower_sleep(ep, deadline);
	return kernel_sleep(ep, left);
}

/* As callbacks are called: who waited there would wait for himself. */
static inline bool ask(struct bgdma_endpoint *ep, bool (*holds)(void *arg),
		       void *arg)
{
	bool ret;

	ep->inside = true;
	ret = holds(arg);
	ep->inside = false;
	return ret;
}

/* 1: it holds; 0: nothing to do; -EAGAIN: it does not, but things go on. */
static int look(struct bgdma_endpoint *ep, bool (*holds)(void *arg), void *arg)
{
	int ret;

	if (ask(ep, holds, arg))
		return 1;
	ret = progress_locked(ep, 0);
	if (ret <= 0)
		return ret;
	return ask(ep, holds, arg) ? 1 : -EAGAIN;
}

/*
 * When to stop spinning, and when to stop.
 * @give_way: others may have the processor between the looks
 */
struct limits {
	int64_t spin_end, deadline;
	bool give_way;
};

static struct limits limits_make(enum bgdma_wait_mode mode, int64_t timeout_ns)
{
	int64_t now = sys_now_ns();
	struct limits l = {
		.deadline = INT64_MAX,
		.give_way = mode == BGDMA_SPIN_THEN_SLEEP,
	};

	if (timeout_ns >= 0 && timeout_ns < INT64_MAX - now)
		l.deadline = now + timeout_ns;
	if (mode == BGDMA_SPIN)
		l.spin_end = l.deadline;
	else if (l.give_way)
		l.spin_end = now + SPIN_NS;
	return l;
}

/*
 * Who is waited for may want this very processor, and to sleep and be woken takes
 * several times as long as to let him have it. So who may spin looks a few times, as
 * what another processor does may be done soon, and gives way. True: it holds.
 */
static bool give_way(struct bgdma_endpoint *ep, bool (*holds)(void *arg),
		     void *arg)
{
	int i;

	for (i = 0; i < LOOKS; i++) {
		if (ask(ep, holds, arg))
			return true;
		bgdma_relax();
	}
	endpoint_unlock(ep);
	sched_yield();
	endpoint_lock(ep);
	return false;
}

/* With the lock, which others get now and then. @ret: of a look(). As that. */
static int wait_locked(struct bgdma_endpoint *ep, bool (*holds)(void *arg),
		       void *arg, const struct limits *l, int ret)
{
	unsigned int looks;
	int64_t now = 0;

	for (looks = 0;; looks++, ret = look(ep, holds, arg)) {
		if (ret == 1 || (ret < 0 && ret != -EAGAIN))
			return ret;
		if (looks % SPIN_LOOKS == 0 || ret == -EAGAIN || l->give_way)
			now = sys_now_ns();
		if (now >= l->deadline)
			return -ETIMEDOUT;
		/* Once, however late it is. */
		if (l->give_way && !ret && (!looks || now < l->spin_end)) {
			if (give_way(ep, holds, arg))
				return 1;
			continue;
		}
		if (ret == -EAGAIN || now < l->spin_end) {
			endpoint_unlock(ep);
			bgdma_relax();
			endpoint_lock(ep);
			continue;
		}
		ret = sleep_once(ep, l->deadline);
		/*
		 * What the system cannot do now is tried again: who waits has
		 * begun something, and what he gave for it is in use until then.
		 */
		if (ret && ret != -EAGAIN && ret != -ENOMEM)
			return ask(ep, holds, arg) ? 1 : ret;
	}
}

int bgdma_endpoint_wait_until(struct bgdma_endpoint *ep,
			      bool (*holds)(void *arg), void *arg,
			      enum bgdma_wait_mode mode, int64_t timeout_ns)
{
	struct limits l;
	int ret;

	if (ep->state != STATE_COMMITTED)
		return -ENOTCONN;
	endpoint_lock(ep);
	if (ep->inside) {
		ret = -EDEADLK;
	} else {
		/* No look at the clock if it is not needed. */
		ret = look(ep, holds, arg);
		if ((ret == 0 || ret == -EAGAIN) && timeout_ns) {
			l = limits_make(mode, timeout_ns);
			ret = wait_locked(ep, holds, arg, &l, ret);
		}
	}
	endpoint_unlock(ep);
	if (ret == 0 || ret == -EAGAIN)
		return -ETIMEDOUT;
	return ret == 1 ? 0 : ret;
}

/*
 * When this thread was last told -EAGAIN by an endpoint: its next wait on that one
 * is for what is handled from then on, or room that another thread has heard of
 * meanwhile would be waited for in vain. Of more endpoints than these it is known
 * which were the latest.
 */
#define NOTES	8

struct note {
	uint64_t serial;	/* of the endpoint; 0: none */
	uint64_t handled;
};

static _Thread_local struct note notes[NOTES];
static _Thread_local unsigned int notes_next;	/* to make room */

static struct note *note_of(uint64_t serial)
{
	unsigned int i;

	for (i = 0; i < NOTES; i++)
		if (notes[i].serial == serial)
			return &notes[i];
	return NULL;
}

static void note_put(uint64_t serial, uint64_t handled)
{
	struct note *note = note_of(serial);

	if (!note)
		note = note_of(0);
	if (!note)
		note = &notes[notes_next++ % NOTES];
	note->serial = serial;
	note->handled = handled;
}

void again_note(const struct bgdma_endpoint *ep)
{
	note_put(ep->serial, ep->handled);
}

struct handled {
	const struct bgdma_endpoint *ep;
	uint64_t before;
};

static bool handled_something(void *arg)
{
	const struct handled *h = arg;

	return h->ep->handled != h->before;
}

int bgdma_endpoint_wait(struct bgdma_endpoint *ep, int64_t timeout_ns)
{
	struct handled h = { .ep = ep };
	struct note *note;
	bool again;
	int ret;

	endpoint_lock(ep);
	note = note_of(ep->serial);
	again = note;
	h.before = note ? note->handled : ep->handled;
	if (note)
		note->serial = 0;
	endpoint_unlock(ep);
	ret = bgdma_endpoint_wait_until(ep, handled_something, &h, BGDMA_SLEEP,
					timeout_ns);
	/* Waited in vain: the next time is for the same, but for a refusal since. */
	if (ret && again && !note_of(ep->serial))
		note_put(ep->serial, h.before);
	return ret;
}
