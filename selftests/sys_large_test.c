// SPDX-License-Identifier: GPL-2.0
/*
 * A message that is longer than any transfer (LC-1, LC-2): more than 1 GiB. That it
 * comes from takes next to no memory: the same pages again and again.
 */
#include <sys/mman.h>
#include <sys/resource.h>

#include "kselftest_harness.h"
#include "sys_module.h"

#define PERIOD	(257 * PAGE)		/* nothing that others are a multiple of */
#define TIMES	(BGDMA_LENGTH_MAX / PERIOD + 20)
#define ROOM	(TIMES * PERIOD)
#define BEGIN	777			/* on no boundary */
#define LENGTH	(ROOM - BEGIN - 333)

static uint8_t pattern[PERIOD];

static void pattern_make(void)
{
	uint64_t state = 1;
	size_t i;

	for (i = 0; i < PERIOD; i++)
		pattern[i] = (uint8_t)number_next(&state);
}

/* Memory with the pattern, TIMES times. */
static uint8_t *repeated(void)
{
	int fd = memfd_create("pattern", MFD_CLOEXEC);
	uint8_t *p;
	size_t i;

	if (fd < 0 || write(fd, pattern, PERIOD) != PERIOD)
		return NULL;
	p = mmap(NULL, ROOM, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (i = 0; p != MAP_FAILED && i < TIMES; i++) {
		if (mmap(p + i * PERIOD, PERIOD, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED)
			return NULL;
	}
	close(fd);
	return p == MAP_FAILED ? NULL : p;
}

static uint8_t *empty(void)
{
	uint8_t *p = mmap(NULL, ROOM, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	/* Of this much the faults are most of the work. */
	madvise(p, ROOM, MADV_HUGEPAGE);
	return p;
}

/* The pattern from @BEGIN on for @LENGTH bytes, and nothing round it. */
static bool is_there(const uint8_t *p)
{
	uint64_t at, n;

	for (at = BEGIN; at < BEGIN + LENGTH; at += n) {
		n = PERIOD - at % PERIOD;
		if (n > BEGIN + LENGTH - at)
			n = BEGIN + LENGTH - at;
		if (memcmp(p + at, pattern + at % PERIOD, n))
			return false;
	}
	return !p[BEGIN - 1] && !p[at];
}

static int large(uint32_t rank, uint32_t size, void *arg)
{
	static struct module module;
	uint8_t *mem = rank ? empty() : repeated();

	(void)size;
	(void)arg;
	require(mem);
	require_is(0, module_open(&module, (struct bgdma_endpoint_attr){ 0 }));
	if (rank == 0)
		require_is(0, announce(&module, (struct bgdma_rendezvous_attr){
				.dest = 1, .length = LENGTH, .data = mem + BEGIN,
				.portion = BGDMA_PORTION_WHOLE }));
	else
		require_is(0, take_next(&module, 0, (struct bgdma_accept_attr){
				.length = LENGTH, .data = mem + BEGIN }));
	require_is(0, until_count(&module, &module.ended, 1));
	require_is(0, module.last);
	require_is(LENGTH, module.bytes);
	require(!rank || is_there(mem));
	require_is(0, bgdma_job_fence(module.m.job));
	return module_close(&module);
}

/* What processes can have without anybody else losing theirs, in bytes. */
static uint64_t available(void)
{
	FILE *file = fopen("/proc/meminfo", "r");
	unsigned long long kib = 0;
	char line[128];

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "MemAvailable: %llu", &kib) == 1)
			break;
	}
	if (file)
		fclose(file);
	return kib * KIB;
}

/* Both may have it in their memory, and in no other's. */
static bool may_lock(void)
{
	struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };

	return !setrlimit(RLIMIT_MEMLOCK, &limit) ||
	       (!getrlimit(RLIMIT_MEMLOCK, &limit) &&
		limit.rlim_cur > 2 * ROOM);
}

TEST(lc1_lc2_longer_than_a_transfer)
{
	if (links_wanted())
		SKIP(return, "over links 1 GiB takes minutes");
	if (slowness() > 1)
		SKIP(return, "on a kernel that is slower 1 GiB takes minutes");
	if (available() < ROOM + 256 * MIB)
		SKIP(return, "needs 1.3 GiB of memory");
	if (!may_lock())
		SKIP(return, "may not lock 2.1 GiB of memory");
	pattern_make();
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, large, NULL, -1));
}

TEST_HARNESS_MAIN
