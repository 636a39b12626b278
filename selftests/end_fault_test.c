// SPDX-License-Identifier: GPL-2.0
/*
 * The end of a context that is in the middle of everything, with a fault on its way, see
 * fault.h: nothing of it is left, and whom it dealt with hears that it has gone.
 */
#include <endian.h>
#include <liburing.h>
#include <sys/eventfd.h>

#include "kselftest_harness.h"
#include "cgroup.h"
#include "fault_fixture.h"
#include "tree.h"

#define OTHER	5	/* a class to which only one contributes */
#define ADD64	BGDMA_TREE_COMBINE(BGDMA_TREE_ADD, BGDMA_TREE_U64)
#define MUCH	VECTOR_MAX	/* more than a reception FIFO has room for */

/* What one of the two waits for. */
struct side {
	struct inj much;	/* room at the other */
	struct inj gates;
	__u32 ic;		/* the other's region, which it has already */
	struct region driver;
};

static struct tree t;
static struct side sides[2];
static int eventfd_of_all;
static bool grouped;	/* there is a control group */

static void world_new(void)
{
	grouped = false;
	partition_new("8x1x1", "");
	eventfd_of_all = (int)must(eventfd(0, EFD_NONBLOCK));
}

FIXTURE_FAULT(world_new)

/* ---- What is pending --------------------------------------------------------- */

static void open_to_all(struct member *m)
{
	rgq_new(&m->n);
	must(grant(&m->n, BGDMA_KIND_REC_FIFO, m->rec.id, BGDMA_RANK_ANY,
		   BGDMA_RIGHT_ACCEPT));
	must(grant(&m->n, BGDMA_KIND_REGION, m->mem.handle, BGDMA_RANK_ANY,
		   BGDMA_RIGHT_EPOCH));
	must(gate(&m->n, m->mem.handle, 0, 0));
}

static void waits_for_room(__u32 i)
{
	struct bgdma_desc d = d_memfifo(!i, t.m[!i].rec.id, t.m[i].mem.handle, 0,
					MUCH);

	inj_new(&sides[i].much, &t.m[i].n);
	inject(&sides[i].much, &d);
	must(until(load(&sides[i].much.kern->state) == BGDMA_FIFO_BLOCKED) ? 0 :
	     -ETIME);
}

/* The first epoch has it, the second waits for the end of the first. */
static void waits_for_an_epoch(__u32 i)
{
	struct side *s = &sides[i];
	__u32 k;

	inj_new(&s->gates, &t.m[i].n);
	s->ic = counter_new(&t.m[i].n, INJ, 0);
	counter_add(&t.m[i].n, INJ, s->ic, 2);
	for (k = 1; k <= 2; k++) {
		struct bgdma_desc d = d_gate(!i, BGDMA_OP_EPOCH_BEGIN,
					     t.m[!i].mem.handle, k, s->ic);

		d.flags = BGDMA_DESC_HOLD | BGDMA_DESC_EXCLUSIVE;
		must(run(&s->gates, &d) ? -EDOM : 0);
	}
	must(until(value(&t.m[i].n, INJ, s->ic) == 1) ? 0 : -ETIME);
}

static void contributes(__u32 i, __u8 number)
{
	struct member *m = &t.m[i];
	struct bgdma_desc d = d_tree(m, BGDMA_OP_TREE_ALLREDUCE, ADD64, 8);

	d.class_prio = number;
	tree_begin(m, &d);
	must(until(load(&m->inj.kern->done) == m->inj.tail) ? 0 : -ETIME);
}

/* Either waits for the other, in each way that there is. */
static void in_the_middle(void)
{
	__u32 i;

	tree_join(&t, 2, 4);
	for (i = 0; i < 2; i++) {
		must(tree_bind(&t, i, OTHER, 4));
		open_to_all(&t.m[i]);
		region_driver(&sides[i].driver, &t.m[i].n, 9 * PAGE);
		must(event_bind(&t.m[i].n, REC, t.m[i].rc, eventfd_of_all));
	}
	for (i = 0; i < 2; i++) {
		waits_for_room(i);
		waits_for_an_epoch(i);
	}
	contributes(0, OTHER);
	contributes(1, CLASS);
}

/* ---- close() ----------------------------------------------------------------- */

static void prepare_close(void)
{
	in_the_middle();
	/* What is mapped holds the file. */
	node_unmap(&t.m[0].n);
}

static int call_close(void)
{
	return close(t.m[0].n.fd) ? -errno : 0;
}

static void undo_close(void)
{
	struct member *m = &t.m[1];
	__u32 i;

	must(outcome(&sides[1].much, 0) == BGDMA_E_PEER_DOWN ? 0 : -EDOM);
	must(until(!value(&m->n, INJ, sides[1].ic)) ? 0 : -ETIME);
	must(counter_error(&m->n, INJ, sides[1].ic) ? 0 : -EDOM);
	must(tree_end(m) == BGDMA_E_PEER_DOWN ? 0 : -EDOM);
	must(until(!epochs(&m->n, m->mem.handle, NULL, 0)) ? 0 : -ETIME);
	node_close(&m->n);
	for (i = 0; i < 2; i++)
		must(munmap(t.m[i].mem.p, t.m[i].mem.bytes) ? -errno : 0);
}

TEST_F_TIMEOUT(fault, close_gives_all_back, 300)
{
	static const struct faulty end = FAULTY("close in the middle",
						prepare_close, call_close,
						undo_close);

	EXPECT_LT(0, fault_all(&end));
	if (faults_last())
		EXPECT_LT(0, fault_all(&end));
}

/* ---- exit() ------------------------------------------------------------------ */

/* A command of io_uring that waits for what does not happen. */
static void waits_by_uring(struct member *m)
{
	struct io_uring ring;	/* what is mapped of it goes with the process */
	struct bgdma_condition cond = { .kind = REC, .object = m->rc };
	struct bgdma_query q = { .size = sizeof(q) };
	struct io_uring_sqe *sqe;
	struct io_uring_cqe *cqe;

	must(bg_ioctl(m->n.fd, BGDMA_IOC_QUERY, &q));
	if (!(q.features & BGDMA_FEATURE_URING_WAIT))
		return;
	must(io_uring_queue_init(8, &ring, 0));
	sqe = io_uring_get_sqe(&ring);
	/* cmd_op lies where the offset of others is. */
	io_uring_prep_rw(IORING_OP_URING_CMD, sqe, m->n.fd, NULL, 0,
			 BGDMA_URING_WAIT);
	memcpy(sqe->cmd, &cond, sizeof(cond));
	must(io_uring_submit(&ring) == 1 ? 0 : -EIO);
	must(io_uring_peek_cqe(&ring, &cqe) == -EAGAIN ? 0 : -EDOM);
}

/* All is in the middle, and both go. */
static void exits(unsigned int n)
{
	if (grouped)
		group_join();
	in_the_middle();
	waits_by_uring(&t.m[0]);
	waits_by_uring(&t.m[1]);
	fault_here();
	fault_arm(n);
	_exit(0);
}

/*
 * Until one comes to its end without. Of io_uring another gives up what waits. Nothing of
 * any of them is charged any more.
 */
static int every_exit(unsigned int *n)
{
	struct account before;
	bool hit = true;
	int status;
	pid_t pid;

	account(&before);
	for (*n = 1; hit && *n < FAULTS_MAX; ++*n) {
		pid = (pid_t)must(fork());
		if (!pid)
			exits(*n);
		hit = fault_met(pid);
		must(waitpid(pid, &status, 0) == pid ? 0 : -ECHILD);
		if (status || !until(account_unchanged(&before)))
			return -EDOM;
	}
	if (grouped && !until(!charged_objects()))
		return -EBUSY;
	return hit ? -ERANGE : 0;
}

TEST_F_TIMEOUT(fault, exit_gives_all_back, 600)
{
	unsigned int n;

	grouped = !group_new("max");
	EXPECT_EQ(0, every_exit(&n));
	TH_LOG("%u faults", n - 2);
	EXPECT_LT(2, n);
	if (faults_last()) {
		EXPECT_EQ(0, every_exit(&n));
		TH_LOG("%u faults", n - 2);
	}
	if (grouped)
		group_end();
}

TEST_HARNESS_MAIN
