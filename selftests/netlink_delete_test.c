// SPDX-License-Identifier: GPL-2.0
/*
 * Deleting a partition that has many links, which takes a grace period for each: what
 * others may do meanwhile, and what listeners hear.
 */
#include <pthread.h>
#include <sched.h>

#include "kselftest_harness.h"
#include "netlink_util.h"
#include "netlink_veth.h"
#include "utils.h"

#define PAIRS	32
#define LINKS	64		/* of a partition at most */
#define GOES	"goes"
#define STAYS	"stays"
/* Changes of another partition that fit into the end of this one. */
#define CHANGES	8
#define TIMES	20

#define must_be(expected, call)	must((call) == (expected) ? 0 : -1)

static int link_to(struct link *l, const char *name, int device)
{
	struct nl_msg *msg = request(l, BGDMA_CMD_LINK_NEW, NLM_F_ACK);
	struct answer a = { 0 };
	char dev[IF_NAMESIZE];

	snprintf(dev, sizeof(dev), "veth%d", device);
	nla_put_string(msg, BGDMA_A_LINK_PARTITION, name);
	nla_put_u32(msg, BGDMA_A_LINK_IFINDEX, if_nametoindex(dev));
	return ask(l, msg, &a);
}

static int change(struct link *l, const char *name)
{
	struct nl_msg *msg = request(l, BGDMA_CMD_PARTITION_SET, NLM_F_ACK);
	struct answer a = { 0 };

	nla_put_string(msg, BGDMA_A_PARTITION_NAME, name);
	nla_put_u32(msg, BGDMA_A_PARTITION_MODE, 0660);
	return ask(l, msg, &a);
}

/* With as many links as it can have. */
static void full(struct link *l)
{
	int i;

	must(make(l, GOES, 2));
	for (i = 0; i < LINKS; i++)
		must(link_to(l, GOES, i));
}

FIXTURE(end) {
	struct link l;
	struct link ears;
};

FIXTURE_SETUP(end)
{
	int i;

	ASSERT_EQ(0, unshare(CLONE_NEWNET));
	for (i = 0; i < PAIRS; i++) {
		if (rt_veth())
			SKIP(return, "needs veth");
	}
	ASSERT_EQ(0, link_open(&self->l));
	must(make(&self->l, STAYS, 2));
	full(&self->l);
}

FIXTURE_TEARDOWN(end)
{
	if (self->l.sock)
		link_close(&self->l);
}

static int ended;

static void *end_it(void *arg)
{
	struct link l;

	(void)arg;
	must(link_open(&l));
	must(by_name(&l, BGDMA_CMD_PARTITION_DEL, GOES));
	store(&ended, 1);
	link_close(&l);
	return NULL;
}

/*
 * Nobody finds it, nor has its name; and others' are theirs as ever. How many changes of
 * another there was time for.
 */
static unsigned int change_meanwhile(struct link *l)
{
	unsigned int changes = 0;
	pthread_t thread;
	int err;

	store(&ended, 0);
	must(-pthread_create(&thread, NULL, end_it, NULL));
	must_be(true, until(by_name(l, BGDMA_CMD_PARTITION_GET, GOES) == -ENOENT));
	err = make(l, GOES, 2);
	if (!load(&ended))
		must_be(-EEXIST, err);
	err = link_to(l, GOES, 0);
	if (!load(&ended))
		must_be(-ENOENT, err);
	while (!load(&ended) && changes < CHANGES) {
		must(change(l, STAYS));
		changes += !load(&ended);
	}
	must(-pthread_join(thread, NULL));
	must_be(-ENOENT, by_name(l, BGDMA_CMD_PARTITION_GET, GOES));
	must_be(-ENOENT, by_name(l, BGDMA_CMD_PARTITION_DEL, GOES));
	return changes;
}

/* Not each time: the processor may have been the other thread's. */
TEST_F(end, x2_others_change_theirs_meanwhile)
{
	struct link *l = &self->l;
	unsigned int changes, i;

	changes = change_meanwhile(l);
	for (i = 1; changes < CHANGES && i < TIMES; i++) {
		full(l);
		changes = change_meanwhile(l);
	}
	EXPECT_EQ(CHANGES, changes);
	EXPECT_EQ(0, make(l, GOES, 2));
	EXPECT_EQ(0, link_to(l, GOES, 0));
	EXPECT_EQ(0, by_name(l, BGDMA_CMD_PARTITION_DEL, GOES));
}

/* The words about what has ended, in order. */
struct heard {
	int links;
	int partitions;
	bool disorder;
};

static int hear(struct nl_msg *msg, void *arg)
{
	const struct genlmsghdr *head = nlmsg_data(nlmsg_hdr(msg));
	struct heard *heard = arg;

	if (head->cmd == BGDMA_CMD_LINK_DEL_NTF) {
		heard->disorder |= heard->partitions > 0;
		heard->links++;
	}
	if (head->cmd == BGDMA_CMD_PARTITION_DEL_NTF)
		heard->partitions++;
	return NL_OK;
}

TEST_F(end, x1_links_are_told_of_before_their_partition)
{
	struct nl_sock *ears;
	struct heard heard = { 0 };
	int group;

	ASSERT_EQ(0, link_open(&self->ears));
	ears = self->ears.sock;
	group = genl_ctrl_resolve_grp(ears, BGDMA_GENL_NAME,
				      BGDMA_MCGRP_CONFIG);
	ASSERT_GT(group, 0);
	nl_socket_disable_seq_check(ears);
	nl_socket_modify_cb(ears, NL_CB_VALID, NL_CB_CUSTOM, hear, &heard);
	ASSERT_EQ(0, nl_socket_set_buffer_size(ears, 1 << 20, 1 << 20));
	ASSERT_EQ(0, nl_socket_add_membership(ears, group));
	ASSERT_EQ(0, by_name(&self->l, BGDMA_CMD_PARTITION_DEL, GOES));
	while (!heard.partitions)
		ASSERT_EQ(0, nl_recvmsgs_default(ears));
	EXPECT_EQ(LINKS, heard.links);
	EXPECT_FALSE(heard.disorder);
	link_close(&self->ears);
}

TEST_HARNESS_MAIN
