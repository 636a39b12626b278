/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The nth call of a thread fails: whoever includes this has this ioctl(), and this
 * syscall(), by which doorbells are rung, instead of libc's, for the library too.
 * failing_memory.h has allocations besides, or with FAILING_MEMORY_ONLY in their place.
 */
#ifndef BGDMA_SELFTESTS_FAILING_H
#define BGDMA_SELFTESTS_FAILING_H

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Calls until the one that fails; 0: none does. Of this thread alone. */
static _Thread_local unsigned int until_fault;
static unsigned int faults;
static int fault_code = ENOMEM;	/* how it fails */

/*
 * To the next call that is to fail, of many. It is the library that is looked at, so
 * on kernels that are slow there are gaps.
 */
#define fault_step()	slowness()

static bool fault(void)
{
	if (!until_fault || --until_fault)
		return false;
	faults++;
	errno = fault_code;
	return true;
}

/* The lowest number that no file has: it grows when one stays open. */
static inline int next_fd(void)
{
	int fd = dup(0);

	close(fd);
	return fd;
}

#ifndef FAILING_MEMORY_ONLY
/* So many of this request fail besides. */
static unsigned long fail_request;
static unsigned int requests_fail;

static bool is_request_failing(unsigned long request)
{
	if (!requests_fail || request != fail_request)
		return false;
	requests_fail--;
	errno = fault_code;
	return true;
}

static long (*real_syscall)(long number, ...);

/* Before any call is to fail, for it may allocate. */
static void __attribute__((constructor)) find_syscall(void)
{
	real_syscall = dlsym(RTLD_NEXT, "syscall");
}

/* Only those that an ioctl() would be: the shims here call others. */
long syscall(long number, ...)
{
	unsigned long arg[6];
	unsigned int i;
	va_list list;

	va_start(list, number);
	for (i = 0; i < 6; i++)
		arg[i] = va_arg(list, unsigned long);
	va_end(list);
	if (number == SYS_ioctl && (is_request_failing(arg[1]) || fault()))
		return -1;
	if (!real_syscall)
		find_syscall();
	return real_syscall(number, arg[0], arg[1], arg[2], arg[3], arg[4],
			    arg[5]);
}

int ioctl(int fd, unsigned long request, ...)
{
	va_list list;
	void *arg;

	va_start(list, request);
	arg = va_arg(list, void *);
	va_end(list);
	return (int)syscall(SYS_ioctl, fd, request, arg);
}
#endif

#endif /* BGDMA_SELFTESTS_FAILING_H */
