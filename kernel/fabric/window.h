/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The numbers of a flow's frames, at both ends. Pure: tools/fuzz/window.c is about
 * this file. Numbers go round; what is compared lies within half of them.
 */
#ifndef _BGDMA_WINDOW_H
#define _BGDMA_WINDOW_H

#include <linux/bitmap.h>
#include <linux/bitops.h>

#include "wire.h"

/**
 * bgdma_psn_before() - does a number come before another?
 * @a: the one
 * @b: the other
 */
static inline bool bgdma_psn_before(u32 a, u32 b)
{
	return (s32)(a - b) < 0;
}

/* ---- The receiver's end -------------------------------------------------- */

/**
 * bgdma_window_keep() - a frame has come
 * @have: bit i: frame @next + i has; BGDMA_WIRE_SACK bits
 * @next: number of the one that is dealt with next
 * @psn: its number
 * @span: numbers that it has
 *
 * Return: false: some of it was there, or dealt with already, or it is too far ahead.
 */
static inline bool bgdma_window_keep(unsigned long *have, u32 next, u32 psn,
				     u32 span)
{
	u32 ahead = psn - next, i;

	if (ahead >= BGDMA_WIRE_SACK || span > BGDMA_WIRE_SACK - ahead)
		return false;
	for (i = 0; i < span; i++) {
		if (test_bit(ahead + i, have))
			return false;
	}
	bitmap_set(have, ahead, span);
	return true;
}

/**
 * bgdma_window_done() - the next frame is let go of
 * @have: as above; it has come
 * @next: its number; one more afterwards
 * @span: numbers that it has
 * @dealt: it was dealt with; else it has to come again
 */
static inline void bgdma_window_done(unsigned long *have, u32 *next, u32 span,
				     bool dealt)
{
	bitmap_clear(have, 0, span);
	if (!dealt)
		return;
	/* Mostly nothing is behind it. */
	if (!bitmap_empty(have, BGDMA_WIRE_SACK))
		bitmap_shift_right(have, have, span, BGDMA_WIRE_SACK);
	*next += span;
}

/**
 * bgdma_window_tell() - put what has come into an acknowledgment
 * @have: as above
 * @sack: of it
 */
static inline void bgdma_window_tell(const unsigned long *have, __le64 *sack)
{
	u64 words[BGDMA_WIRE_SACK / 64];
	unsigned int i;

	bitmap_to_arr64(words, have, BGDMA_WIRE_SACK);
	for (i = 0; i < ARRAY_SIZE(words); i++)
		sack[i] = cpu_to_le64(words[i]);
}

/* ---- The sender's end ---------------------------------------------------- */

/**
 * bgdma_window_acks() - can an acknowledgment be true, and not too old?
 * @una: number of the oldest frame that was not dealt with
 * @next: of the next one to be sent
 * @cum: all before it were dealt with, as it says
 */
static inline bool bgdma_window_acks(u32 una, u32 next, u32 cum)
{
	return !bgdma_psn_before(cum, una) && !bgdma_psn_before(next, cum);
}

/**
 * bgdma_window_arrived() - has a frame come, as an acknowledgment says?
 * @sack: of it
 * @cum: likewise
 * @psn: number of a frame that was not dealt with
 */
static inline bool bgdma_window_arrived(const __le64 *sack, u32 cum, u32 psn)
{
	u32 i = psn - cum;

	return i < BGDMA_WIRE_SACK &&
	       le64_to_cpu(sack[i / 64]) & BIT_ULL(i % 64);
}

#endif /* _BGDMA_WINDOW_H */
