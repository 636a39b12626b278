// SPDX-License-Identifier: GPL-2.0
/*
 * Kernels that were taken for dead and live. What lived there was given up here, and
 * whoever dealt with it was told; but the other side, which may have heard us all the
 * time, knows nothing of it, and those there would wait for ours for ever. So each is
 * told in our STATE, and gives us up, too. No way leads there until it says that this is
 * done: what is dealt with from then on both sides know of.
 */
#include "link.h"

/* Does a STATE of ours have to speak of it? It is heard. */
static bool bgdma_lost_due(const struct bgdma_kernel *kernel)
{
	if (kernel->left)
		return false;
	return kernel->lost || (kernel->asks && !bgdma_kernel_news(kernel) &&
				!kernel->telling);
}

/**
 * bgdma_lost_waits() - is there a kernel that is to confirm that it was given up, or
 * asks for that?
 * @ether: of the partition; its lock held
 */
bool bgdma_lost_waits(const struct bgdma_ether *ether)
{
	const struct bgdma_kernel *kernel;
	int i;

	lockdep_assert_held(&ether->lock);
	for (i = 0; i < ARRAY_SIZE(ether->kernels); i++) {
		hlist_for_each_entry(kernel, &ether->kernels[i], node) {
			if (bgdma_lost_due(kernel))
				return true;
		}
	}
	return false;
}

/* That which our STATEs have not spoken of for longest, and this one not yet. */
static struct bgdma_kernel *bgdma_lost_next(struct bgdma_ether *ether)
{
	struct bgdma_kernel *kernel, *best = NULL;
	int i;

	for (i = 0; i < ARRAY_SIZE(ether->kernels); i++) {
		hlist_for_each_entry(kernel, &ether->kernels[i], node) {
			if (bgdma_lost_due(kernel) &&
			    kernel->said != ether->seq &&
			    (!best || kernel->said < best->said))
				best = kernel;
		}
	}
	return best;
}

/**
 * bgdma_lost_say() - whom we gave up, and who gave us up, as far as that is still news
 * @ether: of the partition; its lock held
 * @state: our next STATE
 */
void bgdma_lost_say(struct bgdma_ether *ether, struct bgdma_wire_state *state)
{
	struct bgdma_kernel *kernel;
	int i;

	lockdep_assert_held(&ether->lock);
	for (i = 0; i < BGDMA_WIRE_ENDS; i++) {
		kernel = bgdma_lost_next(ether);
		if (!kernel)
			return;
		kernel->said = ether->seq;
		state->end[i].kernel = cpu_to_le64(kernel->number);
		state->end[i].lost = cpu_to_le32(kernel->lost);
		if (!bgdma_kernel_news(kernel) && !kernel->telling)
			state->end[i].known = cpu_to_le32(kernel->asks);
	}
}

/*
 * It asks to be given up, once for each number. What is answered may get lost: that is
 * said again at its time, however often it asks.
 */
static void bgdma_lost_asked(struct bgdma_ether *ether,
			     struct bgdma_kernel *kernel)
{
	if (kernel->asks == kernel->known)
		return;
	kernel->known = kernel->asks;
	ether->tell = true;
	/* What was there is told of when it knows, too. */
	if (!kernel->lost)
		kernel->missed = true;
	bgdma_ways_stale(ether);
}

/*
 * It has given up all that was here. Somebody may have come to us since we gave it up,
 * who relies on somebody there without a way: by what a job exchanges. So those are told
 * now, before there is one.
 */
static void bgdma_lost_known(struct bgdma_ether *ether,
			     struct bgdma_kernel *kernel)
{
	kernel->lost = 0;
	kernel->again = true;
	ether->tell = true;
	bgdma_ways_stale(ether);
}

/**
 * bgdma_lost_hear() - what another kernel says of our end there, and of its own here
 * @ether: of the partition; its lock held
 * @kernel: which; kernel.state is new
 */
void bgdma_lost_hear(struct bgdma_ether *ether, struct bgdma_kernel *kernel)
{
	const struct bgdma_wire_end *end = kernel->state.end;
	u32 known = 0;
	int i;

	lockdep_assert_held(&ether->lock);
	kernel->asks = 0;
	for (i = 0; i < BGDMA_WIRE_ENDS; i++) {
		if (le64_to_cpu(end[i].kernel) != ether->kernel)
			continue;
		kernel->asks = le32_to_cpu(end[i].lost);
		known = le32_to_cpu(end[i].known);
	}
	if (kernel->asks)
		bgdma_lost_asked(ether, kernel);
	if (kernel->lost && kernel->lost == known)
		bgdma_lost_known(ether, kernel);
}
