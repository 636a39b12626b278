// SPDX-License-Identifier: GPL-2.0
/*
 * A member that binds a number again, in another role, while a collective of the class
 * that had it waits at a fence: the collective ends with that, and is none of the new one.
 */
#include "links.h"
#include "tree.h"

#define BYTES	(8 * PAGE)
#define SEED	5
#define OF_ALL	4U	/* members: root, @M, another, and M's child */
#define M	1U
#define FAR	4U	/* no member: M sends to it */

FIXTURE(role)
{
	struct tree t;
};

/* Over links what was sent is acknowledged when the test lets it. */
FIXTURE_SETUP(role)
{
	struct tree *t = &self->t;
	__u32 i;

	must(setenv("BGDMA_TEST_LINKS", "1", 1));
	partition_new("8x1x1", "");
	t->count = FAR + 1;
	for (i = 0; i < t->count; i++)
		tree_member(t, i);
}

FIXTURE_TEARDOWN(role)
{
	tree_close(&self->t);
}

static void bind_as(struct tree *t, __u32 i, __u32 instance, __u32 first, __u32 count)
{
	must(class_bind(&t->m[i].n, &(struct bgdma_class_bind){
		.number = CLASS, .instance = instance, .rank = i - first,
		.member_count = count, .members = (uintptr_t)&t->who[first] }));
}

/* A broadcast of @m's waits at its fence, for what went to FAR. */
static void fenced(struct tree *t, struct member *m)
{
	struct bgdma_desc d = d_put(FAR, m->mem.handle, 0, t->m[FAR].mem.handle, 0, 64);

	d.dst_ctx = t->m[FAR].n.at.ctx;
	links_cut(FAR, true);
	put_in(&m->inj, &d);
	d = d_tree(m, BGDMA_OP_TREE_BCAST, 0, BYTES);
	d.flags |= BGDMA_DESC_FENCE;
	tree_begin(m, &d);
	must(until(load(&m->inj.kern->head) == 2 &&
		   load(&m->inj.kern->state) == BGDMA_FIFO_BLOCKED) ? 0 : -ETIME);
}

static void broadcast(struct member *m)
{
	struct bgdma_desc d = d_tree(m, BGDMA_OP_TREE_BCAST, 0, BYTES);

	tree_begin(m, &d);
}

/* Begun as the root of a class of its own, it adds nothing to what another's root sends. */
TEST_F_TIMEOUT(role, dp8_x2_a_broadcast_that_another_root_began, 60)
{
	struct member *m = self->t.m;
	__u32 i;

	bind_as(&self->t, M, INSTANCE, M, 1);
	fill(from_of(&m[M]), BYTES, SEED + 1);
	fenced(&self->t, &m[M]);
	must(class_unbind(&m[M].n, CLASS, 0));
	for (i = 0; i < OF_ALL; i++)
		bind_as(&self->t, i, INSTANCE + 1, 0, OF_ALL);
	fill(from_of(&m[0]), BYTES, SEED);
	broadcast(&m[0]);
	broadcast(&m[2]);
	/* It has gone past M when the third has it: to each child alike. */
	EXPECT_EQ(BGDMA_OK, tree_end(&m[0]));
	EXPECT_EQ(BGDMA_OK, tree_end(&m[2]));
	EXPECT_TRUE(filled(into_of(&m[2]), BYTES, SEED));

	links_cut(FAR, false);
	EXPECT_EQ(BGDMA_E_CLASS, outcome(&m[M].inj, 1));
	EXPECT_EQ(BGDMA_E_CLASS, tree_end(&m[M]));
	must(clear_error(&m[M].n, BGDMA_KIND_INJ_FIFO, m[M].inj.id, 0));
	must(clear_error(&m[M].n, REC, BGDMA_HANDLE_SLOT(m[M].rc), 0));

	/* Who takes part has what the root sent. */
	broadcast(&m[M]);
	broadcast(&m[3]);
	EXPECT_EQ(BGDMA_OK, tree_end(&m[M]));
	EXPECT_EQ(BGDMA_OK, tree_end(&m[3]));
	EXPECT_TRUE(filled(into_of(&m[M]), BYTES, SEED));
	EXPECT_TRUE(filled(into_of(&m[3]), BYTES, SEED));
}

TEST_HARNESS_MAIN
