// SPDX-License-Identifier: GPL-2.0
/*
 * Frames whose acknowledgment nobody waits for, as frames that were made by hand show:
 * netlink_data.h.
 */
#include "kselftest_harness.h"
#include "netlink_flow.h"

#define BURST	8
#define TRIES	10
#define QUICK	100000	/* ns in which two messages go, less than half of what is slow */

/* ---- The receiver -------------------------------------------------------- */

/* A message to their FIFO in a frame with this number, patient. */
static bool send_patient(int sock, struct data_frame *f, const struct end *e, uint32_t psn)
{
	struct bgdma_desc d = d_inline(0, e->rec.id, "x", 1);

	data_new(f, 5, psn);
	f->frame.flags = BGDMA_FRAME_PATIENT;
	add(f, &d, 0, 0, 0);
	return send_data(sock, f);
}

/* Do they say anything of our flow for a while? */
static bool spoken(int sock)
{
	struct {
		struct ether_header eth;
		struct bgdma_frame f;
	} __attribute__((packed)) in;
	__u64 end = now_ns() + 300000000;

	while (now_ns() < end) {
		if (recv(sock, &in, sizeof(in), 0) >= (ssize_t)sizeof(in) &&
		    in.f.kernel != US && in.f.type == BGDMA_FRAME_ACK &&
		    in.f.flow == 5)
			return true;
	}
	return false;
}

#define DEALT(psn_) \
	ASSERT_TRUE(dealt(self->sock, 5, psn_, &self->ack))

TEST_F(data, patient_frames_are_acknowledged_with_the_next)
{
	struct bgdma_desc d = d_inline(0, self->e.rec.id, "x", 1);
	uint32_t i;

	/* The first of a flow takes a worker. */
	add(&self->f, &d, 0, 0, 0);
	LANDS();
	packet_wait(&self->e.rec);
	packet_drop(&self->e.rec);
	for (i = 1; i < 4; i++) {
		ASSERT_TRUE(send_patient(self->sock, &self->f, &self->e, FIRST + i));
		packet_wait(&self->e.rec);
		packet_drop(&self->e.rec);
	}
	EXPECT_FALSE(spoken(self->sock));
	data_new(&self->f, 5, FIRST + 4);
	add(&self->f, &d, 0, 0, 0);
	LANDS();
	/* One that is refused, and one that comes twice, is no matter of patience. */
	d.dst_fifo = 63;
	data_new(&self->f, 5, FIRST + 5);
	self->f.frame.flags = BGDMA_FRAME_PATIENT;
	add(&self->f, &d, 0, 0, 0);
	REFUSED(BGDMA_E_FIFO);
	ASSERT_TRUE(send_data(self->sock, &self->f));
	DEALT(FIRST + 6);
}

TEST_F(data, patient_frames_that_are_missed_are_told_of)
{
	struct bgdma_desc d = d_inline(0, self->e.rec.id, "x", 1);

	add(&self->f, &d, 0, 0, 0);
	LANDS();
	ASSERT_TRUE(send_patient(self->sock, &self->f, &self->e, FIRST + 2));
	DEALT(FIRST + 1);
	EXPECT_EQ(2, self->ack.ack.sack[0]);
	/* They said that one has arrived and was not dealt with: now both were. */
	ASSERT_TRUE(send_patient(self->sock, &self->f, &self->e, FIRST + 1));
	DEALT(FIRST + 3);
}

/* Who was told that there is no room is told when there is. */
TEST_F(data, patient_frames_that_wait_for_room)
{
	uint32_t n = (uint32_t)(self->e.rec.bytes / (2 * sizeof(struct bgdma_packet))) + 1, i;
	struct bgdma_desc d = d_inline(0, self->e.rec.id, "x", 1);

	add(&self->f, &d, 0, 0, 0);
	LANDS();
	for (i = 1; i < n; i++)
		ASSERT_TRUE(send_patient(self->sock, &self->f, &self->e, FIRST + i));
	DEALT(FIRST + n - 1);
	EXPECT_EQ(BGDMA_WIRE_NOT_READY, self->ack.ack.state);
	while (--i)
		packet_drop(&self->e.rec);
	DEALT(FIRST + n);
	EXPECT_EQ(BGDMA_WIRE_READY, self->ack.ack.state);
}

/* ---- The sender ---------------------------------------------------------- */

/* What became of the messages of one new FIFO. */
struct burst {
	struct inj inj;
	struct data_frame last;
	uint32_t patient;	/* frames */
	uint32_t quick;		/* messages that followed the one before at once */
};

/* One that was seen before was sent again meanwhile. */
static bool is_new(uint32_t *psn, uint32_t *frames, uint32_t number)
{
	uint32_t i;

	for (i = 0; i < *frames; i++)
		if (psn[i] == number)
			return false;
	must(*frames < BURST ? 0 : -ENOSPC);
	psn[(*frames)++] = number;
	return true;
}

/* Messages to us, with a doorbell each. */
static void burst(struct burst *b, struct end *e, int sock, __u32 counter)
{
	struct bgdma_desc d = d_inline(WE, 3, "x", 1);
	uint32_t n = 0, frames = 0, psn[BURST];
	__u64 before = 0, begun;
	struct data_frame f;

	d.inj_ctr = counter;
	*b = (struct burst){};
	inj_new(&b->inj, &e->n);
	while (n++ < BURST) {
		begun = now_ns();
		inject(&b->inj, &d);
		must(until(load(&b->inj.kern->head) == n) ? 0 : -ETIMEDOUT);
		b->quick += now_ns() - before < QUICK;
		before = begun;
	}
	for (n = 0; n < BURST;) {
		must(next_frame(sock, BGDMA_FRAME_DATA, &f, sizeof(f)) ?
		     0 : -ETIMEDOUT);
		if (f.frame.flow != b->inj.id ||
		    !is_new(psn, &frames, f.frame.psn))
			continue;
		if (!n || (__s32)(f.frame.psn - b->last.frame.psn) > 0)
			b->last = f;
		b->patient += !!(f.frame.flags & BGDMA_FRAME_PATIENT);
		n += f.frame.packets;
	}
}

/* All of it has arrived. */
static void burst_ends(struct burst *b, int sock, struct ack_frame *ack)
{
	ack_new(ack);
	must(send_ack(sock, &b->last, b->last.frame.psn + 1, 0, ack) ? 0 : -EIO);
	must(until(load(&b->inj.kern->done) == BURST) ? 0 : -ETIMEDOUT);
}

/* Frames that follow one another slowly are not patient: a busy host may have no others. */
TEST_F_TIMEOUT(data, who_is_patient_asks_in_the_end, 120)
{
	struct data_frame again = {};
	uint32_t i, quick = 0;
	struct burst b = {};

	for (i = 0; i < TRIES && !b.patient; i++) {
		if (i)
			burst_ends(&b, self->sock, &self->ack);
		burst(&b, &self->e, self->sock, BGDMA_NONE);
		quick += b.quick > BURST / 2;
	}
	if (!b.patient && quick < TRIES / 2)
		SKIP(return, "messages here are too far apart: in %u of %u bursts they were not",
		     quick, TRIES);
	ASSERT_LT(0, b.patient);
	/* Which of them it is depends on how long each of them took. */
	while (again.frame.flow != b.inj.id ||
	       !(again.frame.flags & BGDMA_FRAME_AGAIN))
		ASSERT_TRUE(next_frame(self->sock, BGDMA_FRAME_DATA, &again,
				       sizeof(again)));
	EXPECT_EQ(BGDMA_FRAME_AGAIN, again.frame.flags);
	EXPECT_EQ(0, load(&b.inj.kern->done));
	burst_ends(&b, self->sock, &self->ack);
}

TEST_F(data, who_waits_for_a_counter_is_not_patient)
{
	struct burst b;
	uint32_t i;

	counter_add(&self->e.n, INJ, self->e.ic, 1000);
	for (i = 0; i < 3; i++) {
		burst(&b, &self->e, self->sock, self->e.ic);
		EXPECT_EQ(0, b.patient);
		burst_ends(&b, self->sock, &self->ack);
	}
}

/* The next frame of a FIFO that we have not seen. */
static bool frame_of(int sock, const struct inj *inj, uint8_t again, struct data_frame *f)
{
	do {
		if (!next_frame(sock, BGDMA_FRAME_DATA, f, sizeof(*f)))
			return false;
	} while (f->frame.flow != inj->id ||
		 (f->frame.flags & BGDMA_FRAME_AGAIN) != again);
	return true;
}

#define EACH	64	/* messages */

/* Seven rows, of which each takes twice as many as the one before, are more. */
TEST_F(data, who_looks_for_the_end_of_each_is_soon_told_at_once)
{
	struct bgdma_desc d = d_inline(WE, 3, "x", 1);
	uint32_t i, patient = 0;
	struct inj inj;

	d.inj_ctr = BGDMA_NONE;
	inj_new(&inj, &self->e.n);
	for (i = 1; i <= EACH; i++) {
		inject(&inj, &d);
		ASSERT_TRUE(frame_of(self->sock, &inj, 0, &self->f));
		if (self->f.frame.flags & BGDMA_FRAME_PATIENT) {
			patient++;
			ASSERT_TRUE(frame_of(self->sock, &inj,
					     BGDMA_FRAME_AGAIN, &self->f));
		}
		ack_new(&self->ack);
		ASSERT_TRUE(send_ack(self->sock, &self->f,
				     self->f.frame.psn + 1, 0, &self->ack));
		ASSERT_TRUE(until(load(&inj.kern->done) == i));
	}
	EXPECT_GT(7, patient);
}

TEST_HARNESS_MAIN
