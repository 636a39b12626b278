/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What attackers know of their victim, and he of them. His nodes are 0 and 1,
 * theirs 2 and 3.
 */
#ifndef BGDMA_PERF_ATTACK_H
#define BGDMA_PERF_ATTACK_H

#include <stddef.h>
#include <stdint.h>

#include <bgdma/bgdma.h>

#define LONG		(1U << 20)
#define ATTACK_RANK	2

/* At node 0, for whom they are open or not. */
struct door {
	uint16_t ctx;
	uint16_t granted, closed;	/* remote-get queues */
	uint32_t memory;		/* LONG bytes that may be read */
};

struct attacker {
	const char *name;
	void (*run)(void);		/* never returns; NULL: nobody */
	enum bgdma_code refused;	/* of it by the granted queue */
};

extern struct door door;
extern const struct attacker attackers[];
extern const size_t n_attackers;

#endif /* BGDMA_PERF_ATTACK_H */
