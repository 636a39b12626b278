// SPDX-License-Identifier: GPL-2.0
/*
 * Dumps whose messages are full at any attribute: whatever room the reader gives,
 * all is shown once and in the same order.
 */
#include <endian.h>

#include "kselftest_harness.h"
#include "netlink_util.h"
#include "tree.h"

#define NODES		48
#define ROOM_MIN	3900	/* the kernel takes a page at least */
#define ROOM_MAX	(ROOM_MIN + 1000)	/* and the longest message */
#define ROOM_STEP	16

FIXTURE(full) {
	struct link l;
	struct node n[NODES];
};

FIXTURE_VARIANT(full) {
	int cmd;
};

FIXTURE_VARIANT_ADD(full, partition) { BGDMA_CMD_PARTITION_GET };
FIXTURE_VARIANT_ADD(full, node) { BGDMA_CMD_NODE_GET };
FIXTURE_VARIANT_ADD(full, ctx) { BGDMA_CMD_CTX_GET };
FIXTURE_VARIANT_ADD(full, counter) { BGDMA_CMD_COUNTER_GET };
FIXTURE_VARIANT_ADD(full, fifo) { BGDMA_CMD_FIFO_GET };
FIXTURE_VARIANT_ADD(full, tree) { BGDMA_CMD_TREE_GET };

/* One of everything, an error to be shown, and a FIFO that waits. */
static void furnish(struct node *n, __u32 rank)
{
	struct bgdma_desc d = d_nop();
	struct region mem;
	struct rec rec;
	struct inj inj;
	__u32 rgq;

	node_new(n, rank);
	inj_new(&inj, n);
	rec_new(&rec, n);
	must(rgq_try(n, 16, 1, 0, &rgq));
	d.op = 99;
	d.inj_ctr = htole32(counter_new(n, INJ, 0));
	inject(&inj, &d);
	must(outcome(&inj, 0) == BGDMA_E_OP ? 0 : -EPROTO);
	inj_new(&inj, n);
	region_driver(&mem, n, 4 * BGDMA_REC_BYTES_MIN);
	d = d_local_memfifo(rec.id, mem.handle, 0, (__u32)mem.bytes);
	inject(&inj, &d);
	must(until(load(&inj.kern->state) == BGDMA_FIFO_BLOCKED) ? 0 : -ETIME);
	must(class_of_two(n, n - !!rank));
}

/* A class with a neighbour greets him: whether that was counted. */
static void greeting(struct nlattr **attrs, void *arg)
{
	struct nlattr *edge[BGDMA_A_EDGE_MAX + 1];
	struct nlattr *stats[BGDMA_A_STATS_MAX + 1];

	if (!attrs[BGDMA_A_TREE_EDGE])
		return;
	must(nla_parse_nested(edge, BGDMA_A_EDGE_MAX, attrs[BGDMA_A_TREE_EDGE],
			      NULL));
	must(nla_parse_nested(stats, BGDMA_A_STATS_MAX, edge[BGDMA_A_EDGE_STATS],
			      NULL));
	*(__u32 *)arg += nla_get_u64(stats[BGDMA_A_STATS_PACKETS]) == 1;
}

static bool all_have_greeted(struct link *l)
{
	__u32 n = 0;
	struct answer a = { .each = greeting, .arg = &n };

	must(ask(l, request(l, BGDMA_CMD_TREE_GET, NLM_F_DUMP), &a));
	return n == NODES - 1;
}

FIXTURE_SETUP(full)
{
	char name[16];
	__u32 i;

	partition_new("64x1x1", "");
	must(link_open(&self->l));
	for (i = 0; i < NODES; i++) {
		furnish(&self->n[i], i);
		snprintf(name, sizeof(name), "p%u", i);
		must(make(&self->l, name, 2));
	}
	ASSERT_TRUE(until(all_have_greeted(&self->l)));
}

FIXTURE_TEARDOWN(full)
{
	unsigned int i;

	for (i = 0; i < NODES; i++)
		node_close(&self->n[i]);
	link_close(&self->l);
}

static int dump(struct link *l, int cmd, uint64_t *hash)
{
	struct answer a = { .each = hash_attrs, .arg = hash };
	int err;

	*hash = HASH_BEGIN;
	err = ask(l, request(l, cmd, NLM_F_DUMP), &a);
	return err ?: (int)a.messages;
}

TEST_F(full, shows_the_same_in_any_room)
{
	size_t room;
	uint64_t all, now;
	struct link l;
	int n;

	n = dump(&self->l, variant->cmd, &all);
	ASSERT_LE(NODES, n);
	/* A socket remembers the most room that it was ever given. */
	l = (struct link){ nl_socket_alloc(), self->l.family };
	nl_socket_set_msg_buf_size(l.sock, ROOM_MIN);
	must(genl_connect(l.sock));
	for (room = ROOM_MIN; room < ROOM_MAX; room += ROOM_STEP) {
		nl_socket_set_msg_buf_size(l.sock, room);
		EXPECT_EQ(n, dump(&l, variant->cmd, &now));
		EXPECT_EQ(all, now) {
			TH_LOG("room for %zu bytes", room);
		}
	}
	link_close(&l);
}

TEST_HARNESS_MAIN
