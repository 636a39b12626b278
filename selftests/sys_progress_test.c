// SPDX-License-Identifier: GPL-2.0
/*
 * The library's sys layer: what goes wrong (DP-9, X-3), and who makes progress.
 */
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

#include "kselftest_harness.h"
#include "sys_util.h"

/* ---- A module that counts ---------------------------------------------- */

struct trouble {
	uint64_t count[BGDMA_TROUBLE_COUNT];
	struct bgdma_trouble_info last[BGDMA_TROUBLE_COUNT];
};

static void on_trouble(void *arg, const struct bgdma_trouble_info *info)
{
	struct trouble *t = arg;

	t->count[info->trouble]++;
	t->last[info->trouble] = *info;
}

struct module {
	struct member m;
	struct trouble trouble;
	uint32_t data, control;	/* identifiers */
	uint64_t data_seen, control_seen;
	bool closed;		/* data is not wanted now */
	bool bad;		/* it is malformed */
	struct count wanted;	/* moved by both */
};

static int on_data(void *arg, uint32_t rank, const struct bgdma_packet *packet)
{
	struct module *module = arg;

	(void)rank;
	(void)packet;
	if (module->closed)
		return -EAGAIN;
	if (module->bad)
		return -EBADMSG;
	module->data_seen++;
	module->wanted.is++;
	return 0;
}

static int on_control(void *arg, uint32_t rank,
		      const struct bgdma_packet *packet)
{
	struct module *module = arg;

	(void)rank;
	(void)packet;
	module->control_seen++;
	module->wanted.is++;
	return 0;
}

static int module_open(struct module *module, struct bgdma_endpoint_attr attr)
{
	const struct test_operation ops[] = {
		{ "data", on_data, 0, &module->data },
		{ "control", on_control, BGDMA_OPERATION_CONTROL,
		  &module->control },
	};
	int ret;

	attr.trouble = on_trouble;
	attr.arg = &module->trouble;
	ret = member_open(&module->m, &attr);
	return ret ? ret : member_commit(&module->m, ops, 2, module);
}

static int say(struct module *module, uint32_t operation, uint32_t dest)
{
	return bgdma_endpoint_send(module->m.ep, &(struct bgdma_send_attr){
			.operation = operation, .dest = dest, .data = "hello",
			.length = 5 });
}

static int module_until(struct module *module, uint64_t wanted)
{
	module->wanted.wanted = wanted;
	return member_until(&module->m, count_there, &module->wanted);
}

/* ---- DP-9 -------------------------------------------------------------- */

static bool trouble_there(void *arg)
{
	struct count *c = arg;

	return *(uint64_t *)(uintptr_t)c->is >= c->wanted;
}

static int trouble_until(struct module *module, enum bgdma_trouble which,
			 uint64_t wanted)
{
	struct count c = { (uintptr_t)&module->trouble.count[which], wanted };

	return member_until(&module->m, trouble_there, &c);
}

/* Packets that no module sends: @cookie and @dispatch as they are. */
static int forge(struct bgdma_inj_fifo *fifo, const struct bgdma_peer *to,
		 uint64_t cookie, uint16_t dispatch)
{
	uint64_t seq = bgdma_inj_next(fifo);

	require_is(0, bgdma_memfifo(fifo, &(struct bgdma_memfifo_attr){
			.dest = to->node, .dest_ctx = to->ctx, .fifo = 1,
			.data = "?", .length = 1, .cookie = cookie,
			.dispatch = dispatch }));
	require_is(0, bgdma_inj_wait(fifo, seq + 1, BGDMA_SPIN_THEN_SLEEP,
				     (int64_t)PATIENCE_NS));
	return 0;
}

static int unknown(uint32_t rank, uint32_t size, void *arg)
{
	static struct module module;
	const struct bgdma_trouble_info *last;
	struct bgdma_endpoint_stats stats;
	struct bgdma_inj_fifo *fifo;
	const struct bgdma_peer *to;

	(void)size;
	(void)arg;
	require_is(0, module_open(&module, (struct bgdma_endpoint_attr){ 0 }));
	if (rank == 0) {
		to = bgdma_endpoint_peer(module.m.ep, 1);
		require_is(0, bgdma_inj_create(bgdma_endpoint_ctx(module.m.ep),
					       NULL, &fifo));
		require_is(0, say(&module, module.data, 1));
		require_is(0, forge(fifo, to, 1ULL << 63 | 5ULL << 48, 0x77));
		require_is(0, forge(fifo, to, 0, 0));
		/* The right number, in the wrong table. */
		require_is(0, forge(fifo, to, 1ULL << 63 |
				    (uint64_t)(module.data >> 16) << 48,
				    (uint16_t)module.data));
		require_is(0, say(&module, module.data, 1));
		require_is(0, bgdma_job_fence(module.m.job));
		return member_close(&module.m);
	}
	require_is(0, bgdma_job_fence(module.m.job));
	require_is(0, module_until(&module, 2));
	require_is(0, trouble_until(&module, BGDMA_TROUBLE_UNKNOWN, 3));
	require_is(3, module.trouble.count[BGDMA_TROUBLE_UNKNOWN]);
	last = &module.trouble.last[BGDMA_TROUBLE_UNKNOWN];
	require_is(0, last->rank);
	require_is(BGDMA_COLLECTIVE, last->type);
	require_is(module.data, last->operation);
	bgdma_endpoint_stats(module.m.ep, &stats);
	require_is(2, stats.packets);
	require_is(3, stats.trouble[BGDMA_TROUBLE_UNKNOWN]);
	return member_close(&module.m);
}

TEST(dp9_unknown_operations_are_dropped)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, unknown, NULL, -1));
}

static int malformed(uint32_t rank, uint32_t size, void *arg)
{
	static struct module module;
	uint32_t i;

	(void)size;
	(void)arg;
	require_is(0, module_open(&module, (struct bgdma_endpoint_attr){ 0 }));
	module.bad = true;
	for (i = 0; rank == 0 && i < 3; i++)
		require_is(0, say(&module, module.data, 1));
	require_is(0, bgdma_job_fence(module.m.job));
	if (rank == 1) {
		require_is(0, trouble_until(&module, BGDMA_TROUBLE_MALFORMED,
					    3));
		require_is(module.data, module.trouble.last[
				BGDMA_TROUBLE_MALFORMED].operation);
		module.bad = false;
	}
	require_is(0, bgdma_job_fence(module.m.job));
	if (rank == 0)
		require_is(0, say(&module, module.data, 1));
	else
		require_is(0, module_until(&module, 1));
	return member_close(&module.m);
}

TEST(dp9_malformed_packets_are_reported)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, malformed, NULL, -1));
}

/* Nobody from outside gets in, unless the process itself opens the door. */
static int stranger(uint32_t rank, uint32_t size, void *arg)
{
	static struct module module;
	const struct bgdma_grant_attr anybody = {
		.rank = BGDMA_RANK_ANY, .ctx = BGDMA_CTX_ANY,
	};
	const struct bgdma_attach_attr attach = {
		.partition = PARTITION, .rank = 3,
	};
	const struct bgdma_peer *to;
	struct bgdma_memfifo_attr attr = { .fifo = 1, .data = "", };
	struct bgdma_inj_fifo *fifo;
	struct bgdma_ctx *ctx;

	(void)size;
	(void)arg;
	require_is(0, module_open(&module, (struct bgdma_endpoint_attr){ 0 }));
	to = bgdma_endpoint_peer(module.m.ep, 1);
	if (rank == 0) {
		require_is(0, bgdma_attach(&ctx, &attach));
		require_is(0, bgdma_inj_create(ctx, NULL, &fifo));
		attr.dest = to->node;
		attr.dest_ctx = to->ctx;
		attr.dispatch = (uint16_t)module.data;
		attr.cookie = (uint64_t)(module.data >> 16) << 48;
		require_is(0, bgdma_memfifo(fifo, &attr));
		require_is(-EACCES, bgdma_inj_wait(fifo, 1,
				BGDMA_SPIN_THEN_SLEEP, (int64_t)PATIENCE_NS));
		require_is(BGDMA_E_RIGHTS, bgdma_inj_error(fifo, NULL));
		require_is(0, bgdma_inj_clear_error(fifo, 0));
		require_is(0, bgdma_job_fence(module.m.job));
		require_is(0, bgdma_job_fence(module.m.job));
		require_is(0, bgdma_memfifo(fifo, &attr));
		require_is(0, bgdma_inj_wait(fifo, 2, BGDMA_SPIN_THEN_SLEEP,
					     (int64_t)PATIENCE_NS));
		require_is(0, member_close(&module.m));
		bgdma_detach(ctx);
		return 0;
	}
	require_is(0, bgdma_job_fence(module.m.job));
	require_is(0, bgdma_endpoint_progress(module.m.ep, 0));
	require_is(0, bgdma_grant_sized(bgdma_endpoint_ctx(module.m.ep),
					BGDMA_KIND_REC_FIFO, 1, 1, &anybody,
					sizeof(anybody), NULL));
	require_is(0, bgdma_job_fence(module.m.job));
	require_is(0, trouble_until(&module, BGDMA_TROUBLE_STRANGER, 1));
	require_is(BGDMA_STRANGER,
		   module.trouble.last[BGDMA_TROUBLE_STRANGER].rank);
	require_is(3, module.trouble.last[BGDMA_TROUBLE_STRANGER].node);
	require_is(0, module.data_seen);
	return member_close(&module.m);
}

TEST(dp9_x2_strangers_are_not_heard)
{
	partition_new("4x1x1", "");
	EXPECT_TRUE(job_run(2, stranger, NULL, -1));
}

/* A message whose memory goes away while it waits for room. */
static int broken(uint32_t rank, uint32_t size, void *arg)
{
	static struct module module;
	static char mem[1 << 20];
	struct bgdma_endpoint_attr attr = { .data_bytes = 16384 };
	struct bgdma_endpoint_stats stats;
	struct bgdma_region *region;

	(void)size;
	(void)arg;
	require_is(0, module_open(&module, attr));
	if (rank == 1) {
		/* It waits for room until its memory is gone. */
		require_is(0, bgdma_job_fence(module.m.job));
		require_is(0, trouble_until(&module, BGDMA_TROUBLE_CUT, 1));
		require_is(0, module.trouble.last[BGDMA_TROUBLE_CUT].rank);
		/* And the way is free for the next. */
		require_is(0, bgdma_job_fence(module.m.job));
		module.wanted.is = 0;
		require_is(0, module_until(&module, 1));
		return member_close(&module.m);
	}
	require_is(0, bgdma_region_register(bgdma_endpoint_ctx(module.m.ep),
					    mem, sizeof(mem), BGDMA_LOCAL_READ,
					    &region));
	require_is(0, bgdma_endpoint_send(module.m.ep, &(struct bgdma_send_attr){
			.operation = module.data, .dest = 1,
			.length = sizeof(mem), .from.region = region }));
	require_is(0, bgdma_region_free(region));
	require_is(0, bgdma_job_fence(module.m.job));
	require_is(0, trouble_until(&module, BGDMA_TROUBLE_LOST, 1));
	require_is(1, module.trouble.last[BGDMA_TROUBLE_LOST].rank);
	require_is(module.data,
		   module.trouble.last[BGDMA_TROUBLE_LOST].operation);
	require(module.trouble.last[BGDMA_TROUBLE_LOST].code);
	require_is(0, bgdma_job_fence(module.m.job));
	require_is(0, say(&module, module.data, 1));
	bgdma_endpoint_stats(module.m.ep, &stats);
	require_is(0, stats.trouble[BGDMA_TROUBLE_PEER_DOWN]);
	return member_close(&module.m);
}

TEST(dp9_a_message_that_breaks_off_is_told_on_both_sides)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, broken, NULL, -1));
}

/* ---- death -------------------------------------------------------- */

static int death(uint32_t rank, uint32_t size, void *arg)
{
	static struct module module;
	const bool *met = arg;
	uint32_t i;
	int ret;

	require_is(0, module_open(&module, (struct bgdma_endpoint_attr){ 0 }));
	for (i = 0; *met && i < size; i++)
		require_is(0, say(&module, module.data, i));
	if (*met)
		require_is(0, module_until(&module, size));
	require_is(0, bgdma_job_fence(module.m.job));
	if (rank == 2)
		raise(SIGKILL);
	/* Who has exchanged nothing with it notices when he sends. */
	while (!module.trouble.count[BGDMA_TROUBLE_PEER_DOWN]) {
		if (!*met) {
			ret = say(&module, module.data, 2);
			require(ret == 0 || ret == -EHOSTDOWN);
		}
		ret = bgdma_endpoint_wait(module.m.ep, 20000000);
		require(ret == 0 || ret == -ETIMEDOUT);
	}
	require_is(1, module.trouble.count[BGDMA_TROUBLE_PEER_DOWN]);
	require_is(2, module.trouble.last[BGDMA_TROUBLE_PEER_DOWN].rank);
	require_is(-EHOSTDOWN, say(&module, module.data, 2));
	/* The others go on. */
	for (i = 0; i < size; i++)
		if (i != 2)
			require_is(0, say(&module, module.control, i));
	require_is(0, module_until(&module, module.data_seen + size - 1));
	bgdma_endpoint_destroy(module.m.ep);
	return 0;
}

TEST(x3_death_is_told_and_the_others_go_on)
{
	bool met = true;

	partition_new("4x1x1", "");
	EXPECT_TRUE(job_run(4, death, &met, 2));
	met = false;
	EXPECT_TRUE(job_run(4, death, &met, 2));
}

/* ---- Back-pressure, and the control way beside it ---------------------- */

static int pressure(uint32_t rank, uint32_t size, void *arg)
{
	static struct module module;
	struct bgdma_endpoint_attr attr = { .data_bytes = 16384, .channels = 1,
					    .entries = 16 };
	struct bgdma_endpoint_stats before, after;
	uint64_t sent = 0;
	uint32_t i;
	int ret;

	(void)size;
	(void)arg;
	require_is(0, module_open(&module, attr));
	module.closed = rank == 1;
	if (rank == 0) {
		/* Until nothing goes any more: FIFOs at both ends are full. */
		for (i = 0; i < 100;) {
			ret = say(&module, module.data, 1);
			if (ret) {
				require_is(-EAGAIN, ret);
				i++;
			} else {
				sent++;
				i = 0;
			}
		}
		require(sent > 16384 / 64);
		require_is(0, bgdma_job_put(module.m.job, "sent", &sent, 8));
		require_is(0, bgdma_job_fence(module.m.job));
		require_is(0, module_until(&module, 1));
		/* The other begins to make room now. */
		while ((ret = say(&module, module.data, 1)) == -EAGAIN)
			bgdma_endpoint_progress(module.m.ep, 0);
		require_is(0, ret);
		return member_close(&module.m);
	}
	require_is(0, bgdma_job_fence(module.m.job));
	require_is(8, bgdma_job_get(module.m.job, 0, "sent", &sent, 8));
	require_is(0, bgdma_endpoint_progress(module.m.ep, 0));
	bgdma_endpoint_stats(module.m.ep, &before);
	require(before.deferred > 0);
	/* What is not wanted now keeps nobody awake. */
	require_is(-ETIMEDOUT, bgdma_endpoint_wait(module.m.ep, 50000000));
	bgdma_endpoint_stats(module.m.ep, &after);
	require(after.sleeps == before.sleeps + 1);
	require(after.deferred <= before.deferred + 2);
	require_is(0, module.data_seen);
	/* Control packets come by, here to ourselves. */
	require_is(0, say(&module, module.control, 1));
	require_is(0, module_until(&module, 1));
	require_is(0, module.data_seen);
	require_is(0, say(&module, module.control, 0));
	module.closed = false;
	require_is(0, module_until(&module, sent + 2));
	require_is(sent + 1, module.data_seen);
	return member_close(&module.m);
}

TEST(dp4_a_callback_that_has_no_room_loses_nothing)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, pressure, NULL, -1));
}

/* ---- Progress ---------------------------------------------------------- */

static bool never(void *arg)
{
	(void)arg;
	return false;
}

static int64_t cpu_ns(void)
{
	struct rusage usage;

	must(getrusage(RUSAGE_SELF, &usage));
	return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000LL +
	       (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000LL;
}

/* Nothing to do costs nothing, and the first packet wakes. */
static int quiet(uint32_t rank, uint32_t size, void *arg)
{
	static struct module module;
	const struct bgdma_endpoint_attr *attr = arg;
	const struct timespec second = { .tv_sec = 1 };
	struct bgdma_endpoint_stats before, after;
	int64_t cpu;

	(void)size;
	require_is(0, module_open(&module, *attr));
	if (rank == 0) {
		require_is(0, bgdma_job_fence(module.m.job));
		nanosleep(&second, NULL);
		require_is(0, say(&module, module.data, 1));
		return member_close(&module.m);
	}
	require_is(-ETIMEDOUT, bgdma_endpoint_wait(module.m.ep, 0));
	require_is(-ETIMEDOUT, bgdma_endpoint_wait_until(module.m.ep, never,
			NULL, BGDMA_SPIN, 1000));
	require_is(-ETIMEDOUT, bgdma_endpoint_wait_until(module.m.ep, never,
			NULL, BGDMA_SPIN_THEN_SLEEP, 1000000));
	require_is(0, bgdma_job_fence(module.m.job));
	bgdma_endpoint_stats(module.m.ep, &before);
	cpu = cpu_ns();
	module.wanted.wanted = 1;
	require_is(0, bgdma_endpoint_wait_until(module.m.ep, count_there,
			&module.wanted, BGDMA_SLEEP, (int64_t)PATIENCE_NS));
	cpu = cpu_ns() - cpu;
	bgdma_endpoint_stats(module.m.ep, &after);
	require(after.sleeps <= before.sleeps + 2);
	/* Of a second, this process had next to nothing. */
	require(cpu < 200000000);
	return member_close(&module.m);
}

TEST(progress_sleeps_while_there_is_nothing)
{
	struct bgdma_endpoint_attr attr = { 0 };

	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, quiet, &attr, -1));
	attr.threads = BGDMA_THREADS_MANY;
	EXPECT_TRUE(job_run(2, quiet, &attr, -1));
	attr.progress = BGDMA_PROGRESS_THREAD;
	EXPECT_TRUE(job_run(2, quiet, &attr, -1));
}

/*
 * Two who have only one processor between them, and take it from each other when
 * they give it away, and not else.
 */
static int one_processor(uint32_t rank, uint32_t size, void *arg)
{
	static struct module module;
	const struct sched_param first = { .sched_priority = 1 };
	struct bgdma_endpoint_stats before, after;
	uint32_t *ready = arg, *waits = ready + 1;
	cpu_set_t one;

	(void)size;
	CPU_ZERO(&one);
	CPU_SET(0, &one);
	require_is(0, sched_setaffinity(0, sizeof(one), &one));
	require_is(0, module_open(&module, (struct bgdma_endpoint_attr){ 0 }));
	require_is(0, sched_setscheduler(0, SCHED_FIFO, &first));
	require_is(0, bgdma_job_fence(module.m.job));
	if (rank == 0) {
		__atomic_store_n(ready, 1, __ATOMIC_RELEASE);
		while (!__atomic_load_n(waits, __ATOMIC_ACQUIRE))
			sched_yield();
		require_is(0, say(&module, module.data, 1));
	} else {
		module.wanted.wanted = 1;
		bgdma_endpoint_stats(module.m.ep, &before);
		while (!__atomic_load_n(ready, __ATOMIC_ACQUIRE))
			sched_yield();
		__atomic_store_n(waits, 1, __ATOMIC_RELEASE);
		require_is(0, member_until(&module.m, count_there,
					   &module.wanted));
		bgdma_endpoint_stats(module.m.ep, &after);
		require(after.sleeps == before.sleeps);
	}
	return member_close(&module.m);
}

TEST(progress_gives_way_before_it_sleeps)
{
	const size_t size = 2 * sizeof(uint32_t);
	uint32_t *words;

	if (geteuid())
		SKIP(return, "needs root");
	words = mmap(NULL, size, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must(words == MAP_FAILED ? -1 : 0);
	/* Each doorbell is answered by who rings. */
	partition_new("2x1x1", "poll-ns 0");
	EXPECT_TRUE(job_run(2, one_processor, words, -1));
	munmap(words, size);
}

/* Callbacks that send, and what they must not do. */
struct rally {
	struct module module;
	uint32_t ball;
	struct count played;
	int wait, until, flush, commit, nested;
};

static int play(void *arg, uint32_t rank, const struct bgdma_packet *packet)
{
	struct rally *rally = arg;
	struct bgdma_endpoint *ep = rally->module.m.ep;

	(void)packet;
	if (!rally->played.is) {
		rally->wait = bgdma_endpoint_wait(ep, 0);
		rally->until = bgdma_endpoint_wait_until(ep, count_there,
				&rally->played, BGDMA_SPIN, 0);
		rally->flush = bgdma_endpoint_flush(ep, 0);
		rally->commit = bgdma_endpoint_commit(ep, NULL);
		rally->nested = bgdma_endpoint_progress(ep, 0);
	}
	if (rally->played.is++ < rally->played.wanted)
		return bgdma_endpoint_send(ep, &(struct bgdma_send_attr){
				.operation = rally->ball, .dest = rank });
	return 0;
}

/* What is asked while somebody waits is a callback, too. */
static bool asks(void *arg)
{
	struct rally *r = arg;

	r->wait = bgdma_endpoint_wait(r->module.m.ep, -1);
	r->nested = bgdma_endpoint_progress(r->module.m.ep, 0);
	return true;
}

static int rally(uint32_t rank, uint32_t size, void *arg)
{
	static struct rally r;
	const struct bgdma_endpoint_attr *attr = arg;

	(void)size;
	require_is(0, member_open(&r.module.m, attr));
	require_is(0, bgdma_operation_register(r.module.m.ep,
			&(struct bgdma_operation_attr){ .module = "rally",
			.name = "ball", .packet = play, .arg = &r }, &r.ball));
	/* From the commit on a thread may call back. */
	r.played.wanted = 500;
	require_is(0, bgdma_endpoint_commit(r.module.m.ep, NULL));
	if (rank == 0)
		require_is(0, bgdma_endpoint_send(r.module.m.ep,
				&(struct bgdma_send_attr){ .operation = r.ball,
				.dest = 1 }));
	require_is(0, member_until(&r.module.m, count_there, &r.played));
	require_is(-EDEADLK, r.wait);
	require_is(-EDEADLK, r.until);
	require_is(-EDEADLK, r.flush);
	require_is(-EDEADLK, r.commit);
	require_is(0, r.nested);
	r.wait = 0;
	require_is(0, member_until(&r.module.m, asks, &r));
	require_is(-EDEADLK, r.wait);
	require_is(0, r.nested);
	return member_close(&r.module.m);
}

TEST(callbacks_may_send)
{
	struct bgdma_endpoint_attr attr = { 0 };

	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, rally, &attr, -1));
	attr.progress = BGDMA_PROGRESS_THREAD;
	EXPECT_TRUE(job_run(2, rally, &attr, -1));
}

/* Two processes of a node, and more processes than nodes. */
static int share_node(uint32_t rank, uint32_t size, void *arg)
{
	static struct module module;
	uint32_t i;

	(void)arg;
	setenv("BGDMA_PER_NODE", "2", 1);
	require_is(0, module_open(&module, (struct bgdma_endpoint_attr){ 0 }));
	require_is(rank / 2, bgdma_endpoint_peer(module.m.ep, rank)->node);
	for (i = 0; i < size; i++)
		require_is(0, say(&module, module.data, i));
	require_is(0, module_until(&module, size));
	return member_close(&module.m);
}

TEST(processes_share_a_node)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(4, share_node, NULL, -1));
}

/* Nothing was ever sent, or is to be: it waits for the first. */
static int wait_for_the_dead(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_endpoint_stats stats;
	static struct module module;
	int ret = 0;

	(void)size;
	(void)arg;
	require_is(0, module_open(&module, (struct bgdma_endpoint_attr){ 0 }));
	require_is(0, bgdma_job_fence(module.m.job));
	if (rank == 1)
		kill(getpid(), SIGKILL);
	do {
		ret = bgdma_endpoint_wait(module.m.ep, (int64_t)PATIENCE_NS);
		bgdma_endpoint_stats(module.m.ep, &stats);
	} while (!ret && !stats.trouble[BGDMA_TROUBLE_PEER_DOWN]);
	require_is(0, ret);
	return member_leave(&module.m);
}

TEST(x3_death_is_heard_by_who_never_talked)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, wait_for_the_dead, NULL, 1));
}

TEST_HARNESS_MAIN
