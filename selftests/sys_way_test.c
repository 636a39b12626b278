// SPDX-License-Identifier: GPL-2.0
/*
 * Each portion by a put or in packets, as the target chooses (SP-5).
 */
#include "kselftest_harness.h"
#include "sys_module.h"

#define PORTION		2000U	/* so that each is one packet, if it is in packets */
#define PORTIONS	50U
#define BYTES		(PORTION * PORTIONS)

/* @chosen: bit k % 64: portion k is in packets */
struct choice {
	struct bgdma_endpoint_attr attr;
	enum bgdma_portions by_origin;
	uint32_t in_flight;
	uint64_t chosen;
	uint64_t room;			/* 0: for all */
	bool in_region;
	bool unlocked;			/* nobody may register memory */
};

/* The target's argument. */
struct taking {
	const struct choice *choice;
	struct module *module;
	uint64_t bytes;			/* that it takes */
	uint32_t asked;
	bool wrong;
};

static enum bgdma_portions way(void *arg, uint32_t portion, uint64_t offset,
			       uint64_t length)
{
	struct taking *t = arg;
	uint64_t end = portion * PORTION;

	/* From here there is no progress. */
	t->wrong |= bgdma_endpoint_progress(t->module->m.ep, 0) != 0;
	if (end > t->bytes)
		end = t->bytes;
	t->asked++;
	t->wrong |= portion != t->asked || offset != (portion - 1) * PORTION ||
		    offset + length != end;
	return t->choice->chosen >> portion % 64 & 1 ? BGDMA_PORTIONS_PACKETS :
						       BGDMA_PORTIONS_PUT;
}

static enum bgdma_portions no_way(void *arg, uint32_t portion, uint64_t offset,
				  uint64_t length)
{
	(void)arg;
	(void)offset;
	(void)length;
	return portion == PORTIONS ? BGDMA_PORTIONS_PACKETS + 1 :
				     BGDMA_PORTIONS_PACKETS;
}

static void taken(void *arg, int result, uint64_t bytes)
{
	struct taking *t = arg;

	on_done(t->module, result, bytes);
}

static uint64_t packets_read(struct module *module)
{
	struct bgdma_endpoint_stats stats;

	bgdma_endpoint_stats(module->m.ep, &stats);
	return stats.packets;
}

/* Of the portions of so many bytes, those that are to be in packets. */
static uint32_t packets_chosen(const struct choice *c, uint64_t bytes)
{
	uint32_t k, n = 0;

	for (k = 1; (k - 1) * PORTION < bytes; k++)
		n += c->chosen >> k % 64 & 1;
	return n;
}

static int choose(struct module *module, const struct choice *c, uint8_t *mem,
		  struct bgdma_region *region)
{
	struct taking t = { .choice = c, .module = module };
	struct bgdma_accept_attr a = {
		.length = c->room ? c->room : BYTES, .done = taken, .arg = &t,
		.way = no_way,
	};
	uint64_t packets;

	t.bytes = a.length;
	if (c->in_region)
		a.to.region = region;
	else
		a.data = mem;
	require_is(0, until_count(module, &module->announced, 1));
	packets = packets_read(module);
	if (!c->room) {
		/* What cannot be leaves nothing behind, and can be mended. */
		require_is(-EINVAL, bgdma_rendezvous_accept(module->m.ep,
				&module->kept[0], &a));
		require_is(0, all_back(module));
	}
	a.way = way;
	require_is(0, bgdma_rendezvous_accept(module->m.ep, &module->kept[0],
					      &a));
	require_is(0, until_count(module, &module->done, 1));
	require(!t.wrong);
	require_is((t.bytes + PORTION - 1) / PORTION, t.asked);
	/* With a shared counter each chain ends by one more. */
	packets = packets_read(module) - packets;
	if (c->attr.counters == BGDMA_COUNTERS_SHARED &&
	    packets_chosen(c, t.bytes) < t.asked)
		packets -= c->in_flight;
	require_is(packets_chosen(c, t.bytes), packets);
	require(message_is(mem, t.bytes, 0));
	require(t.bytes == BYTES || mem[t.bytes] == 0xee);
	return 0;
}

static int cross(uint32_t rank, uint32_t size, void *arg)
{
	const struct choice *c = arg;
	static struct module module;
	struct bgdma_region *region;
	uint8_t *mem;

	(void)size;
	require_is(0, module_open(&module, c->attr));
	if (c->unlocked)
		require_is(0, lock_nothing());
	require_is(0, bgdma_region_alloc(bgdma_endpoint_ctx(module.m.ep), BYTES,
			BGDMA_LOCAL_READ | BGDMA_LOCAL_WRITE, &region));
	require_is(0, bgdma_endpoint_expose(module.m.ep, region,
					    BGDMA_RIGHT_WRITE));
	module.regions++;
	mem = rank && c->in_region ? bgdma_region_addr(region) : shared(BYTES);
	message_fill(mem, rank ? 0 : BYTES, 0);
	memset(mem, 0xee, rank ? BYTES : 0);
	if (rank == 0)
		require_is(0, announce(&module, (struct bgdma_rendezvous_attr){
				.dest = 1, .length = BYTES, .portion = PORTION,
				.in_flight = c->in_flight,
				.portions = c->by_origin, .data = mem }));
	else if (choose(&module, c, mem, region))
		return 1;
	require_is(0, until_count(&module, &module.done, 1));
	require_is(0, bgdma_job_fence(module.m.job));
	return module_close(&module);
}

#define SHARED	.attr.counters = BGDMA_COUNTERS_SHARED
#define EVERY	UINT64_MAX
#define OTHER	0x5555555555555555

TEST(sp5_each_portion_as_the_target_chooses)
{
	static struct choice choices[] = {
		{ .in_flight = 1, .chosen = OTHER },
		{ .in_flight = 1, .chosen = OTHER, .in_region = true },
		{ .in_flight = 3, .chosen = 0x123456789abcdef },
		{ .in_flight = 1, .chosen = 1ULL << 1 },
		{ .in_flight = 1, .chosen = 1ULL << PORTIONS },
		{ .in_flight = 4, .chosen = 1ULL << PORTIONS | 1ULL << 1 },
		{ .in_flight = 2, .chosen = OTHER, .room = 33333 },
		{ .in_flight = 2, .chosen = OTHER, .unlocked = true },
		{ .in_flight = 1, .chosen = OTHER, SHARED },
		{ .in_flight = 3, .chosen = 0x123456789abcdef, SHARED },
		{ .in_flight = 1, .chosen = 1ULL << PORTIONS, SHARED },
		{ .in_flight = 2, .chosen = ~(1ULL << PORTIONS), SHARED },
		/* Against what the origin said. */
		{ .in_flight = 2, .by_origin = BGDMA_PORTIONS_PACKETS },
		{ .in_flight = 2, .by_origin = BGDMA_PORTIONS_PACKETS, SHARED },
		{ .in_flight = 2, .chosen = EVERY },
		{ .in_flight = 2, .chosen = EVERY, SHARED },
	};
	unsigned int i;

	partition_new("2x1x1", "");
	for (i = 0; i < ARRAY_SIZE(choices); i++)
		EXPECT_TRUE(job_run(2, cross, &choices[i], -1))
			TH_LOG("choice %u", i);
}

/* ---- Cancelled, or its other side dies ------------------------------------ */

#define LONG	3000000

struct ending {
	struct choice choice;
	int victim;			/* -1: it is cancelled by the target */
};

static int end_early(uint32_t rank, uint32_t size, void *arg)
{
	const struct ending *e = arg;
	static struct module module;
	static uint8_t mem[LONG];
	struct taking t = { .choice = &e->choice, .module = &module };
	uint32_t id = 0;

	(void)size;
	require_is(0, module_open(&module, e->choice.attr));
	if (rank == 0) {
		require_is(0, announce(&module, (struct bgdma_rendezvous_attr){
				.dest = 1, .length = LONG, .portion = 200,
				.in_flight = 2, .data = mem }));
	} else {
		require_is(0, until_count(&module, &module.announced, 1));
		require_is(0, bgdma_rendezvous_accept(module.m.ep,
				&module.kept[0], &(struct bgdma_accept_attr){
				.length = LONG, .data = mem, .way = way,
				.done = taken, .arg = &t, .id = &id }));
	}
	require_is(0, bgdma_job_fence(module.m.job));
	if ((int)rank == e->victim)
		raise(SIGKILL);
	if (rank == 1 && e->victim < 0)
		require_is(0, bgdma_rendezvous_cancel(module.m.ep, id));
	require_is(0, until_count(&module, &module.ended, 1));
	require(!module.last || module.last == -EHOSTDOWN ||
		(e->victim < 0 && module.last == -ECANCELED));
	require_is(0, nothing_left(&module));
	return e->victim < 0 ? member_close(&module.m) :
			       member_leave(&module.m);
}

TEST(sp5_x3_one_of_both_kinds_ends_early)
{
	struct ending e = { .choice.chosen = OTHER };

	partition_new("2x1x1", "");
	for (e.victim = -1; e.victim < 2; e.victim++) {
		e.choice.attr.counters = BGDMA_COUNTERS_AUTO;
		EXPECT_TRUE(job_run(2, end_early, &e, e.victim));
		e.choice.attr.counters = BGDMA_COUNTERS_SHARED;
		EXPECT_TRUE(job_run(2, end_early, &e, e.victim));
	}
}

TEST_HARNESS_MAIN
