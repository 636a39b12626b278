// SPDX-License-Identifier: GPL-2.0
/*
 * Deaths, at every call into the kernel: of three processes that do the same with a
 * window one dies before its nth ioctl, for every n. In a partition that is not
 * polled each submission is one, too. Each process is origin and target.
 */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "kselftest_harness.h"
#include "rma_util.h"

#define VICTIM		1
#define SIZE		3

#define LONG_PUT	20000U	/* more than a slice */

enum kind { DRIVERS, USERS, DYNAMIC };

struct told {
	enum kind kind;
	unsigned int nth;
	int dying, survived;
	uint32_t through;	/* survivors that are */
	uint32_t accessed;	/* those that access nothing any more */
};

static uint8_t memory[WINDOW] PINNED, more[WINDOW] PINNED;

/* The victim's: ioctls until the one before which it dies; 0: it lives. */
static unsigned int until_death;
static struct told *victim;

/* Instead of libc's, for the library too: it rings doorbells by this one. */
long syscall(long number, ...)
{
	static long (*real)(long number, ...);
	unsigned long arg[6];
	unsigned int i;
	va_list list;

	if (!real)
		real = dlsym(RTLD_NEXT, "syscall");
	va_start(list, number);
	for (i = 0; i < 6; i++)
		arg[i] = va_arg(list, unsigned long);
	va_end(list);
	if (number == SYS_ioctl && until_death && !--until_death) {
		store(&victim->dying, 1);
		raise(SIGKILL);
	}
	return real(number, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
}

int ioctl(int fd, unsigned long request, ...)
{
	va_list list;
	void *arg;

	va_start(list, request);
	arg = va_arg(list, void *);
	va_end(list);
	return (int)syscall(SYS_ioctl, fd, request, arg);
}

static const struct bgdma_window_attr sorts[] = {
	[DRIVERS] = { .length = WINDOW },
	[USERS] = { .addr = memory, .length = WINDOW },
	[DYNAMIC] = { .dynamic = true },
};

/* All that the others may notice of a death. */
#define fine(call)							\
do {									\
	long fine_ = (long)(call);					\
									\
	if (fine_ && fine_ != -EHOSTDOWN)				\
		require_is(0, fine_);					\
} while (0)

static uint64_t at(const struct told *t, const uint8_t *p, uint64_t offset)
{
	return (t->kind == DYNAMIC ? (uintptr_t)p : 0) + offset;
}

/* ---- Steps -------------------------------------------------------------- */

/* Of an epoch at @to: each sort, some with requests. */
static int accesses(const struct accessor *a, const struct told *t,
		    uint32_t to, bool requests)
{
	uint64_t own = a->m.rank * 64;
	struct bgdma_rma_request r[4];
	struct bgdma_update_attr add = {
		.op = BGDMA_ATOMIC_ADD, .type = BGDMA_ATOMIC_U64, .count = 1,
		.at = at(t, memory, own), .operand = 1,
		.result = { a->region, 100000 },
		.request = requests ? &r[0] : NULL,
	};
	struct bgdma_access_attr attr = access_at(a, own, 64, at(t, memory,
								 1024 + own));
	unsigned int i;
	int ret[4];

	attr.request = requests ? &r[1] : NULL;
	ret[0] = bgdma_window_update(a->window, to, &add);
	fine(ret[0]);
	ret[1] = bgdma_window_put(a->window, to, &attr);
	fine(ret[1]);
	attr.request = requests ? &r[2] : NULL;
	attr.local.offset = 200000;
	ret[2] = bgdma_window_get(a->window, to, &attr);
	fine(ret[2]);
	attr = access_at(a, 4096, LONG_PUT, at(t, memory, 4096));
	attr.request = requests ? &r[3] : NULL;
	ret[3] = bgdma_window_put(a->window, to, &attr);
	fine(ret[3]);
	for (i = 0; requests && i < 4; i++)
		if (!ret[i])
			fine(bgdma_rma_wait(&r[i]));
	/* Made here, of compare and swap. */
	add.op = BGDMA_RMA_LOR;
	add.request = NULL;
	fine(bgdma_window_update(a->window, to, &add));
	return 0;
}

static int step_fence(struct accessor *a, const struct told *t)
{
	uint32_t i;

	fine(bgdma_window_fence(a->window, 0));
	for (i = 0; i < SIZE; i++)
		require_is(0, accesses(a, t, i, false));
	fine(bgdma_window_fence(a->window, 0));
	for (i = 0; i < SIZE; i++)
		require_is(0, accesses(a, t, i, true));
	fine(bgdma_window_fence(a->window, BGDMA_FENCE_LAST));
	return 0;
}

static int step_post(struct accessor *a, const struct told *t)
{
	uint32_t ranks[2] = { (a->m.rank + 1) % SIZE, (a->m.rank + 2) % SIZE };
	uint32_t n = 2, i;
	int ret;

	fine(bgdma_window_post(a->window, ranks, 2));
	ret = bgdma_window_start(a->window, ranks, 2);
	fine(ret);
	if (ret) {
		/* Who is left waits for us. */
		ranks[0] = SIZE - 1 - a->m.rank;
		n = 1;
		require_is(0, bgdma_window_start(a->window, ranks, 1));
	}
	for (i = 0; i < n; i++)
		require_is(0, accesses(a, t, ranks[i], i));
	fine(bgdma_window_complete(a->window));
	fine(bgdma_window_wait(a->window));
	return 0;
}

static int step_lock(struct accessor *a, const struct told *t)
{
	uint32_t i;
	int ret;

	for (i = 0; i < SIZE; i++) {
		ret = bgdma_window_lock(a->window, i, BGDMA_EPOCH_EXCLUSIVE);
		fine(ret);
		if (ret)
			continue;
		require_is(0, accesses(a, t, i, i % 2));
		fine(bgdma_window_flush(a->window, i));
		require_is(0, accesses(a, t, i, false));
		fine(bgdma_window_flush_local(a->window, i));
		fine(bgdma_window_unlock(a->window, i));
	}
	return 0;
}

static int step_lock_all(struct accessor *a, const struct told *t)
{
	uint32_t i;

	require_is(0, bgdma_window_lock_all(a->window));
	for (i = 0; i < SIZE; i++)
		require_is(0, accesses(a, t, i, false));
	fine(bgdma_window_flush(a->window, BGDMA_FLUSH_ALL));
	for (i = 0; i < SIZE; i++)
		require_is(0, accesses(a, t, i, true));
	fine(bgdma_window_flush_local(a->window, BGDMA_FLUSH_ALL));
	fine(bgdma_window_unlock_all(a->window));
	return 0;
}

/* ---- Before and after --------------------------------------------------- */

static int open_all(struct accessor *a, const struct told *t)
{
	require_is(0, accessor_open_as(a, (struct bgdma_endpoint_attr){ 0 },
				       (struct bgdma_rma_attr){ 0 },
				       &sorts[t->kind]));
	if (t->kind == DYNAMIC)
		require_is(0, bgdma_window_attach(a->window, memory, WINDOW));
	require_is(0, meet(a));
	return 0;
}

/* From here on the victim counts. */
static void arm(const struct accessor *a, struct told *t)
{
	victim = t;
	if (a->m.rank == VICTIM)
		until_death = t->nth;
}

/* The victim has made fewer calls; it ends in the same way, behind all steps. */
static int survive(struct told *t)
{
	until_death = 0;
	store(&t->survived, 1);
	require(until(load(&t->through) >= SIZE - 1));
	raise(SIGKILL);
	return 1;
}

/* Of the survivors: both are here. */
static bool together(struct told *t, uint32_t times)
{
	__atomic_add_fetch(&t->through, 1, __ATOMIC_SEQ_CST);
	return until(load(&t->through) >= times * (SIZE - 1));
}

/* What was the victim's is nobody's: the others go on, alone. */
static int go_on(struct accessor *a, struct told *t)
{
	struct bgdma_access_attr attr = access_at(a, 0, 64, at(t, memory, 0));
	uint32_t i, k;

	require_is(-EHOSTDOWN, meet(a));
	require(until(!at_gate(a, NULL)));
	/* Nobody begins an epoch at the other before that one has looked. */
	require(together(t, 2));
	for (k = 0; k < 3; k++) {
		for (i = 0; i < SIZE; i += SIZE - 1) {
			require_is(0, bgdma_window_lock(a->window, i,
							BGDMA_EPOCH_EXCLUSIVE));
			require_is(0, bgdma_window_put(a->window, i, &attr));
			require_is(0, bgdma_window_unlock(a->window, i));
		}
	}
	require_is(-EHOSTDOWN, bgdma_window_lock(a->window, VICTIM, 0));
	require(together(t, 3));
	require_is(-EHOSTDOWN, bgdma_window_free(a->window));
	require_is(0, bgdma_region_free(a->region));
	return 0;
}

/* ---- Epochs ------------------------------------------------------------- */

static int (*const steps[])(struct accessor *a, const struct told *t) = {
	step_fence, step_post, step_lock, step_lock_all,
};

static int epochs_and_death(uint32_t rank, uint32_t size, void *arg)
{
	struct accessor a = { 0 };
	struct told *t = arg;
	unsigned int i;

	(void)size;
	require_is(0, open_all(&a, t));
	arm(&a, t);
	for (i = 0; i < sizeof(steps) / sizeof(*steps); i++)
		require_is(0, steps[i](&a, t));
	if (rank == VICTIM)
		return survive(t);
	require(until(load(&t->dying) || load(&t->survived)));
	require(together(t, 1));
	if (load(&t->survived))
		require_is(0, at_gate(&a, NULL));
	else
		require_is(0, go_on(&a, t));
	return accessor_leave(&a);
}

/* ---- Making windows ------------------------------------------------------- */

/* Of the survivors: none has accesses under way any more. */
static bool accessed(struct told *t)
{
	__atomic_add_fetch(&t->accessed, 1, __ATOMIC_SEQ_CST);
	return until(load(&t->accessed) >= SIZE - 1);
}

static int attach_and_detach(struct accessor *a, struct told *t)
{
	struct bgdma_access_attr attr = access_at(a, 0, 64, at(t, more, 0));
	uint32_t i;
	int ret;

	require_is(0, bgdma_window_attach(a->window, more, WINDOW));
	ret = bgdma_window_fence(a->window, 0);
	fine(ret);
	/* Else there may be one that has attached nothing. */
	for (i = 0; !ret && i < SIZE; i++)
		fine(bgdma_window_put(a->window, i, &attr));
	fine(bgdma_window_fence(a->window, BGDMA_FENCE_LAST));
	/* One that fails says nothing of the others' accesses. */
	if (a->m.rank != VICTIM)
		require(accessed(t));
	require_is(0, bgdma_window_detach(a->window, more));
	return 0;
}

static int windows_and_death(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_window *first;
	struct accessor a = { 0 };
	struct told *t = arg;
	int ret;

	(void)size;
	require_is(0, open_all(&a, t));
	first = a.window;
	arm(&a, t);
	ret = bgdma_window_create(a.rma, &sorts[t->kind], &a.window);
	fine(ret);
	if (!ret && t->kind == DYNAMIC)
		require_is(0, attach_and_detach(&a, t));
	else if (rank != VICTIM)
		__atomic_add_fetch(&t->accessed, 1, __ATOMIC_SEQ_CST);
	if (!ret)
		fine(bgdma_window_free(a.window));
	a.window = first;
	if (rank == VICTIM)
		return survive(t);
	require(until(load(&t->dying) || load(&t->survived)));
	require(together(t, 1));
	if (load(&t->dying))
		require_is(0, go_on(&a, t));
	return accessor_leave(&a);
}

/* ---- All of them ---------------------------------------------------------- */

FIXTURE(step) {
	struct told *t;
};

FIXTURE_VARIANT(step) {
	enum kind kind;
};

FIXTURE_VARIANT_ADD(step, drivers_memory) { .kind = DRIVERS };
FIXTURE_VARIANT_ADD(step, users_memory) { .kind = USERS };
FIXTURE_VARIANT_ADD(step, dynamic) { .kind = DYNAMIC };

FIXTURE_SETUP(step)
{
	self->t = shared(sizeof(*self->t));
	partition_new("3x1x1", "poll-ns 0");
}

/* Nothing of anybody is left in it. */
FIXTURE_TEARDOWN(step)
{
	if (!links_used())
		EXPECT_EQ(0, partition("del", PARTITION, ""));
}

/*
 * At each call. On a slow kernel up to the @first, and of the later ones at each
 * @stride'th, others for another sort of window: there all of them take minutes.
 */
static bool deaths(struct told *t, enum kind sort, member_fn *fn,
		   unsigned int first, unsigned int stride)
{
	bool all = slowness() == 1;
	unsigned int nth;

	for (nth = 1; nth < 1000; nth++) {
		if (!all && nth > first && nth % stride != sort * stride / 3)
			continue;
		*t = (struct told){ .kind = sort, .nth = nth };
		if (!job_run(SIZE, fn, t, VICTIM)) {
			fprintf(stderr, "# before ioctl %u\n", nth);
			return false;
		}
		if (t->survived)
			return nth > first;
	}
	return false;
}

TEST_F_TIMEOUT(step, x3_ep8_in_an_epoch, 120)
{
	EXPECT_TRUE(deaths(self->t, variant->kind, epochs_and_death, 3, 30));
}

TEST_F(step, x3_when_windows_are_made)
{
	EXPECT_TRUE(deaths(self->t, variant->kind, windows_and_death, 4, 4));
}

TEST_HARNESS_MAIN
