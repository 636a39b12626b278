/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The fixture that most tests have: two nodes a and b of a partition of four,
 * ranks 0 and 1, with one of everything each. After kselftest_harness.h.
 */
#ifndef BGDMA_SELFTESTS_PAIR_H
#define BGDMA_SELFTESTS_PAIR_H

#include "utils.h"

#define FIXTURE_PAIR(name)						\
FIXTURE(name) {								\
	struct end a, b;						\
};									\
									\
FIXTURE_SETUP(name)							\
{									\
	pair_new(&self->a, &self->b);					\
}									\
									\
FIXTURE_TEARDOWN(name)							\
{									\
	node_close(&self->b.n);						\
	node_close(&self->a.n);						\
}

#endif /* BGDMA_SELFTESTS_PAIR_H */
