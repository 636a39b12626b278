// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include <errno.h>
#include <stdlib.h>

#include "../secret.h"
#include "match.h"

#define BUCKETS_FIRST	64
#define BUCKETS_MAX	(1U << 20)

static bool key_equal(struct match_key a, struct match_key b)
{
	return a.tag == b.tag && a.rank == b.rank && a.context == b.context;
}

/*
 * The whole product, folded: each bit of it depends on the secret. What goes into
 * the bucket comes from all four quarters, as rows of tags or of ranks that follow
 * one another in even steps move few bits of some of them.
 */
static struct match_link **bucket_of(const struct match_table *table,
				     struct match_key key)
{
	uint64_t word = (uint64_t)key.tag << 32 | key.rank;
	uint64_t factor = table->secret[1] ^ (uint64_t)key.context << 1;
	unsigned __int128 product = word ^ table->secret[0];
	uint64_t h;

	product *= factor;
	h = (uint64_t)product ^ (uint64_t)(product >> 64);
	return &table->bucket[(h ^ h >> 32) & table->mask];
}

int match_init(struct match_table *table)
{
	table->bucket = calloc(BUCKETS_FIRST, sizeof(struct match_link *));
	if (!table->bucket)
		return -ENOMEM;
	table->mask = BUCKETS_FIRST - 1;
	table->secret[0] = secret_new(&table->secret[0]);
	table->secret[1] = secret_new(&table->secret[1]) | 1;
	return 0;
}

void match_destroy(struct match_table *table)
{
	free(table->bucket);
}

static void row_put(struct match_link **at, struct match_link *first)
{
	first->chain = *at;
	first->at = at;
	if (first->chain)
		first->chain->at = &first->chain;
	*at = first;
}

static void row_take(struct match_link *first)
{
	*first->at = first->chain;
	if (first->chain)
		first->chain->at = first->at;
	first->at = NULL;
}

/* More rows than buckets: twice as many, or, without memory, longer chains. */
static SELDOM void table_grow(struct match_table *table)
{
	uint32_t old_buckets = table->mask + 1, i;
	struct match_link **old = table->bucket, *first;

	if (old_buckets >= BUCKETS_MAX)
		return;
	table->bucket = calloc(2 * (size_t)old_buckets,
			       sizeof(struct match_link *));
	if (!table->bucket) {
		table->bucket = old;
		return;
	}
	table->mask = 2 * old_buckets - 1;
	for (i = 0; i < old_buckets; i++) {
		while ((first = old[i])) {
			row_take(first);
			row_put(bucket_of(table, first->key), first);
		}
	}
	free(old);
}

static struct match_link *row_find(struct match_link *first,
				   struct match_key key)
{
	while (first && !key_equal(first->key, key))
		first = first->chain;
	return first;
}

struct match_link *match_first(const struct match_table *table,
			       struct match_key key)
{
	return row_find(*bucket_of(table, key), key);
}

struct match_link *match_find_wild(const struct match_table *table,
				   struct match_key key)
{
	struct match_link *best = NULL, *link;
	unsigned int kind;

	for (kind = 0; kind < MATCH_KINDS; kind++) {
		link = match_first(table, match_wild(key, kind));
		if (link && (!best || link->order < best->order))
			best = link;
	}
	return best;
}

void match_add(struct match_table *table, struct match_link *link,
	       struct match_key key)
{
	struct match_link **bucket = bucket_of(table, key);
	struct match_link *first = row_find(*bucket, key);

	link->key = key;
	link->order = table->order++;
	table->wild += match_kind(key) != 0;
	if (first) {
		link->at = NULL;
		link->next = first;
		link->prev = first->prev;
		first->prev->next = link;
		first->prev = link;
		return;
	}
	link->next = link;
	link->prev = link;
	row_put(bucket, link);
	if (bgdma_unlikely(table->rows++ > table->mask))
		table_grow(table);
}

void match_remove(struct match_table *table, struct match_link *link)
{
	struct match_link **at = link->at;

	table->wild -= match_kind(link->key) != 0;
	if (at) {
		row_take(link);
		if (link->next == link)
			table->rows--;
		else
			row_put(at, link->next);
	}
	link->next->prev = link->prev;
	link->prev->next = link->next;
}

void match_each(struct match_table *table,
		void (*visit)(void *arg, struct match_link *link), void *arg)
{
	struct match_link *row, *chain, *link, *next, *end;
	uint32_t i;

	for (i = 0; i <= table->mask; i++) {
		for (row = table->bucket[i]; row; row = chain) {
			chain = row->chain;
			end = row->prev;
			next = row;
			do {
				link = next;
				next = link->next;
				visit(arg, link);
			} while (link != end);
		}
	}
}
