// SPDX-License-Identifier: GPL-2.0
/*
 * What the device allocates for a user counts as his memory: a control group's
 * limit holds for it.
 */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>

#include "kselftest_harness.h"
#include "cgroup.h"
#include "netlink_veth.h"
#include "tool.h"
#include "tree.h"
#include "utils.h"

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
	const char *why = group_new(LIMIT);

	if (why)
		SKIP(return, "%s", why);
	partition_new("2x1x1", "");
}

FIXTURE_TEARDOWN(cgroup)
{
	group_end();
}

struct taking {
	int (*take)(struct node *n, __u32 bytes);
	__u32 bytes;
};

static int take_in_the_group(void *arg)
{
	const struct taking *t = arg;
	struct node n;

	group_join();
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

/* ---- What links keep for who sends ------------------------------------- */

#define FAR	4095	/* nodes of another kernel */
#define FLOW	400	/* bytes that are known of what goes to each, at least */
#define ROUNDED	524288	/* pages that a processor has charged beforehand */

FIXTURE(linked) {
	int far;	/* a network namespace */
	long *grown;
};

/* These nodes here, and the device as a link to the others. */
static void nodes_on(const char *dev, const char *nodes)
{
	char words[128];

	must(rt_set(dev, true, 9000) ? -EIO : 0);
	snprintf(words, sizeof(words),
		 "partition add %s dims 64x64x1 mode 0666 nodes %s", PARTITION, nodes);
	tool(words);
	snprintf(words, sizeof(words),
		 "link add dev %s partition %s hello %u timeout 60000", dev, PARTITION,
		 50 * slowness());
	tool(words);
}

static int namespace_new(void)
{
	must(unshare(CLONE_NEWNET) ? -errno : 0);
	return must(open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC));
}

FIXTURE_SETUP(linked)
{
	const char *why = group_new(LIMIT);
	int near;

	if (why)
		SKIP(return, "%s", why);
	self->grown = shared(sizeof(*self->grown));
	self->far = namespace_new();
	if (rt_veth())
		SKIP(return, "needs veth");
	nodes_on("veth0", "1-4095");
	near = namespace_new();
	must(setns(self->far, CLONE_NEWNET) ? -errno : 0);
	must(rt_move("veth1", near) ? -EIO : 0);
	must(setns(near, CLONE_NEWNET) ? -errno : 0);
	close(near);
	nodes_on("veth1", "0");
}

FIXTURE_TEARDOWN(linked)
{
	close(self->far);
	group_end();
}

/* By how much the group grows when something is sent to all others, or as many as do. */
static int send_to_all(void *arg)
{
	const __u64 word = 1;
	long before = 0, *grown = arg;
	struct bgdma_desc d;
	struct node n;
	struct inj f;
	__u32 rank;

	group_join();
	node_new(&n, 0);
	inj_new(&f, &n);
	for (rank = 1; rank <= FAR && *grown < FAR * FLOW - ROUNDED; rank++) {
		d = d_inline(rank, 0, &word, sizeof(word));
		/* There may be no way at first. */
		if (!until(run_bad(&f, &d) == BGDMA_E_NO_PEER))
			return -EPROTO;
		if (rank == 1)
			before = charged();
		else if (rank % 256 == 0 || rank == FAR)
			*grown = charged() - before;
	}
	return 0;
}

TEST_F_TIMEOUT(linked, x2_what_is_known_of_those_it_sends_to_is_charged, 120)
{
	EXPECT_EQ(0, in_child(send_to_all, self->grown));
	EXPECT_LE(FAR * FLOW - ROUNDED, *self->grown);
}

/* ---- What the combining network has on its way --------------------------- */

#define ROOTS	4U
#define PACKETS	10	/* of a class that go out before anything is acknowledged */
#define COPIED	(ROOTS * BGDMA_CLASSES_MAX * PACKETS * (long)PAGE)

struct broadcast {
	int far;
	long *grown;
};

/* In every class; the child takes no part, and has little memory for it. */
static void classes_bind(struct node *root, struct node *child)
{
	const struct bgdma_group_member who[] = {
		{ .rank = root->at.rank, .ctx = root->at.ctx,
		  .incarnation = root->at.incarnation },
		{ .rank = child->at.rank, .ctx = child->at.ctx,
		  .incarnation = child->at.incarnation },
	};
	struct bgdma_class_bind c = {
		.instance = INSTANCE, .member_count = 2, .members = (uintptr_t)who,
	};

	for (c.number = 0; c.number < BGDMA_CLASSES_MAX; c.number++) {
		c.rank = 1;
		c.window = 1;
		must(class_bind(child, &c));
		c.rank = 0;
		c.window = 16;
		must(class_bind(root, &c));
	}
}

static void root_new(struct member *root, int far)
{
	int near = (int)must(open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC));
	struct node child;

	node_new(&root->n, 0);
	inj_new(&root->inj, &root->n);
	region_new(&root->mem, &root->n, FROM + PACKETS * PAGE);
	root->rc = BGDMA_NONE;
	must(setns(far, CLONE_NEWNET) ? -errno : 0);
	node_new(&child, 1);
	classes_bind(&root->n, &child);
	must(setns(near, CLONE_NEWNET) ? -errno : 0);
	close(near);
}

static int broadcast_from_all(void *arg)
{
	struct broadcast *b = arg;
	struct member root[ROOTS];
	struct bgdma_desc d;
	long before;
	__u32 i, j;

	must(write_file(CGROUP "/cgroup.procs", "0"));
	for (i = 0; i < ROOTS; i++)
		root_new(&root[i], b->far);
	/* Nothing arrives any more, until the test is over. */
	must(system("/usr/bin/tc qdisc add dev veth1 root netem delay 200s limit 100000") ?
	     -EINVAL : 0);
	before = charged();
	for (i = 0; i < ROOTS; i++) {
		for (j = 0; j < BGDMA_CLASSES_MAX; j++) {
			d = d_tree(&root[i], BGDMA_OP_TREE_BCAST, 0, PACKETS * PAGE);
			d.class_prio = (__u8)j;
			put_in(&root[i].inj, &d);
		}
		post(&root[i].inj);
	}
	until((*b->grown = charged() - before) >= COPIED / 2);
	return 0;
}

TEST_F_TIMEOUT(linked, x2_what_is_copied_for_others_is_charged, 120)
{
	struct broadcast b = { self->far, self->grown };

	/* What the classes have may be a multiple, where memory is watched. */
	must(write_file(CGROUP "/memory.max", "max"));
	EXPECT_EQ(0, in_child(broadcast_from_all, &b));
	TH_LOG("%ld of %ld bytes", *self->grown, COPIED);
	EXPECT_LE(COPIED / 2, *self->grown);
}

TEST_HARNESS_MAIN
