/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The checksum of payload: see sum.c.
 */
#ifndef _BGDMA_SUM_H
#define _BGDMA_SUM_H

#include <linux/types.h>

/* Words of 32 bits in a row. */
#define BGDMA_SUM_COLUMNS	8
#define BGDMA_SUM_ROW		(BGDMA_SUM_COLUMNS * sizeof(u32))

/**
 * struct bgdma_sum - a checksum that is being made
 * @once: of each column its words, added up
 * @twice: of each column what @once was after each word, added up
 * @rest: a row that is not complete
 * @n: bytes of it
 * @wide: the processor's long registers are ours
 */
struct bgdma_sum {
	u32 once[BGDMA_SUM_COLUMNS];
	u32 twice[BGDMA_SUM_COLUMNS];
	u8 rest[BGDMA_SUM_ROW];
	u32 n;
	bool wide;
};

void bgdma_sum_begin(struct bgdma_sum *sum, u32 bytes);
void bgdma_sum_add(struct bgdma_sum *sum, const void *from, u32 n);
u32 bgdma_sum_end(struct bgdma_sum *sum);

#endif /* _BGDMA_SUM_H */
