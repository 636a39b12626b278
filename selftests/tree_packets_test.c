// SPDX-License-Identifier: GPL-2.0
/*
 * Results of the combining network that come as packets: the tag is their operation
 * identifier (DP-3), and who has no room for them waits, and with him all of the class.
 */
#include <stdlib.h>

#include "links.h"
#include "tree.h"

#define TAG	4711
#define COOKIE	0xfeedf00d12345678ULL
#define SUM	BGDMA_TREE_COMBINE(BGDMA_TREE_ADD, BGDMA_TREE_S64)
#define LONG	10000U		/* of three packets */
#define FULL	160000U		/* more than the FIFO and the window hold */
#define WINDOW	4

FIXTURE(packets) {
	struct tree t;
};

FIXTURE_VARIANT(packets) {
	__u32 members;
};

FIXTURE_VARIANT_ADD(packets, one) { .members = 1 };
FIXTURE_VARIANT_ADD(packets, two) { .members = 2 };
FIXTURE_VARIANT_ADD(packets, six) { .members = 6 };

FIXTURE_SETUP(packets)
{
	tree_new(&self->t, variant->members, WINDOW);
}

FIXTURE_TEARDOWN(packets)
{
	tree_close(&self->t);
}

/* ---- What they bring --------------------------------------------------- */

/* A part whose result comes as packets. */
static struct bgdma_desc d_packets(struct member *m, __u8 op, __u32 length)
{
	struct bgdma_desc d = d_tree(m, op, op == BGDMA_OP_TREE_BCAST ? 0 : SUM,
				     length);

	d.class_prio |= BGDMA_TREE_PACKETS;
	d.dst_fifo = htole16(TAG);
	d.u.at.dst_region = htole32(m->rec.id);
	d.u.at.dst_off = 0;
	d.cookie = htole64(COOKIE + m->n.at.rank);
	return d;
}

static __s64 word_of(__u32 i, __u32 rank)
{
	return (__s64)i * 1000 + rank;
}

static void fill_words(struct member *m, __u32 length)
{
	__u32 i;

	for (i = 0; i < length / 8; i++) {
		__s64 word = word_of(i, m->n.at.rank);

		memcpy(from_of(m) + i * 8, &word, 8);
	}
}

/* What a word of the result is: of a broadcast the root's. */
static __s64 result_of(__u32 i, __u8 op, __u32 members)
{
	__s64 sum = 0;
	__u32 rank;

	for (rank = 0; rank < (op == BGDMA_OP_TREE_BCAST ? 1 : members); rank++)
		sum += word_of(i, rank);
	return sum;
}

static bool is_result(const struct bgdma_packet *p, struct member *m, __u8 op,
		      __u32 members, __u32 length, __u32 offset)
{
	__u8 flags = (offset ? 0 : BGDMA_PACKET_FIRST) |
		     (offset + p->bytes == length ? BGDMA_PACKET_LAST : 0);
	__u32 i;

	if (p->type != op || p->dispatch != TAG || p->flags != flags ||
	    p->offset != offset || p->msg_length != length ||
	    p->src_rank != m->n.at.rank || p->src_ctx != m->n.at.ctx ||
	    p->cookie != COOKIE + m->n.at.rank)
		return false;
	for (i = 0; i < p->bytes / 8; i++) {
		__s64 is, should = result_of(offset / 8 + i, op, members);

		memcpy(&is, payload(p) + i * 8, 8);
		if (is != should)
			return false;
	}
	return true;
}

/* All of a result, in order, and nothing else. */
static bool result_comes(struct member *m, __u8 op, __u32 members, __u32 length)
{
	__u32 offset = 0;

	do {
		const struct bgdma_packet *p = packet_wait(&m->rec);

		if (!is_result(p, m, op, members, length, offset))
			return false;
		offset += p->bytes;
		packet_drop(&m->rec);
	} while (offset < length);
	return !packet(&m->rec);
}

TEST_F(packets, dp3_results)
{
	static const __u32 lengths[] = { 8, 4096, LONG, 0 };
	static const __u8 ops[] = { BGDMA_OP_TREE_ALLREDUCE,
				    BGDMA_OP_TREE_REDUCE, BGDMA_OP_TREE_BCAST };
	struct tree *t = &self->t;
	__u32 i, k, l;

	for (k = 0; k < 3; k++) {
		for (l = 0; l < 4; l++) {
			for (i = 0; i < t->count; i++) {
				struct bgdma_desc d = d_packets(&t->m[i], ops[k],
								lengths[l]);

				fill_words(&t->m[i], lengths[l]);
				tree_begin(&t->m[i], &d);
			}
			for (i = 0; i < t->count; i++) {
				struct member *m = &t->m[i];
				bool here = k == 0 || (k == 1) == !i;

				EXPECT_EQ(BGDMA_OK, tree_end(m));
				EXPECT_TRUE(!here ||
					    result_comes(m, ops[k], t->count,
							 lengths[l]));
				EXPECT_EQ(NULL, packet(&m->rec));
			}
		}
	}
}

/* How it wants its result is each member's own choice. */
TEST_F(packets, dp3_beside_memory)
{
	struct tree *t = &self->t;
	__u32 i, round;

	for (round = 0; round < 4; round++) {
		for (i = 0; i < t->count; i++) {
			struct bgdma_desc d = d_packets(&t->m[i],
					BGDMA_OP_TREE_ALLREDUCE, LONG);

			if ((i + round) % 2) {
				d.class_prio = CLASS;
				d.cookie = 0;
				d.u.at.dst_region = htole32(t->m[i].mem.handle);
				d.u.at.dst_off = htole64(INTO);
				memset(into_of(&t->m[i]), 0, LONG);
			}
			fill_words(&t->m[i], LONG);
			tree_begin(&t->m[i], &d);
		}
		for (i = 0; i < t->count; i++) {
			struct member *m = &t->m[i];
			__s64 last = 0;

			EXPECT_EQ(BGDMA_OK, tree_end(m));
			memcpy(&last, into_of(m) + LONG - 8, 8);
			EXPECT_TRUE((i + round) % 2 ?
				    last == result_of(LONG / 8 - 1, 0, t->count) :
				    result_comes(m, BGDMA_OP_TREE_ALLREDUCE,
						 t->count, LONG));
		}
	}
}

/* ---- No room ----------------------------------------------------------- */

/* All but the last have memory for it; that one's FIFO is full. */
static void begin_to_full(struct tree *t)
{
	__u32 i;

	for (i = 0; i < t->count; i++) {
		struct member *m = &t->m[i];
		struct bgdma_desc d = d_packets(m, BGDMA_OP_TREE_ALLREDUCE, FULL);

		if (i + 1 < t->count) {
			d.class_prio = CLASS;
			d.cookie = 0;
			d.u.at.dst_region = htole32(m->mem.handle);
			d.u.at.dst_off = htole64(INTO);
		}
		fill_words(m, FULL);
		tree_begin(m, &d);
	}
	must(until(load(&t->m[t->count - 1].rec.kern->starved)) ? 0 : -ETIME);
}

TEST_F(packets, dma3_a_full_fifo_holds_it_up)
{
	struct tree *t = &self->t;
	struct member *last = &t->m[t->count - 1];
	__u32 i;

	begin_to_full(t);
	EXPECT_EQ(-EBUSY, class_unbind(&last->n, CLASS, 0));
	EXPECT_FALSE(hit(&last->n, REC, last->rc));
	EXPECT_TRUE(result_comes(last, BGDMA_OP_TREE_ALLREDUCE, t->count, FULL));
	for (i = 0; i < t->count; i++)
		EXPECT_EQ(BGDMA_OK, tree_end(&t->m[i]));
}

TEST_F(packets, x3_broken_within_a_result)
{
	struct tree *t = &self->t;
	struct member *last = &t->m[t->count - 1];
	__u32 i, offset = 0;

	begin_to_full(t);
	class_unbind(&t->m[0].n, CLASS, BGDMA_CLASS_BREAK);
	EXPECT_TRUE(until(cut_off(&last->n, &last->rec, &offset)));
	EXPECT_LT(0, offset);
	EXPECT_GT(FULL, offset);
	for (i = 0; i < t->count; i++)
		EXPECT_EQ(BGDMA_E_CANCELLED, tree_end(&t->m[i]));
}

#define BUSY	(TREE_FIFOS - 1)	/* a round of them takes longer than to leave */

/* Whatever else the context wants done has its turn after all of these. */
static void keep_busy(struct member *m)
{
	static struct inj busy[BUSY];
	struct bgdma_desc d = d_put(m->n.at.rank, m->mem.handle, FROM,
				    m->mem.handle, INTO, VECTOR_MAX);
	__u32 i, k;

	d.dst_ctx = htole16(m->n.at.ctx);
	for (i = 0; i < BUSY; i++) {
		must(inj_try(&busy[i], &m->n, BGDMA_ID_ANY,
			     BGDMA_INJ_ENTRIES_MIN));
		for (k = 0; k < 4; k++)
			put_in(&busy[i], &d);
		store(&busy[i].user->tail, busy[i].tail);
		__atomic_fetch_or(&m->n.uctl->doorbell[busy[i].id / 64],
				  1ULL << busy[i].id % 64, __ATOMIC_SEQ_CST);
	}
	must(doorbell(&m->n, BGDMA_DOORBELL_POOL));
}

/* A member no longer, he has been told already that the rest will not come. */
TEST_F(packets, x3_who_breaks_it_reads_that_it_broke)
{
	struct tree *t = &self->t;
	struct member *last = &t->m[t->count - 1];
	__u32 i, offset = 0;
	bool told = false;

	begin_to_full(t);
	keep_busy(last);
	EXPECT_TRUE(until(class_unbind(&last->n, CLASS, BGDMA_CLASS_BREAK) !=
			  -EBUSY));
	for (i = 0; i <= FULL / 8 && !told; i++)
		told = cut_off(&last->n, &last->rec, &offset);
	EXPECT_TRUE(told);
	EXPECT_LT(0, offset);
	EXPECT_GT(FULL, offset);
	for (i = 0; i < t->count; i++)
		EXPECT_EQ(BGDMA_E_CANCELLED, tree_end(&t->m[i]));
}

TEST_F(packets, x3_dies_with_a_full_fifo)
{
	struct tree *t = &self->t;
	__u32 i;

	begin_to_full(t);
	node_close(&t->m[t->count - 1].n);
	for (i = 0; i + 1 < t->count; i++)
		EXPECT_EQ(BGDMA_E_PEER_DOWN, tree_end(&t->m[i]));
}

/* The FIFO goes away while the result waits for it: the others have theirs. */
TEST_F(packets, dma8_a_full_fifo_goes_away)
{
	struct tree *t = &self->t;
	struct member *last = &t->m[t->count - 1];
	__u32 i;

	begin_to_full(t);
	must(fifo_destroy(&last->n, BGDMA_KIND_REC_FIFO, last->rec.id));
	for (i = 0; i + 1 < t->count; i++)
		EXPECT_EQ(BGDMA_OK, tree_end(&t->m[i]));
	EXPECT_EQ(BGDMA_E_FIFO, tree_end(last));
}

/* ---- What is no good --------------------------------------------------- */

TEST(dma8_bad_fields)
{
	struct tree *t = calloc(1, sizeof(*t));
	struct bgdma_desc d, bad;
	struct bgdma_event e;
	struct member *m;

	ASSERT_NE(NULL, t);
	tree_new(t, 1, 0);
	m = &t->m[0];
	d = d_packets(m, BGDMA_OP_TREE_ALLREDUCE, 8);
	d.flags = 0;
	d.rec_ctr = htole32(BGDMA_NONE);
	EXPECT_EQ(BGDMA_OK, run(&m->inj, &d));
	bad = d;
	bad.u.at.dst_off = htole64(8);
	EXPECT_EQ(BGDMA_E_FIELD, run_bad(&m->inj, &bad));
	bad = d;
	bad.class_prio = CLASS;
	bad.u.at.dst_region = htole32(m->mem.handle);
	EXPECT_EQ(BGDMA_E_FIELD, run_bad(&m->inj, &bad));
	bad = d;
	bad.u.at.dst_region = htole32(m->n.at.rec_fifos);
	EXPECT_EQ(BGDMA_E_FIFO, run_bad(&m->inj, &bad));
	bad.u.at.dst_region = htole32(BGDMA_NONE);
	EXPECT_EQ(BGDMA_E_FIFO, run_bad(&m->inj, &bad));
	bad = d;
	bad.op = BGDMA_OP_TREE_P2P;
	bad.dispatch = 0;
	EXPECT_EQ(BGDMA_E_FIELD, run_bad(&m->inj, &bad));
	bad = d_memfifo(0, m->rec.id, m->mem.handle, 0, 8);
	bad.class_prio = BGDMA_TREE_PACKETS;
	EXPECT_EQ(BGDMA_E_FIELD, run_bad(&m->inj, &bad));
	/* A FIFO that is not there is an event, where no counter has it. */
	must(fifo_destroy(&m->n, BGDMA_KIND_REC_FIFO, m->rec.id));
	EXPECT_EQ(BGDMA_OK, run(&m->inj, &d));
	ASSERT_TRUE(event_wait(&m->n, BGDMA_EVENT_CLASS, &e));
	EXPECT_EQ(BGDMA_E_FIFO, e.code);
	EXPECT_EQ(CLASS, e.object);
	tree_close(t);
	free(t);
}

TEST_HARNESS_MAIN
