// SPDX-License-Identifier: GPL-2.0
/*
 * Devices and kernels that mean harm: a device whose MTU becomes too small, payload
 * that comes in a list of fragments, frames from nobody, words about transfers that went
 * elsewhere, and the same word again and again: netlink_flow.h.
 */
#include <netinet/ip.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "kselftest_harness.h"
#include "netlink_flow.h"

/* ---- A device ------------------------------------------------------------ */

static void see_state(struct nlattr **attrs, void *arg)
{
	*(uint32_t *)arg = nla_get_u32(attrs[BGDMA_A_LINK_STATE]);
}

/* Of the only link that there is. */
static uint32_t state_of(struct link *l)
{
	uint32_t state = ~0U;
	struct answer a = { .each = see_state, .arg = &state };

	must(ask(l, request(l, BGDMA_CMD_LINK_GET, NLM_F_DUMP), &a));
	return state;
}

/* Whoever may configure a network may set it to anything. */
TEST_F(data, x2_mtu_becomes_too_small)
{
	static const uint32_t mtus[] = { 160, 161, 159, 68, 1279 };
	struct bgdma_desc d = d_put(WE, self->e.mem.handle, 1024, 3, 0, 64);
	unsigned int m, i;
	__u64 seq = 0;

	ASSERT_EQ(0, link_timeout(&self->l, 1000));
	for (m = 0; m < 5; m++) {
		ASSERT_EQ(0, rt_set("veth0", true, mtus[m]));
		for (i = 0; i < 4; i++)
			put_in(&self->e.inj, &d);
		seq = inject(&self->e.inj, &d);
		EXPECT_EQ(BGDMA_LINK_STATE_MTU, state_of(&self->l));
	}
	/* It is too small for any peer; then no more. */
	EXPECT_NE(BGDMA_OK, outcome(&self->e.inj, seq));
	ASSERT_EQ(0, rt_set("veth0", true, 9000));
	EXPECT_EQ(BGDMA_LINK_STATE_UP, state_of(&self->l));
	EXPECT_TRUE(come_up(&self->l, self->sock, &self->hello));
}

/* A part of an IP packet, as it is or to be put together. */
static bool send_part(int sock, const uint8_t *data, size_t n, size_t off,
		      bool more)
{
	struct {
		struct iphdr ip;
		uint8_t data[4200];
	} p = { .ip = {
		.version = 4, .ihl = 5, .ttl = 64, .protocol = IPPROTO_GRE,
		.id = htons(77),
		.frag_off = htons((uint16_t)(off / 8 | (more ? 0x2000 : 0))),
		.saddr = htonl(0x7f000002), .daddr = htonl(0x7f000001),
	} };
	struct sockaddr_in to = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000001),
	};

	memcpy(p.data, data + off, n);
	return sendto(sock, &p, sizeof(p.ip) + n, 0, (void *)&to, sizeof(to)) ==
	       (ssize_t)(sizeof(p.ip) + n);
}

/* A frame of ours inside of a tunnel, in so many bytes before the rest. */
static bool send_in_parts(int sock, const struct data_frame *f, size_t first)
{
	static const uint8_t bridged[] = { 0, 0, 0x65, 0x58 };
	static const uint8_t from[ETH_ALEN] = { 2, 0, 0, 0, 0, 1 };
	static uint8_t gre[4200];
	struct ether_header *eth = (void *)(gre + sizeof(bridged));
	size_t n = sizeof(bridged) + sizeof(*eth);

	memcpy(gre, bridged, sizeof(bridged));
	memset(eth->ether_dhost, 0xff, ETH_ALEN);
	memcpy(eth->ether_shost, from, sizeof(from));
	eth->ether_type = htons(BGDMA_WIRE_ETHERTYPE);
	memcpy(gre + n, f, f->frame.head);
	memcpy(gre + n + f->frame.head, f->payload, f->frame.bytes);
	n += f->frame.head + f->frame.bytes;
	return send_part(sock, gre, first, 0, true) &&
	       send_part(sock, gre, n - first, first, false);
}

TEST_F(data, x2_payload_in_a_list_of_fragments)
{
	struct bgdma_desc d = put_to(&self->e.mem, 0, 3000);
	struct data_frame *f = &self->f;
	struct answer a = { 0 };
	struct nl_msg *msg;
	int raw;

	if (!if_nametoindex("gretap0"))
		SKIP(return, "needs gretap");
	ASSERT_EQ(0, rt_set("lo", true, 65536));
	ASSERT_EQ(0, system("ip link set gretap0 address 02:00:00:00:00:09"));
	ASSERT_EQ(0, rt_set("gretap0", true, 1476));
	msg = request(&self->l, BGDMA_CMD_LINK_NEW, NLM_F_ACK);
	nla_put_string(msg, BGDMA_A_LINK_PARTITION, PARTITION);
	nla_put_u32(msg, BGDMA_A_LINK_IFINDEX, if_nametoindex("gretap0"));
	ASSERT_EQ(0, ask(&self->l, msg, &a));
	raw = socket(AF_INET, SOCK_RAW, IPPROTO_RAW);
	ASSERT_LE(0, raw);

	/* Without a checksum, as if it were from within this kernel: nothing. */
	add(f, &d, 0, 3000, 0xaa);
	f->frame.head = sizeof(f->frame) + sizeof(f->packet[0]);
	f->frame.flags = BGDMA_FRAME_UNSUMMED;
	frame_seal(&f->frame);
	ASSERT_TRUE(send_in_parts(raw, f, 192));
	/* With one it lands, whole, and so do others meanwhile. */
	data_new(f, 9, FIRST);
	add(f, &d, 3000 - 64, 64, 0xbb);
	LANDS();
	EXPECT_TRUE(all_bytes(self->e.mem.p, 3000 - 64, 0));
	data_new(f, 5, FIRST);
	add(f, &d, 0, 3000, 0xcc);
	f->frame.head = sizeof(f->frame) + sizeof(f->packet[0]);
	f->frame.sum = sum_of(f);
	frame_seal(&f->frame);
	ASSERT_TRUE(send_in_parts(raw, f, 192));
	ASSERT_TRUE(dealt(self->sock, 5, FIRST + 1, &self->ack));
	EXPECT_TRUE(all_bytes(self->e.mem.p, 3000, 0xcc));
	close(raw);
}

/* ---- Kernels ------------------------------------------------------------- */

/* Where nobody lives a kernel without a number does not, either. */
TEST_F(data, x2_nobody_speaks_from_nowhere)
{
	static const uint32_t ranks[] = {
		1, 2, DIM, 1000000, 0x7fffffff, BGDMA_RANK_NOBODY,
	};
	struct bgdma_desc d = put_to(&self->e.mem, 0, 64);
	unsigned int i;

	for (i = 0; i < 6; i++) {
		data_new(&self->f, 6, FIRST);
		self->f.frame.src_rank = ranks[i];
		self->f.frame.kernel = 0;
		add(&self->f, &d, 0, 64, (uint8_t)(0xa0 + i));
		ASSERT_TRUE(send_data(self->sock, &self->f));
	}
	/* After these, by the same way. */
	data_new(&self->f, 5, FIRST);
	d.u.at.dst_off = 64;
	add(&self->f, &d, 0, 64, 0xcc);
	LANDS();
	EXPECT_TRUE(all_bytes(self->e.mem.p, 64, 0));
	EXPECT_TRUE(all_bytes(self->e.mem.p + 64, 64, 0xcc));
}

/* A frame to us and one to the third kernel, from the same FIFO. */
#define TO_BOTH(d_) do { \
	struct bgdma_desc put_ = \
		d_put(WE, self->e.mem.handle, 1024, 3, 0, 64); \
	ASSERT_TRUE(third_comes(&self->l, self->sock, \
				self->hello.hello.hears[0])); \
	inject(&self->e.inj, &put_); \
	ASSERT_TRUE(next_frame(self->sock, BGDMA_FRAME_DATA, &ours, \
			       sizeof(ours))); \
	inject(&self->e.inj, &(d_)); \
	do { \
		ASSERT_TRUE(next_frame(self->sock, BGDMA_FRAME_DATA, &theirs, \
				       sizeof(theirs))); \
	} while (theirs.frame.dst_rank != WE - 1); \
} while (0)

/* What was fetched elsewhere is not told by our flow, either. */
TEST_F(data, x2_fetched_elsewhere_by_our_flow)
{
	struct bgdma_desc d = d_atomic(WE - 1, BGDMA_ATOMIC_ADD,
				       BGDMA_ATOMIC_U64, 0, 3, 0, 1);
	struct data_frame ours, theirs, back;
	struct bgdma_wire_packet *p;

	d.flags |= BGDMA_DESC_FETCH;
	d.u.at.src_region = self->e.mem.handle;
	TO_BOTH(d);
	voice_new(&back, FIRST);
	p = add(&back, NULL, 0, 8, 0xaa);
	p->kind = BGDMA_WIRE_FETCHED;
	p->dst_inc = ours.frame.flow_inc;
	p->id = theirs.packet[0].id;
	p->desc.dst_ctx = ours.frame.flow_ctx;
	p->desc.dst_rank = WE;
	p->desc.cookie = (uint64_t)ours.frame.flow << 1;
	ASSERT_TRUE(send_data(self->sock, &back));
	ASSERT_TRUE(dealt(self->sock, BGDMA_FLOW_KERNEL, FIRST + 1, &self->ack));
	EXPECT_TRUE(all_bytes(self->e.mem.p, 64, 0));
}

/* Nor is what we refused what another would have taken. */
TEST_F(data, x2_refused_for_others_by_our_flow)
{
	struct bgdma_desc d = d_put(WE - 1, self->e.mem.handle, 1024, 3, 0, 64);
	struct data_frame ours, theirs;
	struct bgdma_event seen;

	TO_BOTH(d);
	ack_new(&self->ack);
	self->ack.result[0].id = theirs.packet[0].id;
	self->ack.result[0].code = BGDMA_E_RIGHTS;
	self->ack.result[0].psn = ours.frame.psn;
	ASSERT_TRUE(send_ack_of(self->sock, &ours, US, 1, ours.frame.psn, 1,
				&self->ack));
	ack_new(&self->ack);
	ASSERT_TRUE(send_ack_of(self->sock, &ours, US, 2, ours.frame.psn + 1, 0,
				&self->ack));
	/* The other one has it: all was good. */
	ack_new(&self->ack);
	ASSERT_TRUE(send_ack_of(self->sock, &theirs, US + 1, 1,
				theirs.frame.psn + 1, 0, &self->ack));
	EXPECT_EQ(BGDMA_OK, outcome(&self->e.inj, 1));
	EXPECT_FALSE(event_next(&self->e.n, &seen));
}

/* ---- Refusals ------------------------------------------------------------ */

#define WORDS	100

/* Frames of our FIFO that were sent again up to now. */
static unsigned int again_seen(int sock, const struct inj *inj)
{
	struct {
		struct ether_header eth;
		struct bgdma_frame f;
	} __attribute__((packed)) in;
	unsigned int n = 0;
	ssize_t bytes;

	while ((bytes = recv(sock, &in, sizeof(in), MSG_DONTWAIT)) >= 0) {
		if (bytes < (ssize_t)sizeof(in) || in.f.kernel == US ||
		    in.f.type != BGDMA_FRAME_DATA || in.f.flow != inj->id)
			continue;
		n += !!(in.f.flags & BGDMA_FRAME_AGAIN);
	}
	return n;
}

/* The same, until there is none for a while. */
static unsigned int sent_again(int sock, const struct inj *inj)
{
	__u64 end = now_ns() + 300000000;
	unsigned int n = 0;

	while (now_ns() < end) {
		n += again_seen(sock, inj);
		usleep(1000);
	}
	return n;
}

/* Who says the same again and again is not told each time: that would never end. */
TEST_F(data, x2_a_refusal_leads_to_one_frame)
{
	struct bgdma_desc d = d_put(WE, self->e.mem.handle, 1024, 3, 0, 64);
	struct data_frame first, second;
	uint32_t i;

	inject(&self->e.inj, &d);
	ASSERT_TRUE(next_frame(self->sock, BGDMA_FRAME_DATA, &first,
			       sizeof(first)));
	inject(&self->e.inj, &d);
	do {
		ASSERT_TRUE(next_frame(self->sock, BGDMA_FRAME_DATA, &second,
				       sizeof(second)));
	} while (second.frame.psn == first.frame.psn);
	ack_new(&self->ack);
	self->ack.result[0].id = first.packet[0].id;
	self->ack.result[0].code = BGDMA_E_RIGHTS;
	self->ack.result[0].psn = first.frame.psn;
	for (i = 1; i <= WORDS; i++)
		ASSERT_TRUE(send_ack_of(self->sock, &first, US, i,
					first.frame.psn, 1, &self->ack));
	EXPECT_GT(WORDS / 4, sent_again(self->sock, &self->e.inj));
	/* Nor when it was dealt with. */
	for (; i <= 2 * WORDS; i++)
		ASSERT_TRUE(send_ack_of(self->sock, &first, US, i,
					first.frame.psn + 1, 1, &self->ack));
	i = sent_again(self->sock, &self->e.inj);
	EXPECT_LE(1, i);
	EXPECT_GT(WORDS / 4, i);
	EXPECT_EQ(BGDMA_E_RIGHTS, outcome(&self->e.inj, 0));
}

#define BEHIND	8	/* frames of ours that he has not dealt with */
#define LIES	400

/* So many frames, of which @first is the first and @last the last. */
static bool frames_out(int sock, struct inj *inj, const struct bgdma_desc *d,
		       struct data_frame *first, struct data_frame *last)
{
	unsigned int i;

	for (i = 0; i < BEHIND; i++) {
		inject(inj, d);
		do {
			if (!next_frame(sock, BGDMA_FRAME_DATA, last,
					sizeof(*last)))
				return false;
		} while (i && last->frame.psn < first->frame.psn + i);
		if (!i)
			*first = *last;
	}
	return true;
}

typedef void lie_fn(struct bgdma_wire_ack *ack, uint32_t i);

/* Few frames are sent again for @words acknowledgments that tell each a @lie. */
static void few_frames_for(struct __test_metadata *_metadata, int sock,
			   struct end *e, lie_fn *lie, uint32_t words)
{
	struct bgdma_desc d = d_put(WE, e->mem.handle, 1024, 3, 0, 64);
	struct data_frame first, last;
	struct ack_frame ack;
	uint32_t i, n = 0;

	ASSERT_TRUE(frames_out(sock, &e->inj, &d, &first, &last));
	for (i = 1; i <= words; i++) {
		ack_new(&ack);
		lie(&ack.ack, i);
		ASSERT_TRUE(send_ack_of(sock, &first, US, i, first.frame.psn, 0,
					&ack));
		n += again_seen(sock, &e->inj);
	}
	n += sent_again(sock, &e->inj);
	EXPECT_LE(BEHIND / 2, n);
	EXPECT_GT(LIES / 2, n);
}

static void overtaken(struct bgdma_wire_ack *ack, uint32_t i)
{
	ack->sack[0] = 1 << (i % 2 ? BEHIND - 1 : BEHIND - 2);
}

/* What overtook all before it leads to these again: not for each time that he says so. */
TEST_F(data, x2_what_overtook_leads_to_few_frames)
{
	few_frames_for(_metadata, self->sock, &self->e, overtaken, LIES);
}

static void room_or_none(struct bgdma_wire_ack *ack, uint32_t i)
{
	ack->state = i % 2 ? BGDMA_WIRE_NOT_READY : 0;
}

/* Nor does having room, and none, and room. */
TEST_F(data, x2_room_again_and_again_leads_to_few_frames)
{
	few_frames_for(_metadata, self->sock, &self->e, room_or_none, 2 * LIES);
}

TEST_HARNESS_MAIN
