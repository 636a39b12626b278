/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Epochs at one gate (EP-1 to EP-8). Origins begin an epoch, shared or exclusive,
 * put, close and end it; each may die at any point. An outsider has two
 * transfers of no epoch, a slice each, maybe both at once. Puts are on their way for
 * as long as they like: what tells of their number may overtake them, and they may
 * come when their origin is dead. epoch_gets.pml has gets.
 *
 * No two exclusive holders, nobody else inside an exclusive epoch, no put comes after
 * its epoch was acknowledged, and whoever waits is served: else spin finds an end
 * where somebody still waits.
 */
#define ORIGINS	3
#define PUTS	1

#define NONE	0
#define WAITING	1
#define OPEN	2
#define CLOSING	3
#define CLOSED	4

/* Rules */
#define WAIT_FOR_SLICES	1	/* bgdma_gate_first(): not while one is inside */
#define KEEP_OUT	2	/* bgdma_gate_closed(): others, while it is held */
#define KEEP_NEW_OUT	3	/* bgdma_gate_closed(): others, while it waits for those inside */
#define ONE_EXCLUSIVE	4	/* bgdma_gate_first(): not while another holds it */
#define IN_ORDER	5	/* bgdma_gate_begin(): behind those that wait */
#define WAIT_FOR_PUTS	6	/* bgdma_gate_close(): not before as many have come */
#define TELL_WITH_LAST	7	/* bgdma_epoch_got(): the last that comes answers */
#define GO_ON_AT_END	8	/* bgdma_gate_do(): the next that waits gets it */
#define GO_ON_AT_DEATH	9	/* bgdma_gates_peer_down(): the same */
#define NONE_OF_DEAD	10	/* bgdma_gate_enter(): a put of no epoch is refused */

#ifndef WITHOUT
#define WITHOUT	0
#endif
#define KEPT(rule)	((rule) != WITHOUT)

byte state[ORIGINS];
bool exclusive[ORIGINS];
bool told[ORIGINS];		/* the answer that its origin waits for */
byte put[ORIGINS], got[ORIGINS], flying[ORIGINS];
byte place[ORIGINS];		/* in the queue, from 1 */
byte queued;			/* so many wait */
byte inside;			/* slices of the outsider */
byte over;			/* origins that have ended, or died */
bool calm;			/* nobody dies any more: who waits now has to be served */

#define HOLDS(i)	(state[i] >= OPEN)
#define ANY_HOLDS	(HOLDS(0) || HOLDS(1) || HOLDS(2))
#define EXCLUSIVE(i)	(HOLDS(i) && exclusive[i])
#define ANY_EXCLUSIVE	(EXCLUSIVE(0) || EXCLUSIVE(1) || EXCLUSIVE(2))
#define FIRST(i)	(state[i] == WAITING && place[i] == 1)
#define FIRST_EXCLUSIVE	((FIRST(0) && exclusive[0]) ||			\
			 (FIRST(1) && exclusive[1]) || (FIRST(2) && exclusive[2]))

/* The origin at @i leaves the queue: those behind it move up. */
inline move_up(i)
{
	byte at = place[i];

	place[i] = 0;
	queued--;
	j = 0;
	do
	:: j < ORIGINS ->
		if
		:: place[j] > at -> place[j]--
		:: else
		fi;
		j++
	:: else -> break
	od;
	j = 0
}

#define CAN_HAVE(i) (FIRST(i) &&					\
	(!ANY_EXCLUSIVE || !KEPT(ONE_EXCLUSIVE)) &&			\
	(!exclusive[i] || ((!ANY_HOLDS || !KEPT(ONE_EXCLUSIVE)) &&	\
			   (!inside || !KEPT(WAIT_FOR_SLICES)))))

inline give(i)
{
	move_up(i);
	assert(!ANY_EXCLUSIVE);
	assert(!exclusive[i] || !ANY_HOLDS);
	assert(!exclusive[i] || !inside);
	state[i] = OPEN;
	got[i] = 0;
	put[i] = 0;
	told[i] = true
}

/* bgdma_gate_go_on(): as many as can have it. */
inline go_on()
{
	do
	:: CAN_HAVE(0) -> give(0)
	:: CAN_HAVE(1) -> give(1)
	:: CAN_HAVE(2) -> give(2)
	:: else -> break
	od
}

inline ask(i)
{
	state[i] = WAITING;
	queued++;
	if
	:: KEPT(IN_ORDER) || exclusive[i] || ANY_EXCLUSIVE ->
		place[i] = queued
	:: else ->
		/* A shared one passes those that wait. */
		assert(!FIRST_EXCLUSIVE);
		place[i] = queued
	fi
}

inline out(i)
{
	if
	:: state[i] == WAITING -> move_up(i)
	:: else
	fi;
	state[i] = NONE;
	/* What is over is the same whatever it was. */
	exclusive[i] = false;
	told[i] = false;
	got[i] = 0;
	put[i] = 0
}

proctype origin(byte i)
{
	byte j, sent;

	/* Ask. */
	atomic {
		if
		:: exclusive[i] = true
		:: exclusive[i] = false
		fi;
		ask(i);
		go_on()
	}
	if
	:: told[i] -> told[i] = false
	:: !calm -> goto dies
	fi;
	do
	:: sent < PUTS ->
		atomic {
			flying[i]++;
			sent++
		}
	:: break
	:: !calm -> goto dies
	od;
	/* Tell how many there were; it waits for no put. */
	atomic {
		put[i] = sent;
		if
		:: got[i] == sent || !KEPT(WAIT_FOR_PUTS) ->
			state[i] = CLOSED;
			told[i] = true
		:: else -> state[i] = CLOSING
		fi
	}
	if
	:: told[i] -> told[i] = false
	:: !calm -> goto dies
	fi;
	atomic {
		out(i);
		if
		:: KEPT(GO_ON_AT_END) -> go_on()
		:: else
		fi;
		sent = 0;
		over++
	}
	goto done;
dies:
	atomic {
		out(i);
		if
		:: KEPT(GO_ON_AT_DEATH) -> go_on()
		:: else
		fi;
		sent = 0;
		over++
	}
done:
	skip
}

/* Puts come, whenever they like. */
inline come(i)
{
	atomic {
		flying[i] > 0 ->
		flying[i]--;
		if
		:: HOLDS(i) || !KEPT(NONE_OF_DEAD) ->
			/* It is written. */
			assert(HOLDS(i));
			assert(state[i] != CLOSED);
			got[i]++;
			if
			:: state[i] == CLOSING && got[i] == put[i] &&
			   KEPT(TELL_WITH_LAST) ->
				state[i] = CLOSED;
				told[i] = true
			:: else
			fi
		:: else		/* refused */
		fi
	}
}

proctype network()
{
end:
	do
	:: come(0)
	:: come(1)
	:: come(2)
	:: !calm -> calm = true
	od
}

proctype outsider()
{
	byte j, n;

	do
	:: atomic {
		/* Held back until it is let in. */
		n < 2 && (!ANY_EXCLUSIVE || !KEPT(KEEP_OUT)) &&
		(ANY_HOLDS || !FIRST_EXCLUSIVE || !KEPT(KEEP_NEW_OUT)) ->
		/* Who waits for those inside has seen the last. */
		assert(ANY_HOLDS || !FIRST_EXCLUSIVE);
		inside++;
		n++
	   }
	:: atomic {
		inside > 0 ->
		assert(!ANY_EXCLUSIVE);
		inside--;
		go_on()
	   }
	:: n == 2 && !inside -> break
	od
}

init {
	atomic {
		run origin(0);
		run origin(1);
		run origin(2);
		run network();
		run outsider()
	}
	over == ORIGINS
}
