/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Devices for tests of links: veth, whose two ends are joined.
 */
#ifndef BGDMA_SELFTESTS_NETLINK_VETH_H
#define BGDMA_SELFTESTS_NETLINK_VETH_H

#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <stdbool.h>

static inline int rt(struct nl_msg *msg)
{
	struct nl_sock *sock = nl_socket_alloc();
	int err = nl_connect(sock, NETLINK_ROUTE);

	if (!err)
		err = nl_send_sync(sock, msg);
	else
		nlmsg_free(msg);
	nl_socket_free(sock);
	return err;
}

/* Two that are joined, veth0 and veth1, or whatever is free next. */
static inline int rt_veth(void)
{
	struct nl_msg *msg = nlmsg_alloc_simple(RTM_NEWLINK,
						NLM_F_CREATE | NLM_F_EXCL);
	struct ifinfomsg head = { .ifi_family = AF_UNSPEC };
	struct nlattr *info;

	nlmsg_append(msg, &head, sizeof(head), NLMSG_ALIGNTO);
	info = nla_nest_start(msg, IFLA_LINKINFO);
	nla_put_string(msg, IFLA_INFO_KIND, "veth");
	nla_nest_end(msg, info);
	return rt(msg);
}

/* What is done to a device, whose flags of those in @change become @flags. */
static inline struct nl_msg *rt_device(const char *dev, int cmd, unsigned int flags,
				       unsigned int change)
{
	struct nl_msg *msg = nlmsg_alloc_simple(cmd, NLM_F_ACK);
	struct ifinfomsg head = {
		.ifi_family = AF_UNSPEC,
		.ifi_index = (int)if_nametoindex(dev),
		.ifi_flags = flags,
		.ifi_change = change,
	};

	nlmsg_append(msg, &head, sizeof(head), NLMSG_ALIGNTO);
	return msg;
}

static inline int rt_del(const char *dev)
{
	return rt(rt_device(dev, RTM_DELLINK, 0, 0));
}

static inline int rt_set(const char *dev, bool up, uint32_t mtu)
{
	struct nl_msg *msg = rt_device(dev, RTM_NEWLINK, up ? IFF_UP : 0, IFF_UP);

	nla_put_u32(msg, IFLA_MTU, mtu);
	return rt(msg);
}

/* To another network namespace. */
static inline int rt_move(const char *dev, int ns)
{
	struct nl_msg *msg = rt_device(dev, RTM_NEWLINK, 0, 0);

	nla_put_u32(msg, IFLA_NET_NS_FD, (uint32_t)ns);
	return rt(msg);
}

#endif /* BGDMA_SELFTESTS_NETLINK_VETH_H */
