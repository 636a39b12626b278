/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Two elements become one. Pure.
 */
#ifndef _BGDMA_COMBINE_H
#define _BGDMA_COMBINE_H

#include "../bgdma.h"

u32 bgdma_combine_size(u16 dispatch);
void bgdma_combine(u16 dispatch, void *into, const struct bgdma_payload *from);

#endif /* _BGDMA_COMBINE_H */
