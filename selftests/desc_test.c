// SPDX-License-Identifier: GPL-2.0
/*
 * Every field of a descriptor wrong in turn, and every code: what raises it,
 * where it shows, what clears it (DMA-8).
 */
#include <endian.h>
#include <stdio.h>
#include <string.h>

#include "kselftest_harness.h"
#include "utils.h"

FIXTURE(desc) {
	struct end a, b;
	struct bgdma_desc good[6];	/* by enum bgdma_op */
};

FIXTURE_SETUP(desc)
{
	struct end *a = &self->a, *b = &self->b;
	struct bgdma_desc nop = d_nop();

	pair_new(a, b);
	memcpy(a->mem.p, &nop, sizeof(nop));
	self->good[BGDMA_OP_NOP] = nop;
	self->good[BGDMA_OP_MEMFIFO] =
		d_memfifo(1, b->rec.id, a->mem.handle, 0, 64);
	self->good[BGDMA_OP_LOCAL_MEMFIFO] =
		d_local_memfifo(a->rec.id, a->mem.handle, 0, 64);
	self->good[BGDMA_OP_PUT] =
		d_put(1, a->mem.handle, 0, b->mem.handle, 0, 64);
	self->good[BGDMA_OP_LOCAL_COPY] =
		d_copy(a->mem.handle, 0, a->mem.handle, 4096, 64);
	self->good[BGDMA_OP_RGET] = d_rget(1, b->rgq, a->mem.handle, 0, 1);
}

FIXTURE_TEARDOWN(desc)
{
	node_close(&self->b.n);
	node_close(&self->a.n);
}

#define NOP		(1U << BGDMA_OP_NOP)
#define MEMFIFO		(1U << BGDMA_OP_MEMFIFO)
#define LOCAL_MEMFIFO	(1U << BGDMA_OP_LOCAL_MEMFIFO)
#define PUT		(1U << BGDMA_OP_PUT)
#define LOCAL_COPY	(1U << BGDMA_OP_LOCAL_COPY)
#define RGET		(1U << BGDMA_OP_RGET)
#define ALL		0x3fU

/* One change to a good descriptor of each operation in @ops: its code. */
#define EXPECT_FOR(ops, expected, change)				\
do {									\
	for (unsigned int op_ = 0; op_ <= BGDMA_OP_RGET; op_++) {	\
		struct bgdma_desc d = self->good[op_];			\
									\
		if (!((ops) & 1U << op_))				\
			continue;					\
		change;							\
		EXPECT_EQ(expected, run_bad(&self->a.inj, &d))		\
			TH_LOG("operation %u: %s", op_, #change);	\
		drop_packets(&self->a.rec);				\
		drop_packets(&self->b.rec);				\
	}								\
} while (0)

static void drop_packets(struct rec *r)
{
	while (packet(r))
		packet_drop(r);
}

TEST_F(desc, good_ones)
{
	EXPECT_FOR(ALL, BGDMA_OK, d.flags = 0);
	EXPECT_FOR(ALL, BGDMA_OK, d.flags = BGDMA_DESC_FENCE);
	EXPECT_FOR(ALL & ~NOP, BGDMA_OK, d.cookie = ~0ULL);
	EXPECT_FOR(MEMFIFO | PUT | RGET, BGDMA_OK,
		   d.class_prio = BGDMA_PRIORITY);
	EXPECT_FOR(MEMFIFO | LOCAL_MEMFIFO, BGDMA_OK,
		   d.flags = BGDMA_DESC_INTERRUPT);
	EXPECT_FOR(MEMFIFO | LOCAL_MEMFIFO, BGDMA_OK, d.dispatch = 0xffff);
	EXPECT_FOR(MEMFIFO | PUT | RGET, BGDMA_OK,
		   d.route = BGDMA_ROUTE_ADAPTIVE);
	EXPECT_FOR(MEMFIFO | PUT | RGET, BGDMA_OK,
		   d.route = BGDMA_ROUTE_XP | BGDMA_ROUTE_YM | BGDMA_ROUTE_ZP);
	EXPECT_EQ(0, self->a.n.kctl->events_tail);
	EXPECT_EQ(0, self->b.n.kctl->events_tail);
}

TEST_F(desc, operations)
{
	struct bgdma_desc d;
	unsigned int op;

	for (op = BGDMA_OP_TREE_REDUCE; op < 256; op++) {
		if (op > BGDMA_OP_TREE_P2P && op < BGDMA_OP_COUNT)
			continue;	/* gates: gate_test.c */
		d = d_nop();
		d.op = (__u8)op;
		/* Those of the combining network want a class. */
		EXPECT_EQ(op < BGDMA_OP_COUNT ? BGDMA_E_CLASS : BGDMA_E_OP,
			  run_bad(&self->a.inj, &d))
			TH_LOG("operation %u", op);
	}
}

TEST_F(desc, dma7_groups_and_lines_belong_together)
{
	EXPECT_FOR(PUT | MEMFIFO | RGET | LOCAL_COPY, BGDMA_E_FLAGS,
		   d.flags = BGDMA_DESC_GROUP);
	EXPECT_FOR(PUT | MEMFIFO | RGET, BGDMA_E_FLAGS,
		   d.route = BGDMA_ROUTE_DEPOSIT);
}

TEST_F(desc, flags_that_do_not_fit)
{
	EXPECT_FOR(NOP | PUT | LOCAL_COPY | RGET, BGDMA_E_FLAGS,
		   d.flags = BGDMA_DESC_INTERRUPT);
	EXPECT_FOR(NOP | PUT | LOCAL_COPY | RGET, BGDMA_E_FLAGS,
		   d.flags = BGDMA_DESC_INLINE);
	EXPECT_FOR(NOP | RGET, BGDMA_E_FLAGS, d.flags = BGDMA_DESC_OPS);
	EXPECT_FOR(NOP | MEMFIFO | LOCAL_COPY | RGET, BGDMA_E_FLAGS,
		   d.flags = BGDMA_DESC_HOLD);
	EXPECT_FOR(NOP | MEMFIFO | PUT | LOCAL_COPY | RGET, BGDMA_E_FLAGS,
		   d.flags = BGDMA_DESC_FETCH);
	EXPECT_FOR(NOP | MEMFIFO | PUT | LOCAL_COPY | RGET, BGDMA_E_FLAGS,
		   d.flags = BGDMA_DESC_EXCLUSIVE);
	EXPECT_FOR(NOP | MEMFIFO | LOCAL_COPY | RGET, BGDMA_E_FIELD,
		   d.epoch = htole32(1));
	EXPECT_FOR(MEMFIFO | PUT | RGET, BGDMA_E_FLAGS,
		   d.route = BGDMA_ROUTE_XP | BGDMA_ROUTE_XM);
	EXPECT_FOR(MEMFIFO | PUT | RGET, BGDMA_E_FLAGS,
		   d.route = BGDMA_ROUTE_YP | BGDMA_ROUTE_YM);
	EXPECT_FOR(MEMFIFO | PUT | RGET, BGDMA_E_FLAGS,
		   d.route = BGDMA_ROUTE_ZP | BGDMA_ROUTE_ZM);
}

TEST_F(desc, fields_that_are_not_used)
{
	EXPECT_FOR(ALL, BGDMA_E_FIELD, d.resv = 1);
	EXPECT_FOR(ALL, BGDMA_E_FIELD, d.resv = 0x8000);
	EXPECT_FOR(ALL, BGDMA_E_FIELD, d.class_prio = 1);
	EXPECT_FOR(ALL, BGDMA_E_FIELD, d.class_prio = 0x80);
	EXPECT_FOR(NOP | LOCAL_MEMFIFO | LOCAL_COPY, BGDMA_E_FIELD,
		   d.class_prio = BGDMA_PRIORITY);
	EXPECT_FOR(NOP, BGDMA_E_FIELD, d.cookie = 1);
	EXPECT_FOR(NOP | LOCAL_MEMFIFO | LOCAL_COPY, BGDMA_E_FIELD,
		   d.route = BGDMA_ROUTE_ADAPTIVE);
	EXPECT_FOR(NOP | LOCAL_MEMFIFO | LOCAL_COPY, BGDMA_E_FIELD,
		   d.dst_rank = htole32(1));
	EXPECT_FOR(NOP | LOCAL_MEMFIFO | LOCAL_COPY, BGDMA_E_FIELD,
		   d.dst_ctx = htole16(1));
	EXPECT_FOR(NOP | PUT | LOCAL_COPY, BGDMA_E_FIELD,
		   d.dst_fifo = htole16(1));
	EXPECT_FOR(NOP, BGDMA_E_FIELD, d.inj_ctr = 0);
	EXPECT_FOR(NOP | RGET, BGDMA_E_FIELD, d.rec_ctr = 0);
	EXPECT_FOR(NOP, BGDMA_E_FIELD, d.length = htole32(1));
	EXPECT_FOR(NOP | PUT | LOCAL_COPY | RGET, BGDMA_E_FIELD,
		   d.dispatch = htole16(1));
	EXPECT_FOR(NOP, BGDMA_E_FIELD, d.u.at.src_region = 0);
	EXPECT_FOR(NOP, BGDMA_E_FIELD, d.u.at.src_off = htole64(1));
	EXPECT_FOR(NOP | MEMFIFO | LOCAL_MEMFIFO | RGET, BGDMA_E_FIELD,
		   d.u.at.dst_region = 0);
	EXPECT_FOR(NOP | MEMFIFO | LOCAL_MEMFIFO | RGET, BGDMA_E_FIELD,
		   d.u.at.dst_off = htole64(1));
}

/* Behind a good one that begins with the same 32 bytes. */
TEST_F(desc, second_halves)
{
	EXPECT_FOR(RGET, BGDMA_OK, d.flags = 0);
	EXPECT_FOR(RGET, BGDMA_E_UNFILLED, d.u.at.src_region = ~0U);
	EXPECT_FOR(RGET, BGDMA_OK, d.flags = 0);
	EXPECT_FOR(RGET, BGDMA_E_FIELD,
		   d.u.at.dst_region = self->b.mem.handle);
	EXPECT_FOR(RGET, BGDMA_OK, d.cookie = 1);
	EXPECT_FOR(RGET, BGDMA_E_FIELD, d.u.at.dst_off = htole64(64));
	EXPECT_FOR(RGET, BGDMA_E_REGION,
		   d.u.at.src_region = htole32(BGDMA_HANDLE(60000, 1)));
}

TEST_F(desc, lengths)
{
	EXPECT_FOR(MEMFIFO | LOCAL_MEMFIFO | PUT | LOCAL_COPY | RGET,
		   BGDMA_E_LENGTH, d.length = htole32(BGDMA_LENGTH_MAX + 1));
	EXPECT_FOR(MEMFIFO | LOCAL_MEMFIFO | PUT | LOCAL_COPY | RGET,
		   BGDMA_E_LENGTH, d.length = ~0U);
	EXPECT_FOR(MEMFIFO | LOCAL_MEMFIFO | PUT | LOCAL_COPY, BGDMA_E_BOUNDS,
		   d.length = htole32(BGDMA_LENGTH_MAX));
	EXPECT_FOR(MEMFIFO | LOCAL_MEMFIFO | PUT | LOCAL_COPY, BGDMA_OK,
		   d.length = 0);
	EXPECT_FOR(RGET, BGDMA_E_LENGTH, d.length = 0);
	EXPECT_FOR(RGET, BGDMA_E_LENGTH, d.length = htole32(63));
	EXPECT_FOR(RGET, BGDMA_E_LENGTH, d.length = htole32(17 * 64));
	EXPECT_FOR(MEMFIFO | LOCAL_MEMFIFO, BGDMA_E_LENGTH,
		   (d.flags = BGDMA_DESC_INLINE, d.length = htole32(25)));
}

TEST_F(desc, handles_and_ids)
{
	const unsigned int all = MEMFIFO | LOCAL_MEMFIFO | PUT | LOCAL_COPY;

	EXPECT_FOR(all | RGET, BGDMA_E_REGION,
		   d.u.at.src_region = htole32(BGDMA_HANDLE(60000, 1)));
	EXPECT_FOR(all, BGDMA_E_REGION, d.u.at.src_region = ~0U);
	EXPECT_FOR(RGET, BGDMA_E_UNFILLED, d.u.at.src_region = ~0U);
	EXPECT_FOR(all | RGET, BGDMA_E_STALE,
		   d.u.at.src_region =
			   htole32(self->a.mem.handle + (1U << 16)));
	EXPECT_FOR(PUT | LOCAL_COPY, BGDMA_E_REGION,
		   d.u.at.dst_region = htole32(BGDMA_HANDLE(60000, 1)));
	EXPECT_FOR(all | RGET, BGDMA_E_BOUNDS,
		   d.u.at.src_off = htole64(PAIR_BYTES - 56));
	EXPECT_FOR(all | RGET, BGDMA_E_BOUNDS,
		   d.u.at.src_off = htole64(~0ULL - 63));
	EXPECT_FOR(PUT | LOCAL_COPY, BGDMA_E_BOUNDS,
		   d.u.at.dst_off = htole64(~0ULL));
	EXPECT_FOR(all | RGET, BGDMA_E_COUNTER,
		   d.inj_ctr = htole32(BGDMA_HANDLE(999, 1)));
	EXPECT_FOR(all, BGDMA_E_COUNTER,
		   d.rec_ctr = htole32(BGDMA_HANDLE(999, 1)));
	EXPECT_FOR(MEMFIFO | LOCAL_MEMFIFO | RGET, BGDMA_E_FIFO,
		   d.dst_fifo = htole16(6));
	EXPECT_FOR(MEMFIFO | PUT | RGET, BGDMA_E_NO_PEER,
		   d.dst_rank = htole32(3));
	EXPECT_FOR(MEMFIFO | PUT | RGET, BGDMA_E_NO_PEER,
		   d.dst_rank = ~0U);
	EXPECT_FOR(MEMFIFO | PUT | RGET, BGDMA_E_NO_PEER,
		   d.dst_ctx = htole16(7));
}

/* ---- Every code ------------------------------------------------------- */

TEST_F(desc, dma8_records_of_own_descriptors)
{
	struct end *a = &self->a;
	struct bgdma_desc d;
	unsigned int seq = 0;

	/* What a record says, for a sample of each kind of fault. */
	static const struct {
		__u8 op;
		__u32 code;
	} cases[] = {
		{ 99, BGDMA_E_OP },
		{ BGDMA_OP_TREE_REDUCE, BGDMA_E_CLASS },
		{ BGDMA_OP_PUT, BGDMA_E_BOUNDS },
		{ BGDMA_OP_MEMFIFO, BGDMA_E_BOUNDS },
	};
	unsigned int i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		d = d_nop();
		if (cases[i].op <= BGDMA_OP_RGET)
			d = self->good[cases[i].op];
		d.op = cases[i].op;
		if (cases[i].code == BGDMA_E_BOUNDS)
			d.u.at.src_off = htole64(PAIR_BYTES - 63);
		EXPECT_EQ((int)cases[i].code, run(&a->inj, &d));
		EXPECT_EQ(seq, a->inj.rec->desc_seq);
		EXPECT_EQ(a->inj.id, a->inj.rec->fifo);
		EXPECT_EQ(BGDMA_KIND_INJ_FIFO, a->inj.rec->fifo_kind);
		EXPECT_EQ(0, a->inj.rec->lost);
		EXPECT_EQ(0, a->inj.rec->resv[0]);
		EXPECT_EQ(0, a->inj.rec->resv[1]);
		if (cases[i].code == BGDMA_E_BOUNDS) {
			EXPECT_EQ(PAIR_BYTES, a->inj.rec->bound);
			EXPECT_LE(PAIR_BYTES - 63, a->inj.rec->offset);
			EXPECT_EQ(1, a->inj.rec->peer_rank);
		}
		must(clear_error(&a->n, BGDMA_KIND_INJ_FIFO, a->inj.id, 0));
		EXPECT_EQ(0, a->inj.rec->code);
		seq++;
	}
}

TEST_F(desc, dma8_peer_down_during_a_transfer)
{
	struct end *a = &self->a, *b = &self->b;
	struct bgdma_desc d = d_memfifo(1, b->rec.id, a->mem.handle, 0,
					PAIR_BYTES);

	d.inj_ctr = htole32(a->ic);
	counter_add(&a->n, INJ, a->ic, PAIR_BYTES);
	inject(&a->inj, &d);
	ASSERT_TRUE(until(load(&a->inj.kern->state) == BGDMA_FIFO_BLOCKED));
	node_close(&b->n);
	EXPECT_EQ(BGDMA_E_PEER_DOWN, outcome(&a->inj, 0));
	EXPECT_EQ(1, a->inj.rec->peer_rank);
	EXPECT_EQ(0, value(&a->n, INJ, a->ic));
	EXPECT_EQ(BGDMA_E_PEER_DOWN, counter_record(&a->n, INJ, a->ic)->code);
	must(clear_error(&a->n, BGDMA_KIND_INJ_FIFO, a->inj.id, 0));
	must(clear_error(&a->n, INJ, BGDMA_HANDLE_SLOT(a->ic), 0));
	EXPECT_EQ(0, a->inj.rec->code);
	EXPECT_EQ(0, counter_record(&a->n, INJ, a->ic)->code);
	end_new(b, 1);
	d = d_number(1, &b->rec, 3);
	EXPECT_EQ(BGDMA_OK, run(&a->inj, &d));
	EXPECT_EQ(3, number_wait(&b->rec));
}

TEST_F(desc, dma8_first_error_of_a_counter_is_kept)
{
	struct end *a = &self->a;
	struct bgdma_desc d = self->good[BGDMA_OP_PUT];
	const struct bgdma_record *r = counter_record(&a->n, INJ, a->ic);

	d.inj_ctr = htole32(a->ic);
	counter_add(&a->n, INJ, a->ic, 192);
	d.u.at.dst_off = htole64(~0ULL);
	EXPECT_EQ(BGDMA_E_BOUNDS, run_bad(&a->inj, &d));
	d.u.at.dst_off = 0;
	d.dst_rank = htole32(3);
	EXPECT_EQ(BGDMA_E_NO_PEER, run_bad(&a->inj, &d));
	EXPECT_EQ(BGDMA_E_BOUNDS, r->code);
	EXPECT_EQ(1, r->lost);
	EXPECT_EQ(0, r->desc_seq);
	/* 0 is no transfer, and not the first one of the first FIFO. */
	EXPECT_EQ(0, r->fifo);
	EXPECT_NE(0, r->transfer_id);
	must(clear_error(&a->n, INJ, BGDMA_HANDLE_SLOT(a->ic), 0));
	EXPECT_EQ(0, r->code);
	EXPECT_EQ(BGDMA_E_NO_PEER, run_bad(&a->inj, &d));
	EXPECT_EQ(BGDMA_E_NO_PEER, r->code);
	EXPECT_EQ(0, r->lost);
	EXPECT_EQ(2, r->desc_seq);
	EXPECT_EQ(0, value(&a->n, INJ, a->ic));
}

TEST_HARNESS_MAIN
