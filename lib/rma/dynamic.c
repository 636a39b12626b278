// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Dynamic windows: memory that comes and goes, named by its address in its
 * process. Each process tells the others what it attaches, and waits until that
 * lies in their FIFOs; they look there before they access. So they know of it, by
 * whatever means they synchronize.
 */
#include <stdlib.h>
#include <string.h>

#include <asm/byteorder.h>

#include "internal.h"

const struct attached *attached_find(const struct attached *list, uint64_t at,
				     uint64_t length)
{
	for (; list; list = list->next)
		if (at >= list->addr && length <= list->length &&
		    at - list->addr <= list->length - length)
			return list;
	return NULL;
}

static bool overlaps(const struct attached *a, uint64_t addr, uint64_t length)
{
	return addr < a->addr + a->length && a->addr < addr + length;
}

static bool any_overlaps(const struct attached *list, uint64_t addr,
			 uint64_t length)
{
	for (; list; list = list->next)
		if (overlaps(list, addr, length))
			return true;
	return false;
}

/* @handle: 0: whichever */
static struct attached *attached_take(struct attached **link, uint64_t addr,
				      uint32_t handle)
{
	struct attached *a;

	for (; (a = *link); link = &a->next)
		if (a->addr == addr && (!handle || a->handle == handle)) {
			*link = a->next;
			return a;
		}
	return NULL;
}

/* What took the place of memory whose end could not be told. */
static void overlapped_drop(struct attached **list, uint32_t *pieces,
			    uint64_t addr, uint64_t length)
{
	struct attached **link = list, *a;

	while ((a = *link)) {
		if (!overlaps(a, addr, length)) {
			link = &a->next;
			continue;
		}
		*link = a->next;
		(*pieces)--;
		free(a);
	}
}

void attached_free(struct attached *list, bool regions)
{
	struct attached *a;

	while ((a = list)) {
		list = a->next;
		if (regions)
			(void)bgdma_region_free(a->region);
		free(a->grant);
		free(a);
	}
}

int on_attach(struct bgdma_window *window, uint32_t rank,
	      const struct bgdma_packet *packet)
{
	struct window_peer *peer = &window->peer[rank];
	struct attached **list = &peer->attached, *a;
	struct attach_wire wire;
	uint64_t addr, length;

	if (packet->bytes != sizeof(wire) || !window->attr.dynamic)
		return -EBADMSG;
	memcpy(&wire, bgdma_packet_data(packet), sizeof(wire));
	addr = __le64_to_cpu(wire.addr);
	length = __le64_to_cpu(wire.length);
	if (!length) {
		/* If it is not there: another thread told before of what took its place. */
		a = attached_take(list, addr, __le32_to_cpu(wire.region));
		peer->pieces -= !!a;
		free(a);
		return 0;
	}
	if (addr + length < addr)
		return -EBADMSG;
	overlapped_drop(list, &peer->pieces, addr, length);
	if (peer->pieces >= BGDMA_ATTACHED_MAX)
		return -EBADMSG;
	a = calloc(1, sizeof(*a));
	if (!a)
		return rma_no_memory(window->rma);
	a->addr = addr;
	a->length = length;
	a->handle = __le32_to_cpu(wire.region);
	a->next = *list;
	*list = a;
	peer->pieces++;
	return 0;
}

#define LOOK_PACKETS	1024

/*
 * Who is flooded comes to his access: no more is looked at than may have been there,
 * control packets in turn with the others.
 */
void attached_look(struct bgdma_rma *rma)
{
	uint64_t bytes = (bgdma_endpoint_share(rma->ep) + 1) * rma->size +
			 2ULL * BGDMA_PACKET_MAX;
	uint64_t looks = 2 * bytes / BGDMA_PACKET_ALIGN / LOOK_PACKETS + 2;

	while (looks-- &&
	       bgdma_endpoint_progress(rma->ep, LOOK_PACKETS) > 0)
		;
}

/*
 * Whether what tells of memory may lie behind a packet that was refused: it is looked at
 * once more, as far as that goes.
 */
bool attached_is_held_up(struct bgdma_rma *rma)
{
	struct bgdma_endpoint_stats before, after;

	bgdma_endpoint_stats(rma->ep, &before);
	attached_look(rma);
	bgdma_endpoint_stats(rma->ep, &after);
	return after.deferred != before.deferred;
}

/* Packets, of the same length, that are on the way to the others. */
struct telling {
	struct bgdma_counter *counter;
	int64_t length;
	bool *to;
};

static bool all_told(void *arg)
{
	const struct telling *t = arg;

	/* What could not get to one who died the engine has taken off. */
	if (bgdma_unlikely(bgdma_counter_failed(t->counter)))
		(void)bgdma_counter_clear_error(t->counter);
	bgdma_counter_clear_hit(t->counter);
	return bgdma_counter_read(t->counter) <= 0;
}

static int tell_each(struct bgdma_window *window, const struct telling *t,
		     const struct attach_wire *wire)
{
	const struct bgdma_rma *rma = window->rma;
	uint32_t i;
	int ret, first = 0;

	for (i = 0; i < rma->size; i++) {
		if (i == rma->rank || rma->peer[i].down)
			continue;
		bgdma_counter_add(t->counter, t->length);
		ret = window_send_counted(window, i, PACKET_ATTACH, 0, wire,
					  sizeof(*wire), t->counter);
		t->to[i] = !ret;
		if (!ret)
			continue;
		bgdma_counter_add(t->counter, -t->length);
		if (ret != -EHOSTDOWN && !first)
			first = ret;
	}
	return first;
}

/*
 * Who was told of memory that could not be attached everywhere forgets it. Whether all
 * are told so.
 */
static bool attach_untell(struct bgdma_window *window, const struct telling *t,
			  struct attach_wire wire)
{
	bool all = true;
	uint32_t i;
	int ret;

	wire.length = 0;
	for (i = 0; i < window->rma->size; i++) {
		if (!t->to[i])
			continue;
		ret = window_send(window, i, PACKET_ATTACH, 0, &wire,
				  sizeof(wire));
		if (ret && ret != -EHOSTDOWN)
			all = false;
	}
	return all;
}

/*
 * The others; what is our own is in the list already, or no longer. @held: whether some
 * may know of the piece yet that are to know of it no more. What is on the way comes
 * before all that is told later.
 */
static int attach_tell(struct bgdma_window *window, const struct attached *a,
		       uint64_t length, bool *held)
{
	struct bgdma_rma *rma = window->rma;
	const struct attach_wire wire = {
		.addr = __cpu_to_le64(a->addr),
		.length = __cpu_to_le64(length),
		.region = __cpu_to_le32(a->handle),
	};
	struct telling t = { .length = sizeof(wire) };
	int ret, waited;

	*held = !length;
	t.to = calloc(rma->size, sizeof(*t.to));
	rma_lock(rma);
	ret = t.to ? epoch_counter_alloc(rma, BGDMA_INJECTION, &t.counter) :
		     -ENOMEM;
	rma_unlock(rma);
	if (ret) {
		free(t.to);
		return ret;
	}
	ret = tell_each(window, &t, &wire);
	*held = ret && !length;
	bgdma_counter_enable(t.counter, true);
	waited = rma_wait(rma, all_told, &t);
	bgdma_counter_enable(t.counter, false);
	/* What is on the way, as we may not wait here, still moves it: it stays. */
	if (bgdma_counter_read(t.counter) <= 0)
		(void)bgdma_counter_free(t.counter);
	if (!ret)
		ret = waited;
	if (ret && length)
		*held = !attach_untell(window, &t, wire);
	free(t.to);
	return ret;
}

/* Behind the window's gate before anybody else may use it. */
static struct attached *attached_new(struct bgdma_window *window, void *addr,
				     uint64_t length, int *ret)
{
	struct attached *a = calloc(1, sizeof(*a));

	*ret = -ENOMEM;
	if (!a)
		return NULL;
	a->grant = calloc(window->rma->size, sizeof(*a->grant));
	if (a->grant)
		*ret = bgdma_region_register(window->rma->ctx, addr, length,
					     BGDMA_LOCAL_READ |
					     BGDMA_LOCAL_WRITE, &a->region);
	if (!*ret)
		*ret = bgdma_gate_share(a->region, window->region);
	if (*ret) {
		attached_free(a, true);
		return NULL;
	}
	a->addr = (uintptr_t)addr;
	a->length = length;
	a->handle = bgdma_region_handle(a->region);
	return a;
}

static int attach_check(const struct window_peer *own, uint64_t start,
			uint64_t length)
{
	if (any_overlaps(own->attached, start, length))
		return -EEXIST;
	return own->pieces < BGDMA_ATTACHED_MAX ? 0 : -ENOSPC;
}

/* Ours, which others may find there from now on. */
static int attach_enter(struct bgdma_window *window, struct attached *a)
{
	struct window_peer *own = &window->peer[window->rma->rank];
	int ret;

	/* Another thread may have been faster. */
	ret = attach_check(own, a->addr, a->length);
	/* Who is lost meanwhile is shut out of what is in the list. */
	if (!ret)
		ret = rma_expose(window->rma, a->region, BGDMA_RIGHT_READ |
				 BGDMA_RIGHT_WRITE | BGDMA_RIGHT_ATOMIC,
				 a->grant);
	if (ret)
		return ret;
	a->next = own->attached;
	own->attached = a;
	own->pieces++;
	return 0;
}

/* It has gone, but counts until all others are told. */
static void untold_add(struct bgdma_window *window, struct attached *a)
{
	a->region = NULL;
	a->grant = NULL;
	a->next = window->untold;
	window->untold = a;
}

static void untold_remove(struct bgdma_window *window, const struct attached *told)
{
	struct attached *a = attached_take(&window->untold, told->addr,
					   told->handle);

	/* Else another thread has told, or attached what took its place. */
	window->peer[window->rma->rank].pieces -= !!a;
	free(a);
}

/* Of memory that was not attached for good. */
static void attach_undo(struct bgdma_window *window, struct attached *a, bool held)
{
	struct attached gone = *a;

	rma_lock(window->rma);
	(void)attached_take(&window->peer[window->rma->rank].attached, a->addr,
			    a->handle);
	untold_add(window, a);
	if (!held)
		untold_remove(window, &gone);
	rma_unlock(window->rma);
	(void)bgdma_region_free(gone.region);
	free(gone.grant);
}

int bgdma_window_attach(struct bgdma_window *window, void *addr,
			uint64_t length)
{
	struct bgdma_rma *rma = window->rma;
	struct window_peer *own = &window->peer[rma->rank];
	uint64_t start = (uintptr_t)addr;
	struct attached *a;
	bool held;
	int ret;

	if (!window->attr.dynamic || !addr || !length || start + length < start)
		return -EINVAL;
	rma_lock(rma);
	ret = attach_check(own, start, length);
	rma_unlock(rma);
	if (ret)
		return ret;
	a = attached_new(window, addr, length, &ret);
	if (!a)
		return ret;
	rma_lock(rma);
	ret = attach_enter(window, a);
	rma_unlock(rma);
	if (ret) {
		attached_free(a, true);
		return ret;
	}
	ret = attach_tell(window, a, length, &held);
	if (ret) {
		attach_undo(window, a, held);
		return ret;
	}
	/* All others have dropped what was there. */
	rma_lock(rma);
	overlapped_drop(&window->untold, &own->pieces, start, length);
	rma_unlock(rma);
	return 0;
}

/* What is attached there, or of which not all others know that it no longer is. */
static bool detach_begin(struct bgdma_window *window, uint64_t addr,
			 struct attached *gone)
{
	struct window_peer *own = &window->peer[window->rma->rank];
	struct attached *a = attached_take(&own->attached, addr, 0);

	if (!a)
		a = attached_take(&window->untold, addr, 0);
	if (!a)
		return false;
	*gone = *a;
	untold_add(window, a);
	return true;
}

int bgdma_window_detach(struct bgdma_window *window, void *addr)
{
	struct bgdma_rma *rma = window->rma;
	struct attached gone;
	bool found, held;
	int ret;

	rma_lock(rma);
	found = detach_begin(window, (uintptr_t)addr, &gone);
	rma_unlock(rma);
	if (!found)
		return -ENOENT;
	ret = attach_tell(window, &gone, 0, &held);
	(void)bgdma_region_free(gone.region);
	free(gone.grant);
	if (!held) {
		rma_lock(rma);
		untold_remove(window, &gone);
		rma_unlock(rma);
	}
	return ret;
}
