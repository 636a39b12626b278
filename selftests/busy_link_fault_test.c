// SPDX-License-Identifier: GPL-2.0
/*
 * What netlink_fault_test and link_fault_test ask for, and have happen to devices, where
 * there is work: contexts are attached, a message waits for room at the other end, a class
 * waits for a member, somebody sleeps. With a fault inside, see fault.h, a request that was
 * refused has changed nothing, and whatever has happened, what was under way ends.
 *
 * Two nodes, each in a namespace of its own. That of node 0 is where things happen; it has
 * an end for each of them. Node 1 is there all the time.
 */
#include <net/if.h>

#include "kselftest_harness.h"
#include "fault.h"
#include "links.h"
#include "netlink_veth.h"
#include "tree.h"

#define MTU	1500

static struct {
	struct end here, there;	/* nodes 0 and 1 */
} w;

struct happening {
	const char *name;
	int protocol;
	struct nl_msg *(*message)(void);
};

/* ---- Requests ------------------------------------------------------------ */

static struct nl_msg *of_link(struct link *l, int cmd, const char *dev)
{
	struct nl_msg *msg = request(l, cmd, NLM_F_ACK);

	nla_put_string(msg, BGDMA_A_LINK_PARTITION, PARTITION);
	nla_put_u32(msg, BGDMA_A_LINK_IFINDEX, if_nametoindex(dev));
	return msg;
}

static struct nl_msg *of_partition(int cmd)
{
	struct nl_msg *msg = request(&fault_link, cmd, NLM_F_ACK);

	nla_put_string(msg, BGDMA_A_PARTITION_NAME, PARTITION);
	return msg;
}

static struct nl_msg *partition_set(void)
{
	struct nl_msg *msg = of_partition(BGDMA_CMD_PARTITION_SET);

	nla_put_u32(msg, BGDMA_A_PARTITION_MODE, 0660);
	return msg;
}

static struct nl_msg *partition_del(void)
{
	return of_partition(BGDMA_CMD_PARTITION_DEL);
}

static struct nl_msg *link_set_timeout(void)
{
	struct nl_msg *msg = of_link(&fault_link, BGDMA_CMD_LINK_SET, "bg0");

	nla_put_u32(msg, BGDMA_A_LINK_TIMEOUT_MS, 60000);
	return msg;
}

static struct nl_msg *link_set_hello(void)
{
	struct nl_msg *msg = of_link(&fault_link, BGDMA_CMD_LINK_SET, "bg0");

	nla_put_u32(msg, BGDMA_A_LINK_HELLO_MS, 300);
	return msg;
}

static struct nl_msg *link_set_sum(void)
{
	struct nl_msg *msg = of_link(&fault_link, BGDMA_CMD_LINK_SET, "bg0");

	nla_put_u32(msg, BGDMA_A_LINK_SUM, 0);
	return msg;
}

static struct nl_msg *second_link(struct link *l)
{
	must(rt_veth() ? -EIO : 0);
	must(rt_set("veth0", true, MTU) ? -EIO : 0);
	return of_link(l, BGDMA_CMD_LINK_NEW, "veth0");
}

static struct nl_msg *link_new(void)
{
	return second_link(&fault_link);
}

static struct nl_msg *link_del(void)
{
	return of_link(&fault_link, BGDMA_CMD_LINK_DEL, "bg0");
}

/* ---- What happens to the device ------------------------------------------ */

static struct nl_msg *device_down(void)
{
	return rt_device("bg0", RTM_NEWLINK, 0, IFF_UP);
}

static struct nl_msg *device_up(void)
{
	must(rt_set("bg0", false, MTU) ? -EIO : 0);
	return rt_device("bg0", RTM_NEWLINK, IFF_UP, IFF_UP);
}

static struct nl_msg *device_mtu(void)
{
	struct nl_msg *msg = rt_device("bg0", RTM_NEWLINK, 0, 0);

	nla_put_u32(msg, IFLA_MTU, 1300);
	return msg;
}

static struct nl_msg *device_address(void)
{
	static uint8_t address[6] = { 2 };
	struct nl_msg *msg = rt_device("bg0", RTM_NEWLINK, 0, 0);

	/* Another one each time. */
	address[5]++;
	nla_put(msg, IFLA_ADDRESS, sizeof(address), address);
	return msg;
}

static void ask_for(struct nl_msg *msg)
{
	struct answer a = { 0 };

	must(ask(&account_link, msg, &a));
}

/* The second of two links, and maybe the one that is used. */
static struct nl_msg *device_removed(void)
{
	ask_for(second_link(&account_link));
	return rt_device("veth0", RTM_DELLINK, 0, 0);
}

/* ---- As it was ----------------------------------------------------------- */

static void partition_again(void)
{
	static const struct bgdma_run run = { 0, 0 };
	bool there = !by_name(&account_link, BGDMA_CMD_PARTITION_GET, PARTITION);
	struct nl_msg *msg;

	msg = request(&account_link, there ? BGDMA_CMD_PARTITION_SET :
					     BGDMA_CMD_PARTITION_NEW, NLM_F_ACK);
	nla_put_string(msg, BGDMA_A_PARTITION_NAME, PARTITION);
	nla_put_u32(msg, BGDMA_A_PARTITION_MODE, 0666);
	if (!there) {
		nla_put_u32(msg, BGDMA_A_PARTITION_DIM_X, 2);
		nla_put_u32(msg, BGDMA_A_PARTITION_DIM_Y, 1);
		nla_put_u32(msg, BGDMA_A_PARTITION_DIM_Z, 1);
		nla_put(msg, BGDMA_A_PARTITION_NODES, sizeof(run), &run);
	}
	ask_for(msg);
}

static struct nl_msg *link_as_it_was(int cmd)
{
	struct nl_msg *msg = of_link(&account_link, cmd, "bg0");

	nla_put_u32(msg, BGDMA_A_LINK_HELLO_MS, 50 * slowness());
	nla_put_u32(msg, BGDMA_A_LINK_TIMEOUT_MS, 10000 * slowness());
	nla_put_u32(msg, BGDMA_A_LINK_SUM, 1);
	return msg;
}

static void restore(void)
{
	struct answer a = { 0 };

	must(rt_set("bg0", true, MTU) ? -EIO : 0);
	if (if_nametoindex("veth0"))
		must(rt_del("veth0") ? -EIO : 0);
	partition_again();
	if (ask(&account_link, link_as_it_was(BGDMA_CMD_LINK_SET), &a))
		ask_for(link_as_it_was(BGDMA_CMD_LINK_NEW));
}

static const struct happening happenings[] = {
	{ "PARTITION_SET", NETLINK_GENERIC, partition_set },
	{ "PARTITION_DEL", NETLINK_GENERIC, partition_del },
	{ "LINK_SET timeout", NETLINK_GENERIC, link_set_timeout },
	{ "LINK_SET hello", NETLINK_GENERIC, link_set_hello },
	{ "LINK_SET sum", NETLINK_GENERIC, link_set_sum },
	{ "LINK_NEW second", NETLINK_GENERIC, link_new },
	{ "LINK_DEL", NETLINK_GENERIC, link_del },
	{ "device down", NETLINK_ROUTE, device_down },
	{ "device up", NETLINK_ROUTE, device_up },
	{ "another MTU", NETLINK_ROUTE, device_mtu },
	{ "another address", NETLINK_ROUTE, device_address },
	{ "removal", NETLINK_ROUTE, device_removed },
};

/* ---- What is under way --------------------------------------------------- */

/* More than there is room for, and a class whose root has not bound it. */
static void work_begin(void)
{
	struct bgdma_desc d;

	end_new(&w.here, 0);
	d = d_memfifo(1, w.there.rec.id, w.here.mem.handle, 0, PAIR_BYTES);
	d.dst_ctx = w.there.n.at.ctx;
	inject(&w.here.inj, &d);
	must(until(packet(&w.there.rec)) ? 0 : -ETIME);
	must(class_of_two(&w.here.n, &w.there.n));
}

/* It ends; the way may have been gone for too long. */
static void work_end(struct __test_metadata *_metadata, bool gone)
{
	bool over;

	if (gone)
		EXPECT_EQ(-ENODEV, region_free(&w.here.n, w.here.mem.handle));
	over = gone || until((packet(&w.there.rec) ? packet_drop(&w.there.rec) : (void)0,
			      load(&w.here.inj.kern->done) == w.here.inj.tail ||
			      load(&w.here.inj.kern->state) == BGDMA_FIFO_ERROR));
	EXPECT_TRUE(over);
	node_close(&w.here.n);
	must(munmap(w.here.mem.p, w.here.mem.bytes) ? -errno : 0);
	while (packet(&w.there.rec))
		packet_drop(&w.there.rec);
}

/* ---- With the nth fault -------------------------------------------------- */

/* In the namespace of node 0. Whether the fault has happened. */
static bool happen(struct __test_metadata *_metadata, const struct happening *h,
		   unsigned int n)
{
	struct account before;
	bool hit;
	int ret;

	fault_fresh(h->protocol);
	fault_built(h->message());
	account(&before);
	fault_arm(n);
	ret = fault_request();
	hit = fault_disarm();
	/* What others do with a fault is their affair. */
	if (h->protocol != NETLINK_GENERIC)
		return hit;
	EXPECT_TRUE(!ret || hit) TH_LOG("%s: %d without a fault", h->name, ret);
	if (ret && fault_answered) {
		EXPECT_TRUE(account_back(&before)) TH_LOG("%s, fault %u", h->name, n);
		EXPECT_EQ(0, fault_request()) TH_LOG("%s, after fault %u", h->name, n);
	}
	return hit;
}

static bool one_round(struct __test_metadata *_metadata, const struct happening *h,
		      unsigned int n)
{
	struct account before;
	bool hit, gone;

	links_enter(0);
	account(&before);
	links_leave();
	work_begin();
	links_enter(0);
	hit = happen(_metadata, h, n);
	gone = by_name(&account_link, BGDMA_CMD_PARTITION_GET, PARTITION);
	restore();
	links_leave();
	work_end(_metadata, gone);
	links_enter(0);
	EXPECT_TRUE(until(account_back(&before))) TH_LOG("%s, fault %u", h->name, n);
	links_leave();
	return hit;
}

FIXTURE(busy) {
	int unused;
};

FIXTURE_SETUP(busy)
{
	const char *why = faults_begin();

	if (why)
		SKIP(return, "%s", why);
	setenv("BGDMA_TEST_LINKS", "1", 1);
	partition_new("2x1x1", "");
	end_new(&w.there, 1);
}

FIXTURE_TEARDOWN(busy)
{
}

TEST_F_TIMEOUT(busy, x3_whatever_happens_under_work, 1200)
{
	unsigned int n;
	size_t i;

	for (i = 0; i < sizeof(happenings) / sizeof(happenings[0]); i++) {
		for (n = 1; one_round(_metadata, &happenings[i], n); n++)
			ASSERT_GT(FAULTS_MAX, n);
		TH_LOG("%s: %u faults", happenings[i].name, n - 1);
		EXPECT_LT(1, n) TH_LOG("%s", happenings[i].name);
	}
}

TEST_HARNESS_MAIN
