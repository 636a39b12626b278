// SPDX-License-Identifier: GPL-2.0
/*
 * How long payload is copied, page by page.
 */
#include "../compat.h"
#include "copy.h"

/**
 * bgdma_copy_long() - copy bytes of long transfers
 * @to: where to
 * @from: where they are
 * @n: so many, of one page usually
 *
 * Where "rep movs" is slow the kernel's own loop goes round for 32 bytes; this
 * one does with an eighth of the rounds, within one page of code: emulators look
 * up the next page at each jump between two. Each word is stored before the next
 * is read: an emulator writes values that wait in registers back to its memory at
 * each access, and a processor reads ahead by itself. READ_ONCE() keeps the
 * compiler from making a memmove() of it. A sanitizer that looks at each access is
 * better off with memcpy(), at which it looks once.
 */
void bgdma_copy_long(void *to, const void *from, u32 n)
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
#pragma GCC unroll 32
		for (i = 0; i < 32; i++)
			t[i] = READ_ONCE(f[i]);
	}
	memcpy(t, f, n);
}
