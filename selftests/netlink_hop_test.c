// SPDX-License-Identifier: GPL-2.0
/*
 * A kernel between two others passes on what they make up: whatever a device, a socket
 * or a neighbour says of a frame, it goes on as it is, or not at all.
 */
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <linux/virtio_net.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "netlink_data.h"

#define THEY	(US + 1)	/* the kernel behind veth2 */
#define BEHIND	1		/* its node, next to theirs as ours is */

FIXTURE(hop) {
	struct link l;
	int sock;		/* ours, at veth1 */
	int other;		/* at veth3 */
	struct hello_frame hello;
	struct end e;
	struct data_frame f;
};

static int raw_at(const char *dev, int protocol)
{
	struct sockaddr_ll at = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons((uint16_t)protocol),
		.sll_ifindex = (int)if_nametoindex(dev),
	};
	struct timeval patience = { .tv_usec = 100000 };
	int sock = socket(AF_PACKET, SOCK_RAW, at.sll_protocol);

	if (bind(sock, (struct sockaddr *)&at, sizeof(at)) ||
	    setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)))
		return -1;
	return sock;
}

static int link_on(struct link *l, const char *dev)
{
	struct nl_msg *msg = request(l, BGDMA_CMD_LINK_NEW, NLM_F_ACK);
	struct answer a = { 0 };

	nla_put_string(msg, BGDMA_A_LINK_PARTITION, PARTITION);
	nla_put_u32(msg, BGDMA_A_LINK_IFINDEX, if_nametoindex(dev));
	nla_put_u32(msg, BGDMA_A_LINK_HELLO_MS, 200);
	nla_put_u32(msg, BGDMA_A_LINK_TIMEOUT_MS, 600000);
	return ask(l, msg, &a);
}

FIXTURE_SETUP(hop)
{
	struct hello_frame hello;

	ASSERT_EQ(0, unshare(CLONE_NEWNET));
	if (rt_veth())
		SKIP(return, "needs veth");
	ASSERT_EQ(0, line_to_us(&self->l, &self->sock, &self->hello, &self->e));
	ASSERT_EQ(0, rt_veth());
	ASSERT_EQ(0, rt_set("veth2", true, 9000));
	ASSERT_EQ(0, rt_set("veth3", true, 9000));
	self->other = raw_at("veth3", BGDMA_WIRE_ETHERTYPE);
	ASSERT_LE(0, self->other);
	ASSERT_EQ(0, link_on(&self->l, "veth2"));
	hello_new(&hello, PARTITION, DIM, THEY);
	hello.hello.mtu = 9000;
	hello.hello.every = 60000;
	hello.hello.run[0].first = BEHIND;
	hello.hello.run[0].last = BEHIND;
	ASSERT_TRUE(come_up(&self->l, self->other, &hello));
	ASSERT_TRUE(until(way_to(&self->l, BEHIND)));
}

FIXTURE_TEARDOWN(hop)
{
	close(self->other);
	close(self->sock);
	link_close(&self->l);
}

struct counts {
	uint32_t ifindex;
	uint64_t stats[STATS];
};

static void take_counts(struct nlattr **attrs, void *arg)
{
	struct counts *c = arg;

	if (nla_get_u32(attrs[BGDMA_A_LINK_IFINDEX]) == c->ifindex)
		take_stats(attrs, c->stats);
}

/* What the link has counted where our frames come in. */
static uint64_t count_of(struct link *l, int what)
{
	struct counts c = { .ifindex = if_nametoindex("veth0") };
	struct answer a = { .each = take_counts, .arg = &c };

	must(ask(l, request(l, BGDMA_CMD_LINK_GET, NLM_F_DUMP), &a));
	return c.stats[what];
}

/* One from us to the node behind, by theirs. */
static void frame_behind(struct data_frame *f, uint32_t psn, uint32_t bytes)
{
	struct bgdma_desc d = d_put(BEHIND, BGDMA_NONE, 0, 3, 0, bytes);

	data_new(f, 5, psn);
	f->frame.dst_rank = BEHIND;
	f->frame.hops = 8;
	add(f, &d, 0, bytes, 0xaa);
}

/* It comes as we made it, but for what a hop changes. */
static bool comes_behind(int sock, const struct data_frame *f)
{
	uint8_t in[sizeof(struct ether_header) + sizeof(*f)];
	const struct bgdma_frame *is =
		(void *)(in + sizeof(struct ether_header));
	__u64 end = now_ns() + PATIENCE_NS;

	while (now_ns() < end) {
		ssize_t got = recv(sock, in, sizeof(in), 0);

		got -= (ssize_t)sizeof(struct ether_header);
		if (got < (ssize_t)sizeof(*is) || is->type != BGDMA_FRAME_DATA ||
		    is->psn != f->frame.psn)
			continue;
		return (size_t)got == f->frame.head + f->frame.bytes &&
		       is->crc == f->frame.crc &&
		       !memcmp((const uint8_t *)is + is->head, f->payload,
			       f->frame.bytes);
	}
	return false;
}

/* ---- What a socket says of a frame --------------------------------------- */

static int set_sums(const char *dev, uint32_t on)
{
	struct ethtool_value value = { .cmd = ETHTOOL_STXCSUM, .data = on };
	struct ifreq req = { .ifr_data = (void *)&value };
	int sock = socket(AF_INET, SOCK_DGRAM, 0), err;

	must(snprintf(req.ifr_name, sizeof(req.ifr_name), "%s", dev) > 0 ?
	     0 : -EINVAL);
	err = ioctl(sock, SIOCETHTOOL, &req);
	close(sock);
	return err;
}

/* @all bytes, of which the first are the frame, with words about them for the kernel. */
static bool send_with(int sock, const struct virtio_net_hdr *words,
		      const struct data_frame *f, size_t all)
{
	static uint8_t out[sizeof(*words) + sizeof(struct ether_header) + 8192];
	struct ether_header *eth = (void *)(out + sizeof(*words));

	memset(out, 0, sizeof(out));
	memcpy(out, words, sizeof(*words));
	memset(eth->ether_dhost, 0xff, ETH_ALEN);
	eth->ether_shost[0] = 2;
	eth->ether_shost[5] = 1;
	eth->ether_type = htons(BGDMA_WIRE_ETHERTYPE);
	memcpy(eth + 1, f, f->frame.head);
	memcpy((uint8_t *)(eth + 1) + f->frame.head, f->payload, f->frame.bytes);
	all += sizeof(*words) + sizeof(*eth);
	return send(sock, out, all, 0) == (ssize_t)all;
}

static void seal(struct data_frame *f)
{
	f->frame.head = (uint16_t)(sizeof(f->frame) +
				   f->frame.packets * sizeof(f->packet[0]));
	f->frame.sum = sum_of(f);
	frame_seal(&f->frame);
}

/* That somebody is to make a checksum, behind its end: it is as long as it says. */
TEST_F(hop, x2_a_checksum_that_is_to_be_made_behind_the_end)
{
	struct virtio_net_hdr words = {
		.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
		.csum_start = sizeof(struct ether_header) + 300,
		.csum_offset = 16,
	};
	int on = 1, sock = raw_at("veth1", 0);

	ASSERT_LE(0, sock);
	ASSERT_EQ(0, setsockopt(sock, SOL_PACKET, PACKET_VNET_HDR, &on, sizeof(on)));
	ASSERT_EQ(0, set_sums("veth2", 0));
	frame_behind(&self->f, FIRST, 0);
	seal(&self->f);
	ASSERT_TRUE(send_with(sock, &words, &self->f, 400));
	EXPECT_TRUE(comes_behind(self->other, &self->f));
	/* Within its end it is not made, either. */
	frame_behind(&self->f, FIRST + 1, 500);
	seal(&self->f);
	ASSERT_TRUE(send_with(sock, &words, &self->f, 1000));
	EXPECT_TRUE(comes_behind(self->other, &self->f));
	close(sock);
}

/* ---- What devices say ---------------------------------------------------- */

/* When it came in is not when it is to leave, as a queue there would take it. */
TEST_F(hop, x1_a_queue_that_looks_at_time_lets_it_pass)
{
	int on = 1, sock = socket(AF_INET, SOCK_DGRAM, 0);
	uint32_t i;

	if (system("/usr/bin/tc qdisc replace dev veth2 root fq"))
		SKIP(return, "needs sch_fq");
	/* While anybody asks for it all that comes in is stamped. */
	ASSERT_EQ(0, setsockopt(sock, SOL_SOCKET, SO_TIMESTAMP, &on, sizeof(on)));
	usleep(100000);
	for (i = 0; i < 3; i++) {
		frame_behind(&self->f, FIRST + i, 100);
		ASSERT_TRUE(send_data(self->sock, &self->f));
		EXPECT_TRUE(comes_behind(self->other, &self->f));
	}
	close(sock);
}

/* What is longer than the next link takes does not get to its device. */
TEST_F(hop, x2_too_long_for_the_next_link)
{
	uint64_t before = count_of(&self->l, BGDMA_A_LINK_STATS_NO_WAY);

	ASSERT_EQ(0, rt_set("veth2", true, 1500));
	frame_behind(&self->f, FIRST, 3000);
	ASSERT_TRUE(send_data(self->sock, &self->f));
	EXPECT_TRUE(until(count_of(&self->l, BGDMA_A_LINK_STATS_NO_WAY) ==
			  before + 1));
	/* Just as long as that goes on. */
	frame_behind(&self->f, FIRST + 1, 1500 - sizeof(self->f.frame) -
		     sizeof(self->f.packet[0]));
	ASSERT_TRUE(send_data(self->sock, &self->f));
	EXPECT_TRUE(comes_behind(self->other, &self->f));
	frame_behind(&self->f, FIRST + 2, self->f.frame.bytes + 1);
	ASSERT_TRUE(send_data(self->sock, &self->f));
	EXPECT_TRUE(until(count_of(&self->l, BGDMA_A_LINK_STATS_NO_WAY) ==
			  before + 2));
}

TEST_HARNESS_MAIN
