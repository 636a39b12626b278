// SPDX-License-Identifier: GPL-2.0
/*
 * Rendezvous (LC-1 to LC-6): every byte of every message, with counters of
 * their own and shared ones, and what happens when it does not go well.
 */
#include "kselftest_harness.h"
#include "sys_module.h"

/* ---- LC-1, LC-2: all sizes --------------------------------------------- */

#define SIZES	9

static const uint32_t sizes[SIZES] = {
	1, 15, 16, 17, 4096, 65537, 1000000, 3, 300000,
};

#define SPACE	1000000

static int all_sizes(uint32_t rank, uint32_t size, void *arg)
{
	static struct module module;
	static uint8_t mem[2][SPACE];
	const struct bgdma_endpoint_attr *attr = arg;
	struct bgdma_endpoint_stats before, after;
	struct bgdma_counter_stats used;
	struct bgdma_region *region;
	uint32_t i, way;
	bool shared = attr->counters == BGDMA_COUNTERS_SHARED;

	(void)size;
	require_is(0, module_open(&module, *attr));
	require_is(0, bgdma_region_register(bgdma_endpoint_ctx(module.m.ep),
			mem[0], SPACE, BGDMA_LOCAL_READ | BGDMA_LOCAL_WRITE,
			&region));
	require_is(0, bgdma_endpoint_expose(module.m.ep, region,
					    BGDMA_RIGHT_READ |
					    BGDMA_RIGHT_WRITE));
	bgdma_endpoint_stats(module.m.ep, &before);
	for (i = 0; i < 2 * SIZES; i++) {
		uint64_t bytes = sizes[i % SIZES];
		uint64_t at = SPACE - bytes;

		/* From and to a region that is shown, or anywhere. */
		way = i / SIZES;
		if (rank == 0) {
			message_fill(mem[way] + at, bytes, i);
			require_is(0, announce(&module,
					(struct bgdma_rendezvous_attr){
					.dest = 1, .word = i, .length = bytes,
					.data = way ? mem[1] + at : NULL,
					.from = { way ? NULL : region, at },
					.deterministic = i % 2 }));
		} else {
			require_is(0, until_count(&module, &module.announced,
						  i + 1));
			require_is(bytes, module.kept[i].length);
			memset(mem[way], 0xee, SPACE);
			require_is(0, take(&module, i,
					(struct bgdma_accept_attr){
					.length = SPACE,
					.data = way ? mem[1] + at : NULL,
					.to = { way ? NULL : region, at } }));
		}
		require_is(0, until_count(&module, &module.ended, i + 1));
		require_is(0, module.last);
		if (rank == 1) {
			require(message_is(mem[way] + at, bytes, i));
			/* Not a byte before it. */
			require(at == 0 || mem[way][at - 1] == 0xee);
		}
	}
	require(!module.disorder);
	/* LC-1: with their own counters, an RTS is all that a core sees. */
	bgdma_endpoint_stats(module.m.ep, &after);
	require_is(2 * SIZES * (shared ? rank + 1 : rank),
		   after.packets - before.packets);
	bgdma_counters_used(module.m.ep, rank, &used);
	require_is(shared ? 0 : 2 * SIZES, used.exclusive);
	require_is(shared ? 2 * SIZES : 0, used.shared);
	require_is(0, bgdma_region_free(region));
	return module_close(&module);
}

TEST(lc1_lc2_lc5_all_sizes)
{
	struct bgdma_endpoint_attr attr = { 0 };

	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, all_sizes, &attr, -1));
}

TEST(lc3_all_sizes_on_shared_counters)
{
	struct bgdma_endpoint_attr attr = { .counters = BGDMA_COUNTERS_SHARED };

	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, all_sizes, &attr, -1));
	attr.inj_counters = 1;
	attr.rec_counters = 1;
	EXPECT_TRUE(job_run(2, all_sizes, &attr, -1));
}

/* ---- LC-2: less than all ----------------------------------------------- */

static int less(uint32_t rank, uint32_t size, void *arg)
{
	static struct module module;
	static uint8_t mem[100000];
	const struct bgdma_endpoint_attr *attr = arg;
	uint32_t i;

	(void)size;
	require_is(0, module_open(&module, *attr));
	for (i = 0; i < 40; i++) {
		if (rank == 0) {
			message_fill(mem, sizeof(mem), i);
			require_is(0, announce(&module,
					(struct bgdma_rendezvous_attr){
					.dest = 1, .word = i,
					.length = sizeof(mem), .data = mem }));
			require_is(0, until_count(&module, &module.ended,
						  i + 1));
			require_is(i % 2 ? -ECANCELED : 0, module.last);
			continue;
		}
		require_is(0, until_count(&module, &module.announced, i + 1));
		memset(mem, 0xee, sizeof(mem));
		if (i % 2) {
			require_is(0, bgdma_rendezvous_refuse(module.m.ep,
							&module.kept[i]));
			continue;
		}
		require_is(0, take(&module, i, (struct bgdma_accept_attr){
				.length = 777, .data = mem }));
		require_is(0, until_count(&module, &module.done, i / 2 + 1));
		require(message_is(mem, 777, i));
		require(mem[777] == 0xee);
	}
	/* Both know how much it was. */
	require_is(20 * 777, module.bytes);
	require_is(0, bgdma_job_fence(module.m.job));
	return module_close(&module);
}

TEST(lc2_what_is_not_taken_is_taken_off)
{
	struct bgdma_endpoint_attr attr = { 0 };

	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, less, &attr, -1));
	attr.counters = BGDMA_COUNTERS_SHARED;
	EXPECT_TRUE(job_run(2, less, &attr, -1));
}

static int nonsense(uint32_t rank, uint32_t size, void *arg)
{
	static struct module module;
	static uint8_t mem[64];
	struct bgdma_rendezvous_attr send = {
		.dest = 0, .length = 64, .data = mem,
	};
	struct bgdma_rts rts = { .rank = 1, .length = 1 };

	(void)rank;
	(void)size;
	(void)arg;
	require_is(0, module_open(&module, (struct bgdma_endpoint_attr){ 0 }));
	require_is(-EINVAL, bgdma_rendezvous_send(module.m.ep, &send));
	send.operation = module.rts;
	send.dest = 1;
	require_is(-EINVAL, bgdma_rendezvous_send(module.m.ep, &send));
	send.dest = 0;
	send.length = 0;
	require_is(-EINVAL, bgdma_rendezvous_send(module.m.ep, &send));
	send.length = BGDMA_RENDEZVOUS_MAX + 1;
	require_is(-EMSGSIZE, bgdma_rendezvous_send(module.m.ep, &send));
	send.length = 64;
	send.word = BGDMA_WORD_MASK + 1;
	require_is(-EINVAL, bgdma_rendezvous_send(module.m.ep, &send));
	send.word = 0;
	send.data = NULL;
	require_is(-EINVAL, bgdma_rendezvous_send(module.m.ep, &send));
	/* Memory that cannot be registered. */
	send.data = (void *)4096;
	require_is(-EFAULT, bgdma_rendezvous_send(module.m.ep, &send));
	require_is(-EINVAL, bgdma_rendezvous_accept(module.m.ep, &rts,
			&(struct bgdma_accept_attr){ .length = 1 }));
	require_is(-EINVAL, bgdma_rendezvous_accept(module.m.ep, &rts,
			&(struct bgdma_accept_attr){ .length = 1,
			.data = mem }));
	require_is(0, module.ended.is);
	require_is(0, all_back(&module));
	/* One to ourselves that is never answered ends with the endpoint. */
	send.data = mem;
	require_is(0, announce(&module, send));
	require_is(0, until_count(&module, &module.announced, 1));
	require_is(0, member_close(&module.m));
	require_is(1, module.ended.is);
	require_is(-ECANCELED, module.last);
	return 0;
}

TEST(lc1_what_is_refused)
{
	partition_new("1x1x1", "");
	EXPECT_TRUE(job_run(1, nonsense, NULL, -1));
}

/* ---- LC-6: more messages than counters --------------------------------- */

#define PIECE	200

struct crowd {
	uint32_t messages, counters;
	enum { FORWARD, REVERSE, SHUFFLED } order;
};

/* One of them is never received. */
static int crowd(uint32_t rank, uint32_t size, void *arg)
{
	static struct module module;
	static uint32_t order[KEPT_MAX];
	const struct crowd *c = arg;
	struct bgdma_endpoint_attr attr = {
		.inj_counters = c->counters, .rec_counters = c->counters,
		.data_bytes = 4 << 20,
	};
	uint32_t never = c->messages / 3, i, j, left;
	struct bgdma_counter_stats used;
	struct bgdma_region *region;
	uint64_t seed = 7;
	uint8_t *mem;

	(void)size;
	require_is(0, module_open(&module, attr));
	require_is(0, bgdma_region_alloc(bgdma_endpoint_ctx(module.m.ep),
			(uint64_t)c->messages * PIECE, BGDMA_LOCAL_READ |
			BGDMA_LOCAL_WRITE, &region));
	require_is(0, bgdma_endpoint_expose(module.m.ep, region,
			BGDMA_RIGHT_READ | BGDMA_RIGHT_WRITE));
	mem = bgdma_region_addr(region);
	for (i = 0; rank == 0 && i < c->messages; i++) {
		message_fill(mem + i * PIECE, PIECE, i);
		require_is(0, announce(&module, (struct bgdma_rendezvous_attr){
				.dest = 1, .word = i, .length = PIECE,
				.from = { region, i * PIECE } }));
	}
	if (rank == 0) {
		bgdma_counters_used(module.m.ep, BGDMA_INJECTION, &used);
		require_is(c->counters - 1, used.exclusive);
		require_is(c->messages, used.shared + used.exclusive);
		require_is(0, until_count(&module, &module.ended,
					  c->messages - 1));
		require_is(c->messages - 1, module.done.is);
		require_is(0, module.troubles);
		require_is(0, bgdma_job_fence(module.m.job));
		/* The one is still waiting, and nothing else. */
		require_is(0, bgdma_endpoint_progress(module.m.ep, 0));
		require_is(c->messages - 1, module.ended.is);
		require(busy(&module, BGDMA_INJECTION) <= 1);
		return member_close(&module.m);
	}
	require_is(0, until_count(&module, &module.announced, c->messages));
	require(!module.disorder);
	for (i = 0; i < c->messages; i++)
		order[i] = c->order == REVERSE ? c->messages - 1 - i : i;
	for (i = 0; c->order == SHUFFLED && i < c->messages; i++) {
		j = number_next(&seed) % c->messages;
		left = order[i];
		order[i] = order[j];
		order[j] = left;
	}
	for (i = 0; i < c->messages; i++)
		if (order[i] != never)
			require_is(0, take(&module, order[i],
					(struct bgdma_accept_attr){
					.length = PIECE, .to = { region,
					order[i] * PIECE } }));
	require_is(0, until_count(&module, &module.ended, c->messages - 1));
	require_is(c->messages - 1, module.done.is);
	for (i = 0; i < c->messages; i++)
		if (i != never)
			require(message_is(mem + i * PIECE, PIECE, i));
	require_is(0, all_back(&module));
	require_is(0, bgdma_job_fence(module.m.job));
	return member_close(&module.m);
}

static bool crowd_run(uint32_t messages, uint32_t counters, int order)
{
	struct crowd c = { messages, counters, order };

	partition_new("2x1x1", "");
	return job_run(2, crowd, &c, -1);
}

TEST(lc6_ten_thousand_over_64_in_order)
{
	EXPECT_TRUE(crowd_run(10000, 64, FORWARD));
}

TEST(lc6_ten_thousand_over_64_in_reverse)
{
	EXPECT_TRUE(crowd_run(10000, 64, REVERSE));
}

TEST(lc6_ten_thousand_over_64_shuffled)
{
	EXPECT_TRUE(crowd_run(10000, 64, SHUFFLED));
}

TEST(lc6_ten_thousand_over_1)
{
	EXPECT_TRUE(crowd_run(10000, 1, SHUFFLED));
}

TEST(lc6_three_thousand_over_2)
{
	EXPECT_TRUE(crowd_run(3000, 2, REVERSE));
}

/* ---- LC-3, X-3: failures ----------------------------------------------- */

#define MANY	60

/*
 * The memory of some messages goes away before they are answered. They fail on
 * both sides; all others arrive, though the engine drops what was behind.
 */
static int gone(uint32_t rank, uint32_t size, void *arg)
{
	static struct module module;
	static uint8_t mem[MANY][5000];
	const struct bgdma_endpoint_attr *attr = arg;
	struct bgdma_region *region[MANY];
	uint32_t i, bad = 0;

	(void)size;
	require_is(0, module_open(&module, *attr));
	for (i = 0; i < MANY; i++)
		bad += i % 7 == 3;
	for (i = 0; rank == 0 && i < MANY; i++) {
		message_fill(mem[i], sizeof(mem[i]), i);
		require_is(0, bgdma_region_register(
				bgdma_endpoint_ctx(module.m.ep), mem[i],
				sizeof(mem[i]), BGDMA_LOCAL_READ, &region[i]));
		require_is(0, bgdma_endpoint_expose(module.m.ep, region[i],
						    BGDMA_RIGHT_READ));
		require_is(0, announce(&module, (struct bgdma_rendezvous_attr){
				.dest = 1, .word = i, .length = sizeof(mem[i]),
				.from = { region[i], 0 } }));
	}
	for (i = 0; rank == 0 && i < MANY; i++)
		if (i % 7 == 3)
			require_is(0, bgdma_region_free(region[i]));
	require_is(0, bgdma_job_fence(module.m.job));
	for (i = 0; rank == 1 && i < MANY; i++)
		require_is(0, take_next(&module, i, (struct bgdma_accept_attr){
				.length = sizeof(mem[i]), .data = mem[i] }));
	require_is(0, until_count(&module, &module.ended, MANY));
	require_is(MANY - bad, module.done.is);
	for (i = 0; rank == 1 && i < MANY; i++)
		if (i % 7 != 3)
			require(message_is(mem[i], sizeof(mem[i]), i));
	for (i = 0; rank == 0 && i < MANY; i++)
		if (i % 7 != 3)
			require_is(0, bgdma_region_free(region[i]));
	return module_close(&module);
}

TEST(lc3_a_failed_message_leaves_the_others_alone)
{
	struct bgdma_endpoint_attr attr = { 0 };

	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, gone, &attr, -1));
	attr.counters = BGDMA_COUNTERS_SHARED;
	EXPECT_TRUE(job_run(2, gone, &attr, -1));
}

#define FAILURES	150	/* more than there are counters */

/* Counters of messages that fail serve others, however many these are. */
static int failures(uint32_t rank, uint32_t size, void *arg)
{
	static struct module module;
	static uint8_t mem[5000];
	struct bgdma_counter_stats stats;
	struct bgdma_region *region;
	struct bgdma_ctx *ctx;
	uint32_t i;

	(void)size;
	(void)arg;
	require_is(0, module_open(&module, (struct bgdma_endpoint_attr){ 0 }));
	ctx = bgdma_endpoint_ctx(module.m.ep);
	for (i = 0; i < FAILURES; i++) {
		if (rank == 0) {
			require_is(0, bgdma_region_register(ctx, mem,
					sizeof(mem), BGDMA_LOCAL_READ,
					&region));
			/* Nobody may read it. */
			require_is(0, announce(&module,
					(struct bgdma_rendezvous_attr){
					.dest = 1, .word = i,
					.length = sizeof(mem),
					.from = { region, 0 } }));
		} else {
			require_is(0, take_next(&module, i,
					(struct bgdma_accept_attr){
					.length = sizeof(mem), .data = mem }));
		}
		require_is(0, until_count(&module, &module.ended, i + 1));
		require(module.last);
		if (rank == 0)
			require_is(0, bgdma_region_free(region));
	}
	bgdma_counters_used(module.m.ep, rank == 0 ? BGDMA_INJECTION :
			    BGDMA_RECEPTION, &stats);
	require_is(FAILURES, stats.exclusive);
	require_is(0, stats.shared);
	return module_close(&module);
}

TEST(lc6_counters_of_messages_that_fail_come_back)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, failures, NULL, -1));
}

/* Rank 2 dies with messages of all kinds under way, to and from it. */
static int death(uint32_t rank, uint32_t size, void *arg)
{
	static struct module module;
	static uint8_t mem[3][20000];
	uint32_t i;

	(void)arg;
	require_is(0, module_open(&module, (struct bgdma_endpoint_attr){ 0 }));
	for (i = 0; i < size; i++)
		if (i != rank)
			require_is(0, announce(&module,
					(struct bgdma_rendezvous_attr){
					.dest = i, .length = sizeof(mem[i]),
					.data = mem[i] }));
	require_is(0, until_count(&module, &module.announced, size - 1));
	require_is(0, bgdma_job_fence(module.m.job));
	if (rank == 2)
		raise(SIGKILL);
	/* What was sent to it fails, and what it announced cannot be taken. */
	require_is(0, until_count(&module, &module.dead, 1));
	for (i = 0; i < size - 1; i++)
		require_is(module.kept[i].rank == 2 ? -EHOSTDOWN : 0,
			   take(&module, i, (struct bgdma_accept_attr){
				.length = sizeof(mem[0]), .data = mem[2] }));
	require_is(0, until_count(&module, &module.ended, 3));
	require_is(2, module.done.is);
	require_is(1, module.dead.is);
	require_is(0, all_back(&module));
	/* Not before the other has his, too. */
	require_is(0, bgdma_endpoint_send(module.m.ep, &(struct bgdma_send_attr){
			.operation = module.eager, .dest = 1 - rank,
			.word = 1 }));
	while (!module.eager_word)
		bgdma_endpoint_wait(module.m.ep, 1000000);
	bgdma_endpoint_destroy(module.m.ep);
	return 0;
}

TEST(x3_death_ends_what_is_under_way_and_frees_counters)
{
	partition_new("4x1x1", "");
	EXPECT_TRUE(job_run(3, death, NULL, 2));
}

/* ---- An end among those that found no room ----------------------------- */

#define WAITING		4000
#define EACH		512

/* The target ends one of its own that still waits for a channel. */
static int ended_early(uint32_t rank, uint32_t size, void *arg)
{
	static struct module module;
	static uint8_t mem[WAITING][EACH] PINNED;
	static uint32_t id[WAITING];
	struct bgdma_region *region;
	uint32_t i;

	(void)size;
	(void)arg;
	require_is(0, module_open(&module, (struct bgdma_endpoint_attr){
			.counters = BGDMA_COUNTERS_SHARED, .entries = 16 }));
	require_is(0, bgdma_region_register(bgdma_endpoint_ctx(module.m.ep),
			mem, sizeof(mem), BGDMA_LOCAL_READ | BGDMA_LOCAL_WRITE,
			&region));
	require_is(0, bgdma_endpoint_expose(module.m.ep, region,
					    BGDMA_RIGHT_READ |
					    BGDMA_RIGHT_WRITE));
	for (i = 0; rank == 0 && i < WAITING; i++)
		require_is(0, announce(&module, (struct bgdma_rendezvous_attr){
				.word = i, .dest = 1, .length = EACH,
				.from = { region, i * EACH } }));
	if (rank == 1)
		require_is(0, until_count(&module, &module.announced, WAITING));
	/* Nobody at the origin takes what tells of the ends. */
	require_is(0, bgdma_job_fence(module.m.job));
	for (i = 0; rank == 1 && i < WAITING; i++)
		require_is(0, take(&module, i, (struct bgdma_accept_attr){
				.length = EACH, .to = { region, i * EACH },
				.id = &id[i] }));
	if (rank == 1)
		require_is(0, bgdma_rendezvous_cancel(module.m.ep,
						      id[WAITING - 100]));
	require_is(0, bgdma_job_fence(module.m.job));
	require_is(0, until_count(&module, &module.ended, WAITING));
	require_is(WAITING - 1, module.done.is);
	return member_close(&module.m);
}

TEST(lc6_one_that_waits_for_room_ends)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, ended_early, NULL, -1));
}

/* ---- Memory that may not be locked ---------------------------------------- */

#define UNLOCKED	100000

static const struct crossing unlocked[] = {
	{ UNLOCKED, BGDMA_PORTION_WHOLE, UNLOCKED, 0 },
	{ UNLOCKED, 7000, UNLOCKED, 0 },
	{ UNLOCKED, 7000, UNLOCKED, 4 },
	{ UNLOCKED, BGDMA_PORTION_WHOLE, 12345, 0 },
	{ 1, BGDMA_PORTION_WHOLE, 1, 0 },
	{ UNLOCKED, 7000, 12345, 0 },
};

static int cross_unlocked(uint32_t rank, uint32_t size, void *arg)
{
	static uint8_t mem[UNLOCKED + 1] PINNED;
	static struct module module;
	struct bgdma_region *region;

	(void)rank;
	(void)size;
	require_is(0, module_open(&module, *(struct bgdma_endpoint_attr *)arg));
	require_is(0, lock_nothing());
	require_is(-ENOMEM, bgdma_region_register(
			bgdma_endpoint_ctx(module.m.ep), mem, UNLOCKED,
			BGDMA_LOCAL_READ, &region));
	return messages_cross(&module, unlocked,
			      sizeof(unlocked) / sizeof(unlocked[0]),
			      BGDMA_PORTIONS_PUT, mem);
}

TEST(lc6_memory_that_may_not_be_locked)
{
	struct bgdma_endpoint_attr attr = { 0 };

	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, cross_unlocked, &attr, -1));
	attr.counters = BGDMA_COUNTERS_SHARED;
	EXPECT_TRUE(job_run(2, cross_unlocked, &attr, -1));
}

/* ---- A place that leaves its region -------------------------------------- */

#define PLACE		8000UL
#define PLACE_PAGE	4096UL

struct place {
	enum bgdma_counter_policy counters;
	enum bgdma_portions portions;
};

static int place_beyond(uint32_t rank, uint32_t size, void *arg)
{
	static uint8_t mem[4 * PLACE_PAGE] PINNED;
	static struct module module;
	const struct place *place = arg;
	struct bgdma_region *region;
	uint32_t i;

	(void)size;
	require_is(0, module_open(&module, (struct bgdma_endpoint_attr){
			.counters = place->counters }));
	if (rank == 0) {
		require_is(0, announce(&module, (struct bgdma_rendezvous_attr){
				.dest = 1, .length = PLACE, .data = mem,
				.portion = 1000, .portions = place->portions }));
		require_is(0, until_count(&module, &module.ended, 1));
		return module_close(&module);
	}
	memset(mem, 0xee, sizeof(mem));
	require_is(0, bgdma_region_register(bgdma_endpoint_ctx(module.m.ep),
			mem, PLACE_PAGE, BGDMA_LOCAL_WRITE, &region));
	require_is(0, bgdma_endpoint_expose(module.m.ep, region,
					    BGDMA_RIGHT_WRITE));
	for (i = 0; i < 3; i++)
		require_is(-EINVAL, take_next(&module, 0,
				(struct bgdma_accept_attr){ .length = PLACE,
				.to = { region, i ? i * PLACE_PAGE - 1 : 0 } }));
	require_is(-EINVAL, take_next(&module, 0, (struct bgdma_accept_attr){
			.length = PLACE, .to = { region, UINT64_MAX - 100 } }));
	/* It is still to be answered. */
	require_is(0, take_next(&module, 0, (struct bgdma_accept_attr){
			.length = 96, .to = { region, PLACE_PAGE - 96 } }));
	require_is(0, until_count(&module, &module.ended, 1));
	require_is(0, module.last);
	for (i = PLACE_PAGE; i < sizeof(mem); i++)
		require(mem[i] == 0xee);
	require_is(0, bgdma_region_free(region));
	return module_close(&module);
}

TEST(lc1_a_place_that_leaves_its_region)
{
	struct place place[] = {
		{ BGDMA_COUNTERS_AUTO, BGDMA_PORTIONS_PUT },
		{ BGDMA_COUNTERS_SHARED, BGDMA_PORTIONS_PUT },
		{ BGDMA_COUNTERS_AUTO, BGDMA_PORTIONS_PACKETS },
	};
	unsigned int i;

	partition_new("2x1x1", "");
	for (i = 0; i < 3; i++)
		EXPECT_TRUE(job_run(2, place_beyond, &place[i], -1));
}

/* ---- The end of an endpoint ---------------------------------------------- */

static int sent_at_the_end;

static void on_end_send(void *arg, int result, uint64_t bytes)
{
	struct module *module = arg;

	(void)bytes;
	module->last = result;
	sent_at_the_end = bgdma_endpoint_send(module->m.ep,
			&(struct bgdma_send_attr){ .operation = module->eager,
			.dest = 1, .word = 1 });
	module->ended.is++;
}

static int end_with_messages(uint32_t rank, uint32_t size, void *arg)
{
	static uint8_t mem[PLACE] PINNED;
	static struct module module;

	(void)size;
	(void)arg;
	require_is(0, module_open(&module, (struct bgdma_endpoint_attr){ 0 }));
	if (rank == 0)
		require_is(0, bgdma_rendezvous_send(module.m.ep,
				&(struct bgdma_rendezvous_attr){
				.operation = module.rts, .dest = 1,
				.length = PLACE, .data = mem,
				.done = on_end_send, .arg = &module }));
	require_is(0, bgdma_job_fence(module.m.job));
	require_is(0, member_leave(&module.m));
	if (rank == 0) {
		require_is(1, module.ended.is);
		require_is(-ECANCELED, module.last);
		require_is(-ENOTCONN, sent_at_the_end);
	}
	return 0;
}

TEST(lc1_what_ends_with_the_endpoint_sends_no_more)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, end_with_messages, NULL, -1));
}

TEST_HARNESS_MAIN
