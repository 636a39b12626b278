// SPDX-License-Identifier: GPL-2.0
/*
 * Tagged messages whose receiver leaves when it has them.
 */
#include "kselftest_harness.h"
#include "msg_util.h"

struct left {
	volatile bool sent;
	size_t bytes, room;
};

static int received_and_leaves(uint32_t rank, uint32_t size, void *arg)
{
	static uint8_t mem[4096];
	struct bgdma_msg_request *r;
	struct talker t = { 0 };
	struct left *l = arg;
	int ret;

	(void)size;
	require_is(0, talker_open(&t, (struct bgdma_endpoint_attr){ 0 }, NULL));
	if (rank == 0) {
		require_is(0, bgdma_msg_issend(t.msg, mem, l->bytes, 1, 1, 0,
					       &r));
		while (!l->sent)
			usleep(1000);
		usleep(500000);
		require_is(0, bgdma_msg_wait(&r, NULL));
		return member_leave(&t.m);
	}
	ret = bgdma_msg_recv(t.msg, mem, l->room, 0, 1, 0, NULL);
	require_is(l->room < l->bytes ? -EMSGSIZE : 0, ret);
	usleep(100000);
	l->sent = true;
	return member_leave(&t.m);
}

TEST(x3_msg_who_left_has_received)
{
	static const size_t sizes[][2] = {
		{ 4096, 4096 }, { 0, 0 }, { 4096, 100 }, { 4096, 0 },
	};
	struct left *l = shared(sizeof(*l));
	unsigned int i;

	partition_new("2x1x1", "");
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		l->sent = false;
		l->bytes = sizes[i][0];
		l->room = sizes[i][1];
		EXPECT_TRUE(job_run(2, received_and_leaves, l, -1))
			TH_LOG("%zu bytes, room for %zu", l->bytes, l->room);
	}
}

/* ---- What he had sent before -------------------------------------------- */

#define MANY	200U	/* more than one progress takes */

/* Who looks late has written to one who is gone before he reads what that one wrote. */
static int sends_and_leaves(uint32_t rank, uint32_t size, void *arg)
{
	struct talker t = { 0 };
	struct left *l = arg;
	uint32_t i, word;
	int ret;

	(void)size;
	require_is(0, talker_open(&t, (struct bgdma_endpoint_attr){ 0 }, NULL));
	if (rank == 0) {
		for (i = 0; i < MANY; i++)
			require_is(0, bgdma_msg_send(t.msg, &i, sizeof(i), 1, 1,
						     0));
		ret = member_leave(&t.m);
		l->sent = true;
		return ret;
	}
	while (!l->sent)
		usleep(1000);
	require_is(0, bgdma_msg_send(t.msg, &rank, sizeof(rank), 0, 1, 0));
	require(until(send_failed(t.m.ep)));
	for (i = 0; i < MANY; i++) {
		require_is(0, bgdma_msg_recv(t.msg, &word, sizeof(word), 0, 1,
					     0, NULL));
		require(word == i);
	}
	require_is(-EHOSTDOWN, bgdma_msg_recv(t.msg, &word, sizeof(word), 0, 1,
					      0, NULL));
	return member_leave(&t.m);
}

TEST(x3_msg_of_one_who_left_all_is_received)
{
	struct left *l = shared(sizeof(*l));

	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, sends_and_leaves, l, -1));
}

/* ---- What is begun when all is over --------------------------------------- */

static int begun_at_the_end;

static void on_end(void *arg, int result, uint64_t bytes)
{
	struct bgdma_msg_request *r;
	struct talker *t = arg;

	(void)result;
	(void)bytes;
	begun_at_the_end = bgdma_msg_issend(t->msg, NULL, 0, 1, 1, 0, &r);
}

static int on_any(void *arg, uint32_t rank, const struct bgdma_packet *packet)
{
	(void)arg;
	(void)rank;
	(void)packet;
	return 0;
}

/* Of another module: nobody accepts it, and it ends with the endpoint. */
static int ends_and_begins(uint32_t rank, uint32_t size, void *arg)
{
	static uint8_t mem[4096] PINNED;
	struct talker t = { 0 };
	uint32_t operation;

	(void)size;
	(void)arg;
	require_is(0, talker_create(&t, (struct bgdma_endpoint_attr){ 0 },
				    NULL));
	require_is(0, member_commit(&t.m, &(struct test_operation){
			"any", on_any, 0, &operation }, 1, NULL));
	if (rank == 0) {
		/* It is ready. */
		require_is(0, bgdma_msg_send(t.msg, NULL, 0, 1, 1, 0));
		require_is(0, bgdma_rendezvous_send(t.m.ep,
				&(struct bgdma_rendezvous_attr){
				.operation = operation, .dest = 1,
				.length = sizeof(mem), .data = mem,
				.done = on_end, .arg = &t }));
	}
	require_is(0, bgdma_job_fence(t.m.job));
	require_is(0, member_leave(&t.m));
	require_is(rank ? 0 : -ENOTCONN, begun_at_the_end);
	return 0;
}

TEST(msg_nothing_is_begun_at_the_end)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, ends_and_begins, NULL, -1));
}

TEST_HARNESS_MAIN
