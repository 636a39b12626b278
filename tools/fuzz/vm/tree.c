// SPDX-License-Identifier: GPL-2.0
/*
 * Classes of the combining network that the files are members of together, and
 * descriptors of parts in their collectives.
 */
#include <endian.h>
#include <sys/ioctl.h>

#include "machine.h"

#define CLASSES	3

static __u32 class(uint8_t choice)
{
	return choice < CHOICE_ODD ? choice % CLASSES : choice;
}

/*
 * The files in their order; in some classes in another, so that a file is the root
 * of one and at the end of the next.
 */
static __u32 members(const struct machine *m, struct bgdma_group_member *member,
		     const struct file *self, __u32 turn, __u32 *rank)
{
	__u32 n;

	for (n = 0; n < FILES; n++) {
		const struct file *f = &m->file[(n + turn) % FILES];

		member[n] = (struct bgdma_group_member){
			.rank = f->at.rank, .ctx = f->at.ctx,
			.incarnation = f->at.incarnation,
		};
		if (f == self)
			*rank = n;
	}
	return n;
}

void call_class(struct machine *m, struct file *f, const uint8_t *choice)
{
	static const __u32 packets[] = { 0, BGDMA_CLASS_PACKET_MIN, 1024, 0 };
	struct bgdma_group_member member[FILES];
	struct bgdma_class_unbind unbind = { .size = sizeof(unbind) };
	struct bgdma_class_bind bind = {
		.size = sizeof(bind), .number = class(choice[0]),
		.instance = 1 + choice[1] / 64 / 3, .flags = choice[2] % 2,
		.members = (uintptr_t)member,
		.packet = packets[choice[3] % 4],
		.window = choice[4] % 8 ? 1U << choice[4] % 8 : 0,
	};

	bind.member_count = members(m, member, f, choice[0] / CLASSES % 2,
				    &bind.rank);
	if (choice[5] % 8 == 7)
		bind.member_count = choice[5] % (FILES + 2);
	if (choice[6] % 8 == 7)
		bind.rank = choice[6] % FILES;
	if (choice[7] % 8 == 7)
		member[choice[8] % FILES].incarnation += choice[9];
	ioctl(f->fd, BGDMA_IOC_CLASS_BIND, &bind);
	if (choice[10] % 8 < 6)
		return;
	unbind.number = class(choice[11]);
	unbind.flags = choice[12] % 2 ? BGDMA_CLASS_BREAK : 0;
	ioctl(f->fd, BGDMA_IOC_CLASS_UNBIND, &unbind);
}

/* Mostly alike, so that all members can ask for the same. */
struct bgdma_desc in_class(struct file *f, __u8 op, const uint8_t *choice,
			   __u32 length)
{
	bool odd = choice[3] >= CHOICE_ODD;
	struct bgdma_desc d = {
		.op = op, .class_prio = (__u8)(class(choice[2]) & BGDMA_CLASS_MASK),
		.inj_ctr = htole32(BGDMA_NONE), .rec_ctr = htole32(BGDMA_NONE),
		.length = htole32(odd ? length : choice[5] % 4 * 1000),
		.u.at = {
			.src_region = htole32(thing(f, REGIONS, choice[7])),
			.dst_region = htole32(thing(f, REGIONS, choice[8])),
		},
	};

	if (op == BGDMA_OP_TREE_P2P) {
		d.dst_rank = htole32(choice[5] % FILES);
		d.dst_fifo = htole16((__u16)thing(f, REC_FIFOS, choice[3]));
		d.u.at.dst_region = htole32(BGDMA_NONE);
	} else if (op != BGDMA_OP_TREE_BCAST || odd) {
		d.dispatch = htole16(odd ? choice[11] << 8 | choice[12] :
				     BGDMA_TREE_COMBINE(BGDMA_TREE_ADD,
							BGDMA_TREE_U64));
	}
	/* The result in packets: each member as it likes. */
	if (op != BGDMA_OP_TREE_P2P && choice[6] % 3 == 2) {
		d.class_prio |= BGDMA_TREE_PACKETS;
		d.dst_fifo = htole16(choice[11]);
		d.u.at.dst_region = htole32(thing(f, REC_FIFOS, choice[8]));
		d.cookie = htole64(choice[12]);
	}
	return d;
}
