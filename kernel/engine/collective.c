// SPDX-License-Identifier: GPL-2.0
/*
 * Running what goes over the combining network: a collective of the core's, packet by
 * packet, and the packets of a stream of a class.
 */
#include "../bgdma.h"
#include "busy.h"
#include "deliver.h"
#include "train.h"

/* What a packet costs in bytes that could have been copied: it is combined, too. */
#define BGDMA_TREE_COST		2

static int bgdma_run_class(struct bgdma_stream *s, long *budget, u32 each)
{
	u32 n;
	int ret;

	bgdma_slice_begin();
	ret = bgdma_tree.run(s);
	bgdma_slice_end();
	n = le32_to_cpu(s->x.desc.length);
	*budget -= max(n, each);
	if (ret && ret != BGDMA_STEP_SENT)
		return ret;
	s->x.done = n;
	bgdma_stat_add(s->stats.packets, 1);
	bgdma_stat_add(s->stats.bytes_copied, n);
	return ret;
}

/* One packet of the core's. */
static int bgdma_slice_tree(struct bgdma_stream *s, u32 n)
{
	struct bgdma_payload *p = NULL;
	struct bgdma_region *region = NULL;
	u64 off = le64_to_cpu(s->x.desc.u.at.src_off) + s->x.done;
	u32 left = le32_to_cpu(s->x.desc.length) - s->x.done;
	int ret;

	bgdma_slice_begin();
	if (n && s->x.desc.u.at.src_region != cpu_to_le32(BGDMA_NONE)) {
		region = bgdma_region_here(s,
					   le32_to_cpu(s->x.desc.u.at.src_region),
					   BGDMA_RIGHT_READ, off, left,
					   &s->memo.src);
		if (!region) {
			ret = s->x.fault.code;
			goto out;
		}
		p = &s->x.slice;
		bgdma_region_span(region, off, n, p);
	}
	ret = bgdma_tree.contribute(s, p, n);
	if (region)
		bgdma_busy_put(&region->busy);
out:
	bgdma_slice_end();
	return ret;
}

/**
 * bgdma_run_tree() - go on with a collective, or with a stream of a class
 * @s: owned
 * @budget: bytes; what is left of them
 * @each: what a descriptor costs of these at least
 *
 * Return: as a step.
 */
int bgdma_run_tree(struct bgdma_stream *s, long *budget, u32 each)
{
	struct bgdma_xfer *x = &s->x;
	u32 length, max;
	int ret;

	if (s->kind == BGDMA_KIND_EDGE)
		return bgdma_run_class(s, budget, each);
	bgdma_slice_begin();
	max = bgdma_tree.piece(s);
	bgdma_slice_end();
	length = le32_to_cpu(x->desc.length);
	for (;;) {
		u32 n = min(length - x->done, max);

		ret = bgdma_slice_tree(s, n);
		if (ret)
			break;
		x->done += n;
		x->uncounted += n;
		*budget -= max((long)n * BGDMA_TREE_COST, (long)each);
		bgdma_stat_add(s->stats.packets, 1);
		bgdma_stat_add(s->stats.bytes_copied, n);
		if (x->done == length)
			break;
		if (*budget <= 0 || bgdma_stream_must_stop(s)) {
			ret = BGDMA_STEP_AGAIN;
			break;
		}
	}
	if (ret <= 0) {
		bgdma_inj_count(s, x->uncounted);
		x->uncounted = 0;
	}
	return ret;
}
