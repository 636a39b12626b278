/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the tests of the combining network share: nodes that are members of a class,
 * each with memory for what it contributes and for what comes of it.
 */
#ifndef BGDMA_SELFTESTS_TREE_H
#define BGDMA_SELFTESTS_TREE_H

#include <endian.h>
#include <string.h>

#include "kselftest_harness.h"
#include "utils.h"

#define CLASS		3
#define INSTANCE	77
#define MEMBERS_MAX	8
#define VECTOR_MAX	(200 * KIB)
#define TREE_FIFOS	257U	/* of a member, for injection */
/* Not where a page begins, nor an element. */
#define FROM		5U
#define INTO		(VECTOR_MAX + 2 * PAGE + 3)

struct member {
	struct node n;
	struct inj inj;
	struct rec rec;
	struct region mem;
	__u32 rc;	/* counts the ends of collectives */
};

struct tree {
	__u32 count;
	struct member m[MEMBERS_MAX];
	struct bgdma_group_member who[MEMBERS_MAX];
};

static inline int class_bind(struct node *n, const struct bgdma_class_bind *c)
{
	struct bgdma_class_bind bind = *c;

	bind.size = sizeof(bind);
	return bg_ioctl(n->fd, BGDMA_IOC_CLASS_BIND, &bind);
}

static inline int class_unbind(struct node *n, __u32 number, __u32 flags)
{
	struct bgdma_class_unbind c = { .size = sizeof(c), .number = number,
					.flags = flags };

	return bg_ioctl(n->fd, BGDMA_IOC_CLASS_UNBIND, &c);
}

/* A node binds a class whose root another is, or itself. */
static inline int class_of_two(struct node *n, const struct node *root)
{
	const struct bgdma_group_member who[] = {
		{ .rank = root->at.rank, .ctx = root->at.ctx,
		  .incarnation = root->at.incarnation },
		{ .rank = n->at.rank, .ctx = n->at.ctx,
		  .incarnation = n->at.incarnation },
	};
	bool two = n != root;

	return class_bind(n, &(struct bgdma_class_bind){
		.number = CLASS, .instance = INSTANCE, .rank = two,
		.member_count = 1 + two, .members = (uintptr_t)who });
}

/* Member @i binds a class of all, in their order. */
static inline int tree_bind(struct tree *t, __u32 i, __u32 number, __u32 window)
{
	return class_bind(&t->m[i].n, &(struct bgdma_class_bind){
		.number = number, .instance = INSTANCE + number, .rank = i,
		.flags = BGDMA_CLASS_P2P, .member_count = t->count,
		.members = (uintptr_t)t->who, .window = window });
}

static inline void tree_member(struct tree *t, __u32 i)
{
	const struct bgdma_attach room = {
		.ctx = BGDMA_CTX_ANY, .inj_fifos = TREE_FIFOS,
	};
	struct member *m = &t->m[i];

	must(node_try(&m->n, PARTITION, i, &room));
	inj_new(&m->inj, &m->n);
	must(rec_try(&m->rec, &m->n, BGDMA_ID_ANY, 64 * KIB));
	region_new(&m->mem, &m->n, INTO + VECTOR_MAX + PAGE);
	m->rc = counter_new(&m->n, REC, BGDMA_COUNTER_NO_UNDERFLOW);
	t->who[i] = (struct bgdma_group_member){
		.rank = i, .ctx = m->n.at.ctx,
		.incarnation = m->n.at.incarnation };
}

/* Members of a partition that is there. */
static inline void tree_join(struct tree *t, __u32 count, __u32 window)
{
	__u32 i;

	t->count = count;
	for (i = 0; i < count; i++)
		tree_member(t, i);
	for (i = 0; i < count; i++)
		must(tree_bind(t, i, CLASS, window));
}

static inline void tree_new(struct tree *t, __u32 count, __u32 window)
{
	partition_new("8x1x1", "");
	tree_join(t, count, window);
}

static inline void tree_close(struct tree *t)
{
	__u32 i;

	for (i = 0; i < t->count; i++)
		if (t->m[i].n.fd >= 0)
			node_close(&t->m[i].n);
}

/* A part in a collective, from FROM into INTO, whose end the counter counts. */
static inline struct bgdma_desc d_tree(struct member *m, __u8 op, __u16 dispatch,
				       __u32 length)
{
	return (struct bgdma_desc){
		.op = op, .flags = BGDMA_DESC_OPS, .class_prio = CLASS,
		.inj_ctr = htole32(BGDMA_NONE), .rec_ctr = htole32(m->rc),
		.length = htole32(length), .dispatch = htole16(dispatch),
		.u.at = {
			.src_region = htole32(m->mem.handle),
			.dst_region = htole32(m->mem.handle),
			.src_off = htole64(FROM), .dst_off = htole64(INTO),
		},
	};
}

static inline char *from_of(struct member *m)
{
	return m->mem.p + FROM;
}

static inline char *into_of(struct member *m)
{
	return m->mem.p + INTO;
}

/* The end of a collective, or an error: its code. */
static inline int tree_end(struct member *m)
{
	must(wait_for(&m->n, REC, m->rc, 0, PATIENCE_NS));
	if (counter_error(&m->n, REC, m->rc))
		return (int)counter_record(&m->n, REC, m->rc)->code;
	return BGDMA_OK;
}

static inline void tree_begin(struct member *m, const struct bgdma_desc *d)
{
	hit_clear(&m->n, REC, m->rc);
	counter_add(&m->n, REC, m->rc, 1);
	inject(&m->inj, d);
}

#endif /* BGDMA_SELFTESTS_TREE_H */
