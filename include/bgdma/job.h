/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The job that a process belongs to: its rank, how many there are, and small
 * values that they tell each other at the start. A launcher starts them (there
 * is none of our own), and the job speaks to it:
 *
 *	env	BGDMA_RANK and BGDMA_SIZE, and BGDMA_JOB_DIR, an empty folder
 *		that all processes share
 *	pmix	PMIx, of libpmix.so.2 if that is installed: mpirun of Open MPI,
 *		and whatever else speaks it
 *	pmi1	PMI-1: mpiexec.hydra of MPICH
 *	single	none of these: a job of one
 *
 * Not for data: that goes through an endpoint, see <bgdma/sys.h>.
 */
#ifndef BGDMA_JOB_H
#define BGDMA_JOB_H

#include <bgdma/types.h>

BGDMA_BEGIN_DECLS

#define BGDMA_JOB_KEY_MAX	32	/* with its final zero */
#define BGDMA_JOB_VALUE_MAX	256	/* bytes of a value */

/* One process's place in a job. */
struct bgdma_job;

/**
 * struct bgdma_job_attr - how to find the job
 * @wiring: "env", "pmix", "pmi1" or "single"; NULL: the first that is there
 * @timeout_ms: how long a fence waits for the others; 0: for ever, since a
 *	launcher ends a job of which a process died
 */
struct bgdma_job_attr {
	const char *wiring;
	uint32_t timeout_ms;
};

/* bgdma_job_open() of a program whose attr has @size bytes. */
BGDMA_API int bgdma_job_open_sized(struct bgdma_job **job,
				   const struct bgdma_job_attr *attr,
				   size_t size);

/**
 * bgdma_job_open() - learn which process of which job this is
 * @job: out: to be ended by bgdma_job_close()
 * @attr: how; NULL: all defaults
 *
 * Once in a process: launchers serve no second one.
 *
 * Thread safety: any thread.
 * Return: 0; -EINVAL no such wiring, or variables that make no sense; -ENOENT
 * the wiring that was asked for is not there; -ENOTSUP libpmix is not
 * installed, too old, or was not there when this was built; -EPROTO the
 * launcher answers nonsense; -EPIPE it is gone; -ENOMEM.
 */
static inline int bgdma_job_open(struct bgdma_job **job,
				 const struct bgdma_job_attr *attr)
{
	return bgdma_job_open_sized(job, attr, sizeof(*attr));
}

/**
 * bgdma_job_close() - leave the job
 * @job: job, or NULL
 *
 * Some launchers wait here for the other processes.
 *
 * Thread safety: no other call on the job may run or follow.
 */
BGDMA_API void bgdma_job_close(struct bgdma_job *job);

/**
 * bgdma_job_rank() - which process of the job this is, from 0
 * @job: job
 */
BGDMA_API uint32_t bgdma_job_rank(const struct bgdma_job *job);

/**
 * bgdma_job_size() - how many processes there are
 * @job: job
 */
BGDMA_API uint32_t bgdma_job_size(const struct bgdma_job *job);

/**
 * bgdma_job_wiring() - who told: "env", "pmix", "pmi1" or "single"
 * @job: job
 */
BGDMA_API const char *bgdma_job_wiring(const struct bgdma_job *job);

/**
 * bgdma_job_put() - tell the others a value
 * @job: job
 * @key: letters, digits, '.', '-', '_'; less than BGDMA_JOB_KEY_MAX; each only
 *	once
 * @value: copied
 * @bytes: 1 to BGDMA_JOB_VALUE_MAX
 *
 * They can get it after the next bgdma_job_fence().
 *
 * Thread safety: any thread.
 * Return: 0; -EINVAL; -EEXIST it was put before; and as bgdma_job_fence().
 */
BGDMA_API int bgdma_job_put(struct bgdma_job *job, const char *key,
			    const void *value, size_t bytes);

/**
 * bgdma_job_fence() - wait until all processes of the job are here
 * @job: job
 *
 * Collective: each process calls it as often as the others. One that timed out is still
 * under way, and the next call goes on with it (pmix: it is up to the launcher).
 *
 * Thread safety: any thread, but one at a time.
 * Return: 0; -ETIMEDOUT; -EPIPE the launcher is gone; -EPROTO it answers
 * nonsense; -EEXIST BGDMA_JOB_DIR was used by another job; other errors of the
 * file system; -ENOMEM.
 */
BGDMA_API int bgdma_job_fence(struct bgdma_job *job);

/**
 * bgdma_job_get() - what a process has told
 * @job: job
 * @rank: which; itself too
 * @key: as it was put
 * @value: out
 * @size: room
 *
 * Thread safety: any thread.
 * Return: bytes of the value; -ENOENT nothing was put before the last fence;
 * -EINVAL no such rank; -EMSGSIZE it is longer than @size; and as
 * bgdma_job_fence().
 */
BGDMA_API int bgdma_job_get(struct bgdma_job *job, uint32_t rank,
			    const char *key, void *value, size_t size);

BGDMA_END_DECLS

#endif /* BGDMA_JOB_H */
