// SPDX-License-Identifier: GPL-2.0
/*
 * What other kernels have to say by themselves, as voice.c says it.
 */
#include <linux/slab.h>

#include "../engine/busy.h"
#include "flow.h"

static struct bgdma_ctx *bgdma_hear_target(struct bgdma_rx_flow *flow,
					   const struct bgdma_wire_packet *p)
{
	struct bgdma_ctx *target;

	target = bgdma_partition_peer(flow->ether->part, flow->key.dst,
				      le16_to_cpu(p->desc.dst_ctx));
	if (target && target->who.incarnation != le32_to_cpu(p->dst_inc)) {
		bgdma_busy_put(&target->busy);
		target = NULL;
	}
	return target;
}

/* May a kernel speak of what is at a node? Only that where it lives. */
static bool bgdma_hear_lives(const struct bgdma_rx_flow *flow, u32 rank)
{
	u64 home = bgdma_way_kernel(flow->ether, rank);

	return !home || home == bgdma_ghost_kernel(flow->s.ctx);
}

static void bgdma_hear_answer(struct bgdma_rx_flow *flow,
			      const struct bgdma_wire_packet *p,
			      const struct bgdma_wire_answer *wire)
{
	const struct bgdma_principal from = {
		.rank = le32_to_cpu(wire->rank),
		.ctx = le16_to_cpu(wire->ctx),
		.incarnation = le32_to_cpu(wire->incarnation),
	};
	struct bgdma_ctx *target;
	struct bgdma_answer answer = {
		.counter = le32_to_cpu(wire->counter),
		.region = le32_to_cpu(wire->region),
		.epoch = le32_to_cpu(wire->epoch),
		.code = le32_to_cpu(wire->code),
		.id = le32_to_cpu(p->id),
	};

	/* Whose gate it is lives there. */
	if (!bgdma_hear_lives(flow, from.rank))
		return;
	bgdma_slice_begin();
	target = bgdma_hear_target(flow, p);
	if (target) {
		answer.to = target->who;
		set_bit(from.rank % 1024, target->talked);
		/* Who was told that no answer would come counts none. */
		if (bgdma_asked_answered(target, &from, &answer,
					 bgdma_ghost_kernel(flow->s.ctx)) ||
		    answer.counter == BGDMA_NONE)
			bgdma_deliver_answer(target, &from, &answer);
		bgdma_busy_put(&target->busy);
	}
	bgdma_slice_end();
}

static void bgdma_hear_event(struct bgdma_rx_flow *flow,
			     const struct bgdma_wire_packet *p,
			     const struct bgdma_event *event)
{
	struct bgdma_ctx *target;

	/* Who refused something lives there. */
	if (event->type != BGDMA_EVENT_REFUSED ||
	    !bgdma_hear_lives(flow, event->peer_rank))
		return;
	bgdma_slice_begin();
	target = bgdma_hear_target(flow, p);
	if (target) {
		bgdma_event_post(target, event);
		bgdma_busy_put(&target->busy);
	}
	bgdma_slice_end();
}

static void bgdma_hear_fetched(struct bgdma_rx_flow *flow,
			       const struct bgdma_wire_packet *p,
			       const void *old)
{
	u64 cookie = le64_to_cpu(p->desc.cookie);
	const struct bgdma_flow_key key = {
		.inc = le32_to_cpu(p->dst_inc),
		.src = flow->key.dst,
		.dst = le32_to_cpu(p->desc.dst_rank),
		.tag = cookie >> 1,
		.ctx = le16_to_cpu(p->desc.dst_ctx),
		.adaptive = cookie & 1,
	};

	bgdma_tx_fetched(flow->ether->flows, &key,
			 bgdma_ghost_kernel(flow->s.ctx), le32_to_cpu(p->id),
			 le32_to_cpu(p->offset), old, le32_to_cpu(p->bytes));
}

/* Of a partition: each is memory, and a worker that waits for its turn. */
#define BGDMA_NEWS_MAX		16

/**
 * struct bgdma_news - a context that is said to have left
 * @work: sees to it
 * @flows: of the partition
 * @kernel: which says so
 * @gone: who
 */
struct bgdma_news {
	struct work_struct work;
	struct bgdma_flows *flows;
	u64 kernel;
	struct bgdma_wire_gone gone;
};

/*
 * May it say so? A way to who says so may be closed just now, but he does not say it
 * again, and others wait for whom he means.
 */
static bool bgdma_news_true(const struct bgdma_news *news)
{
	struct bgdma_ether *ether = news->flows->ether;
	u32 rank = le32_to_cpu(news->gone.rank);
	u64 home = bgdma_way_kernel(ether, rank);

	return home ? home == news->kernel :
		      bgdma_kernel_has(ether, news->kernel, rank);
}

static void bgdma_news_tell(const struct bgdma_news *news)
{
	const struct bgdma_wire_gone *gone = &news->gone;
	const struct bgdma_principal who = {
		.rank = le32_to_cpu(gone->rank),
		.ctx = le16_to_cpu(gone->ctx),
		.incarnation = le32_to_cpu(gone->incarnation),
	};

	bgdma_ghost_gone(news->flows, news->kernel, &who,
			 make_kuid(&init_user_ns, le32_to_cpu(gone->uid)));
}

static void bgdma_news_work(struct work_struct *work)
{
	struct bgdma_news *news = container_of(work, struct bgdma_news, work);

	if (bgdma_news_true(news))
		bgdma_news_tell(news);
	atomic_dec(&news->flows->n_news);
	bgdma_waiters_wake(&news->flows->news);
	bgdma_busy_put(&news->flows->busy);
	kfree(news);
}

/* Park until one of the news was seen to: BGDMA_STEP_WAIT, or _AGAIN. */
static int bgdma_news_wait(struct bgdma_rx_flow *flow)
{
	struct bgdma_flows *flows = flow->ether->flows;
	int ret = BGDMA_STEP_WAIT;

	bgdma_slice_begin();
	bgdma_stream_park(&flow->s, &flows->news, 0, BGDMA_KIND_CONTEXT,
			  BGDMA_CTX_ANY);
	if (atomic_read(&flows->n_news) < BGDMA_NEWS_MAX) {
		bgdma_stream_unpark(&flow->s);
		ret = BGDMA_STEP_AGAIN;
	}
	bgdma_slice_end();
	return ret;
}

/*
 * Not here: the stream that hears it is one of those that may have to end. Who has more
 * to say than is seen to waits with it at his end.
 */
static int bgdma_hear_gone(struct bgdma_rx_flow *flow,
			   const struct bgdma_wire_gone *gone)
{
	struct bgdma_flows *flows = flow->ether->flows;
	struct bgdma_news *news;

	if (le16_to_cpu(gone->ctx) >= BGDMA_CTX_PER_NODE ||
	    le32_to_cpu(gone->rank) >= flow->ether->part->size)
		return BGDMA_STEP_DONE;
	if (!atomic_add_unless(&flows->n_news, 1, BGDMA_NEWS_MAX))
		return bgdma_news_wait(flow);
	news = kmalloc(sizeof(*news), GFP_NOWAIT | __GFP_NOWARN);
	if (!news) {
		atomic_dec(&flows->n_news);
		return BGDMA_STEP_AGAIN;
	}
	INIT_WORK(&news->work, bgdma_news_work);
	news->flows = flows;
	news->kernel = bgdma_ghost_kernel(flow->s.ctx);
	news->gone = *gone;
	if (!bgdma_busy_get(&flows->busy)) {
		atomic_dec(&flows->n_news);
		kfree(news);
		return BGDMA_STEP_DONE;
	}
	queue_work(bgdma_flow_wq, &news->work);
	return BGDMA_STEP_DONE;
}

/**
 * bgdma_hear() - another kernel says something
 * @flow: of the kernel
 * @p: packet, well-formed
 * @payload: its payload
 *
 * Context: process context, or inside a slice; owns the flow.
 * Return: BGDMA_STEP_DONE; _WAIT: too much was said; _AGAIN: no memory yet.
 */
int bgdma_hear(struct bgdma_rx_flow *flow, const struct bgdma_wire_packet *p,
	       const void *payload)
{
	switch (p->kind) {
	case BGDMA_WIRE_ANSWER:
		bgdma_hear_answer(flow, p, payload);
		break;
	case BGDMA_WIRE_EVENT:
		bgdma_hear_event(flow, p, payload);
		break;
	case BGDMA_WIRE_FETCHED:
		bgdma_hear_fetched(flow, p, payload);
		break;
	case BGDMA_WIRE_GONE:
		return bgdma_hear_gone(flow, payload);
	}
	return BGDMA_STEP_DONE;
}
