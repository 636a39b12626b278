/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Looking at what came over a link: wire.c.
 */
#ifndef _BGDMA_CHECK_H
#define _BGDMA_CHECK_H

#include <linux/types.h>

#include "wire.h"

/* Bytes of the operands of an atomic in one packet. */
#define BGDMA_WIRE_ATOMIC	256

/* Milliseconds between two HELLO, at most. */
#define BGDMA_LINK_HELLO_MAX	60000

/* Bytes of payload that a packet is cut for at least. */
#define BGDMA_WIRE_SLIVER	256

/**
 * struct bgdma_wire_cut - a part of a frame
 * @packet: of the frame, that is next
 * @done: bytes of that packet that have their part
 * @at: of the payload, where that of the part begins
 * @bytes: of the part
 * @packets: of the part
 */
struct bgdma_wire_cut {
	u32 packet;
	u32 done;
	u32 at;
	u32 bytes;
	u32 packets;
};

bool bgdma_wire_cut(const struct bgdma_frame *f, u32 mtu,
		    struct bgdma_wire_cut *cut, struct bgdma_wire_packet *to);
bool bgdma_wire_head_check(const struct bgdma_frame *f, u32 len);
bool bgdma_wire_runs_check(const struct bgdma_wire_run *run, u32 n, u32 size);
bool bgdma_wire_hello_check(const struct bgdma_wire_hello *hello);
bool bgdma_wire_state_check(const struct bgdma_wire_state *state, u32 size);
bool bgdma_wire_packet_check(const struct bgdma_wire_packet *p);
bool bgdma_wire_is_gate(const struct bgdma_wire_packet *p);
void bgdma_wire_strip(struct bgdma_desc *d);
u32 bgdma_wire_payload(const struct bgdma_wire_packet *p);
bool bgdma_wire_frame_check(const struct bgdma_frame *f, u32 payload);

#endif /* _BGDMA_CHECK_H */
