/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the tests of the netlink family share: a request, and exactly what the
 * kernel answers to it: errno, explanation, and attribute that it points to.
 */
#ifndef BGDMA_SELFTESTS_NETLINK_UTIL_H
#define BGDMA_SELFTESTS_NETLINK_UTIL_H

#include <errno.h>
#include <linux/netlink.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <linux/bgdma.h>
#include <linux/bgdma_netlink.h>

#define ATTRS_MAX	64

struct link {
	struct nl_sock *sock;
	int family;
};

/* What came back. @attr: type that the kernel points to, or -1. */
struct answer {
	int err;
	char text[128];
	int attr;
	unsigned int messages;
	void (*each)(struct nlattr **attrs, void *arg);
	void *arg;
	bool done;
	struct nl_msg *request;
};

static inline int link_open(struct link *l)
{
	int one = 1;

	l->family = 0;
	l->sock = nl_socket_alloc();
	if (!l->sock || genl_connect(l->sock))
		return -EIO;
	if (setsockopt(nl_socket_get_fd(l->sock), SOL_NETLINK, NETLINK_EXT_ACK,
		       &one, sizeof(one)) ||
	    setsockopt(nl_socket_get_fd(l->sock), SOL_NETLINK,
		       NETLINK_GET_STRICT_CHK, &one, sizeof(one)) ||
	    setsockopt(nl_socket_get_fd(l->sock), SOL_NETLINK, NETLINK_CAP_ACK,
		       &one, sizeof(one)))
		return -errno;
	l->family = genl_ctrl_resolve(l->sock, BGDMA_GENL_NAME);
	return l->family < 0 ? -ENOENT : 0;
}

static inline void link_close(struct link *l)
{
	nl_socket_free(l->sock);
	l->sock = NULL;
}

static inline struct nl_msg *request(struct link *l, int cmd, int flags)
{
	struct nl_msg *msg = nlmsg_alloc();

	genlmsg_put(msg, NL_AUTO_PORT, NL_AUTO_SEQ, l->family, 0, flags,
		    (uint8_t)cmd, BGDMA_GENL_VERSION);
	return msg;
}

/* What a message says of an error, behind @skip bytes of its payload. */
static inline void answer_explain(struct answer *a, struct nlmsghdr *nlh,
				  size_t skip)
{
	struct nlattr *tb[NLMSGERR_ATTR_MAX + 1] = { 0 };
	char *at;

	if (nlh->nlmsg_flags & NLM_F_ACK_TLVS)
		nlmsg_parse(nlh, (int)skip, tb, NLMSGERR_ATTR_MAX, NULL);
	if (tb[NLMSGERR_ATTR_MSG])
		snprintf(a->text, sizeof(a->text), "%s",
			 nla_get_string(tb[NLMSGERR_ATTR_MSG]));
	if (!tb[NLMSGERR_ATTR_OFFS])
		return;
	at = (char *)nlmsg_hdr(a->request) +
	     nla_get_u32(tb[NLMSGERR_ATTR_OFFS]);
	a->attr = ((struct nlattr *)at)->nla_type & NLA_TYPE_MASK;
}

static inline int answer_error(struct sockaddr_nl *who, struct nlmsgerr *e,
			       void *arg)
{
	struct answer *a = arg;

	(void)who;
	a->done = true;
	a->err = e->error;
	answer_explain(a, (void *)((char *)e - NLMSG_HDRLEN), sizeof(*e));
	return NL_STOP;
}

static inline int answer_ack(struct nl_msg *msg, void *arg)
{
	(void)msg;
	((struct answer *)arg)->done = true;
	return NL_STOP;
}

/* The end of a dump carries its result. */
static inline int answer_end(struct nl_msg *msg, void *arg)
{
	struct nlmsghdr *nlh = nlmsg_hdr(msg);
	struct answer *a = arg;

	a->done = true;
	a->err = *(int *)nlmsg_data(nlh);
	answer_explain(a, nlh, sizeof(int));
	return NL_STOP;
}

static inline int answer_message(struct nl_msg *msg, void *arg)
{
	struct nlattr *attrs[ATTRS_MAX];
	struct answer *a = arg;

	a->messages++;
	if (a->each && !genlmsg_parse(nlmsg_hdr(msg), 0, attrs, ATTRS_MAX - 1,
				      NULL))
		a->each(attrs, a->arg);
	return NL_OK;
}

static inline void answer_to(struct answer *a, struct nl_cb *cb)
{
	nl_cb_err(cb, NL_CB_CUSTOM, answer_error, a);
	nl_cb_set(cb, NL_CB_FINISH, NL_CB_CUSTOM, answer_end, a);
	nl_cb_set(cb, NL_CB_ACK, NL_CB_CUSTOM, answer_ack, a);
	nl_cb_set(cb, NL_CB_VALID, NL_CB_CUSTOM, answer_message, a);
}

/* Send a request, which is freed, and take all of the answer: 0 or -errno. */
static inline int ask(struct link *l, struct nl_msg *msg, struct answer *a)
{
	struct nl_cb *cb = nl_cb_alloc(NL_CB_DEFAULT);
	int err;

	a->err = 0;
	a->attr = -1;
	a->text[0] = '\0';
	a->messages = 0;
	a->done = false;
	a->request = msg;
	answer_to(a, cb);
	err = nl_send_auto(l->sock, msg);
	while (err >= 0 && !a->done)
		err = nl_recvmsgs(l->sock, cb);
	nl_cb_put(cb);
	nlmsg_free(msg);
	return err < 0 && !a->err ? -EIO : a->err;
}

/* ---- All that is shown, as one number --------------------------------- */

#define HASH_BEGIN	0xcbf29ce484222325ULL

static inline void hash_bytes(uint64_t *hash, const void *p, size_t n)
{
	const unsigned char *byte = p;

	while (n--)
		*hash = (*hash ^ *byte++) * 0x100000001b3ULL;
}

/* An answer.each; arg is the uint64_t that it goes into. */
static inline void hash_attrs(struct nlattr **attrs, void *arg)
{
	int i;

	for (i = 1; i < ATTRS_MAX; i++) {
		/* Whether it sleeps is the engine's business. */
		if (!attrs[i] || i == BGDMA_A_CTX_ASLEEP)
			continue;
		hash_bytes(arg, &i, sizeof(i));
		hash_bytes(arg, nla_data(attrs[i]), (size_t)nla_len(attrs[i]));
	}
}

/* ---- Partitions ------------------------------------------------------- */

/* A partition of that many nodes along X. */
static inline int make(struct link *l, const char *name, uint32_t x)
{
	struct nl_msg *msg = request(l, BGDMA_CMD_PARTITION_NEW, NLM_F_ACK);
	struct answer a = { 0 };

	nla_put_string(msg, BGDMA_A_PARTITION_NAME, name);
	nla_put_u32(msg, BGDMA_A_PARTITION_DIM_X, x);
	nla_put_u32(msg, BGDMA_A_PARTITION_DIM_Y, 1);
	nla_put_u32(msg, BGDMA_A_PARTITION_DIM_Z, 1);
	return ask(l, msg, &a);
}

static inline int by_name(struct link *l, int cmd, const char *name)
{
	struct nl_msg *msg = request(l, cmd, NLM_F_ACK);
	struct answer a = { 0 };

	nla_put_string(msg, BGDMA_A_PARTITION_NAME, name);
	return ask(l, msg, &a);
}

#endif /* BGDMA_SELFTESTS_NETLINK_UTIL_H */
