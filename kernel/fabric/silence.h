/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Time by which others are silent: silence.c.
 */
#ifndef _BGDMA_SILENCE_H
#define _BGDMA_SILENCE_H

#include <linux/types.h>

/**
 * struct bgdma_pace - how time goes for who may stand still
 * @tick: when the last tick was, in jiffies (lower half), and how many of them had not
 *	counted by then: who reads both sees them as they belong together
 * @most: jiffies that count until the next one; 0: all
 */
struct bgdma_pace {
	u64 tick;
	u32 most;
};

void bgdma_pace_begin(struct bgdma_pace *pace);
unsigned long bgdma_pace_now(const struct bgdma_pace *pace);
void bgdma_pace_tick(struct bgdma_pace *pace, u32 most);

#endif /* _BGDMA_SILENCE_H */
