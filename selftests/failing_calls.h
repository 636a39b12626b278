/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The nth call of a thread fails, be it for memory or its protection, to wait, for a
 * file, a thread or what threads share, for a signal's handler or for a random number:
 * whoever includes this has these functions of libc, for the library too.
 */
#ifndef BGDMA_SELFTESTS_FAILING_CALLS_H
#define BGDMA_SELFTESTS_FAILING_CALLS_H

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/random.h>

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

int mprotect(void *addr, size_t length, int prot)
{
	return fault() ? -1 : (int)syscall(SYS_mprotect, addr, length, prot);
}

ssize_t getrandom(void *p, size_t length, unsigned int flags)
{
	return fault() ? -1 : syscall(SYS_getrandom, p, length, flags);
}

#define NEXT(name)	((__typeof__(name) *)dlsym(RTLD_NEXT, #name))

int sigaction(int number, const struct sigaction *new, struct sigaction *old)
{
	return fault() ? -1 : NEXT(sigaction)(number, new, old);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attr,
		   void *(*start)(void *arg), void *arg)
{
	return fault() ? fault_code :
			 NEXT(pthread_create)(thread, attr, start, arg);
}

int pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attr)
{
	return fault() ? fault_code : NEXT(pthread_mutex_init)(mutex, attr);
}

int pthread_cond_init(pthread_cond_t *cond, const pthread_condattr_t *attr)
{
	__typeof__(pthread_cond_init) *real;

#ifdef __x86_64__
	/* There is an older one, of another structure. */
	real = (__typeof__(real))dlvsym(RTLD_NEXT, "pthread_cond_init",
					"GLIBC_2.3.2");
#else
	real = NEXT(pthread_cond_init);
#endif
	return fault() ? fault_code : real(cond, attr);
}

#endif /* BGDMA_SELFTESTS_FAILING_CALLS_H */
