// SPDX-License-Identifier: GPL-2.0
/*
 * libbgdma without any device: builders byte for byte, and errors in words.
 *
 * Proves the library's share of DMA-1 and DMA-8.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bgdma/bgdma.h>

#include "kselftest_harness.h"

#define NONE4	0xff, 0xff, 0xff, 0xff

#define EXPECT_BYTES(expected, seen)					\
	EXPECT_EQ(0, memcmp((expected), (seen), sizeof(expected)))

/* ---- Builders --------------------------------------------------------- */

/* A different value in every byte, so that nothing can be mixed up. */
static const struct bgdma_transfer full = {
	.dest = 0x04030201,
	.dest_ctx = 0x0605,
	.dest_fifo = 0x0807,
	.dispatch = 0x0a09,
	.length = 0x0e0d0c0b,
	.from = { 0x1211100f, 0x1a19181716151413 },
	.to = { 0x1e1d1c1b, 0x262524232221201f },
	.counter = 0x2a292827,
	.remote_counter = 0x2e2d2c2b,
	.flags = BGDMA_DESC_OPS | BGDMA_DESC_FENCE,
	.route = BGDMA_ROUTE_ADAPTIVE | BGDMA_ROUTE_XM,
	.cookie = 0x363534333231302f,
};

TEST(desc_memfifo)
{
	static const uint8_t expected[64] = {
		1, 0x0c, 0x42, 0, 1, 2, 3, 4, 5, 6, 7, 8,
		0x27, 0x28, 0x29, 0x2a, 0x2b, 0x2c, 0x2d, 0x2e,
		0, 0, 0, 0, 0x0b, 0x0c, 0x0d, 0x0e, 9, 0x0a, 0, 0,
		0x0f, 0x10, 0x11, 0x12, NONE4,
		0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1a,
		0, 0, 0, 0, 0, 0, 0, 0,
		0x2f, 0x30, 0x31, 0x32, 0x33, 0x34, 0x35, 0x36,
	};
	struct bgdma_desc desc;

	memset(&desc, 0x55, sizeof(desc));
	bgdma_desc_memfifo(&desc, &full);
	EXPECT_BYTES(expected, &desc);
}

TEST(desc_local_memfifo)
{
	static const uint8_t expected[64] = {
		2, 0x0c, 0, 0, 0, 0, 0, 0, 0, 0, 7, 8,
		0x27, 0x28, 0x29, 0x2a, 0x2b, 0x2c, 0x2d, 0x2e,
		0, 0, 0, 0, 0x0b, 0x0c, 0x0d, 0x0e, 9, 0x0a, 0, 0,
		0x0f, 0x10, 0x11, 0x12, NONE4,
		0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1a,
		0, 0, 0, 0, 0, 0, 0, 0,
		0x2f, 0x30, 0x31, 0x32, 0x33, 0x34, 0x35, 0x36,
	};
	struct bgdma_desc desc;

	memset(&desc, 0x55, sizeof(desc));
	bgdma_desc_local_memfifo(&desc, &full);
	EXPECT_BYTES(expected, &desc);
}

TEST(desc_inline)
{
	static const uint8_t expected[64] = {
		1, BGDMA_DESC_INLINE, 0, 0, 1, 0, 0, 0, 2, 0, 3, 0,
		NONE4, NONE4, 0, 0, 0, 0, 5, 0, 0, 0, 4, 0, 0, 0,
		'h', 'e', 'l', 'l', 'o', 0, 0, 0, 0, 0, 0, 0,
		0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
		6, 0, 0, 0, 0, 0, 0, 0,
	};
	const struct bgdma_transfer t = {
		.dest = 1, .dest_ctx = 2, .dest_fifo = 3, .dispatch = 4,
		.length = 5, .cookie = 6,
	};
	char most[BGDMA_INLINE_MAX];
	struct bgdma_desc desc;

	memset(&desc, 0x55, sizeof(desc));
	bgdma_desc_memfifo(&desc, &t);
	bgdma_desc_inline(&desc, "hello", 5);
	EXPECT_BYTES(expected, &desc);

	memset(most, 0x77, sizeof(most));
	bgdma_desc_inline(&desc, most, sizeof(most));
	EXPECT_BYTES(most, (char *)&desc + 32);
	EXPECT_EQ(6, desc.cookie);
}

TEST(desc_put)
{
	static const uint8_t expected[64] = {
		3, 0x0c, 0x42, 0, 1, 2, 3, 4, 5, 6, 0, 0,
		0x27, 0x28, 0x29, 0x2a, 0x2b, 0x2c, 0x2d, 0x2e,
		0, 0, 0, 0, 0x0b, 0x0c, 0x0d, 0x0e, 0, 0, 0, 0,
		0x0f, 0x10, 0x11, 0x12, 0x1b, 0x1c, 0x1d, 0x1e,
		0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1a,
		0x1f, 0x20, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26,
		0x2f, 0x30, 0x31, 0x32, 0x33, 0x34, 0x35, 0x36,
	};
	struct bgdma_desc desc;

	memset(&desc, 0x55, sizeof(desc));
	bgdma_desc_put(&desc, &full);
	EXPECT_BYTES(expected, &desc);
}

TEST(desc_local_copy)
{
	static const uint8_t expected[64] = {
		4, 0x0c, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
		0x27, 0x28, 0x29, 0x2a, 0x2b, 0x2c, 0x2d, 0x2e,
		0, 0, 0, 0, 0x0b, 0x0c, 0x0d, 0x0e, 0, 0, 0, 0,
		0x0f, 0x10, 0x11, 0x12, 0x1b, 0x1c, 0x1d, 0x1e,
		0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1a,
		0x1f, 0x20, 0x21, 0x22, 0x23, 0x24, 0x25, 0x26,
		0x2f, 0x30, 0x31, 0x32, 0x33, 0x34, 0x35, 0x36,
	};
	struct bgdma_desc desc;

	memset(&desc, 0x55, sizeof(desc));
	bgdma_desc_local_copy(&desc, &full);
	EXPECT_BYTES(expected, &desc);
}

TEST(desc_rget)
{
	static const uint8_t expected[64] = {
		5, 0x0c, 0x42, 0, 1, 2, 3, 4, 5, 6, 7, 8,
		0x27, 0x28, 0x29, 0x2a, NONE4,
		0, 0, 0, 0, 0x0b, 0x0c, 0x0d, 0x0e, 0, 0, 0, 0,
		0x0f, 0x10, 0x11, 0x12, NONE4,
		0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1a,
		0, 0, 0, 0, 0, 0, 0, 0,
		0x2f, 0x30, 0x31, 0x32, 0x33, 0x34, 0x35, 0x36,
	};
	const struct bgdma_transfer unfilled = { .length = 64 };
	struct bgdma_desc desc;

	memset(&desc, 0x55, sizeof(desc));
	bgdma_desc_rget(&desc, &full);
	EXPECT_BYTES(expected, &desc);

	bgdma_desc_rget(&desc, &unfilled);
	EXPECT_EQ(BGDMA_NONE, desc.u.at.src_region);
	EXPECT_EQ(BGDMA_NONE, desc.inj_ctr);
	EXPECT_EQ(BGDMA_NONE, desc.rec_ctr);
}

TEST(desc_nop)
{
	static const uint8_t expected[64] = {
		0, BGDMA_DESC_FENCE, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
		NONE4, NONE4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
		NONE4, NONE4,
	};
	struct bgdma_desc desc;

	memset(&desc, 0x55, sizeof(desc));
	bgdma_desc_nop(&desc, BGDMA_DESC_FENCE);
	EXPECT_BYTES(expected, &desc);
}

/* ---- Errors in words -------------------------------------------------- */

TEST(codes)
{
	unsigned int code, known = 0;

	for (code = 0; code < 64; code++) {
		int error = bgdma_code_errno(code);

		if (!bgdma_code_name(code)) {
			EXPECT_STREQ("unknown code", bgdma_strcode(code));
			EXPECT_EQ(-EIO, error);
			continue;
		}
		known++;
		EXPECT_NE(0, strcmp("unknown code", bgdma_strcode(code)));
		EXPECT_TRUE(code ? error < 0 : !error);
		EXPECT_TRUE(error != -EAGAIN && error != -ETIMEDOUT &&
			    error != -EINTR && error != -ENODEV &&
			    error != -EIO);
	}
	EXPECT_EQ(BGDMA_E_ALIGN + 1 + 9, known);
	EXPECT_STREQ("BGDMA_E_BOUNDS", bgdma_code_name(BGDMA_E_BOUNDS));
	EXPECT_EQ(-ERANGE, bgdma_code_errno(BGDMA_E_BOUNDS));
	EXPECT_STREQ("unknown code", bgdma_strcode(UINT_MAX));
}

TEST(explain_record)
{
	struct bgdma_record record = {
		.code = BGDMA_E_BOUNDS, .desc_seq = 17, .fifo = 2,
		.fifo_kind = BGDMA_KIND_INJ_FIFO, .peer_rank = 5,
		.peer_ctx = 1, .transfer_id = 0x2a, .offset = 4096,
		.bound = 4000, .lost = 3,
	};
	static const char expected[] =
		"offset and length leave the region or grant (BGDMA_E_BOUNDS): "
		"descriptor 17 of injection FIFO 2, peer rank 5 context 1, "
		"offset 4096, bound 4000, transfer 0x2a; 3 more errors since";
	char buf[512], small[20];

	EXPECT_EQ(sizeof(expected) - 1,
		  bgdma_explain_record(&record, buf, sizeof(buf)));
	EXPECT_STREQ(expected, buf);

	/* As snprintf(): the length of the whole, and always a final zero. */
	memset(small, 'x', sizeof(small));
	EXPECT_EQ(sizeof(expected) - 1,
		  bgdma_explain_record(&record, small, sizeof(small) - 1));
	EXPECT_EQ(sizeof(small) - 2, strlen(small));
	EXPECT_EQ('x', small[sizeof(small) - 1]);
	EXPECT_EQ(sizeof(expected) - 1, bgdma_explain_record(&record, NULL, 0));

	record = (struct bgdma_record){
		.code = BGDMA_E_ABORTED, .fifo_kind = BGDMA_KIND_RGET_QUEUE,
		.fifo = 1, .peer_rank = 3, .peer_ctx = BGDMA_CTX_ANY,
		.offset = 8, .bound = BGDMA_E_STALE,
	};
	bgdma_explain_record(&record, buf, sizeof(buf));
	EXPECT_STREQ("other side of the transfer failed (BGDMA_E_ABORTED): "
		     "descriptor 0 of remote-get queue 1, peer rank 3, offset "
		     "8, because: handle of an earlier generation "
		     "(BGDMA_E_STALE)", buf);

	record = (struct bgdma_record){
		.code = BGDMA_E_UNDERFLOW, .peer_rank = BGDMA_RANK_ANY,
		.offset = (__u64)-8,
	};
	bgdma_explain_record(&record, buf, sizeof(buf));
	EXPECT_STREQ("counter went below zero (BGDMA_E_UNDERFLOW): context, "
		     "no peer, value -8", buf);

	record = (struct bgdma_record){ .code = BGDMA_OK, .offset = 9 };
	bgdma_explain_record(&record, buf, sizeof(buf));
	EXPECT_STREQ("no error (BGDMA_OK)", buf);
	record = (struct bgdma_record){ .code = 4711, .fifo_kind = 99 };
	bgdma_explain_record(&record, buf, sizeof(buf));
	EXPECT_STREQ("unknown code 4711: object 0, peer rank 0 context 0, "
		     "offset 0, bound 0", buf);
}

TEST(explain_event)
{
	struct bgdma_event event = {
		.type = BGDMA_EVENT_PEER_DOWN, .peer_rank = 4, .peer_ctx = 2,
		.peer_incarnation = 9,
	};
	char buf[512];

	bgdma_explain_event(&event, buf, sizeof(buf));
	EXPECT_STREQ("peer rank 4 context 2 left or died (incarnation 9)", buf);

	event = (struct bgdma_event){
		.type = BGDMA_EVENT_PEER_DOWN, .peer_rank = 4,
		.peer_ctx = BGDMA_CTX_ANY, .bound = 4095,
	};
	bgdma_explain_event(&event, buf, sizeof(buf));
	EXPECT_STREQ("all at nodes 4 to 4095 are gone", buf);
	event.bound = 4;
	bgdma_explain_event(&event, buf, sizeof(buf));
	EXPECT_STREQ("all at node 4 are gone", buf);

	event = (struct bgdma_event){
		.type = BGDMA_EVENT_OFFENDER, .code = BGDMA_E_RIGHTS,
		.kind = BGDMA_KIND_RGET_QUEUE, .object = 3, .peer_rank = 4,
		.desc_seq = 6, .transfer_id = 0x10, .cookie = 0xab,
		.offset = 1, .bound = 2,
	};
	bgdma_explain_event(&event, buf, sizeof(buf));
	EXPECT_STREQ("a remote descriptor was refused at our remote-get queue "
		     "3: no right to use that object (BGDMA_E_RIGHTS): "
		     "descriptor 6, peer rank 4 context 0, offset 1, bound 2, "
		     "transfer 0x10, cookie 0xab", buf);

	event.type = BGDMA_EVENT_COUNTER;
	event.kind = BGDMA_KIND_REC_COUNTER;
	event.object = BGDMA_HANDLE(7, 2);
	event.transfer_id = 0;
	bgdma_explain_event(&event, buf, sizeof(buf));
	EXPECT_STREQ("reception counter 7 is in error: no right to use that "
		     "object (BGDMA_E_RIGHTS): peer rank 4 context 0, offset "
		     "1, bound 2", buf);

	/* What broke between others, of which only they know more. */
	event.type = BGDMA_EVENT_CLASS;
	event.code = BGDMA_E_ABORTED;
	event.kind = BGDMA_KIND_CLASS;
	event.object = 3;
	event.bound = 70;
	bgdma_explain_event(&event, buf, sizeof(buf));
	EXPECT_STREQ("class 3 broke: other side of the transfer failed "
		     "(BGDMA_E_ABORTED): peer rank 4 context 0, instance 70",
		     buf);

	event.type = 77;
	EXPECT_GT(bgdma_explain_event(&event, buf, sizeof(buf)), 0);
	EXPECT_NE(NULL, strstr(buf, "unknown type 77"));
}

TEST(mem_required)
{
	char *page = (char *)0x10000;

	EXPECT_EQ(0, bgdma_mem_required(page, 0));
	EXPECT_EQ(4096, bgdma_mem_required(page, 1));
	EXPECT_EQ(4096, bgdma_mem_required(page, 4096));
	EXPECT_EQ(8192, bgdma_mem_required(page, 4097));
	EXPECT_EQ(4096, bgdma_mem_required(page + 4095, 1));
	EXPECT_EQ(8192, bgdma_mem_required(page + 4095, 2));
	EXPECT_EQ(12288, bgdma_mem_required(page + 4095, 4098));
	EXPECT_EQ(4096, bgdma_mem_required(NULL, 4096));
	EXPECT_EQ(5ULL << 30, bgdma_mem_required(page, 5ULL << 30));
	EXPECT_EQ(UINT64_MAX, bgdma_mem_required(page + 1, UINT64_MAX));
}

TEST_HARNESS_MAIN
