// SPDX-License-Identifier: GPL-2.0
/*
 * libbgdma when it is refused: attributes that make no sense, and calls that
 * fail one after the other, after which nothing may be left behind.
 */
#include <stdio.h>
#include <stdlib.h>

#include <bgdma/bgdma.h>

#include "kselftest_harness.h"
#include "lib_fake.h"

TEST(attach_refusals)
{
	struct {
		struct bgdma_attach_attr attr;
		char more[8];
	} later = { .attr = { .partition = "fake" } };
	size_t past = offsetof(struct bgdma_attach_attr, rank);
	struct bgdma_attach_attr long_name = { .rank = 0 };
	char name[BGDMA_NAME_MAX + 1];
	struct bgdma_ctx *ctx = NULL;

	fake_reset();
	EXPECT_EQ(-ENOENT, bgdma_attach(&ctx, &(struct bgdma_attach_attr){
			.partition = "nowhere" }));
	EXPECT_EQ(-1, fcntl(fake.fd, F_GETFD));
	EXPECT_EQ(-EINVAL, bgdma_attach(&ctx, &(struct bgdma_attach_attr){
			.rank = 1 }));
	memset(name, 'x', sizeof(name));
	name[BGDMA_NAME_MAX] = 0;
	long_name.partition = name;
	EXPECT_EQ(-ENAMETOOLONG, bgdma_attach(&ctx, &long_name));
	EXPECT_EQ(NULL, ctx);

	/* A program of the future may ask for nothing that we do not know. */
	EXPECT_EQ(0, bgdma_attach_sized(&ctx, &later.attr, sizeof(later)));
	bgdma_detach(ctx);
	later.more[3] = 1;
	EXPECT_EQ(-E2BIG, bgdma_attach_sized(&ctx, &later.attr, sizeof(later)));
	/* One of the past knew less. */
	EXPECT_EQ(0, bgdma_attach_sized(&ctx, &later.attr, past));
	bgdma_detach(ctx);
	bgdma_detach(NULL);
}

/* Make and end one of each kind; @made counts what should exist then. */
static int use_everything(struct bgdma_ctx **ctx, int *made)
{
	struct bgdma_region *pinned, *driver = NULL;
	struct bgdma_counter *counters[5];
	struct bgdma_inj_fifo *inj = NULL;
	struct bgdma_rget_queue *queue;
	struct bgdma_rec_fifo *rec;
	static char memory[4096];
	int ret;

	ret = bgdma_attach(ctx, &(struct bgdma_attach_attr){
			.partition = "fake" });
	if (ret)
		return ret;
	ret = bgdma_inj_create(*ctx, NULL, &inj);
	*made += !ret;
	if (!ret)
		ret = bgdma_rec_create(*ctx, NULL, &rec);
	*made += !ret;
	if (!ret)
		ret = bgdma_rgq_create(*ctx, NULL, &queue);
	*made += !ret;
	if (!ret)
		ret = bgdma_counter_alloc_many(*ctx, BGDMA_INJECTION, 5, 0,
					       counters);
	*made += ret ? 0 : 5;
	if (!ret)
		ret = bgdma_region_register(*ctx, memory, sizeof(memory),
					    BGDMA_LOCAL_READ, &pinned);
	*made += !ret;
	if (!ret)
		ret = bgdma_region_alloc(*ctx, 9000, BGDMA_LOCAL_READ, &driver);
	*made += !ret;
	if (!ret)
		ret = bgdma_region_free(driver);
	*made -= !ret;
	if (!ret)
		ret = bgdma_inj_destroy(inj);
	*made -= !ret;
	return ret;
}

/* The nth call fails, for every n, until there are so many no longer. */
TEST(fail_nth)
{
	int n, ret = -ENOMEM;

	for (n = 1; ret && n < 100; n++) {
		struct bgdma_ctx *ctx = NULL;
		int made = 0;

		fake_reset();
		fake.fail_at = n;
		fake.fail_with = ENOMEM;
		ret = use_everything(&ctx, &made);
		EXPECT_TRUE(ret == 0 || ret == -ENOMEM);
		/* What the caller has a handle for is what exists. */
		EXPECT_EQ(made, fake.objects);
		bgdma_detach(ctx);
		EXPECT_EQ(-1, fcntl(fake.fd, F_GETFD));
	}
	EXPECT_EQ(0, ret);
	/* open, attach, five areas, nine calls and three rings at least. */
	EXPECT_GE(n, 19);
}

TEST_HARNESS_MAIN
