/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An object ends while somebody uses it. Its busy count is one for being alive and one
 * for each use: who ends it takes the one off, and at zero it is freed. He waits for
 * that, or, as of calls, goes away and leaves it to a worker, whom the last use sends.
 * Either way it is freed, and what the use did to it is seen by then.
 */
#define LOCS	4
#define PROCS	3
#define MSGS	4
#define LOCKS	1

#define GONE	0	/* how many are off bgdma_busy.n, of the two */
#define USED	1	/* what a use leaves in the object */
#define QUEUE	2	/* who waits for zero is on the wait queue */
#define ENDING	3	/* ctx.ending */

/* Barriers */
#define PUT_BARRIER	1	/* bgdma_busy_put(), bgdma_use_end(): in atomic_dec_and_test() */
#define QUEUE_BARRIER	2	/* bgdma_busy_wait(): in wait_var_event() */
#define WAIT_ACQUIRE	3	/* bgdma_busy_wait() */
#define LEAVE_ACQUIRE	4	/* bgdma_ctx_release() */

#include "memory.pml"

bool waits;
bool freed;

inline put()
{
	barrier(PUT_BARRIER);
	update(GONE, gone, gone + 1);
	barrier(PUT_BARRIER);
	gone++
}

inline free()
{
	load(USED, used);
	assert(used);
	freed = true
}

proctype user(byte me)
{
	byte gone, queued;

	store(USED, 1);
	put();
	if
	:: gone == 2 && waits ->
		load(QUEUE, queued);
		if
		:: queued -> wake(1)
		:: else
		fi
	:: gone == 2 && !waits -> wake(2)
	:: else
	fi
}

proctype ender(byte me)
{
	byte gone, used, old;

	if
	:: !waits ->
		update_full(ENDING, old, 1)
	:: else
	fi;
	put();
	if
	:: waits ->
		load_acquire(GONE, gone, WAIT_ACQUIRE);
		do
		:: gone == 2 -> break
		:: else ->
			store(QUEUE, 1);
			barrier(QUEUE_BARRIER);
			load_acquire(GONE, gone, WAIT_ACQUIRE);
			if
			:: gone < 2 ->
				sleep();
				load_acquire(GONE, gone, WAIT_ACQUIRE)
			:: else
			fi
		od;
		free()
	:: else ->
		load_acquire(GONE, gone, LEAVE_ACQUIRE);
		if
		:: gone == 2 -> free()
		:: else
		fi
	fi
}

/* bgdma_process_work() */
proctype worker(byte me)
{
	byte gone, used, ending;

end:	do
	:: awake[me] ->
		sleep();
		load(ENDING, ending);
		load_acquire(GONE, gone, LEAVE_ACQUIRE);
		if
		:: ending && gone == 2 -> free()
		:: else
		fi
	od
}

init {
	if
	:: waits = true
	:: true
	fi;
	atomic { run user(0); run ender(1); run worker(2) }
	/* Until nothing moves any more. */
	timeout;
	assert(freed)
}
