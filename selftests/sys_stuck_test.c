// SPDX-License-Identifier: GPL-2.0
/*
 * What one message does is not to hurt others.
 */
#include "kselftest_harness.h"
#include "sys_module.h"

#define BIG	(32U << 20)
#define REFUSED	5

/*
 * A message that cannot be fetched, between one that takes its time and some
 * that are refused: their origin is told all the same.
 */
static int refusals(uint32_t rank, uint32_t size, void *arg)
{
	static struct module module;
	static uint8_t big[BIG] PINNED, mem[64];
	struct bgdma_region *region;
	uint32_t i;

	(void)size;
	(void)arg;
	require_is(0, module_open(&module, (struct bgdma_endpoint_attr){ 0 }));
	if (rank == 0) {
		require_is(0, bgdma_region_register(
				bgdma_endpoint_ctx(module.m.ep), mem,
				sizeof(mem), BGDMA_LOCAL_READ, &region));
		require_is(0, announce(&module, (struct bgdma_rendezvous_attr){
				.dest = 1, .word = 0, .length = BIG,
				.data = big }));
		require_is(0, announce(&module, (struct bgdma_rendezvous_attr){
				.dest = 1, .word = 1, .length = sizeof(mem),
				.from = { region, 0 } }));
		for (i = 0; i < REFUSED; i++)
			require_is(0, announce(&module,
				(struct bgdma_rendezvous_attr){
				.dest = 1, .word = 2 + i, .length = 64,
				.data = mem }));
		require_is(0, bgdma_region_free(region));
	} else {
		require_is(0, until_count(&module, &module.announced,
					  2 + REFUSED));
	}
	require_is(0, bgdma_job_fence(module.m.job));
	if (rank == 1) {
		require_is(0, take(&module, 0, (struct bgdma_accept_attr){
				.length = BIG, .data = big }));
		require_is(0, take(&module, 1, (struct bgdma_accept_attr){
				.length = 64, .data = mem }));
		for (i = 0; i < REFUSED; i++)
			require_is(0, bgdma_rendezvous_refuse(module.m.ep,
						&module.kept[2 + i]));
	}
	require_is(0, until_count(&module, &module.ended,
				  rank ? 2 : 2 + REFUSED));
	return member_close(&module.m);
}

TEST(lc3_a_refusal_behind_a_failure_arrives)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, refusals, NULL, -1));
}

/* ---- A cut that finds no room ------------------------------------------ */

static int nothing(void *arg, uint32_t rank, const struct bgdma_packet *packet)
{
	(void)arg;
	(void)rank;
	(void)packet;
	return 0;
}

/* A message of 0 to 1 fails when 1 has no room to say so, because of 2. */
static int no_room(uint32_t rank, uint32_t size, void *arg)
{
	static struct module module;
	static uint8_t mem[64];
	uint32_t control;
	const struct test_operation ops[] = {
		{ "rts", on_rts, 0, &module.rts },
		{ "eager", on_eager, 0, &module.eager },
		{ "control", nothing, BGDMA_OPERATION_CONTROL, &control },
	};
	struct bgdma_endpoint_attr attr = {
		.channels = 1, .trouble = on_trouble, .arg = &module,
	};
	struct bgdma_region *region;
	volatile bool *go = arg;
	uint32_t i;
	int ret;

	(void)size;
	require_is(0, member_open(&module.m, &attr));
	require_is(0, member_commit(&module.m, ops, 3, &module));
	if (rank == 0) {
		require_is(0, bgdma_region_register(
				bgdma_endpoint_ctx(module.m.ep), mem,
				sizeof(mem), BGDMA_LOCAL_READ, &region));
		require_is(0, announce(&module, (struct bgdma_rendezvous_attr){
				.dest = 1, .word = 0, .length = sizeof(mem),
				.from = { region, 0 } }));
		require_is(0, bgdma_region_free(region));
	} else if (rank == 1) {
		require_is(0, until_count(&module, &module.announced, 1));
	}
	require_is(0, bgdma_job_fence(module.m.job));
	if (rank == 1) {
		require_is(0, take(&module, 0, (struct bgdma_accept_attr){
				.length = 64, .data = mem }));
		usleep(100000);
		/* Until the channel is full, and stays so. */
		for (i = 0; i < 50; i++) {
			while (!(ret = bgdma_endpoint_send(module.m.ep,
					&(struct bgdma_send_attr){
					.operation = control, .dest = 2 })))
				;
			require_is(-EAGAIN, ret);
			usleep(2000);
		}
		require(bgdma_endpoint_progress(module.m.ep, 0) >= 0);
		*go = true;
	}
	if (rank == 2) {
		for (i = 0; i < 3000 && !*go; i++)
			usleep(1000);
		require(*go);
	}
	if (rank < 2)
		require_is(0, until_count(&module, &module.ended, 1));
	return member_close(&module.m);
}

TEST(lc3_a_cut_without_room_waits_without_spinning)
{
	partition_new("3x1x1", "");
	EXPECT_TRUE(job_run(3, no_room, shared(sizeof(bool)), -1));
}

/* ---- One that does not listen ------------------------------------------- */

/*
 * 0 fills the control way of 2, which makes no progress, and has messages with 1
 * meanwhile, which is in another channel: of both ways, whole and in portions.
 */
static int deaf(uint32_t rank, uint32_t size, void *arg)
{
	static struct module module;
	static uint8_t from[50000] PINNED, to[50000] PINNED;
	struct bgdma_endpoint_attr attr = {
		.channels = 2, .control_bytes = BGDMA_REC_BYTES_MIN,
		.trouble = on_trouble, .arg = &module,
	};
	uint32_t control, i;
	const struct test_operation ops[] = {
		{ "rts", on_rts, 0, &module.rts },
		{ "eager", on_eager, 0, &module.eager },
		{ "control", nothing, BGDMA_OPERATION_CONTROL, &control },
	};
	volatile bool *over = arg;
	unsigned int vain = 0;
	int ret;

	(void)size;
	require_is(0, member_open(&module.m, &attr));
	require_is(0, member_commit(&module.m, ops, 3, &module));
	while (rank == 0 && vain < 100) {
		ret = bgdma_endpoint_send(module.m.ep, &(struct bgdma_send_attr){
				.operation = control, .dest = 2 });
		vain = ret ? vain + 1 : 0;
		usleep(ret ? 1000 : 0);
	}
	require_is(0, bgdma_job_fence(module.m.job));
	for (i = 0; rank < 2 && i < 4; i++) {
		message_fill(from, sizeof(from), i);
		require_is(0, announce(&module, (struct bgdma_rendezvous_attr){
				.dest = !rank, .word = i, .data = from,
				.length = sizeof(from), .portion = i & 1 ?
				1000 : BGDMA_PORTION_WHOLE }));
		require_is(0, take_next(&module, i, (struct bgdma_accept_attr){
				.length = sizeof(to), .data = to }));
		require_is(0, until_count(&module, &module.done, 2 * i + 2));
		require(message_is(to, sizeof(to), i));
	}
	if (rank == 0)
		*over = true;
	require(rank < 2 || until(*over));
	/* All that waited goes now. */
	while (rank == 2 && bgdma_endpoint_progress(module.m.ep, 0) > 0)
		;
	return member_close(&module.m);
}

TEST(lc4_who_does_not_listen_holds_up_its_channel_only)
{
	partition_new("3x1x1", "");
	EXPECT_TRUE(job_run(3, deaf, shared(sizeof(bool)), -1));
}

/* ---- A chain that is given up half way to its start ---------------------- */

#define HALFWAY	40U

struct halfway {
	volatile unsigned int let, taken;	/* packets, by 2 */
	volatile bool over;
};

/*
 * Fill the channel to 2, and have 2 make room for so many: of the largest packets,
 * so that each that is taken lets one more go.
 */
static int channel_room(struct module *module, uint32_t control,
			struct halfway *h, unsigned int room)
{
	static char largest[BGDMA_PACKET_MAX];
	int ret;

	while (!(ret = bgdma_endpoint_send(module->m.ep,
			&(struct bgdma_send_attr){
			.operation = control, .dest = 2, .data = largest,
			.length = sizeof(largest) })))
		;
	require_is(-EAGAIN, ret);
	h->let += room;
	require(until(h->taken == h->let));
	/* For the engine, which goes on. */
	usleep(2000);
	return 0;
}

/*
 * 1 answers 0 by chains and gives them up at once, while its channel has room for
 * a descriptor or two, since 2 takes what it is sent one by one: so some have
 * filled in the origin's descriptors, and have not started.
 */
static int halfway(uint32_t rank, uint32_t size, void *arg)
{
	static struct module module;
	static uint8_t mem[HALFWAY][1000] PINNED;
	uint32_t control, i, id;
	const struct test_operation ops[] = {
		{ "rts", on_rts, 0, &module.rts },
		{ "eager", on_eager, 0, &module.eager },
		{ "control", nothing, BGDMA_OPERATION_CONTROL, &control },
	};
	struct bgdma_endpoint_attr attr = {
		.channels = 1, .entries = 16,
		.control_bytes = BGDMA_REC_BYTES_MIN,
		.trouble = on_trouble, .arg = &module,
	};
	struct halfway *h = arg;

	(void)size;
	require_is(0, member_open(&module.m, &attr));
	require_is(0, member_commit(&module.m, ops, 3, &module));
	module.regions = regions_seen(module.m.ep);
	for (i = 0; rank == 0 && i < HALFWAY; i++)
		require_is(0, announce(&module, (struct bgdma_rendezvous_attr){
				.dest = 1, .word = i, .length = sizeof(mem[i]),
				.portion = 100, .data = mem[i] }));
	if (rank == 1)
		require_is(0, until_count(&module, &module.announced, HALFWAY));
	require_is(0, bgdma_job_fence(module.m.job));
	for (i = 0; rank == 1 && i < HALFWAY; i++) {
		require_is(0, channel_room(&module, control, h, i % 4));
		require_is(0, take(&module, i, (struct bgdma_accept_attr){
				.length = sizeof(mem[i]), .data = mem[i],
				.id = &id }));
		require_is(0, bgdma_rendezvous_cancel(module.m.ep, id));
		require(bgdma_endpoint_progress(module.m.ep, 0) >= 0);
	}
	while (rank == 2 && !h->over)
		if (h->taken < h->let)
			h->taken += bgdma_endpoint_progress(module.m.ep, 1) > 0;
	if (rank == 1)
		h->let = UINT32_MAX;
	if (rank < 2)
		require_is(0, until_count(&module, &module.ended, HALFWAY));
	if (rank == 1)
		h->over = true;
	require_is(0, bgdma_job_fence(module.m.job));
	return module_close(&module);
}

TEST(lc2_a_chain_that_has_not_started_is_given_up)
{
	partition_new("3x1x1", "");
	EXPECT_TRUE(job_run(3, halfway, shared(sizeof(struct halfway)), -1));
}

/* ---- A late stop ------------------------------------------------------- */

/* A cancel that came too late ends no later message that has the same token. */
static int late(uint32_t rank, uint32_t size, void *arg)
{
	static struct module module;
	static uint8_t mem[4][64];
	volatile bool *go = arg;
	uint32_t id[3] = { 0 }, i;

	(void)size;
	require_is(0, module_open(&module, (struct bgdma_endpoint_attr){ 0 }));
	if (rank == 0)
		require_is(0, announce(&module, (struct bgdma_rendezvous_attr){
				.dest = 1, .word = 0, .length = 64,
				.data = mem[0], .id = &id[0] }));
	if (rank == 1) {
		require_is(0, take_next(&module, 0, (struct bgdma_accept_attr){
				.length = 64, .data = mem[0] }));
		require_is(0, until_count(&module, &module.ended, 1));
	}
	require_is(0, bgdma_job_fence(module.m.job));
	if (rank == 1) {
		while (!*go)
			usleep(1000);
		/* The stop is answered first. */
		for (i = 0; i < 200; i++) {
			usleep(1000);
			bgdma_endpoint_progress(module.m.ep, 0);
		}
		for (i = 1; i <= 2; i++)
			require_is(0, take_next(&module, i,
					(struct bgdma_accept_attr){
					.length = 64, .data = mem[i] }));
		require_is(0, until_count(&module, &module.ended, 3));
		require_is(3, module.done.is);
		return member_close(&module.m);
	}
	require_is(0, bgdma_rendezvous_cancel(module.m.ep, id[0]));
	require_is(0, until_count(&module, &module.ended, 1));
	require_is(1, module.done.is);
	for (i = 0; i < 254; i++) {
		require_is(0, announce(&module, (struct bgdma_rendezvous_attr){
				.dest = 0, .word = i, .length = 64,
				.data = mem[1] }));
		require_is(0, take_next(&module, i, (struct bgdma_accept_attr){
				.length = 64, .data = mem[2] }));
		require_is(0, until_count(&module, &module.ended,
					  1 + 2 * (i + 1)));
	}
	for (i = 1; i <= 2; i++)
		require_is(0, announce(&module, (struct bgdma_rendezvous_attr){
				.dest = 1, .word = i, .length = 64,
				.data = mem[i], .id = &id[i] }));
	*go = true;
	require_is(0, until_count(&module, &module.ended, 1 + 2 * 254 + 2));
	require_is(1 + 2 * 254 + 2, module.done.is);
	return member_close(&module.m);
}

TEST(lc2_a_late_cancel_ends_no_later_message)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, late, shared(sizeof(bool)), -1));
}

/* ---- Stops of messages that are far apart -------------------------------- */

#define APART	32768U	/* serials of which as many are remembered */

enum { FIRST, BETWEEN, LAST };	/* words */

struct apart {
	struct module module;
	volatile bool *over;		/* the origin has been told of all */
	struct bgdma_rts kept[3];
	unsigned int refused;
};

/* Those in between are refused at once. */
static int on_apart(void *arg, uint32_t rank, const struct bgdma_packet *packet)
{
	struct apart *a = arg;
	struct bgdma_rts rts;
	int ret = bgdma_rts_read(&rts, rank, packet);

	if (ret)
		return ret;
	if (rts.word != BETWEEN) {
		a->kept[rts.word] = rts;
		a->module.announced.is++;
		return 0;
	}
	a->refused++;
	return bgdma_rendezvous_refuse(a->module.m.ep, &rts);
}

/* Announce one of them, and give it up. */
static int offer_and_stop(struct apart *a, struct bgdma_region *region,
			  uint64_t word)
{
	struct module *module = &a->module;
	uint64_t before = module->ended.is;
	uint32_t id;

	require_is(0, announce(module, (struct bgdma_rendezvous_attr){
			.dest = 1, .word = word, .length = 64,
			.from = { region, 0 }, .id = &id }));
	require_is(0, bgdma_rendezvous_cancel(module->m.ep, id));
	require_is(0, until_count(module, &module->ended, before + 1));
	require_is(-ECANCELED, module->last);
	return 0;
}

static int offer_apart(struct apart *a, uint8_t *mem)
{
	struct module *module = &a->module;
	struct bgdma_region *region;
	uint32_t i;

	require_is(0, bgdma_region_register(bgdma_endpoint_ctx(module->m.ep),
					    mem, 64, BGDMA_LOCAL_READ,
					    &region));
	require_is(0, bgdma_endpoint_expose(module->m.ep, region,
					    BGDMA_RIGHT_READ));
	require_is(0, offer_and_stop(a, region, FIRST));
	for (i = 1; i < APART; i++)
		require_is(0, announce(module, (struct bgdma_rendezvous_attr){
				.dest = 1, .word = BETWEEN, .length = 64,
				.from = { region, 0 } }));
	require_is(0, until_count(module, &module->ended, APART));
	require_is(0, offer_and_stop(a, region, LAST));
	*a->over = true;
	/* The memory stays where they are. */
	return 0;
}

static int take_apart(struct apart *a, uint8_t *mem)
{
	struct module *module = &a->module;

	require_is(0, until_count(module, &module->announced, 2));
	require_is(APART - 1, a->refused);
	require_is(APART, a->kept[LAST].serial - a->kept[FIRST].serial);
	memcpy(module->kept, a->kept, sizeof(a->kept));
	while (!*a->over)
		bgdma_endpoint_wait(module->m.ep, 1000000);
	require_is(0, take(module, FIRST, (struct bgdma_accept_attr){
			.length = 64, .data = mem }));
	require_is(0, until_count(module, &module->ended, 1));
	require_is(-ECANCELED, module->last);
	require_is(0, take(module, LAST, (struct bgdma_accept_attr){
			.length = 64, .data = mem }));
	require_is(0, until_count(module, &module->ended, 2));
	require_is(-ECANCELED, module->last);
	require_is(0xee, mem[0]);
	return 0;
}

static int apart(uint32_t rank, uint32_t size, void *arg)
{
	static struct apart a;
	static uint8_t mem[64] PINNED;
	const struct test_operation ops[] = {
		{ "rts", on_apart, 0, &a.module.rts },
	};
	const struct bgdma_endpoint_attr attr = {
		.counters = BGDMA_COUNTERS_SHARED, .trouble = on_trouble,
		.arg = &a.module,
	};

	(void)size;
	a.over = arg;
	require_is(0, member_open(&a.module.m, &attr));
	require_is(0, member_commit(&a.module.m, ops, 1, &a));
	memset(mem, 0xee, sizeof(mem));
	if (rank == 0)
		memset(mem, 0x11, sizeof(mem));
	require_is(0, rank ? take_apart(&a, mem) : offer_apart(&a, mem));
	return member_close(&a.module.m);
}

TEST(lc2_cancels_of_messages_far_apart_are_known)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, apart, shared(sizeof(bool)), -1));
}

/* ---- A module that waits for what nothing tells of ---------------------- */

#define LOOKS	5

static int looks(void *arg)
{
	unsigned int *n = arg;

	return ++*n < LOOKS ? -EAGAIN : *n == LOOKS;
}

static bool has_looked(void *arg)
{
	return *(unsigned int *)arg >= LOOKS;
}

/* While a channel waits for room, which is long in coming. */
static int looks_again(uint32_t rank, uint32_t size, void *arg)
{
	static struct module module;
	unsigned int n = LOOKS;
	const struct bgdma_module_attr work = { .work = looks, .arg = &n };
	const struct test_operation ops[] = {
		{ "eager", nothing, 0, &module.eager },
	};
	struct bgdma_send_attr send = { .dest = 1 };
	const struct bgdma_endpoint_attr attr = { .data_bytes = 16384 };
	int ret;

	(void)size;
	(void)arg;
	require_is(0, member_open(&module.m, &attr));
	require_is(0, bgdma_module_add(module.m.ep, &work));
	require_is(0, member_commit(&module.m, ops, 1, &module));
	send.operation = module.eager;
	if (rank == 0) {
		while (!(ret = bgdma_endpoint_send(module.m.ep, &send)))
			;
		require_is(-EAGAIN, ret);
		n = 0;
		require_is(0, bgdma_endpoint_wait_until(module.m.ep, has_looked,
							&n, BGDMA_SLEEP,
							(int64_t)PATIENCE_NS));
	}
	require_is(0, bgdma_job_fence(module.m.job));
	return member_close(&module.m);
}

TEST(lc2_a_module_waits_for_more_than_room)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, looks_again, NULL, -1));
}

/* ---- What was for a message that is over -------------------------------- */

struct queued {
	volatile pid_t dead;
	volatile bool told, over;
};

/* An announcement that is still to be sent, when its message has ended. */
static int announced_behind(struct module *module, struct queued *q)
{
	require(until(q->dead && kill(q->dead, 0) < 0));
	require_is(0, until_count(module, &module->ended, 1));
	require_is(-EHOSTDOWN, module->last);
	q->told = true;
	require_is(0, bgdma_endpoint_flush(module->m.ep,
					   (int64_t)PATIENCE_NS));
	/* Its own function has told, once. */
	require_is(1, module->ended.is);
	require_is(0, module->troubles);
	q->over = true;
	return 0;
}

static int over_before(uint32_t rank, uint32_t size, void *arg)
{
	static struct module module;
	static uint8_t text[128U << 10], mem[64];
	struct queued *q = arg;

	(void)size;
	require_is(0, module_open(&module, (struct bgdma_endpoint_attr){
			.channels = 1, .data_bytes = 64U << 10 }));
	if (rank == 0) {
		/* It does not fit there: what is behind it stays here. */
		require_is(0, bgdma_endpoint_send(module.m.ep,
				&(struct bgdma_send_attr){
				.operation = module.eager, .dest = 2,
				.data = text, .length = sizeof(text) }));
		require_is(0, announce(&module, (struct bgdma_rendezvous_attr){
				.dest = 1, .length = sizeof(mem),
				.data = mem }));
	}
	require_is(0, bgdma_job_fence(module.m.job));
	if (rank == 1) {
		q->dead = getpid();
		return raise(SIGKILL);
	}
	if (rank == 0)
		require_is(0, announced_behind(&module, q));
	require(until(q->told));
	while (rank == 2 && !q->over)
		require(bgdma_endpoint_progress(module.m.ep, 0) >= 0);
	return member_leave(&module.m);
}

TEST(lc3_what_was_for_a_message_that_is_over_is_not_told)
{
	struct queued *q = shared(sizeof(*q));

	partition_new("3x1x1", "");
	EXPECT_TRUE(job_run(3, over_before, q, 1));
}

TEST_HARNESS_MAIN
