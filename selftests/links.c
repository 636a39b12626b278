// SPDX-License-Identifier: GPL-2.0
/*
 * Network namespaces for the nodes of a partition.
 */
#include "links.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "utils.h"

static int home = -1, away[LINKS_MAX];
static uint32_t nodes, timeout_ms = 10000;
static bool ring;
static char shape[32];

/* Commands of the shell that have to succeed. */
static void shell_run(const char *commands)
{
	if (system(commands)) {
		fprintf(stderr, "# failed: %s\n", commands);
		must(-EINVAL);
	}
}

static void __attribute__((format(printf, 1, 2)))
shell(const char *format, ...)
{
	char command[512];
	va_list args;

	va_start(args, format);
	vsnprintf(command, sizeof(command), format, args);
	va_end(args);
	shell_run(command);
}

static int here(void)
{
	int fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);

	return (int)must(fd < 0 ? -errno : fd);
}

static uint32_t size_of(const char *dims)
{
	unsigned int x = 1, y = 1, z = 1;

	return sscanf(dims, "%ux%ux%u", &x, &y, &z) > 0 ? x * y * z : 0;
}

static void namespace_new(uint32_t rank)
{
	must(unshare(CLONE_NEWNET) ? -errno : 0);
	away[rank] = here();
	must(setns(home, CLONE_NEWNET) ? -errno : 0);
}

/* By one command: each takes its time on an emulated machine. */
static void devices_new(void)
{
	const char *mtu = getenv("BGDMA_TEST_MTU");
	int test = (int)getpid();
	char *commands = NULL;
	uint32_t rank;
	size_t bytes;
	FILE *to = open_memstream(&commands, &bytes);

	must(to ? 0 : -errno);
	if (!mtu)
		mtu = "1500";
	fputs("/usr/bin/ip -batch - <<end\n", to);
	if (!ring)
		fputs("link add bridge up type bridge\n", to);
	for (rank = 0; rank < nodes; rank++) {
		if (ring)
			fprintf(to, "link add right up netns /proc/%d/fd/%d "
				"type veth peer name left netns /proc/%d/fd/%d\n",
				test, away[rank], test, away[(rank + 1) % nodes]);
		else
			fprintf(to, "link add bg0 up mtu %s netns /proc/%d/fd/%d "
				"type veth peer name port%u mtu %s\n"
				"link set port%u up master bridge\n",
				mtu, test, away[rank], rank, mtu, rank);
	}
	fputs("end\n", to);
	must(fclose(to) ? -errno : 0);
	shell_run(commands);
	free(commands);
}

static void device_join(const char *dev)
{
	const char *netem = getenv("BGDMA_TEST_NETEM");

	if (netem)
		shell("/usr/bin/tc qdisc replace dev %s root netem %s", dev,
		      netem);
	/* A slow machine says HELLO late, and answers late. */
	shell("bgdma link add dev %s partition %s hello %u timeout %u >&2",
	      dev, PARTITION, 50 * slowness(), timeout_ms * slowness());
}

static void node_join(uint32_t rank, const char *dims, const char *more)
{
	links_enter(rank);
	shell("bgdma partition add %s dims %s mode 0666 nodes %u %s >&2",
	      PARTITION, dims, rank, more);
	if (ring) {
		shell("/usr/bin/ip link set left up");
		device_join("left");
		device_join("right");
	} else {
		device_join("bg0");
	}
	links_leave();
}

/* At the same time. */
static void nodes_join(const char *dims, const char *more)
{
	pid_t pid[LINKS_MAX] = { 0 };
	uint32_t rank;
	int status;

	for (rank = 0; rank < nodes; rank++) {
		pid[rank] = (pid_t)must(fork());
		if (pid[rank])
			continue;
		node_join(rank, dims, more);
		_exit(0);
	}
	for (rank = 0; rank < nodes; rank++) {
		must(waitpid(pid[rank], &status, 0) < 0 ? -errno : 0);
		must(status ? -EINVAL : 0);
	}
}

/* Shorter than any time-out; not in our way, as long as the test runs. */
static void flap(const char *log)
{
	FILE *file = fopen(log, "a");
	pid_t test = getpid(), pid;
	uint32_t rank;

	must(file ? 0 : -errno);
	pid = (pid_t)must(fork());
	if (pid) {
		fclose(file);
		return;
	}
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != test)
		_exit(1);
	for (;;) {
		usleep(300000 + (unsigned int)rand() % 1500000);
		rank = (uint32_t)rand() % nodes;
		shell("/usr/bin/ip link set port%u down", rank);
		usleep(100000);
		shell("/usr/bin/ip link set port%u up", rank);
		fprintf(file, "%u\n", rank);
		fflush(file);
	}
}

bool links_new(const char *dims, const char *more)
{
	uint32_t rank;

	nodes = 0;
	if (!links_wanted() || size_of(dims) > LINKS_MAX)
		return false;
	home = here();
	nodes = size_of(dims);
	snprintf(shape, sizeof(shape), "%s", dims);
	for (rank = 0; rank < nodes; rank++)
		namespace_new(rank);
	devices_new();
	nodes_join(dims, more);
	if (getenv("BGDMA_TEST_FLAP"))
		flap(getenv("BGDMA_TEST_FLAP"));
	return true;
}

void links_enter(uint32_t rank)
{
	if (rank < nodes)
		must(setns(away[rank], CLONE_NEWNET) ? -errno : 0);
}

void links_leave(void)
{
	if (nodes)
		must(setns(home, CLONE_NEWNET) ? -errno : 0);
}

void links_hasty(void)
{
	must(setenv("BGDMA_TEST_LINKS", "1", 1));
	timeout_ms = 2000;
}

void links_ring(void)
{
	must(setenv("BGDMA_TEST_LINKS", "1", 1));
	ring = true;
}

/* The bridge hands on to a port what it has learned to be there, or what is flooded. */
static void port_set(uint32_t rank, const char *what)
{
	int from = here();

	must(setns(home, CLONE_NEWNET) ? -errno : 0);
	shell("/usr/bin/ip link set port%u type bridge_slave %s fdb_flush", rank, what);
	must(setns(from, CLONE_NEWNET) ? -errno : 0);
	close(from);
}

void links_cut(uint32_t rank, bool cut)
{
	port_set(rank, cut ? "learning off flood off" : "learning on flood on");
}

void links_deaf(uint32_t rank, bool deaf)
{
	port_set(rank, deaf ? "learning off flood off mcast_flood off bcast_flood off" :
			      "learning on flood on mcast_flood on bcast_flood on");
}

void links_bye(uint32_t rank)
{
	int from = here();

	links_enter(rank);
	shell("bgdma partition del %s >&2", PARTITION);
	must(setns(from, CLONE_NEWNET) ? -errno : 0);
	close(from);
}

void links_anew(uint32_t rank)
{
	int from = here();

	links_enter(rank);
	node_join(rank, shape, "");
	must(setns(from, CLONE_NEWNET) ? -errno : 0);
	close(from);
}

void links_down(uint32_t rank)
{
	int from = here();

	must(setns(away[rank], CLONE_NEWNET) ? -errno : 0);
	shell("/usr/bin/ip link set bg0 down");
	must(setns(from, CLONE_NEWNET) ? -errno : 0);
	close(from);
}

bool links_wanted(void)
{
	return getenv("BGDMA_TEST_LINKS");
}

bool links_used(void)
{
	return nodes;
}
