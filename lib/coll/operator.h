/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * What becomes of two elements: our reductions, and the application's own.
 */
#ifndef BGDMA_COLL_OPERATOR_H
#define BGDMA_COLL_OPERATOR_H

#include <bgdma/collective.h>

/* 0, or -EINVAL: no such reduction, or not of such elements. @op may be NULL. */
int operator_check(const struct bgdma_operator *op);

/* Bytes of an element of a checked operator. */
uint32_t operator_bytes(const struct bgdma_operator *op);

/*
 * inout[i] = in[i] OP inout[i], by a checked operator. The two do not overlap, and
 * are aligned to nothing unless the application's own function wants it.
 */
void operator_combine(const struct bgdma_operator *op, const void *in,
		      void *inout, uint64_t count);

#endif /* BGDMA_COLL_OPERATOR_H */
