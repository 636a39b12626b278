// SPDX-License-Identifier: GPL-2.0
/*
 * Classes of the combining network whose next member is behind a link: it is greeted
 * when the class is bound, so that its end, and that of its kernel, is found out where
 * nothing else was ever sent to it; and that it tells whether the class is broken.
 */
#include <sched.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "netlink_data.h"
#include "tree.h"

#define CTX	5
/* In the head of a packet on an edge: kernel/engine/tree.h. */
#define RANK_AT	12
#define CTX_AT	16
#define KIND_AT	18
#define BROKEN	2
#define LEFT	3
#define HELLO	4

FIXTURE(class) {
	struct link l;
	int sock;
	struct hello_frame hello;
	struct end e;
	struct data_frame f;
	struct ack_frame ack;
};

FIXTURE_SETUP(class)
{
	ASSERT_EQ(0, unshare(CLONE_NEWNET));
	if (rt_veth())
		SKIP(return, "needs veth");
	ASSERT_EQ(0, line_to_us(&self->l, &self->sock, &self->hello, &self->e));
	ack_new(&self->ack);
}

FIXTURE_TEARDOWN(class)
{
	close(self->sock);
	link_close(&self->l);
}

/* There is a frame of data for the first time: others are dropped. */
static bool to_read(int sock)
{
	struct {
		struct ether_header eth;
		struct bgdma_frame f;
	} __attribute__((packed)) in;

	while (recv(sock, &in, sizeof(in), MSG_PEEK | MSG_DONTWAIT) > 0) {
		if (in.f.type == BGDMA_FRAME_DATA &&
		    !(in.f.flags & BGDMA_FRAME_AGAIN))
			return true;
		(void)recv(sock, &in, sizeof(in), 0);
	}
	return false;
}

static bool next_packet(int sock, struct data_frame *f)
{
	return until(to_read(sock)) &&
	       next_frame(sock, BGDMA_FRAME_DATA, f, sizeof(*f));
}

/* What was not known to have arrived would be sent again by now. */
static void settle(void)
{
	usleep(300000);
}

/* Node 0 binds a class whose root is at ours; 0: it was greeted, in @f. */
static int greeted(struct node *n, int sock, struct data_frame *f)
{
	const struct bgdma_group_member who[] = {
		{ .rank = WE, .ctx = CTX, .incarnation = INC },
		{ .rank = n->at.rank, .ctx = n->at.ctx,
		  .incarnation = n->at.incarnation },
	};
	int err;

	err = class_bind(n, &(struct bgdma_class_bind){
		.number = CLASS, .instance = INSTANCE, .rank = 1,
		.member_count = 2, .members = (uintptr_t)who });
	if (err)
		return err;
	return next_frame(sock, BGDMA_FRAME_DATA, f, sizeof(*f)) ? 0 : -ETIME;
}

#define GREETED() \
	ASSERT_EQ(0, greeted(&self->e.n, self->sock, &self->f))

#define ANSWER(results) \
	ASSERT_TRUE(send_ack(self->sock, &self->f, self->f.frame.psn + 1, \
			     results, &self->ack))

/* The class is broken, by the root. */
#define BREAKS(code_) do { \
	struct bgdma_event e_; \
	\
	ASSERT_TRUE(event_wait(&self->e.n, BGDMA_EVENT_CLASS, &e_)); \
	EXPECT_EQ(code_, e_.code); \
	EXPECT_EQ(WE, e_.peer_rank); \
	EXPECT_EQ(CTX, e_.peer_ctx); \
	EXPECT_EQ(CLASS, e_.object); \
} while (0)

static bool events(const struct node *n)
{
	return load(&n->kctl->events_tail) != n->events_head;
}

/* ---- We are greeted ------------------------------------------------------- */

TEST_F(class, dp7_a_neighbour_behind_a_link_is_greeted_once)
{
	const struct bgdma_desc *d = &self->f.packet[0].desc;

	GREETED();
	EXPECT_EQ(1, self->f.frame.packets);
	EXPECT_EQ(WE, self->f.frame.dst_rank);
	EXPECT_EQ(0, self->f.packet[0].bytes);
	EXPECT_EQ(BGDMA_OP_TREE_ALLREDUCE, d->op);
	EXPECT_EQ(HELLO, d->u.inline_data[KIND_AT]);
	EXPECT_EQ(CLASS, d->class_prio);
	EXPECT_EQ(INSTANCE, d->epoch);
	EXPECT_EQ(CTX, d->dst_ctx);
	EXPECT_EQ(INC, d->cookie);
	ANSWER(0);
	/* What comes next is that it leaves. */
	ASSERT_TRUE(until(class_unbind(&self->e.n, CLASS, 0) == -EBUSY &&
			  to_read(self->sock)));
	ASSERT_TRUE(next_packet(self->sock, &self->f));
	EXPECT_EQ(LEFT, d->u.inline_data[KIND_AT]);
	ANSWER(0);
	EXPECT_TRUE(until(class_unbind(&self->e.n, CLASS, 0) != -EBUSY));
	EXPECT_FALSE(events(&self->e.n));
}

TEST_F(class, x3_one_that_is_not_there_any_more)
{
	GREETED();
	self->ack.result[0] = (struct bgdma_wire_result) {
		.id = self->f.packet[0].id, .psn = self->f.frame.psn,
		.code = BGDMA_E_NO_PEER,
	};
	ANSWER(1);
	BREAKS(BGDMA_E_PEER_DOWN);
}

/* All that it ever had to say was that it is there. */
TEST_F(class, x3_its_kernel_leaves)
{
	struct state_frame state;

	GREETED();
	ANSWER(0);
	settle();
	EXPECT_FALSE(events(&self->e.n));
	state_new(&state, PARTITION, US, 9, WE);
	state.state.flags = BGDMA_WIRE_STATE_BYE;
	ASSERT_TRUE(send_state(self->sock, &state));
	BREAKS(BGDMA_E_PEER_DOWN);
}

TEST_F(class, x3_its_kernel_is_not_heard_any_more)
{
	GREETED();
	ANSWER(0);
	settle();
	ASSERT_EQ(0, link_timeout(&self->l, 700));
	BREAKS(BGDMA_E_PEER_DOWN);
}

TEST_F(class, x3_its_kernel_answers_nothing)
{
	ASSERT_EQ(0, link_timeout(&self->l, 700));
	GREETED();
	EXPECT_TRUE(until(({
		send_hello(self->sock, &self->hello);
		usleep(20000);
		events(&self->e.n);
	})));
	BREAKS(BGDMA_E_TIMEOUT);
}

/* ---- We greet ------------------------------------------------------------- */

static void greet(struct data_frame *f, const struct node *n, uint32_t psn,
		  uint64_t whom)
{
	struct bgdma_desc d = {
		.op = BGDMA_OP_TREE_ALLREDUCE, .class_prio = CLASS,
		.inj_ctr = BGDMA_NONE, .rec_ctr = BGDMA_NONE,
		.dst_rank = n->at.rank, .dst_ctx = (uint16_t)n->at.ctx,
		.epoch = INSTANCE, .cookie = whom,
	};
	struct bgdma_wire_packet *p;

	d.u.inline_data[KIND_AT] = HELLO;
	data_new(f, 1U << 30 | 5, psn);
	f->frame.flow_ctx = CTX;
	p = add(f, &d, 0, 0, 0);
	memcpy(p->desc.u.inline_data, d.u.inline_data, sizeof(d.u.inline_data));
}

/* The code of the answer to what is in self->f. */
#define ANSWERED(code_) do { \
	ASSERT_TRUE(send_data(self->sock, &self->f)); \
	ASSERT_TRUE(dealt(self->sock, self->f.frame.flow, \
			  self->f.frame.psn + 1, &self->ack)); \
	EXPECT_EQ(code_, self->ack.frame.packets ? \
		  (int)self->ack.result[0].code : BGDMA_OK); \
} while (0)

TEST_F(class, dp7_who_is_greeted_need_not_have_bound_the_class)
{
	struct node *n = &self->e.n;

	greet(&self->f, n, FIRST, n->at.incarnation);
	ANSWERED(BGDMA_OK);
}

TEST_F(class, x3_who_came_after_is_not_who_is_greeted)
{
	struct node *n = &self->e.n;

	greet(&self->f, n, FIRST, n->at.incarnation + 1);
	ANSWERED(BGDMA_E_NO_PEER);
}

TEST_F(class, x3_who_is_not_there_is_not_greeted)
{
	struct node *n = &self->e.n;

	greet(&self->f, n, FIRST, n->at.incarnation);
	self->f.packet[0].desc.dst_ctx++;
	ANSWERED(BGDMA_E_NO_PEER);
}

/* It had not bound the class when it was told, and refused to hear of it. */
TEST_F(class, x3_who_binds_a_broken_class_is_told_once_more)
{
	const struct bgdma_desc *d = &self->f.packet[0].desc;
	struct node *n = &self->e.n;
	__u32 i;

	GREETED();
	ANSWER(0);
	EXPECT_EQ(-EBUSY, class_unbind(n, CLASS, BGDMA_CLASS_BREAK));
	ASSERT_TRUE(next_packet(self->sock, &self->f));
	EXPECT_EQ(BROKEN, d->u.inline_data[KIND_AT]);
	self->ack.result[0] = (struct bgdma_wire_result) {
		.id = self->f.packet[0].id, .psn = self->f.frame.psn,
		.code = BGDMA_E_CLASS,
	};
	ANSWER(1);
	greet(&self->f, n, FIRST, n->at.incarnation);
	ASSERT_TRUE(send_data(self->sock, &self->f));
	ASSERT_TRUE(next_packet(self->sock, &self->f));
	EXPECT_EQ(BROKEN, d->u.inline_data[KIND_AT]);
	EXPECT_EQ(BGDMA_E_CANCELLED, d->u.inline_data[KIND_AT + 1]);
	ack_new(&self->ack);
	ANSWER(0);
	/* Whoever greets again and again hears no more, and keeps nobody there. */
	for (i = 1; i <= 5; i++) {
		greet(&self->f, n, FIRST + i, n->at.incarnation);
		self->f.frame.first = FIRST;
		ANSWERED(BGDMA_OK);
	}
	EXPECT_FALSE(to_read(self->sock));
	EXPECT_TRUE(until(!class_unbind(n, CLASS, 0)));
	EXPECT_FALSE(to_read(self->sock));
}

/* ---- There is no room ------------------------------------------------------ */

/* Our part of a sum goes to the root. */
static int contribute(struct end *e, int sock, struct data_frame *f)
{
	const struct bgdma_desc d = {
		.op = BGDMA_OP_TREE_ALLREDUCE, .class_prio = CLASS,
		.inj_ctr = htole32(BGDMA_NONE), .rec_ctr = htole32(BGDMA_NONE),
		.length = htole32(8),
		.dispatch = htole16(BGDMA_TREE_COMBINE(BGDMA_TREE_ADD,
						       BGDMA_TREE_U64)),
		.u.at = { .src_region = htole32(e->mem.handle),
			  .dst_region = htole32(e->mem.handle) },
	};

	inject(&e->inj, &d);
	return next_packet(sock, f) ? 0 : -ETIME;
}

#define NO_ROOM(f) do { \
	ack_new(&self->ack); \
	self->ack.ack.state = BGDMA_WIRE_NOT_READY; \
	self->ack.ack.kind = BGDMA_KIND_CLASS; \
	self->ack.ack.object = CLASS; \
	ASSERT_TRUE(send_ack(self->sock, f, (f)->frame.psn, 0, &self->ack)); \
} while (0)

/* The root may wait for ever with what it has, if it does not hear that it is over. */
TEST_F(class, x3_who_has_no_room_is_told)
{
	const struct bgdma_desc *d = &self->f.packet[0].desc;
	struct node *n = &self->e.n;

	GREETED();
	ANSWER(0);
	ASSERT_EQ(0, contribute(&self->e, self->sock, &self->f));
	NO_ROOM(&self->f);
	settle();
	EXPECT_EQ(-EBUSY, class_unbind(n, CLASS, BGDMA_CLASS_BREAK));
	ASSERT_TRUE(next_packet(self->sock, &self->f));
	EXPECT_EQ(BROKEN, d->u.inline_data[KIND_AT]);
	ack_new(&self->ack);
	ANSWER(0);
	EXPECT_TRUE(until(!class_unbind(n, CLASS, 0)));
}

/* It was told behind what has no room: once more, and not whenever it says so. */
TEST_F(class, x3_who_has_no_room_is_told_once_more)
{
	const struct bgdma_desc *d = &self->f.packet[0].desc;
	struct node *n = &self->e.n;
	struct data_frame part;

	GREETED();
	ANSWER(0);
	ASSERT_EQ(0, contribute(&self->e, self->sock, &part));
	EXPECT_EQ(-EBUSY, class_unbind(n, CLASS, BGDMA_CLASS_BREAK));
	ASSERT_TRUE(next_packet(self->sock, &self->f));
	EXPECT_EQ(BROKEN, d->u.inline_data[KIND_AT]);
	EXPECT_EQ(part.frame.session, self->f.frame.session);
	NO_ROOM(&part);
	ASSERT_TRUE(next_packet(self->sock, &self->f));
	EXPECT_EQ(BROKEN, d->u.inline_data[KIND_AT]);
	EXPECT_NE(part.frame.session, self->f.frame.session);
	NO_ROOM(&self->f);
	settle();
	EXPECT_FALSE(to_read(self->sock));
	ack_new(&self->ack);
	ANSWER(0);
	EXPECT_TRUE(until(!class_unbind(n, CLASS, 0)));
}

/* The root says that the class was broken by a third one. */
static void say_broken(struct data_frame *f, const struct node *n, uint8_t code)
{
	const uint32_t rank = WE - 1;
	const uint16_t ctx = CTX + 1;
	uint8_t *head;

	greet(f, n, FIRST, 0);
	head = f->packet[0].desc.u.inline_data;
	memcpy(head + RANK_AT, &rank, sizeof(rank));
	memcpy(head + CTX_AT, &ctx, sizeof(ctx));
	head[KIND_AT] = BROKEN;
	head[KIND_AT + 1] = code;
}

#define HEARS(said_, code_) do { \
	struct bgdma_event e_; \
	\
	GREETED(); \
	ANSWER(0); \
	say_broken(&self->f, &self->e.n, said_); \
	ANSWERED(BGDMA_OK); \
	ASSERT_TRUE(event_wait(&self->e.n, BGDMA_EVENT_CLASS, &e_)); \
	EXPECT_EQ(code_, e_.code); \
	EXPECT_EQ(WE - 1, e_.peer_rank); \
	EXPECT_EQ(CTX + 1, e_.peer_ctx); \
} while (0)

/* Between that one and us nothing was lost. */
TEST_F(class, x3_an_outage_between_others_is_none_here)
{
	HEARS(BGDMA_E_TIMEOUT, BGDMA_E_ABORTED);
}

TEST_F(class, x3_a_dead_link_between_others_is_none_here)
{
	HEARS(BGDMA_E_LINK_DOWN, BGDMA_E_ABORTED);
}

TEST_F(class, x3_a_death_elsewhere_is_one_here)
{
	HEARS(BGDMA_E_PEER_DOWN, BGDMA_E_PEER_DOWN);
}

/* A greeting is nothing more: whoever sends it, a class is as it was. */
TEST_F(class, x2_a_greeting_changes_no_class)
{
	struct node *n = &self->e.n;
	uint32_t i;

	ASSERT_EQ(0, class_of_two(n, n));
	for (i = 0; i < 5; i++) {
		greet(&self->f, n, FIRST + i, n->at.incarnation + i % 2);
		self->f.frame.first = FIRST + i;
		ANSWERED(i % 2 ? BGDMA_E_NO_PEER : BGDMA_OK);
	}
	EXPECT_FALSE(events(n));
	EXPECT_EQ(0, class_unbind(n, CLASS, 0));
}

TEST_HARNESS_MAIN
