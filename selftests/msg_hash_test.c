// SPDX-License-Identifier: GPL-2.0
/*
 * The tables of matching by themselves: how many rows a search looks at, when
 * others choose what is in them. No device is needed, and no clock.
 */
#include <stdlib.h>

#include "kselftest_harness.h"

/* The library keeps these to itself. */
#include "../lib/msg/match.c"	/* NOLINT(bugprone-suspicious-include) */

#define MANY	10000
#define TABLES	16

/* Of what is drawn at random with as many buckets as there are: 1.3. */
#define LOOKS_MAX	8.0

static struct match_link links[MANY];

/* Rows that a search for each of those in the table looks at, on average. */
static double looks(const struct match_table *table)
{
	const struct match_link *row;
	uint64_t sum = 0;
	uint32_t i, n;

	for (i = 0; i <= table->mask; i++)
		for (row = table->bucket[i], n = 0; row; row = row->chain)
			sum += ++n;
	return (double)sum / table->rows;
}

static double looks_with(struct match_key (*nth)(uint32_t i))
{
	struct match_table table = { 0 };
	double result;
	uint32_t i;

	if (match_init(&table))
		return -1;
	for (i = 0; i < MANY; i++)
		match_add(&table, &links[i], nth(i));
	for (i = 0; i < MANY; i++)
		if (match_find(&table, links[i].key) != &links[i])
			return -1;
	result = looks(&table);
	for (i = 0; i < MANY; i++)
		match_remove(&table, &links[i]);
	match_destroy(&table);
	return result;
}

/* Of one bucket, where a constant decides that everybody can read. */
static struct match_key chosen(uint32_t i)
{
	static uint32_t tags[MANY], count, next;
	const uint64_t golden = 0x9e3779b97f4a7c15ULL;

	for (; count <= i; next++)
		if (!(next * golden >> 40 & 0xffff))
			tags[count++] = next;
	return (struct match_key){ .tag = tags[i] };
}

TEST(msg_chosen_tags_do_not_make_matching_slow)
{
	uint32_t i;
	double n;

	for (i = 0; i < TABLES; i++) {
		n = looks_with(chosen);
		EXPECT_GT(LOOKS_MAX, n);
		EXPECT_LE(1.0, n);
	}
}

static struct match_key tags(uint32_t i)
{
	return (struct match_key){ .tag = i };
}

static struct match_key ranks(uint32_t i)
{
	return (struct match_key){ .rank = i };
}

static struct match_key contexts(uint32_t i)
{
	return (struct match_key){ .context = (uint16_t)i };
}

static struct match_key high_tags(uint32_t i)
{
	return (struct match_key){ .tag = i << 18 };
}

static struct match_key grid(uint32_t i)
{
	return (struct match_key){
		.rank = i % 100, .tag = i / 100 % 10,
		.context = (uint16_t)(i / 1000),
	};
}

TEST(msg_usual_tags_do_not_either)
{
	struct match_key (*const all[])(uint32_t i) = {
		tags, ranks, contexts, high_tags, grid,
	};
	uint32_t i;
	double n;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		n = looks_with(all[i]);
		EXPECT_GT(LOOKS_MAX, n);
		EXPECT_LE(1.0, n);
	}
}

/* What one process finds out about its tables says nothing of another's. */
TEST(msg_each_table_has_its_own_secret)
{
	struct match_table table[2] = { 0 };
	uint32_t i, same = 0;

	ASSERT_EQ(0, match_init(&table[0]));
	ASSERT_EQ(0, match_init(&table[1]));
	for (i = 0; i < MANY; i++)
		same += bucket_of(&table[0], tags(i)) - table[0].bucket ==
			bucket_of(&table[1], tags(i)) - table[1].bucket;
	EXPECT_GT(MANY / 4, same);
	match_destroy(&table[0]);
	match_destroy(&table[1]);
}

/* Where the kernel has none, there still is one. */
TEST(msg_a_guessed_secret_will_do)
{
	struct match_table table = { 0 };
	uint32_t i;

	ASSERT_EQ(0, match_init(&table));
	secret_guess(&table);
	table.secret[1] |= 1;
	for (i = 0; i < MANY; i++)
		match_add(&table, &links[i], chosen(i));
	EXPECT_GT(LOOKS_MAX, looks(&table));
	match_destroy(&table);
}

TEST_HARNESS_MAIN
