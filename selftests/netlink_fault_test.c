// SPDX-License-Identifier: GPL-2.0
/*
 * Every request of the netlink family with a fault inside, see fault.h. What
 * the kernel refuses has changed nothing; where only its answer was lost, as
 * netlink loses them, the request may have been carried out.
 */
#include "kselftest_harness.h"
#include "fault.h"
#include "tree.h"

#define NAME	"fault"
#define MANY	1000	/* counters: more than one message has room for */

static void gone(void)
{
	by_name(&account_link, BGDMA_CMD_PARTITION_DEL, NAME);
}

static void prepare_new(void)
{
	struct nl_msg *msg;

	fault_fresh(NETLINK_GENERIC);
	msg = request(&fault_link, BGDMA_CMD_PARTITION_NEW, NLM_F_ACK);
	nla_put_string(msg, BGDMA_A_PARTITION_NAME, NAME);
	nla_put_u32(msg, BGDMA_A_PARTITION_DIM_X, 2);
	nla_put_u32(msg, BGDMA_A_PARTITION_DIM_Y, 1);
	nla_put_u32(msg, BGDMA_A_PARTITION_DIM_Z, 1);
	fault_built(msg);
}

static void of_one(int cmd)
{
	struct nl_msg *msg;

	fault_fresh(NETLINK_GENERIC);
	must(make(&account_link, NAME, 2));
	msg = request(&fault_link, cmd, NLM_F_ACK);
	nla_put_string(msg, BGDMA_A_PARTITION_NAME, NAME);
	if (cmd == BGDMA_CMD_PARTITION_SET)
		nla_put_u32(msg, BGDMA_A_PARTITION_MODE, 0666);
	fault_built(msg);
}

static void prepare_set(void)
{
	of_one(BGDMA_CMD_PARTITION_SET);
}

static void prepare_del(void)
{
	of_one(BGDMA_CMD_PARTITION_DEL);
}

static void prepare_get(void)
{
	of_one(BGDMA_CMD_PARTITION_GET);
}

static void prepare_stats(void)
{
	fault_fresh(NETLINK_GENERIC);
	fault_built(request(&fault_link, BGDMA_CMD_STATS_GET, NLM_F_ACK));
}

#define PREPARE_DUMP(name, cmd)					\
static void prepare_##name(void)				\
{								\
	fault_fresh(NETLINK_GENERIC);						\
	fault_built(request(&fault_link, cmd, NLM_F_DUMP));		\
}

PREPARE_DUMP(partitions, BGDMA_CMD_PARTITION_GET)
PREPARE_DUMP(nodes, BGDMA_CMD_NODE_GET)
PREPARE_DUMP(contexts, BGDMA_CMD_CTX_GET)
PREPARE_DUMP(counters, BGDMA_CMD_COUNTER_GET)
PREPARE_DUMP(fifos, BGDMA_CMD_FIFO_GET)
PREPARE_DUMP(classes, BGDMA_CMD_TREE_GET)

static const struct faulty requests[] = {
	FAULTY_MAY("PARTITION_NEW", prepare_new, fault_request, gone),
	FAULTY_MAY("PARTITION_SET", prepare_set, fault_request, gone),
	FAULTY_MAY("PARTITION_DEL", prepare_del, fault_request, gone),
	FAULTY_MAY("PARTITION_GET", prepare_get, fault_request, gone),
	FAULTY_MAY("STATS_GET", prepare_stats, fault_request, NULL),
	FAULTY_MAY("PARTITION_GET dump", prepare_partitions, fault_request,
		   NULL),
	FAULTY_MAY("NODE_GET dump", prepare_nodes, fault_request, NULL),
	FAULTY_MAY("CTX_GET dump", prepare_contexts, fault_request, NULL),
	FAULTY_MAY("COUNTER_GET dump", prepare_counters, fault_request, NULL),
	FAULTY_MAY("FIFO_GET dump", prepare_fifos, fault_request, NULL),
	FAULTY_MAY("TREE_GET dump", prepare_classes, fault_request, NULL),
};

FIXTURE(fault)
{
	struct end ends[2];
};

FIXTURE_SETUP(fault)
{
	const char *why = faults_begin();

	if (why)
		SKIP(return, "%s", why);
	pair_new(&self->ends[0], &self->ends[1]);
	must(class_of_two(&self->ends[0].n, &self->ends[1].n));
}

FIXTURE_TEARDOWN(fault)
{
}

TEST_F_TIMEOUT(fault, every_request, 600)
{
	size_t i;

	for (i = 0; i < sizeof(requests) / sizeof(requests[0]); i++)
		EXPECT_LT(0, fault_all(&requests[i]));
}

/* One that broke off holds the module until its socket is closed. */
static void broken_off(void)
{
	fault_fresh(NETLINK_GENERIC);
}

/* Dumps that go on in a next message, and one after it. */
TEST_F_TIMEOUT(fault, dumps_that_go_on, 600)
{
	static const struct faulty dump =
		FAULTY_MAY("COUNTER_GET long dump", prepare_counters, fault_request,
			   broken_off);
	const struct bgdma_attach room = { .ctx = BGDMA_CTX_ANY, .rec_counters = MANY };
	int few = fault_all(&dump);
	struct node n;
	__u32 first;

	must(node_try(&n, PARTITION, 0, &room));
	must(counter_alloc(&n, REC, 0, MANY, &first));
	EXPECT_LT(0, few);
	EXPECT_LT(few + 2, fault_all(&dump));
	node_close(&n);
}

/* The same with somebody who listens to changes, and has to be told. */
TEST_F_TIMEOUT(fault, every_change_with_a_listener, 600)
{
	struct link listener;
	int group;
	size_t i;

	must(link_open(&listener));
	group = genl_ctrl_resolve_grp(listener.sock, BGDMA_GENL_NAME,
				      BGDMA_MCGRP_CONFIG);
	must(group);
	must(nl_socket_add_membership(listener.sock, group) ? -EIO : 0);
	for (i = 0; i < 3; i++)
		EXPECT_LT(0, fault_all(&requests[i]));
	link_close(&listener);
}

/* What was refused, with an answer that came, was not carried out. */
TEST_F_TIMEOUT(fault, refused_is_not_done, 120)
{
	struct account before, after;
	bool hit = true;
	unsigned int n;

	for (n = 1; hit && n < FAULTS_MAX; n++) {
		bool there;
		int ret;

		prepare_new();
		account(&before);
		fault_arm(n);
		ret = fault_request();
		hit = fault_disarm();
		account(&after);
		there = !by_name(&account_link, BGDMA_CMD_PARTITION_GET, NAME);
		if (fault_answered)
			EXPECT_EQ(!ret, there);
		EXPECT_EQ(!there, before.shown == after.shown);
		gone();
	}
	EXPECT_FALSE(hit);
	EXPECT_LT(5, n);
}

TEST_HARNESS_MAIN
