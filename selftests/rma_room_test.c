// SPDX-License-Identifier: GPL-2.0
/*
 * Accesses that wait for room in a channel: callbacks run meanwhile, and may close the
 * epoch (EP-4).
 */
#include "kselftest_harness.h"
#include "rma_util.h"

#define FAR		1
#define ENTRIES		64U
#define PIECE		8U
#define PIECES		(WINDOW / PIECE)
#define MANY		(2 * ENTRIES * BGDMA_RGET_DESC_MAX)	/* more than there is room for */

enum kind { ROW_OF_PUTS, ROW_OF_GETS, ROW_OF_UPDATES, PUTS, GETS, UPDATES,
	    UPDATES_BY_US };

static bool is_get(enum kind kind)
{
	return kind == ROW_OF_GETS || kind == GETS;
}

struct closer {
	struct bgdma_rma_epoch *epoch;
	int closed;
};

/* Frames come again, and what waits goes on. */
static int on_close(void *arg, uint32_t rank, const struct bgdma_packet *packet)
{
	struct closer *c = arg;

	(void)rank;
	(void)packet;
	require_is(0, bgdma_epoch_closing(c->epoch));
	c->closed++;
	links_cut(FAR, false);
	return 0;
}

static int room_open_as(struct accessor *a, bgdma_packet_fn *packet,
			struct closer *c, uint32_t *id)
{
	const struct bgdma_window_attr window = { .length = WINDOW };
	const struct bgdma_rma_attr rma = { .channels = 1, .entries = ENTRIES };
	const struct test_operation close = { "close", packet, 0, id };

	require_is(0, member_open(&a->m, NULL));
	require_is(0, bgdma_rma_create(&a->rma, a->m.ep, &rma));
	require_is(0, member_commit(&a->m, &close, 1, c));
	require_is(0, bgdma_region_alloc(bgdma_endpoint_ctx(a->m.ep), LOCAL,
					 LOCAL_RW, &a->region));
	require_is(0, bgdma_endpoint_expose(a->m.ep, a->region,
					    BGDMA_RIGHT_WRITE));
	a->local = bgdma_region_addr(a->region);
	require_is(0, bgdma_window_create(a->rma, &window, &a->window));
	a->own = bgdma_window_addr(a->window);
	return 0;
}

/* Piece @i, or all of them, from the place of the same number. */
static int access_piece(const struct accessor *a, struct bgdma_rma_epoch *e,
			enum kind kind, uint32_t i)
{
	const struct bgdma_stride row = { .count = MANY, .local = PIECE,
					  .at = PIECE };
	const struct bgdma_access_attr piece = access_at(a, i * PIECE, PIECE,
							 i * PIECE);
	struct bgdma_update_attr update = {
		.op = BGDMA_ATOMIC_ADD, .type = BGDMA_ATOMIC_U64, .count = 1,
		.local = piece.local, .at = piece.at,
	};

	switch (kind) {
	case ROW_OF_PUTS:
		return bgdma_epoch_put_strided(e, &piece, &row);
	case ROW_OF_GETS:
		return bgdma_epoch_get_strided(e, &piece, &row);
	case ROW_OF_UPDATES:
		return bgdma_epoch_update_strided(e, &update, &row);
	case PUTS:
		return bgdma_epoch_put(e, &piece);
	case GETS:
		return bgdma_epoch_get(e, &piece);
	case UPDATES_BY_US:
		update.type = BGDMA_RMA_DOUBLE;
		update.op = BGDMA_ATOMIC_MUL;
		break;
	default:
		break;
	}
	return bgdma_epoch_update(e, &update);
}

/* Nothing is at a place that is not its own, and nothing behind what was refused. */
static int pieces_check(const uint64_t *got)
{
	bool over = false;
	uint32_t i;

	for (i = 0; i < PIECES; i++) {
		over |= !got[i];
		require(over ? !got[i] : got[i] == i + 1);
	}
	require(got[0] && over);
	return 0;
}

static int room_at_origin(struct accessor *a, struct closer *c, uint32_t id,
			  enum kind kind)
{
	const struct bgdma_send_attr close = { .operation = id };
	uint64_t *word = (uint64_t *)a->local;
	uint32_t i;
	int ret = 0;

	for (i = 0; i < PIECES && !is_get(kind); i++)
		word[i] = i + 1;
	require_is(0, bgdma_epoch_begin(a->window, FAR, 1, 0, &c->epoch));
	links_cut(FAR, true);
	require_is(0, bgdma_endpoint_send(a->m.ep, &close));
	for (i = 0; !ret && i < MANY; i++)
		ret = access_piece(a, c->epoch, kind, i);
	require_is(-ESHUTDOWN, ret);
	require_is(1, c->closed);
	require_is(-ESHUTDOWN, access_piece(a, c->epoch, kind, 0));
	require_is(0, bgdma_epoch_close(c->epoch));
	return is_get(kind) ? pieces_check(word) : 0;
}

static int room(uint32_t rank, uint32_t size, void *arg)
{
	const enum kind kind = *(const enum kind *)arg;
	struct closer c = { 0 };
	struct accessor a = { 0 };
	uint64_t *own;
	uint32_t i, id;

	(void)size;
	require_is(0, room_open_as(&a, on_close, &c, &id));
	own = (uint64_t *)a.own;
	for (i = 0; i < PIECES && rank == FAR && is_get(kind); i++)
		own[i] = i + 1;
	require_is(0, bgdma_job_fence(a.m.job));
	if (rank == 0)
		require_is(0, room_at_origin(&a, &c, id, kind));
	require_is(0, bgdma_job_fence(a.m.job));
	if (rank == FAR && !is_get(kind) && kind != UPDATES_BY_US)
		require_is(0, pieces_check(own));
	return accessor_close(&a);
}

FIXTURE(room) {
};

FIXTURE_VARIANT(room) {
	enum kind kind;
};

#define VARIANT(name, which) \
	FIXTURE_VARIANT_ADD(room, name) { .kind = (which) }

VARIANT(row_of_puts, ROW_OF_PUTS);
VARIANT(row_of_gets, ROW_OF_GETS);
VARIANT(row_of_updates, ROW_OF_UPDATES);
VARIANT(puts, PUTS);
VARIANT(gets, GETS);
VARIANT(updates, UPDATES);
VARIANT(updates_by_us, UPDATES_BY_US);

FIXTURE_SETUP(room)
{
	must(setenv("BGDMA_TEST_LINKS", "1", 1));
}

FIXTURE_TEARDOWN(room)
{
}

TEST_F(room, ep4_closed_while_an_access_waits_for_room)
{
	enum kind kind = variant->kind;

	partition_new("2x1x1", "");
	EXPECT_TRUE(job_run(2, room, &kind, -1));
}

/* ---- A mark that waits for room ----------------------------------------- */

#define HERE		2	/* is not cut off */
#define BEHIND		16	/* long gets, which wait for each other */

/* The epoch at who was cut off is over, at once. */
static int on_end(void *arg, uint32_t rank, const struct bgdma_packet *packet)
{
	struct closer *c = arg;

	(void)rank;
	(void)packet;
	links_cut(FAR, false);
	(void)bgdma_epoch_close(c->epoch);
	c->closed++;
	return 0;
}

/* One that is refused, and others behind it, of which some are dropped. */
static int gets_dropped(const struct accessor *a, struct bgdma_rma_epoch *bad,
			struct bgdma_rma_epoch *good,
			struct bgdma_rma_request *last)
{
	struct bgdma_ctx *ctx = bgdma_endpoint_ctx(a->m.ep);
	struct bgdma_access_attr attr = access_at(a, 0, 8, 0);
	struct bgdma_region *foreign;
	uint32_t i;

	require_is(0, bgdma_region_alloc(ctx, 4096, BGDMA_LOCAL_WRITE, &foreign));
	attr.local.region = foreign;
	attr.more = true;
	require_is(0, bgdma_epoch_get(bad, &attr));
	attr.local.region = a->region;
	attr.length = WINDOW;
	attr.request = last;
	for (i = 0; i < BEHIND; i++) {
		attr.more = i < BEHIND - 1;
		require_is(0, bgdma_epoch_get(good, &attr));
	}
	return 0;
}

/* Nobody has looked at what is refused, and nothing goes to @FAR any more. */
static int mark_at_origin(struct accessor *a, struct closer *c, int *stage)
{
	struct bgdma_rma_epoch *bad, *far, *good;
	struct bgdma_rma_request last;
	struct bgdma_epoch_info info;
	bool done, told;
	uint32_t i;
	int ret;

	require_is(0, bgdma_epoch_begin(a->window, FAR, 1, 0, &far));
	require_is(0, bgdma_epoch_begin(a->window, HERE, 2, 0, &bad));
	require_is(0, bgdma_epoch_begin(a->window, HERE, 3, 0, &good));
	/* This is the first that is looked at. */
	require_is(0, bgdma_epoch_begin(a->window, FAR, 4, 0, &c->epoch));
	require_is(0, gets_dropped(a, far, c->epoch, &last));
	require_is(0, gets_dropped(a, bad, good, &last));
	usleep(500000 * slowness());
	bgdma_epoch_info(good, &info);
	require(info.gets);
	bgdma_epoch_info(c->epoch, &info);
	require(info.gets);
	links_cut(FAR, true);
	for (i = 0; i < ENTRIES; i++)
		require_is(0, put(a, c->epoch, 0, 8, 0));
	store(stage, 1);
	told = until((ret = bgdma_rma_test(&last, &done)) || done);
	require(told);
	require(ret < 0);
	require_is(1, c->closed);
	require_is(ret, bgdma_epoch_close(good));
	require(bgdma_epoch_close(bad) < 0);
	require(bgdma_epoch_close(far) < 0);
	store(stage, 2);
	return 0;
}

static int mark_waits(uint32_t rank, uint32_t size, void *arg)
{
	struct bgdma_send_attr end = { 0 };
	struct closer c = { 0 };
	struct accessor a = { 0 };
	int *stage = arg;

	(void)size;
	require_is(0, room_open_as(&a, on_end, &c, &end.operation));
	require_is(0, bgdma_job_fence(a.m.job));
	if (rank == 0)
		require_is(0, mark_at_origin(&a, &c, stage));
	require(until(load(stage) >= 1));
	if (rank == HERE) {
		usleep(500000 * slowness());
		require_is(0, bgdma_endpoint_send(a.m.ep, &end));
	}
	require(until(load(stage) == 2));
	return accessor_leave(&a);
}

TEST(ep6_closed_while_a_mark_waits_for_room)
{
	int *stage = shared(sizeof(*stage));

	must(setenv("BGDMA_TEST_LINKS", "1", 1));
	partition_new("3x1x1", "");
	EXPECT_TRUE(job_run(3, mark_waits, stage, -1));
}

TEST_HARNESS_MAIN
