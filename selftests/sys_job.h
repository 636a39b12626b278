/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a process of a job sees, whoever tells it of the others.
 */
#ifndef BGDMA_SELFTESTS_SYS_JOB_H
#define BGDMA_SELFTESTS_SYS_JOB_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <bgdma/job.h>

#include "sys_require.h"
#include "utils.h"

#define RANKS	4

/* Where leaks are looked for: _exit() would not. */
int __lsan_do_recoverable_leak_check(void);
#pragma weak __lsan_do_recoverable_leak_check

static inline int leaks(void)
{
	return __lsan_do_recoverable_leak_check ?
	       __lsan_do_recoverable_leak_check() : 0;
}

static inline void forget(void)
{
	static const char *const names[] = {
		"BGDMA_RANK", "BGDMA_SIZE", "BGDMA_JOB_DIR", "PMI_FD",
		"PMI_RANK", "PMI_SIZE", "PMIX_RANK", "PMIX_NAMESPACE",
	};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unsetenv(names[i]);
}

static inline void set(const char *name, unsigned int number)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", number);
	setenv(name, text, 1);
}

static inline int open_as(struct bgdma_job **job, const char *wiring)
{
	return bgdma_job_open(job, &(struct bgdma_job_attr){
			.wiring = wiring, .timeout_ms = 60000 * slowness() });
}

/* What each process of a job does, whatever the wiring: its exit code. */
static inline int member(const char *wiring, unsigned int rank, unsigned int size)
{
	unsigned char value[BGDMA_JOB_VALUE_MAX], got[BGDMA_JOB_VALUE_MAX];
	struct bgdma_job *job;
	unsigned int i, r;

	require(open_as(&job, NULL) == 0);
	require(strcmp(bgdma_job_wiring(job), wiring) == 0);
	require(bgdma_job_rank(job) == rank);
	require(bgdma_job_size(job) == size);

	/* All bytes, the longest value, and one that others have too. */
	for (i = 0; i < sizeof(value); i++)
		value[i] = (unsigned char)(i + rank);
	require(bgdma_job_put(job, "all-bytes", value, sizeof(value)) == 0);
	require(bgdma_job_put(job, "all", &rank, sizeof(rank)) == 0);
	require(bgdma_job_fence(job) == 0);
	for (r = 0; r < size; r++) {
		require(bgdma_job_get(job, r, "all", got, sizeof(got)) == 4);
		require(memcmp(got, &r, 4) == 0);
		require(bgdma_job_get(job, r, "all-bytes", got,
				      sizeof(got)) == sizeof(got));
		for (i = 0; i < sizeof(got); i++)
			require(got[i] == (unsigned char)(i + r));
	}
	require(bgdma_job_get(job, 0, "all", got, 3) == -EMSGSIZE);
	require(bgdma_job_get(job, 0, "none", got, 4) == -ENOENT);
	require(bgdma_job_get(job, size, "all", got, 4) == -EINVAL);

	/* After another fence both rounds are there. */
	require(bgdma_job_put(job, "second", "x", 1) == 0);
	require(bgdma_job_fence(job) == 0);
	for (r = 0; r < size; r++) {
		require(bgdma_job_get(job, r, "second", got, 1) == 1);
		require(bgdma_job_get(job, r, "all", got, 4) == 4);
	}

	require(bgdma_job_put(job, "", "x", 1) == -EINVAL);
	require(bgdma_job_put(job, "a b", "x", 1) == -EINVAL);
	require(bgdma_job_put(job, "a=b", "x", 1) == -EINVAL);
	require(bgdma_job_put(job, "0123456789abcdef0123456789abcdef", "x",
			      1) == -EINVAL);
	require(bgdma_job_put(job, "a", "x", 0) == -EINVAL);
	require(bgdma_job_put(job, "a", value, sizeof(value) + 1) == -EINVAL);
	bgdma_job_close(job);
	return 0;
}

static inline pid_t fork_member(const char *wiring, unsigned int rank)
{
	pid_t pid = must(fork());
	int result;

	if (!pid) {
		result = member(wiring, rank, RANKS);
		_exit(result ? result : leaks());
	}
	return pid;
}

static inline bool all_well(const pid_t *pids, unsigned int count)
{
	bool well = true;
	unsigned int i;
	int status;

	for (i = 0; i < count; i++) {
		must(waitpid(pids[i], &status, 0));
		well &= WIFEXITED(status) && !WEXITSTATUS(status);
	}
	return well;
}

#endif /* BGDMA_SELFTESTS_SYS_JOB_H */
