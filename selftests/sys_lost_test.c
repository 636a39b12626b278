// SPDX-License-Identifier: GPL-2.0
/*
 * What nobody is told of twice: room in a channel, and events that found their
 * ring full. Who waits is woken all the same.
 */
#include "kselftest_harness.h"
#include "sys_module.h"

/* ---- Room --------------------------------------------------------------- */

struct speech {
	struct bgdma_endpoint_attr attr;
	bool more;
	volatile uint64_t sent;		/* when there was no more room */
};

static uint64_t packets(struct module *module)
{
	struct bgdma_endpoint_stats stats;

	bgdma_endpoint_stats(module->m.ep, &stats);
	return stats.packets;
}

static int say(struct module *module, bool more)
{
	return bgdma_endpoint_send(module->m.ep, &(struct bgdma_send_attr){
			.operation = module->eager, .dest = 1, .word = 1,
			.more = more });
}

/* Fill all FIFOs up to one that does not listen, then sleep until it does. */
static int speak(uint32_t rank, uint32_t size, void *arg)
{
	static struct module module;
	struct speech *speech = arg;
	struct bgdma_endpoint_attr attr = speech->attr;
	unsigned int vain = 0;
	int ret;

	(void)size;
	/* With a thread it would listen all the time. */
	if (rank == 1)
		attr.progress = BGDMA_PROGRESS_CALLER;
	require_is(0, module_open(&module, attr));
	if (rank == 1) {
		require_is(0, bgdma_job_fence(module.m.job));
		while (packets(&module) < speech->sent + 1)
			require_is(0, bgdma_endpoint_wait(module.m.ep,
							  (int64_t)PATIENCE_NS));
		return member_close(&module.m);
	}
	/* Full, and not only on its way over a link. */
	while (vain < 100) {
		ret = say(&module, speech->more);
		require(ret == 0 || ret == -EAGAIN);
		if (!ret) {
			speech->sent++;
			vain = 0;
			continue;
		}
		vain++;
		usleep(2000);
	}
	require(speech->sent >= 15);
	/* There is room for those that only wait for more. */
	if (!speech->more)
		require_is(-ETIMEDOUT, bgdma_endpoint_flush(module.m.ep, 0));
	require_is(0, bgdma_job_fence(module.m.job));
	while ((ret = say(&module, false)) == -EAGAIN)
		require_is(0, bgdma_endpoint_wait(module.m.ep,
						  (int64_t)PATIENCE_NS));
	require_is(0, ret);
	require_is(0, bgdma_endpoint_flush(module.m.ep, (int64_t)PATIENCE_NS));
	return member_close(&module.m);
}

TEST(progress_a_wait_ends_when_there_is_room)
{
	struct speech *speech = shared(sizeof(*speech));

	partition_new("2x1x1", "");
	speech->attr = (struct bgdma_endpoint_attr){
		.data_bytes = 16384, .channels = 1, .entries = 16,
	};
	EXPECT_TRUE(job_run(2, speak, speech, -1));
	speech->attr.progress = BGDMA_PROGRESS_THREAD;
	speech->sent = 0;
	EXPECT_TRUE(job_run(2, speak, speech, -1));
}

TEST(dp6_a_channel_full_of_more_drains)
{
	struct speech *speech = shared(sizeof(*speech));

	partition_new("2x1x1", "");
	speech->more = true;
	speech->attr.entries = 16;
	speech->attr.channels = 1;
	EXPECT_TRUE(job_run(2, speak, speech, -1));
}

/* ---- Behind a message to the dead --------------------------------------- */

#define DEAD	1

struct last {
	bool leaves;			/* or waits, and makes no progress */
	volatile pid_t dead;
	volatile bool heard;
};

/* One channel for both: the first message stops it. */
static int last_words(struct module *module, struct last *last)
{
	require(until(kill(last->dead, 0) < 0));
	require_is(0, say(module, false));
	require_is(0, bgdma_endpoint_send(module->m.ep,
			&(struct bgdma_send_attr){
			.operation = module->eager, .dest = 2, .word = 1 }));
	if (last->leaves)
		return 0;
	require_is(0, bgdma_endpoint_flush(module->m.ep, (int64_t)PATIENCE_NS));
	require(until(last->heard));
	return 0;
}

static int behind(uint32_t rank, uint32_t size, void *arg)
{
	static struct module module;
	struct last *last = arg;

	(void)size;
	require_is(0, module_open(&module, (struct bgdma_endpoint_attr){
			.channels = 1 }));
	if (rank == DEAD) {
		last->dead = getpid();
		require_is(0, bgdma_job_fence(module.m.job));
		return raise(SIGKILL);
	}
	require_is(0, bgdma_job_fence(module.m.job));
	if (rank == 0)
		require_is(0, last_words(&module, last));
	while (rank == 2 && !module.eager_word)
		require_is(0, bgdma_endpoint_wait(module.m.ep,
						  (int64_t)PATIENCE_NS));
	last->heard = rank == 2;
	return member_leave(&module.m);
}

TEST(x3_a_message_behind_one_to_the_dead_arrives)
{
	struct last *last = shared(sizeof(*last));

	partition_new("3x1x1", "");
	EXPECT_TRUE(job_run(3, behind, last, DEAD));
	*last = (struct last){ .leaves = true };
	EXPECT_TRUE(job_run(3, behind, last, DEAD));
}

/* ---- Who dies with his kernel ------------------------------------------- */

static int alone(uint32_t rank, uint32_t size, void *arg)
{
	static struct module module;
	struct bgdma_endpoint_stats stats;
	int ret;

	(void)size;
	(void)arg;
	require_is(0, module_open(&module, (struct bgdma_endpoint_attr){ 0 }));
	require_is(0, bgdma_job_fence(module.m.job));
	if (rank == DEAD) {
		links_enter(rank);
		require_is(0, partition("del", PARTITION, ""));
		return raise(SIGKILL);
	}
	do {
		ret = bgdma_endpoint_wait(module.m.ep, 20000000);
		require(ret == 0 || ret == -ETIMEDOUT);
		bgdma_endpoint_stats(module.m.ep, &stats);
	} while (!stats.trouble[BGDMA_TROUBLE_PEER_DOWN]);
	require_is(1, stats.trouble[BGDMA_TROUBLE_PEER_DOWN]);
	return member_leave(&module.m);
}

TEST(x3_who_never_spoke_dies_with_his_kernel)
{
	partition_new("2x1x1", "");
	if (!links_used())
		SKIP(return, "needs links: there is one kernel");
	EXPECT_TRUE(job_run(2, alone, NULL, DEAD));
}

/* ---- Events ------------------------------------------------------------ */

struct flood {
	uint64_t portion;
	bool over, asked;
	volatile bool full, done;
};

/* Descriptors that the other refuses: each makes an event there, and one here. */
static int flood(struct module *module, const struct flood *f)
{
	struct bgdma_ctx *ctx = bgdma_endpoint_ctx(module->m.ep);
	const struct bgdma_peer *to = bgdma_endpoint_peer(module->m.ep, 1);
	struct bgdma_transfer t = bgdma__no_transfer();
	struct bgdma_inj_fifo *fifo;
	struct bgdma_region *region;

	require_is(0, bgdma_inj_create(ctx, NULL, &fifo));
	require_is(0, bgdma_region_alloc(ctx, 4096, BGDMA_LOCAL_READ, &region));
	t.from.region = 12345;
	bgdma_desc_local_copy(bgdma_region_addr(region), &t);
	while (!f->full || !bgdma_events_lost(ctx)) {
		require_is(0, bgdma_rget(fifo, &(struct bgdma_rget_attr){
				.dest = to->node, .dest_ctx = to->ctx,
				.queue = 0, .count = 1,
				.from = { region, 0 } }));
		require_is(0, bgdma_inj_wait(fifo, bgdma_inj_next(fifo),
					     BGDMA_SPIN_THEN_SLEEP,
					     (int64_t)PATIENCE_NS));
	}
	return bgdma_region_free(region);
}

/*
 * And the next crosses. Over a link what was refused of the first may still be on its
 * way, and take a descriptor of a chain along: that ends at both, by name.
 */
static int next_is_well(struct module *module, const struct flood *f,
			uint8_t *mem, uint64_t bytes)
{
	uint32_t i = 0;

	do {
		i++;
		require(i < 10);
		if (module->m.rank == 0) {
			require_is(0, announce(module,
					(struct bgdma_rendezvous_attr){
					.dest = 1, .word = i, .length = bytes,
					.portion = f->portion, .data = mem }));
		} else {
			require_is(0, until_count(module, &module->announced,
						  i + 1));
			require_is(0, take(module, i,
					   (struct bgdma_accept_attr){
					   .length = bytes, .data = mem }));
		}
		require_is(0, until_count(module, &module->ended, i + 1));
		require(!module->last || (f->portion &&
					  module->last == -ECONNABORTED));
	} while (module->last);
	return 0;
}

/* The event that tells of a refusal finds no room. */
static int missed(uint32_t rank, uint32_t size, void *arg)
{
	static struct module module;
	static uint8_t mem[60000];
	struct flood *f = arg;
	struct bgdma_region *region;
	struct bgdma_ctx *ctx;
	uint64_t lost;

	(void)size;
	require_is(0, module_open(&module, (struct bgdma_endpoint_attr){
			.counters = BGDMA_COUNTERS_SHARED }));
	ctx = bgdma_endpoint_ctx(module.m.ep);
	if (rank == 0) {
		require_is(0, bgdma_region_register(ctx, mem, sizeof(mem),
				BGDMA_LOCAL_READ, &region));
		require_is(0, bgdma_endpoint_expose(module.m.ep, region,
						    BGDMA_RIGHT_READ));
		require_is(0, announce(&module, (struct bgdma_rendezvous_attr){
				.dest = 1, .portion = f->portion,
				.length = sizeof(mem),
				.from = { region, 0 } }));
		require_is(0, bgdma_region_free(region));
		require_is(0, bgdma_job_fence(module.m.job));
		require_is(0, flood(&module, f));
		require(bgdma_events_lost(ctx) > 0);
		require_is(0, bgdma_job_fence(module.m.job));
		/* Nor does it hear, until it is too late. */
		require(until(f->done));
	} else {
		require_is(0, until_count(&module, &module.announced, 1));
		require_is(0, bgdma_job_fence(module.m.job));
		require(until(bgdma_events_lost(ctx) > 0));
		f->full = true;
		require_is(0, bgdma_job_fence(module.m.job));
		lost = bgdma_events_lost(ctx);
		require_is(0, take(&module, 0, (struct bgdma_accept_attr){
				.length = sizeof(mem), .data = mem }));
		require(until(bgdma_events_lost(ctx) > lost));
		f->done = true;
	}
	require_is(0, until_count(&module, &module.ended, 1));
	require(module.last);
	require_is(0, next_is_well(&module, f, mem, sizeof(mem)));
	return module_close(&module);
}

TEST(lc3_no_lost_event_leaves_a_message_hanging)
{
	struct flood *f = shared(sizeof(*f));

	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, missed, f, -1));
	*f = (struct flood){ .portion = 10000 };
	EXPECT_TRUE(job_run(2, missed, f, -1));
}

/*
 * The target asks how far the chain is, and looks at an answer, and asks again,
 * when the origin has forgotten it: the refusal comes before it sees the end.
 */
static int look_away(struct module *module, struct flood *f)
{
	uint64_t before = packets(module);

	while (packets(module) < before + 3 && !module->ended.is)
		bgdma_endpoint_progress(module->m.ep, 0);
	f->asked = !module->ended.is;
	require(until(f->done));
	while (!module->ended.is) {
		bgdma_endpoint_progress(module->m.ep, 1);
		usleep(2000);
	}
	return 0;
}

/* How long a chain is that others meet in the middle: over a link each step is slow. */
static uint64_t chain_bytes(uint64_t bytes)
{
	return links_used() ? bytes / 10 : bytes;
}

/* A third process makes the events; a chain of the two others goes on. */
static int unhurt(uint32_t rank, uint32_t size, void *arg)
{
	static struct module module;
	static uint8_t mem[4000000];
	uint64_t bytes = chain_bytes(sizeof(mem));
	struct flood *f = arg;
	struct bgdma_ctx *ctx;

	(void)size;
	message_fill(mem, rank ? 0 : bytes, 1);
	require_is(0, module_open(&module, (struct bgdma_endpoint_attr){
			.counters = BGDMA_COUNTERS_SHARED }));
	ctx = bgdma_endpoint_ctx(module.m.ep);
	if (rank == 0)
		require_is(0, announce(&module, (struct bgdma_rendezvous_attr){
				.dest = 1, .portion = 200, .in_flight = 2,
				.length = bytes, .data = mem }));
	if (rank == 1)
		require_is(0, until_count(&module, &module.announced, 1));
	require_is(0, bgdma_job_fence(module.m.job));
	if (rank == 2) {
		require_is(0, flood(&module, f));
		return member_close(&module.m);
	}
	if (rank == 1) {
		require_is(0, take(&module, 0, (struct bgdma_accept_attr){
				.length = bytes, .data = mem }));
		require(until(bgdma_events_lost(ctx) > 0));
		f->full = true;
	}
	if (rank == 1 && f->over)
		require_is(0, look_away(&module, f));
	require_is(0, until_count(&module, &module.ended, 1));
	require_is(0, module.last);
	if (rank == 0)
		f->done = true;
	if (rank == 1)
		require(message_is(mem, bytes, 1));
	return module_close(&module);
}

/* Again, until the question came in time (@asked); false: a process failed. */
static bool job_in_time(int (*body)(uint32_t rank, uint32_t size, void *arg),
			struct flood *f, struct flood first, unsigned int tries)
{
	partition_new("3x1x1", "");
	do {
		*f = first;
		if (!job_run(3, body, f, -1))
			return false;
	} while (!f->asked && --tries);
	return true;
}

TEST(sp6_lost_events_hurt_no_chain)
{
	struct flood *f = shared(sizeof(*f));

	partition_new("3x1x1", "");
	EXPECT_TRUE(job_run(3, unhurt, f, -1));
}

TEST(sp6_nor_does_a_question_when_it_is_over)
{
	struct flood *f = shared(sizeof(*f));

	ASSERT_TRUE(job_in_time(unhurt, f, (struct flood){ .over = true },
				links_used() ? 3 : 20));
	if (!f->asked)
		SKIP(return, "the chain is over before it is asked for");
}

/* ---- Two chains between the same two ------------------------------------ */

#define FETCHES_QUEUE	2	/* of every endpoint: for what a chain fetches */

/* The first is short, the second has much in the queues, and takes longer. */
static uint8_t two_mem[2][8000000] PINNED;
static const struct bgdma_rendezvous_attr two_chains[2] = {
	{ .dest = 1, .word = 0, .length = 1000000, .portion = 250,
	  .in_flight = 2, .data = two_mem[0] },
	{ .dest = 1, .word = 1, .length = sizeof(two_mem[1]), .portion = 250,
	  .in_flight = 8, .data = two_mem[1] },
};

static uint64_t two_bytes(uint32_t i)
{
	return chain_bytes(two_chains[i].length);
}

static int two_offer(struct module *module)
{
	struct bgdma_rendezvous_attr a;
	uint32_t i;

	for (i = 0; i < 2; i++) {
		a = two_chains[i];
		a.length = two_bytes(i);
		message_fill(two_mem[i], a.length, i);
		require_is(0, announce(module, a));
	}
	return 0;
}

static int two_take(struct module *module, uint32_t i)
{
	memset(two_mem[i], 0xee, two_bytes(i));
	return take_next(module, i, (struct bgdma_accept_attr){
			.length = two_bytes(i), .data = two_mem[i] });
}

/* The last byte of the second has not come. */
static bool second_goes_on(void)
{
	return load(&two_mem[1][two_bytes(1) - 1]) == 0xee;
}

/* The first is over, and asked for again; the second goes on. */
static int over(uint32_t rank, uint32_t size, void *arg)
{
	static struct module module;
	struct flood *f = arg;
	struct bgdma_ctx *ctx;
	uint32_t i;

	(void)size;
	require_is(0, module_open(&module, (struct bgdma_endpoint_attr){
			.counters = BGDMA_COUNTERS_SHARED }));
	ctx = bgdma_endpoint_ctx(module.m.ep);
	if (rank == 0)
		require_is(0, two_offer(&module));
	if (rank == 1)
		require_is(0, until_count(&module, &module.announced, 2));
	require_is(0, bgdma_job_fence(module.m.job));
	if (rank == 2) {
		require_is(0, flood(&module, f));
		return member_close(&module.m);
	}
	if (rank == 1) {
		require(until(bgdma_events_lost(ctx) > 0));
		f->full = true;
		for (i = 0; i < 2; i++)
			require_is(0, two_take(&module, i));
		require_is(0, look_away(&module, f));
		f->asked &= second_goes_on();
	}
	require_is(0, until_count(&module, &module.ended, 1));
	if (rank == 0)
		f->done = true;
	require_is(0, until_count(&module, &module.ended, 2));
	require_is(2, module.done.is);
	for (i = 0; rank == 1 && i < 2; i++)
		require(message_is(two_mem[i], two_bytes(i), i));
	return module_close(&module);
}

TEST(sp6_a_question_about_one_that_is_over_hurts_no_other)
{
	struct flood *f = shared(sizeof(*f));

	ASSERT_TRUE(job_in_time(over, f, (struct flood){ 0 }, 5));
	if (!f->asked)
		SKIP(return, "the chains are over before they are asked for");
}

/* One in doubt is given up by its target, and its origin does not listen. */
static int given_up(uint32_t rank, uint32_t size, void *arg)
{
	static struct module module;
	struct bgdma_rendezvous_attr a = two_chains[1];
	struct flood *f = arg;
	uint64_t before;
	uint32_t id;

	(void)size;
	require_is(0, module_open(&module, (struct bgdma_endpoint_attr){ 0 }));
	a.word = 0;
	a.length = two_bytes(1);
	if (rank == 0)
		require_is(0, announce(&module, a));
	if (rank == 1)
		require_is(0, until_count(&module, &module.announced, 1));
	require_is(0, bgdma_job_fence(module.m.job));
	if (rank == 2) {
		require_is(0, flood(&module, f));
		return member_close(&module.m);
	}
	if (rank == 1) {
		require(until(bgdma_events_lost(
				bgdma_endpoint_ctx(module.m.ep)) > 0));
		f->full = true;
		require_is(0, take(&module, 0, (struct bgdma_accept_attr){
				.length = a.length, .data = a.data,
				.id = &id }));
		before = packets(&module);
		while (packets(&module) < before + 3 && !module.ended.is)
			bgdma_endpoint_progress(module.m.ep, 0);
		f->asked = !module.ended.is;
		if (f->asked)
			require_is(0, bgdma_rendezvous_cancel(module.m.ep, id));
		require_is(0, until_count(&module, &module.ended, 1));
		f->asked &= module.last != 0;
		f->done = true;
	} else {
		require(until(f->done));
		require_is(0, until_count(&module, &module.ended, 1));
	}
	if (f->asked)
		require_is(-ECANCELED, module.last);
	return module_close(&module);
}

TEST(lc2_what_is_given_up_in_doubt_is_cancelled)
{
	struct flood *f = shared(sizeof(*f));

	ASSERT_TRUE(job_in_time(given_up, f, (struct flood){ 0 }, 5));
	if (!f->asked)
		SKIP(return, "the chain is over before it is given up");
}

#define REFUSED	32
#define SHORTER	2000000

/*
 * As their target, have chains' first descriptors come to us unfilled, where our
 * engine refuses them, one by one, and drops what it has of others.
 */
static int refuse_all(struct module *module)
{
	struct bgdma_ctx *ctx = bgdma_endpoint_ctx(module->m.ep);
	const struct bgdma_peer *self = bgdma_endpoint_peer(module->m.ep, 1);
	const struct bgdma_peer *origin = bgdma_endpoint_peer(module->m.ep, 0);
	struct bgdma_transfer t = bgdma__no_transfer();
	struct bgdma_inj_fifo *fifo;
	struct bgdma_region *region;
	uint32_t i;

	require_is(0, bgdma_inj_create(ctx, NULL, &fifo));
	require_is(0, bgdma_region_alloc(ctx, 4096, BGDMA_LOCAL_READ, &region));
	t.dest = self->node;
	t.dest_ctx = self->ctx;
	t.dest_fifo = FETCHES_QUEUE;
	t.length = sizeof(struct bgdma_desc);
	for (i = 1; i <= REFUSED; i++) {
		t.from.region = module->kept[i].chain_region;
		t.from.offset = module->kept[i].chain_offset;
		bgdma_desc_rget(bgdma_region_addr(region), &t);
		require_is(0, bgdma_rget(fifo, &(struct bgdma_rget_attr){
				.dest = origin->node, .dest_ctx = origin->ctx,
				.queue = module->kept[i].queue, .count = 1,
				.from = { region, 0 } }));
		require_is(0, bgdma_inj_wait(fifo, bgdma_inj_next(fifo),
					     BGDMA_SPIN_THEN_SLEEP,
					     (int64_t)PATIENCE_NS));
		usleep(1000);
	}
	return 0;
}

/* Chains that nobody accepts, and whose end nobody waits for. */
static int offer_refused(struct module *module)
{
	struct bgdma_rendezvous_attr a = two_chains[0];
	int ret;

	a.operation = module->rts;
	for (a.word = 1; a.word <= REFUSED; a.word++) {
		while ((ret = bgdma_rendezvous_send(module->m.ep, &a)) ==
		       -EAGAIN)
			bgdma_endpoint_progress(module->m.ep, 0);
		require_is(0, ret);
	}
	return 0;
}

static int dropped(uint32_t rank, uint32_t size, void *arg)
{
	static struct module module;
	struct bgdma_rendezvous_attr a = two_chains[1];

	(void)size;
	(void)arg;
	a.word = 0;
	a.length = SHORTER;
	require_is(0, module_open(&module, (struct bgdma_endpoint_attr){ 0 }));
	if (rank == 0) {
		require_is(0, announce(&module, a));
		require_is(0, offer_refused(&module));
	} else {
		require_is(0, until_count(&module, &module.announced,
					  1 + REFUSED));
		memset(two_mem[1], 0xee, SHORTER);
		require_is(0, take(&module, 0, (struct bgdma_accept_attr){
				.length = SHORTER, .data = two_mem[1] }));
		while (load(&two_mem[1][100000]) == 0xee)
			bgdma_endpoint_progress(module.m.ep, 0);
		require_is(0, refuse_all(&module));
	}
	require_is(0, until_count(&module, &module.ended, 1));
	require(!module.last || module.last == -ECONNABORTED);
	return member_close(&module.m);
}

TEST(sp3a_a_chain_that_a_refusal_has_hit_ends)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, dropped, NULL, -1));
}

TEST_HARNESS_MAIN
