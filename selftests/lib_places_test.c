// SPDX-License-Identifier: GPL-2.0
/*
 * libbgdma without any device: which member of a group has which place in its tree.
 *
 * Proves the library's share of DP-7.
 */
#include "../lib/coll/places.c"	/* NOLINT(bugprone-suspicious-include) */

#include "kselftest_harness.h"

#define MOST	4100U

static uint32_t node[MOST], order[MOST];

static void put_on(uint32_t size, uint32_t per_node, uint32_t nodes)
{
	uint32_t i;

	for (i = 0; i < size; i++)
		node[i] = i / per_node % nodes;
}

static bool is_permutation(uint32_t size)
{
	static bool seen[MOST];
	uint32_t i;

	memset(seen, 0, sizeof(seen));
	for (i = 0; i < size; i++) {
		if (order[i] >= size || seen[order[i]])
			return false;
		seen[order[i]] = true;
	}
	return true;
}

static uint32_t hops(const struct bgdma_ctx_info *info, uint32_t size)
{
	uint32_t all = 0, i;

	for (i = 1; i < size; i++)
		all += node_hops(info, node[order[(i - 1) / 2]], node[order[i]]);
	return all;
}

TEST(dp7_each_member_has_a_place_and_the_first_is_the_root)
{
	struct bgdma_ctx_info info = { .dims = { 5, 3, 2 }, .torus = 5 };
	uint32_t size;

	for (size = 1; size < MOST; size += size < 300 ? 1 : 379) {
		put_on(size, 1 + size % 3, 30);
		ASSERT_EQ(0, places_find(&info, node, size, order));
		ASSERT_TRUE(is_permutation(size));
		ASSERT_EQ(0, order[0]);
	}
}

/* Beside what it takes by number. */
TEST(dp7_trees_cross_few_links)
{
	static const struct {
		uint32_t dims[3], torus, per_node, hops, by_number;
	} shape[] = {
		{ { 2, 2, 2 }, 7, 1, 8, 10 },
		{ { 2, 1, 1 }, 0, 4, 2, 4 },
		{ { 8, 1, 1 }, 0, 1, 14, 19 },
		{ { 8, 1, 1 }, 1, 1, 10, 19 },
		{ { 4, 4, 4 }, 7, 4, 249, 767 },
		{ { 16, 16, 1 }, 0, 1, 607, 2152 },
		{ { 8, 8, 8 }, 7, 1, 1213, 3073 },
	};
	struct bgdma_ctx_info info = {};
	uint32_t i, k, size, nodes;

	for (i = 0; i < ARRAY_SIZE(shape); i++) {
		nodes = 1;
		for (k = 0; k < 3; k++) {
			info.dims[k] = shape[i].dims[k];
			nodes *= info.dims[k];
		}
		info.torus = shape[i].torus;
		size = nodes * shape[i].per_node;
		put_on(size, shape[i].per_node, nodes);
		for (k = 0; k < size; k++)
			order[k] = k;
		EXPECT_EQ(shape[i].by_number, hops(&info, size));
		ASSERT_EQ(0, places_find(&info, node, size, order));
		EXPECT_EQ(shape[i].hops, hops(&info, size));
	}
}

TEST_HARNESS_MAIN
