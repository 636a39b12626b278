/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Sums of floats in two passes, each of which is a reduction of integers, so that
 * neither order nor who adds what to what makes a difference.
 *
 * The first is the maximum of exponents. In the second each value is cut, towards
 * zero, at the same place: FAST_BITS below the largest exponent. What is left is an
 * integer; these are added, and the sum is rounded once. Documentation/sums.rst has
 * the error and its proof.
 *
 * No I/O, no memory.
 */
#ifndef BGDMA_COLL_FAST_H
#define BGDMA_COLL_FAST_H

#include "ieee.h"

/*
 * Bits of an image of a value of the largest exponent, and how many values there may
 * be altogether: 2 to the power of that. With a sign both fit into an image.
 */
#define FAST_F32_BITS	32
#define FAST_F32_ROOM	31	/* images of 64 bits */
#define FAST_F64_BITS	88
#define FAST_F64_ROOM	39	/* images of 128 */

/*
 * What the exponent of values is told by; of several values by the largest. Above
 * FAST_ZERO it is an exponent and FAST_ZERO. They are the same as signed and unsigned
 * 16 bits.
 */
enum fast_code {
	FAST_NOTHING,		/* no value at all */
	FAST_MINUS_ZERO,	/* nothing but these */
	FAST_ZERO,
	FAST_INFINITE = 0x7ffe,
	FAST_NAN = 0x7fff,
};

/*
 * @wide: bytes of an image
 * @codes: those of @count values; or raise what is there to these
 * @images: by codes of all values: of @count values, or these added to what is
 *	there
 * @code_of: raises as @codes does, by many values for one element
 * @image_of: what @images does; added to what is there
 * @values: what sums are
 *
 * Values are aligned to nothing.
 */
struct fast {
	uint32_t wide;
	void (*codes)(const void *in, uint16_t *code, uint64_t count,
		      bool more);
	void (*images)(const void *in, const uint16_t *code, void *image,
		       uint64_t count, bool add);
	void (*code_of)(const void *in, uint16_t *code, uint64_t count);
	void (*image_of)(const void *in, const uint16_t *code, void *image,
			 uint64_t count);
	void (*values)(const uint16_t *code, const void *image, void *out,
		       uint64_t count);
};

extern const struct fast fast_f32, fast_f64;

#endif /* BGDMA_COLL_FAST_H */
