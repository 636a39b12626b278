/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the tests of frames of data share: a context of theirs, and a flow of ours to
 * it. After kselftest_harness.h.
 */
#ifndef BGDMA_SELFTESTS_NETLINK_FLOW_H
#define BGDMA_SELFTESTS_NETLINK_FLOW_H

#include <sched.h>
#include <unistd.h>

#include "netlink_data.h"

FIXTURE(data) {
	struct link l;
	int sock;
	struct hello_frame hello;
	struct end e;
	struct region closed;	/* to all but its owner */
	struct data_frame f;
	struct ack_frame ack;	/* the last that came in */
};

FIXTURE_SETUP(data)
{
	ASSERT_EQ(0, unshare(CLONE_NEWNET));
	if (rt_veth())
		SKIP(return, "needs veth");
	ASSERT_EQ(0, line_to_us(&self->l, &self->sock, &self->hello, &self->e));
	region_new(&self->closed, &self->e.n, PAGE);
	ASSERT_EQ(0, region_free(&self->e.n, self->closed.handle));
	ASSERT_EQ(0, region_pin(&self->e.n, self->closed.p, PAGE, LOCAL_RW,
				&self->closed.handle));
	data_new(&self->f, 5, FIRST);
}

FIXTURE_TEARDOWN(data)
{
	close(self->sock);
	link_close(&self->l);
}

/* A third kernel, behind us, with the node before ours. */
static inline bool third_comes(struct link *l, int sock, uint64_t they)
{
	struct state_frame state;

	state_new(&state, PARTITION, US, 5, WE);
	state.state.peers = 2;
	state.state.peer[0] = they;
	state.state.peer[1] = US + 1;
	if (!send_state(sock, &state))
		return false;
	state_new(&state, PARTITION, US + 1, 5, WE - 1);
	state.state.peers = 1;
	state.state.peer[0] = US;
	return send_state(sock, &state) && until(way_to(l, WE - 1));
}

/* The code of the refusal of a frame, which was dealt with. */
#define REFUSED(code_) do { \
	ASSERT_TRUE(send_data(self->sock, &self->f)); \
	ASSERT_TRUE(dealt(self->sock, self->f.frame.flow, \
			  self->f.frame.psn + 1, &self->ack)); \
	ASSERT_EQ(1, self->ack.frame.packets); \
	EXPECT_EQ(code_, (int)self->ack.result[0].code); \
	EXPECT_EQ(self->f.packet[0].id, self->ack.result[0].id); \
} while (0)

#define LANDS() do { \
	ASSERT_TRUE(send_data(self->sock, &self->f)); \
	ASSERT_TRUE(dealt(self->sock, self->f.frame.flow, \
			  self->f.frame.psn + 1, &self->ack)); \
	EXPECT_EQ(0, self->ack.frame.packets); \
} while (0)

#endif /* BGDMA_SELFTESTS_NETLINK_FLOW_H */
