/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A counter that somebody sleeps on in BGDMA_IOC_WAIT. The engine moves its
 * payload and counts, and reaches zero; or its transfer fails, and what it had
 * left goes. Another thread of the owner may put the counter to its next use at
 * once: then the hit bit alone tells the sleeper. Nobody may sleep for ever, and
 * who sees the count must see the payload, or the error.
 */
#define LOCS	5
#define PROCS	3
#define MSGS	4
#define LOCKS	1

#define PAYLOAD	0
#define VALUE	1	/* bgdma_counter_cell.value; 0 here stands for one byte */
#define HIT	2	/* bgdma_user_ctl.hit_zero */
#define ERROR	3	/* bgdma_kern_ctl.counter_error */
#define WAITING	4	/* ctx.waiting, and the wait queue */

#define DUE	0
#define ZERO	1
#define REUSED	2

/* Barriers */
#define COUNT_FULL	1	/* bgdma_counter_sub(): its sub_return */
#define VALUE_ACQUIRE	2	/* bgdma_counter_read(), bgdma_counter_there() */
#define HIT_BARRIER	3	/* bgdma_counter_sub(), bgdma_counter_low() */
#define ERROR_BARRIER	4	/* bgdma_counter_fail() */
#define WAITER_BARRIER	5	/* bgdma_wait(): its prepare_to_wait() */
#define ERROR_FIRST	6	/* bgdma_counter_fail(): before the count */
#define LEFT_FULL	7	/* bgdma_counter_give_up(): its sub_return */

#include "memory.pml"

inline wake_waiter()
{
	load(WAITING, waiting);
	if
	:: waiting -> wake(1)
	:: else
	fi
}

/* Of a transfer that may have had something left to count. */
inline fail()
{
	if
	:: KEPT(ERROR_FIRST) -> update(ERROR, old, 1)
	:: else
	fi;
	if
	:: true ->
		barrier(LEFT_FULL);
		update(VALUE, old, ZERO);
		barrier(LEFT_FULL);
		update(HIT, old, 1)
	:: true
	fi;
	if
	:: KEPT(ERROR_FIRST)
	:: else -> update(ERROR, old, 1)
	fi
}

proctype engine(byte me)
{
	byte old, waiting;

	if
	:: store(PAYLOAD, 1);
		barrier(COUNT_FULL);
		update(VALUE, old, ZERO);
		barrier(COUNT_FULL);
		update(HIT, old, 1);
		barrier(HIT_BARRIER);
		wake_waiter()
	:: true ->
		fail();
		barrier(ERROR_BARRIER);
		wake_waiter()
	fi
}

/* bgdma_counter_there() of the kernel. */
inline look()
{
	load(VALUE, count_seen);
	load(HIT, hit);
	load(ERROR, error)
}

proctype waiter(byte me)
{
	byte count_seen, hit, error, payload;

	store(WAITING, 1);
	barrier(WAITER_BARRIER);
	look();
	do
	:: count_seen == ZERO || hit || error -> break
	:: else ->
		sleep();
		look()
	od;

	/* Back in user space. */
	load_acquire(VALUE, count_seen, VALUE_ACQUIRE);
	load(PAYLOAD, payload);
	load(ERROR, error);
	assert(count_seen == DUE || payload || error)
}

/* The next bgdma_counter_add(). */
proctype other(byte me)
{
	byte count_seen, old;

	load_acquire(VALUE, count_seen, HERE);
	if
	:: count_seen == ZERO -> update_ordered(VALUE, old, REUSED, HERE, HERE)
	:: else
	fi
}

init {
	atomic { run engine(0); run waiter(1); run other(2) }
}
