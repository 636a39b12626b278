// SPDX-License-Identifier: GPL-2.0
/*
 * Paced messages: what can be chosen (SP-5, SP-10), and how one ends that is
 * not to go on, or cannot.
 */
#include "kselftest_harness.h"
#include "sys_module.h"

#define SPACE	1000000

/* ---- SP-5, SP-10: options ---------------------------------------------- */

struct choice {
	struct bgdma_endpoint_attr attr;
	enum bgdma_portions portions;
};

static const struct crossing crossings[] = {
	{ SPACE, 10000, SPACE, 1 }, { SPACE, 10000, SPACE, 2 },
	{ SPACE, 10000, SPACE, 3 }, { SPACE, 16384, SPACE, 4 },
	{ SPACE, 1000, SPACE, BGDMA_IN_FLIGHT_MAX },
	{ 100, 32, SPACE, BGDMA_IN_FLIGHT_MAX },
	{ 65, 32, SPACE, 2 }, { 33, 32, SPACE, 2 }, { 97, 32, SPACE, 3 },
	{ SPACE, 10000, 12345, 4 }, { SPACE, 10000, 10, 4 },
	{ 17, 1, SPACE, 5 }, { 100000, 100000, SPACE, 4 },
};

#define CROSSINGS	(sizeof(crossings) / sizeof(crossings[0]))

static int cross(uint32_t rank, uint32_t size, void *arg)
{
	static struct module module;
	static uint8_t mem[SPACE + 1];
	const struct choice *c = arg;

	(void)rank;
	(void)size;
	require_is(0, module_open(&module, c->attr));
	return messages_cross(&module, crossings, CROSSINGS, c->portions, mem);
}

TEST(sp10_portions_in_flight)
{
	struct choice c = { .portions = BGDMA_PORTIONS_PUT };

	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, cross, &c, -1));
	c.attr.counters = BGDMA_COUNTERS_SHARED;
	EXPECT_TRUE(job_run(2, cross, &c, -1));
}

TEST(sp5_portions_in_packets)
{
	struct choice c = { .portions = BGDMA_PORTIONS_PACKETS };

	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, cross, &c, -1));
	c.portions = BGDMA_PORTIONS_DEFAULT;
	c.attr.portions = BGDMA_PORTIONS_PACKETS;
	c.attr.counters = BGDMA_COUNTERS_SHARED;
	EXPECT_TRUE(job_run(2, cross, &c, -1));
}

/* Many at once, of all sorts, in small queues. */
static int mixed(uint32_t rank, uint32_t size, void *arg)
{
	static struct module module;
	static uint8_t mem[100][20000];
	uint32_t i;

	(void)size;
	(void)arg;
	require_is(0, module_open(&module, (struct bgdma_endpoint_attr){
			.entries = 16, .inj_counters = 8, .rec_counters = 4,
			.control_bytes = 16384 }));
	for (i = 0; rank == 0 && i < 100; i++) {
		message_fill(mem[i], sizeof(mem[i]), i);
		require_is(0, announce(&module, (struct bgdma_rendezvous_attr){
				.dest = 1, .word = i, .length = sizeof(mem[i]),
				.portion = i % 3 ? 500 * (i % 7) :
					   BGDMA_PORTION_WHOLE,
				.in_flight = i % 5, .portions = i % 2 ?
				BGDMA_PORTIONS_PACKETS : BGDMA_PORTIONS_PUT,
				.data = mem[i] }));
	}
	for (i = 0; rank == 1 && i < 100; i++)
		require_is(0, take_next(&module, i, (struct bgdma_accept_attr){
				.length = sizeof(mem[i]), .data = mem[i] }));
	require_is(0, until_count(&module, &module.done, 100));
	for (i = 0; rank == 1 && i < 100; i++)
		require(message_is(mem[i], sizeof(mem[i]), i));
	return module_close(&module);
}

TEST(sp6_sp10_many_of_all_sorts)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, mixed, NULL, -1));
}

/*
 * Both ways at the same time, far more chains than queues hold, among answers
 * in one piece: no queue waits for one that waits for it.
 */
static int both_ways(uint32_t rank, uint32_t size, void *arg)
{
	static struct module module;
	static uint8_t out[400][10000], in[400][10000];
	uint32_t i;

	(void)size;
	(void)arg;
	require_is(0, module_open(&module, (struct bgdma_endpoint_attr){ 0 }));
	for (i = 0; i < 400; i++) {
		message_fill(out[i], sizeof(out[i]), i);
		require_is(0, announce(&module, (struct bgdma_rendezvous_attr){
				.dest = 1 - rank, .word = i,
				.length = sizeof(out[i]), .data = out[i],
				.portion = i % 4 ? 100 : BGDMA_PORTION_WHOLE,
				.in_flight = i % 3 ? BGDMA_IN_FLIGHT_MAX : 1,
				.portions = i % 5 ? BGDMA_PORTIONS_PUT :
						    BGDMA_PORTIONS_PACKETS }));
	}
	for (i = 0; i < 400; i++)
		require_is(0, take_next(&module, i, (struct bgdma_accept_attr){
				.length = sizeof(in[i]), .data = in[i] }));
	require_is(0, until_count(&module, &module.done, 800));
	for (i = 0; i < 400; i++)
		require(message_is(in[i], sizeof(in[i]), i));
	return module_close(&module);
}

TEST(sp10_chains_of_both_ways_do_not_wait_for_each_other)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, both_ways, NULL, -1));
}

/* ---- SP-3: as many portions as there can be ------------------------------ */

#define SMALLEST	32	/* bytes of a portion */

/* Each portion is a packet, so they can be counted. */
static int most(uint32_t rank, uint32_t size, void *arg)
{
	static const uint32_t beyond[] = { 0, 1, BGDMA_PORTIONS_MAX };
	static struct module module;
	static uint8_t mem[BGDMA_PORTIONS_MAX * (SMALLEST + 1) + 1];
	uint64_t bytes, portion, pieces;
	uint32_t i;

	(void)size;
	(void)arg;
	require_is(0, module_open(&module, (struct bgdma_endpoint_attr){ 0 }));
	for (i = 0; i < 3; i++) {
		bytes = BGDMA_PORTIONS_MAX * SMALLEST + beyond[i];
		portion = SMALLEST + (i > 0);
		require_is(0, pieces_cross(&module,
				(struct bgdma_rendezvous_attr){ .word = i,
				.length = bytes, .portion = SMALLEST,
				.data = mem }, bytes, &pieces));
		if (rank == 0)
			continue;
		require_is(BGDMA_PORTIONS_MAX, module.kept[i].portions);
		require_is((bytes + portion - 1) / portion, pieces);
	}
	return module_close(&module);
}

TEST(sp3_what_is_beyond_the_most_portions_makes_them_longer)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, most, NULL, -1));
}

/* ---- SP-10: in their order ----------------------------------------------- */

#define LATER	8	/* messages of one chain, behind one of many */

struct turn {
	struct module *module;
	uint64_t ended;		/* so many before it */
};

static void turn_done(void *arg, int result, uint64_t bytes)
{
	struct turn *turn = arg;

	turn->ended = turn->module->ended.is;
	on_done(turn->module, result, bytes);
}

/* The second has more chains than may be beside the first; those behind it have not. */
static int overtaken(uint32_t rank, uint32_t size, void *arg)
{
	static struct module module;
	static uint8_t mem[2 + LATER][50000];
	struct turn turn[2 + LATER];
	uint32_t i;

	(void)size;
	(void)arg;
	require_is(0, module_open(&module, (struct bgdma_endpoint_attr){ 0 }));
	for (i = 0; rank == 0 && i < 2 + LATER; i++) {
		message_fill(mem[i], sizeof(mem[i]), i);
		require_is(0, announce(&module, (struct bgdma_rendezvous_attr){
				.dest = 1, .word = i, .length = sizeof(mem[i]),
				.portion = 500, .data = mem[i], .in_flight =
				i == 1 ? BGDMA_IN_FLIGHT_MAX : 1 }));
	}
	if (rank == 1)
		require_is(0, until_count(&module, &module.announced,
					  2 + LATER));
	for (i = 0; rank == 1 && i < 2 + LATER; i++) {
		turn[i].module = &module;
		require_is(0, bgdma_rendezvous_accept(module.m.ep,
				&module.kept[i], &(struct bgdma_accept_attr){
				.length = sizeof(mem[i]), .data = mem[i],
				.done = turn_done, .arg = &turn[i] }));
	}
	require_is(0, until_count(&module, &module.done, 2 + LATER));
	for (i = 0; rank == 1 && i < 2 + LATER; i++)
		require(message_is(mem[i], sizeof(mem[i]), i));
	if (rank == 1)
		require_is(1, turn[1].ended);
	return module_close(&module);
}

TEST(sp10_a_message_of_many_chains_is_not_overtaken)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, overtaken, NULL, -1));
}

/* ---- SP-9: packets wait for the core, and go on when it reads ----------- */

static int unread(uint32_t rank, uint32_t size, void *arg)
{
	static struct module module;
	static uint8_t mem[SPACE];
	volatile bool *origin_done = arg;

	(void)size;
	require_is(0, module_open(&module, (struct bgdma_endpoint_attr){ 0 }));
	if (rank == 0) {
		message_fill(mem, SPACE, 5);
		require_is(0, announce(&module, (struct bgdma_rendezvous_attr){
				.dest = 1, .length = SPACE, .data = mem,
				.portions = BGDMA_PORTIONS_PACKETS,
				.portion = 8192 }));
		require_is(0, bgdma_job_fence(module.m.job));
		require_is(0, until_count(&module, &module.done, 1));
		*origin_done = true;
		return module_close(&module);
	}
	require_is(0, take_next(&module, 0, (struct bgdma_accept_attr){
			.length = SPACE, .data = mem }));
	require_is(0, bgdma_job_fence(module.m.job));
	/* Up to the room in the FIFO, so not all of it: nothing is lost. */
	usleep(100000);
	require(!*origin_done);
	require_is(0, until_count(&module, &module.done, 1));
	require(message_is(mem, SPACE, 5));
	return module_close(&module);
}

TEST(sp9_packets_wait_for_room)
{
	bool *origin_done = shared(sizeof(*origin_done));

	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, unread, origin_done, -1));
}

/* ---- SP-10: when to pace ----------------------------------------------- */

struct rule {
	struct bgdma_endpoint_attr attr;
	uint32_t node;			/* of the target */
	uint64_t length, portion;
	uint32_t portions, in_flight;	/* that are to be offered */
};

static int obey(uint32_t rank, uint32_t size, void *arg)
{
	static struct module module;
	static uint8_t mem[SPACE];
	const struct rule *rule = arg;
	struct bgdma_endpoint_attr attr = rule->attr;

	(void)size;
	attr.fixed_node = true;
	attr.node = rank ? rule->node : 0;
	require_is(0, module_open(&module, attr));
	if (rank == 0) {
		require_is(0, announce(&module, (struct bgdma_rendezvous_attr){
				.dest = 1, .length = rule->length, .data = mem,
				.portion = rule->portion }));
	} else {
		require_is(0, until_count(&module, &module.announced, 1));
		require_is(rule->portions, module.kept[0].portions);
		require_is(rule->in_flight, module.kept[0].in_flight);
		require_is(0, take(&module, 0, (struct bgdma_accept_attr){
				.length = SPACE, .data = mem }));
	}
	require_is(0, until_count(&module, &module.done, 1));
	return member_close(&module.m);
}

#define ON	.attr.pacing = BGDMA_PACING_ON

TEST(sp10_far_and_long_messages_are_paced)
{
	/* Ranks count along X first, and the torus is closed. */
	static struct rule rules[] = {
		{ .node = 5, .length = SPACE, .portions = 1, .in_flight = 1 },
		{ ON, .node = 4, .length = SPACE, .portions = 1,
		  .in_flight = 1 },
		{ ON, .node = 5, .length = SPACE, .portions = 62,
		  .in_flight = 4 },
		{ ON, .node = 8, .length = SPACE, .portions = 1,
		  .in_flight = 1 },
		{ ON, .node = 13, .length = SPACE, .portions = 62,
		  .in_flight = 4 },
		{ ON, .node = 5, .length = 65536, .portions = 1,
		  .in_flight = 1 },
		{ ON, .node = 5, .length = 65537, .portions = 5,
		  .in_flight = 2 },
		{ ON, .node = 5, .length = SPACE, .in_flight = 1,
		  .portion = BGDMA_PORTION_WHOLE, .portions = 1 },
		{ ON, .node = 5, .length = SPACE, .in_flight = 1,
		  .portion = 1000, .portions = 1000 },
		{ ON, .attr.pacing_hops = 5, .node = 5, .length = SPACE,
		  .portions = 1, .in_flight = 1 },
		{ ON, .attr.pacing_hops = BGDMA_PACING_ANY, .node = 1,
		  .length = SPACE, .portions = 62, .in_flight = 4 },
		{ ON, .attr.pacing_dims = BGDMA_PACING_ANY, .node = 1,
		  .length = SPACE, .portions = 62, .in_flight = 4 },
		{ ON, .attr.pacing_size = BGDMA_PACING_ANY, .node = 5,
		  .length = 16385, .portions = 2, .in_flight = 1 },
		{ ON, .attr.pacing_portion = 1000, .attr.pacing_max = 2999,
		  .attr.pacing_size = 5000, .node = 5, .length = 5001,
		  .portions = 6, .in_flight = 2 },
		/* No portion is more than may be in flight; there are so many at most. */
		{ ON, .attr.pacing_max = 4096, .node = 5, .length = SPACE,
		  .portions = 245, .in_flight = 1 },
		{ ON, .attr.pacing_portion = 20, .attr.pacing_max = 64, .node = 5,
		  .length = SPACE, .portions = 32259, .in_flight = 2 },
	};
	unsigned int i;

	partition_new("12x2x1", "");
	for (i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		EXPECT_TRUE(job_run(2, obey, &rules[i], -1))
			TH_LOG("rule %u", i);
}

/* Of large partitions what is usual is something else. */
TEST(sp10_what_is_usual_depends_on_the_nodes)
{
	static const struct {
		const char *nodes;
		struct rule rule;
	} rows[] = {
		{ "16x16x4", { .node = 8, .length = SPACE, .portions = 1,
			       .in_flight = 1 } },
		{ "16x16x5", { .node = 8, .length = SPACE, .portions = 62,
			       .in_flight = 4 } },
		{ "16x16x5", { .attr.pacing = BGDMA_PACING_OFF, .node = 8,
			       .length = SPACE, .portions = 1,
			       .in_flight = 1 } },
		{ "16x16x16", { .node = 8, .length = SPACE, .portions = 123,
				.in_flight = 4 } },
		{ "32x16x16", { .node = 8, .length = SPACE, .portions = 123,
				.in_flight = 3 } },
	};
	struct rule rule;
	unsigned int i;

	if (links_used())
		SKIP(return, "over links each of thousands of nodes would be a namespace");
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		partition_new(rows[i].nodes, "");
		rule = rows[i].rule;
		EXPECT_TRUE(job_run(2, obey, &rule, -1))
			TH_LOG("row %u", i);
	}
}

TEST(sp10_the_environment_decides_what_is_open)
{
	struct rule rule = { .node = 1, .length = 5001, .portions = 6,
			     .in_flight = 2 };
	struct rule off = { .attr.pacing = BGDMA_PACING_OFF, .node = 1,
			    .length = 5001, .portions = 1, .in_flight = 1 };

	partition_new("2x1x1", "");
	setenv("BGDMA_PACING", "1", 1);
	setenv("BGDMA_PACING_HOPS", "0", 1);
	setenv("BGDMA_PACING_DIMS", "3", 1);
	setenv("BGDMA_PACING_SIZE", "5000", 1);
	setenv("BGDMA_PACING_PORTION", "1000", 1);
	setenv("BGDMA_PACING_MAX", "2000", 1);
	setenv("BGDMA_PACING_PACKETS", "1", 1);
	EXPECT_TRUE(job_run(2, obey, &rule, -1));
	EXPECT_TRUE(job_run(2, obey, &off, -1));
	setenv("BGDMA_PACING", "0", 1);
	off.attr.pacing = BGDMA_PACING_AUTO;
	EXPECT_TRUE(job_run(2, obey, &off, -1));
}

static int refused(uint32_t rank, uint32_t size, void *arg)
{
	const char *const *variable = arg;
	struct member m;

	(void)rank;
	(void)size;
	setenv(variable[0], variable[1], 1);
	require_is(-EINVAL, member_open(&m, NULL));
	bgdma_job_close(m.job);
	return 0;
}

TEST(sp10_nonsense_in_the_environment)
{
	static const char *const nonsense[][2] = {
		{ "BGDMA_PACING", "2" }, { "BGDMA_PACING_HOPS", "far" },
		{ "BGDMA_PACING_SIZE", "-1" }, { "BGDMA_PACING_PORTION", "0" },
		{ "BGDMA_PACING_MAX", "99999999999" },
		{ "BGDMA_PACING_PACKETS", "x" }, { "BGDMA_COUNTERS", "0" },
		{ "BGDMA_COUNTERS", "-1" }, { "BGDMA_COUNTERS", "1009" },
		{ "BGDMA_COUNTERS", "many" }, { "BGDMA_COUNTERS", "64k" },
	};
	unsigned int i;

	partition_new("2x1x1", "");
	for (i = 0; i < sizeof(nonsense) / sizeof(nonsense[0]); i++)
		EXPECT_TRUE(job_run(1, refused, (void *)nonsense[i], -1))
			TH_LOG("variable %u", i);
}

/* What the attr says is what is so. */
static int counters_are(uint32_t rank, uint32_t size, void *arg)
{
	const struct bgdma_endpoint_attr attr = { .rec_counters = 3 };
	struct bgdma_counter_stats inj, rec;
	struct member m;

	(void)rank;
	(void)size;
	(void)arg;
	require_is(0, member_open(&m, &attr));
	bgdma_counters_used(m.ep, BGDMA_INJECTION, &inj);
	bgdma_counters_used(m.ep, BGDMA_RECEPTION, &rec);
	require_is(5, inj.counters);
	require_is(3, rec.counters);
	return member_close(&m);
}

TEST(lc6_the_environment_says_how_many_counters)
{
	partition_new("2x1x1", "");
	setenv("BGDMA_COUNTERS", "5", 1);
	EXPECT_TRUE(job_run(1, counters_are, NULL, -1));
}

/* ---- Cancel ------------------------------------------------------------ */

#define CANCELLED	4	/* messages */
#define LONG		4000000

struct cancel {
	struct bgdma_endpoint_attr attr;
	uint64_t portion;
	enum bgdma_portions portions;
	uint32_t in_flight;
	volatile bool heard;		/* that the first is cancelled */
	int result[2][CANCELLED];	/* by rank */
};

/* One of the messages, for its function. */
struct one {
	struct module *module;
	int *result;
};

static void one_done(void *arg, int result, uint64_t bytes)
{
	struct one *one = arg;

	*one->result = result;
	on_done(one->module, result, bytes);
}

/*
 * The origin cancels the first before it is accepted and the second after, the
 * target the third.
 */
static int give_up(uint32_t rank, uint32_t size, void *arg)
{
	static struct module module;
	static uint8_t mem[CANCELLED][LONG];
	struct cancel *c = arg;
	struct one one[CANCELLED];
	uint32_t i, id[CANCELLED];

	(void)size;
	require_is(0, module_open(&module, c->attr));
	for (i = 0; i < CANCELLED; i++) {
		one[i] = (struct one){ &module, &c->result[rank][i] };
		message_fill(mem[i], rank ? 0 : LONG, i);
		if (rank == 0)
			require_is(0, bgdma_rendezvous_send(module.m.ep,
					&(struct bgdma_rendezvous_attr){
					.operation = module.rts, .dest = 1,
					.word = i, .length = LONG,
					.portion = c->portion,
					.portions = c->portions,
					.in_flight = c->in_flight,
					.data = mem[i], .done = one_done,
					.arg = &one[i], .id = &id[i] }));
	}
	if (rank == 0)
		require_is(0, bgdma_rendezvous_cancel(module.m.ep, id[0]));
	else
		require_is(0, until_count(&module, &module.announced,
					  CANCELLED));
	require_is(0, bgdma_job_fence(module.m.job));
	/* Until it has heard of that. */
	if (rank == 0)
		require_is(0, until_count(&module, &module.ended, 1));
	c->heard |= rank == 0;
	while (!c->heard)
		bgdma_endpoint_wait(module.m.ep, 1000000);
	for (i = 0; rank == 1 && i < CANCELLED; i++)
		require_is(0, bgdma_rendezvous_accept(module.m.ep,
				&module.kept[i], &(struct bgdma_accept_attr){
				.length = LONG, .data = mem[i],
				.done = one_done, .arg = &one[i],
				.id = &id[i] }));
	require_is(0, bgdma_rendezvous_cancel(module.m.ep, id[1 + rank]));
	require_is(0, until_count(&module, &module.ended, CANCELLED));
	if (rank == 1)
		require(message_is(mem[3], LONG, 3));
	for (i = 0; i < CANCELLED; i++)
		require_is(-ENOENT, bgdma_rendezvous_cancel(module.m.ep,
							    id[i]));
	require_is(-ENOENT, bgdma_rendezvous_cancel(module.m.ep, 0));
	require_is(0, bgdma_job_fence(module.m.job));
	bgdma_endpoint_progress(module.m.ep, 0);
	return module_close(&module);
}

/* Whatever was faster, both sides agree. */
static bool cancel_run(struct cancel *c)
{
	unsigned int i;

	c->heard = false;
	if (!job_run(2, give_up, c, -1))
		return false;
	for (i = 0; i < CANCELLED; i++)
		if (c->result[0][i] != c->result[1][i] ||
		    (c->result[0][i] && c->result[0][i] != -ECANCELED))
			return false;
	return c->result[0][0] == -ECANCELED && c->result[0][3] == 0;
}

/* Of so many portions some are to come, if those who cancel are not too slow. */
static bool cancelled_in_time(struct cancel *c, bool *agree)
{
	unsigned int tries = 0;

	do {
		*agree = cancel_run(c);
	} while (*agree && !(c->result[0][1] && c->result[0][2]) &&
		 ++tries < 3);
	return tries < 3;
}

TEST(lc2_sp3a_both_sides_agree_what_was_cancelled)
{
	struct cancel *c = shared(sizeof(*c));
	unsigned int i, late = 0;
	bool agree;

	partition_new("2x1x1", "");
	for (i = 0; i < 2; i++) {
		c->attr.counters = i ? BGDMA_COUNTERS_SHARED :
				       BGDMA_COUNTERS_AUTO;
		c->portion = 0;
		EXPECT_TRUE(cancel_run(c));
		c->portion = 200;
		for (c->in_flight = 1; c->in_flight < 4; c->in_flight += 2) {
			c->portions = BGDMA_PORTIONS_PUT;
			late += !cancelled_in_time(c, &agree);
			EXPECT_TRUE(agree);
			c->portions = BGDMA_PORTIONS_PACKETS;
			late += !cancelled_in_time(c, &agree);
			EXPECT_TRUE(agree);
		}
	}
	/* Here they are always in time. */
	if (slowness() == 1)
		EXPECT_EQ(0, late);
}

/* ---- SP-3a: nonsense in the origin's descriptors ------------------------ */

static int nonsense(uint32_t rank, uint32_t size, void *arg)
{
	static struct module module;
	static uint8_t mem[100000];

	(void)size;
	require_is(0, module_open(&module, (struct bgdma_endpoint_attr){ 0 }));
	if (rank == 0) {
		require_is(0, announce(&module, (struct bgdma_rendezvous_attr){
				.dest = 1, .length = sizeof(mem),
				.portion = 10000, .data = mem }));
		require_is(0, until_count(&module, &module.ended, 1));
		require(module.last);
		require_is(3, module.portion);
		return module_close(&module);
	}
	require_is(0, until_count(&module, &module.announced, 1));
	require_is(0, chain_meddle(&module, 2, arg));
	return member_close(&module.m);
}

TEST(sp3a_nonsense_from_the_target_names_the_portion)
{
	struct bgdma_desc desc;
	uint64_t seed = 11;
	unsigned int i, k;

	partition_new("2x1x1", "");
	for (i = 0; i < 6; i++) {
		for (k = 0; k < sizeof(desc); k++)
			((uint8_t *)&desc)[k] = (uint8_t)number_next(&seed);
		/* No operation at all would be none of the engine's business. */
		desc.op = i % 2 ? 200 : BGDMA_OP_PUT;
		EXPECT_TRUE(job_run(2, nonsense, &desc, -1));
	}
}

/* ---- In one piece -------------------------------------------------------- */

/* However long it is: no chain, but one answer. */
static int whole(uint32_t rank, uint32_t size, void *arg)
{
	static struct module module;
	struct bgdma_region *region;

	(void)size;
	(void)arg;
	require_is(0, module_open(&module, (struct bgdma_endpoint_attr){ 0 }));
	require_is(0, bgdma_region_alloc(bgdma_endpoint_ctx(module.m.ep), 4096,
					 BGDMA_LOCAL_READ, &region));
	/* So much is not there, but nobody will take it. */
	if (rank == 0) {
		require_is(0, announce(&module, (struct bgdma_rendezvous_attr){
				.dest = 1, .length = 3ULL << 30,
				.portion = BGDMA_PORTION_WHOLE,
				.from = { region, 0 } }));
		require_is(0, until_count(&module, &module.ended, 1));
	} else {
		require_is(0, until_count(&module, &module.announced, 1));
		require_is(1, module.kept[0].portions);
		require_is(0, bgdma_rendezvous_refuse(module.m.ep,
						      &module.kept[0]));
		require_is(0, bgdma_endpoint_flush(module.m.ep,
						   (int64_t)PATIENCE_NS));
	}
	require_is(0, bgdma_region_free(region));
	return module_close(&module);
}

TEST(lc1_in_one_piece_is_no_chain)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, whole, NULL, -1));
}

TEST_HARNESS_MAIN
