// SPDX-License-Identifier: GPL-2.0
/*
 * The contract that every call keeps: sizes, flags, reserved fields, ranges.
 */
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include "kselftest_harness.h"
#include "utils.h"

/* ---- The layout, for ever --------------------------------------------- */

#define SIZE(type, bytes) \
	_Static_assert(sizeof(struct bgdma_##type) == (bytes), #type)
#define AT(type, field, offset) \
	_Static_assert(offsetof(struct bgdma_##type, field) == (offset), \
		       #type "." #field)

SIZE(desc, 64);
AT(desc, op, 0);
AT(desc, flags, 1);
AT(desc, route, 2);
AT(desc, class_prio, 3);
AT(desc, dst_rank, 4);
AT(desc, dst_ctx, 8);
AT(desc, dst_fifo, 10);
AT(desc, inj_ctr, 12);
AT(desc, rec_ctr, 16);
AT(desc, epoch, 20);
AT(desc, length, 24);
AT(desc, dispatch, 28);
AT(desc, resv, 30);
AT(desc, u.at.src_region, 32);
AT(desc, u.at.dst_region, 36);
AT(desc, u.at.src_off, 40);
AT(desc, u.at.dst_off, 48);
AT(desc, u.inline_data, 32);
AT(desc, cookie, 56);

SIZE(packet, 32);
AT(packet, bytes, 2);
AT(packet, src_rank, 4);
AT(packet, src_ctx, 8);
AT(packet, dispatch, 10);
AT(packet, msg_id, 12);
AT(packet, offset, 16);
AT(packet, msg_length, 20);
AT(packet, cookie, 24);

SIZE(record, 64);
AT(record, lost, 4);
AT(record, desc_seq, 8);
AT(record, fifo, 16);
AT(record, fifo_kind, 20);
AT(record, peer_ctx, 22);
AT(record, peer_rank, 24);
AT(record, transfer_id, 28);
AT(record, offset, 32);
AT(record, bound, 40);

SIZE(event, 64);
AT(event, peer_rank, 8);
AT(event, peer_ctx, 12);
AT(event, kind, 14);
AT(event, peer_incarnation, 16);
AT(event, object, 20);
AT(event, desc_seq, 24);
AT(event, transfer_id, 32);
AT(event, cookie, 40);
AT(event, offset, 48);
AT(event, bound, 56);

SIZE(user_ctl, 768);
AT(user_ctl, doorbell_rec, 128);
AT(user_ctl, events_head, 136);
AT(user_ctl, leases, 144);
AT(user_ctl, hit_zero, 256);
AT(user_ctl, enable, 512);
SIZE(kern_ctl, 512);
AT(kern_ctl, state, 4);
AT(kern_ctl, events_tail, 8);
AT(kern_ctl, events_lost, 16);
AT(kern_ctl, counter_error, 64);
AT(kern_ctl, inj_error, 320);
AT(kern_ctl, rec_error, 448);
AT(kern_ctl, rgq_error, 456);
SIZE(inj_user, 64);
SIZE(rec_user, 64);
AT(rec_user, arm, 8);
AT(rec_user, marked_seen, 16);
SIZE(inj_kern, 64);
AT(inj_kern, done, 8);
AT(inj_kern, state, 16);
SIZE(rec_kern, 64);
AT(rec_kern, packets, 8);
AT(rec_kern, marked, 16);
AT(rec_kern, starved, 24);
SIZE(counter_cell, 64);
AT(counter_cell, zero_seq, 8);
AT(counter_cell, wake_at, 16);
AT(counter_cell, arm, 24);
AT(counter_cell, lease_gen, 28);
AT(counter_cell, lease_peer, 32);
AT(counter_cell, lease_ctx, 36);

SIZE(area, 16);
SIZE(query, 56);
SIZE(attach, 224);
AT(attach, partition, 8);
AT(attach, rank, 40);
AT(attach, inj_fifos, 48);
AT(attach, incarnation, 72);
AT(attach, user_inj, 92);
AT(attach, areas, 144);
SIZE(inj_create, 32);
SIZE(rec_create, 32);
SIZE(rgq_create, 24);
SIZE(fifo_destroy, 16);
SIZE(counter_alloc, 24);
SIZE(counter_free, 16);
SIZE(region_pin, 32);
SIZE(region_alloc, 40);
SIZE(region_free, 8);
SIZE(grant, 56);
SIZE(revoke, 8);
SIZE(group_slot, 8);
SIZE(group_member, 12);
SIZE(group_bind, 40);
AT(group_bind, slots, 16);
SIZE(group_unbind, 8);
SIZE(class_bind, 40);
AT(class_bind, number, 8);
AT(class_bind, instance, 12);
AT(class_bind, rank, 16);
AT(class_bind, member_count, 20);
AT(class_bind, members, 24);
AT(class_bind, packet, 32);
AT(class_bind, window, 36);
SIZE(class_unbind, 16);
AT(class_unbind, flags, 8);
SIZE(event_bind, 24);
SIZE(clear_error, 16);
SIZE(cancel, 32);
SIZE(condition, 16);
SIZE(wait, 32);

/* ---- One valid argument for each call --------------------------------- */

/* Zeroed room behind every argument, for sizes of a later ABI. */
union argument {
	__u32 size;
	char bytes[512];
	struct bgdma_query query;
	struct bgdma_attach attach;
	struct bgdma_inj_create inj;
	struct bgdma_rec_create rec;
	struct bgdma_rgq_create rgq;
	struct bgdma_fifo_destroy destroy;
	struct bgdma_counter_alloc calloc;
	struct bgdma_counter_free cfree;
	struct bgdma_region_pin pin;
	struct bgdma_region_alloc alloc;
	struct bgdma_region_free free;
	struct bgdma_grant grant;
	struct bgdma_revoke revoke;
	struct bgdma_group_bind group;
	struct bgdma_group_unbind ungroup;
	struct bgdma_class_bind class;
	struct bgdma_class_unbind unclass;
	struct bgdma_event_bind bind;
	struct bgdma_clear_error clear;
	struct bgdma_cancel cancel;
	struct bgdma_wait wait;
};

static char memory[2 * PAGE] __attribute__((aligned(PAGE)));
static struct bgdma_condition condition = { .kind = BGDMA_KIND_EVENTS };
static struct bgdma_group_slot slot = { BGDMA_KIND_REC_FIFO, 7 };
static struct bgdma_group_member member;

/* Rows with a result other than 0 name an object that is not there. */
static const struct row {
	const char *name;
	unsigned long cmd;
	int result;
	union argument arg;
} calls[] = {
#define CALL(name_, result_, type_, ...) {				\
	.name = #name_, .cmd = BGDMA_IOC_##name_, .result = result_,	\
	.arg.type_ = { sizeof(((union argument *)0)->type_), __VA_ARGS__ } }
	CALL(QUERY, 0, query, .features = 0),
	CALL(ATTACH, -EISCONN, attach, .partition = PARTITION,
	     .ctx = BGDMA_CTX_ANY),
	CALL(INJ_CREATE, 0, inj, .id = BGDMA_ID_ANY, .entries = 16),
	CALL(REC_CREATE, 0, rec, .id = BGDMA_ID_ANY,
	     .bytes = BGDMA_REC_BYTES_MIN),
	CALL(RGQ_CREATE, 0, rgq, .id = BGDMA_ID_ANY, .quota = 16,
	     .senders = 1),
	CALL(FIFO_DESTROY, -ENOENT, destroy, .kind = BGDMA_KIND_INJ_FIFO,
	     .id = 15),
	CALL(COUNTER_ALLOC, 0, calloc, .kind = INJ, .count = 1),
	CALL(COUNTER_FREE, -ENOENT, cfree, .kind = INJ, .first = 63,
	     .count = 1),
	CALL(REGION_PIN, 0, pin, .rights = LOCAL_RW, .length = PAGE),
	CALL(REGION_ALLOC, 0, alloc, .rights = LOCAL_RW, .length = 1),
	CALL(REGION_FREE, -ENOENT, free, .handle = BGDMA_HANDLE(999, 1)),
	CALL(GRANT, -ENOENT, grant, .kind = BGDMA_KIND_REC_FIFO, .object = 7,
	     .count = 1, .rights = BGDMA_RIGHT_ACCEPT),
	CALL(REVOKE, -ENOENT, revoke, .id = 12345),
	CALL(GROUP_BIND, -ENOENT, group, .group = 1, .count = 1,
	     .member_count = 1),
	CALL(GROUP_UNBIND, -ENOENT, ungroup, .group = 1),
	CALL(CLASS_BIND, -EINVAL, class, .number = 1, .instance = 1,
	     .member_count = 1),
	CALL(CLASS_UNBIND, -ENOENT, unclass, .number = 1),
	CALL(EVENT_BIND, 0, bind, .kind = BGDMA_KIND_EVENTS, .eventfd = -1),
	CALL(CLEAR_ERROR, -ENOENT, clear, .kind = BGDMA_KIND_INJ_FIFO,
	     .object = 15),
	CALL(CANCEL, -ENOENT, cancel, .fifo = 15),
	CALL(WAIT, -ETIME, wait, .count = 1),
#undef CALL
};

#define N_CALLS	(sizeof(calls) / sizeof(calls[0]))

static union argument argument_of(const struct row *call)
{
	union argument arg = call->arg;

	/* What a static initialiser cannot hold. */
	if (call->cmd == BGDMA_IOC_REGION_PIN)
		arg.pin.addr = (uintptr_t)memory;
	if (call->cmd == BGDMA_IOC_GROUP_BIND) {
		arg.group.slots = (uintptr_t)&slot;
		arg.group.members = (uintptr_t)&member;
	}
	if (call->cmd == BGDMA_IOC_CLASS_BIND)
		arg.class.members = (uintptr_t)&member;
	if (call->cmd == BGDMA_IOC_WAIT)
		arg.wait.conditions = (uintptr_t)&condition;
	return arg;
}

FIXTURE(abi) {
	struct node n;
};

FIXTURE_SETUP(abi)
{
	partition_new("2x1x1", "");
	node_new(&self->n, 0);
}

FIXTURE_TEARDOWN(abi)
{
	node_close(&self->n);
}

/* Each call once: @call, and a copy of its argument to be changed: @arg. */
#define FOR_EACH_CALL							\
	for (const struct row *call = calls; call < calls + N_CALLS; call++) \
		for (union argument arg = argument_of(call), *once_ = &arg; \
		     once_; once_ = NULL)

#define EXPECT_CALL_WITH(expected, call, fd, arg, what)			\
	EXPECT_EQ(expected, bg_ioctl(fd, (call)->cmd, arg))		\
		TH_LOG("%s %s", (call)->name, what)
#define EXPECT_CALL(expected, call, fd, arg)				\
	EXPECT_CALL_WITH(expected, call, fd, arg, "")

TEST_F(abi, calls_as_they_are)
{
	FOR_EACH_CALL {
		EXPECT_CALL(call->result, call, self->n.fd, &arg);
	}
}

TEST_F(abi, size_shorter_is_refused)
{
	FOR_EACH_CALL {
		__u32 size = arg.size;

		arg.size = size - 1;
		EXPECT_CALL(-EINVAL, call, self->n.fd, &arg);
		arg.size = sizeof(__u32);
		EXPECT_CALL(-EINVAL, call, self->n.fd, &arg);
		arg.size = 0;
		EXPECT_CALL(-EINVAL, call, self->n.fd, &arg);
	}
}

TEST_F(abi, size_longer_with_zeros_is_taken)
{
	FOR_EACH_CALL {
		__u32 size = arg.size;

		arg.size = sizeof(arg);
		EXPECT_CALL(call->result, call, self->n.fd, &arg);
		for (; size < sizeof(arg); size++)
			ASSERT_EQ(0, arg.bytes[size]);
	}
}

TEST_F(abi, size_longer_with_more_is_refused)
{
	FOR_EACH_CALL {
		__u32 size = arg.size;

		arg.bytes[size] = 1;
		arg.size = size + 1;
		EXPECT_CALL(-E2BIG, call, self->n.fd, &arg);
		arg.bytes[size] = 0;
		arg.bytes[sizeof(arg) - 1] = 1;
		arg.size = sizeof(arg);
		EXPECT_CALL(-E2BIG, call, self->n.fd, &arg);
	}
}

TEST_F(abi, size_absurd_is_refused)
{
	FOR_EACH_CALL {
		int ret;

		arg.size = 0xffffffff;
		ret = bg_ioctl(self->n.fd, call->cmd, &arg);
		EXPECT_TRUE(ret == -E2BIG || ret == -EFAULT)
			TH_LOG("%s: %d", call->name, ret);
	}
}

TEST_F(abi, argument_not_accessible)
{
	char *edge;

	edge = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, edge);
	ASSERT_EQ(0, munmap(edge + PAGE, PAGE));
	FOR_EACH_CALL {
		EXPECT_CALL(-EFAULT, call, self->n.fd, NULL);
		/* Only the size can be read. */
		memcpy(edge + PAGE - sizeof(__u32), &arg, sizeof(__u32));
		EXPECT_CALL(-EFAULT, call, self->n.fd,
			    edge + PAGE - sizeof(__u32));
	}
}

TEST_F(abi, unknown_flags_and_reserved_fields)
{
	static const struct {
		const char *name;
		unsigned long cmd;
		size_t offset, bytes;
	} fields[] = {
#define FIELD(call, type, field) { #field, BGDMA_IOC_##call, \
		offsetof(struct bgdma_##type, field), \
		sizeof(((struct bgdma_##type *)0)->field) }
		FIELD(ATTACH, attach, flags),
		FIELD(ATTACH, attach, resv),
		FIELD(ATTACH, attach, resv1),
		FIELD(INJ_CREATE, inj_create, flags),
		FIELD(REC_CREATE, rec_create, flags),
		FIELD(RGQ_CREATE, rgq_create, flags),
		FIELD(FIFO_DESTROY, fifo_destroy, resv),
		FIELD(COUNTER_ALLOC, counter_alloc, flags),
		FIELD(COUNTER_ALLOC, counter_alloc, resv),
		FIELD(REGION_PIN, region_pin, rights),
		FIELD(REGION_PIN, region_pin, resv),
		FIELD(REGION_ALLOC, region_alloc, rights),
		FIELD(REGION_ALLOC, region_alloc, resv),
		FIELD(GRANT, grant, resv),
		FIELD(GRANT, grant, rights),
		FIELD(GRANT, grant, resv1),
		FIELD(GROUP_BIND, group_bind, flags),
		FIELD(GROUP_BIND, group_bind, resv),
		FIELD(CLASS_BIND, class_bind, flags),
		FIELD(CLASS_UNBIND, class_unbind, flags),
		FIELD(CLASS_UNBIND, class_unbind, resv),
		FIELD(EVENT_BIND, event_bind, flags),
		FIELD(EVENT_BIND, event_bind, resv),
		FIELD(CLEAR_ERROR, clear_error, flags),
		FIELD(CANCEL, cancel, flags),
		FIELD(WAIT, wait, flags),
#undef FIELD
	};
	size_t i;

	FOR_EACH_CALL {
		union argument good = arg;

		for (i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
			if (fields[i].cmd != call->cmd)
				continue;
			arg = good;
			/* The highest bit has no meaning in any of them. */
			arg.bytes[fields[i].offset + fields[i].bytes - 1] |=
				(char)0x80;
			EXPECT_CALL_WITH(-EINVAL, call, self->n.fd, &arg,
					 fields[i].name);
		}
	}
}

/* One argument of a call changed to a value out of its range. */
#define EXPECT_BAD(call_, type, field, bad)				\
do {									\
	FOR_EACH_CALL {							\
		if (call->cmd != BGDMA_IOC_##call_)			\
			continue;					\
		arg.type.field = (bad);					\
		EXPECT_CALL_WITH(-EINVAL, call, self->n.fd, &arg,	\
				 #field " = " #bad);			\
	}								\
} while (0)

TEST_F(abi, values_out_of_range)
{
	EXPECT_BAD(INJ_CREATE, inj, id, 16);
	EXPECT_BAD(INJ_CREATE, inj, id, BGDMA_ID_ANY - 1);
	EXPECT_BAD(INJ_CREATE, inj, entries, 0);
	EXPECT_BAD(INJ_CREATE, inj, entries, BGDMA_INJ_ENTRIES_MIN / 2);
	EXPECT_BAD(INJ_CREATE, inj, entries, BGDMA_INJ_ENTRIES_MIN + 1);
	EXPECT_BAD(INJ_CREATE, inj, entries, BGDMA_INJ_ENTRIES_MAX * 2);
	EXPECT_BAD(REC_CREATE, rec, id, 8);
	EXPECT_BAD(REC_CREATE, rec, bytes, 0);
	EXPECT_BAD(REC_CREATE, rec, bytes, BGDMA_REC_BYTES_MIN / 2);
	EXPECT_BAD(REC_CREATE, rec, bytes, BGDMA_REC_BYTES_MIN + 4096);
	EXPECT_BAD(REC_CREATE, rec, bytes, BGDMA_REC_BYTES_MAX * 2);
	EXPECT_BAD(RGQ_CREATE, rgq, id, 4);
	EXPECT_BAD(RGQ_CREATE, rgq, quota, 0);
	EXPECT_BAD(RGQ_CREATE, rgq, quota, 8);
	EXPECT_BAD(RGQ_CREATE, rgq, quota, 17);
	EXPECT_BAD(RGQ_CREATE, rgq, quota, 8192);
	EXPECT_BAD(RGQ_CREATE, rgq, senders, 0);
	EXPECT_BAD(RGQ_CREATE, rgq, senders, 1025);
	EXPECT_BAD(RGQ_CREATE, rgq, timeout_ms, 3600001);
	EXPECT_BAD(FIFO_DESTROY, destroy, kind, BGDMA_KIND_CONTEXT);
	EXPECT_BAD(FIFO_DESTROY, destroy, kind, INJ);
	EXPECT_BAD(COUNTER_ALLOC, calloc, kind, BGDMA_KIND_INJ_FIFO);
	EXPECT_BAD(COUNTER_ALLOC, calloc, count, 0);
	EXPECT_BAD(COUNTER_FREE, cfree, kind, BGDMA_KIND_REGION);
	EXPECT_BAD(COUNTER_FREE, cfree, count, 0);
	EXPECT_BAD(REGION_PIN, pin, rights, BGDMA_RIGHT_READ);
	EXPECT_BAD(REGION_PIN, pin, length, 0);
	EXPECT_BAD(REGION_ALLOC, alloc, rights, BGDMA_RIGHT_WRITE);
	EXPECT_BAD(REGION_ALLOC, alloc, length, 0);
	EXPECT_BAD(GRANT, grant, kind, BGDMA_KIND_CONTEXT);
	EXPECT_BAD(GRANT, grant, kind, BGDMA_KIND_INJ_FIFO);
	EXPECT_BAD(GRANT, grant, kind, BGDMA_KIND_GROUP);
	EXPECT_BAD(GRANT, grant, count, 0);
	EXPECT_BAD(GRANT, grant, count, 2);
	EXPECT_BAD(GRANT, grant, rights, 0);
	EXPECT_BAD(GRANT, grant, rights, BGDMA_RIGHT_READ);
	EXPECT_BAD(GRANT, grant, rights,
		   BGDMA_RIGHT_ACCEPT | BGDMA_RIGHT_INJECT);
	EXPECT_BAD(GRANT, grant, rights, BGDMA_LOCAL_READ);
	EXPECT_BAD(GRANT, grant, lo, 1);
	EXPECT_BAD(GRANT, grant, hi, 1);
	EXPECT_BAD(CLASS_BIND, class, number, BGDMA_CLASSES_MAX);
	EXPECT_BAD(CLASS_BIND, class, instance, 0);
	EXPECT_BAD(CLASS_BIND, class, member_count, 0);
	EXPECT_BAD(CLASS_BIND, class, window, 3);
	EXPECT_BAD(CLASS_BIND, class, packet, 100);
	EXPECT_BAD(GRANT, grant, kind, BGDMA_KIND_CLASS);
	EXPECT_BAD(EVENT_BIND, bind, kind, BGDMA_KIND_CLASS);
	EXPECT_BAD(EVENT_BIND, bind, kind, BGDMA_KIND_REGION);
	EXPECT_BAD(EVENT_BIND, bind, kind, BGDMA_KIND_INJ_FIFO);
	EXPECT_BAD(EVENT_BIND, bind, object, 1);
	EXPECT_BAD(CLEAR_ERROR, clear, kind, BGDMA_KIND_REGION);
	EXPECT_BAD(WAIT, wait, count, 0);
	EXPECT_BAD(WAIT, wait, count, BGDMA_WAIT_MAX + 1);
}

TEST_F(abi, grant_of_a_region_that_is_empty_or_inverted)
{
	struct region r;

	region_new(&r, &self->n, PAGE);
	EXPECT_LT(0, grant_range(&self->n, r.handle, 1, BGDMA_RIGHT_READ, 1, 2));
	EXPECT_LT(0, grant_range(&self->n, r.handle, 1, BGDMA_RIGHT_READ, 8, 0));
	EXPECT_EQ(-EINVAL, grant_range(&self->n, r.handle, 1, BGDMA_RIGHT_READ,
				       2, 2));
	EXPECT_EQ(-EINVAL, grant_range(&self->n, r.handle, 1, BGDMA_RIGHT_READ,
				       2, 1));
	EXPECT_EQ(-EINVAL, grant_range(&self->n, r.handle, 1, BGDMA_RIGHT_READ,
				       0, PAGE + 1));
	EXPECT_EQ(-EINVAL, grant_range(&self->n, r.handle, 1, BGDMA_RIGHT_READ,
				       ~0ULL, 0));
}

TEST_F(abi, wait_with_bad_conditions)
{
	struct bgdma_wait w = { .size = sizeof(w), .count = 1 };

	EXPECT_EQ(-EFAULT, bg_ioctl(self->n.fd, BGDMA_IOC_WAIT, &w));
	EXPECT_EQ(-EINVAL, wait_for(&self->n, BGDMA_KIND_CONTEXT, 0, 0, 0));
	EXPECT_EQ(-EINVAL, wait_for(&self->n, BGDMA_KIND_REGION, 0, 0, 0));
	EXPECT_EQ(-EINVAL, wait_for(&self->n, BGDMA_KIND_GROUP, 0, 0, 0));
	EXPECT_EQ(-EINVAL, wait_for(&self->n, BGDMA_KIND_CLASS, 0, 0, 0));
	EXPECT_EQ(-EINVAL, wait_for(&self->n, 99, 0, 0, 0));
	EXPECT_EQ(-ENOENT, wait_for(&self->n, BGDMA_KIND_REC_FIFO, 0, 0, 0));
	EXPECT_EQ(-ENOENT, wait_for(&self->n, BGDMA_KIND_REC_FIFO, 8, 0, 0));
	EXPECT_EQ(-ENOENT, wait_for(&self->n, BGDMA_KIND_INJ_FIFO, ~0U, 0, 0));
	EXPECT_EQ(-ENOENT, wait_for(&self->n, INJ, BGDMA_HANDLE(3, 1), 0, 0));
	EXPECT_EQ(-ENOENT, wait_for(&self->n, REC, BGDMA_NONE, 0, 0));
}

TEST_F(abi, calls_that_do_not_exist)
{
	unsigned int nr;

	for (nr = 0x15; nr < 0x100; nr++)
		EXPECT_EQ(-ENOTTY, bg_ioctl(self->n.fd,
					    _IO(BGDMA_IOC_TYPE, nr), NULL));
	EXPECT_EQ(-ENOTTY, bg_ioctl(self->n.fd, _IO('B', 0x13), NULL));
	EXPECT_EQ(-ENOTTY, bg_ioctl(self->n.fd, _IO(0, 0), NULL));
}

TEST_F(abi, doorbell_and_notify_arguments)
{
	EXPECT_EQ(0, doorbell(&self->n, 0));
	EXPECT_EQ(0, doorbell(&self->n, BGDMA_DOORBELL_POOL));
	EXPECT_EQ(-EINVAL, doorbell(&self->n, 2));
	EXPECT_EQ(-EINVAL, doorbell(&self->n, 1UL << 40));
	EXPECT_EQ(-1, ioctl(self->n.fd, BGDMA_IOC_NOTIFY,
			    BGDMA_NOTIFY_ARG(BGDMA_KIND_REGION, 0)));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(-1, ioctl(self->n.fd, BGDMA_IOC_NOTIFY,
			    BGDMA_NOTIFY_ARG(INJ, 0)));
	EXPECT_EQ(ENOENT, errno);
	EXPECT_EQ(-1, ioctl(self->n.fd, BGDMA_IOC_NOTIFY,
			    BGDMA_NOTIFY_ARG(INJ, 65535)));
	EXPECT_EQ(ENOENT, errno);
}

TEST_F(abi, not_attached)
{
	int fd = (int)must(bg_open());

	FOR_EACH_CALL {
		if (call->cmd == BGDMA_IOC_ATTACH)
			continue;
		EXPECT_CALL(call->cmd == BGDMA_IOC_QUERY ? 0 : -ENOTCONN, call,
			    fd, &arg);
	}
	EXPECT_EQ(-ENOTCONN, bg_ioctl(fd, BGDMA_IOC_DOORBELL, NULL));
	EXPECT_EQ(-1, ioctl(fd, BGDMA_IOC_NOTIFY, BGDMA_NOTIFY_ARG(INJ, 0)));
	EXPECT_EQ(ENOTCONN, errno);
	EXPECT_EQ(-ENOTTY, bg_ioctl(fd, _IO(BGDMA_IOC_TYPE, 0x15), NULL));
	close(fd);
}

TEST_F(abi, query_tells_what_there_is)
{
	struct bgdma_query q = { .size = sizeof(q) };

	ASSERT_EQ(0, bg_ioctl(self->n.fd, BGDMA_IOC_QUERY, &q));
	EXPECT_EQ(sizeof(q), q.size);
	EXPECT_EQ(BGDMA_ABI_VERSION, q.abi_version);
	/* DMA-1: the five operations; atomics, the combining network, epochs. */
	EXPECT_EQ((1U << BGDMA_OP_COUNT) - 1, q.ops);
	EXPECT_EQ(0xff, q.desc_flags);
	EXPECT_EQ(0xff, q.routes);
	EXPECT_EQ(BGDMA_PACKET_MAX, q.packet_max);
	EXPECT_EQ(BGDMA_LENGTH_MAX, q.length_max);
	EXPECT_EQ(BGDMA_RGET_DESC_MAX, q.rget_desc_max);
	EXPECT_EQ((1ULL << BGDMA_ATOMIC_OP_COUNT * BGDMA_ATOMIC_TYPE_COUNT) - 1,
		  q.atomic_ops);
	EXPECT_EQ((1ULL << BGDMA_TREE_OP_COUNT * BGDMA_TREE_TYPE_COUNT) - 1,
		  q.tree_ops);
	EXPECT_TRUE(q.features & BGDMA_FEATURE_URING_DOORBELL);
}

TEST_HARNESS_MAIN
