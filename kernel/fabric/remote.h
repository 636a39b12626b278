/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Transfers to nodes behind links, for those that know nothing of frames.
 */
#ifndef _BGDMA_REMOTE_H
#define _BGDMA_REMOTE_H

#include "../bgdma.h"

bool bgdma_is_remote(const struct bgdma_partition *part, u32 rank);
int bgdma_remote_line(struct bgdma_stream *s, const struct bgdma_payload *p,
		      u32 bytes);

#endif /* _BGDMA_REMOTE_H */
