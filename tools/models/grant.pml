/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A grant is taken back from an array that keeps its place. The engine may
 * remember that the array said yes, together with its serial number; under the
 * new number nobody may remember a yes of before.
 */
#define LOCS	2
#define PROCS	2
#define MSGS	2
#define LOCKS	1

#define GONE	0	/* bgdma_grant_entry.rights are none */
#define SERIAL	1	/* bgdma_grants.serial */

/* Barriers */
#define SERIAL_RELEASE	1	/* bgdma_revoke_at() */
#define SERIAL_ACQUIRE	2	/* bgdma_grants_cover() */

#include "memory.pml"

proctype owner(byte me)
{
	store(GONE, 1);
	store_release(SERIAL, 1, SERIAL_RELEASE)
}

proctype engine(byte me)
{
	byte serial, gone;

	load_acquire(SERIAL, serial, SERIAL_ACQUIRE);
	load(GONE, gone);
	assert(gone || !serial)
}

init {
	atomic { run owner(0); run engine(1) }
}
