/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Regions on the way of every piece. What a stream used before, and what stays
 * within a page, is dealt with here; region.c has the rest.
 */
#ifndef _BGDMA_REGION_H
#define _BGDMA_REGION_H

#include <linux/overflow.h>

#include "../bgdma.h"
#include "busy.h"
#include "copy.h"

/* What the owner's own descriptors need instead of a grant. */
static inline u32 bgdma_local_right(u32 rights)
{
	return rights & (BGDMA_RIGHT_WRITE | BGDMA_RIGHT_ATOMIC) ?
		BGDMA_LOCAL_WRITE : BGDMA_LOCAL_READ;
}

/* Does the memo name the region now? It cannot be freed inside this slice. */
static __always_inline bool
bgdma_region_known(const struct bgdma_ctx *ctx, u32 handle,
		   const struct bgdma_region_memo *memo)
{
	/* No context has the serial 0 of an empty memo. */
	return memo->handle == handle &&
	       memo->serial == READ_ONCE(ctx->regions_serial);
}

/*
 * bgdma_region_get() for who asks again and again: all that it finds out, or NULL
 * whenever the answer is not a plain yes. @own: the owner asks.
 */
static __always_inline struct bgdma_region *
bgdma_region_again(struct bgdma_ctx *ctx, u32 handle, bool own, u32 rights,
		   u64 off, u64 len, const struct bgdma_region_memo *memo)
{
	struct bgdma_region *region = memo->region;
	const struct bgdma_grants *grants;
	u64 end;

	if (unlikely(!bgdma_region_known(ctx, handle, memo)))
		return NULL;
	if (unlikely(check_add_overflow(off, len, &end) ||
		     end > region->length))
		return NULL;
	if (own) {
		if (unlikely(!(region->rights & bgdma_local_right(rights))))
			return NULL;
	} else {
		grants = bgdma_deref(region->grants);
		if (unlikely(!grants ||
			     memo->granted != READ_ONCE(grants->serial)))
			return NULL;
	}
	return likely(bgdma_busy_get(&region->busy)) ? region : NULL;
}

static __always_inline void *bgdma_region_at(const struct bgdma_region *region,
					     u64 off, u32 want, u32 *got)
{
	u64 at = off + region->page_off;
	u32 in_page = offset_in_page(at);

	*got = min_t(u32, want, PAGE_SIZE - in_page);
	return region->at[at >> PAGE_SHIFT] + in_page;
}

/*
 * Where @n bytes of a region, held busy, are, if they are in one page, else
 * NULL. @n is not 0 and at most BGDMA_SLICE_MAX.
 */
static __always_inline void *
bgdma_region_page(const struct bgdma_region *region, u64 off, u32 n)
{
	u64 at = off + region->page_off;
	u32 in_page = offset_in_page(at);

	if (unlikely(in_page + n > PAGE_SIZE))
		return NULL;
	return region->at[at >> PAGE_SHIFT] + in_page;
}

/* Copy @n bytes into a region, held busy: from @from, or if NULL from @in. */
static __always_inline void
bgdma_region_write(const struct bgdma_region *region, u64 off,
		   const void *from, const struct bgdma_payload *in, u32 n)
{
	u64 at = off + region->page_off;
	u32 in_page = offset_in_page(at);

	if (unlikely(!from))
		bgdma_region_write_pages(region, off, in);
	else if (unlikely(in_page + n > PAGE_SIZE))
		bgdma_region_write_bytes(region, off, from, n);
	else
		bgdma_copy(region->at[at >> PAGE_SHIFT] + in_page, from, n,
			   true);
}

#endif /* _BGDMA_REGION_H */
