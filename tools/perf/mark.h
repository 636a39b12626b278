/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Marker instructions, with which a program tells the plugin where to count.
 *
 * A marker is an 8-byte NOP, nopl disp32(%rax,%rax,1), with a displacement that
 * no compiler makes. It does nothing, costs one instruction, which is not
 * counted, and so may stay in when nobody counts.
 */
#ifndef BGDMA_PERF_MARK_H
#define BGDMA_PERF_MARK_H

#define MARK_MAGIC	0xbd6d6100U

enum mark {
	MARK_BEGIN	= 1,	/* a region begins, on all processors */
	MARK_END	= 2,	/* it ends */
	MARK_WAIT	= 3,	/* this processor starts to spin */
	MARK_GO		= 4	/* it has found what it waited for */
};

#ifdef __x86_64__
#define MARK(code)							\
	__asm__ volatile(".byte 0x0f, 0x1f, 0x84, 0x00\n\t"		\
			 ".long %c0" :: "i"(MARK_MAGIC | (code)) : "memory")
#else
#define MARK(code)	__asm__ volatile("" ::: "memory")
#endif

#endif /* BGDMA_PERF_MARK_H */
