/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * MIN, MAX, MINLOC and MAXLOC by integers alone: an integer for each element, signed,
 * so that the smallest, or the largest, of these is that of the element that wins.
 *
 *	MIN, MAX		of floats: -0.0 is below +0.0. A NaN wins, as the
 *				reductions of <bgdma/collective.h> have it; what comes
 *				back is always the same one
 *	MINLOC, MAXLOC		{ value, place } in one integer: of the same values the
 *				smaller place wins. Zeros are the same value, whatever
 *				their sign, which decides only at the same place
 *
 * No I/O, no memory.
 */
#ifndef BGDMA_COLL_IMAGE_H
#define BGDMA_COLL_IMAGE_H

#include <bgdma/collective.h>

/*
 * What images of a checked operator's elements are: BGDMA_S32, _S64 or _S128, and
 * their reduction BGDMA_MIN or _MAX. BGDMA_ELEMENT_COUNT: there are none, as of what
 * is an integer without a place already.
 */
enum bgdma_element image_element(const struct bgdma_operator *op);
enum bgdma_reduction image_reduction(const struct bgdma_operator *op);

/* @count elements to images, and back; none aligned to anything. */
void image_make(const struct bgdma_operator *op, const void *in, void *images,
		uint64_t count);
void image_back(const struct bgdma_operator *op, const void *images, void *out,
		uint64_t count);

#endif /* BGDMA_COLL_IMAGE_H */
