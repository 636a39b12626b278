// SPDX-License-Identifier: GPL-2.0
/*
 * Races that are trapped: accesses of a target to its own window in an epoch.
 */
#include <setjmp.h>

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

static int trap_open(struct accessor *a, enum bgdma_window_trap trap)
{
	const struct bgdma_endpoint_attr ep = {
		.progress = BGDMA_PROGRESS_THREAD,
	};
	const struct bgdma_window_attr window = {
		.addr = memory, .length = BYTES, .trap = trap,
		.race = on_race, .arg = memory,
	};

	return accessor_open_as(a, ep, (struct bgdma_rma_attr){ 0 }, &window);
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
	if (rank == 0) {
		mark(a.local, BYTES, 3);
		require_is(0, bgdma_epoch_begin(a.window, 1, 77, 0, &e));
		/* The engine has other ways. */
		require_is(0, put(&a, e, 0, BYTES, 0));
		require_is(0, bgdma_epoch_flush(e));
		store(&t->stage, 1);
		require(until(load(&t->stage) == 2));
		require_is(0, bgdma_epoch_close(e));
		store(&t->stage, 3);
	} else {
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
		require_is(0, caught[all].rank);
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

	partition_new("2x1x1", "");
	t->trap = BGDMA_TRAP_WRITES;
	EXPECT_TRUE(job_run(2, races, t, -1));
	t->trap = BGDMA_TRAP_ALL;
	t->stage = 0;
	EXPECT_TRUE(job_run(2, races, t, -1));
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

TEST_HARNESS_MAIN
