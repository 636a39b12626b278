// SPDX-License-Identifier: GPL-2.0
/*
 * SPEC X-3: processes that end in ways that keep their files open. Peers are
 * told all the same, and others are not taken for dead.
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "kselftest_harness.h"
#include "machine.h"
#include "pass.h"
#include "utils.h"

#define PATTERN	"/proc/sys/kernel/core_pattern"
/* It takes a dump and never reads it. */
#define LAZY	"|/bin/sleep 300"

/* ---- A child at rank 2 ------------------------------------------------ */

static struct {
	__u32 ready, go, rec, full;
	int result;
	pid_t other;
} *told;

/* One that @a heard of, so that it is told of the end. */
static pid_t born(struct end *a, void (*live)(void))
{
	pid_t pid;

	told->ready = 0;
	told->go = 0;
	told->rec = a->rec.id;
	pid = fork();
	if (!pid) {
		struct end c;
		struct bgdma_desc d;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		end_new(&c, 2);
		d = d_number(0, &(struct rec){ .id = told->rec }, 1);
		must(run(&c.inj, &d));
		live();
		_exit(1);
	}
	must(pid);
	must(until(load(&told->ready)) ? 0 : -ETIME);
	packet_wait(&a->rec);
	packet_drop(&a->rec);
	return pid;
}

/* It told that it is ready; now it waits for the word to go on. */
static void ready(void)
{
	store(&told->ready, 1);
	while (!load(&told->go))
		usleep(1000);
}

static void reap(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void begin(struct end *a, struct end *b)
{
	pair_new(a, b);
	told = shared(sizeof(*told));
}

static void finish(struct end *a, struct end *b)
{
	machine_restore();
	node_close(&b->n);
	node_close(&a->n);
}

FIXTURE(end) {
	struct end a, b;
};

FIXTURE_SETUP(end)
{
	begin(&self->a, &self->b);
}

FIXTURE_TEARDOWN(end)
{
	finish(&self->a, &self->b);
}

/* Within a second, says X-3. */
static bool peer_down(struct node *n, __u32 rank)
{
	__u64 begin = now_ns();
	struct bgdma_event e;

	do {
		if (!event_wait(n, BGDMA_EVENT_PEER_DOWN, &e))
			return false;
	} while (e.peer_rank != rank);
	return now_ns() - begin < 1000000000ULL * slowness();
}

static bool free_again(__u32 rank)
{
	struct bgdma_attach at = { .ctx = 0 };
	struct node n;

	if (node_try(&n, PARTITION, rank, &at))
		return false;
	node_close(&n);
	return true;
}

/* ---- Dumping core ----------------------------------------------------- */

static void crash(void)
{
	struct rlimit all = { RLIM_INFINITY, RLIM_INFINITY };

	must(setrlimit(RLIMIT_CORE, &all));
	ready();
	abort();
}

static void *sleep_in_thread(void *arg)
{
	for (;;)
		pause();
	return arg;
}

/* Who dumps then has a copy of the table of files that the others share. */
static void crash_with_threads(void)
{
	pthread_t thread;

	must(-pthread_create(&thread, NULL, sleep_in_thread, NULL));
	crash();
}

FIXTURE(dump) {
	struct end a, b;
};

FIXTURE_VARIANT(dump) {
	void (*live)(void);
};

FIXTURE_SETUP(dump)
{
	begin(&self->a, &self->b);
}

FIXTURE_TEARDOWN(dump)
{
	finish(&self->a, &self->b);
}

FIXTURE_VARIANT_ADD(dump, alone) { crash };
FIXTURE_VARIANT_ADD(dump, with_threads) { crash_with_threads };

TEST_F(dump, x3_of_one_that_dumps_core)
{
	pid_t pid;

	if (access("/bin/sleep", X_OK))
		SKIP(return, "no /bin/sleep to take the dump");
	if (machine_set(PATTERN, LAZY))
		SKIP(return, "cannot set core_pattern");
	pid = born(&self->a, variant->live);
	store(&told->go, 1);
	EXPECT_TRUE(peer_down(&self->a.n, 2));
	EXPECT_TRUE(until(free_again(2)));
	/* The dump is not written yet: 64 KiB of it are in the pipe. */
	EXPECT_EQ(0, waitpid(pid, NULL, WNOHANG));
	reap(pid);
}

/* ---- Dumping core, while somebody in the same memory is in a call ------- */

static struct end caller, other;
static void *hole;	/* whoever reads it waits */
static int mem_fd;	/* a page that @caller has pinned */

static int make_hole(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register all = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);

	if (fd < 0)
		return fd;
	hole = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	all.range.start = (uintptr_t)hole;
	all.range.len = PAGE;
	must(ioctl(fd, UFFDIO_API, &api) ? -errno : 0);
	must(ioctl(fd, UFFDIO_REGISTER, &all) ? -errno : 0);
	return fd;
}

/* Not of this memory: it fills the hole when it is told to. */
static void fill_hole(int fd)
{
	struct uffdio_zeropage zero = {
		.range = { .start = (uintptr_t)hole, .len = PAGE },
	};

	if (must(fork()))
		return;
	while (!load(&told->go))
		usleep(1000);
	must(ioctl(fd, UFFDIO_ZEROPAGE, &zero) ? -errno : 0);
	_exit(0);
}

/* Comes back when the context has ended, and may leave nothing in its place. */
static int call(void *arg)
{
	struct bgdma_group_bind bind = {
		.size = sizeof(bind), .group = 5,
		.members = (uintptr_t)hole, .member_count = 1,
	};

	(void)arg;
	store(&told->ready, 1);
	store(&told->result, bg_ioctl(caller.n.fd, BGDMA_IOC_GROUP_BIND, &bind));
	for (;;)
		pause();
	return 0;
}

static void say_hello(struct end *e, __u32 rank)
{
	struct bgdma_desc d;

	end_new(e, rank);
	d = d_number(0, &(struct rec){ .id = told->rec }, 1);
	must(run(&e->inj, &d));
}

static void crash_beside_a_call(void)
{
	static char stack[65536];
	struct rlimit all = { RLIM_INFINITY, RLIM_INFINITY };
	void *mem = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, mem_fd,
			 0);
	__u32 handle;

	say_hello(&caller, 2);
	must(region_pin(&caller.n, mem, PAGE, LOCAL_RW, &handle));
	must(munmap(mem, PAGE) ? -errno : 0);
	say_hello(&other, 3);
	fill_hole(make_hole());
	must(setrlimit(RLIMIT_CORE, &all));
	told->other = clone(call, stack + sizeof(stack), CLONE_VM | CLONE_FILES,
			    NULL);
	must(told->other);
	must(until(load(&told->full)) ? 0 : -ETIME);
	usleep(100000);
	abort();
}

/* Until it waits for room at rank 2: the last one's number. */
static __u64 fill_up(struct end *e)
{
	struct bgdma_desc d = d_number(2, &(struct rec){ .id = told->rec }, 1);
	__u64 seq;

	do {
		seq = inject(&e->inj, &d);
		must(until(load(&e->inj.kern->done) > seq ||
			   load(&e->inj.kern->state) == BGDMA_FIFO_BLOCKED) ?
		     0 : -ETIME);
	} while (load(&e->inj.kern->done) > seq);
	return seq;
}

/* What is pinned, or mapped to be written, cannot be sealed. */
static bool seal(int fd)
{
	return !fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE);
}

TEST_F(end, x3_a_call_holds_up_nobody)
{
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	__u64 seq;
	pid_t pid;

	if (fd < 0 || access("/bin/sleep", X_OK) || machine_set(PATTERN, LAZY))
		SKIP(return, "no userfaultfd, or no dumps");
	close(fd);
	mem_fd = memfd_create("pinned", MFD_ALLOW_SEALING | MFD_CLOEXEC);
	must(mem_fd);
	must(ftruncate(mem_fd, PAGE) ? -errno : 0);
	told->rec = self->a.rec.id;
	told->ready = 0;
	told->full = 0;
	told->go = 0;
	told->result = 1;
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		crash_beside_a_call();
	}
	must(pid);
	ASSERT_TRUE(until(load(&told->ready)));
	seq = fill_up(&self->b);
	store(&told->full, 1);
	/* In the order in which they attached. */
	EXPECT_TRUE(peer_down(&self->a.n, 2));
	EXPECT_TRUE(peer_down(&self->a.n, 3));
	EXPECT_FALSE(seal(mem_fd));
	/* Nor is anybody held up who waited for room there. */
	EXPECT_EQ(BGDMA_E_PEER_DOWN, outcome(&self->b.inj, seq));
	/* The call ends, the files stay open. */
	store(&told->go, 1);
	EXPECT_TRUE(until(seal(mem_fd)));
	EXPECT_TRUE(until(load(&told->result) == -ENODEV));
	EXPECT_EQ(0, kill(told->other, 0));
	kill(told->other, SIGKILL);
	reap(pid);
}

/* ---- Files that live on ----------------------------------------------- */

/* Files are the same, memory is not. */
static void share_files(void)
{
	pid_t pid = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0,
				   0);

	if (!pid) {
		for (;;)
			pause();
	}
	told->other = pid;
	ready();
}

TEST_F(end, x3_of_one_whose_files_live_on)
{
	pid_t pid = born(&self->a, share_files);

	reap(pid);
	EXPECT_TRUE(peer_down(&self->a.n, 2));
	EXPECT_TRUE(until(free_again(2)));
	EXPECT_EQ(0, kill(told->other, 0));
	kill(told->other, SIGKILL);
}

/* Its own files, of which others have one. */
static void *leave_with_files(void *arg)
{
	struct end *c = arg;

	must(unshare(CLONE_FILES));
	end_new(c, 2);
	must(send_fd(told->other, c->n.fd));
	while (!load(&told->go))
		usleep(1000);
	/* The other one is waiting by then. */
	usleep(200000);
	return NULL;
}

/* A thread ends in the middle of a call: no other context of its process does. */
TEST_F(end, x3_a_thread_with_files_of_its_own)
{
	struct bgdma_condition never = { .kind = BGDMA_KIND_EVENTS,
					 .value = 1000 };
	struct bgdma_wait wait = {
		.size = sizeof(wait), .count = 1,
		.conditions = (uintptr_t)&never,
		.timeout_ns = 20000000000LL,
	};
	struct bgdma_desc d = d_nop();
	int pair[2], fd;
	pthread_t thread;
	struct end c;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	told->go = 0;
	told->other = pair[0];
	ASSERT_EQ(0, pthread_create(&thread, NULL, leave_with_files, &c));
	fd = receive_fd(pair[1]);
	ASSERT_LE(0, fd);
	store(&told->go, 1);
	EXPECT_EQ(-1, ioctl(fd, BGDMA_IOC_WAIT, &wait));
	EXPECT_EQ(ENODEV, errno);
	ASSERT_EQ(0, pthread_join(thread, NULL));
	/* What was held up by that call is freed now; nothing else is. */
	EXPECT_TRUE(until(free_again(2)));
	EXPECT_EQ(BGDMA_OK, run(&self->a.inj, &d));
	EXPECT_EQ(BGDMA_OK, run(&self->b.inj, &d));
	close(fd);
	close(pair[0]);
	close(pair[1]);
}

/* All files stay open. */
static void become_another(void)
{
	int fd;

	for (fd = 3; fd < 64; fd++)
		fcntl(fd, F_SETFD, 0);
	ready();
	execl("/bin/sleep", "sleep", "300", NULL);
}

TEST_F(end, x3_of_one_that_becomes_another)
{
	pid_t pid;

	if (access("/bin/sleep", X_OK))
		SKIP(return, "no /bin/sleep to become");
	pid = born(&self->a, become_another);
	store(&told->go, 1);
	EXPECT_TRUE(peer_down(&self->a.n, 2));
	EXPECT_TRUE(until(free_again(2)));
	EXPECT_EQ(0, waitpid(pid, NULL, WNOHANG));
	reap(pid);
}

/* ---- Not the end ------------------------------------------------------ */

static int crash_at_once(void *arg)
{
	(void)arg;
	raise(SIGSEGV);
	return 0;
}

/* A child in our memory, with files of its own, as before an exec. */
static void survive(void)
{
	static char stack[64 * KIB] __attribute__((aligned(16)));
	struct rlimit all = { RLIM_INFINITY, RLIM_INFINITY };
	int status;
	pid_t pid;

	must(setrlimit(RLIMIT_CORE, &all));
	pid = clone(crash_at_once, stack + sizeof(stack), CLONE_VM | SIGCHLD,
		    NULL);
	must(pid);
	must(waitpid(pid, &status, 0));
	must(WIFSIGNALED(status) ? 0 : -EINVAL);
	ready();
	for (;;)
		pause();
}

TEST_F(end, x3_of_a_child_in_the_same_memory)
{
	pid_t pid;

	if (machine_set(PATTERN, "|/bin/true"))
		SKIP(return, "cannot set core_pattern");
	pid = born(&self->a, survive);
	store(&told->go, 1);
	EXPECT_EQ(0, waitpid(pid, NULL, WNOHANG));
	EXPECT_FALSE(free_again(2));
	reap(pid);
	EXPECT_TRUE(peer_down(&self->a.n, 2));
}

#define CROWD		200
#define CROWD_COUNTERS	1024U	/* of each kind */

/* Contexts that lease all of their many counters to whoever dies at rank 2. */
static void crowd(void)
{
	const struct bgdma_attach room = {
		.ctx = BGDMA_CTX_ANY, .inj_fifos = 1, .rec_fifos = 1,
		.rget_queues = 1, .events = 1, .inj_counters = CROWD_COUNTERS,
		.rec_counters = CROWD_COUNTERS,
	};
	unsigned int i;
	__u32 first, k;

	/* Each of them hears of the end of all others, too. */
	for (i = 0; i < CROWD / slowness(); i++) {
		struct node n;

		must(node_try(&n, PARTITION, 4 + i / 256, &room));
		must(counter_alloc(&n, INJ, 0, CROWD_COUNTERS, &first));
		must(counter_alloc(&n, REC, 0, CROWD_COUNTERS, &first));
		for (k = 0; k < CROWD_COUNTERS; k++) {
			cell(&n, INJ, k)->lease_peer = 2;
			cell(&n, REC, k)->lease_peer = 2;
		}
		n.uctl->leases = 1;
	}
	store(&told->other, 1);
	for (;;)
		pause();
}

static void live_on(void)
{
	ready();
}

/*
 * With much that is shared: it is given back at once, and others look at it. Half of
 * them hear of all that one's user has.
 */
static void come_and_go(__u32 rank, __u32 flags)
{
	struct bgdma_attach room = {
		.flags = flags, .ctx = BGDMA_CTX_ANY, .inj_fifos = 256,
	};
	unsigned int i;

	for (i = 0; i < 1500 / slowness(); i++) {
		struct node n;

		must(node_try(&n, PARTITION, rank, &room));
		node_close(&n);
	}
	_exit(0);
}

TEST_F_TIMEOUT(end, x3_who_come_and_go_tell_each_other, 120)
{
	int status;
	__u32 i;

	for (i = 0; i < 4; i++)
		if (!must(fork()))
			come_and_go(i % 2 + 2, i / 2 ? BGDMA_ATTACH_WATCH : 0);
	for (i = 0; i < 4; i++) {
		must(wait(&status) < 0 ? -errno : 0);
		EXPECT_EQ(0, status);
	}
}

/* What they have to be told keeps nobody else waiting. */
TEST_F_TIMEOUT(end, x3_beside_a_crowd, 120)
{
	struct rlimit files = { 4096, 4096 };
	pid_t many, pid;
	struct end a;

	finish(&self->a, &self->b);
	partition_new("8x1x1", "");
	must(setrlimit(RLIMIT_NOFILE, &files));
	told->other = 0;
	many = fork();
	if (!many) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		crowd();
	}
	must(many);
	ASSERT_TRUE(until(load(&told->other)));
	end_new(&a, 0);
	end_new(&self->b, 1);
	pid = born(&a, live_on);
	reap(pid);
	EXPECT_TRUE(peer_down(&a.n, 2));
	reap(many);
	self->a = a;
}

/* Many contexts of one process end together, while it exits and closes. */
TEST_F(end, x3_of_many_contexts_at_once)
{
	unsigned int i, round;

	for (round = 0; round < 20; round++) {
		pid_t pid = fork();

		if (!pid) {
			for (i = 0; i < 16; i++) {
				struct node n;

				must(node_try(&n, PARTITION, 2 + i % 2, NULL));
			}
			raise(SIGKILL);
		}
		must(pid);
		waitpid(pid, NULL, 0);
		ASSERT_TRUE(until(free_again(2)));
		ASSERT_TRUE(until(free_again(3)));
	}
}

/* ---- Beginnings ------------------------------------------------------- */

static void ignore(int signal)
{
	(void)signal;
}

/* A signal in the middle of it is no reason for failure. */
TEST_F(end, attach_under_a_profiler)
{
	const struct sigaction action = { .sa_handler = ignore };
	struct itimerval often = { { 0, 500 }, { 0, 500 } };
	unsigned int i;

	must(sigaction(SIGALRM, &action, NULL));
	must(setitimer(ITIMER_REAL, &often, NULL));
	for (i = 0; i < 300; i++) {
		struct bgdma_attach at = { .ctx = 0 };
		int fd = bg_open();

		if (fd < 0 || bg_attach(fd, PARTITION, 3, &at))
			break;
		close(fd);
	}
	memset(&often, 0, sizeof(often));
	must(setitimer(ITIMER_REAL, &often, NULL));
	EXPECT_EQ(300, i);
}

TEST_HARNESS_MAIN
