/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The engine moves an index and tells whoever sleeps for it in BGDMA_IOC_WAIT:
 * the tail of a reception FIFO, "done" of an injection FIFO, the tail of the
 * events ring. The three are one protocol.
 */
#define LOCS	2
#define PROCS	2
#define MSGS	2
#define LOCKS	1

#define INDEX	0
#define WAITING	1	/* ctx.waiting, and the wait queue */

/* Barriers */
#define TELL_BARRIER	1	/* bgdma_rec_arrived(), bgdma_inj_tell(), bgdma_event_post() */
#define WAITER_BARRIER	2	/* bgdma_wait(): its prepare_to_wait() */

#include "memory.pml"

proctype engine(byte me)
{
	byte waiting;

	store_release(INDEX, 1, HERE);
	barrier(TELL_BARRIER);
	load(WAITING, waiting);
	if
	:: waiting -> wake(1)
	:: else
	fi
}

proctype waiter(byte me)
{
	byte seen;

	store(WAITING, 1);
	barrier(WAITER_BARRIER);
	load(INDEX, seen);
	do
	:: seen -> break
	:: else ->
		sleep();
		load(INDEX, seen)
	od
}

init {
	atomic { run engine(0); run waiter(1) }
}
