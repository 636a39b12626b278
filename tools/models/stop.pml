/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A chain that is stopped while its last descriptors, {Dn, tail, L}, are fetched.
 * The target may wait for the origin's word only if L tells the origin; and where
 * nothing moves both have to be told.
 */
#define LOCS	3
#define PROCS	2
#define MSGS	2
#define LOCKS	1

#define LENGTH	0	/* of Dn: 1: none */
#define TAIL	1	/* 1: it says that the chain was stopped */
#define TOOK	2	/* and so does L */

/* Barriers */
#define TOOK_FIRST	1	/* chain_stop(): L before the tail */
#define TAIL_RELEASE	2	/* desc_stop(), of the tail */
#define LENGTH_RELEASE	3	/* chain_stop() */
#define FETCH_ACQUIRE	4	/* bgdma_rgq_copy(), bgdma_remote_payload(): a descriptor after the other */

#include "memory.pml"

proctype target(byte me)
{
	if
	:: !KEPT(TOOK_FIRST) -> store_release(TAIL, 1, TAIL_RELEASE)
	:: else
	fi;
	store_release(TOOK, 1, HERE);
	if
	:: KEPT(TOOK_FIRST) -> store_release(TAIL, 1, TAIL_RELEASE)
	:: else
	fi;
	store_release(LENGTH, 1, LENGTH_RELEASE)
}

proctype engine(byte me)
{
	byte none, tail, took;

	load_acquire(LENGTH, none, FETCH_ACQUIRE);
	load_acquire(TAIL, tail, FETCH_ACQUIRE);
	load(TOOK, took);
	assert(!tail || took);
	assert(!none || (tail && took))
}

init {
	atomic { run target(0); run engine(1) }
}
