// SPDX-License-Identifier: GPL-2.0
/*
 * A process of the job that announces messages by RTS made by hand: of lengths,
 * portions and places that are nonsense. What cannot be is no RTS (DP-9); all
 * else, accepted, ends, with an error where it must. Messages of others go on,
 * though they share a channel with it, and nothing is left.
 */
#include "kselftest_harness.h"
#include "sys_forge.h"

enum { VICTIM = 0, FRIEND = 1, FORGER = 2, JOB = 3 };

#define BYTES	5000
#define ROOM	8192
#define PORTIONS 5	/* of a paced message */
#define TOKEN	0x123456

/* Things that the forger has, for fields that name one. */
enum thing {
	DATA,		/* memory that all may read */
	CHAIN,		/* memory for a chain, with all rights */
	SECRET,		/* memory that nobody may use */
	SMALL,		/* memory for one descriptor */
	LEASED,		/* a counter of a message of somebody else */
	THINGS
};

#define HANDLE(thing)	(1ULL << 63 | (thing))

struct change {
	size_t at, bytes;
	uint64_t value;
};

#define SET(field, value_) {						\
	.at = offsetof(struct rts_wire, field),				\
	.bytes = sizeof(((struct rts_wire *)NULL)->field), .value = (value_) }

enum outcome { FINE, FAILS, ENDS, MALFORMED };

struct forgery {
	struct change change[4];	/* of an RTS that is as it should be */
	enum outcome outcome;
	bool paced;
	uint32_t bytes;			/* 0: those of an RTS */
};

#define WHOLE(outcome_, ...)						\
	{ .change = { __VA_ARGS__ }, .outcome = (outcome_) }
#define PACED(outcome_, ...)						\
	{ .change = { __VA_ARGS__ }, .outcome = (outcome_), .paced = true }
#define SIZED(bytes_)	{ .outcome = MALFORMED, .bytes = (bytes_) }

/* What is no RTS. */
static const struct forgery unreadable[] = {
	WHOLE(MALFORMED, SET(length, 0)),
	WHOLE(MALFORMED, SET(length, BGDMA_RENDEZVOUS_MAX + 1)),
	WHOLE(MALFORMED, SET(length, UINT64_MAX)),
	WHOLE(MALFORMED, SET(portions, 0)),
	PACED(MALFORMED, SET(portions, BGDMA_PORTIONS_MAX + 1)),
	PACED(MALFORMED, SET(portions, UINT32_MAX)),
	PACED(MALFORMED, SET(portions, 2),
	      SET(length, 2ULL * BGDMA_LENGTH_MAX + 1)),
	WHOLE(MALFORMED, SET(in_flight, 0)),
	PACED(MALFORMED, SET(in_flight, BGDMA_IN_FLIGHT_MAX + 1)),
	WHOLE(MALFORMED, SET(serial, 0)),
	WHOLE(MALFORMED, SET(token, 0)),
	WHOLE(MALFORMED, SET(token, 0x1000000 + TOKEN)),
	PACED(MALFORMED, SET(token, UINT32_MAX)),
	SIZED(1),
	SIZED(sizeof(struct rts_wire) - 1),
	SIZED(sizeof(struct rts_wire) + 1),
	WHOLE(FINE, { 0 }),
};

/* In one piece. */
static const struct forgery wholes[] = {
	WHOLE(FINE, { 0 }),
	WHOLE(FINE, SET(flags, RTS_SHARED | RTS_ORDERED)),
	WHOLE(FINE, SET(flags, UINT32_MAX)),
	WHOLE(FINE, SET(in_flight, BGDMA_IN_FLIGHT_MAX)),
	WHOLE(FINE, SET(serial, UINT32_MAX)),
	/* No such region, or none of its; beyond its end. */
	WHOLE(FAILS, SET(region, 0)),
	WHOLE(FAILS, SET(region, 12345)),
	WHOLE(FAILS, SET(region, UINT32_MAX)),
	WHOLE(FAILS, SET(region, HANDLE(SECRET))),
	WHOLE(FAILS, SET(region, 0), SET(flags, RTS_SHARED)),
	WHOLE(FAILS, SET(offset, 2 * ROOM)),
	WHOLE(MALFORMED, SET(offset, UINT64_MAX)),
	WHOLE(MALFORMED, SET(offset, UINT64_MAX - BYTES + 1)),
	WHOLE(FAILS, SET(offset, UINT64_MAX - BYTES)),
	WHOLE(FAILS, SET(length, BGDMA_RENDEZVOUS_MAX),
	      SET(region, HANDLE(SMALL))),
	WHOLE(FINE, SET(length, 2 * ROOM)),
	/* Counters. */
	WHOLE(FAILS, SET(counter, 12345)),
	WHOLE(FAILS, SET(counter, UINT32_MAX - 1)),
	WHOLE(FAILS, SET(counter, HANDLE(LEASED))),
	WHOLE(FAILS, SET(counter, HANDLE(LEASED)), SET(flags, RTS_SHARED)),
	/* Answers go one way only. */
	WHOLE(MALFORMED, SET(queue, 77)),
	WHOLE(MALFORMED, SET(queue, 2)),
	WHOLE(MALFORMED, SET(fifo, 77), SET(flags, RTS_SHARED)),
	WHOLE(MALFORMED, SET(fifo, DATA_FIFO), SET(flags, RTS_SHARED)),
	/* Of a chain that it has not. */
	WHOLE(FINE, SET(chain_region, 12345), SET(chain_offset, UINT64_MAX)),
	WHOLE(FINE, SET(flags, RTS_PACKETS)),
};

/* In portions. */
static const struct forgery chains[] = {
	PACED(FINE, { 0 }),
	PACED(FINE, SET(flags, RTS_PACKETS)),
	PACED(FINE, SET(flags, RTS_SHARED)),
	PACED(FINE, SET(chain_offset, 3)),
	PACED(FINE, SET(in_flight, BGDMA_IN_FLIGHT_MAX)),
	PACED(FINE, SET(portions, BGDMA_PORTIONS_MAX),
	      SET(in_flight, BGDMA_IN_FLIGHT_MAX)),
	/* Descriptors that are not there, may not be written, have no room. */
	PACED(FAILS, SET(chain_region, 0)),
	PACED(FAILS, SET(chain_region, 12345)),
	PACED(FAILS, SET(chain_region, 12345), SET(flags, RTS_PACKETS)),
	PACED(FAILS, SET(chain_region, 12345), SET(flags, RTS_SHARED)),
	PACED(FAILS, SET(chain_region, HANDLE(DATA))),
	PACED(FAILS, SET(chain_region, HANDLE(SECRET))),
	PACED(FAILS, SET(chain_region, HANDLE(SMALL))),
	PACED(FAILS, SET(chain_offset, UINT64_MAX)),
	PACED(FAILS, SET(chain_offset, UINT64_MAX - 63)),
	PACED(FAILS, SET(chain_offset, 1 << 20), SET(flags, RTS_PACKETS)),
	/* The message itself is not there. */
	PACED(FAILS, SET(region, 12345)),
	PACED(FAILS, SET(region, 12345), SET(flags, RTS_PACKETS)),
	/* All but the first portion would be. */
	PACED(MALFORMED, SET(offset, UINT64_MAX)),
	PACED(MALFORMED, SET(offset, UINT64_MAX), SET(flags, RTS_PACKETS)),
	PACED(FAILS, SET(offset, 2 * ROOM - 2500)),
	PACED(FAILS, SET(offset, 2 * ROOM - 2500), SET(flags, RTS_PACKETS)),
	PACED(FAILS, SET(region, HANDLE(SECRET)), SET(flags, RTS_SHARED)),
	PACED(FAILS, SET(counter, 12345)),
	PACED(FAILS, SET(counter, HANDLE(LEASED)), SET(in_flight, 2)),
	PACED(MALFORMED, SET(fifo, 77)),
};

struct row {
	struct bgdma_endpoint_attr attr;
	const struct forgery *forgery;
	unsigned int n;
};

/* A message that the victim takes. */
struct message {
	uint8_t *mem;
	bool ended;
	int result;
};

static uint8_t memory[JOB][2 * ROOM] PINNED;

static void message_done(void *arg, int result, uint64_t bytes)
{
	struct message *m = arg;

	(void)bytes;
	m->ended = true;
	m->result = result;
}

static bool message_there(void *arg)
{
	return ((struct message *)arg)->ended;
}

/* ---- The forger --------------------------------------------------------- */

static int thing_make(struct module *module, uint64_t bytes, uint32_t rights,
		      uint32_t *handle, void **at)
{
	struct bgdma_endpoint *ep = module->m.ep;
	struct bgdma_region *region;

	require_is(0, bgdma_region_alloc(bgdma_endpoint_ctx(ep), bytes,
			BGDMA_LOCAL_READ | BGDMA_LOCAL_WRITE, &region));
	if (rights)
		require_is(0, bgdma_endpoint_expose(ep, region, rights));
	*handle = bgdma_region_handle(region);
	if (at)
		*at = bgdma_region_addr(region);
	return 0;
}

static int things_make(struct module *module, uint32_t *thing)
{
	const struct bgdma_peer *peer = bgdma_endpoint_peer(module->m.ep, FRIEND);
	struct bgdma_counter *counter;
	void *data;

	require_is(0, thing_make(module, 2 * ROOM, BGDMA_RIGHT_READ,
				 &thing[DATA], &data));
	message_fill(data, 2 * ROOM, FORGER);
	require_is(0, thing_make(module, 1 << 20, BGDMA_RIGHT_READ |
				 BGDMA_RIGHT_WRITE | BGDMA_RIGHT_FETCH,
				 &thing[CHAIN], NULL));
	require_is(0, thing_make(module, ROOM, 0, &thing[SECRET], NULL));
	require_is(0, thing_make(module, 64, BGDMA_RIGHT_READ |
				 BGDMA_RIGHT_WRITE | BGDMA_RIGHT_FETCH,
				 &thing[SMALL], NULL));
	require_is(0, bgdma_counter_alloc(bgdma_endpoint_ctx(module->m.ep),
					  BGDMA_INJECTION, &counter));
	require_is(0, bgdma_counter_grant(counter, 1,
			&(struct bgdma_grant_attr){ .rank = BGDMA_RANK_ANY,
			.ctx = BGDMA_CTX_ANY }, NULL));
	thing[LEASED] = bgdma_counter_lease(counter, peer->node, peer->ctx);
	return 0;
}

static void change_make(struct rts_wire *wire, const struct change *change,
			const uint32_t *thing)
{
	uint64_t value = change->value;
	__le64 bytes;

	if (change->bytes == sizeof(__le32) && value >= HANDLE(0))
		value = thing[value - HANDLE(0)];
	bytes = __cpu_to_le64(value);
	memcpy((char *)wire + change->at, &bytes, change->bytes);
}

static int rts_forge(struct forger *f, const struct forgery *forgery,
		     const uint32_t *thing, uint32_t serial)
{
	struct {
		struct rts_wire wire;
		uint64_t more;
	} rts = { .wire = {
		.length = __cpu_to_le64(BYTES),
		.region = __cpu_to_le32(thing[DATA]),
		.token = __cpu_to_le32(TOKEN),
		.portions = __cpu_to_le32(forgery->paced ? PORTIONS : 1),
		.chain_region = __cpu_to_le32(forgery->paced ? thing[CHAIN] : 0),
		.in_flight = __cpu_to_le32(1),
		.serial = __cpu_to_le32(serial),
	} };
	unsigned int i;

	for (i = 0; i < 4; i++)
		change_make(&rts.wire, &forgery->change[i], thing);
	return forge(f, VICTIM, DATA_FIFO, f->module->rts, 0, &rts,
		     forgery->bytes ? forgery->bytes : sizeof(rts.wire));
}

static int forger(struct module *module, const struct row *row)
{
	static uint8_t mem[BYTES] PINNED;
	uint32_t thing[THINGS];
	struct forger f;
	unsigned int i;

	require_is(0, forger_open(&f, module));
	require_is(0, things_make(module, thing));
	for (i = 0; i < row->n; i++) {
		require_is(0, rts_forge(&f, &row->forgery[i], thing, i + 1));
		require_is(0, bgdma_job_fence(module->m.job));
		require(bgdma_endpoint_progress(module->m.ep, 0) >= 0);
	}
	/* And then one that is honest. */
	message_fill(mem, BYTES, FORGER);
	require_is(0, announce(module, (struct bgdma_rendezvous_attr){
			.dest = VICTIM, .length = BYTES, .data = mem }));
	return until_count(module, &module->done, 1);
}

/* ---- The others --------------------------------------------------------- */

static int friend(struct module *module, const struct row *row)
{
	static uint8_t mem[BYTES] PINNED;
	unsigned int i;

	message_fill(mem, BYTES, FRIEND);
	for (i = 0; i < row->n; i++) {
		require_is(0, announce(module, (struct bgdma_rendezvous_attr){
				.dest = VICTIM, .length = BYTES, .data = mem,
				.portion = i % 3 ? 1000 : BGDMA_PORTION_WHOLE,
				.portions = i % 3 == 2 ? BGDMA_PORTIONS_PACKETS :
							 BGDMA_PORTIONS_PUT }));
		require_is(0, until_count(module, &module->done, i + 1));
		require_is(0, bgdma_job_fence(module->m.job));
	}
	return 0;
}

static int victim_accept(struct module *module, const struct bgdma_rts *rts,
			 struct message *m)
{
	*m = (struct message){ .mem = memory[rts->rank] };
	memset(m->mem, 0xee, ROOM);
	return bgdma_rendezvous_accept(module->m.ep, rts,
			&(struct bgdma_accept_attr){ .length = ROOM,
			.data = m->mem, .done = message_done, .arg = m });
}

static uint64_t malformed(const struct module *module)
{
	struct bgdma_endpoint_stats stats;

	bgdma_endpoint_stats(module->m.ep, &stats);
	return stats.trouble[BGDMA_TROUBLE_MALFORMED];
}

static int victim_check(const struct message *m, enum outcome outcome)
{
	require(outcome == ENDS || (outcome == FINE) == !m->result);
	if (outcome == FINE)
		require(message_is(m->mem, BYTES, FORGER));
	return 0;
}

static int victim_round(struct module *module, const struct forgery *f,
			uint32_t *heard)
{
	uint32_t n = f->outcome == MALFORMED ? 1 : 2, i;
	uint64_t before = malformed(module);
	struct message m[JOB];

	require_is(0, until_count(module, &module->announced, *heard + n));
	while (f->outcome == MALFORMED && malformed(module) == before)
		require(bgdma_endpoint_progress(module->m.ep, 0) >= 0);
	for (i = 0; i < n; i++) {
		const struct bgdma_rts *rts = &module->kept[*heard + i];

		require_is(0, victim_accept(module, rts, &m[rts->rank]));
	}
	require_is(0, member_until(&module->m, message_there, &m[FRIEND]));
	require_is(0, m[FRIEND].result);
	require(message_is(m[FRIEND].mem, BYTES, FRIEND));
	if (n == 2) {
		require_is(0, member_until(&module->m, message_there,
					   &m[FORGER]));
		if (victim_check(&m[FORGER], f->outcome))
			return 1;
	}
	require_is(0, counters_empty(module, BGDMA_INJECTION));
	require_is(0, counters_empty(module, BGDMA_RECEPTION));
	*heard += n;
	return 0;
}

static int victim(struct module *module, const struct row *row)
{
	struct message last;
	/* To ask takes longer than a round, on slow kernels. */
	long regions = regions_seen(module->m.ep);
	uint32_t heard = 0;
	unsigned int i;

	require(regions > 0);
	for (i = 0; i < row->n; i++) {
		if (victim_round(module, &row->forgery[i], &heard)) {
			fprintf(stderr, "# forgery %u\n", i);
			return 1;
		}
		require_is(0, bgdma_job_fence(module->m.job));
	}
	require_is(0, until_count(module, &module->announced, heard + 1));
	require_is(0, victim_accept(module, &module->kept[heard], &last));
	require_is(0, member_until(&module->m, message_there, &last));
	require_is(0, last.result);
	require(message_is(last.mem, BYTES, FORGER));
	require_is(regions, regions_seen(module->m.ep));
	return 0;
}

static int play(uint32_t rank, uint32_t size, void *arg)
{
	static struct module module;
	const struct row *row = arg;

	(void)size;
	require_is(0, module_open(&module, row->attr));
	require_is(0, (rank == VICTIM ? victim : rank == FRIEND ? friend :
		       forger)(&module, row));
	return member_close(&module.m);
}

/* All through one channel, with counters of their own, and without. */
static bool row_run(const struct forgery *forgery, unsigned int n)
{
	struct row row = { .forgery = forgery, .n = n };
	bool well;

	partition_new("3x1x1", "");
	row.attr.channels = 1;
	well = job_run(JOB, play, &row, -1);
	row.attr.counters = BGDMA_COUNTERS_SHARED;
	return well && job_run(JOB, play, &row, -1);
}

#define RUN(row)	row_run(row, sizeof(row) / sizeof((row)[0]))

TEST(dp9_sp1_what_is_no_rts)
{
	EXPECT_TRUE(RUN(unreadable));
}

TEST(lc1_lc3_forged_rts)
{
	EXPECT_TRUE(RUN(wholes));
}

TEST(sp1_sp3a_forged_rts_of_chains)
{
	EXPECT_TRUE(RUN(chains));
}

TEST_HARNESS_MAIN
