/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The ring of events is full, and the next one is lost. Whoever sees that looks how full
 * it is: if not wholly, then what was lost is none of those that he has to know of.
 * Two processors post, one after the other.
 */
#define LOCS	2
#define PROCS	3
#define MSGS	2
#define LOCKS	1

#define TAIL	0	/* bgdma_kern_ctl.events_tail: 1: full */
#define LOST	1	/* bgdma_kern_ctl.events_lost */

/* Barriers */
#define LOST_RELEASE	1	/* bgdma_event_post() */
#define LOST_ACQUIRE	2	/* events_crammed() */

#include "memory.pml"

/* bgdma_event_post() */
proctype engine(byte me)
{
	lock(0);		/* ctx.event_lock */
	if
	:: !NEWEST(TAIL) -> store_release(TAIL, 1, HERE)
	:: else -> store_release(LOST, 1, LOST_RELEASE)
	fi;
	unlock(0)
}

proctype owner(byte me)
{
	byte lost, tail;

	load_acquire(LOST, lost, LOST_ACQUIRE);
	load(TAIL, tail);
	assert(!lost || tail)
}

init {
	atomic { run engine(0); run engine(1); run owner(2) }
}
