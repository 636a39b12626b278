// SPDX-License-Identifier: GPL-2.0
/*
 * Frames that have arrived, and who looks at them.
 *
 * They come in softirq, where no lock of the engine is ever taken: so somebody has
 * to take them from there. Where that is on the processor that has just sent, as
 * with veth, it is whoever sent: he delivers them, and what these lead to, before he
 * goes on, which is less work than to wake somebody. He does so in one piece, not
 * preempted, and takes locks for the length of a slice only; he looks neither for
 * memory nor at who comes for the first time. All else is a worker's.
 */
#include <linux/kcov.h>
#include <linux/percpu.h>

#include "../engine/busy.h"
#include "../engine/engine.h"
#include "flow.h"

/* What a sender delivers at most, in bytes, and what a frame counts at least. */
#define BGDMA_INBOX_BYTES	(128U << 10)
#define BGDMA_INBOX_EACH	1024

/* Frames of a partition that nobody has looked at. */
#define BGDMA_ARRIVED_MAX	4096

/**
 * struct bgdma_inbox - what has arrived at a processor
 * @open: somebody who sends there takes it
 * @pooled: he is a thread of the pool
 * @flows: where something has arrived
 */
struct bgdma_inbox {
	bool open;
	bool pooled;
	struct list_head flows;
};

static DEFINE_PER_CPU(struct bgdma_inbox, bgdma_inboxes);

/**
 * bgdma_inbox_put() - a frame has arrived where it goes to
 * @flows: of its partition
 * @skb: frame
 *
 * Context: softirq.
 * Return: false: there are too many.
 */
bool bgdma_inbox_put(struct bgdma_flows *flows, struct sk_buff *skb)
{
	struct bgdma_inbox *box = this_cpu_ptr(&bgdma_inboxes);

	if (skb_queue_len_lockless(&flows->arrived) >= BGDMA_ARRIVED_MAX)
		return false;
	WRITE_ONCE(flows->kcov_handle, skb_get_kcov_handle(skb));
	skb_queue_tail(&flows->arrived, skb);
	if (!box->open) {
		queue_work(bgdma_flow_wq, &flows->work);
		return true;
	}
	/* Who has them already looks at all that came before he let go of the bit. */
	if (!test_and_set_bit(BGDMA_FLOWS_IN_BOX, &flows->flags)) {
		if (bgdma_busy_get(&flows->busy))
			list_add_tail(&flows->in_box, &box->flows);
	}
	return true;
}

/*
 * One of them: false if it is a worker's. @last: of the flow to be run when there
 * are no more of it.
 */
static bool bgdma_inbox_frame(struct bgdma_flows *flows, struct sk_buff *skb,
			      struct bgdma_rx_flow **last, bool pooled)
{
	const struct bgdma_frame *f = (void *)skb->data;

	if (f->type == BGDMA_FRAME_ACK) {
		bgdma_tx_ack(flows, skb, pooled);
		kfree_skb(skb);
		return true;
	}
	return f->type == BGDMA_FRAME_DATA &&
	       bgdma_rx_known(flows, skb, last, pooled);
}

/* So many bytes of them, and what is left; *@slow is one that is a worker's. */
static long bgdma_inbox_take(struct bgdma_flows *flows, bool pooled, long budget,
			     struct sk_buff **slow)
{
	struct bgdma_rx_flow *last = NULL;
	struct sk_buff *skb;

	*slow = NULL;
	bgdma_slice_begin();
	while (budget > 0 && (skb = skb_dequeue(&flows->arrived))) {
		u32 bytes = skb->len;

		if (!bgdma_inbox_frame(flows, skb, &last, pooled)) {
			*slow = skb;
			break;
		}
		budget -= max(bytes, BGDMA_INBOX_EACH);
	}
	if (last)
		bgdma_rx_run(last, pooled);
	bgdma_slice_end();
	return budget;
}

/**
 * bgdma_inbox_open() - what arrives at this processor is the caller's
 * @pooled: who is a thread of the pool
 *
 * Context: process context; preemption is off until bgdma_inbox_close(). Not on
 * PREEMPT_RT, where one who is preempted holds up others.
 * Return: false: it is not, or was before.
 */
bool bgdma_inbox_open(bool pooled)
{
	struct bgdma_inbox *box;

	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		return false;
	preempt_disable();
	box = this_cpu_ptr(&bgdma_inboxes);
	if (box->open) {
		preempt_enable();
		return false;
	}
	box->pooled = pooled;
	WRITE_ONCE(box->open, true);
	return true;
}

/**
 * bgdma_inbox_close() - deliver what has arrived
 *
 * Context: bgdma_inbox_open() was true; no lock held.
 */
void bgdma_inbox_close(void)
{
	struct bgdma_inbox *box = this_cpu_ptr(&bgdma_inboxes);
	long budget = BGDMA_INBOX_BYTES;
	struct bgdma_flows *flows;
	struct sk_buff *slow;

	for (;;) {
		local_bh_disable();
		flows = list_first_entry_or_null(&box->flows,
						 struct bgdma_flows, in_box);
		if (flows)
			list_del_init(&flows->in_box);
		/* However much comes: what has no room any more is the workers'. */
		if (!flows || budget <= 0)
			WRITE_ONCE(box->open, false);
		local_bh_enable();
		if (!flows)
			break;
		clear_bit(BGDMA_FLOWS_IN_BOX, &flows->flags);
		/* Whoever found it set has queued his frame before. */
		smp_mb__after_atomic();
		budget = bgdma_inbox_take(flows, box->pooled, budget, &slow);
		if (slow)
			skb_queue_head(&flows->arrived, slow);
		if (!skb_queue_empty_lockless(&flows->arrived))
			queue_work(bgdma_flow_wq, &flows->work);
		bgdma_busy_put(&flows->busy);
	}
	preempt_enable();
}

static void bgdma_inbox_work(struct work_struct *work)
{
	struct bgdma_flows *flows =
		container_of(work, struct bgdma_flows, work);
	struct sk_buff *slow;
	bool opened;

	kcov_remote_start_common(READ_ONCE(flows->kcov_handle));
	while (!skb_queue_empty_lockless(&flows->arrived)) {
		/* Else each that leads to something to send would have a budget. */
		opened = bgdma_inbox_open(false);
		bgdma_inbox_take(flows, false, BGDMA_INBOX_BYTES, &slow);
		if (opened)
			bgdma_inbox_close();
		if (slow) {
			mutex_lock(&flows->mutex);
			bgdma_rx_data(flows, slow);
			mutex_unlock(&flows->mutex);
		}
		cond_resched();
	}
	kcov_remote_stop();
}

/**
 * bgdma_inbox_new() - nothing has arrived for a partition yet
 * @flows: of it
 */
void bgdma_inbox_new(struct bgdma_flows *flows)
{
	skb_queue_head_init(&flows->arrived);
	INIT_LIST_HEAD(&flows->in_box);
	INIT_WORK(&flows->work, bgdma_inbox_work);
}

/**
 * bgdma_inbox_end() - nothing arrives for a partition any more
 * @flows: of it, idle
 *
 * Context: may sleep.
 */
void bgdma_inbox_end(struct bgdma_flows *flows)
{
	cancel_work_sync(&flows->work);
	skb_queue_purge(&flows->arrived);
}

/**
 * bgdma_inbox_init() - nothing has arrived anywhere
 */
void bgdma_inbox_init(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		INIT_LIST_HEAD(&per_cpu(bgdma_inboxes, cpu).flows);
}
