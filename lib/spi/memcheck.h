/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
#ifndef BGDMA_MEMCHECK_H
#define BGDMA_MEMCHECK_H

#include <stddef.h>

#ifdef HAVE_VALGRIND
#include <valgrind/memcheck.h>
#endif

/* The engine has written there, which valgrind cannot see. */
static inline void memory_defined(const void *addr, size_t bytes)
{
#ifdef HAVE_VALGRIND
	(void)VALGRIND_MAKE_MEM_DEFINED(addr, bytes);
#else
	(void)addr;
	(void)bytes;
#endif
}

#endif /* BGDMA_MEMCHECK_H */
