// SPDX-License-Identifier: GPL-2.0
/*
 * Groups as a right: what may be done under one, and what not.
 */
#include "group.h"

/* ---- Remote gets ------------------------------------------------------ */

#define DESCS_AT	(BYTES - BGDMA_RGET_DESC_MAX * 64)

/* @descs for each node on the line from @m. */
static int broadcast(struct member *m, const struct bgdma_desc *descs,
		     unsigned int n)
{
	struct bgdma_desc d = d_rget(0, S_QUEUE, m->mem.handle, DESCS_AT, n);

	memcpy(m->mem.p + DESCS_AT, descs, n * sizeof(*descs));
	deposit(&d, m, true, GROUP);
	return run_bad(&m->inj, &d);
}

static void under(struct bgdma_desc *d, __u32 group)
{
	d->flags |= BGDMA_DESC_GROUP;
	d->dst_ctx = htole16((__u16)group);
}

TEST_F(group, dma7_ba3_descriptors_run_at_each)
{
	struct member *m = &self->m[0];
	struct bgdma_desc d[4] = {
		d_copy(S_MEM, 0, S_MEM, 10, 1),
		d_put(0, S_MEM, 0, m->mem.handle, 20, 1),
		d_memfifo(0, m->rec.id, S_MEM, 0, 1),
		d_local_memfifo(S_FIFO, S_MEM, 0, 1),
	};
	__u32 i, at;

	for (i = 0; i < 4; i++)
		under(&d[i], GROUP);
	d[0].inj_ctr = htole32(S_IC);
	d[0].rec_ctr = htole32(S_RC);
	d[1].inj_ctr = htole32(S_IC);
	/* At the sender it is a handle. */
	d[1].rec_ctr = htole32(m->rc);
	for (at = 0; at < NODES; at++)
		self->m[at].mem.p[0] = (char)(at + 1);
	ASSERT_EQ(BGDMA_OK, broadcast(m, d, 4));
	for (at = 1; at < LINE; at++) {
		struct member *r = &self->m[at];
		const struct bgdma_packet *p = packet_wait(&r->rec);

		EXPECT_EQ(0, p->src_rank);
		EXPECT_EQ((char)(at + 1), payload(p)[0]);
		EXPECT_EQ((char)(at + 1), r->mem.p[10]);
		EXPECT_EQ(-2, value(&r->n, INJ, r->ic));
		EXPECT_EQ(-1, value(&r->n, REC, r->rc));
	}
	for (i = 0; i < LINE - 1; i++) {
		const struct bgdma_packet *p = packet_wait(&m->rec);

		EXPECT_EQ((char)(p->src_rank + 1), payload(p)[0]);
		EXPECT_LT(0, m->mem.p[20]);
		packet_drop(&m->rec);
	}
	EXPECT_EQ(-(LINE - 1), value(&m->n, REC, m->rc));
	EXPECT_EQ(0, value(&m->n, INJ, m->ic));
}

/* What node 1 says of one descriptor of @m's, which node 0 also hears. */
static __u32 refused(struct member *m, struct member *at,
		     const struct bgdma_desc *d)
{
	struct bgdma_event theirs, ours;

	if (broadcast(m, d, 1) != BGDMA_OK ||
	    !event_wait(&at->n, BGDMA_EVENT_OFFENDER, &theirs) ||
	    !event_wait(&m->n, BGDMA_EVENT_REFUSED, &ours) ||
	    theirs.code != ours.code || theirs.peer_rank != m->n.at.rank)
		return 0;
	clear_error(&at->n, BGDMA_KIND_RGET_QUEUE, at->rgq, 0);
	return ours.code;
}

TEST_F(group, dma7_x2_what_a_descriptor_may_not)
{
	struct member *m = &self->m[0], *at = &self->m[1];
	struct bgdma_desc d;
	__u32 i;

	/* One receiver is enough. */
	must(unbind(&self->m[2], GROUP));
	must(unbind(&self->m[3], GROUP));

	/* Handles instead of slots, and of the wrong kind. */
	d = d_copy(at->mem.handle, 0, S_MEM, 0, 1);
	under(&d, GROUP);
	EXPECT_EQ(BGDMA_E_GROUP, refused(m, at, &d));
	d = d_copy(S_MEM, 0, S_COUNT, 0, 1);
	under(&d, GROUP);
	EXPECT_EQ(BGDMA_E_GROUP, refused(m, at, &d));
	d = d_copy(S_MEM, 0, S_FIFO, 0, 1);
	under(&d, GROUP);
	EXPECT_EQ(BGDMA_E_GROUP, refused(m, at, &d));
	d = d_copy(S_MEM, 0, S_MEM, 0, 1);
	under(&d, GROUP);
	d.inj_ctr = htole32(S_RC);
	EXPECT_EQ(BGDMA_E_GROUP, refused(m, at, &d));
	/* Beyond the region. */
	d = d_copy(S_MEM, BYTES, S_MEM, 0, 1);
	under(&d, GROUP);
	EXPECT_EQ(BGDMA_E_BOUNDS, refused(m, at, &d));
	/* Another group, that the node is in, and that it is not in. */
	must(bind_with(at, 8, EVERYBODY));
	for (i = 8; i < 10; i++) {
		d = d_copy(S_MEM, 0, S_MEM, 0, 1);
		under(&d, i);
		EXPECT_EQ(BGDMA_E_GROUP, refused(m, at, &d));
	}
	/* Without the group it has the sender's rights, which are none. */
	d = d_copy(at->mem.handle, 0, at->mem.handle, 1, 1);
	EXPECT_EQ(BGDMA_E_RIGHTS, refused(m, at, &d));
	/* To a third party, or on down a line. */
	d = d_put(2, S_MEM, 0, self->m[2].mem.handle, 0, 1);
	under(&d, GROUP);
	EXPECT_EQ(BGDMA_E_PROVENANCE, refused(m, at, &d));
	d = d_send(at, true, 1);
	EXPECT_EQ(BGDMA_E_PROVENANCE, refused(m, at, &d));
	/* To its sender, but not to what that has in no slot. */
	d = d_put(0, S_MEM, 0, m->mem.handle, BYTES, 1);
	under(&d, GROUP);
	EXPECT_EQ(BGDMA_E_BOUNDS, refused(m, at, &d));
	must(unbind(m, GROUP));
	must(bind_as(&m->n, GROUP, NULL, 0,
		     &(struct bgdma_group_member){ .rank = 1 }, 1));
	d = d_put(0, S_MEM, 0, m->mem.handle, 0, 1);
	under(&d, GROUP);
	EXPECT_EQ(BGDMA_E_RIGHTS, refused(m, at, &d));
}

/* The binding is a right under its group, and no other way. */
TEST_F(group, dma7_x2_only_under_the_group)
{
	struct member *m = &self->m[0], *at = &self->m[1];
	struct bgdma_event e;
	struct bgdma_desc d;

	d = d_put(1, m->mem.handle, 0, at->mem.handle, 0, 1);
	EXPECT_EQ(BGDMA_E_RIGHTS, run_bad(&m->inj, &d));
	/* Nor right after something that was. */
	d = d_send(m, true, 1);
	EXPECT_EQ(BGDMA_OK, run(&m->inj, &d));
	d = d_number(1, &at->rec, 1);
	EXPECT_EQ(BGDMA_E_RIGHTS, run_bad(&m->inj, &d));
	d = d_rget(1, at->rgq, m->mem.handle, DESCS_AT, 1);
	EXPECT_EQ(BGDMA_E_RIGHTS, run_bad(&m->inj, &d));
	/* A remote get for one does not come under a group. */
	must(grant(&at->n, BGDMA_KIND_RGET_QUEUE, at->rgq, 0,
		   BGDMA_RIGHT_INJECT));
	d = d_copy(S_MEM, 0, S_MEM, 1, 1);
	under(&d, GROUP);
	memcpy(m->mem.p + DESCS_AT, &d, sizeof(d));
	d = d_rget(1, at->rgq, m->mem.handle, DESCS_AT, 1);
	EXPECT_EQ(BGDMA_OK, run_bad(&m->inj, &d));
	ASSERT_TRUE(event_wait(&at->n, BGDMA_EVENT_OFFENDER, &e));
	EXPECT_EQ(BGDMA_E_GROUP, e.code);
	/* Who is in no group sends to none, whatever others have bound. */
	must(unbind(m, GROUP));
	d = d_send(m, true, 1);
	EXPECT_EQ(BGDMA_E_GROUP, run_bad(&m->inj, &d));
}

/* ---- Bad descriptors, bad calls --------------------------------------- */

#define EXPECT_DESC(code, change) do {					\
	struct bgdma_desc d = d_send(m, true, 1);			\
									\
	change;								\
	EXPECT_EQ(code, run_bad(&m->inj, &d)) TH_LOG("%s", #change);	\
} while (0)

TEST_F(group, dma7_dma8_bad_descriptors)
{
	struct member *m = &self->m[1];
	__u32 last = le32toh(d_send(m, true, 1).dst_rank);
	__u32 rank;

	EXPECT_DESC(BGDMA_E_FLAGS, d.route = BGDMA_ROUTE_DEPOSIT);
	EXPECT_DESC(BGDMA_E_FLAGS, d.route |= BGDMA_ROUTE_XM);
	EXPECT_DESC(BGDMA_E_FLAGS, d.route |= BGDMA_ROUTE_YP);
	EXPECT_DESC(BGDMA_E_FLAGS, d.route |= BGDMA_ROUTE_ADAPTIVE);
	EXPECT_DESC(BGDMA_E_FLAGS, d.flags &= ~BGDMA_DESC_GROUP);
	EXPECT_DESC(BGDMA_E_FLAGS, d.route = BGDMA_ROUTE_XP);
	EXPECT_DESC(BGDMA_E_FIELD, d.op = BGDMA_OP_LOCAL_MEMFIFO);
	EXPECT_DESC(BGDMA_E_FLAGS, d = d_nop(); d.flags = BGDMA_DESC_GROUP);
	for (rank = 0; rank < NODES + 2; rank++) {
		if (rank == last)
			continue;
		EXPECT_DESC(BGDMA_E_BOUNDS, d.dst_rank = htole32(rank));
	}
	EXPECT_DESC(BGDMA_E_BOUNDS, d.dst_rank = htole32(BGDMA_RANK_ANY));
	EXPECT_DESC(BGDMA_E_GROUP, d.dst_ctx = htole16(GROUP + 1));
	EXPECT_DESC(BGDMA_E_GROUP, d.dst_ctx = htole16(BGDMA_GROUPS_MAX));
	EXPECT_DESC(BGDMA_E_GROUP, d.dst_ctx = htole16(BGDMA_CTX_ANY));
	/* Slots are looked up where they are: the receiver is named. */
	EXPECT_DESC(BGDMA_E_GROUP, d.dst_fifo = htole16(S_QUEUE));
	EXPECT_DESC(BGDMA_E_GROUP, d.dst_fifo = htole16(S_COUNT));
	EXPECT_DESC(BGDMA_E_GROUP, d.rec_ctr = htole32(S_IC));
	EXPECT_DESC(BGDMA_E_GROUP, d.rec_ctr = htole32(0xfffffff0));
	EXPECT_EQ(0, self->m[2].n.kctl->events_tail);
	EXPECT_EQ(NULL, packet(&self->m[2].rec));
	/* And goes on. */
	EXPECT_DESC(BGDMA_OK, d.cookie = 1);
	EXPECT_NE(NULL, packet(&self->m[2].rec));
}

TEST_F(group, dma7_bad_bindings)
{
	struct member *m = &self->m[0];
	struct bgdma_group_member who[3] = { { .rank = 1 }, { .rank = 2 } };
	struct bgdma_group_slot slots[BGDMA_GROUP_SLOTS + 1];
	struct node second;
	unsigned int i;

	slots_of(m, slots);
	for (i = S_COUNT; i <= BGDMA_GROUP_SLOTS; i++)
		slots[i] = slots[S_MEM];
#define TRY(g, s, w) bind_as(&m->n, g, slots, s, who, w)
	EXPECT_EQ(-EEXIST, TRY(GROUP, S_COUNT, 2));
	EXPECT_EQ(-EINVAL, TRY(BGDMA_GROUPS_MAX, S_COUNT, 2));
	EXPECT_EQ(-EINVAL, TRY(1, BGDMA_GROUP_SLOTS + 1, 2));
	EXPECT_EQ(-EINVAL, TRY(1, S_COUNT, 0));
	EXPECT_EQ(-EINVAL, TRY(1, S_COUNT, BGDMA_GROUP_MEMBERS_MAX + 1));
	who[2].rank = 2;
	EXPECT_EQ(-EINVAL, TRY(1, S_COUNT, 3));
	who[2].rank = NODES;
	EXPECT_EQ(-EINVAL, TRY(1, S_COUNT, 3));
	who[2] = (struct bgdma_group_member){ .rank = 3, .ctx = 256 };
	EXPECT_EQ(-EINVAL, TRY(1, S_COUNT, 3));
	who[2] = (struct bgdma_group_member){ .rank = 3, .resv = 1 };
	EXPECT_EQ(-EINVAL, TRY(1, S_COUNT, 3));
	EXPECT_EQ(-EFAULT, bind_as(&m->n, 1, slots, S_COUNT, NULL, 2));
	EXPECT_EQ(-EFAULT, bind_as(&m->n, 1, NULL, S_COUNT, who, 2));
	slots[0].object = 7;
	EXPECT_EQ(-ENOENT, TRY(1, 1, 2));
	slots[0].object = BGDMA_NONE;
	EXPECT_EQ(-ENOENT, TRY(1, 1, 2));
	slots[0] = (struct bgdma_group_slot){ BGDMA_KIND_RGET_QUEUE, 3 };
	EXPECT_EQ(-ENOENT, TRY(1, 1, 2));
	slots[0] = (struct bgdma_group_slot){ INJ, m->ic + (1U << 16) };
	EXPECT_EQ(-ESTALE, TRY(1, 1, 2));
	slots[0] = (struct bgdma_group_slot){ REC, m->rc + 1 };
	EXPECT_EQ(-ENOENT, TRY(1, 1, 2));
	slots[0] = (struct bgdma_group_slot){ BGDMA_KIND_REGION,
					      m->mem.handle + (1U << 16) };
	EXPECT_EQ(-ESTALE, TRY(1, 1, 2));
	slots[0] = (struct bgdma_group_slot){ BGDMA_KIND_REGION, 999 };
	EXPECT_EQ(-ENOENT, TRY(1, 1, 2));
	for (i = 0; i < 12; i++) {
		if (i >= BGDMA_KIND_REC_FIFO && i <= BGDMA_KIND_REGION)
			continue;
		if (i == INJ || i == REC)
			continue;
		slots[0] = (struct bgdma_group_slot){ i, 0 };
		EXPECT_EQ(-EINVAL, TRY(1, 1, 2));
	}
	/* A node has a number once, whichever of its contexts has it. */
	node_new(&second, 0);
	EXPECT_EQ(-EEXIST, bind_as(&second, GROUP, NULL, 0, who, 2));
	EXPECT_EQ(0, bind_as(&second, GROUP + 1, NULL, 0, who, 2));
	EXPECT_EQ(-EEXIST, bind_with(m, GROUP + 1, EVERYBODY));
	EXPECT_EQ(-ENOENT, unbind(m, GROUP + 1));
	node_close(&second);
	EXPECT_EQ(0, bind_with(m, GROUP + 1, EVERYBODY));
	EXPECT_EQ(0, unbind(m, GROUP + 1));
	EXPECT_EQ(-ENOENT, unbind(m, GROUP + 1));
	EXPECT_EQ(-ENOENT, unbind(m, BGDMA_NONE));
}

/* Another FIFO with the same number is not the one that was bound. */
TEST_F(group, dma7_x2_what_is_destroyed_leaves_its_slots)
{
	struct member *m = &self->m[0], *at = &self->m[1];
	struct bgdma_desc d = d_send(m, true, 1);
	struct bgdma_desc put = d_put(0, m->mem.handle, 0, S_MEM, 0, 1);
	struct bgdma_desc nop = d_nop();

	deposit(&put, m, true, GROUP);
	EXPECT_EQ(0, fifo_destroy(&at->n, BGDMA_KIND_REC_FIFO, at->rec.id));
	EXPECT_EQ(BGDMA_E_GROUP, run(&m->inj, &d));
	/* It says whose. */
	EXPECT_EQ(1, m->inj.rec->peer_rank);
	EXPECT_EQ(S_FIFO, m->inj.rec->offset);
	clear_error(&m->n, BGDMA_KIND_INJ_FIFO, m->inj.id, 0);
	must(rec_try(&at->rec, &at->n, at->rec.id, BGDMA_REC_BYTES_MIN));
	EXPECT_EQ(BGDMA_E_GROUP, run_bad(&m->inj, &d));
	EXPECT_EQ(0, fifo_destroy(&at->n, BGDMA_KIND_RGET_QUEUE, at->rgq));
	must(rgq_try(&at->n, 16, 8, 0, &at->rgq));
	EXPECT_EQ(BGDMA_E_GROUP, broadcast(m, &nop, 1));
	EXPECT_EQ(0, region_free(&at->n, at->mem.handle));
	EXPECT_EQ(BGDMA_E_REGION, run_bad(&m->inj, &put));
	EXPECT_EQ(NULL, packet(&self->m[2].rec));
}

/* A slot is as good as its owner's own right; a grant may be better. */
TEST_F(group, dma7_grants_hold_beside_a_slot)
{
	struct member *m = &self->m[0], *at = &self->m[1];
	struct bgdma_desc put = d_put(0, m->mem.handle, 0, S_MEM, 0, 64);
	struct bgdma_group_member both[2] = { { .rank = 0 }, { .rank = 1 } };
	struct bgdma_group_slot slots[S_COUNT];
	__u32 handle;

	must(region_pin(&at->n, at->mem.p, BYTES, BGDMA_LOCAL_READ, &handle));
	slots_of(at, slots);
	slots[S_MEM].object = handle;
	must(bind_as(&at->n, 8, slots, S_COUNT, both, 2));
	must(bind_with(m, 8, 3));
	deposit(&put, m, true, 8);
	fill(m->mem.p, 64, 8);
	EXPECT_EQ(BGDMA_E_RIGHTS, run_bad(&m->inj, &put));
	EXPECT_FALSE(filled(at->mem.p, 64, 8));
	must(grant(&at->n, BGDMA_KIND_REGION, handle, 0, BGDMA_RIGHT_WRITE));
	EXPECT_EQ(BGDMA_OK, run_bad(&m->inj, &put));
	EXPECT_TRUE(filled(at->mem.p, 64, 8));
}

/* A put down the line that waits for an epoch of somebody else's. */
TEST_F(group, dma7_ep1_who_leaves_at_his_gate_is_passed_by)
{
	struct member *m = &self->m[0], *at = &self->m[2], *who = &self->m[5];
	struct bgdma_desc put = d_put(0, m->mem.handle, 0, S_MEM, 4096, 64);
	struct bgdma_desc d = d_gate(2, BGDMA_OP_EPOCH_BEGIN, at->mem.handle, 1,
				     BGDMA_NONE);

	must(grant(&at->n, BGDMA_KIND_REGION, at->mem.handle, 5,
		   BGDMA_RIGHT_EPOCH));
	must(gate(&at->n, at->mem.handle, 0, 0));
	d.flags = BGDMA_DESC_EXCLUSIVE;
	ASSERT_EQ(BGDMA_OK, run(&who->inj, &d));
	fill(m->mem.p, 64, 3);
	deposit(&put, m, true, GROUP);
	put.flags |= BGDMA_DESC_HOLD;
	inject(&m->inj, &put);
	ASSERT_TRUE(until(m->inj.kern->state == BGDMA_FIFO_BLOCKED));
	EXPECT_TRUE(filled(self->m[1].mem.p + 4096, 64, 3));
	must(unbind(at, GROUP));
	EXPECT_EQ(BGDMA_OK, outcome(&m->inj, 0));
	EXPECT_FALSE(filled(at->mem.p + 4096, 64, 3));
	EXPECT_TRUE(filled(self->m[3].mem.p + 4096, 64, 3));
}

TEST_HARNESS_MAIN
