/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the tests of one-sided access share: a process of a job with a window, and
 * memory of its own to put from and get into.
 */
#ifndef BGDMA_SELFTESTS_RMA_UTIL_H
#define BGDMA_SELFTESTS_RMA_UTIL_H

#include <bgdma/rendezvous.h>
#include <bgdma/rma.h>

#include "sys_util.h"

#define WINDOW		65536U
#define LOCAL		(1U << 20)

/* Bytes that take a while to cross: over a link, where frames are lost, less does. */
static inline uint32_t lengthy(uint32_t bytes)
{
	return links_used() ? bytes / 32 : bytes;
}

/* One process of a job. */
struct accessor {
	struct member m;
	struct bgdma_rma *rma;
	struct bgdma_window *window;
	struct bgdma_region *region;
	uint8_t *local;			/* of @region */
	uint8_t *own;			/* of the window */
	uint32_t troubles;
	struct bgdma_rma_trouble last;
};

static inline void accessor_trouble(void *arg,
				    const struct bgdma_rma_trouble *trouble)
{
	struct accessor *a = arg;

	a->last = *trouble;
	__atomic_add_fetch(&a->troubles, 1, __ATOMIC_SEQ_CST);
}

/* Up to the commit. */
static inline int accessor_start(struct accessor *a,
				 struct bgdma_endpoint_attr ep,
				 struct bgdma_rma_attr rma)
{
	int ret = member_open(&a->m, &ep);

	rma.trouble = accessor_trouble;
	rma.arg = a;
	if (!ret)
		ret = bgdma_rma_create(&a->rma, a->m.ep, &rma);
	if (!ret)
		ret = bgdma_endpoint_commit(a->m.ep, NULL);
	if (!ret)
		ret = bgdma_region_alloc(bgdma_endpoint_ctx(a->m.ep), LOCAL,
					 LOCAL_RW, &a->region);
	if (!ret)
		ret = bgdma_endpoint_expose(a->m.ep, a->region,
					    BGDMA_RIGHT_WRITE);
	if (!ret)
		a->local = bgdma_region_addr(a->region);
	return ret;
}

static inline int accessor_open_as(struct accessor *a,
				   struct bgdma_endpoint_attr ep,
				   struct bgdma_rma_attr rma,
				   const struct bgdma_window_attr *window)
{
	int ret = accessor_start(a, ep, rma);

	if (!ret)
		ret = bgdma_window_create(a->rma, window, &a->window);
	if (!ret)
		a->own = bgdma_window_addr(a->window);
	return ret;
}

/* With a window of WINDOW bytes of the driver's memory. */
static inline int accessor_open(struct accessor *a)
{
	const struct bgdma_window_attr window = { .length = WINDOW };

	return accessor_open_as(a, (struct bgdma_endpoint_attr){ 0 },
				(struct bgdma_rma_attr){ 0 }, &window);
}

/* All are here. */
static inline int meet(struct accessor *a)
{
	return bgdma_window_fence(a->window, BGDMA_FENCE_LAST);
}

static inline int accessor_close(struct accessor *a)
{
	require_is(0, bgdma_window_free(a->window));
	require_is(0, bgdma_region_free(a->region));
	return member_close(&a->m);
}

/* Who stays after somebody has died. */
static inline int accessor_leave(struct accessor *a)
{
	return member_leave(&a->m);
}

/* The last process has the window that the others access. */
static inline int opened(struct accessor *a, struct bgdma_rma_epoch **e)
{
	require_is(0, accessor_open(a));
	require_is(0, bgdma_epoch_begin(a->window, a->m.size - 1, 1, 0, e));
	return 0;
}

static inline int closed(struct accessor *a, struct bgdma_rma_epoch *e)
{
	require_is(0, bgdma_epoch_close(e));
	return accessor_close(a);
}

/* An access of @length bytes between our memory at @from and a window at @at. */
static inline struct bgdma_access_attr access_at(const struct accessor *a,
						 uint64_t from, uint64_t length,
						 uint64_t at)
{
	return (struct bgdma_access_attr){
		.local = { a->region, from }, .length = length, .at = at,
	};
}

static inline int put(const struct accessor *a, struct bgdma_rma_epoch *e,
		      uint64_t from, uint64_t length, uint64_t at)
{
	const struct bgdma_access_attr attr = access_at(a, from, length, at);

	return bgdma_epoch_put(e, &attr);
}

static inline int get(const struct accessor *a, struct bgdma_rma_epoch *e,
		      uint64_t to, uint64_t length, uint64_t at)
{
	const struct bgdma_access_attr attr = access_at(a, to, length, at);

	return bgdma_epoch_get(e, &attr);
}

/* Bytes that tell whose they are. */
static inline uint8_t mark_of(uint32_t who, uint64_t at)
{
	return (uint8_t)(who * 131 + at * 7 + (at >> 8) + 1);
}

static inline void mark(uint8_t *to, uint64_t length, uint32_t who)
{
	uint64_t i;

	for (i = 0; i < length; i++)
		to[i] = mark_of(who, i);
}

static inline bool is_marked(const uint8_t *p, uint64_t length, uint32_t who)
{
	uint64_t i;

	for (i = 0; i < length; i++)
		if (p[i] != mark_of(who, i))
			return false;
	return true;
}

/* Epochs at our gate, or -errno; @first: the first of them. */
static inline int at_gate(const struct accessor *a, struct bgdma_epoch *first)
{
	return bgdma_gate_epochs(bgdma_window_region(a->window), first,
				 first ? 1 : 0);
}

#endif /* BGDMA_SELFTESTS_RMA_UTIL_H */
