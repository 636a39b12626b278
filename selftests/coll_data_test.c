// SPDX-License-Identifier: GPL-2.0
/*
 * Collectives of data: each kind by each of its algorithms against a plain reference,
 * which every member works out for itself, as all know what all give.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/mount.h>

#include <bgdma/collective.h>

#include "kselftest_harness.h"
#include "coll_reference.h"
#include "coll_util.h"

FIXTURE(coll) {
};

FIXTURE_SETUP(coll)
{
	board = shared(sizeof(*board));
}

FIXTURE_TEARDOWN(coll)
{
}

#define COUNT_MAX	20000U	/* elements of a block */

static const struct bgdma_operator sum = { .reduction = BGDMA_SUM,
					   .element = BGDMA_U64 };

static const struct bgdma_split_attr with_engines = {
	.flags = BGDMA_SPLIT_ENGINES,
};

static int open_world(struct caller *c)
{
	require_is(0, caller_open(c, 1));
	return bgdma_coll_split(c->coll, &with_engines, &c->group);
}

/* What @member gives: the @i-th element of what it has. */
static uint64_t given(uint32_t member, uint64_t i)
{
	uint64_t x = (member + 1) * 0x9e3779b97f4a7c15ULL ^
		     (i + 1) * 0xc2b2ae3d27d4eb4fULL;

	return x ^ x >> 31;
}

static uint64_t given_sum(uint32_t first, uint32_t end, uint64_t i)
{
	uint64_t s = 0;

	for (; first < end; first++)
		s += given(first, i);
	return s;
}

/* ---- All that there is -------------------------------------------------- */

struct way {
	struct bgdma_collective what;
	uint64_t n;			/* elements of a block */
	uint32_t rank, size;
};

static bool gives_blocks(const struct way *w)
{
	return w->what.kind == BGDMA_ALLTOALL ||
	       w->what.kind == BGDMA_REDUCE_SCATTER ||
	       w->what.kind == BGDMA_SCATTER;
}

static bool is_root(const struct way *w)
{
	return w->rank == w->what.root;
}

/* Elements that this member gets, and where they begin in what it has in place. */
static uint64_t gets(const struct way *w)
{
	switch (w->what.kind) {
	case BGDMA_GATHER:
		return is_root(w) ? w->n * w->size : 0;
	case BGDMA_ALLGATHER:
	case BGDMA_ALLTOALL:
		return w->n * w->size;
	case BGDMA_REDUCE:
		return is_root(w) ? w->n : 0;
	case BGDMA_EXSCAN:
		return w->rank ? w->n : 0;
	default:
		return w->n;
	}
}

static uint64_t expected(const struct way *w, uint64_t i)
{
	uint64_t n = w->n;

	switch (w->what.kind) {
	case BGDMA_BROADCAST:
		return given(w->what.root, i);
	case BGDMA_SCATTER:
		return given(w->what.root, n * w->rank + i);
	case BGDMA_GATHER:
	case BGDMA_ALLGATHER:
		return given((uint32_t)(i / n), i % n);
	case BGDMA_ALLTOALL:
		return given((uint32_t)(i / n), n * w->rank + i % n);
	case BGDMA_REDUCE_SCATTER:
		return given_sum(0, w->size, n * w->rank + i);
	case BGDMA_SCAN:
		return given_sum(0, w->rank + 1, i);
	case BGDMA_EXSCAN:
		return given_sum(0, w->rank, i);
	default:
		return given_sum(0, w->size, i);
	}
}

/* Where in @out what is given in place lies, or -1: not of this kind. */
static int64_t own_place(const struct way *w)
{
	switch (w->what.kind) {
	case BGDMA_BROADCAST:
	case BGDMA_SCATTER:
		return -1;
	case BGDMA_GATHER:
	case BGDMA_ALLGATHER:
		return is_root(w) || w->what.kind == BGDMA_ALLGATHER ?
		       (int64_t)(w->n * w->rank) : 0;
	default:
		return 0;
	}
}

static int way_run(struct caller *c, struct way *w, uint64_t *in, uint64_t *out,
		   bool in_place)
{
	uint64_t i, had = w->n * (gives_blocks(w) ? w->size : 1);
	uint64_t *from = in_place ? out + own_place(w) : in;

	memset(out, 0xee, w->n * w->size * sizeof(*out));
	if (w->what.kind == BGDMA_BROADCAST)
		from = out;
	for (i = 0; i < had; i++)
		from[i] = given(w->rank, i);
	w->what.in = in_place ? NULL : in;
	w->what.out = out;
	w->what.bytes = w->n * sizeof(*out);
	w->what.count = w->n;
	w->what.op = &sum;
	require_is(0, bgdma_coll_run(c->group, &w->what));
	for (i = 0; i < gets(w); i++) {
		if (out[i] == expected(w, i))
			continue;
		fprintf(stderr, "# kind %u algorithm %u of %u: %lu of %lu\n",
			w->what.kind, w->what.algorithm, w->size, i, w->n);
		return -EINVAL;
	}
	return 0;
}

/* By all algorithms that there are: how many. */
static int kind_run(struct caller *c, struct way *w, uint64_t *in,
		    uint64_t *out)
{
	unsigned int a, place, ran = 0;

	w->what.op = &sum;
	for (a = 0; a < BGDMA_ALGORITHM_COUNT; a++) {
		w->what.algorithm = a;
		w->what.in = NULL;
		w->what.out = NULL;
		if (bgdma_coll_algorithm(c->group, &w->what) == -EINVAL)
			continue;
		for (place = 0; place < 2; place++) {
			if (place && own_place(w) < 0)
				continue;
			require_is(0, way_run(c, w, in, out, place));
		}
		ran++;
	}
	return (int)ran;
}

static int every_kind(uint32_t rank, uint32_t size, void *arg)
{
	static const uint32_t counts[] = { 0, 1, 7, 700, COUNT_MAX };
	struct way w = { .rank = rank, .size = size };
	struct caller c = { 0 };
	static uint64_t in[RANKS_MAX * COUNT_MAX], out[RANKS_MAX * COUNT_MAX];
	unsigned int i, kind;

	(void)arg;
	require_is(0, open_world(&c));
	for (kind = 0; kind < BGDMA_COLLECTIVE_COUNT; kind++) {
		for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
			w.what.kind = kind;
			w.n = counts[i];
			w.what.root = i % 2 ? size - 1 : 0;
			require(kind_run(&c, &w, in, out) >= 2);
		}
	}
	return caller_close(&c);
}

TEST_F_TIMEOUT(coll, dp8_every_kind_by_every_algorithm, 300)
{
	static const uint32_t sizes[] = { 1, 2, 3, 5, 8 };
	unsigned int i;

	partition_new("4x2x1", "");
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		EXPECT_TRUE(job_run(sizes[i], every_kind, NULL, -1));
}

/* ---- Blocks of all sizes ------------------------------------------------ */

#define GAP	24	/* bytes between blocks */

/* What @from has for @to, long, short or nothing. */
static uint64_t block(uint32_t from, uint32_t to)
{
	static const uint64_t bytes[] = { 8, 0, 5000, 100000, 16 };

	return bytes[(from + 2 * to) % 5];
}

struct blocks {
	uint64_t bytes[RANKS_MAX], at[RANKS_MAX];
	char *memory;
};

static void blocks_new(struct blocks *b, uint32_t rank, uint32_t size, bool in)
{
	uint64_t at = GAP;
	uint32_t i;

	for (i = 0; i < size; i++) {
		b->bytes[i] = in ? block(rank, i) : block(i, rank);
		b->at[i] = at;
		at += b->bytes[i] + GAP;
	}
	free(b->memory);
	b->memory = malloc(at);
	must(b->memory ? 0 : -ENOMEM);
	memset(b->memory, 0xee, at);
	for (i = 0; in && i < size; i++)
		memset(b->memory + b->at[i], (int)(16 * rank + i + 1),
		       b->bytes[i]);
}

/* Each block is right, and nothing between them was touched. */
static bool blocks_right(const struct blocks *b, uint32_t rank, uint32_t size)
{
	uint32_t i;
	uint64_t j;

	for (i = 0; i < size; i++) {
		for (j = 0; j < b->bytes[i]; j++)
			if (b->memory[b->at[i] + j] != (char)(16 * i + rank + 1))
				return false;
		for (j = 1; j <= GAP; j++)
			if (b->memory[b->at[i] - j] != (char)0xee)
				return false;
	}
	return true;
}

static int uneven_blocks(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_collective what = { .kind = BGDMA_ALLTOALL };
	struct blocks in = { .memory = NULL }, out = { .memory = NULL };
	struct caller c = { 0 };
	uint32_t root;

	(void)arg;
	require_is(0, open_world(&c));
	blocks_new(&in, rank, size, true);
	blocks_new(&out, rank, size, false);
	what.in_blocks = (struct bgdma_blocks){ in.bytes, in.at };
	what.out_blocks = (struct bgdma_blocks){ out.bytes, out.at };
	what.in = in.memory;
	what.out = out.memory;
	require_is(0, bgdma_coll_run(c.group, &what));
	require(blocks_right(&out, rank, size));

	/* The same, a root after the other. */
	blocks_new(&out, rank, size, false);
	for (root = 0; root < size; root++) {
		what.kind = BGDMA_SCATTER;
		what.root = root;
		what.bytes = out.bytes[root];
		what.out = out.memory + out.at[root];
		require_is(0, bgdma_coll_run(c.group, &what));
	}
	require(blocks_right(&out, rank, size));
	blocks_new(&out, rank, size, false);
	for (root = 0; root < size; root++) {
		what.kind = BGDMA_GATHER;
		what.root = root;
		what.bytes = in.bytes[root];
		what.in = in.memory + in.at[root];
		what.out = out.memory;
		require_is(0, bgdma_coll_run(c.group, &what));
	}
	require(blocks_right(&out, rank, size));
	free(in.memory);
	free(out.memory);
	return caller_close(&c);
}

/* What each has for rank 0 goes to all. */
static int uneven_parts(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_collective what = { .kind = BGDMA_ALLGATHER };
	uint64_t counts[RANKS_MAX], first = 0, total = 0, i, *all;
	struct blocks out = { .memory = NULL };
	struct caller c = { 0 };
	char own[100000];

	(void)arg;
	require_is(0, open_world(&c));
	blocks_new(&out, 0, size, false);
	memset(own, (int)(16 * rank + 1), out.bytes[rank]);
	what.in = own;
	what.out = out.memory;
	what.out_blocks = (struct bgdma_blocks){ out.bytes, out.at };
	require_is(0, bgdma_coll_run(c.group, &what));
	require(blocks_right(&out, 0, size));
	what.algorithm = BGDMA_DOUBLING;
	require_is(-EINVAL, bgdma_coll_run(c.group, &what));

	for (i = 0; i < size; i++) {
		counts[i] = block((uint32_t)i, 1) / 8;
		first += i < rank ? counts[i] : 0;
		total += counts[i];
	}
	all = calloc(total + 1, sizeof(*all));
	require(all);
	what = (struct bgdma_collective){
		.kind = BGDMA_REDUCE_SCATTER, .op = &sum, .counts = counts,
	};
	for (what.algorithm = 0; what.algorithm < BGDMA_ALGORITHM_COUNT;
	     what.algorithm++) {
		if (bgdma_coll_algorithm(c.group, &what) == -EINVAL)
			continue;
		for (i = 0; i < total; i++)
			all[i] = given(rank, i);
		what.out = all;
		require_is(0, bgdma_coll_run(c.group, &what));
		for (i = 0; i < counts[rank]; i++)
			require(all[i] == given_sum(0, size, first + i));
	}
	free(out.memory);
	free(all);
	return caller_close(&c);
}

TEST_F(coll, dp8_blocks_of_all_sizes)
{
	partition_new("4x2x1", "");
	EXPECT_TRUE(job_run(4, uneven_blocks, NULL, -1));
	EXPECT_TRUE(job_run(5, uneven_parts, NULL, -1));
}

/* Where blocks are each member says for itself; of what size, all the same. */
static int own_places(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_collective what = { .kind = BGDMA_ALLGATHER, .bytes = 8 };
	uint64_t at[RANKS_MAX], bytes[RANKS_MAX], own, out[3 * RANKS_MAX];
	struct caller c = { 0 };
	uint32_t i, k;

	(void)arg;
	require_is(0, open_world(&c));
	for (i = 0; i < size; i++) {
		at[i] = 8 * ((uint64_t)size - i + rank);
		bytes[i] = 8;
	}
	for (k = 0; k < 4; k++) {
		memset(out, 0xee, sizeof(out));
		own = 100 * k + rank;
		what.in = &own;
		what.out = out;
		what.out_blocks.at = rank % 2 ? at : NULL;
		what.out_blocks.bytes = k % 2 && rank / 2 ? bytes : NULL;
		what.algorithm = k / 2 ? BGDMA_DOUBLING : BGDMA_ALGORITHM_AUTO;
		require_is(0, bgdma_coll_run(c.group, &what));
		for (i = 0; i < size; i++)
			require_is(100 * k + i,
				   out[rank % 2 ? at[i] / 8 : i]);
	}
	return caller_close(&c);
}

TEST_F(coll, dp8_blocks_where_each_wants_them)
{
	partition_new("4x2x1", "");
	EXPECT_TRUE(job_run(7, own_places, NULL, -1));
}

/* ---- Order -------------------------------------------------------------- */

static struct line joined(uint32_t end, uint64_t i)
{
	struct line l = { 1, 0 }, next;
	uint32_t m;

	for (m = 0; m < end; m++) {
		next = (struct line){ given(m, 2 * i), given(m, 2 * i + 1) };
		lines_join(NULL, &l, &next, 1);
		l = next;
	}
	return l;
}

static int in_order(uint32_t rank, uint32_t size, void *arg)
{
	static const struct bgdma_operator join = {
		.combine = lines_join, .bytes = sizeof(struct line),
		.ordered = true,
	};
	struct bgdma_collective what = { .op = &join, .count = 1000 };
	struct line in[1000], out[1000], right;
	struct caller c = { 0 };
	uint32_t below, i, ran = 0;

	(void)arg;
	require_is(0, open_world(&c));
	for (i = 0; i < 1000; i++)
		in[i] = (struct line){ given(rank, 2 * i),
				       given(rank, 2 * i + 1) };
	what.in = in;
	what.out = out;
	what.root = size - 1;
	for (what.kind = BGDMA_REDUCE; what.kind <= BGDMA_EXSCAN; what.kind++) {
		below = what.kind == BGDMA_EXSCAN ? rank :
		       what.kind == BGDMA_SCAN ? rank + 1 : size;
		if (what.kind == BGDMA_REDUCE_SCATTER)
			continue;
		for (what.algorithm = 0;
		     what.algorithm < BGDMA_ALGORITHM_COUNT; what.algorithm++) {
			if (bgdma_coll_algorithm(c.group, &what) == -EINVAL)
				continue;
			require(what.algorithm != BGDMA_RING);
			require_is(0, bgdma_coll_run(c.group, &what));
			ran++;
			for (i = 0; i < 1000 && below; i++) {
				if (what.kind == BGDMA_REDUCE &&
				    rank != what.root)
					break;
				right = joined(below, i);
				require(!memcmp(&right, &out[i],
						sizeof(right)));
			}
		}
	}
	require_is(12, (int)ran);
	return caller_close(&c);
}

TEST_F(coll, dp8_order_of_an_own_operation_is_kept)
{
	partition_new("4x2x1", "");
	EXPECT_TRUE(job_run(3, in_order, NULL, -1));
	EXPECT_TRUE(job_run(7, in_order, NULL, -1));
}

/* ---- Many at once ------------------------------------------------------- */

#define AT_ONCE	60

/* Also of two groups, begun in the same order, ended in any. */
static int many_at_once(uint32_t rank, uint32_t size, void *arg)
{
	const struct bgdma_split_attr half = { .color = rank % 2 };
	struct bgdma_coll_request *request[AT_ONCE];
	struct bgdma_collective what = { .kind = BGDMA_ALLREDUCE, .op = &sum,
					 .count = 600 };
	static uint64_t out[AT_ONCE][600];
	struct bgdma_coll_group *group;
	struct caller c = { 0 };
	uint64_t right;
	unsigned int i, j, at;

	(void)arg;
	require_is(0, open_world(&c));
	require_is(0, bgdma_coll_split(c.coll, &half, &group));
	for (i = 0; i < AT_ONCE; i++) {
		for (j = 0; j < 600; j++)
			out[i][j] = given(rank, i + j);
		what.out = out[i];
		what.count = i % 4 ? 10 : 600;
		require_is(0, bgdma_coll_start(i % 3 ? c.group : group, &what,
					       &request[i]));
	}
	for (i = 0; i < AT_ONCE; i++) {
		at = rank % 2 ? i : AT_ONCE - 1 - i;
		require_is(0, bgdma_coll_request_wait(&request[at], BGDMA_SLEEP,
						      (int64_t)PATIENCE_NS));
		require(!request[at]);
		right = 0;
		for (j = at % 3 ? 0 : rank % 2; j < size; j += at % 3 ? 1 : 2)
			right += given(j, at + 5);
		require(out[at][5] == right);
	}
	require_is(0, bgdma_coll_request_test(&request[0]));
	bgdma_coll_group_destroy(group);
	return caller_close(&c);
}

TEST_F(coll, dp8_many_at_once)
{
	partition_new("4x2x1", "");
	EXPECT_TRUE(job_run(4, many_at_once, NULL, -1));
}

/* A root that is far ahead waits: nobody keeps more than a window of what it sent. */
static int far_ahead(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_coll_request *request[1000];
	struct bgdma_collective what = { .bytes = 4000 };
	static char data[1000][4000];
	struct caller c = { 0 };
	unsigned int i, over = 0;

	(void)size;
	(void)arg;
	require_is(0, open_world(&c));
	for (i = 0; !rank && i < 1000; i++) {
		memset(data[i], (int)i, sizeof(data[i]));
		what.out = data[i];
		require_is(0, bgdma_coll_start(c.group, &what, &request[i]));
	}
	for (i = 0; !rank && i < 1000; i++)
		over += !bgdma_coll_request_test(&request[i]);
	if (!rank)
		require(over && over < 500);
	require_is(0, bgdma_job_fence(c.m.job));
	for (i = 0; i < 1000; i++) {
		what.out = data[i];
		if (!rank) {
			require_is(0, bgdma_coll_request_wait(
					   &request[i], BGDMA_SLEEP,
					   (int64_t)PATIENCE_NS));
			continue;
		}
		require_is(0, bgdma_coll_run(c.group, &what));
		require(data[i][0] == (char)i && data[i][3999] == (char)i);
	}
	return caller_close(&c);
}

TEST_F(coll, dp6_one_who_is_far_ahead_waits)
{
	partition_new("4x2x1", "");
	EXPECT_TRUE(job_run(3, far_ahead, NULL, -1));
}

/* ---- Later ones in front ---------------------------------------------------- */

#define LATER		40
#define LATER_BYTES	4000

static void sum_of_one(struct bgdma_collective *what, uint64_t *value)
{
	*what = (struct bgdma_collective){
		.kind = BGDMA_ALLREDUCE, .algorithm = BGDMA_DOUBLING,
		.out = value, .count = 1, .op = &sum,
	};
}

/*
 * Rank 0 begins a sum, and then so many broadcasts that they take all credit, before
 * rank 1 has given its part of the sum. Rank 2 begins none before it has the sum.
 */
static int overtaken(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_coll_request *r[LATER + 1] = { NULL };
	struct bgdma_collective first, later = {
		.kind = BGDMA_BROADCAST, .algorithm = BGDMA_LINEAR,
		.bytes = LATER_BYTES,
	};
	static char bytes[LATER][LATER_BYTES];
	struct caller c = { 0 };
	uint64_t value = rank + 1;
	uint32_t i;

	(void)arg;
	require_is(0, open_world(&c));
	sum_of_one(&first, &value);
	if (rank == 1)
		require(until(load(&board->turn)));
	require_is(0, bgdma_coll_start(c.group, &first, &r[LATER]));
	if (rank == 2)
		require_is(0, bgdma_coll_request_wait(&r[LATER], BGDMA_SLEEP,
						      -1));
	for (i = 0; i < LATER; i++) {
		memset(bytes[i], rank ? 0 : (int)i + 1, LATER_BYTES);
		later.out = bytes[i];
		require_is(0, bgdma_coll_start(c.group, &later, &r[i]));
	}
	if (!rank)
		store(&board->turn, 1);
	for (i = 0; i <= LATER; i++)
		require_is(0, bgdma_coll_request_wait(&r[i], BGDMA_SLEEP, -1));
	require_is((uint64_t)size * (size + 1) / 2, value);
	for (i = 0; i < LATER; i++)
		require(bytes[i][0] == (char)(i + 1) &&
			bytes[i][LATER_BYTES - 1] == (char)(i + 1));
	return caller_close(&c);
}

TEST_F(coll, dp6_dp8_later_ones_do_not_keep_an_older_one)
{
	partition_new("4x1x1", "");
	EXPECT_TRUE(job_run(4, overtaken, NULL, -1));
}

/* ---- Memory that cannot be registered --------------------------------------- */

#define LONG_BYTES	8192

static const char constant[2 * LONG_BYTES] = { "stays as it is" };

static int from_constants(uint32_t rank, uint32_t size, void *arg)
{
	static char got[2 * LONG_BYTES];
	struct caller c = { 0 };
	uint32_t i;

	(void)arg;
	require_is(0, open_world(&c));
	require_is(0, bgdma_coll_alltoall(c.group, constant, got, LONG_BYTES));
	for (i = 0; i < size; i++)
		require(!memcmp(got + (size_t)i * LONG_BYTES,
				constant + (size_t)rank * LONG_BYTES,
				LONG_BYTES));
	return caller_close(&c);
}

static int into_a_file(uint32_t rank, uint32_t size, void *arg)
{
	static char own[LONG_BYTES], got[2 * LONG_BYTES];
	struct caller c = { 0 };
	char name[64], *map;
	uint32_t i;
	int fd;

	snprintf(name, sizeof(name), "%s/%u", (char *)arg, rank);
	fd = must(open(name, O_RDWR | O_CREAT, 0600));
	require_is(0, ftruncate(fd, sizeof(got)));
	map = mmap(NULL, sizeof(got), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	require(map != MAP_FAILED);
	memset(own, (int)rank + 1, sizeof(own));
	require_is(0, open_world(&c));
	require_is(0, bgdma_coll_allgather(c.group, own, map, LONG_BYTES));
	require_is(sizeof(got), pread(fd, got, sizeof(got), 0));
	for (i = 0; i < size * LONG_BYTES; i++)
		require(got[i] == (char)(i / LONG_BYTES + 1));
	munmap(map, sizeof(got));
	close(fd);
	return caller_close(&c);
}

TEST_F(coll, dp8_memory_that_no_engine_may_write)
{
	char dir[] = "/tmp/files.XXXXXX";

	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, from_constants, NULL, -1));
	/* Of a file system that is not shared memory. */
	ASSERT_NE(NULL, mkdtemp(dir));
	ASSERT_EQ(0, mount("none", dir, "ramfs", 0, NULL));
	EXPECT_TRUE(job_run(2, into_a_file, dir, -1));
	EXPECT_EQ(0, umount(dir));
	EXPECT_EQ(0, rmdir(dir));
}

TEST_HARNESS_MAIN
