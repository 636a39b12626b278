// SPDX-License-Identifier: GPL-2.0
/*
 * The combining network: what the engines make of what members contribute, for each
 * operation, type and number of members.
 */
#include <stdlib.h>

#include "links.h"
#include "tree.h"

FIXTURE(tree) {
	struct tree t;
};

FIXTURE_VARIANT(tree) {
	__u32 members;
};

FIXTURE_VARIANT_ADD(tree, one) { .members = 1 };
FIXTURE_VARIANT_ADD(tree, two) { .members = 2 };
FIXTURE_VARIANT_ADD(tree, three) { .members = 3 };
FIXTURE_VARIANT_ADD(tree, six) { .members = 6 };
FIXTURE_VARIANT_ADD(tree, eight) { .members = 8 };

FIXTURE_SETUP(tree)
{
	tree_new(&self->t, variant->members, 0);
}

FIXTURE_TEARDOWN(tree)
{
	tree_close(&self->t);
}

/* ---- What comes of it, told a second time ------------------------------ */

/* Numbers of any width, as words of 32 bits, the lowest first. */
#define WIDTH_MAX	(BGDMA_TREE_WIDE_MAX * 2)

struct number {
	__s64 top;		/* of what is above: 0, or -1 of a negative one */
	__u32 w[WIDTH_MAX];
};

static unsigned int width_of(__u32 type)
{
	static const unsigned int bytes[] = { 2, 2, 4, 4, 8, 8, 16, 16 };

	return type < 8 ? bytes[type] : ((type & 0x3f) + 1) * 8;
}

static bool is_signed(__u32 type)
{
	return type >= 8 || type % 2;
}

static struct number number_read(const char *p, unsigned int bytes, bool sign)
{
	struct number n = { 0 };

	memcpy(n.w, p, bytes);
	n.top = sign && p[bytes - 1] < 0 ? -1 : 0;
	if (bytes == 2 && n.top)
		n.w[0] |= 0xffff0000;
	return n;
}

static int number_cmp(const struct number *a, const struct number *b,
		      unsigned int bytes)
{
	unsigned int i = (bytes + 3) / 4;

	if (a->top != b->top)
		return a->top < b->top ? -1 : 1;
	while (i--)
		if (a->w[i] != b->w[i])
			return a->w[i] < b->w[i] ? -1 : 1;
	return 0;
}

static void told_element(char *into, const char *from, __u32 op, __u32 type)
{
	unsigned int bytes = width_of(type), i;
	struct number a = number_read(from, bytes, is_signed(type));
	struct number b = number_read(into, bytes, is_signed(type));
	__u64 carry = 0;
	int order = number_cmp(&a, &b, bytes);

	for (i = 0; i < (bytes + 3) / 4; i++) {
		switch (op) {
		case BGDMA_TREE_ADD:
			carry += (__u64)a.w[i] + b.w[i];
			b.w[i] = (__u32)carry;
			carry >>= 32;
			break;
		case BGDMA_TREE_MIN:
			b.w[i] = order < 0 ? a.w[i] : b.w[i];
			break;
		case BGDMA_TREE_MAX:
			b.w[i] = order > 0 ? a.w[i] : b.w[i];
			break;
		case BGDMA_TREE_AND:
			b.w[i] &= a.w[i];
			break;
		case BGDMA_TREE_OR:
			b.w[i] |= a.w[i];
			break;
		default:
			b.w[i] ^= a.w[i];
		}
	}
	memcpy(into, b.w, bytes);
}

static void told(char *into, struct tree *t, __u16 dispatch, __u32 length)
{
	__u32 op = dispatch >> 8, type = dispatch & 0xff, i, at;

	memcpy(into, from_of(&t->m[0]), length);
	for (i = 1; i < t->count; i++)
		for (at = 0; at < length; at += width_of(type))
			told_element(into + at, from_of(&t->m[i]) + at, op,
				     type);
}

/* ---- Whole collectives -------------------------------------------------- */

static void contribute_random(struct tree *t, __u32 length, unsigned int seed)
{
	__u32 i, at;

	srand(seed);
	for (i = 0; i < t->count; i++) {
		for (at = 0; at < length; at++)
			from_of(&t->m[i])[at] = (char)rand();
		memset(into_of(&t->m[i]), 0x5a, length + 1);
	}
}

/* All members take part: the first that failed, or BGDMA_OK. */
static int all(struct tree *t, __u8 op, __u16 dispatch, __u32 length)
{
	int code = BGDMA_OK;
	__u32 i;

	for (i = 0; i < t->count; i++) {
		struct member *m = &t->m[i];
		struct bgdma_desc d = d_tree(m, op, dispatch, length);

		tree_begin(m, &d);
	}
	for (i = 0; i < t->count; i++) {
		int end = tree_end(&t->m[i]);

		code = code ?: end;
	}
	return code;
}

static const __u32 types[] = {
	BGDMA_TREE_U16, BGDMA_TREE_S16, BGDMA_TREE_U32, BGDMA_TREE_S32,
	BGDMA_TREE_U64, BGDMA_TREE_S64, BGDMA_TREE_U128, BGDMA_TREE_S128,
	BGDMA_TREE_WIDE(1), BGDMA_TREE_WIDE(3), BGDMA_TREE_WIDE(34),
	BGDMA_TREE_WIDE(64),
};

TEST_F(tree, dp7_each_operation_and_type)
{
	static char should[64 * KIB];
	unsigned int k;
	__u32 op, i;

	for (op = 0; op < BGDMA_TREE_OP_COUNT; op++) {
		for (k = 0; k < ARRAY_SIZE(types); k++) {
			__u16 dispatch = BGDMA_TREE_COMBINE(op, types[k]);
			__u32 length = 30 * width_of(types[k]);

			contribute_random(&self->t, length, op * 100 + k);
			told(should, &self->t, dispatch, length);
			ASSERT_EQ(BGDMA_OK, all(&self->t, BGDMA_OP_TREE_ALLREDUCE,
						dispatch, length));
			for (i = 0; i < self->t.count; i++) {
				ASSERT_EQ(0, memcmp(should,
						    into_of(&self->t.m[i]),
						    length)) {
					TH_LOG("op %u type %#x member %u", op,
					       types[k], i);
				}
				ASSERT_EQ(0x5a, into_of(&self->t.m[i])[length]);
			}
		}
	}
}

/* Many packets, more than the window has. */
TEST_F(tree, dp7_long_vectors)
{
	static const __u32 lengths[] = { 4096, 4104, 8184, 70000, VECTOR_MAX };
	static char should[VECTOR_MAX];
	unsigned int k;
	__u32 i;

	for (k = 0; k < ARRAY_SIZE(lengths); k++) {
		__u16 dispatch = BGDMA_TREE_COMBINE(BGDMA_TREE_ADD, BGDMA_TREE_U64);

		contribute_random(&self->t, lengths[k], k);
		told(should, &self->t, dispatch, lengths[k]);
		ASSERT_EQ(BGDMA_OK, all(&self->t, BGDMA_OP_TREE_ALLREDUCE,
					dispatch, lengths[k]));
		for (i = 0; i < self->t.count; i++)
			ASSERT_EQ(0, memcmp(should, into_of(&self->t.m[i]),
					    lengths[k]));
	}
}

/* Elements that no packet ends with. */
TEST_F(tree, dp7_elements_are_not_cut)
{
	__u16 dispatch = BGDMA_TREE_COMBINE(BGDMA_TREE_ADD, BGDMA_TREE_WIDE(34));
	__u32 length = 100 * 34 * 8, i;
	static char should[VECTOR_MAX];

	contribute_random(&self->t, length, 1);
	told(should, &self->t, dispatch, length);
	ASSERT_EQ(BGDMA_OK, all(&self->t, BGDMA_OP_TREE_ALLREDUCE, dispatch,
				length));
	for (i = 0; i < self->t.count; i++)
		ASSERT_EQ(0, memcmp(should, into_of(&self->t.m[i]), length));
}

TEST_F(tree, dp7_reduce_is_for_the_root)
{
	__u16 dispatch = BGDMA_TREE_COMBINE(BGDMA_TREE_MAX, BGDMA_TREE_S32);
	static char should[30000];
	__u32 i;

	contribute_random(&self->t, sizeof(should), 2);
	told(should, &self->t, dispatch, sizeof(should));
	ASSERT_EQ(BGDMA_OK, all(&self->t, BGDMA_OP_TREE_REDUCE, dispatch,
				sizeof(should)));
	ASSERT_EQ(0, memcmp(should, into_of(&self->t.m[0]), sizeof(should)));
	for (i = 1; i < self->t.count; i++)
		ASSERT_EQ(0x5a, into_of(&self->t.m[i])[0]);
}

TEST_F(tree, dp7_broadcast_is_the_roots)
{
	static const __u32 lengths[] = { 1, 4095, 4096, 70001 };
	unsigned int k;
	__u32 i;

	for (k = 0; k < ARRAY_SIZE(lengths); k++) {
		contribute_random(&self->t, lengths[k], k);
		ASSERT_EQ(BGDMA_OK, all(&self->t, BGDMA_OP_TREE_BCAST, 0,
					lengths[k]));
		for (i = 1; i < self->t.count; i++)
			ASSERT_EQ(0, memcmp(from_of(&self->t.m[0]),
					    into_of(&self->t.m[i]), lengths[k]));
		ASSERT_EQ(0x5a, into_of(&self->t.m[0])[0]);
	}
}

/* A barrier: nobody is through before all have come. */
TEST_F(tree, dp8_of_no_bytes)
{
	__u32 last = self->t.count - 1, i;
	struct bgdma_desc d;

	for (i = 0; i < last; i++) {
		d = d_tree(&self->t.m[i], BGDMA_OP_TREE_ALLREDUCE, 0, 0);
		tree_begin(&self->t.m[i], &d);
	}
	usleep(10000);
	for (i = 0; i < last; i++)
		EXPECT_EQ(1, value(&self->t.m[i].n, REC, self->t.m[i].rc));
	d = d_tree(&self->t.m[last], BGDMA_OP_TREE_ALLREDUCE, 0, 0);
	tree_begin(&self->t.m[last], &d);
	for (i = 0; i <= last; i++)
		ASSERT_EQ(BGDMA_OK, tree_end(&self->t.m[i]));
}

/* Counters by bytes: the own contribution, and what lands. */
TEST_F(tree, dma4_counters)
{
	__u16 dispatch = BGDMA_TREE_COMBINE(BGDMA_TREE_ADD, BGDMA_TREE_U16);
	__u32 ic[MEMBERS_MAX] = { 0 }, i;

	contribute_random(&self->t, 50000, 3);
	for (i = 0; i < self->t.count; i++) {
		struct member *m = &self->t.m[i];
		struct bgdma_desc d = d_tree(m, BGDMA_OP_TREE_ALLREDUCE,
					     dispatch, 50000);

		ic[i] = counter_new(&m->n, INJ, 0);
		counter_add(&m->n, INJ, ic[i], 50000);
		counter_add(&m->n, REC, m->rc, 50000);
		d.flags = 0;
		d.inj_ctr = htole32(ic[i]);
		inject(&m->inj, &d);
	}
	for (i = 0; i < self->t.count; i++) {
		struct member *m = &self->t.m[i];

		ASSERT_EQ(BGDMA_OK, tree_end(m));
		EXPECT_EQ(0, value(&m->n, REC, m->rc));
		ASSERT_EQ(0, wait_for(&m->n, INJ, ic[i], 0, PATIENCE_NS));
		EXPECT_EQ(0, value(&m->n, INJ, ic[i]));
	}
}

/* One after the other, the members each with another pace. */
TEST_F(tree, dp7_many_in_a_row)
{
	enum { ROUNDS = 40 };
	__u16 dispatch = BGDMA_TREE_COMBINE(BGDMA_TREE_ADD, BGDMA_TREE_U32);
	__u32 round, i;

	for (i = 0; i < self->t.count; i++) {
		struct member *m = &self->t.m[i];
		__u32 *in = (__u32 *)(m->mem.p + 8);

		for (round = 0; round < ROUNDS; round++)
			in[round] = round * 100 + i;
		counter_add(&m->n, REC, m->rc, ROUNDS);
		for (round = 0; round < ROUNDS; round++) {
			struct bgdma_desc d = d_tree(m, BGDMA_OP_TREE_ALLREDUCE,
						     dispatch, 4);

			d.dst_fifo = htole16((__u16)round);
			d.u.at.src_off = htole64(8 + 4 * round);
			d.u.at.dst_off = htole64(INTO + 4 * round);
			put_in(&m->inj, &d);
		}
		post(&m->inj);
	}
	for (i = 0; i < self->t.count; i++) {
		ASSERT_EQ(BGDMA_OK, tree_end(&self->t.m[i]));
		for (round = 0; round < ROUNDS; round++) {
			__u32 got, n = self->t.count;

			memcpy(&got, into_of(&self->t.m[i]) + 4 * round, 4);
			ASSERT_EQ(round * 100 * n + n * (n - 1) / 2, got);
		}
	}
}

/* Two classes of the same members, the one held up, the other not. */
static void classes_are_apart(struct __test_metadata *_metadata, struct tree *t)
{
	__u16 dispatch = BGDMA_TREE_COMBINE(BGDMA_TREE_ADD, BGDMA_TREE_U64);
	__u32 rounds, i;

	for (i = 0; i < t->count; i++)
		ASSERT_EQ(0, tree_bind(t, i, 5, 4));
	/* Class 5 waits for the last member. */
	for (i = 0; i + 1 < t->count; i++) {
		struct member *m = &t->m[i];
		struct bgdma_desc d = d_tree(m, BGDMA_OP_TREE_ALLREDUCE,
					     dispatch, 50000);
		struct inj other;

		d.class_prio = 5;
		d.rec_ctr = htole32(BGDMA_NONE);
		inj_new(&other, &m->n);
		inject(&other, &d);
	}
	for (rounds = 0; rounds < 3; rounds++) {
		contribute_random(t, 8000, rounds);
		ASSERT_EQ(BGDMA_OK, all(t, BGDMA_OP_TREE_ALLREDUCE, dispatch,
					8000));
	}
}

TEST(dp7_classes_are_apart)
{
	static const __u32 members[] = { 2, 3, 6, 8 };
	struct tree t = {};
	size_t k;

	for (k = 0; k < sizeof(members) / sizeof(members[0]); k++) {
		tree_new(&t, members[k], 0);
		classes_are_apart(_metadata, &t);
		tree_close(&t);
	}
}

/* ---- Messages for one member -------------------------------------------- */

TEST_F(tree, dp3_point_to_point)
{
	__u32 from, to;

	for (to = 0; to < self->t.count; to++)
		ASSERT_LE(0, grant(&self->t.m[to].n, BGDMA_KIND_REC_FIFO,
				   self->t.m[to].rec.id, BGDMA_RANK_ANY,
				   BGDMA_RIGHT_ACCEPT));
	for (from = 0; from < self->t.count; from++) {
		for (to = 0; to < self->t.count; to++) {
			struct member *m = &self->t.m[from];
			struct rec *r = &self->t.m[to].rec;
			struct bgdma_desc d = d_memfifo(to, r->id,
							m->mem.handle, FROM,
							5000);
			const struct bgdma_packet *p;
			__u32 got = 0;

			if (to == from)
				continue;
			d.op = BGDMA_OP_TREE_P2P;
			d.class_prio = CLASS;
			d.cookie = htole64(42);
			fill(from_of(m), 5000, from * 8 + to);
			ASSERT_EQ(BGDMA_OK, run(&m->inj, &d));
			while (got < 5000) {
				p = packet_wait(r);
				ASSERT_EQ(BGDMA_OP_TREE_P2P, p->type);
				EXPECT_EQ(BGDMA_TREE_DISPATCH, p->dispatch);
				EXPECT_EQ(from, p->src_rank);
				EXPECT_EQ(42, p->cookie);
				ASSERT_EQ(got, p->offset);
				ASSERT_EQ(0, memcmp(payload(p),
						    from_of(m) + got,
						    p->bytes));
				got += p->bytes;
				packet_drop(r);
			}
		}
	}
}

/* Whoever has the place of a member now is another one, and no member. */
TEST(dp7_who_came_after_a_member_gets_nothing_of_it)
{
	struct tree t = { 0 };
	struct member *m = &t.m[0], *last = &t.m[2];
	struct bgdma_desc d, plain;
	__u16 ctx;
	int i;

	tree_new(&t, 3, 0);
	ctx = last->n.at.ctx;
	node_close(&last->n);
	tree_member(&t, 2);
	ASSERT_EQ(ctx, last->n.at.ctx);
	ASSERT_LE(0, grant(&last->n, BGDMA_KIND_REC_FIFO, last->rec.id,
			   BGDMA_RANK_ANY, BGDMA_RIGHT_ACCEPT));
	d = d_memfifo(2, last->rec.id, m->mem.handle, FROM, 64);
	plain = d;
	d.op = BGDMA_OP_TREE_P2P;
	d.class_prio = CLASS;
	/* Who has just met it, too. */
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(BGDMA_E_PEER_DOWN, run_bad(&m->inj, &d));
		EXPECT_EQ(NULL, packet(&last->rec));
		EXPECT_EQ(BGDMA_OK, run_bad(&m->inj, &plain));
		EXPECT_EQ(BGDMA_OP_MEMFIFO, packet_wait(&last->rec)->type);
		packet_drop(&last->rec);
	}
	tree_close(&t);
}

/* Members have ranks of their own, and no others. */
TEST_F(tree, dma8_nobody_has_that_rank)
{
	struct member *m = &self->t.m[0];
	struct bgdma_desc d = d_memfifo(self->t.count, m->rec.id, m->mem.handle,
					FROM, 64);

	d.op = BGDMA_OP_TREE_P2P;
	d.class_prio = CLASS;
	EXPECT_EQ(BGDMA_E_NO_PEER, run_bad(&m->inj, &d));
	d.dst_rank = htole32(~0U);
	EXPECT_EQ(BGDMA_E_NO_PEER, run_bad(&m->inj, &d));
	d.class_prio = CLASS + 1;
	EXPECT_EQ(BGDMA_E_CLASS, run_bad(&m->inj, &d));
}

/* ---- Nobody's business --------------------------------------------------- */

TEST_F(tree, dma8_bad_descriptors)
{
	struct member *m = &self->t.m[0];
	__u16 add = BGDMA_TREE_COMBINE(BGDMA_TREE_ADD, BGDMA_TREE_U64);
	struct bgdma_desc good = d_tree(m, BGDMA_OP_TREE_ALLREDUCE, add, 64), d;

#define BAD(code, field, bad)						\
	do {								\
		d = good;						\
		d.field = bad;						\
		EXPECT_EQ(code, run_bad(&m->inj, &d));			\
	} while (0)

	BAD(BGDMA_E_CLASS, class_prio, CLASS + 1);
	BAD(BGDMA_E_FIELD, class_prio, 0x20 | CLASS);
	BAD(BGDMA_E_FIELD, class_prio, BGDMA_PRIORITY | CLASS);
	BAD(BGDMA_E_LENGTH, length, htole32(63));
	BAD(BGDMA_E_LENGTH, length, htole32(BGDMA_LENGTH_MAX + 8));
	BAD(BGDMA_E_OP, dispatch, htole16(BGDMA_TREE_COMBINE(BGDMA_TREE_OP_COUNT, 0)));
	BAD(BGDMA_E_OP, dispatch, htole16(BGDMA_TREE_COMBINE(0, 8)));
	BAD(BGDMA_E_OP, dispatch, htole16(BGDMA_TREE_COMBINE(0, 0x80)));
	BAD(BGDMA_E_FIELD, dst_rank, htole32(1));
	BAD(BGDMA_E_FIELD, dst_ctx, htole16(1));
	BAD(BGDMA_E_FIELD, epoch, htole32(1));
	BAD(BGDMA_E_FIELD, cookie, htole64(1));
	BAD(BGDMA_E_FIELD, route, BGDMA_ROUTE_ADAPTIVE);
	BAD(BGDMA_E_FLAGS, flags, BGDMA_DESC_INLINE);
	BAD(BGDMA_E_REGION, u.at.src_region, htole32(BGDMA_NONE));
	BAD(BGDMA_E_REGION, u.at.src_region, htole32(0x12345));
	BAD(BGDMA_E_COUNTER, inj_ctr, htole32(0x1ffff));
	BAD(BGDMA_E_COUNTER, rec_ctr, htole32(0x1ffff));
#undef BAD
	d = good;
	d.op = BGDMA_OP_TREE_BCAST;
	EXPECT_EQ(BGDMA_E_FIELD, run_bad(&m->inj, &d));
}

/* Who waits for a collective that there is no class for is told. */
TEST_F(tree, dma8_a_counter_waits_for_no_class)
{
	struct member *m = &self->t.m[0];
	struct bgdma_desc d = d_tree(m, BGDMA_OP_TREE_ALLREDUCE,
				     BGDMA_TREE_COMBINE(BGDMA_TREE_ADD,
							BGDMA_TREE_U64), 64);
	const struct bgdma_record *why = counter_record(&m->n, REC, m->rc);
	__u32 slot = BGDMA_HANDLE_SLOT(m->rc);

	d.class_prio = CLASS + 1;
	d.flags = 0;
	counter_add(&m->n, REC, m->rc, 64);
	EXPECT_EQ(BGDMA_E_CLASS, run_bad(&m->inj, &d));
	EXPECT_EQ(BGDMA_E_CLASS, why->code);
	EXPECT_EQ(0, value(&m->n, REC, m->rc));
	must(clear_error(&m->n, REC, slot, 0));
	/* It would have landed at the root, and nobody knows who that is. */
	d.op = BGDMA_OP_TREE_REDUCE;
	counter_add(&m->n, REC, m->rc, 64);
	EXPECT_EQ(BGDMA_E_CLASS, run_bad(&m->inj, &d));
	EXPECT_EQ(BGDMA_E_CLASS, why->code);
	EXPECT_EQ(64, value(&m->n, REC, m->rc));
}

TEST_F(tree, dma8_bad_bindings)
{
	struct tree *t = &self->t;
	struct bgdma_group_member who[MEMBERS_MAX];
	const struct bgdma_class_bind good = {
		.number = 9, .instance = 1, .member_count = t->count,
		.members = (uintptr_t)who };
	struct bgdma_class_bind c;

#define BAD(err, field, bad)						\
	do {								\
		c = good;						\
		c.field = bad;						\
		EXPECT_EQ(err, class_bind(&t->m[0].n, &c));		\
	} while (0)

	memcpy(who, t->who, sizeof(who));
	BAD(-EINVAL, flags, 2);
	BAD(-EINVAL, number, BGDMA_CLASSES_MAX);
	BAD(-EEXIST, number, CLASS);
	BAD(-EINVAL, instance, 0);
	BAD(-EINVAL, rank, t->count);
	BAD(-EINVAL, member_count, 0);
	BAD(-EINVAL, member_count, BGDMA_CLASS_MEMBERS_MAX + 1);
	BAD(-EINVAL, window, 3);
	BAD(-EINVAL, window, 128);
	BAD(-EINVAL, packet, 256);
	BAD(-EINVAL, packet, 1000);
	BAD(-EINVAL, packet, 8192);
	BAD(-EFAULT, members, 8);
	who[0].incarnation++;
	BAD(-EINVAL, window, 0);
	who[0].incarnation = 0;
	BAD(-EINVAL, window, 0);
	who[0] = t->who[0];
	if (t->count > 1) {
		who[1] = t->who[0];	/* next to himself */
		BAD(-EINVAL, window, 0);
		who[1] = t->who[1];
		who[1].rank = 8;
		BAD(-EINVAL, window, 0);
		who[1].rank = 1;
	}
#undef BAD
	EXPECT_EQ(0, class_bind(&t->m[0].n, &good));
	EXPECT_TRUE(until(!class_unbind(&t->m[0].n, 9, 0)));
	EXPECT_EQ(-ENOENT, class_unbind(&t->m[0].n, 9, 0));
	EXPECT_EQ(-ENOENT, class_unbind(&t->m[0].n, 99, 0));
	EXPECT_EQ(-EINVAL, class_unbind(&t->m[0].n, CLASS, 2));
}

TEST_HARNESS_MAIN
