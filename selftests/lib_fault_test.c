// SPDX-License-Identifier: GPL-2.0
/*
 * The library's calls that make something, on the real device with a fault in
 * the kernel, see fault.h: what fails is taken back as a whole.
 */
#include <bgdma/bgdma.h>

#include "kselftest_harness.h"
#include "fault.h"

#define MEMORY	(3 * PAGE)
#define NUMBER	5	/* of a group, and of a class */


static struct {
	struct bgdma_ctx *ctx, *peer, *other;
	struct bgdma_group_member members[2];	/* the first two of these */
	struct bgdma_inj_fifo *inj;
	struct bgdma_rec_fifo *rec;
	struct bgdma_rget_queue *rgq;
	struct bgdma_region *region;
	struct bgdma_counter *counters[5];
	uint32_t grant;
	char *memory;		/* MEMORY bytes that may be pinned */
} w;

static int try_attach(void)
{
	return bgdma_attach(&w.other, &(struct bgdma_attach_attr){
			.partition = PARTITION, .rank = 1 });
}

static void undo_attach(void)
{
	bgdma_detach(w.other);
}

static int try_query(void)
{
	struct bgdma_query q;

	return bgdma_query(&q);
}

static int try_inj(void)
{
	return bgdma_inj_create(w.ctx, NULL, &w.inj);
}

static void undo_inj(void)
{
	must(bgdma_inj_destroy(w.inj));
}

static int try_rec(void)
{
	return bgdma_rec_create(w.ctx, NULL, &w.rec);
}

static void undo_rec(void)
{
	must(bgdma_rec_destroy(w.rec));
}

static int try_rgq(void)
{
	return bgdma_rgq_create(w.ctx, NULL, &w.rgq);
}

static void undo_rgq(void)
{
	must(bgdma_rgq_destroy(w.rgq));
}

static int try_counters(void)
{
	return bgdma_counter_alloc_many(w.ctx, BGDMA_RECEPTION, 5, 0,
					w.counters);
}

static void undo_counters(void)
{
	int i;

	for (i = 0; i < 5; i++)
		must(bgdma_counter_free(w.counters[i]));
}

static void prepare_counters(void)
{
	must(try_counters());
}

static int try_register(void)
{
	return bgdma_region_register(w.ctx, w.memory, MEMORY,
				     BGDMA_LOCAL_READ, &w.region);
}

static int try_alloc(void)
{
	return bgdma_region_alloc(w.ctx, 5 * PAGE, BGDMA_LOCAL_READ,
				  &w.region);
}

static void undo_region(void)
{
	must(bgdma_region_free(w.region));
}

static void prepare_grant(void)
{
	must(try_alloc());
}

static int try_grant(void)
{
	return bgdma_region_grant(w.region, &(struct bgdma_grant_attr){
			.rank = 1, .ctx = BGDMA_CTX_ANY,
			.rights = BGDMA_RIGHT_READ }, &w.grant);
}

static void undo_grant(void)
{
	must(bgdma_revoke(w.ctx, w.grant));
	undo_region();
}

static int try_gate(void)
{
	return bgdma_gate_create(w.region, 4, 0);
}

static int try_group(void)
{
	const struct bgdma_group_slot slot = {
		BGDMA_KIND_REC_COUNTER, bgdma_counter_handle(w.counters[0]),
	};

	return bgdma_group_bind(w.ctx, &(struct bgdma_group_attr){
			.number = NUMBER, .slots = &slot, .slot_count = 1,
			.members = w.members, .member_count = 2 });
}

static int try_group_unbind(void)
{
	return bgdma_group_unbind(w.ctx, NUMBER);
}

static void prepare_group(void)
{
	prepare_counters();
	must(try_group());
}

static void undo_group(void)
{
	must(try_group_unbind());
	undo_counters();
}

static int try_class(void)
{
	return bgdma_class_bind(w.ctx, &(struct bgdma_class_attr){
			.number = NUMBER, .instance = 1,
			.members = w.members, .member_count = 2 });
}

static int try_class_unbind(void)
{
	int ret;

	/* Its greetings, and the word that it leaves, may be on their way yet. */
	while ((ret = bgdma_class_unbind(w.ctx, NUMBER, 0)) == -EBUSY)
		sched_yield();
	return ret;
}

static void prepare_class(void)
{
	must(try_class());
}

static void undo_class(void)
{
	must(try_class_unbind());
}

static const struct faulty calls[] = {
	FAULTY("attach", NULL, try_attach, undo_attach),
	FAULTY("query", NULL, try_query, NULL),
	FAULTY("inj_create", NULL, try_inj, undo_inj),
	FAULTY("rec_create", NULL, try_rec, undo_rec),
	FAULTY("rgq_create", NULL, try_rgq, undo_rgq),
	FAULTY("counter_alloc_many", NULL, try_counters, undo_counters),
	FAULTY("region_register", NULL, try_register, undo_region),
	FAULTY("region_alloc", NULL, try_alloc, undo_region),
	FAULTY("region_grant", prepare_grant, try_grant, undo_grant),
	FAULTY("gate_create", prepare_grant, try_gate, undo_region),
	FAULTY("group_bind", prepare_counters, try_group, undo_group),
	FAULTY("group_unbind", prepare_group, try_group_unbind,
	       undo_counters),
	FAULTY("class_bind", NULL, try_class, undo_class),
	FAULTY("class_unbind", prepare_class, try_class_unbind, NULL),
};

static struct bgdma_group_member member_new(struct bgdma_ctx **ctx, uint32_t rank)
{
	must(bgdma_attach(ctx, &(struct bgdma_attach_attr){
			.partition = PARTITION, .rank = rank }));
	return (struct bgdma_group_member){
		.rank = rank, .ctx = bgdma_ctx_info(*ctx)->ctx,
		.incarnation = bgdma_ctx_info(*ctx)->incarnation,
	};
}

FIXTURE(fault)
{
	int unused;
};

FIXTURE_SETUP(fault)
{
	const char *why = faults_begin();

	if (why)
		SKIP(return, "%s", why);
	w.memory = shared(MEMORY);
	partition_new("4x1x1", "");
	w.members[0] = member_new(&w.ctx, 0);
	w.members[1] = member_new(&w.peer, 1);
}

FIXTURE_TEARDOWN(fault)
{
	bgdma_detach(w.peer);
	bgdma_detach(w.ctx);
}

TEST_F_TIMEOUT(fault, every_call_that_makes_something, 600)
{
	size_t i;

	for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		EXPECT_LT(0, fault_all(&calls[i]));
}

/* A wait for the context copes: without io_uring it polls. */
TEST_F_TIMEOUT(fault, ctx_wait, 120)
{
	bool hit = true;
	unsigned int n;

	for (n = 1; hit && n < FAULTS_MAX; n++) {
		struct bgdma_ctx *ctx;
		int ret;

		must(bgdma_attach(&ctx, &(struct bgdma_attach_attr){
				.partition = PARTITION, .rank = 2 }));
		fault_arm(n);
		ret = bgdma_ctx_wait(ctx, 1000000);
		hit = fault_disarm();
		EXPECT_TRUE(ret == -ETIMEDOUT || (hit && fault_errno(ret)))
			TH_LOG("fault %u: %d", n, ret);
		EXPECT_EQ(-ETIMEDOUT, bgdma_ctx_wait(ctx, 1000000));
		bgdma_detach(ctx);
	}
	EXPECT_LT(5, n);
	EXPECT_FALSE(hit);
}

TEST_HARNESS_MAIN
