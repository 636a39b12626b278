/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Transfers to nodes behind links, for those that know nothing of frames.
 */
#ifndef _BGDMA_REMOTE_H
#define _BGDMA_REMOTE_H

#include "../bgdma.h"

/**
 * struct bgdma_chunk - how the bytes of a slice are cut
 * @least: bytes of payload that a packet has at least, but for the last
 * @within: a packet does not go over a multiple of this
 * @copy: never by reference, and so many one after the other; or 0
 */
struct bgdma_chunk {
	u32 least;
	u32 within;
	u32 copy;
};

bool bgdma_is_remote(const struct bgdma_partition *part, u32 rank);
int bgdma_remote_line(struct bgdma_stream *s, const struct bgdma_payload *p,
		      u32 bytes);
int bgdma_remote_slice(struct bgdma_stream *s,
		       const struct bgdma_payload *payload, u32 n,
		       struct bgdma_chunk chunk);
int bgdma_remote_line_over(struct bgdma_stream *s, int ret, u32 bytes);
bool bgdma_remote_tx(struct bgdma_stream *s);
bool bgdma_remote_tells(struct bgdma_stream *s);
void bgdma_remote_abort(struct bgdma_stream *s);
void bgdma_remote_abort_line(struct bgdma_stream *s);

#endif /* _BGDMA_REMOTE_H */
