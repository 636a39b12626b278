// SPDX-License-Identifier: GPL-2.0
/*
 * Time of a direct put of 1 MiB and of 4 MiB, against process_vm_readv and
 * against memcpy in user space, over the same memory, in turn.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "perf.h"

#define MIB	(1UL << 20)
#define REPEAT	4

static struct ends e;
static char *source, *target;
static size_t size;

static void put_and_wait(enum bgdma_wait_mode mode)
{
	bgdma_counter_clear_hit(e.arrived);
	bgdma_counter_add(e.arrived, (int64_t)size);
	must(bgdma_put(e.inj, &(struct bgdma_put_attr){
			.dest = 1, .dest_ctx = bgdma_ctx_info(e.to)->ctx,
			.length = size, .from = { e.source, 0 },
			.to = { bgdma_region_handle(e.target), 0 },
			.remote_counter = bgdma_counter_handle(e.arrived) }));
	must(bgdma_counter_wait(e.arrived, mode, -1));
}

/* The others cannot sleep: they copy themselves. */
static void put(void)
{
	put_and_wait(BGDMA_SPIN);
}

static void put_asleep(void)
{
	put_and_wait(BGDMA_SLEEP);
}

static void readv_process(void)
{
	struct iovec to = { target, size }, from = { source, size };

	if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) != (ssize_t)size)
		die("process_vm_readv", -errno);
}

static void copy(void)
{
	/* Through a pointer, so that the compiler sees no known size. */
	void *(*volatile f)(void *, const void *, size_t) = memcpy;

	f(target, source, size);
}

static void measure(const char *name, unsigned int pair, void (*fn)(void))
{
	uint64_t begin;
	char text[64];
	int i;

	memset(target, 0, size);
	fn();
	begin = now_ns();
	for (i = 0; i < REPEAT; i++)
		fn();
	snprintf(text, sizeof(text), "%s %zu MiB", name, size / MIB);
	report_ns(text, pair, now_ns() - begin, REPEAT);
	if (memcmp(source, target, size))
		die(name, -EBADMSG);
}

static void of_size(size_t bytes)
{
	unsigned int pair;
	size_t i;

	size = bytes;
	for (pair = 0; pair < runs(PAIRS); pair++) {
		ends_open(&e);
		source = small_pages(size);
		target = small_pages(size);
		for (i = 0; i < size; i++)
			source[i] = (char)(i * 7 + i / 4096);
		ends_memory(&e, source, target, size);
		measure("put", pair, put);
		measure("put, asleep", pair, put_asleep);
		measure("process_vm_readv", pair, readv_process);
		measure("memcpy", pair, copy);
		ends_close(&e);
		munmap(source, size);
		munmap(target, size);
	}
}

void bandwidth(void)
{
	of_size(MIB);
	of_size(4 * MIB);
}
