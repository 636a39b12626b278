// SPDX-License-Identifier: GPL-2.0
/*
 * Deaths, at every step of an epoch: nobody hangs, and who lives is told of whom.
 */
#include "kselftest_harness.h"
#include "rma_util.h"

/* The victim stops everything here, as a crash would. */
static void die(void)
{
	kill(getpid(), SIGKILL);
	for (;;)
		pause();
}

static bool troubled(void *arg)
{
	const struct accessor *a = arg;

	return a->troubles > 0;
}

/* ---- The origin dies (EP-8) -------------------------------------------- */

enum origin_step {
	ORIGIN_WAITS,		/* for its limitation */
	ORIGIN_BEGAN,
	ORIGIN_PUT,		/* and got */
	ORIGIN_PUTS,		/* while a long put is under way */
	ORIGIN_CLOSING,
	ORIGIN_STEPS
};

static int dying_origin(struct accessor *a, enum origin_step step)
{
	struct bgdma_rma_epoch *e;

	if (step == ORIGIN_WAITS) {
		/* Rank 0 has it: this does not return. */
		(void)bgdma_epoch_begin(a->window, 0, 7, BGDMA_EPOCH_EXCLUSIVE,
					&e);
		return 1;
	}
	require_is(0, bgdma_epoch_begin(a->window, 0, 7, BGDMA_EPOCH_EXCLUSIVE,
					&e));
	if (step >= ORIGIN_PUT) {
		require_is(0, put(a, e, 0, 8, 0));
		require_is(0, get(a, e, 0, 8, 0));
		require_is(0, bgdma_epoch_flush(e));
	}
	if (step == ORIGIN_PUTS)
		require_is(0, put(a, e, 0, WINDOW, 0));
	if (step == ORIGIN_CLOSING)
		require_is(0, bgdma_epoch_closing(e));
	die();
	return 1;
}

/* Rank 0 is the target, 1 dies, 2 waits for what 1 has. */
static int origin_dies(uint32_t rank, uint32_t size, void *arg)
{
	enum origin_step step = *(enum origin_step *)arg;
	struct bgdma_rma_epoch *e;
	struct accessor a = { 0 };
	pid_t *victim = (pid_t *)arg + 1;

	(void)size;
	require_is(0, accessor_open(&a));
	if (step == ORIGIN_WAITS && rank == 0)
		require_is(0, bgdma_epoch_begin(a.window, 0, 9,
						BGDMA_EPOCH_EXCLUSIVE, &e));
	require_is(0, meet(&a));
	if (rank == 1) {
		store(victim, getpid());
		return dying_origin(&a, step);
	}
	if (rank == 0) {
		if (step == ORIGIN_WAITS) {
			require(until(at_gate(&a, NULL) >= 2));
			require(until(load(victim)));
			require_is(0, kill(load(victim), SIGKILL));
		}
		require_is(0, member_until(&a.m, troubled, &a));
		require_is(1, a.troubles);
		require(!a.last.origin);
		require(a.last.window == a.window);
		require_is(1, a.last.rank);
		require_is(7, a.last.epoch);
		require_is(BGDMA_E_PEER_DOWN, a.last.code);
		if (step >= ORIGIN_PUT)
			require(a.last.got >= 1);
		else
			require_is(0, a.last.got);
		if (step == ORIGIN_WAITS)
			require_is(0, bgdma_epoch_close(e));
		store(victim, -1);
		/* Until rank 2 has left. */
		require(until(load(victim) == -2));
		return accessor_leave(&a);
	}
	require(until(load(victim) > 0 || load(victim) == -1));
	require_is(0, bgdma_epoch_begin(a.window, 0, 7, BGDMA_EPOCH_EXCLUSIVE,
					&e));
	require_is(0, put(&a, e, 0, 8, 0));
	require_is(0, bgdma_epoch_close(e));
	/* What all do together fails, and does not hang. */
	require(until(load(victim) == -1));
	require_is(-EHOSTDOWN, bgdma_window_fence(a.window, 0));
	store(victim, -2);
	return accessor_leave(&a);
}

TEST(ep8_origin_dies_at_every_step)
{
	int *told = shared(64);
	unsigned int step;

	partition_new("3x1x1", "");
	for (step = 0; step < ORIGIN_STEPS; step++) {
		told[0] = (int)step;
		told[1] = 0;
		EXPECT_TRUE(job_run(3, origin_dies, told, 1));
	}
}

/* ---- The target dies --------------------------------------------------- */

enum target_step {
	TARGET_BEFORE,
	TARGET_WAITED_FOR,
	TARGET_IN_EPOCH,
	TARGET_CLOSING,
	TARGET_STEPS
};

static int target_dies(uint32_t rank, uint32_t size, void *arg)
{
	enum target_step step = *(enum target_step *)arg;
	struct bgdma_rma_epoch *e = NULL, *f;
	struct accessor a = { 0 };
	int *victim = (int *)arg + 1;
	struct bgdma_epoch_info info;

	(void)size;
	require_is(0, accessor_open(&a));
	/* Rank 2 has the window of rank 1, for which rank 0 waits. */
	if (rank == 2 && step == TARGET_WAITED_FOR)
		require_is(0, bgdma_epoch_begin(a.window, 1, 3,
						BGDMA_EPOCH_EXCLUSIVE, &f));
	if (rank == 0 && step >= TARGET_IN_EPOCH)
		require_is(0, bgdma_epoch_begin(a.window, 1, 3, 0, &e));
	require_is(0, meet(&a));
	if (rank == 1) {
		if (step == TARGET_WAITED_FOR)
			require(until(at_gate(&a, NULL) == 2));
		store(victim, getpid());
		die();
	}
	if (rank == 2) {
		require_is(-EHOSTDOWN, bgdma_window_fence(a.window, 0));
		require(until(load(victim) == -1));
		/* It had nothing that could have been lost. */
		if (step == TARGET_WAITED_FOR)
			(void)bgdma_epoch_close(f);
		return accessor_leave(&a);
	}
	if (step == TARGET_WAITED_FOR) {
		require_is(-EHOSTDOWN,
			   bgdma_epoch_begin(a.window, 1, 3,
					     BGDMA_EPOCH_EXCLUSIVE, &e));
	} else if (step == TARGET_BEFORE) {
		int ret;

		require(until(load(victim)));
		while (!(ret = bgdma_epoch_begin(a.window, 1, 3,
						 BGDMA_EPOCH_EXCLUSIVE, &e)))
			(void)bgdma_epoch_close(e);
		require_is(-EHOSTDOWN, ret);
	} else {
		require(until(load(victim)));
		if (step == TARGET_CLOSING)
			require_is(0, bgdma_epoch_closing(e));
		/* Until it is known; then nothing waits. */
		while (step == TARGET_IN_EPOCH &&
		       !bgdma_epoch_flush(e)) {
			require_is(0, put(&a, e, 0, 8, 0));
			require_is(0, get(&a, e, 0, 8, 0));
		}
		bgdma_epoch_info(e, &info);
		if (step == TARGET_IN_EPOCH)
			require(info.code == BGDMA_E_PEER_DOWN ||
				info.code == BGDMA_E_NO_PEER);
		(void)bgdma_epoch_close(e);
		if (step == TARGET_IN_EPOCH) {
			require_is(1, a.troubles);
			require(a.last.origin);
			require_is(1, a.last.rank);
			require_is(3, a.last.epoch);
		}
	}
	require_is(-EHOSTDOWN, bgdma_window_fence(a.window, 0));
	require_is(-EHOSTDOWN, bgdma_window_lock(a.window, 1, 0));
	/* Of others nothing is lost. */
	require_is(0, bgdma_window_lock(a.window, 0, BGDMA_EPOCH_EXCLUSIVE));
	require_is(0, bgdma_window_unlock(a.window, 0));
	store(victim, -1);
	return accessor_leave(&a);
}

TEST(x3_target_dies_at_every_step)
{
	int *told = shared(64);
	unsigned int step;

	partition_new("3x1x1", "");
	for (step = 0; step < TARGET_STEPS; step++) {
		told[0] = (int)step;
		told[1] = 0;
		EXPECT_TRUE(job_run(3, target_dies, told, 1));
	}
}

/* ---- A request, of which nobody waits ---------------------------------- */

#define LOST_GETS	100

struct lost {
	bool region;		/* goes, and not the process */
	uint32_t stage;
	pid_t pid;
};

static int asked_for(struct accessor *a, struct lost *lost)
{
	struct bgdma_access_attr attr = access_at(a, 0, LOCAL, 0);
	struct bgdma_rma_request request;
	struct bgdma_rma_epoch *e;
	bool done, told;
	uint32_t i;
	int ret;

	require_is(0, bgdma_epoch_begin(a->window, 1, 5, 0, &e));
	attr.request = &request;
	if (lost->region) {
		store(&lost->stage, 1);
		require(until(load(&lost->stage) == 2));
		require_is(0, bgdma_epoch_get(e, &attr));
	} else {
		for (i = 0; i < LOST_GETS; i++)
			require_is(0, bgdma_epoch_get(e, &attr));
		require_is(0, kill(load(&lost->pid), SIGKILL));
	}
	told = until((ret = bgdma_rma_test(&request, &done)) || done);
	require(told);
	require(done);
	require(ret < 0);
	require_is(ret, bgdma_rma_wait(&request));
	if (!lost->region)
		require_is(-EHOSTDOWN, ret);
	require(bgdma_epoch_close(e) < 0);
	store(&lost->stage, 3);
	return 0;
}

/* Nobody waits: rank 0 asks again and again whether a get has come. */
static int asking(uint32_t rank, uint32_t size, void *arg)
{
	const struct bgdma_window_attr window = { .length = LOCAL };
	struct lost *lost = arg;
	struct accessor a = { 0 };

	(void)size;
	if (rank == 1)
		store(&lost->pid, getpid());
	require_is(0, accessor_open_as(&a, (struct bgdma_endpoint_attr){ 0 },
				       (struct bgdma_rma_attr){ 0 }, &window));
	require_is(0, meet(&a));
	if (!rank) {
		require_is(0, asked_for(&a, lost));
		return accessor_leave(&a);
	}
	if (lost->region) {
		require(until(load(&lost->stage) == 1));
		require_is(0, bgdma_region_free(bgdma_window_region(a.window)));
		store(&lost->stage, 2);
	}
	require(until(load(&lost->stage) == 3));
	return accessor_leave(&a);
}

TEST(x3_ep8_a_test_tells_of_gets_that_never_come)
{
	struct lost *lost = shared(sizeof(*lost));

	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, asking, lost, 1));
	*lost = (struct lost){ .region = true };
	EXPECT_TRUE(job_run(2, asking, lost, -1));
}

/* A put that waits here for others, and their partition goes. */
static int partition_gone(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_rma_request request;
	struct bgdma_access_attr attr;
	struct bgdma_rma_epoch *e;
	struct accessor a = { 0 };
	struct bgdma_ctx *ctx;
	bool done = true, held;
	int ret;

	(void)size;
	(void)arg;
	require_is(0, accessor_open(&a));
	ctx = bgdma_endpoint_ctx(a.m.ep);
	require_is(0, bgdma_epoch_begin(a.window, rank, 1, 0, &e));
	attr = access_at(&a, 0, 8, 0);
	attr.request = &request;
	attr.more = true;
	require_is(0, bgdma_epoch_put(e, &attr));
	require_is(0, partition("del", PARTITION, ""));
	held = until(bgdma_ctx_dead(ctx));
	require(held);
	ret = bgdma_rma_test(&request, &done);
	require_is(-ENODEV, ret);
	require(!done);
	require_is(-ENODEV, bgdma_rma_wait(&request));
	require_is(-ENODEV, bgdma_epoch_close(e));
	return accessor_leave(&a);
}

TEST(x3_a_test_tells_of_a_partition_that_is_gone)
{
	partition_new("1x1x1", "");
	EXPECT_TRUE(job_run(1, partition_gone, NULL, -1));
}

/* ---- Whoever is waited for dies ---------------------------------------- */

enum sync_step { SYNC_FENCE, SYNC_CREATE, SYNC_FREE, SYNC_START, SYNC_WAIT,
		 SYNC_STEPS };

static int synchronized(uint32_t rank, uint32_t size, void *arg)
{
	const struct bgdma_window_attr attr = { .length = 64 };
	static const uint32_t last = 4;
	struct bgdma_window *window;
	struct accessor a = { 0 };

	require_is(0, accessor_open(&a));
	require_is(0, meet(&a));
	if (rank == last)
		die();
	switch (*(enum sync_step *)arg) {
	case SYNC_FENCE:
		require_is(-EHOSTDOWN, bgdma_window_fence(a.window, 0));
		break;
	case SYNC_CREATE:
		require_is(-EHOSTDOWN, bgdma_window_create(a.rma, &attr,
							   &window));
		break;
	case SYNC_FREE:
		require_is(-EHOSTDOWN, bgdma_window_free(a.window));
		break;
	case SYNC_START:
		require_is(-EHOSTDOWN, bgdma_window_start(a.window, &last, 1));
		break;
	default:
		require_is(0, bgdma_window_post(a.window, &last, 1));
		require_is(-EHOSTDOWN, bgdma_window_wait(a.window));
		break;
	}
	(void)size;
	return accessor_leave(&a);
}

TEST(x3_whoever_is_waited_for_dies)
{
	unsigned int step;

	partition_new("5x1x1", "");
	for (step = 0; step < SYNC_STEPS; step++)
		EXPECT_TRUE(job_run(5, synchronized, &step, 4));
}

static void on_down(void *arg, const struct bgdma_trouble_info *info)
{
	uint32_t *down = arg;

	*down += info->trouble == BGDMA_TROUBLE_PEER_DOWN;
}

static bool is_down(void *arg)
{
	return *(const uint32_t *)arg;
}

/* Who is posted to is known to be dead: the post has begun, and its wait says so. */
static int posted_late(uint32_t rank, uint32_t size, void *arg)
{
	const struct bgdma_window_attr window = { .length = WINDOW };
	const uint32_t all[] = { 0, 1 };
	struct accessor a = { 0 };
	uint32_t down = 0;

	(void)size;
	(void)arg;
	require_is(0, accessor_open_as(&a, (struct bgdma_endpoint_attr){
			.trouble = on_down, .arg = &down },
			(struct bgdma_rma_attr){ 0 }, &window));
	require_is(0, meet(&a));
	if (rank)
		die();
	require_is(0, member_until(&a.m, is_down, &down));
	require_is(0, bgdma_window_post(a.window, all, 2));
	require_is(0, bgdma_window_start(a.window, all, 1));
	require_is(0, bgdma_window_complete(a.window));
	require_is(-EHOSTDOWN, bgdma_window_wait(a.window));
	require_is(-ENOLCK, bgdma_window_wait(a.window));
	require_is(0, bgdma_window_post(a.window, NULL, 0));
	require_is(0, bgdma_window_wait(a.window));
	return accessor_leave(&a);
}

TEST(x3_the_wait_tells_of_who_was_gone_before_the_post)
{
	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, posted_late, NULL, 1));
}

/* ---- The window goes --------------------------------------------------- */

/* A target that frees its memory without asking: its own fault, and an error. */
static int freed(uint32_t rank, uint32_t size, void *arg)
{
	int *stage = arg;
	struct bgdma_rma_epoch *e;
	struct accessor a = { 0 };

	(void)size;
	require_is(0, accessor_open(&a));
	require_is(0, meet(&a));
	if (rank == 1) {
		require(until(load(stage) == 1));
		/* As a broken program would: the handle is lost. */
		require_is(0, bgdma_region_free(bgdma_window_region(a.window)));
		store(stage, 2);
		require(until(load(stage) == 3));
		return accessor_leave(&a);
	}
	require_is(0, bgdma_epoch_begin(a.window, 1, 5, 0, &e));
	require_is(0, put(&a, e, 0, 8, 0));
	require_is(0, bgdma_epoch_flush(e));
	store(stage, 1);
	require(until(load(stage) == 2));
	require_is(0, put(&a, e, 0, 8, 0));
	require(bgdma_epoch_close(e) < 0);
	require_is(1, a.last.rank);
	require_is(5, a.last.epoch);
	require(a.last.code == BGDMA_E_REGION || a.last.code == BGDMA_E_STALE);
	store(stage, 3);
	return accessor_leave(&a);
}

TEST(ep8_a_window_that_is_freed_in_an_epoch)
{
	int *stage = shared(64);

	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, freed, stage, -1));
}

/* ---- Counts that do not agree ------------------------------------------ */

/* A put in the name of an epoch, which the library knows nothing of. */
static int put_behind(struct accessor *a, uint32_t region, uint32_t epoch)
{
	const struct bgdma_peer *to = bgdma_endpoint_peer(a->m.ep, 1);
	struct bgdma_ctx *ctx = bgdma_endpoint_ctx(a->m.ep);
	const struct bgdma_inj_attr attr = { .entries = 64 };
	struct bgdma_transfer t = bgdma__no_transfer();
	struct bgdma_inj_fifo *fifo;
	struct bgdma_desc desc;

	require_is(0, bgdma_inj_create(ctx, &attr, &fifo));
	t.dest = to->node;
	t.dest_ctx = to->ctx;
	t.from.region = bgdma_region_handle(a->region);
	t.to.region = region;
	t.length = 8;
	t.epoch = epoch;
	bgdma_desc_put(&desc, &t);
	require_is(0, bgdma_inject(fifo, &desc));
	require_is(0, bgdma_inj_wait(fifo, bgdma_inj_next(fifo), BGDMA_SLEEP,
				     (int64_t)PATIENCE_NS));
	return bgdma_inj_destroy(fifo);
}

/*
 * The target's engine has more puts than the origin counted: that is what it
 * answers, and so what a close returns, which waits for the answer. That is a
 * while, since long puts to another are in front of what it answers to.
 */
#define LIES	20

static bool lied_to(void *arg)
{
	const struct accessor *a = arg;

	return a->troubles == LIES;
}

/* The owner is told, too: of which process, and what it said. */
static int owner_told(struct accessor *a)
{
	require_is(0, member_until(&a->m, lied_to, a));
	require(!a->last.origin);
	require(a->last.window == a->window);
	require_is(2, a->last.rank);
	require_is(LIES, a->last.epoch);
	require_is(BGDMA_E_EPOCH_COUNT, a->last.code);
	require_is(2, a->last.got);
	require_is(1, a->last.put);
	return 0;
}

/* Rank 2 lies to rank 1, and puts much to rank 0. */
static int answered(uint32_t rank, uint32_t size, void *arg)
{
	const struct bgdma_window_attr window = { .length = LOCAL };
	const struct bgdma_rma_attr rma = { .channels = 1 };
	struct bgdma_rma_epoch *e, *other;
	uint32_t *region = arg, i, k;
	struct accessor a = { 0 };

	(void)size;
	require_is(0, accessor_open_as(&a, (struct bgdma_endpoint_attr){ 0 },
				       rma, &window));
	if (rank == 1)
		*region = bgdma_region_handle(bgdma_window_region(a.window));
	require_is(0, meet(&a));
	for (i = 1; rank == 2 && i <= LIES; i++) {
		require_is(0, bgdma_epoch_begin(a.window, 1, i, 0, &e));
		require_is(0, bgdma_epoch_begin(a.window, 0, 99, 0, &other));
		require_is(0, put(&a, e, 0, 8, 0));
		require_is(0, bgdma_epoch_flush(e));
		require_is(0, put_behind(&a, *region, i));
		for (k = 0; k < 40; k++)
			require_is(0, put(&a, other, 0, lengthy(LOCAL), 0));
		require(bgdma_epoch_close(e) < 0);
		require_is(0, bgdma_epoch_close(other));
		require_is(i, a.troubles);
		require_is(BGDMA_E_EPOCH_COUNT, a.last.code);
	}
	if (rank == 1)
		require_is(0, owner_told(&a));
	require_is(0, meet(&a));
	require_is(0, at_gate(&a, NULL));
	return accessor_close(&a);
}

TEST(ep5_ep6_a_close_waits_for_the_answer)
{
	uint32_t *region = shared(sizeof(*region));

	partition_new("3x1x1", "");
	EXPECT_TRUE(job_run(3, answered, region, -1));
}

/* ---- Events that are lost ---------------------------------------------- */

/*
 * Rank 0 has so many events that it does not hear that the epoch of rank 2 at its
 * window is broken. It hears that some may be.
 */
static int deaf(uint32_t rank, uint32_t size, void *arg)
{
	uint32_t *stage = arg;
	struct bgdma_access_attr attr;
	struct bgdma_rma_epoch *e = NULL;
	struct bgdma_region *foreign;
	struct accessor a = { 0 };
	struct bgdma_ctx *ctx;
	bool held;

	(void)size;
	require_is(0, accessor_open(&a));
	ctx = bgdma_endpoint_ctx(a.m.ep);
	require_is(0, bgdma_region_alloc(ctx, 4096, BGDMA_LOCAL_WRITE,
					 &foreign));
	if (rank == 0)
		require_is(0, bgdma_epoch_begin(a.window, 1, 1, 0, &e));
	if (rank == 2)
		require_is(0, bgdma_epoch_begin(a.window, 0, 7,
						BGDMA_EPOCH_EXCLUSIVE, &e));
	require_is(0, meet(&a));
	if (rank == 2) {
		require(until(load(stage)));
		die();
	}
	if (rank == 0) {
		attr = access_at(&a, 0, 8, 0);
		attr.local.region = foreign;
		require(until(bgdma_epoch_get(e, &attr) ||
			      bgdma_events_lost(ctx)));
		require(bgdma_events_lost(ctx));
		store(stage, 1);
		require(until(!at_gate(&a, NULL)));
		a.troubles = 0;
		held = until(bgdma_endpoint_progress(a.m.ep, 64) >= 0 &&
			     a.troubles && !a.last.origin);
		require(held);
		require_is(BGDMA_STRANGER, a.last.rank);
		require_is(BGDMA_E_PEER_DOWN, a.last.code);
		require(a.last.window == a.window);
		require(bgdma_epoch_close(e) < 0);
		store(stage, 2);
	}
	require(until(load(stage) == 2));
	return accessor_leave(&a);
}

TEST(ep8_broken_though_events_are_lost)
{
	uint32_t *stage = shared(sizeof(*stage));

	partition_new("3x1x1", "");
	EXPECT_TRUE(job_run(3, deaf, stage, 2));
}

TEST_HARNESS_MAIN
