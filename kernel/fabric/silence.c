// SPDX-License-Identifier: GPL-2.0
/*
 * Time in which a kernel could hear. One that stood still, since its virtual machine
 * did or its processors were taken, finds what was said meanwhile not looked at yet:
 * it is not the others who were silent. So that time goes as jiffies do, but from one
 * tick of the partition to the next no further than it should.
 */
#include <linux/jiffies.h>

#include "silence.h"

static unsigned long bgdma_pace_time(u64 tick, u32 most, unsigned long now)
{
	s32 since = now - (u32)tick;

	/* Whoever asks may have looked at the clock before the tick did. */
	if (most && since > (s32)most)
		now -= since - most;
	return now - (tick >> 32);
}

/**
 * bgdma_pace_begin() - from here on time goes as jiffies do
 * @pace: nobody else's yet
 */
void bgdma_pace_begin(struct bgdma_pace *pace)
{
	pace->tick = (u32)jiffies;
	pace->most = 0;
}

/**
 * bgdma_pace_now() - time by which others are silent
 * @pace: how it goes
 *
 * Context: any.
 * Return: it, in jiffies, to be compared with other such times only.
 */
unsigned long bgdma_pace_now(const struct bgdma_pace *pace)
{
	/* First: the end of what stood still is in the tick of who waits longer. */
	u32 most = smp_load_acquire(&pace->most);
	u64 tick = READ_ONCE(pace->tick);

	return bgdma_pace_time(tick, most, jiffies);
}

/**
 * bgdma_pace_tick() - a tick, and how long the time goes on after it
 * @pace: how it goes; one tick at a time
 * @most: no longer than that, in ms, for the next tick comes before; 0: as long as
 *	jiffies do
 */
void bgdma_pace_tick(struct bgdma_pace *pace, u32 most)
{
	unsigned long now = jiffies, time;

	time = bgdma_pace_time(pace->tick, pace->most, now);
	WRITE_ONCE(pace->tick, (u64)(u32)(now - time) << 32 | (u32)now);
	/* Last: pairs with bgdma_pace_now(). */
	smp_store_release(&pace->most, msecs_to_jiffies(most));
}
