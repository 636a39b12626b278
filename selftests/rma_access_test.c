// SPDX-License-Identifier: GPL-2.0
/*
 * Accesses to windows: puts and gets of every form, requests.
 */
#include <pthread.h>
#include <stdint.h>

#include "kselftest_harness.h"
#include "rma_util.h"

/* ---- Sizes ------------------------------------------------------------- */

static int sizes(uint32_t rank, uint32_t size, void *arg)
{
	static const uint32_t lengths[] = {
		0, 1, 7, 8, 24, 25, 4095, 4096, 4097, 30000,
	};
	struct bgdma_rma_epoch *e;
	struct accessor a = { 0 };
	uint32_t i, length, at;

	(void)arg;
	if (opened(&a, &e))
		return 1;
	for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		length = lengths[i];
		at = rank * 31000 + 3;
		mark(a.local, length + 1, i);
		memset(a.local + 40000, 0xee, length + 1);
		require_is(0, put(&a, e, 0, length, at));
		require_is(0, bgdma_epoch_flush(e));
		require_is(0, get(&a, e, 40000, length, at));
		require_is(0, bgdma_epoch_flush(e));
		require(is_marked(a.local + 40000, length, i));
		require_is(0xee, a.local[40000 + length]);
	}
	require_is(-ERANGE, put(&a, e, 0, 2, WINDOW - 1));
	require_is(-ERANGE, get(&a, e, 0, 2, WINDOW - 1));
	require_is(-ERANGE, put(&a, e, 0, UINT32_MAX / 8, UINT64_MAX - 8));
	require_is(-EMSGSIZE, put(&a, e, 0, BGDMA_LENGTH_MAX + 1ULL, 0));
	require_is(-EINVAL, bgdma_epoch_put(e, &(struct bgdma_access_attr){
			.length = 8 }));
	(void)size;
	return closed(&a, e);
}

TEST(access_of_every_size)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, sizes, NULL, -1));
	EXPECT_TRUE(job_run(1, sizes, NULL, -1));
}

/* ---- Forms ------------------------------------------------------------- */

#define BLOCKS	100

static int forms(uint32_t rank, uint32_t size, void *arg)
{
	const struct bgdma_stride out = { BLOCKS, 10, 32 };
	const struct bgdma_stride in = { BLOCKS, 20, 32 };
	struct bgdma_piece piece[BLOCKS];
	struct bgdma_access_attr attr;
	struct bgdma_epoch_info info;
	struct bgdma_rma_epoch *e;
	struct accessor a = { 0 };
	uint32_t i;

	(void)arg;
	if (opened(&a, &e))
		return 1;
	mark(a.local, BLOCKS * 10, rank);
	attr = access_at(&a, 0, 10, rank * 10);
	require_is(0, bgdma_epoch_put_strided(e, &attr, &out));
	bgdma_epoch_info(e, &info);
	require_is(BLOCKS, info.puts);
	require_is(0, bgdma_epoch_flush(e));
	attr.local.offset = 4000;
	require_is(0, bgdma_epoch_get_strided(e, &attr, &in));
	require_is(0, bgdma_epoch_flush(e));
	for (i = 0; i < BLOCKS; i++) {
		require_is(0, memcmp(a.local + i * 10, a.local + 4000 + i * 20,
				     10));
		/* Backwards, pieces of other lengths. */
		piece[i] = (struct bgdma_piece){
			.local = (BLOCKS - 1 - i) * 10,
			.at = (BLOCKS - 1 - i) * 32, .length = i % 11,
		};
		if (piece[i].length > 10)
			piece[i].length = 10;
	}
	attr.local.offset = 10000;
	require_is(0, bgdma_epoch_get_pieces(e, &attr, piece, BLOCKS));
	require_is(0, bgdma_epoch_flush(e));
	for (i = 0; i < BLOCKS; i++)
		require_is(0, memcmp(a.local + piece[i].local,
				     a.local + 10000 + piece[i].local,
				     piece[i].length));
	require_is(0, bgdma_epoch_put_pieces(e, &attr, piece, BLOCKS));
	require_is(0, bgdma_epoch_flush(e));
	bgdma_epoch_info(e, &info);
	require_is(2 * BLOCKS, info.puts);

	/* All or nothing, if one is outside. */
	piece[BLOCKS - 1].at = WINDOW;
	piece[BLOCKS - 1].length = 1;
	require_is(-ERANGE, bgdma_epoch_put_pieces(e, &attr, piece, BLOCKS));
	require_is(-ERANGE, bgdma_epoch_get_strided(e, &attr,
			&(struct bgdma_stride){ 3, 1, UINT64_MAX / 2 }));
	require_is(0, bgdma_epoch_put_pieces(e, &attr, NULL, 0));
	require_is(-EINVAL, bgdma_epoch_put_pieces(e, &attr, NULL, 1));
	bgdma_epoch_info(e, &info);
	require_is(2 * BLOCKS, info.puts);
	(void)size;
	return closed(&a, e);
}

TEST(access_strided_and_indexed)
{
	partition_new("3x1x1", "");
	EXPECT_TRUE(job_run(3, forms, NULL, -1));
}

/* ---- Requests ---------------------------------------------------------- */

static int requests(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_rma_request r[4] = { { 0 } };
	struct bgdma_update_attr u = {
		.op = BGDMA_ATOMIC_ADD, .type = BGDMA_ATOMIC_U64, .count = 1,
		.operand = 5, .request = &r[2],
	};
	struct bgdma_access_attr attr;
	struct bgdma_rma_epoch *e;
	struct accessor a = { 0 };
	uint32_t i;
	bool done;

	(void)arg;
	(void)size;
	if (opened(&a, &e))
		return 1;
	require_is(-EINVAL, bgdma_rma_wait(&r[0]));
	require_is(-EINVAL, bgdma_rma_test(&r[0], &done));
	u.at = rank * 16384;
	u.result = (struct bgdma_place){ a.region, 200000 };
	for (i = 0; i < 50; i++) {
		mark(a.local, 16000, i);
		attr = access_at(&a, 0, 16000, rank * 16384 + 8);
		attr.request = &r[0];
		attr.more = i % 2;
		require_is(0, bgdma_epoch_put(e, &attr));
		require_is(0, bgdma_rma_wait(&r[0]));
		require_is(0, bgdma_rma_test(&r[0], &done));
		require(done);
		attr.local.offset = 100000;
		attr.request = &r[1];
		require_is(0, bgdma_epoch_get(e, &attr));
		require_is(0, bgdma_epoch_update(e, &u));
		require_is(0, bgdma_rma_wait(&r[2]));
		require_is(5 * i, *(uint64_t *)(void *)(a.local + 200000));
		do {
			require_is(0, bgdma_rma_test(&r[1], &done));
		} while (!done);
		require(is_marked(a.local + 100000, 16000, i));
	}
	/* Those of an epoch that is over. */
	attr.request = &r[3];
	require_is(0, bgdma_epoch_get(e, &attr));
	require_is(0, bgdma_epoch_close(e));
	require_is(0, bgdma_rma_test(&r[3], &done));
	require(done);
	require_is(0, bgdma_epoch_begin(a.window, 1, 1, 0, &e));
	require_is(0, bgdma_rma_wait(&r[3]));
	return closed(&a, e);
}

TEST(access_requests)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, requests, NULL, -1));
}

/* One request of all blocks, or pieces: when it is complete all of them are. */
static int requests_of_forms(uint32_t rank, uint32_t size, void *arg)
{
	const struct bgdma_stride out = { BLOCKS, 40, 64 };
	const struct bgdma_stride in = { BLOCKS, 48, 64 };
	struct bgdma_piece piece[BLOCKS];
	struct bgdma_rma_request r;
	struct bgdma_access_attr attr;
	struct bgdma_rma_epoch *e;
	struct accessor a = { 0 };
	uint32_t i, k;

	(void)arg;
	(void)size;
	if (opened(&a, &e))
		return 1;
	for (i = 0; i < BLOCKS; i++)
		piece[i] = (struct bgdma_piece){ i * 40, i * 64, 40 };
	for (k = 0; k < 20; k++) {
		mark(a.local, BLOCKS * 40, k);
		attr = access_at(&a, 0, 40, rank * 16384);
		attr.request = &r;
		require_is(0, k % 2 ?
			   bgdma_epoch_put_strided(e, &attr, &out) :
			   bgdma_epoch_put_pieces(e, &attr, piece, BLOCKS));
		require_is(0, bgdma_rma_wait(&r));
		/* It is ours again. */
		memset(a.local, 0, BLOCKS * 40);
		attr.local.offset = 100000;
		require_is(0, bgdma_epoch_get_strided(e, &attr, &in));
		require_is(0, bgdma_rma_wait(&r));
		for (i = 0; i < BLOCKS; i++)
			memmove(a.local + i * 40, a.local + 100000 + i * 48,
				40);
		require(is_marked(a.local, BLOCKS * 40, k));
		memset(a.local + 100000, 0, BLOCKS * 48);
		require_is(0, bgdma_epoch_get_pieces(e, &attr, piece, BLOCKS));
		require_is(0, bgdma_rma_wait(&r));
		require(is_marked(a.local + 100000, BLOCKS * 40, k));
	}
	return closed(&a, e);
}

TEST(access_requests_of_blocks_and_pieces)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, requests_of_forms, NULL, -1));
}

/* The same of updates: what was there before has come. */
static int requests_of_updates(uint32_t rank, uint32_t size, void *arg)
{
	const struct bgdma_stride stride = { BLOCKS, 8, 64 };
	struct bgdma_piece piece[BLOCKS];
	struct bgdma_rma_request r;
	struct bgdma_update_attr u = {
		.op = BGDMA_ATOMIC_ADD, .type = BGDMA_ATOMIC_U64, .count = 1,
		.at = rank * 16384, .operand = 3, .request = &r,
	};
	struct bgdma_rma_epoch *e;
	struct accessor a = { 0 };
	uint64_t *before;
	uint32_t i, k;

	(void)arg;
	(void)size;
	if (opened(&a, &e))
		return 1;
	u.result = (struct bgdma_place){ a.region, 200000 };
	before = (uint64_t *)(void *)(a.local + 200000);
	for (i = 0; i < BLOCKS; i++)
		piece[i] = (struct bgdma_piece){ i * 8, i * 64, 8 };
	for (k = 0; k < 20; k++) {
		memset(before, 0xff, BLOCKS * 8);
		require_is(0, k % 2 ?
			   bgdma_epoch_update_strided(e, &u, &stride) :
			   bgdma_epoch_update_pieces(e, &u, piece, BLOCKS));
		require_is(0, bgdma_rma_wait(&r));
		for (i = 0; i < BLOCKS; i++)
			require_is(3 * k, before[i]);
	}
	return closed(&a, e);
}

TEST(access_requests_of_updates)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, requests_of_updates, NULL, -1));
}

#define PUMPS	3

struct waiter {
	struct bgdma_rma_epoch *e;
	struct bgdma_rma_request request;
	bool flush;
	int ret, done;
};

static void *wait_for_gets(void *arg)
{
	struct waiter *w = arg;

	w->ret = w->flush ? bgdma_epoch_flush(w->e) :
			    bgdma_rma_wait(&w->request);
	store(&w->done, 1);
	return NULL;
}

struct pump {
	const struct accessor *a;
	struct bgdma_rma_epoch *e;
	uint64_t length;
	uint32_t gets;
	int stop;
};

/* As fast as can be: some gets are under way all the time. */
static void *pump(void *arg)
{
	struct pump *p = arg;

	while (!load(&p->stop)) {
		must(get(p->a, p->e, PAGE, p->length, 0));
		__atomic_fetch_add(&p->gets, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* Wait for one get, or for all until now, while there come more. */
static int wait_among_others(const struct accessor *a,
			     struct bgdma_rma_epoch *e, uint32_t i)
{
	struct bgdma_access_attr attr = access_at(a, 0, 8, 0);
	struct pump p = { .a = a, .e = e, .length = LOCAL / 2 >> 4 * (i % 3) };
	struct waiter w = { .e = e, .flush = i / 3 };
	pthread_t pumps[PUMPS], waiter;
	uint32_t k;

	for (k = 0; k < PUMPS; k++)
		must(-pthread_create(&pumps[k], NULL, pump, &p));
	require(until(load(&p.gets) > 300));
	attr.request = &w.request;
	a->local[0] = 0xff;
	require_is(0, bgdma_epoch_get(e, &attr));
	must(-pthread_create(&waiter, NULL, wait_for_gets, &w));
	require(until(load(&w.done)));
	store(&p.stop, 1);
	for (k = 0; k < PUMPS; k++)
		pthread_join(pumps[k], NULL);
	pthread_join(waiter, NULL);
	require_is(i, a->local[0]);
	return w.ret;
}

/* Who waits for his gets does not wait for those that others begin later. */
static int going_on(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_endpoint_attr ep = { .threads = BGDMA_THREADS_MANY };
	const struct bgdma_window_attr window = { .length = LOCAL };
	struct bgdma_rma_epoch *e;
	struct accessor a = { 0 };
	uint32_t i;

	(void)arg;
	require_is(0, accessor_open_as(&a, ep, (struct bgdma_rma_attr){ 0 },
				       &window));
	require_is(0, bgdma_epoch_begin(a.window, size - 1, 1, 0, &e));
	for (i = 0; i < 6; i++) {
		a.own[0] = (uint8_t)i;
		require_is(0, meet(&a));
		if (!rank)
			require_is(0, wait_among_others(&a, e, i));
		require_is(0, meet(&a));
	}
	return closed(&a, e);
}

TEST(ep2_requests_and_flushes_while_others_go_on)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, going_on, NULL, -1));
}

#define REOPENED	400

struct asked {
	struct bgdma_rma_request request;
	uint32_t turn, done;
};

/* Those of all turns, one after the other. */
static void *wait_in_turns(void *arg)
{
	struct asked *asked = arg;
	uint32_t i;

	for (i = 1; i <= REOPENED; i++) {
		must(until(load(&asked->turn) == i) ? 0 : -ETIME);
		must(bgdma_rma_wait(&asked->request));
		store(&asked->done, i);
	}
	return NULL;
}

/*
 * Some threads wait for the gets of an epoch, another closes it and opens one at
 * the same target: what they wait for is complete.
 */
static int reopened(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_endpoint_attr ep = { .threads = BGDMA_THREADS_MANY };
	const struct bgdma_window_attr window = { .length = LOCAL };
	struct asked asked[PUMPS] = { 0 };
	struct bgdma_access_attr attr;
	struct bgdma_rma_epoch *e;
	struct accessor a = { 0 };
	pthread_t waiters[PUMPS];
	uint32_t i, k;

	(void)arg;
	require_is(0, accessor_open_as(&a, ep, (struct bgdma_rma_attr){ 0 },
				       &window));
	require_is(0, bgdma_epoch_begin(a.window, size - 1, 1, 0, &e));
	for (k = 0; !rank && k < PUMPS; k++)
		must(-pthread_create(&waiters[k], NULL, wait_in_turns,
				     &asked[k]));
	for (i = 1; !rank && i <= REOPENED; i++) {
		attr = access_at(&a, 0, i % 2 ? LOCAL / 4 : 8, 0);
		for (k = 0; k < PUMPS; k++) {
			attr.request = &asked[k].request;
			require_is(0, bgdma_epoch_get(e, &attr));
			store(&asked[k].turn, i);
		}
		require_is(0, bgdma_epoch_close(e));
		require_is(0, bgdma_epoch_begin(a.window, size - 1, 1, 0, &e));
		for (k = 0; k < PUMPS; k++)
			require(until(load(&asked[k].done) == i));
	}
	for (k = 0; !rank && k < PUMPS; k++)
		pthread_join(waiters[k], NULL);
	return closed(&a, e);
}

TEST(ep2_requests_are_complete_with_their_epoch)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, reopened, NULL, -1));
}

/*
 * Throttling must not come down to one access at a time: as many are under way
 * as the FIFO holds, and more than it holds all get there.
 */
static int outstanding(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_access_attr attr;
	struct bgdma_epoch_info info;
	struct bgdma_rma_epoch *e;
	struct accessor a = { 0 };
	uint32_t i;

	(void)arg;
	(void)size;
	if (opened(&a, &e))
		return 1;
	attr = access_at(&a, 0, 8, rank * 8);
	attr.more = true;
	for (i = 0; i < 200; i++)
		require_is(0, bgdma_epoch_get(e, &attr));
	bgdma_epoch_info(e, &info);
	require_is(200, info.gets);
	attr.more = false;
	for (i = 0; i < 3000; i++) {
		a.local[0] = (uint8_t)i;
		require_is(0, i % 2 ? bgdma_epoch_put(e, &attr) :
				      bgdma_epoch_get(e, &attr));
	}
	require_is(0, bgdma_epoch_flush(e));
	bgdma_epoch_info(e, &info);
	require_is(0, info.gets);
	require_is(1500, info.puts);
	return closed(&a, e);
}

TEST(ep2_ep3_as_many_under_way_as_there_is_room_for)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, outstanding, NULL, -1));
}

/* ---- Waiting sleeps ------------------------------------------------------ */

#define SLOW_GETS	200

static uint64_t sleeps_of(const struct accessor *a)
{
	struct bgdma_endpoint_stats stats;

	bgdma_endpoint_stats(a->m.ep, &stats);
	return stats.sleeps;
}

/* What was there before, grant and gets, wakes nobody who waits for others. */
static int sleeping(uint32_t rank, uint32_t size, void *arg)
{
	const struct bgdma_window_attr window = { .length = LOCAL };
	struct bgdma_access_attr attr;
	struct bgdma_rma_request r;
	struct bgdma_rma_epoch *e;
	struct accessor a = { 0 };
	uint64_t before;
	uint32_t i;

	(void)arg;
	(void)size;
	require_is(0, accessor_open_as(&a, (struct bgdma_endpoint_attr){ 0 },
				       (struct bgdma_rma_attr){ 0 }, &window));
	require_is(0, meet(&a));
	if (rank == 0) {
		require_is(0, bgdma_epoch_begin(a.window, 1, 1, 0, &e));
		attr = access_at(&a, 0, LOCAL, 0);
		attr.request = &r;
		for (i = 0; i < SLOW_GETS; i++)
			require_is(0, bgdma_epoch_get(e, &attr));
		before = sleeps_of(&a);
		require_is(0, bgdma_rma_wait(&r));
		/* Each of a few counters may wake it once. */
		require(sleeps_of(&a) <= before + 8);
		require_is(0, bgdma_epoch_close(e));
	}
	require_is(0, meet(&a));
	return accessor_close(&a);
}

TEST(ep2_who_waits_for_gets_sleeps)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, sleeping, NULL, -1));
}

struct flusher {
	const struct accessor *a;
	int stop, ret;
};

static void *flush_all(void *arg)
{
	struct flusher *f = arg;

	while (!f->ret && !load(&f->stop))
		f->ret = bgdma_window_flush(f->a->window, BGDMA_FLUSH_ALL);
	return NULL;
}

/* One thread has locks, another flushes whatever is locked just then. */
static int flushing(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_endpoint_attr ep = { .threads = BGDMA_THREADS_MANY };
	const struct bgdma_window_attr window = { .length = WINDOW };
	struct bgdma_access_attr attr;
	struct accessor a = { 0 };
	struct flusher f = { .a = &a };
	pthread_t thread;
	uint32_t i;

	(void)arg;
	require_is(0, accessor_open_as(&a, ep, (struct bgdma_rma_attr){ 0 },
				       &window));
	require_is(0, meet(&a));
	attr = access_at(&a, 0, 8, rank * 8);
	if (!rank)
		must(-pthread_create(&thread, NULL, flush_all, &f));
	for (i = 0; !rank && i < 300; i++) {
		require_is(0, bgdma_window_lock(a.window, i % size, 0));
		require_is(0, bgdma_window_put(a.window, i % size, &attr));
		require_is(0, bgdma_window_unlock(a.window, i % size));
	}
	store(&f.stop, 1);
	if (!rank)
		pthread_join(thread, NULL);
	require_is(0, f.ret);
	require_is(0, meet(&a));
	return accessor_close(&a);
}

TEST(flush_beside_a_thread_that_unlocks)
{
	partition_new("3x1x1", "");
	EXPECT_TRUE(job_run(3, flushing, NULL, -1));
}

#define FAR	1

/* Of a thread: an epoch that ends, or begins. */
struct change {
	struct bgdma_window *window;
	struct bgdma_rma_epoch *e;
	int ret;
};

static void *far_ends(void *arg)
{
	struct change *c = arg;

	c->ret = bgdma_window_unlock(c->window, FAR);
	return NULL;
}

static void *far_begins(void *arg)
{
	struct change *c = arg;
	struct bgdma_rma_epoch *e = NULL;

	c->ret = bgdma_epoch_begin(c->window, FAR, 5, 0, &e);
	store(&c->e, e);
	return NULL;
}

/* The end of an epoch is on its way when another window has what it was. */
static int flush_at_end(struct accessor *a, struct bgdma_window *other)
{
	struct change end = { .window = a->window }, next = { .window = other };
	struct bgdma_epoch_info info;
	struct bgdma_rma_epoch *e;
	pthread_t ends, begins;

	require_is(0, bgdma_window_lock(a->window, FAR, 0));
	require_is(0, bgdma_window_epoch(a->window, FAR, &e));
	links_cut(FAR, true);
	must(-pthread_create(&ends, NULL, far_ends, &end));
	require(until((bgdma_epoch_info(e, &info), info.closing)));
	usleep(200000 * slowness());
	must(-pthread_create(&begins, NULL, far_begins, &next));
	require(until((bgdma_epoch_info(e, &info), info.id == 5)));
	require_is(0, bgdma_window_flush(a->window, BGDMA_FLUSH_ALL));
	require(!load(&next.e));
	links_cut(FAR, false);
	pthread_join(ends, NULL);
	pthread_join(begins, NULL);
	require_is(0, end.ret);
	require_is(0, next.ret);
	require(next.e == e);
	return bgdma_epoch_close(e);
}

static int flush_beside(uint32_t rank, uint32_t size, void *arg)
{
	const struct bgdma_endpoint_attr ep = { .threads = BGDMA_THREADS_MANY };
	const struct bgdma_window_attr window = { .length = WINDOW };
	struct bgdma_window *other;
	struct accessor a = { 0 };

	(void)size;
	(void)arg;
	require_is(0, accessor_open_as(&a, ep, (struct bgdma_rma_attr){ 0 },
				       &window));
	require_is(0, bgdma_window_create(a.rma, &window, &other));
	require_is(0, meet(&a));
	if (!rank)
		require_is(0, flush_at_end(&a, other));
	require_is(0, bgdma_window_free(other));
	return accessor_close(&a);
}

TEST(flush_is_of_the_epochs_of_its_window)
{
	must(setenv("BGDMA_TEST_LINKS", "1", 1));
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, flush_beside, NULL, -1));
}

TEST_HARNESS_MAIN
