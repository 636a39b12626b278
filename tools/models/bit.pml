/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An error: its record is written, and then the bit of its counter or FIFO is set.
 * Whoever sees the bit must find the record.
 */
#define LOCS	2
#define PROCS	2
#define MSGS	2
#define LOCKS	1

#define CODE	0	/* bgdma_record.code */
#define BIT	1	/* bgdma_kern_ctl.counter_error */

/* Barriers */
#define BIT_BARRIER	1	/* bgdma_record_show(): the second */
#define BIT_ACQUIRE	2	/* bgdma_counter_failed(), pool_hit() */

#include "memory.pml"

proctype engine(byte me)
{
	byte old;

	store_release(CODE, 1, HERE);
	barrier(BIT_BARRIER);
	update(BIT, old, 1)
}

proctype owner(byte me)
{
	byte error, code;

	load_acquire(BIT, error, BIT_ACQUIRE);
	load_acquire(CODE, code, HERE);
	assert(!error || code)
}

init {
	atomic { run engine(0); run owner(1) }
}
