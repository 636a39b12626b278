// SPDX-License-Identifier: GPL-2.0
/*
 * Members of a class that do not ask for the same, in any order, and strangers who
 * say that they are members: memory, and who is named.
 */
#include "links.h"
#include "tree.h"

#define ADD	BGDMA_TREE_COMBINE(BGDMA_TREE_ADD, BGDMA_TREE_U64)

/* Time to go where it can; what comes of it is the same without. */
#define A_WHILE	20000

FIXTURE(forged) {
	struct tree t;
};

FIXTURE_SETUP(forged)
{
	tree_new(&self->t, 4, 4);
}

FIXTURE_TEARDOWN(forged)
{
	tree_close(&self->t);
}

/* Why a class of a node broke, and by whom. */
static int broken(struct node *n, __u32 *by)
{
	struct bgdma_event e;

	if (!event_wait(n, BGDMA_EVENT_CLASS, &e))
		return BGDMA_OK;
	*by = e.peer_rank;
	return e.code;
}

#define EXPECT_ALL_NAME(t, code_, rank)					\
	for (__u32 i_ = 0; i_ < (t)->count; i_++) {			\
		__u32 by_ = 99;						\
									\
		EXPECT_EQ(code_, broken(&(t)->m[i_].n, &by_));		\
		EXPECT_EQ(rank, by_) TH_LOG("at member %u", i_);	\
	}

/* What the root broadcasts is there before its receiver asks for something shorter. */
TEST_F_TIMEOUT(forged, x2_an_early_result_stays_in_its_bounds, 120)
{
	struct member *root = &self->t.m[0], *m = &self->t.m[1];
	struct bgdma_desc d = d_tree(root, BGDMA_OP_TREE_BCAST, 0, 4096);
	char before[8192];

	memset(from_of(root), 0xee, 4096);
	memset(before, 0x5a, sizeof(before));
	memcpy(into_of(m), before, sizeof(before));
	tree_begin(root, &d);
	ASSERT_EQ(BGDMA_OK, tree_end(root));
	usleep(A_WHILE);
	d = d_tree(m, BGDMA_OP_TREE_ALLREDUCE, ADD, 8);
	tree_begin(m, &d);
	EXPECT_EQ(BGDMA_E_TREE_MISMATCH, tree_end(m));
	EXPECT_EQ(1, counter_record(&m->n, REC, m->rc)->peer_rank);
	EXPECT_EQ(0, memcmp(before, into_of(m), sizeof(before)));
	EXPECT_ALL_NAME(&self->t, BGDMA_E_TREE_MISMATCH, 1);
}

/* Shorter, and of the same kind: a prefix would not be right either. */
TEST_F_TIMEOUT(forged, x2_an_early_result_of_another_length, 120)
{
	struct member *root = &self->t.m[0], *m = &self->t.m[2];
	struct bgdma_desc d = d_tree(root, BGDMA_OP_TREE_BCAST, 0, 10000);

	memset(into_of(m), 0x5a, 10000);
	tree_begin(root, &d);
	usleep(A_WHILE);
	d = d_tree(m, BGDMA_OP_TREE_BCAST, 0, 100);
	tree_begin(m, &d);
	EXPECT_EQ(BGDMA_E_TREE_MISMATCH, tree_end(m));
	EXPECT_EQ(0x5a, into_of(m)[0]);
	EXPECT_EQ(0x5a, into_of(m)[100]);
	EXPECT_ALL_NAME(&self->t, BGDMA_E_TREE_MISMATCH, 2);
}

/* Not the one in between, who hears of both first. */
TEST_F_TIMEOUT(forged, dma8_who_differs_is_named_below_the_root, 120)
{
	struct member *root = &self->t.m[0], *m = &self->t.m[3];
	struct bgdma_desc d = d_tree(m, BGDMA_OP_TREE_ALLREDUCE, ADD, 8);

	tree_begin(m, &d);
	usleep(A_WHILE);
	d = d_tree(root, BGDMA_OP_TREE_BCAST, 0, 4096);
	tree_begin(root, &d);
	EXPECT_EQ(BGDMA_E_TREE_MISMATCH, tree_end(m));
	EXPECT_ALL_NAME(&self->t, BGDMA_E_TREE_MISMATCH, 3);
}

/* Nor is he where he has asked for the right thing by then. */
TEST_F_TIMEOUT(forged, dma8_who_differs_is_named_beside_who_does_not, 120)
{
	struct member *root = &self->t.m[0], *between = &self->t.m[1];
	struct member *m = &self->t.m[3];
	struct bgdma_desc d = d_tree(between, BGDMA_OP_TREE_BCAST, 0, 4096);

	tree_begin(between, &d);
	d = d_tree(m, BGDMA_OP_TREE_BCAST, 0, 4000);
	tree_begin(m, &d);
	usleep(A_WHILE);
	d = d_tree(root, BGDMA_OP_TREE_BCAST, 0, 4096);
	tree_begin(root, &d);
	EXPECT_EQ(BGDMA_E_TREE_MISMATCH, tree_end(m));
	EXPECT_ALL_NAME(&self->t, BGDMA_E_TREE_MISMATCH, 3);
}

/* What the root has broadcast has ended for it, when a child asks for something else. */
TEST_F_TIMEOUT(forged, dma8_the_root_is_right_after_its_end, 120)
{
	struct member *root = &self->t.m[0], *m = &self->t.m[2];
	struct bgdma_desc d = d_tree(root, BGDMA_OP_TREE_BCAST, 0, 500);

	tree_begin(root, &d);
	ASSERT_EQ(BGDMA_OK, tree_end(root));
	d = d_tree(m, BGDMA_OP_TREE_ALLREDUCE, ADD, 512);
	tree_begin(m, &d);
	EXPECT_EQ(BGDMA_E_TREE_MISMATCH, tree_end(m));
	EXPECT_ALL_NAME(&self->t, BGDMA_E_TREE_MISMATCH, 2);
}

/*
 * A stranger says that it is the root, or a child, of somebody who does not say so:
 * it is refused, and the class of the others goes on.
 */
static void strange(struct tree *t, struct member *stranger, __u32 rank,
		    __u32 instance)
{
	struct bgdma_group_member who[2];
	struct bgdma_class_bind c = {
		.number = CLASS, .instance = instance, .rank = rank,
		.member_count = 2, .members = (uintptr_t)who };

	who[rank] = (struct bgdma_group_member){
		.rank = 4, .ctx = stranger->n.at.ctx,
		.incarnation = stranger->n.at.incarnation };
	who[!rank] = t->who[1];
	must(class_bind(&stranger->n, &c));
}

static void rounds(struct __test_metadata *_metadata, struct tree *t)
{
	__u32 i;

	for (i = 0; i < t->count; i++) {
		struct bgdma_desc d = d_tree(&t->m[i], BGDMA_OP_TREE_ALLREDUCE,
					     ADD, 8);

		memset(from_of(&t->m[i]), 0, 8);
		from_of(&t->m[i])[0] = 1;
		tree_begin(&t->m[i], &d);
	}
	for (i = 0; i < t->count; i++) {
		ASSERT_EQ(BGDMA_OK, tree_end(&t->m[i]));
		ASSERT_EQ(t->count, (__u32)into_of(&t->m[i])[0]);
	}
}

TEST_F_TIMEOUT(forged, x2_strangers_are_no_members, 120)
{
	static const struct {
		__u32 rank, instance;
		int code;
	} lies[] = {
		{ 0, INSTANCE + CLASS, BGDMA_E_RIGHTS },
		{ 1, INSTANCE + CLASS, BGDMA_E_RIGHTS },
		{ 0, INSTANCE + CLASS + 1, BGDMA_E_CLASS },
		{ 1, 1, BGDMA_E_CLASS },
	};
	struct member stranger;
	struct bgdma_desc d;
	unsigned int i;
	__u32 by = 99;

	for (i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		node_new(&stranger.n, 4);
		inj_new(&stranger.inj, &stranger.n);
		region_new(&stranger.mem, &stranger.n, INTO + PAGE);
		stranger.rc = counter_new(&stranger.n, REC,
					  BGDMA_COUNTER_NO_UNDERFLOW);
		strange(&self->t, &stranger, lies[i].rank, lies[i].instance);
		d = d_tree(&stranger, lies[i].rank ? BGDMA_OP_TREE_ALLREDUCE :
			   BGDMA_OP_TREE_BCAST, lies[i].rank ? ADD : 0, 8);
		tree_begin(&stranger, &d);
		EXPECT_EQ(lies[i].code, broken(&stranger.n, &by));
		EXPECT_EQ(1, by);
		rounds(_metadata, &self->t);
		while (class_unbind(&stranger.n, CLASS, BGDMA_CLASS_BREAK))
			usleep(1000);
		node_close(&stranger.n);
	}
}

TEST_HARNESS_MAIN
