// SPDX-License-Identifier: GPL-2.0
/*
 * A way by more nodes of a kernel than there may be kernels on it.
 */
#include <sched.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "netlink_data.h"

#define RING	600
#define FAR	299	/* ours, behind all of theirs; the other half is nowhere */

FIXTURE(far) {
	struct link l;
	int sock;
};

FIXTURE_SETUP(far)
{
	ASSERT_EQ(0, unshare(CLONE_NEWNET));
	if (rt_veth())
		SKIP(return, "needs veth");
	ASSERT_EQ(0, rt_set("veth0", true, 9000));
	ASSERT_EQ(0, rt_set("veth1", true, 9000));
	ASSERT_EQ(0, link_open(&self->l));
	self->sock = raw_socket();
	ASSERT_LE(0, self->sock);
}

FIXTURE_TEARDOWN(far)
{
	close(self->sock);
	link_close(&self->l);
}

#define OTHER	0x99ULL		/* a kernel behind us */
#define HOPS	9

/* What comes by, sooner or later: with fewer hops than we sent it. */
static bool next_frame_of(int sock, uint32_t psn, struct data_frame *f)
{
	__u64 end = now_ns() + PATIENCE_NS;

	while (now_ns() < end &&
	       next_frame(sock, BGDMA_FRAME_DATA, f, sizeof(*f))) {
		if (f->frame.psn == psn && f->frame.hops < HOPS)
			return true;
	}
	return false;
}

/*
 * A peer that has some nodes of a partition, of which they have others: both ends of
 * a veth are in this network namespace.
 */
static bool neighbour(struct link *l, int sock, const uint32_t *dims,
		      uint32_t torus, const struct bgdma_run *theirs, size_t bytes,
		      uint32_t ours, uint32_t last)
{
	struct timeval patience = { .tv_usec = 100000 };
	static struct hello_frame hello;
	struct answer a = { 0 };
	struct nl_msg *msg;

	msg = request(l, BGDMA_CMD_PARTITION_NEW, NLM_F_ACK);
	nla_put_string(msg, BGDMA_A_PARTITION_NAME, PARTITION);
	nla_put_u32(msg, BGDMA_A_PARTITION_DIM_X, dims[0]);
	nla_put_u32(msg, BGDMA_A_PARTITION_DIM_Y, dims[1]);
	nla_put_u32(msg, BGDMA_A_PARTITION_DIM_Z, dims[2]);
	nla_put_u32(msg, BGDMA_A_PARTITION_TORUS, torus);
	nla_put(msg, BGDMA_A_PARTITION_NODES, (int)bytes, theirs);
	must(ask(l, msg, &a));
	msg = request(l, BGDMA_CMD_LINK_NEW, NLM_F_ACK);
	nla_put_string(msg, BGDMA_A_LINK_PARTITION, PARTITION);
	nla_put_u32(msg, BGDMA_A_LINK_IFINDEX, if_nametoindex("veth0"));
	nla_put_u32(msg, BGDMA_A_LINK_HELLO_MS, 200);
	must(ask(l, msg, &a));
	must(link_timeout(l, 600000));
	hello_new(&hello, PARTITION, 1, US);
	memcpy(hello.hello.dims, dims, sizeof(hello.hello.dims));
	hello.hello.torus = torus;
	hello.hello.run[0] = (struct bgdma_wire_run){ ours, last };
	hello.hello.mtu = 9000;
	hello.hello.every = 60000;
	/* To ask for the way has it made. */
	return come_up(l, sock, &hello) && until(way_to(l, ours)) &&
	       !setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &patience,
			   sizeof(patience));
}

TEST_F(far, dma7_nodes_of_a_kernel_are_no_hops)
{
	const uint32_t dims[] = { RING, 1, 1 };
	const struct bgdma_run theirs = { 0, FAR - 1 };
	static struct data_frame f;
	struct bgdma_desc d;
	static struct end e;

	ASSERT_TRUE(neighbour(&self->l, self->sock, dims, 7, &theirs,
			      sizeof(theirs), FAR, FAR));
	end_new(&e, 0);
	d = d_put(FAR, e.mem.handle, 0, 3, 0, 1000);
	inject(&e.inj, &d);
	ASSERT_TRUE(next_frame(self->sock, BGDMA_FRAME_DATA, &f, sizeof(f)));
	EXPECT_EQ(0, f.frame.src_rank);
	EXPECT_EQ(FAR, f.frame.dst_rank);
	EXPECT_EQ(BGDMA_WIRE_HOPS_MAX - 1, f.frame.hops);
}

static bool send_by(int sock, uint32_t at, uint32_t dst, uint8_t hops,
		    uint8_t flags, uint32_t number, struct data_frame *f)
{
	data_new(f, 5, number);
	add(f, NULL, 0, 0, 0);
	f->frame.kernel = OTHER;
	f->frame.flags = flags;
	f->frame.at = at;
	f->frame.hops = hops;
	f->frame.dst_rank = dst;
	f->frame.src_rank = dst;
	return send_data(sock, f);
}

/* To our node, from one of theirs on, by which it comes back to us. */
static bool passes(int sock, uint32_t at, uint32_t dst, uint8_t flags)
{
	static uint32_t psn = FIRST;
	struct data_frame f, back;

	return send_by(sock, at, dst, HOPS, flags, ++psn, &f) &&
	       next_frame_of(sock, psn, &back) &&
	       back.frame.at == dst && back.frame.hops == HOPS - 1 &&
	       back.frame.crc == f.frame.crc;
}

/* Whoever has ways lead round and round: each of a frame's hops is one less. */
TEST_F(far, x2_frames_do_not_go_round_for_ever)
{
	const uint32_t dims[] = { RING, 1, 1 };
	const struct bgdma_run theirs = { 0, FAR - 1 };
	struct data_frame f;

	ASSERT_TRUE(neighbour(&self->l, self->sock, dims, 7, &theirs,
			      sizeof(theirs), FAR, FAR));
	ASSERT_TRUE(send_by(self->sock, 0, FAR, 0, 0, FIRST, &f));
	ASSERT_TRUE(send_by(self->sock, 0, FAR, 1, 0, FIRST + 1, &f));
	do {
		ASSERT_TRUE(next_frame(self->sock, BGDMA_FRAME_DATA, &f,
				       sizeof(f)));
		/* The other would have come before; what we sent is seen, too. */
		EXPECT_FALSE(f.frame.psn == FIRST && f.frame.at == FAR);
	} while (f.frame.psn != FIRST + 1 || f.frame.at != FAR);
	EXPECT_EQ(0, f.frame.hops);
}

/* Too large for ways round: straight on by whole runs, adaptive ones node by node. */
TEST_F(far, dma7_by_a_million_nodes)
{
	const uint32_t dims[] = { 1024, 1024, 1 }, last = 1024 * 1024 - 1;
	const uint32_t from[] = { 0, 1, 1023, 1024, 512 * 1024 + 512, last - 1 };
	const struct bgdma_run theirs = { 0, last - 1 };
	unsigned int i;

	ASSERT_TRUE(neighbour(&self->l, self->sock, dims, 0, &theirs,
			      sizeof(theirs), last, last));
	for (i = 0; i < ARRAY_SIZE(from); i++) {
		EXPECT_TRUE(passes(self->sock, from[i], last, 0))
			TH_LOG("from %u", from[i]);
		EXPECT_TRUE(passes(self->sock, from[i], last,
				   BGDMA_FRAME_ADAPTIVE))
			TH_LOG("adaptive from %u", from[i]);
	}
}

/* In rows with holes: where the way along X is closed it goes on along Y, and so on. */
TEST_F(far, dma7_past_holes)
{
	const uint32_t dims[] = { 1024, 64, 2 };
	struct bgdma_run theirs[61];
	uint32_t i, ours = 59 * 1024 + 600;

	/* Row i up to column i; the last one up to the node before ours. */
	for (i = 0; i < 61; i++)
		theirs[i] = (struct bgdma_run){ i * 1024, i * 1024 + i };
	theirs[59].last = ours - 1;
	ASSERT_TRUE(neighbour(&self->l, self->sock, dims, 0, theirs,
			      sizeof(theirs), ours, ours));
	for (i = 0; i < 59; i++) {
		EXPECT_TRUE(passes(self->sock, i * 1024, ours, 0))
			TH_LOG("from row %u", i);
	}
}

/* The other half of the ring is nowhere, so what leads nearer is counted out. */
TEST_F(far, dma7_by_nodes_one_by_one)
{
	const uint32_t dims[] = { RING, 1, 1 };
	const struct bgdma_run theirs = { 0, FAR - 1 };
	int i;

	ASSERT_TRUE(neighbour(&self->l, self->sock, dims, 7, &theirs,
			      sizeof(theirs), FAR, FAR));
	for (i = 0; i < 20; i++)
		EXPECT_TRUE(passes(self->sock, i, FAR,
				   i % 2 ? BGDMA_FRAME_ADAPTIVE : 0));
}

#define OURS	100
#define BEHIND	(FAR + 2)	/* from here on the other way round is shorter */

/* Mark what has come back; none for a while: that was all. */
static void take_back(int sock, bool *came)
{
	uint8_t in[sizeof(struct ether_header) + 4096];
	const struct bgdma_frame *f =
		(void *)(in + sizeof(struct ether_header));

	while (recv(sock, in, sizeof(in), 0) > 0) {
		if (f->type == BGDMA_FRAME_DATA && f->kernel == OTHER &&
		    f->hops < HOPS && f->dst_rank - FAR < OURS)
			came[f->dst_rank - FAR] = true;
	}
}

/* Each needs distances of its own, and they are wanted all at once. */
TEST_F(far, dma7_round_to_many_at_once)
{
	const uint32_t dims[] = { RING, 1, 1 };
	const struct bgdma_run theirs = { 0, FAR - 1 };
	bool came[OURS] = { false };
	uint32_t dst, missing = OURS;
	__u64 end = now_ns() + PATIENCE_NS;
	struct data_frame f;

	ASSERT_TRUE(neighbour(&self->l, self->sock, dims, 7, &theirs,
			      sizeof(theirs), FAR, FAR + OURS - 1));
	while (missing && now_ns() < end) {
		missing = 0;
		for (dst = BEHIND; dst < FAR + OURS; dst++) {
			if (came[dst - FAR])
				continue;
			missing++;
			ASSERT_TRUE(send_by(self->sock, 0, dst, HOPS, 0, dst,
					    &f));
		}
		take_back(self->sock, came);
	}
	EXPECT_EQ(0, missing);
}

TEST_HARNESS_MAIN
