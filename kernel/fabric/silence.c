// SPDX-License-Identifier: GPL-2.0
/*
 * How long somebody has been silent, as far as this kernel could hear. One that stood
 * still, since its virtual machine did or its processors were taken, finds what was
 * said meanwhile not looked at yet: it is not the others who were silent.
 */
#include "link.h"

/* So often in a row; who is late each time has to find out, too, who is gone. */
#define BGDMA_STILL_MAX	3

/**
 * bgdma_ether_beat() - this kernel does not stand still
 * @ether: of the partition; its lock held
 * @ms: by then it says so again; 0: it does not
 */
void bgdma_ether_beat(struct bgdma_ether *ether, u32 ms)
{
	unsigned long now = jiffies;

	lockdep_assert_held(&ether->lock);
	if (!ether->due || time_before_eq(now, ether->due)) {
		ether->still = 0;
	} else if (ether->still < BGDMA_STILL_MAX) {
		ether->still++;
		WRITE_ONCE(ether->awake, now);
	}
	/* Last: pairs with bgdma_ether_silence(). */
	smp_store_release(&ether->due, ms ? now + msecs_to_jiffies(ms) : 0);
}

/**
 * bgdma_ether_silence() - how long nothing has come from somebody
 * @ether: of the partition
 * @heard: when something came, in jiffies
 *
 * Of a time in which this kernel stood still nothing before its end counts.
 *
 * Context: any.
 * Return: jiffies.
 */
unsigned long bgdma_ether_silence(const struct bgdma_ether *ether,
				  unsigned long heard)
{
	/* First: who sees the new one sees since when we are awake. */
	unsigned long due = smp_load_acquire(&ether->due);
	unsigned long awake = READ_ONCE(ether->awake);
	unsigned long now = jiffies;

	/* The tick is late, and will say why. */
	if (due && time_after(now, due))
		now = due;
	if (time_after(awake, heard))
		heard = awake;
	return time_after(now, heard) ? now - heard : 0;
}
