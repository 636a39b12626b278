// SPDX-License-Identifier: GPL-2.0
/*
 * Faults that were found once, by somebody who looked for them. Several show
 * only in the kernel's log, when freed memory is poisoned (slub_debug=FZP).
 */
#include <endian.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "kselftest_harness.h"
#include "pair.h"

FIXTURE_PAIR(regress)

/* ---- A partition that goes first -------------------------------------- */

#define OTHER	"other"

/* What the process that attached and the one that closes tell each other. */
struct late {
	int closer;	/* is there a child that closes the file later? */
	int exited;	/* the process that attached has ended */
	int closed;
};

static void close_late(struct late *l, int fd)
{
	bool in_time = until(load(&l->exited));

	close(fd);
	store(&l->closed, in_time);
	_exit(0);
}

static int delete_and_exit(void *arg)
{
	struct bgdma_attach at = { .ctx = BGDMA_CTX_ANY };
	int fd = (int)must(bg_open());
	struct late *l = arg;

	must(bg_attach(fd, OTHER, 0, &at));
	if (l->closer && !must(fork()))
		close_late(l, fd);
	return partition("del", OTHER, "");
}

TEST_F(regress, x3_partition_deleted_before_the_process_ends)
{
	struct late *l = shared(sizeof(*l));
	int i;

	for (i = 0; i < 20; i++) {
		ASSERT_EQ(0, partition("add", OTHER, "dims 4x1x1"));
		ASSERT_EQ(0, in_child(delete_and_exit, l));
	}
}

TEST_F(regress, x3_partition_deleted_before_a_child_closes)
{
	struct late *l = shared(sizeof(*l));
	int i;

	for (i = 0; i < 20; i++) {
		*l = (struct late){ .closer = 1 };
		ASSERT_EQ(0, partition("add", OTHER, "dims 4x1x1"));
		ASSERT_EQ(0, in_child(delete_and_exit, l));
		store(&l->exited, 1);
		ASSERT_TRUE(until(load(&l->closed)));
	}
}

/* ---- FIFOs that go ---------------------------------------------------- */

struct ringer {
	struct node n;
	int stop;
};

static void *ring_always(void *arg)
{
	struct ringer *r = arg;

	while (!load(&r->stop)) {
		__atomic_fetch_or(&r->n.uctl->doorbell[0], 1ULL,
				  __ATOMIC_SEQ_CST);
		must(doorbell(&r->n, 0));
	}
	return NULL;
}

TEST_F(regress, x2_doorbell_against_destroy)
{
	struct ringer r = { .stop = 0 };
	pthread_t threads[2];
	int i;

	/* Nothing polls: the doorbell itself runs the FIFO. */
	ASSERT_EQ(0, partition("add", OTHER, "dims 4x1x1 poll-ns 0"));
	must(node_try(&r.n, OTHER, 0, NULL));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, ring_always,
					    &r));
	for (i = 0; i < 1000; i++) {
		struct bgdma_inj_create c = {
			.size = sizeof(c), .id = 0, .entries = 16,
		};

		ASSERT_EQ(0, bg_ioctl(r.n.fd, BGDMA_IOC_INJ_CREATE, &c));
		ASSERT_EQ(0, fifo_destroy(&r.n, BGDMA_KIND_INJ_FIFO, 0));
	}
	store(&r.stop, 1);
	for (i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	node_close(&r.n);
}

struct sleeper {
	struct node *n;
	__u32 kind, id;
	__u64 value;
	int ret;
	int started;
};

static void *sleep_on(void *arg)
{
	struct sleeper *s = arg;

	store(&s->started, 1);
	s->ret = wait_for(s->n, s->kind, s->id, s->value, PATIENCE_NS / 4);
	return NULL;
}

/* What BGDMA_IOC_WAIT gives whose FIFO is destroyed meanwhile. */
static int wait_and_destroy(struct node *n, __u32 kind, __u32 id, __u64 value)
{
	struct sleeper s = { .n = n, .kind = kind, .id = id, .value = value };
	pthread_t t;

	must(-pthread_create(&t, NULL, sleep_on, &s));
	must(until(load(&s.started)) ? 0 : -ETIME);
	usleep(100000);	/* nothing tells that it sleeps */
	must(fifo_destroy(n, kind, id));
	must(-pthread_join(t, NULL));
	return s.ret;
}

TEST_F(regress, x2_destroy_wakes_who_waits)
{
	struct end *a = &self->a;

	EXPECT_EQ(-ENOENT, wait_and_destroy(&a->n, BGDMA_KIND_INJ_FIFO,
					    a->inj.id, 5));
	EXPECT_EQ(-ENOENT, wait_and_destroy(&a->n, BGDMA_KIND_REC_FIFO,
					    a->rec.id, 0));
}

/* ---- Polling ---------------------------------------------------------- */

/*
 * While its doorbells are polled a context makes no system call, and waits for a
 * thread of the engine to look: that is for its owner to start, not for a peer.
 */
TEST_F(regress, x2_a_peer_starts_no_polling)
{
	struct end *a = &self->a, *b = &self->b;
	struct bgdma_desc d = d_number(0, &b->rec, 7);

	ASSERT_EQ(0, partition("set", PARTITION, "poll-ns 1000000000"));
	d.op = BGDMA_OP_LOCAL_MEMFIFO;
	memcpy(a->mem.p, &d, sizeof(d));
	d = d_rget(1, b->rgq, a->mem.handle, 0, 1);
	EXPECT_EQ(BGDMA_OK, run(&a->inj, &d));
	EXPECT_EQ(7, number_wait(&b->rec));
	usleep(200000);	/* nothing tells that it did not begin */
	EXPECT_TRUE(load(&b->n.kctl->wake) & BGDMA_NEED_WAKEUP);
}

/* ---- Sizes ------------------------------------------------------------ */

static int region_alloc_huge(void *arg)
{
	struct bgdma_region_alloc c = {
		.size = sizeof(c), .rights = LOCAL_RW, .length = 2UL << 40,
	};
	struct node n;

	(void)arg;
	node_new(&n, 2);
	return bg_ioctl(n.fd, BGDMA_IOC_REGION_ALLOC, &c);
}

TEST_F(regress, x1_region_of_2_tib)
{
	EXPECT_EQ(-ENOMEM, in_child(region_alloc_huge, NULL));
	EXPECT_EQ(-ENOMEM, as_user(1000, region_alloc_huge, NULL));
}

/* ---- What was taken back while a transfer waits ----------------------- */

static void wait_blocked(struct inj *f)
{
	must(until(load(&f->kern->state) == BGDMA_FIFO_BLOCKED) ? 0 : -ETIME);
}

TEST_F(regress, x2_injection_counter_allocated_again)
{
	struct end *a = &self->a, *b = &self->b;
	struct bgdma_desc d = d_memfifo(1, b->rec.id, a->mem.handle, 0,
					PAIR_BYTES);
	__u32 slot = BGDMA_HANDLE_SLOT(a->ic), again;

	d.inj_ctr = htole32(a->ic);
	counter_add(&a->n, INJ, a->ic, PAIR_BYTES);
	inject(&a->inj, &d);
	wait_blocked(&a->inj);
	/* It waits in the middle. */
	EXPECT_LT(0, value(&a->n, INJ, a->ic));
	EXPECT_GT((__s64)PAIR_BYTES, value(&a->n, INJ, a->ic));
	ASSERT_EQ(0, counter_free(&a->n, INJ, slot, 1));
	again = counter_again(&a->n, INJ, slot);
	ASSERT_NE(a->ic, again);
	counter_add(&a->n, INJ, again, PAIR_BYTES);
	ASSERT_TRUE(until((packet(&b->rec) ? packet_drop(&b->rec) : (void)0,
			   load(&a->inj.kern->done) ||
			   load(&a->inj.kern->state) == BGDMA_FIFO_ERROR)));
	EXPECT_EQ(PAIR_BYTES, value(&a->n, INJ, again));
	EXPECT_FALSE(counter_error(&a->n, INJ, again));
	EXPECT_FALSE(hit(&a->n, INJ, again));
}

/* Fill the FIFO with packets to oneself, until another has no room. */
static void fill_own(struct end *e, __u32 bytes)
{
	struct bgdma_desc d = d_local_memfifo(e->rec.id, e->mem.handle, 0,
					      bytes);
	__u32 need = bytes + sizeof(struct bgdma_packet);

	while (load(&e->rec.kern->tail) + need <= e->rec.head + e->rec.bytes)
		must(run(&e->inj, &d) == BGDMA_OK ? 0 : -EIO);
}

/* Read until a message of that rank is there; false when none comes. */
static bool read_until_from(struct rec *r, __u32 rank)
{
	while (until(packet(r))) {
		bool found = packet(r)->src_rank == rank;

		packet_drop(r);
		if (found)
			return true;
	}
	return false;
}

TEST_F(regress, x2_injection_counter_revoked_from_remote_get)
{
	struct end *a = &self->a, *b = &self->b;
	const __u32 room = b->rec.bytes, bytes = BGDMA_PACKET_MAX;
	struct bgdma_desc d = d_memfifo(1, b->rec.id, a->mem.handle, 0, bytes);
	struct bgdma_desc get = d_rget(0, a->rgq, b->mem.handle, 0, 1);
	__u32 slot, ic;
	int id;

	must(counter_alloc(&a->n, INJ, 0, 1, &slot));
	ic = BGDMA_HANDLE(slot, cell(&a->n, INJ, slot)->lease_gen);
	id = (int)must(grant(&a->n, INJ, slot, 1, BGDMA_RIGHT_COUNT));
	counter_add(&a->n, INJ, ic, 2 * room);
	d.inj_ctr = htole32(ic);
	memcpy(b->mem.p, &d, sizeof(d));

	/* With room it counts. */
	EXPECT_EQ(BGDMA_OK, run(&b->inj, &get));
	ASSERT_TRUE(read_until_from(&b->rec, 0));
	ASSERT_TRUE(until(value(&a->n, INJ, ic) == 2 * room - bytes));

	fill_own(b, bytes);
	EXPECT_EQ(BGDMA_OK, run(&b->inj, &get));
	ASSERT_TRUE(until(load(&b->rec.kern->starved)));
	ASSERT_EQ(2 * room - bytes, value(&a->n, INJ, ic));
	ASSERT_EQ(0, grant_revoke(&a->n, (__u32)id));
	read_until_from(&b->rec, 0);
	usleep(100000);	/* what still comes, comes soon */
	EXPECT_EQ(2 * room - bytes, value(&a->n, INJ, ic));
}

TEST_F(regress, x2_accept_revoked_within_a_message)
{
	struct end *a = &self->a, *b = &self->b;
	struct bgdma_event e;
	struct bgdma_desc d;
	struct rec r;
	__u64 tail;
	int id;

	must(rec_try(&r, &b->n, BGDMA_ID_ANY, BGDMA_REC_BYTES_MIN));
	id = (int)must(grant(&b->n, BGDMA_KIND_REC_FIFO, r.id, 0,
			     BGDMA_RIGHT_ACCEPT));
	d = d_memfifo(1, r.id, a->mem.handle, 0, PAIR_BYTES);
	inject(&a->inj, &d);
	wait_blocked(&a->inj);
	ASSERT_EQ(0, grant_revoke(&b->n, (__u32)id));
	tail = load(&r.kern->tail);
	EXPECT_LT(0, tail);
	/* Room again: for nothing. */
	while (packet(&r))
		packet_drop(&r);
	EXPECT_NE(BGDMA_OK, outcome(&a->inj, 0));
	ASSERT_TRUE(event_wait(&b->n, BGDMA_EVENT_FIFO_ERROR, &e));
	EXPECT_EQ(BGDMA_E_ABORTED, e.code);
	EXPECT_EQ(BGDMA_KIND_REC_FIFO, e.kind);
	EXPECT_EQ(r.id, e.object);
	EXPECT_EQ(tail, load(&r.kern->tail));
	EXPECT_EQ(NULL, packet(&r));
}

/* ---- Waits of io_uring ------------------------------------------------ */

/* A ring without a library: its requests' flags and end are ours alone. */
struct uring {
	int fd;
	struct io_uring_params p;
	size_t ring_bytes, sqes_bytes;
	char *ring;
	struct io_uring_sqe *sqes;
};

static void *uring_map(int fd, size_t bytes, off_t offset)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		       offset);

	must(p == MAP_FAILED ? -errno : 0);
	return p;
}

static void uring_new(struct uring *u, __u32 entries, __u32 completions)
{
	long fd;

	*u = (struct uring){
		.p.flags = IORING_SETUP_CQSIZE, .p.cq_entries = completions,
	};
	fd = syscall(SYS_io_uring_setup, entries, &u->p);
	u->fd = (int)must(fd < 0 ? -errno : fd);
	must(u->p.features & IORING_FEAT_SINGLE_MMAP ? 0 : -EOPNOTSUPP);
	u->ring_bytes = u->p.cq_off.cqes +
			u->p.cq_entries * sizeof(struct io_uring_cqe);
	if (u->ring_bytes < u->p.sq_off.array + u->p.sq_entries * sizeof(__u32))
		u->ring_bytes = u->p.sq_off.array +
				u->p.sq_entries * sizeof(__u32);
	u->sqes_bytes = u->p.sq_entries * sizeof(*u->sqes);
	u->ring = uring_map(u->fd, u->ring_bytes, IORING_OFF_SQ_RING);
	u->sqes = uring_map(u->fd, u->sqes_bytes, IORING_OFF_SQES);
}

static void uring_close(struct uring *u)
{
	close(u->fd);
	munmap(u->sqes, u->sqes_bytes);
	munmap(u->ring, u->ring_bytes);
}

static __u32 *uring_word(struct uring *u, __u32 offset)
{
	return (__u32 *)(void *)(u->ring + offset);
}

static void uring_wait(struct uring *u, int fd, __u8 flags,
		       const struct bgdma_condition *c)
{
	__u32 *tail = uring_word(u, u->p.sq_off.tail);
	__u32 i = *tail & (u->p.sq_entries - 1);
	long ret;

	memset(&u->sqes[i], 0, sizeof(u->sqes[i]));
	u->sqes[i].opcode = IORING_OP_URING_CMD;
	u->sqes[i].flags = flags;
	u->sqes[i].fd = fd;
	u->sqes[i].cmd_op = BGDMA_URING_WAIT;
	memcpy(u->sqes[i].cmd, c, sizeof(*c));
	uring_word(u, u->p.sq_off.array)[i] = i;
	store(tail, *tail + 1);
	ret = syscall(SYS_io_uring_enter, u->fd, 1, 0, 0, NULL, 0);
	must(ret < 0 ? -errno : ret == 1 ? 0 : -EAGAIN);
}

/* How many have completed; none is ever taken out. */
static __u32 uring_completed(struct uring *u)
{
	return load(uring_word(u, u->p.cq_off.tail));
}

static int uring_result(struct uring *u, __u32 i)
{
	const struct io_uring_cqe *cqes = (void *)(u->ring + u->p.cq_off.cqes);

	return load(&cqes[i & (u->p.cq_entries - 1)].res);
}

static bool uring_waits(struct node *n)
{
	struct bgdma_query q = { .size = sizeof(q) };

	must(bg_ioctl(n->fd, BGDMA_IOC_QUERY, &q));
	return q.features & BGDMA_FEATURE_URING_WAIT;
}

TEST_F(regress, x2_uring_wait_woken_and_closed)
{
	struct end *b = &self->b;
	struct bgdma_condition c = { .kind = REC, .object = b->rc };
	struct bgdma_counter_cell *counter = cell(&b->n, REC, b->rc);
	struct uring u;
	int i;

	if (!uring_waits(&b->n))
		SKIP(return, "no waits by io_uring");
	for (i = 0; i < 200; i++) {
		hit_clear(&b->n, REC, b->rc);
		counter_add(&b->n, REC, b->rc, 1);
		uring_new(&u, 4, 8);
		uring_wait(&u, b->n.fd, IOSQE_ASYNC, &c);
		/* A worker parks it: while it still does, or before. */
		if (i % 4)
			ASSERT_TRUE(until(load(&counter->arm)));
		counter_add(&b->n, REC, b->rc, -1);
		uring_close(&u);
	}
	EXPECT_TRUE(until(!load(&counter->arm)));
}

#define PARKED_MAX	1024

TEST_F(regress, x1_uring_waits_parked_at_once)
{
	struct node *n = &self->b.n;
	struct bgdma_condition c = {
		.kind = BGDMA_KIND_EVENTS, .value = 1U << 30,
	};
	struct uring u;
	__u32 i;

	if (!uring_waits(n))
		SKIP(return, "no waits by io_uring");
	uring_new(&u, 4, 64);
	for (i = 0; i < PARKED_MAX; i++)
		uring_wait(&u, n->fd, 0, &c);
	EXPECT_EQ(0, uring_completed(&u));
	for (i = 0; i < 8; i++) {
		uring_wait(&u, n->fd, 0, &c);
		ASSERT_TRUE(until(uring_completed(&u) == i + 1));
		EXPECT_EQ(-EBUSY, uring_result(&u, i));
	}
	uring_close(&u);
	/* Their places are free again. */
	EXPECT_TRUE(until(({
		uring_new(&u, 4, 64);
		uring_wait(&u, n->fd, 0, &c);
		i = uring_completed(&u);
		uring_close(&u);
		!i;
	})));
}

TEST_HARNESS_MAIN
