// SPDX-License-Identifier: GPL-2.0
/*
 * Dumps: walk what the namespace holds, as much as fits into one buffer, and
 * go on later. Positions are names and numbers, not pointers, so whatever
 * comes or goes meanwhile, what was there all the time is shown exactly once.
 */
#include <linux/slab.h>
#include <linux/user_namespace.h>

#include "../engine/busy.h"
#include "netlink.h"

/* All requests of dumps name these three by the same numbers. */
#define BGDMA_SAME(a, b) static_assert((int)BGDMA_A_##a == (int)BGDMA_A_##b)
BGDMA_SAME(PARTITION_NAME, CTX_PARTITION);
BGDMA_SAME(NODE_PARTITION, CTX_PARTITION);
BGDMA_SAME(COUNTER_PARTITION, CTX_PARTITION);
BGDMA_SAME(FIFO_PARTITION, CTX_PARTITION);
BGDMA_SAME(TREE_PARTITION, CTX_PARTITION);
BGDMA_SAME(LINK_PARTITION, CTX_PARTITION);
BGDMA_SAME(PEER_PARTITION, CTX_PARTITION);
BGDMA_SAME(NODE_RANK, CTX_RANK);
BGDMA_SAME(COUNTER_RANK, CTX_RANK);
BGDMA_SAME(FIFO_RANK, CTX_RANK);
BGDMA_SAME(TREE_RANK, CTX_RANK);
BGDMA_SAME(COUNTER_CTX, CTX_CTX);
BGDMA_SAME(FIFO_CTX, CTX_CTX);
BGDMA_SAME(TREE_CTX, CTX_CTX);

/*
 * Narrow a dump down to what the request names. Not in .start, where 6.1 has no
 * way to explain an error.
 */
static int bgdma_dump_filter(struct netlink_callback *cb,
			     struct bgdma_dump *dump)
{
	struct nlattr **attrs = bgdma_dump_attrs(cb);
	u32 maxattr = bgdma_dump_maxattr(cb);
	struct nlattr *name, *rank = NULL, *ctx = NULL;
	struct bgdma_partition *part;
	u32 size;

	name = attrs[BGDMA_A_CTX_PARTITION];
	if (maxattr >= BGDMA_A_CTX_RANK)
		rank = attrs[BGDMA_A_CTX_RANK];
	if (maxattr >= BGDMA_A_CTX_CTX)
		ctx = attrs[BGDMA_A_CTX_CTX];

	if (rank && !name) {
		NL_SET_ERR_MSG_MOD(cb->extack, "a rank needs its partition");
		return -EINVAL;
	}
	if (ctx && !rank) {
		NL_SET_ERR_MSG_MOD(cb->extack, "a context needs its rank");
		return -EINVAL;
	}
	if (!name)
		return 0;

	part = bgdma_partition_find(bgdma_net(sock_net(cb->skb->sk)),
				    nla_data(name));
	if (!part) {
		NL_SET_ERR_MSG_ATTR(cb->extack, name,
				    "bgdma: no such partition in this network namespace");
		return -ENOENT;
	}
	size = part->size;
	strscpy(dump->name, part->name, sizeof(dump->name));
	bgdma_partition_put(part);
	dump->one = true;
	dump->inside = true;
	if (!rank)
		return 0;

	if (nla_get_u32(rank) >= size) {
		NL_SET_ERR_MSG_ATTR(cb->extack, rank,
				    "bgdma: the partition has no such rank");
		return -ENOENT;
	}
	dump->first = (u64)nla_get_u32(rank) * BGDMA_CTX_PER_NODE;
	dump->last = dump->first + BGDMA_CTX_PER_NODE - 1;
	if (ctx) {
		dump->first += nla_get_u32(ctx);
		dump->last = dump->first;
	}
	dump->key = dump->first;
	return 0;
}

/**
 * bgdma_dump_for() - whose contexts a request is shown
 * @dump: of the request
 * @skb: request
 *
 * Those of who opened the socket: who writes to it may be a program with more
 * rights that was given it, and knows nothing of netlink.
 */
void bgdma_dump_for(struct bgdma_dump *dump, struct sk_buff *skb)
{
	struct sock *sk = NETLINK_CB(skb).sk;

	dump->uid = READ_ONCE(sk->sk_uid);
	dump->all = netlink_ns_capable(skb, sock_net(sk)->user_ns,
				       CAP_NET_ADMIN);
}

/**
 * bgdma_dump_start() - begin a dump
 * @cb: of the dump
 *
 * Return: 0 or -ENOMEM.
 */
int bgdma_dump_start(struct netlink_callback *cb)
{
	struct bgdma_dump *dump;

	dump = kzalloc(sizeof(*dump), GFP_KERNEL);
	if (!dump)
		return -ENOMEM;
	dump->last = U32_MAX;
	bgdma_dump_for(dump, cb->skb);
	*(struct bgdma_dump **)cb->ctx = dump;
	return 0;
}

/**
 * bgdma_dump_done() - end a dump, complete or not
 * @cb: of the dump
 *
 * Return: 0.
 */
int bgdma_dump_done(struct netlink_callback *cb)
{
	kfree(bgdma_dump(cb));
	return 0;
}

/**
 * bgdma_dump_sees() - may this dump show what belongs to a user?
 * @dump: for whom
 * @uid: owner
 *
 * Return: true if it may.
 */
bool bgdma_dump_sees(const struct bgdma_dump *dump, kuid_t uid)
{
	return dump->all || uid_eq(dump->uid, uid);
}

/**
 * bgdma_dump_next() - partition to go on with, in the order of names
 * @net: network namespace
 * @dump: its position moves there
 *
 * Return: a reference, or NULL at the end.
 */
struct bgdma_partition *bgdma_dump_next(struct net *net,
					struct bgdma_dump *dump)
{
	struct bgdma_net *bn = bgdma_net(net);
	struct bgdma_partition *part, *best = NULL;

	mutex_lock(&bn->lock);
	list_for_each_entry(part, &bn->partitions, node) {
		int order = strcmp(part->name, dump->name);

		if (part->going || order < 0 || (order == 0 && !dump->inside) ||
		    (order > 0 && dump->one))
			continue;
		if (!best || strcmp(part->name, best->name) < 0)
			best = part;
	}
	if (best)
		kref_get(&best->ref);
	mutex_unlock(&bn->lock);

	if (best && (!dump->inside || strcmp(best->name, dump->name))) {
		strscpy(dump->name, best->name, sizeof(dump->name));
		dump->inside = true;
		dump->key = dump->first;
		dump->item = 0;
	}
	return best;
}

/**
 * bgdma_dump_partitions() - go on with a dump
 * @skb: buffer for the answer
 * @cb: of the dump
 * @show: shows one partition
 *
 * Return: what .dumpit returns.
 */
int bgdma_dump_partitions(struct sk_buff *skb, struct netlink_callback *cb,
			  bgdma_show_partition show)
{
	struct bgdma_dump *dump = bgdma_dump(cb);
	struct bgdma_partition *part;
	int err = 0;

	if (!dump->begun)
		err = bgdma_dump_filter(cb, dump);
	dump->begun = true;
	while (!err) {
		part = bgdma_dump_next(sock_net(skb->sk), dump);
		if (!part)
			break;
		err = show(skb, cb, part);
		if (!err)
			dump->inside = false;
		bgdma_partition_put(part);
	}
	/* An empty answer that nothing fits into is an error, not the end. */
	return skb->len ?: err;
}

/* Show the next object of the next context; 0 when there is none. */
static int bgdma_dump_step(struct sk_buff *skb, struct netlink_callback *cb,
			   struct bgdma_partition *part, bgdma_show_item show)
{
	struct bgdma_dump *dump = bgdma_dump(cb);
	unsigned long key = dump->key;
	struct bgdma_ctx *ctx;
	int ret = 0;

	bgdma_slice_begin();
	ctx = xa_find(&part->ctxs, &key, dump->last, XA_PRESENT);
	if (!ctx) {
		bgdma_slice_end();
		return 0;
	}
	if (key != dump->key)
		dump->item = 0;
	dump->key = key;
	if (bgdma_busy_get(&ctx->busy)) {
		if (bgdma_dump_sees(dump, ctx->user->uid))
			ret = show(skb, cb, ctx);
		/* It has ended, and is held no more. */
		if (ret == -ESTALE)
			ret = 0;
		else
			bgdma_busy_put(&ctx->busy);
	}
	bgdma_slice_end();

	if (!ret) {
		dump->item = 0;
		dump->key++;
		ret = dump->key <= dump->last;
	}
	return ret;
}

/**
 * bgdma_dump_items() - show objects of the contexts of a partition
 * @skb: buffer for the answer
 * @cb: of the dump
 * @part: partition
 * @show: shows the next object of a context
 *
 * Return: 0 when all are shown, or -EMSGSIZE.
 */
int bgdma_dump_items(struct sk_buff *skb, struct netlink_callback *cb,
		     struct bgdma_partition *part, bgdma_show_item show)
{
	int ret;

	do {
		ret = bgdma_dump_step(skb, cb, part, show);
		cond_resched();
	} while (ret > 0);
	return ret;
}

/**
 * bgdma_dump_message() - begin a message of a dump
 * @skb: buffer for the answer
 * @cb: of the dump
 * @cmd: command that it answers
 *
 * Return: its head, or NULL when there is no room.
 */
void *bgdma_dump_message(struct sk_buff *skb, struct netlink_callback *cb,
			 u8 cmd)
{
	return genlmsg_put(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq,
			   &bgdma_family, NLM_F_MULTI, cmd);
}

/**
 * bgdma_put_place() - say which context an object belongs to
 * @skb: message about a context, counter, FIFO or class
 * @ctx: owner of the object
 *
 * Return: 0 or -EMSGSIZE.
 */
int bgdma_put_place(struct sk_buff *skb, const struct bgdma_ctx *ctx)
{
	return nla_put_string(skb, BGDMA_A_CTX_PARTITION,
			      ctx->partition->name) ?:
	       nla_put_u32(skb, BGDMA_A_CTX_RANK, ctx->rank) ?:
	       nla_put_u32(skb, BGDMA_A_CTX_CTX, ctx->id);
}

/**
 * bgdma_put_stats() - show what the engine did
 * @skb: message
 * @attr: attribute to nest it in
 * @stats: what it did
 *
 * Return: 0 or -EMSGSIZE.
 */
int bgdma_put_stats(struct sk_buff *skb, int attr,
		    const struct bgdma_stream_stats *stats)
{
	struct nlattr *nest = nla_nest_start(skb, attr);

	if (!nest ||
	    nla_put_u64_64bit(skb, BGDMA_A_STATS_DESCRIPTORS,
			      stats->descriptors, BGDMA_A_STATS_PAD) ||
	    nla_put_u64_64bit(skb, BGDMA_A_STATS_PACKETS, stats->packets,
			      BGDMA_A_STATS_PAD) ||
	    nla_put_u64_64bit(skb, BGDMA_A_STATS_BYTES_COPIED,
			      stats->bytes_copied, BGDMA_A_STATS_PAD) ||
	    nla_put_u64_64bit(skb, BGDMA_A_STATS_ERRORS, stats->errors,
			      BGDMA_A_STATS_PAD) ||
	    nla_put_u64_64bit(skb, BGDMA_A_STATS_BLOCKED, stats->blocked,
			      BGDMA_A_STATS_PAD))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

/**
 * bgdma_put_record() - show the last error of a counter or FIFO, if any
 * @skb: message
 * @ctx: owner
 * @attr: attribute to nest it in
 * @rec: its record
 *
 * Return: 0 or -EMSGSIZE.
 */
int bgdma_put_record(struct sk_buff *skb, struct bgdma_ctx *ctx, int attr,
		     const struct bgdma_record *rec)
{
	struct bgdma_record is;
	struct nlattr *nest;

	/* One, not halves of two: it may be cleared, and the next one shown. */
	spin_lock(&ctx->event_lock);
	is = *rec;
	spin_unlock(&ctx->event_lock);
	if (!is.code)
		return 0;
	nest = nla_nest_start(skb, attr);
	if (!nest ||
	    nla_put_u32(skb, BGDMA_A_RECORD_CODE, is.code) ||
	    nla_put_u32(skb, BGDMA_A_RECORD_LOST, is.lost) ||
	    nla_put_u64_64bit(skb, BGDMA_A_RECORD_DESC_SEQ, is.desc_seq,
			      BGDMA_A_RECORD_PAD) ||
	    nla_put_u32(skb, BGDMA_A_RECORD_FIFO, is.fifo) ||
	    nla_put_u32(skb, BGDMA_A_RECORD_FIFO_KIND, is.fifo_kind) ||
	    nla_put_u32(skb, BGDMA_A_RECORD_PEER_RANK, is.peer_rank) ||
	    nla_put_u32(skb, BGDMA_A_RECORD_PEER_CTX, is.peer_ctx) ||
	    nla_put_u32(skb, BGDMA_A_RECORD_TRANSFER_ID, is.transfer_id) ||
	    nla_put_u64_64bit(skb, BGDMA_A_RECORD_OFFSET, is.offset,
			      BGDMA_A_RECORD_PAD) ||
	    nla_put_u64_64bit(skb, BGDMA_A_RECORD_BOUND, is.bound,
			      BGDMA_A_RECORD_PAD))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}
