/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An injection FIFO stops at a descriptor that failed. Whoever sees that in its
 * state must find the record.
 */
#define LOCS	2
#define PROCS	2
#define MSGS	2
#define LOCKS	1

#define CODE	0	/* bgdma_record.code */
#define STATE	1	/* bgdma_inj_kern.state */

/* Barriers */
#define STATE_RELEASE	1	/* bgdma_stream_error() */
#define STATE_ACQUIRE	2	/* bgdma_inj_state() */

#include "memory.pml"

proctype engine(byte me)
{
	lock(0);		/* ctx.event_lock */
	store_release(CODE, 1, HERE);
	unlock(0);
	store_release(STATE, 1, STATE_RELEASE)
}

proctype owner(byte me)
{
	byte state, code;

	load_acquire(STATE, state, STATE_ACQUIRE);
	load_acquire(CODE, code, HERE);
	assert(!state || code)
}

init {
	atomic { run engine(0); run owner(1) }
}
