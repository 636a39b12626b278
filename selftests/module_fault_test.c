// SPDX-License-Identifier: GPL-2.0
/*
 * Inserting the module with a fault inside, see fault.h: either it is there,
 * or nothing of it is. Nobody else may use the device. BGDMA_KO names the file
 * of the module; by default where tools/vm put it.
 */
#include "kselftest_harness.h"
#include "fault.h"

#define TRIES	150U	/* of all faults the last: the module's own are there */

static int ko = -1;

static int insert(void)
{
	return syscall(SYS_finit_module, ko, "", 0) ? -errno : 0;
}

/* A file that is released late holds the module a moment. */
static int remove_module(void)
{
	int ret = 0;

	return until(!(ret = machine_remove()) || ret == -ENOENT) ? 0 : ret;
}

static bool nothing_left(void)
{
	struct link link;
	bool family;

	family = !link_open(&link);
	link_close(&link);
	return !family && access("/sys/module/bgdma", F_OK) &&
	       access(BGDMA_DEVICE, F_OK);
}

/* How many allocations and copies an insertion is. */
static unsigned int faults_of_insertion(void)
{
	const unsigned int many = 100000;
	char text[16] = "";

	fault_arm(many);
	must(insert());
	must(pread(fault_fd, text, sizeof(text) - 1, 0) > 0 ? 0 : -EIO);
	fault_disarm();
	return many - (unsigned int)atoi(text);
}

FIXTURE(module)
{
	int unused;
};

FIXTURE_SETUP(module)
{
	const char *why = faults_begin();

	if (why)
		SKIP(return, "%s", why);
	ko = machine_module();
	if (ko < 0)
		SKIP(return, "no file of the module");
	must(remove_module());
}

FIXTURE_TEARDOWN(module)
{
	machine_restore();
}

TEST_F_TIMEOUT(module, insertion_fails_as_a_whole, 600)
{
	unsigned int n, failures = 0;

	/* The first one may need far more than the next: what it takes stays, in part. */
	(void)faults_of_insertion();
	must(remove_module());
	for (n = faults_of_insertion(); n && failures < TRIES; n--) {
		int ret;

		must(remove_module());
		fault_arm(n);
		ret = insert();
		fault_disarm();
		if (!ret)
			continue;
		failures++;
		ASSERT_TRUE(fault_errno(ret)) TH_LOG("fault %u: %d", n, ret);
		ASSERT_TRUE(nothing_left()) TH_LOG("fault %u", n);
		ASSERT_EQ(0, insert()) TH_LOG("after fault %u", n);
	}
	/* It allocates for its threads, namespaces, netlink and the device. */
	EXPECT_LT(10, failures);
}

TEST_HARNESS_MAIN
