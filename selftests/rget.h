/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the tests of remote gets share. After kselftest_harness.h.
 */
#ifndef BGDMA_SELFTESTS_RGET_H
#define BGDMA_SELFTESTS_RGET_H

#include <string.h>

#include "utils.h"

/* a sends descriptors to b's queue; c is a bystander at rank 2. */
FIXTURE(rget) {
	struct end a, b, c;
};

FIXTURE_SETUP(rget)
{
	pair_new(&self->a, &self->b);
	end_new(&self->c, 2);
}

FIXTURE_TEARDOWN(rget)
{
	node_close(&self->c.n);
	node_close(&self->b.n);
	node_close(&self->a.n);
}

/* Descriptors lie at the end of the sender's memory. */
#define DESCS_AT	(PAIR_BYTES - BGDMA_RGET_DESC_MAX * 64)

static inline int send_to(struct end *from, __u32 rank, __u32 queue,
			  const struct bgdma_desc *descs, unsigned int n)
{
	struct bgdma_desc d = d_rget(rank, queue, from->mem.handle, DESCS_AT,
				     n);

	memcpy(from->mem.p + DESCS_AT, descs, n * sizeof(*descs));
	return run_bad(&from->inj, &d);
}

/* A number from b's engine into b's own reception FIFO. */
static inline struct bgdma_desc local_number(struct end *at, __u32 number)
{
	struct bgdma_desc d = d_number(0, &at->rec, number);

	d.op = BGDMA_OP_LOCAL_MEMFIFO;
	return d;
}

#endif /* BGDMA_SELFTESTS_RGET_H */
