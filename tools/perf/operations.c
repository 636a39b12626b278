// SPDX-License-Identifier: GPL-2.0
/*
 * Latency, message rate and bandwidth of each operation between two nodes, and
 * of what there is without bgdma, all in turn: as regions for the plugin, and
 * as times. Data that did not come as it was sent ends the program.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "operations.h"

#define RUNS	15
#define ROUNDS	512

static const struct measure {
	const char *name;
	bool stream;
	size_t size;
	unsigned int n;
	unsigned int batch;
	bool typical;		/* the median of single ones, else of all the mean */
} measures[] = {
	{ "typical latency of 8 B", false, WORD, ROUNDS, 1, true },
	{ "rate, a doorbell each, of 8 B", true, WORD, MANY, 1, false },
	{ "latency of 8 B", false, WORD, ROUNDS, 1, false },
	{ "rate of 8 B", true, WORD, MANY, BATCH, false },
	{ "bandwidth of 4 KiB", true, 4UL << 10, MEMORY / (4UL << 10), BATCH, false },
	{ "bandwidth of 64 KiB", true, 64UL << 10, MEMORY / (64UL << 10), BATCH, false },
	{ "bandwidth of 1 MiB", true, 1UL << 20, MEMORY / (1UL << 20), BATCH, false },
};

#define MEASURES	(sizeof(measures) / sizeof(measures[0]))
/* The first, for what others' tools measure. */
#define OF_LINKS	2

char *op_source, *op_target;
unsigned int op_batch;
struct names op_peer;
static int control;	/* to the other side */

static void say(const void *what, size_t size)
{
	if (write(control, what, size) != (ssize_t)size)
		die("the other side", -EPIPE);
}

/* False: the other side has ended. */
static bool hear(void *what, size_t size)
{
	ssize_t got = read(control, what, size);

	if (got && got != (ssize_t)size)
		die("the other side", -EPIPE);
	return got;
}

static void wait_for_other(void)
{
	char byte;

	if (!hear(&byte, 1))
		die("the other side", -EPIPE);
}

static void clear(const struct method *m, const struct measure *what)
{
	if (m->landing)
		memset(*m->landing, 0, what->n * what->size);
}

static void check(const struct method *m, const struct measure *what)
{
	if (what->stream && m->landing &&
	    memcmp(*m->landing, op_source, what->n * what->size))
		die(m->name, -EBADMSG);
}

void netns_enter(uint32_t rank)
{
	char path[256];
	int fd;

	if (!netns)
		return;
	snprintf(path, sizeof(path), "/run/netns/%s%u", netns, rank);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET))
		die(path, -errno);
	close(fd);
}

static void side_open(uint32_t rank)
{
	struct names mine = { .pid = getpid() };
	size_t i;

	pin_to((int)rank);
	netns_enter(rank);
	op_source = small_pages(MEMORY);
	op_target = small_pages(MEMORY);
	for (i = 0; i < MEMORY; i++)
		op_source[i] = (char)(i * 7 + i / 4096 + 1);
	mine.source = op_source;
	device_open(rank, &mine);
	say(&mine, sizeof(mine));
	if (!hear(&op_peer, sizeof(op_peer)))
		die("the other side", -EPIPE);
	device_join();
	say("", 1);
	wait_for_other();
}

/* ---- B ----------------------------------------------------------------- */

struct command {
	const struct method *method;
	const struct measure *measure;
};

static void answer(const struct method *m, const struct measure *what)
{
	op_batch = what->batch;
	clear(m, what);
	if (m->prepare)
		m->prepare(what->stream ? what->n * what->size : what->size);
	say("", 1);
	if (what->stream)
		m->sink(what->n, what->size);
	else
		m->pong(what->n);
	/* Looking at what came is no part of it: that is over first. */
	wait_for_other();
	check(m, what);
	say("", 1);
}

static void other_side(void)
{
	struct command command;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	side_open(1);
	/* The same program: what one points to the other has too. */
	while (hear(&command, sizeof(command)))
		answer(command.method, command.measure);
	exit(0);
}

/* ---- A ----------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

static uint64_t typical(const struct method *m, unsigned int n)
{
	uint64_t each[ROUNDS], begin = now_ns(), end;
	unsigned int i;

	for (i = 0; i < n; i++, begin = end) {
		m->ping(1);
		end = now_ns();
		each[i] = end - begin;
	}
	qsort(each, n, sizeof(each[0]), compare);
	return each[n / 2];
}

/* What all take; of what is typical, if all were. */
static uint64_t transfer(const struct method *m, const struct measure *what)
{
	uint64_t begin = now_ns();

	if (what->typical)
		return what->n * typical(m, what->n);
	if (what->stream)
		m->stream(what->n, what->size);
	else
		m->ping(what->n);
	return now_ns() - begin;
}

static void take_one(const struct method *m, const struct measure *what,
		     bool report)
{
	const struct command command = { m, what };
	unsigned int ops = what->n;
	char name[128];
	uint64_t ns;

	snprintf(name, sizeof(name), "%s: %s", what->name, m->name);
	if (!strstr(name, only) || (m->largest && what->size > m->largest))
		return;
	if (m->pong) {
		say(&command, sizeof(command));
		wait_for_other();
		ops *= what->stream || m->together ? 1 : 2;
	}
	op_batch = what->batch;
	if (!m->pong || m->together)
		clear(m, what);
	if (report)
		MARK(MARK_BEGIN);
	ns = transfer(m, what);
	if (report)
		MARK(MARK_END);
	if (!m->pong || m->together)
		check(m, what);
	if (m->pong) {
		say("", 1);
		wait_for_other();
	}
	if (!report)
		return;
	printf("{\"region\":\"%s\",\"ops\":%u,\"ns\":%.1f}\n", name, ops,
	       (double)ns / ops);
	fflush(stdout);
}

static void take_all(const struct measure *what, bool report)
{
	size_t i;

	for (i = 0; i < n_device_methods; i++)
		take_one(&device_methods[i], what, report);
	if (netns) {
		take_one(&link_method, what, report);
		return;
	}
	for (i = 0; i < n_peer_methods; i++)
		take_one(&peer_methods[i], what, report);
}

/* The last @n of what is measured. */
static void both(size_t n)
{
	int ends[2], status;
	unsigned int run;
	size_t i;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends))
		die("socketpair", -errno);
	peers_open();
	pid = fork_bound();
	control = ends[!pid];
	close(ends[!!pid]);
	if (!pid)
		other_side();
	side_open(0);
	for (i = MEASURES - n; i < MEASURES; i++) {
		/* The first time warms up. */
		for (run = 0; run <= runs(RUNS); run++)
			take_all(&measures[i], run);
	}
	close(control);
	if (waitpid(pid, &status, 0) != pid || status)
		die("the other side", -ECHILD);
}

void operations(void)
{
	netns = NULL;
	both(MEASURES - OF_LINKS);
}

void over_links(void)
{
	if (!netns)
		die("--netns", -EINVAL);
	both(MEASURES);
}

void over_lossy_links(void)
{
	if (!netns)
		die("--netns", -EINVAL);
	both(1);
}
