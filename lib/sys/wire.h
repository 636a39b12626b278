/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The payloads of the layer's own packets, little-endian.
 */
#ifndef BGDMA_SYS_WIRE_H
#define BGDMA_SYS_WIRE_H

#include <linux/types.h>

#include <bgdma/types.h>

/* rts_wire.flags */
#define RTS_SHARED	(1U << 0)	/* tell the origin by a took */
#define RTS_ORDERED	(1U << 1)	/* data deterministically */
#define RTS_PACKETS	(1U << 2)	/* portions by memory FIFO (SP-5) */

/* Of an RTS. */
struct rts_wire {
	__le64 length;
	__le64 offset;
	__le32 region;
	__le32 counter;
	__le32 token;
	__le32 flags;
	__le16 queue;
	__le16 fifo;
	__le32 portions;
	__le64 chain_offset;
	__le32 chain_region;
	__le32 in_flight;
	__le32 serial;
	__le32 resv;
};

/* Of a took, of which a paced message has one for each of its chains. */
#define TOOK_STOPPED	(1ULL << 63)	/* in @bytes, so that one store does it */
struct took_wire {
	__le64 bytes;
	__le32 refused;
	__le32 chains;
};

_Static_assert(sizeof(struct took_wire) <= BGDMA_INLINE_MAX, "inline");

/* Of the tail of a chain. */
struct tail_wire {
	__le64 stopped;
};

/* Of a stop: its origin would like a message to end. */
struct stop_wire {
	__le32 serial;
	__le32 resv;
};

/* Of a cut: a message ends here, incomplete. */
struct cut_wire {
	__le32 code;
	__le32 portion;		/* or 0 */
	__le32 by_origin;
	__le32 serial;		/* of the RTS: tokens come again */
};

_Static_assert(sizeof(struct cut_wire) <= BGDMA_INLINE_MAX, "inline");

#endif /* BGDMA_SYS_WIRE_H */
