/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A partition that is spread over network namespaces, one for each node, joined by
 * a bridge: what the tests of a partition in one kernel run on, unchanged, when
 * BGDMA_TEST_LINKS is set. BGDMA_TEST_MTU is that of the links, BGDMA_TEST_NETEM
 * what `tc qdisc add ... netem` is told for each, as "loss 5% duplicate 1%". With
 * BGDMA_TEST_FLAP one of them or another is down for a tenth of a second every now and
 * then, which is a line in the file of that name.
 */
#ifndef BGDMA_SELFTESTS_LINKS_H
#define BGDMA_SELFTESTS_LINKS_H

#include <stdbool.h>
#include <stdint.h>

/* Nodes that have a namespace; partitions with more are as ever. */
#define LINKS_MAX	16

/*
 * Make the partition PARTITION in the network namespace of the caller, which is
 * his own; false: not wanted, or too large. Ends the test when it fails.
 */
bool links_new(const char *dims, const char *more);

/*
 * Go to the namespace of a node; links_leave() goes back. Nothing happens where the
 * partition is in one.
 */
void links_enter(uint32_t rank);
void links_leave(void);

/*
 * The next partition is spread over namespaces whatever was asked for, and its links
 * have a time-out that a test can wait for.
 */
void links_hasty(void);

/*
 * The next partition is spread over namespaces whatever was asked for, of which each is
 * joined to the next by a veth, and the last to the first: frames to others are passed
 * on. Nothing of it can be cut.
 */
void links_ring(void);

/*
 * Frames to a node are dropped, or not any more. Those to all of a link go on: so
 * nobody takes anybody's kernel for dead. In any of the namespaces.
 */
void links_cut(uint32_t rank, bool cut);

/* It hears nothing any more, and is heard. */
void links_deaf(uint32_t rank, bool deaf);

/* Its kernel says that it leaves. */
void links_bye(uint32_t rank);

/* It begins anew, with nobody there: others miss who was there if they have heard of the end. */
void links_anew(uint32_t rank);

/* The device of a node is down: there is no way from there. */
void links_down(uint32_t rank);

/* Is the partition spread over namespaces? And is the next to be? */
bool links_used(void);
bool links_wanted(void);

#endif /* BGDMA_SELFTESTS_LINKS_H */
