// SPDX-License-Identifier: GPL-2.0
/*
 * libbgdma without any device: what reductions do with elements, each against a
 * plain computation of the test's own.
 *
 * Proves the library's share of DP-8.
 */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include <bgdma/collective.h>

#include "kselftest_harness.h"

#define ELEMENT_MAX	16
#define EDGES_MAX	16
#define COUNT		1999
#define GUARD		32

#define wide		unsigned __int128

/* ---- Elements ----------------------------------------------------------- */

enum kind { SIGNED, UNSIGNED, FLOAT, COMPLEX };

/*
 * @part: bytes of a value, or of half a complex one
 * @at: where the place is; 0: there is none
 */
static const struct element {
	uint32_t bytes;
	uint32_t part;
	enum kind kind;
	uint32_t at;
} elements[BGDMA_ELEMENT_COUNT] = {
	[BGDMA_S8]     = { 1, 1, SIGNED, 0 },
	[BGDMA_U8]     = { 1, 1, UNSIGNED, 0 },
	[BGDMA_S16]    = { 2, 2, SIGNED, 0 },
	[BGDMA_U16]    = { 2, 2, UNSIGNED, 0 },
	[BGDMA_S32]    = { 4, 4, SIGNED, 0 },
	[BGDMA_U32]    = { 4, 4, UNSIGNED, 0 },
	[BGDMA_S64]    = { 8, 8, SIGNED, 0 },
	[BGDMA_U64]    = { 8, 8, UNSIGNED, 0 },
	[BGDMA_S128]   = { 16, 16, SIGNED, 0 },
	[BGDMA_U128]   = { 16, 16, UNSIGNED, 0 },
	[BGDMA_F32]    = { 4, 4, FLOAT, 0 },
	[BGDMA_F64]    = { 8, 8, FLOAT, 0 },
	[BGDMA_C32]    = { 8, 4, COMPLEX, 0 },
	[BGDMA_C64]    = { 16, 8, COMPLEX, 0 },
	[BGDMA_S16_AT] = { 8, 2, SIGNED, 4 },
	[BGDMA_S32_AT] = { 8, 4, SIGNED, 4 },
	[BGDMA_S64_AT] = { 16, 8, SIGNED, 8 },
	[BGDMA_F32_AT] = { 8, 4, FLOAT, 4 },
	[BGDMA_F64_AT] = { 16, 8, FLOAT, 8 },
};

static bool is_defined(unsigned int reduction, unsigned int element)
{
	const struct element *e = &elements[element];

	if (e->at)
		return reduction >= BGDMA_MINLOC;
	if (e->kind == COMPLEX)
		return reduction <= BGDMA_PROD;
	if (e->kind == FLOAT)
		return reduction <= BGDMA_MAX;
	return reduction <= BGDMA_LXOR;
}

static struct bgdma_operator operator_of(unsigned int reduction,
					 unsigned int element)
{
	return (struct bgdma_operator){
		.reduction = reduction, .element = element,
	};
}

/* Bits of an integer of so many bytes, and back. */
static wide load(const void *from, uint32_t bytes)
{
	const uint8_t *byte = from;
	wide value = 0;
	uint32_t i;

	for (i = 0; i < bytes; i++)
		value |= (wide)byte[i] << 8 * i;
	return value;
}

static void store(void *to, wide value, uint32_t bytes)
{
	uint8_t *byte = to;
	uint32_t i;

	for (i = 0; i < bytes; i++)
		byte[i] = (uint8_t)(value >> 8 * i);
}

static int32_t load_at(const struct element *e, const uint8_t *from)
{
	int32_t at;

	memcpy(&at, from + e->at, sizeof(at));
	return at;
}

/* All bits that are not of the significand, but the sign. */
static wide exponent_mask(uint32_t bytes)
{
	return bytes == 4 ? 0x7f800000 : 0x7ffULL << 52;
}

static bool is_nan(const void *from, uint32_t bytes)
{
	wide magnitude = load(from, bytes) & ~((wide)1 << (8 * bytes - 1));

	return magnitude > exponent_mask(bytes);
}

static bool same_float(const void *a, const void *b, uint32_t bytes)
{
	return !memcmp(a, b, bytes) || (is_nan(a, bytes) && is_nan(b, bytes));
}

/* Which NaN it is does not matter, nor what is between a value and its place. */
static bool same(const struct element *e, const uint8_t *a, const uint8_t *b)
{
	if (e->at && load_at(e, a) != load_at(e, b))
		return false;
	if (e->kind < FLOAT)
		return !memcmp(a, b, e->part);
	if (e->kind == COMPLEX &&
	    !same_float(a + e->part, b + e->part, e->part))
		return false;
	return same_float(a, b, e->part);
}

/* ---- Values ------------------------------------------------------------- */

static uint64_t seed = 0x9e3779b97f4a7c15;

static uint64_t any(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed * 0x2545f4914f6cdd1d >> 16;
}

static unsigned int integer_edges(uint32_t bytes, wide *edges)
{
	wide top = (wide)1 << (8 * bytes - 1);
	const wide all[] = {
		0, 1, 2, 3, top, top - 1, top + 1, -(wide)1, -(wide)2,
		(wide)1 << 4 * bytes, ((wide)1 << 4 * bytes) - 1,
	};

	memcpy(edges, all, sizeof(all));
	return sizeof(all) / sizeof(all[0]);
}

/* With either sign: 0, the smallest, one, the largest, infinity, NaN. */
static unsigned int float_edges(uint32_t bytes, wide *edges)
{
	wide infinity = exponent_mask(bytes);
	wide one = bytes == 4 ? 0x3f800000 : 0x3ffULL << 52;
	wide quiet = infinity | infinity >> 1;
	const wide all[] = { 0, 1, one, infinity - 1, infinity, quiet };
	unsigned int i, n = sizeof(all) / sizeof(all[0]);

	for (i = 0; i < n; i++) {
		edges[i] = all[i];
		edges[n + i] = all[i] | (wide)1 << (8 * bytes - 1);
	}
	return 2 * n;
}

static unsigned int edges_of(const struct element *e, wide *edges)
{
	return e->kind < FLOAT ? integer_edges(e->part, edges) :
				 float_edges(e->part, edges);
}

/* A small number, so that products are of neither too many nor too few digits. */
static wide any_float(uint32_t bytes)
{
	double f64 = ((double)any() - 0x1p47) / 0x1p40;
	float f32 = (float)f64;

	return load(bytes == 4 ? (void *)&f32 : (void *)&f64, bytes);
}

static wide any_value(const struct element *e)
{
	wide edges[EDGES_MAX];
	unsigned int count = edges_of(e, edges);

	switch (any() % 4) {
	case 0:
		return edges[any() % count];
	case 1:
		if (e->kind >= FLOAT)
			return any_float(e->part);
		return any() % 8;
	default:
		return (wide)any() << 96 | (wide)any() << 48 | any();
	}
}

static void fill(const struct element *e, uint8_t *to)
{
	static const int32_t places[] = { -1, 0, 1, INT_MIN, INT_MAX, 7 };
	int32_t at = places[any() % 6];

	memset(to, (int)any(), e->bytes);
	store(to, any_value(e), e->part);
	if (e->kind == COMPLEX)
		store(to + e->part, any_value(e), e->part);
	if (e->at)
		memcpy(to + e->at, &at, sizeof(at));
}

/* Each edge with each, then random ones. */
static void fill_pairs(const struct element *e, uint8_t *in, uint8_t *inout,
		       uint32_t count)
{
	wide edges[EDGES_MAX];
	uint32_t i, n = edges_of(e, edges);

	for (i = 0; i < count; i++) {
		fill(e, in + i * e->bytes);
		fill(e, inout + i * e->bytes);
		if (i >= n * n)
			continue;
		store(in + i * e->bytes, edges[i / n], e->part);
		store(inout + i * e->bytes, edges[i % n], e->part);
	}
}

/* ---- What it should be -------------------------------------------------- */

/* A larger value has a larger one. Zeros are two, NaNs more than all. */
static wide rank_of(const struct element *e, const uint8_t *from)
{
	wide value = load(from, e->part);
	wide top = (wide)1 << (8 * e->part - 1);

	switch (e->kind) {
	case SIGNED:
		return value ^ top;
	case UNSIGNED:
		return value;
	default:
		return value & top ? (top << 1) - 1 - value : value | top;
	}
}

static wide product(wide a, wide b)
{
	wide sum = 0;

	for (; b; b >>= 1, a <<= 1)
		if (b & 1)
			sum += a;
	return sum;
}

static wide expected_bits(unsigned int reduction, wide a, wide b)
{
	const wide results[BGDMA_REDUCTION_COUNT] = {
		[BGDMA_SUM]  = a + b,
		[BGDMA_PROD] = product(a, b),
		[BGDMA_BAND] = a & b,
		[BGDMA_BOR]  = a | b,
		[BGDMA_BXOR] = a ^ b,
		[BGDMA_LAND] = a && b,
		[BGDMA_LOR]  = a || b,
		[BGDMA_LXOR] = !a != !b,
	};

	return results[reduction];
}

static bool is_zero(const struct element *e, wide rank)
{
	wide zero = (wide)1 << (8 * e->part - 1);

	return rank == zero || rank == zero - 1;
}

static bool a_wins(unsigned int reduction, const struct element *e,
		   const uint8_t *a, const uint8_t *b)
{
	bool least = reduction == BGDMA_MIN || reduction == BGDMA_MINLOC;
	bool nan_a = e->kind == FLOAT && is_nan(a, e->part);
	bool nan_b = e->kind == FLOAT && is_nan(b, e->part);
	wide rank_a = rank_of(e, a), rank_b = rank_of(e, b);
	bool equal = rank_a == rank_b || (nan_a && nan_b) ||
		     (e->kind == FLOAT && is_zero(e, rank_a) &&
		      is_zero(e, rank_b));

	if (nan_a != nan_b)
		return nan_a;
	if (e->at && equal && load_at(e, a) != load_at(e, b))
		return load_at(e, a) < load_at(e, b);
	return least ? rank_a < rank_b : rank_a > rank_b;
}

/* volatile: each is rounded, whatever the compiler may otherwise do. */
#define EXPECTED_FLOAT(type, complex_type)				\
static void product_##type(const type a[2], const type b[2],		\
			   type result[2])				\
{									\
	volatile type ac = a[0] * b[0], bd = a[1] * b[1];		\
	volatile type ad = a[0] * b[1], bc = a[1] * b[0];		\
	complex_type x, y;						\
									\
	result[0] = ac - bd;						\
	result[1] = ad + bc;						\
	if (!isnan(result[0]) || !isnan(result[1]))			\
		return;							\
	/* C knows better where there are infinities. */		\
	memcpy(&x, a, sizeof(x));					\
	memcpy(&y, b, sizeof(y));					\
	x *= y;								\
	memcpy(result, &x, sizeof(x));					\
}									\
									\
static void expected_##type(unsigned int reduction,			\
			    const struct element *e, const void *in,	\
			    void *inout)				\
{									\
	type a[2] = { 0, 0 }, b[2] = { 0, 0 }, result[2] = { 0, 0 };	\
									\
	memcpy(a, in, e->bytes);					\
	memcpy(b, inout, e->bytes);					\
	if (reduction == BGDMA_SUM) {					\
		result[0] = a[0] + b[0];				\
		result[1] = a[1] + b[1];				\
	} else if (e->kind == FLOAT) {					\
		result[0] = a[0] * b[0];				\
	} else {							\
		product_##type(a, b, result);				\
	}								\
	memcpy(inout, result, e->bytes);				\
}

EXPECTED_FLOAT(float, float _Complex)
EXPECTED_FLOAT(double, double _Complex)

static void expect(unsigned int reduction, const struct element *e,
		   const uint8_t *in, uint8_t *inout)
{
	if (reduction == BGDMA_MIN || reduction == BGDMA_MAX || e->at) {
		if (a_wins(reduction, e, in, inout))
			memcpy(inout, in, e->bytes);
		return;
	}
	if (e->kind < FLOAT)
		store(inout, expected_bits(reduction, load(in, e->part),
					   load(inout, e->part)), e->part);
	else if (e->part == sizeof(float))
		expected_float(reduction, e, in, inout);
	else
		expected_double(reduction, e, in, inout);
}

/* ---- Each that there is ------------------------------------------------- */

/* Of an odd size: what is at the end is aligned to nothing. */
static uint8_t buf_in[COUNT * ELEMENT_MAX + 1];
static uint8_t buf_inout[COUNT * ELEMENT_MAX + GUARD];
static uint8_t expected[COUNT * ELEMENT_MAX + GUARD];
static uint8_t before[COUNT * ELEMENT_MAX];

/* In the place of @inout. */
static void expect_all(unsigned int reduction, const struct element *e,
		       const uint8_t *in, uint8_t *inout, uint32_t count)
{
	uint32_t i;

	for (i = 0; i < count; i++)
		expect(reduction, e, in + i * e->bytes, inout + i * e->bytes);
}

/* The first that is wrong, or @count. */
static uint32_t first_other(const struct element *e, const uint8_t *a,
			    const uint8_t *b, uint32_t count)
{
	uint32_t i;

	for (i = 0; i < count; i++)
		if (!same(e, a + i * e->bytes, b + i * e->bytes))
			break;
	return i;
}

static void test_values(struct __test_metadata *_metadata,
			unsigned int reduction, unsigned int element)
{
	struct bgdma_operator op = operator_of(reduction, element);
	const struct element *e = &elements[element];
	uint32_t bytes = COUNT * e->bytes;

	fill_pairs(e, buf_in, buf_inout, COUNT);
	memcpy(before, buf_in, bytes);
	memcpy(expected, buf_inout, bytes);
	expect_all(reduction, e, buf_in, expected, COUNT);
	EXPECT_EQ(0, bgdma_reduce_local(&op, buf_in, buf_inout, COUNT));
	EXPECT_EQ(0, memcmp(before, buf_in, bytes));
	EXPECT_EQ(COUNT, first_other(e, buf_inout, expected, COUNT)) {
		TH_LOG("reduction %u of element %u", reduction, element);
	}
}

/* Of so many, which lie at odd addresses, and of nothing around them. */
static void test_count(struct __test_metadata *_metadata,
		       unsigned int reduction, unsigned int element,
		       uint32_t count)
{
	struct bgdma_operator op = operator_of(reduction, element);
	const struct element *e = &elements[element];
	uint32_t bytes = count * e->bytes;
	uint8_t *in = buf_in + sizeof(buf_in) - bytes;
	uint8_t *inout = buf_inout + 1;

	memset(buf_inout, 0x5a, bytes + GUARD);
	fill_pairs(e, in, inout, count);
	memcpy(expected, buf_inout, bytes + GUARD);
	expect_all(reduction, e, in, expected + 1, count);
	EXPECT_EQ(0, bgdma_reduce_local(&op, in, inout, count));
	EXPECT_EQ(count, first_other(e, inout, expected + 1, count)) {
		TH_LOG("reduction %u of element %u, %u of them", reduction,
		       element, count);
	}
	EXPECT_EQ(0x5a, buf_inout[0]);
	EXPECT_EQ(0, memcmp(expected + 1 + bytes, inout + bytes, GUARD - 1));
}

static void test_counts(struct __test_metadata *_metadata,
			unsigned int reduction, unsigned int element)
{
	static const uint32_t counts[] = {
		0, 1, 2, 3, 31, 63, 64, 65, 127, 128, 129, 200,
	};
	unsigned int i;

	for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		test_count(_metadata, reduction, element, counts[i]);
}

static void test_commutes(struct __test_metadata *_metadata,
			  unsigned int reduction, unsigned int element)
{
	struct bgdma_operator op = operator_of(reduction, element);
	const struct element *e = &elements[element];
	uint32_t bytes = COUNT * e->bytes;

	fill_pairs(e, buf_in, buf_inout, COUNT);
	memcpy(expected, buf_in, bytes);
	memcpy(before, buf_inout, bytes);
	EXPECT_EQ(0, bgdma_reduce_local(&op, buf_in, buf_inout, COUNT));
	EXPECT_EQ(0, bgdma_reduce_local(&op, before, expected, COUNT));
	EXPECT_EQ(COUNT, first_other(e, buf_inout, expected, COUNT)) {
		TH_LOG("reduction %u of element %u", reduction, element);
	}
}

static void each_pair(struct __test_metadata *_metadata,
		      void (*test)(struct __test_metadata *_metadata,
				   unsigned int reduction,
				   unsigned int element))
{
	unsigned int reduction, element;

	for (reduction = 0; reduction < BGDMA_REDUCTION_COUNT; reduction++)
		for (element = 0; element < BGDMA_ELEMENT_COUNT; element++)
			if (is_defined(reduction, element))
				test(_metadata, reduction, element);
}

TEST(dp8_values)
{
	each_pair(_metadata, test_values);
}

TEST(dp8_unaligned)
{
	each_pair(_metadata, test_counts);
}

TEST(dp8_commutes)
{
	each_pair(_metadata, test_commutes);
}

/* ---- A few by hand ------------------------------------------------------ */

static bool reduces(unsigned int reduction, unsigned int element, wide a,
		    wide b, wide wanted)
{
	struct bgdma_operator op = operator_of(reduction, element);
	uint32_t bytes = elements[element].bytes;
	uint8_t in[ELEMENT_MAX] = { 0 }, inout[ELEMENT_MAX] = { 0 };
	uint8_t result[ELEMENT_MAX] = { 0 };

	store(in, a, bytes);
	store(inout, b, bytes);
	store(result, wanted, bytes);
	return !bgdma_reduce_local(&op, in, inout, 1) &&
	       !memcmp(inout, result, sizeof(result));
}

TEST(dp8_integers)
{
	const wide top = (wide)1 << 127;

	EXPECT_TRUE(reduces(BGDMA_SUM, BGDMA_S8, 127, 1, -128));
	EXPECT_TRUE(reduces(BGDMA_SUM, BGDMA_S32, INT_MIN, -1, INT_MAX));
	EXPECT_TRUE(reduces(BGDMA_SUM, BGDMA_U64, UINT64_MAX, 2, 1));
	EXPECT_TRUE(reduces(BGDMA_SUM, BGDMA_U128, -1, 1, 0));
	EXPECT_TRUE(reduces(BGDMA_PROD, BGDMA_U16, 65535, 65535, 1));
	EXPECT_TRUE(reduces(BGDMA_PROD, BGDMA_S16, -32768, -1, -32768));
	EXPECT_TRUE(reduces(BGDMA_PROD, BGDMA_S64, INT64_MIN, -1, INT64_MIN));
	EXPECT_TRUE(reduces(BGDMA_MIN, BGDMA_S8, -1, 1, -1));
	EXPECT_TRUE(reduces(BGDMA_MIN, BGDMA_U8, 255, 1, 1));
	EXPECT_TRUE(reduces(BGDMA_MAX, BGDMA_S128, -1, 1, 1));
	EXPECT_TRUE(reduces(BGDMA_MAX, BGDMA_U128, -1, 1, -1));
	EXPECT_TRUE(reduces(BGDMA_LAND, BGDMA_S32, 2, 4, 1));
	EXPECT_TRUE(reduces(BGDMA_LAND, BGDMA_U8, 0, 4, 0));
	EXPECT_TRUE(reduces(BGDMA_LOR, BGDMA_S128, top, 0, 1));
	EXPECT_TRUE(reduces(BGDMA_LXOR, BGDMA_U64, 2, 4, 0));
	EXPECT_TRUE(reduces(BGDMA_LXOR, BGDMA_U64, 0, 1ULL << 63, 1));
}

static double reduce_f64(unsigned int reduction, double in, double inout)
{
	struct bgdma_operator op = operator_of(reduction, BGDMA_F64);

	return bgdma_reduce_local(&op, &in, &inout, 1) ? 4711 : inout;
}

TEST(dp8_floats)
{
	EXPECT_TRUE(signbit(reduce_f64(BGDMA_MIN, 0.0, -0.0)));
	EXPECT_TRUE(signbit(reduce_f64(BGDMA_MIN, -0.0, 0.0)));
	EXPECT_FALSE(signbit(reduce_f64(BGDMA_MAX, 0.0, -0.0)));
	EXPECT_FALSE(signbit(reduce_f64(BGDMA_MAX, -0.0, 0.0)));
	EXPECT_TRUE(isnan(reduce_f64(BGDMA_MAX, NAN, INFINITY)));
	EXPECT_TRUE(isnan(reduce_f64(BGDMA_MIN, -INFINITY, NAN)));
	EXPECT_TRUE(reduce_f64(BGDMA_MIN, -INFINITY, 1) == -INFINITY);
	EXPECT_TRUE(reduce_f64(BGDMA_PROD, 1.5, -3) == -4.5);
}

struct f32_at {
	float value;
	int32_t at;
};

/* The place that wins. */
static int32_t reduce_at(unsigned int reduction, float value_in, int32_t at_in,
			 float value, int32_t at)
{
	struct bgdma_operator op = operator_of(reduction, BGDMA_F32_AT);
	struct f32_at in = { value_in, at_in }, inout = { value, at };

	return bgdma_reduce_local(&op, &in, &inout, 1) ? 4711 : inout.at;
}

TEST(dp8_places)
{
	EXPECT_EQ(9, reduce_at(BGDMA_MINLOC, 2, 1, 1, 9));
	EXPECT_EQ(1, reduce_at(BGDMA_MAXLOC, 2, 1, 1, 9));
	EXPECT_EQ(1, reduce_at(BGDMA_MAXLOC, 2, 9, 2, 1));
	EXPECT_EQ(1, reduce_at(BGDMA_MINLOC, 0.0F, 1, -0.0F, 2));
	EXPECT_EQ(2, reduce_at(BGDMA_MINLOC, -INFINITY, 1, NAN, 2));
	EXPECT_EQ(3, reduce_at(BGDMA_MAXLOC, NAN, 4, NAN, 3));
}

/* ---- None there is ------------------------------------------------------ */

TEST(dp8_element_bytes)
{
	unsigned int element;

	for (element = 0; element < BGDMA_ELEMENT_COUNT; element++)
		EXPECT_EQ(elements[element].bytes,
			  bgdma_element_bytes(element));
	EXPECT_EQ(sizeof(double _Complex), bgdma_element_bytes(BGDMA_C64));
	EXPECT_EQ(sizeof(struct f32_at), bgdma_element_bytes(BGDMA_F32_AT));
	EXPECT_EQ(0, bgdma_element_bytes(BGDMA_ELEMENT_COUNT));
	EXPECT_EQ(0, bgdma_element_bytes(UINT_MAX));
}

static int reduce_nothing(unsigned int reduction, unsigned int element)
{
	struct bgdma_operator op = operator_of(reduction, element);

	return bgdma_reduce_local(&op, NULL, NULL, 0);
}

TEST(dp8_table)
{
	unsigned int reduction, element;

	for (reduction = 0; reduction < BGDMA_REDUCTION_COUNT; reduction++) {
		for (element = 0; element < BGDMA_ELEMENT_COUNT; element++) {
			EXPECT_EQ(is_defined(reduction, element) ? 0 : -EINVAL,
				  reduce_nothing(reduction, element)) {
				TH_LOG("reduction %u of element %u", reduction,
				       element);
			}
		}
	}
	EXPECT_EQ(-EINVAL, reduce_nothing(BGDMA_REDUCTION_COUNT, BGDMA_S8));
	EXPECT_EQ(-EINVAL, reduce_nothing(BGDMA_SUM, BGDMA_ELEMENT_COUNT));
	EXPECT_EQ(-EINVAL, reduce_nothing(UINT_MAX, BGDMA_S8));
	EXPECT_EQ(-EINVAL, reduce_nothing(BGDMA_SUM, UINT_MAX));
	EXPECT_EQ(-EINVAL, reduce_nothing(INT_MAX, INT_MAX));
}

TEST(dp8_refused)
{
	struct bgdma_operator op = operator_of(BGDMA_BAND, BGDMA_F64);
	double in = 1, inout = 2;

	EXPECT_EQ(-EINVAL, bgdma_reduce_local(&op, &in, &inout, 1));
	EXPECT_EQ(-EINVAL, bgdma_reduce_local(NULL, &in, &inout, 1));
	EXPECT_EQ(-EINVAL, bgdma_reduce_local(NULL, NULL, NULL, 0));
	EXPECT_EQ(2, inout);
}

/* ---- The application's own ---------------------------------------------- */

/* x -> slope * x + offset; they do not commute. */
struct line {
	int slope;
	int offset;
	char rest[5];
};

struct calls {
	unsigned int count;
	const void *in;
	void *inout;
	uint64_t elements;
};

/* What @in does, and then what @inout does. */
static void combine_lines(void *arg, const void *in, void *inout,
			  uint64_t count)
{
	struct calls *calls = arg;
	const struct line *first = in;
	struct line *then = inout;
	uint64_t i;

	for (i = 0; i < count; i++) {
		then[i].offset += then[i].slope * first[i].offset;
		then[i].slope *= first[i].slope;
	}
	calls->count++;
	calls->in = in;
	calls->inout = inout;
	calls->elements = count;
}

TEST(dp8_own)
{
	const struct line first[2] = { { 2, 3, "" }, { 5, 7, "" } };
	struct line then[2] = { { 11, 13, "" }, { 17, 19, "" } };
	struct calls calls = { .count = 0 };
	struct bgdma_operator op = {
		.reduction = BGDMA_REDUCTION_COUNT, .element = UINT_MAX,
		.combine = combine_lines, .arg = &calls, .ordered = true,
		.bytes = sizeof(struct line),
	};

	EXPECT_EQ(0, bgdma_reduce_local(&op, first, then, 2));
	EXPECT_EQ(1, calls.count);
	EXPECT_TRUE(calls.in == first);
	EXPECT_TRUE(calls.inout == then);
	EXPECT_EQ(2, calls.elements);
	EXPECT_EQ(22, then[0].slope);
	EXPECT_EQ(11 * 3 + 13, then[0].offset);
	EXPECT_EQ(85, then[1].slope);
	EXPECT_EQ(17 * 7 + 19, then[1].offset);

	EXPECT_EQ(0, bgdma_reduce_local(&op, NULL, NULL, 0));
	op.bytes = 0;
	EXPECT_EQ(-EINVAL, bgdma_reduce_local(&op, first, then, 2));
	EXPECT_EQ(1, calls.count);
}

TEST_HARNESS_MAIN
