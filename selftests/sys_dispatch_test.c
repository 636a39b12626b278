// SPDX-License-Identifier: GPL-2.0
/*
 * The library's sys layer: registration and its commit, and the way of a packet
 * from one module to its like on another node.
 */
#include "kselftest_harness.h"
#include "sys_util.h"

static int nothing(void *arg, uint32_t rank, const struct bgdma_packet *packet)
{
	(void)arg;
	(void)rank;
	(void)packet;
	return 0;
}

static int operation(struct member *m, const char *module, const char *name,
		     enum bgdma_operation_type type, bgdma_packet_fn *fn,
		     void *arg, uint32_t *id)
{
	return bgdma_operation_register(m->ep, &(struct bgdma_operation_attr){
			.module = module, .name = name, .type = type,
			.packet = fn, .arg = arg }, id);
}

static int idle(struct member *m, const char *module, const char *name,
		enum bgdma_operation_type type, uint32_t *id)
{
	return operation(m, module, name, type, nothing, NULL, id);
}

/* ---- DP-1: identifiers ------------------------------------------------- */

/* Each process registers in another order, and all get the same identifiers. */
static int orders(uint32_t rank, uint32_t size, void *arg)
{
	static const char *const names[] = { "a", "b", "ab", "send", "put" };
	uint32_t ids[2][2][5], others[2][2][5], i, j, type, module;
	struct member m;

	(void)arg;
	(void)size;
	require_is(0, member_open(&m, NULL));
	for (i = 0; i < 20; i++) {
		j = (i * 7 + rank * 3) % 20;
		type = j / 10;
		module = j / 5 % 2;
		require_is(0, idle(&m, module ? "b" : "a", names[j % 5], type,
				   &ids[type][module][j % 5]));
	}
	for (i = 0; i < 20; i++)
		for (j = 0; j < i; j++)
			require((&ids[0][0][0])[i] != (&ids[0][0][0])[j]);
	require_is(0, bgdma_job_put(m.job, "ids", ids, sizeof(ids)));
	require_is(0, bgdma_endpoint_commit(m.ep, NULL));
	require_is(sizeof(ids), bgdma_job_get(m.job, (rank + 1) % m.size, "ids",
					      others, sizeof(others)));
	require(memcmp(ids, others, sizeof(ids)) == 0);
	require_is(-EBUSY, bgdma_endpoint_commit(m.ep, NULL));
	return member_close(&m);
}

TEST(dp1_identifiers_do_not_depend_on_the_order)
{
	partition_new("4x1x1", "");
	EXPECT_TRUE(job_run(4, orders, NULL, -1));
}

static int alone(uint32_t rank, uint32_t size, void *arg)
{
	char longest[BGDMA_OPERATION_NAME_MAX + 1];
	struct member m;
	uint32_t id, other;

	(void)rank;
	(void)size;
	(void)arg;
	memset(longest, 'x', sizeof(longest));
	longest[BGDMA_OPERATION_NAME_MAX] = '\0';
	require_is(0, member_open(&m, NULL));
	require_is(0, idle(&m, "m", "op", BGDMA_POINT_TO_POINT, &id));
	require_is(-EEXIST, idle(&m, "m", "op", BGDMA_POINT_TO_POINT, &other));
	require_is(0, idle(&m, "m", "op", BGDMA_COLLECTIVE, &other));
	require(id != other);
	require_is(-EINVAL, idle(&m, "", "op", 0, &id));
	require_is(-EINVAL, idle(&m, "m", NULL, 0, &id));
	require_is(-EINVAL, idle(&m, "m", "x", 2, &id));
	require_is(-EINVAL, operation(&m, "m", "x", 0, NULL, NULL, &id));
	require_is(-ENAMETOOLONG, idle(&m, longest, "x", 0, &id));
	require_is(-ENAMETOOLONG, idle(&m, "m", longest, 0, &id));
	require_is(0, idle(&m, "m", longest + 1, 0, &id));
	require_is(-EINVAL, bgdma_operation_register(m.ep,
			&(struct bgdma_operation_attr){
				.module = "m", .name = "x", .packet = nothing,
				.flags = 2 }, &id));

	/* Two names whose identifiers are the same by chance. */
	require_is(0, idle(&m, "test", "op273449", 0, &id));
	require_is(-EADDRINUSE, idle(&m, "test", "op86543", 0, &other));

	require_is(-ENOTCONN, bgdma_endpoint_progress(m.ep, 0));
	require_is(-ENOTCONN, bgdma_endpoint_wait(m.ep, 0));
	require_is(-ENOTCONN, bgdma_endpoint_send(m.ep,
			&(struct bgdma_send_attr){ .operation = id }));
	require(!bgdma_endpoint_peer(m.ep, 0));
	require_is(0, bgdma_endpoint_commit(m.ep, NULL));
	require_is(-EBUSY, idle(&m, "m", "late", 0, &id));
	require_is(bgdma_ctx_rank(bgdma_endpoint_ctx(m.ep)),
		   bgdma_endpoint_peer(m.ep, 0)->node);
	require(!bgdma_endpoint_peer(m.ep, 1));

	/* A number serves once: who was there last time is not there now. */
	bgdma_endpoint_destroy(m.ep);
	require_is(0, bgdma_endpoint_create(&m.ep,
			&(struct bgdma_endpoint_attr){ .job = m.job }));
	require_is(-EEXIST, bgdma_endpoint_commit(m.ep, NULL));
	bgdma_endpoint_destroy(m.ep);
	require_is(0, bgdma_endpoint_create(&m.ep,
			&(struct bgdma_endpoint_attr){ .job = m.job,
						       .number = 1 }));
	require_is(0, bgdma_endpoint_commit(m.ep, NULL));
	return member_close(&m);
}

TEST(dp1_what_is_refused)
{
	partition_new("1x1x1", "");
	EXPECT_TRUE(job_run(1, alone, NULL, -1));
}

/* All counters that there can be, but for some that are the user's. */
static int counters(uint32_t rank, uint32_t size, void *arg)
{
	const struct bgdma_endpoint_attr most = {
		.inj_counters = BGDMA_COUNTERS_MAX - 16,
		.rec_counters = BGDMA_COUNTERS_MAX - 16,
	};
	struct bgdma_counter *own[16];
	struct member m;

	(void)rank;
	(void)size;
	(void)arg;
	require_is(0, member_open(&m, &most));
	require_is(0, bgdma_endpoint_commit(m.ep, NULL));
	require_is(0, bgdma_counter_alloc_many(bgdma_endpoint_ctx(m.ep),
					       BGDMA_INJECTION, 16, 0, own));
	return member_close(&m);
}

TEST(lc3_as_many_counters_as_there_can_be)
{
	partition_new("1x1x1", "");
	EXPECT_TRUE(job_run(1, counters, NULL, -1));
}

/* ---- DP-1: disagreement ------------------------------------------------ */

struct quarrel {
	uint32_t who;
	const char *instead;	/* of "send"; NULL: nothing */
	uint32_t flags;
	enum bgdma_operation_type type;
	const char *name;	/* what all must be told */
	bool missing;
};

static int disagree(uint32_t rank, uint32_t size, void *arg)
{
	const struct quarrel *q = arg;
	struct bgdma_operation_attr attr = {
		.module = "msg", .name = "send", .packet = nothing,
	};
	struct bgdma_disagreement why;
	struct member m;
	uint32_t id;

	(void)size;
	require_is(0, member_open(&m, NULL));
	require_is(0, idle(&m, "rma", "put", BGDMA_POINT_TO_POINT, &id));
	if (rank == q->who) {
		attr.name = q->instead;
		attr.type = q->type;
		attr.flags = q->flags;
	}
	if (attr.name)
		require_is(0, bgdma_operation_register(m.ep, &attr, &id));
	require_is(-EPROTO, bgdma_endpoint_commit(m.ep, &why));
	require_is(q->who, why.rank);
	require_is(q->who, why.node);
	require(strcmp(why.module, "msg") == 0);
	require(strcmp(why.name, q->name) == 0);
	require_is(q->missing, why.missing);
	/* It is of no use any more. */
	require_is(-EBUSY, bgdma_endpoint_commit(m.ep, NULL));
	require_is(-ENOTCONN, bgdma_endpoint_send(m.ep,
			&(struct bgdma_send_attr){ .operation = id }));
	return member_close(&m);
}

TEST(dp1_disagreement_is_named_on_all)
{
	static struct quarrel quarrels[] = {
		{ .who = 2, .name = "send", .missing = true },
		{ .who = 1, .instead = "recv", .name = "recv" },
		{ .who = 3, .instead = "zend", .name = "send", .missing = true },
		{ .who = 3, .instead = "send", .flags = BGDMA_OPERATION_CONTROL,
		  .name = "send", .missing = true },
		{ .who = 1, .instead = "send", .type = BGDMA_COLLECTIVE,
		  .name = "send", .missing = true },
	};
	unsigned int i;

	partition_new("4x1x1", "");
	for (i = 0; i < sizeof(quarrels) / sizeof(quarrels[0]); i++) {
		TH_LOG("quarrel %u", i);
		EXPECT_TRUE(job_run(4, disagree, &quarrels[i], -1));
	}
}

/* As the registry tells the others what a process has. */
struct forged_card {
	struct bgdma_peer at;
	uint32_t count, probes, resv;
	uint64_t digest;
};

struct forged_entry {
	uint32_t type, flags;
	char module[BGDMA_OPERATION_NAME_MAX];
	char name[BGDMA_OPERATION_NAME_MAX];
};

/* Process 1 has no endpoint: it only says what it has. */
static int endless(uint32_t rank, uint32_t size, void *arg)
{
	const struct bgdma_job_attr job = {
		.wiring = "env", .timeout_ms = 20000 * slowness(),
	};
	struct forged_card card = { .count = 1 };
	struct bgdma_disagreement why;
	struct forged_entry entry;
	struct member m;

	(void)size;
	(void)arg;
	if (rank == 0) {
		require_is(0, member_open(&m, NULL));
		require_is(-EPROTO, bgdma_endpoint_commit(m.ep, &why));
		require(memchr(why.module, 0, sizeof(why.module)));
		require(memchr(why.name, 0, sizeof(why.name)));
		return member_close(&m);
	}
	memset(&entry, 'A', sizeof(entry));
	entry.type = 0;
	entry.flags = 0;
	require_is(0, bgdma_job_open(&m.job, &job));
	require_is(0, bgdma_job_put(m.job, "0.card.0", &card, sizeof(card)));
	require_is(0, bgdma_job_fence(m.job));
	require_is(0, bgdma_job_put(m.job, "0.op.0", &entry, sizeof(entry)));
	require_is(0, bgdma_job_fence(m.job));
	require_is(0, bgdma_job_fence(m.job));
	bgdma_job_close(m.job);
	return 0;
}

TEST(dp1_x2_names_of_a_disagreement_end)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, endless, NULL, -1));
}

/* ---- DP-2: two tables -------------------------------------------------- */

struct mark {
	struct count count;
	uint64_t word;
	uint32_t rank;
};

static int mark(void *arg, uint32_t rank, const struct bgdma_packet *packet)
{
	struct mark *mark = arg;

	mark->count.is++;
	mark->word = bgdma_packet_word(packet);
	mark->rank = rank;
	return 0;
}

/* Two operations that have the same identifier, one of each type. */
static int tables(uint32_t rank, uint32_t size, void *arg)
{
	struct mark point = { .count.wanted = 1 };
	struct mark collective = { .count.wanted = 1 };
	struct bgdma_send_attr send = { 0 };
	uint32_t a, b;
	struct member m;

	(void)arg;
	require_is(0, member_open(&m, NULL));
	require_is(0, operation(&m, "test", "op61242", BGDMA_POINT_TO_POINT,
				mark, &point, &a));
	require_is(0, operation(&m, "test", "op196733", BGDMA_COLLECTIVE, mark,
				&collective, &b));
	require_is(a, b);
	require_is(0, bgdma_endpoint_commit(m.ep, NULL));
	send.operation = a;
	send.dest = (rank + 1) % size;
	send.word = BGDMA_WORD_MASK;
	require_is(0, bgdma_endpoint_send(m.ep, &send));
	require_is(0, member_until(&m, count_there, &point.count));
	require_is(0, collective.count.is);
	require(point.word == BGDMA_WORD_MASK);
	require_is((rank + size - 1) % size, point.rank);
	require_is(0, bgdma_job_fence(m.job));

	send.type = BGDMA_COLLECTIVE;
	send.word = 0;
	require_is(0, bgdma_endpoint_send(m.ep, &send));
	require_is(0, member_until(&m, count_there, &collective.count));
	require_is(1, point.count.is);
	require(collective.word == 0);
	return member_close(&m);
}

TEST(dp2_the_same_number_in_both_tables)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, tables, NULL, -1));
}

/* ---- DP-4, DP-6: where the payload is, how it is cut ------------------- */

#define SIZES	12

static const uint32_t sizes[SIZES] = {
	0, 1, 8, 24, 25, 4095, 4096, 4097, 65536, 100000, 131072, 1000000,
};

/* Whether memory is a mapping of the device. */
static bool in_device(const void *p)
{
	unsigned long lo, hi;
	bool found = false;
	char line[256];
	FILE *maps = fopen("/proc/self/maps", "re");

	while (maps && !found && fgets(line, sizeof(line), maps))
		found = sscanf(line, "%lx-%lx", &lo, &hi) == 2 &&
			(uintptr_t)p >= lo && (uintptr_t)p < hi &&
			strstr(line, "bgdma");
	if (maps)
		fclose(maps);
	return found;
}

struct reader {
	struct count messages;
	uint64_t bytes;		/* of this message so far */
	uint32_t rank;
	bool wrong;
};

static int read_packet(void *arg, uint32_t rank,
		       const struct bgdma_packet *packet)
{
	const uint8_t *data = bgdma_packet_data(packet);
	struct reader *r = arg;
	uint32_t i;

	r->wrong |= !in_device(data) || rank != r->rank ||
		    packet->offset != r->bytes ||
		    packet->msg_length != sizes[r->messages.is % SIZES] ||
		    bgdma_packet_word(packet) != r->messages.is;
	for (i = 0; i < packet->bytes; i++)
		r->wrong |= data[i] != (uint8_t)(r->bytes + i + r->messages.is);
	r->bytes += packet->bytes;
	if (packet->flags & BGDMA_PACKET_LAST) {
		r->wrong |= r->bytes != packet->msg_length;
		r->bytes = 0;
		r->messages.is++;
	}
	return 0;
}

/* Each size from memory anywhere, which is copied, then from a region. */
static int cut_send(struct member *m, uint32_t id)
{
	static uint8_t mem[1000000];
	struct bgdma_ctx *ctx = bgdma_endpoint_ctx(m->ep);
	struct bgdma_send_attr send = { .operation = id, .dest = 1 };
	struct bgdma_region *region;
	struct bgdma_counter *counter;
	uint32_t i, j;
	bool copied;
	int ret;

	require_is(0, bgdma_counter_alloc(ctx, BGDMA_INJECTION, &counter));
	require_is(0, bgdma_region_register(ctx, mem, sizeof(mem),
					    BGDMA_LOCAL_READ, &region));
	for (i = 0; i < 2 * SIZES; i++) {
		send.length = sizes[i % SIZES];
		send.word = i;
		copied = i < SIZES && send.length <= 131072;
		for (j = 0; j < send.length; j++)
			mem[j] = (uint8_t)(j + i);
		send.data = copied ? mem : NULL;
		send.from.region = copied ? NULL : region;
		send.counter = copied ? NULL : counter;
		if (!copied) {
			bgdma_counter_clear_hit(counter);
			bgdma_counter_add(counter, (int64_t)send.length);
		}
		do {
			ret = bgdma_endpoint_send(m->ep, &send);
		} while (ret == -EAGAIN);
		require_is(0, ret);
		/* It is ours again: at once, or when the engine has read it. */
		if (!copied && send.length)
			require_is(0, bgdma_counter_wait(counter,
					BGDMA_SPIN_THEN_SLEEP,
					(int64_t)PATIENCE_NS));
		memset(mem, 0xee, send.length);
	}
	return 0;
}

/* Written for another's engine: what that would not find is refused. */
static int described(struct bgdma_endpoint *ep, uint32_t id)
{
	static const uint32_t self[] = { 0 };
	struct bgdma_send_attr attr = {
		.operation = id, .data = self, .length = BGDMA_INLINE_MAX + 1,
	};
	struct bgdma_counter *counter;
	struct bgdma_desc desc;

	require_is(0, bgdma_counter_alloc(bgdma_endpoint_ctx(ep),
					  BGDMA_INJECTION, &counter));
	require_is(-EMSGSIZE, bgdma_endpoint_describe(ep, &attr, &desc));
	attr.length = sizeof(self);
	require_is(0, bgdma_endpoint_describe(ep, &attr, &desc));
	require_is(BGDMA_OP_MEMFIFO, desc.op);
	require_is(0, memcmp(desc.u.inline_data, self, sizeof(self)));
	attr.counter = counter;
	require_is(-EINVAL, bgdma_endpoint_describe(ep, &attr, &desc));
	attr.counter = NULL;
	attr.dests = self;
	attr.dest_count = 1;
	require_is(-EINVAL, bgdma_endpoint_describe(ep, &attr, &desc));
	attr.dests = NULL;
	attr.dest = 2;
	require_is(-EINVAL, bgdma_endpoint_describe(ep, &attr, &desc));
	attr.dest = 0;
	attr.operation = id + 1;
	require_is(-EINVAL, bgdma_endpoint_describe(ep, &attr, &desc));
	bgdma_counter_free(counter);
	return 0;
}

static int cut(uint32_t rank, uint32_t size, void *arg)
{
	struct reader reader = { .messages.wanted = 2 * SIZES };
	struct bgdma_send_attr send = { .dest = 1 };
	struct member m;
	uint32_t id;

	(void)size;
	(void)arg;
	require_is(0, member_open(&m, NULL));
	require_is(0, operation(&m, "cut", "read", 0, read_packet, &reader,
				&id));
	require_is(0, bgdma_endpoint_commit(m.ep, NULL));
	if (rank == 0) {
		send.operation = id;
		send.data = &send;
		send.length = 131073;
		require_is(-EMSGSIZE, bgdma_endpoint_send(m.ep, &send));
		send.length = 1;
		send.data = NULL;
		require_is(-EINVAL, bgdma_endpoint_send(m.ep, &send));
		send.length = 0;
		send.word = BGDMA_WORD_MASK + 1;
		require_is(-EINVAL, bgdma_endpoint_send(m.ep, &send));
		send.word = 0;
		send.flags = BGDMA_DESC_OPS;
		require_is(-EINVAL, bgdma_endpoint_send(m.ep, &send));
		send.flags = 0;
		send.route = BGDMA_ROUTE_DEPOSIT;
		require_is(-EINVAL, bgdma_endpoint_send(m.ep, &send));
		send.route = 0;
		send.operation = id + 1;
		require_is(-EINVAL, bgdma_endpoint_send(m.ep, &send));
		send.operation = id;
		send.type = BGDMA_COLLECTIVE;
		require_is(-EINVAL, bgdma_endpoint_send(m.ep, &send));
		send.type = BGDMA_POINT_TO_POINT;
		send.dest = 2;
		require_is(-EINVAL, bgdma_endpoint_send(m.ep, &send));
		require_is(0, described(m.ep, id));
		require_is(0, cut_send(&m, id));
	} else {
		require_is(0, member_until(&m, count_there, &reader.messages));
		require(!reader.wrong);
	}
	return member_close(&m);
}

TEST(dp4_dp6_messages_of_all_sizes_are_read_in_place)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, cut, NULL, -1));
}

/* ---- DP-6: several targets --------------------------------------------- */

static int several(uint32_t rank, uint32_t size, void *arg)
{
	static const uint32_t all[] = { 1, 2, 3, 0 }, wrong[] = { 1, 9 };
	struct mark mark_here = { .count.wanted = 100 };
	struct bgdma_send_attr send = {
		.dests = all, .dest_count = 4, .data = "to all of you", .length = 14,
	};
	struct member m;
	uint32_t i, to;
	int ret;

	(void)arg;
	(void)size;
	require_is(0, member_open(&m, NULL));
	require_is(0, operation(&m, "m", "all", BGDMA_COLLECTIVE, mark,
				&mark_here, &send.operation));
	require_is(0, bgdma_endpoint_commit(m.ep, NULL));
	send.type = BGDMA_COLLECTIVE;
	for (i = 0; rank == 0 && i < 100; i++) {
		/* Where there was no room it goes on, to the rest. */
		for (to = 0; to < 4; to += (uint32_t)ret) {
			send.dests = all + to;
			send.dest_count = 4 - to;
			ret = bgdma_endpoint_send(m.ep, &send);
			if (ret == -EAGAIN)
				ret = 0;
			require(ret >= 0);
			bgdma_endpoint_progress(m.ep, 0);
		}
	}
	if (rank == 0) {
		send.dests = wrong;
		send.dest_count = 2;
		require_is(-EINVAL, bgdma_endpoint_send(m.ep, &send));
		send.dest_count = 0;
		require_is(0, bgdma_endpoint_send(m.ep, &send));
	}
	require_is(0, member_until(&m, count_there, &mark_here.count));
	require_is(0, bgdma_job_fence(m.job));
	require_is(0, bgdma_endpoint_progress(m.ep, 0));
	require_is(100, mark_here.count.is);
	return member_close(&m);
}

TEST(dp6_several_targets)
{
	partition_new("4x1x1", "");
	EXPECT_TRUE(job_run(4, several, NULL, -1));
}

/* ---- DP-5: modules that do not know each other ------------------------- */

#define MODULES		3
#define OPERATIONS	2
#define EACH		400	/* messages of each process */

/*
 * What an operation of a module expects: packets whose data name it. One that
 * lands elsewhere is found by the other's check.
 */
struct speaker {
	uint32_t module, operation, size;
	uint64_t seen;
	bool wrong;
	uint64_t next[RANKS_MAX];	/* number of the next from each */
};

struct speech {
	uint32_t from, module, operation, pad;
	uint64_t number;
	uint8_t more[64];
};

static int hear(void *arg, uint32_t rank, const struct bgdma_packet *packet)
{
	const struct speech *speech = bgdma_packet_data(packet);
	struct speaker *s = arg;

	s->wrong |= packet->bytes < offsetof(struct speech, more) ||
		    speech->from != rank || speech->module != s->module ||
		    speech->operation != s->operation ||
		    speech->number != s->next[rank]++;
	s->seen++;
	return 0;
}

struct crowd {
	struct speaker speaker[MODULES][OPERATIONS];
	uint64_t wanted;
};

static bool crowd_heard(void *arg)
{
	struct crowd *crowd = arg;
	uint64_t seen = 0;
	uint32_t i;

	for (i = 0; i < MODULES * OPERATIONS; i++)
		seen += crowd->speaker[i / OPERATIONS][i % OPERATIONS].seen;
	return seen == crowd->wanted;
}

static int modules(uint32_t rank, uint32_t size, void *arg)
{
	static const char *const names[MODULES] = { "msg", "rma", "coll" };
	static uint64_t sent[RANKS_MAX][MODULES][OPERATIONS];
	static struct crowd crowd;
	const struct bgdma_endpoint_attr *attr = arg;
	uint32_t ids[MODULES][OPERATIONS], i, to;
	struct bgdma_send_attr send = { 0 };
	uint64_t seed = rank;
	struct speech speech = { .from = rank };
	struct member m;
	int ret;

	require_is(0, member_open(&m, attr));
	for (i = 0; i < MODULES * OPERATIONS; i++) {
		struct speaker *s = &crowd.speaker[i / 2][i % 2];

		s->module = i / 2;
		s->operation = i % 2;
		/* The second of each is short, and goes the control way. */
		require_is(0, bgdma_operation_register(m.ep,
				&(struct bgdma_operation_attr){
				.module = names[i / 2],
				.name = i % 2 ? "second" : "first",
				.type = i / 2 == 2, .packet = hear, .arg = s,
				.flags = i % 2 ? BGDMA_OPERATION_CONTROL : 0,
				}, &ids[i / 2][i % 2]));
	}
	require_is(0, bgdma_endpoint_commit(m.ep, NULL));
	crowd.wanted = (uint64_t)EACH * size;
	for (i = 0; i < EACH * size; i++) {
		to = i % size;
		speech.module = number_next(&seed) % MODULES;
		speech.operation = number_next(&seed) % OPERATIONS;
		speech.number = sent[to][speech.module][speech.operation]++;
		send.dest = to;
		send.operation = ids[speech.module][speech.operation];
		send.type = speech.module == 2;
		send.data = &speech;
		/* Inline, and copied. */
		send.length = number_next(&seed) % 2 ? 24 : sizeof(speech);
		while ((ret = bgdma_endpoint_send(m.ep, &send)) == -EAGAIN)
			bgdma_endpoint_progress(m.ep, 0);
		require_is(0, ret);
	}
	require_is(0, member_until(&m, crowd_heard, &crowd));
	for (i = 0; i < MODULES * OPERATIONS; i++)
		require(!crowd.speaker[i / 2][i % 2].wrong);
	require_is(0, bgdma_job_fence(m.job));
	/* Once each: what comes now only tells of room in our own channels. */
	require(bgdma_endpoint_progress(m.ep, 0) >= 0);
	require(crowd_heard(&crowd));
	return member_close(&m);
}

TEST(dp5_modules_do_not_see_each_other)
{
	partition_new("4x1x1", "");
	EXPECT_TRUE(job_run(4, modules, NULL, -1));
}

/* Small FIFOs: all the time something is full. */
TEST(dp5_modules_in_small_fifos)
{
	struct bgdma_endpoint_attr attr = {
		.entries = 16, .channels = 2, .control_bytes = 16384,
		.data_bytes = 16384, .copy_bytes = 65536,
	};

	partition_new("4x1x1", "");
	EXPECT_TRUE(job_run(4, modules, &attr, -1));
}

TEST_HARNESS_MAIN
