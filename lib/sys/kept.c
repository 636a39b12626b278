// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Memory of chains: that of one that ended well is kept for the next with the same
 * peer, since to have it made, mapped, granted and taken away again takes as long
 * as some megabytes take to cross.
 *
 * It stays granted, to that process of that peer alone. What it may do to the memory
 * between two chains it may do in the next, too, and these are chains with itself. Of
 * a chain that ended badly something may still be under way, so its memory goes.
 */
#include "internal.h"

static struct bgdma_region *kept_out(struct bgdma_endpoint *ep,
				     struct kept *kept)
{
	struct bgdma_region *region = kept->region;

	ep->stats.kept--;
	ep->stats.kept_bytes -= bgdma_region_length(region);
	kept->region = NULL;
	return region;
}

static void kept_free(struct bgdma_endpoint *ep, struct kept *kept)
{
	if (kept->region)
		(void)bgdma_region_free(kept_out(ep, kept));
}

static struct bgdma_region *kept_take(struct bgdma_endpoint *ep,
				      const struct request *r, uint64_t bytes)
{
	struct kept *kept;

	for (kept = ep->kept; kept < ep->kept + KEPT_MAX; kept++)
		if (kept->region && kept->rank == r->rank &&
		    kept->target == r->target &&
		    bgdma_region_length(kept->region) >= bytes)
			return kept_out(ep, kept);
	return NULL;
}

/* The one that has been there for longest makes room. */
static struct kept *kept_place(struct bgdma_endpoint *ep, uint64_t bytes)
{
	struct kept *kept;

	do {
		kept = &ep->kept[ep->kept_next++ % KEPT_MAX];
		kept_free(ep, kept);
	} while (ep->stats.kept_bytes + bytes > KEPT_BYTES_MAX);
	return kept;
}

static void kept_add(struct bgdma_endpoint *ep, const struct request *r,
		     struct bgdma_region *region)
{
	uint64_t bytes = bgdma_region_length(region);
	struct kept *kept = ep->kept;

	if (bytes > KEPT_BYTES_MAX) {
		(void)bgdma_region_free(region);
		return;
	}
	while (kept < ep->kept + KEPT_MAX && kept->region)
		kept++;
	if (kept == ep->kept + KEPT_MAX ||
	    ep->stats.kept_bytes + bytes > KEPT_BYTES_MAX)
		kept = kept_place(ep, bytes);
	*kept = (struct kept){ region, r->rank, r->target };
	ep->stats.kept++;
	ep->stats.kept_bytes += bytes;
}

void kept_drop(struct bgdma_endpoint *ep, uint32_t rank)
{
	struct kept *kept;

	for (kept = ep->kept; kept < ep->kept + KEPT_MAX; kept++)
		if (kept->rank == rank)
			kept_free(ep, kept);
}

int chain_memory(struct bgdma_endpoint *ep, struct request *r, uint64_t bytes,
		 uint32_t local, uint32_t rights)
{
	int ret;

	r->chain = kept_take(ep, r, bytes);
	if (r->chain)
		return 0;
	ret = bgdma_region_alloc(ep->ctx, bytes, local, &r->chain);
	return ret ? ret : request_grant(ep, r, r->chain, rights);
}

void chain_memory_end(struct bgdma_endpoint *ep, struct request *r, bool well)
{
	if (!r->chain)
		return;
	if (well)
		kept_add(ep, r, r->chain);
	else
		(void)bgdma_region_free(r->chain);
	r->chain = NULL;
}
