// SPDX-License-Identifier: GPL-2.0
/*
 * A kernel that leaves, and what never sent anything to another: who waits for it is
 * told all the same. netlink_data.h.
 */
#include "kselftest_harness.h"
#include "netlink_flow.h"

static bool leave(int sock)
{
	struct state_frame state;

	state_new(&state, PARTITION, US, 9, WE);
	state.state.flags = BGDMA_WIRE_STATE_BYE;
	return send_state(sock, &state);
}

/* The word about our node, and about no other. */
#define WORD() do { \
	struct bgdma_event e_; \
\
	ASSERT_TRUE(event_wait(&self->e.n, BGDMA_EVENT_PEER_DOWN, &e_)); \
	EXPECT_EQ(WE, e_.peer_rank); \
	EXPECT_EQ(BGDMA_CTX_ANY, e_.peer_ctx); \
	EXPECT_EQ(0, e_.peer_incarnation); \
	EXPECT_FALSE(event_next(&self->e.n, &e_)); \
} while (0)

static void lease(struct node *n, __u32 kind, __u32 handle, __u32 rank,
		  __u16 ctx)
{
	struct bgdma_counter_cell *c = cell(n, kind, handle);

	store(&n->uctl->leases, 1);
	store(&c->lease_ctx, ctx);
	store(&c->lease_peer, rank);
}

/* ---- Counters ------------------------------------------------------------ */

#define LEASES	60U

/* Of one context there, or all; the others are for nodes that live elsewhere. */
TEST_F(data, x3_who_leased_counters_to_it)
{
	struct end *e = &self->e;
	const struct bgdma_record *r;
	__u32 i, first;

	must(counter_alloc(&e->n, REC, 0, LEASES, &first));
	for (i = 0; i < LEASES; i++)
		lease(&e->n, REC, first + i, i % 3 ? i % 3 : WE,
		      i % 2 ? 7 : BGDMA_CTX_ANY);
	lease(&e->n, INJ, e->ic, WE, 3);
	ASSERT_TRUE(leave(self->sock));
	EXPECT_TRUE(until(counter_error(&e->n, REC, first + LEASES - 3)));
	for (i = 0; i < LEASES; i++) {
		r = counter_record(&e->n, REC, first + i);
		EXPECT_EQ(i % 3 ? BGDMA_OK : BGDMA_E_PEER_DOWN, (int)r->code);
		if (i % 3)
			continue;
		EXPECT_EQ(WE, r->peer_rank);
		EXPECT_EQ(i % 2 ? 7 : BGDMA_CTX_ANY, r->peer_ctx);
	}
	r = counter_record(&e->n, INJ, e->ic);
	EXPECT_EQ(BGDMA_E_PEER_DOWN, (int)r->code);
	EXPECT_EQ(3, r->peer_ctx);
	WORD();
}

/* By its own name first; then what else was there. */
TEST_F(data, x3_who_leased_a_counter_to_one_that_spoke)
{
	struct bgdma_desc d = put_to(&self->e.mem, 0, 64);
	const struct bgdma_record *r;
	struct bgdma_event event;

	add(&self->f, &d, 0, 64, 1);
	LANDS();
	lease(&self->e.n, REC, self->e.rc, WE, 0);
	ASSERT_TRUE(leave(self->sock));
	ASSERT_TRUE(event_wait(&self->e.n, BGDMA_EVENT_PEER_DOWN, &event));
	EXPECT_EQ(0, event.peer_ctx);
	EXPECT_EQ(INC, event.peer_incarnation);
	r = counter_record(&self->e.n, REC, self->e.rc);
	EXPECT_EQ(BGDMA_E_PEER_DOWN, (int)r->code);
	WORD();
	EXPECT_EQ(0, r->lost);
}

/* ---- The word ------------------------------------------------------------ */

TEST_F(data, x3_who_only_put_there)
{
	struct bgdma_desc d = d_put(WE, self->e.mem.handle, 0, 3, 0, 64);
	struct bgdma_event event;
	struct data_frame f;
	struct node other;
	__u64 seq;

	node_new(&other, 0);
	seq = inject(&self->e.inj, &d);
	ASSERT_TRUE(next_frame(self->sock, BGDMA_FRAME_DATA, &f, sizeof(f)));
	ack_new(&self->ack);
	ASSERT_TRUE(send_ack(self->sock, &f, f.frame.psn + 1, 0, &self->ack));
	ASSERT_EQ(BGDMA_OK, outcome(&self->e.inj, seq));
	ASSERT_TRUE(leave(self->sock));
	WORD();
	EXPECT_FALSE(event_next(&other, &event));
	node_close(&other);
}

/* Of whose user those were nobody knows here. */
TEST_F(data, x3_who_watches)
{
	const struct bgdma_attach watch = {
		.flags = BGDMA_ATTACH_WATCH, .ctx = BGDMA_CTX_ANY,
	};
	struct bgdma_event event;
	struct node n;

	must(node_try(&n, PARTITION, 0, &watch));
	ASSERT_TRUE(leave(self->sock));
	ASSERT_TRUE(event_wait(&n, BGDMA_EVENT_PEER_DOWN, &event));
	EXPECT_EQ(WE, event.peer_rank);
	EXPECT_FALSE(event_next(&n, &event));
	EXPECT_FALSE(event_next(&self->e.n, &event));
	node_close(&n);
}

TEST_HARNESS_MAIN
