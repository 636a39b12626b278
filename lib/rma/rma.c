// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * One-sided access on an endpoint: a module of the sys layer.
 */
#include <stdlib.h>

#include "internal.h"

#define CHANNELS_DEFAULT	4
#define CHANNELS_MAX		8
#define ENTRIES_DEFAULT		256
#define QUEUE_QUOTA		64	/* descriptors of one origin */
#define QUEUE_SENDERS_MAX	1024
#define QUEUE_TIMEOUT_MS	3600000	/* death ends a wait, not time */

int rma_errno(uint32_t code)
{
	if (bgdma_likely(!code))
		return 0;
	return code_result(code);
}

int rma_wait(struct bgdma_rma *rma, bool (*holds)(void *arg), void *arg)
{
	int ret;

	do {
		ret = bgdma_endpoint_wait_until(rma->ep, holds, arg,
						BGDMA_SPIN_THEN_SLEEP, -1);
	} while (ret == -EINTR);
	return ret;
}

void rma_trouble(struct bgdma_rma *rma, const struct bgdma_rma_trouble *t)
{
	if (rma->attr.trouble)
		rma->attr.trouble(rma->attr.arg, t);
}

static void on_trouble(void *arg, const struct bgdma_trouble_info *info)
{
	struct bgdma_rma *rma = arg;

	if (info->trouble != BGDMA_TROUBLE_PEER_DOWN || info->rank >= rma->size)
		return;
	if (info->code == BGDMA_E_PEER_DOWN) {
		rma->peer[info->rank].down = info->code;
		return;
	}
	rma->peer[info->rank].lost = info->code;
	rma->shutting++;
}

uint32_t rma_rank(const struct bgdma_rma *rma, uint32_t node, uint16_t ctx,
		  uint32_t incarnation)
{
	const struct bgdma_peer *at;
	uint32_t i;

	for (i = 0; i < rma->size; i++) {
		at = bgdma_endpoint_peer(rma->ep, i);
		if (at->node == node && at->ctx == ctx &&
		    at->incarnation == incarnation)
			return i;
	}
	return BGDMA_STRANGER;
}

/* An origin broke off (EP-8), or sent more puts than it says. */
static void event_broken(struct bgdma_window *window,
			 const struct bgdma_event *event, uint32_t rank)
{
	const struct bgdma_rma_trouble trouble = {
		.window = window, .rank = rank,
		.epoch = (uint32_t)event->cookie, .code = event->code,
		.got = event->offset, .put = event->bound,
	};

	rma_trouble(window->rma, &trouble);
}

/* We are the origin: the target broke it off. */
static void event_refused(struct bgdma_rma *rma,
			  const struct bgdma_event *event, uint32_t rank)
{
	const struct bgdma_window *window;
	struct bgdma_rma_epoch *e;

	for_each_epoch(e, window, rma)
		if (e->target == rank && e->id == event->cookie &&
		    window->peer[rank].region == event->object)
			epoch_fail(e, event->code);
}

/* Any of them may have told of anything: also that some epoch here is broken. */
static void events_lost(struct bgdma_rma *rma)
{
	struct bgdma_rma_trouble trouble = {
		.rank = BGDMA_STRANGER, .code = BGDMA_E_PEER_DOWN,
	};
	struct bgdma_window *window;
	uint32_t i;

	for (window = rma->windows; window; window = window->next) {
		trap_event(window, NULL, BGDMA_STRANGER);
		trouble.window = window;
		rma_trouble(rma, &trouble);
	}
	for (i = 0; i < rma->size; i++)
		gets_doubt(rma, i, ANY_QUEUE, BGDMA_OK);
}

/*
 * A FIFO that a failed descriptor has stopped goes on, whatever we wait for:
 * others may wait for the end of an epoch that is behind it.
 */
static int on_work(void *arg)
{
	struct bgdma_rma *rma = arg;
	int done = bgdma_unlikely(rma->shutting) ? windows_shut(rma) : 0;
	int asked;
	uint32_t i;

	for (i = 0; i < rma->attr.channels; i++) {
		struct channel *ch = &rma->channel[i];

		if (bgdma_likely(!ch->fifo || bgdma_inj_state(ch->fifo) !=
					      BGDMA_FIFO_ERROR))
			continue;
		rma_channel_repair(ch);
		done++;
	}
	asked = gets_ask(rma, false);
	if (bgdma_unlikely(rma->trap_missed))
		traps_again(rma);
	if (bgdma_unlikely(rma->no_memory)) {
		rma->no_memory = false;
		asked = -ENOMEM;
	}
	return asked < 0 && done ? done : done + asked;
}

static void on_event(void *arg, const struct bgdma_event *event)
{
	struct bgdma_rma *rma = arg;
	struct bgdma_window *window;
	uint32_t rank;

	if (!event) {
		events_lost(rma);
		return;
	}
	if (event->type != BGDMA_EVENT_EPOCH &&
	    event->type != BGDMA_EVENT_REFUSED)
		return;
	rank = rma_rank(rma, event->peer_rank, event->peer_ctx,
			event->peer_incarnation);
	if (event->type == BGDMA_EVENT_REFUSED) {
		gets_doubt(rma, rank, (int)event->object, event->code);
		return;
	}
	if (event->code && event->desc_seq == BGDMA_EPOCH_OVER) {
		event_refused(rma, event, rank);
		return;
	}
	window = window_of_region(rma, event->object);
	if (!window)
		return;
	trap_event(window, event, rank);
	if (event->code)
		event_broken(window, event, rank);
}

static void release(void *arg)
{
	struct bgdma_rma *rma = arg;
	uint32_t i;

	while (rma->windows)
		window_drop(rma->windows, false);
	window_unkeep(rma);
	epochs_release(rma);
	for (i = 0; rma->channel && i < rma->attr.channels; i++)
		free(rma->channel[i].sent);
	free(rma->channel);
	free(rma->peer);
	free(rma);
}

static bool power_of_two(uint32_t n)
{
	return n && !(n & (n - 1));
}

static int attr_complete(struct bgdma_rma *rma)
{
	struct bgdma_rma_attr *a = &rma->attr;

	if (!a->channels)
		a->channels = CHANNELS_DEFAULT;
	if (a->channels > CHANNELS_MAX || !rma->size)
		return -EINVAL;
	if (a->channels > rma->size)
		a->channels = rma->size;
	if (!a->entries)
		a->entries = ENTRIES_DEFAULT;
	if (!power_of_two(a->entries) || a->entries < BGDMA_INJ_ENTRIES_MIN ||
	    a->entries > BGDMA_INJ_ENTRIES_MAX)
		return -EINVAL;
	return 0;
}

/* What ends with the context. */
static int objects_create(struct bgdma_rma *rma)
{
	const struct bgdma_rgq_attr queue = {
		.quota = QUEUE_QUOTA,
		.senders = rma->size < QUEUE_SENDERS_MAX ? rma->size :
							   QUEUE_SENDERS_MAX,
		.timeout_ms = QUEUE_TIMEOUT_MS,
	};
	uint32_t i, next = 0;
	int ret;

	ret = bgdma_rgq_create(rma->ctx, &queue, &rma->queue);
	if (!ret)
		ret = bgdma_region_alloc(rma->ctx, rma->attr.channels *
					 rma_channel_bytes(rma),
					 BGDMA_LOCAL_READ | BGDMA_LOCAL_WRITE,
					 &rma->memory);
	for (i = 0; !ret && i < rma->attr.channels; i++)
		ret = rma_channel_create(rma, &rma->channel[i], i);
	for (i = 0; !ret && i < rma->size; i++) {
		rma->peer[i].ch = &rma->channel[next];
		next = next + 1 < rma->attr.channels ? next + 1 : 0;
	}
	return ret;
}

int bgdma_rma_create_sized(struct bgdma_rma **rmap, struct bgdma_endpoint *ep,
			   const struct bgdma_rma_attr *attr, size_t size)
{
	struct bgdma_module_attr module = {
		.work = on_work, .trouble = on_trouble, .release = release,
		.event = on_event,
	};
	struct bgdma_operation_attr window = {
		.module = "rma", .name = "window", .packet = on_window,
	};
	struct bgdma_operation_attr mark = {
		.module = "rma", .name = "mark", .packet = on_gets_mark,
		.flags = BGDMA_OPERATION_CONTROL,
	};
	struct bgdma_rma *rma = calloc(1, sizeof(*rma));
	int ret;

	if (!rma)
		return -ENOMEM;
	rma->ep = ep;
	rma->ctx = bgdma_endpoint_ctx(ep);
	rma->rank = bgdma_endpoint_rank(ep);
	rma->size = bgdma_endpoint_size(ep);
	ret = attr_copy(&rma->attr, sizeof(rma->attr), attr, size);
	if (!ret)
		ret = attr_complete(rma);
	if (!ret) {
		rma->channel = calloc(rma->attr.channels,
				      sizeof(*rma->channel));
		rma->peer = calloc(rma->size, sizeof(*rma->peer));
		if (!rma->channel || !rma->peer || window_keep(rma))
			ret = -ENOMEM;
	}
	module.arg = rma;
	window.arg = rma;
	mark.arg = rma;
	/* From here on the endpoint has callbacks to us. */
	if (!ret)
		ret = bgdma_module_add(ep, &module);
	if (ret) {
		release(rma);
		return ret;
	}
	ret = bgdma_operation_register(ep, &window, &rma->operation);
	if (!ret)
		ret = bgdma_operation_register(ep, &mark, &rma->mark_operation);
	if (!ret)
		ret = objects_create(rma);
	if (!ret)
		*rmap = rma;
	return ret;
}
