/* SPDX-License-Identifier: GPL-2.0 */
/* Processes that attached contexts, and how they end. */
#ifndef _BGDMA_PROCESS_H
#define _BGDMA_PROCESS_H

#include "../bgdma.h"

int bgdma_process_init(void);
void bgdma_process_exit(void);
int bgdma_process_join(struct bgdma_ctx *ctx);
void bgdma_process_leave(struct bgdma_ctx *ctx);
void bgdma_process_dies(struct bgdma_ctx *ctx);
void bgdma_process_again(struct bgdma_ctx *ctx);

#endif /* _BGDMA_PROCESS_H */
