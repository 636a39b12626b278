// SPDX-License-Identifier: GPL-2.0
/*
 * Frames that are like others, but have payload of their own in place of the pages of
 * a region; and others that are no longer to be looked at.
 */
#include "flow.h"

/**
 * bgdma_frame_borrows() - is some of the payload of a frame in the pages of a region?
 * @skb: frame
 *
 * So it stays on this machine, as long as it is not copied.
 */
bool bgdma_frame_borrows(const struct sk_buff *skb)
{
	return skb_shinfo(skb)->flags & SKBFL_SHARED_FRAG;
}

/**
 * bgdma_frame_head() - bytes of a frame before its payload
 * @skb: frame, which is finished
 */
u32 bgdma_frame_head(const struct sk_buff *skb)
{
	return le16_to_cpu(bgdma_frame_of(skb)->head);
}

/**
 * bgdma_frame_twin() - memory for another frame like one
 * @head: bytes before its payload
 * @payload: bytes of that
 * @gfp: how
 *
 * Return: for bgdma_frame_fill(); NULL: no memory.
 */
struct sk_buff *bgdma_frame_twin(u32 head, u32 payload, gfp_t gfp)
{
	struct sk_buff *twin;
	int err;

	twin = alloc_skb_with_frags(BGDMA_FRAME_BEFORE + head, payload, 0, &err,
				    gfp | __GFP_NOWARN);
	if (!twin)
		return NULL;
	skb_reserve(twin, BGDMA_FRAME_BEFORE);
	skb_put(twin, head);
	twin->data_len = payload;
	twin->len += payload;
	return twin;
}

/**
 * bgdma_frame_fill() - have it like another
 * @twin: from bgdma_frame_twin()
 * @skb: the other, which is finished
 *
 * Return: false: that is of another length.
 */
bool bgdma_frame_fill(struct sk_buff *twin, const struct sk_buff *skb)
{
	u32 at = bgdma_frame_head(skb), i;

	if (skb_headlen(twin) != at || twin->len != skb->len)
		return false;
	/* Cannot fail: all of it is there. */
	WARN_ON_ONCE(skb_copy_bits(skb, 0, twin->data, at));
	for (i = 0; i < skb_shinfo(twin)->nr_frags; i++) {
		const skb_frag_t *frag = &skb_shinfo(twin)->frags[i];

		WARN_ON_ONCE(skb_copy_bits(skb, at, skb_frag_address(frag),
					   skb_frag_size(frag)));
		at += skb_frag_size(frag);
	}
	skb_copy_header(twin, skb);
	return true;
}

/**
 * bgdma_frame_own() - have the payload of a frame that is kept as it is now
 * @skb: frame
 *
 * Where there is no memory it is left as it was: who takes his memory back marks it,
 * if he can.
 *
 * Context: any.
 * Return: the frame, or one like it in its place.
 */
struct sk_buff *bgdma_frame_own(struct sk_buff *skb)
{
	u32 head = bgdma_frame_head(skb);
	struct sk_buff *twin;

	if (likely(!bgdma_frame_borrows(skb)))
		return skb;
	twin = bgdma_frame_twin(head, skb->len - head, GFP_NOWAIT);
	if (!twin || !bgdma_frame_fill(twin, skb)) {
		kfree_skb(twin);
		return skb;
	}
	consume_skb(skb);
	return twin;
}

/**
 * bgdma_frames_own() - the same of all in a queue
 * @queue: of frames
 * @apart: the first is not counted
 *
 * Context: the queue is the caller's.
 * Return: bytes of memory that the others take more.
 */
int bgdma_frames_own(struct sk_buff_head *queue, bool apart)
{
	struct sk_buff_head from;
	struct sk_buff *skb;
	int more = 0, before;

	__skb_queue_head_init(&from);
	skb_queue_splice_init(queue, &from);
	while ((skb = __skb_dequeue(&from))) {
		before = skb->truesize;
		skb = bgdma_frame_own(skb);
		if (!apart)
			more += (int)skb->truesize - before;
		apart = false;
		__skb_queue_tail(queue, skb);
	}
	return more;
}

/**
 * bgdma_frame_take_back() - whoever has a clone of a frame is to let go of it
 * @skb: frame that was kept
 *
 * He cannot know when he has it already: after a grace period.
 */
void bgdma_frame_take_back(struct sk_buff *skb)
{
	WRITE_ONCE(bgdma_frame_of(skb)->magic, 0);
}

/**
 * bgdma_frame_taken_back() - has its sender taken it back?
 * @skb: frame that has arrived, and was good
 *
 * Context: inside a slice, in which its payload is looked at, too.
 */
bool bgdma_frame_taken_back(const struct sk_buff *skb)
{
	return READ_ONCE(bgdma_frame_of(skb)->magic) !=
	       cpu_to_le16(BGDMA_WIRE_MAGIC);
}
