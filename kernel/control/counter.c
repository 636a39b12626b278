// SPDX-License-Identifier: GPL-2.0
/*
 * Counters as an administrator sees them.
 */
#include "../engine/busy.h"
#include "../engine/ring.h"
#include "netlink.h"

static int bgdma_put_cell(struct sk_buff *skb,
			  const struct bgdma_counter_cell *cell)
{
	if (nla_put_u32(skb, BGDMA_A_COUNTER_GENERATION,
			READ_ONCE(cell->lease_gen)) ||
	    nla_put_s64(skb, BGDMA_A_COUNTER_VALUE, READ_ONCE(cell->value),
			BGDMA_A_COUNTER_PAD) ||
	    nla_put_u64_64bit(skb, BGDMA_A_COUNTER_ZERO_SEQ,
			      READ_ONCE(cell->zero_seq), BGDMA_A_COUNTER_PAD) ||
	    nla_put_s64(skb, BGDMA_A_COUNTER_WAKE_AT, READ_ONCE(cell->wake_at),
			BGDMA_A_COUNTER_PAD) ||
	    nla_put_u32(skb, BGDMA_A_COUNTER_ARMED, READ_ONCE(cell->arm)) ||
	    nla_put_u32(skb, BGDMA_A_COUNTER_LEASE_RANK,
			READ_ONCE(cell->lease_peer)) ||
	    nla_put_u32(skb, BGDMA_A_COUNTER_LEASE_CTX,
			READ_ONCE(cell->lease_ctx)))
		return -EMSGSIZE;
	return 0;
}

static int bgdma_put_counter(struct sk_buff *skb, struct bgdma_ctx *ctx,
			     unsigned int kind, u32 slot)
{
	struct bgdma_counter *c = &ctx->counters[kind][slot];
	bool hit = bgdma_ring_test_bit(ctx->uctl->hit_zero[kind], slot);
	bool enabled = bgdma_ring_test_bit(ctx->uctl->enable[kind], slot);

	if (bgdma_put_place(skb, ctx) ||
	    nla_put_u32(skb, BGDMA_A_COUNTER_KIND,
			BGDMA_KIND_INJ_COUNTER + kind) ||
	    nla_put_u32(skb, BGDMA_A_COUNTER_SLOT, slot) ||
	    bgdma_put_cell(skb, &ctx->cells[kind][slot]) ||
	    nla_put_u32(skb, BGDMA_A_COUNTER_GRANTS,
			bgdma_grants_count(&c->grants)) ||
	    (hit && nla_put_flag(skb, BGDMA_A_COUNTER_HIT_ZERO)) ||
	    (enabled && nla_put_flag(skb, BGDMA_A_COUNTER_ENABLED)) ||
	    ((READ_ONCE(c->flags) & BGDMA_COUNTER_NO_UNDERFLOW) &&
	     nla_put_flag(skb, BGDMA_A_COUNTER_NO_UNDERFLOW)))
		return -EMSGSIZE;
	return bgdma_put_record(skb, ctx, BGDMA_A_COUNTER_RECORD,
				&ctx->counter_rec[kind][slot]);
}

/* Items of a context: its injection counters, then its reception counters. */
static int bgdma_show_counter(struct sk_buff *skb, struct netlink_callback *cb,
			      struct bgdma_ctx *ctx)
{
	struct bgdma_dump *dump = bgdma_dump(cb);
	unsigned int kind;
	void *head;
	u32 slot;

	for (; dump->item < ctx->n_ctr[0] + ctx->n_ctr[1]; dump->item++) {
		kind = dump->item >= ctx->n_ctr[0];
		slot = dump->item - (kind ? ctx->n_ctr[0] : 0);
		if (!READ_ONCE(ctx->counters[kind][slot].used))
			continue;

		head = bgdma_dump_message(skb, cb, BGDMA_CMD_COUNTER_GET);
		if (!head)
			return -EMSGSIZE;
		if (bgdma_put_counter(skb, ctx, kind, slot)) {
			genlmsg_cancel(skb, head);
			return -EMSGSIZE;
		}
		genlmsg_end(skb, head);
		dump->item++;
		return 1;
	}
	return 0;
}

static int bgdma_show_counters(struct sk_buff *skb, struct netlink_callback *cb,
			       struct bgdma_partition *part)
{
	return bgdma_dump_items(skb, cb, part, bgdma_show_counter);
}

/**
 * bgdma_counter_get_dumpit() - BGDMA_CMD_COUNTER_GET
 * @skb: buffer for the answer
 * @cb: how far it has come
 *
 * Return: bytes written, 0 at the end, or a negative errno.
 */
int bgdma_counter_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	return bgdma_dump_partitions(skb, cb, bgdma_show_counters);
}
