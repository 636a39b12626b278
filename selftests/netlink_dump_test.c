// SPDX-License-Identifier: GPL-2.0
/*
 * Looking at nodes, contexts, counters and FIFOs by netlink: what is shown, to
 * whom, filters and their errors, and dumps that go on while things go away.
 */
#include <sched.h>
#include <sys/wait.h>

#include "kselftest_harness.h"
#include "netlink_util.h"
#include "utils.h"

#define NOBODY		65534
#define MANY		400	/* partitions: more than one buffer holds */
#define NO_PARTITION	"bgdma: no such partition in this network namespace"

FIXTURE(dump) {
	struct link l;
	struct answer a;
};

FIXTURE_SETUP(dump)
{
	partition_new("4x3x2", "");
	ASSERT_EQ(0, link_open(&self->l));
	memset(&self->a, 0, sizeof(self->a));
}

FIXTURE_TEARDOWN(dump)
{
	link_close(&self->l);
}

/* ---- Filters ---------------------------------------------------------- */

#define WITHOUT	(-1)

/* A dump narrowed down; a NULL name, WITHOUT a rank or context: all. */
static struct nl_msg *narrow(struct link *l, int cmd, const char *name,
			     int rank, int ctx)
{
	struct nl_msg *msg = request(l, cmd, NLM_F_DUMP);

	if (name)
		nla_put_string(msg, BGDMA_A_CTX_PARTITION, name);
	if (rank != WITHOUT)
		nla_put_u32(msg, BGDMA_A_CTX_RANK, (uint32_t)rank);
	if (ctx != WITHOUT)
		nla_put_u32(msg, BGDMA_A_CTX_CTX, (uint32_t)ctx);
	return msg;
}

static int count(struct link *l, int cmd, const char *name, int rank, int ctx)
{
	struct answer a = { 0 };
	int err = ask(l, narrow(l, cmd, name, rank, ctx), &a);

	return err ?: (int)a.messages;
}

FIXTURE(filter) {
	struct link l;
	struct answer a;
};

FIXTURE_VARIANT(filter) {
	int cmd;
	bool has_ctx;
	int output;	/* first attribute that is output only */
};

FIXTURE_VARIANT_ADD(filter, node) {
	.cmd = BGDMA_CMD_NODE_GET, .output = BGDMA_A_NODE_X,
};

FIXTURE_VARIANT_ADD(filter, ctx) {
	.cmd = BGDMA_CMD_CTX_GET, .has_ctx = true,
	.output = BGDMA_A_CTX_INCARNATION,
};

FIXTURE_VARIANT_ADD(filter, counter) {
	.cmd = BGDMA_CMD_COUNTER_GET, .has_ctx = true,
	.output = BGDMA_A_COUNTER_KIND,
};

FIXTURE_VARIANT_ADD(filter, fifo) {
	.cmd = BGDMA_CMD_FIFO_GET, .has_ctx = true,
	.output = BGDMA_A_FIFO_KIND,
};

FIXTURE_VARIANT_ADD(filter, tree) {
	.cmd = BGDMA_CMD_TREE_GET, .has_ctx = true,
	.output = BGDMA_A_TREE_INSTANCE,
};

FIXTURE_SETUP(filter)
{
	partition_new("4x3x2", "");
	ASSERT_EQ(0, link_open(&self->l));
	memset(&self->a, 0, sizeof(self->a));
}

FIXTURE_TEARDOWN(filter)
{
	link_close(&self->l);
}

TEST_F(filter, nothing_to_show)
{
	EXPECT_EQ(0, count(&self->l, variant->cmd, NULL, WITHOUT, WITHOUT));
	EXPECT_EQ(0, count(&self->l, variant->cmd, PARTITION, WITHOUT,
			   WITHOUT));
	EXPECT_EQ(0, count(&self->l, variant->cmd, PARTITION, 23, WITHOUT));
}

TEST_F(filter, no_such_place)
{
	struct link *l = &self->l;

	EXPECT_EQ(-ENOENT, ask(l, narrow(l, variant->cmd, "nowhere", WITHOUT,
					 WITHOUT), &self->a));
	EXPECT_STREQ(NO_PARTITION, self->a.text);
	EXPECT_EQ(-ENOENT, ask(l, narrow(l, variant->cmd, PARTITION, 24,
					 WITHOUT), &self->a));
	EXPECT_STREQ("bgdma: the partition has no such rank", self->a.text);
}

TEST_F(filter, in_order)
{
	struct link *l = &self->l;

	EXPECT_EQ(-EINVAL, ask(l, narrow(l, variant->cmd, NULL, 0, WITHOUT),
			       &self->a));
	EXPECT_STREQ("bgdma: a rank needs its partition", self->a.text);
	if (!variant->has_ctx)
		return;
	EXPECT_EQ(-EINVAL, ask(l, narrow(l, variant->cmd, PARTITION, WITHOUT,
					 0), &self->a));
	EXPECT_STREQ("bgdma: a context needs its rank", self->a.text);
	EXPECT_EQ(-ERANGE, ask(l, narrow(l, variant->cmd, PARTITION, 0, 256),
			       &self->a));
	EXPECT_STREQ("integer out of range", self->a.text);
	EXPECT_EQ(0, count(l, variant->cmd, PARTITION, 0, 255));
}

TEST_F(filter, unknown_attributes)
{
	struct nl_msg *msg = request(&self->l, variant->cmd, NLM_F_DUMP);

	nla_put_u32(msg, variant->output, 1);
	EXPECT_EQ(-EINVAL, ask(&self->l, msg, &self->a));
	EXPECT_STREQ("Unknown attribute type", self->a.text);
}

TEST_F(filter, attributes_of_wrong_length)
{
	struct link *l = &self->l;
	struct nl_msg *msg = request(l, variant->cmd, NLM_F_DUMP);

	nla_put_string(msg, BGDMA_A_CTX_PARTITION, PARTITION);
	nla_put_u16(msg, BGDMA_A_CTX_RANK, 1);
	EXPECT_EQ(-EINVAL, ask(l, msg, &self->a));
	EXPECT_NE('\0', self->a.text[0]);

	msg = request(l, variant->cmd, NLM_F_DUMP);
	nla_put(msg, BGDMA_A_CTX_PARTITION, 4, "test");
	EXPECT_EQ(-EINVAL, ask(l, msg, &self->a));
	EXPECT_NE('\0', self->a.text[0]);
}

/* ---- What is shown ---------------------------------------------------- */

/* Values of the last message of a dump. */
struct last {
	uint64_t value[ATTRS_MAX];
	bool there[ATTRS_MAX];
	struct nlattr *nest[16];
	char nested[512];
	int nest_attr;
};

static void take(struct nlattr **attrs, void *arg)
{
	struct last *s = arg;
	int i;

	memset(s->there, 0, sizeof(s->there));
	for (i = 1; i < ATTRS_MAX; i++) {
		if (!attrs[i])
			continue;
		s->there[i] = true;
		if (nla_len(attrs[i]) == 4)
			s->value[i] = nla_get_u32(attrs[i]);
		else if (nla_len(attrs[i]) == 8)
			s->value[i] = nla_get_u64(attrs[i]);
	}
	if (!s->nest_attr || !attrs[s->nest_attr])
		return;
	memcpy(s->nested, attrs[s->nest_attr],
	       (size_t)nla_len(attrs[s->nest_attr]) + NLA_HDRLEN);
	nla_parse_nested(s->nest, 15, (struct nlattr *)s->nested, NULL);
}

static int look(struct link *l, int cmd, int rank, int ctx, struct last *s)
{
	struct answer a = { .each = take, .arg = s };
	int err = ask(l, narrow(l, cmd, PARTITION, rank, ctx), &a);

	return err ?: (int)a.messages;
}

TEST_F(dump, node)
{
	struct last s = { 0 };
	struct node n, m;

	node_new(&n, 23);
	ASSERT_EQ(1, look(&self->l, BGDMA_CMD_NODE_GET, WITHOUT, WITHOUT, &s));
	EXPECT_EQ(23, s.value[BGDMA_A_NODE_RANK]);
	EXPECT_EQ(3, s.value[BGDMA_A_NODE_X]);
	EXPECT_EQ(2, s.value[BGDMA_A_NODE_Y]);
	EXPECT_EQ(1, s.value[BGDMA_A_NODE_Z]);
	EXPECT_EQ(getuid(), s.value[BGDMA_A_NODE_UID]);
	EXPECT_EQ(1, s.value[BGDMA_A_NODE_CONTEXTS]);
	/* An idle node costs little. */
	EXPECT_GT(s.value[BGDMA_A_NODE_MEMORY], 4096);
	EXPECT_LT(s.value[BGDMA_A_NODE_MEMORY], 65536);

	node_new(&m, 23);
	ASSERT_EQ(1, look(&self->l, BGDMA_CMD_NODE_GET, 23, WITHOUT, &s));
	EXPECT_EQ(2, s.value[BGDMA_A_NODE_CONTEXTS]);
	EXPECT_EQ(0, look(&self->l, BGDMA_CMD_NODE_GET, 22, WITHOUT, &s));
	EXPECT_EQ(1, count(&self->l, BGDMA_CMD_NODE_GET, NULL, WITHOUT,
			   WITHOUT));
	node_close(&n);
	node_close(&m);
	EXPECT_EQ(0, count(&self->l, BGDMA_CMD_NODE_GET, NULL, WITHOUT,
			   WITHOUT));
}

TEST_F(dump, ctx)
{
	struct last s = { 0 };
	struct region r;
	struct node n;
	struct inj i;
	struct rec f;

	node_new(&n, 5);
	inj_new(&i, &n);
	rec_new(&f, &n);
	rgq_new(&n);
	region_new(&r, &n, 10000);
	counter_new(&n, INJ, 0);
	counter_new(&n, REC, 0);
	counter_new(&n, REC, 0);

	ASSERT_EQ(1, look(&self->l, BGDMA_CMD_CTX_GET, 5, 0, &s));
	EXPECT_EQ(5, s.value[BGDMA_A_CTX_RANK]);
	EXPECT_EQ(0, s.value[BGDMA_A_CTX_CTX]);
	EXPECT_EQ(n.at.incarnation, s.value[BGDMA_A_CTX_INCARNATION]);
	EXPECT_EQ(getuid(), s.value[BGDMA_A_CTX_UID]);
	EXPECT_EQ((uint64_t)getpid(), s.value[BGDMA_A_CTX_PID]);
	EXPECT_EQ(1, s.value[BGDMA_A_CTX_INJ_FIFOS]);
	EXPECT_EQ(16, s.value[BGDMA_A_CTX_INJ_FIFOS_MAX]);
	EXPECT_EQ(1, s.value[BGDMA_A_CTX_REC_FIFOS]);
	EXPECT_EQ(8, s.value[BGDMA_A_CTX_REC_FIFOS_MAX]);
	EXPECT_EQ(1, s.value[BGDMA_A_CTX_RGET_QUEUES]);
	EXPECT_EQ(4, s.value[BGDMA_A_CTX_RGET_QUEUES_MAX]);
	EXPECT_EQ(1, s.value[BGDMA_A_CTX_INJ_COUNTERS]);
	EXPECT_EQ(64, s.value[BGDMA_A_CTX_INJ_COUNTERS_MAX]);
	EXPECT_EQ(2, s.value[BGDMA_A_CTX_REC_COUNTERS]);
	EXPECT_EQ(64, s.value[BGDMA_A_CTX_REC_COUNTERS_MAX]);
	EXPECT_EQ(1, s.value[BGDMA_A_CTX_REGIONS]);
	EXPECT_EQ(10000, s.value[BGDMA_A_CTX_REGION_BYTES]);
	EXPECT_EQ(0, s.value[BGDMA_A_CTX_EVENTS]);
	EXPECT_EQ(0, look(&self->l, BGDMA_CMD_CTX_GET, 5, 1, &s));
	node_close(&n);
}

TEST_F(dump, counter)
{
	struct last s = { 0 };
	struct node n;
	__u32 handle;

	node_new(&n, 1);
	handle = counter_new(&n, REC, BGDMA_COUNTER_NO_UNDERFLOW);
	counter_add(&n, REC, handle, -7);
	ASSERT_EQ(1, look(&self->l, BGDMA_CMD_COUNTER_GET, 1, 0, &s));
	EXPECT_EQ(BGDMA_KIND_REC_COUNTER, s.value[BGDMA_A_COUNTER_KIND]);
	EXPECT_EQ(BGDMA_HANDLE_SLOT(handle), s.value[BGDMA_A_COUNTER_SLOT]);
	EXPECT_EQ(BGDMA_HANDLE_GEN(handle),
		  s.value[BGDMA_A_COUNTER_GENERATION]);
	EXPECT_EQ(-7, (int64_t)s.value[BGDMA_A_COUNTER_VALUE]);
	EXPECT_EQ(1, s.value[BGDMA_A_COUNTER_GRANTS]);
	EXPECT_EQ(BGDMA_RANK_ANY, s.value[BGDMA_A_COUNTER_LEASE_RANK]);
	EXPECT_TRUE(s.there[BGDMA_A_COUNTER_NO_UNDERFLOW]);
	EXPECT_FALSE(s.there[BGDMA_A_COUNTER_ENABLED]);
	EXPECT_FALSE(s.there[BGDMA_A_COUNTER_RECORD]);

	counter_enable(&n, REC, handle);
	ASSERT_EQ(1, look(&self->l, BGDMA_CMD_COUNTER_GET, 1, 0, &s));
	EXPECT_TRUE(s.there[BGDMA_A_COUNTER_ENABLED]);
	node_close(&n);
}

TEST_F(dump, fifo_in_error)
{
	struct last s = { .nest_attr = BGDMA_A_FIFO_RECORD };
	struct bgdma_desc d = d_nop();
	struct node n;
	struct inj i;

	node_new(&n, 2);
	inj_new(&i, &n);
	ASSERT_EQ(1, look(&self->l, BGDMA_CMD_FIFO_GET, 2, 0, &s));
	EXPECT_EQ(BGDMA_KIND_INJ_FIFO, s.value[BGDMA_A_FIFO_KIND]);
	EXPECT_EQ(BGDMA_FIFO_STATE_IDLE, s.value[BGDMA_A_FIFO_STATE]);
	EXPECT_EQ(i.entries, s.value[BGDMA_A_FIFO_SIZE]);
	EXPECT_FALSE(s.there[BGDMA_A_FIFO_RECORD]);

	EXPECT_EQ(BGDMA_OK, run(&i, &d));
	d.op = 200;
	EXPECT_EQ(BGDMA_E_OP, outcome(&i, inject(&i, &d)));
	d.op = BGDMA_OP_NOP;
	inject(&i, &d);
	ASSERT_EQ(1, look(&self->l, BGDMA_CMD_FIFO_GET, 2, 0, &s));
	EXPECT_EQ(BGDMA_FIFO_STATE_ERROR, s.value[BGDMA_A_FIFO_STATE]);
	EXPECT_EQ(3, s.value[BGDMA_A_FIFO_TAIL]);
	EXPECT_GE(s.value[BGDMA_A_FIFO_HELD], 1);
	ASSERT_TRUE(s.there[BGDMA_A_FIFO_RECORD]);
	EXPECT_EQ(BGDMA_E_OP, nla_get_u32(s.nest[BGDMA_A_RECORD_CODE]));
	EXPECT_EQ(1, nla_get_u64(s.nest[BGDMA_A_RECORD_DESC_SEQ]));
	EXPECT_EQ(BGDMA_KIND_INJ_FIFO,
		  nla_get_u32(s.nest[BGDMA_A_RECORD_FIFO_KIND]));
	EXPECT_EQ(i.id, nla_get_u32(s.nest[BGDMA_A_RECORD_FIFO]));

	EXPECT_EQ(0, clear_error(&n, BGDMA_KIND_INJ_FIFO, i.id, 0));
	EXPECT_EQ(BGDMA_OK, outcome(&i, 2));
	ASSERT_EQ(1, look(&self->l, BGDMA_CMD_FIFO_GET, 2, 0, &s));
	EXPECT_EQ(BGDMA_FIFO_STATE_IDLE, s.value[BGDMA_A_FIFO_STATE]);
	EXPECT_EQ(0, s.value[BGDMA_A_FIFO_HELD]);
	EXPECT_FALSE(s.there[BGDMA_A_FIFO_RECORD]);
	node_close(&n);
}

/* Send until the reception FIFO is full: who waits for whom is shown. */
TEST_F(dump, fifo_that_waits)
{
	struct last s = { .nest_attr = BGDMA_A_FIFO_STATS };
	struct bgdma_desc d;
	struct node n, m;
	struct region r;
	struct inj i;
	struct rec f;

	node_new(&n, 2);
	node_new(&m, 3);
	inj_new(&i, &n);
	rec_new(&f, &m);
	region_new(&r, &n, 4 * MIB);
	d = d_memfifo(3, f.id, r.handle, 0, 4 * MIB);
	inject(&i, &d);
	ASSERT_TRUE(until(load(&i.kern->state) == BGDMA_FIFO_BLOCKED));

	ASSERT_EQ(1, look(&self->l, BGDMA_CMD_FIFO_GET, 2, 0, &s));
	EXPECT_EQ(BGDMA_FIFO_STATE_BLOCKED, s.value[BGDMA_A_FIFO_STATE]);
	EXPECT_EQ(1, s.value[BGDMA_A_FIFO_HELD]);
	EXPECT_EQ(BGDMA_KIND_REC_FIFO, s.value[BGDMA_A_FIFO_WAITS_KIND]);
	EXPECT_EQ(f.id, s.value[BGDMA_A_FIFO_WAITS_ID]);
	EXPECT_EQ(3, s.value[BGDMA_A_FIFO_WAITS_RANK]);
	EXPECT_EQ(0, s.value[BGDMA_A_FIFO_WAITS_CTX]);
	EXPECT_LE(1, nla_get_u64(s.nest[BGDMA_A_STATS_BLOCKED]));

	ASSERT_EQ(1, look(&self->l, BGDMA_CMD_FIFO_GET, 3, 0, &s));
	EXPECT_EQ(BGDMA_KIND_REC_FIFO, s.value[BGDMA_A_FIFO_KIND]);
	EXPECT_EQ(BGDMA_FIFO_STATE_BUSY, s.value[BGDMA_A_FIFO_STATE]);
	EXPECT_EQ(f.bytes, s.value[BGDMA_A_FIFO_SIZE]);
	EXPECT_EQ(load(&f.kern->tail), s.value[BGDMA_A_FIFO_HELD]);
	EXPECT_EQ(load(&f.kern->packets), s.value[BGDMA_A_FIFO_PACKETS]);
	EXPECT_TRUE(s.there[BGDMA_A_FIFO_SENDERS_WAIT]);
	node_close(&n);
	node_close(&m);
}

TEST_F(dump, remote_get_queue)
{
	struct last s = { 0 };
	struct node n;

	node_new(&n, 2);
	rgq_new(&n);
	ASSERT_EQ(1, look(&self->l, BGDMA_CMD_FIFO_GET, 2, 0, &s));
	EXPECT_EQ(BGDMA_KIND_RGET_QUEUE, s.value[BGDMA_A_FIFO_KIND]);
	EXPECT_EQ(BGDMA_FIFO_STATE_IDLE, s.value[BGDMA_A_FIFO_STATE]);
	EXPECT_EQ(s.value[BGDMA_A_FIFO_SIZE],
		  s.value[BGDMA_A_FIFO_QUOTA] *
			  s.value[BGDMA_A_FIFO_SENDERS_MAX]);
	EXPECT_EQ(0, s.value[BGDMA_A_FIFO_HELD]);
	EXPECT_EQ(0, s.value[BGDMA_A_FIFO_REFUSED]);
	EXPECT_EQ(1, s.value[BGDMA_A_FIFO_GRANTS]);
	node_close(&n);
}

static void take_stats(struct nlattr **attrs, void *arg)
{
	struct last *s = arg;

	s->nest_attr = BGDMA_A_ENGINE_STATS;
	take(attrs, arg);
}

static int stats(struct link *l, struct last *s)
{
	struct answer a = { .each = take_stats, .arg = s };

	return ask(l, request(l, BGDMA_CMD_STATS_GET, NLM_F_ACK), &a);
}

TEST_F(dump, stats_count_one_copy)
{
	struct last s = { 0 };
	struct bgdma_desc d;
	struct nl_msg *msg;
	struct end a, b;

	ASSERT_EQ(0, stats(&self->l, &s));
	EXPECT_EQ(1, s.value[BGDMA_A_ENGINE_PARTITIONS]);
	EXPECT_EQ(0, s.value[BGDMA_A_ENGINE_NODES]);
	EXPECT_EQ(0, s.value[BGDMA_A_ENGINE_CONTEXTS]);

	end_new(&a, 0);
	end_new(&b, 1);
	d = d_put(1, a.mem.handle, 0, b.mem.handle, 0, PAIR_BYTES);
	EXPECT_EQ(BGDMA_OK, run(&a.inj, &d));
	ASSERT_EQ(0, stats(&self->l, &s));
	EXPECT_EQ(2, s.value[BGDMA_A_ENGINE_NODES]);
	EXPECT_EQ(2, s.value[BGDMA_A_ENGINE_CONTEXTS]);
	EXPECT_GE(s.value[BGDMA_A_ENGINE_THREADS], 1);
	EXPECT_GT(s.value[BGDMA_A_ENGINE_MEMORY], 8192);
	EXPECT_EQ(PAIR_BYTES, nla_get_u64(s.nest[BGDMA_A_STATS_BYTES_COPIED]));
	EXPECT_EQ(1, nla_get_u64(s.nest[BGDMA_A_STATS_DESCRIPTORS]));
	EXPECT_EQ(0, nla_get_u64(s.nest[BGDMA_A_STATS_ERRORS]));
	node_close(&a.n);
	node_close(&b.n);

	msg = request(&self->l, BGDMA_CMD_STATS_GET, NLM_F_ACK);
	nla_put_u32(msg, 1, 1);
	EXPECT_EQ(-EINVAL, ask(&self->l, msg, &self->a));
}

/* ---- To whom ---------------------------------------------------------- */

static int sees_nothing(void *arg)
{
	static const int cmds[] = { BGDMA_CMD_NODE_GET, BGDMA_CMD_CTX_GET,
				    BGDMA_CMD_COUNTER_GET,
				    BGDMA_CMD_FIFO_GET };
	struct last s = { 0 };
	struct link l;
	int i, n, err = link_open(&l);

	(void)arg;
	for (i = 0; !err && i < 4; i++) {
		n = count(&l, cmds[i], NULL, WITHOUT, WITHOUT);
		err = n < 0 ? n : n ? -EXDEV : 0;
	}
	err = err ?: stats(&l, &s);
	if (!err && (s.value[BGDMA_A_ENGINE_CONTEXTS] ||
		     s.value[BGDMA_A_ENGINE_NODES]))
		err = -EXDEV;
	return err;
}

static int sees_his_own(void *arg)
{
	struct last s = { 0 };
	struct node n;
	struct link l;
	struct inj i;
	int err = link_open(&l);

	(void)arg;
	node_new(&n, 1);
	inj_new(&i, &n);
	err = err ?: count(&l, BGDMA_CMD_NODE_GET, NULL, WITHOUT, WITHOUT) - 1;
	err = err ?: count(&l, BGDMA_CMD_CTX_GET, NULL, WITHOUT, WITHOUT) - 1;
	err = err ?: count(&l, BGDMA_CMD_FIFO_GET, NULL, WITHOUT, WITHOUT) - 1;
	err = err ?: look(&l, BGDMA_CMD_CTX_GET, 1, WITHOUT, &s) - 1;
	if (!err && (s.value[BGDMA_A_CTX_UID] != NOBODY ||
		     s.value[BGDMA_A_CTX_PID] != (uint64_t)getpid()))
		err = -EPROTO;
	return err > 0 ? -EXDEV : err;
}

TEST_F(dump, x2_others_see_their_own)
{
	struct node n;
	struct inj i;

	node_new(&n, 0);
	inj_new(&i, &n);
	counter_new(&n, INJ, 0);
	EXPECT_EQ(0, as_user(NOBODY, sees_nothing, NULL));
	EXPECT_EQ(0, as_user(NOBODY, sees_his_own, NULL));
	EXPECT_EQ(1, count(&self->l, BGDMA_CMD_CTX_GET, NULL, WITHOUT,
			   WITHOUT));
	node_close(&n);
}

/* ---- While things go away --------------------------------------------- */

TEST_F(dump, partition_deleted_in_use)
{
	struct last s = { 0 };
	struct node n;

	node_new(&n, 0);
	EXPECT_EQ(1, count(&self->l, BGDMA_CMD_CTX_GET, NULL, WITHOUT,
			   WITHOUT));
	EXPECT_EQ(0, by_name(&self->l, BGDMA_CMD_PARTITION_DEL, PARTITION));
	EXPECT_EQ(BGDMA_STATE_DEAD,
		  load(&n.kctl->state) & BGDMA_STATE_DEAD);
	EXPECT_EQ(0, count(&self->l, BGDMA_CMD_CTX_GET, NULL, WITHOUT,
			   WITHOUT));
	ASSERT_EQ(0, stats(&self->l, &s));
	EXPECT_EQ(0, s.value[BGDMA_A_ENGINE_PARTITIONS]);
	EXPECT_EQ(0, make(&self->l, PARTITION, 2));
	node_close(&n);
}

/*
 * Objects go away when the first message has come. By then the kernel has
 * filled one buffer or two, of many.
 */
struct seen {
	unsigned int times[MANY];
	bool gone;
	struct link other;
	struct node *leaves;
	int err;
};

static void delete_most(struct seen *s)
{
	char name[16];
	int i;

	for (i = 0; i < MANY - 1; i++) {
		snprintf(name, sizeof(name), "n%03d", i);
		s->err = s->err ?: by_name(&s->other, BGDMA_CMD_PARTITION_DEL,
					   name);
	}
}

static void see_partition(struct nlattr **attrs, void *arg)
{
	struct seen *s = arg;
	unsigned int n;

	if (sscanf(nla_get_string(attrs[BGDMA_A_PARTITION_NAME]), "n%u",
		   &n) == 1 && n < MANY)
		s->times[n]++;
	if (!s->gone)
		delete_most(s);
	s->gone = true;
}

TEST_F(dump, goes_on_while_partitions_go)
{
	struct seen seen = { 0 };
	struct answer a = { .each = see_partition, .arg = &seen };
	unsigned int i, missed = 0;
	struct link *l = &self->l;
	char name[16];

	ASSERT_EQ(0, link_open(&seen.other));
	for (i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "n%03u", i);
		ASSERT_EQ(0, make(l, name, 1));
	}
	EXPECT_EQ(0, ask(l, request(l, BGDMA_CMD_PARTITION_GET, NLM_F_DUMP),
			 &a));
	EXPECT_EQ(0, seen.err);
	for (i = 0; i < MANY; i++) {
		EXPECT_LE(seen.times[i], 1);
		missed += !seen.times[i];
	}
	/* What had not been shown was not there any more, but for the last. */
	EXPECT_GT(missed, 0);
	EXPECT_EQ(1, seen.times[MANY - 1]);
	link_close(&seen.other);
}

static void see_counter(struct nlattr **attrs, void *arg)
{
	struct seen *s = arg;
	uint32_t slot = nla_get_u32(attrs[BGDMA_A_COUNTER_SLOT]);

	if (slot < MANY)
		s->times[slot]++;
	if (!s->gone)
		node_close(s->leaves);
	s->gone = true;
}

TEST_F(dump, goes_on_while_contexts_go)
{
	struct bgdma_attach opts = { .ctx = BGDMA_CTX_ANY,
				     .inj_counters = MANY };
	struct node n, m;
	struct seen seen = { .leaves = &n };
	struct answer a = { .each = see_counter, .arg = &seen };
	unsigned int i, twice = 0, once = 0;
	struct link *l = &self->l;
	__u32 slot;

	ASSERT_EQ(0, node_try(&n, PARTITION, 1, &opts));
	ASSERT_EQ(0, node_try(&m, PARTITION, 2, &opts));
	ASSERT_EQ(0, counter_alloc(&n, INJ, 0, MANY, &slot));
	ASSERT_EQ(0, counter_alloc(&m, INJ, 0, MANY, &slot));
	EXPECT_EQ(0, ask(l, request(l, BGDMA_CMD_COUNTER_GET, NLM_F_DUMP),
			 &a));
	for (i = 0; i < MANY; i++) {
		once += seen.times[i] == 1;
		twice += seen.times[i] == 2;
	}
	/* Some of the one that went, all of the one that stayed. */
	EXPECT_EQ(MANY, once + twice);
	EXPECT_GT(twice, 0);
	EXPECT_GT(once, 0);
	node_close(&m);
}

/* Comes and goes, with some of everything, until the flag is set. */
static int come_and_go(void *stop)
{
	struct end e;

	while (!load((int *)stop)) {
		end_new(&e, 1);
		node_close(&e.n);
	}
	exit(0);
}

TEST_F(dump, races_with_attach)
{
	static const int cmds[] = { BGDMA_CMD_NODE_GET, BGDMA_CMD_CTX_GET,
				    BGDMA_CMD_COUNTER_GET,
				    BGDMA_CMD_FIFO_GET };
	int *stop = shared(sizeof(*stop));
	struct last s = { 0 };
	unsigned int i, seen = 0;
	pid_t pid[2];
	int n;

	for (i = 0; i < 2; i++)
		pid[i] = start_child(come_and_go, stop);
	for (i = 0; i < 2000; i++) {
		n = count(&self->l, cmds[i % 4], NULL, WITHOUT, WITHOUT);
		EXPECT_GE(n, 0);
		seen += n > 0;
		EXPECT_EQ(0, stats(&self->l, &s));
	}
	EXPECT_GT(seen, 0);
	store(stop, 1);
	for (i = 0; i < 2; i++)
		waitpid(pid[i], NULL, 0);
	EXPECT_EQ(0, count(&self->l, BGDMA_CMD_NODE_GET, NULL, WITHOUT,
			   WITHOUT));
}

TEST_HARNESS_MAIN
