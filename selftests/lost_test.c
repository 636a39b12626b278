// SPDX-License-Identifier: GPL-2.0
/*
 * A kernel that another one takes for dead, and that heard that one all the time: both
 * know of it in the end. Each node has a namespace of its own, see links.h.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "kselftest_harness.h"
#include "links.h"
#include "utils.h"

FIXTURE(lost) {
	struct end a, b;
};

FIXTURE_SETUP(lost)
{
	links_hasty();
	pair_new(&self->a, &self->b);
	if (!links_used())
		SKIP(return, "needs veth, and a bridge");
}

FIXTURE_TEARDOWN(lost)
{
	node_close(&self->b.n);
	node_close(&self->a.n);
}

/* How a transfer ends that is there at once, or is refused. */
static int put(struct end *from, struct end *to)
{
	struct bgdma_desc d = d_put(to->n.at.rank, from->mem.handle, 0,
				    to->mem.handle, 0, 4096);

	d.dst_ctx = to->n.at.ctx;
	fill(from->mem.p, 4096, 7);
	memset(to->mem.p, 0, 4096);
	return run(&from->inj, &d);
}

static bool lands(struct end *from, struct end *to)
{
	return put(from, to) == BGDMA_OK && filled(to->mem.p, 4096, 7);
}

/* It does not take others for dead while this test runs. */
static int patient(__u32 rank)
{
	int ret;

	links_enter(rank);
	ret = system("bgdma link set dev bg0 partition " PARTITION
		     " timeout 600000 >&2");
	links_leave();
	return ret;
}

static bool is_told(struct end *e, const struct end *of)
{
	struct bgdma_event event;

	do {
		if (!event_wait(&e->n, BGDMA_EVENT_PEER_DOWN, &event))
			return false;
	} while (event.peer_rank != of->n.at.rank ||
		 event.peer_incarnation != of->n.at.incarnation);
	return true;
}

TEST_F_TIMEOUT(lost, x3_who_was_taken_for_dead_gives_up_too, 120)
{
	struct end *a = &self->a, *b = &self->b;
	struct bgdma_event event;

	ASSERT_TRUE(lands(a, b));
	ASSERT_TRUE(lands(b, a));
	ASSERT_EQ(0, patient(1));
	/* The first hears nothing of the second, which hears it. */
	links_deaf(0, true);
	ASSERT_TRUE(is_told(a, b));
	EXPECT_FALSE(event_next(&b->n, &event));
	links_deaf(0, false);
	EXPECT_TRUE(is_told(b, a));
	EXPECT_TRUE(until(lands(a, b)));
	EXPECT_TRUE(until(lands(b, a)));
}

/* ---- A machine that stands still --------------------------------------- */

#define RT	"/proc/sys/kernel/sched_rt_runtime_us"
#define FAIR	"/sys/kernel/debug/sched/fair_server/cpu%u/runtime"

/* What it was; of kernels that do not have it "". */
static void replace(const char *path, const char *text, char *was, size_t size)
{
	FILE *f = fopen(path, "r");

	*was = '\0';
	if (!f)
		return;
	must(fgets(was, (int)size, f) ? 0 : -EIO);
	fclose(f);
	must(write_file(path, text));
}

static void restore(const char *path, const char *was)
{
	if (*was)
		must(write_file(path, was));
}

#define STILL_MAX	8	/* processors */

struct still {
	__u64 end;
	unsigned int ready;
	unsigned int go;
};

/* Nobody gets in the way of who has a processor at this priority. */
static void hold(unsigned int cpu, struct still *all)
{
	const struct sched_param most = { .sched_priority = 99 };
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		_exit(1);
	__atomic_add_fetch(&all->ready, 1, __ATOMIC_RELEASE);
	while (!load(&all->go))
		usleep(1000);
	if (sched_setscheduler(0, SCHED_FIFO, &most))
		_exit(2);
	while (now_ns() < all->end)
		;
	_exit(0);
}

/* Why the machine had better not; or NULL. */
static const char *must_not_stand(void)
{
	if (slowness() > 5)
		return "the kernel's watchdogs would mind";
	if (sysconf(_SC_NPROCESSORS_ONLN) > STILL_MAX)
		return "processors are many";
	return NULL;
}

/* All processors are taken, also what of their time the kernel keeps for others. */
static bool stand_still(unsigned int ms)
{
	unsigned int n = (unsigned int)sysconf(_SC_NPROCESSORS_ONLN), i;
	struct still *all = shared(sizeof(*all));
	char rt[32], fair[STILL_MAX][32], path[64];
	int status, bad = 0;
	bool still;

	must(n <= STILL_MAX ? 0 : -E2BIG);
	for (i = 0; i < n; i++) {
		snprintf(path, sizeof(path), FAIR, i);
		replace(path, "0", fair[i], sizeof(fair[i]));
	}
	replace(RT, "-1", rt, sizeof(rt));
	for (i = 0; i < n; i++)
		if (!must(fork()))
			hold(i, all);
	while (load(&all->ready) < n)
		usleep(1000);
	all->end = now_ns() + ms * 1000000ULL;
	store(&all->go, 1);
	/* Who finds out how late it is has waited for a processor. */
	usleep(100000);
	still = now_ns() >= all->end;
	for (i = 0; i < n; i++) {
		must(wait(&status));
		bad |= status;
	}
	restore(RT, rt);
	for (i = 0; i < n; i++) {
		snprintf(path, sizeof(path), FAIR, i);
		restore(path, fair[i]);
	}
	munmap(all, sizeof(*all));
	return still && !bad;
}

/* Nothing comes for longer than the time-out; but nobody would have heard it. */
TEST_F_TIMEOUT(lost, x3_who_stood_still_takes_nobody_for_dead, 120)
{
	struct end *a = &self->a, *b = &self->b;
	struct bgdma_event event;
	unsigned int turn;

	if (must_not_stand())
		SKIP(return, "%s", must_not_stand());
	ASSERT_TRUE(lands(a, b));
	for (turn = 0; turn < 2; turn++) {
		links_deaf(0, true);
		ASSERT_TRUE(stand_still(3000 * slowness()));
		usleep(200000 * slowness());
		links_deaf(0, false);
		sleep(slowness());
		EXPECT_FALSE(event_next(&a->n, &event));
		EXPECT_FALSE(event_next(&b->n, &event));
		EXPECT_TRUE(until(lands(a, b)));
		EXPECT_TRUE(until(lands(b, a)));
	}
}

/* Who does so all the time finds out all the same who is gone, a few turns later. */
TEST_F_TIMEOUT(lost, x3_who_stands_still_again_and_again, 120)
{
	struct bgdma_event event = { };
	unsigned int turn;
	bool told = false;

	if (must_not_stand())
		SKIP(return, "%s", must_not_stand());
	ASSERT_TRUE(lands(&self->a, &self->b));
	links_down(1);
	/* Between them there is less time than the time-out. */
	for (turn = 0; turn < 5 && !told; turn++) {
		ASSERT_TRUE(stand_still(700 * slowness()));
		usleep(300000 * slowness());
		told = event_next(&self->a.n, &event);
	}
	EXPECT_TRUE(told);
	EXPECT_EQ(BGDMA_EVENT_PEER_DOWN, (int)event.type);
	EXPECT_EQ(1, event.peer_rank);
}

/* Who leaves while it is thought to be dead already is missed by the other side. */
TEST_F_TIMEOUT(lost, x3_who_leaves_meanwhile_is_missed, 120)
{
	struct end *a = &self->a, *b = &self->b;

	ASSERT_TRUE(lands(b, a));
	ASSERT_EQ(0, patient(1));
	links_deaf(0, true);
	ASSERT_TRUE(is_told(a, b));
	node_close(&a->n);
	links_deaf(0, false);
	EXPECT_TRUE(is_told(b, a));
	/* For the end of the test. */
	node_new(&a->n, 0);
}

TEST_HARNESS_MAIN
