/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A context leaves a group while the engine remembers its binding, together with a
 * count of the bindings that are gone. The binding is freed after a grace period of
 * RCU: a slice that begins after that may neither find it nor remember it. The same for
 * a region that is freed: read "serial number" for the count. Whoever remembers a region
 * only compares the number; it is loaded again before a look.
 */
#define LOCS	2
#define PROCS	2
#define MSGS	2
#define LOCKS	1

#define ERASED	0	/* it is not in partition.groups, or ctx.regions, any more */
#define GONE	1	/* bgdma_partition.groups_gone; bgdma_ctx.regions_serial */

/* Barriers */
#define ERASED_FIRST	1	/* bgdma_group_take_out(), bgdma_groups_lose(), bgdma_region_free(): before it counts */
#define GONE_RELEASE	2	/* bgdma_groups_went(), bgdma_region_free() */
#define GONE_ACQUIRE	3	/* bgdma_group_for(), bgdma_group_ask(), bgdma_group_own(), bgdma_region_look(): before the look */

#include "memory.pml"

bool slice;		/* the engine is in one */
bool waited_for;	/* and it had begun before the grace period */
bool period;		/* that has begun */
view before;		/* what every slice after its beginning sees */
bool freed;

inline slice_begin()
{
	d_step {
		slice = true;
		if
		:: period -> join(cur[me], before); join(later[me], before)
		:: else
		fi;
		k_ = 0
	}
}

inline slice_end()
{
	d_step { slice = false; waited_for = false }
}

proctype member(byte me)
{
	if
	:: !KEPT(ERASED_FIRST) -> store_release(GONE, 1, GONE_RELEASE)
	:: else
	fi;
	store(ERASED, 1);
	if
	:: KEPT(ERASED_FIRST) -> store_release(GONE, 1, GONE_RELEASE)
	:: else
	fi;
	d_step {
		assign(before, cur[me]);
		waited_for = slice;
		period = true;
		k_ = 0
	}
	!waited_for;
	freed = true
}

proctype engine(byte me)
{
	byte gone, erased, count_then, slices;
	bool remembered;

	do
	:: slices < 3 ->
		slice_begin();
		load(GONE, gone);
		if
		:: remembered && count_then == gone -> assert(!freed)
		:: else ->
			load_acquire(GONE, gone, GONE_ACQUIRE);
			load(ERASED, erased);
			if
			:: !erased ->
				assert(!freed);
				remembered = true;
				count_then = gone
			:: else
			fi
		fi;
		slice_end();
		slices++
	:: else -> break
	od
}

init {
	atomic { run member(0); run engine(1) }
}
