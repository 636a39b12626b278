// SPDX-License-Identifier: GPL-2.0
/*
 * Modules on the combining network: their messages and the results of their collectives
 * are dispatched as all else, by what the header says or the head of the payload.
 */
#include "kselftest_harness.h"
#include "sys_util.h"

#include <bgdma/network.h>

#define JOB	5
#define ROUNDS	40
#define NUMBER	15
#define LONG	10000U		/* bytes of a result, in three packets */
#define SUM	BGDMA_TREE_COMBINE(BGDMA_TREE_ADD, BGDMA_TREE_S64)

enum { BLUE, GREEN, MODULES };

/* One of the two application modules, and what came for it. */
struct module {
	uint32_t note, sum;		/* identifiers */
	uint64_t notes, sums;
	uint64_t offset;		/* of the result that comes */
	uint64_t refuse;		/* so often first */
	bool wrong;
	uint32_t which;
};

struct modules {
	struct member m;
	struct bgdma_network *net;
	struct bgdma_region *region;
	struct module module[MODULES];
	struct bgdma_trouble_info trouble;
	uint64_t troubles;
};

static int64_t word_at(uint64_t i, uint32_t rank)
{
	return (int64_t)(i * 100 + rank);
}

/* "MODULE note of RANK", so that no module takes that of another for its own. */
static size_t note_write(char *to, size_t size, uint32_t which, uint32_t rank)
{
	return (size_t)snprintf(to, size, "%s note of %u",
				which == BLUE ? "blue" : "green", rank) + 1;
}

static int on_note(void *arg, uint32_t rank, const struct bgdma_packet *packet)
{
	struct module *module = arg;
	char should[64];
	size_t n = note_write(should, sizeof(should), module->which, rank);

	module->wrong |= packet->type != BGDMA_OP_TREE_P2P ||
			 packet->dispatch != BGDMA_TREE_DISPATCH ||
			 bgdma_packet_word(packet) != module->which + 70 ||
			 bgdma_packet_body_bytes(packet) != n ||
			 memcmp(bgdma_packet_body(packet), should, n) != 0;
	module->notes++;
	return 0;
}

static int on_sum(void *arg, uint32_t rank, const struct bgdma_packet *packet)
{
	const char *body = (const char *)bgdma_packet_body(packet);
	struct module *module = arg;
	int64_t is, should = 0;
	uint64_t i;

	(void)rank;
	if (module->refuse) {
		module->refuse--;
		return -EAGAIN;
	}
	module->wrong |= packet->type != BGDMA_OP_TREE_ALLREDUCE ||
			 packet->dispatch != (uint16_t)module->sum ||
			 bgdma_packet_word(packet) != module->sums ||
			 packet->offset != module->offset;
	for (i = 0; i < bgdma_packet_body_bytes(packet) / 8; i++) {
		memcpy(&is, body + 8 * i, 8);
		should = word_at(packet->offset / 8 + i, 0) * JOB +
			 JOB * (JOB - 1) / 2;
		module->wrong |= is != should;
	}
	module->offset += packet->bytes;
	if (packet->flags & BGDMA_PACKET_LAST) {
		module->offset = 0;
		module->sums++;
	}
	return 0;
}

static void on_trouble(void *arg, const struct bgdma_trouble_info *info)
{
	struct modules *all = arg;

	if (info->trouble == BGDMA_TROUBLE_PEER_DOWN)
		return;
	all->trouble = *info;
	all->troubles++;
}

static int modules_register(struct modules *all)
{
	uint32_t i;

	for (i = 0; i < MODULES; i++) {
		struct module *module = &all->module[i];
		const char *name = i == BLUE ? "blue" : "green";

		module->which = i;
		require_is(0, bgdma_operation_register(all->m.ep,
				&(struct bgdma_operation_attr){ .module = name,
				.name = "note", .packet = on_note,
				.arg = module }, &module->note));
		require_is(0, bgdma_operation_register(all->m.ep,
				&(struct bgdma_operation_attr){ .module = name,
				.name = "sum", .packet = on_sum, .arg = module,
				.type = BGDMA_COLLECTIVE }, &module->sum));
	}
	return 0;
}

static int modules_open(struct modules *all)
{
	const struct bgdma_endpoint_attr attr = { .trouble = on_trouble,
						  .arg = all };
	int64_t *words;
	uint64_t i;

	memset(all, 0, sizeof(*all));
	require_is(0, member_open(&all->m, &attr));
	require_is(0, modules_register(all));
	require_is(-ENOTCONN, bgdma_network_open(all->m.ep,
			&(struct bgdma_network_attr){ .number = NUMBER },
			&all->net));
	require_is(0, bgdma_endpoint_commit(all->m.ep, NULL));
	require_is(0, bgdma_region_alloc(bgdma_endpoint_ctx(all->m.ep), LONG,
			BGDMA_LOCAL_READ | BGDMA_LOCAL_WRITE, &all->region));
	words = bgdma_region_addr(all->region);
	for (i = 0; i < LONG / 8; i++)
		words[i] = word_at(i, bgdma_endpoint_rank(all->m.ep));
	require_is(0, bgdma_network_open(all->m.ep,
			&(struct bgdma_network_attr){ .number = NUMBER },
			&all->net));
	require_is(0, bgdma_job_fence(all->m.job));
	return 0;
}

static int modules_close(struct modules *all)
{
	require_is(0, bgdma_network_error(all->net, NULL));
	require_is(0, bgdma_job_fence(all->m.job));
	bgdma_network_close(all->net);
	return member_close(&all->m);
}

static int sum_begin(struct modules *all, uint32_t which, uint64_t round,
		     uint64_t length)
{
	int ret;

	while ((ret = bgdma_network_combine(all->net,
			&(struct bgdma_combine_attr){
			.op = BGDMA_OP_TREE_ALLREDUCE,
			.operation = all->module[which].sum, .dispatch = SUM,
			.length = length, .word = round,
			.from = { all->region, 0 } })) == -EAGAIN)
		require(bgdma_endpoint_progress(all->m.ep, 0) >= 0);
	return ret;
}

static int note_send(struct modules *all, uint32_t which, uint32_t dest)
{
	char note[64];
	size_t n = note_write(note, sizeof(note), which,
			      bgdma_endpoint_rank(all->m.ep));
	int ret;

	while ((ret = bgdma_network_send(all->net, &(struct bgdma_member_attr){
			.operation = all->module[which].note, .dest = dest,
			.word = which + 70, .length = n, .data = note })) ==
	       -EAGAIN)
		require(bgdma_endpoint_progress(all->m.ep, 0) >= 0);
	return ret;
}

static bool all_came(void *arg)
{
	const struct modules *all = arg;
	uint32_t i;

	for (i = 0; i < MODULES; i++)
		if (all->module[i].sums < ROUNDS ||
		    all->module[i].notes < (uint64_t)ROUNDS * JOB)
			return false;
	return true;
}

static bool never(void *arg)
{
	(void)arg;
	return false;
}

/* ---- Two modules -------------------------------------------------------- */

static int both(uint32_t rank, uint32_t size, void *arg)
{
	static struct modules all;
	uint32_t round, dest, i;

	(void)rank;
	(void)arg;
	require_is(0, modules_open(&all));
	for (round = 0; round < ROUNDS; round++) {
		for (i = 0; i < MODULES; i++) {
			require_is(0, sum_begin(&all, i, round,
						(round + i) % 2 ? LONG : 8));
			for (dest = 0; dest < size; dest++)
				require_is(0, note_send(&all, i, dest));
		}
	}
	require_is(0, member_until(&all.m, all_came, &all));
	for (i = 0; i < MODULES; i++) {
		require_is(ROUNDS, all.module[i].sums);
		require_is(ROUNDS * JOB, all.module[i].notes);
		require(!all.module[i].wrong);
	}
	require_is(0, all.troubles);
	return modules_close(&all);
}

TEST(dp3_dp5_two_modules_on_one_tree)
{
	partition_new("8x1x1", "");
	EXPECT_TRUE(job_run(JOB, both, NULL, -1));
}

/* A callback that does not take it yet holds up the tree, and loses nothing. */
static int refuses(uint32_t rank, uint32_t size, void *arg)
{
	static struct modules all;
	uint32_t round;

	(void)size;
	(void)arg;
	require_is(0, modules_open(&all));
	all.module[BLUE].refuse = rank == 2 ? 500 : 0;
	for (round = 0; round < ROUNDS; round++)
		require_is(0, sum_begin(&all, BLUE, round, LONG));
	while (all.module[BLUE].sums < ROUNDS)
		require(bgdma_endpoint_progress(all.m.ep, 0) >= 0);
	require(!all.module[BLUE].wrong && !all.module[BLUE].refuse);
	return modules_close(&all);
}

TEST(dp4_who_does_not_take_it_yet)
{
	partition_new("8x1x1", "");
	EXPECT_TRUE(job_run(JOB, refuses, NULL, -1));
}

/* ---- Waits --------------------------------------------------------------- */

static bool sum_came(void *arg)
{
	const struct modules *all = arg;

	return all->module[BLUE].sums;
}

/* What has ended is over: the next wait sleeps until there is something. */
static int quiet(uint32_t rank, uint32_t size, void *arg)
{
	static struct modules all;
	struct bgdma_endpoint_stats before, after;
	unsigned int i = 0;

	(void)rank;
	(void)size;
	(void)arg;
	require_is(0, modules_open(&all));
	require_is(0, sum_begin(&all, BLUE, 0, 8));
	require_is(0, member_until(&all.m, sum_came, &all));
	while (i++ < 100 &&
	       bgdma_endpoint_wait(all.m.ep, 100000000) != -ETIMEDOUT)
		;
	bgdma_endpoint_stats(all.m.ep, &before);
	require_is(-ETIMEDOUT, bgdma_endpoint_wait_until(all.m.ep, never, NULL,
							 BGDMA_SLEEP,
							 500000000));
	bgdma_endpoint_stats(all.m.ep, &after);
	require(after.sleeps <= before.sleeps + 2);
	return modules_close(&all);
}

TEST(dp3_a_wait_after_a_collective_sleeps)
{
	partition_new("8x1x1", "");
	EXPECT_TRUE(job_run(JOB, quiet, NULL, -1));
}

#define AHEAD	100		/* reduces, more than there is room for */

static bool sums_came(void *arg)
{
	const struct modules *all = arg;

	return all->module[BLUE].sums == AHEAD;
}

/* Who is told that there is no room sleeps until there is some. */
static int ahead(uint32_t rank, uint32_t size, void *arg)
{
	static struct modules all;
	struct bgdma_combine_attr sum = {
		.op = BGDMA_OP_TREE_REDUCE, .dispatch = SUM, .length = 8,
	};
	unsigned int i;
	int ret;

	(void)size;
	(void)arg;
	require_is(0, modules_open(&all));
	sum.operation = all.module[BLUE].sum;
	sum.from.region = all.region;
	/* The root is slow. */
	if (!rank)
		usleep(1000000);
	for (i = 0; i < AHEAD; i++) {
		while ((ret = bgdma_network_combine(all.net, &sum)) == -EAGAIN)
			require_is(0, bgdma_endpoint_wait(all.m.ep,
					(int64_t)PATIENCE_NS));
		require_is(0, ret);
	}
	if (!rank)
		require_is(0, member_until(&all.m, sums_came, &all));
	return modules_close(&all);
}

TEST(dp4_who_is_ahead_in_a_collective_sleeps_until_there_is_room)
{
	partition_new("8x1x1", "");
	EXPECT_TRUE(job_run(2, ahead, NULL, -1));
}

/* ---- What is no good ---------------------------------------------------- */

static bool a_trouble_came(void *arg)
{
	return ((const struct modules *)arg)->troubles;
}

static bool a_note_came(void *arg)
{
	return ((const struct modules *)arg)->module[BLUE].notes;
}

/* A message whose payload is just these bytes. */
static int raw_send(struct modules *all, struct bgdma_inj_fifo *fifo,
		    const void *bytes, uint64_t length)
{
	memcpy(bgdma_region_addr(all->region), bytes, length);
	require_is(0, bgdma_tree_send(fifo, &(struct bgdma_tree_send_attr){
			.number = NUMBER, .rank = 1, .length = length,
			.from = { all->region, 0 } }));
	require_is(0, bgdma_inj_wait(fifo, bgdma_inj_next(fifo) - 1,
				     BGDMA_SLEEP, -1));
	return 0;
}

static int forges(uint32_t rank, uint32_t size, void *arg)
{
	static const uint32_t unknown[] = { 0x1234567, 0 };
	static const struct {
		uint32_t length, operation;
	} forged[] = { { 8, 0x1234567 }, { 4, 0 }, { 0, 0 } };
	static struct modules all;
	struct bgdma_inj_fifo *fifo;
	uint32_t i;

	(void)size;
	(void)arg;
	require_is(0, modules_open(&all));
	require_is(0, bgdma_inj_create(bgdma_endpoint_ctx(all.m.ep), NULL,
				       &fifo));
	for (i = 0; i < 3; i++) {
		if (!rank) {
			require_is(0, raw_send(&all, fifo, unknown,
					       forged[i].length));
			require_is(0, note_send(&all, BLUE, 1));
		} else if (rank == 1) {
			/* What is behind it comes as if nothing were. */
			require_is(0, member_until(&all.m, a_trouble_came,
						   &all));
			require_is(0, member_until(&all.m, a_note_came, &all));
			require_is(BGDMA_TROUBLE_UNKNOWN, all.trouble.trouble);
			require_is(0, all.trouble.rank);
			require_is(BGDMA_POINT_TO_POINT, all.trouble.type);
			require_is(forged[i].operation, all.trouble.operation);
			require_is(1, all.troubles);
			require(!all.module[BLUE].wrong);
			all.module[BLUE].notes = 0;
			all.troubles = 0;
		}
		require_is(0, bgdma_job_fence(all.m.job));
	}
	bgdma_inj_destroy(fifo);
	return modules_close(&all);
}

TEST(dp9_unknown_identifiers_at_the_head)
{
	partition_new("8x1x1", "");
	EXPECT_TRUE(job_run(2, forges, NULL, -1));
}

static int bad(uint32_t rank, uint32_t size, void *arg)
{
	static struct modules all;
	struct bgdma_network_attr attr = { .number = NUMBER - 1 };
	struct bgdma_combine_attr combine;
	const uint32_t twice[] = { 0, 0 }, nobody[] = { 0, 7 }, other[] = { 1 };
	struct bgdma_member_attr note;
	struct bgdma_network *net;
	char data[1] = "";

	(void)rank;
	(void)size;
	(void)arg;
	require_is(0, modules_open(&all));
	attr.number = NUMBER;
	require_is(-EEXIST, bgdma_network_open(all.m.ep, &attr, &net));
	attr.number = BGDMA_CLASSES_MAX;
	require_is(-EINVAL, bgdma_network_open(all.m.ep, &attr, &net));
	attr = (struct bgdma_network_attr){ .members = twice, .member_count = 2 };
	require_is(-EINVAL, bgdma_network_open(all.m.ep, &attr, &net));
	attr.members = nobody;
	require_is(-EINVAL, bgdma_network_open(all.m.ep, &attr, &net));
	attr.members = other;
	attr.member_count = 1;
	require_is(-EINVAL, bgdma_network_open(all.m.ep, &attr, &net));
	note = (struct bgdma_member_attr){ .operation = all.module[BLUE].note,
					   .dest = 1 };
	require_is(-EINVAL, bgdma_network_send(all.net, &note));
	note.dest = 0;
	note.operation = all.module[BLUE].sum;
	require_is(-EINVAL, bgdma_network_send(all.net, &note));
	note.operation = all.module[BLUE].note;
	note.length = BGDMA_MEMBER_MAX + 1;
	require_is(-EINVAL, bgdma_network_send(all.net, &note));
	note.data = data;
	require_is(-EMSGSIZE, bgdma_network_send(all.net, &note));
	combine = (struct bgdma_combine_attr){ .op = BGDMA_OP_PUT,
			.operation = all.module[BLUE].sum, .dispatch = SUM };
	require_is(-EINVAL, bgdma_network_combine(all.net, &combine));
	combine.op = BGDMA_OP_TREE_ALLREDUCE;
	combine.operation = all.module[BLUE].note;
	require_is(-EINVAL, bgdma_network_combine(all.net, &combine));
	combine.operation = all.module[BLUE].sum;
	combine.length = BGDMA_LENGTH_MAX + 1ULL;
	require_is(-EMSGSIZE, bgdma_network_combine(all.net, &combine));
	bgdma_network_close(NULL);
	return modules_close(&all);
}

TEST(dp6_what_is_refused)
{
	partition_new("1x1x1", "");
	EXPECT_TRUE(job_run(1, bad, NULL, -1));
}

/* ---- Ends --------------------------------------------------------------- */

static bool is_broken(void *arg)
{
	return bgdma_network_error(((const struct modules *)arg)->net, NULL);
}

/* The last dies where all but it have contributed. */
static int dies(uint32_t rank, uint32_t size, void *arg)
{
	static struct modules all;
	struct bgdma_record why;

	(void)arg;
	require_is(0, modules_open(&all));
	if (rank == size - 1)
		raise(SIGKILL);
	require_is(0, sum_begin(&all, GREEN, 0, 8));
	require_is(0, member_until(&all.m, is_broken, &all));
	require_is(BGDMA_E_PEER_DOWN, bgdma_network_error(all.net, &why));
	require_is(bgdma_endpoint_peer(all.m.ep, size - 1)->node, why.peer_rank);
	require_is(-EIO, sum_begin(&all, GREEN, 1, 8));
	require_is(0, all.module[GREEN].sums);
	bgdma_network_close(all.net);
	return member_leave(&all.m);
}

TEST(x3_a_member_that_dies)
{
	partition_new("8x1x1", "");
	EXPECT_TRUE(job_run(JOB, dies, NULL, JOB - 1));
}

/* Members that mean another module's operation: all hear of it. */
static int differs(uint32_t rank, uint32_t size, void *arg)
{
	static struct modules all;

	(void)size;
	(void)arg;
	require_is(0, modules_open(&all));
	require_is(0, sum_begin(&all, rank == 1 ? GREEN : BLUE, 0, 8));
	require_is(0, member_until(&all.m, is_broken, &all));
	require_is(BGDMA_E_TREE_MISMATCH, bgdma_network_error(all.net, NULL));
	require_is(0, all.module[BLUE].sums + all.module[GREEN].sums);
	require_is(0, bgdma_job_fence(all.m.job));
	bgdma_network_close(all.net);
	return member_close(&all.m);
}

TEST(dp3_members_that_mean_another_operation)
{
	partition_new("8x1x1", "");
	EXPECT_TRUE(job_run(JOB, differs, NULL, -1));
}

TEST_HARNESS_MAIN
