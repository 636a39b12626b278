// SPDX-License-Identifier: GPL-2.0
/*
 * What may have to be said by a kernel's own flow, voice.c: the flow stays as long as
 * there is something. Who forgets a promise may do so long after the flow's end, with
 * that of its partition, so they share something small.
 */
#include <linux/refcount.h>
#include <linux/slab.h>

#include "flow.h"

/**
 * struct bgdma_vow - what a flow of the voice and promises share
 * @n: references
 */
struct bgdma_vow {
	refcount_t n;
};

/**
 * bgdma_vow_put() - a promise, or the flow, is no more
 * @vow: NULL: none
 *
 * Context: any.
 */
void bgdma_vow_put(struct bgdma_vow *vow)
{
	if (vow && refcount_dec_and_test(&vow->n))
		kfree(vow);
}

static struct bgdma_vow **bgdma_vow_of(struct sk_buff *skb)
{
	return (struct bgdma_vow **)skb->cb;
}

/* There was nothing to say. */
static void bgdma_vow_forget(struct sk_buff *skb)
{
	bgdma_vow_put(*bgdma_vow_of(skb));
}

/**
 * bgdma_vow_get() - promise something by a flow
 * @flow: of the voice
 * @skb: the promise: the flow stays until it is freed, or said
 *
 * Context: tx.lock held.
 * Return: false: no memory.
 */
bool bgdma_vow_get(struct bgdma_tx_flow *flow, struct sk_buff *skb)
{
	lockdep_assert_held(&flow->tx->lock);
	if (!flow->vow) {
		flow->vow = kmalloc(sizeof(*flow->vow),
				    GFP_NOWAIT | __GFP_NOWARN);
		if (!flow->vow)
			return false;
		refcount_set(&flow->vow->n, 1);
	}
	refcount_inc(&flow->vow->n);
	*bgdma_vow_of(skb) = flow->vow;
	skb->destructor = bgdma_vow_forget;
	return true;
}

/**
 * bgdma_vow_take() - what was promised is about to be said
 * @skb: the promise, from now on any frame
 *
 * Return: for bgdma_vow_put() when it is on its way.
 */
struct bgdma_vow *bgdma_vow_take(struct sk_buff *skb)
{
	struct bgdma_vow *vow = skb->destructor ? *bgdma_vow_of(skb) : NULL;

	skb->destructor = NULL;
	return vow;
}

/**
 * bgdma_vow_kept() - may something have to be said by a flow?
 * @flow: of the voice
 *
 * Context: tx.lock held.
 */
bool bgdma_vow_kept(const struct bgdma_tx_flow *flow)
{
	lockdep_assert_held(&flow->tx->lock);
	return flow->stays ||
	       (flow->vow && refcount_read(&flow->vow->n) > 1);
}
