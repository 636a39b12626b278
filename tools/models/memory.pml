/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory that is weak on purpose, for the models of this folder.
 *
 * Every location keeps all values that were ever stored in it, oldest first. A
 * process has a view: for each location the oldest value that it may still
 * see. A plain load takes any value from there on, so it can be as late, or as
 * early, as a processor or a compiler could make it; a plain store tells
 * whoever reads it of nothing else. What narrows the choice:
 *
 *   release	the stored value carries the view of whoever stores it
 *   acquire	whoever loads a value takes over the view that it carries
 *   barrier	a full one: all barriers have one order, and each takes over the
 *		views of those before it
 *   update	an atomic read-modify-write takes the newest value; it is of
 *		itself relaxed, and passes on what the value carried
 *
 * That is the C11 model of release, acquire and sequentially consistent fences,
 * in which different processes may see stores in different orders. It is weaker
 * than any processor that Linux runs on, and where a model passes here the
 * kernel's model gives the same order. One thing it does not have of itself: a
 * store that overtakes an earlier load. Where a barrier is against that, the
 * model does both orders when the barrier is out.
 *
 * A model defines LOCS, PROCS, MSGS (values per location), LOCKS and then
 * includes this file. Each process has a parameter "me", from 0 on. Barriers
 * are numbered from 1; -DWITHOUT=NAME takes one out; HERE stands for one that
 * is not in question. tools/check/models runs each model whole, which must
 * pass, and without each of its barriers, which must not.
 */
#ifndef WITHOUT
#define WITHOUT 0
#endif
#define HERE 255
#define KEPT(b) ((b) != WITHOUT)
#define NEWEST(l) value[(l) * MSGS + count[l]]	/* to wait for, not to see */

typedef view { byte at[LOCS] };

byte count[LOCS];			/* values besides the first, which is 0 */
byte value[LOCS * MSGS];
view carried[LOCS * MSGS];
view cur[PROCS];			/* may be seen no older than this */
view later[PROCS];			/* what a barrier would take over */
view earlier[PROCS];			/* as of the last barrier */
view fences;				/* of the last barrier of all */
bool held[LOCKS];
view guarded[LOCKS];			/* as of the last unlock */
bool awake[PROCS];
byte pick;				/* nothing between two steps */
hidden byte k_;

inline join(to, from)
{
	k_ = 0;
	do
	:: k_ < LOCS ->
		if
		:: to.at[k_] < from.at[k_] -> to.at[k_] = from.at[k_]
		:: else
		fi;
		k_++
	:: else -> break
	od
}

inline assign(to, from)
{
	k_ = 0;
	do
	:: k_ < LOCS -> to.at[k_] = from.at[k_]; k_++
	:: else -> break
	od
}

/* READ_ONCE(), or a plain read. */
inline load(l, out)
{
	load_acquire(l, out, WITHOUT)
}

/* smp_load_acquire(), bgdma_load_acquire() */
inline load_acquire(l, out, b)
{
	atomic {
		pick = cur[me].at[l];
		do
		:: pick < count[l] -> pick++
		:: break
		od;
		d_step {
			out = value[(l) * MSGS + pick];
			cur[me].at[l] = pick;
			join(later[me], carried[(l) * MSGS + pick]);
			if
			:: later[me].at[l] < pick -> later[me].at[l] = pick
			:: else
			fi;
			if
			:: KEPT(b) -> join(cur[me], carried[(l) * MSGS + pick])
			:: else
			fi;
			pick = 0
		}
	}
}

/* WRITE_ONCE(), or a plain write. */
inline store(l, v)
{
	store_release(l, v, WITHOUT)
}

inline append(l, v)
{
	count[l]++;
	assert(count[l] < MSGS);
	value[(l) * MSGS + count[l]] = v;
	cur[me].at[l] = count[l];
	later[me].at[l] = count[l]
}

/* smp_store_release(), bgdma_store_release() */
inline store_release(l, v, b)
{
	d_step {
		append(l, v);
		if
		:: KEPT(b) -> assign(carried[(l) * MSGS + count[l]], cur[me])
		:: else ->
			assign(carried[(l) * MSGS + count[l]], earlier[me]);
			carried[(l) * MSGS + count[l]].at[l] = count[l]
		fi;
		k_ = 0
	}
}

/* atomic64_or(), set_bit() and their like: "old" is set, "new" may use it. */
inline update(l, old, new)
{
	update_ordered(l, old, new, WITHOUT, WITHOUT)
}

/* __ATOMIC_SEQ_CST of the library, but without a fence of its own. */
inline update_ordered(l, old, new, ba, br)
{
	d_step {
		old = value[(l) * MSGS + count[l]];
		join(later[me], carried[(l) * MSGS + count[l]]);
		if
		:: KEPT(ba) -> join(cur[me], carried[(l) * MSGS + count[l]])
		:: else
		fi;
		append(l, new);
		assign(carried[(l) * MSGS + count[l]],
		       carried[(l) * MSGS + count[l] - 1]);
		if
		:: KEPT(br) -> join(carried[(l) * MSGS + count[l]], cur[me])
		:: else -> join(carried[(l) * MSGS + count[l]], earlier[me])
		fi;
		carried[(l) * MSGS + count[l]].at[l] = count[l]
	}
}

/* smp_mb(), bgdma_full_barrier() */
inline barrier(b)
{
	d_step {
		if
		:: KEPT(b) ->
			join(cur[me], later[me]);
			join(cur[me], fences);
			assign(fences, cur[me]);
			assign(later[me], cur[me]);
			assign(earlier[me], cur[me])
		:: else
		fi;
		k_ = 0
	}
}

/* Value-returning atomics of the kernel: xchg(), atomic64_sub_return() */
inline update_full(l, old, new)
{
	barrier(HERE);
	update(l, old, new);
	barrier(HERE)
}

/*
 * Who has the lock sees what those before him did. Who looks without it need not see
 * that in the order in which they had it: not on every processor that the kernel's
 * model allows for.
 */
inline lock(n)
{
	atomic {
		!held[n];
		held[n] = true;
		d_step {
			join(cur[me], guarded[n]);
			join(later[me], guarded[n]);
			k_ = 0
		}
	}
}

inline unlock(n)
{
	d_step {
		assign(guarded[n], cur[me]);
		held[n] = false
	}
}

/* The scheduler orders who wakes before who is woken. */
inline wake(who)
{
	d_step {
		awake[who] = true;
		join(cur[who], cur[me]);
		join(later[who], cur[me]);
		k_ = 0
	}
}

inline sleep()
{
	atomic {
		awake[me];
		awake[me] = false
	}
}
