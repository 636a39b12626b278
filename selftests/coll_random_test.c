// SPDX-License-Identifier: GPL-2.0
/*
 * Random sequences of collectives on random groups. All members follow one script, of
 * which each finishes what is under way when it likes; what should come out they
 * work out by a reference of their own. BGDMA_TEST_SEED decides the script.
 */
#include <time.h>

#include <bgdma/collective.h>

#include "kselftest_harness.h"
#include "coll_reference.h"
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

#define STEPS		300	/* fewer where all is slow */
#define TEAMS		3
#define AT_ONCE		6	/* under way at one member */
#define BYTES_MAX	60000U	/* of a block */
#define GAP		24	/* bytes between blocks */
#define NOTHING		0xee

/* ---- What is random ----------------------------------------------------- */

static uint64_t mixed(uint64_t a, uint64_t b)
{
	uint64_t x = a * 0x9e3779b97f4a7c15ULL ^ (b + 1) * 0xc2b2ae3d27d4eb4fULL;

	x = (x ^ x >> 31) * 0x94d049bb133111ebULL;
	return x ^ x >> 29;
}

struct dice {
	uint64_t seed, thrown;
};

static uint32_t dice(struct dice *d, uint32_t sides)
{
	return (uint32_t)(mixed(d->seed, d->thrown++) % sides);
}

/* ---- Groups ------------------------------------------------------------- */

/* This process's group of a split; none: @group is NULL. */
struct team {
	struct bgdma_coll_group *group;
	uint32_t rank, size, member[RANKS_MAX];
	unsigned int under_way;
};

/* By key, and by rank where keys are the same. */
static void team_expect(struct team *t, uint32_t rank, uint32_t size,
			const struct bgdma_split_attr *attr)
{
	uint32_t key, r;

	t->size = 0;
	for (key = 0; key < RANKS_MAX; key++) {
		for (r = 0; r < size; r++) {
			if (attr[r].color != attr[rank].color || attr[r].key != key)
				continue;
			if (r == rank)
				t->rank = t->size;
			t->member[t->size++] = r;
		}
	}
}

static int team_new(struct caller *c, struct dice *script, struct team *t)
{
	uint32_t colors = 1 + dice(script, 3), engines = dice(script, 2), i;
	struct bgdma_split_attr attr[RANKS_MAX];

	bgdma_coll_group_destroy(t->group);
	t->group = NULL;
	for (i = 0; i < c->m.size; i++) {
		attr[i] = (struct bgdma_split_attr){
			.color = dice(script, colors),
			.key = dice(script, RANKS_MAX),
			.flags = engines ? BGDMA_SPLIT_ENGINES : 0,
		};
		if (!dice(script, 8))
			attr[i].color = BGDMA_SPLIT_NONE;
	}
	require_is(0, bgdma_coll_split(c->coll, &attr[c->m.rank], &t->group));
	if (attr[c->m.rank].color == BGDMA_SPLIT_NONE) {
		require(!t->group);
		return 0;
	}
	team_expect(t, c->m.rank, c->m.size, attr);
	require_is(t->rank, bgdma_coll_rank(t->group));
	require_is(t->size, bgdma_coll_size(t->group));
	for (i = 0; i < t->size; i++)
		require_is(t->member[i], bgdma_coll_member(t->group, i));
	return 0;
}

/* ---- Collectives -------------------------------------------------------- */

/* One collective, as the script has it: the same at all members. */
struct plan {
	struct bgdma_collective what;
	struct bgdma_operator op;
	unsigned int element;
	uint64_t seed, bytes;		/* of a block, or as many at most */
	bool in_place, uneven;
};

static bool reduces(const struct plan *p)
{
	return p->what.kind >= BGDMA_REDUCE;
}

static void plan_operator(struct plan *p, struct dice *script)
{
	do {
		p->element = dice(script, ELEMENTS);
		p->op = (struct bgdma_operator){
			.reduction = dice(script, BGDMA_REDUCTION_COUNT),
			.element = p->element,
		};
		if (p->element == ELEMENT_LINE)
			p->op = (struct bgdma_operator){
				.combine = lines_join, .ordered = true,
				.bytes = sizeof(struct line),
			};
	} while (bgdma_reduce_local(&p->op, NULL, NULL, 0));
}

static void plan_new(struct plan *p, struct dice *script)
{
	static const uint32_t bytes[] = { 0, 1, 8, 100, 1000, 9000, BYTES_MAX };

	*p = (struct plan){
		.what = {
			.kind = dice(script, BGDMA_COLLECTIVE_COUNT),
			.algorithm = dice(script, BGDMA_ALGORITHM_COUNT),
			.root = dice(script, 840),
			.summation = dice(script, BGDMA_SUMMATION_COUNT),
		},
		.bytes = dice(script, 1 + bytes[dice(script, 7)]),
		.in_place = !dice(script, 3), .uneven = !dice(script, 3),
	};
	plan_operator(p, script);
	p->seed = mixed(script->seed, script->thrown);
}

/* Of a block from one member for another, or of one's elements for another. */
static uint64_t block_bytes(const struct plan *p, uint32_t from, uint32_t to)
{
	uint64_t most = p->bytes, unit = reduces(p) ? element_bytes(p->element) : 1;

	if (p->uneven)
		most = mixed(p->seed, 64 * from + to) % (p->bytes + 1);
	return most / unit * unit;
}

static uint8_t byte_given(const struct plan *p, uint32_t from, uint32_t to,
			  uint64_t i)
{
	return (uint8_t)mixed(p->seed + 64 * from + to, i / 8 << 3 | (i & 7));
}

static void bytes_give(const struct plan *p, uint32_t from, uint32_t to,
		       uint8_t *at, uint64_t bytes)
{
	uint64_t i;

	for (i = 0; i < bytes; i++)
		at[i] = byte_given(p, from, to, i);
}

/* The @i-th element of what a member gives. */
static struct number element_given(const struct plan *p, uint32_t from,
				   uint64_t i)
{
	struct number n = number_given(p->element, mixed(p->seed + from, i));
	uint8_t element[16];

	number_store(p->element, &n, element);
	return number_load(p->element, element);
}

/* Blocks in memory, with gaps. */
struct blocks {
	uint64_t bytes[RANKS_MAX], at[RANKS_MAX];
};

/* One that is under way at this member. */
struct call {
	struct plan plan;
	struct team *team;
	struct bgdma_coll_request *request;
	struct blocks ins, outs;
	uint64_t counts[RANKS_MAX];
	uint8_t *in, *out;
};

/* What a member gives, and gets, one block after the other: all bytes. */
static uint64_t blocks_make(struct blocks *b, const struct call *c, bool in)
{
	const struct plan *p = &c->plan;
	uint64_t at = 0;
	uint32_t i;

	for (i = 0; i < c->team->size; i++) {
		b->bytes[i] = in ? block_bytes(p, c->team->rank, i) :
				   block_bytes(p, i, c->team->rank);
		/* What is a block for one is one for all. */
		if (p->what.kind == BGDMA_GATHER || p->what.kind == BGDMA_ALLGATHER)
			b->bytes[i] = block_bytes(p, i, 0);
		if (p->what.kind == BGDMA_SCATTER)
			b->bytes[i] = block_bytes(p, 0, i);
		if (p->uneven)
			at += GAP;
		b->at[i] = at;
		at += b->bytes[i];
	}
	return at + GAP;
}

static void data_places(struct call *c)
{
	struct bgdma_collective *w = &c->plan.what;
	struct blocks *own = w->kind == BGDMA_SCATTER ? &c->ins : &c->outs;

	w->bytes = own->bytes[c->team->rank];
	if (w->kind == BGDMA_BROADCAST)
		w->bytes = block_bytes(&c->plan, 0, 0);
	if (!c->plan.uneven)
		return;
	if (w->kind == BGDMA_SCATTER || w->kind == BGDMA_ALLTOALL)
		w->in_blocks = (struct bgdma_blocks){ c->ins.bytes, c->ins.at };
	if (w->kind != BGDMA_SCATTER && w->kind != BGDMA_BROADCAST)
		w->out_blocks = (struct bgdma_blocks){ c->outs.bytes, c->outs.at };
}

static void data_give(struct call *c)
{
	struct plan *p = &c->plan;
	uint32_t rank = c->team->rank, root = p->what.root, i;
	uint8_t *own = c->out + c->outs.at[rank];

	switch (p->what.kind) {
	case BGDMA_BROADCAST:
		if (rank == root)
			bytes_give(p, root, 0, c->out, p->what.bytes);
		return;
	case BGDMA_SCATTER:
		for (i = 0; rank == root && i < c->team->size; i++)
			bytes_give(p, root, i, c->in + c->ins.at[i], c->ins.bytes[i]);
		if (p->in_place && rank == root)
			p->what.out = NULL;
		return;
	case BGDMA_ALLTOALL:
		/* In place what comes has the size of what goes. */
		p->in_place = p->in_place && !p->uneven;
		for (i = 0; i < c->team->size; i++)
			bytes_give(p, rank, i, (p->in_place ? c->out : c->in) +
				   c->ins.at[i], c->ins.bytes[i]);
		break;
	default:
		if (p->what.kind == BGDMA_GATHER && rank != root)
			own = c->out;
		bytes_give(p, rank, 0, p->in_place ? own : c->in,
			   c->outs.bytes[rank]);
	}
	if (p->in_place)
		p->what.in = NULL;
}

/* Elements that a member gives to a reduction. */
static uint64_t elements_of(struct call *c)
{
	struct bgdma_collective *w = &c->plan.what;
	uint32_t bytes = element_bytes(c->plan.element), i;
	uint64_t all = 0;

	w->count = c->plan.bytes / bytes;
	if (w->kind != BGDMA_REDUCE_SCATTER)
		return w->count;
	for (i = 0; i < c->team->size; i++) {
		c->counts[i] = block_bytes(&c->plan, 0, i) / bytes;
		all += c->counts[i];
	}
	if (c->plan.uneven)
		w->counts = c->counts;
	return all;
}

static void elements_give(struct call *c)
{
	struct plan *p = &c->plan;
	uint64_t i, count = elements_of(c);
	struct number n;

	p->what.op = &p->op;
	for (i = 0; i < count; i++) {
		n = element_given(p, c->team->rank, i);
		number_store(p->element, &n, (p->in_place ? c->out : c->in) +
			     i * element_bytes(p->element));
	}
	if (p->in_place)
		p->what.in = NULL;
}

static int call_start(struct call *c, struct team *team, const struct plan *plan)
{
	uint64_t in, out;

	c->plan = *plan;
	c->team = team;
	c->plan.what.root %= team->size;
	in = blocks_make(&c->ins, c, true) + team->size * plan->bytes;
	out = blocks_make(&c->outs, c, false) + team->size * plan->bytes;
	c->in = calloc(1, in);
	c->out = malloc(out);
	require(c->in && c->out);
	memset(c->out, NOTHING, out);
	c->plan.what.in = c->in;
	c->plan.what.out = c->out;
	if (reduces(&c->plan)) {
		elements_give(c);
	} else {
		data_places(c);
		data_give(c);
	}
	if (bgdma_coll_algorithm(team->group, &c->plan.what) == -EINVAL)
		c->plan.what.algorithm = BGDMA_ALGORITHM_AUTO;
	team->under_way++;
	return bgdma_coll_start(team->group, &c->plan.what, &c->request);
}

/* ---- What comes out ----------------------------------------------------- */

/* A block is what @from has for @to, and the gap before it was not touched. */
static bool block_right(const struct call *c, uint32_t from, uint32_t to,
			uint64_t at, uint64_t bytes)
{
	uint64_t i;

	for (i = 0; i < bytes; i++)
		if (c->out[at + i] != byte_given(&c->plan, from, to, i))
			return false;
	for (i = 1; c->plan.uneven && i <= GAP && i <= at; i++)
		if (c->out[at - i] != NOTHING)
			return false;
	return true;
}

static bool data_right(const struct call *c)
{
	uint32_t rank = c->team->rank, root = c->plan.what.root, i;
	unsigned int kind = c->plan.what.kind;

	if (kind == BGDMA_BROADCAST)
		return block_right(c, root, 0, 0, c->plan.what.bytes);
	if (kind == BGDMA_SCATTER)
		return !c->plan.what.out ||
		       block_right(c, root, rank, 0, c->plan.what.bytes);
	if (kind == BGDMA_GATHER && rank != root)
		return true;
	for (i = 0; i < c->team->size; i++)
		if (!block_right(c, i, kind == BGDMA_ALLTOALL ? rank : 0,
				 c->outs.at[i], c->outs.bytes[i]))
			return false;
	return true;
}

/* Of the @i-th elements of members before @end, and as it looks when stored. */
static struct number joined(const struct plan *p, uint32_t end, uint64_t i)
{
	struct number sum = element_given(p, 0, i);
	uint8_t element[16];
	uint32_t member;

	for (member = 1; member < end; member++)
		sum = number_join(p->element, p->op.reduction, sum,
				  element_given(p, member, i));
	number_store(p->element, &sum, element);
	return number_load(p->element, element);
}

static bool elements_right(const struct call *c)
{
	const struct plan *p = &c->plan;
	uint32_t rank = c->team->rank, end = c->team->size, i;
	uint64_t j, count = p->what.count, first = 0;
	struct number found, right;

	if (p->what.kind == BGDMA_REDUCE && rank != p->what.root)
		return true;
	if (p->what.kind == BGDMA_SCAN || p->what.kind == BGDMA_EXSCAN)
		end = rank + (p->what.kind == BGDMA_SCAN);
	if (p->what.kind == BGDMA_REDUCE_SCATTER) {
		count = c->counts[rank];
		for (i = 0; i < rank; i++)
			first += c->counts[i];
	}
	for (j = 0; end && j < count; j++) {
		found = number_load(p->element,
				    c->out + j * element_bytes(p->element));
		right = joined(p, end, first + j);
		if (!number_same(&found, &right))
			return false;
	}
	return true;
}

static int call_end(struct call *c)
{
	const struct plan *p = &c->plan;

	require_is(0, bgdma_coll_request_wait(&c->request, BGDMA_SPIN_THEN_SLEEP,
					      (int64_t)PATIENCE_NS));
	if (!(reduces(p) ? elements_right(c) : data_right(c))) {
		fprintf(stderr, "# kind %u algorithm %u of %u: reduction %u element %u"
			" bytes %llu in place %d uneven %d summation %u\n",
			p->what.kind, p->what.algorithm, c->team->size,
			p->op.reduction, p->element, (unsigned long long)p->bytes,
			p->in_place, p->uneven, p->what.summation);
		return -EINVAL;
	}
	c->team->under_way--;
	free(c->in);
	free(c->out);
	memset(c, 0, sizeof(*c));
	return 0;
}

/* ---- The script --------------------------------------------------------- */

/* Ends some at random until so many are left, or none of a team. */
static int calls_end(struct call *calls, struct dice *own, unsigned int left,
		     const struct team *team)
{
	unsigned int n = 0, i;

	for (i = 0; i < AT_ONCE; i++)
		n += !!calls[i].team;
	while (n > left || (team && team->under_way)) {
		i = dice(own, AT_ONCE);
		if (!calls[i].team)
			continue;
		require_is(0, call_end(&calls[i]));
		n--;
	}
	return 0;
}

static struct call *call_free(struct call *calls)
{
	while (calls->team)
		calls++;
	return calls;
}

static uint64_t script_seed(void)
{
	const char *text = getenv("BGDMA_TEST_SEED");

	return text ? strtoull(text, NULL, 0) : (uint64_t)time(NULL) / 86400;
}

static int follow(uint32_t rank, uint32_t size, void *arg)
{
	struct dice script = { .seed = script_seed() + size };
	struct dice own = { .seed = script.seed ^ mixed(rank, size) };
	struct call calls[AT_ONCE] = { 0 };
	struct team teams[TEAMS] = { 0 }, *team;
	struct caller c = { 0 };
	struct plan plan;
	unsigned int step, i;

	(void)arg;
	require_is(0, caller_open(&c, 1));
	for (i = 0; i < TEAMS; i++)
		require_is(0, team_new(&c, &script, &teams[i]));
	for (step = 0; step < STEPS / slowness(); step++) {
		team = &teams[dice(&script, TEAMS)];
		if (!dice(&script, 20)) {
			require_is(0, calls_end(calls, &own, AT_ONCE, team));
			require_is(0, team_new(&c, &script, team));
			continue;
		}
		plan_new(&plan, &script);
		if (!team->group)
			continue;
		require_is(0, calls_end(calls, &own, dice(&own, AT_ONCE), NULL));
		require_is(0, call_start(call_free(calls), team, &plan));
	}
	require_is(0, calls_end(calls, &own, 0, NULL));
	for (i = 0; i < TEAMS; i++)
		bgdma_coll_group_destroy(teams[i].group);
	return caller_close(&c);
}

TEST_F_TIMEOUT(coll, dp8_random_sequences_on_random_groups, 300)
{
	static const uint32_t sizes[] = { 2, 5, 8 };
	unsigned int i;

	TH_LOG("BGDMA_TEST_SEED=%llu", (unsigned long long)script_seed());
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		EXPECT_TRUE(job_run(sizes[i], follow, NULL, -1));
}

TEST_HARNESS_MAIN
