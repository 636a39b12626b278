// SPDX-License-Identifier: GPL-2.0
/*
 * What becomes of tagged messages that fail, and what the calls return then.
 */
#include <signal.h>
#include <sys/time.h>

#include "kselftest_harness.h"
#include "msg_util.h"
#include "sys_forge.h"

#define LONG	100000
#define EAGER	32768U
#define EAGER_SHORT	8192U	/* by default */

static uint8_t mem[LONG] PINNED;

/* ---- The error of a status --------------------------------------------- */

/* Two receives of messages that are longer than their room, and are there. */
static int too_long(struct talker *t, struct bgdma_msg_request **r)
{
	uint32_t i;

	for (i = 0; i < 2; i++) {
		require_is(0, bgdma_msg_irecv(t->msg, mem, 5, 0, i, 0, &r[i]));
		require_is(0, bgdma_msg_send(t->msg, "too long", 9, 0, i, 0));
	}
	return 0;
}

static int told(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_msg_request *r[2];
	struct bgdma_msg_status s[2];
	struct talker t = { 0 };
	unsigned int index[2];

	(void)rank;
	(void)size;
	(void)arg;
	require_is(0, talker_open(&t, (struct bgdma_endpoint_attr){ 0 }, NULL));
	require_is(0, too_long(&t, r));
	require_is(-EMSGSIZE, bgdma_msg_test(&r[0], &s[0]));
	require_is(-EMSGSIZE, s[0].error);
	require_is(-EMSGSIZE, bgdma_msg_wait(&r[1], &s[1]));
	require_is(-EMSGSIZE, s[1].error);
	require(!r[0] && !r[1]);

	require_is(0, too_long(&t, r));
	require_is(-EMSGSIZE, bgdma_msg_testany(r, 2, index, &s[0]));
	require_is(0, index[0]);
	require_is(-EMSGSIZE, s[0].error);
	require_is(-EMSGSIZE, bgdma_msg_waitany(r, 2, index, &s[1]));
	require_is(1, index[0]);
	require_is(1, s[1].tag);
	require_is(-EMSGSIZE, s[1].error);
	require(!r[0] && !r[1]);

	require_is(0, too_long(&t, r));
	require_is(-EMSGSIZE, bgdma_msg_testall(r, 2, s));
	require_is(-EMSGSIZE, s[1].error);
	require(!r[0] && !r[1]);

	require_is(0, too_long(&t, r));
	require_is(-EMSGSIZE, bgdma_msg_waitall(r, 2, s));
	require_is(-EMSGSIZE, s[1].error);
	require(!r[0] && !r[1]);

	/* Of some it is in the statuses alone. */
	require_is(0, too_long(&t, r));
	require_is(2, bgdma_msg_testsome(r, 2, index, s));
	require_is(-EMSGSIZE, s[0].error);
	require_is(-EMSGSIZE, s[1].error);
	return talker_close(&t);
}

TEST(msg_the_error_of_a_status_is_returned)
{
	partition_new("1x1x1", "");
	EXPECT_TRUE(job_run(1, told, NULL, -1));
}

/* ---- Without the partition --------------------------------------------- */

static int without_partition(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_msg_message *message;
	struct bgdma_msg_request *r;
	struct talker t = { 0 };
	unsigned int index;

	(void)rank;
	(void)size;
	(void)arg;
	require_is(0, talker_open(&t, (struct bgdma_endpoint_attr){ 0 }, NULL));
	require_is(0, bgdma_msg_irecv(t.msg, mem, 8, 0, 1, 0, &r));
	require_is(0, partition("del", PARTITION, ""));
	/* Events of its end come first. */
	while (bgdma_endpoint_progress(t.m.ep, 0) > 0)
		;
	require_is(-ENODEV, bgdma_msg_iprobe(t.msg, 0, 1, 0, NULL));
	require_is(-ENODEV, bgdma_msg_probe(t.msg, 0, 1, 0, NULL));
	require_is(-ENODEV, bgdma_msg_improbe(t.msg, 0, 1, 0, &message, NULL));
	require_is(-ENODEV, bgdma_msg_mprobe(t.msg, 0, 1, 0, &message, NULL));
	require_is(-ENODEV, bgdma_msg_test(&r, NULL));
	require_is(-ENODEV, bgdma_msg_wait(&r, NULL));
	require_is(-ENODEV, bgdma_msg_testsome(&r, 1, &index, NULL));
	require_is(-ENODEV, bgdma_msg_waitsome(&r, 1, &index, NULL));
	require_is(-ENODEV, bgdma_msg_testany(&r, 1, &index, NULL));
	require_is(-ENODEV, bgdma_msg_waitany(&r, 1, &index, NULL));
	require_is(-ENODEV, bgdma_msg_testall(&r, 1, NULL));
	require_is(-ENODEV, bgdma_msg_waitall(&r, 1, NULL));
	/* It is still there. */
	require(r);
	require_is(0, bgdma_msg_cancel(r));
	require_is(-ECANCELED, bgdma_msg_test(&r, NULL));
	return member_leave(&t.m);
}

TEST(x3_msg_without_the_partition)
{
	partition_new("1x1x1", "");
	EXPECT_TRUE(job_run(1, without_partition, NULL, -1));
}

struct late {
	size_t bytes;
	volatile pid_t stopped;
};

/* It comes, and then the partition goes, while its receiver is stopped. */
static int sends_late(struct talker *t, const struct late *l)
{
	struct bgdma_msg_request *r;

	while (!l->stopped)
		usleep(1000);
	/* It sleeps. */
	usleep(300000);
	require_is(0, kill(l->stopped, SIGSTOP));
	require_is(0, bgdma_msg_isend(t->msg, mem, l->bytes, 0, 1, 0, &r));
	require_is(0, bgdma_endpoint_flush(t->m.ep, (int64_t)PATIENCE_NS));
	links_enter(0);
	require_is(0, partition("del", PARTITION, ""));
	return kill(l->stopped, SIGCONT);
}

static int received_late(uint32_t rank, uint32_t size, void *arg)
{
	struct talker t = { 0 };
	struct late *l = arg;
	bool eager = l->bytes <= EAGER_SHORT;
	size_t i;

	(void)size;
	require_is(0, talker_open(&t, (struct bgdma_endpoint_attr){ 0 }, NULL));
	require_is(0, talker_fence(&t));
	memset(mem, rank ? 'x' : 'o', LONG);
	if (rank) {
		require_is(0, sends_late(&t, l));
		return member_leave(&t.m);
	}
	l->stopped = getpid();
	require_is(eager ? 0 : -ENODEV,
		   bgdma_msg_recv(t.msg, mem, LONG, 1, 1, 0, NULL));
	while (bgdma_endpoint_progress(t.m.ep, 0) > 0)
		;
	for (i = 0; i < LONG; i++)
		require(mem[i] == (eager && i < l->bytes ? 'x' : 'o'));
	return member_leave(&t.m);
}

/* What is all there is received; of what is not nothing comes later. */
TEST(x3_msg_what_came_before_the_partition_went)
{
	static const size_t bytes[] = { 8, EAGER_SHORT, LONG };
	struct late *l = shared(sizeof(*l));
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bytes); i++) {
		partition_new("2x1x1", "");
		*l = (struct late){ .bytes = bytes[i] };
		EXPECT_TRUE(job_run(2, received_late, l, -1))
			TH_LOG("%zu bytes", bytes[i]);
	}
}

/* ---- Before the commit ------------------------------------------------- */

static int early(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_msg_message *message;
	struct bgdma_msg_request *r;
	struct bgdma_region *region;
	struct talker t = { 0 };

	(void)rank;
	(void)size;
	(void)arg;
	require_is(0, talker_create(&t, (struct bgdma_endpoint_attr){ 0 },
				    NULL));
	require_is(0, bgdma_region_alloc(bgdma_endpoint_ctx(t.m.ep), 4096,
					 LOCAL_RW, &region));
	require_is(-ENOTCONN, bgdma_msg_expose(t.msg, region));
	require_is(-ENOTCONN, bgdma_msg_isend(t.msg, mem, 1, 0, 0, 0, &r));
	require_is(-ENOTCONN, bgdma_msg_issend(t.msg, mem, 1, 0, 0, 0, &r));
	require_is(-ENOTCONN, bgdma_msg_irecv(t.msg, mem, 1, 0, 0, 0, &r));
	require_is(-ENOTCONN, bgdma_msg_ssend(t.msg, mem, 1, 0, 0, 0));
	require_is(-ENOTCONN, bgdma_msg_probe(t.msg, 0, 0, 0, NULL));
	require_is(-ENOTCONN, bgdma_msg_improbe(t.msg, 0, 0, 0, &message,
						NULL));
	require_is(-ENOTCONN, bgdma_msg_mprobe(t.msg, 0, 0, 0, &message, NULL));
	require_is(0, bgdma_endpoint_commit(t.m.ep, NULL));
	require_is(0, bgdma_msg_expose(t.msg, region));
	return talker_close(&t);
}

TEST(msg_before_the_commit)
{
	partition_new("1x1x1", "");
	EXPECT_TRUE(job_run(1, early, NULL, -1));
}

/* ---- Signals ----------------------------------------------------------- */

#define ALARMS	20

static uint32_t *heard;

static void on_alarm(int signal)
{
	(void)signal;
	__atomic_add_fetch(heard, 1, __ATOMIC_RELEASE);
}

static int undisturbed(uint32_t rank, uint32_t size, void *arg)
{
	const struct sigaction action = { .sa_handler = on_alarm };
	struct itimerval timer = {
		.it_interval.tv_usec = 10000, .it_value.tv_usec = 10000,
	};
	struct bgdma_endpoint_stats before, after;
	struct bgdma_msg_request *r;
	struct talker t = { 0 };

	(void)size;
	(void)arg;
	require_is(0, talker_open(&t, (struct bgdma_endpoint_attr){ 0 }, NULL));
	if (rank == 1) {
		require(until(load(heard) >= ALARMS));
		require_is(0, bgdma_msg_send(t.msg, "at last", 8, 0, 1, 0));
		return talker_close(&t);
	}
	require_is(0, bgdma_msg_irecv(t.msg, mem, 8, 1, 1, 0, &r));
	bgdma_endpoint_stats(t.m.ep, &before);
	must(sigaction(SIGALRM, &action, NULL));
	must(setitimer(ITIMER_REAL, &timer, NULL));
	require_is(0, bgdma_msg_wait(&r, NULL));
	timer = (struct itimerval){ 0 };
	must(setitimer(ITIMER_REAL, &timer, NULL));
	bgdma_endpoint_stats(t.m.ep, &after);
	/* They did wake it. */
	require(after.sleeps > before.sleeps + 1);
	require(!strcmp((char *)mem, "at last"));
	return talker_close(&t);
}

TEST(msg_signals_end_no_wait)
{
	heard = shared(sizeof(*heard));
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, undisturbed, NULL, -1));
}

/* ---- What the engine finds wrong --------------------------------------- */

/* The origin's memory goes away while its message is announced. */
static int gone(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_msg_status status;
	struct bgdma_msg_request *r;
	struct bgdma_region *region;
	struct talker t = { 0 };

	(void)size;
	(void)arg;
	require_is(0, talker_open(&t, (struct bgdma_endpoint_attr){ 0 }, NULL));
	if (rank == 0) {
		require_is(0, bgdma_region_alloc(bgdma_endpoint_ctx(t.m.ep),
						 LONG, LOCAL_RW, &region));
		require_is(0, bgdma_msg_expose(t.msg, region));
		require_is(0, bgdma_msg_isend(t.msg, bgdma_region_addr(region),
					      LONG, 1, 1, 0, &r));
		require_is(0, bgdma_region_free(region));
	}
	require_is(0, bgdma_job_fence(t.m.job));
	if (rank == 1)
		require_is(0, bgdma_msg_irecv(t.msg, mem, LONG, 0, 1, 0, &r));
	require_is(bgdma_code_errno(BGDMA_E_REGION), bgdma_msg_wait(&r, &status));
	require_is(bgdma_code_errno(BGDMA_E_REGION), status.error);
	require(!status.cancelled);
	require_is(0, status.length);
	/* It was of that message alone. */
	require_is(0, bgdma_msg_isend(t.msg, mem, LONG, !rank, 2, 0, &r));
	bgdma_msg_request_free(&r);
	require_is(0, bgdma_msg_recv(t.msg, mem, LONG, !rank, 2, 0, NULL));
	require_is(0, t.troubles[BGDMA_TROUBLE_PEER_DOWN]);
	return talker_close(&t);
}

TEST(lc3_msg_what_the_engine_found_is_in_the_status)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, gone, NULL, -1));
}

/* ---- An eager message that breaks off ---------------------------------- */

/* A message of which a part has arrived when its memory goes away. */
static int begin_only(struct talker *t, uint32_t tag)
{
	struct bgdma_ctx *ctx = bgdma_endpoint_ctx(t->m.ep);
	struct bgdma_send_attr send = {
		.operation = forge_id("msg", "eager, 8388608 bytes for each peer"),
		.dest = 1, .word = tag, .length = EAGER,
	};

	require_is(0, bgdma_region_register(ctx, mem, EAGER, BGDMA_LOCAL_READ,
					    &send.from.region));
	require_is(0, bgdma_counter_alloc(ctx, BGDMA_INJECTION,
					  &send.counter));
	bgdma_counter_add(send.counter, EAGER);
	require_is(0, bgdma_endpoint_send(t->m.ep, &send));
	require(until(bgdma_counter_read(send.counter) < EAGER));
	return bgdma_region_free(send.from.region);
}

/* Twice: one that a receive waits for, and one that is kept. */
static int broken(uint32_t rank, uint32_t size, void *arg)
{
	/* Not all of it has room there. */
	const struct bgdma_endpoint_attr attr = { .data_bytes = 16384 };
	struct bgdma_msg_request *r = NULL;
	struct bgdma_msg_status status;
	struct talker t = { 0 };
	uint32_t tag;

	(void)size;
	(void)arg;
	require_is(0, talker_open(&t, attr, NULL));
	for (tag = 0; tag < 2; tag++) {
		if (rank == 1 && !tag)
			require_is(0, bgdma_msg_irecv(t.msg, mem, EAGER, 0, tag,
						      0, &r));
		if (rank == 0)
			require_is(0, begin_only(&t, tag));
		require_is(0, bgdma_job_fence(t.m.job));
		if (rank == 1 && tag) {
			require_is(0, bgdma_msg_probe(t.msg, 0, tag, 0, NULL));
			require_is(0, bgdma_msg_irecv(t.msg, mem, EAGER, 0, tag,
						      0, &r));
		}
		if (rank == 1) {
			require_is(-EIO, bgdma_msg_wait(&r, &status));
			require_is(-EIO, status.error);
			require_is(tag, status.tag);
			require_is(EAGER, status.sent);
			require(status.length < EAGER);
		}
		/* Its channel goes on behind it. */
		while (rank == 0 && t.troubles[BGDMA_TROUBLE_LOST] <= tag)
			require(bgdma_endpoint_progress(t.m.ep, 0) >= 0);
		require_is(0, bgdma_job_fence(t.m.job));
	}
	return member_close(&t.m);
}

TEST(dp9_msg_an_eager_message_that_breaks_off)
{
	partition_new("2x1x1", "");
	if (links_used())
		SKIP(return, "over links a frame holds all of it, and none breaks off");
	EXPECT_TRUE(job_run(2, broken, NULL, -1));
}

/*
 * What breaks off has filled the FIFO to its last byte, behind another message: an event
 * alone tells of it.
 */
struct broken_off {
	bool eager;		/* it is a message of msg, too */
	uint32_t before;	/* bytes of the message before it */
	uint32_t packets;	/* of it that have room */
	bool two;		/* and then one of others, once the first has room */
	uint32_t stage;
};

static int submit_to_1(struct talker *t, struct bgdma_inj_fifo *fifo,
		       struct bgdma_transfer *x, uint32_t id, uint64_t word)
{
	const struct bgdma_peer *to = bgdma_endpoint_peer(t->m.ep, 1);
	struct bgdma_desc *desc = bgdma_inj_reserve(fifo);

	require(desc);
	x->dest = to->node;
	x->dest_ctx = to->ctx;
	x->dest_fifo = DATA_FIFO;
	x->dispatch = (uint16_t)id;
	x->cookie = (uint64_t)(id >> 16) << BGDMA_WORD_BITS | word;
	bgdma_desc_memfifo(desc, x);
	return bgdma_inj_submit(fifo);
}

/* It ends with its FIFO, when so many of its packets have found room. */
static int break_off(struct talker *t, struct bgdma_inj_fifo *fifo,
		     struct bgdma_transfer *x, uint32_t id, uint32_t packets)
{
	struct bgdma_counter *counter;

	require_is(0, bgdma_counter_alloc(bgdma_endpoint_ctx(t->m.ep),
					  BGDMA_INJECTION, &counter));
	bgdma_counter_add(counter, EAGER);
	x->length = EAGER;
	x->counter = bgdma_counter_handle(counter);
	require_is(0, submit_to_1(t, fifo, x, id, 1));
	require(until(bgdma_counter_read(counter) ==
		      EAGER - packets * BGDMA_PACKET_MAX));
	return bgdma_inj_destroy(fifo);
}

enum { BROKEN = 1, ROOM, BROKEN_TOO };

static int break_off_behind(struct talker *t, struct broken_off *what)
{
	const uint32_t eager = forge_id("msg", "eager, 8388608 bytes for each peer");
	const uint32_t nobodys = forge_id("nobody", "knows it");
	struct bgdma_ctx *ctx = bgdma_endpoint_ctx(t->m.ep);
	struct bgdma_transfer x = bgdma__no_transfer();
	struct bgdma_inj_fifo *fifo;
	struct bgdma_region *region;

	require_is(0, bgdma_inj_create(ctx, NULL, &fifo));
	require_is(0, bgdma_region_register(ctx, mem, EAGER, BGDMA_LOCAL_READ,
					    &region));
	x.from.region = bgdma_region_handle(region);
	x.length = what->before;
	require_is(0, submit_to_1(t, fifo, &x, eager, 0));
	require_is(0, break_off(t, fifo, &x, what->eager ? eager : nobodys,
				what->packets));
	store(&what->stage, BROKEN);
	if (!what->two)
		return 0;
	require(until(load(&what->stage) == ROOM));
	require_is(0, bgdma_inj_create(ctx, NULL, &fifo));
	require_is(0, break_off(t, fifo, &x, nobodys, 1));
	store(&what->stage, BROKEN_TOO);
	return 0;
}

static int hear_of_both(struct talker *t, struct broken_off *what)
{
	require(until(load(&what->stage) == BROKEN));
	/* A packet, then the event. */
	require(bgdma_endpoint_progress(t->m.ep, 1) >= 0);
	store(&what->stage, ROOM);
	require(until(load(&what->stage) == BROKEN_TOO));
	return 0;
}

static int told_by_event(uint32_t rank, uint32_t size, void *arg)
{
	const struct bgdma_endpoint_attr attr = { .data_bytes = 16384 };
	struct broken_off *what = arg;
	struct bgdma_msg_request *r[2];
	struct bgdma_msg_status status;
	struct talker t = { 0 };
	unsigned int i;

	(void)size;
	require_is(0, talker_open(&t, attr, NULL));
	require_is(0, bgdma_job_fence(t.m.job));
	if (rank == 0) {
		require_is(0, break_off_behind(&t, what));
	} else {
		require_is(0, bgdma_msg_irecv(t.msg, mem, EAGER, 0, 0, 0, &r[0]));
		require_is(0, bgdma_msg_irecv(t.msg, mem + EAGER, EAGER, 0, 1, 0,
					      &r[1]));
		require(!what->two || !hear_of_both(&t, what));
		require(until(bgdma_events_pending(bgdma_endpoint_ctx(t.m.ep))));
		/* A packet, then the event, then the other packets. */
		for (i = 0; i < 64; i++)
			require(bgdma_endpoint_progress(t.m.ep, 1) >= 0);
		require_is(0, bgdma_msg_wait(&r[0], &status));
		require_is(what->before, status.length);
		require_is(1 + what->two, t.troubles[BGDMA_TROUBLE_CUT]);
		if (!what->eager)
			require_is(0, bgdma_msg_cancel(r[1]));
		require_is(what->eager ? -EIO : -ECANCELED,
			   bgdma_msg_wait(&r[1], &status));
		require_is(0, t.troubles[BGDMA_TROUBLE_MALFORMED]);
	}
	require_is(0, bgdma_job_fence(t.m.job));
	return member_close(&t.m);
}

FIXTURE(told) {
};

FIXTURE_VARIANT(told) {
	struct broken_off what;
};

/* None of it, while a message of msg of two packets is half there. */
FIXTURE_VARIANT_ADD(told, of_others) {
	.what = { .before = 8064, .packets = 2 },
};

/* Before the first of its packets was looked at. */
FIXTURE_VARIANT_ADD(told, of_one_that_is_next) {
	.what = { .eager = true, .before = 3968, .packets = 3 },
};

/* The same, and the event of another comes before that packet, too. */
FIXTURE_VARIANT_ADD(told, of_two) {
	.what = { .eager = true, .before = 8064, .packets = 2, .two = true },
};

FIXTURE_SETUP(told)
{
	must(unsetenv("BGDMA_TEST_LINKS"));
	partition_new("2x1x1", "");
}

FIXTURE_TEARDOWN(told)
{
}

TEST_F(told, dp9_msg_a_message_that_breaks_off_by_event)
{
	struct broken_off *what = shared(sizeof(*what));

	*what = variant->what;
	EXPECT_TRUE(job_run(2, told_by_event, what, -1));
}

TEST_HARNESS_MAIN
