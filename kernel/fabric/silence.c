// SPDX-License-Identifier: GPL-2.0
/*
 * Time in which a kernel could hear. One that stood still, since its virtual machine
 * did or its processors were taken, finds what was said meanwhile not looked at yet:
 * it is not the others who were silent. So that time goes as jiffies do, but from one
 * tick of the partition to the next no further than it should.
 */
#include "link.h"

/*
 * Half of bgdma_ether.pace is the last tick, in jiffies, and half what did not count by
 * then: who reads both sees them as they belong together.
 */
static unsigned long bgdma_pace_time(u64 pace, u32 most, unsigned long now)
{
	u32 since = (u32)now - lower_32_bits(pace);

	if (most && since > most)
		now -= since - most;
	return now - upper_32_bits(pace);
}

/**
 * bgdma_ether_now() - time by which others are silent
 * @ether: of the partition
 *
 * Context: any.
 * Return: it, in jiffies, to be compared with other such times only.
 */
unsigned long bgdma_ether_now(const struct bgdma_ether *ether)
{
	/* First: the end of what stood still is in the pace of who waits longer. */
	u32 most = smp_load_acquire(&ether->most);

	return bgdma_pace_time(READ_ONCE(ether->pace), most, jiffies);
}

/**
 * bgdma_ether_pace() - a tick, and how long the time goes on after it
 * @ether: of the partition; its lock held
 * @ms: no longer than that, for the next tick comes before; 0: as long as jiffies do
 */
void bgdma_ether_pace(struct bgdma_ether *ether, u32 ms)
{
	unsigned long now = jiffies, time;

	lockdep_assert_held(&ether->lock);
	time = bgdma_pace_time(ether->pace, ether->most, now);
	WRITE_ONCE(ether->pace, (u64)(u32)(now - time) << 32 | (u32)now);
	/* Last: pairs with bgdma_ether_now(). */
	smp_store_release(&ether->most, msecs_to_jiffies(ms));
}
