/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A control call waits for the ownership of a stream, in wait_on_bit_lock(). It
 * must get it, and see what the owner before left in the stream.
 */
#define LOCS	3
#define PROCS	2
#define MSGS	6
#define LOCKS	1

#define FLAGS	0	/* bgdma_stream.flags */
#define STATE	1	/* what owners keep in the stream */
#define QUEUE	2	/* the call is on the wait queue of FLAGS */

#define OWNED	1
#define WANTED	2

/* Barriers */
#define DISOWN_RELEASE	1	/* bgdma_stream_disown() */
#define DISOWN_BARRIER	2	/* bgdma_stream_disown() */
#define QUEUE_BARRIER	3	/* bgdma_stream_own(): in wait_on_bit_lock() */
#define OWN_ACQUIRE	4	/* bgdma_stream_own(): in wait_on_bit_lock() */

#include "memory.pml"

/* test_and_set_bit_lock() */
inline trylock()
{
	load(FLAGS, flags);
	atomic {
		if
		:: !(flags & OWNED) && !(NEWEST(FLAGS) & OWNED) ->
			update_ordered(FLAGS, flags, flags | OWNED, OWN_ACQUIRE,
				       WITHOUT);
			mine = true
		:: else
		fi
	}
}

proctype owner(byte me)
{
	byte flags, queued;
	bool mine;

	trylock();
	if
	:: mine ->
		store(STATE, 1);
		update_ordered(FLAGS, flags, flags & ~OWNED, WITHOUT,
			       DISOWN_RELEASE);
		barrier(DISOWN_BARRIER);
		load(FLAGS, flags);
		if
		:: flags & WANTED ->
			load(QUEUE, queued);
			if
			:: queued -> wake(1)
			:: else
			fi
		:: else
		fi
	:: else
	fi
}

proctype call(byte me)
{
	byte flags, state, old;
	bool mine, after;

	update(FLAGS, flags, flags | WANTED);
	after = flags & OWNED;
	do
	:: trylock();
		if
		:: mine -> break
		:: else
		fi;
		if
		:: NEWEST(QUEUE)
		:: else -> store(QUEUE, 1)
		fi;
		barrier(QUEUE_BARRIER);
		load(FLAGS, flags);
		if
		:: flags & OWNED -> sleep()
		:: else
		fi
	od;
	load(STATE, state);
	assert(state || !after)
}

init {
	atomic { run owner(0); run call(1) }
}
