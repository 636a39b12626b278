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

bool bgdma_wire_head_check(const struct bgdma_frame *f, u32 len);
bool bgdma_wire_runs_check(const struct bgdma_wire_run *run, u32 n, u32 size);
bool bgdma_wire_hello_check(const struct bgdma_wire_hello *hello);
bool bgdma_wire_state_check(const struct bgdma_wire_state *state, u32 size);
bool bgdma_wire_packet_check(const struct bgdma_wire_packet *p);
void bgdma_wire_strip(struct bgdma_desc *d);
u32 bgdma_wire_payload(const struct bgdma_wire_packet *p);
bool bgdma_wire_frame_check(const struct bgdma_frame *f, u32 payload);

#endif /* _BGDMA_CHECK_H */
