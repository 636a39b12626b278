// SPDX-License-Identifier: GPL-2.0
/*
 * What a rendezvous makes the engines do, as they are traced: these descriptors, in
 * this order, and nothing else.
 */
#include "kselftest_harness.h"
#include "sys_module.h"
#include "tracing.h"

#define BYTES_MAX	(1U << 20)
#define STEPS_MAX	4096
#define NONE		0xffffffffU	/* no counter */
#define ADAPTIVE	0x40		/* BGDMA_ROUTE_ADAPTIVE */
#define PAIRS		1		/* remote-get queues of an endpoint */
#define FETCHES		2
#define RTS_BYTES	64
#define DESC_BYTES	64

static uint8_t mem[BYTES_MAX + 1] PINNED;

/* ---- The trace --------------------------------------------------------- */

enum what { FETCH, EXECUTE, INJECT, COUNTER, HIT_ZERO };

static const char *const events[] = {
	"bgdma_fetch", "bgdma_execute", "bgdma_inject", "bgdma_counter",
	"bgdma_hit_zero",
};

/* One line; what it does not have is 0. */
struct step {
	enum what what;
	unsigned int rank;
	bool remote;		/* of, or into, a remote-get queue */
	unsigned int queue;	/* that one, or an injection FIFO */
	char op[16], flags[32];
	uint64_t id, by, length, route, sent, received, counter;
	int64_t value;
	bool reception;		/* counter */
};

static struct trace {
	unsigned int count;
	struct step step[STEPS_MAX];
} *trace;

static uint64_t number_of(const char *line, const char *name, int base)
{
	const char *at = strstr(line, name);

	return at ? strtoull(at + strlen(name), NULL, base) : 0;
}

static void transfer_read(const char *line, struct step *s)
{
	const char *at;

	s->remote = strstr(line, " remote-get-queue=");
	s->queue = (unsigned int)(s->remote ?
		number_of(line, " remote-get-queue=", 10) :
		number_of(line, " injection-fifo=", 10));
	s->id = number_of(line, " id=0x", 16);
	s->by = number_of(line, " by=0x", 16);
	s->length = number_of(line, " length=", 10);
	s->route = number_of(line, " route=0x", 16);
	s->sent = number_of(line, " inj_ctr=0x", 16);
	s->received = number_of(line, " rec_ctr=0x", 16);
	at = strstr(line, " seq=");
	if (at)
		sscanf(at, " seq=%*u %15s flags=%31s", s->op, s->flags);
}

static void counter_read(const char *line, struct step *s)
{
	s->reception = strstr(line, " reception ");
	s->counter = number_of(line, " counter=", 10);
	s->value = (int64_t)number_of(line, " value=", 10);
	s->by = number_of(line, " by=", 10);
}

static void line_read(const char *line, struct trace *t)
{
	struct step s = { 0 };
	char head[64];
	const char *at;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(events); i++) {
		snprintf(head, sizeof(head), " %s: " PARTITION "/", events[i]);
		at = strstr(line, head);
		if (!at)
			continue;
		s.what = (enum what)i;
		s.rank = (unsigned int)strtoul(at + strlen(head), NULL, 10);
		if (i < COUNTER)
			transfer_read(at, &s);
		else
			counter_read(at, &s);
		must(t->count < STEPS_MAX ? 0 : -ENOSPC);
		t->step[t->count++] = s;
	}
}

static void trace_read(void)
{
	FILE *lines = tracing_lines();
	char line[512];

	trace->count = 0;
	while (fgets(line, sizeof(line), lines))
		line_read(line, trace);
	fclose(lines);
}

static unsigned int steps_of(enum what kind)
{
	unsigned int i, n = 0;

	for (i = 0; i < trace->count; i++)
		n += trace->step[i].what == kind;
	return n;
}

/*
 * What the processes were told is traced a moment later: what was fetched is executed,
 * and a counter of each of them has reached zero.
 */
static bool trace_whole(void)
{
	trace_read();
	return steps_of(EXECUTE) == steps_of(FETCH) && steps_of(HIT_ZERO) >= 2;
}

static void trace_begin(void)
{
	char path[128];
	unsigned int i;

	/* The clocks of processors differ: this one numbers what happens. */
	must(write_file(INSTANCE "/trace_clock", "counter"));
	for (i = 0; i < ARRAY_SIZE(events); i++) {
		snprintf(path, sizeof(path), INSTANCE "/events/bgdma/%s/enable",
			 events[i]);
		must(write_file(path, "1"));
	}
	tracing_clear();
}

/* ---- A message --------------------------------------------------------- */

struct message {
	uint64_t bytes, portion;
	uint32_t in_flight;
	bool deterministic;
};

static int cross(uint32_t rank, uint32_t size, void *arg)
{
	const struct message *message = arg;
	static struct module module;

	(void)size;
	require_is(0, module_open(&module, (struct bgdma_endpoint_attr){ 0 }));
	require_is(0, bgdma_job_fence(module.m.job));
	if (rank == 0)
		trace_begin();
	require_is(0, bgdma_job_fence(module.m.job));
	require_is(0, message_cross(&module, (struct bgdma_rendezvous_attr){
			.length = message->bytes, .data = mem,
			.portion = message->portion,
			.in_flight = message->in_flight,
			.deterministic = message->deterministic },
			message->bytes));
	require_is(0, bgdma_job_fence(module.m.job));
	if (rank == 0)
		require(until(trace_whole()));
	require_is(0, bgdma_job_fence(module.m.job));
	return module_close(&module);
}

static void traced_begin(struct __test_metadata *_metadata)
{
	trace = shared(sizeof(*trace));
	if (!tracing_begin())
		SKIP(return, "needs root, and a kernel with tracing");
	partition_new("2x1x1", "");
}

FIXTURE(traced) {
};

FIXTURE_SETUP(traced)
{
	traced_begin(_metadata);
}

FIXTURE_TEARDOWN(traced)
{
	tracing_end();
}

/* The code of the kernel is patched to be traced, which takes its time. */
#define TRACED(name)	TEST_F_TIMEOUT(traced, name, 300)

static void trace_message(struct message message)
{
	must(job_run(2, cross, &message, -1) ? 0 : -EINVAL);
}

/* The next after @s, or the first. @op: NULL: any */
static const struct step *step_next(const struct step *s, enum what kind,
				    unsigned int rank, const char *op,
				    bool remote, unsigned int queue)
{
	for (s = s ? s + 1 : trace->step; s < trace->step + trace->count; s++)
		if (s->what == kind && s->rank == rank &&
		    (!op || !strcmp(s->op, op)) && s->remote == remote &&
		    (!remote || s->queue == queue))
			return s;
	return NULL;
}

static unsigned int steps(enum what kind, unsigned int rank, const char *op,
			  bool remote, unsigned int queue)
{
	const struct step *s = NULL;
	unsigned int n = 0;

	while ((s = step_next(s, kind, rank, op, remote, queue)))
		n++;
	return n;
}

/*
 * LC-2: a counter goes down by so much in all, and reaches zero once, at the end. All
 * of it was added before any of it went: who was first found it there, whichever it was.
 */
static void counts_down(struct __test_metadata *_metadata, unsigned int rank,
			bool reception, uint64_t bytes)
{
	const struct step *s, *one = NULL;
	unsigned int zeros = 0, hits = 0;
	uint64_t sum = 0, most = 0;

	for (s = trace->step; s < trace->step + trace->count; s++) {
		if (s->what < COUNTER || s->rank != rank)
			continue;
		/* The other kind is not moved at all. */
		EXPECT_EQ(reception, s->reception);
		if (s->what == HIT_ZERO) {
			hits++;
			continue;
		}
		EXPECT_EQ(one ? one->counter : s->counter, s->counter);
		/* Two processors tell of it in any order. */
		if ((uint64_t)s->value + s->by > most)
			most = (uint64_t)s->value + s->by;
		EXPECT_LE(0, s->value);
		one = s;
		sum += s->by;
		zeros += !s->value;
	}
	EXPECT_EQ(bytes, most);
	EXPECT_EQ(bytes, sum);
	EXPECT_EQ(1, zeros);
	EXPECT_EQ(1, hits);
	EXPECT_NE(NULL, one);
}

TRACED(lc1_lc2_a_rendezvous_is_three_descriptors)
{
	const struct step *rts, *cts, *data;

	trace_message((struct message){ .bytes = 100000,
					.portion = BGDMA_PORTION_WHOLE });
	EXPECT_EQ(3, steps_of(EXECUTE));
	rts = step_next(NULL, EXECUTE, 0, "memfifo", false, 0);
	cts = step_next(NULL, EXECUTE, 1, "remote-get", false, 0);
	data = step_next(NULL, EXECUTE, 0, "put", true, 0);
	ASSERT_TRUE(rts && cts && data);
	EXPECT_TRUE(rts < cts && cts < data);
	EXPECT_EQ(RTS_BYTES, rts->length);
	EXPECT_EQ(DESC_BYTES, cts->length);
	EXPECT_EQ(100000, data->length);
	/* One add of both, before the RTS. */
	counts_down(_metadata, 0, false, RTS_BYTES + 100000);
	counts_down(_metadata, 1, true, 100000);
}

/* LC-4, LC-5: how the RTS, the CTS and the data go. */
static void routes(struct __test_metadata *_metadata, bool deterministic)
{
	const struct step *rts, *cts, *data;

	trace_message((struct message){ .bytes = 5000,
					.deterministic = deterministic });
	rts = step_next(NULL, FETCH, 0, "memfifo", false, 0);
	cts = step_next(NULL, FETCH, 1, "remote-get", false, 0);
	data = step_next(NULL, FETCH, 0, "put", true, 0);
	ASSERT_TRUE(rts && cts && data);
	EXPECT_EQ(0, rts->route);
	EXPECT_EQ(0, cts->route);
	EXPECT_EQ(deterministic ? 0 : ADAPTIVE, data->route);
	EXPECT_EQ(rts->sent, data->sent);
	EXPECT_EQ(NONE, cts->sent);
}

TRACED(lc5_data_goes_adaptively)
{
	routes(_metadata, false);
}

TRACED(lc5_or_deterministically_if_asked_for)
{
	routes(_metadata, true);
}

/* ---- Chains ------------------------------------------------------------ */

/* SP-5: of those that move no data none names a counter. */
static void counters_named(struct __test_metadata *_metadata)
{
	const struct step *s, *rts = step_next(NULL, FETCH, 0, "memfifo", false,
					       0);
	uint64_t received = NONE;

	ASSERT_NE(NULL, rts);
	for (s = trace->step; s < trace->step + trace->count; s++) {
		if (s->what != FETCH || s == rts)
			continue;
		if (s->rank == 0 && !strcmp(s->op, "put")) {
			EXPECT_EQ(rts->sent, s->sent);
			EXPECT_NE(NONE, s->received);
			if (received != NONE)
				EXPECT_EQ(received, s->received);
			received = s->received;
		} else {
			EXPECT_EQ(NONE, s->sent);
			EXPECT_EQ(NONE, s->received);
		}
	}
}

/* SP-3: equal portions, of which the last may be shorter, and no more than offered. */
static void portions_equal(struct __test_metadata *_metadata,
			   const struct message *m, unsigned int portions)
{
	const struct step *s = NULL;
	unsigned int n = 0, shorter = 0;
	uint64_t sum = 0, most = 0;

	while ((s = step_next(s, EXECUTE, 0, "put", true, PAIRS)))
		if (s->length > most)
			most = s->length;
	while ((s = step_next(s, EXECUTE, 0, "put", true, PAIRS))) {
		sum += s->length;
		shorter += s->length != most;
		n++;
	}
	EXPECT_EQ(portions, n);
	EXPECT_EQ(m->bytes, sum);
	EXPECT_GE(1, shorter);
	EXPECT_GE(m->portion, most);
}

/*
 * SP-6, SP-10: a portion is sent when what brings it has come back, and that comes
 * by the O that the T of an earlier one has fetched. The first of each chain come by
 * what the target's core sent.
 */
static void portions_paced(struct __test_metadata *_metadata,
			   unsigned int chains)
{
	unsigned int come = 0, sent = 0, fetched = 0, answered = 0, begun = 0;
	const struct step *s;

	for (s = trace->step; s < trace->step + trace->count; s++) {
		if (s->what == INJECT && s->rank == 0 && s->remote &&
		    s->queue == PAIRS) {
			come++;
			EXPECT_GE(begun + answered, come);
		}
		if (s->what != EXECUTE)
			continue;
		if (s->rank == 1 && !strcmp(s->op, "remote-get")) {
			answered += s->remote;
			begun += !s->remote;
			EXPECT_GE(chains, begun);
			EXPECT_GE(fetched, answered);
		} else if (s->rank == 0 && s->remote &&
			   !strcmp(s->op, "remote-get")) {
			fetched++;
			EXPECT_GE(come, fetched);
		} else if (s->rank == 0 && s->remote && !strcmp(s->op, "put")) {
			sent++;
			EXPECT_GE(come, sent);
			EXPECT_GE(chains + answered, sent);
		}
	}
}

/*
 * SP-3a, SP-4: the O's are filled before anything fetches them, through the FIFO of
 * the remote gets that start the chains, and deterministically.
 */
static void fill_is_first(struct __test_metadata *_metadata)
{
	const struct step *fill = step_next(NULL, FETCH, 1, "put", false, 0);
	const struct step *done = step_next(NULL, EXECUTE, 1, "put", false, 0);
	const struct step *s = NULL;

	ASSERT_TRUE(fill && done);
	EXPECT_EQ(0, fill->route);
	while ((s = step_next(s, FETCH, 1, "remote-get", false, 0))) {
		EXPECT_LT(fill, s);
		EXPECT_EQ(fill->queue, s->queue);
		EXPECT_EQ(0, s->route);
	}
	EXPECT_LT(done, step_next(NULL, EXECUTE, 0, "remote-get", true, PAIRS));
}

/*
 * SP-4, SP-6, SP-7: what the origin's engine is brought is {T, D} or {D, L}: the fetch
 * of the next goes before the portion.
 */
static void pairs_are(struct __test_metadata *_metadata)
{
	const struct step *s = NULL, *second;
	bool linked;

	while ((s = step_next(s, FETCH, 0, NULL, true, PAIRS))) {
		second = step_next(s, FETCH, 0, NULL, true, PAIRS);
		ASSERT_NE(NULL, second);
		linked = !strcmp(s->op, "remote-get");
		EXPECT_STREQ(linked ? "remote-get" : "put", s->op);
		EXPECT_STREQ(linked ? "put" : "local-memfifo", second->op);
		s = second;
	}
}

/* SP-7: what tells the origin's core is fenced, and of no core's sending. */
static void ends_are(struct __test_metadata *_metadata, unsigned int chains)
{
	const struct step *s = NULL;

	EXPECT_EQ(chains, steps(EXECUTE, 0, "local-memfifo", true, PAIRS));
	EXPECT_EQ(0, steps(EXECUTE, 0, "local-memfifo", false, 0));
	while ((s = step_next(s, FETCH, 0, "local-memfifo", true, PAIRS)))
		EXPECT_TRUE(!!strstr(s->flags, "fence"));
}

static void chain_is(struct __test_metadata *_metadata, struct message m,
		     unsigned int portions, unsigned int chains)
{
	unsigned int linked = portions - chains;

	trace_message(m);
	EXPECT_EQ(1, steps(EXECUTE, 0, "memfifo", false, 0));		/* RTS */
	EXPECT_EQ(1, steps(EXECUTE, 1, "put", false, 0));		/* fills O */
	EXPECT_EQ(chains, steps(EXECUTE, 1, "remote-get", false, 0));
	EXPECT_EQ(linked, steps(EXECUTE, 0, "remote-get", true, PAIRS));
	EXPECT_EQ(linked, steps(EXECUTE, 1, "remote-get", true, FETCHES));
	/* These, and nothing else: at most four for each portion. */
	EXPECT_EQ(2 + chains + 2 * linked + portions + chains, steps_of(EXECUTE));
	EXPECT_GE(4 * portions, steps_of(EXECUTE));
	portions_equal(_metadata, &m, portions);
	fill_is_first(_metadata);
	pairs_are(_metadata);
	portions_paced(_metadata, chains);
	ends_are(_metadata, chains);
	counters_named(_metadata);
	counts_down(_metadata, 0, false, RTS_BYTES + m.bytes);
	counts_down(_metadata, 1, true, m.bytes);
}

TRACED(sp3_to_sp10_a_chain)
{
	chain_is(_metadata, (struct message){ 40 * 4096, 4096, 1, false }, 40,
		 1);
}

TRACED(sp3_to_sp10_a_chain_whose_last_portion_is_shorter)
{
	chain_is(_metadata, (struct message){ 10 * 4096 + 100, 4096, 1, false },
		 11, 1);
}

TRACED(sp3_to_sp10_the_shortest_chain)
{
	chain_is(_metadata, (struct message){ 8192, 4096, 1, false }, 2, 1);
}

TRACED(sp10_three_chains)
{
	chain_is(_metadata, (struct message){ 40 * 4096, 4096, 3, false }, 40,
		 3);
}

/* ---- Over links on which everything takes a while ---------------------- */

FIXTURE(delayed) {
};

FIXTURE_SETUP(delayed)
{
	must(setenv("BGDMA_TEST_LINKS", "1", 1));
	must(setenv("BGDMA_TEST_NETEM", "delay 5ms", 1));
	traced_begin(_metadata);
}

FIXTURE_TEARDOWN(delayed)
{
	tracing_end();
}

/* What ends a chain waits at its fence for the portions, and is traced all the same. */
TEST_F_TIMEOUT(delayed, sp7_who_waited_at_a_fence_is_traced, 300)
{
	chain_is(_metadata, (struct message){ 8192, 4096, 1, false }, 2, 1);
}

TEST_HARNESS_MAIN
