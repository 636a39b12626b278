// SPDX-License-Identifier: GPL-2.0
/*
 * The combining network when something is wrong: members who do not mean the same,
 * who die, give up or were never there. All of the others hear of it, by name; nobody
 * waits for ever, and no wrong sum lands.
 */
#include <signal.h>
#include <sys/wait.h>

#include "links.h"
#include "tree.h"

#define COUNT	7
#define ADD64	BGDMA_TREE_COMBINE(BGDMA_TREE_ADD, BGDMA_TREE_U64)

FIXTURE(broken) {
	struct tree t;
};

FIXTURE_SETUP(broken)
{
	tree_new(&self->t, COUNT, 4);
}

FIXTURE_TEARDOWN(broken)
{
	tree_close(&self->t);
}

static struct bgdma_desc d_sum(struct member *m, __u32 length)
{
	return d_tree(m, BGDMA_OP_TREE_ALLREDUCE, ADD64, length);
}

/* What a member's counter says of who broke the class. */
#define EXPECT_BROKEN(m, code_, rank_)					\
	do {								\
		struct bgdma_event e_;					\
									\
		EXPECT_EQ(code_, tree_end(m));				\
		EXPECT_EQ(rank_, counter_record(&(m)->n, REC,		\
						(m)->rc)->peer_rank);	\
		EXPECT_TRUE(event_wait(&(m)->n, BGDMA_EVENT_CLASS, &e_));	\
		EXPECT_EQ(code_, e_.code);				\
		EXPECT_EQ(rank_, e_.peer_rank);				\
		EXPECT_EQ(CLASS, e_.object);				\
	} while (0)

/* Nothing is to be had of it any more; then it goes, and can be bound again. */
static bool is_over(struct tree *t, __u32 i, int code)
{
	struct member *m = &t->m[i];
	struct bgdma_desc d = d_sum(m, 8);
	struct inj f;

	d.rec_ctr = htole32(BGDMA_NONE);
	inj_new(&f, &m->n);
	if (run(&f, &d) != code)
		return false;
	return until(!class_unbind(&m->n, CLASS, 0)) &&
	       !tree_bind(t, i, CLASS, 4);
}

/* ---- Members who differ ------------------------------------------------- */

enum change { C_TAG, C_OP, C_TYPE, C_LONGER, C_SHORTER, C_KIND, C_COUNT };

static struct bgdma_desc d_changed(struct member *m, enum change change)
{
	struct bgdma_desc d = d_sum(m, 9000);

	switch (change) {
	case C_TAG:
		d.dst_fifo = htole16(1);
		break;
	case C_OP:
		d.dispatch = htole16(BGDMA_TREE_COMBINE(BGDMA_TREE_MAX,
							BGDMA_TREE_U64));
		break;
	case C_TYPE:
		d.dispatch = htole16(BGDMA_TREE_COMBINE(BGDMA_TREE_ADD,
							BGDMA_TREE_S64));
		break;
	case C_LONGER:
		d.length = htole32(9008);
		break;
	case C_SHORTER:
		d.length = htole32(64);
		break;
	default:
		d.op = BGDMA_OP_TREE_BCAST;
		d.dispatch = 0;
	}
	return d;
}

static void differ(struct __test_metadata *_metadata, struct tree *t, __u32 who,
		   enum change change)
{
	__u32 i;

	for (i = 0; i < COUNT; i++) {
		struct member *m = &t->m[i];
		struct bgdma_desc d = i == who ? d_changed(m, change) :
						 d_sum(m, 9000);

		memset(into_of(m), 0x5a, 9008);
		tree_begin(m, &d);
	}
	for (i = 0; i < COUNT; i++) {
		EXPECT_BROKEN(&t->m[i], BGDMA_E_TREE_MISMATCH, who);
		EXPECT_EQ(0x5a, into_of(&t->m[i])[0]);
		EXPECT_TRUE(is_over(t, i, BGDMA_E_TREE_MISMATCH));
	}
}

/* A child of the root in every way; then its sister, one in the middle, a leaf. */
TEST_F_TIMEOUT(broken, dp7_who_asks_for_something_else_is_named, 200)
{
	static const __u32 who[] = { 1, 2, 4, 6 };
	unsigned int k;
	int change;

	for (k = 0; k < ARRAY_SIZE(who); k++) {
		for (change = 0; change < (k ? 1 : C_COUNT); change++) {
			__u32 i;

			differ(_metadata, &self->t, who[k], change);
			for (i = 0; i < COUNT; i++)
				node_close(&self->t.m[i].n);
			tree_new(&self->t, COUNT, 4);
		}
	}
}

/* The root is right: of the others one is named. */
TEST_F(broken, dp7_the_root_is_right)
{
	__u32 i, named = 0;

	for (i = 0; i < COUNT; i++) {
		struct member *m = &self->t.m[i];
		struct bgdma_desc d = i ? d_sum(m, 8) : d_changed(m, C_TAG);

		tree_begin(m, &d);
	}
	for (i = 0; i < COUNT; i++) {
		struct member *m = &self->t.m[i];

		EXPECT_EQ(BGDMA_E_TREE_MISMATCH, tree_end(m));
		if (!i)
			named = counter_record(&m->n, REC, m->rc)->peer_rank;
		EXPECT_NE(0, named);
		EXPECT_EQ(named, counter_record(&m->n, REC, m->rc)->peer_rank);
	}
}

/* The root broadcasts, which needs nobody's leave; one wants a sum. */
TEST_F(broken, dp7_a_broadcast_is_no_sum)
{
	__u32 i;

	for (i = 0; i < COUNT; i++) {
		struct member *m = &self->t.m[i];
		struct bgdma_desc d = d_tree(m, BGDMA_OP_TREE_BCAST, 0, 20000);

		if (i == 5)
			d = d_sum(m, 20000);
		tree_begin(m, &d);
	}
	for (i = 0; i < COUNT; i++)
		EXPECT_BROKEN(&self->t.m[i], BGDMA_E_TREE_MISMATCH, 5);
}

/* ---- Members who die, or give up ----------------------------------------- */

/* Each in turn, while all others wait for it in a collective. */
TEST_F_TIMEOUT(broken, x3_dp7_a_member_that_dies_is_named, 200)
{
	__u32 who, i;

	for (who = 0; who < COUNT; who++) {
		for (i = 0; i < COUNT; i++) {
			struct member *m = &self->t.m[i];
			struct bgdma_desc d = d_sum(m, 30000);

			if (i != who)
				tree_begin(m, &d);
		}
		node_close(&self->t.m[who].n);
		for (i = 0; i < COUNT; i++) {
			if (i != who)
				EXPECT_BROKEN(&self->t.m[i],
					      BGDMA_E_PEER_DOWN, who);
		}
		for (i = 0; i < COUNT; i++)
			if (i != who)
				node_close(&self->t.m[i].n);
		tree_new(&self->t, COUNT, 4);
	}
}

/* In the middle of a long one, which goes on and on meanwhile. */
TEST_F(broken, x3_in_the_middle)
{
	__u32 i;

	for (i = 0; i < COUNT; i++) {
		struct member *m = &self->t.m[i];
		struct bgdma_desc d = d_sum(m, 200000);
		int k;

		counter_add(&m->n, REC, m->rc, 20);
		for (k = 0; k < 20; k++)
			put_in(&m->inj, &d);
		post(&m->inj);
	}
	node_close(&self->t.m[3].n);
	for (i = 0; i < COUNT; i++) {
		int code;

		if (i == 3)
			continue;
		/* What had ended before has ended well. */
		code = tree_end(&self->t.m[i]);
		EXPECT_EQ(BGDMA_E_PEER_DOWN, code);
	}
}

/* In a process, that contributes when all others have bound the class. */
struct apart {
	struct tree t;
	bool bound;
};

static int member_process(void *arg)
{
	struct apart *apart = arg;
	struct tree *t = &apart->t;
	struct member *m = &t->m[4];
	struct bgdma_desc d;

	tree_member(t, 4);
	while (!load(&t->who[0].incarnation))
		sched_yield();
	must(tree_bind(t, 4, CLASS, 4));
	while (!load(&apart->bound))
		sched_yield();
	d = d_sum(m, 8);
	tree_begin(m, &d);
	return 0;
}

TEST(x3_a_process_that_is_killed)
{
	struct apart *apart = shared(sizeof(*apart));
	struct tree *t = &apart->t;
	pid_t pid;
	__u32 i;

	partition_new("8x1x1", "");
	t->count = COUNT;
	for (i = 1; i < COUNT; i++)
		if (i != 4)
			tree_member(t, i);
	pid = start_child(member_process, apart);
	ASSERT_TRUE(until(load(&t->who[4].incarnation)));
	tree_member(t, 0);
	for (i = 0; i < COUNT; i++)
		if (i != 4)
			ASSERT_EQ(0, tree_bind(t, i, CLASS, 4));
	store(&apart->bound, true);
	/* It has contributed, or is killed before. */
	kill_child(pid, SIGKILL);
	for (i = 1; i < COUNT; i++) {
		struct bgdma_desc d = d_sum(&t->m[i], 8);

		if (i != 4)
			tree_begin(&t->m[i], &d);
	}
	for (i = 1; i < COUNT; i++)
		if (i != 4)
			EXPECT_EQ(BGDMA_E_PEER_DOWN, tree_end(&t->m[i]));
}

/*
 * Nothing ever came from it, nor would anything go to it. The first who sees it has said
 * so before those behind it are there.
 */
static bool names(struct tree *t, __u32 i, __u32 dead)
{
	struct bgdma_event e;

	return event_wait(&t->m[i].n, BGDMA_EVENT_CLASS, &e) &&
	       e.code == BGDMA_E_PEER_DOWN && e.peer_rank == dead;
}

static bool all_name_the_dead(__u32 dead)
{
	struct tree *t = calloc(1, sizeof(*t));
	const __u32 first = 1;
	bool all;
	__u32 i;

	t->count = 5;
	for (i = 0; i < t->count; i++)
		tree_member(t, i);
	node_close(&t->m[dead].n);
	must(tree_bind(t, first, CLASS, 4));
	all = names(t, first, dead);
	for (i = 0; i < t->count; i++)
		if (i != dead && i != first)
			must(tree_bind(t, i, CLASS, 4));
	for (i = 0; i < t->count; i++)
		if (i != dead && i != first)
			all = all && names(t, i, dead);
	for (i = 0; i < t->count; i++)
		if (i != dead)
			node_close(&t->m[i].n);
	free(t);
	return all;
}

TEST(x3_who_died_before_the_bind_is_named)
{
	partition_new("8x1x1", "");
	EXPECT_TRUE(all_name_the_dead(0));
	/* Also by a root that takes part with nobody else. */
	EXPECT_TRUE(all_name_the_dead(3));
}

/* It leaves the class, and takes what is under way with it. */
TEST_F(broken, dp7_who_breaks_it_is_named)
{
	__u32 i;

	for (i = 0; i < COUNT; i++) {
		struct member *m = &self->t.m[i];
		struct bgdma_desc d = d_sum(m, 8);

		if (i != 2)
			tree_begin(m, &d);
	}
	ASSERT_TRUE(until(class_unbind(&self->t.m[2].n, CLASS,
				       BGDMA_CLASS_BREAK) != -EBUSY));
	for (i = 0; i < COUNT; i++)
		if (i != 2)
			EXPECT_BROKEN(&self->t.m[i], BGDMA_E_CANCELLED, 2);
}

/* The FIFO of one goes when it has contributed a part. */
TEST_F(broken, dma8_a_fifo_that_goes)
{
	struct bgdma_desc d = d_sum(&self->t.m[6], 100000);
	__u32 i;

	tree_begin(&self->t.m[6], &d);
	ASSERT_TRUE(until(load(&self->t.m[6].inj.kern->state) ==
			  BGDMA_FIFO_BLOCKED));
	EXPECT_EQ(-EBUSY, class_unbind(&self->t.m[6].n, CLASS, 0));
	ASSERT_EQ(0, fifo_destroy(&self->t.m[6].n, BGDMA_KIND_INJ_FIFO,
				  self->t.m[6].inj.id));
	for (i = 0; i < COUNT; i++) {
		if (i == 6)
			continue;
		d = d_sum(&self->t.m[i], 100000);
		counter_add(&self->t.m[i].n, REC, self->t.m[i].rc, 1);
		inject(&self->t.m[i].inj, &d);
	}
	for (i = 0; i < COUNT; i++)
		EXPECT_EQ(BGDMA_E_CANCELLED, tree_end(&self->t.m[i]));
}

/* The result has nowhere to land at one; that is nobody else's business. */
TEST_F(broken, dma8_nowhere_to_land)
{
	__u32 i;

	for (i = 0; i < COUNT; i++) {
		struct member *m = &self->t.m[i];
		struct bgdma_desc d = d_sum(m, 9000);

		if (i == 3)
			d.u.at.dst_off = htole64(m->mem.bytes - 8999);
		if (i == 4)
			d.u.at.dst_region = htole32(0x12345);
		/* This one does not want it. */
		if (i == 5)
			d.u.at.dst_region = htole32(BGDMA_NONE);
		tree_begin(m, &d);
	}
	for (i = 0; i < COUNT; i++)
		EXPECT_EQ(i == 3 ? BGDMA_E_BOUNDS :
			  i == 4 ? BGDMA_E_REGION : BGDMA_OK,
			  tree_end(&self->t.m[i]));
	for (i = 0; i < COUNT; i++) {
		struct member *m = &self->t.m[i];
		struct bgdma_desc d = d_sum(m, 8);

		if (i == 3 || i == 4)
			clear_error(&m->n, REC, BGDMA_HANDLE_SLOT(m->rc), 0);
		tree_begin(m, &d);
	}
	for (i = 0; i < COUNT; i++)
		EXPECT_EQ(BGDMA_OK, tree_end(&self->t.m[i]));
}

/* ---- Who is not one of them ----------------------------------------------- */

/* A child that has not bound it yet, or for another use. */
TEST_F(broken, x2_not_bound)
{
	struct member *m = &self->t.m[0];
	struct bgdma_desc d = d_tree(m, BGDMA_OP_TREE_BCAST, 0, 8);

	ASSERT_TRUE(until(!class_unbind(&self->t.m[2].n, CLASS, 0)));
	tree_begin(m, &d);
	EXPECT_BROKEN(m, BGDMA_E_CLASS, 2);
}

/* One that the others wait for leaves. */
TEST_F(broken, x3_who_leaves_is_named)
{
	__u32 i;

	for (i = 0; i < COUNT; i++) {
		struct bgdma_desc d = d_sum(&self->t.m[i], 64);

		if (i != 5)
			tree_begin(&self->t.m[i], &d);
	}
	ASSERT_TRUE(until(!class_unbind(&self->t.m[5].n, CLASS, 0)));
	for (i = 0; i < COUNT; i++)
		if (i != 5)
			EXPECT_BROKEN(&self->t.m[i], BGDMA_E_CLASS, 5);
}

/* A leaf has all of a broadcast before the one above it begins: it may go. */
TEST_F(broken, dp7_who_has_all_may_leave_before_others_begin)
{
	struct bgdma_desc d;
	__u32 i;

	fill(from_of(&self->t.m[0]), 12000, 8);
	for (i = 0; i < COUNT; i++) {
		d = d_tree(&self->t.m[i], BGDMA_OP_TREE_BCAST, 0, 12000);
		if (i != 1)
			tree_begin(&self->t.m[i], &d);
	}
	EXPECT_EQ(BGDMA_OK, tree_end(&self->t.m[3]));
	ASSERT_TRUE(until(!class_unbind(&self->t.m[3].n, CLASS, 0)));
	d = d_tree(&self->t.m[1], BGDMA_OP_TREE_BCAST, 0, 12000);
	tree_begin(&self->t.m[1], &d);
	for (i = 0; i < COUNT; i++)
		EXPECT_EQ(BGDMA_OK, tree_end(&self->t.m[i]));
	EXPECT_TRUE(filled(into_of(&self->t.m[1]), 12000, 8));
	EXPECT_TRUE(filled(into_of(&self->t.m[3]), 12000, 8));
}

/*
 * Between two packets nothing of a class of one is under way; but it is not to be had
 * for another use in the middle of a collective, which was cut for this one.
 */
TEST_F(broken, x2_a_class_does_not_change_in_the_middle)
{
	struct member *m = &self->t.m[0];
	struct bgdma_class_bind alone = {
		.number = 8, .instance = 1, .member_count = 1,
		.members = (uintptr_t)self->t.who };
	struct bgdma_desc d = d_sum(m, VECTOR_MAX);
	int i, tries, ret = 0;

	d.class_prio = 8;
	for (i = 0; i < 50; i++) {
		alone.packet = i % 2 ? BGDMA_CLASS_PACKET_MIN : 0;
		ASSERT_EQ(0, class_bind(&m->n, &alone));
		tree_begin(m, &d);
		for (tries = 0; !tries || ret == -EBUSY; tries++)
			ret = class_unbind(&m->n, 8, 0);
		ASSERT_EQ(0, ret);
		ret = tree_end(m);
		if (ret == BGDMA_OK)
			continue;
		/* It went before the collective began. */
		ASSERT_EQ(BGDMA_E_CLASS, ret);
		ASSERT_EQ(0, clear_error(&m->n, BGDMA_KIND_INJ_FIFO, m->inj.id,
					 0));
		clear_error(&m->n, REC, BGDMA_HANDLE_SLOT(m->rc), 0);
	}
}

/* Others that share its counter end. */
TEST_F(broken, dma3_what_nobody_has_any_of_is_taken_off)
{
	struct member *m = &self->t.m[0];
	struct bgdma_desc d = d_sum(m, 64);
	int ops, i;

	d.u.at.src_region = htole32(0x12345);
	for (ops = 0; ops < 2; ops++)
		for (i = 0; i < 2; i++) {
			d.flags = ops ? BGDMA_DESC_OPS : 0;
			/* The operation is no good, or, later, its memory. */
			d.dispatch = htole16(i ? 0x80 : ADD64);
			hit_clear(&m->n, REC, m->rc);
			counter_add(&m->n, REC, m->rc, ops ? 1 : 64);
			EXPECT_EQ(i ? BGDMA_E_OP : BGDMA_E_REGION,
				  run_bad(&m->inj, &d));
			EXPECT_EQ(i ? BGDMA_E_OP : BGDMA_E_REGION, tree_end(m));
			clear_error(&m->n, REC, BGDMA_HANDLE_SLOT(m->rc), 0);
			EXPECT_EQ(0, load(&cell(&m->n, REC, m->rc)->value));
		}
	for (i = 0; i < COUNT; i++) {
		d = d_sum(&self->t.m[i], 64);
		tree_begin(&self->t.m[i], &d);
	}
	for (i = 0; i < COUNT; i++)
		EXPECT_EQ(BGDMA_OK, tree_end(&self->t.m[i]));
}

/* The own core begins nothing any more; what the others had is not touched. */
TEST_F(broken, dp7_who_leaves_when_all_is_done_breaks_nothing)
{
	__u32 i;

	for (i = 0; i < COUNT; i++) {
		struct bgdma_desc d = d_sum(&self->t.m[i], 64);

		tree_begin(&self->t.m[i], &d);
	}
	for (i = 0; i < COUNT; i++) {
		EXPECT_EQ(BGDMA_OK, tree_end(&self->t.m[i]));
		EXPECT_TRUE(until(!class_unbind(&self->t.m[i].n, CLASS, 0)));
	}
	for (i = 0; i < COUNT; i++)
		EXPECT_EQ(0, load(&self->t.m[i].n.kctl->events_tail));
}

TEST_F(broken, x2_another_instance)
{
	struct member *m = &self->t.m[2];
	struct bgdma_event e;
	struct bgdma_desc d;

	ASSERT_TRUE(until(!class_unbind(&m->n, CLASS, 0)));
	ASSERT_EQ(0, class_bind(&m->n, &(struct bgdma_class_bind){
		.number = CLASS, .instance = 1, .rank = 2, .member_count = COUNT,
		.members = (uintptr_t)self->t.who }));
	d = d_tree(&self->t.m[0], BGDMA_OP_TREE_BCAST, 0, 8);
	inject(&self->t.m[0].inj, &d);
	EXPECT_TRUE(event_wait(&self->t.m[0].n, BGDMA_EVENT_CLASS, &e));
	EXPECT_EQ(BGDMA_E_CLASS, e.code);
}

/* It says that it is a member; nobody else does. */
TEST_F(broken, x2_who_is_no_neighbour_reaches_nothing)
{
	struct bgdma_group_member who[3];
	struct member *m = &self->t.m[1];
	struct bgdma_event e;
	struct bgdma_desc d;
	struct node other;
	struct inj f;
	__u32 i;

	node_new(&other, 7);
	inj_new(&f, &other);
	who[0] = self->t.who[0];
	who[1] = (struct bgdma_group_member){
		.rank = 7, .ctx = other.at.ctx,
		.incarnation = other.at.incarnation };
	ASSERT_EQ(0, class_bind(&other, &(struct bgdma_class_bind){
		.number = CLASS, .instance = INSTANCE + CLASS, .rank = 1,
		.member_count = 2, .members = (uintptr_t)who }));
	d = d_tree(m, BGDMA_OP_TREE_ALLREDUCE, 0, 0);
	d.rec_ctr = htole32(BGDMA_NONE);
	d.u.at.src_region = htole32(BGDMA_NONE);
	inject(&f, &d);
	EXPECT_TRUE(event_wait(&other, BGDMA_EVENT_CLASS, &e));
	EXPECT_EQ(BGDMA_E_RIGHTS, e.code);
	/* The others never notice. */
	for (i = 0; i < COUNT; i++) {
		d = d_sum(&self->t.m[i], 4096);
		tree_begin(&self->t.m[i], &d);
	}
	for (i = 0; i < COUNT; i++)
		EXPECT_EQ(BGDMA_OK, tree_end(&self->t.m[i]));
	node_close(&other);
}

/* A remote get brings nobody into a collective. */
TEST_F(broken, x2_not_by_remote_get)
{
	struct member *m = &self->t.m[1], *victim = &self->t.m[2];
	struct bgdma_desc d = d_sum(victim, 8), get;
	struct bgdma_event e;
	__u32 queue = rgq_new(&victim->n);

	memcpy(m->mem.p, &d, sizeof(d));
	get = d_rget(2, queue, m->mem.handle, 0, 1);
	ASSERT_EQ(BGDMA_OK, run(&m->inj, &get));
	ASSERT_TRUE(event_wait(&m->n, BGDMA_EVENT_REFUSED, &e));
	EXPECT_EQ(BGDMA_E_PROVENANCE, e.code);
}

/* ---- Who is late, or stopped ---------------------------------------------- */

/* Nobody is ahead by more than the window; all of it arrives. */
TEST_F(broken, dma3_who_is_ahead_waits)
{
	struct bgdma_desc d = d_tree(&self->t.m[0], BGDMA_OP_TREE_BCAST, 0,
				     60000);
	__u32 i;

	fill(from_of(&self->t.m[0]), 60000, 5);
	tree_begin(&self->t.m[0], &d);
	ASSERT_TRUE(until(load(&self->t.m[0].inj.kern->state) ==
			  BGDMA_FIFO_BLOCKED));
	for (i = 1; i < COUNT; i++) {
		d = d_tree(&self->t.m[i], BGDMA_OP_TREE_BCAST, 0, 60000);
		tree_begin(&self->t.m[i], &d);
	}
	for (i = 0; i < COUNT; i++)
		EXPECT_EQ(BGDMA_OK, tree_end(&self->t.m[i]));
	for (i = 1; i < COUNT; i++)
		EXPECT_TRUE(filled(into_of(&self->t.m[i]), 60000, 5));
}

TEST_F(broken, dp7_unbind_waits_for_the_others)
{
	struct bgdma_desc d;
	__u32 i;

	for (i = 0; i < COUNT; i++) {
		d = d_sum(&self->t.m[i], 8);
		if (i == 1) {
			tree_begin(&self->t.m[i], &d);
			EXPECT_EQ(-EBUSY, class_unbind(&self->t.m[1].n, CLASS,
						       0));
		} else {
			tree_begin(&self->t.m[i], &d);
		}
	}
	for (i = 0; i < COUNT; i++)
		EXPECT_EQ(BGDMA_OK, tree_end(&self->t.m[i]));
	for (i = 0; i < COUNT; i++)
		EXPECT_TRUE(until(!class_unbind(&self->t.m[i].n, CLASS, 0)));
}

TEST_HARNESS_MAIN
