// SPDX-License-Identifier: GPL-2.0
/*
 * What the owner of an object lets its peers do. Each object has an array of
 * grants that is replaced as a whole under RCU to let one more in, and changed
 * in place to take one out: the engine asks for every piece that it moves, so an
 * answer must be cheap and a revocation takes effect with the next piece. Arrays
 * change under ctx.lock.
 */
#include <linux/overflow.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "../bgdma.h"
#include "busy.h"
#include "engine.h"

#define BGDMA_REGION_RIGHTS	(BGDMA_RIGHT_READ | BGDMA_RIGHT_WRITE | \
				 BGDMA_RIGHT_FETCH | BGDMA_RIGHT_ATOMIC | \
				 BGDMA_RIGHT_EPOCH)

static bool bgdma_grant_fits(const struct bgdma_grant_entry *e,
			     const struct bgdma_principal *who, u32 rights)
{
	return (READ_ONCE(e->rights) & rights) == rights &&
	       (e->rank == BGDMA_RANK_ANY || e->rank == who->rank) &&
	       (e->ctx == BGDMA_CTX_ANY || e->ctx == who->ctx) &&
	       (!e->incarnation || e->incarnation == who->incarnation);
}

/**
 * bgdma_grants_cover() - does one of the grants say yes?
 * @grants: of the object
 * @who: asks
 * @rights: BGDMA_RIGHT_*, all of them needed
 * @off: first byte, for regions
 * @len: bytes
 * @bound: as for bgdma_granted()
 * @memo: as for bgdma_granted()
 *
 * Context: inside a slice.
 */
bool bgdma_grants_cover(const struct bgdma_grants *grants,
			const struct bgdma_principal *who, u32 rights,
			u64 off, u64 len, u64 *bound, u64 *memo)
{
	/* Before the entries: pairs with bgdma_revoke_at(). */
	u64 serial = smp_load_acquire(&grants->serial);
	u32 i;

	for (i = 0; i < READ_ONCE(grants->n); i++) {
		const struct bgdma_grant_entry *e = &grants->e[i];

		if (!bgdma_grant_fits(e, who, rights))
			continue;
		if (off >= e->lo && off <= e->hi && len <= e->hi - off) {
			if (memo && !e->lo && e->hi == U64_MAX)
				*memo = serial;
			return true;
		}
		*bound = e->hi;
	}
	return false;
}

/**
 * bgdma_grants_cover_whole() - the same for an object without a range
 * @grants: of the object
 * @who: asks
 * @rights: BGDMA_RIGHT_*, all of them needed
 * @memo: as for bgdma_granted()
 *
 * Context: inside a slice.
 */
bool bgdma_grants_cover_whole(const struct bgdma_grants *grants,
			      const struct bgdma_principal *who, u32 rights,
			      u64 *memo)
{
	u64 bound;

	return bgdma_grants_cover(grants, who, rights, 0, 0, &bound, memo);
}

static struct bgdma_grants *bgdma_grants_now(struct bgdma_ctx *ctx,
					     struct bgdma_grants __rcu **where)
{
	return rcu_dereference_protected(*where, lockdep_is_held(&ctx->lock));
}

/* 0 is nobody's: memos start with it. */
static u64 bgdma_grants_serial(void)
{
	static atomic64_t last;

	return atomic64_inc_return(&last);
}

/* A revoked entry stays where it is, without rights, until the next copy. */
static u32 bgdma_grants_live(const struct bgdma_grants *grants)
{
	u32 i, live = 0;

	for (i = 0; grants && i < READ_ONCE(grants->n); i++)
		live += !!READ_ONCE(grants->e[i].rights);
	return live;
}

/**
 * bgdma_grants_count() - how many grants an object has
 * @where: its grants
 *
 * Context: under RCU.
 */
u32 bgdma_grants_count(struct bgdma_grants __rcu *const *where)
{
	return bgdma_grants_live(bgdma_deref(*where));
}

/* After a change of the entries. */
static void bgdma_grants_sum(struct bgdma_grants *grants)
{
	const struct bgdma_grant_entry *e = grants->e;
	u32 anyone = 0;

	for (; e < grants->e + grants->n; e++) {
		if (e->rank == BGDMA_RANK_ANY && e->ctx == BGDMA_CTX_ANY &&
		    !e->incarnation && !e->lo && e->hi == U64_MAX)
			anyone |= e->rights;
	}
	WRITE_ONCE(grants->anyone, anyone);
}

/* A copy of what is left of an array, with room for one more. */
static struct bgdma_grants *bgdma_grants_copy(const struct bgdma_grants *old)
{
	u32 i, n = old ? old->n : 0;
	struct bgdma_grants *new;

	new = kzalloc(struct_size(new, e, n + 1), GFP_KERNEL_ACCOUNT);
	if (!new)
		return NULL;
	new->serial = bgdma_grants_serial();
	for (i = 0; i < n; i++) {
		if (old->e[i].rights)
			new->e[new->n++] = old->e[i];
	}
	return new;
}

/* Where the grants of an object are; ERR_PTR where there is none such. */
static struct bgdma_grants __rcu **bgdma_grants_of(struct bgdma_ctx *ctx,
						   u32 kind, u32 object)
{
	struct bgdma_rget_queue *queue;
	struct bgdma_region *region;
	struct bgdma_rec_fifo *fifo;
	unsigned int k;

	lockdep_assert_held(&ctx->lock);

	switch (kind) {
	case BGDMA_KIND_REGION:
		region = xa_load(&ctx->regions, BGDMA_HANDLE_SLOT(object));
		if (!region)
			return ERR_PTR(-ENOENT);
		if (region->handle != object)
			return ERR_PTR(-ESTALE);
		return &region->grants;
	case BGDMA_KIND_INJ_COUNTER:
	case BGDMA_KIND_REC_COUNTER:
		k = kind - BGDMA_KIND_INJ_COUNTER;
		if (object >= ctx->n_ctr[k] || !ctx->counters[k][object].used)
			return ERR_PTR(-ENOENT);
		return &ctx->counters[k][object].grants;
	case BGDMA_KIND_REC_FIFO:
		fifo = object < ctx->n_rec ?
			rcu_dereference_protected(ctx->rec[object], true) : NULL;
		return fifo ? &fifo->grants : ERR_PTR(-ENOENT);
	case BGDMA_KIND_RGET_QUEUE:
		queue = object < ctx->n_rgq ?
			rcu_dereference_protected(ctx->rgq[object], true) : NULL;
		return queue ? &queue->grants : ERR_PTR(-ENOENT);
	default:
		return ERR_PTR(-EINVAL);
	}
}

static int bgdma_grant_check(struct bgdma_ctx *ctx,
			     const struct bgdma_grant *arg)
{
	static const u32 fitting[] = {
		[BGDMA_KIND_REC_FIFO] = BGDMA_RIGHT_ACCEPT,
		[BGDMA_KIND_RGET_QUEUE] = BGDMA_RIGHT_INJECT,
		[BGDMA_KIND_INJ_COUNTER] = BGDMA_RIGHT_COUNT,
		[BGDMA_KIND_REC_COUNTER] = BGDMA_RIGHT_COUNT,
		[BGDMA_KIND_REGION] = BGDMA_REGION_RIGHTS,
	};
	bool counter = arg->kind == BGDMA_KIND_INJ_COUNTER ||
		       arg->kind == BGDMA_KIND_REC_COUNTER;

	if (arg->resv || arg->resv1)
		return -EINVAL;
	if (arg->kind >= ARRAY_SIZE(fitting) || !fitting[arg->kind])
		return -EINVAL;
	if (!arg->rights || (arg->rights & ~fitting[arg->kind]))
		return -EINVAL;
	if (arg->rank != BGDMA_RANK_ANY &&
	    arg->rank >= ctx->partition->size)
		return -EINVAL;
	if (arg->ctx != BGDMA_CTX_ANY && arg->ctx >= BGDMA_CTX_PER_NODE)
		return -EINVAL;
	if (counter ? !arg->count || arg->count > BGDMA_COUNTERS_MAX :
		      arg->count != 1)
		return -EINVAL;
	if (arg->kind != BGDMA_KIND_REGION && (arg->lo || arg->hi))
		return -EINVAL;
	return 0;
}

/* A grant covers a part of its region, and never nothing. */
static int bgdma_grant_range(struct bgdma_ctx *ctx,
			     const struct bgdma_grant *arg)
{
	const struct bgdma_region *region;
	u64 hi;

	if (arg->kind != BGDMA_KIND_REGION)
		return 0;
	region = xa_load(&ctx->regions, BGDMA_HANDLE_SLOT(arg->object));
	if (!region)
		return -ENOENT;
	if (region->handle != arg->object)
		return -ESTALE;
	hi = arg->hi ?: region->length;
	return hi > region->length || arg->lo >= hi ? -EINVAL : 0;
}

/* That which was not taken back, or NULL. */
static struct bgdma_grant_entry *bgdma_grants_find(struct bgdma_grants *grants,
						   u32 id)
{
	u32 i;

	for (i = 0; grants && i < grants->n; i++) {
		if (grants->e[i].id == id && grants->e[i].rights)
			return &grants->e[i];
	}
	return NULL;
}

/*
 * Take a grant of one object back, if it is there. Never fails: a right must
 * be revocable when memory is short.
 */
static int bgdma_revoke_at(struct bgdma_ctx *ctx,
			   struct bgdma_grants __rcu **where, u32 id)
{
	struct bgdma_grants *grants = bgdma_grants_now(ctx, where);
	struct bgdma_grant_entry *entry = bgdma_grants_find(grants, id);

	if (!entry)
		return 0;
	WRITE_ONCE(entry->rights, 0);
	bgdma_grants_sum(grants);
	/* Nobody keeps a yes of before under the new serial. */
	smp_store_release(&grants->serial, bgdma_grants_serial());
	if (!bgdma_grants_live(grants))
		bgdma_grants_drop(where);
	return 1;
}

/* Return: 1: a grant of one object has this id. */
static int bgdma_granted_at(struct bgdma_ctx *ctx,
			    struct bgdma_grants __rcu **where, u32 id)
{
	return bgdma_grants_find(bgdma_grants_now(ctx, where), id) ? 1 : 0;
}

/* At each object of the context. Return: the sum of what @visit did. */
static int bgdma_grants_each(struct bgdma_ctx *ctx, u32 id,
			     int (*visit)(struct bgdma_ctx *ctx,
					  struct bgdma_grants __rcu **where,
					  u32 id))
{
	struct bgdma_region *region;
	unsigned long index;
	unsigned int k;
	int found = 0;
	u32 i;

	lockdep_assert_held(&ctx->lock);

	xa_for_each(&ctx->regions, index, region)
		found += visit(ctx, &region->grants, id);
	for (k = 0; k < 2; k++) {
		for (i = 0; i < ctx->n_ctr[k]; i++)
			found += visit(ctx, &ctx->counters[k][i].grants, id);
	}
	for (k = BGDMA_KIND_REC_FIFO; k <= BGDMA_KIND_RGET_QUEUE; k++) {
		u32 max = k == BGDMA_KIND_REC_FIFO ? ctx->n_rec : ctx->n_rgq;

		for (i = 0; i < max; i++) {
			struct bgdma_grants __rcu **where;

			where = bgdma_grants_of(ctx, k, i);
			if (!IS_ERR(where))
				found += visit(ctx, where, id);
		}
	}
	return found;
}

/*
 * Ids go round: a process may run for years. Those of grants that live on from before
 * are passed over.
 */
static int bgdma_grant_id(struct bgdma_ctx *ctx, u32 *id)
{
	*id = ctx->grant_last;
	do {
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
		if (++*id == BGDMA_NONE) {
			*id = 1;
			ctx->grants_round = true;
		}
	} while (ctx->grants_round &&
		 bgdma_grants_each(ctx, *id, bgdma_granted_at));
	return 0;
}

/**
 * bgdma_grant() - let a peer use an object
 * @ctx: owner
 * @arg: BGDMA_IOC_GRANT's; @arg->id is filled in
 *
 * Context: ctx.lock held.
 * Return: 0 or the negative errno that the ioctl documents; then nothing
 * was granted.
 */
int bgdma_grant(struct bgdma_ctx *ctx, struct bgdma_grant *arg)
{
	struct bgdma_grant_entry entry = {
		.lo = arg->lo,
		.hi = arg->hi ?: U64_MAX,
		.rank = arg->rank,
		.ctx = arg->ctx,
		.incarnation = arg->incarnation,
		.rights = arg->rights,
	};
	int err;
	u32 i;

	err = bgdma_grant_check(ctx, arg) ?: bgdma_grant_range(ctx, arg) ?:
	      bgdma_grant_id(ctx, &entry.id);
	if (err)
		return err;

	for (i = 0; i < arg->count; i++) {
		struct bgdma_grants *old, *new = NULL;
		struct bgdma_grants __rcu **where;

		where = bgdma_grants_of(ctx, arg->kind, arg->object + i);
		err = PTR_ERR_OR_ZERO(where);
		if (err)
			goto undo;
		old = bgdma_grants_now(ctx, where);
		err = -ENOSPC;
		if (bgdma_grants_live(old) >= BGDMA_GRANTS_MAX)
			goto undo;
		err = -ENOMEM;
		new = bgdma_grants_copy(old);
		if (!new)
			goto undo;
		new->e[new->n++] = entry;
		bgdma_grants_sum(new);
		rcu_assign_pointer(*where, new);
		if (old)
			kfree_rcu(old, rcu);
	}
	ctx->grant_last = entry.id;
	arg->id = entry.id;
	return 0;
undo:
	while (i--)
		bgdma_revoke_at(ctx, bgdma_grants_of(ctx, arg->kind,
						     arg->object + i),
				entry.id);
	return err;
}

/**
 * bgdma_revoke() - take a grant back
 * @ctx: owner
 * @id: from bgdma_grant()
 *
 * Context: ctx.lock held; waits until no transfer relies on the grant.
 * Return: 0; -ENOENT no such grant.
 */
int bgdma_revoke(struct bgdma_ctx *ctx, u32 id)
{
	if (!bgdma_grants_each(ctx, id, bgdma_revoke_at))
		return -ENOENT;
	synchronize_rcu();
	bgdma_freeze_others(ctx);
	/* Not before: an epoch may have begun under the grant meanwhile. */
	bgdma_gates_recheck(ctx);
	bgdma_ctx_wake_waiters(ctx);
	return 0;
}

/**
 * bgdma_grants_drop() - forget all grants of an object that goes away
 * @where: its grants
 *
 * Context: nobody else changes them.
 */
void bgdma_grants_drop(struct bgdma_grants __rcu **where)
{
	struct bgdma_grants *old = rcu_dereference_protected(*where, true);

	RCU_INIT_POINTER(*where, NULL);
	if (old)
		kfree_rcu(old, rcu);
}
