/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where each node lives, and how to get there: made by ways.c under ether.lock,
 * looked at by way.c under RCU, also in softirq.
 */
#ifndef _BGDMA_WAY_H
#define _BGDMA_WAY_H

#include "link.h"

/* No owner is known. */
#define BGDMA_OWNER_NONE	0xffff
/* Destinations that somebody waits for. */
#define BGDMA_WANTS		64

/**
 * struct bgdma_owner - a kernel
 * @entry: of ether.kernels; only while the ways are made
 * @peer: the best one that leads there, if it is next to us
 * @kernel: its number
 * @next: first of those that it reaches, in bgdma_ways.next
 * @n_next: so many, in order
 */
struct bgdma_owner {
	struct bgdma_kernel *entry;
	struct bgdma_peer *peer;
	u64 kernel;
	u32 next;
	u32 n_next;
};

/**
 * struct bgdma_far - how far all nodes are from one
 * @rcu: freed after a grace period
 * @used: last, in jiffies
 * @distance: by rank
 */
struct bgdma_far {
	struct rcu_head rcu;
	unsigned long used;
	u16 distance[];
};

/**
 * struct bgdma_ways - where each node lives, and how to get there
 * @rcu: freed after a grace period
 * @ref: the ether's, and of who counts out distances
 * @shape: of the partition
 * @size: nodes
 * @closed: a way somewhere is
 * @n_owners: kernels
 * @owner: we first
 * @n_runs: so many
 * @run: in order
 * @next: see struct bgdma_owner
 * @home: owners by rank; NULL in partitions of more than BGDMA_ROUTE_NODES_MAX
 * @far: struct bgdma_far by destination
 * @n_far: so many
 * @want: destination + 1 that is to be there soon
 * @made: some of them; only who makes them looks at it
 * @making_first: none was, and one is being made
 */
struct bgdma_ways {
	struct rcu_head rcu;
	refcount_t ref;
	struct bgdma_shape shape;
	u32 size;
	bool closed;
	u32 n_owners;
	struct bgdma_owner *owner;
	u32 n_runs;
	struct bgdma_way_run *run;
	u16 *next;
	u16 *home;
	struct xarray far;
	u32 n_far;
	u32 want[BGDMA_WANTS];
	bool made;
	bool making_first;
};

bool bgdma_way_joins(const struct bgdma_ways *ways, u32 rank, u32 next);
bool bgdma_way_open(void *arg, u32 rank, unsigned int direction);

#endif /* _BGDMA_WAY_H */
