/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * What a module calls of the application's outside of callbacks, as in them.
 */
#ifndef BGDMA_INSIDE_H
#define BGDMA_INSIDE_H

#include <stdbool.h>

struct bgdma_endpoint;

/*
 * With the lock: whether what is called from now on is in a callback, where progress
 * does nothing and waits are refused. Returns what was, to be put back.
 */
bool endpoint_inside(struct bgdma_endpoint *ep, bool inside);

#endif /* BGDMA_INSIDE_H */
