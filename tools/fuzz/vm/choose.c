// SPDX-License-Identifier: GPL-2.0
/*
 * From a byte to an argument: something that makes sense there, or, from
 * CHOICE_ODD on, a number that often goes wrong.
 */
#include "machine.h"

static const __u64 odd[] = {
	0, 1, 2, ~0ULL, 0x7fffffff, 0x80000000, 0xffff, 0x10000, PAGE,
	PAGE - 1, 1ULL << 32, 1ULL << 63, 65, INT64_MAX, 0xfffff000,
	0xfffffffffffff000
};

static const char *const names[] = {
	PARTITION, PARTITION, PARTITION, "other", "third", "", "none",
	"a name that is longer than a name can be",
};

const char *choose_name(uint8_t choice)
{
	return names[choice % 8];
}

void thing_add(struct file *f, enum thing which, __u32 v)
{
	struct list *l = &f->things[which];

	l->v[l->n % LIST] = v;
	l->n++;
}

__u32 thing(struct file *f, enum thing which, uint8_t choice)
{
	const struct list *l = &f->things[which];
	unsigned int n = l->n < LIST ? l->n : LIST;

	return n ? l->v[choice % n] : choice;
}

/* Of a kind chosen by the same byte. */
static __u32 any_thing(struct file *f, uint8_t choice)
{
	return thing(f, (choice / LIST) % THINGS, choice % LIST);
}

static __u64 of_table(const __u64 *table, size_t n, uint8_t choice)
{
	return table[choice % n];
}

#define OF(choice, ...)							\
	of_table((const __u64[]){ __VA_ARGS__ },			\
		 sizeof((const __u64[]){ __VA_ARGS__ }) / sizeof(__u64),	\
		 choice)

static __u64 sensible(struct machine *m, struct file *f, enum sort sort,
		      uint8_t c)
{
	switch (sort) {
	case C_SIZE:	/* the caller adds this to the right one */
	case C_ZERO:
		return 0;
	case C_RANK:
		return OF(c, 0, 1, 2, 3, 0, 1, BGDMA_RANK_ANY,
			  BGDMA_RANK_NOBODY, 4, 5);
	case C_CTX:
		return OF(c, BGDMA_CTX_ANY, 0, 1, BGDMA_CTX_ANY, 2, 255, 256);
	case C_NEW_ID:
		return OF(c, BGDMA_ID_ANY, BGDMA_ID_ANY, 0, 1, 2, 3, 63, 64);
	case C_KIND:
		return c % 10;
	case C_FIFO_KIND:
		return OF(c, BGDMA_KIND_INJ_FIFO, BGDMA_KIND_REC_FIFO,
			  BGDMA_KIND_RGET_QUEUE);
	case C_COUNTER_KIND:
		return OF(c, INJ, REC);
	case C_COUNT:
		return OF(c, 1, 1, 2, 3, 4, 16, 64, 65);
	case C_ENTRIES:
		return OF(c, 16, 32, 64, 256, 4096, BGDMA_INJ_ENTRIES_MAX);
	case C_BYTES:
		return OF(c, 16384, 16384, 32768, 65536, 1 << 20);
	case C_QUOTA:
		return OF(c, 16, 32, 64, 4096);
	case C_MS:
		return OF(c, 0, 1, 10, 2000);
	case C_ROOM:
		return OF(c, 0, 0, 0, 1, 2, 16, 64, 1024);
	case C_RIGHTS:
		return OF(c, 0x3ff, BGDMA_RIGHT_ACCEPT, BGDMA_RIGHT_INJECT,
			  BGDMA_RIGHT_COUNT, PEER_RW, BGDMA_RIGHT_READ,
			  BGDMA_RIGHT_WRITE, BGDMA_RIGHT_FETCH,
			  PEER_RW | BGDMA_RIGHT_ATOMIC | BGDMA_RIGHT_EPOCH);
	case C_LOCAL:
		return OF(c, LOCAL_RW, LOCAL_RW, BGDMA_LOCAL_READ,
			  BGDMA_LOCAL_WRITE, PEER_RW);
	case C_ADDR:
		return (uintptr_t)m->arena + (c % 4) * 8 * PAGE +
			OF(c, 0, 0, 1, 64, PAGE - 8);
	case C_LENGTH:
		return OF(c, 64, 8, 1, PAGE, 4 * PAGE, 65536, 24, 0, 100, 33);
	case C_OFFSET:
		return OF(c, 0, 0, 0, 1, 64, PAGE - 1, PAGE, 65535, 65536);
	case C_NS:
		return OF(c, 0, 1000, 1000000, 1, (__u64)-1);
	case C_FD:
		return OF(c, (__u64)m->eventfd[0], (__u64)m->eventfd[1],
			  (__u64)-1, (__u64)f->fd, 0);
	case C_SEQ:
		return f->inj.tail + OF(c, 0, (__u64)-1, (__u64)-2, 1, 2,
					(__u64)-16, 16);
	case C_FLAG:
		return OF(c, 0, 0, 1, 0);
	case C_INJ:
		return thing(f, INJ_FIFOS, c);
	case C_REC:
		return thing(f, REC_FIFOS, c);
	case C_QUEUE:
		return thing(f, QUEUES, c);
	case C_INJ_SLOT:
		return thing(f, INJ_SLOTS, c);
	case C_REC_SLOT:
		return thing(f, REC_SLOTS, c);
	case C_INJ_COUNTER:
		return thing(f, INJ_COUNTERS, c);
	case C_REC_COUNTER:
		return thing(f, REC_COUNTERS, c);
	case C_REGION:
		return thing(f, REGIONS, c);
	case C_GRANT:
		return thing(f, GRANTS, c);
	case C_OBJECT:
		return any_thing(f, c);
	case C_SOME_INCARNATION:
		return c % 2 ? m->file[c / 2 % FILES].at.incarnation : 0;
	case C_INCARNATION:
		return m->file[c % FILES].at.incarnation;
	case C_VALUE:
		return OF(c, 0, 1, 64, 128, 4096, (__u64)-1, 16, 17);
	}
	return c;
}

__u64 choose(struct machine *m, struct file *f, enum sort sort,
	     uint8_t choice)
{
	if (choice >= CHOICE_ODD)
		return odd[choice - CHOICE_ODD];
	return sensible(m, f, sort, choice);
}
