/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the tests of gates share: a and c begin epochs at a region of b's. After
 * kselftest_harness.h.
 */
#ifndef BGDMA_SELFTESTS_GATE_H
#define BGDMA_SELFTESTS_GATE_H

#include <endian.h>

#include "utils.h"

#define EXCLUSIVE	BGDMA_DESC_EXCLUSIVE
#define HOLD		BGDMA_DESC_HOLD

static inline void gate_new(struct end *a, struct end *b, struct end *c)
{
	pair_new(a, b);
	end_new(c, 2);
	must(grant(&b->n, BGDMA_KIND_REGION, b->mem.handle, BGDMA_RANK_ANY,
		   BGDMA_RIGHT_EPOCH));
	must(gate(&b->n, b->mem.handle, 0, 0));
}

FIXTURE(gate) {
	struct end a, b, c;
};

FIXTURE_SETUP(gate)
{
	gate_new(&self->a, &self->b, &self->c);
}

FIXTURE_TEARDOWN(gate)
{
	node_close(&self->c.n);
	node_close(&self->b.n);
	node_close(&self->a.n);
}

/* BEGIN of an end at b's region; its counter is at 1 until it has it. */
static inline int begin(struct end *e, struct end *b, __u32 epoch, __u8 flags)
{
	struct bgdma_desc d = d_gate(1, BGDMA_OP_EPOCH_BEGIN, b->mem.handle,
				     epoch, e->ic);
	int ret;

	d.flags = flags;
	hit_clear(&e->n, INJ, e->ic);
	counter_add(&e->n, INJ, e->ic, 1);
	ret = run_bad(&e->inj, &d);
	if (ret)
		must(clear_error(&e->n, INJ, BGDMA_HANDLE_SLOT(e->ic), 0));
	return ret;
}

static inline bool has(struct end *e)
{
	return until(!value(&e->n, INJ, e->ic));
}

static inline bool has_not(struct end *e)
{
	return value(&e->n, INJ, e->ic) == 1;
}

static inline int end_epoch(struct end *e, struct end *b, __u32 epoch)
{
	struct bgdma_desc d = d_gate(1, BGDMA_OP_EPOCH_END, b->mem.handle,
				     epoch, BGDMA_NONE);

	return run_bad(&e->inj, &d);
}

static inline int close_epoch(struct end *e, struct end *b, __u32 epoch,
			      __u64 puts)
{
	struct bgdma_desc d = d_gate(1, BGDMA_OP_EPOCH_CLOSE, b->mem.handle,
				     epoch, e->ic);

	d.cookie = htole64(puts);
	hit_clear(&e->n, INJ, e->ic);
	counter_add(&e->n, INJ, e->ic, 1);
	return run_bad(&e->inj, &d);
}

static inline struct bgdma_desc put_of(struct end *e, struct end *b,
				       __u32 epoch)
{
	struct bgdma_desc d = d_put(1, e->mem.handle, 0, b->mem.handle, 4096,
				    64);

	d.epoch = htole32(epoch);
	return d;
}

static inline int put(struct end *e, struct end *b, __u32 epoch)
{
	struct bgdma_desc d = put_of(e, b, epoch);

	return run_bad(&e->inj, &d);
}

static inline struct bgdma_epoch first(struct end *b)
{
	struct bgdma_epoch e = { .state = 99 };

	must(epochs(&b->n, b->mem.handle, &e, 1));
	return e;
}

#endif /* BGDMA_SELFTESTS_GATE_H */
