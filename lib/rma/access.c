// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * MPI's access epochs, each one of ours for each target: that of a lock begins
 * at once, all others are shared and begin with the first access.
 */
#include "internal.h"

static bool mode_lets(const struct bgdma_window *window, uint32_t target)
{
	switch (window->mode) {
	case ACCESS_LOCKS:
	case ACCESS_FENCE:
		return true;
	case ACCESS_STARTED:
		return window->peer[target].started;
	default:
		return false;
	}
}

static bool mode_lets_locks(const struct bgdma_window *window)
{
	return window->mode == ACCESS_NONE || window->mode == ACCESS_FENCE;
}

static bool begun_or_not(void *arg)
{
	struct window_peer *peer = arg;

	return !peer->beginning;
}

/* With the lock: of several threads one begins it. */
static bool access_claim(struct window_peer *peer)
{
	if (peer->access || peer->beginning)
		return false;
	peer->beginning = true;
	return true;
}

/* Of who has claimed it. */
static int access_begin(struct bgdma_window *window, uint32_t target,
			unsigned int flags, bool lock)
{
	struct window_peer *peer = &window->peer[target];
	struct bgdma_rma_epoch *e = NULL;
	int ret = epoch_begin(window, target, EPOCH_ACCESS, flags, &e);

	rma_lock(window->rma);
	if (!ret)
		bgdma_store_release(&peer->access, e);
	if (lock) {
		peer->locked = !ret;
		window->locks -= !!ret;
	}
	peer->beginning = false;
	rma_unlock(window->rma);
	bgdma_endpoint_wake(window->rma->ep);
	return ret;
}

/* The others wait for the one who does. */
static int access_have(struct bgdma_window *window, uint32_t target)
{
	struct window_peer *peer = &window->peer[target];
	bool mine;

	rma_lock(window->rma);
	mine = access_claim(peer);
	rma_unlock(window->rma);
	return mine ? access_begin(window, target, 0, false) :
		      rma_wait(window->rma, begun_or_not, peer);
}

int bgdma_window_epoch(struct bgdma_window *window, uint32_t target,
		       struct bgdma_rma_epoch **epoch)
{
	struct window_peer *peer;
	int ret;

	if (bgdma_unlikely(target >= window->rma->size))
		return -EINVAL;
	peer = &window->peer[target];
	while (bgdma_unlikely(!bgdma_load_acquire(&peer->access))) {
		if (!mode_lets(window, target))
			return -ENOLCK;
		ret = access_have(window, target);
		if (ret)
			return ret;
	}
	*epoch = bgdma_load_acquire(&peer->access);
	return 0;
}

int accesses_close(struct bgdma_window *window)
{
	struct bgdma_rma *rma = window->rma;
	struct window_peer *peer;
	uint32_t i, size = rma->size;
	int ret, first = 0;

	/* Each stage at all targets before the next: they go on meanwhile. */
	for (i = 0; i < size; i++) {
		peer = &window->peer[i];
		peer->closing = bgdma_load_acquire(&peer->access);
		if (peer->closing)
			peer->result = epoch_close_begin(peer->closing);
	}
	for (i = 0; i < size; i++) {
		peer = &window->peer[i];
		if (peer->closing && !peer->result)
			peer->result = epoch_close_wait(peer->closing);
	}
	for (i = 0; i < size; i++) {
		peer = &window->peer[i];
		peer->end = 0;
		if (!peer->closing)
			continue;
		ret = epoch_close_end(peer->closing, peer->result, &peer->end);
		peer->access = NULL;
		if (ret && !first)
			first = ret;
	}
	for (i = 0; i < size; i++)
		if (window->peer[i].end)
			(void)rma_channel_wait(rma, rma->peer[i].ch,
					       window->peer[i].end);
	return first;
}

int accesses_claim(struct bgdma_window *window, enum access_mode *was)
{
	int ret = -EALREADY;

	rma_lock(window->rma);
	*was = window->mode;
	if (!window->locks && mode_lets_locks(window)) {
		window->mode = ACCESS_BUSY;
		ret = 0;
	}
	rma_unlock(window->rma);
	return ret;
}

int accesses_claim_end(struct bgdma_window *window, enum access_mode mode)
{
	int ret = -ENOLCK;

	rma_lock(window->rma);
	if (window->mode == mode) {
		window->mode = ACCESS_BUSY;
		ret = 0;
	}
	rma_unlock(window->rma);
	return ret;
}

void accesses_set(struct bgdma_window *window, enum access_mode mode)
{
	rma_lock(window->rma);
	window->mode = mode;
	rma_unlock(window->rma);
}

/* A lock is one thread's. It counts while it is waited for. */
int bgdma_window_lock(struct bgdma_window *window, uint32_t target,
		      unsigned int flags)
{
	bool mine;

	if (target >= window->rma->size)
		return -EINVAL;
	rma_lock(window->rma);
	mine = mode_lets_locks(window) && access_claim(&window->peer[target]);
	window->locks += mine;
	rma_unlock(window->rma);
	return mine ? access_begin(window, target, flags, true) : -EALREADY;
}

int bgdma_window_unlock(struct bgdma_window *window, uint32_t target)
{
	struct bgdma_rma_epoch *e = NULL;
	struct window_peer *peer;
	int ret;

	if (target >= window->rma->size)
		return -ENOLCK;
	peer = &window->peer[target];
	rma_lock(window->rma);
	/* Others may be of a fence. */
	if (peer->locked) {
		e = peer->access;
		peer->locked = false;
	}
	rma_unlock(window->rma);
	if (!e)
		return -ENOLCK;
	ret = epoch_close(e);
	/* Until then another lock would have its identifier. */
	rma_lock(window->rma);
	peer->access = NULL;
	window->locks--;
	rma_unlock(window->rma);
	return ret;
}

int bgdma_window_lock_all(struct bgdma_window *window)
{
	enum access_mode was;
	int ret = accesses_claim(window, &was);

	if (!ret)
		accesses_set(window, ACCESS_LOCKS);
	return ret;
}

int bgdma_window_unlock_all(struct bgdma_window *window)
{
	int ret = accesses_claim_end(window, ACCESS_LOCKS);

	if (ret)
		return ret;
	ret = accesses_close(window);
	accesses_set(window, ACCESS_NONE);
	return ret;
}

/*
 * What another thread ends meanwhile is complete with it, and may be another window's by
 * now.
 */
static int access_flush(struct bgdma_window *window, uint32_t target)
{
	const struct window_peer *peer = &window->peer[target];
	struct bgdma_rma_request all = { 0 };
	struct bgdma_rma *rma = window->rma;
	struct bgdma_rma_epoch *e;
	struct channel *ch;
	int ret = 0;

	rma_lock(rma);
	e = peer->access;
	if (e && e->window == window)
		ret = epoch_flush_begin(e, &all, &ch);
	rma_unlock(rma);
	return ret || !all.epoch ? ret : epoch_settle(&all, ch);
}

int bgdma_window_flush(struct bgdma_window *window, uint32_t target)
{
	uint32_t i, size = window->rma->size;
	int ret, first = 0;

	if (target != BGDMA_FLUSH_ALL && target >= size)
		return -EINVAL;
	for (i = 0; i < size; i++) {
		if (target != BGDMA_FLUSH_ALL && i != target)
			continue;
		ret = access_flush(window, i);
		if (ret && !first)
			first = ret;
	}
	return first;
}

int bgdma_window_flush_local(struct bgdma_window *window, uint32_t target)
{
	return bgdma_window_flush(window, target);
}
