// SPDX-License-Identifier: GPL-2.0
/*
 * Sends that wait: nobody forgets them.
 */
#include "kselftest_harness.h"
#include "msg_util.h"

#define ANNOUNCED	64U	/* of each peer */

/* What waited behind a message that is cancelled has its turn. */
static int behind(uint32_t rank, uint32_t size, void *arg)
{
	const struct bgdma_msg_attr attr = { .announced = 2 * ANNOUNCED };
	static struct bgdma_msg_request *r[ANNOUNCED];
	struct bgdma_msg_request *waits, *next;
	struct talker t = { 0 };
	uint32_t i;

	(void)size;
	(void)arg;
	require_is(0, talker_open(&t, (struct bgdma_endpoint_attr){ 0 },
				  &attr));
	if (rank == 1) {
		require_is(0, bgdma_msg_recv(t.msg, NULL, 0, 0, 200, 0, NULL));
		for (i = 0; i < ANNOUNCED; i++)
			require_is(0, bgdma_msg_recv(t.msg, NULL, 0, 0, i, 0,
						     NULL));
		return talker_close(&t);
	}
	for (i = 0; i < ANNOUNCED; i++)
		require_is(0, bgdma_msg_issend(t.msg, NULL, 0, 1, i, 0, &r[i]));
	require_is(0, bgdma_msg_issend(t.msg, NULL, 0, 1, 100, 0, &waits));
	require_is(0, bgdma_msg_isend(t.msg, NULL, 0, 1, 200, 0, &next));
	require_is(0, bgdma_msg_cancel(waits));
	require_is(-ECANCELED, bgdma_msg_wait(&waits, NULL));
	require_is(0, bgdma_msg_wait(&next, NULL));
	require_is(0, bgdma_msg_waitall(r, ANNOUNCED, NULL));
	return talker_close(&t);
}

TEST(msg_a_cancelled_send_lets_others_go)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, behind, NULL, -1));
}

/* ---- A process that has died with all credit --------------------------- */

static int dead(uint32_t rank, uint32_t size, void *arg)
{
	const struct bgdma_msg_attr attr = { .announced = 2 * ANNOUNCED };
	static struct bgdma_msg_request *r[ANNOUNCED];
	struct talker t = { 0 };
	uint32_t i;

	(void)size;
	(void)arg;
	require_is(0, talker_open(&t, (struct bgdma_endpoint_attr){ 0 },
				  &attr));
	if (rank == 1) {
		require_is(0, bgdma_msg_probe(t.msg, 0, ANNOUNCED - 1, 0,
					      NULL));
		raise(SIGKILL);
	}
	for (i = 0; i < ANNOUNCED; i++)
		require_is(0, bgdma_msg_issend(t.msg, NULL, 0, 1, i, 0, &r[i]));
	require_is(-EHOSTDOWN, bgdma_msg_waitall(r, ANNOUNCED, NULL));
	require_is(-EHOSTDOWN, bgdma_msg_ssend(t.msg, NULL, 0, 1, 0, 0));
	return member_leave(&t.m);
}

TEST(x3_msg_to_the_dead_without_credit)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, dead, NULL, 1));
}

/* ---- Memory that is owed when nothing can be announced ----------------- */

#define KEPT	6
#define USED	4

static int owed(uint32_t rank, uint32_t size, void *arg)
{
	const struct bgdma_msg_attr attr = {
		.announced = 2 * ANNOUNCED,
		.unexpected_bytes = 2 * 384 * (KEPT + USED),
	};
	struct bgdma_msg_request *r[KEPT + USED + ANNOUNCED + 1];
	const uint32_t n = KEPT + USED + ANNOUNCED;
	struct talker t = { 0 };
	uint32_t i;

	(void)size;
	(void)arg;
	require_is(0, talker_open(&t, (struct bgdma_endpoint_attr){ 0 },
				  &attr));
	if (rank == 0) {
		for (i = 0; i <= n; i++)
			require_is(0, bgdma_msg_isend(t.msg, NULL, 0, 1, i, 0,
						      &r[i]));
		require_is(0, bgdma_msg_waitall(r, n + 1, NULL));
		return talker_close(&t);
	}
	for (i = KEPT; i < KEPT + USED; i++)
		require_is(0, bgdma_msg_recv(t.msg, NULL, 0, 0, i, 0, NULL));
	require_is(0, bgdma_msg_probe(t.msg, 0, n - 1, 0, NULL));
	require_is(0, bgdma_msg_recv(t.msg, NULL, 0, 0, n, 0, NULL));
	for (i = 0; i < n; i++)
		if (i < KEPT || i >= KEPT + USED)
			require_is(0, bgdma_msg_recv(t.msg, NULL, 0, 0, i, 0,
						     NULL));
	return talker_close(&t);
}

TEST(msg_memory_that_is_owed_is_given_back)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, owed, NULL, -1));
}

TEST_HARNESS_MAIN
