// SPDX-License-Identifier: GPL-2.0
/*
 * Memory FIFO messages, and the reception FIFOs that they land in.
 */
#include <endian.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>

#include "kselftest_harness.h"
#include "pair.h"

FIXTURE_PAIR(memfifo)

struct message {
	struct bgdma_packet first;
	__u32 bytes, packets;
	bool error;
	char data[PAIR_BYTES];
};

/* One whole message from the head of a FIFO; false: its packets are wrong. */
static bool message_read(struct rec *r, struct message *m)
{
	const struct bgdma_packet *p = packet_wait(r);
	bool last;

	m->first = *p;
	m->bytes = 0;
	m->packets = 0;
	do {
		p = packet_wait(r);
		last = p->flags & BGDMA_PACKET_LAST;
		m->error = p->flags & BGDMA_PACKET_ERROR;
		if (!!(p->flags & BGDMA_PACKET_FIRST) != !m->packets ||
		    p->msg_id != m->first.msg_id || p->offset != m->bytes ||
		    p->bytes > BGDMA_PACKET_MAX ||
		    p->msg_length != m->first.msg_length ||
		    p->cookie != m->first.cookie ||
		    p->dispatch != m->first.dispatch) {
			fprintf(stderr, "# packet %u: flags %x offset %u\n",
				m->packets, p->flags, p->offset);
			return false;
		}
		memcpy(m->data + m->bytes, payload(p), p->bytes);
		m->bytes += p->bytes;
		m->packets++;
		packet_drop(r);
	} while (!last && !m->error);
	return true;
}

static const __u32 sizes[] = { 0, 1, 7, 8, 23, 24, 25, 31, 32, 33, 63, 64, 65,
			       4095, 4096, 4097, 8191, 8192, 8193, 30000,
			       PAIR_BYTES - 77 };

TEST_F(memfifo, dma1_messages_of_all_sizes)
{
	static struct message m;
	struct end *a = &self->a, *b = &self->b;
	__u32 id = 0;
	size_t i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		/* Unaligned too: offset i. */
		struct bgdma_desc d = d_memfifo(1, b->rec.id, a->mem.handle, i,
						sizes[i]);

		d.dispatch = htole16((__u16)(1000 + i));
		d.cookie = htole64(0xc00c1e00ULL + i);
		d.inj_ctr = htole32(a->ic);
		d.rec_ctr = htole32(b->rc);
		fill(a->mem.p + i, sizes[i], (unsigned int)i);
		counter_add(&a->n, INJ, a->ic, sizes[i]);
		counter_add(&b->n, REC, b->rc, sizes[i]);
		inject(&a->inj, &d);
		ASSERT_TRUE(message_read(&b->rec, &m));
		EXPECT_EQ(sizes[i], m.bytes);
		EXPECT_EQ(sizes[i], m.first.msg_length);
		EXPECT_EQ(BGDMA_OP_MEMFIFO, m.first.type);
		EXPECT_EQ(0, m.first.src_rank);
		EXPECT_EQ(0, m.first.src_ctx);
		EXPECT_EQ(1000 + i, m.first.dispatch);
		EXPECT_EQ(0xc00c1e00ULL + i, m.first.cookie);
		EXPECT_TRUE(!i || id != m.first.msg_id);
		id = m.first.msg_id;
		EXPECT_TRUE(filled(m.data, sizes[i], (unsigned int)i));
		EXPECT_EQ(BGDMA_OK, outcome(&a->inj, a->inj.tail - 1));
		EXPECT_EQ(0, value(&a->n, INJ, a->ic));
		EXPECT_EQ(0, value(&b->n, REC, b->rc));
	}
}

TEST_F(memfifo, dma1_inline)
{
	static struct message m;
	struct end *a = &self->a, *b = &self->b;
	char data[BGDMA_INLINE_MAX];
	struct bgdma_desc d;
	__u32 i;

	for (i = 0; i <= BGDMA_INLINE_MAX; i++) {
		fill(data, i, i);
		d = d_inline(1, b->rec.id, data, i);
		ASSERT_EQ(BGDMA_OK, run(&a->inj, &d));
		ASSERT_TRUE(message_read(&b->rec, &m));
		EXPECT_EQ(1, m.packets);
		EXPECT_EQ(i, m.bytes);
		EXPECT_TRUE(filled(m.data, i, i));
	}
	d.length = htole32(BGDMA_INLINE_MAX + 1);
	EXPECT_EQ(BGDMA_E_LENGTH, run_bad(&a->inj, &d));
	EXPECT_EQ(NULL, packet(&b->rec));
}

TEST_F(memfifo, dma1_local)
{
	static struct message m;
	struct end *a = &self->a;
	struct bgdma_desc d = d_local_memfifo(a->rec.id, a->mem.handle, 3,
					      9999);

	fill(a->mem.p + 3, 9999, 1);
	d.inj_ctr = htole32(a->ic);
	d.rec_ctr = htole32(a->rc);
	counter_add(&a->n, INJ, a->ic, 9999);
	counter_add(&a->n, REC, a->rc, 9999);
	EXPECT_EQ(BGDMA_OK, run(&a->inj, &d));
	ASSERT_TRUE(message_read(&a->rec, &m));
	EXPECT_EQ(BGDMA_OP_LOCAL_MEMFIFO, m.first.type);
	EXPECT_EQ(0, m.first.src_rank);
	EXPECT_TRUE(filled(m.data, 9999, 1));
	EXPECT_TRUE(hit(&a->n, INJ, a->ic));
	EXPECT_TRUE(hit(&a->n, REC, a->rc));
}

TEST_F(memfifo, dma4_one_per_message)
{
	struct end *a = &self->a, *b = &self->b;
	static struct message m;
	static const __u32 lengths[] = { 0, 5, 30000 };
	int i;

	counter_add(&b->n, REC, b->rc, 3);
	for (i = 0; i < 3; i++) {
		struct bgdma_desc d = d_memfifo(1, b->rec.id, a->mem.handle, 0,
						lengths[i]);

		d.flags = BGDMA_DESC_OPS;
		d.rec_ctr = htole32(b->rc);
		inject(&a->inj, &d);
		ASSERT_TRUE(message_read(&b->rec, &m));
		EXPECT_EQ(BGDMA_OK, outcome(&a->inj, a->inj.tail - 1));
		EXPECT_EQ(2 - i, value(&b->n, REC, b->rc));
	}
	EXPECT_TRUE(hit(&b->n, REC, b->rc));
}

TEST_F(memfifo, dma3_full_is_back_pressure_on_its_own_flow)
{
	struct end *a = &self->a, *b = &self->b;
	static struct message m;
	struct bgdma_desc d = d_memfifo(1, b->rec.id, a->mem.handle, 0,
					PAIR_BYTES);
	struct inj other_inj;
	struct rec other_rec;
	__u64 packets;
	__u32 i;

	inj_new(&other_inj, &a->n);
	rec_new(&other_rec, &b->n);
	fill(a->mem.p, PAIR_BYTES, 1);
	inject(&a->inj, &d);
	ASSERT_TRUE(until(load(&a->inj.kern->state) == BGDMA_FIFO_BLOCKED));
	ASSERT_TRUE(until(load(&b->rec.kern->starved)));
	packets = load(&b->rec.kern->packets);
	EXPECT_LT(0, packets);
	EXPECT_GE(b->rec.bytes, load(&b->rec.kern->tail));

	/* Nobody else waits: same sender, same receiver, both ways. */
	for (i = 0; i < 200; i++) {
		d = d_number(1, &other_rec, i);
		ASSERT_EQ(BGDMA_OK, run(&other_inj, &d));
		ASSERT_EQ(i, number_wait(&other_rec));
		d = d_number(0, &a->rec, i);
		ASSERT_EQ(BGDMA_OK, run(&b->inj, &d));
		ASSERT_EQ(i, number_wait(&a->rec));
	}
	d = d_put(1, a->mem.handle, 0, b->mem.handle, 0, PAIR_BYTES);
	EXPECT_EQ(BGDMA_OK, run(&other_inj, &d));
	/* Over links it tries again now and then. */
	EXPECT_TRUE(until(load(&a->inj.kern->state) == BGDMA_FIFO_BLOCKED));
	EXPECT_EQ(packets, load(&b->rec.kern->packets));

	/* Nothing is lost. */
	ASSERT_TRUE(message_read(&b->rec, &m));
	EXPECT_EQ(PAIR_BYTES, m.bytes);
	EXPECT_TRUE(filled(m.data, PAIR_BYTES, 1));
	EXPECT_EQ(BGDMA_OK, outcome(&a->inj, 0));
	EXPECT_TRUE(until(load(&a->inj.kern->state) == BGDMA_FIFO_RUNNING));
}

TEST_F(memfifo, dma3_many_senders_to_one_that_is_full)
{
	struct end *a = &self->a, *b = &self->b;
	struct inj f[8];
	char got[8][10000];
	__u32 bytes[8] = { 0 }, ids[8] = { 0 }, i, left = 8;
	struct bgdma_desc d;

	for (i = 0; i < 8; i++) {
		must(inj_try(&f[i], &a->n, BGDMA_ID_ANY, 16));
		fill(a->mem.p + 4096UL * i, 10000, 0);
	}
	fill(a->mem.p, PAIR_BYTES, 3);
	for (i = 0; i < 8; i++) {
		d = d_memfifo(1, b->rec.id, a->mem.handle, 4096ULL * i, 10000);
		d.dispatch = htole16((__u16)i);
		inject(&f[i], &d);
	}
	/* Messages mix, but each comes in order and whole. */
	while (left) {
		const struct bgdma_packet *p = packet_wait(&b->rec);

		i = p->dispatch;
		ASSERT_GT(8, i);
		ASSERT_TRUE(!bytes[i] || ids[i] == p->msg_id);
		ids[i] = p->msg_id;
		ASSERT_EQ(bytes[i], p->offset);
		memcpy(got[i] + bytes[i], payload(p), p->bytes);
		bytes[i] += p->bytes;
		left -= !!(p->flags & BGDMA_PACKET_LAST);
		packet_drop(&b->rec);
	}
	for (i = 0; i < 8; i++) {
		ASSERT_EQ(10000, bytes[i]);
		EXPECT_EQ(0, memcmp(got[i], a->mem.p + 4096UL * i, 10000));
		EXPECT_EQ(BGDMA_OK, outcome(&f[i], 0));
	}
}

TEST_F(memfifo, x2_closed_until_granted)
{
	struct end *a = &self->a, *b = &self->b;
	struct bgdma_desc d;
	struct rec r;
	int id;

	must(rec_try(&r, &b->n, BGDMA_ID_ANY, BGDMA_REC_BYTES_MIN));
	d = d_number(1, &r, 1);
	EXPECT_EQ(BGDMA_E_RIGHTS, run_bad(&a->inj, &d));
	must(grant(&b->n, BGDMA_KIND_REC_FIFO, r.id, 2, BGDMA_RIGHT_ACCEPT));
	EXPECT_EQ(BGDMA_E_RIGHTS, run_bad(&a->inj, &d));
	id = (int)must(grant(&b->n, BGDMA_KIND_REC_FIFO, r.id, 0,
			     BGDMA_RIGHT_ACCEPT));
	EXPECT_EQ(BGDMA_OK, run_bad(&a->inj, &d));
	EXPECT_EQ(0, grant_revoke(&b->n, (__u32)id));
	EXPECT_EQ(BGDMA_E_RIGHTS, run_bad(&a->inj, &d));
	/* Its owner needs no grant. */
	d = d_local_memfifo(r.id, b->mem.handle, 0, 1);
	EXPECT_EQ(BGDMA_OK, run_bad(&b->inj, &d));
	EXPECT_EQ(2, load(&r.kern->packets));
	EXPECT_EQ(0, a->inj.rec->code);
}

TEST_F(memfifo, x2_revoked_while_it_waits)
{
	struct end *a = &self->a, *b = &self->b;
	struct bgdma_desc d;
	struct rec r;
	int id;

	must(rec_try(&r, &b->n, BGDMA_ID_ANY, BGDMA_REC_BYTES_MIN));
	id = (int)must(grant(&b->n, BGDMA_KIND_REC_FIFO, r.id, 0,
			     BGDMA_RIGHT_ACCEPT));
	d = d_memfifo(1, r.id, a->mem.handle, 0, PAIR_BYTES);
	inject(&a->inj, &d);
	ASSERT_TRUE(until(load(&a->inj.kern->state) == BGDMA_FIFO_BLOCKED));
	/* Nobody makes room. */
	EXPECT_EQ(0, grant_revoke(&b->n, (__u32)id));
	EXPECT_EQ(BGDMA_E_RIGHTS, outcome(&a->inj, 0));
}

TEST_F(memfifo, dma8_fifos_that_are_not_there)
{
	struct end *a = &self->a, *b = &self->b;
	struct bgdma_desc d = d_number(1, &b->rec, 1);
	static const __u16 ids[] = { 1, 7, 8, 63, 64, 65535 };
	unsigned int i;

	for (i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		d.dst_fifo = htole16(ids[i]);
		EXPECT_EQ(BGDMA_E_FIFO, run_bad(&a->inj, &d));
	}
	d = d_local_memfifo(7, a->mem.handle, 0, 1);
	EXPECT_EQ(BGDMA_E_FIFO, run_bad(&a->inj, &d));
}

TEST_F(memfifo, x2_destroyed_while_somebody_waits)
{
	struct end *a = &self->a, *b = &self->b;
	struct bgdma_desc d = d_memfifo(1, b->rec.id, a->mem.handle, 0,
					PAIR_BYTES);

	inject(&a->inj, &d);
	ASSERT_TRUE(until(load(&a->inj.kern->state) == BGDMA_FIFO_BLOCKED));
	EXPECT_EQ(0, fifo_destroy(&b->n, BGDMA_KIND_REC_FIFO, b->rec.id));
	EXPECT_EQ(BGDMA_E_FIFO, outcome(&a->inj, 0));
}

TEST_F(memfifo, x2_impossible_head)
{
	struct end *a = &self->a, *b = &self->b;
	static const __u64 heads[] = { 64, 1000, 1ULL << 40, 1ULL << 63 };
	struct bgdma_desc d;
	struct bgdma_event e;
	unsigned int i;
	__u64 seq;

	for (i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		/* Beyond the tail: it counts as full, and its owner is told. */
		store(&b->rec.user->head, b->rec.head + heads[i]);
		d = d_number(1, &b->rec, i);
		seq = inject(&a->inj, &d);
		ASSERT_TRUE(until(load(&b->n.kctl->rec_error) &
				  1ULL << b->rec.id));
		EXPECT_EQ(BGDMA_E_INDEX, load(&b->rec.rec->code));
		ASSERT_TRUE(event_wait(&b->n, BGDMA_EVENT_FIFO_ERROR, &e));
		EXPECT_EQ(BGDMA_E_INDEX, e.code);
		EXPECT_EQ(BGDMA_KIND_REC_FIFO, e.kind);
		EXPECT_EQ(b->rec.id, e.object);
		EXPECT_TRUE(until(load(&a->inj.kern->state) ==
				  BGDMA_FIFO_BLOCKED));
		/* Put right and cleared, it goes on. */
		store(&b->rec.user->head, b->rec.head);
		EXPECT_EQ(0, clear_error(&b->n, BGDMA_KIND_REC_FIFO, b->rec.id,
					 0));
		EXPECT_EQ(0, load(&b->rec.rec->code));
		EXPECT_EQ(0, load(&b->n.kctl->rec_error));
		EXPECT_EQ(BGDMA_OK, outcome(&a->inj, seq));
		EXPECT_EQ(i, number_wait(&b->rec));
	}
}

TEST_F(memfifo, x2_head_that_goes_back)
{
	struct end *a = &self->a, *b = &self->b;
	struct bgdma_desc d;
	__u32 i;

	/* More than the ring holds between head and tail. */
	for (i = 0; i < 1000; i++) {
		d = d_number(1, &b->rec, i);
		inject(&a->inj, &d);
		ASSERT_EQ(i, number_wait(&b->rec));
	}
	store(&b->rec.user->head, 0);
	inject(&a->inj, &d);
	/* It never writes over what may not be read yet. */
	store(&b->rec.user->head, b->rec.head);
	EXPECT_EQ(0, clear_error(&b->n, BGDMA_KIND_REC_FIFO, b->rec.id, 0));
	store(&b->n.uctl->doorbell_rec, 1ULL << b->rec.id);
	EXPECT_EQ(0, doorbell(&b->n, 0));
	EXPECT_EQ(BGDMA_OK, outcome(&a->inj, a->inj.tail - 1));
	EXPECT_EQ(999, number_wait(&b->rec));
}

TEST_F(memfifo, dma8_clear_with_the_head_still_wrong)
{
	struct end *a = &self->a, *b = &self->b;
	struct bgdma_desc d = d_number(1, &b->rec, 1);
	struct inj other;

	store(&b->rec.user->head, 4096);
	inject(&a->inj, &d);
	ASSERT_TRUE(until(load(&b->rec.rec->code) == BGDMA_E_INDEX));
	EXPECT_EQ(0, clear_error(&b->n, BGDMA_KIND_REC_FIFO, b->rec.id, 0));
	/* The error comes again, at the latest with the next packet. */
	inj_new(&other, &a->n);
	inject(&other, &d);
	ASSERT_TRUE(until(load(&b->rec.rec->code) == BGDMA_E_INDEX));
	EXPECT_EQ(0, load(&b->rec.kern->packets));
	/* With flush the kernel puts the head right. */
	EXPECT_EQ(0, clear_error(&b->n, BGDMA_KIND_REC_FIFO, b->rec.id,
				 BGDMA_CLEAR_FLUSH));
	EXPECT_EQ(BGDMA_OK, outcome(&a->inj, 0));
	EXPECT_EQ(BGDMA_OK, outcome(&other, 0));
	EXPECT_EQ(1, number_wait(&b->rec));
	EXPECT_EQ(1, number_wait(&b->rec));
}

TEST_F(memfifo, flush_drops_what_is_in_it)
{
	struct end *a = &self->a, *b = &self->b;
	struct bgdma_desc d;
	__u32 i;

	for (i = 0; i < 5; i++) {
		d = d_number(1, &b->rec, i);
		EXPECT_EQ(BGDMA_OK, run(&a->inj, &d));
	}
	EXPECT_EQ(0, clear_error(&b->n, BGDMA_KIND_REC_FIFO, b->rec.id,
				 BGDMA_CLEAR_FLUSH));
	EXPECT_EQ(load(&b->rec.kern->tail), load(&b->rec.user->head));
	b->rec.head = load(&b->rec.user->head);
	EXPECT_EQ(BGDMA_OK, run(&a->inj, &d));
	EXPECT_EQ(4, number_wait(&b->rec));
}

/* ---- Interrupts on arrival -------------------------------------------- */

static void arm(struct rec *r, __u32 how, __u32 bytes)
{
	store(&r->user->arm_bytes, bytes);
	store(&r->user->arm, how);
}

TEST_F(memfifo, dma6_marked_packets_are_counted)
{
	struct end *a = &self->a, *b = &self->b;
	static struct message m;
	struct bgdma_desc d = d_memfifo(1, b->rec.id, a->mem.handle, 0, 9000);

	EXPECT_EQ(BGDMA_OK, run(&a->inj, &d));
	ASSERT_TRUE(message_read(&b->rec, &m));
	EXPECT_EQ(0, m.first.flags & BGDMA_PACKET_INTERRUPT);
	EXPECT_EQ(0, load(&b->rec.kern->marked));
	d.flags = BGDMA_DESC_INTERRUPT;
	EXPECT_EQ(BGDMA_OK, run(&a->inj, &d));
	ASSERT_TRUE(message_read(&b->rec, &m));
	EXPECT_TRUE(m.first.flags & BGDMA_PACKET_INTERRUPT);
	EXPECT_LE(1, load(&b->rec.kern->marked));
}

TEST_F(memfifo, dma6_poll_by_arm)
{
	struct end *a = &self->a, *b = &self->b;
	struct bgdma_desc plain = d_number(1, &b->rec, 1), marked = plain;
	struct rec *r = &b->rec;

	marked.flags |= BGDMA_DESC_INTERRUPT;
	EXPECT_EQ(BGDMA_OK, run(&a->inj, &plain));
	arm(r, BGDMA_ARM_NONE, 0);
	EXPECT_EQ(0, poll_file(&b->n, 0));
	/* Waiting is level: what came before the arming counts. */
	arm(r, BGDMA_ARM_ANY, 0);
	EXPECT_EQ(POLLIN, poll_file(&b->n, 0));
	arm(r, BGDMA_ARM_MARKED, 0);
	EXPECT_EQ(0, poll_file(&b->n, 0));
	EXPECT_EQ(BGDMA_OK, run(&a->inj, &marked));
	EXPECT_EQ(POLLIN, poll_file(&b->n, 0));
	store(&r->user->marked_seen, 1);
	EXPECT_EQ(0, poll_file(&b->n, 0));
	/* Two packets of 64 bytes each. */
	arm(r, BGDMA_ARM_OCCUPANCY, 129);
	EXPECT_EQ(0, poll_file(&b->n, 0));
	arm(r, BGDMA_ARM_OCCUPANCY, 128);
	EXPECT_EQ(POLLIN, poll_file(&b->n, 0));
	packet_drop(r);
	EXPECT_EQ(0, poll_file(&b->n, 0));
	arm(r, BGDMA_ARM_ANY, 0);
	EXPECT_EQ(POLLIN, poll_file(&b->n, 0));
	packet_drop(r);
	EXPECT_EQ(0, poll_file(&b->n, 0));
}

/* Send while the other side sleeps: the call of a child would not do. */
static int send_later(void *arg)
{
	struct end c;
	struct rec *to = arg;
	struct bgdma_desc d = d_number(1, to, 5);

	node_new(&c.n, 2);
	inj_new(&c.inj, &c.n);
	/* Long enough that the sleeper most likely sleeps; else it is there. */
	usleep(100000);
	d.flags |= BGDMA_DESC_INTERRUPT;
	return run(&c.inj, &d);
}

TEST_F(memfifo, dma6_arrival_wakes_a_sleeper)
{
	struct rec *r = &self->b.rec;
	int how;

	for (how = BGDMA_ARM_ANY; how <= BGDMA_ARM_OCCUPANCY; how++) {
		pid_t child;

		arm(r, (__u32)how, 1);
		store(&r->user->marked_seen, load(&r->kern->marked));
		child = start_child(send_later, r);
		EXPECT_EQ(POLLIN, poll_file(&self->b.n, 20000));
		EXPECT_EQ(5, number_wait(r));
		kill_child(child, 9);
		/* The peer's end is an event, and events wake as well. */
		arm(r, BGDMA_ARM_NONE, 0);
		store(&self->b.n.uctl->events_head,
		      load(&self->b.n.kctl->events_tail));
	}
}

TEST_F(memfifo, dma6_wait_call_wakes)
{
	struct rec *r = &self->b.rec;
	struct node *n = &self->b.n;
	pid_t child;

	EXPECT_EQ(-ETIME, wait_for(n, BGDMA_KIND_REC_FIFO, r->id, 0, 1000));
	child = start_child(send_later, r);
	/* The call needs no arming. */
	EXPECT_EQ(0, wait_for(n, BGDMA_KIND_REC_FIFO, r->id, 0, -1));
	EXPECT_EQ(0, wait_for(n, BGDMA_KIND_REC_FIFO, r->id, 63, 0));
	EXPECT_EQ(-ETIME, wait_for(n, BGDMA_KIND_REC_FIFO, r->id, 64, 0));
	EXPECT_EQ(5, number_wait(r));
	EXPECT_EQ(-ETIME, wait_for(n, BGDMA_KIND_REC_FIFO, r->id, 0, 0));
	kill_child(child, 9);
}

TEST_F(memfifo, dma6_eventfd)
{
	struct end *a = &self->a, *b = &self->b;
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	struct bgdma_desc plain = d_number(1, &b->rec, 1), marked = plain;

	marked.flags |= BGDMA_DESC_INTERRUPT;
	ASSERT_EQ(0, event_bind(&b->n, BGDMA_KIND_REC_FIFO, b->rec.id, fd));
	EXPECT_EQ(BGDMA_OK, run(&a->inj, &marked));
	EXPECT_EQ(0, eventfd_count(fd));
	arm(&b->rec, BGDMA_ARM_MARKED, 0);
	EXPECT_EQ(BGDMA_OK, run(&a->inj, &marked));
	EXPECT_TRUE(until(eventfd_count(fd)));
	arm(&b->rec, BGDMA_ARM_ANY, 0);
	EXPECT_EQ(BGDMA_OK, run(&a->inj, &plain));
	EXPECT_TRUE(until(eventfd_count(fd)));
	EXPECT_EQ(0, event_bind(&b->n, BGDMA_KIND_REC_FIFO, b->rec.id, -1));
	EXPECT_EQ(BGDMA_OK, run(&a->inj, &plain));
	EXPECT_EQ(0, eventfd_count(fd));
	EXPECT_EQ(-ENOENT, event_bind(&b->n, BGDMA_KIND_REC_FIFO, 5, fd));
	close(fd);
}

TEST_F(memfifo, sizes_and_ids)
{
	struct node *n = &self->b.n;
	static struct message m;
	struct rec r, q;
	__u32 bytes;
	struct bgdma_desc d;
	int i, ret = 0;

	for (bytes = BGDMA_REC_BYTES_MIN; bytes <= 4 * MIB; bytes *= 2) {
		ASSERT_EQ(0, rec_try(&r, n, BGDMA_ID_ANY, bytes));
		d = d_local_memfifo(r.id, self->b.mem.handle, 0, 12000);
		fill(self->b.mem.p, 12000, bytes);
		inject(&self->b.inj, &d);
		ASSERT_TRUE(message_read(&r, &m));
		EXPECT_TRUE(filled(m.data, 12000, bytes));
		EXPECT_EQ(0, fifo_destroy(n, BGDMA_KIND_REC_FIFO, r.id));
	}
	ASSERT_EQ(0, rec_try(&r, n, 5, BGDMA_REC_BYTES_MIN));
	EXPECT_EQ(5, r.id);
	EXPECT_EQ(-EEXIST, rec_try(&q, n, 5, BGDMA_REC_BYTES_MIN));
	for (i = 2; !ret; i++)
		ret = rec_try(&q, n, BGDMA_ID_ANY, BGDMA_REC_BYTES_MIN);
	EXPECT_EQ(-ENOSPC, ret);
	EXPECT_EQ(9, i);
	EXPECT_EQ(0, fifo_destroy(n, BGDMA_KIND_REC_FIFO, 5));
	EXPECT_EQ(-ENOENT, fifo_destroy(n, BGDMA_KIND_REC_FIFO, 5));
	/* A new one of that number is closed and begins at 0. */
	ASSERT_EQ(0, rec_try(&r, n, 5, BGDMA_REC_BYTES_MIN));
	d = d_number(1, &r, 1);
	EXPECT_EQ(BGDMA_E_RIGHTS, run_bad(&self->a.inj, &d));
	EXPECT_EQ(0, r.kern->tail);
}

TEST_F(memfifo, x2_room_between_packets_leaks_nothing)
{
	struct end *a = &self->a, *b = &self->b;
	struct bgdma_desc d;
	int i;

	/* Lengths that leave room before the next multiple of 32. */
	memset(a->mem.p, 0xff, 4096);
	for (i = 1; i < 100; i++) {
		const struct bgdma_packet *p;
		__u32 end;

		d = d_memfifo(1, b->rec.id, a->mem.handle, 0, (__u32)i);
		ASSERT_EQ(BGDMA_OK, run(&a->inj, &d));
		p = packet_wait(&b->rec);
		/* Ring pages were zeroed, and this is their first use. */
		for (end = p->bytes; end % BGDMA_PACKET_ALIGN; end++)
			ASSERT_EQ(0, payload(p)[end]);
		packet_drop(&b->rec);
	}
}

TEST_HARNESS_MAIN
