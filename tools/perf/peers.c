// SPDX-License-Identifier: GPL-2.0
/*
 * Instructions of what the kernel offers already: the least that a system call
 * costs, an ioctl that fails at once, and process_vm_readv.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "perf.h"

#define ROUNDS	1024

static int null_fd;
static char *source, *target;

static inline void getppids(unsigned int n)
{
	while (n--)
		syscall(SYS_getppid);
}

static inline void ioctls(unsigned int n)
{
	while (n--)
		ioctl(null_fd, 0);
}

static inline void readv_pages(unsigned int n)
{
	struct iovec to = { target, 4096 }, from = { source, 4096 };
	pid_t pid = getpid();

	while (n--) {
		if (process_vm_readv(pid, &to, 1, &from, 1, 0) != 4096)
			die("process_vm_readv", -errno);
	}
}

void count_peers(void)
{
	null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	source = small_pages(4096);
	target = small_pages(4096);
	count("getppid", ROUNDS, getppids);
	count("failing ioctl", ROUNDS, ioctls);
	count("process_vm_readv 4 KiB", ROUNDS, readv_pages);
}
