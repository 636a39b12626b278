// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Operations: identifiers from their names, and the commit that makes sure that
 * all processes mean the same by them (DP-1, DP-2).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* FNV-1a. */
#define HASH_BEGIN	0xcbf29ce484222325ULL
#define HASH_PRIME	0x100000001b3ULL

static uint64_t hash(uint64_t h, const void *data, size_t bytes)
{
	const unsigned char *byte = data;

	while (bytes--)
		h = (h ^ *byte++) * HASH_PRIME;
	return h;
}

/* With their final zeros, so that no two pairs of names run together. */
static uint32_t identifier(const struct operation *op)
{
	uint64_t h = hash(HASH_BEGIN, op->module, strlen(op->module) + 1);

	h = hash(h, op->name, strlen(op->name) + 1);
	h = hash(h, &(unsigned char){ (unsigned char)op->type }, 1);
	return (uint32_t)(h ^ h >> 32) & IDENTIFIER_MASK;
}

static bool operation_same(const struct operation *a, const struct operation *b)
{
	return !strcmp(a->module, b->module) && !strcmp(a->name, b->name);
}

static int name_copy(char *to, const char *from)
{
	if (!from || !*from)
		return -EINVAL;
	if (strlen(from) >= BGDMA_OPERATION_NAME_MAX)
		return -ENAMETOOLONG;
	snprintf(to, BGDMA_OPERATION_NAME_MAX, "%s", from);
	return 0;
}

static int operation_fill(struct operation *op,
			  const struct bgdma_operation_attr *attr)
{
	int ret;

	if (!attr->packet || attr->type > BGDMA_COLLECTIVE ||
	    attr->flags & ~BGDMA_OPERATION_CONTROL)
		return -EINVAL;
	ret = name_copy(op->module, attr->module);
	if (!ret)
		ret = name_copy(op->name, attr->name);
	op->type = attr->type;
	op->flags = attr->flags;
	op->packet = attr->packet;
	op->arg = attr->arg;
	op->id = identifier(op);
	return ret;
}

static int table_add(struct table *table, struct operation *op)
{
	const struct operation *other;

	for (other = table->all; other; other = other->next)
		if (other->id == op->id)
			return operation_same(other, op) ? -EEXIST :
							   -EADDRINUSE;
	op->next = table->all;
	table->all = op;
	table->count++;
	return 0;
}

int bgdma_operation_register_sized(struct bgdma_endpoint *ep,
				   const struct bgdma_operation_attr *attr,
				   size_t size, uint32_t *id)
{
	struct bgdma_operation_attr a;
	struct operation *op;
	int ret;

	ret = attr_copy(&a, sizeof(a), attr, size);
	if (ret)
		return ret;
	op = calloc(1, sizeof(*op));
	if (!op)
		return -ENOMEM;
	ret = operation_fill(op, &a);
	if (!ret) {
		endpoint_lock(ep);
		ret = ep->state == STATE_OPEN ?
		      table_add(&ep->table[op->type], op) : -EBUSY;
		endpoint_unlock(ep);
	}
	if (ret) {
		free(op);
		return ret;
	}
	*id = op->id;
	return 0;
}

void registry_free(struct bgdma_endpoint *ep)
{
	struct operation *op, *next;
	unsigned int type;

	for (type = 0; type < 2; type++) {
		for (op = ep->table[type].all; op; op = next) {
			next = op->next;
			free(op);
		}
		free(ep->table[type].slot);
	}
}

static int table_commit(struct table *table)
{
	uint32_t slots = 4, i;
	struct operation *op;

	while (slots < 4 * table->count)
		slots *= 2;
	table->slot = calloc(slots, sizeof(struct operation *));
	if (!table->slot)
		return -ENOMEM;
	table->mask = slots - 1;
	for (op = table->all; op; op = op->next) {
		for (i = op->id; table->slot[i & table->mask]; i++)
			;
		table->slot[i & table->mask] = op;
	}
	return 0;
}

/* ---- The commit -------------------------------------------------------- */

/* What each process tells the others first. */
struct card {
	struct bgdma_peer at;
	uint32_t count;		/* of operations */
	uint32_t probes;	/* handle, see probe.c */
	uint32_t failed;	/* it cannot take part: errno */
	uint64_t digest;	/* of all of them */
};

/* What it tells if somebody's digest differs: each of its operations. */
struct entry {
	uint32_t type;
	uint32_t flags;
	char module[BGDMA_OPERATION_NAME_MAX];
	char name[BGDMA_OPERATION_NAME_MAX];
};

_Static_assert(sizeof(struct entry) <= BGDMA_JOB_VALUE_MAX, "a job's value");

static int entry_compare(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct entry));
}

/* All operations in an order that does not depend on registration. */
static struct entry *entries_make(struct bgdma_endpoint *ep, uint32_t *count)
{
	const struct operation *op;
	struct entry *entries, *e;
	unsigned int type;

	*count = ep->table[0].count + ep->table[1].count;
	entries = calloc(*count + 1, sizeof(*entries));
	if (!entries)
		return NULL;
	e = entries;
	for (type = 0; type < 2; type++) {
		for (op = ep->table[type].all; op; op = op->next, e++) {
			e->type = op->type;
			e->flags = op->flags;
			memcpy(e->module, op->module, sizeof(e->module));
			memcpy(e->name, op->name, sizeof(e->name));
		}
	}
	qsort(entries, *count, sizeof(*entries), entry_compare);
	return entries;
}

static const char *key_make(char *key, const struct bgdma_endpoint *ep,
			    const char *what, uint32_t index)
{
	snprintf(key, BGDMA_JOB_KEY_MAX, "%u.%s.%u", ep->attr.number, what,
		 index);
	return key;
}

/* A value of a given size from a process. */
static int value_get(struct bgdma_endpoint *ep, uint32_t rank, const char *key,
		     void *value, size_t bytes)
{
	int ret = bgdma_job_get(ep->attr.job, rank, key, value, bytes);

	if (ret < 0)
		return ret;
	return (size_t)ret == bytes ? 0 : -EBADMSG;
}

#define ERRNOS	4096	/* so many, as results of calls */

/* What another process could not do, as it says. */
static int failure_of(uint32_t failed)
{
	return failed < ERRNOS ? -(int)failed : -EBADMSG;
}

/*
 * Tell the others, who wait for us also where that could not be done: @told. A number
 * that was used before all see, and nobody waits.
 */
static int value_share(struct bgdma_endpoint *ep, const char *key,
		       const void *value, size_t bytes, int *told)
{
	*told = bgdma_job_put(ep->attr.job, key, value, bytes);
	return *told == -EEXIST ? *told : bgdma_job_fence(ep->attr.job);
}

/*
 * @cards: NULL: there is no memory for them, which is what we tell. @own_failed: what
 * somebody could not do, of which others may not know.
 */
static int cards_exchange(struct bgdma_endpoint *ep, const struct card *own,
			  struct card *cards, int *own_failed)
{
	char key[BGDMA_JOB_KEY_MAX];
	uint32_t rank;
	int ret, told;

	key_make(key, ep, "card", 0);
	ret = value_share(ep, key, own, sizeof(*own), &told);
	if (ret)
		return ret;
	ret = told ? told : failure_of(own->failed);
	for (rank = 0; !ret && rank < ep->size; rank++) {
		ret = value_get(ep, rank, key, &cards[rank], sizeof(*cards));
		if (!ret)
			ret = failure_of(cards[rank].failed);
	}
	*own_failed = ret;
	return 0;
}

/*
 * When the doors of all are open; or not all are: then it fails everywhere, since
 * nobody waits for who could not. Who has not told us anything before may say why now.
 */
static int doors_exchange(struct bgdma_endpoint *ep, int own)
{
	char key[BGDMA_JOB_KEY_MAX];
	uint32_t failed = (uint32_t)-own, rank;
	int ret, told, result = own;

	key_make(key, ep, "open", 0);
	ret = value_share(ep, key, &failed, sizeof(failed), &told);
	if (!ret)
		ret = told;
	for (rank = 0; !ret && rank < ep->size; rank++) {
		ret = value_get(ep, rank, key, &failed, sizeof(failed));
		if (!ret && (!result || result == -ENOENT) && failed)
			result = failure_of(failed);
	}
	return result ? result : ret;
}

/* The first process that does not agree with process 0, or BGDMA_STRANGER. */
static uint32_t cards_compare(const struct card *cards, uint32_t size)
{
	uint32_t rank;

	for (rank = 1; rank < size; rank++)
		if (cards[rank].digest != cards[0].digest ||
		    cards[rank].count != cards[0].count)
			return rank;
	return BGDMA_STRANGER;
}

static int entry_get(struct bgdma_endpoint *ep, uint32_t rank, uint32_t index,
		     uint32_t count, struct entry *entry)
{
	char key[BGDMA_JOB_KEY_MAX];

	if (index == count) {
		/* Behind all others. */
		memset(entry, 0xff, sizeof(*entry));
		return 0;
	}
	return value_get(ep, rank, key_make(key, ep, "op", index), entry,
			 sizeof(*entry));
}

/* Everybody tells all, and finds the same first difference. */
static int disagreement_find(struct bgdma_endpoint *ep,
			     const struct entry *own, const struct card *cards,
			     uint32_t rank, struct bgdma_disagreement *why)
{
	char key[BGDMA_JOB_KEY_MAX];
	struct entry good = { 0 }, bad = { 0 };
	int ret = 0, told = 0, order;
	const struct entry *e;
	uint32_t i;

	for (i = 0; !told && i < cards[ep->rank].count; i++)
		told = bgdma_job_put(ep->attr.job, key_make(key, ep, "op", i),
				     &own[i], sizeof(own[i]));
	/* The others wait for us also where that could not be told. */
	ret = bgdma_job_fence(ep->attr.job);
	if (!ret)
		ret = told;
	for (i = 0; !ret; i++) {
		ret = entry_get(ep, 0, i, cards[0].count, &good);
		if (!ret)
			ret = entry_get(ep, rank, i, cards[rank].count, &bad);
		if (ret)
			return ret;
		order = entry_compare(&good, &bad);
		if (order)
			break;
		/* The digests differ, so the lists do. */
		if (i == cards[0].count)
			return -EBADMSG;
	}
	if (ret)
		return ret;
	e = order < 0 ? &good : &bad;
	memset(why, 0, sizeof(*why));
	why->rank = rank;
	why->node = cards[rank].at.node;
	why->missing = order < 0;
	why->type = e->type;
	/* Another process wrote them: they may have no end. */
	memcpy(why->module, e->module, sizeof(why->module) - 1);
	memcpy(why->name, e->name, sizeof(why->name) - 1);
	return -EPROTO;
}

/* What each process does by itself. */
static int commit_local(struct bgdma_endpoint *ep, const struct card *cards)
{
	struct bgdma_peer *at = calloc(ep->size, sizeof(*at));
	uint32_t rank;
	int ret;

	if (!at)
		return -ENOMEM;
	for (rank = 0; rank < ep->size; rank++) {
		at[rank] = cards[rank].at;
		ep->peer[rank].probes = cards[rank].probes;
	}
	ret = endpoint_meet(ep, at);
	free(at);
	if (!ret)
		ret = table_commit(&ep->table[BGDMA_POINT_TO_POINT]);
	if (!ret)
		ret = table_commit(&ep->table[BGDMA_COLLECTIVE]);
	return ret ? ret : progress_start(ep);
}

static int commit_with(struct bgdma_endpoint *ep, const struct entry *entries,
		       uint32_t count, struct card *cards,
		       struct bgdma_disagreement *why)
{
	const struct bgdma_ctx_info *info = bgdma_ctx_info(ep->ctx);
	struct card own;
	int ret, failed;
	uint32_t rank;

	memset(&own, 0, sizeof(own));
	own.at.node = info->rank;
	own.at.ctx = info->ctx;
	own.at.incarnation = info->incarnation;
	own.count = count;
	own.probes = bgdma_region_handle(ep->probes);
	if (entries && cards)
		own.digest = hash(HASH_BEGIN, entries,
				  count * sizeof(*entries));
	else
		own.failed = ENOMEM;
	/* Who commits with us was there later. */
	ep->events_before =
		bgdma_load_relaxed(&bgdma_ctx_view(ep->ctx)->kern->events_tail);
	ret = cards_exchange(ep, &own, cards, &failed);
	if (ret)
		return ret;
	/* Others may have seen nothing of it, and go on. */
	if (failed)
		return doors_exchange(ep, failed);
	rank = cards_compare(cards, ep->size);
	if (rank != BGDMA_STRANGER)
		return disagreement_find(ep, entries, cards, rank, why);
	return doors_exchange(ep, commit_local(ep, cards));
}

/* From now on nothing is registered, and nobody else commits. */
static int commit_begin(struct bgdma_endpoint *ep, struct entry **entries,
			uint32_t *count)
{
	int ret = 0;

	endpoint_lock(ep);
	if (ep->inside)
		ret = -EDEADLK;
	else if (ep->state != STATE_OPEN)
		ret = -EBUSY;
	if (!ret) {
		ep->state = STATE_FAILED;
		*entries = entries_make(ep, count);
	}
	endpoint_unlock(ep);
	return ret;
}

int bgdma_endpoint_commit(struct bgdma_endpoint *ep,
			  struct bgdma_disagreement *why)
{
	struct bgdma_disagreement ignored;
	struct entry *entries;
	struct card *cards;
	uint32_t count;
	int ret;

	ret = commit_begin(ep, &entries, &count);
	if (ret)
		return ret;
	cards = calloc(ep->size, sizeof(*cards));
	ret = commit_with(ep, entries, count, cards, why ? why : &ignored);
	free(cards);
	free(entries);
	progress_begin(ep, !ret);
	return ret;
}
