/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The nth call of a thread fails: whoever includes this has this ioctl() instead of
 * libc's, for the library too.
 * failing_memory.h has allocations besides, or with FAILING_MEMORY_ONLY in their place.
 */
#ifndef BGDMA_SELFTESTS_FAILING_H
#define BGDMA_SELFTESTS_FAILING_H

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Calls until the one that fails; 0: none does. Of this thread alone. */
static _Thread_local unsigned int until_fault;
static unsigned int faults;

static bool fault(void)
{
	if (!until_fault || --until_fault)
		return false;
	faults++;
	errno = ENOMEM;
	return true;
}

#ifndef FAILING_MEMORY_ONLY
int ioctl(int fd, unsigned long request, ...)
{
	va_list list;
	void *arg;

	va_start(list, request);
	arg = va_arg(list, void *);
	va_end(list);
	return fault() ? -1 : (int)syscall(SYS_ioctl, fd, request, arg);
}
#endif

#endif /* BGDMA_SELFTESTS_FAILING_H */
