/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A context is attached while others try to use it: a call, poll(), and whoever ends
 * what a process holds. Who is let in sees all of it; and who is not must not take what
 * is only just there for something that has ended.
 */
#define LOCS	3
#define PROCS	3
#define MSGS	4
#define LOCKS	1

#define MADE	0	/* what a call uses */
#define CALLS	1	/* ctx.calls, or ctx.rings */
#define ATTACHED 2	/* ctx.attached */

/* Barriers */
#define CALLS_RELEASE		1	/* bgdma_partition_publish() */
#define ATTACHED_RELEASE	2	/* bgdma_partition_publish() */
#define USE_ACQUIRE		3	/* bgdma_use_begin(), bgdma_poll() */
#define END_ACQUIRE		4	/* bgdma_ctx_release() */

#include "memory.pml"

proctype attach(byte me)
{
	store(MADE, 1);
	store_release(CALLS, 1, CALLS_RELEASE);
	store_release(ATTACHED, 1, ATTACHED_RELEASE)
}

/* bgdma_busy_get(): where it fails it is a plain read. */
inline busy_get()
{
	load(CALLS, n);
	if
	:: n -> update_full(CALLS, n, n + 1)
	:: else
	fi
}

inline use()
{
	load(MADE, made);
	assert(made)
}

proctype call(byte me)
{
	byte n, attached, made;

	busy_get();
	if
	:: n -> use()
	:: else ->
		load_acquire(ATTACHED, attached, USE_ACQUIRE);
		if
		:: attached ->
			busy_get();
			assert(n);
			use()
		:: else
		fi
	fi
}

proctype ender(byte me)
{
	byte attached, made;

	load_acquire(ATTACHED, attached, END_ACQUIRE);
	if
	:: attached -> use()
	:: else
	fi
}

init {
	atomic { run attach(0); run call(1); run ender(2) }
}
