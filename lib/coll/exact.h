/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Sums of floats that are rounded once: an integer so long that every value, and the
 * sum of as many as may be, is one. It counts in units of the smallest value.
 *
 * It is one integer of 64-bit words, the lowest first, in two's complement, and so are
 * the counts of what is no number: these lie above the sum, beginning with bit @at.
 * So one addition of integers adds everything, in whatever order.
 *
 * No I/O, no memory.
 */
#ifndef BGDMA_COLL_EXACT_H
#define BGDMA_COLL_EXACT_H

#include <bgdma/sum.h>

#include "ieee.h"

#define EXACT_F32_WORDS	BGDMA_SUM_F32_WORDS
#define EXACT_F64_WORDS	BGDMA_SUM_F64_WORDS
#define EXACT_WORDS_MAX	EXACT_F64_WORDS

/* Values there may be altogether: 2 to the power of that. */
#define EXACT_ROOM	39

struct exact {
	struct ieee format;
	uint32_t words;
	uint32_t at;
};

extern const struct exact exact_f32, exact_f64;

/* @count values, aligned to nothing, to a sum. */
void exact_add(const struct exact *x, uint64_t *sum, const void *in,
	       uint64_t count);

/* inout[i] += in[i], for sums. */
void exact_join(const struct exact *x, const uint64_t *in, uint64_t *inout,
		uint64_t count);

/* What @count sums are, rounded. */
void exact_values(const struct exact *x, const uint64_t *sum, void *out,
		  uint64_t count);

#endif /* BGDMA_COLL_EXACT_H */
