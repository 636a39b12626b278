/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * libbgdma: everything but the helpers for io_uring (<bgdma/uring.h>).
 */
#ifndef BGDMA_BGDMA_H
#define BGDMA_BGDMA_H

#include <bgdma/coll.h>
#include <bgdma/collective.h>
#include <bgdma/job.h>
#include <bgdma/msg.h>
#include <bgdma/network.h>
#include <bgdma/rendezvous.h>
#include <bgdma/rma.h>
#include <bgdma/spi.h>
#include <bgdma/sum.h>
#include <bgdma/sys.h>

#endif /* BGDMA_BGDMA_H */
