/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A kernel that is gone, for which the last node of a line stands: what its end is told
 * by, and who is. netlink_data.h.
 */
#ifndef BGDMA_SELFTESTS_NETLINK_GONE_H
#define BGDMA_SELFTESTS_NETLINK_GONE_H

#include "netlink_flow.h"

static const struct bgdma_attach watch = {
	.flags = BGDMA_ATTACH_WATCH, .ctx = BGDMA_CTX_ANY,
};

/* The word about our node, and about no other. */
#define WORD() do { \
	struct bgdma_event e_; \
\
	ASSERT_TRUE(event_wait(&self->e.n, BGDMA_EVENT_PEER_DOWN, &e_)); \
	EXPECT_EQ(WE, e_.peer_rank); \
	EXPECT_EQ(WE, e_.bound); \
	EXPECT_EQ(BGDMA_CTX_ANY, e_.peer_ctx); \
	EXPECT_EQ(0, e_.peer_incarnation); \
	EXPECT_FALSE(event_next(&self->e.n, &e_)); \
} while (0)

static inline void lease(struct node *n, __u32 kind, __u32 handle, __u32 rank,
			 __u16 ctx)
{
	struct bgdma_counter_cell *c = cell(n, kind, handle);

	store(&n->uctl->leases, 1);
	store(&c->lease_ctx, ctx);
	store(&c->lease_peer, rank);
}

#endif /* BGDMA_SELFTESTS_NETLINK_GONE_H */
