/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The death of a target while epochs are at its gate (EP-1 to EP-8). Two origins
 * have an epoch each, shared or exclusive, of one put; each may die at any point,
 * also the first. An outsider has a transfer of no epoch, that is held back while
 * it has to be. The owner of the gate may die whenever it likes: nobody finds the
 * region any more, slices that are inside end, the gate goes. What is on its
 * way then comes to nothing. Nobody may wait for ever: neither for an epoch, nor for the
 * acknowledgement of one, nor to be let in; and no slice touches a region that is gone.
 */
#define ORIGINS	2

#define NONE	0
#define WAITING	1
#define OPEN	2
#define CLOSING	3
#define CLOSED	4

/* What an origin hears. */
#define NOTHING	0
#define DONE	1
#define ERROR	2

/* Rules */
#define ANSWER_QUEUE	1	/* bgdma_gate_free(): who waits in the queue is answered */
#define ANSWER_HELD	2	/* bgdma_gate_free(): so is who waits for its puts */
#define NONE_AT_END	3	/* bgdma_gate_do(): a gate that has ended refuses */
#define WAKE_AT_END	4	/* bgdma_gate_free(): those that were held back go on */
#define BUSY_AT_END	5	/* bgdma_region_destroy(): not while a slice is inside */

#ifndef WITHOUT
#define WITHOUT	0
#endif
#define KEPT(rule)	((rule) != WITHOUT)

byte state[ORIGINS];
bool exclusive[ORIGINS];
byte told[ORIGINS];
byte first;			/* in the queue, from 1; 0: nobody */
byte flying[ORIGINS], going[ORIGINS];	/* puts: on their way, and inside */
bool got[ORIGINS];
byte inside;			/* slices */
bool parked;			/* the outsider's transfer is */
bool unknown;			/* nobody finds the region any more */
bool gone;			/* and it is away */
byte over;

#define HOLDS(i)	(state[i] >= OPEN)
#define ANY_HOLDS	(HOLDS(0) || HOLDS(1))
#define ANY_EXCLUSIVE	((HOLDS(0) && exclusive[0]) || (HOLDS(1) && exclusive[1]))
#define CAN_HAVE(i)	(first == (i) + 1 && !gone && !ANY_EXCLUSIVE &&	\
			 (!exclusive[i] || (!ANY_HOLDS && !inside)))
#define KEPT_OUT	(ANY_EXCLUSIVE || (!ANY_HOLDS && first && exclusive[first - 1]))

inline move_up(i)
{
	if
	:: first == i + 1 && state[1 - i] == WAITING -> first = 2 - i
	:: first == i + 1 && state[1 - i] != WAITING -> first = 0
	:: else
	fi
}

inline give(i)
{
	move_up(i);
	state[i] = OPEN;
	told[i] = DONE
}

inline go_on()
{
	do
	:: CAN_HAVE(0) -> give(0)
	:: CAN_HAVE(1) -> give(1)
	:: else -> break
	od;
	parked = parked && KEPT_OUT
}

inline out(i)
{
	move_up(i);
	state[i] = NONE
}

/* What was asked for, or why not. */
inline hear(i)
{
	if
	:: told[i] == DONE -> told[i] = NOTHING
	:: told[i] == ERROR -> goto ended
	:: mortal -> goto dies
	fi
}

proctype origin(byte i; bool mortal)
{
	atomic {
		if
		:: exclusive[i] = true
		:: exclusive[i] = false
		fi
	}
	atomic {
		if
		:: unknown && KEPT(NONE_AT_END) -> told[i] = ERROR
		:: else ->
			state[i] = WAITING;
			first = (first -> first : i + 1);
			go_on()
		fi
	}
	hear(i);
	flying[i] = 1;
	if
	:: true
	:: mortal -> goto dies
	fi;
	/* How many there were. */
	atomic {
		if
		:: unknown && KEPT(NONE_AT_END) -> told[i] = ERROR
		:: else ->
			if
			:: got[i] -> state[i] = CLOSED; told[i] = DONE
			:: else -> state[i] = CLOSING
			fi
		fi
	}
	hear(i);
	assert(got[i]);
dies:
	/* Or it ends its epoch, which is the same to the gate. */
	atomic {
		if
		:: unknown
		:: else -> out(i); go_on()
		fi
	}
ended:
	over++
}

inline enter(i)
{
	atomic {
		flying[i] > 0 ->
		flying[i]--;
		if
		:: !unknown && HOLDS(i) -> inside++; going[i]++
		:: else		/* refused */
		fi
	}
}

inline leave(i)
{
	atomic {
		going[i] > 0 ->
		assert(!gone);
		going[i]--;
		inside--;
		if
		:: HOLDS(i) ->
			got[i] = true;
			if
			:: state[i] == CLOSING ->
				state[i] = CLOSED;
				told[i] = DONE
			:: else
			fi
		:: else		/* its origin is dead */
		fi;
		go_on()
	}
}

proctype network()
{
end:
	do
	:: enter(0)
	:: enter(1)
	:: leave(0)
	:: leave(1)
	od
}

proctype outsider()
{
	bool in;

again:
	atomic {
		if
		:: unknown		/* refused */
		:: !unknown && KEPT_OUT -> parked = true
		:: else -> inside++; in = true
		fi
	}
	if
	:: in ->
		atomic {
			assert(!gone);
			inside--;
			go_on()
		}
	:: parked -> !parked; goto again
	:: else
	fi;
	over++
}

inline answer(i)
{
	if
	:: state[i] == WAITING && KEPT(ANSWER_QUEUE) -> told[i] = ERROR
	:: state[i] == CLOSING && KEPT(ANSWER_HELD) -> told[i] = ERROR
	:: else
	fi;
	state[i] = NONE
}

proctype owner()
{
end:
	unknown = true;
	atomic {
		!inside || !KEPT(BUSY_AT_END) ->
		gone = true;
		answer(0);
		answer(1);
		first = 0;
		parked = parked && !KEPT(WAKE_AT_END)
	}
}

init {
	bool mortal[ORIGINS], dies;

	atomic {
		if
		:: mortal[0] = true
		:: mortal[0] = false
		fi;
		if
		:: mortal[1] = true
		:: mortal[1] = false
		fi;
		run origin(0, mortal[0]);
		run origin(1, mortal[1]);
		run network();
		run outsider();
		if
		:: run owner()
		:: true
		fi
	}
	over == ORIGINS + 1
}
