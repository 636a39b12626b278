// SPDX-License-Identifier: GPL-2.0
/*
 * FIFOs as an administrator sees them: what each holds, what it waits for, and
 * its last error. Words that user space or an engine writes meanwhile are read
 * once each and never trusted: the numbers of one message may be a moment
 * apart.
 */
#include <linux/jiffies.h>

#include "../engine/busy.h"
#include "../engine/ring.h"
#include "netlink.h"

static int bgdma_put_fifo(struct sk_buff *skb, struct bgdma_ctx *ctx, u32 kind,
			  u32 id, u64 size, u64 held, u32 state)
{
	if (bgdma_put_place(skb, ctx) ||
	    nla_put_u32(skb, BGDMA_A_FIFO_KIND, kind) ||
	    nla_put_u32(skb, BGDMA_A_FIFO_ID, id) ||
	    nla_put_u32(skb, BGDMA_A_FIFO_STATE, state) ||
	    nla_put_u64_64bit(skb, BGDMA_A_FIFO_SIZE, size,
			      BGDMA_A_FIFO_PAD) ||
	    nla_put_u64_64bit(skb, BGDMA_A_FIFO_HELD, held, BGDMA_A_FIFO_PAD))
		return -EMSGSIZE;
	return 0;
}

static bool bgdma_is_local(u8 op)
{
	return op == BGDMA_OP_LOCAL_MEMFIFO || op == BGDMA_OP_LOCAL_COPY ||
	       bgdma_op_is_tree(op);
}

/* Whom a parked stream waits for. */
static int bgdma_put_waits(struct sk_buff *skb, const struct bgdma_stream *s)
{
	const struct bgdma_desc *desc = &s->x.desc;
	u32 rank = s->ctx->rank;
	u32 id = s->ctx->id;

	if (!bgdma_is_local(READ_ONCE(desc->op))) {
		rank = le32_to_cpu(READ_ONCE(desc->dst_rank));
		id = le16_to_cpu(READ_ONCE(desc->dst_ctx));
	}
	if (nla_put_u32(skb, BGDMA_A_FIFO_WAITS_KIND,
			READ_ONCE(s->parked_kind)) ||
	    nla_put_u32(skb, BGDMA_A_FIFO_WAITS_ID, READ_ONCE(s->parked_id)) ||
	    nla_put_u32(skb, BGDMA_A_FIFO_WAITS_RANK, rank) ||
	    nla_put_u32(skb, BGDMA_A_FIFO_WAITS_CTX, id))
		return -EMSGSIZE;
	return 0;
}

static int bgdma_put_inj(struct sk_buff *skb, struct bgdma_ctx *ctx,
			 const struct bgdma_inj_fifo *fifo)
{
	const struct bgdma_stream *s = &fifo->s;
	u64 done = smp_load_acquire(&fifo->kern->done); /* never beyond ... */
	u64 head = smp_load_acquire(&fifo->kern->head); /* ... what comes next */
	u64 tail = bgdma_ring_tail(fifo->user);
	u64 size = (u64)fifo->mask + 1;
	u64 held = head - done + min(tail - head, size);
	bool parked = test_bit(BGDMA_STREAM_PARKED, &s->flags);
	u32 state = BGDMA_FIFO_STATE_IDLE;

	if (test_bit(BGDMA_STREAM_ERROR, &s->flags))
		state = BGDMA_FIFO_STATE_ERROR;
	else if (parked)
		state = BGDMA_FIFO_STATE_BLOCKED;
	else if (held)
		state = BGDMA_FIFO_STATE_BUSY;

	if (bgdma_put_fifo(skb, ctx, BGDMA_KIND_INJ_FIFO, s->id, size, held,
			   state) ||
	    nla_put_u64_64bit(skb, BGDMA_A_FIFO_HEAD, head,
			      BGDMA_A_FIFO_PAD) ||
	    nla_put_u64_64bit(skb, BGDMA_A_FIFO_TAIL, tail,
			      BGDMA_A_FIFO_PAD) ||
	    nla_put_u64_64bit(skb, BGDMA_A_FIFO_DONE, done,
			      BGDMA_A_FIFO_PAD) ||
	    (parked && bgdma_put_waits(skb, s)) ||
	    bgdma_put_stats(skb, BGDMA_A_FIFO_STATS, &s->stats))
		return -EMSGSIZE;
	return bgdma_put_record(skb, ctx, BGDMA_A_FIFO_RECORD, fifo->rec);
}

static int bgdma_put_rec(struct sk_buff *skb, struct bgdma_ctx *ctx,
			 const struct bgdma_rec_fifo *fifo)
{
	/* The head first: never beyond a tail that is read after it. */
	u64 head = bgdma_ring_rec_head(fifo->user);
	u64 tail = READ_ONCE(fifo->kern->tail);
	u64 held = min_t(u64, tail - head, fifo->size);
	u32 state = BGDMA_FIFO_STATE_IDLE;

	if (READ_ONCE(fifo->rec->code))
		state = BGDMA_FIFO_STATE_ERROR;
	else if (held)
		state = BGDMA_FIFO_STATE_BUSY;

	if (bgdma_put_fifo(skb, ctx, BGDMA_KIND_REC_FIFO, fifo->id, fifo->size,
			   held, state) ||
	    nla_put_u64_64bit(skb, BGDMA_A_FIFO_HEAD, head,
			      BGDMA_A_FIFO_PAD) ||
	    nla_put_u64_64bit(skb, BGDMA_A_FIFO_TAIL, tail,
			      BGDMA_A_FIFO_PAD) ||
	    nla_put_u64_64bit(skb, BGDMA_A_FIFO_PACKETS,
			      READ_ONCE(fifo->kern->packets),
			      BGDMA_A_FIFO_PAD) ||
	    nla_put_u64_64bit(skb, BGDMA_A_FIFO_MARKED,
			      READ_ONCE(fifo->kern->marked),
			      BGDMA_A_FIFO_PAD) ||
	    nla_put_u32(skb, BGDMA_A_FIFO_ARM, READ_ONCE(fifo->user->arm)) ||
	    nla_put_u32(skb, BGDMA_A_FIFO_ARM_BYTES,
			READ_ONCE(fifo->user->arm_bytes)) ||
	    (!list_empty(&fifo->waiters.waiting) &&
	     nla_put_flag(skb, BGDMA_A_FIFO_SENDERS_WAIT)) ||
	    nla_put_u32(skb, BGDMA_A_FIFO_GRANTS,
			bgdma_grants_count(&fifo->grants)))
		return -EMSGSIZE;
	return bgdma_put_record(skb, ctx, BGDMA_A_FIFO_RECORD, fifo->rec);
}

/**
 * struct bgdma_rgq_sum - all senders of a remote-get queue together
 * @held: descriptors waiting or under way
 * @senders: that have some
 * @waits: a stream that is parked, or NULL
 * @blocked: some sender waits for room here
 * @stats: what the queue executed
 */
struct bgdma_rgq_sum {
	u64 held;
	u32 senders;
	const struct bgdma_stream *waits;
	bool blocked;
	struct bgdma_stream_stats stats;
};

static void bgdma_sum_rgq(const struct bgdma_rget_queue *queue,
			  struct bgdma_rgq_sum *sum)
{
	u32 i;

	*sum = (struct bgdma_rgq_sum) {};
	sum->blocked = !list_empty(&queue->waiters.waiting);
	for (i = 0; i < queue->nsubs; i++) {
		const struct bgdma_rget_sub *sub = &queue->subs[i];
		u32 held = READ_ONCE(sub->tail) - READ_ONCE(sub->head);

		held = min(held, queue->quota) + READ_ONCE(sub->s.x.active);
		sum->held += held;
		sum->senders += !!held;
		if (test_bit(BGDMA_STREAM_PARKED, &sub->s.flags))
			sum->waits = &sub->s;
		sum->stats.descriptors += READ_ONCE(sub->s.stats.descriptors);
		sum->stats.packets += READ_ONCE(sub->s.stats.packets);
		sum->stats.bytes_copied +=
			READ_ONCE(sub->s.stats.bytes_copied);
		sum->stats.errors += READ_ONCE(sub->s.stats.errors);
		sum->stats.blocked += READ_ONCE(sub->s.stats.blocked);
	}
}

static int bgdma_put_rgq(struct sk_buff *skb, struct bgdma_ctx *ctx,
			 const struct bgdma_rget_queue *queue)
{
	u32 state = BGDMA_FIFO_STATE_IDLE;
	struct bgdma_rgq_sum sum;

	bgdma_sum_rgq(queue, &sum);
	/* A queue goes on after an error, so what it waits for says more. */
	if (sum.waits)
		state = BGDMA_FIFO_STATE_BLOCKED;
	else if (READ_ONCE(queue->rec->code))
		state = BGDMA_FIFO_STATE_ERROR;
	else if (sum.held)
		state = BGDMA_FIFO_STATE_BUSY;

	if (bgdma_put_fifo(skb, ctx, BGDMA_KIND_RGET_QUEUE, queue->id,
			   (u64)queue->quota * queue->nsubs, sum.held, state) ||
	    (sum.waits && bgdma_put_waits(skb, sum.waits)) ||
	    (sum.blocked && nla_put_flag(skb, BGDMA_A_FIFO_SENDERS_WAIT)) ||
	    nla_put_u32(skb, BGDMA_A_FIFO_QUOTA, queue->quota) ||
	    nla_put_u32(skb, BGDMA_A_FIFO_SENDERS, sum.senders) ||
	    nla_put_u32(skb, BGDMA_A_FIFO_SENDERS_MAX, queue->nsubs) ||
	    nla_put_u32(skb, BGDMA_A_FIFO_TIMEOUT_MS,
			jiffies_to_msecs(queue->timeout)) ||
	    nla_put_u64_64bit(skb, BGDMA_A_FIFO_REFUSED,
			      atomic64_read(&queue->refused),
			      BGDMA_A_FIFO_PAD) ||
	    nla_put_u32(skb, BGDMA_A_FIFO_GRANTS,
			bgdma_grants_count(&queue->grants)) ||
	    bgdma_put_stats(skb, BGDMA_A_FIFO_STATS, &sum.stats))
		return -EMSGSIZE;
	return bgdma_put_record(skb, ctx, BGDMA_A_FIFO_RECORD, queue->rec);
}

/*
 * Item @item of a context: its injection FIFOs, its reception FIFOs, then its
 * remote-get queues. 1: put; 0: there is none of that number; -EMSGSIZE.
 */
static int bgdma_put_any_fifo(struct sk_buff *skb, struct bgdma_ctx *ctx,
			      u32 item)
{
	const struct bgdma_rget_queue *queue;
	const struct bgdma_inj_fifo *inj;
	const struct bgdma_rec_fifo *rec;

	if (item < ctx->n_inj) {
		inj = bgdma_deref(ctx->inj[item]);
		return inj ? bgdma_put_inj(skb, ctx, inj) ?: 1 : 0;
	}
	item -= ctx->n_inj;
	if (item < ctx->n_rec) {
		rec = bgdma_deref(ctx->rec[item]);
		return rec ? bgdma_put_rec(skb, ctx, rec) ?: 1 : 0;
	}
	queue = bgdma_deref(ctx->rgq[item - ctx->n_rec]);
	return queue ? bgdma_put_rgq(skb, ctx, queue) ?: 1 : 0;
}

static int bgdma_show_fifo(struct sk_buff *skb, struct netlink_callback *cb,
			   struct bgdma_ctx *ctx)
{
	struct bgdma_dump *dump = bgdma_dump(cb);
	void *head;
	int ret;

	while (dump->item < ctx->n_inj + ctx->n_rec + ctx->n_rgq) {
		head = bgdma_dump_message(skb, cb, BGDMA_CMD_FIFO_GET);
		if (!head)
			return -EMSGSIZE;
		ret = bgdma_put_any_fifo(skb, ctx, dump->item);
		if (ret > 0)
			genlmsg_end(skb, head);
		else
			genlmsg_cancel(skb, head);
		if (ret < 0)
			return ret;
		dump->item++;
		if (ret)
			return 1;
	}
	return 0;
}

static int bgdma_show_fifos(struct sk_buff *skb, struct netlink_callback *cb,
			    struct bgdma_partition *part)
{
	return bgdma_dump_items(skb, cb, part, bgdma_show_fifo);
}

/**
 * bgdma_fifo_get_dumpit() - BGDMA_CMD_FIFO_GET
 * @skb: buffer for the answer
 * @cb: how far it has come
 *
 * Return: bytes written, 0 at the end, or a negative errno.
 */
int bgdma_fifo_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	return bgdma_dump_partitions(skb, cb, bgdma_show_fifos);
}
