// SPDX-License-Identifier: GPL-2.0
/*
 * Updates of elements of windows: of every type, by every operator, of every
 * form.
 */
#include <stdint.h>

#include "kselftest_harness.h"
#include "rma_util.h"

/* ---- Updates ----------------------------------------------------------- */

#define ADDS	500
#define REALS	100	/* of which several descriptors each are made */

/* All add to words of every type of one window, one in each of several ways. */
static int updates(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_update_attr add = { .op = BGDMA_ATOMIC_ADD, .count = 1 };
	uint64_t *words;
	struct bgdma_rma_epoch *e;
	struct accessor a = { 0 };
	uint32_t i, type;
	double real;
	float shorter;

	(void)arg;
	(void)rank;
	if (opened(&a, &e))
		return 1;
	words = (uint64_t *)(void *)a.local;
	for (i = 0; i < ADDS; i++) {
		for (type = BGDMA_ATOMIC_S32; type <= BGDMA_ATOMIC_U64;
		     type++) {
			add.type = type;
			add.at = type * 8;
			add.operand = 3;
			require_is(0, bgdma_epoch_update(e, &add));
		}
		if (i >= REALS)
			continue;
		real = 0.5;
		memcpy(&add.operand, &real, sizeof(real));
		add.type = BGDMA_RMA_DOUBLE;
		add.at = 64;
		require_is(0, bgdma_epoch_update(e, &add));
		shorter = 0.25f;
		add.operand = 0;
		memcpy(&add.operand, &shorter, sizeof(shorter));
		add.type = BGDMA_RMA_FLOAT;
		add.at = 72;
		require_is(0, bgdma_epoch_update(e, &add));
	}
	require_is(0, bgdma_epoch_flush(e));
	require_is(0, meet(&a));
	require_is(0, get(&a, e, 0, 80, 0));
	require_is(0, bgdma_epoch_flush(e));
	require_is(3 * ADDS * size, (uint32_t)words[0]);
	require_is(3 * ADDS * size, (uint32_t)words[1]);
	require_is(3 * ADDS * size, words[2]);
	require_is(3 * ADDS * size, words[3]);
	memcpy(&real, &words[8], sizeof(real));
	require(real == 0.5 * REALS * size);
	memcpy(&shorter, &words[9], sizeof(shorter));
	require(shorter == 0.25f * REALS * (float)size);
	return closed(&a, e);
}

TEST(update_sums_of_every_type)
{
	partition_new("3x1x1", "");
	EXPECT_TRUE(job_run(3, updates, NULL, -1));
}

struct step {
	unsigned int op;
	int64_t operand, before, after;
};

static int operators(uint32_t rank, uint32_t size, void *arg)
{
	static const struct step steps[] = {
		{ BGDMA_ATOMIC_SWAP, -6, 0, -6 },
		{ BGDMA_ATOMIC_ADD, 2, -6, -4 },
		{ BGDMA_ATOMIC_MUL, 3, -4, -12 },
		{ BGDMA_ATOMIC_MIN, 5, -12, -12 },
		{ BGDMA_ATOMIC_MAX, 5, -12, 5 },
		{ BGDMA_ATOMIC_AND, 6, 5, 4 },
		{ BGDMA_ATOMIC_OR, 3, 4, 7 },
		{ BGDMA_ATOMIC_XOR, 2, 7, 5 },
		{ BGDMA_ATOMIC_READ, 99, 5, 5 },
		{ BGDMA_RMA_LAND, 0, 5, 0 },
		{ BGDMA_RMA_LOR, 8, 0, 1 },
		{ BGDMA_RMA_LXOR, 8, 1, 0 },
	};
	static const unsigned int types[] = {
		BGDMA_ATOMIC_S32, BGDMA_ATOMIC_S64, BGDMA_RMA_FLOAT,
		BGDMA_RMA_DOUBLE,
	};
	struct bgdma_update_attr u = { .count = 1 };
	struct bgdma_rma_epoch *e;
	struct accessor a = { 0 };
	unsigned int i, t;
	int64_t was;

	(void)arg;
	(void)size;
	if (opened(&a, &e))
		return 1;
	u.result = (struct bgdma_place){ a.region, 128 };
	for (t = 0; t < 4; t++) {
		/* A number of a type, as bits and back. */
		for (i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
			const struct step *s = &steps[i];
			bool bits = s->op >= BGDMA_ATOMIC_AND &&
				    s->op <= BGDMA_ATOMIC_XOR;

			u.type = types[t];
			u.op = s->op;
			u.at = rank * 64 + t * 8;
			u.operand = 0;
			if (bits && t >= 2) {
				require_is(-EINVAL, bgdma_epoch_update(e, &u));
				u.op = BGDMA_ATOMIC_SWAP;
			}
			if (t == 0 || t == 1) {
				u.operand = (uint64_t)s->operand;
			} else if (t == 2) {
				float f = (float)(bits ? s->after : s->operand);

				memcpy(&u.operand, &f, sizeof(f));
			} else {
				double d = (double)(bits ? s->after :
							   s->operand);

				memcpy(&u.operand, &d, sizeof(d));
			}
			if (t == 0)
				u.operand &= 0xffffffff;
			require_is(0, bgdma_epoch_update(e, &u));
			require_is(0, bgdma_epoch_flush(e));
			if (t == 0)
				was = *(int32_t *)(void *)(a.local + 128);
			else if (t == 1)
				was = *(int64_t *)(void *)(a.local + 128);
			else if (t == 2)
				was = (int64_t)*(float *)(void *)(a.local +
								  128);
			else
				was = (int64_t)*(double *)(void *)(a.local +
								   128);
			require_is(s->before, was);
		}
	}
	return closed(&a, e);
}

TEST(update_with_every_operator)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, operators, NULL, -1));
}

#define ELEMENTS	300

/* Arrays of them; with fetch, in place and beside. */
static int arrays(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_update_attr u = {
		.op = BGDMA_ATOMIC_ADD, .type = BGDMA_ATOMIC_U64,
		.count = ELEMENTS,
	};
	uint64_t *from, *result;
	double *real;
	struct bgdma_rma_epoch *e;
	struct accessor a = { 0 };
	uint32_t i;

	(void)arg;
	(void)size;
	if (opened(&a, &e))
		return 1;
	from = (uint64_t *)(void *)a.local;
	result = (uint64_t *)(void *)(a.local + 8192);
	real = (double *)(void *)a.local;
	u.at = rank * 8192;
	u.local = (struct bgdma_place){ a.region, 0 };
	for (i = 0; i < ELEMENTS; i++)
		from[i] = i;
	require_is(0, bgdma_epoch_update(e, &u));
	u.result = (struct bgdma_place){ a.region, 8192 };
	require_is(0, bgdma_epoch_update(e, &u));
	require_is(0, bgdma_epoch_flush(e));
	for (i = 0; i < ELEMENTS; i++) {
		require_is(i, from[i]);
		require_is(i, result[i]);
	}
	u.result = u.local;
	require_is(0, bgdma_epoch_update(e, &u));
	require_is(0, bgdma_epoch_flush(e));
	for (i = 0; i < ELEMENTS; i++)
		require_is(2 * i, from[i]);
	u.op = BGDMA_ATOMIC_READ;
	u.result.offset = 8192;
	require_is(0, bgdma_epoch_update(e, &u));
	require_is(0, bgdma_epoch_flush(e));
	for (i = 0; i < ELEMENTS; i++)
		require_is(3 * i, result[i]);

	u.op = BGDMA_ATOMIC_SWAP;
	u.type = BGDMA_RMA_DOUBLE;
	u.result.region = NULL;
	for (i = 0; i < ELEMENTS; i++)
		real[i] = i;
	require_is(0, bgdma_epoch_update(e, &u));
	u.op = BGDMA_ATOMIC_MUL;
	u.result.region = a.region;
	require_is(0, bgdma_epoch_update(e, &u));
	real = (double *)(void *)(a.local + 8192);
	for (i = 0; i < ELEMENTS; i++)
		require(real[i] == i);
	require_is(0, get(&a, e, 8192, 8 * ELEMENTS, rank * 8192));
	require_is(0, bgdma_epoch_flush(e));
	for (i = 0; i < ELEMENTS; i++)
		require(real[i] == (double)i * i);

	/* What makes no sense. */
	u.type = 9;
	require_is(-EINVAL, bgdma_epoch_update(e, &u));
	u.type = BGDMA_ATOMIC_U32;
	u.op = 10;
	require_is(-EINVAL, bgdma_epoch_update(e, &u));
	u.op = BGDMA_ATOMIC_CAS;
	require_is(-EINVAL, bgdma_epoch_update(e, &u));
	u.op = BGDMA_ATOMIC_READ;
	u.result.region = NULL;
	require_is(-EINVAL, bgdma_epoch_update(e, &u));
	u.op = BGDMA_ATOMIC_ADD;
	u.local.region = NULL;
	require_is(-EINVAL, bgdma_epoch_update(e, &u));
	u.count = 0;
	require_is(-EINVAL, bgdma_epoch_update(e, &u));
	u.count = 1;
	u.at = WINDOW;
	require_is(-ERANGE, bgdma_epoch_update(e, &u));
	return closed(&a, e);
}

TEST(update_arrays)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, arrays, NULL, -1));
}

#define ROWS	20U
#define ROW	64U	/* bytes in the window */

/* A column and a block of a matrix, with and without what was there; and floats. */
static int matrix(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_update_attr u = {
		.op = BGDMA_ATOMIC_ADD, .type = BGDMA_ATOMIC_U64, .count = 1,
		.operand = 5, .at = rank * ROWS * ROW + 8,
	};
	struct bgdma_stride rows = { ROWS, 16, ROW };
	struct bgdma_piece piece[] = {
		{ 0, 3 * ROW, 8 }, { 64, 9 * ROW, 0 }, { 32, 5 * ROW, 12 },
	};
	uint64_t *local, *result;
	float *real;
	struct bgdma_epoch_info info;
	struct bgdma_rma_epoch *e;
	struct accessor a = { 0 };
	uint32_t i;

	(void)arg;
	(void)size;
	if (opened(&a, &e))
		return 1;
	local = (uint64_t *)(void *)a.local;
	result = (uint64_t *)(void *)(a.local + 8192);
	real = (float *)(void *)a.local;
	require_is(0, bgdma_epoch_update_strided(e, &u, &rows));
	u.local = (struct bgdma_place){ a.region, 0 };
	u.result = (struct bgdma_place){ a.region, 8192 };
	u.count = 2;
	for (i = 0; i < 2 * ROWS; i++)
		local[i] = i;
	require_is(0, bgdma_epoch_update_strided(e, &u, &rows));
	require_is(0, bgdma_epoch_flush(e));
	for (i = 0; i < 2 * ROWS; i++)
		require_is(i & 1 ? 0 : 5, result[i]);
	u.op = BGDMA_ATOMIC_READ;
	require_is(0, bgdma_epoch_update_strided(e, &u, &rows));
	require_is(0, bgdma_epoch_flush(e));
	for (i = 0; i < 2 * ROWS; i++)
		require_is(i + (i & 1 ? 0 : 5), result[i]);
	bgdma_epoch_info(e, &info);
	require_is(3 * ROWS, info.puts);

	/* The same number is another as a float; -0.0 is none of these. */
	u.op = BGDMA_ATOMIC_SWAP;
	u.type = BGDMA_RMA_FLOAT;
	u.at = rank * ROWS * ROW + 32;
	u.result.region = NULL;
	for (i = 0; i < 16; i++)
		real[i] = (float)i / 2;
	require_is(0, bgdma_epoch_update_pieces(e, &u, piece, 3));
	u.op = BGDMA_ATOMIC_MAX;
	u.result.region = a.region;
	for (i = 0; i < 16; i++)
		real[i] = 5;
	require_is(0, bgdma_epoch_update_pieces(e, &u, piece, 3));
	require_is(0, get(&a, e, 0, 4096, rank * ROWS * ROW));
	require_is(0, bgdma_epoch_flush(e));
	real = (float *)(void *)(a.local + 8192);
	for (i = 0; i < 5; i++)
		require(real[i < 2 ? i : 8 + i - 2] ==
			(i < 2 ? (float)i : (float)(8 + i - 2)) / 2);
	real = (float *)(void *)(a.local + 3 * ROW + 32);
	require(real[0] == 5 && real[1] == 5);
	real = (float *)(void *)(a.local + 5 * ROW + 32);
	require(real[0] == 5 && real[1] == 5 && real[2] == 5);

	/* All or nothing. */
	bgdma_epoch_info(e, &info);
	i = (uint32_t)info.puts;
	piece[2].length = 13;
	require_is(-EINVAL, bgdma_epoch_update_pieces(e, &u, piece, 3));
	piece[2].length = 4;
	piece[2].at = WINDOW;
	require_is(-ERANGE, bgdma_epoch_update_pieces(e, &u, piece, 3));
	piece[2].at = UINT64_MAX;
	require_is(-ERANGE, bgdma_epoch_update_pieces(e, &u, piece, 3));
	require_is(-EINVAL, bgdma_epoch_update_pieces(e, &u, NULL, 1));
	require_is(0, bgdma_epoch_update_pieces(e, &u, NULL, 0));
	rows.at = UINT64_MAX / 2;
	require_is(-ERANGE, bgdma_epoch_update_strided(e, &u, &rows));
	u.op = BGDMA_ATOMIC_CAS;
	require_is(-EINVAL, bgdma_epoch_update_pieces(e, &u, piece, 1));
	require_is(-EINVAL, bgdma_epoch_update_strided(e, &u, &rows));
	u.type = 9;
	require_is(-EINVAL, bgdma_epoch_update_pieces(e, &u, piece, 1));
	bgdma_epoch_info(e, &info);
	require_is(i, info.puts);
	return closed(&a, e);
}

TEST(update_strided_and_indexed)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, matrix, NULL, -1));
}

/* What there is of an element in memory of eight bytes that is fetched. */
static uint64_t fetched(struct accessor *a, struct bgdma_rma_epoch *e,
			uint64_t at)
{
	must(get(a, e, 0, 8, at));
	must(bgdma_epoch_flush(e));
	return *(uint64_t *)(void *)a->local;
}

/* Of an operand the low bits count; and what a swap finds may go nowhere. */
static int operands(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_update_attr u = {
		.op = BGDMA_RMA_LOR, .type = BGDMA_ATOMIC_U32, .count = 1,
		.at = rank * 16, .operand = 7ULL << 32,
	};
	struct bgdma_rma_epoch *e;
	struct accessor a = { 0 };

	(void)arg;
	(void)size;
	if (opened(&a, &e))
		return 1;
	require_is(0, bgdma_epoch_update(e, &u));
	require_is(0, fetched(&a, e, u.at));
	u.operand |= 4;
	require_is(0, bgdma_epoch_update(e, &u));
	require_is(1, fetched(&a, e, u.at));
	u.op = BGDMA_ATOMIC_CAS;
	u.compare = 2;
	u.operand = 9;
	require_is(0, bgdma_epoch_update(e, &u));
	require_is(1, fetched(&a, e, u.at));
	u.compare = 1;
	require_is(0, bgdma_epoch_update(e, &u));
	require_is(9, fetched(&a, e, u.at));
	u.type = BGDMA_ATOMIC_U64;
	u.compare = 9;
	u.operand = 1ULL << 40;
	require_is(0, bgdma_epoch_update(e, &u));
	require_is(1ULL << 40, fetched(&a, e, u.at));
	return closed(&a, e);
}

TEST(update_by_the_low_bits_and_to_nowhere)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, operands, NULL, -1));
}

/* All take numbers, each of which comes once; and a lock by swapping. */
static int tickets(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_update_attr take = {
		.op = BGDMA_ATOMIC_ADD, .type = BGDMA_ATOMIC_U64, .count = 1,
		.operand = 1,
	};
	struct bgdma_update_attr swap = {
		.op = BGDMA_ATOMIC_CAS, .type = BGDMA_ATOMIC_U32, .count = 1,
		.at = 8,
	};
	uint64_t last = 0, *ticket;
	struct bgdma_rma_epoch *e;
	struct accessor a = { 0 };
	uint32_t i, won = 0, *was;

	(void)arg;
	if (opened(&a, &e))
		return 1;
	ticket = (uint64_t *)(void *)a.local;
	was = (uint32_t *)(void *)(a.local + 8);
	take.result = (struct bgdma_place){ a.region, 0 };
	swap.result = (struct bgdma_place){ a.region, 8 };
	for (i = 0; i < ADDS; i++) {
		require_is(0, bgdma_epoch_update(e, &take));
		require_is(0, bgdma_epoch_flush(e));
		require(!i || *ticket > last);
		last = *ticket;
		require(last < ADDS * size);
		/* Count to the next number, if nobody does before. */
		swap.compare = i;
		swap.operand = i + 1;
		require_is(0, bgdma_epoch_update(e, &swap));
		require_is(0, bgdma_epoch_flush(e));
		won += *was == i;
	}
	/* How often all of us won is how far it got. */
	take.at = 16;
	take.operand = won;
	require_is(0, bgdma_epoch_update(e, &take));
	require_is(0, bgdma_epoch_flush(e));
	require_is(0, meet(&a));
	require_is(0, get(&a, e, 0, 24, 0));
	require_is(0, bgdma_epoch_flush(e));
	require_is(ADDS * size, ticket[0]);
	require_is(*was, ticket[2]);
	(void)rank;
	return closed(&a, e);
}

TEST(update_fetch_and_add_and_compare_and_swap)
{
	partition_new("4x1x1", "");
	EXPECT_TRUE(job_run(4, tickets, NULL, -1));
}

/* ---- What is our own --------------------------------------------------- */

static struct {
	uint8_t region[PAGE];
	uint64_t behind[8];
} own PINNED;

/* A place from which on @bytes are not all in a region of a page. */
static struct bgdma_place outside(struct bgdma_region *region, uint32_t i,
				  uint64_t bytes)
{
	const uint64_t offsets[] = {
		PAGE - bytes + 8, PAGE, 1ULL << 40, UINT64_MAX - bytes + 1,
		UINT64_MAX,
	};

	return (struct bgdma_place){ region, offsets[i] };
}

#define OUTSIDES	5U

/*
 * Nothing is read or written outside of the regions of ours that are named,
 * whether it is the engine that would do so, or the library.
 */
static int not_ours(uint32_t rank, uint32_t size, void *arg)
{
	static const struct bgdma_piece pieces[] = { { 0, 0, 8 },
						     { PAGE, 8, 8 } };
	static const struct bgdma_stride stride = { 2, PAGE, 8 };
	struct bgdma_update_attr u = { .type = BGDMA_ATOMIC_U64 };
	const unsigned int ops[] = { BGDMA_ATOMIC_ADD, BGDMA_ATOMIC_READ,
				     BGDMA_ATOMIC_SWAP, BGDMA_RMA_LOR };
	struct bgdma_region *region;
	struct bgdma_epoch_info info;
	struct bgdma_rma_epoch *e;
	struct accessor a = { 0 };
	uint32_t i, op;

	(void)arg;
	(void)size;
	if (opened(&a, &e))
		return 1;
	memset(&own, 0x5a, sizeof(own));
	require_is(0, bgdma_region_register(bgdma_endpoint_ctx(a.m.ep),
					    own.region, PAGE, LOCAL_RW,
					    &region));
	for (i = 0; i < OUTSIDES; i++) {
		u.op = BGDMA_ATOMIC_CAS;
		u.count = 1;
		u.local = (struct bgdma_place){ 0 };
		u.result = outside(region, i, 8);
		require_is(-ERANGE, bgdma_epoch_update(e, &u));
		u.result = (struct bgdma_place){ region, 0 };
		u.local = outside(region, i, 8);
		require_is(-ERANGE, bgdma_epoch_update(e, &u));
		u.count = 4;
		for (op = 0; op < ARRAY_SIZE(ops); op++) {
			u.op = ops[op];
			u.local = (struct bgdma_place){ region, 0 };
			u.result = outside(region, i, 32);
			require_is(-ERANGE, bgdma_epoch_update(e, &u));
			u.result = (struct bgdma_place){ region, 0 };
			u.local = outside(region, i, 32);
			if (u.op != BGDMA_ATOMIC_READ)
				require_is(-ERANGE, bgdma_epoch_update(e, &u));
		}
	}
	/* None of several is begun. */
	u.op = BGDMA_ATOMIC_SWAP;
	u.count = 1;
	u.local = (struct bgdma_place){ region, 0 };
	require_is(-ERANGE, bgdma_epoch_update_pieces(e, &u, pieces, 2));
	require_is(-ERANGE, bgdma_epoch_update_strided(e, &u, &stride));
	bgdma_epoch_info(e, &info);
	require_is(0, info.puts);
	require_is(0x5a5a5a5a, (uint32_t)own.behind[0]);
	/* The last element is ours. */
	u.local.offset = PAGE - 8;
	u.result.offset = PAGE - 8;
	u.at = rank * 8;
	require_is(0, bgdma_epoch_update(e, &u));
	require_is(0, bgdma_epoch_flush(e));
	require_is(0, *(uint64_t *)(void *)(own.region + PAGE - 8));
	require_is(0, bgdma_region_free(region));
	return closed(&a, e);
}

TEST(x2_update_outside_of_own_memory)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, not_ours, NULL, -1));
}

/* ---- After a failure --------------------------------------------------- */

/*
 * One that failed does not keep later updates from being made, by the engine or
 * by us; the epoch has its error.
 */
static int go_on(uint32_t rank, uint32_t size, void *arg)
{
	const struct bgdma_window_attr attr = { .dynamic = *(bool *)arg,
		.length = *(bool *)arg ? 0 : WINDOW };
	struct bgdma_update_attr add = {
		.op = BGDMA_ATOMIC_ADD, .type = BGDMA_RMA_DOUBLE, .count = 1,
	};
	struct bgdma_update_attr or = {
		.op = BGDMA_RMA_LOR, .type = BGDMA_ATOMIC_U32, .count = 1,
		.operand = 7,
	};
	uint64_t base = attr.dynamic ? (uintptr_t)&own : 0;
	struct bgdma_rma_epoch *e;
	struct accessor a = { 0 };
	double one = 1, *sum;
	int i;

	(void)size;
	require_is(0, accessor_open_as(&a, (struct bgdma_endpoint_attr){ 0 },
				       (struct bgdma_rma_attr){ 0 }, &attr));
	if (attr.dynamic && rank)
		require_is(0, bgdma_window_attach(a.window, &own, PAGE));
	require_is(0, meet(&a));
	memcpy(&add.operand, &one, sizeof(one));
	add.at = base;
	or.at = base + 8;
	require_is(0, bgdma_epoch_begin(a.window, 1, rank + 1, 0, &e));
	for (i = 0; !rank && i < 10; i++) {
		/* Its own side is too short. */
		require_is(0, put(&a, e, LOCAL - 4, 8, base + 16));
		require_is(0, bgdma_epoch_update(e, &add));
		require_is(0, bgdma_epoch_update(e, &or));
	}
	require_is(rank ? 0 : -ERANGE, bgdma_epoch_close(e));
	require_is(rank ? 0 : 1, a.troubles);
	require_is(0, meet(&a));
	if (rank) {
		sum = attr.dynamic ? (double *)(void *)&own :
				     (double *)(void *)a.own;
		require(sum[0] == 10);
		require_is(1, *(uint32_t *)(void *)&sum[1]);
	}
	return accessor_close(&a);
}

TEST(update_after_another_access_has_failed)
{
	bool dynamic = false;

	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, go_on, &dynamic, -1));
	dynamic = true;
	EXPECT_TRUE(job_run(2, go_on, &dynamic, -1));
}

TEST_HARNESS_MAIN
