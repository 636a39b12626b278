/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * libbgdma, spi layer: one context of one node, with its FIFOs, counters and
 * regions. It adds no protocol: what a descriptor says is what happens.
 *
 * Rules that hold for every function of this layer:
 *
 * - A function that can fail returns 0 (or a count) or a negative errno; no
 *   result goes through errno. The library prints nothing and has no global
 *   state.
 * - -EAGAIN means full or empty and nothing else, -ETIMEDOUT that the time
 *   given to a wait is over, -EINTR that a signal handler ran.
 * - Options come in a structure that ends in _attr, for designated
 *   initialisers: what is not named is 0, and 0 is the default. They grow at
 *   their ends only.
 * - Every call on a context that is not said to be part of the data path may
 *   be made from any thread at any time. A FIFO is used by one thread at a
 *   time: an injection FIFO by one producer, a reception FIFO by one consumer.
 *   A counter may be used from any thread.
 * - bgdma_detach() frees everything that belongs to the context. A handle that
 *   was freed, by that or by its own call, must not be used again.
 * - A context is not inherited by fork(): in the child only bgdma_detach() may
 *   be called on it.
 * - Identifiers like DMA-4 name the requirement that a function fulfils.
 */
#ifndef BGDMA_SPI_H
#define BGDMA_SPI_H

#include <bgdma/atomic.h>
#include <bgdma/types.h>
#include <bgdma/context.h>
#include <bgdma/region.h>
#include <bgdma/counter.h>
#include <bgdma/desc.h>
#include <bgdma/inject.h>
#include <bgdma/gate.h>
#include <bgdma/group.h>
#include <bgdma/tree.h>
#include <bgdma/receive.h>
#include <bgdma/rget.h>
#include <bgdma/wait.h>
#include <bgdma/event.h>
#include <bgdma/error.h>

#endif /* BGDMA_SPI_H */
