/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A stream is put on the run list while the thread that polls stops polling and
 * goes to sleep. Whoever puts it there relies on the poller while there is one,
 * else he wakes the thread. The stream must be run. The same for a context that
 * becomes one to be polled: bgdma_ctx_poll().
 *
 * The barrier of the engine between the end of polling and the next look is not
 * here: the one of wait_event() stands behind it before any sleep.
 */
#define LOCS	3
#define PROCS	2
#define MSGS	3
#define LOCKS	1

#define LIST	0	/* engine.rq; engine.polled */
#define POLLER	1	/* engine.poller */
#define QUEUE	2	/* a thread is on engine.wq */

/* Barriers */
#define WAKE_BARRIER	1	/* bgdma_stream_wake(), bgdma_ctx_poll() */
#define QUEUE_BARRIER	2	/* bgdma_thread_idle(): in wait_event() */

#include "memory.pml"

proctype waker(byte me)
{
	byte poller, queued;

	lock(0);
	store(LIST, 1);
	unlock(0);
	barrier(WAKE_BARRIER);
	load(POLLER, poller);
	if
	:: !poller ->
		load(QUEUE, queued);
		if
		:: queued -> wake(1)
		:: else
		fi
	:: else
	fi
}

proctype thread(byte me)
{
	byte old, listed;

	update_ordered(POLLER, old, 1, HERE, WITHOUT);
	load(LIST, listed);
	store_release(POLLER, 0, HERE);
	if
	:: listed
	:: else ->
		store(QUEUE, 1);
		barrier(QUEUE_BARRIER);
		load(LIST, listed);
		if
		:: listed
		:: else -> sleep()
		fi
	fi
}

init {
	atomic { run waker(0); run thread(1) }
}
