// SPDX-License-Identifier: GPL-2.0
/*
 * Run a program: the ground, then its calls one by one, in one process or in
 * several, with threads, signals and users.
 */
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "machine.h"

static void run_calls(struct machine *m, int from, int count);

/* ---- Files, processes, users ------------------------------------------- */

static void call_open(struct machine *m, struct file *f, const uint8_t *choice)
{
	static const int flags[] = {
		O_RDWR, O_RDWR | O_CLOEXEC, O_RDONLY, O_WRONLY, O_RDWR,
		O_RDWR | O_NONBLOCK
	};

	/* What was there stays open, if this is to replace it quietly. */
	if (choice[0] % 4)
		close(f->fd);
	memset(f, 0, sizeof(*f));
	f->fd = open(BGDMA_DEVICE, flags[choice[1] % 6]);
	(void)m;
}

static void call_close(struct machine *m, struct file *f, const uint8_t *choice)
{
	int copy = choice[0] % 2 ? fcntl(f->fd, F_DUPFD, 40) : -1;

	close(f->fd);
	if (copy >= 0)
		f->fd = copy;
	(void)m;
}

static void call_poll(struct machine *m, struct file *f, const uint8_t *choice)
{
	struct pollfd p = { .fd = f->fd, .events = POLLIN | POLLERR };
	char byte;

	poll(&p, 1, choice[0] % 4);
	if (choice[1] % 4 == 3 && read(f->fd, &byte, 1) > 0)
		lseek(f->fd, 0, SEEK_SET);
	(void)m;
}

/* Let something else happen. */
static void call_pause(struct machine *m, struct file *f, const uint8_t *choice)
{
	static const useconds_t times[] = { 0, 100, 1000, 5000, 20000 };

	usleep(times[choice[0] % 5]);
	(void)m;
	(void)f;
}

static void call_user(struct machine *m, struct file *f, const uint8_t *choice)
{
	uid_t uid = 1000 + choice[0] % 2;

	if (setresgid(uid, uid, uid) || setresuid(uid, uid, uid))
		return;		/* it is one already */
	(void)m;
	(void)f;
}

/*
 * The @choice-th allocation or copy of what this thread does next fails. The
 * file stays open: closing it would be next.
 */
static void call_fail(struct machine *m, struct file *f, const uint8_t *choice)
{
	static __thread int fd;

	if (!fd)
		fd = open("/proc/thread-self/fail-nth", O_WRONLY | O_CLOEXEC);
	if (fd > 0)
		dprintf(fd, "%d", 1 + choice[0] % 32);
	(void)m;
	(void)f;
}

/* ---- The following calls, somewhere else ------------------------------- */

struct part {
	struct machine *m;
	int from;
	int count;
};

static void *run_part(void *arg)
{
	struct part *p = arg;

	run_calls(p->m, p->from, p->count);
	free(p);
	return NULL;
}

/* Also in a thread. */
static void call_thread(struct machine *m, int next, const uint8_t *choice)
{
	struct part *p = malloc(sizeof(*p));
	pthread_t thread;

	if (!p)
		return;
	*p = (struct part){ m, next, 1 + choice[0] % 4 };
	if (pthread_create(&thread, NULL, run_part, p))
		free(p);
	else
		pthread_detach(thread);
}

/* Also in a child, which then goes, or becomes another program. */
static void call_fork(struct machine *m, int next, const uint8_t *choice)
{
	char *const argv[] = { "fuzz", "-x", NULL };
	pid_t pid = fork();

	if (pid) {
		if (pid > 0 && choice[1] % 4 == 3) {
			usleep(choice[2] * 16);
			kill(pid, SIGKILL);
		}
		return;
	}
	m->scribbling = false;
	run_calls(m, next, choice[0] % 4);
	if (choice[1] % 4 == 2)
		execv("/proc/self/exe", argv);
	_exit(0);
}

/* ---- Calls ------------------------------------------------------------- */

typedef void call_fn(struct machine *m, struct file *f, const uint8_t *choice);

#define CALL(name)	{ #name, call_##name }

/* Behind the ioctls; what matters most is there more than once. */
static const struct {
	const char *name;
	call_fn *fn;
} others[] = {
	CALL(inject), CALL(inject), CALL(inject), CALL(inject), CALL(inject),
	CALL(inject), CALL(prepare), CALL(prepare), CALL(tail), CALL(drain),
	CALL(drain), CALL(map), CALL(remap), CALL(poke), CALL(poke),
	CALL(scribble), CALL(uring), CALL(uring), CALL(netlink), CALL(netlink),
	CALL(netlink), CALL(open), CALL(close), CALL(poll), CALL(pause),
	CALL(user), CALL(fail), CALL(group), CALL(class), CALL(class),
	CALL(link), CALL(frame), CALL(frame),
};

#define OTHERS		(sizeof(others) / sizeof(others[0]))

enum { OP_THREAD = IOCTLS + OTHERS, OP_FORK, OP_DIE, OPS };

const char *call_name(uint8_t op)
{
	static const char *const last[] = { "thread", "fork", "die" };
	unsigned int which = op % OPS;

	if (which < IOCTLS)
		return ioctl_name(which);
	return which < OP_THREAD ? others[which - IOCTLS].name :
				   last[which - OP_THREAD];
}

int call_named(const char *name, size_t length)
{
	unsigned int op;

	for (op = 0; op < OPS; op++)
		if (strlen(call_name((uint8_t)op)) == length &&
		    !memcmp(call_name((uint8_t)op), name, length))
			return (int)op;
	return -1;
}

static void run_calls(struct machine *m, int from, int count)
{
	int i;

	for (i = from; i < from + count && i < m->program->calls; i++) {
		const struct call *c = &m->program->call[i];
		struct file *f = &m->file[c->file % FILES];
		unsigned int op = c->op % OPS;

		if (op < IOCTLS)
			call_ioctl(m, f, op, c->choice);
		else if (op < OP_THREAD)
			others[op - IOCTLS].fn(m, f, c->choice);
		else if (op == OP_THREAD)
			call_thread(m, i + 1, c->choice);
		else if (op == OP_FORK)
			call_fork(m, i + 1, c->choice);
		else if (c->choice[0] % 4 == 3)
			kill(getpid(), SIGKILL);
	}
}

/* ---- Before the first call --------------------------------------------- */

static void ground_node(struct machine *m, unsigned int i, __u32 rank)
{
	struct file *f = &m->file[i];
	struct end *e = calloc(1, sizeof(*e));
	int a;

	must(e ? 0 : -ENOMEM);
	link_enter(rank);
	end_new(e, rank);
	link_leave();
	f->fd = e->n.fd;
	f->at = e->n.at;
	f->inj = e->inj;
	thing_add(f, INJ_FIFOS, e->inj.id);
	thing_add(f, REC_FIFOS, e->rec.id);
	thing_add(f, QUEUES, e->rgq);
	thing_add(f, INJ_SLOTS, BGDMA_HANDLE_SLOT(e->ic));
	thing_add(f, REC_SLOTS, BGDMA_HANDLE_SLOT(e->rc));
	thing_add(f, INJ_COUNTERS, e->ic);
	thing_add(f, REC_COUNTERS, e->rc);
	thing_add(f, REGIONS, e->mem.handle);
	for (a = 0; a < BGDMA_AREA_COUNT; a++) {
		f->area[f->areas++] = e->n.at.areas[a];
		view_add(m, e->n.area[a].p, e->n.area[a].bytes);
	}
	view_add(m, e->inj.ring, e->inj.entries * sizeof(*e->inj.ring));
	view_add(m, e->mem.p, e->mem.bytes);
	view_add(m, m->arena + 8 * PAGE * i, 8 * PAGE);
}

static __u32 ground_rank(uint8_t ground, unsigned int i)
{
	if (ground & GROUND_SAME || !i)
		return 0;
	/* Users stay where they are. */
	if (ground & GROUND_USER)
		return 1;
	return ground & GROUND_LINK ? LINK_RANK + i - 1 : i;
}

static void ground(struct machine *m)
{
	unsigned int nodes = m->program->ground & GROUND_NODES, i;
	static const uint8_t zeros[CHOICES];

	m->arena = mmap(NULL, ARENA, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(m->arena == MAP_FAILED ? -errno : 0);
	m->eventfd[0] = eventfd(0, EFD_NONBLOCK);
	m->eventfd[1] = eventfd(0, EFD_NONBLOCK);
	for (i = 0; i < FILES; i++)
		m->file[i].fd = -1;
	if (m->program->ground & GROUND_USER)
		call_user(m, NULL, zeros);
	for (i = 0; i < nodes; i++)
		ground_node(m, i, ground_rank(m->program->ground, i));
	for (; i < FILES; i++)
		m->file[i].fd = bg_open();
	if (m->program->ground & GROUND_SCRIBBLE)
		call_scribble(m, &m->file[0], zeros);
}

/* ---- The process ------------------------------------------------------- */

static void on_fault(int signal)
{
	(void)signal;
	siglongjmp(touching, 1);
}

static void on_alarm(int signal)
{
	(void)signal;
}

/* No call waits for ever. */
static void interrupt_often(void)
{
	struct itimerval often = {
		.it_interval.tv_usec = 20000, .it_value.tv_usec = 20000,
	};
	struct sigaction action = { .sa_handler = on_alarm };

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
}

/* Failures to order are no news. */
static void fail_quietly(void)
{
	static const char *const what[] = {
		"failslab", "fail_page_alloc", "fail_usercopy", "fail_futex"
	};
	char name[80];
	size_t i;
	int fd;

	for (i = 0; i < sizeof(what) / sizeof(what[0]); i++) {
		snprintf(name, sizeof(name), "/sys/kernel/debug/%s/verbose",
			 what[i]);
		fd = open(name, O_WRONLY | O_CLOEXEC);
		if (fd >= 0) {
			dprintf(fd, "0");
			close(fd);
		}
	}
}

void run_prepare(void)
{
	struct sigaction action = {
		.sa_handler = on_fault, .sa_flags = SA_NODEFER,
	};

	must(unshare(CLONE_NEWNET) ? -errno : 0);
	link_prepare();
	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGBUS, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
	fail_quietly();
	run_repair();
}

void run_repair(void)
{
	if (!link_repair())
		fprintf(stderr, "fuzz: no partition, or no link\n");
}

static struct machine machine;

void run_ground(const struct program *p)
{
	machine.program = p;
	link_repair();
	setgroups(0, NULL);
	ground(&machine);
	interrupt_often();
}

void run_program(const struct program *p)
{
	machine.program = p;
	run_calls(&machine, 0, p->calls);
}

void run_end(void)
{
	int i;

	/* The end of the process is not traced. */
	for (i = 0; i < FILES; i++)
		close(machine.file[i].fd);
	_exit(0);
}
