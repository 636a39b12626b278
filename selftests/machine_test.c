// SPDX-License-Identifier: GPL-2.0
/*
 * Whatever ends a test, the machine is as it was before: see machine.h.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "kselftest_harness.h"
#include "machine.h"
#include "utils.h"

#define SYSCTL	"/proc/sys/vm/oom_dump_tasks"
#define ONLINE	"/sys/devices/system/cpu/online"

static void text_of(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);

	must(n < 0 ? -errno : 0);
	text[n] = '\0';
	close(fd);
}

static bool is(const char *path, const char *text)
{
	char now[64];

	text_of(path, now, sizeof(now));
	return !strcmp(now, text);
}

FIXTURE(machine) {
	char sysctl[64], online[64];
	__u32 *changed;
};

/* How a test may end; with all that it changed in the hands of the guardian. */
FIXTURE_VARIANT(machine) {
	void (*end)(void);
	int signal;
};

static void end_well(void)
{
	exit(0);
}

static void end_by_assertion(void)
{
	abort();
}

static void end_by_fault(void)
{
	raise(SIGSEGV);
}

static void wait_for_the_end(void)
{
	for (;;)
		pause();
}

FIXTURE_VARIANT_ADD(machine, well) { end_well, 0 };
FIXTURE_VARIANT_ADD(machine, assertion) { end_by_assertion, 0 };
FIXTURE_VARIANT_ADD(machine, fault) { end_by_fault, 0 };
FIXTURE_VARIANT_ADD(machine, term) { wait_for_the_end, SIGTERM };
FIXTURE_VARIANT_ADD(machine, kill) { wait_for_the_end, SIGKILL };

FIXTURE_SETUP(machine)
{
	if (geteuid())
		SKIP(return, "needs root");
	text_of(SYSCTL, self->sysctl, sizeof(self->sysctl));
	text_of(ONLINE, self->online, sizeof(self->online));
	self->changed = shared(PAGE);
}

FIXTURE_TEARDOWN(machine)
{
	munmap(self->changed, PAGE);
}

/* In a group of its own, which is killed as the harness does. */
static pid_t start(__u32 *changed, void (*change)(void), void (*end)(void))
{
	pid_t pid = fork();

	if (!must(pid)) {
		setpgid(0, 0);
		change();
		store(changed, 1);
		end();
		_exit(0);
	}
	setpgid(pid, pid);
	return pid;
}

static void change_all(void)
{
	must(machine_set(SYSCTL, "0"));
	/* What it was is what it was at first. */
	must(machine_set(SYSCTL, "1"));
	must(machine_set(SYSCTL, "0"));
	machine_one_processor();
}

TEST_F(machine, is_as_it_was)
{
	pid_t pid = start(self->changed, change_all, variant->end);

	ASSERT_TRUE(until(load(self->changed)));
	if (variant->signal) {
		EXPECT_TRUE(is(SYSCTL, "0\n"));
		kill(-pid, variant->signal);
	}
	waitpid(pid, NULL, 0);
	EXPECT_TRUE(until(is(SYSCTL, self->sysctl)));
	EXPECT_TRUE(until(is(ONLINE, self->online)));
}

static void change_and_put_back(void)
{
	char before[64];

	text_of(SYSCTL, before, sizeof(before));
	change_all();
	machine_restore();
	if (!is(SYSCTL, before))
		wait_for_the_end();
	must(machine_set(SYSCTL, "0"));
}

static void remove_the_module(void)
{
	must(until(!machine_remove()) ? 0 : -EBUSY);
}

/* Nobody can wait for what others do to the same file. */
TEST_F(machine, is_put_back_on_request)
{
	pid_t pid = start(self->changed, change_and_put_back, variant->end);

	ASSERT_TRUE(until(load(self->changed)));
	kill(-pid, variant->signal ?: SIGKILL);
	waitpid(pid, NULL, 0);
	EXPECT_TRUE(until(is(SYSCTL, self->sysctl)));
	EXPECT_TRUE(until(is(ONLINE, self->online)));
}

TEST_F(machine, has_its_module)
{
	int ko = machine_module();
	pid_t pid;

	if (ko < 0)
		SKIP(return, "no file of the module");
	close(ko);
	pid = start(self->changed, remove_the_module, variant->end);
	ASSERT_TRUE(until(load(self->changed)));
	if (variant->signal) {
		EXPECT_NE(0, access(BGDMA_DEVICE, F_OK));
		kill(-pid, variant->signal);
	}
	waitpid(pid, NULL, 0);
	EXPECT_TRUE(until(!access(BGDMA_DEVICE, F_OK)));
}

/* Whatever waits for the pids would wait for the guardian, too. */
TEST(machine_guardian_is_no_child)
{
	if (geteuid())
		SKIP(return, "needs root");
	must(machine_set(SYSCTL, "0"));
	EXPECT_EQ(-1, waitpid(-1, NULL, WNOHANG));
	EXPECT_EQ(ECHILD, errno);
	machine_restore();
}

TEST_HARNESS_MAIN
