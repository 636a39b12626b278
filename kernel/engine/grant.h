/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Principals and grants: engine/grant.c. Part of bgdma.h, which has the lock order; not to
 * be included by itself.
 */
#ifndef _BGDMA_GRANT_H
#define _BGDMA_GRANT_H

/**
 * struct bgdma_principal - who asks
 * @rank: node
 * @incarnation: of the context
 * @ctx: context of the node
 */
struct bgdma_principal {
	u32 rank;
	u32 incarnation;
	u16 ctx;
};

/*
 * Is it the same one? A kernel gives each incarnation once, but not the kernels of a
 * partition together: whoever attaches often enough has one that is in use elsewhere.
 */
static inline bool bgdma_same(const struct bgdma_principal *a,
			      const struct bgdma_principal *b)
{
	return a->incarnation == b->incarnation && a->rank == b->rank;
}

struct bgdma_grant_entry {
	u64 lo;
	u64 hi;
	u32 rank;
	u32 incarnation;
	u32 rights;
	u32 id;
	u16 ctx;
};

/**
 * struct bgdma_grants - what the owner of one object granted
 * @rcu: readers are the engine's deliveries
 * @serial: of this array and no other, ever: who remembers it together with
 *	an answer need not ask again
 * @anyone: rights that everybody has on the whole object
 * @n: entries
 * @e: unordered
 */
struct bgdma_grants {
	struct rcu_head rcu;
	u64 serial;
	u32 anyone;
	u32 n;
	struct bgdma_grant_entry e[];
};

bool bgdma_grants_cover(const struct bgdma_grants *grants,
			const struct bgdma_principal *who, u32 rights,
			u64 off, u64 len, u64 *bound, u64 *memo);
bool bgdma_grants_cover_whole(const struct bgdma_grants *grants,
			      const struct bgdma_principal *who, u32 rights,
			      u64 *memo);
int bgdma_grant(struct bgdma_ctx *ctx, struct bgdma_grant *arg);
int bgdma_revoke(struct bgdma_ctx *ctx, u32 id);
void bgdma_grants_drop(struct bgdma_grants __rcu **where);
u32 bgdma_grants_count(struct bgdma_grants __rcu *const *where);

#endif /* _BGDMA_GRANT_H */
