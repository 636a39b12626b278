// SPDX-License-Identifier: GPL-2.0
/*
 * libbgdma on a device of the test's own (lib_fake.h), whose engine is the
 * test: FIFOs, counters and waiting, every word and every call of it.
 *
 * Proves the library's share of DMA-2, DMA-3, DMA-4, DMA-6 and DMA-9.
 */
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/time.h>

#include <bgdma/bgdma.h>

#include "kselftest_harness.h"
#include "lib_fake.h"

/* ---- A context on the fake device ------------------------------------- */

FIXTURE(lib)
{
	struct bgdma_ctx *ctx;
	int fd;
};

FIXTURE_SETUP(lib)
{
	fake_reset();
	ASSERT_EQ(0, bgdma_attach(&self->ctx, &(struct bgdma_attach_attr){
			.partition = "fake", .rank = 3 }));
	self->fd = bgdma_ctx_fd(self->ctx);
}

FIXTURE_TEARDOWN(lib)
{
	bgdma_detach(self->ctx);
	EXPECT_EQ(-1, fcntl(self->fd, F_GETFD));
}

TEST_F(lib, attach)
{
	const struct bgdma_ctx_info *info = bgdma_ctx_info(self->ctx);
	struct bgdma_ctx *other;

	EXPECT_EQ(BGDMA_CTX_ANY, fake.attach.ctx);
	EXPECT_EQ(3, fake.attach.rank);
	EXPECT_EQ(sizeof(struct bgdma_attach), fake.attach.size);
	EXPECT_STREQ("fake", info->partition);
	EXPECT_EQ(3, info->rank);
	EXPECT_EQ(3, bgdma_ctx_rank(self->ctx));
	EXPECT_EQ(7, info->incarnation);
	EXPECT_EQ(4, info->dims[2]);
	EXPECT_EQ(5, info->torus);
	EXPECT_EQ(FD_CLOEXEC, fcntl(self->fd, F_GETFD));
	EXPECT_FALSE(bgdma_ctx_dead(self->ctx));

	EXPECT_EQ(0, bgdma_attach(&other, &(struct bgdma_attach_attr){
			.partition = "fake", .fixed_ctx = true, .ctx = 9 }));
	EXPECT_EQ(9, bgdma_ctx_info(other)->ctx);
	bgdma_detach(other);
}

TEST_F(lib, inject)
{
	const struct bgdma_inj_attr attr = {
		.entries = 16, .fixed_id = true, .id = 5,
	};
	struct bgdma_inj_fifo *fifo;
	struct bgdma_desc desc[20], *ring;
	unsigned int i;

	ASSERT_EQ(0, bgdma_inj_create(self->ctx, &attr, &fifo));
	ring = (void *)(fake.mem + FAKE_RING);
	EXPECT_EQ(5, bgdma_inj_id(fifo));
	for (i = 0; i < 20; i++) {
		bgdma_desc_nop(&desc[i], 0);
		desc[i].cookie = i;
	}

	/* One: visible, announced, and no call while the engine polls. */
	EXPECT_EQ(0, bgdma_inject(fifo, &desc[0]));
	EXPECT_EQ(1, fake_inj_user(5)->tail);
	EXPECT_EQ(1 << 5, fake_user->doorbell[0]);
	EXPECT_EQ(0, fake.doorbells);
	EXPECT_EQ(0, memcmp(&ring[0], &desc[0], 64));
	EXPECT_EQ(1, bgdma_inj_next(fifo));
	EXPECT_EQ(15, bgdma_inj_space(fifo));

	/* Asleep: one call for many. */
	fake_kern->wake = BGDMA_NEED_WAKEUP;
	EXPECT_EQ(15, bgdma_inject_many(fifo, &desc[1], 19));
	EXPECT_EQ(1, fake.doorbells);
	EXPECT_EQ(16, fake_inj_user(5)->tail);
	for (i = 0; i < 16; i++)
		EXPECT_EQ(i, ring[i].cookie);

	/* Full: nothing is written over, and the engine is told again. */
	EXPECT_EQ(NULL, bgdma_inj_reserve(fifo));
	EXPECT_EQ(-EAGAIN, bgdma_inject(fifo, &desc[16]));
	EXPECT_EQ(-EAGAIN, bgdma_inject_many(fifo, &desc[16], 2));
	EXPECT_EQ(3, fake.doorbells);
	EXPECT_EQ(16, fake_inj_user(5)->tail);
	EXPECT_EQ(0, ring[0].cookie);

	/* Two slots are free, which are the first two again. */
	fake_kern->wake = 0;
	fake_inj_kern(5)->head = 2;
	EXPECT_EQ(2, bgdma_inject_many(fifo, &desc[16], 4));
	EXPECT_EQ(18, fake_inj_user(5)->tail);
	EXPECT_EQ(16, ring[0].cookie);
	EXPECT_EQ(17, ring[1].cookie);
	EXPECT_EQ(2, ring[2].cookie);

	/* A full ring in error says which. */
	fake_record(FAKE_RECORD_INJ + 5)->code = BGDMA_E_BOUNDS;
	EXPECT_EQ(-ERANGE, bgdma_inject(fifo, &desc[0]));
	EXPECT_EQ(BGDMA_E_BOUNDS, bgdma_inj_error(fifo, NULL));
	EXPECT_EQ(0, bgdma_inj_clear_error(fifo, 0));
	EXPECT_EQ(18, bgdma_inj_next(fifo));
	EXPECT_EQ(3, bgdma_inj_cancel(fifo, 7, UINT64_MAX));
	EXPECT_EQ(5, fake.cancel.fifo);
	EXPECT_EQ(7, fake.cancel.first);
	EXPECT_EQ(UINT64_MAX, fake.cancel.last);
	EXPECT_EQ(0, bgdma_inj_destroy(fifo));
	EXPECT_EQ(0, fake.objects);
}

/* What was reserved is not visible before it is published. */
TEST_F(lib, reserve_and_publish)
{
	struct bgdma_inj_fifo *fifo;

	ASSERT_EQ(0, bgdma_inj_create(self->ctx, NULL, &fifo));
	fake_kern->wake = BGDMA_NEED_WAKEUP;
	bgdma_desc_nop(bgdma_inj_reserve(fifo), 0);
	bgdma_desc_nop(bgdma_inj_reserve(fifo), 0);
	EXPECT_EQ(0, fake_inj_user(0)->tail);
	EXPECT_EQ(0, fake_user->doorbell[0]);
	bgdma_inj_publish(fifo);
	EXPECT_EQ(2, fake_inj_user(0)->tail);
	EXPECT_EQ(1, fake_user->doorbell[0]);
	EXPECT_EQ(0, fake.doorbells);
	EXPECT_EQ(0, bgdma_kick(self->ctx));
	EXPECT_EQ(1, fake.doorbells);
	fake_kern->wake = 0;
	EXPECT_EQ(0, bgdma_kick(self->ctx));
	EXPECT_EQ(1, fake.doorbells);
}

/* The calls by handle make what the builders make. */
TEST_F(lib, transfers)
{
	struct bgdma_desc *ring, expected;
	struct bgdma_region *here, *there;
	struct bgdma_counter *sent, *got;
	struct bgdma_inj_fifo *fifo;
	struct bgdma_transfer t;
	static char memory[8192];

	ASSERT_EQ(0, bgdma_inj_create(self->ctx, NULL, &fifo));
	ring = (void *)(fake.mem + FAKE_RING);
	ASSERT_EQ(0, bgdma_region_register(self->ctx, memory, sizeof(memory),
					   BGDMA_LOCAL_READ, &here));
	ASSERT_EQ(0, bgdma_region_alloc(self->ctx, 4096, BGDMA_LOCAL_WRITE,
					&there));
	ASSERT_EQ(0, bgdma_counter_alloc(self->ctx, BGDMA_INJECTION, &sent));
	ASSERT_EQ(0, bgdma_counter_alloc(self->ctx, BGDMA_RECEPTION, &got));
	EXPECT_EQ((void *)memory, bgdma_region_addr(here));
	EXPECT_EQ(8192, bgdma_region_length(here));
	memcpy(bgdma_region_addr(there), "driver memory", 14);
	EXPECT_STREQ("driver memory", fake.mem + FAKE_RING + 256 * 64);

	EXPECT_EQ(0, bgdma_put(fifo, &(struct bgdma_put_attr){
			.dest = 4, .dest_ctx = 1, .length = 1 << 30,
			.from = { here, 16 }, .to = { 0x50007, 32 },
			.counter = sent, .remote_counter = 0x60008,
			.flags = BGDMA_DESC_FENCE, .route = BGDMA_ROUTE_XP,
			.cookie = 5, .more = true }));
	EXPECT_EQ(0, fake_inj_user(0)->tail);
	t = (struct bgdma_transfer){
		.dest = 4, .dest_ctx = 1, .length = 1 << 30,
		.from = { bgdma_region_handle(here), 16 },
		.to = { 0x50007, 32 },
		.counter = bgdma_counter_handle(sent),
		.remote_counter = 0x60008, .flags = BGDMA_DESC_FENCE,
		.route = BGDMA_ROUTE_XP, .cookie = 5,
	};
	bgdma_desc_put(&expected, &t);
	EXPECT_EQ(0, memcmp(&ring[0], &expected, 64));

	EXPECT_EQ(0, bgdma_local_copy(fifo, &(struct bgdma_local_copy_attr){
			.length = 9, .from = { here, 1 }, .to = { there, 2 },
			.counter = sent, .rec_counter = got, .cookie = 3 }));
	EXPECT_EQ(2, fake_inj_user(0)->tail);
	t = (struct bgdma_transfer){
		.length = 9, .from = { bgdma_region_handle(here), 1 },
		.to = { bgdma_region_handle(there), 2 }, .cookie = 3,
		.counter = bgdma_counter_handle(sent),
		.remote_counter = bgdma_counter_handle(got),
	};
	bgdma_desc_local_copy(&expected, &t);
	EXPECT_EQ(0, memcmp(&ring[1], &expected, 64));

	EXPECT_EQ(0, bgdma_memfifo(fifo, &(struct bgdma_memfifo_attr){
			.dest = 2, .fifo = 6, .dispatch = 7, .length = 3,
			.data = "abc", .remote_counter = 77,
			.flags = BGDMA_DESC_INTERRUPT | BGDMA_DESC_OPS }));
	t = (struct bgdma_transfer){
		.dest = 2, .dest_fifo = 6, .dispatch = 7, .length = 3,
		.flags = BGDMA_DESC_INTERRUPT | BGDMA_DESC_OPS,
		.remote_counter = 77,
	};
	bgdma_desc_memfifo(&expected, &t);
	bgdma_desc_inline(&expected, "abc", 3);
	EXPECT_EQ(0, memcmp(&ring[2], &expected, 64));

	EXPECT_EQ(0, bgdma_local_memfifo(fifo, &(struct bgdma_memfifo_attr){
			.fifo = 6, .length = 8000, .from = { here, 0 } }));
	t = (struct bgdma_transfer){
		.dest_fifo = 6, .length = 8000,
		.from = { bgdma_region_handle(here), 0 },
	};
	bgdma_desc_local_memfifo(&expected, &t);
	EXPECT_EQ(0, memcmp(&ring[3], &expected, 64));

	EXPECT_EQ(0, bgdma_rget(fifo, &(struct bgdma_rget_attr){
			.dest = 2, .queue = 1, .count = 16,
			.from = { here, 64 } }));
	t = (struct bgdma_transfer){
		.dest = 2, .dest_fifo = 1, .length = 1024,
		.from = { bgdma_region_handle(here), 64 },
	};
	bgdma_desc_rget(&expected, &t);
	EXPECT_EQ(0, memcmp(&ring[4], &expected, 64));
}

TEST_F(lib, transfers_too_long)
{
	const uint64_t long_put = BGDMA_LENGTH_MAX + 1ULL;
	char data[BGDMA_INLINE_MAX + 1] = "";
	struct bgdma_inj_fifo *fifo;

	ASSERT_EQ(0, bgdma_inj_create(self->ctx, NULL, &fifo));
	EXPECT_EQ(-EMSGSIZE, bgdma_put(fifo, &(struct bgdma_put_attr){
			.length = long_put }));
	EXPECT_EQ(-EMSGSIZE, bgdma_put(fifo, &(struct bgdma_put_attr){
			.length = 1ULL << 32 }));
	EXPECT_EQ(-EMSGSIZE, bgdma_local_copy(fifo, &(struct bgdma_local_copy_attr){
			.length = long_put }));
	EXPECT_EQ(-EMSGSIZE, bgdma_memfifo(fifo, &(struct bgdma_memfifo_attr){
			.length = sizeof(data), .data = data }));
	EXPECT_EQ(-EMSGSIZE, bgdma_memfifo(fifo, &(struct bgdma_memfifo_attr){
			.length = long_put }));
	EXPECT_EQ(-EMSGSIZE, bgdma_rget(fifo, &(struct bgdma_rget_attr){
			.count = 0 }));
	EXPECT_EQ(-EMSGSIZE, bgdma_rget(fifo, &(struct bgdma_rget_attr){
			.count = BGDMA_RGET_DESC_MAX + 1 }));
	EXPECT_EQ(0, bgdma_inj_next(fifo));
	EXPECT_EQ(0, bgdma_memfifo(fifo, &(struct bgdma_memfifo_attr){
			.length = BGDMA_INLINE_MAX, .data = data }));
}

TEST_F(lib, grants)
{
	struct bgdma_counter *counters[3];
	struct bgdma_rget_queue *queue;
	struct bgdma_region *region;
	struct bgdma_rec_fifo *fifo;
	static char memory[64];
	uint32_t id = 0;

	ASSERT_EQ(0, bgdma_region_register(self->ctx, memory, sizeof(memory),
					   BGDMA_LOCAL_READ, &region));
	ASSERT_EQ(0, bgdma_counter_alloc_many(self->ctx, BGDMA_RECEPTION, 3, 0,
					      counters));
	ASSERT_EQ(0, bgdma_rec_create(self->ctx, NULL, &fifo));
	ASSERT_EQ(0, bgdma_rgq_create(self->ctx, NULL, &queue));

	EXPECT_EQ(0, bgdma_region_grant(region, &(struct bgdma_grant_attr){
			.rank = 2, .ctx = 1, .incarnation = 4, .lo = 8,
			.hi = 16, .rights = BGDMA_RIGHT_WRITE }, &id));
	EXPECT_EQ(99, id);
	EXPECT_EQ(BGDMA_KIND_REGION, fake.grant.kind);
	EXPECT_EQ(bgdma_region_handle(region), fake.grant.object);
	EXPECT_EQ(2, fake.grant.rank);
	EXPECT_EQ(1, fake.grant.ctx);
	EXPECT_EQ(4, fake.grant.incarnation);
	EXPECT_EQ(8, fake.grant.lo);
	EXPECT_EQ(16, fake.grant.hi);
	EXPECT_EQ(BGDMA_RIGHT_WRITE, fake.grant.rights);

	EXPECT_EQ(0, bgdma_counter_grant(counters[1], 2, &(struct bgdma_grant_attr){
			.rank = 5 }, NULL));
	EXPECT_EQ(BGDMA_KIND_REC_COUNTER, fake.grant.kind);
	EXPECT_EQ(1, fake.grant.object);
	EXPECT_EQ(2, fake.grant.count);
	EXPECT_EQ(BGDMA_RIGHT_COUNT, fake.grant.rights);

	EXPECT_EQ(0, bgdma_rec_grant(fifo, &(struct bgdma_grant_attr){
			.rank = BGDMA_RANK_ANY, .ctx = BGDMA_CTX_ANY }, NULL));
	EXPECT_EQ(BGDMA_KIND_REC_FIFO, fake.grant.kind);
	EXPECT_EQ(BGDMA_RIGHT_ACCEPT, fake.grant.rights);
	EXPECT_EQ(BGDMA_RANK_ANY, fake.grant.rank);

	EXPECT_EQ(0, bgdma_rgq_grant(queue, &(struct bgdma_grant_attr){
			.rank = 1 }, NULL));
	EXPECT_EQ(BGDMA_KIND_RGET_QUEUE, fake.grant.kind);
	EXPECT_EQ(bgdma_rgq_id(queue), fake.grant.object);
	EXPECT_EQ(BGDMA_RIGHT_INJECT, fake.grant.rights);
}

/* ---- Reception -------------------------------------------------------- */

#define REC_BYTES	16384U

/* The engine's part: append a packet, in both mappings of the ring. */
static void fake_packet(uint32_t id, uint16_t bytes, uint8_t flags, uint8_t fill)
{
	const struct bgdma_packet header = { .flags = flags, .bytes = bytes };
	struct bgdma_rec_kern *kern = fake_rec_kern(id);
	uint64_t i, size = bgdma_packet_size(bytes);
	static char record[REC_BYTES];

	memset(record, fill, size);
	memcpy(record, &header, sizeof(header));
	for (i = 0; i < size; i++) {
		char *to = fake.mem + FAKE_RING + (kern->tail + i) % REC_BYTES;

		to[0] = record[i];
		to[REC_BYTES] = record[i];
	}
	kern->tail += size;
}

TEST_F(lib, packets)
{
	const struct bgdma_rec_attr attr = { .bytes = REC_BYTES };
	const struct bgdma_packet *packet;
	struct bgdma_rec_fifo *fifo;
	uint64_t position = 0;
	unsigned int i, j;

	EXPECT_EQ(32, bgdma_packet_size(0));
	EXPECT_EQ(64, bgdma_packet_size(1));
	EXPECT_EQ(64, bgdma_packet_size(32));
	EXPECT_EQ(96, bgdma_packet_size(33));
	EXPECT_EQ(4128, bgdma_packet_size(4096));

	ASSERT_EQ(0, bgdma_rec_create(self->ctx, &attr, &fifo));
	EXPECT_EQ(NULL, bgdma_rec_peek(fifo));

	/* More than once round the ring, with packets across its end. */
	for (i = 0; i < 200; i++) {
		uint16_t bytes = (uint16_t)(i * 37 % 1000);

		fake_packet(0, bytes, 0, (uint8_t)i);
		packet = bgdma_rec_peek(fifo);
		ASSERT_NE(NULL, packet);
		EXPECT_EQ(packet, bgdma_rec_peek(fifo));
		ASSERT_EQ(bytes, packet->bytes);
		for (j = 0; j < bytes; j++)
			ASSERT_EQ((uint8_t)i, ((const uint8_t *)
				  bgdma_packet_data(packet))[j]);
		bgdma_rec_next(fifo);
		EXPECT_EQ(NULL, bgdma_rec_peek(fifo));
		EXPECT_EQ(position, fake_rec_user(0)->head);
		EXPECT_EQ(0, bgdma_rec_release(fifo));
		position += bgdma_packet_size(bytes);
		EXPECT_EQ(position, fake_rec_user(0)->head);
	}
	EXPECT_GT(position, 2 * REC_BYTES);
	EXPECT_EQ(0, fake.doorbells);
}

TEST_F(lib, packets_marked_and_starved)
{
	const struct bgdma_rec_attr attr = {
		.bytes = REC_BYTES, .fixed_id = true, .id = 2,
	};
	struct bgdma_rec_fifo *fifo;
	struct bgdma_condition c;

	ASSERT_EQ(0, bgdma_rec_create(self->ctx, &attr, &fifo));
	fake_packet(2, 100, BGDMA_PACKET_INTERRUPT, 1);
	fake_packet(2, 0, BGDMA_PACKET_FIRST, 2);
	fake_packet(2, 8, BGDMA_PACKET_INTERRUPT | BGDMA_PACKET_LAST, 3);
	EXPECT_EQ(160 + 32 + 64, bgdma_rec_bytes(fifo));

	/* Read two, give back both at once; what was read is not waited for. */
	bgdma_rec_peek(fifo);
	bgdma_rec_next(fifo);
	bgdma_rec_next(fifo);
	c = bgdma_until_packet(fifo);
	EXPECT_EQ(BGDMA_KIND_REC_FIFO, c.kind);
	EXPECT_EQ(2, c.object);
	EXPECT_EQ(192, c.value);
	EXPECT_EQ(0, fake_rec_user(2)->marked_seen);
	EXPECT_EQ(0, bgdma_rec_release(fifo));
	EXPECT_EQ(192, fake_rec_user(2)->head);
	EXPECT_EQ(1, fake_rec_user(2)->marked_seen);
	EXPECT_EQ(0, bgdma_until_packet(fifo).value);
	EXPECT_EQ(0, fake_user->doorbell_rec);

	/* Senders wait: told by the bit, and by a call if the engine sleeps. */
	fake_rec_kern(2)->starved = 1;
	EXPECT_EQ(0, bgdma_rec_release(fifo));
	EXPECT_EQ(1 << 2, fake_user->doorbell_rec);
	EXPECT_EQ(0, fake.doorbells);
	fake_kern->wake = BGDMA_NEED_WAKEUP;
	EXPECT_EQ(0, bgdma_rec_release(fifo));
	EXPECT_EQ(1, fake.doorbells);

	bgdma_rec_arm(fifo, BGDMA_ARM_OCCUPANCY, 4096);
	EXPECT_EQ(BGDMA_ARM_OCCUPANCY, fake_rec_user(2)->arm);
	EXPECT_EQ(4096, fake_rec_user(2)->arm_bytes);

	EXPECT_EQ(0, bgdma_rec_clear_error(fifo, BGDMA_CLEAR_FLUSH));
	EXPECT_EQ(NULL, bgdma_rec_peek(fifo));
	EXPECT_EQ(256, fake_rec_user(2)->head);
	EXPECT_EQ(2, fake_rec_user(2)->marked_seen);
	EXPECT_EQ(-EINVAL, bgdma_rec_clear_error(fifo, 2));
}

TEST_F(lib, events)
{
	unsigned int i;

	EXPECT_EQ(NULL, bgdma_event_peek(self->ctx));
	for (i = 0; i < 3 * FAKE_EVENTS; i++) {
		fake_event(i % FAKE_EVENTS)->cookie = i;
		fake_kern->events_tail++;
		EXPECT_EQ(i, bgdma_until_event(self->ctx).value);
		ASSERT_NE(NULL, bgdma_event_peek(self->ctx));
		EXPECT_EQ(i, bgdma_event_peek(self->ctx)->cookie);
		bgdma_event_release(self->ctx);
		EXPECT_EQ(NULL, bgdma_event_peek(self->ctx));
	}
	fake_kern->events_lost = 12;
	EXPECT_EQ(12, bgdma_events_lost(self->ctx));
}

/* ---- Counters --------------------------------------------------------- */

TEST_F(lib, counter_add)
{
	struct bgdma_counter *many[64], *counter;
	struct bgdma_counter_cell *cell;

	ASSERT_EQ(0, bgdma_counter_alloc_many(self->ctx, BGDMA_RECEPTION, 64,
					      0, many));
	counter = many[63];
	cell = fake_cell(BGDMA_RECEPTION, 63);
	EXPECT_EQ(63, bgdma_counter_slot(counter));
	EXPECT_EQ(BGDMA_HANDLE(63, 1), bgdma_counter_handle(counter));

	/* On the way, nothing is told; at zero the bit is set. */
	EXPECT_EQ(100, bgdma_counter_add(counter, 100));
	EXPECT_FALSE(bgdma_counter_hit(counter));
	EXPECT_FALSE(bgdma_counter_there(counter));
	EXPECT_EQ(0, bgdma_counter_add(counter, -100));
	EXPECT_TRUE(bgdma_counter_hit(counter));
	EXPECT_EQ(1ULL << 63, bgdma_hits(self->ctx, BGDMA_RECEPTION, 0));
	EXPECT_EQ(0, bgdma_hits(self->ctx, BGDMA_INJECTION, 0));
	EXPECT_EQ(1, cell->zero_seq);
	EXPECT_EQ(0, fake.notifies);

	/* The bit stays, whatever the value, until it is cleared. */
	bgdma_counter_add(counter, 5);
	EXPECT_TRUE(bgdma_counter_there(counter));
	EXPECT_TRUE(bgdma_counter_clear_hit(counter));
	EXPECT_FALSE(bgdma_counter_clear_hit(counter));
	EXPECT_FALSE(bgdma_counter_there(counter));
	EXPECT_EQ(5, bgdma_counter_read(counter));

	/* Somebody sleeps: told at the mark, at zero, not above. */
	cell->arm = 1;
	bgdma_counter_set_wake_at(counter, 2);
	bgdma_counter_add(counter, -2);
	EXPECT_EQ(0, fake.notifies);
	bgdma_counter_add(counter, -1);
	EXPECT_EQ(1, fake.notifies);
	EXPECT_TRUE(bgdma_counter_there(counter));
	EXPECT_EQ(BGDMA_NOTIFY_ARG(BGDMA_KIND_REC_COUNTER, 63),
		  fake.notify_arg);
	/* Zero from below, with the mark lower still. */
	cell->value = -3;
	bgdma_counter_set_wake_at(counter, -10);
	bgdma_counter_add(counter, 3);
	EXPECT_EQ(2, fake.notifies);
	EXPECT_TRUE(bgdma_counter_hit(counter));

	/* Enabled counts as asleep. */
	cell->arm = 0;
	bgdma_counter_add(counter, 1);
	bgdma_counter_add(counter, -1);
	EXPECT_EQ(2, fake.notifies);
	bgdma_counter_enable(counter, true);
	EXPECT_EQ(1ULL << 63, fake_user->enable[BGDMA_RECEPTION][0]);
	bgdma_counter_add(counter, 1);
	bgdma_counter_add(counter, -1);
	EXPECT_EQ(3, fake.notifies);
	bgdma_counter_enable(counter, false);
	EXPECT_EQ(0, fake_user->enable[BGDMA_RECEPTION][0]);
}

TEST_F(lib, counter_lease)
{
	struct bgdma_counter_cell *cell;
	struct bgdma_counter *counter;

	ASSERT_EQ(0, bgdma_counter_alloc(self->ctx, BGDMA_INJECTION, &counter));
	cell = fake_cell(BGDMA_INJECTION, 0);
	EXPECT_EQ(BGDMA_HANDLE(0, 2), bgdma_counter_lease(counter, 4, 1));
	EXPECT_EQ(BGDMA_HANDLE(0, 2), bgdma_counter_handle(counter));
	EXPECT_EQ(4, cell->lease_peer);
	EXPECT_EQ(1, cell->lease_ctx);
	EXPECT_EQ(1, fake_user->leases);
	bgdma_counter_lease(counter, 5, 1);
	EXPECT_EQ(1, fake_user->leases);
	bgdma_counter_lease(counter, BGDMA_RANK_ANY, BGDMA_CTX_ANY);
	EXPECT_EQ(0, fake_user->leases);
	EXPECT_EQ(BGDMA_CTX_ANY, cell->lease_ctx);
	/* A generation is never 0. */
	cell->lease_gen = 0xffff;
	EXPECT_EQ(BGDMA_HANDLE(0, 1), bgdma_counter_lease(counter, 5, 1));
	EXPECT_EQ(1, fake_user->leases);
	EXPECT_EQ(0, bgdma_counter_free(counter));
	EXPECT_EQ(0, fake_user->leases);
	EXPECT_EQ(0, fake.objects);
}

TEST_F(lib, counter_refusals)
{
	struct bgdma_counter *many[FAKE_CTR + 1];

	EXPECT_EQ(-EINVAL, bgdma_counter_alloc_many(self->ctx, 2, 1, 0, many));
	EXPECT_EQ(-EINVAL, bgdma_counter_alloc_many(self->ctx, 0, 0, 0, many));
	EXPECT_EQ(-EINVAL, bgdma_counter_alloc_many(self->ctx, 0, UINT_MAX, 0,
						    many));
	EXPECT_EQ(-ENOSPC, bgdma_counter_alloc_many(self->ctx, 0, FAKE_CTR + 1,
						    0, many));
	EXPECT_EQ(NULL, many[0]);
	EXPECT_EQ(0, bgdma_counter_free(NULL));
}

/* ---- Waiting ---------------------------------------------------------- */

static void engine_reaches_zero(void)
{
	fake_cell(BGDMA_INJECTION, 0)->value = 0;
}

static void engine_fails(void)
{
	fake_record(0)->code = BGDMA_E_PEER_DOWN;
	fake_record(0)->peer_rank = 8;
	fake_kern->counter_error[BGDMA_INJECTION][0] |= 1;
}

/* A wait that the kernel ended for another reason goes on. */
static void engine_is_slow(void)
{
	if (fake.waits == 3)
		engine_reaches_zero();
}

TEST_F(lib, wait_for_counter)
{
	struct bgdma_record record;
	struct bgdma_counter *c;

	ASSERT_EQ(0, bgdma_counter_alloc(self->ctx, BGDMA_INJECTION, &c));
	/* There already: no call, in any mode. */
	EXPECT_EQ(0, bgdma_counter_wait(c, BGDMA_SLEEP, -1));
	bgdma_counter_add(c, 10);
	EXPECT_EQ(-ETIMEDOUT, bgdma_counter_wait(c, BGDMA_SLEEP, 0));
	EXPECT_EQ(-ETIMEDOUT, bgdma_counter_wait(c, BGDMA_SPIN, 1000000));
	EXPECT_EQ(-ETIMEDOUT, bgdma_counter_wait(c, BGDMA_SPIN_THEN_SLEEP, 1));
	EXPECT_EQ(0, fake.waits);

	fake.wait_ret = -ETIME;
	EXPECT_EQ(-ETIMEDOUT, bgdma_counter_wait(c, BGDMA_SLEEP, 5000000000));
	EXPECT_EQ(1, fake.waits);
	EXPECT_LE(fake.wait.timeout_ns, 5000000000);
	EXPECT_GT(fake.wait.timeout_ns, 1000000000);
	EXPECT_EQ(BGDMA_KIND_INJ_COUNTER, fake.condition.kind);
	EXPECT_EQ(bgdma_counter_handle(c), fake.condition.object);
	fake.wait_ret = -EINTR;
	EXPECT_EQ(-EINTR, bgdma_counter_wait(c, BGDMA_SPIN_THEN_SLEEP, -1));
	EXPECT_LT(fake.wait.timeout_ns, 0);

	fake.wait_ret = 0;
	fake.waits = 0;
	fake.on_wait = engine_is_slow;
	EXPECT_EQ(0, bgdma_counter_wait(c, BGDMA_SLEEP, -1));
	EXPECT_EQ(3, fake.waits);

	bgdma_counter_add(c, 10);
	fake.on_wait = engine_fails;
	EXPECT_EQ(-ECONNRESET, bgdma_counter_wait(c, BGDMA_SLEEP, -1));
	EXPECT_TRUE(bgdma_counter_failed(c));
	EXPECT_EQ(BGDMA_E_PEER_DOWN, bgdma_counter_error(c, &record));
	EXPECT_EQ(8, record.peer_rank);
	/* An error is told even when the value is there. */
	engine_reaches_zero();
	EXPECT_EQ(-ECONNRESET, bgdma_counter_wait(c, BGDMA_SPIN, -1));
	EXPECT_EQ(0, bgdma_counter_clear_error(c));
	EXPECT_EQ(BGDMA_OK, bgdma_counter_error(c, &record));
	EXPECT_EQ(0, record.peer_rank);
	EXPECT_EQ(0, bgdma_counter_wait(c, BGDMA_SPIN, -1));
}

TEST_F(lib, wait_for_fifos)
{
	const struct bgdma_rec_attr attr = { .bytes = REC_BYTES };
	struct bgdma_inj_fifo *inj;
	struct bgdma_rec_fifo *rec;
	struct bgdma_record *record;

	ASSERT_EQ(0, bgdma_rec_create(self->ctx, &attr, &rec));
	ASSERT_EQ(0, bgdma_inj_create(self->ctx, NULL, &inj));
	fake.wait_ret = -ETIME;
	EXPECT_EQ(0, bgdma_inj_wait(inj, 0, BGDMA_SLEEP, -1));
	EXPECT_EQ(-ETIMEDOUT, bgdma_inj_wait(inj, 3, BGDMA_SLEEP, 1000000));
	EXPECT_EQ(BGDMA_KIND_INJ_FIFO, fake.condition.kind);
	EXPECT_EQ(bgdma_inj_id(inj), fake.condition.object);
	EXPECT_EQ(3, fake.condition.value);
	fake_inj_kern(bgdma_inj_id(inj))->done = 3;
	EXPECT_EQ(0, bgdma_inj_wait(inj, 3, BGDMA_SLEEP, -1));
	/* The one after these, the last of them, and one that is not on record. */
	record = fake_record(FAKE_RECORD_INJ + bgdma_inj_id(inj));
	record->desc_seq = 3;
	record->code = BGDMA_E_OP;
	EXPECT_EQ(0, bgdma_inj_wait(inj, 3, BGDMA_SLEEP, -1));
	EXPECT_EQ(-EINVAL, bgdma_inj_wait(inj, 4, BGDMA_SPIN, -1));
	record->desc_seq = 2;
	EXPECT_EQ(-EINVAL, bgdma_inj_wait(inj, 3, BGDMA_SLEEP, -1));
	record->desc_seq = 3;
	record->lost = 1;
	EXPECT_EQ(-EINVAL, bgdma_inj_wait(inj, 3, BGDMA_SLEEP, -1));
	record->lost = 0;

	EXPECT_EQ(-ETIMEDOUT, bgdma_rec_wait(rec, BGDMA_SLEEP, 1000000));
	fake_record(FAKE_RECORD_REC)->code = BGDMA_E_INDEX;
	EXPECT_EQ(-EPROTO, bgdma_rec_wait(rec, BGDMA_SPIN, -1));
	fake_packet(0, 8, 0, 1);
	EXPECT_EQ(0, bgdma_rec_wait(rec, BGDMA_SPIN, -1));

	fake.wait_ret = 0;
	fake_kern->state = BGDMA_STATE_DEAD;
	EXPECT_TRUE(bgdma_ctx_dead(self->ctx));
	EXPECT_EQ(-EINVAL, bgdma_inj_wait(inj, 9, BGDMA_SPIN, -1));
	fake_record(FAKE_RECORD_INJ + bgdma_inj_id(inj))->code = 0;
	EXPECT_EQ(-ENODEV, bgdma_inj_wait(inj, 9, BGDMA_SPIN, -1));
	EXPECT_EQ(-ENODEV, bgdma_ctx_wait(self->ctx, -1));
}

static void on_alarm(int signal)
{
	(void)signal;
}

/* The whole context, by io_uring or poll: the file is an eventfd here. */
TEST_F(lib, wait_for_context)
{
	const struct itimerval soon = { .it_value.tv_usec = 20000 };
	struct sigaction action = { .sa_handler = on_alarm };
	uint64_t one = 1;
	int event, i;

	event = eventfd(0, EFD_NONBLOCK);
	ASSERT_EQ(self->fd, dup2(event, self->fd));
	sigaction(SIGALRM, &action, NULL);
	for (i = 0; i < 50; i++) {
		EXPECT_EQ(-ETIMEDOUT, bgdma_ctx_wait(self->ctx, 0));
		EXPECT_EQ(-ETIMEDOUT, bgdma_ctx_wait(self->ctx, 1000000));
		ASSERT_EQ(sizeof(one), write(event, &one, sizeof(one)));
		EXPECT_EQ(0, bgdma_ctx_wait(self->ctx, 0));
		EXPECT_EQ(0, bgdma_ctx_wait(self->ctx, -1));
		EXPECT_EQ(0, bgdma_ctx_wait(self->ctx, 1000000000));
		ASSERT_EQ(sizeof(one), read(event, &one, sizeof(one)));
		if (i % 10)
			continue;
		setitimer(ITIMER_REAL, &soon, NULL);
		EXPECT_EQ(-EINTR, bgdma_ctx_wait(self->ctx, -1));
		setitimer(ITIMER_REAL, &soon, NULL);
		EXPECT_EQ(-EINTR, bgdma_ctx_wait(self->ctx, 20000000000));
	}
	close(event);
}

TEST_HARNESS_MAIN
