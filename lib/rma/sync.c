// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Synchronization between the processes of a window, by packets: the barrier,
 * and who lets whom (post, start, complete, wait).
 *
 * The barrier is by dissemination: in round k each process tells the one 2^k
 * behind it. Who misses a process says so in its own packets, so that all hear
 * of it.
 */
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* ---- Barrier ----------------------------------------------------------- */

/* What it came to is found out where packets are dealt with, under their lock. */
struct round {
	struct bgdma_window *window;
	uint32_t from;
	unsigned int number;
	int result;
};

/* This barrier is, and all later ones. What tells of a later one may come first. */
static void breaks_from(struct bgdma_window *window, uint32_t barrier)
{
	if (!window->broken || (int32_t)(barrier - window->broken) < 0)
		window->broken = barrier;
}

/*
 * Of each round each barrier brings one packet, so their number tells which
 * barrier one is of. Others may be in the next.
 */
void barrier_arrived(struct bgdma_window *window, unsigned int number,
		     bool broken)
{
	window->arrived[number]++;
	if (broken)
		breaks_from(window, window->arrived[number]);
}

bool barrier_is_from(const struct bgdma_window *window, unsigned int number,
		     uint32_t rank)
{
	const struct bgdma_rma *rma = window->rma;
	uint32_t step;

	if (number >= ROUNDS)
		return false;
	step = 1U << number;
	return step < rma->size &&
	       rank == (rma->rank + rma->size - step) % rma->size;
}

static bool is_broken(const struct bgdma_window *window)
{
	return window->broken &&
	       (int32_t)(window->generation - window->broken) >= 0;
}

static bool has_arrived(const struct bgdma_window *window, unsigned int number)
{
	return (int32_t)(window->arrived[number] - window->generation) >= 0;
}

static bool round_there(void *arg)
{
	struct round *r = arg;

	bool broken = is_broken(r->window);
	bool arrived = has_arrived(r->window, r->number);

	r->result = broken || !arrived ? -EHOSTDOWN : 0;
	return broken || arrived || r->window->rma->peer[r->from].down;
}

static bool round_breaks(void *arg)
{
	struct bgdma_window *window = arg;

	breaks_from(window, window->generation);
	return true;
}

static int round_wait(struct bgdma_window *window, uint32_t from,
		      unsigned int number)
{
	struct round r = { .window = window, .from = from, .number = number };
	int ret = rma_wait(window->rma, round_there, &r);

	return ret ? ret : r.result;
}

int window_barrier(struct bgdma_window *window)
{
	uint32_t size = window->rma->size, rank = window->rma->rank, step;
	unsigned int number;
	int ret, result = 0;

	window->generation++;
	for (number = 0, step = 1; step < size; number++, step *= 2) {
		ret = window_send(window, (rank + step) % size, PACKET_BARRIER,
				  number | (result ? BARRIER_BROKEN : 0),
				  NULL, 0);
		if (!result)
			result = ret;
		if (!result)
			result = round_wait(window, (rank + size - step) % size,
					    number);
	}
	if (result)
		(void)rma_wait(window->rma, round_breaks, window);
	return result;
}

/*
 * We have no part in a window: all the barriers that there will be are broken, and who
 * would wait for us alone is told, too.
 */
void window_refuse(struct bgdma_window *window)
{
	uint32_t size = window->rma->size, rank = window->rma->rank, step, i;
	unsigned int number;

	for (number = 0, step = 1; step < size; number++, step *= 2)
		(void)window_send(window, (rank + step) % size, PACKET_BARRIER,
				  number | BARRIER_BROKEN, NULL, 0);
	for (i = 1; i < size; i++)
		(void)window_send(window, (rank + i) % size, PACKET_GONE, 0,
				  NULL, 0);
}

/* Nothing comes from it for this window any more. */
static bool is_gone(const struct bgdma_window *window, uint32_t rank)
{
	return window->peer[rank].gone || window->rma->peer[rank].down;
}

/* ---- Exposure: post and wait ------------------------------------------- */

/* Each is a process, and once: what comes from each is counted. */
static int ranks_check(struct bgdma_window *window, const uint32_t *ranks,
		       uint32_t count)
{
	uint32_t i;
	int ret = 0;

	if (!count || !ranks)
		return count ? -EINVAL : 0;
	/* One thread may post while another starts. */
	rma_lock(window->rma);
	window->namings++;
	for (i = 0; !ret && i < count; i++) {
		if (ranks[i] >= window->rma->size ||
		    window->peer[ranks[i]].named == window->namings)
			ret = -EINVAL;
		else
			window->peer[ranks[i]].named = window->namings;
	}
	rma_unlock(window->rma);
	return ret;
}

int bgdma_window_post(struct bgdma_window *window, const uint32_t *ranks,
		      uint32_t count)
{
	uint32_t i;
	int ret = ranks_check(window, ranks, count);

	if (ret)
		return ret;
	if (window->posted)
		return -EALREADY;
	window->posted = !count;
	if (!count)
		return 0;
	window->exposed = malloc(count * sizeof(*ranks));
	if (!window->exposed)
		return -ENOMEM;
	memcpy(window->exposed, ranks, count * sizeof(*ranks));
	window->n_exposed = count;
	window->posted = true;
	for (i = 0; i < count; i++) {
		int sent = window_send(window, ranks[i], PACKET_POST, 0, NULL,
				       0);

		/* Who is gone is told of by the wait, as who goes later. */
		if (sent && sent != -EHOSTDOWN && !ret)
			ret = sent;
	}
	return ret;
}

/* All have completed, or will not; who has left first is told by the counts. */
static bool completed(void *arg)
{
	const struct bgdma_window *window = arg;
	uint32_t i, rank;

	for (i = 0; i < window->n_exposed; i++) {
		rank = window->exposed[i];
		if (!window->peer[rank].completes && !is_gone(window, rank))
			return false;
	}
	return true;
}

static int exposure_end(struct bgdma_window *window)
{
	struct window_peer *peer;
	uint32_t i;
	int ret = 0;

	rma_lock(window->rma);
	for (i = 0; i < window->n_exposed; i++) {
		peer = &window->peer[window->exposed[i]];
		if (peer->completes)
			peer->completes--;
		else
			ret = -EHOSTDOWN;
	}
	free(window->exposed);
	window->exposed = NULL;
	window->n_exposed = 0;
	window->posted = false;
	rma_unlock(window->rma);
	return ret;
}

int bgdma_window_wait(struct bgdma_window *window)
{
	int ret;

	if (!window->posted)
		return -ENOLCK;
	ret = rma_wait(window->rma, completed, window);
	return ret ? ret : exposure_end(window);
}

int bgdma_window_test(struct bgdma_window *window, bool *done)
{
	int ret;

	if (!window->posted)
		return -ENOLCK;
	ret = bgdma_endpoint_wait_until(window->rma->ep, completed, window,
					BGDMA_SPIN, 0);
	*done = !ret;
	if (ret)
		return ret == -ETIMEDOUT ? 0 : ret;
	return exposure_end(window);
}

/* ---- Access: start ----------------------------------------------------- */

struct invitation {
	const struct bgdma_window *window;
	uint32_t rank;
};

static bool invited(void *arg)
{
	const struct invitation *i = arg;

	return i->window->peer[i->rank].posts || is_gone(i->window, i->rank);
}

static int invitation_take(struct bgdma_window *window, uint32_t rank)
{
	struct invitation invitation = { .window = window, .rank = rank };
	struct window_peer *peer = &window->peer[rank];
	int ret = rma_wait(window->rma, invited, &invitation);

	if (ret)
		return ret;
	rma_lock(window->rma);
	if (peer->posts) {
		peer->posts--;
		peer->started = true;
	} else {
		ret = -EHOSTDOWN;
	}
	rma_unlock(window->rma);
	return ret;
}

static int invitations_take(struct bgdma_window *window, const uint32_t *ranks,
			    uint32_t count)
{
	struct window_peer *peer;
	uint32_t i;
	int ret = 0;

	for (i = 0; !ret && i < count; i++)
		ret = invitation_take(window, ranks[i]);
	if (!ret)
		return 0;
	/* What was posted to us is still there for another start. */
	rma_lock(window->rma);
	for (i = 0; i < count; i++) {
		peer = &window->peer[ranks[i]];
		peer->posts += peer->started;
		peer->started = false;
	}
	rma_unlock(window->rma);
	return ret;
}

int bgdma_window_start(struct bgdma_window *window, const uint32_t *ranks,
		       uint32_t count)
{
	enum access_mode was;
	int ret = ranks_check(window, ranks, count);

	if (!ret)
		ret = accesses_claim(window, &was);
	if (ret)
		return ret;
	ret = invitations_take(window, ranks, count);
	accesses_set(window, ret ? was : ACCESS_STARTED);
	return ret;
}

int bgdma_window_complete(struct bgdma_window *window)
{
	struct bgdma_rma *rma = window->rma;
	uint32_t i;
	int ret, sent;

	ret = accesses_claim_end(window, ACCESS_STARTED);
	if (ret)
		return ret;
	ret = accesses_close(window);
	for (i = 0; i < rma->size; i++) {
		if (!window->peer[i].started)
			continue;
		window->peer[i].started = false;
		sent = window_send(window, i, PACKET_COMPLETE, 0, NULL, 0);
		if (sent && !ret)
			ret = sent;
	}
	accesses_set(window, ACCESS_NONE);
	return ret;
}

/* ---- Fence ------------------------------------------------------------- */

int bgdma_window_fence(struct bgdma_window *window, unsigned int flags)
{
	enum access_mode was;
	int ret, met;

	if (flags & ~BGDMA_FENCE_LAST)
		return -EINVAL;
	ret = accesses_claim(window, &was);
	if (ret)
		return ret;
	ret = accesses_close(window);
	met = window_barrier(window);
	accesses_set(window, flags & BGDMA_FENCE_LAST ? ACCESS_NONE :
							ACCESS_FENCE);
	return ret ? ret : met;
}
