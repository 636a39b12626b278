/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A counter goes from the lease of one peer to that of another. The former one
 * guesses the new generation and sends at once, and so does a context of the new
 * peer that the lease is not for. The engine must let in neither.
 */
#define LOCS	3
#define PROCS	2
#define MSGS	3
#define LOCKS	1

#define GEN	0	/* bgdma_counter_cell.lease_gen */
#define PEER	1	/* bgdma_counter_cell.lease_peer */
#define CTX	2	/* bgdma_counter_cell.lease_ctx */

#define OLD	0
#define NEW	1
#define NOBODY	2

/* Barriers */
#define NOBODY_FIRST	1	/* bgdma_counter_lease(): nobody in between */
#define GEN_RELEASE	2	/* bgdma_counter_lease() */
#define GEN_ACQUIRE	3	/* bgdma_counter_at() */
#define PEER_RELEASE	4	/* bgdma_counter_lease() */
#define PEER_ACQUIRE	5	/* bgdma_counter_leased() */

#include "memory.pml"

proctype owner(byte me)
{
	if
	:: KEPT(NOBODY_FIRST) -> store(PEER, NOBODY)
	:: else
	fi;
	store_release(GEN, NEW, GEN_RELEASE);
	store(CTX, NEW);
	store_release(PEER, NEW, PEER_RELEASE)
}

proctype engine(byte me)
{
	byte gen, peer, context;

	load_acquire(GEN, gen, GEN_ACQUIRE);
	load_acquire(PEER, peer, PEER_ACQUIRE);
	load(CTX, context);
	assert(gen != NEW || peer != OLD);
	assert(gen != NEW || peer != NEW || context != OLD)
}

init {
	atomic { run owner(0); run engine(1) }
}
