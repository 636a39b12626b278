// SPDX-License-Identifier: GPL-2.0
/*
 * Binding and unbinding a class with faults inside, see fault.h: what failed leaves
 * nothing behind.
 */
#include "kselftest_harness.h"
#include "fault.h"
#include "tree.h"

#define OTHER	5	/* of its number nobody has one */

static struct tree t;

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

/* Two members of a class, and one of them binds another. */
FIXTURE(fault)
{
	int unused;
};

FIXTURE_SETUP(fault)
{
	const char *why = faults_begin();

	if (why)
		SKIP(return, "%s", why);
	tree_new(&t, 2, 0);
}

FIXTURE_TEARDOWN(fault)
{
	tree_close(&t);
}

TEST_F_TIMEOUT(fault, dma8_binding_leaves_nothing, 300)
{
	static const struct faulty bind = FAULTY("CLASS_BIND", NULL, call_bind,
						 undo_bind);
	static const struct faulty unbind = FAULTY("CLASS_UNBIND", prepare_bind,
						   call_unbind, NULL);

	/* The argument, two members, those of all, the class, posts, four slots. */
	EXPECT_LE(9, fault_all(&bind));
	EXPECT_LT(0, fault_all(&unbind));
}

TEST_HARNESS_MAIN
