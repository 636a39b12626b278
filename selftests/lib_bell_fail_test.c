// SPDX-License-Identifier: GPL-2.0
/*
 * The inline calls of the library that ring a doorbell, when it cannot be rung: they
 * tell so, what they are about is in the ring all the same, and the next call that
 * waits rings again.
 */
#include "kselftest_harness.h"
#include "lib_fake.h"

#include <bgdma/bgdma.h>

#define ENTRIES	16

static struct {
	struct bgdma_ctx *ctx;
	struct bgdma_inj_fifo *inj;
	struct bgdma_rec_fifo *rec;
	struct bgdma_region *region;
	struct bgdma_counter *sent;
} all;

static void all_new(void)
{
	const struct bgdma_attach_attr attach = { .partition = "fake" };
	const struct bgdma_inj_attr inj = { .entries = ENTRIES };

	fake_reset();
	if (bgdma_attach(&all.ctx, &attach) ||
	    bgdma_inj_create(all.ctx, &inj, &all.inj) ||
	    bgdma_rec_create(all.ctx, NULL, &all.rec) ||
	    bgdma_region_alloc(all.ctx, 9000, BGDMA_LOCAL_READ, &all.region) ||
	    bgdma_counter_alloc(all.ctx, BGDMA_INJECTION, &all.sent))
		abort();
	fake_rec_kern(bgdma_rec_id(all.rec))->starved = 1;
}

/* ---- What rings ---------------------------------------------------------- */

static int ring_submit(void)
{
	struct bgdma_desc *desc = bgdma_inj_reserve(all.inj);

	bgdma_desc_nop(desc, 0);
	return bgdma_inj_submit(all.inj);
}

static int ring_kick(void)
{
	struct bgdma_desc *desc = bgdma_inj_reserve(all.inj);

	bgdma_desc_nop(desc, 0);
	bgdma_inj_publish(all.inj);
	return bgdma_kick(all.ctx);
}

static int ring_inject(void)
{
	struct bgdma_desc desc;

	bgdma_desc_nop(&desc, 0);
	return bgdma_inject(all.inj, &desc);
}

static int ring_inject_many(void)
{
	struct bgdma_desc desc[3];
	int i, ret;

	for (i = 0; i < 3; i++)
		bgdma_desc_nop(&desc[i], 0);
	ret = bgdma_inject_many(all.inj, desc, 3);
	return ret == 3 ? 0 : ret;
}

static int ring_memfifo(void)
{
	return bgdma_memfifo(all.inj, &(struct bgdma_memfifo_attr){
			.data = "word", .length = 4, .counter = all.sent });
}

static int ring_local_memfifo(void)
{
	return bgdma_local_memfifo(all.inj, &(struct bgdma_memfifo_attr){
			.data = "word", .length = 4, .counter = all.sent });
}

static int ring_put(void)
{
	return bgdma_put(all.inj, &(struct bgdma_put_attr){
			.length = 8, .from = { all.region, 0 } });
}

static int ring_local_copy(void)
{
	return bgdma_local_copy(all.inj, &(struct bgdma_local_copy_attr){
			.length = 8, .from = { all.region, 0 },
			.to = { all.region, 64 } });
}

static int ring_rget(void)
{
	return bgdma_rget(all.inj, &(struct bgdma_rget_attr){
			.count = 1, .from = { all.region, 0 } });
}

static int ring_atomic(void)
{
	return bgdma_atomic(all.inj, &(struct bgdma_atomic_attr){
			.op = BGDMA_ATOMIC_ADD, .type = BGDMA_ATOMIC_U64,
			.count = 1, .operand = 1 });
}

static const struct bgdma_gate_attr epoch = { .epoch = 7 };

static int ring_gate_begin(void)
{
	return bgdma_gate_begin(all.inj, &epoch);
}

static int ring_gate_close(void)
{
	return bgdma_gate_close(all.inj, &epoch);
}

static int ring_gate_end(void)
{
	return bgdma_gate_end(all.inj, &epoch);
}

static struct bgdma_tree_attr part_of_class(void)
{
	return (struct bgdma_tree_attr){
		.number = 1, .length = 8, .from = { all.region, 0 },
		.dispatch = BGDMA_TREE_COMBINE(BGDMA_TREE_ADD, BGDMA_TREE_S64),
	};
}

static int ring_tree_reduce(void)
{
	struct bgdma_tree_attr attr = part_of_class();

	return bgdma_tree_reduce(all.inj, &attr);
}

static int ring_tree_allreduce(void)
{
	struct bgdma_tree_attr attr = part_of_class();

	return bgdma_tree_allreduce(all.inj, &attr);
}

static int ring_tree_broadcast(void)
{
	struct bgdma_tree_attr attr = part_of_class();

	attr.dispatch = 0;
	return bgdma_tree_broadcast(all.inj, &attr);
}

static int ring_tree_send(void)
{
	return bgdma_tree_send(all.inj, &(struct bgdma_tree_send_attr){
			.number = 1, .length = 8, .from = { all.region, 0 } });
}

/* One that finds no room: what is there before it is rung for. */
static int ring_full(void)
{
	const struct bgdma_memfifo_attr word = {
		.data = "word", .length = 4, .more = true,
	};
	int i, ret;

	for (i = 0; i < ENTRIES; i++)
		if (bgdma_memfifo(all.inj, &word))
			return -EDOM;
	ret = bgdma_memfifo(all.inj, &word);
	return ret == -EAGAIN ? 0 : ret;
}

static int ring_release(void)
{
	return bgdma_rec_release(all.rec);
}

static const struct ringer {
	const char *name;
	int (*call)(void);
	unsigned int descs;	/* in the ring since; 0: it is about room */
} ringers[] = {
	{ "inj_submit", ring_submit, 1 },
	{ "kick", ring_kick, 1 },
	{ "inject", ring_inject, 1 },
	{ "inject_many", ring_inject_many, 3 },
	{ "memfifo", ring_memfifo, 1 },
	{ "local_memfifo", ring_local_memfifo, 1 },
	{ "put", ring_put, 1 },
	{ "local_copy", ring_local_copy, 1 },
	{ "rget", ring_rget, 1 },
	{ "atomic", ring_atomic, 1 },
	{ "gate_begin", ring_gate_begin, 1 },
	{ "gate_close", ring_gate_close, 1 },
	{ "gate_end", ring_gate_end, 1 },
	{ "tree_reduce", ring_tree_reduce, 1 },
	{ "tree_allreduce", ring_tree_allreduce, 1 },
	{ "tree_broadcast", ring_tree_broadcast, 1 },
	{ "tree_send", ring_tree_send, 1 },
	{ "full", ring_full, ENTRIES },
	{ "rec_release", ring_release, 0 },
};

/* ---- What rings again ---------------------------------------------------- */

static void all_done(void)
{
	fake_inj_kern(bgdma_inj_id(all.inj))->done = ENTRIES;
}

static int wait_ctx(void)
{
	int ret = bgdma_ctx_wait(all.ctx, 0);

	return ret == -ETIMEDOUT ? 0 : ret;
}

static int wait_events(void)
{
	struct bgdma_condition events = { .kind = BGDMA_KIND_EVENTS };

	return bgdma_wait(all.ctx, &events, 1, -1);
}

static int wait_inj(void)
{
	fake.on_wait = all_done;
	return bgdma_inj_wait(all.inj, ENTRIES, BGDMA_SLEEP, -1);
}

static int (*const waits[])(void) = { wait_ctx, wait_events, wait_inj };

/* ---- Each of them -------------------------------------------------------- */

/* What the engine sees: the descriptors, and that it is to look for them. */
static bool engine_sees(const struct ringer *r)
{
	uint32_t id = bgdma_inj_id(all.inj);
	uint64_t bell = r->descs ? fake_user->doorbell[0] :
				   fake_user->doorbell_rec;

	if (!r->descs)
		id = bgdma_rec_id(all.rec);
	return bell & 1ULL << id &&
	       fake_inj_user(bgdma_inj_id(all.inj))->tail == r->descs;
}

static int fail_once(int (*call)(void), int error)
{
	int ret;

	fake.calls = 0;
	fake.fail_at = 1;
	fake.fail_with = error;
	ret = call();
	fake.fail_at = 0;
	return ret;
}

static void refuse_to_ring(const struct ringer *r, int error, int (*wait)(void),
			   struct __test_metadata *_metadata)
{
	all_new();
	fake_kern->wake = BGDMA_NEED_WAKEUP;
	EXPECT_EQ(-error, fail_once(r->call, error)) TH_LOG("%s", r->name);
	EXPECT_EQ(1, fake.calls) TH_LOG("%s", r->name);
	EXPECT_EQ(0, fake.doorbells);
	EXPECT_TRUE(engine_sees(r)) TH_LOG("%s", r->name);
	/* Nor can who waits ring, the first time. */
	EXPECT_EQ(-error, fail_once(wait, error)) TH_LOG("%s", r->name);
	EXPECT_EQ(0, fake.doorbells);
	EXPECT_EQ(0, wait()) TH_LOG("%s", r->name);
	EXPECT_EQ(1, fake.doorbells) TH_LOG("%s", r->name);
	/* It was rung: that is all. */
	fake_inj_kern(bgdma_inj_id(all.inj))->done = 0;
	EXPECT_EQ(0, wait());
	EXPECT_EQ(1, fake.doorbells) TH_LOG("%s", r->name);
	bgdma_detach(all.ctx);
}

#define COUNT(list)	(sizeof(list) / sizeof((list)[0]))

TEST(dma9_who_cannot_ring_rings_again)
{
	static const int errors[] = { EINTR, ENOMEM };
	size_t i, k, w;

	for (i = 0; i < COUNT(ringers); i++)
		for (k = 0; k < COUNT(errors); k++)
			for (w = 0; w < COUNT(waits); w++)
				refuse_to_ring(&ringers[i], errors[k], waits[w],
					       _metadata);
}

/* By hand, too: what could not be rung is no secret of the library's. */
TEST(dma9_who_cannot_ring_may_kick)
{
	size_t i;

	for (i = 0; i < COUNT(ringers); i++) {
		all_new();
		fake_kern->wake = BGDMA_NEED_WAKEUP;
		EXPECT_EQ(-EINTR, fail_once(ringers[i].call, EINTR));
		EXPECT_EQ(0, bgdma_kick(all.ctx));
		EXPECT_EQ(1, fake.doorbells) TH_LOG("%s", ringers[i].name);
		EXPECT_TRUE(engine_sees(&ringers[i]));
		bgdma_detach(all.ctx);
	}
}

/* There is nothing to fail while the engine polls. */
TEST(dma9_who_need_not_ring_cannot_fail)
{
	size_t i;

	for (i = 0; i < COUNT(ringers); i++) {
		all_new();
		EXPECT_EQ(0, fail_once(ringers[i].call, EINTR));
		EXPECT_EQ(0, fake.calls) TH_LOG("%s", ringers[i].name);
		EXPECT_TRUE(engine_sees(&ringers[i]));
		bgdma_detach(all.ctx);
	}
}

TEST_HARNESS_MAIN
