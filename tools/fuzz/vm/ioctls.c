// SPDX-License-Identifier: GPL-2.0
/*
 * The ioctls: what each member of their structures is, and what to remember of
 * the results.
 */
#include <liburing.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include "machine.h"

/* @bytes of it at @offset are chosen as @sort. */
struct member {
	uint8_t offset;
	uint8_t bytes;
	uint8_t sort;
};

#define MEMBERS_MAX	16

struct request {
	unsigned long cmd;
	const char *name;
	struct member member[MEMBERS_MAX];
};

#define M(type, name, sort)						\
	{ offsetof(struct type, name), sizeof(((struct type *)0)->name), sort }

#define REQUEST(name, ...)	{ BGDMA_IOC_##name, #name, __VA_ARGS__ }

static const struct request requests[] = {
	REQUEST(QUERY, {}),
	REQUEST(ATTACH, {
		M(bgdma_attach, rank, C_RANK), M(bgdma_attach, ctx, C_CTX),
		M(bgdma_attach, inj_fifos, C_ROOM),
		M(bgdma_attach, rec_fifos, C_ROOM),
		M(bgdma_attach, rget_queues, C_ROOM),
		M(bgdma_attach, inj_counters, C_ROOM),
		M(bgdma_attach, rec_counters, C_ROOM),
		M(bgdma_attach, events, C_ROOM),
		M(bgdma_attach, flags, C_ZERO),
		M(bgdma_attach, resv, C_ZERO), M(bgdma_attach, resv1, C_ZERO),
	}),
	REQUEST(INJ_CREATE, {
		M(bgdma_inj_create, id, C_NEW_ID),
		M(bgdma_inj_create, entries, C_ENTRIES),
		M(bgdma_inj_create, flags, C_ZERO),
	}),
	REQUEST(REC_CREATE, {
		M(bgdma_rec_create, id, C_NEW_ID),
		M(bgdma_rec_create, bytes, C_BYTES),
		M(bgdma_rec_create, flags, C_ZERO),
	}),
	REQUEST(RGQ_CREATE, {
		M(bgdma_rgq_create, id, C_NEW_ID),
		M(bgdma_rgq_create, quota, C_QUOTA),
		M(bgdma_rgq_create, senders, C_COUNT),
		M(bgdma_rgq_create, timeout_ms, C_MS),
		M(bgdma_rgq_create, flags, C_ZERO),
	}),
	REQUEST(FIFO_DESTROY, {
		M(bgdma_fifo_destroy, kind, C_FIFO_KIND),
		M(bgdma_fifo_destroy, id, C_INJ),
		M(bgdma_fifo_destroy, resv, C_ZERO),
	}),
	REQUEST(COUNTER_ALLOC, {
		M(bgdma_counter_alloc, kind, C_COUNTER_KIND),
		M(bgdma_counter_alloc, count, C_COUNT),
		M(bgdma_counter_alloc, flags, C_FLAG),
		M(bgdma_counter_alloc, resv, C_ZERO),
	}),
	REQUEST(COUNTER_FREE, {
		M(bgdma_counter_free, kind, C_COUNTER_KIND),
		M(bgdma_counter_free, first, C_REC_SLOT),
		M(bgdma_counter_free, count, C_COUNT),
	}),
	REQUEST(REGION_PIN, {
		M(bgdma_region_pin, rights, C_LOCAL),
		M(bgdma_region_pin, addr, C_ADDR),
		M(bgdma_region_pin, length, C_LENGTH),
		M(bgdma_region_pin, resv, C_ZERO),
	}),
	REQUEST(REGION_ALLOC, {
		M(bgdma_region_alloc, rights, C_LOCAL),
		M(bgdma_region_alloc, length, C_LENGTH),
		M(bgdma_region_alloc, resv, C_ZERO),
	}),
	REQUEST(REGION_FREE, {
		M(bgdma_region_free, handle, C_REGION),
	}),
	REQUEST(GRANT, {
		M(bgdma_grant, kind, C_KIND), M(bgdma_grant, object, C_OBJECT),
		M(bgdma_grant, count, C_COUNT), M(bgdma_grant, rank, C_RANK),
		M(bgdma_grant, ctx, C_CTX),
		M(bgdma_grant, incarnation, C_SOME_INCARNATION),
		M(bgdma_grant, rights, C_RIGHTS), M(bgdma_grant, lo, C_ZERO),
		M(bgdma_grant, hi, C_OFFSET), M(bgdma_grant, resv, C_ZERO),
		M(bgdma_grant, resv1, C_ZERO),
	}),
	REQUEST(REVOKE, {
		M(bgdma_revoke, id, C_GRANT),
	}),
	REQUEST(GROUP_BIND, {
		M(bgdma_group_bind, group, C_COUNT),
		M(bgdma_group_bind, count, C_COUNT),
		M(bgdma_group_bind, slots, C_ADDR),
		M(bgdma_group_bind, members, C_ADDR),
		M(bgdma_group_bind, member_count, C_COUNT),
		M(bgdma_group_bind, flags, C_ZERO),
	}),
	REQUEST(GROUP_UNBIND, {
		M(bgdma_group_unbind, group, C_COUNT),
	}),
	REQUEST(CLASS_BIND, {
		M(bgdma_class_bind, number, C_COUNT),
		M(bgdma_class_bind, instance, C_COUNT),
		M(bgdma_class_bind, rank, C_RANK),
		M(bgdma_class_bind, member_count, C_COUNT),
		M(bgdma_class_bind, members, C_ADDR),
		M(bgdma_class_bind, packet, C_ZERO),
		M(bgdma_class_bind, window, C_ZERO),
		M(bgdma_class_bind, flags, C_FLAG),
	}),
	REQUEST(CLASS_UNBIND, {
		M(bgdma_class_unbind, number, C_COUNT),
		M(bgdma_class_unbind, flags, C_FLAG),
		M(bgdma_class_unbind, resv, C_ZERO),
	}),
	REQUEST(GATE, {
		M(bgdma_gate, region, C_REGION),
		M(bgdma_gate, epochs, C_COUNT),
		M(bgdma_gate, flags, C_FLAG),
	}),
	REQUEST(EPOCHS, {
		M(bgdma_epochs, region, C_REGION),
		M(bgdma_epochs, count, C_COUNT),
		M(bgdma_epochs, epochs, C_ADDR),
		M(bgdma_epochs, flags, C_ZERO),
	}),
	REQUEST(EPOCH_ALLOW, {
		M(bgdma_epoch_allow, region, C_REGION),
		M(bgdma_epoch_allow, epoch, C_COUNT),
		M(bgdma_epoch_allow, incarnation, C_INCARNATION),
		M(bgdma_epoch_allow, flags, C_ZERO),
		M(bgdma_epoch_allow, rank, C_RANK),
	}),
	REQUEST(EVENT_BIND, {
		M(bgdma_event_bind, kind, C_KIND),
		M(bgdma_event_bind, object, C_OBJECT),
		M(bgdma_event_bind, eventfd, C_FD),
		M(bgdma_event_bind, flags, C_ZERO),
		M(bgdma_event_bind, resv, C_ZERO),
	}),
	REQUEST(CLEAR_ERROR, {
		M(bgdma_clear_error, kind, C_FIFO_KIND),
		M(bgdma_clear_error, object, C_INJ),
		M(bgdma_clear_error, flags, C_FLAG),
	}),
	REQUEST(CANCEL, {
		M(bgdma_cancel, fifo, C_INJ), M(bgdma_cancel, first, C_SEQ),
		M(bgdma_cancel, last, C_SEQ), M(bgdma_cancel, flags, C_ZERO),
	}),
	REQUEST(WAIT, {
		M(bgdma_wait, conditions, C_ADDR), M(bgdma_wait, count, C_COUNT),
		M(bgdma_wait, timeout_ns, C_NS), M(bgdma_wait, flags, C_ZERO),
	}),
	REQUEST(DOORBELL, {}),
	REQUEST(NOTIFY, {}),
};

_Static_assert(sizeof(requests) / sizeof(requests[0]) == IOCTLS, "all ioctls");

const char *ioctl_name(unsigned int which)
{
	return requests[which].name;
}

/* ---- Arguments --------------------------------------------------------- */

/* With the last choice: a size that is not the structure's own. */
static __u32 choose_size(__u32 right, uint8_t choice)
{
	static const int other[] = { 0, 4, -4, 4, 8, 4096, 4097, -1 };
	int by = choice < CHOICE_ODD ? 0 : other[choice % 8];

	return by == 0 ? right : by == -4 || by == 8 ? right + (__u32)by :
							(__u32)by;
}

static void fill_in(struct machine *m, struct file *f, const struct request *r,
		    const uint8_t *choice, char *arg)
{
	__u32 size = choose_size(_IOC_SIZE(r->cmd), choice[CHOICES - 1]);
	int i;

	memcpy(arg, &size, sizeof(size));
	for (i = 0; i < MEMBERS_MAX && r->member[i].bytes; i++) {
		__u64 v = choose(m, f, r->member[i].sort, choice[i]);

		memcpy(arg + r->member[i].offset, &v, r->member[i].bytes);
	}
}

/* Conditions of a wait, where its pointer most likely points. */
static void conditions(struct machine *m, struct file *f,
		       const uint8_t *choice)
{
	struct bgdma_condition *c = (void *)m->arena;
	int i;

	if (sigsetjmp(touching, 1))
		return;
	for (i = 0; i < 4; i++)
		c[i] = (struct bgdma_condition){
			.kind = (__u32)choose(m, f, C_KIND, choice[4 + i]),
			.object = (__u32)choose(m, f, C_OBJECT, choice[8 + i]),
			.value = choose(m, f, C_VALUE, choice[12 + i]),
		};
}

/* ---- Results ----------------------------------------------------------- */

static void area_add(struct file *f, const struct bgdma_area *area)
{
	f->area[f->areas++ % LIST] = *area;
}

static void counters_add(struct file *f, const struct bgdma_counter_alloc *c)
{
	bool inj = c->kind == INJ;

	/* The first generation: a guess that is right until it is freed. */
	thing_add(f, inj ? INJ_SLOTS : REC_SLOTS, c->first);
	thing_add(f, inj ? INJ_COUNTERS : REC_COUNTERS,
		  BGDMA_HANDLE(c->first, 1));
}

static void remember(struct file *f, unsigned long cmd, const void *arg)
{
	const struct bgdma_attach *at = arg;
	const struct bgdma_region_alloc *alloc = arg;
	int i;

	switch (cmd) {
	case BGDMA_IOC_ATTACH:
		f->at = *at;
		for (i = 0; i < BGDMA_AREA_COUNT; i++)
			area_add(f, &at->areas[i]);
		break;
	case BGDMA_IOC_INJ_CREATE:
		thing_add(f, INJ_FIFOS, ((struct bgdma_inj_create *)arg)->id);
		area_add(f, &((struct bgdma_inj_create *)arg)->ring);
		break;
	case BGDMA_IOC_REC_CREATE:
		thing_add(f, REC_FIFOS, ((struct bgdma_rec_create *)arg)->id);
		area_add(f, &((struct bgdma_rec_create *)arg)->ring);
		break;
	case BGDMA_IOC_RGQ_CREATE:
		thing_add(f, QUEUES, ((struct bgdma_rgq_create *)arg)->id);
		break;
	case BGDMA_IOC_COUNTER_ALLOC:
		counters_add(f, arg);
		break;
	case BGDMA_IOC_REGION_PIN:
		thing_add(f, REGIONS, ((struct bgdma_region_pin *)arg)->handle);
		break;
	case BGDMA_IOC_REGION_ALLOC:
		thing_add(f, REGIONS, alloc->handle);
		area_add(f, &alloc->mem);
		break;
	case BGDMA_IOC_GRANT:
		thing_add(f, GRANTS, ((struct bgdma_grant *)arg)->id);
		break;
	}
}

/* ---- Calls ------------------------------------------------------------- */

static unsigned long plain_argument(struct machine *m, struct file *f,
				    unsigned long cmd, const uint8_t *choice)
{
	if (cmd == BGDMA_IOC_DOORBELL)
		return choose(m, f, C_FLAG, choice[0]);
	return BGDMA_NOTIFY_ARG(choose(m, f, C_COUNTER_KIND, choice[0]),
				choose(m, f, C_REC_SLOT, choice[1]));
}

/* The object that goes with the kind at @kind, if that is a sensible one. */
static void match_object(struct machine *m, struct file *f, void *kind,
			 void *object, uint8_t choice)
{
	static const enum sort sorts[] = {
		C_VALUE, C_INJ, C_REC, C_QUEUE, C_INJ_SLOT, C_REC_SLOT,
		C_REGION, C_ZERO, C_VALUE, C_COUNT
	};
	__u32 k, v;

	memcpy(&k, kind, sizeof(k));
	if (k > BGDMA_KIND_CLASS)
		return;
	v = (__u32)choose(m, f, sorts[k], choice);
	memcpy(object, &v, sizeof(v));
}

static void match(struct machine *m, struct file *f, unsigned long cmd,
		  const uint8_t *choice, char *arg)
{
	struct bgdma_grant *g = (void *)arg;
	struct bgdma_event_bind *b = (void *)arg;
	struct bgdma_clear_error *c = (void *)arg;
	struct bgdma_fifo_destroy *d = (void *)arg;
	struct bgdma_counter_free *free = (void *)arg;
	struct bgdma_epoch_allow *allow = (void *)arg;

	if (cmd == BGDMA_IOC_GRANT)
		match_object(m, f, &g->kind, &g->object, choice[1]);
	else if (cmd == BGDMA_IOC_EVENT_BIND)
		match_object(m, f, &b->kind, &b->object, choice[1]);
	else if (cmd == BGDMA_IOC_CLEAR_ERROR)
		match_object(m, f, &c->kind, &c->object, choice[1]);
	else if (cmd == BGDMA_IOC_FIFO_DESTROY)
		match_object(m, f, &d->kind, &d->id, choice[1]);
	else if (cmd == BGDMA_IOC_COUNTER_FREE)
		match_object(m, f, &free->kind, &free->first, choice[1]);
	else if (cmd == BGDMA_IOC_EPOCH_ALLOW)
		/* Where the one of that incarnation is: see C_INCARNATION. */
		allow->rank = m->file[choice[2] % FILES].at.rank;
}

void call_ioctl(struct machine *m, struct file *f, unsigned int which,
		const uint8_t *choice)
{
	/* A longer structure than any has zeros behind it, or has not. */
	char arg[2 * PAGE] __attribute__((aligned(8))) = { 0 };
	const struct request *r = &requests[which % IOCTLS];
	unsigned long cmd = r->cmd;

	if (cmd == BGDMA_IOC_DOORBELL || cmd == BGDMA_IOC_NOTIFY) {
		ioctl(f->fd, cmd, plain_argument(m, f, cmd, choice));
		return;
	}
	if (cmd == BGDMA_IOC_WAIT)
		conditions(m, f, choice);
	if (cmd == BGDMA_IOC_ATTACH)
		snprintf(((struct bgdma_attach *)arg)->partition,
			 BGDMA_NAME_MAX, "%s", choose_name(choice[14]));
	fill_in(m, f, r, choice, arg);
	if (choice[16] < CHOICE_ODD)
		match(m, f, cmd, choice, arg);
	else
		arg[_IOC_SIZE(cmd) + choice[15]] = 1;
	/* Sometimes no structure at all, or one that cannot be written. */
	if (choice[16] == 0xff)
		ioctl(f->fd, cmd, choose(m, f, C_VALUE, choice[15]));
	else if (!ioctl(f->fd, cmd, arg))
		remember(f, cmd, arg);
}

/* One or two commands by io_uring, and a little patience for each. */
void call_uring(struct machine *m, struct file *f, const uint8_t *choice)
{
	static const __u32 ops[] = { BGDMA_URING_DOORBELL, BGDMA_URING_WAIT };
	struct __kernel_timespec patience = { .tv_nsec = 1000000 };
	int count = 1 + choice[0] % 2, i;
	struct io_uring_cqe *cqe;
	struct io_uring ring;

	if (io_uring_queue_init(4, &ring, choice[1] % 8 == 7 ?
				IORING_SETUP_SQPOLL : 0))
		return;
	for (i = 0; i < count; i++) {
		struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);
		const uint8_t *c = choice + 2 + 6 * i;
		struct bgdma_condition wait = {
			.kind = (__u32)choose(m, f, C_KIND, c[0]),
			.object = (__u32)choose(m, f, C_OBJECT, c[1]),
			.value = choose(m, f, C_VALUE, c[2]),
		};
		__u64 flags = choose(m, f, C_FLAG, c[1]);
		__u64 op = c[3] < CHOICE_ODD ? ops[c[3] % 2] :
					       choose(m, f, C_VALUE, c[3]);

		match_object(m, f, &wait.kind, &wait.object, c[1]);
		io_uring_prep_rw(IORING_OP_URING_CMD, sqe, f->fd, NULL, 0, op);
		if (op == BGDMA_URING_DOORBELL)
			memcpy(sqe->cmd, &flags, sizeof(flags));
		else
			memcpy(sqe->cmd, &wait, sizeof(wait));
		sqe->user_data = (__u64)i + 1;
		if (c[4] >= CHOICE_ODD)
			sqe->flags |= IOSQE_ASYNC;
	}
	io_uring_submit(&ring);
	while (count-- && !io_uring_wait_cqe_timeout(&ring, &cqe, &patience))
		io_uring_cqe_seen(&ring, cqe);
	if (choice[15] % 2) {
		struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);

		if (sqe) {
			io_uring_prep_cancel64(sqe, 1, 0);
			io_uring_submit(&ring);
		}
	}
	io_uring_queue_exit(&ring);
}
