/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Frames of a partition that arrive at two processors, and who delivers them. Who
 * queues one and finds the bit clear has the partition in his box, and when he closes
 * that he lets go of the bit and takes what is in the queue. Who finds the bit set
 * leaves his frame to whoever has it. If he has no bytes left to take he only looks
 * whether something is there, without the queue's lock; the worker for whom that is, is
 * himself here. Another worker, of an earlier frame, takes what there is at any time.
 * All frames must have been delivered when everybody is at rest.
 */
#define LOCS	2
#define PROCS	3
#define MSGS	10
#define LOCKS	1

#define IN_BOX	0	/* BGDMA_FLOWS_IN_BOX of bgdma_flows.flags */
#define LENGTH	1	/* of bgdma_flows.arrived */

#define QUEUE	0	/* bgdma_flows.arrived.lock */

/* Barriers */
#define PUT_FULL	1	/* bgdma_inbox_put(): its test_and_set_bit() */
#define CLOSE_BARRIER	2	/* bgdma_inbox_close() */

#include "memory.pml"

byte delivered;

/* skb_queue_tail() */
inline arrive()
{
	lock(QUEUE);
	load(LENGTH, n);
	store(LENGTH, n + 1);
	unlock(QUEUE);
	n = 0
}

/* skb_dequeue(), until there is nothing. */
inline take()
{
	do
	:: lock(QUEUE);
	   load(LENGTH, n);
	   if
	   :: n -> store(LENGTH, n - 1); delivered++; unlock(QUEUE)
	   :: else -> unlock(QUEUE); break
	   fi
	od
}

inline close()
{
	update(IN_BOX, n, 0);
	barrier(CLOSE_BARRIER);
	if
	:: take()
	:: skip	/* no bytes left */
	fi;
	load(LENGTH, n);
	if
	:: n -> take()	/* bgdma_inbox_work() */
	:: else
	fi;
	n = 0
}

proctype processor(byte me)
{
	byte n;

	arrive();
	barrier(PUT_FULL);
	update(IN_BOX, n, 1);
	barrier(PUT_FULL);
	if
	:: !n -> close()
	:: else -> n = 0
	fi
}

/* bgdma_inbox_work() */
proctype worker(byte me)
{
	byte n;

	take()
}

init {
	atomic { run processor(0); run processor(1); run worker(2) }
	_nr_pr == 1;
	assert(delivered == 2)
}
