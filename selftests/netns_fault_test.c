// SPDX-License-Identifier: GPL-2.0
/*
 * A device that moves to another network namespace with a link on it, and a namespace
 * that ends with one, while the module gets no memory, see fault.h. Only the module:
 * the kernel itself warns when it has none for that.
 */
#include <fcntl.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <sys/wait.h>

#include "kselftest_harness.h"
#include "fault.h"
#include "netlink_veth.h"
#include "tool.h"

/*
 * Of a hundred things that it asks memory for so many fail. Not all: a namespace waits
 * until there was memory to say who has left.
 */
static const unsigned int percents[] = { 0, 10, 50, 90 };
#define PERCENTS	(sizeof(percents) / sizeof(percents[0]))

/* Partition PARTITION of two nodes, of which @rank lives here, with a link. */
static void partition_on(const char *dev, __u32 rank)
{
	char words[128];

	must(rt_set(dev, true, 1500) ? -EIO : 0);
	snprintf(words, sizeof(words),
		 "partition add %s dims 2x1x1 mode 0666 nodes %u", PARTITION,
		 rank);
	tool(words);
	snprintf(words, sizeof(words),
		 "link add dev %s partition %s hello %u timeout %u", dev,
		 PARTITION, 50 * slowness(), 500 * slowness());
	tool(words);
}

static void partition_off(void)
{
	tool("partition del " PARTITION);
}

static int move_to(pid_t pid)
{
	struct nl_msg *msg = rt_device("veth0", RTM_NEWLINK, 0, 0);

	nla_put_u32(msg, IFLA_NET_NS_PID, (uint32_t)pid);
	return rt(msg);
}

static void count(struct nlattr **attrs, void *arg)
{
	(void)attrs;
	++*(unsigned int *)arg;
}

static unsigned int links(void)
{
	unsigned int n = 0;
	struct answer a = { .each = count, .arg = &n };

	must(ask(&account_link, request(&account_link, BGDMA_CMD_LINK_GET,
					NLM_F_DUMP), &a));
	return n;
}

/* A process in a namespace of its own. */
struct other {
	bool there, moved, linked;
	__u32 region;
};

static int own_namespace(void *arg)
{
	struct other *o = arg;

	must(unshare(CLONE_NEWNET) ? -errno : 0);
	store(&o->there, true);
	return 0;
}

/* A node in it, of the device that was moved there. */
static int own_node(void *arg)
{
	struct other *o = arg;
	struct end e;

	own_namespace(arg);
	must(until(load(&o->moved)) ? 0 : -ETIME);
	partition_on("veth0", 0);
	end_new(&e, 0);
	o->region = e.mem.handle;
	store(&o->linked, true);
	return 0;
}

FIXTURE(netns)
{
	struct other *other;
	pid_t pid;
};

FIXTURE_SETUP(netns)
{
	const char *why = faults_begin();

	if (why)
		SKIP(return, "%s", why);
	must(unshare(CLONE_NEWNET) ? -errno : 0);
	if (!fault_module(0))
		SKIP(return, "needs failslab by the stack of who asks");
	if (rt_veth() || rt_del("veth0"))
		SKIP(return, "needs veth");
	self->other = shared(PAGE);
}

FIXTURE_TEARDOWN(netns)
{
}

/* The link is gone, as if there had been memory, and all of it. */
TEST_F_TIMEOUT(netns, a_device_moves, 300)
{
	unsigned int hits = 0;
	struct account before;
	size_t i;

	account(&before);
	for (i = 0; i < PERCENTS; i++) {
		memset(self->other, 0, sizeof(*self->other));
		must(rt_veth() ? -EIO : 0);
		must(rt_set("veth1", true, 1500) ? -EIO : 0);
		partition_on("veth0", 0);
		ASSERT_EQ(1, links());
		self->pid = start_child(own_namespace, self->other);
		ASSERT_TRUE(until(load(&self->other->there)));
		must(fault_module(percents[i]) ? 0 : -EIO);
		EXPECT_EQ(0, move_to(self->pid));
		hits += fault_module_hits();
		must(fault_module(0) ? 0 : -EIO);
		EXPECT_EQ(0, links());
		partition_off();
		/* Nobody holds it: the namespace ends, and it with that. */
		kill_child(self->pid, SIGKILL);
		EXPECT_TRUE(until(!if_nametoindex("veth1")));
		EXPECT_TRUE(until(account_back(&before)))
			TH_LOG("%u %% fail", percents[i]);
	}
	TH_LOG("%u faults", hits);
	EXPECT_LT(0, hits);
}

/* A node here and one in another namespace, to which something was sent. */
static pid_t two_nodes(struct other *o, struct end *e)
{
	struct bgdma_desc d;
	pid_t pid;

	memset(o, 0, sizeof(*o));
	must(rt_veth() ? -EIO : 0);
	pid = start_child(own_node, o);
	must(until(load(&o->there)) ? 0 : -ETIME);
	must(move_to(pid) ? -EIO : 0);
	store(&o->moved, true);
	partition_on("veth1", 1);
	end_new(e, 1);
	must(until(load(&o->linked)) ? 0 : -ETIME);
	d = d_put(0, e->mem.handle, 0, o->region, 0, PAGE);
	/* The devices may take a moment until they carry anything. */
	must(until(!run_bad(&e->inj, &d)) ? 0 : -ETIME);
	return pid;
}

/* Whoever lived there is missed, and what he held is back. */
TEST_F_TIMEOUT(netns, x3_a_namespace_ends, 300)
{
	struct bgdma_event event;
	unsigned int hits = 0;
	struct account before;
	struct end e;
	size_t i;

	account(&before);
	for (i = 0; i < PERCENTS; i++) {
		self->pid = two_nodes(self->other, &e);
		must(fault_module(percents[i]) ? 0 : -EIO);
		kill_child(self->pid, SIGKILL);
		EXPECT_TRUE(until(!if_nametoindex("veth1")))
			TH_LOG("%u %% fail", percents[i]);
		hits += fault_module_hits();
		must(fault_module(0) ? 0 : -EIO);
		EXPECT_TRUE(event_wait(&e.n, BGDMA_EVENT_PEER_DOWN, &event));
		node_close(&e.n);
		partition_off();
		EXPECT_TRUE(until(account_back(&before)))
			TH_LOG("%u %% fail", percents[i]);
	}
	TH_LOG("%u faults", hits);
	EXPECT_LT(0, hits);
}

/* However little memory there is: who waits for it is not the one that was killed. */
TEST_F_TIMEOUT(netns, x3_who_is_killed_ends_without_memory, 300)
{
	struct bgdma_event event;
	struct account before;
	int space, status;
	char path[64];
	struct end e;

	account(&before);
	self->pid = two_nodes(self->other, &e);
	snprintf(path, sizeof(path), "/proc/%d/ns/net", self->pid);
	space = open(path, O_RDONLY | O_CLOEXEC);
	must(space < 0 ? -errno : 0);
	must(fault_module(100) ? 0 : -EIO);
	kill(self->pid, SIGKILL);
	EXPECT_TRUE(until(waitpid(self->pid, &status, WNOHANG) == self->pid));
	EXPECT_LT(0, fault_module_hits());
	must(fault_module(0) ? 0 : -EIO);
	/* When there is memory it is said. */
	EXPECT_TRUE(event_wait(&e.n, BGDMA_EVENT_PEER_DOWN, &event));
	node_close(&e.n);
	close(space);
	EXPECT_TRUE(until(!if_nametoindex("veth1")));
	partition_off();
	EXPECT_TRUE(until(account_back(&before)));
}

TEST_HARNESS_MAIN
