// SPDX-License-Identifier: GPL-2.0
/*
 * Self-pacing chains (SP-1 to SP-9): what crosses, who takes part, and what
 * happens when it stops in the middle.
 */
#include "kselftest_harness.h"
#include "sys_module.h"

#define SPACE	3000000

/* ---- SP-3 to SP-8: any number of portions ------------------------------ */

static const struct crossing chains[] = {
	{ 100000, 50000, SPACE, 0 }, { 100000, 33334, SPACE, 0 },
	{ 100000, 99999, SPACE, 0 }, { 100000, 100000, SPACE, 0 },
	{ 100001, 10000, SPACE, 0 }, { SPACE, 65536, SPACE, 0 },
	{ 300000, 100, SPACE, 0 }, { 100, 1, SPACE, 0 }, { 33, 32, SPACE, 0 },
	{ 17, 1, SPACE, 0 }, { 1000000, 10000, 12345, 0 },
	{ 1000000, 10000, 10, 0 }, { 40, 16, SPACE, 0 },
};

#define CHAINS	(sizeof(chains) / sizeof(chains[0]))

static int portions(uint32_t rank, uint32_t size, void *arg)
{
	static struct module module;
	static uint8_t mem[SPACE + 1];
	const struct bgdma_endpoint_attr *attr = arg;

	(void)rank;
	(void)size;
	require_is(0, module_open(&module, *attr));
	return messages_cross(&module, chains, CHAINS, BGDMA_PORTIONS_DEFAULT,
			      mem);
}

TEST(sp3_to_sp8_any_number_of_portions)
{
	struct bgdma_endpoint_attr attr = { 0 };

	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, portions, &attr, -1));
	attr.counters = BGDMA_COUNTERS_SHARED;
	EXPECT_TRUE(job_run(2, portions, &attr, -1));
}

/*
 * Who has little room takes portions as long as the others would be, so fewer: each
 * is a packet here, and can be counted.
 */
static int little_room(uint32_t rank, uint32_t size, void *arg)
{
	static const uint64_t rooms[] = { 2500, 1000, 1001, 99999, 10 };
	static const uint64_t packets[] = { 3, 1, 2, 100, 1 };
	static struct module module;
	static uint8_t mem[100000 + 1];
	uint64_t pieces;
	uint32_t i;

	(void)size;
	(void)arg;
	require_is(0, module_open(&module, (struct bgdma_endpoint_attr){ 0 }));
	for (i = 0; i < ARRAY_SIZE(rooms); i++) {
		require_is(0, pieces_cross(&module,
				(struct bgdma_rendezvous_attr){ .word = i,
				.length = 100000, .portion = 1000, .data = mem },
				rooms[i], &pieces));
		/* In one piece it comes by a put. */
		if (rank == 1)
			require_is(packets[i] > 1 ? packets[i] : 0, pieces);
	}
	return module_close(&module);
}

TEST(sp3_little_room_makes_few_portions)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, little_room, NULL, -1));
}

/* A process that is its own target. */
static int to_itself(uint32_t rank, uint32_t size, void *arg)
{
	static struct module module;
	static uint8_t from[100000], to[100000];
	uint32_t i;

	(void)rank;
	(void)size;
	(void)arg;
	require_is(0, module_open(&module, (struct bgdma_endpoint_attr){ 0 }));
	for (i = 0; i < 4; i++) {
		message_fill(from, sizeof(from), i);
		require_is(0, announce(&module, (struct bgdma_rendezvous_attr){
				.word = i, .length = sizeof(from),
				.portion = i * 7000, .data = from }));
		require_is(0, take_next(&module, i, (struct bgdma_accept_attr){
				.length = sizeof(to), .data = to }));
		require_is(0, until_count(&module, &module.done, 2 * i + 2));
		require(message_is(to, sizeof(to), i));
	}
	return module_close(&module);
}

TEST(sp4_a_process_sends_to_itself)
{
	partition_new("1x1x1", "");
	EXPECT_TRUE(job_run(1, to_itself, NULL, -1));
}

/* ---- SP-9: nobody takes part ------------------------------------------- */

#define BIG	(24UL << 20)
#define LATE	2	/* all was there before they stopped */
#define TRIES	20

struct stopped {
	volatile uint32_t ready[2];	/* set-up is done */
	volatile uint32_t go;		/* both go on */
	volatile pid_t pid[2];
	uint32_t node[2], ctx[2];
	volatile int result;		/* of the watcher; -1: none yet */
	uint8_t mem[BIG];		/* where it lands */
};

/* Set up, then wait to be stopped; go on when told. */
static int until_stopped(uint32_t rank, uint32_t size, void *arg)
{
	static struct module module;
	struct stopped *s = arg;
	uint8_t *from;

	(void)size;
	require_is(0, module_open(&module, (struct bgdma_endpoint_attr){ 0 }));
	s->pid[rank] = getpid();
	if (rank == 0) {
		from = shared(BIG);
		message_fill(from, BIG, 1);
		require_is(0, announce(&module, (struct bgdma_rendezvous_attr){
				.dest = 1, .length = BIG, .portion = 1024,
				.data = from }));
	} else {
		require_is(0, take_next(&module, 0, (struct bgdma_accept_attr){
				.length = BIG, .data = s->mem }));
	}
	s->ready[rank] = 1;
	while (!s->go)
		sched_yield();
	require_is(0, until_count(&module, &module.done, 1));
	return module_close(&module);
}

/* The parent's side: stop both, and see the message arrive all the same. */
static int stop_both(struct stopped *s)
{
	if (!until(s->ready[0] && s->ready[1]))
		return 1;
	kill(s->pid[0], SIGSTOP);
	kill(s->pid[1], SIGSTOP);
	/* It was not there yet when they stopped, or nothing is proved. */
	if (load(&s->mem[BIG - 1]) == byte_of(1, BIG - 1))
		return LATE;
	if (!until(load(&s->mem[BIG - 1]) == byte_of(1, BIG - 1)))
		return 3;
	return message_is(s->mem, BIG, 1) ? 0 : 4;
}

static void watch(struct stopped *s, int (*what)(struct stopped *s))
{
	s->result = what(s);
	s->go = 1;
	kill(s->pid[0], SIGCONT);
	kill(s->pid[1], SIGCONT);
}

static bool watched(struct stopped *s, member_fn *fn,
		    int (*what)(struct stopped *s))
{
	memset(s, 0, sizeof(*s));
	memset(s->mem, 0xee, BIG);
	s->result = -1;
	if (!must(fork())) {
		watch(s, what);
		_exit(0);
	}
	return job_run(2, fn, s, -1);
}

/* Whoever is to stop them may come too late where others have the processors. */
TEST(sp9_both_processes_are_stopped)
{
	struct stopped *s = shared(sizeof(*s));
	int tries = 0;

	partition_new("2x1x1", "");
	do {
		ASSERT_TRUE(watched(s, until_stopped, stop_both));
	} while (s->result == LATE && ++tries < TRIES);
	EXPECT_EQ(0, s->result);
}

/*
 * In packets: up to the room in the FIFO, and the rest when the core reads on. Each
 * stops itself, the target when it has just accepted.
 */
#define PACKETS		20000U
#define PACKET		32U	/* bytes of a portion, and so of a packet */

static int until_full(uint32_t rank, uint32_t size, void *arg)
{
	static uint8_t mem[PACKETS * PACKET];
	static struct module module;
	struct stopped *s = arg;

	(void)size;
	require_is(0, module_open(&module, (struct bgdma_endpoint_attr){
			.control_bytes = 1 << 20 }));
	s->node[rank] = bgdma_ctx_info(bgdma_endpoint_ctx(module.m.ep))->rank;
	s->ctx[rank] = bgdma_ctx_info(bgdma_endpoint_ctx(module.m.ep))->ctx;
	s->pid[rank] = getpid();
	message_fill(mem, rank ? 0 : sizeof(mem), 1);
	if (rank == 0) {
		require_is(0, announce(&module, (struct bgdma_rendezvous_attr){
				.dest = 1, .length = sizeof(mem), .data = mem,
				.portions = BGDMA_PORTIONS_PACKETS,
				.portion = PACKET }));
	} else {
		while (!load(&s->go))
			sched_yield();
		require_is(0, take_next(&module, 0, (struct bgdma_accept_attr){
				.length = sizeof(mem), .data = mem }));
	}
	raise(SIGSTOP);
	require_is(0, until_count(&module, &module.done, 1));
	require(rank == 0 || message_is(mem, sizeof(mem), 1));
	return module_close(&module);
}

static bool is_stopped(pid_t pid)
{
	char path[64], state = 0;
	FILE *stat;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	stat = fopen(path, "re");
	if (!stat)
		return false;
	if (fscanf(stat, "%*d %*s %c", &state) != 1)
		state = 0;
	fclose(stat);
	return state == 'T';
}

static void seen_waiting(struct nlattr **attrs, void *arg)
{
	/* Of the control way: the first. */
	if (nla_get_u32(attrs[BGDMA_A_FIFO_KIND]) == BGDMA_KIND_REC_FIFO &&
	    nla_get_u32(attrs[BGDMA_A_FIFO_ID]) == 0)
		*(long *)arg = !!attrs[BGDMA_A_FIFO_SENDERS_WAIT];
}

static long is_full(const struct stopped *s)
{
	long wait = -1;

	return seen_of(s->node[1], s->ctx[1], BGDMA_CMD_FIFO_GET, seen_waiting,
		       &wait) ? -1 : wait;
}

static int fill_while_stopped(struct stopped *s)
{
	links_enter(1);
	if (!until(s->pid[0] && is_stopped(s->pid[0])))
		return 1;
	store(&s->go, 1);
	if (!until(s->pid[1] && is_stopped(s->pid[1])))
		return 3;
	/* There was still room when both had stopped, or nothing is proved. */
	if (is_full(s) == 1)
		return LATE;
	return until(is_full(s) == 1) ? 0 : 4;
}

TEST(sp9_packets_come_up_to_the_room_while_both_are_stopped)
{
	struct stopped *s = shared(sizeof(*s));
	int tries = 0;

	partition_new("2x1x1", "");
	do {
		ASSERT_TRUE(watched(s, until_full, fill_while_stopped));
	} while (s->result == LATE && ++tries < TRIES);
	EXPECT_EQ(0, s->result);
}

/* ---- SP-2, SP-3a: what stops a chain ----------------------------------- */

struct gone {
	struct bgdma_endpoint_attr attr;
	volatile bool hit;	/* the good one, too */
};

/*
 * The memory goes away: the first portion fails, and both sides hear which. What is
 * left of that one in the queues may be refused while the next is under way, and take
 * some of it along: then that is told by its own code.
 */
static int memory_gone(uint32_t rank, uint32_t size, void *arg)
{
	static struct module module;
	static uint8_t mem[200000];
	struct gone *gone = arg;
	struct bgdma_region *region;
	uint32_t i;

	(void)size;
	require_is(0, module_open(&module, gone->attr));
	for (i = 0; i < 3; i++) {
		if (rank == 0) {
			require_is(0, bgdma_region_register(
					bgdma_endpoint_ctx(module.m.ep), mem,
					sizeof(mem), BGDMA_LOCAL_READ,
					&region));
			require_is(0, bgdma_endpoint_expose(module.m.ep, region,
							    BGDMA_RIGHT_READ));
			message_fill(mem, sizeof(mem), i);
			require_is(0, announce(&module,
					(struct bgdma_rendezvous_attr){
					.dest = 1, .word = i, .portion = 20000,
					.length = sizeof(mem),
					.from = { region, 0 } }));
			/* The one in the middle is good. */
			if (i != 1)
				require_is(0, bgdma_region_free(region));
		}
		require_is(0, bgdma_job_fence(module.m.job));
		if (rank == 1)
			require_is(0, take_next(&module, i,
					(struct bgdma_accept_attr){
					.length = sizeof(mem), .data = mem }));
		module.portion = 0;
		require_is(0, until_count(&module, &module.ended, i + 1));
		if (i == 1 && module.last == -ECONNABORTED) {
			gone->hit = true;
		} else {
			require((module.last == 0) == (i == 1));
			require_is(i == 1 ? 0 : 1, module.portion);
			if (rank == 1 && i == 1)
				require(message_is(mem, sizeof(mem), i));
		}
		if (rank == 0 && i == 1)
			require_is(0, bgdma_region_free(region));
		require_is(0, bgdma_job_fence(module.m.job));
	}
	return module_close(&module);
}

/* A job of two, until it did not say that chance had spoiled it. */
static bool job_run_unspoiled(member_fn *fn, void *arg, volatile bool *spoiled)
{
	unsigned int tries = 0;
	bool good;

	do {
		*spoiled = false;
		good = job_run(2, fn, arg, -1);
	} while (good && *spoiled && ++tries < TRIES);
	return good && !*spoiled;
}

TEST(sp3a_a_chain_that_fails_names_the_portion)
{
	struct gone *gone = shared(sizeof(*gone));

	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run_unspoiled(memory_gone, gone, &gone->hit));
	gone->attr.counters = BGDMA_COUNTERS_SHARED;
	EXPECT_TRUE(job_run_unspoiled(memory_gone, gone, &gone->hit));
}

/* A target that has the origin's descriptors run before it filled them. */
static int rogue(uint32_t rank, uint32_t size, void *arg)
{
	static struct module module;
	static uint8_t mem[100000];

	(void)size;
	(void)arg;
	require_is(0, module_open(&module, (struct bgdma_endpoint_attr){ 0 }));
	if (rank == 0) {
		require_is(0, announce(&module, (struct bgdma_rendezvous_attr){
				.dest = 1, .length = sizeof(mem),
				.portion = 10000, .data = mem }));
		/* The third of its descriptors was refused: not filled. */
		require_is(0, until_count(&module, &module.ended, 1));
		require_is(bgdma_code_errno(BGDMA_E_UNFILLED), module.last);
		require_is(3, module.portion);
		return module_close(&module);
	}
	require_is(0, until_count(&module, &module.announced, 1));
	require_is(10, module.kept[0].portions);
	require_is(0, chain_meddle(&module, 2, NULL));
	return member_close(&module.m);
}

TEST(sp2_an_unfilled_descriptor_is_an_error)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, rogue, NULL, -1));
}

/*
 * An O is damaged before the chain gets there: both sides name its portion. Packets
 * that the target does not read hold the chain up until then.
 */
#define DAMAGED		200U

struct damager {
	struct bgdma_inj_fifo *fifo;
	struct bgdma_region *region;
};

/* Before the chain begins, which may be short. */
static int damager_open(struct module *module, struct damager *d)
{
	struct bgdma_ctx *ctx = bgdma_endpoint_ctx(module->m.ep);

	require_is(0, bgdma_inj_create(ctx, NULL, &d->fifo));
	require_is(0, bgdma_region_alloc(ctx, sizeof(struct bgdma_desc),
					 BGDMA_LOCAL_READ, &d->region));
	memset(bgdma_region_addr(d->region), 0xc8, sizeof(struct bgdma_desc));
	return 0;
}

static int descriptor_damage(struct module *module, struct damager *d)
{
	const struct bgdma_peer *origin = bgdma_endpoint_peer(module->m.ep, 0);
	const struct bgdma_rts *rts = &module->kept[0];

	require_is(0, bgdma_put(d->fifo, &(struct bgdma_put_attr){
			.dest = origin->node, .dest_ctx = origin->ctx,
			.length = sizeof(struct bgdma_desc),
			.from = { d->region, 0 }, .to = { rts->chain_region,
			rts->chain_offset + (DAMAGED - 1) *
					    sizeof(struct bgdma_desc) } }));
	require_is(0, bgdma_inj_wait(d->fifo, bgdma_inj_next(d->fifo),
				     BGDMA_SPIN_THEN_SLEEP,
				     (int64_t)PATIENCE_NS));
	require_is(0, bgdma_inj_destroy(d->fifo));
	return bgdma_region_free(d->region);
}

struct damage {
	struct bgdma_endpoint_attr attr;
	/* The chain was over before, or the origin told when the target had given up. */
	volatile bool spoiled;
};

static int damaged(uint32_t rank, uint32_t size, void *arg)
{
	struct damage *d = arg;
	static uint8_t mem[1000000];
	static struct module module;
	struct damager damager;

	(void)size;
	require_is(0, module_open(&module, d->attr));
	if (rank == 0) {
		require_is(0, announce(&module, (struct bgdma_rendezvous_attr){
				.dest = 1, .length = sizeof(mem), .data = mem,
				.portions = BGDMA_PORTIONS_PACKETS,
				.portion = 4000 }));
	} else {
		require_is(0, damager_open(&module, &damager));
		require_is(0, take_next(&module, 0, (struct bgdma_accept_attr){
				.length = sizeof(mem), .data = mem }));
		require_is(0, descriptor_damage(&module, &damager));
	}
	require_is(0, until_count(&module, &module.ended, 1));
	if (!module.last || module.last == -ECONNABORTED) {
		d->spoiled = true;
	} else {
		require_is(bgdma_code_errno(BGDMA_E_OP), module.last);
		require_is(DAMAGED, module.portion);
	}
	return module_close(&module);
}

TEST(sp3a_both_sides_name_the_portion_of_a_damaged_descriptor)
{
	struct damage *d = shared(sizeof(*d));

	partition_new("2x1x1", "");
	d->attr.control_bytes = 65536;
	EXPECT_TRUE(job_run_unspoiled(damaged, d, &d->spoiled));
	d->attr.counters = BGDMA_COUNTERS_SHARED;
	EXPECT_TRUE(job_run_unspoiled(damaged, d, &d->spoiled));
}

/* One side dies in the middle of chains. */
static int death(uint32_t rank, uint32_t size, void *arg)
{
	static struct module module;
	static uint8_t mem[4][4000000];
	const int *victim = arg;
	uint32_t i;

	(void)size;
	require_is(0, module_open(&module, (struct bgdma_endpoint_attr){ 0 }));
	for (i = 0; rank == 0 && i < 4; i++)
		require_is(0, announce(&module, (struct bgdma_rendezvous_attr){
				.dest = 1, .word = i, .length = sizeof(mem[i]),
				.portion = 200, .data = mem[i] }));
	for (i = 0; rank == 1 && i < 4; i++)
		require_is(0, take_next(&module, i, (struct bgdma_accept_attr){
				.length = sizeof(mem[i]), .data = mem[i] }));
	require_is(0, bgdma_job_fence(module.m.job));
	if ((int)rank == *victim)
		raise(SIGKILL);
	require_is(0, until_count(&module, &module.ended, 4));
	require(module.done.is == 4 || module.last == -EHOSTDOWN ||
		module.portion);
	require_is(0, nothing_left(&module));
	bgdma_endpoint_destroy(module.m.ep);
	return 0;
}

TEST(x3_death_in_the_middle_of_chains)
{
	int victim;

	partition_new("2x1x1", "");
	for (victim = 0; victim < 2; victim++)
		EXPECT_TRUE(job_run(2, death, &victim, victim));
}

/* ---- The memory of chains is kept -------------------------------------- */

#define KEPT_BYTES	100000

static uint64_t kept_of(const struct module *module, uint64_t *bytes)
{
	struct bgdma_endpoint_stats stats;

	bgdma_endpoint_stats(module->m.ep, &stats);
	*bytes = stats.kept_bytes;
	return stats.kept;
}

/* Message @i to ourselves, in so many portions. */
static int chain_run(struct module *module, uint32_t i, uint32_t n,
		     uint8_t *from, uint8_t *to, uint64_t bytes)
{
	message_fill(from, bytes, i);
	require_is(0, announce(module, (struct bgdma_rendezvous_attr){
			.word = i, .length = bytes, .data = from,
			.portion = (bytes + n - 1) / n }));
	require_is(0, take_next(module, i, (struct bgdma_accept_attr){
			.length = bytes, .data = to }));
	require_is(0, until_count(module, &module->done, 2UL * i + 2));
	require(message_is(to, bytes, i));
	return 0;
}

static int kept(uint32_t rank, uint32_t size, void *arg)
{
	static uint8_t from[KEPT_BYTES] PINNED, to[KEPT_BYTES] PINNED;
	static struct module module;
	uint64_t bytes, before;
	uint32_t i, id;

	(void)rank;
	(void)size;
	(void)arg;
	require_is(0, module_open(&module, (struct bgdma_endpoint_attr){ 0 }));
	require_is(0, kept_of(&module, &bytes));
	require_is(0, chain_run(&module, 0, 50, from, to, KEPT_BYTES));
	/* Of the origin and of the target. */
	require_is(2, kept_of(&module, &before));
	require_is(0, chain_run(&module, 1, 30, from, to, KEPT_BYTES));
	require_is(2, kept_of(&module, &bytes));
	require_is(before, bytes);
	/* Of a longer one is more; nothing beyond 4 MiB, and no more than eight. */
	for (i = 2; i < 20; i++) {
		require_is(0, chain_run(&module, i, i * 1000, from, to,
					KEPT_BYTES));
		require(kept_of(&module, &bytes) <= 8);
		require(bytes > before && bytes <= 4 << 20);
	}
	/* Of one that was given up nothing is left. */
	before = kept_of(&module, &bytes);
	require_is(0, bgdma_rendezvous_send(module.m.ep,
			&(struct bgdma_rendezvous_attr){
			.operation = module.rts, .word = i, .data = from,
			.length = KEPT_BYTES, .portion = 1000, .id = &id,
			.done = on_done, .arg = &module }));
	require_is(0, bgdma_rendezvous_cancel(module.m.ep, id));
	require_is(0, until_count(&module, &module.ended, 2UL * i + 1));
	require_is(-ECANCELED, module.last);
	require_is(before - 1, kept_of(&module, &bytes));
	return member_close(&module.m);
}

TEST(sp9_memory_of_a_chain_serves_the_next)
{
	partition_new("1x1x1", "");
	EXPECT_TRUE(job_run(1, kept, NULL, -1));
}

TEST_HARNESS_MAIN
