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

static int room_open(struct accessor *a, struct closer *c, uint32_t *id)
{
	const struct bgdma_window_attr window = { .length = WINDOW };
	const struct bgdma_rma_attr rma = { .channels = 1, .entries = ENTRIES };
	const struct test_operation close = { "close", on_close, 0, id };

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
	require_is(0, room_open(&a, &c, &id));
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

TEST_HARNESS_MAIN
