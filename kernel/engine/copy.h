/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How payload is copied, piece by piece.
 */
#ifndef _BGDMA_COPY_H
#define _BGDMA_COPY_H

#include <linux/string.h>
#include <linux/types.h>

/* A power of two that the code of bgdma_copy_long() fits into: it lies in one page. */
#define BGDMA_COPY_TEXT	1024

void bgdma_copy_long(void *to, const void *from, u32 n)
	__aligned(BGDMA_COPY_TEXT);

/*
 * A page at most, which the compiler sees and copies inline: for a short
 * transfer that beats the call of a routine that is tuned for long ones.
 */
static __always_inline void bgdma_copy(void *to, const void *from, u32 n,
				       bool in_short)
{
	/* A value of its own, of which the compiler knows just this bound. */
	OPTIMIZER_HIDE_VAR(n);
	if (in_short) {
		if (n > PAGE_SIZE)
			__builtin_unreachable();
		memcpy(to, from, n);
	} else {
		bgdma_copy_long(to, from, n);
	}
}

#endif /* _BGDMA_COPY_H */
