// SPDX-License-Identifier: GPL-2.0
/*
 * The device through io_uring: poll, doorbells and waits.
 */
#include <endian.h>
#include <liburing.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "kselftest_harness.h"
#include "utils.h"

FIXTURE(uring) {
	struct end a, b;
	struct io_uring ring;
	__u64 features;
};

FIXTURE_SETUP(uring)
{
	struct bgdma_query q = { .size = sizeof(q) };
	int ret;

	pair_new(&self->a, &self->b);
	must(bg_ioctl(self->a.n.fd, BGDMA_IOC_QUERY, &q));
	self->features = q.features;
	ret = io_uring_queue_init(8, &self->ring, 0);
	ASSERT_EQ(0, ret);
}

FIXTURE_TEARDOWN(uring)
{
	io_uring_queue_exit(&self->ring);
	node_close(&self->b.n);
	node_close(&self->a.n);
}

#define WAITS(self) ((self)->features & BGDMA_FEATURE_URING_WAIT)

static void submit_cmd(struct io_uring *ring, int fd, __u32 op,
		       const void *arg, size_t bytes, __u64 data)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

	/* cmd_op lies where the offset of others is. */
	io_uring_prep_rw(IORING_OP_URING_CMD, sqe, fd, NULL, 0, op);
	memcpy(sqe->cmd, arg, bytes);
	sqe->user_data = data;
	must(io_uring_submit(ring));
}

static void submit_wait(struct io_uring *ring, int fd, __u32 kind,
			__u32 object, __u64 data)
{
	struct bgdma_condition c = { .kind = kind, .object = object };

	submit_cmd(ring, fd, BGDMA_URING_WAIT, &c, sizeof(c), data);
}

/* The result of the completion with that mark; -ETIME when none comes. */
static int completion(struct io_uring *ring, __u64 data)
{
	struct __kernel_timespec patience = { .tv_sec = 20 * slowness() };
	struct io_uring_cqe *cqe;
	int ret = io_uring_wait_cqe_timeout(ring, &cqe, &patience);

	if (ret)
		return ret;
	ret = cqe->user_data == data ? cqe->res : -EDOM;
	io_uring_cqe_seen(ring, cqe);
	return ret;
}

static bool nothing_completed(struct io_uring *ring)
{
	struct io_uring_cqe *cqe;

	return io_uring_peek_cqe(ring, &cqe) == -EAGAIN;
}

TEST_F(uring, dma4_poll_add)
{
	struct end *b = &self->b;
	struct bgdma_desc d = d_put_counted(&self->a, b, BGDMA_NONE, b->rc, 64);
	struct io_uring_sqe *sqe = io_uring_get_sqe(&self->ring);

	counter_add(&b->n, REC, b->rc, 64);
	counter_enable(&b->n, REC, b->rc);
	io_uring_prep_poll_add(sqe, b->n.fd, POLLIN);
	sqe->user_data = 1;
	must(io_uring_submit(&self->ring));
	EXPECT_TRUE(nothing_completed(&self->ring));
	EXPECT_EQ(BGDMA_OK, run(&self->a.inj, &d));
	EXPECT_EQ(POLLIN, completion(&self->ring, 1));
}

TEST_F(uring, dma6_poll_add_on_arrival)
{
	struct end *b = &self->b;
	struct bgdma_desc d = d_number(1, &b->rec, 3);
	struct io_uring_sqe *sqe = io_uring_get_sqe(&self->ring);

	store(&b->rec.user->arm, BGDMA_ARM_ANY);
	io_uring_prep_poll_add(sqe, b->n.fd, POLLIN);
	sqe->user_data = 1;
	must(io_uring_submit(&self->ring));
	EXPECT_TRUE(nothing_completed(&self->ring));
	EXPECT_EQ(BGDMA_OK, run(&self->a.inj, &d));
	EXPECT_EQ(POLLIN, completion(&self->ring, 1));
	EXPECT_EQ(3, number_wait(&b->rec));
}

TEST_F(uring, doorbell)
{
	struct end *a = &self->a, *b = &self->b;
	unsigned int i;

	if (!(self->features & BGDMA_FEATURE_URING_DOORBELL))
		SKIP(return, "no doorbells by io_uring");
	for (i = 0; i < 20; i++) {
		struct bgdma_desc d = d_number(1, &b->rec, i);

		put_in(&a->inj, &d);
		store(&a->inj.user->tail, a->inj.tail);
		__atomic_fetch_or(&a->n.uctl->doorbell[0], 1ULL << a->inj.id,
				  __ATOMIC_SEQ_CST);
		submit_cmd(&self->ring, a->n.fd, BGDMA_URING_DOORBELL, "", 0,
			   i);
		EXPECT_EQ(0, completion(&self->ring, i));
		ASSERT_EQ(i, number_wait(&b->rec));
	}
}

TEST_F(uring, commands_that_do_not_exist)
{
	unsigned int op;

	for (op = 0x3c; op < 0x48; op++) {
		__u32 cmd = _IO(BGDMA_IOC_TYPE, op);

		if (cmd == BGDMA_URING_DOORBELL)
			continue;
		submit_cmd(&self->ring, self->a.n.fd, cmd, "", 0, op);
		EXPECT_GT(0, completion(&self->ring, op));
	}
	submit_cmd(&self->ring, self->a.n.fd, BGDMA_IOC_DOORBELL, "", 0, 1);
	EXPECT_GT(0, completion(&self->ring, 1));
}

TEST_F(uring, not_attached)
{
	int fd = (int)must(bg_open());

	submit_cmd(&self->ring, fd, BGDMA_URING_DOORBELL, "", 0, 1);
	EXPECT_EQ(-ENOTCONN, completion(&self->ring, 1));
	submit_wait(&self->ring, fd, REC, 0, 2);
	EXPECT_EQ(-ENOTCONN, completion(&self->ring, 2));
	close(fd);
}

#define ENTRIES	64
#define ROUNDS	3000

/* Who writes what entries say while the kernel's thread reads them. */
struct scribbler {
	struct io_uring_sqe *sqes;
	struct bgdma_condition words[4];
	bool stop;
};

static void *scribble(void *arg)
{
	struct scribbler *s = arg;
	unsigned int i = 0;

	while (!load(&s->stop)) {
		volatile __u32 *to = (void *)s->sqes[i % ENTRIES].cmd;
		const __u32 *from = (void *)&s->words[i / 7 % 4];
		unsigned int w = i++ % (sizeof(s->words[0]) / sizeof(*to));

		to[w] = from[w];
	}
	return NULL;
}

/* What is good completes at once, so none is left waiting. */
TEST_F(uring, x2_entries_that_change_while_they_are_read)
{
	struct scribbler s = { .words = {
		{ .kind = REC, .object = self->b.rc },
		{ .kind = REC, .object = self->b.rc + (1U << 16) },
		{ .kind = BGDMA_KIND_REGION, .object = ~0U, .value = ~0ULL },
		/* A doorbell without flags, or nothing that can be waited for. */
		{ .kind = 0, .object = BGDMA_HANDLE(63, 1) },
	} };
	unsigned int i, good = 0, bad = 0;
	struct io_uring ring;
	pthread_t thread;
	int ret;

	ret = io_uring_queue_init(ENTRIES, &ring, IORING_SETUP_SQPOLL);
	if (ret)
		SKIP(return, "no thread that polls: %s", strerror(-ret));
	s.sqes = ring.sq.sqes;
	ASSERT_EQ(0, pthread_create(&thread, NULL, scribble, &s));
	for (i = 0; i < ROUNDS; i++) {
		submit_cmd(&ring, self->b.n.fd,
			   i % 2 ? BGDMA_URING_DOORBELL : BGDMA_URING_WAIT,
			   &s.words[i / 2 % 4], sizeof(s.words[0]), i);
		ret = completion(&ring, i);
		ASSERT_TRUE(!ret || ret == -EINVAL || ret == -ENOENT ||
			    ret == -ESTALE || ret == -EOPNOTSUPP)
			TH_LOG("%u: %d", i, ret);
		good += !ret;
		bad += !!ret;
	}
	store(&s.stop, true);
	pthread_join(thread, NULL);
	io_uring_queue_exit(&ring);
	EXPECT_LT(0, good);
	EXPECT_LT(0, bad);
}

TEST_F(uring, waits_where_they_can_be_cancelled)
{
	struct end *b = &self->b;
	struct bgdma_desc d = d_put_counted(&self->a, b, BGDMA_NONE, b->rc, 64);
	int i;

	if (!WAITS(self)) {
		submit_wait(&self->ring, b->n.fd, REC, b->rc, 1);
		EXPECT_EQ(-EOPNOTSUPP, completion(&self->ring, 1));
		return;
	}
	/* What is there completes at once. */
	submit_wait(&self->ring, b->n.fd, REC, b->rc, 1);
	EXPECT_EQ(0, completion(&self->ring, 1));
	for (i = 0; i < 20; i++) {
		hit_clear(&b->n, REC, b->rc);
		counter_add(&b->n, REC, b->rc, 64);
		submit_wait(&self->ring, b->n.fd, REC, b->rc, 2);
		EXPECT_TRUE(nothing_completed(&self->ring));
		EXPECT_EQ(BGDMA_OK, run(&self->a.inj, &d));
		EXPECT_EQ(0, completion(&self->ring, 2));
	}
	EXPECT_EQ(0, load(&cell(&b->n, REC, b->rc)->arm));
}

TEST_F(uring, waits_for_what_is_not_there)
{
	struct node *n = &self->b.n;

	if (!WAITS(self))
		SKIP(return, "no waits by io_uring");
	submit_wait(&self->ring, n->fd, REC, BGDMA_HANDLE(63, 1), 1);
	EXPECT_EQ(-ENOENT, completion(&self->ring, 1));
	submit_wait(&self->ring, n->fd, REC, self->b.rc + (1U << 16), 2);
	EXPECT_EQ(-ESTALE, completion(&self->ring, 2));
	submit_wait(&self->ring, n->fd, BGDMA_KIND_REGION, 0, 3);
	EXPECT_EQ(-EINVAL, completion(&self->ring, 3));
	submit_wait(&self->ring, n->fd, BGDMA_KIND_REC_FIFO, 7, 4);
	EXPECT_EQ(-ENOENT, completion(&self->ring, 4));
}

TEST_F(uring, wait_ends_with_its_ring)
{
	struct end *b = &self->b;
	struct bgdma_attach at = { .ctx = 0 };
	struct io_uring ring;

	if (!WAITS(self))
		SKIP(return, "no waits by io_uring");
	must(io_uring_queue_init(8, &ring, 0));
	counter_add(&b->n, REC, b->rc, 64);
	submit_wait(&ring, b->n.fd, REC, b->rc, 1);
	ASSERT_TRUE(until(load(&cell(&b->n, REC, b->rc)->arm) == 1));
	io_uring_queue_exit(&ring);
	EXPECT_TRUE(until(!load(&cell(&b->n, REC, b->rc)->arm)));
	/* Nothing of it holds the file. */
	node_close(&b->n);
	EXPECT_TRUE(until(!node_try(&b->n, PARTITION, 1, &at)));
}

TEST_F(uring, wait_ends_with_the_partition)
{
	struct end *b = &self->b;

	if (!WAITS(self))
		SKIP(return, "no waits by io_uring");
	counter_add(&b->n, REC, b->rc, 64);
	submit_wait(&self->ring, b->n.fd, REC, b->rc, 1);
	ASSERT_EQ(0, partition("del", PARTITION, ""));
	EXPECT_GT(0, completion(&self->ring, 1));
}

/* ---- Processes that die with something parked ------------------------- */

static int park(void *arg)
{
	bool wait = *(bool *)arg;
	struct io_uring ring;
	struct end c;

	end_new(&c, 2);
	must(io_uring_queue_init(8, &ring, 0));
	counter_add(&c.n, REC, c.rc, 1);
	counter_enable(&c.n, REC, c.rc);
	if (wait) {
		submit_wait(&ring, c.n.fd, REC, c.rc, 1);
	} else {
		struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);

		io_uring_prep_poll_add(sqe, c.n.fd, POLLIN);
		must(io_uring_submit(&ring));
	}
	return 0;
}

/* Ends by itself, with everything still open. */
static int park_and_exit(void *arg)
{
	return park(arg);
}

TEST_F(uring, x3_process_ends_with_something_parked)
{
	struct bgdma_attach at = { .ctx = 0 };
	bool wait;
	struct node n;
	int i;

	for (i = 0; i < (WAITS(self) ? 2 : 1); i++) {
		wait = i;
		EXPECT_EQ(0, in_child(park_and_exit, &wait));
		/* The file is released, so its place is free. */
		EXPECT_TRUE(until(!node_try(&n, PARTITION, 2, &at)));
		node_close(&n);
		at = (struct bgdma_attach){ .ctx = 0 };
		kill_child(start_child(park, &wait), SIGKILL);
		EXPECT_TRUE(until(!node_try(&n, PARTITION, 2, &at)));
		node_close(&n);
		at = (struct bgdma_attach){ .ctx = 0 };
	}
}

static int ring_in_child(void *arg)
{
	struct io_uring ring;
	int fd = *(int *)arg;

	must(io_uring_queue_init(8, &ring, 0));
	submit_cmd(&ring, fd, BGDMA_URING_DOORBELL, "", 0, 1);
	return completion(&ring, 1);
}

TEST_F(uring, x2_not_by_another_process)
{
	EXPECT_EQ(-EPERM, in_child(ring_in_child, &self->a.n.fd));
}

TEST_HARNESS_MAIN
