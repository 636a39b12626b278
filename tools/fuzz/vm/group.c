// SPDX-License-Identifier: GPL-2.0
/*
 * Groups that the files are in together, and descriptors that go under them: down
 * a line, or by a remote get from one that came down one.
 */
#include <endian.h>
#include <sys/ioctl.h>

#include "machine.h"

#define GROUPS	3

enum { SLOT_REC, SLOT_REGION, SLOT_COUNTER, SLOT_QUEUE, SLOTS };

static __u32 group(uint8_t choice)
{
	return choice < CHOICE_ODD ? 1 + choice % GROUPS : choice;
}

/* Each rank once: of several contexts of one the first. */
static __u32 members(const struct machine *m, struct bgdma_group_member *member)
{
	__u32 n = 0, k;
	int i;

	for (i = 0; i < FILES; i++) {
		const struct bgdma_attach *at = &m->file[i].at;

		for (k = 0; k < n && member[k].rank != at->rank; k++)
			;
		if (k < n)
			continue;
		member[n++] = (struct bgdma_group_member){
			.rank = at->rank, .ctx = at->ctx,
		};
	}
	return n;
}

void call_group(struct machine *m, struct file *f, const uint8_t *choice)
{
	struct bgdma_group_slot slot[SLOTS] = {
		[SLOT_REC] = { BGDMA_KIND_REC_FIFO,
			       thing(f, REC_FIFOS, choice[1]) },
		[SLOT_REGION] = { BGDMA_KIND_REGION,
				  thing(f, REGIONS, choice[2]) },
		[SLOT_COUNTER] = { BGDMA_KIND_REC_COUNTER,
				   thing(f, REC_COUNTERS, choice[3]) },
		[SLOT_QUEUE] = { BGDMA_KIND_RGET_QUEUE,
				 thing(f, QUEUES, choice[4]) },
	};
	struct bgdma_group_member member[FILES];
	struct bgdma_group_bind bind = {
		.size = sizeof(bind), .group = group(choice[0]),
		.slots = (uintptr_t)slot, .count = SLOTS,
		.members = (uintptr_t)member,
		.member_count = members(m, member),
	};

	if (choice[5] % 8 == 7)
		bind.count = choice[5] % SLOTS;
	if (choice[6] % 8 == 7)
		bind.member_count = choice[6] % FILES;
	ioctl(f->fd, BGDMA_IOC_GROUP_BIND, &bind);
}

/* Where a line ends, of the partition that run_repair() makes: a torus along X. */
static __u32 line_end(const struct file *f, bool plus)
{
	__u32 dim = f->at.dims[0] ? f->at.dims[0] : 1;
	__u32 x = f->at.rank % dim;

	return f->at.rank - x + (x + (plus ? dim - 1 : 1)) % dim;
}

void under_group(struct file *f, struct bgdma_desc *d, const uint8_t *choice)
{
	bool plus = choice[6] & 16;

	/* It is there already when it came under one. */
	d->flags |= BGDMA_DESC_GROUP;
	d->dst_ctx = htole16((__u16)group(choice[7]));
	if (choice[6] % 16 == 14)
		return;
	d->route = BGDMA_ROUTE_DEPOSIT |
		   (plus ? BGDMA_ROUTE_XP : BGDMA_ROUTE_XM);
	d->dst_rank = htole32(line_end(f, plus));
	d->dst_fifo = htole16(d->op == BGDMA_OP_RGET ? SLOT_QUEUE : SLOT_REC);
	if (choice[10] % 4)
		d->rec_ctr = htole32(SLOT_COUNTER);
	if (d->op == BGDMA_OP_PUT)
		d->u.at.dst_region = htole32(SLOT_REGION);
}
