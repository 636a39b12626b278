// SPDX-License-Identifier: GPL-2.0
/*
 * What is mapped: mapping it in right and wrong ways, and writing into it
 * while the engine reads.
 */
#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "machine.h"

__thread sigjmp_buf touching;

void view_add(struct machine *m, void *p, size_t bytes)
{
	m->view[m->views++ % VIEWS] = (struct view){ p, bytes };
}

void call_map(struct machine *m, struct file *f, const uint8_t *choice)
{
	static const int prots[] = {
		PROT_READ | PROT_WRITE, PROT_READ, PROT_READ | PROT_WRITE,
		PROT_NONE, PROT_READ | PROT_EXEC, PROT_WRITE
	};
	static const int flags[] = {
		MAP_SHARED, MAP_SHARED, MAP_SHARED, MAP_PRIVATE,
		MAP_SHARED | MAP_POPULATE, MAP_SHARED | MAP_LOCKED
	};
	struct bgdma_area a = f->area[choice[0] % LIST];
	void *p;

	a.offset += choose(m, f, C_ZERO, choice[1]) * PAGE;
	a.bytes += choose(m, f, C_ZERO, choice[2]) * PAGE;
	p = mmap(NULL, a.bytes, prots[choice[3] % 6], flags[choice[4] % 6],
		 f->fd, (off_t)a.offset);
	if (p != MAP_FAILED)
		view_add(m, p, a.bytes);
}

/* Take something away, or change it; the arena is what regions are made of. */
void call_remap(struct machine *m, struct file *f, const uint8_t *choice)
{
	struct view v = m->view[choice[1] % VIEWS];
	void *p;

	if (choice[2] % 4 == 3)
		v = (struct view){ m->arena + 8 * PAGE * (choice[1] % 4),
				   8 * PAGE };
	if (!v.p)
		return;
	if (choice[3] % 4 == 3 && v.bytes > PAGE)
		v.bytes = PAGE;
	switch (choice[0] % 8) {
	case 0:
		munmap(v.p, v.bytes);
		break;
	case 1:
		mprotect(v.p, v.bytes, PROT_READ);
		break;
	case 2:
		mprotect(v.p, v.bytes, PROT_READ | PROT_WRITE);
		break;
	case 3:
		madvise(v.p, v.bytes, MADV_DONTNEED);
		break;
	case 4:
		madvise(v.p, v.bytes, MADV_DOFORK);
		break;
	case 5:
		p = mremap(v.p, v.bytes, 2 * v.bytes, MREMAP_MAYMOVE);
		if (p != MAP_FAILED)
			view_add(m, p, 2 * v.bytes);
		break;
	case 6:
		p = mremap(v.p, v.bytes, v.bytes, MREMAP_MAYMOVE |
			   MREMAP_DONTUNMAP);
		if (p != MAP_FAILED)
			view_add(m, p, v.bytes);
		break;
	case 7:
		p = mremap(v.p, 0, v.bytes, MREMAP_MAYMOVE);
		if (p != MAP_FAILED)
			view_add(m, p, v.bytes);
		break;
	}
	(void)f;
}

/* One word, somewhere. */
static void poke(struct machine *m, unsigned int which, size_t at, __u64 v)
{
	struct view view = m->view[which % VIEWS];

	if (!view.p || view.bytes < sizeof(v) || sigsetjmp(touching, 1))
		return;
	at = at * sizeof(v) % view.bytes;
	__atomic_store_n((__u64 *)((char *)view.p + at), v, __ATOMIC_RELAXED);
}

void call_poke(struct machine *m, struct file *f, const uint8_t *choice)
{
	int i;

	for (i = 0; i < 3; i++) {
		const uint8_t *c = choice + 5 * i;

		poke(m, c[0], c[1] | (size_t)(c[2] / 16) << 8,
		     choose(m, f, c[4] % 2 ? C_SEQ : C_VALUE, c[3]));
	}
}

/* ---- While other things go on ------------------------------------------ */

static __u64 scramble(__u64 *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void *scribble(void *arg)
{
	struct machine *m = arg;
	__u64 state = 0x853c49e6748fea9bULL;
	sigset_t all;

	/* What is sent to the process is for the thread that makes calls. */
	sigfillset(&all);
	sigdelset(&all, SIGSEGV);
	sigdelset(&all, SIGBUS);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	while (__atomic_load_n(&m->scribbling, __ATOMIC_RELAXED)) {
		__u64 r = scramble(&state);
		/* Near what was there: indices that move by a little. */
		__u64 v = r % 3 ? r >> 40 & 0x7f : scramble(&state);

		poke(m, m->views < VIEWS ? (unsigned int)(r % (m->views + 1)) :
			(unsigned int)r, r >> 8 & 0x1ff, v);
		if (!(r & 0xf00000))
			sched_yield();
	}
	return NULL;
}

/* Begins, or ends with the program. */
void call_scribble(struct machine *m, struct file *f, const uint8_t *choice)
{
	pthread_t thread;

	(void)f;
	(void)choice;
	if (__atomic_exchange_n(&m->scribbling, true, __ATOMIC_RELAXED))
		return;
	if (!pthread_create(&thread, NULL, scribble, m))
		pthread_detach(thread);
}
