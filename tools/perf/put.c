// SPDX-License-Identifier: GPL-2.0
/*
 * Instructions of a direct put of 4 KiB, and of 1 MiB, all told: injection,
 * engine, and seeing at the target's counter that it is there.
 */
#include <errno.h>
#include <string.h>

#include "perf.h"

#define ROUNDS	1024
#define BYTES	4096
#define LONG	(1U << 20)

static struct ends e;
static char *source, *target;
static uint16_t to_ctx;		/* where e.target is: senders know */

static inline void put_one(unsigned int bytes, bool more)
{
	struct bgdma_put_attr attr = {
		.dest = 1,
		.dest_ctx = to_ctx,
		.length = bytes,
		.from = { e.source, 0 },
		.to = { bgdma_region_handle(e.target), 0 },
		.remote_counter = bgdma_counter_handle(e.arrived),
		.more = more,
	};

	must(bgdma_put(e.inj, &attr));
}

static inline void expect(int64_t bytes)
{
	bgdma_counter_clear_hit(e.arrived);
	bgdma_counter_add(e.arrived, bytes);
}

static inline void one_by_one(unsigned int n)
{
	while (n--) {
		expect(BYTES);
		put_one(BYTES, false);
		must(bgdma_counter_wait(e.arrived, BGDMA_SLEEP, -1));
	}
}

static inline void in_batches(unsigned int n)
{
	unsigned int i;

	for (; n; n -= BATCH) {
		expect(BATCH * BYTES);
		for (i = 1; i <= BATCH; i++)
			put_one(BYTES, i < BATCH);
		must(bgdma_counter_wait(e.arrived, BGDMA_SLEEP, -1));
	}
}

static inline void long_ones(unsigned int n)
{
	while (n--) {
		expect(LONG);
		put_one(LONG, false);
		must(bgdma_counter_wait(e.arrived, BGDMA_SLEEP, -1));
	}
}

void count_puts(void)
{
	ends_open(&e);
	to_ctx = bgdma_ctx_info(e.to)->ctx;
	source = small_pages(LONG);
	target = small_pages(LONG);
	memset(source, 0x5a, LONG);
	ends_memory(&e, source, target, LONG);
	count("4 KiB put, doorbell each", ROUNDS, one_by_one);
	count("4 KiB put, batches of 32", ROUNDS, in_batches);
	count("1 MiB put", 16, long_ones);
	if (memcmp(source, target, LONG))
		die("put", -EBADMSG);
	ends_close(&e);
}
