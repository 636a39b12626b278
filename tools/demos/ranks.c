// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Who is in the job: started by any launcher, or by none.
 *
 *	mpiexec.hydra -n 4 ranks
 *	mpirun -n 4 ranks
 *	ranks
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <bgdma/job.h>

static int fail(const char *what, int error)
{
	fprintf(stderr, "ranks: %s: %s\n", what, strerror(-error));
	return 1;
}

int main(void)
{
	struct bgdma_job *job;
	uint32_t rank, size, right;
	pid_t pid = getpid(), other = 0;
	int ret;

	ret = bgdma_job_open(&job, NULL);
	if (ret)
		return fail("open", ret);
	rank = bgdma_job_rank(job);
	size = bgdma_job_size(job);
	right = (rank + 1) % size;

	ret = bgdma_job_put(job, "pid", &pid, sizeof(pid));
	if (!ret)
		ret = bgdma_job_fence(job);
	if (!ret)
		ret = bgdma_job_get(job, right, "pid", &other, sizeof(other));
	if (ret < 0)
		return fail("exchange", ret);
	ret = bgdma_job_put(job, "pid", &other, sizeof(other));
	if (ret != -EEXIST)
		return fail("what was put before", ret);
	ret = bgdma_job_get(job, right, "nothing", &other, sizeof(other));
	if (ret != -ENOENT)
		return fail("what nobody has put", ret);
	printf("rank %u of %u by %s: process %d, right of it %d\n", rank, size,
	       bgdma_job_wiring(job), (int)pid, (int)other);
	bgdma_job_close(job);
	return 0;
}
