// SPDX-License-Identifier: GPL-2.0
/*
 * Room in remote-get queues: who waits for it, and who is told that there is none.
 */
#include "kselftest_harness.h"
#include "rget.h"

#define FULL_MS	200	/* long against nothing: it has to run out */

/* A queue of b whose only sub-queue a has blocked by its own full FIFO. */
static __u32 blocked_queue(struct end *a, struct end *b, __u32 timeout_ms,
			   __u32 senders)
{
	struct bgdma_desc d[16];
	__u32 q, i;

	must(rgq_try(&b->n, 16, senders, timeout_ms, &q));
	must(grant(&b->n, BGDMA_KIND_RGET_QUEUE, q, BGDMA_RANK_ANY,
		   BGDMA_RIGHT_INJECT));
	d[0] = d_memfifo(0, a->rec.id, b->mem.handle, 0, PAIR_BYTES);
	for (i = 1; i < 16; i++)
		d[i] = local_number(b, i);
	/* Over links the engine would be done with the first, and go on. */
	d[1].flags |= BGDMA_DESC_FENCE;
	must(send_to(a, 1, q, d, 16));
	must(until(load(&a->rec.kern->starved)) ? 0 : -ETIME);
	return q;
}

static void unblock(struct end *a)
{
	__u32 got = 0;

	while (got < PAIR_BYTES) {
		got += packet_wait(&a->rec)->bytes;
		packet_drop(&a->rec);
	}
}

TEST_F(rget, dma8_queue_full)
{
	struct end *a = &self->a, *b = &self->b, *c = &self->c;
	struct bgdma_desc d[16];
	__u32 q = blocked_queue(a, b, FULL_MS, 2), i;
	__u64 begin;

	for (i = 0; i < 16; i++)
		d[i] = local_number(b, 100 + i);
	/* One slot is free; sixteen are not. Each waits as long. */
	for (i = 0; i < 3; i++) {
		begin = now_ns();
		EXPECT_EQ(BGDMA_E_RGET_FULL, send_to(a, 1, q, d, 16));
		EXPECT_LE(FULL_MS * 900000ULL, now_ns() - begin);
	}
	/* Another sender has room of its own. */
	d[0] = local_number(b, 1000);
	EXPECT_EQ(BGDMA_OK, send_to(c, 1, q, d, 1));
	EXPECT_EQ(1000, number_wait(&b->rec));
	unblock(a);
	for (i = 1; i < 16; i++)
		EXPECT_EQ(i, number_wait(&b->rec));
}

TEST_F(rget, dma8_no_sub_queue_is_left)
{
	struct end *a = &self->a, *b = &self->b, *c = &self->c;
	struct bgdma_desc d = local_number(b, 1000);
	__u32 q = blocked_queue(a, b, FULL_MS, 1), i;

	EXPECT_EQ(BGDMA_E_RGET_FULL, send_to(c, 1, q, &d, 1));
	unblock(a);
	for (i = 1; i < 16; i++)
		EXPECT_EQ(i, number_wait(&b->rec));
	/* Now it is idle, and goes to the other. */
	EXPECT_EQ(BGDMA_OK, send_to(c, 1, q, &d, 1));
	EXPECT_EQ(1000, number_wait(&b->rec));
}

/* Also to who waited for it, when its last descriptor has begun long ago. */
TEST_F(rget, dma3_waits_for_the_sub_queue_of_another)
{
	struct end *a = &self->a, *b = &self->b, *c = &self->c;
	struct bgdma_desc d, number = local_number(b, 1000);
	__u64 seq;
	__u32 q;

	must(rgq_try(&b->n, 16, 1, 60000, &q));
	must(grant(&b->n, BGDMA_KIND_RGET_QUEUE, q, BGDMA_RANK_ANY,
		   BGDMA_RIGHT_INJECT));
	d = d_memfifo(0, a->rec.id, b->mem.handle, 0, PAIR_BYTES);
	ASSERT_EQ(BGDMA_OK, send_to(a, 1, q, &d, 1));
	ASSERT_TRUE(until(load(&a->rec.kern->starved)));
	memcpy(c->mem.p, &number, sizeof(number));
	d = d_rget(1, q, c->mem.handle, 0, 1);
	seq = inject(&c->inj, &d);
	ASSERT_TRUE(until(load(&c->inj.kern->state) == BGDMA_FIFO_BLOCKED));
	unblock(a);
	EXPECT_EQ(1000, number_wait(&b->rec));
	EXPECT_EQ(BGDMA_OK, outcome(&c->inj, seq));
}

/* In kB. */
static long kernel_memory(void)
{
	FILE *f = fopen("/proc/meminfo", "r");
	char line[128];
	long kb = 0;

	must(f ? 0 : -errno);
	while (fgets(line, sizeof(line), f) &&
	       !sscanf(line, "SUnreclaim: %ld", &kb))
		;
	fclose(f);
	return kb;
}

/* What is kept ready to tell one is good for the other. */
TEST_F(rget, x2_senders_that_take_turns_take_no_memory)
{
	unsigned int rounds = 6000 / slowness(), i;
	struct end *b = &self->b;
	long before = 0;
	__u32 q;

	/* Who waits for the other's end does not wait so long. */
	must(rgq_try(&b->n, 16, 1, 60000, &q));
	must(grant(&b->n, BGDMA_KIND_RGET_QUEUE, q, BGDMA_RANK_ANY,
		   BGDMA_RIGHT_INJECT));
	for (i = 0; i < rounds; i++) {
		struct bgdma_desc d = local_number(b, i);

		/* What all of this takes once. */
		if (i == rounds / 10)
			before = kernel_memory();
		ASSERT_EQ(BGDMA_OK, send_to(i % 2 ? &self->a : &self->c, 1, q,
					    &d, 1));
		ASSERT_EQ(i, number_wait(&b->rec));
	}
	/* A frame each would be a kilobyte and more. */
	EXPECT_GT(rounds / 3, kernel_memory() - before);
}

TEST_F(rget, dma3_waits_for_room)
{
	struct end *a = &self->a, *b = &self->b;
	__u32 q = blocked_queue(a, b, 60000, 1), i;
	struct bgdma_desc d;
	__u64 seq;

	for (i = 0; i < 16; i++) {
		d = local_number(b, 16 + i);
		memcpy(a->mem.p + 64UL * i, &d, sizeof(d));
	}
	d = d_rget(1, q, a->mem.handle, 0, 16);
	seq = inject(&a->inj, &d);
	ASSERT_TRUE(until(load(&a->inj.kern->state) == BGDMA_FIFO_BLOCKED));
	unblock(a);
	EXPECT_EQ(BGDMA_OK, outcome(&a->inj, seq));
	for (i = 1; i < 32; i++)
		EXPECT_EQ(i, number_wait(&b->rec));
}

TEST_F(rget, x2_destroyed_with_descriptors_and_waiters)
{
	struct end *a = &self->a, *b = &self->b;
	__u32 q = blocked_queue(a, b, 60000, 1);
	struct bgdma_desc d[16];
	__u64 seq;
	int i;

	for (i = 0; i < 16; i++)
		d[i] = d_nop();
	memcpy(a->mem.p, d, sizeof(d));
	d[0] = d_rget(1, q, a->mem.handle, 0, 16);
	seq = inject(&a->inj, &d[0]);
	ASSERT_TRUE(until(load(&a->inj.kern->state) == BGDMA_FIFO_BLOCKED));
	EXPECT_EQ(0, fifo_destroy(&b->n, BGDMA_KIND_RGET_QUEUE, q));
	EXPECT_EQ(BGDMA_E_FIFO, outcome(&a->inj, seq));
	EXPECT_EQ(NULL, packet(&b->rec));
}

TEST_F(rget, x2_ring_of_waiting_queues_ends_in_an_error)
{
	struct end *e[2] = { &self->a, &self->b };
	__u32 q[2], i, j;
	struct bgdma_desc d;

	/*
	 * Each node's queue is full of remote gets to the other's queue,
	 * which fetch more of the same: nobody can go on, until time is up.
	 */
	for (i = 0; i < 2; i++) {
		must(rgq_try(&e[i]->n, 16, 2, FULL_MS, &q[i]));
		must(grant(&e[i]->n, BGDMA_KIND_RGET_QUEUE, q[i],
			   BGDMA_RANK_ANY, BGDMA_RIGHT_INJECT));
		must(grant(&e[i]->n, BGDMA_KIND_REGION, e[i]->mem.handle,
			   BGDMA_RANK_ANY, BGDMA_RIGHT_FETCH));
	}
	for (i = 0; i < 2; i++) {
		for (j = 0; j < 16; j++) {
			/* In the memory of the one that executes it. */
			d = d_rget(i, q[i], e[!i]->mem.handle, 0, 16);
			memcpy(e[i]->mem.p + 64UL * j, &d, sizeof(d));
		}
	}
	for (i = 0; i < 2; i++) {
		d = d_rget(!i, q[!i], e[i]->mem.handle, 0, 16);
		inject(&e[i]->inj, &d);
	}
	/* The first whose time is up frees the other; both nodes are told. */
	for (i = 0; i < 2; i++) {
		ASSERT_TRUE(until(load(&e[i]->n.kctl->events_tail)));
		EXPECT_EQ(BGDMA_E_RGET_FULL, e[i]->n.events[0].code);
	}
	/* The engine is free for others. */
	d = d_number(0, &self->a.rec, 5);
	EXPECT_EQ(BGDMA_OK, run(&self->c.inj, &d));
	EXPECT_EQ(5, number_wait(&self->a.rec));
}

TEST_HARNESS_MAIN
