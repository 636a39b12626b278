/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the tests of groups share: two lines of nodes that are all members of one
 * group. Nobody grants anything: what is allowed, the group allows.
 */
#ifndef BGDMA_SELFTESTS_GROUP_H
#define BGDMA_SELFTESTS_GROUP_H

#include <endian.h>
#include <string.h>

#include "kselftest_harness.h"
#include "utils.h"

#define GROUP	7
#define LINE	4	/* nodes of a line along X */
#define NODES	(2 * LINE)
#define BYTES	(96 * KIB)

/* The slots of every member, in the same order. */
enum slot { S_FIFO, S_QUEUE, S_IC, S_RC, S_MEM, S_COUNT };

struct member {
	struct node n;
	struct inj inj;
	struct rec rec;
	__u32 rgq;
	__u32 ic, rc;
	struct region mem;
};

/* A counter that nobody may move from outside; its handle. */
static inline __u32 counter_closed(struct node *n, __u32 kind)
{
	__u32 slot;

	must(counter_alloc(n, kind, BGDMA_COUNTER_NO_UNDERFLOW, 1, &slot));
	return BGDMA_HANDLE(slot, cell(n, kind, slot)->lease_gen);
}

static inline void member_new(struct member *m, __u32 rank)
{
	node_new(&m->n, rank);
	inj_new(&m->inj, &m->n);
	must(rec_try(&m->rec, &m->n, BGDMA_ID_ANY, BGDMA_REC_BYTES_MIN));
	must(rgq_try(&m->n, 16, 8, 0, &m->rgq));
	m->ic = counter_closed(&m->n, INJ);
	m->rc = counter_closed(&m->n, REC);
	m->mem.n = &m->n;
	m->mem.bytes = BYTES;
	m->mem.p = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(m->mem.p == MAP_FAILED ? -errno : 0);
	must(region_pin(&m->n, m->mem.p, BYTES, LOCAL_RW, &m->mem.handle));
}

static inline void slots_of(struct member *m, struct bgdma_group_slot *slots)
{
	slots[S_FIFO] = (struct bgdma_group_slot){ BGDMA_KIND_REC_FIFO,
						   m->rec.id };
	slots[S_QUEUE] = (struct bgdma_group_slot){ BGDMA_KIND_RGET_QUEUE,
						    m->rgq };
	slots[S_IC] = (struct bgdma_group_slot){ INJ, m->ic };
	slots[S_RC] = (struct bgdma_group_slot){ REC, m->rc };
	slots[S_MEM] = (struct bgdma_group_slot){ BGDMA_KIND_REGION,
						  m->mem.handle };
}

static inline int bind_as(struct node *n, __u32 group,
			  const struct bgdma_group_slot *slots, __u32 slot_count,
			  const struct bgdma_group_member *members, __u32 count)
{
	struct bgdma_group_bind c = {
		.size = sizeof(c), .group = group,
		.slots = (uintptr_t)slots, .count = slot_count,
		.members = (uintptr_t)members, .member_count = count,
	};

	return bg_ioctl(n->fd, BGDMA_IOC_GROUP_BIND, &c);
}

/* With the nodes whose bit is set as members. */
static inline int bind_with(struct member *m, __u32 group, unsigned int members)
{
	struct bgdma_group_member who[NODES] = { 0 };
	struct bgdma_group_slot slots[S_COUNT];
	__u32 n = 0, rank;

	/* From the last to the first: any order will do. */
	for (rank = NODES; rank--;)
		if (members & 1U << rank)
			who[n++].rank = rank;
	slots_of(m, slots);
	return bind_as(&m->n, group, slots, S_COUNT, who, n);
}

static inline int unbind(struct member *m, __u32 group)
{
	struct bgdma_group_unbind c = { .size = sizeof(c), .group = group };

	return bg_ioctl(m->n.fd, BGDMA_IOC_GROUP_UNBIND, &c);
}

#define EVERYBODY	((1U << NODES) - 1)

/* Two lines of four along X; @torus: of all axes. */
FIXTURE(group) {
	struct member m[NODES];
};

FIXTURE_VARIANT(group) {
	const char *torus;
};

FIXTURE_VARIANT_ADD(group, torus) { .torus = "torus xyz" };
FIXTURE_VARIANT_ADD(group, mesh) { .torus = "torus none" };

static inline void members_new(struct member *m, const char *torus)
{
	__u32 i;

	partition_new("4x2x1", torus);
	for (i = 0; i < NODES; i++) {
		member_new(&m[i], i);
		must(bind_with(&m[i], GROUP, EVERYBODY));
	}
}

static inline void members_close(struct member *m)
{
	__u32 i;

	for (i = 0; i < NODES; i++)
		if (m[i].n.fd >= 0)
			node_close(&m[i].n);
}

FIXTURE_SETUP(group)
{
	members_new(self->m, variant->torus);
}

FIXTURE_TEARDOWN(group)
{
	members_close(self->m);
}

static inline bool is_torus(const struct node *n, unsigned int axis)
{
	return n->at.torus & 1U << axis;
}

/* Where the line from @rank along X ends, and how many are on it. */
static inline __u32 line_end(const struct node *n, __u32 rank, bool plus, __u32 *hops)
{
	__u32 x = rank % LINE, row = rank - x;

	if (is_torus(n, 0)) {
		*hops = LINE - 1;
		return row + (x + (plus ? LINE - 1 : 1)) % LINE;
	}
	*hops = plus ? LINE - 1 - x : x;
	return row + (plus ? LINE - 1 : 0);
}

static inline void deposit(struct bgdma_desc *d, struct member *from, bool plus,
			   __u32 group)
{
	__u32 hops;

	d->flags |= BGDMA_DESC_GROUP;
	d->route = BGDMA_ROUTE_DEPOSIT |
		   (plus ? BGDMA_ROUTE_XP : BGDMA_ROUTE_XM);
	d->dst_ctx = htole16((__u16)group);
	d->dst_rank = htole32(line_end(&from->n, from->n.at.rank, plus, &hops));
}

static inline struct bgdma_desc d_send(struct member *from, bool plus, __u32 number)
{
	struct bgdma_desc d = d_inline(0, S_FIFO, &number, sizeof(number));

	deposit(&d, from, plus, GROUP);
	return d;
}

/* Rank @at is passed by a line from @from, and not @from itself. */
static inline bool on_line(const struct node *n, __u32 from, __u32 at, bool plus)
{
	if (from / LINE != at / LINE || from == at)
		return false;
	return is_torus(n, 0) || (plus ? at > from : at < from);
}

#endif /* BGDMA_SELFTESTS_GROUP_H */
