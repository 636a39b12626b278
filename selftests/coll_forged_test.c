// SPDX-License-Identifier: GPL-2.0
/*
 * A process of the job that forges the packets by which collectives go. Groups in
 * which it is not go on, and what it says of them is counted (DP-9). One in which it
 * is it can spoil, but not so that others get a wrong result or wait for ever.
 */
#include <bgdma/collective.h>
#include <bgdma/module.h>
#include <bgdma/rendezvous.h>

#include "kselftest_harness.h"
#include "coll_util.h"

enum { VICTIM = 0, FRIEND = 1, FORGER = 2, JOB = 3 };

#define EAGER_MAX	4096
#define COUNT		100	/* elements of what the members reduce */
#define LONGEST		8192

static const struct bgdma_operator sum = { .reduction = BGDMA_SUM,
					   .element = BGDMA_U64 };

/* The word of a message, see lib/coll/collective.h. */
static uint64_t word_of(uint32_t serial, uint32_t number, uint8_t check)
{
	return (uint64_t)serial << 28 | (uint64_t)number << 8 | check;
}

#define WINDOW_MIN	(4 * (4096 + 128))
#define WINDOW_MAX	(1U << 20)

enum way { PIECE, GIVE, STOP, LONG, RTS, WAYS };

static const char *const names[WAYS] = {
	[PIECE] = "piece", [STOP] = "stop", [LONG] = "long", [RTS] = "long",
};

/* Its name has the window, see lib/coll/credit.c. */
static const char *give_name(const struct caller *c)
{
	uint64_t half = bgdma_endpoint_share(c->m.ep) / 2;
	static char name[64];

	if (half < WINDOW_MIN)
		half = WINDOW_MIN;
	if (half > WINDOW_MAX)
		half = WINDOW_MAX;
	snprintf(name, sizeof(name), "give, %u bytes for each member",
		 (unsigned int)half);
	return name;
}

/*
 * @times: so often
 * @malformed: each is counted, and ends nothing
 */
struct forgery {
	enum way way;
	uint32_t number;
	uint8_t check;
	uint32_t length;
	uint32_t data;			/* the first of it */
	unsigned int times;
	bool malformed;
};

static uint32_t ids[WAYS];

static int find_ids(struct caller *c)
{
	enum way way;

	for (way = 0; way < WAYS; way++)
		require_is(0, operation_id(c, way == GIVE ? give_name(c) :
							    names[way],
					   way == LONG || way == RTS ?
					   BGDMA_POINT_TO_POINT :
					   BGDMA_COLLECTIVE, &ids[way]));
	return 0;
}

static void ended(void *arg, int result, uint64_t bytes)
{
	(void)result;
	(void)bytes;
	++*(unsigned int *)arg;
}

/* Rendezvous that have been announced, and that have ended. */
static unsigned int announced, over;

static bool all_over(void *arg)
{
	(void)arg;
	return over == announced;
}

static int forge_once(struct caller *c, const struct forgery *f, uint32_t serial)
{
	static uint8_t data[LONGEST] PINNED;
	const uint64_t word = word_of(serial, f->number, f->check);
	const struct bgdma_send_attr send = {
		.operation = ids[f->way], .dest = VICTIM, .word = word,
		.type = f->way == RTS ? BGDMA_POINT_TO_POINT : BGDMA_COLLECTIVE,
		.data = data, .length = f->length,
	};
	const struct bgdma_rendezvous_attr rendezvous = {
		.operation = send.operation, .dest = VICTIM, .word = word,
		.data = data, .length = f->length, .done = ended, .arg = &over,
	};
	int ret;

	memcpy(data, &f->data, sizeof(f->data));
	do {
		ret = f->way == LONG ?
			bgdma_rendezvous_send(c->m.ep, &rendezvous) :
			bgdma_endpoint_send(c->m.ep, &send);
		if (ret == -EAGAIN)
			(void)bgdma_endpoint_wait(c->m.ep, 1000000);
	} while (ret == -EAGAIN);
	announced += f->way == LONG;
	return ret;
}

static int forge(struct caller *c, const struct forgery *f, uint32_t serial)
{
	unsigned int i;

	for (i = 0; i < f->times; i++)
		require_is(0, forge_once(c, f, serial));
	return 0;
}

/* Of a group that it is not in, or that there is not. */
static const struct forgery strangers[] = {
	{ PIECE, .length = COUNT * 8, .times = 20, .malformed = true },
	{ PIECE, .length = 0, .times = 1, .malformed = true },
	{ PIECE, .number = 1000, .length = EAGER_MAX, .times = 1,
	  .malformed = true },
	{ GIVE, .number = 1, .times = 1, .malformed = true },
	{ GIVE, .number = 1, .length = 8, .times = 1, .malformed = true },
	{ STOP, .length = 4, .data = FRIEND, .times = 2, .malformed = true },
	{ STOP, .length = 4, .data = BGDMA_STRANGER, .times = 1,
	  .malformed = true },
	{ STOP, .length = 4, .data = JOB, .times = 1, .malformed = true },
	{ STOP, .length = 0, .times = 1, .malformed = true },
	{ STOP, .length = 8, .times = 1, .malformed = true },
	/* What is announced is refused. */
	{ LONG, .length = 5000, .times = 20, .malformed = true },
	{ RTS, .length = 10, .times = 1, .malformed = true },
	{ RTS, .length = 0, .times = 1, .malformed = true },
};

#define STRANGERS	(sizeof(strangers) / sizeof(strangers[0]))

static int reduce(struct caller *c, uint32_t size, uint32_t value)
{
	uint64_t x[COUNT] = { value };
	struct bgdma_collective what = { .kind = BGDMA_ALLREDUCE, .op = &sum,
					 .count = COUNT, .out = x };
	struct bgdma_coll_request *r = NULL;
	int ret;

	ret = bgdma_coll_start(c->group, &what, &r);
	if (!ret)
		ret = bgdma_coll_request_wait(&r, BGDMA_SPIN_THEN_SLEEP,
					      (int64_t)PATIENCE_NS);
	/* Whoever gets one gets the right one. */
	require(ret || x[0] == (uint64_t)size * value);
	return ret;
}

struct told {
	volatile uint64_t malformed;	/* + 1, when all are sent */
};

static struct told *told;

/* What the forger announced ends when the victim makes progress: before the word of it. */
static bool all_counted(void *arg)
{
	uint64_t is = malformed(arg);

	return told->malformed && is >= told->malformed - 1;
}

/* Each of a group of two, then of the next split, which nobody has begun. */
static int stranger(uint32_t rank, uint32_t size, void *arg)
{
	const struct bgdma_split_attr split = {
		.color = rank == FORGER ? BGDMA_SPLIT_NONE : 0,
	};
	struct caller c = { 0 };
	uint64_t count = 0;
	unsigned int i;

	(void)arg;
	require_is(0, caller_open(&c, 1));
	require_is(0, find_ids(&c));
	require_is(0, bgdma_coll_split(c.coll, &split, &c.group));
	place(0, size);
	for (i = 0; rank == FORGER && i < STRANGERS; i++) {
		require_is(0, forge(&c, &strangers[i], 0));
		require_is(0, forge(&c, &strangers[i], 1));
		count += 2 * strangers[i].times;
	}
	if (rank == FORGER) {
		require_is(0, member_until(&c.m, all_over, NULL));
		told->malformed = count + 1;
	} else {
		for (i = 0; i < 200; i++)
			require_is(0, reduce(&c, 2, i));
	}
	if (rank == VICTIM) {
		require(until(all_counted(&c)));
		require_is(told->malformed - 1, malformed(&c));
	}
	if (rank != FORGER)
		require_is(0, reduce(&c, 2, 7));
	place(1, size);
	return caller_close(&c);
}

FIXTURE(forged) {
};

FIXTURE_SETUP(forged)
{
	board = shared(sizeof(*board));
	told = shared(sizeof(*told));
}

FIXTURE_TEARDOWN(forged)
{
}

TEST_F_TIMEOUT(forged, dp9_x2_of_a_group_of_others, 120)
{
	partition_new("3x1x1", "");
	EXPECT_TRUE(job_run(JOB, stranger, NULL, -1));
}

/* Others make progress until all are here. */
static void meet(struct caller *c, uint32_t which, uint32_t size)
{
	uint32_t *here = &board->here[which % 16];

	__atomic_fetch_add(here, 1, __ATOMIC_ACQ_REL);
	while (load(here) < size * (which / 16 + 1))
		(void)bgdma_endpoint_wait(c->m.ep, 1000000);
}

enum outcome {
	ENDS,		/* the group, at the victim */
	MAY_END,	/* it, if the victim waits for something of the forger's */
	NOTHING		/* it is counted */
};

/* Of a group that it is in, each of another one. */
static const struct {
	struct forgery f;
	enum outcome outcome;
} members[] = {
	/* Too long; of another meaning; of another length. */
	{ { PIECE, .length = EAGER_MAX + 1, .times = 1 }, ENDS },
	{ { PIECE, .length = LONGEST, .times = 1 }, ENDS },
	{ { PIECE, .check = 1, .length = COUNT * 8, .times = 1 }, MAY_END },
	{ { PIECE, .check = 1, .length = 0, .times = 1 }, MAY_END },
	{ { PIECE, .length = 0, .times = 3 }, MAY_END },
	{ { LONG, .length = 5000, .times = 1 }, MAY_END },
	/* More than anybody may keep here. */
	{ { PIECE, .number = 1000, .length = EAGER_MAX, .times = 1000 }, ENDS },
	{ { PIECE, .number = 1000, .length = 0, .times = 20000 }, ENDS },
	{ { LONG, .number = 1000, .length = 5000, .times = 10000 }, ENDS },
	/* That it has stopped, and why: of one who lives, of itself, of nobody. */
	{ { STOP, .length = 4, .data = FRIEND, .times = 2 }, ENDS },
	{ { STOP, .length = 4, .data = FORGER, .times = 1 }, ENDS },
	{ { STOP, .length = 4, .data = BGDMA_STRANGER, .times = 1 }, ENDS },
	/* What means nothing. */
	{ { STOP, .length = 4, .data = JOB, .times = 1 }, NOTHING },
	{ { STOP, .length = 0, .times = 1 }, NOTHING },
	{ { GIVE, .number = 0xfffff, .times = 1 }, NOTHING },
	{ { GIVE, .length = 8, .times = 1 }, NOTHING },
	{ { RTS, .length = 10, .times = 1 }, NOTHING },
};

#define MEMBERS		(sizeof(members) / sizeof(members[0]))

/* What the forger has sent is there before any of them begins. */
static int after_forgery(struct caller *c, unsigned int i, uint32_t rank,
			 uint32_t size)
{
	enum outcome outcome = members[i].outcome;
	uint64_t before = malformed(c);
	int first, second;

	/* The end of a group would end its making. */
	meet(c, 3 * i, size);
	if (rank == FORGER) {
		require_is(0, forge(c, &members[i].f, 1 + i));
		require_is(0, bgdma_endpoint_flush(c->m.ep,
						   (int64_t)PATIENCE_NS));
	}
	meet(c, 3 * i + 1, size);
	first = reduce(c, size, 1);
	second = reduce(c, size, 2);
	require(!first || first == -EBADMSG || first == -EIO ||
		first == -EHOSTDOWN);
	require(!first || second);
	if (outcome == NOTHING)
		require_is(0, second);
	if (outcome == NOTHING && rank == VICTIM)
		require_is(before + members[i].f.times, malformed(c));
	if (outcome == ENDS && rank == VICTIM)
		require(second);
	meet(c, 3 * i + 2, size);
	return 0;
}

static int spoiling_member(uint32_t rank, uint32_t size, void *arg)
{
	const struct bgdma_split_attr apart = { .color = rank == FORGER };
	struct bgdma_coll_group *mine;
	struct caller c = { 0 };
	unsigned int i;

	(void)arg;
	require_is(0, caller_open(&c, 1));
	require_is(0, find_ids(&c));
	require_is(0, bgdma_coll_split(c.coll, &apart, &mine));
	for (i = 0; i < MEMBERS; i++) {
		require_is(0, bgdma_coll_split(c.coll, NULL, &c.group));
		require_is(0, after_forgery(&c, i, rank, size));
		bgdma_coll_group_destroy(c.group);
		/* What else they have goes on. */
		c.group = mine;
		require_is(0, reduce(&c, rank == FORGER ? 1 : 2, i));
	}
	require_is(0, member_until(&c.m, all_over, NULL));
	return caller_close(&c);
}

TEST_F_TIMEOUT(forged, dp9_x2_of_its_own_group, 300)
{
	partition_new("3x1x1", "");
	EXPECT_TRUE(job_run(JOB, spoiling_member, NULL, -1));
}

TEST_HARNESS_MAIN
