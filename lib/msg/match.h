/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Matching: what has been there longest of all that a message, or a receive,
 * matches, at a cost that does not depend on how many there are.
 *
 * A table keeps rows of links by key, in the order in which they came. A receive
 * is in the row of its own key, wildcards and all; a message looks into the four
 * rows that could have it. A message is in four rows; a receive, or a probe,
 * looks into the one of its own key.
 *
 * Nothing here needs memory for another link: the first of a row stands for
 * it in the hash table.
 *
 * Tags and contexts are chosen by others. Which of them share a bucket depends on
 * numbers that are drawn for each table, so nobody can choose many that do.
 */
#ifndef BGDMA_MSG_MATCH_H
#define BGDMA_MSG_MATCH_H

#include <stdbool.h>
#include <stdint.h>

#include <bgdma/msg.h>

/* Kept out of the way of every message. */
#define SELDOM	__attribute__((cold, noinline))
/* The same where memory is copied: what is cold gcc makes small, and copies by bytes. */
#define APART	__attribute__((noinline))

/* Which wildcards a key has: a sum of these. */
enum { MATCH_SOURCE = 1, MATCH_TAG = 2, MATCH_KINDS = 4 };

struct match_key {
	uint32_t rank;
	uint32_t tag;
	uint16_t context;
};

/*
 * @next, @prev: of the row, in a ring
 * @chain: the next row with the same hash; of the first of a row only
 * @at: what points to it; of the first of a row only
 * @order: who came when
 */
struct match_link {
	struct match_link *next, *prev;
	struct match_link *chain, **at;
	struct match_key key;
	uint64_t order;
};

struct match_table {
	struct match_link **bucket;
	uint64_t secret[2];		/* the second one is odd */
	uint32_t mask;
	uint32_t rows;
	uint32_t wild;			/* links with wildcards */
	uint64_t order;			/* of the next */
};

static inline unsigned int match_kind(struct match_key key)
{
	return (key.rank == BGDMA_MSG_ANY_SOURCE ? MATCH_SOURCE : 0) |
	       (key.tag == BGDMA_MSG_ANY_TAG ? MATCH_TAG : 0);
}

/* The key with these wildcards in place of what it has. */
static inline struct match_key match_wild(struct match_key key,
					  unsigned int wildcards)
{
	if (wildcards & MATCH_SOURCE)
		key.rank = BGDMA_MSG_ANY_SOURCE;
	if (wildcards & MATCH_TAG)
		key.tag = BGDMA_MSG_ANY_TAG;
	return key;
}

/* -ENOMEM. */
int match_init(struct match_table *table);
void match_destroy(struct match_table *table);
/* Behind all others of its key. */
void match_add(struct match_table *table, struct match_link *link,
	       struct match_key key);
void match_remove(struct match_table *table, struct match_link *link);
/* The first of the row of exactly this key, or NULL. */
struct match_link *match_first(const struct match_table *table,
			       struct match_key key);
struct match_link *match_find_wild(const struct match_table *table,
				   struct match_key key);

/* Of all links whose key has @key in it the one that came first, or NULL. */
static inline struct match_link *match_find(const struct match_table *table,
					    struct match_key key)
{
	if (bgdma_likely(!table->wild))
		return match_first(table, key);
	return match_find_wild(table, key);
}

/* All links of all rows: call @visit, which may remove that link. */
void match_each(struct match_table *table,
		void (*visit)(void *arg, struct match_link *link), void *arg);

#endif /* BGDMA_MSG_MATCH_H */
