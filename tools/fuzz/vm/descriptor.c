// SPDX-License-Identifier: GPL-2.0
/*
 * Descriptors: nearly right ones, in rings and in memory that remote gets take
 * them from, and the indices that make the engine look.
 */
#include <endian.h>
#include <string.h>

#include "machine.h"

/* Where a descriptor goes. */
static struct file *target(struct machine *m, const uint8_t *choice)
{
	return &m->file[choice[2] % FILES];
}

static __u8 choose_op(uint8_t choice)
{
	static const __u8 ops[] = {
		BGDMA_OP_PUT, BGDMA_OP_MEMFIFO, BGDMA_OP_RGET, BGDMA_OP_PUT,
		BGDMA_OP_LOCAL_COPY, BGDMA_OP_LOCAL_MEMFIFO, BGDMA_OP_NOP,
		BGDMA_OP_MEMFIFO, BGDMA_OP_ATOMIC, BGDMA_OP_ATOMIC,
		BGDMA_OP_EPOCH_BEGIN, BGDMA_OP_EPOCH_BEGIN,
		BGDMA_OP_EPOCH_CLOSE, BGDMA_OP_EPOCH_END, BGDMA_OP_RGET,
		BGDMA_OP_TREE_ALLREDUCE, BGDMA_OP_TREE_ALLREDUCE,
		BGDMA_OP_TREE_BCAST, BGDMA_OP_TREE_REDUCE, BGDMA_OP_TREE_P2P
	};

	return choice < CHOICE_ODD ? ops[choice % 20] : choice;
}

static bool in_tree(__u8 op)
{
	return op >= BGDMA_OP_TREE_REDUCE && op <= BGDMA_OP_TREE_P2P;
}

/* Of few epochs, so that they meet. */
static struct bgdma_desc one_sided(struct file *f, struct file *to,
				   const uint8_t *choice)
{
	__u32 src = thing(f, REGIONS, choice[7]);
	__u32 dst = thing(to, REGIONS, choice[8]);
	__u8 op = choose_op(choice[1]);
	struct bgdma_desc d;

	if (op != BGDMA_OP_ATOMIC) {
		d = d_gate(to->at.rank, op, dst, 1 + choice[3] % 3, BGDMA_NONE);
		if (op == BGDMA_OP_EPOCH_BEGIN)
			d.flags = (choice[11] & 1 ? BGDMA_DESC_HOLD : 0) |
				  (choice[11] & 2 ? BGDMA_DESC_EXCLUSIVE : 0);
		else if (op == BGDMA_OP_EPOCH_CLOSE)
			d.cookie = htole64(choice[11] % 4);
		return d;
	}
	d = d_atomic(to->at.rank, choice[11] % BGDMA_ATOMIC_OP_COUNT,
		     choice[12] % BGDMA_ATOMIC_TYPE_COUNT, 0, dst,
		     choice[12] / 4 * 4, 1 + choice[5] % 40);
	if (choice[3] % 2)
		d.flags = BGDMA_DESC_FETCH;
	if (choice[3] % 2 || choice[5] % 40)
		d.u.at.src_region = htole32(src);
	return d;
}

static struct bgdma_desc right_one(struct file *f, struct file *to,
				   const uint8_t *choice, __u32 length)
{
	__u32 src = thing(f, REGIONS, choice[7]);
	__u32 dst = thing(to, REGIONS, choice[8]);
	__u32 rec = thing(to, REC_FIFOS, choice[3]);
	__u32 rgq = thing(to, QUEUES, choice[3]);

	switch (choose_op(choice[1])) {
	case BGDMA_OP_PUT:
		return d_put(to->at.rank, src, 0, dst, 0, length);
	case BGDMA_OP_LOCAL_COPY:
		return d_copy(src, 0, thing(f, REGIONS, choice[8]), 0, length);
	case BGDMA_OP_MEMFIFO:
		if (choice[4] % 4 == 3)
			return d_inline(to->at.rank, rec, &dst, sizeof(dst));
		return d_memfifo(to->at.rank, rec, src, 0, length);
	case BGDMA_OP_LOCAL_MEMFIFO:
		return d_local_memfifo(thing(f, REC_FIFOS, choice[3]), src, 0,
				       length);
	case BGDMA_OP_RGET:
		return d_rget(to->at.rank, rgq, src, 0, 1 + choice[5] % 4);
	case BGDMA_OP_NOP:
		return d_nop();
	case BGDMA_OP_TREE_REDUCE:
	case BGDMA_OP_TREE_BCAST:
	case BGDMA_OP_TREE_ALLREDUCE:
	case BGDMA_OP_TREE_P2P:
		return in_class(f, choose_op(choice[1]), choice, length);
	default:
		return one_sided(f, to, choice);
	}
}

/* Puts of an epoch, or those that it keeps out. */
static void in_epoch(struct bgdma_desc *d, uint8_t choice)
{
	if (d->op != BGDMA_OP_PUT && d->op != BGDMA_OP_ATOMIC)
		return;
	if (choice % 4 == 1)
		d->epoch = htole32(1 + choice % 3);
	if (choice % 4 >= 2)
		d->flags |= BGDMA_DESC_HOLD;
}

static struct bgdma_desc descriptor(struct machine *m, struct file *f,
				    const uint8_t *choice)
{
	struct file *to = target(m, choice);
	__u32 length = (__u32)choose(m, f, C_LENGTH, choice[5]);
	struct bgdma_desc d = right_one(f, to, choice, length);
	bool at = !(d.flags & BGDMA_DESC_INLINE) && d.op != BGDMA_OP_NOP &&
		  d.op < BGDMA_OP_ATOMIC;

	d.op = choose_op(choice[1]);
	in_epoch(&d, choice[15]);
	if (d.op != BGDMA_OP_NOP && d.op != BGDMA_OP_LOCAL_COPY &&
	    d.op != BGDMA_OP_LOCAL_MEMFIFO && !in_tree(d.op))
		d.dst_ctx = htole16(to->at.ctx);
	d.flags |= choice[4] & (choice[4] < CHOICE_ODD ?
		BGDMA_DESC_INTERRUPT | BGDMA_DESC_FENCE : 0xff);
	if (choice[6] >= CHOICE_ODD)
		d.route = choice[6] * 7;
	if (choice[9] % 4)
		d.inj_ctr = htole32(thing(f, INJ_COUNTERS, choice[9]));
	if (choice[10] % 4 && d.op != BGDMA_OP_NOP &&
	    d.op <= BGDMA_OP_TREE_P2P)
		d.rec_ctr = htole32(thing(in_tree(d.op) ? f : to, REC_COUNTERS,
					  choice[10]));
	if (choice[10] % 8 == 7)
		d.flags |= BGDMA_DESC_OPS;
	if (choice[6] < CHOICE_ODD && choice[6] % 16 >= 14)
		under_group(f, &d, choice);
	if (at)
		d.u.at.src_off = htole64(choose(m, f, C_OFFSET, choice[11]));
	if (at && le32toh(d.u.at.dst_region) != BGDMA_NONE)
		d.u.at.dst_off = htole64(choose(m, f, C_OFFSET, choice[12]));
	/* Any byte of it. */
	if (choice[13] >= CHOICE_ODD)
		((char *)&d)[choice[14] % sizeof(d)] = (char)choice[15];
	return d;
}

static void ring(struct machine *m, struct file *f, uint8_t choice)
{
	/* Whether or not the engine sleeps. */
	if (choice % 8 < 6)
		doorbell(&(struct node){ .fd = f->fd }, choice % 4 == 3);
	(void)m;
}

static void publish(struct inj *i)
{
	store(&i->user->tail, i->tail);
	__atomic_fetch_or(&i->n->uctl->doorbell[i->id / 64], 1ULL << i->id % 64,
			  __ATOMIC_SEQ_CST);
}

/*
 * Up to 17 descriptors that differ a little, and the doorbell; mostly after an
 * error is cleared, as there would be nothing but the first.
 */
void call_inject(struct machine *m, struct file *f, const uint8_t *choice)
{
	static const uint8_t counts[] = { 1, 1, 2, 3, 4, 8, 16, 17 };
	struct bgdma_desc d = descriptor(m, f, choice);
	struct inj *i = &f->inj;
	int n = counts[choice[0] % 8];

	if (!i->ring || sigsetjmp(touching, 1))
		return;
	if (load(&i->kern->state) == BGDMA_FIFO_ERROR && choice[17] % 4 != 3)
		clear_error(i->n, BGDMA_KIND_INJ_FIFO, i->id, choice[17] % 2);
	while (n--) {
		i->ring[i->tail++ & (i->entries - 1)] = d;
		d.cookie = htole64((__u64)n);
	}
	publish(i);
	ring(m, f, choice[16]);
}

/* A descriptor in memory, for a remote get to find. */
void call_prepare(struct machine *m, struct file *f, const uint8_t *choice)
{
	struct bgdma_desc d = descriptor(m, f, choice);
	struct view v = m->view[choice[16] % VIEWS];

	if (choice[16] < CHOICE_ODD)
		v = (struct view){ m->arena + (f - m->file) * 8 * PAGE,
				   8 * PAGE };
	if (!v.p || v.bytes < PAGE || sigsetjmp(touching, 1))
		return;
	if (choice[17] % 4 == 3)
		d.u.at.src_region = htole32(BGDMA_NONE);
	((struct bgdma_desc *)v.p)[choice[0] % 16] = d;
}

/* The tail alone, by any distance. */
void call_tail(struct machine *m, struct file *f, const uint8_t *choice)
{
	struct inj *i = &f->inj;

	if (!i->ring || sigsetjmp(touching, 1))
		return;
	i->tail += choose(m, f, C_VALUE, choice[0]);
	publish(i);
	ring(m, f, choice[1]);
}

/* Take what is in a reception FIFO, or say that we did; arm it, too. */
void call_drain(struct machine *m, struct file *f, const uint8_t *choice)
{
	struct node *n = f->inj.n;
	__u32 id = (__u32)choose(m, f, C_REC, choice[0]) % BGDMA_REC_FIFOS_MAX;
	struct bgdma_rec_user *user;
	const struct bgdma_rec_kern *kern;

	if (!n || sigsetjmp(touching, 1))
		return;
	user = in_area(n, BGDMA_AREA_USER_CTL,
		       f->at.user_rec + id * sizeof(*user));
	kern = in_area(n, BGDMA_AREA_KERN_CTL,
		       f->at.kern_rec + id * sizeof(*kern));
	store(&user->head, load(&kern->tail) +
	      (choice[1] < CHOICE_ODD ? 0 :
	       choose(m, f, C_VALUE, choice[1])));
	store(&user->arm, (__u32)choose(m, f, C_KIND, choice[2]) % 5);
	store(&user->arm_bytes, (__u32)choose(m, f, C_LENGTH, choice[3]));
	__atomic_fetch_or(&n->uctl->doorbell_rec, 1ULL << id, __ATOMIC_SEQ_CST);
	ring(m, f, choice[4]);
}
