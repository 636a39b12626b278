// SPDX-License-Identifier: GPL-2.0
/*
 * A process of the job that forges control packets of the sys layer: of its own
 * messages, and of those of others. It can spoil its own; all others arrive, the
 * packets that mean nothing are counted (DP-9), and nothing is left.
 */
#include "kselftest_harness.h"
#include "sys_forge.h"

enum { VICTIM = 0, FRIEND = 1, FORGER = 2, JOB = 3 };

#define BYTES	5000
#define PORTION	1000	/* of a paced message */

/* MIXED: a chain of which the victim has every other portion in packets. */
enum mode { WHOLE, CHAIN, PACKETS, MIXED, MODES };

/*
 * The victim has two messages with the friend and two with the forger, one of
 * each way. A word names one of them by the token of one side.
 */
enum names {
	NOTHING,
	NUMBER,		/* @number */
	SENT,		/* the victim's token of what it sends */
	COMING,		/* the victim's token of what comes */
	ORIGIN,		/* the other side's token of what comes */
	FRIENDS = 0x10	/* the message with the friend, not with the forger */
};

#define GOES_ON	1	/* no result */

struct forgery {
	const char *operation;
	unsigned int high, low;		/* halves of the word */
	uint32_t number;
	uint32_t length;
	union {
		struct took_wire took;
		struct tail_wire tail;
		struct cut_wire cut;
		struct stop_wire stop;
		uint8_t bytes[FORGED_MAX];
	};
	unsigned int times;		/* 0: once */
	bool there;			/* made by the victim's engine */
	bool malformed;			/* as the victim sees it */
	bool wrong_serial;
	enum mode sent, coming;		/* of the forger's messages */
	int result;			/* of the one that the victim sends */
	uint32_t portion;		/* at which it is said to have failed */
};

#define TOOK(bytes_, refused_, chains_)					\
	.operation = "took", .length = sizeof(struct took_wire), .took = {\
	__cpu_to_le64(bytes_), __cpu_to_le32(refused_), __cpu_to_le32(chains_) }
#define CUT(code_, portion_, by_origin_)				\
	.operation = "cut", .length = sizeof(struct cut_wire), .cut = {	\
	__cpu_to_le32(code_), __cpu_to_le32(portion_),			\
	__cpu_to_le32(by_origin_), 0 }
#define TAIL(length_)	.operation = "tail", .length = (length_)
#define PIECE(portion_, length_)					\
	.operation = "piece", .high = NUMBER, .number = (portion_),	\
	.length = (length_)
#define STOP	.operation = "stop", .length = sizeof(struct stop_wire)
#define MALFORMED	.malformed = true, .result = GOES_ON
#define IGNORED		.result = GOES_ON

/* More than there is, no chain, too many; not of that length. */
static const struct forgery tooks[] = {
	{ TOOK(BYTES + 1, 0, 1), .high = SENT, MALFORMED },
	{ TOOK(~TOOK_STOPPED, 0, 1), .high = SENT, MALFORMED },
	{ TOOK(BYTES, 0, 0), .high = SENT, MALFORMED },
	{ TOOK(BYTES, 0, 2), .high = SENT, MALFORMED },
	{ TOOK(BYTES, 0, 3), .high = SENT, .sent = CHAIN, MALFORMED },
	{ .operation = "took", .length = 8, .high = SENT, MALFORMED },
	{ .operation = "took", .high = SENT, MALFORMED },
	{ .operation = "took", .length = 24, .high = SENT, MALFORMED },
	{ TOOK(0, 1, 1), .high = SENT | FRIENDS, IGNORED },
	{ TOOK(0, 1, 1), .high = COMING, IGNORED },
	{ TOOK(0, 1, 1), .high = COMING | FRIENDS, IGNORED },
	{ TOOK(0, 1, 1), IGNORED },
	{ TOOK(0, 1, 1), .high = NUMBER, .number = 0xffffff, IGNORED },
	/* Twice; nothing, a part, or until it was stopped. */
	{ TOOK(0, 1, 1), .high = SENT, .times = 2, .result = -ECANCELED },
	{ TOOK(BYTES / 2, 0, 1), .high = SENT, .times = 2 },
	{ TOOK(BYTES / 2, 0, 1), .high = SENT, .sent = CHAIN, .times = 3 },
	{ TOOK(TOOK_STOPPED, 0, 2), .high = SENT, .sent = CHAIN, .times = 3,
	  .result = -ECANCELED, .portion = 1 },
};

/* For one that has a counter, of a wrong length, of others. */
static const struct forgery tails[] = {
	{ TAIL(3), .high = ORIGIN, .low = COMING, MALFORMED },
	{ TAIL(0), .high = ORIGIN, .low = COMING, MALFORMED },
	{ TAIL(17), .high = ORIGIN, .low = COMING, MALFORMED },
	{ TAIL(16), .high = ORIGIN, .low = COMING, .coming = CHAIN, MALFORMED },
	{ TAIL(16), .high = ORIGIN, .low = COMING, .coming = MIXED, MALFORMED },
	{ TAIL(8), .high = ORIGIN, .low = COMING, .coming = PACKETS,
	  MALFORMED },
	{ TAIL(16), .high = ORIGIN | FRIENDS, .low = COMING | FRIENDS, IGNORED },
	{ TAIL(16), .high = NUMBER, .number = 0x123456, .low = COMING, IGNORED },
	{ TAIL(16), .high = SENT, .low = SENT, IGNORED },
};

/* Which portion, beyond the end, of a message that has none. */
static const struct forgery pieces[] = {
	{ PIECE(0, 100), .low = COMING, .coming = PACKETS, MALFORMED },
	{ PIECE(6, 100), .low = COMING, .coming = PACKETS, MALFORMED },
	{ PIECE(0xffffff, 0), .low = COMING, .coming = PACKETS, MALFORMED },
	{ PIECE(5, 1001), .low = COMING, .coming = PACKETS, MALFORMED },
	{ PIECE(1, 100), .low = COMING, MALFORMED },
	{ PIECE(1, 100), .low = COMING, .coming = CHAIN, MALFORMED },
	/* Every other one is in packets; more of those than there are. */
	{ PIECE(1, 100), .low = COMING, .coming = MIXED, MALFORMED },
	{ PIECE(5, 100), .low = COMING, .coming = MIXED, MALFORMED },
	{ PIECE(6, 100), .low = COMING, .coming = MIXED, MALFORMED },
	{ PIECE(4, 2001), .low = COMING, .coming = MIXED, MALFORMED },
	{ PIECE(2, PORTION), .low = COMING, .coming = MIXED, .times = 9,
	  IGNORED },
	{ PIECE(1, 100), .low = COMING | FRIENDS, IGNORED },
	{ PIECE(1, 100), .low = SENT, .sent = PACKETS, IGNORED },
	{ PIECE(1, 100), .low = SENT | FRIENDS, IGNORED },
};

/* No error, of others, with portions that there are not. */
static const struct forgery cuts[] = {
	{ CUT(BGDMA_OK, 0, 0), .high = SENT, MALFORMED },
	{ .operation = "cut", .length = 8, .high = SENT, MALFORMED },
	{ .operation = "cut", .high = SENT, MALFORMED },
	{ CUT(BGDMA_E_ABORTED, 1, 0), .high = SENT | FRIENDS, IGNORED },
	{ CUT(BGDMA_E_ABORTED, 1, 1), .high = ORIGIN | FRIENDS, IGNORED },
	{ CUT(BGDMA_E_ABORTED, 1, 0), .high = COMING | FRIENDS, IGNORED },
	{ CUT(BGDMA_E_CANCELLED, 6, 0), .high = SENT, .sent = CHAIN,
	  .result = -ECANCELED },
	{ CUT(BGDMA_E_CANCELLED, 0xffffffff, 0), .high = SENT,
	  .result = -ECANCELED },
	{ CUT(BGDMA_E_CANCELLED, 3, 0), .high = SENT, .sent = CHAIN,
	  .result = -ECANCELED, .portion = 3 },
	{ CUT(0xdeadbeef, 0, 0), .high = SENT, .result = -EIO },
	{ CUT(BGDMA_E_ABORTED, 0, 0), .high = SENT, .wrong_serial = true,
	  IGNORED },
};

static const struct forgery others[] = {
	/* Stop: of a wrong length, of others. */
	{ .operation = "stop", .length = 4, .high = ORIGIN, MALFORMED },
	{ .operation = "stop", .high = ORIGIN, MALFORMED },
	{ STOP, .high = ORIGIN | FRIENDS, IGNORED },

	/* Mark and probe: of all there will ever be, of others. */
	{ .operation = "mark", .high = NUMBER, .number = 0xffffff, IGNORED },
	{ .operation = "mark", .high = NUMBER, .number = 0xffffff,
	  .coming = CHAIN, .times = 50, IGNORED },
	{ .operation = "probe", .high = ORIGIN, .coming = CHAIN, IGNORED },
	{ .operation = "probe", .high = ORIGIN | FRIENDS, .times = 50, IGNORED },

	/* Room: nobody else tells of it, not even by the victim's engine. */
	{ .operation = "room", MALFORMED },
	{ .operation = "room", .there = true, MALFORMED },
	{ .operation = "room", .high = NUMBER, .number = 0xffffff, MALFORMED },
	{ TOOK(0, 1, 1), .high = SENT | FRIENDS, .there = true, IGNORED },
};

/* What all three see. */
struct stage {
	struct bgdma_endpoint_attr attr;
	const struct forgery *forgery;
	unsigned int rounds;		/* a forgery each */
	uint32_t sent[JOB], coming[JOB], origin[JOB], serial[JOB];
};

struct message {
	uint8_t *mem;
	bool ended;
	int result;
};

/* One process, and its messages of a round, by the rank of the other side. */
struct player {
	struct module module;
	struct stage *stage;
	struct forger forger;
	struct message sent[JOB], coming[JOB];
	struct bgdma_endpoint_stats stats;	/* before the forgery */
	uint32_t heard;			/* announcements so far */
};

static uint8_t memory[2][JOB][2 * PAGE] PINNED;

static void message_done(void *arg, int result, uint64_t bytes)
{
	struct message *m = arg;

	(void)bytes;
	m->ended = true;
	m->result = result;
}

/* Announce a message to a process. */
static int player_send(struct player *p, uint32_t to, enum mode mode,
		       struct bgdma_region *from)
{
	struct message *m = &p->sent[to];
	bool victim = p->module.m.rank == VICTIM;
	const struct bgdma_rendezvous_attr attr = {
		.operation = p->module.rts, .dest = to, .length = BYTES,
		.data = from ? NULL : memory[0][to], .from = { from, 0 },
		.portion = mode == WHOLE ? BGDMA_PORTION_WHOLE : PORTION,
		.in_flight = 2, .portions = mode == PACKETS ?
			BGDMA_PORTIONS_PACKETS : BGDMA_PORTIONS_PUT,
		.done = message_done, .arg = m,
		.id = victim ? &p->stage->sent[to] : NULL,
	};

	*m = (struct message){ .mem = memory[0][to] };
	message_fill(m->mem, BYTES, to);
	return bgdma_rendezvous_send(p->module.m.ep, &attr);
}

static enum bgdma_portions every_other(void *arg, uint32_t portion,
				       uint64_t offset, uint64_t length)
{
	(void)arg;
	(void)offset;
	(void)length;
	return portion % 2 ? BGDMA_PORTIONS_PUT : BGDMA_PORTIONS_PACKETS;
}

/* Accept a message that was announced. */
static int player_accept(struct player *p, const struct bgdma_rts *rts,
			 enum mode mode)
{
	struct message *m = &p->coming[rts->rank];
	struct stage *s = p->stage;
	struct bgdma_accept_attr attr = {
		.length = BYTES, .done = message_done, .arg = m,
		.way = mode == MIXED ? every_other : NULL,
	};

	*m = (struct message){ .mem = memory[1][rts->rank] };
	attr.data = m->mem;
	if (p->module.m.rank == VICTIM) {
		s->origin[rts->rank] = rts->token;
		s->serial[rts->rank] = rts->serial;
		attr.id = &s->coming[rts->rank];
	}
	memset(m->mem, 0xee, BYTES);
	return bgdma_rendezvous_accept(p->module.m.ep, rts, &attr);
}

static bool message_there(void *arg)
{
	return ((struct message *)arg)->ended;
}

/* Wait for the end of a message that came from @rank, if it goes well. */
static int player_until(struct player *p, struct message *m, uint32_t rank,
			int result)
{
	require_is(0, member_until(&p->module.m, message_there, m));
	require_is(result, m->result);
	if (!result && m == &p->coming[rank])
		require(message_is(m->mem, BYTES, p->module.m.rank));
	return 0;
}

/* The next announcements, of which there are so many. */
static int player_hear(struct player *p, uint32_t n, struct bgdma_rts *rts)
{
	int ret = until_count(&p->module, &p->module.announced, p->heard + n);

	memcpy(rts, &p->module.kept[p->heard], n * sizeof(*rts));
	p->heard += n;
	return ret;
}

static int player_fence(struct player *p)
{
	return bgdma_job_fence(p->module.m.job);
}

/* ---- The forger --------------------------------------------------------- */

static uint32_t name_of(const struct stage *s, const struct forgery *f,
			unsigned int name)
{
	uint32_t rank = name & FRIENDS ? FRIEND : FORGER;

	switch (name & ~FRIENDS) {
	case NUMBER:
		return f->number;
	case SENT:
		return s->sent[rank];
	case COMING:
		return s->coming[rank];
	case ORIGIN:
		return s->origin[rank];
	default:
		return 0;
	}
}

/* A message whose memory is gone when it is accepted: it can only fail. */
static int hollow_send(struct player *p, enum mode mode)
{
	struct bgdma_endpoint *ep = p->module.m.ep;
	struct bgdma_region *region;

	require_is(0, bgdma_region_register(bgdma_endpoint_ctx(ep),
			memory[0][JOB - 1], BYTES, BGDMA_LOCAL_READ, &region));
	require_is(0, bgdma_endpoint_expose(ep, region, BGDMA_RIGHT_READ));
	require_is(0, player_send(p, VICTIM, mode, region));
	return bgdma_region_free(region);
}

/* @serial: of the message from the victim, which a cut has to name. */
static int forgery_send(struct player *p, const struct forgery *f,
			uint32_t serial)
{
	uint64_t word = forge_word(name_of(p->stage, f, f->high),
				   name_of(p->stage, f, f->low));
	uint32_t id = forge_id("sys", f->operation);
	struct forgery copy = *f;
	unsigned int i;

	if (!strcmp(f->operation, "stop"))
		copy.stop.serial = __cpu_to_le32(p->stage->serial[FRIEND]);
	if (f->length == sizeof(copy.cut) && !strcmp(f->operation, "cut"))
		copy.cut.serial = __cpu_to_le32(serial + f->wrong_serial);
	for (i = 0; i < (f->times ? f->times : 1); i++)
		require_is(0, f->there ?
			   forge_there(&p->forger, VICTIM, id, word, copy.bytes,
				       f->length) :
			   forge(&p->forger, VICTIM, CONTROL_FIFO, id, word,
				 copy.bytes, f->length));
	return 0;
}

static int forger_round(struct player *p, const struct forgery *f)
{
	struct bgdma_rts rts;

	require_is(0, hollow_send(p, f->coming));
	require_is(0, player_hear(p, 1, &rts));
	require_is(0, player_fence(p));
	require_is(0, player_fence(p));
	require_is(0, forgery_send(p, f, rts.serial));
	require_is(0, player_fence(p));
	require_is(0, player_fence(p));
	if (f->result == GOES_ON) {
		require_is(0, player_accept(p, &rts, f->sent));
		require_is(0, player_until(p, &p->coming[VICTIM], VICTIM, 0));
	}
	require_is(0, member_until(&p->module.m, message_there,
				   &p->sent[VICTIM]));
	require(p->sent[VICTIM].result);
	return 0;
}

/* ---- The others --------------------------------------------------------- */

/* What the victim and the friend send each other: all pairs of modes. */
static enum mode friend_sends(unsigned int round)
{
	return round % MODES;
}

static enum mode friend_gets(unsigned int round)
{
	return round / MODES % MODES;
}

static int friend_round(struct player *p, unsigned int round)
{
	struct bgdma_rts rts;
	unsigned int i;

	require_is(0, player_send(p, VICTIM, friend_sends(round), NULL));
	require_is(0, player_hear(p, 1, &rts));
	for (i = 0; i < 4; i++)
		require_is(0, player_fence(p));
	require_is(0, player_accept(p, &rts, friend_gets(round)));
	require_is(0, player_until(p, &p->coming[VICTIM], VICTIM, 0));
	return player_until(p, &p->sent[VICTIM], VICTIM, 0);
}

/* One to itself, without an answer: so its tokens are not the forger's. */
static int friend_begin(struct player *p)
{
	struct bgdma_rts ignored;

	require_is(0, player_send(p, FRIEND, WHOLE, NULL));
	return player_hear(p, 1, &ignored);
}

/*
 * Whether what the forger sends may have failed before the forgery is looked at:
 * the end of a friend's chain without counters has the victim look at events.
 */
static bool may_be_over(const struct player *p, const struct forgery *f)
{
	return f->low == COMING &&
	       p->stage->attr.counters == BGDMA_COUNTERS_SHARED;
}

/* What the forgery has done to the victim, who sees it now for the first time. */
static int victim_looks(struct player *p, const struct forgery *f)
{
	struct bgdma_endpoint_stats stats;
	unsigned int i;

	bgdma_endpoint_stats(p->module.m.ep, &p->stats);
	p->module.portion = 0;
	require(bgdma_endpoint_progress(p->module.m.ep, 1000) >= 0);
	bgdma_endpoint_stats(p->module.m.ep, &stats);
	for (i = 0; i < BGDMA_TROUBLE_PORTION; i++)
		if (i != BGDMA_TROUBLE_MALFORMED || !may_be_over(p, f))
			require_is(i == BGDMA_TROUBLE_MALFORMED && f->malformed,
				   stats.trouble[i] - p->stats.trouble[i]);
	require(!p->sent[FRIEND].ended);
	if (f->result != GOES_ON)
		require_is(0, player_until(p, &p->sent[FORGER], FORGER,
					   f->result));
	require_is(f->result != GOES_ON, p->sent[FORGER].ended);
	if (f->coming == WHOLE)
		require_is(f->portion, p->module.portion);
	return 0;
}

static int victim_round(struct player *p, const struct forgery *f,
			unsigned int round)
{
	struct module *module = &p->module;
	struct bgdma_rts rts[2];
	unsigned int i;

	require_is(0, player_send(p, FRIEND, friend_gets(round), NULL));
	require_is(0, player_send(p, FORGER, f->sent, NULL));
	require_is(0, player_hear(p, 2, rts));
	require_is(0, player_fence(p));
	for (i = 0; i < 2; i++)
		require_is(0, player_accept(p, &rts[i], rts[i].rank == FORGER ?
					    f->coming : friend_sends(round)));
	require_is(0, player_fence(p));
	require_is(0, player_fence(p));
	if (victim_looks(p, f))
		return 1;
	require_is(0, player_fence(p));
	require_is(0, player_until(p, &p->sent[FRIEND], FRIEND, 0));
	require_is(0, player_until(p, &p->coming[FRIEND], FRIEND, 0));
	if (f->result == GOES_ON)
		require_is(0, player_until(p, &p->sent[FORGER], FORGER, 0));
	require_is(0, member_until(&module->m, message_there,
				   &p->coming[FORGER]));
	require(p->coming[FORGER].result);
	/*
	 * Nothing is left of any; but who says falsely that it took a part leaves the
	 * rest of it on a shared counter, until something fails there.
	 */
	if (f->result || strcmp(f->operation, "took"))
		require_is(0, counters_empty(module, BGDMA_INJECTION));
	require_is(0, counters_empty(module, BGDMA_RECEPTION));
	require_is(module->regions, regions_seen(module->m.ep));
	return 0;
}

static int player_round(struct player *p, unsigned int round)
{
	const struct forgery *f = &p->stage->forgery[round];

	if (p->module.m.rank == VICTIM)
		return victim_round(p, f, round);
	if (p->module.m.rank == FRIEND)
		return friend_round(p, round);
	return forger_round(p, f);
}

static int play(uint32_t rank, uint32_t size, void *arg)
{
	static struct player player;
	struct module *module = &player.module;
	unsigned int round;

	(void)size;
	player.stage = arg;
	require_is(0, module_open(module, player.stage->attr));
	require_is(forge_id("m", "rts"), module->rts);
	if (rank == FORGER)
		require_is(0, forger_open(&player.forger, module));
	if (rank == FRIEND)
		require_is(0, friend_begin(&player));
	/* Nobody announces anything to the friend before that. */
	require_is(0, player_fence(&player));
	for (round = 0; round < player.stage->rounds; round++) {
		if (!player_round(&player, round))
			continue;
		fprintf(stderr, "# rank %u: forgery %u, a %s\n", rank, round,
			player.stage->forgery[round].operation);
		return 1;
	}
	return member_close(&module->m);
}

/* With counters for each message, and with a shared one. */
static bool play_run(const struct forgery *forgery, unsigned int rounds)
{
	struct stage *stage = shared(sizeof(*stage));

	partition_new("3x1x1", "");
	stage->forgery = forgery;
	stage->rounds = rounds;
	if (!job_run(JOB, play, stage, -1))
		return false;
	stage->attr.counters = BGDMA_COUNTERS_SHARED;
	return job_run(JOB, play, stage, -1);
}

#define RUN(row)	play_run(row, sizeof(row) / sizeof((row)[0]))

TEST(dp9_lc2_lc3_forged_took)
{
	EXPECT_TRUE(RUN(tooks));
}

TEST(dp9_lc3_forged_tail)
{
	EXPECT_TRUE(RUN(tails));
}

TEST(dp9_sp5_forged_piece)
{
	EXPECT_TRUE(RUN(pieces));
}

TEST(dp9_lc3_sp3a_forged_cut)
{
	EXPECT_TRUE(RUN(cuts));
}

TEST(dp9_lc3_forged_stop_mark_probe_room)
{
	EXPECT_TRUE(RUN(others));
}

TEST_HARNESS_MAIN
