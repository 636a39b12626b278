/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The calls of the device that this program makes, before they are made. To be included
 * once, by who has on_ioctl(): 0, or the -errno that it fails with in place of being made.
 */
#ifndef BGDMA_SELFTESTS_IOCTL_SEEN_H
#define BGDMA_SELFTESTS_IOCTL_SEEN_H

#include <errno.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static int on_ioctl(unsigned long request);

int ioctl(int fd, unsigned long request, ...)
{
	va_list list;
	void *arg;
	int error;

	va_start(list, request);
	arg = va_arg(list, void *);
	va_end(list);
	error = on_ioctl(request);
	if (!error)
		return (int)syscall(SYS_ioctl, fd, request, arg);
	errno = -error;
	return -1;
}

#endif /* BGDMA_SELFTESTS_IOCTL_SEEN_H */
