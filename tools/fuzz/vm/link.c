// SPDX-License-Identifier: GPL-2.0
/*
 * Links: half of the partition lives in another network namespace, behind a pair of
 * veth. Requests about them, what happens to the devices, and frames that nobody
 * sent: changed copies of those that went by, or made of nothing.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "../../../kernel/fabric/wire.h"
#include "../../../selftests/frame.h"
#include "../../../selftests/netlink_util.h"
#include "../../../selftests/netlink_veth.h"
#include "machine.h"

#define KERNELS		2
#define FRAME_MAX	2048
#define KEPT		8

static int space[KERNELS] = { -1, -1 }, sock[KERNELS], control[KERNELS];
static int ifindex[KERNELS];

static int here(void)
{
	return (int)must(open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC));
}

static bool enter(int kernel)
{
	return space[kernel] >= 0 && !setns(space[kernel], CLONE_NEWNET);
}

void link_enter(__u32 rank)
{
	enter(rank >= LINK_RANK);
}

void link_leave(void)
{
	enter(0);
}

/* ---- Ground -------------------------------------------------------------- */

static int raw_socket(int kernel)
{
	struct sockaddr_ll at = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(BGDMA_WIRE_ETHERTYPE),
		.sll_ifindex = ifindex[kernel],
	};
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK,
			htons(BGDMA_WIRE_ETHERTYPE));

	must(bind(fd, (struct sockaddr *)&at, sizeof(at)) ? -errno : 0);
	return fd;
}

static void kernel_prepare(int kernel)
{
	const char *dev = kernel ? "veth1" : "veth0";

	must(rt_set(dev, true, 1500) ? -EIO : 0);
	ifindex[kernel] = (int)if_nametoindex(dev);
	sock[kernel] = raw_socket(kernel);
	control[kernel] = (int)must(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC,
					   0));
}

static int move(int fd)
{
	struct nl_msg *msg = nlmsg_alloc_simple(RTM_NEWLINK, 0);
	struct ifinfomsg head = { .ifi_index = (int)if_nametoindex("veth1") };

	nlmsg_append(msg, &head, sizeof(head), NLMSG_ALIGNTO);
	nla_put_u32(msg, IFLA_NET_NS_FD, (uint32_t)fd);
	return rt(msg);
}

void link_prepare(void)
{
	space[0] = here();
	must(unshare(CLONE_NEWNET) ? -errno : 0);
	space[1] = here();
	must(setns(space[0], CLONE_NEWNET) ? -errno : 0);
	must(rt_veth() || move(space[1]) ? -EIO : 0);
	kernel_prepare(0);
	link_enter(LINK_RANK);
	kernel_prepare(1);
	link_leave();
}

static bool kernel_repair(int kernel)
{
	const struct bgdma_run run = {
		.first = kernel ? LINK_RANK : 0,
		.last = kernel ? 2 * LINK_RANK - 1 : LINK_RANK - 1,
	};
	struct answer a = { 0 };
	struct nl_msg *msg;
	struct link l;
	bool good;

	if (link_open(&l))
		return false;
	partition_make(PARTITION, &run);
	msg = request(&l, BGDMA_CMD_LINK_NEW, NLM_F_ACK);
	nla_put_string(msg, BGDMA_A_LINK_PARTITION, PARTITION);
	nla_put_u32(msg, BGDMA_A_LINK_IFINDEX, (uint32_t)ifindex[kernel]);
	nla_put_u32(msg, BGDMA_A_LINK_HELLO_MS, 50);
	nla_put_u32(msg, BGDMA_A_LINK_TIMEOUT_MS, 1000);
	good = !ask(&l, msg, &a) || a.err == -EEXIST;
	link_close(&l);
	return good;
}

bool link_repair(void)
{
	struct ifreq req[KERNELS] = {
		{ .ifr_name = "veth0", .ifr_flags = IFF_UP },
		{ .ifr_name = "veth1", .ifr_flags = IFF_UP },
	};
	bool good = true;
	int i;

	for (i = 0; i < KERNELS; i++) {
		ioctl(control[i], SIOCSIFFLAGS, &req[i]);
		good &= enter(i) && kernel_repair(i);
	}
	link_leave();
	return good;
}

/* ---- Requests, devices --------------------------------------------------- */

static void put(struct machine *m, struct file *f, struct nl_msg *msg,
		const uint8_t *choice)
{
	static const __u32 sensible[] = {
		0, 1, 10, 100, 256, 1000, 3000, 60000
	};
	int type = 1 + choice[0] % (BGDMA_A_LINK_MAX + 1);
	__u64 v = choice[1] < CHOICE_ODD ? sensible[choice[1] % 8] :
					   choose(m, f, C_VALUE, choice[1]);

	nla_put_u32(msg, type, (__u32)v);
}

static void link_request(struct machine *m, struct file *f, int kernel,
			 const uint8_t *choice)
{
	static const int cmds[] = {
		BGDMA_CMD_LINK_SET, BGDMA_CMD_LINK_NEW, BGDMA_CMD_LINK_DEL,
		BGDMA_CMD_LINK_GET, BGDMA_CMD_PEER_GET, BGDMA_CMD_ROUTE_GET,
		BGDMA_CMD_LINK_SET, BGDMA_CMD_LINK_NEW,
	};
	int cmd = cmds[choice[0] % 8], i;
	struct nl_sock *nl = nl_socket_alloc();
	struct nl_msg *msg = nlmsg_alloc();
	bool dump = cmd == BGDMA_CMD_LINK_GET || cmd == BGDMA_CMD_PEER_GET;
	static char buffer[16384];

	if (!nl || !msg || genl_connect(nl))
		goto out;
	genlmsg_put(msg, NL_AUTO_PORT, NL_AUTO_SEQ, genl_ctrl_resolve(
		    nl, BGDMA_GENL_NAME), 0, dump ? NLM_F_DUMP : NLM_F_ACK,
		    (uint8_t)cmd, BGDMA_GENL_VERSION);
	nla_put_string(msg, 1, choose_name(choice[1]));
	if (cmd == BGDMA_CMD_ROUTE_GET) {
		nla_put_u32(msg, BGDMA_A_ROUTE_FROM,
			    (__u32)choose(m, f, C_RANK, choice[2]));
		nla_put_u32(msg, BGDMA_A_ROUTE_TO,
			    (__u32)choose(m, f, C_RANK, choice[3]));
	} else if (!dump) {
		nla_put_u32(msg, BGDMA_A_LINK_IFINDEX,
			    choice[2] < CHOICE_ODD ? (__u32)ifindex[kernel] :
						     (__u32)choice[2] - CHOICE_ODD);
		for (i = 0; i < choice[3] % 4; i++)
			put(m, f, msg, choice + 4 + 2 * i);
	}
	nl_send_auto(nl, msg);
	for (i = 0; i < 16 && recv(nl_socket_get_fd(nl), buffer, sizeof(buffer),
				   MSG_DONTWAIT) > 0; i++)
		;
out:
	nlmsg_free(msg);
	nl_socket_free(nl);
}

void call_link(struct machine *m, struct file *f, const uint8_t *choice)
{
	static const int mtus[] = { 1500, 1280, 1279, 9000, 65535, 68, 4200, 1500 };
	int kernel = choice[0] % KERNELS;
	struct ifreq req = { 0 };

	snprintf(req.ifr_name, sizeof(req.ifr_name), "veth%d", kernel);
	switch (choice[1] % 8) {
	case 0:
		req.ifr_flags = 0;
		ioctl(control[kernel], SIOCSIFFLAGS, &req);
		break;
	case 1 ... 2:
		req.ifr_flags = IFF_UP;
		ioctl(control[kernel], SIOCSIFFLAGS, &req);
		break;
	case 3:
		req.ifr_mtu = mtus[choice[2] % 8];
		ioctl(control[kernel], SIOCSIFMTU, &req);
		break;
	default:
		if (enter(kernel))
			link_request(m, f, kernel, choice + 2);
		link_leave();
	}
}

/* ---- Frames -------------------------------------------------------------- */

union frame {
	struct bgdma_frame head;
	struct hello_frame hello;
	struct state_frame state;
	uint8_t bytes[FRAME_MAX];
};

/* The @which-th of those that went by, as far as there are so many. */
static size_t overheard(int kernel, union frame *out, unsigned int which)
{
	uint8_t in[sizeof(struct ether_header) + FRAME_MAX];
	size_t bytes = 0;
	ssize_t n;

	do {
		n = recv(sock[kernel], in, sizeof(in), MSG_DONTWAIT);
		if (n < (ssize_t)(sizeof(struct ether_header) +
				  sizeof(out->head)))
			break;
		bytes = (size_t)n - sizeof(struct ether_header);
		memcpy(out, in + sizeof(struct ether_header), bytes);
	} while (which--);
	return bytes;
}

/* One about links, or a head of data with some packets of anything. */
static size_t made(union frame *f, const uint8_t *choice)
{
	switch (choice[0] % 4) {
	case 0:
		hello_new(&f->hello, PARTITION, 2 * LINK_RANK,
			  1 + choice[1] % 4);
		f->hello.hello.torus = choice[2] % 8;
		return sizeof(f->hello);
	case 1:
		state_new(&f->state, PARTITION, 1 + choice[1] % 4, choice[2],
			  choice[3] % 5);
		return sizeof(f->state);
	default:
		frame_head(&f->head, PARTITION, 1 + choice[0] % 2,
			   sizeof(f->head));
		f->head.src_rank = choice[1] % 5;
		f->head.dst_rank = choice[2] % 5;
		f->head.at = f->head.dst_rank;
		f->head.packets = choice[3] % 4;
		f->head.head = (uint16_t)(sizeof(f->head) +
			f->head.packets * sizeof(struct bgdma_wire_packet));
		f->head.flow = choice[4] % 4;
		return f->head.head;
	}
}

static void seal(union frame *f, size_t bytes)
{
	if (f->head.head < sizeof(f->head) || f->head.head > bytes)
		return;
	if (f->head.type == BGDMA_FRAME_HELLO && bytes >= sizeof(f->hello))
		hello_seal(&f->hello);
	else if (f->head.type == BGDMA_FRAME_STATE && bytes >= sizeof(f->state))
		state_seal(&f->state);
	else
		frame_seal(&f->head);
}

/*
 * To the other end: an old one again, or changed in up to four places, with a
 * checksum that is right, mostly.
 */
void call_frame(struct machine *m, struct file *f, const uint8_t *choice)
{
	uint8_t out[sizeof(struct ether_header) + FRAME_MAX];
	struct ether_header *eth = (void *)out;
	int kernel = choice[0] % KERNELS;
	union frame frame = { .bytes = { 0 } };
	size_t bytes = 0;
	int i;

	if (choice[1] % 4)
		bytes = overheard(kernel, &frame, choice[1] % KEPT);
	if (!bytes)
		bytes = made(&frame, choice + 2);
	for (i = 0; i < choice[7] % 5; i++)
		frame.bytes[(choice[8 + 2 * i] * 7U + i) % bytes] ^=
			choice[9 + 2 * i];
	if (choice[16] < CHOICE_ODD)
		seal(&frame, bytes);
	if (choice[17] >= CHOICE_ODD)
		bytes = bytes * (choice[17] - CHOICE_ODD) / 16;
	memset(eth->ether_dhost, 0xff, ETH_ALEN);
	eth->ether_shost[0] = 2;
	memset(eth->ether_shost + 1, choice[6] % 3, ETH_ALEN - 1);
	eth->ether_type = htons(BGDMA_WIRE_ETHERTYPE);
	memcpy(eth + 1, &frame, bytes);
	if (send(sock[kernel], out, sizeof(*eth) + bytes, MSG_DONTWAIT) < 0)
		return;
	(void)m;
	(void)f;
}
