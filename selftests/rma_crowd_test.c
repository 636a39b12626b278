// SPDX-License-Identifier: GPL-2.0
/*
 * A job of more processes than an object has grants: its objects are open to the
 * partition, and it has epochs at all processes at a time (EP-7).
 */
#include "kselftest_harness.h"
#include "rma_util.h"

#define CROWD		(BGDMA_GRANTS_MAX + 2)
#define CROWD_MAX	512
#define BYTES		16U

/* Small: there are many of it. BGDMA_TEST_CROWD: so many. */
static uint32_t crowd(void)
{
	const char *text = getenv("BGDMA_TEST_CROWD");
	uint32_t n = text ? (uint32_t)strtoul(text, NULL, 10) : CROWD;

	return n > 1 && n <= CROWD_MAX ? n : CROWD;
}

/* Everything to everybody in one epoch at each, and back. */
static int fence_of_all(uint32_t rank, uint32_t size)
{
	const struct bgdma_window_attr window = { .length = CROWD_MAX * BYTES };
	const struct bgdma_endpoint_attr ep = {
		.data_bytes = 1 << 18, .copy_bytes = 1 << 16, .entries = 256,
		.channels = 1,
	};
	struct bgdma_access_attr attr;
	struct accessor a = { 0 };
	uint32_t i, sum = 0;

	require_is(0, accessor_open_as(&a, ep, (struct bgdma_rma_attr){ 0 },
				       &window));
	require_is(0, bgdma_window_fence(a.window, 0));
	mark(a.local, BYTES, rank);
	for (i = 0; i < size; i++) {
		attr = access_at(&a, 0, BYTES, rank * BYTES);
		require_is(0, bgdma_window_put(a.window, i, &attr));
	}
	require_is(0, bgdma_window_fence(a.window, 0));
	for (i = 0; i < size; i++)
		require(is_marked(a.own + i * BYTES, BYTES, i));
	for (i = 0; i < size; i++) {
		attr = access_at(&a, BYTES + i * BYTES, BYTES, rank * BYTES);
		require_is(0, bgdma_window_get(a.window, i, &attr));
	}
	require_is(0, bgdma_window_fence(a.window, BGDMA_FENCE_LAST));
	for (i = 0; i < size; i++)
		sum += is_marked(a.local + BYTES + i * BYTES, BYTES, rank);
	require_is(size, sum);
	require_is(0, a.troubles);
	return accessor_close(&a);
}

TEST(ep7_a_fence_with_epochs_at_more_processes_than_there_are_grants)
{
	char dir[] = "/tmp/job.XXXXXX", command[64];
	uint32_t i, n = crowd(), well = 0;
	pid_t pid[CROWD_MAX];
	int status;

	partition_new("16x16x2", "");
	must(mkdtemp(dir) ? 0 : -errno);
	must(setenv("BGDMA_JOB_DIR", dir, 1));
	must(setenv("BGDMA_PARTITION", PARTITION, 1));
	variable("BGDMA_SIZE", n);
	for (i = 0; i < n; i++) {
		pid[i] = must(fork());
		if (pid[i])
			continue;
		variable("BGDMA_RANK", i);
		_exit(fence_of_all(i, n));
	}
	for (i = 0; i < n; i++) {
		must(waitpid(pid[i], &status, 0));
		well += status == 0;
	}
	EXPECT_EQ(n, well);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	must(system(command));
}

TEST_HARNESS_MAIN
