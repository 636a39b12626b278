/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Speaking to a kernel over a link as if we were another one: it has veth0, with
 * node 0 of a line of four; we have veth1, and the last node.
 */
#ifndef BGDMA_SELFTESTS_NETLINK_FORGED_H
#define BGDMA_SELFTESTS_NETLINK_FORGED_H

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>

#include "frame.h"
#include "netlink_util.h"
#include "netlink_veth.h"
#include "utils.h"

#define US	0x1122334455667788ULL	/* a kernel's number */
#define STATS	(BGDMA_A_LINK_STATS_MAX + 1)
#define DIM	4

/* A peer as a dump shows it; of several the last. */
struct peer {
	unsigned int n;
	uint32_t state;
	char text[192];
};

/* ---- Looking ------------------------------------------------------------- */

static inline void take_stats(struct nlattr **attrs, void *arg)
{
	struct nlattr *tb[STATS];
	uint64_t *stats = arg;
	int i;

	if (nla_parse_nested(tb, STATS - 1, attrs[BGDMA_A_LINK_STATS], NULL))
		return;
	for (i = 1; i < STATS; i++)
		stats[i] = tb[i] ? nla_get_u64(tb[i]) : 0;
}

static inline void get_stats(struct link *l, uint64_t *stats)
{
	struct answer a = { .each = take_stats, .arg = stats };

	ask(l, request(l, BGDMA_CMD_LINK_GET, NLM_F_DUMP), &a);
}

static inline void take_peer(struct nlattr **attrs, void *arg)
{
	struct peer *peer = arg;

	peer->n++;
	peer->state = nla_get_u32(attrs[BGDMA_A_PEER_STATE]);
	snprintf(peer->text, sizeof(peer->text), "%s",
		 nla_get_string(attrs[BGDMA_A_PEER_TEXT]));
}

static inline unsigned int get_peer(struct link *l, struct peer *peer)
{
	struct answer a = { .each = take_peer, .arg = peer };

	memset(peer, 0, sizeof(*peer));
	ask(l, request(l, BGDMA_CMD_PEER_GET, NLM_F_DUMP), &a);
	return peer->n;
}

static inline bool peer_is(struct link *l, uint32_t state)
{
	struct peer peer;

	return get_peer(l, &peer) && peer.state == state;
}

static inline bool counted(struct link *l, const uint64_t *before, int what,
			   unsigned int n)
{
	uint64_t now[STATS];

	get_stats(l, now);
	return now[what] - before[what] == n;
}

static inline void count_hop(struct nlattr **attrs, void *arg)
{
	if (attrs[BGDMA_A_ROUTE_HOP])
		++*(unsigned int *)arg;
}

/* Is there a way from node 0, at least its beginning? */
static inline bool way_to(struct link *l, uint32_t node)
{
	struct nl_msg *msg = request(l, BGDMA_CMD_ROUTE_GET, NLM_F_ACK);
	unsigned int hops = 0;
	struct answer a = { .each = count_hop, .arg = &hops };

	nla_put_string(msg, BGDMA_A_ROUTE_PARTITION, PARTITION);
	nla_put_u32(msg, BGDMA_A_ROUTE_FROM, 0);
	nla_put_u32(msg, BGDMA_A_ROUTE_TO, node);
	return !ask(l, msg, &a) && hops;
}

/* ---- Frames -------------------------------------------------------------- */

static inline bool send_from(int sock, uint8_t last, const void *frame, size_t bytes)
{
	uint8_t buffer[sizeof(struct ether_header) + 4096] = { 0 };
	struct ether_header *eth = (void *)buffer;

	memset(eth->ether_dhost, 0xff, ETH_ALEN);
	eth->ether_shost[0] = 2;
	eth->ether_shost[5] = last;
	eth->ether_type = htons(BGDMA_WIRE_ETHERTYPE);
	memcpy(eth + 1, frame, bytes);
	bytes += sizeof(*eth);
	return send(sock, buffer, bytes, 0) == (ssize_t)bytes;
}

static inline bool send_hello(int sock, struct hello_frame *f)
{
	hello_seal(f);
	return send_from(sock, 1, f, sizeof(*f));
}

static inline bool send_state(int sock, struct state_frame *f)
{
	state_seal(f);
	return send_from(sock, 1, f, sizeof(*f));
}

/* What the kernel calls itself: it says HELLO now and then. */
static inline uint64_t kernel_number(int sock)
{
	struct {
		struct ether_header eth;
		struct hello_frame f;
	} __attribute__((packed)) in;
	int i;

	for (i = 0; i < 100; i++) {
		if (recv(sock, &in, sizeof(in), 0) == sizeof(in) &&
		    in.f.frame.type == BGDMA_FRAME_HELLO &&
		    in.f.hello.kernel != US)
			return in.f.hello.kernel;
	}
	return 0;
}

static inline int raw_socket(void)
{
	struct sockaddr_ll at = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(BGDMA_WIRE_ETHERTYPE),
		.sll_ifindex = (int)if_nametoindex("veth1"),
	};
	int sock = socket(AF_PACKET, SOCK_RAW, htons(BGDMA_WIRE_ETHERTYPE));

	return bind(sock, (struct sockaddr *)&at, sizeof(at)) ? -1 : sock;
}

/* A ring of @dim nodes, of which those up to @last are the kernel's, and its link. */
static inline int ring_and_link(struct link *l, uint32_t dim, uint32_t last)
{
	const struct bgdma_run run = { 0, last };
	struct nl_msg *msg = request(l, BGDMA_CMD_PARTITION_NEW, NLM_F_ACK);
	struct answer a = { 0 };

	nla_put_string(msg, BGDMA_A_PARTITION_NAME, PARTITION);
	nla_put_u32(msg, BGDMA_A_PARTITION_DIM_X, dim);
	nla_put_u32(msg, BGDMA_A_PARTITION_DIM_Y, 1);
	nla_put_u32(msg, BGDMA_A_PARTITION_DIM_Z, 1);
	nla_put(msg, BGDMA_A_PARTITION_NODES, sizeof(run), &run);
	if (ask(l, msg, &a))
		return a.err;
	msg = request(l, BGDMA_CMD_LINK_NEW, NLM_F_ACK);
	nla_put_string(msg, BGDMA_A_LINK_PARTITION, PARTITION);
	nla_put_u32(msg, BGDMA_A_LINK_IFINDEX, if_nametoindex("veth0"));
	nla_put_u32(msg, BGDMA_A_LINK_HELLO_MS, 200);
	memset(&a, 0, sizeof(a));
	return ask(l, msg, &a);
}

static inline int partition_and_link(struct link *l)
{
	return ring_and_link(l, DIM, 0);
}

/* Who is not heard for so long is gone. */
static inline int link_timeout(struct link *l, uint32_t ms)
{
	struct nl_msg *msg = request(l, BGDMA_CMD_LINK_SET, NLM_F_ACK);
	struct answer a = { 0 };

	nla_put_string(msg, BGDMA_A_LINK_PARTITION, PARTITION);
	nla_put_u32(msg, BGDMA_A_LINK_IFINDEX, if_nametoindex("veth0"));
	nla_put_u32(msg, BGDMA_A_LINK_TIMEOUT_MS, ms);
	return ask(l, msg, &a);
}

/* From here on the kernel takes us for another kernel. */
static inline bool come_up(struct link *l, int sock, struct hello_frame *hello)
{
	hello->hello.heard = 1;
	hello->hello.hears[0] = kernel_number(sock);
	return send_hello(sock, hello) && until(peer_is(l, BGDMA_PEER_UP));
}

/* How many a test of random frames sends; BGDMA_TEST_FRAMES says another number. */
static inline unsigned int random_frames(void)
{
	const char *text = getenv("BGDMA_TEST_FRAMES");

	return text ? (unsigned int)strtoul(text, NULL, 10) : 20000 / slowness();
}

#endif /* BGDMA_SELFTESTS_NETLINK_FORGED_H */
