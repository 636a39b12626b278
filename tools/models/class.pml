/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A class is bound while the context of a neighbour ends. Who ends is not found any
 * more, and then has all classes told that it was next to; who binds has its class
 * there, and then greets. One of both must find the other, or the class waits for a
 * neighbour who never comes.
 */
#define LOCS	2
#define PROCS	2
#define MSGS	2
#define LOCKS	1

#define CLASS	0	/* bgdma_ctx.classes, n_classes */
#define GONE	1	/* the context is not in partition.ctxs any more */

/* Barriers */
#define BIND_BARRIER	1	/* bgdma_class_bind() */
#define END_BARRIER	2	/* bgdma_ctx_detach(): its bgdma_busy_put() */

#include "memory.pml"

bool broken;

proctype binder(byte me)
{
	byte gone;

	store(CLASS, 1);
	barrier(BIND_BARRIER);
	load(GONE, gone);
	if
	:: gone -> broken = true
	:: else
	fi
}

proctype ender(byte me)
{
	byte there;

	store(GONE, 1);
	barrier(END_BARRIER);
	load(CLASS, there);
	if
	:: there -> broken = true
	:: else
	fi
}

init {
	atomic { run binder(0); run ender(1) }
	timeout;
	assert(broken)
}
