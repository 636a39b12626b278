/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * libbgdma, coll module: sums of floats that are the same, bit by bit, in whatever
 * order and by whomever they are made (DP-8).
 *
 * Collectives make such sums by themselves: enum bgdma_summation. Here is what a
 * process can do alone. It can keep an exact sum, and add to it whenever it has
 * values; sums of several processes become one by a reduction:
 *
 *	struct bgdma_sum_f64 sum = { 0 };
 *	struct bgdma_operator join = bgdma_sum_f64_operator();
 *
 *	bgdma_sum_f64_add(&sum, values, count);
 *	bgdma_coll_allreduce(world, NULL, &sum, 1, &join);
 *	printf("%a\n", bgdma_sum_f64_value(&sum));
 *
 * Nothing here waits, fails for want of memory, or knows of any device.
 */
#ifndef BGDMA_SUM_H
#define BGDMA_SUM_H

#include <bgdma/collective.h>

BGDMA_BEGIN_DECLS

#define BGDMA_SUM_F32_WORDS	8
#define BGDMA_SUM_F64_WORDS	36

/**
 * struct bgdma_sum_f64 - an exact sum of doubles
 * @word: an integer, the lowest word first; all 0: of no values
 *
 * The word-by-word sum, with carries, of two is the sum of both. It has room for 2^39
 * values. Documentation/sums.rst has what is in it.
 */
struct bgdma_sum_f64 {
	uint64_t word[BGDMA_SUM_F64_WORDS];
};

/**
 * struct bgdma_sum_f32 - an exact sum of floats
 * @word: as in struct bgdma_sum_f64
 */
struct bgdma_sum_f32 {
	uint64_t word[BGDMA_SUM_F32_WORDS];
};

/**
 * bgdma_sum_f64_add() - add values to a sum
 * @sum: sum
 * @values: doubles
 * @count: of them
 *
 * Thread safety: any thread; one at a time for each sum.
 */
BGDMA_API void bgdma_sum_f64_add(struct bgdma_sum_f64 *sum,
				 const double *values, uint64_t count);

/**
 * bgdma_sum_f64_value() - what a sum is
 * @sum: sum
 *
 * Thread safety: any thread.
 * Return: the double nearest to it, of two the even one; of no values +0.0.
 */
BGDMA_API double bgdma_sum_f64_value(const struct bgdma_sum_f64 *sum);

/**
 * bgdma_sum_f64_join() - add sums to others
 * @arg: nothing
 * @in: struct bgdma_sum_f64, so many
 * @inout: likewise; out: both
 * @count: of them
 *
 * Thread safety: any thread.
 */
BGDMA_API void bgdma_sum_f64_join(void *arg, const void *in, void *inout,
				  uint64_t count);

/**
 * bgdma_sum_f64_operator() - the reduction that makes one sum of several
 *
 * Its elements are struct bgdma_sum_f64.
 */
static inline struct bgdma_operator bgdma_sum_f64_operator(void)
{
	struct bgdma_operator op;

	memset(&op, 0, sizeof(op));
	op.combine = bgdma_sum_f64_join;
	op.bytes = sizeof(struct bgdma_sum_f64);
	return op;
}

/**
 * bgdma_sum_f32_add() - add values to a sum
 * @sum: sum
 * @values: floats
 * @count: of them
 *
 * Thread safety: any thread; one at a time for each sum.
 */
BGDMA_API void bgdma_sum_f32_add(struct bgdma_sum_f32 *sum,
				 const float *values, uint64_t count);

/**
 * bgdma_sum_f32_value() - what a sum is
 * @sum: sum
 *
 * Thread safety: any thread.
 * Return: the float nearest to it, of two the even one; of no values +0.0.
 */
BGDMA_API float bgdma_sum_f32_value(const struct bgdma_sum_f32 *sum);

/**
 * bgdma_sum_f32_join() - add sums to others
 * @arg: nothing
 * @in: struct bgdma_sum_f32, so many
 * @inout: likewise; out: both
 * @count: of them
 *
 * Thread safety: any thread.
 */
BGDMA_API void bgdma_sum_f32_join(void *arg, const void *in, void *inout,
				  uint64_t count);

/**
 * bgdma_sum_f32_operator() - the reduction that makes one sum of several
 *
 * Its elements are struct bgdma_sum_f32.
 */
static inline struct bgdma_operator bgdma_sum_f32_operator(void)
{
	struct bgdma_operator op;

	memset(&op, 0, sizeof(op));
	op.combine = bgdma_sum_f32_join;
	op.bytes = sizeof(struct bgdma_sum_f32);
	return op;
}

/**
 * bgdma_sum_values() - the sum that a collective makes of values
 * @element: BGDMA_F32, _F64, _C32 or _C64
 * @summation: enum bgdma_summation; BGDMA_SUM_AUTO is _FAST here
 * @values: of that element
 * @count: of them, up to 2^39, of float, if fast, 2^31
 * @sum: out: one
 *
 * But for BGDMA_SUM_PLAIN the same bits as those of a collective whose members have
 * these values together.
 *
 * Thread safety: any thread.
 * Return: 0; -EINVAL another element or summation; -EMSGSIZE too many.
 */
BGDMA_API int bgdma_sum_values(enum bgdma_element element,
			       enum bgdma_summation summation,
			       const void *values, uint64_t count, void *sum);

BGDMA_END_DECLS

#endif /* BGDMA_SUM_H */
