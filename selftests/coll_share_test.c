// SPDX-License-Identifier: GPL-2.0
/*
 * What is sent to a process that makes no progress has its share of the reception FIFO,
 * for all groups and tagged messages together: what is for others goes on.
 */
#include <bgdma/collective.h>
#include <bgdma/msg.h>

#include "kselftest_harness.h"
#include "coll_util.h"

#define RANKS		8
#define SLEEPS		0
#define HEARS		4	/* in one channel with it */
#define GROUPS		3
#define GATHERS		24
#define BYTES		4096U
#define MESSAGES	200
#define TAG		1000

/* What is begun, and what it is about. */
struct flood {
	struct bgdma_coll_group *group[GROUPS];
	struct bgdma_coll_request *gather[GROUPS][GATHERS];
	struct bgdma_msg_request *message[MESSAGES];
	struct bgdma_msg *msg;
	uint8_t all[RANKS * BYTES];
};

static int flood_open(struct caller *c, struct flood *f)
{
	uint32_t i;

	require_is(0, member_open(&c->m, NULL));
	require_is(0, bgdma_msg_create(&f->msg, c->m.ep, NULL));
	require_is(0, bgdma_coll_create(&c->coll, c->m.ep, c->m.job));
	require_is(0, bgdma_endpoint_commit(c->m.ep, NULL));
	for (i = 0; i < GROUPS; i++)
		require_is(0, bgdma_coll_split(c->coll, NULL, &f->group[i]));
	return bgdma_job_fence(c->m.job);
}

static int gathers_start(struct flood *f, bool root)
{
	const struct bgdma_collective what = {
		.kind = BGDMA_GATHER, .algorithm = BGDMA_LINEAR, .root = SLEEPS,
		.in = f->all, .out = root ? f->all : NULL, .bytes = BYTES,
	};
	uint32_t i, j;

	for (i = 0; i < GROUPS; i++)
		for (j = 0; j < GATHERS; j++)
			require_is(0, bgdma_coll_start(f->group[i], &what,
						       &f->gather[i][j]));
	return 0;
}

static int gathers_end(struct flood *f)
{
	uint32_t i, j;

	for (i = 0; i < GROUPS; i++)
		for (j = 0; j < GATHERS; j++)
			require_is(0, bgdma_coll_request_wait(&f->gather[i][j],
					BGDMA_SPIN_THEN_SLEEP,
					(int64_t)PATIENCE_NS));
	return 0;
}

static int messages_start(struct flood *f, uint32_t messages)
{
	uint32_t i;

	for (i = 0; i < messages; i++)
		require_is(0, bgdma_msg_isend(f->msg, f->all, BYTES, SLEEPS, i, 0,
					      &f->message[i]));
	return 0;
}

/* HEARS hears of each of the others, whose messages are behind all that has room. */
static int hear(struct caller *c, struct flood *f)
{
	struct bgdma_msg_request *r[RANKS] = { NULL };
	static uint64_t words[RANKS];
	uint32_t rank = c->m.rank, i;

	if (rank != HEARS)
		require_is(0, bgdma_msg_isend(f->msg, words, sizeof(*words), HEARS,
					      TAG, 0, &r[0]));
	for (i = 1; rank == HEARS && i < RANKS; i++)
		if (i != HEARS)
			require_is(0, bgdma_msg_irecv(f->msg, &words[i],
						      sizeof(*words), i, TAG, 0,
						      &r[i]));
	require(until(bgdma_msg_testall(r, RANKS, NULL)));
	return 0;
}

static int others_go_on(struct caller *c, struct flood *f, uint32_t messages)
{
	uint32_t i;

	require_is(0, gathers_start(f, false));
	require_is(0, messages_start(f, messages));
	for (i = 0; i < 100; i++)
		require(bgdma_endpoint_progress(c->m.ep, 0) >= 0);
	place(0, RANKS - 1);
	require_is(0, hear(c, f));
	place(1, 1);
	require_is(0, gathers_end(f));
	return bgdma_msg_waitall(f->message, messages, NULL);
}

static int sleeps(struct flood *f, uint32_t messages)
{
	uint32_t i, from;

	place(1, RANKS);
	require_is(0, gathers_start(f, true));
	require_is(0, gathers_end(f));
	for (from = 1; from < RANKS; from++)
		for (i = 0; i < messages; i++)
			require_is(0, bgdma_msg_recv(f->msg, f->all, BYTES, from, i,
						     0, NULL));
	return 0;
}

static int floods(uint32_t rank, uint32_t size, void *arg)
{
	const uint32_t *messages = arg;
	static struct flood f;
	struct caller c = { 0 };
	uint32_t i;

	(void)size;
	require_is(0, flood_open(&c, &f));
	if (rank == SLEEPS)
		require_is(0, sleeps(&f, *messages));
	else
		require_is(0, others_go_on(&c, &f, *messages));
	for (i = 0; i < GROUPS; i++)
		bgdma_coll_group_destroy(f.group[i]);
	return member_close(&c.m);
}

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

TEST_F(coll, dp6_several_groups_fill_no_fifo)
{
	uint32_t messages = 0;

	EXPECT_TRUE(job_run(RANKS, floods, &messages, -1));
}

TEST_F(coll, dp6_groups_and_messages_fill_no_fifo)
{
	uint32_t messages = MESSAGES;

	EXPECT_TRUE(job_run(RANKS, floods, &messages, -1));
}

TEST_HARNESS_MAIN
