// SPDX-License-Identifier: GPL-2.0
/*
 * Remote gets: descriptors that run elsewhere, with no more than their origin's rights.
 */
#include <endian.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "rget.h"

TEST_F(rget, dma1_get)
{
	struct end *a = &self->a, *b = &self->b;
	struct bgdma_desc d = d_put(0, b->mem.handle, 100, a->mem.handle, 7,
				    50000);

	fill(b->mem.p + 100, 50000, 1);
	d.inj_ctr = htole32(b->ic);
	d.rec_ctr = htole32(a->rc);
	counter_add(&b->n, INJ, b->ic, 50000);
	counter_add(&a->n, REC, a->rc, 50000);
	EXPECT_EQ(BGDMA_OK, send_to(a, 1, b->rgq, &d, 1));
	EXPECT_TRUE(until(hit(&a->n, REC, a->rc)));
	EXPECT_TRUE(filled(a->mem.p + 7, 50000, 1));
	EXPECT_TRUE(until(hit(&b->n, INJ, b->ic)));
}

TEST_F(rget, dma4_injection_counter_of_the_remote_get)
{
	struct end *a = &self->a;
	struct bgdma_desc nop = d_nop(), d;

	memcpy(a->mem.p, &nop, sizeof(nop));
	d = d_rget(1, self->b.rgq, a->mem.handle, 0, 1);
	d.inj_ctr = htole32(a->ic);
	counter_add(&a->n, INJ, a->ic, 64);
	EXPECT_EQ(BGDMA_OK, run(&a->inj, &d));
	EXPECT_TRUE(hit(&a->n, INJ, a->ic));
}

TEST_F(rget, dma1_every_operation_of_a_remote_descriptor)
{
	struct end *a = &self->a, *b = &self->b;
	struct bgdma_desc d[5] = {
		d_nop(),
		d_copy(b->mem.handle, 0, b->mem.handle, 4096, 4096),
		d_memfifo(0, a->rec.id, b->mem.handle, 0, 4096),
		d_local_memfifo(b->rec.id, b->mem.handle, 0, 4096),
		d_put(0, b->mem.handle, 0, a->mem.handle, 8192, 4096),
	};

	fill(b->mem.p, 4096, 5);
	EXPECT_EQ(BGDMA_OK, send_to(a, 1, b->rgq, d, 5));
	/* From b's engine into a's FIFO; and what a did in b's own. */
	EXPECT_EQ(1, packet_wait(&a->rec)->src_rank);
	EXPECT_TRUE(filled(payload(packet(&a->rec)), 4096, 5));
	EXPECT_EQ(0, packet_wait(&b->rec)->src_rank);
	EXPECT_EQ(0, packet(&b->rec)->src_ctx);
	EXPECT_TRUE(filled(payload(packet(&b->rec)), 4096, 5));
	EXPECT_TRUE(filled(b->mem.p + 4096, 4096, 5));
	EXPECT_TRUE(until(a->mem.p[8192 + 4095] == b->mem.p[4095]));
	EXPECT_TRUE(filled(a->mem.p + 8192, 4096, 5));
}

TEST_F(rget, dma11_together_and_in_order)
{
	struct end *a = &self->a, *b = &self->b;
	struct inj other;
	unsigned int round, i;
	__u32 group = 0;

	/* Two FIFOs of one sender share its sub-queue. */
	inj_new(&other, &a->n);
	for (i = 0; i < 512; i++) {
		struct bgdma_desc d = local_number(b, i);

		memcpy(a->mem.p + 64UL * i, &d, sizeof(d));
	}
	for (i = 0; i < 32; i++) {
		struct bgdma_desc d = d_rget(1, b->rgq, a->mem.handle,
					     1024ULL * i, 16);

		put_in(i & 1 ? &a->inj : &other, &d);
	}
	store(&other.user->tail, other.tail);
	__atomic_fetch_or(&a->n.uctl->doorbell[0], 1ULL << other.id,
			  __ATOMIC_SEQ_CST);
	post(&a->inj);
	for (round = 0; round < 32; round++) {
		for (i = 0; i < 16; i++) {
			__u32 number = number_wait(&b->rec);

			if (!i)
				group = number;
			ASSERT_EQ(0, group % 16);
			ASSERT_EQ(group + i, number);
		}
	}
}

/* It is known late, over links: who waits at a fence for it is dropped, too. */
TEST_F(rget, dma11_nothing_comes_behind_what_was_refused)
{
	struct end *a = &self->a, *b = &self->b;
	struct bgdma_desc d[2], get, word;
	struct bgdma_event event;
	__u32 i;

	for (i = 0; i < 20; i++) {
		d[0] = d_put(0, b->mem.handle, 0, a->mem.handle, PAIR_BYTES,
			     65536);
		d[1] = local_number(b, 1000);
		d[1].flags |= BGDMA_DESC_FENCE;
		memcpy(a->mem.p, d, sizeof(d));
		get = d_rget(1, b->rgq, a->mem.handle, 0, 2);
		EXPECT_EQ(BGDMA_OK, run(&a->inj, &get));
		ASSERT_TRUE(event_wait(&a->n, BGDMA_EVENT_REFUSED, &event));
		EXPECT_EQ(BGDMA_E_BOUNDS, event.code);
		word = local_number(b, i);
		memcpy(a->mem.p, &word, sizeof(word));
		get = d_rget(1, b->rgq, a->mem.handle, 0, 1);
		EXPECT_EQ(BGDMA_OK, run(&a->inj, &get));
		ASSERT_EQ(i, number_wait(&b->rec));
	}
}

/* Where they are copied for a link, descriptors do not begin at multiples of 64. */
TEST_F(rget, dma11_behind_a_few_bytes)
{
	struct end *a = &self->a, *b = &self->b;
	const __u64 half = PAIR_BYTES / 2;
	unsigned int i, j;

	fill(a->mem.p + half, 8, 7);
	for (i = 0; i < 20; i++) {
		__u64 at = 1152ULL * i + 24 * (i % 3);
		struct bgdma_desc d;

		for (j = 0; j < 16; j++) {
			d = local_number(b, i * 16 + j);
			memcpy(a->mem.p + at + 64UL * j, &d, sizeof(d));
		}
		d = d_put(1, a->mem.handle, half, b->mem.handle, half + 8 * i,
			  1 + i % 8);
		put_in(&a->inj, &d);
		d = d_rget(1, b->rgq, a->mem.handle, at, 16);
		put_in(&a->inj, &d);
	}
	post(&a->inj);
	for (i = 0; i < 320; i++)
		ASSERT_EQ(i, number_wait(&b->rec));
	for (i = 0; i < 20; i++)
		EXPECT_TRUE(filled(b->mem.p + half + 8 * i, 1 + i % 8, 7));
	EXPECT_EQ(BGDMA_OK, outcome(&a->inj, 39));
}

TEST_F(rget, dma11_through_a_full_queue)
{
	struct end *a = &self->a, *b = &self->b;
	__u32 q, i, j;

	/* 16 slots: each remote get waits for the one before to start. */
	must(rgq_try(&b->n, 16, 1, 20000, &q));
	must(grant(&b->n, BGDMA_KIND_RGET_QUEUE, q, 0, BGDMA_RIGHT_INJECT));
	for (i = 0; i < 40; i++) {
		struct bgdma_desc d;

		for (j = 0; j < 9; j++) {
			d = local_number(b, i * 9 + j);
			memcpy(a->mem.p + 1024UL * i + 64UL * j, &d,
			       sizeof(d));
		}
		d = d_rget(1, q, a->mem.handle, 1024ULL * i, 9);
		put_in(&a->inj, &d);
	}
	post(&a->inj);
	for (i = 0; i < 360; i++)
		ASSERT_EQ(i, number_wait(&b->rec));
	EXPECT_EQ(BGDMA_OK, outcome(&a->inj, 39));
}

TEST_F(rget, dma2_fence_waits_for_its_own_stream)
{
	struct end *a = &self->a, *b = &self->b;
	struct bgdma_desc d[2] = {
		d_put(0, b->mem.handle, 0, a->mem.handle, 0, 50000),
		d_number(0, &a->rec, 3),
	};
	int i;

	d[1].flags |= BGDMA_DESC_FENCE;
	for (i = 0; i < 10; i++) {
		fill(b->mem.p, 50000, (unsigned int)i);
		EXPECT_EQ(BGDMA_OK, send_to(a, 1, b->rgq, d, 2));
		EXPECT_EQ(3, number_wait(&a->rec));
		ASSERT_TRUE(filled(a->mem.p, 50000, (unsigned int)i));
	}
}

/* Also when more senders than it has sub-queues came in between. */
TEST_F(rget, dma2_fence_waits_for_what_its_stream_sent_before)
{
	struct end *a = &self->a, *b = &self->b, *c = &self->c;
	struct bgdma_desc d = d_memfifo(0, a->rec.id, b->mem.handle, 0,
					PAIR_BYTES);
	__u32 q, got = 0;

	must(rgq_try(&b->n, 16, 2, 60000, &q));
	must(grant(&b->n, BGDMA_KIND_RGET_QUEUE, q, BGDMA_RANK_ANY,
		   BGDMA_RIGHT_INJECT));
	inject(&b->inj, &d);
	ASSERT_TRUE(until(load(&a->rec.kern->starved)));
	d = d_memfifo(0, a->rec.id, b->mem.handle, 0, 4096);
	EXPECT_EQ(BGDMA_OK, send_to(a, 1, q, &d, 1));
	d = local_number(b, 1);
	EXPECT_EQ(BGDMA_OK, send_to(c, 1, q, &d, 1));
	EXPECT_EQ(1, number_wait(&b->rec));
	d = local_number(b, 2);
	inj_new(&b->inj, &b->n);
	EXPECT_EQ(BGDMA_OK, send_to(b, 1, q, &d, 1));
	EXPECT_EQ(2, number_wait(&b->rec));
	d = local_number(b, 3);
	d.flags |= BGDMA_DESC_FENCE;
	EXPECT_EQ(BGDMA_OK, send_to(a, 1, q, &d, 1));
	usleep(50000);
	EXPECT_EQ(NULL, packet(&b->rec));
	while (got < PAIR_BYTES + 4096) {
		got += packet_wait(&a->rec)->bytes;
		packet_drop(&a->rec);
	}
	EXPECT_EQ(3, number_wait(&b->rec));
}

/* ---- What is refused at the origin ------------------------------------ */

TEST_F(rget, dma8_queues_that_are_not_there_or_closed)
{
	struct end *a = &self->a, *b = &self->b;
	struct bgdma_desc nop = d_nop();
	__u32 q;

	EXPECT_EQ(BGDMA_E_FIFO, send_to(a, 1, 3, &nop, 1));
	EXPECT_EQ(BGDMA_E_FIFO, send_to(a, 1, 4, &nop, 1));
	EXPECT_EQ(BGDMA_E_FIFO, send_to(a, 1, 65535, &nop, 1));
	EXPECT_EQ(BGDMA_E_NO_PEER, send_to(a, 3, 0, &nop, 1));
	must(rgq_try(&b->n, 16, 1, 0, &q));
	EXPECT_EQ(BGDMA_E_RIGHTS, send_to(a, 1, q, &nop, 1));
	must(grant(&b->n, BGDMA_KIND_RGET_QUEUE, q, 2, BGDMA_RIGHT_INJECT));
	EXPECT_EQ(BGDMA_E_RIGHTS, send_to(a, 1, q, &nop, 1));
	EXPECT_EQ(BGDMA_OK, send_to(&self->c, 1, q, &nop, 1));
	/* Its owner needs no grant. */
	EXPECT_EQ(BGDMA_OK, send_to(b, 1, q, &nop, 1));
	EXPECT_EQ(0, fifo_destroy(&b->n, BGDMA_KIND_RGET_QUEUE, q));
	EXPECT_EQ(BGDMA_E_FIFO, send_to(&self->c, 1, q, &nop, 1));
	EXPECT_EQ(-ENOENT, fifo_destroy(&b->n, BGDMA_KIND_RGET_QUEUE, q));
}

TEST_F(rget, dma8_lengths_and_places)
{
	struct end *a = &self->a;
	static const __u32 lengths[] = { 0, 1, 63, 65, 100, 17 * 64, 1 << 20,
					 BGDMA_LENGTH_MAX };
	struct bgdma_desc d, nop = d_nop();
	unsigned int i;

	for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		d = d_rget(1, self->b.rgq, a->mem.handle, 0, 1);
		d.length = htole32(lengths[i]);
		EXPECT_EQ(BGDMA_E_LENGTH, run_bad(&a->inj, &d))
			TH_LOG("%u bytes", lengths[i]);
	}
	/* At any address, and across the edge of a page. */
	for (i = 0; i < 70; i++) {
		__u64 off = 4096 - 64 + i;

		memcpy(a->mem.p + off, &nop, sizeof(nop));
		d = d_rget(1, self->b.rgq, a->mem.handle, off, 1);
		EXPECT_EQ(BGDMA_OK, run_bad(&a->inj, &d));
	}
	d = d_rget(1, self->b.rgq, a->mem.handle, PAIR_BYTES - 64, 2);
	EXPECT_EQ(BGDMA_E_BOUNDS, run_bad(&a->inj, &d));
}

TEST_F(rget, sp2_unfilled)
{
	struct end *a = &self->a, *b = &self->b;
	struct bgdma_desc d = d_rget(1, b->rgq, BGDMA_NONE, 0, 1);
	struct bgdma_event e;

	EXPECT_EQ(BGDMA_E_UNFILLED, run_bad(&a->inj, &d));
	/* The same at b, in a remote get that a sent. */
	d = d_rget(0, a->rgq, BGDMA_NONE, 0, 1);
	EXPECT_EQ(BGDMA_OK, send_to(a, 1, b->rgq, &d, 1));
	ASSERT_TRUE(event_wait(&b->n, BGDMA_EVENT_OFFENDER, &e));
	EXPECT_EQ(BGDMA_E_UNFILLED, e.code);
	ASSERT_TRUE(event_wait(&a->n, BGDMA_EVENT_REFUSED, &e));
	EXPECT_EQ(BGDMA_E_UNFILLED, e.code);
}

/* ---- What is refused where it runs ------------------------------------ */

/* Send one bad descriptor from a to b: the code that both sides see. */
static __u32 refused(struct __test_metadata *_metadata, struct end *a,
		     struct end *b, struct end *c, struct bgdma_desc *d)
{
	const struct bgdma_record *r = record(&b->n, b->n.at.rec_rgq, b->rgq);
	struct bgdma_event theirs, ours;
	struct bgdma_desc good;
	__u32 code;

	d->cookie = htole64(0xbad);
	EXPECT_EQ(BGDMA_OK, send_to(a, 1, b->rgq, d, 1));
	ASSERT_TRUE(event_wait(&b->n, BGDMA_EVENT_OFFENDER, &ours));
	ASSERT_TRUE(event_wait(&a->n, BGDMA_EVENT_REFUSED, &theirs));
	/* To the owner: who it was, and what. */
	code = load(&r->code);
	EXPECT_EQ(code, ours.code);
	EXPECT_EQ(0, ours.peer_rank);
	EXPECT_EQ(0, ours.peer_ctx);
	EXPECT_EQ(BGDMA_KIND_RGET_QUEUE, ours.kind);
	EXPECT_EQ(b->rgq, ours.object);
	EXPECT_EQ(0xbad, ours.cookie);
	EXPECT_EQ(a->n.at.incarnation, ours.peer_incarnation);
	EXPECT_EQ(BGDMA_KIND_RGET_QUEUE, r->fifo_kind);
	EXPECT_TRUE(load(&b->n.kctl->rgq_error) & 1ULL << b->rgq);
	/* To the sender: where, and what. */
	EXPECT_EQ(code, theirs.code);
	EXPECT_EQ(1, theirs.peer_rank);
	EXPECT_EQ(0xbad, theirs.cookie);
	EXPECT_EQ(BGDMA_FIFO_RUNNING, load(&a->inj.kern->state));
	must(clear_error(&b->n, BGDMA_KIND_RGET_QUEUE, b->rgq, 0));
	EXPECT_EQ(0, load(&r->code));
	EXPECT_EQ(0, load(&b->n.kctl->rgq_error));
	/* The queue was never stopped, for anybody. */
	good = local_number(b, 1);
	EXPECT_EQ(BGDMA_OK, send_to(c, 1, b->rgq, &good, 1));
	EXPECT_EQ(1, number_wait(&b->rec));
	good = local_number(b, 2);
	EXPECT_EQ(BGDMA_OK, send_to(a, 1, b->rgq, &good, 1));
	EXPECT_EQ(2, number_wait(&b->rec));
	return code;
}

#define EXPECT_REFUSED(expected, d)					\
	EXPECT_EQ(expected, refused(_metadata, &self->a, &self->b, &self->c, d))

TEST_F(rget, x2_third_node)
{
	struct bgdma_desc d = d_put(2, self->b.mem.handle, 0,
				    self->c.mem.handle, 0, 64);

	fill(self->c.mem.p, 64, 1);
	EXPECT_REFUSED(BGDMA_E_PROVENANCE, &d);
	d = d_number(2, &self->c.rec, 1);
	EXPECT_REFUSED(BGDMA_E_PROVENANCE, &d);
	d = d_rget(2, self->c.rgq, self->b.mem.handle, 0, 1);
	EXPECT_REFUSED(BGDMA_E_PROVENANCE, &d);
	/* Another context of the sender's node. */
	d = d_number(0, &self->a.rec, 1);
	d.dst_ctx = htole16(1);
	EXPECT_REFUSED(BGDMA_E_PROVENANCE, &d);
	/* Nobody's. */
	d = d_number(3, &self->a.rec, 1);
	EXPECT_REFUSED(BGDMA_E_PROVENANCE, &d);
	EXPECT_TRUE(filled(self->c.mem.p, 64, 1));
	EXPECT_EQ(NULL, packet(&self->c.rec));
}

TEST_F(rget, x2_region_that_is_not_exposed)
{
	struct end *a = &self->a, *b = &self->b;
	char *p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct bgdma_desc d;
	__u32 h;

	fill(p, PAGE, 8);
	fill(a->mem.p, PAGE, 1);
	must(region_pin(&b->n, p, PAGE, LOCAL_RW, &h));
	d = d_put(0, h, 0, a->mem.handle, 0, 64);
	EXPECT_REFUSED(BGDMA_E_RIGHTS, &d);
	d = d_copy(h, 0, b->mem.handle, 0, 64);
	EXPECT_REFUSED(BGDMA_E_RIGHTS, &d);
	d = d_copy(b->mem.handle, 0, h, 0, 64);
	EXPECT_REFUSED(BGDMA_E_RIGHTS, &d);
	d = d_local_memfifo(b->rec.id, h, 0, 64);
	EXPECT_REFUSED(BGDMA_E_RIGHTS, &d);
	/* Open to somebody else, or for something else. */
	must(grant(&b->n, BGDMA_KIND_REGION, h, 2, BGDMA_RIGHT_READ));
	must(grant(&b->n, BGDMA_KIND_REGION, h, 0, BGDMA_RIGHT_WRITE));
	d = d_put(0, h, 0, a->mem.handle, 0, 64);
	EXPECT_REFUSED(BGDMA_E_RIGHTS, &d);
	/* Only a part of it. */
	must(grant_range(&b->n, h, 0, BGDMA_RIGHT_READ, 64, 128));
	d = d_put(0, h, 63, a->mem.handle, 0, 64);
	EXPECT_REFUSED(BGDMA_E_BOUNDS, &d);
	d = d_put(0, h, 65, a->mem.handle, 0, 64);
	EXPECT_REFUSED(BGDMA_E_BOUNDS, &d);
	EXPECT_TRUE(filled(a->mem.p, PAGE, 1));
	EXPECT_TRUE(filled(p, PAGE, 8));
	d = d_put(0, h, 64, a->mem.handle, 0, 64);
	EXPECT_EQ(BGDMA_OK, send_to(a, 1, b->rgq, &d, 1));
	EXPECT_TRUE(until(!memcmp(a->mem.p, p + 64, 64)));
}

TEST_F(rget, x2_objects_that_are_not_exposed)
{
	struct end *a = &self->a, *b = &self->b;
	struct bgdma_desc d;
	struct rec r;
	__u32 slot, h, q;

	must(counter_alloc(&b->n, INJ, 0, 1, &slot));
	h = BGDMA_HANDLE(slot, cell(&b->n, INJ, slot)->lease_gen);
	d = d_put(0, b->mem.handle, 0, a->mem.handle, 0, 64);
	d.inj_ctr = htole32(h);
	EXPECT_REFUSED(BGDMA_E_RIGHTS, &d);
	EXPECT_EQ(0, value(&b->n, INJ, h));
	EXPECT_FALSE(counter_error(&b->n, INJ, h));
	d.inj_ctr = htole32(BGDMA_HANDLE(63, 1));
	EXPECT_REFUSED(BGDMA_E_COUNTER, &d);
	d.inj_ctr = htole32(b->ic + (1U << 16));
	EXPECT_REFUSED(BGDMA_E_STALE, &d);
	must(counter_alloc(&b->n, REC, 0, 1, &slot));
	d = d_copy(b->mem.handle, 0, b->mem.handle, 4096, 64);
	d.rec_ctr = htole32(BGDMA_HANDLE(slot,
					 cell(&b->n, REC, slot)->lease_gen));
	EXPECT_REFUSED(BGDMA_E_RIGHTS, &d);

	must(rec_try(&r, &b->n, BGDMA_ID_ANY, BGDMA_REC_BYTES_MIN));
	d = d_local_memfifo(r.id, b->mem.handle, 0, 8);
	EXPECT_REFUSED(BGDMA_E_RIGHTS, &d);
	EXPECT_EQ(NULL, packet(&r));

	must(rgq_try(&b->n, 16, 1, 0, &q));
	must(grant(&b->n, BGDMA_KIND_REGION, b->mem.handle, 0,
		   BGDMA_RIGHT_FETCH));
	d = d_rget(1, q, b->mem.handle, 0, 1);
	EXPECT_REFUSED(BGDMA_E_RIGHTS, &d);
}

TEST_F(rget, x2_what_it_puts_to_its_sender_is_checked_there)
{
	struct end *a = &self->a, *b = &self->b;
	char *p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct bgdma_desc d;
	__u32 h;

	/* a's own region, but not open to b, whose engine does the put. */
	must(region_pin(&a->n, p, PAGE, LOCAL_RW, &h));
	d = d_put(0, b->mem.handle, 0, h, 0, 64);
	EXPECT_REFUSED(BGDMA_E_RIGHTS, &d);
	d = d_put(0, b->mem.handle, 0, a->mem.handle, PAIR_BYTES - 63, 64);
	EXPECT_REFUSED(BGDMA_E_BOUNDS, &d);
	d = d_put(0, b->mem.handle, 0, a->mem.handle + (1U << 16), 0, 64);
	EXPECT_REFUSED(BGDMA_E_STALE, &d);
	must(grant(&a->n, BGDMA_KIND_REGION, h, 1, BGDMA_RIGHT_WRITE));
	d = d_put(0, b->mem.handle, 0, h, 0, 64);
	fill(b->mem.p, 64, 4);
	EXPECT_EQ(BGDMA_OK, send_to(a, 1, b->rgq, &d, 1));
	EXPECT_TRUE(until(p[63] == b->mem.p[63]));
}

TEST_F(rget, x2_fields_of_remote_descriptors)
{
	struct end *a = &self->a, *b = &self->b;
	struct bgdma_desc good = d_put(0, b->mem.handle, 0, a->mem.handle, 0,
				       64), d;

	d = good;
	d.op = 99;
	EXPECT_REFUSED(BGDMA_E_OP, &d);
	d = good;
	d.op = BGDMA_OP_TREE_REDUCE;
	EXPECT_REFUSED(BGDMA_E_FIELD, &d);
	d = good;
	d.resv = htole16(1);
	EXPECT_REFUSED(BGDMA_E_FIELD, &d);
	d = good;
	d.flags = BGDMA_DESC_INLINE;
	EXPECT_REFUSED(BGDMA_E_FLAGS, &d);
	d = good;
	d.length = htole32(BGDMA_LENGTH_MAX + 1);
	EXPECT_REFUSED(BGDMA_E_LENGTH, &d);
	d = good;
	d.u.at.src_off = htole64(~0ULL - 10);
	EXPECT_REFUSED(BGDMA_E_BOUNDS, &d);
	d = good;
	d.u.at.dst_off = htole64(~0ULL - 10);
	EXPECT_REFUSED(BGDMA_E_BOUNDS, &d);
	d = good;
	d.u.at.src_region = htole32(BGDMA_HANDLE(60000, 1));
	EXPECT_REFUSED(BGDMA_E_REGION, &d);
}

TEST_F(rget, x2_laundering_through_a_local_remote_get)
{
	struct end *a = &self->a, *b = &self->b;
	char *secret = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct bgdma_event e;
	struct bgdma_desc d;
	__u32 h;

	/*
	 * a may write into b's memory and have it fetched. It puts there a
	 * descriptor that reads what only b may read, and has b inject it
	 * into b's own queue.
	 */
	fill(secret, PAGE, 9);
	fill(a->mem.p, 64, 1);
	must(region_pin(&b->n, secret, PAGE, LOCAL_RW, &h));
	must(grant(&b->n, BGDMA_KIND_REGION, b->mem.handle, 0,
		   BGDMA_RIGHT_FETCH));
	d = d_put(0, h, 0, a->mem.handle, 0, 64);
	memcpy(a->mem.p + 4096, &d, sizeof(d));
	d = d_put(1, a->mem.handle, 4096, b->mem.handle, 0, 64);
	ASSERT_EQ(BGDMA_OK, run(&a->inj, &d));
	d = d_rget(1, b->rgq, b->mem.handle, 0, 1);
	EXPECT_EQ(BGDMA_OK, send_to(a, 1, b->rgq, &d, 1));
	ASSERT_TRUE(event_wait(&b->n, BGDMA_EVENT_OFFENDER, &e));
	EXPECT_EQ(BGDMA_E_RIGHTS, e.code);
	EXPECT_EQ(0, e.peer_rank);
	ASSERT_TRUE(event_wait(&a->n, BGDMA_EVENT_REFUSED, &e));
	EXPECT_EQ(BGDMA_E_RIGHTS, e.code);
	EXPECT_TRUE(filled(a->mem.p, 64, 1));

	/* Nor to a third node by that way. */
	d = d_put(2, b->mem.handle, 0, self->c.mem.handle, 0, 64);
	memcpy(b->mem.p, &d, sizeof(d));
	d = d_rget(1, b->rgq, b->mem.handle, 0, 1);
	EXPECT_EQ(BGDMA_OK, send_to(a, 1, b->rgq, &d, 1));
	ASSERT_TRUE(event_wait(&b->n, BGDMA_EVENT_OFFENDER, &e));
	EXPECT_EQ(BGDMA_E_PROVENANCE, e.code);

	/* What b itself injects there runs with b's rights. */
	d = d_put(0, h, 0, a->mem.handle, 0, 64);
	EXPECT_EQ(BGDMA_OK, send_to(b, 1, b->rgq, &d, 1));
	EXPECT_TRUE(until(a->mem.p[63] == secret[63]));
}

TEST_F(rget, x2_fetching_needs_its_own_right)
{
	struct end *a = &self->a, *b = &self->b;
	struct bgdma_desc d = d_rget(0, a->rgq, b->mem.handle, 0, 1);
	struct bgdma_desc number;
	int id;

	/* b's memory is open for reading, not for fetching. */
	EXPECT_REFUSED(BGDMA_E_RIGHTS, &d);
	/* A chain: a has b send a descriptor back, which runs at a for b. */
	id = (int)must(grant(&b->n, BGDMA_KIND_REGION, b->mem.handle, 0,
			     BGDMA_RIGHT_FETCH));
	number = d_number(1, &b->rec, 42);
	memcpy(b->mem.p, &number, sizeof(number));
	EXPECT_EQ(BGDMA_OK, send_to(a, 1, b->rgq, &d, 1));
	EXPECT_EQ(0, packet_wait(&b->rec)->src_rank);
	EXPECT_EQ(42, number_wait(&b->rec));
	EXPECT_EQ(0, grant_revoke(&b->n, (__u32)id));
	EXPECT_REFUSED(BGDMA_E_RIGHTS, &d);
}

TEST_F(rget, dma8_refused_takes_what_is_behind_it)
{
	struct end *a = &self->a, *b = &self->b;
	struct bgdma_desc d[4] = {
		local_number(b, 1), d_nop(), local_number(b, 2),
		local_number(b, 3),
	};
	struct bgdma_event e;

	d[1].op = 99;
	EXPECT_EQ(BGDMA_OK, send_to(a, 1, b->rgq, d, 4));
	ASSERT_TRUE(event_wait(&a->n, BGDMA_EVENT_REFUSED, &e));
	EXPECT_EQ(1, number_wait(&b->rec));
	/* Order of one sender: this comes after all of the others. */
	d[0] = local_number(b, 4);
	EXPECT_EQ(BGDMA_OK, send_to(a, 1, b->rgq, d, 1));
	EXPECT_EQ(4, number_wait(&b->rec));
}

TEST_F(rget, dma8_senders_counter_shows_it)
{
	struct end *a = &self->a, *b = &self->b;
	struct bgdma_desc d = d_put(0, b->mem.handle, PAIR_BYTES - 1,
				    a->mem.handle, 0, 4096);

	d.rec_ctr = htole32(a->rc);
	counter_add(&a->n, REC, a->rc, 4096);
	EXPECT_EQ(BGDMA_OK, send_to(a, 1, b->rgq, &d, 1));
	EXPECT_TRUE(until(counter_error(&a->n, REC, a->rc)));
	EXPECT_EQ(BGDMA_E_ABORTED, counter_record(&a->n, REC, a->rc)->code);
	EXPECT_EQ(BGDMA_E_BOUNDS, counter_record(&a->n, REC, a->rc)->bound);
	/* The error comes first, then what is missing is taken off. */
	EXPECT_TRUE(until(!value(&a->n, REC, a->rc)));
	EXPECT_EQ(0, wait_for(&a->n, REC, a->rc, 0, -1));
}

TEST_HARNESS_MAIN
