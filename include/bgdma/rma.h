/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * libbgdma, rma module: one-sided access to memory of other processes, in
 * epochs that the target's engine administers (EP-1 to EP-8). It stands on the
 * sys layer (<bgdma/sys.h>), beside other modules.
 *
 *	bgdma_endpoint_create(&ep, &(struct bgdma_endpoint_attr){ .job = job });
 *	bgdma_rma_create(&rma, ep, NULL);
 *	bgdma_endpoint_commit(ep, NULL);
 *	bgdma_window_create(rma, &(struct bgdma_window_attr){
 *		.length = 4096 }, &window);
 *
 *	bgdma_epoch_begin(window, 1, 42, BGDMA_EPOCH_EXCLUSIVE, &epoch);
 *	bgdma_epoch_put(epoch, &(struct bgdma_access_attr){
 *		.local = { region, 0 }, .length = 8, .at = 16 });
 *	bgdma_epoch_close(epoch);
 *
 * Every process shows the others a *window* of its memory. An *origin* begins an
 * epoch at a *target* under an identifier of its choice, puts and gets, and
 * closes it; then all has taken effect. The target's core takes no part. That goes
 * for memory that is attached to a window later (bgdma_window_attach()), too.
 *
 * On these epochs stand those of MPI-3, below: lock, fence, and post, start,
 * complete and wait.
 *
 * Rules that hold for all calls here:
 *
 * - Threads: as the endpoint's enum bgdma_threads. Calls that wait may not be
 *   made from callbacks. Signals do not end a wait.
 * - Calls that wait make progress of the endpoint.
 * - Local memory is named by region and offset. A region that is got into, and no
 *   window, has to be shown with bgdma_endpoint_expose() and BGDMA_RIGHT_WRITE.
 *   It must not be touched before the access is complete: after a flush, the
 *   close, or the wait for its request. Where one of these has failed, gets that
 *   were begun may still write to it until the epoch has been closed.
 * - Errors are -errno: -EHOSTDOWN the other process has left or died, or is as if it
 *   had (see BGDMA_TROUBLE_PEER_DOWN), else what bgdma_code_errno() makes of the engine's code. The first that an epoch has
 *   is what its flushes and its close return; bgdma_epoch_info() and the
 *   function of struct bgdma_rma_attr tell rank, epoch and code.
 *
 * Documentation/windows.rst has the design.
 */
#ifndef BGDMA_RMA_H
#define BGDMA_RMA_H

#include <bgdma/epoch.h>

BGDMA_BEGIN_DECLS

/* ---- The epochs of MPI-3 ----------------------------------------------- */

/**
 * bgdma_window_epoch() - the epoch that accesses to a target belong to
 * @window: window
 * @target: rank
 * @epoch: out: until the synchronization that ends it
 *
 * That of bgdma_window_lock(); or, begun by this call if it was not yet, that of
 * bgdma_window_lock_all(), _fence() or _start().
 *
 * Return: 0; -ENOLCK there is none; what bgdma_epoch_begin() returns.
 */
BGDMA_API int bgdma_window_epoch(struct bgdma_window *window, uint32_t target,
				 struct bgdma_rma_epoch **epoch);

/**
 * bgdma_window_put() - bgdma_epoch_put() in the epoch of bgdma_window_epoch()
 * @window: window
 * @target: rank
 * @attr: what and where to
 *
 * Return: as both.
 */
static inline int bgdma_window_put(struct bgdma_window *window, uint32_t target,
				   const struct bgdma_access_attr *attr)
{
	struct bgdma_rma_epoch *epoch;
	int ret = bgdma_window_epoch(window, target, &epoch);

	return ret ? ret : bgdma_epoch_put(epoch, attr);
}

/**
 * bgdma_window_get() - the same of bgdma_epoch_get()
 * @window: window
 * @target: rank
 * @attr: what and where to
 *
 * Return: as both.
 */
static inline int bgdma_window_get(struct bgdma_window *window, uint32_t target,
				   const struct bgdma_access_attr *attr)
{
	struct bgdma_rma_epoch *epoch;
	int ret = bgdma_window_epoch(window, target, &epoch);

	return ret ? ret : bgdma_epoch_get(epoch, attr);
}

/**
 * bgdma_window_update() - the same of bgdma_epoch_update()
 * @window: window
 * @target: rank
 * @attr: what and where
 *
 * Return: as both.
 */
static inline int bgdma_window_update(struct bgdma_window *window,
				      uint32_t target,
				      const struct bgdma_update_attr *attr)
{
	struct bgdma_rma_epoch *epoch;
	int ret = bgdma_window_epoch(window, target, &epoch);

	return ret ? ret : bgdma_epoch_update(epoch, attr);
}

/**
 * bgdma_window_lock() - begin an epoch at one target
 * @window: window
 * @target: rank
 * @flags: BGDMA_EPOCH_*
 *
 * Return: as bgdma_epoch_begin(); -EALREADY there is an epoch for that target, or one
 * of bgdma_window_lock_all() or _start(), or another thread begins or ends such, or is
 * in a fence.
 */
BGDMA_API int bgdma_window_lock(struct bgdma_window *window, uint32_t target,
				unsigned int flags);

/**
 * bgdma_window_unlock() - end it
 * @window: window
 * @target: rank
 *
 * Return: as bgdma_epoch_close(); -ENOLCK there is none.
 */
BGDMA_API int bgdma_window_unlock(struct bgdma_window *window, uint32_t target);

/**
 * bgdma_window_lock_all() - begin shared epochs at all processes
 * @window: window
 *
 * Not collective. The epoch at a process begins with the first access to it.
 *
 * Return: 0; -EALREADY as of bgdma_window_fence().
 */
BGDMA_API int bgdma_window_lock_all(struct bgdma_window *window);

/**
 * bgdma_window_unlock_all() - end them
 * @window: window
 *
 * Return: as bgdma_epoch_close(); -ENOLCK there are none.
 */
BGDMA_API int bgdma_window_unlock_all(struct bgdma_window *window);

#define BGDMA_FLUSH_ALL		0xffffffffU

/**
 * bgdma_window_flush() - bgdma_epoch_flush() of the epoch at a target
 * @window: window
 * @target: rank; BGDMA_FLUSH_ALL: of those at all targets
 *
 * Return: as bgdma_epoch_flush(); 0 if there is none.
 */
BGDMA_API int bgdma_window_flush(struct bgdma_window *window, uint32_t target);

/**
 * bgdma_window_flush_local() - wait until local memory is the caller's again
 * @window: window
 * @target: as of bgdma_window_flush()
 *
 * What has been read here is visible there: this engine has no state between. So
 * it waits as long as bgdma_window_flush(); a program that needs no more should
 * not rely on that.
 *
 * Return: as bgdma_window_flush().
 */
BGDMA_API int bgdma_window_flush_local(struct bgdma_window *window,
				       uint32_t target);

/* bgdma_window_fence() flags. */
#define BGDMA_FENCE_LAST	(1U << 0)	/* no accesses follow */

/**
 * bgdma_window_fence() - end the accesses of all, and begin the next
 * @window: window
 * @flags: 0, or BGDMA_FENCE_LAST
 *
 * Collective.
 *
 * Return: 0; -EALREADY a lock is open, or waited for by another thread, or epochs of
 * bgdma_window_lock_all() or _start() are, or another thread is in a fence; -EHOSTDOWN;
 * the first error of an epoch.
 */
BGDMA_API int bgdma_window_fence(struct bgdma_window *window,
				 unsigned int flags);

/**
 * bgdma_window_post() - let some processes access our memory
 * @window: window
 * @ranks: who, each once
 * @count: so many; of nobody bgdma_window_wait() ends at once
 *
 * Does not wait for them. Of those that have left or died bgdma_window_wait() tells.
 *
 * Return: 0; -EALREADY not waited for the last; -EINVAL; -ENOMEM.
 */
BGDMA_API int bgdma_window_post(struct bgdma_window *window,
				const uint32_t *ranks, uint32_t count);

/**
 * bgdma_window_start() - begin epochs at some processes
 * @window: window
 * @ranks: whose, each once
 * @count: so many
 *
 * Waits until each has called bgdma_window_post() for us.
 *
 * Return: 0; -EALREADY as of bgdma_window_fence(); -EINVAL; -EHOSTDOWN.
 */
BGDMA_API int bgdma_window_start(struct bgdma_window *window,
				 const uint32_t *ranks, uint32_t count);

/**
 * bgdma_window_complete() - end what bgdma_window_start() began
 * @window: window
 *
 * Return: as bgdma_epoch_close(); -ENOLCK there is nothing.
 */
BGDMA_API int bgdma_window_complete(struct bgdma_window *window);

/**
 * bgdma_window_wait() - end what bgdma_window_post() began
 * @window: window
 *
 * Waits until all whom it let have called bgdma_window_complete().
 *
 * Return: 0; -ENOLCK there is nothing; -EHOSTDOWN.
 */
BGDMA_API int bgdma_window_wait(struct bgdma_window *window);

/**
 * bgdma_window_test() - whether bgdma_window_wait() would return at once
 * @window: window
 * @done: out: true: what it does was done
 *
 * Return: as bgdma_window_wait().
 */
BGDMA_API int bgdma_window_test(struct bgdma_window *window, bool *done);

BGDMA_END_DECLS

#endif /* BGDMA_RMA_H */
