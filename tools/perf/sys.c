// SPDX-License-Identifier: GPL-2.0
/*
 * What messages of the sys layer cost beside the raw operations that they stand
 * on: small ones, long ones by rendezvous, paced ones, and many at once over
 * few counters. Both ends in one process.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "job.h"

#define RUNS		15
#define ROUNDS		1024
#define MIB		(1UL << 20)
#define LONG_MAX_BYTES	(64 * MIB)
#define PORTION		(64UL << 10)
#define SWEEP_BYTES	(4 * MIB)
#define CROWD		10000U
#define CROWD_BYTES	256U

static struct side {
	struct job_pair job;
	struct bgdma_endpoint *from, *to;
	uint32_t word_id, rts_id;
	uint64_t arrived;		/* words */
	struct bgdma_rts *rts;		/* announced, not accepted yet */
	unsigned int announced, accepted;
	unsigned int sent, received;	/* that have ended */
	struct bgdma_region *source, *target;
} normal, few, many;

static int on_word(void *arg, uint32_t rank, const struct bgdma_packet *packet)
{
	struct side *side = arg;

	(void)rank;
	if (*(const uint64_t *)bgdma_packet_data(packet) != side->arrived)
		die("message", -EBADMSG);
	side->arrived++;
	return 0;
}

static int on_rts(void *arg, uint32_t rank, const struct bgdma_packet *packet)
{
	struct side *side = arg;

	return bgdma_rts_read(&side->rts[side->announced++], rank, packet);
}

static void on_end(void *arg, int result, uint64_t bytes)
{
	unsigned int *ended = arg;

	(void)bytes;
	must(result);
	++*ended;
}

static void side_open(struct side *side, uint32_t counters, size_t memory)
{
	struct bgdma_operation_attr op = { .module = "perf", .arg = side };
	int i;

	job_open(&side->job, &(struct bgdma_endpoint_attr){
			.inj_counters = counters, .rec_counters = counters,
			.data_bytes = 4U << 20 });
	for (i = 0; i < 2; i++) {
		op.name = "word";
		op.packet = on_word;
		must(bgdma_operation_register(side->job.end[i].ep, &op,
					      &side->word_id));
		op.name = "rts";
		op.packet = on_rts;
		must(bgdma_operation_register(side->job.end[i].ep, &op,
					      &side->rts_id));
	}
	job_commit(&side->job);
	side->from = side->job.end[0].ep;
	side->to = side->job.end[1].ep;
	side->rts = calloc(CROWD, sizeof(*side->rts));
	if (!side->rts)
		die("memory", -ENOMEM);
	side->source = job_memory(&side->job.end[0], memory);
	side->target = job_memory(&side->job.end[1], memory);
}

/* ---- Small ones -------------------------------------------------------- */

static struct raw {
	struct bgdma_inj_fifo *inj;
	struct bgdma_rec_fifo *rec;
	struct bgdma_counter *arrived;
	uint64_t out, in;
	uint16_t ctx;
} raw;

static void raw_open(const struct side *side)
{
	const struct bgdma_grant_attr anyone = {
		.rank = 0, .ctx = BGDMA_CTX_ANY,
	};
	struct bgdma_ctx *to = side->job.end[1].ctx;

	must(bgdma_inj_create(side->job.end[0].ctx, NULL, &raw.inj));
	must(bgdma_rec_create(to, NULL, &raw.rec));
	must(bgdma_rec_grant(raw.rec, &anyone, NULL));
	must(bgdma_counter_alloc(to, BGDMA_RECEPTION, &raw.arrived));
	must(bgdma_counter_grant(raw.arrived, 1, &anyone, NULL));
	raw.ctx = bgdma_ctx_info(to)->ctx;
}

static inline void raw_send(bool more)
{
	must(bgdma_memfifo(raw.inj, &(struct bgdma_memfifo_attr){
			.dest = 1, .dest_ctx = raw.ctx,
			.fifo = bgdma_rec_id(raw.rec), .data = &raw.out,
			.length = sizeof(raw.out), .more = more }));
	raw.out++;
}

static inline void raw_take(void)
{
	const struct bgdma_packet *packet = bgdma_rec_peek(raw.rec);

	if (!packet || *(const uint64_t *)bgdma_packet_data(packet) != raw.in)
		die("message", -EBADMSG);
	raw.in++;
	bgdma_rec_next(raw.rec);
}

static void raw_each(void *arg, unsigned int n)
{
	(void)arg;
	while (n--) {
		raw_send(false);
		raw_take();
		must(bgdma_rec_release(raw.rec));
	}
}

static void raw_batches(void *arg, unsigned int n)
{
	unsigned int i;

	(void)arg;
	for (; n; n -= BATCH) {
		for (i = 1; i <= BATCH; i++)
			raw_send(i < BATCH);
		for (i = 0; i < BATCH; i++)
			raw_take();
		must(bgdma_rec_release(raw.rec));
	}
}

static inline void sys_send(struct side *side, uint64_t value, bool more)
{
	must(bgdma_endpoint_send(side->from, &(struct bgdma_send_attr){
			.operation = side->word_id, .dest = 1, .data = &value,
			.length = sizeof(value), .more = more }));
}

/* All of them have come: those that are sent run in the caller. */
static inline void sys_take(struct side *side, uint64_t until)
{
	must(bgdma_endpoint_progress(side->to, 0));
	if (side->arrived != until)
		die("message", -EBADMSG);
}

static void sys_each(void *arg, unsigned int n)
{
	struct side *side = arg;

	while (n--) {
		sys_send(side, side->arrived, false);
		sys_take(side, side->arrived + 1);
	}
}

static void sys_batches(void *arg, unsigned int n)
{
	struct side *side = arg;
	uint64_t next = side->arrived;
	unsigned int i;

	for (; n; n -= BATCH) {
		for (i = 1; i <= BATCH; i++)
			sys_send(side, next++, i < BATCH);
		sys_take(side, next);
	}
}

/* ---- Long ones --------------------------------------------------------- */

struct transfer {
	struct side *side;
	uint64_t bytes;		/* of one */
	uint64_t portion;
	uint32_t in_flight;
};

static void raw_puts(void *arg, unsigned int n)
{
	const struct transfer *t = arg;
	unsigned int i;

	bgdma_counter_clear_hit(raw.arrived);
	bgdma_counter_add(raw.arrived, (int64_t)(n * t->bytes));
	for (i = 0; i < n; i++)
		must(bgdma_put(raw.inj, &(struct bgdma_put_attr){
			.dest = 1, .dest_ctx = raw.ctx, .length = t->bytes,
			.from = { t->side->source, i * t->bytes },
			.to = { bgdma_region_handle(t->side->target),
				i * t->bytes },
			.remote_counter = bgdma_counter_handle(raw.arrived) }));
	must(bgdma_counter_wait(raw.arrived, BGDMA_SLEEP, -1));
}

/* Of a new round, in which n messages go. */
static void announce_all(const struct transfer *t, unsigned int n)
{
	struct side *side = t->side;
	unsigned int i;
	int ret;

	side->announced = 0;
	side->accepted = 0;
	side->sent = 0;
	side->received = 0;
	for (i = 0; i < n; i++) {
		const struct bgdma_rendezvous_attr attr = {
			.operation = side->rts_id, .dest = 1, .word = i,
			.length = t->bytes,
			.from = { side->source, i * t->bytes },
			.portion = t->portion, .in_flight = t->in_flight,
			.done = on_end, .arg = &side->sent,
		};

		while ((ret = bgdma_rendezvous_send(side->from, &attr)) ==
		       -EAGAIN)
			bgdma_endpoint_progress(side->from, 0);
		must(ret);
	}
}

static void accept_all(const struct transfer *t)
{
	struct side *side = t->side;

	for (; side->accepted < side->announced; side->accepted++)
		must(bgdma_rendezvous_accept(side->to,
				&side->rts[side->accepted],
				&(struct bgdma_accept_attr){
				.length = t->bytes,
				.to = { side->target, side->accepted *
						      t->bytes },
				.done = on_end, .arg = &side->received }));
}

/* Asleep, as who waits for a put is: the engine's threads need no progress. */
static void finish(struct side *side, unsigned int n)
{
	while (side->received < n)
		must(bgdma_endpoint_wait(side->to, -1));
	while (side->sent < n)
		must(bgdma_endpoint_wait(side->from, -1));
}

/* Of so many that neither can sleep while the other has packets to take. */
static void finish_both(struct side *side, unsigned int n)
{
	int ret;

	while (side->received < n || side->sent < n) {
		must(bgdma_endpoint_progress(side->from, 0));
		ret = bgdma_endpoint_wait(side->to, 100000);
		if (ret != -ETIMEDOUT)
			must(ret);
	}
}

static void rendezvous(void *arg, unsigned int n)
{
	const struct transfer *t = arg;
	struct side *side = t->side;

	announce_all(t, n);
	while (side->accepted < n) {
		must(bgdma_endpoint_progress(side->to, 0));
		accept_all(t);
	}
	finish(side, n);
}

/* Nothing is accepted before all are announced. */
static void crowd(void *arg, unsigned int n)
{
	const struct transfer *t = arg;
	struct side *side = t->side;

	announce_all(t, n);
	while (side->announced < n)
		must(bgdma_endpoint_progress(side->to, 0));
	accept_all(t);
	finish_both(side, n);
}

/* ------------------------------------------------------------------------ */

static void data_check(const struct side *side, size_t bytes)
{
	if (memcmp(bgdma_region_addr(side->source),
		   bgdma_region_addr(side->target), bytes))
		die("data", -EBADMSG);
}

static void take_small(void)
{
	const struct subject subjects[] = {
		{ "raw 8 B, doorbell each", raw_each, NULL, ROUNDS },
		{ "sys 8 B, doorbell each", sys_each, &normal, ROUNDS },
		{ "raw 8 B, batches of 32", raw_batches, NULL, ROUNDS },
		{ "sys 8 B, batches of 32", sys_batches, &normal, ROUNDS },
	};

	subjects_take(subjects, 4, runs(RUNS));
}

static void take_long(void)
{
	static const unsigned int mib[] = { 1, 4, 16, 64 };
	char names[3][48];
	unsigned int i;

	for (i = 0; i < sizeof(mib) / sizeof(mib[0]); i++) {
		struct transfer whole = { &normal, mib[i] * MIB, 0, 0 };
		struct transfer one = { &normal, mib[i] * MIB, PORTION, 1 };
		struct transfer four = { &normal, mib[i] * MIB, PORTION, 4 };
		struct transfer put = whole;
		const unsigned int n = mib[i] == 1 ? 8 : 1;
		const struct subject subjects[] = {
			{ names[0], raw_puts, &put, n },
			{ names[1], rendezvous, &one, n },
			{ names[2], rendezvous, &four, n },
			{ "1 MiB, rendezvous", rendezvous, &whole, n },
		};

		snprintf(names[0], sizeof(names[0]), "%u MiB, put", mib[i]);
		if (!strstr(names[0], only))
			continue;
		snprintf(names[1], sizeof(names[1]), "%u MiB, chain", mib[i]);
		snprintf(names[2], sizeof(names[2]),
			 "%u MiB, chain, 4 in flight", mib[i]);
		memset(bgdma_region_addr(normal.target), 0, n * mib[i] * MIB);
		subjects_take(subjects, mib[i] == 1 ? 4 : 3, runs(RUNS));
		data_check(&normal, n * mib[i] * MIB);
	}
}

static void take_crowd(void)
{
	struct transfer over_few = { &few, CROWD_BYTES, 0, 0 };
	struct transfer over_many = { &many, CROWD_BYTES, 0, 0 };
	const struct subject subjects[] = {
		{ "1,000 at once over 64 counters", crowd, &over_few, 1000 },
		{ "1,000 at once over 1,001 counters", crowd, &over_many, 1000 },
		{ "10,000 at once over 64 counters", crowd, &over_few, CROWD },
		{ "10,000 at once over 1,001 counters", crowd, &over_many,
		  CROWD },
	};

	subjects_take(subjects, 4, runs(RUNS));
	data_check(&few, CROWD * CROWD_BYTES);
	data_check(&many, CROWD * CROWD_BYTES);
}

static void source_fill(const struct side *side, size_t bytes)
{
	char *p = bgdma_region_addr(side->source);
	size_t i;

	for (i = 0; i < bytes; i++)
		p[i] = (char)(i * 7 + i / 4096 + 1);
}

void sys_small(void)
{
	side_open(&normal, 0, MIB);
	raw_open(&normal);
	take_small();
	job_close(&normal.job);
}

void sys_long(void)
{
	side_open(&normal, 0, LONG_MAX_BYTES);
	raw_open(&normal);
	source_fill(&normal, LONG_MAX_BYTES);
	take_long();
	job_close(&normal.job);
	if (!strstr("at once", only))
		return;
	side_open(&few, 64, CROWD * CROWD_BYTES);
	side_open(&many, 1001, CROWD * CROWD_BYTES);
	source_fill(&few, CROWD * CROWD_BYTES);
	source_fill(&many, CROWD * CROWD_BYTES);
	take_crowd();
	job_close(&many.job);
	job_close(&few.job);
}

/* By what pacing's defaults are chosen: see --netns for the same over links. */
void sys_portions(void)
{
	static const unsigned int kib[] = { 4, 8, 16, 32, 64, 128 };
	static const unsigned int in_flight[] = { 1, 2, 4, 8 };
	enum { SIZES = 6, WINDOWS = 4, ALL = SIZES * WINDOWS };
	struct transfer put = { &normal, SWEEP_BYTES, 0, 0 }, chain[ALL];
	struct subject subjects[1 + ALL] = {
		{ "4 MiB, put", raw_puts, &put, 1 },
	};
	char names[ALL][32];
	unsigned int i;

	side_open(&normal, 0, SWEEP_BYTES);
	raw_open(&normal);
	source_fill(&normal, SWEEP_BYTES);
	for (i = 0; i < ALL; i++) {
		chain[i] = put;
		chain[i].portion = kib[i / WINDOWS] * 1024UL;
		chain[i].in_flight = in_flight[i % WINDOWS];
		snprintf(names[i], sizeof(names[i]), "%u KiB, %u in flight",
			 kib[i / WINDOWS], in_flight[i % WINDOWS]);
		subjects[1 + i] = (struct subject){ names[i], rendezvous,
						    &chain[i], 1 };
	}
	subjects_take(subjects, 1 + ALL, runs(RUNS));
	data_check(&normal, SWEEP_BYTES);
	job_close(&normal.job);
}
