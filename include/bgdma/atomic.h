/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The barriers of the shared pages, by purpose, for the library and for programs
 * that share memory of their own with the engine or a peer (DMA-10).
 * Documentation/rings.rst proves why each is where it is; nothing else in the
 * library orders memory.
 *
 * @p is an aligned integer of at most 64 bits. All are safe in any thread, and
 * none fails. Compiler builtins rather than <stdatomic.h>: the words are plain
 * integers of the uapi header, and these macros are the same in C and in C++.
 */
#ifndef BGDMA_ATOMIC_H
#define BGDMA_ATOMIC_H

/* Read an index that the other side owns, before what it covers. */
#define bgdma_load_acquire(p)		__atomic_load_n((p), __ATOMIC_ACQUIRE)
#define bgdma_load_relaxed(p)		__atomic_load_n((p), __ATOMIC_RELAXED)

/* Write an index of our own, after what it covers. */
#define bgdma_store_release(p, v)	__atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define bgdma_store_relaxed(p, v)	__atomic_store_n((p), (v), __ATOMIC_RELAXED)

/* Nothing after it is done before everything before it is visible. */
#define bgdma_full_barrier()		__atomic_thread_fence(__ATOMIC_SEQ_CST)

/*
 * Atomic updates of words that both sides write, full barriers: the first two
 * return what was there before, the third what is there then.
 */
#define bgdma_atomic_or(p, v)		__atomic_fetch_or((p), (v), __ATOMIC_SEQ_CST)
#define bgdma_atomic_and(p, v)		__atomic_fetch_and((p), (v), __ATOMIC_SEQ_CST)
#define bgdma_atomic_add(p, v)		__atomic_add_fetch((p), (v), __ATOMIC_SEQ_CST)

/*
 * A full barrier where an atomic update was the last thing done: on x86 that
 * update was one already, so only the compiler has to be held back.
 */
#if defined(__x86_64__) || defined(__i386__)
#define bgdma_barrier_after_atomic()	__atomic_signal_fence(__ATOMIC_SEQ_CST)
#define bgdma_relax()			__builtin_ia32_pause()
#else
#define bgdma_barrier_after_atomic()	bgdma_full_barrier()
#if defined(__aarch64__)
#define bgdma_relax()			__asm__ volatile("isb" ::: "memory")
#else
#define bgdma_relax()			__asm__ volatile("" ::: "memory")
#endif
#endif

#define bgdma_likely(x)			__builtin_expect(!!(x), 1)
#define bgdma_unlikely(x)		__builtin_expect(!!(x), 0)

#endif /* BGDMA_ATOMIC_H */
