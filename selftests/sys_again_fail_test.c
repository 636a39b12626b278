// SPDX-License-Identifier: GPL-2.0
/*
 * Calls that fail in the middle, as sys_fail_test has them, and are made again: of an
 * endpoint, of announced messages, of trees, and those that wait for nobody.
 */
#include "kselftest_harness.h"
#include "sys_life.h"
#include "sys_seen.h"

static int until_is(struct life *l, struct count *count, uint64_t wanted)
{
	int ret;

	count->wanted = wanted;
	do
		ret = bgdma_endpoint_wait_until(l->m.ep, count_there, count,
						BGDMA_SLEEP, -1);
	while (again(l, ret));
	return ret;
}

/* ---- Messages and trees -------------------------------------------------- */

/* Messages that are looked for by calls that do not wait. */
static int look(struct life *l)
{
	static uint8_t out[20000] PINNED, in[20000] PINNED;
	struct bgdma_msg_request *r[2] = { NULL };
	unsigned int index[2];
	int ret;

	do
		ret = bgdma_msg_send(l->msg, out, 64, 0, 1, 0);
	while (again(l, ret));
	while (!ret)
		ret = bgdma_msg_iprobe(l->msg, 0, 1, 0, NULL);
	if (ret > 0)
		ret = bgdma_msg_recv(l->msg, in, sizeof(in), 0, 1, 0, NULL);
	/* It was sent once. */
	if (!ret)
		ret = bgdma_msg_iprobe(l->msg, 0, 1, 0, NULL);
	if (ret)
		return ret > 0 ? -EIO : ret;
	do
		ret = bgdma_msg_irecv(l->msg, in, sizeof(in), 0, 2, 0, &r[0]);
	while (again(l, ret));
	while (!ret && again(l, ret = bgdma_msg_isend(l->msg, out, sizeof(out),
						      0, 2, 0, &r[1])))
		ret = 0;
	while (!ret || again(l, ret))
		ret = bgdma_msg_testany(r, 2, index, NULL);
	if (ret == 1)
		ret = 0;
	while (!ret || again(l, ret))
		ret = bgdma_msg_testsome(r, 2, index, NULL);
	/* One that ended badly was told of, and is none any more. */
	return ret < 0 && (ret != -ENOENT || !l->told) ? ret : 0;
}

/* A message on a tree, and a sum of one. */
static int network(struct life *l)
{
	const struct bgdma_network_attr tree = { .number = 15 };
	const struct bgdma_member_attr note = {
		.operation = l->note, .data = "note", .length = 4,
	};
	const struct bgdma_combine_attr sum = {
		.op = BGDMA_OP_TREE_ALLREDUCE, .operation = l->sum,
		.dispatch = BGDMA_TREE_COMBINE(BGDMA_TREE_ADD, BGDMA_TREE_S64),
		.length = 8, .from = { l->region, 0 },
	};
	uint64_t before = l->notes.is;
	int ret;

	do
		ret = bgdma_network_open(l->m.ep, &tree, &l->net);
	while (again(l, ret));
	if (ret)
		return ret;
	do
		ret = bgdma_network_send(l->net, &note);
	while (again(l, ret));
	if (!ret)
		ret = until_is(l, &l->notes, before + 1);
	while (!ret && again(l, ret = bgdma_network_combine(l->net, &sum)))
		ret = 0;
	if (!ret)
		ret = until_is(l, &l->notes, before + 2);
	if (!ret && (bgdma_network_error(l->net, NULL) ||
		     l->notes.is != before + 2))
		ret = -EIO;
	bgdma_network_close(l->net);
	return ret;
}

/* Messages by the endpoint itself, which leave, and a right to all. */
static int leave(struct life *l)
{
	const struct bgdma_send_attr note = {
		.operation = l->note, .data = "note", .length = 4,
	};
	uint64_t before = l->notes.is;
	int ret;

	do
		ret = bgdma_endpoint_send(l->m.ep, &note);
	while (again(l, ret));
	while (!ret && again(l, ret = bgdma_endpoint_flush(l->m.ep, -1)))
		ret = 0;
	while (!ret && l->notes.is == before)
		do
			ret = bgdma_endpoint_wait(l->m.ep, -1);
		while (again(l, ret));
	while (!ret && again(l, ret = bgdma_endpoint_grant(l->m.ep,
				BGDMA_KIND_REGION,
				bgdma_region_handle(l->region), 1,
				BGDMA_RIGHT_READ)))
		ret = 0;
	return ret || l->notes.is == before + 1 ? ret : -EIO;
}

/* ---- Announced messages ------------------------------------------------- */

static uint8_t from[20000] PINNED, to[20000] PINNED;

static void on_end(void *arg, int result, uint64_t bytes)
{
	struct life *l = arg;

	(void)bytes;
	l->ended.is++;
	l->result = result;
}

static int announce(struct life *l, uint64_t portion)
{
	const struct bgdma_rendezvous_attr attr = {
		.operation = l->rts, .length = sizeof(from), .data = from,
		.portion = portion, .in_flight = portion ? 2 : 0,
		.done = on_end, .arg = l, .id = &l->message,
	};
	uint64_t before = l->announced.is;
	int ret;

	do
		ret = bgdma_rendezvous_send(l->m.ep, &attr);
	while (again(l, ret));
	return ret ? ret : until_is(l, &l->announced, before + 1);
}

/* Until @more have ended, and how. */
static int until_end(struct life *l, uint64_t more, int result)
{
	int ret = until_is(l, &l->ended, l->ended.is + more);

	return ret || l->result == result ? ret : -EIO;
}

static int accept_it(struct life *l)
{
	const struct bgdma_accept_attr attr = {
		.length = sizeof(to), .data = to, .done = on_end, .arg = l,
	};
	int ret;

	memset(to, 0, sizeof(to));
	do
		ret = bgdma_rendezvous_accept(l->m.ep, &l->kept, &attr);
	while (again(l, ret));
	return ret;
}

static int cross(struct life *l, uint64_t portion)
{
	int ret = announce(l, portion);

	if (!ret)
		ret = accept_it(l);
	if (!ret)
		ret = until_end(l, 2, 0);
	return ret || !memcmp(from, to, sizeof(to)) ? ret : -EIO;
}

static int refuse(struct life *l)
{
	int ret = announce(l, 0);

	while (!ret && again(l, ret = bgdma_rendezvous_refuse(l->m.ep, &l->kept)))
		ret = 0;
	return ret ? ret : until_end(l, 1, -ECANCELED);
}

static int give_up(struct life *l)
{
	int ret = announce(l, 0);

	while (!ret && again(l, ret = bgdma_rendezvous_cancel(l->m.ep, l->message)))
		ret = 0;
	if (!ret)
		ret = until_end(l, 1, -ECANCELED);
	if (!ret)
		ret = accept_it(l);
	if (!ret)
		ret = until_is(l, &l->ended, l->ended.is + 1);
	/* Who had no memory to remember it hears of it from the engine. */
	return ret || l->result == -ECANCELED || (faults && l->result) ? ret : -EIO;
}

/* What the kernel has for the messages of this process, without a fault. */
static long held(struct life *l)
{
	unsigned int left = until_fault;
	struct bgdma_counter_stats in, out;
	long regions;

	until_fault = 0;
	regions = regions_seen(l->m.ep);
	bgdma_counters_used(l->m.ep, BGDMA_INJECTION, &out);
	bgdma_counters_used(l->m.ep, BGDMA_RECEPTION, &in);
	until_fault = left;
	return regions + in.busy + out.busy;
}

/* All that can happen to one, and at last one in portions, whose memory is kept. */
static int rendezvous(struct life *l)
{
	long before = held(l);
	int ret;

	memset(from, 0x5a, sizeof(from));
	ret = cross(l, 0);
	if (!ret)
		ret = refuse(l);
	if (!ret)
		ret = give_up(l);
	/* What could not be ended stays for so long as the endpoint. */
	if (!ret && held(l) > before + (faults && !l->told))
		ret = -EBUSY;
	return ret ? ret : cross(l, 4096);
}

/* ---- Lives --------------------------------------------------------------- */

FIXTURE(life) {
};

FIXTURE_VARIANT(life) {
	struct kind kind;
};

#define STEPS	{ leave, rendezvous, look, network }

FIXTURE_VARIANT_ADD(life, plain) {
	{ .steps = STEPS, .told = 200 }
};
FIXTURE_VARIANT_ADD(life, with_shared_counters) {
	{ .attr = { .counters = BGDMA_COUNTERS_SHARED }, .steps = STEPS,
	  .told = 200 }
};
FIXTURE_VARIANT_ADD(life, without_files) {
	{ .steps = STEPS, .told = 200, .code = EMFILE }
};
FIXTURE_VARIANT_ADD(life, with_signals) {
	{ .steps = STEPS, .told = 200, .code = EINTR }
};

FIXTURE_SETUP(life)
{
	partition_new("2x1x1", "");
}

FIXTURE_TEARDOWN(life)
{
}

TEST_F_TIMEOUT(life, x3_a_call_that_fails_works_when_it_is_made_again, 300)
{
	struct kind kind = variant->kind;

	EXPECT_TRUE(job_run(1, fail_nth, &kind, -1));
}

/* ---- The endpoint's own thread ------------------------------------------- */

struct words {
	int code, there;
};

static int on_word(void *arg, uint32_t rank, const struct bgdma_packet *packet)
{
	struct words *w = arg;

	(void)rank;
	(void)packet;
	__atomic_add_fetch(&w->there, 1, __ATOMIC_SEQ_CST);
	return 0;
}

/* Rank 1 leaves all to its thread, which cannot wait a few times. */
static int thread_goes_on(uint32_t rank, uint32_t size, void *arg)
{
	const struct bgdma_endpoint_attr ep = {
		.progress = BGDMA_PROGRESS_THREAD,
	};
	const struct bgdma_operation_attr op = {
		.module = "test", .name = "word", .packet = on_word, .arg = arg,
	};
	struct bgdma_send_attr send = {
		.type = BGDMA_POINT_TO_POINT, .dest = 1,
	};
	struct words *w = arg;
	struct member m;
	int i;

	(void)size;
	fault_code = w->code;
	require_is(0, member_open(&m, &ep));
	require_is(0, bgdma_operation_register(m.ep, &op, &send.operation));
	require_is(0, bgdma_endpoint_commit(m.ep, NULL));
	for (i = 0; i < 3; i++) {
		if (rank == 1)
			store(&waits_fail, 3);
		require_is(0, bgdma_job_fence(m.job));
		if (rank == 0)
			require_is(0, bgdma_endpoint_send(m.ep, &send));
		require(until(load(&w->there) == i + 1));
	}
	require(rank == 0 || until(load(&waits_fail) < 3));
	return member_close(&m);
}

TEST(x3_a_thread_that_cannot_wait_goes_on)
{
	static const int codes[] = { EINTR, ENOMEM, EAGAIN };
	unsigned int i;

	partition_new("2x1x1", "");
	for (i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		struct words *w = shared(sizeof(*w));

		w->code = codes[i];
		EXPECT_TRUE(job_run(2, thread_goes_on, w, -1));
	}
}

TEST_HARNESS_MAIN
