/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Somebody asks for the indices of an injection FIFO, none of which he owns, while a
 * descriptor goes through it. What he is shown must be in order: done, head, tail, or
 * there are more descriptors in the FIFO than it has room for.
 */
#define LOCS	3
#define PROCS	3
#define MSGS	2
#define LOCKS	1

#define TAIL	0	/* bgdma_inj_user.tail */
#define HEAD	1	/* bgdma_inj_kern.head */
#define DONE	2	/* bgdma_inj_kern.done */

/* Barriers */
#define HEAD_RELEASE	1	/* bgdma_ring_set_head() */
#define DONE_RELEASE	2	/* bgdma_ring_set_done() */
#define DONE_ACQUIRE	3	/* bgdma_put_inj() */
#define HEAD_ACQUIRE	4	/* bgdma_put_inj() */

#include "memory.pml"

proctype owner(byte me)
{
	store_release(TAIL, 1, HERE)
}

proctype engine(byte me)
{
	byte tail;

	load_acquire(TAIL, tail, HERE);
	if
	:: tail ->
		store_release(HEAD, 1, HEAD_RELEASE);
		store_release(DONE, 1, DONE_RELEASE)
	:: else
	fi
}

proctype dump(byte me)
{
	byte done, head, tail;

	load_acquire(DONE, done, DONE_ACQUIRE);
	load_acquire(HEAD, head, HEAD_ACQUIRE);
	load(TAIL, tail);
	assert(done <= head && head <= tail)
}

init {
	atomic { run owner(0); run engine(1); run dump(2) }
}
