// SPDX-License-Identifier: GPL-2.0
/*
 * What one process can do to what the others of a job send each other (DP-9, X-2):
 * nothing, whatever it sends, and if it takes nothing.
 */
#include <sys/ioctl.h>

#include "kselftest_harness.h"
#include "sys_forge.h"

enum { VICTIM, FRIEND, ATTACKER, JOB };

#define SMALL		500	/* messages of the friend */
#define BYTES		9000	/* of its long one */
#define SILENT		2000	/* messages of who takes nothing afterwards */
#define CHAINS		16
#define PORTIONS	8000U	/* of each of these */
#define STOPS		4096U
#define FIRST		64	/* packets before the others begin */

struct stage {
	struct bgdma_endpoint_attr attr;
	int (*prepare)(struct module *module);
	int (*attack)(struct forger *f, struct stage *s);
	uint32_t ready;		/* the attack has begun */
	uint32_t over;		/* the others are done */
};

static struct count small;

static int on_small(void *arg, uint32_t rank, const struct bgdma_packet *packet)
{
	(void)arg;
	(void)packet;
	small.is += rank == FRIEND;
	return 0;
}

/* Takes nothing for now, as a callback of the data way may. */
static int on_never(void *arg, uint32_t rank, const struct bgdma_packet *packet)
{
	(void)arg;
	(void)rank;
	(void)packet;
	return -EAGAIN;
}

static int player_open(struct module *module, struct bgdma_endpoint_attr attr,
		       uint32_t *id, uint32_t *never)
{
	const struct test_operation ops[] = {
		{ "rts", on_rts, 0, &module->rts },
		{ "small", on_small, 0, id },
		{ "never", on_never, 0, never },
	};
	int ret = member_open(&module->m, &attr);

	return ret ? ret : member_commit(&module->m, ops, 3, module);
}

/* Nothing arrives that tells. */
static int until_set(struct module *module, const uint32_t *flag)
{
	__u64 end = now_ns() + PATIENCE_NS;

	while (!load(flag)) {
		require(now_ns() < end);
		require(bgdma_endpoint_progress(module->m.ep, 0) >= 0);
		usleep(100);
	}
	return 0;
}

/* ---- Those who are attacked ---------------------------------------------- */

static int victim(struct module *module, struct stage *s)
{
	static uint8_t mem[BYTES] PINNED, others[BYTES] PINNED;
	bool last;
	uint32_t i;

	require_is(0, until_set(module, &s->ready));
	/* What was announced before, and then that of the friend. */
	for (i = 0, last = false; !last; i++) {
		require_is(0, until_count(module, &module->announced, i + 1));
		last = module->kept[i].rank == FRIEND;
		require_is(0, take(module, i, (struct bgdma_accept_attr){
				.length = BYTES,
				.data = last ? mem : others }));
	}
	small.wanted = SMALL;
	require_is(0, member_until(&module->m, count_there, &small));
	while (!message_is(mem, BYTES, FRIEND))
		require(bgdma_endpoint_progress(module->m.ep, 0) >= 0);
	store(&s->over, 1);
	return 0;
}

static int friend(struct module *module, struct stage *s, uint32_t id)
{
	static uint8_t mem[BYTES] PINNED;
	uint32_t i;
	int ret;

	require_is(0, until_set(module, &s->ready));
	message_fill(mem, BYTES, FRIEND);
	for (i = 0; i < SMALL; i++) {
		while ((ret = bgdma_endpoint_send(module->m.ep,
				&(struct bgdma_send_attr){ .operation = id,
				.dest = VICTIM, .word = i })) == -EAGAIN)
			require(bgdma_endpoint_progress(module->m.ep, 0) >= 0);
		require_is(0, ret);
	}
	require_is(0, announce(module, (struct bgdma_rendezvous_attr){
			.dest = VICTIM, .length = BYTES, .data = mem }));
	return until_set(module, &s->over);
}

/* ---- Attacks ------------------------------------------------------------- */

static uint32_t never_id;

/* A packet of a data operation among those for which nobody waits. */
static int wrong_way(struct forger *f, struct stage *s)
{
	require_is(0, forge(f, VICTIM, CONTROL_FIFO, never_id, 0, "x", 1));
	store(&s->ready, 1);
	return 0;
}

static int announces(struct module *module)
{
	static uint8_t mem[BYTES] PINNED;
	struct bgdma_region *region;
	uint32_t i;

	if (module->m.rank == VICTIM)
		return until_count(module, &module->announced, SILENT);
	if (module->m.rank != ATTACKER)
		return 0;
	require_is(0, bgdma_region_register(bgdma_endpoint_ctx(module->m.ep),
					    mem, BYTES, BGDMA_LOCAL_READ,
					    &region));
	require_is(0, bgdma_endpoint_expose(module->m.ep, region,
					    BGDMA_RIGHT_READ));
	for (i = 0; i < SILENT; i++)
		require_is(0, announce(module, (struct bgdma_rendezvous_attr){
				.dest = VICTIM, .word = i, .length = BYTES,
				.from = { region, 0 } }));
	return 0;
}

/* All that it announced is answered, and it reads nothing of it. */
static int silence(struct forger *f, struct stage *s)
{
	(void)f;
	store(&s->ready, 1);
	return 0;
}

/* Room for one more of a flood; NULL: it is over, and the victim may have left. */
static struct bgdma_desc *flood_room(struct forger *f, const struct stage *s)
{
	struct bgdma_desc *desc = NULL;

	while (!load(&s->over) && !(desc = bgdma_inj_reserve(f->fifo)))
		(void)bgdma_inj_submit(f->fifo);
	return desc;
}

static int flood_packet(struct forger *f, const struct stage *s, uint32_t id,
			uint64_t word, const void *data, uint32_t bytes)
{
	struct bgdma_transfer t = forge_transfer(f, VICTIM, id, word, bytes);
	struct bgdma_desc *desc = flood_room(f, s);

	if (!desc)
		return 0;
	bgdma_desc_memfifo(desc, &t);
	bgdma_desc_inline(desc, data, bytes);
	return bgdma_inj_submit(f->fifo);
}

/* Messages that were never announced are given up; then the answers were lost. */
static int marks(struct forger *f, struct stage *s)
{
	uint32_t stop = forge_id("sys", "stop"), mark = forge_id("sys", "mark");
	struct stop_wire wire;
	uint32_t i;

	for (i = 1; i <= STOPS; i++) {
		wire.serial = __cpu_to_le32(i);
		require_is(0, flood_packet(f, s, stop,
				forge_word(0x10000 + i, 0), &wire,
				sizeof(wire)));
		if (i % 256 == 0)
			require(bgdma_endpoint_progress(f->module->m.ep,
							256) >= 0);
	}
	for (i = 0; !load(&s->over); i++) {
		require_is(0, flood_packet(f, s, mark, 0, NULL, 0));
		if (i == FIRST)
			store(&s->ready, 1);
	}
	return 0;
}

static int offers(struct module *module)
{
	static uint8_t mem[PORTIONS * 16] PINNED;
	struct bgdma_region *region;
	uint32_t i;

	if (module->m.rank != VICTIM)
		return 0;
	require_is(0, bgdma_region_register(bgdma_endpoint_ctx(module->m.ep),
					    mem, sizeof(mem), BGDMA_LOCAL_READ,
					    &region));
	for (i = 0; i < CHAINS; i++)
		require_is(0, announce(module, (struct bgdma_rendezvous_attr){
				.dest = ATTACKER, .word = i,
				.length = sizeof(mem), .from = { region, 0 },
				.portion = 16 }));
	return 0;
}

/* What its own queue holds, and where the victim's answers to probes lie. */
struct card {
	struct bgdma_peer at;
	uint32_t count, probes, resv;
	uint64_t digest;
};

/* Descriptors of the victim are refused, one after the other, that it never sent. */
static int refusals(struct forger *f, struct stage *s)
{
	struct bgdma_endpoint *ep = f->module->m.ep;
	const struct bgdma_peer *self = bgdma_endpoint_peer(ep, ATTACKER);
	struct bgdma_fifo_destroy gone = {
		.size = sizeof(gone), .kind = BGDMA_KIND_REC_FIFO,
		.id = CONTROL_FIFO,
	};
	struct bgdma_desc *desc = bgdma_region_addr(f->region);
	struct bgdma_transfer t = bgdma__no_transfer();
	struct card card;
	uint32_t i;

	require_is(sizeof(card), bgdma_job_get(f->module->m.job, VICTIM,
					       "0.card.0", &card, sizeof(card)));
	t.dest = self->node;
	t.dest_ctx = self->ctx;
	t.dest_fifo = 2;
	t.length = sizeof(*desc);
	t.from.region = card.probes;
	bgdma_desc_rget(desc, &t);
	require_is(0, ioctl(bgdma_ctx_fd(bgdma_endpoint_ctx(ep)),
			    BGDMA_IOC_FIFO_DESTROY, &gone));
	for (i = 0; !load(&s->over); i++) {
		desc = flood_room(f, s);
		if (!desc)
			break;
		t = forge_transfer(f, VICTIM, 0, 0, sizeof(*desc));
		t.cookie = 0;
		t.dest_fifo = 1;
		t.from.region = bgdma_region_handle(f->region);
		bgdma_desc_rget(desc, &t);
		(void)bgdma_inj_submit(f->fifo);
		if (bgdma_inj_state(f->fifo) == BGDMA_FIFO_ERROR)
			(void)bgdma_inj_clear_error(f->fifo, 0);
		if (i == FIRST)
			store(&s->ready, 1);
	}
	return 0;
}

/* ---- All of them ---------------------------------------------------------- */

static int attacker(struct module *module, struct stage *s)
{
	struct forger f;

	require_is(0, forger_open(&f, module));
	require_is(0, s->attack(&f, s));
	while (!load(&s->over))
		usleep(1000);
	_exit(0);
}

static int play(uint32_t rank, uint32_t size, void *arg)
{
	static struct module module;
	struct stage *s = arg;
	uint32_t id;

	(void)size;
	require_is(0, player_open(&module, s->attr, &id, &never_id));
	if (s->prepare)
		require_is(0, s->prepare(&module));
	require_is(0, bgdma_job_fence(module.m.job));
	if (rank == ATTACKER)
		return attacker(&module, s);
	require_is(0, rank == VICTIM ? victim(&module, s) :
				       friend(&module, s, id));
	return member_leave(&module.m);
}

static bool stage_run(struct stage stage)
{
	struct stage *s = shared(sizeof(*s));

	*s = stage;
	s->attr.channels = JOB;
	partition_new("3x1x1", "");
	return job_run(JOB, play, s, -1);
}

/* The friend's message ends by a packet of the control way. */
TEST(dp9_a_packet_in_the_wrong_way_stops_nobody)
{
	EXPECT_TRUE(stage_run((struct stage){
			.attr.counters = BGDMA_COUNTERS_SHARED,
			.attack = wrong_way }));
}

TEST(lc4_who_takes_no_answer_holds_up_nobody)
{
	EXPECT_TRUE(stage_run((struct stage){ .prepare = announces,
					      .attack = silence }));
}

TEST(x2_marks_without_end_keep_nobody_waiting)
{
	EXPECT_TRUE(stage_run((struct stage){ .attack = marks }));
}

TEST(x2_refusals_without_end_keep_nobody_waiting)
{
	EXPECT_TRUE(stage_run((struct stage){ .prepare = offers,
					      .attack = refusals }));
}

/* ---- Who comes to the place of the dead ---------------------------------- */

/* Its objects are open to the partition: there are more processes than grants. */
#define MANY	(BGDMA_GRANTS_MAX + 2)

struct many {
	uint32_t committed, told, sent, over;
	uint32_t node, ctx, id;
};

static int many_victim(struct module *module, struct many *m, uint32_t id)
{
	const struct bgdma_peer *self = bgdma_endpoint_peer(module->m.ep, 0);
	struct bgdma_endpoint_stats stats;

	m->node = self->node;
	m->ctx = self->ctx;
	m->id = id;
	/* Rank 1 is gone. */
	do {
		require(bgdma_endpoint_progress(module->m.ep, 0) >= 0);
		bgdma_endpoint_stats(module->m.ep, &stats);
	} while (!stats.trouble[BGDMA_TROUBLE_PEER_DOWN]);
	small.is = 0;
	store(&m->told, 1);
	require_is(0, until_set(module, &m->sent));
	while (bgdma_endpoint_progress(module->m.ep, 0))
		;
	bgdma_endpoint_stats(module->m.ep, &stats);
	require_is(1, stats.trouble[BGDMA_TROUBLE_STRANGER]);
	require_is(0, small.is);
	return 0;
}

static int many_play(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_endpoint_attr attr = {
		.data_bytes = 1 << 18, .copy_bytes = 1 << 16, .entries = 32,
		.channels = 1,
	};
	static struct module module;
	struct many *m = arg;
	uint32_t id;

	(void)size;
	require_is(0, player_open(&module, attr, &id, &never_id));
	__atomic_add_fetch(&m->committed, 1, __ATOMIC_SEQ_CST);
	require_is(0, until_set(&module, &m->committed));
	while (load(&m->committed) < MANY)
		usleep(1000);
	if (rank == 0)
		return many_victim(&module, m, id);
	while (rank != 1 && !load(&m->over))
		usleep(10000);
	return 0;
}

/* As rank 1 would have sent it. */
static int impostor(struct many *m)
{
	const struct bgdma_attach_attr attr = {
		.partition = PARTITION, .rank = 1,
	};
	struct bgdma_transfer t = bgdma__no_transfer();
	struct bgdma_inj_fifo *fifo;
	struct bgdma_desc *desc;
	struct bgdma_ctx *ctx;

	require_is(0, bgdma_attach(&ctx, &attr));
	require_is(0, bgdma_inj_create(ctx, NULL, &fifo));
	t.dest = m->node;
	t.dest_ctx = (uint16_t)m->ctx;
	t.dest_fifo = DATA_FIFO;
	t.dispatch = (uint16_t)m->id;
	t.cookie = (uint64_t)(m->id >> 16) << BGDMA_WORD_BITS;
	desc = bgdma_inj_reserve(fifo);
	bgdma_desc_memfifo(desc, &t);
	bgdma_desc_inline(desc, NULL, 0);
	require_is(0, bgdma_inj_submit(fifo));
	require_is(0, bgdma_inj_wait(fifo, 1, BGDMA_SPIN_THEN_SLEEP,
				     (int64_t)PATIENCE_NS));
	store(&m->sent, 1);
	bgdma_detach(ctx);
	return 0;
}

TEST(x2_who_comes_to_the_place_of_the_dead_is_not_it)
{
	struct many *m = shared(sizeof(*m));
	char dir[] = "/tmp/job.XXXXXX";
	pid_t pid[MANY];
	uint32_t i;
	int status;

	partition_new("80x1x1", "");
	must(mkdtemp(dir) ? 0 : -errno);
	must(setenv("BGDMA_JOB_DIR", dir, 1));
	must(setenv("BGDMA_PARTITION", PARTITION, 1));
	for (i = 0; i < MANY; i++)
		pid[i] = member_start(many_play, i, MANY, m);
	must(waitpid(pid[1], &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_TRUE(until(load(&m->told)));
	EXPECT_EQ(0, impostor(m));
	must(waitpid(pid[0], &status, 0));
	EXPECT_EQ(0, status);
	store(&m->over, 1);
	for (i = 2; i < MANY; i++) {
		kill(pid[i], SIGKILL);
		must(waitpid(pid[i], &status, 0));
	}
}

TEST_HARNESS_MAIN
