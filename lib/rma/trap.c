// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Trapping races, for development: while epochs of others are open, the memory
 * of a window is protected against its own process. The gate asks before it
 * grants an epoch; we protect first, then allow it. The engine writes by other
 * ways.
 *
 * An access that is caught is reported, and its page stays open, or all of the window
 * where it cannot be split, until the memory is protected again, with the next epoch
 * that begins.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "internal.h"

#define TRAPS_MAX	64

/* What the handler needs of a window; it reads nothing else. */
struct trap {
	char *addr;			/* NULL: free */
	uint64_t length;
	struct bgdma_window *window;
	bgdma_race_fn *race;
	void *arg;
	uint32_t rank, epoch;		/* the last that began */
};

static struct trap traps[TRAPS_MAX];
static pthread_mutex_t traps_lock = PTHREAD_MUTEX_INITIALIZER;
static struct sigaction before;
static bool installed;
static unsigned int users;
static unsigned int ends;		/* of traps */
static _Thread_local unsigned int ends_seen
	__attribute__((tls_model("initial-exec")));

/* ---- The handler ------------------------------------------------------- */

static const void *code_address(const void *context)
{
#if defined(__x86_64__)
	const ucontext_t *uc = context;

	return (const void *)uc->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
	const ucontext_t *uc = context;

	return (const void *)uc->uc_mcontext.pc;
#else
	(void)context;
	return NULL;
#endif
}

/*
 * What cannot be split is opened as a whole: memory of the driver's, huge pages, and
 * where there are as many mappings as there may be.
 */
static bool trap_open(const struct trap *trap, const char *addr, const char *at)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	int rights = PROT_READ | PROT_WRITE;

	return !mprotect((void *)((uintptr_t)at & ~(page - 1)), page, rights) ||
	       !mprotect((void *)addr, trap->length, rights);
}

static bool trap_catches(const struct trap *trap, const char *at,
			 const void *context)
{
	const char *addr = bgdma_load_acquire(&trap->addr);
	struct bgdma_race race;

	if (!addr || at < addr || at >= addr + trap->length)
		return false;
	race = (struct bgdma_race){
		.window = trap->window, .code = code_address(context),
		.offset = (uint64_t)(at - addr),
		.rank = bgdma_load_relaxed(&trap->rank),
		.epoch = bgdma_load_relaxed(&trap->epoch),
	};
	if (trap->race)
		trap->race(trap->arg, &race);
	return trap_open(trap, addr, at);
}

static bool is_function(const struct sigaction *action)
{
	return action->sa_flags & SA_SIGINFO ||
	       (action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN);
}

/* Not ours: as if we were not there. */
static void pass_on(int signal, siginfo_t *info, void *context)
{
	if (before.sa_flags & SA_SIGINFO) {
		before.sa_sigaction(signal, info, context);
	} else if (is_function(&before)) {
		before.sa_handler(signal);
	} else if (before.sa_handler == SIG_DFL || info->si_code > 0) {
		/* A fault comes again; what somebody has sent does not. */
		(void)sigaction(signal, &before, NULL);
		if (info->si_code <= 0)
			(void)raise(signal);
	}
}

/*
 * Whether it may have been a trap's that has ended meanwhile: then its memory can be
 * accessed, and the access is tried again. What is not so comes again.
 */
static bool may_be_ended(const siginfo_t *info)
{
	unsigned int now = bgdma_load_relaxed(&ends);

	/* Somebody sent it. */
	if (info->si_code <= 0 || ends_seen == now)
		return false;
	ends_seen = now;
	return true;
}

static void on_segv(int signal, siginfo_t *info, void *context)
{
	int saved = errno;
	unsigned int i;
	bool caught = false;

	for (i = 0; !caught && i < TRAPS_MAX; i++)
		caught = trap_catches(&traps[i], info->si_addr, context);
	errno = saved;
	if (!caught && !may_be_ended(info))
		pass_on(signal, info, context);
}

/* ---- Windows ----------------------------------------------------------- */

static int handler_install(void)
{
	const struct sigaction action = {
		.sa_sigaction = on_segv,
		/* As who was there before may want it. */
		.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK,
	};

	struct sigaction now;

	if (users++)
		return 0;
	if (sigaction(SIGSEGV, NULL, &now))
		goto fail;
	/* Somebody's who calls ours, see handler_remove(). */
	if (installed && is_function(&now))
		return 0;
	if (sigaction(SIGSEGV, &action, &before))
		goto fail;
	installed = true;
	return 0;
fail:
	users--;
	return -errno;
}

/* One that was set since then may call ours: both stay. */
static void handler_remove(void)
{
	struct sigaction now;

	if (--users || sigaction(SIGSEGV, NULL, &now) ||
	    !(now.sa_flags & SA_SIGINFO) || now.sa_sigaction != on_segv)
		return;
	installed = sigaction(SIGSEGV, &before, NULL);
}

/* What cannot be done at this moment is done later. */
static void trap_later(struct bgdma_rma *rma)
{
	rma->trap_missed = true;
	(void)rma_no_memory(rma);
}

static int trap_find_free(void)
{
	int i;

	for (i = 0; i < TRAPS_MAX; i++)
		if (!traps[i].addr)
			return i;
	return -ENOSPC;
}

int trap_create(struct bgdma_window *window)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	char *addr = bgdma_region_addr(window->region);
	uint64_t length = window->attr.length;
	int i, ret;

	if (!length || length % page || (uintptr_t)addr % page)
		return -EINVAL;
	pthread_mutex_lock(&traps_lock);
	i = trap_find_free();
	ret = i < 0 ? i : handler_install();
	if (!ret) {
		traps[i] = (struct trap){
			.length = length, .window = window,
			.race = window->attr.race, .arg = window->attr.arg,
		};
		bgdma_store_release(&traps[i].addr, addr);
		window->trap = i;
	}
	pthread_mutex_unlock(&traps_lock);
	return ret;
}

/* Where it fails a part may be protected: races go unseen in the rest. */
static void protect(struct bgdma_window *window)
{
	int rights = window->attr.trap == BGDMA_TRAP_ALL ? PROT_NONE : PROT_READ;

	window->closed = true;
	(void)mprotect(traps[window->trap].addr, window->attr.length, rights);
}

/* Its own process may access it: what cannot be opened now is, while there is the window. */
static void unprotect(struct bgdma_window *window)
{
	window->closed = mprotect(traps[window->trap].addr, window->attr.length,
				  PROT_READ | PROT_WRITE);
	if (window->closed)
		trap_later(window->rma);
}

void trap_destroy(struct bgdma_window *window, bool memory)
{
	struct trapped *t;

	if (window->trap < 0)
		return;
	/* What may be in the place of memory that is not is none of ours. */
	if (window->closed && memory)
		unprotect(window);
	while ((t = window->trapped)) {
		window->trapped = t->next;
		free(t);
	}
	pthread_mutex_lock(&traps_lock);
	/* First: who does not find it any more sees that one has ended. */
	bgdma_store_relaxed(&ends, ends + 1);
	bgdma_store_release(&traps[window->trap].addr, NULL);
	handler_remove();
	pthread_mutex_unlock(&traps_lock);
	window->trap = -1;
	window->closed = false;
}

/* ---- Epochs ------------------------------------------------------------ */

static bool is_same(const struct trapped *a, const struct trapped *b)
{
	return a->node == b->node && a->incarnation == b->incarnation &&
	       a->epoch == b->epoch;
}

static bool is_trapped(const struct bgdma_window *window,
		       const struct trapped *its)
{
	const struct trapped *t = window->trapped;

	while (t && !is_same(t, its))
		t = t->next;
	return t;
}

/* Of several, the one that began last is told of. */
static void trap_name(const struct bgdma_window *window)
{
	struct trap *trap = &traps[window->trap];

	bgdma_store_relaxed(&trap->rank, window->trapped->rank);
	bgdma_store_relaxed(&trap->epoch, window->trapped->epoch);
}

/* Who asks a gate waits for us. */
static void trap_heed(struct bgdma_window *window, int error)
{
	if (error != -ENOMEM && error != -EINTR && error != -EAGAIN)
		return;
	trap_later(window->rma);
}

/*
 * @rank: whose it is in the job. It may be known: who looks at the gate, as events
 * were lost, may have its event yet to come.
 */
static void trap_begin(struct bgdma_window *window, uint32_t rank,
		       const struct trapped *its)
{
	const struct bgdma_ctx_info *us = bgdma_ctx_info(window->rma->ctx);
	struct trapped *t = NULL;

	/* Our own accesses in an epoch of our own are no race. */
	if ((its->node != us->rank || its->incarnation != us->incarnation) &&
	    !is_trapped(window, its))
		t = malloc(sizeof(*t));
	/* Without memory it is allowed all the same: races go unseen. */
	if (t) {
		*t = *its;
		t->rank = rank;
		t->next = window->trapped;
		window->trapped = t;
		trap_name(window);
		protect(window);
	}
	trap_heed(window, bgdma_gate_allow(window->region, its->node,
					   its->incarnation, its->epoch));
}

static void trap_end(struct bgdma_window *window, const struct trapped *its)
{
	struct trapped **link = &window->trapped, *t;

	for (; (t = *link); link = &t->next) {
		if (!is_same(t, its))
			continue;
		*link = t->next;
		free(t);
		if (window->trapped)
			trap_name(window);
		else
			unprotect(window);
		return;
	}
}

static struct trapped trapped_of(const struct bgdma_epoch *epoch)
{
	return (struct trapped){
		.node = epoch->rank, .incarnation = epoch->incarnation,
		.epoch = epoch->epoch,
	};
}

static bool is_there(const struct bgdma_epoch *epochs, int count,
		     const struct trapped *t)
{
	struct trapped at;
	int i;

	for (i = 0; i < count; i++) {
		at = trapped_of(&epochs[i]);
		if (is_same(&at, t) && epochs[i].state > BGDMA_EPOCH_ASKED)
			return true;
	}
	return false;
}

/* Events were lost: look at the gate itself. */
static void trap_look(struct bgdma_window *window)
{
	const struct bgdma_epoch *e;
	struct bgdma_epoch *epochs;
	struct trapped *t, *next, asks;
	uint32_t room = window_epochs(window->rma);
	int count, i;

	epochs = calloc(room, sizeof(*epochs));
	count = epochs ? bgdma_gate_epochs(window->region, epochs, room) :
			 -ENOMEM;
	trap_heed(window, count);
	for (t = window->trapped; count >= 0 && t; t = next) {
		next = t->next;
		if (!is_there(epochs, count, t))
			trap_end(window, t);
	}
	for (i = 0; i < count; i++) {
		e = &epochs[i];
		if (e->state != BGDMA_EPOCH_ASKED)
			continue;
		asks = trapped_of(e);
		trap_begin(window, rma_rank(window->rma, e->rank, e->ctx,
					    e->incarnation), &asks);
	}
	if (window->closed && !window->trapped)
		unprotect(window);
	free(epochs);
}

void traps_again(struct bgdma_rma *rma)
{
	struct bgdma_window *window;

	rma->trap_missed = false;
	for (window = rma->windows; window; window = window->next)
		trap_event(window, NULL, BGDMA_STRANGER);
}

void trap_event(struct bgdma_window *window, const struct bgdma_event *event,
		uint32_t rank)
{
	struct trapped its;

	if (window->trap < 0)
		return;
	if (!event) {
		trap_look(window);
		return;
	}
	its = (struct trapped){
		.node = event->peer_rank, .incarnation = event->peer_incarnation,
		.epoch = (uint32_t)event->cookie,
	};
	if (event->code == BGDMA_OK && event->desc_seq == BGDMA_EPOCH_ASKED)
		trap_begin(window, rank, &its);
	else if (event->code == BGDMA_E_PEER_DOWN ||
		 event->desc_seq == BGDMA_EPOCH_OVER)
		trap_end(window, &its);
}
