/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A control group for memory, and what is charged to it.
 */
#ifndef BGDMA_SELFTESTS_CGROUP_H
#define BGDMA_SELFTESTS_CGROUP_H

#include <linux/membarrier.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "utils.h"

#define CGROUPS	"/sys/fs/cgroup"
#define CGROUP	CGROUPS "/bgdma-test"

/* One with a limit, or "max". Why there can be none, or NULL. */
static inline const char *group_new(const char *limit)
{
	/* What is mounted here is for nobody else. */
	if (geteuid() || unshare(CLONE_NEWNS) ||
	    mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("test", CGROUPS, "cgroup2", 0, NULL))
		return "needs root and cgroup2";
	write_file(CGROUPS "/cgroup.subtree_control", "+memory");
	mkdir(CGROUP, 0700);
	return write_file(CGROUP "/memory.max", limit) ?
	       "no limits of memory here" : NULL;
}

/* The caller belongs to it from now on. */
static inline void group_join(void)
{
	must(write_file(CGROUP "/cgroup.procs", "0"));
}

/* When nobody does any more. */
static inline void group_end(void)
{
	until(!rmdir(CGROUP));
}

/* Whoever joined it, as the last one. */
static inline void group_leave(void)
{
	must(write_file(CGROUPS "/cgroup.procs", "0"));
	group_end();
}

/* All that is charged, rounded up by what processors have charged beforehand. */
static inline long charged(void)
{
	FILE *f = fopen(CGROUP "/memory.current", "r");
	long bytes = 0;

	must(f && fscanf(f, "%ld", &bytes) == 1 ? 0 : -EIO);
	fclose(f);
	return bytes;
}

/*
 * What each processor has counted is summed up before long, or as soon as it is so much:
 * 64 pages for each.
 */
static inline void charged_flush(void)
{
	size_t bytes = 64 * PAGE * (1 + (size_t)sysconf(_SC_NPROCESSORS_ONLN));
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	must(p == MAP_FAILED ? -errno : 0);
	must(munmap(p, bytes) ? -errno : 0);
}

/*
 * The bytes of the kernel's objects, to the byte, of a group that works on one processor:
 * what waits to be freed, and what the processor has not told the group yet, is not
 * among them. Frees by others may be told later, so ask again.
 */
static inline long charged_objects(void)
{
	char key[64];
	long bytes = -1, value;
	FILE *f;

	/* The first is to say no word of the second in the log. */
	must(write_file("/proc/sys/vm/drop_caches", "4"));
	must(write_file("/proc/sys/vm/drop_caches", "2"));
	must(syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) ? -errno : 0);
	must(write_file(CGROUP "/memory.high", "0"));
	must(write_file(CGROUP "/memory.high", "max"));
	charged_flush();
	f = fopen(CGROUP "/memory.stat", "r");
	must(f ? 0 : -errno);
	while (bytes < 0 && fscanf(f, "%63s %ld", key, &value) == 2)
		if (!strcmp(key, "slab_unreclaimable"))
			bytes = value;
	fclose(f);
	must(bytes < 0 ? -EIO : 0);
	return bytes;
}

#endif /* BGDMA_SELFTESTS_CGROUP_H */
