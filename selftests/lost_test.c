// SPDX-License-Identifier: GPL-2.0
/*
 * A kernel that another one takes for dead, and that heard that one all the time: both
 * know of it in the end. Each node has a namespace of its own, see links.h.
 */
#include <glob.h>
#include <sched.h>
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

/* Nobody gets in the way of who has a processor at this priority. */
static int at_once(unsigned int cpu)
{
	const struct sched_param most = { .sched_priority = 99 };
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set) ||
	       sched_setscheduler(0, SCHED_FIFO, &most) ? -errno : 0;
}

/* So many ns of each second newer kernels keep for all others. */
static void fair(const char *ns)
{
	glob_t found = { };
	size_t i;

	glob("/sys/kernel/debug/sched/fair_server/cpu*/runtime", 0, NULL, &found);
	for (i = 0; i < found.gl_pathc; i++)
		must(write_file(found.gl_pathv[i], ns));
	globfree(&found);
}

/* Of each second nobody has a processor for longer, where that is a number. */
static void throttled(const char *us)
{
	must(write_file("/proc/sys/kernel/sched_rt_runtime_us", us));
}

/* Longer than links_hasty()'s time-out this machine has no time for anybody. */
static void stand_still(void)
{
	unsigned int n = (unsigned int)sysconf(_SC_NPROCESSORS_ONLN), i;
	__u64 end = now_ns() + (2000 * slowness() + 1000) * 1000000ULL;

	fair("0");
	throttled("-1");
	for (i = 0; i < n; i++) {
		if (must(fork()))
			continue;
		if (at_once(i))
			_exit(1);
		while (now_ns() < end)
			;
		_exit(0);
	}
	for (i = 0; i < n; i++) {
		int status;

		must(wait(&status));
		must(status ? -EPERM : 0);
	}
	throttled("950000");
	fair("50000000");
}

/* Nothing comes for longer than the time-out; but nobody would have heard it. */
TEST_F_TIMEOUT(lost, x3_who_stood_still_takes_nobody_for_dead, 120)
{
	struct end *a = &self->a, *b = &self->b;
	struct bgdma_event event;
	unsigned int turn;

	if (slowness() > 5)
		SKIP(return, "the kernel's watchdogs would mind");
	ASSERT_TRUE(lands(a, b));
	for (turn = 0; turn < 2; turn++) {
		links_deaf(0, true);
		stand_still();
		usleep(200000 * slowness());
		links_deaf(0, false);
		sleep(slowness());
		EXPECT_FALSE(event_next(&a->n, &event));
		EXPECT_FALSE(event_next(&b->n, &event));
		EXPECT_TRUE(until(lands(a, b)));
		EXPECT_TRUE(until(lands(b, a)));
	}
}

/* Who is always late finds out all the same who is gone. */
TEST_F_TIMEOUT(lost, x3_who_stands_still_again_and_again, 120)
{
	struct bgdma_event event;
	unsigned int turn;

	if (slowness() > 5)
		SKIP(return, "the kernel's watchdogs would mind");
	ASSERT_TRUE(lands(&self->a, &self->b));
	links_down(1);
	for (turn = 0; turn < 4; turn++)
		stand_still();
	EXPECT_TRUE(event_wait(&self->a.n, BGDMA_EVENT_PEER_DOWN, &event));
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
