// SPDX-License-Identifier: GPL-2.0
/*
 * Frames of data that have several numbers, as they are on the wire, the order of
 * frames there, and how many wait for one that is missing: netlink_data.h.
 */
#include <sched.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "netlink_data.h"

FIXTURE(longer) {
	struct link l;
	int sock;
	struct hello_frame hello;
	struct end e;
	struct data_frame f;
	struct ack_frame ack;	/* the last that came in */
};

/* ---- Ground -------------------------------------------------------------- */

FIXTURE_SETUP(longer)
{
	ASSERT_EQ(0, unshare(CLONE_NEWNET));
	if (rt_veth())
		SKIP(return, "needs veth");
	ASSERT_EQ(0, line_to_us(&self->l, &self->sock, &self->hello, &self->e));
	data_new(&self->f, 5, FIRST);
}

FIXTURE_TEARDOWN(longer)
{
	close(self->sock);
	link_close(&self->l);
}

TEST_F(longer, a_frame_of_several_numbers_is_one)
{
	struct bgdma_desc d = put_to(&self->e.mem, 0, 8);

	add(&self->f, &d, 0, 8, 0x11);
	self->f.frame.more = 2;
	ASSERT_TRUE(send_data(self->sock, &self->f));
	ASSERT_TRUE(dealt(self->sock, 5, FIRST + 3, &self->ack));
	EXPECT_TRUE(all_bytes(self->e.mem.p, 8, 0x11));
	/* A part of it comes too late. */
	data_new(&self->f, 5, FIRST + 1);
	add(&self->f, &d, 0, 8, 0x22);
	ASSERT_TRUE(send_data(self->sock, &self->f));
	ASSERT_TRUE(dealt(self->sock, 5, FIRST + 3, &self->ack));
	EXPECT_TRUE(all_bytes(self->e.mem.p, 8, 0x11));
	/* Of one that has a part that is there already nothing is taken. */
	data_new(&self->f, 5, FIRST + 4);
	add(&self->f, &d, 0, 8, 0x44);
	ASSERT_TRUE(send_data(self->sock, &self->f));
	ASSERT_TRUE(dealt(self->sock, 5, FIRST + 3, &self->ack));
	data_new(&self->f, 5, FIRST + 3);
	add(&self->f, &d, 0, 8, 0x55);
	self->f.frame.more = 1;
	ASSERT_TRUE(send_data(self->sock, &self->f));
	ASSERT_TRUE(dealt(self->sock, 5, FIRST + 3, &self->ack));
	EXPECT_TRUE(all_bytes(self->e.mem.p, 8, 0x11));
	/* It comes in parts. */
	self->f.frame.more = 0;
	ASSERT_TRUE(send_data(self->sock, &self->f));
	ASSERT_TRUE(dealt(self->sock, 5, FIRST + 5, &self->ack));
	EXPECT_TRUE(all_bytes(self->e.mem.p, 8, 0x44));
	/* No frame has so many. */
	data_new(&self->f, 5, FIRST + 5);
	add(&self->f, &d, 0, 8, 0x66);
	self->f.frame.more = BGDMA_WIRE_SPAN;
	ASSERT_TRUE(send_data(self->sock, &self->f));
	data_new(&self->f, 5, FIRST + 5);
	add(&self->f, &d, 0, 8, 0x77);
	ASSERT_TRUE(send_data(self->sock, &self->f));
	ASSERT_TRUE(dealt(self->sock, 5, FIRST + 6, &self->ack));
	EXPECT_TRUE(all_bytes(self->e.mem.p, 8, 0x77));
}

/* T goes before D: they have flows of their own. */
TEST_F(longer, sp4_what_is_long_overtakes_nothing)
{
	struct bgdma_desc small = d_memfifo(WE, 0, BGDMA_NONE, 0, 8), big;
	struct region r;

	region_new(&r, &self->e.n, 65536);
	big = d_put(WE, r.handle, 0, 3, 0, 65536);
	small.flags |= BGDMA_DESC_INLINE;
	big.route |= BGDMA_ROUTE_ADAPTIVE;
	put_in(&self->e.inj, &small);
	put_in(&self->e.inj, &big);
	post(&self->e.inj);
	ASSERT_TRUE(next_frame(self->sock, BGDMA_FRAME_DATA, &self->f,
			       sizeof(self->f)));
	EXPECT_EQ(0, self->f.frame.flags & BGDMA_FRAME_ADAPTIVE);
	EXPECT_EQ(BGDMA_OP_MEMFIFO, self->f.packet[0].desc.op);
	ASSERT_TRUE(next_frame(self->sock, BGDMA_FRAME_DATA, &self->f,
			       sizeof(self->f)));
	EXPECT_TRUE(self->f.frame.flags & BGDMA_FRAME_ADAPTIVE);
	/* Long as it is, it says what it is made of. */
	EXPECT_LT(0, self->f.frame.more);
	EXPECT_LT(9000, self->f.frame.bytes);
}

/* ---- What waits for frames before it ------------------------------------- */

#define FLOWS	400	/* of 249 frames of 4 KiB, each of which takes some more */

/* The next that comes in is an acknowledgment in that flow; false when none comes. */
static bool acknowledged(int sock, uint32_t tag, struct ack_frame *ack)
{
	struct {
		struct ether_header eth;
		struct ack_frame ack;
	} __attribute__((packed)) in;

	while (recv(sock, &in, sizeof(in), 0) > 0) {
		if (in.ack.frame.type == BGDMA_FRAME_ACK &&
		    in.ack.frame.kernel != US && in.ack.frame.flow == tag) {
			*ack = in.ack;
			return true;
		}
	}
	return false;
}

/* Some acknowledgment in that flow has come. */
static bool answered(int sock, uint32_t tag, struct ack_frame *ack)
{
	return until(acknowledged(sock, tag, ack));
}

/* A frame that another is missing before: was it kept? Sent until that is told. */
static bool kept(int sock, struct data_frame *f, const struct bgdma_desc *d,
		 uint16_t ctx, uint32_t tag)
{
	static const uint8_t none[sizeof(((struct bgdma_wire_ack *)0)->sack)];
	static struct ack_frame ack;

	data_new(f, tag, FIRST + 1);
	f->frame.flow_ctx = ctx;
	add(f, d, 0, 8, 0x22);
	must(until(send_data(sock, f) && acknowledged(sock, tag, &ack)) ?
		     0 : -ETIME);
	return memcmp(ack.ack.sack, none, sizeof(none));
}

/*
 * As many flows as are kept of one context, each as much as there is room for: how many.
 * Frames are the socket's until they are dealt with.
 */
static uint32_t keep_all(int sock, struct data_frame *f, const struct region *mem)
{
	struct bgdma_desc d = put_to(mem, 0, 4096);
	int room = 512 << 20;
	uint32_t n, i;

	must(setsockopt(sock, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room)) ?
		     -errno : 0);
	for (n = 0; n < FLOWS && kept(sock, f, &d, 0, 100 + n); n++) {
		data_new(f, 1000 + n, FIRST + 1);
		add(f, &d, 0, 4096, 0x33);
		must(send_data(sock, f) ? 0 : -EIO);
		for (i = 2; i < 250; i++) {
			f->frame.psn = FIRST + i;
			frame_seal(&f->frame);
			must(send_sealed(sock, f) ? 0 : -EIO);
		}
	}
	return n;
}

TEST_F_TIMEOUT(longer, x2_what_is_kept_has_an_end, 300)
{
	struct bgdma_desc d = put_to(&self->e.mem, 0, 4096);
	struct data_frame *f = &self->f;
	uint32_t n = keep_all(self->sock, f, &self->e.mem), i;

	EXPECT_GT(FLOWS, n);
	/* However much one context has there, others have as much. */
	for (i = 0; i < 20; i++)
		EXPECT_TRUE(kept(self->sock, f, &d, 1, 2000 + i));
	EXPECT_FALSE(kept(self->sock, f, &d, 0, 100 + n));
	/* What is next is taken, and so all comes to its end. */
	for (i = 0; i < 3; i++) {
		data_new(f, 7, FIRST + i);
		add(f, &d, 0, 8, (uint8_t)(0x40 + i));
		ASSERT_TRUE(send_data(self->sock, f));
		ASSERT_TRUE(dealt(self->sock, 7, FIRST + i + 1, &self->ack));
		EXPECT_TRUE(all_bytes(self->e.mem.p, 8, (uint8_t)(0x40 + i)));
	}
}

#define HEADS	18000	/* frames of 4 KiB, each the next of its flow: more than is kept */

/*
 * frames that wait for room at their target are no more than others leave; they
 * come again when there is room.
 */
TEST_F_TIMEOUT(longer, x2_what_waits_for_room_is_let_go_of, 300)
{
	struct bgdma_desc d = put_to(&self->e.mem, 0, 4096), m;
	struct data_frame *f = &self->f;
	uint32_t i;

	m = d_memfifo(0, self->e.rec.id, BGDMA_NONE, 0, 4096);
	for (i = 0; i < HEADS; i++) {
		data_new(f, 100 + i, FIRST);
		add(f, &m, 0, 4096, 0x33);
		ASSERT_TRUE(send_data(self->sock, f));
		if (i % 16 == 0)
			ASSERT_TRUE(answered(self->sock, 100 + i, &self->ack));
	}
	EXPECT_EQ(BGDMA_WIRE_NOT_READY, self->ack.ack.state);
	for (i = 0; i < 4; i++)
		EXPECT_TRUE(kept(self->sock, f, &d, 1, i));
}

#define PAIRS	30000	/* flows of one context, of which each has such two frames */

/* A frame of nothing that is refused, and one that waits until its sender knows that. */
static bool send_two(int sock, struct data_frame *f, uint32_t tag,
		     const struct bgdma_desc *put)
{
	struct bgdma_desc gate = d_gate(0, BGDMA_OP_EPOCH_BEGIN, 0, 1, 0);
	struct bgdma_desc none = *put;

	none.dst_ctx = 99;
	none.length = 0;
	data_new(f, tag, FIRST);
	add(f, &none, 0, 0, 0);
	if (!send_data(sock, f))
		return false;
	data_new(f, tag, FIRST + 1);
	add(f, &gate, 0, 0, 0);
	add(f, put, 0, put->length, 0x33);
	return send_data(sock, f);
}

/* Nor are those more that wait for their sender, who says nothing. */
TEST_F_TIMEOUT(longer, x2_what_waits_for_its_sender_is_let_go_of, 300)
{
	struct bgdma_desc d = put_to(&self->e.mem, 0, 4096);
	struct data_frame *f = &self->f;
	uint32_t i;

	for (i = 0; i < PAIRS; i++) {
		ASSERT_TRUE(send_two(self->sock, f, 100 + i, &d));
		if (i % 16 == 0)
			ASSERT_TRUE(dealt(self->sock, 100 + i, FIRST + 1, &self->ack));
	}
	EXPECT_EQ(1, self->ack.frame.packets);
	for (i = 0; i < 4; i++)
		EXPECT_TRUE(kept(self->sock, f, &d, 1, i));
	/* Who says that he knows has it delivered, however much waits. */
	ASSERT_TRUE(send_two(self->sock, f, 7, &d));
	ASSERT_TRUE(dealt(self->sock, 7, FIRST + 1, &self->ack));
	f->frame.first = FIRST + 1;
	ASSERT_TRUE(send_data(self->sock, f));
	EXPECT_TRUE(dealt(self->sock, 7, FIRST + 2, &self->ack));
	EXPECT_TRUE(all_bytes(self->e.mem.p, 4096, 0x33));
}

/* In a partition of its own, in a network namespace of its own. */
static int keep_apart(void *arg)
{
	struct hello_frame hello;
	struct data_frame f;
	struct link l;
	struct end e;
	int sock;

	if (unshare(CLONE_NEWNET) || rt_veth() ||
	    line_to_us(&l, &sock, &hello, &e))
		return 1;
	*(volatile uint32_t *)arg = 1 + keep_all(sock, &f, &e.mem);
	return pause();
}

/* How many flows does one keep that comes now, and goes? */
static uint32_t keeps_apart(volatile uint32_t *n)
{
	pid_t pid;

	*n = 0;
	pid = start_child(keep_apart, (void *)n);
	must(until(*n) || until(*n) ? 0 : -ETIME);
	kill_child(pid, SIGKILL);
	return *n;
}

#define APART	4

FIXTURE(apart) {
	pid_t pid[APART];
	volatile uint32_t *n;	/* flows of each, and one */
};

FIXTURE_SETUP(apart)
{
	self->n = shared(APART * sizeof(*self->n));
}

FIXTURE_TEARDOWN(apart)
{
}

/* One alone keeps a quarter of what all may; the last has half of what is left. */
TEST_F_TIMEOUT(apart, x2_what_all_partitions_keep_has_an_end, 300)
{
	volatile uint32_t *n = self->n;
	uint32_t most;
	int i;

	for (i = 0; i < APART; i++) {
		self->pid[i] = start_child(keep_apart, (void *)&n[i]);
		EXPECT_TRUE(until(n[i]) || until(n[i]));
		TH_LOG("%u flows", n[i]);
	}
	EXPECT_LT(4, n[0]);
	EXPECT_LT(n[APART - 1], n[0] * 3 / 4);
	most = n[0];
	while (i--)
		kill_child(self->pid[i], SIGKILL);
	/* Of what is gone nothing is kept, before long. */
	EXPECT_TRUE(until(keeps_apart(&n[0]) >= most));
}

TEST_HARNESS_MAIN
