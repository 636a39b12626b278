// SPDX-License-Identifier: GPL-2.0
/*
 * What tests change of the machine that they run on. See machine.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "machine.h"
#include "utils.h"

#define MODULE		"/sys/module/bgdma"
#define MODULE_FILE	"/lib/modules/bgdma.ko"
#define FILES_MAX	64
#define TEXT_MAX	256

/* Sent to the guardian: a name to remember, or none: put all back. */
static int guardian = -1;
static pid_t program;

static void __attribute__((constructor)) remember_program(void)
{
	program = getpid();
}

static int read_text(const char *path, char *text)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, text, TEXT_MAX - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	return n < 0 ? -errno : 0;
}

/* ---- The guardian ----------------------------------------------------- */

static struct kept {
	char path[TEXT_MAX];
	char text[TEXT_MAX];
} kept[FILES_MAX];
static unsigned int n_kept;

static int keep(const char *path)
{
	struct kept *k = &kept[n_kept];
	unsigned int i;
	int ret = 0;

	for (i = 0; i < n_kept; i++)
		if (!strcmp(kept[i].path, path))
			return 0;
	if (n_kept == FILES_MAX)
		return -ENOSPC;
	snprintf(k->path, sizeof(k->path), "%s", path);
	if (strcmp(path, MODULE))
		ret = read_text(path, k->text);
	n_kept += !ret;
	return ret;
}

static void put_back(const struct kept *k)
{
	char text[TEXT_MAX];

	if (!strcmp(k->path, MODULE)) {
		if (access(MODULE, F_OK))
			machine_insert();
		return;
	}
	if (!read_text(k->path, text) && strcmp(text, k->text) &&
	    write_file(k->path, k->text))
		fprintf(stderr, "# %s stays changed, it was %s", k->path,
			k->text);
}

static void put_all_back(void)
{
	unsigned int i;

	for (i = n_kept; i-- > 0; )
		put_back(&kept[i]);
}

/* Until the test or its program has ended. */
static void serve(int sock, int test, int whole)
{
	struct pollfd p[] = {
		{ .fd = sock, .events = POLLIN },
		{ .fd = test, .events = POLLIN },
		{ .fd = whole, .events = POLLIN },
	};
	char path[TEXT_MAX];
	ssize_t n;
	int ret;

	for (;;) {
		if (poll(p, 3, -1) < 0)
			continue;
		if (p[1].revents || p[2].revents)
			return;
		n = recv(sock, path, sizeof(path) - 1, 0);
		if (n <= 0)
			return;
		path[n] = '\0';
		ret = 0;
		if (*path == '/')
			ret = keep(path);
		else
			put_all_back();
		send(sock, &ret, sizeof(ret), MSG_NOSIGNAL);
	}
}

/* Nothing of the test's may live longer for it: no file, no namespace. */
static void guard(int sock, pid_t test)
{
	int lock, i;

	setsid();
	for (i = 1; i < _NSIG; i++)
		signal(i, SIG_IGN);
	dup2(sock, 3);
	close_range(4, ~0U, 0);
	/* Another program's guardian may not be through. */
	lock = open("/sys/devices", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (unshare(CLONE_NEWNET) || lock < 0 || flock(lock, LOCK_EX))
		_exit(1);
	serve(3, (int)syscall(SYS_pidfd_open, test, 0),
	      (int)syscall(SYS_pidfd_open, program, 0));
	put_all_back();
	_exit(0);
}

static int guardian_start(void)
{
	pid_t test = getpid(), pid;
	int sock[2];

	if (access(BGDMA_DEVICE, F_OK))
		return -ENODEV;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sock))
		return -errno;
	pid = fork();
	if (!pid) {
		/* No child of the test's: nobody waits for it. */
		if (fork())
			_exit(0);
		guard(sock[1], test);
	}
	waitpid((pid_t)must(pid), NULL, 0);
	close(sock[1]);
	guardian = sock[0];
	return 0;
}

static int tell(const char *path)
{
	int ret;

	/* A guardian that has gone puts nothing back: then nothing changes. */
	if (send(guardian, path, strlen(path), MSG_NOSIGNAL) < 0 ||
	    recv(guardian, &ret, sizeof(ret), 0) != sizeof(ret))
		return -EPIPE;
	return ret;
}

static int remember(const char *path)
{
	int ret = guardian < 0 ? guardian_start() : 0;

	return ret ? ret : tell(path);
}

/* ---- Changes ---------------------------------------------------------- */

int machine_set(const char *path, const char *text)
{
	int ret = remember(path);

	return ret ? ret : write_file(path, text);
}

void machine_restore(void)
{
	if (guardian >= 0)
		tell(".");
}

bool machine_processor(unsigned int number, bool online)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/online",
		 number);
	return !machine_set(path, online ? "1" : "0");
}

bool machine_one_processor(void)
{
	long i, n = sysconf(_SC_NPROCESSORS_CONF);

	for (i = 1; i < n; i++)
		machine_processor((unsigned int)i, false);
	return sysconf(_SC_NPROCESSORS_ONLN) == 1;
}

int machine_module(void)
{
	const char *path = getenv("BGDMA_KO");
	int fd = open(path ? path : MODULE_FILE, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int machine_insert(void)
{
	int fd = machine_module(), ret;

	if (fd < 0)
		return fd;
	ret = syscall(SYS_finit_module, fd, "", 0) ? -errno : 0;
	close(fd);
	/* The kernel's temporary file system makes the node a moment later. */
	return ret ? ret : until(!access(BGDMA_DEVICE, F_OK)) ? 0 : -ETIME;
}

int machine_remove(void)
{
	int ret = remember(MODULE);

	if (ret)
		return ret;
	return syscall(SYS_delete_module, "bgdma", O_NONBLOCK) ? -errno : 0;
}
