// SPDX-License-Identifier: GPL-2.0
/*
 * Sums of floats in collectives: the same values have the same sum, bit by bit, on any
 * number of members, whoever has which, by each kind and algorithm. That it is the
 * right one shows lib_sum_test, of bgdma_sum_values().
 */
#include <math.h>

#include <bgdma/sum.h>

#include "kselftest_harness.h"
#include "coll_util.h"

FIXTURE(coll) {
};

FIXTURE_SETUP(coll)
{
	board = shared(sizeof(*board));
	partition_new("4x2x1", "");
}

FIXTURE_TEARDOWN(coll)
{
}

#define VALUES	21U	/* that all members have together for an element */
#define ELEMENTS_MAX (8 * 300U)
#define ELEMENT_MAX 16U

static const struct bgdma_split_attr with_engines = {
	.flags = BGDMA_SPLIT_ENGINES,
};

static int open_world(struct caller *c)
{
	require_is(0, caller_open(c, 1));
	return bgdma_coll_split(c->coll, &with_engines, &c->group);
}

/* ---- Values ------------------------------------------------------------- */

static double special(uint64_t i, uint64_t x)
{
	switch (i % 16) {
	case 5:
		return x % 8 ? 1.5 : INFINITY;
	case 6:
		return x % 8 ? -1.5 : NAN;
	case 7:
		return -0.0;
	case 8:
		return x % 4 ? -0.0 : x % 8 ? INFINITY : -INFINITY;
	default:
		return x % 2 ? 0.0 : -0.0;
	}
}

/* The @k-th of the @i-th element, and of a complex one its first or second half. */
static double number(uint64_t i, uint32_t k, uint32_t half, bool single)
{
	uint64_t x = (i + 1) * 0x9e3779b97f4a7c15ULL ^
		     (2 * k + half + 1) * 0xc2b2ae3d27d4eb4fULL;
	int most = single ? 127 : 1023, range = single ? 60 : 140, e;

	x ^= x >> 31;
	x *= 0xd6e8feb86659fd93ULL;
	x ^= x >> 29;
	if (i % 16 >= 5 && i % 16 < 10)
		return special(i, x >> 5);
	/* Some go over on the way, and some are smaller than any normal one. */
	e = i % 16 == 10 ? most - 1 : i % 16 == 11 ? -most - range / 2 :
	    (int)(i % 7) * 9 - 20;
	return ldexp((double)(int64_t)x, e - 63 - (int)(x % (uint64_t)range) / 2);
}

static bool same_bits(const void *a, const void *b, uint64_t doubles)
{
	return !memcmp(a, b, doubles * sizeof(double));
}

struct kind {
	enum bgdma_element element;
	uint32_t bytes, halves;
	bool single;
};

static const struct kind kinds[] = {
	{ BGDMA_F32, 4, 1, true },
	{ BGDMA_F64, 8, 1, false },
	{ BGDMA_C32, 8, 2, true },
	{ BGDMA_C64, 16, 2, false },
};

static void put(const struct kind *k, void *to, uint64_t i, uint32_t v)
{
	uint32_t half;
	double x;
	float y;

	for (half = 0; half < k->halves; half++) {
		x = number(i, v, half, k->single);
		y = (float)x;
		if (k->single)
			memcpy((char *)to + half * sizeof(y), &y, sizeof(y));
		else
			memcpy((char *)to + half * sizeof(x), &x, sizeof(x));
	}
}

/* Of the values with numbers below this: those of members below @member. */
static uint32_t values_below(uint32_t member, uint32_t size)
{
	return size ? member * member * VALUES / (size * size) : 0;
}

/* What a member gives: of each element its values, the last one first. */
static uint64_t give(const struct kind *k, char *to, uint32_t rank,
		     uint32_t size, uint64_t elements)
{
	uint32_t first = values_below(rank, size);
	uint32_t end = values_below(rank + 1, size), v;
	const double none[2] = { -0.0, -0.0 };
	const float none_single[2] = { -0.0F, -0.0F };
	uint64_t i;

	for (v = end; v-- > first; )
		for (i = 0; i < elements; i++, to += k->bytes)
			put(k, to, i, v);
	if (end > first)
		return end - first;
	for (i = 0; i < elements; i++, to += k->bytes)
		memcpy(to, k->single ? (const void *)none_single : none,
		       k->bytes);
	return 0;
}

/* The sum of the values with numbers below @end. */
static int expect(const struct kind *k, char *to, uint32_t end, uint64_t first,
		  uint64_t count, unsigned int summation)
{
	static char all[VALUES * ELEMENT_MAX];
	uint64_t i;
	uint32_t v;

	for (i = first; i < first + count; i++, to += k->bytes) {
		for (v = 0; v < end; v++)
			put(k, all + v * k->bytes, i, v);
		require_is(0, bgdma_sum_values(k->element, summation, all, end,
					       to));
	}
	return 0;
}

/* ---- By each way -------------------------------------------------------- */

static char in[VALUES * ELEMENTS_MAX * ELEMENT_MAX];
static char out[ELEMENTS_MAX * ELEMENT_MAX];
static char right[ELEMENTS_MAX * ELEMENT_MAX];

/* Elements that this member gets, and the first of them. */
static uint64_t gets(const struct bgdma_collective *what, uint32_t rank)
{
	if ((what->kind == BGDMA_REDUCE && rank != what->root) ||
	    (what->kind == BGDMA_EXSCAN && !rank))
		return 0;
	return what->count;
}

static int by_each_algorithm(struct caller *c, struct bgdma_collective *what,
			     const struct kind *k, unsigned int *ran)
{
	uint64_t bytes = gets(what, c->m.rank) * k->bytes;

	for (what->algorithm = 0; what->algorithm < BGDMA_ALGORITHM_COUNT;
	     what->algorithm++) {
		if (bgdma_coll_algorithm(c->group, what) == -EINVAL)
			continue;
		memset(out, 0xee, sizeof(out));
		require_is(0, bgdma_coll_run(c->group, what));
		++*ran;
		if (!memcmp(out, right, bytes) && out[bytes] == (char)0xee)
			continue;
		fprintf(stderr, "# kind %u algorithm %u summation %u element %u count %lu of %u\n",
			what->kind, what->algorithm, what->summation,
			k->element, what->count, c->m.size);
		return -EINVAL;
	}
	return 0;
}

static int by_each_kind(struct caller *c, const struct kind *k, uint64_t count,
			unsigned int summation)
{
	const struct bgdma_operator op = { .reduction = BGDMA_SUM,
					   .element = k->element };
	uint32_t rank = c->m.rank, size = c->m.size, end;
	struct bgdma_collective what = {
		.op = &op, .count = count, .root = size - 1,
		.summation = summation, .in = in, .out = out,
	};
	unsigned int ran = 0, kind;
	bool blocks, scans;

	for (kind = BGDMA_REDUCE; kind <= BGDMA_EXSCAN; kind++) {
		what.kind = kind;
		blocks = kind == BGDMA_REDUCE_SCATTER;
		scans = kind == BGDMA_SCAN || kind == BGDMA_EXSCAN;
		what.addends = give(k, in, rank, size,
				    count * (blocks ? size : 1));
		end = values_below(scans ? rank + (kind == BGDMA_SCAN) : size,
				   size);
		require_is(0, expect(k, right, end, blocks ? count * rank : 0,
				     gets(&what, rank),
				     scans ? BGDMA_SUM_EXACT : summation));
		/* -0.0 was given in the place of no values. */
		if (scans && !end)
			give(k, right, 0, VALUES, count);
		require_is(0, by_each_algorithm(c, &what, k, &ran));
	}
	/* Reduce and all-reduce by the engines, too; of few and little directly. */
	if (size > 1 && size <= 4 && count <= 1 && k->bytes <= sizeof(double))
		require(ran == 19);
	else
		require(ran == 18 || (ran == 19 && size > 1 && size <= 4));
	return 0;
}

static int everything(uint32_t rank, uint32_t size, void *arg)
{
	static const uint64_t counts[] = { 0, 1, 100 };
	struct caller c = { 0 };
	unsigned int i, j, summation;

	(void)rank;
	(void)size;
	(void)arg;
	require_is(0, open_world(&c));
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		for (j = 0; j < sizeof(counts) / sizeof(counts[0]); j++)
			for (summation = BGDMA_SUM_FAST;
			     summation <= BGDMA_SUM_EXACT; summation++)
				require_is(0, by_each_kind(&c, &kinds[i],
							   counts[j],
							   summation));
	return caller_close(&c);
}

TEST_F_TIMEOUT(coll, dp8_the_same_bits_by_every_way, 300)
{
	EXPECT_TRUE(job_run(1, everything, NULL, -1));
	EXPECT_TRUE(job_run(2, everything, NULL, -1));
	EXPECT_TRUE(job_run(3, everything, NULL, -1));
	EXPECT_TRUE(job_run(8, everything, NULL, -1));
}

/* ---- In place, and long ------------------------------------------------- */

/* By the engines these are several parts, and the last is not as long as the others. */
#define LONG		140003U	/* AUTO takes a ring */
#define LONG_EXACT	6007U

static double data[LONG], wanted[LONG];

/* One value of each member. */
static int by_all(struct caller *c, struct bgdma_collective *what)
{
	double all[RANKS_MAX];
	uint32_t i, k;

	for (i = 0; i < what->count; i++) {
		for (k = 0; k < c->m.size; k++)
			all[k] = number(i, k, 0, false);
		require_is(0, bgdma_sum_values(BGDMA_F64, what->summation, all,
					       c->m.size, &wanted[i]));
	}
	for (what->algorithm = 0; what->algorithm < BGDMA_ALGORITHM_COUNT;
	     what->algorithm++) {
		if (bgdma_coll_algorithm(c->group, what) == -EINVAL)
			continue;
		for (i = 0; i < what->count; i++)
			data[i] = number(i, c->m.rank, 0, false);
		require_is(0, bgdma_coll_run(c->group, what));
		require(same_bits(data, wanted, what->count));
	}
	return 0;
}

static int in_place(uint32_t rank, uint32_t size, void *arg)
{
	const struct bgdma_operator op = { .reduction = BGDMA_SUM,
					   .element = BGDMA_F64 };
	struct bgdma_collective what = {
		.kind = BGDMA_ALLREDUCE, .op = &op, .out = data,
	};
	struct caller c = { 0 };
	uint32_t i;

	(void)size;
	(void)arg;
	require_is(0, open_world(&c));
	what.summation = BGDMA_SUM_EXACT;
	what.count = LONG_EXACT;
	require_is(0, by_all(&c, &what));
	what.summation = BGDMA_SUM_FAST;
	what.count = LONG;
	require_is(0, by_all(&c, &what));
	/* The same is what a call without any choice does. */
	for (i = 0; i < LONG; i++)
		data[i] = number(i, rank, 0, false);
	require_is(0, bgdma_coll_allreduce(c.group, NULL, data, LONG, &op));
	require(same_bits(data, wanted, LONG));
	return caller_close(&c);
}

TEST_F_TIMEOUT(coll, dp8_in_place_and_by_default, 120)
{
	EXPECT_TRUE(job_run(3, in_place, NULL, -1));
	EXPECT_TRUE(job_run(8, in_place, NULL, -1));
}

/* Blocks of all sizes, also none, of a reduce-scatter. */
static int uneven(uint32_t rank, uint32_t size, void *arg)
{
	static const uint64_t counts[] = { 3, 0, 40, 17, 1, 0, 2, 9 };
	const struct kind *k = &kinds[3];
	const struct bgdma_operator op = { .reduction = BGDMA_SUM,
					   .element = k->element };
	struct bgdma_collective what = {
		.kind = BGDMA_REDUCE_SCATTER, .op = &op, .counts = counts,
		.in = in, .out = out,
	};
	uint64_t first = 0, all = 0;
	struct caller c = { 0 };
	unsigned int ran = 0;
	uint32_t i;

	(void)arg;
	require_is(0, open_world(&c));
	for (i = 0; i < size; i++) {
		first += i < rank ? counts[i] : 0;
		all += counts[i];
	}
	what.addends = give(k, in, rank, size, all);
	for (what.summation = BGDMA_SUM_FAST;
	     what.summation <= BGDMA_SUM_EXACT; what.summation++) {
		what.count = counts[rank];
		require_is(0, expect(k, right, VALUES, first, counts[rank],
				     what.summation));
		require_is(0, by_each_algorithm(&c, &what, k, &ran));
	}
	require(ran == 6);
	return caller_close(&c);
}

TEST_F(coll, dp8_blocks_of_all_sizes)
{
	EXPECT_TRUE(job_run(3, uneven, NULL, -1));
	EXPECT_TRUE(job_run(8, uneven, NULL, -1));
}

/* ---- Sums that a process keeps ------------------------------------------ */

static int kept(uint32_t rank, uint32_t size, void *arg)
{
	const struct bgdma_operator join = bgdma_sum_f64_operator();
	struct bgdma_sum_f64 sum[16];
	struct caller c = { 0 };
	uint32_t i, v;
	double x;

	(void)arg;
	require_is(0, open_world(&c));
	memset(sum, 0, sizeof(sum));
	for (i = 0; i < 16; i++) {
		for (v = rank; v < VALUES; v += size) {
			x = number(i, v, 0, false);
			bgdma_sum_f64_add(&sum[i], &x, 1);
		}
	}
	require_is(0, bgdma_coll_allreduce(c.group, NULL, sum, 16, &join));
	require_is(0, expect(&kinds[1], right, VALUES, 0, 16, BGDMA_SUM_EXACT));
	for (i = 0; i < 16; i++) {
		x = bgdma_sum_f64_value(&sum[i]);
		require(same_bits(&x, right + i * sizeof(x), 1));
	}
	return caller_close(&c);
}

TEST_F(coll, dp8_sums_that_are_kept)
{
	EXPECT_TRUE(job_run(1, kept, NULL, -1));
	EXPECT_TRUE(job_run(3, kept, NULL, -1));
	EXPECT_TRUE(job_run(8, kept, NULL, -1));
}

/* ---- What is asked for -------------------------------------------------- */

/* 1 + 2^-53 + 2^-54: one after the other it is 1, whatever else it is more. */
static int asked(uint32_t rank, uint32_t size, void *arg)
{
	const double x[3] = { 1, 0x1p-53, 0x1p-54 };
	const struct bgdma_operator op = { .reduction = BGDMA_SUM,
					   .element = BGDMA_F64 },
		integers = { .reduction = BGDMA_SUM, .element = BGDMA_S64 };
	struct bgdma_collective what = {
		.kind = BGDMA_ALLREDUCE, .op = &op, .count = 1, .in = x,
		.addends = 3,
	};
	const char *wanted = arg;
	struct caller c = { 0 };
	double sum = 0;

	(void)rank;
	if (wanted)
		must(setenv("BGDMA_SUMMATION", wanted, 1));
	require_is(0, open_world(&c));
	what.out = &sum;
	require_is(0, bgdma_coll_run(c.group, &what));
	require((sum == size) == (wanted && !strcmp(wanted, "plain")));
	what.summation = BGDMA_SUM_PLAIN;
	require_is(0, bgdma_coll_run(c.group, &what));
	require(sum == size);
	what.summation = BGDMA_SUM_FAST;
	require_is(0, bgdma_coll_run(c.group, &what));
	require(sum > size);

	what.addends = 1ULL << 39;
	require_is(-EMSGSIZE, bgdma_coll_algorithm(c.group, &what));
	what.addends = 3;
	what.summation = BGDMA_SUMMATION_COUNT;
	require_is(-EINVAL, bgdma_coll_run(c.group, &what));
	what.summation = BGDMA_SUM_EXACT;
	what.in = NULL;
	require_is(-EINVAL, bgdma_coll_run(c.group, &what));
	what.in = x;
	what.op = &integers;
	require_is(-EINVAL, bgdma_coll_run(c.group, &what));
	what.addends = 1;
	require_is(0, bgdma_coll_run(c.group, &what));
	return caller_close(&c);
}

static int wrong_variable(uint32_t rank, uint32_t size, void *arg)
{
	struct caller c = { 0 };

	(void)rank;
	(void)size;
	(void)arg;
	must(setenv("BGDMA_SUMMATION", "slow", 1));
	require_is(-EINVAL, caller_open(&c, 1));
	return member_close(&c.m);
}

TEST_F(coll, dp8_summation_that_is_asked_for)
{
	EXPECT_TRUE(job_run(2, asked, NULL, -1));
	EXPECT_TRUE(job_run(2, asked, "plain", -1));
	EXPECT_TRUE(job_run(3, asked, "exact", -1));
	EXPECT_TRUE(job_run(1, wrong_variable, NULL, -1));
}

/* Members that do not mean the same way of it. */
static int disagree(uint32_t rank, uint32_t size, void *arg)
{
	const struct bgdma_operator op = { .reduction = BGDMA_SUM,
					   .element = BGDMA_F64 };
	double sum = rank;
	struct bgdma_collective what = {
		.kind = BGDMA_ALLREDUCE, .op = &op, .count = 1, .out = &sum,
		.summation = rank ? BGDMA_SUM_FAST : BGDMA_SUM_EXACT,
	};
	struct caller c = { 0 };
	int ret;

	(void)size;
	(void)arg;
	require_is(0, open_world(&c));
	ret = bgdma_coll_run(c.group, &what);
	require(ret == -EBADMSG || ret == -EIO);
	return caller_close(&c);
}

TEST_F(coll, dp8_members_that_sum_in_other_ways)
{
	EXPECT_TRUE(job_run(2, disagree, NULL, -1));
}

/* How many each gives is its own business: the others do not know of what is too much. */
static int too_many(uint32_t rank, uint32_t size, void *arg)
{
	const struct bgdma_operator op = { .reduction = BGDMA_SUM,
					   .element = BGDMA_F32 };
	const float x = 1;
	struct bgdma_collective what = {
		.kind = BGDMA_ALLREDUCE, .op = &op, .count = 1, .in = &x,
		.summation = BGDMA_SUM_FAST,
		.addends = rank ? 1 : (1ULL << 30) + 1,
	};
	struct bgdma_coll_request *r;
	struct caller c = { 0 };
	float sum = 0;

	(void)arg;
	require_is(0, open_world(&c));
	what.out = &sum;
	if (rank)
		require_is(0, bgdma_coll_start(c.group, &what, &r));
	place(0, size);
	if (!rank)
		require_is(-EMSGSIZE, bgdma_coll_run(c.group, &what));
	else
		require_is(-EIO, bgdma_coll_request_wait(&r, BGDMA_SLEEP,
							 (int64_t)PATIENCE_NS));
	return caller_close(&c);
}

TEST_F(coll, dp8_one_gives_too_many)
{
	EXPECT_TRUE(job_run(2, too_many, NULL, -1));
}

/* It takes no time, however many addends no element has. */
static int none_of_many(uint32_t rank, uint32_t size, void *arg)
{
	static const enum bgdma_summation kinds[] = {
		BGDMA_SUM_PLAIN, BGDMA_SUM_FAST, BGDMA_SUM_EXACT,
	};
	const struct bgdma_operator op = { .reduction = BGDMA_SUM,
					   .element = BGDMA_F64 };
	const double x = 1;
	double sum = 7;
	struct bgdma_collective what = {
		.kind = BGDMA_ALLREDUCE, .op = &op, .in = &x, .out = &sum,
		.addends = 1ULL << 38,
	};
	struct caller c = { 0 };
	size_t i;

	(void)rank;
	(void)size;
	(void)arg;
	require_is(0, open_world(&c));
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		what.summation = kinds[i];
		require_is(0, bgdma_coll_run(c.group, &what));
	}
	require(sum == 7);
	return caller_close(&c);
}

TEST_F_TIMEOUT(coll, dp8_no_elements_of_many_addends, 60)
{
	EXPECT_TRUE(job_run(2, none_of_many, NULL, -1));
}

TEST_HARNESS_MAIN
