/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One process in the storm: what it does until it is killed. See storm_test.c.
 */
#ifndef BGDMA_SELFTESTS_STORM_H
#define BGDMA_SELFTESTS_STORM_H

#include <endian.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "utils.h"

#define USERS		3
#define FIRST_UID	2000
#define WORKERS_MAX	256

static struct {
	unsigned int workers, steps, rounds, removals;
} size = { 32, 50, 2, 6 };

/* What a worker lets others know of itself. */
struct place {
	__u32 rank, ctx, region, rec, rgq, counter, incarnation;
};

/* What there was of each kind, or it was no storm. */
enum weather {
	KILLED, STOPPED, FORKED, EXECUTED, BOUND, DELETED, PROCESSORS, WEATHER,
};

static struct shared_table {
	struct place place[WORKERS_MAX];
	__u32 weather[WEATHER];
	__u32 witnessed;	/* transfers that the witness saw end well */
	__u32 betrayed;		/* or not */
} *table;

static bool memory_is_short;

/* ---- Chance ----------------------------------------------------------- */

static __u64 chance;	/* each process has its own */

static __u32 any(__u32 below)
{
	/* xorshift64* */
	chance ^= chance >> 12;
	chance ^= chance << 25;
	chance ^= chance >> 27;
	return (__u32)((chance * 2685821657736338717ULL >> 32) % below);
}

static void seed(__u64 a, __u64 b)
{
	chance = (a + 1) * 6364136223846793005ULL ^ (b + 1) * 1442695040888963407ULL;
	chance |= 1;
	any(2);
	any(2);
}

/* ---- Workers ---------------------------------------------------------- */

static void count(__u32 *of)
{
	__atomic_fetch_add(of, 1, __ATOMIC_SEQ_CST);
}

#define BETRAYED	77	/* exit code */

static void use_inherited_and_wait(const char *fd)
{
	/* After exec: the file is another's, and no call may work. */
	if (ioctl(atoi(fd), BGDMA_IOC_DOORBELL, 0) != -1)
		_exit(BETRAYED);
	for (;;)
		pause();
}

#define GROUP	7

/* A gate, and a group of those at some nodes of its line. Either may be refused. */
static void meet_others(struct end *e)
{
	const struct bgdma_group_slot slot = {
		BGDMA_KIND_REC_FIFO, e->rec.id,
	};
	struct bgdma_group_member member[4];
	struct bgdma_group_bind bind = {
		.size = sizeof(bind), .group = GROUP,
		.slots = (uintptr_t)&slot, .count = 1,
		.members = (uintptr_t)member, .member_count = 4,
	};
	__u32 first = e->n.at.rank / 4 * 4, i;

	for (i = 0; i < 4; i++)
		member[i] = (struct bgdma_group_member){
			.rank = first + i,
			.ctx = (__u16)(first + i == e->n.at.rank ?
				       e->n.at.ctx : any(4)),
		};
	grant(&e->n, BGDMA_KIND_REGION, e->mem.handle, BGDMA_RANK_ANY,
	      BGDMA_RIGHT_EPOCH | BGDMA_RIGHT_ATOMIC);
	if (any(2))
		gate(&e->n, e->mem.handle, 0, 0);
	if (any(2))
		ioctl(e->n.fd, BGDMA_IOC_GROUP_BIND, &bind);
}

#define CLASS_OF	4

/*
 * A class with those next to us, as we see them now. Who sees the same has the same
 * class; else it is broken, or never used.
 */
static void combine_with_others(struct end *e, unsigned int me)
{
	const struct place *p = &table->place[me / CLASS_OF * CLASS_OF];
	struct bgdma_group_member who[CLASS_OF];
	struct bgdma_class_unbind old = {
		.size = sizeof(old), .flags = BGDMA_CLASS_BREAK,
	};
	struct bgdma_class_bind bind = {
		.size = sizeof(bind), .instance = 1, .rank = me % CLASS_OF,
		.members = (uintptr_t)who, .member_count = CLASS_OF,
	};
	unsigned int i;

	for (i = 0; i < CLASS_OF; i++) {
		who[i] = (struct bgdma_group_member){
			.rank = p[i].rank, .ctx = (__u16)p[i].ctx,
			.incarnation = p[i].incarnation,
		};
		bind.instance = bind.instance * 31 + p[i].incarnation;
	}
	bind.instance |= 1;
	ioctl(e->n.fd, BGDMA_IOC_CLASS_UNBIND, &old);
	if (!ioctl(e->n.fd, BGDMA_IOC_CLASS_BIND, &bind))
		count(&table->weather[BOUND]);
}

/* A context with one of everything; false: there is no partition, or no room. */
static bool settle(struct end *e, unsigned int me, __u32 rank)
{
	struct place *p = &table->place[me];
	size_t bytes = (1 + any(64)) * 4 * KIB;

	memset(e, 0, sizeof(*e));
	if (node_try(&e->n, PARTITION, rank, NULL))
		return false;
	if (inj_try(&e->inj, &e->n, BGDMA_ID_ANY, 64) ||
	    rec_try(&e->rec, &e->n, BGDMA_ID_ANY, BGDMA_REC_BYTES_MIN) ||
	    rgq_try(&e->n, 16, 16, any(2) * 50, &e->rgq) ||
	    grant(&e->n, BGDMA_KIND_REC_FIFO, e->rec.id, BGDMA_RANK_ANY,
		  BGDMA_RIGHT_ACCEPT) < 0 ||
	    grant(&e->n, BGDMA_KIND_RGET_QUEUE, e->rgq, BGDMA_RANK_ANY,
		  BGDMA_RIGHT_INJECT) < 0)
		return false;
	region_new(&e->mem, &e->n, bytes);
	e->ic = counter_new(&e->n, INJ, 0);
	e->rc = counter_new(&e->n, REC, 0);
	meet_others(e);
	*p = (struct place){
		.rank = rank, .ctx = e->n.at.ctx, .region = e->mem.handle,
		.rec = e->rec.id, .rgq = e->rgq, .counter = e->rc,
		.incarnation = e->n.at.incarnation,
	};
	combine_with_others(e, me);
	return true;
}

/* Down the line along X of the torus of 4x4x1, if one has bound the group. */
static struct bgdma_desc deposit(const struct end *e)
{
	__u32 rank = e->n.at.rank;
	struct bgdma_desc d = d_inline(rank / 4 * 4 + (rank + 3) % 4, 0, "storm",
				       6);

	d.flags |= BGDMA_DESC_GROUP;
	d.route = BGDMA_ROUTE_DEPOSIT | BGDMA_ROUTE_XP;
	d.dst_ctx = htole16(GROUP);
	return d;
}

/* Epochs begin and end, in any order; nobody waits for one. */
static struct bgdma_desc epoch(const struct place *to)
{
	static const enum bgdma_op ops[] = {
		BGDMA_OP_EPOCH_BEGIN, BGDMA_OP_EPOCH_END, BGDMA_OP_EPOCH_CLOSE,
	};
	struct bgdma_desc d = d_gate(to->rank, ops[any(3)], to->region,
				     1 + any(3), BGDMA_NONE);

	if (d.op == BGDMA_OP_EPOCH_BEGIN && any(2))
		d.flags |= BGDMA_DESC_EXCLUSIVE;
	return d;
}

/* A part in a sum of all of the class, as long as all are there. */
static struct bgdma_desc sum(const struct end *e)
{
	return (struct bgdma_desc){
		.op = BGDMA_OP_TREE_ALLREDUCE, .flags = BGDMA_DESC_OPS,
		.dispatch = htole16(BGDMA_TREE_COMBINE(BGDMA_TREE_ADD,
						       BGDMA_TREE_U64)),
		.inj_ctr = htole32(BGDMA_NONE), .rec_ctr = htole32(e->rc),
		.length = htole32(8 * (1 + any(100))),
		.u.at = {
			.src_region = htole32(e->mem.handle),
			.dst_region = htole32(e->mem.handle),
			.dst_off = htole64(KIB),
		},
	};
}

/* To somebody, who may be gone, or somebody else by now. */
static struct bgdma_desc some_desc(struct end *e)
{
	struct place to = table->place[any(size.workers)];
	__u32 length = any(4) ? any(2000) : any((__u32)e->mem.bytes + 1);
	struct bgdma_desc d, put;

	switch (any(10)) {
	case 0:
		d = d_memfifo(to.rank, to.rec, e->mem.handle, 0, length);
		break;
	case 1:
		d = d_inline(to.rank, to.rec, "storm", 6);
		break;
	case 2:
		/* Have it put something here. */
		put = d_put(e->n.at.rank, to.region, 0, e->mem.handle, 0,
			    any(PAGE));
		put.dst_ctx = htole16(e->n.at.ctx);
		memcpy(e->mem.p, &put, sizeof(put));
		d = d_rget(to.rank, to.rgq, e->mem.handle, 0, 1);
		break;
	case 3:
		d = d_copy(e->mem.handle, 0, e->mem.handle, 0, length);
		break;
	case 4:
		return deposit(e);
	case 9:
		return sum(e);
	case 5:
		d = epoch(&to);
		d.dst_ctx = htole16((__u16)to.ctx);
		return d;
	case 6:
		d = d_atomic(to.rank, any(BGDMA_ATOMIC_OP_COUNT),
			     any(BGDMA_ATOMIC_TYPE_COUNT), 1, to.region, 0,
			     1 + any(64));
		d.u.at.src_region = htole32(e->mem.handle);
		break;
	default:
		d = d_put(to.rank, e->mem.handle, 0, to.region, 0, length);
		if (any(2))
			d.rec_ctr = htole32(to.counter);
	}
	d.dst_ctx = htole16((__u16)to.ctx);
	if (d.op != BGDMA_OP_RGET && any(2)) {
		d.inj_ctr = htole32(e->ic);
		counter_add(&e->n, INJ, e->ic, le32toh(d.length));
	}
	return d;
}

static void some_call(struct end *e, unsigned int me)
{
	__u32 handle;

	switch (any(9)) {
	case 0:
		wait_for(&e->n, REC, e->rc, 0, any(20) * 1000000LL);
		break;
	case 1:
		wait_for(&e->n, INJ, e->ic, 0, any(20) * 1000000LL);
		break;
	case 2:
		cancel(&e->inj, load(&e->inj.kern->head), e->inj.tail);
		break;
	case 3:
		if (!region_pin(&e->n, e->mem.p, PAGE, LOCAL_RW, &handle))
			region_free(&e->n, handle);
		break;
	case 4:
		poll_file(&e->n, (int)any(10));
		break;
	case 5:
		doorbell(&e->n, any(2) ? BGDMA_DOORBELL_POOL : 0);
		break;
	case 6:
		fifo_destroy(&e->n, BGDMA_KIND_REC_FIFO, e->rec.id);
		if (rec_try(&e->rec, &e->n, e->rec.id, BGDMA_REC_BYTES_MIN))
			_exit(1);
		grant(&e->n, BGDMA_KIND_REC_FIFO, e->rec.id, BGDMA_RANK_ANY,
		      BGDMA_RIGHT_ACCEPT);
		break;
	case 7:
		if (counter_error(&e->n, REC, e->rc))
			clear_error(&e->n, REC, e->rc, 0);
		combine_with_others(e, me);
		break;
	default:
		usleep(any(2000));
	}
}

static void transfer(struct end *e, unsigned int me)
{
	unsigned int i, n = 20 + any(300);

	for (i = 0; i < n; i++) {
		if (load(&e->inj.kern->state) == BGDMA_FIFO_ERROR)
			clear_error(&e->n, BGDMA_KIND_INJ_FIFO, e->inj.id,
				    any(2) ? BGDMA_CLEAR_FLUSH : 0);
		if (e->inj.tail - load(&e->inj.kern->head) < e->inj.entries) {
			struct bgdma_desc d = some_desc(e);

			inject(&e->inj, &d);
		}
		if (any(3) && packet(&e->rec))
			packet_drop(&e->rec);
		if (!any(8))
			some_call(e, me);
	}
}

static void *sleep_for_ever(void *arg)
{
	wait_for(arg, BGDMA_KIND_EVENTS, 0, 0, -1);
	return NULL;
}

/* All that a context can have, until something says no. */
static void hold_everything(__u32 rank)
{
	const struct bgdma_attach most = {
		.ctx = BGDMA_CTX_ANY, .inj_fifos = 256, .rec_fifos = 64,
		.rget_queues = 64, .inj_counters = 1024, .rec_counters = 1024,
		.events = 4096,
	};
	struct bgdma_desc d;
	struct rec rec;
	struct inj inj;
	struct node n;
	pthread_t t;
	char *memory;
	__u32 id, i;

	if (node_try(&n, PARTITION, rank, &most))
		_exit(1);
	for (i = 0; i < 64 && !rec_try(&rec, &n, BGDMA_ID_ANY,
				       BGDMA_REC_BYTES_MIN); i++)
		grant(&n, BGDMA_KIND_REC_FIFO, rec.id, BGDMA_RANK_ANY,
		      BGDMA_RIGHT_ACCEPT);
	for (i = 0; i < 64 && !rgq_try(&n, 16, 4, 0, &id); i++)
		;
	for (i = 0; i < 2; i++)
		counter_alloc(&n, i ? INJ : REC, 0, 1024, &id);
	memory = mmap(NULL, MIB, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (i = 0; i < 2000 && !region_pin(&n, memory, PAGE, LOCAL_RW, &id);
	     i++)
		;
	while (grant(&n, BGDMA_KIND_REGION, id, BGDMA_RANK_ANY, PEER_RW) >= 0)
		;
	/* FIFOs that wait for room which nobody makes. */
	for (i = 0; i < 256 && !inj_try(&inj, &n, BGDMA_ID_ANY, 16); i++) {
		d = d_memfifo(rank, 0, id, 0, PAGE);
		d.dst_ctx = htole16(n.at.ctx);
		while (inj.tail < 16)
			put_in(&inj, &d);
		post(&inj);
	}
	for (i = 0; i < 8; i++)
		pthread_create(&t, NULL, sleep_for_ever, &n);
	for (;;)
		pause();
}

static void be_short_of_memory(void)
{
	for (;;) {
		size_t bytes = (8 + any(48)) * MIB;
		char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (p == MAP_FAILED)
			_exit(1);
		memset(p, 1, bytes);
		usleep(any(50000));
		munmap(p, bytes);
	}
}

static void leave_the_file_to_another(struct end *e, bool exec)
{
	char fd[16];

	if (!exec) {
		if (fork())
			_exit(0);
		if (ioctl(e->n.fd, BGDMA_IOC_DOORBELL, 0) != -1)
			_exit(BETRAYED);
		count(&table->weather[FORKED]);
		for (;;)
			pause();
	}
	fcntl(e->n.fd, F_SETFD, 0);
	snprintf(fd, sizeof(fd), "%d", e->n.fd);
	count(&table->weather[EXECUTED]);
	execl("/proc/self/exe", "storm_test", "--after-exec", fd, NULL);
	_exit(1);
}

static void live(unsigned int me)
{
	__u32 rank = me % USERS * 4 + any(4);
	unsigned int role = any(16);
	struct end e;

	if (role == 0)
		hold_everything(rank);
	if (role == 1 && memory_is_short)
		be_short_of_memory();
	for (;;) {
		if (!settle(&e, me, rank)) {
			usleep(1000 + any(5000));
			if (!any(4))
				_exit(1);
			if (e.n.fd > 0)
				node_close(&e.n);
			continue;
		}
		transfer(&e, me);
		switch (any(8)) {
		case 0:
			leave_the_file_to_another(&e, any(2));
			break;
		case 1:
			raise(SIGSTOP);
			transfer(&e, me);
			break;
		case 2:
			_exit(0);
		case 3:
			/* Without a further word. */
			kill(getpid(), any(2) ? SIGKILL : SIGTERM);
			break;
		default:
			break;
		}
		munmap(e.mem.p, e.mem.bytes);
		node_close(&e.n);
	}
}

#endif /* BGDMA_SELFTESTS_STORM_H */
