/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A mutex, with a condition, for which nobody waits without end: see fair.c.
 */
#ifndef BGDMA_SYS_FAIR_H
#define BGDMA_SYS_FAIR_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <bgdma/atomic.h>

struct fair_mutex {
	pthread_mutex_t mutex;	/* recursive */
	pthread_mutex_t turn;	/* of one who is hungry, while he waits */
	pthread_mutex_t asleep;	/* between letting go and sleeping */
	pthread_cond_t cond;	/* with @asleep */
	unsigned int depth;	/* how often its owner has it */
	unsigned int hungry;	/* so many have waited for long */
};

/* 0 or -errno. */
int fair_init(struct fair_mutex *m);
void fair_destroy(struct fair_mutex *m);

void fair_lock_slow(struct fair_mutex *m);
void fair_give_way(struct fair_mutex *m);

static inline void fair_lock(struct fair_mutex *m)
{
	if (bgdma_unlikely(pthread_mutex_trylock(&m->mutex)))
		fair_lock_slow(m);
	m->depth++;
}

static inline void fair_unlock(struct fair_mutex *m)
{
	/* Not for who goes on to have it: the other one waits for him. */
	bool hungry = !--m->depth && bgdma_load_relaxed(&m->hungry);

	pthread_mutex_unlock(&m->mutex);
	if (bgdma_unlikely(hungry))
		fair_give_way(m);
}

/*
 * Let go of it, which the caller has once, and sleep until fair_wake(), or until a time of
 * CLOCK_MONOTONIC in ns, for ever if INT64_MAX. 0, or -ETIMEDOUT; it may also wake for nothing.
 */
int fair_sleep(struct fair_mutex *m, int64_t deadline);
/* All who sleep; the caller has the mutex. */
void fair_wake(struct fair_mutex *m);

#endif /* BGDMA_SYS_FAIR_H */
