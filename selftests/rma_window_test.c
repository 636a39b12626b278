// SPDX-License-Identifier: GPL-2.0
/*
 * Windows: made together, of every sort of memory, and freed together.
 */
#include "kselftest_harness.h"
#include "rma_util.h"

static uint8_t memory[2 * WINDOW] PINNED;

/* ---- Sorts of memory --------------------------------------------------- */

/* Each puts its mark to the next, in units of that one's window. */
static int ring_of_puts(struct accessor *a, uint32_t unit)
{
	uint32_t next = (a->m.rank + 1) % a->m.size;
	uint32_t last = (a->m.rank + a->m.size - 1) % a->m.size;
	struct bgdma_access_attr attr = access_at(a, 0, 1000, 4);

	mark(a->local, 1000, a->m.rank);
	require_is(0, bgdma_window_fence(a->window, 0));
	require_is(0, bgdma_window_put(a->window, next, &attr));
	attr.at = WINDOW / unit;
	require_is(-ERANGE, bgdma_window_put(a->window, next, &attr));
	attr.at = UINT64_MAX / 2;
	require_is(-ERANGE, bgdma_window_put(a->window, next, &attr));
	require_is(0, meet(a));
	require(is_marked(a->own + 4 * unit, 1000, last));
	require_is(0, a->own[4 * unit - 1]);
	require_is(0, a->own[4 * unit + 1000]);
	return 0;
}

struct sort {
	bool user;
	uint32_t offset;
	uint32_t unit;
};

static int sorts(uint32_t rank, uint32_t size, void *arg)
{
	const struct sort *sort = arg;
	struct accessor a = { 0 };
	const struct bgdma_window_attr attr = {
		.addr = sort->user ? memory + sort->offset : NULL,
		.length = WINDOW, .unit = sort->unit,
	};

	(void)rank;
	require_is(0, accessor_open_as(&a, (struct bgdma_endpoint_attr){ 0 },
				       (struct bgdma_rma_attr){ 0 }, &attr));
	if (sort->user)
		require(a.own == memory + sort->offset);
	require_is(WINDOW, bgdma_window_length(a.window, 0));
	require_is(0, bgdma_window_length(a.window, size));
	if (ring_of_puts(&a, sort->unit ? sort->unit : 1))
		return 1;
	return accessor_close(&a);
}

TEST(window_of_every_sort_of_memory)
{
	struct sort sort[] = {
		{ .user = false }, { .user = true },
		{ .user = true, .offset = 12, .unit = 8 },
		{ .user = false, .unit = 24 },
	};
	unsigned int i;

	partition_new("4x1x1", "");
	for (i = 0; i < 4; i++)
		EXPECT_TRUE(job_run(i ? 4 : 1, sorts, &sort[i], -1));
}

/* Several at a time, of different lengths, one of them without memory. */
static int many(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_window *w[10];
	struct accessor a = { 0 };
	uint32_t i;

	(void)arg;
	require_is(0, accessor_start(&a, (struct bgdma_endpoint_attr){ 0 },
				     (struct bgdma_rma_attr){ 0 }));
	for (i = 0; i < 10; i++) {
		const struct bgdma_window_attr attr = {
			.length = rank ? (i + rank) * 100 : 0,
		};

		require_is(0, bgdma_window_create(a.rma, &attr, &w[i]));
	}
	for (i = 0; i < 10; i++) {
		const struct bgdma_access_attr put = access_at(&a, 0, 1, i);

		require_is(0, bgdma_window_length(w[i], 0));
		require_is(i * 100 + 100, bgdma_window_length(w[i], 1));
		require_is(0, bgdma_window_fence(w[i], 0));
		require_is(-ERANGE, bgdma_window_put(w[i], 0, &put));
		a.local[0] = (uint8_t)(rank + 1);
		require_is(0, bgdma_window_put(w[i], size - 1, &put));
		require_is(0, bgdma_window_fence(w[i], BGDMA_FENCE_LAST));
		require_is(-ENOLCK, bgdma_window_put(w[i], size - 1, &put));
	}
	for (i = 10; i--;)
		require_is(0, bgdma_window_free(w[i]));
	return member_close(&a.m);
}

TEST(window_many_at_a_time)
{
	partition_new("3x1x1", "");
	EXPECT_TRUE(job_run(3, many, NULL, -1));
}

/* ---- What is refused --------------------------------------------------- */

static int refused(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_rma_attr bad;
	struct bgdma_window_attr attr = { .length = WINDOW };
	struct bgdma_rma_epoch *e;
	struct accessor a = { 0 };
	struct bgdma_window *w;
	struct bgdma_rma *other;

	(void)size;
	(void)arg;
	require_is(0, member_open(&a.m, NULL));
	bad = (struct bgdma_rma_attr){ .entries = 17 };
	require_is(-EINVAL, bgdma_rma_create(&a.rma, a.m.ep, &bad));
	bad = (struct bgdma_rma_attr){ .channels = 9 };
	require_is(-EINVAL, bgdma_rma_create(&a.rma, a.m.ep, &bad));
	require_is(0, bgdma_rma_create(&a.rma, a.m.ep, NULL));
	require_is(-EEXIST, bgdma_rma_create(&other, a.m.ep, NULL));
	require_is(-ENOTCONN, bgdma_window_create(a.rma, &attr, &w));
	require_is(0, bgdma_endpoint_commit(a.m.ep, NULL));
	require_is(-EBUSY, bgdma_rma_create(&other, a.m.ep, NULL));

	/* One cannot: all hear of it. */
	if (rank == 1)
		attr.addr = (void *)4096;
	require_is(-EFAULT, bgdma_window_create(a.rma, &attr, &w));
	attr.addr = NULL;
	if (rank == 0)
		attr.trap = 7;
	require_is(-EINVAL, bgdma_window_create(a.rma, &attr, &w));
	attr.trap = BGDMA_TRAP_NOTHING;
	/* It is dynamic on all, or on none. */
	attr.dynamic = rank == 1;
	attr.length = rank == 1 ? 0 : WINDOW;
	require_is(-EINVAL, bgdma_window_create(a.rma, &attr, &w));
	attr.dynamic = false;
	attr.length = WINDOW;
	require_is(0, bgdma_window_create(a.rma, &attr, &a.window));

	require_is(-EINVAL, bgdma_epoch_begin(a.window, 2, 1, 0, &e));
	require_is(-EINVAL, bgdma_epoch_begin(a.window, 1, 0, 0, &e));
	require_is(-EINVAL, bgdma_epoch_begin(a.window, 1, 1, 8, &e));
	require_is(-EINVAL, bgdma_epoch_begin(a.window, 1,
					      BGDMA_EPOCH_RESERVED, 0, &e));
	require_is(-ENOLCK, bgdma_window_unlock(a.window, 1));
	require_is(-ENOLCK, bgdma_window_unlock_all(a.window));
	require_is(-ENOLCK, bgdma_window_complete(a.window));
	require_is(-ENOLCK, bgdma_window_wait(a.window));
	require_is(-EINVAL, bgdma_window_epoch(a.window, 2, &e));
	require_is(-ENOLCK, bgdma_window_epoch(a.window, 1, &e));
	require_is(-EINVAL, bgdma_window_fence(a.window, 2));
	require_is(-EINVAL, bgdma_window_attach(a.window, memory, 1));

	/* Not in an epoch. */
	require_is(0, bgdma_epoch_begin(a.window, 1 - rank, 5, 0, &e));
	require_is(-EBUSY, bgdma_window_free(a.window));
	require_is(0, bgdma_epoch_close(e));
	require_is(0, bgdma_window_free(a.window));
	require_is(0, bgdma_window_free(NULL));
	return member_close(&a.m);
}

TEST(window_what_is_refused)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, refused, NULL, -1));
}

/* ---- Memory that grows ------------------------------------------------- */

static int grows(uint32_t rank, uint32_t size, void *arg)
{
	const struct bgdma_window_attr attr = { .dynamic = true };
	struct bgdma_access_attr put;
	struct accessor a = { 0 };
	/* Of the fork: the same address in all processes. */
	uint64_t there = (uintptr_t)memory;

	(void)arg;
	(void)size;
	require_is(0, accessor_open_as(&a, (struct bgdma_endpoint_attr){ 0 },
				       (struct bgdma_rma_attr){ 0 }, &attr));
	put = access_at(&a, 0, 100, there);
	mark(a.local, 100, rank);
	require_is(0, bgdma_window_lock_all(a.window));
	require_is(-ERANGE, bgdma_window_put(a.window, 0, &put));
	require_is(0, bgdma_window_unlock_all(a.window));
	require_is(0, meet(&a));
	if (rank == 0) {
		require_is(0, bgdma_window_attach(a.window, memory, 4096));
		require_is(-EEXIST, bgdma_window_attach(a.window, memory + 100,
							8));
		require_is(0, bgdma_window_attach(a.window, memory + WINDOW,
						  WINDOW));
	}
	require_is(0, meet(&a));
	require_is(0, bgdma_window_lock(a.window, 0, BGDMA_EPOCH_EXCLUSIVE));
	put.at = there + rank * 100;
	require_is(0, bgdma_window_put(a.window, 0, &put));
	put.at = there + WINDOW + rank * 100;
	require_is(0, bgdma_window_put(a.window, 0, &put));
	put.at = there + 4096;
	require_is(-ERANGE, bgdma_window_put(a.window, 0, &put));
	require_is(0, bgdma_window_unlock(a.window, 0));
	require_is(0, meet(&a));
	if (rank == 0) {
		require(is_marked(memory + 100, 100, 1));
		require(is_marked(memory + WINDOW + 200, 100, 2));
		require_is(0, bgdma_window_detach(a.window, memory));
		require_is(-ENOENT, bgdma_window_detach(a.window, memory));
	}
	require_is(0, meet(&a));
	require_is(0, bgdma_window_lock(a.window, 0, 0));
	put.at = there;
	require_is(-ERANGE, bgdma_window_put(a.window, 0, &put));
	put.at = there + WINDOW;
	require_is(0, bgdma_window_get(a.window, 0, &put));
	require_is(0, bgdma_window_unlock(a.window, 0));
	require(is_marked(a.local, 100, 0));
	return accessor_close(&a);
}

TEST(window_that_grows)
{
	partition_new("3x1x1", "");
	EXPECT_TRUE(job_run(3, grows, NULL, -1));
}

/*
 * Synchronization that this module knows nothing of: who is told that memory was
 * attached can access it, and that it was attached elsewhere too.
 */
static int told_otherwise(uint32_t rank, uint32_t size, void *arg)
{
	const struct bgdma_window_attr attr = { .dynamic = true };
	uint64_t there = (uintptr_t)memory;
	struct bgdma_update_attr add = {
		.op = BGDMA_ATOMIC_ADD, .type = BGDMA_ATOMIC_U64, .count = 1,
		.operand = 1, .at = there,
	};
	uint32_t *turn = arg, i, last = 0;
	struct bgdma_rma_epoch *e;
	struct accessor a = { 0 };

	(void)size;
	require_is(0, accessor_open_as(&a, (struct bgdma_endpoint_attr){ 0 },
				       (struct bgdma_rma_attr){ 0 }, &attr));
	require_is(0, bgdma_epoch_begin(a.window, 0, rank + 1, 0, &e));
	require_is(0, meet(&a));
	for (i = 0; !rank && i < 100; i++) {
		if (i)
			require_is(0, bgdma_window_detach(a.window, memory));
		require_is(0, bgdma_window_attach(a.window, memory, 4096));
		store(turn, 3 * i + 1);
		require(until(load(turn) == 3 * i + 3));
	}
	while (rank && last < 300) {
		require(until(load(turn) % 3 == rank && load(turn) > last));
		last = load(turn);
		require_is(0, rank == 1 ? put(&a, e, 0, 8, there + 8) :
					  bgdma_epoch_update(e, &add));
		require_is(0, bgdma_epoch_flush(e));
		store(turn, last + 1);
		last = last / 3 == 99 ? 300 : last;
	}
	require_is(0, bgdma_epoch_close(e));
	require_is(0, meet(&a));
	require(rank || *(uint64_t *)(void *)memory == 100);
	require_is(0, a.troubles);
	return accessor_close(&a);
}

TEST(window_that_grows_whatever_tells_of_it)
{
	uint32_t *turn = shared(sizeof(*turn));

	partition_new("3x1x1", "");
	EXPECT_TRUE(job_run(3, told_otherwise, turn, -1));
}

/* ---- Large jobs -------------------------------------------------------- */

#define PROCESSES	500

static uint32_t counters_left(struct bgdma_ctx *ctx, unsigned int kind)
{
	struct bgdma_counter *counter;
	uint32_t n = 0;

	while (!bgdma_counter_alloc(ctx, kind, &counter))
		n++;
	return n;
}

/* A fence may have epochs at all processes: each has counters for them. */
static int crowded(uint32_t rank, uint32_t size, void *arg)
{
	struct member m;

	(void)arg;
	(void)rank;
	(void)size;
	variable("BGDMA_SIZE", PROCESSES);
	require_is(0, member_open(&m, NULL));
	require_is(PROCESSES, m.size);
	require(counters_left(bgdma_endpoint_ctx(m.ep), BGDMA_INJECTION) >=
		PROCESSES);
	require(counters_left(bgdma_endpoint_ctx(m.ep), BGDMA_RECEPTION) >=
		PROCESSES);
	return member_leave(&m);
}

TEST(ep7_counters_for_epochs_at_all_processes)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(1, crowded, NULL, -1));
}

/* ---- Two that lost each other --------------------------------------------- */

#define WINDOWS	4

/* Rank 0 breaks with rank 1. */
static int lose(const struct accessor *a)
{
	const struct bgdma_peer *peer = bgdma_endpoint_peer(a->m.ep, 1);
	const struct bgdma_record why = {
		.code = BGDMA_E_LINK_DOWN, .peer_rank = peer->node,
		.peer_ctx = peer->ctx,
	};

	require(a->m.rank || bgdma_endpoint_break(a->m.ep, &why));
	return 0;
}

/* The first two are told at once that a window cannot be, but are not far ahead. */
static int windows_in_vain(uint32_t rank, uint32_t size, void *arg)
{
	const struct bgdma_window_attr attr = { .length = WINDOW };
	struct bgdma_window *window;
	struct accessor a = { 0 };
	uint32_t *begun = arg;
	unsigned int i;

	(void)size;
	require_is(0, accessor_open(&a));
	require_is(0, meet(&a));
	require_is(0, lose(&a));
	if (rank == 2) {
		require(until(load(begun) == 2));
		/* Long enough that who does not wait is through. */
		usleep(300000 * slowness());
	} else {
		__atomic_fetch_add(begun, 1, __ATOMIC_ACQ_REL);
	}
	for (i = 0; i < WINDOWS; i++) {
		require_is(rank == 2 ? 0 : -EHOSTDOWN,
			   bgdma_window_create(a.rma, &attr, &window));
		if (rank == 2)
			require_is(-EHOSTDOWN, bgdma_window_free(window));
	}
	return accessor_leave(&a);
}

TEST(x3_who_cannot_have_a_window_waits_for_those_who_can)
{
	partition_new("3x1x1", "");
	EXPECT_TRUE(job_run(3, windows_in_vain, shared(sizeof(uint32_t)), -1));
}

static void on_malformed(void *arg, const struct bgdma_trouble_info *info)
{
	uint32_t *malformed = arg;

	*malformed += info->trouble == BGDMA_TROUBLE_MALFORMED;
}

/* Of what one has who can have a window: the others have none. */
static int alone_with(struct bgdma_window *window)
{
	const uint32_t ranks[] = { 0, 1 };
	bool done = false;

	require_is(0, bgdma_window_post(window, ranks, 2));
	require_is(-EHOSTDOWN, bgdma_window_start(window, &ranks[1], 1));
	require_is(-EHOSTDOWN, bgdma_window_start(window, ranks, 2));
	require_is(-EHOSTDOWN, bgdma_window_wait(window));
	require_is(0, bgdma_window_post(window, ranks, 1));
	require_is(-EHOSTDOWN, bgdma_window_test(window, &done));
	require(done);
	return 0;
}

/* It waits for nobody of those who have it not, and does not trouble them. */
static int windows_of_one(uint32_t rank, uint32_t size, void *arg)
{
	const struct bgdma_window_attr attr = { .length = WINDOW };
	struct bgdma_window *window;
	struct accessor a = { 0 };
	uint32_t malformed = 0;
	unsigned int i;

	(void)size;
	(void)arg;
	require_is(0, accessor_open_as(&a, (struct bgdma_endpoint_attr){
			.trouble = on_malformed, .arg = &malformed },
			(struct bgdma_rma_attr){ 0 }, &attr));
	require_is(0, meet(&a));
	require_is(0, lose(&a));
	for (i = 0; i < WINDOWS; i++) {
		require_is(rank == 2 ? 0 : -EHOSTDOWN,
			   bgdma_window_create(a.rma, &attr, &window));
		if (rank == 2) {
			require_is(0, alone_with(window));
			require_is(-EHOSTDOWN, bgdma_window_free(window));
		}
	}
	require_is(0, malformed);
	return accessor_leave(&a);
}

TEST(x3_who_has_a_window_alone_waits_for_nobody)
{
	partition_new("3x1x1", "");
	EXPECT_TRUE(job_run(3, windows_of_one, NULL, -1));
}

TEST_HARNESS_MAIN
