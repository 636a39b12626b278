/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the tests of the library's sys layer share: jobs of processes that the
 * test forks, each with an endpoint.
 */
#ifndef BGDMA_SELFTESTS_SYS_UTIL_H
#define BGDMA_SELFTESTS_SYS_UTIL_H

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <bgdma/sys.h>

#include "links.h"
#include "sys_require.h"
#include "utils.h"

#define RANKS_MAX	8
#define JOB_MAX		80	/* processes of one, at most */

/* Of memory that is registered: on pages of its own. */
#define PINNED		__attribute__((aligned(4096)))

/* One process of a job. */
struct member {
	struct bgdma_job *job;
	struct bgdma_endpoint *ep;
	uint32_t rank, size;
};

/* There if the program is built with a sanitizer that looks for leaks. */
int __lsan_do_recoverable_leak_check(void);
#pragma weak __lsan_do_recoverable_leak_check

typedef int member_fn(uint32_t rank, uint32_t size, void *arg);

static inline void variable(const char *name, unsigned int number)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", number);
	must(setenv(name, text, 1));
}

static inline pid_t member_start(member_fn *fn, uint32_t rank, uint32_t size,
				 void *arg)
{
	pid_t pid = must(fork());
	int result;

	if (!pid) {
		variable("BGDMA_RANK", rank);
		variable("BGDMA_SIZE", size);
		links_enter(rank);
		result = fn(rank, size, arg);
		/* _exit() would not look. */
		if (!result && __lsan_do_recoverable_leak_check)
			result = __lsan_do_recoverable_leak_check();
		_exit(result);
	}
	return pid;
}

/*
 * Run a job of so many processes. True: each ended with 0, but for @victim (a
 * rank, or -1), which was killed. When one fails the others are ended.
 */
static inline bool job_run(uint32_t size, member_fn *fn, void *arg, int victim)
{
	char dir[] = "/tmp/job.XXXXXX", command[64];
	pid_t pids[JOB_MAX], pid;
	uint32_t rank, left = size;
	bool well = true, good;
	int status;

	must(mkdtemp(dir) ? 0 : -errno);
	must(setenv("BGDMA_JOB_DIR", dir, 1));
	must(setenv("BGDMA_PARTITION", PARTITION, 1));
	for (rank = 0; rank < size; rank++)
		pids[rank] = member_start(fn, rank, size, arg);
	while (left) {
		pid = must(waitpid(-1, &status, 0));
		for (rank = 0; rank < size && pids[rank] != pid; rank++)
			;
		if (rank == size)
			continue;
		left--;
		pids[rank] = 0;
		good = (int)rank == victim ? WIFSIGNALED(status) :
			WIFEXITED(status) && !WEXITSTATUS(status);
		if (good || !well)
			continue;
		fprintf(stderr, "# rank %u: status %x\n", rank, status);
		well = false;
		for (rank = 0; rank < size; rank++)
			if (pids[rank])
				kill(pids[rank], SIGKILL);
	}
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	must(system(command));
	return well;
}

/* Join the job, and make an endpoint; @attr may be NULL. 0 or -errno. */
static inline int member_open(struct member *m,
			      const struct bgdma_endpoint_attr *attr)
{
	const struct bgdma_job_attr job = {
		.wiring = "env", .timeout_ms = 20000 * slowness(),
	};
	struct bgdma_endpoint_attr a = { 0 };
	int ret;

	if (attr)
		a = *attr;
	ret = bgdma_job_open(&m->job, &job);
	if (ret)
		return ret;
	a.job = m->job;
	m->rank = bgdma_job_rank(m->job);
	m->size = bgdma_job_size(m->job);
	return bgdma_endpoint_create(&m->ep, &a);
}

/* Leave, whatever the others do. */
static inline int member_leave(struct member *m)
{
	bgdma_endpoint_destroy(m->ep);
	bgdma_job_close(m->job);
	return 0;
}

/* Whether something that it sent has failed; it sees so when it makes progress. */
static inline bool send_failed(struct bgdma_endpoint *ep)
{
	return load(&bgdma_ctx_view(bgdma_endpoint_ctx(ep))->kern->inj_error[0]);
}

/* An operation of a test's module, and where its identifier goes. */
struct test_operation {
	const char *name;
	bgdma_packet_fn *packet;
	uint32_t flags;
	uint32_t *id;
};

/* Register those of module "m", and commit; 0 or -errno. */
static inline int member_commit(struct member *m,
				const struct test_operation *ops,
				unsigned int n, void *arg)
{
	struct bgdma_operation_attr attr = { .module = "m", .arg = arg };
	unsigned int i;
	int ret = 0;

	for (i = 0; !ret && i < n; i++) {
		attr.name = ops[i].name;
		attr.packet = ops[i].packet;
		attr.flags = ops[i].flags;
		ret = bgdma_operation_register(m->ep, &attr, ops[i].id);
	}
	return ret ? ret : bgdma_endpoint_commit(m->ep, NULL);
}

/* Leave together: nobody's last messages meet a closed door. */
static inline int member_close(struct member *m)
{
	int ret = bgdma_job_fence(m->job);

	member_leave(m);
	return ret;
}

/* Make progress until something holds; 0, or -ETIMEDOUT after a long time. */
static inline int member_until(struct member *m, bool (*holds)(void *arg),
			       void *arg)
{
	return bgdma_endpoint_wait_until(m->ep, holds, arg,
					 BGDMA_SPIN_THEN_SLEEP,
					 (int64_t)PATIENCE_NS);
}

/* A number that a callback moves, and how far it has to get. */
struct count {
	uint64_t is, wanted;
};

static inline bool count_there(void *arg)
{
	const struct count *c = arg;

	return c->is >= c->wanted;
}

/* The next of a row of numbers that look random and are the same each time. */
static inline uint32_t number_next(uint64_t *state)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(*state >> 33);
}

#endif /* BGDMA_SELFTESTS_SYS_UTIL_H */
