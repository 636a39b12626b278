// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Talking to the kernel, and printing what it says when it refuses.
 */
#include "tool.h"

#include <errno.h>
#include <linux/bgdma_netlink.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

static struct nl_sock *sock;
static int family;

/* What a request is waiting for. */
struct call {
	struct nl_msg *msg;
	message_fn fn;
	void *arg;
	bool done;
	int err;
};

static int refuse(const char *what, int err)
{
	fprintf(stderr, "Error: %s: %s.\n", what, nl_geterror(err));
	return TOOL_REFUSED;
}

/* Connect to the module, once. */
static int connect_module(void)
{
	int one = 1, err;

	if (sock)
		return TOOL_OK;
	sock = nl_socket_alloc();
	if (!sock)
		return refuse("netlink socket", -NLE_NOMEM);
	err = genl_connect(sock);
	if (err)
		return refuse("netlink socket", err);
	/* Explanations, short: without the request. Harmless if missing. */
	(void)setsockopt(nl_socket_get_fd(sock), SOL_NETLINK, NETLINK_EXT_ACK,
			 &one, sizeof(one));
	(void)setsockopt(nl_socket_get_fd(sock), SOL_NETLINK, NETLINK_CAP_ACK,
			 &one, sizeof(one));
	(void)setsockopt(nl_socket_get_fd(sock), SOL_NETLINK,
			 NETLINK_GET_STRICT_CHK, &one, sizeof(one));
	nl_socket_set_buffer_size(sock, 1 << 20, 0);

	family = genl_ctrl_resolve(sock, BGDMA_GENL_NAME);
	if (family >= 0)
		return TOOL_OK;
	fprintf(stderr, "Error: the bgdma module is not loaded.\n");
	return TOOL_REFUSED;
}

/**
 * tool_close() - disconnect; does nothing when not connected
 */
void tool_close(void)
{
	if (sock)
		nl_socket_free(sock);
	sock = NULL;
}

/**
 * tool_request() - begin a request
 * @cmd: enum of linux/bgdma_netlink.h
 * @flags: NLM_F_*
 *
 * Return: a message for tool_call(), or NULL without memory.
 */
struct nl_msg *tool_request(uint8_t cmd, int flags)
{
	struct nl_msg *msg = nlmsg_alloc();

	/* tool_call() knows the family. */
	if (msg && !genlmsg_put(msg, NL_AUTO_PORT, NL_AUTO_SEQ, 0, 0, flags,
				cmd, BGDMA_GENL_VERSION)) {
		nlmsg_free(msg);
		msg = NULL;
	}
	return msg;
}

/* The limits that a policy states, such as "1 to 1024". */
static void print_policy(struct nlattr *policy)
{
	struct nlattr *tb[NL_POLICY_TYPE_ATTR_MAX + 1];

	if (nla_parse_nested(tb, NL_POLICY_TYPE_ATTR_MAX, policy, NULL))
		return;
	if (tb[NL_POLICY_TYPE_ATTR_MIN_VALUE_U] &&
	    tb[NL_POLICY_TYPE_ATTR_MAX_VALUE_U])
		fprintf(stderr, ", must be %llu to %llu",
			(unsigned long long)nla_get_u64(
				tb[NL_POLICY_TYPE_ATTR_MIN_VALUE_U]),
			(unsigned long long)nla_get_u64(
				tb[NL_POLICY_TYPE_ATTR_MAX_VALUE_U]));
	if (tb[NL_POLICY_TYPE_ATTR_MAX_LENGTH])
		fprintf(stderr, ", has at most %u characters",
			nla_get_u32(tb[NL_POLICY_TYPE_ATTR_MAX_LENGTH]));
}

/* Attribute of our request at an offset that the kernel points to. */
static const char *attr_at(struct nl_msg *msg, uint32_t offset)
{
	struct nlmsghdr *nlh = nlmsg_hdr(msg);
	struct nlattr attr;

	if (offset > nlh->nlmsg_len - sizeof(attr))
		return NULL;
	memcpy(&attr, (char *)nlh + offset, sizeof(attr));
	if (genlmsg_hdr(nlh)->cmd <= BGDMA_CMD_PARTITION_GET)
		return partition_attr_name(attr.nla_type & NLA_TYPE_MASK);
	if (genlmsg_hdr(nlh)->cmd >= BGDMA_CMD_LINK_NEW &&
	    genlmsg_hdr(nlh)->cmd <= BGDMA_CMD_LINK_DEL)
		return link_attr_name(attr.nla_type & NLA_TYPE_MASK);
	return NULL;
}

/* Print an error that a message explains behind @skip bytes of its payload. */
static void explain(const struct call *call, struct nlmsghdr *nlh, size_t skip)
{
	struct nlattr *tb[NLMSGERR_ATTR_POLICY + 1] = { 0 };
	const char *attr = NULL;

	if (nlh->nlmsg_flags & NLM_F_ACK_TLVS)
		nlmsg_parse(nlh, (int)skip, tb, NLMSGERR_ATTR_POLICY, NULL);

	if (tb[NLMSGERR_ATTR_OFFS])
		attr = attr_at(call->msg, nla_get_u32(tb[NLMSGERR_ATTR_OFFS]));
	if (tb[NLMSGERR_ATTR_MSG])
		fprintf(stderr, "Error: %s",
			nla_get_string(tb[NLMSGERR_ATTR_MSG]));
	else
		fprintf(stderr, "Error: %s", strerror(-call->err));
	/* What the module says itself names it. */
	if (attr && (!tb[NLMSGERR_ATTR_MSG] ||
		     strncmp(nla_get_string(tb[NLMSGERR_ATTR_MSG]), "bgdma:", 6)))
		fprintf(stderr, ": %s", attr);
	if (tb[NLMSGERR_ATTR_POLICY])
		print_policy(tb[NLMSGERR_ATTR_POLICY]);
	fprintf(stderr, ".\n");
}

static int on_error(struct sockaddr_nl *who, struct nlmsgerr *e, void *arg)
{
	struct nlmsghdr *nlh = (void *)((char *)e - NLMSG_HDRLEN);
	struct call *call = arg;
	size_t skip = sizeof(*e);

	(void)who;
	if (!(nlh->nlmsg_flags & NLM_F_CAPPED))
		skip += e->msg.nlmsg_len - sizeof(e->msg);
	call->done = true;
	call->err = e->error;
	explain(call, nlh, skip);
	return NL_STOP;
}

static int on_ack(struct nl_msg *msg, void *arg)
{
	struct call *call = arg;

	(void)msg;
	call->done = true;
	return NL_STOP;
}

/* The end of a dump carries its result. */
static int on_end(struct nl_msg *msg, void *arg)
{
	struct nlmsghdr *nlh = nlmsg_hdr(msg);
	struct call *call = arg;

	call->done = true;
	if (nlmsg_datalen(nlh) < (int)sizeof(call->err))
		return NL_STOP;
	memcpy(&call->err, nlmsg_data(nlh), sizeof(call->err));
	if (call->err)
		explain(call, nlh, sizeof(call->err));
	return NL_STOP;
}

static int on_message(struct nl_msg *msg, void *arg)
{
	struct call *call = arg;

	if (call->fn)
		call->fn(nlmsg_hdr(msg), call->arg);
	return NL_OK;
}

/**
 * tool_call() - carry out a request
 * @msg: from tool_request(), perhaps NULL; it is freed
 * @fn: called for each answer, or NULL
 * @arg: for @fn
 */
int tool_call(struct nl_msg *msg, message_fn fn, void *arg)
{
	struct call call = { .msg = msg, .fn = fn, .arg = arg };
	struct nl_cb *cb = nl_cb_alloc(NL_CB_DEFAULT);
	int err = -NLE_NOMEM;

	if (!cb || !msg)
		goto out;
	if (connect_module()) {
		call.err = -ENOENT;
		goto out;
	}
	nlmsg_hdr(msg)->nlmsg_type = (uint16_t)family;
	nl_cb_err(cb, NL_CB_CUSTOM, on_error, &call);
	nl_cb_set(cb, NL_CB_FINISH, NL_CB_CUSTOM, on_end, &call);
	nl_cb_set(cb, NL_CB_ACK, NL_CB_CUSTOM, on_ack, &call);
	nl_cb_set(cb, NL_CB_VALID, NL_CB_CUSTOM, on_message, &call);
	err = nl_send_auto(sock, msg);
	while (err >= 0 && !call.done)
		err = nl_recvmsgs(sock, cb);
out:
	nl_cb_put(cb);
	nlmsg_free(msg);
	if (call.err)
		return TOOL_REFUSED;
	return err < 0 ? refuse("netlink", err) : TOOL_OK;
}

/* Of families that come and go: has ours gone? */
static bool is_end(struct nlmsghdr *nlh)
{
	struct nlattr *attrs[CTRL_ATTR_MAX + 1];

	return genlmsg_hdr(nlh)->cmd == CTRL_CMD_DELFAMILY &&
	       !genlmsg_parse(nlh, 0, attrs, CTRL_ATTR_MAX, NULL) &&
	       attrs[CTRL_ATTR_FAMILY_NAME] &&
	       !strcmp(nla_get_string(attrs[CTRL_ATTR_FAMILY_NAME]),
		       BGDMA_GENL_NAME);
}

static int on_notification(struct nl_msg *msg, void *arg)
{
	struct nlmsghdr *nlh = nlmsg_hdr(msg);
	struct call *call = arg;

	if (nlh->nlmsg_type != GENL_ID_CTRL)
		return on_message(msg, arg);
	call->done = is_end(nlh);
	return call->done ? NL_STOP : NL_OK;
}

/* Both groups are looked up before the first talks, which a look-up would not expect. */
static int join(void)
{
	int ends = genl_ctrl_resolve_grp(sock, "nlctrl", "notify");
	int config = genl_ctrl_resolve_grp(sock, BGDMA_GENL_NAME,
					   BGDMA_MCGRP_CONFIG);

	if (ends < 0 || config < 0)
		return ends < 0 ? ends : config;
	return nl_socket_add_memberships(sock, ends, config, 0);
}

/**
 * tool_listen() - call a function for each notification
 * @fn: called
 * @arg: for @fn
 *
 * Until the module goes, or stdout takes no more; then main() says so.
 */
int tool_listen(message_fn fn, void *arg)
{
	struct call call = { .fn = fn, .arg = arg };
	int err;

	if (connect_module())
		return TOOL_REFUSED;
	err = join();
	nl_socket_disable_seq_check(sock);
	nl_socket_modify_cb(sock, NL_CB_VALID, NL_CB_CUSTOM, on_notification,
			    &call);
	while (err >= 0 && !call.done && !ferror(stdout)) {
		err = nl_recvmsgs_default(sock);
		/* Missed some; those that follow still tell. */
		if (err == -NLE_NOMEM) {
			fprintf(stderr, "Events were lost.\n");
			err = 0;
		}
	}
	if (call.done)
		fprintf(stderr, "Error: the bgdma module has gone.\n");
	return err < 0 ? refuse("notifications", err) : TOOL_REFUSED;
}
