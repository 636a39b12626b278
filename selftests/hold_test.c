// SPDX-License-Identifier: GPL-2.0
/*
 * What a thread of the engine does for everybody before it turns to others, and
 * how long it keeps a lock that all need, does not grow with what a user has
 * . Counted, not timed: the engine tells of each full batch, by the
 * tracepoint bgdma_hold.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"
#include "tracing.h"
#include "utils.h"

#define HOLD_MAX	32U	/* BGDMA_HOLD_MAX of the engine */
#define RUNG_MAX	256U	/* BGDMA_RUNG_MAX */
#define CONTEXTS	40
#define WAITERS		1000
#define FIFOS		128
#define RINGERS		8
#define SETTINGS	"poll-ns 1000000000"
#define BATCHES		20	/* one of so many had been too large */

FIXTURE(hold) {
	bool ready;
};

FIXTURE_SETUP(hold)
{
	self->ready = tracing_begin();
	if (!self->ready)
		SKIP(return, "needs root, and a kernel with tracing");
	must(write_file(INSTANCE "/events/bgdma/bgdma_hold/enable", "1"));
	/* Whoever worked is polled for as long as the tests need. */
	partition_new("4x1x1", SETTINGS);
}

FIXTURE_TEARDOWN(hold)
{
	if (self->ready)
		tracing_end();
}

struct batches {
	unsigned int n, largest;
};

/* Each test is a process of its own. */
static struct batches seen;

/* How large the batch of a line is; 0: it is of no batch of that kind. */
static unsigned int batch(const char *line, const char *kind)
{
	char begin[64];
	const char *at;

	snprintf(begin, sizeof(begin), " bgdma_hold: %s n=", kind);
	at = strstr(line, begin);
	return at ? (unsigned int)atoi(at + strlen(begin)) : 0;
}

/*
 * The full batches of a kind so far. What was read goes: the rest would push
 * what comes later out of the buffer.
 */
static struct batches batches(const char *kind)
{
	FILE *lines = tracing_lines();
	char line[256];
	unsigned int n;

	while (fgets(line, sizeof(line), lines)) {
		n = batch(line, kind);
		if (n > seen.largest)
			seen.largest = n;
		seen.n += n > 0;
	}
	fclose(lines);
	tracing_clear();
	return seen;
}

static void crowd_new(struct node *n, __u32 rank, __u32 fifos)
{
	const struct bgdma_attach room = {
		.ctx = BGDMA_CTX_ANY, .inj_fifos = fifos,
	};

	must(node_try(n, PARTITION, rank, &room));
}

/* The engine polls all of them; have there been enough full batches? */
static bool polled(struct node *n)
{
	unsigned int i;

	for (i = 0; i < CONTEXTS; i++)
		must(doorbell(&n[i], BGDMA_DOORBELL_POOL));
	return batches("polled").n >= BATCHES;
}

/* More contexts are polled than fit into one hold. */
TEST_F(hold, x2_of_polled_contexts)
{
	struct node n[CONTEXTS];
	unsigned int i;

	for (i = 0; i < CONTEXTS; i++)
		crowd_new(&n[i], 0, 1);
	EXPECT_TRUE(until(polled(n)));
	EXPECT_EQ(HOLD_MAX, batches("polled").largest);
	for (i = 0; i < CONTEXTS; i++)
		node_close(&n[i]);
}

/* All wait for one FIFO; its reader makes room once. */
TEST_F(hold, x2_of_streams_that_wait)
{
	struct inj *f = calloc(WAITERS, sizeof(*f));
	unsigned int i;
	struct node n;
	struct rec r;

	ASSERT_NE(NULL, f);
	crowd_new(&n, 2, WAITERS);
	ASSERT_EQ(0, rec_try(&r, &n, BGDMA_ID_ANY, BGDMA_REC_BYTES_MIN));
	ASSERT_LT(WAITERS / 2, senders_wait(&n, f, WAITERS, &r));
	EXPECT_EQ(0, batches("parked").n);
	for (i = 0; i < WAITERS; i++)
		number_wait(&r);
	EXPECT_EQ(HOLD_MAX, batches("parked").largest);
	node_close(&n);
	free(f);
}

/* All FIFOs of all of them; have there been enough full batches? */
static bool rung(struct node *n)
{
	unsigned int i, k;

	for (i = 0; i < RINGERS; i++) {
		for (k = 0; k < FIFOS / 64; k++)
			store(&n[i].uctl->doorbell[k], ~0ULL);
		/* It may have been polled for long enough in vain. */
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		if (load(&n[i].kctl->wake))
			must(doorbell(&n[i], BGDMA_DOORBELL_POOL));
	}
	return batches("rung").n >= BATCHES;
}

/* FIFOs with nothing in them are rung without end; others have their turn. */
TEST_F(hold, x2_of_doorbells_for_nothing)
{
	struct node n[RINGERS];
	struct inj f;
	unsigned int i, k;

	for (i = 0; i < RINGERS; i++) {
		crowd_new(&n[i], 0, FIFOS);
		for (k = 0; k < FIFOS; k++)
			ASSERT_EQ(0, inj_try(&f, &n[i], BGDMA_ID_ANY, 16));
		must(doorbell(&n[i], BGDMA_DOORBELL_POOL));
	}
	/* Mostly it has looked before all of them are rung. */
	(void)until(rung(n));
	if (!batches("rung").n)
		SKIP(goto out, "no full batch: the engine looks faster than one can ring");
	/* Those of the last context came in one go. */
	EXPECT_GT(RUNG_MAX + FIFOS, batches("rung").largest);
out:
	for (i = 0; i < RINGERS; i++)
		node_close(&n[i]);
}

/* Whether there is one, which stays to be read. */
static bool batch_told(const char *kind)
{
	FILE *lines = tracing_lines();
	bool told = false;
	char line[256];

	while (!told && fgets(line, sizeof(line), lines))
		told = batch(line, kind);
	fclose(lines);
	return told;
}

/* A partition is deleted while all streams of a context are on the run list. */
static void crowd_dies(void)
{
	struct bgdma_desc d;
	struct region r;
	struct inj f;
	struct node n;
	unsigned int i, k;

	crowd_new(&n, 0, WAITERS);
	region_new(&r, &n, 2 * MIB);
	/* More than the engine can do meanwhile. */
	d = d_copy(r.handle, 0, r.handle, MIB, MIB);
	for (i = 0; i < WAITERS; i++) {
		must(inj_try(&f, &n, BGDMA_ID_ANY, 16));
		for (k = 0; k < 15; k++)
			put_in(&f, &d);
		post(&f);
	}
	/* Threads that copy may not have looked at the doorbells yet. */
	must(doorbell(&n, BGDMA_DOORBELL_POOL));
	must(-partition("del", PARTITION, ""));
	usleep(100000);
	node_close(&n);
}

/*
 * Threads that are at the context at the same time find it busy by each other,
 * and take the streams one by one: then again.
 */
TEST_F_TIMEOUT(hold, x2_of_streams_of_a_deleted_partition, 120)
{
	unsigned int tries = 40;

	crowd_dies();
	while (!batch_told("passed") && --tries) {
		partition_new("4x1x1", SETTINGS);
		crowd_dies();
	}
	if (!tries)
		SKIP(return, "its threads kept the context busy each time");
	EXPECT_EQ(HOLD_MAX, batches("passed").largest);
}

TEST_HARNESS_MAIN
