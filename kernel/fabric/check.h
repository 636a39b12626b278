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

bool bgdma_wire_packet_check(const struct bgdma_wire_packet *p);
u32 bgdma_wire_payload(const struct bgdma_wire_packet *p);
bool bgdma_wire_frame_check(const struct bgdma_frame *f, u32 payload);

#endif /* _BGDMA_CHECK_H */
