// SPDX-License-Identifier: GPL-2.0
/*
 * Frames about a link that nobody's kernel made: of another version, with fields
 * that lie, cut short, random. None has an effect but those that are right. See
 * netlink_forged.h.
 */
#include <sched.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "netlink_forged.h"

FIXTURE(forged) {
	struct link l;
	int sock;
	struct hello_frame hello;
	struct state_frame state;
	uint64_t before[STATS];
};

FIXTURE_SETUP(forged)
{
	ASSERT_EQ(0, unshare(CLONE_NEWNET));
	if (rt_veth())
		SKIP(return, "needs veth");
	ASSERT_EQ(0, rt_set("veth0", true, 1500));
	ASSERT_EQ(0, rt_set("veth1", true, 1500));
	ASSERT_EQ(0, link_open(&self->l));
	self->sock = raw_socket();
	ASSERT_LE(0, self->sock);
	ASSERT_EQ(0, partition_and_link(&self->l));
	hello_new(&self->hello, PARTITION, DIM, US);
	state_new(&self->state, PARTITION, US, 1, DIM - 1);
	get_stats(&self->l, self->before);
}

FIXTURE_TEARDOWN(forged)
{
	close(self->sock);
	link_close(&self->l);
}

#define EXPECT_COUNTED(what, n) \
	EXPECT_TRUE(until(counted(&self->l, self->before, \
				 BGDMA_A_LINK_STATS_##what, n)))

/* ---- HELLO --------------------------------------------------------------- */

TEST_F(forged, x1_another_version_is_told)
{
	struct peer peer;

	self->hello.frame.version = 2;
	ASSERT_TRUE(send_hello(self->sock, &self->hello));
	ASSERT_TRUE(until(peer_is(&self->l, BGDMA_PEER_VERSION)));
	get_peer(&self->l, &peer);
	EXPECT_STREQ("speaks version 2, we speak version 1", peer.text);
	/* Of such a frame nothing else is looked at, nor need it be there. */
	self->hello.frame.version = 3;
	ASSERT_TRUE(send_from(self->sock, 1, &self->hello, 4));
	EXPECT_TRUE(until(get_peer(&self->l, &peer) &&
			  !strcmp(peer.text,
				  "speaks version 3, we speak version 1")));
	/* When he speaks ours he is somebody else, who is well known. */
	self->hello.frame.version = BGDMA_WIRE_VERSION;
	ASSERT_TRUE(come_up(&self->l, self->sock, &self->hello));
	EXPECT_EQ(1, get_peer(&self->l, &peer));
}

TEST_F(forged, x1_one_that_is_right_is_heard_and_up)
{
	ASSERT_TRUE(send_hello(self->sock, &self->hello));
	EXPECT_TRUE(until(peer_is(&self->l, BGDMA_PEER_HEARD)));
	EXPECT_TRUE(come_up(&self->l, self->sock, &self->hello));
	EXPECT_TRUE(until(way_to(&self->l, DIM - 1)));
	/* Who does not hear us any more is not up. */
	self->hello.hello.heard = 0;
	ASSERT_TRUE(send_hello(self->sock, &self->hello));
	EXPECT_TRUE(until(peer_is(&self->l, BGDMA_PEER_HEARD)));
	EXPECT_TRUE(until(!way_to(&self->l, DIM - 1)));
}

TEST_F(forged, x1_a_hello_that_lies_is_nothing)
{
	struct hello_frame right = self->hello;
	struct bgdma_wire_hello *h = &self->hello.hello;
	unsigned int n = 0;
	struct peer peer;

#define LIE(lie) do { \
	self->hello = right; \
	lie; \
	ASSERT_TRUE(send_hello(self->sock, &self->hello)); \
	n++; \
} while (0)

	LIE(h->kernel = 0);
	LIE(h->name[0] = '\0');
	LIE(h->name[1] = '\033');
	LIE(h->name[1] = ' ');
	LIE(h->name[0] = '/');
	LIE(memset(h->name, 'p', sizeof(h->name)));
	LIE(h->dims[0] = 0);
	LIE(h->dims[2] = 0);
	LIE(h->dims[1] = 1025);
	LIE(h->dims[0] = 1024; h->dims[1] = 1024; h->dims[2] = 1024);
	LIE(h->torus = 8);
	LIE(h->mtu = 65536);
	LIE(h->mtu = 0xffffffff);
	LIE(h->every = 0);
	LIE(h->every = 60001);
	LIE(h->runs = 0);
	LIE(h->runs = BGDMA_WIRE_RUNS + 1);
	LIE(h->runs = 0xffffffff);
	LIE(h->runs = 2);
	LIE(h->run[0].last = DIM);
	LIE(h->run[0].last = 0xffffffff);
	LIE(h->run[0].first = 3; h->run[0].last = 2);
	LIE(h->heard = BGDMA_WIRE_HEARD + 1);
	LIE(h->heard = 0xffffffff);
	EXPECT_COUNTED(RX_MALFORMED, n);
	EXPECT_EQ(0, get_peer(&self->l, &peer));
	EXPECT_TRUE(come_up(&self->l, self->sock, &right));
}

TEST_F(forged, x1_without_the_key_nobody_speaks_for_another)
{
	struct hello_frame other = self->hello;
	struct peer peer;

	ASSERT_TRUE(come_up(&self->l, self->sock, &self->hello));
	other.hello.proof = 1;
	frame_seal(&other.frame);
	/* From his address, and from another. */
	ASSERT_TRUE(send_from(self->sock, 1, &other, sizeof(other)));
	ASSERT_TRUE(send_from(self->sock, 7, &other, sizeof(other)));
	ASSERT_TRUE(until(get_peer(&self->l, &peer) == 2));
	EXPECT_EQ(BGDMA_PEER_KEY, peer.state);
	EXPECT_TRUE(way_to(&self->l, DIM - 1));
}

TEST_F(forged, x1_a_kernel_may_have_two_devices_on_a_wire)
{
	struct peer peer;

	ASSERT_TRUE(come_up(&self->l, self->sock, &self->hello));
	hello_seal(&self->hello);
	ASSERT_TRUE(send_from(self->sock, 2, &self->hello,
			      sizeof(self->hello)));
	EXPECT_TRUE(until(get_peer(&self->l, &peer) == 2));
	EXPECT_EQ(BGDMA_PEER_UP, peer.state);
	/* Neither pushes the other out. */
	ASSERT_TRUE(send_hello(self->sock, &self->hello));
	usleep(50000);
	EXPECT_EQ(2, get_peer(&self->l, &peer));
	EXPECT_TRUE(way_to(&self->l, DIM - 1));
	/* Another kernel at his address is himself, started anew. */
	self->hello.hello.kernel = US + 2;
	ASSERT_TRUE(send_hello(self->sock, &self->hello));
	EXPECT_TRUE(until(counted(&self->l, self->before,
				  BGDMA_A_LINK_STATS_RX_FRAMES, 4)));
	EXPECT_EQ(2, get_peer(&self->l, &peer));
}

TEST_F(forged, x2_a_crowd_of_peers_has_an_end)
{
	struct hello_frame other = self->hello;
	struct peer peer;
	int i;

	other.hello.proof = 1;
	frame_seal(&other.frame);
	for (i = 0; i < 100; i++) {
		ASSERT_TRUE(send_from(self->sock, (uint8_t)(100 + i), &other,
				      sizeof(other)));
		usleep(1000);
	}
	EXPECT_TRUE(until(get_peer(&self->l, &peer) == BGDMA_WIRE_HEARD));
	/* Who has the key comes in all the same. */
	EXPECT_TRUE(come_up(&self->l, self->sock, &self->hello));
	EXPECT_EQ(BGDMA_WIRE_HEARD, get_peer(&self->l, &peer));
}

/* ---- STATE --------------------------------------------------------------- */

TEST_F(forged, x1_a_state_of_a_stranger_is_nothing)
{
	ASSERT_TRUE(send_state(self->sock, &self->state));
	EXPECT_COUNTED(RX_STRANGE, 1);
	EXPECT_FALSE(way_to(&self->l, DIM - 1));
}

TEST_F(forged, x1_a_state_that_lies_is_nothing)
{
	struct state_frame right;
	struct bgdma_wire_state *s = &self->state.state;
	unsigned int n = 0;

#undef LIE
#define LIE(lie) do { \
	self->state = right; \
	lie; \
	ASSERT_TRUE(send_state(self->sock, &self->state)); \
	n++; \
} while (0)

	/* Of a third kernel, next to the end of ours. */
	state_new(&right, PARTITION, US + 1, 5, DIM - 2);
	right.state.peers = 1;
	right.state.peer[0] = US;
	ASSERT_TRUE(come_up(&self->l, self->sock, &self->hello));
	LIE(s->kernel = 0);
	LIE(s->seq = 0);
	LIE(s->flags = 2);
	LIE(s->flags = 0xffffffff);
	LIE(s->peers = BGDMA_WIRE_PEERS + 1);
	LIE(s->peers = 0xffffffff);
	LIE(s->runs = 0);
	LIE(s->runs = BGDMA_WIRE_RUNS + 1);
	LIE(s->runs = 0xffffffff);
	LIE(s->runs = 2);
	LIE(s->run[0].last = DIM);
	LIE(s->run[0].first = 3);
	LIE(s->end[0].lost = 1);
	LIE(s->end[0].kernel = US);
	LIE((s->end[1].kernel = US, s->end[1].known = 1));
	EXPECT_COUNTED(RX_MALFORMED, n);
	right.state.proof = 1;
	frame_seal(&right.frame);
	ASSERT_TRUE(send_from(self->sock, 1, &right, sizeof(right)));
	EXPECT_COUNTED(RX_STRANGE, 1);
	EXPECT_FALSE(way_to(&self->l, DIM - 2));
}

TEST_F(forged, dma7_ways_follow_what_kernels_say)
{
	struct state_frame third;

	ASSERT_TRUE(come_up(&self->l, self->sock, &self->hello));
	self->state.state.peers = 2;
	self->state.state.peer[0] = self->hello.hello.hears[0];
	self->state.state.peer[1] = US + 1;
	ASSERT_TRUE(send_state(self->sock, &self->state));
	state_new(&third, PARTITION, US + 1, 5, DIM - 2);
	third.state.peers = 1;
	third.state.peer[0] = US;
	ASSERT_TRUE(send_state(self->sock, &third));
	EXPECT_TRUE(until(way_to(&self->l, DIM - 2)));
	/* An older one is not true any more. */
	third.state.seq = 4;
	third.state.run[0].first = 1;
	third.state.run[0].last = 1;
	ASSERT_TRUE(send_state(self->sock, &third));
	usleep(100000);
	EXPECT_TRUE(way_to(&self->l, DIM - 2));
	/* One that leaves does not come back, whatever is heard of it later. */
	third.state.seq = 6;
	third.state.flags = BGDMA_WIRE_STATE_BYE;
	ASSERT_TRUE(send_state(self->sock, &third));
	EXPECT_TRUE(until(!way_to(&self->l, DIM - 2)));
	third.state.seq = 7;
	third.state.flags = 0;
	third.state.run[0].first = DIM - 2;
	third.state.run[0].last = DIM - 2;
	ASSERT_TRUE(send_state(self->sock, &third));
	usleep(100000);
	EXPECT_FALSE(way_to(&self->l, DIM - 2));
	EXPECT_TRUE(way_to(&self->l, DIM - 1));
}

/* Of two who say that a node is theirs one has it, and the rest of both is theirs. */
TEST_F(forged, x1_nodes_that_two_have)
{
	struct state_frame third;

	ASSERT_TRUE(come_up(&self->l, self->sock, &self->hello));
	self->state.state.peers = 2;
	self->state.state.peer[0] = self->hello.hello.hears[0];
	self->state.state.peer[1] = US + 1;
	ASSERT_TRUE(send_state(self->sock, &self->state));
	state_new(&third, PARTITION, US + 1, 5, DIM - 3);
	third.state.run[0].last = DIM - 1;
	third.state.peers = 1;
	third.state.peer[0] = US;
	ASSERT_TRUE(send_state(self->sock, &third));
	EXPECT_TRUE(until(way_to(&self->l, DIM - 3)));
	EXPECT_TRUE(way_to(&self->l, DIM - 2));
	EXPECT_TRUE(way_to(&self->l, DIM - 1));
	/* Those of ours stay ours. */
	third.state.seq = 6;
	third.state.run[0].first = 0;
	third.state.run[0].last = DIM - 2;
	ASSERT_TRUE(send_state(self->sock, &third));
	usleep(100000);
	EXPECT_TRUE(until(way_to(&self->l, DIM - 2)));
	EXPECT_TRUE(way_to(&self->l, DIM - 1));
}

/* The same of three: one that has less of a claim than another takes nothing from it. */
TEST_F(forged, x1_nodes_that_three_have)
{
	static const struct { uint64_t kernel; uint32_t first, last; } says[] = {
		{ US + 1, 1, 2 }, { US + 3, 1, 3 }, { US + 2, 2, 2 },
	};
	struct state_frame other;
	unsigned int i;

	ASSERT_TRUE(come_up(&self->l, self->sock, &self->hello));
	/* No way leads to the last. */
	self->state.state.peers = 3;
	self->state.state.peer[0] = self->hello.hello.hears[0];
	self->state.state.peer[1] = US + 1;
	self->state.state.peer[2] = US + 3;
	ASSERT_TRUE(send_state(self->sock, &self->state));
	for (i = 0; i < ARRAY_SIZE(says); i++) {
		state_new(&other, PARTITION, says[i].kernel, 5, says[i].first);
		other.state.run[0].last = says[i].last;
		other.state.peers = 1;
		other.state.peer[0] = US;
		ASSERT_TRUE(send_state(self->sock, &other));
	}
	EXPECT_TRUE(until(way_to(&self->l, 1)));
	usleep(300000);
	for (i = 1; i < DIM; i++)
		EXPECT_TRUE(way_to(&self->l, i));
	EXPECT_FALSE(way_to(&self->l, 0));
}

/* ---- Any frame ----------------------------------------------------------- */

TEST_F(forged, heads_that_lie_are_nothing)
{
	struct hello_frame right = self->hello;
	struct bgdma_frame *f = &self->hello.frame;
	unsigned int n = 0;
	struct peer peer;

#undef LIE
#define LIE(lie) do { \
	self->hello = right; \
	lie; \
	ASSERT_TRUE(send_hello(self->sock, &self->hello)); \
	n++; \
} while (0)

	LIE(f->magic = 0);
	LIE(f->type = 0);
	LIE(f->type = BGDMA_FRAME_DATA);
	LIE(f->type = BGDMA_FRAME_ACK);
	LIE(f->type = BGDMA_FRAME_STATE);
	LIE(f->type = BGDMA_FRAME_TYPES);
	LIE(f->type = 255);
	LIE(f->flags = BGDMA_FRAME_FLAGS + 1);
	LIE(f->flags = 0xff);
	LIE(f->packets = 1);
	LIE(f->packets = 0xff);
	LIE(f->bytes = 1);
	LIE(f->bytes = 0xffffffff);
	/* The checksum of these is of what is there: it does not matter. */
	LIE(f->head--);
	LIE(f->head = sizeof(*f));
	LIE(f->head = 0);
	EXPECT_COUNTED(RX_MALFORMED, n);
	self->hello = right;
	hello_seal(&self->hello);
	f->crc ^= 1U << 31;
	ASSERT_TRUE(send_from(self->sock, 1, &self->hello, sizeof(right)));
	EXPECT_COUNTED(RX_DAMAGED, 1);
	EXPECT_EQ(0, get_peer(&self->l, &peer));
}

TEST_F(forged, cut_short_is_nothing)
{
	struct peer peer;
	size_t bytes;

	hello_seal(&self->hello);
	for (bytes = 0; bytes < sizeof(self->hello); bytes++) {
		ASSERT_TRUE(send_from(self->sock, 1, &self->hello, bytes));
		if (!(bytes % 64))
			usleep(1000);
	}
	EXPECT_COUNTED(RX_MALFORMED, sizeof(self->hello));
	EXPECT_EQ(0, get_peer(&self->l, &peer));
	/* What a device fills up with is not looked at. */
	ASSERT_TRUE(send_from(self->sock, 1, &self->hello, bytes));
	EXPECT_TRUE(until(peer_is(&self->l, BGDMA_PEER_HEARD)));
}

/* Anything at all, and anything with a checksum that is right. */
TEST_F_TIMEOUT(forged, random_frames_are_nothing, 3600)
{
	unsigned int rounds = random_frames(), i, seed = 1;
	union {
		struct hello_frame hello;
		struct state_frame state;
		struct bgdma_frame frame;
		uint8_t bytes[sizeof(struct state_frame)];
	} f;
	struct peer peer;

	ASSERT_TRUE(come_up(&self->l, self->sock, &self->hello));
	for (i = 0; i < rounds; i++) {
		unsigned int changes = 1 + (unsigned int)rand_r(&seed) % 8;

		state_new(&f.state, PARTITION, US, i, DIM - 1);
		if (i % 2)
			f.hello = self->hello;
		while (changes--)
			f.bytes[(unsigned int)rand_r(&seed) % sizeof(f)] ^=
				(uint8_t)(1 + rand_r(&seed) % 255);
		f.frame.magic = BGDMA_WIRE_MAGIC;
		if (f.frame.head > sizeof(f))
			f.frame.crc = i;
		else if (i % 8 < 4)
			frame_seal(&f.frame);
		else if (i % 2)
			hello_seal(&f.hello);
		else
			state_seal(&f.state);
		/* Too fast for veth: that is not what this is about. */
		while (!send_from(self->sock, i % 3 ? 1 : 9, &f, sizeof(f)))
			usleep(1000);
		if (!(i % 64))
			send_hello(self->sock, &self->hello);
	}
	usleep(100000);
	ASSERT_TRUE(send_hello(self->sock, &self->hello));
	EXPECT_TRUE(until(way_to(&self->l, DIM - 1)));
	EXPECT_GE(BGDMA_WIRE_HEARD, get_peer(&self->l, &peer));
}

TEST_HARNESS_MAIN
