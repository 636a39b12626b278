// SPDX-License-Identifier: GPL-2.0
/*
 * The deposit bit: one packet that leaves a copy with each member on a line, and
 * what becomes of it when they have no room, die or leave.
 */
#include <pthread.h>

#include "group.h"
#include "links.h"

/* ---- Copies ----------------------------------------------------------- */

TEST_F(group, dma7_a_packet_for_each_but_its_sender)
{
	__u32 from, at, plus;

	for (from = 0; from < NODES; from++) {
		for (plus = 0; plus < 2; plus++) {
			struct member *m = &self->m[from];
			struct bgdma_desc d = d_send(m, plus, from);

			ASSERT_EQ(BGDMA_OK, run(&m->inj, &d));
			for (at = 0; at < NODES; at++) {
				struct rec *r = &self->m[at].rec;
				const struct bgdma_packet *p = packet(r);

				if (!on_line(&m->n, from, at, plus)) {
					ASSERT_EQ(NULL, p);
					continue;
				}
				ASSERT_NE(NULL, p);
				EXPECT_EQ(from, p->src_rank);
				EXPECT_EQ(0, p->src_ctx);
				EXPECT_EQ(BGDMA_PACKET_DEPOSITED |
					  BGDMA_PACKET_FIRST |
					  BGDMA_PACKET_LAST, p->flags);
				EXPECT_EQ(0, memcmp(&from, payload(p), 4));
				packet_drop(r);
				EXPECT_EQ(NULL, packet(r));
			}
		}
	}
}

TEST_F(group, dma7_other_axes)
{
	static const __u8 routes[] = { BGDMA_ROUTE_YP, BGDMA_ROUTE_YM,
				       BGDMA_ROUTE_ZP, BGDMA_ROUTE_ZM };
	struct member *m = &self->m[1];
	unsigned int i;
	__u32 at;

	for (i = 0; i < 4; i++) {
		struct bgdma_desc d = d_send(m, true, i);
		/* On a mesh rank 1 is at the low edge of Y. */
		bool there = i == 0 || (i == 1 && is_torus(&m->n, 1));

		d.route = BGDMA_ROUTE_DEPOSIT | routes[i];
		d.dst_rank = htole32(there ? 1 + LINE : 1);
		ASSERT_EQ(BGDMA_OK, run(&m->inj, &d));
		for (at = 0; at < NODES; at++)
			EXPECT_EQ(there && at == 1 + LINE,
				  !!packet(&self->m[at].rec));
		if (there)
			packet_drop(&self->m[1 + LINE].rec);
	}
}

/* A put of several slices, with counters on both sides. */
TEST_F(group, dma7_dma4_a_put_for_each)
{
	struct member *m = &self->m[1];
	struct bgdma_desc d = d_put(0, m->mem.handle, 3, S_MEM, 5, 70000);
	__u32 at, hops;

	deposit(&d, m, true, GROUP);
	line_end(&m->n, 1, true, &hops);
	d.inj_ctr = htole32(m->ic);
	d.rec_ctr = htole32(S_RC);
	fill(m->mem.p + 3, 70000, 42);
	counter_add(&m->n, INJ, m->ic, 70000);
	for (at = 0; at < LINE; at++)
		counter_add(&self->m[at].n, REC, self->m[at].rc, 70000);
	ASSERT_EQ(BGDMA_OK, run(&m->inj, &d));
	/* Once, whatever the number of copies. */
	EXPECT_EQ(0, value(&m->n, INJ, m->ic));
	EXPECT_TRUE(hit(&m->n, INJ, m->ic));
	for (at = 0; at < LINE; at++) {
		struct member *r = &self->m[at];
		bool got = on_line(&m->n, 1, at, true);

		EXPECT_EQ(got ? 0 : 70000, value(&r->n, REC, r->rc));
		if (got)
			EXPECT_TRUE(filled(r->mem.p + 5, 70000, 42));
		if (!got && at != 1)
			EXPECT_EQ(0, r->mem.p[5] | r->mem.p[70004]);
	}
	/* By one each. */
	d.flags |= BGDMA_DESC_OPS;
	d.inj_ctr = htole32(BGDMA_NONE);
	ASSERT_EQ(BGDMA_OK, run(&m->inj, &d));
	EXPECT_EQ(-1, value(&self->m[3].n, REC, self->m[3].rc));
}

/* A message of many packets: at each member all of it, in order. */
TEST_F(group, dma7_long_messages_stay_whole)
{
	struct member *m = &self->m[0];
	struct bgdma_desc d = d_memfifo(0, S_FIFO, m->mem.handle, 0, 60000);
	__u32 at, offset;

	deposit(&d, m, true, GROUP);
	fill(m->mem.p, 60000, 9);
	inject(&m->inj, &d);
	for (at = 1; at < LINE; at++) {
		struct rec *r = &self->m[at].rec;

		/* It has room for a part only. */
		for (offset = 0; offset < 60000;) {
			const struct bgdma_packet *p = packet_wait(r);

			ASSERT_EQ(offset, p->offset);
			ASSERT_EQ(60000, p->msg_length);
			ASSERT_EQ(0, memcmp(payload(p), m->mem.p + offset,
					    p->bytes));
			offset += p->bytes;
			packet_drop(r);
		}
	}
	EXPECT_EQ(BGDMA_OK, outcome(&m->inj, 0));
}

TEST_F(group, dma7_nobody_but_members)
{
	struct member *m = &self->m[0];
	struct bgdma_group_member other = { .rank = 0, .incarnation = 0xbad };
	struct bgdma_group_slot slots[S_COUNT];
	struct bgdma_desc d = d_send(m, true, 1);

	/* 1 has not bound it, 2 without the sender, 3 with one before it. */
	must(unbind(&self->m[1], GROUP));
	must(unbind(&self->m[2], GROUP));
	must(unbind(&self->m[3], GROUP));
	must(bind_with(&self->m[2], GROUP, EVERYBODY & ~1U));
	slots_of(&self->m[3], slots);
	must(bind_as(&self->m[3].n, GROUP, slots, S_COUNT, &other, 1));
	ASSERT_EQ(BGDMA_OK, run(&m->inj, &d));
	EXPECT_EQ(NULL, packet(&self->m[1].rec));
	EXPECT_EQ(NULL, packet(&self->m[2].rec));
	EXPECT_EQ(NULL, packet(&self->m[3].rec));
	must(unbind(&self->m[3], GROUP));
	other.incarnation = m->n.at.incarnation;
	must(bind_as(&self->m[3].n, GROUP, slots, S_COUNT, &other, 1));
	ASSERT_EQ(BGDMA_OK, run(&m->inj, &d));
	EXPECT_EQ(NULL, packet(&self->m[2].rec));
	EXPECT_NE(NULL, packet(&self->m[3].rec));
}

/* Nor who says so himself, where the sender means another. */
TEST_F(group, dma7_nobody_but_whom_the_sender_names)
{
	struct member *m = &self->m[0];
	struct bgdma_group_member who[LINE] = { 0 };
	struct bgdma_group_slot slots[S_COUNT];
	struct bgdma_desc d = d_send(m, true, 1);
	__u32 i;

	for (i = 0; i < LINE; i++)
		who[i].rank = i;
	who[2].ctx = 1;
	who[3].incarnation = 0xbad;
	slots_of(m, slots);
	must(unbind(m, GROUP));
	must(bind_as(&m->n, GROUP, slots, S_COUNT, who, LINE));
	ASSERT_EQ(BGDMA_OK, run(&m->inj, &d));
	EXPECT_EQ(1, number_wait(&self->m[1].rec));
	who[2].ctx = 0;
	who[3].incarnation = self->m[3].n.at.incarnation;
	must(unbind(m, GROUP));
	must(bind_as(&m->n, GROUP, slots, S_COUNT, who, LINE));
	d = d_send(m, true, 2);
	ASSERT_EQ(BGDMA_OK, run(&m->inj, &d));
	for (i = 1; i < LINE; i++)
		EXPECT_EQ(2, number_wait(&self->m[i].rec));
}

/* ---- Receivers that are full, die, leave ------------------------------ */

/* Members whose copies wait for each other: those of one kernel. */
FIXTURE(waiting) {
	struct member m[NODES];
};

FIXTURE_VARIANT(waiting) {
	const char *torus;
};

FIXTURE_VARIANT_ADD(waiting, torus) { .torus = "torus xyz" };
FIXTURE_VARIANT_ADD(waiting, mesh) { .torus = "torus none" };

FIXTURE_SETUP(waiting)
{
	if (links_wanted())
		SKIP(return, "over links the copies of a deposit do not wait for each other");
	members_new(self->m, variant->torus);
}

FIXTURE_TEARDOWN(waiting)
{
	members_close(self->m);
}

/* Numbers for all, until @at's FIFO is full and @m waits for it. */
static __u32 fill_up(struct member *m, struct member *at)
{
	__u32 n = 0;

	while (m->inj.kern->state != BGDMA_FIFO_BLOCKED) {
		struct bgdma_desc d = d_send(m, true, n++);

		inject(&m->inj, &d);
		if (!until(m->inj.kern->done == n ||
			   m->inj.kern->state == BGDMA_FIFO_BLOCKED))
			return 0;
		/* The others keep up. */
		if (m->inj.kern->state != BGDMA_FIFO_BLOCKED) {
			__u32 r;

			for (r = 1; r < LINE; r++)
				if (&m[r] != at)
					packet_drop(&m[r].rec);
		}
	}
	return n;
}

TEST_F(waiting, dma7_dma3_a_full_receiver_holds_it_up)
{
	struct member *m = &self->m[0];
	__u32 n = fill_up(m, &self->m[2]), i;

	ASSERT_LT(0, n);
	/* Those before it have theirs, once; those behind wait. */
	ASSERT_EQ(n - 1, number_wait(&self->m[1].rec));
	EXPECT_EQ(NULL, packet(&self->m[1].rec));
	EXPECT_EQ(NULL, packet(&self->m[3].rec));
	for (i = 0; i < n; i++)
		ASSERT_EQ(i, number_wait(&self->m[2].rec));
	EXPECT_EQ(n - 1, number_wait(&self->m[3].rec));
	EXPECT_EQ(BGDMA_OK, outcome(&m->inj, n - 1));
	for (i = 1; i < LINE; i++)
		EXPECT_EQ(NULL, packet(&self->m[i].rec));
}

TEST_F(waiting, dma7_dma2_cancelled_while_it_waits)
{
	struct member *m = &self->m[0];
	__u32 n = fill_up(m, &self->m[2]);

	ASSERT_LT(0, n);
	EXPECT_EQ(1, cancel(&m->inj, n - 1, n - 1));
	EXPECT_EQ(BGDMA_OK, outcome(&m->inj, n - 1));
	EXPECT_EQ(NULL, packet(&self->m[3].rec));
}

TEST_F(group, dma7_x3_a_full_receiver_that_leaves_is_passed_by)
{
	struct member *m = &self->m[0];
	__u32 n = fill_up(m, &self->m[2]);

	ASSERT_LT(0, n);
	EXPECT_EQ(0, unbind(&self->m[2], GROUP));
	EXPECT_EQ(n - 1, number_wait(&self->m[3].rec));
	EXPECT_EQ(BGDMA_OK, outcome(&m->inj, n - 1));
	EXPECT_EQ(0, m->n.kctl->events_tail);
}

TEST_F(waiting, dma7_x3_a_full_receiver_that_dies_is_passed_by)
{
	struct member *m = &self->m[0];
	__u32 n = fill_up(m, &self->m[2]);
	struct bgdma_event e;

	ASSERT_LT(0, n);
	node_close(&self->m[2].n);
	EXPECT_EQ(n - 1, number_wait(&self->m[3].rec));
	EXPECT_EQ(BGDMA_OK, outcome(&m->inj, n - 1));
	/* They had something to do with each other. */
	ASSERT_TRUE(event_wait(&m->n, BGDMA_EVENT_PEER_DOWN, &e));
	EXPECT_EQ(2, e.peer_rank);
	/* Whoever comes in its place can have the number at once. */
	member_new(&self->m[2], 2);
	EXPECT_EQ(0, bind_with(&self->m[2], GROUP, EVERYBODY));
}

/* In the middle of a message: the next does not get the rest of it. */
TEST_F(waiting, dma7_x3_death_within_a_message)
{
	struct member *m = &self->m[0];
	struct bgdma_desc d = d_memfifo(0, S_FIFO, m->mem.handle, 0, 40000);
	__u32 offset;

	deposit(&d, m, true, GROUP);
	must(unbind(&self->m[1], GROUP));
	inject(&m->inj, &d);
	ASSERT_TRUE(until(m->inj.kern->state == BGDMA_FIFO_BLOCKED));
	ASSERT_NE(NULL, packet(&self->m[2].rec));
	node_close(&self->m[2].n);
	member_new(&self->m[2], 2);
	must(bind_with(&self->m[2], GROUP, EVERYBODY));
	for (offset = 0; offset < 40000;) {
		const struct bgdma_packet *p = packet_wait(&self->m[3].rec);

		ASSERT_EQ(offset, p->offset);
		offset += p->bytes;
		packet_drop(&self->m[3].rec);
	}
	EXPECT_EQ(BGDMA_OK, outcome(&m->inj, 0));
	EXPECT_EQ(NULL, packet(&self->m[2].rec));
}

/* Who has the beginning hears that there is no more to come. */
TEST_F(waiting, dma7_dma2_cancelled_within_a_message)
{
	struct member *m = &self->m[0], *at = &self->m[2];
	struct bgdma_desc d = d_memfifo(0, S_FIFO, m->mem.handle, 0, 40000);
	const struct bgdma_packet *p;
	__u32 offset = 0;

	deposit(&d, m, true, GROUP);
	must(unbind(&self->m[1], GROUP));
	inject(&m->inj, &d);
	ASSERT_TRUE(until(m->inj.kern->state == BGDMA_FIFO_BLOCKED));
	EXPECT_EQ(1, cancel(&m->inj, 0, 0));
	while (!((p = packet_wait(&at->rec))->flags & BGDMA_PACKET_ERROR)) {
		ASSERT_EQ(offset, p->offset);
		ASSERT_EQ(0, p->flags & BGDMA_PACKET_LAST);
		offset += p->bytes;
		packet_drop(&at->rec);
	}
	EXPECT_LT(0, offset);
	EXPECT_EQ(0, p->bytes);
	EXPECT_NE(0, p->flags & BGDMA_PACKET_LAST);
	EXPECT_EQ(NULL, packet(&self->m[3].rec));
}

/*
 * Members refuse what is too long for them, some of them while others get their copies:
 * the descriptor ends, and so do those after it.
 */
TEST_F(group, dma7_dma6_a_long_put_that_is_refused)
{
	struct member *m = &self->m[0];
	struct bgdma_desc d;
	struct region all;
	__u32 i, at;

	region_new(&all, &m->n, 1024 * KIB);
	for (i = 0; i < 5; i++) {
		d = d_put(0, all.handle, 0, S_MEM, 0, 1024 * KIB);
		deposit(&d, m, true, GROUP);
		d.inj_ctr = htole32(m->ic);
		counter_add(&m->n, INJ, m->ic, 1024 * KIB);
		ASSERT_EQ(BGDMA_E_BOUNDS, run_bad(&m->inj, &d));
		EXPECT_EQ(0, value(&m->n, INJ, m->ic));
		must(clear_error(&m->n, INJ, BGDMA_HANDLE_SLOT(m->ic), 0));
		d = d_send(m, true, i);
		d.flags |= BGDMA_DESC_FENCE;
		ASSERT_EQ(BGDMA_OK, run(&m->inj, &d));
		for (at = 1; at < LINE; at++)
			ASSERT_EQ(i, number_wait(&self->m[at].rec));
	}
}

/* Also where more is on its way: who has the beginning hears, and the FIFO goes on. */
TEST_F(group, dma7_dma2_cancelled_within_a_long_message)
{
	struct member *m = &self->m[0], *at = &self->m[2];
	struct bgdma_desc d;
	struct region all;
	__u32 offset = 0;

	/* More than can be on its way. */
	region_new(&all, &m->n, 1024 * KIB);
	d = d_memfifo(0, S_FIFO, all.handle, 0, 1024 * KIB);
	deposit(&d, m, true, GROUP);
	d.inj_ctr = htole32(m->ic);
	counter_add(&m->n, INJ, m->ic, 1024 * KIB);
	must(unbind(&self->m[1], GROUP));
	inject(&m->inj, &d);
	packet_wait(&at->rec);
	EXPECT_EQ(1, cancel(&m->inj, 0, 0));
	EXPECT_EQ(0, value(&m->n, INJ, m->ic));
	EXPECT_TRUE(until(cut_off(&at->n, &at->rec, &offset)));
	EXPECT_LT(0, offset);
	EXPECT_GT(1024 * KIB, offset);
	d = d_send(m, true, 5);
	d.flags |= BGDMA_DESC_FENCE;
	ASSERT_EQ(BGDMA_OK, run(&m->inj, &d));
	EXPECT_EQ(5, number_wait(&at->rec));
	EXPECT_EQ(5, number_wait(&self->m[3].rec));
	EXPECT_EQ(0, value(&m->n, INJ, m->ic));
}

/* What it was for goes away in the middle: both sides hear why. */
TEST_F(group, dma7_dma8_fifo_destroyed_within_a_message)
{
	struct member *m = &self->m[0], *at = &self->m[2];
	struct bgdma_desc d = d_memfifo(0, S_FIFO, m->mem.handle, 0, BYTES);
	const struct bgdma_record *r = counter_record(&at->n, REC, at->rc);

	deposit(&d, m, true, GROUP);
	d.rec_ctr = htole32(S_RC);
	counter_add(&at->n, REC, at->rc, BYTES);
	must(unbind(&self->m[1], GROUP));
	must(unbind(&self->m[3], GROUP));
	inject(&m->inj, &d);
	packet_wait(&at->rec);
	must(fifo_destroy(&at->n, BGDMA_KIND_REC_FIFO, at->rec.id));
	EXPECT_EQ(BGDMA_E_FIFO, outcome(&m->inj, 0));
	EXPECT_EQ(2, m->inj.rec->peer_rank);
	EXPECT_TRUE(until(counter_error(&at->n, REC, at->rc)));
	EXPECT_EQ(BGDMA_E_ABORTED, (int)r->code);
	EXPECT_EQ(BGDMA_E_FIFO, (int)r->bound);
	EXPECT_TRUE(until(!value(&at->n, REC, at->rc)));
}

/* The same, where it is the sender that dies. */
TEST_F(group, dma7_x3_sender_dies_within_a_message)
{
	struct member *m = &self->m[0], *at = &self->m[2];
	struct bgdma_desc d = d_memfifo(0, S_FIFO, m->mem.handle, 0, BYTES);
	__u32 offset = 0;

	deposit(&d, m, true, GROUP);
	must(unbind(&self->m[1], GROUP));
	inject(&m->inj, &d);
	/* It is full: no more comes until some are taken. */
	packet_wait(&at->rec);
	node_close(&m->n);
	EXPECT_TRUE(until(cut_off(&at->n, &at->rec, &offset)));
	EXPECT_LT(0, offset);
	EXPECT_GT(BYTES, offset);
}

/* Or is a member no longer. */
TEST_F(waiting, dma7_sender_leaves_within_a_message)
{
	struct member *m = &self->m[0], *at = &self->m[2];
	struct bgdma_desc d = d_memfifo(0, S_FIFO, m->mem.handle, 0, BYTES);
	__u32 offset = 0;

	deposit(&d, m, true, GROUP);
	must(unbind(&self->m[1], GROUP));
	inject(&m->inj, &d);
	ASSERT_TRUE(until(m->inj.kern->state == BGDMA_FIFO_BLOCKED));
	must(unbind(m, GROUP));
	EXPECT_TRUE(until(cut_off(&at->n, &at->rec, &offset)));
	EXPECT_LT(0, offset);
	EXPECT_GT(BYTES, offset);
	EXPECT_EQ(BGDMA_E_GROUP, outcome(&m->inj, 0));
	EXPECT_EQ(NULL, packet(&self->m[3].rec));
}

static bool go_on;

static void *binds(void *arg)
{
	struct member *m = arg;

	while (load(&go_on)) {
		must(unbind(m, GROUP));
		must(bind_with(m, GROUP, EVERYBODY));
	}
	return NULL;
}

/* Every copy is whole or not there, and others get all of theirs. */
TEST_F(group, dma7_unbound_under_traffic)
{
	struct member *m = &self->m[0];
	pthread_t thread;
	__u32 i, at;

	store(&go_on, true);
	must(-pthread_create(&thread, NULL, binds, &self->m[2]));
	for (i = 0; i < 2000; i++) {
		struct bgdma_desc d = d_send(m, true, i);

		ASSERT_EQ(BGDMA_OK, run(&m->inj, &d));
		ASSERT_EQ(i, number_wait(&self->m[1].rec));
		ASSERT_EQ(i, number_wait(&self->m[3].rec));
		if (packet(&self->m[2].rec))
			ASSERT_EQ(i, number_wait(&self->m[2].rec));
	}
	store(&go_on, false);
	pthread_join(thread, NULL);
	for (at = 1; at < LINE; at++)
		EXPECT_EQ(NULL, packet(&self->m[at].rec));
}

/* ---- Long lines ------------------------------------------------------- */

/* Of a thousand nodes three are there: the gaps are passed by. */
TEST(dma7_gaps_of_a_long_line)
{
	static const __u32 ranks[] = { 5, 500, 1022 };
	static struct member m[3];
	struct bgdma_group_member who[3] = { 0 };
	struct bgdma_group_slot slots[S_COUNT];
	__u32 i, from;

	partition_new("1024x1x1", "");
	for (i = 0; i < 3; i++) {
		member_new(&m[i], ranks[i]);
		who[i].rank = ranks[i];
	}
	for (i = 0; i < 3; i++) {
		slots_of(&m[i], slots);
		must(bind_as(&m[i].n, GROUP, slots, S_COUNT, who, 3));
	}
	for (from = 0; from < 3; from++) {
		struct bgdma_desc d = d_inline(ranks[from] - 1, S_FIFO, &from,
					       sizeof(from));

		d.flags |= BGDMA_DESC_GROUP;
		d.route = BGDMA_ROUTE_DEPOSIT | BGDMA_ROUTE_XP;
		d.dst_ctx = htole16(GROUP);
		ASSERT_EQ(BGDMA_OK, run(&m[from].inj, &d));
		for (i = 0; i < 3; i++) {
			EXPECT_EQ(i != from, !!packet(&m[i].rec));
			if (i != from)
				EXPECT_EQ(from, number_wait(&m[i].rec));
		}
	}
	for (i = 0; i < 3; i++)
		node_close(&m[i].n);
}

TEST_HARNESS_MAIN
