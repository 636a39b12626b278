/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Gets of epochs at one gate (EP-2, EP-6). Two origins have two epochs each, all of
 * one identifier, shared or exclusive, of up to two gets and a put; each may die at
 * any point, of which the gate hears some time later. Gets and puts are on their way
 * for as long as they like, also when who sent them is dead. A slice of a get goes in,
 * reads, and goes out: its origin may have what was read, and end its epoch, before
 * it is out. The rest is as in epochs.pml, which has slices of puts.
 *
 * No get is refused but of the dead, none reads in another epoch of its origin, or
 * while somebody else holds the region exclusively, and whoever waits is served: else
 * spin finds an end where somebody still waits.
 */
#define ORIGINS	2
#define EPOCHS	2
#define GETS	2

#define NONE	0
#define WAITING	1
#define OPEN	2
#define CLOSING	3
#define CLOSED	4

/* Rules */
#define GETS_FIRST	1	/* epoch_close_begin(): the put counter, and the end, come after the gets */
#define NONE_OF_DEAD	2	/* bgdma_gate_enter(): a get of no epoch is refused */
#define WAIT_FOR_SLICES	3	/* bgdma_gate_first(): not while one is inside */
#define GO_ON_AT_LEAVE	4	/* bgdma_gate_leave(): the last that goes out gives the next */

#ifndef WITHOUT
#define WITHOUT	0
#endif
#define KEPT(rule)	((rule) != WITHOUT)

/* At the gate */
byte state[ORIGINS];
bool exclusive[ORIGINS];
bool got[ORIGINS];		/* the put */
byte first;			/* in the queue, from 1; 0: nobody */
byte serial[ORIGINS];		/* of its epochs: nobody knows but who asserts */
byte inside;			/* slices */
byte read;			/* of them: have done so */

/* On their way */
byte asked[4], reading[4];	/* gets, and slices inside, of each epoch */
bool flying[ORIGINS];		/* the put */

/* Origins */
byte gets[ORIGINS];		/* the get counter */
bool told[ORIGINS];		/* the answer that it waits for */
bool dead[ORIGINS];
byte over;
bool calm;			/* nobody dies any more: who waits now has to be served */

#define GET(i, s)	((i) * EPOCHS + (s))
#define HOLDS(i)	(state[i] >= OPEN)
#define EXCLUSIVE(i)	(HOLDS(i) && exclusive[i])
#define CAN_HAVE(i)	(first == (i) + 1 && !EXCLUSIVE(1 - (i)) &&		\
			 (!exclusive[i] || (!HOLDS(1 - (i)) &&			\
					    (!inside || !KEPT(WAIT_FOR_SLICES)))))

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
	told[i] = !dead[i]
}

inline go_on()
{
	do
	:: CAN_HAVE(0) -> give(0)
	:: CAN_HAVE(1) -> give(1)
	:: else -> break
	od
}

inline out(i)
{
	move_up(i);
	state[i] = NONE;
	exclusive[i] = false;
	got[i] = false;
	go_on()
}

inline hear(i)
{
	if
	:: told[i] -> told[i] = false
	:: !calm -> goto dies
	fi
}

proctype origin(byte i)
{
	byte n;
	bool put;

	do
	:: n < EPOCHS ->
		atomic {
			serial[i] = n;
			if
			:: exclusive[i] = true
			:: exclusive[i] = false
			fi;
			state[i] = WAITING;
			first = (first -> first : i + 1);
			go_on()
		}
		hear(i);
		atomic {
			/* Who dies between two asks for fewer. */
			if
			:: gets[i] = 0
			:: gets[i] = 1
			:: gets[i] = GETS
			fi;
			asked[GET(i, n)] = gets[i];
			if
			:: put = true
			:: put = false
			fi;
			flying[i] = put
		}
		if
		:: !gets[i] || !KEPT(GETS_FIRST)
		:: !calm -> goto dies
		fi;
		if
		:: put ->
			/* How many there were: one, which may come later. */
			atomic {
				if
				:: got[i] -> state[i] = CLOSED; told[i] = true
				:: else -> state[i] = CLOSING
				fi
			}
			hear(i)
		:: else
		fi;
		atomic {
			assert(!flying[i]);
			out(i);
			put = false;
			n++
		}
	:: else -> break
	od;
	goto done;
dies:
	atomic {
		dead[i] = true;
		told[i] = false;
		gets[i] = 0;
		put = false;
		n = EPOCHS
	}
	/* The gate hears of it. */
	atomic { out(i) }
done:
	over++
}

/* A put comes. */
inline come(i)
{
	atomic {
		flying[i] ->
		flying[i] = false;
		if
		:: HOLDS(i) ->
			got[i] = true;
			if
			:: state[i] == CLOSING ->
				state[i] = CLOSED;
				told[i] = !dead[i]
			:: else
			fi
		:: else -> assert(dead[i])
		fi
	}
}

/* Epoch @s of @i: a slice of a get goes in, if its epoch is there. */
inline enter(i, s)
{
	atomic {
		asked[GET(i, s)] > 0 ->
		asked[GET(i, s)]--;
		if
		:: (HOLDS(i) && state[i] != CLOSED) || !KEPT(NONE_OF_DEAD) ->
			inside++;
			reading[GET(i, s)]++
		:: else -> assert(dead[i])	/* refused */
		fi
	}
}

/* And its origin has it, if there is one. */
inline reads(i, s)
{
	atomic {
		reading[GET(i, s)] > 0 ->
		reading[GET(i, s)]--;
		read++;
		assert(!EXCLUSIVE(1 - i));
		assert(dead[i] || (HOLDS(i) && serial[i] == s));
		gets[i] = (dead[i] -> 0 : gets[i] - 1)
	}
}

inline leave()
{
	atomic {
		read > 0 ->
		read--;
		inside--;
		if
		:: KEPT(GO_ON_AT_LEAVE) -> go_on()
		:: else
		fi
	}
}

proctype engine()
{
end:
	do
	:: come(0)
	:: come(1)
	:: enter(0, 0)
	:: enter(0, 1)
	:: enter(1, 0)
	:: enter(1, 1)
	:: reads(0, 0)
	:: reads(0, 1)
	:: reads(1, 0)
	:: reads(1, 1)
	:: leave()
	:: !calm -> calm = true
	od
}

init {
	atomic {
		run origin(0);
		run origin(1);
		run engine()
	}
	over == ORIGINS
}
