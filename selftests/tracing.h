/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An instance of the kernel's tracing that is a test's alone.
 */
#ifndef BGDMA_SELFTESTS_TRACING_H
#define BGDMA_SELFTESTS_TRACING_H

#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "utils.h"

#define TRACING		"/sys/kernel/tracing"
#define INSTANCE	TRACING "/instances/bgdma_test"
#define RECORD_CMD	TRACING "/options/record-cmd"

static inline void tracing_clear(void)
{
	int fd = open(INSTANCE "/trace", O_WRONLY | O_TRUNC | O_CLOEXEC);

	must(fd < 0 ? -errno : 0);
	close(fd);
}

/* Begin with an empty one; false where there is no tracing. */
static inline bool tracing_begin(void)
{
	if (access(TRACING "/instances", W_OK))
		mount("tracefs", TRACING, "tracefs", 0, NULL);
	if (access(TRACING "/events/bgdma", F_OK))
		return false;
	/*
	 * Names of tasks need a probe in every switch of them. Emulated
	 * processors run such code as it was before it is patched now and then.
	 * An instance is made with the options of the whole.
	 */
	must(write_file(RECORD_CMD, "0"));
	mkdir(INSTANCE, 0700);
	must(write_file(RECORD_CMD, "1"));
	tracing_clear();
	return true;
}

static inline void tracing_end(void)
{
	rmdir(INSTANCE);
}

/* What was traced up to now, to be closed. */
static inline FILE *tracing_lines(void)
{
	FILE *lines = fopen(INSTANCE "/trace", "r");

	must(lines ? 0 : -errno);
	return lines;
}

#endif /* BGDMA_SELFTESTS_TRACING_H */
