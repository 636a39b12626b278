// SPDX-License-Identifier: GPL-2.0
/*
 * The job when something fails: the nth allocation or system call of its life fails,
 * for every n, in each of some ways. It is told, and nothing stays behind. By variables
 * and a folder, and by PMI-1, whose launcher has said all beforehand;
 * sys_job_pmix_test has the functions of PMIx fail.
 */
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>

#include "kselftest_harness.h"
#include "failing_memory.h"
#include "sys_job.h"

#define REAL(name)	((__typeof__(name) *)dlsym(RTLD_NEXT, #name))

FILE *fopen(const char *path, const char *mode)
{
	return fault() ? NULL : REAL(fopen)(path, mode);
}

/* Closed it is, as after a write that failed. */
int fclose(FILE *file)
{
	int ret = REAL(fclose)(file);

	return fault() ? EOF : ret;
}

int link(const char *from, const char *to)
{
	return fault() ? -1 : (int)syscall(SYS_link, from, to);
}

int access(const char *path, int how)
{
	return fault() ? -1 : (int)syscall(SYS_access, path, how);
}

int nanosleep(const struct timespec *time, struct timespec *left)
{
	return fault() ? -1 : (int)syscall(SYS_nanosleep, time, left);
}

ssize_t send(int fd, const void *p, size_t bytes, int flags)
{
	return fault() ? -1 : syscall(SYS_sendto, fd, p, bytes, flags, NULL, 0);
}

ssize_t recv(int fd, void *p, size_t bytes, int flags)
{
	return fault() ? -1 : syscall(SYS_recvfrom, fd, p, bytes, flags, NULL,
				      NULL);
}

int poll(struct pollfd *fds, nfds_t n, int timeout)
{
	return fault() ? -1 : (int)syscall(SYS_poll, fds, n, timeout);
}

/* ---- What there is in a life ------------------------------------------- */

/* Another process is rank 1: where there is one, it has put the same. */
static int live(unsigned int other)
{
	struct bgdma_job *job;
	char byte = 0;
	int ret;

	ret = bgdma_job_open(&job, &(struct bgdma_job_attr){
			.timeout_ms = 1000 * slowness() });
	if (ret)
		return ret;
	ret = bgdma_job_put(job, "key", "x", 1);
	if (!ret)
		ret = bgdma_job_fence(job);
	if (!ret)
		ret = bgdma_job_get(job, other, "key", &byte, 1);
	if (ret == 1)
		ret = byte == 'x' ? 0 : -EDOM;
	bgdma_job_close(job);
	return ret;
}

/* A life in which the @n-th call fails with @code; @kept: of memory by then. */
static int live_once(unsigned int other, unsigned int n, int code, long *kept)
{
	long before = allocated;
	int ret;

	fault_code = code;
	faults = 0;
	until_fault = n;
	ret = live(other);
	until_fault = 0;
	*kept = allocated - before;
	return ret;
}

FIXTURE(job) {
	char dir[32];
};

FIXTURE_VARIANT(job) {
	int code;
};

FIXTURE_VARIANT_ADD(job, no_memory) { .code = ENOMEM };
FIXTURE_VARIANT_ADD(job, no_files) { .code = EMFILE };
FIXTURE_VARIANT_ADD(job, nothing_now) { .code = EAGAIN };
FIXTURE_VARIANT_ADD(job, a_signal) { .code = EINTR };
FIXTURE_VARIANT_ADD(job, an_error) { .code = EIO };

FIXTURE_SETUP(job)
{
	forget();
	snprintf(self->dir, sizeof(self->dir), "/tmp/job.XXXXXX");
	ASSERT_NE(NULL, mkdtemp(self->dir));
}

FIXTURE_TEARDOWN(job)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", self->dir);
	EXPECT_EQ(0, system(command));
}

/* ---- A folder ---------------------------------------------------------- */

static const char *in_folder(const char *dir, const char *name)
{
	static char path[64];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

TEST_F(job, x3_folder)
{
	unsigned int n, told = 0;
	int ret, fd;
	long kept;

	setenv("BGDMA_JOB_DIR", self->dir, 1);
	set("BGDMA_SIZE", 2);
	set("BGDMA_RANK", 0);
	fd = open(in_folder(self->dir, "0.1"), O_WRONLY | O_CREAT, 0600);
	ASSERT_LE(0, fd);
	ASSERT_EQ(7, write(fd, "key 78\n", 7));
	close(fd);
	/* What stdio makes once for all. */
	ASSERT_EQ(0, live(1));
	for (n = 1; n < 1000; n++) {
		/* What is there has its name, as it is complete. */
		(void)unlink(in_folder(self->dir, "0.0"));
		fd = next_fd();
		ret = live_once(1, n, variant->code, &kept);
		EXPECT_EQ(0, kept) TH_LOG("%u", n);
		EXPECT_EQ(fd, next_fd()) TH_LOG("%u", n);
		EXPECT_EQ(-1, access(in_folder(self->dir, "0.0.new"), F_OK));
		if (!faults)
			break;
		EXPECT_TRUE(!ret || ret == -ENOMEM || ret == -variant->code)
			TH_LOG("%u: %d", n, ret);
		told += !!ret;
	}
	EXPECT_EQ(0, ret);
	EXPECT_LT(8, told);
}

/* ---- PMI-1 ------------------------------------------------------------- */

static void launcher_says(int *pair)
{
	static const char all[] =
		"cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n"
		"cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024\n"
		"cmd=my_kvsname kvsname=kvs_0\n"
		"cmd=put_result rc=0 msg=success\n"
		"cmd=barrier_out rc=0\n"
		"cmd=get_result rc=0 msg=success value=78\n"
		"cmd=finalize_ack rc=0\n";

	must(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	must(send(pair[1], all, sizeof(all) - 1, 0) == sizeof(all) - 1 ?
	     0 : -EIO);
	set("PMI_FD", (unsigned int)pair[0]);
}

TEST_F(job, x3_pmi1)
{
	unsigned int n, told = 0;
	int ret, pair[2], fd = next_fd();
	long kept;

	set("PMI_SIZE", 1);
	set("PMI_RANK", 0);
	for (n = 1; n < 1000; n++) {
		launcher_says(pair);
		ret = live_once(0, n, variant->code, &kept);
		EXPECT_EQ(0, kept) TH_LOG("%u", n);
		close(pair[1]);
		/* Where there was no job the socket is still its launcher's. */
		if (next_fd() == pair[1])
			close(pair[0]);
		EXPECT_EQ(fd, next_fd()) TH_LOG("%u", n);
		if (!faults)
			break;
		EXPECT_TRUE(!ret || ret == -ENOMEM || ret == -variant->code)
			TH_LOG("%u: %d", n, ret);
		/* It goes on after a signal. */
		EXPECT_NE(-EINTR, ret);
		told += !!ret;
	}
	EXPECT_EQ(0, ret);
	EXPECT_LT(variant->code == EINTR ? 2 : 8, told);
}

TEST_HARNESS_MAIN
