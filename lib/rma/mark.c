// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Gets that were dropped. When a get of ours is refused, its target drops what we
 * had waiting behind it in its queue, of whichever epoch, and no counter tells. So
 * a mark follows: a remote get of a packet back to us. When it is there all gets
 * before it have ended, or never will; none comes late, into memory that is in
 * use again or an epoch that has the same identifier.
 *
 * The event that tells of the refusal can be lost itself. Then marks go to all of
 * whom we wait for gets. However many events there are, one mark goes to each between
 * two looks at packets: marks must not fill the FIFO that they come back to.
 */
#include "internal.h"

static bool waits(const struct bgdma_rma_epoch *e, uint32_t rank, int queue)
{
	return e->target == rank && (queue == ANY_QUEUE || e->queue == queue) &&
	       gets_open(e) > 0;
}

void gets_doubt(struct bgdma_rma *rma, uint32_t rank, int queue, uint32_t code)
{
	const struct bgdma_window *window;
	struct bgdma_rma_epoch *e;

	for_each_epoch(e, window, rma) {
		if (!waits(e, rank, queue))
			continue;
		e->doubted = true;
		e->mark_code = code ? code : e->mark_code;
		rma->doubts = true;
	}
}

/*
 * Behind all that was asked for until now, also by what has yet to leave for good. There
 * is room: nothing is waited for in a walk over epochs.
 */
static int mark_send(struct bgdma_rma_epoch *e, uint64_t number)
{
	const struct bgdma_send_attr packet = {
		.operation = e->rma->mark_operation, .dest = e->rma->rank,
		.word = (uint32_t)number, .flags = BGDMA_DESC_FENCE,
	};
	struct bgdma_desc *desc;
	int ret = rma_channel_take(e, SENT_MARK, e->target, &desc);

	if (ret)
		return ret;
	desc = rget_describe(e, desc, 1, BGDMA_DESC_FENCE);
	ret = bgdma_endpoint_describe(e->rma->ep, &packet, desc);
	return ret ? ret : rma_channel_submit(e->ch);
}

/* One for all of the same target. If it cannot be the context has ended. */
static void mark_all(struct bgdma_rma_epoch *first)
{
	uint64_t number = ++first->rma->marks;
	const struct bgdma_window *window;
	struct bgdma_rma_epoch *e;

	for_each_epoch(e, window, first->rma) {
		if (!e->doubted || e->target != first->target)
			continue;
		e->doubted = false;
		e->mark = number;
		e->mark_gets = e->gets;
	}
	(void)mark_send(first, number);
}

/* As far as there is room now. @full: a channel that has none, or NULL. */
static int marks_send(struct bgdma_rma *rma, struct channel **full)
{
	const struct bgdma_window *window;
	struct bgdma_rma_epoch *e;
	int sent = 0;

	*full = NULL;
	rma->doubts = false;
	for_each_epoch(e, window, rma) {
		if (!e->doubted)
			continue;
		if (rma_channel_has_room(e->ch)) {
			mark_all(e);
			sent++;
		} else {
			rma->doubts = true;
			*full = e->ch;
		}
	}
	return sent;
}

/* Who waits for room runs callbacks, which may close any epoch: all are looked at anew. */
int gets_ask(struct bgdma_rma *rma, bool wait)
{
	struct channel *full;
	int sent = 0;

	if (bgdma_likely(!rma->doubts))
		return 0;
	do {
		sent += marks_send(rma, &full);
	} while (wait && full && !rma_channel_room_wait(full));
	return sent || !rma->doubts ? sent : -ENOMEM;
}

/* All that was asked for before the mark has come, but for what never will. */
static void gets_settle(struct bgdma_rma_epoch *e)
{
	e->mark = 0;
	if (!gets_drop(e, e->mark_gets))
		return;
	epoch_fail(e, e->mark_code ? e->mark_code : BGDMA_E_ABORTED);
}

int on_gets_mark(void *arg, uint32_t rank, const struct bgdma_packet *packet)
{
	uint64_t number = bgdma_packet_word(packet);
	const struct bgdma_window *window;
	struct bgdma_rma *rma = arg;
	struct bgdma_rma_epoch *e;
	bool again = false;

	if (packet->bytes || number > rma->marks)
		return -EBADMSG;
	for_each_epoch(e, window, rma) {
		if (e->target != rank || !e->mark || e->mark > number)
			continue;
		/* What the queue did not take is off the counter first. */
		rma_channel_repair(e->ch);
		/* Of gets since then it tells nothing. */
		gets_settle(e);
		again |= e->gets != e->mark_gets;
	}
	if (again)
		gets_doubt(rma, rank, ANY_QUEUE, 0);
	return 0;
}

void gets_mark_failed(struct bgdma_rma *rma, uint32_t rank, uint32_t code)
{
	const struct bgdma_window *window;
	struct bgdma_rma_epoch *e;

	for_each_epoch(e, window, rma) {
		if (e->target != rank || !e->mark)
			continue;
		e->mark_code = code;
		gets_settle(e);
	}
}
