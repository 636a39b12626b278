/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Epochs one after the other at one gate (EP-1 to EP-8), all of one identifier. Two
 * origins have two epochs each, shared or exclusive, of up to two puts; each may die
 * at any point. At the node of the second another one attaches when that is dead, and
 * has an epoch, too. Puts are on their way for as long as they like, also when who
 * sent them is dead; a slice of each goes in, and later out. What a dead origin had
 * asked for may come after its death, of which the gate hears some time later. The
 * rest is as in epoch.pml, which has transfers of no epoch, too.
 *
 * No two exclusive holders, nobody else inside an exclusive epoch, who is told has
 * what it asked for, no put comes after its epoch was acknowledged, none counts for
 * another epoch, and whoever waits is served: else spin finds an end where somebody
 * still waits.
 */
#define ORIGINS	3	/* 1 and 2 are of one node: one after the other */
#define EPOCHS	2
#define PUTS	2

#define NONE	0
#define WAITING	1
#define OPEN	2
#define CLOSING	3
#define CLOSED	4

/* Rules */
#define ONE_EXCLUSIVE	1	/* bgdma_gate_first(): not while another holds it */
#define WAIT_FOR_SLICES	2	/* bgdma_gate_first(): not while one is inside */
#define GO_ON_AT_LEAVE	3	/* bgdma_gate_leave(): the last that goes out gives the next */
#define COUNT_FROM_ZERO	4	/* bgdma_gate_begin(): whatever was there before */
#define NONE_BY_DEAD	5	/* bgdma_gate_begin(): who is dead begins none */
#define WAIT_FOR_PUTS	6	/* bgdma_gate_close(): not before as many have come */
#define TELL_WITH_LAST	7	/* bgdma_epoch_got(): the last that comes answers */
#define CLOSE_FIRST	8	/* epoch_close_begin(): one with puts is not ended before its answer */
#define GO_ON_AT_END	9	/* bgdma_gate_do(): the next that waits gets it */
#define GO_ON_AT_DEATH	10	/* bgdma_gates_peer_down(): the same */
#define NONE_OF_DEAD	11	/* bgdma_gate_enter(): a put of no epoch is refused */
#define ITS_OWN_PUTS	12	/* bgdma_epoch_find(): of this origin, not of one before it */
#define ITS_OWN_ANSWER	13	/* bgdma_hear_target(): for this origin, not for one after it */

#ifndef WITHOUT
#define WITHOUT	0
#endif
#define KEPT(rule)	((rule) != WITHOUT)

/* At the gate; of each origin there is one epoch at most. */
byte state[ORIGINS];
bool exclusive[ORIGINS];
byte got[ORIGINS], put[ORIGINS];
byte place[ORIGINS];		/* in the queue, from 1 */
byte queued;			/* so many wait */
byte inside;			/* slices */
byte serial[ORIGINS];		/* of its epochs: nobody knows but who asserts */

/* On their way */
bool asking[ORIGINS];		/* and who asks is dead; else it is the same as later */
byte flying[6], going[6];	/* puts, and slices inside, of each epoch */

/* Origins */
bool told[ORIGINS];		/* the answer that it waits for is on its way, or there */
bool dead[ORIGINS];		/* it is */
byte over;

#define PUT(i, s)	((i) * EPOCHS + (s))
#define HOLDS(i)	(state[i] >= OPEN)
#define ANY_HOLDS	(HOLDS(0) || HOLDS(1) || HOLDS(2))
#define EXCLUSIVE(i)	(HOLDS(i) && exclusive[i])
#define ANY_EXCLUSIVE	(EXCLUSIVE(0) || EXCLUSIVE(1) || EXCLUSIVE(2))
#define FIRST(i)	(state[i] == WAITING && place[i] == 1)

/* @i leaves the queue: those behind it move up. */
inline move_up(i)
{
	j = 0;
	do
	:: j < ORIGINS ->
		if
		:: place[j] > place[i] && j != i -> place[j]--
		:: else
		fi;
		j++
	:: else -> break
	od;
	place[i] = 0;
	queued--;
	j = 0
}

#define CAN_HAVE(i) (FIRST(i) &&					\
	(!ANY_EXCLUSIVE || !KEPT(ONE_EXCLUSIVE)) &&			\
	(!exclusive[i] || ((!ANY_HOLDS || !KEPT(ONE_EXCLUSIVE)) &&	\
			   (!inside || !KEPT(WAIT_FOR_SLICES)))))

inline tell(i)
{
	if
	:: !dead[i] -> told[i] = true
	:: dead[i] && i == 1 && !KEPT(ITS_OWN_ANSWER) -> told[2] = true
	:: else
	fi
}

inline give(i)
{
	move_up(i);
	assert(!ANY_EXCLUSIVE);
	assert(!exclusive[i] || !ANY_HOLDS);
	assert(!exclusive[i] || !inside);
	state[i] = OPEN;
	tell(i)
}

inline go_on()
{
	do
	:: CAN_HAVE(0) -> give(0)
	:: CAN_HAVE(1) -> give(1)
	:: CAN_HAVE(2) -> give(2)
	:: else -> break
	od
}

inline out(i)
{
	if
	:: state[i] == WAITING -> move_up(i)
	:: else
	fi;
	state[i] = NONE;
	exclusive[i] = false
}

inline hear(i)
{
	if
	:: told[i] ->
		told[i] = false;
		/* It is about what was asked for. */
		assert(HOLDS(i))
	:: mortal -> goto dies
	fi
}

/* Who asks is in the queue. */
inline ask(i)
{
	if
	:: dead[i] && KEPT(NONE_BY_DEAD)
	:: else ->
		state[i] = WAITING;
		queued++;
		place[i] = queued;
		put[i] = 0;
		if
		:: KEPT(COUNT_FROM_ZERO) -> got[i] = 0
		:: else
		fi;
		go_on()
	fi
}

proctype origin(byte i; byte epochs; bool mortal)
{
	byte j, sent, n;

	do
	:: n < epochs ->
		atomic {
			serial[i] = n;
			if
			:: exclusive[i] = true
			:: exclusive[i] = false
			fi;
			if
			:: ask(i)
			:: mortal -> asking[i] = true; goto dies
			fi
		}
		hear(i);
		atomic {
			/* Who dies between two sends fewer. */
			if
			:: sent = 0
			:: sent = 1
			:: sent = PUTS
			fi;
			flying[PUT(i, n)] = sent
		}
		if
		:: mortal -> goto dies
		:: sent && KEPT(CLOSE_FIRST) ->
			/* How many there were; it waits for no put. */
			atomic {
				put[i] = sent;
				if
				:: got[i] == sent || !KEPT(WAIT_FOR_PUTS) ->
					state[i] = CLOSED;
					tell(i)
				:: else -> state[i] = CLOSING
				fi
			}
			hear(i);
			assert(!flying[PUT(i, n)] && !going[PUT(i, n)])
		:: else
		fi;
		atomic {
			out(i);
			if
			:: KEPT(GO_ON_AT_END) -> go_on()
			:: else
			fi;
			n++;
			sent = 0
		}
	:: n == epochs -> break
	od;
	goto done;
dies:
	atomic {
		dead[i] = true;
		if
		:: told[i] && i == 1 && !KEPT(ITS_OWN_ANSWER) -> told[2] = true
		:: else
		fi;
		told[i] = false
	}
	/* The gate hears of it. */
	atomic {
		out(i);
		if
		:: KEPT(GO_ON_AT_DEATH) -> go_on()
		:: else
		fi
	}
done:
	over++
}

inline arrive(i)
{
	atomic {
		asking[i] && dead[i] ->
		asking[i] = false;
		ask(i)
	}
}

/* Whose epoch a put of @i is found to be of. */
#define OF(i)	((i) == 1 && state[1] < OPEN && !KEPT(ITS_OWN_PUTS) -> 2 : (i))

/* Epoch @s of @i: a slice of a put goes in, if its epoch is there. */
inline enter(i, s)
{
	atomic {
		flying[PUT(i, s)] > 0 ->
		flying[PUT(i, s)]--;
		if
		:: HOLDS(OF(i)) || !KEPT(NONE_OF_DEAD) ->
			assert(state[OF(i)] != CLOSED);
			inside++;
			going[PUT(i, s)]++
		:: else		/* refused */
		fi
	}
}

/* It is written. */
inline leave(i, s)
{
	atomic {
		going[PUT(i, s)] > 0 ->
		assert(i == 0 || !EXCLUSIVE(0));
		assert(i == 1 || !EXCLUSIVE(1));
		assert(i == 2 || !EXCLUSIVE(2));
		going[PUT(i, s)]--;
		inside--;
		if
		:: HOLDS(OF(i)) ->
			assert(OF(i) == i && serial[i] == s);
			got[OF(i)]++;
			if
			:: state[OF(i)] == CLOSING && got[OF(i)] == put[OF(i)] &&
			   KEPT(TELL_WITH_LAST) ->
				state[OF(i)] = CLOSED;
				tell(OF(i))
			:: else
			fi
		:: else		/* its origin is dead */
		fi;
		if
		:: KEPT(GO_ON_AT_LEAVE) -> go_on()
		:: else
		fi
	}
}

proctype network()
{
	byte j;
end:
	do
	:: arrive(0)
	:: arrive(1)
	:: enter(0, 0)
	:: enter(0, 1)
	:: enter(1, 0)
	:: enter(1, 1)
	:: enter(2, 0)
	:: leave(0, 0)
	:: leave(0, 1)
	:: leave(1, 0)
	:: leave(1, 1)
	:: leave(2, 0)
	od
}

init {
	byte all = 2;
	bool mortal;

	atomic {
		if
		:: mortal = true
		:: mortal = false
		fi;
		run origin(0, EPOCHS, mortal);
		if
		:: mortal = true
		:: mortal = false
		fi;
		run origin(1, EPOCHS, mortal);
		run network()
	}
	if
	:: mortal && dead[1] ->
		all = 3;
		run origin(2, 1, false)
	:: over == all
	fi;
	over == all
}
