// SPDX-License-Identifier: GPL-2.0
/*
 * Who is attached: nodes, and their contexts with what they hold.
 */
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/user_namespace.h>

#include "../engine/busy.h"
#include "netlink.h"

/* Kernel memory of all contexts of a node. */
static u64 bgdma_node_bytes(struct bgdma_partition *part, u32 rank)
{
	unsigned long key = (unsigned long)rank * BGDMA_CTX_PER_NODE;
	unsigned long last = key + BGDMA_CTX_PER_NODE - 1;
	struct bgdma_ctx *ctx;
	u64 bytes = 0;

	for (;; key++) {
		bgdma_slice_begin();
		ctx = xa_find(&part->ctxs, &key, last, XA_PRESENT);
		if (ctx && bgdma_busy_get(&ctx->busy)) {
			bytes += bgdma_ctx_bytes(ctx);
			bgdma_busy_put(&ctx->busy);
		}
		bgdma_slice_end();
		if (!ctx)
			return bytes;
	}
}

static int bgdma_show_node(struct sk_buff *skb, struct netlink_callback *cb,
			   struct bgdma_partition *part, u32 rank,
			   const struct bgdma_node *node)
{
	struct user_namespace *ns = sock_net(skb->sk)->user_ns;
	void *head = bgdma_dump_message(skb, cb, BGDMA_CMD_NODE_GET);
	u32 x = rank % part->dims[0];
	u32 y = rank / part->dims[0] % part->dims[1];
	u32 z = rank / part->dims[0] / part->dims[1];

	if (!head)
		return -EMSGSIZE;
	if (nla_put_string(skb, BGDMA_A_NODE_PARTITION, part->name) ||
	    nla_put_u32(skb, BGDMA_A_NODE_RANK, rank) ||
	    nla_put_u32(skb, BGDMA_A_NODE_X, x) ||
	    nla_put_u32(skb, BGDMA_A_NODE_Y, y) ||
	    nla_put_u32(skb, BGDMA_A_NODE_Z, z) ||
	    nla_put_u32(skb, BGDMA_A_NODE_UID,
			from_kuid_munged(ns, node->uid)) ||
	    nla_put_u32(skb, BGDMA_A_NODE_CONTEXTS, node->contexts) ||
	    nla_put_u64_64bit(skb, BGDMA_A_NODE_MEMORY,
			      bgdma_node_bytes(part, rank),
			      BGDMA_A_NODE_PAD)) {
		genlmsg_cancel(skb, head);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, head);
	return 0;
}

static int bgdma_show_nodes(struct sk_buff *skb, struct netlink_callback *cb,
			    struct bgdma_partition *part)
{
	struct bgdma_dump *dump = bgdma_dump(cb);
	unsigned long last = dump->last / BGDMA_CTX_PER_NODE;
	unsigned long rank = dump->key / BGDMA_CTX_PER_NODE;
	struct bgdma_node *node;
	int err = 0;

	mutex_lock(&part->lock);
	xa_for_each_range(&part->nodes, rank, node, rank, last) {
		dump->key = (u64)rank * BGDMA_CTX_PER_NODE;
		if (!bgdma_dump_sees(dump, node->uid))
			continue;
		err = bgdma_show_node(skb, cb, part, rank, node);
		if (err)
			break;
	}
	mutex_unlock(&part->lock);
	return err;
}

/**
 * bgdma_node_get_dumpit() - BGDMA_CMD_NODE_GET
 * @skb: buffer for the answer
 * @cb: how far it has come
 *
 * Return: bytes written, 0 at the end, or a negative errno.
 */
int bgdma_node_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	return bgdma_dump_partitions(skb, cb, bgdma_show_nodes);
}

/**
 * struct bgdma_held - what a context holds
 * @fifos: injection FIFOs, reception FIFOs, remote-get queues
 * @counters: by kind
 */
struct bgdma_held {
	u32 fifos[3];
	u32 counters[2];
};

static void bgdma_count_held(struct bgdma_ctx *ctx, struct bgdma_held *held)
{
	u32 kind, i;

	for (i = 0; i < ctx->n_inj; i++)
		held->fifos[0] += !!rcu_access_pointer(ctx->inj[i]);
	for (i = 0; i < ctx->n_rec; i++)
		held->fifos[1] += !!rcu_access_pointer(ctx->rec[i]);
	for (i = 0; i < ctx->n_rgq; i++)
		held->fifos[2] += !!rcu_access_pointer(ctx->rgq[i]);
	for (kind = 0; kind < 2; kind++)
		for (i = 0; i < ctx->n_ctr[kind]; i++)
			held->counters[kind] +=
				READ_ONCE(ctx->counters[kind][i].used);
}

/* The process that attached, as the reader of the dump would call it. */
static pid_t bgdma_ctx_pid(struct bgdma_ctx *ctx)
{
	pid_t pid = 0;
#ifdef CONFIG_MEMCG
	struct task_struct *owner;

	rcu_read_lock();
	owner = ctx->mm ? rcu_dereference(ctx->mm->owner) : NULL;
	if (owner)
		pid = task_tgid_vnr(owner);
	rcu_read_unlock();
#endif
	return pid;
}

static int bgdma_put_held(struct sk_buff *skb, struct bgdma_ctx *ctx)
{
	struct bgdma_held held = {};

	bgdma_count_held(ctx, &held);
	if (nla_put_u32(skb, BGDMA_A_CTX_INJ_FIFOS, held.fifos[0]) ||
	    nla_put_u32(skb, BGDMA_A_CTX_INJ_FIFOS_MAX, ctx->n_inj) ||
	    nla_put_u32(skb, BGDMA_A_CTX_REC_FIFOS, held.fifos[1]) ||
	    nla_put_u32(skb, BGDMA_A_CTX_REC_FIFOS_MAX, ctx->n_rec) ||
	    nla_put_u32(skb, BGDMA_A_CTX_RGET_QUEUES, held.fifos[2]) ||
	    nla_put_u32(skb, BGDMA_A_CTX_RGET_QUEUES_MAX, ctx->n_rgq) ||
	    nla_put_u32(skb, BGDMA_A_CTX_INJ_COUNTERS, held.counters[0]) ||
	    nla_put_u32(skb, BGDMA_A_CTX_INJ_COUNTERS_MAX, ctx->n_ctr[0]) ||
	    nla_put_u32(skb, BGDMA_A_CTX_REC_COUNTERS, held.counters[1]) ||
	    nla_put_u32(skb, BGDMA_A_CTX_REC_COUNTERS_MAX, ctx->n_ctr[1]) ||
	    nla_put_u32(skb, BGDMA_A_CTX_REGIONS, READ_ONCE(ctx->n_regions)) ||
	    nla_put_u64_64bit(skb, BGDMA_A_CTX_REGION_BYTES,
			      READ_ONCE(ctx->region_bytes), BGDMA_A_CTX_PAD))
		return -EMSGSIZE;
	return 0;
}

static int bgdma_put_ctx(struct sk_buff *skb, struct bgdma_ctx *ctx,
			 const struct bgdma_stream_stats *stats)
{
	struct user_namespace *ns = sock_net(skb->sk)->user_ns;
	pid_t pid = bgdma_ctx_pid(ctx);

	if (bgdma_put_place(skb, ctx) ||
	    nla_put_u32(skb, BGDMA_A_CTX_INCARNATION, ctx->who.incarnation) ||
	    nla_put_u32(skb, BGDMA_A_CTX_UID,
			from_kuid_munged(ns, ctx->user->uid)) ||
	    (pid && nla_put_u32(skb, BGDMA_A_CTX_PID, pid)) ||
	    nla_put_u64_64bit(skb, BGDMA_A_CTX_MEMORY, bgdma_ctx_bytes(ctx),
			      BGDMA_A_CTX_PAD) ||
	    (READ_ONCE(ctx->kctl->wake) &&
	     nla_put_flag(skb, BGDMA_A_CTX_ASLEEP)) ||
	    bgdma_put_held(skb, ctx) ||
	    nla_put_u64_64bit(skb, BGDMA_A_CTX_EVENTS,
			      READ_ONCE(ctx->kctl->events_tail),
			      BGDMA_A_CTX_PAD) ||
	    nla_put_u64_64bit(skb, BGDMA_A_CTX_EVENTS_LOST,
			      READ_ONCE(ctx->kctl->events_lost),
			      BGDMA_A_CTX_PAD))
		return -EMSGSIZE;
	return bgdma_put_stats(skb, BGDMA_A_CTX_STATS, stats);
}

static int bgdma_show_ctx(struct sk_buff *skb, struct netlink_callback *cb,
			  struct bgdma_ctx *ctx)
{
	struct bgdma_stream_stats stats = {};
	struct bgdma_dump *dump = bgdma_dump(cb);
	void *head;

	if (dump->item)
		return 0;
	if (!bgdma_ctx_stats(ctx, &stats))
		return -ESTALE;
	head = bgdma_dump_message(skb, cb, BGDMA_CMD_CTX_GET);
	if (!head)
		return -EMSGSIZE;
	if (bgdma_put_ctx(skb, ctx, &stats)) {
		genlmsg_cancel(skb, head);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, head);
	dump->item = 1;
	return 1;
}

static int bgdma_show_ctxs(struct sk_buff *skb, struct netlink_callback *cb,
			   struct bgdma_partition *part)
{
	return bgdma_dump_items(skb, cb, part, bgdma_show_ctx);
}

/**
 * bgdma_ctx_get_dumpit() - BGDMA_CMD_CTX_GET
 * @skb: buffer for the answer
 * @cb: how far it has come
 *
 * Return: bytes written, 0 at the end, or a negative errno.
 */
int bgdma_ctx_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	return bgdma_dump_partitions(skb, cb, bgdma_show_ctxs);
}
