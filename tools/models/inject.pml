/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An injection FIFO of one slot, two descriptors through it. The engine must
 * copy each as it was written; who sees "done" must see what it did.
 */
#define LOCS	5
#define PROCS	2
#define MSGS	3
#define LOCKS	1

#define SLOT	0
#define TAIL	1	/* bgdma_inj_user.tail */
#define HEAD	2	/* bgdma_inj_kern.head */
#define DONE	3	/* bgdma_inj_kern.done */
#define PAYLOAD	4

/* Barriers */
#define TAIL_RELEASE	1	/* bgdma_inj_publish() */
#define TAIL_ACQUIRE	2	/* bgdma_ring_tail() */
#define HEAD_RELEASE	3	/* bgdma_ring_set_head() */
#define HEAD_ACQUIRE	4	/* bgdma_inj_reserve(), bgdma_inj_space() */
#define DONE_RELEASE	5	/* bgdma_ring_set_done() */
#define DONE_ACQUIRE	6	/* bgdma_inj_done() */

#include "memory.pml"

proctype user(byte me)
{
	byte n = 1, head, done, got;
	bool early;

	do
	:: n <= 2 ->
		/* Without the acquire the plain write can be hoisted. */
		if
		:: !KEPT(HEAD_ACQUIRE) -> store(SLOT, n); early = true
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
		:: else -> store(SLOT, n)
		fi;
		store_release(TAIL, n, TAIL_RELEASE);
		n++
	:: else -> break
	od;

	load_acquire(DONE, done, DONE_ACQUIRE);
	load(PAYLOAD, got);
	assert(got >= done)
}

proctype engine(byte me)
{
	byte head, tail, desc;

	do
	:: head < 2 ->
		load_acquire(TAIL, tail, TAIL_ACQUIRE);
		if
		:: tail == head
		:: tail != head ->
			/* Without the release the copy can end after it. */
			if
			:: load(SLOT, desc);
				store_release(HEAD, head + 1, HEAD_RELEASE)
			:: !KEPT(HEAD_RELEASE) ->
				store(HEAD, head + 1);
				load(SLOT, desc)
			fi;
			head++;
			assert(desc == head);
			store(PAYLOAD, desc);
			store_release(DONE, head, DONE_RELEASE)
		fi
	:: else -> break
	od
}

init {
	atomic { run user(0); run engine(1) }
}
