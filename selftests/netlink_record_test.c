// SPDX-License-Identifier: GPL-2.0
/*
 * The error of a FIFO, looked at by netlink while its owner clears it and the next one
 * is shown.
 */
#include <pthread.h>

#include "kselftest_harness.h"
#include "netlink_util.h"
#include "utils.h"

#define NO_OP	77	/* an operation that there is not, and the offset of its error */
#define NO_RANK	9

struct seen {
	unsigned int codes;	/* bit i: code i was */
	__u32 wrong;		/* one that had what is the other's */
};

static void *two_errors(void *arg)
{
	struct inj *i = arg;
	struct bgdma_desc no_op = d_nop(), no_rank = d_inline(NO_RANK, 0, NULL, 0);
	unsigned int n;

	no_op.op = NO_OP;
	for (n = 0; n < 20000; n++) {
		if (run_bad(i, n % 2 ? &no_op : &no_rank) == BGDMA_OK)
			must(-EPROTO);
	}
	return NULL;
}

static void look(struct nlattr **attrs, void *arg)
{
	struct nlattr *in[BGDMA_A_RECORD_MAX + 1];
	struct seen *seen = arg;
	uint64_t offset;
	__u32 code;

	if (!attrs[BGDMA_A_FIFO_RECORD])
		return;
	must(nla_parse_nested(in, BGDMA_A_RECORD_MAX, attrs[BGDMA_A_FIFO_RECORD],
			      NULL));
	code = nla_get_u32(in[BGDMA_A_RECORD_CODE]);
	offset = nla_get_u64(in[BGDMA_A_RECORD_OFFSET]);
	seen->codes |= 1U << code;
	if (offset != (code == BGDMA_E_OP ? NO_OP : NO_RANK))
		seen->wrong = code;
}

TEST(dma8_an_error_is_never_halves_of_two)
{
	struct seen seen = { 0 };
	pthread_t thread;
	struct node n;
	struct link l;
	struct inj i;

	partition_new("4x1x1", "");
	node_new(&n, 0);
	inj_new(&i, &n);
	ASSERT_EQ(0, link_open(&l));
	ASSERT_EQ(0, pthread_create(&thread, NULL, two_errors, &i));
	while (pthread_tryjoin_np(thread, NULL)) {
		struct answer a = { .each = look, .arg = &seen };

		ASSERT_EQ(0, ask(&l, request(&l, BGDMA_CMD_FIFO_GET, NLM_F_DUMP), &a));
		ASSERT_EQ(0, seen.wrong);
	}
	EXPECT_EQ(1U << BGDMA_E_OP | 1U << BGDMA_E_NO_PEER, seen.codes);
	link_close(&l);
	node_close(&n);
}

TEST_HARNESS_MAIN
