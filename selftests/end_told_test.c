// SPDX-License-Identifier: GPL-2.0
/*
 * SPEC X-3: who is told of the end of a process, and what comes before the word.
 */
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <endian.h>

#include "kselftest_harness.h"
#include "utils.h"

/* ---- Who watches --------------------------------------------------------- */

static int come_and_leave(void *arg)
{
	struct node n;

	(void)arg;
	node_new(&n, 2);
	node_close(&n);
	return 0;
}

static bool heard(struct node *n, __u32 rank)
{
	while (n->events_head < load(&n->kctl->events_tail)) {
		const struct bgdma_event *e =
			&n->events[n->events_head++ & (n->at.events - 1)];

		if (e->type == BGDMA_EVENT_PEER_DOWN && e->peer_rank == rank)
			return true;
	}
	return false;
}

/* Nothing was exchanged; those of others are none of its business. */
TEST(x3_who_watches_hears_of_those_of_its_user)
{
	const struct bgdma_attach watch = {
		.flags = BGDMA_ATTACH_WATCH, .ctx = BGDMA_CTX_ANY,
	};
	struct node n, other;

	partition_new("4x1x1", "");
	node_new(&other, 0);
	must(node_try(&n, PARTITION, 3, &watch));
	must(in_child(come_and_leave, NULL));
	EXPECT_TRUE(heard(&n, 2));
	EXPECT_FALSE(heard(&other, 2));
	must(as_user(1000, come_and_leave, NULL));
	EXPECT_FALSE(heard(&n, 2));
	node_close(&n);
	node_close(&other);
}

/* ---- The last piece --------------------------------------------------- */

#define LATE_ENDS	8U
#define LATE_BYTES	(64 * KIB)

/* Puts to one after the other, in a memory that outlives who attached. */
static struct {
	struct node end[LATE_ENDS];
	struct region mem[LATE_ENDS];
	struct node n;
	struct inj inj;
	struct region src;
	__u32 turn;
} late;

static int ring_on(void *arg)
{
	(void)arg;
	for (; late.turn < LATE_ENDS; store(&late.turn, late.turn + 1)) {
		struct bgdma_desc d = d_put(0, late.src.handle, 0,
					    late.mem[late.turn].handle, 0,
					    LATE_BYTES);

		d.dst_ctx = htole16(late.end[late.turn].at.ctx);
		put_in(&late.inj, &d);
		store(&late.inj.user->tail, late.inj.tail);
		store(&late.n.uctl->doorbell[0], 1ULL << late.inj.id);
		if (doorbell(&late.n, 0))
			break;
	}
	return 0;
}

/* Its files are gone while another process in its memory is in a doorbell. */
static void leave_at(__u32 turn)
{
	static char stack[64 * KIB] __attribute__((aligned(16)));

	node_new(&late.n, 2);
	inj_new(&late.inj, &late.n);
	region_new(&late.src, &late.n, LATE_BYTES);
	memset(late.src.p, 1, LATE_BYTES);
	must(clone(ring_on, stack + sizeof(stack),
		   CLONE_VM | CLONE_PARENT | SIGCHLD, NULL));
	while (load(&late.turn) < turn)
		;
	_exit(0);
}

/* Pages that are there, of all. */
static __u32 landed(void)
{
	__u32 i, n = 0;
	size_t at;

	for (i = 0; i < LATE_ENDS; i++)
		for (at = PAGE - 1; at < LATE_BYTES; at += PAGE)
			n += load(&late.mem[i].p[at]);
	return n;
}

static bool one_heard(void)
{
	__u32 i;

	for (i = 0; i < LATE_ENDS; i++)
		if (load(&late.end[i].kctl->events_tail))
			return true;
	return false;
}

FIXTURE(told) {
};

FIXTURE_SETUP(told)
{
	partition_new("4x1x1", "poll-ns 0");
}

FIXTURE_TEARDOWN(told)
{
}

TEST_F_TIMEOUT(told, x3_the_last_piece_comes_before_the_word, 120)
{
	__u32 life, i, before;
	struct bgdma_event e;

	for (life = 0; life < 200 / slowness(); life++) {
		for (i = 0; i < LATE_ENDS; i++) {
			node_new(&late.end[i], 0);
			region_new(&late.mem[i], &late.end[i], LATE_BYTES);
		}
		if (!must(fork()))
			leave_at(1 + life % (LATE_ENDS - 1));
		ASSERT_TRUE(until(one_heard()));
		before = landed();
		must(wait(NULL) < 0 ? -errno : 0);
		must(wait(NULL) < 0 ? -errno : 0);
		EXPECT_EQ(before, landed());
		for (i = 0; i < LATE_ENDS; i++) {
			/* Whoever has something of it heard of its end. */
			if (late.mem[i].p[PAGE - 1])
				EXPECT_TRUE(event_wait(&late.end[i],
						       BGDMA_EVENT_PEER_DOWN,
						       &e));
			node_close(&late.end[i]);
			munmap(late.mem[i].p, LATE_BYTES);
		}
	}
}

TEST_HARNESS_MAIN
