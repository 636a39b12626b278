// SPDX-License-Identifier: GPL-2.0
/*
 * What a doorbell does in its caller: the streams of its own context, and what
 * these put into remote-get queues, if it is little (DMA-6).
 */
#include <endian.h>
#include <string.h>

#include "kselftest_harness.h"
#include "utils.h"

#define GETS	15	/* more than follow one doorbell */

FIXTURE(doorbell) {
	struct end a, b;
};

FIXTURE_SETUP(doorbell)
{
	pair_new(&self->a, &self->b);
	/* Nobody but who rings looks at doorbells. */
	must(-partition("set", PARTITION, "poll-ns 0"));
}

FIXTURE_TEARDOWN(doorbell)
{
	node_close(&self->b.n);
	node_close(&self->a.n);
}

/* A get of b's first bytes, by a descriptor at @at of a's memory. */
static struct bgdma_desc get(struct end *a, struct end *b, __u32 bytes, __u64 at)
{
	struct bgdma_desc d = d_put(0, b->mem.handle, 0, a->mem.handle, 0,
				    bytes);

	memcpy(a->mem.p + at, &d, sizeof(d));
	return d_rget(1, b->rgq, a->mem.handle, at, 1);
}

TEST_F(doorbell, dma6_short_gets_are_done_in_the_call)
{
	struct end *a = &self->a, *b = &self->b;
	struct bgdma_desc d = get(a, b, 3000, 4096);
	unsigned int i;

	if (!access("/sys/kernel/realtime", F_OK))
		SKIP(return, "on PREEMPT_RT threads do them");
	for (i = 0; i < 100; i++) {
		fill(b->mem.p, 3000, i);
		put_in(&a->inj, &d);
		post(&a->inj);
		ASSERT_TRUE(filled(a->mem.p, 3000, i));
	}
}

/* What is more than that is done as well, by threads. */
TEST_F(doorbell, dma6_long_gets_and_many_are_done_after_it)
{
	struct end *a = &self->a, *b = &self->b;
	const __u32 bytes = 32 * KIB;
	struct bgdma_desc d[GETS];
	unsigned int i, round;

	for (round = 0; round < 20; round++) {
		fill(b->mem.p, bytes, round);
		counter_add(&a->n, REC, a->rc, GETS * bytes);
		for (i = 0; i < GETS; i++) {
			d[i] = d_put(0, b->mem.handle, 0, a->mem.handle, 0,
				     bytes);
			d[i].rec_ctr = htole32(a->rc);
			memcpy(a->mem.p + bytes + i * sizeof(d[i]), &d[i],
			       sizeof(d[i]));
			d[i] = d_rget(1, b->rgq, a->mem.handle,
				      bytes + i * sizeof(d[i]), 1);
			put_in(&a->inj, &d[i]);
		}
		post(&a->inj);
		ASSERT_TRUE(until(!value(&a->n, REC, a->rc)));
		ASSERT_TRUE(filled(a->mem.p, bytes, round));
	}
}

TEST_HARNESS_MAIN
