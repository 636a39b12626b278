// SPDX-License-Identifier: GPL-2.0
/*
 * Commands of io_uring with a fault inside, see fault.h.
 */
#include <liburing.h>

#include "kselftest_harness.h"
#include "fault_fixture.h"

static struct {
	struct node n;
	struct end e;		/* where there is something to do */
	__u32 counter;
	struct io_uring ring;
	__u32 features;
} w;

/* Its result; 0 also while it waits. */
static int command(int fd, __u32 op, const void *arg, size_t bytes)
{
	struct io_uring_sqe *sqe;
	struct io_uring_cqe *cqe;
	int ret;

	/* What was not taken the last time is still in the queue. */
	if (!io_uring_sq_ready(&w.ring)) {
		sqe = io_uring_get_sqe(&w.ring);
		/* cmd_op lies where the offset of others is. */
		io_uring_prep_rw(IORING_OP_URING_CMD, sqe, fd, NULL, 0, op);
		memcpy(sqe->cmd, arg, bytes);
	}
	ret = io_uring_submit(&w.ring);
	if (ret < 0)
		return ret;
	if (io_uring_peek_cqe(&w.ring, &cqe))
		return 0;
	ret = cqe->res;
	io_uring_cqe_seen(&w.ring, cqe);
	return ret;
}

static int call_doorbell(void)
{
	return command(w.n.fd, BGDMA_URING_DOORBELL, "", 0);
}

static int call_wait(void)
{
	struct bgdma_condition cond = { .kind = REC, .object = w.counter };

	return command(w.n.fd, BGDMA_URING_WAIT, &cond, sizeof(cond));
}

/* A put, and a packet that tells of it. */
static void prepare_work(void)
{
	struct bgdma_desc d;

	end_new(&w.e, 1);
	counter_add(&w.e.n, INJ, w.e.ic, PAIR_BYTES);
	counter_add(&w.e.n, REC, w.e.rc, PAIR_BYTES);
	d = d_put_counted(&w.e, &w.e, w.e.ic, w.e.rc, PAIR_BYTES);
	put_in(&w.e.inj, &d);
	d = d_number(1, &w.e.rec, 1);
	put_in(&w.e.inj, &d);
}

static int call_work(void)
{
	post(&w.e.inj);
	return command(w.e.n.fd, BGDMA_URING_DOORBELL, "", 0);
}

static void undo_work(void)
{
	must(until(load(&w.e.inj.kern->done) == w.e.inj.tail) ? 0 : -ETIME);
	must(load(&w.e.inj.rec->code) ? -EDOM : 0);
	must(until(packet(&w.e.rec)) ? 0 : -ETIME);
	must(value(&w.e.n, INJ, w.e.ic) || value(&w.e.n, REC, w.e.rc) ? -EDOM : 0);
	node_close(&w.e.n);
	must(munmap(w.e.mem.p, w.e.mem.bytes) ? -errno : 0);
}

/* A counter at 1 waits for the last byte; it comes, from software. */
static void prepare_wait(void)
{
	counter_add(&w.n, REC, w.counter, 1);
}

static void undo_wait(void)
{
	struct __kernel_timespec patience = { .tv_sec = 20 * slowness() };
	struct io_uring_cqe *cqe;

	counter_add(&w.n, REC, w.counter, -1);
	must(io_uring_wait_cqe_timeout(&w.ring, &cqe, &patience));
	must(cqe->res);
	io_uring_cqe_seen(&w.ring, cqe);
	hit_clear(&w.n, REC, w.counter);
}

static void world_new(void)
{
	struct bgdma_query q = { .size = sizeof(q) };

	memset(&w, 0, sizeof(w));
	partition_new("4x1x1", "");
	node_new(&w.n, 0);
	w.counter = counter_new(&w.n, REC, 0);
	must(bg_ioctl(w.n.fd, BGDMA_IOC_QUERY, &q));
	w.features = q.features;
	must(io_uring_queue_init(8, &w.ring, 0));
}

FIXTURE_FAULT(world_new)

TEST_F_TIMEOUT(fault, uring_wait, 120)
{
	const struct faulty wait = FAULTY("URING_WAIT", prepare_wait, call_wait,
					  undo_wait);

	if (!(w.features & BGDMA_FEATURE_URING_WAIT))
		SKIP(return, "this kernel cannot park a command of io_uring");
	EXPECT_LT(0, fault_all(&wait));
}

/* What io_uring has in store it need not ask for. */
TEST_F_TIMEOUT(fault, uring_doorbell, 120)
{
	const struct faulty ring = FAULTY("URING_DOORBELL", NULL, call_doorbell,
					  NULL);

	if (!(w.features & BGDMA_FEATURE_URING_DOORBELL))
		SKIP(return, "this kernel has no commands of io_uring");
	EXPECT_LE(0, fault_all(&ring));
}

/* Nor does what it runs ask for anything. */
TEST_F_TIMEOUT(fault, uring_doorbell_with_descriptors, 120)
{
	const struct faulty ring = FAULTY("URING_DOORBELL with descriptors",
					  prepare_work, call_work, undo_work);

	if (!(w.features & BGDMA_FEATURE_URING_DOORBELL))
		SKIP(return, "this kernel has no commands of io_uring");
	EXPECT_LE(0, fault_all(&ring));
}

TEST_HARNESS_MAIN
