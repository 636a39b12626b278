// SPDX-License-Identifier: GPL-2.0
/*
 * A kernel that was given up and lives: each side comes to know that the other has given
 * up all that was there, and only then a way leads there again. netlink_data.h.
 */
#include "kselftest_harness.h"
#include "netlink_gone.h"

/* We are not heard for so long that we are gone; all that dealt with us are told. */
static bool fall_silent(struct link *l, struct end *e)
{
	struct bgdma_event event;

	if (link_timeout(l, 1000) || !until(!way_to(l, WE)))
		return false;
	do {
		if (!event_wait(&e->n, BGDMA_EVENT_PEER_DOWN, &event))
			return false;
	} while (event.peer_ctx != BGDMA_CTX_ANY);
	return !link_timeout(l, 600000);
}

/* What its next STATE that speaks of us says. */
static bool speaks_of_us(int sock, struct bgdma_wire_end *end)
{
	struct state_frame state;
	int n, i;

	for (n = 0; n < 20; n++) {
		if (!next_frame(sock, BGDMA_FRAME_STATE, &state, sizeof(state)))
			return false;
		for (i = 0; i < BGDMA_WIRE_ENDS; i++) {
			*end = state.state.end[i];
			if (end->kernel == US)
				return true;
		}
	}
	return false;
}

/* Ours, which is for whoever is at the other end. */
static bool speak(int sock, const struct hello_frame *hello, uint32_t seq,
		  uint32_t lost, uint32_t known)
{
	uint64_t them = hello->hello.hears[0];
	struct state_frame state;

	state_new(&state, PARTITION, US, seq, WE);
	state.state.peers = 1;
	state.state.peer[0] = them;
	state.state.end[0] = (struct bgdma_wire_end) {
		.kernel = them, .lost = lost, .known = known,
	};
	return send_state(sock, &state);
}

/* We are heard again, and say that we know. */
static bool come_back(struct link *l, int sock, struct hello_frame *hello)
{
	struct bgdma_wire_end end;

	return send_hello(sock, hello) && speaks_of_us(sock, &end) &&
	       speak(sock, hello, 1, 0, end.lost) && until(way_to(l, WE));
}

/* All the time we were up as a peer, since we say HELLO so seldom. */
TEST_F(data, x1_who_was_silent_for_long_is_heard_again)
{
	struct bgdma_desc d = put_to(&self->e.mem, 0, 64);

	add(&self->f, &d, 0, 64, 0xaa);
	LANDS();
	ASSERT_TRUE(fall_silent(&self->l, &self->e));
	EXPECT_TRUE(peer_is(&self->l, BGDMA_PEER_UP));
	EXPECT_TRUE(come_back(&self->l, self->sock, &self->hello));
}

/* It may not know that all of its own were given up: no way leads there before. */
TEST_F(data, x3_who_was_silent_has_to_know)
{
	struct bgdma_desc d = put_to(&self->e.mem, 0, 64);
	struct bgdma_wire_end end, again;

	add(&self->f, &d, 0, 64, 0xaa);
	LANDS();
	ASSERT_TRUE(fall_silent(&self->l, &self->e));
	ASSERT_TRUE(send_hello(self->sock, &self->hello));
	ASSERT_TRUE(speaks_of_us(self->sock, &end));
	EXPECT_NE(0, end.lost);
	EXPECT_EQ(0, end.known);
	/* That was another time, or nothing. */
	ASSERT_TRUE(speak(self->sock, &self->hello, 1, 0, end.lost + 1));
	ASSERT_TRUE(speaks_of_us(self->sock, &again));
	ASSERT_TRUE(speaks_of_us(self->sock, &again));
	EXPECT_EQ(end.lost, again.lost);
	EXPECT_FALSE(way_to(&self->l, WE));
	ASSERT_TRUE(speak(self->sock, &self->hello, 2, 0, end.lost));
	EXPECT_TRUE(until(way_to(&self->l, WE)));
}

/* It was not heard there, though it heard us: whoever dealt with us is told. */
TEST_F(data, x3_who_was_given_up_gives_up)
{
	struct end *e = &self->e;
	struct bgdma_event event;
	struct bgdma_wire_end end;
	uint32_t i;

	lease(&e->n, REC, e->rc, WE, 7);
	ASSERT_TRUE(speak(self->sock, &self->hello, 1, 5, 0));
	WORD();
	EXPECT_EQ(BGDMA_E_PEER_DOWN,
		  (int)counter_record(&e->n, REC, e->rc)->code);
	ASSERT_TRUE(speaks_of_us(self->sock, &end));
	EXPECT_EQ(5, end.known);
	EXPECT_EQ(0, end.lost);
	EXPECT_TRUE(until(way_to(&self->l, WE)));
	/* What says so may be lost, so it is asked again, and that is all. */
	for (i = 2; i < 5; i++) {
		ASSERT_TRUE(speak(self->sock, &self->hello, i, 5, 0));
		ASSERT_TRUE(speaks_of_us(self->sock, &end));
		EXPECT_EQ(5, end.known);
	}
	EXPECT_TRUE(way_to(&self->l, WE));
	EXPECT_FALSE(event_next(&e->n, &event));
	/* Another time is another end. */
	lease(&e->n, INJ, e->ic, WE, 7);
	ASSERT_TRUE(speak(self->sock, &self->hello, i, 6, 0));
	WORD();
	EXPECT_EQ(BGDMA_E_PEER_DOWN,
		  (int)counter_record(&e->n, INJ, e->ic)->code);
	EXPECT_TRUE(until(way_to(&self->l, WE)));
}

/* Each has told its own already. */
TEST_F(data, x3_both_gave_each_other_up)
{
	struct bgdma_desc d = put_to(&self->e.mem, 0, 64);
	struct bgdma_wire_end end;
	struct bgdma_event event;

	add(&self->f, &d, 0, 64, 0xaa);
	LANDS();
	ASSERT_TRUE(fall_silent(&self->l, &self->e));
	ASSERT_TRUE(send_hello(self->sock, &self->hello));
	ASSERT_TRUE(speaks_of_us(self->sock, &end));
	ASSERT_TRUE(speak(self->sock, &self->hello, 1, 5, end.lost));
	EXPECT_TRUE(until(way_to(&self->l, WE)));
	do {
		ASSERT_TRUE(speaks_of_us(self->sock, &end));
	} while (end.lost);
	EXPECT_EQ(5, end.known);
	EXPECT_FALSE(event_next(&self->e.n, &event));
}

/*
 * Somebody who came after it was given up, and before it knew, may wait for one there
 * who is told that all here is gone.
 */
TEST_F(data, x3_who_came_since_is_told_when_it_knows)
{
	struct bgdma_desc d = put_to(&self->e.mem, 0, 64);
	struct bgdma_event event;
	struct bgdma_wire_end end;
	struct node late;

	add(&self->f, &d, 0, 64, 0xaa);
	LANDS();
	ASSERT_TRUE(fall_silent(&self->l, &self->e));
	must(node_try(&late, PARTITION, 0, &watch));
	ASSERT_TRUE(send_hello(self->sock, &self->hello));
	ASSERT_TRUE(speaks_of_us(self->sock, &end));
	EXPECT_FALSE(event_next(&late, &event));
	ASSERT_TRUE(speak(self->sock, &self->hello, 1, 0, end.lost));
	ASSERT_TRUE(event_wait(&late, BGDMA_EVENT_PEER_DOWN, &event));
	EXPECT_EQ(WE, event.peer_rank);
	EXPECT_EQ(BGDMA_CTX_ANY, event.peer_ctx);
	EXPECT_TRUE(until(way_to(&self->l, WE)));
	EXPECT_FALSE(event_next(&late, &event));
	node_close(&late);
}

/* Does its next STATE say that it reaches us? */
static bool reaches_us(int sock)
{
	struct state_frame state;
	uint32_t i;

	if (!next_frame(sock, BGDMA_FRAME_STATE, &state, sizeof(state)))
		return false;
	for (i = 0; i < state.state.peers; i++) {
		if (state.state.peer[i] == US)
			return true;
	}
	return false;
}

/* By it others would send to us what it lets go of: they are to look for another way. */
TEST_F(data, x3_who_is_given_up_is_reached_by_nobody)
{
	struct bgdma_desc d = put_to(&self->e.mem, 0, 64);
	struct bgdma_wire_end end;

	ASSERT_TRUE(until(reaches_us(self->sock)));
	add(&self->f, &d, 0, 64, 0xaa);
	LANDS();
	ASSERT_TRUE(fall_silent(&self->l, &self->e));
	EXPECT_TRUE(peer_is(&self->l, BGDMA_PEER_UP));
	ASSERT_TRUE(send_hello(self->sock, &self->hello));
	ASSERT_TRUE(speaks_of_us(self->sock, &end));
	EXPECT_FALSE(reaches_us(self->sock));
	ASSERT_TRUE(speaks_of_us(self->sock, &end));
	EXPECT_FALSE(reaches_us(self->sock));
	ASSERT_TRUE(speak(self->sock, &self->hello, 1, 0, end.lost));
	EXPECT_TRUE(until(reaches_us(self->sock)));
}

struct greeter {
	int sock;
	struct hello_frame *hello;
};

static int greet(void *arg)
{
	const struct greeter *greeter = arg;

	while (send_hello(greeter->sock, greeter->hello))
		usleep(100000);
	return 1;
}

/*
 * Its HELLO comes all the time, but what our kernel has to say is not taken there: somebody
 * would wait for ever for what it was about.
 */
TEST_F(data, x3_who_does_not_hear_what_is_said_is_given_up)
{
	struct greeter greeter = { self->sock, &self->hello };
	struct end *e = &self->e;
	struct bgdma_wire_end end;
	struct data_frame word;
	struct node other;
	pid_t pid;

	lease(&e->n, REC, e->rc, WE, 7);
	node_new(&other, 0);
	node_close(&other);
	ASSERT_TRUE(next_frame(self->sock, BGDMA_FRAME_DATA, &word,
			       sizeof(word)));
	EXPECT_EQ(BGDMA_FLOW_KERNEL, word.frame.flow);
	pid = start_child(greet, &greeter);
	usleep(500000);
	ASSERT_EQ(0, link_timeout(&self->l, 1000));
	ASSERT_TRUE(until(speaks_of_us(self->sock, &end)));
	ASSERT_EQ(0, link_timeout(&self->l, 600000));
	EXPECT_NE(0, end.lost);
	EXPECT_FALSE(way_to(&self->l, WE));
	WORD();
	EXPECT_EQ(BGDMA_E_PEER_DOWN,
		  (int)counter_record(&e->n, REC, e->rc)->code);
	ASSERT_TRUE(speak(self->sock, &self->hello, 1, 0, end.lost));
	EXPECT_TRUE(until(way_to(&self->l, WE)));
	kill_child(pid, SIGKILL);
}

#define WORDS	2600	/* more than are said to one who hears none */

/* A frame of atomics that ask what was there: each is answered by a word. */
static bool ask_words(int sock, struct data_frame *f, const struct bgdma_desc *d, uint32_t psn)
{
	uint32_t i;

	data_new(f, 5, psn);
	for (i = 0; i < PACKETS; i++)
		add(f, d, 0, 8, 1);
	return send_data(sock, f);
}

/*
 * what is said to one who hears nothing, and asks on, is memory. It has an end, and
 * no more is on its way than whoever hears it could keep.
 */
TEST_F_TIMEOUT(data, x2_what_nobody_hears_has_an_end, 300)
{
	struct bgdma_desc d = d_atomic(0, BGDMA_ATOMIC_ADD, BGDMA_ATOMIC_U64,
				       BGDMA_NONE, 0, 0, 1);
	uint32_t psn = FIRST, first, i;
	struct data_frame word;
	struct ack_frame a;

	d.flags |= BGDMA_DESC_FETCH;
	d.u.at.dst_region = self->e.mem.handle;
	ASSERT_LE(0, grant(&self->e.n, BGDMA_KIND_REGION, self->e.mem.handle, WE,
			   BGDMA_RIGHT_ATOMIC));
	do {
		ASSERT_TRUE(ask_words(self->sock, &self->f, &d, psn));
		psn++;
	} while (psn - FIRST < WORDS / PACKETS &&
		 (psn % 64 || dealt(self->sock, 5, psn, &self->ack)));
	EXPECT_GT(WORDS / PACKETS, psn - FIRST);
	EXPECT_LT(256 / PACKETS, psn - FIRST);
	/* The first comes again; to one who hears it, and those after it, more is said. */
	ASSERT_TRUE(next_frame(self->sock, BGDMA_FRAME_DATA, &word, sizeof(word)));
	EXPECT_EQ(BGDMA_FRAME_AGAIN, word.frame.flags & BGDMA_FRAME_AGAIN);
	first = word.frame.psn;
	ack_new(&a);
	for (i = 0; i < 256 && word.frame.flags & BGDMA_FRAME_AGAIN; i++) {
		ASSERT_TRUE(send_ack(self->sock, &word, word.frame.psn + 1, 0, &a));
		ASSERT_TRUE(next_frame(self->sock, BGDMA_FRAME_DATA, &word,
				       sizeof(word)));
	}
	EXPECT_EQ(0, word.frame.flags & BGDMA_FRAME_AGAIN);
	EXPECT_GE(256, word.frame.psn - first);
}

/*
 * Whether something was dealt with before, it does not know then; but each flow may
 * begin anew.
 */
TEST_F(data, x3_what_was_dealt_with_does_not_land_again)
{
	struct bgdma_desc before = put_to(&self->e.mem, 0, 64);
	struct bgdma_desc after = put_to(&self->e.mem, 64, 64);
	uint8_t i;

	add(&self->f, &before, 0, 64, 0xaa);
	LANDS();
	ASSERT_TRUE(fall_silent(&self->l, &self->e));
	ASSERT_TRUE(come_back(&self->l, self->sock, &self->hello));
	memset(self->e.mem.p, 0, 64);
	/* Nor when it is known that the context lives. */
	for (i = 1; i < 3; i++) {
		data_new(&self->f, 5, FIRST);
		add(&self->f, &before, 0, 64, 0xaa);
		ASSERT_TRUE(send_data(self->sock, &self->f));
		self->f.frame.flow = 6;
		ASSERT_TRUE(send_data(self->sock, &self->f));
		usleep(200000);
		EXPECT_TRUE(all_bytes(self->e.mem.p, 64, 0));
		data_new(&self->f, 6 + i, FIRST);
		self->f.frame.session = 2;
		add(&self->f, &after, 0, 64, i);
		LANDS();
		EXPECT_TRUE(all_bytes(self->e.mem.p + 64, 64, i));
	}
	data_new(&self->f, 5, FIRST);
	self->f.frame.session = 3;
	add(&self->f, &before, 0, 64, 0xbb);
	LANDS();
	EXPECT_TRUE(all_bytes(self->e.mem.p, 64, 0xbb));
}

TEST_HARNESS_MAIN
