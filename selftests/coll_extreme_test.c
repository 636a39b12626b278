// SPDX-License-Identifier: GPL-2.0
/*
 * Minima and maxima of floats, and of values with a place, by the engines, which know
 * nothing but integers: beside the same by messages, bit by bit.
 */
#include <math.h>

#include <bgdma/collective.h>

#include "kselftest_harness.h"
#include "coll_util.h"

#define COUNT_MAX	3000U
#define ELEMENT_MAX	16U

typedef struct { int16_t value; int32_t at; } s16_at;
typedef struct { int32_t value; int32_t at; } s32_at;
typedef struct { int64_t value; int32_t at; } s64_at;
typedef struct { float value; int32_t at; } f32_at;
typedef struct { double value; int32_t at; } f64_at;

static const struct {
	struct bgdma_operator op;
	uint32_t bytes;
} kinds[] = {
	{ { .reduction = BGDMA_MIN, .element = BGDMA_F32 }, sizeof(float) },
	{ { .reduction = BGDMA_MAX, .element = BGDMA_F32 }, sizeof(float) },
	{ { .reduction = BGDMA_MIN, .element = BGDMA_F64 }, sizeof(double) },
	{ { .reduction = BGDMA_MAX, .element = BGDMA_F64 }, sizeof(double) },
	{ { .reduction = BGDMA_MINLOC, .element = BGDMA_S16_AT }, sizeof(s16_at) },
	{ { .reduction = BGDMA_MAXLOC, .element = BGDMA_S16_AT }, sizeof(s16_at) },
	{ { .reduction = BGDMA_MINLOC, .element = BGDMA_S32_AT }, sizeof(s32_at) },
	{ { .reduction = BGDMA_MAXLOC, .element = BGDMA_S32_AT }, sizeof(s32_at) },
	{ { .reduction = BGDMA_MINLOC, .element = BGDMA_S64_AT }, sizeof(s64_at) },
	{ { .reduction = BGDMA_MAXLOC, .element = BGDMA_S64_AT }, sizeof(s64_at) },
	{ { .reduction = BGDMA_MINLOC, .element = BGDMA_F32_AT }, sizeof(f32_at) },
	{ { .reduction = BGDMA_MAXLOC, .element = BGDMA_F32_AT }, sizeof(f32_at) },
	{ { .reduction = BGDMA_MINLOC, .element = BGDMA_F64_AT }, sizeof(f64_at) },
	{ { .reduction = BGDMA_MAXLOC, .element = BGDMA_F64_AT }, sizeof(f64_at) },
};

#define KINDS		(sizeof(kinds) / sizeof(kinds[0]))

FIXTURE(extreme) {
};

FIXTURE_SETUP(extreme)
{
	board = shared(sizeof(*board));
}

FIXTURE_TEARDOWN(extreme)
{
}

/* ---- Elements ------------------------------------------------------------- */

/* So few that the same comes again and again, and all that is special. */
static double any_float(uint64_t *seed)
{
	static const double special[] = {
		0.0, -0.0, 1.0, -1.0, 1e-42, -1e-42, 0x1p-1060, -0x1p-1060,
		3e38, -3e38, INFINITY, -INFINITY,
	};
	uint32_t which = number_next(seed) % 40;

	if (which == 39)
		return NAN;
	return special[which % (sizeof(special) / sizeof(special[0]))];
}

static int64_t any_integer(uint64_t *seed)
{
	static const int64_t special[] = {
		0, 1, -1, INT16_MIN, INT16_MAX, INT32_MIN, INT32_MAX, INT64_MIN,
		INT64_MAX,
	};

	return special[number_next(seed) % 9];
}

static int32_t any_place(uint64_t *seed)
{
	static const int32_t special[] = { 0, 1, -1, 7, INT32_MIN, INT32_MAX };

	return special[number_next(seed) % 6];
}

/* Also of bytes that mean nothing. */
static void make(enum bgdma_element element, void *to, uint64_t *seed)
{
	memset(to, 0x5a, ELEMENT_MAX);
	switch (element) {
	case BGDMA_F32:
		*(float *)to = (float)any_float(seed);
		break;
	case BGDMA_F64:
		*(double *)to = any_float(seed);
		break;
	case BGDMA_S16_AT:
		((s16_at *)to)->value = (int16_t)any_integer(seed);
		((s16_at *)to)->at = any_place(seed);
		break;
	case BGDMA_S32_AT:
		((s32_at *)to)->value = (int32_t)any_integer(seed);
		((s32_at *)to)->at = any_place(seed);
		break;
	case BGDMA_S64_AT:
		((s64_at *)to)->value = any_integer(seed);
		((s64_at *)to)->at = any_place(seed);
		break;
	case BGDMA_F32_AT:
		((f32_at *)to)->value = (float)any_float(seed);
		((f32_at *)to)->at = any_place(seed);
		break;
	default:
		((f64_at *)to)->value = any_float(seed);
		((f64_at *)to)->at = any_place(seed);
		break;
	}
}

static bool same_float(double a, double b)
{
	if (isnan(a))
		return isnan(b);
	return a == b && !signbit(a) == !signbit(b);
}

static bool same_integer(int64_t a, int64_t b)
{
	return a == b;
}

#define SAME(type, same_value, a, b)					\
({									\
	const type *a_ = (const type *)(a), *b_ = (const type *)(b);	\
									\
	same_value(a_->value, b_->value) && a_->at == b_->at;		\
})

static bool same(enum bgdma_element element, const void *a, const void *b)
{
	switch (element) {
	case BGDMA_F32:
		return same_float(*(const float *)a, *(const float *)b);
	case BGDMA_F64:
		return same_float(*(const double *)a, *(const double *)b);
	case BGDMA_S16_AT:
		return SAME(s16_at, same_integer, a, b);
	case BGDMA_S32_AT:
		return SAME(s32_at, same_integer, a, b);
	case BGDMA_S64_AT:
		return SAME(s64_at, same_integer, a, b);
	case BGDMA_F32_AT:
		return SAME(f32_at, same_float, a, b);
	default:
		return SAME(f64_at, same_float, a, b);
	}
}

/* ---- Both ways -------------------------------------------------------------- */

static _Alignas(16) char data[COUNT_MAX * ELEMENT_MAX + ELEMENT_MAX];
static _Alignas(16) char by_engines[sizeof(data)], by_messages[sizeof(data)];

static int reduce(struct caller *c, struct bgdma_collective what,
		  enum bgdma_algorithm algorithm, bool in_place, char *out)
{
	what.algorithm = algorithm;
	what.in = in_place ? NULL : data;
	what.out = out;
	if (in_place)
		memcpy(out, data, sizeof(data));
	else
		memset(out, 0xee, sizeof(data));
	return bgdma_coll_run(c->group, &what);
}

static int compare(struct caller *c, unsigned int kind,
		   struct bgdma_collective what, uint32_t rank, uint32_t turn)
{
	uint64_t seed = 1000 * turn + rank, i, bytes = kinds[kind].bytes;
	const struct bgdma_operator *op = &kinds[kind].op;

	for (i = 0; i < what.count; i++)
		make(op->element, data + i * bytes, &seed);
	what.op = op;
	require_is(0, reduce(c, what, BGDMA_ENGINES, turn % 2, by_engines));
	require_is(0, reduce(c, what, BGDMA_TREE, turn % 2, by_messages));
	if (what.kind == BGDMA_REDUCE && rank != what.root) {
		/* Who gets nothing keeps what he has. */
		require_is(0, memcmp(by_engines, by_messages, sizeof(data)));
		return 0;
	}
	for (i = 0; i < what.count; i++)
		require(same(op->element, by_engines + i * bytes,
			     by_messages + i * bytes));
	require_is(0, memcmp(by_engines + what.count * bytes,
			     by_messages + what.count * bytes,
			     sizeof(data) - what.count * bytes));
	return 0;
}

static int all_kinds(uint32_t rank, uint32_t size, void *arg)
{
	static const uint32_t counts[] = { 0, 1, 13, COUNT_MAX };
	const struct bgdma_split_attr split = { .flags = BGDMA_SPLIT_ENGINES };
	struct bgdma_collective what = { 0 };
	uint32_t kind, i, turn = 0;
	struct caller c = { 0 };

	(void)arg;
	require_is(0, caller_open(&c, 1));
	require_is(0, bgdma_coll_split(c.coll, &split, &c.group));
	for (kind = 0; kind < KINDS; kind++) {
		for (i = 0; i < 4; i++) {
			what.count = counts[i];
			what.kind = BGDMA_ALLREDUCE;
			require_is(0, compare(&c, kind, what, rank, turn++));
			what.kind = BGDMA_REDUCE;
			what.root = turn / 2 % size;
			require_is(0, compare(&c, kind, what, rank, turn++));
			what.root = 0;
		}
		/* And nobody has to ask for it. */
		what.op = &kinds[kind].op;
		what.out = data;
		require_is(BGDMA_ENGINES, bgdma_coll_algorithm(c.group, &what));
	}
	place(0, size);
	return caller_close(&c);
}

TEST_F_TIMEOUT(extreme, dp7_dp8_as_by_messages, 120)
{
	static const uint32_t sizes[] = { 1, 2, 3, 7 };
	unsigned int i;

	partition_new("8x1x1", "");
	for (i = 0; i < 4; i++) {
		memset(board, 0, sizeof(*board));
		EXPECT_TRUE(job_run(sizes[i], all_kinds, NULL, -1));
	}
}

/* What the engines know no integers for. */
static int others(uint32_t rank, uint32_t size, void *arg)
{
	static const struct bgdma_operator ops[] = {
		{ .reduction = BGDMA_PROD, .element = BGDMA_F64 },
		{ .reduction = BGDMA_MIN, .element = BGDMA_S8 },
		{ .reduction = BGDMA_LAND, .element = BGDMA_S32 },
	};
	const struct bgdma_split_attr split = { .flags = BGDMA_SPLIT_ENGINES };
	struct bgdma_collective what = { .kind = BGDMA_ALLREDUCE, .count = 1,
					 .out = data };
	struct caller c = { 0 };
	unsigned int i;

	(void)rank;
	(void)arg;
	require_is(0, caller_open(&c, 1));
	require_is(0, bgdma_coll_split(c.coll, &split, &c.group));
	for (i = 0; i < 3; i++) {
		what.op = &ops[i];
		what.algorithm = BGDMA_ENGINES;
		require_is(-EINVAL, bgdma_coll_run(c.group, &what));
		what.algorithm = BGDMA_ALGORITHM_AUTO;
		require_is(0, bgdma_coll_run(c.group, &what));
	}
	place(0, size);
	return caller_close(&c);
}

TEST_F(extreme, dp8_what_is_by_messages_only)
{
	partition_new("8x1x1", "");
	EXPECT_TRUE(job_run(3, others, NULL, -1));
}

TEST_HARNESS_MAIN
