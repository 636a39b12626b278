/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The nth call of a thread fails, be it for memory, to wait, or for a file or a thread:
 * whoever includes this has these functions of libc, for the library too.
 */
#ifndef BGDMA_SELFTESTS_FAILING_CALLS_H
#define BGDMA_SELFTESTS_FAILING_CALLS_H

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>

#include "failing_memory.h"

int eventfd(unsigned int count, int flags)
{
	return fault() ? -1 : (int)syscall(SYS_eventfd2, count, flags);
}

int open(const char *path, int flags, ...)
{
	va_list list;
	mode_t mode;

	va_start(list, flags);
	mode = flags & O_CREAT ? va_arg(list, mode_t) : 0;
	va_end(list);
	return fault() ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

/* So many waits fail besides, of whatever thread. */
static int waits_fail;

static bool is_wait_failing(void)
{
	if (__atomic_load_n(&waits_fail, __ATOMIC_SEQ_CST) <= 0)
		return false;
	__atomic_sub_fetch(&waits_fail, 1, __ATOMIC_SEQ_CST);
	errno = fault_code;
	return true;
}

int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *limit,
	  const sigset_t *mask)
{
	/* The kernel writes what is left of the time. */
	struct timespec left = limit ? *limit : (struct timespec){ 0 };

	if (is_wait_failing())
		return -1;
	return fault() ? -1 : (int)syscall(SYS_ppoll, fds, n,
					   limit ? &left : NULL, mask, NSIG / 8);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attr,
		   void *(*start)(void *arg), void *arg)
{
	__typeof__(pthread_create) *real = (__typeof__(pthread_create) *)
		dlsym(RTLD_NEXT, "pthread_create");

	return fault() ? fault_code : real(thread, attr, start, arg);
}

#endif /* BGDMA_SELFTESTS_FAILING_CALLS_H */
