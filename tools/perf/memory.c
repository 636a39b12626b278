// SPDX-License-Identifier: GPL-2.0
/*
 * How much memory the machine has left.
 */
#include <errno.h>
#include <stdio.h>

#include "perf.h"

/* Counts that processors keep for themselves are added up. */
static void refresh(void)
{
	FILE *f = fopen("/proc/sys/vm/stat_refresh", "w");

	if (!f || fputs("1", f) < 0 || fclose(f))
		die("/proc/sys/vm/stat_refresh", -errno);
}

uint64_t memory_taken(uint64_t before, uint64_t after)
{
	return before > after ? before - after : 0;
}

uint64_t free_memory(void)
{
	unsigned long long pages = 0, n;
	char line[128];
	FILE *f;

	refresh();
	f = fopen("/proc/zoneinfo", "r");
	if (!f)
		die("/proc/zoneinfo", -errno);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, " nr_free_pages %llu", &n) == 1 ||
		    sscanf(line, " count: %llu", &n) == 1)
			pages += n;
	}
	fclose(f);
	return pages * 4096;
}
