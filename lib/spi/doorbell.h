/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
#ifndef BGDMA_DOORBELL_H
#define BGDMA_DOORBELL_H

#include <bgdma/context.h>

/*
 * Before waiting, and where there is nothing else to do: ring a doorbell again that could
 * not be rung, though what it is for is in the ring. Return: 0; as bgdma_doorbell().
 */
int ctx_ring_again(struct bgdma_ctx *ctx);

#endif /* BGDMA_DOORBELL_H */
