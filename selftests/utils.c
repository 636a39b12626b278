// SPDX-License-Identifier: GPL-2.0
/*
 * What the tests of /dev/bgdma share. See utils.h.
 */
#include <endian.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "links.h"
#include "utils.h"

/* ---- Failing, waiting ------------------------------------------------- */

static void __attribute__((noreturn, format(printf, 1, 2)))
die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fprintf(stderr, "# ");
	vfprintf(stderr, format, args);
	fprintf(stderr, "\n");
	va_end(args);
	_exit(99);	/* not an errno that a test expects */
}

long must_at(const char *file, int line, const char *what, long result)
{
	if (result < 0)
		die("%s:%d: %s: %s", file, line, what, strerror((int)-result));
	return result;
}

__u64 now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (__u64)ts.tv_sec * 1000000000ULL + (__u64)ts.tv_nsec;
}

unsigned int slowness(void)
{
	const char *text = getenv("BGDMA_TEST_SLOW");
	int times = text ? atoi(text) : 1;

	return times > 0 ? (unsigned int)times : 1;
}

/* In front of the C library's: the harness calls it for its limits. */
unsigned int alarm(unsigned int seconds)
{
	return (unsigned int)syscall(SYS_alarm, seconds * slowness());
}

static int child_result(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -EINTR;
}

int in_child(int (*fn)(void *arg), void *arg)
{
	pid_t pid = fork();

	if (!pid)
		_exit(-fn(arg));
	return child_result((pid_t)must(pid));
}

int as_user(uid_t uid, int (*fn)(void *arg), void *arg)
{
	pid_t pid = fork();

	if (!pid) {
		must(setgroups(0, NULL));
		must(setresgid(uid, uid, uid));
		must(setresuid(uid, uid, uid));
		_exit(-fn(arg));
	}
	return child_result((pid_t)must(pid));
}

pid_t start_child(int (*fn)(void *arg), void *arg)
{
	pid_t pid = fork();

	if (!pid) {
		int err = fn(arg);

		if (err)
			die("child: %s", strerror(-err));
		for (;;)
			pause();
	}
	return (pid_t)must(pid);
}

void kill_child(pid_t pid, int signal)
{
	kill(pid, signal);
	child_result(pid);
}

int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), ret = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		ret = -errno;
	close(fd);
	return ret;
}

void *shared(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	must(p == MAP_FAILED ? -errno : 0);
	return p;
}

/* ---- Partitions ------------------------------------------------------- */

int partition(const char *verb, const char *name, const char *words)
{
	char line[256], *word, *rest;
	char *argv[32] = { "bgdma", "partition", (char *)verb, (char *)name };
	int n = 4;
	pid_t pid;

	snprintf(line, sizeof(line), "%s", words);
	for (word = strtok_r(line, " ", &rest); word && n < 31;
	     word = strtok_r(NULL, " ", &rest))
		argv[n++] = word;
	pid = fork();
	if (!pid) {
		/* TAP is on stdout. */
		dup2(STDERR_FILENO, STDOUT_FILENO);
		execvp(argv[0], argv);
		die("cannot run the tool bgdma: %s", strerror(errno));
	}
	return -child_result((pid_t)must(pid));
}

void partition_new(const char *dims, const char *more)
{
	char words[200];

	/* Goes away with the last process in it, whatever happens. */
	must(unshare(CLONE_NEWNET) ? -errno : 0);
	if (links_new(dims, more))
		return;
	snprintf(words, sizeof(words), "dims %s mode 0666 %s", dims, more);
	must(-partition("add", PARTITION, words));
}

/* ---- Nodes ------------------------------------------------------------ */

int bg_open(void)
{
	int fd = open(BGDMA_DEVICE, O_RDWR | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int bg_ioctl(int fd, unsigned long cmd, void *arg)
{
	int ret = ioctl(fd, cmd, arg);

	return ret < 0 ? -errno : ret;
}

int bg_mmap(int fd, const struct bgdma_area *area, int prot, void **out)
{
	*out = mmap(NULL, area->bytes, prot, MAP_SHARED, fd,
		    (off_t)area->offset);
	return *out == MAP_FAILED ? -errno : 0;
}

int bg_attach(int fd, const char *name, __u32 rank, struct bgdma_attach *out)
{
	int ret;

	out->size = sizeof(*out);
	out->rank = rank;
	snprintf(out->partition, sizeof(out->partition), "%s", name);
	links_enter(rank);
	ret = bg_ioctl(fd, BGDMA_IOC_ATTACH, out);
	links_leave();
	return ret;
}

void *node_map(struct node *n, const struct bgdma_area *area, int prot)
{
	struct view *more = reallocarray(n->more, n->n_more + 1, sizeof(*more));
	void *p;

	must(more ? 0 : -ENOMEM);
	must(bg_mmap(n->fd, area, prot, &p));
	more[n->n_more++] = (struct view){ p, area->bytes };
	n->more = more;
	return p;
}

int node_try(struct node *n, const char *name, __u32 rank,
	     const struct bgdma_attach *opts)
{
	int i, ret;

	memset(n, 0, sizeof(*n));
	if (opts)
		n->at = *opts;
	else
		n->at.ctx = BGDMA_CTX_ANY;
	n->fd = bg_open();
	if (n->fd < 0)
		return n->fd;
	ret = bg_attach(n->fd, name, rank, &n->at);
	for (i = 0; !ret && i < BGDMA_AREA_COUNT; i++) {
		bool rw = i == BGDMA_AREA_USER_CTL || i == BGDMA_AREA_COUNTERS;

		ret = bg_mmap(n->fd, &n->at.areas[i],
			      PROT_READ | (rw ? PROT_WRITE : 0),
			      &n->area[i].p);
		if (!ret)
			n->area[i].bytes = n->at.areas[i].bytes;
	}
	if (ret) {
		node_close(n);
		return ret;
	}
	n->uctl = n->area[BGDMA_AREA_USER_CTL].p;
	n->kctl = n->area[BGDMA_AREA_KERN_CTL].p;
	n->events = n->area[BGDMA_AREA_EVENTS].p;
	return 0;
}

void node_new(struct node *n, __u32 rank)
{
	must(node_try(n, PARTITION, rank, NULL));
}

void node_unmap(struct node *n)
{
	unsigned int i;

	for (i = 0; i < BGDMA_AREA_COUNT; i++)
		if (n->area[i].bytes)
			munmap(n->area[i].p, n->area[i].bytes);
	for (i = 0; i < n->n_more; i++)
		munmap(n->more[i].p, n->more[i].bytes);
	free(n->more);
	n->more = NULL;
	n->n_more = 0;
	memset(n->area, 0, sizeof(n->area));
}

void node_close(struct node *n)
{
	node_unmap(n);
	close(n->fd);
	memset(n, 0, sizeof(*n));
	n->fd = -1;
}

/* ---- Waiting ---------------------------------------------------------- */

int wait_for(struct node *n, __u32 kind, __u32 object, __u64 value,
	     __s64 timeout_ns)
{
	struct bgdma_condition cond = {
		.kind = kind, .object = object, .value = value,
	};
	struct bgdma_wait c = {
		.size = sizeof(c), .conditions = (uintptr_t)&cond, .count = 1,
		.timeout_ns = timeout_ns,
	};

	return bg_ioctl(n->fd, BGDMA_IOC_WAIT, &c);
}

int event_bind(struct node *n, __u32 kind, __u32 object, int fd)
{
	struct bgdma_event_bind c = {
		.size = sizeof(c), .kind = kind, .object = object,
		.eventfd = fd,
	};

	return bg_ioctl(n->fd, BGDMA_IOC_EVENT_BIND, &c);
}

int poll_file(struct node *n, int timeout_ms)
{
	struct pollfd p = { .fd = n->fd, .events = POLLIN };
	int ret = poll(&p, 1, timeout_ms);

	return ret < 0 ? -errno : ret ? p.revents : 0;
}

__u64 eventfd_count(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	__u64 count = 0;

	if (poll(&p, 1, 0) != 1)
		return 0;
	must(read(fd, &count, sizeof(count)) < 0 ? -errno : 0);
	return count;
}

/* ---- Two nodes -------------------------------------------------------- */

void end_new(struct end *e, __u32 rank)
{
	node_new(&e->n, rank);
	inj_new(&e->inj, &e->n);
	rec_new(&e->rec, &e->n);
	e->rgq = rgq_new(&e->n);
	region_new(&e->mem, &e->n, PAIR_BYTES);
	e->ic = counter_new(&e->n, INJ, 0);
	e->rc = counter_new(&e->n, REC, 0);
}

void pair_new(struct end *a, struct end *b)
{
	partition_new("4x1x1", "");
	end_new(a, 0);
	end_new(b, 1);
}

struct bgdma_desc d_put_counted(struct end *a, struct end *b, __u32 ic,
				__u32 rc, __u32 length)
{
	struct bgdma_desc d = d_put(1, a->mem.handle, 0, b->mem.handle, 0,
				    length);

	d.inj_ctr = htole32(ic);
	d.rec_ctr = htole32(rc);
	return d;
}
