/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A reception FIFO that has room for one packet, which is in it. Its reader
 * gives the room back, twice. A sender with two more packets parks when he finds
 * no room, and says so in "starved". A thread of the engine answers the
 * reader's doorbell. Both packets must go in, and to the engine the head of a
 * reader who keeps the rules must never look impossible.
 *
 * How the doorbell wakes the engine is doorbell.pml; here it always listens.
 */
#define LOCS	6
#define PROCS	3
#define MSGS	8
#define LOCKS	2

#define HEAD	0	/* bgdma_rec_user.head */
#define TAIL	1	/* bgdma_rec_kern.tail, less the first packet */
#define OWN	2	/* bgdma_rec_fifo.tail, likewise */
#define STARVED	3	/* bgdma_rec_kern.starved */
#define BELL	4	/* bgdma_user_ctl.doorbell_rec */
#define LIST	5	/* bgdma_rec_fifo.waiters */

#define FIFO	0	/* bgdma_rec_fifo.lock */
#define PARK	1	/* engine.park_lock */

/* Barriers */
#define READER_BARRIER	1	/* bgdma_rec_release() */
#define PARK_BARRIER	2	/* bgdma_stream_park() */
#define STARVED_BARRIER	3	/* bgdma_rec_refused() */
#define WAKE_BARRIER	4	/* bgdma_waiters_wake() */
#define ROOM_LOCK	5	/* bgdma_rec_used_now() */

#include "memory.pml"

/* Of one packet. */
#define USED (own + 1 - head)

proctype reader(byte me)
{
	byte n = 1, starved, old, tail;

	do
	:: n <= 2 ->
		store_release(HEAD, n, HERE);
		barrier(READER_BARRIER);
		load(STARVED, starved);
		if
		:: starved -> update_ordered(BELL, old, 1, HERE, HERE)
		:: else
		fi;
		starved = 0;
		/* The next packet, to be given back in its turn. */
		do
		:: tail < n ->
			NEWEST(TAIL) >= n;
			load_acquire(TAIL, tail, HERE)
		:: else -> break
		od;
		n++
	:: else -> break
	od
}

inline look_for_room()
{
	if
	:: KEPT(ROOM_LOCK) -> lock(FIFO)
	:: else
	fi;
	load(OWN, own);
	load_acquire(HEAD, head, HERE);
	if
	:: KEPT(ROOM_LOCK) -> unlock(FIFO)
	:: else
	fi;
	assert(USED <= 1)
}

/* bgdma_doorbell_rec(), bgdma_rec_kick() */
proctype engine(byte me)
{
	byte bell, head, own, list;

end:	do
	:: NEWEST(BELL) ->
		update_full(BELL, bell, 0);
		look_for_room();
		if
		:: USED == 0 ->
			store(STARVED, 0);
			barrier(WAKE_BARRIER);
			load(LIST, list);
			if
			:: list ->
				lock(PARK);
				load(LIST, list);
				if
				:: list -> store(LIST, 0); wake(2)
				:: else
				fi;
				unlock(PARK)
			:: else
			fi
		:: else
		fi;
		bell = 0; head = 0; own = 0; list = 0
	od
}

/* bgdma_rec_append(), bgdma_rec_refused() */
proctype sender(byte me)
{
	byte n, head, own, list;

	do
	:: n < 2 ->
		lock(FIFO);
		load(OWN, own);
		load_acquire(HEAD, head, HERE);
		if
		:: USED == 0 ->
			store(OWN, own + 1);
			store_release(TAIL, own + 1, HERE);
			unlock(FIFO);
			n++
		:: else ->
			unlock(FIFO);
			lock(PARK);
			store(LIST, 1);
			unlock(PARK);
			barrier(PARK_BARRIER);
			store(STARVED, 1);
			barrier(STARVED_BARRIER);
			look_for_room();
			if
			:: USED == 0 ->
				lock(PARK);
				load(LIST, list);
				if
				:: list -> store(LIST, 0)
				:: else -> sleep()	/* woken already */
				fi;
				unlock(PARK)
			:: else -> sleep()
			fi
		fi;
		head = 0; own = 0; list = 0
	:: else -> break
	od
}

init {
	atomic { run reader(0); run engine(1); run sender(2) }
}
