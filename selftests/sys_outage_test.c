// SPDX-License-Identifier: GPL-2.0
/*
 * What was sent is lost, since there was no way for longer than a link's time-out,
 * while nobody is dead: both ends break with each other, also the one that has sent
 * nothing, and whoever waits for what will never come hears of it.
 */
#include "kselftest_harness.h"
#include "coll_util.h"
#include "msg_util.h"
#include "rma_util.h"

#include <bgdma/collective.h>

/* Who cannot be reached for a while. */
#define FAR	1

/* What the processes of a job see together; @failed: how many have seen it fail. */
struct together {
	bool over;
	uint32_t failed;
};

/* Who is told of the others, and of how many. */
struct hearer {
	uint32_t lost, down, whom, code;
};

static void on_trouble(void *arg, const struct bgdma_trouble_info *info)
{
	struct hearer *h = arg;

	h->lost += info->trouble == BGDMA_TROUBLE_LOST;
	if (info->trouble != BGDMA_TROUBLE_PEER_DOWN)
		return;
	h->down++;
	h->whom = info->rank;
	h->code = info->code;
}

static bool has_heard(void *arg)
{
	const struct hearer *h = arg;

	return h->down;
}

#define HEARS(h)	(struct bgdma_endpoint_attr){ .trouble = on_trouble, \
						      .arg = (h) }

/*
 * Who has sent makes progress until FAR knows, too. Others may have lost nothing, and
 * know of it from them.
 */
static int until_over(struct member *m, struct hearer *h, struct together *t)
{
	if (m->rank == 0 || m->rank == FAR)
		require_is(0, member_until(m, has_heard, h));
	/* When it is over they leave, and who is late hears of that, too. */
	require(!h->down || h->code == BGDMA_E_TIMEOUT || h->code == BGDMA_E_LINK_DOWN ||
		__atomic_load_n(&t->over, __ATOMIC_ACQUIRE));
	if (m->rank == 0) {
		require_is(FAR, h->whom);
		links_cut(FAR, false);
	}
	if (m->rank == FAR)
		__atomic_store_n(&t->over, true, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&t->over, __ATOMIC_ACQUIRE))
		(void)bgdma_endpoint_wait(m->ep, 10000000);
	return member_close(m);
}

static int begin(struct member *m)
{
	require_is(0, bgdma_endpoint_flush(m->ep, (int64_t)PATIENCE_NS));
	require_is(0, bgdma_job_fence(m->job));
	if (m->rank == 0)
		links_cut(FAR, true);
	return bgdma_job_fence(m->job);
}

static bool outage_run(uint32_t size, member_fn *fn)
{
	char dims[16];

	links_hasty();
	snprintf(dims, sizeof(dims), "%ux1x1", size);
	partition_new(dims, "");
	return job_run(size, fn, shared(sizeof(struct together)), -1);
}

/* ---- Tagged messages ------------------------------------------------------ */

static int talker_begin(struct talker *t, struct hearer *h)
{
	require_is(0, member_open(&t->m, &HEARS(h)));
	require_is(0, bgdma_msg_create(&t->msg, t->m.ep, NULL));
	require_is(0, bgdma_endpoint_commit(t->m.ep, NULL));
	return talker_fence(t);
}

static int talk(uint32_t rank, uint32_t size, void *arg)
{
	struct hearer h = { 0 };
	struct talker t = { 0 };
	char byte = 1;

	(void)size;
	require_is(0, talker_begin(&t, &h));
	require_is(0, begin(&t.m));
	if (rank == 0) {
		require_is(0, bgdma_msg_send(t.msg, &byte, 1, FAR, 1, 0));
		require_is(0, member_until(&t.m, has_heard, &h));
		require(h.lost);
		require_is(-EHOSTDOWN, bgdma_msg_send(t.msg, &byte, 1, FAR, 1,
						      0));
		links_cut(FAR, false);
	} else {
		/* It waits for what was lost, and sends nothing. */
		require_is(-EHOSTDOWN, bgdma_msg_recv(t.msg, &byte, 1, 0, 1, 0,
						      NULL));
	}
	require_is(0, until_over(&t.m, &h, arg));
	require_is(1, h.down);
	return 0;
}

TEST(x3_msg_what_was_lost_ends_both_sides)
{
	EXPECT_TRUE(outage_run(2, talk));
}

#define LONG	(1U << 20)

/* Announced before, and taken when nothing gets there: each side hears its own way. */
static int talk_long(uint32_t rank, uint32_t size, void *arg)
{
	static char text[LONG] PINNED;
	struct bgdma_msg_request *r;
	struct hearer h = { 0 };
	struct talker t = { 0 };

	(void)size;
	require_is(0, talker_begin(&t, &h));
	if (rank == 0)
		require_is(0, bgdma_msg_isend(t.msg, text, LONG, FAR, 1, 0,
					      &r));
	require_is(0, begin(&t.m));
	if (rank == FAR)
		require_is(0, bgdma_msg_irecv(t.msg, text, LONG, 0, 1, 0, &r));
	require_is(-EHOSTDOWN, bgdma_msg_wait(&r, NULL));
	return until_over(&t.m, &h, arg);
}

TEST(x3_msg_what_was_lost_of_a_long_one_ends_both_sides)
{
	EXPECT_TRUE(outage_run(2, talk_long));
}

/* Who has no way out, and who hears nothing any more. */
static int talk_alone(uint32_t rank, uint32_t size, void *arg)
{
	static char text[LONG] PINNED;
	struct bgdma_msg_request *r[2];
	struct hearer h = { 0 };
	struct talker t = { 0 };

	(void)size;
	(void)arg;
	require_is(0, talker_begin(&t, &h));
	require_is(0, bgdma_endpoint_flush(t.m.ep, (int64_t)PATIENCE_NS));
	require_is(0, bgdma_job_fence(t.m.job));
	if (rank == 0) {
		links_down(0);
		require_is(0, bgdma_msg_isend(t.msg, text, LONG, FAR, 1, 0,
					      &r[0]));
		require_is(0, bgdma_msg_irecv(t.msg, text, 1, FAR, 1, 0,
					      &r[1]));
		require_is(-EHOSTDOWN, bgdma_msg_wait(&r[0], NULL));
		require_is(-EHOSTDOWN, bgdma_msg_wait(&r[1], NULL));
	} else {
		require_is(-EHOSTDOWN, bgdma_msg_recv(t.msg, text, LONG, 0, 1,
						      0, NULL));
	}
	require_is(0, member_until(&t.m, has_heard, &h));
	return member_close(&t.m);
}

TEST(x3_msg_what_found_no_way_ends_both_sides)
{
	EXPECT_TRUE(outage_run(2, talk_alone));
}

/* ---- Many who are told ----------------------------------------------------- */

#define MANY	67	/* more than words that are under way at a time */

struct many {
	uint32_t heard;
	bool last;
};

/* Where a process is: the first and the last are alone, FAR has all others. */
static uint32_t many_node(uint32_t rank)
{
	return rank == 0 ? 0 : rank == MANY - 1 ? 2 : FAR;
}

static int many_lose(struct member *m, struct hearer *h, uint32_t operation)
{
	uint32_t i;

	for (i = 1; i <= 2; i++)
		links_cut(i, true);
	for (i = 1; i < MANY; i++)
		require_is(0, bgdma_endpoint_send(m->ep,
				&(struct bgdma_send_attr){
				.operation = operation, .dest = i }));
	require(until(({
		require(bgdma_endpoint_progress(m->ep, 0) >= 0);
		h->down == MANY - 1;
	})));
	/* The last can be told, the many before it cannot. */
	links_cut(2, false);
	return 0;
}

static int on_lost(void *arg, uint32_t rank, const struct bgdma_packet *packet)
{
	(void)arg;
	(void)rank;
	(void)packet;
	return 0;
}

static int many(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_endpoint_attr attr;
	struct hearer h = { 0 };
	struct member m = { 0 };
	struct many *t = arg;
	uint32_t operation;

	links_enter(many_node(rank));
	attr = HEARS(&h);
	attr.node = many_node(rank);
	attr.fixed_node = true;
	require_is(0, member_open(&m, &attr));
	require_is(0, member_commit(&m, &(struct test_operation){
			"lost", on_lost, 0, &operation }, 1, NULL));
	require_is(0, bgdma_job_fence(m.job));
	if (rank == 0)
		require_is(0, many_lose(&m, &h, operation));
	while (!h.down)
		(void)bgdma_endpoint_wait(m.ep, 100000000);
	__atomic_add_fetch(&t->heard, 1, __ATOMIC_RELEASE);
	if (rank == MANY - 1)
		__atomic_store_n(&t->last, true, __ATOMIC_RELEASE);
	require(rank || until(({
		require(bgdma_endpoint_progress(m.ep, 0) >= 0);
		__atomic_load_n(&t->last, __ATOMIC_ACQUIRE);
	})));
	if (rank == 0)
		links_cut(FAR, false);
	while (__atomic_load_n(&t->heard, __ATOMIC_ACQUIRE) < size)
		(void)bgdma_endpoint_wait(m.ep, 100000000);
	return member_close(&m);
}

FIXTURE(crowd) {
	struct many *many;
};

FIXTURE_SETUP(crowd)
{
	self->many = shared(sizeof(*self->many));
}

FIXTURE_TEARDOWN(crowd)
{
}

TEST_F_TIMEOUT(crowd, x3_who_can_be_told_waits_for_nobody, 300)
{
	links_hasty();
	partition_new("3x1x1", "");
	EXPECT_TRUE(job_run(MANY, many, self->many, -1));
}

/* ---- Collectives ---------------------------------------------------------- */

static int caller_begin(struct caller *c, struct hearer *h)
{
	require_is(0, caller_open_as(c, &HEARS(h)));
	require_is(0, bgdma_coll_split(c->coll,
				       &(struct bgdma_split_attr){ 0 },
				       &c->group));
	require_is(0, bgdma_coll_barrier(c->group));
	return begin(&c->m);
}

static int caller_over(struct caller *c, struct hearer *h, void *arg)
{
	uint32_t dead;
	int ret;

	/* What is lost is missed in the next at the latest. */
	while (!(ret = bgdma_coll_barrier(c->group)))
		;
	require_is(-EHOSTDOWN, ret);
	dead = bgdma_coll_dead(c->group);
	/* One of two who cannot reach each other. */
	require(dead < c->m.size && dead != c->m.rank);
	require_is(0, until_over(&c->m, h, arg));
	return 0;
}

/* Its own result tells the root nothing. */
static int broadcast(uint32_t rank, uint32_t size, void *arg)
{
	struct hearer h = { 0 };
	struct caller c = { 0 };
	uint64_t value = rank;
	int ret;

	(void)size;
	require_is(0, caller_begin(&c, &h));
	ret = bgdma_coll_run(c.group, &(struct bgdma_collective){
			.kind = BGDMA_BROADCAST, .algorithm = BGDMA_LINEAR,
			.out = &value, .bytes = sizeof(value) });
	require_is(rank == FAR ? -EHOSTDOWN : 0, ret);
	return caller_over(&c, &h, arg);
}

TEST(x3_coll_what_was_lost_ends_a_broadcast)
{
	EXPECT_TRUE(outage_run(3, broadcast));
}

static int barrier(uint32_t rank, uint32_t size, void *arg)
{
	struct hearer h = { 0 };
	struct caller c = { 0 };

	(void)rank;
	(void)size;
	require_is(0, caller_begin(&c, &h));
	return caller_over(&c, &h, arg);
}

TEST(x3_coll_what_was_lost_ends_a_barrier)
{
	EXPECT_TRUE(outage_run(3, barrier));
}

/*
 * What the engines combine goes by flows of their own, of which no message knows: the
 * group is over at each member, and who can reach each other still do.
 */
static int combine(uint32_t rank, uint32_t size, void *arg)
{
	static const struct bgdma_operator sum = { .reduction = BGDMA_SUM,
						   .element = BGDMA_S64 };
	int64_t value = 1;
	const struct bgdma_collective what = {
		.kind = BGDMA_ALLREDUCE, .algorithm = BGDMA_ENGINES,
		.op = &sum, .count = 1, .out = &value,
	};
	struct together *t = arg;
	struct hearer h = { 0 };
	struct caller c = { 0 };
	int ret;

	require_is(0, caller_open_as(&c, &HEARS(&h)));
	require_is(0, bgdma_coll_split(c.coll, &(struct bgdma_split_attr){
			.flags = BGDMA_SPLIT_ENGINES }, &c.group));
	require_is(0, bgdma_coll_run(c.group, &what));
	require_is(size, value);
	require_is(0, begin(&c.m));
	while (!(ret = bgdma_coll_run(c.group, &what)))
		;
	require(ret == -EIO || ret == -EHOSTDOWN);
	require(bgdma_coll_run(c.group, &what) < 0);
	__atomic_add_fetch(&t->failed, 1, __ATOMIC_RELEASE);
	while (__atomic_load_n(&t->failed, __ATOMIC_ACQUIRE) < size)
		(void)bgdma_endpoint_wait(c.m.ep, 10000000);
	require(rank == FAR || !h.down || h.whom == FAR);
	if (rank == 0)
		links_cut(FAR, false);
	return caller_close(&c);
}

TEST(x3_dp7_what_engines_lose_ends_the_group)
{
	EXPECT_TRUE(outage_run(3, combine));
}

/* ---- One-sided access ----------------------------------------------------- */

static int accessor_begin(struct accessor *a, struct hearer *h,
			  unsigned int flags)
{
	require_is(0, accessor_open_as(a, HEARS(h),
				       (struct bgdma_rma_attr){ 0 },
				       &(struct bgdma_window_attr){
						.length = WINDOW }));
	require_is(0, bgdma_window_fence(a->window, flags));
	return begin(&a->m);
}

static int fence(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_rma_epoch *e;
	struct accessor a = { 0 };
	struct hearer h = { 0 };
	int ret;

	(void)size;
	require_is(0, accessor_begin(&a, &h, 0));
	if (rank == 0 && !bgdma_window_epoch(a.window, FAR, &e))
		require_is(0, put(&a, e, 0, 8, 0));
	while (!(ret = bgdma_window_fence(a.window, 0)))
		;
	require_is(-EHOSTDOWN, ret);
	return until_over(&a.m, &h, arg);
}

TEST(x3_rma_what_was_lost_ends_a_fence)
{
	EXPECT_TRUE(outage_run(3, fence));
}

/* What it is told of the end of an access is lost. */
static int exposure(uint32_t rank, uint32_t size, void *arg)
{
	const uint32_t other = !rank;
	struct bgdma_rma_epoch *e;
	struct accessor a = { 0 };
	struct hearer h = { 0 };

	(void)size;
	require_is(0, accessor_begin(&a, &h, BGDMA_FENCE_LAST));
	if (rank == FAR) {
		require_is(0, bgdma_window_post(a.window, &other, 1));
		require_is(-EHOSTDOWN, bgdma_window_wait(a.window));
		return until_over(&a.m, &h, arg);
	}
	require_is(0, bgdma_window_start(a.window, &other, 1));
	require_is(-EHOSTDOWN, bgdma_window_epoch(a.window, other, &e));
	require_is(-EHOSTDOWN, bgdma_window_complete(a.window));
	return until_over(&a.m, &h, arg);
}

TEST(x3_rma_what_was_lost_ends_an_exposure)
{
	EXPECT_TRUE(outage_run(2, exposure));
}

/* Who holds the window of who cannot be reached keeps nobody else from it. */
static int hold(uint32_t rank, uint32_t size, void *arg)
{
	struct together *together = arg;
	struct bgdma_rma_epoch *e;
	struct accessor a = { 0 };
	struct hearer h = { 0 };
	bool first = rank == 0;

	(void)size;
	require_is(0, accessor_open_as(&a, HEARS(&h),
				       (struct bgdma_rma_attr){ 0 },
				       &(struct bgdma_window_attr){
						.length = WINDOW }));
	require_is(0, meet(&a));
	if (first)
		require_is(0, bgdma_epoch_begin(a.window, FAR, 1,
						BGDMA_EPOCH_EXCLUSIVE, &e));
	require_is(0, begin(&a.m));
	if (first) {
		require_is(0, put(&a, e, 0, 8, 0));
		require_is(-EHOSTDOWN, bgdma_epoch_close(e));
	}
	if (rank != 2)
		return until_over(&a.m, &h, arg);
	require(until(__atomic_load_n(&together->over, __ATOMIC_ACQUIRE)));
	require_is(0, bgdma_epoch_begin(a.window, FAR, 1,
					BGDMA_EPOCH_EXCLUSIVE, &e));
	require_is(0, put(&a, e, 0, 8, 0));
	require_is(0, bgdma_epoch_close(e));
	return member_close(&a.m);
}

TEST(x3_rma_what_was_lost_holds_no_window)
{
	EXPECT_TRUE(outage_run(3, hold));
}

TEST_HARNESS_MAIN
