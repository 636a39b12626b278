/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A stream of a remote-get queue has one owner at a time. While one thread runs
 * it and leaves, another delivers a descriptor and puts the stream on the run
 * list, from which a third takes it. Who finds it owned leaves it to its owner,
 * who therefore looks once more after he has let go of it. The descriptor must
 * be executed, by somebody who sees what the owner before left in the stream.
 */
#define LOCS	4
#define PROCS	3
#define MSGS	10
#define LOCKS	2

#define OWNED	0	/* the bit of bgdma_stream.flags */
#define TAIL	1	/* bgdma_rget_sub.tail */
#define STATE	2	/* what owners keep in the stream */
#define LIST	3	/* it is on the run list */

#define SUB	0	/* bgdma_rget_queue.lock */
#define RUN	1	/* engine.rq_lock */

/* Barriers */
#define OWN_ACQUIRE	1	/* bgdma_rq_pick(), bgdma_doorbell_own(), bgdma_doorbell_marked(), bgdma_follow_one(), bgdma_sub_take(), bgdma_rx_run() */
#define DISOWN_RELEASE	2	/* bgdma_stream_disown() */
#define DISOWN_BARRIER	3	/* bgdma_stream_disown(), bgdma_doorbell_leave() */
#define PICK_BARRIER	4	/* bgdma_rq_pick(): its bgdma_busy_get() */
#define AFTER_BARRIER	5	/* bgdma_stream_wake_after() */

#include "memory.pml"

byte executed;

/* Where it fails it is a plain read. */
inline trylock()
{
	mine = false;
	load(OWNED, owned);
	atomic {
		if
		:: !owned && !NEWEST(OWNED) ->
			update_ordered(OWNED, owned, 1, OWN_ACQUIRE, WITHOUT);
			mine = true
		:: else
		fi
	};
	owned = 0
}

inline run_and_leave()
{
	load(STATE, seen);
	assert(seen == executed);
	lock(SUB);
	load(TAIL, seen);
	unlock(SUB);
	if
	:: seen > executed -> executed = seen; store(STATE, seen)
	:: else
	fi;
	store_release(OWNED, 0, DISOWN_RELEASE);
	barrier(DISOWN_BARRIER);
	load(TAIL, seen);
	if
	:: seen > executed ->
		lock(RUN);
		store(LIST, 1);
		unlock(RUN)
	:: else
	fi;
	seen = 0
}

proctype owner(byte me)
{
	byte owned, seen;
	bool mine;

	trylock();
	if
	:: mine -> run_and_leave()
	:: else
	fi
}

inline to_list()
{
	lock(RUN);
	store(LIST, 1);
	unlock(RUN)
}

/*
 * bgdma_rgq_deliver(), and then bgdma_stream_wake(), or bgdma_stream_wake_after(), which
 * puts nothing on the list that is owned.
 */
proctype sender(byte me)
{
	byte owned;

	lock(SUB);
	store(TAIL, 1);
	unlock(SUB);
	if
	:: to_list()
	:: barrier(AFTER_BARRIER);
	   load(OWNED, owned);
	   if
	   :: !owned -> to_list()
	   :: else
	   fi
	fi
}

/* bgdma_thread() */
proctype thread(byte me)
{
	byte owned, seen;
	bool mine;

end:	do
	:: NEWEST(LIST) ->
		lock(RUN);
		store(LIST, 0);
		barrier(PICK_BARRIER);
		trylock();
		unlock(RUN);
		if
		:: mine -> run_and_leave()
		:: else
		fi;
		mine = false
	od
}

init {
	atomic { run owner(0); run sender(1); run thread(2) }
	/* Until nothing moves any more. */
	timeout;
	assert(executed == 1)
}
