/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Barriers back to back on one counter for each node (BA-4, BA-6). A packet may
 * take as long as it likes, and the bit of a counter that has reached zero may be
 * set long after. Nobody may wait for ever, nobody may leave before all have
 * entered, and nobody may be two barriers ahead.
 *
 * All packets to a node do the same, so how many are on their way says all.
 */
#ifndef NODES
#define NODES	3
#define ROUNDS	3
#endif

/* Barriers */
#define STICKY		1	/* bgdma_coll_wait(): the bit tells, not a look at the value */
#define OWN_ADD		2	/* bgdma_counter_add(): its own result */
#define BIT_FIRST	3	/* bgdma_coll_enter(): before the add */

#ifndef WITHOUT
#define WITHOUT	0
#endif
#define KEPT(rule)	(WITHOUT != rule)

short value[NODES];
bool hit[NODES];
byte due[NODES];	/* packets on their way */
byte owed[NODES];	/* bits that an engine is about to set */
byte entered[NODES];

/* The engine of a node: whichever packet or bit comes next. */
proctype engine(byte me)
{
end:	do
	:: atomic {
		due[me] > 0 ->
		due[me]--;
		value[me]--;
		if
		:: value[me] == 0 -> owed[me]++
		:: else
		fi
	   }
	:: atomic { owed[me] > 0 -> owed[me]--; hit[me] = true }
	od
}

inline tell()
{
	i = 0;
	do
	:: i < NODES ->
		if
		:: i != me -> due[i]++
		:: else
		fi;
		i++
	:: else -> break
	od
}

inline check()
{
	i = 0;
	do
	:: i < NODES ->
		assert(entered[i] == round || entered[i] == round + 1);
		i++
	:: else -> break
	od
}

proctype node(byte me)
{
	byte i, round = 1;
	short result;

	do
	:: round > ROUNDS -> break
	:: else ->
		if
		:: KEPT(BIT_FIRST) -> hit[me] = false
		:: else
		fi;
		atomic {
			entered[me] = round;
			value[me] = value[me] + NODES - 1;
			result = value[me]
		}
		if
		:: !KEPT(BIT_FIRST) -> hit[me] = false
		:: else
		fi;
		atomic { tell() }
		if
		:: KEPT(OWN_ADD) && result <= 0
		:: else ->
			if
			:: KEPT(STICKY) -> hit[me]
			:: !KEPT(STICKY) -> value[me] == 0
			fi
		fi;
		atomic { check(); round++ }
	od
}

init {
	byte i = 0;

	atomic {
		do
		:: i < NODES -> run node(i); run engine(i); i++
		:: else -> break
		od
	}
}
