// SPDX-License-Identifier: GPL-2.0
/*
 * Streams that have something on its way over links: when it has arrived, and their end.
 */
#include "../engine/busy.h"
#include "flow.h"

/**
 * bgdma_remote_quiet() - is nothing of a stream on its way?
 * @s: to which nobody adds anything
 *
 * Context: any.
 */
bool bgdma_remote_quiet(const struct bgdma_stream *s)
{
	return s->tx->head == READ_ONCE(s->tx->tail);
}

static bool bgdma_remote_arrived(struct bgdma_tx *tx)
{
	bool quiet;

	spin_lock(&tx->lock);
	quiet = tx->head == tx->tail;
	spin_unlock(&tx->lock);
	return quiet;
}

/**
 * bgdma_remote_fence() - wait until nothing of a stream is on its way
 * @s: owned
 *
 * Context: any; no lock held.
 * Return: BGDMA_STEP_DONE, or BGDMA_STEP_WAIT when it was parked.
 */
int bgdma_remote_fence(struct bgdma_stream *s)
{
	if (bgdma_remote_arrived(s->tx))
		return BGDMA_STEP_DONE;
	bgdma_patience_hurry(s->tx);
	bgdma_tx_flush(s->tx, true, s->pooled);
	bgdma_stream_park(s, &s->tx->waiters, 0, BGDMA_KIND_CONTEXT, 0);
	if (!bgdma_remote_arrived(s->tx))
		return BGDMA_STEP_WAIT;
	bgdma_stream_unpark(s);
	return BGDMA_STEP_DONE;
}

/**
 * bgdma_remote_drop() - what is on its way to where there is no room is not needed
 * @s: owned
 *
 * What comes after it is not kept waiting. It fails, as if it had been given up.
 *
 * Context: any; no lock held.
 */
void bgdma_remote_drop(struct bgdma_stream *s)
{
	struct bgdma_tx *tx = s->tx;
	struct bgdma_tx_flow *flow;

	spin_lock(&tx->lock);
	list_for_each_entry(flow, &tx->flows, node) {
		if (flow->stopped)
			bgdma_tx_give_up(flow, BGDMA_E_CANCELLED,
					 BGDMA_ROUTE_NONE);
	}
	spin_unlock(&tx->lock);
}

/**
 * bgdma_remote_ended() - descriptors that a stream has begun have ended
 * @s: owned; but for what is on its way, and the one that it is at
 */
void bgdma_remote_ended(struct bgdma_stream *s)
{
	spin_lock(&s->tx->lock);
	s->tx->issued = s->head - s->x.active;
	bgdma_sent_given_up(s->tx);
	bgdma_sent_cleared(s->tx);
	bgdma_sent_publish(s->tx);
	spin_unlock(&s->tx->lock);
}

/**
 * bgdma_remote_killed() - a stream ends
 * @s: owned, dead
 */
void bgdma_remote_killed(struct bgdma_stream *s)
{
	bgdma_tx_orphan(s->tx);
	s->tx = NULL;
}
