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

TEST(dma7_nodes_of_a_kernel_are_no_hops)
{
	struct timeval patience = { .tv_usec = 100000 };
	static struct hello_frame hello;
	static struct data_frame f;
	struct bgdma_desc d;
	static struct end e;
	struct link l;
	int sock;

	ASSERT_EQ(0, unshare(CLONE_NEWNET));
	if (rt_veth())
		SKIP(return, "needs veth");
	ASSERT_EQ(0, rt_set("veth0", true, 9000));
	ASSERT_EQ(0, rt_set("veth1", true, 9000));
	ASSERT_EQ(0, link_open(&l));
	sock = raw_socket();
	ASSERT_LE(0, sock);
	ASSERT_EQ(0, ring_and_link(&l, RING, FAR - 1));
	ASSERT_EQ(0, link_timeout(&l, 600000));
	hello_new(&hello, PARTITION, RING, US);
	hello.hello.run[0] = (struct bgdma_wire_run){ FAR, FAR };
	hello.hello.mtu = 9000;
	hello.hello.every = 60000;
	ASSERT_TRUE(come_up(&l, sock, &hello));
	ASSERT_TRUE(until(way_to(&l, FAR)));
	ASSERT_EQ(0, setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &patience,
				sizeof(patience)));
	end_new(&e, 0);
	d = d_put(FAR, e.mem.handle, 0, 3, 0, 1000);
	inject(&e.inj, &d);
	ASSERT_TRUE(next_frame(sock, BGDMA_FRAME_DATA, &f, sizeof(f)));
	EXPECT_EQ(0, f.frame.src_rank);
	EXPECT_EQ(FAR, f.frame.dst_rank);
	EXPECT_EQ(BGDMA_WIRE_HOPS_MAX - 1, f.frame.hops);
	link_close(&l);
	close(sock);
}

TEST_HARNESS_MAIN
