/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A counter that is used twice. The engine brings it to zero, and sets the hit
 * bit a little later. The owner may see the zero alone; he clears the bit, adds
 * for the next use and waits for it. The bit of the first use must not end that
 * wait: the payload would not be there.
 */
#define LOCS	4
#define PROCS	2
#define MSGS	6
#define LOCKS	1

#define PAYLOAD	0
#define VALUE	1	/* bgdma_counter_cell.value: uses that are due */
#define HIT	2	/* bgdma_user_ctl.hit_zero */
#define TAIL	3	/* bgdma_inj_user.tail: the descriptor of a use */

/* Barriers */
#define HIT_AWAITED	1	/* bgdma_counter_clear_hit(): a bit that has to come */
#define HIT_ACQUIRE	2	/* bgdma_counter_hit(), bgdma_hits() */

#include "memory.pml"

/* bgdma_counter_sub() */
proctype engine(byte me)
{
	byte n = 1, tail, old;

	do
	:: n <= 2 ->
		do
		:: tail < n ->
			NEWEST(TAIL) >= n;
			load_acquire(TAIL, tail, HERE)
		:: else -> break
		od;
		store(PAYLOAD, n);
		update_full(VALUE, old, old - 1);
		update(HIT, old, 1);
		old = 0;
		n++
	:: else -> break
	od
}

/* Software moved the counter since the last clear. */
inline clear_hit()
{
	if
	:: KEPT(HIT_AWAITED) ->
		do
		:: load_acquire(HIT, hit, HIT_ACQUIRE);
			load_acquire(VALUE, due, HERE);
			if
			:: hit || due -> break
			:: else
			fi
		od
	:: else
	fi;
	update_ordered(HIT, old, 0, HERE, HERE)
}

proctype owner(byte me)
{
	byte n = 1, due, hit, payload, old;

	do
	:: n <= 2 ->
		update_ordered(VALUE, old, old + 1, HERE, HERE);
		store_release(TAIL, n, HERE);
		do
		:: load_acquire(VALUE, due, HERE);
			load_acquire(HIT, hit, HIT_ACQUIRE);
			if
			:: !due || hit -> break
			:: else
			fi
		od;
		load(PAYLOAD, payload);
		assert(payload == n);
		clear_hit();
		due = 0; hit = 0; old = 0;
		n++
	:: else -> break
	od
}

init {
	atomic { run engine(0); run owner(1) }
}
