/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Doorbell and wake word. User space injects two descriptors while the engine
 * polls, goes to sleep, is woken by somebody else and goes to sleep again. All
 * descriptors must have been found when both are at rest. A user who is told to
 * wake the engine does its work himself, as BGDMA_IOC_DOORBELL does.
 */
#define LOCS	3
#define PROCS	2
#define MSGS	8
#define LOCKS	1

#define TAIL	0	/* bgdma_inj_user.tail */
#define BELL	1	/* a bit of bgdma_user_ctl.doorbell */
#define WAKE	2	/* bgdma_kern_ctl.wake */

/* Barriers */
#define USER_BARRIER	1	/* bgdma_inj_submit(), bgdma_kick(), bgdma_rec_release() */
#define ENGINE_BARRIER	2	/* bgdma_poll_rung() */
#define BELL_RELEASE	3	/* bgdma_inj_publish() */
#define TAKE_FULL	4	/* bgdma_ring_doorbell(): its xchg() */
#define TAKE_ATOMIC	5	/* bgdma_ring_doorbell(): its xchg() */

#include "memory.pml"

byte found;

/* bgdma_doorbell(): take the bit, then look at the tail. */
inline take()
{
	load(BELL, bell);
	if
	:: bell ->
		if
		:: KEPT(TAKE_ATOMIC) ->
			barrier(TAKE_FULL);
			update(BELL, old, 0);
			barrier(TAKE_FULL)
		:: else ->
			barrier(HERE);
			store(BELL, 0);
			barrier(HERE)
		fi;
		load_acquire(TAIL, tail, HERE);
		d_step {
			if
			:: tail > found -> found = tail
			:: else
			fi;
			tail = 0
		}
	:: else
	fi
}

proctype user(byte me)
{
	byte n = 1, old, wake_word, bell, tail;

	do
	:: n <= 2 ->
		store_release(TAIL, n, HERE);
		update_ordered(BELL, old, 1, HERE, BELL_RELEASE);
		barrier(USER_BARRIER);
		load(WAKE, wake_word);
		if
		:: wake_word -> take()
		:: else
		fi;
		n++
	:: else -> break
	od;
}

proctype engine(byte me)
{
	byte n, old, bell, tail;

	do
	:: n < 2 ->
		store(WAKE, 0);
		take();
		store(WAKE, 1);
		barrier(ENGINE_BARRIER);
		take();
		n++
	:: else -> break
	od
}

init {
	atomic { run user(0); run engine(1) }
	_nr_pr == 1;
	assert(found == 2)
}
