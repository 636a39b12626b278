// SPDX-License-Identifier: GPL-2.0
/*
 * Frames of transfers.
 */
#include "link.h"

/**
 * bgdma_frame_receive() - a DATA or ACK frame came in
 * @link: where
 * @skb: from its head on, which is good and in a row; consumed
 *
 * Context: softirq.
 */
void bgdma_frame_receive(struct bgdma_link *link, struct sk_buff *skb)
{
	bgdma_link_count(link, BGDMA_LINK_RX_STRANGE);
	kfree_skb(skb);
}

/**
 * bgdma_kernel_gone() - a kernel is dead, and all of its contexts
 * @ether: of the partition
 * @kernel: its number
 *
 * Context: may sleep; without locks.
 */
void bgdma_kernel_gone(struct bgdma_ether *ether, u64 kernel)
{
}
