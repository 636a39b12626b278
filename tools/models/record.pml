/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An error record that is filled, cleared by one thread of the owner, and filled
 * again with the same code, while another thread reads it. What he takes for a
 * record must be one, not halves of two.
 */
#define LOCS	3
#define PROCS	2
#define MSGS	4
#define LOCKS	1

#define CODE	0	/* bgdma_record.code */
#define FIRST	1	/* two of the other members */
#define SECOND	2

/* Barriers */
#define CODE_RELEASE	1	/* bgdma_record_show() */
#define COPY_BARRIER	2	/* record_read() */
#define CODE_ACQUIRE	3	/* record_read() */
#define COMPARE		4	/* record_read(): the copy is what is there */
#define FILL_BARRIER	5	/* bgdma_record_show(): the first */

#include "memory.pml"

proctype engine(byte me)
{
	byte n = 1;

	do
	:: n <= 2 ->
		lock(0);		/* ctx.event_lock */
		barrier(FILL_BARRIER);
		store(FIRST, n);
		store(SECOND, n);
		store_release(CODE, 1, CODE_RELEASE);
		unlock(0);
		n++;
		if
		:: n == 2 ->
			lock(0);
			store(CODE, 0);
			unlock(0)
		:: else
		fi
	:: else -> break
	od
}

proctype reader(byte me)
{
	byte code, first, second, first_again, second_again;

	load(FIRST, first);
	load(SECOND, second);
	barrier(COPY_BARRIER);
	load_acquire(CODE, code, CODE_ACQUIRE);
	load(FIRST, first_again);
	load(SECOND, second_again);
	if
	:: code && (!KEPT(COMPARE) || (first == first_again &&
				       second == second_again)) ->
		assert(first && first == second)
	:: else
	fi
}

init {
	atomic { run engine(0); run reader(1) }
}
