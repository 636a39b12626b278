// SPDX-License-Identifier: GPL-2.0
/*
 * Processes: who may use a file, and what happens when one dies.
 */
#include <endian.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "kselftest_harness.h"
#include "pair.h"
#include "pass.h"

/* ---- Another process with the file ------------------------------------ */

static char anything[PAGE] __attribute__((aligned(PAGE)));

/* Every call but QUERY, on a file of another process: 0 when all are EPERM. */
static int all_refused(int fd, int also)
{
	static const unsigned int sizes[] = {
		sizeof(struct bgdma_attach), sizeof(struct bgdma_inj_create),
		sizeof(struct bgdma_rec_create),
		sizeof(struct bgdma_rgq_create),
		sizeof(struct bgdma_fifo_destroy),
		sizeof(struct bgdma_counter_alloc),
		sizeof(struct bgdma_counter_free),
		sizeof(struct bgdma_region_pin),
		sizeof(struct bgdma_region_alloc),
		sizeof(struct bgdma_region_free),
		sizeof(struct bgdma_grant), sizeof(struct bgdma_revoke),
		sizeof(struct bgdma_group_bind),
		sizeof(struct bgdma_group_unbind),
		sizeof(struct bgdma_event_bind),
		sizeof(struct bgdma_clear_error),
		sizeof(struct bgdma_cancel), sizeof(struct bgdma_wait),
	};
	static const unsigned long cmds[] = {
		BGDMA_IOC_ATTACH, BGDMA_IOC_INJ_CREATE,
		BGDMA_IOC_REC_CREATE, BGDMA_IOC_RGQ_CREATE,
		BGDMA_IOC_FIFO_DESTROY, BGDMA_IOC_COUNTER_ALLOC,
		BGDMA_IOC_COUNTER_FREE, BGDMA_IOC_REGION_PIN,
		BGDMA_IOC_REGION_ALLOC, BGDMA_IOC_REGION_FREE,
		BGDMA_IOC_GRANT, BGDMA_IOC_REVOKE, BGDMA_IOC_GROUP_BIND,
		BGDMA_IOC_GROUP_UNBIND, BGDMA_IOC_EVENT_BIND,
		BGDMA_IOC_CLEAR_ERROR, BGDMA_IOC_CANCEL, BGDMA_IOC_WAIT,
	};
	unsigned int i;
	int ret;

	for (i = 0; i < sizeof(cmds) / sizeof(cmds[0]); i++) {
		memset(anything, 0, sizeof(anything));
		memcpy(anything, &sizes[i], sizeof(sizes[i]));
		ret = bg_ioctl(fd, cmds[i], anything);
		if (ret != -EPERM && ret != also) {
			fprintf(stderr, "# call %u of the list: %d\n", i, ret);
			return -EDOM;
		}
	}
	ret = bg_ioctl(fd, BGDMA_IOC_DOORBELL, NULL);
	if (ret != -EPERM && ret != also)
		return -EDOM;
	ret = ioctl(fd, BGDMA_IOC_NOTIFY, BGDMA_NOTIFY_ARG(INJ, 0));
	if (ret != -1 || (errno != EPERM && errno != -also))
		return -EDOM;
	return 0;
}

FIXTURE_PAIR(process)

/* a still works: a put to b, with counters. */
static bool works(struct end *a, struct end *b, unsigned int seed)
{
	struct bgdma_desc d = d_put(1, a->mem.handle, 0, b->mem.handle, 0,
				    PAIR_BYTES);

	fill(a->mem.p, PAIR_BYTES, seed);
	return run_bad(&a->inj, &d) == BGDMA_OK &&
	       filled(b->mem.p, PAIR_BYTES, seed);
}

static int use_inherited(void *arg)
{
	struct node *n = arg;
	int ret = all_refused(n->fd, -EPERM);

	if (ret)
		return ret;
	if (poll_file(n, 0) > 0 && !(poll_file(n, 0) & (POLLERR | POLLHUP)))
		return -EDOM;
	/* The child's close ends nothing. */
	close(n->fd);
	return 0;
}

TEST_F(process, x2_fork)
{
	EXPECT_EQ(0, in_child(use_inherited, &self->a.n));
	EXPECT_TRUE(works(&self->a, &self->b, 1));
}

static int use_received(void *arg)
{
	int fd = receive_fd(*(int *)arg);

	return fd < 0 ? fd : all_refused(fd, -EPERM);
}

TEST_F(process, x2_file_passed_to_another_process)
{
	int s[2], status;
	pid_t child;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, s));
	child = fork();
	if (!child)
		_exit(-use_received(&s[1]));
	EXPECT_EQ(0, send_fd(s[0], self->a.n.fd));
	waitpid(child, &status, 0);
	EXPECT_EQ(0, status);
	EXPECT_TRUE(works(&self->a, &self->b, 2));
}

/* A file that was opened but not attached belongs to nobody yet. */
static int attach_received(void *arg)
{
	struct bgdma_attach at = { .ctx = BGDMA_CTX_ANY };

	return bg_attach(*(int *)arg, PARTITION, 3, &at);
}

TEST_F(process, x2_attached_by_a_child)
{
	int fd = (int)must(bg_open());
	struct node n;

	EXPECT_EQ(0, in_child(attach_received, &fd));
	/* Dead with the process that attached, though we hold the file. */
	EXPECT_EQ(-ENODEV, bg_ioctl(fd, BGDMA_IOC_DOORBELL, NULL));
	must(node_try(&n, PARTITION, 3, NULL));
	EXPECT_EQ(0, n.at.ctx);
	node_close(&n);
	close(fd);
}

/* The second half of the test below, after exec. */
static int probe_after_exec(const char *fd)
{
	/* With its memory went what the process held, or is just going. */
	return -all_refused(atoi(fd), -ENODEV);
}

static int exec_with_file(void *arg)
{
	int *told = arg;
	struct end c;
	char fd[16];

	end_new(&c, 2);
	told[0] = (int)c.n.at.incarnation;
	fcntl(c.n.fd, F_SETFD, 0);
	snprintf(fd, sizeof(fd), "%d", c.n.fd);
	execl("/proc/self/exe", "security_test", "--after-exec", fd, NULL);
	return -errno;
}

TEST_F(process, x2_exec)
{
	int *told = shared(PAGE);
	struct bgdma_attach at = { .ctx = 0 };
	struct node n;

	EXPECT_EQ(0, in_child(exec_with_file, told));
	EXPECT_NE(0, told[0]);
	EXPECT_EQ(0, node_try(&n, PARTITION, 2, &at));
}

/* ---- Two processes on one node ---------------------------------------- */

struct theirs {
	__u32 region, queue, fifo, counter;
	int result;
};

static int second_process(void *arg)
{
	struct theirs *t = arg;
	struct end c;
	struct bgdma_desc d;

	end_new(&c, 0);
	if (c.n.at.ctx != 1)
		return -EDOM;
	/* Handles of the other process mean nothing here. */
	d = d_copy(c.mem.handle, 0, t->region + 5, 0, 64);
	if (run_bad(&c.inj, &d) == BGDMA_OK)
		return -ERANGE;
	/* Nor do grants to it hold for this one: they are for context 0. */
	d = d_put(1, c.mem.handle, 0, t->region, 0, 64);
	if (run_bad(&c.inj, &d) != BGDMA_E_RIGHTS)
		return -EACCES;
	/* And what it posts carries its own number. */
	d = d_number(1, &(struct rec){ .id = t->fifo }, 7);
	return run_bad(&c.inj, &d);
}

TEST_F(process, x2_two_processes_on_one_node)
{
	struct end *b = &self->b;
	struct theirs t = { .fifo = b->rec.id };
	struct bgdma_grant g = {
		.size = sizeof(g), .kind = BGDMA_KIND_REGION, .count = 1,
		.rank = 0, .ctx = 0, .rights = BGDMA_RIGHT_WRITE,
	};
	struct bgdma_desc d;

	must(region_pin(&b->n, anything, PAGE, LOCAL_RW, &t.region));
	g.object = t.region;
	must(bg_ioctl(b->n.fd, BGDMA_IOC_GRANT, &g));
	d = d_put(1, self->a.mem.handle, 0, t.region, 0, 64);
	EXPECT_EQ(BGDMA_OK, run(&self->a.inj, &d));
	EXPECT_EQ(0, in_child(second_process, &t));
	EXPECT_EQ(1, packet_wait(&b->rec)->src_ctx);
	EXPECT_EQ(0, packet(&b->rec)->src_rank);
}

/* ---- Death in every phase --------------------------------------------- */

/* What the child tells of itself, at rank 2; then it waits for @go. */
struct child {
	__u32 ready, go;
	__u32 region, rgq, rec;
	__u32 a_rec, a_rgq, a_region;
};

enum phase { IDLE, PUTTING, SENDING, FULL, GETTING, SLEEPING, CALLING };

/* One round of what it does until it dies. */
static void live(struct end *c, const struct child *x, enum phase phase)
{
	struct bgdma_desc d;
	struct region r;
	__u32 q;

	switch (phase) {
	case PUTTING:
		d = d_put(0, c->mem.handle, 0, x->a_region, 0, PAIR_BYTES);
		inject(&c->inj, &d);
		break;
	case SENDING:
		d = d_memfifo(0, x->a_rec, c->mem.handle, 0, 1000);
		inject(&c->inj, &d);
		break;
	case GETTING:
		d = d_put(2, x->a_region, 0, c->mem.handle, 0, PAIR_BYTES);
		memcpy(c->mem.p, &d, sizeof(d));
		d = d_rget(0, x->a_rgq, c->mem.handle, 0, 1);
		inject(&c->inj, &d);
		break;
	case SLEEPING:
		wait_for(&c->n, REC, c->rc, 0, -1);
		break;
	case CALLING:
		region_new(&r, &c->n, MIB);
		must(rgq_try(&c->n, 16, 16, 0, &q));
		must(region_free(&c->n, r.handle));
		must(fifo_destroy(&c->n, BGDMA_KIND_RGET_QUEUE, q));
		munmap(r.p, r.bytes);
		break;
	default:
		pause();
	}
}

static void be_born(struct end *c, struct child *x)
{
	struct bgdma_desc d;

	end_new(c, 2);
	x->region = c->mem.handle;
	x->rgq = c->rgq;
	x->rec = c->rec.id;
	d = d_number(0, &(struct rec){ .id = x->a_rec }, 1);
	must(run(&c->inj, &d));
	counter_add(&c->n, REC, c->rc, 1);
	store(&x->ready, 1);
	must(until(load(&x->go)) ? 0 : -ETIME);
}

FIXTURE(death) {
	struct end a, b;
	struct child *x;
	pid_t pid;
};

FIXTURE_VARIANT(death) {
	enum phase phase;
};

FIXTURE_VARIANT_ADD(death, idle) { IDLE };
FIXTURE_VARIANT_ADD(death, putting) { PUTTING };
FIXTURE_VARIANT_ADD(death, sending) { SENDING };
FIXTURE_VARIANT_ADD(death, full) { FULL };
FIXTURE_VARIANT_ADD(death, getting) { GETTING };
FIXTURE_VARIANT_ADD(death, sleeping) { SLEEPING };
FIXTURE_VARIANT_ADD(death, calling) { CALLING };

static void child_new(struct end *a, struct child *x, enum phase phase,
		      pid_t *pid)
{
	x->ready = 0;
	x->go = 0;
	x->a_rec = a->rec.id;
	x->a_rgq = a->rgq;
	x->a_region = a->mem.handle;
	*pid = fork();
	if (!*pid) {
		struct end c;
		int i;

		be_born(&c, x);
		for (i = 0;; i++) {
			live(&c, x, phase);
			if (i == 3)
				store(&x->ready, 2);
		}
	}
	must(*pid);
	must(until(load(&x->ready)) ? 0 : -ETIME);
	packet_wait(&a->rec);
	packet_drop(&a->rec);
}

FIXTURE_SETUP(death)
{
	pair_new(&self->a, &self->b);
	self->x = shared(sizeof(*self->x));
	child_new(&self->a, self->x, variant->phase, &self->pid);
}

FIXTURE_TEARDOWN(death)
{
	node_close(&self->b.n);
	node_close(&self->a.n);
}

TEST_F(death, x3_of_a_peer)
{
	struct end *a = &self->a;
	struct bgdma_counter_cell *lease = cell(&a->n, REC, a->rc);
	bool full = variant->phase == FULL;
	struct bgdma_desc d;
	struct bgdma_event e;
	__u64 seq = 0, died;

	/* A counter that only this peer may move, and that waits for it. */
	store(&a->n.uctl->leases, 1);
	store(&lease->lease_peer, 2);
	store(&lease->lease_ctx, 0);
	counter_add(&a->n, REC, a->rc, 1);
	if (full) {
		/* We wait for it, too. */
		d = d_memfifo(2, self->x->rec, a->mem.handle, 0, PAIR_BYTES);
		d.inj_ctr = htole32(a->ic);
		counter_add(&a->n, INJ, a->ic, PAIR_BYTES);
		seq = inject(&a->inj, &d);
		ASSERT_TRUE(until(load(&a->inj.kern->state) ==
				  BGDMA_FIFO_BLOCKED));
	}
	store(&self->x->go, 1);
	if (variant->phase != IDLE && variant->phase != SLEEPING && !full)
		ASSERT_TRUE(until(load(&self->x->ready) == 2 ||
				  load(&a->rec.kern->starved)));
	kill_child(self->pid, SIGKILL);
	died = now_ns();

	/* Its peers are told who it was, within a second. */
	do {
		ASSERT_TRUE(event_wait(&a->n, BGDMA_EVENT_PEER_DOWN, &e));
	} while (e.peer_rank != 2);
	EXPECT_GT(1000000000, now_ns() - died);
	EXPECT_EQ(0, e.peer_ctx);
	EXPECT_NE(0, e.peer_incarnation);
	ASSERT_TRUE(until(counter_error(&a->n, REC, a->rc)));
	EXPECT_EQ(BGDMA_E_PEER_DOWN, counter_record(&a->n, REC, a->rc)->code);
	EXPECT_EQ(2, counter_record(&a->n, REC, a->rc)->peer_rank);
	EXPECT_EQ(0, wait_for(&a->n, REC, a->rc, 0, -1));
	if (full) {
		EXPECT_EQ(BGDMA_E_PEER_DOWN, outcome(&a->inj, seq));
		EXPECT_EQ(0, value(&a->n, INJ, a->ic));
		EXPECT_EQ(BGDMA_E_PEER_DOWN,
			  counter_record(&a->n, INJ, a->ic)->code);
		must(clear_error(&a->n, BGDMA_KIND_INJ_FIFO, a->inj.id, 0));
	}
	d = d_put(2, a->mem.handle, 0, self->x->region, 0, 8);
	EXPECT_NE(BGDMA_OK, run_bad(&a->inj, &d));

	/* Everybody else goes on. */
	EXPECT_TRUE(works(a, &self->b, 5));
	while (packet(&a->rec))
		packet_drop(&a->rec);

	/* Its place is free at once, and it has to be let in again. */
	store(&lease->lease_peer, BGDMA_RANK_ANY);
	child_new(a, self->x, IDLE, &self->pid);
	d = d_put(2, a->mem.handle, 0, self->x->region, 0, 8);
	EXPECT_EQ(BGDMA_OK, run_bad(&a->inj, &d));
	kill_child(self->pid, SIGKILL);
}

TEST_F(death, x3_again_and_again)
{
	int i;

	for (i = 0; i < 10; i++) {
		store(&self->x->go, 1);
		/* At no point in particular. */
		usleep((useconds_t)(i * 3000));
		kill_child(self->pid, SIGKILL);
		while (packet(&self->a.rec))
			packet_drop(&self->a.rec);
		ASSERT_TRUE(works(&self->a, &self->b, (unsigned int)i));
		while (packet(&self->a.rec))
			packet_drop(&self->a.rec);
		child_new(&self->a, self->x, variant->phase, &self->pid);
	}
	kill_child(self->pid, SIGKILL);
}

TEST_F(death, x3_closed_instead)
{
	struct bgdma_event e;
	struct node c;
	struct bgdma_desc d;
	struct inj f;

	/* A peer that closes is told of just like one that dies. */
	kill_child(self->pid, SIGKILL);
	do {
		ASSERT_TRUE(event_wait(&self->a.n, BGDMA_EVENT_PEER_DOWN, &e));
	} while (e.peer_rank != 2);
	node_new(&c, 3);
	inj_new(&f, &c);
	d = d_number(0, &self->a.rec, 1);
	EXPECT_EQ(BGDMA_OK, run(&f, &d));
	node_close(&c);
	do {
		ASSERT_TRUE(event_wait(&self->a.n, BGDMA_EVENT_PEER_DOWN, &e));
	} while (e.peer_rank != 3);
}

/* ---- The partition goes away ------------------------------------------ */

static int sleep_in_child(void *arg)
{
	struct node n;

	(void)arg;
	node_new(&n, 3);
	/* Only an event can come, and it is the end of the partition. */
	wait_for(&n, BGDMA_KIND_EVENTS, 0, 0, -1);
	return wait_for(&n, BGDMA_KIND_EVENTS, 0, 100, -1);
}

TEST_F(process, x3_partition_deleted_in_use)
{
	struct end *a = &self->a, *b = &self->b;
	struct bgdma_desc d = d_memfifo(1, b->rec.id, a->mem.handle, 0,
					PAIR_BYTES);
	struct bgdma_event e;
	pid_t child;
	int status;

	fill(a->mem.p, PAGE, 4);
	inject(&a->inj, &d);
	ASSERT_TRUE(until(load(&a->inj.kern->state) == BGDMA_FIFO_BLOCKED));
	child = fork();
	if (!child)
		_exit(-sleep_in_child(NULL));
	usleep(100000);
	ASSERT_EQ(0, partition("del", PARTITION, ""));
	EXPECT_EQ(BGDMA_STATE_DEAD,
		  load(&a->n.kctl->state) & BGDMA_STATE_DEAD);
	EXPECT_TRUE(poll_file(&a->n, 0) & POLLHUP);
	ASSERT_TRUE(event_wait(&a->n, BGDMA_EVENT_PARTITION, &e));
	EXPECT_EQ(-ENODEV, doorbell(&a->n, 0));
	EXPECT_EQ(-ENODEV, wait_for(&a->n, BGDMA_KIND_EVENTS, 0, 100, -1));
	EXPECT_EQ(-ENODEV, region_free(&a->n, a->mem.handle));
	EXPECT_EQ(-ENODEV, fifo_destroy(&a->n, BGDMA_KIND_INJ_FIFO, 0));
	/* Sleepers wake. */
	waitpid(child, &status, 0);
	EXPECT_TRUE(WIFEXITED(status));
	EXPECT_TRUE(WEXITSTATUS(status) == ENODEV ||
		    WEXITSTATUS(status) == 99 /* came after it */);
	/* What is mapped stays readable, and our memory is ours. */
	EXPECT_TRUE(filled(a->mem.p, PAGE, 4));
	EXPECT_NE(0, a->n.kctl->events_tail);
	/* One of that name can be made again at once, and the old is not it. */
	ASSERT_EQ(0, partition("add", PARTITION, "dims 4x1x1"));
	EXPECT_EQ(-ENODEV, doorbell(&a->n, 0));
	node_close(&a->n);
	node_close(&b->n);
	end_new(a, 0);
	end_new(b, 1);
	EXPECT_TRUE(works(a, b, 6));
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "--after-exec"))
		return probe_after_exec(argv[2]);
	return test_harness_run(argc, argv);
}
