// SPDX-License-Identifier: GPL-2.0
/*
 * What the calls of the sys layer return when they cannot do what they are asked.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>

#include "kselftest_harness.h"
#include "sys_module.h"

#define BYTES	4096

static uint8_t mem[BYTES] PINNED;

/* ---- What is no endpoint ----------------------------------------------- */

static int bad_attr(uint32_t rank, uint32_t size, void *arg)
{
	const struct bgdma_endpoint_attr bad[] = {
		{ .job = NULL },
		{ .progress = BGDMA_PROGRESS_THREAD + 1 },
		{ .threads = BGDMA_THREADS_MANY + 1 },
		{ .channels = 65 },
		{ .copy_bytes = (64U << 10) + 64 },	/* no power of two */
		{ .copy_bytes = 32U << 10 },
		{ .copy_bytes = 128U << 20 },
		{ .counters = BGDMA_COUNTERS_SHARED + 1 },
		{ .inj_counters = BGDMA_COUNTERS_MAX - 15 },
		{ .rec_counters = BGDMA_COUNTERS_MAX - 15 },
		{ .pacing = BGDMA_PACING_ON + 1 },
		{ .portions = BGDMA_PORTIONS_PACKETS + 1 },
	};
	struct bgdma_endpoint_attr attr;
	struct bgdma_endpoint *ep;
	struct member m;
	unsigned int i;

	(void)rank;
	(void)size;
	(void)arg;
	require_is(0, member_open(&m, NULL));
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		attr = bad[i];
		attr.job = i ? m.job : NULL;
		if (bgdma_endpoint_create(&ep, &attr) != -EINVAL) {
			fprintf(stderr, "# attr %u\n", i);
			return 1;
		}
	}
	return member_close(&m);
}

TEST(sys_what_is_no_endpoint)
{
	partition_new("1x1x1", "");
	EXPECT_TRUE(job_run(1, bad_attr, NULL, -1));
}

/* ---- Before the commit ------------------------------------------------- */

static int early(uint32_t rank, uint32_t size, void *arg)
{
	const struct bgdma_rendezvous_attr announced = {
		.length = 1, .data = mem,
	};
	const struct bgdma_accept_attr room = { .length = 1, .data = mem };
	const struct bgdma_send_attr send = { .data = mem };
	const struct bgdma_rts rts = { .length = 1 };
	struct bgdma_region *region;
	struct bgdma_desc desc;
	struct member m;

	(void)rank;
	(void)size;
	(void)arg;
	require_is(0, member_open(&m, NULL));
	require_is(0, bgdma_region_alloc(bgdma_endpoint_ctx(m.ep), BYTES,
					 LOCAL_RW, &region));
	require_is(-ENOTCONN, bgdma_endpoint_flush(m.ep, 0));
	require_is(-ENOTCONN, bgdma_rendezvous_send(m.ep, &announced));
	require_is(-ENOTCONN, bgdma_rendezvous_accept(m.ep, &rts, &room));
	require_is(-ENOTCONN, bgdma_rendezvous_refuse(m.ep, &rts));
	require_is(-ENOTCONN, bgdma_rendezvous_cancel(m.ep, 1));
	require_is(-ENOTCONN, bgdma_endpoint_expose(m.ep, region,
						    BGDMA_RIGHT_READ));
	require_is(-ENOTCONN, bgdma_endpoint_grant(m.ep, BGDMA_KIND_REGION,
						   bgdma_region_handle(region),
						   1, BGDMA_RIGHT_READ));
	require_is(-ENOTCONN, bgdma_endpoint_describe(m.ep, &send, &desc));
	return member_close(&m);
}

TEST(sys_before_the_commit)
{
	partition_new("1x1x1", "");
	EXPECT_TRUE(job_run(1, early, NULL, -1));
}

/* ---- Without the partition --------------------------------------------- */

static bool never(void *arg)
{
	(void)arg;
	return false;
}

static int without_partition(uint32_t rank, uint32_t size, void *arg)
{
	static struct module module;
	struct bgdma_region *region;
	struct bgdma_endpoint *ep;
	struct bgdma_ctx *ctx;
	int ret;

	(void)rank;
	(void)size;
	(void)arg;
	require_is(0, module_open(&module, (struct bgdma_endpoint_attr){ 0 }));
	ep = module.m.ep;
	ctx = bgdma_endpoint_ctx(ep);
	require_is(0, bgdma_region_alloc(ctx, BYTES, LOCAL_RW, &region));
	require_is(0, bgdma_endpoint_expose(ep, region, BGDMA_RIGHT_READ));
	require_is(0, partition("del", PARTITION, ""));
	/* Events of its end come first. */
	do {
		ret = bgdma_endpoint_progress(ep, 0);
	} while (ret > 0);
	require_is(-ENODEV, ret);
	require_is(-ENODEV, bgdma_endpoint_wait(ep, -1));
	require_is(-ENODEV, bgdma_endpoint_wait_until(ep, never, NULL,
						      BGDMA_SPIN, -1));
	require_is(-ENODEV, bgdma_endpoint_send(ep, &(struct bgdma_send_attr){
			.operation = module.eager }));
	/* What was just sent will never leave. */
	require_is(-ENODEV, bgdma_endpoint_flush(ep, -1));
	require_is(-ENODEV, announce(&module, (struct bgdma_rendezvous_attr){
			.length = BYTES, .data = mem }));
	require_is(-ENODEV, announce(&module, (struct bgdma_rendezvous_attr){
			.length = BYTES, .from = { region, 0 } }));
	require_is(-ENODEV, bgdma_endpoint_expose(ep, region,
						  BGDMA_RIGHT_WRITE));
	require_is(0, module.ended.is);
	return member_leave(&module.m);
}

TEST(x3_sys_without_the_partition)
{
	partition_new("1x1x1", "");
	EXPECT_TRUE(job_run(1, without_partition, NULL, -1));
}

/* ---- Signals ----------------------------------------------------------- */

static void on_alarm(int signal)
{
	(void)signal;
}

/* Again and again: one may come when nobody sleeps. No SA_RESTART. */
static void alarms(long period_us)
{
	const struct sigaction action = { .sa_handler = on_alarm };
	const struct itimerval timer = {
		.it_interval.tv_usec = period_us, .it_value.tv_usec = period_us,
	};

	must(sigaction(SIGALRM, &action, NULL));
	must(setitimer(ITIMER_REAL, &timer, NULL));
}

static int interrupted(uint32_t rank, uint32_t size, void *arg)
{
	static uint8_t text[128U << 10];
	static struct module module;
	struct bgdma_endpoint *ep;

	(void)size;
	(void)arg;
	require_is(0, module_open(&module, (struct bgdma_endpoint_attr){
			.data_bytes = 64U << 10 }));
	ep = module.m.ep;
	if (rank == 1) {
		require_is(0, bgdma_job_fence(module.m.job));
		require_is(0, bgdma_endpoint_wait(ep, -1));
		return member_close(&module.m);
	}
	alarms(10000);
	require_is(-EINTR, bgdma_endpoint_wait(ep, -1));
	require_is(-EINTR, bgdma_endpoint_wait_until(ep, never, NULL,
						     BGDMA_SLEEP, -1));
	require_is(-EINTR, bgdma_endpoint_wait_until(ep, never, NULL,
						     BGDMA_SPIN_THEN_SLEEP,
						     -1));
	/* More than there is room for, and nobody takes it. */
	require_is(0, bgdma_endpoint_send(ep, &(struct bgdma_send_attr){
			.operation = module.eager, .dest = 1, .word = 1,
			.data = text, .length = sizeof(text) }));
	require_is(-EINTR, bgdma_endpoint_flush(ep, -1));
	alarms(0);
	require_is(0, bgdma_job_fence(module.m.job));
	return member_close(&module.m);
}

TEST(sys_a_signal_ends_a_wait)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, interrupted, NULL, -1));
}

/* ---- A wait in vain ---------------------------------------------------- */

/* Until there is no room, and a wait for some has ended in vain. */
static int refused_in_vain(struct module *module, volatile uint64_t *sent)
{
	const struct bgdma_send_attr send = {
		.operation = module->eager, .dest = 1, .word = 1,
		.data = "x", .length = 1,
	};
	int ret, vain = 0;

	/* Full, and not only on its way over a link. */
	while (vain < 50) {
		ret = bgdma_endpoint_send(module->m.ep, &send);
		require(ret == 0 || ret == -EAGAIN);
		*sent += !ret;
		vain = ret ? vain + 1 : 0;
		if (ret)
			usleep(2000);
	}
	do {
		require_is(-EAGAIN, bgdma_endpoint_send(module->m.ep, &send));
		ret = bgdma_endpoint_wait(module->m.ep, 1000000);
	} while (!ret);
	require_is(-ETIMEDOUT, ret);
	return 0;
}

/* Hear of room in another thread, and leave nothing to hear of. */
static void *hear_all(void *arg)
{
	struct module *module = arg;

	module->last = bgdma_endpoint_wait(module->m.ep, (int64_t)PATIENCE_NS);
	while (bgdma_endpoint_wait(module->m.ep, 200000000) == 0)
		;
	return NULL;
}

static uint64_t packets(struct module *module)
{
	struct bgdma_endpoint_stats stats;

	bgdma_endpoint_stats(module->m.ep, &stats);
	return stats.packets;
}

static int refused_and_late(uint32_t rank, uint32_t size, void *arg)
{
	static struct module module;
	volatile uint64_t *sent = arg;
	pthread_t thread;

	(void)size;
	require_is(0, module_open(&module, (struct bgdma_endpoint_attr){
			.threads = BGDMA_THREADS_MANY, .data_bytes = 16384,
			.channels = 1, .entries = 16 }));
	if (rank == 0)
		require_is(0, refused_in_vain(&module, sent));
	require_is(0, bgdma_job_fence(module.m.job));
	if (rank == 1) {
		while (packets(&module) < *sent)
			require_is(0, bgdma_endpoint_wait(module.m.ep,
							  (int64_t)PATIENCE_NS));
		return member_close(&module.m);
	}
	require_is(0, pthread_create(&thread, NULL, hear_all, &module));
	require_is(0, pthread_join(thread, NULL));
	require_is(0, module.last);
	/* There is room since: to wait for more would be in vain. */
	require_is(0, bgdma_endpoint_wait(module.m.ep, 1000000000));
	return member_close(&module.m);
}

TEST(sys_a_wait_in_vain_does_not_forget_what_for)
{
	uint64_t *sent = shared(sizeof(*sent));

	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, refused_and_late, sent, -1));
}

/* ---- A peer that has left ---------------------------------------------- */

static int left(uint32_t rank, uint32_t size, void *arg)
{
	static struct module module;
	struct bgdma_endpoint_stats stats;
	struct bgdma_endpoint *ep;

	(void)size;
	(void)arg;
	require_is(0, module_open(&module, (struct bgdma_endpoint_attr){ 0 }));
	ep = module.m.ep;
	if (rank == 1) {
		require_is(0, announce(&module, (struct bgdma_rendezvous_attr){
				.dest = 0, .length = BYTES, .data = mem }));
		require_is(0, bgdma_endpoint_flush(ep, -1));
		return member_leave(&module.m);
	}
	require_is(0, until_count(&module, &module.announced, 1));
	/* Its end may have come with the announcement. */
	for (;;) {
		bgdma_endpoint_stats(ep, &stats);
		if (stats.trouble[BGDMA_TROUBLE_PEER_DOWN])
			break;
		require_is(0, bgdma_endpoint_wait(ep, (int64_t)PATIENCE_NS));
	}
	require_is(-EHOSTDOWN, announce(&module, (struct bgdma_rendezvous_attr){
			.dest = 1, .length = BYTES, .data = mem }));
	require_is(-EHOSTDOWN, take(&module, 0, (struct bgdma_accept_attr){
			.length = BYTES, .data = mem }));
	require_is(-EHOSTDOWN, bgdma_rendezvous_refuse(ep, &module.kept[0]));
	require_is(0, module.ended.is);
	return member_leave(&module.m);
}

TEST(x3_sys_who_has_left_is_answered_no_more)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, left, NULL, -1));
}

/* ---- No room to cancel ------------------------------------------------- */

static bool eager_came(void *arg)
{
	const struct module *module = arg;

	return module->eager_word;
}

static int swallow(void *arg, uint32_t rank, const struct bgdma_packet *packet)
{
	(void)arg;
	(void)rank;
	(void)packet;
	return 0;
}

/* Fill the way of control packets to process 1, which takes none. */
static int control_fill(struct module *module, uint32_t operation)
{
	static uint8_t text[128U << 10];
	struct bgdma_send_attr send = {
		.operation = operation, .dest = 1, .data = text,
		.length = sizeof(text),
	};
	int ret;

	/* It does not fit into the FIFO there: what is behind it stays here. */
	require_is(0, bgdma_endpoint_send(module->m.ep, &send));
	send.length = 0;
	do {
		ret = bgdma_endpoint_send(module->m.ep, &send);
	} while (!ret);
	return ret;
}

static int cancel_later(uint32_t rank, uint32_t size, void *arg)
{
	static struct module module;
	uint32_t control, id = 0;
	const struct test_operation ops[] = {
		{ "rts", on_rts, 0, &module.rts },
		{ "eager", on_eager, 0, &module.eager },
		{ "control", swallow, BGDMA_OPERATION_CONTROL, &control },
	};
	struct bgdma_endpoint *ep;
	int ret;

	(void)size;
	(void)arg;
	require_is(0, member_open(&module.m, NULL));
	require_is(0, member_commit(&module.m, ops, 3, &module));
	ep = module.m.ep;
	module.regions = regions_seen(ep);
	if (rank == 1) {
		require_is(0, bgdma_job_fence(module.m.job));
		require_is(0, member_until(&module.m, eager_came, &module));
		require_is(1, module.announced.is);
		return member_close(&module.m);
	}
	require_is(0, announce(&module, (struct bgdma_rendezvous_attr){
			.dest = 1, .length = BYTES, .data = mem, .id = &id }));
	require_is(-EAGAIN, control_fill(&module, control));
	require_is(-EAGAIN, bgdma_rendezvous_cancel(ep, id));
	require_is(0, module.ended.is);
	require_is(0, bgdma_job_fence(module.m.job));
	while ((ret = bgdma_rendezvous_cancel(ep, id)) == -EAGAIN)
		require(bgdma_endpoint_progress(ep, 0) >= 0);
	require_is(0, ret);
	require_is(0, until_count(&module, &module.ended, 1));
	require_is(-ECANCELED, module.last);
	require_is(-ENOENT, bgdma_rendezvous_cancel(ep, id));
	require_is(0, bgdma_endpoint_send(ep, &(struct bgdma_send_attr){
			.operation = module.eager, .dest = 1, .word = 1 }));
	return module_close(&module);
}

TEST(lc2_a_cancel_waits_for_room)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, cancel_later, NULL, -1));
}

TEST_HARNESS_MAIN
