// SPDX-License-Identifier: GPL-2.0
/*
 * Frames that end too early, and whose lengths are not what is there: of data,
 * acknowledgments, words about kernels and about flows (netlink_data.h;
 * netlink_forged_test.c has those of HELLO). None has an effect, and what others send
 * meanwhile arrives.
 */
#include "kselftest_harness.h"
#include "netlink_flow.h"

/* A frame as it is sent, and zeros behind it. */
struct wire {
	size_t len;
	union {
		struct bgdma_frame frame;
		uint8_t bytes[4096];
	};
};

static void wire_put(struct wire *w, const void *p, size_t n)
{
	memcpy(w->bytes + w->len, p, n);
	w->len += n;
}

static struct wire wire_of(const void *frame, size_t len)
{
	struct wire w = { 0 };

	wire_put(&w, frame, len);
	return w;
}

/* And so much of its payload. */
static struct wire wire_of_data(struct data_frame *f, size_t bytes)
{
	struct wire w = { 0 };

	f->frame.head = (uint16_t)(sizeof(f->frame) +
				   f->frame.packets * sizeof(f->packet[0]));
	f->frame.sum = sum_of(f);
	frame_seal(&f->frame);
	wire_put(&w, f, f->frame.head);
	wire_put(&w, f->payload, bytes);
	return w;
}

/* The word that all of a flow was dealt with. */
static struct wire wire_of_close(const struct data_frame *f)
{
	struct wire w = wire_of(&f->frame, sizeof(f->frame));

	w.frame.type = BGDMA_FRAME_CLOSE;
	w.frame.head = sizeof(w.frame);
	w.frame.packets = 0;
	w.frame.bytes = 0;
	w.frame.sum = 0;
	w.frame.psn = f->frame.psn + 1;
	w.frame.first = w.frame.psn;
	frame_seal(&w.frame);
	return w;
}

static bool wire_send(int sock, const struct wire *w)
{
	return send_from(sock, 1, w->bytes, w->len);
}

/* Added to what a head says of lengths. */
static const struct lie {
	uint16_t head;
	uint8_t packets, more;
	uint32_t bytes;
} lies[] = {
	{ .head = 1 }, { .head = 0xffff }, { .head = 0x8000 },
	{ .head = -(uint16_t)sizeof(struct bgdma_frame) },
	{ .packets = 1 }, { .packets = 0xff },
	{ .bytes = 1 }, { .bytes = 0x80000000 },
	{ .more = BGDMA_WIRE_SPAN }, { .more = 0xff },
};

static void lie_tell(struct wire *w, const struct lie *lie)
{
	struct bgdma_frame *f = &w->frame;

	f->head += lie->head;
	f->packets += lie->packets;
	f->more += lie->more;
	f->bytes += lie->bytes;
	/* The checksum of more than there can be is no matter. */
	if (f->head <= sizeof(w->bytes))
		frame_seal(f);
}

/*
 * All beginnings of a frame, and all of it with lies: true if each was found to be
 * malformed.
 */
static bool malformed(struct link *l, int sock, const struct wire *right)
{
	uint64_t before[STATS];
	struct wire w = *right;
	unsigned int n = 0, i;

	get_stats(l, before);
	for (w.len = 0; w.len < right->len; w.len++) {
		if (!wire_send(sock, &w))
			return false;
		/* Too many at once are lost. */
		if (!(++n % 64))
			usleep(1000);
	}
	for (i = 0; i < ARRAY_SIZE(lies); i++) {
		w = *right;
		lie_tell(&w, &lies[i]);
		if (!wire_send(sock, &w))
			return false;
		n++;
	}
	return until(counted(l, before, BGDMA_A_LINK_STATS_RX_MALFORMED, n));
}

/* Another flow of ours, and another user of theirs. */
#define OTHERS_GO_ON() do { \
	struct bgdma_desc d_ = put_to(&self->e.mem, 4096, 8); \
	struct data_frame f_; \
	struct ack_frame ack_; \
	struct end other_; \
\
	data_new(&f_, 77, FIRST); \
	add(&f_, &d_, 0, 8, 0x77); \
	ASSERT_TRUE(send_data(self->sock, &f_)); \
	ASSERT_TRUE(dealt(self->sock, 77, FIRST + 1, &ack_)); \
	EXPECT_EQ(0, ack_.frame.packets); \
	EXPECT_TRUE(all_bytes(self->e.mem.p + 4096, 8, 0x77)); \
	end_new(&other_, 0); \
	EXPECT_EQ(BGDMA_OK, run(&other_.inj, &(struct bgdma_desc) { \
		.op = BGDMA_OP_NOP, .inj_ctr = BGDMA_NONE, \
		.rec_ctr = BGDMA_NONE, .u.at.src_region = BGDMA_NONE, \
		.u.at.dst_region = BGDMA_NONE, \
	})); \
	node_close(&other_.n); \
} while (0)

/* ---- Data ---------------------------------------------------------------- */

#define EACH	64U	/* bytes of each of two packets */

/* Two puts that count. */
static void two_puts(struct data_frame *f, struct end *e)
{
	struct bgdma_desc d = put_to(&e->mem, 0, EACH);

	d.rec_ctr = e->rc;
	add(f, &d, 0, EACH, 0xaa);
	d.u.at.dst_off = EACH;
	add(f, &d, 0, EACH, 0xbb);
}

TEST_F(data, x2_data_that_is_cut_short_is_nothing)
{
	struct wire w;

	counter_add(&self->e.n, REC, self->e.rc, 1000);
	two_puts(&self->f, &self->e);
	w = wire_of_data(&self->f, 2 * EACH);
	EXPECT_TRUE(malformed(&self->l, self->sock, &w));
	OTHERS_GO_ON();
	EXPECT_TRUE(all_bytes(self->e.mem.p, 2 * EACH, 0));
	EXPECT_EQ(1000, value(&self->e.n, REC, self->e.rc));
	/* All of it is what was meant, with what a device fills up with. */
	w.len += 10;
	ASSERT_TRUE(wire_send(self->sock, &w));
	ASSERT_TRUE(dealt(self->sock, 5, FIRST + 1, &self->ack));
	EXPECT_EQ(0, self->ack.frame.packets);
	EXPECT_TRUE(all_bytes(self->e.mem.p, EACH, 0xaa));
	EXPECT_TRUE(all_bytes(self->e.mem.p + EACH, EACH, 0xbb));
	EXPECT_EQ(1000 - 2 * EACH, value(&self->e.n, REC, self->e.rc));
}

/* So many messages, each of which is refused. */
static struct wire wire_of_many(struct data_frame *f, struct end *e,
				unsigned int packets)
{
	const struct bgdma_desc d = d_inline(0, e->rec.id + 1, NULL, 0);
	struct bgdma_wire_packet *p;
	struct wire w = { 0 };
	unsigned int i;

	p = add(f, &d, 0, 0, 0);
	f->frame.packets = (uint8_t)packets;
	f->frame.head = (uint16_t)(sizeof(f->frame) + packets * sizeof(*p));
	frame_seal(&f->frame);
	wire_put(&w, &f->frame, sizeof(f->frame));
	for (i = 0; i < packets; i++) {
		p->id = i + 1;
		wire_put(&w, p, sizeof(*p));
	}
	frame_seal(&w.frame);
	return w;
}

/* No more packets than refusals that can be told of: it would wait for ever. */
TEST_F(data, x2_more_packets_than_can_be_refused)
{
	uint64_t before[STATS];
	struct wire w;

	get_stats(&self->l, before);
	w = wire_of_many(&self->f, &self->e, BGDMA_WIRE_RESULTS + 1);
	ASSERT_TRUE(wire_send(self->sock, &w));
	EXPECT_TRUE(until(counted(&self->l, before,
				  BGDMA_A_LINK_STATS_RX_MALFORMED, 1)));
	OTHERS_GO_ON();
	data_new(&self->f, 5, FIRST);
	w = wire_of_many(&self->f, &self->e, BGDMA_WIRE_RESULTS);
	ASSERT_TRUE(wire_send(self->sock, &w));
	ASSERT_TRUE(dealt(self->sock, 5, FIRST + 1, &self->ack));
	EXPECT_EQ(BGDMA_WIRE_RESULTS, self->ack.frame.packets);
	EXPECT_EQ(BGDMA_E_FIFO, self->ack.result[BGDMA_WIRE_RESULTS - 1].code);
	EXPECT_EQ(BGDMA_WIRE_RESULTS,
		  self->ack.result[BGDMA_WIRE_RESULTS - 1].id);
}

/* Behind what may be refused it would wait for ever. */
TEST_F(data, x2_a_gate_that_is_not_the_first_of_its_frame)
{
	const struct bgdma_desc put = put_to(&self->e.mem, 0, 64);
	const struct bgdma_desc gate = d_gate(0, BGDMA_OP_EPOCH_BEGIN,
					      self->e.mem.handle, 1, 0);

	add(&self->f, &put, 0, 64, 0xaa);
	add(&self->f, &gate, 0, 0, 0);
	ASSERT_TRUE(send_data(self->sock, &self->f));
	OTHERS_GO_ON();
	EXPECT_TRUE(all_bytes(self->e.mem.p, 64, 0));
}

/* The head is right; its packets are not of one mind with it, or with each other. */
TEST_F(data, x2_packets_whose_lengths_lie_are_nothing)
{
	struct data_frame right;
	struct bgdma_frame *f = &self->f.frame;
	struct bgdma_wire_packet *p = self->f.packet;

#define LIE(lie_) do { \
	struct wire w_; \
\
	self->f = right; \
	lie_; \
	w_ = wire_of_data(&self->f, 2 * EACH); \
	ASSERT_TRUE(wire_send(self->sock, &w_)); \
} while (0)

	counter_add(&self->e.n, REC, self->e.rc, 1000);
	two_puts(&self->f, &self->e);
	right = self->f;
	LIE(f->bytes = 0);
	LIE(f->bytes = EACH);
	LIE(f->bytes--);
	LIE(p[0].bytes = 0);
	LIE(p[0].bytes--);
	LIE(p[0].bytes++);
	LIE(p[1].bytes = 0xffffffff);
	LIE((p[0].bytes--, p[1].bytes++));
	LIE((p[0].bytes = 2 * EACH, p[1].bytes = 0));
	/* In 32 bits the sum would be right. */
	LIE((p[0].bytes = 0x80000000 + EACH, p[1].bytes = 0x80000000 + EACH));
	LIE(p[0].offset = 1);
	LIE(p[0].offset = 0xffffffff);
	LIE(p[0].offset = -EACH);
	LIE(p[1].desc.length = 0);
	LIE(p[1].desc.length--);
	LIE(p[1].desc.length = BGDMA_LENGTH_MAX + 1);
	LIE(p[1].desc.length = 0xffffffff);
	LIE(p[1].kind = BGDMA_WIRE_KINDS);
	LIE(p[1].kind = BGDMA_WIRE_GONE);
	LIE(p[1].kind = BGDMA_WIRE_ABORT);
	OTHERS_GO_ON();
	/* Neither the one that is right of two. */
	EXPECT_TRUE(all_bytes(self->e.mem.p, 2 * EACH, 0));
	EXPECT_EQ(1000, value(&self->e.n, REC, self->e.rc));
	self->f = right;
	LANDS();
	EXPECT_EQ(1000 - 2 * EACH, value(&self->e.n, REC, self->e.rc));
}

/* ---- Words --------------------------------------------------------------- */

/* Of a put from them to us, with something that was refused. */
TEST_F(data, x2_an_acknowledgment_that_is_cut_short_is_nothing)
{
	struct bgdma_desc d = d_put(WE, self->e.mem.handle, 0, 3, 0, 1000);
	struct ack_frame a;
	struct wire w;
	__u64 seq;

	counter_add(&self->e.n, INJ, self->e.ic, 1000);
	d.inj_ctr = self->e.ic;
	seq = inject(&self->e.inj, &d);
	ASSERT_TRUE(next_frame(self->sock, BGDMA_FRAME_DATA, &self->f,
			       sizeof(self->f)));
	ack_new(&a);
	a.result[0] = (struct bgdma_wire_result) {
		.id = self->f.packet[0].id, .psn = self->f.frame.psn,
		.code = BGDMA_E_RIGHTS,
	};
	/* This one is of no frame that was sent: what it is made of is right. */
	ASSERT_TRUE(send_ack_as(self->sock, &self->f, 1,
				self->f.frame.psn + 1000, 1, &a));
	a.frame.psn = self->f.frame.psn + 1;
	a.frame.first = 2;
	frame_seal(&a.frame);
	w = wire_of(&a, a.frame.head);
	EXPECT_TRUE(malformed(&self->l, self->sock, &w));
	OTHERS_GO_ON();
	EXPECT_EQ(1000, value(&self->e.n, INJ, self->e.ic));
	EXPECT_EQ(BGDMA_FIFO_RUNNING, load(&self->e.inj.kern->state));
	ASSERT_TRUE(wire_send(self->sock, &w));
	EXPECT_EQ(BGDMA_E_RIGHTS, outcome(&self->e.inj, seq));
}

/* Our kernel leaves, if all of that is heard. */
TEST_F(data, x2_a_state_that_is_cut_short_is_nothing)
{
	struct state_frame state;
	struct wire w;

	state_new(&state, PARTITION, US, 9, WE);
	state.state.flags = BGDMA_WIRE_STATE_BYE;
	state_seal(&state);
	w = wire_of(&state, sizeof(state));
	EXPECT_TRUE(malformed(&self->l, self->sock, &w));
	OTHERS_GO_ON();
	EXPECT_TRUE(way_to(&self->l, WE));
	ASSERT_TRUE(wire_send(self->sock, &w));
	EXPECT_TRUE(until(!way_to(&self->l, WE)));
}

/* What was dealt with lands again if its flow was forgotten. */
TEST_F(data, x2_an_end_of_a_flow_that_is_cut_short_is_nothing)
{
	struct bgdma_desc d = put_to(&self->e.mem, 0, EACH);
	struct wire w;

	add(&self->f, &d, 0, EACH, 0xaa);
	LANDS();
	w = wire_of_close(&self->f);
	EXPECT_TRUE(malformed(&self->l, self->sock, &w));
	OTHERS_GO_ON();
	memset(self->e.mem.p, 0, EACH);
	LANDS();
	EXPECT_TRUE(all_bytes(self->e.mem.p, EACH, 0));
	ASSERT_TRUE(wire_send(self->sock, &w));
	LANDS();
	EXPECT_TRUE(all_bytes(self->e.mem.p, EACH, 0xaa));
}

TEST_HARNESS_MAIN
