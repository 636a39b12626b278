/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Running the tool bgdma.
 */
#ifndef BGDMA_SELFTESTS_TOOL_H
#define BGDMA_SELFTESTS_TOOL_H

#include <errno.h>
#include <stdio.h>
#include <sys/wait.h>

#include "utils.h"

/* Run `bgdma WORDS`: its exit code; what it printed to both is in @out. */
static inline int run_tool(const char *words, char *out, size_t size)
{
	char line[256];
	size_t n;
	FILE *f;

	snprintf(line, sizeof(line), "bgdma %s 2>&1", words);
	f = popen(line, "r");
	if (!f)
		return -errno;
	n = fread(out, 1, size - 1, f);
	out[n] = '\0';
	return WEXITSTATUS(pclose(f));
}

/* The same of what must not fail. */
static inline void tool(const char *words)
{
	char out[1024];

	if (!run_tool(words, out, sizeof(out)))
		return;
	fprintf(stderr, "# bgdma %s: %s\n", words, out);
	must(-EINVAL);
}

#endif /* BGDMA_SELFTESTS_TOOL_H */
