// SPDX-License-Identifier: GPL-2.0
/*
 * A process of the job that forges packets of the rma module. It can spoil what it
 * has with others; what means nothing is counted (DP-9), and the others' windows and
 * epochs work on.
 */
#include "kselftest_harness.h"
#include "rma_util.h"
#include "sys_forge.h"

enum { VICTIM = 0, FORGER = 2, JOB = 3 };
enum { PART = 0, BARRIER = 1, POST = 2, COMPLETE = 3, ATTACH = 4 };

#define ROUND_BROKEN	0x80

struct forgery {
	unsigned int window, kind, detail;
	uint32_t length;
	__le32 data[8];			/* of a part: status, region, ... */
	bool allowed;
};

/* Of the data of a forgery; behind what it says are zeroes. */
#define LONGEST		2000

#define PART_OF(window_, status_)					\
	.window = (window_), .kind = PART, .length = 24, .data = { status_ }

static const struct forgery forgeries[] = {
	/* No such window, no such kind, of a length that none has. */
	{ .window = 77, .kind = POST },
	{ .window = 0xffffffff, .kind = COMPLETE },
	{ .kind = 6 },
	{ .kind = 255, .detail = 255 },
	{ .kind = PART, .length = 8 },
	{ .window = 2, .kind = PART, .length = LONGEST },
	{ .window = 2, .kind = POST },
	/* Of its part, told again; of a window that is not made yet. */
	{ PART_OF(0, 0) },
	{ PART_OF(0, 0xffffffff) },
	{ PART_OF(1, 4096) },
	{ PART_OF(1, 12), .allowed = true },
	{ PART_OF(1, 0) },
	{ PART_OF(2, 0) },
	/* Rounds that there are not, or that are another's to tell. */
	{ .kind = BARRIER, .detail = 2 },
	{ .kind = BARRIER, .detail = 31 },
	{ .kind = BARRIER, .detail = 127 | ROUND_BROKEN },
	/* Nothing can be attached to this window, or not so. */
	{ .kind = ATTACH },
	{ .kind = ATTACH, .length = 24, .data = { 4096, 0, 16, 0, 1 } },
	{ .kind = ATTACH, .length = 24, .data = { 0xfffff000, 0xffffffff,
						  0xffffffff, 0xffffffff, 1 } },
	/* Invitations and ends of its own that nobody has waited for. */
	{ .kind = POST, .allowed = true },
	{ .kind = COMPLETE, .allowed = true },
};

#define FORGERIES	(sizeof(forgeries) / sizeof(forgeries[0]))

/* Marks that nobody has sent, and one that is none. */
static int marks(struct forger *f)
{
	uint32_t id = forge_id("rma", "mark");

	require_is(0, forge(f, VICTIM, CONTROL_FIFO, id, 1, "", 0));
	require_is(0, forge(f, VICTIM, CONTROL_FIFO, id, BGDMA_WORD_MASK, "",
			    0));
	require_is(0, forge(f, VICTIM, CONTROL_FIFO, id, 0, "a mark", 6));
	return 3;
}

/* How many of them mean nothing. */
static uint64_t forge_all(struct accessor *a)
{
	struct module module = { .m = a->m };
	uint32_t id = forge_id("rma", "window"), i;
	const struct forgery *x;
	uint64_t malformed = 0;
	uint8_t data[LONGEST] = { 0 };
	struct forger f;

	require_is(0, forger_open(&f, &module));
	for (i = 0; i < FORGERIES; i++) {
		x = &forgeries[i];
		memcpy(data, x->data, sizeof(x->data));
		require_is(0, forge(&f, VICTIM, DATA_FIFO, id,
				    ((uint64_t)x->window << 16 |
				     x->kind << 8 | x->detail) & BGDMA_WORD_MASK,
				    data, x->length));
		malformed += !x->allowed;
	}
	return malformed + (uint64_t)marks(&f);
}

struct told {
	volatile uint64_t malformed;	/* + 1, when all are sent */
};

/* The other two use their windows, while the third forges. */
static int use(struct accessor *a, uint32_t rank)
{
	struct bgdma_rma_epoch *e;
	uint32_t i;

	for (i = 0; i < 50; i++) {
		mark(a->local, 500, i);
		require_is(0, bgdma_epoch_begin(a->window, !rank, 1 + rank,
						BGDMA_EPOCH_EXCLUSIVE, &e));
		require_is(0, put(a, e, 0, 500, 100));
		require_is(0, get(a, e, 1000, 500, 100));
		require_is(0, bgdma_epoch_close(e));
	}
	require(is_marked(a->local + 1000, 500, 49));
	return 0;
}

static bool all_counted(void *arg)
{
	struct accessor *a = ((void **)arg)[0];
	struct told *told = ((void **)arg)[1];
	struct bgdma_endpoint_stats stats;

	/* The last packet may come before the word how many there are. */
	bgdma_endpoint_progress(a->m.ep, 0);
	bgdma_endpoint_stats(a->m.ep, &stats);
	return told->malformed && stats.trouble[BGDMA_TROUBLE_MALFORMED] >=
				  told->malformed - 1;
}

static int forged(uint32_t rank, uint32_t size, void *arg)
{
	struct told *told = arg;
	struct accessor a = { 0 };
	void *look[] = { &a, told };
	struct bgdma_endpoint_stats stats;
	struct bgdma_window *second;
	int ret;

	(void)size;
	require_is(0, accessor_open(&a));
	if (rank == FORGER)
		told->malformed = 1 + forge_all(&a);
	else
		require_is(0, use(&a, rank));
	if (rank == VICTIM) {
		require(until(all_counted(look)));
		bgdma_endpoint_stats(a.m.ep, &stats);
		require_is(told->malformed - 1,
			   stats.trouble[BGDMA_TROUBLE_MALFORMED]);
	}
	require_is(0, bgdma_job_fence(a.m.job));
	/* Of this window the forger said that it had no memory for its part. */
	ret = bgdma_window_create(a.rma, &(struct bgdma_window_attr){
			.length = 4096 }, &second);
	require_is(rank == VICTIM ? -ENOMEM : 0, ret);
	require_is(0, bgdma_job_fence(a.m.job));
	/* And the first is as it was. */
	if (rank != FORGER)
		require_is(0, use(&a, rank));
	require_is(0, a.troubles);
	require_is(0, bgdma_job_fence(a.m.job));
	return member_leave(&a.m);
}

TEST(dp9_x2_forged_packets_of_windows)
{
	partition_new("3x1x1", "");
	EXPECT_TRUE(job_run(JOB, forged, shared(sizeof(struct told)), -1));
}

/* ---- A barrier that others are through ----------------------------------- */

#define CROWD	5
#define WAITER	2

/* What this process tells the waiter in a round of the barrier. */
static int round_forge(struct accessor *a, unsigned int detail)
{
	struct module module = { .m = a->m };
	struct forger f;

	require_is(0, forger_open(&f, &module));
	return forge(&f, WAITER, DATA_FIFO, forge_id("rma", "window"),
		     BARRIER << 8 | detail, "", 0);
}

/*
 * Somebody died before this barrier, of which the waiter hears in the round before the
 * last; but first in the last, of the next one.
 */
static int told_of_the_next_first(uint32_t rank, uint32_t size, void *arg)
{
	struct accessor a = { 0 };

	(void)size;
	(void)arg;
	require_is(0, accessor_open(&a));
	if (rank == 1)
		require_is(0, round_forge(&a, 0));
	if (rank == 3) {
		require_is(0, round_forge(&a, 2));
		require_is(0, round_forge(&a, 2 | ROUND_BROKEN));
	}
	require_is(0, bgdma_job_fence(a.m.job));
	if (rank == 0)
		require_is(0, round_forge(&a, 1 | ROUND_BROKEN));
	require_is(0, bgdma_job_fence(a.m.job));
	if (rank == WAITER)
		require_is(-EHOSTDOWN, meet(&a));
	require_is(0, bgdma_job_fence(a.m.job));
	return member_leave(&a.m);
}

TEST(x3_a_broken_barrier_whose_next_is_heard_of_first)
{
	partition_new("8x1x1", "");
	EXPECT_TRUE(job_run(CROWD, told_of_the_next_first, NULL, -1));
}

TEST_HARNESS_MAIN
