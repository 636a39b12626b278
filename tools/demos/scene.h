/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* What the scenes that are one program for all processes of a job share. */
#ifndef DEMO_SCENE_H
#define DEMO_SCENE_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Nothing, unless @ret is an error: then the program says so and ends. */
static inline void check(int ret, const char *what)
{
	if (ret >= 0)
		return;
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what,
		strerror(-ret));
	exit(1);
}

/* Each phase is one write, so that a trace can be cut there. */
static inline void phase(const char *line)
{
	if (write(1, line, strlen(line)) < 0)
		exit(1);
}

/* Nanoseconds of the monotonic clock; no system call. */
static inline int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

#endif /* DEMO_SCENE_H */
