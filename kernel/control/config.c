// SPDX-License-Identifier: GPL-2.0
/*
 * Partitions: make, change, delete, show, and tell who listens.
 */
#include <linux/netlink.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>

#include "../fabric/link.h"
#include "netlink.h"

#define BGDMA_MODE_BITS	0666
#define BGDMA_SIZE_MAX	(BGDMA_RANK_MAX + 1)

/* Of all namespaces: nobody waits for long under it, but for RTNL. */
DEFINE_MUTEX(bgdma_config_lock);

/* The partition's name, if it is there and could be one. */
static const char *bgdma_config_name(struct genl_info *info)
{
	struct nlattr *attr = info->attrs[BGDMA_A_PARTITION_NAME];
	const char *name, *p;

	if (!attr) {
		NL_SET_ERR_MSG_MOD(info->extack, "partition name is missing");
		return NULL;
	}
	name = nla_data(attr);
	for (p = name; *p > ' ' && *p < 0x7f && *p != '/'; p++)
		;
	if (p == name || *p) {
		NL_SET_ERR_MSG_ATTR(info->extack, attr,
				    "bgdma: a name is printable ASCII without spaces and slashes");
		return NULL;
	}
	return name;
}

static struct bgdma_partition *bgdma_config_find(struct genl_info *info)
{
	struct bgdma_net *bn = bgdma_net(genl_info_net(info));
	const char *name = bgdma_config_name(info);
	struct bgdma_partition *part;

	if (!name)
		return ERR_PTR(-EINVAL);
	part = bgdma_partition_find(bn, name);
	if (part)
		return part;
	NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[BGDMA_A_PARTITION_NAME],
			    "bgdma: no such partition in this network namespace");
	return ERR_PTR(-ENOENT);
}

static int bgdma_config_dims(struct genl_info *info,
			     struct bgdma_partition *part)
{
	u64 size = 1;
	int i;

	for (i = 0; i < 3; i++) {
		struct nlattr *attr = info->attrs[BGDMA_A_PARTITION_DIM_X + i];

		if (!attr) {
			NL_SET_ERR_MSG_MOD(info->extack,
					   "dimensions along X, Y and Z are needed");
			return -EINVAL;
		}
		part->dims[i] = nla_get_u32(attr);
		size *= part->dims[i];
	}
	if (size > BGDMA_SIZE_MAX) {
		NL_SET_ERR_MSG_MOD(info->extack,
				   "a partition has at most 2^24 nodes");
		return -EINVAL;
	}
	part->size = size;
	part->torus = BGDMA_AXIS_X | BGDMA_AXIS_Y | BGDMA_AXIS_Z;
	if (info->attrs[BGDMA_A_PARTITION_TORUS])
		part->torus = nla_get_u32(info->attrs[BGDMA_A_PARTITION_TORUS]);
	return 0;
}

/**
 * struct bgdma_access - who may attach
 * @uid: owner
 * @gid: group
 * @mode: of the partition
 */
struct bgdma_access {
	kuid_t uid;
	kgid_t gid;
	u16 mode;
};

/* What a request says about the access, over what @access holds already. */
static int bgdma_config_access(struct genl_info *info,
			       struct bgdma_access *access)
{
	struct user_namespace *ns = genl_info_net(info)->user_ns;
	struct nlattr *attr;

	attr = info->attrs[BGDMA_A_PARTITION_UID];
	if (attr) {
		access->uid = make_kuid(ns, nla_get_u32(attr));
		if (!uid_valid(access->uid)) {
			NL_SET_ERR_MSG_ATTR(info->extack, attr,
					    "bgdma: no such user in the user namespace of this network namespace");
			return -EINVAL;
		}
	}
	attr = info->attrs[BGDMA_A_PARTITION_GID];
	if (attr) {
		access->gid = make_kgid(ns, nla_get_u32(attr));
		if (!gid_valid(access->gid)) {
			NL_SET_ERR_MSG_ATTR(info->extack, attr,
					    "bgdma: no such group in the user namespace of this network namespace");
			return -EINVAL;
		}
	}
	attr = info->attrs[BGDMA_A_PARTITION_MODE];
	if (attr) {
		if (nla_get_u32(attr) & ~BGDMA_MODE_BITS) {
			NL_SET_ERR_MSG_ATTR(info->extack, attr,
					    "bgdma: a mode has read and write bits only");
			return -EINVAL;
		}
		access->mode = nla_get_u32(attr);
	}
	return 0;
}

/*
 * The engine is shared by all namespaces. Who is an administrator only in one
 * of his own may not take more of it than anybody has; nor may he have a program
 * with more rights write to his socket.
 */
static int bgdma_config_may(struct sk_buff *skb, struct genl_info *info)
{
	static const struct {
		int attr;
		u64 max;
	} shared[] = {
		{ BGDMA_A_PARTITION_QUANTUM, BGDMA_QUANTUM_DEFAULT },
		{ BGDMA_A_PARTITION_MAX_CONTEXTS, BGDMA_CONTEXTS_DEFAULT },
		{ BGDMA_A_PARTITION_POLL_NS, BGDMA_POLL_NS_DEFAULT },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(shared); i++) {
		struct nlattr *attr = info->attrs[shared[i].attr];
		u64 value;

		if (!attr)
			continue;
		value = nla_len(attr) == sizeof(u64) ? nla_get_u64(attr) :
						       nla_get_u32(attr);
		if (value > shared[i].max &&
		    !netlink_capable(skb, CAP_NET_ADMIN)) {
			NL_SET_ERR_MSG_ATTR(info->extack, attr,
					    "bgdma: more than the default needs CAP_NET_ADMIN in the initial user namespace");
			return -EPERM;
		}
	}
	return 0;
}

/* Policies have checked these; the engine reads them at any time. */
static void bgdma_config_limits(struct genl_info *info,
				struct bgdma_partition *part)
{
	struct nlattr **attrs = info->attrs;

	if (attrs[BGDMA_A_PARTITION_POLL_NS])
		WRITE_ONCE(part->poll_ns,
			   nla_get_u64(attrs[BGDMA_A_PARTITION_POLL_NS]));
	if (attrs[BGDMA_A_PARTITION_QUANTUM])
		WRITE_ONCE(part->quantum,
			   nla_get_u32(attrs[BGDMA_A_PARTITION_QUANTUM]));
	if (attrs[BGDMA_A_PARTITION_MAX_CONTEXTS])
		WRITE_ONCE(part->max_contexts,
			   nla_get_u32(attrs[BGDMA_A_PARTITION_MAX_CONTEXTS]));
	if (attrs[BGDMA_A_PARTITION_MAX_INJ_FIFOS])
		WRITE_ONCE(part->max_inj,
			   nla_get_u32(attrs[BGDMA_A_PARTITION_MAX_INJ_FIFOS]));
}

/* Which nodes live here, in order; none named: all. */
static int bgdma_config_nodes(const struct nlattr *attr, u32 size,
			      struct bgdma_nodes *nodes)
{
	const struct bgdma_run *run;
	u32 n, i;

	if (!attr)
		return 0;
	run = nla_data(attr);
	n = nla_len(attr) / sizeof(*run);
	if (!n || nla_len(attr) % sizeof(*run))
		return -EINVAL;
	for (i = 0; i < n; i++) {
		if (run[i].first > run[i].last || run[i].last >= size ||
		    (i && run[i].first <= run[i - 1].last))
			return -EINVAL;
		nodes->run[i].first = run[i].first;
		nodes->run[i].last = run[i].last;
	}
	nodes->n = n;
	return 0;
}

/* A partition that has nodes elsewhere, or a key. Nobody sees it yet. */
static int bgdma_config_ether(struct genl_info *info,
			      struct bgdma_partition *part)
{
	const struct nlattr *nodes = info->attrs[BGDMA_A_PARTITION_NODES];
	const struct nlattr *key = info->attrs[BGDMA_A_PARTITION_KEY];
	struct bgdma_nodes *local;
	int err;

	if (!nodes && !key)
		return 0;
	local = kzalloc(sizeof(*local), GFP_KERNEL);
	if (!local)
		return -ENOMEM;
	err = bgdma_config_nodes(nodes, part->size, local);
	if (err) {
		NL_SET_ERR_MSG_ATTR(info->extack, nodes,
				    "bgdma: nodes are runs of ranks of the partition, in order");
		goto free;
	}
	part->ether = bgdma_ether_new(part, genl_info_net(info),
				      key ? nla_data(key) : NULL, local);
	err = part->ether ? 0 : -ENOMEM;
free:
	kfree(local);
	return err;
}

static int bgdma_put_nodes(struct sk_buff *skb, struct bgdma_partition *part)
{
	struct bgdma_ether *ether = bgdma_ether(part);

	if (!ether || !ether->local.n)
		return 0;
	return nla_put(skb, BGDMA_A_PARTITION_NODES,
		       ether->local.n * sizeof(ether->local.run[0]),
		       ether->local.run);
}

/* A message that shows @part; partition.lock held. The key is never shown. */
static int bgdma_put_partition(struct sk_buff *skb, void *head, struct net *net,
			       struct bgdma_partition *part)
{
	lockdep_assert_held(&part->lock);
	if (nla_put_string(skb, BGDMA_A_PARTITION_NAME, part->name) ||
	    nla_put_u32(skb, BGDMA_A_PARTITION_DIM_X, part->dims[0]) ||
	    nla_put_u32(skb, BGDMA_A_PARTITION_DIM_Y, part->dims[1]) ||
	    nla_put_u32(skb, BGDMA_A_PARTITION_DIM_Z, part->dims[2]) ||
	    nla_put_u32(skb, BGDMA_A_PARTITION_TORUS, part->torus) ||
	    nla_put_u32(skb, BGDMA_A_PARTITION_UID,
			from_kuid_munged(net->user_ns, part->uid)) ||
	    nla_put_u32(skb, BGDMA_A_PARTITION_GID,
			from_kgid_munged(net->user_ns, part->gid)) ||
	    nla_put_u32(skb, BGDMA_A_PARTITION_MODE, part->mode) ||
	    nla_put_u64_64bit(skb, BGDMA_A_PARTITION_POLL_NS, part->poll_ns,
			      BGDMA_A_PARTITION_PAD) ||
	    nla_put_u32(skb, BGDMA_A_PARTITION_QUANTUM, part->quantum) ||
	    nla_put_u32(skb, BGDMA_A_PARTITION_MAX_CONTEXTS,
			part->max_contexts) ||
	    nla_put_u32(skb, BGDMA_A_PARTITION_MAX_INJ_FIFOS, part->max_inj) ||
	    nla_put_u32(skb, BGDMA_A_PARTITION_SIZE, part->size) ||
	    nla_put_u32(skb, BGDMA_A_PARTITION_CONTEXTS, part->contexts) ||
	    bgdma_put_nodes(skb, part)) {
		genlmsg_cancel(skb, head);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, head);
	return 0;
}

static struct sk_buff *bgdma_partition_message(struct genl_info *info,
					       struct bgdma_partition *part,
					       u8 cmd, u32 portid, u32 seq)
{
	struct sk_buff *skb = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);
	void *head;
	int err;

	if (!skb)
		return NULL;
	head = genlmsg_put(skb, portid, seq, &bgdma_family, 0, cmd);
	mutex_lock(&part->lock);
	err = bgdma_put_partition(skb, head, genl_info_net(info), part);
	mutex_unlock(&part->lock);
	if (WARN_ON_ONCE(err)) {
		nlmsg_free(skb);
		return NULL;
	}
	return skb;
}

/* Listeners that cannot be told see ENOBUFS, and look again. */
static void bgdma_config_tell(struct genl_info *info,
			      struct bgdma_partition *part, u8 cmd)
{
	struct net *net = genl_info_net(info);
	struct sk_buff *skb;

	lockdep_assert_held(&bgdma_config_lock);
	if (!genl_has_listeners(&bgdma_family, net, 0))
		return;
	skb = bgdma_partition_message(info, part, cmd, 0, 0);
	if (skb)
		genlmsg_multicast_netns(&bgdma_family, net, skb, 0, 0,
					GFP_KERNEL);
	else
		genl_set_err(&bgdma_family, net, 0, 0, -ENOBUFS);
}

/**
 * bgdma_partition_new_doit() - BGDMA_CMD_PARTITION_NEW
 * @skb: request
 * @info: its attributes
 *
 * Return: 0 or a negative errno, explained in the extended acknowledgment.
 */
int bgdma_partition_new_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct bgdma_net *bn = bgdma_net(genl_info_net(info));
	struct bgdma_access access = {
		.uid = current_euid(), .gid = current_egid(), .mode = 0600,
	};
	const char *name = bgdma_config_name(info);
	struct bgdma_partition *part;
	int err;

	if (!name)
		return -EINVAL;
	err = bgdma_config_may(skb, info) ?:
	      bgdma_config_access(info, &access);
	if (err)
		return err;
	part = bgdma_partition_new(name);
	if (!part)
		return -ENOMEM;
	part->uid = access.uid;
	part->gid = access.gid;
	part->mode = access.mode;
	bgdma_config_limits(info, part);
	err = bgdma_config_dims(info, part) ?:
	      bgdma_config_ether(info, part);
	if (err)
		goto out;

	err = mutex_lock_killable(&bgdma_config_lock);
	if (err)
		goto out;
	kref_get(&part->ref);
	err = bgdma_partition_add(bn, part);
	if (!err)
		bgdma_config_tell(info, part, BGDMA_CMD_PARTITION_NEW_NTF);
	mutex_unlock(&bgdma_config_lock);
	if (err == -EEXIST)
		NL_SET_ERR_MSG_ATTR(info->extack,
				    info->attrs[BGDMA_A_PARTITION_NAME],
				    "bgdma: there is a partition of this name");
	if (err == -ENOSPC)
		NL_SET_ERR_MSG_MOD(info->extack,
				   "too many partitions in this network namespace");
	if (err)
		bgdma_partition_put(part);	/* the list's */
out:
	bgdma_partition_put(part);
	return err;
}

/**
 * bgdma_partition_set_doit() - BGDMA_CMD_PARTITION_SET
 * @skb: request
 * @info: its attributes
 *
 * Return: 0 or a negative errno, explained in the extended acknowledgment.
 */
int bgdma_partition_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct bgdma_partition *part = bgdma_config_find(info);
	struct bgdma_access access;
	int err;

	if (IS_ERR(part))
		return PTR_ERR(part);

	err = mutex_lock_killable(&bgdma_config_lock);
	if (err)
		goto put;
	mutex_lock(&part->lock);
	access = (struct bgdma_access) { part->uid, part->gid, part->mode };
	/* It was found before somebody else took it. */
	err = part->going ? -ENOENT : 0;
	err = err ?: bgdma_config_may(skb, info) ?:
	      bgdma_config_access(info, &access);
	if (!err) {
		part->uid = access.uid;
		part->gid = access.gid;
		part->mode = access.mode;
		bgdma_config_limits(info, part);
	}
	mutex_unlock(&part->lock);
	if (!err)
		bgdma_config_tell(info, part, BGDMA_CMD_PARTITION_SET_NTF);
	mutex_unlock(&bgdma_config_lock);
put:
	bgdma_partition_put(part);
	return err;
}

/**
 * bgdma_partition_del_doit() - BGDMA_CMD_PARTITION_DEL
 * @skb: request
 * @info: its attributes
 *
 * Return: 0 or a negative errno, explained in the extended acknowledgment.
 */
int bgdma_partition_del_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct bgdma_net *bn = bgdma_net(genl_info_net(info));
	struct bgdma_partition *part = bgdma_config_find(info);
	int err;

	if (IS_ERR(part))
		return PTR_ERR(part);

	err = mutex_lock_killable(&bgdma_config_lock);
	if (err)
		goto put;
	err = bgdma_partition_take(bn, part);
	mutex_unlock(&bgdma_config_lock);
	if (err) {
		NL_SET_ERR_MSG_MOD(info->extack,
				   "somebody else deletes this partition");
		goto put;
	}
	/* Others make, change and delete theirs meanwhile. */
	bgdma_partition_end(part);
	mutex_lock(&bgdma_config_lock);
	bgdma_partition_drop(bn, part);
	bgdma_config_tell(info, part, BGDMA_CMD_PARTITION_DEL_NTF);
	mutex_unlock(&bgdma_config_lock);
put:
	bgdma_partition_put(part);
	return err;
}

/**
 * bgdma_partition_get_doit() - BGDMA_CMD_PARTITION_GET for one partition
 * @skb: request
 * @info: its attributes
 *
 * Return: 0 or a negative errno, explained in the extended acknowledgment.
 */
int bgdma_partition_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct bgdma_partition *part = bgdma_config_find(info);
	struct sk_buff *reply;

	if (IS_ERR(part))
		return PTR_ERR(part);
	reply = bgdma_partition_message(info, part, BGDMA_CMD_PARTITION_GET,
					info->snd_portid, info->snd_seq);
	bgdma_partition_put(part);
	return reply ? genlmsg_reply(reply, info) : -ENOMEM;
}

static int bgdma_show_one_partition(struct sk_buff *skb,
				    struct netlink_callback *cb,
				    struct bgdma_partition *part)
{
	void *head = bgdma_dump_message(skb, cb, BGDMA_CMD_PARTITION_GET);
	int err;

	if (!head)
		return -EMSGSIZE;
	mutex_lock(&part->lock);
	err = bgdma_put_partition(skb, head, sock_net(skb->sk), part);
	mutex_unlock(&part->lock);
	return err;
}

/**
 * bgdma_partition_get_dumpit() - BGDMA_CMD_PARTITION_GET for all
 * @skb: buffer for the answer
 * @cb: how far it has come
 *
 * Return: bytes written, 0 at the end, or a negative errno.
 */
int bgdma_partition_get_dumpit(struct sk_buff *skb,
			       struct netlink_callback *cb)
{
	return bgdma_dump_partitions(skb, cb, bgdma_show_one_partition);
}
