/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Software's own add brings a counter to zero, or to its wake mark, while
 * somebody sleeps on it. The adder is bgdma_counter_add(), which makes a system
 * call only when it finds the counter armed, or a program that knows only the
 * ABI and always calls BGDMA_IOC_NOTIFY. At zero a third thread may go on with
 * the next use, so that the hit bit alone tells the sleeper.
 */
#define LOCS	4
#define PROCS	3
#define MSGS	4
#define LOCKS	1

#define VALUE	0	/* bgdma_counter_cell.value */
#define HIT	1	/* bgdma_user_ctl.hit_zero */
#define ARM	2	/* bgdma_counter_cell.arm */
#define WAITING	3	/* ctx.waiting, and the wait queue */

#define DUE	0
#define ZERO	1
#define MARK	2	/* at its wake mark, which is not zero */
#define REUSED	3

/* Barriers */
#define ADD_BARRIER	1	/* bgdma_counter_add(): the first */
#define HIT_BARRIER	2	/* bgdma_counter_add(): the second */
#define NOTIFY_BARRIER	3	/* bgdma_counter_notify() of the kernel */
#define WAITER_BARRIER	4	/* bgdma_wait(): its prepare_to_wait() */

#include "memory.pml"

inline notify()
{
	barrier(NOTIFY_BARRIER);
	load(WAITING, waiting);
	if
	:: waiting -> wake(1)
	:: else
	fi
}

proctype adder(byte me)
{
	byte old, arm, waiting;

	if
	:: update_ordered(VALUE, old, ZERO, HERE, HERE);
		barrier(ADD_BARRIER);
		update_ordered(HIT, old, 1, HERE, HERE);
		barrier(HIT_BARRIER);
		load(ARM, arm)
	:: update_ordered(VALUE, old, MARK, HERE, HERE);
		barrier(ADD_BARRIER);
		load(ARM, arm)
	:: update(VALUE, old, MARK);
		arm = 1
	fi;
	if
	:: arm -> notify()
	:: else
	fi
}

inline look()
{
	load(VALUE, seen);
	load(HIT, hit)
}

proctype waiter(byte me)
{
	byte old, seen, hit;

	update(ARM, old, 1);
	store(WAITING, 1);
	barrier(WAITER_BARRIER);
	look();
	do
	:: seen == ZERO || seen == MARK || hit -> break
	:: else ->
		sleep();
		look()
	od
}

proctype other(byte me)
{
	byte seen, old;

	load_acquire(VALUE, seen, HERE);
	if
	:: seen == ZERO -> update_ordered(VALUE, old, REUSED, HERE, HERE)
	:: else
	fi
}

init {
	atomic { run adder(0); run waiter(1); run other(2) }
}
