/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The loopback link's two files: transfers for one node, and along a line.
 */
#ifndef _BGDMA_LOOPBACK_H
#define _BGDMA_LOOPBACK_H

#include "../bgdma.h"

/* As the receiver of a copy, behind a link: no context has this incarnation. */
#define BGDMA_LINE_FAR		U32_MAX

typedef int bgdma_deliver_fn(struct bgdma_ctx *target, struct bgdma_stream *s,
			     const struct bgdma_payload *p, u32 n);

void bgdma_loopback_talked(struct bgdma_ctx *a, struct bgdma_ctx *b);
struct bgdma_event bgdma_refused_event(const struct bgdma_stream *s);

struct bgdma_wire_packet;

u32 bgdma_line_begin(struct bgdma_stream *s);
struct bgdma_ctx *bgdma_line_again(struct bgdma_stream *s);
struct bgdma_ctx *bgdma_line_began(struct bgdma_stream *s);
void bgdma_line_head(const struct bgdma_stream *s, struct bgdma_wire_packet *p);
int bgdma_line_move(struct bgdma_stream *s, const struct bgdma_payload *p,
		    u32 n, u32 bytes, bgdma_deliver_fn *deliver);

#endif /* _BGDMA_LOOPBACK_H */
