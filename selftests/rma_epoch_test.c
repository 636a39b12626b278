// SPDX-License-Identifier: GPL-2.0
/*
 * Epochs: what SPEC's EP says of them, one rule after the other.
 */
#include <pthread.h>

#include "kselftest_harness.h"
#include "rma_util.h"

/* ---- EP-1: identifiers and limitations --------------------------------- */

static int identifiers(uint32_t rank, uint32_t size, void *arg)
{
	const struct bgdma_window_attr other = { .length = WINDOW };
	struct bgdma_rma_epoch *e, *f;
	struct bgdma_epoch_info info;
	struct bgdma_window *second;
	struct accessor a = { 0 };
	uint32_t i;

	(void)size;
	(void)arg;
	require_is(0, accessor_open(&a));
	/* The same identifier of another origin is another epoch. */
	require_is(0, bgdma_epoch_begin(a.window, 1, 7, 0, &e));
	require_is(-EEXIST, bgdma_epoch_begin(a.window, 1, 7, 0, &f));
	require_is(-EEXIST, bgdma_epoch_begin(a.window, 0, 7, 0, &f));
	/* And it is unique in the group, not only at one window. */
	require_is(0, bgdma_window_create(a.rma, &other, &second));
	require_is(-EEXIST, bgdma_epoch_begin(second, 1, 7, 0, &f));
	require_is(0, bgdma_epoch_begin(a.window, 1, 8, 0, &f));
	bgdma_epoch_info(f, &info);
	require_is(1, info.target);
	require_is(8, info.id);
	require_is(0, info.code);
	require_is(0, meet(&a));
	if (rank == 1)
		require_is(4, at_gate(&a, NULL));
	require_is(0, meet(&a));
	require_is(0, bgdma_epoch_close(e));
	require_is(0, bgdma_epoch_close(f));
	/* And again, at once. */
	for (i = 0; i < 100; i++) {
		require_is(0, bgdma_epoch_begin(a.window, 1, 7,
						BGDMA_EPOCH_EXCLUSIVE, &e));
		require_is(0, bgdma_epoch_close(e));
	}
	require_is(0, bgdma_epoch_begin(second, 1, 7, 0, &f));
	require_is(0, bgdma_epoch_close(f));
	require_is(0, bgdma_window_free(second));
	require_is(0, meet(&a));
	require_is(0, at_gate(&a, NULL));
	return accessor_close(&a);
}

TEST(ep1_identifiers)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, identifiers, NULL, -1));
}

static int too_many(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_rma_epoch *e[BGDMA_EPOCHS_EACH], *f;
	struct accessor a = { 0 };
	uint32_t i;

	(void)size;
	(void)arg;
	require_is(0, accessor_open(&a));
	if (rank == 0) {
		for (i = 0; i < BGDMA_EPOCHS_EACH; i++)
			require_is(0, bgdma_epoch_begin(a.window, 1, i + 1, 0,
							&e[i]));
		require_is(-EBUSY, bgdma_epoch_begin(a.window, 1, 99, 0, &f));
		require_is(1, a.troubles);
		require_is(BGDMA_E_EPOCH_BUSY, a.last.code);
		require_is(1, a.last.rank);
		require_is(99, a.last.epoch);
		for (i = 0; i < BGDMA_EPOCHS_EACH; i++)
			require_is(0, bgdma_epoch_close(e[i]));
		require_is(0, bgdma_epoch_begin(a.window, 1, 99, 0, &f));
		require_is(0, bgdma_epoch_close(f));
	}
	require_is(0, meet(&a));
	return accessor_close(&a);
}

TEST(ep1_more_than_a_gate_has_room_for)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, too_many, NULL, -1));
}

/* Rank 0 holds the window of rank 2, rank 1 would like to. */
static int limitation(uint32_t rank, uint32_t size, void *arg)
{
	const unsigned int exclusive = BGDMA_EPOCH_EXCLUSIVE;
	struct bgdma_rma_epoch *e;
	struct accessor a = { 0 };

	(void)size;
	(void)arg;
	require_is(0, accessor_open(&a));
	if (rank == 0)
		require_is(0, bgdma_epoch_begin(a.window, 2, 1, exclusive,
						&e));
	require_is(0, meet(&a));
	if (rank == 1) {
		require_is(-EBUSY, bgdma_epoch_begin(a.window, 2, 1,
					BGDMA_EPOCH_REFUSE, &e));
		require_is(BGDMA_E_EPOCH_HELD, a.last.code);
		require_is(-EBUSY, bgdma_epoch_begin(a.window, 2, 1,
					BGDMA_EPOCH_REFUSE | exclusive, &e));
	}
	/* The target's own loads and stores are not limited. */
	if (rank == 2)
		a.own[0] = 1;
	require_is(0, meet(&a));
	if (rank == 0)
		require_is(0, bgdma_epoch_close(e));
	/* Shared ones live together, and keep exclusive ones out. */
	require_is(0, bgdma_epoch_begin(a.window, 2, 2, 0, &e));
	require_is(0, meet(&a));
	if (rank == 1) {
		struct bgdma_rma_epoch *f;

		require_is(-EBUSY,
			   bgdma_epoch_begin(a.window, 2, 3,
					     BGDMA_EPOCH_REFUSE | exclusive,
					     &f));
		require_is(0, bgdma_epoch_begin(a.window, 2, 3,
						BGDMA_EPOCH_REFUSE, &f));
		require_is(0, bgdma_epoch_close(f));
	}
	require_is(0, meet(&a));
	require_is(0, bgdma_epoch_close(e));
	return accessor_close(&a);
}

TEST(ep1_exclusive_and_shared)
{
	partition_new("3x1x1", "");
	EXPECT_TRUE(job_run(3, limitation, NULL, -1));
}

#define REFUSALS	5000

/* A refusal, whenever it comes, is none that was not seen. */
static int refused(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_rma_epoch *e;
	struct accessor a = { 0 };
	uint32_t i;

	(void)size;
	(void)arg;
	require_is(0, accessor_open(&a));
	if (rank == 0)
		require_is(0, bgdma_epoch_begin(a.window, 2, 1,
						BGDMA_EPOCH_EXCLUSIVE, &e));
	require_is(0, meet(&a));
	for (i = 0; rank == 1 && i < REFUSALS; i++)
		require_is(-EBUSY, bgdma_epoch_begin(a.window, 2, 1,
						     BGDMA_EPOCH_REFUSE, &e));
	require_is(0, meet(&a));
	if (rank == 0)
		require_is(0, bgdma_epoch_close(e));
	return accessor_close(&a);
}

TEST(ep1_who_is_refused_is_never_let_in)
{
	partition_new("3x1x1", "");
	EXPECT_TRUE(job_run(3, refused, NULL, -1));
}

/*
 * All want the window of rank 0 for themselves, and count in it without
 * atomics: by get, add and put.
 */
static int mutual(uint32_t rank, uint32_t size, void *arg)
{
	const uint32_t rounds = *(const uint32_t *)arg;
	struct bgdma_rma_epoch *e;
	struct accessor a = { 0 };
	uint64_t *number;
	uint32_t i;

	require_is(0, accessor_open(&a));
	number = (uint64_t *)(void *)a.local;
	for (i = 0; i < rounds; i++) {
		require_is(0, bgdma_epoch_begin(a.window, 0, rank + 1,
						BGDMA_EPOCH_EXCLUSIVE, &e));
		require_is(0, get(&a, e, 0, 8, 64));
		require_is(0, bgdma_epoch_flush(e));
		++*number;
		require_is(0, put(&a, e, 0, 8, 64));
		require_is(0, bgdma_epoch_close(e));
	}
	require_is(0, meet(&a));
	if (rank == 0)
		require_is(size * rounds, *(uint64_t *)(void *)(a.own + 64));
	return accessor_close(&a);
}

TEST(ep1_no_two_exclusive_ones_at_a_time)
{
	uint32_t rounds = 100;

	partition_new("5x1x1", "");
	EXPECT_TRUE(job_run(5, mutual, &rounds, -1));
}

/* ---- EP-2, EP-3: the counters ------------------------------------------ */

static int counters(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_access_attr attr;
	struct bgdma_epoch_info info;
	struct bgdma_rma_epoch *e;
	struct bgdma_epoch at;
	struct accessor a = { 0 };
	uint32_t i;

	(void)size;
	(void)arg;
	require_is(0, accessor_open(&a));
	if (rank == 0) {
		require_is(0, bgdma_epoch_begin(a.window, 1, 3, 0, &e));
		bgdma_epoch_info(e, &info);
		require_is(0, info.puts);
		require_is(0, info.gets);
		/* Transfers, not bytes; and of no bytes, too. */
		require_is(0, put(&a, e, 0, 40000, 0));
		require_is(0, put(&a, e, 0, 8, 0));
		require_is(0, put(&a, e, 0, 0, 0));
		attr = access_at(&a, 0, 8, 0);
		attr.more = true;
		for (i = 0; i < 5; i++)
			require_is(0, bgdma_epoch_get(e, &attr));
		bgdma_epoch_info(e, &info);
		require_is(3, info.puts);
		require_is(5, info.gets);
		require_is(0, bgdma_epoch_flush(e));
		bgdma_epoch_info(e, &info);
		require_is(3, info.puts);
		require_is(0, info.gets);
	}
	require_is(0, meet(&a));
	if (rank == 1) {
		require_is(1, at_gate(&a, &at));
		require_is(3, at.epoch);
		require_is(3, at.got);
		require_is(0, at.put);
		require_is(BGDMA_EPOCH_OPEN, at.state);
	}
	require_is(0, meet(&a));
	if (rank == 0)
		require_is(0, bgdma_epoch_close(e));
	require_is(0, meet(&a));
	require_is(0, at_gate(&a, NULL));
	return accessor_close(&a);
}

TEST(ep2_ep3_counters)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, counters, NULL, -1));
}

/* ---- EP-4 to EP-6: the closing stage ----------------------------------- */

/* Every form of an access, each of which would move byte 60000 of ours or count. */
static int all_refused(struct accessor *a, struct bgdma_rma_epoch *e)
{
	const struct bgdma_access_attr attr = access_at(a, 60000, 1, 100);
	const struct bgdma_stride stride = { 1, 1, 1 };
	const struct bgdma_piece piece = { 0, 0, 1 }, word = { 0, 0, 8 };
	const struct bgdma_update_attr update = {
		.op = BGDMA_ATOMIC_ADD, .type = BGDMA_ATOMIC_U64, .count = 1,
		.operand = 1, .at = 104, .result = { a->region, 60000 },
	};
	struct bgdma_update_attr here = update;

	here.op = BGDMA_RMA_LOR;
	require_is(-ESHUTDOWN, bgdma_epoch_put(e, &attr));
	require_is(-ESHUTDOWN, bgdma_epoch_get(e, &attr));
	require_is(-ESHUTDOWN, bgdma_epoch_put_strided(e, &attr, &stride));
	require_is(-ESHUTDOWN, bgdma_epoch_get_strided(e, &attr, &stride));
	require_is(-ESHUTDOWN, bgdma_epoch_put_pieces(e, &attr, &piece, 1));
	require_is(-ESHUTDOWN, bgdma_epoch_get_pieces(e, &attr, &piece, 1));
	require_is(-ESHUTDOWN, bgdma_epoch_update(e, &update));
	require_is(-ESHUTDOWN, bgdma_epoch_update(e, &here));
	require_is(-ESHUTDOWN, bgdma_epoch_update_strided(e, &update,
							  &stride));
	require_is(-ESHUTDOWN, bgdma_epoch_update_pieces(e, &update, &word,
							 1));
	require_is(77, a->local[60000]);
	return 0;
}

static int closing(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_epoch_info info;
	struct bgdma_rma_epoch *e;
	struct accessor a = { 0 };
	uint32_t pending;

	(void)size;
	(void)arg;
	require_is(0, accessor_open(&a));
	a.own[100] = 9;
	require_is(0, meet(&a));
	for (pending = 0; rank == 0 && pending < 2; pending++) {
		struct bgdma_access_attr attr = access_at(&a, 0, 50000, 0);

		mark(a.local, 50000, 1 + pending);
		a.local[60000] = 77;
		require_is(0, bgdma_epoch_begin(a.window, 1, 4, 0, &e));
		attr.more = pending;
		require_is(0, bgdma_epoch_put(e, &attr));
		attr = access_at(&a, 70000, 50000, 0);
		attr.more = pending;
		require_is(0, bgdma_epoch_get(e, &attr));
		if (!pending)
			require_is(0, bgdma_epoch_flush(e));
		require_is(0, bgdma_epoch_closing(e));
		require_is(-EALREADY, bgdma_epoch_closing(e));
		require_is(0, all_refused(&a, e));
		bgdma_epoch_info(e, &info);
		require(info.closing);
		require_is(1, info.puts);
		/* One, as long as it is under way. */
		require(info.gets <= pending);
		require_is(0, bgdma_epoch_close(e));
		require(is_marked(a.local + 70000, 50000, 1 + pending));
	}
	require_is(0, meet(&a));
	if (rank == 1)
		require(is_marked(a.own, 50000, 2));
	return accessor_close(&a);
}

TEST(ep4_ep6_closing_with_transfers_pending_and_with_none)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, closing, NULL, -1));
}

/*
 * Threads add to a word while one closes the epoch: what was refused was not
 * added, all else was.
 */
#define THREADS	3

struct adder {
	struct bgdma_rma_epoch *e;
	uint64_t added;
	int result;
};

static void *add_until_refused(void *arg)
{
	struct adder *adder = arg;
	const struct bgdma_update_attr update = {
		.op = BGDMA_ATOMIC_ADD, .type = BGDMA_ATOMIC_U64, .count = 1,
		.operand = 1,
	};

	while (!(adder->result = bgdma_epoch_update(adder->e, &update)))
		adder->added++;
	return NULL;
}

static int open_for_threads(struct accessor *a)
{
	const struct bgdma_endpoint_attr ep = { .threads = BGDMA_THREADS_MANY };
	const struct bgdma_window_attr window = { .length = WINDOW };

	return accessor_open_as(a, ep, (struct bgdma_rma_attr){ 0 }, &window);
}

static int threads(uint32_t rank, uint32_t size, void *arg)
{
	struct adder adder[THREADS] = { { 0 } };
	struct accessor a = { 0 };
	pthread_t thread[THREADS];
	struct bgdma_rma_epoch *e;
	uint64_t sum = 0;
	unsigned int i, k;

	(void)size;
	(void)arg;
	require_is(0, open_for_threads(&a));
	for (k = 0; rank == 0 && k < 5; k++) {
		require_is(0, bgdma_epoch_begin(a.window, 1, 4, 0, &e));
		for (i = 0; i < THREADS; i++) {
			adder[i].e = e;
			require_is(0, pthread_create(&thread[i], NULL,
						     add_until_refused,
						     &adder[i]));
		}
		usleep(20000);
		require_is(0, bgdma_epoch_closing(e));
		for (i = 0; i < THREADS; i++) {
			pthread_join(thread[i], NULL);
			require_is(-ESHUTDOWN, adder[i].result);
		}
		require_is(0, bgdma_epoch_close(e));
	}
	for (i = 0; i < THREADS; i++)
		sum += adder[i].added;
	if (rank == 0) {
		require(sum);
		require_is(0, bgdma_epoch_begin(a.window, 1, 4, 0, &e));
		require_is(0, get(&a, e, 0, 8, 0));
		require_is(0, bgdma_epoch_close(e));
		require_is(sum, *(uint64_t *)(void *)a.local);
	}
	require_is(0, meet(&a));
	return accessor_close(&a);
}

TEST(ep4_threads_are_counted_or_refused)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, threads, NULL, -1));
}

struct closer {
	struct bgdma_rma_epoch *e;
	int result;
};

static void *closes(void *arg)
{
	struct closer *c = arg;

	c->result = bgdma_epoch_close(c->e);
	return NULL;
}

/* Of several threads that close an epoch one does; so of those that come later. */
static int close_by_many(uint32_t rank, uint32_t size, void *arg)
{
	struct closer c[THREADS];
	pthread_t thread[THREADS];
	struct bgdma_rma_epoch *e;
	struct accessor a = { 0 };
	unsigned int i, n, closed;

	(void)size;
	(void)arg;
	require_is(0, open_for_threads(&a));
	for (n = 0; rank == 0 && n < 50; n++) {
		require_is(0, bgdma_epoch_begin(a.window, 1, 1, 0, &e));
		for (i = 0; i < THREADS; i++) {
			c[i].e = e;
			require_is(0, pthread_create(&thread[i], NULL, closes,
						     &c[i]));
		}
		for (i = 0, closed = 0; i < THREADS; i++) {
			pthread_join(thread[i], NULL);
			require(!c[i].result || c[i].result == -EALREADY);
			closed += !c[i].result;
		}
		require_is(1, closed);
		require_is(-EALREADY, bgdma_epoch_close(e));
	}
	require_is(0, meet(&a));
	require(rank == 0 || !at_gate(&a, NULL));
	return accessor_close(&a);
}

TEST(ep6_one_thread_closes_an_epoch)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, close_by_many, NULL, -1));
}

/* A transfer that the engine refuses does not keep the close from ending. */
static int failed(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_region *foreign;
	struct bgdma_epoch_info info;
	struct bgdma_rma_epoch *e;
	struct accessor a = { 0 };
	struct bgdma_access_attr attr;
	uint32_t i;

	(void)size;
	(void)arg;
	require_is(0, accessor_open(&a));
	/* Our own engine may not read it, nor any other write it. */
	require_is(0, bgdma_region_alloc(bgdma_endpoint_ctx(a.m.ep), 4096,
					 BGDMA_LOCAL_WRITE, &foreign));
	for (i = 0; rank == 0 && i < 2; i++) {
		attr = access_at(&a, 0, 8, 0);
		require_is(0, bgdma_epoch_begin(a.window, 1, 6, 0, &e));
		require_is(0, bgdma_epoch_put(e, &attr));
		attr.local.region = foreign;
		attr.local.offset = 0;
		require_is(0, i ? bgdma_epoch_get(e, &attr) :
				  bgdma_epoch_put(e, &attr));
		require_is(-EACCES, bgdma_epoch_flush(e));
		require_is(0, put(&a, e, 0, 8, 8));
		bgdma_epoch_info(e, &info);
		require_is(BGDMA_E_RIGHTS, info.code);
		require_is(-EACCES, bgdma_epoch_close(e));
		require_is(i + 1, a.troubles);
		require_is(1, a.last.rank);
		require_is(6, a.last.epoch);
		require(a.last.origin);
	}
	require_is(0, meet(&a));
	require_is(0, at_gate(&a, NULL));
	require_is(0, bgdma_region_free(foreign));
	return accessor_close(&a);
}

TEST(ep6_after_a_transfer_that_failed)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, failed, NULL, -1));
}

/* ---- EP-7: many at once, and no core of the target --------------------- */

static int several(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_rma_epoch *e[RANKS_MAX];
	struct accessor a = { 0 };
	uint32_t i, k;

	(void)arg;
	require_is(0, accessor_open(&a));
	mark(a.local, 1000, rank);
	for (k = 0; k < 50; k++) {
		for (i = 0; i < size; i++)
			require_is(0, bgdma_epoch_begin(a.window, i, i + 1, 0,
							&e[i]));
		for (i = 0; i < size; i++)
			require_is(0, put(&a, e[i], 0, 1000, rank * 1000));
		for (i = 0; i < size; i++)
			require_is(0, get(&a, e[i], 2000 + i * 1000, 1000,
					  rank * 1000));
		for (i = size; i--;)
			require_is(0, bgdma_epoch_close(e[i]));
	}
	for (i = 0; i < size; i++)
		require(is_marked(a.local + 2000 + i * 1000, 1000, rank));
	require_is(0, meet(&a));
	for (i = 0; i < size; i++)
		require(is_marked(a.own + i * 1000, 1000, i));
	return accessor_close(&a);
}

TEST(ep7_many_epochs_and_targets)
{
	partition_new("2x2x1", "");
	EXPECT_TRUE(job_run(4, several, NULL, -1));
	EXPECT_TRUE(job_run(1, several, NULL, -1));
}

/* Of a word that is @before, to which 5 is added. */
static int stopped_update(struct accessor *a, struct bgdma_rma_epoch *e,
			  unsigned int op, uint64_t before)
{
	const struct bgdma_update_attr update = {
		.op = op, .type = BGDMA_ATOMIC_U64, .count = 1, .operand = 5,
		.at = 60000, .result = { a->region, 200000 },
	};

	require_is(0, bgdma_epoch_update(e, &update));
	require_is(0, bgdma_epoch_flush(e));
	require_is(before, *(uint64_t *)(void *)(a->local + 200000));
	return 0;
}

/* The target is stopped from before the epoch until after it. */
static int stopped(uint32_t rank, uint32_t size, void *arg)
{
	pid_t *pid = arg;
	struct bgdma_rma_epoch *e;
	struct accessor a = { 0 };
	int status;

	(void)size;
	require_is(0, accessor_open(&a));
	if (rank == 1)
		store(pid, getpid());
	require_is(0, meet(&a));
	if (rank == 0) {
		mark(a.local, 50000, 0);
		require_is(0, kill(load(pid), SIGSTOP));
		require_is(0, bgdma_epoch_begin(a.window, 1, 1,
						BGDMA_EPOCH_EXCLUSIVE, &e));
		require_is(0, put(&a, e, 0, 50000, 0));
		require_is(0, get(&a, e, 100000, 50000, 0));
		require_is(0, stopped_update(&a, e, BGDMA_ATOMIC_ADD, 0));
		/* Made here, of what is fetched there and compare and swap. */
		require_is(0, stopped_update(&a, e, BGDMA_RMA_LAND, 5));
		status = bgdma_epoch_close(e);
		require_is(0, kill(load(pid), SIGCONT));
		require_is(0, status);
		require(is_marked(a.local + 100000, 50000, 0));
	}
	require_is(0, meet(&a));
	if (rank == 1) {
		require(is_marked(a.own, 50000, 0));
		require_is(1, *(uint64_t *)(void *)(a.own + 60000));
	}
	return accessor_close(&a);
}

TEST(ep5_ep7_with_a_target_that_is_stopped)
{
	pid_t *pid = shared(sizeof(*pid));

	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, stopped, pid, -1));
}

TEST_HARNESS_MAIN
