// SPDX-License-Identifier: GPL-2.0
/*
 * The calls of /dev/bgdma that fault_test makes with nothing to do, where there is
 * something: descriptors are pending, senders wait, epochs are at the gate. With a
 * fault inside, see fault.h, they fail as a whole, and what was pending is as it was.
 *
 * Each call has two contexts of its own, a and b, so that what its work leaves in
 * rings and counters goes with them.
 */
#include <endian.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>

#include "kselftest_harness.h"
#include "fault_fixture.h"

#define MEMBERS	1024U	/* of a group, one for each node of 16x8x8 */
#define BEHIND	5U	/* descriptors behind the one that is under way */
#define LEASES	5U	/* counters in a row */
#define BESIDE	20U	/* grants of an object already */

static struct {
	struct end a, b;
	struct rec rec;		/* another of b's, without a grant */
	__u32 id;		/* of a grant, or the first of some counters */
	struct bgdma_grant grant;
	int before, now;	/* eventfds, the first one bound already */
	__u32 kind, object, flags;
} w;

static void world_new(void)
{
	memset(&w, 0, sizeof(w));
	partition_new("16x8x8", "torus none");
	w.before = (int)must(eventfd(0, EFD_NONBLOCK));
	w.now = (int)must(eventfd(0, EFD_NONBLOCK));
}

static void ends_new(void)
{
	end_new(&w.a, 0);
	end_new(&w.b, 1);
}

static void end_close(struct end *e)
{
	node_close(&e->n);
	must(munmap(e->mem.p, e->mem.bytes) ? -errno : 0);
}

static void ends_close(void)
{
	end_close(&w.b);
	end_close(&w.a);
}

/* An effect of a call that passed, or the end of the test. */
#define holds(condition)	must_at(__FILE__, __LINE__, #condition,		\
					until(condition) ? 0 : -ETIME)

/* ---- What is pending -------------------------------------------------- */

/* A message of a's to @fifo of b's that has no room for all of it. */
static void a_waits_at(__u32 fifo)
{
	struct bgdma_desc d = d_memfifo(1, fifo, w.a.mem.handle, 0, PAIR_BYTES);

	inject(&w.a.inj, &d);
	holds(load(&w.a.inj.kern->state) == BGDMA_FIFO_BLOCKED);
}

/* And behind it some that move a's counter. */
static void a_waits(void)
{
	struct bgdma_desc d;
	__u32 i;

	ends_new();
	a_waits_at(w.b.rec.id);
	counter_add(&w.a.n, INJ, w.a.ic, 4 * BEHIND);
	for (i = 0; i < BEHIND; i++) {
		d = d_number(1, &w.b.rec, i);
		d.inj_ctr = htole32(w.a.ic);
		put_in(&w.a.inj, &d);
	}
	post(&w.a.inj);
}

/* What a has in its FIFO has ended, all of it; b takes what comes. */
static void a_is_done(void)
{
	holds((packet(&w.b.rec) ? packet_drop(&w.b.rec) : (void)0,
	       load(&w.a.inj.kern->done) == w.a.inj.tail));
	must(load(&w.a.inj.rec->code) ? -EDOM : 0);
}

/* ---- Grants ----------------------------------------------------------- */

static int call_grant(void)
{
	struct bgdma_grant c = w.grant;
	int ret = bg_ioctl(w.b.n.fd, BGDMA_IOC_GRANT, &c);

	w.id = c.id;
	return ret;
}

static int call_revoke(void)
{
	return grant_revoke(&w.b.n, w.id);
}

/* One more: all that are there are copied. */
static void prepare_grant(__u32 kind, __u32 object, __u32 count, __u32 rights)
{
	__u32 i;

	w.grant = (struct bgdma_grant){
		.size = sizeof(w.grant), .kind = kind, .object = object,
		.count = count, .rank = 7, .ctx = BGDMA_CTX_ANY,
		.rights = rights,
	};
	for (i = 0; i < BESIDE; i++)
		must(call_grant());
}

static void prepare_grant_rec(void)
{
	ends_new();
	prepare_grant(BGDMA_KIND_REC_FIFO, w.b.rec.id, 1, BGDMA_RIGHT_ACCEPT);
}

static void prepare_grant_rgq(void)
{
	ends_new();
	prepare_grant(BGDMA_KIND_RGET_QUEUE, w.b.rgq, 1, BGDMA_RIGHT_INJECT);
}

static void prepare_grant_counters(void)
{
	ends_new();
	must(counter_alloc(&w.b.n, REC, 0, LEASES, &w.id));
	prepare_grant(REC, w.id, LEASES, BGDMA_RIGHT_COUNT);
}

static void prepare_revoke_counters(void)
{
	prepare_grant_counters();
	must(call_grant());
}

/* The one under which a waits for room. */
static void prepare_revoke(void)
{
	ends_new();
	must(rec_try(&w.rec, &w.b.n, BGDMA_ID_ANY, BGDMA_REC_BYTES_MIN));
	w.id = (__u32)must(grant(&w.b.n, BGDMA_KIND_REC_FIFO, w.rec.id, 0,
				 BGDMA_RIGHT_ACCEPT));
	a_waits_at(w.rec.id);
}

/* It sees that with the next room. */
static void undo_revoke(void)
{
	while (packet(&w.rec))
		packet_drop(&w.rec);
	holds(load(&w.a.inj.kern->state) == BGDMA_FIFO_ERROR);
	must(load(&w.a.inj.rec->code) == BGDMA_E_RIGHTS ? 0 : -EDOM);
	ends_close();
}

/* ---- Gates ------------------------------------------------------------ */

/* The first of a's epochs has b's region, the others wait for it. */
static void prepare_gate(__u32 flags, __u32 count)
{
	__u32 i;

	ends_new();
	w.id = (__u32)must(grant(&w.b.n, BGDMA_KIND_REGION, w.b.mem.handle, 0,
				 BGDMA_RIGHT_EPOCH));
	must(gate(&w.b.n, w.b.mem.handle, 0, flags));
	counter_add(&w.a.n, INJ, w.a.ic, count);
	for (i = 1; i <= count; i++) {
		struct bgdma_desc d = d_gate(1, BGDMA_OP_EPOCH_BEGIN,
					     w.b.mem.handle, i, w.a.ic);

		d.flags = BGDMA_DESC_HOLD | BGDMA_DESC_EXCLUSIVE;
		must(run(&w.a.inj, &d) ? -EDOM : 0);
	}
}

static void prepare_epochs(void)
{
	prepare_gate(0, BGDMA_EPOCHS_EACH);
	holds(value(&w.a.n, INJ, w.a.ic) == BGDMA_EPOCHS_EACH - 1);
}

static int call_epochs(void)
{
	struct bgdma_epoch e[BGDMA_EPOCHS_EACH];
	int i, ret = epochs(&w.b.n, w.b.mem.handle, e, BGDMA_EPOCHS_EACH);

	if (ret != BGDMA_EPOCHS_EACH)
		return ret < 0 ? ret : -EDOM;
	for (i = 0; i < BGDMA_EPOCHS_EACH; i++)
		if (e[i].epoch != (__u32)i + 1)
			return -EDOM;
	return 0;
}

static void prepare_allow(void)
{
	struct bgdma_event event;

	prepare_gate(BGDMA_GATE_ASK, 1);
	must(event_wait(&w.b.n, BGDMA_EVENT_EPOCH, &event) ? 0 : -ETIME);
	must(event.code ? -EDOM : 0);
}

static int call_allow(void)
{
	return epoch_allow(&w.b.n, w.b.mem.handle, 0, w.a.n.at.incarnation, 1);
}

static void undo_allow(void)
{
	holds(!value(&w.a.n, INJ, w.a.ic));
	ends_close();
}

static int call_region_free(void)
{
	return region_free(&w.b.n, w.b.mem.handle);
}

/* All epochs are broken, and a knows. */
static void undo_epochs(void)
{
	holds(!value(&w.a.n, INJ, w.a.ic));
	must(counter_error(&w.a.n, INJ, w.a.ic) ? 0 : -EDOM);
	ends_close();
}

/* ---- Groups ----------------------------------------------------------- */

static int group_bind(struct end *e)
{
	static struct bgdma_group_member who[MEMBERS];
	const struct bgdma_group_slot slots[] = {
		{ BGDMA_KIND_REC_FIFO, e->rec.id },
		{ BGDMA_KIND_RGET_QUEUE, e->rgq },
		{ INJ, e->ic }, { REC, e->rc },
		{ BGDMA_KIND_REGION, e->mem.handle },
	};
	struct bgdma_group_bind c = {
		.size = sizeof(c), .group = BGDMA_GROUPS_MAX - 1,
		.slots = (uintptr_t)slots,
		.count = sizeof(slots) / sizeof(slots[0]),
		.members = (uintptr_t)who, .member_count = MEMBERS,
	};
	__u32 i;

	/* The kernel sorts them. */
	for (i = 0; i < MEMBERS; i++)
		who[i].rank = MEMBERS - 1 - i;
	return bg_ioctl(e->n.fd, BGDMA_IOC_GROUP_BIND, &c);
}

static int call_group_bind(void)
{
	return group_bind(&w.b);
}

static int call_group_unbind(void)
{
	struct bgdma_group_unbind c = {
		.size = sizeof(c), .group = BGDMA_GROUPS_MAX - 1,
	};

	return bg_ioctl(w.b.n.fd, BGDMA_IOC_GROUP_UNBIND, &c);
}

/* A copy that a leaves along X waits for room at b. */
static void prepare_group_unbind(void)
{
	struct bgdma_desc d;

	ends_new();
	must(group_bind(&w.a));
	must(group_bind(&w.b));
	d = d_memfifo(15, 0, w.a.mem.handle, 0, PAIR_BYTES);
	d.flags |= BGDMA_DESC_GROUP;
	d.route = BGDMA_ROUTE_DEPOSIT | BGDMA_ROUTE_XP;
	d.dst_ctx = htole16(BGDMA_GROUPS_MAX - 1);
	inject(&w.a.inj, &d);
	holds(load(&w.a.inj.kern->state) == BGDMA_FIFO_BLOCKED);
}

/* It has passed by. */
static void undo_group_unbind(void)
{
	holds(load(&w.a.inj.kern->done) == 1);
	ends_close();
}

/* ---- Eventfds --------------------------------------------------------- */

static int call_event_bind(void)
{
	return event_bind(&w.b.n, w.kind, w.object, w.now);
}

static int call_event_unbind(void)
{
	return event_bind(&w.b.n, w.kind, w.object, -1);
}

/* In the place of another. */
static void prepare_event_bind(__u32 kind, __u32 object)
{
	w.kind = kind;
	w.object = object;
	must(event_bind(&w.b.n, kind, object, w.before));
}

static void prepare_bind_counter(void)
{
	ends_new();
	counter_enable(&w.b.n, INJ, w.b.ic);
	prepare_event_bind(INJ, w.b.ic);
}

static void prepare_bind_rec(void)
{
	ends_new();
	store(&w.b.rec.user->arm, BGDMA_ARM_ANY);
	prepare_event_bind(BGDMA_KIND_REC_FIFO, w.b.rec.id);
}

static void prepare_bind_events(void)
{
	ends_new();
	prepare_event_bind(BGDMA_KIND_EVENTS, 0);
}

/* Once: a counter of b's comes to zero, a packet comes to it, or an event. */
static void interrupt_b(void)
{
	struct bgdma_desc d;

	switch (w.kind) {
	case INJ:
		counter_add(&w.b.n, INJ, w.b.ic, 1);
		counter_add(&w.b.n, INJ, w.b.ic, -1);
		break;
	case BGDMA_KIND_REC_FIFO:
		d = d_number(1, &w.b.rec, 1);
		must(run(&w.a.inj, &d) ? -EDOM : 0);
		break;
	case BGDMA_KIND_EVENTS:
		/* Of an error. */
		w.b.inj.tail = 1ULL << 40;
		post(&w.b.inj);
		holds(load(&w.b.n.kctl->events_tail));
	}
}

static void undo_event_bind(void)
{
	interrupt_b();
	holds(eventfd_count(w.now));
	must(eventfd_count(w.before) ? -EDOM : 0);
	ends_close();
}

static void undo_event_unbind(void)
{
	interrupt_b();
	ends_close();
	must(eventfd_count(w.before) ? -EDOM : 0);
}

/* ---- Errors ----------------------------------------------------------- */

static int call_clear(void)
{
	return clear_error(&w.a.n, w.kind, w.object, w.flags);
}

static void clears(__u32 kind, __u32 object, __u32 flags)
{
	w.kind = kind;
	w.object = object;
	w.flags = flags;
}

/* The first one of some fails. */
static void prepare_clear_inj(void)
{
	struct bgdma_desc d;
	__u32 i;

	ends_new();
	d = d_put(1, BGDMA_NONE - 1, 0, w.b.mem.handle, 0, 8);
	put_in(&w.a.inj, &d);
	for (i = 0; i < BEHIND; i++) {
		d = d_number(1, &w.b.rec, i);
		put_in(&w.a.inj, &d);
	}
	post(&w.a.inj);
	holds(load(&w.a.inj.kern->state) == BGDMA_FIFO_ERROR);
	clears(BGDMA_KIND_INJ_FIFO, w.a.inj.id, 0);
}

static void prepare_flush_inj(void)
{
	a_waits();
	clears(BGDMA_KIND_INJ_FIFO, w.a.inj.id, BGDMA_CLEAR_FLUSH);
}

static void undo_a_waits(void)
{
	a_is_done();
	ends_close();
}

static void prepare_clear_counter(void)
{
	struct bgdma_desc d;

	ends_new();
	d = d_put_counted(&w.a, &w.b, w.a.ic, BGDMA_NONE, 8);
	d.u.at.dst_region = htole32(BGDMA_NONE - 1);
	must(run(&w.a.inj, &d) ? 0 : -EDOM);
	holds(counter_error(&w.a.n, INJ, w.a.ic));
	clears(INJ, BGDMA_HANDLE_SLOT(w.a.ic), 0);
}

static void undo_clear_counter(void)
{
	must(counter_error(&w.a.n, INJ, w.a.ic) ? -EDOM : 0);
	ends_close();
}

/* Its head is impossible, and another waits for that to end. */
static void prepare_clear_rec(void)
{
	struct bgdma_desc d;

	ends_new();
	store(&w.a.rec.user->head, 4096);
	d = d_number(0, &w.a.rec, 1);
	inject(&w.b.inj, &d);
	holds(load(&w.b.inj.kern->state) == BGDMA_FIFO_BLOCKED);
	must(load(&w.a.rec.rec->code) == BGDMA_E_INDEX ? 0 : -EDOM);
	clears(BGDMA_KIND_REC_FIFO, w.a.rec.id, BGDMA_CLEAR_FLUSH);
}

static void undo_clear_rec(void)
{
	holds(load(&w.b.inj.kern->done) == 1);
	ends_close();
}

/* b had a send more to b itself than there is room for; some wait behind it. */
static void prepare_clear_rgq(void)
{
	struct bgdma_desc get, *d;
	__u32 i;

	ends_new();
	d = (void *)w.b.mem.p;
	d[0] = d_memfifo(1, w.b.rec.id, w.a.mem.handle, 0, PAIR_BYTES);
	for (i = 1; i <= BEHIND; i++)
		d[i] = d_number(1, &w.b.rec, i);
	get = d_rget(0, w.a.rgq, w.b.mem.handle, 0, 1 + BEHIND);
	must(run(&w.b.inj, &get) ? -EDOM : 0);
	holds(load(&w.b.rec.kern->starved));
	clears(BGDMA_KIND_RGET_QUEUE, w.a.rgq, BGDMA_CLEAR_FLUSH);
}

/* ---- The end of what is pending --------------------------------------- */

static int call_cancel(void)
{
	struct bgdma_cancel c = {
		.size = sizeof(c), .fifo = w.a.inj.id, .last = w.a.inj.tail - 1,
	};

	return bg_ioctl(w.a.n.fd, BGDMA_IOC_CANCEL, &c);
}

/* Where only the number could not be told all of it has happened. */
static void undo_cancel(void)
{
	must(call_cancel());
	a_is_done();
	must(value(&w.a.n, INJ, w.a.ic) ? -EDOM : 0);
	must(counter_error(&w.a.n, INJ, w.a.ic) ? 0 : -EDOM);
	ends_close();
}

static int call_destroy_inj(void)
{
	return fifo_destroy(&w.a.n, BGDMA_KIND_INJ_FIFO, w.a.inj.id);
}

static int call_destroy_rec(void)
{
	return fifo_destroy(&w.b.n, BGDMA_KIND_REC_FIFO, w.b.rec.id);
}

static void undo_destroy_rec(void)
{
	must(outcome(&w.a.inj, 0) == BGDMA_E_FIFO ? 0 : -EDOM);
	ends_close();
}

static int call_destroy_rgq(void)
{
	return fifo_destroy(&w.a.n, BGDMA_KIND_RGET_QUEUE, w.a.rgq);
}

static int call_counter_free(void)
{
	return counter_free(&w.b.n, INJ, BGDMA_HANDLE_SLOT(w.b.ic), 1);
}

/* That of which a's message comes. */
static int call_source_free(void)
{
	return region_free(&w.a.n, w.a.mem.handle);
}

static void undo_source_free(void)
{
	while (packet(&w.b.rec))
		packet_drop(&w.b.rec);
	must(outcome(&w.a.inj, 0) == BGDMA_E_REGION ? 0 : -EDOM);
	ends_close();
}

/* ---- Waiting, ringing ------------------------------------------------- */

/* The last of many holds, with @timeout_ns for it. */
static int wait_many(__u64 written, __s64 timeout_ns)
{
	struct bgdma_condition cond[BGDMA_WAIT_MAX];
	struct bgdma_wait c = {
		.size = sizeof(c), .conditions = (uintptr_t)cond,
		.count = BGDMA_WAIT_MAX, .timeout_ns = timeout_ns,
	};
	__u32 i;
	int ret;

	for (i = 0; i < BGDMA_WAIT_MAX; i++)
		cond[i] = (struct bgdma_condition){ .kind = INJ,
						    .object = w.a.ic };
	cond[i - 1] = (struct bgdma_condition){ .kind = BGDMA_KIND_INJ_FIFO,
						.value = written };
	ret = bg_ioctl(w.a.n.fd, BGDMA_IOC_WAIT, &c);
	return ret || c.ready == BGDMA_WAIT_MAX - 1 ? ret : -EDOM;
}

static int call_wait(void)
{
	return wait_many(0, -1);
}

/* Nothing happens: it sleeps first, for what it had counters tell of. */
static int call_wait_asleep(void)
{
	int ret = wait_many(~0ULL, 1000000);

	return ret == -ETIME ? 0 : ret ?: -EDOM;
}

static void prepare_wait(void)
{
	ends_new();
	counter_add(&w.a.n, INJ, w.a.ic, 1);
}

/* All that a doorbell may run: pages, packets, atomics, and what follows. */
static void prepare_doorbell(void)
{
	struct bgdma_desc d;

	ends_new();
	counter_add(&w.a.n, INJ, w.a.ic, PAIR_BYTES);
	counter_add(&w.b.n, REC, w.b.rc, PAIR_BYTES);
	d = d_put_counted(&w.a, &w.b, w.a.ic, w.b.rc, PAIR_BYTES);
	put_in(&w.a.inj, &d);
	d = d_number(1, &w.b.rec, 1);
	put_in(&w.a.inj, &d);
	must(grant(&w.b.n, BGDMA_KIND_REGION, w.b.mem.handle, 0,
		   BGDMA_RIGHT_ATOMIC));
	d = d_atomic(1, BGDMA_ATOMIC_ADD, BGDMA_ATOMIC_U64, 1, w.b.mem.handle,
		     0, 1);
	put_in(&w.a.inj, &d);
	d = d_number(0, &w.a.rec, 2);
	memcpy(w.a.mem.p + 4096, &d, sizeof(d));
	d = d_rget(1, w.b.rgq, w.a.mem.handle, 4096, 1);
	put_in(&w.a.inj, &d);
}

static int call_doorbell(void)
{
	post(&w.a.inj);
	return doorbell(&w.a.n, 0);
}

static void undo_doorbell(void)
{
	holds(load(&w.a.inj.kern->done) == w.a.inj.tail);
	must(load(&w.a.inj.rec->code) ? -EDOM : 0);
	holds(packet(&w.a.rec));
	must(value(&w.b.n, REC, w.b.rc) ? -EDOM : 0);
	ends_close();
}

/* ---- All of them ------------------------------------------------------ */

static const struct faulty calls[] = {
	FAULTY("GRANT reception FIFO", prepare_grant_rec, call_grant,
	       ends_close),
	FAULTY("GRANT remote-get queue", prepare_grant_rgq, call_grant,
	       ends_close),
	FAULTY("GRANT reception counters", prepare_grant_counters, call_grant,
	       ends_close),
	FAULTY("REVOKE reception counters", prepare_revoke_counters,
	       call_revoke, ends_close),
	FAULTY("REVOKE under a sender", prepare_revoke, call_revoke,
	       undo_revoke),
	FAULTY("REVOKE under epochs", prepare_epochs, call_revoke,
	       undo_epochs),
	FAULTY("EPOCHS some", prepare_epochs, call_epochs, ends_close),
	FAULTY("EPOCH_ALLOW one", prepare_allow, call_allow, undo_allow),
	FAULTY("REGION_FREE with epochs", prepare_epochs, call_region_free,
	       undo_epochs),
	FAULTY("GROUP_BIND many", ends_new, call_group_bind, ends_close),
	FAULTY("GROUP_UNBIND under a sender", prepare_group_unbind,
	       call_group_unbind, undo_group_unbind),
	FAULTY("EVENT_BIND counter", prepare_bind_counter, call_event_bind,
	       undo_event_bind),
	FAULTY("EVENT_BIND reception FIFO", prepare_bind_rec, call_event_bind,
	       undo_event_bind),
	FAULTY("EVENT_BIND events", prepare_bind_events, call_event_bind,
	       undo_event_bind),
	FAULTY("EVENT_BIND nothing", prepare_bind_counter, call_event_unbind,
	       undo_event_unbind),
	FAULTY("CLEAR_ERROR injection FIFO", prepare_clear_inj, call_clear,
	       undo_a_waits),
	FAULTY("CLEAR_ERROR flush", prepare_flush_inj, call_clear,
	       undo_a_waits),
	FAULTY("CLEAR_ERROR counter", prepare_clear_counter, call_clear,
	       undo_clear_counter),
	FAULTY("CLEAR_ERROR reception FIFO", prepare_clear_rec, call_clear,
	       undo_clear_rec),
	FAULTY("CLEAR_ERROR remote-get queue", prepare_clear_rgq, call_clear,
	       ends_close),
	FAULTY_MAY("CANCEL some", a_waits, call_cancel, undo_cancel),
	FAULTY("FIFO_DESTROY with descriptors", a_waits, call_destroy_inj,
	       ends_close),
	FAULTY("FIFO_DESTROY under a sender", a_waits, call_destroy_rec,
	       undo_destroy_rec),
	FAULTY("FIFO_DESTROY with gets", prepare_clear_rgq, call_destroy_rgq,
	       ends_close),
	FAULTY("COUNTER_FREE bound", prepare_bind_counter, call_counter_free,
	       ends_close),
	FAULTY("REGION_FREE in use", a_waits, call_source_free,
	       undo_source_free),
	FAULTY("WAIT many", prepare_wait, call_wait, ends_close),
	FAULTY("WAIT asleep", prepare_wait, call_wait_asleep, ends_close),
};

FIXTURE_FAULT(world_new)

TEST_F_TIMEOUT(fault, every_call_with_work, 600)
{
	size_t i;

	for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		EXPECT_LT(0, fault_all(&calls[i]));
}

/* What it runs has its memory: of a doorbell nothing fails for want of any. */
TEST_F_TIMEOUT(fault, a_doorbell_asks_for_nothing, 120)
{
	static const struct faulty ring = FAULTY("DOORBELL with descriptors",
						 prepare_doorbell,
						 call_doorbell, undo_doorbell);

	EXPECT_EQ(0, fault_all(&ring));
}

TEST_HARNESS_MAIN
