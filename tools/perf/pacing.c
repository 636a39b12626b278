// SPDX-License-Identifier: GPL-2.0
/*
 * Small messages that share a slow link with a long transfer (SP-10): how long each
 * is on its way while there is no transfer, beside a direct put, and beside chains.
 * Both ends are in this process, in a network namespace each, so they have one clock.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "job.h"

#define RUNS		5
#define BYTES		(2UL << 20)	/* of the transfer */
#define ALONE		300		/* messages without one */
#define EVERY_NS	10000000		/* between two of them */
#define SAMPLES_MAX	65536
#define KIB		1024UL

static struct {
	struct job_pair job;
	struct bgdma_region *source, *target;
	uint32_t rts_id;
	struct bgdma_rts rts;
	unsigned int announced, sent, received;
} chain;

/* Messages, and the put, have contexts of their own. */
static struct {
	struct bgdma_ctx *from, *to;
	struct bgdma_inj_fifo *inj, *puts;
	struct bgdma_rec_fifo *rec;
	struct bgdma_counter *arrived;
} raw;

static uint64_t took[SAMPLES_MAX];	/* nanoseconds of each message */
static unsigned int sent;		/* messages */
static unsigned int got;

/* ---- Small messages ------------------------------------------------------ */

static void *receive(void *arg)
{
	const struct bgdma_packet *packet;

	for (;;) {
		must(bgdma_rec_wait(raw.rec, BGDMA_SLEEP, -1));
		while ((packet = bgdma_rec_peek(raw.rec))) {
			uint64_t stamp;

			memcpy(&stamp, bgdma_packet_data(packet),
			       sizeof(stamp));
			took[got % SAMPLES_MAX] = now_ns() - stamp;
			__atomic_fetch_add(&got, 1, __ATOMIC_RELEASE);
			bgdma_rec_next(raw.rec);
		}
		must(bgdma_rec_release(raw.rec));
	}
	return arg;
}

static void send_stamp(void)
{
	uint64_t stamp = now_ns();
	int ret = bgdma_memfifo(raw.inj, &(struct bgdma_memfifo_attr){
			.dest = 1, .dest_ctx = bgdma_ctx_info(raw.to)->ctx,
			.fifo = bgdma_rec_id(raw.rec), .data = &stamp,
			.length = sizeof(stamp) });

	/* Of so many that the FIFO is full each has its time already. */
	if (ret == -EAGAIN)
		return;
	must(ret);
	sent++;
}

static void rest(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = EVERY_NS }, NULL);
}

/* ---- Transfers ----------------------------------------------------------- */

static int on_rts(void *arg, uint32_t rank, const struct bgdma_packet *packet)
{
	(void)arg;
	chain.announced++;
	return bgdma_rts_read(&chain.rts, rank, packet);
}

static void on_end(void *arg, int result, uint64_t bytes)
{
	(void)bytes;
	must(result);
	++*(unsigned int *)arg;
}

static void put_begin(void)
{
	must(bgdma_put(raw.puts, &(struct bgdma_put_attr){
			.dest = 1,
			.dest_ctx = bgdma_ctx_info(chain.job.end[1].ctx)->ctx,
			.length = BYTES, .from = { chain.source, 0 },
			.to = { bgdma_region_handle(chain.target), 0 },
			.remote_counter = bgdma_counter_handle(raw.arrived) }));
}

static void chain_begin(uint64_t portion)
{
	chain.announced = 0;
	chain.sent = 0;
	chain.received = 0;
	must(bgdma_rendezvous_send(chain.job.end[0].ep,
				   &(struct bgdma_rendezvous_attr){
				   .operation = chain.rts_id, .dest = 1,
				   .length = BYTES,
				   .from = { chain.source, 0 },
				   .portion = portion, .in_flight = 1,
				   .done = on_end, .arg = &chain.sent }));
	while (!chain.announced)
		must(bgdma_endpoint_progress(chain.job.end[1].ep, 0));
	must(bgdma_rendezvous_accept(chain.job.end[1].ep, &chain.rts,
				     &(struct bgdma_accept_attr){
				     .length = BYTES,
				     .to = { chain.target, 0 },
				     .done = on_end,
				     .arg = &chain.received }));
}

static bool over(uint64_t portion)
{
	if (!portion)
		return bgdma_counter_there(raw.arrived);
	must(bgdma_endpoint_progress(chain.job.end[0].ep, 0));
	must(bgdma_endpoint_progress(chain.job.end[1].ep, 0));
	return chain.received;
}

/* What the origin has to hear of is part of no time. */
static void finish(uint64_t portion)
{
	while (portion && !chain.sent) {
		must(bgdma_endpoint_progress(chain.job.end[0].ep, 0));
		rest();
	}
	if (memcmp(bgdma_region_addr(chain.source),
		   bgdma_region_addr(chain.target), BYTES))
		die("data", -EBADMSG);
}

/* ---- Both ---------------------------------------------------------------- */

static int later(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void report(const char *what, uint64_t ns)
{
	while (__atomic_load_n(&got, __ATOMIC_ACQUIRE) < sent)
		rest();
	qsort(took, got, sizeof(took[0]), later);
	printf("{\"pacing\":\"%s\",\"messages\":%u,\"median\":%llu,"
	       "\"p99\":%llu,\"most\":%llu,\"rate\":%.0f}\n", what, got,
	       (unsigned long long)took[got / 2],
	       (unsigned long long)took[got - 1 - got / 100],
	       (unsigned long long)took[got - 1],
	       ns ? BYTES * 1e9 / (double)ns : 0);
	fflush(stdout);
}

static void begin(void)
{
	sent = 0;
	got = 0;
}

static void alone(void)
{
	begin();
	while (sent < ALONE) {
		send_stamp();
		rest();
	}
	report("nothing", 0);
}

/* portion: of a chain; 0: a put */
static void beside(const char *what, uint64_t portion)
{
	uint64_t from, until;

	begin();
	memset(bgdma_region_addr(chain.target), 0, BYTES);
	bgdma_counter_clear_hit(raw.arrived);
	bgdma_counter_add(raw.arrived, portion ? 0 : (int64_t)BYTES);
	from = now_ns();
	if (portion)
		chain_begin(portion);
	else
		put_begin();
	while (!over(portion) && sent < SAMPLES_MAX) {
		send_stamp();
		rest();
	}
	until = now_ns();
	report(what, until - from);
	finish(portion);
}

static void open_all(void)
{
	const struct bgdma_grant_attr anyone = {
		.rank = 0, .ctx = BGDMA_CTX_ANY,
	};
	struct bgdma_operation_attr op = {
		.module = "perf", .name = "rts", .packet = on_rts,
	};
	char *p;
	size_t i;

	job_open(&chain.job, &(struct bgdma_endpoint_attr){
			.data_bytes = 4U << 20 });
	for (i = 0; i < 2; i++)
		must(bgdma_operation_register(chain.job.end[i].ep, &op,
					      &chain.rts_id));
	job_commit(&chain.job);
	chain.source = job_memory(&chain.job.end[0], BYTES);
	chain.target = job_memory(&chain.job.end[1], BYTES);
	p = bgdma_region_addr(chain.source);
	for (i = 0; i < BYTES; i++)
		p[i] = (char)(i * 7 + i / 4096 + 1);
	must(bgdma_inj_create(chain.job.end[0].ctx, NULL, &raw.puts));
	must(bgdma_counter_alloc(chain.job.end[1].ctx, BGDMA_RECEPTION,
				 &raw.arrived));
	must(bgdma_counter_grant(raw.arrived, 1, &anyone, NULL));
	netns_enter(0);
	raw.from = attach(0, -1);
	must(bgdma_inj_create(raw.from, &(struct bgdma_inj_attr){
			.entries = 1024 }, &raw.inj));
	netns_enter(1);
	raw.to = attach(1, -1);
	must(bgdma_rec_create(raw.to, NULL, &raw.rec));
	must(bgdma_rec_grant(raw.rec, &anyone, NULL));
}

void pacing(void)
{
	static const struct {
		const char *name;
		uint64_t portion;
	} ways[] = {
		{ "put", 0 },
		{ "chain, portions of 48 KiB", 48 * KIB },
		{ "chain, portions of 96 KiB", 96 * KIB },
		{ "chain, portions of 192 KiB", 192 * KIB },
	};
	pthread_t thread;
	unsigned int run;
	size_t i;

	if (!netns)
		die("--netns", -EINVAL);
	open_all();
	must(-pthread_create(&thread, NULL, receive, NULL));
	for (run = 0; run < runs(RUNS); run++) {
		if (strstr("nothing", only))
			alone();
		for (i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
			if (strstr(ways[i].name, only))
				beside(ways[i].name, ways[i].portion);
		}
	}
}
