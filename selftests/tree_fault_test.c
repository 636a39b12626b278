// SPDX-License-Identifier: GPL-2.0
/*
 * Binding and unbinding a class with faults inside, see fault.h: what failed leaves
 * nothing behind.
 */
#include "kselftest_harness.h"
#include "fault_fixture.h"
#include "tree.h"

#define OTHER	5	/* of its number nobody has one */
#define ADD64	BGDMA_TREE_COMBINE(BGDMA_TREE_ADD, BGDMA_TREE_U64)

static struct tree t;
static __u32 early;	/* who has contributed, and waits for the other */

static int call_bind(void)
{
	return tree_bind(&t, 0, OTHER, 4);
}

static int call_unbind(void)
{
	int ret;

	/* Its greetings, and the word that it leaves, may be on their way yet. */
	while ((ret = class_unbind(&t.m[0].n, OTHER, 0)) == -EBUSY)
		sched_yield();
	return ret;
}

static void prepare_bind(void)
{
	must(call_bind());
}

static void undo_bind(void)
{
	must(call_unbind());
}

/* ---- While a contribution is under way ------------------------------------- */

static void contribute(__u32 i)
{
	struct member *m = &t.m[i];
	struct bgdma_desc d = d_tree(m, BGDMA_OP_TREE_ALLREDUCE, ADD64, 8);
	__u64 word = i + 1;

	memcpy(from_of(m), &word, sizeof(word));
	tree_begin(m, &d);
	must(until(load(&m->inj.kern->done) == 1) ? 0 : -ETIME);
}

/* With members of its own, each: what happened leaves traces in their FIFOs. */
static void prepare_under_way(void)
{
	tree_join(&t, 2, 4);
	contribute(early);
}

static void leave(void)
{
	__u32 i;

	tree_close(&t);
	for (i = 0; i < t.count; i++)
		must(munmap(t.m[i].mem.p, t.m[i].mem.bytes) ? -errno : 0);
}

/* It comes to its end, and to the right one. */
static void undo_under_way(void)
{
	__u64 sum;
	__u32 i;

	contribute(!early);
	for (i = 0; i < 2; i++) {
		must(tree_end(&t.m[i]) ? -EDOM : 0);
		memcpy(&sum, into_of(&t.m[i]), sizeof(sum));
		must(sum == 3 ? 0 : -EDOM);
	}
	leave();
}

static int call_bind_early(void)
{
	return tree_bind(&t, early, OTHER, 4);
}

static void undo_bind_early(void)
{
	must(until(class_unbind(&t.m[early].n, OTHER, 0) != -EBUSY) ? 0 : -ETIME);
	undo_under_way();
}

static int call_unbind_early(void)
{
	int ret = class_unbind(&t.m[early].n, CLASS, 0);

	return ret == -EBUSY ? 0 : ret ?: -EDOM;
}

/* It breaks; what has been said of that is under way. */
static int call_break(void)
{
	int ret = class_unbind(&t.m[early].n, CLASS, BGDMA_CLASS_BREAK);

	return ret == -EBUSY ? 0 : ret;
}

/* Both hear that nothing comes of it. */
static void undo_break(void)
{
	struct bgdma_event event;

	must(tree_end(&t.m[early]) == BGDMA_E_CANCELLED ? 0 : -EDOM);
	must(event_wait(&t.m[!early].n, BGDMA_EVENT_CLASS, &event) ? 0 : -ETIME);
	must(event.code == BGDMA_E_CANCELLED ? 0 : -EDOM);
	leave();
}

/* ---- All of it --------------------------------------------------------------- */

/* Two members of a class, and one of them binds another. */
static void world_new(void)
{
	tree_new(&t, 2, 0);
}

FIXTURE_FAULT(world_new)

TEST_F_TIMEOUT(fault, dma8_binding_leaves_nothing, 300)
{
	static const struct faulty bind = FAULTY("CLASS_BIND", NULL, call_bind,
						 undo_bind);
	static const struct faulty unbind = FAULTY("CLASS_UNBIND", prepare_bind,
						   call_unbind, NULL);

	/* The argument, two members, those of all, the class, posts, four slots. */
	EXPECT_LE(9, fault_all(&bind));
	EXPECT_LT(0, fault_all(&unbind));
	tree_close(&t);
}

TEST_F_TIMEOUT(fault, dma8_a_contribution_is_under_way, 300)
{
	static const struct faulty calls[] = {
		FAULTY("CLASS_BIND of another", prepare_under_way,
		       call_bind_early, undo_bind_early),
		FAULTY("CLASS_UNBIND too early", prepare_under_way,
		       call_unbind_early, undo_under_way),
		FAULTY("CLASS_UNBIND that breaks", prepare_under_way, call_break,
		       undo_break),
	};
	size_t i;

	leave();
	for (early = 0; early < 2; early++)
		for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
			EXPECT_LT(0, fault_all(&calls[i]));
}

TEST_HARNESS_MAIN
