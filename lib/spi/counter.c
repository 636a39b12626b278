// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Counters: what of them is not inline.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/ioctl.h>

#include "internal.h"

static void counter_init(struct bgdma_counter *counter, struct bgdma_ctx *ctx,
			 unsigned int index, uint32_t slot)
{
	struct bgdma_counter_view *v = &counter->view;
	char *cells = ctx->area[BGDMA_AREA_COUNTERS];
	uint32_t word = slot / 64;

	cells += ctx->uapi.cells[index];
	v->cell = (struct bgdma_counter_cell *)(void *)cells + slot;
	v->hit = &ctx->view.user->hit_zero[index][word];
	v->enable = &ctx->view.user->enable[index][word];
	v->error = &ctx->view.kern->counter_error[index][word];
	v->bit = 1ULL << slot % 64;
	v->ctx = ctx;
	v->kind = BGDMA_KIND_INJ_COUNTER + index;
	v->slot = slot;
	counter->record = ctx_record(ctx, index == BGDMA_INJECTION ?
				     ctx->uapi.rec_counter_inj :
				     ctx->uapi.rec_counter_rec, slot);
	object_init(&counter->object, ctx, counter, NULL, 0);
}

int bgdma_counter_alloc_many(struct bgdma_ctx *ctx, unsigned int kind,
			     unsigned int count, unsigned int flags,
			     struct bgdma_counter **counters)
{
	struct bgdma_counter_alloc alloc = {
		.size = sizeof(alloc), .flags = flags,
		.kind = BGDMA_KIND_INJ_COUNTER + kind, .count = count,
	};
	unsigned int i, made;
	int ret = -ENOMEM;

	if (kind > BGDMA_RECEPTION || !count || count > BGDMA_COUNTERS_MAX)
		return -EINVAL;
	for (made = 0; made < count; made++) {
		counters[made] = calloc(1, sizeof(*counters[made]));
		if (!counters[made])
			goto free;
	}
	ret = ctx_ioctl(ctx, BGDMA_IOC_COUNTER_ALLOC, &alloc);
	if (ret)
		goto free;
	for (i = 0; i < count; i++)
		counter_init(counters[i], ctx, kind, alloc.first + i);
	return 0;
free:
	while (made) {
		free(counters[--made]);
		counters[made] = NULL;
	}
	return ret;
}

static bool lease_is_single(uint32_t rank)
{
	return rank != BGDMA_RANK_ANY && rank != BGDMA_RANK_NOBODY;
}

uint32_t bgdma_counter_lease(struct bgdma_counter *counter, uint32_t rank,
			     uint16_t ctx)
{
	struct bgdma_counter_cell *cell = counter->view.cell;
	__u32 *leases = &counter->view.ctx->view.user->leases;
	bool was = lease_is_single(bgdma_load_relaxed(&cell->lease_peer));
	bool is = lease_is_single(rank);
	uint32_t gen = bgdma_load_relaxed(&cell->lease_gen) + 1;

	if (gen > UINT16_MAX)
		gen = 1;
	/*
	 * Leases that might exist are counted before they do and until they no
	 * longer do. In between the counter is nobody's: the former peer could
	 * guess the new generation. tools/models/lease.pml
	 */
	if (is && !was)
		bgdma_atomic_add(leases, 1U);
	bgdma_store_relaxed(&cell->lease_peer, BGDMA_RANK_NOBODY);
	bgdma_store_release(&cell->lease_gen, gen);
	bgdma_store_relaxed(&cell->lease_ctx, (uint32_t)ctx);
	bgdma_store_release(&cell->lease_peer, rank);
	if (was && !is)
		bgdma_atomic_add(leases, -1U);
	bgdma_full_barrier();
	return BGDMA_HANDLE(counter->view.slot, gen);
}

int bgdma_counter_free(struct bgdma_counter *counter)
{
	struct bgdma_counter_free drop = { .size = sizeof(drop), .count = 1 };
	int ret;

	if (!counter)
		return 0;
	/* A slot that is free must not count as leased. */
	bgdma_counter_lease(counter, BGDMA_RANK_NOBODY, BGDMA_CTX_ANY);
	drop.kind = counter->view.kind;
	drop.first = counter->view.slot;
	ret = ctx_ioctl(counter->object.ctx, BGDMA_IOC_COUNTER_FREE, &drop);
	object_free(&counter->object);
	return ret;
}

int bgdma_counter_notify(struct bgdma_counter *counter)
{
	const struct bgdma_counter_view *v = &counter->view;
	unsigned long arg = BGDMA_NOTIFY_ARG(v->kind, v->slot);
	int ret = ioctl(v->ctx->view.fd, BGDMA_IOC_NOTIFY, arg);

	return ret < 0 ? -errno : 0;
}

/* What is waited for, and what was seen: another thread may clear the error at once. */
struct counter_target {
	struct bgdma_counter *counter;
	int code;
};

static bool counter_there(void *arg)
{
	struct counter_target *target = arg;
	const struct bgdma_counter_cell *cell = target->counter->view.cell;
	/* The error is there before what it leaves is taken off. */
	bool ended = bgdma_counter_read(target->counter) <=
		     bgdma_load_relaxed(&cell->wake_at) ||
		     bgdma_counter_hit(target->counter);

	target->code = 0;
	if (bgdma_counter_failed(target->counter))
		target->code = bgdma_counter_error(target->counter, NULL);
	return ended || target->code;
}

int bgdma_counter_wait_slow(struct bgdma_counter *counter,
			    enum bgdma_wait_mode mode, int64_t timeout_ns)
{
	struct counter_target target = { .counter = counter };
	const struct waiter waiter = {
		.ctx = counter->view.ctx,
		.there = counter_there,
		.arg = &target,
		.condition = bgdma_until_counter(counter),
	};
	int ret = wait_until(&waiter, mode, timeout_ns);

	if (ret && counter_there(&target))
		ret = 0;
	return target.code ? bgdma_code_errno((unsigned int)target.code) : ret;
}

int bgdma_counter_error(const struct bgdma_counter *counter,
			struct bgdma_record *record)
{
	return record_read(counter->record, record);
}

int bgdma_counter_clear_error(struct bgdma_counter *counter)
{
	return ctx_clear_error(counter->object.ctx, counter->view.kind,
			       counter->view.slot, 0);
}

int bgdma_counter_eventfd(struct bgdma_counter *counter, int eventfd)
{
	return ctx_eventfd(counter->object.ctx, counter->view.kind,
			   bgdma_counter_handle(counter), eventfd);
}
