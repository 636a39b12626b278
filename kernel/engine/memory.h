/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Regions: engine/region.c. Part of bgdma.h, which has the lock order; not to be
 * included by itself.
 */
#ifndef _BGDMA_MEMORY_H
#define _BGDMA_MEMORY_H

struct bgdma_region_gate;

/**
 * struct bgdma_region - registered memory
 * @busy: transfers that touch its pages right now
 * @grants: what peers may do to it
 * @gate: who keeps others out of it; NULL: it never has epochs
 * @at: where its pages are, in order; they are pinned, or @mem's. Never in high
 *	memory: we depend on 64 bit
 * @nr_pages: so many
 * @length: bytes
 * @page_off: of its first byte in the first page
 * @handle: slot and generation
 * @rights: BGDMA_LOCAL_*
 * @user: whose locked_vm is charged; NULL for driver memory
 * @mem: driver memory
 * @rcu: looked up under RCU
 */
struct bgdma_region {
	struct bgdma_busy busy;
	struct bgdma_grants __rcu *grants;
	struct bgdma_region_gate *gate;
	void **at;
	unsigned long nr_pages;
	u64 length;
	u32 page_off;
	u32 handle;
	u32 rights;
	struct user_struct *user;
	struct bgdma_shm mem;
	struct rcu_head rcu;
};

/**
 * struct bgdma_region_memo - a region that somebody uses again and again
 * @region: it; not a reference
 * @handle: of it
 * @serial: its context's regions_serial when it was looked up: as long as that
 *	stands, the region is there
 * @granted: for bgdma_granted()
 */
struct bgdma_region_memo {
	struct bgdma_region *region;
	u32 handle;
	u64 serial;
	u64 granted;
};

/* Bytes of one slice: what is copied without a chance to be preempted. */
#define BGDMA_SLICE_MAX		16384
#define BGDMA_PIECES_MAX	(BGDMA_SLICE_MAX / PAGE_SIZE + 1)

/**
 * struct bgdma_payload - bytes of one slice, page by page
 * @pieces: so many
 * @p: where
 * @n: bytes
 */
struct bgdma_payload {
	u32 pieces;
	u32 n[BGDMA_PIECES_MAX];
	const void *p[BGDMA_PIECES_MAX];
};

int bgdma_region_pin(struct bgdma_ctx *ctx, struct bgdma_region_pin *arg,
		     struct bgdma_region **out);
int bgdma_region_alloc(struct bgdma_ctx *ctx, struct bgdma_region_alloc *arg,
		       struct bgdma_region **out);
void bgdma_region_publish(struct bgdma_ctx *ctx, struct bgdma_region *region);
void bgdma_region_abandon(struct bgdma_ctx *ctx, struct bgdma_region *region);
int bgdma_region_free(struct bgdma_ctx *ctx, u32 handle);
void bgdma_regions_init(struct bgdma_ctx *ctx);
void bgdma_regions_free(struct bgdma_ctx *ctx);
struct bgdma_region *bgdma_region_get(struct bgdma_ctx *ctx, u32 handle,
				      const struct bgdma_principal *who,
				      u32 rights, u64 off, u64 len,
				      struct bgdma_fault *fault,
				      struct bgdma_region_memo *memo);
void bgdma_region_span(const struct bgdma_region *region, u64 off, u32 n,
		       struct bgdma_payload *out);
void bgdma_region_write_bytes(const struct bgdma_region *region, u64 off,
			      const void *from, u32 n);
void bgdma_region_write_pages(const struct bgdma_region *region, u64 off,
			      const struct bgdma_payload *in);

#endif /* _BGDMA_MEMORY_H */
