// SPDX-License-Identifier: GPL-2.0
/*
 * Users who take more than their share, or make others look at it. A
 * processor that is held up shows in the kernel's log.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "pair.h"
#include "tree.h"

#define ATTACKER	4242
#define WATCHES		20000
#define MESSAGES	200
#define RING		16384

FIXTURE_PAIR(hostile)

/* ---- Sleepers without number ------------------------------------------ */

static void watch(int fd, int times)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };
	int ep = (int)must(epoll_create1(EPOLL_CLOEXEC));

	while (times--)
		must(epoll_ctl(ep, EPOLL_CTL_ADD, (int)must(dup(fd)), &event));
}

/* Sends to itself for ever; each packet wakes all of its watches. */
static void wake_many(int *ready)
{
	const struct rlimit files = { WATCHES + 1000, WATCHES + 1000 };
	struct bgdma_desc d;
	struct node n;
	struct rec r;
	struct inj f;
	int i;

	must(setrlimit(RLIMIT_NOFILE, &files));
	must(setresuid(ATTACKER, ATTACKER, ATTACKER));
	node_new(&n, 2);
	must(rec_try(&r, &n, BGDMA_ID_ANY, RING));
	must(inj_try(&f, &n, BGDMA_ID_ANY, 256));
	watch(n.fd, WATCHES);
	store(&r.user->arm, BGDMA_ARM_ANY);
	d = d_local_memfifo(r.id, BGDMA_NONE, 0, 8);
	d.flags |= BGDMA_DESC_INLINE;
	memset(&d.u, 0, sizeof(d.u));
	for (i = 0; i < 256; i++)
		f.ring[i] = d;
	store(ready, 1);
	for (;;) {
		store(&f.user->tail, load(&f.kern->done) + 256);
		__atomic_or_fetch(&n.uctl->doorbell[0], 1ULL << f.id,
				  __ATOMIC_SEQ_CST);
		store(&r.user->head, load(&r.kern->tail));
		__atomic_or_fetch(&n.uctl->doorbell_rec, 1ULL << r.id,
				  __ATOMIC_SEQ_CST);
		doorbell(&n, BGDMA_DOORBELL_POOL);
	}
}

TEST_F(hostile, x2_sleepers_without_number)
{
	int *ready = shared(sizeof(*ready));
	struct bgdma_desc d;
	struct rec r;
	struct inj f;
	pid_t pid;
	int i;

	pid = (pid_t)must(fork());
	if (!pid)
		wake_many(ready);
	ASSERT_TRUE(until(load(ready)));

	ASSERT_EQ(0, rec_try(&r, &self->b.n, BGDMA_ID_ANY, RING));
	ASSERT_LT(0, grant(&self->b.n, BGDMA_KIND_REC_FIFO, r.id,
			   BGDMA_RANK_ANY, BGDMA_RIGHT_ACCEPT));
	ASSERT_EQ(0, inj_try(&f, &self->a.n, BGDMA_ID_ANY, 16));
	d = d_inline(self->b.n.at.rank, r.id, "x", 1);
	for (i = 0; i < MESSAGES; i++) {
		inject(&f, &d);
		doorbell(&self->a.n, BGDMA_DOORBELL_POOL);
		ASSERT_TRUE(until(load(&f.kern->done) == load(&f.user->tail)));
		store(&r.user->head, load(&r.kern->tail));
	}
	kill(pid, SIGKILL);
	ASSERT_EQ(pid, waitpid(pid, NULL, 0));
}

/* ---- Events without number -------------------------------------------- */

/* Comes, sends what is refused, and goes, many times over. */
static int knock(void *arg)
{
	const struct rec *to = arg;
	struct bgdma_desc d;
	struct node n;
	struct inj f;
	int i;

	for (i = 0; i < 100; i++) {
		node_new(&n, 2);
		must(inj_try(&f, &n, BGDMA_ID_ANY, 16));
		d = d_inline(0, to->id, "x", 1);
		inject(&f, &d);
		if (outcome(&f, 0) != BGDMA_E_RIGHTS)
			return 1;
		node_close(&n);
	}
	return 0;
}

/* The same with greetings, for which nobody has to be asked. */
static int greet(void *arg)
{
	const struct rec *to = arg;
	struct node n;
	int i;

	for (i = 0; i < 100; i++) {
		node_new(&n, 2);
		must(class_of_two(&n, to->n));
		must(until(!class_unbind(&n, CLASS, 0)) ? 0 : -ETIME);
		node_close(&n);
	}
	return 0;
}

TEST_F(hostile, x2_who_only_knocks_leaves_no_event)
{
	struct bgdma_desc bad = d_nop();
	struct node *n = &self->a.n;
	struct rec r;
	struct inj f;
	__u64 tail;

	ASSERT_EQ(0, rec_try(&r, n, BGDMA_ID_ANY, RING));
	tail = load(&n->kctl->events_tail);
	ASSERT_EQ(0, in_child(knock, &r));
	ASSERT_EQ(0, in_child(greet, &r));
	EXPECT_EQ(tail, load(&n->kctl->events_tail));
	EXPECT_EQ(0, load(&n->kctl->events_lost));

	ASSERT_EQ(0, inj_try(&f, n, BGDMA_ID_ANY, 16));
	bad.op = 99;
	inject(&f, &bad);
	EXPECT_EQ(BGDMA_E_OP, outcome(&f, 0));
	EXPECT_EQ(tail + 1, load(&n->kctl->events_tail));
}

/* ---- A namespace of one's own ----------------------------------------- */

static int greedy(void *arg)
{
	static const char root[] = "0 4242 1";	/* ATTACKER */
	const char *limits = arg;
	int map;

	must(unshare(CLONE_NEWUSER | CLONE_NEWNET));
	/* Who has changed his user does not own his files in /proc. */
	must(prctl(PR_SET_DUMPABLE, 1));
	map = (int)must(open("/proc/self/uid_map", O_WRONLY | O_CLOEXEC));
	must(write(map, root, sizeof(root) - 1));
	close(map);
	return partition("add", "greedy", limits);
}

TEST_F(hostile, x2_limits_in_a_namespace_of_ones_own)
{
	EXPECT_EQ(0, as_user(ATTACKER, greedy, (void *)"dims 2x1x1"));
	EXPECT_EQ(0, as_user(ATTACKER, greedy, (void *)
			     "dims 2x1x1 quantum 4096 max-contexts 10"));
	EXPECT_NE(0, as_user(ATTACKER, greedy, (void *)"dims 2x1x1 quantum 65537"));
	EXPECT_NE(0, as_user(ATTACKER, greedy, (void *)
			     "dims 2x1x1 max-contexts 100000"));
	EXPECT_NE(0, as_user(ATTACKER, greedy, (void *)"dims 2x1x1 poll-ns 1000000"));
}

/* ---- What the owner sees of his FIFOs --------------------------------- */

TEST_F(hostile, dma3_clear_of_a_fifo_that_waits)
{
	struct bgdma_desc d;
	struct rec r;
	struct inj f;
	int i;

	ASSERT_EQ(0, rec_try(&r, &self->a.n, BGDMA_ID_ANY, RING));
	ASSERT_EQ(0, inj_try(&f, &self->a.n, BGDMA_ID_ANY, 1024));
	d = d_inline(self->a.n.at.rank, r.id, "x", 1);
	for (i = 0; i < 1000; i++)
		inject(&f, &d);
	doorbell(&self->a.n, 0);
	ASSERT_TRUE(until(load(&f.kern->state) == BGDMA_FIFO_BLOCKED));
	ASSERT_EQ(0, clear_error(&self->a.n, BGDMA_KIND_INJ_FIFO, f.id, 0));
	EXPECT_TRUE(until(load(&f.kern->state) == BGDMA_FIFO_BLOCKED));
}

TEST_F(hostile, dma2_cancelled_once)
{
	struct bgdma_desc d = d_nop();
	struct inj f;
	int i;

	ASSERT_EQ(0, inj_try(&f, &self->a.n, BGDMA_ID_ANY, 16));
	d.op = BGDMA_OP_PUT;
	for (i = 0; i < 3; i++) {
		f.ring[i] = d;
		store(&f.user->tail, (__u64)i + 1);
	}
	EXPECT_EQ(3, cancel(&f, 0, 2));
	EXPECT_EQ(0, cancel(&f, 0, 2));
}

/* ---- Waiters without number ------------------------------------------- */

#define WAITERS		1000

/* All wait for one FIFO, and are woken for every packet that leaves it. */
TEST_F(hostile, x2_waiters_without_number)
{
	const struct bgdma_attach room = {
		.ctx = BGDMA_CTX_ANY, .inj_fifos = BGDMA_INJ_FIFOS_MAX,
	};
	bool *seen = shared(WAITERS * sizeof(*seen));
	struct inj f[WAITERS];
	unsigned int i;
	struct node n;
	struct rec r;

	ASSERT_EQ(0, node_try(&n, PARTITION, 2, &room));
	ASSERT_EQ(0, rec_try(&r, &n, BGDMA_ID_ANY, RING));
	EXPECT_LT(WAITERS / 2, senders_wait(&n, f, WAITERS, &r));
	for (i = 0; i < WAITERS; i++) {
		__u32 number = number_wait(&r);

		ASSERT_GT(WAITERS, number);
		EXPECT_FALSE(seen[number]);
		seen[number] = true;
	}
	for (i = 0; i < WAITERS; i++)
		ASSERT_TRUE(until(load(&f[i].kern->done) == 1));
	node_close(&n);
}

/* ---- A reader that plays with its head -------------------------------- */

static void play(const struct rec *r)
{
	for (;;) {
		__u64 tail = load(&r->kern->tail);

		store(&r->user->head, tail - r->bytes);	/* full */
		store(&r->user->head, tail);		/* empty */
	}
}

TEST_F(hostile, x2_reader_that_plays_with_its_head)
{
	struct bgdma_desc d;
	struct rec r;
	struct inj f;
	pid_t pid;
	int i;

	ASSERT_EQ(0, rec_try(&r, &self->a.n, BGDMA_ID_ANY, RING));
	ASSERT_EQ(0, inj_try(&f, &self->a.n, BGDMA_ID_ANY, 16));
	/* The pages are ours alone, so it has to be a thread. */
	pid = clone((int (*)(void *))(void *)play,
		    (char *)shared(MIB) + MIB, CLONE_VM | SIGCHLD, &r);
	must(pid);
	d = d_inline(0, r.id, "x", 1);
	for (i = 0; i < 20000; i++) {
		if (load(&f.user->tail) - load(&f.kern->head) < 16)
			put_in(&f, &d);
		post(&f);
		__atomic_fetch_or(&self->a.n.uctl->doorbell_rec, 1ULL << r.id,
				  __ATOMIC_SEQ_CST);
		doorbell(&self->a.n, 0);
	}
	EXPECT_NE(0, load(&f.kern->done));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	/* Whatever it did to itself, others go on. */
	d = d_put(1, self->a.mem.handle, 0, self->b.mem.handle, 0, 4096);
	EXPECT_EQ(BGDMA_OK, run(&self->a.inj, &d));
}

TEST_HARNESS_MAIN
