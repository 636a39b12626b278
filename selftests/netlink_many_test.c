// SPDX-License-Identifier: GPL-2.0
/*
 * More partitions than a network namespace may have: its administrator can be
 * anybody, in a user namespace of his own.
 */
#include <sched.h>

#include "kselftest_harness.h"
#include "netlink_util.h"
#include "utils.h"

#define NOBODY	65534
#define MOST	1024	/* BGDMA_PARTITIONS_MAX */
#define KEY	16	/* bytes */

static int make_number(struct link *l, unsigned int i, bool key)
{
	struct nl_msg *msg = request(l, BGDMA_CMD_PARTITION_NEW, NLM_F_ACK);
	static const uint8_t secret[KEY] = "a secret";
	char name[BGDMA_NAME_MAX];
	struct answer a = { 0 };

	snprintf(name, sizeof(name), "p%u", i);
	nla_put_string(msg, BGDMA_A_PARTITION_NAME, name);
	nla_put_u32(msg, BGDMA_A_PARTITION_DIM_X, 1);
	nla_put_u32(msg, BGDMA_A_PARTITION_DIM_Y, 1);
	nla_put_u32(msg, BGDMA_A_PARTITION_DIM_Z, 1);
	if (key)
		nla_put(msg, BGDMA_A_PARTITION_KEY, KEY, secret);
	if (!ask(l, msg, &a))
		return 0;
	if (a.err == -ENOSPC &&
	    strcmp(a.text, "bgdma: too many partitions in this network namespace"))
		return -EPROTO;
	return a.err;
}

/* As many as there is room for, and not one more. */
static int make_all(struct link *l, bool key)
{
	unsigned int i;
	int err = 0;

	for (i = 0; !err && i < MOST; i++)
		err = make_number(l, i, key);
	if (err)
		return err;
	if (make_number(l, MOST, key) != -ENOSPC)
		return -E2BIG;
	/* What is wrong with it is told first. */
	if (make_number(l, 7, key) != -EEXIST)
		return -EXDEV;
	/* One that goes makes room for one. */
	err = by_name(l, BGDMA_CMD_PARTITION_DEL, "p7") ?:
	      make_number(l, MOST, key);
	if (err)
		return err;
	return make_number(l, 7, key) == -ENOSPC ? 0 : -E2BIG;
}

/* With what links need; he leaves all of them behind. */
static int in_user_namespace(void *unused)
{
	struct link l;

	(void)unused;
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET))
		return errno == ENOSPC || errno == EPERM ? 0 : -errno;
	return link_open(&l) ?: make_all(&l, true);
}

TEST(x2_so_many_partitions_and_no_more)
{
	struct link l;

	ASSERT_EQ(0, unshare(CLONE_NEWNET));
	ASSERT_EQ(0, link_open(&l));
	EXPECT_EQ(0, as_user(NOBODY, in_user_namespace, NULL));
	/* His do not count here. */
	EXPECT_EQ(0, make_all(&l, false));
	link_close(&l);
}

TEST_HARNESS_MAIN
