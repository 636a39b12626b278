// SPDX-License-Identifier: GPL-2.0
/*
 * Looking at classes of the combining network: what each member holds, whom it waits
 * for, who broke it; and what the tool makes of that: who holds up all of them.
 */
#include <unistd.h>

#include "kselftest_harness.h"
#include "netlink_util.h"
#include "tool.h"
#include "tree.h"

#define NOBODY	65534
#define MEMBERS	6
#define OTHER	5	/* another class */
#define ADD	BGDMA_TREE_COMBINE(BGDMA_TREE_ADD, BGDMA_TREE_U64)

/* A member as it is shown. */
struct shown {
	uint64_t value[ATTRS_MAX];
	bool there[ATTRS_MAX];
	struct {
		bool there;
		bool waits;
		uint32_t rank;
		uint32_t ctx;
		uint64_t packets;
	} edge[3];
};

struct all_shown {
	struct shown m[2 * MEMBERS];
	unsigned int n;
};

FIXTURE(tree) {
	struct tree t;
	struct link l;
	struct all_shown s;
	char out[8192];
};

FIXTURE_SETUP(tree)
{
	tree_new(&self->t, MEMBERS, 0);
	ASSERT_EQ(0, link_open(&self->l));
}

FIXTURE_TEARDOWN(tree)
{
	link_close(&self->l);
	tree_close(&self->t);
}

/* ---- Looking ------------------------------------------------------------ */

static void take_edge(struct shown *s, struct nlattr *attr)
{
	struct nlattr *tb[BGDMA_A_EDGE_MAX + 1];
	struct nlattr *stats[BGDMA_A_STATS_MAX + 1];
	uint32_t side;

	must(nla_parse_nested(tb, BGDMA_A_EDGE_MAX, attr, NULL) ? -EPROTO : 0);
	must(nla_parse_nested(stats, BGDMA_A_STATS_MAX, tb[BGDMA_A_EDGE_STATS],
			      NULL) ? -EPROTO : 0);
	side = nla_get_u32(tb[BGDMA_A_EDGE_SIDE]);
	must(side < 3 && !s->edge[side].there ? 0 : -EPROTO);
	s->edge[side].there = true;
	s->edge[side].waits = tb[BGDMA_A_EDGE_WAITS];
	s->edge[side].rank = nla_get_u32(tb[BGDMA_A_EDGE_RANK]);
	s->edge[side].ctx = nla_get_u32(tb[BGDMA_A_EDGE_CTX]);
	s->edge[side].packets = nla_get_u64(stats[BGDMA_A_STATS_PACKETS]);
}

/* The edges come last; the first attribute is the partition. */
static void take_edges(struct shown *s, struct nlattr **attrs)
{
	struct nlattr *first = attrs[BGDMA_A_TREE_PARTITION], *attr;
	struct nlattr *last = attrs[BGDMA_A_TREE_EDGE];
	int rest;

	if (!last)
		return;
	nla_for_each_attr(attr, first,
			  (int)((char *)last - (char *)first) +
			  nla_total_size(nla_len(last)), rest) {
		if (nla_type(attr) == BGDMA_A_TREE_EDGE)
			take_edge(s, attr);
	}
}

static void take(struct nlattr **attrs, void *arg)
{
	struct all_shown *all = arg;
	struct shown *s;
	int i;

	must(all->n < ARRAY_SIZE(all->m) ? 0 : -ENOSPC);
	s = &all->m[all->n++];
	memset(s, 0, sizeof(*s));
	for (i = 1; i < BGDMA_A_TREE_EDGE; i++) {
		if (!attrs[i])
			continue;
		s->there[i] = true;
		if (nla_len(attrs[i]) == 4)
			s->value[i] = nla_get_u32(attrs[i]);
		else if (nla_len(attrs[i]) == 8)
			s->value[i] = nla_get_u64(attrs[i]);
	}
	take_edges(s, attrs);
}

#define WITHOUT	(-1)

/* How many classes are shown, of a rank and number if given; or -errno. */
static int look(struct link *l, int rank, int class, struct all_shown *s)
{
	struct nl_msg *msg = request(l, BGDMA_CMD_TREE_GET, NLM_F_DUMP);
	struct answer a = { .each = take, .arg = s };
	int err;

	s->n = 0;
	nla_put_string(msg, BGDMA_A_TREE_PARTITION, PARTITION);
	if (rank != WITHOUT)
		nla_put_u32(msg, BGDMA_A_TREE_RANK, (uint32_t)rank);
	if (class != WITHOUT)
		nla_put_u32(msg, BGDMA_A_TREE_CLASS, (uint32_t)class);
	err = ask(l, msg, &a);
	return err ?: (int)a.messages;
}

/* All members are in a state. */
static bool all_in(struct link *l, uint32_t state, struct all_shown *s)
{
	unsigned int i;

	must(look(l, WITHOUT, CLASS, s) == MEMBERS ? 0 : -EPROTO);
	for (i = 0; i < MEMBERS; i++)
		if (s->m[i].value[BGDMA_A_TREE_STATE] != state)
			return false;
	return true;
}

/* ---- What is shown ------------------------------------------------------ */

static uint32_t child_of(uint32_t rank, uint32_t which)
{
	return 2 * rank + 1 + which;
}

TEST_F(tree, dp7_who_is_next_to_whom)
{
	uint32_t i, k;

	ASSERT_EQ(MEMBERS, look(&self->l, WITHOUT, WITHOUT, &self->s));
	for (i = 0; i < MEMBERS; i++) {
		const struct shown *s = &self->s.m[i];

		EXPECT_EQ(i, s->value[BGDMA_A_TREE_RANK]);
		EXPECT_EQ(0, s->value[BGDMA_A_TREE_CTX]);
		EXPECT_EQ(CLASS, s->value[BGDMA_A_TREE_CLASS]);
		EXPECT_EQ(INSTANCE + CLASS, s->value[BGDMA_A_TREE_INSTANCE]);
		EXPECT_EQ(i, s->value[BGDMA_A_TREE_MEMBER]);
		EXPECT_EQ(MEMBERS, s->value[BGDMA_A_TREE_MEMBERS]);
		EXPECT_EQ(16, s->value[BGDMA_A_TREE_WINDOW]);
		EXPECT_EQ(4096, s->value[BGDMA_A_TREE_PACKET]);
		EXPECT_EQ(i > 0, s->edge[0].there);
		if (i)
			EXPECT_EQ((i - 1) / 2, s->edge[0].rank);
		for (k = 0; k < 2; k++) {
			ASSERT_EQ(child_of(i, k) < MEMBERS,
				  s->edge[1 + k].there);
			if (s->edge[1 + k].there)
				EXPECT_EQ(child_of(i, k), s->edge[1 + k].rank);
		}
	}
}

TEST_F(tree, dp7_idle_lacks_nobody)
{
	uint32_t i, k;

	ASSERT_TRUE(all_in(&self->l, BGDMA_CLASS_STATE_IDLE, &self->s));
	for (i = 0; i < MEMBERS; i++) {
		const struct shown *s = &self->s.m[i];

		EXPECT_EQ(0, s->value[BGDMA_A_TREE_SLOTS]);
		EXPECT_EQ(0, s->value[BGDMA_A_TREE_OLDEST]);
		EXPECT_FALSE(s->there[BGDMA_A_TREE_WAITS_OWN]);
		EXPECT_FALSE(s->there[BGDMA_A_TREE_CODE]);
		for (k = 0; k < 3; k++)
			EXPECT_FALSE(s->edge[k].waits);
	}
	EXPECT_EQ(0, run_tool("tree show test waits", self->out,
			      sizeof(self->out)));
	EXPECT_STREQ("", self->out);
}

TEST_F(tree, dp7_one_class_of_several)
{
	uint32_t i;

	for (i = 0; i < MEMBERS; i++)
		ASSERT_EQ(0, tree_bind(&self->t, i, OTHER, 4));
	EXPECT_EQ(2 * MEMBERS, look(&self->l, WITHOUT, WITHOUT, &self->s));
	EXPECT_EQ(MEMBERS, look(&self->l, WITHOUT, OTHER, &self->s));
	EXPECT_EQ(OTHER, self->s.m[0].value[BGDMA_A_TREE_CLASS]);
	EXPECT_EQ(4, self->s.m[0].value[BGDMA_A_TREE_WINDOW]);
	EXPECT_EQ(2, look(&self->l, 3, WITHOUT, &self->s));
	EXPECT_EQ(1, look(&self->l, 3, CLASS, &self->s));
	EXPECT_EQ(3, self->s.m[0].value[BGDMA_A_TREE_RANK]);
	EXPECT_EQ(0, look(&self->l, 3, 4, &self->s));
	EXPECT_EQ(-ERANGE, look(&self->l, 3, BGDMA_CLASSES_MAX, &self->s));
}

/* ---- Who is missing ------------------------------------------------------ */

static bool is_below(uint32_t rank, uint32_t top)
{
	while (rank > top)
		rank = (rank - 1) / 2;
	return rank == top;
}

/* Does a member show that all wait for @missing, who alone did not take part? */
static bool shows(const struct shown *s, uint32_t rank, uint32_t missing)
{
	bool has_child = child_of(missing, 0) < MEMBERS;
	bool own = rank == missing && has_child;
	uint32_t k;

	/* What never took part, and has no children, knows nothing. */
	if (s->value[BGDMA_A_TREE_STATE] !=
	    (rank != missing || has_child ? BGDMA_CLASS_STATE_WAITS :
					    BGDMA_CLASS_STATE_IDLE))
		return false;
	if (s->there[BGDMA_A_TREE_WAITS_OWN] != own ||
	    s->edge[0].waits != !is_below(missing, rank))
		return false;
	for (k = 0; k < 2; k++) {
		uint32_t child = child_of(rank, k);

		if (s->edge[1 + k].waits !=
		    (child < MEMBERS && is_below(missing, child)))
			return false;
	}
	return true;
}

static bool all_show(struct link *l, uint32_t missing, struct all_shown *s)
{
	uint32_t i;

	must(look(l, WITHOUT, CLASS, s) == MEMBERS ? 0 : -EPROTO);
	for (i = 0; i < MEMBERS; i++)
		if (!shows(&s->m[i], i, missing))
			return false;
	return true;
}

static void begin(struct tree *t, uint32_t rank, __u8 op, __u16 dispatch,
		  __u32 length)
{
	struct bgdma_desc d = d_tree(&t->m[rank], op, dispatch, length);

	tree_begin(&t->m[rank], &d);
}

static uint32_t children(uint32_t rank)
{
	return (child_of(rank, 0) < MEMBERS) + (child_of(rank, 1) < MEMBERS);
}

/* Of as many collectives as members, of one packet each, and of the greeting. */
static bool all_counted(struct link *l, struct all_shown *s)
{
	uint32_t i, side;

	if (!all_in(l, BGDMA_CLASS_STATE_IDLE, s))
		return false;
	for (i = 0; i < MEMBERS; i++) {
		for (side = 0; side < 3; side++) {
			bool there = side ? children(i) >= side : i;

			if (s->m[i].edge[side].packets !=
			    (there ? 1 + MEMBERS : 0))
				return false;
		}
	}
	return true;
}

#define HEAD	"test class 3 instance 80: 6 of 6 members seen\n"

TEST_F(tree, dp7_who_is_missing)
{
	char words[256];
	uint32_t missing, i;

	for (missing = 0; missing < MEMBERS; missing++) {
		for (i = 0; i < MEMBERS; i++)
			if (i != missing)
				begin(&self->t, i, BGDMA_OP_TREE_ALLREDUCE, ADD,
				      64);
		EXPECT_TRUE(until(all_show(&self->l, missing, &self->s))) {
			TH_LOG("without %u", missing);
		}
		snprintf(words, sizeof(words), HEAD "    waits for test/%u.0\n",
			 missing);
		EXPECT_EQ(0, run_tool("tree show test class 3 waits",
				      self->out, sizeof(self->out)));
		EXPECT_STREQ(words, self->out);
		begin(&self->t, missing, BGDMA_OP_TREE_ALLREDUCE, ADD, 64);
		for (i = 0; i < MEMBERS; i++)
			ASSERT_EQ(BGDMA_OK, tree_end(&self->t.m[i]));
		EXPECT_TRUE(until(all_in(&self->l, BGDMA_CLASS_STATE_IDLE,
					 &self->s)));
	}
	/* And so it was counted: what goes along edges, when it has gone. */
	EXPECT_TRUE(until(all_counted(&self->l, &self->s)));
	for (i = 0; i < MEMBERS; i++) {
		const struct shown *s = &self->s.m[i];

		EXPECT_EQ(MEMBERS, s->value[BGDMA_A_TREE_OLDEST]);
		EXPECT_EQ(MEMBERS, s->value[BGDMA_A_TREE_COLLECTIVES]);
		EXPECT_EQ(MEMBERS * children(i),
			  s->value[BGDMA_A_TREE_COMBINED]);
	}
}

static void take_packets(struct nlattr **attrs, void *arg)
{
	struct nlattr *stats[BGDMA_A_STATS_MAX + 1];

	must(nla_parse_nested(stats, BGDMA_A_STATS_MAX, attrs[BGDMA_A_CTX_STATS],
			      NULL) ? -EPROTO : 0);
	*(uint64_t *)arg = nla_get_u64(stats[BGDMA_A_STATS_PACKETS]);
}

/* Packets that a context has sent in all. */
static uint64_t ctx_packets(struct link *l, uint32_t rank)
{
	struct nl_msg *msg = request(l, BGDMA_CMD_CTX_GET, NLM_F_DUMP);
	uint64_t packets = 0;
	struct answer a = { .each = take_packets, .arg = &packets };

	nla_put_string(msg, BGDMA_A_CTX_PARTITION, PARTITION);
	nla_put_u32(msg, BGDMA_A_CTX_RANK, rank);
	must(ask(l, msg, &a));
	return packets;
}

/* What goes along the edges is the work of the context, bound or not any more. */
TEST_F(tree, dp7_edges_are_counted)
{
	uint32_t i;

	for (i = 0; i < MEMBERS; i++)
		begin(&self->t, i, BGDMA_OP_TREE_ALLREDUCE, ADD, 64);
	EXPECT_TRUE(until(all_in(&self->l, BGDMA_CLASS_STATE_IDLE, &self->s) &&
			  self->s.m[1].value[BGDMA_A_TREE_OLDEST] == 1));
	/* Its own, and one to each of three neighbours, who were greeted. */
	EXPECT_TRUE(until(ctx_packets(&self->l, 1) == 7));
	EXPECT_TRUE(until(!class_unbind(&self->t.m[1].n, CLASS, 0)));
	/* And to each the word that it left. */
	EXPECT_EQ(10, ctx_packets(&self->l, 1));
}

/* Nobody has come but one; whoever has not begun knows nothing of it. */
TEST_F(tree, dp7_all_but_one_are_missing)
{
	begin(&self->t, 4, BGDMA_OP_TREE_ALLREDUCE, ADD, 64);
	EXPECT_TRUE(until(({
		run_tool("tree show test class 3 waits", self->out,
			 sizeof(self->out));
		!strcmp(self->out, HEAD "    waits for test/1.0\n"
			"    waits for test/3.0\n");
	}))) {
		TH_LOG("%s", self->out);
	}
	begin(&self->t, 0, BGDMA_OP_TREE_ALLREDUCE, ADD, 64);
	EXPECT_TRUE(until(({
		run_tool("tree show test class 3 waits", self->out,
			 sizeof(self->out));
		!strcmp(self->out, HEAD "    waits for test/1.0\n"
			"    waits for test/2.0\n    waits for test/3.0\n"
			"    waits for test/5.0\n");
	}))) {
		TH_LOG("%s", self->out);
	}
}

/* A broadcast ends for who takes part; who does not has it waiting. */
TEST_F(tree, dp7_who_does_not_take_a_broadcast)
{
	uint32_t i;

	for (i = 0; i < MEMBERS; i++)
		if (i != 2)
			begin(&self->t, i, BGDMA_OP_TREE_BCAST, 0, 64);
	for (i = 0; i < MEMBERS; i++)
		if (i != 2)
			ASSERT_EQ(BGDMA_OK, tree_end(&self->t.m[i]));
	/* What they say that they have come goes up meanwhile. */
	EXPECT_TRUE(until(look(&self->l, WITHOUT, CLASS, &self->s) ==
				  MEMBERS &&
			  self->s.m[2].there[BGDMA_A_TREE_WAITS_OWN] &&
			  !self->s.m[2].edge[1].waits &&
			  self->s.m[0].edge[2].waits &&
			  !self->s.m[0].edge[1].waits &&
			  self->s.m[5].value[BGDMA_A_TREE_STATE] ==
				  BGDMA_CLASS_STATE_IDLE));
	EXPECT_EQ(1, self->s.m[2].value[BGDMA_A_TREE_SLOTS]);
	EXPECT_EQ(0, run_tool("tree show test waits", self->out,
			      sizeof(self->out)));
	EXPECT_STREQ(HEAD "    waits for test/2.0\n", self->out);
}

#define FULL	160000U		/* more than a reception FIFO and the windows hold */

/* The result comes down as packets, and the last member does not read them. */
TEST_F(tree, dma3_who_has_no_room_for_a_result)
{
	struct member *last = &self->t.m[MEMBERS - 1];
	struct bgdma_desc d = d_tree(last, BGDMA_OP_TREE_ALLREDUCE, ADD, FULL);
	uint32_t i;

	for (i = 0; i + 1 < MEMBERS; i++)
		begin(&self->t, i, BGDMA_OP_TREE_ALLREDUCE, ADD, FULL);
	d.class_prio |= BGDMA_TREE_PACKETS;
	d.u.at.dst_region = htole32(last->rec.id);
	d.u.at.dst_off = 0;
	tree_begin(last, &d);
	ASSERT_TRUE(until(load(&last->rec.kern->starved)));
	/* Its parent holds what it does not take, and the root what that one does not. */
	EXPECT_TRUE(until(look(&self->l, WITHOUT, CLASS, &self->s) ==
				  MEMBERS &&
			  self->s.m[5].there[BGDMA_A_TREE_WAITS_OWN] &&
			  self->s.m[2].edge[1].waits &&
			  !self->s.m[2].there[BGDMA_A_TREE_WAITS_OWN] &&
			  self->s.m[0].edge[2].waits &&
			  !self->s.m[0].edge[1].waits));
	EXPECT_EQ(0, run_tool("tree show test class 3 waits", self->out,
			      sizeof(self->out)));
	EXPECT_STREQ(HEAD "    waits for test/5.0\n", self->out);
	for (i = 0; i < FULL;) {
		i += packet_wait(&last->rec)->bytes;
		packet_drop(&last->rec);
	}
	for (i = 0; i < MEMBERS; i++)
		EXPECT_EQ(BGDMA_OK, tree_end(&self->t.m[i]));
}

/* Whom the caller cannot see he can name only. */
TEST_F(tree, dp7_who_is_not_seen)
{
	begin(&self->t, 5, BGDMA_OP_TREE_ALLREDUCE, ADD, 64);
	EXPECT_TRUE(until(look(&self->l, 5, CLASS, &self->s) == 1 &&
			  self->s.m[0].edge[0].waits));
	EXPECT_EQ(0, run_tool("tree show test/5.0 waits", self->out,
			      sizeof(self->out)));
	EXPECT_STREQ("test class 3 instance 80: 1 of 6 members seen\n"
		     "    waits for test/2.0, which is not seen\n", self->out);
}

/* More packets than there is room for: the FIFO waits for its own class. */
TEST_F(tree, dma8_a_fifo_waits_for_its_class)
{
	struct inj *inj = &self->t.m[4].inj;

	begin(&self->t, 4, BGDMA_OP_TREE_ALLREDUCE, ADD, VECTOR_MAX);
	ASSERT_TRUE(until(load(&inj->kern->state) == BGDMA_FIFO_BLOCKED));
	ASSERT_EQ(1, look(&self->l, 4, CLASS, &self->s));
	EXPECT_EQ(16, self->s.m[0].value[BGDMA_A_TREE_SLOTS]);
	EXPECT_EQ(0, run_tool("fifo show test/4.0", self->out,
			      sizeof(self->out)));
	EXPECT_NE(NULL, strstr(self->out,
			       "    waits for class 3 of test/4.0\n")) {
		TH_LOG("%s", self->out);
	}
}

/* ---- Who broke it -------------------------------------------------------- */

static bool all_blame(struct link *l, int code, uint32_t rank,
		      struct all_shown *s)
{
	unsigned int i, n = (unsigned int)look(l, WITHOUT, CLASS, s);

	for (i = 0; i < n; i++) {
		if (s->m[i].value[BGDMA_A_TREE_STATE] !=
			    BGDMA_CLASS_STATE_BROKEN ||
		    s->m[i].value[BGDMA_A_TREE_CODE] != (uint64_t)code ||
		    s->m[i].value[BGDMA_A_TREE_BROKEN_RANK] != rank ||
		    s->m[i].value[BGDMA_A_TREE_BROKEN_CTX])
			return false;
	}
	return n;
}

TEST_F(tree, dp7_who_asked_for_something_else)
{
	uint32_t i;

	for (i = 0; i < MEMBERS; i++)
		begin(&self->t, i, BGDMA_OP_TREE_ALLREDUCE, ADD,
		      i == 3 ? 128 : 64);
	EXPECT_TRUE(until(all_blame(&self->l, BGDMA_E_TREE_MISMATCH, 3,
				    &self->s)));
	EXPECT_EQ(MEMBERS, self->s.n);
	EXPECT_EQ(0, run_tool("tree show test class 3", self->out,
			      sizeof(self->out)));
	EXPECT_NE(NULL, strstr(self->out, "test/0.0 class 3: broken member 0"
			       " of 6 root instance 80\n"));
	EXPECT_NE(NULL, strstr(self->out,
			       "    error tree-mismatch by test/3.0\n"));
	EXPECT_EQ(0, run_tool("tree show test waits", self->out,
			      sizeof(self->out)));
	EXPECT_STREQ("", self->out);
}

TEST_F(tree, x3_who_died)
{
	begin(&self->t, 0, BGDMA_OP_TREE_ALLREDUCE, ADD, 64);
	node_close(&self->t.m[5].n);
	self->t.m[5].n.fd = -1;
	EXPECT_TRUE(until(all_blame(&self->l, BGDMA_E_PEER_DOWN, 5,
				    &self->s)));
	EXPECT_EQ(MEMBERS - 1, self->s.n);
}

/* ---- To whom ------------------------------------------------------------- */

static int sees_his_own(void *arg)
{
	struct bgdma_group_member who = { .rank = 7 };
	struct all_shown s;
	struct node n;
	struct link l;
	int err = link_open(&l) ?: look(&l, WITHOUT, WITHOUT, &s);

	(void)arg;
	if (err)
		return err < 0 ? err : -EXDEV;
	node_new(&n, 7);
	who.ctx = n.at.ctx;
	who.incarnation = n.at.incarnation;
	must(class_bind(&n, &(struct bgdma_class_bind){
		.number = 2, .instance = 1, .member_count = 1,
		.members = (uintptr_t)&who }));
	if (look(&l, WITHOUT, WITHOUT, &s) != 1)
		return -EXDEV;
	return s.m[0].value[BGDMA_A_TREE_RANK] == 7 &&
	       s.m[0].value[BGDMA_A_TREE_CLASS] == 2 ? 0 : -EPROTO;
}

TEST_F(tree, x2_others_see_their_own)
{
	EXPECT_EQ(MEMBERS, look(&self->l, WITHOUT, WITHOUT, &self->s));
	EXPECT_EQ(0, as_user(NOBODY, sees_his_own, NULL));
}

TEST_HARNESS_MAIN
