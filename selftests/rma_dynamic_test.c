// SPDX-License-Identifier: GPL-2.0
/*
 * Memory that is attached to windows, where something is in the way.
 */
#include "kselftest_harness.h"
#include "rma_util.h"
#include "sys_forge.h"

static uint8_t memory[2 * WINDOW] PINNED;

static const struct bgdma_window_attr dynamic = { .dynamic = true };

/* ---- Epochs of what is attached ------------------------------------------ */

/* Of a region at a process, without an epoch: what became of it. */
static uint32_t put_besides(struct accessor *a, uint32_t dest, uint32_t region)
{
	const struct bgdma_peer *at = bgdma_endpoint_peer(a->m.ep, dest);
	const struct bgdma_put_attr put = {
		.dest = at->node, .dest_ctx = at->ctx, .length = 8,
		.from = { a->region, 0 }, .to = { region, 0 },
	};
	const struct bgdma_inj_attr inj = { .entries = 64 };
	struct bgdma_record record = { 0 };
	struct bgdma_inj_fifo *fifo;

	require_is(0, bgdma_inj_create(bgdma_endpoint_ctx(a->m.ep), &inj,
				       &fifo));
	require_is(0, bgdma_put(fifo, &put));
	(void)bgdma_inj_wait(fifo, 1, BGDMA_SPIN_THEN_SLEEP, -1);
	(void)bgdma_inj_error(fifo, &record);
	require_is(0, bgdma_inj_destroy(fifo));
	return record.code;
}

/* Attach memory: the handle of its region, which the library keeps to itself. */
static uint32_t attach(struct accessor *a)
{
	struct bgdma_region *before;
	uint32_t handle;

	require_is(0, bgdma_region_alloc(bgdma_endpoint_ctx(a->m.ep), 4096,
					 LOCAL_RW, &before));
	handle = bgdma_region_handle(before);
	require_is(0, bgdma_window_attach(a->window, memory, WINDOW));
	/* They are given in a row. */
	return handle + 1;
}

/*
 * Rank 1 has the window of rank 0 for itself: the engine keeps rank 2 out of what is
 * attached, and counts there what rank 1 puts.
 */
static int behind_the_gate(uint32_t rank, uint32_t size, void *arg)
{
	uint32_t *region = arg, *stage = region + 1;
	uint64_t there = (uintptr_t)memory;
	struct bgdma_access_attr put;
	struct bgdma_rma_epoch *e;
	struct accessor a = { 0 };
	struct bgdma_epoch first;

	(void)size;
	require_is(0, accessor_open_as(&a, (struct bgdma_endpoint_attr){ 0 },
				       (struct bgdma_rma_attr){ 0 },
				       &dynamic));
	if (!rank)
		store(region, attach(&a));
	require_is(0, meet(&a));
	if (rank == 1) {
		put = access_at(&a, 0, 100, there);
		mark(a.local, 100, 1);
		require_is(0, bgdma_epoch_begin(a.window, 0, 1,
						BGDMA_EPOCH_EXCLUSIVE, &e));
		require_is(0, bgdma_epoch_put(e, &put));
		require_is(0, bgdma_epoch_flush(e));
		store(stage, 1);
		require(until(load(stage) == 3));
		require_is(0, bgdma_epoch_close(e));
	} else if (!rank) {
		require(until(load(stage) == 1));
		require_is(1, at_gate(&a, &first));
		require_is(1, first.got);
		store(stage, 2);
	} else {
		require(until(load(stage) == 2));
		require_is(BGDMA_E_EPOCH_HELD, put_besides(&a, 0,
							   load(region)));
		store(stage, 3);
	}
	require_is(0, meet(&a));
	require(rank || is_marked(memory, 100, 1));
	require_is(0, meet(&a));
	if (rank == 2)
		require_is(BGDMA_OK, put_besides(&a, 0, load(region)));
	require_is(0, meet(&a));
	return accessor_close(&a);
}

TEST(ep1_ep3_an_epoch_is_of_all_that_is_attached)
{
	uint32_t *stage = shared(2 * sizeof(*stage));

	partition_new("3x1x1", "");
	EXPECT_TRUE(job_run(3, behind_the_gate, stage, -1));
}

/* ---- More than there may be ----------------------------------------------- */

static uint64_t malformed(struct accessor *a)
{
	struct bgdma_endpoint_stats stats;

	(void)bgdma_endpoint_progress(a->m.ep, 64);
	bgdma_endpoint_stats(a->m.ep, &stats);
	return stats.trouble[BGDMA_TROUBLE_MALFORMED];
}

enum { ATTACH = 4 };	/* kind of packet */

/* Rank 1 says that it attaches, again and again: rank 0 keeps so many. */
static int crowding(uint32_t rank, uint32_t size, void *arg)
{
	__le32 data[6] = { 0, 0, 8, 0, 1, 0 };
	struct accessor a = { 0 };
	struct module module;
	struct forger f;
	uint32_t i, id;

	(void)arg;
	(void)size;
	require_is(0, accessor_open_as(&a, (struct bgdma_endpoint_attr){ 0 },
				       (struct bgdma_rma_attr){ 0 },
				       &dynamic));
	require_is(0, meet(&a));
	if (rank == 1) {
		module = (struct module){ .m = a.m };
		require_is(0, forger_open(&f, &module));
		id = forge_id("rma", "window");
		for (i = 0; i < BGDMA_ATTACHED_MAX + 3; i++) {
			data[0] = 4096 + 16 * i;
			require_is(0, forge(&f, 0, DATA_FIFO, id, ATTACH << 8,
					    data, sizeof(data)));
		}
	} else {
		require(until(malformed(&a) == 3));
	}
	require_is(0, bgdma_job_fence(a.m.job));
	return accessor_leave(&a);
}

TEST(x2_window_grows_so_far)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, crowding, NULL, -1));
}

/* ---- When the others are told ------------------------------------------- */

#define FILL		240	/* bytes of a packet that fills a FIFO */
#define FULL_NS		200000000LL

enum { TELLER, READER, VICTIM };

struct told {
	pid_t victim;
	uint32_t full, reads;
};

static int nothing(void *arg, uint32_t rank, const struct bgdma_packet *packet)
{
	(void)arg;
	(void)rank;
	(void)packet;
	return 0;
}

/* As accessor_open_as(), with an operation to fill the FIFOs of others by. */
static int filler_open(struct accessor *a, uint32_t *id)
{
	const struct bgdma_operation_attr fill = {
		.module = "m", .name = "fill", .packet = nothing,
	};

	require_is(0, member_open(&a->m, NULL));
	require_is(0, bgdma_rma_create(&a->rma, a->m.ep,
				       &(struct bgdma_rma_attr){ 0 }));
	require_is(0, bgdma_operation_register(a->m.ep, &fill, id));
	require_is(0, bgdma_endpoint_commit(a->m.ep, NULL));
	return bgdma_window_create(a->rma, &dynamic, &a->window);
}

/* Until a packet does not lie in the FIFO of who reads nothing. */
static int fill_up(struct accessor *a, uint32_t id)
{
	static const uint8_t data[FILL];
	struct bgdma_counter *counter;
	struct bgdma_send_attr send = {
		.operation = id, .dest = READER, .data = data, .length = FILL,
	};
	int ret;

	require_is(0, bgdma_counter_alloc(bgdma_endpoint_ctx(a->m.ep),
					  BGDMA_INJECTION, &counter));
	send.counter = counter;
	do {
		bgdma_counter_clear_hit(counter);
		bgdma_counter_add(counter, FILL);
		require_is(0, bgdma_endpoint_send(a->m.ep, &send));
		ret = bgdma_counter_wait(counter, BGDMA_SPIN_THEN_SLEEP,
					 FULL_NS);
	} while (!ret);
	require_is(-ETIMEDOUT, ret);
	return 0;
}

/*
 * One of the others is dead, which nobody knows of yet, and the other has no room:
 * who attaches waits for him, whatever becomes known meanwhile.
 */
static int telling(uint32_t rank, uint32_t size, void *arg)
{
	struct told *told = arg;
	struct accessor a = { 0 };
	uint32_t id;

	(void)size;
	require_is(0, filler_open(&a, &id));
	require_is(0, meet(&a));
	if (rank == VICTIM) {
		store(&told->victim, getpid());
		for (;;)
			pause();
	}
	if (rank == READER) {
		require(until(load(&told->full)));
		/* Long enough that who does not wait is through. */
		usleep(500000);
		store(&told->reads, 1);
		require(until(bgdma_endpoint_progress(a.m.ep, 64) < 0 ||
			      load(&told->reads) == 2));
		return accessor_leave(&a);
	}
	require_is(0, fill_up(&a, id));
	require(until(load(&told->victim)));
	require_is(0, kill(load(&told->victim), SIGKILL));
	store(&told->full, 1);
	require_is(0, bgdma_window_attach(a.window, memory, WINDOW));
	require_is(1, load(&told->reads));
	store(&told->reads, 2);
	return accessor_leave(&a);
}

TEST(x3_window_that_grows_when_one_has_died)
{
	struct told *told = shared(sizeof(*told));

	partition_new("3x1x1", "");
	EXPECT_TRUE(job_run(3, telling, told, VICTIM));
}

/* ---- What is detached in an epoch ------------------------------------------ */

#define UNDER_WAY	40

struct detaching {
	uint32_t stage;
	bool puts;
	bool two;			/* epochs */
	uint32_t length;		/* of their puts */
};

/* In an epoch of accesses that the engine has not looked at. */
static int detached_under(struct accessor *a, struct detaching *d)
{
	struct bgdma_access_attr attr = access_at(a, 0, 4096,
						  (uintptr_t)memory);
	uint32_t i;

	require_is(0, bgdma_window_lock(a->window, 1, BGDMA_EPOCH_EXCLUSIVE));
	attr.more = true;
	for (i = 0; i < UNDER_WAY; i++)
		require_is(0, d->puts ?
			   bgdma_window_put(a->window, 1, &attr) :
			   bgdma_window_get(a->window, 1, &attr));
	store(&d->stage, 1);
	require(until(load(&d->stage) == 2));
	require_is(-ERANGE, bgdma_window_put(a->window, 1, &attr));
	require(bgdma_window_unlock(a->window, 1) < 0);
	require_is(1, a->troubles);
	require_is(1, a->last.rank);
	require(a->last.origin);
	require(a->last.code == BGDMA_E_REGION ||
		a->last.code == BGDMA_E_STALE);
	return 0;
}

/* The same in two epochs, whose puts go in turn: each hears that some failed. */
static int detached_under_two(struct accessor *a, struct detaching *d)
{
	struct bgdma_access_attr attr = access_at(a, 0, d->length,
						  (uintptr_t)memory);
	struct bgdma_rma_epoch *e[2];
	uint32_t i;

	for (i = 0; i < 2; i++)
		require_is(0, bgdma_epoch_begin(a->window, 1, i + 1, 0, &e[i]));
	attr.more = true;
	for (i = 0; i < UNDER_WAY; i++)
		require_is(0, bgdma_epoch_put(e[i % 2], &attr));
	store(&d->stage, 1);
	require(until(load(&d->stage) == 2));
	for (i = 0; i < 2; i++)
		require(bgdma_epoch_flush(e[i]) < 0);
	for (i = 0; i < 2; i++)
		require(bgdma_epoch_close(e[i]) < 0);
	return 0;
}

/* The close fails; what is attached again can be accessed, and nobody hangs. */
static int detaching(uint32_t rank, uint32_t size, void *arg)
{
	struct detaching *d = arg;
	struct bgdma_access_attr attr;
	struct accessor a = { 0 };

	(void)size;
	require_is(0, accessor_open_as(&a, (struct bgdma_endpoint_attr){ 0 },
				       (struct bgdma_rma_attr){ 0 },
				       &dynamic));
	require_is(0, bgdma_window_attach(a.window, memory, WINDOW));
	require_is(0, meet(&a));
	if (rank == 1) {
		require(until(load(&d->stage) == 1));
		require_is(0, bgdma_window_detach(a.window, memory));
		store(&d->stage, 2);
	} else {
		require_is(0, d->two ? detached_under_two(&a, d) :
					detached_under(&a, d));
	}
	require_is(0, meet(&a));
	if (rank == 1)
		require_is(0, bgdma_window_attach(a.window, memory, WINDOW));
	require_is(0, bgdma_window_fence(a.window, 0));
	attr = access_at(&a, 0, 100, (uintptr_t)memory);
	mark(a.local, 100, rank);
	require_is(0, bgdma_window_put(a.window, !rank, &attr));
	require_is(0, meet(&a));
	require(is_marked(memory, 100, !rank));
	require_is(0, at_gate(&a, NULL));
	return accessor_close(&a);
}

TEST(x3_window_that_shrinks_in_an_epoch)
{
	struct detaching *d = shared(sizeof(*d));
	uint32_t length;

	/* Accesses of which more follow wait for a doorbell. */
	partition_new("2x1x1", "poll-ns 0");
	EXPECT_TRUE(job_run(2, detaching, d, -1));
	*d = (struct detaching){ .puts = true };
	EXPECT_TRUE(job_run(2, detaching, d, -1));
	for (length = 4096; length <= WINDOW; length *= 4) {
		*d = (struct detaching){ .two = true, .length = length };
		EXPECT_TRUE(job_run(2, detaching, d, -1));
	}
}

/* ---- Windows that some could not make -------------------------------------- */

enum { PART = 0, MADE = 1, GOES = 4, MAKERS = 6 };

struct makers {
	uint32_t left;			/* that are through */
	uint32_t making;		/* the one is about to make it */
	bool made;
};

/*
 * One tells nobody but rank 1 of its part, and dies: that one makes the window, if it
 * had begun to. In a barrier of so many the two have nothing to tell each other.
 */
static int partly(uint32_t rank, uint32_t size, void *arg)
{
	static const __le32 part[6] = { 0, 1, 1 };
	const struct bgdma_window_attr attr = { .length = 4096 };
	struct makers *makers = arg;
	struct bgdma_window *second;
	struct accessor a = { 0 };
	struct module module;
	struct forger f;
	int ret;

	require_is(0, accessor_open(&a));
	require_is(0, meet(&a));
	if (rank == GOES) {
		module = (struct module){ .m = a.m };
		require_is(0, forger_open(&f, &module));
		require(until(load(&makers->making)));
		usleep(100000);
		require_is(0, forge(&f, MADE, DATA_FIFO,
				    forge_id("rma", "window"),
				    1 << 16 | PART << 8, part, sizeof(part)));
		raise(SIGKILL);
	}
	if (rank == MADE)
		store(&makers->making, 1);
	ret = bgdma_window_create(a.rma, &attr, &second);
	if (rank == MADE && !ret) {
		makers->made = true;
		require_is(-EHOSTDOWN, bgdma_window_fence(second, 0));
		require_is(-EHOSTDOWN, bgdma_window_free(second));
	} else {
		require_is(-EHOSTDOWN, ret);
	}
	__atomic_fetch_add(&makers->left, 1, __ATOMIC_ACQ_REL);
	require(until(load(&makers->left) == size - 1));
	return accessor_leave(&a);
}

TEST(x3_window_that_is_made_by_some)
{
	struct makers *makers = shared(sizeof(*makers));
	unsigned int tries = 5;

	partition_new("6x1x1", "");
	do {
		memset(makers, 0, sizeof(*makers));
		ASSERT_TRUE(job_run(MAKERS, partly, makers, GOES));
	} while (!makers->made && --tries);
	if (!makers->made)
		SKIP(return, "rank 1 heard of the death before it made its window, five times");
}

/* Rank 1 asks for what this library does not know: nobody gets a window. */
static int misunderstood(uint32_t rank, uint32_t size, void *arg)
{
	struct {
		struct bgdma_window_attr attr;
		uint64_t news;
	} later = { .attr = { .length = 4096 }, .news = rank == 1 };
	struct bgdma_window *second;
	struct accessor a = { 0 };
	uint32_t *left = arg;
	int ret;

	require_is(0, accessor_open(&a));
	ret = bgdma_window_create_sized(a.rma, &later.attr, sizeof(later),
					&second);
	require(ret < 0);
	__atomic_fetch_add(left, 1, __ATOMIC_ACQ_REL);
	require(until(load(left) == size));
	require_is(0, meet(&a));
	return accessor_close(&a);
}

TEST(window_that_one_cannot_make)
{
	partition_new("3x1x1", "");
	EXPECT_TRUE(job_run(3, misunderstood, shared(sizeof(uint32_t)), -1));
}

TEST_HARNESS_MAIN
