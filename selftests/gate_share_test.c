// SPDX-License-Identifier: GPL-2.0
/*
 * A gate that several regions share: epochs are begun at the one that it was made
 * for, and are of all (EP-1, EP-3, EP-5).
 */
#include <stddef.h>
#include <string.h>

#include "kselftest_harness.h"
#include "gate.h"

FIXTURE(shared_gate) {
	struct end a, b, c;
	struct region more;	/* of b's, behind the gate of its first */
};

FIXTURE_SETUP(shared_gate)
{
	gate_new(&self->a, &self->b, &self->c);
	region_new(&self->more, &self->b.n, 8192);
	must(grant(&self->b.n, BGDMA_KIND_REGION, self->more.handle,
		   BGDMA_RANK_ANY, BGDMA_RIGHT_WRITE | BGDMA_RIGHT_READ |
		   BGDMA_RIGHT_ATOMIC | BGDMA_RIGHT_EPOCH));
	must(gate_with(&self->b.n, self->more.handle, self->b.mem.handle));
}

FIXTURE_TEARDOWN(shared_gate)
{
	node_close(&self->c.n);
	node_close(&self->b.n);
	node_close(&self->a.n);
}

static int put_to(struct end *e, __u32 region, __u32 epoch)
{
	struct bgdma_desc d = d_put(1, e->mem.handle, 0, region, 0, 64);

	d.epoch = htole32(epoch);
	return run_bad(&e->inj, &d);
}

TEST_F(shared_gate, ep1_an_epoch_keeps_others_out_of_all)
{
	struct end *a = &self->a, *b = &self->b, *c = &self->c;
	struct bgdma_desc d;

	EXPECT_EQ(BGDMA_OK, put_to(a, self->more.handle, 0));
	ASSERT_EQ(BGDMA_OK, begin(c, b, 1, EXCLUSIVE));
	ASSERT_TRUE(has(c));
	memset(self->more.p, 0, 64);
	fill(a->mem.p, 64, 1);
	EXPECT_EQ(BGDMA_E_EPOCH_HELD, put_to(a, self->more.handle, 0));
	EXPECT_EQ(BGDMA_E_EPOCH_CLOSED, put_to(a, self->more.handle, 1));
	EXPECT_EQ(0, self->more.p[0]);
	EXPECT_EQ(BGDMA_OK, put_to(c, self->more.handle, 0));
	/* What waits comes when it is over. */
	d = d_put(1, a->mem.handle, 0, self->more.handle, 0, 64);
	d.flags = HOLD;
	put_in(&a->inj, &d);
	post(&a->inj);
	EXPECT_TRUE(until(load(&a->inj.kern->state) == BGDMA_FIFO_BLOCKED));
	EXPECT_EQ(BGDMA_OK, end_epoch(c, b, 1));
	EXPECT_TRUE(until(!memcmp(self->more.p, a->mem.p, 64)));
}

TEST_F(shared_gate, ep3_ep5_puts_to_all_of_them_count)
{
	struct end *a = &self->a, *b = &self->b;
	struct bgdma_epoch e;

	ASSERT_EQ(BGDMA_OK, begin(a, b, 1, 0));
	ASSERT_TRUE(has(a));
	EXPECT_EQ(BGDMA_OK, put_to(a, self->more.handle, 1));
	EXPECT_EQ(BGDMA_OK, close_epoch(a, b, 1, 2));
	EXPECT_EQ(1, epochs(&b->n, self->more.handle, &e, 1));
	EXPECT_EQ(BGDMA_EPOCH_CLOSING, e.state);
	EXPECT_EQ(1, e.got);
	EXPECT_TRUE(has_not(a));
	EXPECT_EQ(BGDMA_OK, put_to(a, b->mem.handle, 1));
	EXPECT_TRUE(has(a));
	EXPECT_EQ(BGDMA_E_EPOCH_COUNT, put_to(a, self->more.handle, 1));
	EXPECT_EQ(BGDMA_OK, end_epoch(a, b, 1));
	EXPECT_EQ(0, epochs(&b->n, b->mem.handle, &e, 1));
}

/* Rights at the region that it was made for decide, and are looked at again. */
TEST_F(shared_gate, x2_epochs_begin_at_the_one_it_was_made_for)
{
	struct end *a = &self->a;
	struct bgdma_desc d = d_gate(1, BGDMA_OP_EPOCH_BEGIN, self->more.handle,
				     1, BGDMA_NONE);

	EXPECT_EQ(BGDMA_E_RIGHTS, run_bad(&a->inj, &d));
	EXPECT_EQ(0, epochs(&self->b.n, self->b.mem.handle, NULL, 0));
}

TEST_F(shared_gate, x2_bad_calls)
{
	struct end *b = &self->b;
	struct bgdma_gate c = { .size = sizeof(c) };
	struct region other;

	region_new(&other, &b->n, 4096);
	EXPECT_EQ(-EEXIST, gate_with(&b->n, self->more.handle, b->mem.handle));
	EXPECT_EQ(-ENOENT, gate_with(&b->n, other.handle, other.handle));
	EXPECT_EQ(-ENOENT, gate_with(&b->n, other.handle, self->more.handle));
	EXPECT_EQ(-ENOENT, gate_with(&b->n, other.handle, BGDMA_NONE));
	EXPECT_EQ(-ENOENT, gate_with(&b->n, BGDMA_NONE, b->mem.handle));
	c.region = other.handle;
	c.with = b->mem.handle;
	c.epochs = 1;
	EXPECT_EQ(-EINVAL, bg_ioctl(b->n.fd, BGDMA_IOC_GATE, &c));
	c.epochs = 0;
	c.flags = BGDMA_GATE_ASK;
	EXPECT_EQ(-EINVAL, bg_ioctl(b->n.fd, BGDMA_IOC_GATE, &c));
	c.flags = 0;
	c.resv = 1;
	EXPECT_EQ(-EINVAL, bg_ioctl(b->n.fd, BGDMA_IOC_GATE, &c));
	/* Who was built before it could be shared has an own one. */
	c.size = offsetof(struct bgdma_gate, with);
	EXPECT_EQ(0, bg_ioctl(b->n.fd, BGDMA_IOC_GATE, &c));
	EXPECT_EQ(0, epochs(&b->n, other.handle, NULL, 0));
}

/* The others go first; then the gate has all that it had. */
TEST_F(shared_gate, a_region_that_shares_it_is_freed)
{
	struct end *a = &self->a, *b = &self->b;

	ASSERT_EQ(BGDMA_OK, begin(a, b, 1, EXCLUSIVE));
	ASSERT_TRUE(has(a));
	EXPECT_EQ(BGDMA_OK, put_to(a, self->more.handle, 1));
	EXPECT_EQ(0, region_free(&b->n, self->more.handle));
	EXPECT_EQ(BGDMA_E_REGION, put_to(a, self->more.handle, 1));
	EXPECT_EQ(BGDMA_OK, put_to(a, b->mem.handle, 1));
	EXPECT_EQ(BGDMA_OK, close_epoch(a, b, 1, 2));
	EXPECT_TRUE(has(a));
	EXPECT_EQ(BGDMA_OK, end_epoch(a, b, 1));
}

/* The gate's own goes first: who is in an epoch, or waits, is told. */
TEST_F(shared_gate, x3_the_region_it_was_made_for_is_freed)
{
	struct end *a = &self->a, *b = &self->b, *c = &self->c;
	struct bgdma_desc d;

	ASSERT_EQ(BGDMA_OK, begin(a, b, 1, EXCLUSIVE));
	ASSERT_TRUE(has(a));
	EXPECT_EQ(BGDMA_OK, close_epoch(a, b, 1, 1));
	d = d_put(1, c->mem.handle, 0, self->more.handle, 0, 64);
	d.flags = HOLD;
	put_in(&c->inj, &d);
	post(&c->inj);
	EXPECT_TRUE(until(load(&c->inj.kern->state) == BGDMA_FIFO_BLOCKED));
	EXPECT_EQ(0, region_free(&b->n, b->mem.handle));
	/* The close of a's, and the transfer of c's. */
	EXPECT_TRUE(until(counter_record(&a->n, INJ, a->ic)->code ==
			  BGDMA_E_REGION));
	EXPECT_TRUE(until(load(&c->inj.kern->state) == BGDMA_FIFO_ERROR));
	EXPECT_EQ(BGDMA_E_REGION, put_to(a, self->more.handle, 1));
	EXPECT_EQ(0, epochs(&b->n, self->more.handle, NULL, 0));
	EXPECT_EQ(-ENOENT, epoch_allow(&b->n, self->more.handle, 0,
				       a->n.at.incarnation, 1));
	EXPECT_EQ(0, region_free(&b->n, self->more.handle));
}

TEST_HARNESS_MAIN
