// SPDX-License-Identifier: GPL-2.0
/*
 * What both sides are told of messages that end before their time (LC-2, SP-3a,
 *
 */
#include "kselftest_harness.h"
#include "sys_forge.h"

/* What the processes of a job know of each other beside messages. */
struct both {
	struct bgdma_endpoint_attr attr;
	enum bgdma_portions portions;
	int victim;			/* that dies, or -1 */
	volatile bool told;
	volatile bool late;		/* all was there before its end */
};

/* ---- Many that were not accepted --------------------------------------- */

#define MANY	2000

/* A message, for its function. */
struct one {
	struct module *module;
	uint32_t id;
	int result;
};

static void one_done(void *arg, int result, uint64_t bytes)
{
	struct one *one = arg;

	one->result = result;
	on_done(one->module, result, bytes);
}

static int offer(struct module *module, struct one *one, uint32_t i, char *byte)
{
	const struct bgdma_rendezvous_attr a = {
		.operation = module->rts, .dest = 1, .word = i, .length = 1,
		.data = byte, .done = one_done, .arg = one, .id = &one->id,
	};
	int ret;

	while ((ret = bgdma_rendezvous_send(module->m.ep, &a)) == -EAGAIN)
		bgdma_endpoint_progress(module->m.ep, 0);
	return ret;
}

static int give_up(struct module *module, uint32_t id)
{
	int ret;

	while ((ret = bgdma_rendezvous_cancel(module->m.ep, id)) == -EAGAIN)
		bgdma_endpoint_progress(module->m.ep, 0);
	return ret;
}

/* Announced, cancelled, and only then accepted. */
static int many(uint32_t rank, uint32_t size, void *arg)
{
	static struct module module;
	static struct one one[MANY];
	static char mem[MANY];
	struct both *both = arg;
	uint32_t i;

	(void)size;
	require_is(0, module_open(&module, both->attr));
	for (i = 0; i < MANY; i++) {
		one[i].module = &module;
		if (rank == 0)
			require_is(0, offer(&module, &one[i], i, &mem[i]));
	}
	for (i = 0; rank == 0 && i < MANY; i++)
		require_is(0, give_up(&module, one[i].id));
	if (rank == 1)
		require_is(0, until_count(&module, &module.announced, MANY));
	/* The target tells of them as it makes progress. */
	while (rank == 1 && !both->told)
		bgdma_endpoint_wait(module.m.ep, 1000000);
	for (i = 0; rank == 1 && i < MANY; i++)
		require_is(0, bgdma_rendezvous_accept(module.m.ep,
				&module.kept[i], &(struct bgdma_accept_attr){
				.length = 1, .data = &mem[i], .done = one_done,
				.arg = &one[i] }));
	require_is(0, until_count(&module, &module.ended, MANY));
	both->told = true;
	for (i = 0; i < MANY; i++)
		require_is(-ECANCELED, one[i].result);
	return module_close(&module);
}

TEST(lc2_each_of_two_thousand_cancels_is_known)
{
	struct both *both = shared(sizeof(*both));

	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, many, both, -1));
}

/* ---- Chains in the middle ---------------------------------------------- */

#define LONG		8000000
#define PORTION		250U	/* as many as there can be, nearly */

/* What who is left is told, and finds. */
static int middle_end(struct module *module, const struct both *both,
		      const uint8_t *mem)
{
	bool shared = both->attr.counters == BGDMA_COUNTERS_SHARED;
	uint32_t least = 11;

	require_is(both->victim < 0 ? -ECANCELED : -EHOSTDOWN, module->last);
	/* A shared counter cannot tell: the target is careful, the origin silent. */
	if (shared)
		least = module->m.rank == 1 || both->victim < 0;
	require(module->portion >= least && module->portion < LONG / PORTION);
	if (module->m.rank == 1)
		require(message_is(mem, (module->portion - 1ULL) * PORTION, 0));
	return nothing_left(module);
}

/*
 * Its origin gives a chain up, or one of the two dies, while it goes on: what comes
 * before the portion that is named is there.
 */
static int middle(uint32_t rank, uint32_t size, void *arg)
{
	static struct module module;
	static uint8_t mem[LONG] PINNED;
	struct both *both = arg;
	uint32_t id;

	(void)size;
	require_is(0, module_open(&module, both->attr));
	if (rank == 0) {
		message_fill(mem, LONG, 0);
		require_is(0, announce(&module, (struct bgdma_rendezvous_attr){
				.dest = 1, .length = LONG, .portion = PORTION,
				.portions = both->portions, .data = mem,
				.id = &id }));
	} else {
		require_is(0, until_count(&module, &module.announced, 1));
		memset(mem, 0xee, LONG);
		require_is(0, take(&module, 0, (struct bgdma_accept_attr){
				.length = LONG, .data = mem }));
		/* Asleep it would hear of the end alone. */
		while (*(volatile uint8_t *)&mem[10 * PORTION] == 0xee)
			bgdma_endpoint_progress(module.m.ep, 0);
		both->told = true;
	}
	while (rank == 0 && both->victim != 1 && !both->told)
		bgdma_endpoint_wait(module.m.ep, 1000000);
	if (both->victim == (int)rank)
		raise(SIGKILL);
	if (rank == 0 && both->victim < 0)
		require(give_up(&module, id) != -EINVAL);
	require_is(0, until_count(&module, &module.ended, 1));
	both->late |= module.last == 0;
	if (!both->late)
		require_is(0, middle_end(&module, both, mem));
	return both->victim < 0 ? member_close(&module.m) :
				  member_leave(&module.m);
}

/* Again, where the machine had no time for the one that had to end it. */
static bool middle_run(struct both *both)
{
	unsigned int tries = 0;
	bool good;

	do {
		both->told = false;
		both->late = false;
		good = job_run(2, middle, both, both->victim);
	} while (good && both->late && ++tries < 20);
	return good && !both->late;
}

TEST(sp3a_x3_a_chain_that_is_ended_names_where_it_was)
{
	struct both *both = shared(sizeof(*both));
	unsigned int i;

	partition_new("2x1x1", "");
	for (i = 0; i < 12; i++) {
		both->victim = (int)(i / 4) - 1;
		both->portions = i & 1 ? BGDMA_PORTIONS_PACKETS :
					 BGDMA_PORTIONS_PUT;
		both->attr.counters = i & 2 ? BGDMA_COUNTERS_SHARED :
					      BGDMA_COUNTERS_AUTO;
		EXPECT_TRUE(middle_run(both))
			TH_LOG("victim %d, portions %u, counters %u",
			       both->victim, both->portions,
			       both->attr.counters);
	}
}

/* ---- An answer that is found when its sender has died -------------------- */

#define CHAIN_QUEUE	1	/* of every endpoint: for answers of chains */
#define FULL_NS		50000000

struct last_answer {
	struct bgdma_endpoint_attr attr;
	uint64_t portion;
	volatile pid_t pid;
};

/* Packets that mean nothing, until there is no room for another. */
static int fill_up(struct forger *f)
{
	const struct bgdma_transfer t =
		forge_transfer(f, 0, forge_id("sys", "mark"), 0, 0);
	struct bgdma_desc *desc;
	int ret;

	do {
		desc = bgdma_inj_reserve(f->fifo);
		require(desc);
		bgdma_desc_memfifo(desc, &t);
		bgdma_desc_inline(desc, NULL, 0);
		require_is(0, bgdma_inj_submit(f->fifo));
		ret = bgdma_inj_wait(f->fifo, bgdma_inj_next(f->fifo),
				     BGDMA_SLEEP, FULL_NS);
	} while (!ret);
	require_is(-ETIMEDOUT, ret);
	return 0;
}

/* Have the other's queue wait for that room, as its process reads nothing. */
static int queue_block(struct forger *f, uint16_t queue)
{
	const struct bgdma_peer *to = bgdma_endpoint_peer(f->module->m.ep, 0);
	struct bgdma_transfer t = bgdma__no_transfer();
	struct bgdma_desc *desc = bgdma_region_addr(f->region);
	uint32_t id = forge_id("sys", "mark");
	struct bgdma_inj_fifo *fifo;

	t.dest_fifo = CONTROL_FIFO;
	t.dispatch = (uint16_t)id;
	t.cookie = (uint64_t)(id >> 16) << BGDMA_WORD_BITS;
	bgdma_desc_local_memfifo(desc, &t);
	bgdma_desc_inline(desc, NULL, 0);
	require_is(0, bgdma_inj_create(bgdma_endpoint_ctx(f->module->m.ep),
				       NULL, &fifo));
	require_is(0, bgdma_rget(fifo, &(struct bgdma_rget_attr){
			.dest = to->node, .dest_ctx = to->ctx, .queue = queue,
			.count = 1, .from = { f->region, 0 } }));
	return bgdma_inj_wait(fifo, bgdma_inj_next(fifo), BGDMA_SPIN_THEN_SLEEP,
			      (int64_t)PATIENCE_NS);
}

static int answered_last(uint32_t rank, uint32_t size, void *arg)
{
	static struct module module;
	static uint8_t mem[100000] PINNED;
	struct last_answer *l = arg;
	struct forger forger;

	(void)size;
	require_is(0, module_open(&module, l->attr));
	if (rank == 0)
		require_is(0, announce(&module, (struct bgdma_rendezvous_attr){
				.dest = 1, .length = sizeof(mem),
				.portion = l->portion, .data = mem }));
	else
		require_is(0, until_count(&module, &module.announced, 1));
	if (rank == 1)
		l->pid = getpid();
	require_is(0, bgdma_job_fence(module.m.job));
	if (rank == 1) {
		require_is(0, forger_open(&forger, &module));
		require_is(0, fill_up(&forger));
		require_is(0, queue_block(&forger,
					  l->portion == BGDMA_PORTION_WHOLE ?
					  CTS_QUEUE : CHAIN_QUEUE));
		require_is(0, take(&module, 0, (struct bgdma_accept_attr){
				.length = sizeof(mem), .data = mem }));
		usleep(100000);
		raise(SIGKILL);
	}
	require(until(kill(l->pid, 0) && errno == ESRCH));
	/* Its death is told last. */
	while (!module.ended.is) {
		require(bgdma_endpoint_progress(module.m.ep, 1) >= 0);
		usleep(2000);
	}
	require_is(-EHOSTDOWN, module.last);
	require_is(0, nothing_left(&module));
	return member_leave(&module.m);
}

TEST(x3_an_answer_of_the_dead_is_a_death)
{
	struct last_answer *l = shared(sizeof(*l));
	unsigned int i;

	partition_new("2x1x1", "");
	for (i = 0; i < 4; i++) {
		l->attr.control_bytes = BGDMA_REC_BYTES_MIN;
		l->attr.counters = i & 1 ? BGDMA_COUNTERS_SHARED :
					   BGDMA_COUNTERS_AUTO;
		l->portion = i & 2 ? 1000 : BGDMA_PORTION_WHOLE;
		EXPECT_TRUE(job_run(2, answered_last, l, 1))
			TH_LOG("portion %llu, counters %u",
			       (unsigned long long)l->portion,
			       l->attr.counters);
	}
}

/* ---- Serials wrap --------------------------------------------------------- */

#define PLACES	32768U			/* of cancels that are remembered */
#define FAR	(1U - 3 * (1U << 29))	/* in the place of the first message */

/* Messages that a forger announces, and which it gave up before. */
struct numbers {
	uint32_t stop[2], rts[4];
	int result;
};

static int numbers_forge(struct module *module, const struct numbers *n)
{
	struct stop_wire stop = { 0 };
	struct rts_wire rts = {
		.length = __cpu_to_le64(64), .token = __cpu_to_le32(1),
		.portions = __cpu_to_le32(1), .in_flight = __cpu_to_le32(1),
	};
	struct bgdma_region *region;
	struct forger f;
	unsigned int i;

	require_is(0, forger_open(&f, module));
	require_is(0, bgdma_region_alloc(bgdma_endpoint_ctx(module->m.ep), 64,
					 BGDMA_LOCAL_READ, &region));
	require_is(0, bgdma_endpoint_expose(module->m.ep, region,
					    BGDMA_RIGHT_READ));
	rts.region = __cpu_to_le32(bgdma_region_handle(region));
	for (i = 0; i < 2 && n->stop[i]; i++) {
		stop.serial = __cpu_to_le32(n->stop[i]);
		require_is(0, forge(&f, 1, CONTROL_FIFO, forge_id("sys", "stop"),
				    forge_word(1, 0), &stop, sizeof(stop)));
	}
	require_is(0, bgdma_job_fence(module->m.job));
	require_is(0, bgdma_job_fence(module->m.job));
	for (i = 0; i < 4 && n->rts[i]; i++) {
		rts.serial = __cpu_to_le32(n->rts[i]);
		require_is(0, forge(&f, 1, DATA_FIFO, module->rts, i, &rts,
				    sizeof(rts)));
		require_is(0, bgdma_job_fence(module->m.job));
		require(bgdma_endpoint_progress(module->m.ep, 0) >= 0);
	}
	return member_leave(&module->m);
}

static int numbers_take(struct module *module, const struct numbers *n)
{
	char mem[64];
	unsigned int i;

	require_is(0, bgdma_job_fence(module->m.job));
	while (bgdma_endpoint_progress(module->m.ep, 0) > 0)
		;
	require_is(0, bgdma_job_fence(module->m.job));
	for (i = 0; i < 4 && n->rts[i]; i++) {
		require_is(0, take_next(module, i, (struct bgdma_accept_attr){
				.length = sizeof(mem), .data = mem }));
		require_is(0, until_count(module, &module->ended, i + 1));
		require_is(n->result, module->last);
		require_is(0, bgdma_job_fence(module->m.job));
	}
	return member_leave(&module->m);
}

static int numbers_go_round(uint32_t rank, uint32_t size, void *arg)
{
	static struct module module;

	(void)size;
	require_is(0, module_open(&module, (struct bgdma_endpoint_attr){ 0 }));
	return rank ? numbers_take(&module, arg) : numbers_forge(&module, arg);
}

TEST(lc2_a_late_cancel_is_not_of_the_next_of_its_number)
{
	struct numbers numbers[] = {
		{ { FAR }, { FAR }, -ECANCELED },
		/* Two of one place: all of it is held for lost. */
		{ { FAR, FAR + PLACES }, { FAR - PLACES }, -ECANCELED },
		/* The first has been there meanwhile. */
		{ { FAR }, { 1, FAR }, 0 },
		{ { FAR, FAR + PLACES },
		  { 1, FAR - PLACES, FAR, FAR + PLACES }, 0 },
		/* Not so far back: it may wait to be accepted. */
		{ { 1 + PLACES }, { 1 + 9 * PLACES }, 0 },
	};
	unsigned int i;

	partition_new("2x1x1", "");
	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		EXPECT_TRUE(job_run(2, numbers_go_round, &numbers[i], -1))
			TH_LOG("row %u", i);
}

TEST_HARNESS_MAIN
