// SPDX-License-Identifier: GPL-2.0
/*
 * libbgdma without any device: integers that stand for floats, and for values with a
 * place, in the reductions of who knows no others. What wins among them is what wins
 * among the elements, as bgdma_reduce_local() has it, which lib_reduce_test proves.
 *
 * Proves the library's share of DP-8.
 */
#include <limits.h>
#include <math.h>

#include "../lib/coll/image.c"	/* NOLINT(bugprone-suspicious-include) */

#include "kselftest_harness.h"

#define ROUNDS		40000
#define ELEMENT_MAX	16

static const enum bgdma_element elements[] = {
	BGDMA_F32, BGDMA_F64, BGDMA_S16_AT, BGDMA_S32_AT, BGDMA_S64_AT,
	BGDMA_F32_AT, BGDMA_F64_AT,
};

#define ELEMENTS	(sizeof(elements) / sizeof(elements[0]))

static uint64_t seed = 0x9e3779b97f4a7c15;

static uint64_t any(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed * 0x2545f4914f6cdd1d >> 16;
}

static bool is_float(enum bgdma_element e)
{
	return e == BGDMA_F32 || e == BGDMA_F64 || e >= BGDMA_F32_AT;
}

static bool is_single(enum bgdma_element e)
{
	return e == BGDMA_F32 || e == BGDMA_F32_AT;
}

static bool has_place(enum bgdma_element e)
{
	return e >= BGDMA_S16_AT;
}

static uint32_t value_bytes(enum bgdma_element e)
{
	if (e == BGDMA_S16_AT)
		return 2;
	return is_single(e) || e == BGDMA_S32_AT ? 4 : 8;
}

/* What is not at the edges is often the same as another. */
static void fill(enum bgdma_element e, char *to)
{
	static const double floats[] = {
		0.0, -0.0, 1, -1, 0x1p-149, -0x1p-149, INFINITY, -INFINITY,
		NAN, 3.5,
	};
	static const int64_t integers[] = {
		0, 1, -1, INT64_MIN, INT64_MAX, INT32_MAX, INT16_MIN, 7,
	};
	static const int32_t places[] = { 0, 1, -1, INT_MIN, INT_MAX, 7 };
	uint64_t bits = any() << 40 ^ any() << 20 ^ any();
	double f64 = floats[any() % 10];
	float f32 = (float)f64;
	int64_t s64 = integers[any() % 8];
	int32_t at = any() % 4 ? places[any() % 6] : (int32_t)any();
	const void *edge = is_single(e) ? (void *)&f32 :
			   is_float(e) ? (void *)&f64 : (void *)&s64;
	uint32_t bytes = value_bytes(e);

	memset(to, 0, ELEMENT_MAX);
	memcpy(to, any() % 4 ? edge : &bits, bytes);
	if (has_place(e))
		memcpy(to + (bytes < 4 ? 4 : bytes), &at, sizeof(at));
}

static bool is_nan(enum bgdma_element e, const char *from)
{
	double f64;
	float f32;

	if (!is_float(e))
		return false;
	memcpy(&f32, from, sizeof(f32));
	if (is_single(e))
		return isnan(f32);
	memcpy(&f64, from, sizeof(f64));
	return isnan(f64);
}

/* Two elements are the same; of a NaN only that it is one. */
static bool same(enum bgdma_element e, const char *a, const char *b)
{
	uint32_t bytes = value_bytes(e), at = bytes < 4 ? 4 : bytes;

	if (has_place(e) && memcmp(a + at, b + at, sizeof(int32_t)) != 0)
		return false;
	return !memcmp(a, b, bytes) || (is_nan(e, a) && is_nan(e, b));
}

static bool by_images(const struct bgdma_operator *op, const char *a, char *b)
{
	const struct bgdma_operator integers = {
		.reduction = image_reduction(op), .element = image_element(op),
	};
	char x[ELEMENT_MAX + 1], y[ELEMENT_MAX + 1];

	/* Aligned to nothing. */
	image_make(op, a, x + 1, 1);
	image_make(op, b, y + 1, 1);
	if (bgdma_reduce_local(&integers, x + 1, y + 1, 1))
		return false;
	image_back(op, y + 1, b, 1);
	return true;
}

static void compare(struct __test_metadata *_metadata,
		    enum bgdma_reduction reduction, enum bgdma_element element)
{
	const struct bgdma_operator op = { .reduction = reduction,
					   .element = element };
	char a[ELEMENT_MAX], b[ELEMENT_MAX], right[ELEMENT_MAX];
	unsigned int i;

	for (i = 0; i < ROUNDS; i++) {
		fill(element, a);
		fill(element, b);
		memcpy(right, b, sizeof(b));
		ASSERT_EQ(0, bgdma_reduce_local(&op, a, right, 1));
		ASSERT_TRUE(by_images(&op, a, b));
		ASSERT_TRUE(same(element, right, b)) {
			TH_LOG("reduction %u of element %u", reduction,
			       element);
		}
	}
}

TEST(dp8_images_of_all)
{
	unsigned int i;

	for (i = 0; i < ELEMENTS; i++) {
		bool place = has_place(elements[i]);

		compare(_metadata, place ? BGDMA_MINLOC : BGDMA_MIN,
			elements[i]);
		compare(_metadata, place ? BGDMA_MAXLOC : BGDMA_MAX,
			elements[i]);
	}
}

/* Each comes back as it was, a NaN as the one that there is. */
TEST(dp8_images_there_and_back)
{
	char a[ELEMENT_MAX], b[ELEMENT_MAX], image[ELEMENT_MAX];
	unsigned int i, j;

	for (i = 0; i < ELEMENTS; i++) {
		struct bgdma_operator op = {
			.reduction = has_place(elements[i]) ? BGDMA_MINLOC :
							      BGDMA_MIN,
			.element = elements[i],
		};

		for (j = 0; j < ROUNDS; j++) {
			fill(elements[i], a);
			image_make(&op, a, image, 1);
			memset(b, 0x5a, sizeof(b));
			image_back(&op, image, b, 1);
			ASSERT_TRUE(same(elements[i], a, b));
		}
	}
}

static uint64_t bits_of_max(double a, double b)
{
	const struct bgdma_operator op = { .reduction = BGDMA_MAX,
					   .element = BGDMA_F64 };
	uint64_t bits;

	by_images(&op, (const char *)&a, (char *)&b);
	memcpy(&bits, &b, sizeof(bits));
	return bits;
}

TEST(dp8_images_of_floats)
{
	EXPECT_EQ(0x7ff8000000000000, bits_of_max(-NAN, INFINITY));
	EXPECT_EQ(0x7ff8000000000000, bits_of_max(1, NAN));
	EXPECT_EQ(0, bits_of_max(-0.0, 0.0));
	EXPECT_EQ(1ULL << 63, bits_of_max(-0.0, -1));
	EXPECT_EQ(1, bits_of_max(0x1p-1074, 0.0));
	EXPECT_EQ(0x7ff0000000000000, bits_of_max(INFINITY, 1e308));
}

/* Of what is an integer already, and of what is none that wins, there are none. */
TEST(dp8_images_that_there_are_not)
{
	struct bgdma_operator op = { .reduction = BGDMA_MAX,
				     .element = BGDMA_S64 };

	EXPECT_EQ(BGDMA_ELEMENT_COUNT, image_element(&op));
	op.reduction = BGDMA_SUM;
	op.element = BGDMA_F64;
	EXPECT_EQ(BGDMA_ELEMENT_COUNT, image_element(&op));
	op.reduction = BGDMA_PROD;
	EXPECT_EQ(BGDMA_ELEMENT_COUNT, image_element(&op));
	op.reduction = BGDMA_MAX;
	EXPECT_EQ(BGDMA_S64, image_element(&op));
	EXPECT_EQ(BGDMA_MAX, image_reduction(&op));
	op.reduction = BGDMA_MINLOC;
	op.element = BGDMA_F64_AT;
	EXPECT_EQ(BGDMA_S128, image_element(&op));
	EXPECT_EQ(BGDMA_MIN, image_reduction(&op));
	op.combine = (bgdma_combine_fn *)(uintptr_t)1;
	EXPECT_EQ(BGDMA_ELEMENT_COUNT, image_element(&op));
}

TEST_HARNESS_MAIN
