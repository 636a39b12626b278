// SPDX-License-Identifier: GPL-2.0
/*
 * Somebody without rights opens a socket and has somebody with rights write to
 * it: a program that is setuid, by its output. Neither may do more than the one
 * who has fewer rights.
 */
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "kselftest_harness.h"
#include "netlink_util.h"
#include "utils.h"

#define NOBODY	4242

FIXTURE(deputy) {
	struct link l;
};

FIXTURE_SETUP(deputy)
{
	if (geteuid())
		SKIP(return, "needs root");
	partition_new("4x1x1", "");
}

FIXTURE_TEARDOWN(deputy)
{
	link_close(&self->l);
}

/* As a program does that takes the socket for its output. */
static int by_write(struct nl_sock *sock, struct nl_msg *msg)
{
	struct nlmsghdr *nlh = nlmsg_hdr(msg);

	return (int)write(nl_socket_get_fd(sock), nlh, nlh->nlmsg_len);
}

static void from_now_on_by_write(struct link *l)
{
	struct nl_cb *cb = nl_socket_get_cb(l->sock);

	nl_cb_overwrite_send(cb, by_write);
	nl_cb_put(cb);
}

/* ---- An administrator of his own namespace ---------------------------- */

struct opened {
	int fd;
	int family;
	__u32 ready;
};

static int open_in_a_namespace(void *arg)
{
	struct opened *o = arg;
	struct link l;

	must(setresuid(NOBODY, NOBODY, NOBODY) ? -errno : 0);
	must(unshare(CLONE_NEWUSER | CLONE_NEWNET) ? -errno : 0);
	must(link_open(&l));
	o->fd = nl_socket_get_fd(l.sock);
	o->family = l.family;
	store(&o->ready, 1);
	return 0;
}

static int new_with_quantum(struct link *l, const char *name, __u32 quantum)
{
	struct nl_msg *msg = request(l, BGDMA_CMD_PARTITION_NEW, NLM_F_ACK);
	struct answer a = { 0 };

	nla_put_string(msg, BGDMA_A_PARTITION_NAME, name);
	nla_put_u32(msg, BGDMA_A_PARTITION_DIM_X, 2);
	nla_put_u32(msg, BGDMA_A_PARTITION_DIM_Y, 1);
	nla_put_u32(msg, BGDMA_A_PARTITION_DIM_Z, 1);
	nla_put_u32(msg, BGDMA_A_PARTITION_QUANTUM, quantum);
	return ask(l, msg, &a);
}

TEST_F(deputy, x2_limits_of_who_opened_the_socket)
{
	struct opened *o = shared(sizeof(*o));
	pid_t pid = start_child(open_in_a_namespace, o);
	int pidfd, fd;

	ASSERT_TRUE(until(load(&o->ready)));
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	fd = (int)syscall(SYS_pidfd_getfd, pidfd, o->fd, 0);
	ASSERT_LE(0, fd);
	self->l.sock = nl_socket_alloc();
	self->l.family = o->family;
	ASSERT_EQ(0, nl_socket_set_fd(self->l.sock, NETLINK_GENERIC, fd));
	from_now_on_by_write(&self->l);
	/* Both may do this; only the writer might do that. */
	EXPECT_EQ(0, new_with_quantum(&self->l, "p", 65536));
	EXPECT_EQ(-EPERM, new_with_quantum(&self->l, "q", 1048576));
	kill_child(pid, SIGKILL);
	close(pidfd);
	munmap(o, sizeof(*o));
}

/* ---- What others have ------------------------------------------------- */

static void count_one(struct nlattr **attrs, void *arg)
{
	(void)attrs;
	++*(unsigned int *)arg;
}

static unsigned int seen(struct link *l, int cmd)
{
	unsigned int n = 0;
	struct answer a = { .each = count_one, .arg = &n };

	must(ask(l, request(l, cmd, NLM_F_DUMP), &a));
	return n;
}

static void contexts_of(struct nlattr **attrs, void *arg)
{
	*(unsigned int *)arg = nla_get_u32(attrs[BGDMA_A_ENGINE_CONTEXTS]);
}

TEST_F(deputy, x2_sees_what_the_opener_sees)
{
	unsigned int n = 99;
	struct answer a = { .each = contexts_of, .arg = &n };
	struct node roots, more, his;

	node_new(&roots, 0);
	node_new(&more, 2);
	must(seteuid(NOBODY) ? -errno : 0);
	node_new(&his, 1);
	must(link_open(&self->l));
	from_now_on_by_write(&self->l);
	must(seteuid(0) ? -errno : 0);
	EXPECT_EQ(1, seen(&self->l, BGDMA_CMD_NODE_GET));
	EXPECT_EQ(1, seen(&self->l, BGDMA_CMD_CTX_GET));
	EXPECT_EQ(0, ask(&self->l, request(&self->l, BGDMA_CMD_STATS_GET,
					   NLM_F_ACK), &a));
	EXPECT_EQ(1, n);
	node_close(&his);
	node_close(&more);
	node_close(&roots);
}

TEST_HARNESS_MAIN
