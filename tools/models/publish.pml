/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Something is made, or changed, and then a word of it is stored that others look at
 * without a lock: whoever sees the word must see the rest. The simplest protocol, used
 * in several places, one of which is looked at each time.
 */
#define LOCS	2
#define PROCS	2
#define MSGS	2
#define LOCKS	1

#define MADE	0	/* the rest */
#define WORD	1	/* a pointer to it, or what else tells that it is there */

/* Barriers */
#define ETHER_RELEASE	1	/* bgdma_link_ether() */
#define ETHER_ACQUIRE	2	/* bgdma_ether() */
#define GATE_RELEASE	3	/* bgdma_gate_publish() */
#define GATE_ACQUIRE	4	/* bgdma_gate_enter() */
#define BROKEN_RELEASE	5	/* bgdma_class_break() */
#define BROKEN_ACQUIRE	6	/* bgdma_collect_begin() */
#define RESET_RELEASE	7	/* bgdma_counter_reset() */
#define RESET_ACQUIRE	8	/* bgdma_counter_at() */
#define PACE_RELEASE	9	/* bgdma_pace_tick() */
#define PACE_ACQUIRE	10	/* bgdma_pace_now() */
#define ACCESS_RELEASE	11	/* access_begin() */
#define ACCESS_ACQUIRE	12	/* bgdma_window_epoch(), accesses_close() */
#define TRAP_RELEASE	13	/* trap_create(), trap_destroy() */
#define TRAP_ACQUIRE	14	/* trap_catches() */

#include "memory.pml"

proctype maker(byte me; byte release)
{
	store(MADE, 1);
	store_release(WORD, 1, release)
}

proctype user(byte me; byte acquire)
{
	byte word, made;

	load_acquire(WORD, word, acquire);
	load(MADE, made);
	assert(!word || made)
}

inline one(release, acquire)
{
	atomic { run maker(0, release); run user(1, acquire) }
}

init {
	if
	:: one(ETHER_RELEASE, ETHER_ACQUIRE)
	:: one(GATE_RELEASE, GATE_ACQUIRE)
	:: one(BROKEN_RELEASE, BROKEN_ACQUIRE)
	:: one(RESET_RELEASE, RESET_ACQUIRE)
	:: one(PACE_RELEASE, PACE_ACQUIRE)
	:: one(ACCESS_RELEASE, ACCESS_ACQUIRE)
	:: one(TRAP_RELEASE, TRAP_ACQUIRE)
	fi
}
