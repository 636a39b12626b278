/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A reception FIFO with room for one packet, two packets through it, read in
 * place. The reader must find each as it was written, and may go on reading it
 * until it gives the room back. The ring of events is the same protocol, but that
 * the kernel counts an event as lost instead of waiting for room.
 */
#define LOCS	3
#define PROCS	2
#define MSGS	3
#define LOCKS	1

#define ROOM	0	/* where the packet is */
#define TAIL	1	/* bgdma_rec_kern.tail */
#define HEAD	2	/* bgdma_rec_user.head */

/* Barriers */
#define TAIL_RELEASE	1	/* bgdma_ring_set_rec_tail(), bgdma_event_post() */
#define TAIL_ACQUIRE	2	/* bgdma_rec_peek(), bgdma_rec_bytes(), bgdma_event_peek(), bgdma_events_pending(), endpoint_peer_end() */
#define HEAD_RELEASE	3	/* bgdma_rec_release(), bgdma_event_release() */
#define HEAD_ACQUIRE	4	/* bgdma_ring_rec_head(), bgdma_event_post() */

#include "memory.pml"

proctype engine(byte me)
{
	byte n = 1, head;
	bool early;

	do
	:: n <= 2 ->
		/* Without the acquire the plain writes can be hoisted. */
		if
		:: !KEPT(HEAD_ACQUIRE) -> store(ROOM, n); early = true
		:: true
		fi;
		do
		:: load_acquire(HEAD, head, HEAD_ACQUIRE);
			if
			:: n - head <= 1 -> break
			:: else
			fi
		od;
		if
		:: early -> early = false
		:: else -> store(ROOM, n)
		fi;
		store_release(TAIL, n, TAIL_RELEASE);
		n++
	:: else -> break
	od
}

proctype reader(byte me)
{
	byte head, tail, packet;

	do
	:: head < 2 ->
		load_acquire(TAIL, tail, TAIL_ACQUIRE);
		if
		:: tail == head
		:: tail != head ->
			/* Without the release the last look can come after. */
			if
			:: load(ROOM, packet);
				store_release(HEAD, head + 1, HEAD_RELEASE)
			:: !KEPT(HEAD_RELEASE) ->
				store(HEAD, head + 1);
				load(ROOM, packet)
			fi;
			head++;
			assert(packet == head)
		fi
	:: else -> break
	od
}

init {
	atomic { run engine(0); run reader(1) }
}
