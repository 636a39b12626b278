/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How payload is copied, piece by piece.
 */
#ifndef _BGDMA_COPY_H
#define _BGDMA_COPY_H

#include <linux/string.h>

#include "../compat.h"

static __always_inline void bgdma_copy_words(u64 *to, const u64 *from)
{
	u64 a = from[0], b = from[1], c = from[2], d = from[3];

	to[0] = a;
	to[1] = b;
	to[2] = c;
	to[3] = d;
}

/*
 * Where "rep movs" is slow the kernel's own loop goes round for 32 bytes; this
 * one does with an eighth of the rounds. A sanitizer that looks at each access
 * is better off with memcpy(), at which it looks once.
 */
static inline void bgdma_copy_long(void *to, const void *from, u32 n)
{
	u64 *t = to;
	const u64 *f = from;
	unsigned int i;

	if (bgdma_memcpy_is_fast() || IS_ENABLED(CONFIG_KASAN) ||
	    IS_ENABLED(CONFIG_KCSAN)) {
		memcpy(to, from, n);
		return;
	}
	for (; n >= 256; n -= 256, t += 32, f += 32) {
#pragma GCC unroll 8
		for (i = 0; i < 32; i += 4)
			bgdma_copy_words(t + i, f + i);
	}
	memcpy(t, f, n);
}

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
