/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A counter whose transfer failed. The engine shows the error and takes off what
 * the transfer had left; the owner, who sees the error, clears it and takes off
 * what he finds, to use the counter for something else. Only one of them may
 * take it off, and nothing of the engine's may come afterwards.
 */
#define LOCS	3
#define PROCS	2
#define MSGS	4
#define LOCKS	1

#define VALUE	0	/* bgdma_counter_cell.value */
#define ERROR	1	/* bgdma_kern_ctl.counter_error */
#define HIT	2	/* bgdma_user_ctl.hit_zero */

#define EVENT	0	/* ctx.event_lock */

/* Barriers */
#define FAIL_LOCK	1	/* bgdma_counter_fail(): the lock over both */
#define CLEAR_FIRST	2	/* counter_reset(): the error before the value */

#include "memory.pml"

bool over;

proctype engine(byte me)
{
	byte old, left;

	lock(EVENT);
	update(ERROR, old, 1);
	if
	:: KEPT(FAIL_LOCK)
	:: else -> unlock(EVENT)
	fi;
	update_full(VALUE, left, left - 1);
	if
	:: left == 1 -> update(HIT, old, 1)
	:: else
	fi;
	if
	:: KEPT(FAIL_LOCK) -> unlock(EVENT)
	:: else
	fi;
	over = true
}

/* BGDMA_IOC_CLEAR_ERROR */
inline clear_error()
{
	lock(EVENT);
	update(ERROR, old, 0);
	unlock(EVENT)
}

proctype owner(byte me)
{
	byte error, left, old;

	do
	:: error -> break
	:: else -> load_acquire(ERROR, error, HERE)
	od;
	if
	:: KEPT(CLEAR_FIRST) -> clear_error()
	:: else
	fi;
	load_acquire(VALUE, left, HERE);
	if
	:: left -> update_ordered(VALUE, old, old - left, HERE, HERE)
	:: else
	fi;
	update_ordered(HIT, old, 0, HERE, HERE);
	if
	:: KEPT(CLEAR_FIRST)
	:: else -> clear_error()
	fi;
	over;
	assert(NEWEST(VALUE) == 0 && !NEWEST(HIT))
}

init {
	atomic {
		value[VALUE * MSGS] = 1;
		run engine(0);
		run owner(1)
	}
}
