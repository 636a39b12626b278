// SPDX-License-Identifier: GPL-2.0
/*
 * DMA-9: with the engine awake, from injection to completion without any
 * system call, for each of the five operations.
 *
 * A child sets everything up, wakes the engine, and gives up all system calls
 * but exit by a seccomp filter that kills it for any other. If it lives to say
 * that the bytes are there, then it made none. The same process is both ends,
 * so neither did the other side.
 */
#include <endian.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "kselftest_harness.h"
#include "utils.h"

#define ROUNDS	200
#define BYTES	10000

FIXTURE(zero) {
};

FIXTURE_SETUP(zero)
{
	/* As long as it may poll after work. */
	partition_new("2x1x1", "poll-ns 1000000000");
}

FIXTURE_TEARDOWN(zero)
{
}

static void give_up_system_calls(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_exit_group, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog filter = { sizeof(code) / sizeof(code[0]), code };

	must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ? -errno : 0);
	must(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) ? -errno : 0);
}

/* post() without what could call: the engine has to be awake. */
static bool post_silently(struct inj *f)
{
	store(&f->user->tail, f->tail);
	__atomic_fetch_or(&f->n->uctl->doorbell[f->id / 64],
			  1ULL << f->id % 64, __ATOMIC_SEQ_CST);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return !(load(&f->n->kctl->wake) & BGDMA_NEED_WAKEUP);
}

/* Spin without looking at the clock, which could be a system call. */
#define spin_until(condition)						\
({									\
	__u64 left_ = 20000000000ULL;					\
									\
	while (!(condition) && --left_)					\
		__builtin_ia32_pause();					\
	left_ != 0;							\
})

struct ends {
	struct end a, b;
};

/* One transfer by each operation; what to look at when it is done. */
static struct bgdma_desc transfer(struct ends *x, int op)
{
	struct bgdma_desc d = d_nop();

	switch (op) {
	case BGDMA_OP_MEMFIFO:
		d = d_memfifo(1, x->b.rec.id, x->a.mem.handle, 0, BYTES);
		break;
	case BGDMA_OP_LOCAL_MEMFIFO:
		d = d_local_memfifo(x->a.rec.id, x->a.mem.handle, 0, BYTES);
		break;
	case BGDMA_OP_PUT:
		d = d_put(1, x->a.mem.handle, 0, x->b.mem.handle, 0, BYTES);
		break;
	case BGDMA_OP_LOCAL_COPY:
		d = d_copy(x->a.mem.handle, 0, x->a.mem.handle, 20000, BYTES);
		break;
	case BGDMA_OP_RGET:
		d = d_put(0, x->b.mem.handle, 0, x->a.mem.handle, 20000, BYTES);
		d.inj_ctr = htole32(x->b.ic);
		d.rec_ctr = htole32(x->a.rc);
		memcpy(x->a.mem.p + 60000, &d, sizeof(d));
		return d_rget(1, x->b.rgq, x->a.mem.handle, 60000, 1);
	}
	d.inj_ctr = htole32(x->a.ic);
	d.rec_ctr = htole32(op == BGDMA_OP_MEMFIFO || op == BGDMA_OP_PUT ?
			    x->b.rc : x->a.rc);
	return d;
}

static int silent(void *arg)
{
	int op = *(int *)arg, round;
	bool local = op == BGDMA_OP_LOCAL_MEMFIFO || op == BGDMA_OP_LOCAL_COPY;
	static struct ends x;
	struct end *source = op == BGDMA_OP_RGET ? &x.b : &x.a;
	struct end *sink = local || op == BGDMA_OP_RGET ? &x.a : &x.b;
	struct rec *r = NULL;
	struct bgdma_desc nop = d_nop(), d;

	end_new(&x.a, 0);
	end_new(&x.b, 1);
	d = transfer(&x, op);
	if (op == BGDMA_OP_MEMFIFO || op == BGDMA_OP_LOCAL_MEMFIFO)
		r = &sink->rec;
	fill(source->mem.p, BYTES, 1);
	/* Work for its threads keeps the engine awake for a while. */
	put_in(&x.a.inj, &nop);
	post_silently(&x.a.inj);
	must(doorbell(&x.a.n, BGDMA_DOORBELL_POOL));
	must(until(!load(&x.a.n.kctl->wake)) ? 0 : -ETIME);
	give_up_system_calls();

	for (round = 0; round < ROUNDS; round++) {
		__u32 got = 0;

		hit_clear(&source->n, INJ, source->ic);
		hit_clear(&sink->n, REC, sink->rc);
		__atomic_fetch_add(&cell(&source->n, INJ, source->ic)->value,
				   BYTES, __ATOMIC_SEQ_CST);
		__atomic_fetch_add(&cell(&sink->n, REC, sink->rc)->value,
				   BYTES, __ATOMIC_SEQ_CST);
		x.a.inj.ring[x.a.inj.tail++ & (x.a.inj.entries - 1)] = d;
		if (!post_silently(&x.a.inj))
			_exit(EAGAIN);
		/* Both sides learn of it from memory alone. */
		if (!spin_until(hit(&source->n, INJ, source->ic)) ||
		    !spin_until(hit(&sink->n, REC, sink->rc)))
			_exit(ETIME);
		while (r && got < BYTES) {
			const struct bgdma_packet *p;

			if (!spin_until(packet(r)))
				_exit(ETIME);
			p = packet(r);
			got += p->bytes;
			r->head += (sizeof(*p) + p->bytes + 31U) & ~31U;
			store(&r->user->head, r->head);
		}
	}
	_exit(0);
}

static int operation;

#define OPERATION(name, op_)						\
TEST_F_TIMEOUT(zero, dma9_##name, 120)					\
{									\
	int ret = -EAGAIN, tries = 5;					\
									\
	/* A host that stands still for a second lets the engine sleep. */ \
	for (operation = op_; ret == -EAGAIN && tries; tries--)		\
		ret = in_child(silent, &operation);			\
	EXPECT_EQ(0, ret);						\
}

OPERATION(memory_fifo, BGDMA_OP_MEMFIFO)
OPERATION(local_memory_fifo, BGDMA_OP_LOCAL_MEMFIFO)
OPERATION(direct_put, BGDMA_OP_PUT)
OPERATION(local_copy, BGDMA_OP_LOCAL_COPY)
OPERATION(remote_get, BGDMA_OP_RGET)

static int make_one(void *arg)
{
	(void)arg;
	give_up_system_calls();
	return (int)syscall(__NR_getppid);
}

TEST_F(zero, the_filter_kills)
{
	/* So that the tests above can fail. */
	EXPECT_EQ(-EINTR, in_child(make_one, NULL));
}

TEST_F(zero, dma9_an_engine_that_sleeps_asks_for_the_doorbell)
{
	struct end a;
	struct bgdma_desc nop = d_nop();

	end_new(&a, 0);
	EXPECT_EQ(BGDMA_OK, run(&a.inj, &nop));
	/* X: an idle module uses no CPU, so it does go to sleep. */
	EXPECT_TRUE(until(load(&a.n.kctl->wake) & BGDMA_NEED_WAKEUP));
	EXPECT_FALSE(post_silently(&a.inj));
	EXPECT_EQ(BGDMA_OK, run(&a.inj, &nop));
	node_close(&a.n);
}

TEST_HARNESS_MAIN
