// SPDX-License-Identifier: GPL-2.0
/*
 * All that one network namespace does, in one message.
 */
#include "../engine/busy.h"
#include "netlink.h"

/**
 * struct bgdma_totals - sums over what the caller may see
 * @partitions: so many
 * @nodes: where somebody is attached
 * @contexts: so many
 * @memory: bytes of kernel memory of the contexts
 * @stats: of the contexts; for who sees all, of those that left, too
 */
struct bgdma_totals {
	u32 partitions;
	u32 nodes;
	u32 contexts;
	u64 memory;
	struct bgdma_stream_stats stats;
};

/* @ctx is held inside a slice; not any more afterwards. */
static void bgdma_total_ctx(struct bgdma_ctx *ctx, const struct bgdma_dump *who,
			    struct bgdma_totals *t)
{
	struct bgdma_stream_stats stats = {};

	if (bgdma_dump_sees(who, ctx->user->uid)) {
		if (!bgdma_ctx_stats(ctx, &stats))
			return;
		bgdma_stats_add(&t->stats, &stats);
		t->memory += bgdma_ctx_bytes(ctx);
		t->contexts++;
	}
	bgdma_busy_put(&ctx->busy);
}

static void bgdma_total_partition(struct bgdma_partition *part,
				  const struct bgdma_dump *who,
				  struct bgdma_totals *t)
{
	unsigned long key;
	struct bgdma_node *node;
	struct bgdma_ctx *ctx;

	t->partitions++;
	mutex_lock(&part->lock);
	xa_for_each(&part->nodes, key, node)
		t->nodes += bgdma_dump_sees(who, node->uid);
	mutex_unlock(&part->lock);
	if (who->all) {
		mutex_lock(&part->stats_lock);
		bgdma_stats_add(&t->stats, &part->stats_gone);
		mutex_unlock(&part->stats_lock);
	}

	for (key = 0; ; key++) {
		bgdma_slice_begin();
		ctx = xa_find(&part->ctxs, &key, ULONG_MAX, XA_PRESENT);
		if (ctx && bgdma_busy_get(&ctx->busy))
			bgdma_total_ctx(ctx, who, t);
		bgdma_slice_end();
		if (!ctx)
			break;
		cond_resched();
	}
}

static int bgdma_put_totals(struct sk_buff *skb, const struct bgdma_totals *t)
{
	if (nla_put_u32(skb, BGDMA_A_ENGINE_PARTITIONS, t->partitions) ||
	    nla_put_u32(skb, BGDMA_A_ENGINE_NODES, t->nodes) ||
	    nla_put_u32(skb, BGDMA_A_ENGINE_CONTEXTS, t->contexts) ||
	    nla_put_u32(skb, BGDMA_A_ENGINE_THREADS, bgdma_engine_threads()) ||
	    nla_put_u64_64bit(skb, BGDMA_A_ENGINE_MEMORY, t->memory,
			      BGDMA_A_ENGINE_PAD))
		return -EMSGSIZE;
	return bgdma_put_stats(skb, BGDMA_A_ENGINE_STATS, &t->stats);
}

/**
 * bgdma_stats_get_doit() - BGDMA_CMD_STATS_GET
 * @skb: request
 * @info: it has no attributes
 *
 * Return: 0 or a negative errno.
 */
int bgdma_stats_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct net *net = genl_info_net(info);
	struct bgdma_dump who = {};
	struct bgdma_totals totals = {};
	struct bgdma_partition *part;
	struct sk_buff *reply;
	void *head;

	bgdma_dump_for(&who, skb);
	while ((part = bgdma_dump_next(net, &who))) {
		bgdma_total_partition(part, &who, &totals);
		bgdma_partition_put(part);
		who.inside = false;
	}

	reply = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);
	if (!reply)
		return -ENOMEM;
	head = genlmsg_put_reply(reply, info, &bgdma_family, 0,
				 BGDMA_CMD_STATS_GET);
	if (!head || bgdma_put_totals(reply, &totals)) {
		nlmsg_free(reply);
		return -EMSGSIZE;
	}
	genlmsg_end(reply, head);
	return genlmsg_reply(reply, info);
}
