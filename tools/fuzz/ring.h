/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Between the halves of the target "ring": an injection FIFO with the library on
 * one side and the engine on the other.
 */
#ifndef FUZZ_RING_H
#define FUZZ_RING_H

#include <linux/bgdma.h>
#include <stdbool.h>
#include <stdint.h>

struct ring_fifo {
	struct bgdma_inj_user user;
	struct bgdma_inj_kern kern;
	struct bgdma_desc *ring;
};

/* Descriptors of fetched transfers that control calls ended. */
extern unsigned int ring_cancelled;

/* bgdma_inj_create(); false: it refused. */
bool ring_begin(struct ring_fifo *fifo, uint32_t entries);
void ring_end(void);

/*
 * bgdma_inj_fetch(): 1: a descriptor, which is under way until ring_done(); 0:
 * none; negative: the tail is impossible.
 */
int ring_fetch(struct bgdma_desc *out, uint64_t *seq);

/* bgdma_train_next(): the next one, if it begins as this one does. */
bool ring_train(struct bgdma_desc *out, uint64_t *seq);

void ring_done(void);
int ring_cancel(uint64_t first, uint64_t last, uint32_t *cancelled);
void ring_clear(bool flush);

#endif /* FUZZ_RING_H */
