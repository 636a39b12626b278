// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A mutex for which nobody waits without end. The one of POSIX goes to whoever is there
 * when it is free, and one who has to be woken first never is while others come and go
 * fast enough: he had to wait for as long as they went on. To hand it over each time
 * would cost two switches of threads for each of their calls. So it is handed over to him
 * only who has waited for long: he is hungry, and who unlocks it then stays away until
 * he has got it.
 */
#include <errno.h>
#include <time.h>

#include "fair.h"

#define NS_PER_S	1000000000LL
#define HUNGRY_NS	1000000LL	/* not to wait for longer than that */
/*
 * To stay away is a courtesy, and ends: what else the caller holds, as in a callback,
 * may be what the owner waits for.
 */
#define AWAY_NS		10000000LL

/* The condition's clock is another, which nobody sets. */
static int lock_within(pthread_mutex_t *mutex, int64_t ns)
{
	struct timespec at;

	clock_gettime(CLOCK_REALTIME, &at);
	ns += at.tv_nsec;
	at.tv_sec += ns / NS_PER_S;
	at.tv_nsec = ns % NS_PER_S;
	return pthread_mutex_timedlock(mutex, &at);
}

void fair_lock_slow(struct fair_mutex *m)
{
	if (!lock_within(&m->mutex, HUNGRY_NS))
		return;
	__atomic_fetch_add(&m->hungry, 1, __ATOMIC_RELAXED);
	pthread_mutex_lock(&m->turn);
	pthread_mutex_lock(&m->mutex);
	pthread_mutex_unlock(&m->turn);
	__atomic_fetch_sub(&m->hungry, 1, __ATOMIC_RELAXED);
}

void fair_give_way(struct fair_mutex *m)
{
	if (!lock_within(&m->turn, AWAY_NS))
		pthread_mutex_unlock(&m->turn);
}

int fair_sleep(struct fair_mutex *m, int64_t deadline)
{
	const struct timespec at = {
		.tv_sec = deadline / NS_PER_S, .tv_nsec = deadline % NS_PER_S,
	};
	int ret;

	/* Who wakes us has both: he does so before this, or when we sleep. */
	pthread_mutex_lock(&m->asleep);
	m->depth--;
	pthread_mutex_unlock(&m->mutex);
	if (deadline == INT64_MAX)
		ret = pthread_cond_wait(&m->cond, &m->asleep);
	else
		ret = pthread_cond_timedwait(&m->cond, &m->asleep, &at);
	pthread_mutex_unlock(&m->asleep);
	fair_lock(m);
	return -ret;
}

void fair_wake(struct fair_mutex *m)
{
	pthread_mutex_lock(&m->asleep);
	pthread_cond_broadcast(&m->cond);
	pthread_mutex_unlock(&m->asleep);
}

static int cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t attr;
	int ret;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	ret = pthread_cond_init(cond, &attr);
	pthread_condattr_destroy(&attr);
	return ret;
}

static int recursive_init(pthread_mutex_t *mutex)
{
	pthread_mutexattr_t attr;
	int ret;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	ret = pthread_mutex_init(mutex, &attr);
	pthread_mutexattr_destroy(&attr);
	return ret;
}

int fair_init(struct fair_mutex *m)
{
	int ret;

	m->depth = 0;
	m->hungry = 0;
	ret = recursive_init(&m->mutex);
	if (ret)
		return -ret;
	ret = pthread_mutex_init(&m->turn, NULL);
	if (ret)
		goto mutex;
	ret = pthread_mutex_init(&m->asleep, NULL);
	if (ret)
		goto turn;
	ret = cond_init(&m->cond);
	if (!ret)
		return 0;
	pthread_mutex_destroy(&m->asleep);
turn:
	pthread_mutex_destroy(&m->turn);
mutex:
	pthread_mutex_destroy(&m->mutex);
	return -ret;
}

void fair_destroy(struct fair_mutex *m)
{
	pthread_cond_destroy(&m->cond);
	pthread_mutex_destroy(&m->asleep);
	pthread_mutex_destroy(&m->turn);
	pthread_mutex_destroy(&m->mutex);
}
