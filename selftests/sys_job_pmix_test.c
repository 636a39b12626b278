// SPDX-License-Identifier: GPL-2.0
/*
 * The job as PMIx tells of it: by a library of the tests' own, pmix_fake.c.
 */
#include "kselftest_harness.h"
#include "sys_job.h"

#if __has_include(<pmix.h>)

#include <dlfcn.h>

#include "pmix_fake.h"

/* What is loaded goes by its name from now on, wherever it lies. */
static struct pmix_fake *fake_load(unsigned int size)
{
	pthread_barrierattr_t barrier;
	pthread_mutexattr_t mutex;
	struct pmix_fake *fake;
	char path[4096];
	ssize_t n = must(readlink("/proc/self/exe", path, 4000));
	void *library;

	while (n && path[n - 1] != '/')
		n--;
	strcpy(path + n, "pmix_fake.so");
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		fprintf(stderr, "# %s\n", dlerror());
	must(library ? 0 : -ENOENT);
	fake = dlsym(library, "pmix_fake");
	fake->space = shared(sizeof(*fake->space));
	fake->space->size = size;
	pthread_barrierattr_init(&barrier);
	pthread_barrierattr_setpshared(&barrier, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&fake->space->barrier, &barrier, size);
	pthread_mutexattr_init(&mutex);
	pthread_mutexattr_setpshared(&mutex, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&fake->space->lock, &mutex);
	return fake;
}

static void launcher_is(void)
{
	forget();
	setenv("PMIX_NAMESPACE", "test", 1);
	setenv("PMIX_RANK", "0", 1);
}

TEST(pmix_many)
{
	struct pmix_fake *fake = fake_load(RANKS);
	struct bgdma_job *job;
	pid_t pids[RANKS];

	launcher_is();
	for (fake->rank = 0; fake->rank < RANKS; fake->rank++)
		pids[fake->rank] = fork_member("pmix", fake->rank);
	EXPECT_TRUE(all_well(pids, RANKS));

	/* A rank beyond the job. */
	EXPECT_EQ(-EPROTO, open_as(&job, NULL));
	EXPECT_EQ(0, leaks());
}

TEST(pmix_without_its_library)
{
	struct bgdma_job *job;

	if (dlopen("libpmix.so.2", RTLD_LAZY | RTLD_LOCAL))
		SKIP(return, "libpmix is installed here: it cannot be missing");
	launcher_is();
	EXPECT_EQ(-ENOTSUP, open_as(&job, NULL));
	EXPECT_EQ(0, leaks());
}

/* One process of a job of one, from the open to the value that it has put. */
static int alone(struct pmix_fake *fake)
{
	unsigned char value[2 * BGDMA_JOB_VALUE_MAX];
	struct bgdma_job *job;
	int ret;

	fake->space->values = 0;
	ret = bgdma_job_open(&job, &(struct bgdma_job_attr){
			.timeout_ms = 1500 });
	if (ret)
		return ret;
	ret = bgdma_job_put(job, "key", "four", 4);
	if (!ret)
		ret = bgdma_job_fence(job);
	if (!ret)
		ret = bgdma_job_get(job, 0, "key", value, sizeof(value));
	if (!ret)
		ret = -ENODATA;
	/* What nobody has put is not waited for. */
	if (ret > 0 && bgdma_job_get(job, 0, "other", value, 1) != -ENOENT)
		ret = -ENOTUNIQ;
	bgdma_job_close(job);
	return ret;
}

TEST(pmix_errors)
{
	static const struct {
		const char *fails;
		pmix_status_t status;
		int result;
	} rows[] = {
		{ "init", PMIX_ERR_UNREACH, -EPIPE },
		{ "init", PMIX_ERR_INIT, -EPROTO },
		{ "size", PMIX_ERR_NOT_FOUND, -ENOENT },
		{ "put", PMIX_ERR_NOMEM, -ENOMEM },
		{ "commit", PMIX_ERR_LOST_CONNECTION, -EPIPE },
		{ "fence", PMIX_ERR_TIMEOUT, -ETIMEDOUT },
		{ "get", PMIX_ERR_NOT_FOUND, -ENOENT },
		{ "get", PMIX_ERROR, -EPROTO },
		{ "finalize", PMIX_ERROR, 4 },
	};
	struct pmix_fake *fake = fake_load(1);
	unsigned int i;

	launcher_is();
	EXPECT_EQ(4, alone(fake));
	/* Whole seconds, and not less than was said. */
	EXPECT_EQ(2, fake->timeout);
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		fake->fails = rows[i].fails;
		fake->status = rows[i].status;
		EXPECT_EQ(rows[i].result, alone(fake))
			TH_LOG("row %u", i);
	}
	EXPECT_EQ(0, leaks());
}

TEST(pmix_nonsense)
{
	struct pmix_fake *fake = fake_load(1);

	launcher_is();
	fake->size_type = PMIX_BOOL;
	EXPECT_EQ(-EPROTO, alone(fake));
	fake->size_type = PMIX_UINT32;
	fake->space->size = 0;
	EXPECT_EQ(-EPROTO, alone(fake));
	fake->space->size = 1;
	fake->value_type = PMIX_STRING;
	EXPECT_EQ(-EPROTO, alone(fake));
	fake->value_type = PMIX_BYTE_OBJECT;
	fake->bytes = 0;
	EXPECT_EQ(-EPROTO, alone(fake));
	fake->bytes = BGDMA_JOB_VALUE_MAX;
	EXPECT_EQ(BGDMA_JOB_VALUE_MAX, alone(fake));
	fake->bytes = BGDMA_JOB_VALUE_MAX + 1;
	EXPECT_EQ(-EPROTO, alone(fake));
	fake->bytes = 1L << 20;
	EXPECT_EQ(-EPROTO, alone(fake));
	EXPECT_EQ(0, leaks());
}

#else

TEST(pmix)
{
	SKIP(return, "it was built without PMIx's header");
}

#endif

TEST_HARNESS_MAIN
