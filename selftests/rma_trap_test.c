// SPDX-License-Identifier: GPL-2.0
/*
 * Races that are trapped: accesses of a target to its own window in an epoch.
 */
#include <setjmp.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "rma_util.h"

#define PAGES	4
#define BYTES	(PAGES * PAGE)

static uint8_t memory[BYTES] PINNED;

/* What was caught, in the handler. */
static struct bgdma_race caught[8];
static volatile unsigned int catches;

static void on_race(void *arg, const struct bgdma_race *race)
{
	if (arg == memory && catches < 8)
		caught[catches] = *race;
	catches++;
}

static unsigned int nowhere;	/* memory that was to be protected, and is not there */

int mprotect(void *addr, size_t length, int rights)
{
	unsigned char page;

	nowhere += mincore(addr, PAGE, &page) && errno == ENOMEM;
	return (int)syscall(SYS_mprotect, addr, length, rights);
}

/* The access whose address is known. */
__attribute__((noinline)) static void racing_store(volatile uint8_t *p)
{
	*p = 1;
}

__attribute__((noinline)) static uint8_t racing_load(volatile uint8_t *p)
{
	return *p;
}

static bool is_in(const void *code, const void *function)
{
	uintptr_t at = (uintptr_t)code, from = (uintptr_t)function;

	return at >= from && at < from + 64;
}

/* Whom a race is with is no rank that is 0 when nobody has set it. */
#define TARGET	1
#define ORIGIN	2
#define SIZE	3

static int trap_open_as(struct accessor *a, enum bgdma_window_trap trap,
			enum bgdma_progress progress)
{
	const struct bgdma_endpoint_attr ep = { .progress = progress };
	const struct bgdma_window_attr window = {
		.addr = memory, .length = BYTES, .trap = trap,
		.race = on_race, .arg = memory,
	};

	return accessor_open_as(a, ep, (struct bgdma_rma_attr){ 0 }, &window);
}

static int trap_open(struct accessor *a, enum bgdma_window_trap trap)
{
	return trap_open_as(a, trap, BGDMA_PROGRESS_THREAD);
}

/* Is a page of the window as its process wants it, for the kernel? */
static bool is_writable(void *arg)
{
	unsigned long from, to, at = (unsigned long)arg;
	char line[256], rights[5];
	bool found = false;
	FILE *maps = fopen("/proc/self/maps", "r");

	while (maps && !found && fgets(line, sizeof(line), maps))
		found = sscanf(line, "%lx-%lx %4s", &from, &to, rights) == 3 &&
			at >= from && at < to && rights[1] == 'w';
	if (maps)
		fclose(maps);
	return found;
}

struct trapping {
	enum bgdma_window_trap trap;
	int stage;
};

static int races(uint32_t rank, uint32_t size, void *arg)
{
	struct trapping *t = arg;
	struct bgdma_rma_epoch *e;
	struct accessor a = { 0 };
	unsigned int all = t->trap == BGDMA_TRAP_ALL;

	(void)size;
	require_is(0, trap_open(&a, t->trap));
	racing_store(memory);
	require_is(0, meet(&a));
	if (rank == ORIGIN) {
		mark(a.local, BYTES, 3);
		require_is(0, bgdma_epoch_begin(a.window, TARGET, 77, 0, &e));
		/* The engine has other ways. */
		require_is(0, put(&a, e, 0, BYTES, 0));
		require_is(0, bgdma_epoch_flush(e));
		store(&t->stage, 1);
		require(until(load(&t->stage) == 2));
		require_is(0, bgdma_epoch_close(e));
		store(&t->stage, 3);
	} else if (rank == TARGET) {
		require(until(load(&t->stage) == 1));
		require_is(0, catches);
		require_is(mark_of(3, 2 * PAGE + 9),
			   racing_load(memory + 2 * PAGE + 9));
		require_is(all, catches);
		racing_store(memory + PAGE + 5);
		require_is(all + 1, catches);
		/* Once for each page. */
		racing_store(memory + PAGE + 6);
		require_is(all + 1, catches);
		if (all) {
			require(is_in(caught[0].code, racing_load));
			require_is(2 * PAGE + 9, caught[0].offset);
		}
		require(is_in(caught[all].code, racing_store));
		require_is(PAGE + 5, caught[all].offset);
		require_is(ORIGIN, caught[all].rank);
		require_is(77, caught[all].epoch);
		require(caught[all].window == a.window);
		require_is(1, memory[PAGE + 5]);
		store(&t->stage, 2);
		require(until(load(&t->stage) == 3));
		/* At the end all is as before. */
		require(until(at_gate(&a, NULL) == 0));
		require(until(is_writable(memory + 3 * PAGE)));
		racing_store(memory + 3 * PAGE);
		require_is(all + 1, catches);
	}
	require_is(0, meet(&a));
	return accessor_close(&a);
}

TEST(epoch_traps_races)
{
	struct trapping *t = shared(sizeof(*t));

	partition_new("3x1x1", "");
	t->trap = BGDMA_TRAP_WRITES;
	EXPECT_TRUE(job_run(SIZE, races, t, -1));
	t->trap = BGDMA_TRAP_ALL;
	t->stage = 0;
	EXPECT_TRUE(job_run(SIZE, races, t, -1));
}

/* Memory whose protection an origin's epoch was the reason for is free again. */
static int left_alone(struct accessor *a, int *stage)
{
	require(until(at_gate(a, NULL) == 0));
	require(until(bgdma_endpoint_progress(a->m.ep, 64) >= 0 &&
		      is_writable(memory)));
	racing_store(memory);
	require_is(1, catches);
	store(stage, 3);
	return 0;
}

/* The origin is killed in its epoch. */
static int broken(uint32_t rank, uint32_t size, void *arg)
{
	int *stage = arg, ret = 0;
	struct bgdma_rma_epoch *e;
	struct accessor a = { 0 };

	(void)size;
	require_is(0, trap_open(&a, BGDMA_TRAP_ALL));
	require_is(0, meet(&a));
	if (rank == ORIGIN) {
		require_is(0, bgdma_epoch_begin(a.window, TARGET, 77, 0, &e));
		store(stage, 1);
		require(until(load(stage) == 2));
		return raise(SIGKILL);
	}
	if (rank == TARGET) {
		require(until(load(stage) == 1));
		require(!is_writable(memory));
		racing_store(memory + PAGE);
		require_is(1, catches);
		store(stage, 2);
		ret = left_alone(&a, stage);
	}
	require(ret || until(load(stage) == 3));
	return ret ? ret : accessor_leave(&a);
}

TEST(epoch_traps_are_gone_with_their_origin)
{
	int *stage = shared(sizeof(*stage));

	partition_new("3x1x1", "");
	EXPECT_TRUE(job_run(SIZE, broken, stage, ORIGIN));
}

/* As many events as make more be lost: of gets that fail, in epoch @id elsewhere. */
static int deafen(struct accessor *a, uint32_t id, struct bgdma_region *foreign)
{
	struct bgdma_ctx *ctx = bgdma_endpoint_ctx(a->m.ep);
	struct bgdma_access_attr attr = access_at(a, 0, 8, 0);
	uint64_t before = bgdma_events_lost(ctx);
	struct bgdma_rma_epoch *e;

	require_is(0, bgdma_epoch_begin(a->window, 0, id, 0, &e));
	attr.local.region = foreign;
	require(until(bgdma_epoch_get(e, &attr) ||
		      bgdma_events_lost(ctx) > before));
	require(bgdma_events_lost(ctx) > before);
	return 0;
}

/* The target hears neither that an epoch asks nor that its origin died. */
static int deaf_target(struct accessor *a, int *stage)
{
	struct bgdma_epoch first = { 0 };
	struct bgdma_region *foreign;

	require_is(0, bgdma_region_alloc(bgdma_endpoint_ctx(a->m.ep), PAGE,
					 BGDMA_LOCAL_WRITE, &foreign));
	require_is(0, deafen(a, 1, foreign));
	store(stage, 1);
	require(until(at_gate(a, &first) == 1 &&
		      first.state == BGDMA_EPOCH_ASKED));
	require(is_writable(memory));
	require(until(bgdma_endpoint_progress(a->m.ep, 64) >= 0 &&
		      load(stage) == 2));
	require(!is_writable(memory));
	racing_store(memory + PAGE);
	require_is(1, catches);
	require_is(ORIGIN, caught[0].rank);
	require_is(77, caught[0].epoch);
	require_is(0, deafen(a, 2, foreign));
	store(stage, 4);
	return left_alone(a, stage);
}

static int deaf(uint32_t rank, uint32_t size, void *arg)
{
	int *stage = arg, ret = 0;
	struct bgdma_rma_epoch *e;
	struct accessor a = { 0 };

	(void)size;
	/* Who has no thread hears when it is asked to. */
	require_is(0, trap_open_as(&a, rank == TARGET ? BGDMA_TRAP_ALL :
						       BGDMA_TRAP_NOTHING,
				   BGDMA_PROGRESS_CALLER));
	require_is(0, meet(&a));
	if (rank == ORIGIN) {
		require(until(load(stage) == 1));
		require_is(0, bgdma_epoch_begin(a.window, TARGET, 77, 0, &e));
		store(stage, 2);
		require(until(load(stage) == 4));
		return raise(SIGKILL);
	}
	if (rank == TARGET)
		ret = deaf_target(&a, stage);
	require(ret || until(load(stage) == 3));
	return ret ? ret : accessor_leave(&a);
}

TEST(epoch_traps_though_events_are_lost)
{
	int *stage = shared(sizeof(*stage));

	partition_new("3x1x1", "");
	EXPECT_TRUE(job_run(SIZE, deaf, stage, ORIGIN));
}

/* One that began later and is over is not who races. */
static int misnamed(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_rma_epoch *e;
	struct accessor a = { 0 };
	int *stage = arg;

	(void)size;
	require_is(0, trap_open_as(&a, BGDMA_TRAP_ALL, rank == 1 ?
				   BGDMA_PROGRESS_CALLER : BGDMA_PROGRESS_THREAD));
	if (rank == 1) {
		require(until(bgdma_endpoint_progress(a.m.ep, 64) >= 0 &&
			      load(stage) == 2));
		require(until(at_gate(&a, NULL) == 1));
		(void)bgdma_endpoint_progress(a.m.ep, 64);
		racing_store(memory + 5);
		require_is(1, catches);
		require_is(0, caught[0].rank);
		require_is(77, caught[0].epoch);
		store(stage, 3);
	} else {
		require(until(load(stage) == (rank ? 1 : 0)));
		require_is(0, bgdma_epoch_begin(a.window, 1, rank ? 88 : 77, 0, &e));
		if (rank == 0) {
			store(stage, 1);
			require(until(load(stage) == 3));
		}
		require_is(0, bgdma_epoch_close(e));
		if (rank == 2)
			store(stage, 2);
	}
	require_is(0, meet(&a));
	return accessor_close(&a);
}

TEST(epoch_traps_name_one_that_is_not_over)
{
	partition_new("3x1x1", "");
	EXPECT_TRUE(job_run(3, misnamed, shared(sizeof(int)), -1));
}

/* Many epochs at once, of several: each is allowed, and none is lost. */
static int many(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_rma_epoch *e;
	struct accessor a = { 0 };
	uint32_t i, target;

	(void)arg;
	require_is(0, trap_open(&a, BGDMA_TRAP_ALL));
	for (i = 0; i < 60; i++) {
		target = (rank + i) % size;
		require_is(0, bgdma_epoch_begin(a.window, target, rank + 1,
						i % 3 ? 0 :
						BGDMA_EPOCH_EXCLUSIVE, &e));
		require_is(0, put(&a, e, 0, 8, rank * 8));
		require_is(0, bgdma_epoch_close(e));
	}
	require_is(0, meet(&a));
	require(until(at_gate(&a, NULL) == 0));
	return accessor_close(&a);
}

TEST(epoch_traps_with_many_epochs)
{
	partition_new("4x1x1", "");
	EXPECT_TRUE(job_run(4, many, NULL, -1));
}

/* Who sets a handler while there are traps keeps it when there are none any more. */
static void later_handler(int signal)
{
	(void)signal;
}

static int handler_of_others(uint32_t rank, uint32_t size, void *arg)
{
	struct sigaction now;
	struct accessor a = { 0 };

	(void)rank;
	(void)size;
	(void)arg;
	require_is(0, trap_open(&a, BGDMA_TRAP_ALL));
	require(signal(SIGSEGV, later_handler) != SIG_ERR);
	require_is(0, bgdma_window_free(a.window));
	require_is(0, sigaction(SIGSEGV, NULL, &now));
	require(now.sa_handler == later_handler);
	return member_close(&a.m);
}

TEST(epoch_traps_leave_the_handlers_of_others)
{
	partition_new("1x1x1", "");
	EXPECT_TRUE(job_run(1, handler_of_others, NULL, -1));
}

/* Elsewhere it is a fault as ever, for whoever was there before. */
static sigjmp_buf back;

static void own_handler(int signal)
{
	(void)signal;
	siglongjmp(back, 1);
}

static int elsewhere(uint32_t rank, uint32_t size, void *arg)
{
	const struct bgdma_window_attr other = {
		.length = PAGE, .trap = BGDMA_TRAP_ALL,
	};
	struct bgdma_window *second;
	struct accessor a = { 0 };
	uint8_t *nowhere = mmap(NULL, PAGE, PROT_NONE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)rank;
	(void)size;
	(void)arg;
	require(signal(SIGSEGV, own_handler) != SIG_ERR);
	require_is(0, trap_open(&a, BGDMA_TRAP_ALL));
	if (!sigsetjmp(back, 1)) {
		racing_store(nowhere);
		return 1;
	}
	require_is(0, catches);
	/* Also when one of two trapped windows has ended. */
	require_is(0, bgdma_window_create(a.rma, &other, &second));
	require_is(0, bgdma_window_free(second));
	if (!sigsetjmp(back, 1)) {
		racing_store(nowhere);
		return 1;
	}
	require_is(0, bgdma_window_free(a.window));
	if (!sigsetjmp(back, 1)) {
		racing_store(nowhere);
		return 1;
	}
	return member_close(&a.m);
}

TEST(epoch_traps_nothing_else)
{
	partition_new("1x1x1", "");
	EXPECT_TRUE(job_run(1, elsewhere, NULL, -1));
}

/* Memory of the driver's, which cannot be split: all of it is open then. */
static int whole(uint32_t rank, uint32_t size, void *arg)
{
	const struct bgdma_endpoint_attr ep = {
		.progress = BGDMA_PROGRESS_THREAD,
	};
	const struct bgdma_window_attr window = {
		.length = BYTES, .trap = BGDMA_TRAP_ALL, .race = on_race,
		.arg = memory,
	};
	struct bgdma_rma_epoch *e;
	struct accessor a = { 0 };
	int *stage = arg;

	(void)size;
	require_is(0, accessor_open_as(&a, ep, (struct bgdma_rma_attr){ 0 },
				       &window));
	require_is(0, meet(&a));
	if (rank == ORIGIN) {
		require_is(0, bgdma_epoch_begin(a.window, TARGET, 77, 0, &e));
		store(stage, 1);
		require(until(load(stage) == 2));
		require_is(0, bgdma_epoch_close(e));
	} else if (rank == TARGET) {
		require(until(load(stage) == 1));
		racing_store((uint8_t *)a.own + PAGE + 5);
		require_is(1, catches);
		require_is(PAGE + 5, caught[0].offset);
		racing_store((uint8_t *)a.own + 2 * PAGE);
		require_is(1, catches);
		store(stage, 2);
	}
	require_is(0, meet(&a));
	return accessor_close(&a);
}

TEST(epoch_traps_what_cannot_be_split)
{
	partition_new("3x1x1", "");
	EXPECT_TRUE(job_run(SIZE, whole, shared(sizeof(int)), -1));
}

struct ending {
	bool own;	/* memory, and not the driver's */
	int stage;
};

/* An endpoint ends while memory is protected: what is still there is open then. */
static int ends_trapping(uint32_t rank, uint32_t size, void *arg)
{
	const struct bgdma_endpoint_attr ep = { .progress = BGDMA_PROGRESS_THREAD };
	struct ending *t = arg;
	const struct bgdma_window_attr window = {
		.addr = t->own ? memory : NULL, .length = BYTES,
		.trap = BGDMA_TRAP_ALL,
	};
	struct bgdma_rma_epoch *e;
	struct accessor a = { 0 };

	(void)size;
	require_is(0, accessor_open_as(&a, ep, (struct bgdma_rma_attr){ 0 },
				       &window));
	require_is(0, meet(&a));
	if (rank == ORIGIN) {
		require_is(0, bgdma_epoch_begin(a.window, TARGET, 77, 0, &e));
		store(&t->stage, 1);
		require(until(load(&t->stage) == 2));
	} else if (rank == TARGET) {
		require(until(load(&t->stage) == 1));
		require(!is_writable(a.own));
		require_is(0, accessor_leave(&a));
		require_is(0, nowhere);
		require_is(t->own, is_writable(a.own));
		store(&t->stage, 2);
		return 0;
	}
	require(until(load(&t->stage) == 2));
	return accessor_leave(&a);
}

TEST(epoch_traps_end_with_the_endpoint)
{
	struct ending *t = shared(sizeof(*t));

	partition_new("3x1x1", "");
	EXPECT_TRUE(job_run(SIZE, ends_trapping, t, -1));
	*t = (struct ending){ .own = true };
	EXPECT_TRUE(job_run(SIZE, ends_trapping, t, -1));
}

TEST_HARNESS_MAIN
