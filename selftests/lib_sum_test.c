// SPDX-License-Identifier: GPL-2.0
/*
 * libbgdma without any device: sums of floats whose bits do not depend on the order,
 * against MPFR, which knows nothing of how they are made.
 *
 * Proves the library's share of DP-8.
 */
#include <complex.h>
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <mpfr.h>

#include <bgdma/sum.h>

#include "kselftest_harness.h"

#define VALUES_MAX	600
#define EXACT_BITS	4400	/* of any sum of these */

/* ---- Values ------------------------------------------------------------- */

static uint64_t seed = 0x9e3779b97f4a7c15;

static uint64_t any(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed * 0x2545f4914f6cdd1d;
}

static uint64_t below(uint64_t end)
{
	return (any() >> 11) % end;
}

enum taste { ALL_SIZES, ALIKE, TINY, HUGE, WHOLE, CANCELLING, SPECIAL, TASTES };

/* A finite one of exponents in between. */
static double made(int least, int most, int digits)
{
	double x = (double)(any() >> (64 - digits) | 1ULL << (digits - 1));

	x = ldexp(x, least + (int)below((uint64_t)most - (uint64_t)least + 1) -
		  digits);
	return any() & 1 ? -x : x;
}

/*
 * One of the format whose largest exponent is @most, smallest @least, which is that of
 * the smallest value that there is.
 */
static double tasted(enum taste taste, int least, int most, int digits)
{
	static const double special[] = {
		0.0, -0.0, INFINITY, -INFINITY, NAN, 1, -1, 0x1p-149, 0x1p127,
	};

	switch (taste) {
	case ALL_SIZES:
		return made(least + digits, most, digits);
	case TINY:
		return made(least + 1, least + digits, 1 + (int)below(9));
	case HUGE:
		return made(most - 3, most, digits);
	case WHOLE:
		return (double)(int64_t)below(2001) - 1000;
	case SPECIAL:
		return special[below(below(8) ? 2 : 9)];
	default:
		return made(-8, 8, digits);
	}
}

static void fill_f64(double *x, uint64_t n, enum taste taste)
{
	uint64_t i, other;

	for (i = 0; i < n; i++)
		x[i] = tasted(taste, -1074, 1024, 53);
	for (i = 0; taste == CANCELLING && i < n; i++) {
		x[i] = tasted(ALL_SIZES, -1074, 1024, 53);
		other = below(i + 1);
		if (i % 8)
			x[i] = -x[other];
	}
}

static void fill_f32(float *x, uint64_t n, enum taste taste)
{
	uint64_t i, other;

	for (i = 0; i < n; i++)
		x[i] = (float)tasted(taste, -149, 128, 24);
	for (i = 0; taste == CANCELLING && i < n; i++) {
		x[i] = (float)tasted(ALL_SIZES, -149, 128, 24);
		other = below(i + 1);
		if (i % 8)
			x[i] = -x[other];
	}
}

static void shuffle(void *values, uint64_t n, size_t bytes)
{
	char *x = values, aside[sizeof(double)];
	uint64_t other;

	for (; n > 1; n--) {
		other = below(n);
		memcpy(aside, x + (n - 1) * bytes, bytes);
		memcpy(x + (n - 1) * bytes, x + other * bytes, bytes);
		memcpy(x + other * bytes, aside, bytes);
	}
}

/* ---- What they should be ------------------------------------------------ */

#define same(a, b)							\
	(isnan(a) ? isnan(b) : (a) == (b) && signbit(a) == signbit(b))

/*
 * Numbers are added without any rounding. What is no number, and the sign of a zero,
 * is as <bgdma/collective.h> has it.
 */
static bool is_number(const double *x, uint64_t n, double *sum)
{
	uint64_t plus = 0, minus = 0, nans = 0, other = 0, i;

	for (i = 0; i < n; i++) {
		nans += isnan(x[i]);
		plus += x[i] == INFINITY;
		minus += x[i] == -INFINITY;
		other += x[i] != 0 || !signbit(x[i]);
	}
	if (nans || (plus && minus))
		*sum = NAN;
	else if (plus || minus)
		*sum = plus ? INFINITY : -INFINITY;
	else
		*sum = n && !other ? -0.0 : 0.0;
	return !nans && !plus && !minus;
}

static void add_all(mpfr_t sum, const double *x, uint64_t n)
{
	uint64_t i;
	int inexact = 0;

	mpfr_set_zero(sum, 1);
	for (i = 0; i < n; i++)
		inexact |= mpfr_add_d(sum, sum, x[i], MPFR_RNDN);
	if (inexact)
		abort();
}

/* @quantum: each is cut to a multiple of 2^@quantum. */
static void add_cut(mpfr_t sum, const double *x, uint64_t n, long quantum)
{
	uint64_t i;
	mpfr_t part;

	mpfr_init2(part, EXACT_BITS);
	mpfr_set_zero(sum, 1);
	for (i = 0; i < n; i++) {
		mpfr_set_d(part, x[i], MPFR_RNDN);
		mpfr_mul_2si(part, part, -quantum, MPFR_RNDN);
		mpfr_trunc(part, part);
		mpfr_mul_2si(part, part, quantum, MPFR_RNDN);
		mpfr_add(sum, sum, part, MPFR_RNDN);
	}
	mpfr_clear(part);
}

static double round_to(mpfr_t sum, bool single)
{
	return single ? (double)mpfr_get_flt(sum, MPFR_RNDN) :
			mpfr_get_d(sum, MPFR_RNDN);
}

static double expected_exact(const double *x, uint64_t n, bool single)
{
	double result;
	mpfr_t sum;

	if (!is_number(x, n, &result))
		return result;
	mpfr_init2(sum, EXACT_BITS);
	add_all(sum, x, n);
	if (!mpfr_zero_p(sum))
		result = round_to(sum, single);
	mpfr_clear(sum);
	return result;
}

/* The size of the largest, as a power of two at or below it; subnormals' is one. */
static int exponent_of(const double *x, uint64_t n, bool single)
{
	int least = single ? -126 : -1022, most = least, e;
	uint64_t i;

	for (i = 0; i < n; i++) {
		if (x[i] == 0)
			continue;
		e = ilogb(x[i]);
		most = e > most ? e : most;
	}
	return most;
}

static double expected_fast(const double *x, uint64_t n, bool single)
{
	long quantum = exponent_of(x, n, single) + 1 - (single ? 32 : 88);
	double result;
	mpfr_t sum;

	if (!is_number(x, n, &result))
		return result;
	mpfr_init2(sum, EXACT_BITS);
	add_cut(sum, x, n, quantum);
	if (!mpfr_zero_p(sum))
		result = round_to(sum, single);
	mpfr_clear(sum);
	return result;
}

static void widen(const float *from, double *to, uint64_t n)
{
	uint64_t i;

	for (i = 0; i < n; i++)
		to[i] = from[i];
}

/* ---- Exact -------------------------------------------------------------- */

static double exact_f64(const double *x, uint64_t n)
{
	struct bgdma_sum_f64 sum = { { 0 } };

	bgdma_sum_f64_add(&sum, x, n);
	return bgdma_sum_f64_value(&sum);
}

static float exact_f32(const float *x, uint64_t n)
{
	struct bgdma_sum_f32 sum = { { 0 } };

	bgdma_sum_f32_add(&sum, x, n);
	return bgdma_sum_f32_value(&sum);
}

/* In pieces of any size, which are joined along some tree. */
static double pieces_f64(const double *x, uint64_t n)
{
	struct bgdma_sum_f64 sum[8] = { { { 0 } } };
	struct bgdma_operator op = bgdma_sum_f64_operator();
	uint64_t part, i;

	while (n) {
		part = below(n < 40 ? n + 1 : 40);
		bgdma_sum_f64_add(&sum[below(8)], x, part);
		x += part;
		n -= part;
	}
	for (i = 7; i; i--)
		if (bgdma_reduce_local(&op, &sum[i], &sum[below(i)], 1))
			abort();
	return bgdma_sum_f64_value(&sum[0]);
}

static float pieces_f32(const float *x, uint64_t n)
{
	struct bgdma_sum_f32 sum[8] = { { { 0 } } };
	struct bgdma_operator op = bgdma_sum_f32_operator();
	uint64_t part, i;

	while (n) {
		part = below(n < 40 ? n + 1 : 40);
		bgdma_sum_f32_add(&sum[below(8)], x, part);
		x += part;
		n -= part;
	}
	for (i = 7; i; i--)
		if (bgdma_reduce_local(&op, &sum[i], &sum[below(i)], 1))
			abort();
	return bgdma_sum_f32_value(&sum[0]);
}

/* What a way to sum gives, for values of all tastes in any order. */
static void sums_are_f64(struct __test_metadata *_metadata,
			 double (*sum)(const double *x, uint64_t n),
			 double (*again)(const double *x, uint64_t n),
			 double (*expected)(const double *x, uint64_t n, bool single))
{
	double x[VALUES_MAX], wanted;
	unsigned int round;
	uint64_t n;

	for (round = 0; round < 700; round++) {
		n = below(round % 4 ? 40 : VALUES_MAX + 1);
		fill_f64(x, n, round % TASTES);
		wanted = expected(x, n, false);
		ASSERT_TRUE(same(wanted, sum(x, n))) {
			TH_LOG("round %u: %lu: %a not %a", round, n, sum(x, n),
			       wanted);
		}
		shuffle(x, n, sizeof(*x));
		ASSERT_TRUE(same(wanted, again(x, n)));
	}
}

static void sums_are_f32(struct __test_metadata *_metadata,
			 float (*sum)(const float *x, uint64_t n),
			 float (*again)(const float *x, uint64_t n),
			 double (*expected)(const double *x, uint64_t n, bool single))
{
	double wide[VALUES_MAX], wanted;
	float x[VALUES_MAX];
	unsigned int round;
	uint64_t n;

	for (round = 0; round < 700; round++) {
		n = below(round % 4 ? 40 : VALUES_MAX + 1);
		fill_f32(x, n, round % TASTES);
		widen(x, wide, n);
		wanted = expected(wide, n, true);
		ASSERT_TRUE(same(wanted, (double)sum(x, n))) {
			TH_LOG("round %u: %lu: %a not %a", round, n,
			       (double)sum(x, n), wanted);
		}
		shuffle(x, n, sizeof(*x));
		ASSERT_TRUE(same(wanted, (double)again(x, n)));
	}
}

TEST(dp8_exact_f64)
{
	sums_are_f64(_metadata, exact_f64, pieces_f64, expected_exact);
}

TEST(dp8_exact_f32)
{
	sums_are_f32(_metadata, exact_f32, pieces_f32, expected_exact);
}

/* ---- Fast --------------------------------------------------------------- */

static double fast_f64(const double *x, uint64_t n)
{
	double sum = 4711;

	if (bgdma_sum_values(BGDMA_F64, BGDMA_SUM_FAST, x, n, &sum))
		abort();
	return sum;
}

static float fast_f32(const float *x, uint64_t n)
{
	float sum = 4711;

	if (bgdma_sum_values(BGDMA_F32, BGDMA_SUM_FAST, x, n, &sum))
		abort();
	return sum;
}

TEST(dp8_fast_f64)
{
	sums_are_f64(_metadata, fast_f64, fast_f64, expected_fast);
}

TEST(dp8_fast_f32)
{
	sums_are_f32(_metadata, fast_f32, fast_f32, expected_fast);
}

/*
 * Whether @got is as near to the sum as promised: n times the largest size times
 * 2^-@bits, and half a unit of its last place.
 */
static bool is_near(double got, const double *x, uint64_t n, int bits, int digits)
{
	double most = 0;
	mpfr_t error, bound;
	bool near;
	uint64_t i;

	for (i = 0; i < n; i++)
		most = fabs(x[i]) > most ? fabs(x[i]) : most;
	mpfr_init2(error, EXACT_BITS);
	mpfr_init2(bound, EXACT_BITS);
	add_all(error, x, n);
	mpfr_sub_d(error, error, got, MPFR_RNDN);
	mpfr_abs(error, error, MPFR_RNDN);
	mpfr_set_d(bound, most, MPFR_RNDN);
	mpfr_mul_ui(bound, bound, n, MPFR_RNDN);
	mpfr_mul_2si(bound, bound, -bits, MPFR_RNDN);
	mpfr_add_d(bound, bound, got ? ldexp(1, ilogb(got) - digits) : 0,
		   MPFR_RNDN);
	near = mpfr_cmp(error, bound) < 0 || mpfr_zero_p(error);
	mpfr_clears(error, bound, NULL);
	return near;
}

/* The large ones cancel, and of the small ones much is cut off. */
TEST(dp8_fast_error)
{
	double x[VALUES_MAX], wide[VALUES_MAX];
	float y[VALUES_MAX];
	unsigned int round, inexact = 0;
	uint64_t n, i;

	for (round = 0; round < 700; round++) {
		n = 4 * (1 + below(VALUES_MAX / 4));
		for (i = 0; i < n; i++) {
			x[i] = i % 2 ? made(-110, -60, 53) : made(-40, 0, 53);
			y[i] = (float)(i % 2 ? made(-45, -20, 24) :
					       made(-10, 0, 24));
			if (i % 4 == 2) {
				x[i] = -x[i - 2];
				y[i] = -y[i - 2];
			}
		}
		widen(y, wide, n);
		ASSERT_TRUE(is_near(fast_f64(x, n), x, n, 87, 53));
		ASSERT_TRUE(is_near((double)fast_f32(y, n), wide, n, 31, 24));
		inexact += fast_f32(y, n) != exact_f32(y, n) &&
			   fast_f64(x, n) != exact_f64(x, n);
	}
	/* Or the bound is never put to the test. */
	EXPECT_GT(inexact, 500);
}

/* Where no value is more than 35 binary places smaller than the largest it is exact. */
TEST(dp8_fast_is_exact_of_like_values)
{
	double x[VALUES_MAX];
	unsigned int round;
	uint64_t n, i;

	for (round = 0; round < 300; round++) {
		n = 1 + below(VALUES_MAX);
		for (i = 0; i < n; i++)
			x[i] = made(-35, 0, 53);
		x[0] = 1;
		ASSERT_EQ(exact_f64(x, n), fast_f64(x, n));
	}
}

/* ---- A few by hand ------------------------------------------------------ */

#define SUM(...)							\
	exact_f64((const double[]){ __VA_ARGS__ },			\
		  sizeof((const double[]){ __VA_ARGS__ }) / sizeof(double))
#define FAST(...)							\
	fast_f64((const double[]){ __VA_ARGS__ },			\
		 sizeof((const double[]){ __VA_ARGS__ }) / sizeof(double))

TEST(dp8_ties)
{
	EXPECT_EQ(1, SUM(1, 0x1p-53));
	EXPECT_EQ(1 + 0x1p-51, SUM(1 + 0x1p-52, 0x1p-53));
	EXPECT_EQ(1 + 0x1p-52, SUM(1, 0x1p-53, 0x1p-1074));
	EXPECT_EQ(1, SUM(1, 0x1p-53, -0x1p-1074));
	EXPECT_EQ(-1 - 0x1p-52, SUM(-1, -0x1p-53, -0x1p-1074));
	EXPECT_EQ(0x1p-1022, SUM(0x1p-1022, 0x1p-1074, -0x1p-1074));
	EXPECT_EQ(0x1p-1022 - 0x1p-1074, SUM(0x1p-1022, -0x1p-1074));
	EXPECT_EQ(1, FAST(1, 0x1p-53));
	EXPECT_EQ(1 + 0x1p-52, FAST(1, 0x1p-53, 0x1p-87));
	/* The last is below the cut. */
	EXPECT_EQ(1, FAST(1, 0x1p-53, 0x1p-88));
	EXPECT_EQ(1, FAST(1, 0x1p-53, -0x1p-88));
}

TEST(dp8_over_and_back)
{
	double over = 0x1p970;	/* half a unit of DBL_MAX */

	EXPECT_EQ(DBL_MAX, SUM(DBL_MAX, DBL_MAX, -DBL_MAX));
	EXPECT_EQ(DBL_MAX, FAST(DBL_MAX, DBL_MAX, -DBL_MAX));
	EXPECT_EQ(INFINITY, SUM(DBL_MAX, over));
	EXPECT_EQ(INFINITY, FAST(DBL_MAX, over));
	EXPECT_EQ(DBL_MAX, SUM(DBL_MAX, over, -1));
	EXPECT_EQ(-INFINITY, SUM(-DBL_MAX, -over));
	EXPECT_EQ(-DBL_MAX, SUM(-DBL_MAX, -over, 0x1p-1074));
	EXPECT_EQ(-INFINITY, FAST(-DBL_MAX, -DBL_MAX));
	EXPECT_EQ(1, SUM(DBL_MAX, 1, -DBL_MAX));
	/* What is so small beside the largest is not seen. */
	EXPECT_EQ(0, FAST(DBL_MAX, 1, -DBL_MAX));
}

TEST(dp8_no_numbers)
{
	EXPECT_EQ(INFINITY, SUM(INFINITY, -DBL_MAX));
	EXPECT_EQ(INFINITY, FAST(INFINITY, -DBL_MAX));
	EXPECT_EQ(-INFINITY, SUM(1, -INFINITY, -INFINITY));
	EXPECT_EQ(-INFINITY, FAST(1, -INFINITY, -INFINITY));
	EXPECT_TRUE(isnan(SUM(INFINITY, -INFINITY)));
	EXPECT_TRUE(isnan(FAST(INFINITY, 1, -INFINITY)));
	EXPECT_TRUE(isnan(SUM(NAN, 1)));
	EXPECT_TRUE(isnan(FAST(-INFINITY, NAN)));
}

/* Whichever came in, and however it came about. */
TEST(dp8_one_nan)
{
	uint64_t bits[3] = { 0xfff0000000000001, 0x7fffffffffffffff,
			     0x3ff0000000000000 }, sum;
	double x[3], result;

	memcpy(x, bits, sizeof(x));
	result = SUM(x[0], x[1], x[2]);
	memcpy(&sum, &result, sizeof(sum));
	EXPECT_EQ(0x7ff8000000000000, sum);
	result = FAST(x[1], x[0]);
	memcpy(&sum, &result, sizeof(sum));
	EXPECT_EQ(0x7ff8000000000000, sum);
	result = FAST(INFINITY, -INFINITY);
	memcpy(&sum, &result, sizeof(sum));
	EXPECT_EQ(0x7ff8000000000000, sum);
}

TEST(dp8_zeros)
{
	EXPECT_TRUE(same(-0.0, SUM(-0.0, -0.0)));
	EXPECT_TRUE(same(-0.0, FAST(-0.0, -0.0)));
	EXPECT_TRUE(same(0.0, SUM(-0.0, 0.0)));
	EXPECT_TRUE(same(0.0, FAST(0.0, -0.0)));
	EXPECT_TRUE(same(0.0, SUM(-1, 1, -0.0)));
	EXPECT_TRUE(same(0.0, FAST(-1, -0.0, 1)));
	EXPECT_TRUE(same(0.0, exact_f64(NULL, 0)));
	EXPECT_TRUE(same(0.0, fast_f64(NULL, 0)));
	EXPECT_TRUE(same(-1.0, SUM(-1, -0.0)));
}

/* As many as there may be, half of them the other way. */
TEST(dp8_room)
{
	struct bgdma_operator op = bgdma_sum_f64_operator();
	struct bgdma_sum_f64 sum = { { 0 } }, twice;
	const double most[2] = { DBL_MAX, DBL_MAX };
	const double least[1] = { -DBL_MAX };
	unsigned int i;

	bgdma_sum_f64_add(&sum, most, 2);
	for (i = 1; i < 38; i++) {
		twice = sum;
		EXPECT_EQ(0, bgdma_reduce_local(&op, &twice, &sum, 1));
	}
	EXPECT_EQ(INFINITY, bgdma_sum_f64_value(&sum));
	memset(&twice, 0, sizeof(twice));
	bgdma_sum_f64_add(&twice, least, 1);
	for (i = 0; i < 38; i++) {
		struct bgdma_sum_f64 half = twice;

		EXPECT_EQ(0, bgdma_reduce_local(&op, &half, &twice, 1));
	}
	EXPECT_EQ(-INFINITY, bgdma_sum_f64_value(&twice));
	EXPECT_EQ(0, bgdma_reduce_local(&op, &twice, &sum, 1));
	EXPECT_TRUE(same(0.0, bgdma_sum_f64_value(&sum)));
}

/* ---- What there is ------------------------------------------------------ */

TEST(dp8_sum_of_each_element)
{
	const double _Complex x[2] = { 1e308 + 3.0 * I, 1e308 - 4.5 * I };
	const float _Complex y[3] = { 1 + 2.0F * I, 0x1p-24F, -1 };
	double _Complex sum;
	float _Complex sum_f32;

	EXPECT_EQ(0, bgdma_sum_values(BGDMA_C64, BGDMA_SUM_EXACT, x, 2, &sum));
	EXPECT_EQ(INFINITY, creal(sum));
	EXPECT_EQ(-1.5, cimag(sum));
	EXPECT_EQ(0, bgdma_sum_values(BGDMA_C64, BGDMA_SUM_AUTO, x, 2, &sum));
	EXPECT_EQ(-1.5, cimag(sum));
	EXPECT_EQ(0, bgdma_sum_values(BGDMA_C32, BGDMA_SUM_FAST, y, 3,
				      &sum_f32));
	EXPECT_EQ(0x1p-24F, crealf(sum_f32));
	EXPECT_EQ(2, cimagf(sum_f32));
	EXPECT_EQ(0, bgdma_sum_values(BGDMA_C32, BGDMA_SUM_PLAIN, y, 3,
				      &sum_f32));
	EXPECT_EQ(0, crealf(sum_f32));
	EXPECT_EQ(0, bgdma_sum_values(BGDMA_C32, BGDMA_SUM_PLAIN, y, 0,
				      &sum_f32));
	EXPECT_EQ(0, crealf(sum_f32));
}

TEST(dp8_sum_refused)
{
	double x[1] = { 1 }, sum = 2;

	EXPECT_EQ(-EINVAL, bgdma_sum_values(BGDMA_S64, 0, x, 1, &sum));
	EXPECT_EQ(-EINVAL, bgdma_sum_values(BGDMA_F64_AT, 0, x, 1, &sum));
	EXPECT_EQ(-EINVAL, bgdma_sum_values(BGDMA_ELEMENT_COUNT, 0, x, 1, &sum));
	EXPECT_EQ(-EINVAL, bgdma_sum_values(BGDMA_F64, BGDMA_SUMMATION_COUNT, x,
					    1, &sum));
	EXPECT_EQ(-EINVAL, bgdma_sum_values(BGDMA_F64, -1, x, 1, &sum));
	EXPECT_EQ(-EMSGSIZE, bgdma_sum_values(BGDMA_F64, BGDMA_SUM_FAST, x,
					      (1ULL << 39) + 1, &sum));
	EXPECT_EQ(-EMSGSIZE, bgdma_sum_values(BGDMA_F32, BGDMA_SUM_FAST, x,
					      (1ULL << 31) + 1, &sum));
	EXPECT_EQ(2, sum);
}

TEST_HARNESS_MAIN
