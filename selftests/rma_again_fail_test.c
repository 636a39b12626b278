// SPDX-License-Identifier: GPL-2.0
/*
 * Epochs at an origin whose nth system call or allocation fails, for every n. A call
 * that says so is made again: all is done once, and nobody is kept out afterwards. And
 * a target that has no memory for what it is told.
 */
#include "kselftest_harness.h"
#include "rma_util.h"
#include "failing_calls.h"

#define TARGET		1U
#define CALLS_MAX	400U	/* of one epoch */

/* Once more, if it was told that it failed. */
#define AGAIN(call_) do { \
	int ret_ = (call_); \
\
	if (ret_ && faults) \
		ret_ = (call_); \
	require_is(0, ret_); \
} while (0)

/* Where what is. */
enum { PLACE, SUM, FLOATS, WORDS };

struct plan {
	int code;
	bool early;	/* closing begins before it is waited for */
	int ready, seen;
	uint64_t there[WORDS];
};

static int epoch_of(struct accessor *a, unsigned int n, bool early)
{
	const struct bgdma_access_attr place = access_at(a, 0, 8, 8 * PLACE);
	struct bgdma_update_attr sum = {
		.op = BGDMA_ATOMIC_ADD, .type = BGDMA_ATOMIC_U64, .count = 1,
		.at = 8 * SUM, .operand = 3,
	}, floats = sum;
	const double half = 0.5;
	struct bgdma_rma_epoch *e;

	floats.type = BGDMA_RMA_DOUBLE;
	floats.at = 8 * FLOATS;
	memcpy(&floats.operand, &half, sizeof(half));
	*(uint64_t *)(void *)a->local = n;
	faults = 0;
	until_fault = n;
	AGAIN(bgdma_epoch_begin(a->window, TARGET, 7, BGDMA_EPOCH_EXCLUSIVE,
				&e));
	AGAIN(bgdma_epoch_put(e, &place));
	AGAIN(bgdma_epoch_update(e, &sum));
	AGAIN(bgdma_epoch_update(e, &floats));
	AGAIN(bgdma_epoch_flush(e));
	if (early) {
		/* It is closing, whether that could be told or not. */
		require(!bgdma_epoch_closing(e) || faults);
		require_is(-EALREADY, bgdma_epoch_closing(e));
	}
	AGAIN(bgdma_epoch_close(e));
	until_fault = 0;
	return 0;
}

/* Who has had the window gives it back, whatever failed. */
static int origin(struct accessor *a, struct plan *p)
{
	unsigned int n = 0;
	double floats;

	fault_code = p->code;
	do {
		require_is(0, epoch_of(a, ++n, p->early));
		store(&p->ready, (int)n);
		require(until(load(&p->seen) == (int)n));
		require_is(n, p->there[PLACE]);
		require_is(3 * n, p->there[SUM]);
		memcpy(&floats, &p->there[FLOATS], sizeof(floats));
		require(floats == 0.5 * n);
	} while (faults && n < CALLS_MAX);
	store(&p->ready, -1);
	return !faults && n > 5 ? 0 : 1;
}

static int target(struct accessor *a, struct plan *p)
{
	int n;

	for (;;) {
		require(until(load(&p->ready) != load(&p->seen)));
		n = load(&p->ready);
		if (n < 0)
			return 0;
		require(until(at_gate(a, NULL) == 0));
		memcpy(p->there, a->own, sizeof(p->there));
		store(&p->seen, n);
	}
}

static int calls_fail(uint32_t rank, uint32_t size, void *arg)
{
	struct accessor a = { 0 };
	struct plan *p = arg;
	int ret;

	(void)size;
	require_is(0, accessor_open(&a));
	memset(a.own, 0, WINDOW);
	require_is(0, meet(&a));
	ret = rank == TARGET ? target(&a, p) : origin(&a, p);
	require_is(0, meet(&a));
	return ret ? ret : accessor_close(&a);
}

TEST(ep1_ep2_ep5_x3_each_call_of_an_epoch_fails)
{
	static const int codes[] = { EINTR, ENOMEM, EAGAIN };
	unsigned int i;

	partition_new("2x1x1", "poll-ns 0");
	for (i = 0; i < 2 * sizeof(codes) / sizeof(codes[0]); i++) {
		struct plan *p = shared(sizeof(*p));

		p->code = codes[i / 2];
		p->early = i % 2;
		EXPECT_TRUE(job_run(2, calls_fail, p, -1));
	}
}

/* ---- A target that sleeps ---------------------------------------------- */

static uint8_t memory[2 * WINDOW] PINNED;

static int on_word(void *arg, uint32_t rank, const struct bgdma_packet *packet)
{
	struct count *words = arg;

	(void)rank;
	(void)packet;
	words->is++;
	return 0;
}

static int open_with_words(struct accessor *a, struct count *words, uint32_t *id)
{
	const struct bgdma_operation_attr op = {
		.module = "test", .name = "word", .packet = on_word,
		.arg = words,
	};
	const struct bgdma_window_attr dynamic = { .dynamic = true };
	int ret = member_open(&a->m, NULL);

	if (!ret)
		ret = bgdma_rma_create(&a->rma, a->m.ep, NULL);
	if (!ret)
		ret = bgdma_operation_register(a->m.ep, &op, id);
	if (!ret)
		ret = bgdma_endpoint_commit(a->m.ep, NULL);
	return ret ? ret : bgdma_window_create(a->rma, &dynamic, &a->window);
}

/* There is memory again when there was none for it. */
static bool word_there(void *arg)
{
	if (refused)
		no_memory = false;
	return count_there(arg);
}

/* Rank 0 has no memory for what rank 1 attaches, once; a word is behind that. */
static int no_room_once(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_send_attr send = { .type = BGDMA_POINT_TO_POINT };
	struct count words = { .wanted = 1 };
	struct accessor a = { 0 };
	int *stage = arg;

	(void)size;
	require_is(0, open_with_words(&a, &words, &send.operation));
	require_is(0, meet(&a));
	if (rank == 0) {
		no_memory = true;
		store(stage, 1);
		require_is(0, bgdma_endpoint_wait_until(a.m.ep, word_there,
							&words, BGDMA_SLEEP,
							(int64_t)PATIENCE_NS));
	} else {
		require(until(load(stage)));
		usleep(100000);
		require_is(0, bgdma_window_attach(a.window, memory, WINDOW));
		require_is(0, bgdma_endpoint_send(a.m.ep, &send));
	}
	require_is(0, meet(&a));
	require_is(0, bgdma_window_free(a.window));
	return member_close(&a.m);
}

TEST(x3_who_sleeps_has_memory_again)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, no_room_once, shared(sizeof(int)), -1));
}

/* ---- A target that cannot allow what asks its gate ----------------------- */

static bool have_failed(void *arg)
{
	(void)arg;
	return !requests_fail;
}

/* Rank 0 sleeps, and cannot do so when it is asked, nor when it looks again. */
static int allows_later(uint32_t rank, uint32_t size, void *arg)
{
	const struct bgdma_window_attr window = {
		.addr = memory, .length = WINDOW, .trap = BGDMA_TRAP_WRITES,
	};
	struct bgdma_rma_epoch *e;
	struct accessor a = { 0 };
	int *stage = arg;

	(void)size;
	require_is(0, accessor_open_as(&a, (struct bgdma_endpoint_attr){ 0 },
				       (struct bgdma_rma_attr){ 0 }, &window));
	require_is(0, meet(&a));
	if (rank == 0) {
		fail_request = BGDMA_IOC_EPOCH_ALLOW;
		requests_fail = 3;
		store(stage, 1);
		require_is(0, bgdma_endpoint_wait_until(a.m.ep, have_failed,
							NULL, BGDMA_SLEEP,
							(int64_t)PATIENCE_NS));
	} else {
		require(until(load(stage)));
		require_is(0, bgdma_epoch_begin(a.window, 0, 7, 0, &e));
		require_is(0, bgdma_epoch_close(e));
	}
	require_is(0, meet(&a));
	return accessor_close(&a);
}

TEST(ep3_x3_who_asks_is_allowed_later)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, allows_later, shared(sizeof(int)), -1));
}

/* ---- A target whose accesses are trapped --------------------------------- */

/* Of each round; a process goes on when the other is there. */
enum { MADE = 1, BEGUN, TOUCHED, CLOSED, FREED, STEPS };

struct trapped {
	int code;
	int step, races;
	bool made, more;
};

static void on_race(void *arg, const struct bgdma_race *race)
{
	struct trapped *t = arg;

	(void)race;
	store(&t->races, t->races + 1);
}

/* Whether memory can be written: the kernel finds out, and no handler hears of it. */
static bool is_open(const uint8_t *at)
{
	int zero = syscall(SYS_openat, AT_FDCWD, "/dev/zero", O_RDONLY);
	bool open = read(zero, (void *)(uintptr_t)at, 1) == 1;

	close(zero);
	return open;
}

static int progress(struct accessor *a)
{
	int ret = bgdma_endpoint_progress(a->m.ep, 0);

	return ret < 0 && !faults ? ret : 0;
}

static int reach(struct accessor *a, struct trapped *t, unsigned int round,
		 int step)
{
	while (load(&t->step) < (int)round * STEPS + step)
		require_is(0, progress(a));
	return 0;
}

static void go_on(struct trapped *t, unsigned int round, int step)
{
	store(&t->step, (int)round * STEPS + step);
}

/* While an epoch is open one page is caught, once, and none is when it is over. */
static int target_trapped(struct accessor *a, struct trapped *t,
			  unsigned int round)
{
	bool closed;
	int ret;

	require_is(0, reach(a, t, round, BEGUN));
	closed = !is_open(memory);
	/* Races go unseen if there is nothing to see them with. */
	require(closed || faults);
	store(&t->races, 0);
	store(&memory[0], 1);
	require_is(closed, load(&t->races));
	store(&memory[0], 2);
	require_is(closed, load(&t->races));
	go_on(t, round, TOUCHED);
	require_is(0, reach(a, t, round, CLOSED));
	while (!is_open(&memory[WINDOW - 1]))
		require_is(0, progress(a));
	ret = bgdma_window_free(a->window);
	require(!ret || faults);
	return 0;
}

static int target_in_turn(struct accessor *a, struct trapped *t,
			  unsigned int round)
{
	const struct bgdma_window_attr attr = {
		.addr = memory, .length = WINDOW, .trap = BGDMA_TRAP_WRITES,
		.race = on_race, .arg = t,
	};
	int ret;

	faults = 0;
	until_fault = round;
	ret = bgdma_window_create(a->rma, &attr, &a->window);
	require(!ret || (faults && (ret == -ENOMEM || ret == -t->code)));
	t->made = !ret;
	go_on(t, round, MADE);
	if (!ret)
		require_is(0, target_trapped(a, t, round));
	until_fault = 0;
	/* The memory is ours again, whatever failed. */
	memset(memory, 3, WINDOW);
	t->more = faults;
	go_on(t, round, FREED);
	return 0;
}

static int origin_in_turn(struct accessor *a, struct trapped *t,
			  unsigned int round)
{
	const struct bgdma_window_attr attr = { .length = WINDOW };
	struct bgdma_rma_epoch *e;
	int ret;

	ret = bgdma_window_create(a->rma, &attr, &a->window);
	require_is(0, reach(a, t, round, MADE));
	require_is(t->made, !ret);
	if (!ret) {
		require_is(0, bgdma_epoch_begin(a->window, 0, 7, 0, &e));
		go_on(t, round, BEGUN);
		require_is(0, reach(a, t, round, TOUCHED));
		require_is(0, bgdma_epoch_close(e));
		go_on(t, round, CLOSED);
		require_is(0, bgdma_window_free(a->window));
	}
	return reach(a, t, round, FREED);
}

static int trapped(uint32_t rank, uint32_t size, void *arg)
{
	struct trapped *t = arg;
	struct accessor a = { 0 };
	unsigned int round;

	(void)size;
	fault_code = t->code;
	require_is(0, accessor_start(&a, (struct bgdma_endpoint_attr){ 0 },
				     (struct bgdma_rma_attr){ 0 }));
	for (round = 1; round < CALLS_MAX; round += fault_step()) {
		require_is(0, rank ? origin_in_turn(&a, t, round) :
				     target_in_turn(&a, t, round));
		if (!t->more)
			break;
	}
	require(!t->more && round > 10);
	return member_close(&a.m);
}

TEST(ep3_x3_each_call_of_who_is_trapped_fails)
{
	static const int codes[] = { ENOMEM, EINTR, EAGAIN };
	unsigned int i;

	partition_new("2x1x1", "");
	for (i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		struct trapped *t = shared(sizeof(*t));

		t->code = codes[i];
		EXPECT_TRUE(job_run(2, trapped, t, -1)) TH_LOG("%d", codes[i]);
	}
}

/* ---- A window for which there is no memory ------------------------------- */

/* Rank 0 is told of the first, and must not be at the third while rank 1 is there yet. */
static int no_window(uint32_t rank, uint32_t size, void *arg)
{
	const struct bgdma_window_attr attr = { .addr = memory, .length = WINDOW };
	struct accessor a = { 0 };
	unsigned int *begun = arg;	/* by rank 0 */
	unsigned int i;

	(void)size;
	require_is(0, member_open(&a.m, NULL));
	require_is(0, bgdma_rma_create(&a.rma, a.m.ep, NULL));
	require_is(0, bgdma_endpoint_commit(a.m.ep, NULL));
	for (i = 0; i < 3; i++) {
		if (rank == 0) {
			store(begun, i + 1);
		} else {
			require(until(load(begun) > i));
			/* Long enough that it waits in there. */
			usleep(300000 * slowness());
		}
		faults = 0;
		fault_code = ENOMEM;
		until_fault = rank == 0 && i < 2;
		require_is(i < 2 ? -ENOMEM : 0,
			   bgdma_window_create(a.rma, &attr, &a.window));
		require_is(0, until_fault);
		require(faults == (rank == 0 && i < 2));
	}
	require_is(0, meet(&a));
	require_is(0, bgdma_window_free(a.window));
	return member_close(&a.m);
}

TEST(x3_who_has_no_memory_for_a_window_meets_the_others)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, no_window, shared(sizeof(unsigned int)), -1));
}

TEST_HARNESS_MAIN
