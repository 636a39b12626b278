// SPDX-License-Identifier: GPL-2.0
/*
 * Tagged messages where something is wrong: what is asked for, the other side,
 * or its end; and many threads.
 */
#include <poll.h>
#include <pthread.h>

#include "kselftest_harness.h"
#include "msg_util.h"

static uint8_t mem[300000] PINNED;

/* ---- What is asked for ------------------------------------------------- */

static int bad_calls(uint32_t rank, uint32_t size, void *arg)
{
	struct iovec piece = { mem, 10 }, wrong = { NULL, 10 };
	struct iovec large[2] = { { mem, SIZE_MAX }, { mem, 2 } };
	struct bgdma_msg_request *r, *other, *row[2];
	struct talker t = { 0 };
	struct bgdma_msg *msg;
	unsigned int index;

	(void)rank;
	(void)size;
	(void)arg;
	require_is(0, member_open(&t.m, NULL));
	require_is(-EINVAL, bgdma_msg_create(&msg, t.m.ep,
			&(struct bgdma_msg_attr){ .eager_bytes = 40000 }));
	require_is(-EINVAL, bgdma_msg_create(&msg, t.m.ep,
			&(struct bgdma_msg_attr){
			.in_flight = BGDMA_IN_FLIGHT_MAX + 1 }));
	require_is(0, bgdma_msg_create(&t.msg, t.m.ep, NULL));
	require_is(-EEXIST, bgdma_msg_create(&msg, t.m.ep, NULL));
	require_is(-ENOTCONN, bgdma_msg_send(t.msg, mem, 1, 0, 0, 0));
	require_is(-ENOTCONN, bgdma_msg_recv(t.msg, mem, 1, 0, 0, 0, NULL));
	require_is(-ENOTCONN, bgdma_msg_iprobe(t.msg, 0, 0, 0, NULL));
	require_is(0, bgdma_endpoint_commit(t.m.ep, NULL));
	require_is(-EBUSY, bgdma_msg_create(&msg, t.m.ep, NULL));

	require_is(-EINVAL, bgdma_msg_isend(t.msg, mem, 1, 1, 0, 0, &r));
	require_is(-EINVAL, bgdma_msg_isend(t.msg, mem, 1, ANY_SOURCE, 0, 0,
					    &r));
	require_is(-EINVAL, bgdma_msg_isend(t.msg, mem, 1, 0, ANY_TAG, 0, &r));
	require_is(-EINVAL, bgdma_msg_isend(t.msg, NULL, 1, 0, 0, 0, &r));
	require_is(-EMSGSIZE, bgdma_msg_isend(t.msg, mem, SIZE_MAX, 0, 0, 0,
					      &r));
	require_is(-EINVAL, bgdma_msg_irecv(t.msg, mem, 1, 1, 0, 0, &r));
	require_is(-EINVAL, bgdma_msg_irecv(t.msg, NULL, 1, 0, 0, 0, &r));
	require_is(-EINVAL, bgdma_msg_iprobe(t.msg, 1, 0, 0, NULL));
	require_is(-EINVAL, bgdma_msg_isendv(t.msg, &wrong, 1, 0, 0, 0, &r));
	require_is(-EINVAL, bgdma_msg_isendv(t.msg, NULL, 1, 0, 0, 0, &r));
	require_is(-EINVAL, bgdma_msg_irecvv(t.msg, &piece,
					     BGDMA_MSG_PIECES_MAX + 1, 0, 0, 0,
					     &r));
	require_is(-EMSGSIZE, bgdma_msg_isendv(t.msg, large, 2, 0, 0, 0, &r));
	require_is(-EINVAL, bgdma_msg_isendv(t.msg, &piece, 1, 0, ANY_TAG, 0,
					     &r));

	/* One row, two endpoints. */
	{
		const struct bgdma_endpoint_attr second = {
			.job = t.m.job, .number = 1,
		};
		struct bgdma_endpoint *ep;

		require_is(0, bgdma_endpoint_create(&ep, &second));
		require_is(0, bgdma_msg_create(&msg, ep, NULL));
		require_is(0, bgdma_endpoint_commit(ep, NULL));
		require_is(0, bgdma_msg_irecv(t.msg, mem, 1, 0, 0, 0, &r));
		require_is(0, bgdma_msg_irecv(msg, mem, 1, 0, 0, 0, &other));
		row[0] = r;
		row[1] = other;
		require_is(-EINVAL, bgdma_msg_waitall(row, 2, NULL));
		require_is(-EINVAL, bgdma_msg_testall(row, 2, NULL));
		require_is(-EINVAL, bgdma_msg_waitany(row, 2, &index, NULL));
		require_is(-EINVAL, bgdma_msg_testsome(row, 2, &index, NULL));
		require_is(-EINVAL, bgdma_msg_testany(row, 2, &index, NULL));
		require_is(-EINVAL, bgdma_msg_waitsome(row, 2, &index, NULL));
		/* What was not completed ends with its endpoint. */
		bgdma_endpoint_destroy(ep);
	}
	require_is(0, bgdma_msg_cancel(r));
	bgdma_msg_request_free(&r);
	return talker_close(&t);
}

TEST(msg_bad_calls)
{
	partition_new("1x1x1", "");
	EXPECT_TRUE(job_run(1, bad_calls, NULL, -1));
}

static int disagree(uint32_t rank, uint32_t size, void *arg)
{
	const struct bgdma_msg_attr attr = {
		.unexpected_bytes = rank ? 1 << 20 : 1 << 19,
	};
	struct bgdma_disagreement why;
	struct talker t = { 0 };

	(void)size;
	(void)arg;
	require_is(0, talker_create(&t, (struct bgdma_endpoint_attr){ 0 },
				    &attr));
	require_is(-EPROTO, bgdma_endpoint_commit(t.m.ep, &why));
	require(!strcmp(why.module, "msg"));
	require(strstr(why.name, "eager"));
	require_is(1, why.rank);
	return member_leave(&t.m);
}

TEST(dp1_msg_disagreement_is_told_by_name)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, disagree, NULL, -1));
}

/* One of them tries again, with another window: that leaves nothing. */
static int again(uint32_t rank, uint32_t size, void *arg)
{
	const struct bgdma_msg_attr other = {
		.unexpected_bytes = 1 << 20, .announced = 64,
	};
	struct talker t = { 0 };
	struct bgdma_msg *msg;

	(void)size;
	(void)arg;
	require_is(0, talker_create(&t, (struct bgdma_endpoint_attr){ 0 },
				    NULL));
	if (rank == 1)
		require_is(-EEXIST, bgdma_msg_create(&msg, t.m.ep, &other));
	require_is(0, bgdma_endpoint_commit(t.m.ep, NULL));
	return talker_close(&t);
}

TEST(dp1_msg_a_second_create_leaves_nothing)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, again, NULL, -1));
}

/* ---- Where nobody may wait --------------------------------------------- */

enum { POKE_BEFORE = 4, POKE_AFTER, POKE_BACK };

struct poked {
	struct talker t;
	uint8_t room[64];
	struct bgdma_msg_request *never;
	int received[2], sent, synchronous, probed, waited[4];
	bool done;
};

/* Each of these would wait. */
static int on_poke(void *arg, uint32_t rank, const struct bgdma_packet *packet)
{
	struct poked *p = arg;
	struct bgdma_msg *msg = p->t.msg;
	unsigned int index;

	(void)packet;
	p->received[0] = bgdma_msg_recv(msg, p->room, sizeof(p->room), rank,
					POKE_BEFORE, 0, NULL);
	p->received[1] = bgdma_msg_recv(msg, p->room, sizeof(p->room), rank,
					POKE_AFTER, 0, NULL);
	p->sent = bgdma_msg_send(msg, mem, sizeof(mem), rank, POKE_BACK, 0);
	p->synchronous = bgdma_msg_ssend(msg, mem, 8, rank, POKE_BACK, 0);
	p->probed = bgdma_msg_probe(msg, rank, POKE_AFTER, 0, NULL);
	p->waited[0] = bgdma_msg_wait(&p->never, NULL);
	p->waited[1] = bgdma_msg_waitany(&p->never, 1, &index, NULL);
	p->waited[2] = bgdma_msg_waitsome(&p->never, 1, &index, NULL);
	p->waited[3] = bgdma_msg_waitall(&p->never, 1, NULL);
	p->done = true;
	return 0;
}

static bool was_poked(void *arg)
{
	const struct poked *p = arg;

	return p->done;
}

static int poke(struct talker *t, uint32_t operation)
{
	const struct bgdma_send_attr send = { .operation = operation };
	uint8_t text[32];

	text_fill(text, sizeof(text), 1, POKE_BEFORE);
	require_is(0, bgdma_msg_send(t->msg, text, sizeof(text), 0, POKE_BEFORE,
				     0));
	require_is(0, bgdma_endpoint_send(t->m.ep, &send));
	text_fill(text, sizeof(text), 1, POKE_AFTER);
	require_is(0, bgdma_msg_send(t->msg, text, sizeof(text), 0, POKE_AFTER,
				     0));
	require_is(0, talker_fence(t));
	/* Nothing was sent from there. */
	require_is(0, bgdma_msg_iprobe(t->msg, 0, ANY_TAG, 0, NULL));
	return talker_close(t);
}

/* What was there, and what came then, is for those who may wait. */
static int in_callback(uint32_t rank, uint32_t size, void *arg)
{
	static struct poked p;
	const struct bgdma_operation_attr op = {
		.module = "test", .name = "poke", .packet = on_poke, .arg = &p,
	};
	struct talker *t = &p.t;
	uint8_t text[64];
	uint32_t id, tag;

	(void)size;
	(void)arg;
	memset(p.room, 0xee, sizeof(p.room));
	require_is(0, talker_create(t, (struct bgdma_endpoint_attr){ 0 },
				    NULL));
	require_is(0, bgdma_operation_register(t->m.ep, &op, &id));
	require_is(0, bgdma_endpoint_commit(t->m.ep, NULL));
	if (rank == 1)
		return poke(t, id);
	require_is(0, bgdma_msg_irecv(t->msg, NULL, 0, 0, 0, 0, &p.never));
	require_is(0, member_until(&t->m, was_poked, &p));
	for (tag = 0; tag < 4; tag++)
		require_is(-EDEADLK, p.waited[tag]);
	require_is(0, bgdma_msg_cancel(p.never));
	require_is(-ECANCELED, bgdma_msg_wait(&p.never, NULL));
	require_is(-EDEADLK, p.received[0]);
	require_is(-EDEADLK, p.received[1]);
	require_is(-EDEADLK, p.sent);
	require_is(-EDEADLK, p.synchronous);
	require_is(-EDEADLK, p.probed);
	require_is(0, talker_fence(t));
	for (tag = POKE_BEFORE; tag <= POKE_AFTER; tag++) {
		require_is(1, bgdma_msg_iprobe(t->msg, 1, tag, 0, NULL));
		require_is(0, bgdma_msg_recv(t->msg, text, sizeof(text), 1, tag,
					     0, NULL));
		require(text_is(text, 32, 1, tag));
	}
	require_is(0xee, p.room[0]);
	return talker_close(t);
}

TEST(msg_a_wait_that_is_refused_begins_nothing)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, in_callback, NULL, -1));
}

/* Nobody waits for a request: those behind it are sent all the same. */
#define ALONE		20000

static int let_go(uint32_t rank, uint32_t size, void *arg)
{
	static uint64_t text[ALONE];
	struct bgdma_msg_request *r;
	struct talker t = { 0 };
	uint64_t number;
	uint32_t i;

	(void)size;
	(void)arg;
	require_is(0, talker_open(&t, (struct bgdma_endpoint_attr){ 0 }, NULL));
	for (i = 0; rank == 0 && i < ALONE; i++) {
		text[i] = i;
		require_is(0, bgdma_msg_isend(t.msg, &text[i], sizeof(text[i]),
					      1, 5, 0, &r));
		bgdma_msg_request_free(&r);
	}
	for (i = 0; rank == 1 && i < ALONE; i++) {
		require_is(0, bgdma_msg_recv(t.msg, &number, sizeof(number), 0,
					     5, 0, NULL));
		require_is(i, number);
	}
	return talker_close(&t);
}

TEST(msg_sends_that_nobody_waits_for)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, let_go, NULL, -1));
}

/* Memory that no device may write to, such as constants. */
static const uint8_t constant[100000] = "it stays as it is";

static int constants(uint32_t rank, uint32_t size, void *arg)
{
	static const uint32_t lengths[] = { 5, sizeof(constant) };
	struct bgdma_msg_request *r;
	struct talker t = { 0 };
	uint32_t i, how;

	(void)rank;
	(void)size;
	(void)arg;
	require_is(0, talker_open(&t, (struct bgdma_endpoint_attr){ 0 }, NULL));
	for (i = 0; i < 4; i++) {
		how = i % 2;
		require_is(0, (how ? bgdma_msg_isend : bgdma_msg_issend)(t.msg,
				constant, lengths[i / 2], 0, i, 0, &r));
		require_is(0, bgdma_msg_recv(t.msg, mem, sizeof(mem), 0, i, 0,
					     NULL));
		require_is(0, bgdma_msg_wait(&r, NULL));
		require_is(0, memcmp(mem, constant, lengths[i / 2]));
	}
	return talker_close(&t);
}

TEST(msg_constants_are_sent)
{
	partition_new("1x1x1", "");
	EXPECT_TRUE(job_run(1, constants, NULL, -1));
}

/* More synchronous messages both ways than a process can have announced. */
#define CROWD		40000

static int crowd(uint32_t rank, uint32_t size, void *arg)
{
	static struct bgdma_msg_request *r[CROWD];
	struct talker t = { 0 };
	uint32_t i;

	(void)size;
	(void)arg;
	require_is(0, talker_open(&t, (struct bgdma_endpoint_attr){ 0 }, NULL));
	for (i = 0; i < CROWD; i++)
		require_is(0, bgdma_msg_issend(t.msg, NULL, 0, !rank, i, 0,
					       &r[i]));
	require_is(0, bgdma_msg_iprobe(t.msg, !rank, CROWD, 0, NULL));
	for (i = 0; i < CROWD; i++)
		require_is(0, bgdma_msg_recv(t.msg, NULL, 0, !rank, i, 0,
					     NULL));
	require_is(0, bgdma_msg_waitall(r, CROWD, NULL));
	return talker_close(&t);
}

TEST(msg_more_announced_both_ways_than_there_are_tokens)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, crowd, NULL, -1));
}

/* ---- The other side dies ----------------------------------------------- */

static int death(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_msg_request *eager, *posted, *any, *large, *synchronous;
	struct bgdma_msg_status status;
	struct talker t = { 0 };
	char text[8] = { 0 };

	(void)size;
	(void)arg;
	require_is(0, talker_open(&t, (struct bgdma_endpoint_attr){ 0 }, NULL));
	if (rank == 1) {
		/* What it sent before it died is received. */
		require_is(0, bgdma_msg_send(t.msg, "before", 7, 0, 1, 0));
		require_is(0, bgdma_msg_isend(t.msg, mem, sizeof(mem), 0, 2, 0,
					      &large));
		require_is(0, talker_fence(&t));
		require_is(0, bgdma_msg_recv(t.msg, text, 1, 0, 8, 0, NULL));
		raise(SIGKILL);
	}
	require_is(0, bgdma_msg_irecv(t.msg, mem, 100, 1, 9, 0, &posted));
	require_is(0, bgdma_msg_irecv(t.msg, mem, 100, ANY_SOURCE, 9, 0, &any));
	require_is(0, bgdma_msg_issend(t.msg, mem, 9, 1, 3, 0, &synchronous));
	require_is(0, bgdma_msg_isend(t.msg, mem, 9, 1, 3, 0, &eager));
	require_is(0, bgdma_msg_wait(&eager, NULL));
	require_is(0, talker_fence(&t));
	require_is(0, bgdma_msg_send(t.msg, text, 1, 1, 8, 0));
	require_is(-EHOSTDOWN, bgdma_msg_wait(&posted, &status));
	require_is(-EHOSTDOWN, status.error);
	require_is(-EHOSTDOWN, bgdma_msg_wait(&synchronous, NULL));
	require_is(0, bgdma_msg_recv(t.msg, text, 8, 1, 1, 0, NULL));
	require(!strcmp(text, "before"));
	require_is(-EHOSTDOWN, bgdma_msg_recv(t.msg, mem, sizeof(mem),
					      1, 2, 0, NULL));
	require_is(-EHOSTDOWN, bgdma_msg_recv(t.msg, mem, 9, 1, 1, 0,
					      NULL));
	require_is(-EHOSTDOWN, bgdma_msg_send(t.msg, mem, 9, 1, 1, 0));
	require_is(-EHOSTDOWN, bgdma_msg_ssend(t.msg, mem, 9, 1, 1, 0));
	require_is(-EHOSTDOWN, bgdma_msg_probe(t.msg, 1, 1, 0, NULL));
	/* Somebody else could still send it. */
	require_is(0, bgdma_msg_test(&any, NULL));
	require_is(0, bgdma_msg_send(t.msg, "self", 5, 0, 9, 0));
	require_is(0, bgdma_msg_wait(&any, &status));
	require_is(0, status.rank);
	return member_leave(&t.m);
}

TEST(x3_msg_death_of_a_peer)
{
	uint32_t i;

	partition_new("2x1x1", "");
	for (i = 0; i < 10; i++)
		EXPECT_TRUE(job_run(2, death, NULL, 1));
}

/* What is in the FIFOs when the news comes is received before them. */
#define BEFORE		1000

static int before(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_msg_request *r;
	struct talker t = { 0 };
	uint32_t i, number;

	(void)size;
	(void)arg;
	require_is(0, talker_open(&t, (struct bgdma_endpoint_attr){ 0 }, NULL));
	for (i = 0; rank == 1 && i < BEFORE; i++)
		require_is(0, bgdma_msg_send(t.msg, &i, sizeof(i), 0, i, 0));
	if (rank == 1)
		return member_leave(&t.m);
	/* Nobody looks meanwhile. */
	require_is(0, poll(NULL, 0, 300));
	require_is(0, bgdma_msg_irecv(t.msg, &number, sizeof(number), 1,
				      BEFORE - 1, 0, &r));
	require_is(0, bgdma_msg_wait(&r, NULL));
	require_is(BEFORE - 1, number);
	for (i = 0; i < BEFORE - 1; i++) {
		require_is(0, bgdma_msg_recv(t.msg, &number, sizeof(number), 1,
					     i, 0, NULL));
		require_is(i, number);
	}
	require_is(-EHOSTDOWN, bgdma_msg_recv(t.msg, &number, sizeof(number),
					      1, ANY_TAG, 0, NULL));
	return member_leave(&t.m);
}

TEST(x3_msg_what_came_before_an_end_is_received)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, before, NULL, -1));
}

/* It is there, but hears nothing: with the first that is lost it is over. */
static int deaf(uint32_t rank, uint32_t size, void *arg)
{
	struct talker t = { 0 };
	char byte = 1;
	uint32_t i;

	(void)size;
	(void)arg;
	require_is(0, talker_open(&t, (struct bgdma_endpoint_attr){ 0 }, NULL));
	/* Whatever the numbers of its grants are. */
	for (i = 1; rank == 1 && i < 100; i++)
		(void)bgdma_revoke(bgdma_endpoint_ctx(t.m.ep), i);
	require_is(0, bgdma_job_fence(t.m.job));
	if (rank == 0) {
		require_is(0, bgdma_msg_send(t.msg, &byte, 1, 1, 1, 0));
		while (!t.troubles[BGDMA_TROUBLE_LOST])
			require(bgdma_endpoint_progress(t.m.ep, 0) >= 0);
		require_is(-EHOSTDOWN, bgdma_msg_send(t.msg, &byte, 1, 1, 1,
						      0));
		require_is(-EHOSTDOWN, bgdma_msg_recv(t.msg, &byte, 1, 1, 1, 0,
						      NULL));
	}
	return member_close(&t.m);
}

TEST(x3_msg_what_is_lost_is_the_end)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, deaf, NULL, -1));
}

/* ---- The other side lies ----------------------------------------------- */

/* Something of the same name as an operation of tagged messages. */
static int swallow(void *arg, uint32_t rank, const struct bgdma_packet *packet)
{
	(void)arg;
	(void)rank;
	(void)packet;
	return 0;
}

/* A process that speaks the module's language without its manners. */
static int liar_open(struct member *m, const char *eager, const char *rts,
		     uint32_t *id)
{
	const char *const names[] = { eager, rts, "empty", "credit" };
	struct bgdma_operation_attr op = {
		.module = "msg", .packet = swallow,
	};
	unsigned int i;

	require_is(0, member_open(m, NULL));
	for (i = 0; i < 4; i++) {
		op.name = names[i];
		op.flags = i == 3 ? BGDMA_OPERATION_CONTROL : 0;
		require_is(0, bgdma_operation_register(m->ep, &op, &id[i]));
	}
	return bgdma_endpoint_commit(m->ep, NULL);
}

static int lie(struct member *m, uint32_t operation, uint64_t word,
	       uint64_t length)
{
	const struct bgdma_send_attr send = {
		.operation = operation, .dest = 0, .word = word, .data = mem,
		.length = length,
	};
	int ret;

	while ((ret = bgdma_endpoint_send(m->ep, &send)) == -EAGAIN)
		bgdma_endpoint_progress(m->ep, 0);
	return ret;
}

#define WINDOW		(64U << 10)
#define LIES		200	/* of 1,000 bytes each: more than the window */
#define LAST		0x12345

static int liar(uint32_t rank, uint32_t size, void *arg)
{
	const struct bgdma_msg_attr attr = { .unexpected_bytes = 2 * WINDOW };
	enum { EAGER, RTS, EMPTY, CREDIT };
	struct bgdma_msg_stats stats;
	struct talker t = { 0 };
	struct member m;
	uint32_t id[4], i;

	(void)size;
	(void)arg;
	if (rank == 1) {
		require_is(0, liar_open(&m, "eager, 65536 bytes for each peer",
					"rts, 32768 and 346794 bytes for each peer",
					id));
		for (i = 0; i < LIES; i++)
			require_is(0, lie(&m, id[EAGER], 1, 1000));
		/* No RTS; one of a wildcard; credit that was never taken. */
		require_is(0, lie(&m, id[RTS], 1, 10));
		require_is(0, lie(&m, id[EMPTY], 1, 56));
		require_is(0, lie(&m, id[EAGER], ANY_TAG, 10));
		require_is(0, lie(&m, id[CREDIT], 1000, 0));
		require_is(0, lie(&m, id[CREDIT], 0, 8));
		require_is(0, bgdma_job_fence(m.job));
		require_is(0, lie(&m, id[EAGER], LAST, 0));
		return member_close(&m);
	}
	require_is(0, talker_open(&t, (struct bgdma_endpoint_attr){ 0 },
				  &attr));
	while (t.troubles[BGDMA_TROUBLE_MALFORMED] <
	       LIES - WINDOW / 1384 + 5)
		require(bgdma_endpoint_progress(t.m.ep, 0) >= 0);
	/* As many are there as there is room for. */
	for (i = 0; i < WINDOW / 1384; i++)
		require_is(0, bgdma_msg_recv(t.msg, mem, 1000, 1, 1, 0, NULL));
	require_is(0, bgdma_msg_iprobe(t.msg, 1, 1, 0, NULL));
	require_is(0, bgdma_job_fence(t.m.job));
	require_is(0, bgdma_msg_recv(t.msg, mem, 1000, 1, LAST, 0, NULL));
	bgdma_msg_stats(t.msg, &stats);
	require_is(0, stats.kept);
	require(stats.kept_max <= WINDOW);
	require_is(LIES - WINDOW / 1384 + 5,
		   t.troubles[BGDMA_TROUBLE_MALFORMED]);
	return member_close(&t.m);
}

TEST(dp9_msg_a_peer_without_manners)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, liar, NULL, -1));
}

/* ---- Threads ----------------------------------------------------------- */

#define THREADS		4
#define ROUNDS		150

struct worker {
	struct talker *t;
	uint32_t number, peer;
	struct bgdma_msg_request *request;
	int result;
	pthread_t thread;
};

/* Each thread has a tag, and talks to the same thread of the other process. */
static int talk(struct worker *w)
{
	static const uint32_t lengths[] = { 8, 3000, 30000 };
	struct bgdma_msg *msg = w->t->msg;
	uint8_t *text = malloc(2 * 30000);
	struct bgdma_msg_request *r[2];
	uint32_t i, length;

	require(text);
	for (i = 0; i < ROUNDS; i++) {
		length = lengths[i % 3];
		text_fill(text, length, w->number, i);
		require_is(0, bgdma_msg_irecv(msg, text + 30000, 30000, w->peer,
					      w->number, 0, &r[0]));
		require_is(0, bgdma_msg_isend(msg, text, length, w->peer,
					      w->number, 0, &r[1]));
		require_is(0, bgdma_msg_waitall(r, 2, NULL));
		require(text_is(text + 30000, length, w->number, i));
	}
	free(text);
	return 0;
}

static void *talk_thread(void *arg)
{
	struct worker *w = arg;

	w->result = talk(w);
	return NULL;
}

static int threads(uint32_t rank, uint32_t size, void *arg)
{
	const struct bgdma_endpoint_attr *attr = arg;
	struct worker w[THREADS];
	struct talker t = { 0 };
	uint32_t i;

	(void)size;
	require_is(0, talker_open(&t, *attr, NULL));
	for (i = 0; i < THREADS; i++) {
		w[i] = (struct worker){
			.t = &t, .number = i, .peer = 1 - rank,
		};
		require_is(0, pthread_create(&w[i].thread, NULL, talk_thread,
					     &w[i]));
	}
	for (i = 0; i < THREADS; i++) {
		require_is(0, pthread_join(w[i].thread, NULL));
		require_is(0, w[i].result);
	}
	return talker_close(&t);
}

static void *wait_thread(void *arg)
{
	struct worker *w = arg;
	struct bgdma_msg_request *r = w->request;

	w->result = bgdma_msg_wait(&r, NULL);
	return NULL;
}

/* Who sleeps for a receive is woken when another thread cancels it. */
static int cancel_sleeper(uint32_t rank, uint32_t size, void *arg)
{
	const struct bgdma_endpoint_attr *attr = arg;
	struct talker t = { 0 };
	struct worker w;
	uint32_t i;

	(void)rank;
	(void)size;
	require_is(0, talker_open(&t, *attr, NULL));
	for (i = 0; i < 5; i++) {
		w = (struct worker){ .t = &t };
		require_is(0, bgdma_msg_irecv(t.msg, mem, 1, 0, 1, 0,
					      &w.request));
		require_is(0, pthread_create(&w.thread, NULL, wait_thread, &w));
		require_is(0, poll(NULL, 0, 100));
		require_is(0, bgdma_msg_cancel(w.request));
		require_is(0, pthread_join(w.thread, NULL));
		require_is(-ECANCELED, w.result);
	}
	return talker_close(&t);
}

TEST(msg_cancel_wakes_who_waits)
{
	struct bgdma_endpoint_attr attr = { .threads = BGDMA_THREADS_MANY };

	partition_new("1x1x1", "");
	EXPECT_TRUE(job_run(1, cancel_sleeper, &attr, -1));
	attr.progress = BGDMA_PROGRESS_THREAD;
	EXPECT_TRUE(job_run(1, cancel_sleeper, &attr, -1));
}

TEST(msg_many_threads_on_one_endpoint)
{
	struct bgdma_endpoint_attr attr = { .threads = BGDMA_THREADS_MANY };

	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, threads, &attr, -1));
	attr.progress = BGDMA_PROGRESS_THREAD;
	EXPECT_TRUE(job_run(2, threads, &attr, -1));
}

TEST_HARNESS_MAIN
