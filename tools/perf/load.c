// SPDX-License-Identifier: GPL-2.0
/*
 * Load for somebody else's measurement, until killed: as many processes of
 * another user as there are processors, which only copy. Beside it shows what
 * of a measurement beside bgdma is bgdma's and what is any load's.
 */
#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "perf.h"

#define LONG	(1UL << 20)

static char *source, *target;

/* All in user space. */
static void copy_for_ever(void)
{
	void *(*volatile copy)(void *, const void *, size_t) = memcpy;

	for (;;)
		copy(target, source, LONG);
}

/* Nearly all in the kernel. */
static void readv_for_ever(void)
{
	struct iovec to = { target, LONG }, from = { source, LONG };

	for (;;) {
		if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) !=
		    (ssize_t)LONG)
			die("process_vm_readv", -errno);
	}
}

static void load(void (*run)(void))
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	source = small_pages(LONG);
	target = small_pages(LONG);
	while (n-- > 0)
		as_other_user(run);
	for (;;)
		pause();
}

void load_memcpy(void)
{
	load(copy_for_ever);
}

void load_readv(void)
{
	load(readv_for_ever);
}
