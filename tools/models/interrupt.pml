/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A hit that is an interrupt. The owner enables a counter, looks at it, and
 * sleeps: on an eventfd, or in poll(). The engine hits it meanwhile. The same
 * for a reception FIFO: read "armed" for enabled and "tail" for hit.
 */
#define LOCS	3
#define PROCS	2
#define MSGS	3
#define LOCKS	1

#define HIT	0	/* bgdma_user_ctl.hit_zero; bgdma_rec_kern.tail */
#define ENABLE	1	/* bgdma_user_ctl.enable; bgdma_rec_user.arm */
#define QUEUE	2	/* ctx.wq: somebody is on it */

/* Barriers */
#define HIT_BARRIER	1	/* bgdma_counter_sub(), bgdma_rec_arrived() */
#define ENABLE_BARRIER	2	/* bgdma_counter_enable(), bgdma_rec_arm() */
#define POLL_BARRIER	3	/* bgdma_poll() */

#include "memory.pml"

bool eventfd;

proctype engine(byte me)
{
	byte old, armed, queued;

	update(HIT, old, 1);
	barrier(HIT_BARRIER);
	load(ENABLE, armed);
	if
	:: armed ->
		eventfd = true;
		load(QUEUE, queued);
		if
		:: queued -> wake(1)
		:: else
		fi
	:: else
	fi
}

proctype owner(byte me)
{
	byte old, hit;

	update_ordered(ENABLE, old, 1, HERE, HERE);
	barrier(ENABLE_BARRIER);
	if
	:: load(HIT, hit);
		if
		:: hit
		:: else -> eventfd	/* read() blocks until it is signalled */
		fi
	:: store(QUEUE, 1);
		barrier(POLL_BARRIER);
		load(HIT, hit);
		do
		:: hit -> break
		:: else ->
			sleep();
			load(HIT, hit)
		od
	fi
}

init {
	atomic { run engine(0); run owner(1) }
}
