// SPDX-License-Identifier: GPL-2.0
/*
 * Matching: random traffic of many processes, every pair of message and receive
 * held against the rule; and how it goes with very many of them.
 */
#include "kselftest_harness.h"
#include "msg_util.h"

/* ---- Against the rule -------------------------------------------------- */

#define RANKS		8
#define MESSAGES	100		/* that each process sends */
#define TAGS		4
#define CONTEXTS	2
#define LENGTH_MAX	20000
#define ROOM		(LENGTH_MAX + 8)
#define PIECES		3

/* What a process sends, as all of them know it. */
struct sent {
	uint32_t dest, tag, length;
	uint32_t cut;		/* see byte_at() */
	uint16_t context;
	bool synchronous;
	bool taken;		/* of those to us: by a receive before */
};

/*
 * What a process has asked for, and got. One that was probed is asked for when that
 * finds it.
 */
struct asked {
	uint32_t source, tag;
	uint32_t cut;
	uint16_t context;
	bool cancelled;
	bool early;		/* something may have come since that fits */
	struct bgdma_msg_message *message;
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
			s->cut = number_next(&state) % 4 || s->synchronous ? 0 :
				 number_next(&state) % s->length;
		}
	}
}

/* Of a message in pieces the first bytes, @cut of them, are behind the others. */
static uint8_t *byte_at(uint8_t *data, uint32_t cut, uint32_t at)
{
	return at < cut ? data + ROOM - cut + at : data + at - cut;
}

/* There may be nothing in a piece. */
static void pieces_of(struct iovec pieces[PIECES], uint8_t *data, uint32_t cut,
		      uint32_t length)
{
	pieces[0] = (struct iovec){ byte_at(data, cut, 0), cut };
	pieces[1] = (struct iovec){ NULL, 0 };
	pieces[2] = (struct iovec){ data, length - cut };
}

/* The head of a message says which it is. */
static uint8_t content(uint32_t rank, uint32_t k, uint32_t at)
{
	return at < sizeof(k) ? (uint8_t)(k >> 8 * at) : text_byte(rank, k, at);
}

static int send_next(struct talker *t, uint32_t k,
		     struct bgdma_msg_request **request, uint8_t *data)
{
	const struct sent *s = &sent[t->m.rank][k];
	struct iovec pieces[PIECES];
	uint32_t at;

	for (at = 0; at < s->length; at++)
		*byte_at(data, s->cut, at) = content(t->m.rank, k, at);
	pieces_of(pieces, data, s->cut, s->length);
	if (s->cut)
		return bgdma_msg_isendv(t->msg, pieces, PIECES, s->dest, s->tag,
					s->context, request);
	return s->synchronous ?
		bgdma_msg_issend(t->msg, data, s->length, s->dest, s->tag,
				 s->context, request) :
		bgdma_msg_isend(t->msg, data, s->length, s->dest, s->tag,
				s->context, request);
}

static int receive_next(struct talker *t, struct asked *a)
{
	struct iovec pieces[PIECES];

	pieces_of(pieces, a->data, a->cut, ROOM);
	return a->cut ?
		bgdma_msg_irecvv(t->msg, pieces, PIECES, a->source, a->tag,
				 a->context, &a->request) :
		bgdma_msg_irecv(t->msg, a->data, ROOM, a->source, a->tag,
				a->context, &a->request);
}

static bool fits(const struct asked *a, uint32_t source, const struct sent *s)
{
	return (a->source == source || a->source == ANY_SOURCE) &&
	       (a->tag == s->tag || a->tag == ANY_TAG) &&
	       a->context == s->context;
}

/* Is it for us, and nobody's yet? */
static bool is_free(struct talker *t, const struct sent *s)
{
	return s->dest == t->m.rank && !s->taken;
}

/*
 * Receives in the order in which they were posted: each has the first message
 * of its sender that fits it and that none before it has.
 */
static int judge(struct talker *t, const struct asked *a)
{
	uint32_t source = a->status.rank, k, number = 0;
	const struct sent *s;

	if (a->cancelled)
		return 0;
	require_is(0, a->status.error);
	require(source < RANKS);
	for (k = 0; k < sizeof(number); k++)
		number |= (uint32_t)*byte_at(a->data, a->cut, k) << 8 * k;
	require(number < MESSAGES);
	s = &sent[source][number];
	require_is(s->tag, a->status.tag);
	require_is(s->length, a->status.length);
	require(fits(a, source, s));
	require(is_free(t, s));
	for (k = 0; k < s->length; k++)
		require_is(content(source, number, k),
			   *byte_at(a->data, a->cut, k));
	for (k = 0; k < number; k++)
		require(!is_free(t, &sent[source][k]) ||
			!fits(a, source, &sent[source][k]));
	sent[source][number].taken = true;
	return 0;
}

/* All of a row; then those that got nothing: there was nothing for them. */
static int judge_all(struct talker *t, const struct asked *a, uint32_t count)
{
	uint32_t i, rank, k;

	for (i = 0; i < count; i++)
		require_is(0, judge(t, &a[i]));
	for (i = 0; i < count; i++) {
		if (!a[i].cancelled || a[i].early)
			continue;
		for (rank = 0; rank < RANKS; rank++)
			for (k = 0; k < MESSAGES; k++)
				require(!is_free(t, &sent[rank][k]) ||
					!fits(&a[i], rank, &sent[rank][k]));
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

/* Ask for something: by a receive, or by a probe, which may find nothing. */
static int ask(struct talker *t, struct asked *a, uint64_t *state, uint32_t *posted)
{
	uint32_t wild = number_next(state) % 6;
	int ret;

	a->source = wild & 1 ? ANY_SOURCE : number_next(state) % RANKS;
	a->tag = wild & 2 ? ANY_TAG : number_next(state) % TAGS;
	a->context = (uint16_t)(number_next(state) % CONTEXTS);
	if (number_next(state) % 4) {
		a->cut = number_next(state) % 4 ? 0 : number_next(state) % 6000;
		require_is(0, receive_next(t, a));
		++*posted;
		return 0;
	}
	a->cut = 0;
	ret = bgdma_msg_improbe(t->msg, a->source, a->tag, a->context,
				&a->message, &a->status);
	require(ret == 0 || ret == 1);
	*posted += (uint32_t)ret;
	return 0;
}

/* Take what a probe has found, or give up what was asked for, or do neither. */
static int meddle(struct talker *t, struct asked *a, uint32_t what)
{
	if (a->message && what % 2)
		return bgdma_msg_imrecv(t->msg, a->data, ROOM, &a->message,
					&a->request);
	if (a->request && !a->cancelled && what % 8 == 0)
		a->cancelled = a->early = !bgdma_msg_cancel(a->request);
	return 0;
}

/* Sends and receives in any order, with and without wildcards. */
static int mix(struct talker *t, struct asked *asked, uint32_t wanted,
	       struct bgdma_msg_request **sends, uint8_t *memory)
{
	uint32_t posted = 0, begun = 0;
	uint64_t state = t->m.rank + 77;

	while (begun < MESSAGES || posted < wanted) {
		if (begun < MESSAGES && number_next(&state) % 2) {
			require_is(0, send_next(t, begun, &sends[begun],
						memory + begun * ROOM));
			begun++;
		} else if (posted < wanted) {
			require_is(0, ask(t, &asked[posted], &state, &posted));
		}
		if (posted)
			require_is(0, meddle(t,
					&asked[number_next(&state) % posted],
					number_next(&state)));
		if (number_next(&state) % 4 == 0)
			require(bgdma_endpoint_progress(t->m.ep, 0) >= 0);
	}
	return 0;
}

/* Take what was found, and give up the rest: so many messages are nobody's yet. */
static int settle(struct talker *t, struct asked *asked, uint32_t count, uint32_t *left)
{
	struct asked *a;

	*left = 0;
	for (a = asked; a < asked + count; a++) {
		if (a->message)
			require_is(0, bgdma_msg_imrecv(t->msg, a->data, ROOM,
						       &a->message,
						       &a->request));
		else if (!a->cancelled)
			a->cancelled = !bgdma_msg_cancel(a->request);
		*left += a->cancelled;
	}
	return 0;
}

/* Receive whatever has come, by one call or by two: so many messages. */
static int drain(struct talker *t, struct asked *asked, uint32_t count)
{
	struct bgdma_msg_status status;
	uint16_t context = 0;
	struct asked *a;

	for (a = asked; a < asked + count; a++) {
		do {
			context = (uint16_t)(context + 1) % CONTEXTS;
		} while (bgdma_msg_iprobe(t->msg, ANY_SOURCE, ANY_TAG, context,
					  &status) != 1);
		*a = (struct asked){ .source = ANY_SOURCE, .tag = ANY_TAG,
				     .context = context, .data = a->data };
		if ((a - asked) % 2) {
			require_is(0, receive_next(t, a));
			continue;
		}
		a->source = status.rank;
		a->tag = status.tag;
		require_is(0, bgdma_msg_mprobe(t->msg, a->source, a->tag,
					       context, &a->message, &a->status));
		require_is(status.rank, a->status.rank);
		require_is(status.length, a->status.length);
		require_is(0, bgdma_msg_imrecv(t->msg, a->data, ROOM,
					       &a->message, &a->request));
	}
	return 0;
}

static int traffic(uint32_t rank, uint32_t size, void *arg)
{
	static struct asked asked[2 * RANKS * MESSAGES];
	static struct bgdma_msg_request *sends[MESSAGES];
	uint32_t wanted = messages_to(rank), left, i;
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
	require_is(0, settle(&t, asked, wanted, &left));
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

	partition_new("8x1x1", "");
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

/* The last of many is received first, and most of the job has to do with neither. */
#define JOB		24
#define OF_LARGE	5800

static int last_first(uint32_t rank, uint32_t size, void *arg)
{
	static struct bgdma_msg_request *r[OF_LARGE];
	struct talker t = { 0 };
	uint32_t i, number;

	(void)size;
	(void)arg;
	require_is(0, talker_open(&t, (struct bgdma_endpoint_attr){ 0 }, NULL));
	for (i = 0; rank == 0 && i < OF_LARGE; i++)
		require_is(0, bgdma_msg_issend(t.msg, &i, 0, 1, i, 0, &r[i]));
	for (i = OF_LARGE; rank == 1 && i--;)
		require_is(0, bgdma_msg_recv(t.msg, &number, sizeof(number), 0,
					     i, 0, NULL));
	if (rank == 0)
		require_is(0, bgdma_msg_waitall(r, OF_LARGE, NULL));
	return talker_close(&t);
}

TEST(lc6_msg_outstanding_in_a_large_job)
{
	partition_new("24x1x1", "");
	EXPECT_TRUE(job_run(JOB, last_first, NULL, -1));
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
