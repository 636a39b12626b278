// SPDX-License-Identifier: GPL-2.0
/*
 * Instructions of 8-byte one-sided transfers, all told, with a counter that says
 * that they are done: a put, a get and a fetch-and-add, as they are and in an
 * epoch; and an epoch around one put.
 */
#include <errno.h>
#include <string.h>

#include "perf.h"

#define ROUNDS	1024
#define BYTES	4096
#define EPOCH	1U

static struct ends e;
static struct bgdma_region *mine, *theirs;
static struct bgdma_rget_queue *queue;
static struct bgdma_counter *come;	/* of ours */
static uint16_t to_ctx;			/* where e.to is: senders know */
static uint32_t epoch;			/* that transfers name, or 0 */

static inline void wait_for(struct bgdma_counter *counter)
{
	must(bgdma_counter_wait(counter, BGDMA_SLEEP, -1));
}

static inline void expect(struct bgdma_counter *counter, int64_t n)
{
	bgdma_counter_clear_hit(counter);
	bgdma_counter_add(counter, n);
}

static inline void put_one(void)
{
	must(bgdma_put(e.inj, &(struct bgdma_put_attr){
		.dest = 1, .dest_ctx = to_ctx, .length = 8,
		.from = { mine, 0 }, .to = { bgdma_region_handle(theirs), 0 },
		.counter = e.sent, .epoch = epoch }));
}

static inline void puts_one_by_one(unsigned int n)
{
	while (n--) {
		expect(e.sent, 8);
		put_one();
		wait_for(e.sent);
	}
}

/* What the peer's engine executes lies behind what is fetched. */
static inline void gets_one_by_one(unsigned int n)
{
	struct bgdma_desc *desc = (struct bgdma_desc *)
		((char *)bgdma_region_addr(mine) + 64);

	while (n--) {
		struct bgdma_transfer t = {
			.dest = 0,
			.dest_ctx = bgdma_ctx_info(e.from)->ctx,
			.length = 8,
			.from = { bgdma_region_handle(theirs), 0 },
			.to = { bgdma_region_handle(mine), 0 },
			.remote_counter = bgdma_counter_handle(come),
			.epoch = epoch,
		};

		expect(come, 8);
		bgdma_desc_put(desc, &t);
		must(bgdma_rget(e.inj, &(struct bgdma_rget_attr){
			.dest = 1, .dest_ctx = to_ctx,
			.queue = bgdma_rgq_id(queue), .count = 1,
			.from = { mine, 64 } }));
		wait_for(come);
	}
}

static inline void adds_one_by_one(unsigned int n)
{
	while (n--) {
		expect(e.sent, 8);
		must(bgdma_atomic(e.inj, &(struct bgdma_atomic_attr){
			.dest = 1, .dest_ctx = to_ctx,
			.op = BGDMA_ATOMIC_ADD, .type = BGDMA_ATOMIC_U64,
			.count = 1, .operand = 1, .from = { mine, 0 },
			.to = { bgdma_region_handle(theirs), 8 },
			.counter = e.sent, .flags = BGDMA_DESC_FETCH,
			.epoch = epoch }));
		wait_for(e.sent);
	}
}

static struct bgdma_gate_attr gate(uint32_t id)
{
	return (struct bgdma_gate_attr){
		.dest = 1, .dest_ctx = to_ctx, .epoch = id,
		.region = bgdma_region_handle(theirs),
	};
}

static void begin(uint32_t id)
{
	struct bgdma_gate_attr attr = gate(id);

	attr.counter = e.sent;
	attr.flags = BGDMA_DESC_EXCLUSIVE | BGDMA_DESC_HOLD;
	expect(e.sent, 1);
	must(bgdma_gate_begin(e.inj, &attr));
	wait_for(e.sent);
}

static void end(uint32_t id, uint64_t puts)
{
	struct bgdma_gate_attr attr = gate(id);

	attr.counter = e.sent;
	attr.puts = puts;
	expect(e.sent, 1);
	must(bgdma_gate_close(e.inj, &attr));
	wait_for(e.sent);
	attr = gate(id);
	must(bgdma_gate_end(e.inj, &attr));
}

static inline void epochs_one_by_one(unsigned int n)
{
	while (n--) {
		begin(EPOCH + 1);
		epoch = EPOCH + 1;
		puts_one_by_one(1);
		end(EPOCH + 1, 1);
	}
	epoch = 0;
}

static void open_all(void)
{
	const struct bgdma_grant_attr all = {
		.rank = BGDMA_RANK_ANY, .ctx = BGDMA_CTX_ANY,
		.rights = BGDMA_RIGHT_READ | BGDMA_RIGHT_WRITE |
			  BGDMA_RIGHT_ATOMIC | BGDMA_RIGHT_EPOCH,
	};
	const struct bgdma_grant_attr anyone = {
		.rank = BGDMA_RANK_ANY, .ctx = BGDMA_CTX_ANY,
	};

	ends_open(&e);
	to_ctx = bgdma_ctx_info(e.to)->ctx;
	must(bgdma_region_alloc(e.from, BYTES, BGDMA_LOCAL_READ |
				BGDMA_LOCAL_WRITE, &mine));
	must(bgdma_region_alloc(e.to, BYTES, BGDMA_LOCAL_READ |
				BGDMA_LOCAL_WRITE, &theirs));
	must(bgdma_region_grant(mine, &all, NULL));
	must(bgdma_region_grant(theirs, &all, NULL));
	must(bgdma_rgq_create(e.to, NULL, &queue));
	must(bgdma_rgq_grant(queue, &anyone, NULL));
	must(bgdma_counter_alloc(e.from, BGDMA_RECEPTION, &come));
	must(bgdma_counter_grant(come, 1, &anyone, NULL));
}

void count_onesided(void)
{
	uint64_t *sum;

	open_all();
	sum = (uint64_t *)bgdma_region_addr(theirs) + 1;
	count("8 B put", ROUNDS, puts_one_by_one);
	count("8 B get", ROUNDS, gets_one_by_one);
	count("64-bit fetch-and-add", ROUNDS, adds_one_by_one);
	if (*sum != ROUNDS * (1 + runs(REGIONS)))
		die("fetch-and-add", -EBADMSG);
	must(bgdma_gate_create(theirs, 0, 0));
	begin(EPOCH);
	epoch = EPOCH;
	count("8 B put in an epoch", ROUNDS, puts_one_by_one);
	count("8 B get in an epoch", ROUNDS, gets_one_by_one);
	count("64-bit fetch-and-add in an epoch", ROUNDS, adds_one_by_one);
	epoch = 0;
	end(EPOCH, 2 * ROUNDS * (1 + runs(REGIONS)));
	count("epoch of one 8 B put", ROUNDS / 4, epochs_one_by_one);
	ends_close(&e);
}
