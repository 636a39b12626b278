// SPDX-License-Identifier: GPL-2.0
/*
 * Injection FIFOs: order, indices, errors, cancelling, fairness.
 */
#include <endian.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "kselftest_harness.h"
#include "links.h"
#include "pair.h"

FIXTURE_PAIR(fifo)

TEST_F(fifo, dma2_descriptors_start_in_order)
{
	__u32 i, sent = 0;

	for (i = 0; i < 3000; i++) {
		/* Batches of all sizes, round a ring of 64 many times. */
		for (; sent < 3000 && sent < i + 1 + i % 40; sent++) {
			struct bgdma_desc d = d_number(1, &self->b.rec, sent);

			put_in(&self->a.inj, &d);
		}
		post(&self->a.inj);
		ASSERT_EQ(i, number_wait(&self->b.rec));
	}
	EXPECT_TRUE(until(load(&self->a.inj.kern->done) == 3000));
	EXPECT_EQ(3000, load(&self->a.inj.kern->head));
	EXPECT_EQ(3000, load(&self->b.rec.kern->packets));
}

TEST_F(fifo, dma10_put_is_seen_before_its_flag)
{
	struct end *a = &self->a, *b = &self->b;
	unsigned int i;

	for (i = 0; i < 50; i++) {
		struct bgdma_desc put = d_put(1, a->mem.handle, 0,
					      b->mem.handle, 0, PAIR_BYTES);
		struct bgdma_desc flag = d_number(1, &b->rec, i);

		fill(a->mem.p, PAIR_BYTES, i);
		put.rec_ctr = htole32(b->rc);
		counter_add(&b->n, REC, b->rc, PAIR_BYTES);
		put_in(&a->inj, &put);
		put_in(&a->inj, &flag);
		post(&a->inj);
		ASSERT_EQ(i, number_wait(&b->rec));
		/* The bytes, and the counter, before anything of the flag. */
		ASSERT_EQ(0, value(&b->n, REC, b->rc));
		ASSERT_TRUE(filled(b->mem.p, PAIR_BYTES, i));
		must(outcome(&a->inj, a->inj.tail - 1));
	}
}

TEST_F(fifo, dma10_puts_overwrite_in_order)
{
	struct end *a = &self->a, *b = &self->b;
	__u32 *numbers = (__u32 *)a->mem.p, i;

	for (i = 0; i < 1000; i++) {
		struct bgdma_desc d = d_put(1, a->mem.handle, 4ULL * i,
					    b->mem.handle, 0, 4);

		numbers[i] = i;
		put_in(&a->inj, &d);
		if (i % 16 == 15)
			post(&a->inj);
	}
	post(&a->inj);
	EXPECT_EQ(BGDMA_OK, outcome(&a->inj, 999));
	EXPECT_EQ(999, *(__u32 *)b->mem.p);
}

TEST_F(fifo, dma2_fence)
{
	struct end *a = &self->a, *b = &self->b;
	struct bgdma_desc put = d_put(1, a->mem.handle, 0, b->mem.handle, 0,
				      PAIR_BYTES);
	struct bgdma_desc flag = d_local_memfifo(a->rec.id, a->mem.handle, 0,
						 1);
	unsigned int i;

	put.inj_ctr = htole32(a->ic);
	flag.flags |= BGDMA_DESC_FENCE;
	for (i = 0; i < 20; i++) {
		fill(a->mem.p, PAIR_BYTES, i);
		counter_add(&a->n, INJ, a->ic, PAIR_BYTES);
		put_in(&a->inj, &put);
		put_in(&a->inj, &flag);
		post(&a->inj);
		packet_wait(&a->rec);
		packet_drop(&a->rec);
		/* All that was before the fence has left for good. */
		ASSERT_EQ(0, value(&a->n, INJ, a->ic));
		ASSERT_TRUE(filled(b->mem.p, PAIR_BYTES, i));
	}
}

TEST_F(fifo, dma2_nop_takes_its_place)
{
	struct bgdma_desc d = d_nop();
	__u32 i;

	d.flags = BGDMA_DESC_FENCE;
	for (i = 0; i < 1000; i++)
		inject(&self->a.inj, &d);
	EXPECT_EQ(BGDMA_OK, outcome(&self->a.inj, 999));
	EXPECT_EQ(1000, load(&self->a.inj.kern->done));
}

TEST_F(fifo, x2_index_jumped)
{
	struct inj *f = &self->a.inj;
	struct bgdma_desc nop = d_nop();
	static const __u64 jumps[] = { 65, 66, 1000, 1ULL << 32, 1ULL << 63,
				       ~0ULL };
	unsigned int i;

	for (i = 0; i < sizeof(jumps) / sizeof(jumps[0]); i++) {
		ASSERT_EQ(BGDMA_OK, run(f, &nop));
		f->tail += jumps[i];
		post(f);
		ASSERT_TRUE(until(load(&f->kern->state) == BGDMA_FIFO_ERROR));
		EXPECT_EQ(BGDMA_E_INDEX, load(&f->rec->code));
		EXPECT_TRUE(load(&self->a.n.kctl->inj_error[0]) &
			    1ULL << f->id);
		/* It goes on at its tail, wherever that is. */
		EXPECT_EQ(0, clear_error(&self->a.n, BGDMA_KIND_INJ_FIFO,
					 f->id, 0));
		EXPECT_EQ(0, load(&f->rec->code));
		EXPECT_EQ(BGDMA_FIFO_RUNNING, load(&f->kern->state));
		EXPECT_EQ(0, load(&self->a.n.kctl->inj_error[0]));
		EXPECT_EQ(f->tail, load(&f->kern->head));
	}
	EXPECT_EQ(BGDMA_OK, run(f, &nop));
}

TEST_F(fifo, x2_index_jumped_while_it_runs)
{
	struct inj *f = &self->a.inj;
	struct bgdma_desc nop = d_nop(), d;
	int round;

	for (round = 0; round < 100; round++) {
		d = d_put(1, self->a.mem.handle, 0, self->b.mem.handle, 0,
			  PAIR_BYTES);
		put_in(f, &d);
		put_in(f, &d);
		post(f);
		store(&f->user->tail, f->tail + 1000);
		doorbell(&self->a.n, BGDMA_DOORBELL_POOL);
		store(&f->user->tail, f->tail);
		until(load(&f->kern->done) >= f->tail ||
		      load(&f->kern->state) == BGDMA_FIFO_ERROR);
		if (load(&f->kern->state) == BGDMA_FIFO_ERROR) {
			EXPECT_EQ(BGDMA_E_INDEX, load(&f->rec->code));
			clear_error(&self->a.n, BGDMA_KIND_INJ_FIFO, f->id, 0);
		}
	}
	EXPECT_TRUE(until(load(&f->kern->head) == f->tail));
	EXPECT_EQ(BGDMA_OK, run(f, &nop));
}

TEST_F(fifo, dma8_error_stops_its_own_fifo_only)
{
	struct end *a = &self->a, *b = &self->b;
	struct bgdma_desc bad = d_put(1, a->mem.handle, 0, b->mem.handle,
				      PAIR_BYTES, 1);
	struct bgdma_desc good;
	struct bgdma_event e;
	struct inj other;
	__u32 i;

	if (links_used())
		SKIP(return, "over links a FIFO is some descriptors ahead of what has arrived");
	inj_new(&other, &a->n);
	good = d_number(1, &b->rec, 1);
	ASSERT_EQ(BGDMA_OK, run(&a->inj, &good));
	ASSERT_EQ(1, number_wait(&b->rec));
	bad.cookie = htole64(0x1234);
	put_in(&a->inj, &bad);
	for (i = 2; i < 5; i++) {
		good = d_number(1, &b->rec, i);
		put_in(&a->inj, &good);
	}
	post(&a->inj);
	EXPECT_EQ(BGDMA_E_BOUNDS, outcome(&a->inj, 1));
	EXPECT_EQ(1, a->inj.rec->desc_seq);
	EXPECT_EQ(a->inj.id, a->inj.rec->fifo);
	EXPECT_EQ(1, a->inj.rec->peer_rank);
	EXPECT_EQ(0, a->inj.rec->peer_ctx);
	ASSERT_TRUE(event_wait(&a->n, BGDMA_EVENT_FIFO_ERROR, &e));
	EXPECT_EQ(BGDMA_E_BOUNDS, e.code);
	EXPECT_EQ(BGDMA_KIND_INJ_FIFO, e.kind);
	EXPECT_EQ(a->inj.id, e.object);
	EXPECT_EQ(1, e.desc_seq);
	EXPECT_EQ(0x1234, e.cookie);
	EXPECT_EQ(1, e.peer_rank);

	/* The other one goes on, and so does everybody else. */
	good = d_number(1, &b->rec, 100);
	EXPECT_EQ(BGDMA_OK, run(&other, &good));
	EXPECT_EQ(100, number_wait(&b->rec));
	good = d_number(0, &a->rec, 200);
	EXPECT_EQ(BGDMA_OK, run(&b->inj, &good));
	EXPECT_EQ(200, number_wait(&a->rec));
	/* This one does not, however often the bell rings. */
	post(&a->inj);
	doorbell(&a->n, 0);
	EXPECT_EQ(NULL, packet(&b->rec));
	EXPECT_EQ(BGDMA_FIFO_ERROR, load(&a->inj.kern->state));

	/* Cleared, it goes on after the descriptor that failed. */
	EXPECT_EQ(0, clear_error(&a->n, BGDMA_KIND_INJ_FIFO, a->inj.id, 0));
	for (i = 2; i < 5; i++)
		EXPECT_EQ(i, number_wait(&b->rec));
	EXPECT_TRUE(until(load(&a->inj.kern->done) == 5));
}

TEST_F(fifo, dma8_clear_with_flush_drops_the_rest)
{
	struct end *a = &self->a, *b = &self->b;
	struct bgdma_desc bad = d_nop(), good = d_number(1, &b->rec, 1);
	__u32 i;

	bad.op = 99;
	put_in(&a->inj, &bad);
	for (i = 0; i < 5; i++)
		put_in(&a->inj, &good);
	post(&a->inj);
	EXPECT_EQ(BGDMA_E_OP, outcome(&a->inj, 0));
	EXPECT_EQ(0, clear_error(&a->n, BGDMA_KIND_INJ_FIFO, a->inj.id,
				 BGDMA_CLEAR_FLUSH));
	EXPECT_TRUE(until(load(&a->inj.kern->done) == 6));
	EXPECT_EQ(6, load(&a->inj.kern->head));
	good = d_number(1, &b->rec, 2);
	EXPECT_EQ(BGDMA_OK, run(&a->inj, &good));
	EXPECT_EQ(2, number_wait(&b->rec));
}

static bool drained(struct rec *r, struct inj *f, __u64 done)
{
	if (packet(r))
		packet_drop(r);
	return load(&f->kern->done) == done;
}

TEST_F(fifo, dma8_clear_ends_nothing_that_is_on_its_way)
{
	struct end *a = &self->a, *b = &self->b;
	struct bgdma_desc bad = d_nop(), full, late;
	struct inj other;

	if (!links_used())
		SKIP(return, "only over links does anything end later");
	inj_new(&other, &a->n);
	full = d_memfifo(1, b->rec.id, a->mem.handle, 0, PAIR_BYTES);
	inject(&other, &full);
	ASSERT_TRUE(until(load(&b->rec.kern->starved)));
	bad.op = 99;
	late = d_memfifo(1, b->rec.id, a->mem.handle, 0, 4096);
	put_in(&a->inj, &late);
	put_in(&a->inj, &bad);
	post(&a->inj);
	ASSERT_TRUE(until(load(&a->inj.kern->state) == BGDMA_FIFO_ERROR));
	EXPECT_EQ(0, load(&a->inj.kern->done));
	EXPECT_EQ(0, clear_error(&a->n, BGDMA_KIND_INJ_FIFO, a->inj.id, 0));
	EXPECT_EQ(0, load(&a->inj.kern->done));
	EXPECT_EQ(2, load(&a->inj.kern->head));
	/* It ends when it has arrived. */
	EXPECT_TRUE(until(drained(&b->rec, &a->inj, 2)));
}

TEST_F(fifo, dma8_clear_of_what_has_no_error)
{
	struct node *n = &self->a.n;

	EXPECT_EQ(0, clear_error(n, BGDMA_KIND_INJ_FIFO, self->a.inj.id, 0));
	EXPECT_EQ(0, clear_error(n, BGDMA_KIND_REC_FIFO, self->a.rec.id, 0));
	EXPECT_EQ(0, clear_error(n, BGDMA_KIND_RGET_QUEUE, self->a.rgq, 0));
	EXPECT_EQ(0, clear_error(n, INJ, BGDMA_HANDLE_SLOT(self->a.ic), 0));
	EXPECT_EQ(-EINVAL, clear_error(n, INJ, BGDMA_HANDLE_SLOT(self->a.ic),
				       BGDMA_CLEAR_FLUSH));
	EXPECT_EQ(-ENOENT, clear_error(n, BGDMA_KIND_INJ_FIFO, 9, 0));
	EXPECT_EQ(-ENOENT, clear_error(n, BGDMA_KIND_REC_FIFO, ~0U, 0));
	EXPECT_EQ(-ENOENT, clear_error(n, BGDMA_KIND_RGET_QUEUE, 3, 0));
	EXPECT_EQ(-ENOENT, clear_error(n, REC, 63, 0));
	EXPECT_EQ(-ENOENT, clear_error(n, REC, 64, 0));
}

TEST_F(fifo, errors_behind_the_first_are_counted)
{
	struct inj *f = &self->a.inj;
	struct bgdma_desc bad = d_nop();

	/* The first error of a FIFO stops it, so it cannot lose any. */
	bad.op = 99;
	put_in(f, &bad);
	bad.op = BGDMA_OP_TREE_REDUCE;
	put_in(f, &bad);
	post(f);
	EXPECT_EQ(BGDMA_E_OP, outcome(f, 0));
	EXPECT_EQ(0, f->rec->lost);
	must(clear_error(f->n, BGDMA_KIND_INJ_FIFO, f->id, 0));
	EXPECT_EQ(BGDMA_E_CLASS, outcome(f, 1));
	EXPECT_EQ(1, f->rec->desc_seq);
}

TEST_F(fifo, sizes_and_ids)
{
	struct node *n = &self->a.n;
	struct bgdma_desc nop = d_nop();
	struct inj f, g, all[16];
	__u32 entries;
	int i, ret = 0;

	for (entries = 16; entries <= BGDMA_INJ_ENTRIES_MAX; entries *= 2) {
		ASSERT_EQ(0, inj_try(&f, n, BGDMA_ID_ANY, entries));
		EXPECT_EQ(BGDMA_OK, run(&f, &nop));
		EXPECT_EQ(0, fifo_destroy(n, BGDMA_KIND_INJ_FIFO, f.id));
	}
	ASSERT_EQ(0, inj_try(&f, n, 9, 16));
	EXPECT_EQ(9, f.id);
	EXPECT_EQ(-EEXIST, inj_try(&g, n, 9, 16));
	for (i = 0; !ret; i++)
		ret = inj_try(&all[i], n, BGDMA_ID_ANY, 16);
	EXPECT_EQ(-ENOSPC, ret);
	EXPECT_EQ(15, i);
	EXPECT_EQ(0, fifo_destroy(n, BGDMA_KIND_INJ_FIFO, 9));
	EXPECT_EQ(-ENOENT, fifo_destroy(n, BGDMA_KIND_INJ_FIFO, 9));
	/* A new one of that number begins at 0. */
	EXPECT_EQ(0, inj_try(&f, n, 9, 16));
	EXPECT_EQ(0, f.kern->head);
	EXPECT_EQ(BGDMA_OK, run(&f, &nop));
	EXPECT_EQ(1, load(&f.kern->done));
}

TEST_F(fifo, number_of_one_in_use_begins_at_zero_again)
{
	struct inj *f = &self->a.inj;
	struct bgdma_desc nop = d_nop();
	__u32 id = f->id;
	int i;

	for (i = 0; i < 100; i++)
		inject(f, &nop);
	EXPECT_EQ(BGDMA_OK, outcome(f, 99));
	EXPECT_EQ(0, fifo_destroy(f->n, BGDMA_KIND_INJ_FIFO, id));
	ASSERT_EQ(0, inj_try(f, &self->a.n, id, 16));
	EXPECT_EQ(0, load(&f->kern->head));
	EXPECT_EQ(0, load(&f->kern->done));
	EXPECT_EQ(BGDMA_FIFO_RUNNING, load(&f->kern->state));
	EXPECT_EQ(0, load(&f->rec->code));
	EXPECT_EQ(BGDMA_OK, run(f, &nop));
	EXPECT_EQ(1, load(&f->kern->done));
}

TEST_F_TIMEOUT(fifo, dma2_a_thousand_fifos, 120)
{
	struct bgdma_attach at = { .ctx = BGDMA_CTX_ANY, .inj_fifos = 1000 };
	static struct inj f[1000];
	static bool seen[1000];
	struct node n;
	__u32 i;

	must(node_try(&n, PARTITION, 2, &at));
	for (i = 0; i < 1000; i++) {
		struct bgdma_desc d = d_number(1, &self->b.rec, i);

		must(inj_try(&f[i], &n, BGDMA_ID_ANY, 16));
		EXPECT_EQ(i, f[i].id);
		put_in(&f[i], &d);
	}
	/* One doorbell for all. */
	for (i = 0; i < 1000; i++) {
		store(&f[i].user->tail, 1);
		__atomic_fetch_or(&n.uctl->doorbell[i / 64], 1ULL << i % 64,
				  __ATOMIC_SEQ_CST);
	}
	EXPECT_EQ(0, doorbell(&n, 0));
	for (i = 0; i < 1000; i++) {
		__u32 number = number_wait(&self->b.rec);

		ASSERT_GT(1000, number);
		ASSERT_FALSE(seen[number]);
		seen[number] = true;
	}
	node_close(&n);
}

TEST_F(fifo, dma2_fair_by_bytes)
{
	struct end *a = &self->a;
	struct region src, dst;
	struct inj small;
	struct bgdma_desc d;
	__u32 i, big_id = 1, small_id = 2;

	inj_new(&small, &a->n);
	region_new(&src, &a->n, MIB);
	region_new(&dst, &self->b.n, MIB);
	/* 60 MiB and a flag, against 64 KiB and a flag. */
	d = d_put(1, src.handle, 0, dst.handle, 0, MIB);
	for (i = 0; i < 60; i++)
		put_in(&a->inj, &d);
	d = d_number(1, &self->b.rec, big_id);
	put_in(&a->inj, &d);
	d = d_put(1, src.handle, 0, dst.handle, 0, 64 * KIB);
	put_in(&small, &d);
	d = d_number(1, &self->b.rec, small_id);
	put_in(&small, &d);
	store(&a->inj.user->tail, a->inj.tail);
	store(&small.user->tail, small.tail);
	__atomic_fetch_or(&a->n.uctl->doorbell[0],
			  1ULL << a->inj.id | 1ULL << small.id,
			  __ATOMIC_SEQ_CST);
	EXPECT_EQ(0, doorbell(&a->n, BGDMA_DOORBELL_POOL));
	EXPECT_EQ(small_id, number_wait(&self->b.rec));
	EXPECT_EQ(big_id, number_wait(&self->b.rec));
}

TEST_F(fifo, dma2_one_transfer_does_not_hold_the_engine)
{
	struct end *a = &self->a;
	struct region src, dst;
	struct inj small;
	struct bgdma_desc d;

	inj_new(&small, &a->n);
	region_new(&src, &a->n, 64 * MIB);
	region_new(&dst, &self->b.n, 64 * MIB);
	d = d_put(1, src.handle, 0, dst.handle, 0, 64 * MIB);
	put_in(&a->inj, &d);
	d = d_number(1, &self->b.rec, 1);
	put_in(&a->inj, &d);
	d = d_number(1, &self->b.rec, 2);
	put_in(&small, &d);
	store(&a->inj.user->tail, a->inj.tail);
	store(&small.user->tail, small.tail);
	__atomic_fetch_or(&a->n.uctl->doorbell[0],
			  1ULL << a->inj.id | 1ULL << small.id,
			  __ATOMIC_SEQ_CST);
	EXPECT_EQ(0, doorbell(&a->n, BGDMA_DOORBELL_POOL));
	EXPECT_EQ(2, number_wait(&self->b.rec));
	EXPECT_EQ(1, number_wait(&self->b.rec));
}

/* ---- Descriptors that change under the engine ------------------------- */

struct flipper {
	struct inj *f;
	__u32 good, bad;
	bool stop;
};

static void *flip(void *arg)
{
	struct flipper *x = arg;
	__u32 i = 0;

	while (!load(&x->stop)) {
		__le32 *p = &x->f->ring[i++ & 63].u.at.dst_region;

		*(volatile __le32 *)p = htole32(i & 64 ? x->bad : x->good);
	}
	return NULL;
}

TEST_F_TIMEOUT(fifo, x2_descriptor_changed_after_submission, 120)
{
	struct end *a = &self->a, *b = &self->b;
	struct flipper x = { .f = &a->inj, .good = b->mem.handle };
	struct bgdma_desc d;
	char *secret = mmap(NULL, PAIR_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_t thread;
	int i, code;

	/* Registered, but granted to nobody. */
	fill(secret, PAIR_BYTES, 9);
	must(region_pin(&b->n, secret, PAIR_BYTES, LOCAL_RW, &x.bad));
	ASSERT_EQ(0, pthread_create(&thread, NULL, flip, &x));
	d = d_put(1, a->mem.handle, 0, b->mem.handle, 0, 4096);
	for (i = 0; i < 2000; i++) {
		code = run_bad(&a->inj, &d);
		ASSERT_TRUE(code == BGDMA_OK || code == BGDMA_E_RIGHTS)
			TH_LOG("%d", code);
	}
	store(&x.stop, true);
	pthread_join(thread, NULL);
	EXPECT_TRUE(filled(secret, PAIR_BYTES, 9));
}

TEST_F(fifo, x2_slot_is_free_when_head_has_passed)
{
	struct end *a = &self->a, *b = &self->b;
	struct region src, dst;
	unsigned int i;

	region_new(&src, &a->n, 4 * MIB);
	region_new(&dst, &b->n, 4 * MIB);
	for (i = 0; i < 20; i++) {
		struct bgdma_desc d = d_put(1, src.handle, 0, dst.handle, 0,
					    4 * MIB);
		__u64 seq;

		fill(src.p, src.bytes, i);
		seq = inject(&a->inj, &d);
		ASSERT_TRUE(until(load(&a->inj.kern->head) > seq));
		memset(&a->inj.ring[seq & 63], 0xff, sizeof(d));
		ASSERT_EQ(BGDMA_OK, outcome(&a->inj, seq));
		ASSERT_TRUE(filled(dst.p, dst.bytes, i));
	}
}

TEST_F(fifo, x2_rings_full_of_noise)
{
	struct inj *f = &self->a.inj;
	unsigned int seed = 12345, i, round;
	struct bgdma_desc nop = d_nop();

	fill(self->b.mem.p, PAIR_BYTES, 2);
	for (round = 0; round < 3000; round++) {
		struct bgdma_desc d;
		unsigned char *p = (unsigned char *)&d;

		for (i = 0; i < sizeof(d); i++) {
			seed = seed * 1103515245 + 12345;
			p[i] = (unsigned char)(seed >> 16);
		}
		d.op %= BGDMA_OP_COUNT + 1;
		if (d.op == BGDMA_OP_NOP)
			continue;
		/* No handle of ours is ever hit by chance. */
		ASSERT_NE(BGDMA_OK, run_bad(f, &d));
	}
	EXPECT_TRUE(filled(self->b.mem.p, PAIR_BYTES, 2));
	EXPECT_EQ(BGDMA_OK, run(f, &nop));
}

TEST_F(fifo, doorbell_bits_of_fifos_that_are_not_there)
{
	struct end *a = &self->a;
	struct bgdma_desc nop = d_nop();

	memset(a->n.uctl->doorbell, 0xff, sizeof(a->n.uctl->doorbell));
	store(&a->n.uctl->doorbell_rec, ~0ULL);
	EXPECT_EQ(0, doorbell(&a->n, 0));
	memset(a->n.uctl->doorbell, 0xff, sizeof(a->n.uctl->doorbell));
	EXPECT_EQ(0, doorbell(&a->n, BGDMA_DOORBELL_POOL));
	EXPECT_EQ(BGDMA_OK, run(&a->inj, &nop));
}

TEST_HARNESS_MAIN
