// SPDX-License-Identifier: GPL-2.0
/*
 * What the others know of memory that is attached to a window and detached again.
 */
#include <endian.h>
#include <pthread.h>

#include "kselftest_harness.h"
#include "rma_util.h"
#include "sys_forge.h"

static uint8_t memory[2 * WINDOW] PINNED;

static const struct bgdma_window_attr dynamic = { .dynamic = true };

/* ---- What cannot be attached -------------------------------------------- */

#define COUNTERS	8192

static struct bgdma_counter *counters[COUNTERS];

static uint32_t counters_take(struct bgdma_ctx *ctx)
{
	uint32_t n = 0;

	while (n < COUNTERS && !bgdma_counter_alloc(ctx, BGDMA_INJECTION,
						    &counters[n]))
		n++;
	return n;
}

/* Rank 0 has no counter to attach by: it does not, and may try again. */
static int again(uint32_t rank, uint32_t size, void *arg)
{
	uint64_t there = (uintptr_t)memory;
	struct bgdma_access_attr put;
	struct accessor a = { 0 };
	uint32_t n;

	(void)arg;
	(void)size;
	require_is(0, accessor_open_as(&a, (struct bgdma_endpoint_attr){ 0 },
				       (struct bgdma_rma_attr){ 0 },
				       &dynamic));
	if (rank == 0) {
		n = counters_take(bgdma_endpoint_ctx(a.m.ep));
		require_is(-ENOSPC, bgdma_window_attach(a.window, memory,
							WINDOW));
		while (n)
			require_is(0, bgdma_counter_free(counters[--n]));
		require_is(-ENOENT, bgdma_window_detach(a.window, memory));
		require_is(0, bgdma_window_attach(a.window, memory, WINDOW));
	}
	require_is(0, meet(&a));
	put = access_at(&a, 0, 100, there + rank * 100);
	mark(a.local, 100, rank);
	require_is(0, bgdma_window_lock(a.window, 0, 0));
	require_is(0, bgdma_window_put(a.window, 0, &put));
	require_is(0, bgdma_window_unlock(a.window, 0));
	require_is(0, meet(&a));
	require(rank || is_marked(memory + 100, 100, 1));
	return accessor_close(&a);
}

TEST(window_that_could_not_grow)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, again, NULL, -1));
}

/* Rank 1 puts where rank 0 has attached memory: it is there. */
static int is_reached(struct accessor *a, uint32_t rank, uint32_t who,
		      uint8_t *where, uint32_t length)
{
	struct bgdma_access_attr put = access_at(a, 0, length, (uintptr_t)where);

	require_is(0, meet(a));
	if (rank == 1) {
		mark(a->local, length, who);
		require_is(0, bgdma_window_lock(a->window, 0, 0));
		require_is(0, bgdma_window_put(a->window, 0, &put));
		require_is(0, bgdma_window_unlock(a->window, 0));
	}
	require_is(0, meet(a));
	require(rank || is_marked(where, length, who));
	return accessor_close(a);
}

/* Rank 0 cannot tell that it has detached it; and attaches a part of it once more. */
static int untold(uint32_t rank, uint32_t size, void *arg)
{
	uint8_t *at = memory + *(uint64_t *)arg;
	struct accessor a = { 0 };
	uint32_t n;

	(void)size;
	require_is(0, accessor_open_as(&a, (struct bgdma_endpoint_attr){ 0 },
				       (struct bgdma_rma_attr){ 0 },
				       &dynamic));
	if (rank == 0) {
		require_is(0, bgdma_window_attach(a.window, memory, WINDOW));
		n = counters_take(bgdma_endpoint_ctx(a.m.ep));
		require_is(-ENOSPC, bgdma_window_detach(a.window, memory));
		while (n)
			require_is(0, bgdma_counter_free(counters[--n]));
		require_is(0, bgdma_window_attach(a.window, at, 4096));
	}
	return is_reached(&a, rank, 5, at, 100);
}

TEST(window_that_shrank_untold)
{
	uint64_t from[] = { 0, 8192 };
	unsigned int i;

	partition_new("2x1x1", "");
	for (i = 0; i < 2; i++)
		EXPECT_TRUE(job_run(2, untold, &from[i], -1));
}

#define WINDOWS		16
#define EPOCHS		(WINDOWS * BGDMA_EPOCHS_EACH)
#define LEFT		64	/* of the counters, for others */

/* As many epochs at once as there are counters for, which is @n. */
static int epochs_fill(struct accessor *a, struct bgdma_window **windows,
		       uint32_t *n)
{
	const struct bgdma_window_attr attr = { .length = WINDOW };
	struct bgdma_rma_epoch *e[EPOCHS];
	uint32_t i;
	int ret = 0;

	for (i = 0; i < WINDOWS; i++)
		require_is(0, bgdma_window_create(a->rma, &attr, &windows[i]));
	for (*n = 0; !ret && *n < EPOCHS; *n += !ret)
		ret = bgdma_epoch_begin(windows[*n / BGDMA_EPOCHS_EACH], 0,
					*n + 1, 0, &e[*n]);
	require_is(-ENOSPC, ret);
	for (i = 0; i < *n; i++)
		require_is(0, bgdma_epoch_close(e[i]));
	return 0;
}

/* What epochs have had is there for others, some at once, the rest for the module. */
static int had(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_window *windows[WINDOWS];
	struct accessor a = { 0 };
	uint32_t i, n, taken;

	(void)rank;
	(void)size;
	(void)arg;
	require_is(0, accessor_open_as(&a, (struct bgdma_endpoint_attr){ 0 },
				       (struct bgdma_rma_attr){ 0 },
				       &dynamic));
	require_is(0, epochs_fill(&a, windows, &n));
	taken = counters_take(bgdma_endpoint_ctx(a.m.ep));
	require(taken >= LEFT && taken < n);
	require_is(0, bgdma_window_attach(a.window, memory, WINDOW));
	require_is(0, bgdma_window_detach(a.window, memory));
	while (taken)
		require_is(0, bgdma_counter_free(counters[--taken]));
	for (i = 0; i < WINDOWS; i++)
		require_is(0, bgdma_window_free(windows[i]));
	return accessor_close(&a);
}

TEST(ep7_window_that_grows_when_epochs_have_had_all_counters)
{
	partition_new("1x1x1", "");
	EXPECT_TRUE(job_run(1, had, NULL, -1));
}

static uint8_t pieces[BGDMA_ATTACHED_MAX + 1][16] PINNED;

/*
 * Rank 0 has all the pieces that there may be, and cannot tell that it has detached one:
 * where that counts, there is no room yet for another.
 */
static int full(uint32_t rank, uint32_t size, void *arg)
{
	uint8_t *last = pieces[BGDMA_ATTACHED_MAX];
	struct accessor a = { 0 };
	uint32_t i, n;

	(void)arg;
	(void)size;
	require_is(0, accessor_open_as(&a, (struct bgdma_endpoint_attr){ 0 },
				       (struct bgdma_rma_attr){ 0 },
				       &dynamic));
	if (rank == 0) {
		for (i = 0; i < BGDMA_ATTACHED_MAX; i++)
			require_is(0, bgdma_window_attach(a.window, pieces[i], 16));
		n = counters_take(bgdma_endpoint_ctx(a.m.ep));
		require_is(-ENOSPC, bgdma_window_detach(a.window, pieces[7]));
		require_is(-ENOSPC, bgdma_window_detach(a.window, pieces[7]));
		while (n)
			require_is(0, bgdma_counter_free(counters[--n]));
		require_is(-ENOSPC, bgdma_window_attach(a.window, last, 16));
		require_is(0, bgdma_window_detach(a.window, pieces[7]));
		require_is(-ENOENT, bgdma_window_detach(a.window, pieces[7]));
		require_is(0, bgdma_window_attach(a.window, last, 16));
	}
	return is_reached(&a, rank, 8, last, 16);
}

TEST(window_that_is_full_and_shrank_untold)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, full, NULL, -1));
}

#define MANY		30000	/* packets: its FIFO has room for 32,768 */
enum { ATTACH = 4 };	/* kind of packet */

struct behind {
	bool many, newer;
	int stage;
};

/* To rank 1, which takes nothing meanwhile. */
static int flood(struct forger *f)
{
	struct bgdma_transfer t = forge_transfer(f, 1, forge_id("no", "body"), 0, 0);
	struct bgdma_desc *desc;
	unsigned int i;

	t.dest_fifo = DATA_FIFO;
	for (i = 1; i <= MANY; i++) {
		desc = bgdma_inj_reserve(f->fifo);
		require(desc);
		bgdma_desc_memfifo(desc, &t);
		bgdma_desc_inline(desc, NULL, 0);
		if (i % 50 == 0)
			require_is(0, forger_flush(f));
	}
	return 0;
}

/* Rank 1 has the window of rank 0, and looks at nothing until that has attached. */
static int locked_meanwhile(struct accessor *a, int *stage)
{
	require_is(0, bgdma_window_lock(a->window, 0, 0));
	store(stage, 1);
	require(until(load(stage) == 2));
	return 0;
}

/*
 * Rank 1 is told of what rank 0 attaches behind many packets; or hears after that of the
 * end of what was there before, as of another thread which was slower.
 */
static int behind(uint32_t rank, uint32_t size, void *arg)
{
	const struct {
		__le64 addr, length;
		__le32 region, resv;
	} older = { .addr = htole64((uintptr_t)memory), .region = htole32(1) };
	struct bgdma_access_attr put;
	struct behind *what = arg;
	struct accessor a = { 0 };
	struct module module;
	struct forger f;

	(void)size;
	require_is(0, accessor_open_as(&a, (struct bgdma_endpoint_attr){ 0 },
				       (struct bgdma_rma_attr){ 0 },
				       &dynamic));
	require_is(0, meet(&a));
	if (rank == 0) {
		require(until(load(&what->stage)));
		module = (struct module){ .m = a.m };
		require_is(0, forger_open(&f, &module));
		if (what->many)
			require_is(0, flood(&f));
		require_is(0, bgdma_window_attach(a.window, memory, WINDOW));
		if (what->newer)
			require_is(0, forge(&f, 1, DATA_FIFO,
					    forge_id("rma", "window"),
					    ATTACH << 8, &older, sizeof(older)));
		store(&what->stage, 2);
	} else {
		put = access_at(&a, 0, 100, (uintptr_t)memory);
		mark(a.local, 100, 7);
		require_is(0, locked_meanwhile(&a, &what->stage));
		require_is(0, bgdma_window_put(a.window, 0, &put));
		require_is(0, bgdma_window_unlock(a.window, 0));
	}
	require_is(0, meet(&a));
	require(rank || is_marked(memory, 100, 7));
	return accessor_close(&a);
}

TEST(window_that_grew_behind_many_packets)
{
	struct behind *what = shared(sizeof(*what));

	partition_new("2x1x1", "");
	what->many = true;
	EXPECT_TRUE(job_run(2, behind, what, -1));
}

TEST(window_that_grew_anew_before_it_shrank)
{
	struct behind *what = shared(sizeof(*what));

	partition_new("2x1x1", "");
	what->newer = true;
	EXPECT_TRUE(job_run(2, behind, what, -1));
}

struct refusal {
	int stage;
	bool taken;		/* rank 1's: it takes the packet */
};

static int refuse(void *arg, uint32_t rank, const struct bgdma_packet *packet)
{
	const struct refusal *r = arg;

	(void)rank;
	(void)packet;
	return r->taken ? 0 : -EAGAIN;
}

/* As accessor_open_as(), with an operation whose packets are refused. */
static int refuser_open(struct accessor *a, struct refusal *r, uint32_t *id)
{
	const struct bgdma_operation_attr refused = {
		.module = "m", .name = "refused", .packet = refuse, .arg = r,
	};

	require_is(0, member_open(&a->m, NULL));
	require_is(0, bgdma_rma_create(&a->rma, a->m.ep, NULL));
	require_is(0, bgdma_operation_register(a->m.ep, &refused, id));
	require_is(0, bgdma_endpoint_commit(a->m.ep, NULL));
	require_is(0, bgdma_region_alloc(bgdma_endpoint_ctx(a->m.ep), LOCAL,
					 LOCAL_RW, &a->region));
	a->local = bgdma_region_addr(a->region);
	return bgdma_window_create(a->rma, &dynamic, &a->window);
}

/* Rank 1 has refused what lies before the packet that tells of rank 0's memory. */
static int behind_refused(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_send_attr send = { .dest = 1 };
	struct bgdma_access_attr put, nowhere;
	struct accessor a = { 0 };
	struct refusal *r = arg;

	(void)size;
	require_is(0, refuser_open(&a, r, &send.operation));
	require_is(0, meet(&a));
	if (rank == 0) {
		require(until(load(&r->stage)));
		require_is(0, bgdma_endpoint_send(a.m.ep, &send));
		require_is(0, bgdma_window_attach(a.window, memory, WINDOW));
		store(&r->stage, 2);
	} else {
		put = access_at(&a, 0, 100, (uintptr_t)memory);
		nowhere = access_at(&a, 0, 100, (uintptr_t)memory + WINDOW);
		mark(a.local, 100, 9);
		require_is(0, locked_meanwhile(&a, &r->stage));
		require_is(-EAGAIN, bgdma_window_put(a.window, 0, &put));
		require_is(-EAGAIN, bgdma_window_put(a.window, 0, &nowhere));
		r->taken = true;
		require_is(-ERANGE, bgdma_window_put(a.window, 0, &nowhere));
		require_is(0, bgdma_window_put(a.window, 0, &put));
		require_is(0, bgdma_window_unlock(a.window, 0));
	}
	require_is(0, meet(&a));
	require(rank || is_marked(memory, 100, 9));
	return accessor_close(&a);
}

TEST(window_that_grew_behind_a_packet_that_is_refused)
{
	struct refusal *r = shared(sizeof(*r));

	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, behind_refused, r, -1));
}

#define TURNS	50

struct attacher {
	struct bgdma_window *window;
	pthread_barrier_t *both;
	int result;
};

/* Of two threads one gets it. */
static void *attach_often(void *arg)
{
	struct attacher *me = arg;
	unsigned int i;
	int ret;

	for (i = 0; i < TURNS && !me->result; i++) {
		pthread_barrier_wait(me->both);
		ret = bgdma_window_attach(me->window, memory, WINDOW);
		pthread_barrier_wait(me->both);
		if (!ret)
			ret = bgdma_window_detach(me->window, memory);
		else if (ret == -EEXIST)
			ret = 0;
		if (ret)
			me->result = ret;
	}
	return NULL;
}

static int at_once(uint32_t rank, uint32_t size, void *arg)
{
	const struct bgdma_endpoint_attr ep = {
		.threads = BGDMA_THREADS_MANY,
		.progress = BGDMA_PROGRESS_THREAD,
	};
	struct attacher two[2] = { { 0 } };
	pthread_barrier_t both;
	struct accessor a = { 0 };
	pthread_t other;

	(void)arg;
	(void)size;
	require_is(0, accessor_open_as(&a, ep, (struct bgdma_rma_attr){ 0 },
				       &dynamic));
	if (rank == 0) {
		require_is(0, pthread_barrier_init(&both, NULL, 2));
		two[0] = (struct attacher){ .window = a.window, .both = &both };
		two[1] = two[0];
		require_is(0, pthread_create(&other, NULL, attach_often,
					     &two[1]));
		attach_often(&two[0]);
		require_is(0, pthread_join(other, NULL));
		require_is(0, two[0].result);
		require_is(0, two[1].result);
		/* None is left, and none too many has been given back. */
		require_is(-ENOENT, bgdma_window_detach(a.window, memory));
		require_is(0, bgdma_window_attach(a.window, memory, WINDOW));
	}
	return is_reached(&a, rank, 6, memory, 100);
}

TEST(window_that_two_threads_grow)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, at_once, NULL, -1));
}

TEST_HARNESS_MAIN
