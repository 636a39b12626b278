/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The nth call of a thread fails, allocations among them: whoever includes this has
 * these functions of libc, for the library too.
 */
#ifndef BGDMA_SELFTESTS_FAILING_MEMORY_H
#define BGDMA_SELFTESTS_FAILING_MEMORY_H

#include <stddef.h>
#include <sys/mman.h>

#include "failing.h"

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);

static long allocated;	/* and not freed */
static bool no_memory;	/* all of them fail */
static unsigned int refused;	/* as there was none */

static bool is_refused(void)
{
	refused += no_memory;
	return no_memory || fault();
}

static void *counted(void *p)
{
	if (p)
		__atomic_add_fetch(&allocated, 1, __ATOMIC_RELAXED);
	return p;
}

void *malloc(size_t size)
{
	return is_refused() ? NULL : counted(__libc_malloc(size));
}

void *calloc(size_t n, size_t size)
{
	return is_refused() ? NULL : counted(__libc_calloc(n, size));
}

void *realloc(void *p, size_t size)
{
	if (!p)
		return malloc(size);
	return is_refused() ? NULL : __libc_realloc(p, size);
}

void free(void *p)
{
	if (p)
		__atomic_sub_fetch(&allocated, 1, __ATOMIC_RELAXED);
	/* glibc's way to free. */
	(void)__libc_realloc(p, 0);
}

void *mmap(void *addr, size_t length, int prot, int flags, int fd, off_t off)
{
	if (fault())
		return MAP_FAILED;
	return (void *)syscall(SYS_mmap, addr, length, prot, flags, fd, off);
}

#endif /* BGDMA_SELFTESTS_FAILING_MEMORY_H */
