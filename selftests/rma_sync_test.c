// SPDX-License-Identifier: GPL-2.0
/*
 * The epochs of MPI-3: locks, fences, and who lets whom.
 */
#include <pthread.h>

#include "kselftest_harness.h"
#include "rma_util.h"

#define BIG	(LOCAL / 2)

static int big_open(struct accessor *a)
{
	const struct bgdma_window_attr window = { .length = BIG };

	return accessor_open_as(a, (struct bgdma_endpoint_attr){ 0 },
				(struct bgdma_rma_attr){ 0 }, &window);
}

static struct bgdma_update_attr addition(uint64_t at, uint64_t operand)
{
	return (struct bgdma_update_attr){
		.op = BGDMA_ATOMIC_ADD, .type = BGDMA_ATOMIC_U64, .count = 1,
		.at = at, .operand = operand,
	};
}

/* Over links, where frames are lost, each takes longer. */
static uint32_t rounds(void)
{
	return links_used() ? 20 : 100;
}

/* ---- Locks ------------------------------------------------------------- */

/*
 * An unlock that comes before the accesses have: whoever gets the lock next
 * sees all of them. Every process writes all of a window, and what it reads is
 * all of one process.
 */
static int unlocked_early(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_access_attr attr;
	struct accessor a = { 0 };
	uint32_t i, k, who;

	(void)arg;
	require_is(0, big_open(&a));
	for (i = 0; i < 20; i++) {
		mark(a.local, BIG, rank);
		attr = access_at(&a, 0, BIG, 0);
		require_is(0, bgdma_window_lock(a.window, 0,
						BGDMA_EPOCH_EXCLUSIVE));
		require_is(0, bgdma_window_put(a.window, 0, &attr));
		require_is(0, bgdma_window_unlock(a.window, 0));
		attr.local.offset = BIG;
		require_is(0, bgdma_window_lock(a.window, 0, i % 2 ? 0 :
						BGDMA_EPOCH_EXCLUSIVE));
		require_is(0, bgdma_window_get(a.window, 0, &attr));
		require_is(0, bgdma_window_unlock(a.window, 0));
		who = size;
		for (k = 0; k < size; k++)
			if (a.local[BIG] == mark_of(k, 0))
				who = k;
		require(who < size);
		require(is_marked(a.local + BIG, BIG, who));
	}
	require_is(0, meet(&a));
	return accessor_close(&a);
}

TEST(ep6_unlock_before_all_has_come)
{
	partition_new("3x1x1", "");
	EXPECT_TRUE(job_run(3, unlocked_early, NULL, -1));
}

/*
 * When a close returns the limitation is lifted at the target, even if the FIFO
 * was full of what goes to another: rank 4 has the channel of rank 0. Who is told
 * of it begins an epoch at once, and is not refused.
 */
#define LIFTS	20

static int lift(struct accessor *a, uint32_t i, struct bgdma_rma_epoch **other)
{
	struct bgdma_access_attr attr = access_at(a, 0, lengthy(LOCAL / 2), 0);
	struct bgdma_rma_epoch *e;
	uint32_t k;

	require_is(0, bgdma_epoch_begin(a->window, 4, 9, 0, other));
	if (i % 2)
		require_is(0, bgdma_window_lock(a->window, 0,
						BGDMA_EPOCH_EXCLUSIVE));
	else
		require_is(0, bgdma_epoch_begin(a->window, 0, 5,
						BGDMA_EPOCH_EXCLUSIVE, &e));
	for (k = 0; k < 40; k++)
		require_is(0, bgdma_epoch_put(*other, &attr));
	return i % 2 ? bgdma_window_unlock(a->window, 0) : bgdma_epoch_close(e);
}

static int lifted(uint32_t rank, uint32_t size, void *arg)
{
	const unsigned int alone = BGDMA_EPOCH_EXCLUSIVE | BGDMA_EPOCH_REFUSE;
	struct bgdma_rma_epoch *e, *other = NULL;
	struct accessor a = { 0 };
	uint32_t *turn = arg, i;

	(void)size;
	require_is(0, big_open(&a));
	require_is(0, meet(&a));
	for (i = 0; i < 2 * LIFTS; i++) {
		if (rank != 1 + i % 2)
			continue;
		require(until(load(turn) == i));
		if (rank == 1) {
			require_is(0, lift(&a, i / 2, &other));
		} else {
			require_is(0, bgdma_epoch_begin(a.window, 0, 6, alone,
							&e));
			require_is(0, bgdma_epoch_close(e));
		}
		store(turn, i + 1);
		if (rank == 1)
			require_is(0, bgdma_epoch_close(other));
	}
	require_is(0, meet(&a));
	return accessor_close(&a);
}

TEST(ep6_the_limitation_is_lifted_when_close_returns)
{
	uint32_t *turn = shared(sizeof(*turn));

	partition_new("5x1x1", "");
	EXPECT_TRUE(job_run(5, lifted, turn, -1));
}

static int locks(uint32_t rank, uint32_t size, void *arg)
{
	const struct bgdma_update_attr add = addition(0, 1);
	struct accessor a = { 0 };
	uint32_t i, target;

	(void)arg;
	require_is(0, accessor_open(&a));
	for (i = 0; i < 100; i++) {
		target = (rank + i) % size;
		require_is(0, bgdma_window_lock(a.window, target, i % 3 ? 0 :
						BGDMA_EPOCH_EXCLUSIVE));
		require_is(-EALREADY, bgdma_window_lock(a.window, target, 0));
		require_is(-EALREADY, bgdma_window_lock_all(a.window));
		require_is(-EALREADY, bgdma_window_fence(a.window, 0));
		require_is(0, bgdma_window_update(a.window, target, &add));
		require_is(0, bgdma_window_flush(a.window, target));
		require_is(0, bgdma_window_unlock(a.window, target));
		require_is(-ENOLCK, bgdma_window_unlock(a.window, target));
	}
	/* At several targets at a time, shared: exclusive ones could meet. */
	for (target = 0; target < size; target++)
		require_is(0, bgdma_window_lock(a.window, target, 0));
	for (target = 0; target < size; target++)
		require_is(0, bgdma_window_update(a.window, target, &add));
	require_is(0, bgdma_window_flush(a.window, BGDMA_FLUSH_ALL));
	for (target = 0; target < size; target++)
		require_is(0, bgdma_window_unlock(a.window, target));
	require_is(0, meet(&a));
	require_is(100 + size, *(uint64_t *)(void *)a.own);
	require_is(0, at_gate(&a, NULL));
	return accessor_close(&a);
}

TEST(lock_and_unlock)
{
	partition_new("4x1x1", "");
	EXPECT_TRUE(job_run(4, locks, NULL, -1));
	EXPECT_TRUE(job_run(1, locks, NULL, -1));
}

/* A lock in the epoch of a fence: what is not locked is not to be unlocked. */
static int locked_in_fence(uint32_t rank, uint32_t size, void *arg)
{
	const struct bgdma_update_attr add = addition(0, 1);
	uint32_t next = (rank + 1) % size, other = (rank + 2) % size;
	struct accessor a = { 0 };

	(void)arg;
	require_is(0, accessor_open(&a));
	require_is(0, bgdma_window_fence(a.window, 0));
	require_is(0, bgdma_window_update(a.window, next, &add));
	require_is(0, bgdma_window_lock(a.window, other, 0));
	require_is(0, bgdma_window_update(a.window, other, &add));
	require_is(-ENOLCK, bgdma_window_unlock(a.window, next));
	require_is(-EALREADY, bgdma_window_fence(a.window, 0));
	require_is(0, bgdma_window_unlock(a.window, other));
	require_is(-ENOLCK, bgdma_window_unlock(a.window, other));
	require_is(0, bgdma_window_update(a.window, next, &add));
	require_is(0, meet(&a));
	require_is(3, *(uint64_t *)(void *)a.own);
	return accessor_close(&a);
}

TEST(lock_in_the_epoch_of_a_fence)
{
	partition_new("3x1x1", "");
	EXPECT_TRUE(job_run(3, locked_in_fence, NULL, -1));
}

/* Who is refused gets -EBUSY, and can come again. */
static int refused(uint32_t rank, uint32_t size, void *arg)
{
	struct accessor a = { 0 };

	(void)arg;
	(void)size;
	require_is(0, accessor_open(&a));
	if (rank == 0)
		require_is(0, bgdma_window_lock(a.window, 0,
						BGDMA_EPOCH_EXCLUSIVE));
	require_is(0, bgdma_job_fence(a.m.job));
	if (rank == 1) {
		require_is(-EBUSY, bgdma_window_lock(a.window, 0,
						     BGDMA_EPOCH_REFUSE));
		require_is(-EBUSY, bgdma_window_lock(a.window, 0,
						     BGDMA_EPOCH_REFUSE));
	}
	require_is(0, bgdma_job_fence(a.m.job));
	if (rank == 0)
		require_is(0, bgdma_window_unlock(a.window, 0));
	require_is(0, meet(&a));
	if (rank == 1) {
		require_is(0, bgdma_window_lock(a.window, 0,
						BGDMA_EPOCH_REFUSE));
		require_is(0, bgdma_window_unlock(a.window, 0));
	}
	return accessor_close(&a);
}

TEST(lock_that_is_refused)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, refused, NULL, -1));
}

/*
 * One has as many epochs at a window as he may: the others find room all the same,
 * and are served in the order in which they came.
 */
static int first_comes(struct accessor *a, const uint32_t *stage, uint32_t *served)
{
	struct bgdma_rma_epoch *e[BGDMA_EPOCHS_EACH];
	uint32_t i;

	for (i = 0; i < BGDMA_EPOCHS_EACH; i++)
		require_is(0, bgdma_epoch_begin(a->window, 0, i + 1, 0, &e[i]));
	require(until(load(stage) == a->m.size));
	store(served, 1);
	for (i = 0; i < BGDMA_EPOCHS_EACH; i++)
		require_is(0, bgdma_epoch_close(e[i]));
	return 0;
}

static int crowded(uint32_t rank, uint32_t size, void *arg)
{
	uint32_t *stage = arg, *served = stage + 1;
	struct bgdma_rma_epoch *e;
	struct accessor a = { 0 };
	uint32_t i;

	require_is(0, accessor_open(&a));
	/* One after the other asks: the next when the one before is in line. */
	if (!rank) {
		for (i = 1; i < size; i++) {
			require(until(at_gate(&a, NULL) ==
				      (int)(BGDMA_EPOCHS_EACH + i - 1)));
			store(stage, i);
		}
		store(stage, size);
		require(until(!at_gate(&a, NULL)));
	} else if (rank == 1) {
		require_is(0, first_comes(&a, stage, served));
	} else {
		require(until(load(stage) == rank - 1));
		require_is(0, bgdma_epoch_begin(a.window, 0, 1,
						BGDMA_EPOCH_EXCLUSIVE, &e));
		require_is(rank - 1, load(served));
		store(served, rank);
		require_is(0, bgdma_epoch_close(e));
	}
	require_is(0, meet(&a));
	require_is(0, a.troubles);
	return accessor_close(&a);
}

TEST(ep1_each_has_a_place_at_the_gate)
{
	uint32_t *stage = shared(2 * sizeof(*stage));

	partition_new("5x1x1", "");
	EXPECT_TRUE(job_run(5, crowded, stage, -1));
}

/*
 * Shared epochs do not keep an exclusive one out for ever: who comes after it
 * waits behind it. Rank 0 has the window of rank 3, rank 1 wants it for itself.
 */
static int starving(uint32_t rank, uint32_t size, void *arg)
{
	uint32_t *stage = arg;
	struct bgdma_rma_epoch *e;
	struct accessor a = { 0 };
	struct bgdma_epoch at[3];

	(void)size;
	require_is(0, accessor_open(&a));
	if (rank == 0)
		require_is(0, bgdma_epoch_begin(a.window, 3, 1, 0, &e));
	require_is(0, meet(&a));
	if (rank == 3) {
		require(until(at_gate(&a, NULL) == 2));
		store(stage, 1);
		require(until(load(stage) == 2));
		/* Rank 2 is there; then rank 0 leaves. */
		require(until(at_gate(&a, NULL) == 3));
		require_is(3, bgdma_gate_epochs(bgdma_window_region(a.window),
						at, 3));
		require_is(BGDMA_EPOCH_OPEN, at[0].state);
		require_is(BGDMA_EPOCH_WAITING, at[1].state);
		require_is(BGDMA_EPOCH_WAITING, at[2].state);
		require(at[1].exclusive && !at[2].exclusive);
		store(stage, 3);
	} else if (rank == 0) {
		require(until(load(stage) == 3));
		require_is(0, bgdma_epoch_close(e));
	} else if (rank == 1) {
		require_is(0, bgdma_epoch_begin(a.window, 3, 1,
						BGDMA_EPOCH_EXCLUSIVE, &e));
		store(stage, 4);
		require_is(0, bgdma_epoch_close(e));
	} else {
		require(until(load(stage) == 1));
		require_is(-EBUSY, bgdma_epoch_begin(a.window, 3, 1,
						     BGDMA_EPOCH_REFUSE, &e));
		store(stage, 2);
		require_is(0, bgdma_epoch_begin(a.window, 3, 1, 0, &e));
		require_is(4, load(stage));
		require_is(0, bgdma_epoch_close(e));
	}
	require_is(0, meet(&a));
	return accessor_close(&a);
}

TEST(ep1_an_exclusive_epoch_does_not_starve)
{
	uint32_t *stage = shared(sizeof(*stage));

	partition_new("4x1x1", "");
	EXPECT_TRUE(job_run(4, starving, stage, -1));
}

static int lock_all(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_update_attr add = addition(0, 1);
	struct bgdma_rma_epoch *e;
	struct accessor a = { 0 };
	uint32_t i, k;

	(void)arg;
	require_is(0, accessor_open(&a));
	for (k = 0; k < 20; k++) {
		require_is(0, bgdma_window_lock_all(a.window));
		require_is(-EALREADY, bgdma_window_lock_all(a.window));
		require_is(-EALREADY, bgdma_window_lock(a.window, 0, 0));
		for (i = 0; i < size; i++) {
			add.at = rank * 8;
			require_is(0, bgdma_window_update(a.window, i, &add));
			require_is(0, bgdma_window_epoch(a.window, i, &e));
		}
		require_is(0, bgdma_window_flush_local(a.window, BGDMA_FLUSH_ALL));
		require_is(0, bgdma_window_unlock_all(a.window));
		require_is(-ENOLCK, bgdma_window_unlock_all(a.window));
	}
	require_is(0, meet(&a));
	for (i = 0; i < size; i++)
		require_is(20, ((uint64_t *)(void *)a.own)[i]);
	return accessor_close(&a);
}

TEST(lock_all_and_unlock_all)
{
	partition_new("4x1x1", "");
	EXPECT_TRUE(job_run(4, lock_all, NULL, -1));
}

struct locker {
	struct bgdma_window *window;
	int ret;
};

static void *lock_one(void *arg)
{
	struct locker *l = arg;

	l->ret = bgdma_window_lock(l->window, 1, 0);
	return NULL;
}

/* Another thread waits for a lock: nothing begins on top of it. */
static int none_beside(struct accessor *a, uint32_t *stage)
{
	struct locker l = { .window = a->window };
	pthread_t thread;

	must(-pthread_create(&thread, NULL, lock_one, &l));
	require(until(load(stage) == 2));
	require_is(-EALREADY, bgdma_window_lock_all(a->window));
	require_is(-EALREADY, bgdma_window_start(a->window, NULL, 0));
	require_is(-EALREADY, bgdma_window_fence(a->window, 0));
	require_is(-EALREADY, bgdma_window_lock(a->window, 1, 0));
	require_is(-ENOLCK, bgdma_window_unlock(a->window, 1));
	store(stage, 3);
	pthread_join(thread, NULL);
	require_is(0, l.ret);
	require_is(0, bgdma_window_unlock(a->window, 1));
	require_is(0, bgdma_window_lock_all(a->window));
	require_is(0, bgdma_window_unlock_all(a->window));
	return 0;
}

/* Rank 2 has what a thread of rank 0 waits for, as rank 1 sees. */
static int lock_waited_for(uint32_t rank, uint32_t size, void *arg)
{
	const struct bgdma_endpoint_attr ep = { .threads = BGDMA_THREADS_MANY };
	const struct bgdma_window_attr window = { .length = WINDOW };
	struct accessor a = { 0 };
	uint32_t *stage = arg;

	(void)size;
	require_is(0, accessor_open_as(&a, ep, (struct bgdma_rma_attr){ 0 },
				       &window));
	if (rank == 2) {
		require_is(0, bgdma_window_lock(a.window, 1,
						BGDMA_EPOCH_EXCLUSIVE));
		store(stage, 1);
		require(until(load(stage) == 3));
		require_is(0, bgdma_window_unlock(a.window, 1));
	} else if (rank == 1) {
		require(until(at_gate(&a, NULL) == 2));
		store(stage, 2);
	} else {
		require(until(load(stage) == 1));
		require_is(0, none_beside(&a, stage));
	}
	require_is(0, meet(&a));
	return accessor_close(&a);
}

TEST(lock_that_is_waited_for_keeps_others_out)
{
	uint32_t *stage = shared(sizeof(*stage));

	partition_new("3x1x1", "");
	EXPECT_TRUE(job_run(3, lock_waited_for, stage, -1));
}

/* ---- Fences ------------------------------------------------------------ */

/* Everything to everybody, again and again; each round sees only its own. */
static int fences(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_access_attr attr;
	struct accessor a = { 0 };
	uint32_t i, k;

	(void)arg;
	require_is(0, accessor_open(&a));
	require_is(0, bgdma_window_fence(a.window, 0));
	for (k = 0; k < rounds(); k++) {
		mark(a.local, 500, rank + k);
		for (i = 0; i < size; i++) {
			attr = access_at(&a, 0, 500, rank * 500);
			require_is(0, bgdma_window_put(a.window, i, &attr));
		}
		require_is(0, bgdma_window_fence(a.window, 0));
		for (i = 0; i < size; i++)
			require(is_marked(a.own + i * 500, 500, i + k));
		for (i = 0; i < size; i++) {
			attr = access_at(&a, 1000 + i * 500, 500, rank * 500);
			require_is(0, bgdma_window_get(a.window, i, &attr));
		}
		require_is(0, bgdma_window_fence(a.window, k == rounds() - 1 ?
						 BGDMA_FENCE_LAST : 0));
		for (i = 0; i < size; i++)
			require(is_marked(a.local + 1000 + i * 500, 500,
					  rank + k));
	}
	require_is(-ENOLCK, bgdma_window_put(a.window, 0, &attr));
	return accessor_close(&a);
}

TEST(fence)
{
	partition_new("5x1x1", "");
	EXPECT_TRUE(job_run(5, fences, NULL, -1));
	EXPECT_TRUE(job_run(2, fences, NULL, -1));
	EXPECT_TRUE(job_run(1, fences, NULL, -1));
}

/* ---- Post, start, complete, wait --------------------------------------- */

/* Each lets its neighbours in, and is let in by them. */
static int neighbours(uint32_t rank, uint32_t size, void *arg)
{
	uint32_t both[2] = { (rank + 1) % size, (rank + size - 1) % size };
	struct bgdma_access_attr attr;
	struct accessor a = { 0 };
	uint32_t k, i, polls = 0;
	bool done;

	(void)arg;
	require_is(0, accessor_open(&a));
	for (k = 0; k < rounds(); k++) {
		mark(a.local, 300, rank + k);
		require_is(0, bgdma_window_post(a.window, both, 2));
		require_is(-EALREADY, bgdma_window_post(a.window, both, 2));
		require_is(0, bgdma_window_start(a.window, both, 2));
		require_is(-EALREADY, bgdma_window_start(a.window, both, 2));
		require_is(-EALREADY, bgdma_window_lock(a.window, 0, 0));
		attr = access_at(&a, 0, 300, rank * 300);
		for (i = 0; i < 2; i++)
			require_is(0, bgdma_window_put(a.window, both[i],
						       &attr));
		if (size > 3)
			require_is(-ENOLCK, bgdma_window_put(a.window, rank,
							     &attr));
		require_is(0, bgdma_window_complete(a.window));
		if (k % 2) {
			require_is(0, bgdma_window_wait(a.window));
		} else {
			do {
				require_is(0, bgdma_window_test(a.window,
								&done));
				polls++;
			} while (!done);
		}
		for (i = 0; i < 2; i++)
			require(is_marked(a.own + both[i] * 300, 300,
					  both[i] + k));
	}
	require(polls >= rounds() / 2);
	require_is(-ENOLCK, bgdma_window_wait(a.window));
	require_is(0, bgdma_window_post(a.window, NULL, 0));
	require_is(-EALREADY, bgdma_window_post(a.window, NULL, 0));
	require_is(-EBUSY, bgdma_window_free(a.window));
	require_is(0, bgdma_window_wait(a.window));
	require_is(-ENOLCK, bgdma_window_wait(a.window));
	require_is(0, bgdma_window_start(a.window, NULL, 0));
	require_is(0, bgdma_window_complete(a.window));
	require_is(-EINVAL, bgdma_window_post(a.window, &size, 1));
	require_is(-EINVAL, bgdma_window_start(a.window, NULL, 1));
	both[1] = both[0];
	require_is(-EINVAL, bgdma_window_post(a.window, both, 2));
	require_is(-EINVAL, bgdma_window_start(a.window, both, 2));
	return accessor_close(&a);
}

TEST(post_start_complete_wait)
{
	partition_new("4x1x1", "");
	EXPECT_TRUE(job_run(4, neighbours, NULL, -1));
}

/* Two windows at a time do not see each other's epochs. */
static int two_windows(uint32_t rank, uint32_t size, void *arg)
{
	const struct bgdma_window_attr attr = { .length = 64 };
	const struct bgdma_update_attr add = addition(0, 1);
	struct bgdma_window *other;
	struct accessor a = { 0 };
	uint32_t i;

	(void)arg;
	require_is(0, accessor_open(&a));
	require_is(0, bgdma_window_create(a.rma, &attr, &other));
	require_is(0, bgdma_window_fence(other, 0));
	for (i = 0; i < 20; i++) {
		require_is(0, bgdma_window_lock(a.window, 0,
						BGDMA_EPOCH_EXCLUSIVE));
		require_is(0, bgdma_window_update(a.window, 0, &add));
		require_is(0, bgdma_window_update(other, 0, &add));
		require_is(0, bgdma_window_unlock(a.window, 0));
		require_is(0, bgdma_window_fence(other, 0));
	}
	if (rank == 0) {
		require_is(20 * size, *(uint64_t *)(void *)a.own);
		require_is(20 * size,
			   *(uint64_t *)bgdma_window_addr(other));
	}
	require_is(0, bgdma_window_free(other));
	return accessor_close(&a);
}

TEST(two_windows_at_a_time)
{
	partition_new("3x1x1", "");
	EXPECT_TRUE(job_run(3, two_windows, NULL, -1));
}

TEST_HARNESS_MAIN
