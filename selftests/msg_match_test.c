// SPDX-License-Identifier: GPL-2.0
/*
 * Matching: random traffic of many processes, every pair of message and receive
 * held against the rule; and how it goes with very many of them.
 */
#include "kselftest_harness.h"
#include "msg_util.h"

/* ---- Against the rule -------------------------------------------------- */

#define RANKS		5
#define MESSAGES	160		/* that each process sends */
#define TAGS		4
#define CONTEXTS	2
#define LENGTH_MAX	20000

/* What a process sends, as all of them know it. */
struct sent {
	uint32_t dest, tag, length;
	uint16_t context;
	bool synchronous;
	bool taken;		/* of those to us: by a receive before */
};

/* What a process has asked for, and got. */
struct asked {
	uint32_t source, tag;
	uint16_t context;
	bool cancelled;
	struct bgdma_msg_request *request;
	struct bgdma_msg_status status;
	uint8_t *data;
};

static struct sent sent[RANKS][MESSAGES];

static uint32_t length_next(uint64_t *state)
{
	static const uint32_t most[] = { 1, 30, 5000, LENGTH_MAX };

	return number_next(state) % most[number_next(state) % 4];
}

static void plan(uint32_t seed)
{
	uint64_t state = seed;
	uint32_t i, k;

	for (i = 0; i < RANKS; i++) {
		for (k = 0; k < MESSAGES; k++) {
			struct sent *s = &sent[i][k];

			s->dest = number_next(&state) % RANKS;
			s->tag = number_next(&state) % TAGS;
			s->context = (uint16_t)(number_next(&state) % CONTEXTS);
			s->length = 8 + length_next(&state);
			s->synchronous = number_next(&state) % 8 == 0;
		}
	}
}

/* The head of a message says which it is. */
static int send_next(struct talker *t, uint32_t k,
		     struct bgdma_msg_request **request, uint8_t *data)
{
	const struct sent *s = &sent[t->m.rank][k];

	text_fill(data, s->length, t->m.rank, k);
	memcpy(data, &k, sizeof(k));
	return s->synchronous ?
		bgdma_msg_issend(t->msg, data, s->length, s->dest, s->tag,
				 s->context, request) :
		bgdma_msg_isend(t->msg, data, s->length, s->dest, s->tag,
				s->context, request);
}

static int receive_next(struct talker *t, struct asked *a, uint32_t source,
			uint32_t tag, uint16_t context)
{
	a->source = source;
	a->tag = tag;
	a->context = context;
	return bgdma_msg_irecv(t->msg, a->data, LENGTH_MAX + 8, source, tag,
			       context, &a->request);
}

static bool fits(const struct asked *a, uint32_t source, const struct sent *s)
{
	return (a->source == source || a->source == ANY_SOURCE) &&
	       (a->tag == s->tag || a->tag == ANY_TAG) &&
	       a->context == s->context;
}

/*
 * Receives in the order in which they were posted: each has the first message
 * of its sender that fits it and that none before it has.
 */
static int judge(struct talker *t, const struct asked *a)
{
	uint32_t source = a->status.rank, k, number;
	const struct sent *s;

	if (a->cancelled)
		return 0;
	require_is(0, a->status.error);
	require(source < RANKS);
	memcpy(&number, a->data, sizeof(number));
	require(number < MESSAGES);
	s = &sent[source][number];
	require_is(t->m.rank, s->dest);
	require_is(s->tag, a->status.tag);
	require_is(s->length, a->status.length);
	require(fits(a, source, s));
	require(!s->taken);
	for (k = sizeof(number); k < s->length; k++)
		require_is(text_byte(source, number, k), a->data[k]);
	for (k = 0; k < number; k++) {
		const struct sent *before = &sent[source][k];

		require(before->dest != t->m.rank || before->taken ||
			!fits(a, source, before));
	}
	sent[source][number].taken = true;
	return 0;
}

/* All of a row; then those that got nothing: there was nothing for them. */
static int judge_all(struct talker *t, const struct asked *a, uint32_t count)
{
	uint32_t i, rank, k;
	const struct sent *s;

	for (i = 0; i < count; i++)
		require_is(0, judge(t, &a[i]));
	for (i = 0; i < count; i++) {
		for (rank = 0; a[i].cancelled && rank < RANKS; rank++) {
			for (k = 0; k < MESSAGES; k++) {
				s = &sent[rank][k];
				require(s->dest != t->m.rank || s->taken ||
					!fits(&a[i], rank, s));
			}
		}
	}
	return 0;
}

static uint32_t messages_to(uint32_t rank)
{
	uint32_t i, k, n = 0;

	for (i = 0; i < RANKS; i++)
		for (k = 0; k < MESSAGES; k++)
			n += sent[i][k].dest == rank;
	return n;
}

#define ROOM	(LENGTH_MAX + 8)

/* Sends and receives in any order, with and without wildcards. */
static int mix(struct talker *t, struct asked *asked, uint32_t wanted,
	       struct bgdma_msg_request **sends, uint8_t *memory)
{
	uint32_t posted = 0, begun = 0, wild;
	uint64_t state = t->m.rank + 77;

	while (begun < MESSAGES || posted < wanted) {
		if (begun < MESSAGES && number_next(&state) % 2) {
			require_is(0, send_next(t, begun, &sends[begun],
						memory + begun * ROOM));
			begun++;
		} else if (posted < wanted) {
			wild = number_next(&state) % 6;
			require_is(0, receive_next(t, &asked[posted++],
				wild & 1 ? ANY_SOURCE :
					   number_next(&state) % RANKS,
				wild & 2 ? ANY_TAG : number_next(&state) % TAGS,
				(uint16_t)(number_next(&state) % CONTEXTS)));
		}
		if (number_next(&state) % 4 == 0)
			require(bgdma_endpoint_progress(t->m.ep, 0) >= 0);
	}
	return 0;
}

/* Receive whatever has come: so many messages. */
static int drain(struct talker *t, struct asked *asked, uint32_t count)
{
	uint32_t n = 0;
	uint16_t context = 0;

	while (n < count) {
		context = (uint16_t)(context + 1) % CONTEXTS;
		if (bgdma_msg_iprobe(t->msg, ANY_SOURCE, ANY_TAG, context,
				     NULL) != 1)
			continue;
		require_is(0, receive_next(t, &asked[n++], ANY_SOURCE, ANY_TAG,
					   context));
	}
	return 0;
}

static int traffic(uint32_t rank, uint32_t size, void *arg)
{
	static struct asked asked[2 * RANKS * MESSAGES];
	static struct bgdma_msg_request *sends[MESSAGES];
	uint32_t wanted = messages_to(rank), left = 0, i;
	const struct bgdma_msg_attr *attr = arg;
	static uint8_t *memory;
	struct talker t = { 0 };

	(void)size;
	require_is(0, talker_open(&t, (struct bgdma_endpoint_attr){ 0 }, attr));
	memory = calloc(wanted * 2ULL + MESSAGES, ROOM);
	require(memory);
	for (i = 0; i < 2 * wanted; i++)
		asked[i].data = memory + (size_t)i * ROOM;
	require_is(0, mix(&t, asked, wanted, sends,
			  memory + 2ULL * wanted * ROOM));
	/* All are here, at the head at least: who waits now waits in vain. */
	require_is(0, talker_fence(&t));
	for (i = 0; i < wanted; i++) {
		asked[i].cancelled = !bgdma_msg_cancel(asked[i].request);
		left += asked[i].cancelled;
	}
	require_is(0, drain(&t, asked + wanted, left));
	for (i = 0; i < wanted + left; i++)
		require_is(asked[i].cancelled ? -ECANCELED : 0,
			   bgdma_msg_wait(&asked[i].request,
					  &asked[i].status));
	require_is(0, bgdma_msg_waitall(sends, MESSAGES, NULL));
	require_is(0, judge_all(&t, asked, wanted));
	require_is(0, judge_all(&t, asked + wanted, left));
	free(memory);
	return talker_close(&t);
}

TEST(msg_random_traffic_against_the_rule)
{
	struct bgdma_msg_attr attr = { 0 };
	uint32_t seed;

	partition_new("5x1x1", "");
	for (seed = 1; seed <= 4; seed++) {
		plan(seed);
		EXPECT_TRUE(job_run(RANKS, traffic, &attr, -1));
		/* With next to no room for what is not expected, and paced. */
		attr.unexpected_bytes = seed % 2 ? 20000 : 0;
		attr.portion = seed > 2 ? 4096 : 0;
	}
}

/* ---- Very many --------------------------------------------------------- */

#define MANY		10000
#define EACH		128	/* bytes of a message */

enum posting { IN_ORDER, REVERSED, AT_RANDOM, ONE_NEVER, POSTINGS };

struct many {
	enum posting posting;
	uint32_t counters;
};

/* Which receive is posted as number @i; MANY: none. */
static uint32_t nth(enum posting posting, uint32_t i)
{
	if (posting == REVERSED)
		return MANY - 1 - i;
	if (posting == AT_RANDOM)
		return (uint32_t)((uint64_t)i * 7919 % MANY);
	if (posting == ONE_NEVER && i == MANY / 2)
		return MANY;
	return i;
}

static int many(uint32_t rank, uint32_t size, void *arg)
{
	static struct bgdma_msg_request *r[MANY];
	const struct many *how = arg;
	const struct bgdma_endpoint_attr ep = {
		.inj_counters = how->counters, .rec_counters = how->counters,
	};
	const struct bgdma_msg_attr attr = { .eager_bytes = 1 };
	struct bgdma_region *region;
	struct talker t = { 0 };
	uint8_t *mem;
	uint32_t i, k;

	(void)size;
	require_is(0, talker_open(&t, ep, &attr));
	require_is(0, bgdma_region_alloc(bgdma_endpoint_ctx(t.m.ep),
			MANY * EACH, BGDMA_LOCAL_READ | BGDMA_LOCAL_WRITE,
			&region));
	require_is(0, bgdma_msg_expose(t.msg, region));
	mem = bgdma_region_addr(region);
	for (i = 0; rank == 0 && i < MANY; i++) {
		text_fill(mem + i * EACH, EACH, 0, i);
		require_is(0, bgdma_msg_isend(t.msg, mem + i * EACH, EACH, 1, i,
					      0, &r[i]));
	}
	/* All of them are outstanding. */
	require_is(0, talker_fence(&t));
	for (i = 0; rank == 1 && i < MANY; i++) {
		k = nth(how->posting, i);
		if (k < MANY)
			require_is(0, bgdma_msg_irecv(t.msg, mem + k * EACH,
						      EACH, 0, k, 0, &r[k]));
	}
	if (how->posting == ONE_NEVER && rank == 0) {
		struct bgdma_msg_request *never = r[MANY / 2];

		r[MANY / 2] = NULL;
		require_is(0, bgdma_msg_waitall(r, MANY, NULL));
		require_is(0, bgdma_msg_test(&never, NULL));
		/* Whom it is for is still there. */
		require_is(0, talker_fence(&t));
		return member_leave(&t.m);
	}
	require_is(0, bgdma_msg_waitall(r, MANY, NULL));
	for (i = 0; rank == 1 && i < MANY; i++)
		if (how->posting != ONE_NEVER || i != MANY / 2)
			require(text_is(mem + i * EACH, EACH, 0, i));
	if (how->posting == ONE_NEVER) {
		require_is(0, talker_fence(&t));
		return member_leave(&t.m);
	}
	return talker_close(&t);
}

TEST(lc6_msg_10000_outstanding)
{
	const uint32_t counters[] = { 64, 1 };
	struct many how;
	uint32_t i;

	partition_new("2x1x1", "");
	for (i = 0; i < 2; i++) {
		how.counters = counters[i];
		for (how.posting = 0; how.posting < POSTINGS; how.posting++)
			EXPECT_TRUE(job_run(2, many, &how, -1));
	}
}

/* ---- Bounds ------------------------------------------------------------ */

#define FLOOD		5000
#define PART		65536

/* Nobody receives: memory stays bounded, and another message gets through. */
static int flood(uint32_t rank, uint32_t size, void *arg)
{
	static struct bgdma_msg_request *r[FLOOD];
	const struct bgdma_msg_attr attr = { .unexpected_bytes = 2 * PART };
	static uint8_t data[FLOOD][100] PINNED, text[4096] PINNED;
	struct bgdma_msg_stats stats;
	struct talker t = { 0 };
	uint32_t i;

	(void)size;
	(void)arg;
	require_is(0, talker_open(&t, (struct bgdma_endpoint_attr){ 0 },
				  &attr));
	for (i = 0; rank == 0 && i < FLOOD; i++) {
		text_fill(data[i], sizeof(data[i]), 0, i);
		require_is(0, bgdma_msg_isend(t.msg, data[i], sizeof(data[i]),
					      1, 1, 0, &r[i]));
	}
	if (rank == 0) {
		bgdma_msg_stats(t.msg, &stats);
		require_is(PART / 484, stats.eager);
		require_is(0, bgdma_msg_send(t.msg, text, 100, 1, 2, 0));
		require_is(0, bgdma_msg_waitall(r, FLOOD, NULL));
		return talker_close(&t);
	}
	require_is(0, bgdma_msg_recv(t.msg, text, 100, 0, 2, 0, NULL));
	bgdma_msg_stats(t.msg, &stats);
	/* 384 bytes for each, and the text of some: not more than their part. */
	require(stats.kept_max <= PART + FLOOD * 384);
	for (i = 0; i < FLOOD; i++) {
		require_is(0, bgdma_msg_recv(t.msg, text, 100, 0, 1, 0, NULL));
		require(text_is(text, 100, 0, i));
	}
	/* Their part is theirs again. */
	bgdma_msg_stats(t.msg, &stats);
	require(stats.kept <= 2 * 384);
	return talker_close(&t);
}

TEST(msg_what_is_not_expected_is_bounded)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, flood, NULL, -1));
}

TEST_HARNESS_MAIN
