/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Generic netlink: what its files share.
 *
 * Lock order: bgdma_config_lock, then as in bgdma.h. Dumps take neither
 * ctx.lock nor anything else that is held over copies to user space: they look
 * at contexts inside slices, as the engine does, so nobody who stalls his own
 * control call stalls an administrator who looks at it.
 */
#ifndef _BGDMA_NETLINK_H
#define _BGDMA_NETLINK_H

#include <net/genetlink.h>
#include <net/sock.h>

#include <linux/bgdma_netlink.h>

#include "../bgdma.h"

extern struct genl_family bgdma_family;

/* policy.c */
extern const struct nla_policy
bgdma_partition_new_policy[BGDMA_A_PARTITION_KEY + 1];
extern const struct nla_policy
bgdma_partition_set_policy[BGDMA_A_PARTITION_MAX_INJ_FIFOS + 1];
extern const struct nla_policy
bgdma_partition_del_policy[BGDMA_A_PARTITION_NAME + 1];
extern const struct nla_policy
bgdma_partition_get_policy[BGDMA_A_PARTITION_NAME + 1];
extern const struct nla_policy bgdma_node_get_policy[BGDMA_A_NODE_RANK + 1];
extern const struct nla_policy bgdma_ctx_get_policy[BGDMA_A_CTX_CTX + 1];
extern const struct nla_policy
bgdma_counter_get_policy[BGDMA_A_COUNTER_CTX + 1];
extern const struct nla_policy bgdma_fifo_get_policy[BGDMA_A_FIFO_CTX + 1];
extern const struct nla_policy bgdma_tree_get_policy[BGDMA_A_TREE_CLASS + 1];

extern const struct nla_policy bgdma_link_set_policy[BGDMA_A_LINK_FIXED + 1];
extern const struct nla_policy bgdma_link_del_policy[BGDMA_A_LINK_IFINDEX + 1];
extern const struct nla_policy
bgdma_link_get_policy[BGDMA_A_LINK_PARTITION + 1];
extern const struct nla_policy
bgdma_peer_get_policy[BGDMA_A_PEER_PARTITION + 1];
extern const struct nla_policy
bgdma_route_get_policy[BGDMA_A_ROUTE_ADAPTIVE + 1];

/* Changes and their notifications, so that listeners see them in order. */
extern struct mutex bgdma_config_lock;

/* config.c */
int bgdma_partition_new_doit(struct sk_buff *skb, struct genl_info *info);
int bgdma_partition_set_doit(struct sk_buff *skb, struct genl_info *info);
int bgdma_partition_del_doit(struct sk_buff *skb, struct genl_info *info);
int bgdma_partition_get_doit(struct sk_buff *skb, struct genl_info *info);
int bgdma_partition_get_dumpit(struct sk_buff *skb,
			       struct netlink_callback *cb);

/* dump.c */

/**
 * struct bgdma_dump - how far a dump has come, by keys that outlive objects
 * @name: partition that it is at, or has finished
 * @begun: the request's filter is in here
 * @inside: it is at @name, not past it
 * @one: only this partition
 * @all: contexts of everybody, else of @uid
 * @uid: who opened the socket
 * @first: first context wanted in each partition, as rank << 8 | context
 * @last: last one wanted
 * @key: context that it is at
 * @item: object of that context that it is at
 */
struct bgdma_dump {
	char name[BGDMA_NAME_MAX];
	bool begun;
	bool inside;
	bool one;
	bool all;
	kuid_t uid;
	u64 first;
	u64 last;
	u64 key;
	u32 item;
};

/* Show one partition; -EMSGSIZE to be called again with another buffer. */
typedef int (*bgdma_show_partition)(struct sk_buff *skb,
				    struct netlink_callback *cb,
				    struct bgdma_partition *part);

/*
 * Show the next object of a context, from dump.item on, inside a slice and
 * with a busy reference: 1 shown, 0 there is none, -EMSGSIZE, or -ESTALE: the context
 * has ended, and the reference is gone.
 */
typedef int (*bgdma_show_item)(struct sk_buff *skb, struct netlink_callback *cb,
			       struct bgdma_ctx *ctx);

static inline struct bgdma_dump *bgdma_dump(struct netlink_callback *cb)
{
	return *(struct bgdma_dump **)cb->ctx;
}

int bgdma_dump_start(struct netlink_callback *cb);
int bgdma_dump_done(struct netlink_callback *cb);
int bgdma_dump_partitions(struct sk_buff *skb, struct netlink_callback *cb,
			  bgdma_show_partition show);
int bgdma_dump_items(struct sk_buff *skb, struct netlink_callback *cb,
		     struct bgdma_partition *part, bgdma_show_item show);
struct bgdma_partition *bgdma_dump_next(struct net *net,
					struct bgdma_dump *dump);
void bgdma_dump_for(struct bgdma_dump *dump, struct sk_buff *skb);
bool bgdma_dump_sees(const struct bgdma_dump *dump, kuid_t uid);
void *bgdma_dump_message(struct sk_buff *skb, struct netlink_callback *cb,
			 u8 cmd);
int bgdma_put_place(struct sk_buff *skb, const struct bgdma_ctx *ctx);
int bgdma_put_stats(struct sk_buff *skb, int attr,
		    const struct bgdma_stream_stats *stats);
int bgdma_put_record(struct sk_buff *skb, struct bgdma_ctx *ctx, int attr,
		     const struct bgdma_record *rec);

/* node.c, counter.c, fifo.c, tree.c, stats.c */
int bgdma_node_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int bgdma_ctx_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int bgdma_counter_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int bgdma_fifo_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int bgdma_tree_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int bgdma_stats_get_doit(struct sk_buff *skb, struct genl_info *info);

/* link.c */
int bgdma_link_new_doit(struct sk_buff *skb, struct genl_info *info);
int bgdma_link_set_doit(struct sk_buff *skb, struct genl_info *info);
int bgdma_link_del_doit(struct sk_buff *skb, struct genl_info *info);
int bgdma_link_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int bgdma_peer_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
struct bgdma_partition *bgdma_link_partition(struct genl_info *info, int attr);
void bgdma_link_listen(bool on);

/* route.c */
int bgdma_route_get_doit(struct sk_buff *skb, struct genl_info *info);

#endif /* _BGDMA_NETLINK_H */
