/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A wait by io_uring is parked on the queue of its context. The engine moves an
 * index and then looks for who waits; who parks looks at the index once more when
 * he is on the queue. His ring may cancel the wait at any time. It must end, and
 * once: by whoever takes it off the queue.
 */
#define LOCS	2
#define PROCS	3
#define MSGS	4
#define LOCKS	1

#define INDEX	0	/* of a FIFO or of the ring of events; a counter's value */
#define QUEUE	1	/* ctx.wq: the wait is on it */

#define WQ	0	/* ctx.wq.lock */

/* Barriers */
#define TELL_BARRIER	1	/* bgdma_rec_arrived(), bgdma_inj_tell(), bgdma_event_post() */
#define PARK_BARRIER	2	/* bgdma_uring_park() */
#define PARK_LOCK	3	/* bgdma_uring_park(): the lock over both */

#include "memory.pml"

byte ended;

inline end_wait()
{
	store(QUEUE, 0);
	ended++;
	assert(ended == 1)
}

inline take_off()
{
	lock(WQ);
	load(QUEUE, queued);
	if
	:: queued -> end_wait()
	:: else
	fi;
	unlock(WQ)
}

proctype engine(byte me)
{
	byte queued;

	store_release(INDEX, 1, HERE);
	barrier(TELL_BARRIER);
	load(QUEUE, queued);
	if
	:: queued -> take_off()
	:: else
	fi
}

proctype waiter(byte me)
{
	byte seen;

	lock(WQ);
	store(QUEUE, 1);
	if
	:: KEPT(PARK_LOCK)
	:: else -> unlock(WQ)
	fi;
	barrier(PARK_BARRIER);
	load(INDEX, seen);
	if
	:: seen -> end_wait()
	:: else
	fi;
	if
	:: KEPT(PARK_LOCK) -> unlock(WQ)
	:: else
	fi;
	ended
}

/* bgdma_uring_cancel(), or nobody cancels. */
proctype ring(byte me)
{
	byte queued;

	if
	:: take_off()
	:: true
	fi
}

init {
	atomic { run engine(0); run waiter(1); run ring(2) }
}
