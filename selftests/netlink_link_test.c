// SPDX-License-Identifier: GPL-2.0
/*
 * Links and routes by netlink: what is refused, with its explanation and the
 * attribute that the kernel points to; what is kept, shown, and told.
 */
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "netlink_util.h"
#include "netlink_veth.h"
#include "utils.h"

#define NOBODY	65534
#define RANGE	"integer out of range"
#define PAIRS	33

/* A link as a dump, or a notification, shows it. */
struct seen {
	unsigned int n;
	uint8_t cmd;
	uint32_t u32[BGDMA_A_LINK_MAX + 1];
	char name[BGDMA_NAME_MAX];
	char dev[IF_NAMESIZE];
};

FIXTURE(link) {
	struct link l;
	struct answer a;
	struct seen seen;
};

/* ---- Requests ------------------------------------------------------------ */

#define NONE	0xffffffffU

/* One attribute more, of 4 or 8 bytes; 0: none. */
struct more {
	int attr;
	uint16_t bytes;
	uint64_t value;
};

static struct nl_msg *link_request(struct link *l, int cmd, const char *name,
				   uint32_t ifindex, const struct more *more)
{
	struct nl_msg *msg = request(l, cmd, NLM_F_ACK);

	if (name)
		nla_put_string(msg, BGDMA_A_LINK_PARTITION, name);
	if (ifindex != NONE)
		nla_put_u32(msg, BGDMA_A_LINK_IFINDEX, ifindex);
	if (more && more->bytes)
		nla_put(msg, more->attr, more->bytes, &more->value);
	return msg;
}

static int link_do(struct link *l, int cmd, const char *name, const char *dev,
		   const struct more *more)
{
	struct answer a = { 0 };

	return ask(l, link_request(l, cmd, name, if_nametoindex(dev), more),
		   &a);
}

static int link_new(struct link *l, const char *name, const char *dev)
{
	return link_do(l, BGDMA_CMD_LINK_NEW, name, dev, NULL);
}

static void take(struct nlattr **attrs, struct seen *s)
{
	int i;

	s->n++;
	for (i = 1; i <= BGDMA_A_LINK_MAX; i++) {
		s->u32[i] = NONE;
		if (attrs[i] && nla_len(attrs[i]) == 4)
			s->u32[i] = nla_get_u32(attrs[i]);
	}
	snprintf(s->name, sizeof(s->name), "%s",
		 nla_get_string(attrs[BGDMA_A_LINK_PARTITION]));
	snprintf(s->dev, sizeof(s->dev), "%s",
		 nla_get_string(attrs[BGDMA_A_LINK_IFNAME]));
}

static void take_each(struct nlattr **attrs, void *seen)
{
	take(attrs, seen);
}

/* How many links there are; @seen is the last of them. */
static int links(struct link *l, const char *name, struct seen *seen)
{
	struct nl_msg *msg = request(l, BGDMA_CMD_LINK_GET, NLM_F_DUMP);
	struct answer a = { .each = take_each, .arg = seen };
	int err;

	memset(seen, 0, sizeof(*seen));
	if (name)
		nla_put_string(msg, BGDMA_A_LINK_PARTITION, name);
	err = ask(l, msg, &a);
	return err ?: (int)seen->n;
}

FIXTURE_SETUP(link)
{
	ASSERT_EQ(0, unshare(CLONE_NEWNET));
	if (rt_veth())
		SKIP(return, "needs veth");
	ASSERT_EQ(0, rt_set("veth0", true, 1500));
	ASSERT_EQ(0, rt_set("veth1", true, 1500));
	ASSERT_EQ(0, link_open(&self->l));
	ASSERT_EQ(0, make(&self->l, "p", 4));
	memset(&self->a, 0, sizeof(self->a));
}

FIXTURE_TEARDOWN(link)
{
	link_close(&self->l);
}

/* ---- Refused ------------------------------------------------------------- */

#define REFUSED(error, explained, where, msg) do { \
	memset(&self->a, 0, sizeof(self->a)); \
	EXPECT_EQ(error, ask(&self->l, msg, &self->a)); \
	EXPECT_STREQ(explained, self->a.text); \
	EXPECT_EQ(where, self->a.attr); \
} while (0)

TEST_F(link, x1_where_it_cannot_be)
{
	static const int cmds[] = { BGDMA_CMD_LINK_NEW, BGDMA_CMD_LINK_SET,
				    BGDMA_CMD_LINK_DEL };
	uint32_t veth0 = if_nametoindex("veth0");
	struct link *l = &self->l;
	unsigned int i;

	for (i = 0; i < 3; i++) {
		REFUSED(-EINVAL, "bgdma: partition name is missing", -1,
			link_request(l, cmds[i], NULL, veth0, NULL));
		REFUSED(-ENOENT,
			"bgdma: no such partition in this network namespace",
			BGDMA_A_LINK_PARTITION,
			link_request(l, cmds[i], "q", veth0, NULL));
		REFUSED(-EINVAL, "bgdma: device is missing", -1,
			link_request(l, cmds[i], "p", NONE, NULL));
		REFUSED(-ENODEV,
			"bgdma: no such device in this network namespace",
			BGDMA_A_LINK_IFINDEX,
			link_request(l, cmds[i], "p", 9999, NULL));
	}
	for (i = 1; i < 3; i++)
		REFUSED(-ENOENT,
			"bgdma: the partition has no link on this device",
			BGDMA_A_LINK_IFINDEX,
			link_request(l, cmds[i], "p", veth0, NULL));
	REFUSED(-EPROTOTYPE, "bgdma: the device is not an Ethernet device",
		BGDMA_A_LINK_IFINDEX,
		link_request(l, BGDMA_CMD_LINK_NEW, "p", if_nametoindex("lo"),
			     NULL));
	ASSERT_EQ(0, rt_set("veth0", true, 1279));
	REFUSED(-EMSGSIZE, "bgdma: the device's MTU is less than 1280",
		BGDMA_A_LINK_IFINDEX,
		link_request(l, BGDMA_CMD_LINK_NEW, "p", veth0, NULL));
	ASSERT_EQ(0, rt_set("veth0", true, 1280));
	ASSERT_EQ(0, link_new(l, "p", "veth0"));
	REFUSED(-EEXIST, "bgdma: the partition uses this device already",
		BGDMA_A_LINK_IFINDEX,
		link_request(l, BGDMA_CMD_LINK_NEW, "p", veth0, NULL));
}

TEST_F(link, x1_values_that_are_refused)
{
	static const struct {
		struct more more;
		int err;
		const char *text;
	} bad[] = {
		{ { BGDMA_A_LINK_TIMEOUT_MS, 4, 99 }, -ERANGE, RANGE },
		{ { BGDMA_A_LINK_TIMEOUT_MS, 4, 3600001 }, -ERANGE, RANGE },
		{ { BGDMA_A_LINK_HELLO_MS, 4, 9 }, -ERANGE, RANGE },
		{ { BGDMA_A_LINK_HELLO_MS, 4, 60001 }, -ERANGE, RANGE },
		{ { BGDMA_A_LINK_WINDOW, 4, 0 }, -ERANGE, RANGE },
		{ { BGDMA_A_LINK_WINDOW, 4, 257 }, -ERANGE, RANGE },
		{ { BGDMA_A_LINK_COPY, 4, 2 }, -ERANGE, RANGE },
		{ { BGDMA_A_LINK_SUM, 4, 2 }, -ERANGE, RANGE },
		{ { BGDMA_A_LINK_FIXED, 4, 2 }, -ERANGE, RANGE },
		{ { BGDMA_A_LINK_IFNAME, 4, 0 }, -EINVAL,
		  "Unknown attribute type" },
		{ { BGDMA_A_LINK_STATS, 4, 0 }, -EINVAL,
		  "Unknown attribute type" },
	};
	static const struct more slow = { BGDMA_A_LINK_HELLO_MS, 4, 3334 };
	uint32_t veth0 = if_nametoindex("veth0");
	struct link *l = &self->l;
	unsigned int i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		REFUSED(bad[i].err, bad[i].text, bad[i].more.attr,
			link_request(l, BGDMA_CMD_LINK_NEW, "p", veth0,
				     &bad[i].more));
	/* Three of them are more than the timeout. */
	REFUSED(-EINVAL,
		"bgdma: the timeout must be three times the time between two HELLO",
		-1, link_request(l, BGDMA_CMD_LINK_NEW, "p", veth0, &slow));
	EXPECT_EQ(0, links(l, NULL, &self->seen));

	ASSERT_EQ(0, link_new(l, "p", "veth0"));
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		REFUSED(bad[i].err, bad[i].text, bad[i].more.attr,
			link_request(l, BGDMA_CMD_LINK_SET, "p", veth0,
				     &bad[i].more));
	EXPECT_EQ(-EINVAL, link_do(l, BGDMA_CMD_LINK_SET, "p", "veth0", &slow));
	EXPECT_EQ(1, links(l, NULL, &self->seen));
	EXPECT_EQ(1000, self->seen.u32[BGDMA_A_LINK_HELLO_MS]);
}

TEST_F(link, x2_so_many_and_no_more)
{
	char dev[IF_NAMESIZE], name[2] = "a";
	struct link *l = &self->l;
	int i, j;

	for (i = 1; i < PAIRS; i++)
		ASSERT_EQ(0, rt_veth());
	for (i = 0; i < 4; i++, name[0]++) {
		ASSERT_EQ(0, make(l, name, 2));
		for (j = 0; j < 64; j++) {
			snprintf(dev, sizeof(dev), "veth%d", j);
			ASSERT_EQ(0, link_new(l, name, dev));
		}
		/* Of a partition, and then of the namespace. */
		REFUSED(-ENOSPC, "bgdma: too many links", BGDMA_A_LINK_IFINDEX,
			link_request(l, BGDMA_CMD_LINK_NEW, name,
				     if_nametoindex("veth64"), NULL));
	}
	EXPECT_EQ(256, links(l, NULL, &self->seen));
	EXPECT_EQ(64, links(l, "b", &self->seen));
	EXPECT_EQ(-ENOSPC, link_new(l, "p", "veth64"));
	EXPECT_EQ(0, link_do(l, BGDMA_CMD_LINK_DEL, "a", "veth0", NULL));
	EXPECT_EQ(0, link_new(l, "p", "veth64"));
	/* Those of a partition count no more when it is deleted. */
	EXPECT_EQ(0, by_name(l, BGDMA_CMD_PARTITION_DEL, "b"));
	EXPECT_EQ(0, link_new(l, "p", "veth63"));
	EXPECT_EQ(256 - 63, links(l, NULL, &self->seen));
}

/* ---- Kept ---------------------------------------------------------------- */

TEST_F(link, x1_defaults_and_changes_are_shown)
{
	static const struct more more[] = {
		{ BGDMA_A_LINK_TIMEOUT_MS, 4, 20000 },
		{ BGDMA_A_LINK_HELLO_MS, 4, 500 },
		{ BGDMA_A_LINK_WINDOW, 4, 8 },
		{ BGDMA_A_LINK_COPY, 4, 1 },
		{ BGDMA_A_LINK_SUM, 4, 0 },
		{ BGDMA_A_LINK_FIXED, 4, 1 },
	};
	struct seen *seen = &self->seen;
	struct link *l = &self->l;
	unsigned int i;

	ASSERT_EQ(0, link_new(l, "p", "veth0"));
	ASSERT_EQ(1, links(l, "p", seen));
	EXPECT_STREQ("p", seen->name);
	EXPECT_STREQ("veth0", seen->dev);
	EXPECT_EQ(if_nametoindex("veth0"), seen->u32[BGDMA_A_LINK_IFINDEX]);
	EXPECT_EQ(10000, seen->u32[BGDMA_A_LINK_TIMEOUT_MS]);
	EXPECT_EQ(1000, seen->u32[BGDMA_A_LINK_HELLO_MS]);
	EXPECT_EQ(256, seen->u32[BGDMA_A_LINK_WINDOW]);
	EXPECT_EQ(0, seen->u32[BGDMA_A_LINK_COPY]);
	EXPECT_EQ(1, seen->u32[BGDMA_A_LINK_SUM]);
	EXPECT_EQ(0, seen->u32[BGDMA_A_LINK_FIXED]);
	EXPECT_EQ(BGDMA_LINK_STATE_UP, seen->u32[BGDMA_A_LINK_STATE]);
	EXPECT_EQ(1500, seen->u32[BGDMA_A_LINK_MTU]);

	for (i = 0; i < sizeof(more) / sizeof(more[0]); i++)
		ASSERT_EQ(0, link_do(l, BGDMA_CMD_LINK_SET, "p", "veth0",
				     &more[i]));
	ASSERT_EQ(1, links(l, "p", seen));
	for (i = 0; i < sizeof(more) / sizeof(more[0]); i++)
		EXPECT_EQ(more[i].value, seen->u32[more[i].attr]);

	ASSERT_EQ(0, rt_set("veth0", false, 9000));
	ASSERT_EQ(1, links(l, "p", seen));
	EXPECT_EQ(BGDMA_LINK_STATE_DOWN, seen->u32[BGDMA_A_LINK_STATE]);
	EXPECT_EQ(9000, seen->u32[BGDMA_A_LINK_MTU]);
	EXPECT_EQ(0, link_do(l, BGDMA_CMD_LINK_DEL, "p", "veth0", NULL));
	EXPECT_EQ(0, links(l, NULL, seen));
}

TEST_F(link, x1_a_link_to_oneself_is_nothing)
{
	struct nl_msg *msg = request(&self->l, BGDMA_CMD_PEER_GET, NLM_F_DUMP);

	ASSERT_EQ(0, link_new(&self->l, "p", "veth0"));
	ASSERT_EQ(0, link_new(&self->l, "p", "veth1"));
	usleep(300000);
	EXPECT_EQ(0, ask(&self->l, msg, &self->a));
	EXPECT_EQ(0, self->a.messages);
}

/* ---- Who may ------------------------------------------------------------- */

static int try_new(void *dev)
{
	struct link l;
	int err = link_open(&l);

	return err ?: link_new(&l, "p", dev);
}

static int try_look(void *name)
{
	struct seen seen;
	struct link l;
	int err = link_open(&l);

	if (err)
		return err;
	return links(&l, name, &seen) == 1 ? 0 : -EPROTO;
}

TEST_F(link, x2_others_only_look)
{
	ASSERT_EQ(0, link_new(&self->l, "p", "veth0"));
	EXPECT_EQ(-EPERM, as_user(NOBODY, try_new, "veth1"));
	EXPECT_EQ(0, as_user(NOBODY, try_look, "p"));
}

/* In a user namespace of his own, anybody is administrator of his network. */
static int in_user_namespace(void *unused)
{
	static const struct more fast = { BGDMA_A_LINK_HELLO_MS, 4, 99 };
	struct link l;
	int err;

	(void)unused;
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET))
		return errno == ENOSPC || errno == EPERM ? 0 : -errno;
	err = rt_veth() ? -EXDEV : link_open(&l);
	if (err)
		return err;
	err = make(&l, "p", 2);
	if (err)
		return err;
	if (link_do(&l, BGDMA_CMD_LINK_NEW, "p", "veth0", &fast) != -EPERM)
		return -EPROTO;
	return link_new(&l, "p", "veth0");
}

TEST_F(link, x2_no_storms_from_a_user_namespace)
{
	EXPECT_EQ(0, as_user(NOBODY, in_user_namespace, NULL));
}

/* ---- Nodes that live elsewhere ------------------------------------------- */

static int attach(const char *name, __u32 rank)
{
	struct bgdma_attach opts = { .ctx = BGDMA_CTX_ANY };
	int fd = bg_open(), ret;

	if (fd < 0)
		return fd;
	ret = bg_attach(fd, name, rank, &opts);
	close(fd);
	return ret;
}

TEST_F(link, x1_nobody_attaches_to_a_node_that_lives_elsewhere)
{
	static const struct bgdma_run runs[] = { { 1, 1 }, { 3, 4 } };
	static const char key[16] = "sixteen bytes...";
	struct nl_msg *msg = request(&self->l, BGDMA_CMD_PARTITION_NEW,
				     NLM_F_ACK);
	int i;

	nla_put_string(msg, BGDMA_A_PARTITION_NAME, "q");
	nla_put_u32(msg, BGDMA_A_PARTITION_DIM_X, 6);
	nla_put_u32(msg, BGDMA_A_PARTITION_DIM_Y, 1);
	nla_put_u32(msg, BGDMA_A_PARTITION_DIM_Z, 1);
	nla_put(msg, BGDMA_A_PARTITION_NODES, sizeof(runs), runs);
	nla_put(msg, BGDMA_A_PARTITION_KEY, sizeof(key), key);
	ASSERT_EQ(0, ask(&self->l, msg, &self->a));
	for (i = 0; i < 6; i++)
		EXPECT_EQ(i == 1 || i == 3 || i == 4 ? 0 : -EREMOTE,
			  attach("q", (__u32)i));
	EXPECT_EQ(-ENOENT, attach("q", 6));
	/* A link alone sends no node away. */
	ASSERT_EQ(0, link_new(&self->l, "p", "veth0"));
	EXPECT_EQ(0, attach("p", 3));
}

static void find_secret(struct nlattr **attrs, void *arg)
{
	bool *found = arg;

	*found |= !!attrs[BGDMA_A_PARTITION_KEY];
}

TEST_F(link, the_key_is_not_shown)
{
	static const char key[16] = "sixteen bytes...";
	struct nl_msg *msg = request(&self->l, BGDMA_CMD_PARTITION_NEW,
				     NLM_F_ACK);
	bool found = false;
	int i;

	nla_put_string(msg, BGDMA_A_PARTITION_NAME, "q");
	for (i = BGDMA_A_PARTITION_DIM_X; i <= BGDMA_A_PARTITION_DIM_Z; i++)
		nla_put_u32(msg, i, 2);
	nla_put(msg, BGDMA_A_PARTITION_KEY, sizeof(key), key);
	ASSERT_EQ(0, ask(&self->l, msg, &self->a));
	self->a = (struct answer) { .each = find_secret, .arg = &found };
	ASSERT_EQ(0, ask(&self->l, request(&self->l, BGDMA_CMD_PARTITION_GET,
					   NLM_F_DUMP), &self->a));
	EXPECT_EQ(2, self->a.messages);
	EXPECT_FALSE(found);
}

/* ---- Routes -------------------------------------------------------------- */

static struct nl_msg *route_request(struct link *l, const char *name,
				    uint32_t from, uint32_t to)
{
	struct nl_msg *msg = request(l, BGDMA_CMD_ROUTE_GET, NLM_F_ACK);

	if (name)
		nla_put_string(msg, BGDMA_A_ROUTE_PARTITION, name);
	if (from != NONE)
		nla_put_u32(msg, BGDMA_A_ROUTE_FROM, from);
	if (to != NONE)
		nla_put_u32(msg, BGDMA_A_ROUTE_TO, to);
	return msg;
}

TEST_F(link, dma7_routes_that_are_refused)
{
	struct link *l = &self->l;

	REFUSED(-EINVAL, "bgdma: partition name is missing", -1,
		route_request(l, NULL, 0, 1));
	REFUSED(-ENOENT, "bgdma: no such partition in this network namespace",
		BGDMA_A_ROUTE_PARTITION, route_request(l, "q", 0, 1));
	REFUSED(-EINVAL, "bgdma: two ranks are needed", -1,
		route_request(l, "p", NONE, 1));
	REFUSED(-EINVAL, "bgdma: two ranks are needed", -1,
		route_request(l, "p", 1, NONE));
	REFUSED(-ENOENT, "bgdma: the partition has no such rank",
		BGDMA_A_ROUTE_FROM, route_request(l, "p", 4, 1));
	REFUSED(-ENOENT, "bgdma: the partition has no such rank",
		BGDMA_A_ROUTE_TO, route_request(l, "p", 1, NONE - 1));
}

static void count_hops(struct nlattr **attrs, void *arg)
{
	struct nlattr *tb[BGDMA_A_HOP_MAX + 1];
	uint32_t *last = arg;

	/* Of several the last is kept. */
	if (attrs[BGDMA_A_ROUTE_HOP] &&
	    !nla_parse_nested(tb, BGDMA_A_HOP_MAX, attrs[BGDMA_A_ROUTE_HOP],
			      NULL))
		*last = nla_get_u32(tb[BGDMA_A_HOP_TO]);
}

TEST_F(link, dma7_routes_where_all_nodes_live_here)
{
	uint32_t last = NONE;

	self->a = (struct answer) { .each = count_hops, .arg = &last };
	ASSERT_EQ(0, ask(&self->l, route_request(&self->l, "p", 0, 2),
			 &self->a));
	EXPECT_EQ(2, last);
	/* The same with a link that leads nowhere. */
	ASSERT_EQ(0, link_new(&self->l, "p", "veth0"));
	last = NONE;
	self->a = (struct answer) { .each = count_hops, .arg = &last };
	ASSERT_EQ(0, ask(&self->l, route_request(&self->l, "p", 0, 2),
			 &self->a));
	EXPECT_EQ(2, last);
}

/* ---- Told ---------------------------------------------------------------- */

static int hear(struct nl_msg *msg, void *arg)
{
	struct nlattr *attrs[ATTRS_MAX];
	struct seen *seen = arg;

	seen->cmd = genlmsg_hdr(nlmsg_hdr(msg))->cmd;
	if (!genlmsg_parse(nlmsg_hdr(msg), 0, attrs, ATTRS_MAX - 1, NULL))
		take(attrs, seen);
	return NL_OK;
}

static uint8_t told(struct link *l, struct seen *seen)
{
	struct pollfd p = { nl_socket_get_fd(l->sock), POLLIN, 0 };

	seen->cmd = 0;
	if (poll(&p, 1, 1000) == 1)
		nl_recvmsgs_default(l->sock);
	return seen->cmd;
}

TEST_F(link, x1_changes_are_told)
{
	static const struct more window = { BGDMA_A_LINK_WINDOW, 4, 7 };
	struct seen *seen = &self->seen;
	struct link ears;
	int group;

	ASSERT_EQ(0, link_open(&ears));
	group = genl_ctrl_resolve_grp(ears.sock, BGDMA_GENL_NAME,
				      BGDMA_MCGRP_CONFIG);
	ASSERT_GT(group, 0);
	nl_socket_disable_seq_check(ears.sock);
	nl_socket_modify_cb(ears.sock, NL_CB_VALID, NL_CB_CUSTOM, hear, seen);
	ASSERT_EQ(0, nl_socket_add_membership(ears.sock, group));

	ASSERT_EQ(0, link_new(&self->l, "p", "veth0"));
	EXPECT_EQ(BGDMA_CMD_LINK_NEW_NTF, told(&ears, seen));
	EXPECT_STREQ("veth0", seen->dev);
	ASSERT_EQ(0, link_do(&self->l, BGDMA_CMD_LINK_SET, "p", "veth0",
			     &window));
	EXPECT_EQ(BGDMA_CMD_LINK_SET_NTF, told(&ears, seen));
	EXPECT_EQ(7, seen->u32[BGDMA_A_LINK_WINDOW]);
	ASSERT_EQ(0, rt_set("veth0", true, 4200));
	EXPECT_EQ(BGDMA_CMD_LINK_SET_NTF, told(&ears, seen));
	EXPECT_EQ(4200, seen->u32[BGDMA_A_LINK_MTU]);
	ASSERT_EQ(0, rt_set("veth1", false, 1500));
	EXPECT_EQ(BGDMA_CMD_LINK_SET_NTF, told(&ears, seen));
	EXPECT_EQ(BGDMA_LINK_STATE_DOWN, seen->u32[BGDMA_A_LINK_STATE]);
	ASSERT_EQ(0, rt_del("veth1"));
	EXPECT_EQ(BGDMA_CMD_LINK_DEL_NTF, told(&ears, seen));
	EXPECT_STREQ("veth0", seen->dev);
	EXPECT_EQ(0, links(&self->l, NULL, seen));
	link_close(&ears);
}

TEST_HARNESS_MAIN
