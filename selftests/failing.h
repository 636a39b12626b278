/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The nth allocation or system call of a thread fails: whoever includes this has these
 * functions of libc, for the library too.
 */
#ifndef BGDMA_SELFTESTS_FAILING_H
#define BGDMA_SELFTESTS_FAILING_H

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);

/* Calls until the one that fails; 0: none does. Of this thread alone. */
static _Thread_local unsigned int until_fault;
static unsigned int faults;
static long allocated;	/* and not freed */

static bool fault(void)
{
	if (!until_fault || --until_fault)
		return false;
	faults++;
	errno = ENOMEM;
	return true;
}

static void *counted(void *p)
{
	if (p)
		__atomic_add_fetch(&allocated, 1, __ATOMIC_RELAXED);
	return p;
}

void *malloc(size_t size)
{
	return fault() ? NULL : counted(__libc_malloc(size));
}

void *calloc(size_t n, size_t size)
{
	return fault() ? NULL : counted(__libc_calloc(n, size));
}

void *realloc(void *p, size_t size)
{
	if (!p)
		return malloc(size);
	return fault() ? NULL : __libc_realloc(p, size);
}

void free(void *p)
{
	if (p)
		__atomic_sub_fetch(&allocated, 1, __ATOMIC_RELAXED);
	/* glibc's way to free. */
	(void)__libc_realloc(p, 0);
}

int ioctl(int fd, unsigned long request, ...)
{
	va_list list;
	void *arg;

	va_start(list, request);
	arg = va_arg(list, void *);
	va_end(list);
	return fault() ? -1 : (int)syscall(SYS_ioctl, fd, request, arg);
}

void *mmap(void *addr, size_t length, int prot, int flags, int fd, off_t off)
{
	if (fault())
		return MAP_FAILED;
	return (void *)syscall(SYS_mmap, addr, length, prot, flags, fd, off);
}

#endif /* BGDMA_SELFTESTS_FAILING_H */
