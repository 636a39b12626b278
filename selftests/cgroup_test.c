// SPDX-License-Identifier: GPL-2.0
/*
 * What the device allocates for a user counts as his memory: a control group's
 * limit holds for it.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "kselftest_harness.h"
#include "utils.h"

#define CGROUPS	"/sys/fs/cgroup"
#define CGROUP	CGROUPS "/bgdma-test"
#define LIMIT	"16777216"
#define MUCH	(64 * MIB)
#define LITTLE	MIB

static int driver_memory(struct node *n, __u32 bytes)
{
	struct bgdma_region_alloc c = {
		.size = sizeof(c), .rights = LOCAL_RW, .length = bytes,
	};

	return bg_ioctl(n->fd, BGDMA_IOC_REGION_ALLOC, &c);
}

static int reception_fifo(struct node *n, __u32 bytes)
{
	struct bgdma_rec_create c = {
		.size = sizeof(c), .id = BGDMA_ID_ANY, .bytes = bytes,
	};

	return bg_ioctl(n->fd, BGDMA_IOC_REC_CREATE, &c);
}

/* A table of the sub-queues, and of what waits in them. */
static int remote_get_queue(struct node *n, __u32 bytes)
{
	__u32 id;

	return rgq_try(n, 4096, bytes / (4096 * sizeof(struct bgdma_desc)), 0,
		       &id);
}

FIXTURE(cgroup) {
	int unused;
};

FIXTURE_VARIANT(cgroup) {
	int (*take)(struct node *n, __u32 bytes);
};

FIXTURE_VARIANT_ADD(cgroup, driver_memory) { driver_memory };
FIXTURE_VARIANT_ADD(cgroup, reception_fifo) { reception_fifo };
FIXTURE_VARIANT_ADD(cgroup, remote_get_queue) { remote_get_queue };

FIXTURE_SETUP(cgroup)
{
	/* What is mounted here is for nobody else. */
	if (geteuid() || unshare(CLONE_NEWNS) ||
	    mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("test", CGROUPS, "cgroup2", 0, NULL))
		SKIP(return, "needs root and cgroup2");
	write_file(CGROUPS "/cgroup.subtree_control", "+memory");
	mkdir(CGROUP, 0700);
	if (write_file(CGROUP "/memory.max", LIMIT))
		SKIP(return, "no limits of memory here");
	partition_new("2x1x1", "");
}

FIXTURE_TEARDOWN(cgroup)
{
	until(!rmdir(CGROUP));
}

struct taking {
	int (*take)(struct node *n, __u32 bytes);
	__u32 bytes;
};

static int take_in_the_group(void *arg)
{
	const struct taking *t = arg;
	struct node n;

	must(write_file(CGROUP "/cgroup.procs", "0"));
	must(node_try(&n, PARTITION, 0, NULL));
	return t->take(&n, t->bytes);
}

TEST_F(cgroup, x2_memory_is_charged)
{
	struct taking t = { variant->take, LITTLE };
	int ret;

	EXPECT_EQ(0, in_child(take_in_the_group, &t));
	t.bytes = MUCH;
	ret = in_child(take_in_the_group, &t);
	/* Or the kernel ends the one who asked. */
	EXPECT_TRUE(ret == -ENOMEM || ret == -EINTR) {
		TH_LOG("%d", ret);
	}
	/* Without a limit there is so much. */
	must(write_file(CGROUP "/memory.max", "max"));
	EXPECT_EQ(0, in_child(take_in_the_group, &t));
}

TEST_HARNESS_MAIN
