/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Ways to move bytes from one process to another, or within one, that are
 * measured side by side: A, on processor 0 and node 0, sends, B, on processor 1
 * and node 1, receives.
 */
#ifndef BGDMA_PERF_OPERATIONS_H
#define BGDMA_PERF_OPERATIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "perf.h"

#define WORD		8U		/* bytes of a small message */
#define MEMORY		(4UL << 20)	/* of source and target, at each side */
#define MANY		4096U		/* messages at a time, at most */

/*
 * One way. Where B has no part, as its memory is read, or as all stays in A,
 * pong and sink are NULL, and ping means one transfer that has come.
 */
struct method {
	const char *name;
	size_t largest;			/* message; 0: any */
	bool together;			/* a ping is what both do, no round trip */
	char **landing;			/* where a stream goes; NULL: nowhere */
	void (*prepare)(size_t bytes);	/* B, before A may send; or NULL */
	void (*ping)(unsigned int n);
	void (*pong)(unsigned int n);
	/* n messages of size bytes, and what tells A that all have come */
	void (*stream)(unsigned int n, size_t size);
	void (*sink)(unsigned int n, size_t size);
};

/* What A and B tell each other before they begin. */
struct names {
	pid_t pid;
	char *source;
	uint32_t source_handle, target_handle, word_handle, arrived;
	uint32_t incarnation;
	uint16_t ctx, fifo, queue;
};

/* The side that this process is, and what it knows of the other. */
extern char *op_source, *op_target;
/* So many messages of a stream share a doorbell, where there are doorbells. */
extern unsigned int op_batch;
extern struct names op_peer;

extern const struct method device_methods[], peer_methods[], link_method;
extern const size_t n_device_methods, n_peer_methods;

/* Before the processes part: what both have to see. */
void peers_open(void);

/* After: rank is 0 or 1; fills in names of the device's own objects. */
void device_open(uint32_t rank, struct names *mine);
/* When op_peer is known; what both do together not before both have. */
void device_join(void);

/* Where message i of a stream is, at both ends. */
static inline size_t place(unsigned int i, size_t size)
{
	return i * size % MEMORY;
}

#endif /* BGDMA_PERF_OPERATIONS_H */
